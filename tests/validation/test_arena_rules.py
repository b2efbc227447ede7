"""Rules of which models meet next: weights do what they say, variances are those of the estimator for results."""

import numpy as np
import pytest

from dev.validation.arena_rules import SamplingRule, difference_variance, near, pair_weights, place
from evalstats.simulate.arena_world import refit
from evalstats.stats.arena.bradley_terry import fit_strengths
from tests.simulate.test_arena_world import WINS, rows_of


def test_variances_of_differences_are_those_of_the_fit() -> None:
    fit = fit_strengths(rows_of(WINS[0]), prior=0.5)
    own = np.diag(fit.bread)
    wanted = own[:, None] + own[None, :] - 2 * fit.bread
    found = difference_variance(WINS[0] + WINS[0].T, refit(WINS[0]))
    # The fit's bread keeps to strengths of sum 0; the location cancels in differences only with no prior, or nearly.
    assert found == pytest.approx(wanted, rel=0.01)
    plain = fit_strengths(rows_of(WINS[0]))
    own = np.diag(plain.bread)
    exact = difference_variance(WINS[0] + WINS[0].T, plain.strengths, prior=0.0)
    assert exact == pytest.approx(own[:, None] + own[None, :] - 2 * plain.bread, abs=1e-9)


@pytest.mark.parametrize("sampling", ["random", "active", "variance", "proximity"])
def test_weights_are_symmetric_and_nobody_meets_itself(sampling: str) -> None:
    weights, strengths = pair_weights(SamplingRule(sampling=sampling), WINS)
    assert weights == pytest.approx(np.swapaxes(weights, -1, -2))
    assert (np.diagonal(weights, axis1=1, axis2=2) == 0).all()
    assert strengths == pytest.approx(refit(WINS))
    turned = pair_weights(SamplingRule(sampling=sampling), np.swapaxes(WINS, -1, -2))[0]
    assert turned == pytest.approx(weights)


def test_proximity_keeps_to_the_threshold_and_prefers_pairs_that_met_seldom() -> None:
    weights, strengths = pair_weights(SamplingRule(sampling="proximity", threshold=0.3), WINS)
    met = WINS + np.swapaxes(WINS, -1, -2)
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


def test_a_share_of_random_pairs_reaches_every_pair() -> None:
    rule = SamplingRule(sampling="proximity", threshold=0.1, explore=0.2)
    weights = pair_weights(rule, WINS)[0]
    plain = pair_weights(SamplingRule(sampling="proximity", threshold=0.1), WINS)[0]
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
