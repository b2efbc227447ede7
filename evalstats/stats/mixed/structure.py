"""The order in which random effects are eliminated: block by block, component by component, then the rest.

Evaluation data have one shape. Items are crossed with models, so the effects of different items meet only in what they
share: their block of the penalised system is diagonal (or block-diagonal, with several effects an item) whatever the
parameters are. Where items are nested in scenarios, what remains is again block-diagonal by scenario, but for the effects
of models. So there are up to four stages:

cell
    A random intercept with one level for each cell (item:model over trials). Integrated out cell by cell: for a linear
    model with residual variance 1 it changes the weight n of a cell into n / (1 + theta^2 n).
inner
    The effects of one grouping T and of all groupings nested in it: one block for each level of T, blocks do not meet.
middle
    Remaining effects that fall into components which share no block (model:scenario, where items are nested in scenarios).
outer
    All others, a dense matrix, followed by the fixed effects.

All stages are padded to regular arrays: component c, block b and place k of the inner stage stand at [c, b, k] of an array
of shape (n_components, n_blocks, inner_size). Padding effects meet no cell, so they have variance 1 in the scaled system
and add nothing to a determinant or a solution.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from evalstats.stats.mixed.design import Ints, MixedDesign, RandomTerm

_SAMPLE = 4  # cells for each block or level in which components are sought first
_HOPS = 3  # from a block over shared levels to others, in a first look
_CANDIDATES = 3  # groupings tried as T
_SHARE = 0.05  # least number of effects, of those of the largest, for a grouping to be tried


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """Where the effects of one term stand in their stage.

    Attributes
    ----------
    term
        Index into `MixedDesign.terms`.
    start
        First position within a block (inner), a component (middle) or the outer stage.
    n_places
        Levels for which there is room there: the most that any block or component has.
    n_columns
        Effects of a level; those of place k stand at start + k * n_columns and the positions that follow.
    place
        int64, shape (n_levels,): position of the first effect of every level in the flattened array of its stage, of shape
        (n_components, n_blocks, inner_size), (n_components, middle_size) or (outer_size,).
    """

    term: int
    start: int
    n_places: int
    n_columns: int
    place: Ints

    @property
    def size(self) -> int:
        """Positions taken."""
        return self.n_places * self.n_columns

    @property
    def stop(self) -> int:
        """First position after the term."""
        return self.start + self.size


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Which effects are eliminated at which stage.

    Attributes
    ----------
    cell_term
        Index of the term with one level for each cell, None where there is none.
    inner, middle, outer
        The terms of each stage. `inner` is never empty.
    component
        int64, shape (n_cells,): component of every cell.
    block
        int64, shape (n_cells,): its block as an index into the flattened (n_components, n_blocks).
    block_cells
        Number of blocks that meet a cell; the rest of n_components * n_blocks is padding.
    work, entries
        Rough number of multiplications of one evaluation, and of numbers held.
    """

    cell_term: int | None
    inner: tuple[Slot, ...]
    middle: tuple[Slot, ...]
    outer: tuple[Slot, ...]
    component: Ints
    block: Ints
    n_components: int
    n_blocks: int
    block_cells: int
    work: float
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


def plan_elimination(design: MixedDesign, *, absorb_cells: bool = True) -> Plan:
    """Choose the stages that make one evaluation cheapest.

    Parameters
    ----------
    design
        Cells and terms.
    absorb_cells
        Whether a random intercept with one level for each cell may be the `cell` stage.

    Notes
    -----
    The largest groupings are tried as T, each with and without components. Work is counted with padding, so blocks of
    very unequal size lose against another T.

    Examples
    --------
    Two models on three items, two trials each:

    >>> item = RandomTerm(
    ...     group="item",
    ...     columns=("(Intercept)",),
    ...     levels=("a", "b", "c"),
    ...     level=np.array([0, 0, 1, 1, 2, 2]),
    ...     values=np.ones((6, 1)),
    ... )
    >>> model = RandomTerm(
    ...     group="model",
    ...     columns=("(Intercept)",),
    ...     levels=("m", "n"),
    ...     level=np.array([0, 1, 0, 1, 0, 1]),
    ...     values=np.ones((6, 1)),
    ... )
    >>> design = MixedDesign(
    ...     fixed=np.ones((6, 1)),
    ...     fixed_names=("(Intercept)",),
    ...     terms=(model, item),
    ...     count=np.full(6, 2.0),
    ...     response=np.arange(6.0),
    ... )
    >>> plan = plan_elimination(design)
    >>> [slot.term for slot in plan.inner], [slot.term for slot in plan.outer], plan.n_blocks
    ([1], [0], 3)
    """
    terms = design.terms
    absorb = absorb_cells and len(terms) > 1  # a single term makes a good T
    cell_term = next((k for k, term in enumerate(terms) if _one_level_a_cell(term)), None) if absorb else None
    others = [k for k in range(len(terms)) if k != cell_term]
    cells = [_some_cell(term) for term in terms]
    choices = [choice for k in _candidates(terms, others) for choice in _choices(terms, others, k, cells)]
    best = min(choices, key=lambda choice: _cost(terms, choice, others, design.fixed.shape[1])[0])
    return _lay_out(design, cell_term, best, cells)


def is_nested(inner: RandomTerm, outer: RandomTerm) -> bool:
    """Whether each level of `inner` meets one level of `outer` only (a grouping is nested in itself)."""
    if inner.n_levels < outer.n_levels:
        return False
    if inner.level is outer.level:
        return True
    owner = np.zeros(inner.n_levels, dtype=np.int64)
    for part in (slice(0, 4096), slice(None)):
        owner[inner.level[part]] = outer.level[part]
        if not np.array_equal(owner[inner.level[part]], outer.level[part]):
            return False
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class _Choice:
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


def _some_cell(term: RandomTerm) -> Ints:
    """Return one cell of every level."""
    cell = np.zeros(term.n_levels, dtype=np.int64)
    cell[term.level] = np.arange(len(term.level))
    return cell


def _one_level_a_cell(term: RandomTerm) -> bool:
    return term.is_intercept and term.n_levels == len(term.level) and _counts(term.level, term.n_levels).max() == 1


def _counts(codes: Ints, size: int) -> Ints:
    return np.bincount(codes, minlength=size).astype(np.int64)


def _candidates(terms: tuple[RandomTerm, ...], others: list[int]) -> list[int]:
    """Terms whose grouping may be T: the largest, one for each grouping."""
    out: list[int] = []
    for k in sorted(others, key=lambda k: -terms[k].n_levels * terms[k].n_columns):
        if not any(terms[k].n_levels == terms[j].n_levels and is_nested(terms[k], terms[j]) for j in out):
            out.append(k)
    sizes = [terms[k].n_levels * terms[k].n_columns for k in out]
    return [k for k, size in zip(out, sizes, strict=True) if size >= _SHARE * sizes[0]][:_CANDIDATES]


def _choices(terms: tuple[RandomTerm, ...], others: list[int], chosen: int, cells: list[Ints]) -> list[_Choice]:
    """Divide with this T: with all that falls into components, and without."""
    top, n_blocks = terms[chosen].level, terms[chosen].n_levels
    inner = [k for k in others if k == chosen or is_nested(terms[k], terms[chosen])]
    rest = sorted((k for k in others if k not in inner), key=lambda k: -terms[k].n_levels)
    plain = _Choice(
        top=top, n_blocks=n_blocks, inner=inner, middle=[], component=np.zeros(n_blocks, dtype=np.int64), cells=cells
    )
    middle: list[int] = []
    component = plain.component
    for k in rest:
        if _all_joined(top, n_blocks, terms[k]):
            continue
        trial = _components(top, n_blocks, [terms[j] for j in [*middle, k]])
        if trial.max() > 0:
            middle.append(k)
            component = trial
    if not middle:
        return [plain]
    return [plain, _Choice(top=top, n_blocks=n_blocks, inner=inner, middle=middle, component=component, cells=cells)]


def _sample(n: int, size: int) -> Ints | slice:
    """Cells spread in no regular order, since models or trials may repeat with a fixed period."""
    return np.arange(size) * 736_879 % n if n > size else slice(None)


def _all_joined(top: Ints, n_blocks: int, term: RandomTerm) -> bool:
    """Whether few steps from block to level and back reach all blocks; False says nothing."""
    sample = _sample(len(top), _SAMPLE * max(n_blocks, term.n_levels))
    blocks, levels = top[sample], term.level[sample]
    reached = np.zeros(n_blocks, dtype=bool)
    reached[blocks[0]] = True
    for _ in range(_HOPS):
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


def _cost(terms: tuple[RandomTerm, ...], choice: _Choice, others: list[int], n_fixed: int) -> tuple[float, float]:
    """Multiplications of one evaluation and numbers held, with padding."""
    n_components = int(choice.component.max()) + 1
    blocks = float(_counts(choice.component, n_components).max() * n_components)
    s = sum(terms[k].n_columns * _most(choice.block_of(k), choice.n_blocks) for k in choice.inner)
    in_component = [choice.component[choice.block_of(k)] for k in choice.middle]
    ell = sum(terms[k].n_columns * _most(of, n_components) for k, of in zip(choice.middle, in_component, strict=True))
    taken = choice.inner + choice.middle
    r = n_fixed + 1 + sum(terms[k].n_columns * terms[k].n_levels for k in others if k not in taken)
    m = float(ell + r)
    inner = blocks * (s**3 + 2.0 * s**2 * m + s * m**2)
    work = inner + n_components * (2.0 * ell**3 + 2.0 * ell**2 * r + ell * r**2) + float(r) ** 3
    return work, blocks * s * (s + m) + n_components * m**2


def _most(owner: Ints, n_owners: int) -> int:
    return int(_counts(owner, n_owners).max())


def _within(owner: Ints, n_owners: int) -> Ints:
    """Return the rank of every member within its owner, from 0."""
    order = np.argsort(owner, kind="stable")
    starts = np.concatenate([[0], np.cumsum(_counts(owner, n_owners))])[owner[order]]
    rank = np.empty_like(owner)
    rank[order] = np.arange(len(owner)) - starts
    return rank


def _lay_out(design: MixedDesign, cell_term: int | None, choice: _Choice, cells: list[Ints]) -> Plan:
    terms = design.terms
    n_components = int(choice.component.max()) + 1
    n_blocks = _most(choice.component, n_components)
    block_of = choice.component * n_blocks + _within(choice.component, n_components)
    block = block_of[choice.top]
    component = block // n_blocks
    used = {cell_term, *choice.inner, *choice.middle}
    inner = _slots(terms, choice.inner, cells, block, n_components * n_blocks)
    middle = _slots(terms, choice.middle, cells, component, n_components)
    outer = _slots(terms, [k for k in range(len(terms)) if k not in used], cells, np.zeros_like(block), 1)
    others = [k for k in range(len(terms)) if k != cell_term]
    work, entries = _cost(terms, choice, others, design.fixed.shape[1])
    return Plan(
        cell_term=cell_term,
        inner=inner,
        middle=middle,
        outer=outer,
        component=component,
        block=block,
        n_components=n_components,
        n_blocks=n_blocks,
        block_cells=choice.n_blocks,
        work=work,
        entries=entries,
    )


def _slots(
    terms: tuple[RandomTerm, ...], which: list[int], cells: list[Ints], of_cell: Ints, n_owners: int
) -> tuple[Slot, ...]:
    """Give every term its positions within a block, component or the outer stage."""
    owners = [of_cell[cells[k]] for k in which]
    places = [_most(owner, n_owners) for owner in owners]
    starts = np.concatenate([[0], np.cumsum([terms[k].n_columns * n for k, n in zip(which, places, strict=True)])])
    size = int(starts[-1])
    return tuple(
        Slot(
            term=k,
            start=int(start),
            n_places=n,
            n_columns=terms[k].n_columns,
            place=owner * size + int(start) + _within(owner, n_owners) * terms[k].n_columns,
        )
        for k, owner, n, (start, _) in zip(which, owners, places, pairwise(starts), strict=True)
    )
