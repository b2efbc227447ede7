"""How a linear mixed model is eliminated: which random effects at which stage, and the sums over cells that it works on.

Effects go in three stages and then the fixed effects: inner (block diagonal over the levels of a grouping T), middle (falls into
components), outer (dense).
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple, cast

import numpy as np
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import connected_components

from evalstats.record import record
from evalstats.stats.mixed.design import Floats, Ints, MixedDesign, RandomTerm, nested_in, within_owner
from evalstats.stats.mixed.distinct_rows import Distinct

_SAMPLE = 4  # cells for each block or level in which components are sought first
_STEPS = 3  # from a block over shared levels to others, in a first look
_CANDIDATES = 3  # groupings tried as T
_SHARE = 0.05  # least number of effects, of those of the largest, for a grouping to be tried


@record
class Slot:
    """Where the effects of one term stand in their stage.

    `term` is the index into `MixedDesign.terms`, `start` the first position within a block (inner), a component (middle) or the
    outer stage, `n_places` the levels for which there is room there: the most that any block or component has. The effects of
    place k stand at start + k * n_columns and the positions that follow. `place`, shape (n_levels,), is the position of the first
    effect of every level in the flattened array of its stage, of shape (n_components, n_blocks, inner_size),
    (n_components, middle_size) or (outer_size,).
    """

    term: int
    start: int
    n_places: int
    n_columns: int
    place: Ints

    @property
    def stop(self) -> int:
        """First position after the term."""
        return self.start + self.n_places * self.n_columns


@record
class Stages:
    """Which effects are eliminated at which stage.

    `cell_term` is the index of the term with one level for each cell, if there is one; `inner` is never empty. `component` and
    `block`, shape (n_cells,), are those of every cell, a block as an index into the flattened (n_components, n_blocks), of which
    those that meet no cell are padding. `entries` is a rough count of the numbers held.
    """

    cell_term: int | None
    inner: tuple[Slot, ...]
    middle: tuple[Slot, ...]
    outer: tuple[Slot, ...]
    component: Ints
    block: Ints
    n_components: int
    n_blocks: int
    entries: float

    @property
    def inner_size(self) -> int:
        """Effects of one block; 1 for a plain random intercept."""
        return self.inner[-1].stop if self.inner else 0

    @property
    def middle_size(self) -> int:
        """Effects of one component outside its blocks."""
        return self.middle[-1].stop if self.middle else 0

    @property
    def outer_size(self) -> int:
        """Effects of the dense remainder."""
        return self.outer[-1].stop if self.outer else 0


def plan_elimination(design: MixedDesign) -> Stages:
    """Choose the stages that make one evaluation cheapest.

    The largest groupings are tried as T, each with and without components. Work is counted with padding, so blocks of very
    unequal size lose against another T. A random intercept with one level for each cell is a stage of its own beside others.
    """
    terms = design.terms
    cell_term = next(
        (
            k
            for k, term in enumerate(terms)
            if len(terms) > 1  # a single term makes a good T
            and term.is_intercept
            and term.n_levels == len(term.level)
            and np.bincount(term.level).max() == 1
        ),
        None,
    )
    others = [k for k in range(len(terms)) if k != cell_term]
    cells = [np.zeros(term.n_levels, dtype=np.int64) for term in terms]  # one cell of every level
    for cell, term in zip(cells, terms, strict=True):
        cell[term.level] = np.arange(len(term.level))
    n_fixed = design.fixed.n_columns
    choices = [choice for k in _candidates(terms, others) for choice in _choices(terms, others, k, cells)]
    costs = [_cost(terms, choice, others, n_fixed) for choice in choices]
    best = min(range(len(choices)), key=lambda place: costs[place][0])
    return _lay_out(design, cell_term, choices[best], costs[best][1])


class _Division(NamedTuple):
    """A way to divide the terms: the level of T (`top`) as block of every cell, and the component of every block.

    `cells` has for each term one cell of every level.
    """

    top: Ints
    n_blocks: int
    inner: list[int]
    middle: list[int]
    component: Ints
    cells: list[Ints]

    def block_of(self, term: int) -> Ints:
        """Return one block that every level of the term meets."""
        return self.top[self.cells[term]]


def _candidates(terms: tuple[RandomTerm, ...], others: list[int]) -> list[int]:
    """Terms whose grouping may be T: the largest, one for each grouping."""
    out: list[int] = []
    for k in sorted(others, key=lambda k: -terms[k].n_levels * terms[k].n_columns):
        if not any(terms[k].n_levels == terms[j].n_levels and nested_in(terms[k].level, terms[j].level) for j in out):
            out.append(k)
    sizes = [terms[k].n_levels * terms[k].n_columns for k in out]
    return [k for k, size in zip(out, sizes, strict=True) if size >= _SHARE * sizes[0]][:_CANDIDATES]


def _choices(terms: tuple[RandomTerm, ...], others: list[int], chosen: int, cells: list[Ints]) -> list[_Division]:
    """Divide with this T: with all that falls into components, and without."""
    top, n_blocks = terms[chosen].level, terms[chosen].n_levels
    inner = [k for k in others if terms[k].n_levels >= n_blocks and nested_in(terms[k].level, top)]
    rest = sorted((k for k in others if k not in inner), key=lambda k: -terms[k].n_levels)
    plain = _Division(top, n_blocks, inner, [], np.zeros(n_blocks, dtype=np.int64), cells)
    middle: list[int] = []
    component = plain.component
    for k in rest:
        if not _all_joined(top, n_blocks, terms[k]):
            trial = _components(top, n_blocks, [terms[j] for j in [*middle, k]])
            if trial.max() > 0:
                middle.append(k)
                component = trial
    return [plain, plain._replace(middle=middle, component=component)] if middle else [plain]


def _sample(n: int, size: int) -> Ints | slice:
    """Cells spread in no regular order, since models or trials may repeat with a fixed period."""
    return np.arange(size) * 736_879 % n if n > size else slice(None)


def _all_joined(top: Ints, n_blocks: int, term: RandomTerm) -> bool:
    """Whether few steps from block to level and back reach all blocks of a sample of the cells; False says nothing."""
    sample = _sample(len(top), _SAMPLE * max(n_blocks, term.n_levels))
    blocks, levels = top[sample], term.level[sample]
    reached = np.zeros(n_blocks, dtype=bool)
    reached[blocks[0]] = True
    for _ in range(_STEPS):
        met = np.zeros(term.n_levels, dtype=bool)
        met[levels[reached[blocks]]] = True
        reached[blocks[met[levels]]] = True
    return bool(reached[blocks].all())


def _components(top: Ints, n_blocks: int, terms: list[RandomTerm]) -> Ints:
    """Component of every block, where blocks and levels that meet in a cell are joined.

    Components are found in a sample of the cells first. Where every other cell joins what is joined already, they are
    those of all cells; else they are merged along the cells that join two.
    """
    starts = np.cumsum([n_blocks, *(term.n_levels for term in terms)])
    size = _SAMPLE * max(n_blocks, *(term.n_levels for term in terms))
    sample = _sample(len(top), size)
    labels = _joined(
        np.concatenate([top[sample]] * len(terms)),
        np.concatenate([term.level[sample] + start for term, start in zip(terms, starts, strict=False)]),
        int(starts[-1]),
    )
    if len(top) > size and labels.max() > 0:
        for term, start in zip(terms, starts, strict=False):
            ours, theirs = labels[:n_blocks][top], labels[start : start + term.n_levels][term.level]
            apart = ours != theirs
            if apart.any():
                labels = _joined(ours[apart], theirs[apart], int(labels.max()) + 1)[labels]
    return np.unique(labels[:n_blocks], return_inverse=True)[1].astype(np.int64)


def _joined(rows: Ints, columns: Ints, size: int) -> Ints:
    graph = coo_array((np.ones(len(rows), dtype=np.int8), (rows, columns)), (size, size))
    return connected_components(graph, directed=False)[1].astype(np.int64)


def _cost(terms: tuple[RandomTerm, ...], choice: _Division, others: list[int], n_fixed: int) -> tuple[float, float]:
    """Multiplications of one evaluation, and numbers held, with padding."""
    n_components = int(choice.component.max()) + 1
    blocks = float(np.bincount(choice.component).max() * n_components)
    s = sum(terms[k].n_columns * int(np.bincount(choice.block_of(k)).max()) for k in choice.inner)
    in_component = [choice.component[choice.block_of(k)] for k in choice.middle]
    ell = sum(
        terms[k].n_columns * int(np.bincount(of).max()) for k, of in zip(choice.middle, in_component, strict=True)
    )
    taken = choice.inner + choice.middle
    r = n_fixed + 1 + sum(terms[k].n_columns * terms[k].n_levels for k in others if k not in taken)
    m = float(ell + r)
    inner = blocks * (s**3 + 2.0 * s**2 * m + s * m**2)
    work = inner + n_components * (2.0 * ell**3 + 2.0 * ell**2 * r + ell * r**2) + float(r) ** 3
    return work, blocks * s * (s + m) + n_components * m**2


def _lay_out(design: MixedDesign, cell_term: int | None, choice: _Division, entries: float) -> Stages:
    terms = design.terms
    n_components = int(choice.component.max()) + 1
    n_blocks = int(np.bincount(choice.component).max())
    block_of = choice.component * n_blocks + within_owner(choice.component, n_components)
    block = block_of[choice.top]
    component = block // n_blocks
    used = {cell_term, *choice.inner, *choice.middle}
    outer = [k for k in range(len(terms)) if k not in used]
    return Stages(
        cell_term=cell_term,
        inner=_slots(terms, choice.inner, choice.cells, block, n_components * n_blocks),
        middle=_slots(terms, choice.middle, choice.cells, component, n_components),
        outer=_slots(terms, outer, choice.cells, np.zeros_like(block), 1),
        component=component,
        block=block,
        n_components=n_components,
        n_blocks=n_blocks,
        entries=entries,
    )


def _slots(
    terms: tuple[RandomTerm, ...], which: list[int], cells: list[Ints], of_cell: Ints, n_owners: int
) -> tuple[Slot, ...]:
    """Give every term its positions within a block, component or the outer stage."""
    owners = [of_cell[cells[k]] for k in which]
    places = [int(np.bincount(owner).max()) for owner in owners]
    starts = np.concatenate([[0], np.cumsum([terms[k].n_columns * n for k, n in zip(which, places, strict=True)])])
    size = int(starts[-1])
    return tuple(
        Slot(
            term=k,
            start=int(start),
            n_places=n,
            n_columns=terms[k].n_columns,
            place=owner * size + int(start) + within_owner(owner, n_owners) * terms[k].n_columns,
        )
        for k, owner, n, (start, _) in zip(which, owners, places, pairwise(starts), strict=True)
    )


class Rest(NamedTuple):
    """A symmetric matrix on the middle effects and R, whose middle part falls into components.

    `mm` has shape (n_components, l, l), `mr` (n_components, l, r) and `rr` (r, r), with l middle effects in a component.
    """

    mm: Floats
    mr: Floats
    rr: Floats

    def flat(self, *, doubled: bool = False) -> Floats:
        """Return all entries in a row; `doubled` counts mr twice, as an inner product of whole matrices does."""
        return np.concatenate([self.mm.ravel(), 2.0 * self.mr.ravel() if doubled else self.mr.ravel(), self.rr.ravel()])

    def like(self, flat: Floats) -> "Rest":
        """Return the reverse of `flat()`."""
        first, second = self.mm.size, self.mm.size + self.mr.size
        return Rest(
            flat[:first].reshape(self.mm.shape),
            flat[first:second].reshape(self.mr.shape),
            flat[second:].reshape(self.rr.shape),
        )


@record
class CrossProducts:
    """Sums over cells for one set of weights, in the padded layout of the plan.

    zz = Z1'wZ1, zm = Z1'wZm and zr = Z1'wR have shapes (n_components, n_blocks, s, s or l or r), with s effects in a block;
    ww = [Zm, R]'w[Zm, R].
    """

    zz: Floats
    zm: Floats
    zr: Floats
    ww: Rest


class _CellEffect(NamedTuple):
    """An effect of every cell: its position, and its multiplier (None for ones)."""

    at: Ints
    values: Floats | None


def cross_products(
    design: MixedDesign, plan: Stages, fixed: Distinct, response: Floats, weight: Floats
) -> CrossProducts:
    """Sum over cells. `fixed` and `response` are those of the cells, perhaps transformed."""
    n, s, ell = plan.n_components, plan.inner_size, plan.middle_size
    outer_size, r = plan.outer_size, plan.outer_size + fixed.n_columns + 1
    inner, middle, outer = (list(_columns(design, slots)) for slots in (plan.inner, plan.middle, plan.outer))
    block, component = plan.block, plan.component
    zz = _symmetric(n * plan.n_blocks, s, [_CellEffect(c.at % s, c.values) for c in inner], block, weight)
    of_component = [_CellEffect(c.at % ell, c.values) for c in middle]
    zm, zr = np.zeros((n * plan.n_blocks * s, ell)), np.zeros((n * plan.n_blocks * s, r))
    for column in inner:
        for other in of_component:
            zm += _sums(column.at * ell + other.at, zm, weight, column.values, other.values)
        for other in outer:
            zr += _sums(column.at * r + other.at, zr, weight, column.values, other.values)
        zr[:, outer_size:-1] += _fixed_sums(column, len(zr), fixed, weight)
    mm = _symmetric(n, ell, of_component, component, weight)
    mr, rr = np.zeros((n * ell, r)), np.zeros((r, r))
    for column in middle:
        for other in outer:
            mr += _sums(column.at * r + other.at, mr, weight, column.values, other.values)
        mr[:, outer_size:-1] += _fixed_sums(column, len(mr), fixed, weight)
    if outer:
        rr[:outer_size, :outer_size] = _symmetric(1, outer_size, outer, None, weight)[0]
    for column in outer:
        rr[:outer_size, outer_size:-1] += _fixed_sums(column, outer_size, fixed, weight)
    rr[outer_size:-1, :outer_size] = rr[:outer_size, outer_size:-1].T
    rr[outer_size:-1, outer_size:-1] = fixed.rows.T @ (fixed.of_cell.sums(weight)[:, None] * fixed.rows)
    shape = (n, plan.n_blocks, s)
    products = CrossProducts(
        zz=zz.reshape(*shape, s),
        zm=zm.reshape(*shape, ell),
        zr=zr.reshape(*shape, r),
        ww=Rest(mm, mr.reshape(n, ell, r), rr),
    )
    replace_response(products, design, plan, (fixed, response), weight)
    return products


def replace_response(
    products: CrossProducts, design: MixedDesign, plan: Stages, dense: tuple[Distinct, Floats], weight: Floats
) -> None:
    """Write the sums that involve the response, in place; `dense` is the fixed part and the response."""
    fixed, response = dense
    weighted = weight * response
    mr, rr = products.ww.mr, products.ww.rr
    for slots, sums in ((plan.inner, products.zr[..., -1]), (plan.middle, mr[..., -1]), (plan.outer, rr[:, -1])):
        flat = np.zeros(sums.size)
        for column in _columns(design, slots):
            flat += np.bincount(column.at, weights=_times(weighted, column.values), minlength=sums.size)
        sums[...] = flat.reshape(sums.shape)
    rr[plan.outer_size : -1, -1] = fixed.sums(weighted)
    rr[-1, -1] = weighted @ response
    rr[-1] = rr[:, -1]


def _columns(design: MixedDesign, slots: tuple[Slot, ...]) -> Iterator[_CellEffect]:
    """Effects of every cell at one stage, with positions in the flattened array of the stage."""
    for slot in slots:
        term = design.terms[slot.term]
        first = slot.place[term.level]
        plain = term.is_intercept
        for k in range(term.n_columns):
            yield _CellEffect(first + k if k else first, None if plain else np.ascontiguousarray(term.values[:, k]))


def _symmetric(n: int, size: int, columns: list[_CellEffect], which: Ints | None, weight: Floats) -> Floats:
    """Sum products of effects: n matrices of this size, where `which` is that of every cell."""
    out = np.zeros((n, size, size))
    for i, column in enumerate(columns):
        row = column.at if which is None else which * size + column.at
        if size == 1:
            return _sums(row, out, weight, column.values, column.values)
        diagonal = np.zeros((n, size))
        diagonal += _sums(row, diagonal, weight, column.values, column.values)
        out[:, np.arange(size), np.arange(size)] += diagonal
        for other in columns[:i]:
            sums = _sums(row * size + other.at, out, weight, column.values, other.values)
            out += sums
            out += np.swapaxes(sums, -1, -2)
    return out


def _times(weight: Floats, values: Floats | None) -> Floats:
    return weight if values is None else weight * values


def _sums(index: Ints, like: Floats, weight: Floats, values: Floats | None, others: Floats | None) -> Floats:
    weights = _times(_times(weight, values), others)
    return np.bincount(index, weights=weights, minlength=like.size).astype(np.float64, copy=False).reshape(like.shape)


def _fixed_sums(column: _CellEffect, size: int, fixed: Distinct, weight: Floats) -> Floats:
    """Sum weighted fixed columns over cells with the same effect: shape (size, n_columns)."""
    where = column.at, fixed.of_cell.level
    cells = cast("Any", csr_array)(
        (_times(weight, column.values), where), (size, len(fixed.rows))
    )  # its types lose the numbers
    return np.asarray(cells @ fixed.rows, dtype=np.float64)
