"""What the candidate takes as a multiple of the baseline: ratios with their intervals around 1, on a logarithmic axis."""

import math
from collections.abc import Sequence

from matplotlib.figure import Figure
from matplotlib.ticker import FixedFormatter, FixedLocator

from evalstats.analysis.costs import WORDS, CostRow
from evalstats.document.escape import one_line
from evalstats.document.numbers import interval, number
from evalstats.plots.intervals import Row, Scale, intervals
from evalstats.plots.style import Medium, untyped

# A figure of one ratio says no more than its numbers.
FEWEST = 2
_STEPS = (
    *(0.001, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9),
    *(1.0, 1.1, 1.2, 1.5, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0, 100.0, 1000.0),
)
_SCALE = Scale(
    title="The candidate as a multiple of the baseline, on a logarithmic axis",
    left="← candidate takes less",
    right="candidate takes more →",
    left_tone="good",
    right_tone="bad",
)
# A label nearer to the end of the axis than this share of it would be cut.
_EDGE = 0.05
_MOST_TICKS = {"screen": 7, "phone": 5, "print": 7}


def drawn_costs(rows: Sequence[CostRow]) -> tuple[CostRow, ...]:
    """Return the rows that can be drawn: those with a ratio above 0 and its interval; nothing where there are too few."""
    found = tuple(row for row in rows if row.ratio and row.conf_low and row.conf_high and row.conf_low > 0)
    return found if len(found) >= FEWEST else ()


def cost_ratios(rows: Sequence[CostRow], *, medium: Medium = "screen") -> Figure:
    """Draw the ratio of every quantity with its interval; twice as much and half as much are equally far from 1.

    Parameters
    ----------
    rows
        Those of `drawn_costs`.
    medium
        "screen", "phone" or "print": see `evalstats.plots.intervals.intervals`.

    Raises
    ------
    ValueError
        If there are no rows.

    Examples
    --------
    >>> row = CostRow(
    ...     quantity="n_turns", unit="", conf_level=0.95, n_items=9, n_paired=9, ratio=2.0, conf_low=1.0, conf_high=4.0
    ... )
    >>> [tick.get_text() for tick in cost_ratios([row]).axes[0].get_xticklabels()]
    ['× 1', '× 1.5', '× 2', '× 3']
    """
    figure = intervals([_row(row) for row in rows], _SCALE, medium=medium)
    axes = untyped(figure.axes[0])
    ticks = _ticks(*axes.get_xlim(), most=_MOST_TICKS[medium])
    axes.xaxis.set_major_locator(FixedLocator([math.log(tick) for tick in ticks]))
    axes.xaxis.set_major_formatter(FixedFormatter([f"× {tick:.3g}" for tick in ticks]))
    return figure


def cost_ratios_alt(rows: Sequence[CostRow]) -> str:
    """Describe `cost_ratios` in words."""
    lines = "; ".join(f"{_name(row)} {_words(row)}" for row in rows)
    return one_line(f"Interval plot of what the candidate takes as a multiple of the baseline. {lines}.")


def _row(row: CostRow) -> Row:
    low, high = row.conf_low or math.nan, row.conf_high or math.nan
    outside = not low <= 1 <= high
    return Row(
        label=_name(row),
        words=_words(row),
        estimate=math.log(row.ratio or math.nan),
        low=math.log(low),
        high=math.log(high),
        tone="neutral" if not outside else "good" if high < 1 else "bad",
        decided=outside,
    )


def _name(row: CostRow) -> str:
    """Return what the quantity is called, without its unit: a ratio has none."""
    return WORDS[row.quantity].partition(" (")[0]


def _words(row: CostRow) -> str:
    return f"× {number(row.ratio)} {interval(row.conf_low, row.conf_high)}"


def _ticks(low: float, high: float, *, most: int) -> list[float]:
    """Return round multiples within the axis (given as logarithms), 1 among them, so few that their labels stand apart."""
    edge = _EDGE * (high - low)
    inside = [step for step in _STEPS if low + edge <= math.log(step) <= high - edge]
    room = (high - low) / most
    kept = [1.0]
    for step in sorted(inside, key=lambda each: abs(math.log(each))):
        if all(abs(math.log(step) - math.log(other)) >= room for other in kept):
            kept.append(step)
    return sorted(kept)
