"""The result put together: a line for each model, one for each pair, covariates, checks."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from scipy.sparse import csr_array
from scipy.special import expit

from evalstats.analysis.arena.adjustments import Choice, Covariates, alternatives_of
from evalstats.analysis.arena.check_result import VoteGraph, graph_of, named, votes_of
from evalstats.analysis.arena.ratings import (
    Claims,
    Options,
    Part,
    cluster_counts,
    covariate_rows,
    model_df,
    rate,
    vote_level_ratio,
)
from evalstats.analysis.arena.result import (
    Alternative,
    ArenaRanking,
    Categories,
    PairContrast,
    PairVerdict,
    RatingRow,
    VoteCovariate,
)
from evalstats.analysis.arena.trust import check_votes
from evalstats.analysis.arena.votes import VoteCounts, VoteTable
from evalstats.analysis.provenance import toolkit_version
from evalstats.document.model import Note
from evalstats.errors import CannotAnswerError, InputError
from evalstats.stats.arena.elo import online_elo
from evalstats.stats.arena.existence import Connection
from evalstats.stats.arena.likelihood import Ties
from evalstats.stats.arena.votes import A_WINS, B_WINS, BOTH_BAD, TIE, VoteRows
from evalstats.stats.checks import FloatArray, IntArray
from evalstats.stats.estimate import t_quantile

_UNKNOWN = "standard error cannot be estimated"


def rating_rows(
    table: VoteTable, parts: Sequence[Part], found: Connection, options: Options
) -> tuple[tuple[RatingRow, ...], list[int]]:
    """Return a line for each model, by part and then by rating, and the order of their numbers."""
    counts = _counts(table.rows)
    levels, shares = _levels(table), _share(table.rows)
    online = _online(table, options) if options.online else None
    rated = {model: (part, place) for part in parts for place, model in enumerate(part.models)}
    number = {model: k + 1 for k, group in enumerate(found.components) for model in group}
    lines: dict[int, RatingRow] = {}
    for model, name in enumerate(table.models):
        base = RatingRow(
            name=name,
            conf_level=options.conf_level,
            estimate=None,
            n_votes=int(counts["n_votes"][model]),
            n_wins=int(counts["n_wins"][model]),
            n_losses=int(counts["n_losses"][model]),
            n_ties=int(counts["n_ties"][model]),
            n_both_bad=int(counts["n_both_bad"][model]),
            n_opponents=int(counts["n_opponents"][model]),
            win_share=shares[model],
            n_clusters=tuple(int(each[model]) for each in levels),
            online_elo=None if online is None else float(online[model]),
            component=1 if options.prior > 0.0 else number[model],
        )
        lines[model] = _rated(base, *rated[model]) if model in rated else _unrated(base, found, model)
    order = sorted(lines, key=lambda model: _place(lines[model]))
    return tuple(lines[model] for model in order), order


def pair_rows(part: Part, options: Options) -> tuple[PairContrast, ...]:
    """Return every pair of a part, the better rated first."""
    names, met = part.table.models, _met(part.table.rows)
    order: list[int] = np.argsort(-part.ratings, kind="stable").tolist()
    rows: list[PairContrast] = []
    for k, i in enumerate(order):
        for j in order[k + 1 :]:
            eta = float(part.fit.strengths[i] - part.fit.strengths[j])
            bare = PairContrast(
                conf_level=options.conf_level,
                first=names[i],
                second=names[j],
                estimate=float(part.ratings[i] - part.ratings[j]),
                win_probability=float(expit(eta)),
                n_votes=int(met[i, j]),
                reason=part.reason,
            )
            rows.append(bare if part.claims is None else _with_error(bare, part.claims, options, i, j))
    return tuple(rows)


def _with_error(pair: PairContrast, claims: Claims, options: Options, i: int, j: int) -> PairContrast:
    """Add what is known of the error of a contrast."""
    error, df = _number(claims.std_error[i, j]), _number(claims.df[i, j])
    estimate = pair.estimate or 0.0
    if error is None or df is None:
        return replace(
            pair,
            reason=f"its {_UNKNOWN}: all votes on one of the two are ties, or lie in hardly more than one cluster",
        )
    reach = t_quantile(options.conf_level, df) * error
    low, high = estimate - reach, estimate + reach
    if claims.by_prior[i, j]:
        reason = "the prior alone puts the two on one scale, and it orders nobody"
        return replace(
            pair, std_error=error, df=df, conf_low=low, conf_high=high, reason=reason, more_votes_reason=reason
        )
    adjusted = _number(claims.p_adjusted[i, j])
    separated = bool(claims.separated[i, j])
    verdict: PairVerdict = ("better" if estimate > 0.0 else "worse") if separated else "not separated"
    more = None if separated else _number(claims.more_votes[i, j])
    return replace(
        pair,
        std_error=error,
        df=df,
        conf_low=low,
        conf_high=high,
        p_value=_number(claims.p_value[i, j]),
        p_adjusted=adjusted,
        win_low=float(expit(low / options.points)),
        win_high=float(expit(high / options.points)),
        order_probability=_number(claims.order[i, j]),
        more_votes=None if more is None else int(more),
        more_votes_reason=None if separated else claims.more_votes_reasons.get((i, j)),
        verdict=verdict,
    )


def _rated(line: RatingRow, part: Part, place: int) -> RatingRow:
    """Add the rating of a model in its part."""
    options = part.options
    rating, error = float(part.ratings[place]), _number(part.std_errors[place])
    fixed = part.table.models[place] == options.anchor
    df = _number(model_df(part.covariance)[place])
    reach = None if error is None or df is None else t_quantile(options.conf_level, df) * error
    reason = "its rating is fixed: it is the anchor" if fixed else part.reason
    if reason is None and reach is None:
        reason = f"its {_UNKNOWN}: all its votes are ties, or lie in hardly more than one cluster"
    told = replace(
        line,
        estimate=rating,
        strength=float(part.fit.strengths[place]),
        std_error=None if reach is None else error,
        conf_low=None if reach is None else rating - reach,
        conf_high=None if reach is None else rating + reach,
        reason=reason,
    )
    if part.boot is not None:
        low, high = (_number(float(ends[place])) for ends in (part.boot.conf_low, part.boot.conf_high))
        told = replace(told, boot_low=_scaled(low, options), boot_high=_scaled(high, options))
    claims = part.claims
    if claims is None or claims.rank_reason is not None:
        return replace(told, rank_reason=part.rank_reason)
    low, high = int(claims.rank_low[place]), int(claims.rank_high[place])
    return replace(
        told,
        rank_low=low,
        rank_high=high,
        rank_low_marginal=int(claims.marginal_low[place]),
        rank_high_marginal=int(claims.marginal_high[place]),
        rank_arena=int(claims.rank_arena[place]),
        may_be_best=low <= 1,
        top=tuple((k, low <= k) for k in options.top),
    )


def _unrated(line: RatingRow, found: Connection, model: int) -> RatingRow:
    """Say why a model has no rating."""
    if model in found.unbeaten:
        why = "it lost no vote, so its rating has no upper end"
    elif model in found.winless:
        why = "it won no vote, so its rating has no lower end"
    else:
        why = "no chain of wins and losses joins it to another model"
    return replace(line, reason=why, rank_reason=why)


def _place(line: RatingRow) -> tuple[int, float, str]:
    return (line.component or 0, -(line.estimate if line.estimate is not None else np.inf), line.name)


def _counts(rows: VoteRows) -> dict[str, IntArray]:
    """Return votes of every model by what became of them."""

    def of(side: IntArray, outcome: int) -> IntArray:
        at = rows.outcome == outcome
        return np.bincount(side[at], weights=rows.count[at], minlength=rows.n_models).astype(np.int64)

    return {
        "n_votes": votes_of(rows),
        "n_wins": of(rows.first, A_WINS) + of(rows.second, B_WINS),
        "n_losses": of(rows.first, B_WINS) + of(rows.second, A_WINS),
        "n_ties": of(rows.first, TIE) + of(rows.second, TIE),
        "n_both_bad": of(rows.first, BOTH_BAD) + of(rows.second, BOTH_BAD),
        "n_opponents": (_met(rows) > 0).sum(axis=1),
    }


def _share(rows: VoteRows) -> list[float | None]:
    n = rows.n_models
    got = np.bincount(rows.first, weights=rows.weight * rows.share, minlength=n)
    got += np.bincount(rows.second, weights=rows.weight * (1.0 - rows.share), minlength=n)
    total = np.bincount(rows.first, weights=rows.weight, minlength=n)
    total += np.bincount(rows.second, weights=rows.weight, minlength=n)
    return [float(part / whole) if whole > 0.0 else None for part, whole in zip(got, total, strict=True)]


def _met(rows: VoteRows) -> IntArray:
    """Return the votes between every two models."""
    n = rows.n_models
    there = np.bincount(rows.first * n + rows.second, weights=rows.count, minlength=n * n).reshape(n, n)
    return (there + there.T).astype(np.int64)


def _levels(table: VoteTable) -> list[IntArray]:
    """Return, for each cluster, how many of its levels the votes of every model come from."""
    found: list[IntArray] = []
    for codes in table.rows.clusters:
        n_levels = int(codes.max(initial=0)) + 1
        seen = csr_array(
            (
                np.ones(2 * codes.size, dtype=np.int32),
                (np.concatenate([table.rows.first, table.rows.second]), np.tile(codes, 2)),
            ),
            shape=(table.n_models, n_levels),
        )
        found.append(np.diff(seen.indptr).astype(np.int64))  # equal places are added up, so stored entries are levels
    return found


def _online(table: VoteTable, options: Options) -> FloatArray:
    """Return ratings by one pass in the order of time (of the file, where no time is known)."""
    order = np.arange(table.first.size)
    if table.votes is not None and "timestamp" in table.votes.columns:
        times = table.votes["timestamp"]
        if times.null_count() < len(times):
            order = times.dt.epoch("us").fill_null(pl.lit(-(1 << 62))).arg_sort().to_numpy()
    ratings = online_elo(table.first[order], table.second[order], table.share[order], n_models=table.n_models)
    return ratings if options.scale == "elo" else (ratings - 1000.0) / options.points


def _scaled(end: float | None, options: Options) -> float | None:
    return None if end is None else options.base + options.points * end


def _number(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


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
_UNITS = {"elo": "Elo points", "log-odds": "log-odds"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """The same votes with further covariates: rows, and what the covariates are."""

    rows: VoteRows
    covariates: Covariates


@dataclass(frozen=True, slots=True, kw_only=True)
class Material:
    """Everything the result is made of.

    Attributes
    ----------
    parts
        Rated parts of the vote graph, best first.
    covariates
        Those of the headline; `styled` and `sided` hold those shown beside it.
    """

    table: VoteTable
    counts: VoteCounts
    covariates: Covariates
    connection: Connection
    parts: Sequence[Part]
    options: Options
    styled: Beside | None
    sided: Beside | None
    arena: str
    sources: tuple[tuple[str, str], ...]
    remarks: tuple[Note, ...]


def ranking_of(made: Material, *, by: str | None, checks: bool) -> ArenaRanking:
    """Return the result."""
    table, options, counts = made.table, made.options, made.counts
    graph = graph_of(table.rows, table.models, made.connection)
    main = max(made.parts, key=lambda part: part.table.n_votes)
    whole = len(made.parts) == 1 and main.table.n_models == table.n_models
    checked = check_votes(table, main, graph, options, wanted=checks)
    rows, order = rating_rows(table, made.parts, made.connection, options)
    beside, further = _covariates(made, main, whole=whole)
    return ArenaRanking(
        arena=made.arena,
        ties=options.ties,
        scale=options.scale,
        unit=_UNITS[options.scale],
        anchor=options.anchor,
        conf_level=options.conf_level,
        method=METHODS[options.ties],
        method_reason=_REASONS[options.ties],
        rank_method="none" if main.claims is None else main.claims.rank_method,
        estimand=_estimand(made, main),
        rows=rows,
        pairs=tuple(pair for part in made.parts for pair in pair_rows(part, options)),
        covariance=_covariance(made.parts, table.n_models, order),
        clusters=cluster_counts(main),
        df=main.df,
        vote_level_ratio=vote_level_ratio(main),
        covariates=beside,
        alternatives=_alternatives(made, main, order) if whole else (),
        categories=_categories(main, by, options),
        graph=graph,
        fit=checked.fit,
        trust=checked.trust,
        drift=checked.drift,
        checks=checked.lines,
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
        converged=all(part.fit.converged for part in made.parts),
        rank_reason=_rank_reason(graph, main, options),
        seed=options.seed,
        version=toolkit_version(),
        sources=made.sources,
        notes=_ordered(
            *made.remarks,
            *_no_one_scale(graph, options),
            *table.notes,
            *main.notes,
            *further,
            *checked.notes,
            *_facts(made, graph, main),
        ),
    )


def _categories(main: Part, by: str | None, options: Options) -> Categories | None:
    if by is None:
        return None
    from evalstats.analysis.arena.categories import categories_of

    return categories_of(
        main.table, by, conf_level=options.conf_level, seed=options.seed, points=options.points, overall=main.ratings
    )


def _covariates(made: Material, main: Part, *, whole: bool) -> tuple[tuple[VoteCovariate, ...], list[Note]]:
    """Return the coefficients of the headline, and of side and style estimated beside it."""
    found = list(covariate_rows(main, made.covariates, made.options, held=True))
    notes: list[Note] = []
    if not whole:
        return tuple(found), notes
    for beside, what in ((made.sided, "the side"), (made.styled, "style")):
        if beside is None:
            continue
        try:
            refit = rate_rows(made, beside)
        except (CannotAnswerError, InputError) as error:
            if what == "style":
                notes.append(Note(kind="fit", text=f"{what} could not be estimated: {error}"))
            continue
        known = {row.name for row in found}
        found.extend(
            row for row in covariate_rows(refit, beside.covariates, made.options, held=False) if row.name not in known
        )
    return tuple(found), notes


def rate_rows(made: Material, beside: Beside) -> Part:
    """Rate with further covariates, for their coefficients alone."""
    table = replace(
        made.table, rows=beside.rows, covariates=beside.covariates.values, covariate_names=beside.covariates.names
    )
    return rate(table, tuple(range(table.n_models)), made.options, number=1, bare=True)


def _alternatives(made: Material, main: Part, order: Sequence[int]) -> tuple[Alternative, ...]:
    names = tuple(made.table.models)
    choice = Choice(
        fit=main.fit,
        rows=made.table.rows,
        names=names,
        centre=main.scaled,
    )
    graded = bool(np.any(~np.isin(made.table.rows.share, (0.0, 0.5, 1.0))))
    found = alternatives_of(
        choice,
        styled=None if made.styled is None else made.styled.rows,
        sided=None if made.sided is None else made.sided.rows,
        graded=graded,
    )
    return tuple(replace(each, ratings=tuple(each.ratings[model] for model in order)) for each in found)


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
    return tuple(tuple(_number(value) for value in row) for row in ordered)


def _estimand(made: Material, main: Part) -> str:
    shared = [_PLURALS.get(cluster.name, f"levels of {cluster.name}") for cluster in cluster_counts(main)]
    new = f"for new {' and '.join(shared)} like these" if shared else "for new votes like these, each on its own"
    held = f", with {' and '.join(made.covariates.names)} held equal" if made.covariates.names else ""
    whole = made.connection.is_connected or made.options.prior > 0.0
    against = made.options.anchor or ("the mean of all models" if whole else "the mean of the models of its part")
    return f"strength in votes against {against}{held}, {new}"


def _rank_reason(graph: VoteGraph, main: Part, options: Options) -> str | None:
    if main.rank_reason is not None:
        return main.rank_reason
    if graph.connected or options.prior > 0.0:
        return None
    return (
        f"votes do not put all {graph.n_models} models on one scale, but {len(graph.components)} parts of them: ranks are "
        "counted within each part, and there is none over all"
    )


def _no_one_scale(graph: VoteGraph, options: Options) -> tuple[Note, ...]:
    if graph.connected:
        return ()
    n = len(graph.components)
    if options.prior > 0.0:
        text = (
            f"the votes alone leave {n} parts; how these lie to each other rests on the prior of {options.prior:g} wins"
        )
        return (Note(kind="comparability", text=text),)
    # The answer says so itself.
    text = f"the votes leave {n} parts, and ratings can be compared within a part only"
    return (Note(kind="comparability", text=text, caution=False),)


def _facts(made: Material, graph: VoteGraph, main: Part) -> list[Note]:
    notes: list[Note] = []
    used = sorted(main.covariance.used, key=lambda way: way.n_clusters)
    if main.covariance.few_clusters and len(used) > 1:
        few, other = used[0], used[-1]
        what = _PLURALS.get(few.name, few.name)
        text = (
            f"claims are for {what} like these {few.n_clusters}; to speak of these alone, cluster by {other.name} only"
        )
        notes.append(Note(kind="choice", text=text, caution=False))
    if graph.few_votes:
        few = tuple(f"{name} ({count})" for name, count in graph.few_votes)
        notes.append(Note(kind="few", text=f"little can be said of models with fewer than 10 votes: {named(few)}"))
    if made.table.votes is not None and made.counts.n_events:
        size = made.table.votes["event_size"].max()
        if isinstance(size, int) and size > 2:
            text = f"events of up to {size} models are taken apart into pairs, and the event is a cluster"
            notes.append(Note(kind="choice", text=text, caution=False))
    return notes


def _ordered(*notes: Note) -> tuple[Note, ...]:
    """Return cautions first, with one note on simulated data before all: what the votes say goes before what a file says."""
    made_up = [note for note in notes if note.kind == "simulated"][-1:]
    rest = [note for note in notes if note.kind != "simulated"]
    return (*made_up, *(note for note in rest if note.caution), *(note for note in rest if not note.caution))
