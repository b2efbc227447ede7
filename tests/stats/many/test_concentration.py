"""Slices in which differences lie lower: against the plain definition, by properties, and how often the test is wrong."""

from typing import Any

import numpy as np
import pytest

from evalstats.stats.many.concentration import FEWEST_UNITS, low_slices


def one_factor(sizes: list[int]) -> Any:
    codes = np.repeat(np.arange(len(sizes)), sizes)
    return codes[:, None] == np.arange(len(sizes))


def statistics_of(d: Any, member: Any) -> list[float]:
    """The statistic, slice by slice, as its docstring says it: means, and variances with +1 and -1 added to either part."""
    found: list[float] = []
    for held in member.T:
        means: list[float] = []
        variance = 0.0
        for part in (d[held], d[~held]):
            means.append(float(part.mean()))
            variance += np.append(part, [1.0, -1.0]).var() / len(part)
        found.append((means[1] - means[0]) / np.sqrt(variance))
    return found


def test_p_is_the_share_of_permutations_with_as_large_a_maximum() -> None:
    rng = np.random.default_rng(3)
    d, member = rng.choice([-1.0, 0.0, 1.0], 40, p=[0.3, 0.5, 0.2]), one_factor([10, 14, 16])
    d[:8] = -1.0
    observed = np.array(statistics_of(d, member))
    slow = np.random.default_rng(99)
    largest = np.array([max(statistics_of(slow.permutation(d), member)) for _ in range(1_500)])
    expected = [(1 + (largest >= t - 1e-9).sum()) / 1_501 for t in observed]
    found = low_slices(d, member, n_resamples=1_500)
    assert found.n_slices == 3
    # Two sets of draws: each share has a standard error of at most 0.5 / sqrt(1,500) = 0.013.
    assert [p for p in found.p_adjusted if p is not None] == pytest.approx(expected, abs=0.05)
    assert min(expected) < 0.2  # the case says something


def test_no_more_is_drawn_than_was_asked_for() -> None:
    d = np.random.default_rng(1).choice([-1.0, 0.0, 1.0], 100)
    member = one_factor([30, 70])
    assert all(p is not None and p <= 1.0 for p in low_slices(d, member, n_resamples=50).p_adjusted)


def test_small_slices_and_no_differences_are_not_tested() -> None:
    member = one_factor([FEWEST_UNITS - 1, 30, 4])
    d = np.zeros(37 + 1)
    d[:4] = -1.0
    found = low_slices(d[:38], one_factor([4, 30, 4]))
    assert found.p_adjusted[0] is found.p_adjusted[2] is None
    assert found.p_adjusted[1] is not None
    assert low_slices(np.zeros(38), member).p_adjusted == (None, None, None)


def test_the_order_of_items_and_of_slices_tells_nothing() -> None:
    rng = np.random.default_rng(5)
    d, member = rng.choice([-1.0, 0.0, 1.0], 60), one_factor([20, 40])
    member = np.column_stack([member, rng.random(60) < 0.4])
    straight = low_slices(d, member, n_resamples=999).p_adjusted
    turned = low_slices(d[::-1], member[::-1, ::-1], n_resamples=999).p_adjusted
    assert turned[::-1] == pytest.approx(straight, abs=0.06)  # other draws


def test_gains_that_concentrate_are_no_losses() -> None:
    d, member = np.zeros(60), one_factor([12, 48])
    d[:10] = 1.0
    p = low_slices(d, member).p_adjusted
    assert p[0] == 1.0
    d[:10] = -1.0
    assert low_slices(d, member).p_adjusted[0] == pytest.approx(1 / 2_000)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "success", "loss"),
    [
        (40, [0.5] * 4, 0.0),
        (100, [0.98, 0.98, 0.5, 0.5], 0.0),  # as good everywhere, and items of unlike difficulty
        (100, [0.99, 0.99, 0.99, 0.5], 0.0),
        (400, [0.97] * 10, 0.0),
        (100, [0.9] * 4, 0.2),  # worse everywhere alike
    ],
)
def test_systems_that_differ_alike_in_all_slices_are_rarely_told_apart(
    n: int, success: list[float], loss: float
) -> None:
    rng, member = np.random.default_rng(7), one_factor([n // len(success)] * len(success))
    p = np.repeat(success, n // len(success))
    rounds = 600
    wrong = 0
    for seed in range(rounds):
        d = (rng.random(n) < p - loss).astype(float) - (rng.random(n) < p)
        wrong += min(each or 1.0 for each in low_slices(d, member, seed=seed, n_resamples=199).p_adjusted) <= 0.05
    # Three standard errors of a share of 0.05 over so many rounds.
    assert wrong / rounds <= 0.05 + 3 * (0.05 * 0.95 / rounds) ** 0.5


@pytest.mark.slow
def test_a_slice_that_loses_half_is_found() -> None:
    rng, member = np.random.default_rng(11), one_factor([25] * 4)
    p = np.full(100, 0.9)
    q = p - np.repeat([0.5, 0.0, 0.0, 0.0], 25)
    found = [
        low_slices((rng.random(100) < q).astype(float) - (rng.random(100) < p), member, seed=seed, n_resamples=199)
        for seed in range(200)
    ]
    assert np.mean([(each.p_adjusted[0] or 1.0) <= 0.05 for each in found]) > 0.85
