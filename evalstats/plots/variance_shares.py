"""What scores vary by: a bar for each source of variation, as long as its share."""

from typing import Any

from matplotlib.figure import Figure

from evalstats.analysis.scenarios.results import ScenarioModel, VarianceRow
from evalstats.document.escape import one_line
from evalstats.document.numbers import number
from evalstats.plots.lettering import fitted, text_width
from evalstats.plots.style import LIGHT, SIZES, Medium, house_style, new_figure, untyped

_SMALL = 0.88


def variance_shares(result: ScenarioModel, *, medium: Medium = "screen") -> Figure:
    """Draw the share of every source in the whole variation, a bar a row, with its share and standard deviation in words.

    A source whose variance is estimated as 0 says so. A source without a share (covariances, fits that have no whole) is
    left to the table.

    Parameters
    ----------
    result
        What `scenarios` returned.
    medium
        "screen", "phone" or "print".

    Raises
    ------
    ValueError
        If no source has a share.
    """
    rows = [row for row in result.variances if row.share is not None]
    if not rows:
        message = "the result has no shares of variation"
        raise ValueError(message)
    size = SIZES[medium]
    font = size.font
    tall = font * (3.1 if size.stacked else 2.0)
    height = tall * len(rows) + 0.6 * font
    words = [share_words(row) for row in rows]
    widest = max(text_width(each, _SMALL * font) for each in words)
    left = 4.0 if size.stacked else min(max(text_width(_name(row), font) for row in rows), 0.56 * size.width) + font
    right = size.width - widest - 0.8 * font
    with house_style():
        figure = new_figure(size, height)
        axes = untyped(figure).add_axes((0, 0, 1, 1), label="shares")
        axes.set_xlim(0, size.width)
        axes.set_ylim(height, 0)
        axes.set_axis_off()
        for place, (row, said) in enumerate(zip(rows, words, strict=True)):
            name_level = place * tall + (0.8 * font if size.stacked else tall / 2)
            level = place * tall + (2.0 * font if size.stacked else tall / 2)
            room = size.width - 8 if size.stacked else left - font
            style: dict[str, Any] = {"va": "center_baseline", "parse_math": False}
            name = fitted(_name(row), room, font, head=0.8)
            axes.text(4 if size.stacked else 0, name_level, name, fontsize=font, color=LIGHT.ink, **style)
            long = (right - left) * (row.share or 0.0)
            half = 0.42 * font
            bar = {"color": LIGHT.neutral if not row.singular else LIGHT.line, "linewidth": 0}
            axes.fill_between([left, left + long], level - half, level + half, zorder=2, **bar)
            axes.plot([left] * 2, [level - 1.4 * half, level + 1.4 * half], color=LIGHT.muted, linewidth=1, zorder=3)
            color = LIGHT.muted if row.singular else LIGHT.ink
            axes.text(left + long + 0.5 * font, level, said, fontsize=_SMALL * font, color=color, **style)
    return figure


def share_words(row: VarianceRow) -> str:
    """Write a share and a standard deviation; a variance of 0 in words.

    Examples
    --------
    >>> share_words(VarianceRow(term="item", label="item", variance=1.9, std_dev=1.378, share=0.328))
    '33% (SD 1.38)'
    """
    if row.singular:
        return "estimated as 0"
    share = 100 * (row.share or 0.0)
    return f"{share:.0f}% (SD {number(row.std_dev)})" if share >= 1 else f"below 1% (SD {number(row.std_dev)})"


def _name(row: VarianceRow) -> str:
    return row.label or row.term


def variance_shares_alt(result: ScenarioModel) -> str:
    """Describe `variance_shares` in words."""
    lines = [f"{_name(row)} {share_words(row)}" for row in result.variances if row.share is not None]
    return one_line(f"What {result.metric} varies by, as shares of the whole. {'; '.join(lines)}.")
