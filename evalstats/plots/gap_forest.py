"""Every model's gap with its interval, the margin and the verdict in words."""

from typing import Literal

from matplotlib.figure import Figure

from evalstats.analysis.gap.result import GapRow, LabLiveGap
from evalstats.analysis.gaps.words import difference_unit, gap_ends, gap_text, level, size_text
from evalstats.document.escape import one_line
from evalstats.document.numbers import plural
from evalstats.plots.arena_rows import limits_of
from evalstats.plots.gap_marks import (
    Mark,
    by_difference,
    by_gap,
    draw_band,
    draw_mark,
    draw_zero,
    in_table,
    is_settled,
    tone_of,
    verdict_words,
    why_no_line,
)
from evalstats.plots.row_panel import PanelRow, RowPanel, row_figure
from evalstats.plots.style import Medium

GapKind = Literal["gap", "difference"]
_READ = 20


def gap_forest_reason(result: LabLiveGap, *, kind: GapKind = "gap") -> str | None:
    """Say why there is nothing to draw; None where there is."""
    if shown_gaps(result, kind):
        return None
    if kind == "difference":
        return "lab and live are not on one scale, or have no errors: no plain difference can be told"
    return f"no model's gap can be told: {why_no_line(result)}"


def shown_gaps(result: LabLiveGap, kind: GapKind = "gap") -> list[GapRow]:
    """Return the rows that `gap_forest` draws, the largest gap on top; of more than 60 those that stand out most."""
    return by_gap(result.rows) if kind == "gap" else by_difference(result.rows)


def gap_forest(result: LabLiveGap, *, kind: GapKind = "gap", medium: Medium = "screen") -> Figure:
    """Draw every model's gap with its interval, the band of the margin behind it and the verdict beside it.

    A flagged model is filled and coloured (blue: live is better than the lab leads to expect; vermillion: worse), and has the
    interval at the level of false-coverage control. An aligned one is filled and grey, an open one hollow. Where a margin is
    declared, the thick part of a line is the narrower interval that decides `aligned`. At most 60 models are drawn.

    Parameters
    ----------
    result
        What `gap` returned.
    kind
        "gap": live less what the lab leads to expect; "difference": live less lab, where both are on one scale.
    medium
        "screen", "phone" or "print".

    Raises
    ------
    ValueError
        If there is nothing to draw, with `gap_forest_reason`.
    """
    reason = gap_forest_reason(result, kind=kind)
    if reason is not None:
        raise ValueError(reason)
    rows = shown_gaps(result, kind)
    marks = [_mark(row, result, kind) for row in rows]
    margin = None if result.margin is None else abs(result.margin * result.live.scale)
    lines = [_line(row, result, kind) for row in rows]
    rest = _n_known(result, kind) - len(rows)
    if rest > 0:
        lines.append(PanelRow(name=f"The other {plural(rest, 'model')}: in the table", heading=True))

    def draw(panel: RowPanel) -> None:
        places = range(len(rows))
        if margin is not None:
            draw_band(panel, places, -margin, margin)
        draw_zero(panel, places)
        for place, (row, mark) in enumerate(zip(rows, marks, strict=True)):
            draw_mark(panel, place, mark)
            if margin is not None and kind == "gap":
                _draw_narrow(panel, place, row, mark, result.live.scale)

    ends = [end for mark in marks for end in (mark.value, mark.low, mark.high) if end is not None]
    return row_figure(
        lines,
        draw,
        title=_title(result, kind, medium),
        columns=("", "Verdict"),
        limits=limits_of([*ends, 0.0, *(() if margin is None else (-margin, margin))]),
        medium=medium,
    )


def _n_known(result: LabLiveGap, kind: GapKind) -> int:
    return sum((row.gap if kind == "gap" else row.difference) is not None for row in result.rows)


def _title(result: LabLiveGap, kind: GapKind, medium: Medium) -> str:
    unit = difference_unit(result.live.unit)
    what = "live less expected" if kind == "gap" else "live less lab"
    band = "" if result.margin is None or medium == "phone" else f", band ±{size_text(result.margin, result)}"
    beside = f" ({unit})" if unit and not band else ""
    return f"← worse · {what}{beside}{band} · better →"


def _numbers(row: GapRow, kind: GapKind) -> tuple[float, float | None, float | None]:
    """Return a row's gap with the interval that decides."""
    if kind == "difference":
        return row.difference or 0.0, row.difference_low, row.difference_high
    known = row.adjusted_low is not None and row.adjusted_high is not None
    return row.gap or 0.0, *((row.adjusted_low, row.adjusted_high) if known else (row.conf_low, row.conf_high))


def _mark(row: GapRow, result: LabLiveGap, kind: GapKind) -> Mark:
    value, low, high = _numbers(row, kind)
    scale = result.live.scale
    verdict = row.verdict if kind == "gap" else row.difference_verdict
    return Mark(
        value=value * scale,
        low=None if low is None else low * scale,
        high=None if high is None else high * scale,
        tone=tone_of(verdict, value),
        settled=is_settled(verdict),
    )


def _draw_narrow(panel: RowPanel, place: int, row: GapRow, mark: Mark, scale: float) -> None:
    """Draw the narrower interval that decides `aligned` as a thick line: else an aligned row may reach beyond the margin."""
    if row.equivalence_low is None or row.equivalence_high is None:
        return
    ends = [row.equivalence_low * scale, row.equivalence_high * scale]
    panel.axes.plot(
        ends,
        [panel.level(place)] * 2,
        color=mark.color,
        linewidth=panel.size.font * 0.34,
        solid_capstyle="butt",
        zorder=2.2,
    )


def _words(row: GapRow, result: LabLiveGap, kind: GapKind) -> tuple[str, str]:
    """Return a row's numbers and its verdict."""
    value, low, high = _numbers(row, kind)
    shown = gap_text(value, result, unit=False)
    numbers = f"{shown}, no interval" if low is None or high is None else f"{shown} {gap_ends(low, high, result)}"
    if kind == "difference":
        return numbers, verdict_words(row.difference_verdict, value)
    return numbers, verdict_words(row.verdict, value, material=bool(row.material))


def _line(row: GapRow, result: LabLiveGap, kind: GapKind) -> PanelRow:
    numbers, verdict = _words(row, result, kind)
    flagged = (row.verdict if kind == "gap" else row.difference_verdict) == "gap"
    return PanelRow(name=row.name, words=(numbers, verdict), line=f"{numbers}, {verdict}", strong=flagged)


def gap_forest_alt(result: LabLiveGap, *, kind: GapKind = "gap") -> str:
    """Describe `gap_forest` in words: who is flagged, then every model's gap and verdict."""
    rows = shown_gaps(result, kind)
    if not rows:
        return one_line(gap_forest_reason(result, kind=kind) or "")
    verdicts = [row.verdict if kind == "gap" else row.difference_verdict for row in rows]
    unit = {"pp": "percentage points"}.get(difference_unit(result.live.unit), difference_unit(result.live.unit))
    what = "live less what the lab leads to expect" if kind == "gap" else "live less lab"
    margin = "" if result.margin is None else f" The margin is {size_text(result.margin, result)}."
    told = [f"{row.name} {numbers}, {said}" for row in rows[:_READ] for numbers, said in [_words(row, result, kind)]]
    more = in_table(_n_known(result, kind) - len(rows[:_READ]))
    flagged = verdicts.count("gap")
    return one_line(
        f"Interval plot of {plural(len(rows), 'model')}: {what}{f', in {unit}' if unit else ''}, with {level(result)} intervals, "
        f"wider where a model is flagged. {flagged} {'is' if flagged == 1 else 'are'} flagged.{margin} {'; '.join(told)}.{more}"
    )
