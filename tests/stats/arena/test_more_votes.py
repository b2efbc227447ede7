"""Further votes between two models: by adding them, by simulation, and where there is no answer."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from evalstats.stats.arena.bradley_terry import fit_strengths
from evalstats.stats.arena.contrasts import SEPARATED, more_votes, pair_contrasts, strength_ranks
from evalstats.stats.arena.covariance import contrast_variance, covariance_of
from evalstats.stats.arena.votes import vote_rows
from tests.stats.arena.simulated_votes import Arena, simulate

ARENA = Arena(strengths=(0.0, 0.25, 0.6, 1.4), n_raters=80, n_votes=800, rater_sd=0.4)


def analysed(arena=ARENA, seed=3, ties="half"):
    rows = simulate(arena, np.random.default_rng(seed))
    fit = fit_strengths(rows, ties=ties)
    covariance = covariance_of(fit, rows)
    ranks = strength_ranks(fit, covariance, rows)
    return rows, fit, covariance, ranks, pair_contrasts(fit, covariance, ranks)


@pytest.mark.parametrize("ties", ["half", "davidson", "rao-kupper"])
def test_votes_added_at_the_fitted_chances_leave_the_variance_aimed_at(ties):
    """Votes as the fit expects them between two models: the variance of the model shrinks by the factor assumed."""
    arena = Arena(strengths=(0.0, 0.15, 0.6, 1.4), n_raters=80, n_votes=800, rater_sd=0.4, ties=0.25)
    rows, fit, covariance, _, contrasts = analysed(arena, ties=ties)
    n, _ = more_votes(fit, covariance, contrasts)[0]
    chance = _chances(fit, 0, 1)
    added = vote_rows(
        np.concatenate([rows.first, [0] * len(chance)]),
        np.concatenate([rows.second, [1] * len(chance)]),
        np.concatenate([rows.outcome, range(len(chance))]),
        weight=np.concatenate([rows.weight, n * chance]),
    )
    after = fit_strengths(added, ties=ties)
    assert after.strengths[0] - after.strengths[1] == pytest.approx(fit.strengths[0] - fit.strengths[1], abs=0.01)
    shrunk = _contrast(after.bread) / _contrast(fit.bread)
    aim = contrasts.estimate[0] / (stats.t.ppf(0.975, contrasts.df[0]) + stats.t.ppf(0.8, contrasts.df[0]))
    assert contrast_variance(covariance, 0, 1) * shrunk == pytest.approx(aim**2, rel=0.02)


def _contrast(matrix):
    return matrix[0, 0] + matrix[1, 1] - 2 * matrix[0, 1]


def _chances(fit, i, j):
    d = fit.strengths[i] - fit.strengths[j]
    if fit.ties == "half":
        return np.array([1.0, np.exp(-d)]) / (1.0 + np.exp(-d))
    if fit.ties == "davidson":
        raw = np.array([np.exp(d / 2), np.exp(-d / 2), fit.tie])
        return raw / raw.sum()
    a, b = 1 / (1 + fit.tie * np.exp(-d)), 1 / (1 + fit.tie * np.exp(d))
    return np.array([a, b, 1 - a - b])


def test_two_models_need_as_many_votes_as_the_formula_of_a_share():
    rows = vote_rows([0, 0], [1, 1], [0, 1], count=[55, 45])
    fit = fit_strengths(rows)
    covariance = covariance_of(fit, rows)
    ((n, _),) = more_votes(fit, covariance, pair_contrasts(fit, covariance))
    reach = stats.t.ppf(0.975, 99) + stats.t.ppf(0.8, 99)
    assert n == int(np.ceil(reach**2 / (0.55 * 0.45 * np.log(0.55 / 0.45) ** 2) - 100))


def test_power_is_what_was_asked_for():
    """Two models, votes simulated at the estimate: 80% of them separate the two."""
    ((n, _),) = more_votes(*_two())
    rng = np.random.default_rng(1)
    total = 100 + n
    won = rng.binomial(total, 0.58, size=4000)
    share = won / total
    z = np.log(share / (1 - share)) * np.sqrt(total * share * (1 - share))
    # Monte Carlo error .006; the t quantiles are those of 99 df, and the spread is estimated.
    assert np.mean(np.abs(z) > stats.t.ppf(0.975, 99)) == pytest.approx(0.8, abs=0.03)


def _two():
    rows = vote_rows([0, 0], [1, 1], [0, 1], count=[58, 42])
    fit = fit_strengths(rows)
    covariance = covariance_of(fit, rows)
    return fit, covariance, pair_contrasts(fit, covariance)


def test_clusters_and_many_pairs_ask_for_more():
    _, fit, covariance, ranks, contrasts = analysed()
    alone = more_votes(fit, covariance, contrasts)
    among = more_votes(fit, covariance, contrasts, critical=ranks.critical)
    for (one, _), (many, _) in zip(alone, among, strict=True):
        assert one is None or many is None or one < many
    assert any(n for n, _ in alone)


def pairs_of(contrasts):
    return zip(contrasts.first.tolist(), contrasts.second.tolist(), strict=True)


def test_where_there_is_no_number_there_is_a_reason():
    _, fit, covariance, ranks, contrasts = analysed()
    found = dict(zip(pairs_of(contrasts), more_votes(fit, covariance, contrasts, critical=ranks.critical), strict=True))
    assert found[0, 3] == (None, SEPARATED)
    even = vote_rows([0, 0], [1, 1], [0, 1], count=[50, 50])
    fit = fit_strengths(even)
    covariance = covariance_of(fit, even)
    ((_, reason),) = more_votes(fit, covariance, pair_contrasts(fit, covariance))
    assert reason == "more than 10,000,000 votes: the estimated difference is too close to 0"
    few = simulate(Arena(strengths=(0.0, 0.1), n_raters=4, n_votes=200), np.random.default_rng(0))
    fit = fit_strengths(few)
    covariance = covariance_of(fit, few, names=["rater"])
    ((_, reason),) = more_votes(fit, covariance, pair_contrasts(fit, covariance))
    assert reason.startswith("rater: 4 are too few")


def test_few_clusters_are_what_is_lacking():
    arena = Arena(strengths=(0.0, 0.1, 0.9), n_raters=12, n_votes=300)
    rows = simulate(arena, np.random.default_rng(1))
    fit = fit_strengths(rows)
    covariance = covariance_of(fit, rows, names=["rater"])
    ranks = strength_ranks(fit, covariance, rows)
    contrasts = pair_contrasts(fit, covariance, ranks)
    found = more_votes(fit, covariance, contrasts, critical=ranks.critical)[0]
    assert found == (None, "more clusters by rater are needed, not more votes: there are 12")
    assert more_votes(fit, covariance, contrasts)[0][0] > 0


def test_a_pair_is_separated_by_the_p_of_the_claim_that_is_asked_for():
    """One pair alone by its own p, a claim among all pairs by the adjusted one."""
    _, fit, covariance, ranks, contrasts = analysed()
    between = replace(contrasts, p_value=np.full(6, 0.03), p_adjusted=np.full(6, 0.2))
    assert {reason for _, reason in more_votes(fit, covariance, between)} == {SEPARATED}
    assert SEPARATED not in {reason for _, reason in more_votes(fit, covariance, between, critical=ranks.critical)}
