"""The true gap of each model: from the line through the others, shrunk by its noise, and in one model of lab and live.

References: York et al. 2004, doi:10.1119/1.1632486; Benjamini & Yekutieli 2005, doi:10.1198/016214504000001907; Fuller 1987,
doi:10.1002/9780470316665 (structural errors in variables with equation error); Gelman 2006, doi:10.1214/06-BA117A (half-t
priors of spreads).
"""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import special

from evalstats.errors import CannotAnswerError, InputError
from evalstats.stats.checks import FloatArray, IntArray, check_level, is_constant
from evalstats.stats.computation import one_thread
from evalstats.stats.errors_in_variables.hierarchy_posterior import (
    ALTERNATIVES,
    Contrasts,
    Posterior,
    Priors,
    contrasts_of,
    left_out_lives,
    new_lab_of,
    new_lives,
    posterior_of,
    true_gaps,
    typical_new,
)
from evalstats.stats.errors_in_variables.line import LineFit, LineShape, lab_spread_p, line_shape
from evalstats.stats.errors_in_variables.quadrature import Mixture
from evalstats.stats.errors_in_variables.scores import LabLiveScores, centred_variance
from evalstats.stats.errors_in_variables.slope_search import Lines, Problems, Sides, lowest, scaled_sides, with_spread
from evalstats.stats.estimate import Estimate, normal_quantile, t_quantile, two_sided_normal_p, two_sided_t_p
from evalstats.stats.many.multiplicity import benjamini_hochberg
from evalstats.stats.one_sample import wilson

LEAST_MODELS = 6
FULL_MODELS = 10
_POWER = 0.8


@dataclass(frozen=True, slots=True, kw_only=True)
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
    lines = _others_lines(sides, problems)
    shape = line_shape(sides, problems, lines, others)
    expected, variance = _predicted(sides, others, shape, lines.tau2)
    unit, ratio = sides.unit_z, sides.unit_z / sides.unit_x
    # Exact scores on an exact line leave rounding only.
    std_error = np.sqrt(np.maximum(variance, 1e-18)) * unit
    gap, determined = (sides.z - expected) * unit, lab_spread_p(problems) <= 1.0 - conf_level
    tau2 = np.where(lines.tau2 > sides.floor, lines.tau2, 0.0) * unit**2
    df, p_outlier, detectable = _outliers(gap, std_error, tau2, conf_level)
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
        detectable=detectable,
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


def _others_lines(sides: Sides, problems: Problems) -> Lines:
    """Fit the line of each model's others, from the line of all."""
    n = sides.n_models
    whole, floor = sides.all_models(), np.array([sides.floor])
    plain = lowest(whole, floor)
    first = with_spread(whole, np.array([n - 2.0]), sides.floor, angle=plain.angle, tau2=plain.tau2)
    every = np.zeros(n, dtype=np.int64)
    return with_spread(problems, np.full(n, n - 3.0), sides.floor, angle=first.angle[every], tau2=first.tau2[every])


def _predicted(sides: Sides, others: IntArray, shape: LineShape, tau2: FloatArray) -> tuple[FloatArray, FloatArray]:
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


def _outliers(
    gap: FloatArray, std_error: FloatArray, tau2: FloatArray, conf_level: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Test each gap against noise and the spread of the others' gaps: df, p, and the gap that would be found."""
    n = gap.size
    among = np.sqrt(std_error**2 + tau2)
    df = np.full(n, np.inf)
    spread = tau2 > 0.0
    df[spread] = (n - 3) * (among[spread] ** 2 / tau2[spread]) ** 2
    p_value = np.array(
        [
            two_sided_t_p(t, nu) if math.isfinite(nu) else two_sided_normal_p(t)
            for t, nu in zip((gap / among).tolist(), df.tolist(), strict=True)
        ]
    )
    # The only gap among n is held against the first step of Benjamini-Hochberg, 1/n of the level.
    first = false_coverage_quantile(np.zeros(n, dtype=np.bool_), conf_level, df)
    return df, p_value, (first + float(special.ndtri(_POWER))) * among


def false_coverage_quantile(
    found: npt.NDArray[np.bool_], conf_level: float, df: FloatArray | None = None
) -> FloatArray:
    """Return the quantile for intervals of those found among a family, shape (n,): level 1 - n_found (1 - conf_level) / n."""
    n = found.size
    tail = (1.0 - conf_level) * max(1, int(found.sum())) / (2.0 * n)
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


@dataclass(frozen=True, slots=True, kw_only=True)
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Predicted:
    """Predictions of live scores, one for each model, in the unit of the live scores, with equal-tailed intervals."""

    expected: FloatArray
    std_error: FloatArray
    low: FloatArray
    high: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class NewModels:
    """Predictions for models that only the lab has scored: of their *true* live scores, the spread of true gaps in them.

    What is measured live has its own error on top. `rank_low` and `rank_high` are places among the shared models that the
    prediction leaves open, the best being 1. Where the lab score lies outside those of the shared models (`extrapolated`) the
    interval assumes that the line goes on and that gaps are no larger out there.
    """

    live: Predicted
    rank_low: IntArray
    rank_high: IntArray
    extrapolated: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]


@dataclass(frozen=True, slots=True, kw_only=True)
class HierarchyFit:
    """Posterior of one model of lab and live, in their units: medians and equal-tailed intervals.

    Attributes
    ----------
    gap_mean, gap_low, gap_high, probability_below
        float64, shape (n_models,): true gap of each model from the line; probability that it is below 0.
    left_out, inside
        Prediction of each model's *observed* live score from all other scores; its own live error is in it. Whether the observed
        score lies in that interval.
    coverage
        Share inside with Wilson's interval, which takes models as independent; predictions share the line, so it is somewhat
        too narrow.
    sensitivity
        Width of the prediction interval of a typical new model under other priors, relative to these.
    """

    slope: float
    slope_low: float
    slope_high: float
    tau: float
    tau_low: float
    tau_high: float
    gap_mean: FloatArray
    gap_low: FloatArray
    gap_high: FloatArray
    probability_below: FloatArray
    left_out: Predicted
    inside: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]
    coverage: Estimate
    new: NewModels | None
    sensitivity: tuple[tuple[str, float], ...]
    priors: str
    conf_level: float
    n_models: int
    warnings: tuple[str, ...] = ()


@one_thread
def fit_hierarchy(
    scores: LabLiveScores,
    *,
    new_lab: FloatArray | None = None,
    new_lab_covariance: FloatArray | None = None,
    new_cross_with_lab: FloatArray | None = None,
    conf_level: float = 0.95,
) -> HierarchyFit:
    """Fit one model of lab and live, and predict live scores.

    True lab-scale scores theta ~ N(mu, sigma^2); lab x = theta + e_x; live z = a + b theta + delta + e_z with true gaps
    delta ~ N(0, tau^2). The covariances of e_x and e_z are given. mu and a have flat priors and are integrated out in closed
    form; b, sigma and tau on a lattice. Nothing is drawn at random, so there is no seed.

    Parameters
    ----------
    scores
        At least six models, with errors on both sides. An error that all models share changes nothing.
    new_lab
        float64, shape (k,): lab scores of models without a live score. Each is predicted by itself: the shared models and its
        own lab score say what is known.
    new_lab_covariance
        float64, shape (k, k) or (k,) for variances alone: of their errors. Needed with `new_lab`.
    new_cross_with_lab
        float64, shape (k, n_models): covariance of their errors with the lab errors of the shared models; None where those are
        independent.

    Raises
    ------
    InputError
        Errors of a side missing, a constant side, covariances that are none.
    CannotAnswerError
        Fewer than six models, or scores that say next to nothing of the line.

    Notes
    -----
    Assumes that models, new ones too, come from one population: true lab scores and gaps normal, the line straight, gaps of the
    same size everywhere. The zero of the live scale is that of this live measurement: an error that moves all live scores
    alike is no part of a prediction.

    Examples
    --------
    >>> lab = np.arange(8.0)
    >>> live = 10 * lab + np.array([3.0, -3.0, 3.0, -3.0, -3.0, 3.0, -3.0, 3.0])
    >>> noise = LabLiveScores(lab=lab, live=live, lab_covariance=0.01 * np.eye(8), live_covariance=np.eye(8))
    >>> fit = fit_hierarchy(noise, new_lab=np.array([3.5]), new_lab_covariance=np.array([[0.01]]))
    >>> round(fit.slope), fit.new.live.expected.round(), int(fit.inside.sum())
    (10, array([35.]), 8)
    """
    level = check_level(conf_level)
    _check(scores, new_lab, new_lab_covariance)
    data = contrasts_of(scores)
    prepared = None
    if new_lab is not None and new_lab_covariance is not None and new_lab.size:
        prepared = new_lab_of(data, new_lab, new_lab_covariance, new_cross_with_lab)
    posterior = posterior_of(data, Priors())
    ends = ((1 - level) / 2, 0.5, (1 + level) / 2)
    slope = posterior.slope_quantiles(ends) * data.unit[1] / data.unit[0]
    tau = posterior.tau_quantiles(ends) * data.unit[1]
    gaps = true_gaps(posterior)
    left_out = _live_scores(left_out_lives(posterior), data, level)
    inside = (left_out.low <= scores.live) & (scores.live <= left_out.high)
    new = None
    if new_lab is not None and prepared is not None:
        new = _new_models(scores, new_lab, _live_scores(new_lives(posterior, prepared), data, level), level)
    return HierarchyFit(
        slope=float(slope[1]),
        slope_low=float(slope[0]),
        slope_high=float(slope[2]),
        tau=float(tau[1]),
        tau_low=float(tau[0]),
        tau_high=float(tau[2]),
        gap_mean=gaps.centre() * data.unit[1],
        gap_low=gaps.quantile(ends[0]) * data.unit[1],
        gap_high=gaps.quantile(ends[2]) * data.unit[1],
        probability_below=gaps.below(0.0),
        left_out=left_out,
        inside=inside,
        coverage=wilson(int(inside.sum()), scores.n_models, conf_level=level),
        new=new,
        sensitivity=_sensitivity(posterior, level),
        priors=posterior.priors.words(),
        conf_level=level,
        n_models=scores.n_models,
        warnings=_warnings(scores),
    )


def _check(scores: LabLiveScores, new_lab: FloatArray | None, new_covariance: FloatArray | None) -> None:
    if scores.n_models < LEAST_MODELS:
        raise CannotAnswerError(
            f"{scores.n_models} models say too little of a line and of the spread about it; at least {LEAST_MODELS} are needed"
        )
    for name, side in (("lab", scores.lab), ("live", scores.live)):
        if is_constant(side):
            raise InputError(f"all {name} scores are the same; there is no line to predict by")
    if new_lab is not None and new_covariance is None:
        raise InputError("new_lab is given without new_lab_covariance; give the errors of these scores")


def _live_scores(law: Mixture, data: Contrasts, level: float) -> Predicted:
    """Turn standardised differences from the mean of the shared models into live scores."""
    centre, unit = data.centre[1], data.unit[1]
    return Predicted(
        expected=centre + unit * law.centre(),
        std_error=unit * law.spread(),
        low=centre + unit * law.quantile((1 - level) / 2),
        high=centre + unit * law.quantile((1 + level) / 2),
    )


def _new_models(scores: LabLiveScores, lab: FloatArray, live: Predicted, level: float) -> NewModels:
    """Add ranks: a shared model is surely better where the interval of the difference lies above 0."""
    own = centred_variance(np.asarray(scores.live_covariance))
    reach = normal_quantile(level) * np.sqrt(np.square(live.std_error) + own)
    away = scores.live[:, None] - live.expected
    return NewModels(
        live=live,
        rank_low=1 + (away > reach).sum(axis=0).astype(np.int64),
        rank_high=1 + (away >= -reach).sum(axis=0).astype(np.int64),
        extrapolated=(lab < scores.lab.min()) | (lab > scores.lab.max()),
    )


def _sensitivity(posterior: Posterior, level: float) -> tuple[tuple[str, float], ...]:
    """Width of a typical prediction interval under other priors, relative to the one used."""
    typical = typical_new(posterior.data)

    def width(under: Posterior) -> float:
        law = new_lives(under, typical)
        return float((law.quantile((1 + level) / 2) - law.quantile((1 - level) / 2))[0])

    usual = width(posterior)
    return tuple((name, width(posterior.under(other)) / usual) for name, other in ALTERNATIVES)


def _warnings(scores: LabLiveScores) -> tuple[str, ...]:
    """Say where the noise of a side is as large as its spread."""
    found = list[str]()
    for name, side, table in (
        ("lab", scores.lab, scores.lab_covariance),
        ("live", scores.live, scores.live_covariance),
    ):
        noise, spread = centred_variance(np.asarray(table)), float(side.var(ddof=1))
        if noise > 0.5 * spread:
            found.append(
                f"noise makes up {min(1.0, noise / spread):.0%} of the variance of the {name} scores: slope and predictions rest "
                "more on the priors than on the scores"
            )
    return tuple(found)
