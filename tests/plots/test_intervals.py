"""Rows of intervals: each is drawn where its numbers say, and says them."""

from itertools import pairwise

import pytest
from matplotlib.colors import to_hex

from evalstats.plots import forest, ranks
from evalstats.plots.rank_sets import rank_ticks
from evalstats.plots.style import LIGHT
from evalstats.plots.text import fitted_names, text_width
from tests.plots.drawing import intervals, panels, points, texts
from tests.plots.gallery import ALIKE, DIFFERENCES, RANKS, RATINGS


def test_every_interval_and_every_point_is_where_its_row_says() -> None:
    axes = panels(forest(DIFFERENCES))[0]
    rows = list(zip(DIFFERENCES["conf_low"], DIFFERENCES["conf_high"], strict=True))
    assert intervals(axes) == [row for row in rows if row[0] is not None]
    assert [x for x, _ in points(axes)] == [value for value in DIFFERENCES["estimate"] if value is not None]
    heights = [y for _, y in points(axes)]
    assert heights == sorted(heights)


def test_a_row_without_an_estimate_stays_and_says_so() -> None:
    assert "no estimate" in texts(forest(DIFFERENCES))
    assert "1.00, no interval" in " ".join(texts(forest({"model": ["a"], "estimate": [1.0]}))).replace("+", "")


def test_settled_points_are_filled_in_their_tone() -> None:
    axes = panels(forest(DIFFERENCES))[0]
    faces = [to_hex(line.get_markerfacecolor()) for line in axes.lines if line.get_marker() == "o"]
    assert faces == [LIGHT.good] * 3 + [LIGHT.surface] * 2 + [LIGHT.bad]


def test_the_reference_settles_where_nothing_else_is_said() -> None:
    rows = {"model": ["a", "b"], "estimate": [2.0, 2.0], "conf_low": [1.5, 0.5], "conf_high": [3.0, 3.0]}
    axes = panels(forest(rows, reference=1.0, log=True))[0]
    faces = [to_hex(line.get_markerfacecolor()) for line in axes.lines if line.get_marker() == "o"]
    assert faces == [LIGHT.neutral, LIGHT.surface]
    assert axes.get_xscale() == "log"


def test_the_margin_is_a_band_around_the_reference() -> None:
    axes = panels(forest(DIFFERENCES, margin=5.0))[0]
    box = axes.collections[0].get_paths()[0].get_extents()
    assert (box.x0, box.x1) == (pytest.approx(-5), pytest.approx(5))


def test_bounds_limit_the_axis() -> None:
    low, high = panels(forest(DIFFERENCES, bounds=(-100, 100)))[0].get_xlim()
    assert -120 < low <= -96
    assert 100 < high < 120


def test_parts_have_headings() -> None:
    found = texts(forest(RATINGS, reference=None))
    assert [text for text in found if text.startswith("Part")] == ["Part 1: 8 models", "Part 2: 4 models"]


@pytest.mark.parametrize("size", [8, 5, 4])
def test_names_that_differ_stay_different(size: float) -> None:
    found = texts(forest(RATINGS, reference=None, size=size))
    assert len({text for text in found if "…" in text or "name" in text}) == len(ALIKE)


def test_names_are_cut_to_their_room_and_never_alike() -> None:
    for room in (300, 120, 60, 30):
        cut = fitted_names(ALIKE, room, 10)
        assert len(set(cut)) == len(ALIKE)
        assert room < 60 or all(text_width(name, 10) <= room for name in cut)


def test_rank_sets_cover_half_a_place_on_either_side() -> None:
    axes = panels(ranks(RANKS))[1]
    found = [each.get_paths()[0].get_extents() for each in axes.collections if each.get_alpha() is not None]
    wide = [(box.x0, box.x1) for box in found if box.height > 8]
    assert wide == [(low - 0.5, high + 0.5) for low, high in zip(RANKS["rank_low"], RANKS["rank_high"], strict=True)]
    assert [x for x, _ in points(axes)] == RANKS["rank"]


def test_a_model_that_may_be_best_is_bold_and_coloured() -> None:
    figure = ranks(RANKS)
    bold = [text.get_text() for text in figure.axes[0].texts if text.get_weight() == "bold"]
    assert sum("…" in text or "name" in text for text in bold) == 2
    assert intervals(panels(figure)[0])[0] == (86.0, 93.0)


def test_a_model_without_ranks_says_so() -> None:
    found = texts(ranks({"model": ["a", "b"], "rank_low": [1, None], "rank_high": [1, None]}))
    assert "no rank" in found


def test_ticks_of_ranks_keep_their_distance() -> None:
    assert rank_ticks(100) == [1, 20, 40, 60, 80, 100]


def test_a_digest_that_all_names_end_in_is_cut_before_the_models() -> None:
    models = ["Qwen1.5-72B-Chat", "Qwen1.5-72B-Chat-greedy", "gemma-7b-it", "gemma-2b-it"]
    names = [f"scores_long.v2.0522.gpt-4o-2024-05-13.{model}~bc353ae9" for model in models]
    assert fitted_names(names, 170, 10) == [f"…{model}…" for model in models]


@pytest.mark.parametrize("high", [1300.0, 1465.0])
def test_numbers_of_two_axes_do_not_join(high: float) -> None:
    rows = {"model": ["a", "b"], "estimate": [1000.0, 700.0], "conf_low": [900.0, 688.0], "conf_high": [high, 800.0]}
    figure = ranks({**rows, "rank_low": [1, 1], "rank_high": [59, 59]}, digits=0, size="phone")
    figure.canvas.draw()
    boxes = [
        label.get_window_extent()
        for axes in panels(figure)
        for label in axes.get_xticklabels()
        if label.get_text() and label.get_visible()
    ]
    assert len(boxes) > 3
    boxes = sorted(boxes, key=lambda box: box.x0)
    assert all(one.x1 + 2 < other.x0 for one, other in pairwise(boxes))
