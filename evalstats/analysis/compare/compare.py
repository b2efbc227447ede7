"""Is B better than A? The comparison of two systems on the same items: read, table, design, estimate, result."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, ParamSpec, Protocol, cast, overload

import polars as pl

from evalstats import options as opt
from evalstats.analysis.compare.checks import (
    DEFAULT_LEVEL,
    as_python,
    check_level,
    check_looks,
    check_metrics,
    check_options,
)
from evalstats.analysis.compare.design import PairedDesign, decided
from evalstats.analysis.compare.difference import Difference, PairedScores, paired_difference
from evalstats.analysis.compare.flips import Flips, ScenarioFlips, flipped_items, flips_by_level
from evalstats.analysis.compare.further import effect_rows
from evalstats.analysis.compare.labels import corrected, labels_of
from evalstats.analysis.compare.levels import by_level, by_other_averages, items_in_no_row, shown, stratified_row
from evalstats.analysis.compare.missing import account_for_missing, judged, missing_beyond, rests_on_missing
from evalstats.analysis.compare.result import Comparison, Comparisons, LabelAccount, TheseItems, Verdict
from evalstats.analysis.compare.sequential import as_difference, sequential_account, sequential_at_margin
from evalstats.analysis.compare.verdict import at_margin, decide, evidence_of, verdict_of, withheld
from evalstats.analysis.costs import cost_rows
from evalstats.analysis.design.averages import Average, fixed_by, plain_average, refuse_clusters, wanted_average
from evalstats.analysis.design.clusters import (
    candidate_groups,
    chosen_clusters,
    duplicate_notes,
    group_columns,
    label_of,
    named_clusters,
)
from evalstats.analysis.design.comparability import difference_notes, identical_runs, refusal, run_comparability
from evalstats.analysis.design.dependence import crossed_factors
from evalstats.analysis.design.metric import Metric, choose_metric, direction_notes, margin_in_unit
from evalstats.analysis.design.missing import is_ignorable
from evalstats.analysis.design.runs import (
    draws_note,
    paired_trials,
    passing,
    run_notes,
    same_items_row,
    trial_design,
    wanted_pass,
)
from evalstats.analysis.provenance import run_notes as recorded_notes
from evalstats.analysis.provenance import sources_of, toolkit_version
from evalstats.analysis.result import MethodRow, Origin, estimated, method_row
from evalstats.analysis.result import notes as as_notes
from evalstats.analysis.score.result import Score
from evalstats.analysis.score.score import item_scores, score_of
from evalstats.analysis.settings import recorded
from evalstats.document.model import Note
from evalstats.errors import CannotAnswerError, InputError, Option
from evalstats.schema.columns import STATUSES
from evalstats.schema.data import EvalData, as_data
from evalstats.schema.plan import Plan, PlanAccount, plan_account, settled, with_plan
from evalstats.table.items import ITEM_OF_VARIANTS
from evalstats.table.score_table import ScoreTable, refuse_unpaired
from evalstats.table.systems import (
    System,
    refuse_same_rows,
    require_outcomes,
    rows_among,
    rows_named,
    shared_benchmarks,
    system_of,
)
from evalstats.table.trial_sets import trial_sets

P = ParamSpec("P")


class _ByMetrics(Protocol[P]):
    """`compare` as a type checker sees it: of a list of metrics it returns one comparison each."""

    @overload
    def __call__(
        self, data: object, baseline: str, candidate: str, *, metric: list[str] | tuple[str, ...], **options: Any
    ) -> Comparisons: ...
    @overload
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Comparison: ...


def _by_metrics(function: Callable[P, Comparison | Comparisons]) -> _ByMetrics[P]:
    return cast("_ByMetrics[P]", function)


@_by_metrics
@recorded
def compare(
    data: EvalData | object,
    baseline: opt.Baseline,
    candidate: opt.Candidate,
    *,
    metric: opt.Metrics = None,
    by: opt.By = None,
    cluster: opt.Cluster = None,
    margin: opt.Margin = None,
    conf_level: opt.PlannedLevel = None,
    contrast: opt.Contrast = "model",
    higher_is_better: opt.HigherIsBetter = None,
    method: opt.Method = "auto",
    pass_hat: opt.PassHat = None,
    pass_at: opt.PassAt = None,
    sequential: opt.Sequential = False,
    planned_n: opt.PlannedN = None,
    shared_trials: opt.SharedTrials = None,
    runs: opt.Runs = None,
    run_sd: opt.RunSd = None,
    accept: opt.Accept = (),
    average: opt.Average = None,
    over: opt.Over = None,
    weights: opt.Weights = None,
    missing: opt.Missing = None,
    plan: Plan | None = None,
    labels: opt.Labels = None,
    seed: opt.Seed = 0,
) -> Comparison | Comparisons:
    """Compare two systems on the items that both answered: candidate minus baseline.

    Parameters
    ----------
    data
        What `evalstats.read`, `from_frame` or a store gave; or any table of outcomes with the glossary's columns.
    baseline, candidate
        A run, else a system or model; or levels of the column named by `contrast`.
    metric
        The score to compare; needed only where the benchmark declares no headline. Several in a list are answered each in its
        own unit and direction, with intervals and p adjusted for their number (Bonferroni), as those of `by` are.
    by
        A factor; the comparison is repeated within each of its levels, as one family.
    cluster
        One or several columns whose levels share something (a passage, a template, a user). Columns declared in the data,
        and the item where it has several variants, are clusters as well. Where nothing is declared, the wider of the clustered
        and the independent interval decides for a column by which items seem to go (`evalstats.analysis.design.dependence`).
        "none" says that items share nothing: columns declared in the data are set aside, and no other decides.
    margin
        The largest difference that does not matter, declared before looking: "2pp", or a number in the metric's own
        unit (0.02 where scores run from 0 to 1).
    conf_level
        Level of the intervals, above .5 (above .8 with a margin); 0.95 where neither it nor a plan says otherwise.
    contrast
        What names the two sides: "model" (default), or another column such as "variant" or "defense".
    higher_is_better
        Which way the metric is better; it goes before what the files say. None: what they declare, else more is taken to be
        better, and the answer says so.
    method
        "auto" picks by the data; "tango", "augmented-t", "t" or "cr2" insist.
    pass_hat, pass_at
        Compare pass^k (all of k trials of an item succeed) or pass@k (any of k does), each item's value being the unbiased
        one; items with fewer than k trials are left out by name.
    sequential
        For those who look while the run goes on: an interval and a p that hold at every look, over the items in the order
        in which they were finished. They are wider than for one look at the end.
    planned_n
        With `sequential`: the units planned, declared before the first look; the interval is tuned to be short there.
    shared_trials
        Whether trial k is the same judge, seed or simulated user on both sides, so that what it adds to both cancels. None
        pairs judges and seeds of the same names on both sides, and takes trials that are merely counted as independent.
    runs
        What the trials are: "draws", repetitions of one run; "sample", some of more runs (judges, seeds), whose variation belongs
        into the interval; "fixed", the very ones that are asked about. None: counted trials are draws, several runs and labels of
        runs or seeds a sample; up to five judges or seeds that both sides share are fixed.
    run_sd
        The standard deviation from run to run where it is known, "1.4pp" or a number in the metric's own unit; "prior:2pp"
        gives it a half-Cauchy prior of that scale, which is 1% of the score's range otherwise.
    accept
        Settings in which the runs differ on purpose ("n_shots", "judge", ...); otherwise such a difference can make the
        comparison invalid. See `evalstats.analysis.design.comparability`.
    average
        "macro": the mean over the levels of a factor, each counting alike; "micro": each by its items. The levels are then
        fixed, and standard errors come from the variance within them. Without it every item counts alike, and is the unit.
    over
        The factor to average over; by itself task, else scenario, subject or category, the first that has several levels.
    weights
        Share of each level, instead of `average`; divided by their sum.
    missing
        "ignorable" where scores are missing for a reason that has nothing to do with the answers, such as a machine that was
        switched off. Otherwise ("bounded") they could be anything: above 5% of either side, what they could undo is not
        claimed, and below that the first line says so.
    plan
        What was declared before looking, as `evalstats.read_plan` gives it. Options that are given go before it, and the
        result says where it departs from the plan.
    labels
        People's labels of a part of the items, where a judge gave the scores: what `from_ratings` gave, or a table with item,
        model and value (or item and a column for each side), on the scale of the scores. The difference is then the
        prediction-powered one, which the judge's errors do not bend. Labelled items must be a random part, or `label_prob` hold
        the chance of each; at least 20 need labels for both sides.
    seed
        For permutations and random sign flips; intervals do not depend on it.

    Returns
    -------
    Comparison or Comparisons
        Verdict, difference with interval and p, checks, missing data, flipped items, what factors of the items do; of a list of
        metrics, one such answer for each.

    Raises
    ------
    InputError
        If a name, column or option is unknown or ambiguous.
    CannotAnswerError
        If the two share no scored item.

    Examples
    --------
    >>> from evalstats import datasets
    >>> result = compare(datasets.tenacious_held_out(), "baseline", "trained")
    >>> round(100 * result.estimate, 2), result.verdict, result.clusters
    (48.84, 'inconclusive', ('dimension',))
    >>> compare(datasets.tenacious_held_out(), "baseline", "trained", cluster="none").verdict
    'better'
    """
    asked = opt.GivenOptions.of(compare, locals())
    several = None if metric is None or isinstance(metric, str) else tuple(metric)
    data = as_data(data) if plan is None else with_plan(as_data(data), plan)
    check_options(asked, (baseline, candidate))
    if sequential or labels is not None:
        data.need_rows("a sequential interval or a correction by labels")
    if shared_trials and data.merged and trial_sets(data.outcomes) is None:
        raise CannotAnswerError(
            "which trials of both sides belong together is not known: name the column that tells them apart, "
            f"{Option('map', blank='COLUMN', of='trial')}"
        )
    sides = data.written(baseline), data.written(candidate)
    if several is not None:
        return _answer_each(data, *sides, asked, check_metrics(several, asked))
    return _answer(data.with_metric(asked.metric, higher_is_better=higher_is_better), *sides, asked)


def _answer_each(
    data: EvalData, baseline: str, candidate: str, asked: opt.GivenOptions, metrics: tuple[str, ...]
) -> Comparisons:
    """Answer for each metric at the level of Bonferroni over all: intervals hold together, and each p belongs to its own."""
    if asked.margin is not None:
        _refuse_margin_of_several_units(data, (baseline, candidate), asked, metrics)
    rows: list[Comparison] = []
    for name in metrics:
        try:
            found = _answer(data, baseline, candidate, asked.but(metric=name), family=metrics)
        except (InputError, CannotAnswerError) as error:
            if repr(name) in str(error):
                raise
            # Of several, the reader has to know which.
            raise type(error)(f"metric {name!r}: {error}") from error
        p = found.p_value
        rows.append(replace(found, p_adjusted=None if p is None else min(1.0, len(metrics) * p)))
    plan: Plan | None = asked.plan
    level = asked.conf_level if asked.conf_level is not None or plan is None else plan.conf_level
    return Comparisons(rows=tuple(rows), conf_level=DEFAULT_LEVEL if level is None else level)


def _refuse_margin_of_several_units(
    data: EvalData, names: tuple[str, str], asked: opt.GivenOptions, metrics: tuple[str, ...]
) -> None:
    """One margin means the same for several metrics only where they are shown in one unit."""
    require_outcomes(data, *names)
    column = asked.contrast if asked.contrast == "model" else data.factor(asked.contrast)
    found = [_both_systems(data, *names, column, asked.but(metric=name))[0] for name in metrics]
    if len({(each.scale, each.shown_unit) for each in found}) > 1:
        units = ", ".join(f"{each.name} in {each.shown_unit or 'a unit of its own'}" for each in found)
        raise InputError(
            f"one margin cannot serve metrics of several units ({units}); declare each in evalstats.toml "
            "in [[margins]], or ask for one metric"
        )


def _answer(
    data: EvalData, baseline: str, candidate: str, asked: opt.GivenOptions, *, family: tuple[str, ...] = ()
) -> Comparison:
    """Bring the two sides together and answer with what was asked, else what the plan declares, else the defaults.

    `family` holds all metrics that are asked for at once.
    """
    require_outcomes(data, baseline, candidate)
    column = asked.contrast if asked.contrast == "model" else data.factor(asked.contrast)
    metric, first, second = _both_systems(data, baseline, candidate, column, asked)
    settings, account = _in_force(asked, metric, baseline, family)
    called = label_of("trial", data.factor_names())
    trials = trial_design(
        (first, second),
        metric,
        called=called,
        runs=settings.runs,
        run_sd=settings.run_sd,
        shared=asked.shared_trials,
    )
    first, second, of_trials = paired_trials(first, second, trials, declared=asked.shared_trials, contrast=column)
    differences = run_comparability(data, first, second, contrast=column, accept=settings.accept)

    groups = [name for name in group_columns(data.outcomes) if name != column]
    split, averaged = ([] if name is None else [data.factor(name)] for name in (settings.by, asked.over))
    factors = sorted({*groups, *named_clusters(data, settings.cluster), *split, *averaged})
    table = ScoreTable.of((first, second), metric, factors=factors, contrast=column)
    refuse_unpaired(table)
    table, dropped = passing(table, wanted_pass(asked.pass_hat, asked.pass_at))
    paired = table.take(table.paired())

    clusters, of_clusters = chosen_clusters(data, table, settings.cluster, table.runs, contrast=column)
    average = _average(data, paired, clusters, asked)
    design = PairedDesign(
        data=data,
        table=table,
        paired=paired,
        cautions=metric.cautions,
        trials=trials,
        conf_level=DEFAULT_LEVEL if settings.conf_level is None else settings.conf_level,
        margin=margin_in_unit(settings.margin, table.metric),
        method=asked.method,
        seed=asked.seed,
        clusters=clusters,
        average=average,
        labels=None if asked.labels is None else labels_of(asked.labels, paired),
        ignorable=is_ignorable(settings.missing),
        sequential=asked.sequential,
        planned_n=asked.planned_n,
        differences=differences,
        identical=identical_runs(data, first, second, contrast=column),
    )
    candidates = candidate_groups(data, metric, groups, contrast=column)
    known = [
        name
        for name in candidates.names
        if all(system.rows[name].null_count() < system.rows.height for system in table.systems)
        # Levels that are averaged over are fixed, and no sample that could be clusters.
        and not fixed_by(average, paired, name)
    ]
    declares = bool(settings.cluster) or bool(set(clusters) - {ITEM_OF_VARIANTS})
    design, undeclared = decided(design, known, settled=declares, split=split)

    result = _estimated(design, contrast=asked.contrast, notes=(*dropped, *of_trials, *of_clusters))
    departures = () if account is None else account.departures
    result = replace(
        result,
        origin=replace(result.origin, plan=account),
        run_differences=differences,
        notes=(*as_notes("plan", departures), *result.notes),
        asked=as_python(asked),
    )
    refused = refusal(differences)
    if refused is not None:
        return _invalid(result, refused)
    crossed = crossed_factors(paired, known, clusters, data.factor_names())
    untested = (
        [f"Not tested for dependence, since they vary within the clusters: {', '.join(crossed)}"] if crossed else []
    )
    copies = () if design.clusters else duplicate_notes(data, table.items, table.runs, table.metric)
    levels = tuple(row for name in split for row in by_level(design, name))
    in_no_row = [text for name in split for text in items_in_no_row(design, name, settings.by)]
    asks = (note for note in direction_notes(metric.direction) if note.caution)
    return replace(
        result,
        by=settings.by,
        qualifiers=(*asks, *result.qualifiers),
        rows=(*result.rows, *(row for name in split if (row := stratified_row(design, name)) is not None)),
        groups=levels,
        dependence=undeclared.rows,
        findings=undeclared.findings,
        other_averages=by_other_averages(design, result, split),
        flipped_by=_flips_by(design, split[0] if split else "scenario"),
        notes=(
            *result.notes,
            *as_notes("choice", (*candidates.notes, *untested), caution=False),
            *copies,
            *as_notes("left_out", in_no_row),
        ),
    )


def _in_force(
    asked: opt.GivenOptions, metric: Metric, baseline: str, family: tuple[str, ...] = ()
) -> tuple[opt.GivenOptions, PlanAccount | None]:
    """Return what was given, else what the plan declares, and what the result says of the plan.

    The level is that of one of the `family` of metrics that are asked for at once.
    """
    plan: Plan | None = asked.plan
    primary = None if plan is None else plan.primary_for(metric.benchmark)
    named: dict[str, object] = {
        "families": None if asked.by is None else [asked.by],
        "clusters": None if asked.cluster is None else list(asked.cluster),
        "margin": asked.margin,
        "conf_level": asked.conf_level,
        "accept": list(asked.accept) or None,
        "missing": asked.missing,
        "runs": asked.runs,
        "run_sd": asked.run_sd,
        "baseline": baseline,
        "primary": None if primary in family else asked.metric,
    }
    found: dict[str, Any] = settled(plan, benchmark=metric.benchmark, metric=metric.name, **named)
    families = found["families"] or ()
    settings = asked.but(
        # One split a result: where a plan declares several families, each is asked for by name; looks and metrics have none.
        by=families[0] if len(families) == 1 and not family and not (asked.sequential and asked.by is None) else None,
        cluster=tuple(found["clusters"] or ()),
        margin=found["margin"],
        conf_level=found["conf_level"],
        accept=tuple(found["accept"] or ()),
        missing=found["missing"],
        runs=found["runs"],
        run_sd=found["run_sd"],
    )
    check_level(DEFAULT_LEVEL if settings.conf_level is None else settings.conf_level, settings.margin)
    if len(family) > 1:
        level = DEFAULT_LEVEL if settings.conf_level is None else settings.conf_level
        settings = settings.but(conf_level=1 - (1 - level) / len(family))
    check_looks(settings)
    if plan is None:
        return settings, None
    return settings, plan_account(plan, benchmark=metric.benchmark, metric=metric.name, span=metric.span, **named)


def _average(data: EvalData, paired: ScoreTable, clusters: Sequence[str], asked: opt.GivenOptions) -> Average | None:
    """Return the average that was asked for, over the items that both sides answered."""
    found = wanted_average(data, paired.items, average=asked.average, over=asked.over, weights=asked.weights)
    if found is not None and asked.sequential:
        raise InputError(
            "looks while the run goes on are at all items alike; leave out the average, or look at the end"
        )
    refuse_clusters(found, clusters, paired)
    return found


def _both_systems(
    data: EvalData, baseline: str, candidate: str, column: str, asked: opt.GivenOptions
) -> tuple[Metric, System, System]:
    """Find both sides' rows, the benchmark they share, and the metric."""
    first = rows_named(data.outcomes, baseline, contrast=column, role="baseline")
    second = rows_named(data.outcomes, candidate, contrast=column, role="candidate")
    refuse_same_rows(first, second, (baseline, candidate))
    shared = shared_benchmarks(first, second, (baseline, candidate))
    metric = asked.metric
    if metric is None and asked.plan is not None and len(shared) == 1:
        metric = asked.plan.primary_for(shared[0])
    both = pl.concat([first, second])
    rows = rows_among(both, both["benchmark"].is_in(shared))
    chosen = choose_metric(data, rows, metric, contrast=column)
    return (
        chosen,
        system_of(first, baseline, chosen, role="baseline"),
        system_of(second, candidate, chosen, role="candidate"),
    )


# --- from the design to the result ---


def _estimated(design: PairedDesign, *, contrast: str, notes: tuple[str, ...]) -> Comparison:
    """Estimate the difference on all paired items, and judge it."""
    metric, paired, margin, scores = design.metric, design.paired, design.margin, design.scores()
    found = paired_difference(
        scores,
        metric,
        conf_level=design.conf_level,
        method=design.method if design.widened_by is None else "auto",
        seed=design.seed,
        margin=margin,
    )
    watched = None
    if design.sequential:
        watched = sequential_account(
            design.table,
            clusters=design.clusters,
            conf_level=design.conf_level,
            planned_n=design.planned_n,
            margin=margin,
        )
        found = as_difference(watched, found)
    elif paired.passes is None:
        same = same_items_row(paired.items, paired.systems, design.trials, conf_level=design.conf_level)
        differ = draws_note(paired.items, paired.systems, design.trials)
        found = replace(found, rows=(*found.rows, *([] if same is None else [same])), notes=(*found.notes, *differ))
    found, account = _corrected(design, found, scores)
    if design.identical is not None:
        found = replace(found, doubts=(design.identical,), no_equivalence=(*found.no_equivalence, design.identical))
    found = design.without_claims(found)

    missing = account_for_missing(design, watching=watched is not None)
    loss = missing_beyond(missing, metric, margin)
    if loss is not None:
        found = replace(found, no_equivalence=(*found.no_equivalence, loss))
    if watched is None:
        low, high = design.equivalence(scores)
        stands = at_margin(found, scores, metric, margin, design.conf_level)
    else:
        low, high = watched.equivalence_low, watched.equivalence_high
        stands = withheld(sequential_at_margin(watched), "; ".join(found.no_equivalence) or None)
    stands = withheld(stands, design.open_direction)
    gain = missing_beyond(missing, metric, margin, loss=False)
    if loss is None and gain is not None:
        found = replace(found, no_equivalence=(*found.no_equivalence, gain))
    noninferior = stands is not None and stands.noninferior
    verdict, reason = verdict_of(design, evidence_of(design, found, low, high, noninferior=noninferior))
    these, beside = _on_these_items(design, verdict)
    if watched is None:
        found = shown(found, design.too_few, beside)
    headline = found.headline
    shaken = rests_on_missing(missing, verdict, margin=margin)
    ruled = judged(
        missing, verdict, reason, estimate=headline.estimate, names=design.names, cause=_missing_cause(design.table)
    )

    trials = replace(design.trials, shared=False)
    first, second = (
        score_of(
            item_scores(side, design.clusters, trials, average=design.average),
            side,
            design.data,
            clusters=design.clusters,
            conf_level=design.conf_level,
            trials=trials,
        )
        for side in (paired.select(0), paired.select(1))
    )
    plain = scores.strata is None and account is None
    names = tuple(label_of(name, design.data.factor_names()) for name in design.clusters)
    return Comparison(
        **estimated(headline, conf_level=design.conf_level, reason=headline.reason if design.too_few else None),
        about=metric.facts,
        baseline=first,
        candidate=second,
        contrast=contrast,
        tasks=tuple(name for name in paired.items["task"].unique().sort().to_list() if name),
        statistic=headline.statistic,
        method_reason=found.method_reason,
        estimand=_estimand(design, names, scores),
        average=_average_words(design),
        verdict=ruled.verdict,
        verdict_reason=ruled.reason,
        qualifiers=(*found.qualifiers(ruled.verdict), *ruled.qualifiers),
        rows=found.rows,
        table=found.table,
        n_items=len(paired),
        n_trials=paired.n_trials(),
        n_clusters=headline.n_clusters,
        clusters=names,
        runs_counted=scores.runs is not None,
        run_std_error=None if scores.runs is None else math.sqrt(scores.runs.middle_variance),
        design_effect=found.design_effect,
        effective_clusters=found.effective_clusters,
        mde=found.mde,
        smallest_p=found.smallest_p,
        these_items=these,
        margin=margin,
        equivalence_low=None if design.too_few else low,
        equivalence_high=None if design.too_few else high,
        at_margin=stands,
        sequential=watched,
        missing=replace(missing, withheld=ruled.withheld),
        labels=account,
        flipped=flipped_items(paired, design.data.runs) if _may_flip(design) else Flips(),
        # Effect sizes take every item alike, which an average over levels does not; with labels they are the judge's.
        effects=effect_rows(
            scores.differences, found.table, scores.clusters, design.conf_level, failures=found.failures
        )
        if plain
        else (),
        costs=cost_rows(paired, clusters=design.clusters, conf_level=design.conf_level),
        origin=Origin(sources=sources_of(design.data, paired.runs), version=toolkit_version(), seed=design.seed),
        notes=(
            *recorded_notes(design.data, paired.runs),
            *found.notes,
            *(factor.note() for factor in (design.widened_by, design.too_few) if factor is not None),
            *run_notes(design.trials, scores.runs, paired.systems, metric, wider=_wider(found)),
            *as_notes("missing", [shaken] if shaken else []),
            *design.cautions,
            *(note for note in difference_notes(design.differences) if note.caution),
            *as_notes("comparability", [] if design.identical is None else [design.identical]),
            *as_notes("missing", _left_out(design, told=ruled.names_missing)),
            *_own_cautions(first, second),
            *as_notes("choice", (*notes, *(() if watched is None else watched.notes)), caution=False),
            *as_notes("left_out", [remark for system in paired.systems for remark in system.remarks], caution=False),
            *(note for note in difference_notes(design.differences) if not note.caution),
        ),
    )


def _corrected(design: PairedDesign, found: Difference, scores: PairedScores) -> tuple[Difference, LabelAccount | None]:
    """Correct the difference by people's labels, where there are such."""
    if design.labels is None:
        return found, None
    return corrected(
        found,
        design.labels.pair((scores.baseline, scores.candidate), scores.clusters),
        design.metric,
        labels=design.labels,
        names=design.names,
        conf_level=design.conf_level,
        margin=design.margin,
        runs=scores.runs,
    )


def _on_these_items(design: PairedDesign, verdict: Verdict) -> tuple[TheseItems | None, tuple[MethodRow, ...]]:
    """Answer as if a factor that nobody declared told nothing, where one decides; and the row that stands beside."""
    factor = design.too_few or design.widened_by
    if factor is None:
        return None, ()
    plain = replace(design, clusters=design.declared, widened_by=None, too_few=None)
    scores = plain.scores()
    found, _ = _corrected(plain, plain.difference(scores), scores)
    then, _ = decide(evidence_of(plain, found, *plain.equivalence(scores)))
    these = TheseItems(
        **estimated(found.headline, conf_level=design.conf_level),
        factor=factor.factor,
        n_levels=factor.n_levels,
        too_few=factor is design.too_few,
        clear=factor.flag == "warn",
        verdict=then,
        turned=then != verdict,
    )
    return these, (method_row(found.headline, "sensitivity", f"if items of one {factor.factor} were independent"),)


def _may_flip(design: PairedDesign) -> bool:
    """Whether an item of the metric succeeds or fails."""
    return design.metric.kind in ("binary", "proportion")


def _flips_by(design: PairedDesign, column: str) -> tuple[ScenarioFlips, ...]:
    """Count what was gained and lost in every level of a factor; nothing where there is one level, or none."""
    paired = design.paired
    if not _may_flip(design) or column not in paired.items.columns or paired.items[column].n_unique() < 2:
        return ()
    return flips_by_level(paired, column, clusters=design.clusters, conf_level=design.conf_level)


def _wider(found: Difference) -> float:
    """Return how many times as wide as without it the interval is that counts runs."""
    counting, without = found.headline.std_error, None if found.without_runs is None else found.without_runs.std_error
    return counting / without if counting and without else 1.0


def _estimand(design: PairedDesign, clusters: tuple[str, ...], scores: PairedScores) -> str:
    """Say over what the mean is taken and what was sampled: items or clusters, and runs or shared trials."""
    average, new = design.average, "" if scores.runs is None else "trial" if design.trials.shared else "run"
    also = f" and new {new}s" if new else ""
    if average is not None:
        units = f"levels of {' and '.join(clusters)}" if clusters else "items"
        return f"{average.how()}, for new {units} of these same levels of {average.label}{also}"
    variants = " and variants" if clusters == ("item",) else ""
    names = " and ".join(clusters) if clusters and not variants else ""
    over = f"for new levels of {names} like these" if names else "for new items like these"
    sampled = f"{names or 'the item'} and the {new} were" if new else f"{names or 'the item'} is the unit that was"
    return f"mean difference over items{variants}, {over}{also} ({sampled} sampled)"


def _average_words(design: PairedDesign) -> str:
    if design.average is not None:
        return design.average.words(design.paired.items)
    return "" if design.sequential else plain_average(design.data, design.paired.items, design.clusters)


def _missing_cause(table: ScoreTable) -> str:
    """Say that all scores that are missing are harness errors; "" where some are missing otherwise."""
    have, meant = table.counts()
    lost = (meant - have).sum(axis=0)
    errors = [system.count("error") for system in table.systems]
    return "harness errors" if table.seen.all() and lost.tolist() == errors else ""


def _left_out(design: PairedDesign, *, told: bool) -> list[str]:
    """Say how many rows are harness errors, else how many items are not paired; `told`: the verdict says what is missing."""
    counted = [(each.name, each.count("error"), each.count(*STATUSES)) for each in design.table.systems]
    failed = [(f"{k:,} of {of:,} rows", name) for name, k, of in counted if k]
    if failed:
        rows = " and ".join(f"{count} of {name}" for count, name in failed)
        if len(failed) == 2 and failed[0][0] == failed[1][0]:
            rows = f"{failed[0][0]} of either side"
        return [] if told else [f"{rows} are harness errors, left out and not counted as wrong"]
    n, total = len(design.paired), len(design.table)
    weakened = any(each.setting == "items" for each in design.differences if each.severity == "weakens")
    return (
        [f"{total - n:,} of {total:,} items could not be paired and are left out"] if n < total and not weakened else []
    )


def _own_cautions(*sides: Score) -> tuple[Note, ...]:
    """Remarks on either side's own interval that the comparison does not give itself."""
    return tuple(
        replace(note, text=f"In the score of {side.name}: {note.text}", caution=False)
        for side in sides
        for note in side.notes
        if note.kind == "few" and note.caution and side.n_clusters is not None
    )


def _invalid(result: Comparison, reason: str) -> Comparison:
    """Return a comparison whose sides cannot be compared: what was observed stays, what would be inferred goes."""
    unknown = (
        "std_error",
        "conf_low",
        "conf_high",
        "statistic",
        "df",
        "p_value",
        "mde",
        "smallest_p",
        "equivalence_low",
    )
    unknown += ("equivalence_high", "at_margin", "these_items", "sequential")
    return replace(
        result,
        verdict="invalid",
        verdict_reason=reason,
        qualifiers=(),
        rows=(),
        effects=(),
        costs=(),
        groups=(),
        missing=replace(result.missing, rows=()),
        **dict.fromkeys(unknown),
    )
