"""Slopegraphs: every line goes from a score to a score, and no name covers another."""

from dataclasses import replace

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from evalstats.plots.labels import spread
from evalstats.plots.slopegraph import MOST_LABELS, MOST_PANELS, shown_panels, slopegraph, slopegraph_alt
from evalstats.plots.style import LIGHT, Medium
from tests.analysis.scenarios import example
from tests.plots.test_scenario_map import EVERY, MEDIA, assert_words_are_apart, segments, texts


def slopes(figure: Figure, panel: int = 0) -> list[tuple[float, float, str]]:
    """Both ends of every line of a panel, and its colour."""
    found = []
    for line in figure.axes[panel].lines:
        x, y = np.asarray(line.get_xdata(), dtype=float), np.asarray(line.get_ydata(), dtype=float)
        if x.size == 2 and x[1] > x[0] and line.get_linestyle() == "-":
            found.append((float(y[0]), float(y[1]), to_hex(line.get_color())))
    return found


def test_every_line_goes_from_the_reference_to_the_scenario() -> None:
    found = example.rut()
    figure = slopegraph(found)
    assert len(figure.axes) == found.n_scenarios - 1
    for place, name in enumerate(found.scenario_names[1:]):
        expected = [
            (
                pytest.approx(100 * (found.cell(model, "ideal").estimate or 0)),
                pytest.approx(100 * (found.cell(model, name).estimate or 0)),
                {"drop": LIGHT.bad, "gain": LIGHT.good}.get(found.drop(model, name).verdict, LIGHT.neutral),
            )
            for model in found.model_names
        ]
        assert slopes(figure, place) == expected


def test_both_intervals_of_every_line_are_drawn() -> None:
    found = example.small()
    upright = [(y0, y1) for x0, x1, y0, y1 in segments(slopegraph(found)) if x0 == x1]
    expected = {(100 * (row.conf_low or 0), 100 * (row.conf_high or 0)) for row in found.cells}
    assert set(upright) == expected


def test_no_interval_hides_another_at_the_same_end() -> None:
    found = example.rut()
    figure = slopegraph(found)
    for panel in range(len(figure.axes)):
        across = [x0 for x0, x1, _, _ in segments(figure, panel) if x0 == x1]
        assert len(set(across)) == len(across) == 2 * found.n_models


@pytest.mark.parametrize(
    ("make", "medium"),
    [
        *[(make, medium) for make in EVERY[:3] for medium in MEDIA if make.__name__ != "some_scenarios"],
        *[(make, "phone") for make in EVERY],
    ],
    ids=lambda each: getattr(each, "__name__", each),
)
def test_no_name_covers_another(make, medium: Medium) -> None:
    figure = slopegraph(make(), medium=medium)
    assert_words_are_apart(figure)
    assert all(not text.get_parse_math() for axes in figure.axes for text in axes.texts)


def test_large_numbers_have_their_room() -> None:
    values = np.array([[12000.0, 15000.0, 9000.0], [800.0, 20000.0, 100.0]])
    found = example.made(values, ("a", "b"), ("ideal", "x", "y"), n_items=50)
    figure = slopegraph(found, medium="phone")
    assert "20000" in texts(figure)
    assert_words_are_apart(figure)


def test_every_name_has_its_change() -> None:
    found = example.small()
    said = texts(slopegraph(found))
    assert {"alpha", "beta", "−27.0", "−3.0"} <= set(said)


def test_lower_is_better_turns_the_axis_round() -> None:
    bottom, top = slopegraph(example.costs()).axes[0].get_ylim()
    assert bottom > top
    bottom, top = slopegraph(example.rut()).axes[0].get_ylim()
    assert bottom < top


def test_without_a_reference_lines_begin_at_the_mean() -> None:
    found = example.medium()
    starts = [start for start, _, _ in slopes(slopegraph(found))]
    assert starts == pytest.approx([100 * (row.estimate or 0) for row in found.models])


def test_cells_without_an_estimate_have_no_line() -> None:
    found = example.with_missing_cells()
    panels = dict(shown_panels(found))
    assert [slope.model for slope in panels["telecom"]] == ["north", "south", "west"]


def test_many_panels_and_many_models_are_thinned() -> None:
    found = example.random_scenarios()
    panels = shown_panels(found)
    assert len(panels) == MOST_PANELS
    sizes = {
        name: max(abs(row.estimate or 0) for row in found.drops if row.scenario == name)
        for name in found.scenario_names
    }
    starts = {row.name: row.estimate or 0 for row in found.models}
    moves = {
        name: max(abs((found.cell(model, name).estimate or 0) - starts[model]) for model in found.model_names)
        for name in sizes
    }
    assert {name for name, _ in panels} == set(sorted(moves, key=lambda name: -moves[name])[:MOST_PANELS])
    rates = np.random.default_rng(1).uniform(0.2, 0.9, (40, 2))
    many = example.made(rates, [f"model-{i:02d}" for i in range(40)], ("ideal", "other"), n_items=50)
    named = [text for text in texts(slopegraph(many)) if text.startswith("model-")]
    assert len(named) == MOST_LABELS // 2


def test_nothing_to_draw_is_an_error() -> None:
    with pytest.raises(ValueError, match="no model has a score both"):
        slopegraph(replace(example.small(), drops=()))


def test_the_slopes_in_words() -> None:
    found = example.rut()
    worse = sum(row.verdict == "drop" for row in found.drops if row.scenario == "goal_switching")
    assert f"goal_switching: {worse} of 19 models shown to be worse" in slopegraph_alt(found)


def isotonic_by_definition(levels: list[float]) -> np.ndarray:
    """The max-min formula of isotonic regression (Robertson, Wright & Dykstra 1988, theorem 1.4.4)."""
    n = len(levels)
    return np.array([max(min(np.mean(levels[a : b + 1]) for b in range(i, n)) for a in range(i + 1)) for i in range(n)])


@pytest.mark.parametrize("seed", range(5))
def test_levels_are_moved_as_little_as_possible(seed: int) -> None:
    rng = np.random.default_rng(seed)
    levels, gap = np.sort(rng.normal(0, 3, 15)), 0.8
    flat = [float(level - place * gap) for place, level in enumerate(levels)]
    expected = isotonic_by_definition(flat) + gap * np.arange(15)
    assert spread(levels.tolist(), gap, -100, 100) == pytest.approx(expected)


def test_levels_stay_inside_and_apart() -> None:
    rng = np.random.default_rng(3)
    levels = np.sort(rng.uniform(0, 10, 12)).tolist()
    moved = spread(levels, 0.7, 0.0, 10.0)
    assert min(np.diff(moved)) >= 0.7 - 1e-12
    assert moved[0] >= 0
    assert moved[-1] <= 10 + 1e-12
    assert spread(moved, 0.7, 0.0, 10.0) == pytest.approx(moved)
    assert spread([], 1.0, 0.0, 1.0) == []
