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
_ROUNDING = 1e-10


@dataclass(frozen=True, slots=True, kw_only=True)
class MaxContrast:
    """The test of several contrasts together.

    Attributes
    ----------
    statistic
        The largest |t|: estimate over the root of the sum of squared contributions with the null hypothesis imposed.
    p_value
        Share of sign patterns whose largest |t| is at least that large; listed patterns come in pairs, so that it is at
        least 2 / 2^n_clusters.
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
    estimates: Floats,
    influence: Floats,
    *,
    imposed: Floats | None = None,
    conf_level: float = 0.95,
    n_resamples: int = 9999,
    seed: int = 0,
) -> MaxContrast:
    """Test that all contrasts are zero by signs on the contributions of clusters (score wild bootstrap).

    Every cluster contributes a vector to the estimates; if all contrasts are zero, its sign is taken to be as likely one way
    as the other. Nothing is assumed of how contrasts, or models behind them, hang together. The null hypothesis is imposed:
    what changes sign is a cluster's share of the estimate itself, not only what it differs by from the others. The sum of
    squares is then the same for every pattern, so that |t| needs no new denominator (t^2 = r^2 / (1 - r^2 / G)).

    Parameters
    ----------
    estimates
        float64, shape (n_contrasts,).
    influence
        float64, shape (n_clusters, n_contrasts): what each cluster contributes to the estimates, summing to about 0 over
        clusters; the sum of squares is the clustered variance.
    imposed
        float64, the same shape: how much of each estimate every cluster carries, summing to the estimates; None for the same
        from each, which is right where all clusters are in all cells. Where a cluster is in some cells only it carries
        their part: without that the test is too sure.
    conf_level
        Level of `critical`.
    n_resamples, seed
        Sign patterns drawn where there are too many to list, and the seed of the draw.

    Raises
    ------
    InputError
        If shapes do not agree, a number is not finite, or a contrast gets nothing from any cluster.
    CannotAnswerError
        If there are fewer than six clusters.

    Notes
    -----
    Exact where every cluster carries the same and contributions are symmetric about 0 under the null hypothesis; skewed ones
    (scores near a ceiling, few clusters, many contrasts) make it too sure.

    References
    ----------
    Kline & Santos 2012, doi:10.1515/2156-6674.1006; Cameron, Gelbach & Miller 2008, doi:10.1162/rest.90.3.414; Westfall &
    Young 1993.

    Examples
    --------
    >>> influence = np.random.default_rng(0).normal(size=(40, 3))
    >>> found = max_contrast(np.array([0.0, 0.0, 60.0]), influence - influence.mean(axis=0), seed=1)
    >>> found.p_value
    0.0001
    """
    n_clusters, n_contrasts = influence.shape
    if estimates.shape != (n_contrasts,) or not n_contrasts:
        message = f"there are {len(estimates)} estimates and contributions to {n_contrasts}; one of each is needed"
        raise InputError(message)
    if imposed is not None and imposed.shape != influence.shape:
        message = f"`imposed` has shape {imposed.shape}, the contributions {influence.shape}; they must agree"
        raise InputError(message)
    if n_clusters < _MIN_CLUSTERS:
        message = f"{n_clusters} clusters have too few sign patterns for a test; {_MIN_CLUSTERS} are needed"
        raise CannotAnswerError(message)
    # An adjustment for leverage may leave a sum that is not quite 0.
    contributions = influence - influence.mean(axis=0) + (estimates / n_clusters if imposed is None else imposed)
    _check(estimates, contributions)
    errors = np.sqrt((contributions**2).sum(axis=0))
    observed = np.abs(estimates) / errors
    exact = n_clusters <= _MOST_LISTED
    largest = np.concatenate(
        [_largest(signs, contributions, errors) for signs in _signs(n_clusters, n_resamples, seed)]
    )
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


def _check(estimates: Floats, contributions: Floats) -> None:
    """Contributions with the null hypothesis imposed sum to the estimates, and each contrast gets some."""
    if not (np.isfinite(estimates).all() and np.isfinite(contributions).all()):
        message = "an estimate or a contribution is not a finite number"
        raise InputError(message)
    sizes = np.abs(contributions).sum(axis=0)
    # Relative to the contrast with the largest contributions: what is left of 0 by rounding is none.
    if not (sizes > _ROUNDING * sizes.max()).all():
        message = "a contrast gets no contribution from any cluster; leave it out"
        raise InputError(message)
    off = np.abs(contributions.sum(axis=0) - estimates)
    if (off > 1e-6 * sizes).any():
        message = f"`imposed` sums to the estimates only within {off.max():.2g}; every estimate is the sum of what clusters carry"
        raise InputError(message)


def _largest(signs: Floats, contributions: Floats, errors: Floats) -> Floats:
    return (np.abs(signs @ contributions) / errors).max(axis=1)


def _signs(n_clusters: int, n_resamples: int, seed: int) -> list[Floats]:
    """Sign patterns in blocks: all of them where these are few, else drawn."""
    if n_clusters <= _MOST_LISTED:
        patterns = np.arange(2**n_clusters, dtype=np.int64)[:, None]
        negative = (patterns >> np.arange(n_clusters, dtype=np.int64)) % 2 == 1
        return [np.where(negative, -1.0, 1.0)]
    rng = np.random.default_rng(seed)
    sizes = [_BLOCK] * (n_resamples // _BLOCK) + ([n_resamples % _BLOCK] if n_resamples % _BLOCK else [])
    return [2.0 * rng.integers(0, 2, size=(size, n_clusters)).astype(np.float64) - 1.0 for size in sizes]
