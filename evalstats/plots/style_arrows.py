"""What another choice does to every rating: an arrow from the rating without it to the rating with it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.figure import Figure

from evalstats.analysis.arena.result import Alternative, ArenaRanking, RatingRow
from evalstats.analysis.arenas.words import digits_of, points, rating, unit_of
from evalstats.document.escape import one_line
from evalstats.document.numbers import plural
from evalstats.plots.arena_rows import limits_of
from evalstats.plots.row_panel import PanelRow, RowPanel, row_figure
from evalstats.plots.style import LIGHT, Medium

MOST_ARROWS: dict[Medium, int] = {"screen": 24, "phone": 12, "print": 24}
_READ = 12
# Which choice is drawn where none is named: style before all others.
_FIRST = ("without covariates", "with style", "with side")
# Choices that take away what the headline has: their arrows run towards the headline.
_WITHOUT = ("without covariates",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrow:
    """One model's ratings: where the arrow starts, where it ends."""

    row: RatingRow
    start: float
    end: float

    @property
    def move(self) -> float:
        """The change along the arrow."""
        return self.end - self.start


def shown_choice(result: ArenaRanking, key: str | None = None) -> Alternative | None:
    """Return the choice that is drawn: the one named, else style, else the one that moves ratings most; None for none."""
    known = [each for each in result.alternatives if each.reason is None and any(v is not None for v in each.ratings)]
    if key is not None:
        return next((each for each in known if each.key == key), None)
    for wanted in _FIRST:
        found = next((each for each in known if each.key == wanted), None)
        if found is not None:
            return found
    return max(known, key=lambda each: abs(each.largest_move or 0.0), default=None)


def shown_arrows(result: ArenaRanking, choice: Alternative, medium: Medium = "screen") -> list[Arrow]:
    """Return the arrows that are drawn in the order of the rows: all, or of many the longest."""
    back = choice.key in _WITHOUT
    arrows = [
        Arrow(row=row, start=other if back else row.estimate, end=row.estimate if back else other)
        for row, other in zip(result.rows, choice.ratings, strict=True)
        if row.estimate is not None and other is not None
    ]
    longest = sorted(arrows, key=lambda arrow: -abs(arrow.move))[: MOST_ARROWS[medium]]
    return [arrow for arrow in arrows if any(arrow is each for each in longest)]


def style_arrows(result: ArenaRanking, *, key: str | None = None, medium: Medium = "screen") -> Figure:
    """Draw an arrow for each model from its rating under one choice to that under another.

    With style the arrow runs from the rating that lets style count to the one that holds it equal; any other choice runs from
    the ratings of the result. Moves have no intervals here: none of them is called certain. Of more than 24 models (12
    on a phone) those that move most are drawn.

    Parameters
    ----------
    result
        What `arena` returned.
    key
        The choice, as in `result.alternatives`; by itself style, else the choice that moves ratings most.
    medium
        "screen", "phone" or "print".

    Raises
    ------
    ValueError
        If there is no such choice with ratings.
    """
    choice = shown_choice(result, key)
    arrows = [] if choice is None else shown_arrows(result, choice, medium)
    if choice is None or not arrows:
        message = "the result has no other choice with ratings to draw"
        raise ValueError(message)
    limits = limits_of([end for arrow in arrows for end in (arrow.start, arrow.end)])

    def draw(panel: RowPanel) -> None:
        for place, arrow in enumerate(arrows):
            _draw_arrow(panel, place, arrow, limits)

    lines = [_line(arrow, result) for arrow in arrows]
    rest = sum(row.estimate is not None for row in result.rows) - len(arrows)
    if rest > 0:
        lines.append(PanelRow(name=f"The other {plural(rest, 'model')} move less", heading=True))
    return row_figure(
        lines,
        draw,
        title=f"Rating ({unit_of(result)})",
        columns=(*ends_of(choice), "Move"),
        limits=limits,
        medium=medium,
    )


def ends_of(choice: Alternative) -> tuple[str, str]:
    """Return what the two ends of an arrow are.

    Examples
    --------
    >>> ends_of(Alternative(key="with style", title="With style held equal", why="", ratings=()))
    ('Without', 'With style')
    """
    named = {
        "without covariates": ("Without", "Held equal"),
        "with style": ("Without", "With style"),
        "with side": ("Without", "With side"),
    }
    return named.get(choice.key, ("Here", "Other"))


def _line(arrow: Arrow, result: ArenaRanking) -> PanelRow:
    start, end = rating(arrow.start, result), rating(arrow.end, result)
    # Digits of a move that no rating shows would only look precise.
    small = abs(arrow.move) < 0.5 * 10.0 ** -digits_of(result)
    move = "0" if small else points(arrow.move, result, unit=False)
    return PanelRow(name=arrow.row.name, words=(start, end, move), line=f"{start} to {end} ({move})")


def _draw_arrow(panel: RowPanel, place: int, arrow: Arrow, limits: tuple[float, float]) -> None:
    font, level = panel.size.font, panel.level(place)
    color = LIGHT.ink
    ends: Sequence[float] = (arrow.start, arrow.end)
    mark: dict[str, Any] = {"linestyle": "none", "clip_on": False, "markeredgecolor": color, "zorder": 3}
    panel.axes.plot(
        [arrow.start],
        [level],
        marker="o",
        markersize=0.42 * font,
        markerfacecolor=LIGHT.surface,
        markeredgewidth=0.09 * font,
        **mark,
    )
    per_pixel = (limits[1] - limits[0]) / (panel.right - panel.left)
    panel.axes.plot(ends, [level] * 2, color=color, linewidth=0.13 * font, zorder=2)
    # A head on an arrow shorter than itself would point past its own start.
    head = abs(arrow.move) > 0.5 * font * per_pixel
    shape = (">" if arrow.move > 0 else "<") if head else "|"
    panel.axes.plot(
        [arrow.end],
        [level],
        marker=shape,
        markersize=0.46 * font,
        markerfacecolor=color,
        markeredgewidth=0.05 * font if head else 0.12 * font,
        **mark,
    )


def style_arrows_alt(result: ArenaRanking, *, key: str | None = None) -> str:
    """Describe `style_arrows` in words: which choice, and the largest moves."""
    choice = shown_choice(result, key)
    if choice is None:
        return "No other choice has ratings."
    arrows = sorted(shown_arrows(result, choice), key=lambda arrow: -abs(arrow.move))
    told = [
        f"{arrow.row.name} from {rating(arrow.start, result)} to {rating(arrow.end, result)}"
        for arrow in arrows[:_READ]
    ]
    start, end = ends_of(choice)
    return one_line(
        f"Arrows between the ratings ({unit_of(result)}) of {plural(len(arrows), 'model')}: {choice.title}, from {start.lower()} "
        f"to {end.lower()}. The largest moves: {'; '.join(told)}."
    )
