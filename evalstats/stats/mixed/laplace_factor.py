"""Elimination of all random effects at given weights of the cells: solve, log-determinant, entries of the inverse."""

from dataclasses import dataclass

import numpy as np
from scipy import linalg, sparse

from evalstats.stats.mixed.design import Floats, Ints
from evalstats.stats.mixed.laplace_plan import Gram, Plan, make_gram

Blocks = list[Floats]  # one array for each block, shape (n_columns, n_levels)


class System:
    """What every elimination of one design shares."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self._grams: dict[int, Gram] = {}
        self._squares = _Squares(plan.profiles)

    def gram(self, block: int) -> Gram:
        """Return the pairs of a block's levels with the distinct rows, found when first asked for."""
        if block not in self._grams:
            self._grams[block] = make_gram(self.plan.blocks[block].groups, self.plan.profile, self.plan.profiles)
        return self._grams[block]

    def weighted(self, weights: Floats) -> Floats:
        """Return P' diag(weights) P for the distinct rows P of the rest and the fixed effects."""
        return self._squares.weighted(weights)


class _Squares:
    """Products of the entries of every row of P with each other, listed once where rows have few entries."""

    def __init__(self, profiles: "sparse.csr_array[np.float64]") -> None:
        self.width = int(profiles.shape[1])
        filled = np.diff(profiles.indptr).astype(np.int64)
        self.listed = int((filled**2).sum()) < profiles.shape[0] * self.width**2 / 10
        self.dense = np.empty((0, 0))
        if not self.listed:
            self.dense = np.asarray(profiles.toarray(), dtype=np.float64)
            return
        # Entry e of a row meets each of the row's filled[row] entries, which begin at indptr[row].
        of_entry = np.repeat(np.arange(filled.size), filled)
        first = np.repeat(np.arange(of_entry.size), filled[of_entry])
        begins = np.cumsum(filled[of_entry]) - filled[of_entry]
        within = np.arange(first.size) - np.repeat(begins, filled[of_entry])
        second = profiles.indptr[of_entry[first]] + within
        self.row = of_entry[first]
        self.value = profiles.data[first] * profiles.data[second]
        self.where = profiles.indices[first].astype(np.int64) * self.width + profiles.indices[second]

    def weighted(self, weights: Floats) -> Floats:
        if not self.listed:
            return (self.dense.T * weights) @ self.dense
        total = np.bincount(self.where, weights=self.value * weights[self.row], minlength=self.width**2)
        return np.asarray(total, dtype=np.float64).reshape(self.width, self.width)


class Elimination:
    """All random effects eliminated at one set of weights and scaled columns of every block.

    `extra` is what is added to X'WX (a prior), where the fixed effects are solved for too; None leaves them out.
    """

    def __init__(
        self,
        system: System,
        factors: tuple[Floats, ...],
        columns: tuple[Floats, ...],
        weights: Floats,
        extra: Floats | None = None,
    ) -> None:
        self.system = system
        self.plan = plan = system.plan
        self.factors = factors
        self.columns = columns
        self.weights = weights
        self.has_fixed = extra is not None
        self.log_determinant = 0.0
        self.leaf_scale: Floats = np.empty(0)  # 1 / D of the leaf, where there is one
        self.effective: Floats = weights  # weights once the leaf is gone
        if plan.has_leaf:
            self.leaf_scale = 1.0 / (1.0 + weights * (columns[0] ** 2).sum(axis=0))
            self.effective = weights * self.leaf_scale
            self.log_determinant -= float(np.log(self.leaf_scale).sum())
        self.left: dict[int, Floats] = {}  # N of each block of the chain, shape (n_columns, n_cells)
        self.inverse: dict[int, Floats] = {}  # D^-1, shape (n_columns, n_columns, n_levels)
        self.root: dict[int, Floats] = {}  # lower factors C with C C' = D^-1
        for b in plan.chain:
            self._eliminate(b)
        self.lower: Floats = np.empty((0, 0))  # Cholesky factor of S, of the rest and then the fixed effects
        if plan.n_rest or extra is not None:
            self._factor_rest(extra)

    def _eliminate(self, b: int) -> None:
        groups, columns = self.plan.blocks[b].groups, self.columns[b]
        size = len(columns)
        left = np.stack([self.reweight(column, before=b) for column in columns])
        block = np.empty((size, size, groups.n_levels))
        for i in range(size):
            for j in range(i + 1):
                block[i, j] = block[j, i] = groups.sums(columns[i] * left[j])
            block[i, i] += 1.0
        self.left[b] = left
        if size == 1:
            self.log_determinant += float(np.log(block).sum())
            self.inverse[b] = 1.0 / block
            self.root[b] = np.sqrt(self.inverse[b])
            return
        lower = np.linalg.cholesky(np.ascontiguousarray(block.transpose(2, 0, 1)))
        self.log_determinant += 2.0 * float(np.log(np.diagonal(lower, axis1=1, axis2=2)).sum())
        root = np.asarray(np.linalg.inv(lower).transpose(2, 1, 0), dtype=np.float64, order="C")  # D^-1 = L^-T L^-1
        self.root[b] = root
        self.inverse[b] = np.einsum("ikl,jkl->ijl", root, root)

    def reweight(self, values: Floats, before: int | None = None) -> Floats:
        """M v: the weights after eliminating the leaf and the chain (as far as `before`), times a value of every cell."""
        out = self.effective * values
        for b in self.left:
            if before is None or b < before:
                out -= self._through(b, self._solved(b, self._sums(b, self.left[b] * values)))
        return out

    def _sums(self, b: int, values: Floats) -> Floats:
        groups = self.plan.blocks[b].groups
        return np.stack([groups.sums(row) for row in values])

    def _solved(self, b: int, sums: Floats) -> Floats:
        inverse = self.inverse[b]
        return inverse[0] * sums if len(inverse) == 1 else np.einsum("ijl,jl->il", inverse, sums)

    def _through(self, b: int, effects: Floats) -> Floats:
        return self._spread(b, self.left[b], effects)

    def _spread(self, b: int, columns: Floats, effects: Floats) -> Floats:
        """Sum of columns times the effects of each cell's level."""
        groups = self.plan.blocks[b].groups
        out = columns[0] * groups.at_cells(effects[0])
        for column, effect in zip(columns[1:], effects[1:], strict=True):
            out += column * groups.at_cells(effect)
        return out

    def _factor_rest(self, extra: Floats | None) -> None:
        plan = self.plan
        n_rest = plan.n_rest
        width = plan.profiles.shape[1] if extra is not None else n_rest
        gram = self.system.weighted(plan.profile.sums(self.effective))
        for b in plan.chain:
            pairs = self.system.gram(b)
            sums = np.stack([pairs.sums(row) for row in self.left[b]])
            pairs.subtract(gram, np.einsum("ikp,ip->kp", self.root[b][:, :, pairs.level], sums))
        gram = gram[:width, :width]
        gram = self.scale_rest(self.scale_rest(gram).T).T
        gram[np.arange(n_rest), np.arange(n_rest)] += 1.0
        if extra is not None:
            gram[n_rest:, n_rest:] += extra
        factor = linalg.cholesky(gram, lower=True, check_finite=False)
        self.lower = np.asarray(factor, dtype=np.float64)
        self.log_determinant += 2.0 * float(np.log(np.diagonal(factor)[:n_rest]).sum())

    def scale_rest(self, rows: Floats) -> Floats:
        """Multiply the rows of the effects that stay by the factors of their blocks, from the left and turned."""
        out, start = rows.copy(), 0
        for b in self.plan.rest:
            block, factor = self.plan.blocks[b], self.factors[b]
            end = start + block.size * block.n_levels
            part = rows[start:end].reshape(block.n_levels, block.size, -1)
            out[start:end] = np.einsum("ab,lac->lbc", factor, part).reshape(end - start, -1)
            start = end
        return out

    def solve(self, sides: Blocks, fixed: Floats | None = None) -> tuple[Blocks, Floats, Floats]:
        """Solve for random and fixed effects.

        Returns the random effects of every block, the fixed effects (empty where left out), and for every cell what both
        add to the linear predictor.
        """
        plan = self.plan
        sides = list(sides)
        carried = np.zeros(plan.n_cells)  # what the blocks gone so far take from the later sides, before A_b'
        if plan.has_leaf:
            scaled = self.weights * self.leaf_scale
            carried += scaled * (self.columns[0] * sides[0]).sum(axis=0)
        for b in plan.chain:
            sides[b] = sides[b] - self._sums(b, self.columns[b] * carried)
            carried += self._through(b, self._solved(b, sides[b]))
        effects: Blocks = [np.empty(0)] * len(plan.blocks)
        change = np.zeros(plan.n_cells)
        beta = np.empty(0)
        if self.lower.size:
            right = np.zeros(0) if fixed is None else fixed
            beta, change = self._solve_rest(sides, carried, right, effects)
        for b in reversed(plan.chain):
            right = sides[b] - self._sums(b, self.left[b] * change)
            effects[b] = self._solved(b, right)
            change = change + self._spread(b, self.columns[b], effects[b])
        if plan.has_leaf:
            column = self.columns[0]
            right = sides[0] - column * (self.weights * change)
            along = self.weights * self.leaf_scale * (column * right).sum(axis=0)
            effects[0] = right - column * along
            change = change + (column * effects[0]).sum(axis=0)
        return effects, beta, change

    def _solve_rest(self, sides: Blocks, carried: Floats, fixed: Floats, effects: Blocks) -> tuple[Floats, Floats]:
        plan = self.plan
        parts = [(sides[b] - self._sums(b, self.columns[b] * carried)).T.ravel() for b in plan.rest]
        if self.has_fixed:
            parts.append(fixed - plan.distinct.rows.T @ plan.distinct.of_cell.sums(carried))
        solution = linalg.cho_solve((self.lower, True), np.concatenate(parts), check_finite=False)
        change, start = np.zeros(plan.n_cells), 0
        for b in plan.rest:
            block = plan.blocks[b]
            end = start + block.size * block.n_levels
            effects[b] = np.ascontiguousarray(solution[start:end].reshape(block.n_levels, block.size).T)
            change += self._spread(b, self.columns[b], effects[b])
            start = end
        beta = solution[start:]
        if self.has_fixed:
            change += plan.distinct.of_cell.at_cells(plan.distinct.rows @ beta)
        return beta, change

    def fixed_precision(self) -> Floats:
        """X'MX with every random effect eliminated: the precision of the fixed effects at these weights."""
        lower = self.lower[self.plan.n_rest :, self.plan.n_rest :]
        return lower @ lower.T


@dataclass(frozen=True, slots=True, kw_only=True)
class Inverse:
    """Covariances under precision H: `of_predictor` that of the linear predictor of every cell with itself, a_c' H^-1 a_c.

    `at_cells` holds for every block the covariance of the effects of a cell's level with the linear predictor of that cell,
    H^-1 a_c as far as the block's own level, shape (n_columns, n_cells); `blocks` the covariance matrix of the effects of every
    level, shape (n_columns, n_columns, n_levels).
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
