"""Mean over strata that are fixed, such as the scenario types of a benchmark."""

import math

import numpy as np
from numpy.typing import ArrayLike

from evalstats.errors import InputError
from evalstats.stats.checks import FloatArray, as_codes, as_values, check_level, few_items
from evalstats.stats.estimate import Estimate
from evalstats.stats.tails import t_quantile, two_sided_t_p


def stratified_mean(
    values: ArrayLike, strata: ArrayLike, *, weights: ArrayLike | None = None, conf_level: float = 0.95
) -> Estimate:
    """Mean of independent items in fixed strata, with the variance within strata only.

    For statements about new items from these same scenario types. Groups that are themselves a sample are clusters:
    see `evalstats.stats.clusters.cluster_mean`.

    Parameters
    ----------
    values
        float64 array, shape (n_items,): scores or differences.
    strata
        Integer codes, shape (n_items,).
    weights
        Target weight of each stratum, in the order of the sorted codes; they are divided by their sum. Left out, each
        stratum weighs as many items as it has.

    Notes
    -----
    SE^2 = sum w_s^2 s_s^2/n_s with Satterthwaite df (sum v_s)^2 / sum(v_s^2/(n_s - 1)). A stratum with one item has no
    variance of its own: no interval, and `reason` names it.

    References
    ----------
    Cochran 1977, Sampling Techniques, section 5.4; Satterthwaite 1946, doi:10.2307/3002019.

    Examples
    --------
    >>> r = stratified_mean([1, 1, 0, 1, 0, 0], [0, 0, 0, 1, 1, 1], weights=[1, 3])
    >>> round(r.estimate, 4), round(r.std_error, 4), round(r.df, 3)
    (0.4167, 0.2635, 2.439)
    """
    x = as_values(values)
    level = check_level(conf_level)
    codes, n_strata = as_codes(strata, x.size, "strata")
    count = np.bincount(codes, minlength=n_strata)
    share = count / x.size if weights is None else _checked_weights(weights, n_strata)
    means = np.bincount(codes, weights=x, minlength=n_strata) / count
    estimate, method = float(share @ means), f"stratified mean over {n_strata} strata, Satterthwaite t"
    squares = np.bincount(codes, weights=np.square(x - means[codes]), minlength=n_strata)
    rounding = 1e-24 * float(np.square(x).max()) * count
    variance = np.where(squares > rounding, squares, 0.0) / np.maximum(count - 1, 1) / count * share**2
    total = float(variance.sum())
    reason = _no_variance(count[share > 0.0], total)
    if reason is not None:
        return Estimate(
            estimate=estimate, method=method, conf_level=level, n=x.size, reason=reason, warnings=few_items(x.size)
        )
    std_error = math.sqrt(total)
    df = total**2 / float((variance**2 / np.maximum(count - 1, 1)).sum())
    reach = t_quantile(level, df) * std_error
    return Estimate(
        estimate=estimate,
        method=method,
        conf_level=level,
        n=x.size,
        std_error=std_error,
        conf_low=estimate - reach,
        conf_high=estimate + reach,
        statistic=estimate / std_error,
        df=df,
        p_value=two_sided_t_p(estimate / std_error, df),
        warnings=few_items(x.size),
    )


def _checked_weights(weights: ArrayLike, n_strata: int) -> FloatArray:
    w = as_values(weights, "weights")
    if w.size != n_strata:
        raise InputError(f"{w.size} weights for {n_strata} strata; give one weight per stratum, in order of its code")
    if w.min() < 0.0 or w.sum() <= 0.0:
        raise InputError("weights must be 0 or more and not all 0")
    return w / w.sum()


def _no_variance(counted: np.ndarray, total: float) -> str | None:
    alone = int(np.count_nonzero(counted < 2))
    if alone:
        one = "1 stratum has" if alone == 1 else f"{alone} strata have"
        return f"{one} a single item, so the spread within is unknown"
    return None if total > 0.0 else "the values of every stratum are equal, so their spread is unknown"
