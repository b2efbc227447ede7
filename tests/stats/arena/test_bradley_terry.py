"""Strengths against published fits, statsmodels, a search on the plain likelihood, and what must not change them."""

import csv
import json
from dataclasses import replace

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st

from evalstats.errors import CannotAnswerError, InputError
from evalstats.stats.arena import bradley_terry
from evalstats.stats.arena.bradley_terry import ELO_PER_LOG_ODDS, fit_strengths, rising_direction, row_scores
from evalstats.stats.arena.likelihood import connection, pair_cells
from evalstats.stats.arena.votes import A_WINS, B_WINS, TIE, vote_rows
from tests.stats.arena.votes_by_hand import best_by_search, llmfao, log_likelihood, some_votes

SEARCH = 2e-6  # where a search without derivatives ends: the square root of what it sees of the likelihood, about
OPTIMUM = 1e-8  # log-units, promised
PRINTED = 1e-8  # reference values are printed with 11 digits

# Games of seven teams in 1987, home wins and away wins: Agresti, Categorical Data Analysis (2nd ed. 2002), table 10.10.
TEAMS = ("Milwaukee", "Detroit", "Toronto", "New York", "Boston", "Cleveland", "Baltimore")
HOME_WINS = """
. 4-3 4-2 4-3 6-1 4-2 6-0
3-3 . 4-2 4-3 6-0 6-1 4-3
2-5 4-3 . 2-4 4-3 4-2 6-0
3-3 5-1 2-5 . 4-3 4-2 6-1
5-1 2-5 3-3 4-2 . 5-2 6-0
2-5 3-3 3-4 4-3 4-2 . 2-4
2-5 1-5 1-6 2-4 1-6 3-4 .
"""


@pytest.fixture(scope="module")
def misc(golden):
    return json.loads((golden / "r_misc.json").read_text())


def counted(wins, *, covariates=None):
    """Votes from (first, second, outcome, count)."""
    first, second, outcome, count = (list(column) for column in zip(*wins, strict=True))
    return vote_rows(first, second, outcome, count=count, covariates=covariates)


def baseball(*, at_home):
    games = [
        (home, away, outcome, int(cell.split("-")[outcome]))
        for home, line in enumerate(HOME_WINS.split("\n")[1:-1])
        for away, cell in enumerate(line.split())
        if home != away
        for outcome in (A_WINS, B_WINS)
    ]
    games = [game for game in games if game[3]]
    return counted(games, covariates=np.ones((len(games), 1)) if at_home else None)


def errors_against(fit, model):
    """Standard errors of all strengths less that of one model."""
    n = fit.n_models
    contrast = np.eye(n) - np.eye(n)[model]
    return np.sqrt(np.diag(contrast @ fit.bread[:n, :n] @ contrast.T))


def test_llmfao_equals_published_strengths(shared_data, golden):
    rows, names = llmfao(shared_data)
    fit = fit_strengths(rows)
    with (golden / "bt_llmfao.csv").open(encoding="utf-8") as file:
        known = {row["model"]: row for row in csv.DictReader(file)}
    column = {key: np.array([float(known[name][key]) for name in names]) for key in ("log_bt", "elo", "se_model_based")}
    np.testing.assert_allclose(fit.strengths, column["log_bt"], atol=OPTIMUM)
    np.testing.assert_allclose(1000.0 + ELO_PER_LOG_ODDS * fit.strengths, column["elo"], atol=1e-6)
    np.testing.assert_allclose(ELO_PER_LOG_ODDS * np.sqrt(np.diag(fit.bread)), column["se_model_based"], rtol=PRINTED)


def test_citations_equal_r(misc):
    known = misc["bt_citations"]
    journals = ["Biometrika", "Comm Statist", "JASA", "JRSS-B"]
    fit = fit_strengths(
        counted(
            [
                (journals.index(cell["j1"]), journals.index(cell["j2"]), outcome, cell[key])
                for cell in known["binomial"]
                for outcome, key in ((A_WINS, "win1"), (B_WINS, "win2"))
            ]
        )
    )
    coef = {row["term"].removeprefix("journal"): row for row in known["coef"]}
    for place, journal in enumerate(journals[1:], start=1):
        assert fit.strengths[place] - fit.strengths[0] == pytest.approx(coef[journal]["Estimate"], abs=PRINTED)
        # R stops at a relative change of the deviance of 1e-8, and its errors belong to the step before.
        assert errors_against(fit, 0)[place] == pytest.approx(coef[journal]["Std..Error"], rel=1e-4)


def test_wikipedia_example_equals_r(misc):
    known = misc["bt_wikipedia"]
    fit = fit_strengths(
        counted(
            [
                ("ABCD".index(cell["a"]), "ABCD".index(cell["b"]), outcome, cell[key])
                for cell in known["data"]
                for outcome, key in ((A_WINS, "w1"), (B_WINS, "w2"))
            ]
        )
    )
    np.testing.assert_allclose(np.exp(fit.strengths), known["worth_geomean1"], atol=1e-6)  # R stops early
    np.testing.assert_allclose(np.exp(fit.strengths), known["published"], atol=6e-4)
    np.testing.assert_allclose(errors_against(fit, 0)[1:], known["se"], rtol=1e-4)


def test_baseball_equals_agresti():
    plain = fit_strengths(baseball(at_home=False))
    # Published to two decimals, as are the shares to three.
    above_last = np.sort(plain.strengths - plain.strengths.min())[1:]
    np.testing.assert_allclose(above_last, [0.68, 1.11, 1.25, 1.29, 1.44, 1.58], atol=0.0051)
    fit = fit_strengths(baseball(at_home=True))
    share = np.sort(np.exp(fit.strengths) / np.exp(fit.strengths).sum())
    np.testing.assert_allclose(share, [0.044, 0.088, 0.137, 0.157, 0.164, 0.190, 0.220], atol=0.00051)
    assert fit.coefficients[0] == pytest.approx(0.3023, abs=5.1e-5)
    assert TEAMS[int(fit.strengths.argmax())] == "Milwaukee"


@pytest.mark.parametrize("prior", [0.0, 0.5])
@pytest.mark.parametrize("seed", [1, 2])
def test_equals_a_search_on_the_plain_likelihood(seed, prior):
    rows = some_votes(seed, n_votes=60, n_covariates=seed - 1)
    fit = fit_strengths(rows, prior=prior)
    strengths, coefficients, _ = best_by_search("half", rows, prior)
    np.testing.assert_allclose(fit.strengths, strengths, atol=SEARCH)
    np.testing.assert_allclose(fit.coefficients, coefficients, atol=SEARCH)
    assert fit.log_lik == pytest.approx(log_likelihood("half", rows, fit.strengths, fit.coefficients), rel=1e-12)


def test_equals_a_weighted_logistic_regression():
    rows = some_votes(5, n_models=6, n_votes=800, n_covariates=2)
    rows = replace(rows, weight=rows.weight * np.linspace(0.5, 2.0, rows.n_rows))
    at = np.arange(rows.n_rows)
    design = np.zeros((rows.n_rows, 6))
    design[at, rows.first], design[at, rows.second] = 1.0, -1.0
    model = sm.GLM(
        rows.share,
        np.column_stack([design[:, 1:], rows.covariates]),
        family=sm.families.Binomial(),
        freq_weights=rows.weight,
    ).fit(tol=1e-14)
    fit = fit_strengths(rows)
    np.testing.assert_allclose(fit.strengths[1:] - fit.strengths[0], model.params[:5], atol=OPTIMUM)
    np.testing.assert_allclose(fit.coefficients, model.params[5:], atol=OPTIMUM)
    np.testing.assert_allclose(errors_against(fit, 0)[1:], model.bse[:5], rtol=1e-7)
    np.testing.assert_allclose(np.sqrt(np.diag(fit.bread)[6:]), model.bse[5:], rtol=1e-7)


def test_graded_shares_are_shares_of_a_vote():
    """A share of .8 is four wins and a loss, each of a fifth of a vote."""
    graded = vote_rows([0, 1, 2], [1, 2, 0], [A_WINS] * 3, share=[0.8, 0.6, 0.3])
    parts = vote_rows(
        [0, 0, 1, 1, 2, 2], [1, 1, 2, 2, 0, 0], [A_WINS, B_WINS] * 3, weight=[0.8, 0.2, 0.6, 0.4, 0.3, 0.7]
    )
    np.testing.assert_allclose(fit_strengths(graded).strengths, fit_strengths(parts).strengths, atol=OPTIMUM)


@pytest.mark.parametrize("n_covariates", [0, 2])
def test_scores_are_derivatives(n_covariates):
    rows = some_votes(7, n_covariates=n_covariates)
    fit = fit_strengths(rows)
    found = row_scores(fit, rows)
    assert found.tie_slope is None
    for row in (0, rows.n_rows // 2, rows.n_rows - 1):
        one = replace(rows.take([row]), weight=np.ones(1))
        numeric = np.empty(fit.n_models)
        for model in range(fit.n_models):
            shift = 1e-5 * np.eye(fit.n_models)[model]
            up, down = (log_likelihood("half", one, fit.strengths + sign * shift, fit.coefficients) for sign in (1, -1))
            numeric[model] = (up - down) / 2e-5
        expected = np.zeros(fit.n_models)
        expected[one.first[0]], expected[one.second[0]] = found.slope[row], -found.slope[row]
        np.testing.assert_allclose(numeric, expected, atol=1e-8)


def test_scores_sum_to_nothing_and_the_bread_inverts_the_information():
    rows = some_votes(8, n_covariates=2)
    fit = fit_strengths(rows)
    slope = row_scores(fit, rows).slope * rows.weight
    design = np.zeros((rows.n_rows, fit.n_parameters))
    at = np.arange(rows.n_rows)
    design[at, rows.first], design[at, rows.second], design[:, 4:] = 1.0, -1.0, rows.covariates
    np.testing.assert_allclose(design.T @ slope, 0.0, atol=1e-8 * rows.weight.sum())
    p = 1 / (1 + np.exp(-design @ np.append(fit.strengths, fit.coefficients)))
    information = design.T @ (design * (rows.weight * p * (1 - p))[:, None])
    np.testing.assert_allclose(fit.bread, np.linalg.pinv(information), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(fit.bread[:4].sum(axis=0), 0.0, atol=1e-12)


def test_scores_of_rows_that_were_not_fitted():
    rows = some_votes(9)
    fit = fit_strengths(rows)
    by_cluster = replace(rows, clusters=(np.arange(rows.n_rows) % 3,))
    np.testing.assert_array_equal(row_scores(fit, by_cluster.take([4, 2])).slope, row_scores(fit, rows).slope[[4, 2]])
    with pytest.raises(InputError, match="5 models and 0 covariates, but the fit has 4"):
        row_scores(fit, replace(rows, n_models=5))


@settings(max_examples=12)
@given(seed=st.integers(0, 10_000), prior=st.sampled_from([0.0, 0.5]))
def test_names_sides_and_order_of_votes_change_nothing(seed, prior):
    rows = some_votes(seed, n_votes=80, n_covariates=1)
    rng = np.random.default_rng(seed)
    try:
        fit = fit_strengths(rows, prior=prior)
    except CannotAnswerError:
        return
    shuffled = fit_strengths(rows.take(rng.permutation(rows.n_rows)), prior=prior)
    np.testing.assert_allclose(shuffled.strengths, fit.strengths, atol=OPTIMUM)
    name = rng.permutation(4)
    renamed = fit_strengths(replace(rows, first=name[rows.first], second=name[rows.second]), prior=prior)
    np.testing.assert_allclose(renamed.strengths[name], fit.strengths, atol=OPTIMUM)
    turned = replace(rows, first=rows.second, second=rows.first, share=1 - rows.share, covariates=-rows.covariates)
    back = fit_strengths(turned, prior=prior)
    np.testing.assert_allclose(back.strengths, fit.strengths, atol=OPTIMUM)
    np.testing.assert_allclose(back.coefficients, fit.coefficients, atol=OPTIMUM)
    mirrored = fit_strengths(replace(rows, share=1 - rows.share, covariates=-rows.covariates), prior=prior)
    np.testing.assert_allclose(mirrored.strengths, -fit.strengths, atol=OPTIMUM)


def test_merged_rows_and_rows_by_cluster_fit_alike():
    rng = np.random.default_rng(3)
    first = rng.integers(3, size=300)
    second = (first + rng.integers(1, 3, size=300)) % 3
    outcome, rater = rng.integers(3, size=300), rng.integers(20, size=300)
    merged, split = (vote_rows(first, second, outcome, clusters=clusters) for clusters in ((), (rater, np.arange(300))))
    assert merged.n_rows < split.n_rows == 300
    np.testing.assert_allclose(fit_strengths(merged).strengths, fit_strengths(split).strengths, atol=OPTIMUM)


def test_more_votes_of_the_same_kind_only_sharpen():
    rows = some_votes(4)
    fit, more = fit_strengths(rows), fit_strengths(rows.reweighted(np.full(rows.n_rows, 7.0)))
    np.testing.assert_allclose(more.strengths, fit.strengths, atol=OPTIMUM)
    np.testing.assert_allclose(more.bread * 7.0, fit.bread, rtol=1e-7)


def test_rows_without_weight_are_not_there():
    rows = vote_rows([0, 0, 0], [1, 1, 2], [A_WINS, B_WINS, TIE])
    with pytest.raises(CannotAnswerError, match="fall into 2 groups"):
        fit_strengths(rows.reweighted((rows.second == 1).astype(float)))
    with pytest.raises(CannotAnswerError, match="no votes"):
        fit_strengths(rows.reweighted(np.zeros(rows.n_rows)))


def test_units_of_covariates_change_only_their_coefficients():
    rows = some_votes(6, n_covariates=2)
    fit = fit_strengths(rows)
    scale = np.array([1e6, 1e-5])
    other = fit_strengths(replace(rows, covariates=rows.covariates * scale))
    np.testing.assert_allclose(other.coefficients * scale, fit.coefficients, atol=OPTIMUM)
    np.testing.assert_allclose(other.strengths, fit.strengths, atol=OPTIMUM)
    np.testing.assert_allclose(np.diag(other.bread)[4:] * scale**2, np.diag(fit.bread)[4:], rtol=1e-7)


def test_an_earlier_fit_is_a_start_and_no_more():
    rows = some_votes(10, n_covariates=1)
    fit = fit_strengths(rows)
    again = fit_strengths(rows, start=fit)
    assert again.n_iterations <= 1
    np.testing.assert_allclose(again.strengths, fit.strengths, atol=OPTIMUM)
    with pytest.raises(InputError, match="start has 4 models and 1 covariates"):
        fit_strengths(some_votes(10), start=fit)


def test_two_models_have_their_log_odds_however_far_apart():
    for wins in (1, 10, 10**4, 10**9):
        fit = fit_strengths(counted([(0, 1, A_WINS, wins), (0, 1, B_WINS, 1)]))
        assert fit.strengths[0] - fit.strengths[1] == pytest.approx(np.log(wins), abs=OPTIMUM)
        assert fit.converged


def test_a_long_chain_of_one_sided_pairs():
    """Strengths from -70 to 70: steps are halved on the way."""
    games = [(i, i + 1, outcome, count) for i in range(20) for outcome, count in ((A_WINS, 1000), (B_WINS, 1))]
    fit = fit_strengths(counted(games))
    np.testing.assert_allclose(-np.diff(fit.strengths), np.log(1000.0), atol=OPTIMUM)


def test_a_prior_keeps_an_unbeaten_model_finite():
    rows = vote_rows([0, 1], [1, 2], [A_WINS, A_WINS], n_models=4)
    with pytest.raises(CannotAnswerError, match="fall into 4 groups"):
        fit_strengths(rows)
    fit = fit_strengths(rows, prior=0.5)
    assert np.isfinite(fit.strengths).all()
    assert fit.strengths[0] > fit.strengths[1] > fit.strengths[2]
    assert fit.strengths[3] == pytest.approx(0.0, abs=OPTIMUM)
    assert fit.prior == 0.5
    assert np.linalg.norm(fit_strengths(rows, prior=5.0).strengths) < np.linalg.norm(fit.strengths)


@pytest.mark.parametrize("prior", [-1.0, np.nan, np.inf])
def test_a_prior_is_a_number_of_votes(prior):
    with pytest.raises(InputError, match="0 or more"):
        fit_strengths(some_votes(1), prior=prior)


def test_no_votes():
    with pytest.raises(CannotAnswerError, match="no votes"):
        fit_strengths(vote_rows([], [], [], n_models=3))


def test_a_covariate_that_tells_every_vote():
    rows = some_votes(2, ties=0.0)
    rows = replace(rows, covariates=np.where(rows.share == 1.0, 1.0, -1.0)[:, None])
    for prior in (0.0, 0.5):
        with pytest.raises(CannotAnswerError, match="covariate 0 predicts every vote"):
            fit_strengths(rows, prior=prior)


def test_a_covariate_that_tells_the_few_votes_it_is_about():
    rows = some_votes(2, n_covariates=1)
    rare = np.zeros((rows.n_rows, 1))
    rare[np.flatnonzero(rows.share == 1.0)[:3]] = 1.0
    rows = replace(rows, covariates=np.hstack([rows.covariates, rare]))
    with pytest.raises(CannotAnswerError, match="covariate 1 predicts every vote"):
        fit_strengths(rows)


def test_covariates_without_information():
    rows = some_votes(3)
    with pytest.raises(CannotAnswerError, match="covariate 0 is 0 in every vote"):
        fit_strengths(replace(rows, covariates=np.zeros((rows.n_rows, 1))))
    x = np.arange(rows.n_rows, dtype=float)[:, None]
    with pytest.raises(CannotAnswerError, match="by the other covariates"):
        fit_strengths(replace(rows, covariates=np.hstack([x, -2 * x])))
    size = np.array([3.0, 1.0, 4.0, 1.5])
    with pytest.raises(CannotAnswerError, match="which models meet"):
        fit_strengths(replace(rows, covariates=(size[rows.first] - size[rows.second])[:, None]))


def test_a_side_that_never_changes_cannot_be_told_from_the_models():
    rows = vote_rows([0, 0], [1, 1], [A_WINS, B_WINS], covariates=np.ones((2, 1)))
    with pytest.raises(CannotAnswerError, match="on which side"):
        fit_strengths(rows)


@given(
    votes=st.lists(
        st.tuples(st.integers(0, 4), st.integers(1, 4), st.sampled_from([A_WINS, B_WINS, TIE])), min_size=1, max_size=14
    )
)
def test_there_are_strengths_if_and_only_if_wins_connect_all_models(votes):
    first = np.array([vote[0] for vote in votes])
    rows = vote_rows(first, (first + [vote[1] for vote in votes]) % 5, [vote[2] for vote in votes], n_models=5)
    if connection(rows).is_connected:
        fit = fit_strengths(rows)
        assert fit.converged
        assert fit.largest_gradient <= 1e-10 * rows.weight.sum()
    else:
        with pytest.raises(CannotAnswerError, match=f"{len(connection(rows).components)} groups"):
            fit_strengths(rows)


def test_a_model_with_little_weight_beside_models_with_much():
    """Weights from .01 to 10,000: the light model's log-odds keep their digits."""
    heavy = [(a, b, outcome) for a in range(3) for b in range(a) for outcome in (A_WINS, B_WINS)]
    first, second, outcome = zip(*heavy, (3, 0, A_WINS), (3, 0, B_WINS), strict=True)
    fit = fit_strengths(vote_rows(first, second, outcome, weight=[1e4] * 6 + [0.03, 0.01]))
    assert fit.strengths[3] - fit.strengths[0] == pytest.approx(np.log(3.0), abs=OPTIMUM)
    # The error of log-odds with .03 wins and .01 losses.
    assert errors_against(fit, 0)[3] == pytest.approx(np.sqrt(1 / 0.03 + 1 / 0.01), rel=1e-4)


def test_a_small_prior_under_many_votes():
    """The first step would be of thousands of log-odds, from where no information leads back."""
    rows = vote_rows([0, 1, 2, 3], [1, 2, 3, 4], [A_WINS] * 4, weight=[1e4, 1e-2, 1e3, 10.0])
    fit = fit_strengths(rows, prior=1e-3)
    assert fit.converged
    assert (np.diff(fit.strengths) < 0).all()
    strengths, _, _ = best_by_search("half", rows, 1e-3)
    reached = fit.log_lik + 1e-3 * _against_average(fit.strengths)
    assert reached >= log_likelihood("half", rows, strengths) + 1e-3 * _against_average(strengths) - 1e-9


def _against_average(strengths):
    return -(np.logaddexp(0, strengths) + np.logaddexp(0, -strengths)).sum()


@settings(max_examples=20)
@given(seed=st.integers(0, 100_000), ties=st.sampled_from(["half", "davidson", "rao-kupper"]))
def test_what_is_fitted_has_a_maximum(seed, ties):
    """Few votes, of which the linear programme says whether the likelihood rises for ever."""
    rows = some_votes(seed, n_models=3, n_votes=9, n_covariates=1)
    try:
        fit = fit_strengths(rows, ties=ties)
    except CannotAnswerError as refusal:
        fit, said = None, str(refusal)
    if fit is None:
        assert "did not converge" not in said
        return
    assert fit.largest_gradient <= 1e-10 * rows.weight.sum()
    assert rising_direction(pair_cells(rows, ties), ties, 0.0) is None


@pytest.mark.parametrize("steps", [0, 1])
def test_the_largest_gradient_is_that_of_the_last_point(monkeypatch, steps):
    """Of a model that is its wins less those expected: a search broken off far from the top says how far."""
    monkeypatch.setattr(bradley_terry, "_MOST_STEPS", steps)
    rows = vote_rows([0, 0, 1, 0, 1, 2], [1, 2, 2, 1, 2, 0], [0, 0, 0, 1, 1, 0], count=[40, 60, 30, 2, 1, 1])
    found = bradley_terry.maximise(pair_cells(rows, "half"), "half", np.zeros(3))
    assert not found.converged
    won = np.zeros(3)
    for i, j, outcome, n in zip(rows.first, rows.second, rows.outcome, rows.count, strict=True):
        share = 1.0 / (1.0 + np.exp(found.parameters[j] - found.parameters[i]))
        left = n * ((outcome == A_WINS) - share)
        won[[i, j]] += [left, -left]
    assert found.largest_gradient == pytest.approx(np.abs(won).max())
    assert found.largest_gradient > 2.0 * np.abs(won).min()


def test_a_search_that_is_broken_off_says_so(monkeypatch):
    monkeypatch.setattr(bradley_terry, "_MOST_STEPS", 0)
    with pytest.raises(CannotAnswerError, match="did not converge, although a maximum exists"):
        fit_strengths(some_votes(3))
