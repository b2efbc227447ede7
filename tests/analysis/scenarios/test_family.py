"""All changes of a table are one family: marks, intervals and p agree, near 0% and 100% too, and many scenarios are quick."""

import numpy as np
import pytest

from dev.validation.scenarios import changes
from evalstats.analysis.scenarios.scenarios import scenarios
from evalstats.stats.many.multiplicity import benjamini_hochberg, holm
from tests.analysis.scenarios.inner import without_the_split
from tests.analysis.scenarios.tables import binary, graded, lines, table

ALPHA = 0.05


@pytest.fixture(autouse=True)
def _cells_and_changes_alone(monkeypatch):
    without_the_split(monkeypatch)


def made(kind, nested, *, seed=4, logit=2.5):
    rng = np.random.default_rng(seed)
    logits = np.full((4, 4), logit)
    logits[0, 1] = logit - 3.5
    if kind == "binary":
        return table(binary(rng, logits=logits, n_items=25, nested=nested), kind="binary", nested=nested)
    bounds = {"low": 0.0, "high": 1.0} if kind == "bounded" else {}
    scores = graded(rng, n_models=4, n_scenarios=4, n_items=20, means=logits, item_sd=0.0 if nested else 1.0)
    scores = 1 / (1 + np.exp(-scores)) if kind == "bounded" else scores
    return table(scores, kind="continuous", nested=nested, **bounds)


@pytest.mark.parametrize(
    ("kind", "nested", "reference"),
    [
        *(("binary", nested, reference) for nested in (True, False) for reference in ("s0", "average")),
        # Every two of what differs are met together.
        ("bounded", True, "average"),
        ("bounded", False, "s0"),
        ("unbounded", True, "s0"),
        ("unbounded", False, "average"),
    ],
)
def test_interval_p_and_mark_agree(kind, nested, reference):
    found = scenarios(made(kind, nested), reference=reference, n_resamples=0)
    rows = [row for row in found.drops if row.p_value is not None]
    assert len(rows) == (16 if reference == "average" else 12)
    p = np.array([row.p_value for row in rows])
    np.testing.assert_allclose([row.p_adjusted for row in rows], benjamini_hochberg(p), rtol=1e-12)
    np.testing.assert_allclose([row.p_holm for row in rows], holm(p), rtol=1e-12)
    for row in rows:
        excludes = row.conf_low > 0 or row.conf_high < 0
        assert excludes == (row.p_adjusted <= ALPHA)
        assert row.conf_low <= row.estimate <= row.conf_high
        if row.log_odds is not None:
            assert (row.log_odds_low > 0 or row.log_odds_high < 0) == excludes
        if row.verdict in ("drop", "gain"):
            assert excludes
            assert (row.verdict == "drop") == (row.estimate < 0)
    shown = [row for row in rows if row.verdict == "drop"]
    assert ("m0", "s1") in {(row.model, row.scenario) for row in shown}
    assert "s1" in found.document().headline


def test_a_cell_without_failures_is_no_gain():
    """20 of 20 beside scenarios of 17 or 18: Wald's test took the cell for certain, with a p of .0001."""
    scores = np.ones((2, 4, 20))
    scores[:, 1:, :2] = 0
    scores[0, 2, :3] = 0
    found = scenarios(table(scores, kind="binary", nested=True), n_resamples=0)
    assert found.reference == "average"
    row = found.drop("m0", "s0")
    assert (row.verdict, row.estimate > 0.1, row.p_value > 0.01) == ("not shown", True, True)
    assert row.conf_low < 0 < row.conf_high
    cell = found.cell("m0", "s0")
    assert cell.conf_low == pytest.approx(20 / (20 + 1.959964**2), abs=1e-6)  # Wilson's lower end of 20 of 20
    assert cell.conf_high == pytest.approx(1)


def test_all_of_one_and_none_of_the_other_is_a_drop():
    """No cell has any spread of its own, and nothing could be plainer."""
    scores = np.ones((2, 2, 20))
    scores[0, 1] = 0
    found = scenarios(table(scores, kind="binary", nested=True), n_resamples=0)
    row = found.drop("m0", "s1")
    assert (row.verdict, row.estimate) == ("drop", -1.0)
    assert -1 <= row.conf_low <= -0.99 < row.conf_high < -0.5


@pytest.mark.parametrize("nested", [True, False])
def test_the_simulated_family_is_the_one_of_the_answer(nested):
    """What `make validate` tallies is what is answered, up to the mixed model that shared items are fitted with."""
    scores = binary(np.random.default_rng(8), logits=np.full((3, 4), 2.0), n_items=25, nested=nested)
    found = scenarios(table(scores, kind="continuous", low=0.0, high=1.0, nested=nested), n_resamples=0)
    order = {(row.model, row.scenario): row.p_adjusted for row in found.drops}
    p = [order[f"m{i}", f"s{j}"] for i in range(3) for j in range(4)]
    np.testing.assert_allclose(p, changes(scores[..., 0], crossed=not nested), atol=1e-9 if nested else 0.1)


@pytest.mark.slow
@pytest.mark.parametrize("nested", [True, False])
@pytest.mark.parametrize(
    ("n_models", "n_scenarios", "n_items", "logit"), [(5, 5, 40, 2.6), (8, 4, 20, 3.5), (5, 8, 30, 0)]
)
def test_a_table_without_a_difference_holds_no_mark(n_models, n_scenarios, n_items, logit, nested):
    """Any false drop or gain in at most 6% of tables, where Wald's test within each model marked half of them."""
    logits, any_mark, n = np.full((n_models, n_scenarios), float(logit)), 0, 150
    for seed in range(n):
        scores = binary(np.random.default_rng([9, seed]), logits=logits, n_items=n_items, nested=nested)
        p = changes(scores[..., 0], crossed=not nested)
        any_mark += bool((p <= ALPHA).any())
    assert any_mark / n <= 0.06 + 3 * np.sqrt(ALPHA * (1 - ALPHA) / n)


def test_many_scenarios_need_no_model():
    """57 subjects of 246 questions took minutes: no score is missing, and plain means are the answer."""
    rng = np.random.default_rng(5)
    logits = rng.normal(0.8, 0.5, size=(2, 1)) + rng.normal(0, 0.5, size=57)
    data = table(binary(rng, logits=logits, n_items=20, nested=True), kind="binary", nested=True)
    found = scenarios(data, as_="fixed", n_resamples=0)
    assert found.method == "plain means of cells"
    assert (len(found.cells), len(found.drops)) == (114, 114)
    assert all(row.estimate == pytest.approx(row.observed) for row in found.cells)
    assert found.interaction.p_value is not None


def test_missing_scores_need_the_model():
    scores = binary(np.random.default_rng(6), logits=np.zeros((2, 3)), n_items=30, nested=True)
    scores[0, 1, 4] = np.nan
    found = scenarios(table(scores, kind="binary", nested=True), n_resamples=0)
    assert found.method.startswith("binomial (logit) mixed model")


def test_many_fixed_scenarios_with_missing_scores_say_so():
    scores = binary(np.random.default_rng(6), logits=np.zeros((2, 10)), n_items=12, nested=True)
    scores[0, 1, 4] = np.nan
    found = scenarios(table(scores, kind="binary", nested=True), as_="fixed", n_resamples=0)
    assert found.method == "plain means of cells"
    assert any("1 score of single models is missing" in text for text in lines(found))
