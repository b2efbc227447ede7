"""York's line from lab to live scores, each model's gap from the line through the others, and the overall level."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from evalstats.analysis.gap.material import Material
from evalstats.analysis.gap.result import CalibrationLine, Deviation, GapVerdict, LevelGap, ModelGap, OtherLine
from evalstats.analysis.gap.score_scale import (
    bend_p,
    fewest_clusters,
    gap_in_points,
    is_straight_otherwise,
    links_of,
    on_live_scale,
    steadied,
)
from evalstats.analysis.result import finite
from evalstats.document.model import Note
from evalstats.document.numbers import number, p_value, p_words, several
from evalstats.errors import Advice, CannotAnswerError, Option
from evalstats.stats.checks import FloatArray
from evalstats.stats.errors_in_variables.line import LineFit, fit_line
from evalstats.stats.errors_in_variables.line_estimators import (
    AnotherLine,
    deming,
    least_squares,
    structural_line,
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


def line_in_own_units(made: Material, fit: LineFit, gaps: DeletedGaps) -> CalibrationLine:
    """Return the line with the signs of sides of which less is better turned back."""
    lab, live = _signs(made)
    bent_p = bend_p(made.scores, fit)
    ends = sorted((lab * live * fit.slope_low, lab * live * fit.slope_high))
    moved = np.abs(gaps.slope - fit.slope) > fit.slope_std_error
    return CalibrationLine(
        slope=lab * live * fit.slope,
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
        detectable=float(np.median(_detectable(made, gaps))),
        n_models=fit.n_models,
        others=other_lines(made, fit),
        influential=tuple(name for name, far in zip(made.models, moved, strict=True) if far),
        converged=fit.converged and gaps.converged,
        slope_p_value=fit.slope_p_value,
        slope_one_p=fit.slope_one_p if made.same_scale and made.plain is None else None,
        lab_p_value=fit.lab_p_value,
        bend_p=bent_p,
        bent=bent_p is not None and bent_p <= 1.0 - made.options.conf_level,
    )


def other_lines(made: Material, fit: LineFit) -> tuple[OtherLine, ...]:
    """Return the line by other methods, those that the data allow."""
    scores, level = made.scores, made.options.conf_level
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
            "deming",
            "Deming",
            lambda: deming(scores, conf_level=level),
            "the same error for all models, and no true gaps",
        ),
        (
            "structural",
            "Structural maximum likelihood",
            lambda: structural_line(scores),
            "takes true lab scores as normally spread between models",
        ),
        (
            "without leverage",
            "York, without the model of most leverage",
            lambda: without_leverage(scores, fit, conf_level=level),
            "",
        ),
    )
    lab, live = _signs(made)
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
                    slope=lab * live * line.slope,
                    intercept=live * line.intercept,
                    slope_std_error=line.slope_std_error,
                    n_beyond=line.n_beyond,
                    why=f"without {made.models[line.place]}" if line.place is not None else why,
                )
            )
    return tuple(found)


def _signs(made: Material) -> tuple[float, float]:
    return (-1.0 if made.lab.turned else 1.0), (-1.0 if made.live.turned else 1.0)


def verdict_of(low: float, high: float, margin: float | None, *, flagged: bool) -> GapVerdict:
    """Return aligned where the equivalence interval lies inside the margin, else gap where flagged, else inconclusive.

    >>> verdict_of(0.2, 0.8, 1.0, flagged=True), verdict_of(0.2, 0.8, None, flagged=True)
    ('aligned', 'gap')
    """
    if margin is not None and -margin < low and high < margin:
        return "aligned"
    return "gap" if flagged else "inconclusive"


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


def _in_points(made: Material, gaps: DeletedGaps) -> DeletedGaps:
    """Return the gaps in the live metric's own numbers, each at the model's own score."""
    if made.live_link == "identity":
        return gaps
    names = ("gap", "conf_low", "conf_high", "adjusted_low", "adjusted_high", "equivalence_low", "equivalence_high")
    ends = {name: gap_in_points(made, getattr(gaps, name)) for name in names}
    above, below = (gap_in_points(made, gaps.gap + side * gaps.std_error) for side in (1.0, -1.0))
    flagged = gaps.flagged
    if made.n_models < FULL_MODELS and made.options.margin is not None:
        beyond = (ends["adjusted_low"] > made.options.margin) | (ends["adjusted_high"] < -made.options.margin)
        flagged = flagged & beyond
    return replace(gaps, **ends, std_error=(above - below) / 2.0, detectable=_detectable(made, gaps), flagged=flagged)


def _detectable(made: Material, gaps: DeletedGaps) -> FloatArray:
    """Return the gaps that would be flagged in the live metric's own numbers: the easier of better and worse."""
    return np.minimum(-gap_in_points(made, -gaps.detectable), gap_in_points(made, gaps.detectable))


def model_gaps(
    made: Material, fit: LineFit, gaps: DeletedGaps, levels: LevelGaps | None, *, bent: bool
) -> tuple[ModelGap, ...]:
    """Return a row for each model, in the order of the models."""
    margin, drawn = made.options.margin, shrunken_gaps(made.scores, gaps, fit)
    # A reader sees the live side's own direction; a gap above 0 is better than expected on both kinds of side.
    expected = on_live_scale(made, gaps.expected)
    shrunken = {name: gap_in_points(made, getattr(drawn, name)) for name in ("estimate", "low", "high")}
    gaps = _in_points(made, gaps)
    rows: list[ModelGap] = []
    for j in range(made.n_models):
        verdict, reason = _gap_verdict(gaps, j, margin, bent=bent)
        low, high = float(gaps.adjusted_low[j]), float(gaps.adjusted_high[j])
        beyond = None if margin is None or verdict != "gap" else low > margin or high < -margin
        taken: dict[str, float] = {name: float(getattr(gaps, name)[j]) for name in _TAKEN}
        rows.append(
            ModelGap(
                expected=float(expected[j]),
                estimate=float(gaps.gap[j]),
                conf_level=gaps.conf_level,
                **taken,
                shrunken=float(shrunken["estimate"][j]),
                shrunken_low=finite(shrunken["low"][j]),
                shrunken_high=finite(shrunken["high"][j]),
                leverage=float(fit.leverage[j]),
                extrapolated=bool(gaps.extrapolated[j]),
                **_difference(made, levels, j),
                verdict=verdict,
                material=beyond,
                reason=reason,
            )
        )
    return tuple(rows)


# Why no model is called a gap where the line is no line.
BENT = "live scores bend away from a straight line in the lab scores"


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
    if verdict == "gap" and bent:
        return "inconclusive", f"{BENT}, and what stands off it may be the bend"
    if verdict == "gap":
        return verdict, f"adjusted p {p_value(float(gaps.p_adjusted[j]))} and the adjusted interval leaves out 0"
    return verdict, _why_not(gaps, j)


def _why_not(gaps: DeletedGaps, j: int) -> str:
    """Say why a model is neither aligned nor flagged."""
    n, limit = gaps.gap.size, 1.0 - gaps.conf_level
    p_adjusted = float(gaps.p_adjusted[j])
    apart = gaps.adjusted_low[j] > 0.0 or gaps.adjusted_high[j] < 0.0
    if p_adjusted <= limit and n < FULL_MODELS:
        bound = "no margin is declared" if gaps.margin is None else "its interval reaches inside the margin"
        return f"with {n} models a gap is called only beyond a declared margin, and {bound}"
    if p_adjusted <= limit:
        return "it stands out among the models, but the adjusted interval of its gap includes 0"
    if apart and float(gaps.p_outlier[j]) > limit:
        return (
            f"its gap is more than noise (p {p_value(float(gaps.p_value[j]))}), and no larger than gaps of the other models "
            f"make likely (adjusted p {p_value(p_adjusted)})"
        )
    if apart:
        return (
            f"its gap is more than noise, and does not stand out over all {n} models (adjusted p {p_value(p_adjusted)})"
        )
    return f"the {_percent(gaps.conf_level)} interval of its gap includes 0"


def _difference(made: Material, levels: LevelGaps | None, j: int) -> dict[str, Any]:
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
        "difference_verdict": verdict_of(*ends, made.options.margin, flagged=bool(each.flagged[j])),
    }


def _percent(level: float) -> str:
    return f"{number(100 * level, 0 if abs(100 * level - round(100 * level)) < 1e-9 else 1)}%"


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """The calibrated gap: the line (None for a `reason`), a row for each model, and the level on one scale."""

    line: CalibrationLine | None
    rows: tuple[ModelGap, ...]
    level: LevelGap | None
    notes: tuple[Note, ...] = ()
    reason: str | None = None


def calibrated(made: Material) -> Calibration:
    """Read lab scores as live ones by York's line, and compare each model with the line through the others.

    The line is told in the numbers of the sides' own metrics, also where less is better on one of them: `slope`,
    `intercept` and each row's `expected` have the signs turned back. A *gap* and a *difference* above 0 mean the same
    on every metric: live is better. So for an error rate live the gap is `expected - live` in printed numbers.

    A model gets no verdict where the line through the others is not determined or its slope not clearly different from
    0; with 6 to 9 models a gap must lie beyond the margin. Where the data cannot answer, the reason is in the result.
    """
    levels = _levels(made)
    made, few = _steadied(made)
    fit, reason = _fit(made)
    if fit is None:
        level = made.options.conf_level
        rows = tuple(
            ModelGap(**_difference(made, levels, j), conf_level=level, reason=reason) for j in range(made.n_models)
        )
        return Calibration(
            line=None, rows=rows, level=_level(made, levels), notes=_level_notes(made, levels), reason=reason
        )
    # In logits the margin is asked for in points, where gaps are told.
    margin = made.options.margin if made.live_link == "identity" or made.options.margin is None else _ANY
    gaps = deleted_gaps(made.scores, conf_level=made.options.conf_level, margin=margin)
    line = line_in_own_units(made, fit, gaps)
    return Calibration(
        line=line,
        rows=model_gaps(made, fit, gaps, levels, bent=line.bent),
        level=_level(made, levels),
        notes=(
            *_doubt(fit),
            *few,
            *_line_notes(fit, line, made.options.margin),
            *_bend_note(made, line),
            *_level_notes(made, levels),
        ),
    )


def _steadied(made: Material) -> tuple[Material, tuple[Note, ...]]:
    """Draw covariances from few clusters towards a simple form, and say so where that is much."""
    fewest = fewest_clusters(made)
    if fewest is None:
        return made, ()
    few = fewest <= 4 * made.n_models
    said = (
        f"{fewest} clusters are few to tell how the errors of {made.n_models} models go together; all pairs count as "
        "alike"
    )
    note = Note(kind="few", text=said, caution=False)
    return replace(made, scores=steadied(made)), (note,) if few else ()


def _fit(made: Material) -> tuple[LineFit | None, str]:
    """Return the line, or None and why there is none."""
    if made.n_models < LEAST_MODELS:
        only = "model is" if made.n_models == 1 else "models are"
        return None, (
            f"{made.n_models} shared {only} too few for a line from lab to live; at least {LEAST_MODELS} are needed"
            + (", so that only plain differences are given" if made.same_scale else "")
        )
    try:
        fit = fit_line(made.scores, conf_level=made.options.conf_level)
    except CannotAnswerError as error:
        return None, str(error)
    if fit.lab_p_value > 1.0 - made.options.conf_level:
        return None, (
            f"the {made.n_models} models differ in the lab by no more than noise (p {p_value(fit.lab_p_value)}), so that no line "
            "from lab to live is determined; more lab items would be needed"
        )
    return fit, ""


def _doubt(fit: LineFit) -> tuple[Note, ...]:
    """Return what to say of a line that is hardly one."""
    flat = fit.slope_p_value > 1.0 - fit.conf_level or fit.slope_low <= 0.0 <= fit.slope_high
    if flat:
        said = f"Lab scores hardly predict live ones (slope not clearly different from 0, {p_words(fit.slope_p_value)})"
        return (Note(kind="fit", text=said, remedy="Judge no model by its gap"),)
    return ()


def _line_notes(fit: LineFit, line: CalibrationLine, margin: float | None) -> tuple[Note, ...]:
    said: list[Note] = []
    if fit.n_models < FULL_MODELS:
        text = f"With {fit.n_models} models a gap is called only beyond a declared margin"
        said.append(
            Note(kind="few", text=text, remedy=f"Score {FULL_MODELS} or more on both sides", caution=margin is None)
        )
    if fit.slope_high < 0.0:
        said.append(Note(kind="fit", text="Models that are better in the lab are worse with live users"))
    if fit.tau_high is None:
        text = "Models lie closer to the line than their errors allow: these seem too large, or both sides share errors"
        said.append(Note(kind="fit", text=text))
    if not line.converged:
        said.append(
            Note(kind="fit", text="The search for the line did not converge", remedy="Do not rely on its numbers")
        )
    if line.influential:
        text = f"The slope moves by more than its standard error without {several(line.influential)}"
        said.append(Note(kind="fit", text=text, caution=False))
    return tuple(said)


def _bend_note(made: Material, line: CalibrationLine) -> tuple[Note, ...]:
    """Say that a straight line is the wrong one, where it shows."""
    if not line.bent:
        return ()
    said = f"Live scores bend away from a straight line in the lab scores ({p_words(line.bend_p)}), so no model is called a gap"
    remedy: Advice = ""
    if is_straight_otherwise(made):
        remedy = (
            ("Compare the shares as they are: ", Option("scale", "identity"))
            if "logit" in links_of(made)
            else ("Compare log-odds of the shares: ", Option("scale", "logit"))
        )
    return (Note(kind="fit", text=said, remedy=remedy),)


def _levels(made: Material) -> LevelGaps | None:
    if not made.same_scale or not made.scores.has_errors:
        return None
    level, dfs = made.options.conf_level, (made.lab.df, made.live.df)
    made = replace(made, scores=made.own_scores)
    found = level_gaps(made.scores, conf_level=level, lab_df=dfs[0], live_df=dfs[1])
    # Whether all models differ alike asks for the whole covariance, which few clusters do not tell.
    steady = level_gaps(_steadied(made)[0].scores, conf_level=level, lab_df=dfs[0], live_df=dfs[1])
    heterogeneity = {"statistic": steady.statistic, "heterogeneity_p": steady.heterogeneity_p}
    if not (made.lab.marginal or made.live.marginal):
        return replace(found, **heterogeneity)
    # For a mean the errors that models share count in full; published errors do not tell them, so all of each is taken so.
    widest = level_gaps(_as_shared(made), conf_level=level, lab_df=dfs[0], live_df=dfs[1])
    return replace(widest, differences=found.differences, deviations=found.deviations, **heterogeneity)


def _as_shared(made: Material) -> LabLiveScores:
    """Return the scores with published errors taken as one error that all models share: the most that a mean can err."""

    def shared(covariance: FloatArray | None, *, marginal: bool) -> FloatArray | None:
        if covariance is None or not marginal:
            return covariance
        errors = np.sqrt(np.diag(covariance))
        return np.outer(errors, errors)

    return replace(
        made.scores,
        lab_covariance=shared(made.scores.lab_covariance, marginal=made.lab.marginal),
        live_covariance=shared(made.scores.live_covariance, marginal=made.live.marginal),
    )


def _level(made: Material, levels: LevelGaps | None) -> LevelGap | None:
    if levels is None:
        return None
    apart = levels.conf_low > 0.0 or levels.conf_high < 0.0
    verdict = verdict_of(levels.equivalence_low, levels.equivalence_high, made.options.margin, flagged=apart)
    law = "t" if np.isfinite(levels.df) else "normal"
    return LevelGap(
        estimate=levels.mean,
        std_error=levels.std_error,
        conf_low=levels.conf_low,
        conf_high=levels.conf_high,
        conf_level=levels.conf_level,
        p_value=levels.p_value,
        equivalence_low=levels.equivalence_low,
        equivalence_high=levels.equivalence_high,
        verdict=verdict,
        method=f"mean over models of live minus lab, {law} interval from the errors of both sides",
        deviations=_deviations(made, levels),
        heterogeneity_p=levels.heterogeneity_p if made.n_models > 1 else None,
    )


def _deviations(made: Material, levels: LevelGaps) -> tuple[Deviation, ...]:
    if made.n_models < 2:
        return ()
    each = levels.deviations
    return tuple(
        Deviation(
            name=name,
            estimate=float(each.estimate[j]),
            std_error=float(each.std_error[j]),
            conf_low=float(each.adjusted_low[j]),
            conf_high=float(each.adjusted_high[j]),
            conf_level=levels.conf_level,
            p_value=float(each.p_value[j]),
            p_adjusted=float(each.p_adjusted[j]),
        )
        for j, name in enumerate(made.models)
    )


def _level_notes(made: Material, levels: LevelGaps | None) -> tuple[Note, ...]:
    if levels is None:
        return ()
    names = [name for name, side in (("lab", made.lab), ("live", made.live)) if side.marginal]
    if not names:
        return ()
    said = (
        f"What the models share of the published {' and '.join(names)} errors is unknown; for the mean difference all counts as "
        "shared, so its interval is the widest"
    )
    return (Note(kind="choice", text=said, caution=False),)
