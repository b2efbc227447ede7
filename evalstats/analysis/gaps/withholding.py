"""What rests on few users is withheld: a cell of a table must not tell what three people did."""

from dataclasses import dataclass, replace

import numpy as np

from evalstats.analysis.gaps.material import Cells, CellSums, Material
from evalstats.analysis.gaps.mix_results import Decomposition, ScenarioGap, ScenarioGaps
from evalstats.analysis.gaps.results import LabLiveGap
from evalstats.analysis.gaps.small_cells import suppressed, suppression_note
from evalstats.stats.checks import IntArray


@dataclass(frozen=True, slots=True, kw_only=True)
class _Hidden:
    """Which cells are withheld: of the table of cells, of scenarios over all models, of model x scenario."""

    cells: frozenset[str]
    scenarios: frozenset[str]
    single: frozenset[tuple[str, str]]
    reason: str


def without_small_cells(found: LabLiveGap, made: Material, least: int) -> LabLiveGap:
    """Withhold the live rates and gaps of cells with fewer than `least` live clusters (users), and say how many.

    Sums over cells stay, since they hold everyone; so a second cell is withheld wherever a sum would give the first away.
    """
    cells = made.cells
    if cells is None or cells.live is None or least < 2:
        return found
    people = f"{made.live.clusters[0] if made.live.clusters else 'row'}s"
    hidden = _hidden(made, cells, cells.live, least, people)
    decomposition, n_cells = _cells_of(found.decomposition, hidden)
    gaps, n_gaps = _gaps_of(found.scenario_gaps, hidden)
    n_shown = (len(found.decomposition.cells) if found.decomposition else 0) + (
        len(found.scenario_gaps.means) + len(found.scenario_gaps.rows) if found.scenario_gaps else 0
    )
    note = suppression_note(n_cells + n_gaps, n_shown, least, people=f"live {people}")
    if note is None:
        return found
    return replace(found, decomposition=decomposition, scenario_gaps=gaps, notes=(*found.notes, f"{note} (min_cell)"))


def _hidden(made: Material, cells: Cells, live: CellSums, least: int, people: str) -> _Hidden:
    levels = cells.levels
    scenarios = sorted({level[0] for level in levels})
    of_scenario = np.array([scenarios.index(level[0]) for level in levels], dtype=np.int64)
    by_cell = _people(live.cell, live.cluster, live.n_cells)
    by_scenario = _people(of_scenario[live.cell], live.cluster, len(scenarios))
    place = live.model * len(scenarios) + of_scenario[live.cell]
    single = _people(place, live.cluster, live.n_models * len(scenarios)).reshape(live.n_models, -1)

    def mask(n: IntArray) -> tuple[bool, ...]:
        return suppressed(n.tolist(), least, with_total=True)

    return _Hidden(
        cells=frozenset(cells.label(j) for j, out in enumerate(mask(by_cell)) if out),
        scenarios=frozenset(scenarios[j] for j, out in enumerate(mask(by_scenario)) if out),
        single=frozenset(
            (made.models[m], scenarios[j]) for m in range(live.n_models) for j, out in enumerate(mask(single[m])) if out
        ),
        reason=f"withheld: fewer than {least} live {people}, or it would give away such a cell",
    )


def _people(codes: IntArray, cluster: IntArray, n: int) -> IntArray:
    """Return how many clusters stand behind each code."""
    pairs = np.unique(np.stack([codes, cluster]), axis=1)
    return np.bincount(pairs[0], minlength=n).astype(np.int64)


def _cells_of(found: Decomposition | None, hidden: _Hidden) -> tuple[Decomposition | None, int]:
    if found is None:
        return None, 0
    kept = tuple(
        replace(part, live_rate=None, behaviour=None, mix=None) if part.cell in hidden.cells else part
        for part in found.cells
    )
    return replace(found, cells=kept), sum(part.cell in hidden.cells for part in found.cells)


def _gaps_of(found: ScenarioGaps | None, hidden: _Hidden) -> tuple[ScenarioGaps | None, int]:
    if found is None:
        return None, 0

    def is_hidden(row: ScenarioGap) -> bool:
        small = row.scenario in hidden.scenarios if not row.model else (row.model, row.scenario) in hidden.single
        return small and row.estimate is not None

    def kept(row: ScenarioGap) -> ScenarioGap:
        if not is_hidden(row):
            return row
        return ScenarioGap(scenario=row.scenario, model=row.model, estimate=None, n_live=None, reason=hidden.reason)

    count = sum(map(is_hidden, (*found.means, *found.rows)))
    return replace(found, means=tuple(map(kept, found.means)), rows=tuple(map(kept, found.rows))), count
