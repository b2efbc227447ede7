"""Names that a leaderboard's page can carry: long ones are shortened alike everywhere, and stay different."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from evalstats.analysis.leaderboard.comparability import ComparabilityGraph
from evalstats.analysis.leaderboard.result import Leaderboard
from evalstats.report.names import different_short_names, replacing


def board_names(result: Leaderboard) -> dict[str, str]:
    """Return what the page calls each name too long for it; two names that would become one get a number."""
    return different_short_names([*(row.name for row in result.rows), result.benchmark])


def with_board_names(result: Leaderboard, names: Mapping[str, str]) -> Leaderboard:
    """Return the leaderboard with names replaced, in the sentences of its warnings and notes as well."""
    if not names:
        return result
    said = replacing(names)
    winner = result.winner
    if winner is not None:
        reason = None if winner.reason is None else said(winner.reason)
        winner = replace(winner, name=said(winner.name), reason=reason)
    return replace(
        result,
        benchmark=said(result.benchmark),
        baseline=None if result.baseline is None else said(result.baseline),
        rows=tuple(
            replace(row, name=said(row.name), tied_with=tuple(map(said, row.tied_with)), runs=row.runs)
            for row in result.rows
        ),
        pairs=tuple(replace(pair, first=said(pair.first), second=said(pair.second)) for pair in result.pairs),
        best_if_missing=tuple(map(said, result.best_if_missing)),
        qualifiers=tuple(map(said, result.qualifiers)),
        graph=None if result.graph is None else _graph(result.graph, said),
        winner=winner,
        dependence_of=said(result.dependence_of),
        rank_reason=None if result.rank_reason is None else said(result.rank_reason),
        warnings=tuple(map(said, result.warnings)),
        notes=tuple(map(said, result.notes)),
    )


def _graph(graph: ComparabilityGraph, said: Callable[[str], str]) -> ComparabilityGraph:
    return replace(
        graph,
        components=tuple(tuple(map(said, names)) for names in graph.components),
        groups=tuple(replace(group, models=tuple(map(said, group.models))) for group in graph.groups),
        edges=tuple(replace(edge, first=said(edge.first), second=said(edge.second)) for edge in graph.edges),
    )
