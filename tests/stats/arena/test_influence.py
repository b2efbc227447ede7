"""Leaving out one rater: the step against the refit, for all ways to treat ties."""

import numpy as np
import pytest

from evalstats.errors import InputError
from evalstats.stats.arena import influence
from evalstats.stats.arena.bradley_terry import fit_strengths
from evalstats.stats.arena.influence import largest_influences, without_each
from evalstats.stats.arena.likelihood import Ties
from evalstats.stats.arena.votes import VoteRows, vote_rows
from tests.stats.arena.voting_by_hand import honest

CLOSE = 0.1  # relative: one Newton step of a rater with 1% of the votes


def _rows(seed: int = 0, **options: float) -> VoteRows:
    return honest(np.random.default_rng(seed), n_models=6, n_raters=40, each=50, ties=1.0, **options).rows()


@pytest.mark.parametrize("ties", ["half", "davidson", "rao-kupper"])
def test_one_step_is_close_to_the_refit(ties: Ties) -> None:
    rows = _rows()
    fit = fit_strengths(rows, ties=ties)
    steps = without_each(fit, rows, rows.clusters[0])
    moves = steps.block(0, steps.n_clusters)[:, :6]
    for rater in (0, 7, 31):
        again = fit_strengths(rows.take(rows.clusters[0] != rater), ties=ties)
        change = again.strengths - fit.strengths
        assert np.abs(moves[rater] - change).max() <= CLOSE * np.abs(change).max()


def test_a_heavy_rater_takes_its_curvature_along() -> None:
    rows = _rows()
    codes = np.where(rows.clusters[0] < 12, 0, rows.clusters[0])
    fit = fit_strengths(rows)
    steps = without_each(fit, rows, codes)
    change = fit_strengths(rows.take(codes != 0)).strengths - fit.strengths
    plain = -steps.scores(0, 1)[0] @ fit.bread
    heavy = steps.heavy[0][:6]
    assert np.abs(heavy - change).max() < 0.3 * np.abs(plain[:6] - change).max()
    assert sorted(steps.heavy) == [0, *range(12, 40)]  # the others have 2.5% of the votes each
    for low, high in ((0, 40), (0, 1), (12, 13), (13, 20)):
        found = steps.block(low, high)
        for cluster in set(steps.heavy) & set(range(low, high)):
            assert found[cluster - low].tolist() == steps.exact(cluster).tolist()


def test_log_odds_are_those_without_the_votes_own_rater() -> None:
    rows = _rows()
    fit = fit_strengths(rows)
    steps = without_each(fit, rows, rows.clusters[0])
    eta = steps.eta(rows.clusters[0], rows.first, rows.second, rows.covariates)
    row = 17
    again = fit_strengths(rows.take(rows.clusters[0] != rows.clusters[0][row]))
    exact = again.strengths[rows.first[row]] - again.strengths[rows.second[row]]
    before = fit.strengths[rows.first[row]] - fit.strengths[rows.second[row]]
    assert abs(eta[row] - exact) < CLOSE * abs(before - exact) + 1e-9


def test_covariates_move_too() -> None:
    base = _rows()
    rng = np.random.default_rng(0)
    rows = vote_rows(
        base.first,
        base.second,
        base.outcome,
        covariates=np.column_stack([np.ones(base.n_rows), rng.normal(size=base.n_rows)]),
        clusters=base.clusters,
    )
    fit = fit_strengths(rows)
    steps = without_each(fit, rows, rows.clusters[0])
    again = fit_strengths(rows.take(rows.clusters[0] != 3))
    assert steps.block(3, 4)[0, 6:] == pytest.approx(again.coefficients - fit.coefficients, abs=2e-3)


def test_the_rater_who_puts_a_model_first_is_named_and_the_move_is_that_of_the_refit() -> None:
    # Model 0 leads 1 only by the votes of rater 9.
    votes = [(k, 0, 1, k % 2) for k in range(8) for _ in range(5)] + [(9, 0, 1, 0)] * 8
    votes += [(k, m, 2, int(k >= 6)) for k in range(8) for m in (0, 1)]
    rater, first, second, outcome = (np.array(column) for column in zip(*votes, strict=True))
    rows = vote_rows(first, second, outcome, clusters=(rater,))
    # Without rater 9 models 0 and 1 would be level: one more vote for 1.
    rows = vote_rows(
        np.append(rows.first, 1), np.append(rows.second, 0), np.append(rows.outcome, 0),
        count=np.append(rows.count, 1), clusters=(np.append(rows.clusters[0], 0),),
    )  # fmt: skip
    fit = fit_strengths(rows)
    found = largest_influences(without_each(fit, rows, rows.clusters[0]))
    assert found[0].rater == 9
    assert found[0].new_first == 1
    assert found[0].n_votes == 8
    again = fit_strengths(rows.take(rows.clusters[0] != 9))
    assert found[0].strengths == pytest.approx(again.strengths, abs=1e-8)
    assert found[0].move == pytest.approx(again.strengths[found[0].model] - fit.strengths[found[0].model], abs=1e-8)


def test_only_known_raters_are_left_out_and_shapes_are_checked() -> None:
    rows = _rows()
    fit = fit_strengths(rows)
    found = largest_influences(without_each(fit, rows, rows.clusters[0]), n_clusters=5)
    assert found
    assert max(one.rater for one in found) < 5
    with pytest.raises(InputError, match="one per row"):
        without_each(fit, rows, rows.clusters[0][:-1])


def test_curvature_goes_along_with_those_who_hold_more_than_a_fiftieth_of_the_votes() -> None:
    rows = _rows()
    codes = np.where(rows.clusters[0] < 3, 0, np.arange(rows.n_rows) % 60 + 1)
    steps = without_each(fit_strengths(rows), rows, codes)
    weight = np.array([rows.weight[codes == cluster].sum() for cluster in range(codes.max() + 1)])
    assert steps.weight == pytest.approx(weight)
    assert sorted(steps.heavy) == [cluster for cluster, held in enumerate(weight) if held > 0.02 * rows.weight.sum()]
    assert 0 < len(steps.heavy) < steps.n_clusters


def test_the_step_of_a_heavy_cluster_is_newtons_with_what_is_left() -> None:
    """-(H - H_g)^- S_g, with H and H_g from the votes one by one, covariates too."""
    rng = np.random.default_rng(2)
    first = rng.integers(0, 4, 300)
    second = (first + rng.integers(1, 4, 300)) % 4
    z = rng.normal(size=(300, 2)).round(1)
    rows = vote_rows(first, second, rng.integers(0, 2, 300), covariates=z, clusters=(rng.integers(0, 5, 300),))
    fit = fit_strengths(rows)
    steps = without_each(fit, rows, rows.clusters[0])
    design = np.hstack([np.eye(4)[rows.first] - np.eye(4)[rows.second], rows.covariates])
    p = 1.0 / (1.0 + np.exp(-design @ np.append(fit.strengths, fit.coefficients)))
    curve, slope = rows.weight * p * (1.0 - p), rows.weight * (rows.share - p)
    assert sorted(steps.heavy) == [0, 1, 2, 3, 4]
    for cluster in range(5):
        mine, left = rows.clusters[0] == cluster, rows.clusters[0] != cluster
        score = design[mine].T @ slope[mine]
        assert steps.scores(cluster, cluster + 1)[0] == pytest.approx(score)
        wanted = -np.linalg.pinv((design[left].T * curve[left]) @ design[left]) @ score
        assert steps.exact(cluster) == pytest.approx(wanted, abs=1e-7)
    assert steps.scores(0, 5).sum(axis=0) == pytest.approx(np.zeros(6), abs=1e-6)
    light = without_each(fit, rows, np.arange(rows.n_rows))
    assert light.heavy == {}
    every = -np.linalg.pinv((design.T * curve) @ design)
    wanted = slope[:, None] * design @ every
    assert light.block(0, rows.n_rows) == pytest.approx(wanted, abs=1e-7)
    eta = design @ np.append(fit.strengths, fit.coefficients) + (design * wanted).sum(axis=1)
    assert light.eta(np.arange(rows.n_rows), rows.first, rows.second, rows.covariates) == pytest.approx(eta)


def test_blocks_of_clusters_change_nothing(monkeypatch) -> None:
    rows = _rows(3)
    fit = fit_strengths(rows, ties="davidson")
    whole = without_each(fit, rows, rows.clusters[0])
    eta, found = whole.eta(rows.clusters[0], rows.first, rows.second, rows.covariates), largest_influences(whole)
    assert whole.blocks() == [(0, 40)]
    monkeypatch.setattr(influence, "_BLOCK", 3 * fit.n_parameters)
    assert whole.blocks() == [(low, min(low + 3, 40)) for low in range(0, 40, 3)]
    assert whole.eta(rows.clusters[0], rows.first, rows.second, rows.covariates) == pytest.approx(eta)
    again = largest_influences(whole)
    assert [one.rater for one in again] == [one.rater for one in found]


def test_refitted_are_the_six_largest_moves_and_the_six_that_bring_the_second_nearest() -> None:
    rows = _rows(4)
    fit = fit_strengths(rows)
    steps = without_each(fit, rows, rows.clusters[0])
    moves = steps.block(0, 40)[:, :6]
    new, top = fit.strengths + moves, int(np.argmax(fit.strengths))
    lead = [each[top] - max(np.delete(each, top)) for each in new]
    largest = np.argsort(-np.abs(moves).max(axis=1))[:6]
    wanted = set(largest.tolist()) | set(np.argsort(lead)[:6].tolist())
    found = largest_influences(steps)
    assert {one.rater for one in found} == wanted
    first_changed = [one.new_first is None for one in found]
    assert first_changed == sorted(first_changed)
    for group in (True, False):
        size = [abs(one.move) for one in found if (one.new_first is None) is group]
        assert size == sorted(size, reverse=True)
    for one in found:
        again = fit_strengths(rows.take(rows.clusters[0] != one.rater))
        change = again.strengths - fit.strengths
        assert abs(one.move) == pytest.approx(np.abs(change).max(), abs=1e-7)
        assert change[one.model] == pytest.approx(one.move, abs=1e-7)
        assert one.new_first == (None if np.argmax(again.strengths) == top else np.argmax(again.strengths))
        assert one.n_votes == 50


def test_the_unit_of_weights_does_not_matter() -> None:
    rows = _rows(5)
    light = rows.reweighted(np.full(rows.n_rows, 1e-3))
    found, again = (
        largest_influences(without_each(fit_strengths(each), each, each.clusters[0])) for each in (rows, light)
    )
    assert [one.rater for one in again] == [one.rater for one in found]
    assert [one.move for one in again] == pytest.approx([one.move for one in found], abs=1e-7)


def test_raters_without_votes_and_those_who_hold_models_together_are_left_out() -> None:
    rater = np.array([0, 0, 2, 2, 2, 4, 4])
    first, second = np.array([0, 0, 0, 0, 0, 1, 1]), np.array([1, 1, 1, 1, 1, 2, 2])
    rows = vote_rows(first, second, np.array([0, 1, 0, 1, 0, 0, 1]), clusters=(rater,))
    codes = rows.clusters[0]
    found = largest_influences(without_each(fit_strengths(rows), rows, codes))
    assert sorted(one.rater for one in found) == [0, 2]
