"""The ranks that the data leave open in the lab and live, with a line for each model."""

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.figure import Figure

from evalstats.analysis.gap.result import LabLiveGap
from evalstats.analysis.gaps.words import level
from evalstats.document.escape import one_line
from evalstats.document.numbers import plural
from evalstats.plots.gap_climbs import Climb, climbs, last_place, set_words
from evalstats.plots.gap_marks import DOWN, UP, in_table, side_words, why_no_line
from evalstats.plots.labels import EM
from evalstats.plots.lettering import fitted, fitted_names, text_width
from evalstats.plots.segments import Segment, draw_segments
from evalstats.plots.style import LIGHT, SIZES, Medium, Size, house_style, new_figure, tone_color, untyped

_SMALL, _BOLD = 0.88, 1.1
_STEP = 1.55  # of two places, in letters' heights
_PAPER_HEIGHT = 560.0
_NAMES = {"screen": 0.25, "phone": 0.38, "print": 0.25}  # share of the width that names of one side may take
_FAN, _WIDEST_STEP = (
    0.3,
    0.9,
)  # what bars of one side may take of the middle, and a step between them in letters' heights
_SIGN = 1.2  # a sign and a space before a name, in letters' heights
_READ = 20


def gap_bump_reason(result: LabLiveGap) -> str | None:
    """Say why there is nothing to draw; None where there is."""
    known = [row for row in result.rows if row.lab_rank_low is not None or row.live_rank_low is not None]
    if len(result.rows) < 2:
        return "ranks need at least two models"
    if known:
        return None
    return f"no rank can be told on either side: {why_no_line(result)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Panel:
    """Where bars stand across, in pixels; heights are places counted downwards from 1."""

    axes: Any
    size: Size
    medium: Medium
    step: float
    left: float
    right: float
    fan: float
    n: int
    font: float

    def across(self, climb: Climb, side: str) -> float:
        """Return where a model's bar stands: side by side in the order of the side, so that no bar hides another."""
        place = climb.lab if side == "lab" else climb.live
        share = (place - 1) / max(self.n - 1, 1)
        return (self.left if side == "lab" else self.right - self.fan) + share * self.fan


def gap_bump(result: LabLiveGap, *, medium: Medium = "screen") -> Figure:
    """Draw the ranks that the data leave open in the lab (left) and live (right) as bars, and a line for each model.

    A bar holds every rank that is open, all models together; its point is the place of the estimate, filled where one rank
    alone is left. Coloured are models of contradictions, pairs of which both sides are sure in opposite orders: blue where
    the model does better live than in the lab, vermillion where worse. At most 60 models are drawn (40 on a phone).

    Parameters
    ----------
    result
        What `gap` returned.
    medium
        "screen", "phone" (named on the right alone) or "print".

    Raises
    ------
    ValueError
        If there is nothing to draw, with `gap_bump_reason`.
    """
    reason = gap_bump_reason(result)
    if reason is not None:
        raise ValueError(reason)
    size, found = SIZES[medium], climbs(result, medium)
    n = last_place(found)
    step = _STEP * size.font if medium != "print" else min(_STEP * size.font, _PAPER_HEIGHT / n)
    font = min(size.font, 0.78 * step / 0.92)
    notes = _notes(result, found, size)
    top, bottom = 3.2 * size.font, (0.4 + 1.35 * len(notes)) * size.font
    height = top + step * n + bottom
    with house_style():
        figure = new_figure(size, height)
        axes = untyped(figure).add_axes((0, bottom / height, 1, step * n / height), label="bump")
        axes.set_xlim(0, size.width)
        axes.set_ylim(n + 0.5, 0.5)
        axes.set_axis_off()
        left, right = _ends(found, size, medium, font)
        fan = min(_FAN * (right - left), _WIDEST_STEP * font * max(n - 1, 1))
        panel = _Panel(axes=axes, size=size, medium=medium, step=step, left=left, right=right, fan=fan, n=n, font=font)
        _draw_ground(panel, result)
        _draw_climbs(panel, found)
        _write_names(panel, found)
        for place, note in enumerate(notes):
            axes.text(
                0,
                n + 0.5 + (1.0 + 1.35 * place) * size.font / step,
                note,
                fontsize=_SMALL * size.font,
                color=LIGHT.muted,
                va="center_baseline",
                parse_math=False,
            )
    return figure


def _room(found: Sequence[Climb], side: str, size: Size, medium: Medium, font: float) -> tuple[float, float]:
    """Return how wide names and sets of one side are, in pixels."""
    sets = max(text_width(set_words(climb, side), font) for climb in found) * _BOLD + 0.5 * font
    if medium == "phone" and side == "lab":
        return 0.0, sets
    widest = (max(text_width(climb.row.name, font) for climb in found) + _SIGN * font) * _BOLD
    return min(widest, _NAMES[medium] * size.width), sets


def _ends(found: Sequence[Climb], size: Size, medium: Medium, font: float) -> tuple[float, float]:
    left, right = (sum(_room(found, side, size, medium, font)) for side in ("lab", "live"))
    return left + 1.2 * font, size.width - right - 1.2 * font


def _notes(result: LabLiveGap, found: Sequence[Climb], size: Size) -> list[str]:
    """Return the lines below: what the colours say, and what is not drawn."""
    said: list[str] = []
    if any(climb.contradicted for climb in found):
        said.append(f"{UP} {DOWN}: better or worse live than in the lab, against models that both sides separate")
    rest = len(result.rows) - len(found)
    if rest:
        said.append(f"The other {plural(rest, 'model')}: in the table")
    most = int(size.width / (_SMALL * size.font * EM * 1.02))
    return [line for text in said for line in textwrap.wrap(text, most)]


def _draw_ground(panel: _Panel, result: LabLiveGap) -> None:
    size, font = panel.size, panel.size.font
    every = max(1, round(panel.n / 12))
    levels = [place for place in range(1, panel.n + 1) if place == 1 or place % every == 0]
    panel.axes.hlines(levels, panel.left, panel.right, color=LIGHT.line, linewidth=0.7, zorder=0.4)
    style: dict[str, Any] = {"color": LIGHT.muted, "weight": "bold", "parse_math": False, "va": "center_baseline"}
    up = 0.5 - 1.9 * font / panel.step
    room = 0.48 * size.width / _BOLD
    for side, name, x, align in (
        (result.lab, "Lab", 0.0, "left"),
        (result.live, "Live", size.width, "right"),
    ):
        words = name if panel.medium == "phone" else f"{name}: {side_words(side)}"
        panel.axes.text(x, up, fitted(words, room, _SMALL * font), ha=align, fontsize=_SMALL * font, **style)
    style["weight"] = "normal"
    down = 0.5 - 0.6 * font / panel.step
    for side, x, align in ((result.lab, 0.0, "left"), (result.live, size.width, "right")):
        known = "ranks left open" if side.errors != "none" else "no errors: order alone"
        panel.axes.text(x, down, known, ha=align, fontsize=_SMALL * font, **style)


def _draw_climbs(panel: _Panel, found: Sequence[Climb]) -> None:
    """Draw lines, bars and points: those of no contradiction as one path each, the others on top of them."""
    plain = [climb for climb in found if not climb.contradicted]
    strong = sorted((climb for climb in found if climb.contradicted), key=lambda each: each.won + each.lost)
    _draw_group(panel, plain, LIGHT.neutral, strong=False)
    for climb in strong:
        _draw_group(panel, [climb], _color(climb), strong=True)


def _color(climb: Climb) -> str:
    """Return the colour of a model of a contradiction; one that wins and loses as many has none of both."""
    return LIGHT.ink if climb.tone == "neutral" else tone_color(climb.tone)


def _draw_group(panel: _Panel, found: Sequence[Climb], color: str, *, strong: bool) -> None:
    font, axes = panel.font, panel.axes
    ways: list[Segment] = []
    bars: list[Segment] = []
    points: dict[tuple[str, bool], list[tuple[float, float]]] = {}
    for climb in found:
        x0, x1 = panel.across(climb, "lab"), panel.across(climb, "live")
        ways.append(((x0, climb.lab), (x1, climb.live)))
        for x, place, ends in ((x0, climb.lab, climb.lab_set), (x1, climb.live, climb.live_set)):
            certain = ends is not None and ends[0] == ends[1]
            points.setdefault(("D" if ends is None else "o", certain), []).append((x, place))
            bars += [] if ends is None else [((x, ends[0] - 0.4), (x, ends[1] + 0.4))]
    wide = min(0.34 * font, max(0.7 * panel.fan / max(panel.n - 1, 1), 0.12 * font))
    line: dict[str, Any] = {"color": color, "linewidth": font * (0.15 if strong else 0.08)}
    draw_segments(axes, ways, alpha=0.95 if strong else 0.35, zorder=2.5 if strong else 1.5, **line)
    draw_segments(axes, bars, color=color, linewidth=wide, alpha=0.75 if strong else 0.4, zorder=2)
    for (marker, certain), at in points.items():
        look = {"markerfacecolor": color if certain else LIGHT.surface, "markeredgecolor": color, "linestyle": "none"}
        size = {"markersize": 0.4 * font, "markeredgewidth": 0.09 * font}
        axes.plot(*zip(*at, strict=True), marker=marker, zorder=4 if strong else 3, **look, **size)


def _write_names(panel: _Panel, found: Sequence[Climb]) -> None:
    """Name every model at both ends with its set of ranks, on a phone at the right one alone."""
    font = panel.font
    for side in ("lab", "live"):
        left = side == "lab"
        names_room, sets_room = _room(found, side, panel.size, panel.medium, font)
        texts = fitted_names([climb.row.name for climb in found], names_room / _BOLD - _SIGN * font, font)
        for climb, text in zip(found, texts, strict=True):
            place = climb.lab if left else climb.live
            color = _color(climb) if climb.contradicted else LIGHT.muted
            style: dict[str, Any] = {"fontsize": font, "color": color, "va": "center_baseline", "parse_math": False}
            style |= {"weight": "bold" if climb.contradicted else "normal", "ha": "right" if left else "left"}
            near = panel.left - 0.8 * font if left else panel.right + 0.8 * font
            panel.axes.text(near, place, set_words(climb, side), **style)
            if names_room:
                sign = f"{UP} " if climb.tone == "good" else f"{DOWN} " if climb.tone == "bad" else ""
                far = near - sets_room if left else near + sets_room
                panel.axes.text(far, place, f"{text} {sign}".strip() if left else f"{sign}{text}", **style)


def gap_bump_alt(result: LabLiveGap) -> str:
    """Describe `gap_bump` in words: the contradictions, then every model's ranks in the lab and live."""
    reason = gap_bump_reason(result)
    if reason is not None:
        return one_line(reason)
    found = climbs(result)
    pairs = result.agreement.pairs
    told = () if pairs is None else pairs.contradictions
    said = [f"{each.better_live} is ahead of {each.better_lab} live and behind it in the lab" for each in told[:_READ]]
    first = f"Both sides are sure of opposite orders: {'; '.join(said)}." if said else "No pair is contradicted."
    lines = [
        f"{climb.row.name} {set_words(climb, 'lab')} in the lab, {set_words(climb, 'live')} live"
        for climb in found[:_READ]
    ]
    more = in_table(len(result.rows) - len(lines))
    return one_line(
        f"Ranks of {plural(len(result.rows), 'model')} that are left open in the lab and live, at {level(result)}. {first} "
        f"{'; '.join(lines)}.{more}"
    )
