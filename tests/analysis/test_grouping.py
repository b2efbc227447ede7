"""Which columns may group items that nobody declared to be dependent, and what follows for the verdict."""

from collections.abc import Callable

import numpy as np
import polars as pl
import pytest

import evalstats as es
from evalstats import datasets
from evalstats.aggregate.items import item_codes
from evalstats.analysis import grouping
from evalstats.analysis.compare.verdict import gate
from evalstats.errors import InputError
from evalstats.schema.data import EvalData
from evalstats.schema.plan import Plan
from evalstats.testing import assert_not_worse
from tests.analysis.builders import told

N, SYSTEMS = 120, 4
Column = Callable[[np.random.Generator, np.ndarray], np.ndarray]
GOLD = np.random.default_rng(9).integers(0, 4, N)


def read(columns: dict[str, np.ndarray], scores: np.ndarray) -> EvalData:
    """A table in long form; scores and columns of shape (systems, items)."""
    parts = [
        pl.DataFrame(
            {
                "item": [f"q{i}" for i in range(scores.shape[1])],
                "model": [f"m{s}"] * scores.shape[1],
                "score": scores[s].tolist(),
                **{name: values[s].tolist() for name, values in columns.items()},
            }
        )
        for s in range(len(scores))
    ]
    return es.from_frame(pl.concat(parts), item="item", model="model", score="score", higher_is_better=True)


def independent(rng: np.random.Generator) -> np.ndarray:
    rate = rng.beta(2.0, 1.0, N)
    return (rng.random((SYSTEMS, N)) < rate).astype(int)


def every(values: np.ndarray) -> np.ndarray:
    return np.stack([values] * SYSTEMS)


# Ten kinds of columns that describe answers, or are made from scores.
ABOUT_ANSWERS: dict[str, Column] = {
    "approved": lambda rng, s: np.where(rng.random(s.shape) < 0.1, 1 - s, s).astype(bool),
    "picked": lambda rng, s: np.array(list("ABCD"))[np.where(s == 1, GOLD, (GOLD + rng.integers(1, 4, s.shape)) % 4)],
    "quality": lambda rng, s: 2 * s + rng.integers(0, 3, s.shape),
    "failure": lambda rng, s: np.where(s == 1, None, np.array(["timeout", "wrong"])[rng.integers(0, 2, s.shape)]),
    "stopped": lambda rng, s: np.where(rng.random(s.shape) < 0.1, "length", "stop"),
    "which": lambda _rng, s: every(GOLD[s[0] + 2 * s[1]]),
    "difficulty": lambda _rng, s: every(np.array(["hard", "middle", "middle", "middle", "easy"])[s.sum(axis=0)]),
    "gold": lambda _rng, _s: every(GOLD * 7),
    "solution_is": lambda _rng, _s: every(np.array(list("ABCD"))[GOLD]),
    "human_rating": lambda _rng, _s: every(GOLD + 1),
}


@pytest.mark.parametrize("name", ABOUT_ANSWERS)
def test_a_column_about_answers_is_no_group_of_items(name: str) -> None:
    rng = np.random.default_rng(3)
    scores = independent(rng)
    columns = {name: ABOUT_ANSWERS[name](rng, scores), "chapter": every(np.arange(N) // 6)}
    result = es.compare(read(columns, scores), "m0", "m1")
    assert [row.factor for row in result.dependence] == ["chapter"]
    board = es.leaderboard(read(columns, scores))
    assert [row.factor for row in board.dependence] == ["chapter"]


def test_a_column_that_differs_between_systems_that_are_not_compared_describes_answers_too() -> None:
    rng = np.random.default_rng(4)
    scores = independent(rng)
    values = every(GOLD + 10)
    values[3] = rng.integers(0, 4, N)
    assert es.compare(read({"level": values}, scores), "m0", "m1").dependence == ()


def test_a_run_that_lacks_a_column_says_nothing_against_it() -> None:
    rng = np.random.default_rng(5)
    values = every(GOLD + 10).astype(object)
    values[3] = None
    (row,) = es.compare(read({"form": values}, independent(rng)), "m0", "m1").dependence
    assert (row.factor, row.n_levels) == ("form", 4)


def test_a_column_that_differs_within_very_few_items_is_named() -> None:
    rng = np.random.default_rng(6)
    values = every(np.arange(N) // 6)
    values[1, :2] = 99
    result = es.compare(read({"chapter": values}, independent(rng)), "m0", "m1")
    assert result.dependence == ()
    assert any("chapter differs within 2 of 120 items" in note for note in told(result))


def test_predictions_of_a_wide_table_are_known_by_the_name_of_their_system() -> None:
    rng = np.random.default_rng(7)
    scores = independent(rng)[:2]
    columns = {f"prediction_m{s}": np.stack([GOLD * 3 + scores[s]] * 2) for s in range(2)}
    assert es.compare(read(columns, scores), "m0", "m1").dependence == ()


# --- what follows for the verdict ----------------------------------------------------------------------------------

GROUPS, EACH = 12, 8


def grouped(gains: list[float], *, name: str = "chapter", seed: int = 1) -> EvalData:
    """Two systems on 12 groups of 8 items; the second gains a share of each group's items."""
    rng = np.random.default_rng(seed)
    base = np.full(GROUPS * EACH, 0.5)
    other = np.clip(base + np.repeat(gains, EACH), 0, 1)
    draws = rng.random(GROUPS * EACH)
    scores = np.stack([draws < base, draws < other]).astype(int)
    return read({name: np.stack([np.repeat([f"c{g}" for g in range(GROUPS)], EACH)] * 2)}, scores)


UNEVEN = grouped([0.5, 0.5, 0.5, 0.5, 0.5, 0.5, -0.5, 0.0, 0.0, 0.0, 0.0, -0.5])
EVEN = grouped([0.3] * 12)


def test_the_first_line_says_for_which_groups_a_verdict_is_not_established() -> None:
    result = es.compare(UNEVEN, "m0", "m1")
    declared = es.compare(UNEVEN, "m0", "m1", cluster="chapter")
    assert (result.verdict, declared.verdict) == ("better", "inconclusive")
    (other,) = result.other_levels
    assert (other.verdict, other.holds) == ("inconclusive", False)
    # What is said of other chapters is what declaring them gives.
    assert (other.conf_low, other.conf_high) == (declared.conf_low, declared.conf_high)
    assert result.qualifiers[0].text.startswith("on these 96 items, not established for other chapters than these 12 (")
    assert "not established for other chapters" in result.document().headline
    assert declared.qualifiers == declared.other_levels == ()


@pytest.mark.parametrize("rule", ["worse", "inconclusive", "not-noninferior"])
def test_no_gate_passes_on_an_undeclared_cluster(rule: str) -> None:
    found = gate(es.compare(UNEVEN, "m0", "m1", margin="5pp"), rule)
    assert found.passed is False
    assert "cluster='chapter'" in found.reason
    assert "cluster='none'" in found.reason
    with pytest.raises(AssertionError, match="cluster='none'"):
        assert_not_worse(UNEVEN, "m0", "m1", margin="5pp", fail_on=rule)
    assert assert_not_worse(UNEVEN, "m0", "m1", margin="5pp", fail_on=rule, cluster="none").verdict == "better"


def test_a_gate_passes_where_the_answer_holds_for_other_groups() -> None:
    result = es.compare(EVEN, "m0", "m1")
    assert result.verdict == "better"
    assert result.qualifiers == ()
    assert gate(result, "worse", "inconclusive").passed


def test_groups_that_are_ruled_out_are_neither_warned_of_nor_qualify() -> None:
    plain, ruled_out = (es.compare(UNEVEN, "m0", "m1", cluster=cluster) for cluster in (None, "none"))
    planned = es.compare(UNEVEN, "m0", "m1", plan=Plan(clusters=("none",)))
    for result in (ruled_out, planned):
        assert (result.conf_low, result.conf_high) == (plain.conf_low, plain.conf_high)
        assert result.qualifiers == result.other_levels == ()
        assert not any("behave alike" in text for text in told(result))
        assert result.dependence == plain.dependence
    assert planned.plan is not None
    assert planned.plan.departures == ()


def test_a_plan_that_names_a_cluster_is_departed_from_by_none() -> None:
    result = es.compare(UNEVEN, "m0", "m1", cluster="none", plan=Plan(clusters=("chapter",)))
    assert told(result)[0] == "Departs from the plan: cluster none given, chapter declared"


def test_none_sets_aside_what_the_data_declare() -> None:
    data = grouped([0.3] * 12, name="passage")
    assert es.compare(data, "m0", "m1").clusters == ("passage",)
    result = es.compare(data, "m0", "m1", cluster="none")
    assert result.clusters == ()
    assert any(
        "passage is declared as a source of dependence in the data and set aside" in note for note in told(result)
    )


def test_none_stands_alone() -> None:
    with pytest.raises(InputError, match="name the columns, or 'none' alone"):
        es.compare(UNEVEN, "m0", "m1", cluster=["chapter", "none"])


@pytest.mark.parametrize("answer", [es.score, es.leaderboard, es.frontier])
def test_none_is_taken_wherever_a_cluster_is(answer: Callable[..., object]) -> None:
    outcomes = UNEVEN.outcomes.with_columns(cost_usd=pl.lit(0.1))
    assert answer(es.EvalData(outcomes=outcomes, runs=UNEVEN.runs, metrics=UNEVEN.metrics), cluster="none")


def test_a_level_whose_verdict_is_for_its_own_groups_says_so() -> None:
    data = UNEVEN
    half = pl.col("chapter").is_in(["c0", "c1", "c2", "c6", "c7", "c3", "c4", "c5"])
    outcomes = data.outcomes.with_columns(part=pl.when(half).then(pl.lit("first")).otherwise(pl.lit("rest")))
    result = es.compare(es.EvalData(outcomes=outcomes, runs=data.runs, metrics=data.metrics), "m0", "m1", by="part")
    first = next(group for group in result.groups if group.level == "first")
    declared = es.compare(
        es.EvalData(outcomes=outcomes.filter(half), runs=data.runs, metrics=data.metrics),
        "m0", "m1", cluster="chapter", conf_level=0.975,
    )  # fmt: skip
    assert first.verdict == "better"
    assert bool(first.qualifiers) is (declared.verdict != "better")


def test_the_best_of_a_leaderboard_is_qualified_on_its_first_line() -> None:
    board = es.leaderboard(datasets.tenacious_held_out())
    assert board.best() == ("trained",)
    assert board.qualifiers == ("not established for other dimensions than these 7",)
    for cluster in ("dimension", "none"):
        assert es.leaderboard(datasets.tenacious_held_out(), cluster=cluster).qualifiers == ()


def test_pairs_that_hold_for_these_groups_alone_are_counted_where_the_best_is_open() -> None:
    rng = np.random.default_rng(8)
    groups = np.repeat(np.arange(10), 10)
    lean = np.where(np.arange(10) < 6, 0.95, 0.05)[groups]
    scores = np.stack([rng.random(100) < lean, rng.random(100) < lean, rng.random(100) < 0.3]).astype(int)
    board = es.leaderboard(read({"chapter": np.stack([groups] * 3)}, scores))
    declared = es.leaderboard(read({"chapter": np.stack([groups] * 3)}, scores), cluster="chapter")
    before, then = (sum(pair.separated for pair in each.pairs) for each in (board, declared))
    assert len(board.best()) == 2
    assert board.qualifiers == (
        f"{before - then} of {before} separated pairs are not established for other chapters than these 10",
    )


def patterns(rows: pl.DataFrame) -> pl.Series:
    """What tells the items apart by all scores."""
    codes, first = item_codes(rows, ["item"])
    return grouping._patterns(rows, codes, len(first), rows["system"].unique().sort().to_list())


@pytest.mark.parametrize("with_null", [False, True])
def test_numbers_tell_the_scores_of_all_systems_apart_as_texts_do(
    with_null: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(7)
    coded = pl.DataFrame(
        {
            "item": [f"i{n}" for n in range(200) for _ in "abc"],
            "system": ["b", "a", "c"] * 200,
            "trial": [0] * 600,
            "score": pl.Series(rng.integers(0, 3, 600) / 2).set(pl.Series(rng.random(600) < 0.1 * with_null), None),
        }
    )
    numbers = patterns(coded)
    shuffled = patterns(coded.sample(fraction=1, shuffle=True, seed=1))
    monkeypatch.setattr(grouping, "_FEW_VALUES", 0)
    texts = patterns(coded)
    assert (numbers.dtype, texts.dtype) == (pl.Int64, pl.String)
    assert numbers.equals(shuffled)
    both = pl.DataFrame([numbers.alias("n"), texts.alias("t")])
    assert both.n_unique() == both["n"].n_unique() == both["t"].n_unique() > 20


def test_items_that_some_systems_lack_are_told_apart_by_texts() -> None:
    coded = pl.DataFrame(
        {
            "item": ["i", "i", "j", "j"],
            "system": ["a", "b", "a", "a"],
            "trial": [0, 0, 0, 1],
            "score": [1.0, 0.0, 1.0, 0.0],
        }
    )
    assert patterns(coded).to_list() == ["1.0|0.0", "1.0|0.0"]
