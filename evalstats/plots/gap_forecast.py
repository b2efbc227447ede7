"""What live users are expected to say of models that only the lab has, and how such forecasts fared."""

from collections.abc import Sequence

from matplotlib.figure import Figure

from evalstats.analysis.gap.result import Forecast, LabLiveGap, LeftOut
from evalstats.analysis.gaps.words import ends, level, ranks, score_text
from evalstats.document.escape import one_line
from evalstats.document.numbers import plural
from evalstats.plots.arena_rows import limits_of
from evalstats.plots.gap_marks import draw_interval, draw_point, in_table, side_words
from evalstats.plots.row_panel import PanelRow, RowPanel, row_figure
from evalstats.plots.style import LIGHT, Medium

MOST: dict[Medium, int] = {"screen": 40, "phone": 16, "print": 30}  # checks
MOST_FORECASTS = 20
_READ = 12
_FORECASTS, _CHECKS = "Only in the lab: what to expect live", "Check: each model predicted by the others"


def gap_forecast_reason(result: LabLiveGap) -> str | None:
    """Say why there is nothing to draw; None where there is."""
    if shown_forecasts(result) or shown_checks(result):
        return None
    layers = ("hierarchy", "forecasts for models that only the lab has")
    told = next((why for layer, why in result.left_out if layer in layers), "no prediction was made")
    return f"no live score can be predicted: {told.rstrip('.')}"


def shown_forecasts(result: LabLiveGap) -> list[Forecast]:
    """Return the forecasts that are drawn, the best to expect on top, at most 20."""
    fitted = result.hierarchy
    known = [] if fitted is None else [each for each in fitted.forecasts if each.expected is not None]
    sign = -1.0 if result.live.higher_is_better else 1.0
    return sorted(known, key=lambda each: (sign * (each.expected or 0.0), each.name))[:MOST_FORECASTS]


def shown_checks(result: LabLiveGap, medium: Medium = "screen") -> list[LeftOut]:
    """Return the models predicted by the others that are drawn, in the order of the result; of many those outside first."""
    fitted = result.hierarchy
    if fitted is None:
        return []
    first = sorted(fitted.left_out, key=lambda each: each.inside)[: MOST[medium]]
    return [each for each in fitted.left_out if any(each is one for one in first)]


def gap_forecast(result: LabLiveGap, *, medium: Medium = "screen") -> Figure:
    """Draw prediction intervals for models that only the lab has, and below them how the same method fared on shared models.

    An open circle is what the lab leads to expect, the line its prediction interval. Among the checks a filled point is what
    live users said where it lies inside, a vermillion cross where it lies outside. A dashed line is an extrapolation: the
    lab score lies outside those of the shared models.

    Parameters
    ----------
    result
        What `gap` returned.
    medium
        "screen", "phone" or "print".

    Raises
    ------
    ValueError
        If there is nothing to draw, with `gap_forecast_reason`.
    """
    reason = gap_forecast_reason(result)
    if reason is not None:
        raise ValueError(reason)
    forecasts, checks = shown_forecasts(result), shown_checks(result, medium)
    rows: list[tuple[PanelRow, Forecast | LeftOut | None]] = []
    if forecasts:
        rows.append((PanelRow(name=_FORECASTS, heading=True), None))
        rows += [(_forecast_line(each, result), each) for each in forecasts]
        rows += _rest(len(result.hierarchy.forecasts) if result.hierarchy else 0, len(forecasts))
    if checks:
        rows.append((PanelRow(name=_CHECKS, heading=True), None))
        rows += [(_check_line(each, result), each) for each in checks]
        rows += _rest(len(result.hierarchy.left_out) if result.hierarchy else 0, len(checks))

    def draw(panel: RowPanel) -> None:
        for place, (_, each) in enumerate(rows):
            if each is not None:
                _draw_prediction(panel, place, each, result.live.scale)

    low, high = limits_of(_values([each for _, each in rows if each is not None], result.live.scale))
    return row_figure(
        [line for line, _ in rows],
        draw,
        title=f"Live: {side_words(result.live)}",
        columns=("Expected", "Rank" if forecasts else "", "Came out" if checks else ""),
        limits=(low, high) if result.live.higher_is_better else (high, low),
        medium=medium,
    )


def _rest(n: int, shown: int) -> list[tuple[PanelRow, None]]:
    rest = n - shown
    return [(PanelRow(name=f"The other {rest}: in the table", heading=True), None)] if rest > 0 else []


def _values(rows: Sequence[Forecast | LeftOut], scale: float) -> list[float]:
    found: list[float] = []
    for each in rows:
        came = each.live if isinstance(each, LeftOut) else None
        found += [scale * value for value in (each.expected, each.pred_low, each.pred_high, came) if value is not None]
    return found


def _expected(each: Forecast | LeftOut, result: LabLiveGap) -> str:
    shown = score_text(each.expected, result, result.live, unit=False)
    if each.pred_low is None or each.pred_high is None:
        return f"{shown}, no interval"
    return f"{shown} {ends(each.pred_low, each.pred_high, result, result.live)}"


def _forecast_line(each: Forecast, result: LabLiveGap) -> PanelRow:
    words, set_ = _expected(each, result), ranks(each.rank_low, each.rank_high)
    told = words + (f", rank {set_}" if each.rank_low else "") + (", extrapolated" if each.extrapolated else "")
    return PanelRow(name=each.name, words=(words, set_, "extrapolated" if each.extrapolated else ""), line=told)


def _check_line(each: LeftOut, result: LabLiveGap) -> PanelRow:
    words, came = _expected(each, result), score_text(each.live, result, result.live, unit=False)
    said = came if each.inside else f"× {came}"
    outside = "" if each.inside else ", outside"
    return PanelRow(
        name=each.name, words=(words, "", said), line=f"{words}, came out {came}{outside}", strong=not each.inside
    )


def _draw_prediction(panel: RowPanel, place: int, each: Forecast | LeftOut, scale: float) -> None:
    row = panel.level(place)
    dashed = isinstance(each, Forecast) and each.extrapolated
    if each.pred_low is not None and each.pred_high is not None:
        draw_interval(panel, row, each.pred_low * scale, each.pred_high * scale, color=LIGHT.neutral, dashed=dashed)
    if isinstance(each, LeftOut):
        tick = {"color": LIGHT.neutral, "linewidth": panel.size.font * 0.1}
        panel.axes.vlines([each.expected * scale], row - 0.16, row + 0.16, **tick)
        color = LIGHT.neutral if each.inside else LIGHT.bad
        marker, letters = ("o", 0.46) if each.inside else ("X", 0.62)
        draw_point(panel, (each.live * scale, row), marker, face=color, edge=color, letters=letters)
    elif each.expected is not None:
        draw_point(panel, (each.expected * scale, row), "o", face=LIGHT.surface, edge=LIGHT.neutral)


def gap_forecast_alt(result: LabLiveGap) -> str:
    """Describe `gap_forecast` in words: each forecast with its interval, then how many checks came out inside."""
    reason = gap_forecast_reason(result)
    if reason is not None:
        return one_line(reason)
    forecasts, checks = shown_forecasts(result), [] if result.hierarchy is None else list(result.hierarchy.left_out)
    parts = [f"Expected live scores ({side_words(result.live)}) with {level(result)} prediction intervals."]
    if forecasts:
        told = [f"{each.name} {_forecast_line(each, result).line}" for each in forecasts[:_READ]]
        parts.append(f"Only in the lab: {'; '.join(told)}.{in_table(len(forecasts) - len(told))}")
    if checks:
        outside = [each for each in checks if not each.inside]
        named = f": {'; '.join(f'{each.name} {_check_line(each, result).line}' for each in outside[:_READ])}"
        parts.append(
            f"Of {plural(len(checks), 'model')} predicted by the others {len(checks) - len(outside)} came out inside, "
            f"{len(outside)} outside{named if outside else ''}."
        )
    return one_line(" ".join(parts))
