"""The parts of the gap as one statistic of two tables of cell sums: what linearisation is given."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from evalstats.stats.checks import FloatArray, IntArray
from evalstats.stats.gap.kitagawa import Sums, gap_parts
from evalstats.stats.gap.poststratify import raked_cells
from evalstats.stats.gap.shapley_mix import shapley_shares

PARTS = ("lab", "live", "total", "mix", "behaviour", "unexplained", "poststratified")


@dataclass(frozen=True, slots=True, kw_only=True)
class GapStatistic:
    """The parts of the gap of each model, in the order of `names`.

    Attributes
    ----------
    common
        bool, shape (n_models, n_cells): cells that a model has on both sides; resamples keep those of the data.
    factors
        For each factor the code of its level in each cell; empty where there is one alone.
    outside
        Shares of the cells given from outside, which then stand for the live ones; None where they are counted.
    lab_rate, live_rate
        Shape (n_models, n_cells): rates that stand in where a resample has nothing in a cell.
    trim
        Largest weight in raking, as a multiple of the mean; None for no limit.
    """

    common: npt.NDArray[np.bool_]
    factors: tuple[IntArray, ...] = ()
    outside: FloatArray | None = None
    lab_rate: FloatArray | None = None
    live_rate: FloatArray | None = None
    trim: float | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the statistics: the parts, factors, raked, and three blocks of one number a cell."""
        several = (*(f"factor {place}" for place in range(len(self.factors))), "raked") if self.factors else ()
        cells = range(self.common.shape[-1])
        blocks = tuple(f"{block} {cell}" for block in ("mix", "behaviour", "live share") for cell in cells)
        return (*PARTS, *several, *blocks)

    def __call__(self, n_lab: Sums, total_lab: Sums, n_live: Sums, total_live: Sums) -> Sums:
        """Return the statistics, shape (..., n_models, n_statistics), of sums of shape (..., n_models, n_cells)."""
        if self.outside is not None:
            some = n_live != 0
            rate = np.where(some, total_live / np.where(some, n_live, 1.0), 0.0)
            n_live = np.where(some, self.outside, 0.0)
            total_live = n_live * rate
        parts = gap_parts(
            n_lab, total_lab, n_live, total_live, common=self.common, lab_rate=self.lab_rate, live_rate=self.live_rate
        )
        columns: list[Sums] = [
            parts.lab,
            parts.live,
            parts.live - parts.lab,
            parts.mix,
            parts.behaviour,
            parts.unexplained_live + parts.unexplained_lab,
            parts.poststratified,
        ]
        blocks: list[Sums] = [parts.mix_terms, parts.behaviour_terms, n_live / n_live.sum(-1)[..., None]]
        if self.factors:
            middle = np.where(self.common, (parts.lab_rate + parts.live_rate) / 2.0, 0.0)
            blocks.insert(0, shapley_shares(parts.lab_share, parts.live_share, middle, self.factors))
            weights = raked_cells(n_lab, n_live, self.factors, trim=self.trim)[0]
            rate = np.where(n_lab != 0, parts.lab_rate, 0.0)
            blocks.insert(1, ((weights * rate).sum(-1) / weights.sum(-1))[..., None])
        shape = np.broadcast_shapes(*(column.shape for column in columns))
        head = np.stack([np.broadcast_to(column, shape) for column in columns], axis=-1)
        return np.concatenate([head, *(np.broadcast_to(block, (*shape, block.shape[-1])) for block in blocks)], axis=-1)
