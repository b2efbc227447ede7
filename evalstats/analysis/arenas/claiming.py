"""What may be said of pairs of models and of ranks, with the error of everything that was estimated."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from evalstats.analysis.arenas.results import Scale
from evalstats.analysis.arenas.table import VoteTable
from evalstats.stats.arena.contrasts import PairContrasts, more_votes, pair_contrasts
from evalstats.stats.arena.covariance import StrengthCovariance, combination_variance
from evalstats.stats.arena.elo import ELO_PER_LOG_ODDS
from evalstats.stats.arena.existence import connection
from evalstats.stats.arena.likelihood import PairFit, Ties
from evalstats.stats.arena.ranks import StrengthRanks, arena_ranks, strength_ranks
from evalstats.stats.checks import FloatArray, IntArray
from evalstats.stats.estimate import t_quantile

ELO_BASE = 1000.0
_NO_DF = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What was asked for, checked."""

    ties: Ties
    prior: float
    anchor: str | None
    scale: Scale
    conf_level: float
    n_resamples: int | None
    online: bool
    top: tuple[int, ...]
    seed: int

    @property
    def points(self) -> float:
        """Rating points for one unit of log-odds."""
        return ELO_PER_LOG_ODDS if self.scale == "elo" else 1.0

    @property
    def base(self) -> float:
        """Rating of the average model, or of the anchor."""
        return ELO_BASE if self.scale == "elo" else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Claims:
    """What may be said of pairs and of ranks.

    Matrices have shape (n_models, n_models), entry (i, j) for model i less model j, NaN where nothing is known.

    Attributes
    ----------
    std_error
        In rating points.
    separated
        Whether the order of i and j is shown, all pairs taken together.
    by_prior
        Whether the prior alone puts the two on one scale; then no order is claimed.
    order
        Probability that i is the stronger, nothing known before.
    more_votes
        Further votes between the two that would separate them; `more_votes_reasons` says why there is no number.
    rank_low, rank_high, marginal_low, marginal_high, rank_arena
        int64, shape (n_models,); None where ranks cannot be told.
    """

    df: FloatArray
    std_error: FloatArray
    p_value: FloatArray
    p_adjusted: FloatArray
    separated: NDArray[np.bool_]
    by_prior: NDArray[np.bool_]
    order: FloatArray
    more_votes: FloatArray
    more_votes_reasons: dict[tuple[int, int], str]
    rank_low: IntArray
    rank_high: IntArray
    marginal_low: IntArray
    marginal_high: IntArray
    rank_arena: IntArray
    rank_method: str
    rank_reason: str | None = None
    warnings: tuple[str, ...] = ()


def claims_of(table: VoteTable, fit: PairFit, covariance: StrengthCovariance, options: Options) -> Claims:
    """Return what may be claimed of pairs and ranks."""
    rows = table.rows if table.chunks is None else None
    ranks = strength_ranks(fit, covariance, rows, conf_level=options.conf_level, top=options.top, seed=options.seed)
    pairs = pair_contrasts(fit, covariance, ranks, conf_level=options.conf_level)
    shown = ranks.p_adjusted <= 1.0 - options.conf_level
    apart = np.zeros_like(shown)
    if options.prior > 0.0:
        apart = _parts_apart(table, fit.n_models)
        shown, ranks = shown & ~apart, _within_parts(fit, shown & ~apart, apart, ranks)
    n = fit.n_models
    bar = ranks.critical if np.isfinite(ranks.critical) else None
    more = more_votes(fit, covariance, pairs, np.column_stack([pairs.first, pairs.second]), critical=bar)
    needed = np.array([np.nan if votes is None else float(votes) for votes in more.n_votes])
    why = {
        pair: reason
        for i, j, reason in zip(pairs.first.tolist(), pairs.second.tolist(), more.reasons, strict=True)
        if reason is not None
        for pair in ((i, j), (j, i))
    }
    error = np.sqrt(np.maximum(combination_variance(covariance, np.eye(n, fit.n_parameters)), 0.0))
    reach = np.array([t_reach(options.conf_level, df) for df in model_df(covariance)]) * error
    order = _matrix(pairs.order_probability, pairs, n)
    return Claims(
        df=_matrix(pairs.df, pairs, n),
        std_error=_matrix(pairs.std_error, pairs, n) * options.points,
        p_value=_matrix(pairs.p_value, pairs, n),
        p_adjusted=ranks.p_adjusted,
        separated=shown,
        by_prior=apart,
        order=np.where(np.tri(n, dtype=np.bool_), 1.0 - order, order),
        more_votes=_matrix(needed, pairs, n),
        more_votes_reasons=why,
        rank_low=ranks.low,
        rank_high=ranks.high,
        marginal_low=ranks.marginal_low,
        marginal_high=ranks.marginal_high,
        rank_arena=arena_ranks(fit.strengths - reach, fit.strengths + reach),
        rank_method=ranks.method,
        rank_reason=ranks.reason,
        warnings=ranks.warnings,
    )


def _parts_apart(table: VoteTable, n_models: int) -> NDArray[np.bool_]:
    """Tell the pairs of models that votes alone do not put on one scale."""
    part = np.empty(n_models, dtype=np.int64)
    for number, models in enumerate(connection(table.rows).components):
        part[list(models)] = number
    return part[:, np.newaxis] != part


def _within_parts(
    fit: PairFit, within: NDArray[np.bool_], apart: NDArray[np.bool_], ranks: StrengthRanks
) -> StrengthRanks:
    """Count ranks from what is shown within parts; sets of a model alone get room for all of the other parts."""
    if not apart.any():
        return ranks
    above = fit.strengths[:, np.newaxis] < fit.strengths  # entry (i, j): j is rated above i
    return replace(
        ranks,
        low=1 + (within & above).sum(axis=1),
        high=fit.n_models - (within & ~above).sum(axis=1),
        marginal_low=np.maximum(1, ranks.marginal_low - (apart & above).sum(axis=1)),
        marginal_high=np.minimum(fit.n_models, ranks.marginal_high + (apart & ~above).sum(axis=1)),
        p_adjusted=np.where(apart, np.nan, ranks.p_adjusted),
    )


def model_df(covariance: StrengthCovariance) -> list[float]:
    """Return the degrees of freedom of every model's strength; NaN where its votes are worth one cluster."""
    df = np.minimum(covariance.df, covariance.model_effective - 1.0)
    return np.where(df > _NO_DF, df, np.nan).tolist()


def t_reach(conf_level: float, df: float) -> float:
    """Return how many standard errors an interval reaches; NaN where there are no degrees of freedom."""
    return t_quantile(conf_level, df) if np.isfinite(df) else np.nan


def _matrix(values: FloatArray, pairs: PairContrasts, n: int) -> FloatArray:
    """Return what belongs to pairs as a symmetric table."""
    table = np.full((n, n), np.nan)
    table[pairs.first, pairs.second] = table[pairs.second, pairs.first] = values
    return table
