"""Lab against live: every model at its scores, the line where it was fitted, names that cover nothing."""

from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from evalstats.analysis.gap.result import LabLiveGap
from evalstats.plots.gap_labels import Ground, crosses
from evalstats.plots.gap_line import drawn_line
from evalstats.plots.gap_scatter import gap_scatter, gap_scatter_alt, gap_scatter_reason
from evalstats.plots.gap_spots import spots, to_name
from evalstats.plots.style import LIGHT, SIZES, Medium, svg
from tests.plots.gap_figures import EXAMPLES, boxes, made, many, three, turned
from tests.plots.test_arena_rows import assert_words_have_room
from tests.plots.test_ranks import MEDIA, texts


def marks(figure: Figure) -> dict[tuple[float, float], Any]:
    """Points in the panel by their places, without those of the key."""
    axes = figure.axes[0]
    lines = [line for line in axes.lines if line.get_marker() in ("o", "D") and line.get_transform() == axes.transData]
    return {(float(line.get_xdata()[0]), float(line.get_ydata()[0])): line for line in lines}


def line_of(figure: Figure, color: str, dashed: bool) -> list[np.ndarray]:
    """Lines of a colour through the panel: their places."""
    axes = figure.axes[0]
    found = [
        line
        for line in axes.lines
        if line.get_transform() == axes.transData
        and line.get_marker() == "None"
        and to_hex(line.get_color()) == color
        and (line.get_linestyle() == "--") == dashed
    ]
    return [line.get_xydata() for line in found]


def shown(found: LabLiveGap) -> list[tuple[float, float]]:
    return sorted((row.lab * found.lab.scale, row.live * found.live.scale) for row in found.rows)


@pytest.mark.parametrize("medium", MEDIA)
def test_every_model_is_a_point_at_its_scores(medium: Medium) -> None:
    found = made("votes")
    figure = gap_scatter(found, medium=medium)
    assert np.array(sorted(marks(figure))) == pytest.approx(np.array(shown(found)))
    assert figure.get_size_inches()[0] * 72 == pytest.approx(SIZES[medium].width)


def test_intervals_run_both_ways() -> None:
    found = made("one_scale")
    axes = gap_scatter(found).axes[0]
    bars = [line.get_xydata() for line in axes.lines if np.isnan(line.get_xydata()).any()]
    ends = np.vstack(bars)
    ends = ends[np.isfinite(ends).all(axis=1)]
    assert len(ends) == 4 * len(found.rows)
    for row in found.rows:
        wanted = [(row.lab_low, row.live), (row.lab_high, row.live), (row.lab, row.live_low), (row.lab, row.live_high)]
        for x, y in wanted:
            assert (np.abs(ends - 100 * np.array([x, y], dtype=float)) < 1e-9).all(axis=1).any()


def test_flagged_models_are_filled_named_and_bold_the_others_hollow() -> None:
    found = made("votes")
    figure = gap_scatter(found)
    faces = {at: to_hex(mark.get_markerfacecolor()) for at, mark in marks(figure).items()}
    for row in found.rows:
        color = (LIGHT.good if (row.gap or 0) > 0 else LIGHT.bad) if row.verdict == "gap" else LIGHT.surface
        at = min(faces, key=lambda place: abs(place[0] - row.lab * 100) + abs(place[1] - row.live))
        assert faces[at] == color
    bold = {text.get_text(): text.get_color() for text in figure.axes[0].texts if text.get_weight() == "bold"}
    for name in found.flagged():
        tone = LIGHT.good if (found.row(name).gap or 0) > 0 else LIGHT.bad
        assert bold[name] == tone


def test_the_line_is_yorks_over_the_lab_scores_alone_with_its_band() -> None:
    found = made("votes")
    assert found.line is not None
    [(x, y)] = [at.T for at in line_of(gap_scatter(found), LIGHT.ink, dashed=False)]
    lab = np.array([row.lab for row in found.rows])
    assert (x.min(), x.max()) == pytest.approx((100 * lab.min(), 100 * lab.max()))
    assert y == pytest.approx(found.line.intercept + found.line.slope * x / 100)
    bands = [each for each in gap_scatter(found).axes[0].collections if isinstance(each, PolyCollection)]
    assert [to_hex(each.get_facecolor()[0]) for each in bands] == [LIGHT.band]


def test_the_band_is_the_error_of_the_line_by_its_definition() -> None:
    """At the weighted mean of the lab scores the slope's error adds nothing; the band is symmetric and widens outwards."""
    found = made("one_scale")
    line, drawn = found.line, drawn_line(found)
    assert line is not None
    assert drawn is not None
    assert drawn.low is not None
    assert drawn.high is not None
    assert (drawn.high + drawn.low) / 2 == pytest.approx(drawn.y)
    half = (drawn.high - drawn.low) / 2
    lab = np.array([row.lab for row in found.rows])
    errors = [(row.lab_std_error or 0, row.live_std_error or 0) for row in found.rows]
    weights = np.array([1 / (v**2 + (line.slope * u) ** 2 + line.tau**2) for u, v in errors])
    middle = (weights * lab).sum() / weights.sum()
    widest, narrowest = half.max(), half.min()
    assert drawn.x[half.argmin()] == pytest.approx(100 * middle, abs=1.0)
    # the ratio does not hang on the quantile: level alone, against level and slope at the far end
    end = drawn.x[half.argmax()] / 100
    level = 1 / weights.sum()
    assert widest / narrowest == pytest.approx(
        np.sqrt(1 + ((end - middle) * line.slope_std_error) ** 2 / level), rel=0.02
    )


def test_the_ordinary_line_is_drawn_only_where_it_lies_visibly_elsewhere() -> None:
    found = made("votes")
    assert found.line is not None
    assert "least squares" in texts(gap_scatter(found))
    [ols] = [each for each in found.line.others if each.key == "ols"]
    alike = replace(ols, slope=found.line.slope, intercept=found.line.intercept)
    said = texts(gap_scatter(replace(found, line=replace(found.line, others=(alike,)))))
    assert "least squares" not in said
    assert "York's line, 95% band" in said
    assert "least squares" not in texts(gap_scatter(replace(found, line=replace(found.line, others=()))))


def test_live_as_in_the_lab_is_drawn_on_one_scale_alone() -> None:
    [at] = [each for each in line_of(gap_scatter(made("one_scale")), LIGHT.muted, dashed=True) if len(each) == 21]
    assert at[:, 0] == pytest.approx(at[:, 1])
    assert "live = lab" in texts(gap_scatter(made("one_scale")))
    assert "live = lab" not in texts(gap_scatter(made("votes")))


def test_without_errors_there_are_diamonds_no_line_and_a_reason() -> None:
    figure = gap_scatter(made("without_errors"))
    assert {line.get_marker() for line in marks(figure).values()} == {"D"}
    assert not [each for each in figure.axes[0].collections if isinstance(each, PolyCollection)]
    said = " ".join(texts(figure))
    assert "No line: neither side has standard errors" in said
    assert "No line is drawn" in gap_scatter_alt(made("without_errors"))
    half = replace(made("votes"), lab=replace(made("votes").lab, errors="none"))
    assert "The lab scores have no standard errors" in " ".join(texts(gap_scatter(half)))


def test_without_a_line_models_are_flagged_by_their_plain_difference() -> None:
    found = made("four")
    assert {spot.row.name for spot in spots(found) if spot.flagged} == {
        row.name for row in found.rows if row.difference_verdict == "gap"
    }
    assert "worse than in the lab" in texts(gap_scatter(found))
    assert "not judged" in texts(gap_scatter(made("invalid")))


def test_aligned_models_are_filled_and_grey() -> None:
    faces = {to_hex(mark.get_markerfacecolor()) for mark in marks(gap_scatter(made("aligned"))).values()}
    assert faces == {LIGHT.neutral}


def test_less_is_better_turns_both_axes_over() -> None:
    axes = gap_scatter(turned(made("one_scale"))).axes[0]
    assert axes.get_xlim()[0] > axes.get_xlim()[1]
    assert axes.get_ylim()[0] > axes.get_ylim()[1]
    assert sum("less is better" in text for text in texts(gap_scatter(turned(made("one_scale"))))) == 2


def test_a_very_long_interval_does_not_squeeze_the_rest() -> None:
    found = made("votes")
    wild = (replace(found.rows[0], live_low=-1e6, live_high=1e6, lab_low=-50.0, lab_high=50.0), *found.rows[1:])
    low, high = gap_scatter(replace(found, rows=wild)).axes[0].get_ylim()
    scores = [row.live for row in found.rows]
    assert high - low < 3 * (max(scores) - min(scores))


def test_equal_scores_are_drawn() -> None:
    found = made("without_errors")
    flat = tuple(replace(row, lab=1.0, live=2.0) for row in found.rows[:3])
    low, high = gap_scatter(replace(found, rows=flat)).axes[0].get_xlim()
    assert low < 1.0 < high
    assert gap_scatter_reason(replace(found, rows=())) == "no model has both a lab and a live score"
    with pytest.raises(ValueError, match="no model has both"):
        gap_scatter(replace(found, rows=()))


# --- names ---


@pytest.mark.parametrize(
    ("name", "medium"),
    [
        *(("hostile", medium) for medium in MEDIA),
        ("many", "screen"),
        ("many", "phone"),
        ("votes", "print"),
        ("three", "phone"),
    ],
)
def test_names_cover_no_other_name_and_no_point_and_stay_inside(name: str, medium: Medium) -> None:
    found = many() if name == "many" else three(made("one_scale")) if name == "three" else made(name)
    figure = gap_scatter(found, medium=medium)
    assert_words_have_room(figure)
    inside = figure.axes[0].get_window_extent()
    panel = {
        text: box
        for text, box in boxes(figure).items()
        if inside.y0 <= (box[1] + box[3]) / 2 <= inside.y1 and box[0] >= inside.x0 - 1
    }
    assert len(panel) >= min(len(found.rows), 3)
    at = [figure.axes[0].transData.transform(place) for place in marks(figure)]
    for text, (left, low, right, high) in panel.items():
        assert not [1 for x, y in at if left < x < right and low + 2 < y < high - 2], text
    for (one, a), (other, b) in combinations(panel.items(), 2):
        assert not crosses((a[0] + 1, a[1] + 1, a[2] - 1, a[3] - 1), tuple(b)), (one, other)


@pytest.mark.parametrize("medium", MEDIA)
def test_all_flagged_models_are_named_or_numbered_with_their_names_below(medium: Medium) -> None:
    found = many()
    said = texts(gap_scatter(found, medium=medium))
    for name in found.flagged():
        assert name.removeprefix("provider/") in " ".join(said)
    if medium == "phone":
        assert "1" in said
        assert any(text.startswith("1\N{NO-BREAK SPACE}provider/model-") for text in said)


def test_of_many_models_the_flagged_and_the_extreme_ones_are_named() -> None:
    found = many()
    wanted = [spot.row.name for spot in to_name(spots(found))]
    assert set(found.flagged()) <= set(wanted)
    assert max(found.rows, key=lambda row: row.lab).name in wanted
    assert min(found.rows, key=lambda row: row.live).name in wanted
    assert len(wanted) <= len(found.flagged()) + 4
    assert len(to_name(spots(made("one_scale")))) == len(made("one_scale").rows)


def test_a_name_without_room_beside_its_point_is_tied_to_it() -> None:
    ground = Ground(frame=(0.0, 0.0, 300.0, 300.0))
    ground.taken.append((100.0, 130.0, 250.0, 170.0))
    beside = ground.place((150.0, 150.0), 60.0, 10.0, most=3.0)
    assert beside is None
    far = ground.place((150.0, 150.0), 60.0, 10.0)
    assert far is not None
    assert far.tie is not None
    assert not crosses(far.box, (100.0, 130.0, 250.0, 170.0))
    near = Ground(frame=(0.0, 0.0, 300.0, 300.0)).place((150.0, 150.0), 60.0, 10.0)
    assert near is not None
    assert near.tie is None
    assert near.box[0] > 150.0  # a reader looks to the right first


def test_a_name_keeps_clear_of_thin_lines_where_it_can() -> None:
    ground = Ground(frame=(0.0, 0.0, 300.0, 300.0), thin=[(140.0, 149.0, 300.0, 151.0)])
    placed = ground.place((150.0, 150.0), 60.0, 10.0)
    assert placed is not None
    assert not crosses(placed.box, (140.0, 149.0, 300.0, 151.0))


# --- text ---


def test_the_text_alternative_says_the_line_and_who_is_flagged() -> None:
    said = gap_scatter_alt(made("one_scale"))
    assert said.startswith(
        "Scatter of 12 models: live (success on support-app (%)) over lab (success on rutbench (%))."
    )
    assert "Flagged: grebe at lab 55.8%, live 28.6% (−21.0 pp, ▼ gap, material)." in said
    assert "more models stand in the table" in gap_scatter_alt(made("votes"))
    assert "No model is flagged" in gap_scatter_alt(made("aligned"))


@pytest.mark.parametrize("name", [name for name in EXAMPLES if name != "votes"])
def test_every_example_is_drawn_and_escaped(name: str) -> None:
    drawn = svg(gap_scatter(made(name), medium="phone"), alt=gap_scatter_alt(made(name)))
    assert "<script>" not in drawn
    assert "\x1b" not in drawn
    assert f"var(--es-muted, {LIGHT.muted})" in drawn
    if name == "hostile":
        assert "&lt;script&gt;alert" in drawn
