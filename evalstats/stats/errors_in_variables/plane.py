"""A plane through scores that are noisy in every direction: York's line with several columns on the right."""

from dataclasses import dataclass

import numpy as np
from scipy import linalg, optimize
from scipy.linalg import helmert

from evalstats.errors import CannotAnswerError, InputError
from evalstats.stats.checks import FloatArray
from evalstats.stats.errors_in_variables.scores import LabLiveScores

_ROUNDING = 1e-9
_LEAST_SHARE = 0.1  # of the information of the columns that is not noise


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
    live: FloatArray,
    columns: FloatArray,
    live_covariance: FloatArray,
    column_covariance: FloatArray,
    *,
    cross: FloatArray | None = None,
) -> PlaneFit:
    """Fit live scores on several noisy columns, such as the score with ideal users and the drop.

    Parameters
    ----------
    live
        float64, shape (n_models,).
    columns
        float64, shape (n_columns, n_models).
    live_covariance
        Of the errors of `live`, shape (n_models, n_models).
    column_covariance
        Of the errors of the columns, shape (n_columns * n_models,) squared, models running fastest.
    cross
        Of the errors of the columns (rows) with those of `live`, shape (n_columns * n_models, n_models); None for 0.

    Raises
    ------
    CannotAnswerError
        If no degree of freedom is left, or the columns differ over models by no more than their noise.
    InputError
        If shapes do not agree or a number is not finite.

    Notes
    -----
    With r = live - intercept - columns @ b the objective is S = r' Omega(b)^-1 r, with Omega(b) = V_z + sum b_i b_j V_ij
    - sum b_i (C_i + C_i') + tau^2 I, minimised for given tau^2 and without log-determinant; tau^2 solves S = n - 1 - n_columns,
    or is 0. With one column this is `fit_line`.

    The covariance of the slopes is Fuller's. York takes the information J of the adjusted columns for that of the true ones;
    it is too large by H = tr Omega^-1 (V_ij - A_i Omega^-1 A_j'), A_i the covariance of column i with r, and with columns as
    noisy as drops are the standard error then is too small. Here it is (J - H)^-1 J (J - H)^-1. tau^2 is taken as known.

    References
    ----------
    York, Evensen, Martinez & Delgado 2004, doi:10.1119/1.1632486; Fuller 1987, Measurement Error Models, theorem 2.2.1.

    Examples
    --------
    >>> x = np.array([[0.1, 0.3, 0.4, 0.6, 0.7, 0.9], [0.2, 0.1, 0.4, 0.1, 0.3, 0.2]])
    >>> fit = fit_plane(1.0 + 2.0 * x[0] - x[1], x, 0.01 * np.eye(6), 1e-6 * np.eye(12))
    >>> fit.slopes.round(3).tolist(), fit.tau2
    ([2.0, -1.0], 0.0)
    """
    problem = _Problem.of(live, columns, live_covariance, column_covariance, cross)
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


def slope_covariance(scores: LabLiveScores, slope: float, tau2: float) -> float:
    """Return Fuller's variance of the slope of a line fitted by `fit_line`.

    Raises
    ------
    CannotAnswerError
        If lab scores differ by no more than their noise.
    InputError
        If a side has no covariance.
    """
    if scores.lab_covariance is None or scores.live_covariance is None:
        raise InputError("the error of a slope needs the covariances of both sides")
    problem = _Problem.of(
        scores.live, scores.lab[np.newaxis], scores.live_covariance, scores.lab_covariance, scores.cross
    )
    return float(problem.error(np.array([slope]) * problem.unit, tau2)[0, 0]) / float(problem.unit[0]) ** 2


@dataclass(frozen=True, slots=True, kw_only=True)
class _Problem:
    """The data as contrasts between models, columns divided by `unit`."""

    z: FloatArray
    x: FloatArray
    v_z: FloatArray
    v_x: FloatArray
    v_xz: FloatArray
    unit: FloatArray

    @classmethod
    def of(cls, z: FloatArray, x: FloatArray, v_z: FloatArray, v_x: FloatArray, cross: FloatArray | None) -> "_Problem":
        k, n = x.shape
        v_xz = np.zeros((k * n, n)) if cross is None else cross
        if z.shape != (n,) or v_xz.shape != (k * n, n) or v_z.shape != (n, n) or v_x.shape != (k * n, k * n):
            raise InputError(f"shapes {z.shape}, {x.shape}, {v_z.shape} and {v_x.shape} do not belong together")
        if not all(np.isfinite(part).all() for part in (z, x, v_z, v_x, v_xz)):
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
            v_x=np.einsum("an,injm,bm->ijab", rows, blocks, rows, optimize=True),
            v_xz=np.einsum("an,inm,bm->iab", rows, v_xz.reshape(k, n, n) / unit[:, None, None], rows),
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
        both = np.einsum("i,iab->ab", slopes, self.v_xz)
        return (
            self.v_z
            + noise
            - both
            - both.T
            + (tau2 + _ROUNDING * float(np.trace(self.v_z)) / self.z.size) * np.eye(self.z.size)
        )

    def lowest(self, tau2: float, starts: list[FloatArray]) -> tuple[FloatArray, float, bool]:
        """Return the slopes with the lowest S for a given tau^2, S, and whether the search came to rest."""

        def objective(slopes: FloatArray) -> tuple[float, FloatArray]:
            weighted = np.linalg.solve(self.omega(slopes, tau2), self.z - slopes @ self.x)
            rest = self.z - slopes @ self.x
            gradient = -2.0 * self.x @ weighted
            gradient -= 2.0 * np.einsum("a,ijab,b,j->i", weighted, self.v_x, weighted, slopes)
            gradient += 2.0 * np.einsum("a,iab,b->i", weighted, self.v_xz, weighted)
            return float(rest @ weighted), gradient

        found = [
            optimize.minimize(objective, start, jac=True, method="BFGS", options={"gtol": 1e-8, "maxiter": 500})
            for start in starts
        ]
        best = min(found, key=lambda each: float(each.fun))
        at_rest = float(np.abs(best.jac).max()) <= 1e-4 * (1.0 + abs(float(best.fun)))
        return np.asarray(best.x, dtype=np.float64), float(best.fun), at_rest

    def error(self, slopes: FloatArray, tau2: float) -> FloatArray:
        """Fuller's covariance of the slopes, from the information of the adjusted columns."""
        inverse = np.linalg.inv(self.omega(slopes, tau2))
        with_rest = self.v_xz - np.einsum("ijab,j->iab", self.v_x, slopes)
        adjusted = self.x - with_rest @ (inverse @ (self.z - slopes @ self.x))
        seen = adjusted @ inverse @ adjusted.T
        left = self.v_x - np.einsum("iac,cd,jbd->ijab", with_rest, inverse, with_rest)
        information = seen - np.einsum("ab,ijab->ij", inverse, left)
        information = (information + information.T) / 2.0
        share = linalg.eigh(information, seen, eigvals_only=True)
        if not float(share[0]) > _LEAST_SHARE:
            raise CannotAnswerError("models differ by hardly more than noise, so no slope is determined")
        spread: FloatArray = np.asarray(np.linalg.inv(information), dtype=np.float64)
        return np.asarray(spread @ seen @ spread, dtype=np.float64)
