"""Which models do live users prefer? `arena()`: ratings from votes, their uncertainty, and checks of the votes."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from evalstats import options as opt
from evalstats.analysis.arena.alternatives import alternatives_of, categories_of
from evalstats.analysis.arena.checks import connection_line, graph_of, guarded
from evalstats.analysis.arena.fit_checks import drift_of, fit_checks
from evalstats.analysis.arena.labels import (
    corrected_parts,
    judge_notes,
    refuse_with_labels,
    with_accounts,
)
from evalstats.analysis.arena.notes import few_votes_notes, scale_notes, source_levels, unequal_notes, vote_notes
from evalstats.analysis.arena.pairing import pairing_notes, pairing_of, with_pairing
from evalstats.analysis.arena.ratings import (
    RatedPart,
    RatingOptions,
    at_decided_level,
    cluster_counts,
    covariate_rows,
    for_these_prompts,
    rate,
    side_effect,
    vote_level_ratio,
)
from evalstats.analysis.arena.result import (
    ArenaRanking,
    CheckLine,
    FitChecks,
    PromptLevels,
    RatingDrift,
    TrustChecks,
    VoteCovariate,
    VoteGraph,
)
from evalstats.analysis.arena.rows import (
    met_table,
    pair_rows,
    placement_of,
    rating_rows,
    unbounded_pairs,
    with_placement,
)
from evalstats.analysis.arena.vote_checks import suspects_of, trust_checks
from evalstats.analysis.provenance import lookalike_notes, run_notes, sources_of, toolkit_version
from evalstats.analysis.result import Origin
from evalstats.analysis.result import notes as as_notes
from evalstats.analysis.settings import answered_by_plan, recorded
from evalstats.document.model import Note
from evalstats.errors import CannotAnswerError, InputError, Option
from evalstats.grammar import and_list, comma_list, plural
from evalstats.schema.data import EvalData
from evalstats.schema.plan import Plan, settled, with_aliases
from evalstats.schema.tables import levels_of
from evalstats.stats.arena.likelihood import Connection, Ties, connection
from evalstats.stats.arena.votes import merged
from evalstats.stats.checks import check_count
from evalstats.table.votes import NEEDS_VOTES, SIDE, VoteTable, comparisons_of, is_lazy, style_pairs

METHODS: dict[Ties, str] = {
    "half": "Bradley-Terry, ties as half wins",
    "davidson": "Bradley-Terry with Davidson ties",
    "rao-kupper": "Bradley-Terry with Rao-Kupper ties",
}
_REASONS: dict[Ties, str] = {
    "half": "it estimates strengths whatever makes ties, and standard errors come from the votes themselves",
    "davidson": "it was asked for: a tie is an outcome with a probability of its own, likeliest between equals",
    "rao-kupper": "it was asked for: a tie is a difference too small to see",
}
_OF_LABELS = "people voted on a random part of the battles, and the judge's votes on all are corrected by theirs"


@recorded
def arena(
    battles: EvalData | object,
    *,
    ties: opt.TiesAre = "half",
    cluster: opt.VoteCluster = None,
    covariates: opt.Covariates = None,
    side: opt.Side = False,
    by: opt.Within = None,
    both_bad: opt.BothBadAre = "tie",
    prior: opt.Prior = None,
    anchor: opt.Anchor = None,
    scale: opt.RatedOn = "elo",
    models: opt.Models = None,
    conf_level: opt.PlannedLevel = None,
    n_resamples: opt.VoteResamples = None,
    checks: opt.Checks = True,
    labels: opt.VoteLabels = None,
    without_suspects: opt.WithoutSuspects = False,
    top: opt.Top = (1, 3, 5),
    plan: Plan | None = None,
    seed: opt.Seed = 0,
) -> ArenaRanking:
    """Rate models from pairwise votes, with rank sets and checks of the votes.

    Parameters
    ----------
    battles
        What `evalstats.read`, `from_votes` or a store gave; or a table of comparisons with the glossary's columns (one row
        per vote; `outcome` is a, b, tie or both_bad). A lazy frame (Polars, DuckDB) is merged without being held: then
        checks that need single votes are not run.
    ties
        "half": a tie counts as half a win of either. "davidson", "rao-kupper": ties have a probability of their own. The
        others stand beside the one chosen.
    cluster
        By what votes share their errors: "auto" takes prompt, rater, session and event, whichever the votes have; a column or
        several; "none" for independent votes. None: "auto", and where prompts are too few to separate any pair, all but
        prompts, so that claims are for these prompts (`levels` says both).
    covariates
        Pairs of numeric columns `<name>_a`, `<name>_b` to hold equal; "auto" takes length, headers, lists and bold where the
        votes have them (style control). An adjustment, not a cause: users may like long answers for good reasons.
    side
        Whether to hold the side (or the order shown) equal; it is estimated beside in any case.
    by
        A column (or `tags`) whose levels get ratings of their own, drawn towards the overall ones.
    both_bad
        Whether a vote that both are bad is a "tie" in ratings, or left out ("drop"); it is counted apart either way.
    prior
        Wins and losses of every model against an average one to add, such as 0.5: gives ratings where the votes do not
        connect all models, drawn towards the mean. None: models are rated within the parts that votes connect.
    anchor
        A model whose rating is fixed (1000 on the Elo scale); otherwise the mean of all models is.
    scale
        "elo": 1000 + 400/ln(10) x log-odds; "log-odds".
    models, conf_level, top, plan
        As in `leaderboard`; votes between two of the `models` are kept.
    n_resamples
        Rounds of a bootstrap to show beside the sandwich intervals; None for none.
    checks
        Whether to test fit, trust and drift, which takes longer than the rating.
    labels
        People's votes on a random part of the battles, where a judge model gave the votes: votes too, of the same battle (or
        item) and models, with the chance of each in `label_prob` where these differ. Ratings are then those that people's votes
        on all battles would give. At least 50, and 20 of each model.
    without_suspects
        Whether to leave out votes that the checks of all votes suspect: those of raters unlike the others, repeats after the
        first, bursts, answers that name their model. The checks saw the outcomes, so that such ratings stand beside those of all
        votes and do not replace them.

    Raises
    ------
    InputError
        If a name, column or option is unknown.
    CannotAnswerError
        If no vote has an outcome, or no two models can be rated; with labels, if they are too few, or no random part.

    Notes
    -----
    Strengths maximise the Bradley-Terry (quasi-)likelihood; standard errors are sandwich errors clustered by all that votes
    share; a difference of two ratings uses their full covariance. Which models meet must not hang on how the answers turned
    out. An arena that pairs models by their ratings so far stretches the ratings and makes intervals too short (see the
    report `arena-sampling`), and leaves distant models joined by chains only. That is tested by the order of the votes (their
    times, else the order of the file); where it shows, the pairing is replayed and errors are widened by what that takes.

    References
    ----------
    Bradley & Terry 1952; Davidson 1970; Rao & Kupper 1967; Ford 1957; Cameron, Gelbach & Miller 2011; Mogstad, Romano, Shaikh
    & Wilhelm 2024.

    Examples
    --------
    >>> votes = {
    ...     "model_a": ["x", "y"] * 30,
    ...     "model_b": ["y", "x"] * 30,
    ...     "outcome": ["a", "b", "a"] * 10 + ["b", "a", "b"] * 10,
    ... }
    >>> found = arena(votes, checks=False)
    >>> [row.name for row in found.rows], found.n_votes
    (['x', 'y'], 60)
    """
    asked = opt.GivenOptions.of(arena, locals())
    asked = asked.but(cluster=asked.cluster or None, covariates=asked.covariates or None)
    if plan is None:
        return _ranked(battles, asked)
    # What the plan declares holds wherever nothing was given.
    data = with_aliases(battles, plan.aliases) if isinstance(battles, EvalData) else battles
    benchmark = _about(battles)[0]
    given: dict[str, Any] = {"clusters": asked.cluster and list(asked.cluster), "conf_level": asked.conf_level}
    declared: dict[str, Any] = settled(plan, benchmark=benchmark, **given)
    clusters = _names(declared["clusters"]) or None
    result = _ranked(data, asked.but(cluster=clusters, conf_level=declared["conf_level"]))
    return answered_by_plan(result, plan, benchmark=benchmark, **given)


def _names(given: str | Sequence[str] | None) -> tuple[str, ...]:
    return () if given is None else (given,) if isinstance(given, str) else tuple(given)


def _checked(asked: opt.GivenOptions) -> RatingOptions:
    if asked.labels is not None:
        refuse_with_labels(asked)
    if asked.prior is not None and not 0.0 < asked.prior < np.inf:
        raise InputError(f"prior is {asked.prior:g}; give the wins and losses to add to every model, such as 0.5")
    if asked.n_resamples is not None:
        check_count(asked.n_resamples, "n_resamples", least=100)
    for k in asked.top:
        check_count(k, "an entry of top", least=1)
    return RatingOptions(
        ties=asked.ties,
        prior=asked.prior or 0.0,
        anchor=asked.anchor,
        scale=asked.scale,
        conf_level=0.95 if asked.conf_level is None else asked.conf_level,
        n_resamples=asked.n_resamples,
        top=asked.top,
        seed=asked.seed,
    )


def _about(battles: object) -> tuple[str, tuple[tuple[str, str], ...], tuple[Note, ...]]:
    """Return the arena's name, its sources, and what must be known of them."""
    if not isinstance(battles, EvalData):
        return "votes", (), ()
    runs = levels_of(battles.comparisons["run"])
    names = levels_of(battles.runs.filter(pl.col("run").is_in(runs))["benchmark"])
    return " + ".join(names) or "votes", sources_of(battles, runs), run_notes(battles, runs)


def _ranked(battles: object, asked: opt.GivenOptions) -> ArenaRanking:
    options = _checked(asked)
    if asked.without_suspects:
        return _without_suspects(battles, asked)
    if is_lazy(battles) and asked.by:
        raise InputError(NEEDS_VOTES)
    name, sources, remarks = _about(battles)
    table = VoteTable.of(
        battles,
        cluster=asked.cluster,
        covariates=asked.covariates or (),
        side=asked.side,
        models=asked.models,
        both_bad=asked.both_bad,
        graded=asked.ties == "half",
    )
    if asked.anchor is not None and asked.anchor not in table.models:
        have = comma_list(table.models, 12)
        raise InputError(f"the anchor {asked.anchor!r} has no votes; models with votes: {have}")
    # Who met whom, and who won, is asked of votes of one kind at once.
    kinds = merged(table.rows, keep_clusters=False)
    found = connection(kinds)
    judged = _parts(table, found, options)
    parts, labels, tuning = (
        (judged, None, 0.0) if asked.labels is None else corrected_parts(judged, table, asked.labels)
    )
    graph = graph_of(kinds, table.models, found)
    pairing, pairing_line = pairing_of(table, options)
    alone = _by_votes_alone(table, found, options)
    tables = [part.table for part in parts]
    parts, levels = at_decided_level(parts, asked=asked.cluster is not None)
    if alone is not None and levels is not None and levels.shown == "these":
        alone = for_these_prompts(alone)
    parts, pairing = with_pairing(parts, pairing)
    placement = placement_of(table, parts if alone is None else with_pairing(alone, pairing)[0], found, options)
    if placement is not None:
        parts = [placement.part if options.prior == 0.0 else with_placement(parts[0], placement)]
        graph = replace(
            graph,
            unbounded_above=tuple(each.name for each in placement.unbounded if each.won),
            unbounded_below=tuple(each.name for each in placement.unbounded if not each.won),
        )
    main, all_shared = max(zip(parts, tables, strict=True), key=lambda both: both[1].n_votes)
    whole = len(parts) == 1 and main.table.n_models == table.n_models
    side = side_effect(main)
    # Tastes for prompts are there, whatever the claims are for.
    lines, fit, trust, drift = [connection_line(graph)], None, None, None
    if asked.checks:
        # A judge's votes are checked as they are.
        checked = judged[0] if labels else replace(main, table=all_shared)
        fit, trust, drift, further = checks_of(checked, side)
        lines = [*lines, pairing_line, *further]
    # A prior rates every model: its line is like the others.
    placement = None if options.prior > 0.0 else placement
    rows, order = rating_rows(table, kinds, parts, found, placement=placement, options=options)
    pairs = tuple(pair for part in parts for pair in pair_rows(part, options))
    if labels is not None:
        rows, pairs = with_accounts(rows, pairs, main, judged=table, labels=labels, tuning=tuning)
    if placement is not None:
        place = {row.name: at for at, row in enumerate(rows)}
        every = (*pairs, *unbounded_pairs(placement, met_table(kinds), options))
        pairs = tuple(sorted(every, key=lambda pair: (place[pair.first], place[pair.second])))
    style = () if table.covariate_names or table.votes is None else style_pairs(table.votes)
    styled = table.with_covariates(style) if style and labels is None else None
    sided = None if SIDE in table.covariate_names or table.votes is None else table.with_side()
    covariates, style_notes = _covariates(main, side, styled if whole else None)
    alternatives = ()
    if whole and labels is None:
        alternatives = alternatives_of(
            main,
            kinds,
            order,
            styled=None if styled is None else styled.rows,
            sided=None if sided is None else sided.rows,
        )
    counts, unit = table.counts, "Elo points" if options.scale == "elo" else "log-odds"
    return ArenaRanking(
        arena=name,
        ties=options.ties,
        scale=options.scale,
        unit=unit,
        anchor=options.anchor,
        conf_level=options.conf_level,
        method=METHODS[options.ties],
        method_reason=_REASONS[options.ties] if labels is None else _OF_LABELS,
        rank_method="none" if main.claims is None else main.claims.ranks.method,
        estimand=_estimand(table, main, graph, levels),
        rows=rows,
        pairs=pairs,
        covariance=_covariance(parts, table.n_models, order),
        clusters=cluster_counts(main),
        levels=levels,
        df=main.df,
        vote_level_ratio=vote_level_ratio(main),
        covariates=covariates,
        alternatives=alternatives,
        categories=None if asked.by is None else categories_of(main, asked.by),
        graph=graph,
        pairing=pairing,
        fit=fit,
        trust=trust,
        drift=drift,
        checks=tuple(lines),
        prior=options.prior,
        tie_parameter=main.fit.tie,
        n_models=table.n_models,
        n_votes=counts.n_votes,
        n_decided=counts.n_decided,
        n_ties=counts.n_ties,
        n_both_bad=counts.n_both_bad,
        n_unscored=counts.n_unscored,
        unscored_reasons=counts.reasons,
        n_events=counts.n_events,
        n_resamples=options.n_resamples,
        converged=all(part.fit.converged for part in parts),
        rank_reason=_rank_reason(graph, main),
        labels=None if labels is None else f"people's votes on {np.isfinite(labels.values).sum():,} of them",
        origin=Origin(sources=sources, version=toolkit_version(), seed=options.seed),
        notes=_ordered(
            *remarks,
            *lookalike_notes(table.models),
            *scale_notes(graph, options.prior),
            *pairing_notes(pairing, parts),
            *vote_notes(table, asked.cluster, graded=asked.ties == "half"),
            *unequal_notes(cluster_counts(main)),
            *main.notes,
            *judge_notes(rows, labels, unit),
            *style_notes,
            *_check_notes(table, all_shared, checks=asked.checks),
            *_cluster_notes(main, levels),
            *few_votes_notes(graph),
        ),
    )


def _without_suspects(battles: object, asked: opt.GivenOptions) -> ArenaRanking:
    """Rate all votes, and then those that no check suspects."""
    if is_lazy(battles):
        raise InputError("suspect votes are found among single votes; collect the lazy frame first")
    every = asked.but(without_suspects=False)
    result = _ranked(battles, every.but(checks=True))
    frame = comparisons_of(battles)
    suspect, reasons = suspects_of(frame, result)
    if not reasons:
        none = as_notes("choice", ["The checks suspect no votes, so none is dropped"], caution=False)
        return replace(result, without_suspects=True, notes=(*result.notes, *none))
    kept = frame.filter(~suspect)
    again = _ranked(replace(battles, comparisons=kept) if isinstance(battles, EvalData) else kept, every)
    why = and_list([f"{n:,} {reason}" for reason, n in reasons])
    text = (
        f"{result.n_votes - again.n_votes:,} of {result.n_votes:,} votes are dropped as suspect ({why}); they were chosen by "
        "their outcomes, so read this beside the ratings of all votes"
    )
    return replace(again, without_suspects=True, notes=_ordered(*as_notes("left_out", [text]), *again.notes))


def _parts(table: VoteTable, found: Connection, options: RatingOptions) -> list[RatedPart]:
    """Rate every part of the vote graph that holds at least two models; all of them at once with a prior."""
    if found.is_connected or options.prior > 0.0:
        return [rate(table, tuple(range(table.n_models)), options)]
    large = [part for part in found.components if len(part) > 1]
    if not large:
        graph = f"{table.n_models} models, none of which both won and lost along any chain of votes"
        raise CannotAnswerError(
            f"no two models can be put on one scale ({graph}); collect votes between them, or give a prior "
            f"({Option('prior', 0.5)})"
        )
    return [rate(table.among(part), part, options) for part in large]


def _by_votes_alone(table: VoteTable, found: Connection, options: RatingOptions) -> Sequence[RatedPart] | None:
    """Return the parts without the prior, none where there are then none; None without a prior, or where it connects nothing."""
    if options.prior == 0.0 or found.is_connected:
        return None
    try:
        return _parts(table, found, replace(options, prior=0.0))
    except CannotAnswerError:
        return ()


def checks_of(
    part: RatedPart, side: VoteCovariate | str
) -> tuple[FitChecks, TrustChecks, RatingDrift | None, list[CheckLine]]:
    """Check the votes of one part (the largest): the model's fit, whether votes can be trusted, and drift, with a line each."""
    table, options = part.table, part.options
    trust, trust_lines = trust_checks(part, side)
    separated = None if part.claims is None else part.claims.separated
    fit, fit_lines = fit_checks(
        table, part.fit, seed=options.seed, told_apart=separated is None or bool(separated.any())
    )
    drift, drift_line = guarded(
        "drift", lambda: drift_of(table, part.fit, conf_level=options.conf_level, points=options.points), None
    )
    # It is no warning that one rater or few votes turn an order which nothing showed.
    first, second = np.argsort(-part.ratings, kind="stable")[:2].tolist()
    turned = [table.models.index(one.new_first) for one in trust.influences if one.new_first is not None]
    after = {"one rater": turned, "few votes": [second]}
    lines: list[CheckLine] = []
    for line in trust_lines:
        shown = separated is not None and any(separated[first, model] for model in after.get(line.check, ()))
        if line.status == "warning" and line.check in after and not shown:
            finding = f"its models are not separated anyway: {line.finding}"
            lines.append(replace(line, status="ok", finding=finding))
        else:
            lines.append(line)
    return fit, trust, drift, [*lines, *fit_lines, drift_line]


def _covariates(
    main: RatedPart, side: VoteCovariate | str, styled: VoteTable | None
) -> tuple[tuple[VoteCovariate, ...], list[Note]]:
    """Return the coefficients of the headline, and of side and style estimated beside it."""
    found = list(covariate_rows(main, held=True))
    if not isinstance(side, str) and not side.held and np.isfinite(side.estimate):
        found.append(side)
    if styled is None:
        return tuple(found), []
    try:
        refit = rate(styled, main.models, main.options, bare=True)
    except (CannotAnswerError, InputError) as error:
        return tuple(found), [Note(kind="fit", text=f"Style could not be estimated: {error}")]
    return (*found, *covariate_rows(refit, held=False)), []


def _covariance(
    parts: Sequence[RatedPart], n_models: int, order: Sequence[int]
) -> tuple[tuple[float | None, ...], ...] | None:
    """Return the covariance of ratings in the order of the rows, None between parts."""
    if all(part.rating_covariance is None for part in parts):
        return None
    full = np.full((n_models, n_models), np.nan)
    for part in parts:
        if part.rating_covariance is not None:
            full[np.ix_(part.models, part.models)] = part.rating_covariance
    ordered: list[list[float]] = full[np.ix_(order, order)].tolist()
    return tuple(tuple(value if np.isfinite(value) else None for value in row) for row in ordered)


# --- in words ---


def _estimand(table: VoteTable, main: RatedPart, graph: VoteGraph, levels: PromptLevels | None) -> str:
    shared = [source_levels(cluster.name) for cluster in cluster_counts(main)]
    new = f"for new {' and '.join(shared)} like these" if shared else "for new votes like these, each on its own"
    if levels is not None and levels.shown == "these":
        new += f", on these {plural(levels.n_prompts, 'prompt')}"
    held = f", with {' and '.join(table.covariate_names)} held equal" if table.covariate_names else ""
    prior = main.options.prior > 0.0
    mean = "the mean of all models" if graph.connected or prior else "the mean of the models of its part"
    if graph.one_list and not graph.connected and not prior:
        mean = "the mean of the models with a finite rating"
    return f"strength in votes against {main.options.anchor or mean}{held}, {new}"


def _rank_reason(graph: VoteGraph, main: RatedPart) -> str | None:
    if main.rank_reason is not None or graph.one_list or main.options.prior > 0.0:
        return main.rank_reason
    return (
        f"votes do not put all {graph.n_models} models on one scale, but {len(graph.components)} parts of "
        "them: ranks hold within each part; there is no overall rank"
    )


def _check_notes(table: VoteTable, part: VoteTable, *, checks: bool) -> tuple[Note, ...]:
    texts: list[str] = []
    if not checks:
        texts = ["Votes, fit and drift were not checked, as asked"]
    elif part.n_models < table.n_models:
        texts = [f"Fit, trust and drift are checked on the largest part of the votes, of {part.n_models} models"]
    return as_notes("choice", texts, caution=False)


def _cluster_notes(main: RatedPart, levels: PromptLevels | None) -> tuple[Note, ...]:
    used = sorted(main.covariance.used, key=lambda way: way.n_clusters)
    if levels is not None or not main.covariance.few_clusters or len(used) < 2:
        return ()
    few, other = used[0], used[-1]
    what = few.name if source_levels(few.name).startswith("levels") else source_levels(few.name)
    text = f"Claims are for {what} like these {few.n_clusters}; to speak of these alone, cluster by {other.name} only"
    return as_notes("choice", [text], caution=False)


def _ordered(*notes: Note) -> tuple[Note, ...]:
    """Return cautions first, with one note on simulated data before all: what the votes say goes before what a file says."""
    made_up = [note for note in notes if note.kind == "simulated"][-1:]
    rest = [note for note in notes if note.kind != "simulated"]
    return (*made_up, *(note for note in rest if note.caution), *(note for note in rest if not note.caution))
