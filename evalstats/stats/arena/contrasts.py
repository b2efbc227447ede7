"""Differences between the strengths of all pairs of models."""

from dataclasses import dataclass

import numpy as np
from scipy import special

from evalstats.errors import InputError
from evalstats.stats.arena.fit import PairFit
from evalstats.stats.arena.ranks import StrengthRanks
from evalstats.stats.arena.strength_covariance import StrengthCovariance, contrast_df, contrast_p, contrast_variance
from evalstats.stats.checks import FloatArray, IntArray, check_level


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
