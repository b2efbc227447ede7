"""What may be said of pairs of models and of ranks, with the error of everything that was estimated."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from evalstats.analysis.arenas.results import Scale
from evalstats.analysis.arenas.table import VoteTable
from evalstats.stats.arena.elo import ELO_PER_LOG_ODDS
from evalstats.stats.arena.fit import PairFit, Ties
from evalstats.stats.arena.strength_covariance import StrengthCovariance, contrast_variance
from evalstats.stats.checks import FloatArray, IntArray
from evalstats.stats.many.rank_sets import rank_sets_normal

ELO_BASE = 1000.0


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
    order
        Probability that i is the stronger, nothing known before.
    more_votes
        Further votes between the two that would separate them; `more_votes_reasons` says why there is no number.
    rank_low, rank_high, marginal_low, marginal_high, rank_arena
        int64, shape (n_models,); None where ranks cannot be told.
    """

    df: float
    std_error: FloatArray
    p_value: FloatArray
    p_adjusted: FloatArray
    separated: NDArray[np.bool_]
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
    n = fit.n_models
    i, j = np.indices((n, n))
    variance = contrast_variance(covariance, i.ravel(), j.ravel()).reshape(n, n)
    error = np.where(variance > 0.0, np.sqrt(np.maximum(variance, 0.0)), np.nan)
    difference = fit.strengths[:, None] - fit.strengths
    t = difference / error
    ranks = rank_sets_normal(
        fit.strengths, covariance.joint, conf_level=options.conf_level, top=options.top, seed=options.seed
    )
    apart = (ranks.low[:, None] > ranks.high) | (ranks.high[:, None] < ranks.low)
    reach = 1.96 * np.sqrt(np.diagonal(covariance.joint))
    low, high = fit.strengths - reach, fit.strengths + reach
    return Claims(
        df=covariance.df,
        std_error=error * options.points,
        p_value=np.asarray(2.0 * special.stdtr(covariance.df, -np.abs(t)), dtype=np.float64),
        p_adjusted=np.full((n, n), np.nan),
        separated=apart,
        order=np.asarray(special.stdtr(covariance.df, t), dtype=np.float64),
        more_votes=np.full((n, n), np.nan),
        more_votes_reasons={},
        rank_low=ranks.low,
        rank_high=ranks.high,
        marginal_low=ranks.marginal_low,
        marginal_high=ranks.marginal_high,
        rank_arena=1 + (low[None, :] > high[:, None]).sum(axis=1),
        rank_method=ranks.method,
    )
