"""Every drop with its interval, a row each: the figure where there are few."""

import math

from matplotlib.figure import Figure

from evalstats.analysis.scenarios.results import DropRow, ScenarioModel
from evalstats.analysis.scenarios.words import digits_of
from evalstats.document.blocks import Tone
from evalstats.document.escape import one_line
from evalstats.document.numbers import interval, plural, scaled
from evalstats.plots.intervals import Row, Scale, intervals
from evalstats.plots.scenario_cells import base_name, drop_tone
from evalstats.plots.style import Medium

MOST_DROPS = 30


def drop_forest(result: ScenarioModel, *, medium: Medium = "screen") -> Figure:
    """Draw every drop from the reference with its interval, model by model.

    A filled, coloured point is a drop (or a gain) that the data show; a hollow one is not shown. At most 30 drops are drawn,
    in the order of the result; `evalstats.plots.scenario_map` shows many.

    Parameters
    ----------
    result
        What `scenarios` returned.
    medium
        "screen", "phone" or "print": see `evalstats.plots.intervals.intervals`.

    Raises
    ------
    ValueError
        If there is no drop.
    """
    rows = _rows(result)
    if not rows:
        message = "the result has no drops to draw"
        raise ValueError(message)
    return intervals(rows, _scale(result), medium=medium)


def drop_words(row: DropRow, result: ScenarioModel) -> str:
    """Write a drop and its interval, or why one of them is missing."""
    digits = digits_of(result)
    if row.estimate is None:
        return f"none: {row.verdict_reason}" if row.verdict_reason else "none"
    shown = scaled(row.estimate, result.scale, digits, sign=True)
    if row.conf_low is None or row.conf_high is None:
        return f"{shown}, no interval: {row.verdict_reason}"
    return f"{shown} {interval(row.conf_low, row.conf_high, result.scale, digits, sign=True)}"


def drop_forest_alt(result: ScenarioModel) -> str:
    """Describe `drop_forest` in words."""
    unit = {"pp": " in percentage points"}.get(result.unit, f" in {result.unit}" if result.unit else "")
    rows = result.drops[:MOST_DROPS]
    lines = [f"{row.model} in {row.scenario} {drop_words(row, result)}, {row.verdict}" for row in rows]
    rest = len(result.drops) - len(rows)
    more = f" {plural(rest, 'more')} in the table." if rest else ""
    level = f"{100 * result.conf_level:g}%"
    return one_line(
        f"Interval plot of the change in {result.metric}{unit}, each scenario minus {base_name(result)}, with {level} "
        f"intervals. {'; '.join(lines)}.{more}"
    )


def _rows(result: ScenarioModel) -> list[Row]:
    shown = result.drops[:MOST_DROPS]
    one_scenario = len({row.scenario for row in result.drops}) == 1
    rows: list[Row] = []
    model = None
    for row in shown:
        if row.model != model and not one_scenario:
            model = row.model
            rows.append(Row(label=row.model, words="", heading=True))
        rows.append(_row(row, result, row.model if one_scenario else row.scenario))
    return rows


def _row(row: DropRow, result: ScenarioModel, label: str) -> Row:
    def shown(value: float | None) -> float | None:
        return None if value is None else value * result.scale

    # The point stands at its number: of a row without an interval only the reason is left to say.
    bare = row.estimate is not None and row.conf_low is None
    return Row(
        label=label,
        words=f"no interval: {row.verdict_reason}" if bare else drop_words(row, result),
        estimate=shown(row.estimate),
        low=shown(row.conf_low),
        high=shown(row.conf_high),
        tone="caution" if row.verdict == "invalid" else drop_tone(row),
        decided=row.verdict in ("drop", "gain"),
    )


def _scale(result: ScenarioModel) -> Scale:
    unit = {"pp": "percentage points"}.get(result.unit, result.unit)
    better, worse = "better", "worse"
    up, down = (better, worse) if result.higher_is_better else (worse, better)
    tones: tuple[Tone, Tone] = ("bad", "good") if result.higher_is_better else ("good", "bad")
    reach = result.scale if result.metric_kind in ("binary", "proportion") else math.inf
    return Scale(
        title=f"Change in {result.metric} from {base_name(result)}" + (f" ({unit})" if unit else ""),
        left=f"← {down}",
        right=f"{up} →",
        bounds=(-reach, reach),
        left_tone=tones[0],
        right_tone=tones[1],
    )
