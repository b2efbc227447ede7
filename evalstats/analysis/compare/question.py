"""One baseline, one candidate, one metric, one set of options: the question, asked of all items or of each level."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from evalstats.aggregate.items import HELPER, ITEM_KEY
from evalstats.analysis.arms import Arm, Metric, open_direction
from evalstats.analysis.comparability.comparability import difference_notes
from evalstats.analysis.comparability.rules import RunDifference
from evalstats.analysis.compare.difference import Difference, PairedScores, headline_interval, paired_difference
from evalstats.analysis.compare.evidence import Flips, ScenarioFlips, effect_rows, flipped_items, flips_by_scenario
from evalstats.analysis.compare.labels import Labels, corrected, corrected_headline
from evalstats.analysis.compare.result import (
    DECIDED,
    Comparison,
    GroupRow,
    LabelAccount,
    Missing,
    OtherLevels,
    SequentialAccount,
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
from evalstats.analysis.grouping import Average, label_of, plain_average, without_nested
from evalstats.analysis.pairs import (
    Pairs,
    level_places,
    run_variance_notes,
    run_variance_of,
    same_items_row,
    sharing_hint,
)
from evalstats.analysis.provenance import run_notes, sources_of, toolkit_version
from evalstats.analysis.result import MethodRow, estimated, method_row
from evalstats.analysis.result import notes as as_notes
from evalstats.analysis.score.result import Score
from evalstats.analysis.score.score import score_of_arm
from evalstats.document.model import Note
from evalstats.document.numbers import many
from evalstats.errors import CannotAnswerError, InputError, some_of
from evalstats.schema.columns import STATUSES
from evalstats.schema.data import EvalData
from evalstats.stats.checks import FEW_CLUSTERS
from evalstats.stats.many.multiplicity import holm
from evalstats.stats.stratified import Strata, stratified_mean
from evalstats.stats.trials import RunVariance

_LEVEL, _FIRST, _SECOND = f"{HELPER}level", f"{HELPER}first side", f"{HELPER}second side"
_SHOWN = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One baseline, one candidate, one metric, one set of options: asked of all items or of some.

    `settled` says that somebody declared what items share, or that they share nothing; `ignorable` that scores are missing for
    harmless reasons.
    """

    data: EvalData
    metric: Metric
    baseline: Arm
    candidate: Arm
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
    settled: bool = False
    average: Average | None = None
    ignorable: bool = False
    shared_trials: bool = False
    labels: Labels | None = None

    def answer(self, *, contrast: str, notes: tuple[str, ...]) -> Comparison:
        """Compare on all paired items."""
        metric = self.metric
        paired = self.pairs.subset(self.pairs.paired)
        scores = self._scores(paired, self.clusters)
        found = paired_difference(
            scores, metric, conf_level=self.conf_level, method=self.method, seed=self.seed, margin=self.margin
        )
        watched = self._watched()
        found = self._with_same_items(found, paired, scores.runs) if watched is None else as_difference(watched, found)
        found, account = self._corrected(found, scores, self.conf_level)
        if self.identical is not None:
            found = replace(found, doubts=(self.identical,), no_equivalence=(*found.no_equivalence, self.identical))
        strata = None if self.average is None else self.average.strata(self.pairs.items)
        missing = self._missing(strata, watching=watched is not None)
        beyond = missing_beyond(missing, metric, self.margin)
        if beyond is not None:
            found = replace(found, no_equivalence=(*found.no_equivalence, beyond))
        low, high = self._equivalence(scores, self.conf_level)
        at_the_margin = at_margin(found, scores, metric, self.margin, self.conf_level) if watched is None else None
        if watched is not None:
            low, high = watched.equivalence_low, watched.equivalence_high
            at_the_margin = withheld(sequential_at_margin(watched), "; ".join(found.no_equivalence) or None)
        at_the_margin = withheld(at_the_margin, self._open_direction)
        gain = missing_beyond(missing, metric, self.margin, loss=False)
        if beyond is None and gain is not None:
            found = replace(found, no_equivalence=(*found.no_equivalence, gain))
        evidence = self._evidence(found, self.conf_level, low, high)
        verdict, reason = decide(evidence)
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
                strata=scores.strata,
            )
            for arm, side in ((self.baseline, paired.baseline), (self.candidate, paired.candidate))
        )
        return Comparison(
            **estimated(headline, reason=None, conf_level=self.conf_level),
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
            runs_counted=bool(self._sampled_besides(scores)),
            design_effect=found.design_effect,
            effective_clusters=found.effective_clusters,
            mde=found.mde,
            smallest_p=found.smallest_p,
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
                *run_notes(self.data, (*self.baseline.runs, *self.candidate.runs)),
                *found.notes,
                *as_notes("missing", [shaken] if shaken else []),
                *self._cautions(paired, told=ruled.names_missing),
                *_own_cautions(first, second),
                *self._remarks(scores, notes, () if watched is None else watched.notes),
            ),
        )

    def for_other_levels(
        self, column: str, verdict: Verdict, *, conf_level: float | None = None, of: Pairs | None = None
    ) -> OtherLevels:
        """Answer with the levels of a factor as clusters on all paired items or `of` some; say whether a verdict holds."""
        paired = self.pairs.subset(self.pairs.paired) if of is None else of
        conf_level = self.conf_level if conf_level is None else conf_level
        # Labels correct with one column of clusters.
        names = (column,) if self.labels is not None else tuple(without_nested(paired, (*self.clusters, column)))
        scores = self._scores(paired, names)
        metric, margin = self.metric, self.margin
        found = paired_difference(scores, metric, conf_level=conf_level, method="auto", seed=self.seed, further=False)
        found, _ = self._corrected(found, scores, conf_level)
        low, high = None, None
        if margin is not None and self.labels is not None:
            low, high = self._equivalence(scores, conf_level)
        elif margin is not None:
            narrower = headline_interval(scores, metric, conf_level=2 * conf_level - 1, method="auto")
            low, high = narrower.conf_low, narrower.conf_high
        then, _ = decide(self._evidence(found, conf_level, low, high))
        account = at_margin(found, scores, metric, margin, conf_level)
        return OtherLevels(
            **estimated(found.headline, conf_level=conf_level),
            factor=label_of(column, self.data.factor_names()),
            n_levels=len(np.unique(paired.codes(column))),
            verdict=then,
            holds=then == verdict,
            noninferior=None if account is None else account.noninferior,
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

    def by_level(self, column: str, suspects: Sequence[str] = ()) -> tuple[GroupRow, ...]:
        """Repeat the comparison within each level of a factor, as one family.

        Everything is at the level of Bonferroni over the rows: intervals hold together, and the adjusted p beside them is
        the one that belongs to them. Holm's p, which is never larger, is kept as well. A verdict that would not hold for
        other levels of a suspected factor says so.
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
        parts = [self._level_scores(paired) for _, _, paired in levels]
        found = [self._level(part, conf_level) for part in parts]
        stepped = _holm([each.headline.p_value for each in found])
        rows: list[GroupRow] = []
        for (name, every, paired), each, part, p_holm in zip(levels, found, parts, stepped, strict=True):
            row = self._group_row(name, each, part, p_holm=p_holm, n_levels=len(levels))
            row = self._row_if_missing(row, every)
            others = self._not_for_others(row, paired, suspects)
            rows.append(replace(row, qualifiers=(*row.qualifiers, *others)) if others else row)
        return tuple(rows)

    def _row_if_missing(self, row: GroupRow, part: Pairs) -> GroupRow:
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

    def _not_for_others(self, row: GroupRow, paired: Pairs, suspects: Sequence[str]) -> tuple[Note, ...]:
        """Say of which suspected factor a level's verdict would not hold for other levels."""
        if row.verdict not in DECIDED:
            return ()
        several = [name for name in suspects if FEW_CLUSTERS <= len(np.unique(paired.codes(name))) < row.n_items]
        tried = [self.for_other_levels(name, row.verdict, conf_level=row.conf_level, of=paired) for name in several]
        told = [f"not established for other {many(each.factor)}" for each in tried if not each.holds]
        return as_notes("dependence", told[:1])

    def stratified_row(self, column: str) -> MethodRow | None:
        """Return the difference with the levels of a factor taken as fixed strata; None where items are clustered."""
        paired = self.pairs.subset(self.pairs.paired)
        if self.clusters or self.average or column not in paired.items.columns or paired.items[column].null_count():
            return None
        found = stratified_mean(self._scores(paired, ()).differences, paired.codes(column), conf_level=self.conf_level)
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
            f"{some_of(map(repr, first[side]), _SHOWN)} for {arm.name}"
            for side, arm in ((_FIRST, self.baseline), (_SECOND, self.candidate))
        )
        n, every = unlike.height, int(self.pairs.paired.sum())
        have = "has" if n == 1 else "have"
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
                method=self.method,
                strata=strata,
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
    def _arms(self) -> tuple[Arm, Arm]:
        return self.baseline, self.candidate

    def _runs(self, paired: Pairs, strata: Strata | None) -> RunVariance | None:
        """Estimate what whole runs add; the items' pass^k and looks while the run goes on have no such part."""
        if self.sequential or self.pairs.steps is not None:
            return None
        weights = None if strata is None else strata.item_weights
        return run_variance_of(paired.items, self._arms, shared=self.shared_trials, weights=weights)

    def _sampled_besides(self, scores: PairedScores) -> str:
        """Name what else is a sample, where the interval counts it."""
        counted = scores.runs is not None and scores.runs.variance is not None
        return "" if not counted else "trial" if self.shared_trials else "run"

    def _with_same_items(self, found: Difference, paired: Pairs, runs: RunVariance | None) -> Difference:
        """Add the difference on these very items, and a hint where trials look shared."""
        if self.pairs.steps is not None:
            return found
        same = same_items_row(paired.items, self._arms, shared=self.shared_trials, conf_level=self.conf_level)
        hint = () if self.shared_trials else sharing_hint(paired.items, self._arms, runs)
        return replace(found, rows=(*found.rows, *([] if same is None else [same])), notes=(*found.notes, *hint))

    def _level_scores(self, pairs: Pairs) -> PairedScores:
        # Within a level each item may have one variant left; clusters that no longer hold two items are not clusters.
        codes = [pairs.codes(name) for name in self.clusters]
        company = tuple(each for each in codes if len(np.unique(each)) < len(each))
        return replace(self._scores(pairs, ()), clusters=company)

    def _scores(self, paired: Pairs, clusters: tuple[str, ...]) -> PairedScores:
        strata = None if self.average is None else self.average.strata(paired.items)
        return replace(_scores(paired, clusters), strata=strata, runs=self._runs(paired, strata))

    def _average_words(self, paired: Pairs) -> str:
        if self.average is not None:
            return self.average.words(paired.items)
        return "" if self.sequential else plain_average(self.data, paired.items, self.clusters)

    def _method_for(self, clusters: Sequence[object]) -> str:
        return "auto" if self.method == "cr2" and not clusters else self.method

    def _level(self, scores: PairedScores, conf_level: float) -> Difference:
        method, margin = self._method_for(scores.clusters), self.margin
        return paired_difference(
            scores, self.metric, conf_level=conf_level, method=method, seed=self.seed, margin=margin, further=False
        )

    def _group_row(
        self, name: str, found: Difference, scores: PairedScores, *, p_holm: float | None, n_levels: int
    ) -> GroupRow:
        headline, conf_level = found.headline, found.headline.conf_level
        low, high = self._equivalence(scores, conf_level)
        verdict, reason = decide(self._evidence(found, conf_level, low, high))
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

    def _equivalence(self, scores: PairedScores, conf_level: float) -> tuple[float | None, float | None]:
        if self.margin is None:
            return None, None
        if self.labels is not None:
            pair = self.labels.pair((scores.baseline, scores.candidate), scores.clusters)
            _, narrower = corrected_headline(pair, self.metric, conf_level=2 * conf_level - 1, runs=scores.runs)
            return narrower.conf_low, narrower.conf_high
        found = headline_interval(
            scores, self.metric, conf_level=2 * conf_level - 1, method=self._method_for(scores.clusters)
        )
        return found.conf_low, found.conf_high

    def _evidence(self, found: Difference, conf_level: float, low: float | None, high: float | None) -> Evidence:
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

    def _remarks(self, scores: PairedScores, chosen: Sequence[str], watched: Sequence[str]) -> tuple[Note, ...]:
        """Say what belongs with the method: what was chosen, left out or is on record."""
        runs = run_variance_notes(scores.runs, self._arms, self.metric, shared=self.shared_trials)
        return (
            *as_notes("choice", (*chosen, *watched), caution=False),
            *runs,
            *as_notes("left_out", (*self.baseline.remarks, *self.candidate.remarks), caution=False),
            *(note for note in difference_notes(self.differences) if not note.caution),
        )


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


def _scores(paired: Pairs, clusters: tuple[str, ...]) -> PairedScores:
    return PairedScores(
        baseline=paired.baseline.means(),
        candidate=paired.candidate.means(),
        n_trials=paired.steps or int(min(paired.baseline.n_scored.min(), paired.candidate.n_scored.min())),
        clusters=tuple(paired.codes(name) for name in clusters),
        passes=paired.steps is not None,
    )


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
