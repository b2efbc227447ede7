"""The parts of `scenarios()` that cells, drops and means come from, without the rest: for simulations."""

from dataclasses import dataclass

from evalstats.analysis.design.entries import entries_of
from evalstats.analysis.scenarios.cells import (
    FittedScenarios,
    PooledCells,
    fitted_scenarios,
    no_model_because,
    plain_scenarios,
    pooled_cells,
)
from evalstats.analysis.scenarios.contrasts import cell_rows, drop_rows, item_means, mean_rows
from evalstats.analysis.scenarios.design import ModelChoice, cell_design, chosen_model
from evalstats.analysis.scenarios.result import ScenarioReliability
from evalstats.analysis.scenarios.table import ScenarioTable, scenario_table

LEVEL = 0.95


def without_the_split(monkeypatch):
    """Leave out of `scenarios()` the two models in which all is random: half of its time, and no other number's source."""
    none = ScenarioReliability(relative=None, absolute=None, reason="not asked here")
    module = "evalstats.analysis.scenarios.scenarios"
    monkeypatch.setattr(f"{module}.variance_rows", lambda *_: ((), ()))
    monkeypatch.setattr(f"{module}.reliability_of", lambda *_, **__: none)


@dataclass(frozen=True, kw_only=True)
class Inner:
    """A table, the model chosen and its fit."""

    table: ScenarioTable
    choice: ModelChoice
    fitted: FittedScenarios
    pooled: PooledCells | None

    def cells(self):
        return cell_rows(self.table, self.fitted, self.pooled, LEVEL)

    def drops(self, reference="s0"):
        items = item_means(self.table, self.fitted.laid)
        return drop_rows(self.table, self.fitted, self.pooled, items, reference=reference, conf_level=LEVEL)

    def means(self):
        n = len(self.table.scenarios)
        return mean_rows(self.table, self.fitted, [1 / n] * n, LEVEL)[0]


def inner(data, *, reference=None, cluster=None, as_=None, pool=True):
    chosen, arms, _ = entries_of(data, metric=None, models=None, contrast="model", least=1)
    table = scenario_table(
        data, chosen, arms, scenario=None, reference=reference, cluster=cluster, contrast="model"
    )  # fmt: skip
    choice = chosen_model(table, as_)
    laid = cell_design(table, choice)
    fitted = plain_scenarios(table, laid) if no_model_because(table, choice) else fitted_scenarios(table, choice, laid)
    fixed = choice.scenario_as == "fixed"
    return Inner(
        table=table,
        choice=choice,
        fitted=fitted,
        pooled=pooled_cells(table, fitted, LEVEL)[0] if pool and fixed else None,
    )
