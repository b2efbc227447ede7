"""The frontier plot: every system is there, with both intervals, its name or its number, and what is settled."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from evalstats.analysis.frontier.result import Frontier, FrontierRow
from evalstats.plots.frontier import frontier, frontier_alt
from evalstats.plots.style import LIGHT, SIZES, Medium, svg
from tests.plots.conftest import HOSTILE

MEDIA: tuple[Medium, ...] = ("screen", "phone", "print")


def row(name: str, estimate: float, cost: float, **changes: Any) -> FrontierRow:
    made = FrontierRow(
        name=name,
        estimate=estimate,
        cost=cost,
        on_frontier=False,
        standing="open",
        conf_low=max(estimate - 0.05, 0),
        conf_high=min(estimate + 0.05, 1),
        cost_low=cost * 0.8,
        cost_high=cost * 1.25,
        share=0.4,
        share_error=0.005,
    )
    return replace(made, **changes)


SMALL = row("small", 0.4, 0.01, on_frontier=True, standing="on the frontier", share=1.0)
LARGE = row("large", 0.8, 0.2, on_frontier=True, standing="on the frontier", share=1.0)
NEAR = row("near", 0.7, 0.25, beaten_by=("large",))
WASTE = row("waste", 0.3, 0.3, standing="dominated", share=0.0, beaten_by=("small", "large"), dominated_by=("large",))


def result_of(rows: Sequence[FrontierRow], **changes: Any) -> Frontier:
    made = Frontier(
        benchmark="bench",
        tasks=(),
        metric="correct",
        metric_kind="binary",
        higher_is_better=True,
        scale=100.0,
        score_unit="%",
        cost="cost_usd",
        cost_unit="US dollars",
        contrast="model",
        conf_level=0.95,
        rows=tuple(sorted(rows, key=lambda each: each.cost)),
        method="bootstrap",
        dominance_method="Holm",
        estimand="mean",
        n_items=100,
        n_items_any=100,
    )
    return replace(made, **changes)


@pytest.fixture
def four() -> Frontier:
    return result_of([SMALL, LARGE, NEAR, WASTE])


def crowd(n: int = 29, seed: int = 3) -> Frontier:
    rng = np.random.default_rng(seed)
    costs, scores = np.sort(10 ** rng.uniform(-3, 0, n)), rng.uniform(0.2, 0.9, n)
    return result_of([row(f"vendor/model-{k}", scores[k], costs[k]) for k in range(n)] + [SMALL])


def texts(figure: Figure) -> list[str]:
    return [text.get_text() for part in (figure, *figure.axes) for text in part.texts if text.get_text()]


def points(figure: Figure) -> dict[tuple[float, float], Any]:
    """The drawn points by their places."""
    lines = figure.axes[0].lines
    return {(float(p.get_xdata()[0]), float(p.get_ydata()[0])): p for p in lines if p.get_marker() == "o"}


def bars(figure: Figure) -> list[tuple[list[float], list[float]]]:
    return [
        (list(map(float, line.get_xdata())), list(map(float, line.get_ydata())))
        for line in figure.axes[0].lines
        if line.get_marker() == "None" and line.get_drawstyle() == "default"
    ]


def names_boxes(figure: Figure) -> dict[str, Any]:
    """Where the words in the axes stand, as they are drawn."""
    renderer = FigureCanvasAgg(figure).get_renderer()
    return {text.get_text(): text.get_window_extent(renderer) for text in figure.axes[0].texts}


@pytest.mark.parametrize("medium", MEDIA)
def test_every_system_is_a_point_at_its_cost_and_score(four: Frontier, medium: Medium) -> None:
    figure = frontier(four, medium=medium)
    expected = sorted((each.cost, each.estimate * 100) for each in four.rows)
    assert [value for point in sorted(points(figure)) for value in point] == pytest.approx(
        [value for point in expected for value in point]
    )
    assert figure.get_size_inches()[0] * 72 == pytest.approx(SIZES[medium].width)


def test_both_intervals_are_drawn_and_one_that_is_not_there_is_not(four: Frontier) -> None:
    found = bars(frontier(four))
    assert len(found) == 8
    assert any(xs == pytest.approx([0.008, 0.0125]) and ys == pytest.approx([40, 40]) for xs, ys in found)
    assert any(xs == pytest.approx([0.01, 0.01]) and ys == pytest.approx([35, 45]) for xs, ys in found)
    bare = replace(SMALL, conf_low=None, conf_high=None, cost_low=None, cost_high=None)
    assert len(bars(frontier(result_of([bare, LARGE])))) == 2
    assert len(points(frontier(result_of([bare, replace(bare, name="b", cost=0.02)])))) == 2


def test_filled_is_settled_hollow_is_not_small_and_grey_is_dominated(four: Frontier) -> None:
    found = {x: p for (x, _), p in points(frontier(four)).items()}
    assert to_hex(found[SMALL.cost].get_markerfacecolor()) == LIGHT.good
    assert to_hex(found[NEAR.cost].get_markerfacecolor()) == LIGHT.surface
    assert to_hex(found[WASTE.cost].get_markerfacecolor()) == LIGHT.muted
    assert found[WASTE.cost].get_markersize() < found[NEAR.cost].get_markersize()
    words = texts(frontier(four))
    assert {"on the frontier", "not settled", "dominated"} <= set(words)
    assert "dominated" not in texts(frontier(result_of([SMALL, LARGE, NEAR])))


def test_the_line_runs_through_the_frontier_as_stairs(four: Frontier) -> None:
    [line] = [each for each in frontier(four).axes[0].lines if each.get_drawstyle() == "steps-post"]
    assert list(line.get_xdata())[:2] == [SMALL.cost, LARGE.cost]
    assert list(line.get_ydata()) == pytest.approx([40, 80, 80])


def test_the_cost_axis_is_logarithmic_beyond_tenfold(four: Frontier) -> None:
    figure = frontier(four)
    assert figure.axes[0].get_xscale() == "log"
    assert "log scale" in figure.axes[0].get_xlabel()
    plain = frontier(result_of([replace(SMALL, cost=0.05), LARGE]))
    assert plain.axes[0].get_xscale() == "linear"
    assert "log" not in plain.axes[0].get_xlabel()
    # a cost of 0 has no logarithm
    free = replace(SMALL, cost=0.0, cost_low=None, cost_high=None)
    assert frontier(result_of([free, LARGE], cost="latency_s")).axes[0].get_xscale() == "linear"


def test_an_endless_interval_does_not_squeeze_the_rest() -> None:
    wild = replace(NEAR, cost_low=1e-9, cost_high=1e6)
    low, high = frontier(result_of([SMALL, LARGE, wild])).axes[0].get_xlim()
    assert low > SMALL.cost / 10
    assert high < NEAR.cost * 10


def test_less_is_better_turns_the_axis_over(four: Frontier) -> None:
    low, high = frontier(four).axes[0].get_ylim()
    assert low < high
    figure = frontier(replace(four, higher_is_better=False))
    low, high = figure.axes[0].get_ylim()
    assert low > high
    assert any("less is better" in text for text in texts(figure))


@pytest.mark.parametrize("medium", MEDIA)
@pytest.mark.parametrize("n", [2, 12, 29, 60])
def test_every_system_has_its_name_or_a_number_with_its_name_below(medium: Medium, n: int) -> None:
    result = crowd(n)
    words = " ".join(texts(frontier(result, medium=medium)))
    for each in result.rows:
        assert each.name.removeprefix("vendor/") in words


@pytest.mark.parametrize("medium", MEDIA)
@pytest.mark.parametrize("seed", [3, 4, 5])
def test_names_cross_no_other_name_and_no_point_and_stay_inside(medium: Medium, seed: int) -> None:
    figure = frontier(crowd(seed=seed), medium=medium)
    boxes = names_boxes(figure)
    words = {name: box for name, box in boxes.items() if not name.isdigit()}
    assert len(words) > 4
    for (one, a), (other, b) in combinations(words.items(), 2):
        assert not a.overlaps(b), (one, other)
    width, height = figure.get_size_inches() * 72
    centres = [figure.axes[0].transData.transform(point) for point in points(figure)]
    for name, box in words.items():
        assert box.x0 >= 0, name
        assert box.x1 <= width + 4, name
        assert 0 <= box.y0 < box.y1 <= height
        assert not any(box.contains(*centre) for centre in centres), name


def test_names_stand_where_they_are_at_any_resolution() -> None:
    figure = frontier(crowd())
    shares = [box.x0 / 72 for box in names_boxes(figure).values()]
    figure.set_dpi(144)
    assert [box.x0 / 144 for box in names_boxes(figure).values()] == pytest.approx(shares, rel=0.01)


def test_names_keep_their_provider_where_they_need_it() -> None:
    same = result_of([replace(SMALL, name="a/model"), replace(LARGE, name="b/model")])
    assert {"a/model", "b/model"} <= set(texts(frontier(same)))


@pytest.mark.parametrize("medium", MEDIA)
def test_hostile_and_long_names_are_text(medium: Medium) -> None:
    rows = [replace(NEAR, name=name, cost=0.1 * (k + 1)) for k, name in enumerate([*HOSTILE, "x" * 300, "a\nb"])]
    drawn = svg(frontier(result_of([SMALL, LARGE, *rows]), medium=medium))
    assert "<script>" not in drawn
    assert "&lt;script&gt;" in drawn


def test_the_same_result_gives_the_same_bytes_in_roles_of_the_palette(four: Frontier) -> None:
    first, second = (svg(frontier(four), alt=frontier_alt(four)) for _ in range(2))
    assert first == second
    assert "var(--es-good" in first
    assert "sans" not in first.lower()


def test_equal_systems_and_equal_costs_are_drawn() -> None:
    same = [replace(LARGE, name=name) for name in "abc"]
    figure = frontier(result_of(same))
    low, high = figure.axes[0].get_xlim()
    assert low < LARGE.cost < high
    assert {"a", "b", "c", "1", "2"} & set(texts(figure))


def test_the_words_for_the_figure_say_the_numbers(four: Frontier) -> None:
    alt = frontier_alt(four)
    assert "small 0.0100, 40.0 [35.0, 45.0], on the frontier in >99% of resamples" in alt
    assert "near 0.250, 70.0 [65.0, 75.0], behind the frontier, on it in 40% of resamples" in alt
    assert alt.endswith("waste 0.300, 30.0 [25.0, 35.0], dominated.")
    assert "11 more stand in the table" in frontier_alt(crowd(30))
    without = result_of([replace(each, share=None, share_error=None) for each in (SMALL, NEAR)])
    assert frontier_alt(without).endswith(
        "small 0.0100, 40.0 [35.0, 45.0], on the frontier; near 0.250, 70.0 [65.0, 75.0], behind it."
    )
