"""Cells partially pooled: drawn towards what the model and the scenario do elsewhere."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import stats

from evalstats.analysis.scenarios.fitting import FittedScenarios
from evalstats.analysis.scenarios.table import ScenarioTable
from evalstats.errors import CannotAnswerError
from evalstats.stats.mixed.population_means import averaged_expit
from evalstats.stats.mixed.prediction import pooled_table

Floats = npt.NDArray[np.float64]
# A clustered covariance of c cells needs about this many times c clusters to be used as if it were known.
_CLUSTERS_A_CELL = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class PooledCells:
    """Pooled values of all cells with a score on the metric's scale, with intervals; `variance` is on the model's scale.

    `slope` is the derivative of the metric's scale in the model's, `errors` the covariance of the predictions on the latter.
    """

    value: Floats
    low: Floats
    high: Floats
    slope: Floats
    errors: Floats
    variance: float
    deviance_drop: float
    note: str

    def contrast(self, weights: Floats, conf_level: float) -> tuple[Floats, Floats, Floats]:
        """Return linear combinations of cells with their intervals."""
        rows = weights * self.slope
        error = np.sqrt(np.maximum(np.einsum("kc,cd,kd->k", rows, self.errors, rows), 0.0))
        known = ~np.isnan(self.low).any()
        half = stats.norm.isf((1 - conf_level) / 2) * error if known else np.full(len(error), np.nan)
        center = weights @ self.value
        return center, center - half, center + half


def pooled_cells(table: ScenarioTable, fitted: FittedScenarios, conf_level: float) -> tuple[PooledCells | None, str]:
    """Pool the cells of fixed scenarios; None and a reason where there is nothing to pool."""
    cells = fitted.cells
    if min(cells.shape) < 2:
        return None, "one model alone is not pooled with others"
    of = cells.link_jacobian
    enough = table.n_clusters >= _CLUSTERS_A_CELL * len(cells.value)
    clustered = fitted.robust is not None and enough and not cells.thin.any()
    covariance = of @ (cells.covariance if clustered else cells.model_covariance) @ of.T
    try:
        found = pooled_table(cells.grid(cells.link), covariance)
    except (CannotAnswerError, np.linalg.LinAlgError) as error:
        return None, f"cells are not pooled: {error}"
    link = found.values[cells.cells[:, 0], cells.cells[:, 1]]
    half = stats.norm.isf((1 - conf_level) / 2) * np.sqrt(np.maximum(np.diag(found.covariance), 0.0))
    if fitted.family == "binomial":
        # Plain means are averaged over items as they are.
        spread = np.zeros(len(link)) if fitted.fit is None else fitted.laid.spread(fitted.fit.theta)
        value, slope, _ = averaged_expit(link, spread)
        low, high = averaged_expit(link - half, spread)[0], averaged_expit(link + half, spread)[0]
    else:
        value, slope, low, high = link, np.ones(len(link)), link - half, link + half
        if table.metric.low is not None and table.metric.high is not None:
            low, high = np.maximum(low, table.metric.low), np.minimum(high, table.metric.high)
    if fitted.no_interval:
        low, high = np.full(len(value), np.nan), np.full(len(value), np.nan)
    why = "some cells hold next to nothing but one score" if enough else "there are few clusters for so many cells"
    source = "clustered by item" if clustered else f"by the model, since {why}"
    note = f"cells are pooled with the covariance {source}"
    return (
        PooledCells(
            value=value,
            low=low,
            high=high,
            slope=slope,
            errors=found.covariance,
            variance=found.variance,
            deviance_drop=found.deviance_drop,
            note=note,
        ),
        "",
    )
