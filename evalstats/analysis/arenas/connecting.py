"""Whether the votes put all models on one scale, and by how few of them it hangs."""

import numpy as np

from evalstats.analysis.arenas.check_results import CheckLine, VoteGraph, WeakLink, check_line
from evalstats.document.numbers import plural
from evalstats.stats.arena.existence import Connection, weak_links
from evalstats.stats.arena.votes import VoteRows
from evalstats.stats.checks import IntArray

FEW_VOTES = 10
_WEAK_BELOW = 10.0  # wins: below this a group's place rests on a handful of votes
_NAMED = 4


def graph_of(rows: VoteRows, names: tuple[str, ...], found: Connection) -> VoteGraph:
    """Name the parts of the vote graph, and the links that hold it."""
    votes = votes_of(rows)
    low, high = np.minimum(rows.first, rows.second), np.maximum(rows.first, rows.second)
    met = int(np.unique(low * rows.n_models + high).size)
    links = weak_links(rows) if found.is_connected else ()
    return VoteGraph(
        n_models=rows.n_models,
        n_pairs=rows.n_models * (rows.n_models - 1) // 2,
        n_pairs_met=met,
        components=tuple(tuple(names[model] for model in part) for part in found.components),
        islands=tuple(tuple(names[model] for model in part) for part in found.islands),
        unbeaten=tuple(names[model] for model in found.unbeaten),
        winless=tuple(names[model] for model in found.winless),
        few_votes=tuple((names[model], int(votes[model])) for model in np.flatnonzero(votes < FEW_VOTES)),
        links=tuple(
            WeakLink(
                group=tuple(names[model] for model in link.group),
                n_models=len(link.group),
                n_wins=link.n_wins,
                side=link.side,
            )
            for link in links
        ),
    )


def votes_of(rows: VoteRows) -> IntArray:
    """Return the votes that every model took part in."""
    both = np.concatenate([rows.first, rows.second])
    return np.bincount(both, weights=np.tile(rows.count, 2), minlength=rows.n_models).astype(np.int64)


def connection_line(graph: VoteGraph) -> CheckLine:
    """Say whether there is one scale, and how firmly."""
    if not graph.connected:
        finding = (
            f"the votes do not put the {graph.n_models} models on one scale: they fall into {len(graph.components)} parts "
            f"({_parts(graph)}), between which one side never won or there is no vote; ratings and ranks hold within a part"
        )
        return check_line("connected", "limit", finding)
    weak = [link for link in graph.links if link.n_wins < _WEAK_BELOW]
    met = f"{graph.n_pairs_met:,} of {plural(graph.n_pairs, 'pair')} met"
    if not weak:
        finding = f"each model beat each other, directly or by a chain; {met}"
        return check_line("connected", "ok", finding)
    hung = "; ".join(_weak(link) for link in weak[:_NAMED])
    finding = f"the scale hangs by few votes ({met}): {hung}"
    return check_line("connected", "limit", finding)


def named(models: tuple[str, ...]) -> str:
    """Name some models, and count the rest.

    Examples
    --------
    >>> named(("a", "b", "c", "d", "e", "f"))
    'a, b, c, d and 2 more'
    """
    if len(models) <= _NAMED + 1:
        return ", ".join(models)
    return f"{', '.join(models[:_NAMED])} and {len(models) - _NAMED} more"


def _parts(graph: VoteGraph) -> str:
    shown = [f"{plural(len(part), 'model')}: {named(part)}" for part in graph.components[:_NAMED]]
    more = len(graph.components) - len(shown)
    return "; ".join(shown) + (f"; and {plural(more, 'part')} more" if more else "")


def _weak(link: WeakLink) -> str:
    what = "won" if link.side == "wins" else "lost"
    return f"{named(link.group)} {what} {link.n_wins:g} against all others"
