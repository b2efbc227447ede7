"""Whether votes determine strengths at all, and by how few of them they hold together."""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from evalstats.stats.arena.cells import PairCells, pair_cells
from evalstats.stats.arena.votes import VoteRows
from evalstats.stats.checks import FloatArray, IntArray


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
    won = np.bincount(place, weights=cells.won + half, minlength=n * n)
    return (won + np.bincount(back, weights=cells.lost + half, minlength=n * n)).reshape(n, n)


def n_components(cells: PairCells) -> int:
    """Return how many strongly connected groups there are."""
    n = cells.n_models
    beats, beaten = cells.won + cells.tied > 0.0, cells.lost + cells.tied > 0.0
    start = np.concatenate([cells.first[beats], cells.second[beaten]])
    end = np.concatenate([cells.second[beats], cells.first[beaten]])
    graph = csr_array((np.ones(start.size), (start, end)), shape=(n, n))
    return int(connected_components(graph, directed=True, connection="strong", return_labels=False))


def _members(mask: FloatArray) -> tuple[int, ...]:
    return tuple(int(model) for model in np.flatnonzero(mask))


def _groups(edges: FloatArray, *, strong: bool) -> list[tuple[int, ...]]:
    """Return connected groups of models."""
    count, label = connected_components(csr_array(edges), directed=True, connection="strong" if strong else "weak")
    return [_members(label == group) for group in range(count)]


def _condensed(edges: FloatArray) -> tuple[tuple[int, ...], ...]:
    """Return strongly connected groups, those that beat before those that are beaten."""
    groups = _groups(edges, strong=True)
    group_of = np.empty(edges.shape[0], dtype=np.int64)
    for number, group in enumerate(groups):
        group_of[list(group)] = number
    start, end = np.nonzero(edges)
    between: IntArray = np.unique(np.column_stack([group_of[start], group_of[end]]), axis=0)
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
