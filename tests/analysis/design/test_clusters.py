"""Which columns may group items that nobody declared to be dependent."""

from collections.abc import Callable

import numpy as np
import polars as pl
import pytest

import evalstats as es
from evalstats.analysis.design import clusters as grouping
from evalstats.analysis.score.result import Score
from evalstats.schema.data import EvalData
from evalstats.table.items import item_codes
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


# Kinds of columns that describe answers, or are made from scores.
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
    "actual_label": lambda _rng, _s: every(GOLD + 1),
    "better_than_other": lambda _rng, _s: every(GOLD + 1),
}


@pytest.mark.parametrize("name", ABOUT_ANSWERS)
def test_a_column_about_answers_is_no_group_of_items(name: str) -> None:
    rng = np.random.default_rng(3)
    scores = independent(rng)
    columns = {name: ABOUT_ANSWERS[name](rng, scores), "chapter": every(np.arange(N) // 6)}
    result = es.compare(read(columns, scores), "m0", "m1")
    assert [row.factor for row in result.dependence] == ["chapter"]


def test_no_column_about_answers_is_a_group_of_a_board() -> None:
    rng = np.random.default_rng(3)
    scores = independent(rng)
    columns = {name: column(rng, scores) for name, column in ABOUT_ANSWERS.items()}
    board = es.leaderboard(read({**columns, "chapter": every(np.arange(N) // 6)}, scores))
    assert [row.factor for row in board.dependence] == ["chapter"]


def test_what_says_the_same_as_an_answer_is_no_group_of_items() -> None:
    scores = ((GOLD < 2) ^ (np.arange(N) % 7 == 0)).astype(int)
    rows = {"item": range(N), "score": scores, "predicted": GOLD, "votes": GOLD + 10}
    for without, clusters in (((), ()), (("predicted",), ("votes",))):
        found = es.score(es.from_frame(pl.DataFrame(rows).drop(without), item="item", score="score", model="@m"))
        assert isinstance(found, Score)
        assert found.clusters == clusters


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


def test_trials_are_no_clusters_whatever_their_column_is_called() -> None:
    rng = np.random.default_rng(0)
    people = [f"p{k}" for k in range(6)]
    rows = [
        {"item": f"q{i}", "model": model, "person": person, "score": int(rng.random() < 0.5)}
        for model in ("m0", "m1")
        for i in range(20)
        for person in people
    ]
    data = es.from_frame(pl.DataFrame(rows), item="item", model="model", score="score", trial="person")
    for name in ("person", "trial"):
        with pytest.raises(es.InputError, match=f"'{name}' numbers the trials of each item.*runs='sample'"):
            es.compare(data, "m0", "m1", cluster=name)
        with pytest.raises(es.InputError, match="numbers the trials"):
            es.leaderboard(data, cluster=name)
