"""Gaps between lab and live: of level, of models x scenarios, and of what non-ideal users take from each model.

References: Bell & McCaffrey 2002 and Pustejovsky & Tipton 2018, doi:10.1080/07350015.2016.1247004 (CR2); Agresti & Caffo
2000, doi:10.1080/00031305.2000.10474560 (one success and one failure more); Welch 1947, doi:10.1093/biomet/34.1-2.28, and
1951, doi:10.1093/biomet/38.3-4.330; Ledoit & Wolf 2004, doi:10.3905/jpm.2004.110 (averaged correlations); Self & Liang 1987,
doi:10.2307/2289471; Prasad & Rao 1990; Berger 1982 (intersection-union); Paule & Mandel 1982, doi:10.6028/jres.087.022.
"""

import math
from itertools import combinations

import numpy as np
import numpy.typing as npt
from scipy import optimize, sparse, special

from evalstats.errors import CannotAnswerError
from evalstats.record import record
from evalstats.stats.checks import FEW_CLUSTERS, FloatArray, IntArray, few_effective, too_few_clusters
from evalstats.stats.errors_in_variables.scores import LabLiveScores
from evalstats.stats.errors_in_variables.slope_search import contrast_rows
from evalstats.stats.errors_in_variables.true_gaps import false_coverage_quantile
from evalstats.stats.estimate import normal_quantile, positive_p, t_quantile, two_sided_normal_p, two_sided_t_p
from evalstats.stats.many.multiplicity import benjamini_hochberg, holm
from evalstats.stats.many.winners_curse import shrunken_means
from evalstats.stats.mixed.prediction import pooled_table


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
    """Live minus lab on one scale: of each model, each model's less the mean (`deviations`), and the mean over these models.

    `statistic` and `heterogeneity_p` ask whether all models have the same true difference: chi-squared of the deviations.
    """

    differences: Differences
    deviations: Differences
    mean: float
    std_error: float
    df: float
    conf_low: float
    conf_high: float
    p_value: float
    equivalence_low: float
    equivalence_high: float
    statistic: float
    heterogeneity_p: float
    conf_level: float


def level_gaps(
    scores: LabLiveScores,
    *,
    conf_level: float = 0.95,
    lab_df: float | None = None,
    live_df: float | None = None,
) -> LevelGaps:
    """Compare live with lab model by model, where both are on one scale.

    The error of a difference is V_z + V_x - V_xz - V_zx. What all models share (easy items) stays in the error of a model's
    difference and of the mean one, and leaves the deviations from the mean. `lab_df` and `live_df` are degrees of freedom of
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
    centre = np.eye(n) - 1.0 / n
    df = _satterthwaite(np.diag(v_x), np.diag(v_z), laws)
    centred = _satterthwaite(np.diag(centre @ v_x @ centre), np.diag(centre @ v_z @ centre), laws)
    mean_df = float(_satterthwaite(np.array([v_x.mean()]), np.array([v_z.mean()]), laws)[0])
    mean, std_error = float(gap.mean()), math.sqrt(max(float(table.mean()), 0.0))
    narrow = 1.0 - 2.0 * (1.0 - conf_level)
    statistic = _spread(gap, table)
    return LevelGaps(
        differences=_family(gap, _root(np.diag(table)), df, conf_level),
        deviations=_family(gap - mean, _root(np.diag(centre @ table @ centre)), centred, conf_level),
        mean=mean,
        std_error=std_error,
        df=mean_df,
        conf_low=mean - _quantile(conf_level, mean_df) * std_error,
        conf_high=mean + _quantile(conf_level, mean_df) * std_error,
        p_value=_p(mean, std_error, mean_df),
        equivalence_low=mean - _quantile(narrow, mean_df) * std_error,
        equivalence_high=mean + _quantile(narrow, mean_df) * std_error,
        statistic=statistic,
        heterogeneity_p=positive_p(float(special.chdtrc(n - 1, statistic))) if n > 1 else 1.0,
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


def _spread(gap: FloatArray, table: FloatArray) -> float:
    """Chi-squared of the deviations; contrasts known exactly count by how far they are beyond rounding."""
    n = gap.size
    if n < 2:
        return 0.0
    rows = contrast_rows(n)
    apart, noise = rows @ gap, rows @ table @ rows.T
    rounding = 1e-12 * max(float(np.trace(noise)), float(apart @ apart), 1e-300)
    return float(apart @ np.linalg.solve(noise + rounding * np.eye(n - 1), apart))


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


_LEAST_EIGENVALUE = 1e-3


@record
class PooledGaps:
    """Partially pooled gaps of models x cells; NaN where there was no gap with an error.

    `tau` is the standard deviation of true gaps beyond a model's and a cell's own, `p_value` that of none (restricted
    likelihood ratio, half a chi-squared with 1 df).
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

    Notes
    -----
    gap = model + cell + b + e with b ~ N(0, tau^2), by `pooled_table`. A covariance of a hundred cells that comes from thirty
    clusters is singular, and its inverse is mostly noise. So of each side the variances are kept, and the correlations are
    averaged into three: of cells of one model, of models in one cell, and of the rest. The error of tau is not in
    `std_error`. Raises CannotAnswerError for fewer than two models or two cells.
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
        p_value=positive_p(0.5 * math.erfc(math.sqrt(found.deviance_drop / 2.0))) if found.variance > 0.0 else 1.0,
    )


def averaged_correlations(covariance: FloatArray, kind: IntArray) -> FloatArray:
    """Keep the variances of estimates and average the correlations of their errors by kind of pair.

    `kind` is int64, shape (n, n), symmetric; its diagonal is not read. The result can be inverted, however few clusters
    the covariance comes from.
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


_FEWEST_POOLED = 3


@record
class Drops:
    """What the lab says of each model with ideal users, and of what non-ideal ones take from it (negative: does worse).

    `covariance` is of the errors of ideal scores, then drops, shape (2 * n_models, 2 * n_models). The ideal score enters both,
    so that they err against each other. `df` are the errors' degrees of freedom.
    """

    ideal: FloatArray
    drop: FloatArray
    covariance: FloatArray
    df: FloatArray

    @property
    def of_ideal(self) -> FloatArray:
        """Covariance of the errors of the ideal scores."""
        return self.covariance[: self.ideal.size, : self.ideal.size]

    @property
    def of_drop(self) -> FloatArray:
        """Covariance of the errors of the drops."""
        return self.covariance[self.ideal.size :, self.ideal.size :]

    @property
    def drop_with_ideal(self) -> FloatArray:
        """Covariance of the errors of drops (rows) with those of ideal scores (columns)."""
        return self.covariance[self.ideal.size :, : self.ideal.size]

    def smooth(self) -> "Drops":
        """Average correlations over models, so that few clusters do not make a covariance that cannot be inverted."""
        n = self.ideal.size
        model, block = np.tile(np.arange(n), 2), np.repeat([0, 1], n)
        kind = block[:, np.newaxis] + block + 3 * (model[:, np.newaxis] == model)
        return Drops(
            ideal=self.ideal, drop=self.drop, covariance=averaged_correlations(self.covariance, kind), df=self.df
        )


@record
class PooledDrops:
    """Drops drawn towards their common mean, and the scores that follow from them.

    `forecast` are scores with a share of non-ideal users, their covariance with that of the pooled drops in it. `spread` is the
    standard deviation of true drops between models (REML), `spread_p` that of none; None for fewer than three models.
    """

    pooled: FloatArray
    pooled_std_error: FloatArray
    forecast: FloatArray
    forecast_covariance: FloatArray
    spread: float | None
    spread_p: float | None


def pooled_drops(drops: Drops, share: float, *, share_variance: float = 0.0) -> PooledDrops:
    """Pool drops over models and forecast the scores where a share of users is not ideal.

    `share_variance` is the variance of share x drop that comes from not knowing the live shares exactly; it moves all models
    alike.

    Notes
    -----
    Drops are ideal for `shrunken_means`: d = mu + a_m + e with a ~ N(0, spread^2) and e ~ N(0, V), V from the clusters. The
    predictions are linear in the drops given the spread, A d, so that the forecast ideal + share * A d has the errors of
    ideal scores and drops together with their covariance; what is not known of the spread is added (Prasad & Rao). With
    fewer than three models drops stay as they are.
    """
    n = drops.ideal.size
    if n < _FEWEST_POOLED:
        pull, extra, spread = np.eye(n), np.zeros(n), None
        pooled = drops.drop
    else:
        pooled, pull, extra, spread = _pooled(drops)
    tau2 = 0.0 if spread is None else spread**2
    away = pull - np.eye(n)
    of_truth = tau2 * away @ away.T + np.diag(extra)
    own = pull @ drops.of_drop @ pull.T + of_truth
    both = np.hstack([np.eye(n), share * pull])
    covariance = both @ drops.covariance @ both.T + share**2 * of_truth + share_variance
    return PooledDrops(
        pooled=pooled,
        pooled_std_error=np.sqrt(np.maximum(np.diag(own), 0.0)),
        forecast=drops.ideal + share * pooled,
        forecast_covariance=(covariance + covariance.T) / 2.0,
        spread=spread,
        spread_p=None if spread is None else no_spread_p(drops),
    )


def _pooled(drops: Drops) -> tuple[FloatArray, FloatArray, FloatArray, float]:
    """Return predictions, the matrix that makes them, the variance that the unknown spread adds, and the spread."""
    noise = drops.smooth().of_drop
    found = shrunken_means(drops.drop, covariance=noise)
    inverse = np.linalg.inv(noise + found.between_sd**2 * np.eye(drops.drop.size))
    weights = inverse.sum(axis=0)
    pulled = noise @ (inverse - np.outer(weights, weights) / weights.sum())
    extra = np.maximum(found.std_error**2 - np.diag(noise - pulled @ noise), 0.0)
    return found.shrunken, np.eye(drops.drop.size) - pulled, extra, found.between_sd


def no_spread_p(drops: Drops) -> float:
    """Return p of the hypothesis that all models have the same drop.

    Cochran's Q of the drops with their covariance, referred to Welch's F, which counts in that variances are estimated.
    """
    noise = drops.smooth().of_drop
    n = drops.drop.size
    inverse = np.linalg.inv(noise)
    weights = inverse.sum(axis=0)
    rest = drops.drop - float(weights @ drops.drop / weights.sum())
    own = 1.0 / np.diag(noise)
    unsure = float((np.square(1.0 - own / own.sum()) / drops.df).sum()) / (n**2 - 1.0)
    statistic = float(rest @ inverse @ rest) / (n - 1.0) / (1.0 + 2.0 * (n - 2.0) * unsure)
    return positive_p(float(special.fdtrc(n - 1.0, 1.0 / (3.0 * unsure), statistic)))


def flipped_pairs(drops: Drops, pooled: PooledDrops, *, conf_level: float = 0.95) -> list[tuple[int, int]]:
    """Find pairs whose order with ideal users is not the one forecast, as (ahead with ideal users, ahead in the forecast).

    A flip needs both differences, so the larger of the two p-values counts; Holm over all pairs of models.
    """
    n = drops.ideal.size
    pairs = list(combinations(range(n), 2))
    if not pairs:
        return []
    p_values: list[float] = []
    for i, j in pairs:
        df = min(float(drops.df[i]), float(drops.df[j]))
        sides = ((drops.ideal, drops.of_ideal), (pooled.forecast, pooled.forecast_covariance))
        apart = [(x[i] - x[j], v[i, i] + v[j, j] - 2.0 * v[i, j]) for x, v in sides]
        against = apart[0][0] * apart[1][0] < 0.0 and min(apart[0][1], apart[1][1]) > 0.0
        p_values.append(max(two_sided_t_p(d / math.sqrt(v), df) for d, v in apart) if against else 1.0)
    found = holm(np.array(p_values)) <= 1.0 - conf_level
    flips = [pair for pair, yes in zip(pairs, found.tolist(), strict=True) if yes]
    return [(i, j) if drops.ideal[i] > drops.ideal[j] else (j, i) for i, j in flips]


def spread_beyond_noise(values: FloatArray, covariance: FloatArray) -> float:
    """Return the variance of true values about their mean: Paule and Mandel's, 0 where noise explains all."""
    n = values.size

    def excess(tau2: float) -> float:
        inverse = np.linalg.inv(covariance + tau2 * np.eye(n))
        weights = inverse.sum(axis=0)
        rest = values - float(weights @ values / weights.sum())
        return float(rest @ inverse @ rest) - (n - 1.0)

    if excess(0.0) <= 0.0:
        return 0.0
    top = float(np.square(values - values.mean()).sum()) + float(np.diag(covariance).max())
    return float(optimize.brentq(excess, 0.0, 2.0 * top, xtol=1e-12 * top))
