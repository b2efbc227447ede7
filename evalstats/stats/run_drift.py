"""Whether a run got better or worse while it went: scores in the order they came, against the other runs on the same items.

References: Ploberger & Krämer 1992, doi:10.2307/2951597 (CUSUM test with ordinary residuals); Rasch 1960, Probabilistic Models
for Some Intelligence and Attainment Tests.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from evalstats.errors import InputError
from evalstats.stats.checks import BoolArray, FloatArray, IntArray, as_codes
from evalstats.stats.estimate import positive_p
from evalstats.stats.many.pair_table import as_scores

FEWEST_RUNS = 3
_FEWEST_UNITS = 20
_CLEAR = 0.05
_SORTED = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
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

    Parameters
    ----------
    scores
        Shape (n_items, n_runs), NaN where a run has no score; at least three runs.
    order
        Shape (n_items, n_runs): when a run came to an item (place in the file, or time), NaN where unknown. Only the order
        counts; items of one run with the same time (a batch) are one unit.
    strata
        Codes of the items' categories, if any: what a run does in each category as a whole is taken out first, so that a run
        that is weak in what came last has no drift.

    Returns
    -------
    tuple of RunDrift
        The clear ones first, then the others in their order. None of runs with fewer than 20 units; of runs in whose order the
        other runs' scores drift (the items are sorted by difficulty, and a strong run's lead over weak ones changes
        with it); and of what is left when only two runs are, since nobody can tell which of two drifts.

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
