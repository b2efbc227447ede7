"""The leaderboard as a figure: every model's score with its interval, and beside it the ranks that the data leave open."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, MaxNLocator
from matplotlib.transforms import Transform, blended_transform_factory

from evalstats.analysis.boards.results import Leaderboard
from evalstats.document.numbers import MINUS
from evalstats.plots.lettering import fitted, fitted_names, text_width
from evalstats.plots.rank_rows import RankRow, rank_rows
from evalstats.plots.style import LIGHT, SIZES, Medium, Size, house_style, new_figure, untyped

_BOLD = 1.08  # bold letters are wider by this
_WIDE = 1.25  # a few capitals, m or w can be wider by this
# Pixels of a row by how many there are: with few rows the usual room, with many less, and on paper one page holds all.
_PAPER_HEIGHT = 585.0
_PHONE_ROW = 60.0
# Shares of the width: what names and tiers may take at most, and what is kept for the two panels.
_NAMES, _TIERS, _PANELS = 0.31, 0.13, 0.24


@dataclass(frozen=True, slots=True, kw_only=True)
class _Columns:
    """Where the columns stand, in pixels across the figure."""

    score: tuple[float, float]
    words: float
    rank: tuple[float, float]
    rank_words: float
    tier: float


@dataclass(frozen=True, slots=True, kw_only=True)
class _Widths:
    """How wide the words beside the panels come out, in pixels: scores, rank sets, tiers."""

    words: float
    rank: float
    tier: float


@dataclass(frozen=True, slots=True, kw_only=True)
class _Canvas:
    """Two panels with the same rows, counted downwards from 0, and the size of letters and rows."""

    scores: Any
    ranks: Any
    size: Size
    columns: _Columns
    across: Transform

    def text(self, x: float, row: float, text: str, *, align: str = "left", small: bool = False, **style: Any) -> None:
        """Write at a pixel across the figure and a row down, never as mathematics."""
        font = self.size.font * (0.88 if small else 1)
        style = {"color": LIGHT.ink, "va": "center_baseline", "fontsize": font, **style}
        self.scores.text(x / self.size.width, row, text, transform=self.across, ha=align, parse_math=False, **style)


def ranks(result: Leaderboard, *, medium: Medium = "screen") -> Figure:
    """Draw a leaderboard: a row for each model with its score, its own interval, and its rank set.

    The bar of a rank set covers every place that the data leave open, all sets together; the thin bar inside is the set of
    that model looked at alone. Models that may be the best are bold and coloured, unless all may be. At most 60 models are
    drawn, in the order of the lines.

    Parameters
    ----------
    result
        What `leaderboard` returned.
    medium
        "screen", "phone" or "print": see `evalstats.plots.intervals.intervals`.

    Examples
    --------
    >>> from evalstats import datasets
    >>> from evalstats.analysis.boards.leaderboard import leaderboard
    >>> figure = ranks(leaderboard(datasets.tenacious_held_out()))
    >>> [axes.get_label() for axes in figure.axes]
    ['scores', 'ranks']
    """
    rows = rank_rows(result)
    size = _size(len(rows), medium)
    widths = _widths(rows, size)
    names = fitted_names([row.name for row in rows if not row.heading], _name_room(widths, size), size.font)
    with house_style():
        figure, canvas = _canvas(rows, names, widths, size)
        _draw_ground(canvas, rows)
        _draw_score_axis(canvas, rows, result)
        _draw_rank_axis(canvas, rows, last=max((row.rank_high or 1 for row in result.rows), default=1))
        _write_headings(canvas, rows, result)
        written = iter(names)
        for place, row in enumerate(rows):
            _draw_row(canvas, place, row)
            _write_row(canvas, place, row, row.name if row.heading else next(written))
    return figure


# --- where things stand ---


def _size(n_rows: int, medium: Medium) -> Size:
    size = SIZES[medium]
    if medium == "phone":
        return replace(size, row=_PHONE_ROW)
    if medium == "screen":
        return replace(size, row=size.row if n_rows <= 15 else 26.0 if n_rows <= 30 else 22.0)
    row = min(size.row, _PAPER_HEIGHT / n_rows)
    return replace(size, row=row, font=min(size.font, row * 0.82))


def _canvas(rows: Sequence[RankRow], names: Sequence[str], widths: _Widths, size: Size) -> tuple[Figure, _Canvas]:
    top, bottom = size.font * 3.4, size.font * 1.9
    heights = size.row * len(rows)
    height = top + bottom + heights
    columns = _phone_columns(widths, size) if size.stacked else _columns(rows, names, widths, size)
    figure = new_figure(size, height)

    def panel(name: str, ends: tuple[float, float]) -> Any:
        box = (ends[0] / size.width, bottom / height, (ends[1] - ends[0]) / size.width, heights / height)
        axes = untyped(figure).add_axes(box, label=name)
        axes.set_ylim(len(rows) - 0.5, -0.5)
        axes.patch.set_visible(False)
        axes.set_yticks([])
        axes.spines[["left", "right", "top", "bottom"]].set_visible(False)
        axes.tick_params(axis="x", length=0, pad=4, labelsize=size.font * 0.86, labelcolor=LIGHT.muted)
        axes.tick_params(axis="x", labeltop=True, labelbottom=len(rows) > 10)
        axes.set_axisbelow(True)
        return axes

    scores = panel("scores", columns.score)
    across = blended_transform_factory(figure.transFigure, scores.transData)
    return figure, _Canvas(scores=scores, ranks=panel("ranks", columns.rank), size=size, columns=columns, across=across)


def _widths(rows: Sequence[RankRow], size: Size) -> _Widths:
    font = size.font
    small = 0.88 if size.stacked else 1.0
    tier = max((text_width(row.tier, font) * _WIDE for row in rows), default=0.0)
    return _Widths(
        words=max((text_width(row.words, font * small) for row in rows), default=0.0),
        rank=max((text_width(row.rank_words, font) for row in rows), default=0.0),
        tier=max(min(tier, _TIERS * size.width), text_width("Tier", font * 0.88) * _BOLD),
    )


def _name_room(widths: _Widths, size: Size) -> float:
    """Return the room for a name that may be bold."""
    if size.stacked:
        return (size.width - 4 - widths.tier - size.font) / _BOLD
    left = size.width * (1 - _PANELS) - (widths.words + widths.rank + widths.tier + 5 * size.font)
    return max(min(_NAMES * size.width, left), 6 * size.font) / _BOLD


def _columns(rows: Sequence[RankRow], names: Sequence[str], widths: _Widths, size: Size) -> _Columns:
    gap = size.font
    name = max((text_width(each, size.font) for each in names), default=0.0) * _BOLD
    free = size.width - (name + widths.words + widths.rank + widths.tier + 5 * gap)
    left = name + gap
    share = 0.56 if any(row.ranks for row in rows) else 0.97
    middle = left + share * free
    right = middle + gap * 0.8 + widths.words
    end = right + gap * 1.6 + (1 - share) * free
    return _Columns(
        score=(left, middle),
        words=right,
        rank=(right + gap * 1.6, end),
        rank_words=end + gap * 0.8 + widths.rank,
        tier=size.width - widths.tier,
    )


def _phone_columns(widths: _Widths, size: Size) -> _Columns:
    """Halve the width, unless scores have so many digits that they need more."""
    middle = min(max(size.width * 0.5, widths.words), size.width * 0.66)
    return _Columns(
        score=(4.0, middle - 8),
        words=0.0,
        rank=(middle + 8, size.width - 4),
        rank_words=middle + 8,
        tier=size.width - 4,
    )


def _level(canvas: _Canvas, place: int) -> float:
    """Return where the marks of a row stand: in its middle, or below its words."""
    return place + (0.3 if canvas.size.stacked else 0.0)


# --- drawing ---


def _draw_ground(canvas: _Canvas, rows: Sequence[RankRow]) -> None:
    """Rule the rows off from each other, so that a name is found from a bar far to its right."""
    rule: dict[str, Any] = {"color": LIGHT.line, "linewidth": 0.7, "clip_on": False, "zorder": 0.4}
    places = [place - 0.5 for place in range(len(rows) + 1)]
    canvas.scores.hlines(places, 0, 1, transform=canvas.across, **rule)


def _draw_score_axis(canvas: _Canvas, rows: Sequence[RankRow], result: Leaderboard) -> None:
    values = [value for row in rows for value in (row.estimate, row.low, row.high) if value is not None]
    low, high = (min(values), max(values)) if values else (0.0, 1.0)
    room = 0.05 * (high - low) or 1.0
    if result.metric_kind in ("binary", "proportion"):
        low, high = max(low - room, -0.02 * result.scale), min(high + room, 1.02 * result.scale)
    else:
        low, high = low - room, high + room
    axes = canvas.scores
    axes.set_xlim(low, high)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=4 if canvas.size.stacked else 5, steps=[1, 2, 2.5, 5, 10]))
    axes.xaxis.set_major_formatter(_tick)
    _draw_grid(canvas, axes, rows)


def _tick(value: float, _place: int | None = None) -> str:
    return f"{value:g}".replace("-", MINUS)


def _draw_rank_axis(canvas: _Canvas, rows: Sequence[RankRow], *, last: int) -> None:
    canvas.ranks.set_xlim(0.5, last + 0.5)
    if not any(row.ranks for row in rows):
        canvas.ranks.set_xticks([])
        return
    canvas.ranks.xaxis.set_major_locator(FixedLocator(rank_ticks(last)))
    _draw_grid(canvas, canvas.ranks, rows)


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


def _draw_grid(canvas: _Canvas, axes: Any, rows: Sequence[RankRow]) -> None:
    """Draw the grid behind the marks of every model, never across words."""
    low, high = sorted(axes.get_xlim())
    half = 0.16 if canvas.size.stacked else 0.5
    ticks = [tick for tick in axes.xaxis.get_major_locator()() if low <= tick <= high]
    levels = [_level(canvas, place) for place, row in enumerate(rows) if not row.heading]
    xs = [tick for tick in ticks for _ in levels]
    starts = [level - half for _ in ticks for level in levels]
    ends = [level + half for _ in ticks for level in levels]
    axes.vlines(xs, starts, ends, color=LIGHT.line, linewidth=0.8, zorder=0.5)


def _draw_row(canvas: _Canvas, place: int, row: RankRow) -> None:
    size, level = canvas.size, _level(canvas, place)
    color = LIGHT.good if row.best else LIGHT.neutral
    thick = size.font * (0.18 if row.best else 0.14)
    if row.low is not None and row.high is not None:
        line: dict[str, Any] = {"color": color, "solid_capstyle": "butt", "zorder": 2}
        canvas.scores.plot([row.low, row.high], [level] * 2, linewidth=thick, **line)
        cap = size.font * 0.32 / size.row
        ends = {"color": color, "linewidth": thick * 0.75, "zorder": 2}
        canvas.scores.vlines([row.low, row.high], level - cap, level + cap, **ends)
    if row.estimate is not None:
        canvas.scores.plot(
            [row.estimate],
            [level],
            marker="o" if row.low is not None else "D",
            # Small, so that the caps of a short interval still show on both sides.
            markersize=size.font * 0.38,
            markerfacecolor=color,
            markeredgewidth=0,
            linestyle="none",
            clip_on=False,
            zorder=3,
        )
    for places, half, faint in ((row.ranks, 0.46, 0.32), (row.alone, 0.17, 1.0)):
        if places is not None:
            tall = half * min(size.font * 1.1, size.row * 0.8) / size.row
            canvas.ranks.fill_betweenx(
                [level - tall, level + tall],
                places[0] - 0.5,
                places[1] + 0.5,
                color=color,
                alpha=faint,
                linewidth=0,
                zorder=2 + faint,
            )


# --- words ---


def _write_headings(canvas: _Canvas, rows: Sequence[RankRow], result: Leaderboard) -> None:
    size, columns = canvas.size, canvas.columns
    row = -0.5 - size.font * 2.4 / size.row
    unit = f" ({result.score_unit})" if result.score_unit else ""
    score = f"{result.metric}{unit}, {100 * result.conf_level:g}% interval"
    if size.stacked:
        score = f"{result.metric}{unit}"
    ranked = any(each.ranks for each in rows)
    font = size.font * 0.88
    room = (columns.rank[0] - size.font if size.stacked else columns.words) - columns.score[0]
    style: dict[str, Any] = {"small": True, "color": LIGHT.muted, "weight": "bold"}
    canvas.text(columns.score[0], row, fitted(score, room / _BOLD, font), **style)
    if ranked:
        room = columns.tier - columns.rank[0] - size.font * (3 if size.stacked else 1)
        canvas.text(columns.rank[0], row, fitted("Ranks left open", room / _BOLD, font), **style)
        canvas.text(columns.tier, row, "Tier", align="right" if size.stacked else "left", **style)


def _write_row(canvas: _Canvas, place: int, row: RankRow, name: str) -> None:
    size, columns = canvas.size, canvas.columns
    weight = "bold" if row.best or row.heading else "normal"
    if row.heading:
        room = (size.width - 8) / _BOLD
        canvas.text(0, place, fitted(name, room, size.font), weight=weight)
        return
    color = LIGHT.ink if row.ranks else LIGHT.muted
    tier = fitted(row.tier, _TIERS * size.width / _WIDE, size.font)
    if size.stacked:
        canvas.text(0, place - 0.3, name, weight=weight)
        canvas.text(columns.tier, place - 0.3, tier, align="right", color=LIGHT.muted)
        canvas.text(0, place - 0.02, row.words, small=True, color=LIGHT.ink)
        word = "" if row.ranks is None else "rank " if row.ranks[0] == row.ranks[1] else "ranks "
        canvas.text(columns.rank[0], place - 0.02, f"{word}{row.rank_words}", small=True, color=color, weight=weight)
        return
    canvas.text(0, place, name, weight=weight)
    canvas.text(columns.words, place, row.words, align="right")
    canvas.text(columns.rank_words, place, row.rank_words, align="right", weight=weight, color=color)
    canvas.text(columns.tier, place, tier, color=LIGHT.muted)
