"""What checks of the votes found, and how the votes connect the models."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal, TypeVar

import numpy as np

from evalstats.document.numbers import plural, several
from evalstats.errors import CannotAnswerError, EvalStatsError, EvalStatsWarning, some_of
from evalstats.stats.arena.goodness_of_fit import AgainstDrawn, ShareBin
from evalstats.stats.arena.likelihood import Connection, weak_links
from evalstats.stats.arena.votes import VoteRows
from evalstats.stats.checks import IntArray

CheckStatus = Literal["ok", "warning", "limit", "not run"]
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
    "duplicates": "The same vote again",
    "bursts": "Bursts of votes",
    "identity": "Answers that name their model",
    "one rater": "What hangs on one rater",
    "few votes": "What hangs on few votes",
    "selection": "Private testing",
    "deviance": "Pairs against ratings",
    "calibration": "Calibration",
    "prediction": "Prediction",
    "transitivity": "Transitivity",
    "cycles": "Circles",
    "drift": "Change over time",
}
FEW_VOTES = 10
_FEW_WINS = 10.0  # below this a group's place rests on a handful of votes
_NAMED = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckLine:
    """One check in a sentence; `check` is a key of `TITLES`.

    Attributes
    ----------
    status
        "warning": something that honest votes hardly show. "limit": what honest votes can have, and what can then not be said
        (parts that votes do not connect).
    finding
        What was found, against what; or why the check was not run.
    size
        Share of simulated honest arenas, of the worst kind, in which this check warned; None where it never warns or was not
        simulated.
    p_value
        Of honest votes, where the check is a test: it warns at `TEST_LEVEL` (`DRIFT_LEVEL`) and below.
    """

    check: str
    title: str
    status: CheckStatus
    finding: str
    p_value: float | None = None
    size: float | None = None


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
        warnings.warn(told, EvalStatsWarning, stacklevel=2)
    return otherwise, check_line(check, "not run", f"could not run: {reason}")


@dataclass(frozen=True, slots=True, kw_only=True)
class WeakLink:
    """A group of models that few votes tie to the rest.

    `n_wins` counts votes (ties count as half) that it won against the rest (`side` "wins") or lost to it ("losses"), whichever
    are fewer: without them its ratings could not be compared with the others'.
    """

    group: tuple[str, ...]
    n_models: int
    n_wins: float
    side: Literal["wins", "losses"]


@dataclass(frozen=True, slots=True, kw_only=True)
class VoteGraph:
    """How votes connect models.

    Attributes
    ----------
    components
        Strongly connected parts, in an order in which an earlier part was never beaten by a later one: inside each
        ratings exist. One part: all models are on one scale.
    islands
        Parts between which there is no vote at all.
    unbeaten, winless
        Models without any loss (or tie), without any win (or tie).
    few_votes
        Models with fewer than 10 votes, with their number.
    links
        Weak links, the weakest first.
    unbounded_above, unbounded_below
        Models that won, or lost, all their votes against the one part of several models: they have no finite rating, and a
        place beside that part.
    """

    n_models: int
    n_pairs: int
    n_pairs_met: int
    components: tuple[tuple[str, ...], ...]
    islands: tuple[tuple[str, ...], ...]
    unbeaten: tuple[str, ...] = ()
    winless: tuple[str, ...] = ()
    few_votes: tuple[tuple[str, int], ...] = ()
    links: tuple[WeakLink, ...] = ()
    unbounded_above: tuple[str, ...] = ()
    unbounded_below: tuple[str, ...] = ()

    @property
    def one_list(self) -> bool:
        """Whether all models stand on one list: on one scale, or above or below all of it."""
        return self.connected or bool(self.unbounded_above or self.unbounded_below)

    @property
    def connected(self) -> bool:
        """Whether every model is on one scale: each beat each other directly or by a chain."""
        return len(self.components) == 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairing:
    """Whether pairs were chosen by the ratings so far (`adaptive`), as `n_declared` votes say or a test shows.

    Attributes
    ----------
    n_votes, distance, expected, p_value
        Votes that were looked at; how far models that met were apart in running ratings, and how far later pairs were at the
        time, in rating points; p-value, one-sided for nearer. None where it could not be tested.
    factor
        By what standard errors were multiplied, after replays of the pairing; None where none was replayed.
    """

    adaptive: bool = False
    n_declared: int = 0
    n_votes: int | None = None
    distance: float | None = None
    expected: float | None = None
    p_value: float | None = None
    factor: float | None = None

    def widened(self, factor: float) -> "Pairing":
        """Return it with the larger of two factors."""
        return replace(self, factor=max(factor, self.factor or 1.0))


@dataclass(frozen=True, slots=True, kw_only=True)
class PairResidual:
    """A pair that does not go as the ratings say: shares of the first model, standardised difference."""

    first: str
    second: str
    n_votes: int
    observed: float
    expected: float
    residual: float


@dataclass(frozen=True, slots=True, kw_only=True)
class FitChecks:
    """Whether one rating a model describes the votes.

    Each `AgainstDrawn` is a statistic beside what it would be if the fitted model were true and raters (prompts, ...) had honest
    tastes (simulated).

    Attributes
    ----------
    transitivity
        Share of `violations` (k beats i) among the `triples` i > j > k by majority.
    calibration, calibration_error
        Held-out votes by predicted share; and how far shares of all votes are from those that ratings predict (root mean
        square over bins of pairs).
    curl
        Share of the energy of the observed log-odds that no rating can describe (HodgeRank).
    log_loss, log_loss_constant
        Held-out log loss of a vote, and that of a constant (the observed shares of outcomes); `folds_by` says what was
        held out together.
    """

    deviance: AgainstDrawn | None = None
    worst_pairs: tuple[PairResidual, ...] = ()
    calibration: tuple[ShareBin, ...] = ()
    calibration_error: AgainstDrawn | None = None
    brier: float | None = None
    brier_constant: float | None = None
    log_loss: float | None = None
    log_loss_constant: float | None = None
    n_folds: int = 0
    folds_by: str = ""
    triples: int = 0
    violations: int = 0
    transitivity: AgainstDrawn | None = None
    curl: AgainstDrawn | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RaterFlag:
    """A rater whose votes do not go as those of others.

    `check` is "side" (always the same side), "disagreement" (against the ratings) or "loyalty" (one model more than all
    others); `e_value` is at most 1 on average for an honest rater, and raters are flagged by e-BH.
    """

    rater: str
    check: str
    n_votes: int
    e_value: float
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Burst:
    """More votes for one model (or by one rater) in a short time than its usual pace explains."""

    name: str
    kind: Literal["model", "rater"]
    start: datetime
    end: datetime
    n_votes: int
    expected: float
    p_adjusted: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RaterInfluence:
    """What leaving out one rater does, by refit."""

    rater: str
    n_votes: int
    model: str
    move: float
    new_first: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FewVotesFlip:
    """The smallest set of votes found whose removal puts `second` above `first`; None in `n_votes` where none was found.

    `share` is over all votes; `gap` and `gap_after` are the rating of `first` less that of `second`, before and after, on the
    result's scale; `confirmed` says whether a refit without those votes turned the order.
    """

    first: str
    second: str
    n_votes: int | None
    share: float | None
    gap: float
    gap_after: float | None = None
    confirmed: bool = False
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TrustChecks:
    """Whether the votes can be trusted.

    Attributes
    ----------
    side_share
        How often the preferred side wins between equal models, with interval and p-value of the ratings' intercept.
    n_duplicates
        Votes beyond the first by one rater on the same prompt and pair; `duplicates_expected` is how many there would be if
        pairs were drawn anew for every vote.
    identity_votes, identity_share
        Votes in which an answer names its own model; None where texts are not known.
    selection
        For n variants tried and the best published: how many rating points it gains on average by luck alone.
    """

    n_raters: int | None = None
    raters: tuple[RaterFlag, ...] = ()
    side_share: float | None = None
    side_low: float | None = None
    side_high: float | None = None
    side_p: float | None = None
    n_duplicates: int | None = None
    duplicates_expected: float | None = None
    duplicates_agree: float | None = None
    bursts: tuple[Burst, ...] = ()
    identity_votes: int | None = None
    identity_share: float | None = None
    influences: tuple[RaterInfluence, ...] = ()
    flip: FewVotesFlip | None = None
    selection: tuple[tuple[int, float], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PeriodRating:
    """A model's rating in one period, against the mean of the models that are in all periods."""

    period: str
    model: str
    estimate: float | None
    std_error: float | None = None
    conf_low: float | None = None
    conf_high: float | None = None
    n_votes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelDrift:
    """How one model's rating changes by a period, with a test adjusted (Holm) for all models."""

    model: str
    slope: float
    std_error: float
    p_value: float
    p_adjusted: float
    flagged: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    """Whether ratings change over time: the test of periods x models, and the ratings of every period."""

    period: str
    n_periods: int
    statistic: float | None = None
    df: float | None = None
    p_value: float | None = None
    method: str = ""
    models: tuple[ModelDrift, ...] = ()
    ratings: tuple[PeriodRating, ...] = ()
    reason: str | None = None


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
        who = "; ".join(f"{several(names)} {done} every vote on the others" for names, done in ends if names)
        return check_line("connected", "limit", f"all models but some are on one scale: {who}")
    if not graph.connected:
        shown = (f"{plural(len(part), 'model')}: {several(part)}" for part in graph.components)
        parts = some_of(shown, _NAMED, "; ")
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
        f"{several(link.group)} {'won' if link.side == 'wins' else 'lost'} {link.n_wins:g} against all others"
        for link in weak
    )
    return check_line("connected", "limit", f"the scale hangs by few votes ({met}): {some_of(hung, _NAMED, '; ')}")


def weak_links_of(graph: VoteGraph) -> list[WeakLink]:
    """Return the links that hang by fewer than 10 wins or losses."""
    return [link for link in graph.links if link.n_wins < _FEW_WINS]
