"""Whom do live users prefer? `arena()`: ratings from votes, what is certain of them, and whether to trust them."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import numpy as np
import polars as pl

from evalstats.analysis.arena.adjustments import Covariates, relative_differences, style_pairs
from evalstats.analysis.arena.checks import Pairing, VoteGraph, graph_of
from evalstats.analysis.arena.levels import decided, for_these_prompts
from evalstats.analysis.arena.options import ArenaOptions, Scale
from evalstats.analysis.arena.pairing import pairing_notes, pairing_of, with_pairing
from evalstats.analysis.arena.perfect import Standing, perfect_pairs, standing_of, with_records
from evalstats.analysis.arena.ratings import (
    Options,
    Part,
    cluster_counts,
    covariate_rows,
    rate,
    vote_level_ratio,
)
from evalstats.analysis.arena.result import ArenaRanking, PairContrast, PromptLevels, RatingRow, VoteCovariate
from evalstats.analysis.arena.sides import side_effect
from evalstats.analysis.arena.standings import TIES, alternatives_of, categories_of, met_table, pair_rows, rating_rows
from evalstats.analysis.arena.suspects import suspects_of
from evalstats.analysis.arena.trust import check_votes
from evalstats.analysis.arena.votes import (
    VoteCounts,
    VoteTable,
    comparisons_of,
    merged_votes,
    restricted,
    vote_table,
)
from evalstats.analysis.provenance import lookalike_notes, run_notes, sources_of, toolkit_version
from evalstats.analysis.result import notes as as_notes
from evalstats.analysis.settings import recorded
from evalstats.document.model import Note
from evalstats.document.numbers import plural, several
from evalstats.errors import CannotAnswerError, InputError, Option, some_of
from evalstats.schema.data import EvalData
from evalstats.schema.plan import Plan, plan_account, settled, with_aliases
from evalstats.schema.tables import levels_of
from evalstats.stats.arena.likelihood import Connection, Ties, connection
from evalstats.stats.arena.votes import VoteRows
from evalstats.stats.checks import check_count, check_level

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
_PLURALS = {
    "item": "prompts",
    "prompt": "prompts",
    "rater": "raters",
    "judge": "judges",
    "session": "sessions",
    "event": "events",
}


@recorded
def arena(
    battles: EvalData | object,
    *,
    ties: Ties = "half",
    cluster: str | Sequence[str] | None = None,
    covariates: str | Sequence[str] | None = None,
    side: bool = False,
    by: str | None = None,
    both_bad: Literal["tie", "drop"] = "tie",
    prior: float | None = None,
    anchor: str | None = None,
    scale: Scale = "elo",
    models: Sequence[str] | None = None,
    conf_level: float | None = None,
    n_resamples: int | None = None,
    checks: bool = True,
    without_suspects: bool = False,
    top: Sequence[int] = (1, 3, 5),
    plan: Plan | None = None,
    seed: int = 0,
) -> ArenaRanking:
    """Rate models from votes between two of them, say which ranks are certain, and check the votes.

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
    without_suspects
        Whether to leave out votes that the checks of all votes suspect: those of raters unlike the others, repeats after the
        first, bursts, answers that name their model. The checks saw the outcomes, so that such ratings stand beside those of all
        votes and do not replace them.

    Raises
    ------
    InputError
        If a name, column or option is unknown.
    CannotAnswerError
        If no vote has an outcome, or no two models can be rated.

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
    asked = ArenaOptions(
        ties=ties,
        cluster=_listed(cluster) or None,
        covariates=_listed(covariates) or None,
        side=side,
        by=by,
        both_bad=both_bad,
        prior=prior,
        anchor=anchor,
        scale=scale,
        models=None if models is None else tuple(models),
        conf_level=conf_level,
        n_resamples=n_resamples,
        checks=checks,
        without_suspects=without_suspects,
        top=tuple(top),
        seed=seed,
    )
    return _ranked(battles, asked) if plan is None else _planned(battles, asked, plan)


def _planned(battles: object, asked: ArenaOptions, plan: Plan) -> ArenaRanking:
    """Rank the votes under the plan's aliases, with what it declares wherever nothing was given."""
    data = with_aliases(battles, plan.aliases) if isinstance(battles, EvalData) else battles
    benchmark = _about(battles)[0]
    given: dict[str, Any] = {"clusters": asked.cluster and list(asked.cluster), "conf_level": asked.conf_level}
    declared: dict[str, Any] = settled(plan, benchmark=benchmark, **given)
    clusters = _listed(declared["clusters"]) or None
    result = _ranked(data, replace(asked, cluster=clusters, conf_level=declared["conf_level"]))
    account = plan_account(plan, benchmark=benchmark, span=None, **given)
    notes = (*as_notes("plan", account.departures), *result.notes)
    return replace(result, asked=asked, plan=account, notes=notes)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Votes:
    """The votes with the covariates of the headline; `styled` and `sided` are the same with those shown beside it."""

    table: VoteTable
    counts: VoteCounts
    covariates: Covariates
    styled: tuple[VoteRows, Covariates] | None = None
    sided: tuple[VoteRows, Covariates] | None = None


def _votes(battles: object, asked: ArenaOptions) -> _Votes:
    clusters = "auto" if asked.cluster is None else asked.cluster
    if len(clusters) == 1 and clusters[0] in ("auto", "none"):
        clusters = clusters[0]
    keep_both_bad = asked.both_bad == "tie"
    if isinstance(battles, pl.LazyFrame) or _is_lazy(battles):
        if asked.covariates or asked.side or asked.by:
            raise InputError("covariates, side and by need single votes; collect the lazy frame first")
        table, counts = merged_votes(battles, cluster=clusters, models=asked.models, keep_both_bad=keep_both_bad)
        return _Votes(table=table, counts=counts, covariates=Covariates(values=np.zeros((0, 0))))
    frame = comparisons_of(battles)
    wanted = asked.covariates or ()
    if wanted == ("auto",):
        wanted = style_pairs(frame)
        if not wanted:
            raise InputError(
                "covariates='auto' looks for pairs of columns such as assistant_tokens_a and assistant_tokens_b, header_count, "
                "list_count, bold_count; the votes have none: name a pair of numeric columns"
            )
    table, counts, held = vote_table(
        frame,
        cluster=clusters,
        covariates=wanted,
        side=asked.side,
        models=asked.models,
        keep_both_bad=keep_both_bad,
        graded=asked.ties == "half",
    )
    style = () if held.names else style_pairs(frame)
    return _Votes(
        table=table,
        counts=counts,
        covariates=held,
        styled=_with(table, style, side=False) if style else None,
        sided=None if "side" in held.names else _with(table, held.names, side=True),
    )


def _checked(asked: ArenaOptions) -> Options:
    if asked.ties not in TIES:
        raise InputError(f"ties is {asked.ties!r}; use one of {', '.join(TIES)}")
    if asked.both_bad not in {"tie", "drop"}:
        raise InputError(f"both_bad is {asked.both_bad!r}; use 'tie' or 'drop'")
    if asked.scale not in {"elo", "log-odds"}:
        raise InputError(f"scale is {asked.scale!r}; use 'elo' or 'log-odds'")
    if asked.prior is not None and not 0.0 < asked.prior < np.inf:
        raise InputError(f"prior is {asked.prior:g}; give the wins and losses to add to every model, such as 0.5")
    if asked.n_resamples is not None:
        check_count(asked.n_resamples, "n_resamples", least=100)
    for k in asked.top:
        check_count(k, "an entry of top", least=1)
    check_count(asked.seed, "seed")
    level = check_level(0.95 if asked.conf_level is None else asked.conf_level)
    values: dict[str, Any] = asdict(asked) | {"prior": asked.prior or 0.0, "conf_level": level}
    return Options(**values)


def _is_lazy(battles: object) -> bool:
    """Tell whether the votes are a lazy frame of another library (a DuckDB relation)."""
    return type(battles).__module__.partition(".")[0].strip("_") in {"duckdb", "pyspark", "ibis", "dask"}


def _listed(covariates: str | Sequence[str] | None) -> tuple[str, ...]:
    if covariates is None:
        return ()
    return (covariates,) if isinstance(covariates, str) else tuple(covariates)


def _about(battles: object) -> tuple[str, tuple[tuple[str, str], ...], tuple[Note, ...]]:
    """Return the arena's name, its sources, and what must be known of them."""
    if not isinstance(battles, EvalData):
        return "votes", (), ()
    runs = levels_of(battles.comparisons["run"])
    about = battles.runs.filter(pl.col("run").is_in(runs))
    names = levels_of(about["benchmark"])
    return " + ".join(names) or "votes", sources_of(battles, runs), run_notes(battles, runs)


def _with(table: VoteTable, names: Sequence[str], *, side: bool) -> tuple[VoteRows, Covariates] | None:
    """Return the votes with other covariates; None where they cannot be had, or only of less than half of the votes."""
    if table.votes is None:
        return None
    try:
        found = relative_differences(table.votes, names, side=side)
    except InputError:
        return None
    at = np.ones(table.first.size, dtype=np.bool_) if found.kept is None else found.kept.to_numpy()
    if at.mean() < 0.5:
        return None  # an adjustment of some votes would be shown as one of all
    return table.rows_at(at, covariates=found.values), found


def _parts(table: VoteTable, found: Connection, options: Options) -> list[Part]:
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
    return [rate(restricted(table, part), part, options) for part in large]


def _paired(parts: Sequence[Part], pairing: Pairing) -> tuple[list[Part], Pairing]:
    """Return parts with errors that allow for how pairs were chosen, and by how much these were widened."""
    found: list[Part] = []
    for part in parts:
        paired, pairing = with_pairing(part, pairing)
        found.append(paired)
    return found, pairing


def _by_votes_alone(table: VoteTable, found: Connection, options: Options) -> Sequence[Part] | None:
    """Return the parts without the prior, none where there are then none; None without a prior, or where it connects nothing."""
    if options.prior == 0.0 or found.is_connected:
        return None
    try:
        return _parts(table, found, replace(options, prior=0.0))
    except CannotAnswerError:
        return ()


def _without_suspects(battles: object, asked: ArenaOptions) -> ArenaRanking:
    """Rate all votes, and then those that no check suspects."""
    if isinstance(battles, pl.LazyFrame) or _is_lazy(battles):
        raise InputError("suspect votes are found among single votes; collect the lazy frame first")
    every = replace(asked, without_suspects=False)
    result = _ranked(battles, replace(every, checks=True))
    frame = comparisons_of(battles)
    found = suspects_of(frame, result)
    if not found.reasons:
        none = as_notes("choice", ["The checks suspect no votes, so none is left out"], caution=False)
        return replace(result, asked=asked, notes=(*result.notes, *none))
    kept = frame.filter(~found.at)
    again = _ranked(replace(battles, comparisons=kept) if isinstance(battles, EvalData) else kept, every)
    why = several([f"{n:,} {reason}" for reason, n in found.reasons])
    text = (
        f"{result.n_votes - again.n_votes:,} of {result.n_votes:,} votes are left out as suspect ({why}); they were chosen by "
        "their outcomes, so read this beside the ratings of all votes"
    )
    return replace(again, asked=asked, notes=_ordered(*as_notes("left_out", [text]), *again.notes))


def _ranked(battles: object, asked: ArenaOptions) -> ArenaRanking:
    options = _checked(asked)
    if asked.without_suspects:
        return _without_suspects(battles, asked)
    name, sources, remarks = _about(battles)
    votes = _votes(battles, asked)
    table, counts = votes.table, votes.counts
    if asked.anchor is not None and asked.anchor not in table.models:
        have = some_of(table.models, 12)
        raise InputError(f"the anchor {asked.anchor!r} has no votes; models with votes: {have}")
    found = connection(table.rows)
    parts = _parts(table, found, options)
    graph = graph_of(table.rows, table.models, found)
    pairing, pairing_line = pairing_of(table, options)
    alone = _by_votes_alone(table, found, options)
    tables = [part.table for part in parts]
    parts, levels = decided(parts, asked=asked.cluster is not None)
    if alone is not None and levels is not None and levels.shown == "these":
        alone = for_these_prompts(alone)
    parts, pairing = _paired(parts, pairing)
    standing = standing_of(table, parts if alone is None else _paired(alone, pairing)[0], found, options)
    if standing is not None:
        parts = [standing.part if options.prior == 0.0 else with_records(parts[0], standing)]
        graph = replace(
            graph,
            unbounded_above=tuple(each.name for each in standing.records if each.won),
            unbounded_below=tuple(each.name for each in standing.records if not each.won),
        )
    main, all_shared = max(zip(parts, tables, strict=True), key=lambda both: both[1].n_votes)
    whole = len(parts) == 1 and main.table.n_models == table.n_models
    side = side_effect(main)
    # Tastes for prompts are there, whatever the claims are for.
    checked = check_votes(table, replace(main, table=all_shared), graph, options, side=side, wanted=asked.checks)
    if options.prior > 0.0:
        standing = None  # the prior rates every model: its line is like the others
    rows, order = rating_rows(table, parts, found, standing, options)
    covariates, further = _covariates(votes, main, side, whole=whole)
    styled, sided = (None if each is None else each[0] for each in (votes.styled, votes.sided))
    return ArenaRanking(
        arena=name,
        ties=options.ties,
        scale=options.scale,
        unit="Elo points" if options.scale == "elo" else "log-odds",
        anchor=options.anchor,
        conf_level=options.conf_level,
        method=METHODS[options.ties],
        method_reason=_REASONS[options.ties],
        rank_method="none" if main.claims is None else main.claims.ranks.method,
        estimand=_estimand(votes, main, graph, levels),
        rows=rows,
        pairs=_pairs(table, parts, standing, rows, options),
        covariance=_covariance(parts, table.n_models, order),
        clusters=cluster_counts(main),
        levels=levels,
        df=main.df,
        vote_level_ratio=vote_level_ratio(main),
        covariates=covariates,
        alternatives=alternatives_of(main, table.rows, order, styled=styled, sided=sided) if whole else (),
        categories=None
        if asked.by is None
        else categories_of(
            main.table,
            asked.by,
            conf_level=options.conf_level,
            seed=options.seed,
            points=options.points,
            overall=main.ratings,
        ),
        graph=graph,
        pairing=pairing,
        fit=checked.fit,
        trust=checked.trust,
        drift=checked.drift,
        checks=(checked.lines[0], pairing_line, *checked.lines[1:]) if asked.checks else checked.lines,
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
        rank_reason=_rank_reason(graph, main, options),
        seed=options.seed,
        version=toolkit_version(),
        sources=sources,
        notes=_ordered(
            *remarks,
            *lookalike_notes(table.models),
            *_no_one_scale(graph, options),
            *pairing_notes(pairing, parts),
            *table.notes,
            *main.notes,
            *further,
            *checked.notes,
            *_facts(votes, graph, main, levels),
        ),
        asked=asked,
    )


def _covariates(
    votes: _Votes, main: Part, side: VoteCovariate | str, *, whole: bool
) -> tuple[tuple[VoteCovariate, ...], list[Note]]:
    """Return the coefficients of the headline, and of side and style estimated beside it."""
    found = list(covariate_rows(main, votes.covariates, held=True))
    if not isinstance(side, str) and not side.held and np.isfinite(side.estimate):
        found.append(side)
    if votes.styled is None or not whole:
        return tuple(found), []
    rows, covariates = votes.styled
    table = replace(votes.table, rows=rows, covariates=covariates.values, covariate_names=covariates.names)
    try:
        refit = rate(table, main.models, main.options, bare=True)
    except (CannotAnswerError, InputError) as error:
        return tuple(found), [Note(kind="fit", text=f"Style could not be estimated: {error}")]
    return (*found, *covariate_rows(refit, covariates, held=False)), []


def _covariance(
    parts: Sequence[Part], n_models: int, order: Sequence[int]
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


def _pairs(
    table: VoteTable, parts: Sequence[Part], standing: Standing | None, rows: Sequence[RatingRow], options: Options
) -> tuple[PairContrast, ...]:
    """Return every pair of a part in the order of the rows, and those of a model without a finite rating."""
    found = tuple(pair for part in parts for pair in pair_rows(part, options))
    if standing is None:
        return found
    order = {row.name: place for place, row in enumerate(rows)}
    every = (*found, *perfect_pairs(standing, met_table(table.rows), options))
    return tuple(sorted(every, key=lambda pair: (order[pair.first], order[pair.second])))


def _estimand(votes: _Votes, main: Part, graph: VoteGraph, levels: PromptLevels | None) -> str:
    shared = [_PLURALS.get(cluster.name, f"levels of {cluster.name}") for cluster in cluster_counts(main)]
    new = f"for new {' and '.join(shared)} like these" if shared else "for new votes like these, each on its own"
    if levels is not None and levels.shown == "these":
        new += f", on these {plural(levels.n_prompts, 'prompt')}"
    held = f", with {' and '.join(votes.covariates.names)} held equal" if votes.covariates.names else ""
    mean = (
        "the mean of all models"
        if graph.connected or main.options.prior > 0.0
        else "the mean of the models of its part"
    )
    if graph.one_list and not graph.connected and main.options.prior == 0.0:
        mean = "the mean of the models with a finite rating"
    against = main.options.anchor or mean
    return f"strength in votes against {against}{held}, {new}"


def _rank_reason(graph: VoteGraph, main: Part, options: Options) -> str | None:
    if main.rank_reason is not None:
        return main.rank_reason
    if graph.one_list or options.prior > 0.0:
        return None
    return (
        f"votes do not put all {graph.n_models} models on one scale, but {len(graph.components)} parts of them: ranks are "
        "counted within each part, and there is none over all"
    )


def _no_one_scale(graph: VoteGraph, options: Options) -> tuple[Note, ...]:
    if graph.connected:
        return ()
    if graph.one_list:
        return _perfect(graph, options.prior)
    n = len(graph.components)
    if options.prior > 0.0:
        text = (
            f"The votes alone leave {n} parts; how these lie to each other rests on the prior of {options.prior:g} wins"
        )
        return (Note(kind="comparability", text=text),)
    # The answer says so itself.
    text = f"The votes leave {n} parts, and ratings can be compared within a part only"
    return (Note(kind="comparability", text=text, caution=False),)


def _perfect(graph: VoteGraph, prior: float) -> tuple[Note, ...]:
    """Say which models have no finite rating, or one by the prior alone, and why."""
    told: list[str] = []
    for names, all_of, done, end in (
        (graph.unbounded_above, graph.unbeaten, "won", "upper"),
        (graph.unbounded_below, graph.winless, "lost", "lower"),
    ):
        # Of two such models one may have beaten the other.
        on = "" if set(names) <= set(all_of) else " on the rated models"
        one = len(names) == 1
        if names and prior > 0.0:
            told.append(
                f"The rating{'' if one else 's'} of {several(names, 3)}, which {done} every vote{on}, "
                f"{'rests' if one else 'rest'} on the prior of {prior:g} wins; ranks rest on the votes alone"
            )
        elif names:
            told.append(
                f"The rating{'' if one else 's'} of {several(names, 3)} {'has' if one else 'have'} no {end} limit: "
                f"{'it' if one else 'they'} {done} every vote{on}"
            )
    return as_notes("few", told)


def _facts(votes: _Votes, graph: VoteGraph, main: Part, levels: PromptLevels | None) -> list[Note]:
    notes: list[Note] = []
    used = sorted(main.covariance.used, key=lambda way: way.n_clusters)
    if levels is None and main.covariance.few_clusters and len(used) > 1:
        few, other = used[0], used[-1]
        what = _PLURALS.get(few.name, few.name)
        text = (
            f"Claims are for {what} like these {few.n_clusters}; to speak of these alone, cluster by {other.name} only"
        )
        notes.append(Note(kind="choice", text=text, caution=False))
    if graph.few_votes:
        few = several([f"{name} ({count})" for name, count in graph.few_votes])
        notes.append(Note(kind="few", text=f"Little can be said of models with fewer than 10 votes: {few}"))
    if votes.table.votes is not None and votes.counts.n_events:
        size = votes.table.votes["event_size"].max()
        if isinstance(size, int) and size > 2:
            text = f"Events of up to {size} models are taken apart into pairs, and the event is a cluster"
            notes.append(Note(kind="choice", text=text, caution=False))
    return notes


def _ordered(*notes: Note) -> tuple[Note, ...]:
    """Return cautions first, with one note on simulated data before all: what the votes say goes before what a file says."""
    made_up = [note for note in notes if note.kind == "simulated"][-1:]
    rest = [note for note in notes if note.kind != "simulated"]
    return (*made_up, *(note for note in rest if note.caution), *(note for note in rest if not note.caution))
