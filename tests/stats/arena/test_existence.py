"""How wins connect models, against searches through all groups."""

from itertools import chain, combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalstats.errors import CannotAnswerError
from evalstats.stats.arena.likelihood import WinCut, connection, n_components, pair_cells, weak_links
from evalstats.stats.arena.votes import A_WINS, B_WINS, BOTH_BAD, TIE, vote_rows
from tests.stats.arena.votes_by_hand import llmfao

VOTES = st.lists(
    st.tuples(
        st.integers(0, 5), st.integers(1, 5), st.sampled_from([A_WINS, B_WINS, TIE, BOTH_BAD]), st.integers(1, 4)
    ),
    min_size=1,
    max_size=25,
)


def rows_of(votes, n_models=6):
    first, step, outcome, count = (np.array(column) for column in zip(*votes, strict=True))
    return vote_rows(first, (first + step) % n_models, outcome, count=count, n_models=n_models)


def wins_of(rows):
    """What each model won against each other, vote by vote."""
    wins = np.zeros((rows.n_models, rows.n_models))
    for a, b, share, weight in zip(rows.first, rows.second, rows.share, rows.weight, strict=True):
        wins[a, b] += weight * share
        wins[b, a] += weight * (1 - share)
    return wins


def reaches(wins):
    """Whether a chain of wins leads from one model to another: paths of ever more steps."""
    reach = np.eye(len(wins), dtype=bool) | (wins > 0)
    for _ in wins:
        reach = (reach.astype(int) @ reach.astype(int)) > 0
    return reach


def groups(n):
    """All groups of models but none and all."""
    return chain.from_iterable(combinations(range(n), size) for size in range(1, n))


def won_by(wins, group):
    rest = [model for model in range(len(wins)) if model not in group]
    return wins[np.ix_(list(group), rest)].sum()


@given(votes=VOTES)
def test_a_fit_counts_the_components(votes):
    rows = rows_of(votes)
    reach = reaches(wins_of(rows))
    assert n_components(pair_cells(rows, "half")) == len(np.unique(reach & reach.T, axis=0))


@pytest.mark.parametrize("n_models", [150, 400])
def test_a_long_ring_is_one_component_until_it_breaks(n_models):
    """Few models are searched in a table, many in a sparse graph."""
    first = np.arange(n_models)
    ring = [
        vote_rows(first[:k], (first[:k] + 1) % n_models, [A_WINS] * k, n_models=n_models)
        for k in (n_models, n_models - 1)
    ]
    assert [n_components(pair_cells(rows, "half")) for rows in ring] == [1, n_models]


@given(votes=VOTES)
def test_components_are_models_that_reach_each_other(votes):
    rows = rows_of(votes)
    wins = wins_of(rows)
    reach = reaches(wins)
    both = reach & reach.T
    found = connection(rows)
    assert {frozenset(group) for group in found.components} == {
        frozenset(np.flatnonzero(line).tolist()) for line in both
    }
    assert found.is_connected == bool(both.all())
    # Best first: no later group won anything against an earlier one.
    for place, group in enumerate(found.components):
        for later in found.components[place + 1 :]:
            assert wins[np.ix_(later, group)].sum() == 0
    apart = reaches(wins + wins.T)
    assert {frozenset(group) for group in found.islands} == {frozenset(np.flatnonzero(line).tolist()) for line in apart}
    sizes = [len(group) for group in found.islands]
    assert sizes == sorted(sizes, reverse=True)


@given(votes=VOTES)
def test_unbeaten_winless_and_without_votes(votes):
    rows = rows_of(votes)
    wins = wins_of(rows)
    found = connection(rows)
    for model in range(6):
        got, lost = wins[model].sum(), wins[:, model].sum()
        assert (model in found.unbeaten) == (got > 0 and lost == 0)
        assert (model in found.winless) == (got == 0 and lost > 0)


def test_a_tie_connects_both_ways():
    assert connection(vote_rows([0, 1], [1, 2], [TIE, BOTH_BAD])).is_connected
    assert not connection(vote_rows([0, 1], [1, 2], [TIE, A_WINS])).is_connected


def test_votes_of_no_weight_connect_nothing():
    rows = vote_rows([0, 0], [1, 1], [A_WINS, B_WINS])
    assert connection(rows).is_connected
    assert connection(rows.reweighted((rows.outcome == A_WINS).astype(float))).components == ((0,), (1,))


def test_no_votes_are_islands():
    found = connection(vote_rows([], [], [], n_models=2))
    assert found.components == found.islands == ((0,), (1,))


@given(votes=VOTES, limit=st.integers(1, 4))
def test_the_weakest_link_is_the_cut_of_fewest_wins(votes, limit):
    ring = [(model, 1, A_WINS, 1) for model in range(6)]
    rows = rows_of(votes + ring)
    wins = wins_of(rows)
    found = weak_links(rows, limit=limit)
    assert len(found) == limit
    assert found[0].n_wins == min(won_by(wins, group) for group in groups(6))
    assert [link.n_wins for link in found] == sorted(link.n_wins for link in found)
    assert len({(link.group, link.side) for link in found}) == limit
    for link in found:
        assert 2 * len(link.group) <= 6
        rest = [model for model in range(6) if model not in link.group]
        assert link.n_wins == won_by(wins, link.group if link.side == "wins" else rest)


@given(votes=VOTES)
def test_links_hold_the_weakest_cut_around_every_model(votes):
    """Of each model and the most compared one: no cut between them is weaker than the weakest in the list."""
    rows = rows_of(votes + [(model, 1, A_WINS, 1) for model in range(6)])
    wins = wins_of(rows)
    root = int(np.argmax(wins.sum(axis=0) + wins.sum(axis=1)))
    every = weak_links(rows, limit=1000)
    listed = {link.n_wins for link in every}
    for model in range(6):
        if model != root:
            around = [group for group in groups(6) if model in group and root not in group]
            assert min(won_by(wins, group) for group in around) in listed
            assert min(won_by(wins.T, group) for group in around) in listed


def test_two_halves_held_by_one_vote():
    games = [
        (a, b, outcome) for half in (0, 4) for a in range(half, half + 4) for b in range(half, a) for outcome in (0, 1)
    ]
    first, second, outcome = zip(*games, *[(0, 5, A_WINS)] * 9, (6, 2, A_WINS), strict=True)
    found = weak_links(vote_rows(first, second, outcome), limit=2)
    assert found[0] == WinCut(group=(0, 1, 2, 3), n_wins=1.0, side="losses")
    assert found[1].n_wins == 3.0


def test_weights_need_not_be_whole():
    first, second = [0, 1, 1, 2, 2, 3, 3, 2], [1, 0, 2, 1, 3, 2, 0, 1]
    weight = np.array([5.5, 6.25, 0.3, 0.1, 7.1, 8.0, 0.05, 0.07])
    found = weak_links(vote_rows(first, second, [A_WINS] * 8, weight=weight))[0]
    assert (found.group, found.side) == ((0, 1), "losses")
    # What 2 won against 1, twice, and 3 against 0; they lost .3.
    assert found.n_wins == pytest.approx(0.1 + 0.07 + 0.05)
    lighter = weak_links(vote_rows(first, second, [A_WINS] * 8, weight=weight * 1e-7))[0]
    assert lighter.group == found.group
    assert weak_links(vote_rows(first, second, [A_WINS] * 8, weight=weight * 1e9))[0].group == found.group


def test_links_need_a_connected_graph():
    with pytest.raises(CannotAnswerError, match="do not connect"):
        weak_links(vote_rows([0], [1], [A_WINS]))


def test_llmfao_is_connected(shared_data):
    rows, _ = llmfao(shared_data)
    found = connection(rows)
    assert found.is_connected
    assert (len(found.islands), found.unbeaten, found.winless) == (1, (), ())


@pytest.mark.parametrize(("reach", "n"), [(1, 200), (3, 200), (59, 60)])
def test_two_hundred_models_have_five_links(reach, n):
    """A chain, a band and a dense graph."""
    rng = np.random.default_rng(reach)
    first = rng.integers(n, size=100 * n)
    second = (first + rng.integers(1, reach + 1, size=100 * n)) % n
    rows = vote_rows(first, second, rng.integers(2, size=100 * n), n_models=n)
    assert len(weak_links(rows)) == 5


def test_links_of_one_model_are_none_and_of_two_what_either_won():
    assert weak_links(vote_rows([], [], [], n_models=1)) == ()
    found = weak_links(vote_rows([0, 0], [1, 1], [A_WINS, B_WINS], count=[5, 3]))
    assert found == (WinCut(group=(0,), n_wins=3.0, side="losses"), WinCut(group=(0,), n_wins=5.0, side="wins"))
