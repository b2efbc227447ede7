"""Whether a score that is measured again and again has changed: runs before a date against runs since, at every look.

References: Robbins 1970, doi:10.1214/aoms/1177696786, and Howard et al. 2021, doi:10.1214/20-AOS1991 (normal mixture); Shin,
Ramdas & Rinaldo 2024, arXiv:2203.03532 (one e-process for each possible change, weighted); Agresti & Min 2005,
doi:10.1002/sim.1781 (half a pair added to each cell).
"""

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from evalstats.errors import InputError
from evalstats.stats.checks import FloatArray, IntArray, as_codes, check_bound, check_count, check_level
from evalstats.stats.estimate import positive_p

FEWEST_UNITS = 10
# The mixture favours changes of three standard errors of a single run: what a run by itself would just show.
_TAU = 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
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
    """

    look: int
    since: int
    estimate: float
    n_units: int
    conf_low: float | None = None
    conf_high: float | None = None
    p_value: float | None = None

    @property
    def clear(self) -> bool:
        """Whether the interval excludes 0."""
        return self.conf_low is not None and self.conf_high is not None and not self.conf_low <= 0.0 <= self.conf_high


def weights_of(since: ArrayLike) -> FloatArray:
    """Return the share of the error that is spent on a change at these runs: 1/2, 1/6, 1/12, ..., which add up to 1.

    Examples
    --------
    >>> weights_of([1, 4]).tolist()
    [0.5, 0.05]
    """
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

    Parameters
    ----------
    scores
        Shape (n_items, n_runs), the runs in the order of their dates; NaN where a run has no score of the item.
    clusters
        Codes of groups of items that move together in a run; without them items do so independently.
    span
        Largest possible difference of two scores of an item (that of right or wrong is 1); it keeps an interval from having no
        width where no item differs.
    reference
        Compare all later runs with the first so many, and look for no other place of the change; None: every place.

    Returns
    -------
    tuple of Change
        At each look, in order, the change that shows most (the smallest p); none at looks where no item has a score on both
        sides.

    Raises
    ------
    InputError
        If the scores are no table of at least one run, or the reference leaves no run to compare.

    Notes
    -----
    For c runs before and m since, d is the item's mean since less its mean before. With V = sum of (d - mean)^2 over n units
    plus span^2 (1/c + 1/m)/2, the interval is mean +- k sqrt(V/(n (n - k^2))), with k the boundary of a normal mixture at
    information h = c m/(c + m): k^2 = (1 + 1/(9 h)) (2 log(1/a) + log(1 + 9 h)) and a = (1 - conf_level)/(c (c + 1)). It is the
    inversion of a score test, so that 0 is outside exactly where p <= 1 - conf_level. For given c the estimates at successive
    looks have independent increments on the scale of information, whether or not the mean moves, which is what the mixture
    needs; and the sum over c of a is 1 - conf_level. All but the normal law of a mean over items is exact.

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
        one = _clearest(
            counts[:, : look + 1], totals[:, : look + 1], starts, places, level=level, span=reach, shares=shares
        )
        if one is not None:
            found.append(one)
    return tuple(found)


def _clearest(
    counts: IntArray,
    totals: FloatArray,
    starts: IntArray,
    places: IntArray,
    *,
    level: float,
    span: float,
    shares: FloatArray,
) -> Change | None:
    """Return the change that shows most at the last of the runs; arrays are running counts and sums, items by cluster."""
    look = counts.shape[1] - 1
    before, after = counts[:, places - 1], counts[:, -1:] - counts[:, places - 1]
    both = (before > 0) & (after > 0)
    later = (totals[:, -1:] - totals[:, places - 1]) / np.maximum(after, 1)
    d = np.where(both, later - totals[:, places - 1] / np.maximum(before, 1), 0.0)
    n = both.sum(axis=0).astype(np.float64)
    if not n.any():
        return None
    alone = starts.size == both.shape[0]
    sums = d if alone else np.add.reduceat(d, starts, axis=0)
    sizes = both if alone else np.add.reduceat(both, starts, axis=0, dtype=np.int64)
    since = look + 1.0 - places
    information = _TAU**2 * places * since / (places + since)
    floor = span**2 * (1.0 / places + 1.0 / since) / 2.0
    square = np.square(sums.sum(axis=0)) / (np.square(sums).sum(axis=0) + floor)
    log_e = information * square / (2.0 * (1.0 + information)) - 0.5 * np.log1p(information) + np.log(shares)
    log_e = np.where(n > 0, log_e, -math.inf)
    best = int(np.argmax(log_e))
    own = sizes[:, best].astype(np.float64)
    units = int(np.count_nonzero(own))
    mean = float(sums[:, best].sum() / n[best])
    found = Change(look=look, since=int(places[best]), estimate=mean, n_units=units)
    if units < FEWEST_UNITS:
        return found
    boundary = (1.0 + 1.0 / information[best]) * (
        np.log1p(information[best]) - 2.0 * (math.log1p(-level) + math.log(shares[best]))
    )
    ends = _ends(sums[:, best] - mean * own, own, floor=float(floor[best]), square=float(boundary))
    if ends is None:
        return found
    p = positive_p(math.exp(-max(float(log_e[best]), 0.0)))
    return replace(found, conf_low=mean - ends[1], conf_high=mean - ends[0], p_value=p)


def _ends(residuals: FloatArray, sizes: FloatArray, *, floor: float, square: float) -> tuple[float, float] | None:
    """Return the u = mean - true mean with n^2 u^2 <= square (sum of (residual + size u)^2 + floor); None if all are."""
    n, cross = float(sizes.sum()), float(residuals @ sizes)
    lead = n * n - square * float(sizes @ sizes)
    if lead <= 0.0:
        return None
    middle, last = square * cross, square * (float(residuals @ residuals) + floor)
    root = math.sqrt(middle * middle + lead * last)
    return (middle - root) / lead, (middle + root) / lead
