"""Is B better than A? The comparison of two systems on the same items."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import cast

import polars as pl

from evalstats.analysis.arms import (
    Arm,
    Metric,
    choose_metric,
    make_arm,
    margin_in_unit,
    refuse_same_rows,
    require_outcomes,
    rows_named,
    shared_benchmarks,
)
from evalstats.analysis.comparability.comparability import identical_runs, refusal, run_comparability
from evalstats.analysis.compare.question import Question, as_invalid
from evalstats.analysis.compare.result import DECIDED, Comparison, OtherLevels, lost_levels
from evalstats.analysis.compare.verdict import checked_missing
from evalstats.analysis.grouping import (
    ITEM_OF_VARIANTS,
    Average,
    Candidates,
    candidate_groups,
    chosen_clusters,
    crossed_factors,
    dependence_rows,
    duplicate_notes,
    fixed_by,
    group_columns,
    label_of,
    named_clusters,
    refuse_clusters,
    wanted_average,
    with_item_column,
)
from evalstats.analysis.options import AverageKind
from evalstats.analysis.pairs import Pairs, PassKind, pair_items, pass_metric, passing, trials_of_both, wanted_pass
from evalstats.analysis.provenance import dependence_notes
from evalstats.analysis.result import notes as as_notes
from evalstats.analysis.scales import direction_notes
from evalstats.document.model import Note
from evalstats.document.numbers import many, scaled
from evalstats.errors import InputError
from evalstats.schema.data import EvalData, as_data
from evalstats.schema.plan import Plan, PlanAccount, plan_account, settled, with_plan
from evalstats.stats.checks import FEW_CLUSTERS

DEFAULT_LEVEL = 0.95
METHODS = ("auto", "tango", "augmented-t", "t", "cr2")


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
    accept: Sequence[str] = (),
    average: AverageKind | None = None,
    over: str | None = None,
    weights: Mapping[str, float] | None = None,
    missing: str | None = None,
    plan: Plan | None = None,
    seed: int = 0,
) -> Comparison:
    """Compare two systems on the items that both answered: candidate minus baseline.

    Parameters
    ----------
    data
        What `evalstats.read`, `from_frame` or a store gave; or any table of outcomes with the glossary's columns.
    baseline, candidate
        A run, else a system or model; or levels of the column named by `contrast`.
    metric
        The score to compare; needed only where the benchmark declares no headline.
    by
        A factor; the comparison is repeated within each of its levels, as one family.
    cluster
        One or several columns whose levels share something (a passage, a template, a user). Columns declared in the data,
        and the item where it has several variants, are clusters as well. "none" says that items share nothing: columns
        declared in the data are set aside, and no other is looked for.
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
        pairs trials whose labels are the same on both sides, and takes trials that are merely counted as independent.
    accept
        Settings in which the runs differ on purpose ("n_shots", "judge", ...); otherwise such a difference can make the
        comparison invalid. See `evalstats.analysis.comparability.comparability`.
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
    seed
        For permutations and random sign flips; intervals do not depend on it.

    Returns
    -------
    Comparison
        Verdict, difference with interval and p, checks, missing data, flipped items, suspected dependence.

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
    >>> round(100 * result.estimate, 2), result.verdict
    (48.84, 'better')
    >>> compare(datasets.tenacious_held_out(), "baseline", "trained", cluster="dimension").verdict
    'inconclusive'
    """
    asked = _as_python(
        metric=metric,
        by=by,
        cluster=cluster,
        margin=margin,
        conf_level=conf_level,
        contrast=None if contrast == "model" else contrast,
        higher_is_better=higher_is_better,
        method=None if method == "auto" else method,
        pass_hat=pass_hat,
        pass_at=pass_at,
        sequential=sequential or None,
        planned_n=planned_n,
        shared_trials=shared_trials,
        accept=list(accept) or None,
        average=average,
        over=over,
        weights=None if weights is None else dict(weights),
        missing=missing,
        seed=seed or None,
    )
    data = (as_data(data) if plan is None else with_plan(as_data(data), plan)).with_metric(
        metric, higher_is_better=higher_is_better
    )
    _check_options(method=method, seed=seed, contrast=contrast, names=(baseline, candidate))
    baseline, candidate = data.written(baseline), data.written(candidate)
    require_outcomes(data, baseline, candidate)
    column = contrast if contrast == "model" else data.factor(contrast)
    chosen, first, second = _two_arms(data, baseline, candidate, metric, column, plan=plan)
    both = trials_of_both(
        first, second, declared=shared_trials, contrast=column, called=label_of("trial", data.factor_names())
    )
    first, second = both.baseline, both.candidate
    given = _Given(
        baseline=baseline,
        metric=metric,
        by=by,
        cluster=cluster,
        margin=margin,
        conf_level=conf_level,
        accept=tuple(accept),
        missing=missing,
    )
    options = given.in_force(plan, chosen, split=not sequential)
    _check_level(options.conf_level, options.margin)
    _check_looks(options.by, planned_n, method, sequential=sequential)
    differences = run_comparability(data, first, second, contrast=column, accept=options.accept)
    groups = [name for name in group_columns(data.outcomes) if name != column]
    candidates = candidate_groups(data, chosen, groups, contrast=column)
    named = named_clusters(data, options.clusters)
    split: list[str] = [] if options.by is None else [data.factor(options.by)]
    averaged: list[str] = [] if over is None else [data.factor(over)]
    factors = sorted({*groups, *named, *split, *averaged})
    pairs = with_item_column(pair_items(first, second, factors=factors, contrast=column))
    chosen, pairs, dropped = _asked_of_trials(chosen, pairs, wanted_pass(pass_hat, pass_at))
    runs = tuple(sorted({*first.runs, *second.runs}))
    clusters, notes = chosen_clusters(data, pairs, options.clusters, runs, contrast=column)
    question = Question(
        data=data,
        metric=chosen,
        baseline=first,
        candidate=second,
        pairs=pairs,
        clusters=clusters,
        conf_level=options.conf_level,
        margin=margin_in_unit(options.margin, chosen),
        method=method,
        seed=seed,
        differences=differences,
        identical=identical_runs(data, first, second, contrast=column),
        sequential=sequential,
        planned_n=planned_n,
        ignorable=checked_missing(options.missing),
        settled=bool(options.clusters) or bool(set(clusters) - {ITEM_OF_VARIANTS}),
        average=_average(data, pairs, clusters, average, over, weights, sequential=sequential),
        shared_trials=both.shared,
    )
    result = question.answer(contrast=contrast, notes=(*dropped, *both.notes, *notes))
    account = given.account(plan, chosen)
    departures = () if account is None else account.departures
    told = (*as_notes("plan", departures), *result.notes)
    result = replace(result, plan=account, run_differences=differences, notes=told, asked=(*asked, *_plan_again(plan)))
    refused = refusal(differences)
    if refused is not None:
        return as_invalid(result, refused)
    result = _with_groups(question, replace(result, by=options.by), split, candidates)
    asks = (note for note in direction_notes(chosen.direction) if note.caution)
    return replace(result, qualifiers=(*asks, *result.qualifiers))


def _with_groups(
    question: Question,
    result: Comparison,
    split: Sequence[str],
    candidates: Candidates,
) -> Comparison:
    """Add what the items have in common: the levels of `by`, and factors along which the differences run in groups."""
    data, pairs, arms = question.data, question.pairs, (question.baseline, question.candidate)
    clusters = question.clusters
    paired = pairs.subset(pairs.paired)
    known = [name for name in candidates.names if all(arm.rows[name].null_count() < arm.rows.height for arm in arms)]
    # Levels that are averaged over are fixed, and no sample that could be clusters.
    known = [name for name in known if not fixed_by(question.average, paired, name)]
    suspects = dependence_rows(paired, known, clusters, names=data.factor_names(), seed=question.seed)
    runs = tuple(sorted({run for arm in arms for run in arm.runs}))
    told = [] if clusters else [*duplicate_notes(data, pairs, runs, question.metric)]
    flagged: list[str] = []
    if not question.settled:
        told.extend(dependence_notes(suspects))
        flagged = [data.factor(row.factor) for row in suspects if row.flag == "warn" and row.n_levels >= FEW_CLUSTERS]
    others = tuple(question.for_other_levels(name, result.verdict) for name in flagged) if _claims(result) else ()
    remarks = list(candidates.notes)
    crossed = crossed_factors(paired, known, clusters, data.factor_names())
    if crossed:
        remarks.append(f"not tested for dependence, since they vary within the clusters: {', '.join(crossed)}")
    levels = tuple(row for name in split for row in question.by_level(name, flagged))
    left_out = sum(question.without_level(name) for name in split)
    if left_out:
        text = f"{left_out} of {result.n_items} items have no level of {result.by} and stand in none of its rows"
        told.append(Note(kind="left_out", text=text))
    strata = tuple(row for name in split if (row := question.stratified_row(name)) is not None)
    return replace(
        result,
        rows=(*result.rows, *strata),
        dependence=suspects,
        other_levels=others,
        qualifiers=(*result.qualifiers, *_not_for_others(result, others)),
        notes=(*result.notes, *told, *as_notes("choice", remarks, caution=False)),
        groups=levels,
        flipped_by=question.flipped_by(split[0] if split else "scenario"),
    )


def _claims(result: Comparison) -> bool:
    """Whether anything is claimed that might not hold for other items."""
    return result.verdict in DECIDED or (result.at_margin is not None and result.at_margin.noninferior)


def _as_python(**given: object) -> tuple[tuple[str, str], ...]:
    """Return the options that were given as Python."""
    return tuple((name, repr(value)) for name, value in given.items() if value is not None)


def _plan_again(plan: Plan | None) -> tuple[tuple[str, str], ...]:
    return () if plan is None else (("plan", f"es.read_plan({PurePath(plan.source or 'evalstats.toml').name!r})"),)


def _not_for_others(result: Comparison, others: Sequence[OtherLevels]) -> tuple[Note, ...]:
    """Say for which items the verdict holds, where it would be another with the levels of a factor as clusters."""
    main = next(iter(lost_levels(result.verdict, others)), None)
    if main is None:
        return ()
    ends = "no interval"
    if main.conf_low is not None:
        low, high = (scaled(end, result.scale, 1) for end in (main.conf_low, main.conf_high))
        ends = f"{low} to {high} {result.unit}".rstrip()
    text = f"on these {result.n_items:,} items, not established for other {many(main.factor)} than these {main.n_levels} ({ends})"
    return (Note(kind="dependence", text=text),)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Options:
    """The options in force, the plan's among them."""

    by: str | None
    clusters: tuple[str, ...]
    margin: float | str | None
    conf_level: float
    accept: tuple[str, ...]
    missing: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Given:
    """The options as the user gave them, None for those left open."""

    baseline: str
    metric: str | None
    by: str | None
    cluster: str | Sequence[str] | None
    margin: float | str | None
    conf_level: float | None
    accept: tuple[str, ...]
    missing: str | None

    @property
    def _named(self) -> dict[str, object]:
        clusters = [self.cluster] if isinstance(self.cluster, str) else self.cluster
        return {
            "families": None if self.by is None else [self.by],
            "clusters": None if clusters is None else list(clusters),
            "margin": self.margin,
            "conf_level": self.conf_level,
            "accept": list(self.accept) or None,
            "missing": self.missing,
            "baseline": self.baseline,
            "primary": self.metric,
        }

    def in_force(self, plan: Plan | None, metric: Metric, *, split: bool) -> _Options:
        """Return what was given, else what the plan declares, else the defaults; a plan's split only where one is possible."""
        found = settled(plan, benchmark=metric.benchmark, metric=metric.name, **self._named)
        families = cast("Sequence[str]", found["families"] or ())
        return _Options(
            # One split a result: where a plan declares several families, each is asked for by name.
            by=families[0] if len(families) == 1 and (split or self.by is not None) else None,
            clusters=tuple(cast("Sequence[str]", found["clusters"] or ())),
            margin=cast("float | str | None", found["margin"]),
            conf_level=DEFAULT_LEVEL if found["conf_level"] is None else cast("float", found["conf_level"]),
            accept=tuple(cast("Sequence[str]", found["accept"] or ())),
            missing=cast("str | None", found["missing"]),
        )

    def account(self, plan: Plan | None, metric: Metric) -> PlanAccount | None:
        """Return what the result says of its plan."""
        if plan is None:
            return None
        return plan_account(plan, benchmark=metric.benchmark, metric=metric.name, span=metric.span, **self._named)


def _average(  # noqa: PLR0917 - what was asked of the average
    data: EvalData,
    pairs: Pairs,
    clusters: Sequence[str],
    average: str | None,
    over: str | None,
    weights: Mapping[str, float] | None,
    *,
    sequential: bool,
) -> Average | None:
    """Return the average that was asked for, over the items that both sides answered."""
    paired = pairs.subset(pairs.paired)
    found = wanted_average(data, paired.items, average=average, over=over, weights=weights)
    if found is not None and sequential:
        message = "looks while the run goes on are at all items alike; leave out the average, or look at the end"
        raise InputError(message)
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
    data: EvalData, baseline: str, candidate: str, metric: str | None, column: str, *, plan: Plan | None
) -> tuple[Metric, Arm, Arm]:
    """Find both sides' rows, the benchmark they share, and the metric."""
    first = rows_named(data.outcomes, baseline, contrast=column, role="baseline")
    second = rows_named(data.outcomes, candidate, contrast=column, role="candidate")
    refuse_same_rows(first, second, (baseline, candidate))
    shared = shared_benchmarks(first, second, (baseline, candidate))
    if metric is None and plan is not None and len(shared) == 1:
        metric = plan.primary_for(shared[0])
    chosen = choose_metric(
        data, pl.concat([first, second]).filter(pl.col("benchmark").is_in(shared)), metric, contrast=column
    )
    return (
        chosen,
        make_arm(first, baseline, chosen, role="baseline"),
        make_arm(second, candidate, chosen, role="candidate"),
    )


def _check_level(conf_level: float, margin: float | str | None) -> None:
    lowest = 0.5 if margin is None else 0.8
    if isinstance(conf_level, str) or not lowest < conf_level < 1:
        why = "" if margin is None else " (equivalence is judged by the interval at twice the level less one)"
        message = f"conf_level is {conf_level}; it must lie above {lowest} and below 1{why}, such as 0.95"
        raise InputError(message)


def _check_looks(by: str | None, planned_n: int | None, method: str, *, sequential: bool) -> None:
    if sequential and method != "auto":
        message = f"method {method!r} gives an interval for one look; leave it out with --sequential"
        raise InputError(message)
    if sequential and by is not None:
        message = (
            f"looks while the run goes on are at all items together; leave out the split by {by!r}, or look at the end"
        )
        raise InputError(message)
    if planned_n is not None and not sequential:
        message = "planned_n is for looks while the run goes on; ask for them with --sequential"
        raise InputError(message)


def _check_options(*, method: str, seed: int, contrast: str, names: tuple[str, str]) -> None:
    if isinstance(seed, float | str) or seed < 0:
        message = f"seed is {seed}; it must be a whole number from 0"
        raise InputError(message)
    if method not in METHODS:
        message = f"method {method!r} is unknown; choose one of {', '.join(METHODS)}"
        raise InputError(message)
    if contrast in ("item", "task"):
        message = f"contrast {contrast!r} names what is paired, not what is compared; name a column that tells the sides apart"
        raise InputError(message)
    if names[0] == names[1]:
        message = f"baseline and candidate are both {names[0]!r}; name two different runs or models"
        raise InputError(message)
