"""Rank sets of both sides and pairs of models: bars hold what is open, marks say what both sides separate."""

from dataclasses import replace

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from evalstats.analysis.gap.result import LabLiveGap
from evalstats.plots.gap_bump import gap_bump, gap_bump_alt, gap_bump_reason
from evalstats.plots.gap_climbs import MOST, climbs, last_place
from evalstats.plots.gap_pairs import (
    KINDS,
    counts_of,
    gap_pairs,
    gap_pairs_alt,
    gap_pairs_reason,
    pair_models,
    placed_pairs,
)
from evalstats.plots.gap_pairs import MOST as MOST_PAIRED
from evalstats.plots.style import LIGHT, SIZES, Medium, svg
from tests.plots.gap_figures import boxes, made, many, three, turned
from tests.plots.test_arena_rows import assert_words_have_room
from tests.plots.test_ranks import MEDIA, texts


def segments(figure: Figure) -> list[tuple[tuple[float, float], tuple[float, float], str]]:
    """Every stretch of line that `draw_segments` drew: both ends and the colour."""
    found = []
    for line in figure.axes[0].lines:
        at = line.get_xydata()
        if len(at) % 3 or line.get_marker() != "None":
            continue
        for one, other, gap in zip(at[::3], at[1::3], at[2::3], strict=True):
            assert np.isnan(gap).all()
            found.append((tuple(one), tuple(other), to_hex(line.get_color())))
    return found


def upright(figure: Figure) -> list[tuple[float, float]]:
    """Ends of the bars of rank sets."""
    found = [(a[1], b[1]) for a, b, _ in segments(figure) if a[0] == b[0]]
    return sorted((round(low + 0.4, 6), round(high - 0.4, 6)) for low, high in found)


def places(figure: Figure, marker: str = "o") -> list[float]:
    return sorted(float(y) for line in figure.axes[0].lines if line.get_marker() == marker for y in line.get_ydata())


def sets_of(found: LabLiveGap) -> list[tuple[int, int]]:
    both = [((r.lab_rank_low, r.lab_rank_high), (r.live_rank_low, r.live_rank_high)) for r in found.rows]
    return sorted((low, high) for row in both for low, high in row if low is not None and high is not None)


# --- ranks ---


@pytest.mark.parametrize("medium", MEDIA)
def test_every_set_of_ranks_is_a_bar_on_its_side(medium: Medium) -> None:
    found = made("one_scale")
    figure = gap_bump(found, medium=medium)
    assert upright(figure) == sets_of(found)
    n = len(found.rows)
    assert places(figure) == sorted([*range(1, n + 1)] * 2)
    assert figure.get_size_inches()[0] * 72 == pytest.approx(SIZES[medium].width)


def test_lines_run_from_the_place_in_the_lab_to_that_live() -> None:
    found = made("one_scale")
    lab = sorted(found.rows, key=lambda row: -row.lab)
    expected = sorted((1 + lab.index(row), 1 + place) for place, row in enumerate(found.rows))
    drawn = [(a[1], b[1]) for a, b, _ in segments(gap_bump(found)) if a[0] != b[0]]
    assert sorted(drawn) == expected


def test_models_of_contradictions_have_a_colour_a_sign_and_bold_names() -> None:
    found = made("votes")
    assert found.agreement.pairs is not None
    told = found.agreement.pairs.contradictions
    involved = {name for each in told for name in (each.better_live, each.better_lab)}
    assert {climb.row.name for climb in climbs(found) if climb.contradicted} == involved
    figure = gap_bump(found)
    bold = [text.get_text() for text in figure.axes[0].texts if text.get_weight() == "bold"]
    up, down = told[0].better_live.partition("/")[2], told[0].better_lab.partition("/")[2]
    assert f"▲ {up}" in bold
    assert f"▼ {down}" in bold
    colors = {color for a, b, color in segments(figure) if a[0] != b[0]}
    assert colors == {LIGHT.good, LIGHT.bad, LIGHT.neutral}
    assert f"{told[0].better_live} is ahead of {told[0].better_lab} live" in gap_bump_alt(found)


def test_a_model_that_wins_and_loses_as_many_contradictions_has_neither_colour() -> None:
    found = made("one_scale")
    pairs = found.agreement.pairs
    assert pairs is not None
    first = pairs.contradictions[0]
    both = (first, replace(first, better_live=first.better_lab, better_lab="auk"))
    told = replace(found, agreement=replace(found.agreement, pairs=replace(pairs, contradictions=both)))
    tones = {climb.row.name: climb.tone for climb in climbs(told)}
    assert tones[first.better_lab] == "neutral"
    assert tones[first.better_live] == "good"
    assert tones["auk"] == "bad"


def test_a_rank_that_is_certain_is_filled() -> None:
    found = made("four")
    sure = tuple(replace(row, live_rank_low=k, live_rank_high=k) for k, row in enumerate(found.rows, 1))
    faces = [
        to_hex(line.get_markerfacecolor())
        for line in gap_bump(replace(found, rows=sure)).axes[0].lines
        if line.get_marker() == "o"
    ]
    assert sorted(faces) == sorted([LIGHT.neutral, LIGHT.surface])
    assert {"1", "2", "3", "4"} <= set(texts(gap_bump(replace(found, rows=sure))))


def test_a_side_without_errors_has_no_bars_and_says_so() -> None:
    found = made("one_scale")
    bare = tuple(replace(row, lab_rank_low=None, lab_rank_high=None) for row in found.rows)
    half = replace(found, rows=bare, lab=replace(found.lab, errors="none"))
    figure = gap_bump(half)
    assert upright(figure) == sets_of(half)
    assert len(places(figure, "D")) == len(found.rows)
    assert "no errors: order alone" in texts(figure)
    assert gap_bump_reason(made("without_errors")) == (
        "no rank can be told on either side: neither side has standard errors, so what is noise cannot be told from what is a gap"
    )
    with pytest.raises(ValueError, match="no rank can be told"):
        gap_bump(made("without_errors"))
    assert gap_bump_reason(replace(found, rows=found.rows[:1])) == "ranks need at least two models"


def test_of_many_models_those_of_contradictions_are_drawn_first() -> None:
    found = made("votes")
    shown = climbs(found, "phone")
    assert len(shown) == MOST["phone"]
    assert [climb.live for climb in shown] == sorted(climb.live for climb in shown)
    assert {climb.row.name for climb in climbs(found) if climb.contradicted} <= {climb.row.name for climb in shown}
    assert "The other 8 models: in the table" in texts(gap_bump(found, medium="phone"))
    # No empty ground below the last place that is drawn.
    assert gap_bump(many(70), medium="phone").axes[0].get_ylim()[0] == last_place(climbs(many(70), "phone")) + 0.5


def test_less_is_better_turns_the_order_over() -> None:
    found = turned(made("one_scale"))
    places_ = {climb.row.name: (climb.lab, climb.live) for climb in climbs(found)}
    assert places_[min(found.rows, key=lambda row: row.live).name][1] == 1
    assert places_[min(found.rows, key=lambda row: row.lab).name][0] == 1


# --- pairs ---


@pytest.mark.parametrize("medium", MEDIA)
def test_every_pair_is_a_mark_of_its_kind_in_its_cell(medium: Medium) -> None:
    found = made("one_scale")
    assert found.agreement.pairs is not None
    names = pair_models(found, medium)
    assert names == [row.name for row in found.rows]
    cells = placed_pairs(found, names)
    assert sum(map(len, cells.values())) == len(found.agreement.pairs.matrix)
    for one, other, kind in found.agreement.pairs.matrix:
        low, high = sorted((names.index(one), names.index(other)))
        assert (high, low) in dict(cells.items())[kind]  # pyright: ignore[reportArgumentType]
    figure = gap_pairs(found, medium=medium)
    squares = [each for each in segments(figure) if each[2] == LIGHT.good]
    crosses = [each for each in segments(figure) if each[2] == LIGHT.bad]
    # One more of each stands in the key; a cross is two strokes.
    assert len(squares) == len(cells["same"]) + 1
    assert len(crosses) == 2 * (len(cells["contradicted"]) + 1)


def test_a_mark_stands_left_of_one_name_and_above_or_below_the_other() -> None:
    found = made("one_scale")
    names = pair_models(found)
    [(down, across)] = placed_pairs(found, names)["contradicted"]
    figure = gap_pairs(found)
    strokes = [each for each in segments(figure) if each[2] == LIGHT.bad][:2]
    x, y = np.mean([point for each in strokes for point in each[:2]], axis=0)
    at = {text.get_text(): text.get_position() for text in figure.axes[0].texts}
    assert y == pytest.approx(at[names[down]][1])
    step = (at[names[1]][0] - at[names[0]][0]) or 1.0
    assert x == pytest.approx(at[names[across]][0] + 0.3 * step)
    assert x < at[names[down]][0]


def test_the_key_counts_all_pairs_and_says_each_kind_in_words() -> None:
    found = made("votes")
    assert found.agreement.pairs is not None
    counts = counts_of(found)
    assert sum(counts.values()) == len(found.agreement.pairs.matrix)
    said = texts(gap_pairs(found, medium="phone"))
    assert set(KINDS.values()) <= set(said)
    assert {f"{count:,}" for count in counts.values()} <= set(said)
    assert len(pair_models(found, "phone")) == MOST_PAIRED["phone"]
    assert "The other 18 models: in the table" in said
    alt = gap_pairs_alt(found)
    assert f"{counts['contradicted']} both sides separate, opposite order" in alt
    assert "Contradicted: laboratory-2/model-09-instruct-2026 and laboratory-1/model-01-instruct-2026" in alt


def test_without_tested_pairs_there_is_a_reason() -> None:
    assert gap_pairs_reason(made("without_errors")) == (
        "no pair can be compared on both sides: without standard errors no pair can be separated"
    )
    with pytest.raises(ValueError, match="no pair can be compared"):
        gap_pairs(made("without_errors"))
    found = made("one_scale")
    none = replace(found, agreement=replace(found.agreement, pairs=None))
    assert gap_pairs_reason(none) == "no pair can be compared on both sides: no pair of models was tested"


# --- both ---


@pytest.mark.parametrize(
    ("name", "medium"),
    [*(("hostile", medium) for medium in MEDIA), ("votes", "phone"), ("votes", "print"), ("three", "phone")],
)
def test_nothing_leaves_the_figures_and_nothing_overlaps(name: str, medium: Medium) -> None:
    found = three(made("one_scale")) if name == "three" else made(name)
    for figure in (gap_bump(found, medium=medium), gap_pairs(found, medium=medium)):
        assert_words_have_room(figure)
        if medium == "print":
            assert figure.get_size_inches()[1] * 72 < 690


def test_words_stay_off_the_bars() -> None:
    found = made("hostile")
    figure = gap_bump(found)
    xs = [x for a, b, _ in segments(figure) for x in (a[0], b[0])]
    top = figure.axes[0].get_window_extent().y1
    for text, (left, low, right, _) in boxes(figure).items():
        if low < top and "better or worse" not in text:
            assert right < min(xs) or left > max(xs), text


def test_names_are_never_markup_and_colours_follow_dark_mode() -> None:
    found = made("hostile")
    for drawn in (svg(gap_bump(found), alt=gap_bump_alt(found)), svg(gap_pairs(found), alt=gap_pairs_alt(found))):
        assert "<script>" not in drawn
        assert "&lt;script&gt;" in drawn
        assert "\x1b" not in drawn
        for role in ("good", "bad", "neutral", "line"):
            assert f"var(--es-{role}, {getattr(LIGHT, role)})" in drawn
    assert svg(gap_pairs(found)) == svg(gap_pairs(found))
