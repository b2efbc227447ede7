"""How often users would prefer each model to each other one, with the pairs marked in which that is certain."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from evalstats.analysis.arena.result import ArenaRanking, PairContrast, RatingRow, turned
from evalstats.analysis.arenas.wording_tables import percent
from evalstats.analysis.arenas.words import apart, compared, level, parts
from evalstats.document.escape import one_line
from evalstats.document.numbers import plural
from evalstats.plots.lettering import fitted_names, text_width
from evalstats.plots.style import LIGHT, SIZES, Medium, Size, house_style, new_figure, tone_color, untyped

MOST: dict[Medium, int] = {"screen": 20, "phone": 8, "print": 16}
_NAMES, _LONGEST = 0.3, 11.0  # what names may take: share of the width beside rows, letters' heights above columns
_WIDEST = 4.4  # a cell, in letters' heights
_TALL = 2.0
_LEAST, _DEEPEST = 0.14, 0.5  # letters keep a contrast of 4.5 to 1 on the deepest colour
_BOLD = 1.08
_READ = 12
Wins = dict[tuple[str, str], PairContrast]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Grid:
    """Where cells stand, in pixels from the top left of the figure."""

    size: Size
    left: float
    top: float
    cell: float
    row: float
    gaps: tuple[int, ...]

    def x(self, place: int) -> float:
        """Return the left edge of a column; parts stand off a little."""
        return self.left + place * self.cell + self._off(place)

    def y(self, place: int) -> float:
        """Return the upper edge of a row."""
        return self.top + place * self.row + self._off(place)

    def _off(self, place: int) -> float:
        return 0.5 * self.size.font * sum(gap <= place for gap in self.gaps)


def matrix_models(result: ArenaRanking, medium: Medium = "screen") -> list[RatingRow]:
    """Return the models that `win_matrix` draws: the first ones, among those of which some pair is known."""
    named = {name for pair in result.pairs if pair.win_probability is not None for name in (pair.first, pair.second)}
    return [row for row in result.rows if row.name in named][: MOST[medium]]


def win_matrix(result: ArenaRanking, *, medium: Medium = "screen") -> Figure:
    """Draw the probability, in percent, that a user who decides prefers the model of the row to that of the column.

    Filled cells are pairs that the votes separate, all pairs together: blue where the row is ahead, vermillion where it is
    behind, the deeper the farther from one half. Hollow cells are pairs that are not separated. A dash is a pair of two
    parts, between which nothing can be said. At most 20 models are drawn (8 on a phone, 16 on paper).

    Parameters
    ----------
    result
        What `arena` returned.
    medium
        "screen", "phone" or "print".

    Raises
    ------
    ValueError
        If no pair has a probability.
    """
    rows = matrix_models(result, medium)
    if not rows:
        message = "no pair of models has a probability to draw"
        raise ValueError(message)
    size = SIZES[medium]
    names = [row.name for row in rows]
    heads = fitted_names(names, _LONGEST * size.font, 0.88 * size.font)
    grid = _grid(result, rows, heads, size)
    height = grid.y(len(rows) - 1) + grid.row + 0.5 * size.font
    wins = _wins(result)
    with house_style():
        figure = new_figure(size, height)
        axes = untyped(figure).add_axes((0, 0, 1, 1), label="matrix")
        axes.set_xlim(0, size.width)
        axes.set_ylim(height, 0)
        axes.set_axis_off()
        _write_names(axes, grid, names, heads)
        for down, one in enumerate(names):
            for across, other in enumerate(names):
                _draw_cell(axes, grid, down, across, wins.get((one, other)), same=one == other)
    return figure


def _grid(result: ArenaRanking, rows: Sequence[RatingRow], heads: Sequence[str], size: Size) -> _Grid:
    font = size.font
    widest = max(text_width(row.name, font) for row in rows)
    left = min(widest, _NAMES * size.width) + 0.9 * font
    number = {id(row): k for k, part in enumerate(parts(result)) for row in part}
    gaps = tuple(place for place in range(1, len(rows)) if number[id(rows[place])] != number[id(rows[place - 1])])
    room = size.width - left - 4 - 0.5 * font * len(gaps)
    # Upright names have no room beside them: a few wide letters must not reach the edge.
    top = max(text_width(head, 0.88 * font) for head in heads) * 1.12 + 1.2 * font
    cell = min(room / len(rows), _WIDEST * font)
    return _Grid(
        size=size,
        left=left,
        top=top,
        cell=cell,
        row=_TALL * font * (0.88 if size is SIZES["print"] else 1.0),
        gaps=gaps,
    )


def _wins(result: ArenaRanking) -> Wins:
    """Return each pair both ways round."""
    known = [pair for pair in result.pairs if pair.win_probability is not None]
    both = [*known, *map(turned, known)]
    return {(pair.first, pair.second): pair for pair in both}


def _write_names(axes: Any, grid: _Grid, names: Sequence[str], heads: Sequence[str]) -> None:
    font = grid.size.font
    style: dict[str, Any] = {"color": LIGHT.ink, "parse_math": False}
    shown = fitted_names(names, (grid.left - 0.9 * font) / 1.1, font)
    for place, name in enumerate(shown):
        axes.text(0, grid.y(place) + grid.row / 2, name, fontsize=font, va="center_baseline", **style)
    style["color"] = LIGHT.muted
    for place, head in enumerate(heads):
        middle = grid.x(place) + grid.cell / 2
        axes.text(
            middle, grid.top - 0.5 * font, head, fontsize=0.88 * font, rotation=90, ha="center", va="bottom", **style
        )


def _draw_cell(axes: Any, grid: _Grid, down: int, across: int, pair: PairContrast | None, *, same: bool) -> None:
    font = grid.size.font
    x, y = grid.x(across) + 1, grid.y(down) + 1
    wide, tall = grid.cell - 2, grid.row - 2
    if same:
        axes.add_patch(Rectangle((x, y), wide, tall, facecolor=LIGHT.band, linewidth=0, zorder=0.5))
        return
    words, color, weight = "–", LIGHT.muted, "normal"
    if pair is not None:
        share = pair.win_probability or 0.0
        words = percent(share).rstrip("%")
        if pair.verdict in ("better", "worse"):
            color, weight = LIGHT.ink, "bold"
            deep = _LEAST + (_DEEPEST - _LEAST) * min(2 * abs(share - 0.5) / 0.8, 1.0)
            fill = tone_color("good" if pair.verdict == "better" else "bad")
            axes.add_patch(Rectangle((x, y), wide, tall, facecolor=fill, alpha=deep, linewidth=0, zorder=0.5))
        else:
            frame: dict[str, Any] = {"facecolor": "none", "edgecolor": LIGHT.line, "linewidth": 0.8}
            axes.add_patch(Rectangle((x, y), wide, tall, zorder=0.4, **frame))
    letters = min(0.92 * font, (wide - 2) / (0.56 * _BOLD * max(len(words), 2)))
    style: dict[str, Any] = {"fontsize": letters, "color": color, "weight": weight, "parse_math": False}
    axes.text(x + wide / 2, y + tall / 2, words, ha="center", va="center_baseline", zorder=3, **style)


def win_matrix_alt(result: ArenaRanking) -> str:
    """Describe `win_matrix` in words: how many pairs are separated, and how often the first models win against the next."""
    pairs = compared(result)
    shown, rows = len(apart(pairs)), matrix_models(result)
    told: list[str] = []
    wins = _wins(result)
    for one, other in pairwise(rows[: _READ + 1]):
        pair = wins.get((one.name, other.name))
        if pair is not None:
            known = {"better": ", separated", "worse": ", separated", "not separated": ", not separated"}
            win = percent(pair.win_probability)
            told.append(f"{one.name} over {other.name} {win}{known.get(pair.verdict, '')}")
    sizes = f"{len(rows)} of {plural(len(result.rows), 'model')}"
    verdicts = "No pair could be tested"
    if pairs:
        verdicts = (
            f"{shown} of {plural(len(pairs), 'pair')} {'is' if shown == 1 else 'are'} separated at {level(result)}"
        )
    each = f" Each against the next: {'; '.join(told)}." if told else ""
    return one_line(
        f"Matrix of {sizes}: how often those who decide prefer the model of the row to that of the column. {verdicts}.{each}"
    )
