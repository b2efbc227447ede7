"""The frozen result of `arena()`. A rank in it is always a set, never a single place."""

import dataclasses
from dataclasses import dataclass, field
from typing import Any, Literal

import polars as pl

from evalstats.analysis.arena.checks import CheckLine, Drift, FitChecks, Pairing, TrustChecks, VoteGraph
from evalstats.analysis.arena.options import ArenaOptions, Scale
from evalstats.analysis.result import Estimate, RankedRow, Result, frame_of, row_named
from evalstats.analysis.settings import Settings
from evalstats.document.escape import one_line
from evalstats.document.model import Note
from evalstats.errors import InputError
from evalstats.schema.plan import PlanAccount
from evalstats.stats.arena.likelihood import Ties

PairVerdict = Literal["better", "worse", "not separated", "not compared"]


@dataclass(frozen=True, slots=True, kw_only=True)
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


@dataclass(frozen=True, slots=True, kw_only=True)
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


@dataclass(frozen=True, slots=True, kw_only=True)
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
    """

    name: str
    estimate: float
    held: bool = True
    points: float | None = None
    mean: float | None = None
    sd: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
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
    """

    key: str
    title: str
    why: str
    ratings: tuple[float | None, ...]
    largest_move: float | None = None
    moved: str | None = None
    n_swaps: int = 0
    new_first: str | None = None
    log_lik: float | None = None
    tie: float | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CategoryRating:
    """One model in one category (scenario, app, language).

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Categories:
    """Ratings by category with partial pooling.

    `tau` is the standard deviation of true deviations, in rating points, and `p_value` tests that it is 0; `left_out` are
    categories that could not be rated, each with the reason.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterCount:
    """A way in which votes share something.

    `n_levels` are those that votes name; `n_nameless` votes name none, and each counts as a level of its own.
    `effective` is (sum k)^2 / sum k^2 for the votes k of each level: how many equal levels these are worth; `largest` is the
    share of all votes in the largest level.
    """

    name: str
    n_levels: int
    effective: float
    largest: float
    n_nameless: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptLevels:
    """Pairs that are separated for "these" prompts and other raters, and for "new" prompts too; `shown` is that of the result."""

    n_prompts: int
    n_pairs: int
    n_separated_these: int
    n_separated_new: int
    shown: Literal["these", "new"]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ArenaRanking(Result):
    """Whom do live users prefer? The answer, and how it was reached.

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
    asked
        The options of the call: what repeats it.
    checks
        Every check in a sentence, in the order of reading; `graph`, `pairing`, `fit`, `trust` and `drift` hold their numbers.
    """

    arena: str
    ties: Ties
    scale: Scale
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
    drift: Drift | None = None
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
    plan: PlanAccount | None = None
    seed: int = 0
    version: str = ""
    sources: tuple[tuple[str, str], ...] = ()
    notes: tuple[Note, ...] = ()
    settings: Settings | None = field(default=None, compare=False)
    asked: ArenaOptions = field(default_factory=ArenaOptions)

    def __repr__(self) -> str:
        """One line; `summary()` says more."""
        best = self.best()
        told = "no rank over all, votes leave parts of the models apart" if self._in_parts() else "no rank is certain"
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
            values.update({f"top_{k}": inside for k, inside in values.pop("top")})
            for name in ("df", "p_value", "p_adjusted", "method"):
                del values[name]
            rows.append({"model": values.pop("name"), **values, "n_clusters": list(row.n_clusters)})
        return pl.DataFrame(rows, infer_schema_length=None)

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
