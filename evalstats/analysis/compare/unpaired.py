"""The comparison of two systems on different users or items: nothing is paired, and each side's own rows decide.

An A/B test on live traffic, two versions on different days, rows that are numbered by their place. The answer is a `Comparison`
whose `different` names what the sides do not share; the parts that need pairs (flips, other averages, costs) are empty.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, cast

import numpy as np
import polars as pl

from evalstats.analysis.compare.difference import MIN_DF, Difference
from evalstats.analysis.compare.result import AtMargin, Comparison, GroupRow, Missing
from evalstats.analysis.compare.verdict import at_either_end, decide, judged, margin_words, missing_beyond, withheld
from evalstats.analysis.design.averages import Average, plain_average, refuse_clusters, wanted_average
from evalstats.analysis.design.clusters import chosen_clusters
from evalstats.analysis.design.comparability import OF_ITEMS, RunDifference
from evalstats.analysis.design.different_users import (
    assigned_units,
    covariate_of,
    met_by_several,
    rows_may_align,
    split_mismatch,
    unit_label,
)
from evalstats.analysis.design.metric import margin_in_unit, open_direction
from evalstats.analysis.design.runs import TrialDesign
from evalstats.analysis.provenance import run_notes, sources_of, toolkit_version
from evalstats.analysis.result import MethodRow, Origin, estimated, method_row
from evalstats.analysis.result import notes as as_notes
from evalstats.analysis.score.score import item_scores, score_of
from evalstats.document.model import Note
from evalstats.errors import CannotAnswerError, InputError, Option
from evalstats.options import GivenOptions
from evalstats.record import record
from evalstats.schema.data import EvalData
from evalstats.schema.metrics import is_money_or_time
from evalstats.stats.checks import IntArray
from evalstats.stats.estimate import IntervalEstimate
from evalstats.stats.one_sample import unseen_runaways
from evalstats.stats.paired.effect_sizes import t_margin_test
from evalstats.stats.unpaired import (
    TwoProportions,
    adjusted_difference,
    clustered_difference,
    detectable_difference,
    miettinen_nurminen,
    newcombe_hybrid,
    score_margin_test,
    stratified_difference,
    welch,
)
from evalstats.table.items import Bools, Floats
from evalstats.table.metric import MetricFacts
from evalstats.table.score_table import ScoreTable


@record
class UnpairedSides:
    """Values of two sides, and what their difference is estimated with; arrays of each side's own length.

    `clusters` are codes over both sides, `strata` with their shares the levels that are averaged over, `before` a covariate.
    """

    metric: MetricFacts
    values: tuple[Floats, Floats]
    right_or_wrong: bool
    clusters: tuple[IntArray, IntArray] | None = None
    strata: tuple[IntArray, IntArray] | None = None
    shares: Floats | None = None
    before: tuple[Floats, Floats] | None = None

    @classmethod
    def of(
        cls, table: ScoreTable, *, cluster: str | None, average: Average | None, before: Floats | None
    ) -> "UnpairedSides":
        """Return the rows of both sides that have a score."""
        values, kept = table.values(), (table.scored[:, 0], table.scored[:, 1])
        taken = values[kept[0], 0].copy(), values[kept[1], 1].copy()
        one_trial = all(bool((table.n_scored[own, j] == 1).all()) for j, own in enumerate(kept))
        codes = None if cluster is None else table.codes(cluster)
        grouped = codes is not None and (cluster == "item" or len(np.unique(codes)) < len(codes))
        strata = None if average is None else average.strata(table.items)
        return cls(
            metric=table.metric,
            values=taken,
            right_or_wrong=one_trial and all(bool(np.isin(each, (0.0, 1.0)).all()) for each in taken),
            clusters=(codes[kept[0]], codes[kept[1]]) if codes is not None and grouped else None,
            strata=None if strata is None else (strata.codes[kept[0]], strata.codes[kept[1]]),
            shares=None if strata is None or average is None or average.kind == "micro" else strata.shares,
            before=None if before is None else (before[kept[0]], before[kept[1]]),
        )

    @property
    def counts(self) -> TwoProportions | None:
        """Successes and rows, where every value is one right-or-wrong answer and nothing else has a say."""
        if not self.right_or_wrong or not (self.clusters is None and self.strata is None and self.before is None):
            return None
        first, second = self.values
        return TwoProportions(
            baseline=round(float(first.sum())),
            n_baseline=first.size,
            candidate=round(float(second.sum())),
            n_candidate=second.size,
        )

    def difference(self, conf_level: float) -> IntervalEstimate:
        """Return the difference with the interval that decides."""
        first, second = self.values
        counts, span = self.counts, self.metric.span
        if self.strata is not None:
            return stratified_difference(
                first, second, *self.strata, shares=self.shares, clusters=self.clusters, conf_level=conf_level
            )
        if self.before is not None:
            return adjusted_difference(first, second, *self.before, clusters=self.clusters, conf_level=conf_level)
        ends: dict[str, Any] = {"conf_level": conf_level, "low": span and -span, "high": span}
        if self.clusters is not None:
            return clustered_difference(first, second, *self.clusters, **ends)
        return welch(first, second, **ends) if counts is None else miettinen_nurminen(counts, conf_level=conf_level)

    def plain(self) -> "UnpairedSides":
        """Return the sides as if rows shared nothing, unadjusted."""
        return replace(self, clusters=None, strata=None, shares=None, before=None)

    def at_margin(self, found: Difference, margin: float | None) -> AtMargin | None:
        """Test at the margin by the method of the interval."""
        if margin is None:
            return None
        counts, headline, conf_level = self.counts, found.headline, found.headline.conf_level
        if counts is not None:
            tested = score_margin_test(counts, margin=margin, conf_level=conf_level)
        else:
            tested = t_margin_test(headline, margin=margin, conf_level=conf_level, bound=self.metric.span)
        return margin_words(tested, found, self.metric)

    def answered(self, conf_level: float) -> Difference:
        """Return the difference with what a verdict is made from."""
        found, counts = self.difference(conf_level), self.counts
        few = found.df is not None and found.df < MIN_DF
        smallest = None
        if counts is not None:
            # The most extreme table that these rows could have given.
            smallest = miettinen_nurminen(replace(counts, baseline=0, candidate=counts.n_candidate)).p_value
        error = found.std_error
        return Difference(
            headline=found,
            method_reason="",
            mde=None if error is None else detectable_difference(error, found.df, conf_level=conf_level),
            smallest_p=smallest,
            doubts=(f"the interval rests on {found.df:.1f} degrees of freedom",) if few else (),
        )

    def parted(self, kept: tuple[Bools, Bools]) -> "UnpairedSides":
        """Return some rows of either side."""

        def part(each: tuple[np.ndarray, np.ndarray] | None) -> tuple[np.ndarray, np.ndarray] | None:
            return None if each is None else (each[0][kept[0]], each[1][kept[1]])

        return replace(
            self,
            values=cast("tuple[Floats, Floats]", part(self.values)),
            clusters=part(self.clusters),
            before=part(self.before),
        )


def unpaired_comparison(
    data: EvalData,
    table: ScoreTable,
    settings: GivenOptions,
    *,
    trials: TrialDesign,
    differences: Sequence[RunDifference],
    notes: Sequence[str],
    numbered: bool,
) -> Comparison:
    """Compare the two systems of a table, whose items need not be the same, with what was asked that needs no pairs."""
    for name in ("sequential", "labels", "planned_n", "shared_trials"):
        if name in settings.given():
            both = Option("paired", value=True)
            raise InputError(f"{Option(name)} needs both sides on the same items; leave it out, or add {both}")
    for name, scored in zip(table.names, table.scored.T, strict=True):
        if not scored.any():
            raise CannotAnswerError(f"{name!r} has no scored row of {table.metric.name!r}")
    metric, names, conf_level = table.metric, table.names, settings.conf_level
    margin, ignorable = margin_in_unit(settings.margin, metric), settings.missing == "ignorable"
    covariate, by = (None if name is None else data.factor(name) for name in (settings.covariate, settings.by))
    clusters, of_clusters = chosen_clusters(
        data,
        table,
        settings.cluster,
        table.runs,
        contrast=settings.contrast,
        counted=np.asarray(table.scored.any(axis=1), dtype=np.bool_),
    )
    average = wanted_average(data, table.items, settings)
    refuse_clusters(average, clusters, table)
    trials = replace(trials, shared=False)
    cluster = min(clusters, key=lambda name: len(np.unique(table.codes(name))), default=None)
    if cluster is None and table.seen.all(axis=1).any():
        cluster = "item"
    before = None if covariate is None else covariate_of(table, covariate, average)
    sides_of = partial(UnpairedSides.of, cluster=cluster, average=average, before=before)
    sides = sides_of(table)
    found = sides.answered(conf_level)
    headline = found.headline
    label = None if cluster is None else unit_label(cluster, data, table.runs)
    rows = [method_row(headline, "headline", term="difference"), *_beside(sides, label, conf_level)]
    missing = _missing(table, sides_of, conf_level=conf_level, margin=margin, ignorable=ignorable)
    loss, gain = missing_beyond(missing, metric, margin), missing_beyond(missing, metric, margin, loss=False)
    found = replace(found, no_equivalence=tuple(dict.fromkeys(why for why in (loss, gain) if why)))
    asked = open_direction(metric.name) if metric.direction == "asked" else None
    only_loss = replace(found, no_equivalence=() if loss is None else (loss,))
    stands = withheld(sides.at_margin(only_loss, margin), asked)
    narrower = None if margin is None else sides.difference(2 * conf_level - 1)
    equivalence = (None, None) if narrower is None else (narrower.conf_low, narrower.conf_high)
    noninferior = stands is not None and stands.noninferior
    verdict, reason = decide(found, metric, margin=margin, equivalence=equivalence, noninferior=noninferior)
    ruled = judged(missing, verdict, reason, estimate=headline.estimate, names=(names[0], names[1]), margin=margin)
    units = assigned_units(data, table, clusters)
    what, split = units.noun, split_mismatch(data, table, units, ratio=settings.ratio)
    first, second = (
        score_of(item_scores(part, clusters, trials, average=average), data, conf_level)
        for part in (table.select(j).take(table.scored[:, j]) for j in range(2))
    )
    n = [int(table.scored[:, j].sum()) for j in range(2)]
    result = Comparison(
        **estimated(headline, conf_level=conf_level),
        about=metric.facts,
        different=what,
        baseline=first,
        candidate=second,
        contrast=settings.contrast,
        tasks=tuple(name for name in table.items["task"].unique().sort().to_list() if name),
        statistic=headline.statistic,
        method_reason=_why(sides, what),
        estimand=f"difference between the mean scores of different {what}, for new {what} like these",
        average=plain_average(data, table.items, clusters) if average is None else average.words(table.items),
        verdict=ruled.verdict,
        verdict_reason=ruled.reason,
        qualifiers=ruled.qualifiers,
        rows=tuple(rows),
        n_items=sum(n),
        n_trials=table.n_trials(),
        n_clusters=headline.n_clusters,
        clusters=() if label is None or sides.clusters is None else (label,),
        mde=found.mde,
        smallest_p=found.smallest_p,
        margin=margin,
        equivalence_low=equivalence[0],
        equivalence_high=equivalence[1],
        at_margin=stands,
        missing=replace(missing, withheld=ruled.withheld),
        by=by,
        groups=() if by is None else _by_level(table, sides, by, conf_level),
        run_differences=tuple(each for each in differences if each.setting not in OF_ITEMS),
        origin=Origin(sources=sources_of(data, table.runs), version=toolkit_version()),
        notes=(
            *run_notes(data, table.runs),
            *ruled.cautions,
            *as_notes("few", headline.warnings),
            *(() if split is None else (split,)),
            *met_by_several(table, units, clusters),
            *_runaways(sides, headline),
            *(rows_may_align(table) if numbered else ()),
            *as_notes("choice", (*notes, *of_clusters), caution=False),
        ),
    )
    if split is None or settings.ratio is None:
        return result
    # Whatever sorts users against the declared ratio may be what the sides differ by: numbers stay, claims go.
    why = f"{what} were not split {settings.ratio}"
    return replace(
        result,
        verdict="invalid",
        verdict_reason=why,
        qualifiers=(),
        at_margin=None,
        mde=None,
        missing=replace(result.missing, withheld=None),
        groups=tuple(replace(row, verdict="invalid", verdict_reason=why) for row in result.groups),
    )


def _beside(sides: UnpairedSides, cluster: str | None, conf_level: float) -> list[MethodRow]:
    """Return the second intervals of the same difference."""
    counts, plain_sides = sides.counts, sides.plain()
    if counts is not None:
        return [method_row(newcombe_hybrid(counts, conf_level=conf_level), "second interval", term="difference")]
    if sides.clusters is not None and cluster is not None:
        why = f"if rows of one {cluster} were independent"
        return [method_row(plain_sides.difference(conf_level), "sensitivity", why)]
    if sides.strata is not None or sides.before is not None:
        return [method_row(plain_sides.difference(conf_level), "check", "without the adjustment")]
    return []


def _missing(
    table: ScoreTable,
    sides_of: Callable[[ScoreTable], UnpairedSides],
    *,
    conf_level: float,
    margin: float | None,
    ignorable: bool,
) -> Missing:
    """Repeat the analysis with every score that a side lacks among its own rows at either end."""
    lost = table.lost_shares()
    shares = [float(lost[table.seen[:, j], j].mean()) for j in range(2)]
    counted = Missing(
        n_both=0,
        n_only_baseline=0,
        n_only_candidate=0,
        n_neither=int((table.seen & ~table.scored).any(axis=1).sum()),
        share_baseline=shares[0],
        share_candidate=shares[1],
        ignorable=ignorable,
    )
    if not any(shares):
        return replace(counted, n_neither=0, explanation="every row of either side has a score")
    n = np.maximum(table.n_scored, 1)

    def difference(values: Floats, level: float) -> IntervalEstimate:
        total = np.where(table.seen, values * n, 0.0)
        whole = replace(table, n_scored=table.seen * n, sums=total, passes=None)
        return sides_of(whole).difference(level)

    return at_either_end(counted, table, difference, conf_level=conf_level, margin=margin)


def _by_level(table: ScoreTable, sides: UnpairedSides, by: str, conf_level: float) -> tuple[GroupRow, ...]:
    """Repeat the comparison within each level of a factor that both sides have, at the level of Bonferroni over them."""
    if by not in table.items.columns:
        raise InputError(f"{by!r} does not describe items, so the comparison cannot be split by it")
    levels = table.items[by].cast(pl.String)
    own = [levels.filter(pl.Series(table.scored[:, j])).to_numpy() for j in range(2)]
    shared = sorted({*own[0]} & {*own[1]} - {None})
    if not shared:
        raise CannotAnswerError(f"no level of {by!r} has scored rows on both sides")
    level = 1 - (1 - conf_level) / len(shared)
    metric, rows = sides.metric, list[GroupRow]()
    for name in shared:
        part = sides.parted((own[0] == name, own[1] == name))
        part = replace(part, strata=None, shares=None)
        answered = part.answered(level)
        found = answered.headline
        verdict, reason = decide(answered, metric)
        p = found.p_value
        rows.append(
            GroupRow(
                **estimated(found),
                level=str(name),
                n_items=found.n,
                n_clusters=found.n_clusters,
                baseline=float(part.values[0].mean()),
                candidate=float(part.values[1].mean()),
                p_adjusted=None if p is None else min(1.0, len(shared) * p),
                p_holm=None,
                verdict=verdict,
                verdict_reason=reason,
            )
        )
    return tuple(rows)


# --- words ---


def _why(sides: UnpairedSides, what: str) -> str:
    if sides.strata is not None:
        return f"the sides are different {what}, averaged over fixed levels"
    if sides.before is not None:
        return f"the sides are different {what}, with a covariate that was measured before"
    if sides.clusters is not None:
        return f"the sides are different {what} with several rows each"
    kind = "right or wrong" if sides.counts is not None else "graded"
    return f"the sides are different {what}, and scores are {kind}"


def _runaways(sides: UnpairedSides, found: IntervalEstimate) -> tuple[Note, ...]:
    """Say that rare runaways which these rows cannot exclude would undo a difference of costs or times."""
    metric = sides.metric
    if not is_money_or_time(metric.name) or found.conf_low is None or found.conf_high is None:
        return ()
    if not (found.conf_low > 0 or found.conf_high < 0) or min(each.min() for each in sides.values) < 0:
        return ()
    cheaper = 0 if found.conf_low > 0 else 1
    lead = found.conf_low if cheaper == 0 else -found.conf_high
    account = unseen_runaways(sides.values[cheaper], sides.values[1 - cheaper], lead=lead, same_items=False)
    if not account.within:
        return ()
    text = (
        f"{100 * account.undoing:.2g}% of rows at {account.ratio:.3g} times the median would undo the difference, and these "
        f"rows cannot exclude {100 * account.possible:.2g}%"
    )
    return as_notes("fit", [text])
