"""Tables of wins: refits are those of the estimator for results, draws of pairs follow their weights."""

import numpy as np
import pytest

from evalstats.errors import CannotAnswerError, InputError
from evalstats.simulate.arena import draw_members, may_meet
from evalstats.simulate.arena_world import draw_pairs, refit
from evalstats.stats.arena.bradley_terry import fit_strengths
from evalstats.stats.arena.votes import TIE, VoteRows, vote_rows


def three_arenas() -> np.ndarray:
    """Three arenas of six models; in the second some pairs never met."""
    rng = np.random.default_rng(3)
    table = rng.poisson(6.0, (3, 6, 6)).astype(float)
    table[1][rng.random((6, 6)) < 0.3] = 0.0
    table[:, np.arange(6), np.arange(6)] = 0.0
    return table


WINS = three_arenas()


def rows_of(table: np.ndarray) -> VoteRows:
    first, second = np.nonzero(table)
    tied = np.full(first.size, TIE)
    return vote_rows(first, second, tied, n_models=len(table), share=np.ones(first.size), weight=table[first, second])


@pytest.mark.parametrize("prior", [0.0, 0.5, 3.0])
def test_refits_of_many_arenas_are_fits_of_each(prior: float) -> None:
    together = refit(WINS, prior=prior)
    for one, table in zip(together, WINS, strict=True):
        fit = fit_strengths(rows_of(table), prior=prior)
        # Both stop where gradients are below 1e-8 of the votes.
        assert one == pytest.approx(fit.strengths, abs=1e-6)
        assert refit(table, prior=prior) == pytest.approx(one, abs=1e-9)


def test_a_start_changes_the_way_and_not_the_end() -> None:
    assert refit(WINS, start=np.full((3, 6), 0.7)) == pytest.approx(refit(WINS), abs=1e-7)


def test_without_a_prior_an_unbeaten_model_is_told() -> None:
    with pytest.raises(CannotAnswerError, match="need a prior"):
        refit(np.array([[0.0, 3.0], [0.0, 0.0]]), prior=0.0)
    assert np.isfinite(refit(np.array([[0.0, 3.0], [0.0, 0.0]]))).all()


def test_pairs_are_drawn_by_weight_with_a_coin_for_the_sides() -> None:
    weights = np.array([[[0, 1, 3], [1, 0, 0], [3, 0, 0]], [[0, 0, 0], [0, 0, 2], [0, 2, 0]]], dtype=float)
    drawn = draw_pairs(np.random.default_rng(0), weights, 8000)
    assert drawn.shape == (2, 8000, 2)
    share = {pair: (drawn[0] == pair).all(axis=-1).mean() for pair in ((0, 1), (1, 0), (0, 2), (2, 0))}
    for pair, wanted in zip(share, (0.125, 0.125, 0.375, 0.375), strict=True):
        # Four standard errors of 8,000 draws.
        assert share[pair] == pytest.approx(wanted, abs=4 * (wanted * (1 - wanted) / 8000) ** 0.5)
    assert set(map(tuple, drawn[1].tolist())) == {(1, 2), (2, 1)}


def test_nobody_to_meet_is_told() -> None:
    with pytest.raises(InputError, match="nobody can meet"):
        draw_pairs(np.random.default_rng(0), np.zeros((3, 3)), 5)


def test_events_of_several_models_hold_different_ones_that_may_meet() -> None:
    members = draw_members(np.random.default_rng(0), may_meet(8, 2), 300, 4)
    assert members.shape == (300, 4)
    for event in members.tolist():
        assert len(set(event)) == 4
        assert len({model % 2 for model in event}) == 1
