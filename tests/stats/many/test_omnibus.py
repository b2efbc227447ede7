"""Cochran's Q and Friedman's test against statsmodels, scipy and McNemar's test."""

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.contingency_tables import cochrans_q

from evalstats.errors import InputError
from evalstats.stats.many.multiplicity import cochran_q, friedman
from evalstats.stats.paired.binary import PairedCounts, score_test_p


@pytest.mark.parametrize("models", [2, 3, 7])
def test_cochran_equals_statsmodels(models):
    rng = np.random.default_rng(models)
    scores = (rng.random((60, models)) < np.linspace(0.4, 0.7, models)).astype(float)
    theirs, ours = cochrans_q(scores), cochran_q(scores)
    assert (ours.statistic, ours.p_value) == pytest.approx((theirs.statistic, theirs.pvalue))
    assert ours.df == models - 1


def test_cochran_of_two_models_is_mcnemar():
    rng = np.random.default_rng(0)
    scores = rng.integers(0, 2, (50, 2)).astype(float)
    assert cochran_q(scores).p_value == pytest.approx(score_test_p(PairedCounts.from_scores(*scores.T)))


@pytest.mark.parametrize("models", [3, 6])
@pytest.mark.parametrize("ties", [False, True])
def test_friedman_equals_scipy(models, ties):
    rng = np.random.default_rng(models)
    scores = rng.normal(size=(40, models)) + np.linspace(0, 0.5, models)
    if ties:
        scores = np.round(scores)
    theirs, ours = stats.friedmanchisquare(*scores.T), friedman(scores)
    assert (ours.statistic, ours.p_value) == pytest.approx((theirs.statistic, theirs.pvalue))


def test_items_that_some_model_lacks_are_left_out():
    rng = np.random.default_rng(1)
    scores = rng.integers(0, 2, (40, 3)).astype(float)
    holes = scores.copy()
    holes[:5, 1] = np.nan
    assert cochran_q(holes) == cochran_q(scores[5:])
    assert friedman(holes).n_items == 35
    with pytest.raises(InputError, match="none of 2 items"):
        cochran_q([[1, np.nan], [np.nan, 0]])


def test_models_that_agree_have_no_statistic():
    found = cochran_q(np.tile([[1, 1, 1], [0, 0, 0]], (5, 1)))
    assert (found.statistic, found.p_value) == (None, 1.0)
    assert found.reason == "all models agree on every item"
    assert friedman(np.ones((4, 3))).reason == "all models tie on every item"
