"""What marks say to a pointer: every row, point and cell its value and interval, where it stands, whatever it is called."""

from itertools import pairwise
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from matplotlib.figure import Figure

from evalstats import plots
from evalstats.plots.canvas import ShownFigure
from evalstats.plots.style import svg

NAME = '<img src=x onerror="x()">&\'"'


def spots(figure: Figure) -> list[Any]:
    assert isinstance(figure, ShownFigure)
    return figure.spots


def says(figure: Figure) -> dict[str, str]:
    return {spot.name: spot.words for spot in spots(figure)}


ROWS: dict[str, list[Any]] = {
    "model": ["a", "b", "c"],
    "estimate": [1.0, 4.0, None],
    "conf_low": [-2.0, 2.0, None],
    "conf_high": [4.0, 6.0, None],
}


def test_a_row_says_its_number_and_interval() -> None:
    assert says(plots.forest(ROWS, size="screen")) == {
        "a": "+1.00 [−2.00, +4.00]",
        "b": "+4.00 [+2.00, +6.00]",
        "c": "no estimate",
    }


def test_words_that_give_the_interval_stand_alone_and_others_behind_it() -> None:
    worded = {**ROWS, "words": ["1 pp [−2, 4]", "7 items", "not run"]}
    assert says(plots.forest(worded, size="screen")) == {
        "a": "1 pp [−2, 4]",
        "b": "+4.00 [+2.00, +6.00], 7 items",
        "c": "not run",
    }


@pytest.mark.parametrize("size", ["screen", "phone"])
def test_spots_lie_within_the_drawing_in_the_order_of_the_rows_and_never_overlap(size: str) -> None:
    grouped = {**ROWS, "group": ["one", "two", "two"]}
    found = spots(plots.forest(grouped, size=size))  # pyright: ignore[reportArgumentType] - a medium
    figure = plots.forest(grouped, size=size)  # pyright: ignore[reportArgumentType] - a medium
    tall = figure.get_size_inches()[1] * 72
    ends = [(spot.top, spot.top + spot.height) for spot in found]
    assert all(0 <= top < bottom <= tall for top, bottom in ends)
    assert all(one[1] <= other[0] + 1e-9 for one, other in pairwise(ends))
    assert found[0].mark < found[1].mark  # 1 lies left of 4


def test_a_point_says_both_values_and_stands_where_it_is_drawn() -> None:
    rows = {"model": ["a", "b"], "x": [10.0, 20.0], "y": [1.0, 3.0], "x_low": [9.0, 19.0], "x_high": [11.0, 21.0]}
    figure = plots.scatter(rows, x_title="Lab", y_title="Live", size="screen")
    assert says(figure)["a"] == "Lab 10.0 [9.0, 11.0], Live 1.00"
    axes: Any = figure.axes[0].child_axes[0]
    for spot, row in zip(spots(figure), (0, 1), strict=True):
        x, y = axes.transData.transform((rows["x"][row], rows["y"][row])) * 72 / figure.dpi
        assert spot.left + spot.width / 2 == pytest.approx(x, abs=0.5)
        assert spot.top + spot.height / 2 == pytest.approx(figure.get_size_inches()[1] * 72 - y, abs=0.5)


def test_cells_and_ranks_say_their_values() -> None:
    cells = {"model": ["a", "a"], "scenario": ["law", "art"], "estimate": [-10.0, 2.0]}
    cells |= {"conf_low": [-12.0, 0.0], "conf_high": [-8.0, 4.0]}
    assert [spot.words for spot in spots(plots.heatmap(cells, size="screen"))] == ["law, −10.0 ±2.0", "art, 2.0 ±2.0"]
    board = {"model": ["a", "b"], "estimate": [70.0, 60.0], "conf_low": [65.0, 55.0], "conf_high": [75.0, 65.0]}
    board |= {"rank_low": [1, 1], "rank_high": [1, 2]}
    assert says(plots.ranks(board, size="screen", digits=0)) == {
        "a": "70 [65, 75], rank 1",
        "b": "60 [55, 65], rank 1–2",
    }


def test_titles_are_text_whatever_they_hold() -> None:
    figure = plots.forest({**ROWS, "model": [NAME, "b", "c"]}, size="screen")
    root = ET.fromstring(svg(figure))  # noqa: S314 - our own drawing
    rects = [each for each in root.iter() if each.get("class") == "es-spot"]
    assert rects[0].get("data-name") == NAME
    assert rects[0][0].text == f"{NAME}: +1.00 [−2.00, +4.00]"
    assert not any(each.tag.endswith(("img", "script")) for each in root.iter())


def test_print_and_axes_of_others_have_none() -> None:
    assert "es-spot" not in svg(plots.forest(ROWS, size="print"), adaptive=False)
    sheet: Any = Figure()
    figure = plots.forest(ROWS, ax=sheet.add_subplot())
    assert not hasattr(figure, "spots")
