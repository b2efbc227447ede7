"""How the interval narrowed: the path is drawn as it is, with zero, margin, plan and the place where 0 was excluded."""

from dataclasses import replace

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from evalstats.analysis.compare.result import SequentialAccount
from evalstats.plots.sequential import narrowing, narrowing_alt
from evalstats.plots.style import LIGHT, Medium, svg


@pytest.fixture(scope="module")
def account() -> SequentialAccount:
    """A path that narrows like 1/sqrt(n) around +6.5 points, and excludes 0 after 119 items."""
    n = np.unique(np.geomspace(1, 600, 150).round().astype(int))
    half = np.minimum(0.8 / np.sqrt(n), 1.0)
    path = tuple((int(k), 0.065, max(0.065 - h, -1.0), min(0.065 + h, 1.0)) for k, h in zip(n, half, strict=True))
    return SequentialAccount(
        estimate=0.065,
        conf_low=path[-1][2],
        conf_high=path[-1][3],
        conf_level=0.95,
        method="betting confidence sequence",
        n_units=600,
        unit="item",
        order="timestamp",
        e_value=34.0,
        log_e=3.5,
        p_anytime=0.01,
        planned_n=None,
        path=path,
        first_crossing=152,
        n_items=600,
        metric="correct $x$",
        scale=100.0,
        unit_shown="pp",
    )


def texts(figure: Figure) -> list[str]:
    axes = figure.axes[0]
    return [text.get_text() for text in (*axes.texts, *figure.texts)] + [axes.get_xlabel()]


def long_lines(figure: Figure) -> list[tuple[np.ndarray, np.ndarray]]:
    return [
        (np.asarray(x.get_xdata()), np.asarray(x.get_ydata())) for x in figure.axes[0].lines if len(x.get_xdata()) > 2
    ]


@pytest.mark.parametrize("medium", ["screen", "phone", "print"])
def test_ends_and_mean_are_drawn_in_percentage_points(account: SequentialAccount, medium: Medium) -> None:
    drawn = long_lines(narrowing(account, medium=medium))
    expected = [[100 * point[i] for point in account.path] for i in (2, 3, 1)]
    assert len(drawn) == 3
    for (x, y), values in zip(drawn, expected, strict=True):
        assert x.tolist() == [point[0] for point in account.path]
        assert y == pytest.approx(values)


@pytest.mark.parametrize("medium", ["screen", "phone", "print"])
def test_the_numbers_of_now_and_the_order_are_written(account: SequentialAccount, medium: Medium) -> None:
    words = " | ".join(texts(narrowing(account, medium=medium)))
    assert "+6.50" in words
    assert "[+3.23, +9.77]" in words
    assert "Items, in order of finishing" in words
    assert "0 first excluded after 152 items" in words
    assert "correct $x$" in words


@pytest.mark.parametrize("medium", ["screen", "phone", "print"])
@pytest.mark.parametrize("crossing", [5, 152, 250, 420, 599])
def test_the_words_of_the_crossing_stay_inside(account: SequentialAccount, medium: Medium, crossing: int) -> None:
    figure = narrowing(replace(account, first_crossing=crossing), medium=medium)
    renderer = FigureCanvasAgg(figure).get_renderer()
    words = next(text for text in figure.axes[0].texts if "first excluded" in text.get_text())
    axes, box = figure.axes[0].get_window_extent(renderer), words.get_window_extent(renderer)
    assert box.x1 <= figure.bbox.x1
    assert box.x0 >= axes.x0 - 1


def test_zero_is_always_in_sight_and_the_first_intervals_do_not_flatten_the_rest(account: SequentialAccount) -> None:
    low, high = narrowing(account).axes[0].get_ylim()
    assert low < 0 < high
    assert high < 25
    far = replace(account, path=tuple((n, e + 0.5, lo + 0.5, hi + 0.5) for n, e, lo, hi in account.path))
    assert narrowing(far).axes[0].get_ylim()[0] < 0


def test_margin_and_plan_are_drawn_and_named(account: SequentialAccount) -> None:
    figure = narrowing(replace(account, margin=0.02, planned_n=400))
    assert "band along 0: margin ±2.00 pp; dashed: 400 items planned" in figure.axes[0].get_xlabel()
    dashed = [line for line in figure.axes[0].lines if line.get_linestyle() == "--"]
    assert [line.get_xdata()[0] for line in dashed] == [400]
    later = narrowing(replace(account, planned_n=5000))
    assert "planned" not in later.axes[0].get_xlabel()


def test_colour_says_which_side_and_only_once_it_is_decided(account: SequentialAccount) -> None:
    def colour(of: SequentialAccount) -> str:
        return str(narrowing(of).axes[0].lines[1].get_color())

    assert colour(account) == LIGHT.good
    assert colour(replace(account, higher_is_better=False)) == LIGHT.bad
    open_still = replace(account, conf_low=-0.01, first_crossing=None)
    assert colour(open_still) == LIGHT.neutral
    assert not any("first excluded" in text for text in texts(narrowing(open_still)))


def test_the_interval_written_is_the_one_reported(account: SequentialAccount) -> None:
    """Where the mean moves along the order, the intersection of the path is not what is reported."""
    moved = replace(account, conf_low=-0.03, conf_high=0.15)
    assert any("[−3.00, +15.00]" in text for text in texts(narrowing(moved)))
    bare = replace(account, conf_low=None, conf_high=None, reason="no interval")
    assert any("none" in text for text in texts(narrowing(bare)))


@pytest.mark.parametrize("points", [1, 2])
def test_a_path_of_few_points_is_still_a_figure(account: SequentialAccount, points: int) -> None:
    short = replace(account, path=account.path[:points], first_crossing=None, n_units=points)
    assert svg(narrowing(short)).startswith("<svg")


def test_without_a_path_there_is_nothing_to_draw(account: SequentialAccount) -> None:
    with pytest.raises(ValueError, match="no path"):
        narrowing(replace(account, path=()))


def test_the_svg_follows_the_page_and_the_alt_text_says_the_numbers(account: SequentialAccount) -> None:
    alt = narrowing_alt(account)
    drawn = svg(narrowing(account), alt=alt)
    assert "var(--es-good" in drawn
    assert "95% confidence sequence" in alt
    assert "after 600: +6.50 [+3.23, +9.77]" in alt
    assert "0 first excluded after 152 items" in alt
