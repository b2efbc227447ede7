"""Contrasts of all pairs: by hand, against refits with another number for every model, and with the rank sets."""

import numpy as np
import pytest
from scipy import stats

from evalstats.stats.arena.bradley_terry import fit_strengths
from evalstats.stats.arena.contrasts import pair_contrasts, strength_ranks
from evalstats.stats.arena.covariance import combination_variance, covariance_of
from evalstats.stats.arena.votes import vote_rows
from tests.stats.arena.simulated_votes import Arena, simulate

ARENA = Arena(strengths=(-0.8, -0.7, -0.1, 0.0, 0.6, 1.0), n_raters=90, n_votes=1500, rater_sd=0.5)


@pytest.fixture(scope="module")
def found():
    rows = simulate(ARENA, np.random.default_rng(4))
    fit = fit_strengths(rows)
    covariance = covariance_of(fit, rows)
    ranks = strength_ranks(fit, covariance, rows)
    return fit, covariance, ranks, pair_contrasts(fit, covariance, ranks)


def test_every_pair_by_hand(found):
    fit, covariance, _, contrasts = found
    v = covariance.covariance
    k = 0
    for i in range(6):
        for j in range(i + 1, 6):
            assert (contrasts.first[k], contrasts.second[k]) == (i, j)
            df = min(covariance.df, covariance.model_effective[i] - 1, covariance.model_effective[j] - 1)
            assert contrasts.df[k] == df
            d = fit.strengths[i] - fit.strengths[j]
            se = np.sqrt(v[i, i] + v[j, j] - 2 * v[i, j])
            assert contrasts.estimate[k] == d
            assert contrasts.std_error[k] == pytest.approx(se)
            assert contrasts.conf_low[k] == pytest.approx(d - stats.t.ppf(0.975, df) * se)
            assert contrasts.conf_high[k] == pytest.approx(d + stats.t.ppf(0.975, df) * se)
            assert contrasts.p_value[k] == pytest.approx(2 * stats.t.sf(abs(d) / se, df), rel=1e-9)
            assert contrasts.order_probability[k] == pytest.approx(stats.t.cdf(d / se, df))
            k += 1
    assert k == contrasts.first.size


def test_interval_p_and_order_tell_the_same(found):
    _, _, _, contrasts = found
    outside = (contrasts.conf_low > 0.0) | (contrasts.conf_high < 0.0)
    assert (outside == (contrasts.p_value <= 0.05)).all()
    one_sided = np.minimum(contrasts.order_probability, 1.0 - contrasts.order_probability)
    np.testing.assert_allclose(2.0 * one_sided, contrasts.p_value, atol=1e-12)


def test_adjusted_p_and_rank_sets_agree(found):
    fit, _, ranks, contrasts = found
    assert (contrasts.p_adjusted >= contrasts.p_value).all()
    shown = contrasts.p_adjusted <= 0.05
    up = contrasts.estimate > 0.0
    for j in range(6):
        above = shown & (((contrasts.first == j) & ~up) | ((contrasts.second == j) & up))
        below = shown & (((contrasts.first == j) & up) | ((contrasts.second == j) & ~up))
        assert ranks.low[j] == 1 + above.sum()
        assert ranks.high[j] == 6 - below.sum()
    assert shown.any()
    assert not shown.all()
    assert fit.n_models == 6


def test_numbers_of_models_turn_signs_only(found):
    _, _, _, contrasts = found
    rows = simulate(ARENA, np.random.default_rng(4))
    back = vote_rows(
        5 - rows.first, 5 - rows.second, rows.outcome, count=rows.count, clusters=rows.clusters
    )  # fmt: skip
    fit = fit_strengths(back)
    other = pair_contrasts(fit, covariance_of(fit, back))
    pairs = list(zip(other.first.tolist(), other.second.tolist(), strict=True))
    place = [pairs.index((5 - int(j), 5 - int(i))) for i, j in zip(contrasts.first, contrasts.second, strict=True)]
    np.testing.assert_allclose(other.estimate[place], -contrasts.estimate, atol=1e-7)
    np.testing.assert_allclose(other.conf_low[place], -contrasts.conf_high, atol=1e-6)
    assert np.isnan(other.p_adjusted).all()


def test_two_models_are_a_share_of_votes():
    """Log-odds of a share have the standard error 1/sqrt(n p (1 - p)), whatever the sandwich does."""
    rows = vote_rows([0, 0], [1, 1], [0, 1], count=[70, 30])
    fit = fit_strengths(rows)
    contrasts = pair_contrasts(fit, covariance_of(fit, rows))
    assert contrasts.estimate[0] == pytest.approx(np.log(7 / 3))
    assert contrasts.std_error[0] == pytest.approx(1 / np.sqrt(100 * 0.7 * 0.3))
    assert contrasts.df[0] == 99.0


def test_no_interval_where_none_may_be_claimed():
    rows = simulate(Arena(strengths=(0.0, 0.5, 1.0), n_raters=4, n_votes=300), np.random.default_rng(0))
    fit = fit_strengths(rows)
    contrasts = pair_contrasts(fit, covariance_of(fit, rows, names=["rater"]))
    assert contrasts.reason.startswith("rater: 4 are too few")
    for values in (contrasts.std_error, contrasts.conf_low, contrasts.conf_high, contrasts.p_value):
        assert np.isnan(values).all()
    assert np.isfinite(contrasts.estimate).all()


def test_coefficients_and_single_strengths_have_variances(found):
    fit, covariance, _, _ = found
    own = combination_variance(covariance, np.eye(6))
    np.testing.assert_allclose(own, np.diagonal(covariance.covariance))
    assert fit.strengths.sum() == pytest.approx(0.0, abs=1e-12)
