"""One hierarchical model of lab and live: true scores, a line, true gaps, the noise of both sides, and forecasts for models."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from evalstats.errors import CannotAnswerError, InputError
from evalstats.stats.checks import FloatArray, IntArray, check_level, is_constant
from evalstats.stats.computation import one_thread
from evalstats.stats.errors_in_variables.hierarchy_posterior import (
    ALTERNATIVES,
    Conditional,
    Contrasts,
    Parameters,
    Posterior,
    Priors,
    contrasts_of,
    gained,
    posterior_of,
)
from evalstats.stats.errors_in_variables.quadrature import Mixture
from evalstats.stats.errors_in_variables.scores import LabLiveScores, centred_variance
from evalstats.stats.estimate import Estimate, normal_quantile
from evalstats.stats.one_sample import wilson

# A normal law of no spread has no distribution function that can be computed; in standard deviations of the scores.
_LEAST_SD = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class NewLab:
    """Lab scores of models without live scores, as differences from the mean of the shared models; standardised.

    Attributes
    ----------
    away
        float64, shape (n_new,): score less the mean of the shared models.
    noise
        float64, shape (n_new,): variance of the error of that difference.
    shared
        float64, shape (n_models - 1, n_new): covariance of that error with the errors of the contrasts of the lab.
    """

    away: FloatArray
    noise: FloatArray
    shared: FloatArray


def new_lab_of(data: Contrasts, lab: FloatArray, covariance: FloatArray, with_lab: FloatArray | None) -> NewLab:
    """Prepare lab scores of new models.

    Parameters
    ----------
    lab
        float64, shape (n_new,), own unit.
    covariance
        float64, shape (n_new, n_new) or, for variances alone, (n_new,).
    with_lab
        float64, shape (n_new, n_models): covariance of their errors with those of the shared models' lab scores; None where
        they are independent.

    Raises
    ------
    InputError
        If shapes do not agree, numbers are not finite, or the variances and covariances are none.
    """
    n_new, n = lab.size, data.n_models
    variance = np.diag(covariance) if covariance.ndim == 2 else covariance
    shared = np.zeros((n_new, n)) if with_lab is None else with_lab
    if lab.shape != (n_new,) or variance.shape != (n_new,) or shared.shape != (n_new, n):
        raise InputError(
            f"new_lab has shape {lab.shape}, its covariance {covariance.shape}, its cross-covariance {shared.shape}; "
            f"they must be (k,), (k, k) and (k, {n})"
        )
    if not (
        np.isfinite(lab).all() and np.isfinite(variance).all() and np.isfinite(shared).all() and (variance >= 0).all()
    ):
        raise InputError("a lab score of a new model, or its error, is NaN, infinite or negative")
    square = data.unit[0] ** 2
    noise = variance / square - 2 * shared.mean(axis=1) / square + float(data.lab_mean_noise.mean())
    off = data.basis.T @ (shared.T / square - data.lab_mean_noise[:, None])
    explained = np.divide(
        np.square(off), data.lab_noise[:, None], out=np.zeros_like(off), where=data.lab_noise[:, None] > 1e-9
    )
    if (noise - explained.sum(axis=0) < -1e-6 * (1 + np.abs(noise))).any():
        raise InputError(
            "the errors of a new model's lab score have no covariance of this kind with those of the shared models: the "
            "variance of a difference would be negative"
        )
    return NewLab(away=(lab - data.centre[0]) / data.unit[0], noise=np.maximum(noise, 0.0), shared=off)


def typical_new(data: Contrasts) -> NewLab:
    """Return a new model in the middle of the others, with an error like theirs."""
    n = data.n_models
    own = float(np.mean(data.lab_noise))
    return NewLab(away=np.zeros(1), noise=np.array([own * (1 + 1 / n)]), shared=np.zeros((n - 1, 1)))


def true_gaps(posterior: Posterior) -> Mixture:
    """Return the posterior of each shared model's true gap, standardised."""
    square = np.square(posterior.at.tau)[:, None]
    variance = square - np.square(square) * posterior.given.precision
    return Mixture(
        weight=posterior.lattice.weights(),
        mean=square * posterior.given.pull,
        sd=np.maximum(np.sqrt(np.maximum(variance, 0.0)), _LEAST_SD),
    )


def left_out_lives(posterior: Posterior) -> tuple[Mixture, int]:
    """Predict each shared model's live score from all other scores, its own error included; and how often that took a refit.

    The posterior without a live score is the posterior with it, divided by that score's density given all others. The same
    lattice serves as long as it reaches far enough; where it does not, a new one is laid.
    """
    data = posterior.data
    live = data.basis @ data.live

    def ratio(_: Parameters, given: Conditional) -> FloatArray:
        return 0.5 * np.square(given.pull) / given.precision - 0.5 * np.log(given.precision)

    def law(_: Parameters, given: Conditional) -> tuple[FloatArray, FloatArray]:
        return live - given.pull / given.precision, 1 / np.sqrt(given.precision)

    return _reweighted(posterior, ratio, law)


def new_lives(posterior: Posterior, new: NewLab) -> tuple[Mixture, int]:
    """Predict true live scores of models that only the lab has scored; standardised, from the mean of the shared models."""
    data = posterior.data
    more = 1 + 1 / data.n_models

    def lab_law(at: Parameters, given: Conditional) -> tuple[FloatArray, FloatArray]:
        expected, known = gained(data, at, given, new.shared)
        return expected, np.square(at.sigma)[:, None] * more + np.maximum(new.noise - known, 0.0) + 1e-12

    def ratio(at: Parameters, given: Conditional) -> FloatArray:
        expected, variance = lab_law(at, given)
        return -0.5 * np.log(variance) - 0.5 * np.square(new.away - expected) / variance

    def law(at: Parameters, given: Conditional) -> tuple[FloatArray, FloatArray]:
        expected, variance = lab_law(at, given)
        shared = (at.slope * np.square(at.sigma) * more)[:, None]
        spread = (np.square(at.slope * at.sigma) + np.square(at.tau))[:, None] * more + data.live_mean_noise
        rest = np.maximum(spread - np.square(shared) / variance, 0.0)
        return shared / variance * (new.away - expected), np.maximum(np.sqrt(rest), _LEAST_SD)

    return _reweighted(posterior, ratio, law)


Law = Callable[[Parameters, Conditional], tuple[FloatArray, FloatArray]]
Ratio = Callable[[Parameters, Conditional], FloatArray]


def _reweighted(posterior: Posterior, ratio: Ratio, law: Law) -> tuple[Mixture, int]:
    """Return the law of each column under the posterior times exp(ratio), on a new lattice where the old is too small."""
    weight = posterior.lattice.weights(ratio(posterior.at, posterior.given))
    mean, sd = law(posterior.at, posterior.given)
    poor = np.flatnonzero(~posterior.lattice.holds(weight))
    parts = [_column(weight, mean, sd, j) for j in range(weight.shape[1])]
    for j in poor:

        def one(at: Parameters, given: Conditional, column: int = int(j)) -> FloatArray:
            return ratio(at, given)[:, column]

        again = posterior_of(
            posterior.data, posterior.priors, ratio=one, start=posterior.lattice.points[weight[:, j].argmax()]
        )
        parts[j] = _column(again.lattice.weights(), *law(again.at, again.given), int(j))
    longest = max(len(w) for w, _, _ in parts)
    # Parts of no weight make all columns as long as the longest.
    return Mixture(
        weight=np.column_stack([np.pad(w, (0, longest - len(w))) for w, _, _ in parts]),
        mean=np.column_stack([np.pad(m, (0, longest - len(m)), mode="edge") for _, m, _ in parts]),
        sd=np.column_stack([np.pad(s, (0, longest - len(s)), mode="edge") for _, _, s in parts]),
    ), len(poor)


def _column(weight: FloatArray, mean: FloatArray, sd: FloatArray, j: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    return weight[:, min(j, weight.shape[1] - 1)], mean[:, j], sd[:, j]


FEWEST_MODELS = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Predicted:
    """Predictions of live scores, one for each model, in the unit of the live scores.

    Attributes
    ----------
    expected, std_error, low, high
        float64, shape (n,): mean, standard deviation and equal-tailed interval of the predictive law.
    """

    expected: FloatArray
    std_error: FloatArray
    low: FloatArray
    high: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class NewModels:
    """Predictions for models that only the lab has scored.

    Attributes
    ----------
    live
        Of their *true* live scores, with the spread of true gaps in them; what is measured live has its own error on top.
    rank_low, rank_high
        int64: places among the shared models that the prediction leaves open, the best being 1.
    extrapolated
        bool: whether the lab score lies outside those of the shared models. The interval then assumes that the line goes on
        and that gaps are no larger out there.
    """

    live: Predicted
    rank_low: IntArray
    rank_high: IntArray
    extrapolated: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]


@dataclass(frozen=True, slots=True, kw_only=True)
class HierarchyFit:
    """Posterior of one model of lab and live.

    Attributes
    ----------
    slope, tau
        Posterior median and equal-tailed interval; live unit per lab unit, and live unit.
    gap_mean, gap_low, gap_high
        float64, shape (n_models,): true gap of each model from the line, live unit.
    probability_below
        float64, shape (n_models,): probability that the true gap is below 0.
    left_out
        Prediction of each model's *observed* live score from all other scores; its own live error is in it.
    inside
        bool, shape (n_models,): whether the observed score lies in that interval.
    coverage
        Share inside with Wilson's interval, which takes models as independent; predictions share the line, so it is somewhat
        too narrow.
    new
        For models that only the lab has; None where none were given.
    sensitivity
        Width of the prediction interval of a typical new model under other priors, relative to these.
    n_refits
        How many predictions needed a lattice of their own.
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
    n_points: int
    n_refits: int
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
    conf_level
        Level of all intervals.

    Returns
    -------
    HierarchyFit
        Everything in the units of `scores`.

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

    References
    ----------
    Structural errors-in-variables with equation error: Fuller 1987, doi:10.1002/9780470316665. Half-t priors of spreads:
    Gelman 2006, doi:10.1214/06-BA117A. Leaving one out in closed form: Dubrule 1983, doi:10.1007/BF01033232.

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
    others, n_refits = left_out_lives(posterior)
    left_out = _predicted(others, data, level)
    inside = (left_out.low <= scores.live) & (scores.live <= left_out.high)
    new = None
    if new_lab is not None and prepared is not None:
        lives, n_more = new_lives(posterior, prepared)
        new, n_refits = _new_models(scores, new_lab, _predicted(lives, data, level), level), n_refits + n_more
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
        n_points=len(posterior.at.slope),
        n_refits=n_refits,
        warnings=_warnings(scores),
    )


def _check(scores: LabLiveScores, new_lab: FloatArray | None, new_covariance: FloatArray | None) -> None:
    if not scores.has_errors:
        raise InputError("the errors of both sides are needed; a covariance is None")
    if scores.n_models < FEWEST_MODELS:
        raise CannotAnswerError(
            f"{scores.n_models} models say too little of a line and of the spread about it; at least {FEWEST_MODELS} are needed"
        )
    for name, side in (("lab", scores.lab), ("live", scores.live)):
        if is_constant(side):
            raise InputError(f"all {name} scores are the same; there is no line to predict by")
    if new_lab is not None and new_covariance is None:
        raise InputError("new_lab is given without new_lab_covariance; give the errors of these scores")


def _predicted(law: Mixture, data: Contrasts, level: float) -> Predicted:
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
        law, _ = new_lives(under, typical)
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
