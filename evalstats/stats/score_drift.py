"""Whether scores change as they come: a run over its own order, and a score that is measured again and again, at every look.

References: Ploberger & Krämer 1992, doi:10.2307/2951597 (CUSUM test with ordinary residuals); Rasch 1960, Probabilistic Models
for Some Intelligence and Attainment Tests; Robbins 1970, doi:10.1214/aoms/1177696786, and Howard et al. 2021,
doi:10.1214/20-AOS1991 (normal mixture); Shin, Ramdas & Rinaldo 2024, arXiv:2203.03532 (one e-process for each possible change,
weighted); Agresti & Min 2005, doi:10.1002/sim.1781 (half a pair added to each cell).
"""

import math
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from evalstats.errors import InputError
from evalstats.record import record
from evalstats.stats.checks import BoolArray, FloatArray, IntArray, as_codes, check_bound, check_count, check_level
from evalstats.stats.estimate import positive_p
from evalstats.stats.many.pair_table import as_scores

FEWEST_RUNS = 3
_FEWEST_UNITS = 20
_CLEAR = 0.05
_SORTED = 0.01


@record
class RunDrift:
    """One run's drift over its own order.

    Attributes
    ----------
    run
        Column of the run.
    at
        Share of the run's items, 0 to 1, after which a sudden change would lie.
    change
        Mean score after that place less the mean before it, beyond what the other runs do on the same items. The place is
        the one that shows most, so the change is somewhat too large.
    """

    run: int
    n_items: int
    at: float
    change: float
    p_value: float
    p_adjusted: float

    @property
    def clear(self) -> bool:
        """Whether the adjusted p is at most .05."""
        return self.p_adjusted <= _CLEAR


def run_drifts(scores: ArrayLike, order: ArrayLike, *, strata: ArrayLike | None = None) -> tuple[RunDrift, ...]:
    """Test each run for a change over the order in which its items came.

    `scores`: Shape (n_items, n_runs), NaN where a run has no score; at least three runs. `order`: Shape (n_items, n_runs): when
    a run came to an item (place in the file, or time), NaN where unknown. Only the order counts; items of one run with the same
    time (a batch) are one unit. `strata`: Codes of the items' categories, if any: what a run does in each category as a whole
    is taken out first, so that a run that is weak in what came last has no drift.

    Returned are the clear ones first, then the others in their order. None of runs with fewer than 20 units; of runs in whose
    order the other runs' scores drift (the items are sorted by difficulty, and a strong run's lead over weak ones changes with
    it); and of what is left when only two runs are, since nobody can tell which of two drifts.

    Notes
    -----
    A score less its item's mean is taken to be b v_i plus noise with a variance in proportion to v_i, the variance of the
    scores of item i: to first order that is Rasch's model. With b fitted, the running sum is a Brownian bridge in the time
    that v_i count, and its largest distance from 0 has Kolmogorov's law. A run that drifts makes the others seem to drift the
    other way; so the clearest is taken out, and the rest are tested again (Holm's steps). A fault that all runs share does
    not show; nor does one that begins with a stratum, where each stratum is a stretch of the file.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> scores = (rng.random((400, 4)) < 0.7).astype(float)
    >>> scores[300:, 2] *= rng.random(100) < 0.4
    >>> found = run_drifts(scores, np.repeat(np.arange(400.0)[:, None], 4, axis=1))
    >>> [(each.run, each.clear) for each in found], round(found[0].at, 2)
    ([(2, True), (0, False), (1, False), (3, False)], 0.74)
    """
    y = as_scores(scores)
    places = np.asarray(order, dtype=np.float64)
    if places.shape != y.shape:
        raise InputError(f"order has shape {places.shape}, scores {y.shape}; give a place for every score")
    if y.shape[1] < FEWEST_RUNS:
        raise InputError(f"{y.shape[1]} runs; at least {FEWEST_RUNS} are needed to tell a run's drift from the items'")
    levels = np.zeros(y.shape[0], dtype=np.int64) if strata is None else as_codes(strata, y.shape[0], "strata")[0]
    seen = ~np.isnan(y)
    left, clear, bound = list(range(y.shape[1])), list[RunDrift](), 0.0
    rest: list[RunDrift] = []
    while len(left) >= FEWEST_RUNS:
        rest = _tested(y[:, left], seen[:, left], places[:, left], levels, left)
        first = min(rest, key=lambda each: each.p_value, default=None)
        if first is None or max(bound, first.p_adjusted) > _CLEAR:
            break
        bound = max(bound, first.p_adjusted)
        clear.append(first)
        left.remove(first.run)
        rest = []
    return (*clear, *rest)


def _tested(y: FloatArray, seen: BoolArray, places: FloatArray, levels: IntArray, runs: list[int]) -> list[RunDrift]:
    shared = seen & (seen.sum(axis=1, keepdims=True) > 1)
    filled = np.where(shared, y, 0.0)
    count, total = shared.sum(axis=1), filled.sum(axis=1)
    excess = np.where(shared, filled - (total / np.maximum(count, 1))[:, None], 0.0)
    spread = np.square(excess).sum(axis=1) / np.maximum(count, 1)
    tiny = 1e-18 * max(float(np.abs(filled).max()) ** 2, 1e-300)
    found: list[RunDrift] = []
    for column, run in enumerate(runs):
        here = np.flatnonzero(shared[:, column] & np.isfinite(places[:, column]))
        here = here[np.argsort(places[here, column], kind="stable")]
        ends = np.flatnonzero(np.diff(places[here, column], append=np.inf) > 0)  # of one time only the last counts
        if ends.size < _FEWEST_UNITS:
            continue
        level, ones = levels[here], np.ones(here.size)
        others = _less_strata((total[here] - filled[here, column]) / (count[here] - 1), ones, level)
        values = _less_strata(excess[here, column], spread[here], level)
        p, place = _bridge_p(values, ends, tiny)
        if p is None or (_bridge_p(others, ends, tiny)[0] or 1.0) <= _SORTED:
            continue
        cut = int(ends[place]) + 1
        found.append(
            RunDrift(
                run=run,
                n_items=values.size,
                at=cut / values.size,
                change=float(values[cut:].mean() - values[:cut].mean()),
                p_value=p,
                p_adjusted=min(1.0, p * len(runs)),
            )
        )
    return found


def _less_strata(values: FloatArray, weights: FloatArray, level: IntArray) -> FloatArray:
    """Take from each value what its stratum has on average, in proportion to the weights."""
    slope = np.bincount(level, weights=values) / np.maximum(np.bincount(level, weights=weights), 1e-300)
    return values - slope[level] * weights


def _bridge_p(values: FloatArray, ends: IntArray, tiny: float) -> tuple[float | None, int]:
    """Return p of the running sum's largest distance from 0, looked at where units end, and which end that is."""
    path = np.cumsum(values)[ends]
    noise = float(np.square(np.diff(path, prepend=0.0)).sum())
    if noise <= tiny:
        return None, 0
    place = int(np.abs(path[:-1]).argmax())
    return positive_p(float(special.kolmogorov(float(np.abs(path[place])) / math.sqrt(noise)))), place


FEWEST_UNITS = 10
# The mixture favours changes of three standard errors of a single run: what a run by itself would just show.
_TAU = 3.0
# Of three runs on it shows whether whole runs differ more than their items explain; it is taken for shown at this p.
_FEWEST_RUNS = 3
_SHOWN = 0.05


@record
class Change:
    """Runs since one against those before it, as seen at one look.

    Attributes
    ----------
    look
        The last run that was there, counted from 0: the look is at runs 0 to `look`.
    since
        The first run of the later part.
    estimate
        Mean over items of (mean of the runs since) less (mean of the runs before).
    conf_low, conf_high
        Its interval; None where the units are too few for one.
    p_value
        Anytime-valid: 1 over the weighted e-value of this change, at most 1.
    n_units
        Clusters, or items without any, with a score on both sides.
    dispersion
        How many times as much the runs of either part vary as their items explain; 1 where no more is shown. The interval is
        widened by its root.
    """

    look: int
    since: int
    estimate: float
    n_units: int
    conf_low: float | None = None
    conf_high: float | None = None
    p_value: float | None = None
    dispersion: float = 1.0

    @property
    def clear(self) -> bool:
        """Whether the interval excludes 0."""
        return self.conf_low is not None and self.conf_high is not None and not self.conf_low <= 0.0 <= self.conf_high


def weights_of(since: ArrayLike) -> FloatArray:
    """Return the share of the error that is spent on a change at these runs: 1/2, 1/6, 1/12, ..., which add up to 1."""
    places = np.asarray(since, dtype=np.float64)
    return 1.0 / (places * (places + 1.0))


def score_changes(
    scores: ArrayLike,
    *,
    clusters: ArrayLike | None = None,
    conf_level: float = 0.95,
    span: float = 1.0,
    reference: int | None = None,
) -> tuple[Change, ...]:
    """Look after every run for a change of the mean score, each item against itself.

    The probability that any interval, at any look, for any place of the change, misses what it estimates is at most
    1 - conf_level; so one may look after each run, for ever, and a score that stays as it is gives a false alarm that seldom.

    `scores`: Shape (n_items, n_runs), the runs in the order of their dates; NaN where a run has no score of the item.
    `clusters`: Codes of groups of items that move together in a run; without them items do so independently. `span`: Largest
    possible difference of two scores of an item (that of right or wrong is 1); it keeps an interval from having no width where
    no item differs. `reference`: Compare all later runs with the first so many, and look for no other place of the change;
    None: every place.

    Returned is at each look, in order, the change that shows most (the smallest p); none at looks where no item has a score on
    both sides.

    InputError: if the scores are no table of at least one run, or the reference leaves no run to compare.

    Notes
    -----
    For c runs before and m since, d is the item's mean since less its mean before. The interval holds the u with
    n^2 (mean - u)^2 <= k^2 (V(u) + span^2 (1/c + 1/m)/2), with k the boundary of a normal mixture at information
    h = c m/(c + m): k^2 = (1 + 1/(9 h)) (2 log(1/a) + log(1 + 9 h)) and a = (1 - conf_level)/(c (c + 1)). V(u) is the larger of
    two estimates of the variance of the sum: sum of (d - u)^2, which holds though an item's runs resemble each other, and the
    items' variances from run to run times 1/c + 1/m. The first alone knows nothing of wrong answers that the fewer runs happen
    to lack: where 5 in 100 answers fail by chance, a run without any would look certain. It is the inversion of a score test,
    so that 0 is outside exactly where p <= 1 - conf_level. For given c the estimates at successive looks have independent
    increments on the scale of information, whether or not the mean moves, which is what the mixture needs; and the sum over c
    of a is 1 - conf_level. All but the normal law of a mean over items is exact.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> p = np.repeat(rng.beta(2.0, 1.0, 400), 10).reshape(400, 10)
    >>> p[:, 6:] *= 0.85
    >>> found = score_changes((rng.random(p.shape) < p).astype(float))
    >>> [each.look for each in found if each.clear], found[-1].since, round(found[-1].estimate, 3)
    ([6, 7, 8, 9], 6, -0.115)
    """
    y = np.asarray(scores, dtype=np.float64)
    if y.ndim != 2 or not y.size:
        raise InputError(f"scores have shape {y.shape}; give a row for each item and a column for each run")
    if np.isinf(y).any():
        raise InputError("some scores are infinite; give numbers, and NaN where a run has none")
    level, reach = check_level(conf_level), check_bound(span)
    if reference is not None and check_count(reference, "reference", least=1) >= y.shape[1]:
        raise InputError(f"reference is {reference} of {y.shape[1]} runs; at least one must come after it")
    alone: IntArray = np.arange(y.shape[0], dtype=np.int64)
    codes = alone if clusters is None else as_codes(clusters, y.shape[0])[0]
    order = np.argsort(codes, kind="stable")
    y, starts = y[order], np.flatnonzero(np.diff(codes[order], prepend=-1))
    seen = ~np.isnan(y)
    counts, totals = np.cumsum(seen, axis=1), np.cumsum(np.where(seen, y, 0.0), axis=1)
    found: list[Change] = []
    for look in range(1 if reference is None else reference, y.shape[1]):
        places = np.arange(1, look + 1) if reference is None else np.array([reference])
        shares = weights_of(places) if reference is None else np.ones(1)
        runs = _Runs(scores=y[:, : look + 1], counts=counts[:, : look + 1], totals=totals[:, : look + 1], starts=starts)
        one = _clearest(runs, places, level=level, span=reach, shares=shares)
        if one is not None:
            found.append(one)
    return tuple(found)


@record
class _Runs:
    """The runs of a look, items by cluster: scores, running counts and sums, and the row at which each cluster begins."""

    scores: FloatArray
    counts: IntArray
    totals: FloatArray
    starts: IntArray

    def by_cluster(self, values: FloatArray) -> FloatArray:
        """Return the sums of the rows of each cluster."""
        return values if self.starts.size == len(values) else np.add.reduceat(values, self.starts, axis=0)

    @property
    def residuals(self) -> FloatArray:
        """Scores less the item's mean over all runs, 0 where there is none, summed by cluster."""
        means = self.totals[:, -1:] / np.maximum(self.counts[:, -1:], 1)
        return self.by_cluster(np.where(np.isnan(self.scores), 0.0, self.scores - means))

    @property
    def degrees(self) -> FloatArray:
        """Runs of an item, on average over each cluster's items that have any, less 1; times these items."""
        own = self.counts[:, -1].astype(np.float64)
        return self.by_cluster(np.maximum(own - 1.0, 0.0))

    def factors(self, before: IntArray, after: IntArray) -> FloatArray:
        """Return what the residuals' squares of each cluster count in the variance of a sum of changes, by place."""
        own = np.where((before > 0) & (after > 0), 1.0 / np.maximum(before, 1) + 1.0 / np.maximum(after, 1), 0.0)
        return self.by_cluster(own) / np.maximum(self.degrees, 1.0)[:, None]


def _clearest(runs: _Runs, places: IntArray, *, level: float, span: float, shares: FloatArray) -> Change | None:
    """Return the change that shows most at the last of the runs, of those with enough units where there are any."""
    counts, totals = runs.counts, runs.totals
    look = int(counts.shape[1]) - 1
    before, after = counts[:, places - 1], counts[:, -1:] - counts[:, places - 1]
    both = (before > 0) & (after > 0)
    later = (totals[:, -1:] - totals[:, places - 1]) / np.maximum(after, 1)
    d = np.where(both, later - totals[:, places - 1] / np.maximum(before, 1), 0.0)
    n = both.sum(axis=0).astype(np.float64)
    if not n.any():
        return None
    sums, sizes = runs.by_cluster(d), runs.by_cluster(both.astype(np.float64))
    since = look + 1.0 - places
    information = _TAU**2 * places * since / (places + since)
    floor = span**2 * (1.0 / places + 1.0 / since) / 2.0
    residuals, factors = runs.residuals, runs.factors(before, after)
    spread = np.maximum(np.square(sums).sum(axis=0), np.square(residuals).sum(axis=1) @ factors)
    square = np.square(sums.sum(axis=0)) / (spread + floor)
    dispersion = _dispersion(residuals, places)
    square = square / dispersion
    log_e = information * square / (2.0 * (1.0 + information)) - 0.5 * np.log1p(information) + np.log(shares)
    units = np.count_nonzero(sizes, axis=0)
    enough = units >= FEWEST_UNITS
    best = int(np.argmax(np.where(enough if enough.any() else n > 0, log_e, -math.inf)))
    mean = float(sums[:, best].sum() / n[best])
    found = Change(
        look=look,
        since=int(places[best]),
        estimate=mean,
        n_units=int(units[best]),
        dispersion=float(dispersion[best]),
    )
    if not enough[best]:
        return found
    boundary = (dispersion[best] * (1.0 + 1.0 / information[best])) * (
        np.log1p(information[best]) - 2.0 * (math.log1p(-level) + math.log(shares[best]))
    )
    own = sizes[:, best]
    of_changes = _quadratic(sums[:, best] - mean * own, own, np.ones(len(own)))
    # A change of u moves an item's scores since by u, hence its residuals by u less its share of runs since.
    share: FloatArray = after[:, best, None] / np.maximum(counts[:, -1:], 1)
    later_runs = np.where(np.arange(look + 1) >= int(places[best]), 1.0, 0.0)
    steps = runs.by_cluster(np.where(np.isnan(runs.scores) | ~both[:, best, None], 0.0, later_runs - share))
    of_runs = _quadratic(residuals - mean * steps, steps, factors[:, best, None])
    ends = [
        _ends(each, n=float(n[best]), floor=float(floor[best]), square=float(boundary))
        for each in (of_changes, of_runs)
    ]
    if None in ends:
        return found
    low, high = min(end[0] for end in ends if end), max(end[1] for end in ends if end)
    p = positive_p(math.exp(-max(float(log_e[best]), 0.0)))
    return replace(found, conf_low=mean - high, conf_high=mean - low, p_value=p)


def _dispersion(residuals: FloatArray, places: IntArray) -> FloatArray:
    """Return how much more the runs of either part differ than their units explain, a ratio of variances; 1 if not shown.

    The sum of squares of the runs' totals about the mean of their part, over that of the units' own residuals, each by its
    degrees of freedom, is a chi-squared over its degrees of freedom where units vary independently.
    """
    n = int(residuals.shape[1])
    own = float(np.square(residuals).sum())
    if n < _FEWEST_RUNS or own <= 0.0:
        return np.ones(places.size)
    totals = residuals.sum(axis=0)
    earlier = np.cumsum(totals)[places - 1]
    later = totals.sum() - earlier
    within = np.maximum(np.square(totals).sum() - earlier**2 / places - later**2 / (n - places), 0.0)
    ratio = (within / (n - 2)) / (own / (n - 1))
    shown = ratio > 2.0 * float(special.gammainccinv((n - 2) / 2.0, _SHOWN)) / (n - 2)
    return np.where(shown, ratio, 1.0)


_Quadratic = tuple[float, float, float]


def _quadratic(residuals: FloatArray, steps: FloatArray, factors: FloatArray) -> _Quadratic:
    """Return the coefficients of u^2, 2 u and 1 in the sum of factors (residuals + u steps)^2."""
    return (
        float((factors * steps * steps).sum()),
        float((factors * residuals * steps).sum()),
        float((factors * residuals * residuals).sum()),
    )


def _ends(variance: _Quadratic, *, n: float, floor: float, square: float) -> tuple[float, float] | None:
    """Return the u = mean - true mean with n^2 u^2 <= square (variance at u + floor); None if all are."""
    of_square, cross, rest = variance
    lead = n * n - square * of_square
    if lead <= 0.0:
        return None
    middle, last = square * cross, square * (rest + floor)
    root = math.sqrt(middle * middle + lead * last)
    return (middle - root) / lead, (middle + root) / lead
