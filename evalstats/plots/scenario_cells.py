"""What the map of models and scenarios says, cell by cell: drops or scores, their uncertainty, and what is shown."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from evalstats.analysis.scenarios.result import CellRow, DropRow, ScenarioModel
from evalstats.analysis.scenarios.words import AVERAGE, digits_of
from evalstats.document.blocks import Tone
from evalstats.document.numbers import number

Show = Literal["drop", "score"]
MOST_ACROSS, MOST_DOWN = 14, 40


@dataclass(frozen=True, slots=True, kw_only=True)
class MapCell:
    """One cell. Numbers are as they are shown (percentage points, say).

    `words` is the number, "–" where there is none; `half` is half the width of its interval, "" where there is none.
    `depth`, from 0 to 1, is how deep the colour is. `shown` is False for a drop that the data do not show. A `base` cell is
    the score that drops are counted from, and has no colour.
    """

    words: str
    half: str = ""
    estimate: float | None = None
    low: float | None = None
    high: float | None = None
    tone: Tone = "neutral"
    depth: float = 0.0
    shown: bool = False
    base: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class MapGrid:
    """Cells by row and column, with what both are called.

    `first_is_base` marks the first column (or, where models stand across, the first row) as what drops are counted from.
    `reach` is the largest end of any interval. `rest` says how many rows and columns are not drawn.
    """

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cells: tuple[tuple[MapCell, ...], ...]
    models_down: bool
    first_is_base: bool
    reach: tuple[float, float]
    rest: tuple[int, int] = (0, 0)


def drop_tone(row: DropRow) -> Tone:
    """Return the tone of a drop: bad or good where it is shown, else neutral."""
    tones: dict[str, Tone] = {"drop": "bad", "gain": "good"}
    return tones.get(row.verdict, "neutral")


def base_name(result: ScenarioModel) -> str:
    """Return what drops are counted from, as a heading."""
    return "average" if result.reference == AVERAGE else result.reference


def map_grid(result: ScenarioModel, show: Show = "drop") -> MapGrid:
    """Return what `scenario_map` draws.

    Models stand in rows, unless there are many scenarios and fewer models.
    """
    compared = [name for name in result.scenario_names if show == "score" or name != result.reference]
    models_down = len(compared) <= MOST_ACROSS or len(result.model_names) >= len(compared)
    models = result.model_names[: MOST_DOWN if models_down else MOST_ACROSS]
    scenarios = compared[: MOST_ACROSS if models_down else MOST_DOWN]
    made = _drop_cells(result, models, scenarios) if show == "drop" else _score_cells(result, models, scenarios)
    names = [base_name(result), *scenarios] if show == "drop" else scenarios
    by_model = [[made.get((model, name), MapCell(words="–")) for name in ("", *scenarios)] for model in models]
    if show == "score":
        by_model = [line[1:] for line in by_model]
    cells = by_model if models_down else [list(column) for column in zip(*by_model, strict=True)]
    return MapGrid(
        rows=tuple(models if models_down else names),
        columns=tuple(names if models_down else models),
        cells=tuple(map(tuple, cells)),
        models_down=models_down,
        first_is_base=show == "drop",
        reach=_reach([cell for line in cells for cell in line if not cell.base], zero=show == "drop"),
        rest=(len(result.model_names) - len(models), len(compared) - len(scenarios)),
    )


def _drop_cells(
    result: ScenarioModel, models: Iterable[str], scenarios: Iterable[str]
) -> dict[tuple[str, str], MapCell]:
    """Return the cells of drops by model and scenario; under the scenario "" the score that they are counted from."""
    wanted = {(model, name) for model in models for name in scenarios}
    rows = [row for row in result.drops if (row.model, row.scenario) in wanted]
    largest = max((abs(row.estimate) for row in rows if row.estimate is not None), default=0.0)
    found = {(row.model, row.scenario): _drop_cell(result, row, largest) for row in rows}
    for model in models:
        found[model, ""] = _base_cell(result, model)
    return found


def _drop_cell(result: ScenarioModel, row: DropRow, largest: float) -> MapCell:
    if row.estimate is None:
        return MapCell(words="–")
    digits, scale = digits_of(result), result.scale
    half = _half(row.conf_low, row.conf_high)
    return MapCell(
        words=number(row.estimate * scale, digits, sign=True),
        half="" if half is None else number(half * scale, digits),
        estimate=row.estimate * scale,
        low=None if row.conf_low is None else row.conf_low * scale,
        high=None if row.conf_high is None else row.conf_high * scale,
        tone=drop_tone(row),
        depth=abs(row.estimate) / largest if largest else 0.0,
        shown=row.verdict in ("drop", "gain"),
    )


def _base_cell(result: ScenarioModel, model: str) -> MapCell:
    """Return the score of a model in the reference; without one, its mean over scenarios."""
    if result.reference == AVERAGE:
        row = next(mean for mean in result.models if mean.name == model)
    else:
        row = next(
            (cell for cell in result.cells if (cell.model, cell.scenario) == (model, result.reference)),
            CellRow(model=model, scenario=result.reference),
        )
    if row.estimate is None:
        return MapCell(words="–", base=True)
    digits, half = digits_of(result), _half(row.conf_low, row.conf_high)
    return MapCell(
        words=number(row.estimate * result.scale, digits),
        half="" if half is None else number(half * result.scale, digits),
        estimate=row.estimate * result.scale,
        base=True,
    )


def _score_cells(
    result: ScenarioModel, models: Iterable[str], scenarios: Iterable[str]
) -> dict[tuple[str, str], MapCell]:
    wanted = {(model, name) for model in models for name in scenarios}
    rows = [row for row in result.cells if (row.model, row.scenario) in wanted and row.estimate is not None]
    values = [row.estimate for row in rows if row.estimate is not None]
    low, high = min(values, default=0.0), max(values, default=0.0)
    digits, scale = digits_of(result), result.scale
    found: dict[tuple[str, str], MapCell] = {}
    for row in rows:
        value, half = row.estimate or 0.0, _half(row.conf_low, row.conf_high)
        found[row.model, row.scenario] = MapCell(
            words=number(value * scale, digits),
            half="" if half is None else number(half * scale, digits),
            estimate=value * scale,
            low=None if row.conf_low is None else row.conf_low * scale,
            high=None if row.conf_high is None else row.conf_high * scale,
            tone="good",
            depth=(value - low) / (high - low) if high > low else 0.0,
            shown=half is not None,
        )
    return found


def _half(low: float | None, high: float | None) -> float | None:
    return None if low is None or high is None else (high - low) / 2


def _reach(cells: Iterable[MapCell], *, zero: bool) -> tuple[float, float]:
    """Return the ends of the axis that the intervals of all cells are drawn on; with `zero`, zero is in its middle."""
    ends = [end for cell in cells for end in (cell.low, cell.high, cell.estimate) if end is not None]
    if zero:
        most = max((abs(end) for end in ends), default=0.0) or 1.0
        return -most, most
    low, high = min(ends, default=0.0), max(ends, default=1.0)
    return (low, high) if high > low else (low - 1, high + 1)
