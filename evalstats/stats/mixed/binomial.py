"""Binomial mixed models with a logit link: fit, fast refit, and scores of clusters."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy import linalg

from evalstats.errors import InputError
from evalstats.record import record
from evalstats.stats.computation import one_thread
from evalstats.stats.mixed.design import (
    Convergence,
    Floats,
    Ints,
    Method,
    MixedDesign,
    MixedFit,
    central_differences,
    lower_entries,
    semidefinite_factor,
)
from evalstats.stats.mixed.glm import answer_in_words, check_binomial, check_rank, find_separation
from evalstats.stats.mixed.laplace import (
    BinomialCells,
    DeviancePoint,
    Modes,
    cell_scores,
    deviance_at,
    find_modes,
    integrate,
    invert,
    laplace,
    profiled,
    quadrature,
)
from evalstats.stats.mixed.laplace_elimination import Blocks

Evaluate = Callable[[Floats], DeviancePoint]

ENOUGH = 1e-9  # fall of the deviance still to be had, by the quadratic model, at which the quasi-Newton search stops
FARTHEST_THETA = 30.0  # logits: a variance that has come this far runs to infinity
LONGEST_THETA = 1.0  # largest change of an entry of theta in one step, in logits
Criterion = Callable[[BinomialCells, Floats, Floats, Blocks], DeviancePoint]
TRY_ZERO = 0.2  # a standard deviation of effects below this is compared with 0
EVEN = 1e-6  # how far the deviance at 0 may lie above that at a small variance
DIFFERENCE = 2e-3  # step of the differences, in standard errors
LONGEST_DIFFERENCE = 0.02  # logits: for a theta about which the data say nearly nothing
TINY = 1e-20
MOST_STEPS = 200
FAR = 0.05  # standard errors: a Hessian is taken again where the point has moved farther
SETTLED = 1e-6  # fall of the deviance still to be had, by the quadratic model, in a converged fit


class Found(NamedTuple):
    """Where a search ended: the point, the approximate Hessian there, and how it went."""

    point: DeviancePoint
    hessian: Floats
    converged: bool
    n_evaluations: int


def quasi_newton(evaluate: Evaluate, x: Floats, first: DeviancePoint, hessian: Floats, *, n_theta: int) -> Found:
    """Return the minimum by damped BFGS from `x`, where `evaluate` gave `first`; `hessian` must be positive definite.

    Every step is shortened until the deviance falls (Armijo), so the search cannot diverge. The update of the Hessian is
    Powell's damped one, which keeps it positive definite (Nocedal & Wright 2006, section 18.3).
    """
    point, n_evaluations = first, 0
    for _ in range(MOST_STEPS):
        gradient = point.gradient
        step = -_divided(hessian, gradient)
        slope = float(gradient @ step)
        fall = -0.5 * slope
        converged = fall < ENOUGH
        if converged or (np.abs(x[:n_theta]) > FARTHEST_THETA).any():
            return Found(point, hessian, converged, n_evaluations)
        part = LONGEST_THETA / float(np.abs(step[:n_theta]).max(initial=LONGEST_THETA))
        while True:
            new = evaluate(x + part * step)
            n_evaluations += 1
            rise, promised = new.deviance - point.deviance, part * slope
            if rise <= 1e-4 * promised or part < 1e-8 or (fall < 1e-6 and rise < 1e-8):
                break
            # The minimum of the parabola through both values and the first slope, kept between a tenth and a half.
            part *= float(np.clip(0.5 * promised / (promised - rise), 0.1, 0.5))
        if new.deviance > point.deviance:
            return Found(point, hessian, fall < 1e-5, n_evaluations)
        moved = part * step
        hessian = _damped_update(hessian, moved, new.gradient - gradient)
        x, point = x + moved, new
    return Found(point, hessian, converged=False, n_evaluations=n_evaluations)


def _divided(hessian: Floats, gradient: Floats) -> Floats:
    """Return the inverse of the Hessian times the gradient; what is not positive definite by rounding is made so."""
    try:
        return linalg.cho_solve(linalg.cho_factor(hessian), gradient)
    except linalg.LinAlgError:
        return linalg.cho_solve(linalg.cho_factor(positive(hessian, 1e-8 * float(np.trace(hessian)))), gradient)


def _damped_update(hessian: Floats, moved: Floats, change: Floats) -> Floats:
    along = hessian @ moved
    expected, seen = float(moved @ along), float(moved @ change)
    if expected <= 0.0:
        return hessian
    if seen < 0.2 * expected:
        share = 0.8 * expected / (expected - seen)
        change = share * change + (1.0 - share) * along
        seen = float(moved @ change)
    return hessian - np.outer(along, along) / expected + np.outer(change, change) / seen


def positive(hessian: Floats, floor: float) -> Floats:
    """Return the matrix with its eigenvalues replaced by their absolute values, at least `floor`."""
    values, vectors = np.linalg.eigh(0.5 * (hessian + hessian.T))
    return (vectors * np.maximum(np.abs(values), floor)) @ vectors.T


@record
class BinomialOptimum:
    """Where the search ended.

    `held` says which entries of theta are 0 because a variance is; `hessian` is that of the deviance in all others and beta,
    None where it was not asked for; `fall` what the quadratic model says could still be gained.
    """

    point: DeviancePoint
    held: "np.ndarray[tuple[int], np.dtype[np.bool_]]"
    hessian: Floats | None
    fall: float
    settled: bool
    n_evaluations: int


class Objective:
    """A deviance as a function of x = (theta, beta); every evaluation begins at the random effects of the last."""

    def __init__(self, cells: BinomialCells, criterion: Criterion, effects: Blocks) -> None:
        self.cells, self.criterion, self.effects = cells, criterion, effects
        self.n_evaluations = 0

    def __call__(self, x: Floats) -> DeviancePoint:
        """Return the deviance and its gradient at x."""
        k = self.cells.design.n_theta
        point = self.criterion(self.cells, x[:k], x[k:], self.effects)
        self.effects = point.effects
        self.n_evaluations += 1
        return point


def profiled_optimum(cells: BinomialCells, theta: Floats, beta: Floats) -> BinomialOptimum:
    """Return the optimum over theta alone, beta being found with the modes (lme4's nAGQ = 0)."""
    seen: list[DeviancePoint] = []

    def evaluate(x: Floats) -> DeviancePoint:
        # Every search for the mode begins at the last one.
        begin = (seen[-1].beta, seen[-1].effects) if seen else (beta, cells.no_effects())
        seen.append(profiled(cells, x, *begin))
        return seen[-1]

    first = evaluate(theta)
    steps = np.full(theta.size, 1e-3)
    guess = positive(central_differences(lambda x: evaluate(x).gradient, theta, steps), floor=0.1)
    found = quasi_newton(evaluate, theta, first, guess, n_theta=theta.size)
    point = _try_zeros(cells.design, found.point, evaluate)
    return BinomialOptimum(
        point=point,
        held=held_entries(cells.design, point.theta),
        hessian=None,
        fall=0.0,
        settled=found.converged,
        n_evaluations=len(seen),
    )


def joint_optimum(
    cells: BinomialCells, criterion: Criterion, start: DeviancePoint, *, with_hessian: bool = True
) -> BinomialOptimum:
    """Return the optimum over theta and beta together, from a point near it."""
    k = cells.design.n_theta
    objective = Objective(cells, criterion, start.effects)
    x = np.concatenate([start.theta, start.beta])
    first = objective(x)
    found = quasi_newton(objective, x, first, _starting_hessian(objective, x), n_theta=k)
    point = _try_zeros(cells.design, found.point, lambda theta: objective(np.concatenate([theta, found.point.beta])))
    held = held_entries(cells.design, point.theta)
    free = np.flatnonzero(np.concatenate([~held, np.ones(point.beta.size, dtype=bool)])).astype(np.int64)
    exact, fall = None, _fall(point.gradient[free], found.hessian[np.ix_(free, free)])
    if with_hessian:
        exact, point, fall = _polish(objective, point, free, found.hessian)
    return BinomialOptimum(
        point=point,
        held=held,
        hessian=exact,
        fall=fall,
        settled=fall < SETTLED if with_hessian else found.converged,
        n_evaluations=objective.n_evaluations,
    )


def _polish(
    objective: Objective, point: DeviancePoint, free: Ints, rough: Floats
) -> tuple[Floats, DeviancePoint, float]:
    """Newton's steps in the free entries with the Hessian by differences, taken again where the point has moved far."""
    x = np.concatenate([point.theta, point.beta])
    curvature: Floats = np.diag(rough)[free]
    taken_at: Floats = np.full(x.size, np.inf)
    exact: Floats = np.empty((0, 0))
    for _ in range(12):
        if float(np.abs((x - taken_at)[free] * np.sqrt(curvature)).max()) > FAR:
            lengths = np.zeros(x.size)
            lengths[free] = DIFFERENCE / np.sqrt(np.maximum(curvature, TINY))
            lengths[: point.theta.size] = np.minimum(lengths[: point.theta.size], LONGEST_DIFFERENCE)
            exact = central_differences(lambda at: objective(at).gradient, x, lengths, free.tolist())[free]
            exact = 0.5 * (exact + exact.T)
            curvature, taken_at = np.maximum(np.diag(exact), TINY), x
        gradient = point.gradient[free]
        fall = _fall(gradient, exact)
        if not 1e-13 < fall < np.inf:
            break
        move = np.zeros(x.size)
        move[free] = -linalg.cho_solve(linalg.cho_factor(exact), gradient)
        new = objective(x + move)
        rounding = 1e-12 * abs(point.deviance) + 1e-10
        if new.deviance > point.deviance + rounding:
            break
        x, point = x + move, new
    return exact, point, _fall(point.gradient[free], exact)


def _fall(gradient: Floats, hessian: Floats) -> float:
    """Fall of the deviance to the minimum of its parabola; infinite where there is none."""
    try:
        return 0.5 * float(gradient @ linalg.cho_solve(linalg.cho_factor(hessian), gradient))
    except linalg.LinAlgError:
        return float("inf")


def _starting_hessian(objective: Objective, x: Floats) -> Floats:
    """Curvature in beta from the weights, in theta and across by differences; positive definite."""
    cells = objective.cells
    k = cells.design.n_theta
    modes = find_modes(cells, x[:k], x[k:], objective.effects)
    precision = cells.fixed_precision(modes)
    steps = np.full(x.size, 1e-3)
    columns = central_differences(lambda at: objective(at).gradient, x, steps, range(k))
    inner = 2.0 * precision
    factor = linalg.cho_factor(inner)
    across = columns[k:]
    beyond = columns[:k] - across.T @ linalg.cho_solve(factor, across)
    out = np.empty((x.size, x.size))
    out[k:, k:] = inner
    out[k:, :k], out[:k, k:] = across, across.T
    out[:k, :k] = positive(beyond, floor=0.1) + across.T @ linalg.cho_solve(factor, across)
    return out


def canonical(design: MixedDesign, theta: Floats, zero: float = 0.0) -> Floats:
    """Return the theta of the same covariances whose factors have no negative diagonal.

    A column whose diagonal entry is at most `zero` is set to 0; what it carried goes to later columns, so that a singular
    covariance has one theta only.
    """
    out: list[Floats] = []
    for factor in design.factors(theta):
        made = semidefinite_factor(factor @ factor.T, np.full(len(factor), zero**2))
        out.append(made[lower_entries(len(factor))])
    return np.concatenate(out)


def held_entries(design: MixedDesign, theta: Floats) -> "np.ndarray[tuple[int], np.dtype[np.bool_]]":
    """Say which entries of theta belong to columns that are 0."""
    out: list[bool] = []
    for factor in design.factors(theta):
        for j in range(len(factor)):
            out += [bool(factor[j, j] == 0.0)] * (len(factor) - j)
    return np.array(out)


def _try_zeros(design: MixedDesign, point: DeviancePoint, evaluate: Callable[[Floats], DeviancePoint]) -> DeviancePoint:
    """Return the point with small standard deviations set to 0 wherever the deviance does not rise by it."""
    best = point
    start = canonical(design, point.theta)
    first = 0
    for term, factor in zip(design.terms, design.factors(start), strict=True):
        at = slice(first, first + term.n_theta)
        small = [size for size in np.diag(factor).tolist() if size < TRY_ZERO]
        for size in sorted(small, reverse=True):
            theta = canonical(design, best.theta)
            theta[at] = canonical(design, theta, size)[at]
            new = evaluate(theta)
            if new.deviance <= best.deviance + EVEN:
                best = new
                break
        first += term.n_theta
    if best is point and not np.array_equal(start, point.theta):
        best = evaluate(start)
    return best


LARGE = 10.0  # logits: no grouping of real outcomes has such a standard deviation
DESIGNS_IN_CACHE = 4
_SEEN: dict[tuple[int, ...], tuple[MixedDesign, BinomialCells]] = {}


def _make_fit(
    cells: BinomialCells, optimum: BinomialOptimum, n_quadrature: int, penalty: str, warnings: tuple[str, ...]
) -> MixedFit:
    """Put a fit together from where the search ended: uncertainty, modes, and an account in words."""
    design, point = cells.design, optimum.point
    method: Method = "nAGQ=0" if n_quadrature == 0 else "Laplace" if n_quadrature == 1 else "AGHQ"
    modes = find_modes(cells, point.theta, point.beta, point.effects)
    given_theta = linalg.inv(cells.fixed_precision(modes))
    joint, curvature = _joint_covariance(optimum)
    k = design.n_theta
    problems = list(warnings)
    settled = optimum.settled
    if optimum.hessian is not None and joint is None:
        settled = False
        problems.append("the Hessian at the end is not positive definite; standard errors are those given theta")
    # Slopes in all that is not held; in theta alone where beta is profiled out.
    gradient = np.concatenate([point.gradient[:k][~optimum.held], point.gradient[k:]])
    if not settled:
        left = f"could still fall by about {optimum.fall:.2g}" if np.isfinite(optimum.fall) else "is not at a minimum"
        problems.append(
            f"the fit did not converge: after {optimum.n_evaluations} evaluations the deviance {left}; "
            "simplify the random effects"
        )
    for term, factor in zip(design.terms, design.factors(point.theta), strict=True):
        largest = float(np.sqrt((factor**2).sum(axis=1)).max())
        if largest > LARGE and term.is_intercept:
            problems.append(
                f"the standard deviation of {term.group} is estimated as {largest:.3g} logits, as where it runs to infinity: "
                "nearly all of its levels have only successes or only failures, and the estimate says no more than that"
            )
    return MixedFit(
        family="binomial",
        method=method,
        design=design,
        theta=point.theta,
        sigma=1.0,
        beta=point.beta,
        covariance=given_theta if joint is None else joint[k:, k:],
        # Of the data alone: what a prior adds would not be the same in a model without the separated cells.
        log_likelihood=design.log_constant - 0.5 * point.deviance - cells.pseudo.log_likelihood(point.beta),
        effects=_effects(cells, modes),
        effect_covariances=_effect_covariances(cells, modes),
        convergence=Convergence(
            converged=settled,
            message="converged" if settled else "did not converge",
            n_evaluations=optimum.n_evaluations,
            gradient=float(np.abs(gradient).max(initial=0.0)),
            curvature=curvature,
        ),
        n_quadrature=n_quadrature,
        joint_covariance=joint,
        singular=_singular(design, point.theta),
        penalty=penalty,
        warnings=tuple(problems),
    )


def _joint_covariance(optimum: BinomialOptimum) -> tuple[Floats | None, float | None]:
    """Twice the inverse of the Hessian of the deviance, 0 for what is held; None where it is not positive definite."""
    if optimum.hessian is None:
        return None, None
    curvature = float(np.linalg.eigvalsh(optimum.hessian)[0])
    if not curvature > 0.0:
        return None, curvature
    size = optimum.held.size + optimum.point.beta.size
    free = np.flatnonzero(np.concatenate([~optimum.held, np.ones(optimum.point.beta.size, dtype=bool)]))
    out = np.zeros((size, size))
    out[np.ix_(free, free)] = 2.0 * linalg.inv(optimum.hessian)
    return out, curvature


def _singular(design: MixedDesign, theta: Floats) -> tuple[str, ...]:
    out: list[str] = []
    for term, factor in zip(design.terms, design.factors(theta), strict=True):
        spread = np.sqrt((factor**2).sum(axis=1))
        zero = [name for name, size in zip(term.columns, spread, strict=True) if size == 0.0]
        if term.n_columns == 1 and zero:
            what = "" if term.is_intercept else f" of {term.columns[0]}"
            out.append(f"the variance{what} of {term.group} is estimated as 0")
        elif zero:
            out.append(f"the variance of {', '.join(zero)} of {term.group} is estimated as 0")
        elif (np.diag(factor) == 0.0).any():
            out.append(f"the effects of {term.group} are estimated as perfectly correlated")
    return tuple(out)


def _effects(cells: BinomialCells, modes: Modes) -> tuple[Floats, ...]:
    """Conditional modes of every term, on the logit scale."""
    turned = [e @ u for e, u in zip(modes.elimination.factors, modes.effects, strict=True)]
    return _by_term(cells, turned, lambda effects, own: effects[own].T)


def _effect_covariances(cells: BinomialCells, modes: Modes) -> tuple[Floats, ...]:
    """Conditional covariances of the effects of every term, on the logit scale."""
    blocks = zip(modes.elimination.factors, invert(modes.elimination).blocks, strict=True)
    spreads = [np.moveaxis(np.einsum("ik,klm,jl->mij", factor, within, factor), 0, -1) for factor, within in blocks]
    return _by_term(cells, spreads, lambda spread, own: spread[own, own].transpose(2, 0, 1))


def _by_term(cells: BinomialCells, blocks: list[Floats], part: Callable[[Floats, slice], Floats]) -> tuple[Floats, ...]:
    """Divide arrays of blocks, levels running last, into those of their terms."""
    found: dict[int, Floats] = {}
    for block, values in zip(cells.plan.blocks, blocks, strict=True):
        # The levels of a leaf are numbered as the cells are.
        ordered = values if block.given is None else values[..., np.argsort(block.given, kind="stable")]
        first = 0
        for term in block.terms:
            own = slice(first, first + cells.design.terms[term].n_columns)
            found[term], first = part(ordered, own).copy(), own.stop
    return tuple(found[t] for t in range(len(cells.design.terms)))


@one_thread
def fit_binomial(design: MixedDesign, *, n_quadrature: int = 1, start: Floats | None = None) -> MixedFit:
    """Fit a binomial mixed model with a logit link by maximum likelihood, from `start` or standard deviations of 1.

    logit P(success) = X beta + Z b + offset, b ~ N(0, Lambda Lambda'). The integral over b has no closed form. `n_quadrature`
    is 1 for Laplace's approximation at the conditional modes, optimised over theta and beta together; odd and at least 3 for
    adaptive Gauss-Hermite quadrature about them (one scalar random effect), which tells by how much Laplace's approximation
    understates variances where each level has few trials; 0 finds beta with the modes, fast and biased towards 0 a little.
    Bates et al. 2015, doi:10.18637/jss.v067.i01; Pinheiro & Chao 2006, doi:10.1198/106186006X96962.

    Where a combination of the fixed effects has only successes or only failures, so that the likelihood has no maximum, half a
    success and half a failure are added to it, and the fit says so. `log_likelihood` includes `design.log_constant`; it is that
    of the data, also where a prior was used. `covariance` and `joint_covariance` come from the Hessian of the deviance in
    (theta, beta) together; for n_quadrature=0 `covariance` is given theta, and there is no joint one.

    InputError: the response is no share of whole successes, X is rank deficient, a grouping has one level, the arguments do not
    fit. CannotAnswerError: all trials end alike; a grouping is seen once a level.
    """
    if n_quadrature < 0 or (n_quadrature > 1 and n_quadrature % 2 == 0):
        raise InputError(f"n_quadrature is {n_quadrature}; give 0, 1 (Laplace) or an odd number of points from 3")
    if n_quadrature > 1 and (len(design.terms) != 1 or design.terms[0].n_columns != 1):
        what = " + ".join(f"({' + '.join(term.columns)}|{term.group})" for term in design.terms)
        raise InputError(
            f"quadrature with {n_quadrature} points is for one scalar random effect, and the model has {what}; "
            "use n_quadrature=1 (Laplace)"
        )
    warnings = check_binomial(design)
    cells, penalty, said = _answer_separation(_cells_of(design))
    theta = _starting_theta(design) if start is None else start
    rough = profiled_optimum(cells, theta, np.zeros(len(design.fixed_names)))
    if n_quadrature == 0:
        return _make_fit(cells, rough, 0, penalty, (*warnings, *said))
    optimum = joint_optimum(cells, laplace, _away_from_zero(rough), with_hessian=n_quadrature == 1)
    if n_quadrature > 1:
        optimum = joint_optimum(cells, _criterion(n_quadrature), _away_from_zero(optimum))
    return _make_fit(cells, optimum, n_quadrature, penalty, (*warnings, *said))


@one_thread
def refit_binomial(fit: MixedFit, response: Floats) -> MixedFit:
    """Fit the same model to other shares of successes, from where `fit` ended: for a parametric bootstrap.

    `log_constant` stays that of `fit` and cancels in comparisons of fits to the same response. No Hessian is computed:
    `covariance` is that given theta, and `joint_covariance` None.
    """
    design = replace(fit.design, response=np.asarray(response, dtype=np.float64))
    warnings = check_binomial(design)
    cells, penalty, said = _answer_separation(_cells_of(design))
    small_guess = 0.3 * _starting_theta(design)
    theta = np.where(fit.theta == 0.0, small_guess, fit.theta)
    if fit.n_quadrature == 0:
        optimum = profiled_optimum(cells, theta, fit.beta)
    else:
        start = DeviancePoint(theta, fit.beta, 0.0, np.empty(0), cells.no_effects())
        optimum = joint_optimum(cells, _criterion(fit.n_quadrature), start, with_hessian=False)
    return _make_fit(cells, optimum, fit.n_quadrature, penalty, (*warnings, *said))


def binomial_given_theta(fit: MixedFit) -> Callable[[Floats], tuple[MixedFit, float]]:
    """Return what fits the same model at any theta, and gives the logarithm of the likelihood of theta, up to a constant.

    beta is at the mode that it shares with the effects, and that likelihood is integrated over both by Laplace's approximation,
    with a flat prior of beta: the counterpart of the restricted one. The covariance of beta is that given theta; those of the
    effects are left out. Each search for a mode begins where the last one ended.
    """
    cells, _, _ = _answer_separation(_cells_of(fit.design))
    last = [(fit.beta, cells.no_effects())]

    @one_thread
    def at(theta: Floats) -> tuple[MixedFit, float]:
        modes = find_modes(cells, theta, *last[0], with_fixed=True)
        last[0] = (modes.beta, modes.effects)
        covariance = linalg.inv(cells.fixed_precision(modes))
        likelihood = 0.5 * (float(np.linalg.slogdet(covariance)[1]) - deviance_at(modes))
        found = replace(
            fit,
            theta=theta,
            beta=modes.beta,
            covariance=covariance,
            joint_covariance=None,
            effects=_effects(cells, modes),
            effect_covariances=(),
        )
        return found, likelihood

    return at


@one_thread
def cluster_scores(fit: MixedFit, clusters: Ints) -> Floats:
    """Return the derivative of every cluster's part of the log-likelihood in (theta, beta), at a Laplace or quadrature fit.

    `clusters` has a code from 0 for each cell; every level of every random effect lies in one cluster, so that the likelihood is
    a product over clusters. The columns, shape (n_clusters, n_theta + n_fixed), add up to about 0, except for what a prior adds
    where one was used and entries of theta that are held at 0.
    """
    design = fit.design
    cells = _cells_of(design)
    modes = find_modes(cells, fit.theta, fit.beta, cells.no_effects())
    scores = cell_scores(cells, modes) if fit.n_quadrature == 1 else integrate(cells, modes, fit.n_quadrature)[1]
    by_cell = np.vstack([scores.theta, scores.fixed * design.fixed.at().T])
    return -np.array([np.bincount(clusters, weights=row) for row in by_cell], dtype=np.float64).T


def _answer_separation(cells: BinomialCells) -> tuple[BinomialCells, str, tuple[str, ...]]:
    separation = find_separation(cells.design)
    if separation is None:
        return cells, "", ()
    penalty, warning = answer_in_words(separation)
    return cells.with_prior(separation.prior()), penalty, (warning,)


def _criterion(n_quadrature: int) -> Criterion:
    return laplace if n_quadrature == 1 else partial(quadrature, n_points=n_quadrature)


def _starting_theta(design: MixedDesign) -> Floats:
    """1 on every diagonal, 0 off it."""
    parts = [np.eye(term.n_columns)[np.triu_indices(term.n_columns)] for term in design.terms]
    return np.asarray(np.concatenate(parts), dtype=np.float64)


def _away_from_zero(optimum: BinomialOptimum) -> DeviancePoint:
    """Return the optimum as a start: a variance of 0 is a stationary point and would be kept for ever."""
    point = optimum.point
    return point._replace(theta=np.where(optimum.held, 0.1, point.theta))


def _cells_of(design: MixedDesign) -> BinomialCells:
    """Return the cells of a design; the plan of elimination is that of an earlier response where there was one."""
    key = (id(design.fixed), id(design.terms))
    if key not in _SEEN:
        cells = BinomialCells(design)
        check_rank(design.fixed, design.fixed_names)
        _SEEN[key] = (design, cells)
        if len(_SEEN) > DESIGNS_IN_CACHE:
            del _SEEN[next(iter(_SEEN))]
    return _SEEN[key][1].with_response(design)
