"""Agreement of lab and live, with names, reasons and warnings."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest

from evalstats.analysis.gap.agreement import agreement_of
from evalstats.analysis.gap.agreement_result import Agreement
from evalstats.analysis.gap.shared_models import SharedModels
from evalstats.analysis.result import json_safe
from evalstats.stats.errors_in_variables.scores import LabLiveScores
from tests.analysis.gap.worlds import about, shared_of, side
from tests.stats.agreement.lablive import published
from tests.stats.agreement.test_draws import scores

FEW_DRAWS = 300


def _shared(s: LabLiveScores, n_resamples: int = FEW_DRAWS, marginal: bool = False) -> SharedModels:
    models = tuple(f"model {place}" for place in range(s.n_models))
    told = {"kind": "aggregates", "about": about(kind="continuous"), "models": models}
    sides = side(s.lab, s.lab_covariance, marginal=marginal, **told), side(s.live, s.live_covariance, **told)
    return shared_of(*sides, same_scale=False, scores=s, n_resamples=n_resamples)


def _part(found: Agreement, label: str) -> object:
    return next(part for part in found.parts if part.label == label)


def test_published_benchmark_without_errors(golden: Path) -> None:
    s, known = published(golden)["arena_hard_240829_holistic"]
    found = agreement_of(_shared(s, 2000))
    assert found.n_models == 48
    assert found.of("spearman").estimate == pytest.approx(known["spearman"], abs=1e-12)
    top = _part(found, "live top 10")
    assert top.spearman == pytest.approx(known["spearman_top10"], abs=1e-12)
    assert top.kendall == pytest.approx(known["kendall_top10_live"], abs=1e-12)
    ends = found.of("spearman").interval("models")
    # Ends of two bootstraps with 2000 and 5000 draws: each is known to about .006.
    assert (ends.conf_low, ends.conf_high) == pytest.approx(tuple(known["boot_models_seed0_5000"][0]), abs=0.03)
    assert "unknown" in found.of("pearson").interval("items and votes").reason
    assert found.of("pearson").ceiling is None
    assert "no ceiling" in found.of("pearson").true_reason
    assert found.pairs.n_contradicted is None
    assert found.pairs.agreement_low < found.pairs.agreement < found.pairs.agreement_high
    assert "errors of the lab and live scores" in found.notes[0].text


def test_everything_is_told_where_errors_are_known() -> None:
    found = agreement_of(_shared(scores(cross=True)))
    pearson = found.of("pearson")
    assert [each.source for each in pearson.intervals] == ["items and votes", "all"]
    assert all(each.conf_low < pearson.estimate < each.conf_high for each in pearson.intervals)
    assert pearson.disattenuated > pearson.estimate
    assert pearson.disattenuated_source == "all"
    assert pearson.disattenuated_low < pearson.these_low
    assert found.of("kendall").disattenuated is None
    assert all(row.ceiling_low < row.ceiling < row.ceiling_high for row in found.coefficients)
    assert {part.kind for part in found.parts} == {"top", "lab top", "tier"}
    tiers = [part.models for part in found.parts if part.kind == "tier"]
    assert [len(each) for each in tiers] == [10, 10, 10]
    assert found.to_frame().height == 6
    json.dumps(json_safe(found))


def test_the_order_of_the_models_changes_nothing() -> None:
    made = _shared(scores(cross=True))
    order = np.random.default_rng(3).permutation(30)
    shuffled = dataclasses.replace(
        made, models=tuple(made.models[place] for place in order), scores=made.scores.subset(order)
    )
    first, second = agreement_of(made), agreement_of(shuffled)
    assert [part.models for part in first.parts] == [part.models for part in second.parts]
    for one, other in zip(first.coefficients, second.coefficients, strict=True):
        assert other.p_value == one.p_value
        for a, b in zip(one.intervals, other.intervals, strict=True):
            assert (a.conf_low, a.conf_high) == pytest.approx((b.conf_low, b.conf_high), abs=1e-6)
    assert first.pairs.n_same == second.pairs.n_same


def test_a_monotone_change_of_the_lab_moves_no_rank() -> None:
    s = scores()
    bare = LabLiveScores(lab=s.lab, live=s.live)
    bent = LabLiveScores(lab=np.exp(s.lab), live=s.live)
    first, second = agreement_of(_shared(bare)), agreement_of(_shared(bent))
    for name in ("spearman", "kendall"):
        assert second.of(name).estimate == pytest.approx(first.of(name).estimate, abs=1e-12)
        assert second.of(name).interval("models").conf_low == pytest.approx(
            first.of(name).interval("models").conf_low, abs=1e-12
        )
    assert second.of("pearson").estimate != first.of("pearson").estimate


def test_contradictions_carry_names_and_differences() -> None:
    s = LabLiveScores(
        lab=np.array([1.0, 0.0, 3.0, 4.0]),
        live=np.array([0.0, 1.0, 5.0, 6.0]),
        lab_covariance=0.005 * np.eye(4),
        live_covariance=0.02 * np.eye(4),
    )
    found = agreement_of(_shared(s))
    (row,) = found.pairs.contradictions
    assert (row.better_live, row.better_lab) == ("model 1", "model 0")
    assert (row.lab_difference, row.live_difference) == (-1.0, 1.0)
    assert 0.0 < row.lab_p_adjusted < row.live_p_adjusted < 0.001


def test_few_models_speak_for_themselves() -> None:
    found = agreement_of(_shared(scores().subset(np.arange(8))))
    row = found.of("spearman")
    assert row.interval("all").conf_low is None
    assert "10 are needed" in row.interval("all").reason
    assert row.interval("items and votes").conf_low is not None
    assert row.p_method == "all 40320 permutations"
    assert found.of("pearson").disattenuated_source == "items and votes"


def test_few_models_have_the_rank_coefficients_of_their_true_scores() -> None:
    """Close models make no order for certain, whichever order one measurement gives them."""
    errors = 0.02**2 * np.eye(5)
    lab, live = np.array([0.71, 0.67, 0.60, 0.57, 0.44]), np.array([0.70, 0.66, 0.57, 0.56, 0.45])
    s = LabLiveScores(lab=lab, live=live, lab_covariance=errors, live_covariance=errors)
    found = agreement_of(_shared(s))
    assert found.of("spearman").estimate == pytest.approx(1.0)
    ends = found.of("spearman").interval("items and votes")
    assert ends.conf_low <= 0.5
    assert ends.conf_high == 1.0
    assert "true scores" in ends.method
    assert found.of("kendall").interval("items and votes").conf_low <= 0.4
    assert "basic" in found.of("pearson").interval("items and votes").method


def test_three_models_and_two() -> None:
    s = scores()
    three = agreement_of(_shared(s.subset(np.arange(3))))
    assert three.of("kendall").p_value >= 1 / 3
    two = agreement_of(_shared(s.subset(np.arange(2))))
    assert two.of("kendall").estimate is None
    assert two.pairs is None
    assert "at least 3" in two.of("pearson").reason
    assert two.to_frame().height == 3


def test_a_constant_side_is_named() -> None:
    s = scores()
    flat = LabLiveScores(
        lab=s.lab, live=np.full(30, 0.1), lab_covariance=s.lab_covariance, live_covariance=s.live_covariance
    )
    found = agreement_of(_shared(flat))
    assert found.of("spearman").estimate is None
    assert "all live scores are equal" in found.notes[0].text


def test_noise_in_place_of_spread_is_a_warning() -> None:
    s = scores()
    noisy = LabLiveScores(lab=s.lab, live=s.live, lab_covariance=5.0 * np.eye(30), live_covariance=s.live_covariance)
    found = agreement_of(_shared(noisy, marginal=True))
    assert found.of("pearson").disattenuated is None
    assert "reliability of lab" in found.of("pearson").true_reason
    assert found.of("pearson").interval("items and votes").conf_low is not None
