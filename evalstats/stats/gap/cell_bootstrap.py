"""Joint bootstrap of two tables of cell sums: lab clusters and live clusters drawn anew, each side on its own.

A resample is one draw of clusters for all models, so that what models share stays shared. Sums of a resample are the
product of how often each cluster was drawn with the sparse table of its sums: no row is copied.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from evalstats.errors import InputError
from evalstats.stats.checks import FloatArray, check_count, check_level, too_few_clusters
from evalstats.stats.estimate import normal_quantile
from evalstats.stats.gap.cell_linear import STEP, Statistic, Sums
from evalstats.stats.gap.cell_table import CellTable

IntervalKind = Literal["percentile-t", "basic", "percentile", "normal"]
_FEWEST_DRAWS = 100
_MOST_NUMBERS = 20_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class CellDraws:
    """Resampled statistics of each model and of the mean over models (the last row).

    Attributes
    ----------
    estimate, std_error
        float64, shape (n_models + 1, n_statistics): on the data; the error is linearised.
    draws, errors
        float64, shape (n_resamples, n_models + 1, n_statistics): statistics and linearised errors of resamples. `errors` is
        None where they were not asked for.
    n_empty
        Resamples in which a model had nothing in a cell that it has in the data: its rate there is the one of the data, with
        the share that the resample gives it.
    reason
        Why there can be no interval: too few clusters.
    """

    estimate: FloatArray
    std_error: FloatArray
    draws: FloatArray
    errors: FloatArray | None
    n_empty: int
    reason: str | None

    def interval(self, conf_level: float, kind: IntervalKind) -> tuple[FloatArray, FloatArray]:
        """Return the ends for each model and statistic; NaN where the error is 0.

        Raises
        ------
        InputError
            If percentile-t is asked for and the resamples have no errors.
        """
        tail = (1.0 - check_level(conf_level)) / 2.0
        if kind == "percentile":
            low, high = np.quantile(self.draws, [tail, 1.0 - tail], axis=0)
            return low, high
        if kind == "basic":
            low, high = np.quantile(self.draws - self.estimate, [tail, 1.0 - tail], axis=0)
            return self.estimate - high, self.estimate - low
        if kind == "normal":
            reach = normal_quantile(conf_level) * self.draws.std(axis=0, ddof=1)
            return self.estimate - reach, self.estimate + reach
        if self.errors is None:
            raise InputError("percentile-t needs the errors of resamples; draw them with studentised=True")
        some = self.errors > 0
        t = np.divide(self.draws - self.estimate, self.errors, out=np.zeros_like(self.draws), where=some)
        low, high = np.quantile(t, [tail, 1.0 - tail], axis=0)
        error = np.where(self.std_error > 0, self.std_error, np.nan)
        return self.estimate - high * error, self.estimate - low * error


def joint_bootstrap(
    statistic: Statistic,
    lab: CellTable,
    live: CellTable,
    *,
    n_resamples: int = 2000,
    seed: int = 0,
    studentised: bool = True,
) -> CellDraws:
    """Draw clusters of both sides with replacement and recompute the statistics.

    Parameters
    ----------
    statistic
        As in `evalstats.stats.gap.cell_linear.linearised`; it must put a rate in place of one that a resample lacks
        (`GapStatistic.lab_rate`, `live_rate`).
    studentised
        Whether each resample gets its own linearised error, for percentile-t: about ten times the work.

    Notes
    -----
    With fewer than 5 clusters on a side `reason` says so, and no interval should be printed.

    References
    ----------
    Davison & Hinkley 1997, Bootstrap Methods, doi:10.1017/CBO9780511802843, sections 2.7.2 and 5.2.

    Examples
    --------
    >>> from evalstats.stats.gap.cell_table import cell_table
    >>> side = cell_table(range(8), [0] * 8, [0] * 8, [1] * 8, [1, 0, 1, 1, 0, 1, 1, 0], n_models=1, n_cells=1)
    >>> def difference(n_lab, t_lab, n_live, t_live):
    ...     return t_live / n_live - t_lab / n_lab
    >>> drawn = joint_bootstrap(difference, side, side, n_resamples=400)
    >>> drawn.draws.shape, drawn.reason
    ((400, 2, 1), None)
    """
    count = check_count(n_resamples, "n_resamples", least=_FEWEST_DRAWS)
    streams = [np.random.default_rng(part) for part in np.random.SeedSequence(seed).spawn(2)]
    sides = [_Side.of(table) for table in (lab, live)]
    numbers = max(lab.n_clusters, live.n_clusters, 8 * lab.n_models * lab.n_cells)
    block = max(1, _MOST_NUMBERS // (numbers * 8))
    once = [np.ones((side.table.n_clusters, 1)) for side in sides]
    estimate, std_error = _replicates(statistic, sides, once, studentised=True)
    draws: list[FloatArray] = []
    errors: list[FloatArray] = []
    n_empty = 0
    for start in range(0, count, block):
        size = min(block, count - start)
        times = [_multiplicities(side.table.n_clusters, size, rng) for side, rng in zip(sides, streams, strict=True)]
        value, error = _replicates(statistic, sides, times, studentised=studentised)
        n_empty += int(np.any([side.emptied(time) for side, time in zip(sides, times, strict=True)], axis=0).sum())
        draws.append(value)
        errors.append(error)
    few = [(name, too_few_clusters(table.n_clusters)) for name, table in (("lab", lab), ("live", live))]
    return CellDraws(
        estimate=estimate[0],
        std_error=std_error[0],
        draws=np.concatenate(draws),
        errors=np.concatenate(errors) if studentised else None,
        n_empty=n_empty,
        reason="; ".join(f"{name}: {why}" for name, why in few if why is not None) or None,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Side:
    """One side's table as sparse matrices (clusters in columns)."""

    table: CellTable
    n: csr_array
    total: csr_array

    @classmethod
    def of(cls, table: CellTable) -> "_Side":
        place = table.model * table.n_cells + table.cell
        shape = (table.n_models * table.n_cells, table.n_clusters)
        n = csr_array((table.n, (place, table.cluster)), shape=shape)
        return cls(table=table, n=n, total=csr_array((table.total, (place, table.cluster)), shape=shape))

    def sums(self, times: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return sums of resamples, shape (n_resamples, n_models, n_cells)."""
        shape = (times.shape[1], self.table.n_models, self.table.n_cells)
        return (self.n @ times).T.reshape(shape), (self.total @ times).T.reshape(shape)

    def emptied(self, times: FloatArray) -> npt.NDArray[np.bool_]:
        """Whether each resample lacks a cell that the data have."""
        has = np.asarray(self.n.sum(axis=1)).reshape(-1) > 0
        return np.asarray(((self.n @ times)[has] <= 0).any(axis=0))

    def squares(self, slopes: FloatArray, times: FloatArray) -> FloatArray:
        """Return sums over clusters of squared influences, shape (n_resamples, n_models + 1, n_statistics).

        `slopes` has shape (2, n_resamples, n_models, n_cells, n_statistics): derivatives by n and by total.
        """
        _, size, n_models, n_cells, n_stats = slopes.shape
        out = np.empty((size, n_models + 1, n_stats))
        together = np.zeros((self.table.n_clusters, size * n_stats))
        for model in range(n_models):
            at = slice(model * n_cells, (model + 1) * n_cells)
            by = slopes[:, :, model].transpose(0, 2, 1, 3).reshape(2, n_cells, size * n_stats)
            adds: FloatArray = self.n[at].T @ by[0] + self.total[at].T @ by[1]
            together += adds / n_models
            out[:, model] = np.einsum("gb,gbk->bk", times, adds.reshape(-1, size, n_stats) ** 2)
        out[:, n_models] = np.einsum("gb,gbk->bk", times, together.reshape(-1, size, n_stats) ** 2)
        return out


def _replicates(
    statistic: Statistic, sides: list[_Side], times: list[FloatArray], *, studentised: bool
) -> tuple[FloatArray, FloatArray]:
    """Statistics and their linearised errors, each of shape (n_resamples, n_models + 1, n_statistics)."""
    sums = [array for side, time in zip(sides, times, strict=True) for array in side.sums(time)]
    values = np.asarray(statistic(*sums), dtype=np.float64)
    values = np.concatenate([values, values.mean(axis=1, keepdims=True)], axis=1)
    if not studentised:
        return values, np.zeros_like(values)
    slopes = _slopes(statistic, sums)
    variance = sides[0].squares(slopes[:2], times[0]) + sides[1].squares(slopes[2:], times[1])
    return values, np.sqrt(variance)


def _slopes(statistic: Statistic, sums: list[FloatArray]) -> FloatArray:
    """Return derivatives by each sum, shape (4, n_resamples, n_models, n_cells, n_statistics)."""
    out: list[FloatArray] = []
    for which in range(4):
        by_cell: list[FloatArray] = []
        for cell in range(sums[0].shape[2]):
            moved: list[Sums] = list(sums)
            moved[which] = sums[which].astype(np.complex128)
            moved[which][:, :, cell] += 1j * STEP
            by_cell.append(np.imag(statistic(*moved)) / STEP)
        out.append(np.stack(by_cell, axis=2))
    return np.stack(out)


def _multiplicities(n_clusters: int, n_resamples: int, rng: np.random.Generator) -> FloatArray:
    """How often each cluster is drawn, shape (n_clusters, n_resamples)."""
    counts = np.empty((n_resamples, n_clusters))
    for row in counts:
        row[:] = np.bincount(rng.integers(0, n_clusters, n_clusters), minlength=n_clusters)
    return np.ascontiguousarray(counts.T)
