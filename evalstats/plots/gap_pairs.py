"""Which pairs of models lab and live put in the same order, which in the opposite one, and which neither tells apart."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from matplotlib.figure import Figure

from evalstats.analysis.gap.result import LabLiveGap
from evalstats.analysis.gaps.words import some
from evalstats.document.escape import one_line
from evalstats.document.numbers import plural
from evalstats.plots.lettering import fitted_names, text_width
from evalstats.plots.segments import Segment, draw_segments
from evalstats.plots.style import LIGHT, SIZES, Medium, Size, house_style, new_figure, untyped

MOST: dict[Medium, int] = {"screen": 60, "phone": 30, "print": 60}
PairKind = Literal["same", "contradicted", "lab only", "live only", "neither"]
# In the order of the key, which says how many there are of each.
KINDS: dict[PairKind, str] = {
    "same": "both sides separate, same order",
    "contradicted": "both sides separate, opposite order",
    "lab only": "only the lab separates",
    "live only": "only live separates",
    "neither": "neither separates",
}
_TRIANGLE: list[Segment] = [((-0.3, 0.0), (0.25, -0.3)), ((0.25, -0.3), (0.25, 0.3)), ((0.25, 0.3), (-0.3, 0.0))]
# Each kind as strokes about the middle of its cell, and how thick they are, in shares of the cell.
_STROKES: dict[PairKind, tuple[list[Segment], float]] = {
    "same": ([((-0.36, 0.0), (0.36, 0.0))], 0.72),
    "contradicted": ([((-0.36, -0.36), (0.36, 0.36)), ((-0.36, 0.36), (0.36, -0.36))], 0.24),
    "lab only": (_TRIANGLE, 0.07),
    "live only": ([((-x0, y0), (-x1, y1)) for (x0, y0), (x1, y1) in _TRIANGLE], 0.07),
    "neither": ([((-0.09, 0.0), (0.09, 0.0))], 0.18),
}
_SMALL, _BOLD = 0.88, 1.08
_WIDEST, _LEAST_ROW = 2.0, 1.16  # a cell at most, a row at least, in letters' heights
_NAMES = 0.3  # share of the width that names may take
_PAPER_HEIGHT = 560.0
_READ = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class _Grid:
    """Where cells stand, in pixels from the top left: a row a model, its cells against those above it, then its name."""

    size: Size
    top: float
    wide: float
    tall: float
    font: float
    names: float

    def cell(self, down: int, across: int) -> tuple[float, float]:
        """Return the middle of a cell."""
        return (across + 0.5) * self.wide, self.top + (down + 0.5) * self.tall


def gap_pairs_reason(result: LabLiveGap) -> str | None:
    """Say why there is nothing to draw; None where there is."""
    pairs = result.agreement.pairs
    if pairs is not None and pairs.matrix and len(pair_models(result)) > 1:
        return None
    if pairs is not None and pairs.reason:
        return f"no pair can be compared on both sides: {pairs.reason.rstrip('.')}"
    bare = [name for name, side in (("lab", result.lab), ("live", result.live)) if side.errors == "none"]
    told = f"the {' and the '.join(bare)} scores have no errors" if bare else "no pair of models was tested"
    return f"no pair can be compared on both sides: {told}"


def pair_models(result: LabLiveGap, medium: Medium = "screen") -> list[str]:
    """Return the models that are drawn, the best live first: at most 60, 30 on a phone."""
    pairs = result.agreement.pairs
    named = {name for one, other, _ in (() if pairs is None else pairs.matrix) for name in (one, other)}
    return [row.name for row in result.rows if row.name in named][: MOST[medium]]


def gap_pairs(result: LabLiveGap, *, medium: Medium = "screen") -> Figure:
    """Draw a mark for every pair of models: whether lab and live separate them, and in which order.

    Models stand in the order of their live scores, each with its name at the end of its row: left of the name its pairs with
    the better ones, below it those with the worse ones. A filled square: both sides separate the two, in the same order. A
    vermillion cross: both do, in opposite orders. A triangle to the left: the lab alone does; to the right: live alone. A dot:
    neither. The key counts all pairs, drawn or not.

    Parameters
    ----------
    result
        What `gap` returned.
    medium
        "screen", "phone" or "print".

    Raises
    ------
    ValueError
        If there is nothing to draw, with `gap_pairs_reason`.
    """
    reason = gap_pairs_reason(result)
    if reason is not None:
        raise ValueError(reason)
    names = pair_models(result, medium)
    size = SIZES[medium]
    grid = _grid(names, size, medium)
    rest = len(result.rows) - len(names)
    height = grid.top + grid.tall * len(names) + (1.9 if rest else 0.5) * size.font
    with house_style():
        figure = new_figure(size, height)
        axes = untyped(figure).add_axes((0, 0, 1, 1), label="pairs")
        axes.set_xlim(0, size.width)
        axes.set_ylim(height, 0)
        axes.set_axis_off()
        _draw_rules(axes, grid, len(names))
        _draw_marks(axes, grid, placed_pairs(result, names))
        _write_names(axes, grid, names)
        _write_key(axes, result, size)
        if rest:
            style: dict[str, Any] = {"fontsize": _SMALL * size.font, "color": LIGHT.muted, "va": "center_baseline"}
            axes.text(0, height - 0.9 * size.font, f"The other {plural(rest, 'model')}: in the table", **style)
    return figure


def placed_pairs(result: LabLiveGap, names: Sequence[str]) -> dict[PairKind, list[tuple[int, int]]]:
    """Return the cells of each kind: the row of the model that is worse live, and the column of the better one."""
    order = {name: place for place, name in enumerate(names)}
    found: dict[PairKind, list[tuple[int, int]]] = {kind: [] for kind in KINDS}
    pairs = result.agreement.pairs
    for one, other, kind in () if pairs is None else pairs.matrix:
        if one in order and other in order:
            places = sorted((order[one], order[other]))
            found[_kind(kind)].append((places[1], places[0]))
    return found


def _kind(said: str) -> PairKind:
    return next(kind for kind in KINDS if kind == said)


def _grid(names: Sequence[str], size: Size, medium: Medium) -> _Grid:
    n = len(names)
    font = 0.92 * size.font
    widest = min(max(text_width(name, font) for name in names) * _BOLD, _NAMES * size.width)
    wide = min((size.width - widest - 0.8 * font) / n, _WIDEST * size.font)
    tall = max(min(wide, 1.5 * font), _LEAST_ROW * font)
    if medium == "print":
        tall = min(tall, _PAPER_HEIGHT / n)
    font = min(font, tall / 1.1)
    return _Grid(
        size=size,
        top=(len(KINDS) * 1.4 + 1.2) * size.font,
        wide=wide,
        tall=tall,
        font=font,
        names=size.width - n * wide - 0.6 * font,
    )


def _draw_rules(axes: Any, grid: _Grid, n: int) -> None:
    """Draw thin lines along every fifth row and column, so that an eye finds its way from a mark to both names."""
    lines: list[Segment] = []
    for place in range(0, n, 5):
        x, y = grid.cell(place, place)
        lines += [((0.0, y), (x, y)), ((x, y), (x, grid.top + n * grid.tall))]
    draw_segments(axes, lines, color=LIGHT.line, linewidth=0.7, zorder=0.5)


def _draw_marks(axes: Any, grid: _Grid, found: dict[PairKind, list[tuple[int, int]]]) -> None:
    side = min(grid.wide, grid.tall)
    for kind, cells in found.items():
        draw_pairs(axes, kind, [grid.cell(down, across) for down, across in cells], side)


def draw_pairs(axes: Any, kind: PairKind, at: Sequence[tuple[float, float]], side: float) -> None:
    """Draw the pairs of a kind as one path, each in a cell of `side` pixels: each kind has its own shape.

    A marker each would be a hundred letters of SVG for every one of up to 1,770 pairs.
    """
    strokes, width = _STROKES[kind]
    lines: list[Segment] = [
        ((x + side * x0, y + side * y0), (x + side * x1, y + side * y1))
        for x, y in at
        for (x0, y0), (x1, y1) in strokes
    ]
    color = {"same": LIGHT.good, "contradicted": LIGHT.bad}.get(kind, LIGHT.neutral)
    draw_segments(
        axes,
        lines,
        color=color,
        linewidth=width * side,
        zorder=3 if kind == "contradicted" else 2,
        solid_capstyle="projecting" if kind in ("lab only", "live only") else "butt",
    )


def _write_names(axes: Any, grid: _Grid, names: Sequence[str]) -> None:
    shown = fitted_names(names, grid.names / _BOLD, grid.font)
    for place, name in enumerate(shown):
        x, y = grid.cell(place, place)
        style: dict[str, Any] = {"fontsize": grid.font, "color": LIGHT.ink, "va": "center_baseline"}
        axes.text(x - 0.3 * grid.wide, y, name, parse_math=False, **style)


def counts_of(result: LabLiveGap) -> dict[PairKind, int]:
    """Return how many pairs of each kind there are among those of the matrix."""
    pairs = result.agreement.pairs
    kinds = [] if pairs is None else [kind for _, _, kind in pairs.matrix]
    return {kind: kinds.count(kind) for kind in KINDS}


def _write_key(axes: Any, result: LabLiveGap, size: Size) -> None:
    """Write what each mark means and how many there are, above the marks."""
    font, counts = size.font, counts_of(result)
    widest = max(text_width(f"{count:,}", _SMALL * font) for count in counts.values()) * _BOLD
    for down, (kind, words) in enumerate(KINDS.items()):
        y = (0.9 + 1.4 * down) * font
        draw_pairs(axes, kind, [(0.6 * font, y)], font)
        loud = kind == "contradicted" and counts[kind] > 0
        style: dict[str, Any] = {"fontsize": _SMALL * font, "va": "center_baseline", "parse_math": False}
        style |= {"color": LIGHT.ink if counts[kind] else LIGHT.muted, "weight": "bold" if loud else "normal"}
        axes.text(1.5 * font + widest, y, f"{counts[kind]:,}", ha="right", **style)
        axes.text(2.0 * font + widest, y, words, **style)


def gap_pairs_alt(result: LabLiveGap) -> str:
    """Describe `gap_pairs` in words: how many pairs of each kind, and the contradictions by name."""
    reason = gap_pairs_reason(result)
    if reason is not None:
        return one_line(reason)
    counts = counts_of(result)
    kinds = "; ".join(f"{count:,} {KINDS[kind]}" for kind, count in counts.items())
    crossed = [
        (one, other)
        for one, other, kind in (result.agreement.pairs.matrix if result.agreement.pairs else ())
        if kind == "contradicted"
    ]
    told = some([f"{one} and {other}" for one, other in crossed], _READ)
    return one_line(
        f"Matrix of {plural(sum(counts.values()), 'pair')} of {plural(len(result.rows), 'model')}, the best live first: {kinds}."
        f"{f' Contradicted: {told}.' if crossed else ''}"
    )
