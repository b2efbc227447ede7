"""Ways of sampling: refits are those of the estimator for results, weights do what they say, draws follow weights."""

import numpy as np
import pytest

from evalstats.errors import CannotAnswerError, InputError
from evalstats.simulate.arena import draw_members
from evalstats.simulate.arena_world import (
    SamplingRule,
    difference_variance,
    draw_pairs,
    near,
    pair_weights,
    place,
    refit,
)
from evalstats.stats.arena.bradley_terry import fit_strengths
from evalstats.stats.arena.votes import TIE, VoteRows, vote_rows


@pytest.fixture(scope="module")
def wins() -> np.ndarray:
    """Three arenas of six models; in the second some pairs never met."""
    rng = np.random.default_rng(3)
    table = rng.poisson(6.0, (3, 6, 6)).astype(float)
    table[1][rng.random((6, 6)) < 0.3] = 0.0
    table[:, np.arange(6), np.arange(6)] = 0.0
    return table


def rows_of(table: np.ndarray) -> VoteRows:
    first, second = np.nonzero(table)
    tied = np.full(first.size, TIE)
    return vote_rows(first, second, tied, n_models=len(table), share=np.ones(first.size), weight=table[first, second])


@pytest.mark.parametrize("prior", [0.0, 0.5, 3.0])
def test_refits_of_many_arenas_are_fits_of_each(wins: np.ndarray, prior: float) -> None:
    together = refit(wins, prior=prior)
    for one, table in zip(together, wins, strict=True):
        fit = fit_strengths(rows_of(table), prior=prior)
        # Both stop where gradients are below 1e-8 of the votes.
        assert one == pytest.approx(fit.strengths, abs=1e-6)
        assert refit(table, prior=prior) == pytest.approx(one, abs=1e-9)


def test_a_start_changes_the_way_and_not_the_end(wins: np.ndarray) -> None:
    assert refit(wins, start=np.full((3, 6), 0.7)) == pytest.approx(refit(wins), abs=1e-7)


def test_variances_of_differences_are_those_of_the_fit(wins: np.ndarray) -> None:
    fit = fit_strengths(rows_of(wins[0]), prior=0.5)
    own = np.diag(fit.bread)
    wanted = own[:, None] + own[None, :] - 2 * fit.bread
    found = difference_variance(wins[0] + wins[0].T, refit(wins[0]))
    # The fit's bread keeps to strengths of sum 0; the location cancels in differences only with no prior, or nearly.
    assert found == pytest.approx(wanted, rel=0.01)
    plain = fit_strengths(rows_of(wins[0]))
    own = np.diag(plain.bread)
    exact = difference_variance(wins[0] + wins[0].T, plain.strengths, prior=0.0)
    assert exact == pytest.approx(own[:, None] + own[None, :] - 2 * plain.bread, abs=1e-9)


def test_without_a_prior_an_unbeaten_model_is_told() -> None:
    with pytest.raises(CannotAnswerError, match="need a prior"):
        refit(np.array([[0.0, 3.0], [0.0, 0.0]]), prior=0.0)
    assert np.isfinite(refit(np.array([[0.0, 3.0], [0.0, 0.0]]))).all()


@pytest.mark.parametrize("sampling", ["random", "active", "variance", "proximity"])
def test_weights_are_symmetric_and_nobody_meets_itself(wins: np.ndarray, sampling: str) -> None:
    weights, strengths = pair_weights(SamplingRule(sampling=sampling), wins)
    assert weights == pytest.approx(np.swapaxes(weights, -1, -2))
    assert (np.diagonal(weights, axis1=1, axis2=2) == 0).all()
    assert strengths == pytest.approx(refit(wins))
    turned = pair_weights(SamplingRule(sampling=sampling), np.swapaxes(wins, -1, -2))[0]
    assert turned == pytest.approx(weights)


def test_proximity_keeps_to_the_threshold_and_prefers_pairs_that_met_seldom(wins: np.ndarray) -> None:
    weights, strengths = pair_weights(SamplingRule(sampling="proximity", threshold=0.3), wins)
    met = wins + np.swapaxes(wins, -1, -2)
    for arena in range(3):
        order = np.argsort(-strengths[arena]).tolist()
        for i in range(6):
            for j in range(6):
                neighbours = abs(order.index(i) - order.index(j)) == 1
                close = abs(strengths[arena, i] - strengths[arena, j]) <= 0.3
                wanted = (1 / (1 + met[arena, i, j])) if i != j and (close or neighbours) else 0.0
                assert weights[arena, i, j] == pytest.approx(wanted)


@pytest.mark.parametrize(("sampling", "information"), [("variance", False), ("active", True)])
def test_active_sampling_draws_from_the_tenth_with_the_largest_gain(sampling: str, information: bool) -> None:
    rng = np.random.default_rng(1)
    table = rng.poisson(5.0, (9, 9)).astype(float)
    table[np.arange(9), np.arange(9)] = 0.0
    weights, strengths = pair_weights(SamplingRule(sampling=sampling), table)
    gain = difference_variance(table + table.T, strengths)
    if information:
        eta = strengths[:, None] - strengths[None, :]
        p = 1 / (1 + np.exp(-eta))
        # One more vote adds p(1 - p) xx' to the information: log det grows by log(1 + p(1 - p) x'Vx).
        gain = np.log(1 + p * (1 - p) * gain)
    pairs = sorted(((gain[i, j], i, j) for i in range(9) for j in range(i)), reverse=True)
    # A tenth of 36 pairs is 4.
    assert {(i, j) for _, i, j in pairs[:4]} == {(i, j) for i in range(9) for j in range(i) if weights[i, j] > 0}


def test_a_share_of_random_pairs_reaches_every_pair(wins: np.ndarray) -> None:
    rule = SamplingRule(sampling="proximity", threshold=0.1, explore=0.2)
    weights = pair_weights(rule, wins)[0]
    plain = pair_weights(SamplingRule(sampling="proximity", threshold=0.1), wins)[0]
    assert weights.sum(axis=(1, 2)) == pytest.approx(1.0)
    assert weights[plain == 0].max() == pytest.approx(0.2 / 30)


def test_neighbours_may_meet_however_far_apart() -> None:
    everyone = ~np.eye(4, dtype=bool)
    strengths = np.array([9.0, 0.0, -9.0, 0.1])
    assert {(0, 3), (3, 1), (1, 2)} == {(i, j) for i, j in zip(*near(strengths, 0.5, everyone).nonzero(), strict=True)
                                        if strengths[i] > strengths[j]}  # fmt: skip
    # Where two may not meet, the next ones take their place.
    everyone[0, 3] = everyone[3, 0] = False
    assert near(strengths, 0.5, everyone)[0].tolist() == [False, True, False, False]


def test_only_pairs_that_may_meet_have_a_weight(wins: np.ndarray) -> None:
    island = np.arange(6) % 2
    allowed = island[:, None] == island[None, :]
    for sampling in ("random", "active", "variance", "proximity"):
        rule = SamplingRule(sampling=sampling, explore=0.1)
        weights = pair_weights(rule, wins, allowed=allowed)[0]
        assert (weights[:, ~allowed] == 0).all()
        assert (weights.sum(axis=-1) > 0).all()


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
    island = np.arange(8) % 2
    allowed = ((island[:, None] == island[None, :]) & ~np.eye(8, dtype=bool)).astype(float)
    weights = allowed * (np.abs(np.arange(8.0)[:, None] - np.arange(8.0)) <= 2)
    weights[0, 2] = weights[2, 0] = 1.0
    members = draw_members(np.random.default_rng(0), weights, 300, 4, allowed)
    assert members.shape == (300, 4)
    for event in members.tolist():
        assert len(set(event)) == 4
        assert len({model % 2 for model in event}) == 1


@pytest.mark.parametrize("n", [1, 2, 7, 24])
def test_without_noise_a_search_finds_every_place(n: int) -> None:
    """All places at once: arena k's new model is beaten by the best k."""
    asked = []

    def ask(anchors: np.ndarray, series: int) -> np.ndarray:
        asked.append(anchors)
        return (anchors >= np.arange(n + 1)).astype(float)

    order = np.tile(np.arange(n), (n + 1, 1))
    assert place(ask, order, 10).tolist() == list(range(n + 1))
    assert len(asked) == int(np.floor(np.log2(n))) + 1
