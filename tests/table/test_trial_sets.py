"""The trials of merged rows: the sets that an engine counts are those of a plain loop, and of two sides those that both have."""

from collections import defaultdict
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest

from evalstats.table.items import TRIALS, in_both, scores_by_trial, seen_trials, trial_sets
from evalstats.table.merged import N, merged_rows, remote_table, trial_structs, trials_of

NAMES: dict[str, list[Any]] = {
    "counted": list(range(100)),
    "counted from 3": list(range(3, 40)),
    "negative": list(range(-20, 20)),
    "seeds": [17, 42, 1337, 2**40, 3],
    "decimals": [0.0, 1.0, 2.5],
    "texts": ["a", "b.c", "^d$", "é", "*"],
    "texts of numbers": [f"{k}" for k in range(40)],
}
ENGINES: dict[str, Any] = {
    "polars": lambda rows: rows.lazy(),
    "duckdb": lambda rows: duckdb.from_arrow(rows.to_arrow()),
}


def made(names: list[Any], seed: int = 0) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    cells = [(item, name) for item in "pqrs" for name in names if rng.random() < 0.9]
    scores = [[0.0, 1.0, None, -0.0][int(rng.integers(4))] for _ in cells]
    rows = pl.DataFrame({"item": [c[0] for c in cells], "trial": [c[1] for c in cells], "score": scores})
    return rows.sample(fraction=1.0, shuffle=True, seed=seed)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", NAMES)
def test_sets_are_those_of_a_plain_loop(kind: str, engine: str) -> None:
    rows = made(NAMES[kind])
    table = remote_table(ENGINES[engine](rows))
    trials = trials_of(table, "trial")
    assert trials is not None
    found = merged_rows(table, ["item", "score"], trials=trials)
    sets = trial_structs(found, trials, ["item"])
    assert sets is not None
    called = dict(zip(trials.values, trials.names, strict=True))
    expected: dict[tuple[object, ...], set[str]] = defaultdict(set)
    for item, trial, score in rows.iter_rows():
        expected[item, None if score is None else score + 0.0].add(called[trial])
    for (item, score, n), of_row in zip(found.select("item", "score", N).iter_rows(), sets.to_list(), strict=True):
        stands = {name for name, there in of_row.items() if there}
        assert stands == expected.pop((item, score))
        assert len(stands) == n
    assert not expected


@pytest.mark.parametrize("engine", ENGINES)
def test_a_trial_that_stands_twice_is_seen(engine: str) -> None:
    rows = made(NAMES["counted"])
    for again in (rows.head(1), rows.head(1).with_columns(pl.lit(7.0).alias("score")), rows):
        table = remote_table(ENGINES[engine](pl.concat([rows, *[again] * 4])))
        trials = trials_of(table, "trial")
        assert trials is not None
        assert trial_structs(merged_rows(table, ["item", "score"], trials=trials), trials, ["item"]) is None


@pytest.mark.parametrize(
    "names",
    [
        [0],
        list(range(1025)),
        [f"seed {k}" for k in range(65)],
        [k * 10 for k in range(65)],
        [0, 1, None],
        ["", "a"],
        ["1", "01"],
        [0.0, float("nan")],
        [True, False],
    ],
)
def test_what_tells_no_trials_apart_has_none(names: list[Any]) -> None:
    rows = pl.DataFrame({"trial": names})
    assert trials_of(remote_table(rows.lazy()), "trial") is None


def test_names_and_numbers_are_told_apart() -> None:
    rows = pl.DataFrame({"trial": ["0", "10", "9"], "seed": [2, 3, 10], "who": ["a", "b", "10"]})
    found = {name: trials_of(remote_table(rows.lazy()), name) for name in rows.columns}
    assert {name: each.labelled for name, each in found.items() if each} == {"trial": False, "seed": True, "who": True}


def side(rows: pl.DataFrame) -> pl.DataFrame:
    """Merge rows with a plain loop."""
    names = sorted(rows["trial"].unique())
    held: dict[tuple[str, str, float | None], set[str]] = defaultdict(set)
    for item, trial, score in rows.iter_rows():
        held[item, "unscored" if score is None else "scored", score].add(trial)
    columns = {
        "item": [item for item, _, _ in held],
        "status": [status for _, status, _ in held],
        "score": [score for _, _, score in held],
        "n_trials": [len(those) for those in held.values()],
        TRIALS: [{name: name in those for name in names} for those in held.values()],
    }
    return pl.DataFrame(columns, schema_overrides={"score": pl.Float64})


def drawn(rng: np.random.Generator, items: str, trials: str) -> pl.DataFrame:
    cells = [(i, t) for i in items for t in trials if rng.random() < 0.8]
    scores = [[0.0, 0.5, 1.0, None][int(rng.integers(4))] for _ in cells]
    return pl.DataFrame({"item": [c[0] for c in cells], "trial": [c[1] for c in cells], "score": scores})


@pytest.mark.parametrize("seed", range(5))
def test_trials_of_both_are_those_of_single_rows(seed: int) -> None:
    rng = np.random.default_rng(seed)
    own, other = drawn(rng, "pqrs", "abcd"), drawn(rng, "qrst", "bcde")
    scored = {(item, trial) for item, trial, score in other.iter_rows() if score is not None}
    there = set(other["item"])
    stay = [item not in there or score is None or (item, trial) in scored for item, trial, score in own.iter_rows()]
    expected, found = side(own.filter(pl.Series(stay))), in_both(side(own), side(other), ["item"])
    as_set = [
        {
            (item, status, score, n, name)
            for item, status, score, n, those in each.iter_rows()
            for name in those
            if those[name]
        }
        for each in (expected, found)
    ]
    assert as_set[0] == as_set[1]


@pytest.mark.parametrize("at_once", [1, 3, 5])
def test_scores_by_trial_are_a_table_of_single_rows(at_once: int) -> None:
    rows = drawn(np.random.default_rng(4), "pqrst", "abc").drop_nulls()
    items = pl.DataFrame({"item": ["t", "p", "x", "q"]})
    expected = items.join(
        rows.pivot("trial", index="item", values="score"), on="item", how="left", maintain_order="left"
    )
    names, blocks = scores_by_trial(side(rows).filter(pl.col("status") == "scored"), items, at_once=at_once)
    assert names == sorted(rows["trial"].unique())
    assert [len(block) for block in blocks()] == ([4] if at_once == 5 else [1] * 4 if at_once == 1 else [3, 1])
    assert np.array_equal(np.vstack(list(blocks())), expected.select(names).to_numpy(), equal_nan=True)


def test_rows_without_a_set_have_none() -> None:
    rows = side(drawn(np.random.default_rng(1), "pqrst", "ab"))
    assert trial_sets(rows) is not None
    assert seen_trials(rows) == ["a", "b"]
    mixed = pl.concat([rows, rows.head(1).with_columns(pl.lit(None, dtype=rows[TRIALS].dtype).alias(TRIALS))])
    assert trial_sets(mixed) is None
    assert not seen_trials(rows.drop(TRIALS))
