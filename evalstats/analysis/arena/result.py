"""The frozen result of `arena()`. A rank in it is always a set, never a single place."""

import dataclasses
from dataclasses import field
from datetime import datetime
from typing import Any, Literal

import polars as pl

from evalstats.analysis.design.labels import LabelAccount
from evalstats.analysis.result import Estimate, OfOrigin, Origin, RankedRow, Result, frame_of, row_named
from evalstats.analysis.shown_frame import ShownFrame
from evalstats.document.escape import one_line
from evalstats.document.model import Note
from evalstats.errors import InputError
from evalstats.options import RatingScale
from evalstats.record import record
from evalstats.stats.arena.goodness_of_fit import AgainstDrawn, ShareBin
from evalstats.stats.arena.likelihood import Ties

PairVerdict = Literal["better", "worse", "not separated", "not compared"]
CheckStatus = Literal["ok", "warning", "limit", "not run"]


@record
class RatingRow(RankedRow):
    """One model's line. Ratings are on the result's scale.

    Attributes
    ----------
    estimate, std_error, conf_low, conf_high
        Rating and its interval against the mean of all models (or the anchor); `reason` says why there is none. A model that
        won (lost) all its votes has no rating, and a lower (upper) limit alone. Two
        models must not be compared by whether these intervals overlap: `pairs` does that.
    strength
        The same as natural log-odds, 0 for the average model.
    boot_low, boot_high
        Percentile interval of a bootstrap of whole clusters (the way with the fewest), or of votes; None unless asked for.
    n_votes, n_wins, n_losses, n_ties, n_both_bad
        Votes that it took part in.
    win_share
        Wins and half of ties (both bad included) over its votes: depends on whom it met.
    n_clusters
        For each of the result's clusters, how many of its levels the votes come from; a vote that names none is one.
    rank_arena
        The rank live arenas print: 1 + the models whose whole interval lies above this one's.
    labels
        Where people's votes correct a judge's: by how much the judge rates the model too high, and what the judge and people's
        votes say by themselves. Votes, wins and ties are the judge's.
    n_opponents
        Models that it met.
    """

    strength: float | None = None
    boot_low: float | None = None
    boot_high: float | None = None
    n_votes: int = 0
    n_wins: int = 0
    n_losses: int = 0
    n_ties: int = 0
    n_both_bad: int = 0
    win_share: float | None = None
    n_opponents: int = 0
    n_clusters: tuple[int, ...] = ()
    rank_arena: int | None = None
    labels: LabelAccount | None = None


@record
class PairContrast(Estimate):
    """Two models; `estimate` is the rating of the first less that of the second.

    Attributes
    ----------
    conf_low, conf_high, p_value
        Of this difference alone, from the full covariance; `p_adjusted`, for all pairs at once, decides `verdict`.
    win_probability, win_low, win_high
        Probability that a user who decides prefers the first (with covariates at no difference between the two), with the
        interval of the difference.
    order_probability
        Probability that the first is truly the stronger, if nothing was known before (a flat prior): t law of the difference.
    n_votes
        Votes between the two directly.
    more_votes
        Further votes between these two alone that would separate them with 80% probability if the difference is as
        estimated; None where separated already or it cannot be said (`more_votes_reason`).
    more_votes_reason
        Why no number of votes is said.
    """

    first: str
    second: str
    win_probability: float | None = None
    win_low: float | None = None
    win_high: float | None = None
    order_probability: float | None = None
    n_votes: int = 0
    more_votes: int | None = None
    more_votes_reason: str | None = None
    verdict: PairVerdict = "not separated"


@record
class VoteCovariate(Estimate):
    """What moves a vote beside the models: the side, the length, lists, headers.

    Attributes
    ----------
    name
        "side" for side a; else the name of the pair of columns.
    estimate
        Log-odds of side a's win for one standard deviation of the relative difference (a - b)/(a + b), of which `mean` and `sd`
        are over all votes; for "side" log-odds of side a between equal models. `points` is the same in rating points.
    held
        Whether the result's ratings hold it equal; else it was estimated beside them.
    points
        The same in rating points.
    mean, sd
        Mean and standard deviation of the relative difference over all votes.
    """

    name: str
    estimate: float
    held: bool = True
    points: float | None = None
    mean: float | None = None
    sd: float | None = None


@record
class Alternative:
    """Ratings under another choice: another treatment of ties, without both-bad votes, without style, equal pairs.

    Attributes
    ----------
    key
        "davidson", "rao-kupper", "half", "without both bad", "without covariates", "with style", "with side", "equal pairs".
    ratings
        In the order of the result's rows.
    largest_move, moved
        The largest change of a rating against the headline, and the model it is of.
    n_swaps, new_first
        Pairs of models whose order by estimate changes; the model with the highest rating, where it is another one.
    log_lik
        Where it can be compared with that of another alternative (Davidson with Rao-Kupper).
    title
        What is done otherwise, in words.
    tie
        Estimate of the parameter of ties, where this choice has one.
    """

    key: str
    title: str
    ratings: tuple[float | None, ...]
    largest_move: float | None = None
    moved: str | None = None
    n_swaps: int = 0
    new_first: str | None = None
    log_lik: float | None = None
    tie: float | None = None
    reason: str | None = None


@record
class CategoryRating:
    """One `model` in one `category` (scenario, app, language).

    `estimate` is its rating there, drawn towards the overall rating by as much as the noise makes likely; `deviation`, to which
    error and interval belong, is that less the overall one; `unpooled` is the same from the category's votes alone.
    """

    category: str
    model: str
    estimate: float | None
    deviation: float | None = None
    std_error: float | None = None
    conf_low: float | None = None
    conf_high: float | None = None
    unpooled: float | None = None
    n_votes: int = 0
    reason: str | None = None


@record
class Categories:
    """Ratings by category with partial pooling.

    `tau` is the standard deviation of true deviations, in rating points, and `p_value` tests that it is 0; `left_out` are
    categories that could not be rated, each with the reason.

    Attributes
    ----------
    by, levels
        The column, and its categories.
    rows
        One for each model in each category.
    """

    by: str
    levels: tuple[str, ...]
    n_votes: tuple[int, ...]
    rows: tuple[CategoryRating, ...]
    tau: float | None = None
    tau_low: float | None = None
    tau_high: float | None = None
    statistic: float | None = None
    df: float | None = None
    p_value: float | None = None
    method: str = ""
    left_out: tuple[tuple[str, str], ...] = ()
    reason: str | None = None


@record
class ClusterCount:
    """A way in which votes share something.

    `n_levels` are those that votes name; `n_nameless` votes name none, and each counts as a level of its own.
    `effective` is (sum k)^2 / sum k^2 for the votes k of each level: how many equal levels these are worth; `largest` is the
    share of all votes in the largest level.

    Attributes
    ----------
    name
        The column.
    """

    name: str
    n_levels: int
    effective: float
    largest: float
    n_nameless: int = 0


@record
class PromptLevels:
    """Pairs separated for "these" `n_prompts` prompts (`n_separated_these`), and for "new" ones too (`n_separated_new`).

    `shown` is that of the result.
    """

    n_prompts: int
    n_pairs: int
    n_separated_these: int
    n_separated_new: int
    shown: Literal["these", "new"]


@record
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
    title
        The check in words.
    """

    check: str
    title: str
    status: CheckStatus
    finding: str
    p_value: float | None = None
    size: float | None = None


@record
class WeakLink:
    """A `group` of models that few votes tie to the rest.

    `n_wins` counts votes (ties count as half) that it won against the rest (`side` "wins") or lost to it ("losses"), whichever
    are fewer: without them its ratings could not be compared with the others'.
    """

    group: tuple[str, ...]
    n_models: int
    n_wins: float
    side: Literal["wins", "losses"]


@record
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
    n_pairs, n_pairs_met
        Pairs of models that there are, and those with a vote.
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


@record
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


@record
class PairResidual:
    """A pair unlike its ratings: `observed` and `expected` share of the first, and their standardised difference (`residual`)."""

    first: str
    second: str
    n_votes: int
    observed: float
    expected: float
    residual: float


@record
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
    deviance
        How far the votes are from what the ratings predict.
    worst_pairs
        Pairs that go least as the ratings say.
    brier, brier_constant
        Held-out Brier score of a vote, and that of a constant.
    n_folds, folds_by
        How many parts were held out in turn, and what each keeps together.
    triples, violations
        Triples ordered by majority, and those that go in a circle.
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


@record
class RaterFlag:
    """A rater whose votes do not go as those of others.

    `check` is "side" (always the same side), "disagreement" (against the ratings) or "loyalty" (one model more than all
    others); `e_value` is at most 1 on average for an honest rater, and raters are flagged by e-BH.

    Attributes
    ----------
    detail
        What is odd, in words.
    """

    rater: str
    check: str
    n_votes: int
    e_value: float
    detail: str


@record
class Burst:
    """More votes for one model (or by one rater; `kind`) from `start` to `end` than the `expected` ones of its usual pace."""

    name: str
    kind: Literal["model", "rater"]
    start: datetime
    end: datetime
    n_votes: int
    expected: float
    p_adjusted: float


@record
class RaterInfluence:
    """What leaving out one rater does, by refit.

    Attributes
    ----------
    model, move
        The model that moves most without the rater, and by how many points.
    new_first
        Who leads then, where it is another.
    """

    rater: str
    n_votes: int
    model: str
    move: float
    new_first: str | None = None


@record
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


@record
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
    n_raters, raters
        Raters, and those that were flagged.
    side_low, side_high, side_p
        Interval and p of `side_share`.
    duplicates_expected, duplicates_agree
        Such votes if pairs were drawn anew each time; share that say the same as the first.
    bursts
        Many votes in a short time.
    influences
        Raters without whom ratings move most.
    flip
        The fewest votes without which another model leads.
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


@record
class PeriodRating:
    """A model's rating in one period, against the mean of the models that are in all periods."""

    period: str
    model: str
    estimate: float | None
    std_error: float | None = None
    conf_low: float | None = None
    conf_high: float | None = None
    n_votes: int = 0


@record
class ModelDrift:
    """How one model's rating changes by a period (`slope`); `flagged` by a test adjusted (Holm) for all models."""

    model: str
    slope: float
    std_error: float
    p_value: float
    p_adjusted: float
    flagged: bool


@record
class RatingDrift:
    """Whether ratings change over time: the test of periods x models, and the ratings of every period.

    Attributes
    ----------
    n_periods
        How many periods.
    models, ratings
        The slope of each model, and its rating in each period.
    """

    period: str
    n_periods: int
    statistic: float | None = None
    df: float | None = None
    p_value: float | None = None
    method: str = ""
    models: tuple[ModelDrift, ...] = ()
    ratings: tuple[PeriodRating, ...] = ()
    reason: str | None = None


@record(repr=False)
class ArenaRanking(OfOrigin, Result):
    """Which models do live users prefer? The answer, and how it was reached.

    Attributes
    ----------
    rows
        One for each model: by component, then by rating, the best first. The order of the lines is no ranking.
    pairs
        Every pair of models of one component, in the order of the rows.
    covariance
        Of the ratings in the order of the rows, on the result's scale: a row for each model, None between components. Of a
        contrast: V_ii + V_jj - 2 V_ij. None where there are no standard errors.
    clusters
        What standard errors are clustered by; empty where every vote stands on its own.
    levels
        For which prompts pairs are separated, where votes share prompts and raters; None where there is one level.
    df
        Degrees of freedom of the t law.
    vote_level_ratio
        Median over pairs of the standard error over the one that takes every vote as independent.
    covariates
        Side effect and style, with coefficients; `alternatives` holds the ratings without them.
    labels
        Whose votes correct those of the judge, and of how many; None where votes count as they are.
    without_suspects
        Whether the votes that the checks suspect were left out.
    checks
        Every check in a sentence, in the order of reading; `graph`, `pairing`, `fit`, `trust` and `drift` hold their numbers.
    arena
        Name of the arena.
    ties
        How ties count: as half a win, or by a probability of their own.
    scale, unit
        The scale of the ratings ("elo": 400 points are odds of 10 to 1, or "log-odds"), and its unit.
    anchor
        The model that ratings are counted from; None: the mean of all models.
    alternatives
        The ratings under other choices: ties, style, votes weighted otherwise.
    categories
        Ratings within each level of `by`, and whether they differ.
    graph, pairing
        Who met whom, with the parts and weak links of that graph; and how models were picked for votes.
    fit
        How well one strength for each model predicts the votes.
    trust
        Raters, copies and bursts that look odd, and how few votes would change the leader.
    drift
        Whether ratings change over time.
    prior
        Half-wins and half-losses added for each model against an average one; 0: none.
    tie_parameter
        Estimate of the parameter of ties, where `ties` has one.
    n_votes, n_decided, n_ties, n_both_bad
        Votes that count, and how many of them name a winner, a tie, or both as bad.
    n_unscored, unscored_reasons
        Votes without a readable outcome, and why.
    n_events
        Events of several votes each; None where votes come one by one.
    """

    arena: str
    ties: Ties
    scale: RatingScale
    unit: str
    anchor: str | None
    conf_level: float
    method: str
    method_reason: str
    rank_method: str
    estimand: str
    rows: tuple[RatingRow, ...]
    pairs: tuple[PairContrast, ...]
    covariance: tuple[tuple[float | None, ...], ...] | None = None
    clusters: tuple[ClusterCount, ...] = ()
    levels: PromptLevels | None = None
    df: float | None = None
    vote_level_ratio: float | None = None
    covariates: tuple[VoteCovariate, ...] = ()
    alternatives: tuple[Alternative, ...] = ()
    categories: Categories | None = None
    graph: VoteGraph | None = None
    pairing: Pairing | None = None
    fit: FitChecks | None = None
    trust: TrustChecks | None = None
    drift: RatingDrift | None = None
    checks: tuple[CheckLine, ...] = ()
    prior: float = 0.0
    tie_parameter: float | None = None
    n_models: int = 0
    n_votes: int = 0
    n_decided: int = 0
    n_ties: int = 0
    n_both_bad: int = 0
    n_unscored: int = 0
    unscored_reasons: tuple[tuple[str, int], ...] = ()
    n_events: int | None = None
    n_resamples: int | None = None
    converged: bool = True
    rank_reason: str | None = None
    notes: tuple[Note, ...] = ()
    labels: str | None = None
    without_suspects: bool = False
    origin: Origin = field(default_factory=Origin)

    def __repr__(self) -> str:
        """One line; `summary()` says more."""
        best = self.best()
        told = "no overall rank, votes leave parts of the models apart" if self._in_parts() else "no rank is certain"
        if best:
            told = f"{one_line(best[0])} is the best" if len(best) == 1 else f"{len(best)} models may be the best"
        return f"<ArenaRanking: {self.n_models} models, {self.n_votes:,} votes on {one_line(self.arena)}: {told}>"

    @property
    def parts(self) -> tuple[tuple[RatingRow, ...], ...]:
        """The rows by the part of the votes that they belong to, in the order of the rows."""
        found: dict[int, list[RatingRow]] = {}
        for row in self.rows:
            found.setdefault(row.component or 1, []).append(row)
        return tuple(map(tuple, found.values()))

    @property
    def answered(self) -> bool:
        """Whether ranks can be told."""
        return self.has_ranks

    @property
    def has_ranks(self) -> bool:
        """Whether any rank can be told; a model that is alone in its part has none worth telling."""
        together = [row for part in self.parts if len(part) > 1 for row in part]
        return self.converged and any(row.rank_low is not None for row in together)

    def best(self) -> tuple[str, ...]:
        """Models that may be the best; empty where ranks cannot be told, or votes do not put all on one scale."""
        if self._in_parts():
            return ()
        return tuple(row.name for row in self.rows if row.may_be_best)

    def _in_parts(self) -> bool:
        return self.prior == 0.0 and self.graph is not None and not self.graph.one_list

    def row(self, name: str) -> RatingRow:
        """Return one model's line.

        InputError if there is no such model; it names the closest.
        """
        return row_named(self.rows, name)

    def pair(self, first: str, second: str) -> PairContrast:
        """Return the contrast of two models, turned so that `first` is first.

        InputError if there is no such model, or the pair is not among `pairs`.
        """
        for pair in self.pairs:
            if (pair.first, pair.second) == (first, second):
                return pair
            if (pair.first, pair.second) == (second, first):
                return turned(pair)
        for name in (first, second):
            self.row(name)
        raise InputError(f"{first!r} and {second!r} are no pair of this ranking; it holds {len(self.pairs):,} pairs")

    def to_frame(self) -> pl.DataFrame:
        """One row for each model, in glossary names; `top_k` for each k asked for."""
        rows: list[dict[str, Any]] = []
        for row in self.rows:
            values = {each.name: getattr(row, each.name) for each in dataclasses.fields(row)}
            account = values.pop("labels")
            values |= {"judged": account and account.judged.estimate} if self.labels else {}
            values.update({f"top_{k}": inside for k, inside in values.pop("top")})
            for name in ("df", "p_value", "p_adjusted", "method"):
                del values[name]
            rows.append({"model": values.pop("name"), **values, "n_clusters": list(row.n_clusters)})
        return ShownFrame(rows, infer_schema_length=None)

    def pairs_frame(self) -> pl.DataFrame:
        """One row for each pair."""
        names = ("first", "second", *(each.name for each in dataclasses.fields(PairContrast) if each.name != "method"))
        return frame_of(self.pairs, PairContrast, dict.fromkeys(names))


def turned(pair: PairContrast) -> PairContrast:
    """Return a contrast the other way round."""
    verdicts: dict[str, PairVerdict] = {"better": "worse", "worse": "better"}
    return dataclasses.replace(
        pair,
        first=pair.second,
        second=pair.first,
        estimate=_minus(pair.estimate),
        conf_low=_minus(pair.conf_high),
        conf_high=_minus(pair.conf_low),
        win_probability=_rest(pair.win_probability),
        win_low=_rest(pair.win_high),
        win_high=_rest(pair.win_low),
        order_probability=_rest(pair.order_probability),
        verdict=verdicts.get(pair.verdict, pair.verdict),
    )


def _minus(value: float | None) -> float | None:
    return None if value is None else -value


def _rest(value: float | None) -> float | None:
    return None if value is None else 1.0 - value
