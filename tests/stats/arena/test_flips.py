"""Few votes whose removal turns an order: against all subsets of tiny tables, on real votes, and how quick it is."""

import csv
import itertools
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from evalstats.errors import CannotAnswerError, InputError
from evalstats.stats.arena.bradley_terry import fit_strengths
from evalstats.stats.arena.influence import OrderFlip, _enough, _Search, smallest_flip
from evalstats.stats.arena.likelihood import Ties
from evalstats.stats.arena.votes import VoteRows, merged, vote_rows
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


def _confirmed(found: OrderFlip, ties: Ties = "half") -> None:
    assert found.removed is not None
    assert found.n_votes == int(found.removed.sum())
    assert (found.removed <= found.rows.count).all()
    left = found.rows.count - found.removed
    fit = fit_strengths(found.rows.reweighted(left / found.rows.count).take(left > 0), ties=ties)
    assert fit.strengths[found.first] < fit.strengths[found.second]


def test_on_tiny_tables_it_is_the_smallest_of_all_sets() -> None:
    compared = 0
    for seed in range(8):
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
    assert compared >= 4


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


def test_a_flip_among_a_hundred_models_and_a_million_votes_is_confirmed() -> None:
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
    found = smallest_flip(fit, rows, pair=(99, 95))
    assert found.confirmed


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


class _Curve(_Search):
    """A search whose gap after so many votes is a known falling function, and that may break apart at some size."""

    def __init__(self, gap, n: int, apart: int | None = None) -> None:
        rows = vote_rows([0, 0], [1, 1], [0, 1], count=[n, 1])
        super().__init__(fit=fit_strengths(rows), votes=rows, first=0, second=1, limit=np.array([n, 0]))
        self.gap, self.apart = gap, apart

    @property
    def _gap(self) -> float:
        return self.gap(0)

    def _without(self, removed):
        self.n_refits += 1
        size = int(removed.sum())
        if self.apart is not None and size >= self.apart:
            return None
        return removed, self.gap(size), self.fit


@pytest.mark.parametrize(("start", "wanted"), [(1, 1), (900, 2), (7, 97), (390, 400), (1, 900), (900, 900)])
@pytest.mark.parametrize("bend", [0.5, 1.0, 2.0])
def test_the_fewest_votes_are_found_in_few_refits_whatever_the_shape_of_the_gap(start, wanted, bend) -> None:
    """Not one vote more nor less than turns the order, in about as many refits as halving would need, fewer on a line."""
    line = wanted - 0.5

    def gap(size: int) -> float:
        return 1.0 - (size / line) ** bend

    search = _Curve(gap, 900)
    found = search._halve(np.array([0]), 900, start)
    assert found is not None
    assert (int(found[0].sum()), found[1]) == (wanted, pytest.approx(gap(wanted)))
    assert search.n_refits <= (16 if bend == 1.0 else 22)
    assert search.blocked == 0
    too_few = _Curve(gap, 900)
    assert too_few._halve(np.array([0]), wanted - 1, min(start, wanted - 1)) is None


def test_a_gap_that_is_gone_but_not_turned_is_no_flip() -> None:
    level = _Curve(lambda size: 1.0 if size < 5 else -5e-8 if size < 9 else -1.0, 40)
    found = level._halve(np.array([0]), 40, 20)
    assert found is not None
    assert int(found[0].sum()) == 9


def test_where_models_fall_apart_before_the_order_turns_the_size_is_kept() -> None:
    search = _Curve(lambda size: 1.0 - size / 30.5, 100, apart=20)
    assert search._halve(np.array([0]), 100, 31) is None
    assert search.blocked == 20
    assert search._spare(np.array([0]))
    assert search.limit.tolist() == [19, 0]
    search.n_refits = 60
    assert not search._spare(np.array([0]))
    never = _Curve(lambda size: 1.0 - size / 30.5, 100)
    never._halve(np.array([0]), 100, 31)
    assert not never._spare(np.array([0]))


@pytest.mark.parametrize("ties", ["half", "davidson", "rao-kupper"])
def test_votes_go_by_how_much_each_holds_the_first_model_up(ties: Ties) -> None:
    """A vote's effect is that on the gap by the fit's own derivative: weights a little smaller, and a fit anew."""
    rng = np.random.default_rng(6)
    first = rng.integers(0, 4, 400)
    second = (first + rng.integers(1, 4, 400)) % 4
    # Models unlike in strength: only then does the tie parameter go with strengths.
    won = rng.random(400) < 1.0 / (1.0 + np.exp(0.9 * (second - first)))
    outcome = np.where(rng.random(400) < 0.3, 2, np.where(won, 0, 1))
    rows = merged(
        vote_rows(first, second, outcome, covariates=rng.integers(-1, 2, (400, 1)).astype(float)), keep_clusters=False
    )
    fit = fit_strengths(rows, ties=ties)
    search = _Search(fit=fit, votes=rows, first=1, second=3, limit=rows.count.copy())
    search.limit[5] = 0
    order, effect = search._order(fit)
    part = 1e-4
    by_refit = []
    for row in range(rows.n_rows):
        share = np.ones(rows.n_rows)
        share[row] -= part / rows.count[row]
        again = fit_strengths(rows.reweighted(share), ties=ties, start=fit)
        change = (fit.strengths[1] - fit.strengths[3]) - (again.strengths[1] - again.strengths[3])
        by_refit.append(change / part)
    wanted = np.array(by_refit)
    assert effect == pytest.approx(wanted[order], abs=2e-4)
    assert (np.diff(effect) <= 0.0).all()
    assert set(order.tolist()) == {row for row in np.flatnonzero(wanted > 1e-9).tolist() if row != 5}


def test_equal_strengths_and_one_model_alone_have_no_order_to_turn() -> None:
    rows = vote_rows([0, 0, 1, 1], [1, 1, 2, 2], [0, 1, 0, 1], count=[5, 5, 6, 3])
    fit = fit_strengths(rows)
    level = replace(fit, strengths=np.array([0.2, 0.2, -0.4]))
    for at, pair in ((fit, (1, 1)), (level, (0, 1)), (level, None)):
        with pytest.raises(InputError, match="no order can be turned"):
            smallest_flip(at, rows, pair=pair)


@pytest.mark.parametrize(("after", "confirmed"), [(None, False), (0.0, False), (1e-3, False), (-1e-3, True)])
def test_an_order_is_turned_where_the_gap_is_below_zero(after: float | None, confirmed: bool) -> None:
    rows = vote_rows([0, 0], [1, 1], [0, 1])
    assert OrderFlip(first=0, second=1, gap=1.0, rows=rows, gap_after=after).confirmed is confirmed


def test_all_votes_for_a_model_may_have_to_go() -> None:
    """Three wins against one loss, held by a prior: with one win left the two are level, with none the order turns."""
    rows = vote_rows([0, 0], [1, 1], [0, 1], count=[3, 1])
    found = smallest_flip(fit_strengths(rows, prior=0.5), rows)
    assert (found.n_votes, found.confirmed) == (3, True)


def test_votes_of_different_raters_are_exchangeable() -> None:
    rows = vote_rows([0] * 6, [1] * 6, [0, 0, 0, 0, 1, 1], clusters=(np.arange(6),))
    found = smallest_flip(fit_strengths(rows), rows)
    assert (found.rows.n_rows, found.rows.clusters) == (2, ())
    assert found.removed is not None
    assert sorted(found.removed.tolist()) == [0, 3]
