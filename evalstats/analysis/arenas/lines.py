"""Rows of the result: a line for each model, and one for each pair."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import polars as pl
from scipy.sparse import csr_array
from scipy.special import expit

from evalstats.analysis.arenas.claiming import Claims, Options, model_df
from evalstats.analysis.arenas.connecting import votes_of
from evalstats.analysis.arenas.rating import Part
from evalstats.analysis.arenas.results import PairContrast, PairVerdict, RatingRow
from evalstats.analysis.arenas.table import VoteTable
from evalstats.stats.arena.elo import online_elo
from evalstats.stats.arena.existence import Connection
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
