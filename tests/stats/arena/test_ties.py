"""Davidson's and Rao and Kupper's ties against reference values, a search on the plain likelihood, and differences."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from evalstats.errors import CannotAnswerError, InputError
from evalstats.stats.arena.bradley_terry import fit_strengths, row_scores
from evalstats.stats.arena.likelihood import derivatives
from evalstats.stats.arena.votes import A_WINS, B_WINS, BOTH_BAD, TIE, vote_rows
from tests.stats.arena.votes_by_hand import best_by_search, llmfao, log_likelihood, probabilities, some_votes

MODELS = ("davidson", "rao-kupper")
WITH_HALF = ("half", *MODELS)
SEARCH = 2e-6  # where a search without derivatives ends
STOPPED_EARLY = 5e-7  # the reference search's own distance from the optimum, in log-units
OPTIMUM = 1e-8


@pytest.mark.parametrize(
    ("ties", "key", "tie"), [("davidson", "davidson", "nu"), ("rao-kupper", "rao_kupper", "theta")]
)
def test_llmfao(shared_data, golden, ties, key, tie):
    known = json.loads((golden / "bt_llmfao.json").read_text())[key]
    rows, names = llmfao(shared_data)
    fit = fit_strengths(rows, ties=ties)
    assert fit.log_lik == pytest.approx(known["loglik"], abs=1e-9)
    assert fit.log_lik >= known["loglik"] - 1e-10
    assert fit.tie == pytest.approx(known[tie], abs=1e-7)
    np.testing.assert_allclose(fit.strengths, [known["log_worth"][name] for name in names], atol=STOPPED_EARLY)


@pytest.fixture(scope="module")
def pudding(golden):
    """Six brands of chocolate pudding (Davidson 1970)."""
    known = json.loads((golden / "r_misc.json").read_text())["pudding"]
    votes = [
        (cell["i"] - 1, cell["j"] - 1, outcome, cell[key])
        for cell in known["data"]
        for outcome, key in ((A_WINS, "w_ij"), (B_WINS, "w_ji"), (TIE, "t_ij"))
    ]
    first, second, outcome, count = zip(*votes, strict=True)
    return known, vote_rows(first, second, outcome, count=count)


@pytest.mark.parametrize("ties", MODELS)
def test_pudding(pudding, ties):
    known, rows = pudding[0][ties.replace("-", "")], pudding[1]
    fit = fit_strengths(rows, ties=ties)
    contrast = np.hstack([-np.ones((5, 1)), np.eye(5), np.zeros((5, 1))])
    contrast = np.vstack([contrast, np.eye(7)[6]])
    assert fit.log_lik == pytest.approx(known["loglik"], abs=1e-9)
    assert fit.tie == pytest.approx(known["tie_param"], abs=1e-6)
    np.testing.assert_allclose(fit.strengths - fit.strengths[0], known["log_worth_ref1"], atol=1e-6)
    if ties == "rao-kupper":
        # The reference's parameter is log(theta - 1).
        contrast[-1] *= fit.tie / (fit.tie - 1.0)
    # The reference took its second derivatives by differences.
    np.testing.assert_allclose(np.sqrt(np.diag(contrast @ fit.bread @ contrast.T)), known["se_log"], rtol=1e-4)


def test_pudding_with_ties_as_half_a_win(pudding):
    known, rows = pudding[0]["bt_tie_half"], pudding[1]
    fit = fit_strengths(rows)
    contrast = np.hstack([-np.ones((5, 1)), np.eye(5)])
    np.testing.assert_allclose(fit.strengths - fit.strengths[0], known["log_worth_ref1"], atol=1e-7)
    np.testing.assert_allclose(np.sqrt(np.diag(contrast @ fit.bread @ contrast.T)), known["naive_se"], rtol=1e-4)


@pytest.mark.parametrize("ties", MODELS)
@pytest.mark.parametrize(("seed", "prior"), [(1, 0.0), (2, 0.0), (1, 0.5)])
def test_equals_a_search_on_the_plain_likelihood(ties, seed, prior):
    rows = some_votes(seed, n_models=3, n_votes=80, n_covariates=seed - 1)
    fit = fit_strengths(rows, ties=ties, prior=prior)
    strengths, coefficients, tie = best_by_search(ties, rows, prior)
    np.testing.assert_allclose(fit.strengths, strengths, atol=SEARCH)
    np.testing.assert_allclose(fit.coefficients, coefficients, atol=SEARCH)
    assert fit.tie == pytest.approx(tie, abs=10 * SEARCH)
    assert fit.log_lik == pytest.approx(log_likelihood(ties, rows, fit.strengths, fit.coefficients, fit.tie), rel=1e-12)


@pytest.mark.parametrize("ties", WITH_HALF)
@given(eta=st.floats(-8, 8), tau=st.floats(0.05, 4), seed=st.integers(0, 100))
def test_derivatives_are_differences(ties, eta, tau, seed):
    votes = tuple(np.random.default_rng(seed).random((3, 1)))
    votes = votes if ties != "half" else (*votes[:2], np.zeros(1))
    at, step = derivatives(ties, np.array([eta]), tau, votes), 1e-5

    def differences(field):
        by_eta = [getattr(derivatives(ties, np.array([eta + s]), tau, votes), field)[0] for s in (step, -step)]
        by_tau = [getattr(derivatives(ties, np.array([eta]), tau + s, votes), field)[0] for s in (step, -step)]
        return (by_eta[0] - by_eta[1]) / (2 * step), (by_tau[0] - by_tau[1]) / (2 * step)

    # The error of a central difference: third derivative times step^2 / 6, largest where theta comes close to 1.
    near = pytest.approx
    assert differences("log_lik") == near((at.slope[0], at.tie_slope[0]), rel=1e-6, abs=1e-6)
    assert differences("slope") == near((-at.curve[0], -at.cross[0]), rel=1e-6, abs=1e-6)
    assert differences("tie_slope") == near((-at.cross[0], -at.tie_curve[0]), rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("ties", MODELS)
@given(eta=st.floats(-8, 8), tau=st.floats(0.01, 4))
def test_log_likelihoods_are_logarithms_of_the_probabilities(ties, eta, tau):
    chances = probabilities(ties, eta, np.exp(tau))
    assert sum(chances) == pytest.approx(1.0)
    for votes, chance in zip(np.eye(3), chances, strict=True):
        at = derivatives(ties, np.array([eta]), tau, tuple(votes[:, None]))
        assert at.log_lik[0] == pytest.approx(np.log(chance), rel=1e-8, abs=1e-8)


@pytest.mark.parametrize("ties", MODELS)
def test_scores_sum_to_nothing_and_are_derivatives_by_the_tie_parameter(ties):
    rows = some_votes(7, n_covariates=1)
    fit = fit_strengths(rows, ties=ties)
    found = row_scores(fit, rows)
    by_model = np.bincount(rows.first, found.slope * rows.weight) - np.bincount(rows.second, found.slope * rows.weight)
    for total in (by_model, rows.covariates.T @ (found.slope * rows.weight), found.tie_slope @ rows.weight):
        np.testing.assert_allclose(total, 0.0, atol=1e-8)
    for row in range(0, rows.n_rows, 5):
        one = replace(rows.take([row]), weight=np.ones(1))
        up, down = (
            log_likelihood(ties, one, fit.strengths, fit.coefficients, fit.tie * np.exp(step)) for step in (1e-5, -1e-5)
        )
        assert found.tie_slope[row] == pytest.approx((up - down) / 2e-5, abs=1e-7)


@pytest.mark.parametrize("ties", MODELS)
def test_the_bread_inverts_the_second_derivative(ties):
    rows = some_votes(3, n_models=3, n_covariates=1)
    fit = fit_strengths(rows, ties=ties)
    at = np.concatenate([fit.strengths, fit.coefficients, [np.log(fit.tie)]])

    def value(x):
        return log_likelihood(ties, rows, x[:3], x[3:4], np.exp(x[4]))

    step, unit = 1e-3, np.eye(5)
    second = np.array(
        [
            [
                (
                    value(at + step * (a + b)) - value(at + step * (a - b))
                    - value(at + step * (b - a)) + value(at - step * (a + b))
                ) / (4 * step**2)
                for a in unit
            ]
            for b in unit
        ]
    )  # fmt: skip
    # Differences of step 1e-3 have a relative error of its square, about.
    np.testing.assert_allclose(fit.bread, np.linalg.pinv(-second, rcond=1e-6), rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(fit.bread[:3].sum(axis=0), 0.0, atol=1e-12)


@pytest.mark.parametrize("ties", MODELS)
@settings(max_examples=10)
@given(seed=st.integers(0, 10_000))
def test_names_and_sides_change_nothing(ties, seed):
    rows = some_votes(seed, n_votes=100, n_covariates=1)
    try:
        fit = fit_strengths(rows, ties=ties)
    except CannotAnswerError:
        assume(False)
        return
    turned = fit_strengths(
        replace(rows, first=rows.second, second=rows.first, share=1 - rows.share, covariates=-rows.covariates),
        ties=ties,
    )
    np.testing.assert_allclose(turned.strengths, fit.strengths, atol=OPTIMUM)
    assert turned.tie == pytest.approx(fit.tie, abs=1e-7)
    name = np.random.default_rng(seed).permutation(4)
    renamed = fit_strengths(replace(rows, first=name[rows.first], second=name[rows.second]), ties=ties)
    np.testing.assert_allclose(renamed.strengths[name], fit.strengths, atol=OPTIMUM)


def test_equal_models_tie_as_often_as_observed():
    rows = vote_rows([0, 0, 0], [1, 1, 1], [A_WINS, B_WINS, TIE], count=[30, 30, 40])
    for ties in MODELS:
        fit = fit_strengths(rows, ties=ties)
        np.testing.assert_allclose(fit.strengths, 0.0, atol=OPTIMUM)
        assert probabilities(ties, 0.0, fit.tie)[2] == pytest.approx(0.4)


def test_two_models_reproduce_their_shares():
    """Two models have two parameters for two free shares, so both models of ties fit exactly."""
    rows = vote_rows([0, 0, 0], [1, 1, 1], [A_WINS, B_WINS, TIE], count=[50, 20, 30])
    for ties in MODELS:
        fit = fit_strengths(rows, ties=ties)
        found = probabilities(ties, fit.strengths[0] - fit.strengths[1], fit.tie)
        assert found == pytest.approx((0.5, 0.2, 0.3), abs=1e-8)


def test_both_bad_is_a_tie():
    rows = some_votes(4)
    bad = replace(rows, outcome=np.where(rows.outcome == TIE, BOTH_BAD, rows.outcome))
    for ties in WITH_HALF:
        np.testing.assert_array_equal(fit_strengths(bad, ties=ties).strengths, fit_strengths(rows, ties=ties).strengths)


@pytest.mark.parametrize("ties", MODELS)
def test_ties_that_never_or_always_happen(ties):
    without = vote_rows([0, 1], [1, 0], [A_WINS, A_WINS])
    with pytest.raises(CannotAnswerError, match=r"there are no ties.*use ties='half'"):
        fit_strengths(without, ties=ties)
    with pytest.raises(CannotAnswerError, match="all votes are ties"):
        fit_strengths(vote_rows([0], [1], [TIE]), ties=ties)


@pytest.mark.parametrize("ties", MODELS)
def test_wins_and_ties_without_losses_have_no_estimate(ties):
    """The tie parameter and the distance grow together for ever, although a tie is half a win of the weaker."""
    rows = vote_rows([0, 0], [1, 1], [A_WINS, TIE], count=[5, 5])
    assert fit_strengths(rows).converged
    with pytest.raises(CannotAnswerError, match="the tie parameter"):
        fit_strengths(rows, ties=ties)
    assert fit_strengths(rows, ties=ties, prior=0.5).converged


@pytest.mark.parametrize("ties", MODELS)
def test_graded_shares_are_refused(ties):
    rows = vote_rows([0, 1, 0], [1, 0, 1], [A_WINS, A_WINS, TIE], share=[0.8, 1.0, 0.5])
    with pytest.raises(InputError, match="1 of 3 rows hold a graded preference"):
        fit_strengths(rows, ties=ties)
    fit = fit_strengths(some_votes(1, n_models=2), ties=ties)
    with pytest.raises(InputError, match="graded"):
        row_scores(fit, rows)


@pytest.mark.parametrize("ties", ["davidson", "rao-kupper"])
def test_ties_alone_and_no_ties_have_no_tie_parameter(ties):
    every = vote_rows([0, 1, 2], [1, 2, 0], [TIE] * 3, count=[4, 5, 6])
    with pytest.raises(CannotAnswerError, match="all votes are ties"):
        fit_strengths(every, ties=ties)
    none = vote_rows([0, 1, 2], [1, 2, 0], [A_WINS] * 3, count=[4, 5, 6])
    with pytest.raises(CannotAnswerError, match="there are no ties"):
        fit_strengths(none, ties=ties)
