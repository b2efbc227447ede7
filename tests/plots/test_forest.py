"""The forest plot: everything is drawn, everything says its own numbers, nothing is left out."""

import re
from collections.abc import Callable
from dataclasses import replace

import pytest
from matplotlib.figure import Figure

from evalstats.analysis.results import Comparison, GroupRow
from evalstats.plots.forest import MOST_GROUPS, digits_of, forest, shown_groups, why_none
from evalstats.plots.intervals import Row, Scale, intervals, shortened
from evalstats.plots.style import Medium


def texts(figure: Figure) -> list[str]:
    return [text.get_text() for text in figure.axes[0].texts if text.get_text()]


def lines(figure: Figure) -> list[tuple[float, float]]:
    """Ends of the horizontal lines: the intervals."""
    found = []
    for line in figure.axes[0].lines:
        x, y = line.get_xdata(), line.get_ydata()
        if len(x) == 2 and y[0] == y[1] and x[0] != x[1] and line.get_transform() == figure.axes[0].transData:
            found.append((float(x[0]), float(x[1])))
    return found


def test_the_headline_is_drawn_in_percentage_points(tenacious: Comparison) -> None:
    assert lines(forest(tenacious)) == [(pytest.approx(34.62), pytest.approx(63.25))]


def test_overall_comes_first_then_every_group(grouped: Comparison) -> None:
    figure = forest(grouped)
    labels = [text for text in texts(figure) if text in {"All items", *(group.level for group in grouped.groups)}]
    assert labels[0] == "All items"
    assert labels[1:] == [group.level for group in shown_groups(grouped)]
    assert len(lines(figure)) == 1 + 5  # two of the seven groups have no interval


def test_every_interval_is_inside_the_axis(grouped: Comparison) -> None:
    figure = forest(grouped)
    low, high = figure.axes[0].get_xlim()
    assert all(low <= start and end <= high for start, end in lines(figure))


@pytest.mark.parametrize("medium", ["screen", "phone", "print"])
def test_numbers_stand_beside_the_intervals(grouped: Comparison, medium: Medium) -> None:
    found = texts(forest(grouped, medium=medium))
    assert "+48.84 [+34.62, +63.25]" in found
    assert "−66.00 [−96.00, −36.00]" in found


@pytest.mark.parametrize("medium", ["screen", "phone", "print"])
def test_a_row_without_an_interval_says_why(grouped: Comparison, medium: Medium) -> None:
    found = texts(forest(grouped, medium=medium))
    assert "no interval: 3 clusters" in found
    assert "no estimate: 1 item" in found


def test_sides_are_named_in_words(tenacious: Comparison) -> None:
    figure = forest(tenacious)
    places = {text.get_text(): text.get_position()[0] for text in figure.axes[0].texts}
    assert places["← baseline better"] < places["candidate better →"]


def test_sides_change_where_lower_is_better(tenacious: Comparison) -> None:
    found = texts(forest(replace(tenacious, higher_is_better=False)))
    assert "baseline better →" in found
    assert "← candidate better" in found


def test_the_declared_margin_is_a_band_with_its_size(grouped: Comparison) -> None:
    figure = forest(grouped)
    band = figure.axes[0].collections[0].get_paths()[0].get_extents()
    assert (band.x0, band.x1) == (pytest.approx(-5), pytest.approx(5))
    assert "margin ±5.00" in texts(figure)
    assert not forest(replace(grouped, margin=None)).axes[0].collections


def test_filled_points_are_settled(grouped: Comparison) -> None:
    points = [line for line in forest(grouped).axes[0].lines if line.get_marker() in {"o", "D"}]
    filled = [point.get_markerfacecolor() == point.get_markeredgecolor() for point in points]
    decided = [group.verdict in ("better", "worse") for group in shown_groups(grouped) if group.estimate is not None]
    assert filled == [True, *decided]


def test_many_groups_are_cut_to_the_largest(tenacious: Comparison, group: Callable[..., GroupRow]) -> None:
    groups = tuple(group(f"g{n:02d}", n + 1, 0.0, 0.1) for n in range(MOST_GROUPS + 5))
    shown = shown_groups(replace(tenacious, by="g", groups=groups))
    assert len(shown) == MOST_GROUPS
    assert min(row.n_items for row in shown) == 6


def test_a_comparison_without_any_interval_is_still_a_figure(tenacious: Comparison) -> None:
    bare = replace(
        tenacious, conf_low=None, conf_high=None, estimate=None, verdict="invalid", verdict_reason="no items"
    )
    assert "no estimate: no items" in texts(forest(bare))


def test_long_names_are_shortened_to_their_room(tenacious: Comparison, group: Callable[..., GroupRow]) -> None:
    long = replace(tenacious, by="g", groups=(group("x" * 500, 3, 0.0, 0.1),))
    cut = [text for text in texts(forest(long)) if text.startswith("xxx")]
    assert len(cut) == 1
    assert cut[0].endswith("…")
    assert len(cut[0]) < 40


def test_axis_names_metric_direction_and_unit(tenacious: Comparison) -> None:
    title = re.sub(r"\s+", " ", forest(tenacious).axes[0].get_xlabel())
    assert title == "Difference in correct, candidate minus baseline (percentage points)"


@pytest.mark.parametrize(
    ("half", "digits"),
    [(0.143, 2), (0.0142, 2), (0.000142, 3), (0.0000142, 4), (0.0, 2)],
)
def test_two_decimals_and_more_only_where_two_say_nothing(tenacious: Comparison, half: float, digits: int) -> None:
    assert digits_of(replace(tenacious, conf_low=0.5 - half, conf_high=0.5 + half)) == digits


def test_the_reason_prefers_the_count_of_clusters() -> None:
    assert why_none(12, 3, "too few") == "3 clusters"
    assert why_none(12, 8, "too few") == "too few"
    assert why_none(12, None, "") == "12 items"


def test_a_plot_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one row"):
        intervals([], Scale(title="x"))


def test_an_axis_without_zero_does_not_reach_for_it() -> None:
    figure = intervals(
        [Row(label="a", words="90 [85, 95]", estimate=90, low=85, high=95)], Scale(title="%", zero=False)
    )
    assert figure.axes[0].get_xlim()[0] > 80


def test_shortened_never_grows_and_keeps_one_line() -> None:
    assert shortened("a\nb", 10) == "a b"
    assert len(shortened("abcdef", 3)) == 3
