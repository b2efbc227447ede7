"""Every model against the baseline: differences with intervals that hold together."""

import math

from matplotlib.figure import Figure

from evalstats.analysis.boards.results import Leaderboard, PairRow
from evalstats.document.blocks import Tone
from evalstats.document.escape import one_line
from evalstats.document.numbers import interval, plural, scaled
from evalstats.plots.intervals import Row, Scale, intervals
from evalstats.plots.lettering import fitted_names, text_width
from evalstats.plots.rank_rows import score_digits
from evalstats.plots.style import SIZES, Medium

MOST_PAIRS = 30
_READ = 20
# `intervals` gives labels this share of the width.
_LABELS = {"screen": 0.34, "phone": 0.5, "print": 0.34}
_TONES: dict[str, Tone] = {"better": "good", "worse": "bad", "not separated": "neutral", "not compared": "caution"}


def against_baseline(result: Leaderboard, *, medium: Medium = "screen") -> Figure:
    """Draw the difference of every model to the baseline, in the order of the leaderboard's lines.

    Filled points are pairs that are separated, hollow ones are not. A pair that is not compared says why. At most 30 models
    are drawn, those nearest to the baseline.

    Parameters
    ----------
    result
        What `leaderboard` returned when it was called with `baseline`.
    medium
        "screen", "phone" or "print": see `evalstats.plots.intervals.intervals`.

    Raises
    ------
    ValueError
        If no baseline was named.

    Examples
    --------
    >>> from evalstats import datasets
    >>> from evalstats.analysis.boards.leaderboard import leaderboard
    >>> figure = against_baseline(leaderboard(datasets.tenacious_held_out(), baseline="baseline"))
    >>> figure.axes[0].get_xlabel()
    'Difference in correct (percentage points)'
    """
    if result.baseline is None:
        message = "the leaderboard has no baseline to compare with; name one"
        raise ValueError(message)
    pairs, size = shown_pairs(result), SIZES[medium]
    names = fitted_names([pair.first for pair in pairs], _LABELS[medium] * size.width, size.font)
    rows = [_row(pair, name, result) for pair, name in zip(pairs, names, strict=True)]
    return intervals(rows, _scale(result, medium), medium=medium)


def shown_pairs(result: Leaderboard) -> list[PairRow]:
    """Return the pairs that `against_baseline` draws, those with the smallest difference, in the order of the lines."""

    def distance(pair: PairRow) -> float:
        return math.inf if pair.estimate is None else abs(pair.estimate)

    nearest = sorted(result.pairs, key=distance)[:MOST_PAIRS]
    kept = {id(pair) for pair in nearest}
    return [pair for pair in result.pairs if id(pair) in kept]


def difference_words(pair: PairRow, result: Leaderboard) -> str:
    """Write a difference and its interval, or why one of them is missing."""
    digits = score_digits(result)
    if pair.estimate is None:
        return f"not compared: {pair.reason}"
    if pair.conf_low is None or pair.conf_high is None:
        return f"no interval: {pair.reason}"
    shown = scaled(pair.estimate, result.scale, digits, sign=True)
    return f"{shown} {interval(pair.conf_low, pair.conf_high, result.scale, digits, sign=True)}"


def against_baseline_alt(result: Leaderboard) -> str:
    """Describe `against_baseline` in words."""
    pairs = shown_pairs(result)
    unit = {"pp": " in percentage points"}.get(result.unit, f" in {result.unit}" if result.unit else "")
    lines = [f"{pair.first} {difference_words(pair, result)}, {pair.verdict}" for pair in pairs[:_READ]]
    rest = len(result.pairs) - len(lines)
    more = f" {plural(rest, 'more model')} {'stands' if rest == 1 else 'stand'} in the table." if rest else ""
    level = f"{100 * result.conf_level:g}%"
    return one_line(
        f"Interval plot of the difference in {result.metric}{unit}, each model minus {result.baseline}, with {level} intervals. "
        f"{'; '.join(lines)}.{more}"
    )


def _row(pair: PairRow, name: str, result: Leaderboard) -> Row:
    def shown(value: float | None) -> float | None:
        return None if value is None else value * result.scale

    return Row(
        label=name,
        words=difference_words(pair, result),
        estimate=shown(pair.estimate),
        low=shown(pair.conf_low),
        high=shown(pair.conf_high),
        tone=_TONES[pair.verdict],
        decided=pair.separated,
    )


def _scale(result: Leaderboard, medium: Medium) -> Scale:
    size = SIZES[medium]
    room, font = 0.2 * size.width, size.font * 0.92
    name = result.baseline if result.baseline and text_width(result.baseline, font) <= room else "the baseline"
    better, worse = f"better than {name}", f"worse than {name}"
    up, down = (better, worse) if result.higher_is_better else (worse, better)
    unit = {"pp": "percentage points"}.get(result.unit, result.unit)
    reach = result.scale if result.metric_kind in ("binary", "proportion") else math.inf
    tones: tuple[Tone, Tone] = ("bad", "good") if result.higher_is_better else ("good", "bad")
    return Scale(
        title=f"Difference in {result.metric}" + (f" ({unit})" if unit else ""),
        left=f"← {down}",
        right=f"{up} →",
        bounds=(-reach, reach),
        left_tone=tones[0],
        right_tone=tones[1],
    )
