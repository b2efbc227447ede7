"""Few votes whose removal turns an order: against all subsets of tiny tables, on real votes, and how quick it is."""

import csv
import itertools
import time
from pathlib import Path

import numpy as np
import pytest

from evalstats.errors import CannotAnswerError, InputError
from evalstats.stats.arena.bradley_terry import fit_strengths
from evalstats.stats.arena.influence import Flip, _enough, smallest_flip
from evalstats.stats.arena.likelihood import Ties
from evalstats.stats.arena.votes import VoteRows, vote_rows
from tests.stats.arena.voting_by_hand import honest


def _by_trying_all(rows: VoteRows, first: int, second: int, most: int) -> int | None:
    """Return the size of the smallest set of at most `most` votes that turns the order."""
    for size in range(1, most + 1):
        for chosen in itertools.combinations_with_replacement(range(rows.n_rows), size):
            removed = np.bincount(chosen, minlength=rows.n_rows)
            left = rows.count - removed
            if (left < 0).any():
                continue
            try:
                fit = fit_strengths(rows.reweighted(left / rows.count).take(left > 0))
            except CannotAnswerError:
                continue
            if fit.strengths[first] < fit.strengths[second]:
                return size
    return None


def _confirmed(found: Flip, ties: Ties = "half") -> None:
    assert found.removed is not None
    assert found.n_votes == int(found.removed.sum())
    assert (found.removed <= found.rows.count).all()
    left = found.rows.count - found.removed
    fit = fit_strengths(found.rows.reweighted(left / found.rows.count).take(left > 0), ties=ties)
    assert fit.strengths[found.first] < fit.strengths[found.second]


def test_on_tiny_tables_it_is_the_smallest_of_all_sets() -> None:
    compared = 0
    for seed in range(12):
        rows = honest(np.random.default_rng(seed), n_models=3, n_raters=16, each=1, ties=0.5).rows()
        try:
            fit = fit_strengths(rows)
        except CannotAnswerError:
            continue
        found = smallest_flip(fit, rows)
        if found.n_votes is None:
            continue
        _confirmed(found)
        # All sets of one or two votes; larger ones take too long to try.
        least = _by_trying_all(found.rows, found.first, found.second, 2)
        assert (least is None and found.n_votes > 2) or least == found.n_votes
        compared += 1
    assert compared >= 6


@pytest.mark.parametrize("ties", ["half", "davidson", "rao-kupper"])
def test_every_treatment_of_ties_is_confirmed_by_a_refit(ties: Ties) -> None:
    rows = honest(np.random.default_rng(3), n_models=6, ties=1.0).rows()
    found = smallest_flip(fit_strengths(rows, ties=ties), rows)
    assert found.confirmed
    _confirmed(found, ties)


def test_one_vote_fewer_in_the_same_order_does_not_turn_it() -> None:
    rows = vote_rows([0, 0], [1, 1], [0, 1], count=[100, 80])
    assert smallest_flip(fit_strengths(rows), rows).n_votes == 21


def test_shuffled_split_and_turned_rows_give_the_same() -> None:
    rng = np.random.default_rng(9)
    votes = honest(rng, n_models=5, n_raters=60, each=10)
    rows = votes.rows()
    order = rng.permutation(votes.rater.size)
    turned = vote_rows(votes.second[order], votes.first[order], np.array([1, 0, 2])[votes.outcome[order]], n_models=5)
    one, other = smallest_flip(fit_strengths(rows), rows), smallest_flip(fit_strengths(turned), turned)
    assert (one.first, one.second, one.n_votes) == (other.first, other.second, other.n_votes)


def test_any_pair_may_be_asked_for_in_either_order() -> None:
    rows = honest(np.random.default_rng(4), n_models=6).rows()
    fit = fit_strengths(rows)
    one, other = smallest_flip(fit, rows, pair=(2, 4)), smallest_flip(fit, rows, pair=(4, 2))
    assert one.n_votes == other.n_votes
    assert one.gap == pytest.approx(other.gap)
    assert one.gap > 0.0
    with pytest.raises(InputError, match="one or have equal"):
        smallest_flip(fit, rows, pair=(2, 2))


def test_where_no_set_leaves_models_connected_it_says_so() -> None:
    rows = vote_rows([0, 0], [1, 1], [0, 1], count=[2, 1])
    found = smallest_flip(fit_strengths(rows), rows)
    assert found.n_votes is None
    assert not found.confirmed
    assert "connected" in (found.reason or "")


def test_gpt_4_before_platypus_2_hangs_on_some_votes_of_8931(shared_data: Path) -> None:
    with (shared_data / "llmfao" / "crowd-comparisons.csv").open() as file:
        votes = list(csv.DictReader(file))
    names = sorted({vote["left"] for vote in votes} | {vote["right"] for vote in votes})
    outcome = [{"left": 0, "right": 1, "tie": 2}[vote["winner"]] for vote in votes]
    rows = vote_rows(
        [names.index(vote["left"]) for vote in votes], [names.index(vote["right"]) for vote in votes], outcome
    )
    found = smallest_flip(fit_strengths(rows), rows)
    assert names[found.first] == "GPT 4"
    assert names[found.second] == "Platypus-2 Instruct (70B)"
    _confirmed(found)
    assert found.n_votes is not None
    # Of 8,931: far below one in a hundred; and no more than influences had said.
    assert found.n_votes <= (found.n_predicted or 0)
    assert found.n_votes / rows.n_votes < 0.005


def test_a_hundred_models_and_a_million_votes_take_a_second() -> None:
    rng = np.random.default_rng(0)
    strengths = np.sort(rng.normal(size=100))
    first, second = np.nonzero(~np.eye(100, dtype=bool))
    p = 1.0 / (1.0 + np.exp(strengths[second] - strengths[first]))
    wins = rng.binomial(101, p)
    rows = vote_rows(
        np.tile(first, 2),
        np.tile(second, 2),
        np.repeat([0, 1], first.size),
        count=np.maximum(np.append(wins, 101 - wins), 1),
    )
    assert rows.n_votes > 990_000
    fit = fit_strengths(rows)
    start = time.process_time()
    found = smallest_flip(fit, rows, pair=(99, 95))
    assert found.confirmed
    # A second is what is promised; the factor is for busy machines.
    assert time.process_time() - start < 3.0


def test_a_vote_that_holds_models_together_is_left_in_place() -> None:
    # Model 2 won and lost once against 0: its loss supports 0 most, but without it 2 would be unbeaten.
    rows = vote_rows([0, 0, 2, 2], [1, 1, 0, 0], [0, 1, 0, 1], count=[30, 26, 1, 1])
    found = smallest_flip(fit_strengths(rows), rows, pair=(0, 1))
    assert found.n_votes == 5
    _confirmed(found)


def test_the_search_goes_on_with_other_votes_where_the_strongest_must_stay() -> None:
    # The one vote of 0 over 2 supports 0 most, as 2 beats 1; without it 2 is unbeaten, so other votes have to go.
    rows = vote_rows([0, 0, 2, 2], [1, 1, 0, 1], [0, 1, 1, 0], count=[30, 26, 1, 3])
    found = smallest_flip(fit_strengths(rows), rows, pair=(0, 1))
    assert found.removed is not None
    assert found.removed[(found.rows.first == 2) & (found.rows.second == 0)].sum() == 0
    _confirmed(found)
    assert found.n_votes == 6
    assert _by_trying_all(found.rows, 0, 1, 5) is None


def test_votes_enough_by_their_influence_are_counted_one_by_one() -> None:
    rng = np.random.default_rng(0)
    for _ in range(40):
        effect = np.sort(rng.uniform(0.1, 1.5, 6))[::-1]
        count, gap = rng.integers(1, 6, 6), float(rng.uniform(0.05, 12.0))
        reached = np.cumsum(np.repeat(effect, count))
        wanted = int((reached < gap).sum()) + 1 if reached[-1] > gap else None
        assert _enough(effect, count, gap) == wanted
    assert _enough(np.zeros(0), np.zeros(0, dtype=int), 1.0) is None
