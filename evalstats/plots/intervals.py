"""Intervals of any rows, one below the other: differences, scores, ratings, gaps, ratios."""

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.figure import Figure

from evalstats.document.numbers import interval, number
from evalstats.plots.canvas import Canvas, Extent, Sheet, drawn, limits_of, log_ticks, point_style, tick_words
from evalstats.plots.frame import Columns, columns_of
from evalstats.plots.rows import Line, Marks, Panel, Words, row_figure


def forest(
    rows: object,
    *,
    title: str = "",
    reference: float | None = 0.0,
    margin: float | None = None,
    sides: tuple[str, str] = ("", ""),
    side_tones: tuple[str, str] = ("bad", "good"),
    columns: Mapping[str, str] | None = None,
    digits: int = 2,
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
        "bad", "neutral", "caution"), `settled`, `strong` (the answer among the rows), `inner_low`, `inner_high` (a narrower
        interval, thick), `observed` (a cross: what came out), `dashed` (an extrapolation).
    title
        What the axis measures.
    reference
        Where nothing happens; None for none.
    margin
        Half the width of a band around the reference.
    sides, side_tones
        What lies left and right of the reference, in words and tones.
    columns
        Further columns of `rows` to write at the end of each row, with their headings.
    digits
        Decimals of the numbers where there are no `words`.
    bounds
        The lowest and highest value that can occur.
    log
        Whether equal distances are equal ratios.
    reverse
        Whether less is on the right.
    note
        A line below the rows.
    ax, size
        Axes to draw in; else the size of a new figure in inches, as its width or both.

    Raises
    ------
    InputError
        If a column is missing, or there are no rows.

    Examples
    --------
    >>> figure = forest({"model": ["a", "b"], "estimate": [1, 4], "conf_low": [-2, 2], "conf_high": [4, 6]}, size=6)
    >>> [text.get_text() for text in figure.axes[0].texts]
    ['a', 'b', '+1.00 [−2.00, +4.00]', '+4.00 [+2.00, +6.00]']
    """
    table = columns_of(rows, "forest")
    estimates, ends, names = table.need("estimate"), table.intervals(), table.names()
    estimates = table.numbers("estimate")
    lines, at = _lines(table, names)
    settled = _settled(table, ends, reference)
    tones = table.texts("tone") if table.has("tone") else ["neutral"] * table.n
    words = table.texts("words") if table.has("words") else _numbers(estimates, ends, digits, sign=reference == 0)
    values = [*estimates, *(end for both in ends if both for end in both), *table.numbers("observed")]
    values += [] if reference is None else [reference]
    if reference is not None and margin is not None:
        values += [reference - margin, reference + margin]
    limits = _limits(values, bounds, log=log)

    def draw(panel: Panel) -> None:
        _draw_rows(panel, table, at, settled, tones)

    marks = Marks(
        draw=draw,
        title=title,
        limits=(limits[1], limits[0]) if reverse else limits,
        ticks=log_ticks(*limits, 5) if log else None,
        write=_ratio if log else _signed if reference == 0 else tick_words,
        zero=reference,
        sides=sides,
        side_tones=side_tones,
        band=None if margin is None or reference is None else (reference - margin, reference + margin),
        log=log,
    )
    shown = [tone if done and tone != "neutral" else "plain" for tone, done in zip(tones, settled, strict=True)]
    beside = [Words(texts=_placed(words, at, len(lines)), tones=_placed(shown, at, len(lines), "plain"))]
    for name, heading in (columns or {}).items():
        table.need(name)
        beside.append(Words(texts=_placed(table.texts(name), at, len(lines)), heading=heading))

    def figure(sheet: Sheet) -> Canvas:
        return row_figure(sheet, lines, [marks, *beside], note)

    return drawn(ax, size, figure)


def _lines(table: Columns, names: Sequence[str]) -> tuple[list[Line], list[int]]:
    """Return the lines with headings between them, and which line each row is."""
    groups, details = table.texts("group"), table.texts("detail")
    strong, estimates = table.flags("strong"), table.numbers("estimate")
    lines: list[Line] = []
    at: list[int] = []
    group = ""
    for place, name in enumerate(names):
        if groups[place] and groups[place] != group:
            lines.append(Line(name=groups[place], heading=True))
        group = groups[place]
        at.append(len(lines))
        lines.append(Line(name=name, detail=details[place], strong=strong[place], faint=estimates[place] is None))
    return lines, at


def _placed(texts: Sequence[str], at: Sequence[int], n: int, empty: str = "") -> list[str]:
    found = [empty] * n
    for text, place in zip(texts, at, strict=True):
        found[place] = text
    return found


def _settled(table: Columns, ends: Sequence[tuple[float, float] | None], reference: float | None) -> list[bool]:
    if table.has("settled"):
        return table.flags("settled")
    return [both is not None and (reference is None or not both[0] <= reference <= both[1]) for both in ends]


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


def _signed(value: float) -> str:
    return tick_words(value, sign=True)


def _ratio(value: float) -> str:
    return f"× {tick_words(value)}"


def _draw_rows(panel: Panel, table: Columns, at: Sequence[int], settled: Sequence[bool], tones: Sequence[str]) -> None:
    colors, font = panel.canvas.colors, panel.font
    inner, strong, dashed = table.intervals("inner_low", "inner_high"), table.flags("strong"), table.flags("dashed")
    rows = zip(at, table.numbers("estimate"), table.intervals(), table.numbers("observed"), strict=True)
    for row, (place, value, ends, observed) in enumerate(rows):
        color = panel.canvas.tone(tones[row])
        if ends is not None:
            thick = 0.22 if strong[row] else 0.15
            dash: dict[str, Any] = {"linestyle": (0, (3, 2))} if dashed[row] else {}
            panel.interval(place, *ends, color=color, thick=thick, **dash)
        narrower = inner[row]
        if narrower is not None:
            panel.axes.plot(narrower, [panel.levels[place]] * 2, color=color, linewidth=0.36 * font, zorder=2.2)
        if value is not None:
            marker = "o" if ends is not None else "D"
            look = point_style(colors, color, font, filled=settled[row], marker=marker)
            panel.point(place, value, **{**look, "markersize": (0.7 if strong[row] else 0.5) * font})
        if observed is not None:
            look = point_style(colors, colors.ink, font, marker="X")
            panel.point(place, observed, **{**look, "markersize": 0.6 * font, "markeredgewidth": 0, "zorder": 4})
