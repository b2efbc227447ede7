"""Random effects, shares of variation and reliability: what is drawn is what the result holds."""

from dataclasses import replace

import numpy as np
import pytest
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.figure import Figure

from evalstats.analysis.scenarios.results import Needed, ScenarioModel
from evalstats.plots.caterpillar import (
    MOST_NAMED,
    MOST_PANELS,
    MOST_WHISKERS,
    caterpillar,
    caterpillar_alt,
    shown_effects,
)
from evalstats.plots.dstudy import count_ticks, dstudy, dstudy_alt, needed_words, shown_curves
from evalstats.plots.style import Medium
from evalstats.plots.variance_shares import variance_shares, variance_shares_alt
from tests.analysis.scenarios import example
from tests.plots.test_scenario_map import MEDIA, assert_words_are_apart, texts


def whiskers(figure: Figure) -> list[tuple[float, float]]:
    """Ends of the upright lines of a panel of many levels, from left to right."""
    found = [
        (float(segment[0][0]), float(segment[0][1]), float(segment[1][1]))
        for each in figure.axes[0].collections
        if isinstance(each, LineCollection)
        for segment in each.get_segments()
        if segment[0][0] == segment[1][0]
    ]
    return [(low, high) for _, low, high in sorted(found)]


def level_lines(figure: Figure) -> list[tuple[float, float]]:
    return [
        (float(line.get_xdata()[0]), float(line.get_xdata()[1]))
        for line in figure.axes[0].lines
        if len(line.get_xdata()) == 2 and line.get_ydata()[0] == line.get_ydata()[1]
    ]


# --- caterpillar ---


@pytest.mark.parametrize("medium", MEDIA)
def test_many_levels_are_whiskers_in_their_order_with_the_ends_named(medium: Medium) -> None:
    found = example.random_scenarios()
    rows = sorted(found.effects, key=lambda row: row.estimate)
    figure = caterpillar(found, medium=medium)
    assert whiskers(figure) == [(row.conf_low, row.conf_high) for row in rows]
    named = [text for text in texts(figure) if text.startswith("env_") and text != "env_id"]
    assert sorted(named) == sorted(row.level for row in [*rows[:4], *rows[-4:]])
    assert_words_are_apart(figure)


@pytest.mark.parametrize("medium", MEDIA)
def test_few_levels_are_rows_with_their_names(medium: Medium) -> None:
    found = example.random_scenarios(12)
    rows = sorted(found.effects, key=lambda row: -row.estimate)
    figure = caterpillar(found, medium=medium)
    drawn = np.array(level_lines(figure))
    true = np.array([(row.conf_low, row.conf_high) for row in rows])
    slope, start = np.polyfit(true.ravel(), drawn.ravel(), 1)
    assert drawn == pytest.approx(start + slope * true)
    assert slope > 0
    assert [text for text in texts(figure) if text.startswith("env_") and text != "env_id"] == [
        row.level for row in rows
    ]
    assert_words_are_apart(figure)


def test_very_many_levels_are_a_band() -> None:
    found = example.random_scenarios(MOST_WHISKERS + 1)
    figure = caterpillar(found)
    assert any(isinstance(each, PolyCollection) for each in figure.axes[0].collections)
    assert all(low == high for low, high in whiskers(figure))
    assert len(figure.axes[0].lines[0].get_xdata()) == MOST_WHISKERS + 1


def test_at_most_four_effects_the_smallest_first() -> None:
    found = example.random_scenarios(MOST_NAMED)
    groups = [
        tuple(replace(row, group=f"g{group}") for row in found.effects[: 10 + group]) for group in (5, 1, 4, 2, 3)
    ]
    shown = shown_effects(replace(found, effects=sum(groups, ())))
    assert [each.title for each in shown] == ["g1", "g2", "g3", "g4"]
    assert len(shown) == MOST_PANELS
    slope = tuple(replace(row, column="turn") for row in found.effects)
    assert [each.title for each in shown_effects(replace(found, effects=slope))] == ["turn by env_id"]


def test_levels_in_words() -> None:
    found = example.random_scenarios()
    apart = sum(row.conf_low > 0 or row.conf_high < 0 for row in found.effects)
    assert f"40 levels, {apart} with an interval that leaves out 0" in caterpillar_alt(found)
    with pytest.raises(ValueError, match="no levels"):
        caterpillar(example.small())


# --- shares ---


@pytest.mark.parametrize("medium", MEDIA)
@pytest.mark.parametrize("make", [example.random_scenarios, example.small, example.singular], ids=lambda m: m.__name__)
def test_bars_are_as_long_as_the_shares(make, medium: Medium) -> None:
    found: ScenarioModel = make()
    figure = variance_shares(found, medium=medium)
    lengths = [
        float(each.get_paths()[0].get_extents().width)
        for each in figure.axes[0].collections
        if isinstance(each, PolyCollection)
    ]
    shares = np.array([row.share for row in found.variances], dtype=float)
    assert lengths == pytest.approx(shares * lengths[-1] / shares[-1])
    assert_words_are_apart(figure)


def test_a_variance_of_zero_says_so() -> None:
    said = texts(variance_shares(example.singular()))
    assert said.count("estimated as 0") == 1
    assert "estimated as 0" in variance_shares_alt(example.singular())
    with pytest.raises(ValueError, match="no shares"):
        variance_shares(example.without_answer())


# --- reliability ---


def test_the_curve_is_that_of_the_result() -> None:
    found = example.rut()
    (curve,) = shown_curves(found)
    axes = dstudy(found).axes[0]
    drawn = [line for line in axes.lines if len(line.get_xdata()) == len(curve.points)]
    assert [list(line.get_xdata()) for line in drawn] == [[point.n for point in curve.points]] * 2
    assert list(drawn[0].get_ydata()) == [point.relative for point in curve.points]
    assert list(drawn[1].get_ydata()) == [point.absolute for point in curve.points]
    assert axes.get_xscale() == "log"


def test_what_the_target_takes_is_a_point_on_it() -> None:
    found = example.rut()
    assert found.reliability is not None
    axes = dstudy(found).axes[0]
    points = [(int(line.get_xdata()[0]), float(line.get_ydata()[0])) for line in axes.lines if line.get_marker() == "o"]
    expected = [(each.n, each.target) for each in found.reliability.needed if each.n is not None]
    assert points == expected
    said = texts(dstudy(found))
    assert all(f"{n:,}" in said for n, _ in expected)


@pytest.mark.parametrize("medium", MEDIA)
def test_two_facets_are_two_panels(medium: Medium) -> None:
    found = example.rut()
    assert found.reliability is not None
    trials = tuple(replace(point, facet="trial") for point in found.reliability.curve[:5])
    both = replace(found, reliability=replace(found.reliability, curve=(*found.reliability.curve, *trials)))
    figure = dstudy(both, medium=medium)
    assert [axes.get_label() for axes in figure.axes] == ["item", "trial"]
    assert_words_are_apart(figure)


def test_numbers_needed_in_words() -> None:
    found = example.rut()
    assert found.reliability is not None
    said = needed_words(found.reliability)
    assert said[0] == "27 items give a relative reliability of 0.9."
    assert "there is one trial: its part is not known" in said[2]
    one = replace(found.reliability, needed=(Needed(kind="absolute", target=0.8, facet="item", n=1),))
    assert needed_words(one) == ["1 item gives an absolute reliability of 0.8."]
    assert "by item: 1: 0.25 and 0.15" in dstudy_alt(found)
    with pytest.raises(ValueError, match="no curve"):
        dstudy(example.without_answer())


@pytest.mark.parametrize(("low", "high"), [(1, 2), (1, 500), (20, 30), (7, 100_000), (3, 9)])
def test_ticks_are_inside_and_few(low: int, high: int) -> None:
    ticks = count_ticks(low, high, 6)
    assert 2 <= len(ticks) <= 6
    assert all(low <= tick <= high for tick in ticks)
    assert ticks == sorted(ticks)
