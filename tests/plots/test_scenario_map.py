"""The map of models and scenarios: every number is there, the data's verdict decides what is filled, all can be read."""

from dataclasses import replace

import numpy as np
import pytest
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from evalstats.analysis.scenarios.results import ScenarioModel
from evalstats.document.numbers import number
from evalstats.plots.drops import drop_forest, drop_forest_alt
from evalstats.plots.scenario_cells import MOST_ACROSS, MOST_DOWN, Show, map_grid
from evalstats.plots.scenario_map import LEAST_OPAQUE, MOST_OPAQUE, scenario_map, scenario_map_alt
from evalstats.plots.style import DARK, LIGHT, Medium, Palette, contrast, house_style, svg
from tests.analysis.scenarios import example

MEDIA: tuple[Medium, ...] = ("screen", "phone", "print")


def texts(figure: Figure) -> list[str]:
    return [text.get_text() for axes in figure.axes for text in axes.texts if text.get_text()]


def fills(figure: Figure, color: str) -> list[Rectangle]:
    boxes = [patch for patch in figure.axes[0].patches if isinstance(patch, Rectangle)]
    return [box for box in boxes if box.get_facecolor()[3] > 0 and to_hex(box.get_facecolor()) == color]


def hollow(figure: Figure) -> list[Rectangle]:
    return [box for box in figure.axes[0].patches if isinstance(box, Rectangle) and box.get_facecolor()[3] == 0]


def segments(figure: Figure, panel: int = 0) -> list[tuple[float, float, float, float]]:
    """Ends of every straight line: x and x, y and y."""
    found = []
    for line in figure.axes[panel].lines:
        x, y = np.asarray(line.get_xdata(), dtype=float), np.asarray(line.get_ydata(), dtype=float)
        if line.get_linestyle() == "-" and (x.size == 2 or np.isnan(x).any()):
            step = 2 if x.size == 2 else 3
            found += [(float(x[i]), float(x[i + 1]), float(y[i]), float(y[i + 1])) for i in range(0, x.size, step)]
    return found


def lines(figure: Figure) -> list[tuple[float, float]]:
    """Both ends of the intervals drawn in cells, from top to bottom and left to right."""
    level = [(round(y0, 6), x0, x1) for x0, x1, y0, y1 in segments(figure) if y0 == y1]
    return [(x0, x1) for _, x0, x1 in sorted(level)]


def assert_words_are_apart(figure: Figure) -> None:
    """Every word is inside the figure; none that stands level covers another."""
    width, height = figure.get_size_inches() * 72
    with house_style():
        figure.canvas.draw()
        drawn = [text for axes in figure.axes for text in axes.texts if text.get_text()]
        boxes = np.array([text.get_window_extent().extents for text in drawn])
    assert (boxes[:, :2] >= -1).all()
    assert (boxes[:, 2:] <= np.array([width, height]) + 1).all()
    level = np.array([text.get_rotation() == 0 for text in drawn])
    left, low, right, high = boxes[level].T
    wide = np.minimum.outer(right, right) - np.maximum.outer(left, left)
    tall = np.minimum.outer(high, high) - np.maximum.outer(low, low)
    over = (wide > 1) & (tall > 0.3 * np.minimum.outer(high - low, high - low))
    assert not (over & ~np.eye(level.sum(), dtype=np.bool_)).any()


def some_scenarios() -> ScenarioModel:
    return example.random_scenarios(16)


EVERY = (
    example.small, example.medium, some_scenarios, example.with_missing_cells, example.separated, example.without_answer,
    example.costs, example.hostile,
)  # fmt: skip
CASES = [
    *[(make, medium, "drop") for make in EVERY for medium in MEDIA],
    *[(make, "screen", "score") for make in EVERY],
]


@pytest.mark.parametrize(
    ("make", "medium", "show"),
    [*CASES, (example.rut, "phone", "drop"), (example.rut, "print", "drop")],
    ids=lambda each: getattr(each, "__name__", each),
)
def test_every_cell_says_its_number_and_no_word_covers_another(make, medium: Medium, show: Show) -> None:
    found = make()
    figure = scenario_map(found, show=show, medium=medium)
    grid, said = map_grid(found, show), texts(figure)
    for cell in (cell for line in grid.cells for cell in line):
        assert cell.words in said
        assert not cell.half or f"±{cell.half}" in said
    assert_words_are_apart(figure)


def test_numbers_are_those_of_the_result() -> None:
    found = example.rut()
    grid = map_grid(found)
    assert grid.rows == found.model_names
    assert grid.columns == found.scenario_names
    for down, model in enumerate(grid.rows):
        base = found.cell(model, "ideal")
        assert grid.cells[down][0].words == number(100 * (base.estimate or 0), 1)
        for across, scenario in enumerate(grid.columns[1:], start=1):
            row, cell = found.drop(model, scenario), grid.cells[down][across]
            assert cell.words == number(100 * (row.estimate or 0), 1, sign=True)
            assert cell.half == number(50 * ((row.conf_high or 0) - (row.conf_low or 0)), 1)
            assert (cell.low, cell.high) == (100 * (row.conf_low or 0), 100 * (row.conf_high or 0))


@pytest.mark.parametrize("medium", MEDIA)
def test_only_what_the_data_show_is_filled(medium: Medium) -> None:
    found = example.rut()
    figure = scenario_map(found, medium=medium)
    verdicts = [row.verdict for row in found.drops]
    assert len(fills(figure, LIGHT.bad)) == verdicts.count("drop") > 0
    assert len(fills(figure, LIGHT.good)) == verdicts.count("gain") > 0
    assert len(hollow(figure)) == verdicts.count("not shown") > 0
    assert len(fills(figure, LIGHT.band)) == found.n_models


def test_the_deeper_the_larger() -> None:
    found = example.rut()
    shown = [abs(row.estimate or 0) for row in found.drops if row.verdict == "drop"]
    depths = [float(box.get_alpha() or 0) for box in fills(scenario_map(found), LIGHT.bad)]
    assert np.argsort(shown).tolist() == np.argsort(depths).tolist()
    assert max(depths) == pytest.approx(MOST_OPAQUE)
    assert min(depths) > LEAST_OPAQUE


def test_all_intervals_are_on_one_axis() -> None:
    found = example.rut()
    drawn = np.array(lines(scenario_map(found)))
    true = np.array([(row.conf_low, row.conf_high) for row in found.drops], dtype=float)
    scale = (drawn[:, 1] - drawn[:, 0]) / (true[:, 1] - true[:, 0])
    assert scale == pytest.approx(np.full(scale.size, scale[0]))
    # Zero is in the middle of every cell: the mid-point of an interval stands off it by as much as its numbers say.
    middle = drawn.mean(axis=1) - true.mean(axis=1) * scale[0]
    assert len(np.unique(middle.round(6))) == found.n_scenarios - 1


def test_a_cell_without_an_estimate_is_a_dash_and_has_no_ground() -> None:
    found = example.with_missing_cells()
    figure = scenario_map(found)
    assert texts(figure).count("–") == 2
    drawn = len(fills(figure, LIGHT.bad)) + len(fills(figure, LIGHT.good)) + len(hollow(figure))
    assert drawn == len(found.drops) - 2
    assert len(lines(figure)) == len(found.drops) - 2


def test_where_lower_is_better_more_is_worse() -> None:
    found = example.costs()
    worse = [row for row in found.drops if row.verdict == "drop"]
    assert worse
    assert all((row.estimate or 0) > 0 for row in worse)
    assert len(fills(scenario_map(found), LIGHT.bad)) == len(worse)


def test_without_a_reference_the_first_column_is_the_mean() -> None:
    found = example.medium()
    grid = map_grid(found)
    assert grid.columns[0] == "average"
    assert [line[0].words for line in grid.cells] == [number(100 * (row.estimate or 0), 1) for row in found.models]


def test_many_scenarios_stand_in_rows() -> None:
    grid = map_grid(example.random_scenarios())
    assert not grid.models_down
    assert grid.columns == example.random_scenarios().model_names
    assert len(grid.rows) == MOST_DOWN + 1  # and the base
    more = map_grid(example.random_scenarios(60))
    assert more.rest == (0, 60 - MOST_DOWN)
    wide = example.made(
        np.full((30, 40), 0.5), [f"m{i}" for i in range(30)], [f"s{i}" for i in range(40)], n_items=20, reference="s0"
    )
    both = map_grid(wide)
    assert (len(both.columns), len(both.rows)) == (MOST_ACROSS, MOST_DOWN)
    assert both.rest == (30 - MOST_ACROSS, 0)


def test_nothing_to_draw_is_an_error() -> None:
    empty = replace(example.small(), models=(), cells=(), drops=())
    with pytest.raises(ValueError, match="no model or no scenario"):
        scenario_map(empty)
    with pytest.raises(ValueError, match="no drops"):
        drop_forest(empty)


def blended(color: str, ground: str, opaque: float) -> str:
    return to_hex(opaque * np.array(to_rgb(color)) + (1 - opaque) * np.array(to_rgb(ground)))


@pytest.mark.parametrize("palette", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize("tone", ["good", "bad"])
def test_words_can_be_read_on_the_deepest_and_the_palest_cell(palette: Palette, tone: str) -> None:
    for opaque in (LEAST_OPAQUE, MOST_OPAQUE):
        ground = blended(getattr(palette, tone), palette.surface, opaque)
        assert contrast(palette.ink, ground) >= 4.5
    assert contrast(palette.muted, palette.surface) >= 4.5


def test_names_are_never_mathematics_or_markup() -> None:
    figure = scenario_map(example.hostile())
    assert all(not text.get_parse_math() for axes in figure.axes for text in axes.texts)
    drawn = svg(figure, alt=scenario_map_alt(example.hostile()))
    assert "<script" not in drawn
    assert "&lt;script&gt;" in drawn


def test_short_names_are_not_cut() -> None:
    found = example.made(np.full((2, 2), 0.5), ("a", "b"), ("ideal", "x"), n_items=50)
    assert {"a", "b"} <= set(texts(scenario_map(found)))


def test_long_names_stay_different() -> None:
    said = texts(scenario_map(example.hostile()))
    assert len({text for text in said if text.startswith("long-name")}) == 2


def test_the_map_in_words() -> None:
    found = example.rut()
    said = scenario_map_alt(found)
    n = sum(row.verdict == "drop" for row in found.drops)
    assert f"{n} of 114 changes are shown to be to the worse" in said
    worst = min((row for row in found.drops if row.model == "GPT-5.4"), key=lambda row: row.estimate or 0)
    assert f"GPT-5.4 {number(100 * (worst.estimate or 0), 1, sign=True)} in {worst.scenario}, shown" in said
    assert "Columns: ideal, underspecification" in scenario_map_alt(found, show="score")


@pytest.mark.parametrize("medium", MEDIA)
@pytest.mark.parametrize(
    "make", [example.small, example.with_missing_cells, example.without_answer, example.costs], ids=lambda m: m.__name__
)
def test_few_drops_stand_in_rows_with_their_intervals(make, medium: Medium) -> None:
    found: ScenarioModel = make()
    figure = drop_forest(found, medium=medium)
    drawn = [
        tuple(np.asarray(line.get_xdata(), dtype=float))
        for line in figure.axes[0].lines
        if len(line.get_xdata()) == 2 and line.get_ydata()[0] == line.get_ydata()[1]
    ]
    expected = [
        (found.scale * row.conf_low, found.scale * row.conf_high)
        for row in found.drops
        if row.conf_low is not None and row.conf_high is not None
    ]
    assert [ends for ends in drawn if ends[0] != ends[1] and ends in expected] == expected
    said = drop_forest_alt(found)
    assert all(f"{row.model} in {row.scenario}" in said for row in found.drops)


def test_a_drop_without_a_number_says_why() -> None:
    said = texts(drop_forest(example.with_missing_cells()))
    assert "none: no score: no item of telecom was run" in said
    assert any(text.startswith("no interval: 3 items") for text in texts(drop_forest(example.without_answer())))
