"""Moves, bars, curves, sequences and levels: each mark is where its row says."""

import pytest

from evalstats import plots
from evalstats.errors import InputError
from tests.plots.drawing import intervals, panels, points, texts
from tests.plots.gallery import (
    COVER,
    LEVELS,
    LOOKS,
    MOVES,
    ORDERS,
    PERIODS,
    POWER_GOALS,
    POWER_MARKS,
    POWERS,
    SHARES,
    SUMS,
)


def test_a_move_runs_from_its_start_to_its_end() -> None:
    axes = panels(plots.dumbbell(MOVES))[0]
    moved = [(a, b) for a, b in zip(MOVES["start"], MOVES["estimate"], strict=True) if a != b]
    assert [ends for ends in intervals(axes) if ends in moved] == moved


def test_a_bar_is_as_long_as_its_number() -> None:
    axes = panels(plots.bars(SHARES))[0]
    found = [each.get_paths()[0].get_extents() for each in axes.collections]
    assert [box.x1 for box in found] == pytest.approx(SHARES["estimate"])
    assert {box.x0 for box in found} == {0.0}


def test_what_has_no_first_number_is_loud() -> None:
    axes = panels(plots.dumbbell(COVER))[0]
    assert [x for x, _ in points(axes, "s")] == [40, 30, 20, 10]
    assert [x for x, _ in points(axes, "X")] == [0, 0, 0, 0]
    assert [x for x, _ in points(axes, "o")] == COVER["estimate"]


def test_lines_and_marks_are_where_their_rows_say() -> None:
    figure = plots.curves(POWERS, goals=POWER_GOALS, marks=POWER_MARKS)
    first, second = panels(figure)
    for axes, half in ((first, slice(0, 9)), (second, slice(9, 18))):
        curve = next(line for line in axes.lines if len(line.get_xdata()) == 9)
        assert list(curve.get_xdata()) == POWERS["x"][half]
        assert list(curve.get_ydata()) == POWERS["estimate"][half]
    assert points(second, "o") == [(POWER_MARKS["x"][1], POWER_MARKS["estimate"][1])]
    assert {"80% power", "524 items: 83%", "5.00 asked for"} <= set(texts(figure))


def test_lines_differ_in_more_than_colour() -> None:
    axes = panels(plots.curves(ORDERS))[0]
    looks = [(line.get_color(), line.get_linestyle(), line.get_marker()) for line in axes.lines]
    assert len(set(looks)) == len({marker for _, _, marker in looks}) == 6


def test_the_path_of_a_sequence_and_where_it_leaves_zero_out() -> None:
    axes = panels(plots.sequence(LOOKS, crossing=140, crossing_words="0 first excluded", margin=5.0))[0]
    path = [line for line in axes.lines if len(line.get_xdata()) == 200]
    assert list(path[-1].get_ydata()) == LOOKS["estimate"]
    assert points(axes, "D") == [(140.0, 0.0)]
    low, high = axes.get_ylim()
    assert -40 < low < -10 < 20 < high < 60  # the first intervals do not set the axis


def test_a_timeline_names_the_strong_ones() -> None:
    figure = plots.timeline(PERIODS)
    assert len(panels(figure)[0].lines) == 12
    assert sum("…" in text or "name" in text for text in texts(figure)) == 2
    assert {"2025-01", "2025-08"} <= set(texts(figure))


def test_levels_are_a_forest_and_of_many_its_ends() -> None:
    few = plots.caterpillar({name: column[:9] for name, column in LEVELS.items()})
    assert [x for x, _ in points(panels(few)[0])] == pytest.approx(LEVELS["estimate"][:9][::-1])
    figure = plots.caterpillar(LEVELS)
    said = texts(figure)
    assert [text for text in said if text.startswith("an-item")] == [
        f"an-item-with-a-long-name-{k}" for k in (*range(79, 66, -1), *range(12, -1, -1))
    ]
    assert "item: the 13 highest and lowest of 80 levels" in said


def test_a_sum_runs_in_its_band_and_its_stretch_is_shaded() -> None:
    axes = panels(plots.cumulative(SUMS, stretch=(61, 90)))[0]
    line = next(
        line for line in axes.lines if len(line.get_xdata()) == 121 and list(line.get_ydata()) == SUMS["estimate"]
    )
    assert list(line.get_xdata()) == SUMS["n"]
    edges = [list(each.get_ydata()) for each in axes.lines]
    assert SUMS["conf_low"] in edges
    assert SUMS["conf_high"] in edges
    shaded = [
        each.get_extents()
        for patch in axes.patches
        for each in [patch.get_path().transformed(patch.get_patch_transform())]
    ]
    assert any((box.x0, box.x1) == (60, 90) for box in shaded)


def test_a_sum_without_a_band_is_drawn_and_one_without_numbers_refused() -> None:
    axes = panels(plots.cumulative({"n": [0, 1, 2], "estimate": [0.0, 1.0, 1.0]}))[0]
    assert not axes.collections
    with pytest.raises(InputError, match="no row has both"):
        plots.cumulative({"n": [0, 1], "estimate": [None, None]})


def test_no_band_is_cut_at_the_top() -> None:
    rows = {"x": [10, 100], "estimate": [1.0, 0.5], "conf_low": [0.5, 0.2], "conf_high": [3.0, 1.0]}
    (axes,) = panels(plots.curves(rows))
    assert axes.get_ylim()[1] >= 3.0
