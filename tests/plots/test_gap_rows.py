"""Gaps, forecasts, coverage and the way from lab to live as rows: what is drawn is what the answer holds."""

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import pytest
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from evalstats.analysis.gap.layers import Part
from evalstats.analysis.gap.result import LabLiveGap
from evalstats.plots.gap_forecast import gap_forecast, gap_forecast_alt, gap_forecast_reason, shown_checks
from evalstats.plots.gap_forest import GapKind, gap_forest, gap_forest_alt, gap_forest_reason, shown_gaps
from evalstats.plots.gap_positivity import gap_positivity, gap_positivity_alt, gap_positivity_reason, shown_cells
from evalstats.plots.gap_waterfall import gap_waterfall, gap_waterfall_alt, gap_waterfall_reason, waterfall_steps
from evalstats.plots.style import LIGHT, SIZES, Medium, svg
from tests.plots.gap_figures import made, many, turned
from tests.plots.test_arena_rows import assert_words_have_room
from tests.plots.test_ranks import MEDIA, texts

Draw = Callable[..., Figure]
DRAWN: tuple[tuple[Draw, Callable[..., str], Callable[..., str | None]], ...] = (
    (gap_forest, gap_forest_alt, gap_forest_reason),
    (gap_forecast, gap_forecast_alt, gap_forecast_reason),
    (gap_positivity, gap_positivity_alt, gap_positivity_reason),
    (gap_waterfall, gap_waterfall_alt, gap_waterfall_reason),
)


def points(figure: Figure, marker: str = "o") -> list[tuple[float, str]]:
    """Values of the marks, from top to bottom, and what they are filled with."""
    found = [line for line in figure.axes[0].lines if line.get_marker() == marker]
    found.sort(key=lambda line: float(line.get_ydata()[0]))
    return [(float(line.get_xdata()[0]), to_hex(line.get_markerfacecolor())) for line in found]


def intervals(figure: Figure, width: float = 0.0) -> list[tuple[float, float]]:
    """Ends of the lines along rows, from top to bottom; those of more than `width` pixels alone."""
    lines = [line for line in figure.axes[0].lines if len(line.get_xdata()) == 2 and line.get_linewidth() > width]
    level = [line for line in lines if line.get_ydata()[0] == line.get_ydata()[1]]
    level.sort(key=lambda line: float(line.get_ydata()[0]))
    return [(float(line.get_xdata()[0]), float(line.get_xdata()[1])) for line in level]


def bars(figure: Figure) -> list[tuple[float, float]]:
    polygons = [each for each in figure.axes[0].collections if isinstance(each, PolyCollection)]
    found = [each.get_paths()[0].get_extents() for each in polygons]
    return [(float(box.x0), float(box.x1)) for box in sorted(found, key=lambda box: float(box.y0))]


def with_factors(found: LabLiveGap) -> LabLiveGap:
    """The answer with the mix told by two factors, and a raked score."""
    parts = found.decomposition
    assert parts is not None
    whole = parts.overall.mix.estimate or 0.0
    factors = (
        ("scenario", Part(estimate=whole + 0.02, std_error=0.01, conf_low=whole, conf_high=whole + 0.04)),
        ("tier", Part(estimate=-0.02, std_error=0.02, conf_low=-0.06, conf_high=0.02)),
    )
    overall = replace(parts.overall, factors=factors, raked=parts.overall.poststratified)
    return replace(found, decomposition=replace(parts, overall=overall, factors=("scenario", "tier")))


# --- forest ---


@pytest.mark.parametrize("medium", MEDIA)
def test_every_gap_stands_at_its_place_with_the_interval_that_decides(medium: Medium) -> None:
    found = replace(made("one_scale"), margin=None)
    rows = shown_gaps(found)
    assert [row.gap for row in rows] == sorted((row.gap or 0 for row in found.rows), reverse=True)
    figure = gap_forest(found, medium=medium)
    assert [x for x, _ in points(figure)] == pytest.approx([100 * (row.gap or 0) for row in rows])
    ends = [end for pair in intervals(figure) for end in pair]
    decides = [end for row in rows for end in (row.adjusted_low, row.adjusted_high)]
    assert ends == pytest.approx([100 * (end or 0) for end in decides])
    assert figure.get_size_inches()[0] * 72 == pytest.approx(SIZES[medium].width)


def test_flagged_is_filled_and_coloured_aligned_is_grey_open_is_hollow() -> None:
    found = made("votes")
    fills = [face for _, face in points(gap_forest(found))]
    verdicts = [(row.verdict, (row.gap or 0) > 0) for row in shown_gaps(found)]
    expected = {("gap", True): LIGHT.good, ("gap", False): LIGHT.bad}
    assert fills == [expected.get(each, LIGHT.surface) for each in verdicts]
    assert {face for _, face in points(gap_forest(made("aligned")))} == {LIGHT.neutral}
    said = texts(gap_forest(found))
    assert {"▲ gap", "▼ gap", "inconclusive"} <= set(said)


def test_the_margin_is_a_band_and_the_deciding_interval_lies_in_it() -> None:
    found = made("aligned")
    figure = gap_forest(found)
    assert found.margin is not None
    assert all(band == pytest.approx((-100 * found.margin, 100 * found.margin)) for band in bars(figure))
    assert len(bars(figure)) == len(found.rows)
    thick = intervals(figure, width=0.3 * SIZES["screen"].font)
    assert len(thick) == len(found.rows)
    assert all(-100 * found.margin < low < high < 100 * found.margin for low, high in thick)
    assert any("±10.0 pp" in text for text in texts(figure))
    assert bars(gap_forest(made("votes"))) == []


def test_plain_differences_are_drawn_where_there_is_no_line() -> None:
    found = made("four")
    assert "too few" in (gap_forest_reason(found) or "") or "fewer than 6" in (gap_forest_reason(found) or "")
    figure = gap_forest(found, kind="difference")
    rows = shown_gaps(found, "difference")
    assert [x for x, _ in points(figure)] == pytest.approx([100 * (row.live - row.lab) for row in rows])
    assert "live less lab" in gap_forest_alt(found, kind="difference")
    assert "not on one scale" in (gap_forest_reason(made("votes"), kind="difference") or "")


def test_of_many_models_sixty_are_drawn_and_all_flagged_ones() -> None:
    found = many(75)
    shown = shown_gaps(found)
    assert len(shown) == 60
    assert {row.name for row in found.rows if row.verdict == "gap"} <= {row.name for row in shown}
    assert "The other 15 models: in the table" in texts(gap_forest(found))
    assert "55 more models stand in the table" in gap_forest_alt(found)


# --- forecasts ---


def test_forecasts_are_hollow_and_checks_filled_where_they_came_out_inside() -> None:
    found = made("one_scale")
    assert found.hierarchy is not None
    figure = gap_forecast(found)
    forecasts = sorted(found.hierarchy.forecasts, key=lambda each: -(each.expected or 0))
    inside = [each for each in shown_checks(found) if each.inside]
    marks = points(figure)
    assert [x for x, _ in marks] == pytest.approx(
        [100 * (each.expected or 0) for each in forecasts] + [100 * e.live for e in inside]
    )
    assert [face for _, face in marks[:2]] == [LIGHT.surface] * 2
    assert {face for _, face in marks[2:]} == {LIGHT.neutral}
    outside = [each for each in found.hierarchy.left_out if not each.inside]
    assert points(figure, "X") == [(pytest.approx(100 * each.live), LIGHT.bad) for each in outside]
    assert f"{len(outside)} outside: {outside[0].name}" in gap_forecast_alt(found)


def test_an_extrapolated_forecast_is_dashed_and_said_to_be_one() -> None:
    found = made("one_scale")
    fitted = found.hierarchy
    assert fitted is not None
    far = replace(fitted, forecasts=(replace(fitted.forecasts[0], extrapolated=True),))
    figure = gap_forecast(replace(found, hierarchy=far))
    assert sum(line.get_linestyle() == "--" for line in figure.axes[0].lines) == 1
    assert "extrapolated" in texts(figure)
    assert "extrapolated" in gap_forecast_alt(replace(found, hierarchy=far))


def test_on_a_phone_fewer_checks_are_drawn_and_those_outside_stay() -> None:
    found = made("votes")
    assert found.hierarchy is not None
    shown = shown_checks(found, "phone")
    assert len(shown) == 16
    assert {e.name for e in found.hierarchy.left_out if not e.inside} <= {e.name for e in shown}


# --- coverage ---


@pytest.mark.parametrize("medium", MEDIA)
def test_shares_stand_at_their_places_and_uncovered_scenarios_are_loud(medium: Medium) -> None:
    found = made("one_scale")
    cells = shown_cells(found)
    assert cells[0].status == "lab never covers"
    figure = gap_positivity(found, medium=medium)
    assert [x for x, _ in points(figure)] == pytest.approx([100 * cell.live_share for cell in cells])
    assert [x for x, _ in points(figure, "s")] == pytest.approx([100 * cell.lab_share for cell in cells[1:]])
    assert len(points(figure, "X")) == 1
    grounds = [each for each in figure.axes[0].collections if isinstance(each, PolyCollection)]
    assert [to_hex(each.get_facecolor()[0]) for each in grounds] == [LIGHT.caution]
    assert "× not in lab" in " ".join(texts(figure))
    bold = {text.get_text() for text in figure.axes[0].texts if text.get_weight() == "bold"}
    assert cells[0].cell in bold


def test_live_shares_have_their_intervals_and_rates_are_written() -> None:
    found = made("one_scale")
    figure = gap_positivity(found)
    cells = shown_cells(found)
    ends = {tuple(round(end, 6) for end in pair) for pair in intervals(figure, width=0.1 * SIZES["screen"].font)}
    for cell in cells:
        low, high = cell.live_share_low, cell.live_share_high
        assert low is not None
        assert high is not None
        assert (round(100 * low, 6), round(100 * high, 6)) in ends
        assert cell.live_rate is None or f"{100 * cell.live_rate:.1f}" in texts(figure)
    said = gap_positivity_alt(found)
    assert "1 of 5 scenarios (6% of the live mix) never occurs in the lab" in said


def test_what_live_never_brings_and_thin_cells_are_said() -> None:
    found = made("one_scale")
    parts = found.decomposition
    assert parts is not None
    cells = (
        replace(parts.cells[0], status="live never brings", live_share=0.0, live_share_low=None, live_share_high=None),
        replace(parts.cells[1], status="thin"),
        *parts.cells[2:4],
    )
    odd = replace(found, decomposition=replace(parts, cells=cells))
    said = texts(gap_positivity(odd))
    assert {"not live", "! thin in lab"} <= set(said)
    assert "The lab covers every scenario" in gap_positivity_alt(odd)
    wide = tuple(replace(parts.cells[1], cell=f"cell {k}") for k in range(45))
    assert "The other 5 scenarios: in the table" in texts(
        gap_positivity(replace(found, decomposition=replace(parts, cells=wide)))
    )


# --- the way from lab to live ---


def test_steps_begin_where_the_last_one_ended_and_end_at_live() -> None:
    found = with_factors(made("one_scale"))
    steps = waterfall_steps(found)
    whole = [step for step in steps if step.kind == "step"]
    assert found.decomposition is not None
    row = found.decomposition.overall
    assert whole[0].start == row.lab.estimate
    assert all(after.start == pytest.approx(before.end) for before, after in pairwise(whole))
    assert whole[-1].end == pytest.approx(row.live.estimate)
    factors = [step for step in steps if step.kind == "part of a step"]
    assert factors[0].start == row.lab.estimate
    assert factors[-1].end == pytest.approx(whole[0].end)
    figure = gap_waterfall(found)
    drawn = [step for step in steps if step.kind in ("step", "part of a step")]
    expected = [sorted((100 * step.start, 100 * step.end)) for step in drawn]
    assert [end for bar in bars(figure) for end in bar] == pytest.approx([end for pair in expected for end in pair])


def test_only_settled_steps_are_filled_and_scores_weighted_to_the_live_mix_are_diamonds() -> None:
    found = made("one_scale")
    figure = gap_waterfall(found)
    faces = [face for _, face in points(figure)]
    assert faces == [LIGHT.ink, LIGHT.good, LIGHT.bad, LIGHT.surface, LIGHT.ink]
    assert found.decomposition is not None
    weighted = found.decomposition.overall.poststratified
    assert weighted is not None
    assert points(figure, "D") == [(pytest.approx(100 * (weighted.estimate or 0)), LIGHT.surface)]
    assert len(points(gap_waterfall(with_factors(found)), "D")) == 2
    # Less is better: the same step up is one to the worse.
    assert [face for _, face in points(gap_waterfall(turned(found)))][1:3] == [LIGHT.bad, LIGHT.good]


def test_a_single_model_has_its_own_way_and_an_unknown_one_none() -> None:
    found = made("one_scale")
    assert found.decomposition is not None
    row = found.decomposition.rows[2]
    assert waterfall_steps(found, row.model)[0].end == row.lab.estimate
    assert row.model in gap_waterfall_alt(found, model=row.model)
    with pytest.raises(ValueError, match="no decomposition of nobody"):
        gap_waterfall(found, model="nobody")


def test_a_way_with_a_part_missing_is_not_drawn() -> None:
    found = made("one_scale")
    parts = found.decomposition
    assert parts is not None
    gone = Part(estimate=None, reason="no live outcomes")
    overall = replace(parts.overall, live=gone, behaviour=gone, total=gone)
    without = replace(found, decomposition=replace(parts, overall=overall))
    assert gap_waterfall_reason(without) == "the gap cannot be taken apart: no live outcomes"
    bare = replace(parts.overall, unexplained=None, poststratified=None)
    names = [step.name for step in waterfall_steps(replace(found, decomposition=replace(parts, overall=bare)))]
    assert names == ["Lab", "Mix of scenarios", "Behaviour within them", "Live"]


# --- every figure of rows ---


@pytest.mark.parametrize(("name", "medium"), [*(("hostile", medium) for medium in MEDIA), ("votes", "print")])
def test_nothing_leaves_the_figures_and_nothing_overlaps(name: str, medium: Medium) -> None:
    found = made(name)
    figures = [draw(found, medium=medium) for draw, _, why in DRAWN if why(found) is None]
    kind: GapKind = "difference"
    if gap_forest_reason(found, kind=kind) is None:
        figures.append(gap_forest(found, kind=kind, medium=medium))
    for figure in figures:
        assert_words_have_room(figure)
        if medium == "print":
            assert figure.get_size_inches()[1] * 72 < 690  # one page with its caption


@pytest.mark.parametrize("name", ["without_errors", "four", "invalid"])
def test_what_cannot_be_drawn_says_why(name: str) -> None:
    found = made(name)
    for draw, alt, why in DRAWN:
        reason = why(found)
        assert reason is not None
        assert not reason.endswith(".")
        assert alt(found) == reason
        with pytest.raises(ValueError, match=r"cannot|no |not "):
            draw(found)


def test_names_are_never_markup_or_mathematics() -> None:
    found = made("hostile")
    for drawn in (
        svg(gap_forest(found), alt=gap_forest_alt(found)),
        svg(gap_forecast(found, medium="phone"), alt=gap_forecast_alt(found)),
    ):
        assert "<script>" not in drawn
        assert "\x1b" not in drawn
        assert "&lt;script&gt;alert(1)&lt;/script&gt;|$x$" in drawn


def test_colours_are_roles_and_the_same_answer_gives_the_same_bytes() -> None:
    found = made("one_scale")
    drawn = "".join(svg(draw(found)) for draw in (gap_forest, gap_positivity))
    for role in ("ink", "bad", "neutral", "line", "band", "muted", "surface", "caution"):
        assert f"var(--es-{role}, {getattr(LIGHT, role)})" in drawn
    assert svg(gap_waterfall(found)) == svg(gap_waterfall(found))


def test_zero_is_drawn_on_every_row_of_gaps() -> None:
    found = made("one_scale")
    lines = [each for each in gap_forest(found).axes[0].collections if isinstance(each, LineCollection)]
    zero = [s for each in lines if to_hex(each.get_colors()[0]) == LIGHT.ink for s in each.get_segments()]
    assert len(zero) == len(found.rows)
    assert all(float(x) == 0.0 for segment in zero for x in segment[:, 0])
