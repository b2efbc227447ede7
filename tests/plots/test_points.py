"""Scatter and frontier: every point with both intervals, and names that cover nothing."""

from itertools import pairwise

import numpy as np

from evalstats.plots import frontier, scatter
from tests.plots.drawing import assert_words_stand_apart, panels, points, texts
from tests.plots.gallery import COSTS, LINE, POINTS


def test_every_point_is_where_its_row_says() -> None:
    axes = panels(scatter(POINTS))[0]
    assert sorted(points(axes)) == sorted(zip(POINTS["x"], POINTS["y"], strict=True))


def test_both_intervals_of_every_point_are_drawn() -> None:
    axes = panels(scatter(POINTS))[0]
    lines = [(list(line.get_xdata()), list(line.get_ydata())) for line in axes.lines if len(line.get_xdata()) == 2]
    for k in range(12):
        assert ([POINTS["x_low"][k], POINTS["x_high"][k]], [POINTS["y"][k]] * 2) in lines
        assert ([POINTS["x"][k]] * 2, [POINTS["y_low"][k], POINTS["y_high"][k]]) in lines


def test_the_line_and_its_band_are_the_rows_given() -> None:
    axes = panels(scatter(POINTS, line=LINE))[0]
    assert any(list(line.get_ydata()) == LINE["estimate"] for line in axes.lines)
    box = axes.collections[0].get_paths()[0].get_extents()
    assert (box.y0, box.y1) == (35.0, 79.0)


def test_strong_points_are_always_named_or_numbered_below() -> None:
    crowd = {
        "model": [f"vendor/model-{k}" for k in range(40)],
        "x": np.random.default_rng(1).normal(50, 2, 40).tolist(),
        "y": np.random.default_rng(2).normal(50, 2, 40).tolist(),
        "strong": [k < 6 for k in range(40)],
    }
    figure = scatter(crowd, size=5)
    said = " ".join(texts(figure)).replace("\N{NO-BREAK SPACE}", " ")
    assert all(f"model-{k}" in said for k in range(6))
    assert_words_stand_apart(figure)


def test_less_may_be_better() -> None:
    axes = panels(scatter(POINTS, reverse_x=True, reverse_y=True))[0]
    assert axes.get_xlim()[0] > axes.get_xlim()[1]
    assert axes.get_ylim()[0] > axes.get_ylim()[1]


def test_points_without_intervals_are_diamonds() -> None:
    axes = panels(scatter({"model": ["a"], "x": [1.0], "y": [2.0]}))[0]
    assert points(axes, "D") == [(1.0, 2.0)]


def test_the_frontier_is_stairs_through_its_points_to_the_edge() -> None:
    axes = panels(frontier(COSTS))[0]
    (shaded,) = axes.collections
    best = sorted((c, e) for c, e, on in zip(COSTS["cost"], COSTS["estimate"], COSTS["on_frontier"], strict=True) if on)
    corners = {tuple(corner) for corner in shaded.get_paths()[0].vertices.tolist()}
    assert {*best, *((after[0], before[1]) for before, after in pairwise(best))} <= corners
    assert (axes.get_xlim()[1], best[-1][1]) in corners


def test_costs_that_differ_tenfold_stand_on_a_logarithmic_axis() -> None:
    assert panels(frontier(COSTS))[0].get_xscale() == "log"
    near = COSTS | {"cost": [1.0 + 0.1 * k for k in range(12)], "cost_low": [None] * 12, "cost_high": [None] * 12}
    assert panels(frontier(near))[0].get_xscale() == "linear"


def test_costs_of_nothing_are_drawn() -> None:
    assert points(panels(frontier({"model": ["a"], "cost": [0], "estimate": [1], "on_frontier": [True]}))[0], "D")
