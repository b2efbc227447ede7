"""Linear and logistic models without random effects: least squares, and maximum likelihood with a logit link."""

import math

import numpy as np
from scipy import special

from evalstats.errors import CannotAnswerError, InputError
from evalstats.stats.mixed.binomial_checks import check_shares
from evalstats.stats.mixed.design import Floats, MixedDesign
from evalstats.stats.mixed.fit import Convergence, MixedFit
from evalstats.stats.mixed.penalised import describe, describe_prior, prior_for
from evalstats.stats.mixed.separation import find_separation

_MOST_STEPS = 100
_FLAT = 1e-12  # a Newton step that gains less than this share of the log-likelihood is the last
_HALVINGS = 30
_EXACT = 1e-24  # of the sum of squares: what is left of an exact fit is rounding


def fit_ordinary(design: MixedDesign) -> MixedFit:
    """Fit y = X beta + e with independent normal e by least squares.

    Parameters
    ----------
    design
        Cells without random terms: counts, means, and the sum of squares within them.

    Returns
    -------
    MixedFit
        `sigma` has n - p in its denominator; `log_likelihood` is the maximised one, as R's `logLik` of `lm` gives it.

    Raises
    ------
    InputError
        Values that are not finite, or no more rows than effects.
    CannotAnswerError
        A response that the effects fit exactly.

    Examples
    --------
    >>> design = MixedDesign(
    ...     fixed=np.column_stack([np.ones(4), [0.0, 0.0, 1.0, 1.0]]),
    ...     fixed_names=("(Intercept)", "model[b]"),
    ...     terms=(),
    ...     count=np.ones(4),
    ...     response=np.array([1.0, 2.0, 3.0, 5.0]),
    ... )
    >>> fit = fit_ordinary(design)
    >>> fit.beta.round(6).tolist(), round(fit.sigma**2, 6)
    ([1.5, 2.5], 1.25)
    """
    x, w, y = design.fixed, design.count, _response(design)
    n, p = design.n_rows, x.shape[1]
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise InputError("the design holds NaN or infinite values; leave out rows that have no outcome")
    if n <= p:
        raise InputError(f"{n} rows for {p} fixed effects; a linear model needs more rows than fixed effects")
    root = np.sqrt(w)
    q, r = (np.asarray(part, dtype=np.float64) for part in np.linalg.qr(root[:, np.newaxis] * x))
    beta: Floats = _solved(r, q.T @ (root * y))
    rest = design.within + float(w @ np.square(y - x @ beta))
    if rest <= _EXACT * (design.within + float(w @ np.square(y))):
        raise CannotAnswerError("the effects fit every response exactly: there is no noise to judge them by")
    sigma = math.sqrt(rest / (n - p))
    inverse: Floats = _solved(r, np.eye(p))
    return MixedFit(
        family="gaussian",
        method="OLS",
        design=design,
        theta=np.zeros(0),
        effects=(),
        effect_covariances=(),
        beta=beta,
        covariance=sigma**2 * inverse @ inverse.T,
        sigma=sigma,
        log_likelihood=-0.5 * n * (math.log(2.0 * math.pi * rest / n) + 1.0),
        convergence=Convergence(converged=True, message="solved in one step", n_evaluations=1),
    )


def fit_logistic(design: MixedDesign) -> MixedFit:
    """Fit logit P(success) = X beta by maximum likelihood, with independent trials.

    Where the likelihood has no maximum, half a success and half a failure are added to what is separated, as `fit_binomial`
    does, and the fit says so.

    Parameters
    ----------
    design
        Cells without random terms, with their trials (`count`) and shares of successes (`response`).

    Raises
    ------
    InputError
        The response is no share of whole successes.
    CannotAnswerError
        All trials end alike.

    References
    ----------
    McCullagh & Nelder 1989, Generalized Linear Models, section 4.4.

    Examples
    --------
    >>> design = MixedDesign(
    ...     fixed=np.column_stack([np.ones(2), [0.0, 1.0]]),
    ...     fixed_names=("(Intercept)", "model[b]"),
    ...     terms=(),
    ...     count=np.array([10.0, 10.0]),
    ...     response=np.array([0.5, 0.8]),
    ... )
    >>> fit_logistic(design).beta.round(6).tolist(), round(math.log(4), 6)
    ([0.0, 1.386294], 1.386294)
    """
    check_shares(design)
    separation = find_separation(design)
    x, n = design.fixed, design.count
    offset: Floats = np.zeros(design.n_cells) if design.offset is None else design.offset
    won = n * design.response
    if separation is not None:
        pseudo = prior_for(separation)
        x = np.vstack([x, pseudo.rows])
        n, won = np.concatenate([n, pseudo.trials]), np.concatenate([won, 0.5 * pseudo.trials])
        offset = np.concatenate([offset, np.zeros(len(pseudo.trials))])
    beta, steps, gradient = _newton(x, n, won, offset)
    at = _expit(x @ beta + offset)
    eta = (x @ beta + offset)[: design.n_cells]
    own = float(design.count @ (design.response * eta - np.logaddexp(0.0, eta)))
    return MixedFit(
        family="binomial",
        method="GLM",
        design=design,
        theta=np.zeros(0),
        effects=(),
        effect_covariances=(),
        beta=beta,
        covariance=_solved((x * (n * at * (1.0 - at))[:, np.newaxis]).T @ x, np.eye(x.shape[1])),
        sigma=1.0,
        log_likelihood=own + design.log_constant,
        convergence=Convergence(
            converged=gradient <= 1e-6 * float(n.sum()),
            message=f"Newton's method ended after {steps} steps",
            n_evaluations=steps,
            gradient=gradient,
        ),
        penalty="" if separation is None else describe_prior(separation),
        warnings=()
        if separation is None
        else (f"{describe(separation)}; answered by {describe_prior(separation)}: intervals of these rest on it",),
    )


def _newton(x: Floats, n: Floats, won: Floats, offset: Floats) -> tuple[Floats, int, float]:
    """Climb the concave log-likelihood; return its top, the steps taken and the largest slope there."""

    def height(beta: Floats) -> float:
        eta = x @ beta + offset
        return float(won @ eta - n @ np.logaddexp(0.0, eta))

    beta: Floats = np.zeros(int(x.shape[1]))
    now = height(beta)
    for taken in range(_MOST_STEPS):
        at = _expit(x @ beta + offset)
        score: Floats = x.T @ (won - n * at)
        step = _solved((x * (n * at * (1.0 - at))[:, np.newaxis]).T @ x, score)
        for _ in range(_HALVINGS):
            if height(beta + step) >= now - _FLAT * abs(now):
                break
            step = 0.5 * step
        beta = np.asarray(beta + step, dtype=np.float64)
        before, now = now, height(beta)
        if now - before <= _FLAT * abs(now):
            return beta, taken + 1, float(np.abs(score).max())
    return beta, _MOST_STEPS, np.inf


def _response(design: MixedDesign) -> Floats:
    return design.response if design.offset is None else design.response - design.offset


def _expit(eta: Floats) -> Floats:
    return np.asarray(special.expit(eta), dtype=np.float64)


def _solved(matrix: Floats, right: Floats) -> Floats:
    return np.asarray(np.linalg.solve(matrix, right), dtype=np.float64)
