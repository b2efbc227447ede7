"""What every figure of lab against live shares: colours and signs of verdicts, names of the sides, rows with an interval."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from evalstats.analysis.gap.result import GapRow, GapVerdict, LabLiveGap, SideAccount
from evalstats.analysis.gaps.words import score_unit
from evalstats.analysis.gaps.words import why_no_line as told_of_no_line
from evalstats.document.blocks import Tone
from evalstats.document.numbers import plural
from evalstats.plots.row_panel import RowPanel
from evalstats.plots.style import LIGHT, tone_color

MOST_ROWS = 60
UP, DOWN = "▲", "▼"


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A point with its interval, as it is shown (percent, say).

    `settled` fills the point: the interval settles the question. Only settled marks have a colour, by their `tone`.
    """

    value: float
    low: float | None = None
    high: float | None = None
    tone: Tone = "neutral"
    settled: bool = False

    @property
    def has_interval(self) -> bool:
        """Whether both ends are known."""
        return self.low is not None and self.high is not None

    @property
    def color(self) -> str:
        """The colour of the mark."""
        return tone_color(self.tone) if self.settled else LIGHT.neutral


def tone_of(verdict: GapVerdict | None, value: float | None) -> Tone:
    """Return the tone of a gap: blue where live is better than expected, vermillion where worse, grey where nothing is shown.

    Gaps have the direction of what is better on every metric, so their sign is all that counts.

    Examples
    --------
    >>> tone_of("gap", -0.2), tone_of("gap", 0.2), tone_of("inconclusive", -0.2)
    ('bad', 'good', 'neutral')
    """
    if verdict != "gap" or value is None:
        return "neutral"
    return "good" if value > 0 else "bad"


def change_tone(value: float, side: SideAccount) -> Tone:
    """Return the tone of a difference of printed scores: blue where it is to the better."""
    return "good" if (value > 0) == side.higher_is_better else "bad"


def is_settled(verdict: GapVerdict | None) -> bool:
    """Whether a verdict is one that an interval has settled."""
    return verdict in ("gap", "aligned")


def verdict_words(verdict: GapVerdict | None, value: float | None, *, material: bool = False) -> str:
    """Write a verdict with a sign of its direction, so that it does not hang on colour.

    Examples
    --------
    >>> verdict_words("gap", -0.2, material=True), verdict_words("aligned", 0.01), verdict_words(None, None)
    ('▼ gap, material', 'aligned', 'invalid')
    """
    if verdict == "gap" and value is not None:
        return f"{UP if value > 0 else DOWN} gap{', material' if material else ''}"
    return verdict or "invalid"


def side_words(side: SideAccount) -> str:
    """Name a side: its metric, where it comes from, and the unit of its scores."""
    unit = score_unit(side)
    where = f" on {side.name}" if side.name and side.name != side.metric else ""
    beside = f" ({unit})" if unit and unit not in side.metric else ""
    return f"{side.metric}{where}{beside}"


def why_no_line(found: LabLiveGap) -> str:
    """Return why there is no line from lab to live, in one sentence without its stop."""
    return told_of_no_line(found) or "none could be drawn from lab to live"


def in_table(rest: int, noun: str = "model") -> str:
    """Write how many stand in the table alone, for the end of a text; nothing where there are none.

    Examples
    --------
    >>> in_table(1), in_table(0)
    (' 1 more model stands in the table.', '')
    """
    return f" {plural(rest, f'more {noun}')} {'stands' if rest == 1 else 'stand'} in the table." if rest > 0 else ""


def by_gap(rows: Sequence[GapRow], most: int = MOST_ROWS) -> list[GapRow]:
    """Return rows that have a gap, the largest on top; of many those that are flagged or stand out most."""
    known = [row for row in rows if row.gap is not None]
    first = sorted(known, key=lambda row: (row.verdict != "gap", 1.0 if row.p_outlier is None else row.p_outlier))
    return sorted(first[:most], key=lambda row: (-(row.gap or 0.0), row.name))


def by_difference(rows: Sequence[GapRow], most: int = MOST_ROWS) -> list[GapRow]:
    """Return rows that have a plain difference, the largest on top; of many those that are flagged or differ most."""
    known = [row for row in rows if row.difference is not None]
    first = sorted(known, key=lambda row: (row.difference_verdict != "gap", -abs(row.difference or 0.0)))
    return sorted(first[:most], key=lambda row: (-(row.difference or 0.0), row.name))


def draw_mark(panel: RowPanel, place: int, mark: Mark, *, strong: bool = False) -> None:
    """Draw a point with its interval on a row: filled where settled, a hollow diamond where there is no interval."""
    font, level, color = panel.size.font, panel.level(place), mark.color
    thick = font * (0.2 if strong or mark.settled else 0.14)
    if mark.low is not None and mark.high is not None:
        style: dict[str, Any] = {"color": color, "zorder": 2}
        panel.axes.plot([mark.low, mark.high], [level] * 2, linewidth=thick, solid_capstyle="butt", **style)
        cap = min(panel.half(0.32), 0.34)
        panel.axes.vlines([mark.low, mark.high], level - cap, level + cap, linewidth=thick * 0.75, **style)
    panel.axes.plot(
        [mark.value],
        [level],
        marker="o" if mark.has_interval else "D",
        markersize=font * 0.46,
        markerfacecolor=color if mark.settled else LIGHT.surface,
        markeredgecolor=color,
        markeredgewidth=font * 0.1,
        linestyle="none",
        clip_on=False,
        zorder=3,
    )


def draw_zero(panel: RowPanel, places: Sequence[int], at: float = 0.0) -> None:
    """Draw where nothing happens behind the marks of every row, never across words."""
    half = 0.2 if panel.size.stacked else 0.5
    levels = [panel.level(place) for place in places]
    panel.axes.vlines(
        [at] * len(levels),
        [level - half for level in levels],
        [level + half for level in levels],
        color=LIGHT.ink,
        linewidth=panel.size.font * 0.09,
        zorder=1,
    )


def draw_band(panel: RowPanel, places: Sequence[int], low: float, high: float, **style: Any) -> None:
    """Draw a band behind the marks of rows: the margin."""
    half = 0.2 if panel.size.stacked else 0.5
    for place in places:
        level = panel.level(place)
        look = {"color": LIGHT.band, "linewidth": 0, "zorder": 0.3, **style}
        panel.axes.fill_betweenx([level - half, level + half], low, high, **look)


def draw_point(
    panel: RowPanel, at: tuple[float, float], marker: str, *, face: str, edge: str, letters: float = 0.46
) -> None:
    """Draw one mark at a value and a row; `letters` is its size in letters' heights."""
    font = panel.size.font
    look: dict[str, Any] = {"markerfacecolor": face, "markeredgecolor": edge, "markeredgewidth": font * 0.1}
    panel.axes.plot(
        [at[0]],
        [at[1]],
        marker=marker,
        markersize=font * letters,
        linestyle="none",
        clip_on=False,
        zorder=3,
        **look,
    )


def draw_interval(panel: RowPanel, row: float, low: float, high: float, *, color: str, dashed: bool = False) -> None:
    """Draw an interval with caps at the height of `row`."""
    font = panel.size.font
    style: Any = (0, (3, 2)) if dashed else "-"
    panel.axes.plot(
        [low, high], [row] * 2, color=color, linewidth=font * 0.14, linestyle=style, solid_capstyle="butt", zorder=2
    )
    cap = min(panel.half(0.3), 0.34)
    panel.axes.vlines([low, high], row - cap, row + cap, color=color, linewidth=font * 0.1, zorder=2)
