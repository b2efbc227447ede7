"""Entries of the inverse of H that a gradient needs: those between effects that meet in a cell.

The inverse is the covariance of Gaussian effects, and elimination says how each block depends on those after it:
u_s = D^-1 (noise - N_s' A_later u_later). So covariances follow block by block, from the last to the first.
"""

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from evalstats.stats.mixed.design import Floats, Ints
from evalstats.stats.mixed.laplace_factor import Elimination


@dataclass(frozen=True, slots=True, kw_only=True)
class Inverse:
    """Covariances under precision H.

    Attributes
    ----------
    at_cells
        For every block the covariance of the effects of a cell's level with the linear predictor of that cell, shape
        (n_columns, n_cells): H^-1 a_c, as far as the block's own level.
    of_predictor
        float64, shape (n_cells,): variance of the linear predictor, a_c' H^-1 a_c.
    blocks
        For every block the covariance matrix of the effects of every level, shape (n_columns, n_columns, n_levels).
    """

    at_cells: list[Floats]
    of_predictor: Floats
    blocks: list[Floats]


def invert(elimination: Elimination) -> Inverse:
    """Return the entries of the inverse between effects that meet in a cell."""
    plan = elimination.plan
    walk = _Walk(elimination)
    for b in reversed(plan.chain):
        walk.add(b)
    at_cells: list[Floats] = [np.empty(0)] * len(plan.blocks)
    later = [*plan.chain, *plan.rest]
    variance = np.zeros(plan.n_cells)
    for b in later:
        total = np.zeros((plan.blocks[b].size, plan.n_cells))
        for other in later:
            total += walk.with_predictor(b, other)
        at_cells[b] = total
        variance += (elimination.columns[b] * total).sum(axis=0)
    blocks = [np.empty(0)] * len(plan.blocks)
    for b in plan.chain:
        blocks[b] = walk.within[b, b]
    for b in plan.rest:
        blocks[b] = walk.of_rest(b)
    if plan.has_leaf:
        variance = _add_leaf(elimination, at_cells, variance, blocks)
    return Inverse(at_cells=at_cells, of_predictor=variance, blocks=blocks)


class _Walk:
    """Covariances found so far.

    `within[s, t]`, t >= s, is the covariance of the effects of a level of s and of the level of t that it lies in, shape
    (n_columns of s, n_columns of t, n_levels of s); `toward[s]` minus that with all effects of the rest, shape
    (n_columns, n_levels, n_rest); `rest` the covariance of the rest.
    """

    def __init__(self, elimination: Elimination) -> None:
        self.e, self.plan = elimination, elimination.plan
        self.within: dict[tuple[int, int], Floats] = {}
        self.toward: dict[int, Floats] = {}
        self.rest: Floats = np.empty((0, 0))
        self.start: dict[int, int] = {}
        n_rest = self.plan.n_rest
        if n_rest:
            lower = np.asfortranarray(elimination.lower[:n_rest, :n_rest])
            self.rest = linalg.cho_solve((lower, True), np.eye(n_rest), check_finite=False)
            start = 0
            for b in self.plan.rest:
                self.start[b] = start
                start += self.plan.blocks[b].size * self.plan.blocks[b].n_levels

    def parent(self, s: int, t: int) -> Ints:
        """Level of t in which each level of s lies."""
        out = np.zeros(self.plan.blocks[s].n_levels, dtype=np.int64)
        out[self.plan.blocks[s].groups.level] = self.plan.blocks[t].groups.level
        return out

    def add(self, s: int) -> None:
        """Find the covariances of the effects of block s of the chain, all later ones being known."""
        e = self.e
        groups, left, inverse = e.plan.blocks[s].groups, e.left[s], e.inverse[s]
        later = [t for t in e.plan.chain if t > s]
        cross = {
            t: np.stack([np.stack([groups.sums(row * column) for column in e.columns[t]]) for row in left])
            for t in later
        }
        has_rest = self.rest.size > 0
        coupling = self._coupling(s) if has_rest else np.empty(0)  # N_s' times the columns of the rest
        if has_rest:
            moved = coupling @ self.rest
            for t in later:
                moved -= np.einsum("ijl,jlr->ilr", cross[t], self.toward[t][:, self.parent(s, t)])
            self.toward[s] = np.einsum("ijl,jlr->ilr", inverse, moved)
        for t in later:
            shape = (len(left), e.plan.blocks[t].size, groups.n_levels)
            known: Floats = np.zeros(shape)
            for v in later:
                known += np.einsum("ijl,jkl->ikl", cross[v], self._between(v, t, s))
            if has_rest:
                known -= np.einsum("ilr,klr->ikl", coupling, self.toward[t][:, self.parent(s, t)])
            self.within[s, t] = -np.einsum("ijl,jkl->ikl", inverse, known)
        own: Floats = np.zeros_like(inverse)
        for t in later:
            own += np.einsum("ijl,kjl->ikl", cross[t], self.within[s, t])
        if has_rest:
            own -= np.einsum("ilr,klr->ikl", coupling, self.toward[s])
        self.within[s, s] = inverse - np.einsum("ijl,jkl->ikl", inverse, own)

    def _between(self, v: int, t: int, s: int) -> Floats:
        """Covariance of the effects of the levels of v and t that each level of s lies in."""
        if v <= t:
            return self.within[v, t][:, :, self.parent(s, v)]
        return self.within[t, v][:, :, self.parent(s, t)].transpose(1, 0, 2)

    def _coupling(self, s: int) -> Floats:
        pairs, n_rest = self.e.system.gram(s), self.plan.n_rest
        out = [pairs.columns(pairs.sums(row)).toarray()[:, :n_rest] for row in self.e.left[s]]
        return np.stack([self.e.scale_rest(part.T).T for part in out])

    def of_rest(self, b: int) -> Floats:
        """Covariance matrix of the effects of every level of a block of the rest."""
        size, n_levels = self.plan.blocks[b].size, self.plan.blocks[b].n_levels
        at = self.start[b] + np.arange(n_levels) * size
        return np.stack([np.stack([self.rest[at + i, at + j] for j in range(size)]) for i in range(size)])

    def with_predictor(self, b: int, other: int) -> Floats:
        """Covariance of the effects of a cell's level of b with what block `other` adds to the cell's predictor."""
        plan, column = self.plan, self.e.columns[other]
        level, to = plan.blocks[b].groups.level, plan.blocks[other].groups.level
        size, n_other = plan.blocks[b].size, plan.blocks[other].size
        out = np.zeros((size, plan.n_cells))
        for i in range(size):
            for j in range(n_other):
                if b in plan.rest and other in plan.rest:
                    value = self.rest[self.start[b] + level * size + i, self.start[other] + to * n_other + j]
                elif b in plan.rest:
                    value = -self.toward[other][j, to, self.start[b] + level * size + i]
                elif other in plan.rest:
                    value = -self.toward[b][i, level, self.start[other] + to * n_other + j]
                elif b <= other:
                    value = self.within[b, other][i, j, level]
                else:
                    value = self.within[other, b][j, i, to]
                out[i] += value * column[j]
        return out


def _add_leaf(e: Elimination, at_cells: list[Floats], variance: Floats, blocks: list[Floats]) -> Floats:
    """Complete the covariances by the leaf, given those of everything else; return the variance of the predictor."""
    column, pull = e.columns[0], e.weights * e.leaf_scale
    # u_0 = noise - pull a x with x the rest of the predictor; the noise has covariance I - pull a a'
    spread = column * (pull**2 * variance - pull)
    blocks[0] = column[:, None, :] * spread[None, :, :]
    for i in range(len(column)):
        blocks[0][i, i] += 1.0
    with_rest = -column * (pull * variance)
    at_cells[0] = (blocks[0] * column[None, :, :]).sum(axis=1) + with_rest
    for b in [*e.plan.chain, *e.plan.rest]:
        at_cells[b] = at_cells[b] * e.leaf_scale  # 1 - pull |a|^2
    return (column * at_cells[0]).sum(axis=0) + variance * e.leaf_scale
