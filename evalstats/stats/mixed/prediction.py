"""Shrunken predictions for named levels: errors of a fit's predictions, and partial pooling of a table of estimates."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import minimize_scalar
from scipy.sparse import csc_array, csr_array, diags_array, hstack
from scipy.sparse.linalg import splu

from evalstats.errors import CannotAnswerError, InputError
from evalstats.stats.mixed.design import Floats, MixedFit
from evalstats.stats.mixed.structure import term_columns

# Golden-section steps end when the variance is known to this share of the largest that is tried.
_TOLERANCE = 1e-8
_RIDGE = 1e-9


def prediction_covariance(fit: MixedFit, terms: Sequence[int]) -> Floats:
    """Covariance of (beta - its estimate, b - its prediction) for the fixed effects and the effects of some terms.

    Henderson's mixed-model equations (1975, doi:10.2307/2529430); the effects of all other terms are eliminated. It holds theta
    as estimated. For a binomial fit the equations are those of the last weighted step, the usual approximation.

    `terms` are places in `fit.design.terms`, each once; none for the fixed effects alone. The result, shape
    (n_fixed + n_effects,) squared, has the fixed effects first, then term by term, levels in order, a level's effects together.
    Effects whose variance is estimated as 0 are 0 without error.

    Examples
    --------
    Three groups of four rows, with means -1, 0 and 1 and a sum of squares of 9 within groups. The residual variance is 9 / 9;
    the mean square between groups, 4, is 1 + 4 tau^2, so that tau^2 is 3 / 4. The mean of all has the variance 4 / 12. An
    effect given the mean has 3 / 4 x (1 - 3 / 4), and what is not known of the mean adds (3 / 4)^2 x 4 / 12.

    >>> from evalstats.stats.mixed.design import MixedDesign, RandomTerm
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
    weights = fit.working_weights()
    factors = design.factors(fit.theta)
    wanted = [design.terms[k].n_levels * design.terms[k].n_columns for k in terms]
    others = [k for k in range(len(design.terms)) if k not in set(terms)]
    scaled = [
        term_columns(replace(term, values=term.values @ factor))
        for term, factor in zip(design.terms, factors, strict=True)
    ]
    # Columns are Z Lambda, so that the penalty is the identity and a variance of 0 needs no inverse.
    kept = hstack([csr_array(design.fixed), *(scaled[k] for k in terms)], format="csc")
    weighted = diags_array(weights, format="csc") @ kept
    system = np.asarray((kept.T @ weighted).todense(), dtype=np.float64)
    n_fixed = design.fixed.shape[1]
    system[n_fixed:, n_fixed:] += np.eye(system.shape[0] - n_fixed)
    if others:
        out = hstack([scaled[k] for k in others], format="csc")
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


@dataclass(frozen=True, slots=True, kw_only=True)
class PooledTable:
    """Cells of a table, partially pooled: predictions of the true cell values, NaN where there was no estimate.

    `covariance` is that of the errors of the predictions of the cells that have an estimate, in row-major order. It counts in
    that rows and columns are estimated, not that the variance is. `variance` is that of the interaction of rows and columns
    beyond noise (REML); 0 means that nothing beyond noise is seen, and every cell is the sum of its row and its column.
    `deviance_drop` is the fall of the REML criterion from variance 0 to the estimate; half a chi-squared with 1 df under
    variance 0.
    """

    values: Floats
    covariance: Floats
    variance: float
    deviance_drop: float


def pooled_table(estimates: Floats, covariance: Floats) -> PooledTable:
    """Predict the true values of a table of cells whose interaction is random: y = row + column + b + e.

    b ~ N(0, tau^2) independently, e ~ N(0, V) with V known. tau^2 is estimated by REML; the predictions are the best linear
    unbiased ones at that value, which is empirical Bayes. The estimate of tau^2 is noisy where there are few cells; the
    prediction errors do not count that in. Morris 1983, doi:10.2307/2287098; Harville 1977, doi:10.2307/2286796.

    Parameters
    ----------
    estimates
        float64, shape (n_rows, n_columns); NaN where a cell has none. At least two rows and two columns.
    covariance
        float64, the covariance V of the cells that have an estimate, in row-major order.

    Raises
    ------
    InputError
        If an estimate is infinite, or a variance is none.
    CannotAnswerError
        If no degree of freedom is left for the interaction, or no estimate has any error.

    Examples
    --------
    >>> found = pooled_table(np.array([[0.0, 1.0], [1.0, 2.0]]), 0.01 * np.eye(4))
    >>> found.variance, np.abs(found.values - [[0, 1], [1, 2]]).max() < 1e-9
    (0.0, np.True_)
    """
    has = ~np.isnan(estimates)
    y = estimates[has]
    if not (np.isfinite(y).all() and np.isfinite(covariance).all() and (np.diag(covariance) >= 0).all()):
        message = "an estimate is infinite, or a variance is negative or no number"
        raise InputError(message)
    if not np.diag(covariance).max(initial=0.0) > 0:
        message = "no estimate has any error; cells that are known exactly are not pooled"
        raise CannotAnswerError(message)
    design = _row_and_column(has)
    if design.shape[1] >= len(y):
        message = f"{len(y)} cells leave no degree of freedom for an interaction of rows and columns"
        raise CannotAnswerError(message)
    scale = float(np.mean(np.diag(covariance)))
    noise = covariance + _RIDGE * scale * np.eye(len(y))
    top = max(float(np.var(y)), scale) * 4
    found = minimize_scalar(
        lambda root: _criterion(y, design, noise, float(root) ** 2),
        bounds=(0.0, top**0.5),
        method="bounded",
        options={"xatol": _TOLERANCE * top**0.5},
    )
    at_zero = _criterion(y, design, noise, 0.0)
    variance = 0.0 if found.fun >= at_zero - 1e-6 else float(found.x) ** 2
    values, errors = _predictions(y, design, noise, variance)
    table = np.full(estimates.shape, np.nan)
    table[has] = values
    return PooledTable(
        values=table,
        covariance=errors,
        variance=variance,
        deviance_drop=max(0.0, at_zero - float(found.fun)) if variance else 0.0,
    )


def _row_and_column(has: npt.NDArray[np.bool_]) -> Floats:
    """Orthogonal basis of all sums of a row and a column; empty rows and columns have no part in it."""
    rows, columns = np.nonzero(has)
    by_row = (rows[:, None] == np.unique(rows)).astype(np.float64)
    by_column = (columns[:, None] == np.unique(columns)).astype(np.float64)
    # One column too many, and one more for every part of the table that shares no row or column with the rest.
    left, size, _ = np.linalg.svd(np.hstack([by_row, by_column]), full_matrices=False)
    return left[:, size > _RIDGE * size[0]]


def _criterion(y: Floats, design: Floats, noise: Floats, variance: float) -> float:
    """Minus twice the restricted log-likelihood, without constants."""
    factor = cho_factor(noise + variance * np.eye(len(y)), lower=True)
    whitened = cho_solve(factor, design)
    information = design.T @ whitened
    beta = np.linalg.solve(information, whitened.T @ y)
    rest = y - design @ beta
    log_determinant = 2 * float(np.log(np.diag(factor[0])).sum()) + float(np.linalg.slogdet(information)[1])
    return log_determinant + float(rest @ cho_solve(factor, rest))


def _predictions(y: Floats, design: Floats, noise: Floats, variance: float) -> tuple[Floats, Floats]:
    """Predict the true values, and give the covariance of the errors (Harville 1977).

    With K = tau^2 (V + tau^2 I)^-1 the prediction is X b + K (y - X b), and its error has covariance
    (tau^2 I - K tau^2) + (X - K X) (X' W X)^-1 (X - K X)'.
    """
    inverse = np.linalg.inv(noise + variance * np.eye(len(y)))
    spread = np.linalg.inv(design.T @ inverse @ design)
    beta = spread @ (design.T @ (inverse @ y))
    gain = variance * inverse
    left = design - gain @ design
    errors = variance * (np.eye(len(y)) - gain) + left @ spread @ left.T
    return design @ beta + gain @ (y - design @ beta), (errors + errors.T) / 2
