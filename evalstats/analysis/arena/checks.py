"""How checks of the votes are run and told, and whether the votes connect the models."""

from collections.abc import Callable
from typing import TypeVar

import numpy as np

from evalstats.analysis.arena.result import CheckLine, CheckStatus, VoteCovariate, VoteGraph, WeakLink
from evalstats.errors import CannotAnswerError, EvalStatsError, warn
from evalstats.grammar import and_list, comma_list, plural
from evalstats.stats.arena.likelihood import Connection, weak_links
from evalstats.stats.arena.votes import VoteRows
from evalstats.stats.checks import IntArray

Found = TypeVar("Found")

# Nine tests warn at the first level, change over time, which needs more room to be found, at the second, and who meets whom at
# .01: together of honest votes in at most 8.5%. Raters and rings have a false discovery rate of 5%.
TEST_LEVEL = 0.005
DRIFT_LEVEL = 0.03
BUDGET = (
    "Tests among the checks warn at p of 0.005 and below (who meets whom: 0.01; change over time: 0.03), so that together they "
    "warn of honest votes in at most 8.5% of arenas; raters are named at a false discovery rate of 5%. "
    "Of 7,210 simulated honest arenas 1.9% had any warning beside who meets whom, of the worst of 17 kinds 6%."
)
# In how many honest arenas of the worst kind a check warned (`evalstats.datasets.validation`, "arena-checks").
SIZES = {
    "sides": 0.02,
    "raters": 0.01,
    "duplicates": 0.0,
    "bursts": 0.0,
    "one rater": 0.0,
    "few votes": 0.0,
    "deviance": 0.01,
    "calibration": 0.01,
    "prediction": 0.0,
    "transitivity": 0.01,
    "cycles": 0.01,
    "drift": 0.03,
}
TITLES = {
    "connected": "One scale for all models",
    "pairing": "Who meets whom",
    "sides": "Preference for a side",
    "raters": "Raters unlike the others",
    "duplicates": "Repeated votes",
    "bursts": "Bursts of votes",
    "identity": "Answers that name their model",
    "one rater": "Influence of one rater",
    "few votes": "Influence of few votes",
    "selection": "Private testing",
    "deviance": "Pairs against ratings",
    "calibration": "Calibration",
    "prediction": "Prediction",
    "transitivity": "Transitivity",
    "cycles": "Circles",
    "drift": "Change over time",
}
FEW_VOTES = 10
MERGED = "votes were merged, without single votes to look at"
_FEW_WINS = 10.0  # below this a group's place rests on a handful of votes
_NAMED = 4


def check_line(check: str, status: CheckStatus, finding: str, p_value: float | None = None) -> CheckLine:
    """Return a line under the check's title."""
    return CheckLine(
        check=check, title=TITLES[check], status=status, finding=finding, p_value=p_value, size=SIZES.get(check)
    )


def guarded(check: str, run: Callable[[], tuple[Found, CheckLine]], otherwise: Found) -> tuple[Found, CheckLine]:
    """Run one check; where it fails its line says why, and all else goes on.

    Errors raised on purpose and numbers that fail (an overflow, a singular matrix) are reasons enough. Anything else is a
    fault of the check, and a Python warning too.
    """
    try:
        return run()
    except CannotAnswerError as reason:
        return otherwise, check_line(check, "not run", str(reason))
    except (EvalStatsError, ArithmeticError, np.linalg.LinAlgError, MemoryError) as problem:
        reason = str(problem) or type(problem).__name__
    except Exception as problem:  # noqa: BLE001 - a ranking must not be lost to a fault in one of its checks
        reason = f"{type(problem).__name__}: {problem}"
        told = f"the check {TITLES[check]!r} failed and was left out ({reason}); please report it"
        warn(told)
    return otherwise, check_line(check, "not run", f"could not run: {reason}")


def graph_of(rows: VoteRows, names: tuple[str, ...], found: Connection) -> VoteGraph:
    """Name the parts of the vote graph, and the links that hold it."""
    votes = votes_of(rows)
    low, high = np.minimum(rows.first, rows.second), np.maximum(rows.first, rows.second)

    def named_all(models: tuple[int, ...]) -> tuple[str, ...]:
        return tuple(names[model] for model in models)

    links = weak_links(rows) if found.is_connected else ()
    return VoteGraph(
        n_models=rows.n_models,
        n_pairs=rows.n_models * (rows.n_models - 1) // 2,
        n_pairs_met=int(np.unique(low * rows.n_models + high).size),
        components=tuple(map(named_all, found.components)),
        islands=tuple(map(named_all, found.islands)),
        unbeaten=named_all(found.unbeaten),
        winless=named_all(found.winless),
        few_votes=tuple((names[model], int(votes[model])) for model in np.flatnonzero(votes < FEW_VOTES)),
        links=tuple(
            WeakLink(group=named_all(link.group), n_models=len(link.group), n_wins=link.n_wins, side=link.side)
            for link in links
        ),
    )


def votes_of(rows: VoteRows) -> IntArray:
    """Return the votes that every model took part in."""
    both = np.concatenate([rows.first, rows.second])
    return np.bincount(both, weights=np.tile(rows.count, 2), minlength=rows.n_models).astype(np.int64)


def connection_line(graph: VoteGraph) -> CheckLine:
    """Say whether there is one scale, and how firmly."""
    if graph.one_list and not graph.connected:
        ends = ((graph.unbounded_above, "won"), (graph.unbounded_below, "lost"))
        who = "; ".join(f"{and_list(names)} {done} every vote on the others" for names, done in ends if names)
        return check_line("connected", "limit", f"all models but some are on one scale: {who}")
    if not graph.connected:
        shown = (f"{plural(len(part), 'model')}: {and_list(part)}" for part in graph.components)
        parts = comma_list(shown, _NAMED, "; ")
        finding = (
            f"the votes do not put the {graph.n_models} models on one scale: they fall into {len(graph.components)} parts "
            f"({parts}), between which one side never won or there is no vote; ratings and ranks hold within a part"
        )
        return check_line("connected", "limit", finding)
    met = f"{graph.n_pairs_met:,} of {plural(graph.n_pairs, 'pair')} met"
    weak = weak_links_of(graph)
    if not weak:
        return check_line("connected", "ok", f"each model beat each other, directly or by a chain; {met}")
    hung = (
        f"{and_list(link.group)} {'won' if link.side == 'wins' else 'lost'} {link.n_wins:g} against all others"
        for link in weak
    )
    return check_line("connected", "limit", f"the scale rests on few votes ({met}): {comma_list(hung, _NAMED, '; ')}")


def weak_links_of(graph: VoteGraph) -> list[WeakLink]:
    """Return the links that hang by fewer than 10 wins or losses."""
    return [link for link in graph.links if link.n_wins < _FEW_WINS]


def side_words(side: VoteCovariate) -> str:
    """Name the side that is preferred: the one shown first or second, where the votes say which."""
    ahead = side.estimate > 0.0
    # Without a word on the order every vote counts side a as first.
    if side.mean is None or side.mean == 1.0:
        return "side a" if ahead else "side b"
    return f"the answer shown {'first' if ahead else 'second'}"
