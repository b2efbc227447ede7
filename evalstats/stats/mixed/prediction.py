"""Errors of fixed effects and predicted random effects together: what a prediction for a named level rests on."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy.sparse import csc_array, csr_array, diags_array, hstack
from scipy.sparse.linalg import splu

from evalstats.errors import InputError
from evalstats.stats.mixed.design import Floats, RandomTerm
from evalstats.stats.mixed.fit import MixedFit


def prediction_covariance(fit: MixedFit, terms: Sequence[int]) -> Floats:
    """Covariance of (beta - its estimate, b - its prediction) for the fixed effects and the effects of some terms.

    Henderson's mixed-model equations; the effects of all other terms are eliminated. It holds theta as estimated. For a
    binomial fit the equations are those of the last weighted step, the usual approximation.

    Parameters
    ----------
    fit
        A fitted model.
    terms
        Places in `fit.design.terms` of the terms wanted, each once; none for the fixed effects alone. Effects whose variance is
        estimated as 0 are 0 without error.

    Returns
    -------
    numpy.ndarray
        float64, shape (n_fixed + n_effects,) squared: fixed effects first, then term by term, levels in order, a level's
        effects together.

    Raises
    ------
    InputError
        If a place is no term's, or given twice.

    References
    ----------
    Henderson 1975, doi:10.2307/2529430.

    Examples
    --------
    Three groups of four rows, with means -1, 0 and 1 and a sum of squares of 9 within groups. The residual variance is 9 / 9;
    the mean square between groups, 4, is 1 + 4 tau^2, so that tau^2 is 3 / 4. The mean of all has the variance 4 / 12. An
    effect given the mean has 3 / 4 x (1 - 3 / 4), and what is not known of the mean adds (3 / 4)^2 x 4 / 12.

    >>> from evalstats.stats.mixed.design import MixedDesign
    >>> from evalstats.stats.mixed.linear import fit_linear
    >>> groups = RandomTerm(
    ...     group="item", columns=("(Intercept)",), levels=("a", "b", "c"), level=np.arange(3), values=np.ones((3, 1))
    ... )
    >>> design = MixedDesign(
    ...     fixed=np.ones((3, 1)),
    ...     fixed_names=("(Intercept)",),
    ...     terms=(groups,),
    ...     count=np.full(3, 4.0),
    ...     response=np.array([-1.0, 0.0, 1.0]),
    ...     within=9.0,
    ... )
    >>> found = prediction_covariance(fit_linear(design), [0])
    >>> [round(float(entry), 4) for entry in found[0]], round(float(found[1, 1]), 4)
    ([0.3333, -0.25, -0.25, -0.25], 0.375)
    """
    design = fit.design
    if len(set(terms)) < len(terms) or not all(0 <= k < len(design.terms) for k in terms):
        message = f"terms are {list(terms)}; give places from 0 to {len(design.terms) - 1}, each once"
        raise InputError(message)
    weights = _weights(fit)
    factors = design.factors(fit.theta)
    wanted = [_columns(design.terms[k]) for k in terms]
    others = [k for k in range(len(design.terms)) if k not in set(terms)]
    # Columns are Z Lambda, so that the penalty is the identity and a variance of 0 needs no inverse.
    kept = hstack([csr_array(design.fixed), *(_scaled(design.terms[k], factors[k]) for k in terms)], format="csc")
    weighted = diags_array(weights, format="csc") @ kept
    system = np.asarray((kept.T @ weighted).todense(), dtype=np.float64)
    n_fixed = design.fixed.shape[1]
    system[n_fixed:, n_fixed:] += np.eye(system.shape[0] - n_fixed)
    if others:
        out = hstack([_scaled(design.terms[k], factors[k]) for k in others], format="csc")
        crossed = np.asarray((out.T @ weighted).todense(), dtype=np.float64)
        inner = out.T @ (diags_array(weights, format="csc") @ out) + diags_array(np.ones(out.shape[1]), format="csc")
        system -= crossed.T @ splu(csc_array(inner)).solve(crossed)
    spherical = fit.sigma**2 * np.linalg.inv((system + system.T) / 2)
    back = np.eye(system.shape[0])
    start = n_fixed
    for k, n_columns in zip(terms, wanted, strict=True):
        block = np.kron(np.eye(design.terms[k].n_levels), factors[k])
        back[start : start + n_columns, start : start + n_columns] = block
        start += n_columns
    covariance = back @ spherical @ back.T
    return np.asarray((covariance + covariance.T) / 2, dtype=np.float64)


def linear_predictor(fit: MixedFit) -> Floats:
    """Linear predictor of every cell at the conditional modes, shape (n_cells,)."""
    design = fit.design
    eta = design.fixed @ fit.beta
    if design.offset is not None:
        eta = eta + design.offset
    for term, effects in zip(design.terms, fit.effects, strict=True):
        eta = eta + (term.values * effects[term.level]).sum(axis=1)
    return np.asarray(eta, dtype=np.float64)


def _weights(fit: MixedFit) -> Floats:
    if fit.family == "gaussian":
        return fit.design.count
    # expit'(eta), from the smaller tail so that it does not round to 0 too soon.
    small = np.exp(-np.abs(linear_predictor(fit)))
    return fit.design.count * small / (1 + small) ** 2


def _columns(term: RandomTerm) -> int:
    return term.n_levels * term.n_columns


def _scaled(term: RandomTerm, factor: npt.NDArray[np.float64]) -> csr_array:
    """Z Lambda of one term as a sparse matrix."""
    values = term.values @ factor
    n = len(term.level)
    rows = np.repeat(np.arange(n), term.n_columns)
    columns = (term.level[:, None] * term.n_columns + np.arange(term.n_columns)).ravel()
    return csr_array((values.ravel(), (rows, columns)), shape=(n, _columns(term)))
