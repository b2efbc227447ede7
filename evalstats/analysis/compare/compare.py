"""Is B better than A? Comparison of two systems on the same items: read, table, design, estimate, result."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from evalstats import options as opt
from evalstats.analysis.by_metric import by_metrics
from evalstats.analysis.compare.design import PairedDesign, decided
from evalstats.analysis.compare.difference import Difference, effect_rows
from evalstats.analysis.compare.flips import flipped_items, item_spread, loss_slices
from evalstats.analysis.compare.levels import by_level, items_in_no_row, stratified_row
from evalstats.analysis.compare.result import Comparison, Comparisons, OtherAverage, TheseItems, Verdict
from evalstats.analysis.compare.sequential import (
    as_difference,
    as_watched,
    check_looks,
    sequential_account,
    sequential_at_margin,
    uneven_order,
)
from evalstats.analysis.compare.verdict import (
    Judged,
    answered,
    at_margin,
    judged,
    left_out,
    missing_account,
    missing_beyond,
    picked_notes,
    verdict_of,
    with_unseen,
    withheld,
)
from evalstats.analysis.costs import cost_rows
from evalstats.analysis.design.averages import (
    estimand,
    fixed_by,
    other_averages,
    plain_average,
    refuse_clusters,
    wanted_average,
)
from evalstats.analysis.design.clusters import (
    candidate_groups,
    chosen_clusters,
    crossed_factors,
    duplicate_notes,
    group_columns,
    label_of,
    named_clusters,
)
from evalstats.analysis.design.comparability import (
    difference_notes,
    identical_runs,
    of_asked_items,
    refusal,
    run_comparability,
)
from evalstats.analysis.design.different_users import persons_as_items, unpaired_arms
from evalstats.analysis.design.labels import labels_of, refuse_with_labels
from evalstats.analysis.design.metric import (
    Metric,
    as_one,
    both_systems,
    check_family,
    direction_notes,
    margin_in_unit,
    metrics_of_both,
    open_direction,
)
from evalstats.analysis.design.reliability import reliability_of_each
from evalstats.analysis.design.runs import (
    paired_trials,
    passing,
    run_notes,
    same_items_row,
    trial_design,
    trials_note,
    wanted_pass,
)
from evalstats.analysis.posterior.result import with_posterior
from evalstats.analysis.provenance import run_notes as recorded_notes
from evalstats.analysis.provenance import sources_of, toolkit_version
from evalstats.analysis.result import MethodRow, Origin, estimated, method_row
from evalstats.analysis.result import notes as as_notes
from evalstats.analysis.score.result import Score
from evalstats.analysis.score.score import item_scores, score_of
from evalstats.analysis.settings import recorded
from evalstats.document.model import Note
from evalstats.errors import CannotAnswerError, InputError, Option
from evalstats.grammar import quoted_list
from evalstats.schema.data import EvalData, as_data
from evalstats.schema.plan import Plan, PlanAccount, plan_account, settled, unmet, with_plan, with_primary
from evalstats.schema.tables import levels_of
from evalstats.stats.posterior import ClusterMoments
from evalstats.stats.runs import RunSpread
from evalstats.table.items import ITEM_OF_VARIANTS, trial_sets
from evalstats.table.score_table import ScoreTable, refuse_unpaired
from evalstats.table.systems import only_two, require_outcomes

_LEVEL = 0.95


@by_metrics(Comparison, Comparisons)
@recorded
def compare(
    data: EvalData | object,
    baseline: opt.Baseline = None,
    candidate: opt.Candidate = None,
    *,
    metric: opt.Metrics = None,
    by: opt.By = None,
    cluster: opt.Cluster = None,
    paired: opt.Paired = None,
    covariate: opt.Covariate = None,
    ratio: opt.Ratio = None,
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
    posterior: opt.AddPosterior = False,
    seed: opt.Seed = 0,
) -> Comparison | Comparisons:
    """Compare two systems on the items that both answered: candidate minus baseline.

    Parameters
    ----------
    data
        What `evalstats.read`, `from_frame` or a store gave; any table of outcomes; or a path, or a list of paths.
    baseline, candidate
        A run, else a system or model; or levels of the column named by `contrast`. Of data that hold just two, the one
        that a plan declares is the baseline, else the one called so (baseline, control, old), else the first by name. Of two
        paths alone, in a list or as the first two arguments, the first is the baseline's.
    metric
        The score to compare. Several in a list are answered each in its own unit and direction, with intervals and p adjusted
        for their number (Bonferroni), as those of `by` are. None: the headline that the benchmark declares, else all that
        both sides have, as such a list.
    by
        A factor; the comparison is repeated within each of its levels, as one family.
    cluster
        One or several columns whose levels share something (a passage, a template, a user). Columns declared in the data,
        and the item where it has several variants, are clusters as well. Where nothing is declared, the wider of the clustered
        and the independent interval decides for a column by which items seem to go (`evalstats.analysis.design.clusters`).
        "none" says that items share nothing: columns declared in the data are set aside, and no other decides.
    paired
        Whether both sides answered the same items. False: different users or items, such as an A/B test (Miettinen-Nurminen,
        Welch, or CR2 of two samples; flips, costs, sequential looks and labels need pairs). None: where rows have no id and are
        numbered by their place, or share no id, persons (users, customers, accounts) of whom most met both sides are the items
        and their rows the trials; else numbered rows are unpaired, and so are one table's users of whom hardly any met both
        sides; all else is paired.
    covariate
        Of unpaired sides, a column that was measured before anybody was assigned: the difference is adjusted for it.
    ratio
        Of unpaired sides, the ratio in which users were assigned to them, such as "60:40". Where their numbers do not fit it
        (p < .001), the comparison is invalid. None: a note says so of users of one table who are not half and half.
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
        For those who look while the run goes on: an interval and a p that hold at every look, over the items in the order in
        which they were finished; wider than for one look at the end. What `evalstats run` wrote was looked at, and has it.
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
    posterior
        Whether to add the posterior beside the interval, as `Comparison.posterior` gives it.
    seed
        For permutations and random sign flips; intervals do not depend on it.

    Returns
    -------
    Comparison or Comparisons
        Verdict, difference, checks, missing data and flipped items; of several metrics, one such answer for each.

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
    data = as_data(data, asked.names(baseline=baseline, candidate=candidate))
    data = data if plan is None else with_plan(data, plan)
    declared = None if plan is None else plan.baseline
    baseline, candidate = only_two(data, (baseline, candidate), contrast=contrast, declared=declared)
    if baseline == candidate:
        own = data.outcomes.filter(pl.any_horizontal(pl.col("system", "model") == baseline))["run"]
        held = f", such as two of its runs: {quoted_list(own)}" if own.n_unique() > 1 else ""
        raise InputError(f"baseline and candidate are both {baseline!r}; name two different runs or models{held}")
    if labels is not None:
        unlike: dict[str, object] = {"by": by, "sequential": sequential, "average": average or weights}
        refuse_with_labels(unlike | {"pass_hat": pass_hat, "pass_at": pass_at, "method": method != "auto"})
    if contrast in ("item", "task"):
        raise InputError(
            f"contrast {contrast!r} names what is paired, not what is compared; name what tells the sides apart"
        )
    if sequential or labels is not None:
        data.need_rows("a sequential interval or a correction by labels")
    if shared_trials and data.merged and trial_sets(data.outcomes) is None:
        raise CannotAnswerError(
            "which trials of both sides belong together is not known: name the column that tells them apart, "
            f"{Option('map', blank='COLUMN', of='trial')}"
        )
    sides = data.written(baseline), data.written(candidate)
    of_metrics = as_notes("plan", unmet(plan, data))
    if metric is None:
        require_outcomes(data, *sides)
        data, column = with_primary(data, plan), data.factor(contrast)
        shared, unshared = metrics_of_both(data, sides, contrast=column)
        of_metrics += unshared
        metric = shared[0] if len(shared) == 1 else shared or None
    if metric is None or isinstance(metric, str):
        data = data.with_metric(metric, higher_is_better=higher_is_better)
        found = _answer(data, *sides, asked.but(metric=metric))
        found = with_posterior(found) if posterior else found
    else:
        check_family(tuple(metric), asked.values)
        found = _answer_each(data, *sides, asked, tuple(metric))
    return replace(found, notes=(*of_metrics, *found.notes)) if of_metrics else found


def _answer_each(
    data: EvalData, baseline: str, candidate: str, asked: opt.GivenOptions, metrics: tuple[str, ...]
) -> Comparisons:
    """Answer for each metric at the level of Bonferroni over all: intervals hold together, and each p belongs to its own."""
    if asked.margin is not None:
        # One margin means the same for several metrics only where they are shown in one unit.
        require_outcomes(data, baseline, candidate)
        column = data.factor(asked.contrast)
        known = [both_systems(data, baseline, candidate, metric=name, contrast=column)[0] for name in metrics]
        if len({(each.scale, each.shown_unit) for each in known}) > 1:
            units = ", ".join(f"{each.name} in {each.shown_unit or 'a unit of its own'}" for each in known)
            raise InputError(
                f"one margin cannot serve metrics of several units ({units}); declare each in evalstats.toml "
                "in [[margins]], or ask for one metric"
            )
    rows: list[Comparison] = []
    for name in metrics:
        try:
            found = _answer(data, baseline, candidate, asked.but(metric=name), family=metrics)
        except (InputError, CannotAnswerError) as error:
            if repr(name) in str(error):
                raise
            # Of several, the reader has to know which.
            error.args = (f"metric {name!r}: {error}",)
            raise
        p, found = found.p_value, with_posterior(found) if asked.posterior else found
        rows.append(replace(found, p_adjusted=None if p is None else min(1.0, len(metrics) * p)))
    plan: Plan | None = asked.plan
    level = asked.conf_level if asked.conf_level is not None or plan is None else plan.conf_level
    return Comparisons(rows=tuple(rows), conf_level=_LEVEL if level is None else level)


def _answer(
    data: EvalData, baseline: str, candidate: str, asked: opt.GivenOptions, *, family: tuple[str, ...] = ()
) -> Comparison:
    """Bring the two sides together and answer with what was asked, else what the plan declares, else the defaults.

    `family` holds all metrics that are asked for at once.
    """
    require_outcomes(data, baseline, candidate)
    column = data.factor(asked.contrast)
    asked = asked if family else as_watched(data, asked, (baseline, candidate))
    data, asked, of_suite = as_one(data, asked, (baseline, candidate), contrast=column, split=not family)
    metric, first, second = both_systems(
        data, baseline, candidate, metric=asked.metric, contrast=column, plan=asked.plan
    )
    asked, account = _in_force(asked, metric, baseline, family)
    split, averaged, before = (
        [] if name is None else [data.factor(name)] for name in (asked.by, asked.over, asked.covariate)
    )
    named = [*split, *averaged, *before]
    data, (first, second), of_persons = persons_as_items(data, (first, second), paired=asked.paired, within=named)
    called = label_of("trial", data.factor_names())
    trials = trial_design(
        (first, second),
        metric,
        called=called,
        runs=asked.runs,
        run_sd=asked.run_sd,
        shared=asked.shared_trials,
    )
    (first, second), unpaired, numbered = unpaired_arms(data, (first, second), paired=asked.paired)
    of_trials: tuple[str, ...] = ()
    if not unpaired:
        first, second, of_trials = paired_trials(first, second, trials, declared=asked.shared_trials, contrast=column)
    differences = run_comparability(data, first, second, contrast=column, accept=asked.accept)

    groups = [name for name in group_columns(data.outcomes) if name != column]
    factors = sorted({*groups, *named_clusters(data, asked.cluster), *named})
    table = ScoreTable.of((first, second), metric, factors=factors, contrast=column)
    table, dropped = passing(table, wanted_pass(asked.pass_hat, asked.pass_at))
    departures = as_notes("plan", () if account is None else account.departures)
    if unpaired:
        from evalstats.analysis.compare.unpaired import unpaired_comparison  # its imports take long, too

        result = unpaired_comparison(
            data,
            table,
            asked,
            trials=trials,
            differences=differences,
            notes=dropped,
            numbered=numbered,
        )
        origin = replace(result.origin, plan=account)
        result = replace(result, by=asked.by, origin=origin, notes=(*departures, *of_suite, *result.notes))
        refused = refusal(result.run_differences)
        return result if refused is None else _invalid(result, refused)
    for name in ("covariate", "ratio"):
        if name in asked.given():
            raise InputError(
                f"{Option(name)} is for groups that share no item, and these are paired; leave it out, or add "
                f"{Option('paired', value=False)}"
            )
    refuse_unpaired(table)
    table, not_asked = of_asked_items(data, table)
    paired = table.take(table.paired())

    clusters, of_clusters = chosen_clusters(data, table, asked.cluster, table.runs, contrast=column)
    average = wanted_average(data, paired.items, asked)
    refuse_clusters(average, clusters, paired)
    design = PairedDesign(
        data=data,
        table=table,
        paired=paired,
        cautions=metric.cautions,
        trials=trials,
        conf_level=asked.conf_level,
        margin=margin_in_unit(asked.margin, table.metric),
        method=asked.method,
        seed=asked.seed,
        clusters=clusters,
        average=average,
        labels=None
        if asked.labels is None
        else labels_of(asked.labels, paired, data, clusters=clusters, contrast=column),
        ignorable=asked.missing == "ignorable",
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
    declares = bool(asked.cluster) or bool(set(clusters) - {ITEM_OF_VARIANTS})
    design, looked_at, findings = decided(design, known, settled=declares, split=split)

    result = _estimated(design, contrast=asked.contrast, notes=(*dropped, *not_asked, *of_trials, *of_clusters))
    result = replace(
        result,
        origin=replace(result.origin, plan=account),
        run_differences=differences,
        notes=(*departures, *of_suite, *of_persons, *result.notes),
    )
    refused = refusal(differences)
    if refused is not None:
        return _invalid(result, refused)
    untested = crossed_factors(paired, known, clusters, data.factor_names())
    copies = () if design.clusters else duplicate_notes(data, table.items, table.runs, table.metric)
    levels = tuple(row for name in split for row in by_level(design, name))
    in_no_row = [text for name in split for text in items_in_no_row(design, name, asked.by)]
    asks = (note for note in direction_notes(metric.direction) if note.caution)
    return replace(
        result,
        by=asked.by,
        qualifiers=(*asks, *result.qualifiers),
        rows=(*result.rows, *(row for name in split if (row := stratified_row(design, name)) is not None)),
        groups=levels,
        dependence=looked_at,
        findings=findings,
        other_averages=_by_other_averages(design, result, split),
        loss_slices=loss_slices(
            paired,
            (*known, *split, "task"),
            names=data.factor_names(),
            clusters=design.clusters,
            conf_level=design.conf_level,
            seed=design.seed,
        ),
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
        conf_level=_LEVEL if found["conf_level"] is None else found["conf_level"],
        accept=tuple(found["accept"] or ()),
        missing=found["missing"],
        runs=found["runs"],
        run_sd=found["run_sd"],
    )
    level = settings.conf_level
    if settings.margin is not None and level <= 0.8:
        given = Option("conf_level", level)
        raise InputError(
            f"{given} is too low for a margin, which takes the interval at 2 x level - 1; give more than 0.8"
        )
    if len(family) > 1:
        settings = settings.but(conf_level=1 - (1 - level) / len(family))
    check_looks(settings)
    if plan is None:
        return settings, None
    return settings, plan_account(plan, benchmark=metric.benchmark, metric=metric.name, span=metric.span, **named)


# --- from the design to the result ---


def _estimated(design: PairedDesign, *, contrast: str, notes: tuple[str, ...]) -> Comparison:
    """Estimate the difference on all paired items, and judge it."""
    metric, paired, margin, scores = design.metric, design.paired, design.margin, design.scores()
    found = design.difference(scores, method=design.method if design.widened_by is None else "auto", further=True)
    found = with_unseen(found, scores, margin)
    watched = watched_at_margin = None
    if design.sequential:
        watched = sequential_account(
            design.table,
            clusters=design.clusters,
            conf_level=design.conf_level,
            planned_n=design.planned_n,
            margin=margin,
        )
        watched_at_margin = sequential_at_margin(watched)
        found = as_difference(watched, found)
    elif paired.passes is None and design.labels is None:
        same = same_items_row(paired, design.trials, conf_level=design.conf_level)
        differ = trials_note(paired, design.trials)
        found = replace(found, rows=(*found.rows, *([] if same is None else [same])), notes=(*found.notes, *differ))
    if design.identical is not None:
        found = replace(found, doubts=(design.identical,), no_equivalence=(*found.no_equivalence, design.identical))
    found = design.without_claims(found)

    missing = missing_account(design)
    loss, gain = missing_beyond(missing, metric, margin), missing_beyond(missing, metric, margin, loss=False)
    found = replace(found, no_equivalence=(*found.no_equivalence, *([] if loss is None else [loss])))
    if watched is None:
        ends = design.equivalence(scores)
        stands = at_margin(found, scores, margin)
    else:
        ends = watched.equivalence_low, watched.equivalence_high
        stands = withheld(watched_at_margin, "; ".join(found.no_equivalence) or None)
    stands = withheld(stands, open_direction(metric.name) if metric.direction == "asked" else None)
    if loss is None and gain is not None:
        found = replace(found, no_equivalence=(*found.no_equivalence, gain))
    verdict, reason = verdict_of(design, found, ends, noninferior=stands is not None and stands.noninferior)
    these, beside = _on_these_items(design, verdict)
    if watched is None:
        found = design.shown(found, beside)
    headline = found.headline
    have, meant = (each.sum(axis=0) for each in design.table.counts())
    lost = (meant - have).tolist()
    only_errors = design.table.seen.all() and lost == [system.count("error") for system in design.table.systems]
    ruled = judged(
        missing,
        verdict,
        reason,
        estimate=headline.estimate,
        names=design.names,
        margin=margin,
        cause="harness errors" if only_errors else "",
    )
    trials = replace(design.trials, shared=False)

    sides: list[Score] = []
    for j, side in enumerate((paired.select(0), paired.select(1))):
        tuning = None if found.labels is None else found.labels.tuning
        labels = None if design.labels is None or tuning is None else design.labels.of_side(j, tuning)
        own = item_scores(side, design.clusters, trials, average=design.average, labels=labels)
        sides.append(score_of(own, design.data, design.conf_level))
    clusters = tuple(label_of(name, design.data.factor_names()) for name in design.clusters)
    average = plain_average(design.data, paired.items, design.clusters)
    # Effect sizes take every item alike, which an average over levels does not; with labels they are the judge's.
    plain = scores.strata is None and design.labels is None
    one_way = headline.method == "CR2, Satterthwaite df" and len(scores.clusters) == 1 and design.labels is None
    return Comparison(
        **estimated(headline, conf_level=design.conf_level, reason=headline.reason if design.too_few else None),
        about=metric.facts,
        baseline=sides[0],
        candidate=sides[1],
        contrast=contrast,
        tasks=tuple(name for name in levels_of(paired.items["task"]) if name),
        statistic=headline.statistic,
        method_reason=found.method_reason,
        estimand=estimand(
            "difference",
            clusters,
            design.average,
            new="" if scores.runs is None else "trial" if design.trials.shared else "run",
        ),
        average=average if design.average is None else design.average.words(paired.items),
        verdict=ruled.verdict,
        verdict_reason=ruled.reason,
        qualifiers=(*found.qualifiers(ruled.verdict), *ruled.qualifiers),
        rows=found.rows,
        table=found.table,
        n_items=len(paired),
        n_trials=paired.n_trials(),
        n_clusters=headline.n_clusters,
        clusters=clusters,
        runs_counted=scores.runs is not None,
        run_std_error=None if scores.runs is None else math.sqrt(scores.runs.middle_variance),
        design_effect=found.design_effect,
        effective_clusters=found.effective_clusters,
        mde=found.mde,
        smallest_p=found.smallest_p,
        these_items=these,
        margin=margin,
        equivalence_low=None if design.too_few else ends[0],
        equivalence_high=None if design.too_few else ends[1],
        at_margin=stands,
        sequential=watched,
        spread=item_spread(paired) if design.labels is None else None,
        uneven=uneven_order(paired, design.clusters) if plain and watched is None else None,
        missing=replace(missing, withheld=ruled.withheld),
        labels=found.labels,
        cluster_moments=ClusterMoments.of(scores.differences, scores.clusters[0]) if one_way else None,
        flipped=flipped_items(paired, design.data.runs),
        effects=effect_rows(found, scores, design.conf_level) if plain else (),
        costs=cost_rows(paired, clusters=design.clusters, conf_level=design.conf_level),
        reliability=reliability_of_each(paired, clusters=design.clusters, conf_level=design.conf_level)
        if plain and paired.passes is None
        else (),
        origin=Origin(sources=sources_of(design.data, paired.runs), version=toolkit_version(), seed=design.seed),
        notes=_notes(
            design,
            found,
            ruled,
            sides=sides,
            spread=scores.runs,
            choices=(*notes, *(() if watched is None else watched.notes)),
        ),
    )


def _on_these_items(design: PairedDesign, verdict: Verdict) -> tuple[TheseItems | None, tuple[MethodRow, ...]]:
    """Answer as if a factor that nobody declared told nothing, where one decides; and the row that stands beside."""
    factor = design.too_few or design.widened_by
    if factor is None:
        return None, ()
    plain = replace(design, clusters=design.declared, widened_by=None, too_few=None)
    _, found, then, _ = answered(plain)
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


def _by_other_averages(design: PairedDesign, result: Comparison, declared: Sequence[str]) -> tuple[OtherAverage, ...]:
    """Answer in few words by each other average that could have been meant; none beside labels, and while a run is watched."""
    if design.labels is not None or design.sequential:
        return ()
    rows: list[OtherAverage] = []
    for average in other_averages(design.data, design.paired.items, but=design.average, declared=declared):
        if any(fixed_by(average, design.paired, name) for name in design.clusters):
            continue
        other = replace(design, average=average if average.kind == "macro" else None, method="auto")
        _, found, verdict, reason = answered(other)
        estimate = found.headline.estimate
        verdict = judged(missing_account(other), verdict, reason, estimate=estimate, names=design.names).verdict
        row = OtherAverage(
            **estimated(found.headline, reason=None),
            factor=average.label,
            kind="macro" if average.kind == "macro" else "micro",
            words=average.words(design.paired.items),
            verdict=verdict,
            agrees=(result.estimate or 0.0) * estimate >= 0 and verdict == result.verdict,
        )
        rows.append(row)
    return tuple(rows)


def _notes(
    design: PairedDesign,
    found: Difference,
    ruled: Judged,
    *,
    sides: Sequence[Score],
    spread: RunSpread | None,
    choices: Iterable[str],
) -> tuple[Note, ...]:
    """Return cautions and remarks; `spread` is what the runs add, `choices` what was chosen without being asked."""
    paired, runs = design.paired, design.paired.runs
    counting, without = found.headline.std_error, None if found.without_runs is None else found.without_runs.std_error
    return (
        *(note for note in recorded_notes(design.data, runs) if note.kind != "selection" or not design.sequential),
        *found.notes,
        *picked_notes(design, found, ruled.verdict),
        *(factor.note() for factor in (design.widened_by, design.too_few) if factor is not None),
        *run_notes(paired, design.trials, spread, wider=counting / without if counting and without else 1.0),
        *ruled.cautions,
        *design.cautions,
        *(note for note in difference_notes(design.differences) if note.caution),
        *as_notes("comparability", [] if design.identical is None else [design.identical]),
        *as_notes("missing", left_out(design, told=ruled.names_missing)),
        # What a side's own interval has to say that the comparison does not say itself.
        *(
            replace(note, text=f"In the score of {side.name}: {note.text}", caution=False)
            for side in sides
            for note in side.notes
            if note.kind == "few" and note.caution and side.n_clusters is not None
        ),
        *as_notes("choice", choices, caution=False),
        *as_notes("left_out", [remark for system in paired.systems for remark in system.remarks], caution=False),
        *(note for note in difference_notes(design.differences) if not note.caution),
    )


def _invalid(result: Comparison, reason: str) -> Comparison:
    """Return a comparison whose sides cannot be compared: what was observed stays, what would be inferred goes."""
    unknown = (
        "std_error", "conf_low", "conf_high", "statistic", "df", "p_value", "mde", "smallest_p", "equivalence_low",
        "equivalence_high", "at_margin", "these_items", "sequential", "uneven",
    )  # fmt: skip
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
