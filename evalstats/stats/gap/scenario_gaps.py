"""Live less lab within each cell of models and scenarios, and what is left beyond those of a model and a scenario."""

import math
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from evalstats.errors import CannotAnswerError, InputError
from evalstats.stats.checks import FEW_CLUSTERS, FloatArray, IntArray, too_few_clusters
from evalstats.stats.estimate import positive_p, two_sided_t_p
from evalstats.stats.mixed.prediction import pooled_table

_ROUNDING = 1e-12
_LEAST_DF = 4.0 - 1e-9  # what five equal clusters have, up to rounding


@dataclass(frozen=True, slots=True, kw_only=True)
class CellRates:
    """Rates of one side by model and cell, with what their errors are made of.

    Attributes
    ----------
    rate, n, n_clusters
        Shape (n_models, n_cells): weighted mean score (NaN without one), sum of weights, clusters with a score.
    residual
        Sparse, shape (n_clusters, n_models * n_cells), cells running fastest: what each cluster adds to the error of a rate,
        scaled so that the sum of squares is the CR2 variance. Products of two columns are covariances.
    share
        The same shape: the cluster's share of the weight of the cell.
    floor
        Shape (n_models * n_cells,): variance given to a rate whose scores are all alike, 0 elsewhere.
    """

    rate: FloatArray
    n: FloatArray
    n_clusters: IntArray
    residual: sparse.csr_array
    share: sparse.csr_array
    floor: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Combined:
    """Weighted sums of rates: estimates, covariance of errors, Satterthwaite df and clusters behind each."""

    estimate: FloatArray
    covariance: FloatArray
    df: FloatArray
    n_clusters: IntArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Gaps:
    """Differences of two sides. `std_error`, `df` and `p_value` are NaN where `reasons` says why there is no interval."""

    estimate: FloatArray
    std_error: FloatArray
    df: FloatArray
    p_value: FloatArray
    reasons: tuple[str | None, ...]


def cell_rates(
    cluster: IntArray,
    model: IntArray,
    cell: IntArray,
    n: FloatArray,
    total: FloatArray,
    *,
    n_clusters: int,
    n_models: int,
    n_cells: int,
    low: float | None = None,
    high: float | None = None,
) -> CellRates:
    """Average the scores of each model in each cell, with errors clustered.

    Parameters
    ----------
    cluster, model, cell
        int64, shape (n_entries,): codes from 0; entries of the same three are added up.
    n, total
        float64, shape (n_entries,): sum of weights, and of weight x score.
    low, high
        Bounds of the score. Where all scores of a cell are alike, its share s of the span gets the variance
        s'(1 - s')/k of k clusters with one success and one failure more, s' = (k s + 1)/(k + 2): ten successes of ten are no
        certainty. Without bounds such a cell keeps no variance, and no test is made of it.

    Raises
    ------
    InputError
        If shapes differ, a code is out of range, or a weight is negative or no number.

    Notes
    -----
    A rate is a ratio of sums. With R_g the residuals summed over cluster g and f_g its share of the weight, the error of
    cluster g is R_g / sqrt(1 - f_g) / n, so that the sum of squares is the CR2 variance of a mean.

    References
    ----------
    Bell & McCaffrey 2002; Pustejovsky & Tipton 2018, doi:10.1080/07350015.2016.1247004; Agresti & Caffo 2000,
    doi:10.1080/00031305.2000.10474560 (one success and one failure more).

    Examples
    --------
    >>> codes, one = np.arange(6), np.zeros(6, dtype=np.int64)
    >>> found = cell_rates(
    ...     codes, one, one, np.ones(6), np.array([1.0, 0, 1, 1, 0, 1]), n_clusters=6, n_models=1, n_cells=1
    ... )
    >>> float(found.rate[0, 0].round(3)), round(float(found.residual.power(2).sum()), 4)
    (0.667, 0.0444)
    """
    _check_entries((cluster, model, cell), n, total, (n_clusters, n_models, n_cells))
    shape = (n_clusters, n_models * n_cells)
    present = n > 0.0
    at = (cluster[present], (model * n_cells + cell)[present])
    counts = sparse.csr_array((n[present], at), shape=shape)
    sums = sparse.csr_array((total[present], at), shape=shape)
    weight = np.asarray(counts.sum(axis=0), dtype=np.float64).ravel()
    with np.errstate(invalid="ignore", divide="ignore"):
        rate = np.asarray(sums.sum(axis=0), dtype=np.float64).ravel() / weight
    entries = counts.tocoo()
    row, column = entries.coords
    share = entries.data / weight[column]
    rest = np.asarray(sums[row, column]).ravel() - entries.data * rate[column]
    slack = _ROUNDING * entries.data * np.maximum(np.abs(rate[column]), 1.0)
    rest = np.where(np.abs(rest) <= slack, 0.0, rest)
    alone = share >= 1.0  # a single cluster has no variance, and no test is made of it
    scaled = np.where(alone, 0.0, rest / np.sqrt(np.where(alone, 1.0, 1.0 - share)) / weight[column])
    units = np.bincount(column, minlength=shape[1]).astype(np.int64)
    flat = (np.bincount(column, weights=scaled**2, minlength=shape[1]) == 0.0) & (units > 1)
    grid = (n_models, n_cells)
    return CellRates(
        rate=rate.reshape(grid),
        n=weight.reshape(grid),
        n_clusters=units.reshape(grid),
        residual=sparse.csr_array((scaled, (row, column)), shape=shape),
        share=sparse.csr_array((share, (row, column)), shape=shape),
        floor=_floor(rate, units, flat, low, high),
    )


def combined(rates: CellRates, weights: FloatArray | sparse.csr_array) -> Combined:
    """Return weighted sums of rates, with errors that shared clusters tie together.

    Parameters
    ----------
    weights
        Shape (n_sums, n_models * n_cells), 0 for cells without a rate.

    Notes
    -----
    The df are Satterthwaite's of a mean whose clusters have the weighted average of the shares that they have in the cells:
    for a mean over models that were given the same items, those of one model.
    """
    w = sparse.csr_array(weights)
    errors = rates.residual @ w.T
    floor = (w * rates.floor[np.newaxis]) @ w.T
    size = np.asarray(abs(w).sum(axis=1), dtype=np.float64).ravel()
    share = sparse.csr_array(rates.share @ abs(w).T)
    share = (share / np.where(size > 0.0, size, 1.0)[np.newaxis]).tocsc()
    return Combined(
        estimate=np.asarray(w @ np.nan_to_num(rates.rate.ravel()), dtype=np.float64),
        covariance=np.asarray((errors.T @ errors + floor).todense(), dtype=np.float64),
        df=_df(share),
        n_clusters=np.diff(share.indptr).astype(np.int64),
    )


def gaps(lab: Combined, live: Combined) -> Gaps:
    """Return live less lab with Welch's t: errors of the two sides are independent.

    Where a side has fewer than five clusters, or no spread of its scores and no bounds, there is no interval. The df are
    Welch and Satterthwaite's; below 4 (clusters so unequal that they are worth fewer than five) there is none either.

    References
    ----------
    Welch 1947, doi:10.1093/biomet/34.1-2.28.
    """
    estimate = live.estimate - lab.estimate
    variances = (np.diag(lab.covariance), np.diag(live.covariance))
    total = variances[0] + variances[1]
    with np.errstate(invalid="ignore", divide="ignore"):
        df = total**2 / (variances[0] ** 2 / lab.df + variances[1] ** 2 / live.df)
    reasons = tuple(_reason(lab, live, at, float(df[at])) for at in range(estimate.size))
    known = np.array([each is None for each in reasons], dtype=np.bool_)
    std_error = np.where(known, np.sqrt(total), np.nan)
    p = np.array(
        [two_sided_t_p(e / s, d) if ok else np.nan for e, s, d, ok in zip(estimate, std_error, df, known, strict=True)]
    )
    return Gaps(estimate=estimate, std_error=std_error, df=np.where(known, df, np.nan), p_value=p, reasons=reasons)


def _check_entries(
    codes: tuple[IntArray, IntArray, IntArray], n: FloatArray, total: FloatArray, sizes: tuple[int, int, int]
) -> None:
    if len({each.shape for each in (*codes, n, total)}) > 1:
        raise InputError("cluster, model, cell, n and total must have one entry each for every row")
    for name, own, size in zip(("cluster", "model", "cell"), codes, sizes, strict=True):
        if own.size and (int(own.min()) < 0 or int(own.max()) >= size):
            raise InputError(f"{name} codes run from {own.min()} to {own.max()}; expected 0 to {size - 1}")
    if not (np.isfinite(n).all() and np.isfinite(total).all() and (n >= 0.0).all()):
        raise InputError("a weight is negative, or a weight or sum is no number; leave such rows out")


def _floor(rate: FloatArray, units: IntArray, flat: np.ndarray, low: float | None, high: float | None) -> FloatArray:
    floor = np.zeros(rate.size)
    if low is None or high is None or not flat.any():
        return floor
    k = units[flat].astype(np.float64)
    share = (np.clip((rate[flat] - low) / (high - low), 0.0, 1.0) * k + 1.0) / (k + 2.0)
    floor[flat] = share * (1.0 - share) / k * (high - low) ** 2
    return floor


def _df(share: sparse.csc_array) -> FloatArray:
    """Satterthwaite df of each column of shares, as `satterthwaite_df` for one; NaN for fewer than two clusters."""
    square = share.power(2)
    cross = square.copy()
    with np.errstate(divide="ignore"):
        cross.data = square.data / (1.0 - share.data)

    def column(table: sparse.csc_array) -> FloatArray:
        return np.asarray(table.sum(axis=0), dtype=np.float64).ravel()

    with np.errstate(invalid="ignore", divide="ignore"):
        df = 1.0 / (column(square) + column(cross) ** 2 - column(cross.power(2)))
    return np.where(np.diff(share.indptr) > 1, df, np.nan)


def _reason(lab: Combined, live: Combined, at: int, df: float) -> str | None:
    for name, side in (("lab", lab), ("live", live)):
        k = int(side.n_clusters[at])
        if k == 0:
            return f"no score in the {name} data"
        if k < FEW_CLUSTERS:
            return f"{name}: {too_few_clusters(k)}"
        if not side.covariance[at, at] > 0.0:
            return f"{name}: all scores are alike, so their spread is unknown"
    if not df >= _LEAST_DF:
        return f"the clusters are so unequal that they are worth {1.0 + df:.1f}: too few for an interval or a test"
    return None


_LEAST_EIGENVALUE = 1e-3


@dataclass(frozen=True, slots=True, kw_only=True)
class PooledGaps:
    """Partially pooled gaps of models x cells.

    Attributes
    ----------
    value, std_error
        Shape (n_models, n_cells); NaN where there was no gap with an error.
    tau, p_value
        Standard deviation of true gaps beyond a model's and a cell's own; p of none (restricted likelihood ratio, half a
        chi-squared with 1 df).
    """

    value: FloatArray
    std_error: FloatArray
    tau: float
    p_value: float


def pooled_gaps(table: FloatArray, *covariances: FloatArray) -> PooledGaps:
    """Draw the gaps of models x cells towards what the model does in other cells and other models in the cell.

    Parameters
    ----------
    table
        float64, shape (n_models, n_cells): gaps; NaN where there is none with an error.
    *covariances
        Of the errors of each side, shape (n_gaps, n_gaps), over the gaps that are known, cells running fastest. They add up.

    Raises
    ------
    CannotAnswerError
        If there are fewer than two models or two cells, or too few gaps to tell an interaction.

    Notes
    -----
    gap = model + cell + b + e with b ~ N(0, tau^2), by `pooled_table`. A covariance of a hundred cells that comes from thirty
    clusters is singular, and its inverse is mostly noise. So of each side the variances are kept, and the correlations are
    averaged into three: of cells of one model, of models in one cell, and of the rest. The error of tau is not in
    `std_error`.

    References
    ----------
    Ledoit & Wolf 2004, doi:10.3905/jpm.2004.110 (averaged correlations); Self & Liang 1987, doi:10.2307/2289471.
    """
    has = ~np.isnan(table)
    if np.unique(np.nonzero(has)[0]).size < 2 or np.unique(np.nonzero(has)[1]).size < 2:
        raise CannotAnswerError("fewer than two models or two cells have a gap with an error; there is nothing to pool")
    model, cell = (np.asarray(codes, dtype=np.int64) for codes in np.nonzero(has))
    kind = (model[:, np.newaxis] == model) + 2 * (cell[:, np.newaxis] == cell).astype(np.int64)
    covariance = sum((averaged_correlations(each, kind) for each in covariances), np.zeros((model.size,) * 2))
    found = pooled_table(table, covariance)
    std_error = np.full(table.shape, np.nan)
    std_error[has] = np.sqrt(np.maximum(np.diag(found.covariance), 0.0))
    return PooledGaps(
        value=found.values,
        std_error=std_error,
        tau=math.sqrt(found.variance),
        p_value=half_chi2(found.deviance_drop) if found.variance > 0.0 else 1.0,
    )


def half_chi2(deviance_drop: float) -> float:
    """Return half the tail of chi-squared with 1 df.

    Examples
    --------
    >>> round(half_chi2(2.7055), 4)
    0.05
    """
    return positive_p(0.5 * math.erfc(math.sqrt(deviance_drop / 2.0)))


def averaged_correlations(covariance: FloatArray, kind: IntArray) -> FloatArray:
    """Keep the variances of estimates and average the correlations of their errors by kind of pair.

    Parameters
    ----------
    covariance
        Shape (n, n).
    kind
        int64, shape (n, n), symmetric: pairs of one kind get the mean of their correlations. The diagonal is not read.

    Returns
    -------
    numpy.ndarray
        A covariance that can be inverted, however few clusters the one given comes from.

    Examples
    --------
    >>> v = np.array([[1.0, 0.4, 0.0], [0.4, 4.0, 0.0], [0.0, 0.0, 1.0]])
    >>> averaged_correlations(v, np.zeros((3, 3), dtype=np.int64)).round(3)[0].tolist()
    [1.0, 0.133, 0.067]
    """
    sd = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    safe = np.where(sd > 0.0, sd, 1.0)
    correlation = covariance / np.outer(safe, safe)
    used = (sd[:, np.newaxis] > 0.0) & (sd > 0.0) & ~np.eye(sd.size, dtype=np.bool_)
    smooth = np.eye(sd.size)
    for one in np.unique(kind[used]):
        pairs = used & (kind == one)
        smooth[pairs] = float(correlation[pairs].mean())
    smooth = _lifted(smooth)
    unit = np.sqrt(np.diag(smooth))
    return smooth / np.outer(unit, unit) * np.outer(sd, sd)


def _lifted(correlation: FloatArray) -> FloatArray:
    """Lift what is below 0 in averages: they may be no correlations of anything, above all where cells are missing."""
    try:
        # Nothing to lift, which is usual, is told by a root in a twentieth of the time that eigenvectors take.
        np.linalg.cholesky(correlation - _LEAST_EIGENVALUE * np.eye(len(correlation)))
    except np.linalg.LinAlgError:
        values, vectors = np.linalg.eigh(correlation)
        return np.asarray((vectors * np.maximum(values, _LEAST_EIGENVALUE)) @ vectors.T, dtype=np.float64)
    return correlation
