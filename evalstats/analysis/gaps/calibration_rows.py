"""One model's gap as a row of the result, with its verdict and the reason in words."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from evalstats.analysis.gaps.material import Material
from evalstats.analysis.gaps.results import GapVerdict
from evalstats.document.numbers import number, p_value
from evalstats.stats.gap.deleted_gaps import FULL_MODELS, DeletedGaps
from evalstats.stats.gap.level_gaps import Differences, LevelGaps
from evalstats.stats.gap.shrunken_gaps import ShrunkenGaps
from evalstats.stats.gap.york import LineFit


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelGap:
    """What the calibrated gap and the plain difference say of one model; fields as those of `GapRow`."""

    expected: float | None = None
    gap: float | None = None
    std_error: float | None = None
    conf_low: float | None = None
    conf_high: float | None = None
    p_value: float | None = None
    p_outlier: float | None = None
    p_adjusted: float | None = None
    adjusted_low: float | None = None
    adjusted_high: float | None = None
    equivalence_low: float | None = None
    equivalence_high: float | None = None
    shrunken: float | None = None
    shrunken_low: float | None = None
    shrunken_high: float | None = None
    detectable: float | None = None
    leverage: float | None = None
    extrapolated: bool = False
    difference: float | None = None
    difference_std_error: float | None = None
    difference_low: float | None = None
    difference_high: float | None = None
    difference_p: float | None = None
    difference_adjusted: float | None = None
    difference_verdict: GapVerdict | None = None
    verdict: GapVerdict = "invalid"
    material: bool | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """What a verdict rests on, of one quantity."""

    low: float
    high: float
    equivalence_low: float
    equivalence_high: float
    flagged: bool
    p_adjusted: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The parts that rows are made from; None where the data give none, `reason` saying why there are no gaps."""

    line: LineFit | None = None
    gaps: DeletedGaps | None = None
    shrunken: ShrunkenGaps | None = None
    levels: LevelGaps | None = None
    reason: str = ""


def model_gaps(made: Material, found: Found) -> tuple[ModelGap, ...]:
    """Return a row for each model, in the order of the models."""
    return tuple(_row(made, found, j) for j in range(made.n_models))


def verdict_of(judged: Judged, margin: float | None, conf_level: float) -> tuple[GapVerdict, str]:
    """Return aligned, gap or inconclusive, in that order of precedence, by intervals alone, and why.

    Examples
    --------
    >>> judged = Judged(low=0.1, high=0.9, equivalence_low=0.2, equivalence_high=0.8, flagged=True, p_adjusted=0.01)
    >>> verdict_of(judged, 1.0, 0.95)[0], verdict_of(judged, None, 0.95)[0]
    ('aligned', 'gap')
    """
    if margin is not None and -margin < judged.equivalence_low and judged.equivalence_high < margin:
        return "aligned", f"the {_percent(2 * conf_level - 1)} interval lies within the margin"
    if judged.flagged:
        return "gap", f"adjusted p {p_value(judged.p_adjusted)} and the adjusted interval leaves out 0"
    return "inconclusive", ""


def beyond_margin(low: float, high: float, margin: float | None) -> bool | None:
    """Return whether an interval lies wholly beyond the margin on one side; None without a margin."""
    return None if margin is None else low > margin or high < -margin


def _row(made: Material, found: Found, j: int) -> ModelGap:
    difference = _difference(made, found.levels, j)
    if found.line is None or found.gaps is None:
        return ModelGap(**difference, verdict="invalid", reason=found.reason)
    gaps = found.gaps
    # A reader sees the live side's own direction; a gap above 0 is better than expected on both kinds of side.
    expected = float(gaps.expected[j]) * (-1.0 if made.live.turned else 1.0)
    verdict, reason = _gap_verdict(gaps, j, made.options.margin)
    low, high = float(gaps.adjusted_low[j]), float(gaps.adjusted_high[j])
    drawn = found.shrunken
    return ModelGap(
        expected=expected,
        gap=float(gaps.gap[j]),
        std_error=float(gaps.std_error[j]),
        conf_low=float(gaps.conf_low[j]),
        conf_high=float(gaps.conf_high[j]),
        p_value=float(gaps.p_value[j]),
        p_outlier=float(gaps.p_outlier[j]),
        p_adjusted=float(gaps.p_adjusted[j]),
        adjusted_low=low,
        adjusted_high=high,
        equivalence_low=float(gaps.equivalence_low[j]),
        equivalence_high=float(gaps.equivalence_high[j]),
        shrunken=None if drawn is None else float(drawn.estimate[j]),
        shrunken_low=None if drawn is None else _known(drawn.low[j]),
        shrunken_high=None if drawn is None else _known(drawn.high[j]),
        detectable=float(gaps.detectable[j]),
        leverage=float(found.line.leverage[j]),
        extrapolated=bool(gaps.extrapolated[j]),
        **difference,
        verdict=verdict,
        material=beyond_margin(low, high, made.options.margin) if verdict == "gap" else None,
        reason=reason,
    )


def _gap_verdict(gaps: DeletedGaps, j: int, margin: float | None) -> tuple[GapVerdict, str]:
    if not gaps.determined[j]:
        return "inconclusive", "the other models differ in the lab by no more than noise, so that they give no line"
    if not gaps.sloped[j]:
        return "inconclusive", "among the other models the slope of live on lab is not clearly different from 0"
    judged = Judged(
        low=float(gaps.adjusted_low[j]),
        high=float(gaps.adjusted_high[j]),
        equivalence_low=float(gaps.equivalence_low[j]),
        equivalence_high=float(gaps.equivalence_high[j]),
        flagged=bool(gaps.flagged[j]),
        p_adjusted=float(gaps.p_adjusted[j]),
    )
    verdict, reason = verdict_of(judged, margin, gaps.conf_level)
    return verdict, reason or _why_not(gaps, j, judged)


def _why_not(gaps: DeletedGaps, j: int, judged: Judged) -> str:
    """Say why a model is neither aligned nor flagged."""
    n, limit = gaps.gap.size, 1.0 - gaps.conf_level
    apart = judged.low > 0.0 or judged.high < 0.0
    if judged.p_adjusted <= limit and n < FULL_MODELS:
        bound = "no margin is declared" if gaps.margin is None else "its interval reaches inside the margin"
        return f"with {n} models a gap is called only beyond a declared margin, and {bound}"
    if judged.p_adjusted <= limit:
        return "it stands out among the models, but the adjusted interval of its gap includes 0"
    if apart and float(gaps.p_outlier[j]) > limit:
        return (
            f"its gap is more than noise (p {p_value(float(gaps.p_value[j]))}), and no larger than gaps of the other models "
            f"make likely (adjusted p {p_value(judged.p_adjusted)})"
        )
    if apart:
        return f"its gap is more than noise, and does not stand out over all {n} models (adjusted p {p_value(judged.p_adjusted)})"
    return f"the {_percent(gaps.conf_level)} interval of its gap includes 0"


def _difference(made: Material, levels: LevelGaps | None, j: int) -> dict[str, Any]:
    if levels is None:
        return {}
    each = levels.differences
    verdict, _ = verdict_of(_judged(each, j), made.options.margin, levels.conf_level)
    return {
        "difference": float(each.estimate[j]),
        "difference_std_error": float(each.std_error[j]),
        "difference_low": float(each.adjusted_low[j]),
        "difference_high": float(each.adjusted_high[j]),
        "difference_p": float(each.p_value[j]),
        "difference_adjusted": float(each.p_adjusted[j]),
        "difference_verdict": verdict,
    }


def _judged(each: Differences, j: int) -> Judged:
    return Judged(
        low=float(each.adjusted_low[j]),
        high=float(each.adjusted_high[j]),
        equivalence_low=float(each.equivalence_low[j]),
        equivalence_high=float(each.equivalence_high[j]),
        flagged=bool(each.flagged[j]),
        p_adjusted=float(each.p_adjusted[j]),
    )


def _known(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _percent(level: float) -> str:
    return f"{number(100 * level, 0 if abs(100 * level - round(100 * level)) < 1e-9 else 1)}%"


def names_of(models: Sequence[str], most: int = 4) -> str:
    """Name a few models in a sentence."""
    more = f" and {len(models) - most} more" if len(models) > most else ""
    return ", ".join(models[:most]) + more
