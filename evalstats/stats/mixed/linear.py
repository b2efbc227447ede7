"""Linear mixed models with crossed and nested random effects, by restricted or full maximum likelihood."""

from dataclasses import replace

import numpy as np

from evalstats.errors import CannotAnswerError, InputError
from evalstats.stats.mixed.design import Floats, MixedDesign
from evalstats.stats.mixed.fit import Convergence, MixedFit
from evalstats.stats.mixed.linear_boundary import boundary, canonical, semidefinite_factor
from evalstats.stats.mixed.linear_checks import check_linear
from evalstats.stats.mixed.linear_criterion import LinearCriterion
from evalstats.stats.mixed.optimise import Minimum, minimise
from evalstats.stats.threads import one_thread

_SLOPE = (
    1e-3  # largest derivative of the deviance by a parameter that a converged fit may have, per unit of its logarithm
)


@one_thread
def fit_linear(design: MixedDesign, *, reml: bool = True, start: Floats | None = None) -> MixedFit:
    """Fit a linear mixed model.

    y = X beta + Z b + e with b ~ N(0, sigma^2 Lambda Lambda') and e ~ N(0, sigma^2 I). beta and sigma are at their best for
    each theta, and the profiled deviance is minimised over theta by Newton steps with analytic gradients. Its cost grows
    with the number of cells, not of rows.

    Parameters
    ----------
    design
        Cells: counts, means, and the sum of squares within them.
    reml
        Restricted maximum likelihood, which has less bias in variances; False to compare fixed effects by likelihood.
    start
        theta to begin from, shape (n_theta,).

    Returns
    -------
    MixedFit
        Diagonal entries of the factors are not negative. Variances of 0 and correlations of 1 are legitimate estimates and
        are listed in `singular`. A search that failed is told in `convergence` and `warnings`.

    Raises
    ------
    InputError
        Fixed effects of deficient rank (their columns are named), too few rows, a grouping with one level or as many effects
        as rows, values that are not finite.
    CannotAnswerError
        A constant response, or one that the effects fit exactly.

    Notes
    -----
    Assumes normal effects and errors, one residual variance, and effects that do not depend on X. The conditional covariances
    of the effects are given theta, sigma and beta, as lme4's `condVar`.

    References
    ----------
    Bates, Maechler, Bolker & Walker 2015, doi:10.18637/jss.v067.i01.

    Examples
    --------
    >>> from evalstats.stats.mixed.design import RandomTerm
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
    found = _search(criterion, start)
    return _result(criterion, found, warnings, uncertainty=True)


@one_thread
def refit_linear(fit: MixedFit, response: Floats, within: float = 0.0, *, uncertainty: bool = False) -> MixedFit:
    """Fit the same model to another response of the same cells, beginning from the estimates of `fit`.

    Parameters
    ----------
    response
        float64, shape (n_cells,): means of the cells.
    within
        Sum of squares of the rows about the means of their cells.
    uncertainty
        Whether to compute the random effects and their conditional covariances; else both are empty.

    Notes
    -----
    For many responses keep a `Refitter`, which computes the cross-products of Z and X once.
    """
    return Refitter(fit)(response, within, uncertainty=uncertainty)


class Refitter:
    """Fits of one model to many responses, such as those of a parametric bootstrap.

    Parameters
    ----------
    fit
        The fit whose design, method and theta to begin from are taken.
    """

    def __init__(self, fit: MixedFit) -> None:
        if fit.family != "gaussian":
            raise InputError(f"the fit is of the {fit.family} family; give a linear one")
        self.design, self.theta = fit.design, fit.theta
        self.criterion = LinearCriterion(fit.design, reml=fit.method == "REML")

    @one_thread
    def __call__(self, response: Floats, within: float = 0.0, *, uncertainty: bool = False) -> MixedFit:
        """Fit to this response; see `refit_linear`."""
        y = np.asarray(response, dtype=np.float64)
        if y.shape != self.design.count.shape or not np.isfinite(y).all():
            raise InputError(
                f"the response has shape {y.shape}; give {self.design.n_cells} finite means, one for each cell"
            )
        self.criterion.set_response(y, within)
        self.criterion.design = replace(self.design, response=y, within=within)
        return _result(self.criterion, _search(self.criterion, self.theta), (), uncertainty=uncertainty)


def _search(criterion: LinearCriterion, start: Floats | None) -> "_Found":
    """Minimise from `start` or from standard deviations as large as the residual's; again from elsewhere on the boundary."""
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
        for x in (np.where(_diagonal(design) > 0, size, 0.0) for size in (0.3, 3.0)):
            other = _minimise(criterion, scale, x)
            evaluations += other.n_evaluations
            if other.value < best.value - 1e-7 or (other.converged and not best.converged):
                best = other
        theta, singular = boundary(criterion, np.sinh(best.x) / scale)
    return _Found(best, canonical(design, theta), singular, evaluations)


class _Found:
    """Where the search ended, and on which boundary."""

    def __init__(self, minimum: Minimum, theta: Floats, singular: tuple[str, ...], evaluations: int) -> None:
        self.minimum, self.theta, self.singular, self.evaluations = minimum, theta, singular, evaluations


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


def _result(criterion: LinearCriterion, found: _Found, warnings: tuple[str, ...], *, uncertainty: bool) -> MixedFit:
    point = criterion.at(found.theta)
    minimum = found.minimum
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
        theta=found.theta,
        sigma=point.sigma,
        beta=point.beta,
        covariance=point.covariance,
        log_likelihood=-0.5 * point.deviance,
        effects=criterion.effects(found.theta) if uncertainty else (),
        effect_covariances=criterion.effect_covariances(found.theta) if uncertainty else (),
        convergence=Convergence(
            converged=converged,
            message=message,
            n_evaluations=found.evaluations,
            gradient=slope,
            curvature=float(np.linalg.eigvalsh(minimum.hessian)[0]),
        ),
        singular=found.singular,
        warnings=warnings,
    )


def _scales(design: MixedDesign) -> Floats:
    """For each entry of theta the root of the information of its effect: sqrt(sum of n z^2 / number of levels)."""
    out: list[Floats] = []
    for term in design.terms:
        information = np.sqrt(design.count @ term.values**2 / term.n_levels)
        _, rows = np.triu_indices(term.n_columns)
        out.append(information[rows])
    return np.concatenate(out)


def _diagonal(design: MixedDesign) -> Floats:
    """1 for the entries of theta on the diagonal of a factor, 0 for the others."""
    return np.concatenate([np.equal(*np.triu_indices(term.n_columns)).astype(np.float64) for term in design.terms])


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
            columns, rows = np.triu_indices(term.n_columns)
            missed = np.zeros_like(factor)
            missed[rows, columns] = gradient[start : start + term.n_theta] / (2.0 * term.n_levels)
            missed = factor @ (missed + np.tril(missed, -1).T)
            values, vectors = np.linalg.eigh(np.eye(term.n_columns) - 0.5 * (missed + missed.T))
            share = (vectors * np.maximum(values, 1e-4)) @ vectors.T
            out.append(semidefinite_factor(factor @ share @ factor.T)[rows, columns])
            start += term.n_theta
        theta = np.concatenate(out)
    return theta
