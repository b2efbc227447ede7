"""Gaps between lab and live: of level, and of models x scenarios.

References: Bell & McCaffrey 2002 and Pustejovsky & Tipton 2018, doi:10.1080/07350015.2016.1247004 (CR2); Agresti & Caffo
2000, doi:10.1080/00031305.2000.10474560 (one success and one failure more); Welch 1947, doi:10.1093/biomet/34.1-2.28.
"""

import math

import numpy as np
import numpy.typing as npt
from scipy import sparse

from evalstats.errors import CannotAnswerError
from evalstats.record import record
from evalstats.stats.checks import FEW_CLUSTERS, FloatArray, IntArray, few_effective, too_few_clusters
from evalstats.stats.errors_in_variables.scores import LabLiveScores
from evalstats.stats.errors_in_variables.true_gaps import false_coverage_quantile
from evalstats.stats.estimate import normal_quantile, positive_p, t_quantile, two_sided_normal_p, two_sided_t_p
from evalstats.stats.many.multiplicity import benjamini_hochberg


@record
class Differences:
    """A family of differences. Arrays are float64, shape (n_differences,), in the scores' unit.

    `df` is inf for normal intervals, `p_adjusted` Benjamini-Hochberg's over the family. `adjusted_low` and `adjusted_high` are at
    the level of false-coverage control where p_adjusted is small enough, else the plain interval; a difference is `flagged` where
    p_adjusted is small enough and that interval leaves out 0. `reasons` say why one has no interval: it is NaN, and no part of
    the family.
    """

    estimate: FloatArray
    std_error: FloatArray
    df: FloatArray
    conf_low: FloatArray
    conf_high: FloatArray
    p_value: FloatArray
    p_adjusted: FloatArray
    flagged: npt.NDArray[np.bool_]
    adjusted_low: FloatArray
    adjusted_high: FloatArray
    equivalence_low: FloatArray
    equivalence_high: FloatArray
    reasons: tuple[str | None, ...]


@record
class LevelGaps:
    """Live minus lab on one scale: of each model, and the mean over these models."""

    differences: Differences
    mean: float
    std_error: float
    df: float
    conf_low: float
    conf_high: float
    p_value: float
    equivalence_low: float
    equivalence_high: float
    conf_level: float


def level_gaps(
    scores: LabLiveScores,
    *,
    conf_level: float = 0.95,
    lab_df: float | None = None,
    live_df: float | None = None,
) -> LevelGaps:
    """Compare live with lab model by model, where both are on one scale.

    The error of a difference is V_z + V_x - V_xz - V_zx. `lab_df` and `live_df` are degrees of freedom of
    either side's errors, where few clusters make them t; they are combined by Satterthwaite. Raises CannotAnswerError without
    models or without errors on a side.

    Examples
    --------
    >>> scores = LabLiveScores(
    ...     lab=np.array([0.7, 0.8, 0.6]),
    ...     live=np.array([0.6, 0.7, 0.5]),
    ...     lab_covariance=np.eye(3) * 0.03**2,
    ...     live_covariance=np.eye(3) * 0.04**2,
    ... )
    >>> found = level_gaps(scores)
    >>> round(found.mean, 3), round(found.std_error, 4), found.differences.std_error.round(3).tolist()
    (-0.1, 0.0289, [0.05, 0.05, 0.05])
    """
    n = scores.n_models
    if n == 0:
        raise CannotAnswerError("lab and live share no model; at least 1 is needed for a difference")
    if scores.lab_covariance is None or scores.live_covariance is None:
        side = "lab" if scores.lab_covariance is None else "live"
        raise CannotAnswerError(f"the {side} scores have no standard errors; without them a difference has no interval")
    v_x, v_z = scores.lab_covariance, scores.live_covariance
    both = 0.0 * v_x if scores.cross is None else scores.cross + scores.cross.T
    gap, table = scores.live - scores.lab, v_x + v_z - both
    laws = (lab_df, live_df)
    df = _satterthwaite(np.diag(v_x), np.diag(v_z), laws)
    mean_df = float(_satterthwaite(np.array([v_x.mean()]), np.array([v_z.mean()]), laws)[0])
    mean, std_error = float(gap.mean()), math.sqrt(max(float(table.mean()), 0.0))
    narrow = 1.0 - 2.0 * (1.0 - conf_level)
    return LevelGaps(
        differences=_family(gap, _root(np.diag(table)), df, conf_level),
        mean=mean,
        std_error=std_error,
        df=mean_df,
        conf_low=mean - _quantile(conf_level, mean_df) * std_error,
        conf_high=mean + _quantile(conf_level, mean_df) * std_error,
        p_value=_p(mean, std_error, mean_df),
        equivalence_low=mean - _quantile(narrow, mean_df) * std_error,
        equivalence_high=mean + _quantile(narrow, mean_df) * std_error,
        conf_level=conf_level,
    )


def _satterthwaite(lab: FloatArray, live: FloatArray, laws: tuple[float | None, float | None]) -> FloatArray:
    """Degrees of freedom of the sum of two variances; inf where neither side has any."""
    lab_df, live_df = laws
    doubt = np.zeros(lab.size)
    if lab_df is not None:
        doubt += lab**2 / lab_df
    if live_df is not None:
        doubt += live**2 / live_df
    known = doubt > 0.0
    return np.where(known, (lab + live) ** 2 / np.where(known, doubt, 1.0), np.inf)


def _root(variance: FloatArray) -> FloatArray:
    return np.sqrt(np.maximum(variance, 0.0))


def _family(
    estimate: FloatArray,
    std_error: FloatArray,
    df: FloatArray,
    conf_level: float,
    reasons: tuple[str | None, ...] = (),
) -> Differences:
    reasons = reasons or (None,) * estimate.size
    tested = np.array([reason is None for reason in reasons], dtype=np.bool_)
    p_value, p_adjusted, wider = (np.full(estimate.size, np.nan) for _ in range(3))
    rows = zip(estimate[tested], std_error[tested], df[tested], strict=True)
    p_value[tested] = [_p(d, s, nu) for d, s, nu in rows]
    p_adjusted[tested] = benjamini_hochberg(p_value[tested])
    found = p_adjusted <= 1.0 - conf_level
    reach = np.array([_quantile(conf_level, nu) for nu in df]) * std_error
    narrow = np.array([_quantile(1.0 - 2.0 * (1.0 - conf_level), nu) for nu in df]) * std_error
    wider[tested] = false_coverage_quantile(found[tested], conf_level, df[tested]) * std_error[tested]
    wider = np.where(found, wider, reach)
    return Differences(
        estimate=estimate,
        std_error=std_error,
        df=df,
        conf_low=estimate - reach,
        conf_high=estimate + reach,
        p_value=p_value,
        p_adjusted=p_adjusted,
        flagged=found & (np.abs(estimate) > wider),
        adjusted_low=estimate - wider,
        adjusted_high=estimate + wider,
        equivalence_low=estimate - narrow,
        equivalence_high=estimate + narrow,
        reasons=reasons,
    )


def _quantile(conf_level: float, df: float) -> float:
    return t_quantile(conf_level, df) if math.isfinite(df) else normal_quantile(conf_level)


def _p(estimate: float, std_error: float, df: float) -> float:
    if std_error == 0.0:
        return 1.0 if estimate == 0.0 else positive_p(0.0)
    return two_sided_t_p(estimate / std_error, df) if math.isfinite(df) else two_sided_normal_p(estimate / std_error)


_ROUNDING = 1e-12
_LEAST_DF = 4.0 - 1e-9  # what five equal clusters have, up to rounding


@record
class CellRates:
    """Rates of one side by model and cell, with what their errors are made of.

    `rate` (NaN without a score), `n` (sum of weights) and `n_clusters` have shape (n_models, n_cells). `residual`, sparse, shape
    (n_clusters, n_models * n_cells), cells running fastest, is what each cluster adds to the error of a rate: sums of products
    of two columns are CR2 covariances. `share`, of the same shape, is the cluster's share of the weight of the cell; `floor`
    the variance given to a rate whose scores are all alike, 0 elsewhere.
    """

    rate: FloatArray
    n: FloatArray
    n_clusters: IntArray
    residual: sparse.csr_array
    share: sparse.csr_array
    floor: FloatArray


@record
class Combined:
    """Weighted sums of rates: estimates, covariance of errors, Satterthwaite df and clusters behind each."""

    estimate: FloatArray
    covariance: FloatArray
    df: FloatArray
    n_clusters: IntArray


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

    Notes
    -----
    A rate is a ratio of sums. With R_g the residuals summed over cluster g and f_g its share of the weight, the error of
    cluster g is R_g / sqrt(1 - f_g) / n, so that the sum of squares is the CR2 variance of a mean.

    Examples
    --------
    >>> codes, one = np.arange(6), np.zeros(6, dtype=np.int64)
    >>> found = cell_rates(
    ...     codes, one, one, np.ones(6), np.array([1.0, 0, 1, 1, 0, 1]), n_clusters=6, n_models=1, n_cells=1
    ... )
    >>> float(found.rate[0, 0].round(3)), round(float(found.residual.power(2).sum()), 4)
    (0.667, 0.0444)
    """
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

    `weights` has shape (n_sums, n_models * n_cells), 0 for cells without a rate. The df are Satterthwaite's of a mean whose
    clusters have the weighted average of the shares that they have in the cells: for a mean over models that were given the
    same items, those of one model.
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


def rate_gaps(lab: Combined, live: Combined, *, conf_level: float = 0.95) -> Differences:
    """Return live minus lab with Welch's t: errors of the two sides are independent.

    Where a side has fewer than five clusters, or no spread of its scores and no bounds, there is no interval. The df are
    Welch and Satterthwaite's; below 4 (clusters so unequal that they are worth fewer than five) there is none either.
    """
    variances = (np.diag(lab.covariance), np.diag(live.covariance))
    total = variances[0] + variances[1]
    with np.errstate(invalid="ignore", divide="ignore"):
        df = total**2 / (variances[0] ** 2 / lab.df + variances[1] ** 2 / live.df)
    reasons = tuple(_reason(lab, live, at, float(df[at])) for at in range(total.size))
    known = np.array([each is None for each in reasons], dtype=np.bool_)
    std_error, df = np.where(known, np.sqrt(total), np.nan), np.where(known, df, np.nan)
    return _family(live.estimate - lab.estimate, std_error, df, conf_level, reasons)


def _floor(rate: FloatArray, units: IntArray, flat: np.ndarray, low: float | None, high: float | None) -> FloatArray:
    floor = np.zeros(rate.size)
    if low is None or high is None or not flat.any():
        return floor
    k = units[flat].astype(np.float64)
    share = ((rate[flat] - low) / (high - low) * k + 1.0) / (k + 2.0)
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
        return few_effective(df)
    return None
