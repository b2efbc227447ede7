"""Whether votes determine strengths at all, and by how few of them they hold together."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order, connected_components, maximum_flow

from evalstats.errors import CannotAnswerError
from evalstats.stats.arena.likelihood import PairCells, pair_cells, sums_at
from evalstats.stats.arena.votes import VoteRows
from evalstats.stats.checks import BoolArray, FloatArray, IntArray

_LARGEST_CAPACITY = 2**30  # of what the search for flows counts in


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """How wins connect the models.

    Strengths have a finite maximum-likelihood estimate if and only if every model can be reached from every other along
    wins, a tie being half a win of either (Ford 1957): one component.

    Attributes
    ----------
    components
        Strongly connected groups of models, best first: no model of a later group ever got anything against one of an
        earlier group. Groups that no votes compare are ordered by their lowest model.
    islands
        Groups of models that no vote connects with the others, the largest first.
    unbeaten, winless
        Models that got all, or nothing, in every vote of theirs.
    without_votes
        Models that no vote is about.
    """

    components: tuple[tuple[int, ...], ...]
    islands: tuple[tuple[int, ...], ...]
    unbeaten: tuple[int, ...]
    winless: tuple[int, ...]
    without_votes: tuple[int, ...]

    @property
    def is_connected(self) -> bool:
        """Whether strengths of all models can be compared and estimated."""
        return len(self.components) == 1


@dataclass(frozen=True, slots=True, kw_only=True)
class WinCut:
    """A group of models that few wins, or few losses, tie to the others.

    Attributes
    ----------
    group
        Models, at most half of all.
    n_wins
        Weight of the votes (ties half) that the group won against the rest ("wins"), or lost to it ("losses").
    """

    group: tuple[int, ...]
    n_wins: float
    side: Literal["wins", "losses"]


def connection(rows: VoteRows) -> Connection:
    """Find the groups of models within which strengths can be estimated.

    Examples
    --------
    >>> from evalstats.stats.arena.votes import vote_rows
    >>> connection(vote_rows([0, 1, 0], [1, 0, 2], [0, 0, 0])).components
    ((0, 1), (2,))
    """
    wins = win_table(pair_cells(rows, "half"))
    best_first = _condensed(wins > 0.0)
    apart = _groups((wins + wins.T) > 0.0, strong=False)
    got, lost = wins.sum(axis=1), wins.sum(axis=0)
    return Connection(
        components=best_first,
        islands=tuple(sorted(apart, key=lambda group: (-len(group), group))),
        unbeaten=_members((got > 0.0) & (lost == 0.0)),
        winless=_members((got == 0.0) & (lost > 0.0)),
        without_votes=_members((got == 0.0) & (lost == 0.0)),
    )


def win_table(cells: PairCells) -> FloatArray:
    """Return the weight of what the row's model won against the column's, ties half, shape (n_models, n_models)."""
    n = cells.n_models
    place, back = cells.first * n + cells.second, cells.second * n + cells.first
    half = cells.tied / 2.0
    return (sums_at(place, cells.won + half, n * n) + sums_at(back, cells.lost + half, n * n)).reshape(n, n)


def n_components(cells: PairCells) -> int:
    """Return how many strongly connected groups there are."""
    n = cells.n_models
    beats, beaten = cells.won + cells.tied > 0.0, cells.lost + cells.tied > 0.0
    start = np.concatenate([cells.first[beats], cells.second[beaten]])
    end = np.concatenate([cells.second[beats], cells.first[beaten]])
    graph = csr_array((np.ones(start.size), (start, end)), shape=(n, n))
    return _labelled(graph, strong=True)[0]


def weak_links(rows: VoteRows, *, limit: int = 5) -> tuple[WinCut, ...]:
    """Return the groups of models that the fewest wins connect with the others, weakest first.

    If these wins (or losses) had gone the other way, the group would never have won (or lost) against the rest, and its
    ratings could not be compared with theirs. Among the groups are all minimum directed cuts between a model and the one
    with most votes, found by maximum flows, and every single model. Of groups with the same wins and losses the smallest
    is given, and of a group and the rest the smaller.

    Raises
    ------
    CannotAnswerError
        If the wins do not connect all models.

    Examples
    --------
    >>> from evalstats.stats.arena.votes import vote_rows
    >>> rows = vote_rows([0, 1, 2, 3, 0, 2], [1, 0, 3, 2, 2, 0], [0] * 6, count=[9, 9, 9, 9, 8, 1])
    >>> weak_links(rows, limit=1)
    (WinCut(group=(0, 1), n_wins=1.0, side='losses'),)
    """
    wins = win_table(pair_cells(rows, "half"))
    n = wins.shape[0]
    if _labelled(csr_array(wins), strong=True)[0] != 1:
        raise CannotAnswerError("wins do not connect all models, so there are no links between them to be weak")
    if n == 1:
        return ()
    singles: list[BoolArray] = list(np.eye(n, dtype=np.bool_))
    weight = np.concatenate([wins.sum(axis=0), wins.sum(axis=1)])
    bar = float(np.sort(weight)[min(limit, weight.size) - 1])
    found = dict[tuple[tuple[int, ...], str], WinCut]()
    for side in ("wins", "losses"):
        table = wins if side == "wins" else wins.T
        for group in (*_cuts_below(table, bar), *singles):
            cut = _win_cut(table, group, side)
            found.setdefault((cut.group, cut.side), cut)
    ordered = sorted(found.values(), key=lambda cut: (cut.n_wins, len(cut.group), cut.group, cut.side))
    return tuple(ordered[:limit])


def _win_cut(table: FloatArray, group: BoolArray, side: Literal["wins", "losses"]) -> WinCut:
    """Return the group, or the rest if that is smaller: then what the group won is what the rest lost."""
    n_wins, inside = float(table[np.ix_(group, ~group)].sum()), int(np.count_nonzero(group))
    lowest_out = not group[0]
    if 2 * inside > group.size or (2 * inside == group.size and lowest_out):
        return WinCut(group=_members(~group), n_wins=n_wins, side="losses" if side == "wins" else "wins")
    return WinCut(group=_members(group), n_wins=n_wins, side=side)


def _cuts_below(table: FloatArray, bar: float) -> Iterator[BoolArray]:
    """Yield for each model the smallest group around it that gets least from the model with most votes, if below `bar`.

    Models between which at least `bar` flows both ways are on the same side of every such cut, so they are made one first.
    In a dense graph little is left after that.
    """
    label = _inseparable(table, bar)
    count = int(label.max()) + 1
    if count == 1:
        return
    small = _contracted(table, label, count)
    root = int(label[np.argmax(table.sum(axis=0) + table.sum(axis=1))])
    # No edge above the bar is ever cut, and whole numbers are what the flow is counted in.
    scale = min(2.0, _LARGEST_CAPACITY / max(bar, 1e-300) / count)
    if not np.array_equal(np.rint(small * scale), small * scale):
        scale = _LARGEST_CAPACITY / max(bar, 1e-300) / count
    capacity = csr_array(np.ceil(np.minimum(small, bar) * scale).astype(np.int32))
    for source in range(count):
        if source == root:
            continue
        flow: Any = maximum_flow(capacity, source, root)
        if flow.flow_value >= bar * scale:
            continue
        left = csr_array(capacity - flow.flow)
        left.eliminate_zeros()
        reached = np.zeros(count, dtype=np.bool_)
        reached[breadth_first_order(left, source, return_predecessors=False)] = True
        yield reached[label]


def _inseparable(table: FloatArray, bar: float) -> IntArray:
    """Return a number for each model, equal where a flow of at least `bar` surely runs both ways, shape (n_models,)."""
    label: IntArray = np.arange(table.shape[0], dtype=np.int64)
    while True:
        count = int(label.max()) + 1
        small = _contracted(table, label, count)
        through = small.copy()
        for middle in range(count):
            through += np.minimum(small[:, [middle]], small[[middle]])
        found, further = _labelled(csr_array(through >= bar), strong=True)
        if found == count:
            return label
        label = further[label]


def _contracted(table: FloatArray, label: IntArray, count: int) -> FloatArray:
    """Return the table with models of the same label made one, without what they won among themselves."""
    place = label[:, None] * count + label
    out = sums_at(place.ravel(), table.ravel(), count * count).reshape(count, count)
    np.fill_diagonal(out, 0.0)
    return out


def _labelled(graph: Any, *, strong: bool) -> tuple[int, IntArray]:
    """Return the number of connected groups, and that of each model's group."""
    found: Any = connected_components(graph, directed=True, connection="strong" if strong else "weak")
    return int(found[0]), np.asarray(found[1], dtype=np.int64)


def _members(mask: BoolArray) -> tuple[int, ...]:
    return tuple(int(model) for model in np.flatnonzero(mask))


def _groups(edges: BoolArray, *, strong: bool) -> list[tuple[int, ...]]:
    """Return connected groups of models."""
    count, label = _labelled(csr_array(edges), strong=strong)
    return [_members(label == group) for group in range(count)]


def _condensed(edges: BoolArray) -> tuple[tuple[int, ...], ...]:
    """Return strongly connected groups, those that beat before those that are beaten."""
    groups = _groups(edges, strong=True)
    group_of = np.empty(edges.shape[0], dtype=np.int64)
    for number, group in enumerate(groups):
        group_of[list(group)] = number
    start, end = np.nonzero(edges)
    between = np.unique(np.column_stack([group_of[start], group_of[end]]), axis=0)
    between = between[between[:, 0] != between[:, 1]]
    waits = np.bincount(between[:, 1], minlength=len(groups))
    ready, order = {g for g in range(len(groups)) if waits[g] == 0}, list[int]()
    while ready:
        best = min(ready, key=lambda g: groups[g])
        ready.remove(best)
        order.append(best)
        for loser in between[between[:, 0] == best, 1]:
            waits[loser] -= 1
            if waits[loser] == 0:
                ready.add(int(loser))
    return tuple(groups[g] for g in order)
