"""York's line from lab to live scores, each model's gap from the line through the others, and the overall level."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from evalstats.analysis.gap.result import CalibrationLine, GapVerdict, LevelGap, ModelGap, OtherLine
from evalstats.analysis.gap.score_scale import (
    bend_p,
    gap_in_points,
    in_logits,
    in_own_numbers,
    is_share,
    steadied,
    straight_p,
)
from evalstats.analysis.gap.shared_models import SharedModels
from evalstats.analysis.result import finite
from evalstats.document.model import Note
from evalstats.document.numbers import number, p_value, p_words
from evalstats.errors import Advice, CannotAnswerError, Option
from evalstats.grammar import and_list
from evalstats.record import record
from evalstats.stats.checks import FloatArray
from evalstats.stats.errors_in_variables.line import LineFit, fit_line
from evalstats.stats.errors_in_variables.line_estimators import (
    AnotherLine,
    least_squares,
    theil_sen,
    without_leverage,
)
from evalstats.stats.errors_in_variables.scores import LabLiveScores
from evalstats.stats.errors_in_variables.true_gaps import (
    FULL_MODELS,
    LEAST_MODELS,
    DeletedGaps,
    deleted_gaps,
    shrunken_gaps,
)
from evalstats.stats.gap import LevelGaps, level_gaps

# Why no model is called a gap where the line is no line.
BENT = "live scores bend away from a straight line in the lab scores"
_ANY = 1e-9
# What a row takes of the gaps as it is.
_TAKEN = (
    "std_error",
    "conf_low",
    "conf_high",
    "p_value",
    "p_outlier",
    "p_adjusted",
    "adjusted_low",
    "adjusted_high",
    "equivalence_low",
    "equivalence_high",
    "detectable",
)


@record
class Calibration:
    """The calibrated gap: the line (None for a `reason`), a row for each model, and the level on one scale."""

    line: CalibrationLine | None
    rows: tuple[ModelGap, ...]
    level: LevelGap | None
    notes: tuple[Note, ...] = ()
    reason: str | None = None


def calibrated(shared: SharedModels) -> Calibration:
    """Read lab scores as live ones by York's line, and compare each model with the line through the others.

    The line is told in the numbers of the sides' own metrics, also where less is better on one of them: `slope`,
    `intercept` and each row's `expected` have the signs turned back. A *gap* and a *difference* above 0 mean the same
    on every metric: live is better. So for an error rate live the gap is `expected - live` in printed numbers.

    A model gets no verdict where the line through the others is not determined or its slope not clearly different from
    0; with 6 to 9 models a gap must lie beyond the margin. Where the data cannot answer, the reason is in the result.
    """
    levels = _levels(shared)
    level = None if levels is None else _level(shared, levels)
    shared = replace(shared, scores=steadied(shared.lab, shared.live, shared.scores))
    fit, reason = _fit(shared)
    if fit is None:
        rows = tuple(
            ModelGap(**_difference(shared, levels, j), conf_level=shared.conf_level, reason=reason)
            for j in range(shared.n_models)
        )
        return Calibration(line=None, rows=rows, level=level, reason=reason)
    # In logits the margin is asked for in points, where gaps are told.
    margin = shared.margin if shared.live.link == "identity" or shared.margin is None else _ANY
    gaps = deleted_gaps(shared.scores, conf_level=shared.conf_level, margin=margin)
    line = _line_in_own_units(shared, fit, gaps)
    rows = _model_gaps(shared, fit, gaps, levels, bent=line.bent)
    judges = any(row.verdict == "gap" for row in rows)
    return Calibration(line=line, rows=rows, level=level, notes=_line_notes(shared, fit, line, judges=judges))


def _fit(shared: SharedModels) -> tuple[LineFit | None, str]:
    """Return the line, or None and why there is none."""
    n = shared.n_models
    if n < LEAST_MODELS:
        return None, (
            f"{n} shared {'model is' if n == 1 else 'models are'} too few for a line from lab to live; at least {LEAST_MODELS} "
            f"are needed{', so that only plain differences are given' if shared.same_scale else ''}"
        )
    try:
        fit = fit_line(shared.scores, conf_level=shared.conf_level)
    except CannotAnswerError as error:
        return None, str(error)
    if fit.lab_p_value > 1.0 - shared.conf_level:
        return None, (
            f"the {n} models differ in the lab by no more than noise (p {p_value(fit.lab_p_value)}), so that no line "
            "from lab to live is determined; more lab items would be needed"
        )
    return fit, ""


# --- the line ---


def _line_in_own_units(shared: SharedModels, fit: LineFit, gaps: DeletedGaps) -> CalibrationLine:
    """Return the line with the signs of sides of which less is better turned back."""
    live, turn = shared.live.sign, shared.lab.sign * shared.live.sign
    bent_p = bend_p(shared.scores, fit)
    ends = sorted((turn * fit.slope_low, turn * fit.slope_high))
    moved = np.abs(gaps.slope - fit.slope) > fit.slope_std_error
    return CalibrationLine(
        slope=turn * fit.slope,
        intercept=live * fit.intercept,
        slope_std_error=fit.slope_std_error,
        slope_low=finite(ends[0]),
        slope_high=finite(ends[1]),
        intercept_std_error=fit.intercept_std_error,
        tau=fit.tau,
        tau_low=fit.tau_low,
        tau_high=fit.tau_high,
        statistic=fit.statistic,
        df=fit.df,
        p_value=fit.p_value,
        detectable=float(np.median(_detectable(shared, gaps))),
        n_models=fit.n_models,
        others=other_lines(shared, fit),
        influential=tuple(name for name, far in zip(shared.models, moved, strict=True) if far),
        converged=fit.converged and gaps.converged,
        slope_p_value=fit.slope_p_value,
        slope_one_p=fit.slope_one_p if shared.same_scale and shared.plain is None else None,
        lab_p_value=fit.lab_p_value,
        bend_p=bent_p,
        bent=bent_p is not None and bent_p <= 1.0 - shared.conf_level,
    )


def other_lines(shared: SharedModels, fit: LineFit) -> tuple[OtherLine, ...]:
    """Return the line by other methods, those that the data allow."""
    scores, level = shared.scores, shared.conf_level
    lines: tuple[tuple[str, str, Callable[[], AnotherLine], str], ...] = (
        (
            "ols",
            "Least squares, live on lab",
            lambda: least_squares(scores, conf_level=level),
            "it treats lab scores as exact, so that noise in the lab flattens it and turns into gaps",
        ),
        (
            "theil-sen",
            "Theil-Sen with errors on both sides",
            lambda: theil_sen(scores),
            "by ranks: a few outlying models hardly move it",
        ),
        (
            "without leverage",
            "York, without the model of most leverage",
            lambda: without_leverage(scores, fit, conf_level=level),
            "",
        ),
    )
    found: list[OtherLine] = []
    for key, title, of, why in lines:
        try:
            line = of()
        except CannotAnswerError:
            continue
        if math.isfinite(line.slope) and math.isfinite(line.intercept):
            found.append(
                OtherLine(
                    key=key,
                    title=title,
                    slope=shared.lab.sign * shared.live.sign * line.slope,
                    intercept=shared.live.sign * line.intercept,
                    slope_std_error=line.slope_std_error,
                    n_beyond=line.n_beyond,
                    why=f"without {shared.models[line.place]}" if line.place is not None else why,
                )
            )
    return tuple(found)


def _line_notes(shared: SharedModels, fit: LineFit, line: CalibrationLine, *, judges: bool) -> tuple[Note, ...]:
    """Return what to say of a line that is hardly one, that rests on few models, or that is not straight.

    `judges`: a model lies off the line of the others. That line has a clear slope, which the model itself may hide.
    """
    said: list[Note] = []
    if not judges and (fit.slope_p_value > 1.0 - fit.conf_level or fit.slope_low <= 0.0 <= fit.slope_high):
        text = f"Lab scores hardly predict live ones (slope not clearly different from 0, {p_words(fit.slope_p_value)})"
        said.append(Note(kind="fit", text=text, remedy="Judge no model by its gap"))
    if fit.n_models < FULL_MODELS:
        text = f"With {fit.n_models} models a gap is called only beyond a declared margin"
        remedy = (
            f"Score {FULL_MODELS} or more on both sides, or declare what does not matter: ",
            Option("margin", blank="MARGIN"),
        )
        said.append(Note(kind="few", text=text, remedy=remedy, caution=shared.margin is None))
    if fit.tau_high is None:
        text = "Models lie closer to the line than their errors allow: these seem too large, or both sides share errors"
        said.append(Note(kind="fit", text=text))
    if not line.converged:
        text = "The search for the line did not converge"
        said.append(Note(kind="fit", text=text, remedy="Do not rely on its numbers"))
    if line.influential:
        text = f"The slope moves by more than its standard error without {and_list(line.influential, 4)}"
        said.append(Note(kind="fit", text=text, caution=False))
    if line.bent:
        text = f"{BENT[:1].upper()}{BENT[1:]} ({p_words(line.bend_p)}), so no model is called a gap"
        said.append(Note(kind="fit", text=text, remedy=_straighter(shared)))
    return tuple(said)


def _straighter(shared: SharedModels) -> Advice:
    """Name the other scale where scores that bend lie on a line on it: shares as they are, or as logits."""
    linked = "logit" in (shared.lab.link, shared.live.link)
    if not linked and not (is_share(shared.lab) or is_share(shared.live)):
        return ""
    other = shared.own_scores if linked else in_logits(shared.lab, shared.live, shared.scores)[2]
    p = straight_p(shared.lab, shared.live, other, conf_level=shared.conf_level)
    if p is None or p <= 1.0 - shared.conf_level:
        return ""
    return (
        ("Compare the shares as they are: ", Option("scale", "identity"))
        if linked
        else ("Compare log-odds of the shares: ", Option("scale", "logit"))
    )


# --- models ---


def verdict_of(low: float, high: float, margin: float | None, *, flagged: bool) -> GapVerdict:
    """Return aligned where the equivalence interval lies inside the margin, else gap where flagged, else inconclusive.

    >>> verdict_of(0.2, 0.8, 1.0, flagged=True), verdict_of(0.2, 0.8, None, flagged=True)
    ('aligned', 'gap')
    """
    if margin is not None and -margin < low and high < margin:
        return "aligned"
    return "gap" if flagged else "inconclusive"


def _detectable(shared: SharedModels, gaps: DeletedGaps) -> FloatArray:
    """Return the gaps that would be flagged in the live metric's own numbers: the easier of better and worse."""
    own = shared.scores.live
    better = gap_in_points(shared.live, own, gaps.detectable)
    return np.minimum(-gap_in_points(shared.live, own, -gaps.detectable), better)


def _in_points(shared: SharedModels, gaps: DeletedGaps) -> DeletedGaps:
    """Return the gaps in the live metric's own numbers, each at the model's own score."""
    if shared.live.link == "identity":
        return gaps
    own = shared.scores.live
    names = ("gap", "conf_low", "conf_high", "adjusted_low", "adjusted_high", "equivalence_low", "equivalence_high")
    ends = {name: gap_in_points(shared.live, own, getattr(gaps, name)) for name in names}
    above, below = (gap_in_points(shared.live, own, gaps.gap + side * gaps.std_error) for side in (1.0, -1.0))
    flagged = gaps.flagged
    if shared.n_models < FULL_MODELS and shared.margin is not None:
        flagged = flagged & ((ends["adjusted_low"] > shared.margin) | (ends["adjusted_high"] < -shared.margin))
    detectable = _detectable(shared, gaps)
    return replace(gaps, **ends, std_error=(above - below) / 2.0, detectable=detectable, flagged=flagged)


def _model_gaps(
    shared: SharedModels, fit: LineFit, gaps: DeletedGaps, levels: LevelGaps | None, *, bent: bool
) -> tuple[ModelGap, ...]:
    """Return a row for each model, in the order of the models."""
    margin, drawn = shared.margin, shrunken_gaps(shared.scores, gaps, fit)
    # A reader sees the live side's own direction; a gap above 0 is better than expected on both kinds of side.
    expected = in_own_numbers(shared.live, gaps.expected)
    shrunken = [
        gap_in_points(shared.live, shared.scores.live, each) for each in (drawn.estimate, drawn.low, drawn.high)
    ]
    gaps = _in_points(shared, gaps)
    rows: list[ModelGap] = []
    for j in range(shared.n_models):
        verdict, reason = _gap_verdict(gaps, j, margin, bent=bent)
        low, high = float(gaps.adjusted_low[j]), float(gaps.adjusted_high[j])
        taken: dict[str, float] = {name: float(getattr(gaps, name)[j]) for name in _TAKEN}
        rows.append(
            ModelGap(
                expected=float(expected[j]),
                estimate=float(gaps.gap[j]),
                conf_level=gaps.conf_level,
                **taken,
                shrunken=float(shrunken[0][j]),
                shrunken_low=finite(shrunken[1][j]),
                shrunken_high=finite(shrunken[2][j]),
                leverage=float(fit.leverage[j]),
                extrapolated=bool(gaps.extrapolated[j]),
                **_difference(shared, levels, j),
                verdict=verdict,
                material=None if margin is None or verdict != "gap" else low > margin or high < -margin,
                reason=reason,
            )
        )
    return tuple(rows)


def _gap_verdict(gaps: DeletedGaps, j: int, margin: float | None, *, bent: bool) -> tuple[GapVerdict, str]:
    """Return the verdict on one model and why."""
    if not gaps.determined[j]:
        return "inconclusive", "the other models differ in the lab by no more than noise, so that they give no line"
    if not gaps.sloped[j]:
        return "inconclusive", "among the other models the slope of live on lab is not clearly different from 0"
    ends = float(gaps.equivalence_low[j]), float(gaps.equivalence_high[j])
    verdict = verdict_of(*ends, margin, flagged=bool(gaps.flagged[j]))
    if verdict == "aligned":
        return verdict, f"the {_percent(2 * gaps.conf_level - 1)} interval lies within the margin"
    adjusted = f"adjusted p {p_value(float(gaps.p_adjusted[j]))}"
    if verdict == "gap" and bent:
        return "inconclusive", f"{BENT}, and what lies off it may be the bend"
    if verdict == "gap":
        return verdict, f"{adjusted} and the adjusted interval excludes 0"
    return verdict, _why_not(gaps, j, adjusted)


def _why_not(gaps: DeletedGaps, j: int, adjusted: str) -> str:
    """Say why a model is neither aligned nor flagged."""
    if float(gaps.p_adjusted[j]) > 1.0 - gaps.conf_level:
        return f"it does not stand out among all {gaps.gap.size} models ({adjusted})"
    if gaps.gap.size < FULL_MODELS:
        bound = "no margin is declared" if gaps.margin is None else "its interval reaches inside the margin"
        return f"with {gaps.gap.size} models a gap is called only beyond a declared margin, and {bound}"
    return "it stands out among the models, but the adjusted interval of its gap includes 0"


def _difference(shared: SharedModels, levels: LevelGaps | None, j: int) -> dict[str, Any]:
    if levels is None:
        return {}
    each = levels.differences
    ends = float(each.equivalence_low[j]), float(each.equivalence_high[j])
    return {
        "difference": float(each.estimate[j]),
        "difference_std_error": float(each.std_error[j]),
        "difference_low": float(each.adjusted_low[j]),
        "difference_high": float(each.adjusted_high[j]),
        "difference_p": float(each.p_value[j]),
        "difference_adjusted": float(each.p_adjusted[j]),
        "difference_verdict": verdict_of(*ends, shared.margin, flagged=bool(each.flagged[j])),
    }


def _percent(level: float) -> str:
    return f"{number(100 * level, 0 if abs(100 * level - round(100 * level)) < 1e-9 else 1)}%"


# --- the level ---


def _levels(shared: SharedModels) -> LevelGaps | None:
    """Return live minus lab of each model and of their mean, on one scale."""
    if not shared.same_scale or not shared.scores.has_errors:
        return None

    def gaps_of(scores: LabLiveScores) -> LevelGaps:
        return level_gaps(scores, conf_level=shared.conf_level, lab_df=shared.lab.df, live_df=shared.live.df)

    own = shared.own_scores
    found = gaps_of(own)
    if not shared.lab.marginal and not shared.live.marginal:
        return found

    # For a mean the errors that models share count in full; published errors do not tell them, so all of each is taken so.
    def as_shared(covariance: FloatArray | None, *, marginal: bool) -> FloatArray | None:
        if covariance is None or not marginal:
            return covariance
        errors = np.sqrt(np.diag(covariance))
        return np.outer(errors, errors)

    most = LabLiveScores(
        lab=own.lab,
        live=own.live,
        lab_covariance=as_shared(own.lab_covariance, marginal=shared.lab.marginal),
        live_covariance=as_shared(own.live_covariance, marginal=shared.live.marginal),
        cross=own.cross,
    )
    return replace(gaps_of(most), differences=found.differences)


def _level(shared: SharedModels, levels: LevelGaps) -> LevelGap:
    apart = levels.conf_low > 0.0 or levels.conf_high < 0.0
    return LevelGap(
        estimate=levels.mean,
        std_error=levels.std_error,
        conf_low=levels.conf_low,
        conf_high=levels.conf_high,
        conf_level=levels.conf_level,
        p_value=levels.p_value,
        equivalence_low=levels.equivalence_low,
        equivalence_high=levels.equivalence_high,
        verdict=verdict_of(levels.equivalence_low, levels.equivalence_high, shared.margin, flagged=apart),
    )
