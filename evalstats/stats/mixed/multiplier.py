"""Are several contrasts all zero? The largest |t| of them, judged by random signs on the contributions of clusters."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from evalstats.errors import CannotAnswerError, InputError

Floats = npt.NDArray[np.float64]
_MIN_CLUSTERS = 6
_BLOCK = 512
# As many sign patterns are listed one by one.
_MOST_LISTED = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class MaxContrast:
    """The test of several contrasts together.

    Attributes
    ----------
    statistic
        The largest |t|.
    p_value
        Share of sign patterns whose largest |t| is at least that large.
    p_adjusted
        float64, shape (n_contrasts,): single-step p of each contrast, which holds for all of them together.
    critical
        The value that the largest |t| stays below with `conf_level` if all contrasts are zero.
    n_resamples
        Sign patterns drawn, or listed where `exact`.
    """

    statistic: float
    p_value: float
    p_adjusted: Floats
    critical: float
    n_resamples: int
    exact: bool


def max_contrast(
    estimates: Floats, influence: Floats, *, conf_level: float = 0.95, n_resamples: int = 9999, seed: int = 0
) -> MaxContrast:
    """Test that all contrasts are zero by signs on the contributions of clusters (score wild bootstrap).

    Every cluster contributes a vector to the estimates; under the null hypothesis its sign is taken to be as likely one way
    as the other. Nothing is assumed of how contrasts, or models behind them, hang together.

    Parameters
    ----------
    estimates
        float64, shape (n_contrasts,).
    influence
        float64, shape (n_clusters, n_contrasts): what each cluster contributes to the estimates, summing to about 0 over
        clusters; the sum of squares is the clustered variance.

    Raises
    ------
    InputError
        If shapes do not agree or a contrast does not vary between clusters.
    CannotAnswerError
        If there are fewer than six clusters.

    References
    ----------
    Kline & Santos 2012, doi:10.1515/2156-6674.1006; Westfall & Young 1993.

    Examples
    --------
    >>> influence = np.random.default_rng(0).normal(size=(40, 3))
    >>> found = max_contrast(np.array([0.0, 0.0, 60.0]), influence - influence.mean(axis=0), seed=1)
    >>> found.p_value
    0.0001
    """
    n_clusters, n_contrasts = influence.shape
    if estimates.shape != (n_contrasts,):
        message = f"there are {len(estimates)} estimates and contributions to {n_contrasts}"
        raise InputError(message)
    if n_clusters < _MIN_CLUSTERS:
        message = f"{n_clusters} clusters have too few sign patterns for a test; {_MIN_CLUSTERS} are needed"
        raise CannotAnswerError(message)
    centred = influence - influence.mean(axis=0)
    centred *= np.sqrt(n_clusters / (n_clusters - 1))
    errors = np.sqrt((centred**2).sum(axis=0))
    if not (errors > 0).all():
        message = "a contrast gets the same contribution from every cluster; leave it out"
        raise InputError(message)
    observed = np.abs(estimates) / errors
    exact = n_clusters <= _MOST_LISTED
    largest = np.concatenate([_largest(signs, centred, errors) for signs in _signs(n_clusters, n_resamples, seed)])
    # A tie up to rounding counts as reached.
    reached = (largest[:, None] >= observed * (1 - 1e-9)).sum(axis=0)
    total = len(largest)
    adjusted = reached / total if exact else (1 + reached) / (1 + total)
    # With all patterns listed, the one that was observed is among them: p is never 0.
    adjusted = np.maximum(adjusted, 1 / total) if exact else adjusted
    return MaxContrast(
        statistic=float(observed.max()),
        p_value=float(adjusted.min()),
        p_adjusted=np.asarray(adjusted, dtype=np.float64),
        critical=float(np.quantile(largest, conf_level, method="higher")),
        n_resamples=total,
        exact=exact,
    )


def _largest(signs: Floats, centred: Floats, errors: Floats) -> Floats:
    return (np.abs(signs @ centred) / errors).max(axis=1)


def _signs(n_clusters: int, n_resamples: int, seed: int) -> list[Floats]:
    """Sign patterns in blocks: all of them where these are few, else drawn."""
    if n_clusters <= _MOST_LISTED:
        patterns = np.arange(2**n_clusters, dtype=np.int64)[:, None]
        negative = (patterns >> np.arange(n_clusters, dtype=np.int64)) % 2 == 1
        return [np.where(negative, -1.0, 1.0)]
    rng = np.random.default_rng(seed)
    sizes = [_BLOCK] * (n_resamples // _BLOCK) + ([n_resamples % _BLOCK] if n_resamples % _BLOCK else [])
    return [2.0 * rng.integers(0, 2, size=(size, n_clusters)).astype(np.float64) - 1.0 for size in sizes]
