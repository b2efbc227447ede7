"""Data that cannot be answered from, or only in part: what is said, in words."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from evalstats.analysis.scenarios.scenarios import scenarios
from evalstats.errors import CannotAnswerError, InputError
from tests.analysis.builders import data_of
from tests.analysis.scenarios.inner import inner
from tests.analysis.scenarios.tables import binary, graded, lines, rows, table
from tests.analysis.scenarios.test_scenarios import LOGITS, ORDER

FEW = "too few"


@pytest.fixture(scope="module")
def scores():
    return graded(np.random.default_rng(1), n_items=20)


def ask(data, **more):
    return scenarios(data, **{"n_resamples": 0, **more})


def cell(found, model, scenario):
    return next(row for row in found.cells if (row.model, row.scenario) == (model, scenario))


@pytest.mark.parametrize(
    ("more", "error", "words"),
    [
        ({"reference": "zzz"}, InputError, "'zzz' is no scenario; there are 's0', 's1', 's2'"),
        ({"weights": {"s0": 1, "zz": 2}}, InputError, "'zz' is no scenario"),
        ({"weights": {"s0": 1, "s1": 2}}, InputError, "'s2' has no weight"),
        ({"weights": {"s0": 1, "s1": -2, "s2": 1}}, InputError, "the weight of 's1' is -2"),
        ({"weights": {"s0": 1, "s1": float("nan"), "s2": 1}}, InputError, "the weight of 's1' is nan"),
        ({"weights": {"s0": 0, "s1": 0, "s2": 0}}, InputError, "all weights are 0"),
        ({"weights": "some"}, InputError, "'equal', 'observed', or a share"),
        ({"scenario": "zzz"}, InputError, "no column 'zzz'"),
        ({"scenario": "model"}, (InputError, CannotAnswerError), "model"),
        ({"formula": "score ~ model * scenario + (1|zzz)"}, InputError, "no column 'zzz'"),
        ({"formula": "score ~ model * scenario + (1|item"}, InputError, "cannot be read"),
        ({"formula": "score ~ model + (1|item)"}, InputError, "no scenario"),
        ({"formula": "score ~ scenario + (1|item)"}, InputError, "no model"),
        ({"formula": "score ~ model * scenario"}, InputError, "no random part"),
        ({"formula": "y ~ model * scenario + (1|item)"}, InputError, "no column 'y'"),
        ({"formula": "score ~ model * scenario + (1|item)", "as_": "fixed"}, InputError, "give either"),
        ({"as_": "random"}, InputError, "3 scenarios cannot be random"),
        ({"models": ["m0", "zz"]}, InputError, "zz"),
        ({"cluster": "zzz"}, InputError, "zzz"),
        ({"metric": "zzz"}, InputError, "zzz"),
        ({"contrast": "zzz"}, InputError, "zzz"),
        ({"n_resamples": -1}, InputError, "n_resamples"),
        ({"n_resamples": 2.5}, InputError, "n_resamples"),
    ],
    ids=str,
)
def test_unknown_names_and_options(scores, more, error, words):
    with pytest.raises(error, match=words):
        ask(table(scores), **more)


def test_one_scenario(scores):
    with pytest.raises(InputError, match="the one level 's0'"):
        ask(table(scores[:, :1]))


def test_no_scenario():
    """Versions of the same items are the scenarios where none is named; without either the column has to be."""
    every = rows(graded(np.random.default_rng(1), n_items=5))
    named = [row.estimate for row in ask(data_of(every, kind="continuous")).cells]
    for row in every:
        row["key"] = row["item"]  # a column that describes items is no better than their versions
        del row["scenario"]
    assert [row.estimate for row in ask(data_of(every, kind="continuous")).cells] == pytest.approx(named)
    for row in every:
        row["item"] = f"{row['item']} {row.pop('variant')}"
        del row["key"]
    with pytest.raises(InputError, match="name the column with scenario="):
        ask(data_of(every, kind="continuous"))


def test_two_benchmarks(scores):
    every = [*rows(scores), *rows(scores, benchmark="other")]
    with pytest.raises((InputError, CannotAnswerError), match="benchmark"):
        ask(data_of(every, kind="continuous"))


def test_no_score_at_all(scores):
    every = [dict(row, score=None, status="error") for row in rows(scores)]
    with pytest.raises((InputError, CannotAnswerError)):
        ask(data_of(every, kind="continuous"))


def test_a_constant_response(scores):
    with pytest.raises(CannotAnswerError, match="same response"):
        ask(table(np.ones_like(scores)))
    for value, words in ((1.0, "successes"), (0.0, "failures")):
        with pytest.raises(CannotAnswerError, match=words):
            ask(table(np.full((2, 3, 10), value), kind="binary"))


@pytest.mark.parametrize("nested", [False, True])
def test_one_item_a_cell(nested):
    """One answer of each model in each scenario leaves nothing to judge by, or no independent units."""
    with pytest.raises((InputError, CannotAnswerError)):
        ask(table(graded(np.random.default_rng(2), n_items=1, n_models=1), nested=nested))
    try:
        found = ask(table(graded(np.random.default_rng(2), n_items=1), nested=nested))
    except CannotAnswerError:
        return
    assert all(row.verdict in ("invalid", "not shown") for row in found.drops)


def test_an_empty_cell(scores):
    holed = scores.copy()
    holed[0, 1] = np.nan
    found = ask(table(holed), reference="s0")
    row = cell(found, "m0", "s1")
    assert (row.estimate, row.pooled, row.n_items, row.n_missing) == (None, None, 0, 20)
    assert "not scored" in row.reason
    row = next(row for row in found.drops if (row.model, row.scenario) == ("m0", "s1"))
    assert (row.verdict, row.estimate) == ("invalid", None)
    assert "not scored in this scenario" in row.verdict_reason
    mean = next(row for row in found.models if row.name == "m0")
    assert mean.estimate is None
    assert "one is missing" in mean.reason
    assert any("no score, and no number" in text for text in lines(found))
    others = next(row for row in found.drops if (row.model, row.scenario) == ("m1", "s1"))
    assert others.estimate == pytest.approx((scores[1, 1] - scores[1, 0]).mean(), abs=ORDER)


def test_an_empty_reference(scores):
    holed = scores.copy()
    holed[0, 0] = np.nan
    found = ask(table(holed), reference="s0")
    own = [row for row in found.drops if row.model == "m0"]
    assert {row.verdict for row in own} == {"invalid"}
    assert all("reference" in row.verdict_reason for row in own)


def test_one_model(scores):
    found = ask(table(scores[:1]), reference="s0")
    assert found.formula.replace(" ", "").startswith("score~scenario+")
    assert found.pairs == ()
    assert found.ranking is None
    assert found.reliability.reason
    assert cell(found, "m0", "s1").pooled is None
    difference = scores[0, 1] - scores[0, 0]
    assert next(row for row in found.drops if row.scenario == "s1").estimate == pytest.approx(
        difference.mean(), abs=ORDER
    )
    assert found.tests[0].term == "scenario"


def test_fewer_than_five_clusters():
    """Numbers are shown, but no interval, no test and no verdict."""
    rng = np.random.default_rng(4)
    for data, more in (
        (table(graded(rng, n_items=4)), {}),
        (table(graded(rng, n_items=15), extra={"topic": np.arange(15) % 3}), {"cluster": "topic"}),
        (table(binary(rng, logits=LOGITS, n_items=15), kind="binary", extra={"topic": np.arange(15) % 3}), {"cluster": "topic"}),
        (table(graded(rng, n_items=3, n_scenarios=12)), {}),
    ):  # fmt: skip
        found = ask(data, **more)
        assert any(FEW in text for text in lines(found))
        for row in (*found.cells, *found.models):
            assert row.estimate is not None
            assert row.conf_low is None
            assert row.conf_high is None
            assert FEW in row.reason
        assert all(row.pooled_low is None for row in found.cells)
        for row in found.drops:
            assert (row.verdict, row.conf_low, row.p_value, row.pooled_low) == ("invalid", None, None, None)
            assert FEW in row.verdict_reason
        assert not any(row.separated for row in found.pairs)


def test_a_model_at_100_percent_in_a_scenario():
    """Separation: said, and no number is infinite; the cell's interval does not shrink to nothing."""
    scores = binary(np.random.default_rng(5), logits=LOGITS, n_items=40)
    scores[0, 0] = 1
    found = ask(table(scores, kind="binary"), reference="s1")
    assert found.penalty
    assert any("separation" in text for text in lines(found))
    row = cell(found, "m0", "s0")
    assert row.observed == 1.0
    assert 0.95 < row.estimate < 1
    assert np.isfinite(row.link)
    # The exact upper bound of no failure in 40: a lower end of .91.
    assert row.conf_low is None or row.conf_low < 0.96
    assert row.conf_high is None or row.conf_high < 1
    for other in found.cells:
        assert all(value is None or np.isfinite(value) for value in (other.link, other.std_error, other.pooled))


def test_a_model_at_100_percent_everywhere():
    scores = binary(np.random.default_rng(5), logits=LOGITS, n_items=20)
    scores[0] = 1
    found = ask(table(scores, kind="binary"), reference="s1")
    own = [row for row in found.drops if row.model == "m0"]
    assert all(row.verdict in ("invalid", "not shown") for row in own)
    assert all(row.conf_low is None or row.conf_high - row.conf_low > 0.02 for row in own)


def test_a_cell_of_one_score(scores):
    """No spread of its own: no interval of its own, nor one of width nothing by pooling."""
    flat = scores.copy()
    flat[0, 0] = 3.0
    found = ask(table(flat), reference="s1")
    row = cell(found, "m0", "s0")
    for low, high in ((row.conf_low, row.conf_high), (row.pooled_low, row.pooled_high)):
        assert low is None or high - low > 0.05


def test_a_model_and_its_copy(scores):
    """No contrast of the two has any spread; all others stand."""
    copied = scores.copy()
    copied[1] = copied[0]
    found = ask(table(copied), reference="s0")
    pair = next(row for row in found.pairs if {row.first, row.second} == {"m0", "m1"})
    assert (pair.estimate, pair.p_value, pair.separated) == (pytest.approx(0.0, abs=ORDER), None, False)
    assert pair.reason
    assert next(row for row in found.drops if row.model == "m2").conf_low is not None
    one, two = ([row.estimate for row in found.drops if row.model == name] for name in ("m0", "m1"))
    assert one == pytest.approx(two, abs=ORDER)


def test_scores_that_are_missing_are_not_wrong():
    """Harness errors and unscored rows are left out, counted and said."""
    scores = binary(np.random.default_rng(6), logits=LOGITS, n_items=30)
    every = rows(scores)
    # The first model alone loses ten answers in the first scenario and eight in the last.
    lost = [*range(10), *range(60, 68)]
    for k in lost:
        every[k].update(score=None, status="error" if k % 2 else "unscored")
    found = ask(data_of(every, kind="binary"))
    assert (found.n_error, found.n_unscored) == (9, 9)
    assert found.n_trials == 180 - 18
    assert any("not counted as wrong" in text for text in lines(found))
    for i, j in np.ndindex(2, 3):
        kept = [
            row["score"]
            for row in every
            if (row["model"], row["scenario"]) == (f"m{i}", f"s{j}") and row["score"] is not None
        ]
        row = cell(found, f"m{i}", f"s{j}")
        assert row.observed == pytest.approx(np.mean(kept))
        assert row.n_items == len(kept)
        assert row.n_missing == 30 - len(kept)


def test_items_missing_by_design(scores):
    """Half of the items of one model: its cells are still of all models' items, by what these tell of an item."""
    rng = np.random.default_rng(7)
    easy = np.sort(rng.choice(20, 10, replace=False))
    strong = graded(rng, n_items=20, item_sd=3.0, sd=0.3)
    holed = strong.copy()
    holed[0, :, np.setdiff1d(np.arange(20), easy)] = np.nan
    found = ask(table(holed), reference="s0")
    for j in range(3):
        row = cell(found, "m0", f"s{j}")
        full, raw = strong[0, j].mean(), np.nanmean(holed[0, j])
        assert row.n_missing == 10
        assert abs(row.estimate - full) < 0.5 * abs(raw - full) + 0.1


def test_bounds_hold():
    """Shares of 1 to 5 points: no interval leaves the range, no difference is wider than it."""
    rng = np.random.default_rng(9)
    scores = np.clip(np.round(4.6 + rng.normal(size=(3, 3, 12))), 1, 5)
    found = ask(table(scores, low=1.0, high=5.0))
    for row in found.cells:
        assert row.conf_low is None or 1 <= row.conf_low <= row.estimate <= row.conf_high <= 5
        assert row.pooled_low is None or 1 <= row.pooled_low <= row.pooled_high <= 5
    assert all(row.conf_low is None or -4 <= row.conf_low <= row.conf_high <= 4 for row in found.drops)


def test_two_cluster_columns():
    """What is linked by either column is one unit: a column within the other adds nothing, a chain joins all."""
    rng = np.random.default_rng(10)
    scores = graded(rng, n_items=24)
    place = np.arange(24)
    extra = {"topic": place % 8, "page": place % 16, "ring": (place // 3) % 8}
    data = table(scores, extra=extra)
    one, both = (inner(data, cluster=which, pool=False) for which in ("topic", ["topic", "page"]))
    assert one.table.n_clusters == both.table.n_clusters == 8
    for a, b in zip(one.drops(), both.drops(), strict=True):
        # The formula has a term for a single column alone; the clustered covariance is of the same units.
        assert b.estimate == pytest.approx(a.estimate, abs=ORDER)
        assert b.std_error == pytest.approx(a.std_error, rel=1e-4)
    ring = inner(data, cluster=["topic", "ring"], pool=False)
    assert ring.table.n_clusters < 8
    assert any("one unit" in note for note in ring.table.notes)
    assert ring.fitted.no_interval or ring.table.n_clusters >= 5


def test_items_out_of_scenario_are_left_out_and_said():
    """An item whose scenario differs between models has no single one."""
    every = rows(graded(np.random.default_rng(11), n_items=15), nested=True)
    for row in every:
        if row["item"] == "q003-s0" and row["model"] == "m1":
            row["scenario"] = "s1"
    found = ask(data_of(every, kind="continuous"))
    assert any("1 item of 45" in note for note in lines(found))
    assert found.n_items == 44


def test_models_measured_apart_are_no_pair_in_any_order_of_names() -> None:
    """The last by name is the best, and had five examples: no pair of models holds it."""
    scores = graded(np.random.default_rng(3), n_items=12)[:3] + np.array([0.0, 1.0, 3.0])[:, None, None, None]
    data = table(scores)
    data = replace(data, runs=data.runs.with_columns(pl.Series("n_shots", [0, 0, 5])))
    found = scenarios(data, n_resamples=0)
    assert found.model_names == ("m2", "m1", "m0")
    assert [(pair.first, pair.second) for pair in found.pairs] == [("m1", "m0")]
    assert len(scenarios(data, n_resamples=0, accept=["n_shots"]).pairs) == 3
