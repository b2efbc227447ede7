"""What rests on few users is withheld: a cell of a table must not tell what three people did."""

from dataclasses import replace

import numpy as np

from evalstats.analysis.gaps.material import CellSums, Material
from evalstats.analysis.gaps.mix_results import CellPart, Decomposition, ScenarioGap, ScenarioGaps
from evalstats.analysis.gaps.results import LabLiveGap
from evalstats.stats.checks import IntArray


def without_small_cells(found: LabLiveGap, made: Material, least: int) -> LabLiveGap:
    """Withhold the live rates and gaps of cells with fewer than `least` live clusters (users), and say how many.

    Sums over cells stay: they hold everyone.
    """
    cells = made.cells
    if cells is None or cells.live is None or least < 2:
        return found
    what = f"{made.live.clusters[0] if made.live.clusters else 'row'}s"
    reason = f"fewer than {least} live {what}: withheld"
    users = _users(cells.live)
    by_cell = {cells.label(j): int(n) for j, n in enumerate(_users_of_cells(cells.live))}
    first = [level[0] for level in cells.levels]
    names = {name: j for j, name in enumerate(made.models)}
    decomposition, n_cells = _cells_of(found.decomposition, by_cell, least)
    gaps, n_gaps = _gaps_of(found.scenario_gaps, users, first, names, least, reason)
    if not n_cells + n_gaps:
        return found
    note = f"{n_cells + n_gaps} entries by scenario rest on fewer than {least} live {what} and are withheld (min_cell)"
    return replace(found, decomposition=decomposition, scenario_gaps=gaps, notes=(*found.notes, note))


def _users(sums: CellSums) -> IntArray:
    """Return how many clusters have an outcome of each model in each cell, shape (n_models, n_cells)."""
    keys = np.unique(np.stack([sums.model, sums.cell, sums.cluster]), axis=1)
    table = np.zeros((sums.n_models, sums.n_cells), dtype=np.int64)
    np.add.at(table, (keys[0], keys[1]), 1)
    return table


def _users_of_cells(sums: CellSums) -> IntArray:
    keys = np.unique(np.stack([sums.cell, sums.cluster]), axis=1)
    return np.bincount(keys[0], minlength=sums.n_cells).astype(np.int64)


def _cells_of(found: Decomposition | None, by_cell: dict[str, int], least: int) -> tuple[Decomposition | None, int]:
    if found is None:
        return None, 0
    small = [part for part in found.cells if 0 < by_cell.get(part.cell, 0) < least]
    if not small:
        return found, 0
    hidden = {part.cell for part in small}
    kept = tuple(_withheld(part) if part.cell in hidden else part for part in found.cells)
    return replace(found, cells=kept), len(small)


def _withheld(part: CellPart) -> CellPart:
    return replace(part, live_rate=None, behaviour=None, mix=None)


def _gaps_of(  # noqa: PLR0917 - what a gap is looked up by
    found: ScenarioGaps | None,
    users: IntArray,
    levels: list[str],
    names: dict[str, int],
    least: int,
    reason: str,
) -> tuple[ScenarioGaps | None, int]:
    if found is None:
        return None, 0
    count = 0

    def kept(row: ScenarioGap) -> ScenarioGap:
        nonlocal count
        at = [j for j, level in enumerate(levels) if level == row.scenario]
        n = int(users[:, at].sum() if not row.model else users[names[row.model], at].sum())
        if n >= least or row.estimate is None:
            return row
        count += 1
        return ScenarioGap(scenario=row.scenario, model=row.model, estimate=None, reason=reason)

    rows = tuple(kept(row) for row in found.rows)
    return replace(found, means=tuple(kept(row) for row in found.means), rows=rows), count
