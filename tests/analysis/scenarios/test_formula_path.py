"""A formula of the user's: what is taken from it, and what stays as it is."""

import numpy as np
import pytest

from evalstats.analysis.scenarios.scenarios import scenarios
from evalstats.errors import InputError
from tests.analysis.scenarios.inner import without_the_split
from tests.analysis.scenarios.tables import binary, graded, table

ORDER = 1e-6
LOGITS = np.array([[0.0, 1.0, 0.5], [1.0, 1.0, 1.0]])


@pytest.fixture(autouse=True)
def _cells_and_changes_alone(monkeypatch):
    without_the_split(monkeypatch)


@pytest.fixture(scope="module")
def crossed():
    return graded(np.random.default_rng(3), n_items=24, n_trials=2)


@pytest.fixture(scope="module")
def nested():
    return graded(np.random.default_rng(4), n_items=12, n_scenarios=8)


@pytest.fixture(scope="module")
def without_formula(crossed):
    return scenarios(table(crossed, extra={"topic": np.arange(24) % 8}), reference="s0", n_resamples=0)


def ask(data, formula, **more):
    return scenarios(data, formula=formula, n_resamples=0, **more)


def plain_parts(found):
    """What rests on the data alone, whatever the model."""
    cells = {(row.model, row.scenario): (row.observed, row.n_items, row.n_trials, row.n_missing) for row in found.cells}
    drops = {(row.model, row.scenario): (row.paired, row.paired_low, row.paired_high) for row in found.drops}
    return cells, drops


@pytest.mark.parametrize(
    "formula",
    [
        "score ~ model * scenario + (1 | item)",
        "score ~ scenario * model + (1 | item) + (1 | item:model)",
        "score ~ model + scenario + (1 | item)",
    ],
)
def test_what_rests_on_the_data_alone(crossed, without_formula, formula):
    data = table(crossed, extra={"topic": np.arange(24) % 8})
    given = ask(data, formula, reference="s0")
    assert given.formula == formula
    assert given.scenario_reason == "the formula says so"
    for one, two in zip(plain_parts(without_formula), plain_parts(given), strict=True):
        assert one.keys() == two.keys()
        for key, values in one.items():
            assert two[key] == pytest.approx(values, abs=1e-12), key


def test_items_taken_as_independent_scores_are_refused(crossed):
    data = table(crossed, extra={"topic": np.arange(24) % 8})
    with pytest.raises(InputError, match=r"takes all scores of an item as independent; add \(1 \| item\)"):
        scenarios(data, formula="score ~ model * scenario + (1 | topic)", n_resamples=0)


def test_order_of_terms_leaves_no_trace(crossed):
    one = ask(table(crossed), "score ~ model * scenario + (1 | item) + (1 | item:model)", reference="s0")
    two = ask(table(crossed), "score ~ scenario*model + (1|model:item) + (1|item)", reference="s0")
    assert two.log_likelihood == pytest.approx(one.log_likelihood, abs=ORDER)
    for a, b in zip(one.drops, two.drops, strict=True):
        assert (a.model, a.scenario) == (b.model, b.scenario)
        assert (b.estimate, b.std_error) == pytest.approx((a.estimate, a.std_error), abs=1e-5)


def test_no_interaction_in_the_formula(crossed):
    """Every model drops alike by assumption; that is not called a test of it."""
    found = ask(table(crossed), "score ~ model + scenario + (1 | item)", reference="s0")
    by_scenario = {}
    for row in found.drops:
        by_scenario.setdefault(row.scenario, []).append(row.estimate)
    means = crossed.mean(axis=(0, 2, 3))
    for name, values in by_scenario.items():
        assert values == pytest.approx([means[int(name[1])] - means[0]] * 3, abs=ORDER)
    assert not [row for row in found.tests if row.term == "model:scenario"]
    right = ask(
        table(binary(np.random.default_rng(5), logits=LOGITS), kind="binary"), "score ~ model + scenario + (1|item)"
    )
    assert not [row for row in right.tests if row.term == "model:scenario"]


def test_sampled_scenarios_by_formula(nested):
    data = table(nested, nested=True)
    default = scenarios(data, as_="random", n_resamples=0)
    given = ask(data, "score ~ model + (1 | item) + (1 | scenario) + (1 | model:scenario)")
    assert given.scenario_as == "random"
    assert given.log_likelihood == pytest.approx(default.log_likelihood, abs=ORDER)
    for one, two in zip(default.cells, given.cells, strict=True):
        assert two.estimate == pytest.approx(one.estimate, abs=1e-5)
        assert two.std_error == pytest.approx(one.std_error, rel=1e-4)
    for one, two in zip(default.models, given.models, strict=True):
        assert (two.estimate, two.std_error) == pytest.approx((one.estimate, one.std_error), abs=1e-5)
    assert [row.term for row in given.tests] == [row.term for row in default.tests]
    for one, two in zip(default.tests, given.tests, strict=True):
        assert two.p_value == pytest.approx(one.p_value, rel=1e-3, abs=1e-6)


def test_slopes_by_scenario_are_refused_in_words():
    data = table(graded(np.random.default_rng(6), n_items=4, n_scenarios=10), nested=True)
    with pytest.raises(InputError, match="random slope by scenario"):
        ask(data, "score ~ model + (1 + model | scenario) + (1 | item)")


def test_items_are_units_though_the_formula_has_none(crossed, without_formula):
    """A formula that leaves items out does not make their answers independent."""
    found = ask(table(crossed), "score ~ model * scenario + (1 | item:model)", reference="s0")
    assert found.n_clusters == 24
    for one, two in zip(without_formula.drops, found.drops, strict=True):
        assert two.estimate == pytest.approx(one.estimate, abs=1e-5)
        assert two.std_error == pytest.approx(one.std_error, rel=0.05)
