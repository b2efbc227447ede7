"""Both sides by model and level of one factor, and what is to be said of such a table."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evalstats.analysis.gaps.material import Cells, CellSums, Material, Side
from evalstats.analysis.gaps.units import NO_LEVEL
from evalstats.errors import CannotAnswerError
from evalstats.stats.checks import IntArray
from evalstats.stats.gap.scenario_cells import CellRates, Gaps, cell_rates

_CLUSTERS_FOR_INTERACTION = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class TwoSides:
    """Both sides by model and level of the first factor."""

    levels: tuple[str, ...]
    lab: CellRates
    live: CellRates


def two_sides(cells: Cells, live: CellSums, material: Material) -> tuple[TwoSides, tuple[str, ...]]:
    """Sum the cells over all factors but the first, and keep the levels that both sides have."""
    every = list(dict.fromkeys(levels[0] for levels in cells.levels))
    to_level = np.array([every.index(levels[0]) for levels in cells.levels], dtype=np.int64)
    in_lab, in_live = (_names(every, to_level[side.cell[side.n > 0.0]]) for side in (cells.lab, live))
    kept = [at for at, name in enumerate(every) if name in in_lab and name in in_live]
    if not kept:
        raise CannotAnswerError(
            f"lab and live share no level of {cells.factors[0]}: the lab has {_some(in_lab)}, live users {_some(in_live)}; map "
            "the names onto each other"
        )
    place = np.full(len(every), -1, dtype=np.int64)
    place[kept] = np.arange(len(kept))
    lab_rates = _rates(cells.lab, place[to_level], len(kept), material.lab)
    live_rates = _rates(live, place[to_level], len(kept), material.live)
    names = tuple(every[k] for k in kept)
    told = [
        f"{_some(own)}: only {where} has it, so there is no gap to measure"
        for own, where in (
            ([name for name in in_lab if name not in names], "the lab"),
            ([name for name in in_live if name not in names], "the live side"),
        )
        if own
    ]
    return TwoSides(levels=names, lab=lab_rates, live=live_rates), tuple(told)


def _names(every: Sequence[str], codes: IntArray) -> list[str]:
    """Name the levels that some score has, without the one that stands for none."""
    return [every[int(code)] for code in np.unique(codes) if every[int(code)] != NO_LEVEL]


def _rates(sums: CellSums, level: IntArray, n_levels: int, side: Side) -> CellRates:
    own = level[sums.cell]
    keep = own >= 0
    return cell_rates(
        sums.cluster[keep],
        sums.model[keep],
        own[keep],
        sums.n[keep],
        sums.total[keep],
        n_clusters=sums.n_clusters,
        n_models=sums.n_models,
        n_cells=n_levels,
        low=side.low,
        high=side.high,
    )


def several_factors(cells: Cells) -> tuple[str, ...]:
    """Say that other factors are summed over."""
    if len(cells.factors) < 2:
        return ()
    others = ", ".join(cells.factors[1:])
    return (
        f"gaps are by {cells.factors[0]} alone: within a level the mix of {others} may differ between lab and live",
    )


def lost_models(table: TwoSides, used: np.ndarray) -> tuple[str, ...]:
    """Name the scenarios whose mean is not over all models."""
    short = [name for name, column in zip(table.levels, used.T, strict=True) if column.any() and not column.all()]
    if not short:
        return ()
    return (f"{_some(short)}: the mean is over some of the models only, since others have too few scores there",)


def few_clusters(table: TwoSides, found: Gaps) -> tuple[str, ...]:
    """Say why there is no test of interaction: at 8 clusters it rejected 12% of true hypotheses, at 30 3%."""
    fewest = np.minimum(table.lab.n_clusters, table.live.n_clusters).ravel()[np.isfinite(found.std_error)]
    typical = float(np.median(fewest)) if fewest.size else 0.0
    if not fewest.size or typical >= _CLUSTERS_FOR_INTERACTION:
        return ()
    what = f"whether models differ by scenario beyond noise is tested from {_CLUSTERS_FOR_INTERACTION} on"
    return (f"a typical cell has {typical:.0f} clusters; {what}, and pooled gaps take errors as known that are not",)


def floored(table: TwoSides) -> tuple[str, ...]:
    """Say how many cells have scores that are all alike."""
    n = int(np.count_nonzero((table.lab.floor > 0.0) | (table.live.floor > 0.0)))
    if not n:
        return ()
    what = "all scores of a side are alike; their error is that of one success and one failure more"
    return (f"in {n} of {table.lab.rate.size} cells {what}",)


def _some(names: Sequence[str], most: int = 4) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(repr(name) for name in names[:most]) + more
