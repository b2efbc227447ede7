"""How precise is one system's score? Its mean on a benchmark with an interval, and a test against a published number."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from evalstats import options as opt
from evalstats.analysis.costs import runaway_words
from evalstats.analysis.design.averages import (
    Average,
    estimand,
    fixed_by,
    other_averages,
    plain_average,
    refuse_clusters,
    wanted_average,
)
from evalstats.analysis.design.clusters import (
    ItemFactor,
    candidate_groups,
    chosen_clusters,
    factor_of_score,
    group_columns,
    label_of,
    named_clusters,
    without_nested,
)
from evalstats.analysis.design.comparability import ran_to_its_limit
from evalstats.analysis.design.labels import (
    Labels,
    by_error_rates,
    corrected_average,
    corrected_score,
    judge_note,
    label_account,
    labels_of,
    one_cluster_column,
    refuse_with_labels,
)
from evalstats.analysis.design.metric import Metric, as_one, choose_metric, metrics_to_show
from evalstats.analysis.design.reliability import Extrapolation, extrapolated, reliability
from evalstats.analysis.design.runs import (
    TrialDesign,
    left_out_of_several_runs,
    passing,
    run_notes,
    trial_design,
    trials_note,
    wanted_pass,
)
from evalstats.analysis.provenance import run_notes as recorded_notes
from evalstats.analysis.provenance import sources_of, toolkit_version
from evalstats.analysis.result import Estimate, Origin, estimated, method_row
from evalstats.analysis.result import notes as as_notes
from evalstats.analysis.score.claim import Claim, check_claim, claim_of, held_with_missing, tested_claim
from evalstats.analysis.score.published import published_score
from evalstats.analysis.score.result import OtherAverageScore, Score, Scores, TaskScore
from evalstats.analysis.settings import recorded
from evalstats.document.model import Note
from evalstats.errors import CannotAnswerError, InputError, Option
from evalstats.grammar import and_list, plural, quoted_list
from evalstats.record import record
from evalstats.schema.data import EvalData, as_data
from evalstats.schema.tables import levels_of
from evalstats.stats.bootstrap import percentile_law
from evalstats.stats.checks import FEW_ITEMS
from evalstats.stats.clusters import cluster_mean, multiway_mean
from evalstats.stats.estimate import IntervalEstimate
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
from evalstats.stats.raters.correction import PoweredMean
from evalstats.stats.runs import RunSpread, with_runs
from evalstats.stats.stratified import Strata, stratified_mean, stratified_wilson
from evalstats.table.items import ITEM_OF_VARIANTS, Floats, Ints
from evalstats.table.metric import MetricFacts, PassKind
from evalstats.table.score_table import ScoreTable
from evalstats.table.systems import SeveralRunsError, System, require_outcomes, rows_named, system_of

# Averages that differ by less are one number.
_ROUNDING = 1e-9


@recorded
def score(
    data: EvalData | object,
    name: opt.System = None,
    *,
    metric: opt.Metric = None,
    cluster: opt.Cluster = None,
    conf_level: opt.ConfLevel = 0.95,
    contrast: opt.Contrast = "model",
    higher_is_better: opt.HigherIsBetter = None,
    pass_hat: opt.PassHat = None,
    pass_at: opt.PassAt = None,
    runs: opt.Runs = None,
    run_sd: opt.RunSd = None,
    average: opt.Average = None,
    over: opt.Over = None,
    weights: opt.Weights = None,
    against: opt.Against = None,
    against_n: opt.AgainstN = None,
    against_se: opt.AgainstSe = None,
    labels: opt.Labels = None,
) -> Score | Scores:
    """Estimate the mean score of one system, or of every system, with its interval.

    Several benchmarks that all of these systems have are the tasks of one suite: the score is then the macro average over
    tasks, with a row for each; with labels the micro average, without rows. What cannot be averaged, since scales or headlines
    are open, is listed when no name is given.

    Parameters
    ----------
    data
        What `evalstats.read`, `from_frame` or a store gave; or any table of outcomes with the glossary's columns.
    name
        A run, system or model (or a level of `contrast`); None for all systems on all benchmarks.
    metric, cluster, conf_level, contrast, higher_is_better, pass_hat, pass_at, runs, run_sd, average, over, weights
        As in `compare`; pass^k and pass@k of up to four times the trials that were run are extrapolated, and said to be.
    against
        A published number to hold the score against, in the metric's own unit or as "87%"; it is taken as it stands unless
        one of the next two says how precise it is.
    against_n, against_se
        Items behind the published number (right-or-wrong scores), or its standard error.
    labels
        People's labels of a part of the items, where a judge gave the scores, as in `compare`; of one system alone, item and
        value are enough. At least 20 labels of each system.

    Returns
    -------
    Score, or Scores of several systems
        Wilson for right-or-wrong scores of independent items; variance-matched Wilson for bounded scores, several trials or
        clusters; t or cluster-robust t for unbounded scores. With labels, the prediction-powered mean.

    Raises
    ------
    InputError
        If a name or column is unknown or ambiguous; without a name, if every system is: else those are left out and noted.
    CannotAnswerError
        If nothing is scored; with labels, if they are too few, or no random part of the items.

    Examples
    --------
    >>> from evalstats import datasets
    >>> found = score(datasets.tenacious_held_out(), "trained")
    >>> found.estimate, round(found.conf_low, 4), found.conf_high
    (1.0, 0.918, 1.0)
    """
    asked = opt.GivenOptions.of(score, locals())
    data = as_data(data, asked.names()).with_metric(metric, higher_is_better=higher_is_better)
    if data.aggregates.height and not data.outcomes.height:
        return published_score(data, name, asked)
    require_outcomes(data, *([name] if name is not None else []))
    column = data.factor(contrast)
    of_suite: tuple[Note, ...] = ()
    try:
        data, asked, of_suite = as_one(data, asked, None if name is None else [name], contrast=column)
    except InputError:
        if name is not None:
            raise
    metric = asked.metric
    if name is None:
        systems, others = _every_system(data, metric, column)
    else:
        rows = rows_named(data.outcomes, name, contrast=column, role="system")
        chosen = choose_metric(data, rows, metric, contrast=column)
        systems, others = [(system_of(rows, name, chosen, role="system"), chosen)], ()
    wanted = wanted_pass(pass_hat, pass_at)
    if labels is not None:
        averages = {"average": asked.average, "weights": asked.weights, "over": asked.over}
        refuse_with_labels({**averages, "pass_hat": pass_hat, "pass_at": pass_at})
        data.need_rows("a correction by labels")
    check_claim([chosen for _, chosen in systems], against, against_n, against_se)
    called = label_of("trial", data.factor_names())
    columns = group_columns(data.outcomes)
    groups = {
        (chosen.benchmark, chosen.name): candidate_groups(data, chosen, columns, contrast=column).names
        for chosen in ({} if cluster else {(each.benchmark, each.name): each for _, each in systems}).values()
    }
    found = tuple(
        _score_alone(
            data,
            system,
            chosen,
            asked,
            contrast=column,
            wanted=wanted,
            trials=trial_design([system], chosen, called=called, runs=runs, run_sd=run_sd),
            claim=None if against is None else claim_of(against, chosen, n=against_n, std_error=against_se),
            groups=groups,
        )
        for system, chosen in systems
    )
    others = (*others, *of_suite)
    found = tuple(replace(each, notes=(*others, *each.notes)) for each in found)
    return found[0] if len(found) == 1 else Scores(rows=found)


def _every_system(
    data: EvalData, metric: str | None, column: str
) -> tuple[list[tuple[System, Metric]], tuple[Note, ...]]:
    """Every system on every benchmark: the headline metric, or each metric where none is declared.

    Systems whose runs answered the same items are left out and noted; refused where there is no other.
    """
    level = "system" if column == "model" else column
    systems: list[tuple[System, Metric]] = []
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
                    systems.append((system_of(own, system, chosen, role="system"), chosen))
                except SeveralRunsError as error:
                    ambiguous[system if len(benchmarks) == 1 else f"{system} on {benchmark}"] = error
    if ambiguous and not systems:
        raise next(iter(ambiguous.values()))
    if not systems:
        names: list[str] = levels_of(data.outcomes["metric"]) if metric is None else [metric]
        n_rows = data.outcomes.filter(pl.col("metric").is_in(names)).height
        raise CannotAnswerError(f"no row of {quoted_list(names)} has a score, of {n_rows:,}")
    return systems, left_out_of_several_runs(ambiguous, remedy=Option("name", blank="RUN"))


def _score_alone(
    data: EvalData,
    system: System,
    metric: Metric,
    asked: opt.GivenOptions,
    *,
    contrast: str,
    wanted: tuple[PassKind, int] | None,
    trials: TrialDesign,
    claim: Claim | None,
    groups: Mapping[tuple[str, str], Sequence[str]],
) -> Score:
    """Estimate the score of one system with what was asked."""
    conf_level, cluster, labels = asked.conf_level, asked.cluster, asked.labels
    over = [] if asked.over is None else [data.factor(asked.over)]
    factors = sorted({*group_columns(system.rows), *named_clusters(data, cluster), *over} - {contrast})
    every = ScoreTable.of([system], metric, factors=factors)
    if not every.scored.any():
        raise CannotAnswerError(
            f"{system.name!r} has no scored row of {metric.name!r}: {system.rows.height:,} rows are errors or unscored"
        )
    # No item was run so often: the trials stay what they are, and a law of them answers.
    beyond = wanted if wanted is not None and wanted[1] > int(every.n_scored.max()) else None
    if beyond is None:
        every, dropped = passing(every, wanted)
    else:
        every, dropped = replace(every, metric=every.passing(*beyond).metric), ()
    clusters, notes = chosen_clusters(data, every, cluster, system.runs, contrast=contrast)
    table = every.take(every.paired())
    average = wanted_average(data, table.items, asked)
    refuse_clusters(average, clusters, table)
    shared = tuple[Note, ...]()
    if beyond is None and not cluster and not set(clusters) - {ITEM_OF_VARIANTS}:
        clusters, shared = _factor(
            data,
            table,
            groups[metric.benchmark, metric.name],
            clusters,
            average=average,
            trials=trials,
            conf_level=conf_level,
        )
    scores = item_scores(table, clusters, trials, average=average)
    if beyond is not None:
        scores = _extrapolated(scores, *beyond, conf_level=conf_level, average=average, claim=claim)
    if labels is not None:
        scores = replace(scores, labels=labels_of(labels, table, data, clusters=clusters, contrast=contrast))
    found = score_of(scores, data, conf_level)
    if scores.labels is not None and found.labels is not None and not scores.clusters and scores.labels.chances is None:
        by_errors = by_error_rates(scores.means, scores.labels.values[:, 0], conf_level=conf_level)
        further = tuple(method_row(each, "second interval", term="score") for each in by_errors)
        account = replace(found.labels, by_errors=Estimate(**estimated(by_errors[0])) if by_errors else None)
        found = replace(found, rows=(*found.rows[:-1], *further, found.rows[-1]), labels=account)
    words = plain_average(data, table.items, clusters)
    if average is not None:
        words = average.words(table.items)
        found = replace(found, estimand=estimand("score", found.clusters, average))
    undone = None
    if claim is not None:
        test = tested_claim(claim, lambda level: _counting(_headline(scores, level), scores), conf_level)
        of_metric = (pl.col("benchmark") == metric.benchmark) & (pl.col("metric") == metric.name)
        items = data.outcomes.lazy().filter(of_metric).select("task", "item", "variant").unique().collect()
        n_absent = 0 if ran_to_its_limit(data, system, len(every)) else items.height - len(every)
        test, undone = held_with_missing(test, every, average, n_absent=n_absent)
        found = replace(found, against=test)
    by = "task" if average is None else average.column
    several = by in table.items.columns and not table.items[by].null_count() and table.items[by].n_unique() > 1
    several = several and labels is None and beyond is None  # a task may have no labels of its own
    tasks = _of_each(table, by, clusters, trials, conf_level) if several else ()
    short = [f"{row.level} ({row.n_items})" for row in tasks if row.n_items < FEW_ITEMS and average is not None]
    few = f"Fewer than {FEW_ITEMS} items, where no method is reliable: {and_list(short, 3)}"
    others = _other_averages(data, table, clusters, trials, found=found, average=average, labels=scores.labels)
    by_k = reliability(metric, scores.counts, scores.successes, conf_level=conf_level, clusters=scores.clusters)
    return replace(
        found,
        average=words,
        by=(by if average is None else average.label) if several else None,
        tasks=tasks,
        other_averages=() if beyond else others,
        reliability=by_k if average is None and labels is None else None,
        notes=(
            *metric.cautions,
            *((scores.beyond.note(),) if scores.beyond else ()),
            *as_notes("fit", _runaway_words(scores, found)),
            *(trials_note(table, trials) if wanted is None else ()),
            *as_notes("missing", [undone] if undone else []),
            *shared,
            *as_notes("few", [few] if short else []),
            *found.notes,
            *as_notes("left_out", dropped, caution=False),
            *as_notes("choice", notes, caution=False),
        ),
    )


def _factor(
    data: EvalData,
    table: ScoreTable,
    columns: Sequence[str],
    clusters: tuple[str, ...],
    *,
    average: Average | None,
    trials: TrialDesign,
    conf_level: float,
) -> tuple[tuple[str, ...], tuple[Note, ...]]:
    """Return the clusters with the factor that decides, where nobody declared any, and the note that says so."""

    def joined(row: ItemFactor | None) -> tuple[str, ...]:
        return clusters if row is None else tuple(without_nested(table, (*clusters, row.column)))

    def width(row: ItemFactor | None) -> float:
        return _headline(item_scores(table, joined(row), trials, average=average), conf_level).width

    free = [name for name in columns if not fixed_by(average, table, name)]
    factor = factor_of_score(table, free, clusters, width, names=data.factor_names())
    return joined(factor), () if factor is None else (factor.note(),)


def _of_each(
    table: ScoreTable, by: str, clusters: Sequence[str], trials: TrialDesign, conf_level: float
) -> tuple[TaskScore, ...]:
    """Return the score on each level of a factor, as if it were all that there is."""
    rows: list[TaskScore] = []
    for level, part in table.levels(by):
        scores = item_scores(part, clusters, trials)
        found = _counting(_headline(scores, conf_level), scores)
        row = TaskScore(**estimated(found, p_value=None), level=level, n_items=len(part), n_clusters=found.n_clusters)
        rows.append(row)
    return tuple(rows)


def _other_averages(
    data: EvalData,
    table: ScoreTable,
    clusters: Sequence[str],
    trials: TrialDesign,
    *,
    found: Score,
    average: Average | None,
    labels: Labels | None,
) -> tuple[OtherAverageScore, ...]:
    """Return the score by each other average that could have been meant, and that `labels` are enough for."""
    rows: list[OtherAverageScore] = []
    for other in other_averages(data, table.items, but=average):
        if any(fixed_by(other, table, name) for name in clusters) or (clusters and labels is not None):
            continue
        scores = item_scores(table, clusters, trials, average=None if other.kind == "micro" else other)
        try:
            own = _counting(_headline(replace(scores, labels=labels), found.conf_level), scores)
        except CannotAnswerError:
            continue
        low, high = found.conf_low, found.conf_high
        inside = low is None or high is None or low - _ROUNDING <= own.estimate <= high + _ROUNDING
        rows.append(
            OtherAverageScore(
                **estimated(own, p_value=None),
                factor=other.label,
                kind="micro" if other.kind == "micro" else "macro",
                words=other.words(table.items),
                agrees=inside,
            )
        )
    return tuple(rows)


# --- the score of one system ---


@record
class ItemScores:
    """One system's item means, shape (n_items,), and what its score is estimated from besides.

    `table` is that of the one system, whose items all have a value, `columns` what they are clustered by. `counts` are the scored
    trials behind each mean (of a pass^k, one), `clusters` codes of the columns of which some level holds two items, `strata` the
    levels averaged over, `runs` how far whole runs differ, where they are a sample; `labels` are people's.
    `beyond` is pass^k or pass@k that is asked for, where k is more trials than any item has.
    """

    table: ScoreTable
    trials: TrialDesign
    columns: tuple[str, ...]
    metric: MetricFacts
    means: Floats
    counts: Ints
    clusters: tuple[Ints, ...] = ()
    strata: Strata | None = None
    runs: RunSpread | None = None
    labels: Labels | None = None
    beyond: Extrapolation | None = None

    @property
    def right_or_wrong(self) -> bool:
        """Whether every value is one right-or-wrong answer."""
        return bool((self.counts == 1).all()) and bool(np.isin(self.means, (0.0, 1.0)).all())

    @property
    def successes(self) -> Ints | None:
        """Successes behind every mean of a share; None for other metrics, and where the totals are no whole numbers."""
        if not self.metric.is_share:
            return None
        total = self.means * self.counts
        return np.round(total).astype(np.int64) if np.allclose(total, np.round(total)) else None

    @property
    def coarsest(self) -> Ints | None:
        """The clusters of which there are fewest."""
        return min(self.clusters, key=lambda each: len(np.unique(each))) if self.clusters else None


def item_scores(
    table: ScoreTable,
    clusters: Sequence[str],
    trials: TrialDesign,
    *,
    average: Average | None = None,
    labels: Labels | None = None,
) -> ItemScores:
    """Return what the score of the one system of a table is made of; all of its items have a value."""
    codes = (table.codes(name) for name in clusters)
    strata = None if average is None else average.strata(table.items)
    weights = None if strata is None else strata.item_weights
    return ItemScores(
        table=table,
        trials=trials,
        columns=tuple(clusters),
        metric=table.metric,
        means=table.column(0),
        counts=table.counts()[0][:, 0],
        clusters=tuple(each for each in codes if len(np.unique(each)) < len(each)),
        strata=strata,
        # An item's pass^k has no such part.
        runs=None if table.passes else trials.spread(table, weights=weights),
        labels=labels,
    )


def _extrapolated(
    scores: ItemScores, kind: PassKind, k: int, *, conf_level: float, average: Average | None, claim: Claim | None
) -> ItemScores:
    """Return the same scores, of which a law of the trials run is asked for k trials."""
    most, name = int(scores.counts.max()), f"pass{'^' if kind == 'hat' else '@'}{k}"
    if average is not None:
        raise InputError(
            f"{name} of {plural(most, 'trial')} is extrapolated with every item alike, not over {average.label}; ask for one "
            f"with {Option('where', blank='NAME', of=average.label)}"
        )
    if claim is not None:
        raise InputError(
            f"a claim is held against trials that were run, and {name} of {plural(most, 'trial')} is extrapolated; leave out "
            f"{Option('against')}"
        )
    if most < 2 or scores.successes is None:
        raise CannotAnswerError(f"no item has {plural(k, 'scored trial')}; the most that any has is {most}")
    counted = (scores.counts, scores.successes)
    found = extrapolated(*counted, [(kind, k)], conf_level=conf_level, clusters=scores.coarsest)
    return replace(scores, beyond=found[0], runs=None)


def score_of(scores: ItemScores, data: EvalData, conf_level: float) -> Score:
    """Estimate the score of one system."""
    table, metric, runs = scores.table, scores.metric, scores.runs
    (system,) = table.systems
    alike = replace(scores, strata=None, labels=None)
    plain = _headline(alike, conf_level)
    rows, account = [plain, *_beside(alike, conf_level)], None
    if scores.labels is not None:
        corrected = _corrected(scores, scores.labels, conf_level)
        account = label_account(corrected, plain, (), scores.labels.people)
        judge = replace(plain, method=f"the judge alone, {plain.method}")
        rows = [replace(corrected.estimate, p_value=None, statistic=None), corrected.labels_only, judge]
    if scores.strata is not None:
        # pass^k and a clean sweep take every item alike, which an average over levels does not.
        rows = [_headline(scores, conf_level), replace(plain, method=f"{plain.method}, micro average")]
    headline, wider = _counting(rows[0], scores), 1.0
    if headline is not rows[0]:
        if headline.std_error and rows[0].std_error:
            wider = headline.std_error / rows[0].std_error
        rows = [headline, *rows]
    units = "clusters of items" if scores.clusters else "items"
    return Score(
        **estimated(headline, p_value=None),
        name=system.name,
        about=metric.facts,
        estimand=f"mean score over {units}{' and runs' if runs is not None else ''} like these",
        n_items=len(table),
        item_sd=float(scores.means.std(ddof=1)) if metric.bounds is None and len(table) > 1 else None,
        n_trials=table.n_trials(),
        n_clusters=headline.n_clusters,
        clusters=tuple(label_of(name, data.factor_names()) for name in scores.columns),
        n_error=system.count("error"),
        n_unscored=system.count("unscored"),
        runs=system.runs,
        rows=(
            *(method_row(each, "second interval" if i else "headline", term="score") for i, each in enumerate(rows)),
            *(scores.beyond.further_rows() if scores.beyond else ()),
        ),
        extrapolated_from=scores.beyond.n_trials if scores.beyond else None,
        labels=account,
        origin=Origin(sources=sources_of(data, system.runs), version=toolkit_version()),
        notes=(
            *recorded_notes(data, system.runs),
            *as_notes("few", headline.warnings),
            *as_notes("few", _sweep_words(scores, conf_level) if account is None else (), caution=False),
            *(() if account is None else judge_note(account, system.name, metric)),
            *(() if scores.labels is None else scores.labels.notes),
            *as_notes("left_out", system.remarks, caution=False),
            *run_notes(table, scores.trials, runs, wider=wider),
        ),
    )


def _counting(found: IntervalEstimate, scores: ItemScores) -> IntervalEstimate:
    """Count the variation from run to run in an interval."""
    return with_runs(found, scores.runs, low=scores.metric.low, high=scores.metric.high)


def _corrected(scores: ItemScores, labels: Labels, conf_level: float) -> PoweredMean:
    codes, values = one_cluster_column(scores.clusters), labels.values[:, 0]
    return corrected_score(
        scores.means, values, labels.chances, codes, scores.metric, conf_level=conf_level, tuning=labels.tuning
    )


def _headline(scores: ItemScores, conf_level: float) -> IntervalEstimate:
    """Return the interval that a score is reported with, alone; it has no p, which would be that of a score of 0."""
    means, metric, clusters, strata = scores.means, scores.metric, scores.clusters, scores.strata
    if scores.beyond is not None:
        return scores.beyond.estimate
    if scores.labels is not None and strata is not None:
        values, chances = scores.labels.values[:, 0], scores.labels.chances
        found = corrected_average(means, values, chances, strata, metric, conf_level=conf_level)
        return replace(found, p_value=None, statistic=None)
    if scores.labels is not None:
        return replace(_corrected(scores, scores.labels, conf_level).estimate, p_value=None, statistic=None)
    if strata is not None and metric.bounds is not None:
        return stratified_wilson(
            means,
            strata.codes,
            weights=strata.shares,
            clusters=clusters,
            low=metric.bounds[0],
            high=metric.bounds[1],
            conf_level=conf_level,
        )
    if strata is not None:
        found = stratified_mean(means, strata.codes, weights=strata.shares, clusters=clusters, conf_level=conf_level)
    elif metric.bounds is not None:
        if not clusters and scores.right_or_wrong:
            return wilson(int(means.sum()), len(means), conf_level=conf_level)
        return _matched(scores, metric.bounds, conf_level)
    elif not clusters:
        return mean_t(means, conf_level=conf_level)
    elif len(clusters) == 1:
        found = cluster_mean(means, clusters[0], conf_level=conf_level).estimate
    else:
        found = multiway_mean(means, clusters, conf_level=conf_level).estimate
    return replace(found, p_value=None, statistic=None)


def _matched(scores: ItemScores, bounds: tuple[float, float], conf_level: float) -> IntervalEstimate:
    """Return the variance-matched Wilson interval; with crossed clusters the hull of every column's and the multiway one."""
    (low, high), means, clusters = bounds, scores.means, scores.clusters
    # Right-or-wrong trials cannot carry more information than as many items.
    n_rows = int(scores.counts.sum()) if scores.metric.is_share and scores.successes is not None else None

    def matched(codes: Ints | None) -> IntervalEstimate:
        return variance_matched_wilson(means, low=low, high=high, conf_level=conf_level, clusters=codes, n_rows=n_rows)

    if len(clusters) < 2:
        return matched(clusters[0] if clusters else None)
    found = [
        *map(matched, clusters),
        multiway_mean(means, clusters, conf_level=conf_level, low=low, high=high).estimate,
    ]
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


def _beside(scores: ItemScores, conf_level: float) -> list[IntervalEstimate]:
    """Return the further intervals of a plain mean."""
    means, bounded = scores.means, scores.metric.bounds is not None
    if scores.beyond is not None or (not bounded and scores.clusters):
        return []
    law = percentile_law(means, conf_level=conf_level, clusters=scores.coarsest)
    if not bounded or scores.clusters or not scores.right_or_wrong:
        return [law]
    n, x = len(means), int(means.sum())
    return [
        clopper_pearson(x, n, conf_level=conf_level),
        jeffreys(x, n, conf_level=conf_level),
        beta_posterior(x, n, a=1, b=1, conf_level=conf_level),
        law,
    ]


def _sweep_words(scores: ItemScores, conf_level: float) -> tuple[str, ...]:
    """Say what a clean sweep does and does not show."""
    metric, n, right = scores.metric, len(scores.means), scores.means.sum()
    plain = not scores.clusters and scores.strata is None and metric.is_share and scores.right_or_wrong
    if not plain or right not in (0.0, float(n)):
        return ()
    limit = 100 * failure_rate_limit(n, conf_level=conf_level)
    if metric.higher_is_better:
        what = f"{'failure' if right else 'success'} rate"
    else:
        what = f"share of items {'without' if right else 'with'} {metric.name}"
    return (f"{int(right)} of {n}: the {what} is below {limit:.1f}% (one-sided {100 * conf_level:g}% limit)",)


def _runaway_words(scores: ItemScores, found: Score) -> tuple[str, ...]:
    """Say where answers that ran away, as many as the items cannot exclude, would raise a mean cost beyond its interval."""
    means = scores.means
    if not scores.metric.is_cost(means) or found.conf_high is None:
        return ()
    lead = found.conf_high - float(means.mean())
    risk = unseen_runaways(means, np.zeros_like(means), lead=lead, conf_level=found.conf_level)
    return (runaway_words(found.name, risk, "take the mean above its interval"),) if risk.within else ()
