"""Error of a calibrated weighted mean over clusters, from the residuals that calibration leaves."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from evalstats.stats.checks import FloatArray, IntArray, as_codes, check_level, too_few_clusters
from evalstats.stats.estimate import Estimate, t_quantile

_ROUNDING = 1e-12


def residuals_on_margins(x: FloatArray, margins: Sequence[IntArray], weights: FloatArray) -> FloatArray:
    """Return residuals of weighted least squares on the levels of all margins, shape (n_rows,).

    Examples
    --------
    >>> residuals_on_margins(np.array([1.0, 3.0, 5.0]), [np.array([0, 0, 1])], np.ones(3)).round(9).tolist()
    [-1.0, 1.0, 0.0]
    """
    design = np.hstack([np.eye(int(codes.max()) + 1)[codes] for codes in margins])
    root = np.sqrt(weights)
    fitted = np.linalg.lstsq(design * root[:, None], x * root, rcond=None)[0]
    return x - design @ fitted


def clustered_mean(
    x: FloatArray,
    residuals: FloatArray,
    weights: FloatArray,
    *,
    clusters: ArrayLike | None,
    conf_level: float,
    method: str,
) -> Estimate:
    """Weighted mean with the error sqrt(G/(G - 1) sum (u_g - u)^2), u_g the cluster sums of w e / sum w, t with G - 1 df.

    Examples
    --------
    >>> x = np.array([1.0, 0, 1, 1, 0, 1])
    >>> r = clustered_mean(x, x - x.mean(), np.ones(6), clusters=None, conf_level=0.95, method="mean")
    >>> round(r.std_error, 6) == round(float(x.std(ddof=1) / 6**0.5), 6), r.df
    (True, 5.0)
    """
    level = check_level(conf_level)
    codes, n_clusters = (np.arange(x.size), x.size) if clusters is None else as_codes(clusters, x.size)
    estimate = float(weights @ x / weights.sum())
    sums = np.bincount(codes, weights=weights * residuals / weights.sum(), minlength=n_clusters)
    variance = n_clusters / max(n_clusters - 1, 1) * float(((sums - sums.mean()) ** 2).sum())
    reason = too_few_clusters(n_clusters)
    if reason is None and math.sqrt(variance) <= _ROUNDING * float(np.abs(x).max()):
        reason = "within each level all values are equal, so their spread is unknown"
    if reason is not None:
        return Estimate(
            estimate=estimate, method=method, conf_level=level, n=x.size, n_clusters=n_clusters, reason=reason
        )
    std_error, df = math.sqrt(variance), float(n_clusters - 1)
    reach = t_quantile(level, df) * std_error
    return Estimate(
        estimate=estimate,
        method=method,
        conf_level=level,
        n=x.size,
        std_error=std_error,
        conf_low=estimate - reach,
        conf_high=estimate + reach,
        df=df,
        n_clusters=n_clusters,
    )
