"""Marginal means: what a model predicts for a level of a factor, averaged over the other factors.

For a logit model the probability is averaged over the population of units as well.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import reduce
from itertools import product
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy import optimize, special

from evalstats.errors import InputError
from evalstats.record import record
from evalstats.stats.checks import FloatArray, IntArray, check_level
from evalstats.stats.estimate import t_quantile
from evalstats.stats.mixed.contrasts import Adjustment, adjusted, as_linear, linear_estimates

Mix = Mapping[str, Mapping[str, float]]
Weights = Literal["equal", "observed"] | Mix

_ROUNDING = 1e-9
_WIDEST = 0.5  # step of the rule for small s: the error of the normal density alone is below 1e-30
_TO_POLE = math.pi * 2.0 * math.pi / 33.0  # exp(-33) = 5e-15 where the step is this over s
_TAIL = 9.0  # half-width in standard deviations: 2e-19 of the mass lies beyond
_MOST_NODES = 4_000
_HELD = 2_000_000
_STEP, _FINEST = 0.01, 0.0005


@record
class ReferenceGrid:
    """All combinations of factor levels, the last factor running fastest, and the row of fixed effects that predicts each.

    row @ beta is the prediction, with covariates at values that the caller chose; `count` are the observations (rows of data,
    binomial trials) in each combination.
    """

    factors: tuple[str, ...]
    levels: tuple[tuple[str, ...], ...]
    rows: FloatArray
    count: FloatArray


@record
class MarginalMeans:
    """Marginal means as weights over a grid, shape (n_means, n_grid), each row adding up to 1.

    `names` joins the levels of the factors that are kept by commas, the last factor running fastest; `codes`, shape
    (n_means, n_kept), numbers them. `rows` is weights @ grid.rows, for `linear_estimates`. `averaging` says in words what it is
    averaged over and how, `notes` what else a reader must know, such as a mix that did not add up to 1.
    """

    names: tuple[str, ...]
    codes: IntArray
    weights: FloatArray
    rows: FloatArray
    averaging: str
    notes: tuple[str, ...] = ()


def marginal_means(grid: ReferenceGrid, over: Sequence[str], weights: Weights = "equal") -> MarginalMeans:
    """Average the rows of a grid over every factor that is not named in `over`.

    `weights` are "equal": every combination of the other factors alike, an average over conditions; "observed": by how often a
    combination of the other factors occurs in the data, over all levels of `over` together, so that all means share one mix; or
    a mix of the user's: for a factor the share of each level, such as live traffic; factors without one count equally, and
    levels without one get 0. InputError for a mix of an unknown factor or level, or with negative shares.

    Searle, Speed & Milliken 1980, doi:10.1080/00031305.1980.10483031; Lenth, emmeans, weights "equal" and "proportional".

    >>> grid = ReferenceGrid(
    ...     factors=("model", "scenario"), levels=(("A", "B"), ("ideal", "rude")), rows=np.eye(4), count=np.ones(4)
    ... )
    >>> found = marginal_means(grid, ["model"], {"scenario": {"ideal": 3, "rude": 1}})
    >>> found.names, found.weights.tolist(), found.averaging
    (('A', 'B'), [[0.75, 0.25, 0.0, 0.0], [0.0, 0.0, 0.75, 0.25]], 'averaged over scenario (given mix)')
    """
    kept = [grid.factors.index(name) for name in over]
    others = [j for j in range(len(grid.factors)) if j not in kept]
    share, averaging, notes = _shares(grid, others, weights)
    sizes = [len(grid.levels[j]) for j in kept]
    n = math.prod(sizes)
    codes = np.stack(np.unravel_index(np.arange(n), sizes), axis=1).astype(np.int64)
    whole = np.multiply.outer(np.eye(n).reshape(n, *sizes), share)
    whole = np.moveaxis(whole, range(1, whole.ndim), [1 + j for j in (*kept, *others)]).reshape(n, -1)
    return MarginalMeans(
        names=tuple(", ".join(levels) for levels in product(*(grid.levels[j] for j in kept))),
        codes=codes,
        weights=whole,
        rows=whole @ grid.rows,
        averaging=averaging,
        notes=notes,
    )


def expanded(
    beta: FloatArray, covariance: FloatArray, kept: IntArray, n_coefficients: int
) -> tuple[FloatArray, FloatArray]:
    """Put estimates of the columns kept back among all columns; those dropped for collinearity get 0.

    With a basis of what the data say nothing about, `linear_estimates` then makes the rows null that need a dropped column,
    and all others are right, whichever columns were dropped.
    """
    whole, together = np.zeros(n_coefficients), np.zeros((n_coefficients, n_coefficients))
    whole[kept], together[np.ix_(kept, kept)] = beta, covariance
    return whole, together


def _shares(grid: ReferenceGrid, others: Sequence[int], weights: Weights) -> tuple[FloatArray, str, tuple[str, ...]]:
    """Return the share of every combination of the other factors, one axis each, how that is said, and notes."""
    names = [grid.factors[j] for j in others]

    def words(how: Mapping[str, str]) -> str:
        return "averaged over " + ", ".join(f"{name} ({how[name]})" for name in names) if names else "not averaged"

    if weights == "observed":
        count = grid.count.reshape([len(levels) for levels in grid.levels])
        count = count.sum(axis=tuple(j for j in range(count.ndim) if j not in others))
        return np.asarray(count / count.sum()), words(dict.fromkeys(names, "as observed")), ()
    if isinstance(weights, str) and weights != "equal":
        raise InputError(f"weights are {weights!r}; use 'equal', 'observed' or a mix such as {{'scenario': {{...}}}}")
    given: Mix = {} if weights == "equal" else weights
    wrong = [name for name in given if name not in names]
    if wrong:
        why = "is not averaged over" if wrong[0] in grid.factors else "is not in the grid"
        raise InputError(f"a mix is given for {wrong[0]!r}, which {why}; give mixes for {', '.join(names) or 'none'}")
    notes: list[str] = []
    single = [_one_factor(grid.levels[j], grid.factors[j], given.get(grid.factors[j]), notes) for j in others]
    how = {name: "given mix" if name in given else "equal weights" for name in names}
    return np.asarray(reduce(np.multiply.outer, single, np.ones(()))), words(how), tuple(notes)


def _one_factor(levels: Sequence[str], factor: str, mix: Mapping[str, float] | None, notes: list[str]) -> FloatArray:
    if mix is None:
        return np.full(len(levels), 1.0 / len(levels))
    unknown = [level for level in mix if level not in levels]
    if unknown:
        raise InputError(f"the mix of {factor} names {unknown[0]!r}; its levels are {', '.join(levels)}")
    share = np.array([float(mix.get(level, 0.0)) for level in levels])
    if not (np.isfinite(share).all() and (share >= 0.0).all() and share.any()):
        raise InputError(
            f"the mix of {factor} holds a share that is negative or no number, or all are 0; give shares from 0"
        )
    absent = [level for level in levels if level not in mix]
    if absent:
        notes.append(f"the mix of {factor} does not name {', '.join(absent)}: weight 0")
    total = float(share.sum())
    if abs(total - 1.0) > _ROUNDING:
        notes.append(f"the mix of {factor} adds up to {total:g} and is divided by that")
    return share / total


def averaged_expit(eta: ArrayLike, s: ArrayLike) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return p = E expit(eta + s T), T standard normal, with its derivatives in eta and in s.

    The probability of success averaged over a population whose log-odds are normal with mean eta and standard deviation s
    (Zeger, Liang & Albert 1988, doi:10.2307/2531734); eta and s are broadcast, and all three results have that shape, at least
    one-dimensional. InputError for NaN, infinite or negative s, or s above 50 or so: such a spread says that nothing was
    averaged.

    The trapezoid rule (Trefethen & Weideman 2014, doi:10.1137/130932132). The integrand is analytic up to the poles of the
    logistic function, pi/s from the real line, so the error falls as exp(-2 pi (pi/s) / step); Gauss-Hermite nodes grow too
    sparse for large s (at s = 10 it takes hundreds of nodes for six digits). Absolute error below 1e-12 for every s up to 50, and
    relative error about the same where p or 1 - p is small: for eta above 0 the rule is applied to 1 - p.
    """
    at, spread = np.broadcast_arrays(
        np.atleast_1d(np.asarray(eta, dtype=np.float64)), np.atleast_1d(np.asarray(s, dtype=np.float64))
    )
    if not (np.isfinite(at).all() and np.isfinite(spread).all() and (spread >= 0.0).all()):
        raise InputError("eta and s must be finite and s at least 0; leave out what was not estimated")
    shape, side = at.shape, np.where(at.ravel() > 0.0, -1.0, 1.0)
    low, width = -np.abs(at.ravel()), spread.ravel()
    p, by_eta, by_s = np.empty(low.size), np.empty(low.size), np.empty(low.size)
    nodes = _nodes(float(width.max(initial=0.0)))
    rows = max(1, _HELD // nodes.size)
    for start in range(0, low.size, rows):
        part = slice(start, start + rows)
        weight = np.exp(-0.5 * np.square(nodes)) * ((nodes[1] - nodes[0]) / math.sqrt(2.0 * math.pi))
        success = special.expit(low[part][:, np.newaxis] + width[part][:, np.newaxis] * nodes)
        slope = success * (1.0 - success)
        p[part], by_eta[part], by_s[part] = success @ weight, slope @ weight, slope @ (weight * nodes)
    p = np.where(side > 0.0, p, 1.0 - p)
    # For eta above 0 the mirror image was integrated: p(eta) = 1 - p(-eta), so only the derivative in s turns.
    return p.reshape(shape), by_eta.reshape(shape), (side * by_s).reshape(shape)


def _nodes(s: float) -> FloatArray:
    step = min(_WIDEST, _TO_POLE / max(s, 1e-300))
    # For eta far below 0 the integrand is about exp(eta + s t) times the density, centred at s at most.
    high = _TAIL + min(s, 30.0)
    if (high + _TAIL) / step > _MOST_NODES:
        raise InputError(
            f"the standard deviation of the random effects is {s:.3g} on the logit scale, too large to average over: "
            "nearly every unit always succeeds or always fails"
        )
    return np.arange(-math.ceil(_TAIL / step), math.ceil(high / step) + 1).astype(np.float64) * step


@record
class ProbabilityMeans:
    """Probabilities with intervals that stay between 0 and 1; null is NaN here and `reasons` says why.

    Each interval is formed on the logit of the estimate and holds on its own. `logit_covariance` is that of the logits by the
    delta method, for comparisons; `covariance` that of the estimates.
    """

    names: tuple[str, ...]
    estimate: FloatArray
    std_error: FloatArray
    conf_low: FloatArray
    conf_high: FloatArray
    conf_level: float
    logit: FloatArray
    logit_covariance: FloatArray
    covariance: FloatArray
    reasons: tuple[str | None, ...]
    warnings: tuple[str, ...] = ()


def random_effect_sd(factors: Sequence[FloatArray], values: Sequence[FloatArray]) -> tuple[FloatArray, FloatArray]:
    """Return the standard deviation of all random effects together at each row of a grid, and its derivatives.

    `factors` are the relative covariance factors of the terms of a binomial model (`MixedDesign.factors(theta)`), `values` for
    each term what its effects are multiplied by at each row, shape (n_rows, n_columns). s^2 is the sum over terms of z' L L' z;
    ds/dtheta has shape (n_rows, n_theta), and is given as 0 where s is.
    """
    square, columns = np.zeros(1), list[FloatArray]()
    for factor, z in zip(factors, values, strict=True):
        loads = z @ factor
        square = square + np.square(loads).sum(axis=1)
        of_column, of_row = np.triu_indices(len(factor))
        columns.append(z[:, of_row] * loads[:, of_column])
    s = np.sqrt(square)
    slopes = np.concatenate(columns, axis=1) if columns else np.zeros((1, 0))
    return s, slopes / np.where(s > 0.0, s, 1.0)[:, np.newaxis]


def population_means(
    rows: ArrayLike,
    beta: ArrayLike,
    sd: ArrayLike,
    covariance: ArrayLike,
    *,
    sd_jacobian: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    names: Sequence[str] | None = None,
    reasons: Sequence[str | None] | None = None,
    df: ArrayLike = np.inf,
    conf_level: float = 0.95,
) -> ProbabilityMeans:
    """Probability of success averaged over the units (items, users) that the random effects stand for.

    expit(eta) is the probability of a unit whose random effects are all 0, which is no average.
    p = sum_j w_j int expit(eta_j + s_j t) phi(t) dt, with derivatives in beta and theta under the integral; the delta method
    gives the covariance, and the interval is expit(logit(p) +- q se(logit p)), q a quantile of t.

    `rows`, shape (n_grid, n_fixed), are the fixed effects of each combination of levels; `sd` is the standard deviation of all
    random effects at each and `sd_jacobian` its derivative by theta (`random_effect_sd`). `covariance` is that of (theta, beta)
    together; or of beta alone, without `sd_jacobian`: `sd` is then taken as known, which a warning says. Probabilities are
    averaged with `weights`, shape (n_means, n_grid) and rows adding up to 1 (`MarginalMeans.weights`); by default every row of
    the grid is a mean. `reasons` say why a mean is null from the start. `df` are those of all means or one number a mean;
    infinite for the normal law.

    >>> found = population_means([[1.0]], [-1.4], [0.64], np.diag([0.03, 0.05]), sd_jacobian=[[1.0]])
    >>> found.estimate.round(3).tolist(), found.conf_low.round(3).tolist(), found.conf_high.round(3).tolist()
    ([0.216], [0.153], [0.296])
    """
    grid, b, joint = as_linear(rows, beta, covariance)
    n = len(grid)
    slopes = np.zeros((n, 0)) if sd_jacobian is None else np.asarray(sd_jacobian, dtype=np.float64)
    eta, spread = grid @ b, np.broadcast_to(np.asarray(sd, dtype=np.float64), (n,))
    p, by_eta, by_s = averaged_expit(eta, spread)
    failure, _, _ = averaged_expit(-eta, spread)
    mix = np.eye(n) if weights is None else np.asarray(weights, dtype=np.float64)
    gradient = mix @ np.hstack([by_s[:, np.newaxis] * slopes, by_eta[:, np.newaxis] * grid])
    # The complement is kept apart for means near 1.
    mean, complement, of_means = mix @ p, mix @ failure, gradient @ joint @ gradient.T
    level = check_level(conf_level)
    why: list[str | None] = [None] * len(mix) if reasons is None else list(reasons)
    given = np.array([reason is None for reason in why])
    variance = np.diagonal(of_means)
    with np.errstate(divide="ignore", invalid="ignore"):
        logit = np.where(given, np.log(mean) - np.log(complement), np.nan)
        slope = np.where(given, 1.0 / (mean * complement), np.nan)
    certain = given & ~(variance * np.square(slope) > 1e-20)
    for i in np.flatnonzero(certain):
        why[i] = "its standard error is 0: the model leaves it no uncertainty, or it is too near 0 or 1 to tell"
    open_ = given & ~certain
    free = np.broadcast_to(np.asarray(df, dtype=np.float64), (len(mix),))
    reach = np.array([t_quantile(level, each) for each in free.tolist()])
    half = reach * np.where(open_, np.sqrt(variance) * slope, np.nan)
    known = "the standard deviation of the random effects is taken as known"
    return ProbabilityMeans(
        names=tuple(f"mean {i}" for i in range(len(mix))) if names is None else tuple(names),
        estimate=np.where(given, mean, np.nan),
        std_error=np.where(open_, np.sqrt(variance), np.nan),
        conf_low=special.expit(logit - half),
        conf_high=special.expit(logit + half),
        conf_level=level,
        logit=logit,
        logit_covariance=slope[:, np.newaxis] * of_means * slope,
        covariance=of_means,
        reasons=tuple(why),
        warnings=(known,) if sd_jacobian is None else (),
    )


@record
class ProbabilityDifferences:
    """Differences of two averaged probabilities, first minus second; null is NaN here and `reasons` says why.

    Intervals lie within -1 and 1. `statistic` is z of the difference of logits, which is 0 exactly where the difference of
    probabilities is: an interval excludes 0 exactly where the p that goes with it (`p_value` without adjustment) is below
    1 - conf_level.
    """

    estimate: FloatArray
    std_error: FloatArray
    conf_low: FloatArray
    conf_high: FloatArray
    statistic: FloatArray
    p_value: FloatArray
    p_adjusted: FloatArray
    reasons: tuple[str | None, ...]
    warnings: tuple[str, ...] = ()


def probability_differences(
    means: ProbabilityMeans,
    first: Sequence[int],
    second: Sequence[int],
    *,
    method: Adjustment = "none",
    family: Sequence[str] | None = None,
    names: Sequence[str] | None = None,
    df: ArrayLike = np.inf,
) -> ProbabilityDifferences:
    """Differences mean[first] - mean[second], with intervals that stay between -1 and 1.

    `method` and `family` adjust within families, as in `adjusted`; the intervals then hold together. `df` is as in
    `population_means`, one number a difference.

    The two logits are taken as jointly normal, the scale on which that is nearest to the truth, and the interval ends are the
    quantiles of the difference of the two probabilities under that law, by integration (Mandel 2013,
    doi:10.1080/00031305.2013.783880). As the difference is below 0 exactly where that of the logits is, p is that of the Wald
    test of equal logits, and interval and p never disagree.

    >>> m = population_means(np.eye(2), [3.0, 1.0], [0.0, 0.0], 0.2 * np.eye(2))
    >>> d = probability_differences(m, [0], [1])
    >>> d.estimate.round(3).tolist(), d.conf_low.round(3).tolist(), d.conf_high.round(3).tolist()
    ([0.222], [0.073], [0.422])
    """
    i, j = np.asarray(first, dtype=np.int64), np.asarray(second, dtype=np.int64)
    eye = np.eye(len(means.names))
    logits = linear_estimates(
        eye[i] - eye[j],
        np.nan_to_num(means.logit),
        np.nan_to_num(means.logit_covariance),
        df=df,
        conf_level=means.conf_level,
        names=names,
    )
    null = [means.reasons[a] or means.reasons[b] for a, b in zip(first, second, strict=True)]
    if any(null):
        gone = np.array([reason is not None for reason in null])
        fields = ("estimate", "std_error", "df", "statistic", "p_value", "conf_low", "conf_high")
        blank = {name: np.where(gone, np.nan, getattr(logits, name)) for name in fields}
        logits = replace(logits, **blank, reasons=tuple(a or b for a, b in zip(null, logits.reasons, strict=True)))
    together = adjusted(logits, method, family=family)
    z = (together.conf_high - logits.estimate) / logits.std_error
    variance = np.diagonal(means.covariance)
    spread = variance[i] + variance[j] - 2.0 * means.covariance[i, j]
    low, high = np.full(i.size, np.nan), np.full(i.size, np.nan)
    open_ = np.isfinite(z)
    for at in np.flatnonzero(open_):
        pair = np.array([i[at], j[at]])
        low[at], high[at] = _quantiles(means.logit[pair], means.logit_covariance[np.ix_(pair, pair)], float(z[at]))
    return ProbabilityDifferences(
        estimate=means.estimate[i] - means.estimate[j],
        std_error=np.where(open_, np.sqrt(np.maximum(spread, 0.0)), np.nan),
        conf_low=low,
        conf_high=high,
        statistic=logits.statistic,
        p_value=logits.p_value,
        p_adjusted=together.p_adjusted,
        reasons=logits.reasons,
        warnings=(*means.warnings, *together.warnings),
    )


def _quantiles(logit: FloatArray, covariance: FloatArray, z: float) -> tuple[float, float]:
    """Return the quantiles Phi(-z) and Phi(z) of expit(X) - expit(Y), (X, Y) normal."""
    # X is integrated over, Y given X is in closed form; the one with the larger spread is X, the rest has more of its own.
    turned = covariance[1, 1] > covariance[0, 0]
    a, b = (1, 0) if turned else (0, 1)
    spread = np.sqrt(np.diagonal(covariance))
    rho = float(np.clip(covariance[0, 1] / (spread[0] * spread[1]), -1.0, 1.0))
    own = max(math.sqrt(1.0 - rho * rho), 2.0 * _FINEST)
    precise = min(_STEP, 0.5 * own)
    step = max(precise, _FINEST)
    u = np.arange(-math.ceil(_TAIL / step), math.ceil(_TAIL / step) + 1) * step
    weight = np.exp(-0.5 * u * u) * (step / math.sqrt(2.0 * math.pi))
    x = np.asarray(special.expit(logit[a] + spread[a] * u), dtype=np.float64)
    centre = np.asarray(logit[b] + rho * spread[b] * u, dtype=np.float64)

    def below(d: float) -> float:
        """P(expit(X) - expit(Y) <= d)."""
        # The probability of Y must reach x - d; the logits of 0 and 1 are infinite, as they should be.
        least = special.logit(np.minimum(np.maximum(x - d, 0.0), 1.0))
        reached = np.asarray(special.ndtr((centre - least) / (own * spread[b])), dtype=np.float64)
        return float(weight @ reached)

    def quantile(goal: float) -> float:
        return float(optimize.brentq(lambda d: below(d) - goal, -1.0, 1.0, xtol=1e-12))

    tail = float(special.ndtr(-z))
    low, high = quantile(tail), quantile(1.0 - tail)
    return (-high, -low) if turned else (low, high)
