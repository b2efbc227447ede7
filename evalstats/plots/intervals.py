"""Intervals of any rows, one below the other: differences, scores, ratings, gaps, ratios, and a model's effects."""

from collections.abc import Sequence
from typing import Any

from matplotlib.figure import Figure

from evalstats.document.numbers import interval, number
from evalstats.grammar import plural
from evalstats.plots.canvas import (
    Extent,
    limits_of,
    log_ticks,
    point_style,
    tick_words,
)
from evalstats.plots.frame import Columns, columns_of
from evalstats.plots.rows import Line, MarkPanel, Marks, grouped_lines, row_figure, word_column
from evalstats.plots.text import digits_within


def forest(
    rows: object,
    *,
    title: str = "",
    reference: float | None = 0.0,
    margin: float | None = None,
    sides: tuple[str, str] = ("", ""),
    side_tones: tuple[str, str] = ("bad", "good"),
    digits: int | None = None,
    bounds: tuple[float, float] | None = None,
    log: bool = False,
    reverse: bool = False,
    note: str = "",
    ax: Any = None,
    size: Extent = None,
) -> Figure:
    """Draw one interval a row, with its name and its numbers.

    A filled point is settled: its interval leaves out the reference. A hollow one is open, a diamond has no interval. A row
    without an estimate says why in its words; it is never left out.

    Parameters
    ----------
    rows
        `model` (or `label`) and `estimate`; if known `conf_low`, `conf_high`; and any of: `words` (what stands at the end of
        the row; else the numbers), `detail` (beside the name), `group` (a heading above the rows of one), `tone` ("good",
        "bad", "neutral", "caution"), `settled`, `strong` (the answer among the rows), `dashed` (an extrapolation).
    title
        What the axis measures.
    reference
        Where nothing happens; None for none.
    margin
        Half the width of a band around the reference.
    sides, side_tones
        What lies left and right of the reference, in words and tones.
    digits
        Decimals of the numbers where there are no `words`; by itself so many that three digits of the axis differ.
    bounds
        The lowest and highest value that can occur.
    log
        Whether equal distances are equal ratios.
    reverse
        Whether less is on the right.

    Examples
    --------
    >>> figure = forest({"model": ["a", "b"], "estimate": [1, 4], "conf_low": [-2, 2], "conf_high": [4, 6]}, size=6)
    >>> [text.get_text() for text in figure.axes[0].texts]
    ['a', 'b', '+1.00 [−2.00, +4.00]', '+4.00 [+2.00, +6.00]']
    """
    table = columns_of(rows, "forest")
    table.need("estimate")
    estimates, ends, names = table.numbers("estimate"), table.intervals(), table.names()
    values = [*estimates, *(end for both in ends if both for end in both)]
    values += [] if reference is None else [reference]
    if reference is not None and margin is not None:
        values += [reference - margin, reference + margin]
    limits = _limits(values, bounds, log=log)
    digits = digits_within(2.0 if log else limits[1] - limits[0]) if digits is None else digits
    shown_numbers = _numbers(estimates, ends, digits, sign=reference == 0)
    lines, at = grouped_lines(table.texts("group"), _lines(table, names, shown_numbers))
    settled = table.flags("settled")
    if not table.has("settled"):
        settled = [both is not None and (reference is None or not both[0] <= reference <= both[1]) for both in ends]
    tones = table.texts("tone") if table.has("tone") else ["neutral"] * table.n
    words = table.texts("words") if table.has("words") else shown_numbers
    marks = Marks(
        draw=lambda panel: _draw_rows(panel, table, at, settled, tones),
        title=title,
        limits=(limits[1], limits[0]) if reverse else limits,
        ticks=log_ticks(*limits, 5) if log else None,
        write=lambda value: f"× {tick_words(value)}" if log else tick_words(value, sign=reference == 0),
        zero=reference,
        sides=sides,
        side_tones=side_tones,
        band=None if margin is None or reference is None else (reference - margin, reference + margin),
        log=log,
    )
    shown = [tone if done and tone != "neutral" else "plain" for tone, done in zip(tones, settled, strict=True)]
    return row_figure(lines, [marks, word_column(words, at, len(lines), tones=shown)], note=note, ax=ax, size=size)


def _lines(table: Columns, names: Sequence[str], numbers: Sequence[str]) -> list[Line]:
    groups, details, words = table.texts("group"), table.texts("detail"), table.texts("words")
    strong, estimates, ends = table.flags("strong"), table.numbers("estimate"), table.intervals()
    lines: list[Line] = []
    for place, name in enumerate(names):
        shown = words[place]
        # Words may give the interval already, in their own unit.
        has_ends = "[" in shown or " to " in shown or "±" in shown
        said = [shown] if has_ends or (shown and ends[place] is None) else [numbers[place], shown]
        # A name that stands below several headings is told apart by them.
        said = [groups[place], *said] if names.count(name) > 1 else said
        lines.append(
            Line(
                name=name,
                detail=details[place],
                strong=strong[place],
                faint=estimates[place] is None,
                says=", ".join(part for part in said if part),
                value=estimates[place],
            )
        )
    return lines


def _numbers(
    estimates: Sequence[float | None], ends: Sequence[tuple[float, float] | None], digits: int, *, sign: bool
) -> list[str]:
    shown: list[str] = []
    for value, both in zip(estimates, ends, strict=True):
        said = number(value, digits, sign=sign)
        if value is None:
            shown.append("no estimate")
        else:
            shown.append(f"{said}, no interval" if both is None else f"{said} {interval(*both, 1, digits, sign=sign)}")
    return shown


def _limits(values: Sequence[float | None], bounds: tuple[float, float] | None, *, log: bool) -> tuple[float, float]:
    known = [value for value in values if value is not None and (value > 0 or not log)]
    if log:
        low, high = min(known), max(known)
        room = (high / low) ** 0.08 if high > low else 1.5
        return low / room, high * room
    low, high = limits_of(known, 0.06)
    if bounds is not None:
        room = 0.06 * (high - low)
        low, high = max(low, bounds[0] - room), min(high, bounds[1] + room)
    return low, high


def _draw_rows(
    panel: MarkPanel, table: Columns, at: Sequence[int], settled: Sequence[bool], tones: Sequence[str]
) -> None:
    colors, font = panel.canvas.colors, panel.font
    strong, dashed = table.flags("strong"), table.flags("dashed")
    rows = zip(at, table.numbers("estimate"), table.intervals(), strict=True)
    for row, (place, value, ends) in enumerate(rows):
        color = panel.canvas.tone(tones[row])
        if ends is not None:
            thick = 0.22 if strong[row] else 0.15
            dash: dict[str, Any] = {"linestyle": (0, (3, 2))} if dashed[row] else {}
            panel.interval(place, *ends, color=color, thick=thick, **dash)
        if value is not None:
            marker = "o" if ends is not None else "D"
            look = point_style(colors, color, font, filled=settled[row], marker=marker)
            panel.point(place, value, **{**look, "markersize": (0.7 if strong[row] else 0.5) * font})


_MOST_LEVELS = 26  # of a random effect that are drawn


def caterpillar(rows: object, *, unit: str = "", ax: Any = None, size: Extent = None) -> Figure:
    """Draw the levels of each random effect with their intervals, from the highest to the lowest, as a forest.

    Of more than 26 levels the 13 highest and the 13 lowest are drawn. Filled marks have an interval that excludes 0.

    Parameters
    ----------
    rows
        `level` (or `label`), `estimate`, `conf_low`, `conf_high`; and `group`, whose values have a part each.
    unit
        The unit of the estimates.

    Examples
    --------
    >>> rows = {"level": ["law", "maths"], "estimate": [-1, 1], "conf_low": [-2, 0.5], "conf_high": [0.5, 2]}
    >>> [text.get_text() for text in caterpillar(rows).axes[0].texts]
    ['maths', 'law', '+1.00 [+0.50, +2.00]', '−1.00 [−2.00, +0.50]']
    """
    table = columns_of(rows, "caterpillar")
    for name in ("estimate", "conf_low", "conf_high"):
        table.need(name)
    table.need("level", "label")
    found: dict[str, list[Any]] = {name: [] for name in ("label", "group", "estimate", "conf_low", "conf_high")}
    for name, own in table.by("group"):
        estimates, ends = own.numbers("estimate"), own.intervals()
        known = [row for row in range(own.n) if estimates[row] is not None and ends[row] is not None]
        known.sort(key=lambda row: -(estimates[row] or 0.0))
        half, many = _MOST_LEVELS // 2, len(known) > _MOST_LEVELS
        drawn_rows = [*known[:half], *known[-half:]] if many else known
        which = (
            f"the {half} highest and lowest of {plural(len(known), 'level')}" if many else plural(len(known), "level")
        )
        title = f"{name}: {which}" if name else which if many else ""
        found["label"] += [own.names("level", "label")[row] for row in drawn_rows]
        found["group"] += [title] * len(drawn_rows)
        for column in ("estimate", "conf_low", "conf_high"):
            found[column] += [own.numbers(column)[row] for row in drawn_rows]
    return forest(found, title=unit, ax=ax, size=size)
