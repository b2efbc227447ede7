"""Is B better than A? The comparison of two systems on the same items."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast, overload

import polars as pl

from evalstats.analysis.compare.checks import (
    DEFAULT_LEVEL,
    as_python,
    check_level,
    check_looks,
    check_metrics,
    check_options,
)
from evalstats.analysis.compare.labels import labels_of
from evalstats.analysis.compare.options import CompareOptions
from evalstats.analysis.compare.question import Question, as_invalid
from evalstats.analysis.compare.result import Comparison
from evalstats.analysis.compare.undeclared import Reading, with_what_decides
from evalstats.analysis.compare.verdict import checked_missing
from evalstats.analysis.comparisons.result import Comparisons
from evalstats.analysis.design.averages import Average, fixed_by, refuse_clusters, wanted_average
from evalstats.analysis.design.clusters import (
    ITEM_OF_VARIANTS,
    candidate_groups,
    chosen_clusters,
    duplicate_notes,
    group_columns,
    label_of,
    named_clusters,
    with_item_column,
)
from evalstats.analysis.design.comparability import identical_runs, refusal, run_comparability
from evalstats.analysis.design.dependence import crossed_factors
from evalstats.analysis.design.metric import Metric, choose_metric, direction_notes, margin_in_unit
from evalstats.analysis.design.runs import RunsAre, paired_trials, trial_design
from evalstats.analysis.options import AverageKind
from evalstats.analysis.pairs import Pairs, PassKind, pair_items, pass_metric, passing, wanted_pass
from evalstats.analysis.result import notes as as_notes
from evalstats.analysis.settings import recorded
from evalstats.document.model import Note
from evalstats.errors import CannotAnswerError, InputError, Option
from evalstats.schema.data import EvalData, as_data
from evalstats.schema.plan import Plan, PlanAccount, plan_account, settled, with_plan
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


@overload
def compare(
    data: EvalData | object,
    baseline: str,
    candidate: str,
    *,
    metric: str | None = None,
    by: str | None = None,
    cluster: str | Sequence[str] | None = None,
    margin: float | str | None = None,
    conf_level: float | None = None,
    contrast: str = "model",
    higher_is_better: bool | None = None,
    method: str = "auto",
    pass_hat: int | None = None,
    pass_at: int | None = None,
    sequential: bool = False,
    planned_n: int | None = None,
    shared_trials: bool | None = None,
    runs: RunsAre | None = None,
    run_sd: float | str | None = None,
    accept: Sequence[str] = (),
    average: AverageKind | None = None,
    over: str | None = None,
    weights: Mapping[str, float] | None = None,
    missing: str | None = None,
    plan: Plan | None = None,
    labels: EvalData | object | None = None,
    seed: int = 0,
) -> Comparison: ...
@overload
def compare(
    data: EvalData | object,
    baseline: str,
    candidate: str,
    *,
    metric: Sequence[str],
    by: str | None = None,
    cluster: str | Sequence[str] | None = None,
    margin: float | str | None = None,
    conf_level: float | None = None,
    contrast: str = "model",
    higher_is_better: bool | None = None,
    method: str = "auto",
    pass_hat: int | None = None,
    pass_at: int | None = None,
    sequential: bool = False,
    planned_n: int | None = None,
    shared_trials: bool | None = None,
    runs: RunsAre | None = None,
    run_sd: float | str | None = None,
    accept: Sequence[str] = (),
    average: AverageKind | None = None,
    over: str | None = None,
    weights: Mapping[str, float] | None = None,
    missing: str | None = None,
    plan: Plan | None = None,
    labels: EvalData | object | None = None,
    seed: int = 0,
) -> Comparisons: ...
@recorded
def compare(
    data: EvalData | object,
    baseline: str,
    candidate: str,
    *,
    metric: str | Sequence[str] | None = None,
    by: str | None = None,
    cluster: str | Sequence[str] | None = None,
    margin: float | str | None = None,
    conf_level: float | None = None,
    contrast: str = "model",
    higher_is_better: bool | None = None,
    method: str = "auto",
    pass_hat: int | None = None,
    pass_at: int | None = None,
    sequential: bool = False,
    planned_n: int | None = None,
    shared_trials: bool | None = None,
    runs: RunsAre | None = None,
    run_sd: float | str | None = None,
    accept: Sequence[str] = (),
    average: AverageKind | None = None,
    over: str | None = None,
    weights: Mapping[str, float] | None = None,
    missing: str | None = None,
    plan: Plan | None = None,
    labels: EvalData | object | None = None,
    seed: int = 0,
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
        and the independent interval decides for a column by which items seem to go (`evalstats.analysis.dependence`). "none"
        says that items share nothing: columns declared in the data are set aside, and no other decides.
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
    several = None if metric is None or isinstance(metric, str) else tuple(metric)
    asked = CompareOptions(
        metric=metric if isinstance(metric, str) else None,
        higher_is_better=higher_is_better,
        by=by,
        cluster=(cluster,) if isinstance(cluster, str) else None if cluster is None else tuple(cluster),
        margin=cast("str | None", margin),
        conf_level=conf_level,
        contrast=contrast,
        method=method,
        pass_hat=pass_hat,
        pass_at=pass_at,
        sequential=sequential,
        planned_n=planned_n,
        shared_trials=shared_trials,
        runs=runs,
        run_sd=cast("str | None", run_sd),
        accept=(accept,) if isinstance(accept, str) else tuple(accept),
        average=average,
        over=over,
        weights=weights,
        missing=missing,
        plan=plan,
        labels=labels,
        seed=seed,
    )
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
    data: EvalData, baseline: str, candidate: str, asked: CompareOptions, metrics: tuple[str, ...]
) -> Comparisons:
    """Answer for each metric at the level of Bonferroni over all: intervals hold together, and each p belongs to its own."""
    if asked.margin is not None:
        _refuse_margin_of_several_units(data, (baseline, candidate), asked, metrics)
    rows: list[Comparison] = []
    for name in metrics:
        try:
            found = _answer(data, baseline, candidate, replace(asked, metric=name), family=metrics)
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
    data: EvalData, names: tuple[str, str], asked: CompareOptions, metrics: tuple[str, ...]
) -> None:
    """One margin means the same for several metrics only where they are shown in one unit."""
    require_outcomes(data, *names)
    column = asked.contrast if asked.contrast == "model" else data.factor(asked.contrast)
    found = [_two_arms(data, *names, column, replace(asked, metric=name))[0] for name in metrics]
    if len({(each.scale, each.shown_unit) for each in found}) > 1:
        units = ", ".join(f"{each.name} in {each.shown_unit or 'a unit of its own'}" for each in found)
        raise InputError(
            f"one margin cannot serve metrics of several units ({units}); declare each in evalstats.toml "
            "in [[margins]], or ask for one metric"
        )


def _answer(
    data: EvalData, baseline: str, candidate: str, asked: CompareOptions, *, family: tuple[str, ...] = ()
) -> Comparison:
    """Bring the two sides together and answer with what was asked, else what the plan declares, else the defaults.

    `family` holds all metrics that are asked for at once.
    """
    require_outcomes(data, baseline, candidate)
    column = asked.contrast if asked.contrast == "model" else data.factor(asked.contrast)
    chosen, first, second = _two_arms(data, baseline, candidate, column, asked)
    called = label_of("trial", data.factor_names())
    settings, account = _in_force(asked, chosen, baseline, family)
    trials = trial_design(
        (first, second), chosen, called=called, runs=settings.runs, run_sd=settings.run_sd, shared=asked.shared_trials
    )
    both = paired_trials(first, second, trials, declared=asked.shared_trials, contrast=column)
    first, second = both.baseline, both.candidate
    differences = run_comparability(data, first, second, contrast=column, accept=settings.accept)
    groups = [name for name in group_columns(data.outcomes) if name != column]
    candidates = candidate_groups(data, chosen, groups, contrast=column)
    split, averaged = ([] if name is None else [data.factor(name)] for name in (settings.by, asked.over))
    factors = sorted({*groups, *named_clusters(data, settings.cluster), *split, *averaged})
    pairs = with_item_column(pair_items(first, second, factors=factors, contrast=column))
    chosen, pairs, dropped = _asked_of_trials(chosen, pairs, wanted_pass(asked.pass_hat, asked.pass_at))
    runs = tuple(sorted({*first.runs, *second.runs}))
    clusters, notes = chosen_clusters(data, pairs, settings.cluster, runs, contrast=column)
    question = Question(
        data=data,
        metric=chosen,
        baseline=first,
        candidate=second,
        pairs=pairs,
        clusters=clusters,
        conf_level=DEFAULT_LEVEL if settings.conf_level is None else settings.conf_level,
        margin=margin_in_unit(settings.margin, chosen),
        method=asked.method,
        seed=asked.seed,
        differences=differences,
        identical=identical_runs(data, first, second, contrast=column),
        sequential=asked.sequential,
        planned_n=asked.planned_n,
        ignorable=checked_missing(settings.missing),
        average=_average(data, pairs, clusters, asked),
        trials=trials,
        labels=None
        if asked.labels is None
        else labels_of(asked.labels, pairs.subset(pairs.paired), (first, second), chosen),
    )
    paired = pairs.subset(pairs.paired)
    known = [
        name
        for name in candidates.names
        if all(arm.rows[name].null_count() < arm.rows.height for arm in (first, second))
        # Levels that are averaged over are fixed, and no sample that could be clusters.
        and not fixed_by(question.average, paired, name)
    ]
    declares = bool(settings.cluster) or bool(set(clusters) - {ITEM_OF_VARIANTS})
    reading = with_what_decides(question, known, settled=declares, split=split)
    question = reading.question
    result = question.answer(contrast=asked.contrast, notes=(*dropped, *both.notes, *notes))
    departures = () if account is None else account.departures
    result = replace(
        result,
        plan=account,
        run_differences=differences,
        notes=(*as_notes("plan", departures), *result.notes),
        asked=as_python(asked),
    )
    refused = refusal(differences)
    if refused is not None:
        return as_invalid(result, refused)
    crossed = crossed_factors(paired, known, clusters, data.factor_names())
    remarks = list(candidates.notes)
    if crossed:
        remarks.append(f"Not tested for dependence, since they vary within the clusters: {', '.join(crossed)}")
    result = replace(result, by=settings.by, notes=(*result.notes, *as_notes("choice", remarks, caution=False)))
    result = _with_groups(reading, result, split)
    asks = (note for note in direction_notes(chosen.direction) if note.caution)
    return replace(result, qualifiers=(*asks, *result.qualifiers))


def _with_groups(reading: Reading, result: Comparison, split: Sequence[str]) -> Comparison:
    """Add what the items have in common: the levels of `by`, and factors along which the differences run in groups."""
    question = reading.question
    runs = tuple(sorted({run for arm in (question.baseline, question.candidate) for run in arm.runs}))
    told = [] if question.clusters else [*duplicate_notes(question.data, question.pairs, runs, question.metric)]
    levels = tuple(row for name in split for row in question.by_level(name))
    averages = question.other_averages(result, split)
    told.extend(Note(kind="left_out", text=text) for name in split for text in _in_no_row(question, result, name))
    strata = tuple(row for name in split if (row := question.stratified_row(name)) is not None)
    return replace(
        result,
        rows=(*result.rows, *strata),
        dependence=reading.rows,
        findings=reading.findings,
        other_averages=averages,
        notes=(*result.notes, *told),
        groups=levels,
        flipped_by=question.flipped_by(split[0] if split else "scenario"),
    )


def _in_no_row(question: Question, result: Comparison, name: str) -> Iterator[str]:
    """Say which items stand in none of the rows of a factor: those whose levels differ, and those without one."""
    several, text = question.items_of_several_levels(name)
    if several:
        yield f"{text} and {'stands' if several == 1 else 'stand'} in none of its rows"
    without = question.without_level(name) - several
    if without:
        have, stand = ("has", "stands") if without == 1 else ("have", "stand")
        yield (
            f"{without:,} of {result.n_items:,} items {have} no level of {result.by} and {stand} in none of its rows"
        )


def _in_force(
    asked: CompareOptions, metric: Metric, baseline: str, family: tuple[str, ...] = ()
) -> tuple[CompareOptions, PlanAccount | None]:
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
    settings = replace(
        asked,
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
        settings = replace(settings, conf_level=1 - (1 - level) / len(family))
    check_looks(settings)
    if plan is None:
        return settings, None
    return settings, plan_account(plan, benchmark=metric.benchmark, metric=metric.name, span=metric.span, **named)


def _average(data: EvalData, pairs: Pairs, clusters: Sequence[str], asked: CompareOptions) -> Average | None:
    """Return the average that was asked for, over the items that both sides answered."""
    paired = pairs.subset(pairs.paired)
    found = wanted_average(data, paired.items, average=asked.average, over=asked.over, weights=asked.weights)
    if found is not None and asked.sequential:
        raise InputError(
            "looks while the run goes on are at all items alike; leave out the average, or look at the end"
        )
    refuse_clusters(found, clusters, paired)
    return found


def _asked_of_trials(
    metric: Metric, pairs: Pairs, wanted: tuple[PassKind, int] | None
) -> tuple[Metric, Pairs, tuple[str, ...]]:
    """Turn trials into pass^k or pass@k of each item, where that is the question."""
    if wanted is None:
        return metric, pairs, ()
    kind, k = wanted
    metric = pass_metric(metric, kind, k)
    pairs, notes = passing(pairs, kind, k)
    # With k trials an item and no more, every value is right or wrong again.
    return replace(metric, kind="binary") if pairs.steps == 1 else metric, pairs, notes


def _two_arms(
    data: EvalData, baseline: str, candidate: str, column: str, asked: CompareOptions
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
    arms = (system_of(first, baseline, chosen, role="baseline"), system_of(second, candidate, chosen, role="candidate"))
    return chosen, *arms
