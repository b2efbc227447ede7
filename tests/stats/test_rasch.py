"""Abilities from pairs of models: against the definition, outside truth and by properties."""

import math

import numpy as np
import pytest
from scipy import optimize, special

from evalstats.stats.rasch import ability_scores


def drawn(rng, abilities, n, *, hard=0.0, spread=1.0):
    logits = np.asarray(abilities) - hard - spread * rng.normal(size=(n, 1))
    return (rng.random(logits.shape) < special.expit(logits)) * 1.0


def test_two_models_have_the_log_odds_of_the_items_that_one_of_them_solves():
    # McNemar's odds ratio; half a win each way, weighed as the items are.
    y = np.array([[1.0, 0.0]] * 300 + [[0.0, 1.0]] * 100 + [[1.0, 1.0]] * 50 + [[0.0, 0.0]] * 7)
    found = ability_scores([y])[0].mean(axis=0)
    assert found[0] - found[1] == pytest.approx(math.log(3), abs=0.01)


def test_with_models_alike_it_is_the_conditional_likelihood_of_rasch():
    """Scores of the conditional likelihood, y - E[y | how many solve the item], by enumeration of all answers."""
    rng = np.random.default_rng(4)
    y = drawn(rng, [0.1, 0.0, -0.1, 0.05], 4_000)
    every = np.array(np.meshgrid(*[[0, 1]] * 4)).reshape(4, -1).T

    def miss(free):
        theta = np.append(free, -free.sum())
        weight = np.exp(every @ theta)
        solved = every.sum(axis=1)
        expected = np.array([(weight[solved == t] @ every[solved == t]) / weight[solved == t].sum() for t in range(5)])
        return (y - expected[y.sum(axis=1).astype(int)]).sum(axis=0)[:-1]

    exact = optimize.root(miss, np.zeros(3)).x
    assert ability_scores([y])[0].mean(axis=0)[:3] == pytest.approx(exact, abs=0.004)


@pytest.mark.parametrize("spread", [0.5, 2.0])
def test_how_hard_items_are_does_not_matter(spread):
    rng = np.random.default_rng(1)
    true = np.array([1.5, 0.0, -0.5, 0.2])
    easy, hard = (
        ability_scores([drawn(rng, true, 20_000, hard=b, spread=spread)])[0].mean(axis=0) for b in (-1.0, 1.0)
    )
    assert easy == pytest.approx(true - true.mean(), abs=0.08)
    assert hard == pytest.approx(true - true.mean(), abs=0.08)


def test_shares_of_trials_are_taken_as_they_are():
    rng = np.random.default_rng(2)
    true = np.array([2.0, 0.0, 0.5])
    logits = true - rng.normal(size=(8_000, 1))
    shares = rng.binomial(4, special.expit(logits)) / 4
    assert ability_scores([shares])[0].mean(axis=0) == pytest.approx(true - true.mean(), abs=0.08)


def test_a_model_that_solves_all_has_a_finite_ability_with_a_large_error():
    y = np.array([[1.0, 1.0, 0.0], [1.0, 0.0, 1.0]] * 20)
    found = ability_scores([y])[0]
    assert np.isfinite(found).all()
    assert found[:, 0].mean() > 2.0


def test_the_order_of_items_and_of_the_others_does_not_matter():
    rng = np.random.default_rng(3)
    y = drawn(rng, [1.0, 0.0, 0.5, -0.5], 200)
    turned = ability_scores([y[::-1][:, [0, 3, 2, 1]]])[0]
    assert turned[::-1][:, [0, 3, 2, 1]] == pytest.approx(ability_scores([y])[0], abs=1e-9)


@pytest.mark.slow
def test_the_error_of_items_is_that_of_repeated_draws():
    rng = np.random.default_rng(5)
    true = [2.0, 0.0, 0.3, -0.3]
    found = [ability_scores([drawn(rng, true, 400)])[0] for _ in range(600)]
    means = np.array([each.mean(axis=0) for each in found])
    errors = np.array([each.std(axis=0, ddof=1) / 20 for each in found])
    assert means.std(axis=0) == pytest.approx(np.sqrt((errors**2).mean(axis=0)), rel=0.1)
