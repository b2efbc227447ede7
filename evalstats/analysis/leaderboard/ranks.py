"""From the item scores of many models to pairs, rank sets, tiers and the best: which method, and why.

====================================  =====================================  ==========================================
situation                             pairs                                  distance from the best
====================================  =====================================  ==========================================
every two models share enough items   as `adjust` says, each pair on the     Hsu's comparisons with the best
                                      items that it shares
some do, some do not                  the same, those that do                the pairs' intervals, within connected parts
one way of clustering                 clusters are the unit                  the same, from 6 clusters on
several ways of clustering (crossed)  multiway CR2, Holm                     the pairs' intervals
different users or items              two samples a pair, as `adjust` says   the pairs' intervals
full runs that stand for more         widened by the variation of runs       the pairs' intervals
====================================  =====================================  ==========================================

Ranks are counted from the separated pairs, so that no rank contradicts a pair: 1 + the models shown to be better, up to the
number of models less those shown to be worse. Where no pair is called wrongly, neither two equal models nor two in the wrong
order, all sets hold, which step-down tests ensure with a family-wise error rate (Finner 1999, doi:10.1214/aos/1018031111, on
directions; Mogstad et al. 2024 on ranks).
"""

import math
from collections.abc import Sequence
from dataclasses import fields, replace
from itertools import combinations

import numpy as np
import polars as pl

from evalstats.analysis.design.entries import components, least_shared, shared_counts
from evalstats.analysis.design.metric import Metric
from evalstats.analysis.design.runs import ALONE, TrialDesign, size_words, usual_prior
from evalstats.document.model import Note
from evalstats.errors import CannotAnswerError, InputError, Option
from evalstats.grammar import plural
from evalstats.record import record
from evalstats.stats.clusters import multiway_mean
from evalstats.stats.many.independent import independent_differences
from evalstats.stats.many.multiplicity import Adjust, adjusted, compact_letters
from evalstats.stats.many.pair_table import PairTable, pair_table
from evalstats.stats.many.pairwise import PairwiseDifferences, differing_items, pairwise_differences
from evalstats.stats.many.ranks import DrawnControls, RankSets, no_ranks, rank_sets, with_the_best
from evalstats.stats.paired.binary import MIN_DISCORDANT
from evalstats.stats.runs import (
    RunEffects,
    RunSd,
    half_widths,
    mixture_p,
    pair_mixtures,
    run_effects,
    run_spread,
    t_quantiles,
)
from evalstats.table.items import Bools, Floats, Ints
from evalstats.table.systems import System

# With fewer clusters no pattern of signs is rare enough to separate anything after adjustment.
MIN_CLUSTERS = 6
MIN_DF, _ROUNDING = 4.0, 1e-9
# Pairs are weighed so many at a time.
_AT_ONCE = 2_000
# A line is due where runs at their median are so much of the variance of half of the pairs: intervals are then some 1.25 times
# as wide for them, since what the runs leave open widens them further.
_MUCH = 0.2


@record
class BoardRuns:
    """What tells how far whole runs differ: `sides` of every model or, where all share their trials, of every pair i < j."""

    prior: RunSd
    sides: tuple[RunEffects, ...] | dict[tuple[int, int], RunEffects]

    def of(self, members: Bools) -> "BoardRuns":
        """Keep some models."""
        kept: list[int] = np.flatnonzero(members).tolist()
        if isinstance(self.sides, tuple):
            return replace(self, sides=tuple(self.sides[j] for j in kept))
        place = {j: k for k, j in enumerate(kept)}
        both = {(place[i], place[j]): each for (i, j), each in self.sides.items() if i in place and j in place}
        return replace(self, sides=both)

    def of_pair(self, first: int, second: int) -> tuple[RunEffects, ...]:
        """Return what tells of the runs of two models."""
        if isinstance(self.sides, tuple):
            return self.sides[first], self.sides[second]
        return (self.sides[min(first, second), max(first, second)],)

    def note(self, found: PairwiseDifferences, metric: Metric) -> Note:
        """Say how far scores vary from run to run: a caution where that is much of the standard error of pairs."""
        of_models = isinstance(self.sides, tuple)
        each = self.sides if isinstance(self.sides, tuple) else tuple(self.sides.values())
        spreads = [spread.median for side in each if (spread := run_spread(side, prior=self.prior)) is not None]
        middle, share = float(np.median(spreads)), 0.0
        if np.isfinite(found.std_error).any():
            pairs = zip(found.first.tolist(), found.second.tolist(), strict=True)
            reach = np.array([sum(side.reach for side in self.of_pair(i, j)) for i, j in pairs])
            share = np.nanmedian(middle**2 * reach / np.square(found.std_error))
        what = "Run to run" if of_models else "Run to run, in the difference of a pair"
        size = size_words(middle, metric)
        size = f"{size}, as declared" if self.prior.known else f"about {size} (median)"
        one = sum(side.n_runs < 2 for side in each)
        alone = f"; {one} of {len(each)} models have one run" if one and not self.prior.known else ""
        text = f"{what}: {size}; pairs and rank sets include it, the corrected top score and the test over all models do not"
        return Note(kind="choice", text=text + alone, caution=bool(share >= _MUCH))


def board_runs(
    items: pl.DataFrame,
    systems: Sequence[System],
    metric: Metric,
    trials: TrialDesign,
    *,
    weights: Floats | None = None,
) -> BoardRuns | None:
    """Reduce every model's cells to what they tell of its runs; None where no interval counts them."""
    sampled = trials.role == "sample"
    sides: tuple[RunEffects, ...] | dict[tuple[int, int], RunEffects]
    if not sampled and not (trials.run_sd is not None and trials.run_sd.known):
        return None
    if sampled and trials.shared:
        scores = trials.matrix(items, systems)
        if scores is None:
            raise InputError(
                "shared trials need some that every model has, and there are none; leave out "
                f"{Option('shared_trials', value=True)}"
            )
        sides = {
            (i, j): run_effects(scores[i] - scores[j], weights=weights, difference=True)
            for i, j in combinations(range(len(systems)), 2)
        }
        each = tuple(sides.values())
    else:
        own = [trials.effects(items, [system], weights=weights) if sampled else [] for system in systems]
        sides = each = tuple(effects[0] if effects else ALONE for effects in own)
    prior = trials.run_sd or usual_prior(metric, each)
    if prior is None or not (prior.known or any(side.squares.size for side in each)):
        return None
    return BoardRuns(prior=prior, sides=sides)


@record
class BoardScores:
    """Item values of all models, the best first, shape (n_items, n_models), NaN where there is none.

    `single` tells that every value is one right-or-wrong answer, `comparable` which two models may be compared at all; `runs`
    is what full runs add to the variance of each pair. Where levels of a factor are averaged over, `raw` are the item values,
    each with its weight, and `values` are linearised, so that plain means and errors are those of the average. Where models
    miss items, `means` are their scores on one scale, which no pair may contradict. Where they are `apart`, every model has
    users or items of its own, and nothing is paired; `before` is a covariate of theirs, shape (n_items,). Of right-or-wrong
    answers to the same items, a row may stand for so many `times` of items that score alike.
    """

    values: Floats
    clusters: tuple[Ints, ...]
    single: bool
    comparable: Bools
    raw: Floats | None = None
    weights: Floats | None = None
    runs: BoardRuns | None = None
    means: Floats | None = None
    apart: bool = False
    before: Floats | None = None
    times: Ints | None = None

    @property
    def each(self) -> Ints:
        """Items that each row stands for, shape (n_rows,)."""
        return np.ones(len(self.values), dtype=np.int64) if self.times is None else self.times

    @property
    def n_items(self) -> int:
        """Number of items."""
        return int(self.each.sum())

    @property
    def n_models(self) -> int:
        """Number of columns."""
        return int(self.values.shape[1])

    @property
    def codes(self) -> Ints | None:
        """The one cluster column; None where items are independent."""
        return self.clusters[0] if self.clusters else None

    def linked(self) -> Bools:
        """Return which two models are compared: they may be, and they share enough items, or are meant to share none."""
        if self.apart:
            return self.comparable
        return (self.shared_counts() >= least_shared(self.n_items)) & self.comparable

    def shared_counts(self) -> Ints:
        """Return how many items every two models share."""
        return shared_counts(~np.isnan(self.values), self.n_items)

    def column_means(self) -> Floats:
        """Return the score of every model, on one scale."""
        if self.means is not None:
            return self.means
        return np.nanmean(self.values, axis=0) if self.times is None else self.times @ self.values / self.n_items

    def pair_table(self, asked: "RankingOptions", pairs: Sequence[tuple[int, int]] | None = None) -> PairTable:
        """Return the table of all pairs with higher being better, or of `pairs` with scores as they are."""
        values = asked.turned(self.values) if pairs is None else self.values
        return pair_table(values, pairs, self.codes, self.times)

    def of(self, members: Bools) -> "BoardScores":
        """Keep some models, on the items that any of them has."""
        seen = ~np.isnan(self.values if members.all() else self.values[:, members]).all(axis=1)
        if members.all() and seen.all():
            return self
        return replace(
            self,
            values=self.values[np.ix_(seen, members)],
            times=None if self.times is None else self.times[seen],
            clusters=tuple(each[seen] for each in self.clusters),
            comparable=self.comparable[np.ix_(members, members)],
            runs=None if self.runs is None else self.runs.of(members),
            raw=None if self.raw is None else self.raw[np.ix_(seen, members)],
            weights=None if self.weights is None else self.weights[seen],
            means=None if self.means is None else self.means[members],
            before=None if self.before is None else self.before[seen],
        )


@record
class RankingOptions:
    """What was asked for: the level, the family and its adjustment, the k of the top-k sets, the seed."""

    metric: Metric
    conf_level: float
    adjust: Adjust
    baseline: int | None
    top: tuple[int, ...]
    seed: int

    @property
    def family_wise(self) -> bool:
        """Whether the adjustment bounds the chance of any false finding, as rank sets need; others do for the pairs only."""
        return self.adjust in ("max-t", "holm")

    @property
    def sign(self) -> float:
        """What turns scores so that higher is better."""
        return 1.0 if self.metric.higher_is_better else -1.0

    def turned(self, values: Floats) -> Floats:
        """Return scores for which higher is better; right-or-wrong ones stay 0 and 1, and the bounds stay theirs."""
        if self.metric.higher_is_better:
            return values
        return -values if self.metric.bounds is None else sum(self.metric.bounds) - values

    def for_scores(self, scores: BoardScores) -> "RankingOptions":
        """Return the options for values that the bounds of the score do not hold for, where they are linearised."""
        if scores.raw is None:
            return self
        return replace(self, metric=replace(self.metric, kind="continuous", low=None, high=None))


@record
class OpenRanks:
    """The places that the data leave open for one model within its `part` of the graph; None with a reason if none is known."""

    part: int
    low: int | None = None
    high: int | None = None
    marginal_low: int | None = None
    marginal_high: int | None = None
    top: tuple[tuple[int, bool], ...] = ()
    reason: str | None = None


@record
class BoardRanks:
    """The ranks of all models, in column order, and how they were found."""

    models: tuple[OpenRanks, ...]
    method: str
    exact: bool | None = None
    n_resamples: int | None = None

    @property
    def parts(self) -> Ints:
        """The part of the graph that every model is in."""
        return np.array([each.part for each in self.models], dtype=np.int64)

    def best(self, names: Sequence[str]) -> tuple[str, ...]:
        """Name the models that may be the best."""
        return tuple(name for name, each in zip(names, self.models, strict=True) if dict(each.top).get(1))


@record
class Ranking:
    """Everything that is said of models against each other, in column order.

    `every` holds all comparable pairs, `shown` the family that was asked for (the same, or those with the baseline).
    `to_best` are intervals of the lead over the best other model, above 0 being better whatever the direction of the metric.
    """

    every: PairwiseDifferences
    shown: PairwiseDifferences
    ranks: BoardRanks
    tiers: tuple[str, ...]
    to_best: tuple[tuple[float | None, float | None], ...]
    warnings: tuple[str, ...] = ()


def ranking(scores: BoardScores, asked: RankingOptions) -> Ranking:
    """Compare all models: every pair, what ranks that leaves, tiers, and the distance from the best."""
    asked = asked.for_scores(scores)
    linked, table = scores.linked(), _one_table(scores, asked)
    part = components(linked)
    every, strict, both = _claims(scores, asked, table, intervals=True)
    shown = every
    if asked.baseline is not None:
        others = [j for j in range(scores.n_models) if j != asked.baseline and linked[j, asked.baseline]]
        shown = pair_differences(scores, asked, [(j, asked.baseline) for j in others]) if others else _none_of(every)
    best = DrawnControls()  # the draws behind the ranks are those of the distance from the best
    ranks = _ranks(scores, asked, strict, apart=both, part=part, table=table, best=best)
    # The answer is exact only where the ranks are too.
    drawn = max((each for each in (shown.n_resamples, ranks.n_resamples) if each), default=None)
    return Ranking(
        every=every,
        shown=replace(shown, exact=shown.exact and ranks.exact is not False, n_resamples=drawn),
        ranks=ranks,
        tiers=_tiers(shown_better(every, asked, scores.n_models), part),
        to_best=_against_best(scores, asked, strict, ranks, table=table, best=best),
        warnings=tuple(dict.fromkeys((*every.warnings, *shown.warnings))),
    )


def claims(scores: BoardScores, asked: RankingOptions) -> tuple[Bools, BoardRanks]:
    """Return which pairs `ranking` would call separated, in the order of its pairs, and its ranks without marginal sets.

    What it leaves out, intervals and the distance from the best, is most of the work where items are clustered.
    """
    asked = asked.for_scores(scores)
    table = _one_table(scores, asked)
    every, strict, both = _claims(scores, asked, table, intervals=False)
    part = components(scores.linked())
    ranks = _ranks(scores, asked, strict, apart=both, part=part, table=table, marginal=False)
    return separated(every, asked.conf_level), ranks


# --- pairs ---


def _claims(
    scores: BoardScores, asked: RankingOptions, table: PairTable | None, *, intervals: bool
) -> tuple[PairwiseDifferences, PairwiseDifferences, Bools]:
    """Return all comparable pairs as asked and with a family-wise rate, and those separated by both."""
    n, linked = scores.n_models, scores.linked()
    pairs = [(i, j) for i, j in combinations(range(n), 2) if linked[i, j]]
    if not pairs:
        shared, least = scores.shared_counts(), least_shared(scores.n_items)
        raise CannotAnswerError(
            f"no two of the {n} models that were measured alike share {least} scored items (the most that any two share is "
            f"{int(shared[np.triu_indices(n, 1)].max())}), so nothing can be compared; where each has different users or "
            f"items, add {Option('paired', value=False)}"
        )
    table = table if asked.metric.higher_is_better else None  # that of ranks is turned round
    every = pair_differences(scores, asked, pairs, table=table, intervals=intervals)
    # Rank sets need a family-wise error rate, which bh and by do not give.
    strict = every
    if not asked.family_wise:
        strict = pair_differences(scores, replace(asked, adjust="holm"), pairs, table=table, intervals=intervals)
    above = [shown_better(each, asked, n) for each in (every, strict)]
    return every, strict, (above[0] | above[0].T) & (above[1] | above[1].T)


def _one_table(scores: BoardScores, asked: RankingOptions) -> PairTable | None:
    """Return the table of all pairs that every question shares, higher being better; None where they cannot share one."""
    if not scores.linked().all() or len(scores.clusters) > 1 or scores.apart:
        return None
    return scores.pair_table(asked)


def pair_differences(
    scores: BoardScores,
    asked: RankingOptions,
    pairs: Sequence[tuple[int, int]],
    *,
    table: PairTable | None = None,
    intervals: bool = True,
) -> PairwiseDifferences:
    """Compare the named pairs as one family; `table` is theirs, where it was made before."""
    metric = asked.for_scores(scores).metric
    graded = metric.is_graded(scores.values)
    if scores.apart:
        own = [np.flatnonzero(~np.isnan(column)) for column in scores.values.T]
        codes = min(scores.clusters, key=lambda each: len(np.unique(each)), default=None)
        found = independent_differences(
            [scores.values[rows, j] for j, rows in enumerate(own)],
            pairs=pairs,
            clusters=None if codes is None else [codes[rows] for rows in own],
            before=None if scores.before is None else [scores.before[rows] for rows in own],
            span=metric.span,
            binary=scores.single,
            conf_level=asked.conf_level,
            adjust=asked.adjust,
            seed=asked.seed,
        )
    elif len(scores.clusters) > 1:
        found = crossed_pairs(
            scores.values,
            scores.clusters,
            pairs,
            span=metric.span,
            conf_level=asked.conf_level,
            adjust=asked.adjust,
        )
    else:
        found = pairwise_differences(
            scores.pair_table(asked, pairs) if table is None else table,
            bounds=metric.bounds,
            binary=scores.single,
            shares=not graded,
            worst=metric.worst if graded else None,
            conf_level=asked.conf_level,
            adjust=asked.adjust,
            seed=asked.seed,
            intervals=intervals,
        )
        if scores.raw is not None and not scores.clusters:
            found = replace(found, n_differing=differing_items(scores.raw, found, scores.weights))
    if scores.runs is not None:
        found = counting_runs(found, scores.runs, span=asked.metric.span, conf_level=asked.conf_level)
    if scores.means is None:
        return found
    lead = scores.means[found.first] - scores.means[found.second]
    return replace(found, contradicted=found.estimate * lead < 0.0)


def crossed_pairs(
    values: Floats,
    clusters: Sequence[Ints],
    pairs: Sequence[tuple[int, int]],
    *,
    span: float | None,
    conf_level: float,
    adjust: Adjust,
) -> PairwiseDifferences:
    """Compare pairs of models on items that are clustered in several ways at once; intervals are clipped to the `span`.

    "max-t" is answered by Holm's method, and a warning says so: random signs need one way of clustering.
    """
    stepped: Adjust = "holm" if adjust == "max-t" else adjust
    strict = stepped == "holm"
    level = 1.0 - (1.0 - conf_level) / (len(pairs) if strict else 1)
    low, high = (None, None) if span is None else (-span, span)
    rows: list[tuple[float, ...]] = []
    for i, j in pairs:
        d = values[:, i] - values[:, j]
        both = ~np.isnan(d)
        found = multiway_mean(d[both], [each[both] for each in clusters], conf_level=level, low=low, high=high)
        own = found.estimate
        p = own.p_value if d[both].any() else 1.0
        numbers = (own.estimate, own.std_error, own.df, p, own.conf_low, own.conf_high)
        rows.append((*(np.nan if x is None else x for x in numbers), int(both.sum()), found.n_clusters))
    columns = np.array(rows, dtype=np.float64).reshape(len(rows), 8).T
    first, second = np.array(pairs, dtype=np.int64).reshape(len(pairs), 2).T
    needs = "max-T needs one way of clustering, and there are several: p is adjusted by Holm's method"
    return PairwiseDifferences(
        first=first,
        second=second,
        estimate=columns[0],
        std_error=columns[1],
        df=columns[2],
        p_value=columns[3],
        p_adjusted=adjusted(columns[3], stepped),
        conf_low=columns[4],
        conf_high=columns[5],
        n_items=columns[6].astype(np.int64),
        n_clusters=columns[7].astype(np.int64),
        critical=np.nan,
        conf_level=conf_level,
        method=f"CR2 on {len(clusters)} cluster columns, Satterthwaite df{', Bonferroni intervals' if strict else ''}",
        adjust=stepped,
        exact=True,
        n_resamples=None,
        seed=None,
        warnings=(needs,) if adjust == "max-t" else (),
    )


def counting_runs(
    found: PairwiseDifferences, runs: BoardRuns, *, span: float | None, conf_level: float
) -> PairwiseDifferences:
    """Widen pairs by the variation of their runs: p is the larger of both, intervals hold both.

    The joint law of sign flips knows nothing of runs. So the test with runs counted stands beside it, adjusted for the
    family in closed form (Holm where the family-wise rate is wanted), and a pair is separated where both find it so.
    """
    strict = found.adjust in ("max-t", "holm")
    level = 1.0 - (1.0 - conf_level) / (max(1, found.first.size) if strict else 1)
    df = np.where(np.isfinite(found.df), found.df, np.maximum(found.n_items - 1.0, 1.0))
    pairs = [runs.of_pair(i, j) for i, j in zip(found.first.tolist(), found.second.tolist(), strict=True)]
    informed = np.array([runs.prior.known or any(side.squares.size for side in pair) for pair in pairs], dtype=np.bool_)
    touched = np.isfinite(found.std_error) & informed
    p, reach, std_error = found.p_value.copy(), np.zeros(found.p_value.size), found.std_error.copy()
    for places in np.array_split(np.flatnonzero(touched), max(1, math.ceil(touched.sum() / _AT_ONCE))):
        if not places.size:
            continue
        members: list[int] = places.tolist()
        added, weights = pair_mixtures([pairs[k] for k in members], prior=runs.prior)
        own, nu = found.std_error[places], df[places]
        reach[places] = half_widths(added, weights, own, nu, level)
        # As the half-width of one pair alone tells it, whatever the family.
        std_error[places] = half_widths(added, weights, own, nu, conf_level) / t_quantiles(conf_level, nu)
        p[places] = np.fmax(p[places], mixture_p(found.estimate[places], added, weights, own, nu))
    p_adjusted = found.p_adjusted.copy()
    if found.adjust != "none":
        tested = np.isfinite(p)
        p_adjusted[tested] = np.fmax(p_adjusted, adjusted(replace(found, p_value=p).p_for_family, found.adjust))[tested]
    ends = [np.fmin(found.conf_low, found.estimate - reach), np.fmax(found.conf_high, found.estimate + reach)]
    if span is not None:
        ends = [np.clip(each, -span, span) for each in ends]
    return replace(
        found,
        std_error=std_error,
        df=np.where(touched, df, found.df),
        p_value=p,
        p_adjusted=p_adjusted,
        conf_low=np.where(touched, ends[0], found.conf_low),
        conf_high=np.where(touched, ends[1], found.conf_high),
        method=f"{found.method}, runs counted",
    )


def separated(found: PairwiseDifferences, conf_level: float) -> Bools:
    """Tell which pairs are separated: both p are small, and as in a comparison of two there is enough to go by.

    Fewer than 6 items that differ, or df below 4 (clusters, or users, worth fewer than 5), separate nothing. Where either side
    of a pair fails outright on some item, unseen failures that would undo the difference keep it from being separated too; so
    does a difference that the scores on all items contradict.
    """
    alpha = 1.0 - conf_level
    with np.errstate(invalid="ignore"):
        apart = (found.p_adjusted <= alpha) & (found.p_value <= alpha)
        if found.n_differing is not None:
            apart &= found.n_differing >= MIN_DISCORDANT
        if found.failures is not None:
            apart &= ~(found.failures.within & found.failures.seen)
        # The score test has no df.
        apart &= (found.df >= MIN_DF - _ROUNDING) | (np.isnan(found.df) & (found.n_clusters is None))
        if found.contradicted is not None:
            apart &= ~found.contradicted
    return apart


def shown_better(found: PairwiseDifferences, asked: RankingOptions, n_models: int) -> Bools:
    """Return [i, j]: whether model i is shown to be better than model j."""
    apart = separated(found, asked.conf_level)
    better = asked.sign * found.estimate > 0
    matrix = np.zeros((n_models, n_models), dtype=np.bool_)
    for one, other, wins in ((found.first, found.second, better), (found.second, found.first, ~better)):
        matrix[one[apart & wins], other[apart & wins]] = True
    return matrix


def _none_of(found: PairwiseDifferences) -> PairwiseDifferences:
    """Return a family without a pair."""
    arrays = {each.name: getattr(found, each.name) for each in fields(found)}
    return replace(found, **{name: each[:0] for name, each in arrays.items() if isinstance(each, np.ndarray)})


# --- ranks ---


def _ranks(
    scores: BoardScores,
    asked: RankingOptions,
    strict: PairwiseDifferences,
    *,
    apart: Bools,
    part: Ints,
    table: PairTable | None,
    best: DrawnControls | None = None,
    marginal: bool = True,
) -> BoardRanks:
    """Count the ranks within every part of the graph; only pairs that are `apart` can be put in order.

    Models in between may order two that are not apart, and then no set begins or ends at a worse rank than that of a model
    that this one is above. The set of a model alone rests on its own pairs, and is never wider than the one it has among all.
    """
    shown = shown_better(strict, asked, scores.n_models) & apart
    above = _closed(shown)
    models: list[OpenRanks | None] = [None] * scores.n_models
    drawn: list[RankSets] = []
    for label in range(int(part.max()) + 1):
        members = part == label
        columns: list[int] = np.flatnonzero(members).tolist()
        own = scores.of(members)
        reason = too_few(own)
        if reason is not None:
            for j in columns:
                models[j] = OpenRanks(part=label + 1, reason=reason)
            continue
        low, high = counted_ranks(shown[np.ix_(columns, columns)])
        alone = no_ranks(len(columns), (), "")
        if marginal:
            alone = _marginal_ranks(scores, asked, strict, columns, own=own, apart=apart, table=table, best=best)
            drawn.append(alone)
        inner, n = above[np.ix_(columns, columns)], len(columns)
        low = np.minimum(low, np.where(inner, low, n).min(axis=1))
        high = np.maximum(high, np.where(inner.T, high, 1).max(axis=1))
        for k, j in enumerate(columns):
            models[j] = OpenRanks(
                part=label + 1,
                low=int(low[k]),
                high=int(high[k]),
                marginal_low=int(max(alone.marginal_low[k], low[k])),
                marginal_high=int(min(alone.marginal_high[k], high[k])),
                top=tuple((tau, bool(low[k] <= tau)) for tau in asked.top),
            )
    ranked = any(each is not None and each.reason is None for each in models)
    return BoardRanks(
        models=tuple(each for each in models if each is not None),
        method=f"counted from the separated pairs ({strict.method})" if ranked else "none",
        exact=strict.exact and all(each.exact for each in drawn) if ranked else None,
        n_resamples=max((each.n_resamples for each in (strict, *drawn) if each.n_resamples), default=None),
    )


def counted_ranks(shown: Bools) -> tuple[Ints, Ints]:
    """Return the best and the worst rank of every model, from [i, j]: whether i is shown to be better than j."""
    return 1 + shown.sum(axis=0), shown.shape[0] - shown.sum(axis=1)


def _marginal_ranks(
    scores: BoardScores,
    asked: RankingOptions,
    strict: PairwiseDifferences,
    columns: list[int],
    *,
    own: BoardScores,
    apart: Bools,
    table: PairTable | None,
    best: DrawnControls | None,
) -> RankSets:
    """Return rank sets of which the marginal ones count: those of every model by its own pairs as a family."""
    n = scores.n_models
    if (n == 2 and not scores.clusters) or own.apart or not own.linked().all() or len(own.clusters) > 1:
        found = no_ranks(len(columns), (), "")
        for k, j in enumerate(columns):
            shown = shown_better(_own_family(scores, asked, strict, j), asked, n)[np.ix_(columns, columns)]
            found.marginal_low[k], found.marginal_high[k] = (each[k] for each in counted_ranks(shown))
        return found
    return rank_sets(
        own.pair_table(asked) if table is None else table,
        conf_level=asked.conf_level,
        seed=asked.seed,
        barred=~apart[np.ix_(columns, columns)],
        joint=False,
        drawn=best,
    )


def _own_family(scores: BoardScores, asked: RankingOptions, every: PairwiseDifferences, j: int) -> PairwiseDifferences:
    """Return the pairs of one model as a family of their own, by the same method, so that its set can only be shorter."""
    mine = (every.first == j) | (every.second == j)
    if every.adjust == "max-t" and not scores.apart:
        pairs = list(zip(every.first[mine].tolist(), every.second[mine].tolist(), strict=True))
        return (
            pair_differences(scores, asked, pairs) if pairs else replace(every, p_adjusted=np.full(len(mine), np.nan))
        )
    return replace(every, p_adjusted=adjusted(np.where(mine, every.p_for_family, np.nan), "holm"))


def too_few(scores: BoardScores) -> str | None:
    """Return why there can be no rank sets at all."""
    if scores.n_models < 2:
        return "it shares too few items with every other model"
    fewest = min((len(np.unique(each)) for each in scores.clusters), default=None)
    if fewest is not None and fewest < MIN_CLUSTERS:
        return f"{plural(fewest, 'cluster')}: at least {MIN_CLUSTERS} are needed for rank sets"
    return None


def _tiers(above: Bools, part: Ints) -> tuple[str, ...]:
    """Letters within each part of the graph; where there are several parts, its number stands before them.

    A model above one that is above a third is above that too, or letters would not follow the ranks.
    """
    letters, above = [""] * len(part), _closed(above)
    apart = above | above.T
    for label in range(int(part.max()) + 1):
        members = np.flatnonzero(part == label)
        own = compact_letters(apart[np.ix_(members, members)], np.arange(len(members)))
        for j, text in zip(members.tolist(), own, strict=True):
            letters[j] = text if part.max() == 0 else f"{label + 1}{text}"
    return tuple(letters)


def _closed(above: Bools) -> Bools:
    """Add to an order, [i, j] for i above j, what follows from it."""
    while True:
        steps = above.astype(np.float32)
        more = above | (steps @ steps > 0.0)
        if (more == above).all():
            return above
        above = more


def _against_best(
    scores: BoardScores,
    asked: RankingOptions,
    strict: PairwiseDifferences,
    ranks: BoardRanks,
    *,
    table: PairTable | None,
    best: DrawnControls,
) -> tuple[tuple[float | None, float | None], ...]:
    """Return the interval of every model's lead over the best of the others of its part, above 0 being better.

    None for those that end at 0 where the rank sets leave the first place open: these are the one shortlist. Comparisons with
    the best are sharper than all pairs, and know nothing of what forbids a verdict.
    """
    low, high = (np.full(scores.n_models, np.nan) for _ in range(2))
    for label in np.unique(ranks.parts).tolist():
        members = ranks.parts == label
        own = scores.of(members)
        if too_few(own) is not None:
            continue
        if own.linked().all() and len(own.clusters) < 2 and own.runs is None and not own.apart:
            found = with_the_best(
                own.pair_table(asked) if table is None else table,
                bounds=asked.metric.bounds,
                binary=own.single,
                shares=not asked.metric.is_graded(own.values),
                conf_level=asked.conf_level,
                seed=asked.seed,
                drawn=best,
            )
            low[members], high[members] = found.low, found.high
        else:
            low[members], high[members] = best_from_pairs(scores.n_models, asked, strict, members)
    low, high = stepwise_ends(
        low, high, [each.low or 1 for each in ranks.models], [each.high or 0 for each in ranks.models]
    )
    shut = [bool(end <= 0) and each.low == 1 for end, each in zip(high, ranks.models, strict=True)]
    ends = zip(known(low), known(high), shut, strict=True)
    return tuple((None, None) if closed else (start, end) for start, end, closed in ends)


def stepwise_ends(
    low: Floats, high: Floats, best: "Sequence[int] | Ints", worst: "Sequence[int] | Ints"
) -> tuple[Floats, Floats]:
    """End the lead over the best at 0 where step-down tests claim its sign and the simultaneous interval does not."""
    return np.where(np.equal(worst, 1), np.fmax(low, 0.0), low), np.where(np.greater(best, 1), np.fmin(high, 0.0), high)


def best_from_pairs(
    n_models: int, asked: RankingOptions, strict: PairwiseDifferences, members: Bools
) -> tuple[Floats, Floats]:
    """Return the same from simultaneous intervals of pairs: the lead over the best is at most that over any other model.

    Its lower end needs an interval against every other member; its upper end holds with those that there are.
    """
    low, high = (np.full((n_models, n_models), np.nan) for _ in range(2))
    ends = (strict.conf_low, strict.conf_high) if asked.sign > 0 else (-strict.conf_high, -strict.conf_low)
    low[strict.first, strict.second], high[strict.first, strict.second] = ends
    low[strict.second, strict.first], high[strict.second, strict.first] = -ends[1], -ends[0]
    columns: list[int] = np.flatnonzero(members).tolist()
    rivals = [[k for k in columns if k != j] for j in columns]
    lows = np.array([low[j, others].min() for j, others in zip(columns, rivals, strict=True)])
    highs = np.array([np.fmin.reduce(high[j, others]) for j, others in zip(columns, rivals, strict=True)])
    return np.minimum(lows, 0.0), np.maximum(highs, 0.0)


def known(values: Floats) -> tuple[float | None, ...]:
    """Return numbers with None in the place of NaN."""
    return tuple(None if np.isnan(value) else float(value) for value in values.tolist())
