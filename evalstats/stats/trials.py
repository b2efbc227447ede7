"""Several trials or full runs: pass@k and pass^k, whether whole runs differ, and intervals for new runs.

References: Searle, Casella & McCulloch 1992, Variance Components, ch. 4; Satterthwaite 1946, doi:10.2307/3002019; Miller
2024, arXiv:2411.00640; Chen et al. 2021, arXiv:2107.03374 (pass@k); Yao et al. 2024, arXiv:2406.12045 (pass^k).
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeVar

import numpy as np
import numpy.typing as npt
from numpy.typing import ArrayLike
from scipy import special

from evalstats.errors import InputError
from evalstats.stats.checks import FloatArray, check_count, check_level, few_items
from evalstats.stats.estimate import Estimate, positive_p, t_estimate, t_quantile, two_sided_t_p
from evalstats.stats.one_sample import variance_matched_wilson

# Run-to-run variation is estimated where all sides together leave so many degrees of freedom for it.
_FEWEST_DF = 2

_ROUNDING = 1e-12

_Value = TypeVar("_Value", bound=np.generic)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunVariance:
    """How much whole runs differ beyond the noise of single trials, and what that adds to the variance of a mean.

    Attributes
    ----------
    variance
        What is added to the squared standard error of the mean or the difference, squared score units; 0 where the
        run means differ by no more than the noise of trials explains, None where it cannot be estimated.
    raw
        The same before it is cut off at 0, for one side with 2 runs too; 0 for one with a single run.
    slack, always
        Sum of (var(run means)/K)^2/(K - 1) over the sides: its place in Satterthwaite's degrees of freedom. Whether these count
        where `variance` is 0 too.
    n_runs, run_means
        Of every side: one for a single model or for shared trials; baseline, then candidate for two.
    run_sd, noise_sd
        Standard deviation of the runs' true means, and that of a run's mean which the noise of trials explains, one per side;
        None for a side with one run.
    f_statistic, df_runs, df_noise, p_value
        Variance of the run means over what noise explains; P of "runs differ by the noise of trials only".
    reason
        Why there is no estimate, or no test of the runs.
    """

    variance: float | None
    n_runs: tuple[int, ...]
    raw: float = 0.0
    slack: float = 0.0
    always: bool = False
    run_means: tuple[tuple[float, ...], ...] = ()
    run_sd: tuple[float | None, ...] = ()
    noise_sd: tuple[float | None, ...] = ()
    f_statistic: float | None = None
    df_runs: float | None = None
    df_noise: float | None = None
    p_value: float | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class ScoreBlocks:
    """Scores of items (rows) in runs (columns), NaN where there is none, some items at a time: all of them need not be held.

    `blocks` begins anew whenever it is called, and gives arrays with `n_runs` columns and `n_items` rows in all.
    """

    n_items: int
    n_runs: int
    blocks: Callable[[], Iterator[FloatArray]]

    def __iter__(self) -> Iterator[FloatArray]:
        return self.blocks()

    def cut(self, values: npt.NDArray[_Value]) -> Iterator[tuple[FloatArray, npt.NDArray[_Value]]]:
        """Yield the blocks, each with the values of its items."""
        first = 0
        for block in self:
            yield block, values[first : first + len(block)]
            first += len(block)

    def only(self, items: npt.NDArray[np.bool_], runs: npt.NDArray[np.int64]) -> "ScoreBlocks":
        """Keep some items and some runs."""

        def blocks() -> Iterator[FloatArray]:
            return (block[np.ix_(np.flatnonzero(kept), runs)] for block, kept in self.cut(items))

        return ScoreBlocks(int(items.sum()), len(runs), blocks)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Side:
    """The runs of one model; variances of a run's mean: seen among the runs, and explained by noise."""

    run_means: FloatArray
    seen: float
    noise: float
    df_noise: int

    @property
    def n_runs(self) -> int:
        return self.run_means.size


def run_variance(*sides: ArrayLike | ScoreBlocks, weights: Sequence[ArrayLike] | None = None) -> RunVariance:
    """Estimate how much whole runs differ as a whole, from the scores of every side's items in every run.

    The trials of one run share a seed, a server, a build of the prompts and a judge. If these move all items together,
    averaging over items does not average them out, and an interval from item means alone is too short.

    Parameters
    ----------
    *sides
        float64 arrays, shape (n_items, n_runs) each, or blocks of them: one score per item and run, none missing. One for a
        single model; two for a difference of models whose runs have nothing in common; for trials that both models share (the
        k-th is the same judge or seed), one, of the differences. Sides may have other items and other numbers of runs.
    weights
        For every side the weights of its items in the mean, shape (n_items,), where they do not count alike.

    Raises
    ------
    InputError
        Missing scores (leave out items that a run lacks), one item, or another shape.

    Notes
    -----
    With y_ir = item_i + run_r + noise_ir, s_run^2 = var(run means) - MS/n, where MS is the mean square of
    y_ir - mean_i - mean_r + mean on (n - 1)(K - 1) degrees of freedom. `variance` is the sum of s_run^2/K over the sides,
    cut off at 0; F is sum (K_m - 1) var_m over sum (K_m - 1) MS_m/n. With weights w that sum to 1, MS/n becomes
    sum_i w_i^2 sum_r rest_ir^2/(K - 1)/(1 - sum w_i^2), which equal weights leave as it is.

    Where the sides leave fewer than 2 degrees of freedom (one run each; 2 shared trials) there is no estimate, and `reason`
    says so. A side with one run adds nothing.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> items, runs = rng.normal(size=(500, 1)), np.array([-0.3, 0.0, 0.4])
    >>> r = run_variance(items + runs + 0.5 * rng.normal(size=(500, 3)))
    >>> round(r.run_sd[0], 2), r.p_value < 0.001
    (0.38, True)
    """
    given = [None] * len(sides) if weights is None else weights
    parts = [_side(_checked(side, "scores"), w) for side, w in zip(sides, given, strict=True)]
    n_runs = tuple(part.n_runs for part in parts)
    run_means = tuple(tuple(part.run_means.tolist()) for part in parts)
    noise_sd = tuple(math.sqrt(part.noise) if part.n_runs > 1 else None for part in parts)
    several = [part for part in parts if part.n_runs > 1]
    raw = sum((part.seen - part.noise) / part.n_runs for part in several)
    slack = sum((part.seen / part.n_runs) ** 2 / (part.n_runs - 1) for part in several)
    found = RunVariance(variance=None, raw=raw, slack=slack, n_runs=n_runs, run_means=run_means, noise_sd=noise_sd)
    if sum(n_runs) - len(n_runs) < _FEWEST_DF:
        return replace(found, reason=_too_few_runs(n_runs))
    found = replace(
        found,
        variance=max(0.0, raw),
        # With 2 degrees of freedom an estimate is cut off at 0 too often for a normal law to do.
        always=len(several) == 1 and several[0].n_runs - 1 == _FEWEST_DF,
        run_sd=tuple(math.sqrt(max(0.0, part.seen - part.noise)) if part.n_runs > 1 else None for part in parts),
    )
    return _tested(several, found)


def shared_run_variances(scores: ArrayLike, *, weights: ArrayLike | None = None) -> tuple[FloatArray, FloatArray]:
    """Estimate `variance` and `slack` for the difference of every two models that share their trials, (n_models, n_models) each.

    `scores` have shape (n_items, n_trials, n_models), none missing, 3 trials or more; `weights` are those of the items.
    """
    y = np.asarray(scores, dtype=np.float64)
    n, trials, models = y.shape
    w = np.full(n, 1.0 / n) if weights is None else np.asarray(weights, dtype=np.float64)
    w = w / w.sum()
    means = np.einsum("i,ikm->km", w, y)
    rest = y - y.mean(axis=1, keepdims=True) - means + means.mean(axis=0)
    rest = (rest * w[:, np.newaxis, np.newaxis]).reshape(n * trials, models)
    spread = means - means.mean(axis=0)
    seen = _of_differences(spread.T @ spread) / (trials - 1)
    noise = _of_differences(rest.T @ rest) / (trials - 1) / (1.0 - float(np.square(w).sum()))
    return np.maximum(seen - noise, 0.0) / trials, np.square(seen / trials) / (trials - 1)


def _of_differences(products: FloatArray) -> FloatArray:
    """Return squares of the differences of columns from their products."""
    own = np.diagonal(products)
    return np.maximum(own[:, np.newaxis] + own - 2.0 * products, 0.0)


def with_runs(
    estimate: Estimate, runs: RunVariance, *, low: float | None = None, high: float | None = None
) -> Estimate:
    """Return an estimate for new items as one for new items and new runs, clipped to the ends of the scale.

    For a t, augmented t or CR2 estimate, or a variance-matched Wilson one.

    Notes
    -----
    SE^2 = SE_items^2 + variance, on SE^4/(SE_items^4/df + slack) degrees of freedom (Satterthwaite), at most `df`. An
    estimate with a test keeps the centre of its test, so that p < 1 - conf_level where the interval excludes 0. Without
    one, either end moves out so that ((end - estimate)/t)^2 grows by `variance`: Wilson's interval stays asymmetric.

    Examples
    --------
    >>> from evalstats.stats.paired.means import paired_t
    >>> plain = paired_t([0.3, 0.1, 0.4, -0.1, 0.2])
    >>> wide = with_runs(plain, RunVariance(variance=0.01, n_runs=(3, 3), slack=0.0001))
    >>> round(plain.conf_low, 3), round(wide.conf_low, 3), wide.method
    (-0.059, -0.272, 'paired t, runs counted')
    """
    if runs.variance is None or estimate.std_error is None or estimate.df is None or estimate.conf_low is None:
        return estimate
    if estimate.conf_high is None or not (runs.variance or runs.always):
        return estimate
    squared = estimate.std_error**2
    total = squared + runs.variance
    df = min(estimate.df, total**2 / (squared**2 / estimate.df + runs.slack))
    std_error, quantile = math.sqrt(total), t_quantile(estimate.conf_level, df)
    p_value = statistic = None
    if estimate.statistic is not None:
        centre = estimate.statistic * estimate.std_error
        ends = centre - quantile * std_error, centre + quantile * std_error
        statistic = centre / std_error
        p_value = two_sided_t_p(statistic, df)
    else:
        before = t_quantile(estimate.conf_level, estimate.df)
        reach = [
            quantile * math.hypot((end - estimate.estimate) / before, math.sqrt(runs.variance))
            for end in (estimate.conf_low, estimate.conf_high)
        ]
        ends = estimate.estimate - reach[0], estimate.estimate + reach[1]
    return replace(
        estimate,
        method=f"{estimate.method}, runs counted",
        std_error=std_error,
        conf_low=ends[0] if low is None else max(low, ends[0]),
        conf_high=ends[1] if high is None else min(high, ends[1]),
        statistic=statistic,
        df=df,
        p_value=p_value,
    )


def same_items_difference(
    baseline: ArrayLike | ScoreBlocks, candidate: ArrayLike | ScoreBlocks, *, conf_level: float = 0.95
) -> Estimate:
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
    a, b = _checked(baseline, "baseline scores", least_items=1), _checked(candidate, "candidate scores", least_items=1)
    level, n = check_level(conf_level), a.n_items
    estimate, method = _mean(b) - _mean(a), "difference on these items, new trials"
    fewest = min(a.n_runs, b.n_runs)
    if fewest < 2:
        reason = "one trial an item: the noise of trials is unknown, so nothing can be said about new trials"
        return Estimate(estimate=estimate, method=method, conf_level=level, n=n, reason=reason)
    pieces = [np.concatenate([_noise_of_items(block) for block in y]) for y in (a, b)]
    variance = sum(float(piece.sum()) for piece in pieces) / n**2
    if variance == 0.0:
        reason = "every item has the same score in all its trials, so their noise is unknown"
        return Estimate(estimate=estimate, method=method, conf_level=level, n=n, reason=reason)
    squares = sum(float(np.square(piece).sum()) / (y.n_runs - 1) for piece, y in zip(pieces, (a, b), strict=True))
    df = variance**2 * n**4 / squares
    return t_estimate(estimate, math.sqrt(variance), df, level, method=method, n=n, warnings=few_items(n))


def _too_few_runs(n_runs: tuple[int, ...]) -> str:
    runs = " and ".join(str(runs) for runs in n_runs)
    what = "1 run" if n_runs == (1,) else f"{runs} runs"
    needed = "at least 2 of each side" if len(n_runs) > 1 else "at least 3"
    return f"run-to-run variation is not estimable from {what}; {needed} are needed"


def _tested(sides: list[_Side], found: RunVariance) -> RunVariance:
    """Add the F test of the runs."""
    df_runs = sum(side.n_runs - 1 for side in sides)
    noise = sum((side.n_runs - 1) * side.noise for side in sides)
    seen = sum((side.n_runs - 1) * side.seen for side in sides)
    if noise == 0.0:
        same = "the runs agree on every item" if seen == 0.0 else "the runs differ by the same amount on every item"
        return replace(found, reason=f"{same}: there is no noise of trials to compare them with")
    f, df_noise = seen / noise, sum(side.df_noise for side in sides)
    return replace(
        found,
        f_statistic=f,
        df_runs=float(df_runs),
        df_noise=float(df_noise),
        p_value=positive_p(float(special.fdtrc(df_runs, df_noise, f))),
    )


def _side(y: ScoreBlocks, weights: ArrayLike | None) -> _Side:
    n, runs = y.n_items, y.n_runs
    w = np.full(n, 1.0 / n) if weights is None else np.asarray(weights, dtype=np.float64)
    w = w / w.sum()
    run_means = np.sum([part @ block for block, part in y.cut(w)], axis=0)
    if runs < 2:
        return _Side(run_means=run_means, seen=0.0, noise=0.0, df_noise=0)
    squares, largest = np.empty(n), 0.0
    for block, rest_of_items in y.cut(squares):
        rest = block - block.mean(axis=1)[:, np.newaxis] - run_means + run_means.mean()
        rest_of_items[:] = np.square(rest).sum(axis=1)
        largest = max(largest, float(np.abs(block).max(initial=0.0)))
    rounding = (_ROUNDING * largest) ** 2
    noise = float(np.square(w) @ squares) / (runs - 1) / (1.0 - float(np.square(w).sum()))
    seen = float(run_means.var(ddof=1))
    return _Side(
        run_means=run_means,
        df_noise=(n - 1) * (runs - 1),
        seen=seen if seen > rounding else 0.0,
        noise=noise if float(squares.sum()) > rounding * n * runs else 0.0,
    )


def _mean(y: ScoreBlocks) -> float:
    return sum(float(block.sum()) for block in y) / (y.n_items * y.n_runs)


def _noise_of_items(y: FloatArray) -> FloatArray:
    """Return the variance of every item's mean over its trials, 0 where they differ by rounding."""
    variance = y.var(axis=1, ddof=1)
    rounding = (_ROUNDING * np.abs(y).max(axis=1)) ** 2
    return np.where(variance > rounding, variance, 0.0) / y.shape[1]


def _checked(scores: ArrayLike | ScoreBlocks, what: str, *, least_items: int = 2) -> ScoreBlocks:
    """Return scores as blocks; those that are blocks already have been looked at by who cut them."""
    if isinstance(scores, ScoreBlocks):
        return scores
    y = np.asarray(scores, dtype=np.float64)
    if y.ndim != 2:
        raise InputError(f"{what} have {y.ndim} dimensions; give one row per item and one column per run")
    if y.shape[0] < least_items or y.shape[1] < 1:
        message = (
            f"{what} have shape {y.shape}; at least {least_items} item{'s' * (least_items > 1)} and a run are needed"
        )
        raise InputError(message)
    wrong = int(np.count_nonzero(~np.isfinite(y)))
    if wrong:
        raise InputError(f"{wrong} of {y.size} {what} are NaN or infinite; leave out items that any run lacks")
    return ScoreBlocks(y.shape[0], y.shape[1], lambda: iter([y]))


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
) -> Estimate:
    """Mean of pass@k ("at": any of k succeeds) or pass^k ("hat": all of k succeed) over the items of a suite, with its interval.

    Notes
    -----
    The standard error is that of the items' values, which already carry the noise of the trials. The interval is the
    variance-matched Wilson at every number of items: against t it was as short and covered more in each of 30 simulated
    suites (n = 30, 100, 300); with pass^4 = .99 and 100 items t covers .90 and one suite in ten shows no failure, where
    t has no interval at all.

    Examples
    --------
    >>> r = suite_pass([8] * 12, [8, 8, 7, 8, 6, 8, 8, 3, 8, 8, 8, 5], 4, kind="hat")
    >>> round(r.estimate, 4), round(r.conf_low, 4), round(r.conf_high, 4)
    (0.7321, 0.4452, 0.903)
    """
    values = pass_at_k(n, c, k) if kind == "at" else pass_hat_k(n, c, k)
    plain = variance_matched_wilson(values, conf_level=conf_level, clusters=clusters)
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
