"""Merging of votes: nothing is lost, nothing that differs is merged, and what is no vote is refused."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalstats.errors import InputError
from evalstats.stats.arena.votes import A_WINS, B_WINS, BOTH_BAD, OUTCOMES, TIE, merged, numbered, vote_rows

VOTE = st.tuples(
    st.integers(0, 3),  # first
    st.integers(1, 3),  # steps to second
    st.integers(0, 3),  # outcome
    st.sampled_from([0.0, 0.25, 0.5, 1.0]),  # share
    st.sampled_from([-1.0, 0.5]),  # covariate
    st.integers(0, 2),  # cluster
    st.sampled_from([0.5, 1.0, 2.0]),  # weight
)


def columns(votes):
    first, step, outcome, share, covariate, cluster, weight = (np.array(column) for column in zip(*votes, strict=True))
    return first, (first + step) % 4, outcome, share, covariate, cluster, weight


@given(votes=st.lists(VOTE, min_size=1, max_size=40))
def test_merged_rows_are_the_tally_of_votes(votes):
    first, second, outcome, share, covariate, cluster, weight = columns(votes)
    rows = vote_rows(
        first,
        second,
        outcome,
        n_models=4,
        share=share,
        weight=weight,
        covariates=covariate[:, None],
        clusters=(cluster,),
    )
    key = list(zip(first, second, outcome, share, covariate, cluster, strict=True))
    tally, mass, squares = Counter(key), Counter(), Counter()
    for vote, heavy in zip(key, weight, strict=True):
        mass[vote] += heavy
        squares[vote] += heavy**2
    found = list(
        zip(rows.first, rows.second, rows.outcome, rows.share, rows.covariates[:, 0], rows.clusters[0], strict=True)
    )
    assert len(set(found)) == rows.n_rows == len(tally)
    assert dict(zip(found, rows.count, strict=True)) == tally
    assert dict(zip(found, rows.weight, strict=True)) == pytest.approx(mass)
    assert dict(zip(found, rows.weight_squares, strict=True)) == pytest.approx(squares)
    assert rows.n_votes == len(votes)
    without = merged(rows, keep_clusters=False)
    assert without.clusters == ()
    assert without.n_rows == len({vote[:-1] for vote in key})
    assert without.weight.sum() == pytest.approx(weight.sum())


def test_both_bad_is_not_merged_with_a_tie():
    rows = vote_rows([0, 0], [1, 1], [TIE, BOTH_BAD])
    assert rows.n_rows == 2
    assert rows.share.tolist() == [0.5, 0.5]
    assert OUTCOMES[TIE], OUTCOMES[BOTH_BAD] == ("tie", "both_bad")


def test_sides_are_not_merged():
    assert vote_rows([0, 1], [1, 0], [A_WINS, B_WINS]).n_rows == 2


def test_shares_follow_outcomes():
    rows = vote_rows([0] * 4, [1] * 4, [A_WINS, B_WINS, TIE, BOTH_BAD])
    assert rows.share.tolist() == [1.0, 0.0, 0.5, 0.5]


def test_entries_may_stand_for_many_votes():
    rows = vote_rows([0, 0], [1, 1], [A_WINS, A_WINS], count=[3, 2])
    assert (rows.n_rows, rows.n_votes) == (1, 5)
    # Five votes of weight 1.
    assert (rows.weight[0], rows.weight_squares[0]) == (5.0, 5.0)
    heavy = vote_rows([0], [1], [A_WINS], count=[4], weight=[2.0])
    # Four votes of weight 1/2.
    assert (heavy.weight[0], heavy.weight_squares[0]) == (2.0, 1.0)


def test_counted_entries_equal_single_votes():
    one_by_one = vote_rows([0, 0, 0, 1], [1, 1, 1, 2], [0, 0, 0, 2])
    counted = vote_rows([0, 1], [1, 2], [0, 2], count=[3, 1])
    for field in ("first", "second", "outcome", "share", "weight", "weight_squares", "count"):
        np.testing.assert_array_equal(getattr(counted, field), getattr(one_by_one, field))


def test_several_clusters_and_covariates():
    rows = vote_rows(
        [0] * 4,
        [1] * 4,
        [0] * 4,
        covariates=[[0.0, 1.0], [0.0, 1.0], [0.0, 2.0], [0.0, 1.0]],
        clusters=([0, 0, 0, 0], [5, 5, 5, 6]),
    )
    assert (rows.n_rows, rows.n_votes, rows.n_covariates) == (3, 4, 2)


def test_many_levels_do_not_overflow():
    """Six million models, a thousand clusters of each of three kinds: numbers of rows stay below 2^63."""
    rng = np.random.default_rng(0)
    n = 5000
    first = rng.integers(6_000_000, size=n)
    clusters = tuple(rng.integers(1000, size=n) for _ in range(3))
    rows = vote_rows(
        np.tile(first, 2),
        np.tile(first + 1, 2),
        np.zeros(2 * n, dtype=int),
        clusters=tuple(np.tile(codes, 2) for codes in clusters),
    )
    assert rows.n_rows == len(set(zip(first, *clusters, strict=True)))
    assert (rows.count % 2 == 0).all()


def test_take_and_reweighted():
    rows = vote_rows([0, 1, 2], [1, 2, 0], [0, 1, 2], covariates=np.eye(3), clusters=([0, 1, 1],))
    some = rows.take(rows.outcome != 1)
    assert (some.n_rows, some.n_models, some.clusters[0].tolist()) == (2, 3, [0, 1])
    assert some.covariates.tolist() == [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    lighter = rows.reweighted(np.array([0.5, 1.0, 2.0]))
    assert lighter.weight.tolist() == [0.5, 1.0, 2.0]
    assert lighter.weight_squares.tolist() == [0.25, 1.0, 4.0]
    assert lighter.n_votes == 3


def test_no_votes():
    rows = vote_rows([], [], [], n_models=2)
    assert (rows.n_rows, rows.n_votes, rows.n_models, rows.n_covariates) == (0, 0, 2, 0)
    assert merged(rows, keep_clusters=False).n_rows == 0
    assert vote_rows([], [], []).n_models == 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"first": [0]}, "1 first models, 2 second models and 2 outcomes"),
        ({"first": [0.0, 1.0]}, "first are of type float64"),
        ({"first": [1, 0]}, "1 of 2 votes are of a model against itself"),
        ({"first": [0, -1]}, "number them from 0"),
        ({"outcome": [0, 4]}, r"between 0 and 4; they are 0 \(a\)"),
        ({"outcome": [-1, 0]}, "between -1 and 0"),
        ({"outcome": [np.nan, 0]}, "outcome are of type float64"),
        ({"outcome": ["a", "b"]}, "give one whole number per vote"),
        ({"n_models": 2}, "numbered up to 2, but there are 2"),
        ({"share": [0.5, np.nan]}, "shares are not all finite"),
        ({"share": [0.5]}, r"shape \(1,\), but there are 2 votes"),
        ({"weight": [1.0, -1.0]}, "weights are not all finite numbers of at least 0"),
        ({"weight": [1.0, np.inf]}, "weights are not all finite"),
        ({"covariates": [1.0, 2.0]}, "give 2 rows of numbers"),
        ({"covariates": [[1.0], [np.nan]]}, "not finite"),
        ({"clusters": (["x", "y"],)}, "clusters are of type"),
        ({"clusters": ([0],)}, "give one code per vote"),
        ({"clusters": ([0, -1],)}, "cluster codes are not all 0 or more"),
        ({"count": [1]}, "give 2 counts of at least 1"),
        ({"count": [-1, 2]}, "give 2 counts of at least 1"),
    ],
)
def test_what_is_no_vote_is_refused(change, message):
    votes = {"first": [0, 0], "second": [1, 2], "outcome": [0, 1]} | change
    with pytest.raises(InputError, match=message):
        vote_rows(**votes)


@given(st.lists(st.tuples(st.sampled_from([-7, 0, 3, 10**12]), st.integers(-3, 3), st.sampled_from([0.0, 0.5]))))
def test_rows_are_numbered_in_the_order_of_their_values(rows):
    """Whole numbers that lie close together are counted, others sorted, and nobody can tell."""
    whole = [np.array([row[k] for row in rows], dtype=np.int64) for k in (0, 1)]
    label = numbered(
        np.zeros(len(rows), dtype=np.int64), [*whole, np.array([row[2] for row in rows], dtype=np.float64)]
    )
    order = sorted(set(rows))
    assert [order.index(row) for row in rows] == np.unique(label, return_inverse=True)[1].tolist()
