"""The deviance of a linear mixed model as a function of its covariance parameters, with derivatives.

y = X beta + Z b + e, b ~ N(0, sigma^2 Lambda Lambda'), e ~ N(0, sigma^2 I). With M = Lambda'Z'Z Lambda + I and r^2 the
penalised residual sum of squares (rows within cells included), for n rows and p fixed effects:

    ML      -2 log L = n log(2 pi sigma^2) + log|M| + r^2 / sigma^2
    REML    -2 log L = (n - p) log(2 pi sigma^2) + log|M| + log|X'V^-1 X| + r^2 / sigma^2,   V = I + Z Lambda Lambda' Z'

At its best sigma^2 = r^2 / n or r^2 / (n - p) the last term is that number: the profiled deviance.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import lapack

from evalstats.errors import CannotAnswerError, InputError
from evalstats.stats.mixed.blocks import invert_lower
from evalstats.stats.mixed.design import Floats, MixedDesign
from evalstats.stats.mixed.linear_effects import effect_covariances, effects
from evalstats.stats.mixed.linear_sparse import Sparse
from evalstats.stats.mixed.linear_structured import Pieces, Structured
from evalstats.stats.mixed.structure import plan_elimination

_QR_WORK = 2e7  # multiplications up to which X is orthogonalised
_DENSE_ENTRIES = 2e8  # numbers held by the elimination; beyond, sparse matrices
_DENSE_SIZE = 4000  # effects in a dense remainder; beyond, sparse matrices
_PARALLEL = 1e-9  # sine of the angle between a column of X and those before it that counts as 0
_PARALLEL_SQUARED = 1e-12  # the same squared, where only X'X is at hand
_STEP = 1e-5  # of the differences of a gradient, relative
_EXACT = 1e-24  # sum of squares about the fixed part relative to that about 0, which is rounding
_PERFECT = 1e-13  # residual variance relative to that of the fixed effects alone


@dataclass(frozen=True, slots=True, kw_only=True)
class LinearPoint:
    """The model at one theta, with sigma at its best for it.

    Attributes
    ----------
    theta, sigma, beta, covariance
        Covariance parameters, residual standard deviation, fixed effects and their covariance given theta and sigma.
    deviance
        -2 log L (REML: the restricted one).
    """

    theta: Floats
    sigma: float
    beta: Floats
    covariance: Floats
    deviance: float


class LinearCriterion:
    """Deviance of one design by theta, profiled over sigma and beta, or by theta and sigma.

    Cross-products are computed once. Where elimination would need more memory than sparse matrices, those are used, and the
    gradient comes from differences.

    Parameters
    ----------
    design
        Cells and terms.
    reml
        Restricted likelihood; else the likelihood.

    Raises
    ------
    InputError
        If columns of the fixed part depend on each other, or rows are too few.

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
    >>> criterion = LinearCriterion(design)
    >>> round(criterion.deviance(np.array([3.0])), 4)
    19.0301
    """

    def __init__(self, design: MixedDesign, *, reml: bool = True) -> None:
        self.design, self.reml = design, reml
        self._fixed = _FixedPart(design)
        scaled = self._scaled(design.response, design.within)
        plan = plan_elimination(design)
        too_large = plan.entries > _DENSE_ENTRIES or plan.middle_size + plan.outer_size > _DENSE_SIZE
        self._core: Structured | Sparse
        if too_large:
            self._core = Sparse(design, self._fixed.columns, scaled, self._within)
        else:
            self._core = Structured(design, plan, self._fixed.columns, scaled, self._within)

    @property
    def exact_gradient(self) -> bool:
        """Whether derivatives are analytic."""
        return isinstance(self._core, Structured)

    @property
    def df(self) -> int:
        """What r^2 is divided by: n - p for REML, n for ML."""
        return self.design.n_rows - (self.design.fixed.shape[1] if self.reml else 0)

    def set_response(self, response: Floats, within: float) -> None:
        """Replace the response of the cells and the sum of squares within them; products of Z and X stay."""
        self._core.set_response(self._scaled(response, within), self._within)

    def deviance(self, theta: Floats) -> float:
        """Profiled deviance."""
        return self._profiled(self._evaluate(theta))

    def gradient(self, theta: Floats) -> Floats:
        """Its derivatives by theta."""
        precision = self.df / self._evaluate(theta).rss
        return self._core.gradient(theta, reml=self.reml, precision=precision)

    def hessian(self, theta: Floats) -> Floats:
        """Second derivatives of the profiled deviance, from central differences of the gradient."""
        return _jacobian(self.gradient, theta)

    def at(self, theta: Floats) -> LinearPoint:
        """Sigma, beta and the covariance of beta at theta."""
        pieces = self._evaluate(theta)
        variance = pieces.rss / self.df * self._scale**2
        return LinearPoint(
            theta=theta,
            sigma=math.sqrt(variance),
            beta=self._beta(pieces),
            covariance=variance * self._fixed.untransform_covariance(pieces.unscaled),
            deviance=self._profiled(pieces),
        )

    def deviance_at(self, theta: Floats, sigma: float) -> float:
        """Return the deviance for given sigma, in the unit of the response; beta is at its best."""
        pieces = self._evaluate(theta)
        rss = pieces.rss * self._scale**2
        return self.df * math.log(2.0 * math.pi * sigma**2) + self._logdets(pieces) + rss / sigma**2

    def gradient_at(self, theta: Floats, sigma: float) -> Floats:
        """Return its derivatives by (theta, sigma), shape (n_theta + 1,)."""
        pieces = self._evaluate(theta)
        rss = pieces.rss * self._scale**2
        by_theta = self._core.gradient(theta, reml=self.reml, precision=(self._scale / sigma) ** 2)
        return np.append(by_theta, 2.0 * self.df / sigma - 2.0 * rss / sigma**3)

    def hessian_at(self, theta: Floats, sigma: float) -> Floats:
        """Second derivatives by (theta, sigma), from central differences of the gradient."""
        return _jacobian(lambda x: self.gradient_at(x[:-1], float(x[-1])), np.append(theta, sigma))

    def effects(self, theta: Floats) -> tuple[Floats, ...]:
        """Conditional modes (BLUPs) of every term, shape (n_levels, n_columns)."""
        core = self._core
        found = effects(core, theta) if isinstance(core, Structured) else core.effects(theta)
        return tuple(self._scale * b for b in found)

    def effect_covariances(self, theta: Floats) -> tuple[Floats, ...]:
        """Conditional covariances of the effects given theta, sigma and beta, shape (n_levels, n_columns, n_columns)."""
        core = self._core
        found = effect_covariances(core, theta) if isinstance(core, Structured) else core.effect_covariances(theta)
        variance = self._evaluate(theta).rss / self.df * self._scale**2
        return tuple(variance * v for v in found)

    def _evaluate(self, theta: Floats) -> Pieces:
        pieces = self._core.evaluate(np.asarray(theta, dtype=np.float64))
        if pieces.rss <= _PERFECT * self.df:
            raise CannotAnswerError(
                "the residual variance is estimated as 0: the random effects fit every row exactly, so nothing is left to "
                "judge them by; leave out a term, or give repeated trials"
            )
        return pieces

    def _logdets(self, pieces: Pieces) -> float:
        return pieces.logdet_effects + (pieces.logdet_fixed + self._fixed.logdet if self.reml else 0.0)

    def _profiled(self, pieces: Pieces) -> float:
        rss = pieces.rss * self._scale**2
        return self._logdets(pieces) + self.df * (1.0 + math.log(2.0 * math.pi * rss / self.df))

    def _beta(self, pieces: Pieces) -> Floats:
        return self._fixed.untransform(self._least_squares + self._scale * pieces.beta)

    def _scaled(self, response: Floats, within: float) -> Floats:
        """Fit the fixed part by least squares: the fit proper works on its residuals over their spread, for accuracy."""
        design = self.design
        y = response if design.offset is None else response - design.offset
        self._least_squares = self._fixed.fit(y)
        residual = y - self._fixed.columns @ self._least_squares
        total = within + float(np.einsum("i,i,i->", design.count, residual, residual))
        size = within + float(np.einsum("i,i,i->", design.count, y, y))
        if total <= _EXACT * size:
            raise CannotAnswerError(
                "the response is constant, or the fixed effects fit it exactly: there is no variance to divide"
            )
        self._scale = math.sqrt(total / (design.n_rows - len(self._least_squares)))
        self._within = within / self._scale**2
        residual /= self._scale
        return residual


class _FixedPart:
    """X times R^-1, with orthonormal columns where that is cheap and columns of unit length else."""

    def __init__(self, design: MixedDesign) -> None:
        given, n = design.fixed, design.count
        p = given.shape[1]
        lengths = np.sqrt(np.einsum("i,ij,ij->j", n, given, given))
        _refuse_dependent(design, np.flatnonzero(lengths == 0.0))
        self._count, self._gram_inverse = n, np.eye(p)
        if p < 2:
            self.columns, self._back = given / lengths, np.diag(lengths)
        elif given.size * p <= _QR_WORK:
            root = np.sqrt(n)[:, None]
            orthonormal, triangle = np.linalg.qr(root * (given / lengths))
            _refuse_dependent(design, np.flatnonzero(np.abs(np.diag(triangle)) < _PARALLEL))
            self.columns, self._back = orthonormal / root, triangle * lengths
        else:
            self.columns, self._back = given / lengths, np.diag(lengths)
            gram = self.columns.T @ (n[:, None] * self.columns)
            inverse = invert_lower(_unpivoted_root(design, gram))
            self._gram_inverse = inverse.T @ inverse
        self._back_inverse = invert_lower(self._back.T).T

    @cached_property
    def logdet(self) -> float:
        """Logarithm of |R|^2."""
        return 2.0 * float(np.log(np.abs(np.diag(self._back))).sum())

    def fit(self, response: Floats) -> Floats:
        """Weighted least squares, for the transformed columns."""
        return self._gram_inverse @ (self.columns.T @ (self._count * response))

    def untransform(self, beta: Floats) -> Floats:
        """Coefficients of the columns as they were given."""
        return self._back_inverse @ beta

    def untransform_covariance(self, covariance: Floats) -> Floats:
        """Their covariance."""
        return self._back_inverse @ covariance @ self._back_inverse.T


def _unpivoted_root(design: MixedDesign, gram: Floats) -> Floats:
    """Cholesky factor of X'X with unit diagonal; refuses columns that follow from those before."""
    factor, info = lapack.dpotrf(gram, lower=1, clean=1)
    diagonal = np.diag(factor)
    if info > 0:
        _refuse_dependent(design, np.array([info - 1]))
    _refuse_dependent(design, np.flatnonzero(diagonal**2 < _PARALLEL_SQUARED))
    return factor


def _refuse_dependent(design: MixedDesign, which: np.ndarray) -> None:
    if which.size:
        names = ", ".join(repr(design.fixed_names[int(k)]) for k in which)
        raise InputError(
            f"the fixed effects are rank deficient: {names} follow{'s' if which.size == 1 else ''} from the columns before "
            f"(of {design.fixed.shape[1]}); leave out empty combinations or one of the factors"
        )


def _jacobian(gradient: Callable[[Floats], Floats], x: Floats) -> Floats:
    out = np.empty((len(x), len(x)))
    for j in range(len(x)):
        step = np.zeros_like(x)
        step[j] = _STEP * max(abs(float(x[j])), 1e-2)
        out[j] = (gradient(x + step) - gradient(x - step)) / (2.0 * step[j])
    return 0.5 * (out + out.T)
