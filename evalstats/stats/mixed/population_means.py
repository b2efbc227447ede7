"""Probabilities averaged over a population of units, from a logit model with random effects, and their differences."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike
from scipy import optimize, special

from evalstats.errors import InputError
from evalstats.stats.checks import FloatArray, IntArray, check_level
from evalstats.stats.estimate import normal_quantile
from evalstats.stats.mixed.contrasts import LinearEstimates, as_linear, linear_estimates, not_estimable
from evalstats.stats.mixed.families import Adjustment, adjusted

_WIDEST = 0.5  # step of the rule for small s: the error of the normal density alone is below 1e-30
_TO_POLE = math.pi * 2.0 * math.pi / 33.0  # exp(-33) = 5e-15 where the step is this over s
_TAIL = 9.0  # half-width in standard deviations: 2e-19 of the mass lies beyond
_MOST_NODES = 4_000
_HELD = 2_000_000
_STEP, _FINEST = 0.01, 0.0005


def averaged_expit(eta: ArrayLike, s: ArrayLike) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return p = E expit(eta + s T), T standard normal, with its derivatives in eta and in s.

    The probability of success averaged over a population whose log-odds are normal with mean eta and standard deviation s.

    Parameters
    ----------
    eta
        float64, logits.
    s
        float64, at least 0, of the shape of eta or broadcast with it.

    Returns
    -------
    tuple of numpy.ndarray
        p, dp/d eta, dp/ds, in the broadcast shape, at least one-dimensional.

    Notes
    -----
    The trapezoid rule. The integrand is analytic up to the poles of the logistic function, pi/s from the real line, so the
    error falls as exp(-2 pi (pi/s) / step); Gauss-Hermite nodes grow too sparse for large s (at s = 10 it takes hundreds of
    nodes for six digits). Absolute error below 1e-12 for every s up to 50, and relative error about the same where p or 1 - p
    is small: for eta above 0 the rule is applied to 1 - p.

    Raises
    ------
    InputError
        NaN, infinite or negative s, or s above 50 or so: such a spread of log-odds says that nothing was averaged.

    References
    ----------
    Trefethen & Weideman 2014, doi:10.1137/130932132 (the rule); Zeger, Liang & Albert 1988, doi:10.2307/2531734 (the mean).

    Examples
    --------
    >>> p, by_eta, by_s = averaged_expit(-1.3983, 0.6421)
    >>> p.round(4).tolist(), by_eta.round(4).tolist(), by_s.round(4).tolist()
    ([0.2161], [0.1585], [0.0512])
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
        p[part], by_eta[part], by_s[part] = _integrals(low[part], width[part], nodes)
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


def _integrals(eta: FloatArray, s: FloatArray, t: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    weight = np.exp(-0.5 * np.square(t)) * ((t[1] - t[0]) / math.sqrt(2.0 * math.pi))
    success = special.expit(eta[:, np.newaxis] + s[:, np.newaxis] * t)
    slope = success * (1.0 - success)
    return success @ weight, slope @ weight, slope @ (weight * t)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbabilityMeans:
    """Probabilities with intervals that stay between 0 and 1; null is NaN here and `reasons` says why.

    Attributes
    ----------
    estimate, std_error, conf_low, conf_high
        float64, shape (n_means,), proportions. Each interval is formed on the logit of the estimate and holds on its own.
    logit, logit_covariance
        Logits of the estimates and their covariance by the delta method: for comparisons.
    covariance
        Of the estimates, shape (n_means, n_means); `contrasts.linear_estimates` with weights over means as L takes it.
    method
        What the probabilities are, in words.
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
    method: str
    warnings: tuple[str, ...] = ()


def random_effect_sd(
    factors: Sequence[FloatArray], values: Sequence[ArrayLike], sigma: float = 1.0
) -> tuple[FloatArray, FloatArray]:
    """Return the standard deviation of all random effects together at each row of a grid, and its derivatives.

    Parameters
    ----------
    factors
        Lower-triangular relative covariance factors of the terms (`MixedDesign.factors(theta)`).
    values
        For each term what its effects are multiplied by at each row, shape (n_rows, n_columns): ones for an intercept.
    sigma
        Scale of the factors; 1 for the binomial family.

    Returns
    -------
    tuple of numpy.ndarray
        s, shape (n_rows,), with s^2 the sum over terms of sigma^2 z' L L' z; and ds/dtheta, shape (n_rows, n_theta), theta in
        the order of `MixedDesign.factors`. Where s is 0 the derivative is given as 0.

    Examples
    --------
    >>> s, by_theta = random_effect_sd([np.array([[0.6]]), np.array([[0.8]])], [np.ones((1, 1)), np.ones((1, 1))])
    >>> s.tolist(), by_theta.round(3).tolist()
    ([1.0], [[0.6, 0.8]])
    """
    if len(factors) != len(values):
        raise InputError(f"{len(factors)} covariance factors, but values for {len(values)} terms; give one each")
    square, columns = np.zeros(1), list[FloatArray]()
    for factor, given in zip(factors, values, strict=True):
        z = np.atleast_2d(np.asarray(given, dtype=np.float64))
        if factor.shape != (z.shape[1], z.shape[1]):
            raise InputError(
                f"a covariance factor of shape {factor.shape} has values of shape {z.shape}; they must fit"
            )
        loads = z @ factor
        square = square + np.square(loads).sum(axis=1)
        of_column, of_row = np.triu_indices(len(factor))
        columns.append(z[:, of_row] * loads[:, of_column])
    s = sigma * np.sqrt(square)
    slopes = np.concatenate(columns, axis=1) if columns else np.zeros((1, 0))
    return s, sigma**2 * slopes / np.where(s > 0.0, s, 1.0)[:, np.newaxis]


def population_means(
    rows: ArrayLike,
    beta: ArrayLike,
    sd: ArrayLike,
    *,
    joint_covariance: ArrayLike | None = None,
    sd_jacobian: ArrayLike | None = None,
    covariance: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    names: Sequence[str] | None = None,
    reasons: Sequence[str | None] | None = None,
    null_basis: FloatArray | None = None,
    conf_level: float = 0.95,
) -> ProbabilityMeans:
    """Probability of success averaged over the units (items, users) that the random effects stand for.

    expit(eta) is the probability of a unit whose random effects are all 0, which is no average: `conditional_means`.

    Parameters
    ----------
    rows
        float64, shape (n_grid, n_fixed): fixed effects of each combination of levels.
    beta
        Fixed effects, shape (n_fixed,).
    sd
        Standard deviation of all random effects at each row (`random_effect_sd`), shape (n_grid,), logits.
    joint_covariance, sd_jacobian
        Covariance of (theta, beta) together, and d sd/d theta, shape (n_grid, n_theta).
    covariance
        Covariance of beta alone, where there is no joint one, or a cluster-robust one is wanted; `sd` is then taken as known,
        which a warning says.
    weights
        float64, shape (n_means, n_grid), rows adding up to 1: probabilities are averaged with these
        (`means.MarginalMeans.weights`). By default every row of the grid is a mean.
    reasons
        Means that are null from the start (`means.MarginalMeans.reasons`).
    null_basis
        As in `contrasts.linear_estimates`: a mean that needs a row which cannot be estimated is null.

    Notes
    -----
    p = sum_j w_j int expit(eta_j + s_j t) phi(t) dt, with derivatives in beta and theta under the integral; the delta method
    gives the covariance, and the interval is expit(logit(p) +- z se(logit p)).

    References
    ----------
    Zeger, Liang & Albert 1988, doi:10.2307/2531734.

    Examples
    --------
    >>> found = population_means([[1.0]], [-1.4], [0.64], joint_covariance=np.diag([0.03, 0.05]), sd_jacobian=[[1.0]])
    >>> found.estimate.round(3).tolist(), found.conf_low.round(3).tolist(), found.conf_high.round(3).tolist()
    ([0.216], [0.153], [0.296])
    """
    grid, b, joint, warnings = _joint(rows, beta, joint_covariance, covariance)
    n_theta = joint.shape[0] - b.size
    slopes = np.zeros((len(grid), n_theta)) if sd_jacobian is None else np.asarray(sd_jacobian, dtype=np.float64)
    if slopes.shape != (len(grid), n_theta):
        if joint_covariance is not None:
            raise InputError(
                f"sd_jacobian has shape {slopes.shape}; expected ({len(grid)}, {n_theta}), as joint_covariance has it"
            )
        slopes = np.zeros((len(grid), n_theta))
    if joint_covariance is not None and sd_jacobian is None and n_theta:
        raise InputError("joint_covariance is given without sd_jacobian; give both (random_effect_sd returns it)")
    eta, spread = grid @ b, np.broadcast_to(np.asarray(sd, dtype=np.float64), (len(grid),))
    p, by_eta, by_s = averaged_expit(eta, spread)
    failure, _, _ = averaged_expit(-eta, spread)
    gradient = np.hstack([by_s[:, np.newaxis] * slopes, by_eta[:, np.newaxis] * grid])
    mix, labels, why = _mix(weights, names, reasons, len(grid))
    why = _lost(why, mix, None if null_basis is None else not_estimable(grid, null_basis))
    gradient = mix @ gradient
    return _on_logit_scale(
        mix @ p,
        mix @ failure,
        gradient @ joint @ gradient.T,
        names=labels,
        reasons=why,
        level=check_level(conf_level),
        method="averaged over the random effects",
        warnings=warnings,
    )


def conditional_means(
    rows: ArrayLike,
    beta: ArrayLike,
    covariance: ArrayLike,
    *,
    names: Sequence[str] | None = None,
    null_basis: FloatArray | None = None,
    conf_level: float = 0.95,
) -> ProbabilityMeans:
    """Probability of success of a unit whose random effects are all 0: no average over units, and further from 1/2 than it.

    What emmeans prints with type = "response". `rows` may be averages of rows: then the logits are averaged.

    Examples
    --------
    >>> conditional_means([[1.0]], [-1.4], [[0.05]]).estimate.round(3).tolist()
    [0.198]
    """
    found = linear_estimates(rows, beta, covariance, conf_level=conf_level, names=names, null_basis=null_basis)
    p, q = special.expit(found.estimate), special.expit(-found.estimate)
    slope = np.nan_to_num(p * q)
    return _on_logit_scale(
        p,
        q,
        slope[:, np.newaxis] * found.covariance * slope,
        names=found.names,
        reasons=found.reasons,
        level=found.conf_level,
        method="random effects at 0 (not an average over units)",
        warnings=(),
    )


def _joint(
    rows: ArrayLike, beta: ArrayLike, joint_covariance: ArrayLike | None, covariance: ArrayLike | None
) -> tuple[FloatArray, FloatArray, FloatArray, tuple[str, ...]]:
    """Return rows and beta, the covariance of (theta, beta), and what a reader must know."""
    if (joint_covariance is None) == (covariance is None):
        raise InputError("give joint_covariance of (theta, beta), or covariance of beta alone, and not both")
    if joint_covariance is None:
        grid, b, joint = as_linear(rows, beta, [] if covariance is None else covariance)
        return grid, b, joint, ("the standard deviation of the random effects is taken as known",)
    b = np.asarray(beta, dtype=np.float64)
    joint = np.asarray(joint_covariance, dtype=np.float64)
    n_theta = joint.shape[0] - b.size
    if joint.ndim != 2 or n_theta < 0:
        raise InputError(f"joint_covariance has shape {joint.shape}; expected that of theta and {b.size} fixed effects")
    grid = np.atleast_2d(np.asarray(rows, dtype=np.float64))
    _, _, joint = as_linear(np.zeros((1, len(joint))), np.zeros(len(joint)), joint)
    grid, b, _ = as_linear(grid, b, joint[n_theta:, n_theta:])
    return grid, b, joint, ()


def _mix(
    weights: ArrayLike | None, names: Sequence[str] | None, reasons: Sequence[str | None] | None, n: int
) -> tuple[FloatArray, tuple[str, ...], list[str | None]]:
    mix = np.eye(n) if weights is None else np.atleast_2d(np.asarray(weights, dtype=np.float64))
    if mix.shape[1] != n or not np.isfinite(mix).all() or (mix < 0.0).any():
        raise InputError(f"weights have shape {mix.shape} or are negative; expected (n_means, {n}) from 0")
    labels = tuple(names) if names is not None else tuple(f"mean {i}" for i in range(len(mix)))
    why: list[str | None] = [None] * len(mix) if reasons is None else list(reasons)
    if len(labels) != len(mix) or len(why) != len(mix):
        raise InputError(f"{len(labels)} names and {len(why)} reasons for {len(mix)} means; give one each")
    for i, total in enumerate(mix.sum(axis=1).tolist()):
        if why[i] is None and abs(total - 1.0) > 1e-8:
            raise InputError(f"the weights of {labels[i]} add up to {total:g}; they must add up to 1")
    return mix, labels, why


def _lost(reasons: list[str | None], mix: FloatArray, lost: np.ndarray | None) -> list[str | None]:
    if lost is None:
        return reasons
    needs: list[bool] = np.any(mix[:, lost] > 0.0, axis=1).tolist()
    said = "not estimable: the data hold nothing about some combination it needs"
    return [reason or (said if needs[i] else None) for i, reason in enumerate(reasons)]


def _on_logit_scale(
    p: FloatArray,
    q: FloatArray,
    covariance: FloatArray,
    *,
    names: tuple[str, ...],
    reasons: Sequence[str | None],
    level: float,
    method: str,
    warnings: tuple[str, ...],
) -> ProbabilityMeans:
    """Build the result from p, its complement q (kept apart for p near 1) and the covariance of p."""
    given = np.array([reason is None for reason in reasons])
    variance = np.diagonal(covariance)
    with np.errstate(divide="ignore", invalid="ignore"):
        logit = np.where(given, np.log(p) - np.log(q), np.nan)
        slope = np.where(given, 1.0 / (p * q), np.nan)
    why = list(reasons)
    certain = given & ~(variance * np.square(slope) > 1e-20)
    for i in np.flatnonzero(certain):
        why[i] = "its standard error is 0: the model leaves it no uncertainty, or it is too near 0 or 1 to tell"
    open_ = given & ~certain
    half = normal_quantile(level) * np.where(open_, np.sqrt(variance) * slope, np.nan)
    together = slope[:, np.newaxis] * covariance * slope
    return ProbabilityMeans(
        names=names,
        estimate=np.where(given, p, np.nan),
        std_error=np.where(open_, np.sqrt(variance), np.nan),
        conf_low=special.expit(logit - half),
        conf_high=special.expit(logit + half),
        conf_level=level,
        logit=logit,
        logit_covariance=together,
        covariance=covariance,
        reasons=tuple(why),
        method=method,
        warnings=warnings,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbabilityDifferences:
    """Differences of two averaged probabilities, first minus second; null is NaN here and `reasons` says why.

    Attributes
    ----------
    estimate, std_error, conf_low, conf_high
        float64, shape (n_differences,), proportions; the interval lies within -1 and 1.
    statistic, p_value, p_adjusted
        z of the difference of logits, which is 0 exactly where the difference of probabilities is. An interval excludes 0
        exactly where the p that goes with it (`p_value` without adjustment) is below 1 - conf_level.
    intervals
        What the intervals are, in words.
    """

    names: tuple[str, ...]
    estimate: FloatArray
    std_error: FloatArray
    conf_low: FloatArray
    conf_high: FloatArray
    conf_level: float
    statistic: FloatArray
    p_value: FloatArray
    p_adjusted: FloatArray
    method: Adjustment
    intervals: str
    reasons: tuple[str | None, ...]
    warnings: tuple[str, ...] = ()


def probability_differences(
    means: ProbabilityMeans,
    first: ArrayLike,
    second: ArrayLike,
    *,
    method: Adjustment = "none",
    family: Sequence[str] | None = None,
    names: Sequence[str] | None = None,
    conf_level: float | None = None,
    seed: int = 0,
) -> ProbabilityDifferences:
    """Differences of pairs of probabilities, with intervals that stay between -1 and 1.

    Parameters
    ----------
    first, second
        Indices of the means, shape (n_differences,): mean[first] - mean[second].
    method, family, seed
        Adjustment within families, as in `families.adjusted`; the intervals then hold together.

    Notes
    -----
    The two logits are taken as jointly normal, the scale on which that is nearest to the truth, and the interval ends are the
    quantiles of the difference of the two probabilities under that law, by integration. As the difference is below 0
    exactly where that of the logits is, p is that of the Wald test of equal logits, and interval and p never disagree.

    References
    ----------
    Mandel 2013, doi:10.1080/00031305.2013.783880 (quantiles of a transformed normal estimate).

    Examples
    --------
    >>> from evalstats.stats.mixed.population_means import population_means
    >>> m = population_means(np.eye(2), [3.0, 1.0], [0.0, 0.0], covariance=0.2 * np.eye(2))
    >>> d = probability_differences(m, [0], [1])
    >>> d.estimate.round(3).tolist(), d.conf_low.round(3).tolist(), d.conf_high.round(3).tolist()
    ([0.222], [0.073], [0.422])
    """
    i, j = _indices(first, second, len(means.names))
    level = means.conf_level if conf_level is None else check_level(conf_level)
    eye = np.eye(len(means.names))
    labels = (
        [f"{means.names[a]} - {means.names[b]}" for a, b in zip(i.tolist(), j.tolist(), strict=True)]
        if names is None
        else list(names)
    )
    null: list[str | None] = [means.reasons[a] or means.reasons[b] for a, b in zip(i.tolist(), j.tolist(), strict=True)]
    logits = linear_estimates(
        eye[i] - eye[j],
        np.nan_to_num(means.logit),
        np.nan_to_num(means.logit_covariance),
        conf_level=level,
        names=labels,
    )
    logits = _without(logits, null)
    together = adjusted(logits, method, family=family, seed=seed)
    z = (together.conf_high - logits.estimate) / logits.std_error
    variance = np.diagonal(means.covariance)
    spread = variance[i] + variance[j] - 2.0 * means.covariance[i, j]
    low, high = np.full(i.size, np.nan), np.full(i.size, np.nan)
    for at in np.flatnonzero(np.isfinite(z)):
        pair = np.array([i[at], j[at]])
        low[at], high[at] = _quantiles(means.logit[pair], means.logit_covariance[np.ix_(pair, pair)], float(z[at]))
    open_ = np.isfinite(z)
    return ProbabilityDifferences(
        names=tuple(labels),
        estimate=means.estimate[i] - means.estimate[j],
        std_error=np.where(open_, np.sqrt(np.maximum(spread, 0.0)), np.nan),
        conf_low=low,
        conf_high=high,
        conf_level=level,
        statistic=logits.statistic,
        p_value=logits.p_value,
        p_adjusted=together.p_adjusted,
        method=method,
        intervals=f"quantiles under normal logits; {together.intervals}",
        reasons=logits.reasons,
        warnings=(*means.warnings, *together.warnings),
    )


def _indices(first: ArrayLike, second: ArrayLike, n: int) -> tuple[IntArray, IntArray]:
    i, j = np.atleast_1d(np.asarray(first)), np.atleast_1d(np.asarray(second))
    if i.shape != j.shape or i.ndim != 1 or i.dtype.kind not in "iu" or j.dtype.kind not in "iu":
        raise InputError(f"first has shape {i.shape} and second {j.shape}; give whole numbers, one pair a difference")
    if min(i.min(), j.min()) < 0 or max(i.max(), j.max()) >= n:
        raise InputError(f"pairs reach outside the {n} means")
    return i.astype(np.int64), j.astype(np.int64)


def _without(estimates: LinearEstimates, null: Sequence[str | None]) -> LinearEstimates:
    """Return the estimates with those that have a reason made null."""
    gone = np.array([reason is not None for reason in null])
    if not gone.any():
        return estimates

    def null_where_gone(values: FloatArray) -> FloatArray:
        return np.where(gone, np.nan, values)

    return replace(
        estimates,
        estimate=null_where_gone(estimates.estimate),
        std_error=null_where_gone(estimates.std_error),
        df=null_where_gone(estimates.df),
        statistic=null_where_gone(estimates.statistic),
        p_value=null_where_gone(estimates.p_value),
        conf_low=null_where_gone(estimates.conf_low),
        conf_high=null_where_gone(estimates.conf_high),
        reasons=tuple(a or b for a, b in zip(null, estimates.reasons, strict=True)),
    )


def _quantiles(logit: FloatArray, covariance: FloatArray, z: float) -> tuple[float, float]:
    """Return the quantiles Phi(-z) and Phi(z) of expit(X) - expit(Y), (X, Y) normal."""
    # X is integrated over, Y given X is in closed form; the one with the larger spread is X, the rest has more of its own.
    turned = covariance[1, 1] > covariance[0, 0]
    a, b = (1, 0) if turned else (0, 1)
    spread = np.sqrt(np.diagonal(covariance))
    rho = float(np.clip(covariance[0, 1] / (spread[0] * spread[1]), -1.0, 1.0))
    own = max(math.sqrt(1.0 - rho * rho), 2.0 * _FINEST)
    step = max(min(_STEP, 0.5 * own), _FINEST)
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

    tail = float(special.ndtr(-z))
    low, high = _where(below, tail), _where(below, 1.0 - tail)
    return (-high, -low) if turned else (low, high)


def _where(below: Callable[[float], float], goal: float) -> float:
    return float(optimize.brentq(lambda d: below(d) - goal, -1.0, 1.0, xtol=1e-12))
