"""Where the variance of a paired difference comes from: clusters, items, trials. And what more of each would buy.

References: Searle, Casella & McCulloch 1992, Variance Components, ch. 3; Miller 2024, arXiv:2411.00640; Cochran 1977,
Sampling Techniques, section 10.6.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from evalstats.errors import InputError
from evalstats.stats.checks import FloatArray, IntArray, as_codes, as_values, check_count
from evalstats.stats.one_sample import satterthwaite_df

Pair = tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class DifferenceParts:
    """The variance of one item's difference, in parts; squared score units.

    Attributes
    ----------
    cluster
        Variance of the clusters' true mean differences; None where items are not clustered, or no cluster has two items.
    item
        Variance of the items' true differences within clusters (omega^2 where there are none). Trial noise that could not
        be told apart is in here.
    trials
        Mean variance of the trials of one item, of baseline and candidate; None where no two items have two trials.
    sizes
        Items of every cluster; empty where items are not clustered.
    n_trials
        Harmonic mean of the trials of an item, of baseline and candidate.
    notes
        What was cut off or could not be told apart.
    """

    cluster: float | None = None
    item: float
    trials: tuple[float | None, float | None] = (None, None)
    cluster_raw: float | None = None
    item_raw: float | None = None
    sizes: tuple[int, ...] = ()
    n_items: int = 1
    n_trials: Pair = (1.0, 1.0)
    notes: tuple[str, ...] = ()

    def scaled(self, factor: float) -> "DifferenceParts":
        """Return the parts multiplied."""
        first, second = self.trials
        return replace(
            self,
            cluster=None if self.cluster is None else factor * self.cluster,
            item=factor * self.item,
            trials=(None if first is None else factor * first, None if second is None else factor * second),
        )

    def per_item(self, n_trials: Pair | None = None) -> float:
        """Return the variance of an item's difference within its cluster, with so many trials.

        Trials of a side whose noise could not be told apart change nothing: what is there is counted as the items'.
        """
        counts = self.n_trials if n_trials is None else n_trials
        return self.item + sum(noise / k for noise, k in zip(self.trials, counts, strict=True) if noise is not None)

    def shares(self, n_clusters: int | None = None) -> FloatArray | None:
        """Return the shares of the items that as many clusters hold, with sizes spread as they are; None without clusters."""
        if not self.sizes:
            return None
        wanted = len(self.sizes) if n_clusters is None else check_count(n_clusters, "n_clusters", least=1)
        ordered = np.sort(np.array(self.sizes, dtype=np.float64))
        places = np.floor((np.arange(wanted) + 0.5) / wanted * ordered.size).astype(np.int64)
        return ordered[places] / ordered[places].sum()

    def variance(
        self, *, n_items: float | None = None, n_clusters: int | None = None, n_trials: Pair | None = None
    ) -> float:
        """Return the variance of the mean difference of a design, by default that of the data: cluster sum f_g^2 + per_item/n."""
        items = self.n_items if n_items is None else n_items
        shares = self.shares(n_clusters)
        between = 0.0 if shares is None or self.cluster is None else self.cluster * float((shares**2).sum())
        return between + self.per_item(n_trials) / items

    def df(self, n_clusters: int | None = None, n_items: float | None = None) -> float:
        """Return the degrees of freedom of the standard error: Satterthwaite's for clusters, else n - 1."""
        shares = self.shares(n_clusters)
        if shares is None:
            return (self.n_items if n_items is None else n_items) - 1.0
        return satterthwaite_df(shares) if shares.size > 1 else 0.0


def difference_parts(
    differences: ArrayLike,
    *,
    clusters: ArrayLike | None = None,
    trial_variances: tuple[ArrayLike, ArrayLike] | None = None,
    n_trials: tuple[ArrayLike, ArrayLike] | None = None,
) -> DifferenceParts:
    """Split the variance of paired item differences into clusters, items and trials, without bias.

    For planning: the standard error of the difference itself needs no split.

    Parameters
    ----------
    differences
        float64 array, shape (n_items,): candidate minus baseline, means over trials.
    clusters
        Integer codes, shape (n_items,), or None for independent items.
    trial_variances
        Sample variance of the trials of each item (divisor K - 1) for baseline and candidate, shape (n_items,) each, NaN
        where an item has fewer than two trials. None where trials are not known one by one.
    n_trials
        Trials of each item for baseline and candidate, shape (n_items,) each; 1 each by default.

    Notes
    -----
    The mean of the items' sample variances gives each side's sigma^2, and t_i = sigma_A^2/K_iA + sigma_B^2/K_iB the trial
    noise in d_i. Then the mean squares of a one-way analysis of variance are set equal to their expectations, with
    unequal clusters and unequal trials: E(MSW) = item + sum t_i (1 - 1/n_g)/(n - G) and
    E(MSB) = n_0 cluster + item + sum t_i (1/n_g - 1/n)/(G - 1), n_0 = (n - sum n_g^2/n)/(G - 1). Estimates below 0 are cut
    off, and a note says so.

    Examples
    --------
    >>> parts = difference_parts([0.0, 1.0, 1.0, 2.0, 5.0, 6.0], clusters=[0, 0, 1, 1, 2, 2])
    >>> parts.item, round(parts.cluster, 4)
    (0.5, 6.75)
    """
    d = as_values(differences, "differences")
    if d.size < 2:
        raise InputError("1 difference has no variance; at least 2 items are needed to split it")
    counts = [_counts(each, d.size) for each in (n_trials or (np.ones(d.size), np.ones(d.size)))]
    variances = trial_variances or (np.full(d.size, np.nan), np.full(d.size, np.nan))
    noise = [_trial_noise(each, d.size) for each in variances]
    in_means = np.zeros(d.size)
    for sigma, k in zip(noise, counts, strict=True):
        in_means += 0.0 if sigma is None else sigma / k
    notes: list[str] = []
    if None in noise:
        notes.append("no two items have several trials on each side, so trial noise is counted among the items'")
    if clusters is None:
        sizes, between, item = (), None, float(d.var(ddof=1)) - float(in_means.mean())
    else:
        codes, n_clusters = as_codes(clusters, d.size)
        sizes = tuple(np.bincount(codes).tolist())
        between, item = _one_way(d, codes, n_clusters, in_means)
        if between is None:
            notes.append("no cluster holds two items, so clusters and items cannot be told apart")
    notes.extend(_cut_off(between, item))
    return DifferenceParts(
        cluster=None if between is None else max(0.0, between),
        item=max(0.0, item),
        trials=(noise[0], noise[1]),
        cluster_raw=between,
        item_raw=item,
        sizes=sizes,
        n_items=d.size,
        n_trials=(_harmonic(counts[0]), _harmonic(counts[1])),
        notes=tuple(notes),
    )


def cheapest_trials(item: float, trials: float, *, cost_item: float, cost_trial: float) -> float:
    """Trials of an item at which a budget buys the smallest variance: sqrt(cost_item sigma^2 / (cost_trial omega^2)).

    `item` is omega^2 and `trials` sigma_A^2 + sigma_B^2; an item costs `cost_item` once, one trial of it on both sides
    together `cost_trial`. Not rounded, at least 1; infinite where items do not differ at all.

    Examples
    --------
    >>> cheapest_trials(0.1, 0.4, cost_item=8.0, cost_trial=2.0)
    4.0
    """
    if not (item >= 0.0 and trials >= 0.0 and cost_item >= 0.0 and cost_trial > 0.0):
        raise InputError("variances and costs must be numbers from 0, and the cost of a trial above 0")
    return math.inf if item == 0.0 and trials > 0.0 else max(1.0, math.sqrt(cost_item * trials / (cost_trial * item)))


def _counts(counts: ArrayLike, n: int) -> FloatArray:
    array = np.asarray(counts, dtype=np.float64)
    if array.shape != (n,) or not (array >= 1.0).all():
        raise InputError(f"n_trials have shape {array.shape}; give a number of at least 1 for each of {n} items")
    return array


def _trial_noise(variances: ArrayLike, n: int) -> float | None:
    """Return the mean of the variances that are there; None where fewer than two are."""
    array = np.asarray(variances, dtype=np.float64)
    if array.shape != (n,):
        raise InputError(f"trial_variances have shape {array.shape}; give one for each of {n} items")
    known = array[~np.isnan(array)]
    return float(known.mean()) if known.size >= 2 else None


def _one_way(d: FloatArray, codes: IntArray, n_clusters: int, in_means: FloatArray) -> tuple[float | None, float]:
    """Return the unbiased variances between clusters and of items within them."""
    n, sizes = d.size, np.bincount(codes)
    if n_clusters in (1, n):
        return None, float(d.var(ddof=1)) - float(in_means.mean())
    means = np.bincount(codes, weights=d) / sizes
    within = float(np.square(d - means[codes]).sum()) / (n - n_clusters)
    among = float((sizes * np.square(means - d.mean())).sum()) / (n_clusters - 1)
    share = 1.0 / sizes[codes]
    item = within - float((in_means * (1.0 - share)).sum()) / (n - n_clusters)
    effective = (n - float((sizes**2).sum()) / n) / (n_clusters - 1)
    noise = float((in_means * (share - 1.0 / n)).sum()) / (n_clusters - 1)
    return (among - item - noise) / effective, item


def _cut_off(between: float | None, item: float) -> list[str]:
    notes: list[str] = []
    if between is not None and between < 0.0:
        notes.append(f"the variance between clusters is estimated as {between:.3g}, which is taken as 0")
    if item < 0.0:
        notes.append(f"the variance of the items' true differences is estimated as {item:.3g}, which is taken as 0")
    return notes


def _harmonic(counts: FloatArray) -> float:
    return float(1.0 / (1.0 / counts).mean())
