"""Elimination of the random effects of a binomial model at given weights of the cells: order, sums over cells, solution.

First the leaf (a grouping with one cell a level), then a chain of nested groupings, by sums over their levels; what is left, the
rest, is solved component by component where it falls apart.
"""

from dataclasses import replace
from typing import cast

import numpy as np
import numpy.typing as npt
from scipy import linalg, sparse
from scipy.sparse import csgraph

from evalstats.record import record
from evalstats.stats.mixed.design import Floats, Ints, MixedDesign, nested_in, within_owner
from evalstats.stats.mixed.distinct_rows import Distinct, Groups, hash_rows, mixed_bits, numbered
from evalstats.stats.mixed.linear_elimination import Scaling, invert_blocks
from evalstats.stats.mixed.linear_stages import Slot

Bools = npt.NDArray[np.bool_]


@record
class RestLayout:
    """Where the effects that stay stand: `n_local` in each of `n_components`, and a border that meets all components.

    An axis of one component is [local effects, border, fixed effects], the first padded to the largest component. `slots` say
    where the effects of each block stand on it; `component` and `place` the same of every column of [rest, fixed], with the
    component 0 for what meets all; `is_local`, shape (n_rest,), which random effects do not.
    """

    n_components: int
    n_local: int
    n_border: int
    n_fixed: int
    slots: tuple[Slot, ...]
    of_cell: Ints
    component: Ints
    place: Ints
    is_local: Bools

    @property
    def n_random(self) -> int:
        """Random effects on the axis of a component."""
        return self.n_local + self.n_border

    @property
    def width(self) -> int:
        """Length of that axis."""
        return self.n_random + self.n_fixed

    @property
    def shape(self) -> tuple[int, int, int]:
        """Shape of a symmetric matrix on [rest, fixed], in this layout."""
        return self.n_components, self.width, self.width

    def where(self, row: Ints, column: Ints) -> Ints:
        """Return the flattened position of entries of such a matrix; a row and a column of two components have none."""
        component = np.maximum(self.component[row], self.component[column])
        return (component * self.width + self.place[row]) * self.width + self.place[column]

    def scaling(self, factors: tuple[Floats, ...], *, with_fixed: bool) -> Scaling:
        """Return the covariance factors along the axis of a component; `factors` are those of all blocks."""
        return Scaling.of(self.width if with_fixed else self.n_random, self.slots, factors)

    def along(self, rows: "sparse.csr_array[np.float64]") -> Floats:
        """Lay rows over [rest, fixed] out along the axis of the component that each lies in, without the fixed effects."""
        entries = rows.tocoo()
        row, column = entries.coords
        kept = column < self.is_local.size
        out = np.zeros((int(rows.shape[0]), self.n_random))
        out[row[kept], self.place[column[kept]]] = entries.data[kept]
        return out


def lay_out(rest: dict[int, tuple[Groups, int]], top: Groups | None, n_cells: int, n_fixed: int) -> RestLayout:
    """Divide the effects that stay into components, where that pays.

    `rest` holds for every block its grouping and the effects of a level, from the most levels; `top` is the coarsest grouping
    that is eliminated before them. A grouping that joins everything goes to the border, and so do all where little is won.
    """
    n_rest = sum(groups.n_levels * size for groups, size in rest.values())
    of_cell: Ints = np.zeros(n_cells, dtype=np.int64)
    local: list[int] = []
    if not _one_is_cheaper(n_rest + n_fixed):
        joined = [] if top is None else [top]
        for b, (groups, _) in rest.items():
            trial = _components([*joined, groups], n_cells)
            if trial.max() > 0:
                joined.append(groups)
                local.append(b)
                of_cell = trial
    found = _placed(rest, local, of_cell, n_fixed)
    if _one_is_cheaper(n_rest + n_fixed, found):
        return _placed(rest, [], np.zeros(n_cells, dtype=np.int64), n_fixed)
    return found


def _one_is_cheaper(size: int, by_component: RestLayout | None = None) -> bool:
    """Say whether one dense factor of that size takes no time, or not much more than those of the components."""
    small, repaid = 200, 0.3  # effects; share of the multiplications at which components are worth their bookkeeping
    if by_component is None:
        return size <= small
    return by_component.n_components * by_component.width**3 > repaid * size**3


def _components(groupings: list[Groups], n_cells: int) -> Ints:
    """Component of every cell, where cells that share a level are joined."""
    starts = np.cumsum([0, *(groups.n_levels for groups in groupings)])
    first = groupings[0].level
    rows = np.concatenate([first] * len(groupings))
    columns = np.concatenate([groups.level + start for groups, start in zip(groupings, starts, strict=False)])
    size = int(starts[-1])
    graph = sparse.coo_array((np.ones(rows.size, dtype=np.int8), (rows, columns)), shape=(size, size))
    labels = csgraph.connected_components(graph, directed=False)[1]
    return np.unique(labels[first], return_inverse=True)[1].reshape(n_cells).astype(np.int64)


def _placed(rest: dict[int, tuple[Groups, int]], local: list[int], of_cell: Ints, n_fixed: int) -> RestLayout:
    """Give every effect its component and place."""
    n_components = int(of_cell.max()) + 1 if local else 1
    slots: dict[int, Slot] = {}
    component: dict[int, Ints] = {}
    start = 0
    for b in (*local, *(b for b in rest if b not in local)):
        groups, size = rest[b]
        owner: Ints = np.zeros(groups.n_levels, dtype=np.int64)
        rank: Ints = np.arange(groups.n_levels)
        if b in local:
            owner[groups.level] = of_cell
            rank = within_owner(owner, n_components)
        slots[b] = Slot(term=b, start=start, n_places=int(rank.max()) + 1, n_columns=size, place=start + rank * size)
        component[b] = owner
        start = slots[b].stop
    n_local = max((slots[b].stop for b in local), default=0)
    nothing: list[Ints] = [np.empty(0, dtype=np.int64)]
    places = [(slots[b].place[:, None] + np.arange(slots[b].n_columns)).ravel() for b in rest]
    return RestLayout(
        n_components=n_components,
        n_local=n_local,
        n_border=start - n_local,
        n_fixed=n_fixed,
        slots=tuple(slots[b] for b in rest),
        of_cell=of_cell,
        component=np.concatenate(
            [*(np.repeat(component[b], slots[b].n_columns) for b in rest), np.zeros(n_fixed, dtype=np.int64)]
        ),
        place=np.concatenate([*places, start + np.arange(n_fixed)]),
        is_local=np.concatenate([place < n_local for place in places or nothing]),
    )


class RestFactor:
    """The rest factored: I + S of the random effects that stay, and what they leave of the fixed effects.

    `gram` is S scaled by the covariance factors, shape (n_components, width, width) without the fixed effects or with them;
    then `extra` is added to their part.
    """

    def __init__(self, layout: RestLayout, gram: Floats, extra: Floats | None) -> None:
        self.layout = layout
        m, q = layout.n_local, layout.n_border
        border = gram[:, m:, m:].sum(axis=0)
        border[np.arange(q), np.arange(q)] += 1.0
        if extra is not None:
            border[q:, q:] += extra
        self.log_determinant = 0.0
        self.inverse: Floats = np.empty((layout.n_components, 0, 0))
        self.gain: Floats = np.empty((layout.n_components, 0, border.shape[0]))
        if m:
            coupling = gram[:, :m, m:]
            self.inverse, logdets = invert_blocks(gram[:, :m, :m] + np.eye(m))
            self.log_determinant = float(logdets.sum())
            self.gain = self.inverse @ coupling
            border -= np.tensordot(coupling, self.gain, axes=((0, 1), (0, 1)))
        self.lower: Floats = border
        if border.size:
            self.lower = np.asarray(linalg.cholesky(border, lower=True, check_finite=False), dtype=np.float64)
            self.log_determinant += 2.0 * float(np.log(np.diagonal(self.lower)[:q]).sum())

    def solve(self, right: Floats) -> Floats:
        """Solve for [rest, fixed], in the order of the columns."""
        layout, n_rest = self.layout, self.layout.is_local.size
        if not layout.n_local:
            return self._solve_border(right)
        local, others = np.flatnonzero(layout.is_local), np.flatnonzero(~layout.is_local)
        component, place = layout.component[local], layout.place[local]
        inside = np.zeros((layout.n_components, layout.n_local))
        inside[component, place] = right[local]
        border = np.concatenate([right[others], right[n_rest:]])
        border = self._solve_border(border - np.einsum("kmi,km->i", self.gain, inside))
        inside = np.einsum("kmn,kn->km", self.inverse, inside) - self.gain @ border
        out = np.empty(right.size)
        out[local], out[others], out[n_rest:] = inside[component, place], border[: others.size], border[others.size :]
        return out

    def _solve_border(self, right: Floats) -> Floats:
        return linalg.cho_solve((self.lower, True), right, check_finite=False) if right.size else right

    def fixed_precision(self) -> Floats:
        """Precision of the fixed effects once every random effect is eliminated."""
        lower = self.lower[self.layout.n_border :, self.layout.n_border :]
        return lower @ lower.T

    def covariance(self) -> Floats:
        """Covariance of the random effects of each component and the border, shape (n_components, n_random, n_random)."""
        m, q = self.layout.n_local, self.layout.n_border
        border = np.empty((0, 0))
        if q:
            lower = np.asfortranarray(self.lower[:q, :q])
            border = np.asarray(linalg.cho_solve((lower, True), np.eye(q), check_finite=False), dtype=np.float64)
        if not m:
            return border[None]
        out = np.empty((self.layout.n_components, m + q, m + q))
        gain = self.gain[:, :, :q]
        across = gain @ border
        out[:, :m, :m] = self.inverse + across @ gain.transpose(0, 2, 1)
        out[:, :m, m:], out[:, m:, :m] = -across, -across.transpose(0, 2, 1)
        out[:, m:, m:] = border
        return out


@record
class GroupingBlock:
    """All terms of one grouping: `(1|g)` and `(0 + x|g)` are eliminated together.

    `values` has shape (n_columns, n_cells): what each effect of a level is multiplied by. In a leaf the levels are numbered
    as the cells are, whatever their numbers in the design; `given` maps back.
    """

    terms: tuple[int, ...]
    groups: Groups
    given: Ints | None = None
    values: Floats

    @property
    def size(self) -> int:
        """Effects of a level."""
        return len(self.values)

    @property
    def n_levels(self) -> int:
        """Levels of the grouping."""
        return self.groups.n_levels


@record
class EliminationOrder:
    """Order of elimination, and the distinct rows of everything that stays.

    `blocks` are all groupings: the leaf if there is one, the chain (`n_chain` of them) from its finest, then the rest. `entries`
    holds for every entry of theta its block, and its row and column in the factor of the block. `profiles` are the distinct rows
    of [rest, fixed], `profile` the row of every cell; `distinct` the same for the fixed effects alone. `layout` says where
    the effects of the rest stand.
    """

    blocks: tuple[GroupingBlock, ...]
    has_leaf: bool
    n_chain: int
    entries: tuple[tuple[int, int, int], ...]
    profiles: "sparse.csr_array[np.float64]"
    profile: Groups
    distinct: Distinct
    layout: RestLayout

    @property
    def chain(self) -> range:
        """Which blocks are the chain."""
        return range(int(self.has_leaf), int(self.has_leaf) + self.n_chain)

    @property
    def rest(self) -> range:
        """Which blocks stay."""
        return range(int(self.has_leaf) + self.n_chain, len(self.blocks))

    @property
    def n_rest(self) -> int:
        """Random effects that stay."""
        return sum(self.blocks[b].size * self.blocks[b].n_levels for b in self.rest)

    @property
    def n_cells(self) -> int:
        """Cells."""
        return self.profile.level.size

    def factors(self, theta: Floats) -> tuple[Floats, ...]:
        """Relative covariance factor of every block: block diagonal where a grouping has several terms."""
        out = tuple(np.zeros((block.size, block.size)) for block in self.blocks)
        for (block, row, column), value in zip(self.entries, theta, strict=True):
            out[block][row, column] = value
        return out

    def columns(self, factors: tuple[Floats, ...]) -> tuple[Floats, ...]:
        """Return what the spherical effects of every block are multiplied by, shape (n_columns, n_cells) each."""
        return tuple(factor.T @ block.values for factor, block in zip(factors, self.blocks, strict=True))


def make_plan(design: MixedDesign) -> EliminationOrder:
    """Order the groupings of a design and find its distinct rows."""
    found: list[tuple[list[int], Groups]] = []  # terms of the same grouping, put together
    for t, term in enumerate(design.terms):
        for terms, groups in found:
            if groups.n_levels == term.n_levels and np.array_equal(groups.level, term.level):
                terms.append(t)
                break
        else:
            found.append(([t], Groups(term.level, term.n_levels)))
    merged = [
        GroupingBlock(
            terms=tuple(terms),
            groups=groups,
            values=np.concatenate([np.ascontiguousarray(design.terms[t].values.T) for t in terms]),
        )
        for terms, groups in found
    ]
    leaf, chain, rest = _order([block.groups for block in merged])
    cells = np.arange(design.n_cells, dtype=np.int64)
    leaves = [replace(merged[b], groups=Groups(cells, cells.size), given=merged[b].groups.level) for b in leaf]
    stays = [merged[b] for b in rest]
    blocks = (*leaves, *(merged[b] for b in chain), *stays)
    distinct = design.fixed
    # The distinct rows of [rest, fixed].
    key = distinct.of_cell.level.astype(np.uint64)
    for block in stays:
        key = mixed_bits(key ^ mixed_bits(block.groups.level.astype(np.uint64)))
        key ^= hash_rows(np.ascontiguousarray(block.values.T))
    profile, first = numbered(key)
    fixed = sparse.csr_array(distinct.rows[distinct.of_cell.level[first]])
    return EliminationOrder(
        blocks=blocks,
        has_leaf=bool(leaf),
        n_chain=len(chain),
        entries=_entries(design, blocks),
        profiles=sparse.csr_array(sparse.hstack([_columns_of_rest(stays, first), fixed], format="csr")),
        profile=profile,
        distinct=distinct,
        layout=lay_out(
            {len(leaf) + len(chain) + k: (block.groups, block.size) for k, block in enumerate(stays)},
            merged[chain[-1]].groups if chain else None,
            design.n_cells,
            distinct.n_columns,
        ),
    )


def _entries(design: MixedDesign, blocks: tuple[GroupingBlock, ...]) -> tuple[tuple[int, int, int], ...]:
    """Find the block, row and column of every entry of theta."""
    found: dict[int, list[tuple[int, int, int]]] = {}
    for b, block in enumerate(blocks):
        start = 0
        for term in block.terms:
            size = design.terms[term].n_columns
            columns, lines = np.triu_indices(size)
            found[term] = [(b, start + int(i), start + int(j)) for i, j in zip(lines, columns, strict=True)]
            start += size
    return tuple(entry for term in range(len(design.terms)) for entry in found[term])


def _order(groups: list[Groups]) -> tuple[list[int], list[int], list[int]]:
    """Pick the leaf, the chain of nested groupings with the most levels, and the rest."""
    finest = sorted(range(len(groups)), key=lambda g: -groups[g].n_levels)
    leaf = [g for g in finest if np.bincount(groups[g].level).max() == 1][:1]
    others = [g for g in finest if g not in leaf]
    nothing: list[int] = []

    def n_levels(chain: list[int]) -> int:
        return sum(groups[g].n_levels for g in chain)

    best: dict[int, list[int]] = {}
    for g in reversed(others):
        above = [best[h] for h in best if nested_in(groups[g].level, groups[h].level)]
        best[g] = [g, *max(above, key=n_levels, default=nothing)]
    chain = max(best.values(), key=n_levels, default=nothing)
    return leaf, chain, [g for g in others if g not in chain]


def _columns_of_rest(rest: list[GroupingBlock], rows: Ints) -> "sparse.csr_array[np.float64]":
    """Unscaled columns of the effects that stay, one row for every distinct row."""
    start, parts = 0, list[Ints]()
    values: list[Floats] = []
    for block in rest:
        level = block.groups.level[rows]
        parts += [start + level * block.size + a for a in range(block.size)]
        values += [block.values[a, rows] for a in range(block.size)]
        start += block.size * block.n_levels
    if not parts:
        return sparse.csr_array((rows.size, 0), dtype=np.float64)
    where = (np.tile(np.arange(rows.size), len(parts)), np.concatenate(parts))
    return sparse.csr_array((np.concatenate(values), where), shape=(rows.size, start))


@record
class ComponentBatch:
    """Components of about the same size: levels and distinct rows that occur together, and only with each other.

    They stand in one array of `shape` (n_components, n_levels, n_rows), padded with zeros. `pairs` are positions in the list
    of pairs, `cell` where each goes in that array. `rows`, shape (n_components, n_rows, n_columns), are those parts of P that
    are not 0, `columns`, shape (n_components, n_columns), where they stand in P.
    """

    shape: tuple[int, int, int]
    pairs: Ints
    cell: Ints
    rows: Floats
    columns: Ints


@record
class Gram:
    """Pairs of (level, distinct row) of one block, worked out once.

    `pairs` sums over the cells of a pair; `level` and `row` are those of each pair, sorted, `starts` where each level's
    begin; `batches` is None where T is formed instead.
    """

    pairs: Groups
    level: Ints
    row: Ints
    starts: Ints
    profiles: "sparse.csr_array[np.float64]"
    batches: tuple[ComponentBatch, ...] | None

    def columns(self, data: Floats) -> "sparse.csr_array[np.float64]":
        """Return T from the sums of every pair, shape (n_levels, columns of P)."""
        shape = (self.starts.size - 1, int(self.profiles.shape[0]))
        return cast(
            "sparse.csr_array[np.float64]", sparse.csr_array((data, self.row, self.starts), shape=shape) @ self.profiles
        )

    def subtract(self, out: Floats, data: Floats, layout: RestLayout) -> None:
        """Take sum_k T_k' T_k from `out`, T_k made from `data[k]`; shape of `data` (n_columns, n_pairs)."""
        if self.batches is None:
            for values in data:
                t = self.columns(values)
                dense_is_cheaper = t.nnz > 0.1 * t.shape[0] * t.shape[1]
                if layout.n_components == 1 and dense_is_cheaper:
                    dense = t.toarray()
                    out[0] -= dense.T @ dense
                    continue
                products = sparse.coo_array(t.T @ t)
                row, column = (at.astype(np.int64) for at in products.coords)
                _take(out, layout.where(row, column), products.data)
            return
        for batch in self.batches:
            inner = np.zeros((batch.shape[0], batch.shape[2], batch.shape[2]))
            for values in data:
                dense = np.zeros(batch.shape)
                dense.ravel()[batch.cell] = values[batch.pairs]
                inner += dense.transpose(0, 2, 1) @ dense
            products = batch.rows.transpose(0, 2, 1) @ inner @ batch.rows
            _take(out, layout.where(batch.columns[:, :, None], batch.columns[:, None, :]), products)


def _take(out: Floats, where: Ints, values: Floats) -> None:
    """Take values from flattened positions of `out`, which may come several times."""
    out -= np.bincount(where.ravel(), weights=values.ravel(), minlength=out.size).reshape(out.shape)


def _batches(
    level: Ints, row: Ints, n_levels: int, profiles: "sparse.csr_array[np.float64]"
) -> tuple[ComponentBatch, ...] | None:
    """Split pairs into components, or return None where T' T directly is the cheaper."""
    n_profiles = int(profiles.shape[0])
    n_all = n_levels + n_profiles
    graph = sparse.coo_array((np.ones(level.size), (level, n_levels + row)), shape=(n_all, n_all))
    n_parts, part_of = csgraph.connected_components(graph, directed=False)
    n_level, n_row = (np.bincount(each, minlength=n_parts) for each in np.split(part_of, [n_levels]))
    if _whole_is_cheaper(n_level, n_row, level.size, int(profiles.shape[1])):
        return None
    order = np.argsort(part_of[level], kind="stable")
    ends = np.cumsum(np.bincount(part_of[level], minlength=n_parts))
    alike: dict[tuple[int, int, int], list[tuple[Ints, Ints, Ints, Floats, Ints]]] = {}  # by size
    for pairs in np.split(order, ends[:-1]):
        if pairs.size == 0:  # a level that no cell has
            continue
        levels, i = np.unique(level[pairs], return_inverse=True)
        rows, j = np.unique(row[pairs], return_inverse=True)
        part = profiles[rows]
        columns = np.unique(part.indices).astype(np.int64)
        size = (1 << int(levels.size - 1).bit_length(), rows.size, columns.size)
        alike.setdefault(size, []).append((pairs, i, j, part[:, columns].toarray(), columns))
    return tuple(
        ComponentBatch(
            shape=(len(parts), n_levels, n_rows),
            pairs=np.concatenate([part[0] for part in parts]),
            cell=np.concatenate([(k * n_levels + part[1]) * n_rows + part[2] for k, part in enumerate(parts)]),
            rows=np.stack([part[3] for part in parts]),
            columns=np.stack([part[4] for part in parts]),
        )
        for (n_levels, n_rows, _), parts in alike.items()
    )


def _whole_is_cheaper(n_level: Ints, n_row: Ints, n_pairs: int, width: int) -> bool:
    """Say which takes fewer multiplications, for components of so many levels and rows."""
    call, product = 1e4, 10.0  # multiplications that take as long as calling for one, and as one of sparse matrices
    levels, rows = n_level.astype(float), n_row.astype(float)
    by_component = float((levels * rows**2 + rows**3).sum()) + call * min(levels.size, 10)
    return by_component > levels.sum() * width**2 + call + product * n_pairs * width


Blocks = list[Floats]  # one array for each block, shape (n_columns, n_levels)


class EliminationSystem:
    """What every elimination of one design shares."""

    def __init__(self, plan: EliminationOrder) -> None:
        self.plan = plan
        self._grams: dict[int, Gram] = {}
        self.squares = Squares(plan.profiles, plan.layout)

    def gram(self, block: int) -> Gram:
        """Return the pairs of a block's levels with the distinct rows, found when first asked for."""
        if block not in self._grams:
            groups, profile, profiles = self.plan.blocks[block].groups, self.plan.profile, self.plan.profiles
            codes, inverse = np.unique(groups.level * profile.n_levels + profile.level, return_inverse=True)
            level, row = codes // profile.n_levels, codes % profile.n_levels
            self._grams[block] = Gram(
                pairs=Groups(inverse.ravel().astype(np.int64), codes.size),
                level=level,
                row=row,
                starts=np.searchsorted(level, np.arange(groups.n_levels + 1)).astype(np.int64),
                profiles=profiles,
                batches=_batches(level, row, groups.n_levels, profiles),
            )
        return self._grams[block]


class Squares:
    """Products of the entries of every row of P with each other, listed once where rows have few entries."""

    def __init__(self, profiles: "sparse.csr_array[np.float64]", layout: RestLayout) -> None:
        self.shape = layout.shape
        filled = np.diff(profiles.indptr).astype(np.int64)
        list_is_cheaper = int((filled**2).sum()) < profiles.shape[0] * int(profiles.shape[1]) ** 2 / 10
        self.listed = list_is_cheaper or layout.n_components > 1
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
        self.where = layout.where(profiles.indices[first].astype(np.int64), profiles.indices[second].astype(np.int64))

    def weighted(self, weights: Floats) -> Floats:
        """Return P' diag(weights) P for the distinct rows P of the rest and the fixed effects, in the layout of the rest."""
        if not self.listed:
            return ((self.dense.T * weights) @ self.dense)[None]
        total = np.bincount(self.where, weights=self.value * weights[self.row], minlength=int(np.prod(self.shape)))
        return np.asarray(total, dtype=np.float64).reshape(self.shape)


class Elimination:
    """All random effects eliminated at one set of weights and scaled columns of every block.

    `extra` is what is added to X'WX (a prior), where the fixed effects are solved for too; None leaves them out.
    """

    def __init__(
        self,
        system: EliminationSystem,
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
        self.rest: RestFactor | None = None
        if plan.n_rest or extra is not None:
            self.rest = self._factor_rest(extra)
            self.log_determinant += self.rest.log_determinant

    def _eliminate(self, b: int) -> None:
        groups, columns = self.plan.blocks[b].groups, self.columns[b]
        size = len(columns)
        left = np.stack([self.reweight(column) for column in columns])
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

    def reweight(self, values: Floats) -> Floats:
        """M v: the weights after eliminating the leaf and the chain (as far as they are), times a value of every cell."""
        out = self.effective * values
        for b in self.left:
            out -= self._spread(b, self.left[b], self._solved(b, self._sums(b, self.left[b] * values)))
        return out

    def _sums(self, b: int, values: Floats) -> Floats:
        groups = self.plan.blocks[b].groups
        return np.stack([groups.sums(row) for row in values])

    def _solved(self, b: int, sums: Floats) -> Floats:
        inverse = self.inverse[b]
        return inverse[0] * sums if len(inverse) == 1 else np.einsum("ijl,jl->il", inverse, sums)

    def _spread(self, b: int, columns: Floats, effects: Floats) -> Floats:
        """Sum of columns times the effects of each cell's level."""
        groups = self.plan.blocks[b].groups
        out = columns[0] * groups.at_cells(effects[0])
        for column, effect in zip(columns[1:], effects[1:], strict=True):
            out += column * groups.at_cells(effect)
        return out

    def _factor_rest(self, extra: Floats | None) -> RestFactor:
        plan, layout = self.plan, self.plan.layout
        gram = self.system.squares.weighted(plan.profile.sums(self.effective))
        for b in plan.chain:
            pairs = self.system.gram(b)
            sums = np.stack([pairs.pairs.sums(row) for row in self.left[b]])
            pairs.subtract(gram, np.einsum("ikp,ip->kp", self.root[b][:, :, pairs.level], sums), layout)
        width = layout.width if extra is not None else layout.n_random
        scaling = layout.scaling(self.factors, with_fixed=extra is not None)
        return RestFactor(layout, scaling.both(gram[:, :width, :width]), extra)

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
            carried += self._spread(b, self.left[b], self._solved(b, sides[b]))
        effects: Blocks = [np.empty(0)] * len(plan.blocks)
        change = np.zeros(plan.n_cells)
        beta = np.empty(0)
        if self.rest is not None:
            right = np.zeros(0) if fixed is None else fixed
            beta, change = self._solve_rest(self.rest, sides, carried, right, effects)
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

    def _solve_rest(
        self, rest: RestFactor, sides: Blocks, carried: Floats, fixed: Floats, effects: Blocks
    ) -> tuple[Floats, Floats]:
        plan = self.plan
        parts = [(sides[b] - self._sums(b, self.columns[b] * carried)).T.ravel() for b in plan.rest]
        if self.has_fixed:
            parts.append(fixed - plan.distinct.sums(carried))
        solution = rest.solve(np.concatenate(parts))
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
        if self.rest is None:
            message = "the fixed effects were not solved for"
            raise AssertionError(message)
        return self.rest.fixed_precision()
