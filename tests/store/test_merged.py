"""Outcomes merged as a store is read: what is counted is what a plain loop counts, and what cannot be told is refused."""

from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import evalstats as es
from evalstats.store import merged
from evalstats.store.manifest import Shelf
from evalstats.store.merged import CannotMergeError
from evalstats.store.read import open_store
from evalstats.table.items import COUNT_OF, FIRST_LOCATOR, FIRST_TRIAL, SUM_OF, TRIAL_LABELS, row_counts, trial_sets

Row = dict[str, Any]
_LEVELS = (0.0, 1.0, 0.5, None)


def drawn(tools: Any, seed: int = 0, **more: Any) -> list[Row]:
    """Rows of two runs in no order; `more` are columns, or functions that draw one."""
    rng = np.random.default_rng(seed)
    rows: list[Row] = []
    for model in "ab":
        for item, trial in np.ndindex(30, 8):
            if rng.random() < 0.1:
                continue
            score = _LEVELS[int(rng.choice(4, p=[0.4, 0.4, 0.1, 0.1]))]
            place = f"line {item * 8 + trial}"
            row = tools.outcome(
                f"run-{model}", f"q{item}", score, model=model, system=model, trial=int(trial), locator=place
            )
            rows.append(row | {name: each(rng, row) if callable(each) else each for name, each in more.items()})
    return [rows[k] for k in rng.permutation(len(rows))]


def stored(tools: Any, shelf: Shelf, rows: list[Row]) -> Path:
    for model in "ab":
        own = [row for row in rows if row["model"] == model]
        tools.put(shelf, tools.origin(model), own, batch=50)
    return shelf.store


@pytest.mark.parametrize("at_a_time", [1, 300, 10_000])
def test_counts_trials_places_and_costs_are_those_of_a_plain_loop(
    at_a_time: int, tools: Any, shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evalstats.store.read.MERGED_AT_A_TIME", at_a_time)

    def cost(rng: np.random.Generator, _: Row) -> float | None:
        return None if rng.random() < 0.2 else float(rng.random())

    rows = drawn(tools, cost_usd=cost)
    found = open_store(stored(tools, shelf, rows)).read_merged(always=True)
    held: dict[tuple[object, ...], list[Row]] = defaultdict(list)
    for row in sorted(rows, key=lambda row: row["model"]):  # the order of the sources, each in its own
        held[row["model"], row["item"], row["status"], row["score"]].append(row)
    outcomes = found.outcomes
    assert outcomes.height == len(held)
    assert found.merged
    sets = trial_sets(outcomes)
    assert sets is not None
    order = list(held)
    for place, (row, those) in enumerate(zip(outcomes.iter_rows(named=True), sets.to_list(), strict=True)):
        key = (row["model"], row["item"], row["status"], row["score"])
        assert key == order[place]  # in the order of the first of each
        own = held[key]
        assert row["n_trials"] == len(own)
        assert {name for name, there in those.items() if there} == {str(each["trial"]) for each in own}
        first = min(own, key=lambda each: each["trial"])
        assert (row[FIRST_TRIAL], row["locator"]) == (first["trial"], first["locator"])
        assert row[FIRST_LOCATOR] == own[0]["locator"]
        known = [each["cost_usd"] for each in own if each["cost_usd"] is not None]
        assert row[COUNT_OF + "cost_usd"] == len(known)
        assert row[SUM_OF + "cost_usd"] == pytest.approx(sum(known), rel=1e-12)
    of_model = Counter(row["model"] for row in rows)
    counts = outcomes.select("model", pl.Series("n", row_counts(outcomes))).group_by("model").agg(pl.col("n").sum())
    assert dict(counts.with_columns(pl.col("model").cast(pl.String)).iter_rows()) == of_model


def test_the_four_states_stay_apart(tools: Any, shelf: Shelf) -> None:
    def status(rng: np.random.Generator, row: Row) -> str:
        return "scored" if row["score"] is not None else ["error", "unscored"][int(rng.integers(2))]

    rows = drawn(tools, status=status)
    found = es.scan(stored(tools, shelf, rows)).outcomes
    for name in ("scored", "error", "unscored"):
        own = found.filter(pl.col("status") == name)
        assert own["n_trials"].sum() == sum(row["status"] == name for row in rows)
        assert own["score"].null_count() == (0 if name == "scored" else own.height)
    cells = {(row["model"], row["item"]) for row in rows}
    assert found.select("model", "item").n_unique() == len(cells)


def test_names_of_trials_are_those_of_the_sets(tools: Any, shelf: Shelf) -> None:
    rows = drawn(tools, trial_label=lambda _, row: f"seed {row['trial']}")
    found = es.scan(stored(tools, shelf, rows)).outcomes
    assert sorted(found[TRIAL_LABELS].struct.fields) == [f"seed {k}" for k in range(8)]


def test_columns_stay_where_they_describe_items_or_are_named(
    tools: Any, shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(merged, "_FEWEST_ITEMS", 1_000_000)
    monkeypatch.setattr(merged, "_FEWEST_DIFFERING", 20)
    rows = drawn(
        tools,
        chapter=lambda _, row: f"chapter {int(row['item'][1:]) // 5}",
        page=lambda _, row: int(row["item"][1:]) + (row["item"] == "q3" and row["trial"] == 1),
        words=lambda rng, _: f"words {rng.integers(10**9)}",
        half=lambda _, row: "late" if row["trial"] > 3 else "early",
    )
    store = stored(tools, shelf, rows)
    found = es.scan(store)
    empty = {name for name in ("chapter", "page", "words", "half") if not found.outcomes[name].count()}
    assert empty == {"words", "half"}
    assert any(each.message == "columns left out: half, words" for each in found.problems)
    kept = es.scan(store, half="half").outcomes
    assert kept["half"].null_count() == 0
    assert kept.group_by("half").agg(pl.col("n_trials").sum()).sort("half")["n_trials"].to_list() == [
        sum(row["half"] == half for row in rows) for half in ("early", "late")
    ]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"trial": None, "n_trials": 4}, "averages over trials"),
        ({"trial": lambda _, row: row["trial"] * 1000}, "7,001 trials"),
        ({"judge": lambda _, row: f"judge {row['trial'] % 2}"}, "several judges"),
        ({"judge": lambda _, row: "j" if row["trial"] % 2 else None}, "several judges"),
        ({"trial_label": lambda _, row: None if row["trial"] else "seed 0"}, "some trials have names"),
        ({"trial_label": "seed 1"}, "a trial stands twice"),
        ({"model": "m", "system": "m"}, "several runs of one system"),
    ],
)
def test_what_merged_rows_cannot_tell_is_refused(more: Row, said: str, tools: Any, shelf: Shelf) -> None:
    rows = drawn(tools, **{name: each for name, each in more.items() if name not in {"model", "system"}})
    if "n_trials" in more:
        rows = list({(row["run"], row["item"]): row for row in rows}.values())
    for row in rows:
        row["side"] = row["model"]
        row |= {name: each for name, each in more.items() if name in {"model", "system"}}
    for side in "ab":
        tools.put(shelf, tools.origin(side), [row for row in rows if row["side"] == side])
    store = open_store(shelf.store)
    with pytest.raises(CannotMergeError, match=said):
        store.read_merged()
    with pytest.raises(es.CannotAnswerError, match=r"cannot be merged.*one by one"):
        es.scan(shelf.store)


def test_rows_that_hardly_agree_are_merged_on_demand_alone(tools: Any, shelf: Shelf) -> None:
    rows = drawn(tools, score=lambda rng, _: float(rng.random()), status="scored")
    store = stored(tools, shelf, rows)
    with pytest.raises(CannotMergeError, match="100% of the rows differ in run, model, system, item, score"):
        open_store(store).read_merged()
    data = es.scan(store)
    assert data.outcomes.height == len(rows)
    with pytest.raises(es.InputError) as told:  # what only the program uses is named to nobody
        data.factor("nope")
    assert "evalstats: " not in repr(data) + str(told.value)


def test_a_store_needs_no_columns_and_no_other_engine(tools: Any, shelf: Shelf) -> None:
    store = stored(tools, shelf, drawn(tools))
    for given, said in (
        ({"item": "item"}, "leave out item"),
        ({"engine": "duckdb"}, "Polars counts"),
        ({"scenario": "nope"}, "there is no column 'nope'"),
    ):
        with pytest.raises(es.InputError, match=said):
            es.scan(store, **given)
    with pytest.raises(es.InputError, match="names of two columns"):
        es.scan(pl.LazyFrame({"item": ["q"]}))


def test_benchmarks_are_read_alone(tools: Any, shelf: Shelf) -> None:
    store = open_store(stored(tools, shelf, drawn(tools)))
    assert not store.read_merged(benchmarks=["other"]).outcomes.height


def test_a_changed_byte_is_found_before_anything_is_counted(tools: Any, shelf: Shelf) -> None:
    store = stored(tools, shelf, drawn(tools))
    part = next(store.rglob("outcomes-*.parquet"))
    changed = bytearray(part.read_bytes())
    changed[len(changed) // 2] ^= 1
    part.write_bytes(bytes(changed))
    with pytest.raises(es.StoreError):
        es.scan(store)
