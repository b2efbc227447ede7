"""What can be said of the strength of a model that won, or lost, every vote: a limit on one side, and who it is apart from."""

import math
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from evalstats.errors import InputError
from evalstats.stats.arena.covariance import StrengthCovariance, combination_variance
from evalstats.stats.arena.likelihood import PairFit, derivatives
from evalstats.stats.arena.votes import VoteRows
from evalstats.stats.checks import FloatArray, IntArray, check_level
from evalstats.stats.computation import one_thread
from evalstats.stats.estimate import t_quantile

_FARTHEST = 200.0  # log-odds
_LEAST_WORTH = 2.0  # equal clusters: with fewer, an opponent's strength has no error to allow for
_LEVELS = np.logspace(-12.0, 0.0, 145)[:-1]


@dataclass(frozen=True, slots=True, kw_only=True)
class PerfectRecord:
    """The votes of one model against rated ones, all won (`won`) or all lost.

    Attributes
    ----------
    opponent
        int64, shape (n_rows,): numbers of the fit.
    lift
        float64, shape (n_rows,): log-odds that covariates add to the result that came.
    count
        int64, shape (n_rows,): votes that the row stands for.
    ways
        Codes of clusters, each of shape (n_rows,); empty where every vote stands on its own.
    """

    won: bool
    opponent: IntArray
    lift: FloatArray
    count: IntArray
    ways: tuple[IntArray, ...] = ()


def perfect_record(rows: VoteRows, model: int, place: IntArray, coefficients: FloatArray) -> PerfectRecord:
    """Return the record of a model; `place`, shape (n_models,), has the numbers of rated models in the fit, -1 of others.

    Raises
    ------
    InputError
        If the model has no vote against a rated model, or neither won nor lost all of them.
    """
    on_a = (rows.first == model) & (place[rows.second] >= 0)
    on_b = (rows.second == model) & (place[rows.first] >= 0)
    own = rows.take((on_a | on_b) & (rows.weight > 0.0))
    here = own.first == model
    got = np.where(here, own.share, 1.0 - own.share)
    if not got.size or not (np.all(got == 1.0) or np.all(got == 0.0)):
        raise InputError(f"model {model} did not win or lose all of its votes against rated models; give one that did")
    won = bool(got[0] == 1.0)
    return PerfectRecord(
        won=won,
        opponent=place[np.where(here, own.second, own.first)],
        lift=np.where(here == won, 1.0, -1.0) * (own.covariates @ coefficients),
        count=own.count,
        ways=own.clusters,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordLimits:
    """Limits for contrasts of the model's strength with combinations of the others', one for each combination.

    Attributes
    ----------
    limit
        Strength of the model less the combination: at least this with `won`, at most this else, with probability
        1 - (1 - conf_level) / 2; NaN where it is not known.
    p_value
        Two-sided, of the combination being as strong as the model; NaN where it is not known.
    """

    limit: FloatArray
    p_value: FloatArray


@one_thread
def record_limits(
    record: PerfectRecord,
    fit: PairFit,
    covariance: StrengthCovariance,
    against: FloatArray,
    *,
    conf_level: float = 0.95,
) -> RecordLimits:
    """Return limits for a model that won (or lost) every vote, against combinations of strengths.

    Parameters
    ----------
    fit, covariance
        Of the other models, from votes among them.
    against
        float64, shape (n_combinations, n_models): a row of the identity is one other model, 1/n everywhere their mean.

    Notes
    -----
    The likelihood of a model that won everything rises for ever, so its strength has a lower limit only: where so many wins
    would have had a chance of a/2. Votes of one cluster (a rater, a prompt) may be one vote in effect: all of them went one
    way with a probability of at most that of the least likely, which is what a cluster counts, and clusters multiply. That
    holds whatever votes of a cluster share. Of several ways of clustering the one counts that says least. The limit is for
    given strengths of the opponents; their error, weighted by how much the limit rests on each, is allowed for by the t law
    at another a/2 (Bonferroni). So the limit misses with a probability of at most a = (1 - conf_level)/2, and is as a rule
    lower than it need be.

    A p-value is twice the smallest a of a grid (12 to a power of ten) at which the limit excludes no difference.

    References
    ----------
    Clopper & Pearson 1934, doi:10.1093/biomet/26.4.404 (the limit of a share of 1).

    Examples
    --------
    >>> from evalstats.stats.arena.bradley_terry import fit_strengths
    >>> from evalstats.stats.arena.covariance import covariance_of
    >>> from evalstats.stats.arena.votes import vote_rows
    >>> rated = vote_rows([0, 0], [1, 1], [0, 1], count=[500, 500])
    >>> fit = fit_strengths(rated)
    >>> votes = vote_rows([2], [0], [0], count=[20])
    >>> record = perfect_record(votes, 2, np.array([0, 1, -1]), fit.coefficients)
    >>> found = record_limits(record, fit, covariance_of(fit, rated), np.eye(2))
    >>> found.limit.round(2).tolist()
    [1.41, 1.26]
    """
    level = check_level(conf_level)
    weights = np.pad(np.asarray(against, dtype=np.float64), ((0, 0), (0, fit.n_parameters - fit.n_models)))
    unknown = np.full(len(weights), np.nan)
    if covariance.reason is not None or not np.isfinite(covariance.df):
        return RecordLimits(limit=unknown, p_value=unknown)
    sign = 1.0 if record.won else -1.0
    ways = _ways(record, fit)
    here = sign * _limit(ways, fit, covariance, weights, (1.0 - level) / 2.0, sign=sign)
    p_value = np.ones(len(weights))
    # Limits rise with the level: a contrast is shown at every level from the first at which its limit is above 0.
    every = np.stack([sign * _limit(ways, fit, covariance, weights, float(a), sign=sign) for a in _LEVELS])
    for k, column in enumerate(every.T):
        below = np.flatnonzero(~(column > 0.0))
        first = int(below[-1]) + 1 if below.size else 0
        p_value[k] = 2.0 * _LEVELS[first] if first < _LEVELS.size else 1.0
    known = np.isfinite(here)
    return RecordLimits(
        limit=np.where(known, sign * here, np.nan), p_value=np.where(known, np.minimum(1.0, p_value), np.nan)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Way:
    """The votes that count in one way of clustering: opponents, their strengths less what covariates add, and how many."""

    opponent: IntArray
    strength: FloatArray
    count: IntArray


def _ways(record: PerfectRecord, fit: PairFit) -> list[_Way]:
    """Return, for each way of clustering, the least likely vote of every cluster, equal ones together."""
    sign = 1.0 if record.won else -1.0
    # Where the opponents' strengths are turned round, losses are wins; the strongest opponent makes the least likely win.
    strength = sign * fit.strengths[record.opponent] - record.lift
    found: list[_Way] = []
    for codes in record.ways or (None,):
        kept, count = np.arange(strength.size), record.count
        if codes is not None:
            order = np.lexsort((-strength, codes))
            kept = order[np.unique(codes[order], return_index=True)[1]]
            count = np.ones(kept.size, dtype=np.int64)
        value, at, same = np.unique(strength[kept], return_index=True, return_inverse=True)
        total = np.bincount(same, weights=count, minlength=value.size).astype(np.int64)
        found.append(_Way(opponent=record.opponent[kept][at], strength=value, count=total))
    return found


def _limit(
    ways: list[_Way], fit: PairFit, covariance: StrengthCovariance, weights: FloatArray, a: float, *, sign: float
) -> FloatArray:
    """Return the limits at a one-sided level, shape (n_combinations,)."""
    target = math.log(a / 2.0)

    def chance(own: float) -> float:
        return max(_log_chance(way, fit, own)[0] for way in ways) - target

    start = float(ways[0].strength.mean())
    own = float(brentq(chance, start - _FARTHEST, start + _FARTHEST, xtol=1e-10))  # pyright: ignore[reportArgumentType]
    way = max(ways, key=lambda way: _log_chance(way, fit, own)[0])
    pull = _log_chance(way, fit, own)[1]
    rests = np.bincount(way.opponent, weights=pull, minlength=fit.n_parameters) / pull.sum()
    alone = covariance.model_effective < _LEAST_WORTH
    error = np.sqrt(np.maximum(combination_variance(covariance, rests - weights), 0.0))
    doubtful = (np.abs(rests - weights)[:, : fit.n_models] * alone).sum(axis=1) > 0.0
    reach = t_quantile(1.0 - a, covariance.df) * error
    limit = sign * own - weights[:, : fit.n_models] @ fit.strengths - sign * reach
    return np.where(doubtful, np.nan, limit)


def _log_chance(way: _Way, fit: PairFit, own: float) -> tuple[float, FloatArray]:
    """Return the logarithm of the probability of winning all votes that count, and what each adds to its slope."""
    votes = way.count.astype(np.float64)
    nothing = np.zeros_like(votes)
    at = derivatives(fit.ties, own - way.strength, fit.tau, (votes, nothing, nothing))
    return float(at.log_lik.sum()), at.slope
