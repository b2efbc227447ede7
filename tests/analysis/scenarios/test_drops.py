"""Drops: how often one is shown where there is none, how often intervals hold, and what is planted is found."""

import numpy as np
import pytest
from scipy import stats

from evalstats.analysis.scenarios.scenarios import scenarios
from evalstats.analysis.scenarios.variation import term_tests
from evalstats.loaders.registry import read
from evalstats.simulate.benchmark_files import (
    CATEGORIES,
    DOMAINS,
    harm_design,
    harm_draws,
    repair_draw,
    simulated_harm_models,
    simulated_repair_models,
    write_devicerepair,
    write_harmamp,
)
from evalstats.simulate.rutbench import rutbench_truth, write_rutbench
from evalstats.simulate.rutbench_world import BEHAVIOUR_EFFECTS, RutEffects, RutModel
from tests.analysis.scenarios.inner import LEVEL, inner, without_the_split
from tests.analysis.scenarios.tables import binary, graded, table
from tests.simulate.points import expected_points

N_SIMULATED = 250
ALPHA = 1 - LEVEL


def flat_graded(n_items, *, clones=0.0, n_trials=1):
    return lambda rng: graded(rng, n_items=n_items, clones=clones, n_trials=n_trials)


def nested_graded(n_items):
    """The difficulty of an item is its own, since each is in one scenario."""
    return lambda rng: graded(rng, n_items=n_items, item_sd=0) + rng.normal(size=(1, 3, n_items, 1))


def flat_binary(n_items, *, logit=0.3, nested=False, n_trials=1):
    logits = np.full((3, 3), logit)
    return lambda rng: binary(rng, logits=logits, n_items=n_items, nested=nested, n_trials=n_trials)


CASES = {
    "graded, 10 items": (flat_graded(10), "continuous", False),
    "graded, 50 items": (flat_graded(50), "continuous", False),
    "graded, copies": (flat_graded(20, clones=0.99), "continuous", False),
    "graded, trials": (flat_graded(15, n_trials=3), "continuous", False),
    "graded, 10 items in each": (nested_graded(10), "continuous", True),
    "graded, 30 items in each": (nested_graded(30), "continuous", True),
    "binary, 10 items": (flat_binary(10), "binary", False),
    "binary, 50 items": (flat_binary(50), "binary", False),
    "binary, 15 items in each": (flat_binary(15, nested=True), "binary", True),
    "binary, 50 items in each": (flat_binary(50, nested=True), "binary", True),
    "binary, trials": (flat_binary(15, nested=True, n_trials=4), "binary", True),
    "binary, near 100%": (flat_binary(25, logit=2.5), "binary", False),
    "binary, near 100%, in each": (flat_binary(25, logit=2.5, nested=True), "binary", True),
}


@pytest.fixture(autouse=True)
def _cells_and_changes_alone(monkeypatch):
    without_the_split(monkeypatch)


@pytest.fixture
def measured(request):
    """Keep a rate with the test's report (JUnit's properties)."""
    return lambda name, value: request.node.user_properties.append((name, value))


def replicates(made, kind, *, nested=False, n=N_SIMULATED, **more):
    """Fits to tables drawn anew; a table without any failure has no answer, and is left out."""
    for seed in range(n):
        scores = made(np.random.default_rng([17, seed]))
        if kind == "binary" and scores.min() == scores.max():
            continue
        yield inner(table(scores, kind=kind, nested=nested), **more)


def clustered_noise(values):
    """Standard error of a rate whose parts hang together within a replicate."""
    return np.std(values, ddof=1) / np.sqrt(len(values))


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_drops_where_there_are_none(name, measured):
    """At most 5% of tables show anything; single tests hold as often as they say."""
    made, kind, nested = CASES[name]
    shown, held = {"s0": [], "average": []}, {"s0": [], "average": []}
    for found in replicates(made, kind, nested=nested, pool=False):
        for reference, hits in held.items():
            drops = found.drops(reference)
            shown[reference].append(any(row.verdict in ("drop", "gain") for row in drops))
            own = [row for row in drops if row.p_value is not None]
            if own:
                hits.append(np.mean([row.p_value > ALPHA for row in own]))
    for reference, false in shown.items():
        hits = held[reference]
        measured(f"false {reference}", float(np.mean(false)))
        measured(f"held {reference}", float(np.mean(hits)))
        assert np.mean(false) <= ALPHA + 3 * np.sqrt(ALPHA * LEVEL / len(false))
        assert np.mean(hits) + 3 * clustered_noise(hits) >= LEVEL
        if "near 100%" not in name:
            assert np.mean(hits) - 3 * clustered_noise(hits) <= LEVEL + 0.03


def covers(row, true):
    """Whether the interval of a drop alone holds the truth, without the adjustment for its family."""
    return abs(row.estimate - true) <= stats.t.isf(ALPHA / 2, row.df) * row.std_error


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "nested"), [("continuous", False), ("continuous", True), ("binary", False), ("binary", True)]
)
def test_coverage_of_true_drops(kind, nested, measured):
    """Intervals of drops that are there, and of cells as they are pooled, hold .93 to .98 of the time."""
    levels = np.array([[1.0, 0.0, -0.5], [0.5, 0.5, 0.0], [0.0, -1.0, 0.5], [1.0, 0.8, 0.2]])
    n_items = 40
    if kind == "binary":
        node, weight = np.polynomial.hermite_e.hermegauss(60)
        truth = (1 / (1 + np.exp(-(levels[..., None] + node)))) @ weight / weight.sum()
        made = lambda rng: binary(rng, logits=levels, n_items=n_items, nested=nested)  # noqa: E731
    else:
        truth = levels
        made = lambda rng: graded(rng, n_models=4, n_items=n_items, means=levels, item_sd=0.0 if nested else 1.0)  # noqa: E731
    held, pooled = [], []
    for found in replicates(made, kind, nested=nested, reference="s0", n=200):
        place = {name: k for k, name in enumerate(("m0", "m1", "m2", "m3"))}
        own = []
        for row in found.drops():
            true = truth[place[row.model], int(row.scenario[1])] - truth[place[row.model], 0]
            own.append(covers(row, true))
        held.append(np.mean(own))
        pooled.append(
            np.mean(
                [
                    row.pooled_low <= truth[place[row.model], int(row.scenario[1])] <= row.pooled_high
                    for row in found.cells()
                ]
            )
        )
    measured("drops", float(np.mean(held)))
    measured("pooled", float(np.mean(pooled)))
    for rates in (held, pooled):
        assert np.mean(rates) + 3 * clustered_noise(rates) > 0.93
        assert np.mean(rates) - 3 * clustered_noise(rates) < 0.98


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        "graded, 10 items",
        "graded, copies",
        "graded, 30 items in each",
        "binary, 50 items",
        "binary, 15 items in each",
        "binary, near 100%, in each",
    ],
)
def test_level_of_the_interaction_test(name, measured):
    """The headline: permutation of scenarios. Where it is not made (next to no failures) nothing is claimed."""
    made, kind, nested = CASES[name]
    p = []
    for found in replicates(made, kind, nested=nested, pool=False, n=200):
        tests, _ = term_tests(found.table, found.choice, found.fitted, n_resamples=0, seed=1, on_step=None)
        p += [row.p_value for row in tests if row.role == "headline"]
    rate = np.mean(np.array(p) <= ALPHA) if p else 0.0
    measured("rate", float(rate))
    measured("made", len(p) / 200)
    assert rate <= ALPHA + 3 * np.sqrt(ALPHA * LEVEL / max(len(p), 50))


@pytest.mark.parametrize(("kind", "nested"), [("continuous", True), ("binary", False)])
def test_a_planted_drop_is_found(kind, nested):
    """One model breaks in one scenario: that drop and no other, the interaction, and the change of ranks."""
    levels = np.array([[1.5, 1.5, -1.0], [0.5, 0.5, 0.5]])
    rng = np.random.default_rng(23)
    if kind == "binary":
        scores = binary(rng, logits=levels, n_items=120, nested=nested)
    else:
        scores = graded(rng, n_models=2, n_items=60, means=levels, item_sd=0.0)
    found = scenarios(table(scores, kind=kind, nested=nested), reference="s0", n_resamples=0)
    assert {(row.model, row.scenario) for row in found.drops if row.verdict == "drop"} == {("m0", "s2")}
    assert not any(row.verdict == "gain" for row in found.drops)
    assert found.tests[0].term == "model:scenario"
    assert found.tests[0].p_value < 0.01
    assert found.ranking.shown
    crossing = next(row for row in found.ranking.crossings if row.shown)
    assert {crossing.first, crossing.second} == {"m0", "m1"}


def test_simulated_rut_bench_is_recovered(tmp_path):
    """Behaviours, each model's own weakness, and the reference of cooperative users, from files in the benchmark's format."""
    effects = RutEffects(behaviour={**BEHAVIOUR_EFFECTS, "goal_switching": -2.0}, sd_behaviour_model=0.0)
    models = [RutModel(name=name, success_rate=rate) for name, rate in (("one", 0.55), ("two", 0.4))]
    options = {"calibrate": "rate", "effects": effects, "n_tasks": 120, "seed": 3}
    write_rutbench(tmp_path, models, **options)
    found = scenarios(read(tmp_path, strict=True), metric="success", n_resamples=0)
    truth = {
        (model, level): p
        for model, level, p in rutbench_truth(models, **options).select("model", "scenario", "probability").iter_rows()
    }
    assert found.reference == "stable"
    assert (found.family, found.scenario_as, found.n_scenarios) == ("binomial", "fixed", 7)
    inside = [row.conf_low <= truth[row.model, row.scenario] <= row.conf_high for row in found.cells]
    # Fourteen intervals of the population's mean, held against that of the tasks drawn: one miss may be luck.
    assert sum(inside) >= 13
    for row in found.drops:
        true = truth[row.model, row.scenario] - truth[row.model, "stable"]
        assert row.conf_low - 0.02 <= true <= row.conf_high + 0.02
        assert row.paired == pytest.approx(row.estimate, abs=0.03)
    worst = [row for row in found.drops if row.scenario == "goal_switching"]
    assert [row.verdict for row in worst] == ["drop", "drop"]
    assert not any(row.verdict == "gain" for row in found.drops)


def test_simulated_harm_is_lower_better(tmp_path):
    """Harm: a rate above the average of categories is a loss."""
    write_harmamp(tmp_path, ["sim-frontier"], seed=2)
    data = read(tmp_path, strict=True)
    found = scenarios(data, metric="harmfulness", contrast="defense", n_resamples=0)
    assert not found.higher_is_better
    for row in found.drops:
        if row.verdict in ("drop", "gain"):
            assert (row.estimate > 0) == (row.verdict == "drop")
    design = harm_design(2)
    probability = {
        (draw.defense, level): draw.probability[design.malicious & (design.category == place)].mean()
        for draw in harm_draws(simulated_harm_models()[2], design)
        for place, level in enumerate(CATEGORIES)
    }
    inside = [
        row.conf_low is None or row.conf_low - 0.05 <= probability[row.model, row.scenario] <= row.conf_high + 0.05
        for row in found.cells
    ]
    assert np.mean(inside) > 0.9


def test_simulated_device_repair_is_recovered(tmp_path):
    """Points from 1 to 5 in two languages: domains as planted, questions as clusters of their languages."""
    options = {"seed": 1, "n_questions": 90}
    names = ["sim-model-1", "sim-model-4"]
    write_devicerepair(tmp_path, names, **options)
    found = scenarios(read(tmp_path, strict=True), metric="correctness", n_resamples=0)
    assert found.family == "gaussian"
    draws = [repair_draw(model, 1, 90) for model in simulated_repair_models() if model.name in names]
    expected = {
        (draw.model.name, level): expected_points(draw)[draw.domain == place, :, 0].mean()
        for draw in draws
        for place, level in enumerate(DOMAINS)
    }
    assert {(row.model, row.scenario) for row in found.cells} == set(expected)
    for row in found.cells:
        error = row.std_error
        # Four standard errors: what is held against is the mean of these questions.
        assert abs(row.estimate - expected[row.model, row.scenario]) < 4 * error
        assert row.n_items > 0
    assert found.n_clusters == 90
