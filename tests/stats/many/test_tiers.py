"""Letters: two models share one exactly when they are not separated."""

import string

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalstats.stats.many.multiplicity import compact_letters


def matrix(n, pairs):
    apart = np.zeros((n, n), dtype=bool)
    for i, j in pairs:
        apart[i, j] = apart[j, i] = True
    return apart


def of(text):
    """Letters of one model as a set: a letter and the digits after it."""
    marks, k = set(), 0
    while k < len(text):
        end = k + 1
        while end < len(text) and text[end].isdigit():
            end += 1
        marks.add(text[k:end])
        k = end
    return marks


@pytest.mark.parametrize(
    ("n", "pairs", "letters"),
    [
        (3, [], ("a", "a", "a")),
        (3, [(0, 1), (0, 2), (1, 2)], ("a", "b", "c")),
        (3, [(0, 2)], ("a", "ab", "b")),
        # Piepho's kind of example: overlapping groups in order of the means.
        (5, [(0, 3), (0, 4), (1, 4)], ("a", "ab", "abc", "bc", "c")),
        (4, [(0, 2), (0, 3), (1, 2), (1, 3)], ("a", "a", "b", "b")),
        # A pair in the middle that is separated while its neighbours are not.
        (4, [(1, 2)], ("ab", "a", "b", "ab")),
    ],
)
def test_letters_by_hand(n, pairs, letters):
    assert compact_letters(matrix(n, pairs), range(n)) == letters


def test_order_gives_a_to_the_best():
    apart = matrix(3, [(0, 2)])
    assert compact_letters(apart, [2, 1, 0]) == ("b", "ab", "a")
    assert compact_letters(matrix(3, [(0, 1), (1, 2), (0, 2)]), [1, 2, 0]) == ("c", "a", "b")


@settings(deadline=None, max_examples=150)
@given(st.integers(1, 9), st.integers(0, 10**6), st.floats(0, 1))
def test_sharing_a_letter_means_not_separated(n, seed, share):
    rng = np.random.default_rng(seed)
    apart = np.triu(rng.random((n, n)) < share, 1)
    apart |= apart.T
    order = rng.permutation(n)
    letters = compact_letters(apart, order)
    for i in range(n):
        for j in range(n):
            if i != j:
                assert bool(of(letters[i]) & of(letters[j])) == (not apart[i, j])
    assert "a" in of(letters[order[0]])
    # No letter is superfluous: its models are not all together under another one.
    members = {mark: {k for k in range(n) if mark in of(letters[k])} for mark in set().union(*map(of, letters))}
    assert not any(
        one < other or (one == other and a != b) for a, one in members.items() for b, other in members.items()
    )


def test_many_tiers_go_on_after_the_alphabet():
    n = 110
    apart = ~np.eye(n, dtype=bool)
    letters = compact_letters(apart, range(n))
    assert letters[:52] == tuple(string.ascii_letters)
    assert letters[52:54] == ("a1", "b1")
    assert letters[104] == "a2"
    assert len(set(letters)) == n


def test_a_long_chain_takes_no_time():
    n = 100
    apart = np.abs(np.subtract.outer(np.arange(n), np.arange(n))) > 7
    letters = compact_letters(apart, range(n))
    assert letters[0] == "a"
    assert len(set().union(*map(of, letters))) == n - 7
