"""What live users may be expected to say of models that only the lab has scored, and how well that works for the others."""

import numpy as np

from evalstats.analysis.gaps.material import Material, Side
from evalstats.analysis.gaps.results import Forecast, Hierarchy, LeftOut
from evalstats.errors import CannotAnswerError, InputError
from evalstats.stats.checks import FloatArray, IntArray, is_constant
from evalstats.stats.gap.hierarchy import FEWEST_MODELS, HierarchyFit, NewModels, Predicted, fit_hierarchy
from evalstats.stats.gap.scores import centred_variance

_METHOD = (
    "One model of both sides: true lab scores normal, live scores on a line in them, true gaps normal about it, the noise of "
    "both sides as estimated; mean and intercept integrated exactly, slope and spreads on a lattice; nothing is drawn at random. "
    "A prediction is of the true live score, with the spread of true gaps in it; what is measured live has noise of its own on "
    "top, which predictions of left-out models contain"
)
_DEPENDENCE = (
    "predictions of left-out models share the line through the others: "
    "the interval of their coverage is somewhat too narrow"
)
_MISSING = "its lab error is unknown: the median of the shared models' is used"
_OUTSIDE = (
    "its lab score lies outside those of the shared models: the interval assumes that the line goes on and that gaps are no "
    "larger out there, which these data cannot show"
)
_MARGINAL = (
    "only variances of the scores are known: errors that models share count as noise of each, so predictions of left-out models "
    "may be wider than need be"
)


def hierarchy_of(material: Material) -> Hierarchy:
    """Fit one model of lab and live, predict models that only the lab has, and check it by leaving out each shared model.

    Parameters
    ----------
    material
        At least six shared models, with errors on both sides. New models are those of `material.lab.only_here`.

    Returns
    -------
    Hierarchy
        In each side's own unit and direction: where less is better live, gaps and their probabilities are those of the number
        itself. Models stand in the order of the rows, the best live first. Prediction intervals end where the live scale does:
        the part beyond holds no score, so nothing is lost by cutting it off.

    Raises
    ------
    CannotAnswerError
        If there are fewer than six models, a side has no errors or does not vary, or the covariances are none.

    Notes
    -----
    Shares are not turned into logits first: gaps and slope would then be on a scale that no other part of the result uses. In
    simulations of 15 models with lab scores about 88% and gaps of equal size in logits, 95% intervals held 93.8% (on logits
    95.2%), but those of the best third were too wide by a third; with gaps of equal size in points they held as much as those on
    logits. So near the end of a range intervals are safe for the best models and not sharp.

    Examples
    --------
    >>> from evalstats.analysis.gaps.gap import gap
    >>> lab = {"model": list("abcdefgh"), "estimate": [9.0, 8, 7.5, 7, 6, 5.5, 5, 4], "std_error": [0.1] * 8}
    >>> live = {"model": list("abcdefg"), "estimate": [29.0, 25, 24, 21, 17, 17, 15], "std_error": [1.0] * 7}
    >>> found = gap(lab, live, n_resamples=100).hierarchy
    >>> [(new.name, round(new.expected), new.extrapolated) for new in found.forecasts]
    [('h', 11, True)]
    """
    _check(material)
    lab = material.lab
    new = [estimate for _, estimate, _ in lab.only_here]
    variance, cross = _new_errors(lab)
    try:
        fit = fit_hierarchy(
            material.scores,
            new_lab=_sign(lab) * np.array(new) if new else None,
            new_lab_covariance=variance if new else None,
            new_cross_with_lab=cross if new else None,
            conf_level=material.options.conf_level,
        )
    except InputError as error:
        raise CannotAnswerError(str(error)) from error
    return _hierarchy(material, fit, np.lexsort((np.arange(material.n_models), -material.scores.live)))


def _check(material: Material) -> None:
    """Raise CannotAnswerError where there is too little for a model of both sides."""
    if material.n_models < FEWEST_MODELS:
        raise CannotAnswerError(
            f"{material.n_models} shared models are too few for a line and the spread about it; "
            f"at least {FEWEST_MODELS} are needed"
        )
    for name, side in (("lab", material.lab), ("live", material.live)):
        if side.covariance is None:
            raise CannotAnswerError(
                f"not every {name} score has a standard error, so noise and true gaps cannot be told apart; give standard errors"
            )
        if is_constant(side.estimate):
            raise CannotAnswerError(f"all shared models have the same {name} score, so there is no line to predict by")


def _sign(side: Side) -> float:
    return -1.0 if side.turned else 1.0


def _new_errors(lab: Side) -> tuple[FloatArray, FloatArray | None]:
    """Return variances of the new models' lab errors and their covariances with those of the shared models.

    Where covariances are known, a new model is taken to have been scored on the same items: it shares with every other model
    what that one shares with the rest on average, and has an error of its own at least as large as the smallest of theirs.
    """
    table = np.asarray(lab.covariance, dtype=np.float64)
    n = len(table)
    common = 0.0 if lab.marginal else float((table.sum() - np.trace(table)) / (n * (n - 1)))
    middle = table - table.mean(axis=0) - table.mean(axis=1)[:, None] + table.mean()
    own = np.diag(table) if lab.marginal else np.maximum(np.diag(middle), 0.0) * n / (n - 1)
    usual = common + float(np.median(own))
    given = [usual if error is None else max(error**2, common + float(own.min())) for _, _, error in lab.only_here]
    if lab.marginal:
        return np.array(given), None
    shared = table.mean(axis=0) - centred_variance(table) / n
    return np.array(given), np.tile(shared, (len(given), 1))


def _hierarchy(material: Material, fit: HierarchyFit, order: IntArray) -> Hierarchy:
    """Put the fit into words and own directions."""
    lab, live = material.lab, material.live
    slope = np.array([fit.slope, fit.slope_low, fit.slope_high]) * _sign(lab) * _sign(live)
    gap_mean, gap_low, gap_high = _own(live, fit.gap_mean, fit.gap_low, fit.gap_high)
    below = 1.0 - fit.probability_below if live.turned else fit.probability_below
    return Hierarchy(
        slope=float(slope[0]),
        slope_low=float(slope[1:].min()),
        slope_high=float(slope[1:].max()),
        tau=fit.tau,
        tau_low=fit.tau_low,
        tau_high=fit.tau_high,
        forecasts=() if fit.new is None else _forecasts(material, fit.new),
        left_out=_left_out(material, fit, order),
        coverage=fit.coverage.estimate,
        coverage_low=fit.coverage.conf_low,
        coverage_high=fit.coverage.conf_high,
        probability_below=tuple(below[order].tolist()),
        gap_mean=tuple(gap_mean[order].tolist()),
        gap_low=tuple(gap_low[order].tolist()),
        gap_high=tuple(gap_high[order].tolist()),
        priors=fit.priors,
        sensitivity=fit.sensitivity,
        method=_METHOD,
        warnings=(*fit.warnings, *([_MARGINAL] if lab.marginal or live.marginal else []), _DEPENDENCE),
    )


def _own(
    side: Side, middle: FloatArray, low: FloatArray, high: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return an interval in the side's own direction."""
    return (-middle, -high, -low) if side.turned else (middle, low, high)


def _within(side: Side, law: Predicted) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return predictions in the side's own direction, cut off where its scale ends."""
    low = -np.inf if side.low is None else side.low
    high = np.inf if side.high is None else side.high
    middle, lower, upper = (np.clip(part, low, high) for part in _own(side, law.expected, law.low, law.high))
    return middle, lower, upper


def _forecasts(material: Material, new: NewModels) -> tuple[Forecast, ...]:
    expected, low, high = _within(material.live, new.live)
    found = list[Forecast]()
    for j, (name, estimate, error) in enumerate(material.lab.only_here):
        reasons = [*([_MISSING] if error is None else []), *([_OUTSIDE] if new.extrapolated[j] else [])]
        found.append(
            Forecast(
                name=name,
                lab=estimate,
                lab_std_error=error,
                expected=float(expected[j]),
                std_error=float(new.live.std_error[j]),
                pred_low=float(low[j]),
                pred_high=float(high[j]),
                rank_low=None if new.extrapolated[j] else int(new.rank_low[j]),
                rank_high=None if new.extrapolated[j] else int(new.rank_high[j]),
                extrapolated=bool(new.extrapolated[j]),
                reason="; ".join(reasons) or None,
            )
        )
    return tuple(found)


def _left_out(material: Material, fit: HierarchyFit, order: IntArray) -> tuple[LeftOut, ...]:
    expected, low, high = _within(material.live, fit.left_out)
    return tuple(
        LeftOut(
            name=material.models[j],
            live=float(material.live.estimate[j]),
            expected=float(expected[j]),
            pred_low=float(low[j]),
            pred_high=float(high[j]),
            inside=bool(fit.inside[j]),
        )
        for j in map(int, order)
    )
