"""Differences between the strengths of all pairs of models, and how many more votes would tell a pair apart."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from evalstats.errors import InputError
from evalstats.stats.arena.covariance import (
    ENOUGH_CLUSTERS,
    StrengthCovariance,
    contrast_df,
    contrast_p,
    contrast_variance,
    variances_of,
)
from evalstats.stats.arena.likelihood import PairFit, derivatives
from evalstats.stats.arena.ranks import StrengthRanks
from evalstats.stats.checks import FloatArray, IntArray, check_count, check_level


@dataclass(frozen=True, slots=True, kw_only=True)
class PairContrasts:
    """Strength of the first model less that of the second, one entry for each pair, shape (n_pairs,), in log-units.

    Attributes
    ----------
    first, second
        Models, (0, 1), (0, 2), ..., first < second.
    std_error, conf_low, conf_high, p_value
        Of this difference alone, by the t law with `df` degrees of freedom (see `contrast_df`); NaN where there is a
        `reason`, or where all votes on one of the two models lie in one cluster.
    p_adjusted
        Step-down p-value among all pairs: at most 1 - conf_level exactly where the rank sets count the pair as shown. NaN
        where no ranks were given or the pair has no standard error.
    order_probability
        Probability that the first is the stronger, if nothing was known before (a flat prior): the t law around the estimate.
    """

    first: IntArray
    second: IntArray
    estimate: FloatArray
    std_error: FloatArray
    df: FloatArray
    conf_low: FloatArray
    conf_high: FloatArray
    p_value: FloatArray
    p_adjusted: FloatArray
    order_probability: FloatArray
    conf_level: float
    method: str
    reason: str | None = None

    def place(self, i: int, j: int) -> int:
        """Return where the pair of models i < j stands.

        Examples
        --------
        The pairs of four models are (0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3): (1, 3) is number 4.
        """
        if not 0 <= i < j <= int(self.second[-1]):
            raise InputError(
                f"({i}, {j}) is no pair of models numbered from 0 to {int(self.second[-1])} in rising order"
            )
        n = int(self.second[-1]) + 1
        return i * n - i * (i + 1) // 2 + j - i - 1


def pair_contrasts(
    fit: PairFit, covariance: StrengthCovariance, ranks: StrengthRanks | None = None, *, conf_level: float = 0.95
) -> PairContrasts:
    """Contrast all pairs of models of a fit, each from the full covariance.

    Parameters
    ----------
    ranks
        From `strength_ranks` of the same fit: its adjusted p-values are taken over.

    Examples
    --------
    >>> from evalstats.stats.arena.bradley_terry import fit_strengths
    >>> from evalstats.stats.arena.covariance import covariance_of
    >>> from evalstats.stats.arena.ranks import strength_ranks
    >>> from evalstats.stats.arena.votes import vote_rows
    >>> rows = vote_rows([0, 0], [1, 1], [0, 1], count=[60, 40])
    >>> fit = fit_strengths(rows)
    >>> covariance = covariance_of(fit, rows)
    >>> found = pair_contrasts(fit, covariance, strength_ranks(fit, covariance))
    >>> found.estimate.round(4).tolist(), found.std_error.round(4).tolist(), found.p_value.round(4).tolist()
    ([0.4055], [0.2041], [0.0498])
    """
    level = check_level(conf_level)
    first, second = np.triu_indices(fit.n_models, k=1)
    estimate = fit.strengths[first] - fit.strengths[second]
    nothing = np.full(first.size, np.nan)
    df = std_error = p_value = order = reach = nothing
    if covariance.reason is None:
        variance, df = contrast_variance(covariance, first, second), contrast_df(covariance, first, second)
        known = (variance > 0.0) & ~np.isnan(df)
        std_error, df = np.where(known, np.sqrt(np.abs(variance)), np.nan), np.where(known, df, np.nan)
        p_value = contrast_p(fit, covariance, first, second)
        order = np.where(known, special.stdtr(df, estimate / std_error), np.nan)
        reach = -special.stdtrit(df, (1.0 - level) / 2.0) * std_error
    return PairContrasts(
        first=first,
        second=second,
        estimate=estimate,
        std_error=std_error,
        df=df,
        conf_low=estimate - reach,
        conf_high=estimate + reach,
        p_value=p_value,
        p_adjusted=nothing if ranks is None else ranks.p_adjusted[first, second],
        order_probability=order,
        conf_level=level,
        method=covariance.method,
        reason=covariance.reason,
    )


_CAP = 10_000_000
_NO_SPREAD = "the difference has no standard error, so what votes would add is unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class MoreVotes:
    """Further direct votes for pairs of models, one entry for each pair asked for.

    Attributes
    ----------
    first, second
        Models of each pair.
    n_votes
        Votes between these two alone, on top of those there are, or None with the reason in `reasons`.
    design_effect
        Variance of each contrast over what it would be if every vote stood on its own; NaN where unknown.
    power, critical
        The power aimed at, and what |t| has to exceed; None for the t quantile of one pair alone.
    """

    first: IntArray
    second: IntArray
    n_votes: tuple[int | None, ...]
    reasons: tuple[str | None, ...]
    design_effect: FloatArray
    power: float
    critical: float | None

    @property
    def total(self) -> int | None:
        """Votes for all these pairs together; None where it is unknown for one that is not separated yet."""
        known = [n for n, why in zip(self.n_votes, self.reasons, strict=True) if why != SEPARATED]
        return None if any(n is None for n in known) else sum(n for n in known if n is not None)


SEPARATED = "separated already"


def more_votes(
    fit: PairFit,
    covariance: StrengthCovariance,
    contrasts: PairContrasts,
    pairs: ArrayLike,
    *,
    power: float = 0.8,
    critical: float | None = None,
    cap: int = _CAP,
) -> MoreVotes:
    """Count the direct votes that would separate pairs if their difference is as estimated.

    Parameters
    ----------
    contrasts
        From `pair_contrasts`.
    pairs
        Integers, shape (n, 2): models, in either order.
    critical
        What |t| has to exceed: `StrengthRanks.critical` for claims among all pairs. None: the t quantile of one pair alone.
    cap
        Where more votes than these are needed, a reason is given instead of a number.

    Notes
    -----
    A direct vote adds the information I = -E[d2 log-likelihood / d eta2] to that of the contrast. With b the contrast's
    variance by the model alone and V its variance by the covariance, n further votes leave V / (1 + n I b): the new votes
    are as dependent as the old ones (design effect V / V_votes) and as informative, whatever ties do to them. That holds for
    votes of new raters on new prompts; more votes of the same few raters add less. With d the estimate, n is the least
    number for which |d| reaches (critical + t_power) times the standard error. Estimated differences are somewhat too large
    where they were looked for, and n then too small.

    Examples
    --------
    >>> from evalstats.stats.arena.bradley_terry import fit_strengths
    >>> from evalstats.stats.arena.contrasts import pair_contrasts
    >>> from evalstats.stats.arena.covariance import covariance_of
    >>> from evalstats.stats.arena.votes import vote_rows
    >>> rows = vote_rows([0, 0], [1, 1], [0, 1], count=[55, 45])
    >>> fit = fit_strengths(rows)
    >>> covariance = covariance_of(fit, rows)
    >>> more_votes(fit, covariance, pair_contrasts(fit, covariance), [(0, 1)]).n_votes
    (704,)
    """
    share, most = check_level(power), check_count(cap, "cap", least=1)
    asked = _pairs(pairs, fit.n_models)
    first, second = asked.min(axis=1), asked.max(axis=1)
    at = [contrasts.place(int(i), int(j)) for i, j in zip(first, second, strict=True)]
    estimate, std_error = contrasts.estimate[at], contrasts.std_error[at]
    if critical is not None and not critical > 0.0:
        raise InputError(f"critical is {critical:g}; give what |t| has to exceed, a number above 0")
    df = contrasts.df[at]
    bar = -special.stdtrit(df, (1.0 - contrasts.conf_level) / 2.0) if critical is None else critical
    decided = contrasts.p_adjusted[at] if critical is not None else contrasts.p_value[at]
    reach = bar + special.stdtrit(df, share)
    gain = _information(fit, estimate) * variances_of(fit.bread, first, second)
    with np.errstate(divide="ignore", invalid="ignore"):
        needed = (np.square(std_error * reach / estimate) - 1.0) / gain
        design_effect = std_error**2 / variances_of(covariance.votes, first, second)
    lacking = contrasts.reason or (None if critical is None else _clusters_lacking(covariance))
    found = [
        _one(float(n), float(p), lacking, 1.0 - contrasts.conf_level, most)
        for n, p in zip(needed, decided, strict=True)
    ]
    return MoreVotes(
        first=asked[:, 0],
        second=asked[:, 1],
        n_votes=tuple(n for n, _ in found),
        reasons=tuple(why for _, why in found),
        design_effect=design_effect,
        power=share,
        critical=critical,
    )


def _clusters_lacking(covariance: StrengthCovariance) -> str | None:
    """Say of which clusters more are needed where claims rest on sign flips of few: votes in the same ones cannot help."""
    few = [way for way in covariance.used if covariance.few_clusters and way.n_clusters < ENOUGH_CLUSTERS]
    if not few:
        return None
    least = min(few, key=lambda way: way.n_clusters)
    return f"more clusters by {least.name} are needed, not more votes: there are {least.n_clusters}"


def _one(needed: float, p: float, reason: str | None, alpha: float, cap: int) -> tuple[int | None, str | None]:
    """Return the number of votes of one pair, or why there is none."""
    if p <= alpha:
        return None, SEPARATED
    if reason is not None:
        return None, reason
    if math.isnan(needed):
        return None, _NO_SPREAD
    if not needed <= cap:
        return None, f"more than {cap:,} votes: the estimated difference is too close to 0"
    # A pair that is not separated though its estimate already stands out enough needs a vote at least to change anything.
    return max(1, math.ceil(needed)), None


def _information(fit: PairFit, eta: FloatArray) -> FloatArray:
    """Return the expected information by eta of one vote between models that differ by `eta`, covariates 0."""
    tau = 0.0 if fit.tie is None else math.log(fit.tie)
    none, one = np.zeros_like(eta), np.ones_like(eta)
    information = np.zeros_like(eta)
    kinds = [(one, none, none), (none, one, none), (none, none, one)]
    for votes in kinds[: 2 if fit.ties == "half" else 3]:
        at = derivatives(fit.ties, eta, tau, votes)
        information += np.exp(at.log_lik) * at.curve
    return information


def _pairs(pairs: ArrayLike, n_models: int) -> IntArray:
    asked = np.asarray(pairs, dtype=np.int64).reshape(-1, 2)
    wrong = (asked[:, 0] == asked[:, 1]) | (asked.min(axis=1) < 0) | (asked.max(axis=1) >= n_models)
    if wrong.any():
        bad = asked[int(np.flatnonzero(wrong)[0])]
        raise InputError(f"pair ({bad[0]}, {bad[1]}) is not two different models of 0 to {n_models - 1}")
    return asked
