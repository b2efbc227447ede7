"""Prediction-powered means of these very items: by the formula of a regression estimator, and by coverage."""

import numpy as np
import pytest

from evalstats.errors import InputError
from evalstats.stats.raters.correction import powered_mean


def test_by_the_formula_of_a_difference_estimator() -> None:
    """Cochran 1977, chapter 7: the mean of all predictions plus that of the residuals, with a finite-population correction."""
    rng = np.random.default_rng(1)
    f, y = rng.random(60), (rng.random(60) < 0.6).astype(float)
    rest = rng.random(140)
    found = powered_mean(rest, f, y, tuning=0.7, finite=True).estimate
    residual, every = y - 0.7 * f, np.concatenate([rest, f])
    assert found.estimate == pytest.approx(0.7 * every.mean() + residual.mean())
    assert found.std_error == pytest.approx(residual.std(ddof=1) * np.sqrt((1 - 60 / 200) / 60))


def test_the_correction_is_between_none_and_all() -> None:
    rng = np.random.default_rng(2)
    f, y = rng.random(100), (rng.random(100) < 0.6).astype(float)
    few, many = rng.random(5), rng.random(5000)
    nearly_all = powered_mean(few, f, y, finite=True).estimate.std_error
    hardly_any = powered_mean(many, f, y, finite=True).estimate.std_error
    domain = powered_mean(many, f, y).estimate.std_error
    assert nearly_all is not None
    assert hardly_any is not None
    assert nearly_all < 0.3 * hardly_any
    assert hardly_any == pytest.approx(domain, rel=0.05)


@pytest.mark.parametrize("n", [40, 150])
def test_intervals_hold_the_mean_of_these_items(n: int) -> None:
    rng, held = np.random.default_rng(n), []
    chance = rng.beta(2, 1, 200)
    y = (rng.random(200) < chance).astype(float)
    for _ in range(300):
        order = rng.permutation(200)
        known, rest = order[:n], order[n:]
        found = powered_mean(chance[rest], chance[known], y[known], bounds=(0, 1), pseudo=0.5, finite=True).estimate
        assert found.conf_low is not None
        assert found.conf_high is not None
        held.append(found.conf_low <= y.mean() <= found.conf_high)
    assert 0.92 <= np.mean(held) <= 0.99  # two imaginary labels make it a little wide


def test_what_it_does_not_go_with() -> None:
    values = np.linspace(0, 1, 30)
    with pytest.raises(InputError, match="simple random part"):
        powered_mean(values, values, values, finite=True, probabilities=np.full(30, 0.5))
