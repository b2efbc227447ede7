"""The true gap of each model: from the line through the others, and shrunk by its noise.

References: York et al. 2004, doi:10.1119/1.1632486; Benjamini & Yekutieli 2005, doi:10.1198/016214504000001907.
"""

import math

import numpy as np
import numpy.typing as npt
from scipy import special

from evalstats.errors import CannotAnswerError, InputError
from evalstats.record import record
from evalstats.stats.checks import FloatArray, IntArray, check_level
from evalstats.stats.computation import one_thread
from evalstats.stats.errors_in_variables.line import LineFit, LineShape, lab_spread_p, line_shape
from evalstats.stats.errors_in_variables.scores import LabLiveScores
from evalstats.stats.errors_in_variables.slope_search import (
    ScaledSides,
    lowest,
    scaled_sides,
    with_spread,
)
from evalstats.stats.estimate import normal_quantile, t_quantile, two_sided_normal_p, two_sided_t_p
from evalstats.stats.many.multiplicity import benjamini_hochberg

LEAST_MODELS = 6
FULL_MODELS = 10
_POWER = 0.8


@record
class DeletedGaps:
    """Gaps of all models, each from the line through the others. Arrays are float64, shape (n_models,), in live units.

    Attributes
    ----------
    expected, gap, std_error
        What the others' line expects at the lab score, live less that, and its error: noise of both scores and of the line,
        not the spread of true gaps.
    conf_low, conf_high, p_value
        Of the model's own true gap, by the normal law.
    p_outlier, df, p_adjusted
        Whether the gap is larger than noise and the spread of the others' gaps explain: t with `df` (inf for normal), and
        adjusted over models (Benjamini-Hochberg).
    flagged
        Whether the model has a gap: adjusted p and interval agree, and, with fewer than 10 models, the interval lies beyond
        the margin.
    adjusted_low, adjusted_high
        Interval at the level that false-coverage control asks for where p_adjusted is small enough, else the plain one.
    equivalence_low, equivalence_high
        Interval at 1 - 2 (1 - conf_level).
    detectable
        The gap that would be flagged with 80% probability if it were the only one.
    slope, slope_std_error, tau2
        Of the others' line.
    extrapolated
        Whether the lab score lies outside the others' by more than the mean space between theirs.
    determined, sloped
        Whether the others differ in the lab beyond noise, so that they determine a line, and whether the slope of that line is
        clearly different from 0 (t interval with n - 3 degrees of freedom). Nothing is flagged where not.
    """

    expected: FloatArray
    gap: FloatArray
    std_error: FloatArray
    conf_low: FloatArray
    conf_high: FloatArray
    p_value: FloatArray
    p_outlier: FloatArray
    df: FloatArray
    p_adjusted: FloatArray
    flagged: npt.NDArray[np.bool_]
    adjusted_low: FloatArray
    adjusted_high: FloatArray
    equivalence_low: FloatArray
    equivalence_high: FloatArray
    detectable: FloatArray
    slope: FloatArray
    slope_std_error: FloatArray
    tau2: FloatArray
    extrapolated: npt.NDArray[np.bool_]
    determined: npt.NDArray[np.bool_]
    sloped: npt.NDArray[np.bool_]
    margin: float | None
    conf_level: float
    converged: bool


@one_thread
def deleted_gaps(scores: LabLiveScores, *, conf_level: float = 0.95, margin: float | None = None) -> DeletedGaps:
    """Estimate each model's gap from York's line through the other models.

    Two questions, two columns. *Is there a gap?* The variance of the deleted residual is

        v0 = g' Omega0 g + tau2 h'h + Var(e_x - w'e_x) Var(b),   g = (1 for the model, -h for the others),

    where h are the weights by which the others' line predicts this model, w those by which it takes their mean, and Omega0 =
    V_z + b^2 V_x - b (V_xz + V_zx) holds the errors of all models together: errors that the model shares with the others
    cancel as far as the line shares them. With independent errors this is the sum of the model's own noise and the variance of
    the line, 1/sum(W) + ((x - mean)^2 + s_x^2 + noise of the mean) Var(b). *Is it an outlier among gaps?* v1 = v0 + tau2, by t
    with Satterthwaite's (n - 3) (v1 / tau2)^2 degrees of freedom; normal where tau2 = 0. b and tau2 are those of the others.

    `margin` is the largest gap that does not matter, in live units: with 6 to 9 models nothing is flagged without it. Raises
    CannotAnswerError with fewer than 6 models, without errors, or with a constant side.

    Examples
    --------
    >>> lab = np.arange(10) / 10
    >>> live = 2 * lab + np.array([0, 0.1, -0.1, 0, 1.5, 0.1, 0, -0.1, 0.1, 0])
    >>> gaps = deleted_gaps(
    ...     LabLiveScores(lab=lab, live=live, lab_covariance=np.eye(10) * 0.02**2, live_covariance=np.eye(10) * 0.1**2)
    ... )
    >>> gaps.flagged.nonzero()[0].tolist(), gaps.gap[4].round(1)
    ([4], np.float64(1.5))
    """
    check_level(conf_level)
    if margin is not None and not (math.isfinite(margin) and margin > 0.0):
        raise InputError(
            f"margin is {margin}; give the largest gap that does not matter, above 0 in live units, or None"
        )
    n = scores.n_models
    if n < LEAST_MODELS:
        raise CannotAnswerError(
            f"{n} shared models are too few to tell a gap from a line; at least {LEAST_MODELS} are needed, "
            f"{FULL_MODELS} or more to call one without a margin"
        )
    sides = scaled_sides(scores)
    others = np.array([np.delete(np.arange(n), m) for m in range(n)], dtype=np.int64)
    problems = sides.problems(others)
    # The line of each model's others, from the line of all.
    whole, floor, every = sides.all_models(), np.array([sides.floor]), np.zeros(n, dtype=np.int64)
    plain = lowest(whole, floor)
    start = with_spread(whole, np.array([n - 2.0]), sides.floor, angle=plain.angle, tau2=plain.tau2)
    angle, tau2 = start.angle[every], start.tau2[every]
    lines = with_spread(problems, np.full(n, n - 3.0), sides.floor, angle=angle, tau2=tau2)
    shape = line_shape(sides, problems, lines, others)
    expected, variance = _predicted(sides, others, shape, lines.tau2)
    unit, ratio = sides.unit_z, sides.unit_z / sides.unit_x
    # Exact scores on an exact line leave rounding only.
    std_error = np.sqrt(np.maximum(variance, 1e-18)) * unit
    gap, determined = (sides.z - expected) * unit, lab_spread_p(problems) <= 1.0 - conf_level
    tau2 = np.where(lines.tau2 > sides.floor, lines.tau2, 0.0) * unit**2
    # Each gap against noise and the spread of the others' gaps.
    among = np.sqrt(std_error**2 + tau2)
    df, spread = np.full(n, np.inf), tau2 > 0.0
    df[spread] = (n - 3) * (among[spread] ** 2 / tau2[spread]) ** 2
    laws = zip((gap / among).tolist(), df.tolist(), strict=True)
    p_outlier = np.array([two_sided_t_p(t, nu) if math.isfinite(nu) else two_sided_normal_p(t) for t, nu in laws])
    # The only gap among n is held against the first step of Benjamini-Hochberg, 1/n of the level.
    first = false_coverage_quantile(np.zeros(n, dtype=np.bool_), conf_level, df)
    p_adjusted = benjamini_hochberg(p_outlier)
    found = p_adjusted <= 1.0 - conf_level
    reach = normal_quantile(conf_level) * std_error
    wider = np.where(found, false_coverage_quantile(found, conf_level) * std_error, reach)
    narrow = normal_quantile(2.0 * conf_level - 1.0) * std_error
    least = 0.0 if n >= FULL_MODELS else (math.inf if margin is None else margin)
    sloped = np.abs(shape.slope) > t_quantile(conf_level, n - 3) * np.sqrt(shape.slope_variance)
    return DeletedGaps(
        expected=expected * unit + sides.mean_z,
        gap=gap,
        std_error=std_error,
        conf_low=gap - reach,
        conf_high=gap + reach,
        p_value=np.array([two_sided_normal_p(each) for each in gap / std_error]),
        p_outlier=p_outlier,
        df=df,
        p_adjusted=p_adjusted,
        flagged=found & (np.abs(gap) - wider > least) & determined & sloped,
        adjusted_low=gap - wider,
        adjusted_high=gap + wider,
        equivalence_low=gap - narrow,
        equivalence_high=gap + narrow,
        detectable=(first + float(special.ndtri(_POWER))) * among,
        slope=shape.slope * ratio,
        slope_std_error=np.sqrt(shape.slope_variance) * ratio,
        tau2=tau2,
        extrapolated=_outside(sides.x),
        determined=determined,
        sloped=sloped,
        margin=margin,
        conf_level=conf_level,
        converged=bool(lines.converged.all()),
    )


def _predicted(
    sides: ScaledSides, others: IntArray, shape: LineShape, tau2: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return what the others' lines expect of each model, and v0, scaled."""
    n = sides.n_models
    every = np.arange(n)
    slope, w = shape.slope, shape.mean_weights
    level = (w * (sides.z[others] - slope[:, None] * sides.x[others])).sum(axis=1)
    away = sides.x - (w * shape.points).sum(axis=1)
    h = w + away[:, None] * shape.slope_weights
    apart = np.zeros((n, n))
    about_mean = np.zeros((n, n))
    apart[every, every] = about_mean[every, every] = 1.0
    np.put_along_axis(apart, others, -h, axis=1)
    np.put_along_axis(about_mean, others, -w, axis=1)

    def spread_of(weights: FloatArray, table: FloatArray) -> FloatArray:
        return ((weights @ table) * weights).sum(axis=1)

    both = sides.cross + sides.cross.T
    noise = spread_of(apart, sides.v_z) + slope**2 * spread_of(apart, sides.v_x) - slope * spread_of(apart, both)
    line = tau2 * (h**2).sum(axis=1) + spread_of(about_mean, sides.v_x) * shape.slope_variance
    return level + slope * sides.x, noise + line


def false_coverage_quantile(
    found: npt.NDArray[np.bool_], conf_level: float, df: FloatArray | None = None
) -> FloatArray:
    """Return the quantile for intervals of those found among a family, shape (n,): level 1 - n_found (1 - conf_level) / n."""
    n = found.size
    tail = (1.0 - conf_level) * max(1, int(found.sum())) / (2.0 * max(1, n))
    normal = np.full(n, -float(special.ndtri(tail)))
    if df is None:
        return normal
    few = np.isfinite(df)
    normal[few] = -special.stdtrit(df[few], tail)
    return normal


def _outside(x: FloatArray) -> npt.NDArray[np.bool_]:
    """Whether a score lies further outside the others' than their mean space."""
    others = np.array([np.delete(x, m) for m in range(x.size)])
    low, high = others.min(axis=1), others.max(axis=1)
    space = (high - low) / (x.size - 2)
    return (x < low - space) | (x > high + space)


_LEVELS = 15
_HALVINGS = 60


@record
class ShrunkenGaps:
    """Shrunken gaps, float64, shape (n_models,), live units; `low` and `high` are NaN where no tau above 0 is plausible."""

    estimate: FloatArray
    low: FloatArray
    high: FloatArray


@one_thread
def shrunken_gaps(scores: LabLiveScores, gaps: DeletedGaps, fit: LineFit) -> ShrunkenGaps:
    """Return tau^2 / (tau^2 + v) times each gap, v its noise, with an interval that does not take tau as known.

    Given tau, a true gap drawn from N(0, tau^2) and observed with noise v is normal with mean B gap and variance B v, where B =
    tau^2 / (tau^2 + v). tau is uncertain with few models, and often estimated as 0, where that interval has no width. So the
    interval holds the middle of a mixture over tau: one part for each of 15 equal slices of the confidence distribution of tau
    that York's S gives (its interval at every level). `gaps` and `fit` are of these scores, at one conf_level.

    Examples
    --------
    >>> from evalstats.stats.errors_in_variables.line import fit_line
    >>> lab = np.arange(10) / 10
    >>> live = 2 * lab + np.array([0, 0.1, -0.1, 0, 1.5, 0.1, 0, -0.1, 0.1, 0])
    >>> scores = LabLiveScores(
    ...     lab=lab, live=live, lab_covariance=np.eye(10) * 0.02**2, live_covariance=np.eye(10) * 0.1**2
    ... )
    >>> drawn = shrunken_gaps(scores, deleted_gaps(scores), fit_line(scores))
    >>> round(float(drawn.estimate[4]), 1), bool(drawn.low[4] < 1.4 < drawn.high[4])
    (1.4, True)
    """
    v = gaps.std_error**2
    estimate = fit.tau2 / (fit.tau2 + v) * gaps.gap
    tau2 = _plausible(scores)
    share = tau2[:, None] / (tau2[:, None] + v)
    low, high = _mixture_ends(share * gaps.gap, np.sqrt(share * v), fit.conf_level)
    some = high > low
    return ShrunkenGaps(
        estimate=estimate,
        low=np.where(some, np.minimum(low, estimate), np.nan),
        high=np.where(some, np.maximum(high, estimate), np.nan),
    )


def _plausible(scores: LabLiveScores) -> FloatArray:
    """Return tau2 at the middle of equal slices of its confidence distribution, in squared live units."""
    sides = scaled_sides(scores)
    problems = sides.all_models()
    tail = (np.arange(_LEVELS) + 0.5) / _LEVELS
    target = np.asarray(special.chdtri(sides.n_models - 2, tail), dtype=np.float64)
    plain = lowest(problems, np.array([sides.floor]))
    every = np.zeros(_LEVELS, dtype=np.int64)
    lines = with_spread(problems.take(every), target, sides.floor, angle=plain.angle[every], tau2=plain.tau2[every])
    return np.where(lines.tau2 > sides.floor, lines.tau2, 0.0) * sides.unit_z**2


def _mixture_ends(mean: FloatArray, sd: FloatArray, conf_level: float) -> tuple[FloatArray, FloatArray]:
    """Return both ends of the middle of equal mixtures of normal laws (parts in rows); a part without spread is a point."""
    tail = (1.0 - conf_level) / 2.0
    least: FloatArray = (mean - 9.0 * sd).min(axis=0)
    most: FloatArray = (mean + 9.0 * sd).max(axis=0)
    ends: list[FloatArray] = []
    for level in (tail, 1.0 - tail):
        low: FloatArray = least
        high: FloatArray = most
        for _ in range(_HALVINGS):
            middle = (low + high) / 2.0
            with np.errstate(divide="ignore", invalid="ignore"):
                below: FloatArray = np.where(sd > 0.0, special.ndtr((middle - mean) / sd), middle >= mean)
            short = below.mean(axis=0) < level
            low, high = np.where(short, middle, low), np.where(short, high, middle)
        ends.append(high)
    return ends[0], ends[1]
