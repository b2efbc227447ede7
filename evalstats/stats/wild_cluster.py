"""Wild cluster bootstrap test of a mean difference, with the null imposed and the statistic studentised."""

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from evalstats.errors import InputError
from evalstats.stats.checks import FloatArray, as_codes, as_values, check_count

_WEBB = np.array([1.5**0.5, 1.0, 0.5**0.5])
_ENUMERATED = 13  # up to 2**13 Rademacher patterns are listed
_CHUNK = 2_000_000
_TIE = 1e-9


def wild_cluster_p(
    values: ArrayLike,
    clusters: ArrayLike,
    *,
    seed: int = 0,
    n_resamples: int = 9999,
    weights: Literal["webb", "rademacher"] = "webb",
) -> float:
    """Two-sided wild cluster bootstrap p of the hypothesis that the mean of clustered items is 0.

    Parameters
    ----------
    values
        float64 array, shape (n_items,): item differences.
    clusters
        Integer codes, shape (n_items,); at least 2 clusters.
    weights
        Law of the random cluster weights. Webb's six points for few clusters; Rademacher's signs are all listed up to
        13 clusters, which makes the test exact under symmetry and independent of the seed.

    Returns
    -------
    float
        (1 + hits) / (1 + n_resamples), or the exact share where all sign patterns were listed.

    References
    ----------
    Cameron, Gelbach & Miller 2008, doi:10.1162/rest.90.3.414; Webb 2023, doi:10.1111/caje.12661.

    Examples
    --------
    >>> d = np.array([0.3, 0.1, 0.4, 0.2, 0.5, 0.6, 0.1])
    >>> wild_cluster_p(d, np.arange(7), weights="rademacher")
    0.015625
    """
    x = as_values(values)
    codes, n_clusters = as_codes(clusters, x.size)
    draws = check_count(n_resamples, "n_resamples", least=1)
    if weights not in ("webb", "rademacher"):
        raise InputError(f"weights are {weights!r}; use 'webb' or 'rademacher'")
    if n_clusters < 2:
        raise InputError("all items are in one cluster; a test needs at least 2")
    share = np.bincount(codes) / x.size
    sums = np.bincount(codes, weights=x) / x.size
    observed = _statistics(np.ones((1, n_clusters)), sums, share)[0]
    if weights == "rademacher" and n_clusters <= _ENUMERATED:
        numbers = np.arange(2**n_clusters, dtype=np.int64)[:, np.newaxis]
        patterns = np.bitwise_and(np.right_shift(numbers, np.arange(n_clusters, dtype=np.int64)), 1)
        signs = 2.0 * patterns.astype(np.float64) - 1.0
        hits = int(np.count_nonzero(_statistics(signs, sums, share) >= observed * (1.0 - _TIE)))
        return hits / len(signs)
    rng = np.random.default_rng(seed)
    hits, done = 0, 0
    while done < draws:
        rows = min(draws - done, max(1, _CHUNK // n_clusters))
        signs = 2.0 * rng.integers(0, 2, size=(rows, n_clusters)).astype(np.float64) - 1.0
        if weights == "webb":
            signs *= _WEBB[rng.integers(0, 3, size=(rows, n_clusters))]
        hits += int(np.count_nonzero(_statistics(signs, sums, share) >= observed * (1.0 - _TIE)))
        done += rows
    return (1 + hits) / (1 + draws)


def _statistics(signs: FloatArray, sums: FloatArray, share: FloatArray) -> FloatArray:
    """Return |t| of each row of cluster weights, with the CR2 variance; sums and shares are over n."""
    flipped = signs * sums
    mean = flipped.sum(axis=1)
    variance = ((flipped - share * mean[:, None]) ** 2 / (1.0 - share)).sum(axis=1)
    scale = float(np.abs(sums).sum())
    # A mean without variance is the most extreme outcome there is; no mean at all, the least.
    flat = variance <= (1e-13 * scale) ** 2
    t = np.abs(mean) / np.sqrt(np.where(flat, 1.0, variance))
    return np.where(flat, np.where(np.abs(mean) > 1e-13 * scale, np.inf, 0.0), t)
