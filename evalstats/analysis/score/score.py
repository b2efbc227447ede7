"""How well does one system do? Its mean score on a benchmark with an interval, and a test against a published number."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from evalstats.analysis.costs import runaway_words
from evalstats.analysis.design.averages import Average, plain_average, refuse_clusters, wanted_average
from evalstats.analysis.design.clusters import (
    chosen_clusters,
    group_columns,
    label_of,
    named_clusters,
    with_item_column,
)
from evalstats.analysis.design.metric import Metric, choose_metric, metrics_to_show
from evalstats.analysis.design.runs import (
    RunsAre,
    TrialDesign,
    draws_note,
    left_out_of_several_runs,
    run_notes,
    trial_design,
)
from evalstats.analysis.options import AverageKind
from evalstats.analysis.pairs import Floats, Ints, Pairs, PassKind, Side, pass_metric, passing, wanted_pass
from evalstats.analysis.provenance import run_notes as recorded_notes
from evalstats.analysis.provenance import sources_of, toolkit_version
from evalstats.analysis.result import estimated, method_row
from evalstats.analysis.result import notes as as_notes
from evalstats.analysis.score.claim import Claim, check_claim, claim_of, limited_by_missing, tested_claim
from evalstats.analysis.score.result import ClaimTest, Score
from evalstats.analysis.settings import recorded
from evalstats.document.model import Note
from evalstats.errors import CannotAnswerError, Option
from evalstats.grammar import quoted_list
from evalstats.schema.data import EvalData, as_data
from evalstats.schema.tables import levels_of
from evalstats.stats.bootstrap import percentile_law
from evalstats.stats.clusters import cluster_mean, multiway_mean
from evalstats.stats.estimate import Estimate
from evalstats.stats.one_sample import (
    beta_posterior,
    clopper_pearson,
    failure_rate_limit,
    jeffreys,
    mean_t,
    unseen_runaways,
    variance_matched_wilson,
    wilson,
)
from evalstats.stats.runs import RunSpread, with_runs
from evalstats.stats.stratified import Strata, stratified_mean, stratified_wilson
from evalstats.stats.trials import suite_pass
from evalstats.table.score_table import ScoreTable
from evalstats.table.systems import SeveralRunsError, System, require_outcomes, rows_named, system_of

_MAX_K = 8


@recorded
def score(
    data: EvalData | object,
    name: str | None = None,
    *,
    metric: str | None = None,
    cluster: str | Sequence[str] | None = None,
    conf_level: float = 0.95,
    contrast: str = "model",
    higher_is_better: bool | None = None,
    pass_hat: int | None = None,
    pass_at: int | None = None,
    runs: RunsAre | None = None,
    run_sd: float | str | None = None,
    average: AverageKind | None = None,
    over: str | None = None,
    weights: Mapping[str, float] | None = None,
    against: float | str | None = None,
    against_n: int | None = None,
    against_se: float | str | None = None,
) -> Score | tuple[Score, ...]:
    """Estimate one system's mean score with its interval; without a name, every system's.

    Parameters
    ----------
    data
        What `evalstats.read`, `from_frame` or a store gave; or any table of outcomes with the glossary's columns.
    name
        A run, system or model (or a level of `contrast`); None for all systems on all benchmarks.
    metric, cluster, conf_level, contrast, higher_is_better, pass_hat, pass_at, runs, run_sd, average, over, weights
        As in `compare`.
    against
        A published number to hold the score against, in the metric's own unit or as "87%"; it is taken as it stands unless
        one of the next two says how precise it is.
    against_n, against_se
        Items behind the published number (right-or-wrong scores), or its standard error.

    Returns
    -------
    Score or tuple of Score
        Wilson for right-or-wrong scores of independent items; variance-matched Wilson for bounded scores, several trials or
        clusters; t or cluster-robust t for unbounded scores.

    Raises
    ------
    InputError
        If a name or column is unknown or ambiguous; without a name, if every system is: else those are left out and noted.
    CannotAnswerError
        If nothing is scored.

    Examples
    --------
    >>> from evalstats import datasets
    >>> found = score(datasets.tenacious_held_out(), "trained")
    >>> found.estimate, round(found.conf_low, 4), found.conf_high
    (1.0, 0.918, 1.0)
    """
    data = as_data(data).with_metric(metric, higher_is_better=higher_is_better)
    require_outcomes(data, *([name] if name is not None else []))
    column = contrast if contrast == "model" else data.factor(contrast)
    arms, others = _every_arm(data, metric, column) if name is None else ([_named_arm(data, name, metric, column)], ())
    wanted = wanted_pass(pass_hat, pass_at)
    check_claim(arms, against, against_n, against_se)
    found = tuple(
        _score_alone(
            data,
            arm,
            chosen,
            cluster,
            conf_level=conf_level,
            contrast=column,
            wanted=wanted,
            averaged={"average": average, "over": over, "weights": weights},
            trials=trial_design([arm], chosen, called=label_of("trial", data.factor_names()), runs=runs, run_sd=run_sd),
            claim=None if against is None else claim_of(against, chosen, n=against_n, std_error=against_se),
        )
        for arm, chosen in arms
    )
    return tuple(replace(each, notes=(*others, *each.notes)) for each in found) if name is None else found[0]


def _held_with_missing(
    test: ClaimTest, pairs: Pairs, metric: Metric, average: Average | None, *, name: str, n_absent: int
) -> tuple[ClaimTest, str | None]:
    """Hold the claim against what is missing: lost trials, and items that other systems have and this one has not."""
    side, strata = pairs.baseline, None if average is None else average.strata(pairs.items)
    n, n_absent = pairs.items.height, n_absent if strata is None else 0
    weights = np.full(n, 1 / n) if strata is None else strata.item_weights
    lost = 1.0 - np.divide(side.n_scored, side.present, out=np.zeros(n), where=side.present > 0)
    share = (float(lost.sum()) + n_absent) / (n + n_absent)
    ends = None
    if metric.low is not None and metric.high is not None:
        expected = max(1, int(side.present.max()))
        low, high = (
            (float(weights @ side.filled(end, expected)) * n + end * n_absent) / (n + n_absent)
            for end in (metric.low, metric.high)
        )
        ends = (low, high)
    return limited_by_missing(test, ends, share, name=name, scale=metric.scale, unit=metric.score_unit)


def _n_items_of_any(data: EvalData, metric: Metric) -> int:
    """Count the items of a metric that any system has."""
    of_metric = (pl.col("benchmark") == metric.benchmark) & (pl.col("metric") == metric.name)
    return data.outcomes.lazy().filter(of_metric).select("task", "item", "variant").unique().collect().height


def _named_arm(data: EvalData, name: str, metric: str | None, column: str) -> tuple[System, Metric]:
    rows = rows_named(data.outcomes, name, contrast=column, role="system")
    chosen = choose_metric(data, rows, metric, contrast=column)
    return system_of(rows, name, chosen, role="system"), chosen


def _every_arm(data: EvalData, metric: str | None, column: str) -> tuple[list[tuple[System, Metric]], tuple[Note, ...]]:
    """Every system on every benchmark: the headline metric, or each metric where none is declared.

    Systems whose runs answered the same items are left out and noted; refused where there is no other.
    """
    level = "system" if column == "model" else column
    arms: list[tuple[System, Metric]] = []
    ambiguous: dict[str, SeveralRunsError] = {}
    benchmarks: list[str] = sorted(data.outcomes["benchmark"].unique().to_list())
    for benchmark in benchmarks:
        rows = data.outcomes.filter(pl.col("benchmark") == benchmark)
        for name in metrics_to_show(data, rows, benchmark, metric):
            chosen = choose_metric(data, rows, name, contrast=column)
            of_metric = rows.filter((pl.col("metric") == name) & (pl.col("status") == "scored"))
            for system in sorted(levels_of(of_metric[level].cast(pl.String))):
                own = rows.filter(pl.col(level).cast(pl.String) == system)
                try:
                    arms.append((system_of(own, system, chosen, role="system"), chosen))
                except SeveralRunsError as error:
                    ambiguous[system if len(benchmarks) == 1 else f"{system} on {benchmark}"] = error
    if ambiguous and not arms:
        raise next(iter(ambiguous.values()))
    if not arms:
        wanted = "" if metric is None else f" of metric {metric!r}"
        raise CannotAnswerError(f"there is no scored row{wanted}; there are {quoted_list(data.outcomes['metric'])}")
    return arms, left_out_of_several_runs(ambiguous, remedy=Option("name", blank="RUN"))


def _score_alone(
    data: EvalData,
    arm: System,
    metric: Metric,
    cluster: str | Sequence[str] | None,
    *,
    conf_level: float,
    contrast: str,
    wanted: tuple[PassKind, int] | None,
    averaged: Mapping[str, Any],
    trials: TrialDesign,
    claim: Claim | None,
) -> Score:
    n_any = 0 if claim is None else _n_items_of_any(data, metric)
    named = named_clusters(data, cluster)
    over = [] if averaged["over"] is None else [data.factor(averaged["over"])]
    factors = sorted({*group_columns(arm.rows), *named, *over})
    table = ScoreTable.of([arm], metric, factors=[each for each in factors if each != contrast])
    scored, total = table.n_scored[:, 0], table.total[:, 0]
    side = Side(n_scored=scored, present=scored + table.n_lost[:, 0], total=total)
    pairs = with_item_column(Pairs(items=table.items, baseline=side, candidate=side))
    if not pairs.paired.any():
        raise CannotAnswerError(
            f"{arm.name!r} has no scored row of {metric.name!r}: {arm.rows.height:,} rows are errors or unscored"
        )
    dropped: tuple[str, ...] = ()
    if wanted is not None:
        metric = pass_metric(metric, *wanted)
        pairs, dropped = passing(pairs, *wanted)
    clusters, notes = chosen_clusters(data, pairs, cluster, arm.runs, contrast=contrast)
    scored_pairs = pairs.subset(pairs.paired)
    average = wanted_average(data, scored_pairs.items, **averaged)
    refuse_clusters(average, clusters, scored_pairs)
    found = score_of_arm(
        arm,
        metric,
        data,
        clusters=clusters,
        conf_level=conf_level,
        pairs=scored_pairs,
        side=scored_pairs.baseline,
        trials=trials,
        strata=None if average is None else average.strata(scored_pairs.items),
    )
    words = plain_average(data, scored_pairs.items, clusters)
    if average is not None:
        words = average.words(scored_pairs.items)
        found = replace(found, estimand=f"{average.how()}, for new items of these same levels")
    if claim is not None:
        n_absent = n_any - pairs.items.height
        codes = _grouping(scored_pairs, clusters)
        strata = None if average is None else average.strata(scored_pairs.items)

        runs = _runs_of(arm, metric, scored_pairs, trials, strata=strata)

        def interval_at(level: float) -> Estimate:
            return _counting(_headline(scored_pairs.baseline, metric, codes, strata, level), runs, metric)

        test = tested_claim(claim, interval_at, conf_level)
        test, undone = _held_with_missing(test, pairs, metric, average, name=arm.name, n_absent=n_absent)
        found = replace(found, against=test, notes=(*as_notes("missing", [undone] if undone else []), *found.notes))
    told = (
        *metric.cautions,
        *as_notes("fit", _runaway_words(scored_pairs.baseline.means(), found, metric)),
        *(draws_note(scored_pairs.items, [arm], trials) if wanted is None else ()),
        *found.notes,
        *as_notes("left_out", dropped, caution=False),
        *as_notes("choice", notes, caution=False),
    )
    return replace(found, average=words, notes=told)


def score_of_arm(
    arm: System,
    metric: Metric,
    data: EvalData,
    *,
    clusters: tuple[str, ...],
    conf_level: float,
    pairs: Pairs,
    side: Side,
    trials: TrialDesign,
    strata: Strata | None = None,
) -> Score:
    """Score one arm on the items of `pairs` (for a comparison, those that both sides answered), `side` being its own.

    `trials` says what its trials are, `strata` are the levels averaged over, where that was asked for.
    """
    means = side.means()
    codes = _grouping(pairs, clusters)
    plain = _rows(means, side, metric, codes, conf_level)
    rows = plain if strata is None else _averaged(means, metric, codes, strata, conf_level, alike=plain[0])
    runs = _runs_of(arm, metric, pairs, trials, strata=strata)
    headline, wider = _counting(rows[0], runs, metric), 1.0
    if headline is not rows[0]:
        if headline.std_error and rows[0].std_error:
            wider = headline.std_error / rows[0].std_error
        rows = [headline, *rows]
    failures = _failure_words(means, side, metric, codes, conf_level) if strata is None else ()
    return Score(
        **estimated(headline, p_value=None),
        name=arm.name,
        metric=metric.name,
        benchmark=metric.benchmark,
        scale=metric.scale,
        unit=metric.score_unit,
        higher_is_better=metric.higher_is_better,
        direction=metric.direction,
        estimand=f"mean score over {'clusters of ' if codes else ''}items{' and runs' if runs is not None else ''} like these",
        n_items=len(means),
        n_trials=side.n_trials,
        n_clusters=headline.n_clusters,
        clusters=tuple(label_of(name, data.factor_names()) for name in clusters),
        n_error=arm.count("error"),
        n_unscored=arm.count("unscored"),
        runs=arm.runs,
        rows=tuple(
            method_row(each, "headline" if i == 0 else "second interval", term="score") for i, each in enumerate(rows)
        ),
        # pass^k takes every item alike, which an average over levels does not.
        pass_hat=_pass_hat(side, metric, codes, conf_level) if strata is None else (),
        version=toolkit_version(),
        sources=sources_of(data, arm.runs),
        notes=(
            *recorded_notes(data, arm.runs),
            *as_notes("few", headline.warnings),
            *as_notes("few", failures, caution=False),
            *as_notes("left_out", arm.remarks, caution=False),
            *run_notes(trials, runs, [arm], metric, wider=wider),
        ),
    )


def _runs_of(
    arm: System, metric: Metric, pairs: Pairs, trials: TrialDesign, *, strata: Strata | None
) -> RunSpread | None:
    """Return how far whole runs of a system differ; an item's pass^k has no such part."""
    if pairs.steps is not None:
        return None
    weights = None if strata is None else strata.item_weights
    return trials.spread(pairs.items, [arm], metric, weights=weights)


def _counting(found: Estimate, runs: RunSpread | None, metric: Metric) -> Estimate:
    return with_runs(found, runs, low=metric.low, high=metric.high)


def _runaway_words(means: Floats, found: Score, metric: Metric) -> tuple[str, ...]:
    """Say where answers that ran away, as many as the items cannot exclude, would raise a mean cost beyond its interval."""
    if not metric.is_cost(means) or found.conf_high is None:
        return ()
    risk = unseen_runaways(
        means, np.zeros_like(means), lead=found.conf_high - float(means.mean()), conf_level=found.conf_level
    )
    return (runaway_words(found.name, risk, "take the mean above its interval"),) if risk.within else ()


def _grouping(pairs: Pairs, clusters: Sequence[str]) -> tuple[Ints, ...]:
    """Return the codes of the clusters that hold at least two items somewhere."""
    codes = tuple(pairs.codes(name) for name in clusters)
    return tuple(each for each in codes if len(np.unique(each)) < len(each))


def _headline(
    side: Side, metric: Metric, codes: tuple[Ints, ...], strata: Strata | None, conf_level: float
) -> Estimate:
    """Return the interval that a score is reported with, alone."""
    means = side.means()
    if strata is not None:
        return _stratified(means, metric, codes, strata, conf_level)
    if metric.span is None:
        return _unbounded(means, codes, conf_level)[0]
    if not codes and _right_or_wrong(means, side):
        return wilson(int(means.sum()), len(means), conf_level=conf_level)
    return _matched(means, metric, codes, _outcomes_behind(side, metric), conf_level)


def _outcomes_behind(side: Side, metric: Metric) -> int | None:
    """Count right-or-wrong trials: they cannot carry more information than as many items."""
    whole = metric.is_share and bool(np.allclose(side.total, np.round(side.total)))
    return int(side.n_scored.sum()) if whole else None


def _rows(means: Floats, side: Side, metric: Metric, codes: tuple[Ints, ...], conf_level: float) -> list[Estimate]:
    if metric.span is None:
        return _unbounded(means, codes, conf_level)
    if not codes and _right_or_wrong(means, side):
        n, x = len(means), int(means.sum())
        return [
            wilson(x, n, conf_level=conf_level),
            clopper_pearson(x, n, conf_level=conf_level),
            jeffreys(x, n, conf_level=conf_level),
            beta_posterior(x, n, a=1, b=1, conf_level=conf_level),
            percentile_law(means, conf_level=conf_level),
        ]
    headline = _matched(means, metric, codes, _outcomes_behind(side, metric), conf_level)
    coarsest = min(codes, key=lambda each: len(np.unique(each))) if codes else None
    return [headline, percentile_law(means, conf_level=conf_level, clusters=coarsest)]


def _averaged(
    means: Floats, metric: Metric, codes: tuple[Ints, ...], strata: Strata, conf_level: float, *, alike: Estimate
) -> list[Estimate]:
    """Return the weighted mean over fixed levels, and beside it the mean of all items alike."""
    beside = replace(alike, method=f"{alike.method}, every item alike")
    return [_stratified(means, metric, codes, strata, conf_level), beside]


def _stratified(means: Floats, metric: Metric, codes: tuple[Ints, ...], strata: Strata, conf_level: float) -> Estimate:
    if metric.low is None or metric.high is None:
        found = stratified_mean(means, strata.codes, weights=strata.shares, clusters=codes, conf_level=conf_level)
        return replace(found, p_value=None, statistic=None)
    return stratified_wilson(
        means,
        strata.codes,
        weights=strata.shares,
        clusters=codes,
        low=metric.low,
        high=metric.high,
        conf_level=conf_level,
    )


def _right_or_wrong(means: Floats, side: Side) -> bool:
    return bool((side.n_scored == 1).all()) and bool(np.isin(means, (0.0, 1.0)).all())


def _matched(means: Floats, metric: Metric, codes: tuple[Ints, ...], n_rows: int | None, conf_level: float) -> Estimate:
    """Return the variance-matched Wilson interval; with crossed clusters the hull of every column's and the multiway one."""
    low, high = float(metric.low or 0.0), float(metric.high if metric.high is not None else 1.0)

    def matched(clusters: Ints | None) -> Estimate:
        return variance_matched_wilson(
            means, low=low, high=high, conf_level=conf_level, clusters=clusters, n_rows=n_rows
        )

    if len(codes) < 2:
        return matched(codes[0] if codes else None)
    found = [*map(matched, codes), multiway_mean(means, codes, conf_level=conf_level, low=low, high=high).estimate]
    without = next((each for each in found if each.conf_low is None), None)
    if without is not None:
        return replace(without, p_value=None, statistic=None)
    return replace(
        found[0],
        conf_low=min(each.conf_low for each in found if each.conf_low is not None),
        conf_high=max(each.conf_high for each in found if each.conf_high is not None),
        std_error=found[-1].std_error,
        n_clusters=found[-1].n_clusters,
        method="widest of variance-matched Wilson by column and multiway CR2",
        warnings=tuple(dict.fromkeys(text for each in found for text in each.warnings)),
    )


def _unbounded(means: Floats, codes: tuple[Ints, ...], conf_level: float) -> list[Estimate]:
    if not codes:
        return [mean_t(means, conf_level=conf_level), percentile_law(means, conf_level=conf_level)]
    if len(codes) == 1:
        found = cluster_mean(means, codes[0], conf_level=conf_level).estimate
    else:
        found = multiway_mean(means, codes, conf_level=conf_level).estimate
    # Its p is that of a mean of 0, which nobody asks of a score.
    return [replace(found, p_value=None, statistic=None)]


def _pass_hat(
    side: Side, metric: Metric, codes: tuple[Ints, ...], conf_level: float
) -> tuple[tuple[int, float, float | None, float | None], ...]:
    """Return pass^k for k up to the smallest number of trials: the chance that k trials of one item all succeed."""
    trials = int(side.n_scored.min())
    whole = np.allclose(side.total, np.round(side.total))
    if (
        not metric.higher_is_better
        or metric.kind not in ("binary", "proportion")
        or trials < 2
        or not whole
        or len(codes) > 1
    ):
        return ()
    successes = np.round(side.total).astype(np.int64)
    clusters = min(codes, key=lambda each: len(np.unique(each))) if codes else None
    found = [
        (k, suite_pass(side.n_scored, successes, k, kind="hat", conf_level=conf_level, clusters=clusters))
        for k in range(1, min(trials, _MAX_K) + 1)
    ]
    return tuple((k, each.estimate, each.conf_low, each.conf_high) for k, each in found)


def _failure_words(
    means: Floats, side: Side, metric: Metric, codes: tuple[Ints, ...], conf_level: float
) -> tuple[str, ...]:
    """Say what a clean sweep does and does not show."""
    n = len(means)
    if codes or not metric.is_share or not _right_or_wrong(means, side) or means.sum() not in (0.0, float(n)):
        return ()
    limit = 100 * failure_rate_limit(n, conf_level=conf_level)
    ones = bool(means.sum() == n)
    if metric.higher_is_better:
        what = f"{'failure' if ones else 'success'} rate"
    else:
        what = f"share of items {'without' if ones else 'with'} {metric.name}"
    return (f"{int(means.sum())} of {n}: the {what} is below {limit:.1f}% (one-sided {100 * conf_level:g}% limit)",)
