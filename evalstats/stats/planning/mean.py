"""Planning for a mean: the parts of a difference's variance, the power of its tests, and the smallest count or effect.

References: Miller 2024, arXiv:2411.00640; Owen 1965, Biometrika 52:437; Schuirmann 1987, J. Pharmacokin. Biopharm. 15:657;
Searle, Casella & McCulloch 1992, Variance Components, ch. 3; Cochran 1977, Sampling Techniques, section 10.6.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from evalstats.errors import InputError
from evalstats.record import record
from evalstats.stats.checks import FloatArray, IntArray, as_codes, as_values, check_count, check_level
from evalstats.stats.estimate import legendre, normal_quantile, t_quantile
from evalstats.stats.one_sample import satterthwaite_df

Pair = tuple[float, float]


@record
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
    run
        Variance of a side's score from run to run, where every trial is a run of its own; 0 where trials repeat one run.
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
    run: float = 0.0
    cluster_raw: float | None = None
    item_raw: float | None = None
    sizes: tuple[int, ...] = ()
    n_items: int = 1
    n_trials: Pair = (1.0, 1.0)
    notes: tuple[str, ...] = ()

    def scaled(self, factor: float) -> "DifferenceParts":
        """Return the parts multiplied; runs move all items, whatever these differ by."""
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
        """Return the variance of the mean difference of a design, by default that of the data.

        cluster sum f_g^2 + per_item/n + run (1/K_baseline + 1/K_candidate).
        """
        items = self.n_items if n_items is None else n_items
        shares = self.shares(n_clusters)
        between = 0.0 if shares is None or self.cluster is None else self.cluster * float((shares**2).sum())
        runs = self.run * sum(1.0 / k for k in (n_trials or self.n_trials))
        return between + self.per_item(n_trials) / items + runs

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

    `differences`: float64 array, shape (n_items,): candidate minus baseline, means over trials. `clusters`: Integer codes,
    shape (n_items,), or None for independent items. `trial_variances`: Sample variance of the trials of each item (divisor K -
    1) for baseline and candidate, shape (n_items,) each, NaN where an item has fewer than two trials. None where trials are not
    known one by one. `n_trials`: Trials of each item for baseline and candidate, shape (n_items,) each; 1 each by default.

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
        notes.append("No two items have several trials on each side, so trial noise is counted among the items'")
    if clusters is None:
        sizes, between, item = (), None, float(d.var(ddof=1)) - float(in_means.mean())
    else:
        codes, n_clusters = as_codes(clusters, d.size)
        sizes = tuple(np.bincount(codes).tolist())
        between, item = _one_way(d, codes, n_clusters, in_means)
        if between is None:
            why = "all items lie in one cluster" if n_clusters == 1 else "no cluster holds two items"
            notes.append(f"{why}, so clusters and items cannot be told apart")
    notes.extend(_cut_off(between, item))
    return DifferenceParts(
        cluster=None if between is None else max(0.0, between),
        item=max(0.0, item),
        trials=(noise[0], noise[1]),
        cluster_raw=between,
        item_raw=item,
        sizes=sizes,
        n_items=d.size,
        n_trials=(harmonic_mean(counts[0]), harmonic_mean(counts[1])),
        notes=tuple(notes),
    )


def harmonic_mean(counts: FloatArray) -> float:
    """Return the number of trials that noise averages over; exact where all items have as many.

    >>> harmonic_mean(np.full(120, 5.0)), harmonic_mean(np.array([1.0, 3.0]))
    (5.0, 1.5)
    """
    return float(counts.min() / (counts.min() / counts).mean())


def cheapest_trials(item: float, trials: float, *, cost_item: float, cost_trial: float) -> float:
    """Trials of an item at which a budget buys the smallest variance: sqrt(cost_item sigma^2 / (cost_trial omega^2)).

    `item` is omega^2 and `trials` sigma_A^2 + sigma_B^2; an item costs `cost_item` once, one trial of it on both sides
    together `cost_trial`. Not rounded, at least 1; infinite where items do not differ at all.
    """
    if not (item >= 0.0 and trials >= 0.0 and cost_item >= 0.0 and cost_trial > 0.0):
        raise InputError("variances and costs must be numbers from 0, and the cost of a trial above 0")
    if item == 0.0:
        return math.inf if trials > 0.0 else 1.0
    return max(1.0, math.sqrt(cost_item * trials / (cost_trial * item)))


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
        notes.append(f"The variance between clusters is estimated as {between:.3g}, which is taken as 0")
    if item < 0.0:
        notes.append(f"The variance of the items' true differences is estimated as {item:.3g}, which is taken as 0")
    return notes


MarginClaim = Literal["noninferiority", "equivalence"]

_NORMAL_FROM = 1e5  # degrees of freedom from which t is taken as normal: they differ by less than 1e-5
_NODES = 128
_TAIL = 1e-14
MOST = 100_000_000  # no plan is sought beyond this many items
_LONGEST_WAVE = 100
_FARTHEST = 8.0  # normal quantile of a power that is as good as 0 or 1
Bracket: TypeAlias = tuple[tuple[int, float] | None, tuple[int, float] | None]


def miller_n(delta: float, variance: float, *, conf_level: float = 0.95, power: float = 0.8) -> float:
    """Items at which a two-sided normal test finds a difference with the power asked for; not rounded.

    n = (z_(1 - alpha/2) + z_power)^2 variance / delta^2, with the variance of one item's observed difference: that of its
    mean, and of its trials over their number.
    """
    if not (math.isfinite(delta) and delta != 0.0):
        raise InputError(f"delta is {delta:g}; give a difference other than 0")
    return _reach(conf_level, power) ** 2 * positive(variance, "variance") / delta**2


def mean_power(delta: float, std_error: float, df: float | None = None, *, conf_level: float = 0.95) -> float:
    """Power of a two-sided t test to find a difference in its own direction; exact for normal differences.

    The sign of delta does not matter; df is None for a normal statistic.

    Examples
    --------
    >>> round(mean_power(2.8016, 1.0), 4), round(mean_power(2.8016, 1.0, 9), 4)
    (0.8, 0.7038)
    """
    shift = abs(delta) / positive(std_error, "std_error")
    level = check_level(conf_level)
    if df is None or _is_normal(df):
        return float(special.ndtr(shift - normal_quantile(level)))
    return _upper_noncentral(t_quantile(level, df), df, shift)


def mean_margin_power(
    delta: float,
    margin: float,
    std_error: float,
    df: float | None = None,
    *,
    test: MarginClaim = "noninferiority",
    conf_level: float = 0.95,
) -> float:
    """Power to show non-inferiority or equivalence at a margin, by one-sided t tests at level 1 - conf_level.

    `delta` is the true difference in favour of the candidate, often 0. "noninferiority" rejects "difference <= -margin";
    "equivalence" rejects that and "difference >= margin", which is to say that the interval at level 2 conf_level - 1 lies
    within the margin.

    Notes
    -----
    Exact for normal differences. Equivalence: with S the chi of df degrees over sqrt(df), the power is the mean over S of
    the normal probability between -margin + t S se and margin - t S se, where that is an interval (Owen).

    Examples
    --------
    >>> round(mean_margin_power(0.0, 0.03, 0.01, 40), 4)
    0.9038
    >>> round(mean_margin_power(0.0, 0.03, 0.01, 40, test="equivalence"), 4)
    0.8077
    """
    low = (delta + positive(margin, "margin")) / positive(std_error, "std_error")
    high = (margin - delta) / std_error
    one_sided = two_sided_level(conf_level)
    if df is None or _is_normal(df):
        z = normal_quantile(one_sided)
        if test == "noninferiority":
            return float(special.ndtr(low - z))
        return max(0.0, float(special.ndtr(high - z) - special.ndtr(z - low)))
    t = t_quantile(one_sided, df)
    return _upper_noncentral(t, df, low) if test == "noninferiority" else _owen(t, df, low, high)


def two_sided_level(conf_level: float) -> float:
    """Return the level of the interval that judges a margin by one-sided tests at `conf_level`: 2 conf_level - 1."""
    level = check_level(conf_level)
    if not level > 0.5:
        raise InputError(f"conf_level is {level:g}; a margin is judged by the interval at 2 conf_level - 1: above 0.5")
    return 2.0 * level - 1.0


def _is_normal(df: float) -> bool:
    return positive(df, "df") >= _NORMAL_FROM


def _upper_noncentral(t: float, df: float, shift: float) -> float:
    """Return P(T > t) for noncentral T, from scipy's lower tail, which is NaN here and there beyond a shift of 37."""
    below = float(special.nctdtr(df, shift, t))
    return 1.0 if math.isnan(below) else 1.0 - below


def _owen(t: float, df: float, low: float, high: float) -> float:
    """Return the mean over S = chi_df / sqrt(df) of P(t S - low < Z < high - t S), where that is an interval."""
    start, end = (math.sqrt(float(special.chdtri(df, tail)) / df) for tail in (1.0 - _TAIL, _TAIL))
    end = min((low + high) / (2.0 * t), end)
    if end <= start:
        return 0.0
    nodes, weights = legendre(_NODES)
    s: FloatArray = 0.5 * (end - start) * nodes + 0.5 * (end + start)
    log_density = (
        0.5 * df * math.log(df)
        - (0.5 * df - 1.0) * math.log(2.0)
        - float(special.gammaln(df / 2.0))
        + (df - 1.0) * np.log(s)
        - 0.5 * df * s**2
    )
    inside = special.ndtr(high - t * s) - special.ndtr(t * s - low)
    return float(0.5 * (end - start) * (weights * np.exp(log_density) * np.maximum(inside, 0.0)).sum())


def _reach(conf_level: float, power: float) -> float:
    level = check_level(conf_level)
    return normal_quantile(level) + float(special.ndtri(check_power(power, level)))


def check_power(power: float, conf_level: float) -> float:
    """Return a power that a test at this level can have."""
    if not (1.0 - conf_level) / 2.0 < power < 1.0:
        raise InputError(f"power is {power:g}; give a number above the test's size and below 1 (0.8)")
    return power


def positive(value: float, what: str) -> float:
    """Return a positive number, finite but for degrees of freedom."""
    if not value > 0.0 or (math.isinf(value) and what != "df"):
        raise InputError(f"{what} is {value:g}; give a positive number")
    return value


def smallest_count(
    power_at: Callable[[int], float], goal: float, *, start: int = 100, least: int = 1, most: int = MOST, wave: int = 0
) -> int | None:
    """Smallest count from which on `power_at` reaches `goal`; None where not even `most` is enough.

    The power must rise with the count, but for short waves: exact tests of counts lose a little at the next count now and
    then. The answer and the `wave` counts after it all reach the goal. A good guess for `start` saves time.
    """
    distance = _distance(power_at, goal)
    short, enough = _bracket(distance, max(least, min(start, most)), least=least, most=most)
    if enough is None:
        return None
    found = least if short is None else _cut(distance, short, enough)
    checked = found
    while checked < min(found + wave, most):
        checked += 1
        if power_at(checked) < goal:
            found = checked + 1
    return found if found <= most else None


def wave_of(n: int) -> int:
    """Return how many further counts to look at around an answer of n items, for tests of right/wrong items.

    The critical value moves by one item about every sqrt(n) items, so the waves of the power are no longer than that.
    """
    return min(_LONGEST_WAVE, 4 + int(1.5 * math.sqrt(n)))


def smallest_effect(
    power_at: Callable[[float], float], goal: float, *, low: float, high: float, tolerance: float = 1e-8
) -> float | None:
    """Smallest effect in [low, high] at which `power_at`, rising with the effect, reaches `goal`; None where none does.

    It is exact to `tolerance`, as a share of the answer, and reaches the goal.
    """
    if not low < high:
        raise InputError(f"effects from {low:g} to {high:g} hold none; give low below high")
    distance = _distance(power_at, goal)
    above = distance(high)
    if above < 0.0:
        return None
    below = distance(low)
    if below >= 0.0:
        return low
    line = _Secant(low=low, below=below, high=high, above=above)
    while line.high - line.low > (room := tolerance * abs(line.high)):
        middle = min(max(line.cut(), line.low + 0.5 * room), line.high - 0.5 * room)
        line.keep(middle, distance(middle))
    return line.high


@dataclass(slots=True, kw_only=True)
class _Secant:
    """A bracket and the distances at its ends: the Illinois rule, with the middle wherever the rule is slow."""

    low: float
    below: float
    high: float
    above: float
    width: float = math.inf
    kept: int = 0  # cuts in a row that moved the same end, negative for the lower one
    cuts: int = 0

    def cut(self) -> float:
        """Return where to look next."""
        self.cuts += 1
        if self.cuts % 4 == 0:
            slow, self.width = self.high - self.low > 0.5 * self.width, self.high - self.low
            if slow:
                return 0.5 * (self.low + self.high)
        return self.low - self.below * (self.high - self.low) / (self.above - self.below)

    def keep(self, middle: float, distance: float) -> None:
        """Take the point that was looked at as the new end; an end that stays twice counts half."""
        if distance >= 0.0:
            self.high, self.above = middle, distance
            self.kept = max(self.kept, 0) + 1
            self.below *= 0.5 if self.kept > 1 else 1.0
        else:
            self.low, self.below = middle, distance
            self.kept = min(self.kept, 0) - 1
            self.above *= 0.5 if self.kept < -1 else 1.0


def _distance(power_at: Callable[..., float], goal: float) -> Callable[[float], float]:
    """Return how far a power is above the goal, on the scale of normal quantiles."""
    aim = float(special.ndtri(goal))

    def distance(value: float) -> float:
        power = power_at(value)
        if power <= 0.0 or power >= 1.0:
            return math.copysign(_FARTHEST, power - goal)
        found = float(special.ndtri(power)) - aim
        # Rounding must not turn a power that reaches the goal into one that does not.
        return max(found, 0.0) if power >= goal else min(found, -1e-300)

    return distance


def _bracket(distance: Callable[[float], float], start: int, *, least: int, most: int) -> Bracket:
    """Return a count that is too small and one that is enough, each with its distance; None where there is none."""
    count, found = start, distance(start)
    if found >= 0.0:
        enough = (start, found)
        while count > least:
            count = max(least, count // 2)
            found = distance(count)
            if found < 0.0:
                return (count, found), enough
            enough = (count, found)
        return None, enough
    short = (start, found)
    while count < most:
        count = min(most, 2 * count)
        found = distance(count)
        if found >= 0.0:
            return short, (count, found)
        short = (count, found)
    return short, None


def _cut(distance: Callable[[float], float], short: tuple[int, float], enough: tuple[int, float]) -> int:
    """Return the smallest count that is enough, between one that is not and one that is."""
    line = _Secant(low=short[0], below=short[1], high=enough[0], above=enough[1])
    while line.high - line.low > 1:
        middle = min(max(math.ceil(line.cut()), int(line.low) + 1), int(line.high) - 1)
        line.keep(middle, distance(middle))
    return int(line.high)
