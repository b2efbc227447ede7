"""The covariance V of the responses of a linear mixed model, taken apart into independent blocks, and what tests need of it.

V = sigma^2 (I + Z Lambda Lambda' Z') is never formed. Every trace and quadratic form of its derivatives follows from
Z' V^-1 Z, Z' V^-1 X and Z' V^-1 (y - X beta), which have one row for each random effect; and V itself is a weighted sum of
its derivatives, which gives the forms of the residual variance for nothing.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy import linalg, sparse
from scipy.sparse import csgraph

from evalstats.stats.mixed.design import Floats, Ints, MixedDesign, MixedFit
from evalstats.stats.mixed.structure import random_columns


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Products of one set of cells that shares no random effect with any other cell; N holds the rows of each cell.

    Attributes
    ----------
    cells
        int64, the cells of the block.
    n_levels
        Levels of each term that occur here.
    zz, zx
        Z'NZ and Z'NX, shapes (n_effects, n_effects) and (n_effects, n_fixed); effects run through the terms, in each
        through the levels, in each level through the columns.
    z
        Z itself, sparse, shape (len(cells), n_effects).
    """

    cells: Ints
    n_levels: tuple[int, ...]
    zz: Floats
    zx: Floats
    z: sparse.csr_array


@dataclass(frozen=True, slots=True, kw_only=True)
class Forms:
    """Traces and quadratic forms of G_r = dV / d psi_r, for the variances and covariances psi of all terms, then sigma^2.

    Shapes: R is the number of psi, p of fixed effects.

    Attributes
    ----------
    psi
        (R,): (co)variances of the effects, term by term and column by column through each lower triangle; sigma^2 last.
    covariance
        (p, p): Phi = (X' V^-1 X)^-1.
    trace, trace_pairs
        (R,) and (R, R): tr(V^-1 G_r) and tr(V^-1 G_r V^-1 G_s).
    single, pairs
        (R, p, p) and (R, R, p, p): X' V^-1 G_r V^-1 X and X' V^-1 G_r V^-1 G_s V^-1 X.
    quadratic, quadratic_pairs
        (R,) and (R, R): y'P G_r P y and y'P G_r P G_s P y, with P = V^-1 - V^-1 X Phi X' V^-1.
    """

    psi: Floats
    covariance: Floats
    trace: Floats
    trace_pairs: Floats
    single: Floats
    pairs: Floats
    quadratic: Floats
    quadratic_pairs: Floats

    def restricted_trace(self) -> Floats:
        """tr(P G_r), shape (R,)."""
        return self.trace - np.einsum("ij,rji->r", self.covariance, self.single)

    def restricted_trace_pairs(self) -> Floats:
        """tr(P G_r P G_s), shape (R, R)."""
        inside = np.einsum("ij,rjk->rik", self.covariance, self.single)
        crossed = np.einsum("ij,rsji->rs", self.covariance, self.pairs)
        return self.trace_pairs - crossed - crossed.T + np.einsum("rij,sji->rs", inside, inside)


def blocks(design: MixedDesign) -> list[Block]:
    """Split the cells into the largest number of sets that share no level of any grouping."""
    z = random_columns(design)
    offsets = np.cumsum([0] + [term.n_levels * term.n_columns for term in design.terms])
    member = independent_sets(design)
    order = np.argsort(member, kind="stable")
    out: list[Block] = []
    for cells in np.split(order, np.cumsum(np.bincount(member))[:-1]):
        levels = [np.unique(term.level[cells]) for term in design.terms]
        columns = np.concatenate([
            start + (at[:, None] * term.n_columns + np.arange(term.n_columns)).ravel()
            for start, term, at in zip(offsets[:-1], design.terms, levels, strict=True)
        ])  # fmt: skip
        part = sparse.csr_array(z[cells][:, columns])
        weighted = sparse.csr_array(part.multiply(design.count[cells][:, None]))
        out.append(
            Block(
                cells=cells.astype(np.int64),
                n_levels=tuple(len(at) for at in levels),
                zz=np.asarray((part.T @ weighted).toarray(), dtype=np.float64),
                zx=np.asarray(weighted.T @ design.fixed[cells], dtype=np.float64),
                z=part,
            )
        )
    return out


def independent_sets(design: MixedDesign, *further: Ints) -> Ints:
    """Return for every cell the number of its set; sets share no level of any random term (nor of `further` codes)."""
    codes = [term.level for term in design.terms] + list(further)
    n = design.n_cells
    starts = n + np.cumsum([0] + [int(code.max()) + 1 for code in codes])
    rows = np.tile(np.arange(n), len(codes))
    columns = np.concatenate([start + code for start, code in zip(starts[:-1], codes, strict=True)])
    graph = sparse.csr_array((np.ones(len(rows)), (rows, columns)), shape=(starts[-1], starts[-1]))
    member = csgraph.connected_components(graph, directed=False)[1][:n]
    return np.unique(member, return_inverse=True)[1].astype(np.int64)


def forms(fit: MixedFit) -> Forms:
    """Return the traces and quadratic forms of a linear fit at its estimates."""
    design, sigma2 = fit.design, fit.sigma**2
    relative = [factor @ factor.T for factor in design.factors(fit.theta)]
    entries = list(covariance_entries(design))
    weights = np.array([sigma2 * relative[t][a, b] for t, a, b in entries])
    residual = response_residual(design, fit.beta)
    # Sums over blocks. Index 0 stands for V itself, the others for the G_r of the random terms.
    sums = _Sums.of(design.fixed.shape[1], 1 + len(entries))
    sums.single[0] = design.fixed.T @ (design.count[:, None] * design.fixed) / sigma2
    sums.quadratic[0] = (design.within + float(design.count @ residual**2)) / sigma2
    alike: dict[bytes, list[Block]] = {}
    for block in blocks(design):
        alike.setdefault(block.zz.tobytes() + block.zx.tobytes(), []).append(block)
    for equal in alike.values():
        _add_blocks(sums, equal, residual, fit=fit, relative=relative, entries=entries)
    covariance: Floats = np.asarray(np.linalg.inv(sums.single[0]), dtype=np.float64)
    sums.trace[0] = design.n_rows
    sums.trace_pairs[0] = sums.trace_pairs[:, 0] = sums.trace
    sums.pairs[0] = sums.pairs[:, 0] = sums.single
    sums.quadratic_pairs[:] -= sums.crossed @ covariance @ sums.crossed.T
    sums.quadratic_pairs[0] = sums.quadratic_pairs[:, 0] = sums.quadratic
    # From (V, G_1, ...) to (G_1, ..., G of sigma^2), since V = sigma^2 G_residual + sum of psi_r G_r.
    turn = np.zeros((1 + len(entries), 1 + len(entries)))
    turn[:-1, 1:] = np.eye(len(entries))
    turn[-1] = np.concatenate([[1.0], -weights]) / sigma2
    return Forms(
        psi=np.concatenate([weights, [sigma2]]),
        covariance=0.5 * (covariance + covariance.T),
        trace=turn @ sums.trace,
        trace_pairs=turn @ sums.trace_pairs @ turn.T,
        single=np.einsum("ra,aij->rij", turn, sums.single),
        pairs=np.einsum("ra,sb,abij->rsij", turn, turn, sums.pairs),
        quadratic=turn @ sums.quadratic,
        quadratic_pairs=turn @ sums.quadratic_pairs @ turn.T,
    )


def response_residual(design: MixedDesign, beta: Floats) -> Floats:
    """Mean response of each cell less its offset and the fixed effects."""
    offset = 0.0 if design.offset is None else design.offset
    return design.response - offset - design.fixed @ beta


def covariance_entries(design: MixedDesign) -> Iterator[tuple[int, int, int]]:
    """Yield term, row and column of every covariance parameter, in the order of theta."""
    for t, term in enumerate(design.terms):
        for column in range(term.n_columns):
            for row in range(column, term.n_columns):
                yield t, row, column


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sums:
    """What `Forms` holds, while it is added up; `crossed` is X' V^-1 G_r P y."""

    trace: Floats
    trace_pairs: Floats
    single: Floats
    pairs: Floats
    quadratic: Floats
    quadratic_pairs: Floats
    crossed: Floats

    @classmethod
    def of(cls, p: int, size: int) -> "_Sums":
        return cls(
            trace=np.zeros(size),
            trace_pairs=np.zeros((size, size)),
            single=np.zeros((size, p, p)),
            pairs=np.zeros((size, size, p, p)),
            quadratic=np.zeros(size),
            quadratic_pairs=np.zeros((size, size)),
            crossed=np.zeros((size, p)),
        )


def _add_blocks(
    sums: _Sums,
    equal: list[Block],
    residual: Floats,
    *,
    fit: MixedFit,
    relative: list[Floats],
    entries: list[tuple[int, int, int]],
) -> None:
    """Add the share of blocks that differ in their responses alone.

    With T = Lambda Lambda', Z'V^-1 = (I + Z'NZ T)^-1 Z'N / sigma^2.
    """
    design, block, times = fit.design, equal[0], len(equal)
    spread = linalg.block_diag(*[np.kron(np.eye(k), t) for k, t in zip(block.n_levels, relative, strict=True)])
    zr = np.column_stack([b.z.T @ (design.count[b.cells] * residual[b.cells]) for b in equal])
    right = np.column_stack([block.zz, block.zx, zr])
    solved = np.asarray(linalg.solve(np.eye(len(spread)) + block.zz @ spread, right)) / fit.sigma**2
    q, p = len(spread), block.zx.shape[1]
    m, b, u = 0.5 * (solved[:, :q] + solved[:, :q].T), solved[:, q : q + p], solved[:, q + p :]
    sums.single[0] -= times * (block.zx.T @ spread @ b)
    sums.quadratic[0] -= float(np.sum(zr * (spread @ u)))
    starts = np.cumsum([0] + [k * t.n_columns for k, t in zip(block.n_levels, design.terms, strict=True)])

    def at(t: int, column: int) -> slice:
        return slice(starts[t] + column, starts[t + 1], design.terms[t].n_columns)

    # G_r in the space of effects: e_row e_column' and its transpose for each level.
    halves = [[(at(t, i), at(t, j)) for i, j in {(row, column), (column, row)}] for t, row, column in entries]
    gb = [_apply(half, b) for half in halves]
    gu = [_apply(half, u) for half in halves]
    for r, half in enumerate(halves, start=1):
        sums.trace[r] += times * sum(float(np.trace(m[j, i])) for i, j in half)
        sums.single[r] += times * (b.T @ gb[r - 1])
        sums.quadratic[r] += float(np.sum(u * gu[r - 1]))
        sums.crossed[r] += gu[r - 1].sum(axis=1) @ b
        m_gb, m_gu = m @ gb[r - 1], m @ gu[r - 1]
        for s, other in enumerate(halves, start=1):
            product = sum(float(np.sum(m[j, k] * m[i, h])) for i, j in half for k, h in other)
            sums.trace_pairs[r, s] += times * product
            sums.pairs[s, r] += times * (gb[s - 1].T @ m_gb)
            sums.quadratic_pairs[s, r] += float(np.sum(gu[s - 1] * m_gu))


def _apply(half: list[tuple[slice, slice]], x: Floats) -> Floats:
    out = np.zeros_like(x)
    for i, j in half:
        out[i] += x[j]
    return out
