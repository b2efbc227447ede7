"""Deleted gaps against fits without the model, formulas for independent errors, and simulated errors."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from evalstats.errors import CannotAnswerError, InputError
from evalstats.stats.errors_in_variables import slope_search
from evalstats.stats.errors_in_variables.line import fit_line
from evalstats.stats.errors_in_variables.scores import LabLiveScores
from evalstats.stats.errors_in_variables.true_gaps import deleted_gaps, shrunken_gaps
from evalstats.stats.many.multiplicity import benjamini_hochberg

SEARCHED = 1e-6  # two searches that stop by themselves


def _scores(seed: int, n: int = 12, *, tau: float = 0.3, gap: float = 0.0) -> LabLiveScores:
    rng = np.random.default_rng(seed)
    v_x, v_z = rng.uniform(0.02, 0.2, size=n), rng.uniform(0.01, 0.1, size=n)
    true = rng.normal(size=n)
    gaps = tau * rng.normal(size=n)
    gaps[0] += gap
    return LabLiveScores(
        lab=true + np.sqrt(v_x) * rng.normal(size=n),
        live=1.0 + 1.3 * true + gaps + np.sqrt(v_z) * rng.normal(size=n),
        lab_covariance=np.diag(v_x),
        live_covariance=np.diag(v_z),
    )


def _with_shared(scores: LabLiveScores) -> LabLiveScores:
    """Errors that go together between models and between sides."""
    rng, n = np.random.default_rng(99), scores.n_models
    root = rng.normal(size=(2 * n, 2 * n)) * 0.15
    joint = root @ root.T + 0.02 * np.eye(2 * n)
    return replace(scores, lab_covariance=joint[:n, :n], live_covariance=joint[n:, n:], cross=joint[:n, n:])


@pytest.mark.parametrize(("seed", "shared"), [(0, False), (1, True)])
def test_each_gap_is_that_from_a_fit_without_the_model(seed: int, shared: bool) -> None:
    scores = _with_shared(_scores(seed)) if shared else _scores(seed)
    gaps = deleted_gaps(scores)
    assert gaps.converged
    for m in range(12):
        rest = fit_line(scores.subset(np.delete(np.arange(12), m)))
        wanted = scores.live[m] - rest.intercept - rest.slope * scores.lab[m]
        assert gaps.gap[m] == pytest.approx(wanted, abs=SEARCHED)
        assert gaps.tau2[m] == pytest.approx(rest.tau2, abs=SEARCHED)
        assert gaps.slope_std_error[m] == pytest.approx(rest.slope_std_error, rel=SEARCHED)
        assert gaps.expected[m] + gaps.gap[m] == pytest.approx(scores.live[m])


def test_independent_errors_give_the_formula_of_a_sum() -> None:
    scores = _scores(1)
    gaps = deleted_gaps(scores)
    assert scores.lab_covariance is not None
    assert scores.live_covariance is not None
    v_x, v_z = np.diag(scores.lab_covariance), np.diag(scores.live_covariance)
    for m in range(12):
        at = np.delete(np.arange(12), m)
        b, tau2 = gaps.slope[m], gaps.tau2[m]
        weight = 1 / (v_z[at] + b**2 * v_x[at] + tau2)
        rest = fit_line(scores.subset(at))
        points = scores.lab[at] + b * v_x[at] * weight * rest.residual
        mean = (weight * points).sum() / weight.sum()
        slope_variance = 1 / (weight * (points - mean) ** 2).sum()
        mean_noise = ((weight / weight.sum()) ** 2 * v_x[at]).sum()
        away = (scores.lab[m] - mean) ** 2 + v_x[m] + mean_noise
        v0 = v_z[m] + b**2 * v_x[m] + 1 / weight.sum() + away * slope_variance
        assert gaps.std_error[m] ** 2 == pytest.approx(v0, rel=SEARCHED)
        df = 9 * ((v0 + tau2) / tau2) ** 2 if tau2 > 0 else np.inf
        t = gaps.gap[m] / np.sqrt(v0 + tau2)
        assert gaps.p_value[m] == pytest.approx(2 * stats.norm.sf(abs(gaps.gap[m]) / np.sqrt(v0)), rel=1e-5)
        assert gaps.p_outlier[m] == pytest.approx(2 * stats.t.sf(abs(t), df), rel=1e-5)


def test_what_all_models_share_leaves_gaps_and_their_errors_alone() -> None:
    scores = _scores(2)
    assert scores.lab_covariance is not None
    assert scores.live_covariance is not None
    shifted = replace(
        scores,
        lab_covariance=scores.lab_covariance + 5.0,
        live_covariance=scores.live_covariance + 50.0,
        cross=np.full((12, 12), 3.0),
    )
    plain, moved = deleted_gaps(scores), deleted_gaps(shifted)
    np.testing.assert_allclose(moved.gap, plain.gap, atol=SEARCHED)
    np.testing.assert_allclose(moved.std_error, plain.std_error, rtol=SEARCHED)
    np.testing.assert_allclose(moved.p_outlier, plain.p_outlier, rtol=1e-4)


def test_intervals_cover_with_errors_that_go_together() -> None:
    """Within 3 standard errors of the simulation (25 worlds of 12 dependent models: sd of a world's share about 0.08)."""
    rng, hits = np.random.default_rng(4), []
    base = _with_shared(_scores(0))
    assert base.lab_covariance is not None
    assert base.live_covariance is not None
    assert base.cross is not None
    joint = np.block([[base.lab_covariance, base.cross], [base.cross.T, base.live_covariance]])
    root = np.linalg.cholesky(joint)
    for _ in range(25):
        true, errors = 2 * rng.normal(size=12), root @ rng.normal(size=24)
        truth = 0.3 * rng.normal(size=12)
        gaps = deleted_gaps(replace(base, lab=true + errors[:12], live=1.3 * true + truth + errors[12:]))
        hits.append(((gaps.conf_low <= truth) & (truth <= gaps.conf_high)).mean())
    assert abs(np.mean(hits) - 0.95) < 3 * 0.08 / np.sqrt(25)


def test_flags_adjusted_intervals_and_equivalence_intervals_follow_their_rules() -> None:
    gaps = deleted_gaps(_scores(5, gap=4.0), conf_level=0.9)
    np.testing.assert_allclose(gaps.p_adjusted, benjamini_hochberg(gaps.p_outlier))
    found = gaps.p_adjusted <= 0.1
    assert found[0]
    assert gaps.flagged[0]
    level = stats.norm.ppf(1 - 0.1 * found.sum() / 24)
    np.testing.assert_allclose(gaps.adjusted_high[found], (gaps.gap + level * gaps.std_error)[found])
    np.testing.assert_allclose(gaps.adjusted_high[~found], gaps.conf_high[~found])
    np.testing.assert_allclose(gaps.equivalence_low, gaps.gap - stats.norm.ppf(0.9) * gaps.std_error)


@pytest.mark.parametrize("n", [6, 9])
def test_few_models_are_flagged_only_beyond_a_margin(n: int) -> None:
    lab = np.linspace(0, 1, n)
    live = lab.copy()
    live[2] += 2.0
    scores = LabLiveScores(lab=lab, live=live, lab_covariance=1e-4 * np.eye(n), live_covariance=1e-3 * np.eye(n))
    assert not deleted_gaps(scores).flagged.any()
    assert deleted_gaps(scores, margin=0.5).flagged.nonzero()[0].tolist() == [2]
    assert not deleted_gaps(scores, margin=3.0).flagged.any()


def test_others_that_do_not_differ_in_the_lab_give_no_flag() -> None:
    rng = np.random.default_rng(1)
    lab = np.append(0.01 * rng.normal(size=11), 5.0)
    live = np.append(rng.normal(size=11), 9.0)
    scores = LabLiveScores(lab=lab, live=live, lab_covariance=0.01 * np.eye(12), live_covariance=1e-4 * np.eye(12))
    gaps = deleted_gaps(scores)
    assert not gaps.determined[11]
    assert not gaps.flagged[11]
    assert gaps.extrapolated.tolist() == [False] * 11 + [True]


def test_order_and_units_do_not_matter() -> None:
    scores, order = _scores(3), np.random.default_rng(0).permutation(12)
    assert scores.live_covariance is not None
    plain, shuffled = deleted_gaps(scores), deleted_gaps(scores.subset(order))
    np.testing.assert_allclose(shuffled.gap, plain.gap[order], atol=SEARCHED)
    elo = replace(scores, live=1000 + 400 * scores.live, live_covariance=400**2 * scores.live_covariance)
    np.testing.assert_allclose(deleted_gaps(elo).gap, 400 * plain.gap, atol=400 * SEARCHED)
    np.testing.assert_allclose(deleted_gaps(elo).p_outlier, plain.p_outlier, rtol=1e-4)


def test_shrunken_gaps_lie_between_0_and_the_gap_in_their_interval() -> None:
    scores = _scores(6, tau=0.6)
    gaps, fit = deleted_gaps(scores), fit_line(scores)
    drawn = shrunken_gaps(scores, gaps, fit)
    share = fit.tau2 / (fit.tau2 + gaps.std_error**2)
    np.testing.assert_allclose(drawn.estimate, share * gaps.gap)
    assert ((drawn.low < drawn.estimate) & (drawn.estimate < drawn.high)).all()


def test_no_shrunken_interval_of_no_width() -> None:
    lab = np.arange(12.0)
    scores = LabLiveScores(lab=lab, live=2 * lab, lab_covariance=np.eye(12), live_covariance=np.eye(12))
    drawn = shrunken_gaps(scores, deleted_gaps(scores), fit_line(scores))
    assert np.isnan(drawn.low).all()
    assert np.isnan(drawn.high).all()


def test_refusals_are_in_words() -> None:
    scores = _scores(1)
    with pytest.raises(CannotAnswerError, match="5 shared models are too few"):
        deleted_gaps(scores.subset(np.arange(5)))
    with pytest.raises(CannotAnswerError, match="not every live score has a standard error"):
        deleted_gaps(replace(scores, live_covariance=None))
    with pytest.raises(InputError, match="margin is 0"):
        deleted_gaps(scores, margin=0.0)


@pytest.mark.parametrize("tau", [0.0, 0.6])
def test_outliers_are_judged_and_found_by_the_law_of_noise_and_spread(tau: float) -> None:
    n, gaps = 12, deleted_gaps(_scores(8, tau=tau), conf_level=0.9)
    for m in range(n):
        among = np.hypot(gaps.std_error[m], np.sqrt(gaps.tau2[m]))
        df = (n - 3) * (among**2 / gaps.tau2[m]) ** 2 if gaps.tau2[m] > 0.0 else np.inf
        assert gaps.df[m] == pytest.approx(df)
        assert gaps.p_outlier[m] == pytest.approx(2.0 * stats.t.sf(abs(gaps.gap[m]) / among, df))
        assert gaps.p_value[m] == pytest.approx(2.0 * stats.norm.sf(abs(gaps.gap[m]) / gaps.std_error[m]))
        # One of n is held against 1/n of the level; the gap named is beyond that in four of five cases.
        limit = stats.t.isf(0.1 / (2 * n), df)
        assert stats.norm.sf(limit, loc=gaps.detectable[m] / among) == pytest.approx(0.8)


def test_intervals_are_normal_around_the_gap() -> None:
    gaps = deleted_gaps(_scores(3), conf_level=0.9)
    np.testing.assert_allclose(gaps.conf_low, gaps.gap - stats.norm.ppf(0.95) * gaps.std_error)
    np.testing.assert_allclose(gaps.conf_high, gaps.gap + stats.norm.ppf(0.95) * gaps.std_error)
    np.testing.assert_allclose(gaps.equivalence_high, gaps.gap + stats.norm.ppf(0.9) * gaps.std_error)


def test_newtons_steps_come_to_rest_without_the_slow_search(monkeypatch: pytest.MonkeyPatch) -> None:
    def slow(*_: object) -> None:
        raise AssertionError("the slow search was needed")

    monkeypatch.setattr(slope_search, "_bracketed", slow)
    assert deleted_gaps(_scores(0, n=6)).converged


def test_newtons_steps_at_a_given_spread_come_to_rest_at_demings_line() -> None:
    x, z = np.array([1.0, -0.5, 0.3]), np.array([0.9, -0.7, 0.1])
    problem = slope_search.Problems(x=x[None], z=z[None], v_x=np.eye(3)[None], v_z=0.5 * np.eye(3)[None], v_cross=None)
    found = slope_search.lowest(problem, np.array([0.5]))
    assert found.converged.all()
    # Noise and spread of 1 on both sides: the first principal axis.
    values, vectors = np.linalg.eigh(np.array([[x @ x, x @ z], [x @ z, z @ z]]))
    assert np.tan(found.angle[0]) == pytest.approx(vectors[1, 1] / vectors[0, 1], rel=SEARCHED)
    assert found.statistic[0] == pytest.approx(values[0])


@pytest.mark.parametrize("away", [1.5, -1.5])
def test_a_gap_is_flagged_on_either_side_of_the_line(away: float) -> None:
    rng = np.random.default_rng(3)
    lab = np.linspace(-2.0, 2.0, 14)
    live = lab + 0.1 * rng.normal(size=14)
    live[6] += away
    found = deleted_gaps(
        LabLiveScores(lab=lab, live=live, lab_covariance=0.01 * np.eye(14), live_covariance=0.01 * np.eye(14))
    )
    assert np.flatnonzero(found.flagged).tolist() == [6]
    assert np.sign(found.gap[6]) == np.sign(away)


@pytest.mark.parametrize("share", [0.2, 0.6])
def test_the_slow_search_finds_the_spread_that_brings_the_sum_down_to_its_target(share: float) -> None:
    sides = slope_search.scaled_sides(_scores(3, tau=0.6))
    problems = sides.all_models()
    start = slope_search.lowest(problems, np.array([sides.floor])).statistic
    found = slope_search._bracketed(problems, share * start, sides.floor)
    assert found.tau2[0] > 0.0
    again = slope_search.york_sum(problems, found.angle, found.tau2)
    assert again == pytest.approx(share * start, rel=1e-6)
    none = slope_search._bracketed(problems, 1.1 * start, sides.floor)
    assert none.tau2[0] == sides.floor
