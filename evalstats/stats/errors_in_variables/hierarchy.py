"""One model of lab and live whose parameters are integrated out: true gaps with few models, and predictions of live scores.

References: Fuller 1987, doi:10.1002/9780470316665 (structural errors in variables with equation error); Gelman 2006,
doi:10.1214/06-BA117A (half-t priors of spreads).
"""

from dataclasses import dataclass

import numpy as np

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
from evalstats.stats.errors_in_variables.quadrature import Mixture
from evalstats.stats.errors_in_variables.scores import LabLiveScores, centred_variance
from evalstats.stats.estimate import Estimate, normal_quantile
from evalstats.stats.one_sample import wilson

FEWEST_MODELS = 6


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
    left_out = _predicted(left_out_lives(posterior), data, level)
    inside = (left_out.low <= scores.live) & (scores.live <= left_out.high)
    new = None
    if new_lab is not None and prepared is not None:
        new = _new_models(scores, new_lab, _predicted(new_lives(posterior, prepared), data, level), level)
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
