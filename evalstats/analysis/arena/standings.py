"""The lines of a ranking: each model, each pair of models; and the same votes under other choices and by category."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from scipy.sparse import csr_array
from scipy.special import expit

from evalstats.analysis.arena.checks import votes_of
from evalstats.analysis.arena.perfect import Standing, perfect_row
from evalstats.analysis.arena.ratings import Claims, Options, Part, model_df
from evalstats.analysis.arena.result import (
    Alternative,
    Categories,
    CategoryRating,
    PairContrast,
    PairVerdict,
    RatingRow,
)
from evalstats.analysis.arena.votes import VoteTable
from evalstats.analysis.result import finite
from evalstats.document.numbers import number, plural
from evalstats.errors import CannotAnswerError, InputError, some_of
from evalstats.stats.arena.bradley_terry import fit_strengths
from evalstats.stats.arena.likelihood import Connection, PairFit, Ties
from evalstats.stats.arena.partial_pooling import PooledStrengths, pooled_strengths
from evalstats.stats.arena.slices import slice_strengths
from evalstats.stats.arena.votes import A_WINS, B_WINS, BOTH_BAD, TIE, VoteRows, merged, vote_rows
from evalstats.stats.checks import FloatArray, IntArray
from evalstats.stats.estimate import t_quantile

_UNKNOWN = "standard error cannot be estimated"
FEWEST_VOTES = 20  # of a category
_PRIOR = 0.5
_WORK = 1e8  # categories times models cubed, above which the smallest categories are left out
_DRAWS = 499
_APART = "these votes alone do not connect it with the other models: its overall rating decides what they leave open"
_CHOICES = {
    "half": ("Ties as half wins", "a tie counts as half a win for either"),
    "davidson": (
        "Davidson's ties",
        "a tie is an outcome of its own, likeliest between equals; its points are odds among votes that decide",
    ),
    "rao-kupper": (
        "Rao and Kupper's ties",
        "a tie is a difference too small to see; its points spread differently",
    ),
    "without both bad": ("Without both-bad votes", "votes that called both answers bad are left out"),
    "without covariates": ("Without covariates", "nothing but the models explains a vote"),
    "with style": (
        "With style held equal",
        "length, headers, lists and bold are held equal: an adjustment, not a cause",
    ),
    "with side": ("With the side held equal", "an advantage of one side is taken out"),
    "equal pairs": (
        "All pairs weighted equally",
        "each pair is weighted to the same number of votes, whatever the arena's schedule",
    ),
}
TIES: tuple[Ties, ...] = ("half", "davidson", "rao-kupper")


def rating_rows(
    table: VoteTable, parts: Sequence[Part], found: Connection, standing: Standing | None, options: Options
) -> tuple[tuple[RatingRow, ...], list[int]]:
    """Return a line for each model, by part and then by rating, and the order of their numbers."""
    counts = _counts(table.rows)
    levels, shares = _levels(table), _share(table.rows)
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
            component=1 if options.prior > 0.0 or standing else number[model],
        )
        record = None if standing is None else standing.record(model)
        if model in rated:
            lines[model] = _rated(base, *rated[model])
        elif standing is not None and record is not None:
            lines[model] = perfect_row(base, standing, record, options)
        else:
            lines[model] = _unrated(base, found, model)
    # Parts are in the order of who beat whom: models that won everything come before the rated ones.
    order = sorted(lines, key=lambda model: (number[model] if standing else 0, *_place(lines[model])))
    return tuple(lines[model] for model in order), order


def pair_rows(part: Part, options: Options) -> tuple[PairContrast, ...]:
    """Return every pair of a part, the better rated first."""
    names, met = part.table.models, met_table(part.table.rows)
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
    error, df = finite(claims.std_error[i, j]), finite(claims.df[i, j])
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
    adjusted = finite(claims.ranks.p_adjusted[i, j])
    separated = bool(claims.separated[i, j])
    verdict: PairVerdict = ("better" if estimate > 0.0 else "worse") if separated else "not separated"
    more = None if separated else finite(claims.more_votes[i, j])
    return replace(
        pair,
        std_error=error,
        df=df,
        conf_low=low,
        conf_high=high,
        p_value=finite(claims.p_value[i, j]),
        p_adjusted=adjusted,
        win_low=float(expit(low / options.points)),
        win_high=float(expit(high / options.points)),
        order_probability=finite(claims.order[i, j]),
        more_votes=None if more is None else int(more),
        more_votes_reason=None if separated else claims.more_votes_reasons.get((i, j)),
        verdict=verdict,
    )


def _rated(line: RatingRow, part: Part, place: int) -> RatingRow:
    """Add the rating of a model in its part."""
    options = part.options
    rating, error = float(part.ratings[place]), finite(part.std_errors[place])
    fixed = part.table.models[place] == options.anchor
    df = finite(model_df(part.covariance)[place])
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
        low, high = (finite(float(ends[place])) for ends in (part.boot.conf_low, part.boot.conf_high))
        told = replace(told, boot_low=_scaled(low, options), boot_high=_scaled(high, options))
    claims = part.claims
    if claims is None or claims.ranks.reason is not None:
        return replace(told, rank_reason=part.rank_reason)
    ranks = claims.ranks
    low, high = int(ranks.low[place]), int(ranks.high[place])
    return replace(
        told,
        rank_low=low,
        rank_high=high,
        rank_low_marginal=int(ranks.marginal_low[place]),
        rank_high_marginal=int(ranks.marginal_high[place]),
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
        "n_opponents": (met_table(rows) > 0).sum(axis=1),
    }


def _share(rows: VoteRows) -> list[float | None]:
    n = rows.n_models
    got = np.bincount(rows.first, weights=rows.weight * rows.share, minlength=n)
    got += np.bincount(rows.second, weights=rows.weight * (1.0 - rows.share), minlength=n)
    total = np.bincount(rows.first, weights=rows.weight, minlength=n)
    total += np.bincount(rows.second, weights=rows.weight, minlength=n)
    return [float(part / whole) if whole > 0.0 else None for part, whole in zip(got, total, strict=True)]


def met_table(rows: VoteRows) -> IntArray:
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


def _scaled(end: float | None, options: Options) -> float | None:
    return None if end is None else options.base + options.points * end


# --- the same votes under other choices ---


def alternatives_of(
    main: Part, rows: VoteRows, order: Sequence[int], *, styled: VoteRows | None, sided: VoteRows | None
) -> tuple[Alternative, ...]:
    """Refit the headline's votes under every other choice that they allow, models in the given order.

    `styled` and `sided` are the same votes with style, or the side, as covariates; None where there are none or they are in the
    headline. Models of ties cannot read graded preferences.
    """
    ties = main.fit.ties
    graded = bool(np.any(~np.isin(rows.share, (0.0, 0.5, 1.0))))
    rows = merged(rows, keep_clusters=False)
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


def _alternative(main: Part, order: Sequence[int], key: str, rows: VoteRows, ties: Ties) -> Alternative:
    title, why = _CHOICES[key]
    try:
        fit = fit_strengths(rows, ties=ties, prior=main.fit.prior)
    except (CannotAnswerError, InputError) as error:
        return Alternative(key=key, title=title, why=why, ratings=tuple(None for _ in order), reason=str(error))
    names = main.table.models
    here, there = main.ratings, main.scaled(fit.strengths)
    move = there - here
    moved = int(np.argmax(np.abs(move)))
    before, after = np.sign(here[:, None] - here), np.sign(there[:, None] - there)
    top = int(np.argmax(there))
    # Ties take other amounts of the scale in each model of them: order can be compared then, points cannot.
    comparable = fit.ties == main.fit.ties
    return Alternative(
        key=key,
        title=title,
        why=why,
        ratings=tuple(float(there[model]) for model in order),
        largest_move=float(move[moved]) if comparable else None,
        moved=names[moved] if comparable else None,
        n_swaps=int(np.count_nonzero(before * after < 0.0)) // 2,
        new_first=names[top] if top != int(np.argmax(here)) else None,
        log_lik=fit.log_lik if ties != "half" else None,
        tie=fit.tie,
    )


# --- by category ---


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sorted:
    """Votes by category, merged; models are numbered by `models`, their places in the table.

    `several` votes stand in more than one category.
    """

    rows: VoteRows
    category: IntArray
    levels: tuple[str, ...]
    models: IntArray
    left_out: tuple[tuple[str, str], ...]
    several: int


def categories_of(
    table: VoteTable, by: str, *, conf_level: float, seed: int, points: float, overall: FloatArray
) -> Categories:
    """Rate models in every level of a column of the votes, with partial pooling, in rating points (`points` a log-unit).

    Deviations are added to the `overall` ratings, shape (n_models,). With a column of lists (`tags`) a vote counts in each of
    its categories. `reason` says why there is nothing, where that is so; `InputError` where the votes have no such column.
    """
    try:
        found = _sorted(table, by)
        fit = _fitted(found.rows)
        pooled = pooled_strengths(fit, found.rows, found.category, conf_level=conf_level, n_resamples=_DRAWS, seed=seed)
    except CannotAnswerError as error:
        return Categories(by=by, levels=(), n_votes=(), rows=(), reason=str(error))
    rows, apart = _category_rows(found, fit, pooled, table.models, points=points, overall=overall)
    return Categories(
        by=by,
        levels=found.levels,
        n_votes=tuple(int(found.rows.count[found.category == s].sum()) for s in range(len(found.levels))),
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
    vote, level, several = _entries(table.votes[by])
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


def _entries(column: pl.Series) -> tuple[IntArray, pl.Series, int]:
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


def _category_rows(
    found: _Sorted,
    fit: PairFit,
    pooled: PooledStrengths,
    names: Sequence[str],
    *,
    points: float,
    overall: FloatArray,
) -> tuple[tuple[CategoryRating, ...], list[str]]:
    """Return a line for every model in every category, and the categories that do not connect all their models."""
    out: list[CategoryRating] = []
    apart: list[str] = []
    for s, level in enumerate(found.levels):
        part = found.rows.take(found.category == s)
        votes, alone = votes_of(part), _unpooled(part, fit)
        if np.isnan(alone[votes > 0]).any():
            apart.append(level)
        for m, model in enumerate(found.models):
            bare = CategoryRating(
                category=level, model=names[int(model)], estimate=None, reason="no votes in this category"
            )
            deviation = points * float(pooled.deviations[s, m])
            rated = replace(
                bare,
                estimate=float(overall[model]) + deviation,
                deviation=deviation,
                std_error=points * float(pooled.std_error[s, m]),
                conf_low=points * float(pooled.conf_low[s, m]),
                conf_high=points * float(pooled.conf_high[s, m]),
                unpooled=finite(points * float(alone[m])),
                n_votes=int(votes[m]),
                reason=_APART if np.isnan(alone[m]) else None,
            )
            out.append(rated if votes[m] else bare)
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
        said.append(f"warning: votes alone do not connect all models in {some_of(apart, 4)}")
    if fit.prior > 0.0:
        said.append("votes with a category do not connect all models, so half a win and half a loss was added to each")
    return "; ".join(said)
