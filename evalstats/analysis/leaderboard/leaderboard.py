"""How do all models stand, and which ranks are certain? The leaderboard, with rank sets instead of ranks."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, get_args

import numpy as np

from evalstats import options as opt
from evalstats.analysis.by_metric import by_metrics
from evalstats.analysis.design.averages import estimand, plain_average, refuse_clusters, wanted_average
from evalstats.analysis.design.clusters import (
    chosen_clusters,
    duplicate_notes,
    label_of,
    named_clusters,
    without_nested,
)
from evalstats.analysis.design.different_users import (
    assigned_units,
    covariate_of,
    met_by_several,
    persons_as_items,
    rows_may_align,
    split_mismatch,
    unpaired_arms,
)
from evalstats.analysis.design.entries import (
    ComparabilityGraph,
    RunKinds,
    entries_of,
    entry_of,
    entry_table,
    least_shared,
    shared_counts,
)
from evalstats.analysis.design.labels import refuse_with_labels
from evalstats.analysis.design.metric import as_one, check_family, metrics_of_both
from evalstats.analysis.design.runs import (
    left_out_of_several_runs,
    run_notes,
    trial_design,
    trials_note,
    wanted_pass,
)
from evalstats.analysis.leaderboard.board import Board, corrected, dated, model_rows, pair_rows
from evalstats.analysis.leaderboard.checks import (
    best_if_missing,
    cautions,
    dependence_of_lead,
    failures_of_the_best,
    missing_share,
    omnibus_of,
    on_these_items,
    other_leaders,
    tails_of_the_best,
)
from evalstats.analysis.leaderboard.new_task import new_task_of
from evalstats.analysis.leaderboard.published import published_leaderboard
from evalstats.analysis.leaderboard.ranks import BoardScores, Ranking, RankingOptions, ranking
from evalstats.analysis.leaderboard.result import Leaderboard, Leaderboards, snapped_pairs, snapped_rows
from evalstats.analysis.posterior.result import with_posterior
from evalstats.analysis.provenance import run_notes as recorded_notes
from evalstats.analysis.provenance import sources_of, toolkit_version
from evalstats.analysis.result import Origin, notes
from evalstats.analysis.settings import answered_by_plan, recorded
from evalstats.document.model import Note
from evalstats.errors import CannotAnswerError, InputError, Option
from evalstats.grammar import is_are, plural
from evalstats.schema.data import EvalData, as_data
from evalstats.schema.plan import Plan as DeclaredPlan
from evalstats.schema.plan import settled, unmet, with_plan, with_primary
from evalstats.schema.tables import levels_of
from evalstats.stats.computation import one_thread
from evalstats.stats.many.independent import ENOUGH_UNITS
from evalstats.table.items import ITEM_OF_VARIANTS
from evalstats.table.systems import SeveralRunsError, remarks_of, require_outcomes

DEFAULT_LEVEL = 0.95
ADJUSTMENTS: tuple[opt.Adjustment, ...] = get_args(opt.Adjustment)
_REASONS = {
    "max-t": "item scores are known: the largest difference of all pairs sets the bar, and dependence between pairs is included",
    "holm": "it was asked for; it holds whatever the dependence between pairs",
    "bh": "it was asked for: of the pairs called separated, a small share is expected to be false, which fits a screen",
    "by": "it was asked for: as bh, whatever the dependence between pairs",
}
_DECLARED = "Missing scores are declared to have nothing to do with the answers, so no verdict is withheld for them"
_ALONE = "the two are compared as by evalstats compare: a single pair has nothing to be adjusted for"


@by_metrics(Leaderboard, Leaderboards)
@one_thread
@recorded
def leaderboard(
    data: EvalData | object,
    *,
    metric: opt.Metrics = None,
    baseline: opt.Head = None,
    cluster: opt.Cluster = None,
    adjust: opt.Adjust = None,
    models: opt.Models = None,
    conf_level: opt.PlannedLevel = None,
    contrast: opt.EntryContrast = "model",
    higher_is_better: opt.HigherIsBetter = None,
    pass_hat: opt.PassHat = None,
    pass_at: opt.PassAt = None,
    top: opt.Top = (1, 3, 5),
    paired: opt.Paired = None,
    covariate: opt.Covariate = None,
    shared_trials: opt.SharedTrials = None,
    runs: opt.Runs = None,
    run_sd: opt.RunSd = None,
    accept: opt.Accept = (),
    missing: opt.Missing = None,
    average: opt.Average = None,
    over: opt.Over = None,
    weights: opt.Weights = None,
    labels: opt.Labels = None,
    plan: DeclaredPlan | None = None,
    posterior: opt.AddPosterior = False,
    seed: opt.Seed = 0,
) -> Leaderboard | Leaderboards:
    """Compare all models on shared items, and give each the set of ranks that the data allow.

    Parameters
    ----------
    data
        What `evalstats.read`, `from_frame` or a store gave; or any table of outcomes with the glossary's columns. Where there
        are no outcomes, published numbers with a standard error are ranked instead, taken as independent.
    metric
        The score to rank by. Several in a list are a board each, at a level at which all of them hold together (Bonferroni).
        None: the headline that the benchmark declares, else every metric that all models have, as such a list.
    baseline
        A model to compare all others with; then these pairs are the family. Rank sets and tiers rest on all pairs anyway.
    cluster, conf_level, higher_is_better, shared_trials, runs, run_sd, average, over, weights, plan
        As in `compare`, for all models together; averages are over the items that all models have.
    adjust
        How p is adjusted for the family of pairs: "max-t" (default), "holm", or, for screens, "bh" or "by". Rank sets always
        hold together with `conf_level`.
    models
        Names to keep (runs, systems, models, or levels of `contrast`); None for all.
    contrast
        What names the entries: "model" (every distinct system; a system defaults to its model), or another column, such as
        "run" where one model was run several times on the same items.
    pass_hat, pass_at
        Rank by pass^k (all of k trials of an item succeed) or pass@k (any of k does); items with fewer than k trials of a
        model are left out for it, by name.
    paired
        Whether models that answered items of the same id answered the same items. False: different users or items, such as an
        A/B/n test (Miettinen-Nurminen, Welch, or CR2 of two samples for each pair). None: so where rows have no id and are
        numbered by their place.
    covariate
        Of different users, a column that was measured before anybody was assigned: differences are adjusted for it, and scores
        stand at its mean over all users.
    top
        For each k, which models may be among the k best.
    accept
        Settings in which the runs differ on purpose (such as "judge"); any other grave difference between runs keeps their
        models apart, as it makes a comparison invalid. See `evalstats.analysis.design.comparability`.
    missing
        As in `compare`: "ignorable" where scores are missing for a reason that has nothing to do with the answers. Otherwise
        a best model that missing scores could overtake is best on the scores there are, and above 5% the best is open.
    labels
        People's labels of a part of the items, for every model, where a judge gave the scores, as in `compare`. Models are then
        compared on the items that all of them have.
    posterior
        Whether to add the posterior of the ranks beside the rank sets, as `Leaderboard.posterior` gives it.
    seed
        For random sign flips, where there are too many patterns to list.

    Returns
    -------
    Leaderboard, or Leaderboards of several metrics
        A line for each model with its score and rank set, the pairs, tiers, what is missing, and how it was reached.

    Raises
    ------
    InputError
        If a name, column or option is unknown or ambiguous, or one entry has several runs of the same trials.
    CannotAnswerError
        If fewer than two models have a score, or no two share enough items.

    Notes
    -----
    A rank set holds 1 + the number of models shown to be better, up to the number of models less those shown to be worse;
    all sets together hold the true ranks with `conf_level`. Items are the unit, or clusters where items are clustered. Models
    that saw different items are compared pair by pair on what they share, at least ten items; their scores, and so the order
    of the lines, are set on the items of all (`evalstats.stats.many.common_scale.common_scale`), and a pair that the two
    put in different orders is not separated. Models that share fewer, or were measured differently, are not compared, and
    ranks are counted within the parts that are connected. Of many tasks (19 at 95%), `new_task` says which rank each model
    would have on another one (`evalstats.stats.many.task_ranks.new_task_ranks`).

    References
    ----------
    Mogstad, Romano, Shaikh & Wilhelm 2024, doi:10.1093/restud/rdad006; Westfall & Young 1993; Hsu 1996.

    Examples
    --------
    >>> from evalstats import datasets
    >>> found = leaderboard(datasets.tenacious_held_out())
    >>> [(row.name, row.ranks) for row in found.rows], found.clusters
    ([('trained', '1-2'), ('baseline', '1-2')], ('dimension',))
    """
    asked = opt.GivenOptions.of(leaderboard, locals())
    data = as_data(data, asked.names())
    data = data if plan is None else with_plan(data, plan)
    metrics, of_metrics = ((metric,), ()) if isinstance(metric, str) else _metrics(data, asked)
    if len(metrics) < 2:
        return _board(data, asked.but(metric=metrics[0] if metrics else None))
    check_family(metrics, asked.values)
    level = conf_level if conf_level is not None or plan is None else plan.conf_level
    return Leaderboards(
        rows=tuple(_board(data, asked.but(metric=name), len(metrics)) for name in metrics),
        conf_level=DEFAULT_LEVEL if level is None else level,
        notes=of_metrics,
    )


def _metrics(data: EvalData, asked: opt.GivenOptions) -> tuple[tuple[str, ...], tuple[Note, ...]]:
    """Return the metrics that are named; of none, all that every system has where there is no headline, and what they lack."""
    if asked.metric is not None:
        return tuple(asked.metric), ()
    if not data.outcomes.height or asked.contrast == "item":
        return (), ()
    data, column = with_primary(data, asked.plan), data.factor(asked.contrast)
    names = asked.models or levels_of(data.outcomes["system" if column == "model" else column])
    return metrics_of_both(data, names, contrast=column)


def _board(data: EvalData, asked: opt.GivenOptions, family: int = 1) -> Leaderboard:
    """Answer by one metric, of a family of so many."""
    plan: DeclaredPlan | None = asked.plan
    found = _unplanned(data, asked, family) if plan is None else _planned(data, plan, asked, family)
    found = replace(found, rows=dated(found.rows, data))
    found = replace(found, notes=(*notes("plan", unmet(plan, data)), *found.notes))
    return with_posterior(found) if asked.posterior else found


def _unplanned(data: EvalData, asked: opt.GivenOptions, family: int) -> Leaderboard:
    """Answer with what was given, and the defaults for the rest."""
    adjust, conf_level = asked.adjust or "max-t", DEFAULT_LEVEL if asked.conf_level is None else asked.conf_level
    conf_level = 1 - (1 - conf_level) / family
    ignorable = asked.missing == "ignorable"
    levels = _checked_top(asked.top)
    wanted = wanted_pass(asked.pass_hat, asked.pass_at)
    data = data.with_metric(asked.metric, higher_is_better=asked.higher_is_better)
    if asked.labels is not None:
        own = {name: getattr(asked, name) for name in ("average", "over", "weights", "pass_hat", "pass_at")}
        refuse_with_labels(own)
        require_outcomes(data, *(asked.models or ()))
        data.need_rows("a correction by labels")
    if not data.outcomes.height and data.aggregates.height and wanted is None:
        if asked.average is not None or asked.over is not None or asked.weights is not None:
            raise InputError(
                "published numbers have no items to average over; leave out the average, or give item scores"
            )
        return published_leaderboard(
            data,
            metric=asked.metric,
            baseline=asked.baseline,
            adjust=adjust,
            models=asked.models,
            conf_level=conf_level,
            contrast=asked.contrast,
            top=levels,
            seed=asked.seed,
            accept=asked.accept,
            clusters=asked.cluster or (),
        )
    if asked.contrast == "item":
        raise InputError("contrast 'item' names what is paired, not what is ranked; name what tells the systems apart")
    require_outcomes(data, *(asked.models or ()))
    column = data.factor(asked.contrast)
    data, asked, of_suite = as_one(data, asked, asked.models, contrast=column)
    ambiguous: dict[str, SeveralRunsError] = {}
    chosen, arms, remarks = entries_of(
        data, metric=asked.metric, models=asked.models, contrast=column, ambiguous=ambiguous
    )
    if asked.baseline in ambiguous:
        raise ambiguous[asked.baseline]
    within = [data.factor(name) for name in (asked.over, asked.covariate) if name is not None]
    data, arms, of_persons = persons_as_items(data, arms, paired=asked.paired, within=within)
    arms, unpaired, numbered = unpaired_arms(data, arms, paired=asked.paired)
    if unpaired and asked.labels is not None:
        raise InputError(
            "labels correct models that answered the same items, and these are of different ones; leave out labels"
        )
    if asked.covariate is not None and not unpaired:
        raise InputError(
            f"{Option('covariate')} is for groups that share no item, and these are paired; leave it out, or add "
            f"{Option('paired', value=False)}"
        )
    if unpaired and asked.shared_trials:
        raise InputError(
            f"{Option('shared_trials')} needs models on the same items; leave it out, or add {Option('paired', value=True)}"
        )
    head = None if asked.baseline is None else entry_of(arms, asked.baseline)
    covariate = None if asked.covariate is None else data.factor(asked.covariate)
    trials = trial_design(
        arms,
        chosen,
        called=label_of("trial", data.factor_names()),
        runs=asked.runs,
        run_sd=asked.run_sd,
        shared=False if unpaired else asked.shared_trials,
    )
    board = Board.of(
        entry_table(
            data,
            chosen,
            arms,
            contrast=column,
            named=[*named_clusters(data, asked.cluster), *within],
            passes=wanted,
            accept=asked.accept,
            reference=head,
            apart=unpaired,
        ),
        trials,
        apart=unpaired,
    )
    averaged = wanted_average(data, board.table.items, asked)
    if asked.labels is not None:
        board = board.corrected_by(asked.labels, named_clusters(data, asked.cluster), column)
    if covariate is not None:
        board = replace(board, before=covariate_of(board.table, covariate, averaged))
    board = (board if averaged is None else board.averaged_over(averaged)).best_first()
    clusters, of_clusters = chosen_clusters(
        data, board.table, asked.cluster, board.runs, contrast=column, counted=board.counted
    )
    refuse_clusters(averaged, clusters, board.table)
    options = RankingOptions(
        metric=board.metric,
        conf_level=conf_level,
        adjust=adjust,
        baseline=None if head is None else board.place(head),
        top=levels,
        seed=asked.seed,
    )
    found = _answer(
        board, options, clusters, contrast=asked.contrast, asked_for=bool(asked.cluster), ignorable=ignorable
    )
    of_entries = (
        *(rows_may_align(board.table) if numbered else ()),
        *of_suite,
        *notes("dependence", of_clusters, caution=False),
        *notes("left_out", remarks, caution=False),
    )
    basis = f"{found.basis}, adjusted for {asked.covariate}" if asked.covariate else found.basis
    left_out = left_out_of_several_runs(ambiguous, remedy=Option("contrast", "run"))
    return replace(found, basis=basis, notes=(*left_out, *of_persons, *found.notes, *of_entries))


def _planned(data: EvalData, plan: DeclaredPlan, asked: opt.GivenOptions, family: int) -> Leaderboard:
    """Answer with what the plan declares wherever nothing was given, and say where the two disagree."""
    rows = data.outcomes if data.outcomes.height else data.aggregates
    benchmarks = rows["benchmark"].unique().to_list()
    benchmark = str(benchmarks[0]) if len(benchmarks) == 1 else ""
    metric = asked.metric or plan.primary_for(benchmark)
    named: dict[str, Any] = {
        "baseline": asked.baseline,
        "clusters": asked.cluster and list(asked.cluster),
        "adjust": asked.adjust,
        "conf_level": asked.conf_level,
        "accept": list(asked.accept) or None,
        "missing": asked.missing,
        "runs": asked.runs,
        "run_sd": asked.run_sd,
    }
    found: dict[str, Any] = settled(plan, benchmark=benchmark, metric=metric or "", **named)
    adjust, answered_by = _known_adjust(plan, found["adjust"], given=asked.adjust is not None)
    clusters = found["clusters"]
    settings = asked.but(
        plan=None,
        metric=metric,
        baseline=found["baseline"],
        cluster=(clusters,) if isinstance(clusters, str) else clusters and tuple(clusters),
        adjust=adjust,
        conf_level=found["conf_level"],
        accept=tuple(found["accept"] or ()),
        missing=found["missing"],
        runs=found["runs"],
        run_sd=found["run_sd"],
    )
    result = _unplanned(data, settings, family)
    result = replace(result, notes=(*result.notes, *notes("plan", answered_by, caution=False)))
    return answered_by_plan(result, plan, benchmark=result.benchmark, metric=result.metric, **named)


def _known_adjust(plan: DeclaredPlan, adjust: Any, *, given: bool) -> tuple[Any, tuple[str, ...]]:
    """Turn what a plan declares into an adjustment that a leaderboard has, with a note where it is another."""
    key = f'adjust = "{adjust}" in {plan.source or "the plan"}'
    if given or adjust is None or adjust in ADJUSTMENTS:
        return adjust, ()
    if adjust == "bonferroni":
        note = (
            f"{key} is answered by Holm's adjustment, which keeps the same promise, gives the same intervals "
            "and has no less power"
        )
        return "holm", (note,)
    raise InputError(
        f"{key} does not fit a leaderboard, which compares every two models and reads them as one family: give "
        f"{Option('adjust')}, one of {', '.join(ADJUSTMENTS)}, or change the plan"
    )


def _answer(
    board: Board,
    asked: RankingOptions,
    clusters: tuple[str, ...],
    *,
    contrast: str,
    asked_for: bool,
    ignorable: bool,
) -> Leaderboard:
    """Put the result together; `asked_for` says whether the user named what items share, or said that it is nothing."""
    data, metric = board.data, asked.metric
    scores = board.scores(clusters)
    _refuse_if_all_are_apart(board)
    found = ranking(scores, asked)
    factors, decides, untested = ((), None, ()) if board.apart else dependence_of_lead(board, found, asked, clusters)
    these = None
    if asked_for or set(clusters) - {ITEM_OF_VARIANTS}:
        decides = None
    if decides is not None:
        clusters = tuple(without_nested(board.table, (*clusters, decides.column)))
        before, scores = scores, board.scores(clusters)
        found = ranking(scores, asked)
        these = on_these_items(board, found, asked, before, decides)
    labels = tuple(label_of(name, data.factor_names()) for name in clusters)
    graph = board.graph()
    units = assigned_units(data, board.table, clusters) if board.apart else None
    different = "" if units is None else units.noun
    split = None if units is None else split_mismatch(data, board.table, units)
    reasons = dict(_REASONS)
    if different:
        reasons["max-t"] = f"pairs depend on each other by the {different} of the models they share"
    if asked.adjust == "max-t":  # nobody asked for what stands in its place
        reasons["holm"] = (
            f"some model has fewer than {ENOUGH_UNITS} {different}, too few to estimate the largest difference"
            if different
            else "no pair has enough items or clusters for sign flips; it holds whatever the dependence between pairs"
        )
    top, shrunken = corrected(scores, asked, board.names, graph)
    lines = snapped_rows(model_rows(board, found, asked, clusters, shrunken), metric.span)
    pairs = snapped_pairs(pair_rows(board, found, asked), metric.span)
    head = board.names[asked.baseline or 0]
    gate, no_gate = omnibus_of(scores)
    rivals = () if ignorable else best_if_missing(found, asked, lines)
    best = [row.name for row in lines if row.may_be_best]
    compared = any(pair.verdict != "not compared" for pair in pairs)
    why = "; ".join(dict.fromkeys(pair.reason for pair in pairs if pair.reason))
    alone = f"no model is compared with the baseline {head} ({why})"
    lost = f"{plural(board.n_left_out, 'item')} without a score of every model {is_are(board.n_left_out)}"
    return Leaderboard(
        about=metric.facts,
        contrast=contrast,
        baseline=None if asked.baseline is None else board.names[asked.baseline],
        adjust=found.shown.adjust,
        conf_level=asked.conf_level,
        method=found.shown.method,
        method_reason=_ALONE
        if len(found.shown.first) == 1 and not clusters and board.labels is None
        else reasons[found.shown.adjust],
        rank_method=found.ranks.method,
        estimand=estimand("score", labels, board.average),
        average=plain_average(data, board.table.items, clusters)
        if board.average is None
        else board.average.words(board.table.items),
        different=different,
        basis=_basis(graph, labels, found) if not different else _basis_apart(board, labels, different),
        rows=lines,
        pairs=pairs,
        rank_reason=_rank_reason(found, graph, board.kinds),
        best_if_missing=rivals,
        missing_share=missing_share(lines, rivals),
        labels=None if board.labels is None else board.labels.words(),
        qualifiers=(
            *([] if board.labels is None else [f"scores corrected by {board.labels.words()}"]),
            *failures_of_the_best(board, found, asked, lines),
            *tails_of_the_best(scores, found, asked, lines),
        ),
        critical=None if np.isnan(found.shown.critical) else found.shown.critical,
        exact=found.shown.exact,
        n_resamples=found.shown.n_resamples,
        n_models=len(lines),
        n_items=graph.n_items,
        item_sd=_item_sd(board),
        n_trials=sum(row.n_trials or 0 for row in lines),
        n_clusters=min((len(np.unique(each)) for each in scores.clusters), default=None),
        clusters=labels,
        graph=graph,
        run_differences=board.kinds.differences,
        winner=top,
        omnibus=gate,
        omnibus_reason=no_gate,
        dependence=factors,
        dependence_of=f"{head} against the mean of the others",
        these_items=these,
        other_leaders=other_leaders(board, asked, clusters, best) if graph.connected and board.labels is None else (),
        new_task=new_task_of(board, asked.conf_level),
        origin=Origin(sources=sources_of(data, board.runs), version=toolkit_version(), seed=asked.seed),
        notes=(
            *recorded_notes(data, board.runs),
            *metric.cautions,
            *notes("left_out", [f"{lost} dropped where models are compared"] if board.n_left_out else []),
            *notes("comparability", [alone] if asked.baseline is not None and not compared else []),
            *board.kinds.refusal(),
            *(() if split is None else (split,)),
            *(() if units is None else met_by_several(board.table, units, clusters)),
            *(() if decides is None else (decides.note(),)),
            *cautions(board, scores, found, asked, lines),
            *notes("missing", [_DECLARED] if ignorable and any(row.share_missing for row in lines) else []),
            *(
                run_notes(board.table, board.trials, None)
                if scores.runs is None
                else (scores.runs.note(found.every, metric),)
            ),
            *(() if board.table.passes else trials_note(board.table, board.trials)),
            *(() if clusters else duplicate_notes(data, board.table.items, board.runs, metric)),
            *notes("few", found.warnings),
            *(() if board.labels is None else board.labels.notes),
            *notes("left_out", board.notes, caution=False),
            *notes("dependence", untested, caution=False),
            *notes("choice", _remarks(board, scores), caution=False),
            *board.kinds.notes("note"),
        ),
    )


def _refuse_if_all_are_apart(board: Board) -> None:
    """Refuse where models share items and no two that do were measured alike; how to accept it is said."""
    enough = np.triu(shared_counts(board.table.scored) >= least_shared(len(board.table)), 1)
    if board.kinds.apart and enough.any() and not (enough & board.kinds.comparable()).any():
        raise CannotAnswerError(
            f"no two of the {len(board.table.systems)} models can be compared: {board.kinds.why_apart()}"
        )


def _item_sd(board: Board) -> float | None:
    """Return the largest standard deviation of a system's values of items, where no bounds say how far these can lie apart."""
    if board.metric.bounds is not None:
        return None
    columns = (board.whole.column(j) for j in range(len(board.names)))
    known = (values[np.isfinite(values)] for values in columns)
    return max((float(each.std(ddof=1)) for each in known if each.size > 1), default=None)


def _basis(graph: ComparabilityGraph, clusters: tuple[str, ...], found: Ranking) -> str:
    within = f", clustered by {' and '.join(clusters)}" if clusters else ""
    if graph.same_items:
        return f"all models on the same {plural(graph.n_items, 'item')}{within}"
    least, most = int(found.every.n_items.min()), int(found.every.n_items.max())
    shared = f"{most:,}" if least == most else f"{least:,} to {most:,}"
    every = f"all {plural(graph.n_items, 'item')}" if graph.connected else "all items of a part"
    who = "both models" if found.every.n_items.size == 1 else "two models"
    return f"scores set on {every}, of which {who} share {shared}{within}"


def _basis_apart(board: Board, clusters: tuple[str, ...], different: str) -> str:
    counts = board.table.scored.sum(axis=0).tolist()
    sizes = f"{min(counts):,}" if len({*counts}) == 1 else f"{min(counts):,} to {max(counts):,}"
    if not clusters:
        return f"different {different} for each model, {sizes} a model"
    return f"different {different} for each model, {sizes} rows a model, clustered by {' and '.join(clusters)}"


def _rank_reason(found: Ranking, graph: ComparabilityGraph, kinds: RunKinds) -> str | None:
    """Return why there is no rank over all models."""
    if graph.connected:
        return found.ranks.models[0].reason
    parts = f"the models fall into {len(graph.components)} parts that cannot be compared with one another"
    why = "were measured differently" if kinds.apart else f"share fewer than {graph.min_shared} items"
    return f"{parts}, since they {why}: ranks hold within each part; there is no overall rank"


def _remarks(board: Board, scores: BoardScores) -> list[str]:
    """Gather what was done to the rows of single systems; then what holds for all."""
    remarks = remarks_of((*board.table.systems, *board.silent))
    several_trials = any(arm.several_trials for arm in board.table.systems)
    if (
        scores.runs is None
        and not several_trials
        and all(len(arm.runs) == 1 for arm in board.table.systems)
        and not board.data.merged
    ):
        remarks.append("One run of each system: no interval includes the variation from run to run")
    return remarks


def _checked_top(top: Sequence[int]) -> tuple[int, ...]:
    """Return the k of the top-k sets, 1 among them."""
    wrong = [k for k in top if isinstance(k, bool) or not isinstance(k, int) or k < 1]  # pyright: ignore[reportUnnecessaryIsInstance] - a user's value
    if wrong:
        raise InputError(f"top holds {wrong[0]!r}; give whole numbers from 1, such as (1, 3, 5)")
    return tuple(sorted({1, *top}))
