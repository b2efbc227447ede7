"""Verdicts of the calibrated gap, their reasons, and directions of metrics of which less is better."""

from dataclasses import replace

import numpy as np
import pytest

from evalstats.analysis.gap.calibration import calibrated
from evalstats.analysis.gap.shared_models import SharedModels
from tests.analysis.gap.notes import lines_of
from tests.analysis.gap.worlds import about, shared_of, side


def _material(
    n: int,
    *,
    gap: float = 0.0,
    same_scale: bool = False,
    margin: float | None = None,
    turned: tuple[bool, bool] = (False, False),
    errors: tuple[bool, bool] = (True, True),
) -> SharedModels:
    rng = np.random.default_rng(n)
    true = np.linspace(0.2, 0.8, n)
    lab = true + 0.02 * rng.normal(size=n)
    live = true - 0.1 + 0.02 * rng.normal(size=n)
    live[1] += gap
    table = 0.02**2 * np.eye(n) + 0.01**2
    v_x, v_z = (table if known else None for known in errors)
    lab, live = (-each if less else each for each, less in zip((lab, live), turned, strict=True))
    of_lab, of_live = (about(higher_is_better=not less) for less in turned)
    sides = side(lab, v_x, about=of_lab), side(live, v_z, about=of_live)
    return shared_of(*sides, same_scale=same_scale, margin=margin)


def test_a_planted_gap_is_called_and_nothing_else() -> None:
    found = calibrated(_material(12, gap=0.4, margin=0.15, same_scale=True))
    verdicts = [row.verdict for row in found.rows]
    assert verdicts[1] == "gap"
    assert "gap" not in verdicts[:1] + verdicts[2:]
    assert found.rows[1].material is True
    assert "excludes 0" in found.rows[1].reason
    assert found.rows[1].estimate == pytest.approx(0.4, abs=0.15)
    assert found.line is not None
    assert {line.key for line in found.line.others} == {"ols", "theil-sen", "without leverage"}
    assert found.level is not None
    assert found.level.estimate == pytest.approx(-0.1 + 0.4 / 12, abs=0.05)


def test_no_gap_within_a_wide_margin_is_aligned_and_without_one_inconclusive() -> None:
    assert {row.verdict for row in calibrated(_material(12, margin=0.3)).rows} == {"aligned"}
    plain = calibrated(_material(12))
    assert {row.verdict for row in plain.rows} == {"inconclusive"}


def test_six_to_nine_models_need_a_margin() -> None:
    without = calibrated(_material(8, gap=0.4))
    assert without.rows[1].verdict == "inconclusive"
    assert "no margin is declared" in without.rows[1].reason
    assert "only beyond a declared margin" in lines_of(without.notes, "few", caution=True)
    assert calibrated(_material(8, gap=0.4, margin=0.1)).rows[1].verdict == "gap"


def test_fewer_than_six_models_have_differences_alone() -> None:
    apart = calibrated(_material(5))
    assert apart.line is None
    assert apart.reason is not None
    assert "5 shared models are too few" in apart.reason
    assert {row.verdict for row in apart.rows} == {"invalid"}
    same = calibrated(_material(5, gap=0.5, same_scale=True))
    assert same.line is None
    assert same.rows[1].difference_verdict == "gap"
    assert same.level is not None


@pytest.mark.parametrize(("errors", "side"), [((False, True), "lab"), ((True, False), "live")])
def test_without_standard_errors_there_is_no_gap(errors: tuple[bool, bool], side: str) -> None:
    found = calibrated(_material(12, errors=errors, same_scale=True))
    assert found.line is None
    assert found.level is None
    assert f"not every {side} score has a standard error" in (found.reason or "")
    assert {row.verdict for row in found.rows} == {"invalid"}


def test_a_constant_side_and_a_lab_of_noise_are_told() -> None:
    made = _material(12)
    flat = replace(made, scores=replace(made.scores, live=np.full(12, 0.5)))
    assert "same live score" in (calibrated(flat).reason or "")
    noisy = replace(made, scores=replace(made.scores, lab_covariance=np.eye(12)))
    assert "no more than noise" in (calibrated(noisy).reason or "")


def test_a_slope_that_could_be_0_gives_no_verdict() -> None:
    made = _material(12, margin=2.0)
    rng = np.random.default_rng(0)
    found = calibrated(replace(made, scores=replace(made.scores, live=0.5 + 0.1 * rng.normal(size=12))))
    assert found.line is not None
    assert "not clearly different from 0" in lines_of(found.notes, "fit", caution=True)
    assert {row.verdict for row in found.rows} == {"inconclusive"}


def test_a_model_that_hides_the_slope_is_judged_without_a_doubt_about_the_line() -> None:
    """One far off the line of the others makes the slope of all unclear; its own verdict uses the others' clear one."""
    made = _material(8, gap=1.5, margin=0.1)
    found = calibrated(made)
    assert found.line is not None
    assert found.line.slope_p_value > 0.05
    assert [row.verdict for row in found.rows].count("gap") == 1
    assert lines_of(found.notes, "fit", caution=True) == ""
    undeclared = calibrated(replace(made, margin=None))
    assert "Judge no model" in lines_of(undeclared.notes, "fit", caution=True)


@pytest.mark.parametrize("turned", [(True, False), (False, True), (True, True)])
def test_directions_are_turned_back_and_a_gap_above_0_is_better(turned: tuple[bool, bool]) -> None:
    plain, other = calibrated(_material(12, gap=0.4)), calibrated(_material(12, gap=0.4, turned=turned))
    lab, live = (-1.0 if each else 1.0 for each in turned)
    assert plain.line is not None
    assert other.line is not None
    assert other.line.slope == pytest.approx(lab * live * plain.line.slope)
    assert other.line.intercept == pytest.approx(live * plain.line.intercept)
    assert other.line.slope_low < other.line.slope < other.line.slope_high
    made = _material(12, gap=0.4, turned=turned)
    for j, (one, two) in enumerate(zip(plain.rows, other.rows, strict=True)):
        assert two.estimate == pytest.approx(one.estimate)
        assert two.expected is not None
        assert two.estimate is not None
        assert two.expected + live * two.estimate == pytest.approx(made.live.estimate[j])
        assert two.verdict == one.verdict


def test_published_errors_may_all_be_shared_in_a_mean_and_none_of_them_between_models() -> None:
    made = _material(12)
    plain = calibrated(made)
    found = calibrated(replace(made, lab=replace(made.lab, marginal=True), live=replace(made.live, marginal=True)))
    if plain.level is not None and found.level is not None:
        errors = [np.sqrt(np.diag(table)) for table in (made.scores.lab_covariance, made.scores.live_covariance)]
        # One error that all models share is that of the mean: as large as the mean of the errors, not a share of it.
        assert found.level.std_error == pytest.approx(np.hypot(errors[0].mean(), errors[1].mean()))
        assert "all counts as shared" in lines_of(found.notes, "choice")
    assert [row.difference_std_error for row in found.rows] == [row.difference_std_error for row in plain.rows]


def test_a_bend_is_told_and_a_straight_line_is_not_called_bent() -> None:
    made = _material(20)
    straight = calibrated(made)
    assert straight.line is not None
    assert straight.line.bend_p is not None
    assert straight.line.bend_p > 0.05
    assert "bend" not in lines_of(straight.notes, "fit")
    curved = replace(made.scores, live=made.scores.live + 2.0 * (made.scores.lab - 0.5) ** 2)
    for same_scale in (False, True):
        found = calibrated(replace(made, scores=curved, same_scale=same_scale))
        assert found.line is not None
        assert found.line.bend_p is not None
        assert found.line.bend_p < 1e-4
        said = lines_of(found.notes, "fit", caution=True)
        assert "bend away from a straight line" in said
        assert "no model is called a gap" in said
        assert not any(row.verdict == "gap" for row in found.rows)
    few = calibrated(_material(9)).line
    assert few is not None
    assert few.bend_p is None
