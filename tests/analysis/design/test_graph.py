"""Models can be compared where they saw enough of the same items, directly or through others."""

from itertools import combinations

import numpy as np
import pytest

from evalstats.analysis.design.entries import MIN_SHARED, comparability_graph, components, shared_counts


def seen(n_items: int, *ranges: tuple[int, int]) -> np.ndarray:
    found = np.zeros((n_items, len(ranges)), dtype=np.bool_)
    for j, (start, stop) in enumerate(ranges):
        found[start:stop, j] = True
    return found


def test_shared_counts_equal_the_definition() -> None:
    scored = np.random.default_rng(2).random((83, 6)) < 0.6
    counts = shared_counts(scored)
    for i, j in combinations(range(6), 2):
        assert counts[i, j] == counts[j, i] == sum(a and b for a, b in zip(scored[:, i], scored[:, j], strict=True))
    assert counts.diagonal().tolist() == scored.sum(axis=0).tolist()


def test_all_on_the_same_items() -> None:
    found = comparability_graph(seen(30, (0, 30), (0, 30), (0, 30)), ["a", "b", "c"])
    assert found.same_items
    assert found.connected
    assert found.edges == ()
    assert [(group.models, group.n_items) for group in found.groups] == [(("a", "b", "c"), 30)]
    assert (found.n_items, found.n_common) == (30, 30)


def test_a_chain_is_one_component_though_its_ends_are_not_compared() -> None:
    found = comparability_graph(seen(60, (0, 20), (10, 40), (30, 60)), ["a", "b", "c"])
    assert found.connected
    assert {(edge.first, edge.second): (edge.n_items, edge.compared) for edge in found.edges} == {
        ("a", "b"): (10, True),
        ("a", "c"): (0, False),
        ("b", "c"): (10, True),
    }
    assert found.n_common == 0


def test_one_item_short_of_the_least_is_not_connected() -> None:
    ten, nine = (comparability_graph(seen(40, (0, 20), (20 - k, 40)), ["a", "b"]) for k in (MIN_SHARED, MIN_SHARED - 1))
    assert ten.components == (("a", "b"),)
    assert nine.components == (("a",), ("b",))
    assert nine.edges[0].n_items == MIN_SHARED - 1


def test_components_are_named_the_largest_first() -> None:
    found = comparability_graph(seen(100, (0, 20), (50, 80), (50, 80), (60, 100)), ["lone", "x", "y", "z"])
    assert found.components == (("x", "y", "z"), ("lone",))
    assert [group.models for group in found.groups] == [("lone",), ("x", "y"), ("z",)]


@pytest.mark.parametrize("seed", range(5))
def test_components_equal_the_slow_closure(seed: int) -> None:
    rng = np.random.default_rng(seed)
    linked = np.triu(rng.random((12, 12)) < 0.1, 1)
    linked |= linked.T | np.eye(12, dtype=np.bool_)
    closed = linked.copy()
    for _ in range(12):
        closed |= (closed.astype(int) @ closed.astype(int)) > 0
    labels = components(linked)
    assert np.array_equal(labels[:, None] == labels[None, :], closed)
