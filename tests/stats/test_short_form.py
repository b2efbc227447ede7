"""Short forms: choice and prediction by definition, no model has a part in its own error, intervals by simulation."""

import math

import numpy as np
import pytest
from scipy import special, stats

from evalstats.errors import CannotAnswerError, InputError
from evalstats.stats.item_response import two_parameter
from evalstats.stats.short_form import chosen_items, form_errors, predicted_scores, probable_abilities


def simulated(rng: np.random.Generator, n_items: int, n_models: int) -> np.ndarray:
    logit = np.outer(rng.lognormal(0, 0.4, n_items), rng.normal(size=n_models)) + rng.normal(0, 1.5, n_items)[:, None]
    return (rng.random(logit.shape) < special.expit(logit)).astype(float)


def test_of_each_stratum_the_steepest() -> None:
    curves = two_parameter(simulated(np.random.default_rng(1), 60, 30))
    difficulty = -curves.intercept / np.maximum(curves.slope, 0.3)
    form = chosen_items(curves, 6)
    for part, found in zip(np.argsort(difficulty, kind="stable").reshape(6, 10), form, strict=True):
        assert found in part
        assert curves.slope[found] == curves.slope[part].max()
    assert sorted(chosen_items(curves, 60)) == list(range(60))


def test_the_prediction_by_definition() -> None:
    right = simulated(np.random.default_rng(2), 50, 30)
    curves = two_parameter(right[:, :29])
    form, answers = np.array([3, 8, 20, 41]), right[[3, 8, 20, 41], 29]
    grid = np.linspace(-6, 6, 120_001)
    chance = special.expit(np.outer(curves.slope[form], grid) + curves.intercept[form, None])
    told = np.log(np.where(answers[:, None] == 1, chance, 1 - chance)).sum(axis=0)
    told += stats.norm.logpdf(grid, curves.ability.mean(), curves.ability.std(ddof=1))
    best = grid[told.argmax()]
    assert probable_abilities(curves, form, answers[:, None])[0] == pytest.approx(best, abs=2e-4)
    expected = special.expit(curves.slope * best + curves.intercept)
    expected[form] = answers
    assert predicted_scores(curves, form, answers[:, None])[0] == pytest.approx(expected.mean(), abs=1e-4)


def test_all_items_tell_the_score_itself() -> None:
    right = simulated(np.random.default_rng(3), 30, 20)
    curves = two_parameter(right)
    assert predicted_scores(curves, np.arange(30), right) == pytest.approx(right.mean(axis=0), abs=1e-12)


def test_no_model_has_a_part_in_its_own_error() -> None:
    """Each model is predicted as it is by curves and choice of the others alone."""
    right = simulated(np.random.default_rng(4), 80, 20)
    (found,) = form_errors(right, [10], folds=5, seed=3)
    errors = []
    for out in np.array_split(np.random.default_rng(3).permutation(20), 5):
        curves = two_parameter(np.delete(right, out, axis=1))
        form = chosen_items(curves, 10)
        errors.extend(predicted_scores(curves, form, right[np.ix_(form, out)]) - right[:, out].mean(axis=0))
    assert found.score_error == pytest.approx(math.sqrt(np.mean(np.square(errors))), rel=1e-6)
    assert found.largest_error == pytest.approx(np.abs(errors).max(), rel=1e-6)


def test_the_error_of_random_items_is_that_of_samples() -> None:
    rng = np.random.default_rng(5)
    right = simulated(rng, 200, 12)
    (found,) = form_errors(right, [40], seed=0)
    drawn = np.array([right[rng.choice(200, 40, replace=False)].mean(axis=0) for _ in range(4000)])
    seen = math.sqrt(np.mean((drawn - right.mean(axis=0)) ** 2))
    assert found.random_error == pytest.approx(seen, rel=0.02)  # 4,000 draws of 12 models: 1% is one standard error


def test_the_error_of_a_difference_is_that_of_pairs_left_out_together() -> None:
    right = simulated(np.random.default_rng(11), 80, 20)
    (found,) = form_errors(right, [20], seed=4)
    squares, random, scores = [], [], right.mean(axis=0)
    for out in np.array_split(np.random.default_rng(4).permutation(20), 5):
        curves = two_parameter(np.delete(right, out, axis=1))
        form = chosen_items(curves, 20)
        error = predicted_scores(curves, form, right[np.ix_(form, out)]) - scores[out]
        squares += [(error[i] - error[j]) ** 2 for i in range(len(out)) for j in range(i)]
    for i in range(20):
        random += [np.var(right[:, i] - right[:, j], ddof=1) / 20 * (1 - 20 / 80) for j in range(i)]
    assert found.difference_error == pytest.approx(math.sqrt(np.mean(squares)), rel=1e-6)
    assert found.random_difference_error == pytest.approx(math.sqrt(np.mean(random)), rel=1e-9)


def test_a_form_errs_less_than_random_items() -> None:
    found = form_errors(simulated(np.random.default_rng(6), 400, 40), [20, 100])
    assert all(each.score_error < each.random_error for each in found)
    assert found[0].score_error > found[1].score_error


@pytest.mark.parametrize("size", [0, 61])
def test_sizes_that_cannot_be(size: int) -> None:
    curves = two_parameter(simulated(np.random.default_rng(7), 60, 20))
    with pytest.raises(InputError, match="short form"):
        chosen_items(curves, size)


def test_too_few_models_to_leave_some_out() -> None:
    with pytest.raises(CannotAnswerError, match="at least 10; found 9"):
        form_errors(simulated(np.random.default_rng(8), 30, 9), [5])
