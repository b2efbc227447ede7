"""Which model is fitted for which design, and how scenarios count."""

import numpy as np
import polars as pl
import pytest
from scipy import stats

from evalstats.analysis.scenarios.design import MOST_FIXED, weight_shares
from evalstats.analysis.scenarios.scenarios import scenarios
from evalstats.errors import CannotAnswerError, InputError
from evalstats.loaders.frames import from_frame
from tests.analysis.scenarios.inner import inner
from tests.analysis.scenarios.tables import binary, graded, table

FLAT = np.zeros((2, 3))


def terms(data, **more):
    return inner(data, pool=False, **more).choice.random


@pytest.mark.parametrize(
    ("made", "options", "expected"),
    [
        # Each item in one scenario, one answer of each model.
        (lambda rng: graded(rng, n_items=12), {"nested": True}, ("item",)),
        # The same with trials: a model's own luck with an item can be told from noise.
        (lambda rng: graded(rng, n_items=12, n_trials=3), {"nested": True}, ("item", "item:model")),
        # Items in every scenario: an item's answers in one scenario, and of one model, share something.
        (lambda rng: graded(rng, n_items=12), {}, ("item", "item:scenario", "item:model")),
        (
            lambda rng: graded(rng, n_items=12, n_trials=2),
            {},
            ("item", "item:scenario", "item:model", "item:scenario:model"),
        ),
        (lambda rng: graded(rng, n_items=12, n_models=1), {}, ("item",)),
        (lambda rng: binary(rng, logits=FLAT, n_items=12), {"nested": True, "kind": "binary"}, ("item",)),
        (
            lambda rng: binary(rng, logits=FLAT, n_items=12, n_trials=3),
            {"nested": True, "kind": "binary"},
            ("item", "item:model"),
        ),
        (lambda rng: binary(rng, logits=FLAT, n_items=12), {"kind": "binary"}, ("item", "item:scenario")),
        (
            lambda rng: graded(rng, n_items=12, n_scenarios=10),
            {"nested": True},
            ("item", "scenario", "model:scenario"),
        ),
    ],
)
def test_random_terms(made, options, expected):
    assert terms(table(made(np.random.default_rng(1)), **options)) == expected


def test_clusters_coarser_than_items_have_a_term():
    scores = graded(np.random.default_rng(2), n_items=24)
    topic = np.arange(24) % 8
    assert terms(table(scores, nested=True, extra={"topic": topic}), cluster="topic") == ("topic", "item")
    few = terms(table(scores, nested=True, extra={"topic": topic % 3}), cluster="topic")
    assert few == ("item",)


@pytest.mark.parametrize("n", [MOST_FIXED, MOST_FIXED + 1])
def test_named_types_are_fixed_up_to_eight(n):
    found = inner(table(graded(np.random.default_rng(3), n_items=6, n_scenarios=n)), pool=False)
    assert found.choice.scenario_as == ("fixed" if n <= MOST_FIXED else "random")
    assert str(n) in found.choice.reason
    assert found.choice.family == "gaussian"
    other = "random" if n <= MOST_FIXED else "fixed"
    asked = inner(table(graded(np.random.default_rng(3), n_items=6, n_scenarios=n)), as_=other, pool=False)
    assert asked.choice.scenario_as == other
    assert asked.choice.reason == "it was asked for"


def test_fewer_than_five_scenarios_are_no_sample():
    with pytest.raises(InputError, match="4 scenarios cannot be random"):
        inner(table(graded(np.random.default_rng(3), n_scenarios=4)), as_="random")


def test_the_formula_of_the_choice_reads_back():
    found = inner(table(graded(np.random.default_rng(3), n_items=12)), pool=False)
    assert found.choice.formula == (
        "score ~ model * scenario + (1 | item) + (1 | item:scenario) + (1 | item:model)"
    )  # fmt: skip


@pytest.mark.parametrize(
    ("weights", "shares"),
    [
        ("equal", (1 / 3, 1 / 3, 1 / 3)),
        ("observed", (0.5, 0.3, 0.2)),
        ({"c": 0.0, "b": 0.25, "a": 0.75}, (0.75, 0.25, 0.0)),
        ({"a": 2, "b": 1, "c": 1}, (0.5, 0.25, 0.25)),
    ],
    ids=str,
)
def test_shares(weights, shares):
    found, words, notes = weight_shares(weights, ["a", "b", "c"], [50, 30, 20])
    assert found == pytest.approx(shares)
    assert words
    assert bool(notes) == (isinstance(weights, dict) and sum(weights.values()) != 1)


def test_what_is_advised_where_no_item_has_a_second_score_works() -> None:
    rows = [
        {"item": f"{model} {scenario} {i}", "model": model, "scenario": scenario, "score": float(i % 3 > 0)}
        for model in "ab"
        for scenario in ("plain", "goal switching")
        for i in range(20)
    ]
    data = from_frame(pl.DataFrame(rows), item="item", score="score", model="model")
    with pytest.raises(CannotAnswerError, match="if each model has different users or items, add paired=False"):
        scenarios(data)
    assert scenarios(data, paired=False).different == "items"


def test_one_model_is_compared_over_scenarios_of_items_of_their_own() -> None:
    """One model that answers each item once: two groups, whose difference has the standard error of Welch's test."""
    scores = {"plain": [0.9, 0.7, 0.8, 0.6, 0.9, 0.7] * 5, "hard": [0.1, 0.5, 0.4, 0.2, 0.6] * 4}
    rows = [
        {"item": f"{scenario} {i}", "model": "a", "scenario": scenario, "score": value}
        for scenario, values in scores.items()
        for i, value in enumerate(values)
    ]
    found = scenarios(from_frame(pl.DataFrame(rows), item="item", score="score", model="model"))
    (drop,) = found.drops
    welch = stats.ttest_ind(scores["hard"], scores["plain"], equal_var=False)
    assert drop.estimate == pytest.approx(np.mean(scores["hard"]) - np.mean(scores["plain"]))
    assert drop.std_error == pytest.approx(drop.estimate / welch.statistic, rel=1e-6)
    assert found.reference == "plain"
