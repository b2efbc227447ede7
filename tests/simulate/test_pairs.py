"""The generator of paired outcomes: its truth is exact, and its draws agree with it."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm

from evalstats.errors import InputError
from evalstats.simulate.draws import _both_below, simulate_pairs

MANY = 200_000


@pytest.mark.parametrize(("p", "q", "rho"), [(0.3, 0.6, 0.4), (0.95, 0.9, 0.8), (0.05, 0.5, 0.99), (0.5, 0.5, 0.2)])
def test_the_bivariate_normal_integral_agrees_with_scipy(p: float, q: float, rho: float) -> None:
    other = multivariate_normal([0, 0], [[1, rho], [rho, 1]]).cdf([norm.ppf(p), norm.ppf(q)])
    assert _both_below(p, q, rho) == pytest.approx(other, abs=1e-7)  # scipy's own tolerance for two dimensions


def test_the_bivariate_normal_integral_has_sheppards_value_at_the_medians() -> None:
    """P(X < 0, Y < 0) = 1/4 + arcsin(rho) / (2 pi)."""
    assert _both_below(0.5, 0.5, 0.5) == pytest.approx(1 / 3, abs=1e-12)
    assert _both_below(0.5, 0.5, 1.0) == pytest.approx(1 / 2, abs=1e-12)


def test_margins_and_discordance_are_the_ones_asked_for() -> None:
    pairs = simulate_pairs(MANY, p_baseline=0.85, p_candidate=0.9, discordance=0.12, seed=1)
    # four standard errors of a proportion
    assert pairs.baseline.mean() == pytest.approx(0.85, abs=4 * np.sqrt(0.85 * 0.15 / MANY))
    assert pairs.candidate.mean() == pytest.approx(0.9, abs=4 * np.sqrt(0.9 * 0.1 / MANY))
    discordant = (pairs.baseline != pairs.candidate).mean()
    assert discordant == pytest.approx(0.12, abs=4 * np.sqrt(0.12 * 0.88 / MANY))
    assert pairs.difference == pytest.approx(0.05)


def test_the_most_discordance_is_independence() -> None:
    most = 0.6 + 0.7 - 2 * 0.6 * 0.7
    pairs = simulate_pairs(MANY, p_baseline=0.6, p_candidate=0.7, discordance=most, seed=2)
    assert abs(np.corrcoef(pairs.baseline[:, 0], pairs.candidate[:, 0])[0, 1]) < 4 / np.sqrt(MANY)


def test_the_least_discordance_is_one_sided() -> None:
    pairs = simulate_pairs(MANY, p_baseline=0.5, p_candidate=0.7, discordance=0.2, n_trials=2, seed=2)
    assert not (pairs.baseline & ~pairs.candidate).any()
    assert pairs.item_differences.mean() == pytest.approx(0.2, abs=4 * np.sqrt(0.2 * 0.8 / MANY))


def test_an_icc_of_one_makes_whole_clusters_alike() -> None:
    pairs = simulate_pairs(100, p_baseline=0.5, p_candidate=0.5, discordance=0.5, clusters=20, icc=1.0, seed=2)
    by_cluster = pairs.item_differences.reshape(20, 5)
    assert (by_cluster == by_cluster[:, :1]).all()
    assert set(by_cluster[:, 0]) == {-1.0, 0.0, 1.0}


def test_differences_in_a_cluster_correlate_as_asked() -> None:
    """Intraclass correlation by its definition: covariance of two items of a cluster over the variance."""
    pairs = simulate_pairs(MANY, p_baseline=0.5, p_candidate=0.6, discordance=0.4, clusters=MANY // 2, icc=0.25, seed=3)
    differences = pairs.item_differences.reshape(-1, 2) - 0.1
    covariance = (differences[:, 0] * differences[:, 1]).mean()
    variance = 0.4 - 0.1**2
    assert differences.var() == pytest.approx(variance, abs=0.01)
    assert covariance / variance == pytest.approx(0.25, abs=4 / np.sqrt(MANY / 2))


def test_repeatability_decides_how_much_trials_agree() -> None:
    def agreement(repeatability: float) -> float:
        pairs = simulate_pairs(
            20_000, p_baseline=0.5, p_candidate=0.5, discordance=0.3, n_trials=2, repeatability=repeatability, seed=4
        )
        return float((pairs.baseline[:, 0] == pairs.baseline[:, 1]).mean())

    # with repeatability 0 two trials are as alike as the two systems are: 1 - discordance
    assert agreement(0.0) == pytest.approx(0.7, abs=4 * np.sqrt(0.7 * 0.3 / 20_000))
    assert agreement(0.0) < agreement(0.5) < agreement(1.0) == 1.0


def test_cluster_sizes_are_nearly_equal() -> None:
    equal = simulate_pairs(10, p_baseline=0.5, p_candidate=0.5, discordance=0.3, clusters=3)
    assert np.bincount(equal.cluster).tolist() == [4, 3, 3]
    alone = simulate_pairs(10, p_baseline=0.5, p_candidate=0.5, discordance=0.3)
    assert np.bincount(alone.cluster).tolist() == [1] * 10


def test_same_seed_same_draws() -> None:
    first, again, other = (
        simulate_pairs(50, p_baseline=0.5, p_candidate=0.6, discordance=0.3, seed=seed).candidate for seed in (5, 5, 6)
    )
    assert (first == again).all()
    assert (first != other).any()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"n_items": 0}, "n_items is 0; give a whole number of at least 1"),
        ({"p_baseline": 1.0}, "p_baseline is 1; give a number strictly between 0 and 1"),
        ({"repeatability": 1.5}, "repeatability is 1.5; give a proportion from 0 to 1"),
        ({"discordance": 0.6}, "discordance is 0.6; with these probabilities it lies between 0.2 and 0.5"),
        ({"discordance": 0.1}, "it lies between 0.2 and 0.5"),
        ({"discordance": 0.21, "icc": 0.3}, "exclude each other"),
        ({"clusters": 11}, "11 clusters cannot hold 10 items"),
        ({"seed": -1}, "seed is -1"),
    ],
)
def test_impossible_requests_are_refused(changes: dict[str, object], message: str) -> None:
    asked = {"n_items": 10, "p_baseline": 0.5, "p_candidate": 0.7, "discordance": 0.4, "clusters": 5, **changes}
    with pytest.raises(InputError, match=message):
        simulate_pairs(asked.pop("n_items"), **asked)
