"""Figures of results: the rows are the result's numbers as they are shown, and the alt text is one sentence."""

from collections.abc import Iterable, Iterator

import pytest
from matplotlib.figure import Figure as Sheet

from evalstats import datasets
from evalstats.analysis.compare import figures as compared
from evalstats.analysis.compare.compare import compare
from evalstats.analysis.drawn import draw
from evalstats.analysis.leaderboard import figures as board
from evalstats.analysis.leaderboard.leaderboard import leaderboard
from evalstats.document.model import Figure
from evalstats.report.page import figure_data
from tests.analysis.arena import example_ranking
from tests.analysis.gap import example_gap
from tests.analysis.scenarios import example as example_scenarios
from tests.plots.drawing import assert_words_stand_apart, covered_marks, struck_names
from tests.plots.marked import SHARED, invented, unmarked

pytestmark = pytest.mark.filterwarnings("ignore:Glyph .* missing from font:UserWarning")


EXAMPLES = (
    *((example_gap, name) for name in ("one_scale", "votes", "without_errors", "invalid", "aligned", "hostile")),
    *((example_ranking, name) for name in ("disconnected", "troubled", "without_intervals")),
    *((example_scenarios, name) for name in ("rut", "random_scenarios", "hostile", "with_missing_cells")),
)


def every_figure() -> Iterator[Figure]:
    for module, name in EXAMPLES:
        yield from getattr(module, name)().document().figures.values()


def one_of_each() -> Iterable[Figure]:
    """Figures that differ in what they draw."""
    return {(figure.id, figure.plot): figure for figure in every_figure()}.values()


def test_every_figure_can_be_drawn_and_is_one_sentence_in_words() -> None:
    made = list(every_figure())
    assert len(made) > 2 * len(EXAMPLES)
    for figure in made:
        assert len({len(column) for column in figure.rows.values()}) == 1
        assert figure.alt.endswith(".")
        assert len(figure.alt) > 40
        assert figure.caption
        drawn = draw(figure, size="screen")
        # What marks tell a pointer are the numbers of the rows, and stand in a CSV beside the figure.
        if figure.plot not in SHARED:
            assert unmarked(drawn, figure.rows) == [], figure.id
        assert invented(drawn, figure.rows) == [], figure.id
        assert any(invented(drawn, rows) == [] for _, _, rows in figure_data(figure)), figure.id


@pytest.mark.parametrize(
    "inches",
    [(6.4, 4.8), *(pytest.param(each, marks=pytest.mark.slow) for each in ((4, 2.5), (10, 3), (3.2, 4)))],
    ids=str,
)
def test_every_figure_on_axes_of_any_size_keeps_its_words_apart_and_off_its_points(inches: tuple[float, float]) -> None:
    for figure in one_of_each():
        sheet = Sheet(figsize=inches, dpi=200)  # tiny letters are rounded to whole pixels
        axes = sheet.subplots()
        draw(figure, ax=axes)
        assert_words_stand_apart(sheet, axes)
        assert covered_marks(sheet, axes) == [], figure.id
        if figure.plot == "scatter":
            names = {str(name) for name in figure.rows["model"]}
            assert struck_names(sheet, names, axes) == [], figure.id


def test_differences_are_those_of_the_comparison_in_points() -> None:
    result = compare(datasets.tenacious_held_out(), "baseline", "trained", by="scenario")
    rows = compared.difference(result).rows
    assert rows["estimate"][0] == pytest.approx(100 * (result.estimate or 0))
    assert (rows["conf_low"][0], rows["conf_high"][0]) == pytest.approx((-5.56, 100.0), abs=0.01)
    by_level = {group.level: group.estimate for group in result.groups}
    for label, value in zip(rows["label"][1:], rows["estimate"][1:], strict=True):
        assert value == (None if by_level[str(label)] is None else pytest.approx(100 * (by_level[str(label)] or 0)))


def test_flips_are_the_counts_of_the_table() -> None:
    result = compare(datasets.tenacious_held_out(), "baseline", "trained", cluster="none")
    figure = compared.flips(result)
    assert figure is not None
    assert list(figure.rows["estimate"]) == [22, 21, 0, 0]


def test_scores_and_rank_sets_are_those_of_the_board() -> None:
    result = leaderboard(datasets.tenacious_held_out())
    rows = board.ranks(result).rows
    assert list(rows["estimate"]) == [pytest.approx(100 * (row.estimate or 0)) for row in result.rows]
    assert list(rows["rank_low"]) == [row.rank_low for row in result.rows]
    assert list(rows["rank_high"]) == [row.rank_high for row in result.rows]


def test_the_steps_of_a_gap_add_up() -> None:
    rows = example_gap.one_scale().document().figures["mix"].rows
    *steps, whole = (float(str(value)) for value in rows["estimate"])
    assert rows["label"][-1] == "Live minus lab"
    assert sum(steps) == pytest.approx(whole)
