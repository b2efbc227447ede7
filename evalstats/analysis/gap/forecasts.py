"""What to expect live of models that only the lab has scored, by one model of lab and live together."""

import numpy as np

from evalstats.analysis.gap.result import Forecast, Hierarchy
from evalstats.analysis.gap.score_scale import in_own_numbers, new_logits
from evalstats.analysis.gap.shared_models import SharedModels
from evalstats.analysis.result import notes as as_notes
from evalstats.errors import CannotAnswerError, InputError
from evalstats.stats.checks import FloatArray, is_constant
from evalstats.stats.errors_in_variables.hierarchy import NewModels, Predicted, fit_hierarchy
from evalstats.stats.errors_in_variables.scores import centred_variance
from evalstats.stats.errors_in_variables.true_gaps import LEAST_MODELS

_DEPENDENCE = (
    "predictions of left-out models share the line through the others: "
    "the interval of their coverage is somewhat too narrow"
)
_MISSING = "its lab error is unknown: the median of the shared models' is used"
_OUTSIDE = (
    "its lab score lies outside those of the shared models: the interval assumes that the line goes on and that gaps are no "
    "larger out there, which these data cannot show"
)


def hierarchy_of(shared: SharedModels) -> Hierarchy:
    """Fit one model of lab and live, predict models that only the lab has, and leave out each shared one as a check.

    In each side's own direction, in the order of the rows. Prediction intervals end where the live scale does. Fitted on the
    scale of the line, and told in the live metric's own numbers.

    >>> from evalstats.analysis.gap.gap import gap
    >>> lab = {"model": list("abcdefgh"), "estimate": [9.0, 8, 7.5, 7, 6, 5.5, 5, 4], "std_error": [0.1] * 8}
    >>> live = {"model": list("abcdefg"), "estimate": [29.0, 25, 24, 21, 17, 17, 15], "std_error": [1.0] * 7}
    >>> found = gap(lab, live, n_resamples=100).hierarchy
    >>> [(new.name, round(new.expected), new.extrapolated) for new in found.forecasts]
    [('h', 11, True)]
    """
    lab, live = shared.lab, shared.live
    if shared.n_models < LEAST_MODELS:
        raise CannotAnswerError(
            f"{shared.n_models} shared models are too few for a line and the spread about it; "
            f"at least {LEAST_MODELS} are needed"
        )
    for name, side in (("lab", lab), ("live", live)):
        if side.covariance is None:
            raise CannotAnswerError(
                f"not every {name} score has a standard error, so noise and true gaps cannot be told apart; give standard errors"
            )
        if is_constant(side.estimate):
            raise CannotAnswerError(f"all shared models have the same {name} score, so there is no line to predict by")
    new, errors = _new_scores(shared)
    variance, cross = _new_errors(shared, errors)
    try:
        fit = fit_hierarchy(
            shared.scores,
            new_lab=new if new.size else None,
            new_lab_covariance=variance if new.size else None,
            new_cross_with_lab=cross if new.size else None,
            conf_level=shared.conf_level,
        )
    except InputError as error:
        raise CannotAnswerError(str(error)) from error
    order = shared.best_first
    slope = np.array([fit.slope, fit.slope_low, fit.slope_high]) * lab.sign * live.sign
    below = 1.0 - fit.probability_below if live.sign < 0 else fit.probability_below
    return Hierarchy(
        slope=float(slope[0]),
        slope_low=float(slope[1:].min()),
        slope_high=float(slope[1:].max()),
        tau=fit.tau,
        tau_low=fit.tau_low,
        tau_high=fit.tau_high,
        forecasts=() if fit.new is None else _forecasts(shared, fit.new),
        coverage=fit.coverage.estimate,
        coverage_low=fit.coverage.conf_low,
        coverage_high=fit.coverage.conf_high,
        probability_below=tuple(below[order].tolist()),
        priors=fit.priors,
        sensitivity=fit.sensitivity,
        notes=as_notes("fit", (*fit.warnings, _DEPENDENCE), caution=False),
    )


def _new_scores(shared: SharedModels) -> tuple[FloatArray, list[float | None]]:
    """Return lab scores of models that only the lab has, on the scale of the line, and their standard errors there."""
    lab = shared.lab
    new = np.array([estimate for _, estimate, _ in lab.only_here], dtype=np.float64)
    errors = [error for _, _, error in lab.only_here]
    if lab.link == "identity" or not new.size:
        return lab.sign * new, errors
    found, slope = new_logits(lab, new, np.array([np.nan if error is None else error for error in errors]))
    return found, [None if error is None else error * step for error, step in zip(errors, slope.tolist(), strict=True)]


def _new_errors(shared: SharedModels, errors: list[float | None]) -> tuple[FloatArray, FloatArray | None]:
    """Return variances of the new models' lab errors and their covariances with those of the shared models.

    Where covariances are known, a new model is taken to have been scored on the same items: it shares with every other model
    what that one shares with the rest on average, and has an error of its own at least as large as the smallest of theirs.
    """
    marginal, table = shared.lab.marginal, np.asarray(shared.scores.lab_covariance, dtype=np.float64)
    n = len(table)
    common = 0.0 if marginal else float((table.sum() - np.trace(table)) / (n * (n - 1)))
    middle = table - table.mean(axis=0) - table.mean(axis=1)[:, None] + table.mean()
    own = np.diag(table) if marginal else np.maximum(np.diag(middle), 0.0) * n / (n - 1)
    usual = common + float(np.median(own))
    given = [usual if error is None else max(error**2, common + float(own.min())) for error in errors]
    if marginal:
        return np.array(given), None
    with_lab = table.mean(axis=0) - centred_variance(table) / n
    return np.array(given), np.tile(with_lab, (len(given), 1))


def _within(shared: SharedModels, law: Predicted) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return predictions in the live side's own direction and numbers, cut off where its scale ends."""
    side = shared.live
    low = -np.inf if side.about.low is None else side.about.low
    high = np.inf if side.about.high is None else side.about.high
    middle, lower, upper = (
        np.clip(in_own_numbers(side, part), low, high) for part in (law.expected, law.low, law.high)
    )
    return (middle, upper, lower) if side.sign < 0 else (middle, lower, upper)


def _forecasts(shared: SharedModels, new: NewModels) -> tuple[Forecast, ...]:
    expected, low, high = _within(shared, new.live)
    step = 1e-4
    up, down = (in_own_numbers(shared.live, new.live.expected + way * step) for way in (1.0, -1.0))
    errors = new.live.std_error * np.abs(up - down) / (2 * step)
    found = list[Forecast]()
    for j, (name, estimate, error) in enumerate(shared.lab.only_here):
        reasons = [*([_MISSING] if error is None else []), *([_OUTSIDE] if new.extrapolated[j] else [])]
        found.append(
            Forecast(
                name=name,
                lab=estimate,
                lab_std_error=error,
                expected=float(expected[j]),
                std_error=float(errors[j]),
                pred_low=float(low[j]),
                pred_high=float(high[j]),
                rank_low=None if new.extrapolated[j] else int(new.rank_low[j]),
                rank_high=None if new.extrapolated[j] else int(new.rank_high[j]),
                extrapolated=bool(new.extrapolated[j]),
                reason="; ".join(reasons) or None,
            )
        )
    return tuple(found)
