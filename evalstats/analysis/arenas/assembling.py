"""Put the result of `arena()` together."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from evalstats.analysis.arenas.alternatives import Choice, alternatives_of
from evalstats.analysis.arenas.check_results import VoteGraph
from evalstats.analysis.arenas.checking import check_votes
from evalstats.analysis.arenas.claiming import Options
from evalstats.analysis.arenas.connecting import graph_of, named
from evalstats.analysis.arenas.covarying import Covariates
from evalstats.analysis.arenas.lines import pair_rows, rating_rows
from evalstats.analysis.arenas.preparing import VoteCounts
from evalstats.analysis.arenas.rating import Part, cluster_counts, covariate_rows, rate, vote_level_ratio
from evalstats.analysis.arenas.results import Alternative, ArenaRanking, Categories, VoteCovariate
from evalstats.analysis.arenas.table import VoteTable
from evalstats.analysis.provenance import toolkit_version
from evalstats.errors import CannotAnswerError, InputError
from evalstats.stats.arena.existence import Connection
from evalstats.stats.arena.likelihood import Ties
from evalstats.stats.arena.votes import VoteRows
from evalstats.stats.checks import FloatArray

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
    remarks: tuple[str, ...]


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
        warnings=(*_scale_warnings(graph, options), *table.warnings, *main.warnings, *further),
        notes=(*made.remarks, *table.notes, *checked.notes, *_bare(made, graph, main)),
    )


def _categories(main: Part, by: str | None, options: Options) -> Categories | None:
    if by is None:
        return None
    from evalstats.analysis.arenas.categories import categories_of

    return categories_of(
        main.table, by, conf_level=options.conf_level, seed=options.seed, points=options.points, overall=main.ratings
    )


def _covariates(made: Material, main: Part, *, whole: bool) -> tuple[tuple[VoteCovariate, ...], list[str]]:
    """Return the coefficients of the headline, and of side and style estimated beside it."""
    found = list(covariate_rows(main, made.covariates, made.options, held=True))
    warnings: list[str] = []
    if not whole:
        return tuple(found), warnings
    for beside, what in ((made.sided, "the side"), (made.styled, "style")):
        if beside is None:
            continue
        try:
            refit = rate_rows(made, beside)
        except (CannotAnswerError, InputError) as error:
            if what == "style":
                warnings.append(f"{what} could not be estimated: {error}")
            continue
        known = {row.name for row in found}
        found.extend(
            row for row in covariate_rows(refit, beside.covariates, made.options, held=False) if row.name not in known
        )
    return tuple(found), warnings


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


def _covariance(parts: Sequence[Part], n_models: int, order: Sequence[int]) -> FloatArray | None:
    """Return the covariance of ratings in the order of the rows, NaN between parts."""
    if all(part.rating_covariance is None for part in parts):
        return None
    full = np.full((n_models, n_models), np.nan)
    for part in parts:
        if part.rating_covariance is not None:
            full[np.ix_(part.models, part.models)] = part.rating_covariance
    return full[np.ix_(order, order)]


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


def _scale_warnings(graph: VoteGraph, options: Options) -> list[str]:
    if graph.connected:
        return []
    if options.prior > 0.0:
        return [
            (
                f"votes alone do not put all models on one scale ({len(graph.components)} parts); ratings rest on the prior of "
                f"{options.prior:g} wins and losses added to every model, and so do ranks across parts"
            )
        ]
    told = "; ".join(named(part) for part in graph.components[:3])
    more = f"; and {len(graph.components) - 3} more" if len(graph.components) > 3 else ""
    return [
        (
            f"votes do not put all models on one scale: {len(graph.components)} parts ({told}{more}). Ratings are comparable "
            "within a part only; collect votes between the parts in which both sides win, or state a prior"
        )
    ]


def _bare(made: Material, graph: VoteGraph, main: Part) -> list[str]:
    notes: list[str] = []
    used = sorted(main.covariance.used, key=lambda way: way.n_clusters)
    if main.covariance.few_clusters and len(used) > 1:
        few, other = used[0], used[-1]
        notes.append(
            f"claims are for {_PLURALS.get(few.name, few.name)} like these {few.n_clusters}; for these alone, which can say "
            f"more, cluster by {other.name} only"
        )
    if graph.few_votes:
        few = tuple(f"{name} ({count})" for name, count in graph.few_votes)
        notes.append(f"models with fewer than 10 votes: {named(few)}; little can be said about them")
    if made.table.votes is not None and made.counts.n_events:
        size = made.table.votes["event_size"].max()
        if isinstance(size, int) and size > 2:
            notes.append(f"events of up to {size} models are taken apart into pairs, and the event is a cluster")
    return notes
