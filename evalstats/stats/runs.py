"""Whole runs as a sample: how far they differ, from every cell, and what that adds to an interval for new runs.

With y_ir = item_i + run_r + noise_ir, the shift of a run moves all its items and does not average out over them. Its standard
deviation is known badly: two or three runs of each side leave two to four degrees of freedom. So it is neither tested nor added
as it is estimated, but integrated out: a half-Cauchy prior (Gelman 2006) times the likelihood of the sums of squares between
runs weighs a mixture of t laws with variances V_items + sigma^2 * reach. Nothing jumps, and nothing is drawn at random.

References: Gelman 2006, Bayesian Analysis 1:515, doi:10.1214/06-BA117A (half-Cauchy prior of a group's standard deviation);
Searle, Casella & McCulloch 1992, Variance Components, ch. 5 (sums of squares of unbalanced tables); Trefethen & Weideman 2014,
SIAM Review 56:385, doi:10.1137/130932132 (the trapezoid rule over the logarithm).
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
import numpy.typing as npt
from numpy.typing import ArrayLike
from scipy import special

from evalstats.errors import InputError
from evalstats.record import record
from evalstats.stats.checks import FloatArray
from evalstats.stats.estimate import SMALLEST_P, IntervalEstimate, positive_p, t_quantile

# The prior's scale as a share of the score's range, and of the spread of scores without one: that of right and wrong
# answers in equal parts is half their range.
SHARE_OF_RANGE, SHARE_OF_SD = 0.01, 0.02

_ROUNDING = 1e-12
# Nodes lie so far apart on the scale of log sigma, and reach so far beyond the prior's scale and what the runs show.
_STEP, _BEYOND = 0.1, 1e4
_STEPS = 200
# Degrees of freedom of a normal law.
_NORMAL = 1e9

_Value = TypeVar("_Value", bound=np.generic)


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


def as_blocks(scores: ArrayLike | ScoreBlocks, what: str = "scores") -> ScoreBlocks:
    """Return scores as blocks; those that are blocks already have been looked at by who cut them."""
    if isinstance(scores, ScoreBlocks):
        return scores
    y = np.asarray(scores, dtype=np.float64)
    if y.ndim != 2 or y.shape[1] < 1:
        raise InputError(f"{what} have shape {y.shape}; give one row per item and one column per run")
    if np.isinf(y).any():
        raise InputError(f"{int(np.isinf(y).sum())} of {y.size} {what} are infinite; leave them out as NaN")
    return ScoreBlocks(y.shape[0], y.shape[1], lambda: iter([y]))


@record
class RunEffects:
    """What the scores of one side (or its differences from another, run by run) tell of how far whole runs differ.

    Attributes
    ----------
    n_runs
        Runs with a score.
    reach
        Sum of the squared weights of the runs in the mean: a run standard deviation of sigma adds sigma^2 * reach to its
        variance. 1/K for K runs without gaps.
    squares, information
        Orthogonal squares between runs, adjusted for items, and what each has of the runs' variance: square j is distributed as
        (noise + information_j sigma^2) chi^2_1. None where no item is in two runs.
    noise, df_noise
        Mean square of what items and runs leave, and its degrees of freedom.
    spread
        Standard deviation of all scores.
    """

    n_runs: int
    reach: float
    squares: FloatArray
    information: FloatArray
    noise: float
    df_noise: int
    spread: float

    def log_likelihood(self, sd: FloatArray) -> FloatArray:
        """Log-likelihood of run standard deviations given the squares between runs, up to a constant."""
        variance = self.noise + np.square(sd)[:, np.newaxis] * self.information
        return -0.5 * np.sum(np.log(variance) + self.squares / variance, axis=1)


def run_effects(
    scores: ArrayLike | ScoreBlocks, *, weights: ArrayLike | None = None, difference: bool = False
) -> RunEffects:
    """Reduce the cells of one side to what they tell of its runs; gaps (NaN) are allowed.

    `scores` have shape (n_items, n_runs); `weights`, shape (n_items,), are those of the items in the mean. With `difference` the
    scores are differences of two sides that share their runs, each of which carries the shifts of both: 2 sigma^2.

    Notes
    -----
    Least squares of items and runs: with n_ir = 1 where there is a score, K_i = sum_r n_ir and rest_ir = y_ir - mean_i, the runs
    have the equations C b = q, C = diag(sum_i n_ir) - sum_i n_i n_i'/K_i, q_r = sum_i n_ir rest_ir. For b ~ N(0, sigma^2 I) q has
    variance noise C + sigma^2 C^2, so along the eigenvectors u_j of C, with eigenvalues c_j, (u_j'q)^2/c_j ~ (noise + c_j
    sigma^2) chi^2_1, one apart from the other. In a table without gaps every c_j is the number of items. An item in one run alone
    says nothing of the runs, and weighs in the mean all the same.

    Examples
    --------
    >>> r = run_effects([[0.0, 1.0], [1.0, 2.0], [0.0, 3.0]])
    >>> r.reach, r.information.round(6).tolist(), r.squares.round(4).tolist(), round(r.noise, 4)
    (0.5, [3.0], [4.1667], 0.6667)
    """
    blocks = as_blocks(scores)
    w = np.ones(blocks.n_items) if weights is None else np.asarray(weights, dtype=np.float64)
    k = blocks.n_runs
    cross, q, coefficient = np.zeros((k, k)), np.zeros(k), np.zeros(k)
    per_run, within, total, squared, largest, n_items, mass = np.zeros(k), 0.0, 0.0, 0.0, 0.0, 0, 0.0
    for block, own in blocks.cut(w):
        there = ~np.isnan(block)
        held = there.any(axis=1)
        y, n = np.where(there, block, 0.0)[held], there[held].astype(np.float64)
        per_item = n.sum(axis=1, keepdims=True)
        rest = n * (y - y.sum(axis=1, keepdims=True) / per_item)
        share = n / per_item
        cross += n.T @ share
        q += rest.sum(axis=0)
        per_run += n.sum(axis=0)
        coefficient += own[held] @ share
        mass += float(own[held].sum())
        within += float(np.square(rest).sum())
        total, squared = total + float(y.sum()), squared + float(np.square(y).sum())
        largest, n_items = max(largest, float(np.abs(y).max(initial=0.0))), n_items + len(y)
    cells = float(per_run.sum())
    values, vectors = np.linalg.eigh(np.diag(per_run) - cross)
    known = values > 1e-9 * max(1.0, cells)
    squares = np.square(vectors[:, known].T @ q) / values[known]
    df = int(cells) - n_items - int(known.sum())
    rounding = (_ROUNDING * largest) ** 2 * max(cells, 1.0)
    left = within - float(squares.sum())
    shifts = 2.0 if difference else 1.0
    variance = squared / cells - (total / cells) ** 2 if cells else 0.0
    return RunEffects(
        n_runs=int((per_run > 0).sum()),
        reach=shifts * float(np.square(coefficient / mass).sum()) if mass else 0.0,
        squares=np.where(squares > rounding, squares, 0.0),
        information=shifts * values[known],
        noise=left / df if df > 0 and left > rounding else 0.0,
        df_noise=max(df, 0),
        spread=math.sqrt(max(variance, 0.0)),
    )


def equal_runs_p(sides: Sequence[RunEffects]) -> float | None:
    """P of "runs differ by the noise of single answers only": the F test, over all sides; None where there is no noise.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y = rng.normal(size=(200, 1)) + rng.normal(size=(200, 3))
    >>> equal_runs_p([run_effects(y)]) > 0.05, equal_runs_p([run_effects(y + [0.0, 0.0, 0.5])]) < 0.001
    (True, True)
    """
    between = sum(side.squares.size for side in sides)
    df = sum(side.df_noise for side in sides)
    noise = sum(side.df_noise * side.noise for side in sides)
    if not between or not df or noise <= 0.0:
        return None
    f = sum(float(side.squares.sum()) for side in sides) / between / (noise / df)
    return positive_p(float(special.fdtrc(between, df, f)))


@record
class RunSd:
    """What is known of the run standard deviation before the runs are looked at, in score units.

    `value` is the scale of a half-Cauchy prior or, where it is `known`, the standard deviation itself.
    """

    value: float
    known: bool = False

    def __post_init__(self) -> None:
        if not (math.isfinite(self.value) and (self.value > 0.0 or (self.known and self.value == 0.0))):
            raise InputError(f"a run standard deviation is a positive number, not {self.value:g}")


@record
class RunSpread:
    """The run standard deviation given the runs, as nodes with weights, and the variance that a run's unit adds.

    `sd`, `weight`: shape (n_nodes,), ascending; the weights sum to 1. `reach` is that of all sides together.
    """

    n_runs: tuple[int, ...]
    reach: float
    sd: FloatArray
    weight: FloatArray
    known: bool = False

    @property
    def median(self) -> float:
        """The median of the run standard deviation, in the unit of the scores."""
        below = np.cumsum(self.weight) - 0.5 * self.weight
        return float(np.interp(0.5, below, self.sd))

    @property
    def middle_variance(self) -> float:
        """What runs add to the variance of the estimate, at the median run standard deviation."""
        return self.median**2 * self.reach

    def p_value(self, distance: float, std_error: float, df: float) -> float:
        """Two-sided p of an estimate so far from the hypothesis: p < alpha where the interval at 1 - alpha excludes it."""
        given = (np.array([each]) for each in (distance, np.square(self.sd) * self.reach, self.weight, std_error, df))
        return float(mixture_p(*given)[0])

    def half_width(self, std_error: float, df: float, conf_level: float) -> float:
        """Half the width of the interval: the root of the mixture of t laws."""
        variances = np.square(self.sd)[np.newaxis] * self.reach
        return float(
            half_widths(variances, self.weight[np.newaxis], np.array([std_error]), np.array([df]), conf_level)[0]
        )


def run_spread(*sides: RunEffects, prior: RunSd) -> RunSpread | None:
    """Weigh run standard deviations by the prior and by what the sides' runs show; None where these show nothing.

    A standard deviation that is known needs no runs to show it. The sides have one in common.

    Notes
    -----
    For a half-Cauchy of scale a the density of log sigma is proportional to sigma/(1 + (sigma/a)^2); it is summed by the
    trapezoid rule between 1/10,000 of the smaller and 10,000 times the larger of the prior's scale and what the runs show. Many
    runs make the likelihood narrow, and the steps with it.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y = rng.normal(size=(500, 1)) + [-0.3, 0.0, 0.4] + 0.5 * rng.normal(size=(500, 3))
    >>> r = run_spread(run_effects(y), prior=RunSd(value=0.01))
    >>> r.n_runs, round(r.reach, 4), 0.2 < r.median < 0.5
    ((3,), 0.3333, True)
    """
    n_runs, reach = tuple(side.n_runs for side in sides), sum(side.reach for side in sides)
    if prior.known:
        one = np.array([prior.value]), np.ones(1)
        return RunSpread(n_runs=n_runs, reach=reach, sd=one[0], weight=one[1], known=True)
    if not sum(side.squares.size for side in sides):
        return None
    sd = _nodes(sides, prior.value)
    likelihood = np.sum([side.log_likelihood(sd) for side in sides], axis=0)
    return RunSpread(n_runs=n_runs, reach=reach, sd=sd, weight=_weights(likelihood, sd, prior.value))


def _nodes(sides: Sequence[RunEffects], scale: float) -> FloatArray:
    """Return run standard deviations, evenly spaced by their logarithm."""
    # Their sum, since of runs that tell equally much the single squares depend on which axes the machine took.
    shown = [math.sqrt(float((side.squares / side.information).sum())) for side in sides if side.squares.size]
    seen = max(1e-4 * scale, *shown)
    step = min(_STEP, 1.0 / math.sqrt(sum(side.squares.size for side in sides)))
    low, high = math.log(min(scale, seen) / _BEYOND), math.log(max(scale, seen) * _BEYOND)
    # Rounding must not decide how many there are, where the step fits all but exactly.
    return np.exp(np.linspace(low, high, 1 + math.ceil((high - low) / step - 1e-9)))


def pair_mixtures(pairs: Sequence[Sequence[RunEffects]], *, prior: RunSd) -> tuple[FloatArray, FloatArray]:
    """Return what runs add to the variance of every pair at each node, and the nodes' weights, shape (n_pairs, n_nodes) each."""
    reach = np.array([sum(side.reach for side in pair) for pair in pairs])[:, np.newaxis]
    if prior.known:
        return prior.value**2 * reach, np.ones_like(reach)
    sides = list({id(side): side for pair in pairs for side in pair}.values())
    sd = _nodes(sides, prior.value)
    place = {id(side): side.log_likelihood(sd) for side in sides}
    log_weight = np.stack([np.sum([place[id(side)] for side in pair], axis=0) for pair in pairs])
    return np.square(sd) * reach, _weights(log_weight, sd, prior.value)


def _weights(log_likelihood: FloatArray, sd: FloatArray, scale: float) -> FloatArray:
    """Return the weights of nodes that are evenly spaced by their logarithm, from the last axis of a log-likelihood."""
    log_weight = log_likelihood + np.log(sd) - np.log1p(np.square(sd / scale))
    weight = np.exp(log_weight - log_weight.max(axis=-1, keepdims=True))
    return weight / weight.sum(axis=-1, keepdims=True)


def mixture_p(
    estimate: FloatArray, variances: FloatArray, weights: FloatArray, std_error: FloatArray, df: FloatArray
) -> FloatArray:
    """Return the two-sided p that belongs to each interval of `half_widths`."""
    scale = np.sqrt(np.square(std_error)[:, np.newaxis] + variances)
    tails = special.stdtr(df[:, np.newaxis], -np.abs(estimate)[:, np.newaxis] / scale)
    return np.asarray(np.clip(2.0 * np.sum(weights * tails, axis=1), SMALLEST_P, 1.0), dtype=np.float64)


def t_quantiles(conf_level: float, df: FloatArray) -> FloatArray:
    """Return q with P(|T| <= q) = conf_level for each of some degrees of freedom."""
    return np.asarray(-special.stdtrit(df, (1.0 - conf_level) / 2.0), dtype=np.float64)


def half_widths(
    variances: FloatArray, weights: FloatArray, std_error: FloatArray, df: FloatArray, conf_level: float
) -> FloatArray:
    """Return half the width of each interval from a mixture of t laws.

    `variances` (what the runs add) and `weights` have shape (n_estimates, n_nodes), `std_error` and `df` of the items
    (n_estimates,).

    Notes
    -----
    The tail of a mixture falls and is convex, so that Newton's steps from the half-width without runs, where it is too large,
    climb to the root and never pass it.
    """
    tail = 0.5 * (1.0 - conf_level)
    scale = np.sqrt(np.maximum(np.square(std_error)[:, np.newaxis] + variances, np.finfo(np.float64).tiny))
    half: FloatArray = t_quantiles(conf_level, df) * std_error
    nu = df[:, np.newaxis]
    constant = np.exp(special.gammaln((nu + 1) / 2) - special.gammaln(nu / 2)) / np.sqrt(nu * np.pi)
    for _ in range(_STEPS):
        t = half[:, np.newaxis] / scale
        excess = np.sum(weights * special.stdtr(nu, -t), axis=1) - tail
        slope = np.sum(weights * constant * np.exp(-(nu + 1) / 2 * np.log1p(np.square(t) / nu)) / scale, axis=1)
        move = np.maximum(excess, 0.0) / slope
        half = np.asarray(half + move, dtype=np.float64)
        if not np.any(move > 1e-13 * half):
            break
    return half


def with_runs(
    estimate: IntervalEstimate, runs: RunSpread | None, *, low: float | None = None, high: float | None = None
) -> IntervalEstimate:
    """Return an estimate for new items as one for new items and new runs, clipped to the ends of the scale.

    For a t, augmented t or CR2 estimate, or a Wilson one.

    Notes
    -----
    The law is the mixture over the run standard deviation of t laws with the items' degrees of freedom and variance SE_items^2 +
    sigma^2 reach. An estimate with a test keeps the centre of its test, so that p < 1 - conf_level where the interval excludes
    0. Without one, either end moves out as an interval would whose half-width it was: Wilson's stays asymmetric. `std_error` is
    the half-width over the t quantile.

    Examples
    --------
    >>> from evalstats.stats.paired.means import paired_t
    >>> plain = paired_t([0.3, 0.1, 0.4, -0.1, 0.2])
    >>> known = RunSpread(n_runs=(3, 3), reach=2 / 3, sd=np.array([0.1]), weight=np.ones(1))
    >>> wide = with_runs(plain, known)
    >>> round(plain.conf_low, 3), round(wide.conf_low, 3), wide.method
    (-0.059, -0.149, 'paired t, runs counted')
    """
    if runs is None or estimate.conf_low is None or estimate.conf_high is None:
        return estimate
    df, level = estimate.df or _NORMAL, estimate.conf_level
    quantile = t_quantile(level, df)
    p_value = statistic = None
    if estimate.statistic is not None and estimate.std_error is not None:
        centre = estimate.statistic * estimate.std_error
        half = runs.half_width(estimate.std_error, df, level)
        ends = centre - half, centre + half
        std_error = half / quantile
        statistic = centre / std_error
        p_value = runs.p_value(centre, estimate.std_error, df)
    else:
        before = [abs(end - estimate.estimate) / quantile for end in (estimate.conf_low, estimate.conf_high)]
        moved = [runs.half_width(each, df, level) for each in before]
        ends = estimate.estimate - moved[0], estimate.estimate + moved[1]
        std_error = runs.half_width(estimate.std_error or 0.0, df, level) / quantile
    return replace(
        estimate,
        method=f"{estimate.method}, runs counted",
        std_error=std_error,
        conf_low=ends[0] if low is None else max(low, ends[0]),
        conf_high=ends[1] if high is None else min(high, ends[1]),
        statistic=statistic,
        p_value=p_value,
    )
