"""What a comparison rests on: the table of both sides, and each decision about it, taken once.

Which clusters are in force, who declared them, and what follows from a factor that nobody declared; what is averaged over, what
the trials are, whose labels correct the scores. A part of the items, or another decision, is another design.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from evalstats.analysis.compare.difference import Difference, PairedScores, headline_interval, paired_difference
from evalstats.analysis.compare.result import LevelDifferences
from evalstats.analysis.design.averages import Average
from evalstats.analysis.design.clusters import (
    ItemFactor,
    dependence,
    effective_levels,
    label_of,
    nested,
    widest_factor,
    without_nested,
)
from evalstats.analysis.design.comparability import RunDifference
from evalstats.analysis.design.labels import Labels, label_account, one_cluster_column
from evalstats.analysis.design.runs import TrialDesign
from evalstats.analysis.result import MethodRow, method_row, notes
from evalstats.document.model import Note
from evalstats.document.numbers import interval_words, scaled
from evalstats.errors import CannotAnswerError
from evalstats.grammar import plural_of
from evalstats.record import record
from evalstats.schema.data import EvalData
from evalstats.stats import estimate as numbers
from evalstats.stats.checks import FEW_CLUSTERS
from evalstats.stats.planning.power import mde_from_std_error
from evalstats.stats.raters.correction import (
    JudgedPair,
    PoweredMean,
    judged_pair,
    labels_needed,
    powered_difference,
    rogan_gladen_difference,
    std_error_for_power,
)
from evalstats.stats.runs import with_runs
from evalstats.stats.stratified import Strata
from evalstats.table.items import level_places
from evalstats.table.metric import MetricFacts
from evalstats.table.score_table import ScoreTable


@record
class PairedDesign:
    """The table of a baseline and a candidate, and how the difference between them is estimated.

    Attributes
    ----------
    table, paired
        All items of either side, and those with a value on both; column 0 is the baseline, 1 the candidate.
    cautions
        About the scale of the metric.
    clusters, declared, widened_by
        Columns in force: those declared, and the factor that nobody declared.
    too_few
        A factor that items clearly go by and whose levels are too few for clusters: no claim is made.
    partitions
        Factors whose levels are fixed.
    ignorable
        Whether scores are missing for harmless reasons.
    differences, identical
        How the runs of both sides differ, and why they cannot be two systems, where their answers are the same.
    """

    data: EvalData
    table: ScoreTable
    paired: ScoreTable
    cautions: tuple[Note, ...] = ()
    trials: TrialDesign
    conf_level: float
    margin: float | None = None
    method: str = "auto"
    seed: int = 0
    clusters: tuple[str, ...] = ()
    declared: tuple[str, ...] = ()
    widened_by: ItemFactor | None = None
    too_few: ItemFactor | None = None
    partitions: tuple[str, ...] = ()
    average: Average | None = None
    labels: Labels | None = None
    ignorable: bool = False
    sequential: bool = False
    planned_n: int | None = None
    differences: tuple[RunDifference, ...] = ()
    identical: str | None = None

    @property
    def metric(self) -> MetricFacts:
        """What a value of the table is."""
        return self.table.metric

    @property
    def names(self) -> tuple[str, str]:
        """Baseline and candidate."""
        first, second = self.table.names
        return first, second

    def strata(self, items: ScoreTable) -> Strata | None:
        """Return the levels averaged over; None where every item counts alike."""
        return None if self.average is None else self.average.strata(items.items)

    def scores(self) -> PairedScores:
        """Return what the difference is made of."""
        strata, passes = self.strata(self.paired), self.table.passes is not None
        runs = None
        if not (self.sequential or passes):  # these have no part that is the runs'
            weights = None if strata is None else strata.item_weights
            runs = self.trials.spread(self.paired, weights=weights)
        return PairedScores(
            metric=self.metric,
            baseline=self.paired.column(0),
            candidate=self.paired.column(1),
            n_trials=self.paired.steps or int(self.paired.n_scored.min()),
            clusters=tuple(map(self.paired.codes, self.clusters)),
            fixed=tuple(map(self.paired.codes, self.partitions)),
            passes=passes,
            strata=strata,
            runs=runs,
        )

    @property
    def fitting_method(self) -> str:
        """The method asked for, where it fits; what a factor that nobody declared widens is CR2's."""
        lacks = self.method == "cr2" and not self.clusters
        return "auto" if lacks or set(self.clusters) != set(self.declared) else self.method

    def width(self, clusters: tuple[str, ...]) -> float:
        """Return the width of the interval with these clusters in force; 0 where there is none."""
        other = replace(self, clusters=clusters)
        method = other.fitting_method
        return headline_interval(other.scores(), conf_level=self.conf_level, method=method).width

    def difference(self, scores: PairedScores, *, method: str = "", further: bool = False) -> Difference:
        """Return the difference, corrected by people's labels where there are such; `further` asks for the rows beside it."""
        method = method or self.fitting_method
        found = paired_difference(scores, conf_level=self.conf_level, method=method, seed=self.seed, further=further)
        if self.labels is None:
            return found
        return corrected(found, scores, self.labels, names=self.names, margin=self.margin)

    def without_claims(self, found: Difference) -> Difference:
        """Forbid any claim where items clearly go by a factor with too few levels."""
        if self.too_few is None:
            return found
        why = self.too_few.why()
        return replace(found, doubts=(*found.doubts, why), no_equivalence=(*found.no_equivalence, why))

    def shown(self, found: Difference, beside: Sequence[MethodRow] = ()) -> Difference:
        """Return a difference as it is shown, where a factor that nobody declared decides.

        The interval of independent items stands `beside` the wider one. Where there are too few levels there is none that is wide
        enough, and none is shown at the head.
        """
        if self.too_few is None or found.headline.n_clusters is not None:
            return replace(found, rows=(*found.rows[:1], *beside, *found.rows[1:]))
        unknown = dict.fromkeys(("std_error", "conf_low", "conf_high", "statistic", "df", "p_value"))
        reason = f"{self.too_few.n_levels} {plural_of(self.too_few.factor)} are too few for an interval"
        bare = replace(found.headline, reason=reason, **unknown)
        return replace(found, headline=bare, mde=None, rows=(*beside, *found.rows[1:]))

    def equivalence(self, scores: PairedScores) -> tuple[float | None, float | None]:
        """Return the interval that decides equivalence, where a margin is declared."""
        if self.margin is None:
            return None, None
        narrower = 2 * self.conf_level - 1
        if self.labels is not None:
            *_, found = corrected_headline(scores, self.labels, narrower)
        else:
            found = headline_interval(scores, conf_level=narrower, method=self.fitting_method)
        return found.conf_low, found.conf_high

    def within(self, level: ScoreTable, conf_level: float) -> "PairedDesign":
        """Return the design of the items of one level: which clusters are in force there."""
        paired = level.take(level.paired())
        # Within a level each item may have one variant left; clusters that no longer hold two items are not clusters.
        own = tuple(name for name in self.declared if len(np.unique(paired.codes(name))) < len(paired))
        here = replace(self, table=level, paired=paired, conf_level=conf_level, clusters=own, declared=own)
        here = replace(here, widened_by=None, too_few=None, partitions=(), labels=None)
        factor = self.too_few or self.widened_by
        n_levels = 1 if factor is None else len(np.unique(paired.codes(factor.column)))
        if factor is None or not 1 < n_levels < len(paired):
            return here
        factor = replace(factor, n_levels=n_levels, effective=effective_levels(paired.codes(factor.column)))
        if factor.effective < FEW_CLUSTERS:
            return replace(here, too_few=factor) if factor.forbids else here
        names = tuple(without_nested(paired, (*own, factor.column)))
        return replace(here, clusters=names, widened_by=factor) if here.width(names) > here.width(own) else here


# --- factors that nobody declared ---


def decided(
    design: PairedDesign, columns: Sequence[str], *, settled: bool, split: Sequence[str]
) -> tuple[PairedDesign, tuple[ItemFactor, ...], tuple[LevelDifferences, ...]]:
    """Return the design with the factor that decides in force, all factors looked at, and those over which the difference varies.

    Where somebody declared what items share (`settled`), that holds. What a factor that decides explains is not counted again:
    the others are then looked at with it as the unit. The levels of a factor that the comparison is split by are fixed, and it is
    shown level by level and is no finding.
    """
    paired, names, seed = design.paired, design.data.factor_names(), design.seed
    rows = dependence(paired, columns, design.clusters, names=names, seed=seed, split=split)
    partitions = tuple(row.column for row in rows if row.kind == "partition" and not row.copies)
    design = replace(design, declared=design.clusters, partitions=() if settled else partitions)
    apart = rows
    if not settled:
        start = design
        widest = widest_factor(rows, lambda row: start.width(start.clusters if row is None else _joined(start, row)))
        if widest is not None:
            clusters = _joined(design, widest)
            design = replace(design, clusters=clusters, widened_by=widest)
            others = [name for name in columns if name != widest.column]
            again = dependence(paired, others, clusters, names=names, seed=seed, split=split)
            apart = _besides(paired, widest, rows, again)
        too_few = [row for row in apart if row.forbids]
        design = replace(design, too_few=max(too_few, key=lambda row: row.design_effect, default=None))
    varying = [*(row for row in rows if row.copies), *(row for row in apart if row.varies and not row.copies)]
    findings: list[LevelDifferences] = []
    differences = design.scores().differences if varying else np.zeros(0)
    for row in varying:
        if row.column in (*split, *design.declared):
            continue
        levels = [
            (name, len(places), float(np.mean(differences[places])))
            for name, places in level_places(paired.items[row.column])
            if name is not None
        ]
        finding = LevelDifferences(
            factor=label_of(row.column, names),
            levels=tuple(sorted(levels, key=lambda level: (-level[2], level[0]))),
            copies=row.copies,
            p_value=None if row.copies else row.p_adjusted,
        )
        findings.append(finding)
    return design, rows, tuple(findings)


def _joined(design: PairedDesign, row: ItemFactor) -> tuple[str, ...]:
    # Labels correct with one column of clusters.
    if design.labels is not None:
        return (row.column,)
    return tuple(without_nested(design.paired, (*design.declared, row.column)))


def _besides(
    paired: ScoreTable, main: ItemFactor, rows: Iterable[ItemFactor], again: Iterable[ItemFactor]
) -> tuple[ItemFactor, ...]:
    """Return what is left of the factors beside the one in force: tested anew where its levels lie within theirs."""
    anew, unit = {row.column: row for row in again}, paired.codes(main.column)
    left: list[ItemFactor] = []
    for row in rows:
        if row.column in anew:
            left.append(anew[row.column])
        elif row.column != main.column and not nested(unit, paired.codes(row.column)):
            left.append(row)
    return tuple(left)


# --- where people's labels correct a judge ---


_POWER = 0.8
_SURE = 0.05


def corrected_headline(
    scores: PairedScores, labels: Labels, conf_level: float
) -> tuple[JudgedPair, PoweredMean, numbers.IntervalEstimate]:
    """Return the judge's scores beside labels, the prediction-powered difference, and the headline that is made of it.

    The headline counts runs and stays within the metric's bounds.
    """
    codes, judged = one_cluster_column(scores.clusters), np.column_stack((scores.baseline, scores.candidate))
    pair = judged_pair(judged, labels.values, probabilities=labels.chances, clusters=codes)
    found = powered_difference(pair, conf_level=conf_level)
    headline, span = with_runs(found.estimate, scores.runs), scores.metric.span
    if span is not None and headline.conf_low is not None and headline.conf_high is not None:
        headline = replace(headline, conf_low=max(headline.conf_low, -span), conf_high=min(headline.conf_high, span))
    return pair, found, headline


def corrected(
    judged: Difference, scores: PairedScores, labels: Labels, *, names: tuple[str, str], margin: float | None
) -> Difference:
    """Put the corrected difference in the judge's place; the judge's and the labels' own stand below it."""
    metric, conf_level = scores.metric, judged.headline.conf_level
    pair, found, headline = corrected_headline(scores, labels, conf_level)
    by_errors = _by_errors(pair, metric, conf_level)
    words = "by the judge alone, whose errors no interval of its own scores counts"
    rows = [
        method_row(headline, "headline", f"labels of {found.n_labels:,} items, the judge on all"),
        method_row(found.labels_only, "second interval", "people's labels alone"),
        *([] if by_errors is None else [method_row(by_errors, "check", "the judge's error rates on each side undone")]),
        *(replace(row, role="sensitivity", note=words) for row in judged.rows[:1]),
    ]
    account = replace(
        label_account(found, judged.headline, [] if by_errors is None else [by_errors], labels.people),
        labels_for_margin=None if margin is None else _needed(pair, found, margin, conf_level),
    )
    mde = None
    if headline.std_error and headline.df:
        mde = mde_from_std_error(headline.std_error, headline.df, conf_level=conf_level, power=_POWER)
    return Difference(
        headline=headline,
        without_runs=None if scores.runs is None else found.estimate,
        method_reason="people labelled a part of the items, and the judge's scores of all are corrected by it",
        rows=tuple(rows),
        mde=mde,
        labels=account,
        notes=(*_cautions(found, metric, names), *labels.notes),
    )


def _needed(pair: JudgedPair, found: PoweredMean, margin: float, conf_level: float) -> int | None:
    """Return how many items need labels to find a difference as large as the margin; clusters widen as they do now."""
    both = pair.both
    d, f = pair.labels[:, 1] - pair.labels[:, 0], pair.judged[:, 1] - pair.judged[:, 0]
    inflation = 1.0
    if pair.clusters is not None and found.labels_only.std_error:
        inflation = max(found.labels_only.std_error**2 * both.sum() / max(d[both].var(ddof=1), 1e-12), 1.0)
    wanted = std_error_for_power(margin, conf_level=conf_level, power=_POWER)
    try:
        return labels_needed(f[both], d[both], wanted, n_items=len(f), inflation=inflation).n
    except CannotAnswerError:
        return None


def _by_errors(pair: JudgedPair, metric: MetricFacts, conf_level: float) -> numbers.IntervalEstimate | None:
    if metric.kind != "binary" or not np.isin(pair.judged, (0, 1)).all():
        return None
    clear = np.isnan(pair.labels) | np.isin(pair.labels, (0, 1))
    # People who are divided on an answer give no yes or no to hold the judge against.
    settled = replace(pair, labels=np.where(clear, pair.labels, np.nan))
    try:
        return rogan_gladen_difference(settled, conf_level=conf_level)
    except CannotAnswerError:
        return None


def _cautions(found: PoweredMean, metric: MetricFacts, names: tuple[str, str]) -> tuple[Note, ...]:
    told: list[Note] = []
    bias = found.bias
    if bias.p_value is not None and bias.p_value < _SURE and bias.estimate:
        favoured = names[1] if (bias.estimate > 0) == metric.higher_is_better else names[0]
        reach = abs(bias.conf_low or 0.0), abs(bias.conf_high or 0.0)
        size = f"{scaled(abs(bias.estimate), metric.scale, 1)} {metric.shown_unit}".rstrip()
        ends = interval_words(min(reach), max(reach), metric.scale, 1)
        text = f"The judge favours {favoured} by {size} (CI {ends}) against people; the difference shown is corrected for it"
        told.append(Note(kind="trust", text=text))
    return (*told, *notes("few", found.estimate.warnings))
