"""How all models stand: the frozen result of `leaderboard()`. A rank in it is always a set, never a single place."""

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import field
from datetime import date
from statistics import median
from typing import Any, ClassVar, Literal

import polars as pl

from evalstats.analysis.by_metric import ByMetric
from evalstats.analysis.design.clusters import ItemFactor
from evalstats.analysis.design.entries import ComparabilityGraph, EntryDifference
from evalstats.analysis.design.metric import ASSUMED, asked_direction
from evalstats.analysis.posterior.difference import need_direction, notes_of_data
from evalstats.analysis.posterior.difference import prior_scale as usual_scale
from evalstats.analysis.posterior.ranks import ranks_posterior
from evalstats.analysis.posterior.result import RankPosterior
from evalstats.analysis.result import Estimate, OfMetric, Origin, RankedRow, Result, row_named
from evalstats.analysis.settings import Settings
from evalstats.analysis.shown_frame import ShownFrame
from evalstats.document.model import Note
from evalstats.errors import CannotAnswerError, Option
from evalstats.grammar import and_list, plural
from evalstats.record import record
from evalstats.stats.many.multiplicity import Omnibus
from evalstats.stats.unpaired import detectable_difference
from evalstats.table.metric import MetricFacts

_ROUNDING = 1e-9
# Estimates that differ by less are one number; a fit on a common scale is settled to about this.
TIED = 1e-9
PairVerdict = Literal["better", "worse", "not separated", "not compared"]


@record
class LeaderboardRow(RankedRow):
    """One model's line. Numbers are in the metric's own unit.

    Attributes
    ----------
    estimate, std_error, conf_low, conf_high, method
        Its score with its interval, on the items of all models that it can be compared with: as `score` gives it where it has
        them all, else from how it compares with the others on the items it has. `reason` says why there is none.
    own_mean
        Its mean over the items it has, where these are not all: no number to compare models by.
    n_items, n_trials, n_error, n_unscored, n_clusters
        Items (item x variant) with a score, scored trials, harness errors, unscored rows, clusters.
    n_missing
        Items that some model was scored on and this one was not.
    share_missing
        Share of its scores that is missing: an item with some of its trials scored counts in part.
    missing_low, missing_high
        Its score on all items if everything that is missing had scored the lowest, the highest value. None where nothing is
        missing or the metric has no bounds.
    tier
        Letters; two models that share a letter are not separated.
    best_low, best_high
        Interval of its score minus the best other model's, turned so that above 0 is better; `best_high` of 0 says that it
        is not the best.
    shrunken
        Its score drawn towards the mean of all, by as much as its noise makes likely.
    tied_with
        Models with the same estimate; they are listed by name, which says nothing of their order.
    day
        When it was first run, or its number published.
    """

    own_mean: float | None = None
    n_items: int | None = None
    n_trials: int | None = None
    n_error: int = 0
    n_unscored: int = 0
    n_clusters: int | None = None
    n_missing: int = 0
    share_missing: float = 0.0
    missing_low: float | None = None
    missing_high: float | None = None
    tier: str = ""
    best_low: float | None = None
    best_high: float | None = None
    shrunken: float | None = None
    tied_with: tuple[str, ...] = ()
    runs: tuple[str, ...] = ()
    day: date | None = None
    notes: tuple[Note, ...] = ()

    @property
    def to_best(self) -> tuple[float | None, float | None] | None:
        """The interval of its lead over the best of the others; None where there is none."""
        return None if self.best_low is None and self.best_high is None else (self.best_low, self.best_high)


@record
class PairRow(Estimate):
    """Two models on the items that both were scored on; `estimate` is first minus second, in the metric's own unit.

    `conf_low` and `conf_high` hold for all pairs of the family at once (with "bh" and "by" each for its pair alone).
    `p_adjusted` is by the method asked for and decides `separated`; Holm's and Benjamini-Hochberg's stand beside it. Step-down
    p is sharper than simultaneous intervals: a pair may be separated though its interval just includes 0. `verdict` is that of
    the first model against the second.

    Attributes
    ----------
    first, second
        The two models.
    p_holm, p_bh
        p adjusted by Holm, and by Benjamini and Hochberg.
    """

    first: str
    second: str
    p_holm: float | None = None
    p_bh: float | None = None
    n_items: int | None = None
    n_clusters: int | None = None
    separated: bool = False
    verdict: PairVerdict = "not separated"


@record
class RecordRow(Estimate):
    """A model that scored above all before it; `estimate` is its score minus that of the record before, better above 0.

    The interval, p and the verdict are those of the pair on the board, adjusted for all pairs. The first record has none.
    """

    day: date
    name: str
    score: float
    before: str | None = None
    verdict: PairVerdict | None = None


@record
class TopScore:
    """The score of the model at the top, corrected for having been picked because it was at the top.

    Attributes
    ----------
    name
        The model at the top.
    corrected
        Its score corrected for having been picked; the interval is of this.
    shrunken
        Its score drawn towards the mean of all.
    """

    name: str
    estimate: float
    conf_level: float
    method: str = ""
    corrected: float | None = None
    conf_low: float | None = None
    conf_high: float | None = None
    shrunken: float | None = None
    reason: str | None = None


@record
class PairsOfTheseItems:
    """What would be shown if items were independent, where they go by a factor that nobody declared: it is the clusters.

    Attributes
    ----------
    factor, n_levels, clear
        The factor, its levels, and whether items clearly go by it (adjusted p up to .05, design effect from 1.5).
    n_separated, n_kept
        Pairs of models that would be separated, and those of them that are.
    best
        Models that could then be the best.
    """

    factor: str
    n_levels: int
    clear: bool
    n_separated: int
    n_kept: int
    best: tuple[str, ...] = ()


@record
class OtherLeader:
    """Who leads, and who could be the best, by another average that is usual, over levels of unlike sizes.

    `kind` is "macro" (every level alike) or "micro" (every item alike), `words` name it with the levels. `best` is empty where no
    ranks are known.

    Attributes
    ----------
    leader
        Who leads by it.
    """

    factor: str
    kind: Literal["micro", "macro"]
    words: str
    leader: str
    estimate: float
    best: tuple[str, ...] = ()


@record
class NewTaskRow:
    """The ranks left open for one model on a task not yet seen.

    Attributes
    ----------
    rank_low, rank_high
        Ends of the interval, which holds for this model by itself.
    rank_median
        Median of its ranks on the tasks at hand; models with equal scores on a task share the mean of their places.
    share_inside
        Share of the tasks on which its rank lies in the interval that the others give; None where these are too few.
    """

    name: str
    rank_low: int
    rank_high: int
    rank_median: float
    share_inside: float | None = None

    @property
    def ranks(self) -> str:
        """The interval in words: "1-3"."""
        return f"{self.rank_low}" if self.rank_low == self.rank_high else f"{self.rank_low}-{self.rank_high}"


@record
class NewTask:
    """Which rank each model will have on a task that was drawn as those at hand were (conformal prediction).

    Attributes
    ----------
    factor
        Of what a new level is meant: tasks, or what is averaged over.
    n_tasks, n_left_out
        Tasks at hand, and those on which no item has a score of every model.
    conf_level
        Probability that a model's rank on the new task is in its interval.
    rows
        One for each model with a score, in the order of the lines; empty where there is a `reason`.
    share_together
        Share of the tasks on which all models at once have a rank in the interval that the others give.
    method
        Name of the method; "" where there is a `reason`.
    reason
        Why there are no intervals, with how many tasks would be needed.
    """

    factor: str
    n_tasks: int
    conf_level: float
    n_left_out: int = 0
    rows: tuple[NewTaskRow, ...] = ()
    share_together: float | None = None
    method: str = ""
    reason: str | None = None


@record(repr=False)
class Leaderboard(OfMetric, Result):
    """How do all models stand, and which ranks are certain? The answer, and how it was reached.

    All numbers are in the metric's own unit; `scale` and `unit` say how differences are shown, `score_unit` how scores are.

    Attributes
    ----------
    rows
        One for each model: by part of the comparability graph, then by score, the best first. The order of the lines is no
        ranking; the rank sets are.
    pairs
        Every pair of models, or every model against `baseline`, as one family adjusted by `adjust`.
    best_if_missing
        Where one model is shown to be the best: those that could overtake it if every missing score went against it.
    missing_share
        The largest share of items without a score, of the best and of those models; above 5% the best is open.
    labels
        Whose labels correct the scores, and of how many items; None where the scores stand as they are.
    qualifiers
        Short phrases without which the headline would mislead; they stand on the first line of every output, after it.
    omnibus
        One test of whether the models differ at all, only a gate; None where there is none.
    average
        Which average over the levels of a factor a score is; "" where levels of equal size make it none in particular.
    these_items
        Where a factor that nobody declared is the clusters: what would be shown if items were independent.
    other_leaders
        Other averages by which another model leads, or the one best is not.
    new_task
        Which rank each model will have on a task not yet seen, where there are several tasks.
    basis
        What the comparisons rest on: the same items for all, or for each pair the items it shares.
    different
        What the models do not share ("users", "items"), where nothing is paired; "" where they answered the same items.
    baseline
        The model that all others are compared with; None: every pair.
    adjust
        How p and intervals of the pairs are adjusted for their number.
    critical, exact
        The critical value of the intervals, and whether it is exact or from resamples.
    graph
        Which items each pair of models shares, and which models no chain of items joins.
    item_sd
        Largest standard deviation of a model's scores of items; None of bounded scores, and where no items are known.
    winner
        The score of the model at the top, corrected for having been picked.
    omnibus_reason
        Why there is no test of all models at once; None where there is.
    dependence_of
        Of which difference `dependence` speaks.
    posterior_beside
        The posterior of the ranks, where it was asked for with the leaderboard.
    """

    about: MetricFacts
    contrast: str
    baseline: str | None
    adjust: str
    conf_level: float
    method: str
    method_reason: str
    rank_method: str
    estimand: str
    basis: str
    rows: tuple[LeaderboardRow, ...]
    pairs: tuple[PairRow, ...]
    average: str = ""
    different: str = ""
    rank_reason: str | None = None
    best_if_missing: tuple[str, ...] = ()
    missing_share: float = 0.0
    qualifiers: tuple[str, ...] = ()
    labels: str | None = None
    critical: float | None = None
    exact: bool | None = None
    n_resamples: int | None = None
    n_models: int = 0
    n_items: int | None = None
    item_sd: float | None = None
    n_trials: int | None = None
    n_clusters: int | None = None
    clusters: tuple[str, ...] = ()
    graph: ComparabilityGraph | None = None
    run_differences: tuple[EntryDifference, ...] = ()
    winner: TopScore | None = None
    omnibus: Omnibus | None = None
    omnibus_reason: str | None = None
    dependence: tuple[ItemFactor, ...] = ()
    dependence_of: str = ""
    these_items: PairsOfTheseItems | None = None
    other_leaders: tuple[OtherLeader, ...] = ()
    new_task: NewTask | None = None
    posterior_beside: RankPosterior | None = None
    origin: Origin = field(default_factory=Origin)
    notes: tuple[Note, ...] = ()

    @property
    def score_unit(self) -> str:
        """Unit of a score as shown: "%" for shares."""
        return self.about.score_unit

    @property
    def detects(self) -> float | None:
        """Smallest true difference, in the metric's own unit, that a typical pair by itself is told apart by with 80% power.

        The median over all pairs; None where there is none.
        """
        known = [
            detectable_difference(pair.std_error, pair.df, conf_level=self.conf_level)
            for pair in self.pairs
            if pair.std_error
        ]
        return median(known) if known else None

    def needs(self, difference: float) -> int | None:
        """Return about how many items (clusters, where there are such) a typical pair needs to detect a difference so."""
        n = self.n_units
        return None if self.detects is None or n is None else math.ceil(n * (self.detects / difference) ** 2)

    @property
    def n_units(self) -> int | None:
        """Items, or clusters where there are such, of a pair: where items differ, the median over pairs, of both models."""
        if not self.different:
            return self.n_clusters if self.clusters else self.n_items
        return round(median((pair.n_clusters if self.clusters else pair.n_items) or 0 for pair in self.pairs))

    def __repr__(self) -> str:
        """One line; `summary()` says more."""
        best = self.best()
        among = " of those ranked" if self.above_the_ranked() else ""
        certain = (
            f"{best[0]} is the best{among}" if len(best) == 1 else f"{plural(len(best), 'model')} could be the best"
        )
        told = [ASSUMED] if self.direction == "assumed" else asked_direction(self.direction)
        answer = "; ".join((certain if best else "no rank is certain", *self.qualifiers, *told))
        return f"<Leaderboard: {self.n_models} models on {self.benchmark} ({self.metric}): {answer}>"

    @property
    def answered(self) -> bool:
        """Whether any model has a rank set."""
        return any(row.rank_low for row in self.rows)

    @property
    def whole(self) -> bool:
        """Whether every model is connected to every other, so that there are ranks over all."""
        return self.graph is None or self.graph.connected

    def best(self) -> tuple[str, ...]:
        """Models that may be the best (of their part, where not all can be compared); empty where ranks cannot be told."""
        return tuple(row.name for row in self.rows if row.may_be_best)

    def above_the_ranked(self) -> tuple[str, ...]:
        """Models without a rank whose published score is better than that of every model with one."""
        sign = 1.0 if self.higher_is_better else -1.0
        ranked = [sign * row.estimate for row in self.rows if row.rank_low is not None and row.estimate is not None]
        if self.graph is not None or not ranked:
            return ()
        unranked = [row for row in self.rows if row.rank_low is None and row.estimate is not None]
        return tuple(row.name for row in unranked if sign * (row.estimate or 0.0) > max(ranked))

    def records(self) -> tuple[RecordRow, ...]:
        """Return the models that scored above all before them, by day; of one day only the best may be one.

        Models without a day or a score are no part of it.
        """
        sign = 1.0 if self.higher_is_better else -1.0
        known = [(row.day, sign * row.estimate, row) for row in self.rows if row.day and row.estimate is not None]
        pairs = {frozenset((pair.first, pair.second)): pair for pair in self.pairs}
        found: list[RecordRow] = []
        for day, score, row in sorted(known, key=lambda each: (each[0], -each[1], each[2].name)):
            before = found[-1] if found else None
            if before is not None and score <= sign * before.score:
                continue
            pair = None if before is None else pairs.get(frozenset((row.name, before.name)))
            entry = RecordRow(estimate=None, day=day, name=row.name, score=sign * score, before=before and before.name)
            if pair is not None and pair.estimate is not None:
                turned = sign if pair.first == row.name else -sign
                ends = [None if end is None else turned * end for end in (pair.conf_low, pair.conf_high)]
                low, high = ends if turned > 0 else reversed(ends)
                won = {"better": "worse", "worse": "better"} if pair.first != row.name else {}
                entry = dataclasses.replace(
                    entry,
                    estimate=turned * pair.estimate,
                    std_error=pair.std_error,
                    conf_low=low,
                    conf_high=high,
                    conf_level=pair.conf_level,
                    df=pair.df,
                    p_value=pair.p_value,
                    p_adjusted=pair.p_adjusted,
                    method=pair.method,
                    verdict=won.get(pair.verdict, pair.verdict),
                )
            elif before is not None:
                entry = dataclasses.replace(entry, verdict="not compared")
            found.append(entry)
        return tuple(found)

    def posterior(self, *, prior_scale: float | None = None, conf_level: float | None = None) -> RankPosterior:
        """Return how probable each rank of each model is, and what choosing each would cost: beside the rank sets.

        Parameters
        ----------
        prior_scale
            Scale of the usual prior of the standard deviation between models (half-Cauchy), in the metric's own unit. None: a
            tenth of the score's range; of a score without bounds a fifth of the standard deviation of its items.
        conf_level
            How much of its posterior a model's range of ranks holds; None: the level of the leaderboard.

        Raises
        ------
        CannotAnswerError
            If some pair of models is not compared, as with `baseline` or where models share too few items, or has no standard
            error.
        InputError
            If an option is out of its range, or which way is better is not known.

        Notes
        -----
        It needs the scores and the standard errors of all pairs, which a saved leaderboard has. Half and double the prior's
        scale, and a sceptic's quarter of it, always stand beside;
        `evalstats.stats.many.rank_probabilities` has the model.

        Examples
        --------
        >>> import evalstats as es
        >>> found = es.leaderboard(es.datasets.tenacious_held_out(), cluster="none").posterior()
        >>> [(row.model, round(row.p_first, 2)) for row in found.usual]
        [('trained', 1.0), ('baseline', 0.0)]
        """
        need_direction(self.about)
        names = [row.name for row in self.rows]
        pairs = {(pair.first, pair.second): pair for pair in self.pairs}
        if not self.whole or len(pairs) < len(names) * (len(names) - 1) // 2:
            why = f"only those with {self.baseline} are" if self.baseline else "some are not"
            raise CannotAnswerError(
                f"a posterior of ranks takes every pair of models as compared, and {why}; leave out the baseline, or name "
                f"models that answered the same items with {Option('models')}"
            )
        scores = {row.name: row.estimate for row in self.rows if row.estimate is not None}
        if lost := [name for name in names if name not in scores]:
            raise CannotAnswerError(f"{lost[0]} has no score; leave it out with {Option('models')}")
        best = self.best()
        return ranks_posterior(
            scores,
            pairs,
            self.about,
            contrast=self.contrast,
            scale=usual_scale(self.about, prior_scale, self.item_sd),
            conf_level=self.conf_level if conf_level is None else conf_level,
            beside=f"{best[0]} is best"
            if len(best) == 1
            else f"{and_list(best, 3)} could be best"
            if best
            else "no rank is certain",
            origin=dataclasses.replace(self.origin, settings=None),
            notes=notes_of_data(self.notes),
        )

    def row(self, name: str) -> LeaderboardRow:
        """Return one model's line.

        InputError if there is no such model; it names the closest.
        """
        return row_named(self.rows, name)

    def to_frame(self) -> pl.DataFrame:
        """One row for each model, in glossary names; `top_k` for each k asked for, ranks on a new task where there are tasks."""
        rows: list[dict[str, Any]] = []
        elsewhere = {} if self.new_task is None else {row.name: row for row in self.new_task.rows}
        for row in self.rows:
            values = {
                each.name: getattr(row, each.name) for each in dataclasses.fields(row) if each.name not in _NO_COLUMN
            }
            values.update({f"top_{k}": inside for k, inside in values.pop("top")})
            values.update(tied_with=", ".join(row.tied_with) or None, runs=", ".join(row.runs) or None)
            if new := elsewhere.get(row.name):
                values.update(rank_low_new_task=new.rank_low, rank_high_new_task=new.rank_high)
            rows.append({"model": values.pop("name"), **values})
        return ShownFrame(rows, schema_overrides=_ROW_TYPES, infer_schema_length=None)

    def pairs_frame(self) -> pl.DataFrame:
        """One row for each pair of the family."""
        names = (
            "first",
            "second",
            *(each.name for each in dataclasses.fields(PairRow) if each.name not in ("first", "second")),
        )
        rows = [{**{name: getattr(pair, name) for name in names}, "adjust": self.adjust} for pair in self.pairs]
        return pl.DataFrame(rows, schema_overrides=_PAIR_TYPES, infer_schema_length=None)


@record(repr=False)
class Leaderboards(ByMetric[Leaderboard], Result):
    """How do all models stand by each of several metrics? A board for each, and none of all together.

    Every metric keeps its unit and its direction; nothing is averaged over them. The boards are one family: rank sets and
    intervals are at Bonferroni's level, so that those of all hold together at `conf_level`.

    Attributes
    ----------
    rows
        The board by each metric, in the order asked for; the `conf_level` of each is the adjusted one.
    conf_level
        Level at which all boards hold together.
    """

    told_by: ClassVar[str] = "evalstats.analysis.leaderboard.several_metrics"
    rows: tuple[Leaderboard, ...]
    conf_level: float = 0.95
    notes: tuple[Note, ...] = ()
    settings: Settings | None = field(default=None, compare=False)

    def __repr__(self) -> str:
        """One line; `summary()` says more."""
        told = "; ".join(f"{row.metric}: best may be {and_list(row.best(), 3) or 'any'}" for row in self.rows)
        return f"<Leaderboards: {told}>"

    def to_frame(self) -> pl.DataFrame:
        """One row for each metric and model: those of each board, with its benchmark and metric."""
        boards = [
            pl.DataFrame(row.to_frame()).select(
                pl.lit(row.benchmark).alias("benchmark"), pl.lit(row.metric).alias("metric"), "*"
            )
            for row in self.rows
        ]
        return ShownFrame(pl.concat(boards, how="diagonal"))


def snapped_pairs(pairs: Sequence[PairRow], span: float | None) -> tuple[PairRow, ...]:
    """Set ends of intervals that are 0 but for rounding to 0; an unbounded metric has no span to tell it by.

    >>> pair = PairRow(first="a", second="b", estimate=0.1, conf_low=1.6e-10, conf_high=0.2)
    >>> snapped_pairs([pair], span=1.0)[0].conf_low
    0.0
    """
    ends = ((_end(pair.conf_low, span), _end(pair.conf_high, span)) for pair in pairs)
    return tuple(
        pair
        if low is pair.conf_low and high is pair.conf_high
        else dataclasses.replace(pair, conf_low=low, conf_high=high)
        for pair, (low, high) in zip(pairs, ends, strict=True)
    )


def snapped_rows(rows: Sequence[LeaderboardRow], span: float | None) -> tuple[LeaderboardRow, ...]:
    """Do the same with the distances from the best."""
    ends = ((_end(row.best_low, span), _end(row.best_high, span)) for row in rows)
    return tuple(
        dataclasses.replace(row, best_low=low, best_high=high) for row, (low, high) in zip(rows, ends, strict=True)
    )


def _end(value: float | None, span: float | None) -> float | None:
    return 0.0 if value is not None and span is not None and abs(value) < _ROUNDING * span else value


def _types(of: type, texts: tuple[str, ...], wholes: tuple[str, ...]) -> dict[str, pl.DataType]:
    """Column types that do not depend on what the rows happen to hold."""
    types: dict[str, pl.DataType] = {}
    for each in dataclasses.fields(of):
        if each.type == (float | None):
            types[each.name] = pl.Float64()
        elif each.name in wholes or each.type == (int | None):
            types[each.name] = pl.Int64()
        elif each.name in texts:
            types[each.name] = pl.String()
    return types


# A score is no test, so a row has no p; what is noted of it stands in the notes of the whole.
_NO_COLUMN = ("p_value", "p_adjusted", "df", "notes")


_ROW_TYPES = {
    **_types(LeaderboardRow, ("method", "reason", "rank_reason", "tier"), ("n_error", "n_unscored", "n_missing")),
    "model": pl.String(),
    "may_be_best": pl.Boolean(),
    "day": pl.Date(),
    "tied_with": pl.String(),
    "runs": pl.String(),
}
_PAIR_TYPES = _types(PairRow, ("first", "second", "verdict", "reason", "method"), ())
