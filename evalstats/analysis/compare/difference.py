"""From paired item scores to the difference, its interval and its p-value: which method, why, and what stands beside it.

This is the decision table of the toolkit for two systems on the same items.

====================================  ===========================================  ==================================
situation                             headline                                     beside it
====================================  ===========================================  ==================================
binary, one trial, independent items  Tango score interval and its score test      McNemar mid-p and exact, bootstrap
trials of a right-or-wrong score      augmented t on item means                    sign-flip, bootstraps, t
graded scores, bounded or not         t on the differences                         sign-flip, bootstrap, augmented t
average over levels of a factor       augmented t, t or CR2, stratified            sign-flip, every item alike
clustered items                       CR2 with Satterthwaite degrees of freedom    cluster sign-flip, cluster mean
====================================  ===========================================  ==================================

A graded score is one whose items take more than two values: a judge's 1 to 10, a rubric, F1. A share is the mean of several
right-or-wrong answers: trials in rows of their own, a metric declared as a proportion, or rows that name their `n_trials`
and hold whole numbers of successes. Beside the t interval of graded scores stands how many outright failures that
were not seen would undo the result (`evalstats.stats.one_sample`).
"""

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from evalstats.analysis.compare.result import Verdict
from evalstats.analysis.design.labels import LabelAccount
from evalstats.analysis.result import MethodRow, method_row, notes
from evalstats.document.formats import capital
from evalstats.document.model import Note
from evalstats.document.numbers import scaled, share_in_percent
from evalstats.errors import InputError
from evalstats.grammar import conjugate, plural
from evalstats.record import record
from evalstats.stats.bootstrap import augmented_percentile, bca_law, bootstrap_t, percentile_law
from evalstats.stats.checks import FEW_CLUSTERS
from evalstats.stats.clusters import (
    ClusterMean,
    cluster_mean,
    cluster_sign_flip,
    cluster_weighted_mean,
    multiway_mean,
    smallest_p_clusters,
    wild_cluster_p,
)
from evalstats.stats.estimate import IntervalEstimate, normal_quantile, t_quantile
from evalstats.stats.one_sample import UnseenFailures
from evalstats.stats.paired.binary import (
    MIN_DISCORDANT,
    PairedCounts,
    bonett_price,
    mcnemar_exact,
    mcnemar_midp,
    newcombe,
    smallest_p_paired_binary,
    tango,
)
from evalstats.stats.paired.effect_sizes import conditional_odds_ratio, standardised_difference, superiority
from evalstats.stats.paired.means import SignFlip, augmented_t, paired_t, sign_flip, signed_rank, smallest_p_augmented_t
from evalstats.stats.planning.clusters import mde_clusters
from evalstats.stats.planning.power import (
    mde_from_std_error,
    mde_paired_binary,
)
from evalstats.stats.runs import RunSpread, with_runs
from evalstats.stats.stratified import Strata, stratified_augmented_t, stratified_mean
from evalstats.table.items import Floats, Ints
from evalstats.table.metric import MetricFacts

MIN_DF = 4.0
POWER = 0.8
# Above this many items the studentised bootstrap and t agree, and its draws take seconds.
MOST_STUDENTISED = 5000
# Above this many, ranking all pairwise averages takes seconds.
MOST_RANKED = 100_000
# Scores of size s hold their differences to about this times s.
_ROUNDING = 1e-12


@record
class PairedScores:
    """Item means of both arms on the items that both answered, and what a mean is; shape (n_items,).

    `n_trials` is the smallest number of scored trials behind any item mean. `clusters` holds whole-number codes for
    each cluster column in force; empty means independent items, whose interval the partitions in `fixed`, coded likewise, may
    widen. Where an item's value is its pass^k or pass@k (`passes`), `n_trials` is the number of steps on which it lies. `strata`
    are the levels averaged over, where that was asked for, `runs` how far whole runs differ, where they are a sample.
    """

    metric: MetricFacts
    baseline: Floats
    candidate: Floats
    n_trials: int
    clusters: tuple[Ints, ...] = ()
    fixed: tuple[Ints, ...] = ()
    passes: bool = False
    strata: Strata | None = None
    runs: RunSpread | None = None

    def mean(self, values: Floats) -> float:
        """Mean of one value for each item: weighted where levels of a factor are averaged over."""
        return float(np.mean(values) if self.strata is None else self.strata.item_weights @ values)

    @property
    def differences(self) -> Floats:
        """Candidate minus baseline; differences that differ by rounding alone are one number."""
        d = self.candidate - self.baseline
        size = max(float(end) for side in (self.baseline, self.candidate) for end in (side.max(), -side.min()))
        return np.full_like(d, d.mean()) if 0 < np.ptp(d) <= _ROUNDING * size else d

    @property
    def coarsest(self) -> Ints:
        """Of the clusters in force those of which there are fewest."""
        return min(self.clusters, key=lambda codes: len(np.unique(codes)))

    @property
    def graded(self) -> bool:
        """Whether single answers score between right and wrong."""
        return not self.passes and self.metric.is_graded(self.baseline, self.candidate)

    @property
    def single_answers(self) -> bool:
        """Whether every item has one right-or-wrong answer on either side."""
        return self.n_trials == 1 and all(np.isin(side, (0.0, 1.0)).all() for side in (self.baseline, self.candidate))

    @property
    def suit_t(self) -> bool:
        """Whether t on the differences has a spread to go by; where all are equal, the augmented t has an answer."""
        return self.metric.span is None or (self.graded and bool(np.ptp(self.differences) > 0))

    def method(self, asked: str) -> str:
        """Return the method to use; one that the user names must fit the data."""
        if self.strata is not None:
            if asked == "auto":
                return "stratified"
            raise InputError(
                f"method {asked!r} weights every item equally; leave it out, or leave out the average over levels"
            )
        if asked == "auto":
            if self.clusters:
                return "cr2"
            if self.metric.kind == "binary" and self.single_answers and self.runs is None:
                return "tango"
            return "t" if self.suit_t else "augmented-t"
        if asked == "cr2" and not self.clusters:
            raise InputError(
                "method 'cr2' is for clustered items, and no cluster column is set; name one, or use method 'auto'"
            )
        if asked == "tango" and self.runs is not None:
            raise InputError("method 'tango' cannot include the variation from run to run; use method 'auto'")
        if asked == "tango" and not self.single_answers:
            raise InputError("method 'tango' is for right-or-wrong scores with one trial an item; use method 'auto'")
        return asked


@record
class Difference:
    """The headline estimate of a difference and everything that qualifies it.

    `without_runs` is the headline before the variation from run to run was counted in, where it was. `doubts` forbid a
    direction, `no_equivalence` forbids a verdict of equivalence; `if_claimed` and `if_equivalent` are phrases for the first line
    of a verdict that is given all the same. `labels` tells what the judge and people's labels say by themselves.
    """

    headline: IntervalEstimate
    method_reason: str
    without_runs: IntervalEstimate | None = None
    rows: tuple[MethodRow, ...] = ()
    table: PairedCounts | None = None
    mde: float | None = None
    smallest_p: float | None = None
    design_effect: float | None = None
    effective_clusters: float | None = None
    doubts: tuple[str, ...] = ()
    no_equivalence: tuple[str, ...] = ()
    notes: tuple[Note, ...] = ()
    if_claimed: tuple[Note, ...] = ()
    if_equivalent: tuple[Note, ...] = ()
    failures: UnseenFailures | None = None
    labels: LabelAccount | None = None

    def qualifiers(self, verdict: Verdict) -> tuple[Note, ...]:
        """Return what must stand on the first line, after such a verdict."""
        if verdict == "equivalent":
            return self.if_equivalent
        return self.if_claimed if verdict in ("better", "worse") else ()


def paired_difference(
    scores: PairedScores, *, conf_level: float, method: str, seed: int, further: bool = True
) -> Difference:
    """Estimate the mean difference by the method that fits the data, or by the one that the user named.

    `further` asks for rows, of which all but the first decide nothing.
    """
    metric, chosen = scores.metric, scores.method(method)
    if scores.strata is not None:
        found = _stratified(scores, scores.strata, conf_level, seed=seed, further=further)
    elif chosen == "tango":
        found = _tango(scores, conf_level, further=further)
    else:
        build = {"augmented-t": _augmented, "t": _plain_t, "cr2": _clustered}[chosen]
        found = build(scores, conf_level, seed=seed, further=further)
    wider = _over_partitions(found.headline, scores)
    if wider is not found.headline:
        note = "for new items of these same levels; the wider of this and the next decides"
        rows = tuple(replace(row, role="second interval") for row in found.rows[:1])
        decides = tuple(method_row(wider, "headline", note) for _ in rows)
        found = replace(found, headline=wider, rows=(*decides, *rows, *found.rows[1:]))
    # No difference can be detected where no verdict could follow, nor one beyond the metric's range.
    hopeless = found.smallest_p is not None and found.smallest_p > 1 - conf_level
    beyond = metric.span is not None and found.mde is not None and found.mde >= metric.span
    if hopeless or beyond or _few_effective(found.headline):
        found = replace(found, mde=None)
    if scores.runs is not None:
        found = _with_runs(found, scores, scores.runs)
    if method == "auto":
        return found
    ignored = bool(scores.clusters) and chosen != "cr2"
    told = ("items are clustered, but the requested method treats them as independent: the interval may be too short",)
    cautions = notes("dependence", told if ignored else (), remedy="Leave out the method")
    return replace(found, method_reason="it was asked for", notes=(*found.notes, *cautions))


def headline_interval(scores: PairedScores, *, conf_level: float, method: str) -> IntervalEstimate:
    """Return the headline estimate alone, at another level (for equivalence and simultaneous intervals)."""
    span, chosen = scores.metric.span, scores.method(method)
    if scores.strata is not None:
        found = _headline_of_strata(scores, scores.strata, conf_level)
    elif chosen == "tango":
        found = tango(PairedCounts.from_scores(scores.baseline, scores.candidate), conf_level=conf_level)
    elif chosen == "cr2":
        found = _headline_of_clusters(scores, conf_level)[0]
    elif chosen == "augmented-t":
        found = augmented_t(scores.differences, bound=span or 1.0, conf_level=conf_level)
    else:
        found = paired_t(scores.differences, bound=span, conf_level=conf_level)
    return with_runs(_over_partitions(found, scores), scores.runs, low=span and -span, high=span)


def _over_partitions(found: IntervalEstimate, scores: PairedScores) -> IntervalEstimate:
    """Return the interval of items that are new within the fixed levels of a partition, where it is the wider one."""
    if scores.clusters or scores.strata is not None or found.conf_low is None:
        return found
    widest, span = found, scores.metric.span
    for codes in scores.fixed:
        within = stratified_mean(scores.differences, codes, conf_level=found.conf_level)
        if within.conf_low is None or within.conf_high is None:
            continue
        low, high = within.conf_low, within.conf_high
        if span is not None:
            low, high = max(-span, low), min(span, high)
        if high - low > widest.width:
            widest = replace(within, conf_low=low, conf_high=high)
    return widest


def _with_runs(found: Difference, scores: PairedScores, runs: RunSpread) -> Difference:
    """Count the variation from run to run in the headline; the interval without it stands beside."""
    plain, span = found.headline, scores.metric.span
    headline = with_runs(plain, runs, low=span and -span, high=span)
    if headline is plain:
        return found
    mde, was, now = found.mde, plain.std_error, headline.std_error
    if mde is not None and was and now and plain.df:
        # The interval's reach grows as it did; new data then fall about the difference as at the median of the run's spread.
        quantile, beyond = t_quantile(plain.conf_level, plain.df), normal_quantile(2 * POWER - 1)
        mde *= (quantile * now + beyond * math.hypot(was, math.sqrt(runs.middle_variance))) / (
            (quantile + beyond) * was
        )
        mde = mde if span is None or mde < span else None
    note = "ignores the variation from run to run"
    for first in found.rows[:1]:
        counting = method_row(headline, "headline", first.note)
        without = replace(first, role="second interval", note=note)
        found = replace(found, rows=(counting, without, *found.rows[1:]))
    return replace(found, headline=headline, without_runs=plain, mde=mde)


# --- each method: its headline, what stands beside it, and what forbids a claim ---


def _tango(scores: PairedScores, conf_level: float, *, further: bool) -> Difference:
    counts = PairedCounts.from_scores(scores.baseline, scores.candidate)
    headline = tango(counts, conf_level=conf_level)
    rows: tuple[MethodRow, ...] = ()
    if further:
        law = percentile_law(scores.differences, conf_level=conf_level)
        words = "for comparison with published bootstraps; too short near 0 and 1 below 300 items"
        rows = (
            method_row(headline, "headline", "score interval; its p is the test that the interval inverts"),
            _p_row("McNemar mid-p", mcnemar_midp(counts), headline, note="two-sided, on the discordant items"),
            _p_row("McNemar exact", mcnemar_exact(counts), headline, note="two-sided binomial; conservative"),
            method_row(law, "second interval", words),
            method_row(bca_law(scores.differences, conf_level=conf_level), "second interval", _BCA),
            method_row(newcombe(counts, conf_level=conf_level), "second interval", _SQUARE_AND_ADD),
            method_row(bonett_price(counts, conf_level=conf_level), "second interval", _PSEUDO_ITEMS),
        )
    doubts: list[str] = []
    if counts.discordant == 0:
        doubts.append("no discordant items: the two agree on every item")
    elif counts.discordant < MIN_DISCORDANT:
        doubts.append(
            f"only {plural(counts.discordant, 'discordant item')}; fewer than {MIN_DISCORDANT} decide nothing"
        )
    return Difference(
        headline=headline,
        method_reason="the score is binary with one trial an item, and no clusters are declared",
        rows=rows,
        table=counts,
        mde=mde_paired_binary(counts.n, counts.discordant / counts.n, conf_level=conf_level, power=POWER),
        smallest_p=_least_p(scores),
        doubts=tuple(doubts),
        notes=notes("few", headline.warnings),
    )


def _augmented(scores: PairedScores, conf_level: float, *, seed: int, further: bool) -> Difference:
    d, span, trials = scores.differences, scores.metric.span or 1.0, scores.n_trials
    headline = augmented_t(d, bound=span, conf_level=conf_level)
    rows: tuple[MethodRow, ...] = ()
    if further:
        law = percentile_law(d, conf_level=conf_level)
        augmented_law = augmented_percentile(d, bound=span, conf_level=conf_level)
        plain = paired_t(d, bound=span, conf_level=conf_level)
        rows = (
            method_row(headline, "headline", "t on item means with one +bound and one −bound pseudo-item added"),
            _flip_row(sign_flip(d, seed=seed), headline),
            method_row(law, "second interval", "exact law of the bootstrap over items; no seed"),
            method_row(augmented_law, "second interval", "the same with the two pseudo-items"),
            method_row(plain, "second interval", "plain t; too short where scores crowd at a bound"),
            *_further_rows(scores, conf_level, seed=seed),
        )
    if scores.passes:
        why = "an item's value is a share of all sets of k of its trials"
    elif scores.graded and not scores.suit_t:
        why = "all items differ by the same amount, so t has no spread to use"
    else:
        several = f"there are at least {trials} trials an item"
        why = several if trials > 1 else "an item's score is a share of several answers"
    shrunken = _mde(headline, conf_level)
    return Difference(
        headline=headline,
        method_reason=f"{why}; item means are compared, and no clusters are declared",
        rows=rows,
        # The two pseudo-items shrink the mean that is tested by n/(n + 2).
        mde=None if shrunken is None else shrunken * (len(d) + 2) / len(d),
        smallest_p=_least_p(scores),
        doubts=_no_change(d),
        notes=notes("few", headline.warnings),
    )


def _plain_t(scores: PairedScores, conf_level: float, *, seed: int, further: bool) -> Difference:
    d, metric = scores.differences, scores.metric
    headline = paired_t(d, bound=metric.span, conf_level=conf_level)
    rows: list[MethodRow] = []
    if further:
        law = percentile_law(d, conf_level=conf_level)
        rows += [
            method_row(headline, "headline", "t on the item differences"),
            _flip_row(sign_flip(d, seed=seed), headline),
            method_row(law, "second interval", "exact law of the bootstrap over items; no seed"),
        ]
        if metric.span is not None:
            wider = augmented_t(d, bound=metric.span, conf_level=conf_level)
            words = "with one pseudo-item up and one down; safer where few items differ"
            rows.append(method_row(wider, "second interval", words))
        rows += _further_rows(scores, conf_level, seed=seed)
    few = (f"only {len(d)} items",) if len(d) < MIN_DISCORDANT else ()
    kind = "graded" if scores.graded else f"taken as {metric.kind}"
    return Difference(
        headline=headline,
        method_reason=f"the score is {'without bounds' if metric.span is None else kind}, and no clusters are declared",
        rows=tuple(rows),
        mde=_mde(headline, conf_level),
        smallest_p=_least_p(scores),
        doubts=(*_no_change(d), *(few or _few_differing(d))),
        no_equivalence=few,
        notes=notes("few", headline.warnings),
    )


def _clustered(scores: PairedScores, conf_level: float, *, seed: int, further: bool) -> Difference:
    d, coarsest, metric = scores.differences, scores.coarsest, scores.metric
    headline, found = _headline_of_clusters(scores, conf_level)
    flip = cluster_sign_flip(d, coarsest, seed=seed)
    rows: list[MethodRow] = []
    if further:
        low, high, own = found.conf_low_unclipped, found.conf_high_unclipped, found.estimate
        clipped = low is not None and high is not None and (low, high) != (own.conf_low, own.conf_high)
        ends = f"[{(low or 0.0) * metric.scale:.1f}, {(high or 0.0) * metric.scale:.1f}]"
        unclipped = f"clipped to the possible range; unclipped {ends}" if clipped else ""
        rows = [method_row(headline, "headline", unclipped), _flip_row(flip, headline, unit="cluster")]
        if found.n_clusters >= FEW_CLUSTERS:
            wild, words = wild_cluster_p(d, coarsest, seed=seed), f"null imposed, 9999 draws, seed {seed}"
            rows.append(_p_row("wild cluster bootstrap (Webb)", wild, headline, note=words))
        alike = cluster_weighted_mean(d, coarsest, conf_level=conf_level)
        rows.append(method_row(alike, "other estimand", "every cluster counts once"))
        if metric.span is not None and found.n_clusters >= FEW_CLUSTERS:
            near_bounds = _augmented_clusters(d, coarsest, metric.span, conf_level)
            words = "every cluster counts once; safer where scores crowd at a bound"
            rows.append(method_row(near_bounds, "other estimand", words))
        law = percentile_law(d, conf_level=conf_level, clusters=coarsest)
        words = "exact law of the cluster bootstrap; too short with few clusters"
        rows.append(method_row(law, "second interval", words))
    differing = flip.n_nonzero
    few = (f"only {differing} of {found.n_clusters} clusters differ at all",) if differing < FEW_CLUSTERS else ()
    short = [f"{capital(text)}: the interval may be too short" for text in few if headline.conf_low is not None]
    return Difference(
        headline=headline,
        method_reason="items are clustered, so clusters are the unit that carries information",
        rows=tuple(rows),
        mde=_mde_of_clusters(found, scores, conf_level),
        smallest_p=smallest_p_clusters(found.n_clusters),
        design_effect=found.design_effect,
        effective_clusters=found.effective_clusters,
        doubts=(*_cluster_doubts(headline, flip, conf_level), *_few_differing(d)),
        no_equivalence=(*_few_effective(headline), *few),
        notes=notes("few", (*headline.warnings, *short)),
    )


def _stratified(scores: PairedScores, strata: Strata, conf_level: float, *, seed: int, further: bool) -> Difference:
    """Average over fixed levels: within each, items are new; the levels are these."""
    d, headline = scores.differences, _headline_of_strata(scores, strata, conf_level)
    # What each item adds to the weighted mean; under no difference its sign is even.
    pulls = len(d) * strata.item_weights * d
    clustered = bool(scores.clusters)
    flip = cluster_sign_flip(pulls, scores.coarsest, seed=seed) if clustered else sign_flip(pulls, seed=seed)

    rows: tuple[MethodRow, ...] = ()
    if further:
        plain = headline_interval(replace(scores, strata=None), conf_level=conf_level, method="auto")
        rows = (
            method_row(headline, "headline", "from the variance within levels"),
            _flip_row(flip, headline, unit="cluster" if clustered else "item"),
            method_row(plain, "other estimand", "items weighted equally, for a similar mix of levels"),
        )
    doubts = _cluster_doubts(headline, flip, conf_level) if clustered else ()
    few = (f"only {flip.n_nonzero} clusters differ at all",) if clustered and flip.n_nonzero < FEW_CLUSTERS else ()
    return Difference(
        headline=headline,
        method_reason="levels of a factor are averaged over, so they are fixed and items are new within them",
        rows=rows,
        mde=_mde(headline, conf_level),
        smallest_p=smallest_p_clusters(headline.n_clusters or len(d)),
        doubts=(*_no_change(d), *doubts, *_few_differing(d)),
        no_equivalence=(*_few_effective(headline), *few) if clustered else (),
        notes=notes("few", headline.warnings),
    )


def _headline_of_strata(scores: PairedScores, strata: Strata, conf_level: float) -> IntervalEstimate:
    d, span = scores.differences, scores.metric.span
    if span is not None and not scores.clusters and not scores.suit_t:
        return stratified_augmented_t(d, strata.codes, weights=strata.shares, bound=span, conf_level=conf_level)
    found = stratified_mean(d, strata.codes, weights=strata.shares, clusters=scores.clusters, conf_level=conf_level)
    if span is None or found.conf_low is None or found.conf_high is None:
        return found
    return replace(found, conf_low=max(-span, found.conf_low), conf_high=min(span, found.conf_high))


def _headline_of_clusters(scores: PairedScores, conf_level: float) -> tuple[IntervalEstimate, ClusterMean]:
    """Return CR2's estimate, or, where all clusters agree and CR2 has no spread to go by, augmented t on cluster means."""
    d, span, of = scores.differences, scores.metric.span, scores.clusters
    given: dict[str, Any] = {"conf_level": conf_level, "low": span and -span, "high": span}
    found = cluster_mean(d, of[0], **given) if len(of) == 1 else multiway_mean(d, of, **given)
    if found.estimate.conf_low is not None or found.n_clusters < FEW_CLUSTERS or span is None:
        return found.estimate, found
    fallback = _augmented_clusters(d, scores.coarsest, span, conf_level)
    return replace(fallback, n=len(d), n_clusters=found.n_clusters), found


def _augmented_clusters(differences: Floats, codes: Ints, span: float, conf_level: float) -> IntervalEstimate:
    means = np.bincount(codes, weights=differences) / np.bincount(codes)
    found = augmented_t(means, bound=span, conf_level=conf_level)
    return replace(found, method="augmented t on cluster means", n_clusters=len(means))


def _cluster_doubts(headline: IntervalEstimate, flip: SignFlip, conf_level: float) -> tuple[str, ...]:
    doubts = list(_few_effective(headline))
    # Of fewer clusters no sign-flip could agree.
    if headline.p_value is not None and smallest_p_clusters(headline.n_clusters or 1) <= 1 - conf_level:
        significant = headline.p_value <= 1 - conf_level
        if significant and flip.smallest_p > 1 - conf_level:
            doubts.append(
                f"only {plural(flip.n_nonzero, 'cluster')} {conjugate(flip.n_nonzero, 'differ')}, and the cluster "
                f"sign-flip of so few cannot go below p = {flip.smallest_p:.3g}"
            )
        elif significant != (flip.p_value <= 1 - conf_level):
            doubts.append("the CR2 test and the cluster sign-flip disagree")
    return tuple(doubts)


def _few_effective(headline: IntervalEstimate) -> tuple[str, ...]:
    # Five equal clusters have 4 degrees of freedom up to rounding.
    if headline.df is None or headline.df >= MIN_DF - 1e-9:
        return ()
    return (f"effectively {1 + headline.df:.1f} clusters ({headline.df:.1f} degrees of freedom)",)


def _least_p(scores: PairedScores) -> float:
    """Return the smallest p that so many items of this kind of score could show, whatever the answers are.

    Which method the answers at hand led to does not count: graded scores of one draw may all lie at the ends. A t from a few
    numbers rests on their being normal; the sign-flip on the same items does not. Fewer than 6 items that differ decide nothing.
    """
    n, kind = len(scores.baseline), scores.metric.kind
    if kind not in ("binary", "proportion"):
        return smallest_p_clusters(n)
    if kind == "proportion" or scores.n_trials > 1 or scores.passes:
        return smallest_p_augmented_t(n)
    return smallest_p_paired_binary(n) if n >= MIN_DISCORDANT else 1.0


def _no_change(differences: Floats) -> tuple[str, ...]:
    return () if np.any(differences != 0) else ("every item has the same score on both sides",)


def _few_differing(differences: Floats) -> tuple[str, ...]:
    """Say so where so few items differ that no sign-flip of them could reach p = .05, whatever a t makes of them."""
    differing = int(np.count_nonzero(differences))
    if not 0 < differing < MIN_DISCORDANT:
        return ()
    verb = conjugate(differing, "differ")
    return (f"only {plural(differing, 'item')} {verb}; fewer than {MIN_DISCORDANT} decide nothing",)


def _mde(headline: IntervalEstimate, conf_level: float) -> float | None:
    if headline.std_error is None or headline.df is None or headline.std_error <= 0:
        return None
    return mde_from_std_error(headline.std_error, headline.df, conf_level=conf_level, power=POWER)


def _mde_of_clusters(found: ClusterMean, scores: PairedScores, conf_level: float) -> float | None:
    """Return the detectable difference, the sign-flip that must agree being counted in."""
    headline = found.estimate
    if headline.std_error is None or headline.df is None or headline.std_error <= 0:
        return None
    codes, n, effect = scores.coarsest, len(scores.baseline), found.design_effect
    return mde_clusters(
        headline.std_error,
        headline.df,
        found.n_clusters,
        conf_level=conf_level,
        power=POWER,
        shares=np.unique(codes, return_counts=True)[1] / n,
        between=0.5 if effect is None else min(1.0, max(0.0, 1 - 1 / effect)),
        step=1 / (n * scores.n_trials) if scores.metric.kind in ("binary", "proportion") else 0.0,
    )


def _p_row(method: str, p_value: float, headline: IntervalEstimate, *, note: str) -> MethodRow:
    return MethodRow(
        term="difference",
        method=method,
        role="check",
        conf_level=headline.conf_level,
        p_value=p_value,
        n_items=headline.n,
        note=note,
    )


def _flip_row(flip: SignFlip, headline: IntervalEstimate, *, unit: str = "item") -> MethodRow:
    how = "exact" if flip.exact else f"{flip.n_resamples} random flips, seed {flip.seed}"
    return MethodRow(
        term="difference",
        method=f"{unit} sign-flip" if unit != "item" else "sign-flip",
        role="check",
        conf_level=headline.conf_level,
        p_value=flip.p_value,
        n_items=headline.n,
        n_clusters=headline.n_clusters,
        n_resamples=None if flip.exact else flip.n_resamples,
        note=f"{how}; {flip.n_nonzero} {unit}s differ, so its smallest attainable p is {flip.smallest_p:.2g}",
    )


# --- beside the headline ---

_BCA = "exact law, no seed; for comparison with published BCa intervals, and no cure near 0 and 1"
_SQUARE_AND_ADD = "square-and-add; closed form, a little wider"
_PSEUDO_ITEMS = "one pseudo-item in each discordant cell"


def _further_rows(scores: PairedScores, conf_level: float, *, seed: int) -> Iterator[MethodRow]:
    """Yield intervals of a mean of item differences that stand beside t, whichever decides."""
    d, metric = scores.differences, scores.metric
    yield method_row(bca_law(d, conf_level=conf_level), "second interval", _BCA)
    if (metric.span is None or metric.kind == "ordinal") and len(d) <= MOST_RANKED:
        words = "the centre of symmetric differences (Hodges and Lehmann), which is not the mean"
        yield method_row(signed_rank(d, conf_level=conf_level), "other estimand", words)
    if len(d) <= MOST_STUDENTISED:
        found, words = bootstrap_t(d, conf_level=conf_level, seed=seed), f"seed {seed}"
        if found.error_low is not None and found.error_high is not None:
            unit = f" {metric.shown_unit}".rstrip()
            ends = " and ".join(scaled(error, metric.scale) for error in (found.error_low, found.error_high))
            words += f"; Monte Carlo error of its ends {ends}{unit}"
        yield method_row(found.estimate, "second interval", words)


def effect_rows(found: Difference, scores: PairedScores, conf_level: float) -> tuple[MethodRow, ...]:
    """Return the probability of superiority and, for independent items, d_z and the conditional odds ratio.

    For graded scores, the share of outright failures that would undo the result as well. Of several clusters the coarsest counts.
    """
    differences, failures = scores.differences, found.failures
    above = superiority(differences, clusters=scores.coarsest if scores.clusters else None, conf_level=conf_level)
    note = "chance that the candidate does better on an item, ties counted half"
    rows = [method_row(above, "other estimand", note, term="superiority")]
    risk: list[MethodRow] = []
    if failures is not None and failures.undoing > 0:
        seen = f"; {plural(failures.failures, 'such failure')} seen" if failures.failures else ""
        possible = f"{share_in_percent(failures.possible)}{' more' if failures.failures else ''}"
        note = (
            f"share of items on which the side ahead would have to fall to the worst score for the difference to be gone{seen}; "
            f"{failures.n:,} items cannot exclude {possible}"
        )
        undo = MethodRow(
            term="failures to undo it",
            method="unseen-failure limit",
            role="other estimand",
            conf_level=failures.conf_level,
            estimate=failures.undoing,
            n_items=failures.n,
            note=note,
        )
        risk.append(undo)
    if scores.clusters:
        return (*rows, *risk)
    if found.table is not None:
        term, note = "odds ratio", "odds that the candidate wins an item that one alone got right"
        size = conditional_odds_ratio(found.table, conf_level=conf_level)
    else:
        term, note = "d_z", "mean difference in standard deviations of the differences"
        size = standardised_difference(differences, conf_level=conf_level)
    row = MethodRow(
        term=term,
        method=size.method,
        role="other estimand",
        conf_level=size.conf_level,
        estimate=size.estimate,
        conf_low=size.conf_low,
        conf_high=size.conf_high,
        n_items=size.n,
        note="; ".join(part for part in (note, size.reason) if part),
    )
    return (*rows, row, *risk)
