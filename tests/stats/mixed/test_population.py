"""Population-averaged probabilities against quadrature, brute force and emmeans."""

import json
import math
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from scipy import integrate, special

from evalstats.errors import InputError
from evalstats.stats.mixed.design import MixedDesign, RandomTerm
from evalstats.stats.mixed.distinct_rows import distinct_rows
from evalstats.stats.mixed.marginal_means import (
    averaged_expit,
    population_means,
    probability_differences,
    random_effect_sd,
)

GOLDEN = json.loads((Path(__file__).resolve().parents[2] / "golden" / "mixed_means.json").read_text())
QUAD = 1e-11  # asked of quad; the rule itself is good to 1e-12


def by_quad(eta, s):
    """E expit(eta + s T), split where the integrand bends."""
    ends = sorted({-38.0, -9.0, 0.0, 9.0, 38.0, *(np.clip([-eta / s - 3 / s, -eta / s, -eta / s + 3 / s], -38, 38))})

    def f(t):
        return special.expit(eta + s * t) * math.exp(-t * t / 2) / math.sqrt(2 * math.pi)

    return sum(integrate.quad(f, a, b, epsabs=1e-13, epsrel=1e-12, limit=300)[0] for a, b in pairwise(ends))


@pytest.mark.parametrize("s", [0.01, 0.5, 1.0, 2.0, 3.0, 5.0, 10.0, 30.0])
def test_the_mean_equals_quad(s):
    eta = np.array([-12.0, -4.0, -1.0, 0.0, 0.3, 2.5, 8.0])
    p, _, _ = averaged_expit(eta, s)
    np.testing.assert_allclose(p, [by_quad(e, s) for e in eta], atol=QUAD)


@pytest.mark.parametrize("s", [0.3, 1.7, 6.0])
def test_derivatives_equal_differences(s):
    h = 1e-5
    for eta in (-5.0, -0.4, 0.0, 1.2, 4.0):
        _, by_eta, by_s = averaged_expit(eta, s)
        up, down = averaged_expit([eta + h, eta], [s, s + h])[0], averaged_expit([eta - h, eta], [s, s - h])[0]
        np.testing.assert_allclose([by_eta[0], by_s[0]], (up - down) / (2 * h), atol=1e-9)  # h^2 and rounding/h


def test_the_mean_has_the_symmetries_of_the_logistic_function():
    eta, s = np.meshgrid([-30.0, -3.0, 0.0, 1.0, 14.0], [0.0, 0.7, 4.0, 12.0])
    p, by_eta, by_s = averaged_expit(eta, s)
    q, other_eta, other_s = averaged_expit(-eta, s)
    np.testing.assert_allclose(p + q, 1.0, atol=1e-14)
    np.testing.assert_allclose(by_eta, other_eta, rtol=1e-12)
    np.testing.assert_allclose(by_s, -other_s, atol=1e-14)
    np.testing.assert_allclose(p[0], special.expit(eta[0]), rtol=1e-13)
    assert (np.abs(p[1:] - 0.5) <= np.abs(special.expit(eta[1:]) - 0.5) + 1e-13).all()


def test_small_probabilities_keep_their_digits():
    # Far below 0 the logistic function is exponential: E exp(eta + s T) = exp(eta + s^2/2).
    p, _, _ = averaged_expit([-60.0, -80.0], [2.0, 4.0])
    np.testing.assert_allclose(p, np.exp([-60.0 + 2.0, -80.0 + 8.0]), rtol=1e-10)


def test_too_large_a_spread_is_refused():
    with pytest.raises(InputError, match="too large to average over"):
        averaged_expit(0.0, 1e4)
    with pytest.raises(InputError, match="must be finite"):
        averaged_expit(np.nan, 1.0)
    with pytest.raises(InputError, match="s at least 0"):
        averaged_expit(0.0, -1.0)


def two_terms():
    rng = np.random.default_rng(2)
    z = np.stack([np.ones(5), rng.normal(size=5)], 1)
    terms = (
        RandomTerm(
            group="item", columns=("(Intercept)", "x"), levels=("a", "b"), level=np.array([0, 1, 0, 1, 0]), values=z
        ),
        RandomTerm(
            group="user", columns=("(Intercept)",), levels=("u",), level=np.zeros(5, dtype=int), values=np.ones((5, 1))
        ),
    )
    one = np.ones(5)
    return MixedDesign(
        fixed=distinct_rows(one[:, None]), fixed_names=("1",), terms=terms, count=one, response=0.5 * one
    )


def test_the_spread_of_slopes_is_a_quadratic_form():
    design, theta, h = two_terms(), np.array([0.8, -0.3, 0.5, 1.1]), 1e-6
    values = [term.values for term in design.terms]
    s, slopes = random_effect_sd(design.factors(theta), values)
    for i in range(5):
        forms = [z[i] @ f @ f.T @ z[i] for z, f in zip(values, design.factors(theta), strict=True)]
        assert s[i] == pytest.approx(np.sqrt(sum(forms)))
    for j, step in enumerate(h * np.eye(4)):
        up, down = (
            random_effect_sd(design.factors(theta + step), values)[0],
            random_effect_sd(design.factors(theta - step), values)[0],
        )
        np.testing.assert_allclose(slopes[:, j], (up - down) / (2 * h), atol=1e-8)
    zero, flat = random_effect_sd(design.factors(np.zeros(4)), values)
    assert not zero.any()
    assert not flat.any()


def test_brute_force_over_many_units():
    rng = np.random.default_rng(3)
    design, theta, beta = two_terms(), np.array([0.8, -0.3, 0.5, 1.1]), np.array([-0.7])
    values = [term.values for term in design.terms]
    s, slopes = random_effect_sd(design.factors(theta), values)
    found = population_means(np.ones((5, 1)), beta, s, 0.01 * np.eye(5), sd_jacobian=slopes)
    n = 200_000
    slope, user = rng.normal(size=(n, 2)) @ design.factors(theta)[0].T, rng.normal(size=n) * theta[3]
    each = special.expit(beta + slope @ values[0].T + user[:, None])
    error = each.std(axis=0) / np.sqrt(n)
    assert (np.abs(each.mean(axis=0) - found.estimate) < 4.5 * error).all()


def cbpp_means():
    of = GOLDEN["cbpp"]
    rows = np.array(of["grid"]["rows"], dtype=float)
    s, slopes = random_effect_sd([np.array([[of["theta"]]])], [np.ones((4, 1))])
    return population_means(rows, of["beta"], s, of["joint"], sd_jacobian=slopes, names=list("1234"))


def test_cbpp_standard_errors_follow_from_all_parameters():
    of, h = GOLDEN["cbpp"], 1e-6
    rows, joint = np.array(of["grid"]["rows"], dtype=float), np.array(of["joint"])
    parameters = np.array([of["theta"], *of["beta"]])

    def logit_of(at):
        return special.logit([by_quad(eta, at[0]) for eta in rows @ at[1:]])

    gradient = np.stack([(logit_of(parameters + e) - logit_of(parameters - e)) / (2 * h) for e in h * np.eye(5)], 1)
    found = cbpp_means()
    np.testing.assert_allclose(found.logit, logit_of(parameters), atol=1e-9)
    # Differences of quad at h = 1e-6 are good to 1e-13/1e-6.
    np.testing.assert_allclose(found.logit_covariance, gradient @ joint @ gradient.T, atol=1e-6)
    half = 1.959964 * np.sqrt(np.diagonal(found.logit_covariance))
    np.testing.assert_allclose(found.conf_high, special.expit(found.logit + half), atol=1e-6)
    assert (found.estimate > special.expit(rows @ of["beta"])).all()


def test_averages_over_scenarios_are_of_probabilities():
    single = cbpp_means()
    weights = np.array([[0.5, 0.5, 0.0, 0.0], [0.1, 0.2, 0.3, 0.4]])
    of = GOLDEN["cbpp"]
    s, slopes = random_effect_sd([np.array([[of["theta"]]])], [np.ones((4, 1))])
    mixed = population_means(of["grid"]["rows"], of["beta"], s, of["joint"], sd_jacobian=slopes, weights=weights)
    np.testing.assert_allclose(mixed.estimate, weights @ single.estimate, rtol=1e-12)
    np.testing.assert_allclose(mixed.covariance, weights @ single.covariance @ weights.T, rtol=1e-10)


def test_without_the_joint_covariance_a_warning_is_given():
    found = population_means([[1.0]], [0.4], 1.0, [[0.04]])
    assert found.warnings == ("the standard deviation of the random effects is taken as known",)
    same = population_means([[1.0]], [0.4], 1.0, np.diag([1e-14, 0.04]), sd_jacobian=[[1.0]])
    assert found.conf_low == pytest.approx(same.conf_low)
    assert same.warnings == ()


def test_null_means_stay_null():
    found = population_means(
        np.eye(2), [0.3, 0.0], 1.0, 0.1 * np.eye(2), weights=[[1, 0], [0.5, 0.5]], reasons=[None, "not estimable"]
    )
    assert found.reasons[0] is None
    assert "not estimable" in str(found.reasons[1])
    assert np.isnan([found.estimate[1], found.conf_low[1], found.std_error[1]]).all()
    d = probability_differences(found, [0], [1])
    assert np.isnan([d.estimate[0], d.conf_low[0], d.p_value[0]]).all()
    assert "not estimable" in str(d.reasons[0])


def random_means(rng):
    a = rng.normal(size=(3, 5)) * rng.uniform(0.1, 1.0)
    return population_means(np.eye(3), rng.normal(size=3) * 2.5, rng.uniform(0, 3, 3), a @ a.T / 5)


def test_an_interval_of_a_difference_agrees_with_its_p_and_stays_inside():
    rng = np.random.default_rng(5)
    for _ in range(8):
        means = random_means(rng)
        d = probability_differences(means, [0, 0, 1], [1, 2, 2])
        outside = (d.conf_low > 0) | (d.conf_high < 0)
        assert (outside == (d.p_value < 0.05)).all()
        assert (d.conf_low >= -1).all()
        assert (d.conf_high <= 1).all()
        assert ((d.conf_low < d.estimate) & (d.estimate < d.conf_high)).all()
        back = probability_differences(means, [1, 2, 2], [0, 0, 1])
        np.testing.assert_allclose([back.conf_low, back.conf_high], [-d.conf_high, -d.conf_low], atol=1e-7)
        np.testing.assert_allclose(back.p_value, d.p_value, rtol=1e-10)


def test_the_interval_of_a_difference_is_that_of_draws():
    rng = np.random.default_rng(6)
    means = random_means(rng)
    draws = special.expit(rng.multivariate_normal(means.logit, means.logit_covariance, size=400_000))
    d = probability_differences(means, [0], [1])
    low, high = np.quantile(draws[:, 0] - draws[:, 1], [0.025, 0.975])
    assert d.conf_low[0] == pytest.approx(low, abs=3e-3)  # Monte Carlo error of a quantile of 400,000 draws
    assert d.conf_high[0] == pytest.approx(high, abs=3e-3)


def test_families_widen_intervals_of_differences():
    means = cbpp_means()
    first, second = [0, 0, 0, 1, 1, 2], [1, 2, 3, 2, 3, 3]
    plain = probability_differences(means, first, second)
    for method in ("holm", "tukey", "max-t"):
        wide = probability_differences(means, first, second, method=method)
        assert (wide.conf_low < plain.conf_low).all()
        assert (wide.conf_high > plain.conf_high).all()
        assert (wide.p_adjusted >= plain.p_value).all()
        np.testing.assert_array_equal(wide.p_value, plain.p_value)


@pytest.mark.slow
def test_coverage_of_averaged_probabilities_and_their_difference():
    # Proportions of 60 independent units in two groups, at s = 0: the logit interval near 1.
    rng, n, held, inside = np.random.default_rng(8), 60, 0, 0
    truth, repeats = special.expit([2.2, 1.4]), 3_000
    for _ in range(repeats):
        right = np.clip(rng.binomial(n, truth), 0.5, n - 0.5)
        p = right / n
        m = population_means(np.eye(2), special.logit(p), 0.0, np.diag(1 / (n * p * (1 - p))))
        d = probability_differences(m, [0], [1])
        held += (m.conf_low[0] <= truth[0]) & (truth[0] <= m.conf_high[0])
        inside += (d.conf_low[0] <= truth[0] - truth[1]) & (truth[0] - truth[1] <= d.conf_high[0])
    assert 0.93 < held / repeats < 0.99
    assert 0.93 < inside / repeats < 0.98
