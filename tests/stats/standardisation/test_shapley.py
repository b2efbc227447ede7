"""Contributions of factors to the mix against all orders by hand."""

from itertools import permutations, product

import numpy as np
import pytest

from evalstats.errors import InputError
from evalstats.stats.standardisation import shapley_shares

CLOSED_FORM = 1e-12


def cells(seed: int, sizes: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[np.ndarray]]:
    rng = np.random.default_rng(seed)
    levels = np.array(list(product(*(range(size) for size in sizes))))
    n = len(levels)
    return rng.dirichlet(np.ones(n)), rng.dirichlet(np.ones(n)), rng.random(n), list(levels.T)


def reweighted_rate(chosen: set[int], w_lab: np.ndarray, w_live: np.ndarray, rate: np.ndarray, levels: list) -> float:
    """Rate of the lab when the joint margin of the chosen factors is the live one, cell by cell."""
    total = 0.0
    for cell in range(rate.size):
        same = [other for other in range(rate.size) if all(levels[f][other] == levels[f][cell] for f in chosen)]
        total += w_lab[cell] * w_live[same].sum() / w_lab[same].sum() * rate[cell]
    return total


@pytest.mark.parametrize("sizes", [(2, 3), (2, 2, 3), (2, 2, 2, 2)])
def test_contributions_are_the_mean_over_all_orders(sizes: tuple[int, ...]) -> None:
    w_lab, w_live, rate, levels = cells(1, sizes)
    by_hand = np.zeros(len(sizes))
    orders = list(permutations(range(len(sizes))))
    for order in orders:
        done: set[int] = set()
        for factor in order:
            before = reweighted_rate(done, w_lab, w_live, rate, levels)
            done = done | {factor}
            by_hand[factor] += (reweighted_rate(done, w_lab, w_live, rate, levels) - before) / len(orders)
    found = shapley_shares(w_lab, w_live, rate, levels)
    assert found == pytest.approx(by_hand, abs=CLOSED_FORM)
    assert found.sum() == pytest.approx(((w_live - w_lab) * rate).sum(), abs=CLOSED_FORM)


def test_one_factor_has_the_whole_mix() -> None:
    w_lab, w_live, rate, levels = cells(2, (4,))
    assert shapley_shares(w_lab, w_live, rate, levels).tolist() == pytest.approx([((w_live - w_lab) * rate).sum()])


def test_a_factor_that_shifts_nothing_has_no_part() -> None:
    # Independent factors, of which the second has the same margin on both sides.
    first_lab, first_live, second = np.array([0.7, 0.3]), np.array([0.2, 0.8]), np.array([0.4, 0.6])
    levels = [np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])]
    rate = np.array([0.9, 0.2, 0.5, 0.4])
    found = shapley_shares(np.outer(first_lab, second).ravel(), np.outer(first_live, second).ravel(), rate, levels)
    assert found[1] == pytest.approx(0.0, abs=CLOSED_FORM)


def test_the_order_of_cells_and_the_zero_of_the_scale_do_not_matter() -> None:
    w_lab, w_live, rate, levels = cells(4, (2, 3))
    at = np.random.default_rng(0).permutation(6)
    shuffled = shapley_shares(w_lab[at], w_live[at], rate[at] + 3, [level[at] for level in levels])
    assert shuffled == pytest.approx(shapley_shares(w_lab, w_live, rate, levels), abs=CLOSED_FORM)


def test_bad_input_is_named() -> None:
    with pytest.raises(InputError, match="0 factors"):
        shapley_shares(np.full(2, 0.5), np.full(2, 0.5), np.ones(2), [])


def test_six_factors_can_be_told_and_seven_cannot() -> None:
    w_lab, w_live, rate, levels = cells(5, (2, 2))
    six = shapley_shares(w_lab, w_live, rate, [*levels, *(np.zeros(4, dtype=np.int64) for _ in range(4))])
    assert six == pytest.approx([*shapley_shares(w_lab, w_live, rate, levels), 0, 0, 0, 0], abs=CLOSED_FORM)
    for factors in ([], [levels[0]] * 7):
        with pytest.raises(InputError, match="1 to 6 factors"):
            shapley_shares(w_lab, w_live, rate, factors)
