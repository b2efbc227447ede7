"""For which scenario types the lab does not predict, and which cells rest on too few users to be told of."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from evalstats.analysis.gap.calibration import verdict_of
from evalstats.analysis.gap.outcome_sums import NO_LEVEL
from evalstats.analysis.gap.result import LabLiveGap, ScenarioGap, ScenarioGaps
from evalstats.analysis.gap.shared_models import SharedCells, SharedModels, too_small
from evalstats.analysis.gap.side_scores import SideScores
from evalstats.analysis.result import notes as as_notes
from evalstats.document.model import Note, NoteKind
from evalstats.errors import CannotAnswerError
from evalstats.grammar import and_list
from evalstats.record import record
from evalstats.stats.checks import BoolArray, IntArray
from evalstats.stats.computation import one_thread
from evalstats.stats.gap import CellRates, Differences, cell_rates, combined, rate_gaps
from evalstats.stats.standardisation import CellTable

# What a row takes of the differences as it is.
_TAKEN = (
    *("estimate", "std_error", "df", "conf_low", "conf_high", "p_value", "p_adjusted"),
    *("adjusted_low", "adjusted_high", "equivalence_low", "equivalence_high"),
)


@record
class LevelRates:
    """Both sides by model and level of the first factor; `used` says which models count in the mean of each level.

    Those whose variance can be told on both sides; shape (n_models, n_levels).
    """

    levels: tuple[str, ...]
    lab: CellRates
    live: CellRates

    @property
    def used(self) -> BoolArray:
        """Which models count in the mean of each level."""
        return (self.lab.n_clusters > 1) & (self.live.n_clusters > 1)


@one_thread
def scenario_gaps_of(shared: SharedModels) -> ScenarioGaps:
    """Set live scores against lab scores within each scenario: means over models, and each model.

    Where a cell combines several factors, the first counts and the others are summed over: a gap within a level may
    then come from another mix of the others. Lab errors are clustered and shared by models that were given the same
    items; live errors are clustered by user; the two sides are independent. Verdicts rest on false-coverage control
    (Benjamini & Yekutieli 2005, doi:10.1198/016214504000001907).
    """
    cells = shared.cells
    if cells is None:
        raise CannotAnswerError(shared.no_cells_reason or "no outcomes by scenario")
    if cells.live is None:
        raise CannotAnswerError(
            "the live scores have no such labels: only their mix is known, so live and lab cannot be compared level by level"
        )
    if not shared.same_scale:
        raise CannotAnswerError(f"the two sides are not on one scale: {shared.not_one_scale}")
    table, dropped = _level_rates(shared, cells, cells.live)
    sides, used = (table.lab, table.live), table.used
    level = shared.conf_level
    found = rate_gaps(*(combined(side, np.eye(table.lab.rate.size)) for side in sides), conf_level=level)
    # The mean over models for each scenario, weights of shape (n_levels, n_models * n_levels).
    weights = np.eye(len(table.levels))[:, np.newaxis, :] * (used / np.maximum(used.sum(axis=0), 1)).T[:, :, np.newaxis]
    weights = weights.reshape(len(table.levels), -1)
    of_means = rate_gaps(*(combined(side, weights) for side in sides), conf_level=level)
    means = _rows(shared, table, of_means, of_means=True)
    rows = _rows(shared, table, found, of_means=False)
    return ScenarioGaps(
        factor=cells.factors[0],
        means=tuple(means),
        rows=tuple(rows),
        conf_level=level,
        notes=(*as_notes("left_out", dropped, caution=False), *_notes(table, cells)),
    )


def _level_rates(shared: SharedModels, cells: SharedCells, live: CellTable) -> tuple[LevelRates, tuple[str, ...]]:
    """Sum the cells over all factors but the first, and keep the levels that both sides have."""
    every = list(dict.fromkeys(levels[0] for levels in cells.levels))
    to_level = np.array([every.index(levels[0]) for levels in cells.levels], dtype=np.int64)
    in_lab, in_live = (
        [every[int(at)] for at in np.unique(to_level[side.cell]) if every[int(at)] != NO_LEVEL]
        for side in (cells.lab, live)
    )
    kept = [name for name in every if name in in_lab and name in in_live]
    if not kept:
        raise CannotAnswerError(
            f"lab and live share no level of {cells.factors[0]}: the lab has {and_list(in_lab)}, live users {and_list(in_live)}; "
            "map the names onto each other"
        )
    place = np.array([kept.index(name) if name in kept else -1 for name in every], dtype=np.int64)[to_level]

    def rates(table: CellTable, side: SideScores) -> CellRates:
        own = place[table.cell]
        keep = own >= 0
        return cell_rates(
            table.cluster[keep],
            table.model[keep],
            own[keep],
            table.n[keep],
            table.total[keep],
            n_clusters=table.n_clusters,
            n_models=table.n_models,
            n_cells=len(kept),
            low=side.about.low,
            high=side.about.high,
        )

    told = [
        f"{and_list(own)}: only {where} has it, so there is no gap to measure"
        for has, where in ((in_lab, "the lab"), (in_live, "the live side"))
        if (own := [name for name in has if name not in kept])
    ]
    table = LevelRates(levels=tuple(kept), lab=rates(cells.lab, shared.lab), live=rates(live, shared.live))
    return table, tuple(told)


def _notes(table: LevelRates, cells: SharedCells) -> list[Note]:
    """Return what limits the gaps: other factors, lost models, scores that are all alike."""
    others = ", ".join(cells.factors[1:])
    short = [name for name, column in zip(table.levels, table.used.T, strict=True) if column.any() and not column.all()]
    flat = bool(((table.lab.floor > 0.0) | (table.live.floor > 0.0)).any())
    told: tuple[tuple[NoteKind, object, str], ...] = (
        ("choice", others, f"within a level of {cells.factors[0]} the mix of {others} may differ between lab and live"),
        ("missing", short, f"{and_list(short)}: the mean is over the models that have enough scores there"),
        ("few", flat, "where all scores of a side are alike, their error is that of one success and one failure more"),
    )
    return [Note(kind=kind, text=text, caution=False) for kind, holds, text in told if holds]


# --- rows ---


def _rows(shared: SharedModels, table: LevelRates, found: Differences, *, of_means: bool) -> list[ScenarioGap]:
    """Turn the differences into rows with verdicts; `of_means`: each is a mean over models, with verdicts of its own family."""
    rows: list[ScenarioGap] = []
    for at, reason in enumerate(found.reasons):
        model, level = (None, at) if of_means else divmod(at, len(table.levels))
        pick = slice(None) if model is None else slice(model, model + 1)
        used = table.used[:, level] if model is None else np.ones(1, dtype=np.bool_)
        lab, live = (
            float(rates.mean()) if rates.size and np.isfinite(rates).all() else None
            for rates in (side.rate[pick, level][used] for side in (table.lab, table.live))
        )
        row = ScenarioGap(
            scenario=table.levels[level],
            model="" if model is None else shared.models[model],
            estimate=None if lab is None or live is None else live - lab,
            lab=lab,
            live=live,
            n_lab=round(float(table.lab.n[pick, level].sum())),
            n_live=round(float(table.live.n[pick, level].sum())),
            verdict="invalid",
            reason=reason if used.any() else "no model has two clusters of scores on both sides",
        )
        if row.estimate is not None and row.reason is None:
            told = {name: float(getattr(found, name)[at]) for name in _TAKEN}
            verdict = verdict_of(
                told["equivalence_low"], told["equivalence_high"], shared.margin, flagged=bool(found.flagged[at])
            )
            row = replace(row, **told, conf_level=shared.conf_level, verdict=verdict)
        rows.append(row)
    return rows


# --- disclosure ---


def suppressed(n: Sequence[int], least: int) -> tuple[bool, ...]:
    """Return which cells of a table, by the people in each, are not shown where their total is.

    One cell alone could be had by subtraction, so the smallest of the others is held back with it, and more while those held
    back do not make `least` together (Hundepool et al. 2012, Statistical Disclosure Control, ch. 4).

    >>> suppressed([40, 3, 25], 10), suppressed([2, 3, 11, 40], 10)
    ((False, True, True), (True, True, True, False))
    """
    hidden = [too_small(size, least) for size in n]
    if any(hidden):
        for place in sorted(range(len(n)), key=lambda place: (n[place], place)):
            sizes = [size for size, is_hidden in zip(n, hidden, strict=True) if is_hidden]
            if len(sizes) > 1 and sum(sizes) >= least:
                break
            if n[place]:
                hidden[place] = True
    return tuple(hidden)


def without_small_cells(found: LabLiveGap, shared: SharedModels) -> LabLiveGap:
    """Withhold the live rates and gaps of cells with fewer than `min_cell` live clusters (users), and say how many.

    Sums over cells stay, since they hold everyone; so a second cell is withheld wherever a sum would give the first away.
    """
    cells, least = shared.cells, shared.min_cell
    if cells is None or cells.live is None or least < 2:
        return found
    live, people = cells.live, f"{shared.live.clusters[0] if shared.live.clusters else 'row'}s"

    def small(codes: IntArray, n: int) -> list[bool]:
        """Which of the cells with these codes are withheld."""
        pairs = np.unique(np.stack([codes, live.cluster]), axis=1)
        return list(suppressed(np.bincount(pairs[0], minlength=n).tolist(), least))

    scenarios = sorted({level[0] for level in cells.levels})
    of_scenario = np.array([scenarios.index(level[0]) for level in cells.levels], dtype=np.int64)[live.cell]
    by_cell, by_scenario = small(live.cell, live.n_cells), small(of_scenario, len(scenarios))
    hidden_cells = {cells.label(j) for j, out in enumerate(by_cell) if out}
    hidden_rows = {("", scenarios[j]) for j, out in enumerate(by_scenario) if out}
    pairs = np.unique(np.stack([live.model * len(scenarios) + of_scenario, live.cluster]), axis=1)
    counts = np.bincount(pairs[0], minlength=live.n_models * len(scenarios)).reshape(live.n_models, -1)
    for name, row in zip(shared.models, counts.tolist(), strict=True):
        hidden_rows |= {(name, scenarios[j]) for j, out in enumerate(suppressed(row, least)) if out}
    reason = f"withheld: fewer than {least} live {people}, or it would give away such a cell"
    decomposition, gaps = found.decomposition, found.scenario_gaps
    n_hidden = n_shown = 0
    if decomposition is not None:
        n_hidden, n_shown = sum(part.cell in hidden_cells for part in decomposition.cells), len(decomposition.cells)
        kept = (
            replace(part, live_rate=None, behaviour=None, mix=None) if part.cell in hidden_cells else part
            for part in decomposition.cells
        )
        decomposition = replace(decomposition, cells=tuple(kept))
    if gaps is not None:

        def withheld(row: ScenarioGap) -> bool:
            return (row.model, row.scenario) in hidden_rows and row.estimate is not None

        def shown(row: ScenarioGap) -> ScenarioGap:
            bare = ScenarioGap(scenario=row.scenario, model=row.model, estimate=None, n_live=None, reason=reason)
            return bare if withheld(row) else row

        n_hidden += sum(map(withheld, (*gaps.means, *gaps.rows)))
        n_shown += len(gaps.means) + len(gaps.rows)
        gaps = replace(gaps, means=tuple(map(shown, gaps.means)), rows=tuple(map(shown, gaps.rows)))
    if not n_hidden:
        return found
    text = (
        f"cells withheld: {n_hidden} of {n_shown}; fewer than {least} live {people} stand behind each, or it would give away one "
        "of these; totals hold them all (min_cell)"
    )
    told = Note(kind="left_out", text=text, caution=False)
    return replace(found, decomposition=decomposition, scenario_gaps=gaps, notes=(*found.notes, told))
