"""Predictions of random effects that count what is not known of their standard deviations."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from scipy.optimize import brentq

from evalstats.errors import CannotAnswerError
from evalstats.stats.mixed.binomial import binomial_given_theta
from evalstats.stats.mixed.design import Floats, MixedFit
from evalstats.stats.mixed.linear import linear_given_theta
from evalstats.stats.mixed.prediction import PredictionErrors, prediction_errors, reduced_system

# Points along each standard deviation, by how many there are.
_POINTS = {1: 9, 2: 7, 3: 5}
_FEWEST = 3
# The lattice ends where the likelihood has fallen by this factor's logarithm.
_FALL = 4.5
_MOST_DOUBLINGS = 40
# An end of the lattice is known to this share of its distance from the estimate.
_END = 0.05
# Points of less weight are left out.
_NEGLIGIBLE = 1e-3

Given = Callable[[Floats], tuple[MixedFit, float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictiveLaw:
    """A mixture of what is predicted at several values of some standard deviations.

    `fits` are the model at each of them, `weights`, shape (n_points,), their shares, which sum to 1, and `errors` those of the
    predictions there.
    """

    fits: tuple[MixedFit, ...]
    weights: Floats
    errors: tuple[PredictionErrors, ...]

    def mean(self, values: Floats) -> Floats:
        """Return the mean of what is predicted; `values` has a row for each point."""
        return np.asarray(self.weights @ values, dtype=np.float64)

    def variance(self, values: Floats, variances: Floats) -> Floats:
        """Return the variance of what is predicted: within the points, and between them; a row for each point."""
        return self.mean(variances + (values - self.mean(values)) ** 2)


def predictive_law(fit: MixedFit, terms: Sequence[int]) -> PredictiveLaw:
    """Average the predictions of some random intercepts over the likelihood of their standard deviations.

    Errors of predictions at the estimated standard deviations take those for known. Where an estimate is 0 by chance, all levels
    are predicted alike, and nothing of what they differ by is in the interval. Here predictions are made at the points of a
    lattice (Gauss-Legendre, out to where the likelihood has fallen by e^-4.5), each with the weight of its restricted likelihood
    and a flat prior of each standard deviation; all other variances are held at their estimates. Linear models: of standard
    deviations relative to the residual one, which is at its best at each point. Rue, Martino & Chopin 2009,
    doi:10.1111/j.1467-9868.2008.00700.x, section 3; for the prior Gelman 2006, doi:10.1214/06-BA117A: flat needs five levels.

    `terms` are places in `fit.design.terms`, random intercepts. A fit that did not converge gives one point: its own.

    Examples
    --------
    Six groups of two rows, whose means differ by less than chance would have it: the estimate is 0, and so is the error given it.

    >>> from evalstats.stats.mixed.design import MixedDesign, RandomTerm
    >>> from evalstats.stats.mixed.linear import fit_linear
    >>> groups = RandomTerm(
    ...     group="scenario",
    ...     columns=("(Intercept)",),
    ...     levels=tuple("abcdef"),
    ...     level=np.arange(6),
    ...     values=np.ones((6, 1)),
    ... )
    >>> design = MixedDesign(
    ...     fixed=np.ones((6, 1)),
    ...     fixed_names=("(Intercept)",),
    ...     terms=(groups,),
    ...     count=np.full(6, 2.0),
    ...     response=np.array([-0.3, 0.2, 0.1, 0.0, -0.2, 0.2]),
    ...     within=6.0,
    ... )
    >>> fit = fit_linear(design)
    >>> law = predictive_law(fit, [0])
    >>> effects = np.stack([each.effects[0].ravel() for each in law.fits])
    >>> errors = np.stack([each.variance(np.eye(7)[1:]) for each in law.errors])
    >>> float(fit.theta[0]), bool((law.variance(effects, errors) > 0.01).all())
    (0.0, True)
    """
    at = binomial_given_theta(fit) if fit.family == "binomial" else linear_given_theta(fit)
    points = _lattice(fit, at, terms) if terms and fit.convergence.converged else []
    if not points:
        return PredictiveLaw(fits=(fit,), weights=np.ones(1), errors=(prediction_errors(fit, terms),))
    weights = _shares(np.array([height for _, height in points]))
    kept = [k for k, weight in enumerate(weights) if weight > _NEGLIGIBLE * weights.max()]
    fits = tuple(points[k][0] for k in kept)
    # Working weights of a binomial model change with the standard deviations.
    reduced = None if fit.family == "binomial" else reduced_system(fit, terms)
    return PredictiveLaw(
        fits=fits,
        weights=weights[kept] / weights[kept].sum(),
        errors=tuple(prediction_errors(each, terms, reduced) for each in fits),
    )


def _shares(heights: Floats) -> Floats:
    raw = np.exp(heights - heights.max())
    return np.asarray(raw / raw.sum(), dtype=np.float64)


def _lattice(fit: MixedFit, at: Given, terms: Sequence[int]) -> list[tuple[MixedFit, float]]:
    """Return the model at each point of the lattice, with the logarithm of the point's weight."""
    sizes = [term.n_theta for term in fit.design.terms]
    places = [sum(sizes[:k]) for k in terms]
    nodes, shares = np.polynomial.legendre.leggauss(_POINTS.get(len(terms), _FEWEST))
    axes: list[list[tuple[float, float]]] = []
    for k, place in zip(terms, places, strict=True):
        low, high = _ends(fit, at, term=k, place=place)
        axes.append(list(zip(low + (high - low) * (nodes + 1) / 2, np.log(shares), strict=True)))
    out: list[tuple[MixedFit, float]] = []
    for point in product(*axes):
        theta = fit.theta.copy()
        theta[places] = [value for value, _ in point]
        try:
            found, likelihood = at(theta)
        except CannotAnswerError:
            # Effects that fit the response exactly.
            continue
        out.append((found, likelihood + sum(share for _, share in point)))
    return out


def _ends(fit: MixedFit, at: Given, *, term: int, place: int) -> tuple[float, float]:
    """Return where the likelihood has fallen far, below and above the estimate, the other standard deviations held."""
    estimate = float(fit.theta[place])
    top = at(fit.theta)[1]

    def left(value: float) -> float:
        """Roots are nearly straight lines where the likelihood is a parabola."""
        theta = fit.theta.copy()
        theta[place] = value
        try:
            return float(np.sqrt(_FALL) - np.sqrt(max(top - at(theta)[1], 0.0)))
        except CannotAnswerError:
            return -float(np.sqrt(_FALL))

    step = 1 / np.sqrt(fit.working_weights().sum() / fit.design.terms[term].n_levels)
    inner, outer = estimate, estimate + step
    for _ in range(_MOST_DOUBLINGS):
        if left(outer) <= 0:
            break
        inner, outer = outer, estimate + 2 * (outer - estimate)
    else:
        return 0.0, outer
    high = float(brentq(left, inner, outer, xtol=_END * (outer - estimate)))
    low = 0.0 if left(0.0) >= 0 else float(brentq(left, 0.0, estimate, xtol=_END * estimate))
    return low, high
