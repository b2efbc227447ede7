"""HodgeRank's split against least squares by hand, and the law of its share by simulation."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from evalstats.errors import CannotAnswerError
from evalstats.stats.arena.bradley_terry import fit_strengths
from evalstats.stats.arena.goodness_of_fit import SMOOTHING, circle_share
from evalstats.stats.arena.parametric_bootstrap import simulated
from evalstats.stats.arena.votes import vote_rows
from tests.stats.arena.check_votes import drawn_votes, null_p_values, share_small, single_votes


def split_by_hand(rows, fit):
    """Weighted least squares on the pairs' smoothed log-odds, with a dense design."""
    n = rows.n_models
    share, count = np.zeros((n, n)), np.zeros((n, n))
    for a, b, o in single_votes(rows):
        got = {0: 1.0, 1: 0.0}.get(o, 0.5)
        i, j = min(a, b), max(a, b)
        share[i, j] += got if a < b else 1.0 - got
        count[i, j] += 1
    pairs = [(i, j) for i in range(n) for j in range(i + 1, n) if count[i, j]]
    y = np.array([np.log((share[p] + SMOOTHING) / (count[p] - share[p] + SMOOTHING)) for p in pairs])
    p = np.array([1 / (1 + np.exp(fit.strengths[j] - fit.strengths[i])) for i, j in pairs])
    weight = np.array([count[each] for each in pairs]) * p * (1 - p)
    design = np.zeros((len(pairs), n))
    for row, (i, j) in enumerate(pairs):
        design[row, i], design[row, j] = 1.0, -1.0
    root = np.sqrt(weight)
    beta = np.linalg.lstsq(design * root[:, None], y * root, rcond=None)[0]
    rest = y - design @ beta
    return float(weight @ (design @ beta) ** 2), float(weight @ rest**2)


@pytest.mark.parametrize("seed", range(3))
def test_equals_least_squares_by_hand(seed):
    rng = np.random.default_rng(seed)
    rows = drawn_votes(rng, rng.normal(0, 0.5, 7), 300, met=0.8)
    fit = fit_strengths(rows)
    found = circle_share(simulated(fit, rows, n_resamples=5))
    gradient, circles = split_by_hand(rows, fit)
    # Fits of tables end within 1e-6 log-units, on which the weights depend.
    assert found.observed == pytest.approx(circles / (circles + gradient), rel=1e-5)


def test_consistent_log_odds_have_no_circles():
    """Votes in exact proportion to expit of differences, and so many that half a vote added to each side does nothing."""
    strengths = np.log([4.0, 2.0, 1.0])
    first, second = np.array([0, 1, 0]), np.array([1, 2, 2])
    odds = np.exp(strengths[first] - strengths[second])
    won = 1_000_000 * odds
    rows = vote_rows(
        np.tile(first, 2), np.tile(second, 2), [0] * 3 + [1] * 3, count=[*won.astype(int), *[1_000_000] * 3]
    )
    found = circle_share(simulated(fit_strengths(rows), rows, n_resamples=5))
    assert found.observed < 1e-9


def test_a_pure_circle_is_all_circles():
    rows = vote_rows([0, 0, 1, 1, 0, 0], [1, 1, 2, 2, 2, 2], [0, 1, 0, 1, 1, 0], count=[15, 5] * 3)
    found = circle_share(simulated(fit_strengths(rows), rows))
    assert found.observed == pytest.approx(1.0)
    assert found.p_value < 0.02


def test_a_tree_has_no_circles_to_look_for():
    rows = vote_rows([0, 0, 1, 1], [1, 1, 2, 2], [0, 1, 0, 1], count=[3, 2, 3, 2])
    with pytest.raises(CannotAnswerError, match="in so few pairs"):
        circle_share(simulated(fit_strengths(rows), rows, n_resamples=2))


def test_names_change_nothing():
    rng = np.random.default_rng(5)
    rows = drawn_votes(rng, rng.normal(0, 0.3, 7), 300)
    name = rng.permutation(7)
    other = vote_rows(name[rows.first], name[rows.second], rows.outcome, count=rows.count)
    one, two = (circle_share(simulated(fit_strengths(each), each, n_resamples=5)) for each in (rows, other))
    assert two.observed == pytest.approx(one.observed, rel=1e-6)


def test_llmfao_has_more_circles_than_single_votes_make(shared_data):
    from tests.stats.arena.votes_by_hand import llmfao

    rows = replace(llmfao(shared_data)[0], clusters=())
    found = circle_share(simulated(fit_strengths(rows), rows))
    assert found.expected > 0.2  # chance alone makes much of it
    assert found.observed > found.high
    assert found.p_value < 0.01


@pytest.mark.slow
def test_p_of_a_true_model_is_uniform():
    p = null_p_values(lambda votes: circle_share(votes).p_value, 500, n=600, n_models=12)
    found, most = share_small(p, 0.05)
    assert found <= most
    assert stats.kstest(p, "uniform").pvalue > 1e-3
