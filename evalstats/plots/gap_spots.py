"""Where every model stands in the scatter of lab and live, which models are named there, and what is said below it."""

import math
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from matplotlib.ticker import MaxNLocator

from evalstats.analysis.gap.result import GapRow, LabLiveGap, SideAccount
from evalstats.analysis.gaps.words import gap_text, level, score_text
from evalstats.document.blocks import Tone
from evalstats.document.escape import one_line
from evalstats.document.numbers import number, plural
from evalstats.plots.gap_labels import Ground, Placed
from evalstats.plots.gap_line import DrawnLine
from evalstats.plots.gap_marks import in_table, is_settled, side_words, tone_of, verdict_words, why_no_line
from evalstats.plots.labels import EM
from evalstats.plots.lettering import fitted, fitted_names, text_width
from evalstats.plots.row_panel import tick_words
from evalstats.plots.style import LIGHT, Size, tone_color

FEW = 16  # so many models are all named where there is room
_COST_FEW, _COST_MANY = 11.0, 3.0  # what the place of a name that is not flagged may cost, in letters' heights
_SMALL = 0.88
_BOLD = 1.1
_LONGEST = 0.32  # share of the width that a name may take; more on a phone
# An interval may stretch an axis by this share of the points' own range, and is cut off there.
_STRETCH = 0.5
_READ = 20
SpotKind = Literal["worse", "better", "aligned", "open", "bare"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Spot:
    """One model: both scores with their intervals as they are shown, and what was found of it."""

    row: GapRow
    x: float
    y: float
    x_ends: tuple[float, float] | None
    y_ends: tuple[float, float] | None
    tone: Tone
    settled: bool

    @property
    def flagged(self) -> bool:
        """Whether a gap of this model is shown."""
        return self.tone != "neutral"

    @property
    def kind(self) -> SpotKind:
        """What kind of point it is."""
        if self.flagged:
            return "better" if self.tone == "good" else "worse"
        if self.settled:
            return "aligned"
        return "bare" if self.x_ends is None and self.y_ends is None else "open"

    @property
    def color(self) -> str:
        """The colour of the model's point."""
        return tone_color(self.tone) if self.flagged else LIGHT.neutral


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """The panel of points: pixels from its lower left corner, and what its axes hold."""

    size: Size
    left: float
    wide: float
    tall: float
    xlim: tuple[float, float]
    ylim: tuple[float, float]
    ticks: tuple[float, ...]

    @property
    def font(self) -> float:
        """Size of the names."""
        return 0.92 * self.size.font

    def at(self, x: float, y: float) -> tuple[float, float]:
        """Return where a point stands."""
        across = (x - self.xlim[0]) / (self.xlim[1] - self.xlim[0])
        up = (y - self.ylim[0]) / (self.ylim[1] - self.ylim[0])
        return across * self.wide, up * self.tall


@dataclass(frozen=True, slots=True, kw_only=True)
class Name:
    """A name and where it stands; a number where the name of a flagged model found no room, with the name below."""

    spot: Spot
    text: str
    placed: Placed
    numbered: bool = False


def spots(result: LabLiveGap) -> list[Spot]:
    """Return every shared model as it is drawn, flagged ones last, so that they lie on top.

    Where there is no line, a model is flagged whose plain difference is shown, on one scale.
    """
    by_line = result.line is not None
    found: list[Spot] = []
    for row in result.rows:
        verdict, value = (row.verdict, row.gap) if by_line else (row.difference_verdict, row.difference)
        found.append(
            Spot(
                row=row,
                x=row.lab * result.lab.scale,
                y=row.live * result.live.scale,
                x_ends=_ends(row.lab_low, row.lab_high, result.lab.scale),
                y_ends=_ends(row.live_low, row.live_high, result.live.scale),
                tone=tone_of(verdict, value),
                settled=is_settled(verdict),
            )
        )
    return sorted(found, key=lambda spot: spot.flagged)


def _ends(low: float | None, high: float | None, scale: float) -> tuple[float, float] | None:
    return None if low is None or high is None else (low * scale, high * scale)


def frame_of(result: LabLiveGap, found: Sequence[Spot], size: Size, tall: float) -> Frame:
    """Return the panel: the better end of each axis is above and on the right."""
    ylim = _limits([s.y for s in found], [s.y_ends for s in found], result.live)
    low, high = sorted(ylim)
    ticks = MaxNLocator(nbins=6, steps=[1, 2, 2.5, 5, 10]).tick_values(low, high)
    shown = tuple(float(tick) for tick in ticks if low <= tick <= high)
    left = max((text_width(tick_words(tick), _SMALL * size.font) for tick in shown), default=0.0) + 0.9 * size.font
    return Frame(
        size=size,
        left=left,
        wide=size.width - left - 0.9 * size.font,
        tall=tall,
        xlim=_limits([s.x for s in found], [s.x_ends for s in found], result.lab),
        ylim=ylim,
        ticks=shown,
    )


def _limits(
    values: Sequence[float], ends: Sequence[tuple[float, float] | None], side: SideAccount
) -> tuple[float, float]:
    """Return the ends of an axis; a very long interval does not squeeze the rest, and is cut off."""
    low, high = min(values), max(values)
    reach = _STRETCH * (high - low) or abs(high) or 1.0
    known = [each for each in ends if each is not None]
    low, high = (
        max(min([low, *(each[0] for each in known)]), low - reach),
        min(max([high, *(each[1] for each in known)]), high + reach),
    )
    room = 0.06 * (high - low) or 1.0
    return (low - room, high + room) if side.higher_is_better else (high + room, low - room)


# --- names ---


def to_name(found: Sequence[Spot]) -> list[Spot]:
    """Return the spots that are to be named, the most important first: flagged ones, the ends of both axes, few all."""
    flagged = sorted((spot for spot in found if spot.flagged), key=lambda spot: spot.row.p_outlier or 0.0)
    keys: tuple[Callable[[Spot], float], ...] = (lambda spot: spot.y, lambda spot: spot.x)
    ends = [pick(found, key=key) for key in keys for pick in (max, min)]
    named: list[Spot] = []
    for spot in [*flagged, *ends, *(found if len(found) <= FEW else ())]:
        if not any(spot is each for each in named):
            named.append(spot)
    return named


def names_of(found: Sequence[Spot], frame: Frame, lines: Sequence[DrawnLine]) -> list[Name]:
    """Return the names that found room: flagged ones and few may stand far from their point, others of many beside it.

    Parameters
    ----------
    lines
        What is drawn as a line: names stand across one only where there is no other room.
    """
    font, ground = frame.font, Ground(frame=(0.0, 0.0, frame.wide, frame.tall))
    for spot in found:
        (x, y), reach = frame.at(spot.x, spot.y), 0.42 * font
        ground.taken.append((x - reach, y - reach, x + reach, y + reach))
        for ends, upright in ((spot.x_ends, False), (spot.y_ends, True)):
            if ends is None:
                continue
            (x0, y0), (x1, y1) = (frame.at(spot.x, end) if upright else frame.at(end, spot.y) for end in ends)
            ground.thin.append((min(x0, x1) - 1, min(y0, y1) - 1, max(x0, x1) + 1, max(y0, y1) + 1))
    for line in lines:
        at = [frame.at(float(x), float(y)) for x, y in zip(line.x, line.y, strict=True)]
        ground.thin += [(min(a[0], b[0]), min(a[1], b[1]), max(a[0], b[0]), max(a[1], b[1])) for a, b in pairwise(at)]
    wanted = to_name(found)
    room = (0.55 if frame.size.stacked else _LONGEST) * frame.size.width
    texts = fitted_names([spot.row.name for spot in wanted], room, font)
    names: list[Name] = []
    for spot, text in zip(wanted, texts, strict=True):
        number = str(1 + sum(name.numbered for name in names))
        for shown in (text, number) if spot.flagged else (text,):
            width = text_width(shown, font) * (_BOLD if spot.flagged else 1.0)
            most = math.inf if spot.flagged else _COST_FEW if len(found) <= FEW else _COST_MANY
            placed = ground.place(frame.at(spot.x, spot.y), width, font, most=most)
            if placed is not None:
                names.append(Name(spot=spot, text=shown, placed=placed, numbered=shown is number))
                break
    return names


def notes_of(result: LabLiveGap, names: Sequence[Name], size: Size) -> list[str]:
    """Return the lines below the figure: why there is no line or no interval, and whom numbers stand for."""
    said: list[str] = []
    bare = [name for name, side in (("lab", result.lab), ("live", result.live)) if side.errors == "none"]
    why = why_no_line(result)
    if bare and (result.line is not None or "error" not in why):
        whose = (
            "Neither side has standard errors" if len(bare) == 2 else f"The {bare[0]} scores have no standard errors"
        )
        said.append(
            f"{whose}, so no intervals{'' if len(bare) == 2 else ' across' if bare == ['lab'] else ' upwards'}."
        )
    if result.line is None:
        said.append(f"No line: {why}.")
    most = int(size.width / (_SMALL * size.font * EM * 1.02))
    # The space between a number and its name is never a line's end.
    told = [
        f"{name.text}\N{NO-BREAK SPACE}{fitted(name.spot.row.name, 0.8 * size.width, size.font)}"
        for name in names
        if name.numbered
    ]
    said += ["; ".join(told)] if told else []
    return [line for text in said for line in textwrap.wrap(text, most, break_on_hyphens=False)]


def gap_scatter_alt(result: LabLiveGap) -> str:
    """Describe `gap_scatter` in words: the line, then who is flagged, then the models with their scores."""
    found = spots(result)
    flagged = [spot for spot in reversed(found) if spot.flagged]
    parts = [
        f"Scatter of {plural(len(found), 'model')}: live ({side_words(result.live)}) over lab ({side_words(result.lab)})."
    ]
    line = result.line
    if line is None:
        parts.append(f"No line is drawn: {why_no_line(result)}.")
    else:
        ratio = result.live.scale / result.lab.scale
        parts.append(
            f"York's line rises by {number(line.slope * ratio)} live for each 1 in the lab, with a {level(result)} band."
        )
    told = [
        f"{spot.row.name} at lab {score_text(spot.row.lab, result, result.lab)}, live "
        f"{score_text(spot.row.live, result, result.live)} ({_gap_words(spot, result)})"
        for spot in flagged
    ]
    parts.append(f"Flagged: {'; '.join(told)}." if told else "No model is flagged.")
    rest = [spot.row for spot in sorted(found, key=lambda spot: result.rows.index(spot.row)) if not spot.flagged]
    others = [
        f"{row.name} {score_text(row.lab, result, result.lab)}, {score_text(row.live, result, result.live)}"
        for row in rest[:_READ]
    ]
    if others:
        parts.append(f"The others, lab and live: {'; '.join(others)}.{in_table(len(rest) - len(others))}")
    return one_line(" ".join(parts))


def _gap_words(spot: Spot, result: LabLiveGap) -> str:
    row = spot.row
    if result.line is None:
        return f"{gap_text(row.difference, result)}, {verdict_words(row.difference_verdict, row.difference)}"
    return f"{gap_text(row.gap, result)}, {verdict_words(row.verdict, row.gap, material=bool(row.material))}"
