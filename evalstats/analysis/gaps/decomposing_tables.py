"""Cells of both sides made ready to be decomposed: models that can be, cells with names, shares counted or given."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from evalstats.analysis.gaps.material import Cells, CellSums, Material
from evalstats.errors import CannotAnswerError, InputError
from evalstats.stats.checks import FloatArray, IntArray
from evalstats.stats.gap.cell_table import CellTable, cell_table


@dataclass(frozen=True, slots=True, kw_only=True)
class Tables:
    """What is decomposed.

    Attributes
    ----------
    factors, levels
        Of the cells: as in `Cells`.
    lab, live
        Sums of the models that have a decomposition, in the order of `kept`. Where no live outcome is known, `live` holds
        one made row a cell, so that shares can be told and nothing else.
    kept
        Places in `Material.models` of the models that have a common cell.
    comparable
        Whether live rates are known and mean the same as the lab's.
    outside
        Shares of cells given from outside; None where they are counted.
    common
        bool, shape (n_kept, n_cells).
    n_lab, n_live
        float64, shape (n_models, n_cells), of all models; live zeros where unknown.
    """

    factors: tuple[str, ...]
    levels: tuple[tuple[str, ...], ...]
    lab: CellTable
    live: CellTable
    kept: IntArray
    comparable: bool
    counted: bool
    outside: FloatArray | None
    common: npt.NDArray[np.bool_]
    n_lab: FloatArray
    n_live: FloatArray

    def codes(self) -> tuple[IntArray, ...]:
        """For each factor the code of its level in each cell; none where there is a single factor."""
        if len(self.factors) < 2:
            return ()
        columns = [[level[place] for level in self.levels] for place in range(len(self.factors))]
        return tuple(np.unique(column, return_inverse=True)[1].astype(np.int64) for column in columns)

    def label(self, cell: int) -> str:
        """Name a cell for a reader."""
        return " / ".join(self.levels[cell])


def tables_of(material: Material) -> Tables:
    """Make the cells of both sides ready.

    Raises
    ------
    CannotAnswerError
        If a side has no outcomes by cell, or no model has a cell on both sides.
    InputError
        If a mix is given for a factor that the cells do not have, or its shares do not add up to 1.
    """
    cells, options = material.cells, material.options
    if cells is None:
        raise CannotAnswerError(material.no_cells_reason or "there are no outcomes by scenario on both sides")
    given = bool(options.mix)
    if cells.live is None and not given:
        raise CannotAnswerError(
            "live has no outcomes, so its mix is unknown; give its shares by level of a factor (mix=)"
        )
    outside: FloatArray | None = None
    if given:
        cells, outside = _onto_mix(cells, options.mix_factor, options.mix)
    n_lab = _counts(cells.lab)
    counted = cells.live is not None
    n_live = np.zeros_like(n_lab) if cells.live is None else _counts(cells.live)
    wanted = n_live > 0 if outside is None else np.broadcast_to(outside > 0, n_lab.shape)
    comparable = counted and material.same_scale
    common = (n_lab > 0) & wanted & ((n_live > 0) | (not comparable))
    kept = np.flatnonzero(common.any(1)).astype(np.int64)
    if kept.size == 0:
        raise CannotAnswerError(
            f"no model has a combination of {' and '.join(cells.factors)} on both sides; "
            f"the lab has {_named(cells, n_lab)}, live {_named(cells, np.where(wanted, 1.0, 0.0))}"
        )
    return Tables(
        factors=cells.factors,
        levels=cells.levels,
        lab=_table(cells.lab, kept),
        live=_made(n_lab[kept].shape) if cells.live is None else _table(cells.live, kept),
        kept=kept,
        comparable=comparable,
        counted=counted,
        outside=outside,
        common=common[kept],
        n_lab=n_lab,
        n_live=n_live,
    )


def _onto_mix(cells: Cells, factor: str | None, mix: Mapping[str, float]) -> tuple[Cells, FloatArray]:
    """Collapse cells to the factor that the mix is of; levels that no side has become cells of their own."""
    if factor is None or factor not in cells.factors:
        raise InputError(f"the mix is of {factor!r}; both sides have the factors {', '.join(cells.factors)}")
    total = sum(mix.values())
    if min(mix.values()) < 0 or abs(total - 1.0) > 1e-6:
        raise InputError(f"the shares of the mix add up to {total:g}; they must be 0 or more and add up to 1")
    place = cells.factors.index(factor)
    own = [level[place] for level in cells.levels]
    names = sorted({*own, *mix})
    code = np.array([names.index(name) for name in own], dtype=np.int64)

    def collapsed(side: CellSums) -> CellSums:
        return CellSums(
            cluster=side.cluster,
            model=side.model,
            cell=code[side.cell],
            n=side.n,
            total=side.total,
            n_clusters=side.n_clusters,
            n_models=side.n_models,
            n_cells=len(names),
        )

    live = None if cells.live is None else collapsed(cells.live)
    levels = tuple((name,) for name in names)
    shares = np.array([mix.get(name, 0.0) for name in names], dtype=np.float64)
    return Cells(factors=(factor,), levels=levels, lab=collapsed(cells.lab), live=live), shares / total


def _counts(side: CellSums) -> FloatArray:
    place = side.model * side.n_cells + side.cell
    counts = np.bincount(place, weights=side.n, minlength=side.n_models * side.n_cells)
    return counts.astype(np.float64).reshape(side.n_models, side.n_cells)


def _table(side: CellSums, kept: IntArray) -> CellTable:
    """Cut a side to the models kept, coded in their order."""
    code = np.full(side.n_models, -1, dtype=np.int64)
    code[kept] = np.arange(kept.size)
    at = np.flatnonzero(code[side.model] >= 0)
    return cell_table(
        side.cluster[at],
        code[side.model[at]],
        side.cell[at],
        side.n[at],
        side.total[at],
        n_models=kept.size,
        n_cells=side.n_cells,
    )


def _made(shape: tuple[int, int]) -> CellTable:
    model, cell = np.divmod(np.arange(shape[0] * shape[1]), shape[1])
    ones = np.ones(model.size)
    return cell_table(np.zeros_like(model), model, cell, ones, ones * 0.0, n_models=shape[0], n_cells=shape[1])


def _named(cells: Cells, n: FloatArray) -> str:
    names = [cells.label(int(cell)) for cell in np.flatnonzero(n.sum(0) > 0)]
    return ", ".join(names[:5]) + (", ..." if len(names) > 5 else "")
