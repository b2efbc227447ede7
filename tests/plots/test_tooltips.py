"""What marks say to a pointer: every row, point and cell its value and interval, where it stands, whatever it is called."""

from itertools import pairwise
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from matplotlib.figure import Figure

from evalstats import plots
from evalstats.plots.style import svg
from evalstats.plots.text import rooms
from tests.plots.gallery import GALLERY, LOOKS, PERIODS, POWERS
from tests.plots.marked import SHARED, invented, stands, tooltips, unmarked

NAME = '<img src=x onerror="x()">&\'"'


def says(figure: Figure) -> dict[str, str]:
    return {tooltip.name: tooltip.words for tooltip in tooltips(figure)}


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
def test_tooltips_lie_within_the_drawing_in_the_order_of_the_rows_and_never_overlap(size: str) -> None:
    grouped = {**ROWS, "group": ["one", "two", "two"]}
    found = tooltips(plots.forest(grouped, size=size))  # pyright: ignore[reportArgumentType] - a medium
    figure = plots.forest(grouped, size=size)  # pyright: ignore[reportArgumentType] - a medium
    tall = figure.get_size_inches()[1] * 72
    ends = [(tooltip.top, tooltip.top + tooltip.height) for tooltip in found]
    assert all(0 <= top < bottom <= tall for top, bottom in ends)
    assert all(one[1] <= other[0] + 1e-9 for one, other in pairwise(ends))
    assert found[0].mark < found[1].mark  # 1 lies left of 4


def test_a_point_says_both_values_and_stands_where_it_is_drawn() -> None:
    rows = {"model": ["a", "b"], "x": [10.0, 20.0], "y": [1.0, 3.0], "x_low": [9.0, 19.0], "x_high": [11.0, 21.0]}
    figure = plots.scatter(rows, x_title="Lab", y_title="Live", size="screen")
    assert says(figure)["a"] == "Lab 10.0 [9.0, 11.0], Live 1.00"
    axes: Any = figure.axes[0].child_axes[0]
    for tooltip, row in zip(tooltips(figure), (0, 1), strict=True):
        x, y = axes.transData.transform((rows["x"][row], rows["y"][row])) * 72 / figure.dpi
        assert tooltip.left + tooltip.width / 2 == pytest.approx(x, abs=0.5)
        assert tooltip.top + tooltip.height / 2 == pytest.approx(figure.get_size_inches()[1] * 72 - y, abs=0.5)


def test_cells_and_ranks_say_their_values() -> None:
    cells = {"model": ["a", "a"], "scenario": ["law", "art"], "estimate": [-10.0, 2.0]}
    cells |= {"conf_low": [-12.0, 0.0], "conf_high": [-8.0, 4.0]}
    assert [tooltip.words for tooltip in tooltips(plots.heatmap(cells, size="screen"))] == [
        "law, −10.0 [−12.0, −8.0]",
        "art, 2.0 [0.0, 4.0]",
    ]
    board = {"model": ["a", "b"], "estimate": [70.0, 60.0], "conf_low": [65.0, 55.0], "conf_high": [75.0, 65.0]}
    board |= {"rank_low": [1, 1], "rank_high": [1, 2]}
    assert says(plots.ranks(board, size="screen", digits=0)) == {
        "a": "70 [65, 75], rank 1",
        "b": "60 [55, 65], rank 1–2",
    }


def test_titles_are_text_whatever_they_hold() -> None:
    figure = plots.forest({**ROWS, "model": [NAME, "b", "c"]}, size="screen")
    root = ET.fromstring(svg(figure))  # noqa: S314 - our own drawing
    marks = [each for each in root.iter() if each.get("class") == "es-spot"]
    assert marks[0].get("data-name") == NAME
    assert marks[0][0].text == f"{NAME}: +1.00 [−2.00, +4.00]"
    assert not any(each.tag.endswith(("img", "script")) for each in root.iter())


def test_print_and_axes_of_others_have_none() -> None:
    assert "es-spot" not in svg(plots.forest(ROWS, size="print"), adaptive=False)
    sheet: Any = Figure()
    figure = plots.forest(ROWS, ax=sheet.add_subplot())
    assert not hasattr(figure, "tooltips")


def test_every_plot_stands_in_the_gallery() -> None:
    drawn = {draw.func.__name__ for draw in GALLERY.values()}
    assert drawn == set(dir(plots))
    assert set(SHARED) <= drawn


@pytest.mark.parametrize("size", ["screen", pytest.param("phone", marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", GALLERY)
def test_every_row_of_every_plot_has_a_mark_that_says_its_numbers_and_no_others(name: str, size: str) -> None:
    draw = GALLERY[name]
    figure, rows, plot = draw(size=size), draw.args[0], draw.func.__name__
    assert tooltips(figure)
    if plot not in SHARED:
        assert unmarked(figure, rows) == []
    assert invented(figure, rows) == []
    tall = figure.get_size_inches()[1] * 72
    for tooltip in tooltips(figure):
        assert tooltip.words
        assert 0 <= tooltip.mark <= 1
        assert -1 <= tooltip.top <= tooltip.top + tooltip.height <= tall + 1


def test_a_mark_that_says_another_number_would_be_seen() -> None:
    figure = plots.forest(ROWS, size="screen")
    assert unmarked(figure, {**ROWS, "estimate": [1.0, 4.1, None]})
    assert invented(figure, {**ROWS, "conf_high": [4.0, 6.1, None]})
    assert unmarked(plots.forest({name: own[:2] for name, own in ROWS.items()}), {**ROWS, "estimate": [1.0, 4.0, 5.0]})


def test_numbers_in_words_are_read_as_they_are_written() -> None:
    assert stands(-1144.4, "−1,144 points")
    assert stands(0.884, "88.4%")
    assert not stands(0.89, "88.4%")
    assert not stands(6.0, "model-6")


def test_looks_nearer_than_a_few_pixels_are_told_by_the_next() -> None:
    looks = tooltips(GALLERY["sequence"](size="screen"))
    rows = {f"Items {n}": place for place, n in enumerate(LOOKS["n"])}
    assert looks[-1].name == "Items 200"
    assert 50 < len(looks) < len(rows)
    for tooltip in looks:
        assert stands(LOOKS["estimate"][rows[tooltip.name]], tooltip.words)
        assert stands(LOOKS["conf_low"][rows[tooltip.name]] or 0.0, tooltip.words) == (rows[tooltip.name] > 0)


def test_points_of_lines_answer_where_they_are_drawn_and_for_themselves_alone() -> None:
    for draw, n in ((GALLERY["curves"], len(POWERS["x"])), (GALLERY["timeline"], len(PERIODS["model"]))):
        figure = draw(size="screen")
        found, tall = tooltips(figure), figure.get_size_inches()[1] * 72
        drawn = [
            (x * 72 / figure.dpi, tall - y * 72 / figure.dpi)
            for axes in figure.axes[0].child_axes
            for line in axes.lines
            if line.get_marker() in ("o", "None") and len(line.get_xdata()) > 2
            for x, y in axes.transData.transform(line.get_xydata())
        ]
        assert len(found) == n == len(drawn)
        for one, other in pairwise(sorted(found, key=lambda tooltip: (tooltip.left, tooltip.top))):
            assert one.left + one.width <= other.left + 1e-6 or one.top + one.height <= other.top + 1e-6
        inside = [
            sum(
                tooltip.left - 1 <= x <= tooltip.left + tooltip.width + 1
                and tooltip.top - 4 <= y <= tooltip.top + tooltip.height + 4
                for tooltip in found
            )
            for x, y in drawn
        ]
        assert min(inside) >= 1


def test_rooms_hold_their_points_and_never_overlap() -> None:
    points = [(float(x), float(3 * y)) for x in (5, 6, 40) for y in (2, 9, 9, 20)]
    boxes = rooms(points, (0.0, 0.0, 50.0, 70.0), (8.0, 9.0))
    for (x, y), (left, top, wide, tall) in zip(points, boxes, strict=True):
        assert 0 <= left <= x <= left + wide <= 50
        assert top - 4 <= y <= top + tall + 4
        assert tall > 1
    for k, (left, top, wide, tall) in enumerate(boxes):
        for left_, top_, wide_, tall_ in boxes[:k]:
            apart = left + wide <= left_ or left_ + wide_ <= left or top + tall <= top_ or top_ + tall_ <= top
            assert apart


def test_very_many_points_leave_the_last_of_each_line_and_very_many_levels_the_named() -> None:
    n = 70
    rows: dict[str, list[Any]] = {
        "model": [f"m{k}" for k in range(n) for _ in range(20)],
        "period": [f"{2000 + t}" for _ in range(n) for t in range(20)],
        "estimate": [float(k + t) for k in range(n) for t in range(20)],
    }
    assert {tooltip.words for tooltip in tooltips(plots.timeline(rows, size="screen"))} == {
        f"2019, {19.0 + k:.1f}" for k in range(n)
    }


def test_the_same_name_below_several_headings_is_told_apart() -> None:
    rows = {"label": ["law", "art", "law"], "group": ["m", "m", "n"], "estimate": [1.0, 2.0, 3.0]}
    assert [tooltip.words for tooltip in tooltips(plots.forest(rows, size="screen"))] == [
        "m, +1.00, no interval",
        "+2.00, no interval",
        "n, +3.00, no interval",
    ]
