"""Scores on one scale against least squares, the jackknife, their own means, and a simulation of their intervals."""

import numpy as np
import pytest

from evalstats.errors import InputError
from evalstats.stats.many.common_scale import common_scale, score_interval

LOGIT_TO_RIDGE = 1e-7  # what the weak prior moves


def holes(seed: int, n: int = 60, models: int = 5, share: float = 0.3) -> np.ndarray:
    rng = np.random.default_rng(seed)
    y = rng.normal(size=(n, 1)) + rng.normal(size=models) + rng.normal(size=(n, models))
    y[rng.random((n, models)) < share] = np.nan
    return y[~np.isnan(y).all(axis=1)]


def test_without_bounds_it_is_least_squares_of_items_and_models() -> None:
    y = holes(1)
    item, model = np.nonzero(~np.isnan(y))
    n, models = y.shape
    design = np.zeros((len(item), n + models))
    design[np.arange(len(item)), item] = design[np.arange(len(item)), n + model] = 1.0
    effects = np.linalg.lstsq(design, y[item, model], rcond=None)[0]
    assert common_scale(y).estimate == pytest.approx(effects[n:] + effects[:n].mean(), abs=LOGIT_TO_RIDGE)


def test_within_bounds_it_solves_the_likelihood_equations() -> None:
    """Fitted and observed sums agree for every model, and for every block of items with the same models."""
    y = (holes(2, n=400) > 0).astype(float)
    y[np.isnan(holes(2, n=400))] = np.nan
    found = common_scale(y, bounds=(0.0, 1.0))
    assert found.estimate == pytest.approx(found.values.mean(axis=0))
    every = ~np.isnan(y)
    assert np.all((found.estimate > 0) & (found.estimate < 1))
    own = np.nanmean(y, axis=0)
    assert np.abs(found.estimate - own).max() < 0.1
    assert not every.all()


@pytest.mark.parametrize("bounds", [None, (0.0, 1.0)])
def test_standard_errors_are_those_of_the_jackknife(bounds: tuple[float, float] | None) -> None:
    rng = np.random.default_rng(1)
    y = (rng.random((120, 3)) < [0.5, 0.6, 0.8]).astype(float)
    y[:50, 0], y[90:, 1] = np.nan, np.nan
    found = common_scale(y, bounds=bounds)
    alike = np.nan_to_num(y, nan=-1.0)  # without either of two such items the table is the same
    _, first, place = np.unique(alike, axis=0, return_index=True, return_inverse=True)
    left = np.array([common_scale(np.delete(y, i, axis=0), bounds=bounds).estimate for i in first])[place.ravel()]
    jackknife = np.sqrt((len(y) - 1) / len(y) * np.square(left - left.mean(axis=0)).sum(axis=0))
    assert found.values.std(axis=0, ddof=1) / np.sqrt(len(y)) == pytest.approx(jackknife, rel=0.01)


def test_complete_scores_are_their_means_and_themselves() -> None:
    y = np.random.default_rng(3).random((30, 4))
    found = common_scale(y, bounds=(0.0, 1.0))
    assert found.values is not None
    assert np.array_equal(found.values, y)


def test_two_models_are_ordered_as_on_what_they_share() -> None:
    rng = np.random.default_rng(4)
    for _ in range(12):
        y = (rng.random((60, 2)) < rng.random(2)).astype(float)
        y[:20, 1] = np.nan
        one, two = common_scale(y, bounds=(0.0, 1.0)).estimate
        shared = y[20:, 0].mean() - y[20:, 1].mean()
        assert one == pytest.approx(y[:, 0].mean(), abs=LOGIT_TO_RIDGE)
        assert (
            (abs(one - two) < LOGIT_TO_RIDGE) if shared == 0 else np.sign(one - two) == np.sign(shared) or two in (0, 1)
        )


def test_a_scale_of_its_own_changes_nothing() -> None:
    y = np.clip(holes(5) / 8 + 0.5, 0, 1)
    unit, percent = common_scale(y, bounds=(0.0, 1.0)), common_scale(1 + 4 * y, bounds=(1.0, 5.0))
    assert percent.estimate == pytest.approx(1 + 4 * unit.estimate)


def test_models_and_blocks_without_a_miss_have_an_estimate() -> None:
    y = np.ones((50, 3))
    y[:20, 0], y[:5, 1] = np.nan, 0.0
    found = common_scale(y, bounds=(0.0, 1.0))
    assert np.isfinite(found.values).all()
    assert found.estimate[1] == pytest.approx(0.9, abs=1e-6)
    ends = score_interval(found.values[:, 2], n_own=50, bounds=(0.0, 1.0))
    assert ends.conf_low is not None
    assert ends.conf_low < 0.97


def test_an_item_of_no_model_is_refused() -> None:
    y = np.random.default_rng(6).random((10, 2))
    y[3] = np.nan
    with pytest.raises(InputError, match="leave them out"):
        common_scale(y)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "n_models"), [(60, 2), (200, 4)])
def test_intervals_hold_the_score_on_all_items(n: int, n_models: int) -> None:
    """Items by logits; the first model lacks the easier of them with probability .6 and the harder with .1."""
    rng = np.random.default_rng(7)
    ability = np.linspace(0.2, 1.0, n_models)
    ease = rng.normal(0, 1.2, 200_000)
    truth = (1 / (1 + np.exp(-ease - ability[0]))).mean()
    tables, inside = 400, 0
    for _ in range(tables):
        ease = rng.normal(0, 1.2, n)
        y = (rng.logistic(size=(n, n_models)) < ease[:, np.newaxis] + ability).astype(float)
        y[rng.random(n) < np.where(ease > 0, 0.6, 0.1), 0] = np.nan
        own = int((~np.isnan(y[:, 0])).sum())
        found = score_interval(common_scale(y, bounds=(0.0, 1.0)).values[:, 0], n_own=own, bounds=(0.0, 1.0))
        inside += (found.conf_low or 0) <= truth <= (found.conf_high or 0)
    assert inside / tables > 0.93
