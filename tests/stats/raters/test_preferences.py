"""Place, length and family: definitions, regressions against statsmodels, and how often they cry wolf."""

import numpy as np
import pytest
import statsmodels.api as sm
from scipy import stats

from evalstats.errors import CannotAnswerError, InputError
from evalstats.stats.raters.preferences import covariate_effect, place_effect, stratum_columns


def test_the_first_place_by_counting():
    one, two = np.array([1, 1, 0.5, 0] * 10), np.array([1, 0, 0, 0] * 10)
    found = place_effect(one, two)
    first = [(a + (1 - b)) / 2 for a, b in zip(one, two, strict=True)]
    assert found.first.estimate == pytest.approx(sum(first) / len(first))
    assert found.inconsistent.estimate == pytest.approx(0.5)
    mirrored = place_effect(two, one)
    assert mirrored.first.estimate == pytest.approx(1 - found.first.estimate)
    # Which answer of a pair is told of does not matter.
    other = place_effect(1 - two, 1 - one)
    assert (other.first.estimate, other.first.conf_low) == pytest.approx((found.first.estimate, found.first.conf_low))


def test_questions_with_several_pairs_widen():
    rng = np.random.default_rng(1)
    leaning = rng.random(20)
    codes = np.repeat(np.arange(20), 10)
    one, two = (rng.random(200) < leaning[codes]).astype(float), (rng.random(200) > leaning[codes]).astype(float)
    alone, grouped = place_effect(one, two), place_effect(one, two, clusters=codes)
    assert grouped.first.conf_high - grouped.first.conf_low > 1.3 * (alone.first.conf_high - alone.first.conf_low)


@pytest.mark.parametrize("family", ["logit", "linear"])
def test_regressions_are_those_of_statsmodels(family):
    rng = np.random.default_rng(2)
    n, codes = 400, np.random.default_rng(3).integers(0, 40, 400)
    strata = rng.integers(0, 3, n)
    x = rng.normal(size=n) + 0.3 * strata
    eta = 0.5 * x + strata - 1
    y = (rng.random(n) < 1 / (1 + np.exp(-eta))).astype(float)
    y[rng.random(n) < 0.1] = 0.5
    design = np.column_stack((x, stratum_columns(strata)))
    model = sm.GLM(y, design, family=sm.families.Binomial()) if family == "logit" else sm.OLS(y, design)
    theirs = model.fit(cov_type="cluster", cov_kwds={"groups": codes, "use_correction": False})
    ours = covariate_effect(y, x, stratum_columns(strata), clusters=codes, family=family)
    assert ours.estimate == pytest.approx(theirs.params[0], rel=1e-4)
    groups = np.unique(codes).size
    law = stats.t(groups - 1)
    reach = law.ppf(0.975) * ours.std_error
    assert (ours.conf_low, ours.conf_high) == pytest.approx((ours.estimate - reach, ours.estimate + reach), rel=1e-12)
    assert ours.statistic == pytest.approx(ours.estimate / ours.std_error, rel=1e-12)
    assert ours.p_value == pytest.approx(2 * law.sf(abs(ours.statistic)), rel=1e-9)
    assert (ours.df, ours.n_clusters, ours.n) == (groups - 1, groups, n)
    assert ours.std_error == pytest.approx(theirs.bse[0] * np.sqrt(groups / (groups - 1)), rel=1e-3)
    rows = rng.permutation(n)
    mixed = covariate_effect(y[rows], x[rows], stratum_columns(strata)[rows], clusters=codes[rows], family=family)
    assert (mixed.estimate, mixed.conf_low) == pytest.approx((ours.estimate, ours.conf_low), rel=1e-6)


def test_what_cannot_be_told_says_why():
    with pytest.raises(CannotAnswerError, match="at least 20"):
        place_effect([1.0] * 5, [0.0] * 5)
    assert place_effect([1.0, 0.0] * 10, [0.0] * 20).first.estimate == 0.75  # 20 pairs are enough
    with pytest.raises(CannotAnswerError, match="go one of the ways"):
        covariate_effect(np.ones(50), np.arange(50), np.ones((50, 1)))
    with pytest.raises(CannotAnswerError, match="19 rows are too few"):
        covariate_effect(np.arange(19.0) ** 2, np.arange(19), np.ones((19, 1)), family="linear")
    few, x = np.arange(50) % 5 == 0, np.random.default_rng(0).normal(size=(50, 1))
    assert np.isfinite(covariate_effect(few, x[:, 0], np.ones((50, 1))).estimate)  # 10 go one way
    for turned in (few & (np.arange(50) > 0), ~few | (np.arange(50) == 0)):
        with pytest.raises(CannotAnswerError, match="fewer than 10 preferences go one of the ways"):
            covariate_effect(turned, x[:, 0], np.ones((50, 1)))
    with pytest.raises(CannotAnswerError, match="does not vary"):
        covariate_effect(np.arange(50) % 2, np.ones(50), np.ones((50, 1)))
    with pytest.raises(CannotAnswerError, match="did not settle"):
        covariate_effect(np.arange(50) >= 25, np.arange(50.0) - 24.5, np.ones((50, 1)))
    for beyond in (np.arange(50.0), np.arange(50) % 2 + 0.5, np.arange(50) % 2 - 0.5):
        with pytest.raises(InputError, match="from 0 to 1"):
            covariate_effect(beyond, np.arange(50.0) % 7, np.ones((50, 1)))
    with pytest.raises(InputError, match="30 and 29 preferences"):
        place_effect([0.5] * 30, [0.5] * 29)
    few_clusters = covariate_effect(few, x[:, 0], np.ones((50, 1)), clusters=np.arange(50) % 4)
    assert (few_clusters.conf_low, few_clusters.estimate) == (
        None,
        covariate_effect(few, x[:, 0], np.ones((50, 1))).estimate,
    )
    same = place_effect([0.5] * 30, [0.5] * 30)
    assert same.first.conf_low is None


@pytest.mark.slow
@pytest.mark.parametrize("n_questions", [30, 80])
def test_a_judge_without_biases_is_accused_as_often_as_agreed(n_questions):
    """Longer answers are better here, and people see it: at the same verdict of people the judge does not go by length."""
    rng, repeats, accused = np.random.default_rng(4), 1000, {"place": 0, "length": 0}
    for _ in range(repeats):
        n = 4 * n_questions
        codes = np.repeat(np.arange(n_questions), 4)
        x = rng.normal(size=n)
        better = rng.random(n) < 1 / (1 + np.exp(-x - rng.normal(size=n_questions)[codes]))
        judge = np.where(rng.random(n) < 0.85, better, ~better).astype(float)
        again = np.where(rng.random(n) < 0.85, better, ~better).astype(float)
        length = covariate_effect(judge, x, stratum_columns(better.astype(np.int64)), clusters=codes)
        place = place_effect(judge, again, clusters=codes).first
        accused["length"] += not length.conf_low <= 0 <= length.conf_high
        accused["place"] += not place.conf_low <= 0.5 <= place.conf_high
    for share in accused.values():
        assert share / repeats < 0.05 + 4 * np.sqrt(0.05 * 0.95 / repeats) + 0.01


@pytest.mark.parametrize("lengths", [(49, 50, 50), (50, 49, 50), (50, 50, 49)])
def test_columns_of_other_lengths_are_refused(lengths):
    y, x, z = lengths
    with pytest.raises(InputError, match="give one of each"):
        covariate_effect(np.arange(y) % 2, np.arange(x), np.ones((z, 1)))
    with pytest.raises(InputError, match="give one of each"):
        covariate_effect(np.arange(50) % 2, np.arange(50), np.ones(50))


def test_a_covariate_below_zero_varies_as_one_above_does():
    rng = np.random.default_rng(5)
    x = 1.0 + rng.random(60)
    y = (rng.random(60) < 0.5).astype(float)
    none = np.zeros((60, 1))
    there, back = (covariate_effect(y, sign * x, none, family="linear") for sign in (1, -1))
    assert back.estimate == pytest.approx(-there.estimate)
    assert back.std_error == pytest.approx(there.std_error)


def test_a_covariate_that_varies_in_one_stratum_alone_is_told_by_it():
    rng = np.random.default_rng(6)
    strata = np.repeat([0, 1], 40)
    x = np.where(strata == 0, 3.0, rng.normal(size=80))
    y = rng.normal(size=80) + 2.0 * x
    found = covariate_effect(y, x, stratum_columns(strata), family="linear")
    alone = stats.linregress(x[40:], y[40:])
    assert found.estimate == pytest.approx(alone.slope)
