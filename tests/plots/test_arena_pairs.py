"""The matrix of wins, drift over time and the graph of votes: what is drawn is what the result holds."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from evalstats.analysis.arenas.check_results import Drift, ModelDrift, PeriodRating
from evalstats.analysis.arenas.results import ArenaRanking
from evalstats.plots.drift_lines import drift_lines, drift_lines_alt, named_lines, periods_of, shown_lines
from evalstats.plots.style import LIGHT, Medium, contrast, svg
from evalstats.plots.vote_graph import alone_models, shown_parts, vote_graph, vote_graph_alt
from evalstats.plots.win_matrix import MOST, matrix_models, win_matrix, win_matrix_alt
from tests.analysis.arenas import example_ranking as example
from tests.plots.test_arena_rows import assert_words_have_room, large
from tests.plots.test_ranks import MEDIA, texts

MADE: tuple[Callable[[], ArenaRanking], ...] = (
    example.small, large, example.disconnected, example.without_intervals, example.weakly_linked, example.troubled,
)  # fmt: skip


def filled(figure: Figure, color: str) -> int:
    """How many cells have that colour."""
    boxes = [each for each in figure.axes[0].patches if isinstance(each, Rectangle)]
    return sum(each.get_facecolor()[3] > 0 and to_hex(each.get_facecolor()) == color for each in boxes)


def drifting(n_models: int, n_periods: int, flagged: tuple[int, ...] = ()) -> ArenaRanking:
    """Models whose ratings change by their number from one month to the next."""
    names = [f"model {place}" for place in range(n_models)]
    ratings = tuple(
        PeriodRating(
            period=f"2026-{month + 1:02d}",
            model=name,
            estimate=float(place * month),
            conf_low=place * month - 4.0,
            conf_high=place * month + 4.0,
        )
        for place, name in enumerate(names)
        for month in range(n_periods)
    )
    models = tuple(
        ModelDrift(
            model=name,
            slope=float(place) * (-1) ** place,
            std_error=1.0,
            p_value=0.01,
            p_adjusted=0.01,
            flagged=place in flagged,
        )
        for place, name in enumerate(names)
    )
    return replace(
        example.small(), drift=Drift(period="month", n_periods=n_periods, p_value=0.01, models=models, ratings=ratings)
    )


# --- wins ---


def test_cells_are_the_chances_and_only_separated_pairs_are_filled() -> None:
    found = example.small()
    figure = win_matrix(found)
    separated = sum(pair.verdict == "better" for pair in found.pairs)
    assert filled(figure, LIGHT.good) == filled(figure, LIGHT.bad) == separated
    assert filled(figure, LIGHT.band) == 5
    said = texts(figure)
    for pair in found.pairs:
        assert said.count(f"{100 * (pair.win_probability or 0):.0f}") >= 1
    bold = [text.get_text() for text in figure.axes[0].texts if text.get_weight() == "bold"]
    assert len(bold) == 2 * separated


def test_pairs_of_two_parts_are_a_dash() -> None:
    found = example.disconnected()
    assert [row.name for row in matrix_models(found)] == [row.name for row in found.rows[1:]]
    assert texts(win_matrix(found)).count("–") == 2 * 6 * 2


def test_without_errors_no_pair_is_filled_or_called_separated() -> None:
    found = example.without_intervals()
    figure = win_matrix(found)
    assert filled(figure, LIGHT.good) == filled(figure, LIGHT.bad) == 0
    assert "No pair could be tested" in win_matrix_alt(found)
    assert "separated" not in win_matrix_alt(found)


@pytest.mark.parametrize("medium", MEDIA)
def test_of_many_models_the_first_are_drawn(medium: Medium) -> None:
    found = large()
    assert [row.name for row in matrix_models(found, medium)] == [row.name for row in found.rows[: MOST[medium]]]
    assert "Matrix of 20 of 60 models" in win_matrix_alt(found)
    with pytest.raises(ValueError, match="no pair"):
        win_matrix(replace(found, pairs=()))


def test_letters_can_be_read_on_the_deepest_cell() -> None:
    """Ink on half of blue or vermillion over the page, as 0.5 is the deepest."""

    def over(color: str) -> str:
        mixed = [round((int(color[k : k + 2], 16) + 255) / 2) for k in (1, 3, 5)]
        return "#" + "".join(f"{part:02x}" for part in mixed)

    for color in (LIGHT.good, LIGHT.bad):
        assert contrast(LIGHT.ink, over(color)) >= 4.5


# --- drift ---


def test_flagged_models_have_a_band_a_colour_and_a_name() -> None:
    found = drifting(5, 4, flagged=(1, 4))
    figure = drift_lines(found)
    bands = [each for each in figure.axes[0].collections if isinstance(each, PolyCollection)]
    assert len(bands) == 2
    named = {text.get_text(): text.get_color() for text in figure.axes[0].texts}
    assert named["model 1"] == LIGHT.bad
    assert named["model 4"] == LIGHT.good
    assert "model 2" not in named
    said = drift_lines_alt(found)
    assert "model 1 falls, −1 Elo points a month" in said
    assert "model 4 rises, +4 Elo points a month" in said


def test_where_nobody_is_flagged_few_models_are_named_and_many_are_not() -> None:
    few, many = drifting(4, 3), drifting(20, 3)
    assert len(named_lines(shown_lines(few))) == 4
    assert named_lines(shown_lines(many)) == []
    assert "No single model is shown to change" in drift_lines_alt(many)
    assert not [each for each in drift_lines(few).axes[0].collections if isinstance(each, PolyCollection)]


def test_a_model_of_one_period_has_no_line() -> None:
    found = drifting(3, 3)
    assert found.drift is not None
    ratings = tuple(row for row in found.drift.ratings if row.model != "model 0" or row.period == "2026-01")
    less = replace(found, drift=replace(found.drift, ratings=ratings))
    assert [line.model for line in shown_lines(less)] == ["model 1", "model 2"]
    with pytest.raises(ValueError, match="two periods"):
        drift_lines(example.small())
    assert periods_of(example.small()) == []


# --- the graph ---


def test_the_graph_is_the_same_every_time() -> None:
    assert svg(vote_graph(large())) == svg(vote_graph(large()))


def test_each_part_is_a_ring_and_lone_models_are_named_apart() -> None:
    found = example.disconnected()
    assert [len(part) for part in shown_parts(found)] == [6, 2]
    assert alone_models(found) == ["albatross"]
    said = texts(vote_graph(found))
    assert {"Part of 6 models", "Part of 2 models", "On no scale with others: albatross"} <= set(said)
    assert "On no scale with others: albatross" in vote_graph_alt(found)
    points = [line for line in vote_graph(found).axes[0].lines if line.get_marker() == "o"]
    assert len(points) == 8


def test_weak_links_are_marked_by_shape_and_not_by_colour_alone() -> None:
    axes = vote_graph(example.weakly_linked()).axes[0]
    assert sum(line.get_marker() == "s" for line in axes.lines) == 2
    assert sum(line.get_linestyle() == "--" for line in axes.lines) == 2 * 3
    assert "osprey and wren won only 1.5 votes against the rest" in vote_graph_alt(example.weakly_linked())
    assert not [line for line in vote_graph(example.small()).axes[0].lines if line.get_marker() == "s"]


def test_models_that_did_not_meet_have_no_line() -> None:
    found = example.small()
    met = replace(found, pairs=tuple(replace(pair, n_votes=0) for pair in found.pairs[1:]) + found.pairs[:1])
    drawn = [line for line in vote_graph(met).axes[0].lines if len(line.get_xdata()) == 3]
    assert len(drawn) == 1


def test_without_a_graph_there_is_nothing_to_draw() -> None:
    bare = replace(example.small(), graph=None)
    assert vote_graph_alt(bare) == "The vote graph is not known."
    with pytest.raises(ValueError, match="no part of the vote graph"):
        vote_graph(bare)


# --- all ---


@pytest.mark.parametrize("medium", MEDIA)
@pytest.mark.parametrize("made", MADE, ids=lambda made: made.__name__)
def test_nothing_leaves_the_figures_and_nothing_overlaps(made: Callable[[], ArenaRanking], medium: Medium) -> None:
    found = made()
    for figure in (win_matrix(found, medium=medium), vote_graph(found, medium=medium)):
        assert_words_have_room(figure)
        if medium == "print":
            assert figure.get_size_inches()[1] * 72 < 690


@pytest.mark.parametrize("medium", MEDIA)
@pytest.mark.parametrize(("n_models", "n_periods"), [(2, 2), (12, 3), (30, 24)])
def test_words_beside_lines_have_their_room(n_models: int, n_periods: int, medium: Medium) -> None:
    assert_words_have_room(drift_lines(drifting(n_models, n_periods), medium=medium))
    assert_words_have_room(drift_lines(drifting(n_models, n_periods, tuple(range(n_models))), medium=medium))


@pytest.mark.parametrize("medium", MEDIA)
def test_hostile_names_beside_lines_have_their_room(medium: Medium) -> None:
    found = example.troubled()
    assert found.drift is not None
    every = tuple(replace(found.drift.models[0], model=row.name) for row in found.rows)
    assert_words_have_room(drift_lines(replace(found, drift=replace(found.drift, models=every)), medium=medium))


def test_names_are_never_markup_or_mathematics() -> None:
    found = example.troubled()
    for drawn in (
        svg(win_matrix(found), alt=win_matrix_alt(found)),
        svg(vote_graph(found), alt=vote_graph_alt(found)),
        svg(drift_lines(found), alt=drift_lines_alt(found)),
    ):
        assert "<script>" not in drawn
        assert "&lt;script&gt;" in drawn
        assert "$" in drawn
        assert "\x1b" not in drawn


def test_colours_are_roles_that_follow_dark_mode() -> None:
    drawn = svg(win_matrix(example.small())) + svg(vote_graph(example.weakly_linked()))
    for role in ("ink", "good", "bad", "line", "muted", "band"):
        assert f"var(--es-{role}, {getattr(LIGHT, role)})" in drawn
