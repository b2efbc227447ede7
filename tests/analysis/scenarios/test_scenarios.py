"""What an answer to "where do models break?" does not depend on, and what it does."""

import numpy as np
import pytest

from evalstats.analysis.scenarios.scenarios import scenarios
from evalstats.errors import InputError
from evalstats.schema.data import EvalData
from evalstats.schema.plan import Plan
from evalstats.schema.tables import frame_from_rows
from tests.analysis.builders import data_of, rows_of
from tests.analysis.scenarios.tables import binary, graded, lines, rows, table

# The same optimum, reached from arrays in another order.
ORDER = 1e-6
LOGITS = np.array([[1.0, 0.0, -1.0], [1.5, 1.0, 0.5]])


def numbers(found, rename=lambda name: name):
    """All that is estimated, by name."""
    out = {}
    for row in found.cells:
        out["cell", rename(row.model), rename(row.scenario)] = (
            row.estimate, row.std_error, row.conf_low, row.conf_high, row.df, row.link, row.pooled, row.pooled_low,
            row.observed, row.n_items, row.n_trials, row.n_missing,
        )  # fmt: skip
    for row in found.drops:
        out["drop", rename(row.model), rename(row.scenario)] = (
            row.estimate, row.std_error, row.conf_low, row.p_value, row.p_adjusted, row.pooled, row.paired, row.paired_low,
            row.n_items,
        )  # fmt: skip
    for row in (*found.models, *found.scenarios):
        out[row.kind, rename(row.name)] = (row.estimate, row.std_error, row.conf_low)
    for row in found.variances:
        out["variance", row.term] = (row.variance, row.share)
    for row in found.tests:
        if not row.n_resamples:
            out["test", row.term, row.method] = (row.statistic, row.p_value)
    out["likelihood"] = (found.log_likelihood, found.aic, found.bic)
    return out


def same(one, two, tolerance=ORDER):
    assert one.keys() == two.keys()
    for key, values in one.items():
        for a, b in zip(values, two[key], strict=True):
            assert (a is None) == (b is None), key
            assert a is None or a == pytest.approx(b, abs=tolerance, rel=100 * tolerance), key


@pytest.fixture(scope="module")
def scores():
    made = graded(np.random.default_rng(11), n_items=20, means=np.array([[0, 1.5, 0], [0, 0.2, 0], [1, 1, 1.0]]))
    made[0, 1, :3] = np.nan
    return made


@pytest.fixture(scope="module")
def found(scores):
    return scenarios(table(scores), reference="s0", n_resamples=0)


@pytest.fixture(scope="module")
def right_or_wrong():
    return binary(np.random.default_rng(12), logits=LOGITS, n_items=40)


def test_order_of_rows(scores, found):
    every = rows(scores)
    shuffled = [every[k] for k in np.random.default_rng(0).permutation(len(every))]
    again = scenarios(data_of(shuffled, kind="continuous"), reference="s0", n_resamples=0)
    same(numbers(again), numbers(found), 1e-9)


def test_names(scores, found):
    """Models and scenarios renamed so that their order turns round; items renamed likewise."""
    models, levels = ("z", "y", "x"), ("kappa", "beta", "alpha")
    items = [f"i{40 - k}" for k in range(20)]
    again = scenarios(
        table(scores, models=models, scenarios=levels, items=items), reference="kappa", n_resamples=0
    )  # fmt: skip
    names = dict(zip((*models, *levels), ("m0", "m1", "m2", "s0", "s1", "s2"), strict=True))
    same(numbers(again, lambda name: names[name]), numbers(found))


def test_shift_and_scale(scores, found):
    again = numbers(scenarios(table(10 * scores - 3), reference="s0", n_resamples=0))
    for key, values in numbers(found).items():
        if key[0] == "drop":
            assert again[key][0] == pytest.approx(10 * values[0], abs=1e-5)
            assert again[key][1] == pytest.approx(10 * values[1], rel=1e-5)
            assert again[key][3] == pytest.approx(values[3], rel=1e-4)


def test_reference_swapped_changes_the_sign(scores, found):
    again = scenarios(table(scores), reference="s1", n_resamples=0)
    for model in ("m0", "m1", "m2"):
        there = next(row for row in found.drops if (row.model, row.scenario) == (model, "s1"))
        back = next(row for row in again.drops if (row.model, row.scenario) == (model, "s0"))
        assert back.estimate == pytest.approx(-there.estimate, abs=ORDER)
        assert back.std_error == pytest.approx(there.std_error, rel=1e-6)
        # The interval is at the level that all changes of the table leave to each, and these are others now.
        assert back.conf_low + back.conf_high == pytest.approx(-there.conf_low - there.conf_high, abs=1e-5)
        assert back.p_value == pytest.approx(there.p_value, rel=1e-4)
    # What is no contrast with the reference does not depend on it.
    assert {row.scenario: row.estimate for row in found.cells if row.model == "m0"} == pytest.approx(
        {row.scenario: row.estimate for row in again.cells if row.model == "m0"}, abs=ORDER
    )


def test_lower_is_better_turns_words_alone(scores, found):
    turned = scenarios(table(scores, higher_is_better=False), reference="s0", n_resamples=0)
    same(
        {key: value for key, value in numbers(turned).items() if key[0] != "variance"},
        {key: value for key, value in numbers(found).items() if key[0] != "variance"},
    )
    opposite = {"drop": "gain", "gain": "drop", "not shown": "not shown", "invalid": "invalid"}
    by_name = {(row.model, row.scenario): row.verdict for row in found.drops}
    assert set(by_name.values()) > {"not shown"}
    for row in turned.drops:
        assert row.verdict == opposite[by_name[row.model, row.scenario]]
    assert tuple(row.name for row in turned.models) == tuple(row.name for row in found.models)[::-1]


def test_trials_given_twice_change_no_clustered_error(right_or_wrong):
    """Every answer twice: no estimate and no standard error by items moves, though the model's own would halve."""
    plain = scenarios(table(scores := right_or_wrong[:, :, :15, 0], kind="continuous"), reference="s0", n_resamples=0)
    twice = np.stack([scores, scores], axis=3) + np.array([-0.1, 0.1])
    again = scenarios(table(twice, kind="continuous"), reference="s0", n_resamples=0)
    for one, two in zip(plain.drops, again.drops, strict=True):
        assert two.estimate == pytest.approx(one.estimate, abs=1e-5)
        assert two.std_error == pytest.approx(one.std_error, rel=1e-4)
        assert two.df == pytest.approx(one.df, rel=1e-3)


def test_formula_of_the_default(scores, found):
    again = scenarios(table(scores), reference="s0", n_resamples=0, formula=found.formula)
    one, two = numbers(found), numbers(again)
    same({k: v for k, v in one.items() if k[0] != "variance"}, {k: v for k, v in two.items() if k[0] != "variance"})
    assert again.formula == found.formula


def test_formula_with_items_alone():
    """Single answers, each item in one scenario: plain means of cells, which the model given in full nearly returns."""
    data = table(binary(np.random.default_rng(2), logits=LOGITS, n_items=40, nested=True), kind="binary", nested=True)
    plain = scenarios(data, n_resamples=0)
    given = scenarios(data, n_resamples=0, formula=plain.formula)
    assert plain.method == "plain means of cells"
    assert given.method.startswith("binomial")
    assert plain.formula.replace(" ", "") == given.formula.replace(" ", "")
    for one, two in zip(plain.cells, given.cells, strict=True):
        assert one.estimate == pytest.approx(one.observed, abs=1e-12)
        # Laplace's approximation and an SD of items that is estimated.
        assert two.estimate == pytest.approx(one.estimate, abs=0.01)
        assert two.std_error == pytest.approx(one.std_error, rel=0.05)
    for one, two in zip(plain.drops, given.drops, strict=True):
        assert two.estimate == pytest.approx(one.estimate, abs=0.02)
        assert two.std_error == pytest.approx(one.std_error, rel=0.05)


def test_formula_with_a_further_factor(scores):
    """Languages are averaged over with the same weight, however many items each has."""
    language = np.array(["en"] * 14 + ["fr"] * 6)
    data = table(scores[:, :, :, 0], extra={"language": language})
    found = scenarios(data, formula="score ~ model * scenario + language + (1|item)", reference="s0", n_resamples=0)
    shift = scores + np.where(language == "fr", 1.0, 0.0)[:, None]
    moved = scenarios(
        table(shift[..., 0], extra={"language": language}),
        formula="score ~ model * scenario + language + (1|item)",
        reference="s0",
        n_resamples=0,
    )
    for one, two in zip(found.cells, moved.cells, strict=True):
        assert two.estimate == pytest.approx(one.estimate + 0.5, abs=ORDER)
    for one, two in zip(found.drops, moved.drops, strict=True):
        assert two.estimate == pytest.approx(one.estimate, abs=ORDER)


def test_weights(right_or_wrong):
    data = table(right_or_wrong[:, :, :12], kind="binary")
    equal = scenarios(data, n_resamples=0)
    mix = scenarios(data, n_resamples=0, weights={"s0": 6, "s1": 3, "s2": 1})
    cells = {(row.model, row.scenario): row.estimate for row in equal.cells}
    for one, two in zip(equal.models, mix.models, strict=True):
        own = [cells[one.name, f"s{j}"] for j in range(3)]
        assert one.estimate == pytest.approx(np.mean(own), abs=1e-9)
        assert two.estimate == pytest.approx(np.dot(own, [0.6, 0.3, 0.1]), abs=1e-9)
    assert any("sum to 10" in note for note in lines(mix))
    assert numbers(mix)["cell", "m0", "s0"] == numbers(equal)["cell", "m0", "s0"]
    same(
        numbers(scenarios(data, n_resamples=0, weights="observed")),
        numbers(equal),
        1e-9,
    )


def test_a_model_more_changes_no_plain_mean(scores, found):
    fewer = scenarios(table(scores), models=["m0", "m1"], reference="s0", n_resamples=0)
    drops = {(row.model, row.scenario): row for row in found.drops}
    assert {row.model for row in fewer.cells} == {"m0", "m1"}
    for row in fewer.drops:
        other = drops[row.model, row.scenario]
        assert row.paired == pytest.approx(other.paired, abs=1e-12)
        # Items that are missing are filled in from the other models' answers.
        assert row.estimate == pytest.approx(other.estimate, abs=0.1 if row.model == "m0" else 1e-6)


def test_seed_moves_drawn_p_alone(scores, found):
    other = scenarios(table(scores), reference="s0", n_resamples=0, seed=5)
    same(numbers(other), numbers(found), 1e-12)
    assert other.origin.seed == 5


def test_ideal_users_are_the_reference():
    """Where the data mark one scenario as that of ideal users, drops are counted from it."""
    every = rows(graded(np.random.default_rng(3), n_items=12))
    for row in every:
        row["user_kind"] = "ideal" if row["scenario"] == "s2" else "non_ideal"
    found = scenarios(data_of(every, kind="continuous"), n_resamples=0)
    assert found.reference == "s2"
    assert {row.scenario for row in found.drops} == {"s0", "s1"}
    assert scenarios(data_of(every, kind="continuous"), reference="average", n_resamples=0).reference == "average"


def test_another_column_as_scenario_and_as_contrast(scores, found):
    every = rows(scores)
    for row in every:
        row["behaviour"] = row["scenario"]
        row["prompt"] = row["model"]
        row["run"] = f"all-{row['model']}"
        del row["scenario"]
    data = data_of(every, kind="continuous")
    again = scenarios(data, scenario="behaviour", reference="s0", n_resamples=0)
    assert again.scenario == "behaviour"
    same(numbers(again), numbers(found), 1e-9)


def test_plan_is_followed_and_departures_are_said(scores):
    plan = Plan(conf_level=0.9)
    followed = scenarios(table(scores), reference="s0", n_resamples=0, plan=plan)
    assert followed.conf_level == 0.9
    assert followed.origin.plan is not None
    departed = scenarios(table(scores), reference="s0", n_resamples=0, plan=plan, conf_level=0.95)
    assert departed.conf_level == 0.95
    assert any("conf" in text or "0.9" in text or "90" in text for text in lines(departed))


def test_unused_rows_leave_no_trace(scores, found):
    """Rows of another metric, and a run of harness errors."""
    every = rows(scores)
    extra = [dict(row, metric="speed", score=float(k)) for k, row in enumerate(every)]
    data = data_of([*every, *extra], kind="continuous")
    again = scenarios(data, metric="correct", reference="s0", n_resamples=0)
    same(numbers(again), numbers(found), 1e-12)
    assert isinstance(data, EvalData)
    assert frame_from_rows(every, "outcomes").height == len(every)


def test_the_only_column_that_could_name_scenarios_is_taken_and_noted() -> None:
    """A second one has to be chosen between, and the words name both."""
    rng = np.random.default_rng(3)
    scores = {model: rng.integers(0, 2, 80).astype(float).tolist() for model in ("old", "new")}
    topic = {"topic": [f"t{i % 4}" for i in range(80)]}
    found = scenarios(data_of(*(rows_of(name, own, factors=topic) for name, own in scores.items())))
    assert [row.name for row in found.scenarios] == ["t0", "t1", "t2", "t3"]
    assert any(
        note.text == "Scenarios are the levels of topic, the only column that could name them" for note in found.notes
    )
    both = {**topic, "place": [f"p{i % 5}" for i in range(80)]}
    with pytest.raises(InputError, match=r"scenario.*columns that could: .*topic"):
        scenarios(data_of(*(rows_of(name, own, factors=both) for name, own in scores.items())))
    # What differs between the answers to an item describes them.
    steps = ({"n_steps": rng.integers(1, 4, 80).tolist()} for _ in scores)
    with pytest.raises(InputError, match=r"name the column with scenario=?$|name the column with scenario"):
        scenarios(data_of(*(rows_of(name, scores[name], factors=own) for name, own in zip(scores, steps, strict=True))))
