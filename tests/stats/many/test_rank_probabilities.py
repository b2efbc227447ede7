"""Posteriors of ranks: two models in closed form, PyMC's numbers, properties, and calibration."""

import json
import math

import numpy as np
import pytest
from scipy import stats

from evalstats.errors import InputError
from evalstats.stats.many.rank_probabilities import rank_posterior
from tests.golden import make_posterior


def equal_errors(m, error):
    return np.full((m, m), error) * (1 - np.eye(m))


@pytest.mark.parametrize(("lead", "error", "df"), [(0.03, 0.02, 30), (0.0, 0.05, 6), (0.2, 0.02, math.inf)])
def test_two_models_by_the_definition(lead, error, df):
    """P(first better): the sum over tau and the variance, each on a fine grid, of what scipy's laws say."""
    tau = np.exp(np.linspace(-16, 8, 1001))[:, None]
    u = (np.arange(500) + 0.5) / 500
    w = np.ones(1) if math.isinf(df) else stats.invgamma(df / 2, scale=df / 2).ppf(u)
    v, noise = 2 * tau**2, w * error**2
    weight = stats.halfcauchy.pdf(tau, scale=0.1) * tau * stats.norm.pdf(lead, 0, np.sqrt(v + noise))
    kept = v / (v + noise)
    above = (weight * stats.norm.cdf(kept * lead / np.sqrt(kept * noise))).sum()
    whole = weight.sum()
    found = rank_posterior([0.6 + lead, 0.6], equal_errors(2, error), df=df, scale=0.1)
    assert found.p_above[0, 1] == pytest.approx(above / whole, abs=1e-4)
    assert found.p_rank[0, 0] == pytest.approx(found.p_above[0, 1], abs=5 * found.error + 1e-3)


def test_equal_pymc(request):
    case = json.loads((request.path.parents[2] / "golden/posterior.json").read_text())["ranks"]
    found = rank_posterior(
        make_posterior.SCORES,
        make_posterior.pair_errors(),
        df=make_posterior.DF,
        scale=make_posterior.SCALE,
        n_draws=50_000,
    )
    assert found.p_above == pytest.approx(np.array(case["p_above"]) + 0.5 * np.eye(5), abs=0.015)
    assert found.p_rank == pytest.approx(np.array(case["p_rank"]), abs=0.015)
    assert found.loss == pytest.approx(np.array(case["loss"]), abs=0.001)


@pytest.fixture(scope="module")
def scores():
    rng = np.random.default_rng(3)
    values = rng.normal(size=(200, 1)) + rng.normal(0.1 * np.arange(7), 1, size=(200, 7))
    d = values[:, :, None] - values[:, None, :]
    return values.mean(axis=0), d.std(axis=0, ddof=1) / math.sqrt(200)


def test_rows_and_columns_are_laws(scores):
    found = rank_posterior(*scores, df=199, scale=0.2)
    assert found.p_rank.sum(axis=0) == pytest.approx(np.ones(7))
    assert found.p_rank.sum(axis=1) == pytest.approx(np.ones(7))
    assert found.p_above + found.p_above.T == pytest.approx(np.ones((7, 7)))
    assert found.expected_rank.sum() == pytest.approx(28)
    assert found.p_rank @ np.arange(1, 8) == pytest.approx(found.expected_rank, abs=0.05)
    assert found.mean.sum() == pytest.approx(0, abs=1e-9)
    assert (found.rank_low <= found.rank_high).all()
    assert (found.loss >= 0).all()


def test_order_of_models_and_unit_change_nothing(scores):
    x, errors = scores
    found = rank_posterior(x, errors, df=199, scale=0.2)
    order = np.array([3, 0, 6, 2, 5, 1, 4])
    other = rank_posterior(x[order], errors[np.ix_(order, order)], df=199, scale=0.2)
    assert other.p_above == pytest.approx(found.p_above[np.ix_(order, order)], abs=1e-9)
    assert other.p_rank == pytest.approx(found.p_rank[order], abs=6 * found.error)
    percent = rank_posterior(100 * x + 7, 100 * errors, df=199, scale=20)
    assert percent.p_above == pytest.approx(found.p_above, abs=1e-7)
    assert percent.loss == pytest.approx(100 * found.loss, rel=1e-6)


def test_sceptics_see_smaller_differences(scores):
    usual = rank_posterior(*scores, df=199, scale=0.2)
    sceptical = rank_posterior(*scores, df=199, scale=0.05)
    assert sceptical.between_sd < usual.between_sd
    assert np.ptp(sceptical.mean) < np.ptp(usual.mean)


def test_probabilities_are_right_that_often():
    """Models drawn from the prior, six on 40 items, 60 boards: of all pairs and first places as many hold as are claimed."""
    rng = np.random.default_rng(9)
    claimed, held, first, was = [], [], [], []
    for _ in range(60):
        tau = 0.05 * abs(rng.standard_cauchy())
        theta = tau * rng.normal(size=6)
        values = theta + 0.2 * rng.normal(size=(40, 1)) + 0.3 * rng.normal(size=(40, 6))
        d = values[:, :, None] - values[:, None, :]
        errors = d.std(axis=0, ddof=1) / math.sqrt(40)
        found = rank_posterior(values.mean(axis=0), errors, df=39, scale=0.05, n_draws=2000)
        claimed.extend(found.p_above[np.triu_indices(6, 1)])
        held.extend((theta[:, None] > theta)[np.triu_indices(6, 1)])
        first.extend(found.p_rank[:, 0])
        was.extend(theta == theta.max())
    for p, true in ((np.array(claimed), np.array(held)), (np.array(first), np.array(was))):
        for low, high in ((0, 0.1), (0.1, 0.4), (0.4, 0.6), (0.6, 0.9), (0.9, 1.0)):
            here = (p >= low) & (p <= high)
            # Pairs of one board go together: as if only every third counted.
            spread = math.sqrt(3 * np.sum(p[here] * (1 - p[here])))
            assert abs(true[here].sum() - p[here].sum()) <= 4 * spread + 2, (low, high)


@pytest.mark.parametrize(
    ("estimates", "errors", "what"),
    [
        ([0.5], equal_errors(1, 0.1), "at least two"),
        ([0.5, 0.6], equal_errors(2, 0.0), "no standard error"),
        ([0.5, math.nan], equal_errors(2, 0.1), "missing"),
        ([0.5, 0.6, 0.7], np.array([[0, 1, 9], [1, 0, 1], [9, 1, 0]]), "contradict"),
    ],
)
def test_what_cannot_be_ranked_is_refused(estimates, errors, what):
    with pytest.raises(InputError, match=what):
        rank_posterior(estimates, errors, df=30, scale=0.1)
