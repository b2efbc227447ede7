"""What a mixed model is fitted to, cells of rows that share everything and the terms of the model, and what a fit is."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array, hstack

from evalstats.errors import InputError
from evalstats.record import record
from evalstats.stats.mixed.distinct_rows import Distinct, Floats, Ints

Family = Literal["gaussian", "binomial"]
_FEW_LEVELS = 5
# OLS and GLM are fits without random effects.
Method = Literal["REML", "ML", "Laplace", "AGHQ", "nAGQ=0", "OLS", "GLM"]


@record
class RandomTerm:
    """One term of random effects, lme4's `(1 + x | g)`; its effects have a full covariance matrix.

    `(1 + x || g)` is two terms with the same grouping and one column each.

    Attributes
    ----------
    group
        Name of the grouping, such as "item" or "item:model".
    columns
        Names of the effects of a level, such as ("(Intercept)",) or ("(Intercept)", "Days").
    levels
        Labels of the levels of the grouping.
    level
        int64, shape (n_cells,): the level of every cell, from 0.
    values
        float64, shape (n_cells, n_columns): what each effect is multiplied by; a column of ones for an intercept.
    """

    group: str
    columns: tuple[str, ...]
    levels: tuple[str, ...]
    level: Ints
    values: Floats

    @property
    def n_columns(self) -> int:
        """Effects of each level."""
        return len(self.columns)

    @property
    def n_levels(self) -> int:
        """Levels of the grouping."""
        return len(self.levels)

    @property
    def n_theta(self) -> int:
        """Entries of the lower triangle of the relative covariance factor."""
        return self.n_columns * (self.n_columns + 1) // 2

    @property
    def is_intercept(self) -> bool:
        """Whether the term is one plain random intercept."""
        return self.n_columns == 1 and bool(np.all(self.values == 1.0))


@cache
def lower_entries(size: int) -> tuple[Ints, Ints]:
    """Rows and columns of a lower triangle, column by column as theta runs."""
    columns, rows = np.triu_indices(size)
    return rows, columns


def semidefinite_factor(covariance: Floats, least: Floats) -> Floats:
    """Lower-triangular factor with non-negative diagonal of a covariance matrix that may be singular.

    A column whose variance, once those before it are taken out, is at most `least` is 0; what it carried goes to later columns.
    """
    left = np.array(covariance, dtype=np.float64)
    out = np.zeros_like(left)
    for j in range(len(left)):
        if left[j, j] > least[j]:
            out[j:, j] = left[j:, j] / np.sqrt(left[j, j])
            left = left - np.outer(out[:, j], out[:, j])
    return out


def within_owner(owner: Ints, n_owners: int) -> Ints:
    """Return the rank of every member within its owner, from 0."""
    order = np.argsort(owner, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=n_owners))])[owner[order]]
    rank = np.empty_like(owner)
    rank[order] = np.arange(len(owner)) - starts
    return rank


def central_differences(
    function: Callable[[Floats], Floats], x: Floats, lengths: Floats, which: Sequence[int] | None = None
) -> Floats:
    """Return the derivative of a function by some entries of x, all if None: shape (n, len(which)) for n values."""
    columns: list[Floats] = []
    for i in range(x.size) if which is None else which:
        step = np.zeros_like(x)
        step[i] = lengths[i]
        columns.append((function(x + step) - function(x - step)) / (2.0 * lengths[i]))
    return np.stack(columns, axis=1)


def nested_in(inner: Ints, outer: Ints) -> bool:
    """Whether every level of `inner` lies within one level of `outer`; both hold a code for each cell."""
    if inner is outer:
        return True
    parent = np.zeros(int(inner.max()) + 1, dtype=np.int64)
    for part in (slice(0, 4096), slice(None)):
        parent[inner[part]] = outer[part]
        if not np.array_equal(parent[inner[part]], outer[part]):
            return False
    return True


def check_levels(term: RandomTerm, seen: int) -> list[str]:
    """Refuse a grouping of which one level is seen; return a warning where there are few."""
    if seen < 2:
        raise InputError(
            f"the grouping {term.group!r} has one level; its variance cannot be estimated, so leave it out"
        )
    if seen < _FEW_LEVELS:
        return [f"{term.group} has only {seen} levels; the estimate of its variance is poor, consider it as fixed"]
    return []


@record
class MixedDesign:
    """Cells of a mixed model.

    Attributes
    ----------
    fixed
        X, shape (n_cells, n_fixed), of full column rank; `distinct_rows` makes it of a matrix.
    fixed_names
        Names of its columns.
    terms
        The random effects; their order says nothing.
    count
        float64, shape (n_cells,): rows of every cell; binomial: trials.
    response
        float64, shape (n_cells,): mean response of the rows of a cell; binomial: share of successes, in [0, 1].
    within
        Sum over all cells of squared deviations of the rows from their cell's mean (linear models).
    offset
        float64, shape (n_cells,), added to the linear predictor; None for none.
    log_constant
        What the log-likelihood of a binomial model gets on top: the sum of the logarithms of the binomial coefficients of the
        rows as they were given; 0 for rows of single trials.
    """

    fixed: Distinct
    fixed_names: tuple[str, ...]
    terms: tuple[RandomTerm, ...]
    count: Floats
    response: Floats
    within: float = 0.0
    offset: Floats | None = None
    log_constant: float = 0.0

    @property
    def n_cells(self) -> int:
        """Distinct rows."""
        return len(self.count)

    @property
    def n_rows(self) -> int:
        """Rows, or binomial trials, behind the cells."""
        return round(float(self.count.sum()))

    @property
    def n_theta(self) -> int:
        """Parameters of all covariance factors."""
        return sum(term.n_theta for term in self.terms)

    def factors(self, theta: Floats) -> tuple[Floats, ...]:
        """Split theta into one lower-triangular relative covariance factor for each term.

        `theta` runs through the terms in order, and through each lower triangle column by column, as in lme4. The covariance
        of a level's effects is sigma^2 L L'.
        """
        out: list[Floats] = []
        start = 0
        for term in self.terms:
            factor = np.zeros((term.n_columns, term.n_columns))
            factor[lower_entries(term.n_columns)] = theta[start : start + term.n_theta]
            out.append(factor)
            start += term.n_theta
        return tuple(out)


@record
class Convergence:
    """How an optimisation ended; `message` says it in words.

    `gradient` is the largest absolute entry of the gradient of the deviance that is not held at a bound; `curvature` the
    smallest eigenvalue of its Hessian among those, None where it was not computed.

    Attributes
    ----------
    n_evaluations
        How often the deviance was computed.
    """

    converged: bool
    message: str
    n_evaluations: int
    gradient: float | None = None
    curvature: float | None = None


@record
class MixedFit:
    """A fitted linear or binomial mixed model.

    Attributes
    ----------
    theta
        float64, shape (n_theta,): entries of the relative covariance factors, in the order of `MixedDesign.factors`.
    sigma
        Residual standard deviation; 1 for the binomial family.
    beta, covariance
        Fixed effects, and their covariance by the model, shapes (n_fixed,) and (n_fixed, n_fixed).
    joint_covariance
        Covariance of (theta, beta) together from the Hessian of the deviance (Laplace and AGHQ), shape
        (n_theta + n_fixed,) squared; rows of theta entries held at their bound are 0. None where it was not computed.
    log_likelihood
        The maximised criterion: restricted where `method` is "REML".
    effects
        For each term the conditional modes (BLUPs), shape (n_levels, n_columns).
    effect_covariances
        For each term their conditional covariances given theta and beta, shape (n_levels, n_columns, n_columns).
    singular
        What lies on the boundary, in words, such as "the variance of item:model is estimated as 0".
    penalty
        The weakly informative prior in words where one was used (separation), else "".
    warnings
        What a reader must know, in words; a failed convergence is among them.
    """

    family: Family
    method: Method
    design: MixedDesign
    theta: Floats
    sigma: float
    beta: Floats
    covariance: Floats
    log_likelihood: float
    effects: tuple[Floats, ...]
    effect_covariances: tuple[Floats, ...]
    convergence: Convergence
    n_quadrature: int = 1
    joint_covariance: Floats | None = None
    singular: tuple[str, ...] = ()
    penalty: str = ""
    warnings: tuple[str, ...] = ()

    def linear_predictor(self) -> Floats:
        """Linear predictor of every cell at the conditional modes."""
        design = self.design
        eta = design.fixed.at_cells(self.beta) + (0.0 if design.offset is None else design.offset)
        for term, effects in zip(design.terms, self.effects, strict=True):
            eta = eta + (term.values * effects[term.level]).sum(axis=1)
        return np.asarray(eta, dtype=np.float64)

    def working_weights(self) -> Floats:
        """Rows of every cell, or the variance of its number of successes at the conditional modes: n mu (1 - mu)."""
        if self.family == "gaussian":
            return self.design.count
        # expit'(eta), from the smaller tail so that it does not round to 0 too soon.
        small = np.exp(-np.abs(self.linear_predictor()))
        return self.design.count * small / (1 + small) ** 2

    @property
    def deviance(self) -> float:
        """Minus twice the maximised log-likelihood (the REML criterion for REML)."""
        return -2.0 * self.log_likelihood

    @property
    def n_parameters(self) -> int:
        """Fixed effects, covariance parameters, and the residual variance where there is one."""
        return len(self.beta) + len(self.theta) + (self.family == "gaussian")

    @property
    def std_errors(self) -> Floats:
        """Standard errors of the fixed effects by the model."""
        return np.sqrt(np.diag(self.covariance))

    def covariances(self) -> tuple[npt.NDArray[np.float64], ...]:
        """Covariance matrix of the effects of one level, for each term: sigma^2 L L'."""
        return tuple(self.sigma**2 * factor @ factor.T for factor in self.design.factors(self.theta))


def term_columns(term: RandomTerm) -> csr_array:
    """Z of one term, shape (n_cells, n_levels * n_columns): the columns of a level stand together."""
    n, k = len(term.level), term.n_columns
    rows = np.repeat(np.arange(n), k)
    columns = (term.level[:, None] * k + np.arange(k)).reshape(-1)
    return csr_array((term.values.reshape(-1), (rows, columns)), (n, term.n_levels * k))


def random_columns(design: MixedDesign) -> csr_array:
    """Z, shape (n_cells, n_effects): effects run through the terms, in each through the levels, then the columns."""
    return csr_array(hstack([term_columns(term) for term in design.terms], format="csr"))
