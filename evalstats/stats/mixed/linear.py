"""Linear mixed models with crossed and nested random effects, by restricted or full maximum likelihood."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from evalstats.errors import CannotAnswerError, InputError
from evalstats.stats.computation import one_thread
from evalstats.stats.mixed.design import (
    Convergence,
    Floats,
    MixedDesign,
    MixedFit,
    RandomTerm,
    check_levels,
    lower_entries,
    semidefinite_factor,
)
from evalstats.stats.mixed.linear_criterion import LinearCriterion

_NEAR = 1e-3  # eigenvalues below this share of the information of one level are tried as 0
_RELATIVE = 1e-4  # and below this share of the largest eigenvalue of the term
_SAME = 1e-7  # difference of deviances that is rounding
ValueGradient = Callable[[Floats], tuple[float, Floats]]
_MOST_STEPS = 100  # whether taken or refused
_STEP = 1e-5  # of the differences of the gradient
_GAIN = 1e-9  # predicted decrease at which the search ends
_NEARLY = 1e-5  # the same with an updated Hessian, after which it is computed anew
_CLOSE_ENOUGH = 1e-2  # length of a step after which the Hessian is as good as new
_FLOOR = 1e-14  # relative size of the rounding errors of the function
_FAR = 30.0  # parameters are logarithms in the main; beyond this nothing changes any more
_SLOPE = (
    1e-3  # largest derivative of the deviance by a parameter that a converged fit may have, per unit of its logarithm
)


def boundary(criterion: LinearCriterion, theta: Floats) -> tuple[Floats, tuple[str, ...]]:
    """Put on the boundary what lies there but for rounding: theta, and in words what is on it.

    The covariance of a term is reduced to what its large eigenvalues carry; that stays where the deviance does not rise.
    """
    design = criterion.design
    deviance = criterion.deviance(theta)
    words: list[str] = []
    start = 0
    for term, factor in zip(design.terms, design.factors(theta), strict=True):
        reduced, rank = _reduce(term, factor, design.count)
        if rank < term.n_columns:
            trial = theta.copy()
            rows, columns = lower_entries(term.n_columns)
            trial[start : start + term.n_theta] = reduced[rows, columns]
            value = criterion.deviance(trial)
            if value <= deviance + _SAME * max(1.0, 1e-5 * abs(deviance)):
                theta = trial
                words += _words(term, reduced, rank)
        start += term.n_theta
    return theta, tuple(words)


def canonical(design: MixedDesign, theta: Floats) -> Floats:
    """Turn the signs of the columns of every factor so that its diagonal is not negative."""
    out: list[Floats] = []
    for term, factor in zip(design.terms, design.factors(theta), strict=True):
        rows, columns = lower_entries(term.n_columns)
        signs = np.where(np.diag(factor) < 0.0, -1.0, 1.0)
        out.append((factor * signs)[rows, columns] + 0.0)
    return np.concatenate(out)


def _factor(covariance: Floats) -> Floats:
    return semidefinite_factor(covariance, 1e-12 * np.diag(covariance))


def _reduce(term: RandomTerm, factor: Floats, count: Floats) -> tuple[Floats, int]:
    """Factor without the directions of small variance, and how many remain."""
    scale = np.sqrt(count @ term.values**2 / term.n_levels)
    scaled = scale[:, None] * factor
    values, vectors = np.linalg.eigh(scaled @ scaled.T)
    large = values > np.maximum(_NEAR, _RELATIVE * values[-1])
    rank = int(large.sum())
    if rank == term.n_columns:
        return factor, rank
    kept = vectors[:, large] / scale[:, None]
    return _factor((kept * values[large]) @ kept.T), rank


def _words(term: RandomTerm, factor: Floats, rank: int) -> list[str]:
    variances = np.sum(factor**2, axis=1)
    zero = variances <= 1e-12 * max(1.0, float(variances.max()))
    named = term.columns != ("(Intercept)",)
    out = [
        f"the variance of {name} by {term.group} is estimated as 0"
        if named
        else f"the variance of {term.group} is estimated as 0"
        for name, none in zip(term.columns, zero, strict=True)
        if none
    ]
    left = np.flatnonzero(~zero)
    if rank < len(left) == 2:
        a, b = (int(k) for k in left)
        sign = "1" if factor[a] @ factor[b] > 0 else "-1"
        out.append(f"the correlation of {term.columns[a]} and {term.columns[b]} by {term.group} is estimated as {sign}")
    elif rank < len(left):
        out.append(
            f"the covariance matrix of the effects of {term.group} is estimated with rank {rank} of {term.n_columns}"
        )
    return out


def check_linear(design: MixedDesign) -> tuple[str, ...]:
    """Refuse a design that cannot be fitted; return warnings about what can but should not be trusted."""
    n, p = design.n_rows, design.fixed.shape[1]
    if not design.terms:
        raise InputError("the model has no random effect; a mixed model needs one, such as (1|item)")
    values = (design.fixed, design.response, design.count, *(term.values for term in design.terms))
    if not all(np.isfinite(array).all() for array in values) or not np.isfinite(design.within):
        raise InputError("the design holds NaN or infinite values; leave out rows that have no outcome")
    if (design.count <= 0).any() or design.within < 0:
        raise InputError("every cell needs at least one row, and the sum of squares within cells cannot be negative")
    if n <= p:
        raise InputError(f"{n} rows for {p} fixed effects; a mixed model needs more rows than fixed effects")
    y = design.response if design.offset is None else design.response - design.offset
    if design.within == 0.0 and np.ptp(y) <= 1e-13 * np.abs(y).max():
        raise CannotAnswerError(f"all {n} rows have the same response, {y[0]:g}: there is no variance to divide")
    return tuple(warning for term in design.terms for warning in _check_term(design, term))


def _check_term(design: MixedDesign, term: RandomTerm) -> list[str]:
    n, k = design.n_rows, term.n_columns
    seen = int(np.count_nonzero(np.bincount(term.level, minlength=term.n_levels)))
    warnings = check_levels(term, seen)
    if seen >= n:
        raise InputError(
            f"the grouping {term.group!r} has as many levels as there are rows ({n}), so its variance cannot be told from the "
            "residual's; leave it out, or give repeated trials"
        )
    if seen * k >= n and k > 1:
        raise InputError(
            f"the random effects of {term.group!r} are {seen * k} for {n} rows, so their variances cannot be told from the "
            "residual's; take fewer effects for each level, or give repeated trials"
        )
    empty = [name for name, column in zip(term.columns, term.values.T, strict=True) if not np.any(column)]
    if empty:
        raise InputError(f"the effect {empty[0]!r} of the grouping {term.group!r} is 0 in all rows; leave it out")
    return warnings


@dataclass(frozen=True, slots=True, kw_only=True)
class Minimum:
    """Where a search ended: the point, the function and its derivatives there, and whether it is a minimum, in words too."""

    x: Floats
    value: float
    gradient: Floats
    hessian: Floats
    converged: bool
    message: str
    n_evaluations: int


def minimise(function: ValueGradient, start: Floats) -> Minimum:
    """Minimise by Newton steps, each the best within a radius that grows and shrinks with how well the model predicts.

    `function` gives value and gradient; a value of infinity is a step refused. The Hessian comes from forward differences of the
    gradient at the start, and is updated from the gradients that the steps bring. A minimum is accepted with a Hessian computed
    there. Negative curvature is followed: a point that is stationary by symmetry alone (a standard deviation of 0 whose variance
    has a negative derivative) is left. Nocedal & Wright (2006), Numerical Optimization, chapters 4 and 6.2.

    Examples
    --------
    >>> end = minimise(lambda x: (float(np.sum((x**2 - 4) ** 2)), 4 * x * (x**2 - 4)), np.array([0.0, 1.0]))
    >>> end.converged, np.abs(end.x).round(6).tolist()
    (True, [2.0, 2.0])
    """
    x = np.array(start, dtype=np.float64)
    value, gradient = function(x)
    hessian, exact, count = difference_hessian(function, x, gradient), True, 1 + len(x)
    message = f"no minimum found in {_MOST_STEPS} steps"
    converged, radius = False, 2.0
    for _ in range(_MOST_STEPS):
        step, predicted = trust_step(gradient, hessian, radius)
        small = predicted <= (_GAIN if exact else _NEARLY) + _FLOOR * abs(value)
        if small and not exact:
            hessian, exact, count = difference_hessian(function, x, gradient), True, count + len(x)
            continue
        new_value, new_gradient = function(x + step)
        count += 1
        if small:
            converged, message = True, "a minimum was found"
            if np.linalg.norm(new_gradient) < np.linalg.norm(gradient):
                x, value, gradient = x + step, new_value, new_gradient
            break
        ratio = (value - new_value) / predicted if np.isfinite(new_value) else -1.0
        length = float(np.linalg.norm(step))
        if ratio < 0.25:
            radius = 0.25 * length
        elif ratio > 0.75 and length > 0.8 * radius:
            radius = min(2.0 * radius, 8.0)
        if np.isfinite(new_value):
            hessian = symmetric_update(hessian, step, new_gradient - gradient)
            exact = exact and length < _CLOSE_ENOUGH
        if ratio > 1e-4:
            x, value, gradient = x + step, new_value, new_gradient
        elif radius < 1e-10 * (1.0 + float(np.abs(x).max())):
            message = "the search stopped where no step lowers the deviance, though its slope says one should"
            break
        if ratio < 0.1:
            hessian, exact, count = difference_hessian(function, x, gradient), True, count + len(x)
        if np.abs(x).max() > _FAR:
            message = "a parameter grew without bound"
            break
    return Minimum(
        x=x, value=value, gradient=gradient, hessian=hessian, converged=converged, message=message, n_evaluations=count
    )


def difference_hessian(function: ValueGradient, x: Floats, gradient: Floats) -> Floats:
    """Hessian from forward differences of the gradient, one evaluation a parameter, made symmetric."""
    out = np.empty((len(x), len(x)))
    for j in range(len(x)):
        shifted = x.copy()
        shifted[j] += _STEP * (1.0 + abs(x[j]))
        out[j] = (function(shifted)[1] - gradient) / (shifted[j] - x[j])
    return 0.5 * (out + out.T)


def symmetric_update(hessian: Floats, step: Floats, change: Floats) -> Floats:
    """Update of rank one after which the Hessian maps the step to the change of the gradient (SR1)."""
    missed = change - hessian @ step
    along = float(missed @ step)
    if abs(along) <= 1e-8 * float(np.linalg.norm(missed) * np.linalg.norm(step)):
        return hessian
    return hessian + np.outer(missed, missed) / along


def trust_step(gradient: Floats, hessian: Floats, radius: float) -> tuple[Floats, float]:
    """Minimise gradient'p + p'hessian p / 2 over |p| <= radius: the step and the decrease it promises."""
    values, vectors = np.linalg.eigh(hessian)
    slope = vectors.T @ gradient
    tiny = 1e-10 * max(1.0, float(np.abs(values).max()))
    if values[0] > tiny and np.linalg.norm(slope / values) <= radius:
        along = -slope / values
    else:
        along = _on_boundary(values, slope, radius, tiny)
    step: Floats = vectors @ along
    return step, float(-(slope @ along + 0.5 * values @ along**2))


def _on_boundary(values: Floats, slope: Floats, radius: float, tiny: float) -> Floats:
    """Step of length `radius` in coordinates of eigenvectors, by bisection on the multiplier that shortens it."""
    low = max(0.0, -float(values[0])) + tiny
    if np.linalg.norm(slope / (values + low)) < radius:  # no slope along the lowest curvature, or a flat direction
        along = -slope / (values + low)
        if values[0] < -tiny:
            along[0] = 0.0
            along[0] = np.copysign(np.sqrt(max(radius**2 - float(along @ along), 0.0)), -slope[0])
        return along
    high = low + float(np.linalg.norm(slope)) / radius
    for _ in range(80):
        middle = 0.5 * (low + high)
        if np.linalg.norm(slope / (values + middle)) > radius:
            low = middle
        else:
            high = middle
    return -slope / (values + high)


@one_thread
def fit_linear(design: MixedDesign, *, reml: bool = True, start: Floats | None = None) -> MixedFit:
    """Fit a linear mixed model.

    y = X beta + Z b + e with b ~ N(0, sigma^2 Lambda Lambda') and e ~ N(0, sigma^2 I). beta and sigma are at their best for
    each theta, and the profiled deviance is minimised over theta by Newton steps with analytic gradients. Its cost grows
    with the number of cells, not of rows. Assumes normal effects and errors, one residual variance, and effects that do not
    depend on X.

    Parameters
    ----------
    reml
        Restricted maximum likelihood, which has less bias in variances; False to compare fixed effects by likelihood.
    start
        theta to begin from, shape (n_theta,).

    Returns
    -------
    MixedFit
        Diagonal entries of the factors are not negative. Variances of 0 and correlations of 1 are legitimate estimates and
        are listed in `singular`. The conditional covariances of the effects are given theta, sigma and beta, as lme4's
        `condVar`. A search that failed is told in `convergence` and `warnings`.

    Raises
    ------
    InputError
        Fixed effects of deficient rank (their columns are named), too few rows, a grouping with one level or as many effects
        as rows, values that are not finite.
    CannotAnswerError
        A constant response, or one that the effects fit exactly.

    References
    ----------
    Bates, Maechler, Bolker & Walker 2015, doi:10.18637/jss.v067.i01.

    Examples
    --------
    >>> item = RandomTerm(
    ...     group="item",
    ...     columns=("(Intercept)",),
    ...     levels=("a", "b", "c"),
    ...     level=np.array([0, 0, 1, 1, 2, 2]),
    ...     values=np.ones((6, 1)),
    ... )
    >>> design = MixedDesign(
    ...     fixed=np.ones((6, 1)),
    ...     fixed_names=("(Intercept)",),
    ...     terms=(item,),
    ...     count=np.ones(6),
    ...     response=np.array([1.0, 2.0, 4.0, 3.0, 6.0, 7.0]),
    ... )
    >>> fit = fit_linear(design)
    >>> fit.beta.round(4).tolist(), round(fit.sigma**2, 4), fit.covariances()[0].round(4).tolist()
    ([3.8333], 0.5, [[6.0833]])
    """
    warnings = check_linear(design)
    criterion = LinearCriterion(design, reml=reml)
    return _result(criterion, start, warnings, uncertainty=True)


def linear_given_theta(fit: MixedFit) -> Callable[[Floats], tuple[MixedFit, float]]:
    """Return what fits the same model at any theta, and gives the logarithm of the restricted likelihood of theta.

    beta and sigma are at their best for theta; the conditional covariances of the effects are left out.
    """
    criterion = LinearCriterion(fit.design, reml=True)

    @one_thread
    def at(theta: Floats) -> tuple[MixedFit, float]:
        point = criterion.at(theta)
        found = replace(
            fit,
            theta=theta,
            sigma=point.sigma,
            beta=point.beta,
            covariance=point.covariance,
            effects=criterion.effects(theta),
            effect_covariances=(),
        )
        return found, -0.5 * point.deviance

    return at


class Refitter:
    """Fits of one model to many responses, such as those of a parametric bootstrap, each from the theta of the fit."""

    def __init__(self, fit: MixedFit) -> None:
        self.design, self.theta = fit.design, fit.theta
        self.criterion = LinearCriterion(fit.design, reml=fit.method == "REML")

    @one_thread
    def __call__(self, response: Floats, within: float) -> MixedFit:
        """Fit to these means of the cells, with this sum of squares within; no random effects are predicted."""
        self.criterion.set_response(response, within)
        self.criterion.design = replace(self.design, response=response, within=within)
        return _result(self.criterion, self.theta, (), uncertainty=False)


def _search(criterion: LinearCriterion, start: Floats | None) -> tuple[Minimum, Floats, tuple[str, ...]]:
    """Minimise from `start` or from standard deviations as large as the residual's; again from elsewhere on the boundary.

    Return where the search ended, its canonical theta, and in words what is on the boundary.
    """
    design = criterion.design
    scale = _scales(design)
    if start is not None and (start.shape != (design.n_theta,) or not np.isfinite(start).all()):
        raise InputError(f"start has shape {start.shape}; give {design.n_theta} finite entries of theta")
    first = np.arcsinh((_standard(criterion, scale) if start is None else start) * scale)
    if start is not None:  # 0 is stationary by symmetry; leave it
        first = np.where((_diagonal(design) > 0) & (np.abs(first) < 1e-3), 1e-2, first)
    best = _minimise(criterion, scale, first)
    evaluations = best.n_evaluations
    theta, singular = boundary(criterion, np.sinh(best.x) / scale)
    if singular or not best.converged:
        guesses = [np.where(_diagonal(design) > 0, size, 0.0) for size in (0.3, 3.0)]
        for x in guesses:
            other = _minimise(criterion, scale, x)
            evaluations += other.n_evaluations
            if other.value < best.value - 1e-7 or (other.converged and not best.converged):
                best = other
        theta, singular = boundary(criterion, np.sinh(best.x) / scale)
    return replace(best, n_evaluations=evaluations), canonical(design, theta), singular


def _minimise(criterion: LinearCriterion, scale: Floats, start: Floats) -> Minimum:
    """Minimise over x = arsinh(scale * theta): a logarithm for large theta, theta itself near 0, where the deviance is even."""
    impossible: list[CannotAnswerError] = []

    def function(x: Floats) -> tuple[float, Floats]:
        theta = np.sinh(x) / scale
        try:
            value = criterion.deviance(theta)
            return value, criterion.gradient(theta) * np.cosh(x) / scale
        except CannotAnswerError as error:
            impossible.append(error)
            if np.array_equal(x, start):
                raise
            return np.inf, np.zeros_like(x)

    found = minimise(function, start)
    if impossible and not found.converged:  # the deviance falls towards where it cannot be computed
        raise impossible[-1]
    return found


def _result(
    criterion: LinearCriterion, start: Floats | None, warnings: tuple[str, ...], *, uncertainty: bool
) -> MixedFit:
    minimum, theta, singular = _search(criterion, start)
    point = criterion.at(theta)
    slope = float(np.abs(minimum.gradient).max())
    converged = minimum.converged and slope < _SLOPE * max(1.0, 1e-6 * abs(point.deviance))
    message = (
        minimum.message if converged or not minimum.converged else f"the slope of the deviance is still {slope:.2g}"
    )
    if not converged:
        warnings = (*warnings, f"the fit did not converge: {message}; estimates are not to be trusted")
    return MixedFit(
        family="gaussian",
        method="REML" if criterion.reml else "ML",
        design=criterion.design,
        theta=theta,
        sigma=point.sigma,
        beta=point.beta,
        covariance=point.covariance,
        log_likelihood=-0.5 * point.deviance,
        effects=criterion.effects(theta) if uncertainty else (),
        effect_covariances=criterion.effect_covariances(theta) if uncertainty else (),
        convergence=Convergence(
            converged=converged,
            message=message,
            n_evaluations=minimum.n_evaluations,
            gradient=slope,
            curvature=float(np.linalg.eigvalsh(minimum.hessian)[0]),
        ),
        singular=singular,
        warnings=warnings,
    )


def _scales(design: MixedDesign) -> Floats:
    """For each entry of theta the root of the information of its effect: sqrt(sum of n z^2 / number of levels)."""
    out: list[Floats] = []
    for term in design.terms:
        information = np.sqrt(design.count @ term.values**2 / term.n_levels)
        out.append(information[lower_entries(term.n_columns)[0]])
    return np.concatenate(out)


def _diagonal(design: MixedDesign) -> Floats:
    """1 for the entries of theta on the diagonal of a factor, 0 for the others."""
    return np.concatenate([np.equal(*lower_entries(term.n_columns)).astype(np.float64) for term in design.terms])


def _standard(criterion: LinearCriterion, scale: Floats) -> Floats:
    """Where the search begins: EM steps from uncorrelated effects that contribute as much to a row as the residual.

    With U the sum over the levels of a term of the expected u u' given the data, EM takes L U L' / n_levels for the next
    covariance; and the derivative of the deviance by a diagonal L is 2 L^-1 (n_levels I - U) in its lower triangle.
    Where levels have many rows the first step is nearly the answer.
    """
    design = criterion.design
    per_row = np.concatenate([np.full(t.n_theta, np.sqrt(design.n_rows / t.n_levels)) for t in design.terms])
    theta = per_row / scale * _diagonal(design)
    for _ in range(2 if all(term.n_columns == 1 for term in design.terms) else 1):
        gradient = criterion.gradient(theta)
        out: list[Floats] = []
        start = 0
        for term, factor in zip(design.terms, design.factors(theta), strict=True):
            rows, columns = lower_entries(term.n_columns)
            missed = np.zeros_like(factor)
            missed[rows, columns] = gradient[start : start + term.n_theta] / (2.0 * term.n_levels)
            missed = factor @ (missed + np.tril(missed, -1).T)
            values, vectors = np.linalg.eigh(np.eye(term.n_columns) - 0.5 * (missed + missed.T))
            share = (vectors * np.maximum(values, 1e-4)) @ vectors.T
            out.append(_factor(factor @ share @ factor.T)[rows, columns])
            start += term.n_theta
        theta = np.concatenate(out)
    return theta
