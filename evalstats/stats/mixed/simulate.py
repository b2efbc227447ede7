"""Responses drawn from a fitted mixed model, with new random effects: what the data might have been."""

from dataclasses import dataclass, replace

import numpy as np
from scipy import special

from evalstats.stats.checks import check_count
from evalstats.stats.mixed.design import Floats, MixedDesign
from evalstats.stats.mixed.fit import MixedFit


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulated:
    """Drawn data sets as their sufficient statistics.

    Attributes
    ----------
    responses
        float64, shape (n, n_cells): mean of the rows of each cell, or share of successes.
    within
        float64, shape (n,): sum of squares of the rows about the mean of their cell; 0 for the binomial family.
    """

    responses: Floats
    within: Floats


def simulate(fit: MixedFit, rng: np.random.Generator, n: int = 1) -> Simulated:
    """Draw `n` data sets of the same design from a fitted model.

    Random effects are drawn anew from their estimated covariance, not kept at their predictions. Rows are not drawn: the
    mean of a cell of m rows is normal with variance sigma^2 / m, and the squares within cells are sigma^2 chi-squared.

    Parameters
    ----------
    fit
        A linear or binomial fit.
    rng
        The source of all draws.
    n
        Data sets.

    Examples
    --------
    A binomial cell of 4 trials has a share in quarters:

    >>> from evalstats.stats.mixed.fit import Convergence, MixedFit
    >>> from evalstats.stats.mixed.design import MixedDesign
    >>> design = MixedDesign(
    ...     fixed=np.ones((2, 1)), fixed_names=("(Intercept)",), terms=(), count=np.full(2, 4.0), response=np.full(2, 0.5)
    ... )
    >>> fit = MixedFit(
    ...     family="binomial", method="Laplace", design=design, theta=np.zeros(0), sigma=1.0, beta=np.zeros(1),
    ...     covariance=np.eye(1), log_likelihood=0.0, effects=(), effect_covariances=(),
    ...     convergence=Convergence(converged=True, message="", n_evaluations=0),
    ... )
    >>> drawn = simulate(fit, np.random.default_rng(0), 3).responses
    >>> drawn.shape, bool(np.all(drawn * 4 % 1 == 0))
    ((3, 2), True)
    """  # fmt: skip
    n = check_count(n, "n", least=1)
    design = fit.design
    eta = linear_predictors(fit, rng, n)
    if fit.family == "binomial":
        trials = np.round(design.count).astype(np.int64)
        shares = rng.binomial(trials, special.expit(eta)) / design.count
        return Simulated(responses=shares, within=np.zeros(n))
    noise = rng.standard_normal((n, design.n_cells)) / np.sqrt(design.count)
    free = design.n_rows - design.n_cells
    within = fit.sigma**2 * rng.chisquare(free, n) if free > 0 else np.zeros(n)
    return Simulated(responses=eta + fit.sigma * noise, within=within)


def linear_predictors(fit: MixedFit, rng: np.random.Generator, n: int) -> Floats:
    """Draw linear predictors with new random effects, shape (n, n_cells)."""
    design = fit.design
    eta = np.tile(design.fixed @ fit.beta + (0.0 if design.offset is None else design.offset), (n, 1))
    for term, factor in zip(design.terms, design.factors(fit.theta), strict=True):
        effects = fit.sigma * rng.standard_normal((n, term.n_levels, term.n_columns)) @ factor.T
        eta += np.einsum("ncj,cj->nc", effects[:, term.level], term.values)
    return eta


def with_responses(design: MixedDesign, response: Floats, within: float) -> MixedDesign:
    """Return the design with other responses, such as one of `simulate`."""
    return replace(design, response=response, within=within)
