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

_FLAGS = 200_000_000  # largest table of (block, level) pairs that is marked in memory, in bytes
_CANDIDATES = 3  # groupings tried as T


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
    choices = [choice for k in _candidates(terms, others) for choice in _choices(terms, others, k)]
    best = min(choices, key=lambda choice: _cost(terms, choice, others, design.fixed.shape[1])[0])
    return _lay_out(design, cell_term, best)


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
    """A way to divide the terms: the level of T (`top`) as block of every cell, and the component of every block."""

    top: Ints
    n_blocks: int
    inner: list[int]
    middle: list[int]
    component: Ints


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
    return out[:_CANDIDATES]


def _choices(terms: tuple[RandomTerm, ...], others: list[int], chosen: int) -> list[_Choice]:
    """Divide with this T: with all that falls into components, and without."""
    top, n_blocks = terms[chosen].level, terms[chosen].n_levels
    inner = [k for k in others if k == chosen or is_nested(terms[k], terms[chosen])]
    rest = sorted((k for k in others if k not in inner), key=lambda k: -terms[k].n_levels)
    plain = _Choice(top=top, n_blocks=n_blocks, inner=inner, middle=[], component=np.zeros(n_blocks, dtype=np.int64))
    middle: list[int] = []
    edges: list[coo_array] = []
    component = plain.component
    for k in rest:
        pairs = _pairs(top, n_blocks, terms[k])
        trial = None if pairs is None else _components([*edges, pairs], n_blocks)
        if pairs is not None and trial is not None and trial.max() > 0:
            middle.append(k)
            edges.append(pairs)
            component = trial
    if not middle:
        return [plain]
    return [plain, _Choice(top=top, n_blocks=n_blocks, inner=inner, middle=middle, component=component)]


def _pairs(top: Ints, n_blocks: int, term: RandomTerm) -> coo_array | None:
    """Which blocks meet which levels; None where that table would be too large."""
    if n_blocks * term.n_levels > _FLAGS:
        return None
    met = np.zeros(n_blocks * term.n_levels, dtype=bool)
    met[top * term.n_levels + term.level] = True
    at = np.flatnonzero(met)
    return coo_array(
        (np.ones(len(at), dtype=np.int8), (at // term.n_levels, at % term.n_levels)), (n_blocks, term.n_levels)
    )


def _components(edges: list[coo_array], n_blocks: int) -> Ints:
    """Component of every block, where blocks and levels that meet are joined."""
    rows = np.concatenate([e.coords[0] for e in edges])
    starts = np.cumsum([n_blocks, *(e.shape[1] for e in edges)])
    columns = np.concatenate([e.coords[1] + start for e, start in zip(edges, starts, strict=False)])
    graph = coo_array((np.ones(len(rows), dtype=np.int8), (rows, columns)), (int(starts[-1]), int(starts[-1])))
    labels = connected_components(graph, directed=False)[1][:n_blocks]
    return np.unique(labels, return_inverse=True)[1].astype(np.int64)


def _cost(terms: tuple[RandomTerm, ...], choice: _Choice, others: list[int], n_fixed: int) -> tuple[float, float]:
    """Multiplications of one evaluation and numbers held, with padding."""
    n_components = int(choice.component.max()) + 1
    blocks = float(_counts(choice.component, n_components).max() * n_components)
    s = sum(terms[k].n_columns * _most(_owner(terms[k], choice.top), choice.n_blocks) for k in choice.inner)
    in_component = choice.component[choice.top]
    ell = sum(terms[k].n_columns * _most(_owner(terms[k], in_component), n_components) for k in choice.middle)
    r = (
        n_fixed
        + 1
        + sum(terms[k].n_columns * terms[k].n_levels for k in others if k not in choice.inner + choice.middle)
    )
    m = float(ell + r)
    work = (
        blocks * (s**3 + 2.0 * s**2 * m + s * m**2)
        + n_components * (2.0 * ell**3 + 2.0 * ell**2 * r + ell * r**2)
        + float(r) ** 3
    )
    return work, blocks * s * (s + m) + n_components * m**2


def _owner(term: RandomTerm, of_cell: Ints) -> Ints:
    """Return the block or component of every level, from that of every cell."""
    owner = np.zeros(term.n_levels, dtype=np.int64)
    owner[term.level] = of_cell
    return owner


def _most(owner: Ints, n_owners: int) -> int:
    return int(_counts(owner, n_owners).max())


def _within(owner: Ints, n_owners: int) -> Ints:
    """Return the rank of every member within its owner, from 0."""
    order = np.argsort(owner, kind="stable")
    starts = np.concatenate([[0], np.cumsum(_counts(owner, n_owners))])[owner[order]]
    rank = np.empty_like(owner)
    rank[order] = np.arange(len(owner)) - starts
    return rank


def _lay_out(design: MixedDesign, cell_term: int | None, choice: _Choice) -> Plan:
    terms = design.terms
    n_components = int(choice.component.max()) + 1
    n_blocks = _most(choice.component, n_components)
    block_of = choice.component * n_blocks + _within(choice.component, n_components)
    block = block_of[choice.top]
    component = block // n_blocks
    used = {cell_term, *choice.inner, *choice.middle}
    inner = _slots(terms, choice.inner, block, n_components * n_blocks)
    middle = _slots(terms, choice.middle, component, n_components)
    outer = _slots(terms, [k for k in range(len(terms)) if k not in used], np.zeros_like(block), 1)
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


def _slots(terms: tuple[RandomTerm, ...], which: list[int], of_cell: Ints, n_owners: int) -> tuple[Slot, ...]:
    """Give every term its positions within a block, component or the outer stage."""
    owners = [_owner(terms[k], of_cell) for k in which]
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
