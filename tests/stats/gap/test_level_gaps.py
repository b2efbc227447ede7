"""Plain differences of live and lab against their definition, and by simulation."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from evalstats.errors import CannotAnswerError
from evalstats.stats.errors_in_variables.scores import LabLiveScores
from evalstats.stats.gap import level_gaps

N = 7
ROUNDING = 1e-9


def _scores(seed: int = 0) -> LabLiveScores:
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(2 * N, 2 * N)) * 0.05
    joint = root @ root.T
    return LabLiveScores(
        lab=rng.uniform(0.5, 0.9, N),
        live=rng.uniform(0.4, 0.8, N),
        lab_covariance=joint[:N, :N],
        live_covariance=joint[N:, N:],
        cross=joint[:N, N:],
    )


def test_differences_and_mean_are_those_of_the_definition() -> None:
    scores = _scores()
    found = level_gaps(scores)
    assert scores.lab_covariance is not None
    assert scores.live_covariance is not None
    assert scores.cross is not None
    joint = np.block([[scores.lab_covariance, scores.cross], [scores.cross.T, scores.live_covariance]])
    apart = np.hstack([-np.eye(N), np.eye(N)])
    both, each = np.concatenate([scores.lab, scores.live]), found.differences
    errors = np.sqrt(np.diag(apart @ joint @ apart.T))
    np.testing.assert_allclose(each.estimate, apart @ both, atol=ROUNDING)
    np.testing.assert_allclose(each.std_error, errors, rtol=ROUNDING)
    np.testing.assert_allclose(each.p_value, 2 * stats.norm.sf(np.abs(apart @ both) / errors), rtol=1e-6)
    mean = np.full(N, 1 / N) @ apart
    assert found.mean == pytest.approx(mean @ both)
    assert found.std_error == pytest.approx(np.sqrt(mean @ joint @ mean))


@pytest.mark.parametrize("dfs", [(None, None), (7.0, None), (9.0, 12.0)])
@pytest.mark.parametrize("conf_level", [0.8, 0.95])
def test_ends_and_degrees_of_freedom_are_those_of_the_definition(dfs, conf_level) -> None:
    scores = replace(_scores(), cross=None)
    found = level_gaps(scores, conf_level=conf_level, lab_df=dfs[0], live_df=dfs[1])
    v_x, v_z = scores.lab_covariance, scores.live_covariance
    assert v_x is not None
    assert v_z is not None
    gap = scores.live - scores.lab

    def law(lab: float, live: float):
        doubt = sum(each**2 / df for each, df in zip((lab, live), dfs, strict=True) if df is not None)
        return stats.t((lab + live) ** 2 / doubt) if doubt else stats.norm()

    def reach(lab: float, live: float, level: float) -> float:
        return law(lab, live).ppf(0.5 + level / 2) * np.sqrt(lab + live)

    narrow = 2 * conf_level - 1
    for each, rows in ((found.differences, np.eye(N)),):
        p = []
        for k, row in enumerate(rows):
            lab, live, estimate = row @ v_x @ row, row @ v_z @ row, row @ gap
            p.append(2 * law(lab, live).sf(abs(estimate) / np.sqrt(lab + live)))
            ends = [estimate - reach(lab, live, conf_level), estimate + reach(lab, live, conf_level)]
            assert [each.conf_low[k], each.conf_high[k]] == pytest.approx(ends)
            ends = [estimate - reach(lab, live, narrow), estimate + reach(lab, live, narrow)]
            assert [each.equivalence_low[k], each.equivalence_high[k]] == pytest.approx(ends)
        adjusted = stats.false_discovery_control(p)
        np.testing.assert_allclose(each.p_adjusted, adjusted, rtol=1e-6)
        # Of R discoveries among N each interval is at 1 - R (1 - level)/N.
        chosen = adjusted <= 1 - conf_level
        level = 1 - chosen.sum() * (1 - conf_level) / N
        for k, row in enumerate(rows):
            wide = reach(row @ v_x @ row, row @ v_z @ row, level if chosen[k] else conf_level)
            assert each.adjusted_low[k] == pytest.approx(row @ gap - wide, rel=1e-6)
            assert each.adjusted_high[k] == pytest.approx(row @ gap + wide, rel=1e-6)
            assert each.flagged[k] == (chosen[k] and abs(row @ gap) > wide)
    one = reach(v_x.mean(), v_z.mean(), conf_level)
    assert (found.conf_low, found.conf_high) == pytest.approx((gap.mean() - one, gap.mean() + one))
    one = reach(v_x.mean(), v_z.mean(), narrow)
    assert (found.equivalence_low, found.equivalence_high) == pytest.approx((gap.mean() - one, gap.mean() + one))
    assert found.p_value == pytest.approx(2 * law(v_x.mean(), v_z.mean()).sf(abs(found.mean) / found.std_error))


def test_few_clusters_make_the_intervals_students() -> None:
    found = level_gaps(_scores(), lab_df=9.0, live_df=9.0)
    plain = level_gaps(_scores())
    assert (found.differences.df >= 9.0).all()
    assert (found.differences.df <= 18.0 + ROUNDING).all()
    assert found.conf_high - found.conf_low > plain.conf_high - plain.conf_low
    assert np.isinf(plain.df)


def test_levels_of_tests_and_intervals_by_simulation() -> None:
    """No difference at all, 600 worlds: each share within 3 of its standard errors (models of a world are dependent)."""
    rng, base = np.random.default_rng(1), _scores(2)
    assert base.lab_covariance is not None
    assert base.live_covariance is not None
    assert base.cross is not None
    joint = np.block([[base.lab_covariance, base.cross], [base.cross.T, base.live_covariance]])
    root = np.linalg.cholesky(joint + 1e-12 * np.eye(2 * N))
    single, mean = [], []
    for _ in range(600):
        errors = root @ rng.normal(size=2 * N)
        found = level_gaps(replace(base, lab=0.7 + errors[:N], live=0.6 + errors[N:]))
        single.append(((found.differences.conf_low <= -0.1) & (found.differences.conf_high >= -0.1)).mean())
        mean.append(found.conf_low <= -0.1 <= found.conf_high)
    assert np.mean(single) == pytest.approx(0.95, abs=0.02)
    assert np.mean(mean) == pytest.approx(0.95, abs=3 * np.sqrt(0.95 * 0.05 / 600))


def test_one_model_has_a_difference() -> None:
    found = level_gaps(_scores().subset(np.array([0])))
    assert found.mean == pytest.approx(found.differences.estimate[0])


def test_refusals_are_in_words() -> None:
    with pytest.raises(CannotAnswerError, match="lab scores have no standard errors"):
        level_gaps(replace(_scores(), lab_covariance=None))
    with pytest.raises(CannotAnswerError, match="share no model"):
        level_gaps(_scores().subset(np.array([], dtype=np.int64)))
