"""Scenarios as a sample: what their spread is, whether it is any, and how sure the means of models are."""

import numpy as np
import pytest
from scipy import stats

from evalstats.analysis.scenarios.scenarios import scenarios
from evalstats.analysis.scenarios.variation import term_tests
from tests.analysis.scenarios.inner import LEVEL, inner
from tests.analysis.scenarios.tables import binary, table

ALPHA = 1 - LEVEL


def sampled(rng, *, n_scenarios, n_items=6, n_models=2, between=1.0, own=0.5, item_sd=1.0):
    """Scores of items that lie in one scenario each; scenarios differ, and differently for each model."""
    shift = between * rng.normal(size=n_scenarios) + own * rng.normal(size=(n_models, n_scenarios))
    item = item_sd * rng.normal(size=(n_scenarios, n_items))
    return shift[:, :, None] + item + rng.normal(size=(n_models, n_scenarios, n_items))


def answers(n, *, kind="continuous", **more):
    """Fits to tables drawn anew."""
    for seed in range(n):
        rng = np.random.default_rng([23, seed])
        if kind == "binary":
            shift = more["between"] * rng.normal(size=more["n_scenarios"])
            shift = shift + more["own"] * rng.normal(size=(2, more["n_scenarios"]))
            scores = binary(rng, logits=0.5 + shift, n_items=more.get("n_items", 6), nested=True)
        else:
            scores = sampled(rng, **more)
        yield inner(table(scores, kind=kind, nested=True), as_="random")


@pytest.fixture(scope="module")
def found():
    scores = sampled(np.random.default_rng(3), n_scenarios=20, own=1.0)
    return scores, scenarios(table(scores, nested=True), n_resamples=0)


def test_balanced_means_and_their_errors(found):
    """A model's mean over scenarios that could come has the error of the mean of as many scenario means."""
    scores, answer = found
    assert answer.scenario_as == "random"
    for row in answer.models:
        own = scores[int(row.name[1])].mean(axis=1)
        assert row.estimate == pytest.approx(own.mean(), abs=1e-6)
        # The model takes one spread for all models; each model's own differs from it by chance.
        assert row.std_error == pytest.approx(own.std(ddof=1) / np.sqrt(20), rel=0.3)
        assert row.df == 19
    pooled = np.sqrt(np.mean([scores[m].mean(axis=1).var(ddof=1) for m in range(2)]) / 20)
    assert answer.models[0].std_error == pytest.approx(pooled, rel=1e-3)


def test_cells_are_drawn_towards_the_rest(found):
    scores, answer = found
    plain = scores.mean(axis=2)
    for model in range(2):
        own = [row.estimate for row in answer.cells if row.model == f"m{model}"]
        assert np.std(own) < np.std(plain[model])
    shrunk = np.array(
        [row.estimate - plain[int(row.model[1]), int(row.scenario[1:])] for row in answer.cells]
    )  # fmt: skip
    assert np.abs(shrunk).max() > 0.05


def test_split_and_effects(found):
    _, answer = found
    parts = {row.term: row for row in answer.variances}
    assert list(parts) == ["model", "scenario", "model:scenario", "item", "residual"]
    assert sum(row.share for row in answer.variances) == pytest.approx(1)
    for row in answer.variances:
        assert row.std_dev == pytest.approx(row.variance**0.5)
        assert row.conf_low is None or 0 < row.conf_low < row.std_dev
        assert row.conf_high is None or row.conf_high > row.std_dev
    assert 1.0 <= parts["residual"].variance * 1.3 <= 1.7
    effects = [row for row in answer.effects if row.group == "scenario"]
    assert len(effects) == 20
    # Modes of a balanced random intercept sum to 0.
    assert sum(row.estimate for row in effects) == pytest.approx(0, abs=1e-6)
    assert all(row.conf_low < row.estimate < row.conf_high for row in effects)


def test_reliability_falls_with_fewer_items(found):
    _, answer = found
    kept = answer.reliability
    if kept.relative is None:
        assert kept.reason
        return
    assert 0 <= kept.absolute <= kept.relative <= 1
    for facet in {point.facet for point in kept.curve}:
        values = [point.relative for point in kept.curve if point.facet == facet]
        assert np.all(np.diff(values) >= -1e-12)


def test_tests_are_of_variances(found):
    _, answer = found
    assert [(row.term, row.role) for row in answer.tests] == [("model:scenario", "headline"), ("scenario", "check")]
    assert answer.tests[0].p_value < 0.01
    assert answer.ranking is None
    assert answer.pairs == ()


def test_no_spread_is_said():
    """Scenarios that do not differ at all: a variance of 0 is called that, and means still have intervals."""
    scores = sampled(np.random.default_rng(4), n_scenarios=12, between=0.0, own=0.0)
    answer = scenarios(table(scores, nested=True), n_resamples=0)
    zero = [row for row in answer.variances if row.singular]
    assert zero
    for row in zero:
        assert row.conf_low is None
    assert all(row.conf_low < row.estimate < row.conf_high for row in answer.models)
    assert all(row.p_value > ALPHA for row in answer.tests)
    assert answer.singular or all(row.variance > 0 for row in answer.variances if row.term != "model")


@pytest.fixture
def measured(request):
    """Keep a rate with the test's report (JUnit's properties)."""
    return lambda name, value: request.node.user_properties.append((name, value))


@pytest.mark.slow
@pytest.mark.parametrize("n_scenarios", [10, 25, 50])
@pytest.mark.parametrize(("between", "own"), [(1.0, 0.5), (1.0, 0.0), (0.0, 0.0)])
def test_coverage_of_means(n_scenarios, between, own, measured):
    """Means over scenarios that could come, their truth 0; with no spread at all intervals may be too wide, never too narrow."""
    held = [
        np.mean([row.conf_low <= 0 <= row.conf_high for row in answer.means()])
        for answer in answers(200, n_scenarios=n_scenarios, between=between, own=own)
    ]
    rate, noise = np.mean(held), np.std(held, ddof=1) / np.sqrt(len(held))
    measured("held", float(rate))
    assert rate + 3 * noise > 0.93
    if between:
        assert rate - 3 * noise < 0.98


@pytest.mark.slow
@pytest.mark.parametrize("n_scenarios", [12, 30])
def test_coverage_of_binary_means(n_scenarios, measured):
    """The truth is an average over scenarios and items: by quadrature."""
    node, weight = np.polynomial.hermite_e.hermegauss(60)
    truth = (1 / (1 + np.exp(-(0.5 + np.sqrt(0.8**2 + 0.4**2 + 1.0) * node)))) @ weight / weight.sum()
    held = [
        np.mean([row.conf_low <= truth <= row.conf_high for row in answer.means()])
        for answer in answers(150, kind="binary", n_scenarios=n_scenarios, between=0.8, own=0.4, n_items=10)
    ]
    rate, noise = np.mean(held), np.std(held, ddof=1) / np.sqrt(len(held))
    measured("held", float(rate))
    assert rate + 3 * noise > 0.93
    assert rate - 3 * noise < 0.98


@pytest.mark.slow
@pytest.mark.parametrize("n_scenarios", [10, 40])
def test_coverage_of_cells(n_scenarios, measured):
    """Predictions for named scenarios hold on average over scenarios."""
    held = []
    for seed in range(100):
        rng = np.random.default_rng([29, seed])
        shift = rng.normal(size=n_scenarios) + 0.5 * rng.normal(size=(2, n_scenarios))
        scores = shift[:, :, None] + rng.normal(size=(n_scenarios, 6)) + rng.normal(size=(2, n_scenarios, 6))
        answer = inner(table(scores, nested=True), as_="random")
        held.append(
            np.mean([
                row.conf_low <= shift[int(row.model[1]), int(row.scenario[1:])] <= row.conf_high
                for row in answer.cells()
            ])
        )  # fmt: skip
    rate, noise = np.mean(held), np.std(held, ddof=1) / 10
    measured("held", float(rate))
    assert rate + 3 * noise > 0.93
    assert rate - 3 * noise < 0.98


@pytest.mark.slow
@pytest.mark.parametrize(("n_scenarios", "kind"), [(10, "continuous"), (40, "continuous"), (15, "binary")])
def test_level_of_the_variance_tests(n_scenarios, kind, measured):
    """No model differs from another in where it breaks: half of the time the variance is 0 and p is 1."""
    p = {"model:scenario": [], "scenario": []}
    n = 200
    for between, term in ((0.8, "model:scenario"), (0.0, "scenario")):
        for answer in answers(n, kind=kind, n_scenarios=n_scenarios, between=between, own=0.0):
            tests, _ = term_tests(answer.table, answer.choice, answer.fitted, n_resamples=0, seed=1, on_step=None)
            p[term] += [row.p_value for row in tests if row.term == term]
    for term, values in p.items():
        rate = np.mean(np.array(values) <= ALPHA)
        measured(term, float(rate))
        assert len(values) > 0.9 * n
        assert rate <= ALPHA + 3 * np.sqrt(ALPHA * LEVEL / len(values))


@pytest.mark.slow
def test_false_drops_of_sampled_scenarios(measured):
    """Nothing differs: at most 5% of models show any scenario that is unlike the average."""
    shown = []
    for answer in answers(150, n_scenarios=12, between=0.0, own=0.0):
        drops = answer.drops("average")
        shown.append(
            np.mean([any(row.verdict in ("drop", "gain") for row in drops if row.model == m) for m in ("m0", "m1")])
        )
    measured("false", float(np.mean(shown)))
    assert np.mean(shown) <= ALPHA + 3 * np.sqrt(ALPHA * LEVEL / 150)


@pytest.mark.slow
def test_power_of_the_variance_test(measured):
    p = []
    for answer in answers(60, n_scenarios=25, between=0.5, own=0.8):
        tests, _ = term_tests(answer.table, answer.choice, answer.fitted, n_resamples=0, seed=1, on_step=None)
        p += [row.p_value for row in tests if row.term == "model:scenario"]
    measured("power", float(np.mean(np.array(p) <= ALPHA)))
    assert np.mean(np.array(p) <= ALPHA) > 0.8
    assert stats.binomtest(sum(value <= ALPHA for value in p), len(p)).proportion_ci().low > 0.6
