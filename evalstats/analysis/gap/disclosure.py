"""Statistical disclosure control: what rests on few users is withheld, so that no cell tells what three people did."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from evalstats.analysis.gap.layers import Decomposition, ScenarioGap, ScenarioGaps
from evalstats.analysis.gap.material import Cells, CellSums, Material
from evalstats.analysis.gap.result import LabLiveGap
from evalstats.document.model import Note
from evalstats.errors import InputError
from evalstats.stats.checks import IntArray

# What statistical offices ask for most often; also the default of the option `min_cell`.
MIN_CELL: Final = 10


def too_small(n: int, least: int = MIN_CELL) -> bool:
    """Whether a cell rests on so few people that its numbers are not shown.

    A cell without anybody is empty and not small: there is nobody to protect, and that a scenario is missing must be said.

    Parameters
    ----------
    n
        People (users, raters) in the cell; sessions or rows where people are not known.
    least
        The smallest number that is shown; 1 shows everything.

    Raises
    ------
    InputError
        If `least` is not 1 or more.

    Examples
    --------
    >>> too_small(9), too_small(10), too_small(0), too_small(3, least=3)
    (True, False, False, False)
    """
    if least < 1:
        message = f"min_cell is {least}; it must be 1 (everything is shown) or more, such as {MIN_CELL}"
        raise InputError(message)
    return 0 < n < least


def suppressed(n: Sequence[int], least: int = MIN_CELL, *, with_total: bool = False) -> tuple[bool, ...]:
    """Say which cells of a table are not shown.

    Parameters
    ----------
    n
        People in each cell of one table, or of one column of it.
    least
        As in `too_small`.
    with_total
        Whether the total of these cells is shown too. One cell alone could then be had by subtraction, so that the
        smallest of the others is held back with it (complementary suppression: Hundepool et al. 2012, Statistical
        Disclosure Control, ch. 4). So is one more while those held back do not make `least` together.

    Examples
    --------
    >>> suppressed([40, 3, 25]), suppressed([40, 3, 25], with_total=True)
    ((False, True, False), (False, True, True))
    >>> suppressed([2, 3, 11, 40], with_total=True)
    (True, True, True, False)
    """
    hidden = [too_small(size, least) for size in n]
    if with_total and any(hidden):
        for place in sorted(range(len(n)), key=lambda place: (n[place], place)):
            held = [size for size, is_hidden in zip(n, hidden, strict=True) if is_hidden]
            if len(held) > 1 and sum(held) >= least:
                break
            if n[place]:
                hidden[place] = True
    return tuple(hidden)


def suppression_note(n_hidden: int, n_cells: int, least: int = MIN_CELL, *, people: str = "users") -> str | None:
    """Say in a sentence how many cells are held back, and why; None where none is.

    Examples
    --------
    >>> suppression_note(1, 8)
    '1 of 8 cells is not shown since it rests on fewer than 10 users, or would give away one that does; it is in all totals'
    >>> suppression_note(0, 8) is None
    True
    """
    if not n_hidden:
        return None
    is_, rests, gives, them = (
        ("is", "it rests", "give", "it is") if n_hidden == 1 else ("are", "they rest", "give", "they are")
    )
    return (
        f"{n_hidden} of {n_cells} cells {is_} not shown since {rests} on fewer than {least} {people}, "
        f"or would {gives} away one that does; {them} in all totals"
    )


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
    told = Note(kind="left_out", text=f"{note} (min_cell)", caution=False)
    return replace(found, decomposition=decomposition, scenario_gaps=gaps, notes=(*found.notes, told))


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
