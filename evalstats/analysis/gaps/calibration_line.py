"""York's line and the lines beside it, in the directions of the sides' own metrics."""

import math
from collections.abc import Callable

import numpy as np

from evalstats.analysis.gaps.material import Material
from evalstats.analysis.gaps.results import CalibrationLine, OtherLine
from evalstats.errors import CannotAnswerError
from evalstats.stats.gap.deleted_gaps import DeletedGaps
from evalstats.stats.gap.other_lines import AnotherLine, deming, least_squares, theil_sen, without_leverage
from evalstats.stats.gap.structural import structural_line
from evalstats.stats.gap.york import LineFit


def line_in_own_units(made: Material, fit: LineFit, gaps: DeletedGaps) -> CalibrationLine:
    """Return the line with the signs of sides of which less is better turned back."""
    lab, live = _signs(made)
    ends = sorted((lab * live * fit.slope_low, lab * live * fit.slope_high))
    moved = np.abs(gaps.slope - fit.slope) > fit.slope_std_error
    return CalibrationLine(
        slope=lab * live * fit.slope,
        intercept=live * fit.intercept,
        slope_std_error=fit.slope_std_error,
        slope_low=ends[0],
        slope_high=ends[1],
        intercept_std_error=fit.intercept_std_error,
        tau=fit.tau,
        tau_low=fit.tau_low,
        tau_high=fit.tau_high,
        statistic=fit.statistic,
        df=fit.df,
        p_value=fit.p_value,
        detectable=float(np.median(gaps.detectable)),
        n_models=fit.n_models,
        others=other_lines(made, fit),
        influential=tuple(name for name, far in zip(made.models, moved, strict=True) if far),
        converged=fit.converged and gaps.converged,
        slope_p_value=fit.slope_p_value,
        slope_one_p=fit.slope_one_p if made.same_scale else None,
        lab_p_value=fit.lab_p_value,
    )


def other_lines(made: Material, fit: LineFit) -> tuple[OtherLine, ...]:
    """Return the line by other methods, those that the data allow."""
    scores, level = made.scores, made.options.conf_level
    reliability = "it treats lab scores as exact, so that noise in the lab flattens it and turns into gaps"
    return (
        *_line(made, "ols", "Least squares, live on lab", lambda: least_squares(scores, conf_level=level), reliability),
        *_line(
            made,
            "theil-sen",
            "Theil-Sen with errors on both sides",
            lambda: theil_sen(scores),
            "by ranks: a few outlying models hardly move it",
        ),
        *_line(
            made,
            "deming",
            "Deming",
            lambda: deming(scores, conf_level=level),
            "the same error for all models, and no true gaps",
        ),
        *_line(
            made,
            "structural",
            "Structural maximum likelihood",
            lambda: structural_line(scores),
            "takes true lab scores as normally spread between models",
        ),
        *_line(
            made,
            "without leverage",
            "York, without the model of most leverage",
            lambda: without_leverage(scores, fit, conf_level=level),
            "",
        ),
    )


def _line(made: Material, key: str, title: str, of: Callable[[], AnotherLine], why: str) -> tuple[OtherLine, ...]:
    try:
        found = of()
    except CannotAnswerError:
        return ()
    lab, live = _signs(made)
    if not (math.isfinite(found.slope) and math.isfinite(found.intercept)):
        return ()
    return (
        OtherLine(
            key=key,
            title=title,
            slope=lab * live * found.slope,
            intercept=live * found.intercept,
            slope_std_error=found.slope_std_error,
            n_beyond=found.n_beyond,
            why=f"without {made.models[found.place]}" if found.place is not None else why,
        ),
    )


def _signs(made: Material) -> tuple[float, float]:
    return (-1.0 if made.lab.turned else 1.0), (-1.0 if made.live.turned else 1.0)
