"""What simulators share (random streams told apart by what they are for, intercepts, names, files), and paired outcomes."""

import hashlib
import re
from collections.abc import Sequence
from datetime import datetime
from functools import cache
from math import asin, cos, exp, pi, sin
from pathlib import Path
from typing import Literal

import numpy as np
import polars as pl
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.special import expit, ndtri

from evalstats.errors import InputError
from evalstats.record import record
from evalstats.stats.checks import BoolArray, FloatArray, IntArray, check_count

Calibrate = Literal["count", "rate"]
# Names of the four outcomes of a vote in public arena data.
VOTE_LABELS = ("model_a", "model_b", "tie", "tie (bothbad)")


def generator(seed: int, purpose: str, *labels: str) -> np.random.Generator:
    """Return the stream that belongs to a seed, a purpose and further labels.

    The labels become the spawn key of numpy's `SeedSequence`, so streams with different labels are independent.

    InputError: if the seed is negative.

    Examples
    --------
    >>> first, again, other = generator(0, "noise", "a"), generator(0, "noise", "a"), generator(0, "noise", "b")
    >>> draws = [float(stream.random()) for stream in (first, again, other)]
    >>> draws[0] == draws[1], draws[0] == draws[2]
    (True, False)
    """
    if seed < 0:
        raise InputError(f"seed is {seed}; use a whole number from 0")
    digest = hashlib.blake2b("\x1f".join((purpose, *labels)).encode(), digest_size=16).digest()
    key = tuple(int(word) for word in np.frombuffer(digest, dtype="<u4"))
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=key)))


def intercept_for_rate(eta: FloatArray, rate: float) -> float:
    """Return a such that the mean of expit(a + eta) is `rate`."""
    low, high = -float(eta.max()) - 40.0, -float(eta.min()) + 40.0
    return float(brentq(lambda intercept: float(expit(intercept + eta).mean()) - rate, low, high, xtol=1e-12))


def intercept_for_count(latent: FloatArray, wanted: int) -> float:
    """Return a such that a + latent is above 0 `wanted` times: half-way between the last that must be and the first not."""
    ordered = np.sort(latent)[::-1]
    padded = np.concatenate([[ordered[0] + 2.0], ordered, [ordered[-1] - 2.0]])
    place = min(max(wanted, 0), latent.size)
    return -float(padded[place] + padded[place + 1]) / 2


def apportion(counts: Sequence[int], total: int) -> list[int]:
    """Scale counts to a new total by largest remainders; the first of equal remainders wins."""
    exact = [count * total / sum(counts) for count in counts]
    whole = [int(share) for share in exact]
    by_remainder = sorted(range(len(counts)), key=lambda level: whole[level] - exact[level])
    for level in by_remainder[: total - sum(whole)]:
        whole[level] += 1
    return whole


def check_spread(**sds: float) -> None:
    """Refuse a standard deviation below 0."""
    for name, value in sds.items():
        if not value >= 0:
            raise InputError(f"{name} is {value:g}; a standard deviation is at least 0")


_MOST_MODELS = 100_000  # each has a name, and two tables have a number for every pair


def check_models(count: int) -> int:
    """Return a number of models that names can be made for."""
    if count > _MOST_MODELS:
        raise InputError(f"there are to be {count} models; at most {_MOST_MODELS:,} can be simulated")
    return count


def check_share(name: str, value: float, *, high: float = 0.5) -> None:
    """Refuse a share that is not from 0 to `high`."""
    if not 0 <= value <= high:
        raise InputError(f"{name} is {value:g}; give a proportion from 0 to {high:g}")


def named(names: Sequence[str], codes: IntArray | pl.Series) -> pl.Series:
    """Return the names of codes."""
    return pl.Series(list(names), dtype=pl.String).gather(pl.Series(codes))


def numbered(prefix: str, numbers: IntArray) -> pl.Series:
    """Return ids of one width: `u001`, `u002`, ..."""
    width = len(str(int(numbers.max(initial=1))))
    return pl.select(pl.lit(prefix) + pl.Series(numbers).cast(pl.String).str.zfill(width)).to_series()


def times_after(start: datetime, milliseconds: pl.Series) -> pl.Series:
    """Return times, to the millisecond: a file's seconds then say the same."""
    whole = milliseconds.cast(pl.Int64) + int(start.timestamp() * 1000)
    return whole.cast(pl.Datetime("ms", "UTC")).cast(pl.Datetime("us", "UTC"))


def model_paths(folder: str | Path, models: Sequence[str], ending: str) -> list[Path]:
    """Return a file for each model, `<model><ending>`, in a folder that is made where it is missing.

    InputError: if two models would share a file.
    """
    names = [re.sub(r"[^A-Za-z0-9.-]+", "_", model) + ending for model in models]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InputError(f"two models would be written to {twice}; give them names that differ in letters or digits")
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    return [folder / name for name in names]


_SLACK = 1e-12  # 0.7 - 0.5 is not 0.2


@record(eq=False)
class SimulatedPairs:
    """Outcomes of two systems on the same items, and the truth.

    `baseline` and `candidate` are boolean arrays of shape (n_items, n_trials); `cluster` has shape (n_items,) and
    counts from 0. `difference` is the true difference of the success rates (candidate minus baseline, a proportion),
    `discordance` the true probability that exactly one of the two succeeds on one trial of an item, `icc` the true
    correlation of the one-trial difference between two items of a cluster.
    """

    baseline: BoolArray
    candidate: BoolArray
    cluster: IntArray
    difference: float
    discordance: float
    icc: float

    @property
    def item_differences(self) -> FloatArray:
        """Candidate minus baseline, averaged over the trials of each item; shape (n_items,)."""
        return self.candidate.mean(axis=1) - self.baseline.mean(axis=1)


def simulate_pairs(
    n_items: int,
    *,
    p_baseline: float,
    p_candidate: float,
    discordance: float,
    n_trials: int = 1,
    clusters: int | None = None,
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
        Number of clusters of (nearly) equal size; None puts each item in its own.
    icc
        Correlation of the one-trial difference between two items of a cluster, at least 0.
    repeatability
        From 0 (trials of an item are as different as they can be) to 1 (they are copies).
    seed
        Seed; one draw for each.

    InputError: if a number is out of range, or no such pair of systems exists.

    Examples
    --------
    >>> pairs = simulate_pairs(1000, p_baseline=0.6, p_candidate=0.7, discordance=0.3, clusters=20, icc=0.1)
    >>> pairs.candidate.shape, round(pairs.difference, 3), int(pairs.cluster.max()) + 1
    ((1000, 1), 0.1, 20)
    """
    check_count(n_items, "n_items", least=1)
    check_count(n_trials, "n_trials", least=1)
    for name, share in (("p_baseline", p_baseline), ("p_candidate", p_candidate)):
        if not 0 < share < 1:
            raise InputError(f"{name} is {share:g}; give a number strictly between 0 and 1")
    check_share("icc", icc, high=1.0)
    check_share("repeatability", repeatability, high=1.0)
    shared, by_cluster = _latent_shares(p_baseline, p_candidate, discordance, icc)
    n_clusters = n_items if clusters is None else clusters
    if not 1 <= n_clusters <= n_items:
        raise InputError(f"{clusters} clusters cannot hold {n_items} items; give a number from 1 to {n_items}")
    whole, rest = divmod(n_items, n_clusters)
    sizes = [whole + (place < rest) for place in range(n_clusters)]
    cluster = np.repeat(np.arange(len(sizes)), sizes)
    rng = generator(seed, "pairs")
    left = max(0.0, 1.0 - shared - by_cluster)
    difficulty = np.sqrt(shared) * rng.standard_normal(n_items)

    def outcomes(rate: float) -> BoolArray:
        of_item = difficulty + np.sqrt(by_cluster) * rng.standard_normal(len(sizes))[cluster]
        of_item = of_item + np.sqrt(left * repeatability) * rng.standard_normal(n_items)
        noise = np.sqrt(left * (1.0 - repeatability)) * rng.standard_normal((n_items, n_trials))
        return of_item[:, None] + noise < ndtri(rate)

    baseline, candidate = outcomes(p_baseline), outcomes(p_candidate)
    return SimulatedPairs(
        baseline=baseline,
        candidate=candidate,
        cluster=cluster,
        difference=p_candidate - p_baseline,
        discordance=discordance,
        icc=icc,
    )


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

    def excess(share: float) -> float:
        p, q = p_baseline, p_candidate
        return _both_below(p, p, share) - p**2 + _both_below(q, q, share) - q**2 - covariance

    by_cluster = 0.0
    if icc:
        by_cluster = 1.0 if excess(1.0) <= _SLACK else float(brentq(excess, 0.0, 1.0, xtol=1e-12))
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
