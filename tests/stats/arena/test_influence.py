"""Leaving out one rater: the step against the refit, for all ways to treat ties."""

import numpy as np
import pytest

from evalstats.errors import InputError
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
