"""Standardisation: what of a gap between lab and live comes from the mix of cells, and what from behaviour within them.

Sums by cluster, model and cell; their linearised variances; weights of cells; Kitagawa's parts and Shapley shares.

References: Kitagawa 1955, doi:10.1080/01621459.1955.10501299; Nopo 2008, doi:10.1162/rest.90.2.290 (cells that one side
lacks); Shorrocks 2013, doi:10.1007/s10888-011-9214-z; Bell & McCaffrey 2002; Lumley 2010,
Complex Surveys, doi:10.1002/9780470580066; Squire & Trapp 1998, doi:10.1137/S003614459631241X (complex steps).
"""

from collections.abc import Callable, Sequence
from math import factorial
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.typing import ArrayLike
from scipy.sparse import csr_array

from evalstats.errors import CannotAnswerError, InputError
from evalstats.record import record
from evalstats.stats.checks import FloatArray, IntArray, as_values


@record
class CellTable:
    """Sums of one side: one entry for each cluster x model x cell that has a score, sorted in that order.

    `n` is the sum of weights, above 0, `total` the weighted sum of scores.
    """

    cluster: IntArray
    model: IntArray
    cell: IntArray
    n: FloatArray
    total: FloatArray
    n_clusters: int
    n_models: int
    n_cells: int

    def sums(self) -> tuple[FloatArray, FloatArray]:
        """Return the sums of weights and of scores, each of shape (n_models, n_cells)."""
        place = self.model * self.n_cells + self.cell
        size = self.n_models * self.n_cells
        shape = (self.n_models, self.n_cells)
        return (
            np.bincount(place, weights=self.n, minlength=size).astype(np.float64).reshape(shape),
            np.bincount(place, weights=self.total, minlength=size).astype(np.float64).reshape(shape),
        )

    def of_models(self, kept: IntArray) -> "CellTable":
        """Keep some models, coded in their order."""
        code = np.full(self.n_models, -1, dtype=np.int64)
        code[kept] = np.arange(kept.size)
        at = np.flatnonzero(code[self.model] >= 0)
        columns = (self.cluster[at], code[self.model[at]], self.cell[at], self.n[at], self.total[at])
        return cell_table(*columns, n_models=kept.size, n_cells=self.n_cells)

    def onto(self, code: IntArray, n_cells: int) -> "CellTable":
        """Give each cell its place among other ones; cells of one place are added up."""
        columns = (self.cluster, self.model, code[self.cell], self.n, self.total)
        return cell_table(*columns, n_models=self.n_models, n_cells=n_cells)

    @classmethod
    def of_ones(cls, n_models: int, n_cells: int) -> "CellTable":
        """Return one made outcome in every cell, where nothing is known but which cells there are."""
        model, cell = np.divmod(np.arange(n_models * n_cells), n_cells)
        ones = np.ones(model.size)
        return cell_table(np.zeros_like(model), model, cell, ones, ones * 0.0, n_models=n_models, n_cells=n_cells)

    def constant_models(self) -> list[int]:
        """Return the models whose outcomes are all equal."""
        mean = self.total / self.n
        low, high = np.full(self.n_models, np.inf), np.full(self.n_models, -np.inf)
        np.minimum.at(low, self.model, mean)
        np.maximum.at(high, self.model, mean)
        return np.flatnonzero(high - low <= 1e-12 * np.maximum(np.abs(high), 1e-300)).tolist()

    def clusters_of_models(self) -> IntArray:
        """Count the clusters that each model has, shape (n_models,)."""
        pairs = np.unique(self.cluster * self.n_models + self.model)
        return np.bincount(pairs % self.n_models, minlength=self.n_models).astype(np.int64)


def cell_table(
    cluster: ArrayLike,
    model: ArrayLike,
    cell: ArrayLike,
    n: ArrayLike,
    total: ArrayLike,
    *,
    n_models: int,
    n_cells: int,
) -> CellTable:
    """Make a table of sums from entries in any order; entries of one cluster, model and cell are added up.

    An entry of weight 0 is left out; InputError where that leaves none.
    """
    codes = [np.asarray(code, dtype=np.int64) for code in (cluster, model, cell)]
    weight, sums = np.asarray(n, dtype=np.float64), np.asarray(total, dtype=np.float64)
    kept = weight > 0
    if not kept.any():
        raise InputError("all weights are 0; a side needs at least one outcome that counts")
    key = (codes[0][kept] * n_models + codes[1][kept]) * n_cells + codes[2][kept]
    entries, place = np.unique(key, return_inverse=True)
    levels, compact = np.unique(entries // (n_models * n_cells), return_inverse=True)
    return CellTable(
        cluster=compact.astype(np.int64),
        model=entries // n_cells % n_models,
        cell=entries % n_cells,
        n=np.bincount(place, weights=weight[kept]).astype(np.float64),
        total=np.bincount(place, weights=sums[kept]).astype(np.float64),
        n_clusters=levels.size,
        n_models=n_models,
        n_cells=n_cells,
    )


# Sums may be complex: their derivatives are taken by steps along the imaginary axis.
Sums = npt.NDArray[Any]
# (n_lab, total_lab, n_live, total_live), each of shape (..., n_models, n_cells), to (..., n_models, n_statistics); a model's
# statistics depend on its own sums alone, and on each side only through shares and rates.
Statistic = Callable[[Sums, Sums, Sums, Sums], Sums]
# Derivatives along the imaginary axis lose no digits however small the step.
STEP = 1e-30
_MOST_NUMBERS = 2_000_000
# A cluster that holds all of a cell but for rounding.
_WHOLE = 1.0 - 1e-9
_TINY = float(np.finfo(np.float64).tiny)


@record
class Linearised:
    """Statistics with the variance that each side brings, shape (n_models + 1, n_statistics); the last row averages models.

    `lonely` holds (side, model, cell) where a single cluster holds a model's whole cell.
    """

    estimate: FloatArray
    lab_variance: FloatArray
    live_variance: FloatArray
    lab_df: FloatArray
    live_df: FloatArray
    lonely: tuple[tuple[str, int, int], ...]

    @property
    def variance(self) -> FloatArray:
        """Both sides' variance."""
        return self.lab_variance + self.live_variance

    @property
    def df(self) -> FloatArray:
        """Satterthwaite's degrees of freedom of the sum; 0 where there is no variance."""
        below = _ratio(self.lab_variance**2, self.lab_df) + _ratio(self.live_variance**2, self.live_df)
        return _ratio(self.variance**2, below)


def linearised(
    statistic: Statistic, lab: CellTable, live: CellTable, average: IntArray, *, fixed_lab_shares: bool = False
) -> Linearised:
    """Estimate statistics of two tables with their variances.

    Parameters
    ----------
    statistic
        From sums to statistics, made of analytic operations (no absolute values, no maxima).
    average
        Models over which the last row averages.
    fixed_lab_shares
        Whether the share of each cell of the lab was chosen, as quotas of items are, and so has no error. Then only the
        rates within cells vary.

    Notes
    -----
    With a and b the derivatives by the sum of weights N and of scores T of a cell, cluster g adds b (T_g - r N_g) for what
    it does within the cell and (a + b r) N_g for the share it brings. Each is divided by the square root of 1 - h, with h
    the cluster's part of the cell (of the side): the correction that makes the variance of a mean unbiased for independent
    rows (CR2). A cell held by one cluster has no spread of its own: its residual is taken from the model's overall rate,
    which overstates it (lonely.psu "adjust" of R's survey package). Degrees of freedom: (sum c)^2/(sum c^2) - 1 with c_g the
    variance that a cluster would add if rows were independent with the cell's variance.

    Examples
    --------
    >>> side = cell_table(range(6), [0] * 6, [0] * 6, [1] * 6, [1, 0, 1, 1, 0, 1], n_models=1, n_cells=1)
    >>> def difference(n_lab, t_lab, n_live, t_live):
    ...     return t_live / n_live - t_lab / n_lab
    >>> fit = linearised(difference, side, side, np.array([0]))
    >>> bool(np.isclose(fit.variance[0, 0], 2 * np.var([1, 0, 1, 1, 0, 1], ddof=1) / 6)), round(float(fit.df[0, 0]), 6)
    (True, 10.0)
    """
    sums = (*lab.sums(), *live.sums())
    point = np.asarray(statistic(*sums), dtype=np.float64)
    slopes = derivatives(statistic, sums)
    lab_side = _side_errors(lab, slopes[0], slopes[1], average, fixed_shares=fixed_lab_shares)
    live_side = _side_errors(live, slopes[2], slopes[3], average)
    return Linearised(
        estimate=np.vstack([point, point[average].mean(0, keepdims=True)]),
        lab_variance=lab_side[0],
        lab_df=lab_side[1],
        live_variance=live_side[0],
        live_df=live_side[1],
        lonely=tuple(
            (side, int(m), int(s))
            for side, table, n in (("lab", lab, sums[0]), ("live", live, sums[2]))
            for m, s, part in zip(table.model, table.cell, table.n / n[table.model, table.cell], strict=True)
            if part > _WHOLE
        ),
    )


def derivatives(statistic: Statistic, sums: tuple[FloatArray, FloatArray, FloatArray, FloatArray]) -> FloatArray:
    """Return derivatives by each sum, shape (4, n_models, n_cells, n_statistics), by steps along the imaginary axis."""
    n_models, n_cells = sums[0].shape
    block = max(1, _MOST_NUMBERS // (n_models * n_cells))
    out: list[FloatArray] = []
    for which in range(4):
        for start in range(0, n_cells, block):
            cells = np.arange(start, min(start + block, n_cells))
            stepped = [np.asarray(array, dtype=np.complex128)[None] for array in sums]
            moved = np.repeat(stepped[which], cells.size, axis=0)
            moved[np.arange(cells.size), :, cells] += 1j * STEP
            stepped[which] = moved
            out.append(np.imag(statistic(*stepped)) / STEP)
    return np.concatenate(out).reshape(4, n_cells, n_models, -1).transpose(0, 2, 1, 3)


def _side_errors(
    table: CellTable, by_n: FloatArray, by_total: FloatArray, average: IntArray, *, fixed_shares: bool = False
) -> tuple[FloatArray, FloatArray]:
    """Variances and degrees of freedom from one side's clusters, shape (n_models + 1, n_statistics)."""
    n, total = table.sums()
    rate = np.where(n > 0, total / np.where(n > 0, n, 1.0), 0.0)
    pair, pair_of = np.unique(table.cluster * table.n_models + table.model, return_inverse=True)
    within, between = _residuals(table, n, total, np.bincount(pair_of, weights=table.n).astype(np.float64)[pair_of])
    flat = (n.size, by_n.shape[-1])
    slope = (by_n + by_total * rate[..., None]).reshape(flat) * (0.0 if fixed_shares else 1.0)
    by_rate = by_total.reshape(flat)
    expected = slope**2 + by_rate**2 * _row_variance(table, rate).reshape(-1, 1)
    place = table.model * table.n_cells + table.cell
    chosen = np.flatnonzero(np.isin(table.model, average))
    blocks: list[tuple[FloatArray, FloatArray, FloatArray]] = []
    every = np.arange(place.size)
    whole = np.zeros(table.n_clusters, dtype=np.int64)
    for at, unit, model in ((every, pair_of, pair % table.n_models), (chosen, table.cluster[chosen], whole)):

        def gathered(values: FloatArray, at: IntArray = at, unit: IntArray = unit, size: int = model.size) -> csr_array:
            return csr_array((values[at], (unit, place[at])), shape=(size, n.size))

        adds = gathered(within) @ by_rate + gathered(between) @ slope
        law = gathered(table.n) @ expected
        groups = csr_array((np.ones(model.size), (model, np.arange(model.size))), shape=(model.max() + 1, model.size))
        blocks.append((groups @ adds**2, groups @ law, groups @ law**2))
    blocks[1] = (blocks[1][0] / max(average.size, 1) ** 2, *blocks[1][1:])
    variance, law, square = (np.vstack(parts) for parts in zip(*blocks, strict=True))
    return variance, np.maximum(_ratio(law**2, square) - 1.0, 1.0)


def _residuals(
    table: CellTable, n: FloatArray, total: FloatArray, brought: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return each entry's residual within its cell and its size, both corrected for its part of the cell and the side.

    `brought` is the sum of weights of the entry's cluster for the entry's model.
    """
    model, cell = table.model, table.cell
    part, whole = table.n / n[model, cell], brought / n.sum(1)[model]
    alone = part > _WHOLE
    rate = np.where(alone, (total.sum(1) / np.maximum(n.sum(1), _TINY))[model], total[model, cell] / n[model, cell])
    within = (table.total - rate * table.n) / np.sqrt(np.where(alone, 1.0, 1.0 - part))
    return within, table.n / np.sqrt(np.where(whole > _WHOLE, 1.0, 1.0 - whole))


def _row_variance(table: CellTable, rate: FloatArray) -> FloatArray:
    """Variance of a row within each cell, from the spread of cluster means (exact where a cluster is one row)."""
    place = table.model * table.n_cells + table.cell
    off = (table.total - rate[table.model, table.cell] * table.n) ** 2 / table.n
    size = table.n_models * table.n_cells
    squares, clusters = np.bincount(place, weights=off, minlength=size), np.bincount(place, minlength=size)
    return (squares / np.maximum(clusters - 1, 1)).reshape(rate.shape)


def _ratio(above: FloatArray, below: FloatArray) -> FloatArray:
    return np.divide(above, below, out=np.zeros_like(above), where=below > 0)


_SHARES = 1e-6


@record
class CellWeights:
    """Weights of rows that make the shares of cells equal those wanted, over the cells that have a row.

    `by_cell` has a mean of 1 over the rows used and is 0 in cells without rows or without a share; `effective_n` is Kish's,
    `ratio` the largest weight over the smallest. `uncovered` is the share wanted in `empty` cells, those without a row: the
    other shares are scaled up, so a mean is over the covered mix.
    """

    by_cell: FloatArray
    effective_n: float
    ratio: float
    uncovered: float
    empty: tuple[int, ...]


def cell_weights(count: ArrayLike, share: ArrayLike) -> CellWeights:
    """Weight rows by cell so that cells have the shares wanted, which add up to 1; `count` are the rows of each cell.

    Raises CannotAnswerError if no cell that is wanted has a row.
    """
    n, wanted = as_values(count, "counts"), as_values(share, "shares")
    if wanted.min() < 0 or abs(wanted.sum() - 1.0) > _SHARES:
        raise InputError(f"shares add up to {wanted.sum():g}; they must be 0 or more and add up to 1")
    used = (n > 0) & (wanted > 0)
    if not used.any():
        raise CannotAnswerError("no cell of the mix has a row; nothing can stand for it")
    uncovered = float(wanted[n <= 0].sum())
    target = np.where(used, wanted, 0.0) / wanted[used].sum()
    weight = np.where(used, target / np.where(used, n, 1.0), 0.0) * n[used].sum()
    return CellWeights(
        by_cell=weight,
        effective_n=float((weight * n).sum() ** 2 / (weight**2 * n).sum()),
        ratio=float(weight[used].max() / weight[used].min()),
        uncovered=uncovered,
        empty=tuple(int(cell) for cell in np.flatnonzero((n <= 0) & (wanted > 0))),
    )


@record
class GapParts:
    """A gap in parts, live minus lab, for many tables at once: arrays of shape (...), and by cell (..., n_cells).

    mix + behaviour + unexplained_live + unexplained_lab = live - lab, the latter two because of live cells without lab and lab
    cells without live. `poststratified` are the lab's rates in the live shares, over the common cells.
    """

    lab: Sums
    live: Sums
    mix: Sums
    behaviour: Sums
    unexplained_live: Sums
    unexplained_lab: Sums
    poststratified: Sums
    mix_terms: Sums
    behaviour_terms: Sums
    lab_share: Sums
    live_share: Sums
    lab_rate: Sums
    live_rate: Sums


def gap_parts(
    n_lab: Sums,
    total_lab: Sums,
    n_live: Sums,
    total_live: Sums,
    *,
    common: npt.NDArray[np.bool_],
) -> GapParts:
    """Decompose the difference of two rates into mix and behaviour, symmetric in the two sides, for any number of tables.

    Parameters
    ----------
    n_lab, total_lab, n_live, total_live
        Sums of weights and of weighted scores, shape (..., n_cells).
    common
        Cells that count as had by both sides, broadcast against the sums.

    Notes
    -----
    With shares w and rates r by cell, mix = sum (w_V - w_L)(r_L + r_V)/2 and behaviour = sum (r_V - r_L)(w_L + w_V)/2. Cells
    with a share on one side alone have no rate to compare: both sides are cut to the common cells with shares renormalised,
    and what that changes in the two rates is unexplained, by design. A term of the mix is (w_V - w_L)(r - r0) with r the
    mean of the two rates in the cell and r0 their mean over both mixes: the sum does not change, since the differences of
    shares add up to 0, and terms do not hinge on the zero of the scale.
    """
    inside = np.where(common, 1.0, 0.0)
    rate_lab, rate_live = _rates(n_lab, total_lab), _rates(n_live, total_live)
    r_lab, r_live = np.where(common, rate_lab, 0.0), np.where(common, rate_live, 0.0)
    w_lab, w_live = _shares(n_lab * inside), _shares(n_live * inside)
    lab, live = total_lab.sum(-1) / n_lab.sum(-1), total_live.sum(-1) / n_live.sum(-1)
    middle, weight = (r_lab + r_live) / 2.0, (w_lab + w_live) / 2.0
    mix_terms = (w_live - w_lab) * (middle - (weight * middle).sum(-1)[..., None])
    behaviour_terms = (r_live - r_lab) * weight
    return GapParts(
        lab=lab,
        live=live,
        mix=mix_terms.sum(-1),
        behaviour=behaviour_terms.sum(-1),
        unexplained_live=live - (w_live * r_live).sum(-1),
        unexplained_lab=(w_lab * r_lab).sum(-1) - lab,
        poststratified=(w_live * r_lab).sum(-1),
        mix_terms=mix_terms,
        behaviour_terms=behaviour_terms,
        lab_share=w_lab,
        live_share=w_live,
        lab_rate=rate_lab,
        live_rate=rate_live,
    )


def _rates(n: Sums, total: Sums) -> Sums:
    some = n != 0
    return np.where(some, total / np.where(some, n, 1.0), np.nan)


def _shares(n: Sums) -> Sums:
    total = n.sum(-1)[..., None]
    return n / np.where(total != 0, total, 1.0)


MOST_FACTORS = 6


def shapley_shares(w_lab: Sums, w_live: Sums, rate: Sums, factors: Sequence[IntArray]) -> Sums:
    """Split the mix effect sum (w_live - w_lab) rate into one contribution for each factor, shape (..., n_factors).

    The value of a set of factors is the change of the rate when the lab is reweighted so that the joint shares of these
    factors are the live ones, and the shares within them stay the lab's. A factor's contribution is its mean increment over
    all orders in which the factors can change; contributions add up to the mix effect. Shares (..., n_cells) are over the
    common cells, where the lab's are above 0; `rate` is the mean of both sides' rates; `factors` hold the code of each cell's
    level. Raises InputError with no factor, or more than 6.

    Examples
    --------
    >>> a, b = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
    >>> lab, live, rate = np.full(4, 0.25), np.array([0.4, 0.4, 0.1, 0.1]), np.array([1.0, 0.5, 0.6, 0.1])
    >>> shapley_shares(lab, live, rate, [a, b]).round(3).tolist()
    [0.12, 0.0]
    """
    n = len(factors)
    if not 1 <= n <= MOST_FACTORS:
        raise InputError(f"{n} factors; contributions of 1 to {MOST_FACTORS} factors can be told")
    values = [_value(chosen, w_lab, w_live, rate, factors) for chosen in range(2**n)]
    out: list[Sums] = []
    for factor in range(n):
        part = np.zeros_like(values[0])
        for chosen in range(2**n):
            if chosen >> factor & 1:
                continue
            size = chosen.bit_count()
            part = part + factorial(size) * factorial(n - size - 1) / factorial(n) * (
                values[chosen | 1 << factor] - values[chosen]
            )
        out.append(part)
    return np.stack(out, axis=-1)


def _value(chosen: int, w_lab: Sums, w_live: Sums, rate: Sums, factors: Sequence[IntArray]) -> Sums:
    """Change of the rate when the joint margin of the chosen factors (bits) is the live one."""
    if chosen == 0:
        return (w_lab * rate).sum(-1) * 0.0
    codes = np.stack([codes for place, codes in enumerate(factors) if chosen >> place & 1])
    group = np.unique(codes, axis=1, return_inverse=True)[1].reshape(-1).astype(np.int64)
    member: FloatArray = np.eye(int(group.max()) + 1)[group]
    have: Sums = w_lab @ member
    want: Sums = w_live @ member
    factor = np.where(have != 0, want / np.where(have != 0, have, 1.0), 0.0)
    return ((w_lab * factor[..., group] - w_lab) * rate).sum(-1)


PARTS = ("lab", "live", "total", "mix", "behaviour", "unexplained", "poststratified")


@record
class GapStatistic:
    """The parts of the gap of each model, in the order of `names`.

    `common`, shape (n_models, n_cells), are cells that a model has on both sides; `factors` is empty where there is one alone.
    Shares given from `outside` stand for the live ones.
    """

    common: npt.NDArray[np.bool_]
    factors: tuple[IntArray, ...] = ()
    outside: FloatArray | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the statistics: the parts, factors, and three blocks of one number a cell."""
        several = tuple(f"factor {place}" for place in range(len(self.factors)))
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
        parts = gap_parts(n_lab, total_lab, n_live, total_live, common=self.common)
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
        shape = np.broadcast_shapes(*(column.shape for column in columns))
        head = np.stack([np.broadcast_to(column, shape) for column in columns], axis=-1)
        return np.concatenate([head, *(np.broadcast_to(block, (*shape, block.shape[-1])) for block in blocks)], axis=-1)
