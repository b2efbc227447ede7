"""One baseline, one candidate, one metric, one set of options: the question, asked of all items or of each level."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from evalstats.analysis.compare.difference import Difference, PairedScores, headline_interval, paired_difference
from evalstats.analysis.compare.evidence import Flips, ScenarioFlips, effect_rows, flipped_items, flips_by_scenario
from evalstats.analysis.compare.labels import Labels, corrected, corrected_headline
from evalstats.analysis.compare.result import (
    Comparison,
    GroupRow,
    LabelAccount,
    Missing,
    OtherAverage,
    SequentialAccount,
    TheseItems,
    Verdict,
)
from evalstats.analysis.compare.sequential import as_difference, sequential_account, sequential_at_margin
from evalstats.analysis.compare.verdict import (
    Evidence,
    at_margin,
    decide,
    fragile,
    judged,
    missing_account,
    missing_beyond,
    withheld,
)
from evalstats.analysis.costs import cost_rows
from evalstats.analysis.design.averages import Average, fixed_by, other_averages, plain_average
from evalstats.analysis.design.clusters import label_of, without_nested
from evalstats.analysis.design.comparability import RunDifference, difference_notes
from evalstats.analysis.design.dependence import ItemFactor, effective_levels
from evalstats.analysis.design.metric import Metric, open_direction
from evalstats.analysis.design.runs import TrialDesign, draws_note, run_notes, same_items_row
from evalstats.analysis.pairs import Pairs
from evalstats.analysis.provenance import run_notes as recorded_notes
from evalstats.analysis.provenance import sources_of, toolkit_version
from evalstats.analysis.result import MethodRow, estimated, method_row
from evalstats.analysis.result import notes as as_notes
from evalstats.analysis.score.result import Score
from evalstats.analysis.score.score import score_of_arm
from evalstats.document.model import Note
from evalstats.errors import CannotAnswerError, InputError
from evalstats.grammar import comma_list, has_have, plural_of
from evalstats.schema.columns import STATUSES
from evalstats.schema.data import EvalData
from evalstats.stats.checks import FEW_CLUSTERS
from evalstats.stats.many.multiplicity import holm
from evalstats.stats.runs import RunSpread
from evalstats.stats.stratified import Strata, stratified_mean
from evalstats.table.items import HELPER, ITEM_KEY, level_places
from evalstats.table.systems import System

_LEVEL, _FIRST, _SECOND = f"{HELPER}level", f"{HELPER}first side", f"{HELPER}second side"
_SHOWN = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One baseline, one candidate, one metric, one set of options: asked of all items or of some.

    `clusters` are those in force: the `declared` ones and `widened_by`, which nobody declared. `too_few` is a factor that items
    clearly go by and whose levels are too few for clusters; `partitions` are the factors whose levels are fixed. `ignorable`
    says that scores are missing for harmless reasons.
    """

    data: EvalData
    metric: Metric
    baseline: System
    candidate: System
    pairs: Pairs
    clusters: tuple[str, ...]
    conf_level: float
    margin: float | None
    method: str
    seed: int
    differences: tuple[RunDifference, ...] = ()
    identical: str | None = None
    sequential: bool = False
    planned_n: int | None = None
    declared: tuple[str, ...] = ()
    widened_by: ItemFactor | None = None
    too_few: ItemFactor | None = None
    partitions: tuple[str, ...] = ()
    average: Average | None = None
    ignorable: bool = False
    trials: TrialDesign
    labels: Labels | None = None

    def answer(self, *, contrast: str, notes: tuple[str, ...]) -> Comparison:
        """Compare on all paired items."""
        metric = self.metric
        paired = self.pairs.subset(self.pairs.paired)
        scores = self.scores(paired)
        found = paired_difference(
            scores,
            metric,
            conf_level=self.conf_level,
            method=self.method if self.widened_by is None else "auto",
            seed=self.seed,
            margin=self.margin,
        )
        watched = self._watched()
        found = self._with_same_items(found, paired) if watched is None else as_difference(watched, found)
        found, account = self._corrected(found, scores, self.conf_level)
        if self.identical is not None:
            found = replace(found, doubts=(self.identical,), no_equivalence=(*found.no_equivalence, self.identical))
        found = _without_verdict(found, self.too_few)
        strata = None if self.average is None else self.average.strata(self.pairs.items)
        missing = self._missing(strata, watching=watched is not None)
        beyond = missing_beyond(missing, metric, self.margin)
        if beyond is not None:
            found = replace(found, no_equivalence=(*found.no_equivalence, beyond))
        low, high = self.equivalence(scores, self.conf_level)
        at_the_margin = at_margin(found, scores, metric, self.margin, self.conf_level) if watched is None else None
        if watched is not None:
            low, high = watched.equivalence_low, watched.equivalence_high
            at_the_margin = withheld(sequential_at_margin(watched), "; ".join(found.no_equivalence) or None)
        at_the_margin = withheld(at_the_margin, self._open_direction)
        gain = missing_beyond(missing, metric, self.margin, loss=False)
        if beyond is None and gain is not None:
            found = replace(found, no_equivalence=(*found.no_equivalence, gain))
        shown_noninferior = at_the_margin is not None and at_the_margin.noninferior
        evidence = self._evidence(found, self.conf_level, low, high, noninferior=shown_noninferior)
        verdict, reason = self._decide(evidence)
        these = self._on_these_items(paired, verdict)
        if watched is None:
            found = _as_shown(found, self.too_few, () if these is None else these[1:])
        if self.too_few is not None:
            low = high = None
        headline = found.headline
        names = tuple(label_of(name, self.data.factor_names()) for name in self.clusters)
        upward = headline.estimate > 0
        shaken = fragile(missing, verdict, margin=self.margin)
        names_of_sides = (self.baseline.name, self.candidate.name)
        ruled = judged(missing, verdict, reason, upward=upward, names=names_of_sides, cause=self._missing_cause())
        first, second = (
            score_of_arm(
                arm,
                metric,
                self.data,
                clusters=self.clusters,
                conf_level=self.conf_level,
                pairs=paired,
                side=side,
                trials=replace(self.trials, shared=False),
                strata=scores.strata,
            )
            for arm, side in ((self.baseline, paired.baseline), (self.candidate, paired.candidate))
        )
        return Comparison(
            **estimated(headline, conf_level=self.conf_level, reason=headline.reason if self.too_few else None),
            baseline=first,
            candidate=second,
            contrast=contrast,
            **metric.described(),
            tasks=_tasks(paired),
            statistic=headline.statistic,
            method_reason=found.method_reason,
            estimand=_estimand(names, self.average, new=self._sampled_besides(scores)),
            average=self._average_words(paired),
            verdict=ruled.verdict,
            verdict_reason=ruled.reason,
            qualifiers=(*found.qualifiers(ruled.verdict), *ruled.qualifiers),
            rows=found.rows,
            table=found.table,
            n_items=paired.items.height,
            n_trials=paired.baseline.n_trials + paired.candidate.n_trials,
            n_clusters=headline.n_clusters,
            clusters=names,
            runs_counted=scores.runs is not None,
            run_std_error=None if scores.runs is None else math.sqrt(scores.runs.middle_variance),
            design_effect=found.design_effect,
            effective_clusters=found.effective_clusters,
            mde=found.mde,
            smallest_p=found.smallest_p,
            these_items=None if these is None else these[0],
            margin=self.margin,
            equivalence_low=low,
            equivalence_high=high,
            at_margin=at_the_margin,
            sequential=watched,
            missing=replace(missing, withheld=ruled.withheld),
            labels=account,
            flipped=flipped_items(paired, self.baseline, self.candidate, self.data.runs) if self._may_flip else Flips(),
            # Effect sizes take every item alike, which an average over levels does not; with labels they are the judge's.
            effects=effect_rows(
                scores.differences, found.table, scores.clusters, self.conf_level, failures=found.failures
            )
            if scores.strata is None and account is None
            else (),
            costs=cost_rows(
                paired,
                self.baseline,
                self.candidate,
                metric=metric,
                clusters=self.clusters,
                conf_level=self.conf_level,
            ),
            seed=self.seed,
            version=toolkit_version(),
            sources=sources_of(self.data, (*self.baseline.runs, *self.candidate.runs)),
            notes=(
                *recorded_notes(self.data, (*self.baseline.runs, *self.candidate.runs)),
                *found.notes,
                *(factor.note() for factor in (self.widened_by, self.too_few) if factor is not None),
                *run_notes(self.trials, scores.runs, self._arms, metric, wider=_wider(found)),
                *as_notes("missing", [shaken] if shaken else []),
                *self._cautions(paired, told=ruled.names_missing),
                *_own_cautions(first, second),
                *self._remarks(notes, () if watched is None else watched.notes),
            ),
        )

    def width(self, paired: Pairs, clusters: tuple[str, ...], conf_level: float) -> float:
        """Return the width of the interval with these clusters in force; 0 where there is none."""
        scores, method = replace(self, clusters=clusters).scores(paired), self._method_for(clusters)
        return headline_interval(scores, self.metric, conf_level=conf_level, method=method).width

    def _on_these_items(self, paired: Pairs, verdict: Verdict) -> tuple[TheseItems, MethodRow] | None:
        """Answer as if a factor that nobody declared told nothing, where one decides."""
        factor = self.too_few or self.widened_by
        if factor is None:
            return None
        plain = replace(self, clusters=self.declared, widened_by=None, too_few=None)
        scores = plain.scores(paired)
        found, _ = self._corrected(plain.difference(scores, self.conf_level), scores, self.conf_level)
        then, _ = decide(self._evidence(found, self.conf_level, *plain.equivalence(scores, self.conf_level)))
        beside = method_row(found.headline, "sensitivity", f"if items of one {factor.factor} were independent")
        these = TheseItems(
            **estimated(found.headline, conf_level=self.conf_level),
            factor=factor.factor,
            n_levels=factor.n_levels,
            too_few=factor is self.too_few,
            clear=factor.flag == "warn",
            verdict=then,
            turned=then != verdict,
        )
        return these, beside

    def _decide(self, evidence: Evidence) -> tuple[Verdict, str]:
        """Return the verdict; a factor that nobody declared may leave it open, and says nothing of the design."""
        if self.widened_by is None and self.too_few is None:
            return decide(evidence)
        verdict, reason = decide(replace(evidence, smallest_p=None))
        if self.too_few is not None and verdict == "inconclusive":
            return verdict, self.too_few.why()
        return ("inconclusive", reason) if verdict == "invalid" else (verdict, reason)

    def other_averages(self, result: Comparison, declared: Sequence[str]) -> tuple[OtherAverage, ...]:
        """Answer by each other average that could have been meant; none beside labels, and while a run is watched."""
        if self.labels is not None or self.sequential:
            return ()
        paired = self.pairs.subset(self.pairs.paired)
        found: list[OtherAverage] = []
        for average in other_averages(self.data, paired.items, but=self.average, declared=declared):
            if any(fixed_by(average, paired, name) for name in self.clusters):
                continue
            other = replace(self, average=average if average.kind == "macro" else None, method="auto")
            found.append(other.beside(result, average))
        return tuple(found)

    def beside(self, result: Comparison, average: Average) -> OtherAverage:
        """Answer with this question's average in few words, beside the `result` that another gave; `average` names it."""
        paired = self.pairs.subset(self.pairs.paired)
        scores, level = self.scores(paired), self.conf_level
        found = self.difference(scores, level)
        verdict, reason = decide(self._evidence(found, level, *self.equivalence(scores, level)))
        upward = found.headline.estimate > 0
        missing = self._missing(None if self.average is None else self.average.strata(self.pairs.items), watching=False)
        names = (self.baseline.name, self.candidate.name)
        verdict = judged(missing, verdict, reason, upward=upward, names=names).verdict
        same_sign = (result.estimate or 0.0) * found.headline.estimate >= 0
        return OtherAverage(
            **estimated(found.headline, reason=None, conf_level=level),
            factor=average.label,
            kind="macro" if average.kind == "macro" else "micro",
            words=average.words(paired.items),
            verdict=verdict,
            agrees=same_sign and verdict == result.verdict,
        )

    def _corrected(
        self, found: Difference, scores: PairedScores, conf_level: float
    ) -> tuple[Difference, LabelAccount | None]:
        """Correct the difference by people's labels, where there are such."""
        if self.labels is None:
            return found, None
        return corrected(
            found,
            self.labels.pair((scores.baseline, scores.candidate), scores.clusters),
            self.metric,
            labels=self.labels,
            names=(self.baseline.name, self.candidate.name),
            conf_level=conf_level,
            margin=self.margin,
            runs=scores.runs,
        )

    def by_level(self, column: str) -> tuple[GroupRow, ...]:
        """Repeat the comparison within each level of a factor, as one family.

        Everything is at the level of Bonferroni over the rows: intervals hold together, and the adjusted p beside them is
        the one that belongs to them. Holm's p, which is never larger, is kept as well.
        """
        if column not in self.pairs.items.columns:
            raise InputError(f"{column!r} does not describe items, so the comparison cannot be split by it")
        split = level_places(self.pairs.items[column])
        found_in = [(name, self.pairs.taken(places)) for name, places in split if name is not None]
        levels = [(name, every, every.subset(every.paired)) for name, every in found_in if every.paired.any()]
        if not levels:
            several, text = self.items_of_several_levels(column)
            raise CannotAnswerError(
                f"{text}; give each item one" if several else f"no paired item has a level of {column!r}"
            )
        conf_level = 1 - (1 - self.conf_level) / len(levels)
        within = [self._within(paired, conf_level) for _, _, paired in levels]
        parts = [each.scores(paired) for each, (_, _, paired) in zip(within, levels, strict=True)]
        found = [each.difference(part, conf_level) for each, part in zip(within, parts, strict=True)]
        stepped = _holm([each.headline.p_value for each in found])
        rows: list[GroupRow] = []
        for own, (name, every, _), each, part, p_holm in zip(within, levels, found, parts, stepped, strict=True):
            row = own.group_row(name, each, part, p_holm=p_holm, n_levels=len(levels))
            rows.append(own.row_if_missing(row, every))
        return tuple(rows)

    def _within(self, paired: Pairs, conf_level: float) -> "Question":
        """Return the question of the items of one level: which clusters are in force there."""
        # Within a level each item may have one variant left; clusters that no longer hold two items are not clusters.
        own = tuple(name for name in self.declared if len(np.unique(paired.codes(name))) < paired.items.height)
        plain = replace(self, clusters=own, declared=own, widened_by=None, too_few=None, partitions=())
        factor = self.too_few or self.widened_by
        n_levels = 1 if factor is None else len(np.unique(paired.codes(factor.column)))
        if factor is None or not 1 < n_levels < paired.items.height:
            return plain
        here = replace(factor, n_levels=n_levels, effective=effective_levels(paired.codes(factor.column)))
        if here.effective < FEW_CLUSTERS:
            return replace(plain, too_few=here) if here.forbids else plain
        names = tuple(without_nested(paired, (*own, factor.column)))
        widened = plain.width(paired, names, conf_level) > plain.width(paired, own, conf_level)
        return replace(plain, clusters=names, widened_by=here) if widened else plain

    def row_if_missing(self, row: GroupRow, part: Pairs) -> GroupRow:
        """Forbid or limit a level's verdict where what is missing in it could undo it."""
        if row.verdict not in ("better", "worse") or self.ignorable or not part.incomplete():
            return row
        clusters = tuple(name for name in self.clusters if len(np.unique(part.codes(name))) < part.items.height)
        method = self._method_for(clusters)
        account = missing_account(part, self.metric, clusters, conf_level=row.conf_level, method=method)
        names = (self.baseline.name, self.candidate.name)
        ruled = judged(account, row.verdict, row.verdict_reason, upward=(row.estimate or 0.0) > 0, names=names)
        return replace(
            row,
            verdict=ruled.verdict,
            verdict_reason=ruled.reason,
            qualifiers=(*row.qualifiers, *ruled.qualifiers),
            withheld=ruled.withheld,
        )

    def stratified_row(self, column: str) -> MethodRow | None:
        """Return the difference with the levels of a factor taken as fixed strata; None where items are clustered."""
        paired = self.pairs.subset(self.pairs.paired)
        if self.clusters or self.average or column not in paired.items.columns or paired.items[column].null_count():
            return None
        found = stratified_mean(self.scores(paired).differences, paired.codes(column), conf_level=self.conf_level)
        name = label_of(column, self.data.factor_names())
        note = f"for new items of these same levels of {name}, which are then strata, and in their present shares"
        return method_row(found, "other estimand", note)

    @property
    def _open_direction(self) -> str | None:
        """Why neither side can be called the better one, where the metric's direction has to be asked for."""
        return open_direction(self.metric.name) if self.metric.direction == "asked" else None

    @property
    def _may_flip(self) -> bool:
        """Whether an item of the metric succeeds or fails."""
        return self.metric.kind in ("binary", "proportion")

    def flipped_by(self, column: str) -> tuple[ScenarioFlips, ...]:
        """Count what was gained and lost in every level of a factor; nothing where there is one level, or none."""
        paired = self.pairs.subset(self.pairs.paired)
        if not self._may_flip or column not in paired.items.columns or paired.items[column].n_unique() < 2:
            return ()
        return flips_by_scenario(
            paired,
            higher_is_better=self.metric.higher_is_better,
            clusters=self.clusters,
            conf_level=self.conf_level,
            factor=column,
        )

    def without_level(self, column: str) -> int:
        """Return how many paired items have no single level of a factor, and so stand in no row."""
        return self.pairs.items.filter(pl.Series(self.pairs.paired))[column].null_count()

    def items_of_several_levels(self, column: str) -> tuple[int, str]:
        """Return how many paired items have levels of a factor that differ, between the sides or within one, and an example."""
        key = [name for name in ITEM_KEY if name in self.pairs.items.columns]
        lacking = self.pairs.items.filter(pl.Series(self.pairs.paired) & self.pairs.items[column].is_null())
        levels = [
            arm.rows.select(*key, arm.rows[column].cast(pl.String).alias(_LEVEL))
            .join(lacking.select(key), on=key, how="semi", nulls_equal=True)
            .group_by(key)
            .agg(pl.col(_LEVEL).drop_nulls().unique().sort().alias(side))
            for side, arm in ((_FIRST, self.baseline), (_SECOND, self.candidate))
        ]
        both = levels[0].join(levels[1], on=key, nulls_equal=True)
        unlike = both.filter(pl.concat_list(_FIRST, _SECOND).list.n_unique() > 1).sort(key)
        if not unlike.height:
            return 0, ""
        first = unlike.row(0, named=True)
        name = "/".join(str(first[part]) for part in key if first[part])
        sides = " and ".join(
            f"{comma_list(map(repr, first[side]), _SHOWN)} for {arm.name}"
            for side, arm in ((_FIRST, self.baseline), (_SECOND, self.candidate))
        )
        n, every = unlike.height, int(self.pairs.paired.sum())
        have = has_have(n)
        return n, f"{n:,} of {every:,} items {have} more than one level of {column} (item {name} has {sides})"

    def _watched(self) -> SequentialAccount | None:
        """Look at the difference as one that is watched while the run goes on, where that is asked for."""
        if not self.sequential:
            return None
        return sequential_account(
            self.pairs,
            self.baseline,
            self.candidate,
            self.metric,
            clusters=self.clusters,
            conf_level=self.conf_level,
            planned_n=self.planned_n,
            margin=self.margin,
        )

    def _missing(self, strata: Strata | None, *, watching: bool) -> Missing:
        """Account for what is missing; while a run is watched, items that are not finished yet are no missing scores."""

        def account(pairs: Pairs) -> Missing:
            return missing_account(
                pairs,
                self.metric,
                self.clusters,
                conf_level=self.conf_level,
                method=self._method_for(self.clusters),
                strata=strata,
                partitions=self.partitions,
                ignorable=self.ignorable,
                margin=self.margin,
            )

        every = account(self.pairs)
        if not watching:
            return every
        words = "the run is watched while it goes on"
        if not self._lost():
            return replace(every, rows=(), share_baseline=0.0, share_candidate=0.0, explanation=words)
        done = account(self.pairs.subset((self.pairs.baseline.present > 0) & (self.pairs.candidate.present > 0)))
        return replace(
            every,
            rows=done.rows,
            least=done.least,
            most=done.most,
            share_baseline=done.share_baseline,
            share_candidate=done.share_candidate,
            explanation=f"{words}; of the items that both sides finished, {done.explanation}",
        )

    def _lost(self) -> bool:
        """Whether either side holds rows that ended without a score."""
        return any(bool((arm.rows["status"] != "scored").any()) for arm in (self.baseline, self.candidate))

    @property
    def _arms(self) -> tuple[System, System]:
        return self.baseline, self.candidate

    def _runs(self, paired: Pairs, strata: Strata | None) -> RunSpread | None:
        """Return how far whole runs differ; the items' pass^k and looks while the run goes on have no such part."""
        if self.sequential or self.pairs.steps is not None:
            return None
        weights = None if strata is None else strata.item_weights
        return self.trials.spread(paired.items, self._arms, self.metric, weights=weights)

    def _sampled_besides(self, scores: PairedScores) -> str:
        """Name what else is a sample, where the interval counts it."""
        return "" if scores.runs is None else "trial" if self.trials.shared else "run"

    def _with_same_items(self, found: Difference, paired: Pairs) -> Difference:
        """Add the difference on these very items, and a caution where the repetitions of one run differ as a whole."""
        if self.pairs.steps is not None:
            return found
        same = same_items_row(paired.items, self._arms, self.trials, conf_level=self.conf_level)
        differ = draws_note(paired.items, self._arms, self.trials)
        return replace(found, rows=(*found.rows, *([] if same is None else [same])), notes=(*found.notes, *differ))

    def scores(self, paired: Pairs) -> PairedScores:
        """Return what the difference is made of on these items, with the clusters in force."""
        strata = None if self.average is None else self.average.strata(paired.items)
        return PairedScores(
            baseline=paired.baseline.means(),
            candidate=paired.candidate.means(),
            n_trials=paired.steps or int(min(paired.baseline.n_scored.min(), paired.candidate.n_scored.min())),
            clusters=tuple(paired.codes(name) for name in self.clusters),
            fixed=tuple(paired.codes(name) for name in self.partitions),
            passes=paired.steps is not None,
            strata=strata,
            runs=self._runs(paired, strata),
        )

    def _average_words(self, paired: Pairs) -> str:
        if self.average is not None:
            return self.average.words(paired.items)
        return "" if self.sequential else plain_average(self.data, paired.items, self.clusters)

    def _method_for(self, clusters: Sequence[str]) -> str:
        """Return the method asked for, where it fits; what a factor that nobody declared widens is CR2's."""
        lacks = self.method == "cr2" and not clusters
        return "auto" if lacks or set(clusters) != set(self.declared) else self.method

    def difference(self, scores: PairedScores, conf_level: float) -> Difference:
        """Return the difference without the rows that decide nothing."""
        found = paired_difference(
            scores,
            self.metric,
            conf_level=conf_level,
            method=self._method_for(self.clusters),
            seed=self.seed,
            margin=self.margin,
            further=False,
        )
        return _without_verdict(found, self.too_few)

    def group_row(
        self, name: str, found: Difference, scores: PairedScores, *, p_holm: float | None, n_levels: int
    ) -> GroupRow:
        """Return what is said of one level."""
        conf_level = found.headline.conf_level
        verdict, reason = self._decide(self._evidence(found, conf_level, *self.equivalence(scores, conf_level)))
        headline = _as_shown(found, self.too_few).headline
        p = headline.p_value
        return GroupRow(
            **estimated(headline),
            level=name,
            n_items=headline.n,
            n_clusters=headline.n_clusters,
            baseline=scores.mean(scores.baseline),
            candidate=scores.mean(scores.candidate),
            p_adjusted=None if p is None else min(1.0, n_levels * p),
            p_holm=p_holm,
            verdict=verdict,
            verdict_reason="; ".join((reason, *(note.text for note in found.qualifiers(verdict)))),
        )

    def equivalence(self, scores: PairedScores, conf_level: float) -> tuple[float | None, float | None]:
        """Return the interval that decides equivalence, where a margin is declared."""
        if self.margin is None:
            return None, None
        if self.labels is not None:
            pair = self.labels.pair((scores.baseline, scores.candidate), scores.clusters)
            _, narrower = corrected_headline(pair, self.metric, conf_level=2 * conf_level - 1, runs=scores.runs)
            return narrower.conf_low, narrower.conf_high
        found = headline_interval(
            scores, self.metric, conf_level=2 * conf_level - 1, method=self._method_for(self.clusters)
        )
        return found.conf_low, found.conf_high

    def _evidence(
        self,
        found: Difference,
        conf_level: float,
        low: float | None,
        high: float | None,
        *,
        noninferior: bool = False,
    ) -> Evidence:
        return Evidence(
            conf_low=found.headline.conf_low,
            conf_high=found.headline.conf_high,
            no_interval_reason=found.headline.reason,
            conf_level=conf_level,
            smallest_p=found.smallest_p,
            mde=found.mde,
            margin=self.margin,
            equivalence_low=low,
            equivalence_high=high,
            noninferior=noninferior,
            higher_is_better=self.metric.higher_is_better,
            doubts=(*([self._open_direction] if self._open_direction else []), *found.doubts),
            no_equivalence=found.no_equivalence,
            smallest_p_of=_test_behind(found),
            scale=self.metric.scale,
            unit=self.metric.shown_unit,
        )

    def _missing_cause(self) -> str:
        """Say that all scores that are missing are harness errors; "" where some are missing otherwise."""
        for arm, side in zip(self._arms, (self.pairs.baseline, self.pairs.candidate), strict=True):
            lost = int((side.present - side.n_scored).sum())
            if not side.present.all() or lost != arm.count("error"):
                return ""
        return "harness errors"

    def _failed(self) -> str:
        """Say how many rows are harness errors; "" where none is."""
        counted = [(arm.name, arm.count("error"), arm.count(*STATUSES)) for arm in self._arms]
        failed = [(f"{k:,} of {of:,} rows", name) for name, k, of in counted if k]
        if not failed:
            return ""
        rows = " and ".join(f"{count} of {name}" for count, name in failed)
        if len(failed) == 2 and failed[0][0] == failed[1][0]:
            rows = f"{failed[0][0]} of either side"
        return f"{rows} are harness errors, left out and not counted as wrong"

    def _cautions(self, paired: Pairs, *, told: bool) -> tuple[Note, ...]:
        """Say what every reader must know before the number is used; `told`: the verdict has said what is missing, and why."""
        n, total = paired.items.height, self.pairs.items.height
        failed = self._failed()
        missing = [failed] if failed and not told else []
        weakened = any(each.setting == "items" for each in self.differences if each.severity == "weakens")
        if n < total and not failed and not weakened:
            missing = [f"{total - n:,} of {total:,} items could not be paired and are left out"]
        identical = [] if self.identical is None else [self.identical]
        return (
            *self.metric.cautions,
            *(note for note in difference_notes(self.differences) if note.caution),
            *as_notes("comparability", identical),
            *as_notes("missing", missing),
        )

    def _remarks(self, chosen: Sequence[str], watched: Sequence[str]) -> tuple[Note, ...]:
        """Say what belongs with the method: what was chosen, left out or is on record."""
        return (
            *as_notes("choice", (*chosen, *watched), caution=False),
            *as_notes("left_out", (*self.baseline.remarks, *self.candidate.remarks), caution=False),
            *(note for note in difference_notes(self.differences) if not note.caution),
        )


def _without_verdict(found: Difference, too_few: ItemFactor | None) -> Difference:
    """Forbid any claim where items clearly go by a factor with too few levels."""
    if too_few is None:
        return found
    why = too_few.why()
    return replace(found, doubts=(*found.doubts, why), no_equivalence=(*found.no_equivalence, why))


def _as_shown(found: Difference, too_few: ItemFactor | None, beside: tuple[MethodRow, ...] = ()) -> Difference:
    """Return a difference as it is shown, where a factor that nobody declared decides.

    The interval of independent items stands `beside` the wider one. Where there are too few levels there is none that is wide
    enough, and none is shown at the head.
    """
    if too_few is None or found.headline.n_clusters is not None:
        return replace(found, rows=(*found.rows[:1], *beside, *found.rows[1:]))
    bare = replace(
        found.headline,
        std_error=None,
        conf_low=None,
        conf_high=None,
        statistic=None,
        df=None,
        p_value=None,
        reason=f"{too_few.n_levels} {plural_of(too_few.factor)} are too few for an interval",
    )
    return replace(found, headline=bare, mde=None, rows=(*beside, *found.rows[1:]))


def as_invalid(result: Comparison, reason: str) -> Comparison:
    """Return a comparison whose sides cannot be compared: what was observed stays, what would be inferred goes."""
    return replace(
        result,
        verdict="invalid",
        verdict_reason=reason,
        qualifiers=(),
        std_error=None,
        conf_low=None,
        conf_high=None,
        statistic=None,
        df=None,
        p_value=None,
        rows=(),
        mde=None,
        smallest_p=None,
        equivalence_low=None,
        equivalence_high=None,
        at_margin=None,
        these_items=None,
        effects=(),
        costs=(),
        sequential=None,
        missing=replace(result.missing, rows=()),
        groups=(),
    )


def _holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Holm's adjusted p of every row; a row without a p is not of the family."""
    tested = [i for i, p in enumerate(p_values) if p is not None]
    rows: list[float | None] = [None] * len(p_values)
    if tested:
        adjusted = holm(np.array([p_values[i] for i in tested], dtype=np.float64)).tolist()
        for place, i in enumerate(tested):
            rows[i] = adjusted[place]
    return rows


def _wider(found: Difference) -> float:
    """Return how many times as wide as without it the interval is that counts runs."""
    counting, without = found.headline.std_error, None if found.without_runs is None else found.without_runs.std_error
    return counting / without if counting and without else 1.0


def _tasks(paired: Pairs) -> tuple[str, ...]:
    return tuple(name for name in paired.items["task"].unique().sort().to_list() if name)


def _estimand(clusters: tuple[str, ...], average: Average | None, *, new: str = "") -> str:
    """Say over what the mean is taken and what was sampled; `new` is "run" or "trial" where these were sampled as well."""
    also = f" and new {new}s" if new else ""
    if average is not None:
        units = f"levels of {' and '.join(clusters)}" if clusters else "items"
        return f"{average.how()}, for new {units} of these same levels of {average.label}{also}"
    variants = " and variants" if clusters == ("item",) else ""
    names = " and ".join(clusters) if clusters and not variants else ""
    over = f"for new levels of {names} like these" if names else "for new items like these"
    sampled = f"{names or 'the item'} and the {new} were" if new else f"{names or 'the item'} is the unit that was"
    return f"mean difference over items{variants}, {over}{also} ({sampled} sampled)"


def _test_behind(found: Difference) -> str:
    """Name the test whose smallest attainable p bounds what the design can show."""
    if found.headline.n_clusters:
        return "the cluster sign-flip, which must agree,"
    return "the sign-flip on these items" if found.headline.method.startswith("paired t") else "the test"


def _own_cautions(*sides: Score) -> tuple[Note, ...]:
    """Remarks on either side's own interval that the comparison does not give itself."""
    return tuple(
        replace(note, text=f"In the score of {side.name}: {note.text}", caution=False)
        for side in sides
        for note in side.notes
        if note.kind == "few" and note.caution and side.n_clusters is not None
    )
