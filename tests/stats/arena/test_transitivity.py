"""Contradicted triples against a count by loops, the published arena, and their law by simulation."""

import json
from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from scipy import stats

from evalstats.errors import CannotAnswerError
from evalstats.stats.arena import parametric_bootstrap
from evalstats.stats.arena.bradley_terry import fit_strengths
from evalstats.stats.arena.goodness_of_fit import transitivity
from evalstats.stats.arena.parametric_bootstrap import simulated
from evalstats.stats.arena.votes import merged, vote_rows
from tests.stats.arena.check_votes import drawn_votes, null_p_values, share_small, single_votes
from tests.stats.arena.votes_by_hand import llmfao


def counted_by_loops(rows):
    n = rows.n_models
    wins, met = np.zeros((n, n)), np.zeros((n, n), dtype=bool)
    for a, b, o in single_votes(rows):
        met[a, b] = met[b, a] = True
        if o == 0:
            wins[a, b] += 1
        if o == 1:
            wins[b, a] += 1
    ahead = wins > wins.T
    triples = violations = 0
    for i, j, k in permutations(range(n), 3):
        if ahead[i, j] and ahead[j, k] and met[i, k]:
            triples += 1
            violations += bool(ahead[k, i])
    return triples, violations


@pytest.mark.parametrize("seed", range(4))
def test_equals_a_count_by_loops(seed):
    rng = np.random.default_rng(seed)
    rows = drawn_votes(rng, rng.normal(0, 0.3, 9), 300, met=0.7)
    found = transitivity(simulated(fit_strengths(rows), rows, n_resamples=20))
    assert (found.triples, found.violations) == counted_by_loops(rows)
    assert found.share.observed == found.violations / found.triples


def test_llmfao_equals_the_reference(shared_data, golden, monkeypatch):
    """6,913 triples and 1,530 violations, and the expectation under Davidson strengths as fitted, not drawn together."""
    known = json.loads((golden / "bt_llmfao.json").read_text())["weak_transitivity"]
    rows = merged(llmfao(shared_data)[0], keep_clusters=False)
    monkeypatch.setattr(parametric_bootstrap, "_together", lambda _: 1.0)
    votes = simulated(fit_strengths(rows, ties="davidson"), rows, n_resamples=400)
    found = transitivity(votes)
    assert (found.triples, found.violations) == (known["triples"], known["violations"])
    assert found.share.observed == pytest.approx(known["rate"], abs=1e-12)
    # A drawn rate has a standard deviation of .0175; ours are 400 draws, theirs a few hundred: 3 standard errors of the
    # difference are .005, and .010 for an end of the interval.
    assert found.share.expected == pytest.approx(known["expected_under_fitted_davidson"], abs=0.005)
    np.testing.assert_allclose([found.share.low, found.share.high], known["ci95"], atol=0.010)
    assert found.share.p_value < 0.01


def test_draws_with_the_noise_taken_out_contradict_themselves_more(shared_data, monkeypatch):
    rows = merged(llmfao(shared_data)[0], keep_clusters=False)
    fit = fit_strengths(rows)
    together = transitivity(simulated(fit, rows)).share
    monkeypatch.setattr(parametric_bootstrap, "_together", lambda _: 1.0)
    plain = transitivity(simulated(fit, rows)).share
    assert plain.expected < together.expected < plain.observed


def test_thirteen_prompts_explain_circles_that_single_votes_do_not(shared_data):
    """LLMFAO: 22% of triples; 15% are expected of independent votes, and 21% to 23% where prompts suit models of their own."""
    rows, _ = llmfao(shared_data)
    votes = simulated(fit_strengths(rows), rows)
    assert len(votes.tastes.sd) == 2
    assert transitivity(votes).share.p_value > 0.05


def test_names_and_sides_change_nothing():
    rng = np.random.default_rng(5)
    rows = drawn_votes(rng, rng.normal(0, 0.3, 7), 200)
    name = rng.permutation(7)
    other = vote_rows(name[rows.second], name[rows.first], np.array([1, 0, 2, 3])[rows.outcome], count=rows.count)
    one, two = (transitivity(simulated(fit_strengths(each), each, n_resamples=5)) for each in (rows, other))
    assert (one.triples, one.violations) == (two.triples, two.violations)


def test_a_circle_is_three_violations():
    rows = vote_rows([0, 0, 1, 1, 0, 0], [1, 1, 2, 2, 2, 2], [0, 1, 0, 1, 1, 0], count=[16, 4, 17, 3, 14, 6])
    found = transitivity(simulated(fit_strengths(rows), rows))
    assert (found.triples, found.violations) == (3, 3)
    # One circle of three models is not rare among equals: a quarter of all outcomes.
    assert found.share.expected > 0.1


def test_no_majorities_no_answer():
    rows = vote_rows([0, 0, 1, 1], [1, 1, 2, 2], [0, 1, 0, 1], count=[2, 2, 2, 2])
    with pytest.raises(CannotAnswerError, match="no three models"):
        transitivity(simulated(fit_strengths(rows), rows, n_resamples=20))


def share_p(votes):
    return transitivity(votes).share.p_value


@pytest.mark.slow
def test_p_is_not_small_too_often_with_few_votes_a_pair():
    """Five votes a pair, where draws with strengths as fitted raise 11% false alarms at 5%."""
    p = null_p_values(share_p, 500, n=600, n_models=20, met=0.6)
    for level in (0.05, 0.1, 0.2):
        found, most = share_small(p, level)
        assert found <= most
    assert stats.kstest(p, "uniform", alternative="greater").pvalue > 1e-3


@pytest.mark.slow
def test_power_to_find_circles():
    """Planted circles of 0.5 log-units among 12 models, 200 votes a pair: found in nearly all tables."""

    def round_table(a, b):
        return 0.5 * np.where((b - a) % 12 < 6, 1.0, -1.0) * ((b - a) % 12 != 6)

    p = []
    for seed in range(30):
        rng = np.random.default_rng(seed)
        rows = drawn_votes(rng, rng.normal(0, 0.3, 12), 13_200, extra=round_table)
        p.append(transitivity(simulated(fit_strengths(rows), rows, n_resamples=99)).share.p_value)
    assert np.mean(np.array(p) <= 0.05) >= 0.9


@pytest.mark.parametrize(("with_majorities", "told"), [(1, False), (2, True), (3, True)])
def test_half_of_the_draws_must_have_majorities(with_majorities, told):
    rows = vote_rows([0, 0, 1, 1, 0, 0], [1, 1, 2, 2, 2, 2], [0, 1] * 3, count=[4, 2] * 3)
    votes = simulated(fit_strengths(rows), rows, n_resamples=4)
    won = np.full((4, 3), 3.0)
    won[:with_majorities] = 4.0
    votes = replace(votes, drawn=replace(votes.drawn, won=won, lost=6.0 - won, tied=0.0 * won))
    if told:
        # 0 leads 1, 1 leads 2 and 0 leads 2: one triple, in order.
        found = transitivity(votes)
        assert (found.triples, found.violations, found.share.n_resamples) == (1, 0, with_majorities)
        return
    with pytest.raises(CannotAnswerError, match="most tables drawn"):
        transitivity(votes)
