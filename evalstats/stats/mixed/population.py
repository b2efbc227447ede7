"""Probabilities averaged over a population of units, from a logit model with random effects."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from evalstats.errors import InputError
from evalstats.stats.checks import FloatArray, check_level
from evalstats.stats.mixed.contrasts import as_linear, linear_estimates, not_estimable
from evalstats.stats.mixed.logistic_normal import averaged_expit
from evalstats.stats.tails import normal_quantile


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
