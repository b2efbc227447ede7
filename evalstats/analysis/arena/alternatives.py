"""The same votes under other choices (ties, both-bad votes, style, side, equal pairs), and by category with partial pooling."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from evalstats.analysis.arena.checks import votes_of
from evalstats.analysis.arena.ratings import RatedPart
from evalstats.analysis.arena.result import Alternative, Categories, CategoryRating
from evalstats.analysis.result import finite
from evalstats.errors import CannotAnswerError, InputError
from evalstats.grammar import plural
from evalstats.record import record
from evalstats.stats.arena.bradley_terry import fit_strengths
from evalstats.stats.arena.likelihood import PairFit, Ties
from evalstats.stats.arena.slices import PooledStrengths, pooled_strengths, slice_strengths
from evalstats.stats.arena.votes import BOTH_BAD, TIE, VoteRows, merged, vote_rows
from evalstats.stats.checks import FloatArray, IntArray
from evalstats.table.votes import VoteTable

TIES: tuple[Ties, ...] = ("half", "davidson", "rao-kupper")
_TITLES = {
    "half": "Ties as half wins",
    "davidson": "Davidson's ties",
    "rao-kupper": "Rao and Kupper's ties",
    "without both bad": "Without both-bad votes",
    "without covariates": "Without covariates",
    "with style": "With style held equal",
    "with side": "With the side held equal",
    "equal pairs": "All pairs weighted equally",
}
FEWEST_VOTES = 20  # of a category
_PRIOR = 0.5
_WORK = 1e8  # categories times models cubed, above which the smallest categories are left out
_DRAWS = 499
_APART = "these votes alone do not connect it with the other models: its overall rating decides what they leave open"


def alternatives_of(
    main: RatedPart, rows: VoteRows, order: Sequence[int], *, styled: VoteRows | None, sided: VoteRows | None
) -> tuple[Alternative, ...]:
    """Refit the headline's votes under every other choice that they allow, models in the given order.

    `rows` are merged without clusters. `styled` and `sided` are the same votes with style, or the side, as covariates; None
    where there are none or they are in the headline. Models of ties cannot read graded preferences.
    """
    ties = main.fit.ties
    graded = bool(np.any(~np.isin(rows.share, (0.0, 0.5, 1.0))))
    tied = bool(np.any(rows.outcome >= TIE))
    others: dict[str, tuple[VoteRows, Ties]] = {
        other: (rows, other) for other in TIES if tied and other != ties and not (graded and other != "half")
    }
    bad = rows.outcome == BOTH_BAD
    if bad.any() and not bad.all():
        others["without both bad"] = (rows.take(~bad), ties)
    if rows.n_covariates:
        bare = replace(rows, covariates=np.zeros((rows.n_rows, 0)))
        others["without covariates"] = (merged(bare, keep_clusters=False), ties)
    for key, more in (("with style", styled), ("with side", sided)):
        if more is not None:
            others[key] = (merged(more, keep_clusters=False), ties)
    others["equal pairs"] = (equal_pairs(rows), ties)
    return tuple(_alternative(main, order, key, *other) for key, other in others.items())


def equal_pairs(rows: VoteRows) -> VoteRows:
    """Weight votes so that every pair of models that met has the same total, the overall one kept.

    >>> from evalstats.stats.arena.votes import vote_rows
    >>> equal_pairs(vote_rows([0, 0, 0, 1], [1, 1, 1, 2], [0, 0, 1, 0])).weight.tolist()
    [1.3333333333333333, 0.6666666666666666, 2.0]
    """
    low, high = np.minimum(rows.first, rows.second), np.maximum(rows.first, rows.second)
    _, place = np.unique(low * rows.n_models + high, return_inverse=True)
    total = np.bincount(place, weights=rows.weight)
    return rows.reweighted(rows.weight.sum() / total.size / total[place])


def _alternative(main: RatedPart, order: Sequence[int], key: str, rows: VoteRows, ties: Ties) -> Alternative:
    try:
        fit = fit_strengths(rows, ties=ties, prior=main.fit.prior)
    except (CannotAnswerError, InputError) as error:
        return Alternative(key=key, title=_TITLES[key], ratings=tuple(None for _ in order), reason=str(error))
    names = main.table.models
    here, there = main.ratings, main.scaled(fit.strengths)
    move = there - here
    moved, top = int(np.argmax(np.abs(move))), int(np.argmax(there))
    before, after = np.sign(here[:, None] - here), np.sign(there[:, None] - there)
    # Ties take other amounts of the scale in each model of them: order can be compared then, points cannot.
    comparable = fit.ties == main.fit.ties
    return Alternative(
        key=key,
        title=_TITLES[key],
        ratings=tuple(float(there[model]) for model in order),
        largest_move=float(move[moved]) if comparable else None,
        moved=names[moved] if comparable else None,
        n_swaps=int(np.count_nonzero(before * after < 0.0)) // 2,
        new_first=names[top] if top != int(np.argmax(here)) else None,
        log_lik=fit.log_lik if ties != "half" else None,
        tie=fit.tie,
    )


# --- by category ---


@record
class _CategoryVotes:
    """Votes by category, merged; models are numbered by `models`, their places in the table."""

    rows: VoteRows
    category: IntArray
    levels: tuple[str, ...]
    models: IntArray
    left_out: tuple[tuple[str, str], ...]


def categories_of(part: RatedPart, by: str) -> Categories:
    """Rate models in every level of a column of the votes, with partial pooling; deviations are added to the part's ratings.

    With a column of lists (`tags`) a vote counts in each of its categories. `reason` says why there is nothing, where that is
    so; `InputError` where the votes have no such column.
    """
    options = part.options
    try:
        found = _votes_by_category(part.table, by)
        try:
            fit = fit_strengths(found.rows)
        except CannotAnswerError:
            fit = fit_strengths(found.rows, prior=_PRIOR)
        pooled = pooled_strengths(
            fit, found.rows, found.category, conf_level=options.conf_level, n_resamples=_DRAWS, seed=options.seed
        )
    except CannotAnswerError as error:
        return Categories(by=by, levels=(), n_votes=(), rows=(), reason=str(error))
    rows: list[CategoryRating] = []
    for s, level in enumerate(found.levels):
        votes = found.rows.take(found.category == s)
        count, alone = votes_of(votes), _unpooled(votes, fit)
        for m, model in enumerate(found.models):
            name, overall = part.table.models[int(model)], float(part.ratings[int(model)])
            rows.append(
                _category_row(pooled, (s, m), level, name, overall, float(alone[m]), int(count[m]), options.points)
            )
    return Categories(
        by=by,
        levels=found.levels,
        n_votes=tuple(int(found.rows.count[found.category == s].sum()) for s in range(len(found.levels))),
        rows=tuple(rows),
        tau=options.points * pooled.tau,
        tau_low=options.points * pooled.tau_low,
        tau_high=options.points * pooled.tau_high,
        statistic=pooled.statistic,
        p_value=pooled.p_value,
        method=f"restricted likelihood ratio of standard deviation 0, its law from {pooled.n_resamples} draws",
        left_out=found.left_out,
    )


def _category_row(  # noqa: PLR0917 - where, who, and what is known
    pooled: PooledStrengths,
    at: tuple[int, int],
    level: str,
    name: str,
    overall: float,
    alone: float,
    n_votes: int,
    points: float,
) -> CategoryRating:
    if not n_votes:
        return CategoryRating(category=level, model=name, estimate=None, reason="no votes in this category")
    deviation = points * float(pooled.deviations[at])
    return CategoryRating(
        category=level,
        model=name,
        estimate=overall + deviation,
        deviation=deviation,
        std_error=points * float(pooled.std_error[at]),
        conf_low=points * float(pooled.conf_low[at]),
        conf_high=points * float(pooled.conf_high[at]),
        unpooled=finite(points * alone),
        n_votes=n_votes,
        reason=_APART if np.isnan(alone) else None,
    )


def _votes_by_category(table: VoteTable, by: str) -> _CategoryVotes:
    if table.votes is None:
        raise CannotAnswerError("votes were merged, so their categories are not known")
    if by not in table.votes.columns:
        raise InputError(f"the votes have no column {by!r}; they have {', '.join(table.votes.columns)}")
    entries = pl.DataFrame({"vote": np.arange(table.votes.height), "level": table.votes[by]})
    if isinstance(table.votes[by].dtype, pl.List | pl.Array):
        entries = entries.explode("level").unique(maintain_order=True)
    entries = entries.drop_nulls().with_columns(pl.col("level").cast(pl.String))
    if not entries.height:
        raise CannotAnswerError(f"no vote has a value in {by!r}")
    counts = [(str(name), int(n)) for name, n in entries["level"].value_counts(sort=True).rows()]
    few = [
        (name, f"only {plural(n, 'vote')}; at least {FEWEST_VOTES} are needed")
        for name, n in counts
        if n < FEWEST_VOTES
    ]
    enough = [name for name, n in sorted(counts, key=lambda each: (-each[1], each[0])) if n >= FEWEST_VOTES]
    most = max(2, int(_WORK // max(table.n_models, 1) ** 3))
    beyond = f"only the {most} levels of {by} with the most votes are rated with {table.n_models} models"
    kept = tuple(sorted(enough[:most]))
    if len(kept) < 2:
        raise CannotAnswerError(
            f"{plural(len(kept), 'category', 'categories')} of {by!r} with at least {FEWEST_VOTES} votes; 2 are needed"
        )
    place = {name: s for s, name in enumerate(kept)}
    category = entries["level"].replace_strict(place, default=-1, return_dtype=pl.Int64).to_numpy().astype(np.int64)
    vote = entries["vote"].to_numpy().astype(np.int64)[category >= 0]
    category = category[category >= 0]
    models, place_of = np.unique(np.concatenate([table.first[vote], table.second[vote]]), return_inverse=True)
    # Where a vote stands in several categories its parts go together, in its cluster or in one of its own.
    clusters = [codes[vote] for codes in table.codes] or ([vote] if np.unique(vote).size < vote.size else [])
    rows = vote_rows(
        place_of[: vote.size],
        place_of[vote.size :],
        table.outcome[vote],
        n_models=models.size,
        share=table.share[vote],
        weight=table.weight[vote],
        covariates=table.covariates[vote],
        clusters=(*clusters, category),
    )
    return _CategoryVotes(
        rows=replace(rows, clusters=rows.clusters[:-1]),
        category=rows.clusters[-1],
        levels=kept,
        models=models.astype(np.int64),
        left_out=(*few, *((name, beyond) for name in enough[most:])),
    )


def _unpooled(votes: VoteRows, fit: PairFit) -> FloatArray:
    """Return deviations from the category's votes alone, against the models they connect; NaN for others."""
    out = np.full(fit.n_models, np.nan)
    try:
        models, own, _ = slice_strengths(votes)
    except CannotAnswerError:
        return out
    common = fit.strengths[models]
    out[models] = own.strengths - (common - common.mean())
    return out
