"""Cells of models and scenarios on the metric's own scale, with one covariance from which every contrast is taken."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import stats

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cells:
    """Estimates of all cells that have a score, and how they vary together.

    Attributes
    ----------
    cells
        int64, shape (n_cells, 2): model and scenario.
    value, link
        float64, shape (n_cells,): on the metric's own scale (averaged over the population of items), and on the model's.
    jacobian, link_jacobian
        float64, shape (n_cells, n_parameters): their derivatives in the parameters.
    covariance, model_covariance
        Of the parameters: the one in force (clustered where it can be), and the model's own.
    influence
        float64, shape (n_units, n_parameters): what every independent unit contributes to the parameters; None where the
        covariance is the model's.
    thin
        bool, shape (n_cells,): cells in which fewer than five scores differ from the most common one. Their residuals cannot
        tell their own spread, so a contrast that touches one takes the larger of the two standard errors.
    sizes
        float64, shape (n_cells,): questions in each cell.
    binary
        Whether scores are plain shares of independent right or wrong answers, whose spread is known even where all are alike.
    df
        Degrees of freedom of contrasts, given rows of coefficients of the parameters; infinite where there are none.
    """

    cells: Ints
    value: Floats
    link: Floats
    jacobian: Floats
    link_jacobian: Floats
    covariance: Floats
    model_covariance: Floats
    influence: Floats | None
    df: Callable[[Floats], Floats]
    shape: tuple[int, int]
    thin: npt.NDArray[np.bool_]
    sizes: Floats
    binary: bool = False

    def grid(self, values: Floats) -> Floats:
        """Lay values of cells out as models x scenarios; NaN where there is no score."""
        out = np.full(self.shape, np.nan)
        out[self.cells[:, 0], self.cells[:, 1]] = values
        return out

    def place(self, model: int, scenario: int) -> int | None:
        """Return where a cell is, None where it has no score."""
        found = np.flatnonzero((self.cells[:, 0] == model) & (self.cells[:, 1] == scenario))
        return int(found[0]) if len(found) else None

    def contrast(self, weights: Floats, *, link: bool = False) -> "Contrasts":
        """Return linear combinations of cells; `weights` has shape (n_contrasts, n_cells)."""
        rows = weights @ (self.link_jacobian if link else self.jacobian)
        variance: Floats = np.asarray(np.einsum("kp,pq,kq->k", rows, self.covariance, rows), dtype=np.float64)
        own: Floats = np.asarray(np.einsum("kp,pq,kq->k", rows, self.model_covariance, rows), dtype=np.float64)
        thin = weights[:, np.flatnonzero(self.thin)]
        touches = np.abs(thin).sum(axis=1) > 0 if self.covariance.any() else np.zeros(len(weights), dtype=np.bool_)
        variance = np.where(touches, np.maximum(variance, own), variance)
        return Contrasts(
            estimate=weights @ (self.link if link else self.value),
            std_error=np.sqrt(np.maximum(variance, 0.0)),
            model_std_error=np.sqrt(np.maximum(own, 0.0)),
            df=self.df(rows),
            rows=rows,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Contrasts:
    """Linear combinations of cells; arrays of shape (n_contrasts,), `rows` their coefficients of the parameters."""

    estimate: Floats
    std_error: Floats
    model_std_error: Floats
    df: Floats
    rows: Floats

    @property
    def has_spread(self) -> npt.NDArray[np.bool_]:
        """Whether the clustered standard error is more than rounding beside the model's."""
        return self.std_error > np.maximum(1e-6 * self.model_std_error, 1e-12)

    def p_values(self) -> Floats:
        """Return two-sided p of each contrast alone, NaN where there is no spread."""
        with np.errstate(divide="ignore", invalid="ignore"):
            t = np.where(self.has_spread, self.estimate / self.std_error, np.nan)
        p = 2 * stats.t.sf(np.abs(t), self.df)
        # The tail of t may underflow; a p of 0 would claim that nothing is left open.
        return np.asarray(np.where(p == 0, np.nextafter(0, 1), p), dtype=np.float64)

    def interval(self, conf_level: float, *, family: int = 1) -> tuple[Floats, Floats]:
        """Return ends at a level that `family` intervals keep together (Bonferroni), NaN where there is no spread."""
        quantile = stats.t.isf((1 - conf_level) / (2 * family), self.df)
        half = np.where(self.has_spread, quantile * self.std_error, np.nan)
        return self.estimate - half, self.estimate + half
