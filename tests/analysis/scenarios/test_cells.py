"""Cells, drops and means against what they are by definition, and against lme4 and emmeans."""

import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from evalstats.analysis.scenarios import cells
from evalstats.analysis.scenarios.scenarios import scenarios
from evalstats.stats.mixed.prediction import PredictiveLaw
from evalstats.stats.paired.means import paired_t
from tests.analysis.builders import data_of
from tests.analysis.scenarios.tables import binary, graded, table

GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "scenarios.json"
ALGEBRA = 1e-8
# Two Laplace approximations agree to the tolerance of lme4's inner iterations.
LAPLACE = 2e-3
# Two searches for the same REML optimum.
REML = 2e-4


@cache
def reference():
    return json.loads(GOLDEN.read_text())


@cache
def answer_to(name, **more):
    data = reference()[name]["data"]
    n = len(data["score"])
    rows = [
        {
            "run": f"{data['model'][k]}-run",
            "model": data["model"][k],
            "system": data["model"][k],
            "benchmark": "bench",
            "item": data["item"][k],
            "scenario": data["scenario"][k],
            "trial": data.get("trial", [0] * n)[k],
            "metric": "correct",
            "score": float(data["score"][k]),
            "status": "scored",
        }
        for k in range(n)
    ]
    return scenarios(data_of(rows, kind="binary" if name == "binary" else "continuous"), n_resamples=0, **more)


def cell(found, model, scenario):
    return next(row for row in found.cells if (row.model, row.scenario) == (model, scenario))


def drop(found, model, scenario):
    return next(row for row in found.drops if (row.model, row.scenario) == (model, scenario))


@pytest.fixture(scope="module")
def complete():
    """Three models, three scenarios, 25 items in all of them."""
    scores = graded(np.random.default_rng(3), n_items=25)[..., 0]
    return scores, scenarios(table(scores), reference="s0", n_resamples=0)


def test_cells_are_plain_means(complete):
    scores, found = complete
    for i, j in np.ndindex(3, 3):
        row = cell(found, f"m{i}", f"s{j}")
        assert row.estimate == pytest.approx(scores[i, j].mean(), abs=ALGEBRA)
        assert row.observed == pytest.approx(scores[i, j].mean(), abs=ALGEBRA)
        assert row.std_error == pytest.approx(scores[i, j].std(ddof=1) / 5, rel=1e-6)
        assert (row.n_items, row.n_trials, row.n_missing) == (25, 25, 0)


def test_drops_are_paired_differences(complete):
    """A balanced table: the clustered standard error is that of the differences within items, whatever models share."""
    scores, found = complete
    for i, j in np.ndindex(3, 3):
        if j:
            row, plain = drop(found, f"m{i}", f"s{j}"), paired_t(scores[i, j] - scores[i, 0])
            assert row.estimate == pytest.approx(plain.estimate, abs=ALGEBRA)
            assert row.std_error == pytest.approx(plain.std_error, rel=1e-6)
            assert row.df == pytest.approx(24, rel=1e-6)
            assert row.paired == pytest.approx(plain.estimate, abs=ALGEBRA)
            assert row.n_items == 25


def test_drop_against_the_average(complete):
    scores, _ = complete
    found = scenarios(table(scores), reference="average", n_resamples=0)
    for i, j in np.ndindex(3, 3):
        difference = scores[i, j] - np.delete(scores[i], j, axis=0).mean(axis=0)
        row, plain = drop(found, f"m{i}", f"s{j}"), paired_t(difference)
        assert row.estimate == pytest.approx(plain.estimate, abs=ALGEBRA)
        assert row.std_error == pytest.approx(plain.std_error, rel=1e-6)


def test_means_and_pairs_are_those_of_items(complete):
    scores, found = complete
    per_item = scores.mean(axis=1)
    for i in range(3):
        row = next(row for row in found.models if row.name == f"m{i}")
        assert row.estimate == pytest.approx(per_item[i].mean(), abs=ALGEBRA)
        assert row.std_error == pytest.approx(per_item[i].std(ddof=1) / 5, rel=1e-6)
    for j in range(3):
        row = next(row for row in found.scenarios if row.name == f"s{j}")
        assert row.estimate == pytest.approx(scores[:, j].mean(), abs=ALGEBRA)
    for row in found.pairs:
        plain = paired_t(per_item[int(row.first[1])] - per_item[int(row.second[1])])
        assert row.estimate == pytest.approx(plain.estimate, abs=ALGEBRA)
        assert row.std_error == pytest.approx(plain.std_error, rel=1e-6)


def test_intervals_and_p_of_drops_agree(complete):
    _, found = complete
    for row in found.drops:
        excluded = row.conf_low > 0 or row.conf_high < 0
        assert excluded == (row.p_adjusted <= 0.05)
        assert row.conf_low < row.estimate < row.conf_high
        assert row.p_value <= row.p_adjusted


def test_trials_are_averaged_within_items():
    """Three trials an item: the standard error is that of item means, not of trials."""
    scores = graded(np.random.default_rng(5), n_items=20, n_trials=3, n_models=2)
    found = scenarios(table(scores), reference="s0", n_resamples=0)
    means = scores.mean(axis=3)
    for i in range(2):
        row, plain = drop(found, f"m{i}", "s1"), paired_t(means[i, 1] - means[i, 0])
        assert row.estimate == pytest.approx(plain.estimate, abs=ALGEBRA)
        assert row.std_error == pytest.approx(plain.std_error, rel=1e-6)
        assert cell(found, f"m{i}", "s1").n_trials == 60


def test_items_in_one_scenario_each():
    """The difference of two independent means: Welch's standard error, no paired row."""
    scores = graded(np.random.default_rng(6), n_items=20, item_sd=0)[..., 0]
    found = scenarios(table(scores, nested=True), reference="s0", n_resamples=0)
    for i in range(3):
        row = drop(found, f"m{i}", "s1")
        error = np.sqrt((scores[i, 0].var(ddof=1) + scores[i, 1].var(ddof=1)) / 20)
        assert row.estimate == pytest.approx(scores[i, 1].mean() - scores[i, 0].mean(), abs=ALGEBRA)
        assert row.std_error == pytest.approx(error, rel=1e-6)
        assert row.paired is None
        assert row.df < 38.01


def test_clusters_coarser_than_items():
    """Forty items of ten topics: the standard error is that of ten topic means."""
    rng = np.random.default_rng(7)
    topic = np.arange(40) % 10
    scores = graded(rng, n_items=40)[..., 0] + rng.normal(size=(1, 3, 10))[:, :, topic]
    found = scenarios(table(scores, extra={"topic": topic}), reference="s0", cluster="topic", n_resamples=0)
    assert found.clusters == ("topic",)
    assert found.n_clusters == 10
    for i in range(3):
        difference = scores[i, 1] - scores[i, 0]
        by_topic = np.array([difference[topic == t].mean() for t in range(10)])
        row = drop(found, f"m{i}", "s1")
        assert row.estimate == pytest.approx(difference.mean(), abs=ALGEBRA)
        assert row.std_error == pytest.approx(by_topic.std(ddof=1) / np.sqrt(10), rel=1e-6)
        assert row.df == pytest.approx(9, rel=1e-6)


@pytest.mark.parametrize("nested", [False, True])
def test_binary_cells_are_near_plain_proportions(nested):
    logits = np.array([[1.0, 0.0, -1.0], [1.5, 1.0, 0.5], [0.0, 0.0, 0.0]])
    scores = binary(np.random.default_rng(8), logits=logits, n_items=100, nested=nested)
    found = scenarios(table(scores, kind="binary", nested=nested), reference="s0", n_resamples=0)
    assert found.family == "binomial"
    plain = scores.mean(axis=(2, 3))
    for i, j in np.ndindex(3, 3):
        row = cell(found, f"m{i}", f"s{j}")
        assert row.estimate == pytest.approx(plain[i, j], abs=0.01)
        assert row.observed == pytest.approx(plain[i, j], abs=ALGEBRA)
        assert 0 < row.conf_low < row.estimate < row.conf_high < 1
        # A plain proportion has nearly the same error: nothing is gained by the model but its averages over items.
        assert row.std_error == pytest.approx(scores[i, j, :, 0].std(ddof=1) / 10, rel=0.1)
        # The log-odds are those of an item of average difficulty, further from 0 than those of the average.
        assert abs(row.link) >= abs(np.log(row.estimate / (1 - row.estimate))) - 1e-9


def test_binary_against_lme4_and_emmeans():
    case, found = reference()["binary"], answer_to("binary", formula=answer_to("binary").formula)
    assert found.formula.replace(" ", "") == "score~model*scenario+(1|item)"
    assert found.log_likelihood == pytest.approx(case["log_likelihood"], abs=LAPLACE)
    cells = case["cells"]
    for model, scenario, link in zip(cells["model"], cells["scenario"], cells["emmean"], strict=True):
        assert cell(found, model, scenario).link == pytest.approx(link, abs=LAPLACE)


def test_binary_model_errors_against_emmeans():
    """The second row, if the model's own variances are right: a difference of two cells of different items."""
    case, found = reference()["binary"]["cells"], answer_to("binary", reference="s1")
    errors = dict(zip(zip(case["model"], case["scenario"], strict=True), case["SE"], strict=True))
    for row in found.drops:
        slopes = []
        for scenario in (row.scenario, "s1"):
            one = cell(found, row.model, scenario)
            assert one.link_std_error == pytest.approx(errors[row.model, scenario], rel=0.25)
            slopes.append(one.link)
        assert row.log_odds == pytest.approx(slopes[0] - slopes[1], abs=ALGEBRA)


def test_graded_against_lme4_and_emmeans():
    plain = answer_to("graded", reference="s1")
    case, found = reference()["graded"], answer_to("graded", reference="s1", formula=plain.formula)
    assert found.formula.replace(" ", "") == "score~model*scenario+(1|item)+(1|item:model)"
    assert found.log_likelihood == pytest.approx(case["log_likelihood"], abs=REML)
    cells = case["cells"]
    for model, scenario, link in zip(cells["model"], cells["scenario"], cells["emmean"], strict=True):
        assert cell(found, model, scenario).estimate == pytest.approx(link, abs=REML)
        # No score is missing: the plain mean, for which nothing is fitted, is lme4's estimate.
        assert cell(plain, model, scenario).estimate == pytest.approx(link, abs=REML)
    errors = dict(zip(zip(cells["model"], cells["scenario"], strict=True), cells["SE"], strict=True))
    for row in found.drops:
        # Cells of different items are independent by the model too.
        own = np.hypot(errors[row.model, row.scenario], errors[row.model, "s1"])
        assert row.model_std_error == pytest.approx(own, rel=1e-3)


@pytest.mark.parametrize(("name", "tolerance"), [("binary", 1e-2), ("graded", 1e-3)])
def test_split_of_the_variation_is_lme4s(name, tolerance):
    case, found = reference()[name]["parts"], answer_to(name)
    rows = {row.term: row for row in found.variances}
    assert set(case) <= {"Residual" if key == "residual" else key for key in rows}
    for key, value in case.items():
        row = rows["residual" if key == "Residual" else key]
        assert row.variance == pytest.approx(value, rel=tolerance, abs=tolerance * 0.1)
    assert sum(row.share for row in found.variances) == pytest.approx(1)


def at_the_estimate(fit, terms):
    """The law of predictions that takes standard deviations for known, as lme4 does."""
    return PredictiveLaw(fits=(fit,), weights=np.ones(1), terms=terms)


def test_sampled_scenarios_against_lme4(monkeypatch):
    averaged = answer_to("sampled")
    monkeypatch.setattr(cells, "predictive_law", at_the_estimate)
    answer_to.cache_clear()
    case, found = reference()["sampled"], answer_to("sampled")
    answer_to.cache_clear()
    for given, row in zip(found.cells, averaged.cells, strict=True):
        # What is not known of the standard deviations moves predictions little, and widens their intervals.
        assert row.estimate == pytest.approx(given.estimate, abs=0.2 * given.std_error)
        assert row.std_error == pytest.approx(given.std_error, rel=0.2)
    assert np.mean([row.std_error for row in averaged.cells]) > np.mean([row.std_error for row in found.cells])
    assert found.scenario_as == "random"
    assert found.log_likelihood == pytest.approx(case["log_likelihood"], abs=REML)
    predicted = case["predicted"]
    for model, scenario, value in zip(predicted["model"], predicted["scenario"], predicted["value"], strict=True):
        assert cell(found, model, scenario).estimate == pytest.approx(value, abs=REML)
    modes = {row.level: row.estimate for row in found.effects if row.group == "scenario"}
    for level, value in zip(case["modes"]["level"], case["modes"]["value"], strict=True):
        assert modes[level] == pytest.approx(value, abs=REML)
    means = {row.name: row for row in found.models}
    for name, mean, error in zip(*(case["means"][key] for key in ("model", "emmean", "SE")), strict=True):
        assert means[name].estimate == pytest.approx(mean, abs=REML)
        assert means[name].std_error == pytest.approx(error, rel=1e-2)
