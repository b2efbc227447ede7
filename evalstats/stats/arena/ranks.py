"""Which ranks votes leave open for every model."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evalstats.errors import InputError
from evalstats.stats.arena.fit import PairFit
from evalstats.stats.arena.joint_law import JointLaw, joint_law
from evalstats.stats.arena.strength_covariance import StrengthCovariance, contrast_p
from evalstats.stats.arena.votes import VoteRows
from evalstats.stats.checks import FloatArray, IntArray, check_count, check_level
from evalstats.stats.computation import one_thread
from evalstats.stats.many.max_t import OneSided, collect


@dataclass(frozen=True, slots=True, kw_only=True)
class StrengthRanks:
    """Ranks that the votes leave open; rank 1 is the strongest.

    Attributes
    ----------
    low, high
        int64, shape (n_models,): best and worst rank of each model; all these sets hold together with `conf_level`.
    marginal_low, marginal_high
        The same for a model looked at alone.
    top
        For every tau asked for, a boolean array: models that may be among the tau best. Holds for all models together.
    p_adjusted
        float64, shape (n_models, n_models), symmetric: step-down p-value of every pair among all pairs, from which `low` and
        `high` are counted. NaN on the diagonal and for pairs without a standard error.
    critical
        What the largest of all |t| exceeds with probability 1 - conf_level if no two models differ; NaN where unknown.
    reason
        Why nothing could be said; then every set runs from 1 to the number of models.
    """

    low: IntArray
    high: IntArray
    marginal_low: IntArray
    marginal_high: IntArray
    top: dict[int, NDArray[np.bool_]]
    p_adjusted: FloatArray
    critical: float
    conf_level: float
    method: str
    exact: bool
    n_resamples: int | None
    seed: int | None
    reason: str | None = None
    warnings: tuple[str, ...] = ()


@one_thread
def strength_ranks(
    fit: PairFit,
    covariance: StrengthCovariance,
    rows: VoteRows | None = None,
    *,
    conf_level: float = 0.95,
    top: Sequence[int] = (1, 3, 5),
    seed: int = 0,
    n_resamples: int | None = None,
) -> StrengthRanks:
    """Confidence sets for the ranks of all models of a fit.

    Parameters
    ----------
    covariance
        From `covariance_of`. With a `reason` in it, no rank is told.
    rows
        The votes; needed where clusters are few (`covariance.few_clusters`), for sign flips.
    top
        For each tau in it, which models may be among the tau best.
    n_resamples
        Draws of the law where it cannot be listed; None: 4,999 to 29,999, the more the fewer pairs there are.

    Notes
    -----
    The rank of a model lies between 1 + the number of models shown to be above it and n_models - the number shown to be
    below it. "Shown" comes from one step-down procedure over all pairs in both directions. The critical values are those of
    the largest studentised contrast under a multivariate t with the covariance of the strengths; or under sign flips of
    whole clusters where these are worth fewer than the models, or fewer than 40: their covariance then has too low a rank,
    or is too uncertain, to draw from. No pair is shown whose own p-value is above 1 - conf_level.

    How often any difference between equal models was shown at a nominal .05, 100 to 300 data sets each, by the
    multivariate t and by sign flips: 10 models and 20, 40, 300 raters .06, .07, .04 and .02, .05, .04; 300 raters of whom
    the k-th votes in proportion to 1/k .09 and .03; 13 prompts and such raters .10 and .04; 30 models and 60 raters .07 and
    .05, with uneven raters .18 and .03; 15 models and 8 prompts .23 and .04.

    References
    ----------
    Mogstad, Romano, Shaikh & Wilhelm 2024, doi:10.1093/restud/rdad006.

    Examples
    --------
    >>> from evalstats.stats.arena.bradley_terry import fit_strengths
    >>> from evalstats.stats.arena.covariance import covariance_of
    >>> from evalstats.stats.arena.votes import vote_rows
    >>> rows = vote_rows([0, 0, 1, 1, 0, 0], [1, 1, 2, 2, 2, 2], [0, 1, 0, 1, 0, 1], count=[55, 45, 80, 20, 80, 20])
    >>> fit = fit_strengths(rows)
    >>> found = strength_ranks(fit, covariance_of(fit, rows))
    >>> found.low.tolist(), found.high.tolist(), found.top[1].tolist()
    ([1, 1, 3], [2, 2, 3], [True, True, False])
    """
    level = check_level(conf_level)
    taus = tuple(check_count(tau, "an entry of top", least=1) for tau in top)
    draws = None if n_resamples is None else check_count(n_resamples, "n_resamples", least=1)
    pairs = joint_law(fit, covariance, rows, seed=seed, n_resamples=draws)
    if isinstance(pairs, str):
        return _none(fit.n_models, taus, level, pairs)
    own_p = contrast_p(fit, covariance, pairs.first, pairs.second)
    return _counted(pairs, own_p, fit.n_models, taus, level)


def arena_ranks(low: ArrayLike, high: ArrayLike) -> IntArray:
    """Rank as public arenas do: 1 + the number of models whose interval lies wholly above one's own.

    Of a single pair it is conservative, and it is not adjusted for the number of pairs: see `strength_ranks` for what holds.

    Parameters
    ----------
    low, high
        Ends of each model's interval, shape (n_models,); NaN for a model without one, which is not compared and ranks 1.

    Examples
    --------
    >>> arena_ranks([3.0, 2.5, 1.0], [4.0, 3.5, 2.0]).tolist()
    [1, 1, 3]
    """
    lower, upper = np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64)
    if lower.ndim != 1 or lower.shape != upper.shape:
        raise InputError(
            f"there are low ends of shape {lower.shape} and high ends of shape {upper.shape}; give one each"
        )
    known = np.sort(lower[~np.isnan(lower)])
    above = known.size - np.searchsorted(known, upper, side="right")
    return 1 + np.where(np.isnan(upper), 0, above).astype(np.int64)


def _counted(pairs: JointLaw, own_p: FloatArray, n_models: int, taus: tuple[int, ...], level: float) -> StrengthRanks:
    """Count the models shown to be above and below each, over all pairs and over the pairs of each model alone."""
    law, first, second = pairs.law, pairs.first, pairs.second
    every = OneSided(law.observed, np.arange(first.size))
    own = [OneSided(law.observed, np.flatnonzero((first == j) | (second == j))) for j in range(n_models)]
    collect(law, [every, *(family for family in own if family.members.size)])
    p_adjusted = np.maximum(every.p_adjusted(), own_p)
    up = law.observed > 0.0
    winner, loser = np.where(up, first, second), np.where(up, second, first)
    shown = p_adjusted <= 1.0 - level
    low = 1 + np.bincount(loser[shown], minlength=n_models)
    marginal_low, marginal_high = np.ones(n_models, dtype=np.int64), np.full(n_models, n_models, dtype=np.int64)
    for j, family in enumerate(own):
        if family.members.size:
            alone = family.members[np.maximum(family.p_adjusted(), own_p[family.members]) <= 1.0 - level]
            marginal_low[j] += np.count_nonzero(loser[alone] == j)
            marginal_high[j] -= np.count_nonzero(winner[alone] == j)
    table = np.full((n_models, n_models), np.nan)
    table[first, second] = table[second, first] = p_adjusted
    missing = n_models * (n_models - 1) // 2 - first.size
    words = f"{missing} of {missing + first.size} pairs have no standard error and are not separated"
    return StrengthRanks(
        low=low,
        high=n_models - np.bincount(winner[shown], minlength=n_models),
        marginal_low=marginal_low,
        marginal_high=marginal_high,
        top={tau: low <= tau for tau in taus},
        p_adjusted=table,
        critical=every.critical(level),
        conf_level=level,
        method=f"rank sets, max-T step-down, {pairs.method}",
        exact=law.exact,
        n_resamples=law.n_resamples,
        seed=law.seed,
        warnings=(words,) if missing else (),
    )


def _none(n_models: int, taus: tuple[int, ...], level: float, reason: str) -> StrengthRanks:
    """Say that every rank is possible."""
    low, high = np.ones(n_models, dtype=np.int64), np.full(n_models, n_models, dtype=np.int64)
    return StrengthRanks(
        low=low,
        high=high,
        marginal_low=low.copy(),
        marginal_high=high.copy(),
        top={tau: low <= tau for tau in taus},
        p_adjusted=np.full((n_models, n_models), np.nan),
        critical=np.nan,
        conf_level=level,
        method="none",
        exact=True,
        n_resamples=None,
        seed=None,
        reason=reason,
    )
