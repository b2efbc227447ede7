"""statsmodels as a second engine for small linear models: a cross-check that shares no code with ours."""

import math
import warnings
from typing import Any

import numpy as np
from scipy import linalg

from evalstats.analysis.mixing.frame import ModelFrame
from evalstats.errors import CannotAnswerError, InputError
from evalstats.stats.mixed.design import Convergence, Floats, Ints, MixedDesign, MixedFit, RandomTerm

MOST_ROWS = 3000
MOST_EFFECTS = 600
_ZERO = 1e-4  # relative standard deviation below which statsmodels' answer is called a boundary


def fit_statsmodels(frame: ModelFrame, *, reml: bool = True) -> MixedFit:
    """Fit a small linear mixed model by statsmodels' MixedLM.

    Crossed and nested groupings are variance components of one group that holds all rows; correlated slopes are taken where
    one grouping is all there is. It is dense: its cost grows with the cube of the number of random effects.

    Raises
    ------
    InputError
        If the model is binomial (statsmodels has only a variational approximation, whose standard errors are several times
        too small, so it is not offered), larger than 3,000 rows or 600 random effects, or has correlated slopes beside another
        grouping.
    CannotAnswerError
        If statsmodels gives up.
    """
    design = frame.design
    _check(frame)
    y, at = _rows(design)
    x = design.fixed[at]
    alone = len(design.terms) == 1 and design.terms[0].n_columns > 1
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = _correlated(design, y, x, at, reml=reml) if alone else _components(design, y, x, at, reml=reml)
        except (np.linalg.LinAlgError, ValueError) as error:
            raise CannotAnswerError(
                f"statsmodels could not fit this model: {error}; use backend='evalstats'"
            ) from error
    scale = float(result.scale)
    theta = _theta_correlated(result, scale) if alone else _theta_components(result, design, scale)
    said = [f"statsmodels: {' '.join(str(item.message).split())}" for item in caught]
    return _made(design, result, theta, math.sqrt(scale), reml=reml, said=tuple(dict.fromkeys(said)))


def _check(frame: ModelFrame) -> None:
    design = frame.design
    if frame.family != "gaussian":
        raise InputError(
            "backend='statsmodels' is for linear models: its binomial mixed model is a mean-field variational approximation "
            "whose standard errors are several times too small, so it is no check; use backend='evalstats'"
        )
    if not design.terms:
        raise InputError(
            "backend='statsmodels' checks random effects, and the formula has none; use backend='evalstats'"
        )
    n_effects = sum(term.n_levels * term.n_columns for term in design.terms)
    if design.n_rows > MOST_ROWS or n_effects > MOST_EFFECTS:
        raise InputError(
            f"backend='statsmodels' is dense and fits at most {MOST_ROWS:,} rows and {MOST_EFFECTS:,} random effects; the model "
            f"has {design.n_rows:,} and {n_effects:,}. Use backend='evalstats'"
        )
    if len(design.terms) > 1 and any(term.n_columns > 1 for term in design.terms):
        raise InputError(
            "statsmodels has correlated slopes for one grouping alone; write them without correlation, (x || g), or use "
            "backend='evalstats'"
        )


def _rows(design: MixedDesign) -> tuple[Floats, Ints]:
    """Return responses of rows that stand for the cells, and the cell of each.

    The likelihood hangs on the spread inside cells only through its sum, so all of it goes to one cell of several rows.
    """
    at = np.repeat(np.arange(design.n_cells), design.count.astype(np.int64))
    y = design.response[at].copy()
    if design.within > 0.0:
        first = int(np.argmax(np.bincount(at) > 1))
        two = np.flatnonzero(at == first)[:2]
        y[two] += math.sqrt(design.within / 2.0) * np.array([1.0, -1.0])
    return y, at


def _fit(model: Any, *, reml: bool) -> Any:
    return model.fit(reml=reml, method=["bfgs", "lbfgs", "powell"], maxiter=500)


def _correlated(design: MixedDesign, y: Floats, x: Floats, at: Ints, *, reml: bool) -> Any:
    from statsmodels.regression.mixed_linear_model import MixedLM

    term = design.terms[0]
    return _fit(MixedLM(y, x, groups=term.level[at], exog_re=term.values[at]), reml=reml)


def _components(design: MixedDesign, y: Floats, x: Floats, at: Ints, *, reml: bool) -> Any:
    from statsmodels.regression.mixed_linear_model import MixedLM, VCSpec

    names = [f"{k}" for k in range(len(design.terms))]
    matrices = [[_indicator(term, at)] for term in design.terms]
    columns = [[list(term.levels)] for term in design.terms]
    groups = np.zeros(len(y), dtype=np.int64)
    return _fit(MixedLM(y, x, groups=groups, exog_vc=VCSpec(names, columns, matrices)), reml=reml)


def _indicator(term: RandomTerm, at: Ints) -> Floats:
    """Z of a term of one column: each row's value stands at its level."""
    z = np.zeros((len(at), term.n_levels))
    z[np.arange(len(at)), term.level[at]] = term.values[at, 0]
    return z


def _theta_correlated(result: Any, scale: float) -> Floats:
    relative = np.asarray(result.cov_re, dtype=np.float64) / scale
    values, vectors = np.linalg.eigh(relative)
    # A triangular root also where the covariance is singular: QR of a square root.
    root = np.asarray(linalg.qr((vectors * np.sqrt(values.clip(min=0.0))).T)[1]).T
    root = root * np.where(np.diag(root) < 0.0, -1.0, 1.0)
    columns, rows = np.triu_indices(len(root))
    return np.asarray(root[rows, columns], dtype=np.float64)


def _theta_components(result: Any, design: MixedDesign, scale: float) -> Floats:
    return np.sqrt(np.asarray(result.vcomp, dtype=np.float64).reshape(len(design.terms)).clip(min=0.0) / scale)


def _made(
    design: MixedDesign, result: Any, theta: Floats, sigma: float, *, reml: bool, said: tuple[str, ...]
) -> MixedFit:
    beta = np.asarray(result.fe_params, dtype=np.float64)
    n_fixed = len(beta)
    covariance = np.asarray(result.cov_params(), dtype=np.float64)[:n_fixed, :n_fixed]
    effects, spreads = _effects(design, theta, sigma, beta)
    singular = tuple(
        f"the variance of {term.group} is estimated as 0"
        for term, factor in zip(design.terms, design.factors(theta), strict=True)
        if bool(np.any(np.diag(factor) < _ZERO))
    )
    converged = bool(result.converged)
    message = "converged by statsmodels' account" if converged else "statsmodels reports no convergence"
    return MixedFit(
        family="gaussian",
        method="REML" if reml else "ML",
        design=design,
        theta=theta,
        sigma=sigma,
        beta=beta,
        covariance=0.5 * (covariance + covariance.T),
        log_likelihood=float(result.llf),
        effects=effects,
        effect_covariances=spreads,
        convergence=Convergence(converged=converged, message=message, n_evaluations=0),
        singular=singular,
        warnings=said if converged else (*said, f"the fit did not converge: {message}"),
    )


def _effects(
    design: MixedDesign, theta: Floats, sigma: float, beta: Floats
) -> tuple[tuple[Floats, ...], tuple[Floats, ...]]:
    """Conditional modes and covariances of the random effects, by dense algebra on the cells."""
    factors = design.factors(theta)
    z = np.column_stack([_whole(term) for term in design.terms])
    blocks = [np.kron(np.eye(t.n_levels), f @ f.T) for t, f in zip(design.terms, factors, strict=True)]
    g = sigma**2 * linalg.block_diag(*blocks)
    v = z @ g @ z.T + np.diag(sigma**2 / design.count)
    gain = np.linalg.solve(v, z @ g).T
    modes = gain @ (design.response - design.fixed @ beta)
    spread = g - gain @ z @ g
    effects: list[Floats] = []
    spreads: list[Floats] = []
    start = 0
    for term in design.terms:
        size = term.n_levels * term.n_columns
        effects.append(modes[start : start + size].reshape(term.n_levels, term.n_columns))
        own = spread[start : start + size, start : start + size]
        own = own.reshape(term.n_levels, term.n_columns, term.n_levels, term.n_columns)
        levels = np.arange(term.n_levels)
        spreads.append(own[levels, :, levels, :])
        start += size
    return tuple(effects), tuple(spreads)


def _whole(term: RandomTerm) -> Floats:
    z = np.zeros((len(term.level), term.n_levels, term.n_columns))
    z[np.arange(len(term.level)), term.level] = term.values
    return z.reshape(len(term.level), -1)
