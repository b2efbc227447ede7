"""Ranks that the data leave open: a bar for every model, beside its score where it is known."""

from collections.abc import Mapping
from typing import Any

from matplotlib.figure import Figure

from evalstats.document.numbers import interval, number
from evalstats.plots.canvas import Canvas, Extent, Sheet, drawn, limits_of, point_style
from evalstats.plots.frame import Columns, columns_of
from evalstats.plots.rows import Line, Marks, Panel, Words, row_figure


def ranks(
    rows: object,
    *,
    title: str = "",
    columns: Mapping[str, str] | None = None,
    digits: int = 1,
    bounds: tuple[float, float] | None = None,
    note: str = "",
    ax: Any = None,
    size: Extent = None,
) -> Figure:
    """Draw each model's score with its interval, and beside it the set of ranks that the data leave open.

    The wide bar covers every place that is open, all models together; the thin bar inside is the set of that model looked at
    alone; a dot is a rank given by somebody else.

    Parameters
    ----------
    rows
        `model` (or `label`), `rank_low`, `rank_high` (places counted from 1); if known `estimate`, `conf_low`, `conf_high`;
        and any of: `rank_low_marginal`, `rank_high_marginal`, `rank` (the dot), `words` (the score in words), `best` (bold
        and in colour), `group` (a heading above the models of one).
    title
        What the score measures.
    columns
        Further columns of `rows` to write at the end of each row, with their headings.
    digits
        Decimals of the scores where there are no `words`.
    bounds
        The lowest and highest score that can occur.
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
    >>> figure = ranks({"model": ["a", "b"], "rank_low": [1, 1], "rank_high": [1, 2]})
    >>> [text.get_text() for text in figure.axes[0].texts][:4]
    ['a', 'b', '1', '1–2']
    """
    table = columns_of(rows, "ranks")
    table.need("rank_low")
    table.need("rank_high")
    lines, at = _lines(table)
    sets = table.intervals("rank_low", "rank_high")
    parts: list[Words | Marks] = []
    if table.has("estimate"):
        values = [*table.numbers("estimate"), *table.numbers("conf_low"), *table.numbers("conf_high")]
        limits = limits_of(values)
        if bounds is not None:
            room = 0.02 * (bounds[1] - bounds[0])
            limits = max(limits[0], bounds[0] - room), min(limits[1], bounds[1] + room)
        parts.append(Marks(draw=lambda panel: _draw_scores(panel, table, at), title=title, limits=limits, share=1.25))
        words = table.texts("words") if table.has("words") else _scores(table, digits)
        parts.append(_column(words, at, len(lines)))
    if any(sets):
        last = max(int(ends[1]) for ends in sets if ends)
        parts.append(
            Marks(
                draw=lambda panel: _draw_sets(panel, table, at),
                title="Ranks left open" if parts or not title else title,
                limits=(0.4, last + 0.6),
                ticks=rank_ticks(last),
            )
        )
    shown = ["no rank" if ends is None else _set_words(ends) for ends in sets]
    parts.append(_column(shown, at, len(lines)))
    for name, heading in (columns or {}).items():
        table.need(name)
        parts.append(_column(table.texts(name), at, len(lines), heading))

    def figure(sheet: Sheet) -> Canvas:
        return row_figure(sheet, lines, parts, note)

    return drawn(ax, size, figure)


def _lines(table: Columns) -> tuple[list[Line], list[int]]:
    groups, best, low = table.texts("group"), table.flags("best"), table.numbers("rank_low")
    lines: list[Line] = []
    at: list[int] = []
    for place, name in enumerate(table.names()):
        if groups[place] and (place == 0 or groups[place] != groups[place - 1]):
            lines.append(Line(name=groups[place], heading=True))
        at.append(len(lines))
        lines.append(Line(name=name, strong=best[place], faint=low[place] is None and not table.has("estimate")))
    return lines, at


def _column(texts: list[str], at: list[int], n: int, heading: str = "") -> Words:
    found = [""] * n
    for text, place in zip(texts, at, strict=True):
        found[place] = text
    return Words(texts=found, heading=heading)


def _scores(table: Columns, digits: int) -> list[str]:
    rows = zip(table.numbers("estimate"), table.intervals(), strict=True)
    return [
        "no score" if value is None else f"{number(value, digits)} {interval(*ends, 1, digits)}" if ends else
        f"{number(value, digits)}, no interval"
        for value, ends in rows
    ]  # fmt: skip


def _set_words(ends: tuple[float, float]) -> str:
    low, high = map(round, ends)
    return f"{low}" if low == high else f"{low}–{high}"


def rank_ticks(last: int) -> list[int]:
    """Return places to write at an axis of ranks: the first, the last, and round ones between that keep their distance.

    Examples
    --------
    >>> rank_ticks(5), rank_ticks(29)
    ([1, 2, 3, 4, 5], [1, 10, 20, 29])
    """
    step = next((step for step in (1, 5, 10, 20, 50, 100) if last / step <= (8 if step == 1 else 5)), 500)
    between = [place for place in range(step, last, step) if place - 1 >= step / 2 and last - place >= step / 2]
    return sorted({1, *between, last})


def _draw_scores(panel: Panel, table: Columns, at: list[int]) -> None:
    colors, font = panel.canvas.colors, panel.font
    rows = zip(at, table.numbers("estimate"), table.intervals(), table.flags("best"), strict=True)
    for place, value, ends, best in rows:
        color = colors.good if best else colors.neutral
        if ends is not None:
            panel.interval(place, *ends, color=color, thick=0.18 if best else 0.14)
        if value is not None:
            look = point_style(colors, color, font, filled=ends is not None, marker="o" if ends else "D")
            # Small, so that the caps of a short interval still show on both sides.
            panel.point(place, value, **{**look, "markersize": 0.4 * font, "markeredgewidth": 0.08 * font})


def _draw_sets(panel: Panel, table: Columns, at: list[int]) -> None:
    colors, font = panel.canvas.colors, panel.font
    together = table.intervals("rank_low", "rank_high")
    alone = table.intervals("rank_low_marginal", "rank_high_marginal")
    ranks_, best = table.numbers("rank"), table.flags("best")
    for row, place in enumerate(at):
        color = colors.good if best[row] else colors.neutral
        for ends, half, opaque in ((together[row], 0.5, 0.32), (alone[row], 0.17, 1.0)):
            if ends is not None:
                panel.bar(place, ends[0] - 0.5, ends[1] + 0.5, half, color=color, alpha=opaque, zorder=1 + opaque)
        rank = ranks_[row]
        if rank is not None:
            look = point_style(colors, colors.surface, font)
            panel.point(place, rank, **{**look, "markerfacecolor": colors.ink, "markersize": 0.5 * font, "zorder": 4})
