"""Where words stand, by a renderer's boxes: on no point, across no line, near their marks, whole where there is room."""

from typing import Any

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from evalstats import plots
from tests.plots.drawing import all_axes, assert_words_stand_apart, covered_marks, panels, struck_names, texts
from tests.plots.gallery import ALIKE, GALLERY, POINTS

pytestmark = pytest.mark.filterwarnings("ignore:Glyph .* missing from font:UserWarning")

# Small axes, ordinary ones, low ones, upright ones.
AXES = (
    (4, 2.5),
    pytest.param((6.4, 4.8), marks=pytest.mark.slow),
    pytest.param((10, 3), marks=pytest.mark.slow),
    pytest.param((3.2, 4), marks=pytest.mark.slow),
)
ONE = {
    "label": ["All items"],
    "detail": ["75 items"],
    "estimate": [5.5],
    "conf_low": [3.3],
    "conf_high": [7.8],
    "strong": [True],
}


def on_axes(draw: Any, inches: tuple[float, float]) -> tuple[Figure, Any]:
    figure = Figure(figsize=inches, dpi=200)  # tiny letters are rounded to whole pixels
    axes = figure.subplots()
    draw(ax=axes)
    return figure, axes


def middle(figure: Figure, words: str) -> float:
    """How far up a text stands, in inches."""
    renderer = FigureCanvasAgg(figure).get_renderer()
    (text,) = (text for axes in all_axes(figure) for text in axes.texts if text.get_text() == words)
    box = text.get_window_extent(renderer)
    return (box.y0 + box.y1) / 2 / figure.dpi


@pytest.mark.parametrize("inches", AXES, ids=str)
@pytest.mark.parametrize("name", GALLERY)
def test_words_on_axes_of_any_size_stand_apart_and_on_no_point(name: str, inches: tuple[float, float]) -> None:
    figure, axes = on_axes(GALLERY[name], inches)
    assert_words_stand_apart(figure, axes)
    assert covered_marks(figure, axes) == []


@pytest.mark.parametrize("size", [None, 3, 5, 6.7, 8, 12, "screen", "phone", "print"], ids=str)
def test_the_name_of_a_single_row_is_whole(size: Any) -> None:
    assert "All items" in texts(plots.forest(ONE, title="new minus old", size=size))


def test_names_are_whole_where_marks_leave_room() -> None:
    rows = {"label": ["paired t", "cluster percentile bootstrap, exact law"], "estimate": [1, 2], "conf_low": [0, 1]}
    assert rows["label"][1] in texts(plots.forest({**rows, "conf_high": [2, 3]}))


@pytest.mark.parametrize("inches", [(6.4, 4.8), (4, 2.5), (8, 8), (16, 9)], ids=str)
@pytest.mark.parametrize("draw", [plots.forest, plots.bars], ids=lambda draw: draw.__name__)
def test_a_name_stands_near_its_mark_on_axes_of_any_height(draw: Any, inches: tuple[float, float]) -> None:
    figure, _ = on_axes(lambda ax: draw(ONE, ax=ax), inches)
    if draw is plots.forest:
        (panel,) = panels(figure)
        (mark,) = [line for line in panel.lines if line.get_marker() == "o"]
        up = mark.get_transform().transform(np.column_stack(mark.get_data()))[0, 1] / figure.dpi
    else:
        box = panels(figure)[0].collections[0].get_window_extent()
        up = (box.y0 + box.y1) / 2 / figure.dpi
    assert abs(up - middle(figure, "All items")) < 0.5


@pytest.mark.parametrize("inches", [None, *AXES], ids=str)
def test_every_point_is_named_across_no_line(inches: Any) -> None:
    """By its name, or by a number that stands below with the name."""
    for n in (2, 4, 8, 12):
        rows = {name: column[:n] for name, column in POINTS.items()}
        rows["model"] = [f"model-{k:02}" for k in range(n)]
        draw = lambda ax=None, rows=rows: plots.scatter(rows, identity="the same", x_title="lab", y_title="live", ax=ax)  # noqa: E731
        figure, axes = (draw(), None) if inches is None else on_axes(draw, inches)
        written = texts(figure)
        assert [name for name in rows["model"] if not any(name in words for words in written)] == []
        assert struck_names(figure, set(rows["model"]), axes) == []
        assert covered_marks(figure, axes) == []
        assert_words_stand_apart(figure, axes)


def test_thirty_points_are_all_named() -> None:
    draw = np.random.default_rng(2)
    x = draw.uniform(20, 90, 30)
    y = 0.8 * x + draw.normal(0, 6, 30)
    rows = {"model": [f"model-{k}" for k in range(30)], "x": x, "y": y, "y_low": y - 4, "y_high": y + 4}
    figure = plots.scatter(rows, identity="the same")
    words = " ".join(texts(figure)).replace(";", "").split()
    assert set(rows["model"]) <= set(words)
    assert struck_names(figure, set(rows["model"])) == []


def test_points_on_each_other_have_names_of_their_own() -> None:
    rows = {"model": list(ALIKE[:6]), "x": [1.0] * 6, "y": [1.0, 1.0, 1.0, 1.0, 1.0, 2.0]}
    figure = plots.scatter(rows, size=5)
    assert_words_stand_apart(figure)
    written = " ".join(texts(figure))
    assert all(f"name-{k}-" in written for k in range(6))
