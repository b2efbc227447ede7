"""Ratings by category (scenario, language, app, tag), drawn towards the overall ones by as much as noise makes likely."""

from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from evalstats.analysis.arena.check_result import votes_of
from evalstats.analysis.arena.result import Categories, CategoryRating
from evalstats.analysis.arena.votes import VoteTable
from evalstats.document.numbers import number, plural
from evalstats.errors import CannotAnswerError, InputError
from evalstats.stats.arena.bradley_terry import fit_strengths
from evalstats.stats.arena.likelihood import PairFit
from evalstats.stats.arena.partial_pooling import PooledStrengths, pooled_strengths
from evalstats.stats.arena.slices import slice_strengths
from evalstats.stats.arena.votes import VoteRows, vote_rows
from evalstats.stats.checks import FloatArray, IntArray

POINTS = 400.0 / float(np.log(10.0))  # rating points for a log-unit
BASE = 1000.0
FEWEST_VOTES = 20
_PRIOR = 0.5
_WORK = 1e8  # categories times models cubed, above which the smallest categories are left out
_DRAWS = 499
_APART = "these votes alone do not connect it with the other models: its overall rating decides what they leave open"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sorted:
    """Votes by category, merged; models are numbered by `models`, their places in the table.

    Attributes
    ----------
    several
        Votes that stand in more than one category.
    """

    rows: VoteRows
    category: IntArray
    levels: tuple[str, ...]
    models: IntArray
    left_out: tuple[tuple[str, str], ...]
    several: int


def categories_of(
    table: VoteTable,
    by: str,
    *,
    conf_level: float = 0.95,
    seed: int = 0,
    points: float = POINTS,
    overall: FloatArray | None = None,
) -> Categories:
    """Rate models in every category, with partial pooling.

    Parameters
    ----------
    table
        Votes one by one.
    by
        A column of the votes; of lists (`tags`) too: then a vote counts in each of its categories.
    points
        Rating points for a log-unit.
    overall
        Shape (n_models,): overall ratings, to which deviations are added; None for 1000 + points x strength (ties as half
        wins).

    Returns
    -------
    Categories
        `reason` says why there is nothing, where that is so.

    Raises
    ------
    InputError
        If the votes have no such column.
    """
    try:
        found = _sorted(table, by)
        fit = _fitted(found.rows)
        pooled = pooled_strengths(fit, found.rows, found.category, conf_level=conf_level, n_resamples=_DRAWS, seed=seed)
    except CannotAnswerError as error:
        return Categories(by=by, levels=(), n_votes=(), rows=(), reason=str(error))
    if overall is None:
        base = BASE if points == POINTS else 0.0
        whole = np.full(table.n_models, np.nan)
        whole[found.models] = base + points * pooled.strengths
    else:
        whole = np.asarray(overall, dtype=np.float64)
    counts = tuple(int(found.rows.count[found.category == s].sum()) for s in range(len(found.levels)))
    rows, apart = _rows(found, fit, pooled, names=[table.models[m] for m in found.models], points=points, whole=whole)
    return Categories(
        by=by,
        levels=found.levels,
        n_votes=counts,
        rows=rows,
        tau=points * pooled.tau,
        tau_low=points * pooled.tau_low,
        tau_high=points * pooled.tau_high,
        statistic=pooled.statistic,
        p_value=pooled.p_value,
        method=_method(found, pooled, fit, apart, table),
        left_out=found.left_out,
    )


def _sorted(table: VoteTable, by: str) -> _Sorted:
    if table.votes is None:
        raise CannotAnswerError("votes came merged, so their categories are not known")
    if by not in table.votes.columns:
        raise InputError(f"the votes have no column {by!r}; they have {', '.join(table.votes.columns)}")
    vote, level, several = _levels(table.votes[by])
    counts = level.value_counts(sort=True).rows()
    kept, left_out = _kept([(str(name), int(n)) for name, n in counts], table.n_models, by)
    if not vote.size:
        raise CannotAnswerError(f"no vote has a value in {by!r}")
    if len(kept) < 2:
        raise CannotAnswerError(
            f"{plural(len(kept), 'category', 'categories')} of {by!r} with at least {FEWEST_VOTES} votes; 2 are needed"
        )
    place = {name: s for s, name in enumerate(kept)}
    category = level.replace_strict(place, default=-1, return_dtype=pl.Int64).to_numpy().astype(np.int64)
    vote, category = vote[category >= 0], category[category >= 0]
    models, place_of = np.unique(np.concatenate([table.first[vote], table.second[vote]]), return_inverse=True)
    # Where a vote stands in several categories its parts go together, in its cluster or in one of its own.
    clusters = [codes[vote] for codes in table.codes] or ([vote] if several else [])
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
    return _Sorted(
        rows=replace(rows, clusters=rows.clusters[:-1]),
        category=rows.clusters[-1],
        levels=kept,
        models=models.astype(np.int64),
        left_out=left_out,
        several=several,
    )


def _levels(column: pl.Series) -> tuple[IntArray, pl.Series, int]:
    """Return votes and levels, one entry for each vote and category of its, and how many votes have several."""
    table = pl.DataFrame({"vote": np.arange(column.len()), "level": column})
    several = 0
    if isinstance(column.dtype, pl.List | pl.Array):
        table = table.explode("level").unique(maintain_order=True)
        several = table.drop_nulls().group_by("vote").len().filter(pl.col("len") > 1).height
    table = table.drop_nulls().with_columns(pl.col("level").cast(pl.String))
    return table["vote"].to_numpy().astype(np.int64), table["level"], several


def _kept(counts: list[tuple[str, int]], n_models: int, by: str) -> tuple[tuple[str, ...], tuple[tuple[str, str], ...]]:
    """Return the categories to rate, in order of name, and those left out with the reason."""
    few = [(name, n) for name, n in counts if n < FEWEST_VOTES]
    enough = [name for name, n in sorted(counts, key=lambda each: (-each[1], each[0])) if n >= FEWEST_VOTES]
    most = max(2, int(_WORK // max(n_models, 1) ** 3))
    left_out = [(name, f"only {plural(n, 'vote')}; at least {FEWEST_VOTES} are needed") for name, n in few]
    left_out += [
        (name, f"only the {most} levels of {by} with the most votes are rated with {n_models} models")
        for name in enough[most:]
    ]
    return tuple(sorted(enough[:most])), tuple(left_out)


def _fitted(rows: VoteRows) -> PairFit:
    try:
        return fit_strengths(rows)
    except CannotAnswerError:
        return fit_strengths(rows, prior=_PRIOR)


def _rows(
    found: _Sorted,
    fit: PairFit,
    pooled: PooledStrengths,
    *,
    names: list[str],
    points: float,
    whole: FloatArray,
) -> tuple[tuple[CategoryRating, ...], list[str]]:
    """Return a line for every model in every category, and the categories that do not connect all their models."""
    out: list[CategoryRating] = []
    apart: list[str] = []
    for s, level in enumerate(found.levels):
        part = found.rows.take(found.category == s)
        votes = votes_of(part)
        alone = _unpooled(part, fit)
        if np.isnan(alone[votes > 0]).any():
            apart.append(level)
        for m, name in enumerate(names):
            if not votes[m]:
                out.append(
                    CategoryRating(category=level, model=name, estimate=None, reason="no votes in this category")
                )
                continue
            deviation = points * float(pooled.deviations[s, m])
            out.append(
                CategoryRating(
                    category=level,
                    model=name,
                    estimate=float(whole[found.models[m]]) + deviation,
                    deviation=deviation,
                    std_error=points * float(pooled.std_error[s, m]),
                    conf_low=points * float(pooled.conf_low[s, m]),
                    conf_high=points * float(pooled.conf_high[s, m]),
                    unpooled=None if np.isnan(alone[m]) else points * float(alone[m]),
                    n_votes=int(votes[m]),
                    reason=_APART if np.isnan(alone[m]) else None,
                )
            )
    return tuple(out), apart


def _unpooled(part: VoteRows, fit: PairFit) -> FloatArray:
    """Return deviations from the category's votes alone, against the models they connect; NaN for others."""
    out = np.full(fit.n_models, np.nan)
    try:
        models, own, _ = slice_strengths(part)
    except CannotAnswerError:
        return out
    common = fit.strengths[models]
    out[models] = own.strengths - (common - common.mean())
    return out


def _method(found: _Sorted, pooled: PooledStrengths, fit: PairFit, apart: list[str], table: VoteTable) -> str:
    said = [f"restricted likelihood ratio of standard deviation 0, its law from {pooled.n_resamples} draws"]
    if pooled.inflation > 1.0:
        by = " or ".join(table.cluster_names) or "vote"
        said.append(
            f"variances {number(pooled.inflation, 2)} times those of single votes, for what is common to votes by one {by}"
        )
    if found.several:
        said.append(f"{plural(found.several, 'vote')} in several categories count in each")
    if apart:
        said.append(
            f"warning: votes alone do not connect all models in {', '.join(apart[:4])}{' and others' * (len(apart) > 4)}"
        )
    if fit.prior > 0.0:
        said.append("votes with a category do not connect all models, so half a win and half a loss was added to each")
    return "; ".join(said)
