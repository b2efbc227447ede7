"""Models that won, or lost, all their votes: no finite rating, but a limit, and a place among the others."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from evalstats.analysis.arena.ratings import Options, Part, model_df, t_reach
from evalstats.analysis.arena.result import PairContrast, RatingRow
from evalstats.analysis.arena.votes import VoteTable
from evalstats.analysis.result import finite
from evalstats.document.numbers import plural
from evalstats.stats.arena.contrasts import arena_ranks
from evalstats.stats.arena.covariance import combination_variance
from evalstats.stats.arena.likelihood import Connection
from evalstats.stats.arena.perfect_records import PerfectRecord, perfect_record, record_limits
from evalstats.stats.arena.votes import VoteRows, stacked
from evalstats.stats.checks import FloatArray, IntArray

_SHARE = 0.1  # of the error rate of all ranks together, for pairs with a model without a finite rating


@dataclass(frozen=True, slots=True, kw_only=True)
class Perfect:
    """A model that won (`won`) or lost all its votes against the rated ones; `model` is its number in the whole table.

    `n_votes` are those; `limit` is its rating at least (at most). `lead` and `p_value`, shape (n_rated,), are limits of its
    rating less those of the rated models, and two-sided p-values; NaN where unknown.
    """

    model: int
    name: str
    won: bool
    n_votes: int
    limit: float | None
    lead: FloatArray
    p_value: FloatArray

    @property
    def reason(self) -> str:
        """Why it has no finite rating."""
        done, end = ("won", "upper") if self.won else ("lost", "lower")
        return f"it {done} all its {plural(self.n_votes, 'vote')} on rated models, so its rating has no {end} limit"


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """The place of every model of the whole table where some have no finite rating.

    Attributes
    ----------
    part
        The rated models, with claims that leave room for those of the others.
    low, high, rank_arena
        int64, shape (n_models,): ranks left open, and the rank that live arenas print; None where no rank can be told.
    factor
        By what p-values of pairs with a model without a finite rating are multiplied, all pairs taken together.
    """

    part: Part
    records: tuple[Perfect, ...]
    shown: NDArray[np.bool_]
    low: IntArray | None
    high: IntArray | None
    rank_arena: IntArray | None
    factor: float

    def record(self, model: int) -> Perfect | None:
        """Return the record of a model without a finite rating; None of a rated one."""
        return next((each for each in self.records if each.model == model), None)


def standing_of(table: VoteTable, parts: Sequence[Part], found: Connection, options: Options) -> Standing | None:
    """Place the models that won or lost all their votes; None where there is none, or where parts cannot be compared.

    They can be placed where there is one part of rated models, and each other model met some of these. `parts` are rated without
    a prior.
    """
    if found.is_connected or len(parts) != 1:
        return None
    part = parts[0]
    others = [model for group in found.components for model in group if model not in set(part.models)]
    rows = _rows_of(table, others)
    place = np.full(table.n_models, -1, dtype=np.int64)
    place[list(part.models)] = np.arange(len(part.models))
    met = {model for model in others if _met(rows, model, place)}
    if len(met) < len(others):
        return None
    found_records = [perfect_record(rows, model, place, part.fit.coefficients) for model in others]
    records = tuple(_limited(table, part, model, record) for model, record in zip(others, found_records, strict=True))
    return _standing(table, part, records, options)


def _rows_of(table: VoteTable, models: Sequence[int]) -> VoteRows:
    """Return the votes on some models with their clusters."""
    if table.chunks is None:
        return table.rows.take(np.isin(table.rows.first, models) | np.isin(table.rows.second, models))
    kept = [chunk.take(np.isin(chunk.first, models) | np.isin(chunk.second, models)) for chunk in table.chunks()]
    return stacked(kept)


def _met(rows: VoteRows, model: int, place: IntArray) -> bool:
    against = ((rows.first == model) & (place[rows.second] >= 0)) | ((rows.second == model) & (place[rows.first] >= 0))
    return bool(np.any(against & (rows.weight > 0.0)))


def _limited(table: VoteTable, part: Part, model: int, record: PerfectRecord) -> Perfect:
    """Return the limits of a record on the scale of the ratings."""
    n_votes = int(record.count.sum())
    n, options = part.fit.n_models, part.options
    base = np.full((1, n), 1.0 / n)
    if options.anchor in part.table.models:
        base[0] = np.arange(n) == part.table.models.index(options.anchor)
    against = np.vstack([base, np.eye(n)])
    found = record_limits(record, part.fit, part.covariance, against, conf_level=options.conf_level)
    return Perfect(
        model=model,
        name=table.models[model],
        won=record.won,
        n_votes=n_votes,
        limit=finite(options.base + options.points * float(found.limit[0])),
        lead=options.points * found.limit[1:],
        p_value=found.p_value[1:],
    )


def _standing(table: VoteTable, part: Part, records: tuple[Perfect, ...], options: Options) -> Standing:
    """Count ranks from what is shown of all pairs: pairs that need a limit share a tenth of the level, others have the rest."""
    n, rated = table.n_models, np.asarray(part.models, dtype=np.int64)
    m = rated.size
    factor = len(records) * m / _SHARE
    shown = np.zeros((n, n), dtype=np.bool_)
    level = 1.0 - options.conf_level
    bare = Standing(part=part, records=records, shown=shown, low=None, high=None, rank_arena=None, factor=factor)
    claims = part.claims
    if claims is None or claims.ranks.reason is not None:
        return bare
    adjusted = np.minimum(1.0, claims.ranks.p_adjusted / (1.0 - _SHARE))
    separated = adjusted <= level
    above = part.fit.strengths[:, np.newaxis] > part.fit.strengths
    shown[np.ix_(rated, rated)] = separated & above
    for each in records:
        apart = rated[factor * each.p_value <= level]
        if each.won:
            shown[each.model, apart] = True
        else:
            shown[apart, each.model] = True
    # Whoever is above a model that is above a third one is above that one, too.
    shown |= (shown[:, rated].astype(np.int64) @ shown[rated].astype(np.int64)) > 0
    low, high = 1 + shown.sum(axis=0), n - shown.sum(axis=1)
    ranks = replace(
        claims.ranks,
        low=low[rated],
        high=high[rated],
        marginal_low=low[rated],
        marginal_high=high[rated],
        p_adjusted=adjusted,
    )
    arena = _arena(part, records, n, options)
    within = shown[np.ix_(rated, rated)]
    placed = replace(claims, ranks=ranks, separated=within | within.T, rank_arena=arena[rated])
    return replace(bare, part=replace(part, claims=placed), shown=shown, low=low, high=high, rank_arena=arena)


def with_records(part: Part, standing: Standing) -> Part:
    """Return all models rated with a prior, with the ranks and the order that the votes alone show.

    A prior gives a model that lost every vote a rating, and cannot make it less certain that the model is last.
    """
    own, claims = standing.part.claims, part.claims
    if claims is None or own is None or standing.low is None or standing.rank_arena is None:
        return part
    rated, n = np.asarray(standing.part.models, dtype=np.int64), part.fit.n_models
    p_value, p_adjusted = np.full((n, n), np.nan), np.full((n, n), np.nan)
    p_value[np.ix_(rated, rated)], p_adjusted[np.ix_(rated, rated)] = own.p_value, own.ranks.p_adjusted
    for each in standing.records:
        p_value[each.model, rated] = p_value[rated, each.model] = each.p_value
        adjusted = np.minimum(1.0, standing.factor * each.p_value)
        p_adjusted[each.model, rated] = p_adjusted[rated, each.model] = adjusted
    # A prior of many wins may turn estimates round; nothing is claimed against them.
    shown = standing.shown & (part.fit.strengths[:, np.newaxis] > part.fit.strengths)
    low, high, separated = 1 + shown.sum(axis=0), n - shown.sum(axis=1), shown | shown.T
    ranks = replace(
        claims.ranks,
        low=low,
        high=high,
        marginal_low=low,
        marginal_high=high,
        top={tau: low <= tau for tau in claims.ranks.top},
        p_adjusted=p_adjusted,
    )
    placed = replace(
        claims,
        ranks=ranks,
        p_value=p_value,
        separated=separated,
        by_prior=claims.by_prior & ~separated,
        rank_arena=standing.rank_arena,
    )
    return replace(part, claims=placed)


def _arena(part: Part, records: Sequence[Perfect], n: int, options: Options) -> IntArray:
    """Return the rank that live arenas print, shape (n,): 1 + the models whose whole interval lies above."""
    fit, covariance, rated = part.fit, part.covariance, list(part.models)
    error = np.sqrt(np.maximum(combination_variance(covariance, np.eye(fit.n_models, fit.n_parameters)), 0.0))
    reach = np.array([t_reach(options.conf_level, df) for df in model_df(covariance)]) * error
    low, high = np.full(n, np.nan), np.full(n, np.nan)
    low[rated], high[rated] = (part.scaled(fit.strengths + way * reach) for way in (-1.0, 1.0))
    for each in records:
        if each.limit is not None:
            low[each.model] = each.limit if each.won else -np.inf
            high[each.model] = np.inf if each.won else each.limit
    return arena_ranks(low, high)


def perfect_row(line: RatingRow, standing: Standing, record: Perfect, options: Options) -> RatingRow:
    """Return the line of a model without a finite rating."""
    told = replace(
        line,
        conf_low=record.limit if record.won else None,
        conf_high=None if record.won else record.limit,
        reason=record.reason,
    )
    if standing.low is None or standing.high is None or standing.rank_arena is None:
        return replace(told, rank_reason=standing.part.rank_reason)
    low, high = int(standing.low[record.model]), int(standing.high[record.model])
    return replace(
        told,
        rank_low=low,
        rank_high=high,
        rank_low_marginal=low,
        rank_high_marginal=high,
        rank_arena=int(standing.rank_arena[record.model]),
        may_be_best=low <= 1,
        top=tuple((k, low <= k) for k in options.top),
    )


def perfect_pairs(standing: Standing, met: IntArray, options: Options) -> tuple[PairContrast, ...]:
    """Return the pairs of models of which one or both have no finite rating, whoever is ahead first."""
    part, rows = standing.part, list[PairContrast]()
    order: list[int] = np.argsort(-part.ratings, kind="stable").tolist()

    def pair(first: int, second: int, record: Perfect) -> PairContrast:
        names = [
            part.table.models[part.models.index(m)] if m in part.models else _name(standing, m) for m in (first, second)
        ]
        return PairContrast(
            conf_level=options.conf_level,
            estimate=None,
            first=names[0],
            second=names[1],
            n_votes=int(met[first, second]),
            reason=f"{record.name}: {record.reason}",
            verdict="better" if standing.shown[first, second] else "not separated",
        )

    for k, record in enumerate(standing.records):
        for j in order:
            other, p, lead = part.models[j], finite(float(record.p_value[j])), finite(float(record.lead[j]))
            between = pair(record.model, other, record) if record.won else pair(other, record.model, record)
            rows.append(
                replace(
                    between,
                    conf_low=lead if lead is None or record.won else -lead,
                    p_value=p,
                    p_adjusted=None if p is None else min(1.0, standing.factor * p),
                    verdict="not compared" if p is None or standing.low is None else between.verdict,
                )
            )
        # Records are in the order of who beat whom.
        rows.extend(pair(record.model, other.model, record) for other in standing.records[k + 1 :])
    return tuple(rows)


def _name(standing: Standing, model: int) -> str:
    return next(each.name for each in standing.records if each.model == model)
