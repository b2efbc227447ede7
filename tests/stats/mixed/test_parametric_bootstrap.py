"""The parametric bootstrap: its law by hand, its false alarms with few units, and intervals."""

from dataclasses import replace

import joblib
import numpy as np
import pytest
from scipy import special
from threadpoolctl import threadpool_info

from evalstats.errors import CannotAnswerError, InputError
from evalstats.stats.mixed import likelihood_ratio as module
from evalstats.stats.mixed.binomial import fit_binomial
from evalstats.stats.mixed.likelihood_ratio import (
    bootstrap_intervals,
    likelihood_ratio,
    null_design,
    parametric_bootstrap,
    simulate,
    standard_deviations,
)
from evalstats.stats.mixed.linear import fit_linear
from tests.stats.mixed.dense import golden_cases, golden_design, rows_design, term

OPTIMUM = 1e-5  # of a deviance: how near two searches from different starts end


def with_responses(design, drawn):
    return replace(design, response=drawn[0], within=drawn[1])


@pytest.fixture(scope="module")
def pastes():
    design = golden_design("pastes", golden_cases()["pastes"], merge=True)
    null = null_design(design, contrasts=np.eye(3)[1:])
    return fit_linear(null, reml=False), fit_linear(design, reml=False)


def test_the_law_by_hand(pastes):
    null, alternative = pastes
    found = parametric_bootstrap(null, alternative, n_resamples=3, seed=4, workers=1)
    assert found.statistic == pytest.approx(likelihood_ratio(null, alternative).statistic)
    for i in range(3):
        rng = np.random.default_rng(np.random.SeedSequence(4, spawn_key=(i,)))
        drawn = simulate(null, rng)
        smaller, larger = (fit_linear(with_responses(f.design, drawn), reml=False) for f in pastes)
        assert found.draws[i] == pytest.approx(2 * (larger.log_likelihood - smaller.log_likelihood), abs=OPTIMUM)
    assert found.p_value == (1 + np.count_nonzero(found.draws >= found.statistic)) / 4
    assert (found.n_resamples, found.n_failed, found.notes) == (3, 0, ())


@pytest.fixture(scope="module")
def in_one_process(pastes):
    return parametric_bootstrap(*pastes, n_resamples=4, seed=1, workers=1)


def test_another_seed_draws_anew(pastes, in_one_process):
    other = parametric_bootstrap(*pastes, n_resamples=4, seed=2, workers=1)
    assert not np.any(np.isclose(in_one_process.draws, other.draws))


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_neither_the_backend_nor_the_number_of_processes_changes_anything(pastes, in_one_process, backend):
    before = threadpool_info()
    with joblib.parallel_config(backend=backend):
        found = parametric_bootstrap(*pastes, n_resamples=4, seed=1, workers=2)
    assert found.draws.tolist() == in_one_process.draws.tolist()
    assert found.p_value == in_one_process.p_value
    assert threadpool_info() == before


def test_a_p_value_is_never_zero(pastes):
    null, alternative = pastes
    sure = replace(alternative, log_likelihood=null.log_likelihood + 500.0)
    assert parametric_bootstrap(null, sure, n_resamples=4, workers=1).p_value == 0.2
    none = replace(alternative, log_likelihood=null.log_likelihood)
    assert parametric_bootstrap(null, none, n_resamples=1, workers=1).p_value == 1.0


def test_a_variance(pastes):
    """By REML, since the fixed effects are the same; about half of the law is at 0."""
    design = pastes[1].design
    alternative, null = fit_linear(design), fit_linear(null_design(design, terms=[1]))
    found = parametric_bootstrap(null, alternative, n_resamples=9, seed=1, workers=1)
    assert 0.3 < np.mean(found.draws < 1e-6) < 0.9
    assert found.p_value == 1 / 10


def test_designs_of_smaller_models():
    design = golden_design("crossed", golden_cases()["crossed"])
    assert null_design(design, terms=[0, 2]).terms == (design.terms[0], design.terms[2])
    contrast = np.array([[0.0, 1.0, -1.0, 0.0]])
    smaller = null_design(design, contrasts=contrast)
    assert smaller.fixed.n_columns == 3
    # The space of X b with b_1 = b_2, and nothing else.
    wanted = np.column_stack(
        [design.fixed.at()[:, 0], design.fixed.at()[:, 1] + design.fixed.at()[:, 2], design.fixed.at()[:, 3]]
    )
    assert np.linalg.matrix_rank(np.hstack([smaller.fixed.at(), wanted])) == 3


def test_failures_are_counted_and_said(pastes, monkeypatch):
    refit = module._Refit.__call__
    calls = {"n": 0, "every": 4}

    def sometimes(self, *drawn):
        calls["n"] += 1
        return None if calls["n"] % calls["every"] == 0 else refit(self, *drawn)

    monkeypatch.setattr(module._Refit, "__call__", sometimes)
    found = parametric_bootstrap(*pastes, n_resamples=6, workers=1)
    assert found.n_failed > 0
    assert len(found.draws) == 6 - found.n_failed
    assert found.notes[0].startswith(f"{found.n_failed} of 6 replicates could not be fitted")
    assert "more than 5 %" in found.notes[0]
    calls["every"] = 1
    with pytest.raises(CannotAnswerError, match="20 of 20 replicates"):
        parametric_bootstrap(*pastes, n_resamples=20, workers=1)


def test_refusals(pastes):
    null, alternative = pastes
    rows = golden_design("pastes", golden_cases()["pastes"])
    with pytest.raises(InputError, match="54 and 29 cells"):
        parametric_bootstrap(fit_linear(null_design(rows, contrasts=np.eye(3)[1:]), reml=False), alternative)
    with pytest.raises(InputError, match="fit both models by ML"):
        parametric_bootstrap(fit_linear(null.design), fit_linear(alternative.design))
    with pytest.raises(InputError, match="not all within the larger"):
        parametric_bootstrap(alternative, null)


def test_intervals_by_hand(pastes):
    fit = fit_linear(pastes[1].design)
    names = ["sample", "batch", "sigma"]
    found = bootstrap_intervals(fit, standard_deviations, names=names, n_resamples=7, seed=2, conf_level=0.5, workers=1)
    draws = []
    for i in range(7):
        drawn = simulate(fit, np.random.default_rng(np.random.SeedSequence(2, spawn_key=(i,))))
        again = fit_linear(with_responses(fit.design, drawn))
        draws.append([again.sigma * again.theta[0], again.sigma * again.theta[1], again.sigma])
    ranked = np.sort(draws, axis=0)
    for j, estimate in enumerate(found):
        # (7 + 1) / 4 = 2: the second smallest and the second largest.
        assert (estimate.conf_low, estimate.conf_high) == pytest.approx(
            (ranked[1, j], ranked[-2, j]), rel=1e-3, abs=1e-3
        )
        assert estimate.std_error == pytest.approx(np.std(draws, axis=0, ddof=1)[j], rel=1e-3)
        assert "percentile" in estimate.method


def test_what_never_moves_has_no_interval(pastes):
    (found,) = bootstrap_intervals(pastes[1], lambda _: 3.0, names=["three"], n_resamples=3, conf_level=0.5, workers=1)
    assert (found.conf_low, found.std_error) == (None, None)
    assert found.reason == "three is 3 in all replicates, so they do not show how uncertain it is"


def binomial_design(rng, n_items, effect=0.0, item=1.0):
    item_of, model = np.repeat(np.arange(n_items), 2), np.tile([0.0, 1.0], n_items)
    eta = 0.3 + effect * model + item * rng.normal(size=n_items)[item_of]
    fixed = [("(Intercept)", np.ones(item_of.size)), ("b", model)]
    design = rows_design(fixed, [term("item", item_of)], rng.binomial(5, special.expit(eta)) / 5)
    return replace(design, count=np.full(item_of.size, 5.0))


def test_binomial_models():
    rng = np.random.default_rng(3)
    alternative = fit_binomial(binomial_design(rng, 15, effect=1.5))
    null = fit_binomial(null_design(alternative.design, contrasts=[0.0, 1.0]))
    found = parametric_bootstrap(null, alternative, n_resamples=19, seed=1, workers=1)
    assert found.p_value == (1 + np.count_nonzero(found.draws >= found.statistic)) / (1 + len(found.draws))
    assert found.p_value < 0.2
    assert np.all(found.draws >= 0.0)
    (effect,) = bootstrap_intervals(
        alternative, lambda fit: fit.beta[1], names=["b"], n_resamples=19, conf_level=0.9, workers=1
    )
    assert effect.conf_low < alternative.beta[1] < effect.conf_high
    # The standard error of the Hessian holds for 15 items of 10 trials; 19 replicates know theirs to 1 / sqrt(2 * 19).
    assert effect.std_error == pytest.approx(alternative.std_errors[1], rel=0.4)


def test_draws_that_tie_with_the_statistic_reach_it_and_failures_count_neither_way(pastes, monkeypatch):
    """Of seven replicates two reach the statistic, one ties but for rounding, three do not, one failed."""
    t = likelihood_ratio(*pastes).statistic
    drawn = [t, 0.0, t * (1 - 1e-12), None, 0.9 * t, t + 2.0, 0.5]
    monkeypatch.setattr(module, "replicates", lambda *_, **__: drawn)
    found = parametric_bootstrap(*pastes, seed=3)
    assert found.p_value == (1 + 3) / (1 + 6)
    assert found.draws.tolist() == [each for each in drawn if each is not None]
    assert (found.n_resamples, found.n_failed, found.seed) == (7, 1, 3)
    assert found.method == "likelihood ratio, law from 6 parametric bootstrap replicates"


def test_named_columns_are_left_out_whole_and_combinations_span_what_is_left():
    design = golden_design("crossed", golden_cases()["crossed"])
    out = null_design(design, contrasts=[[0.0, 2.0, 0.0, 0.0], [0.0, 1.0, 0.0, -1.0]])
    assert out.fixed_names == (design.fixed_names[0], design.fixed_names[2])
    np.testing.assert_array_equal(out.fixed.at(), design.fixed.at()[:, [0, 2]])
    assert out.terms == design.terms
    turned = null_design(design, contrasts=[[0.0, 1.0, -1.0, 0.0], [0.0, 2.0, -2.0, 0.0]], terms=[1])
    assert turned.fixed_names == ("combination 1", "combination 2", "combination 3")
    assert turned.terms == design.terms[1:2]


def test_what_counts_as_a_failed_replicate(pastes):
    """A search that did not end, a draw that cannot be fitted, for a ratio a fit with a prior; for a summary no number."""
    null, fit = pastes
    refit = module._Refit(fit, prior=True)
    strict = module._RatioReplicate(null, fit)
    stuck = replace(fit, convergence=replace(fit.convergence, converged=False))
    for answer, kept in ((fit, True), (stuck, False), (replace(fit, penalty="a prior"), True)):
        for each in (refit, strict.null, strict.alternative):
            each.again = lambda *_, answer=answer: answer
            penalised = bool(answer.penalty) and each is not refit
            assert (each(fit.design.response, 0.0) is answer) == (kept and not penalised)

    def refuse(*_):
        raise CannotAnswerError("no fit")

    refit.again = refuse
    assert refit(fit.design.response, 0.0) is None
    rng = np.random.default_rng(1)
    for values, kept in (([1.0, 2.0], True), ([1.0, np.nan], False), ([np.inf, 1.0], False)):
        found = module._SummaryReplicate(fit, lambda _, values=values: values)(rng)
        assert (None if found is None else found.tolist()) == (values if kept else None)
    failing = module._SummaryReplicate(fit, lambda _: [1.0])
    failing.refit.again = refuse
    assert failing(rng) is None
    with pytest.raises(InputError, match="conf_level"):
        bootstrap_intervals(fit, standard_deviations, names=["a", "b", "c"], conf_level=1.0)


def test_ends_need_one_replicate_beyond_each(pastes, monkeypatch):
    """39 replicates have 40 gaps, of which one is a fortieth; 38 do not reach that far."""
    values = [np.array([float(k), 7.0]) for k in range(39)]
    monkeypatch.setattr(module, "replicates", lambda *_, **__: [*values, None])
    first, second = bootstrap_intervals(pastes[1], lambda _: [19.0, 7.0], names=["k", "same"], n_resamples=39)
    assert (first.conf_low, first.conf_high) == (pytest.approx(0.0), pytest.approx(38.0))
    assert first.std_error == pytest.approx(np.arange(39).std(ddof=1))
    assert (first.n_resamples, second.conf_low) == (39, None)
    assert first.warnings[0].startswith("1 of 40 replicates")
    with pytest.raises(InputError, match="take at least 39"):
        bootstrap_intervals(pastes[1], lambda _: [1.0], names=["a"], n_resamples=38)


@pytest.mark.slow
def test_false_alarms_with_ten_scenarios():
    """Four models on ten scenarios, whose effects depend on the model: the p of chi-squared is too small on average."""
    rng = np.random.default_rng(10)
    scenario, model = (a.ravel() for a in np.meshgrid(np.arange(10), np.arange(4), indexing="ij"))
    fixed = [("(Intercept)", np.ones(40)), *((f"m{k}", (model == k) * 1.0) for k in (1, 2, 3))]
    terms = [term("scenario", scenario), term("scenario:model", scenario * 4 + model)]
    design = replace(rows_design(fixed, terms, np.zeros(40)), count=np.full(40, 6.0))
    n_rep, n_resamples = 80, 19
    p = np.empty((n_rep, 2))
    for i in range(n_rep):
        means = 0.7 * rng.normal(size=10)[scenario] + 0.7 * rng.normal(size=40) + rng.normal(size=40) / np.sqrt(6)
        data = replace(design, response=means, within=float(rng.chisquare(200)))
        alternative = fit_linear(data, reml=False)
        null = fit_linear(null_design(data, contrasts=np.eye(4)[1:]), reml=False)
        found = parametric_bootstrap(null, alternative, n_resamples=n_resamples, seed=i, workers=1)
        p[i] = likelihood_ratio(null, alternative).p_value, found.p_value
    # Uniform on 1/20, ..., 20/20: mean .525, standard deviation .288.
    expected = (n_resamples + 2) / (2 * (n_resamples + 1))
    assert p[:, 1].mean() == pytest.approx(expected, abs=3.5 * 0.288 / np.sqrt(n_rep))
    # 5 % of the p-values are 1/20; more than 13 % would be beyond chance (3.3 standard errors).
    assert np.mean(p[:, 1] <= 0.05 + 1e-9) < 0.13
    assert np.mean(p[:, 0]) < np.mean(p[:, 1]) - 0.02


@pytest.mark.slow
def test_intervals_of_a_variance_cover():
    """Twenty items, three rows each, REML: the interval of sigma covers as stated, that of the items' sd nearly so."""
    rng = np.random.default_rng(20)
    item = np.repeat(np.arange(20), 3)
    design = rows_design([("(Intercept)", np.ones(60))], [term("item", item)], np.zeros(60))
    n_rep, hits = 100, np.zeros(2)
    for i in range(n_rep):
        y = rng.normal(size=20)[item] + rng.normal(size=60)
        fit = fit_linear(replace(design, response=y))
        found = bootstrap_intervals(
            fit, standard_deviations, names=["item", "sigma"], n_resamples=59, seed=i, workers=1
        )
        hits += [e.conf_low <= 1.0 <= e.conf_high for e in found]
    noise = 3 * np.sqrt(0.95 * 0.05 / n_rep)
    assert hits[1] / n_rep == pytest.approx(0.95, abs=noise)
    assert 0.85 < hits[0] / n_rep <= 1.0
