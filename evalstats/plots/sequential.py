"""How the interval narrowed while the run went on."""

import math
from dataclasses import dataclass
from typing import Any

from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from evalstats.analysis.compare.result import SequentialAccount
from evalstats.document.blocks import Tone
from evalstats.document.escape import one_line
from evalstats.document.numbers import MINUS, interval, number, plural, scaled
from evalstats.plots.style import LIGHT, SIZES, Medium, Size, house_style, new_figure, tone_color, untyped

_LEFT_ALONE = 0.1  # intervals of the first tenth are wide and do not set the axis
_ROWS_HIGH = {"screen": 10.0, "phone": 6.6, "print": 10.0}
_EM = 0.56


@dataclass(frozen=True, slots=True, kw_only=True)
class _Frame:
    """The axes, and how far they reach: units across, shown differences upwards."""

    axes: Any
    size: Size
    low: float
    high: float


def narrowing(account: SequentialAccount, *, medium: Medium = "screen") -> Figure:
    """Draw the running difference and its interval against the number of units, with zero and the declared margin.

    The band is the intersection of all intervals so far: it holds at every look at once. A mark on the line of zero shows
    where "no difference" was first excluded.

    Parameters
    ----------
    account
        What `evalstats.analysis.compare.sequential.sequential_account` returned; there must be a path.
    medium
        "screen", "phone" or "print".

    Raises
    ------
    ValueError
        If the account has no path.
    """
    if not account.path:
        message = "there is no path to draw"
        raise ValueError(message)
    size = SIZES[medium]
    with house_style():
        figure = new_figure(size, size.row * _ROWS_HIGH[medium])
        frame = _frame(figure, account, size)
        _draw_ground(frame, account)
        _draw_path(frame, account)
        _mark_crossing(frame, account)
        _write_words(figure, frame, account)
    return figure


def narrowing_alt(account: SequentialAccount) -> str:
    """Describe `narrowing` in words."""
    unit = {"pp": "percentage points"}.get(account.unit_shown, account.unit_shown)
    middle = account.path[len(account.path) // 2]
    what = (
        f"The running difference in {account.metric}, candidate minus baseline{f', in {unit}' if unit else ''}, with its "
        f"{100 * account.conf_level:g}% confidence sequence, against the number of {account.unit}s."
    )
    parts = [
        what,
        f"After {middle[0]:,}: {_words(account, middle)}; after {account.n_units:,}: {' '.join(_end_words(account))}.",
        f"{_crossing_words(account)}.",
    ]
    return one_line(" ".join(parts))


def _frame(figure: Figure, account: SequentialAccount, size: Size) -> _Frame:
    low, high = _limits(account)
    top = size.font * (4.9 if size.stacked else 2.1)
    bottom = size.font * (3.2 + 1.25 * len(_key_lines(account, size)))
    left, right = size.font * 4.4, size.font * 1.0
    if not size.stacked:
        right += _EM * size.font * max(len(line) for line in _end_words(account))
    height = untyped(figure).get_size_inches()[1] * 72
    axes = untyped(figure).add_axes(
        (left / size.width, bottom / height, (size.width - left - right) / size.width, (height - top - bottom) / height)
    )
    axes.set_xlim(0, account.path[-1][0] if account.path[-1][0] > 1 else 2)
    axes.set_ylim(low, high)
    axes.patch.set_visible(False)
    return _Frame(axes=axes, size=size, low=low, high=high)


def _limits(account: SequentialAccount) -> tuple[float, float]:
    """Return the lowest and highest shown value: those of all but the first intervals, with zero and the margin."""
    last = account.path[-1][0]
    late = [point for point in account.path if point[0] >= _LEFT_ALONE * last]
    values = [value * account.scale for point in late for value in point[1:] if math.isfinite(value)]
    reach = 0.0 if account.margin is None else account.margin * account.scale
    low, high = min(*values, -reach, 0.0), max(*values, reach, 0.0)
    room = 0.06 * (high - low) or 1.0
    return low - room, high + room


def _draw_ground(frame: _Frame, account: SequentialAccount) -> None:
    axes, size = frame.axes, frame.size
    if account.margin is not None:
        reach = account.margin * account.scale
        axes.axhspan(-reach, reach, color=LIGHT.band, linewidth=0, zorder=0.6)
    axes.grid(axis="y", color=LIGHT.line, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.axhline(0.0, color=LIGHT.ink, linewidth=size.font * 0.09, zorder=1)
    axes.spines[["left", "right", "top"]].set_visible(False)
    axes.spines["bottom"].set_color(LIGHT.line)
    axes.yaxis.set_major_locator(MaxNLocator(nbins=5, steps=[1, 2, 2.5, 5, 10]))
    axes.yaxis.set_major_formatter(FuncFormatter(_signed))
    axes.xaxis.set_major_locator(MaxNLocator(nbins=4 if size.stacked else 7, integer=True, steps=[1, 2, 2.5, 5, 10]))
    axes.xaxis.set_major_formatter(FuncFormatter(_count))
    axes.tick_params(axis="both", length=0, pad=5, labelsize=size.font * 0.88, labelcolor=LIGHT.muted)
    order = "finishing" if account.order == "timestamp" else "the files"
    title = f"{account.unit.capitalize()}s, in order of {order}"
    title = "\n".join([title, *_key_lines(account, size)])
    axes.set_xlabel(title, fontsize=size.font * 0.92, color=LIGHT.muted, labelpad=6, parse_math=False)
    planned = account.planned_n
    if planned is not None and planned <= account.path[-1][0]:
        axes.axvline(planned, color=LIGHT.muted, linewidth=size.font * 0.07, linestyle=(0, (4, 3)), zorder=0.9)


def _key_lines(account: SequentialAccount, size: Size) -> list[str]:
    """Say what the band along zero and the dashed line are, where they are drawn."""
    unit = f" {account.unit_shown}" if account.unit_shown else ""
    words = [] if account.margin is None else [f"band along 0: margin ±{scaled(account.margin, account.scale)}{unit}"]
    if account.planned_n is not None and account.planned_n <= account.path[-1][0]:
        words.append(f"dashed: {plural(account.planned_n, account.unit)} planned")
    return words if size.stacked or not words else ["; ".join(words)]


def _draw_path(frame: _Frame, account: SequentialAccount) -> None:
    axes, font, color = frame.axes, frame.size.font, tone_color(_tone(account))
    n = [point[0] for point in account.path]
    means, lows, highs = ([point[i] * account.scale for point in account.path] for i in (1, 2, 3))
    # Ends that nothing bounds yet leave the figure through its border.
    lows = [max(value, frame.low - 1e6) for value in lows]
    highs = [min(value, frame.high + 1e6) for value in highs]
    axes.fill_between(n, lows, highs, color=color, alpha=0.14, linewidth=0, zorder=1.5)
    for ends in (lows, highs):
        axes.plot(n, ends, color=color, linewidth=font * 0.11, zorder=2, solid_joinstyle="round")
    axes.plot(n, means, color=LIGHT.ink, linewidth=font * 0.13, zorder=2.5, solid_joinstyle="round")
    decided = _tone(account) != "neutral"
    axes.plot(
        [n[-1]],
        [means[-1]],
        marker="o",
        markersize=font * 0.6,
        markerfacecolor=color if decided else LIGHT.surface,
        markeredgecolor=color,
        markeredgewidth=font * 0.13,
        linestyle="none",
        clip_on=False,
        zorder=3,
    )


def _mark_crossing(frame: _Frame, account: SequentialAccount) -> None:
    if account.first_crossing is None:
        return
    font = frame.size.font
    frame.axes.plot(
        [account.first_crossing],
        [0.0],
        marker="D",
        markersize=font * 0.5,
        color=tone_color(_tone(account)),
        linestyle="none",
        clip_on=False,
        zorder=3.5,
    )
    # The far side of zero is empty once zero is excluded: a thin line leads to the words at its edge.
    below = account.estimate > 0
    edge = frame.low if below else frame.high
    near = edge * 0.86
    line: dict[str, Any] = {"color": LIGHT.muted, "linewidth": font * 0.07, "zorder": 1.8}
    frame.axes.plot([account.first_crossing] * 2, [0.0, near], **line)
    words = _crossing_words(account)
    frame.axes.annotate(
        words,
        (account.first_crossing, near),
        xytext=(_shift(frame, account.first_crossing, words), 0),
        textcoords="offset points",
        ha="left",
        va="center",
        fontsize=font * 0.88,
        color=LIGHT.ink,
        bbox={"facecolor": LIGHT.surface, "edgecolor": "none", "alpha": 0.7, "pad": 1.5},
        zorder=4,
    )


def _shift(frame: _Frame, n: int, words: str) -> float:
    """Return where words begin, in pixels from `n`: right of it, else left of it, else as far right as there is room."""
    font, box = frame.size.font, frame.axes.get_position()
    width = (box.x1 - box.x0) * frame.size.width
    place = width * n / frame.axes.get_xlim()[1]
    needed, gap = _EM * 0.88 * font * len(words), 0.4 * font
    if place + gap + needed <= width:
        return gap
    return -gap - needed if place >= gap + needed else width - needed - place


def _write_words(figure: Figure, frame: _Frame, account: SequentialAccount) -> None:
    size, axes = frame.size, frame.axes
    unit = {"pp": "percentage points"}.get(account.unit_shown, account.unit_shown)
    title = f"Difference in {one_line(account.metric)}, candidate minus baseline" + (f" ({unit})" if unit else "")
    height = untyped(figure).get_size_inches()[1] * 72
    top = 1 - 0.55 * size.font / height
    style: dict[str, Any] = {"parse_math": False, "va": "top"}
    wrapped = title.replace(", candidate", ",\ncandidate") if size.stacked else title
    untyped(figure).text(0.0, top, wrapped, fontsize=size.font * 0.92, color=LIGHT.muted, **style)
    first, second = _end_words(account)
    if size.stacked:
        bold: dict[str, Any] = {**style, "weight": "bold", "color": LIGHT.ink, "ha": "right"}
        untyped(figure).text(1.0, 1 - 3.2 * size.font / height, f"{first} {second}", fontsize=size.font, **bold)
        return
    last = account.path[-1]
    place = min(max(last[1] * account.scale, frame.low), frame.high)
    words: dict[str, Any] = {"textcoords": "offset points", "ha": "left", "annotation_clip": False}
    color = tone_color(_tone(account)) if _tone(account) != "neutral" else LIGHT.ink
    axes.annotate(
        first,
        (last[0], place),
        xytext=(size.font, 1),
        va="bottom",
        fontsize=size.font,
        weight="bold",
        color=color,
        **words,
    )
    axes.annotate(
        second, (last[0], place), xytext=(size.font, -1), va="top", fontsize=size.font, color=LIGHT.ink, **words
    )


def _end_words(account: SequentialAccount) -> tuple[str, str]:
    return (
        scaled(account.estimate, account.scale, sign=True),
        interval(account.conf_low, account.conf_high, account.scale, sign=True),
    )


def _words(account: SequentialAccount, point: tuple[int, float, float, float]) -> str:
    return f"{scaled(point[1], account.scale, sign=True)} {interval(point[2], point[3], account.scale, sign=True)}"


def _crossing_words(account: SequentialAccount) -> str:
    if account.first_crossing is None:
        return "0 is not excluded so far"
    return f"0 first excluded after {plural(account.first_crossing, account.unit)}"


def _tone(account: SequentialAccount) -> Tone:
    if account.conf_low is None or account.conf_high is None or account.conf_low <= 0.0 <= account.conf_high:
        return "neutral"
    return "good" if (account.conf_low > 0.0) == account.higher_is_better else "bad"


def _signed(value: float, _place: int | None = None) -> str:
    text = f"{value:g}".replace("-", MINUS)
    return f"+{text}" if value > 0 else text


def _count(value: float, _place: int | None = None) -> str:
    return number(value, 0) if value < 1000 else f"{value:,.0f}"
