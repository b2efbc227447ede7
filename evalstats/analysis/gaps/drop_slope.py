"""Do models with larger drops in the lab do worse live than their score with ideal users says?"""

import math
from dataclasses import dataclass

import numpy as np

from evalstats.analysis.gaps.material import Material
from evalstats.analysis.gaps.mix_results import Part
from evalstats.errors import CannotAnswerError
from evalstats.stats.checks import FloatArray, IntArray
from evalstats.stats.estimate import normal_quantile, t_quantile, two_sided_normal_p, two_sided_t_p
from evalstats.stats.gap.drop_line import Drops, no_spread_p, spread_beyond_noise
from evalstats.stats.gap.drop_plane import fit_plane, slope_covariance
from evalstats.stats.gap.scores import LabLiveScores
from evalstats.stats.gap.york import fit_line

FEWEST_MODELS = 6
_NO_REST = "the search for the slope did not come to rest"


@dataclass(frozen=True, slots=True, kw_only=True)
class DropSlope:
    """The slope of the gap on the drop, or why there is none."""

    part: Part | None = None
    expected: float | None = None
    explained: float | None = None
    p_value: float | None = None
    df: float | None = None
    reason: str | None = None
    method: str = ""
    warnings: tuple[str, ...] = ()


def drop_slope(material: Material, keep: IntArray, drops: Drops, share: float) -> DropSlope:
    """Fit the gap on the drop over models, with errors on both sides.

    On one scale the gap is live less the ideal lab score, and the line is York's with the covariance that the ideal score
    makes by entering gap and drop. On different scales live scores are fitted on ideal score and drop together.

    Parameters
    ----------
    keep
        Places in `material.models` of the models that `drops` are of.
    share
        Of non-ideal users.
    """
    n = keep.size
    if n < FEWEST_MODELS:
        return DropSlope(reason=f"{n} models with a drop and a live score; a slope over models needs {FEWEST_MODELS}")
    scores = material.scores.subset(keep)
    noise = scores.live_covariance
    if noise is None:
        return DropSlope(reason="the live scores have no standard errors, so noise and gap cannot be told apart")
    own = (_turned(drops) if material.lab.turned else drops).smooth()
    try:
        if material.same_scale:
            return _on_one_scale(scores.live, noise, own, share, material.options.conf_level)
        return _on_two_scales(scores.live, noise, own, share, material.options.conf_level)
    except (CannotAnswerError, np.linalg.LinAlgError) as error:
        return DropSlope(reason=str(error))


def _turned(drops: Drops) -> Drops:
    return Drops(ideal=-drops.ideal, drop=-drops.drop, covariance=drops.covariance, df=drops.df)


def _on_one_scale(live: FloatArray, noise: FloatArray, drops: Drops, share: float, level: float) -> DropSlope:
    gap = LabLiveScores(
        lab=drops.drop,
        live=live - drops.ideal,
        lab_covariance=drops.of_drop,
        live_covariance=noise + drops.of_ideal,
        cross=-drops.drop_with_ideal,
    )
    fit = fit_line(gap, conf_level=level)
    flat = spread_beyond_noise(gap.live, noise + drops.of_ideal)
    df = float(gap.n_models - 2) if fit.tau2 > 0.0 else None
    error = math.sqrt(slope_covariance(gap, fit.slope, fit.tau2))
    part, reason = _part(drops, fit.slope, error, df, level)
    return DropSlope(
        part=part,
        reason=reason,
        expected=share,
        explained=_explained(fit.tau2, flat),
        p_value=None if part is None else _p_value(fit.slope / error, df),
        df=df,
        method="; York's line of live less ideal score on the drop",
        warnings=() if fit.converged else (_NO_REST,),
    )


def _on_two_scales(live: FloatArray, noise: FloatArray, drops: Drops, share: float, level: float) -> DropSlope:
    columns = np.stack([drops.ideal, drops.drop])
    fit = fit_plane(live, columns, noise, drops.covariance)
    n = drops.ideal.size
    alone = fit_line(
        LabLiveScores(lab=drops.ideal, live=live, lab_covariance=drops.of_ideal, live_covariance=noise),
        conf_level=level,
    )
    slope, error = float(fit.slopes[1]), math.sqrt(float(fit.covariance[1, 1]))
    df = float(n - 3) if fit.tau2 > 0.0 else None
    part, reason = _part(drops, slope, error, df, level)
    return DropSlope(
        part=part,
        reason=reason,
        expected=share * float(fit.slopes[0]),
        explained=_explained(fit.tau2, alone.tau2),
        p_value=None if part is None else _p_value(slope / error, df),
        df=df,
        method="; plane of live scores on ideal score and drop, errors on all sides",
        warnings=() if fit.converged else (_NO_REST,),
    )


def _part(drops: Drops, slope: float, error: float, df: float | None, level: float) -> tuple[Part | None, str | None]:
    """Give the slope its interval; where models hardly differ in their drop there is none."""
    if no_spread_p(drops) > 1.0 - level:
        return None, "models do not differ in their drop by more than noise, so no slope is determined"
    half = (normal_quantile(level) if df is None else t_quantile(level, df)) * error
    return Part(estimate=slope, std_error=error, conf_low=slope - half, conf_high=slope + half), None


def _p_value(z: float, df: float | None) -> float:
    """Return the p-value that belongs to the interval."""
    return two_sided_normal_p(z) if df is None else two_sided_t_p(z, df)


def _explained(tau2: float, alone: float) -> float | None:
    return None if alone <= 0.0 else float(np.clip(1.0 - tau2 / alone, 0.0, 1.0))
