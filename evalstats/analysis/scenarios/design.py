"""The mixed model's arrays: one column of fixed effects for each cell of models and scenarios, and the random terms."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from evalstats.analysis.scenarios.choice import Choice
from evalstats.analysis.scenarios.table import COUNT, WITHIN, ScenarioTable
from evalstats.stats.mixed.design import MixedDesign, RandomTerm

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class CellDesign:
    """What is fitted, and how its fixed effects give the cells.

    Attributes
    ----------
    cells
        int64, shape (n_cells, 2): model and scenario of every cell that has a score, in the order of the table.
    rows
        float64, shape (n_cells, n_fixed): what the fixed effects are multiplied by in each cell.
    of_row
        The cell of every row of the design.
    cluster
        The independent unit of every row of the design.
    averaged
        Places of the random terms that a mean over items is averaged over.
    """

    design: MixedDesign
    cells: Ints
    rows: Floats
    of_row: Ints
    cluster: Ints
    averaged: tuple[int, ...]

    def spread(self, theta: Floats) -> Floats:
        """Return the standard deviation (in units of sigma) of what a mean over items is averaged over, for each cell."""
        variance = np.zeros(len(self.cells))
        factors = self.design.factors(theta)
        weights = np.bincount(self.of_row, weights=self.design.count, minlength=len(self.cells))
        for k in self.averaged:
            each = ((self.design.terms[k].values @ factors[k]) ** 2).sum(axis=1)
            variance += np.bincount(self.of_row, weights=each * self.design.count, minlength=len(self.cells)) / weights
        return np.sqrt(variance)

    def spread_slope(self, theta: Floats) -> Floats:
        """Return the derivative of `spread` in theta, shape (n_cells, n_theta).

        The variance is a quadratic of theta, for which central differences are exact up to rounding.
        """
        base = self.spread(theta)
        out = np.zeros((len(base), len(theta)))
        for k in range(len(theta)):
            step = np.zeros(len(theta))
            step[k] = 1e-3
            high, low = self.spread(theta + step) ** 2, self.spread(theta - step) ** 2
            out[:, k] = np.divide((high - low) / 2e-3, 2 * base, out=np.zeros(len(base)), where=base > 0)
        return out


def cell_design(table: ScenarioTable, choice: Choice) -> CellDesign:
    """Lay the table out for the model chosen.

    With fixed scenarios every cell has its own fixed effect, which is the model with main effects and interaction in other
    coordinates: nothing is of deficient rank where a cell is empty. With random scenarios every model has one.
    """
    frame = table.frame
    model = _places(frame["model"].to_list(), table.models)
    scenario = _places(frame["scenario"].to_list(), table.scenarios)
    cells, of_row = np.unique(np.stack([model, scenario], axis=1), axis=0, return_inverse=True)
    of_row = of_row.ravel().astype(np.int64)
    fixed_codes = of_row if choice.scenario_as == "fixed" else model
    named: list[tuple[int, int]] = [(int(i), int(j)) for i, j in cells]
    names = [f"{table.models[i]}: {table.scenarios[j]}" for i, j in named]
    if choice.scenario_as == "random":
        names = list(table.models)
    n_fixed = len(names)
    design = MixedDesign(
        fixed=_one_hot(fixed_codes, n_fixed),
        fixed_names=tuple(names),
        terms=tuple(random_intercept(table, group) for group in choice.random),
        count=frame[COUNT].to_numpy().astype(np.float64),
        response=_within_unit(frame["score"].to_numpy().astype(np.float64), single=table.is_single),
        within=0.0 if table.is_single else float(frame[WITHIN].sum()),
    )
    rows = np.eye(len(cells)) if choice.scenario_as == "fixed" else _one_hot(cells[:, 0].astype(np.int64), n_fixed)
    return CellDesign(
        design=design,
        cells=cells.astype(np.int64),
        rows=rows,
        of_row=of_row,
        cluster=table.cluster,
        averaged=tuple(range(len(choice.item_terms))),
    )


def random_intercept(table: ScenarioTable, group: str) -> RandomTerm:
    """Return the random intercept of a grouping such as "item:model"."""
    columns = [part.strip("`") for part in group.split(":")]
    text = table.frame.select(columns).rows()
    labels = [":".join(str(each) for each in row) for row in text]
    levels, codes = np.unique(np.array(labels), return_inverse=True)
    return RandomTerm(
        group=group,
        columns=("(Intercept)",),
        levels=tuple(str(level) for level in levels),
        level=codes.astype(np.int64),
        values=np.ones((len(codes), 1)),
    )


def _places(values: Sequence[str], order: Sequence[str]) -> Ints:
    place = {name: k for k, name in enumerate(order)}
    return np.array([place[value] for value in values], dtype=np.int64)


def _one_hot(codes: Ints, n: int) -> Floats:
    out = np.zeros((len(codes), n))
    out[np.arange(len(codes)), codes] = 1.0
    return out


def _within_unit(shares: Floats, *, single: bool) -> Floats:
    """Shares of successes, free of the rounding of sums that may leave them just outside 0 and 1."""
    return np.clip(shares, 0.0, 1.0) if single else shares
