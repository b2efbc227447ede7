"""The calibrated gap of each model: what live scores are beyond what the lab leads to expect."""

from dataclasses import dataclass, replace

import numpy as np

from evalstats.analysis.gaps.calibration_line import line_in_own_units
from evalstats.analysis.gaps.calibration_rows import Found, Judged, ModelGap, model_gaps, names_of, verdict_of
from evalstats.analysis.gaps.material import Material
from evalstats.analysis.gaps.results import CalibrationLine, Deviation, LevelGap
from evalstats.document.numbers import p_value
from evalstats.errors import CannotAnswerError
from evalstats.stats.checks import FloatArray
from evalstats.stats.gap.bend import bend
from evalstats.stats.gap.deleted_gaps import FULL_MODELS, LEAST_MODELS, deleted_gaps
from evalstats.stats.gap.level_gaps import LevelGaps, level_gaps
from evalstats.stats.gap.scores import LabLiveScores
from evalstats.stats.gap.shrunken_gaps import shrunken_gaps
from evalstats.stats.gap.steadied import steadied
from evalstats.stats.gap.york import LineFit, fit_line

__all__ = ["Calibration", "ModelGap", "calibrated"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """The calibrated gap.

    Attributes
    ----------
    line
        None where no line can be drawn; `reason` says why.
    rows
        One for each model, in the order of `Material.models`.
    level
        Live less lab over all models, where both are on one scale and have errors.
    """

    line: CalibrationLine | None
    rows: tuple[ModelGap, ...]
    level: LevelGap | None
    warnings: tuple[str, ...] = ()
    reason: str | None = None


def calibrated(made: Material) -> Calibration:
    """Read lab scores as live ones by York's line, and compare each model with the line through the others.

    Directions. The line is told in the numbers of the sides' own metrics, also where less is better on one of them: `slope`,
    `intercept` and each row's `expected` have the signs turned back. A *gap* and a *difference* above 0 mean the same on every
    metric: live is better than expected, or better than in the lab. So for a live metric of which less is better (an error
    rate) the gap is `expected - live` in printed numbers.

    Verdicts come in a fixed order and never from a point estimate: *invalid* where no gap can be estimated; *aligned* where a
    margin is declared and the equivalence interval lies inside it; *gap* where the model stands out over all models
    (Benjamini-Hochberg) and its interval, at the level of false-coverage control, leaves out 0 (with 6 to 9 models: lies
    beyond the margin); else *inconclusive*. A model gets no
    verdict where the line through the others is not determined or its slope not clearly different from 0.

    Nothing is raised where the data cannot answer: the reason is in the result.
    """
    levels = _levels(made)
    made, few = _steadied(made)
    fit, reason = _fit(made)
    if fit is None:
        rows = model_gaps(made, Found(levels=levels, reason=reason))
        return Calibration(
            line=None, rows=rows, level=_level(made, levels), warnings=_level_warnings(made, levels), reason=reason
        )
    gaps = deleted_gaps(made.scores, conf_level=made.options.conf_level, margin=made.options.margin)
    doubt = _doubt(fit)
    found = Found(line=fit, gaps=gaps, shrunken=shrunken_gaps(made.scores, gaps, fit), levels=levels)
    line = replace(line_in_own_units(made, fit, gaps), bend_p=_bend_p(made, fit))
    return Calibration(
        line=line,
        rows=model_gaps(made, found),
        level=_level(made, levels),
        warnings=(
            *(() if doubt is None else (doubt,)),
            *few,
            *_line_warnings(fit, line),
            *_bend_warning(made, line),
            *_level_warnings(made, levels),
        ),
    )


def _steadied(made: Material) -> tuple[Material, tuple[str, ...]]:
    """Draw covariances from few clusters towards a simple form, and say so where that is much."""
    counts = [
        int(side.n_clusters[side.n_clusters > 0].min())
        for side in (made.lab, made.live)
        if not side.marginal and (side.n_clusters > 0).any()
    ]
    if not counts or not made.scores.has_errors or min(counts) < 2:
        return made, ()
    fewest = min(counts)
    few = fewest <= 4 * made.n_models
    said = (
        f"{fewest} clusters are few to tell how the errors of {made.n_models} models go together: they are taken as alike for "
        "all pairs of models, or nearly so"
    )
    return replace(made, scores=steadied(made.scores, fewest)), (said,) if few else ()


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


def _doubt(fit: LineFit) -> str | None:
    """Return what to say of a line that is hardly one."""
    flat = fit.slope_p_value > 1.0 - fit.conf_level or fit.slope_low <= 0.0 <= fit.slope_high
    if flat:
        return (
            f"the slope of live on lab is not clearly different from 0 (p {p_value(fit.slope_p_value)}): lab scores lead "
            "to hardly any expectation, and models whose gap hangs on such a slope get no verdict"
        )
    return None


def _line_warnings(fit: LineFit, line: CalibrationLine) -> tuple[str, ...]:
    said: list[str] = []
    if fit.n_models < FULL_MODELS:
        said.append(
            f"with {fit.n_models} models ({FULL_MODELS} or more are better) a gap is called only beyond a declared margin"
        )
    if fit.slope_high < 0.0:
        said.append(
            "models that are better in the lab are worse with live users: expectations follow that reversed line"
        )
    if fit.tau_high is None:
        said.append(
            "models lie closer to the line than their errors allow by chance: the standard errors seem too large, or both sides "
            "share errors"
        )
    if not line.converged:
        said.append("the search for a line did not come to rest; its numbers are not to be relied on")
    if line.influential:
        said.append(f"the slope moves by more than one standard error without {names_of(line.influential)}")
    return tuple(said)


def _bend_p(made: Material, fit: LineFit) -> float | None:
    try:
        return bend(made.scores, fit).p_value
    except CannotAnswerError:
        return None


def _bend_warning(made: Material, line: CalibrationLine) -> tuple[str, ...]:
    """Say that a straight line is the wrong one, where it shows."""
    if line.bend_p is None or line.bend_p > 1.0 - made.options.conf_level:
        return ()
    said = (
        f"live scores bend away from a straight line in the lab scores (p {p_value(line.bend_p)}): gaps at the ends may be the "
        "bend and not the models"
    )
    # On one scale a change of scale would take both sides along.
    return (said if made.same_scale else f"{said}; a share against an open scale is often straighter in log-odds",)


def _levels(made: Material) -> LevelGaps | None:
    if not made.same_scale or not made.scores.has_errors:
        return None
    level, dfs = made.options.conf_level, (made.lab.df, made.live.df)
    found = level_gaps(made.scores, conf_level=level, lab_df=dfs[0], live_df=dfs[1])
    # Whether all models differ alike asks for the whole covariance, which few clusters do not tell.
    steady = level_gaps(_steadied(made)[0].scores, conf_level=level, lab_df=dfs[0], live_df=dfs[1])
    found = replace(found, statistic=steady.statistic, heterogeneity_p=steady.heterogeneity_p)
    if not (made.lab.marginal or made.live.marginal):
        return found
    # For a mean the errors that models share count in full; published errors do not tell them, so all of each is taken so.
    widest = level_gaps(_as_shared(made), conf_level=level, lab_df=dfs[0], live_df=dfs[1])
    return replace(
        found,
        std_error=widest.std_error,
        df=widest.df,
        conf_low=widest.conf_low,
        conf_high=widest.conf_high,
        p_value=widest.p_value,
        equivalence_low=widest.equivalence_low,
        equivalence_high=widest.equivalence_high,
    )


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
    judged = Judged(
        low=levels.conf_low,
        high=levels.conf_high,
        equivalence_low=levels.equivalence_low,
        equivalence_high=levels.equivalence_high,
        flagged=levels.conf_low > 0.0 or levels.conf_high < 0.0,
        p_adjusted=levels.p_value,
    )
    verdict, _ = verdict_of(judged, made.options.margin, levels.conf_level)
    law = "t" if np.isfinite(levels.df) else "normal"
    return LevelGap(
        estimate=levels.mean,
        std_error=levels.std_error,
        conf_low=levels.conf_low,
        conf_high=levels.conf_high,
        p_value=levels.p_value,
        equivalence_low=levels.equivalence_low,
        equivalence_high=levels.equivalence_high,
        verdict=verdict,
        method=f"mean over models of live less lab, {law} interval from the errors of both sides",
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
            p_value=float(each.p_value[j]),
            p_adjusted=float(each.p_adjusted[j]),
        )
        for j, name in enumerate(made.models)
    )


def _level_warnings(made: Material, levels: LevelGaps | None) -> tuple[str, ...]:
    if levels is None:
        return ()
    names = [name for name, side in (("lab", made.lab), ("live", made.live)) if side.marginal]
    if not names:
        return ()
    said = (
        f"what the models share of the published {' and '.join(names)} errors is unknown; for the mean difference all of it is "
        "taken as shared, so its interval is the widest"
    )
    return (said,)
