"""Paired outcomes of two systems with everything about them known: for checks of coverage and of false alarms."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from math import asin, cos, exp, pi, sin

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.special import ndtri

from evalstats.errors import InputError
from evalstats.simulate.draws import generator

_SLACK = 1e-12  # 0.7 - 0.5 is not 0.2


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SimulatedPairs:
    """Outcomes of two systems on the same items, and the truth.

    `baseline` and `candidate` are boolean arrays of shape (n_items, n_trials); `cluster` has shape (n_items,) and
    counts from 0. `difference` is the true difference of the success rates (candidate minus baseline, a proportion),
    `discordance` the true probability that exactly one of the two succeeds on one trial of an item, `icc` the true
    correlation of the one-trial difference between two items of a cluster.
    """

    baseline: NDArray[np.bool_]
    candidate: NDArray[np.bool_]
    cluster: NDArray[np.int64]
    difference: float
    discordance: float
    icc: float

    @property
    def item_differences(self) -> NDArray[np.float64]:
        """Candidate minus baseline, averaged over the trials of each item; shape (n_items,)."""
        return self.candidate.mean(axis=1) - self.baseline.mean(axis=1)


def simulate_pairs(
    n_items: int,
    *,
    p_baseline: float,
    p_candidate: float,
    discordance: float,
    n_trials: int = 1,
    clusters: int | Sequence[int] | None = None,
    icc: float = 0.0,
    repeatability: float = 0.0,
    seed: int = 0,
) -> SimulatedPairs:
    """Draw binary outcomes of two systems on shared items, in clusters and trials.

    An outcome is a success where a standard normal variable lies below the quantile of the system's success rate.
    The variable is a sum of four parts: the item's difficulty (both systems share it; its share of the variance is set
    so that `discordance` holds), the cluster's effect on the system (set so that `icc` holds), the item's effect on the
    system (`repeatability` of what is left), and fresh noise for each trial. Probabilities, discordance and ICC are
    therefore exact, not approximate.

    Parameters
    ----------
    n_items
        Items.
    p_baseline, p_candidate
        Success probabilities, strictly between 0 and 1.
    discordance
        Probability that exactly one system succeeds on one trial: from |difference| (the better one solves all that
        the other does) to that of independent systems, p_baseline + p_candidate - 2 p_baseline p_candidate.
    n_trials
        Trials of each item by each system.
    clusters
        Number of clusters of (nearly) equal size, or their sizes; None puts each item in its own.
    icc
        Correlation of the one-trial difference between two items of a cluster, at least 0.
    repeatability
        From 0 (trials of an item are as different as they can be) to 1 (they are copies).
    seed
        Seed; one draw for each.

    Raises
    ------
    InputError
        If a number is out of range, or no such pair of systems exists.

    Examples
    --------
    >>> pairs = simulate_pairs(1000, p_baseline=0.6, p_candidate=0.7, discordance=0.3, clusters=20, icc=0.1)
    >>> pairs.candidate.shape, round(pairs.difference, 3), int(pairs.cluster.max()) + 1
    ((1000, 1), 0.1, 20)
    """
    _check_counts(n_items=n_items, n_trials=n_trials)
    _check_shares(strict=True, p_baseline=p_baseline, p_candidate=p_candidate)
    _check_shares(strict=False, icc=icc, repeatability=repeatability)
    shared, by_cluster = _latent_shares(p_baseline, p_candidate, discordance, icc)
    sizes = _cluster_sizes(n_items, clusters)
    cluster = np.repeat(np.arange(len(sizes)), sizes)
    baseline, candidate = _draw(
        (p_baseline, p_candidate),
        cluster,
        shared=shared,
        by_cluster=by_cluster,
        repeatability=repeatability,
        n_trials=n_trials,
        seed=seed,
    )
    return SimulatedPairs(
        baseline=baseline,
        candidate=candidate,
        cluster=cluster,
        difference=p_candidate - p_baseline,
        discordance=discordance,
        icc=icc,
    )


def _draw(
    rates: tuple[float, float],
    cluster: NDArray[np.int64],
    *,
    shared: float,
    by_cluster: float,
    repeatability: float,
    n_trials: int,
    seed: int,
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Outcomes of both systems, shape (n_items, n_trials); the shares are of the latent variance."""
    rng = generator(seed, "pairs")
    n_items, n_clusters = cluster.size, int(cluster.max()) + 1
    left = max(0.0, 1.0 - shared - by_cluster)
    difficulty = np.sqrt(shared) * rng.standard_normal(n_items)

    def outcomes(rate: float) -> NDArray[np.bool_]:
        of_item = difficulty + np.sqrt(by_cluster) * rng.standard_normal(n_clusters)[cluster]
        of_item = of_item + np.sqrt(left * repeatability) * rng.standard_normal(n_items)
        noise = np.sqrt(left * (1.0 - repeatability)) * rng.standard_normal((n_items, n_trials))
        return of_item[:, None] + noise < ndtri(rate)

    return outcomes(rates[0]), outcomes(rates[1])


def _check_counts(**counts: int) -> None:
    for name, count in counts.items():
        if count < 1:
            raise InputError(f"{name} is {count}; give a whole number from 1")


def _check_shares(*, strict: bool, **shares: float) -> None:
    for name, share in shares.items():
        if not (0 < share < 1 or (not strict and share in (0, 1))):
            raise InputError(
                f"{name} is {share:g}; give a number {'strictly between 0 and 1' if strict else 'from 0 to 1'}"
            )


def _cluster_sizes(n_items: int, clusters: int | Sequence[int] | None) -> list[int]:
    if clusters is None:
        return [1] * n_items
    if not isinstance(clusters, int):
        sizes = list(clusters)
        if sum(sizes) != n_items or min(sizes) < 1:
            raise InputError(
                f"the cluster sizes add up to {sum(sizes)}; {n_items} items need sizes from 1 that add up to {n_items}"
            )
        return sizes
    if not 1 <= clusters <= n_items:
        raise InputError(f"{clusters} clusters cannot hold {n_items} items; give a number from 1 to {n_items}")
    whole, rest = divmod(n_items, clusters)
    return [whole + (place < rest) for place in range(clusters)]


@cache
def _latent_shares(p_baseline: float, p_candidate: float, discordance: float, icc: float) -> tuple[float, float]:
    """Shares of the latent variance: of the item's difficulty, and of cluster x system."""
    gap = abs(p_candidate - p_baseline)
    most = p_baseline + p_candidate - 2 * p_baseline * p_candidate
    if not gap - _SLACK <= discordance <= most + _SLACK:
        raise InputError(
            f"discordance is {discordance:g}; with these probabilities it lies between {gap:.4g} and {most:.4g}"
        )
    both = (p_baseline + p_candidate - discordance) / 2
    shared = _correlation_for(p_baseline, p_candidate, both)
    # Difficulties of two items are independent, so their differences covary by the cluster's effects alone.
    covariance = icc * (discordance - gap**2)
    by_cluster = 0.0 if icc == 0 else _cluster_share(p_baseline, p_candidate, covariance)
    if shared + by_cluster > 1 + _SLACK:
        raise InputError(
            f"discordance {discordance:g} and icc {icc:g} exclude each other; lower the icc or raise the discordance"
        )
    return shared, by_cluster


def _correlation_for(p: float, q: float, both: float) -> float:
    """Correlation of two standard normals at which both lie below their p and q quantiles with probability `both`."""
    if both <= p * q:
        return 0.0
    if both >= min(p, q) - _SLACK:
        return 1.0
    return float(brentq(lambda rho: _both_below(p, q, rho) - both, 0.0, 1.0, xtol=1e-12))


def _cluster_share(p: float, q: float, covariance: float) -> float:
    def excess(share: float) -> float:
        return _both_below(p, p, share) - p**2 + _both_below(q, q, share) - q**2 - covariance

    if excess(1.0) <= _SLACK:
        return 1.0
    return float(brentq(excess, 0.0, 1.0, xtol=1e-12))


def _both_below(p: float, q: float, rho: float) -> float:
    """Probability that two standard normals of correlation rho in [0, 1] lie below their p and q quantiles.

    P = p q + (1/2 pi) integral from 0 to arcsin(rho) of exp(-(h^2 + k^2 - 2 h k sin t) / (2 cos^2 t)) dt
    (Plackett 1954, Biometrika 41:351, doi 10.1093/biomet/41.3-4.351).
    """
    h, k = float(ndtri(p)), float(ndtri(q))

    def density(angle: float) -> float:
        # h^2 + k^2 - 2 h k sin t = (h - k)^2 + 2 h k (1 - sin t), and (1 - sin t) / cos^2 t = 1 / (1 + sin t)
        apart = (h - k) ** 2 / (2 * cos(angle) ** 2) if h != k else 0.0
        return exp(-apart - h * k / (1 + sin(angle)))

    area: float = quad(density, 0.0, asin(rho), epsabs=1e-13, epsrel=1e-12)[0]
    return p * q + area / (2 * pi)
