"""What is said of lab against live: it answers the title, keeps its budgets, and names nobody wrongly."""

from collections.abc import Callable
from dataclasses import replace

import polars as pl
import pytest

import evalstats as es
from evalstats.analysis.gap.document import models_table, order_of
from evalstats.analysis.gap.result import LabLiveGap
from evalstats.analysis.result import Estimate
from evalstats.document import terminal
from evalstats.document.model import Document
from evalstats.simulate.lab_live import simulate_lab_live
from tests.analysis.gap import example_gap as example

EXAMPLES: dict[str, Callable[[], LabLiveGap]] = {
    "one scale": example.one_scale,
    "votes": example.votes,
    "no errors": example.without_errors,
    "four": example.four,
    "invalid": example.invalid,
    "aligned": example.aligned,
    "hostile": example.hostile,
}


@pytest.fixture(params=EXAMPLES, scope="module")
def found(request: pytest.FixtureRequest) -> LabLiveGap:
    return EXAMPLES[request.param]()


# --- every result ---


def test_figures_have_a_table(found: LabLiveGap) -> None:
    for figure in found.document().figures.values():
        assert figure.table is not None
        assert figure.alt


# --- what is told ---


def planted(**options: object) -> LabLiveGap:
    both = simulate_lab_live(12, n_items=300, n_users=500, seed=3, **options)  # pyright: ignore[reportArgumentType]
    return es.gap(both.lab, both.live, n_resamples=200)


@pytest.fixture(scope="module")
def shifted() -> LabLiveGap:
    """Live users bring mostly the easy scenario, and nothing else differs."""
    hard = ("contradictory_constraints", "fabricated_parameters", "goal_switching", "impatience_and_hostility")
    mix = {"stable": 0.88, **dict.fromkeys((*hard, "information_overload", "underspecification"), 0.02)}
    return planted(live_mix=mix)


def test_a_level_that_the_mix_explains_is_no_red_cross(shifted: LabLiveGap) -> None:
    document = shifted.document()
    assert shifted.verdict == "gap"
    assert shifted.level is not None
    assert shifted.level.verdict == "gap"
    assert document.tone == "neutral"
    assert "points low, because live users bring easier tasks" in document.headline
    assert "Spearman" in document.headline
    assert document.number.startswith("+")
    assert any("Weight the lab to the live mix" in each for each in document.actions)


def test_behaviour_that_is_left_is_told_with_its_size(shifted: LabLiveGap) -> None:
    parts = shifted.decomposition
    assert parts is not None
    left = Estimate(estimate=0.09, std_error=0.01, conf_low=0.07, conf_high=0.11)
    nothing = Estimate(estimate=0.0, std_error=0.01, conf_low=-0.02, conf_high=0.02)
    changed = replace(
        shifted, decomposition=replace(parts, overall=replace(parts.overall, behaviour=left, mix=nothing))
    )
    document = changed.document()
    assert "because models do better on the same tasks" in document.headline
    assert document.tone == "caution"
    assert any("Do not expect re-weighting" in each for each in document.actions)


def test_a_model_off_the_line_is_named_and_what_it_is() -> None:
    found = planted(gaps={"model-03": -0.35})
    document = found.document()
    assert found.flagged() == ("model-03",)
    assert "overrates model-03" in document.headline
    assert document.label == "misjudges 1 model"
    assert document.number.startswith("−")
    assert any(each.startswith("Do not rely on the lab score of model-03") for each in document.actions)


def test_order_is_called_well_only_where_the_interval_carries_it() -> None:
    found = example.one_scale()
    row = found.agreement.of("spearman")

    def with_ends(estimate: float, low: float | None, high: float | None) -> LabLiveGap:
        intervals = tuple(replace(each, conf_low=low, conf_high=high) for each in row.intervals)
        changed = replace(row, estimate=estimate, intervals=intervals, p_value=0.5)
        others = tuple(changed if each.name == "spearman" else each for each in found.agreement.coefficients)
        return replace(found, agreement=replace(found.agreement, coefficients=others))

    assert order_of(with_ends(0.91, 0.6, 0.98)) == "well"
    assert order_of(with_ends(0.91, 0.1, 0.98)) == "fairly well"
    assert order_of(with_ends(0.4, 0.1, 0.6)) == "weakly"
    assert order_of(with_ends(0.4, -0.1, 0.6)) == "open"
    assert order_of(with_ends(-0.7, -0.9, -0.4)) == "reversed"
    assert order_of(with_ends(0.9, None, None)) == "open"
    assert with_ends(-0.7, -0.9, -0.4).document().tone == "bad"


def test_without_errors_order_is_all_that_is_told() -> None:
    document = example.without_errors().document()
    assert document.label in {"order only", "open"}
    assert "no gap can be judged" in document.headline
    assert any("standard errors" in each for each in document.actions)
    assert document.section("models") is None
    assert document.section("unanswered") is not None


def test_aligned_is_good_news() -> None:
    document = example.aligned().document()
    assert (document.label, document.tone) == ("aligned", "good")


# --- names ---


def test_hostile_names_break_no_form() -> None:
    found = example.hostile()
    document = found.document()
    names = [row.name for row in found.rows]
    text = terminal.to_text(document, full=True)
    assert "\x1b" not in text
    assert "\x07" not in text
    html = found.to_html()
    assert "<script" not in html
    assert "<img" not in html
    assert len({row[0] for row in models_table(found).rows}) == len(names)


def test_long_names_that_differ_stay_different_at_eighty_columns() -> None:
    base = "organisation/a-very-long-family-name-of-models-that-goes-on-and-on"
    models = [f"{base}-{i}b-instruct-2026" for i in range(60)]
    lab = pl.DataFrame({"model": models, "estimate": [0.9 - 0.01 * i for i in range(60)], "std_error": [0.01] * 60})
    live = lab.with_columns(estimate=1000 + 300 * pl.col("estimate"), std_error=pl.lit(4.0))
    document = es.gap(lab, live, n_resamples=100).document()
    text = terminal.to_text(document)
    shown = [line.split("  ")[0] for line in text.splitlines() if "instruct" in line and "%" not in line]
    assert len(set(shown)) == len(shown) >= 20
    assert "40 more with full=True" in text
    assert isinstance(document, Document)


def test_a_gap_that_looks_real_alone_is_said_not_to_survive() -> None:
    found = example.one_scale()
    row = next(row for row in found.rows if row.verdict == "inconclusive")
    others = [replace(each, p_value=0.5, p_adjusted=0.9) for each in found.rows if each is not row]
    assert "looks real alone" not in replace(found, rows=(replace(row, p_value=0.5, p_adjusted=0.9), *others)).summary()
    said = replace(found, rows=(replace(row, p_value=0.01, p_adjusted=0.2), *others)).summary()
    assert f"1 gap looks real alone ({row.name}) but does not stand out among {found.n_models} models." in said


def test_a_model_that_stands_out_among_few_is_named_though_it_is_not_called() -> None:
    found = example.one_scale()
    row = next(row for row in found.rows if row.verdict == "inconclusive")
    others = [replace(each, verdict="inconclusive", p_adjusted=0.9) for each in found.rows if each is not row]
    out = replace(
        row, conf_low=-0.3, conf_high=-0.1, estimate=-0.2, p_adjusted=0.001, reason="only 8 models are judged"
    )
    few = replace(found, verdict="inconclusive", level=None, decomposition=None, rows=(out, *others))
    assert f"{row.name} (−20.0 pp) stands out, but only 8 models are judged." in few.summary()
    heading = next(section.heading for section in few.document().evidence if section.id == "models")
    assert heading == f"{row.name} lies off the line through the others; no gap is called"


def test_a_gap_beyond_the_margin_is_called_material() -> None:
    found = example.one_scale()
    row = replace(found.rows[0], verdict="gap", material=True)
    texts = terminal.to_text(replace(found, rows=(row, *found.rows[1:])).document())
    assert "material gap" in texts
