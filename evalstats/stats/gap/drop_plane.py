"""A plane through scores that are noisy in every direction: York's line with several columns on the right."""

import math
from dataclasses import dataclass

import numpy as np
from scipy import optimize
from scipy.linalg import helmert

from evalstats.errors import CannotAnswerError, InputError
from evalstats.stats.checks import FloatArray

_TOLERANCE = 1e-10
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaneFit:
    """A fitted plane live = intercept + columns @ slopes.

    Attributes
    ----------
    slopes, covariance
        Shape (n_columns,) and (n_columns, n_columns).
    tau2
        Variance of true gaps beyond noise.
    statistic
        The sum of squares S at tau = 0; chi-squared with `df` where noise explains all.
    """

    slopes: FloatArray
    covariance: FloatArray
    tau2: float
    statistic: float
    df: int
    converged: bool


def fit_plane(
    live: FloatArray, columns: FloatArray, live_covariance: FloatArray, column_covariance: FloatArray
) -> PlaneFit:
    """Fit live scores on several noisy columns, such as the score with ideal users and the drop.

    Parameters
    ----------
    live
        float64, shape (n_models,).
    columns
        float64, shape (n_columns, n_models).
    live_covariance
        Of the errors of `live`, shape (n_models, n_models); independent of those of the columns.
    column_covariance
        Of the errors of the columns, shape (n_columns * n_models,) squared, models running fastest.

    Raises
    ------
    CannotAnswerError
        If no degree of freedom is left, or the columns differ over models by no more than their noise.
    InputError
        If shapes do not agree or a number is not finite.

    Notes
    -----
    With r = live - intercept - columns @ b the objective is S = r' Omega(b)^-1 r, Omega(b) = V_z + sum b_i b_j V_ij + tau^2 I,
    minimised for given tau^2 and without log-determinant; tau^2 solves S = n - 1 - n_columns, or is 0. With one column this
    is `fit_line` without cross covariance. Standard errors are York's, from the adjusted columns, and take tau^2 as known.

    References
    ----------
    York, Evensen, Martinez & Delgado 2004, doi:10.1119/1.1632486; Fuller 1987, Measurement Error Models, section 2.2.

    Examples
    --------
    >>> x = np.array([[0.1, 0.3, 0.4, 0.6, 0.7, 0.9], [0.2, 0.1, 0.4, 0.1, 0.3, 0.2]])
    >>> fit = fit_plane(1.0 + 2.0 * x[0] - x[1], x, 0.01 * np.eye(6), 1e-6 * np.eye(12))
    >>> fit.slopes.round(3).tolist(), fit.tau2
    ([2.0, -1.0], 0.0)
    """
    problem = _Problem.of(live, columns, live_covariance, column_covariance)
    start = problem.starts()
    slopes, statistic, done = problem.lowest(0.0, start)
    plain, tau2 = statistic, 0.0
    if statistic > problem.df:
        top = 4.0 * float(np.square(problem.z).sum()) + 1e-12
        found = optimize.brentq(
            lambda tau2: problem.lowest(tau2, start)[1] - problem.df, 0.0, top, xtol=1e-6 * top, rtol=1e-6
        )
        tau2 = float(found)
        slopes, _, done = problem.lowest(tau2, start)
    return PlaneFit(
        slopes=slopes / problem.unit,
        covariance=problem.error(slopes, tau2) / np.outer(problem.unit, problem.unit),
        tau2=tau2,
        statistic=plain,
        df=problem.df,
        converged=done,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Problem:
    """The data as contrasts between models, columns divided by `unit`."""

    z: FloatArray
    x: FloatArray
    v_z: FloatArray
    v_x: FloatArray
    unit: FloatArray

    @classmethod
    def of(cls, z: FloatArray, x: FloatArray, v_z: FloatArray, v_x: FloatArray) -> "_Problem":
        k, n = x.shape
        if z.shape != (n,) or v_z.shape != (n, n) or v_x.shape != (k * n, k * n):
            raise InputError(f"shapes {z.shape}, {x.shape}, {v_z.shape} and {v_x.shape} do not belong together")
        if not all(np.isfinite(part).all() for part in (z, x, v_z, v_x)):
            raise InputError("a score or a covariance is NaN or infinite; leave such models out")
        if n - 1 - k < 1:
            raise CannotAnswerError(f"{n} models leave no degree of freedom for {k} slopes")
        unit = x.std(axis=1)
        if not (unit > _ROUNDING * np.abs(x).max(axis=1)).all():
            raise CannotAnswerError("a column is the same for all models, so no slope is determined")
        rows = helmert(n)
        blocks = v_x.reshape(k, n, k, n) / unit[:, None, None, None] / unit[:, None]
        return cls(
            z=rows @ z,
            x=(x / unit[:, None]) @ rows.T,
            v_z=rows @ v_z @ rows.T,
            v_x=np.einsum("an,injm,bm->ijab", rows, blocks, rows),
            unit=unit,
        )

    @property
    def df(self) -> int:
        return self.z.size - self.x.shape[0]

    def starts(self) -> list[FloatArray]:
        """Least squares, and least squares with the noise of the columns taken out (Fuller)."""
        products, with_z = self.x @ self.x.T, self.x @ self.z
        noise = np.trace(self.v_x, axis1=2, axis2=3)
        least: FloatArray = np.asarray(np.linalg.solve(products, with_z), dtype=np.float64)
        values, vectors = np.linalg.eigh(products - noise)
        if values[0] <= 0.02 * np.trace(products) / products.shape[0]:
            return [least]
        return [least, np.asarray(vectors @ ((vectors.T @ with_z) / values), dtype=np.float64)]

    def omega(self, slopes: FloatArray, tau2: float) -> FloatArray:
        noise = np.einsum("i,ijab,j->ab", slopes, self.v_x, slopes)
        return self.v_z + noise + (tau2 + _ROUNDING * float(np.trace(self.v_z)) / self.z.size) * np.eye(self.z.size)

    def lowest(self, tau2: float, starts: list[FloatArray]) -> tuple[FloatArray, float, bool]:
        """Return the slopes with the lowest S for a given tau^2, S, and whether the search came to rest."""

        def objective(slopes: FloatArray) -> tuple[float, FloatArray]:
            weighted = np.linalg.solve(self.omega(slopes, tau2), self.z - slopes @ self.x)
            rest = self.z - slopes @ self.x
            gradient = -2.0 * self.x @ weighted
            gradient -= 2.0 * np.einsum("a,ijab,b,j->i", weighted, self.v_x, weighted, slopes)
            return float(rest @ weighted), gradient

        found = [
            optimize.minimize(objective, start, jac=True, method="BFGS", options={"gtol": 1e-8, "maxiter": 500})
            for start in starts
        ]
        best = min(found, key=lambda each: float(each.fun))
        at_rest = float(np.abs(best.jac).max()) <= 1e-4 * (1.0 + abs(float(best.fun)))
        return np.asarray(best.x, dtype=np.float64), float(best.fun), at_rest

    def error(self, slopes: FloatArray, tau2: float) -> FloatArray:
        """York's covariance of the slopes: the information of the adjusted columns."""
        inverse = np.linalg.inv(self.omega(slopes, tau2))
        pulled = inverse @ (self.z - slopes @ self.x)
        # An error of column i covaries with the residual by -sum_j b_j V_ij.
        adjusted = self.x + np.einsum("ijab,j,b->ia", self.v_x, slopes, pulled)
        information = adjusted @ inverse @ adjusted.T
        if not float(np.linalg.eigvalsh(information)[0]) > 0.0 or not math.isfinite(float(information.sum())):
            raise CannotAnswerError(
                "the columns differ over models by no more than their noise; no slope is determined"
            )
        return np.asarray(np.linalg.inv(information), dtype=np.float64)
