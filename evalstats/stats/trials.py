"""Several trials of an item: pass@k and pass^k, and the difference of two systems on these very items.

References: Satterthwaite 1946, doi:10.2307/3002019; Miller 2024, arXiv:2411.00640; Chen et al. 2021, arXiv:2107.03374
(pass@k); Yao et al. 2024, arXiv:2406.12045 (pass^k).
"""

import math
from dataclasses import replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from evalstats.errors import InputError
from evalstats.stats.checks import FloatArray, check_count, check_level, few_items
from evalstats.stats.estimate import IntervalEstimate, t_estimate
from evalstats.stats.one_sample import variance_matched_wilson, wilson
from evalstats.stats.runs import ScoreBlocks, as_blocks

_ROUNDING = 1e-12


def same_items_difference(
    baseline: ArrayLike | ScoreBlocks, candidate: ArrayLike | ScoreBlocks, *, conf_level: float = 0.95
) -> IntervalEstimate:
    """Difference of two models on these very items, with an interval for new trials only.

    Another estimand than the headline's: how the models differ on this finite benchmark, not on new items like these.
    The interval is shorter, since the items are no longer a sample. Trials must be independent: where whole runs differ
    it is too short. Scores have shapes (n_items, n_trials), for the same items in the same order.

    Notes
    -----
    SE^2 = sum_i (s_iA^2/K_A + s_iB^2/K_B)/n^2, with Satterthwaite df. With one trial the noise of trials is unknown: no
    interval, and `reason` says so.

    Examples
    --------
    >>> r = same_items_difference([[0, 1], [1, 1], [0, 0], [1, 0]], [[1, 1], [1, 1], [0, 1], [1, 1]])
    >>> r.estimate, round(r.std_error, 4), r.df
    (0.375, 0.2165, 3.0)
    """
    a, b = as_blocks(baseline, "baseline scores"), as_blocks(candidate, "candidate scores")
    level, n = check_level(conf_level), a.n_items
    estimate, method = _mean(b) - _mean(a), "difference on these items, new trials"
    fewest = min(a.n_runs, b.n_runs)
    if fewest < 2:
        reason = "one trial an item: the noise of trials is unknown, so nothing can be said about new trials"
        return IntervalEstimate(estimate=estimate, method=method, conf_level=level, n=n, reason=reason)
    pieces = [np.concatenate([_noise_of_items(block) for block in y]) for y in (a, b)]
    variance = sum(float(piece.sum()) for piece in pieces) / n**2
    if variance == 0.0:
        reason = "every item has the same score in all its trials, so their noise is unknown"
        return IntervalEstimate(estimate=estimate, method=method, conf_level=level, n=n, reason=reason)
    squares = sum(float(np.square(piece).sum()) / (y.n_runs - 1) for piece, y in zip(pieces, (a, b), strict=True))
    df = variance**2 * n**4 / squares
    return t_estimate(estimate, math.sqrt(variance), df, level, method=method, n=n, warnings=few_items(n))


def _mean(y: ScoreBlocks) -> float:
    return sum(float(block.sum()) for block in y) / (y.n_items * y.n_runs)


def _noise_of_items(y: FloatArray) -> FloatArray:
    """Return the variance of every item's mean over its trials, 0 where they differ by rounding."""
    variance = y.var(axis=1, ddof=1)
    rounding = (_ROUNDING * np.abs(y).max(axis=1)) ** 2
    return np.where(variance > rounding, variance, 0.0) / y.shape[1]


def pass_at_k(n: ArrayLike, c: ArrayLike, k: int) -> FloatArray:
    """Unbiased probability that at least one of k trials succeeds, per item: 1 - C(n - c, k)/C(n, k).

    `n` and `c` are trials and successes per item; k is at most the smallest n: leave out items with fewer. 1 - (1 - c/n)^k is
    biased downwards: with 3 of 10 right and k = 5 it gives .832 for .917.

    Examples
    --------
    >>> pass_at_k(10, 3, 5).round(4).tolist()
    [0.9167]
    """
    trials, right, k = _checked_counts(n, c, k)
    return 1.0 - _ratio_of_binomials(trials - right, trials, k)


def pass_hat_k(n: ArrayLike, c: ArrayLike, k: int) -> FloatArray:
    """Unbiased probability that all of k trials succeed, per item: C(c, k)/C(n, k), "pass^k". (c/n)^k is biased upwards.

    Examples
    --------
    >>> pass_hat_k([5, 8], [2, 6], 2).round(4).tolist()
    [0.1, 0.5357]
    """
    trials, right, k = _checked_counts(n, c, k)
    return _ratio_of_binomials(right, trials, k)


def suite_pass(
    n: ArrayLike,
    c: ArrayLike,
    k: int,
    *,
    kind: Literal["at", "hat"],
    conf_level: float = 0.95,
    clusters: ArrayLike | None = None,
) -> IntervalEstimate:
    """Mean of pass@k ("at": any of k succeeds) or pass^k ("hat": all of k succeed) over the items of a suite, with its interval.

    Notes
    -----
    The standard error is that of the items' values, which already carry the noise of the trials. Where every value is right or
    wrong, as with k of k trials, the interval is Wilson's; else the variance-matched one at every number of items: against t it
    was as short and covered more in each of 30 simulated suites (n = 30, 100, 300); with pass^4 = .99 and 100 items t covers
    .90 and one suite in ten shows no failure, where t has no interval at all.

    Examples
    --------
    >>> r = suite_pass([8] * 12, [8, 8, 7, 8, 6, 8, 8, 3, 8, 8, 8, 5], 4, kind="hat")
    >>> round(r.estimate, 4), round(r.conf_low, 4), round(r.conf_high, 4)
    (0.7321, 0.4452, 0.903)
    """
    values = pass_at_k(n, c, k) if kind == "at" else pass_hat_k(n, c, k)
    whole = k > 1 and bool(np.isin(values, (0.0, 1.0)).all())
    if whole and clusters is None:
        plain = wilson(int(values.sum()), len(values), conf_level=conf_level)
    else:
        n_rows = len(values) if whole else int(np.sum(n)) if k == 1 else None
        plain = variance_matched_wilson(values, conf_level=conf_level, clusters=clusters, n_rows=n_rows)
    name = f"pass@{k}" if kind == "at" else f"pass^{k}"
    return replace(plain, method=f"mean {name}, {plain.method}")


def _checked_counts(n: ArrayLike, c: ArrayLike, k: int) -> tuple[FloatArray, FloatArray, int]:
    trials, right = np.broadcast_arrays(np.atleast_1d(np.asarray(n)), np.atleast_1d(np.asarray(c)))
    trials, right = trials.astype(np.float64), right.astype(np.float64)
    k = check_count(k, "k", least=1)
    short = int(np.count_nonzero(trials < k))
    if short:
        raise InputError(f"{short} of {trials.size} items have fewer than k = {k} trials; leave them out by name")
    return trials, right, k


def _ratio_of_binomials(chosen: FloatArray, trials: FloatArray, k: int) -> FloatArray:
    """Return C(chosen, k)/C(trials, k) as a product, which neither overflows nor cancels."""
    ratio = np.ones_like(trials)
    for j in range(k):
        ratio *= np.maximum(chosen - j, 0.0) / (trials - j)
    return ratio
