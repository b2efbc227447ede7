"""What the checks of fit say, and when they warn."""

from dataclasses import replace

import numpy as np
import pytest

from evalstats.analysis.arena.fit_checks import fit_checks
from evalstats.stats.arena.bradley_terry import fit_strengths
from evalstats.stats.arena.votes import merged
from tests.analysis.arena.vote_tables import some_votes, vote_table
from tests.stats.arena.votes_by_hand import llmfao

CHECKS = ["deviance", "calibration", "prediction", "transitivity", "cycles"]


def checked(table, **more):
    return fit_checks(table, fit_strengths(table.rows), seed=0, **more)


def test_votes_of_true_ratings_pass():
    found, lines = checked(some_votes(1))
    assert [line.check for line in lines] == CHECKS
    assert {line.status for line in lines} == {"ok"}
    assert found.deviance.n_resamples == 399
    assert len(found.calibration) == 10
    assert sum(each.n_votes for each in found.calibration) == 1500
    assert found.log_loss < found.log_loss_constant
    assert found.brier < found.brier_constant
    assert found.folds_by == "vote"
    assert found.n_folds == 5


def test_circles_are_warned_of():
    def round_table(a, b):
        return np.where((b - a) % 5 < 3, 0.8, -0.8)

    found, lines = checked(some_votes(2, n=3000, extra=round_table))
    status = {line.check: line.status for line in lines}
    assert status["deviance"] == status["transitivity"] == status["cycles"] == "warning"
    assert found.violations > 0
    assert found.transitivity.observed > found.transitivity.high
    assert found.curl.p_value < 0.01
    said = next(line.finding for line in lines if line.check == "deviance")
    worst = found.worst_pairs[0]
    assert f"farthest off is {worst.first} against {worst.second}" in said
    assert abs(worst.residual) == max(abs(pair.residual) for pair in found.worst_pairs)


def test_models_alike_are_not_predicted():
    table = some_votes(4, strengths=(0.0,) * 5)
    found, lines = checked(table, told_apart=False)
    line = next(line for line in lines if line.check == "prediction")
    assert line.status == "ok"
    assert "not shown to predict new votes; nor are any models told apart" in line.finding
    assert found.log_loss > found.log_loss_constant - 0.01


def test_whole_clusters_are_held_out_and_named():
    table = some_votes(5, clusters={"rater": np.arange(1500) % 40, "prompt": np.arange(1500) % 13})
    found, lines = checked(table)
    assert found.folds_by == "prompt"
    assert "5 folds by prompt" in next(line.finding for line in lines if line.check == "prediction")


def test_two_models_cannot_be_contradicted():
    table = vote_table([0, 0, 1, 1] * 20, [1, 1, 0, 0] * 20, [0, 1, 0, 2] * 20)
    found, lines = checked(table)
    assert found.deviance is None
    assert found.transitivity is None
    assert found.curl is None
    assert {line.check for line in lines if line.status == "not run"} == {
        "deviance",
        "calibration",
        "prediction",
        "transitivity",
        "cycles",
    }
    assert any("2 models met in so few pairs (1)" in line.finding for line in lines)
    assert found.log_loss is not None


def test_merged_votes_are_checked_too():
    table = some_votes(6)
    bare = replace(table, votes=None, rows=merged(table.rows, keep_clusters=False))
    one, two = checked(table)[0], checked(bare)[0]
    assert one.deviance.observed == pytest.approx(two.deviance.observed)
    assert two.log_loss is not None


def test_the_same_seed_gives_the_same_answer():
    assert checked(some_votes(7)) == checked(some_votes(7))


@pytest.mark.parametrize("ties", ["davidson", "rao-kupper"])
def test_ties_with_a_probability_of_their_own(ties):
    table = some_votes(8)
    found, lines = fit_checks(table, fit_strengths(table.rows, ties=ties), seed=0)
    assert len(lines) == 5
    assert found.deviance.p_value > 0.001
    assert found.log_loss < found.log_loss_constant


def test_covariates_are_counted_in():
    rng = np.random.default_rng(9)
    style = rng.normal(size=(2000, 1))

    def liked(_first, _second):
        return 1.2 * style[:, 0]

    with_style = some_votes(9, n=2000, extra=liked, covariates=style)
    without = replace(with_style, rows=some_votes(9, n=2000, extra=liked).rows)
    found, bare = checked(with_style)[0], checked(without)[0]
    assert found.log_loss < bare.log_loss - 0.05
    assert found.deviance.p_value > 0.01


def test_more_pairs_fewer_draws(monkeypatch):
    table = some_votes(10, n=300)
    for most, draws in ((3_000, 300), (1_000, 199)):  # of ten pairs
        monkeypatch.setattr("evalstats.analysis.arena.fit_checks._MOST_DRAWS", most)
        assert checked(table)[0].deviance.n_resamples == draws


def test_llmfao(shared_data):
    rows, names = llmfao(shared_data)
    table = replace(vote_table([0], [1], [0], names=tuple(names)), rows=rows, votes=None)
    found, lines = checked(table)
    assert (found.triples, found.violations) == (6913, 1530)
    said = next(line.finding for line in lines if line.check == "transitivity")
    assert "1,530 of 6,913 triples contradict the order of their majorities (22.1%)" in said
    assert found.transitivity.low < 0.2 < found.transitivity.observed
