"""Forest, rank sets and arrows of a ranking of votes: what is drawn is what the result holds, and it has its room."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure

from evalstats.analysis.arenas.results import Alternative, ArenaRanking
from evalstats.plots.arena_forest import arena_forest, arena_forest_alt
from evalstats.plots.arena_ranks import arena_ranks, arena_ranks_alt
from evalstats.plots.arena_rows import MOST_MODELS, lines, shown_models, stands_out
from evalstats.plots.row_panel import PanelRow, row_figure, tick_words
from evalstats.plots.style import LIGHT, Medium, house_style, svg
from evalstats.plots.style_arrows import MOST_ARROWS, shown_arrows, shown_choice, style_arrows, style_arrows_alt
from tests.analysis.arenas import example_ranking as example
from tests.plots.test_ranks import MEDIA, texts


@cache
def large() -> ArenaRanking:
    """Sixty models, made once."""
    return example.large()


MADE: tuple[Callable[[], ArenaRanking], ...] = (
    example.small, large, example.disconnected, example.without_intervals, example.troubled,
)  # fmt: skip


def assert_words_have_room(figure: Figure) -> None:
    """Every word is inside the figure and covers no other one; one renderer measures all."""
    width, height = figure.get_size_inches() * 72
    with house_style():
        renderer = FigureCanvasAgg(figure).get_renderer()
        drawn = [text for axes in figure.axes for text in axes.texts if text.get_text()]
        boxes = np.array([text.get_window_extent(renderer).extents for text in drawn])
    assert (boxes[:, :2] >= -1).all()
    assert (boxes[:, 2:] <= np.array([width, height]) + 1).all()
    left, low, right, high = boxes.T
    wide = np.minimum.outer(right, right) - np.maximum.outer(left, left)
    tall = np.minimum.outer(high, high) - np.maximum.outer(low, low)
    over = (wide > 1) & (tall > 0.25 * np.minimum.outer(high - low, high - low))
    assert not (over & ~np.eye(len(boxes), dtype=np.bool_)).any()


def intervals(figure: Figure) -> list[tuple[float, float]]:
    """Ends of the horizontal lines of the panel, from top to bottom."""
    axes = figure.axes[0]
    found = [(line.get_ydata()[0], *line.get_xdata()) for line in axes.lines if len(line.get_xdata()) == 2]
    return [(float(low), float(high)) for _, low, high in found]


def points(figure: Figure, marker: str = "o") -> list[float]:
    return [float(line.get_xdata()[0]) for line in figure.axes[0].lines if line.get_marker() == marker]


def bars(figure: Figure) -> list[tuple[float, float]]:
    boxes = [
        each.get_paths()[0].get_extents() for each in figure.axes[0].collections if isinstance(each, PolyCollection)
    ]
    return [(float(box.x0), float(box.x1)) for box in boxes]


def with_style(result: ArenaRanking, key: str = "with style", step: float = 7.0) -> ArenaRanking:
    """The result with another choice, under which every other model gains."""
    ratings = tuple((row.estimate or 0.0) + step * (-1) ** place for place, row in enumerate(result.rows))
    choice = Alternative(key=key, title="With style held equal", why="", ratings=ratings, largest_move=step)
    return replace(result, alternatives=(choice,))


# --- forest ---


@pytest.mark.parametrize("medium", MEDIA)
def test_every_model_has_its_interval_its_set_and_the_arenas_rank(medium: Medium) -> None:
    found = example.small()
    figure = arena_forest(found, medium=medium)
    assert intervals(figure) == [(row.conf_low, row.conf_high) for row in found.rows]
    assert points(figure) == [row.estimate for row in found.rows]
    said = " ".join(texts(figure))
    assert all(row.name in said for row in found.rows)
    if medium == "phone":
        assert "1060 [1046, 1074], ranks 1-2, arena 1" in texts(figure)
    else:
        assert texts(figure).count("1-2") == 2
        assert "1060 [1046, 1074]" in texts(figure)


def test_parts_have_headings_and_models_on_no_scale_come_last() -> None:
    found = example.disconnected()
    said = texts(arena_forest(found))
    order = [said.index(text) for text in ("Part 2: 6 models", "crane", "ibis", "albatross")]
    assert order == sorted(order)
    assert said.count("no rating") == 1
    assert "On no scale: 1 model" in said
    assert "cannot be compared" in arena_forest_alt(found)
    assert "cannot be compared" not in arena_forest_alt(example.small())


def test_without_intervals_points_are_hollow_and_no_rank_is_written() -> None:
    figure = arena_forest(example.without_intervals())
    assert intervals(figure) == []
    assert len(points(figure, "D")) == 5
    assert "1060, no interval" in texts(figure)
    assert texts(figure).count("no rank") == 0  # there is no column of ranks at all
    with pytest.raises(ValueError, match="no model has a rank set"):
        arena_ranks(example.without_intervals())


def test_an_anchor_is_fixed_and_not_without_interval() -> None:
    found = example.small()
    rows = (replace(found.rows[0], conf_low=None, conf_high=None), *found.rows[1:])
    said = texts(arena_forest(replace(found, anchor="falcon", rows=rows)))
    assert "1060, fixed" in said


def test_few_that_may_be_the_best_stand_out_and_many_do_not() -> None:
    found = example.small()
    assert [stands_out(row, found) for row in found.rows] == [True, True, False, False, False]
    most = replace(found, rows=tuple(replace(row, may_be_best=row.name != "wren") for row in found.rows))
    assert not any(stands_out(row, most) for row in most.rows)
    bold = {text.get_text() for text in arena_forest(found).axes[0].texts if text.get_weight() == "bold"}
    assert {"falcon", "heron"} <= bold
    assert "kestrel" not in bold


def test_at_most_sixty_models_and_the_rest_are_counted() -> None:
    found = large()
    more = replace(found, rows=(*found.rows, *(replace(row, name=f"{row.name}-b") for row in found.rows[:4])))
    assert len(shown_models(more)) == MOST_MODELS
    last = lines(more, lambda row: PanelRow(name=row.name))[-1]
    assert last[0] is None
    assert last[1].name == "The other 4 models: in the table"
    assert "44 more models stand in the table" in arena_forest_alt(more)


# --- rank sets ---


def test_bars_are_the_sets_and_dots_the_arenas_ranks() -> None:
    found = example.small()
    figure = arena_ranks(found)
    wanted = [
        (low - 0.5, high + 0.5)
        for row in found.rows
        if row.rank_low and row.rank_high and row.rank_low_marginal and row.rank_high_marginal
        for low, high in ((row.rank_low, row.rank_high), (row.rank_low_marginal, row.rank_high_marginal))
    ]
    assert bars(figure) == wanted
    assert points(figure) == [row.rank_arena for row in found.rows]
    assert "3 of 5 ranks are certain" in arena_ranks_alt(found)
    assert "each within its part" in arena_ranks_alt(example.disconnected())


# --- arrows ---


def test_an_arrow_runs_from_without_to_with() -> None:
    found = with_style(example.small())
    choice = shown_choice(found)
    assert choice is not None
    forth = shown_arrows(found, choice)
    assert [arrow.start for arrow in forth] == [row.estimate for row in found.rows]
    assert [round(arrow.move) for arrow in forth] == [7, -7, 7, -7, 7]
    # Where the headline holds style, the other choice is the one without.
    back = with_style(example.small(), "without covariates")
    choice = shown_choice(back)
    assert choice is not None
    assert [round(arrow.move) for arrow in shown_arrows(back, choice)] == [-7, 7, -7, 7, -7]
    assert "falcon from 1067 to 1060" in style_arrows_alt(back)


def test_the_drawing_has_a_start_a_head_and_the_move_in_words() -> None:
    figure = style_arrows(with_style(example.small()))
    assert points(figure, "o") == [1060, 1048, 1002, 960, 930]
    assert points(figure, ">") == [1067, 1009, 937]
    assert points(figure, "<") == [1041, 953]
    assert {"Without", "With style", "+7", "−7"} <= set(texts(figure))


def test_of_many_models_those_that_move_most_are_drawn() -> None:
    found = large()
    ratings = tuple((row.estimate or 0.0) + place for place, row in enumerate(found.rows))
    choice = Alternative(key="with style", title="With style", why="", ratings=ratings)
    many = replace(found, alternatives=(choice,))
    arrows = shown_arrows(many, choice)
    assert [arrow.row.name for arrow in arrows] == [row.name for row in found.rows[-MOST_ARROWS["screen"] :]]
    assert "The other 36 models move less" in texts(style_arrows(many))


def test_a_move_below_the_digits_of_ratings_is_written_as_none() -> None:
    said = texts(style_arrows(with_style(example.small(), step=0.01)))
    assert said.count("0") == 5


def test_without_another_choice_there_is_nothing_to_draw() -> None:
    with pytest.raises(ValueError, match="no other choice"):
        style_arrows(example.small())
    assert shown_choice(example.troubled(), "without both bad") is None
    unknown = replace(with_style(example.small()).alternatives[0], key="half", largest_move=3.0)
    other = replace(example.small(), alternatives=(unknown,))
    assert shown_choice(other) is unknown


# --- every figure of rows ---


@pytest.mark.parametrize("medium", MEDIA)
@pytest.mark.parametrize("made", MADE, ids=lambda made: made.__name__)
def test_nothing_leaves_the_figures_and_nothing_overlaps(made: Callable[[], ArenaRanking], medium: Medium) -> None:
    found = made()
    figures = [arena_forest(found, medium=medium)]
    if any(row.rank_low is not None for row in found.rows):
        figures.append(arena_ranks(found, medium=medium))
    if found.covariance is not None:
        figures.append(style_arrows(with_style(found), medium=medium))
    for figure in figures:
        assert_words_have_room(figure)
        if medium == "print":
            assert figure.get_size_inches()[1] * 72 < 690  # one page with its caption


def test_names_are_never_markup_or_mathematics() -> None:
    found = example.troubled()
    for drawn in (
        svg(arena_forest(found), alt=arena_forest_alt(found)),
        svg(arena_ranks(found), alt=arena_ranks_alt(found)),
        svg(style_arrows(found), alt=style_arrows_alt(found)),
    ):
        assert "<script>" not in drawn
        assert "&lt;script&gt;alert(1)&lt;/script&gt;|$x$" in drawn
        assert "\x1b" not in drawn


def test_colours_are_roles_that_follow_dark_mode() -> None:
    drawn = svg(arena_forest(example.small())) + svg(arena_ranks(example.small()))
    for role in ("ink", "good", "neutral", "line", "muted", "surface"):
        assert f"var(--es-{role}, {getattr(LIGHT, role)})" in drawn


def test_the_text_alternative_says_every_rating_and_set() -> None:
    found = example.small()
    said = arena_forest_alt(found)
    assert said.startswith("5 models on example arena: ratings in Elo points with 95% intervals")
    for row in found.rows:
        assert (
            f"rank{'' if row.rank_low == row.rank_high else 's'} {row.ranks}"
            in said.partition(row.name)[2].split(";")[0]
        )
    assert said.count("may be the best") == 2


def test_a_figure_without_rows_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one row"):
        row_figure([], lambda _: None, title="", columns=(), limits=(0.0, 1.0))
    assert tick_words(-2.5) == "−2.5"
