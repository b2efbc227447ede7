"""Cells of few people: held back, also where a total would give them away."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalstats.analysis.gap.scenario_gaps import suppressed
from evalstats.analysis.gap.shared_models import too_small
from evalstats.options import MIN_CELL

SIZES = st.lists(st.integers(0, 60), max_size=12)


@pytest.mark.parametrize(
    ("n", "least", "small"), [(0, 10, False), (1, 10, True), (9, 10, True), (10, 10, False), (1, 1, False)]
)
def test_small_is_more_than_none_and_fewer_than_the_least(n: int, least: int, small: bool) -> None:
    assert too_small(n, least) is small


@given(SIZES)
def test_no_small_cell_can_be_had_by_subtraction(sizes: list[int]) -> None:
    hidden = suppressed(sizes, MIN_CELL)
    held = [n for n, is_hidden in zip(sizes, hidden, strict=True) if is_hidden]
    assert all(is_hidden for n, is_hidden in zip(sizes, hidden, strict=True) if 0 < n < MIN_CELL)
    peopled = [n for n in sizes if n]
    if held and held != peopled:  # unless nothing more could be held back
        assert len(held) > 1
        assert sum(held) >= MIN_CELL


@given(SIZES)
def test_nothing_is_held_back_where_nothing_is_small(sizes: list[int]) -> None:
    large = [n + MIN_CELL for n in sizes]
    assert not any(suppressed(large, MIN_CELL))


@given(SIZES, st.randoms())
def test_the_order_of_cells_does_not_matter(sizes: list[int], random) -> None:
    shuffled = sizes.copy()
    random.shuffle(shuffled)
    held = [sorted(n for n, is_hidden in zip(each, suppressed(each, MIN_CELL), strict=True) if is_hidden)
            for each in (sizes, shuffled)]  # fmt: skip
    assert held[0] == held[1]
