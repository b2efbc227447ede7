"""Tables as people have them: which open as they are, which with the line that the error gives, and which are refused."""

import csv as csv_module
import json
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any
from unittest.mock import ANY

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalstats.analysis.compare.compare import compare
from evalstats.errors import InputError, UnreadableFileError
from evalstats.loaders import bound_columns
from evalstats.loaders.base import read_head
from evalstats.loaders.blocks import listings, oriented, rows_at
from evalstats.loaders.column_map import ColumnMap
from evalstats.loaders.delimited import _at_once, _step, iter_frames, iter_rows
from evalstats.loaders.frames import from_frame
from evalstats.loaders.look import looks_at
from evalstats.loaders.registry import read
from evalstats.loaders.values import as_number, as_time, numbers_of, units_of_times
from evalstats.schema.data import EvalData
from tests.loaders.test_binder import lines_of

MODELS = ("gpt-4o", "claude-3-5-sonnet")
ROWS = [(f"q{i}", model, (i + k) % 3 != 0) for i in range(12) for k, model in enumerate(MODELS)]
STANDARD = [{"item": item, "model": model, "score": int(ok)} for item, model, ok in ROWS]


def named(item: str, model: str, score: str, **more: Any) -> list[dict[str, Any]]:
    return [
        {item: q, model: m, score: ok, **{name: value(q, m, ok) for name, value in more.items()}} for q, m, ok in ROWS
    ]


def lines(records: list[dict[str, Any]]) -> str:
    return "\n".join(map(json.dumps, records))


def csv(records: list[dict[str, Any]]) -> str:
    return pl.DataFrame(records).write_csv()


def opened(path: Path) -> tuple[str, EvalData]:
    """Open a file as it is, else with the first line that the error shows."""
    try:
        return "open", read(path, strict=True)
    except InputError as error:
        options = lines_of(str(error))[0]
    return "one line", read(path, column_map=ColumnMap.from_options(options), strict=True)


WIDE = [
    {"question": f"What is {i}+{i}?", "gpt-4o": int(i % 3 != 0), "claude-3-5-sonnet": int((i + 1) % 3 != 0)}
    for i in range(12)
]
PROMPTFOO = {
    "evalId": "eval-1",
    "results": {
        "version": 3,
        "results": [
            {
                "testIdx": int(q[1:]),
                "success": ok,
                "score": float(ok),
                "provider": {"id": f"openai:{m}", "label": ""},
                "vars": {"question": q},
                "response": {"output": "x", "tokenUsage": {"total": 5}},
                "latencyMs": 12,
                "cost": 0.01,
            }
            for q, m, ok in ROWS
        ],
        "stats": {"successes": 3, "failures": 2},
    },
    "config": {"providers": [{"id": "openai:gpt-4o"}, {"id": "anthropic:claude"}]},
}
LANGSMITH = [
    {
        "id": f"run-{q}-{m}",
        "inputs.question": f"text of {q}",
        "outputs.answer": "...",
        "reference_example_id": q,
        "feedback.correctness": int(ok),
        "execution_time": 1.5,
        "model": m,
        "status": "success",
        "start_time": "2025-01-01T00:00:00",
    }
    for q, m, ok in ROWS
]
BY_RUN = {
    "suite": "mine",
    "runs": [
        {"model": m, "temperature": 0, "samples": [{"id": q, "correct": ok} for q, n, ok in ROWS if n == m]}
        for m in MODELS
    ],
}
FRAME = pl.DataFrame(STANDARD).to_pandas()

# Name, text, how it opens ("open", or "one line" with the map of the error).
TABLES: list[tuple[str, str, str]] = [
    ("notebook.csv", csv(STANDARD), "open"),
    ("indexed.csv", FRAME.to_csv(), "open"),
    ("question_id.csv", csv(named("question_id", "model", "correct")), "open"),
    ("hf.jsonl", lines(named("doc_id", "model_name", "correct", prompt=lambda *_: "text " * 300)), "open"),
    (
        "swebench.jsonl",
        lines(named("instance_id", "model_name_or_path", "resolved", model_patch=lambda *_: "diff")),
        "open",
    ),
    ("swe.csv", csv(named("instance_id", "submission", "resolved", repo=lambda q, *_: q[:1])), "open"),
    (
        "judged.jsonl",
        lines(named("qid", "llm", "judge_score", judge_model=lambda *_: "gpt-4", answer=lambda *_: "x")),
        "open",
    ),
    ("capitals.tsv", pl.DataFrame(named("Question ID", "Model Name", "Is Correct")).write_csv(separator="\t"), "open"),
    ("camel.json", json.dumps(named("questionId", "modelName", "isCorrect")), "open"),
    ("wide.csv", csv(WIDE), "open"),
    ("wide_systems.csv", csv([{"id": i, "baseline": i % 2, "tuned": 1} for i in range(8)]), "open"),
    ("inside.json", json.dumps({"meta": {"date": "x"}, "items": STANDARD}), "open"),
    ("deep.json", json.dumps({"results": {"items": named("id", "llm", "passed")}}), "open"),
    ("promptfoo.json", json.dumps(PROMPTFOO), "open"),
    ("by_run.json", json.dumps(BY_RUN), "open"),
    ("langsmith.csv", csv(LANGSMITH), "open"),
    (
        "mt_bench.jsonl",
        lines(
            [
                {"question_id": 81 + i, "model": m, "judge": ["gpt-4", "single-v1"], "score": 7 + k + t, "turn": t}
                for i in range(10)
                for k, m in enumerate(MODELS)
                for t in (1, 2)
            ]
        ),
        "open",
    ),
    (
        "turns.jsonl",
        lines(
            [
                {"question_id": 81 + i, "model": m, "judge": "gpt-4", "score": 7 + k + t, "turn": t}
                for i in range(10)
                for k, m in enumerate(MODELS)
                for t in (1, 2)
            ]
        ),
        "open",
    ),
    ("records.json", FRAME.to_json(orient="records"), "open"),
    ("lines.jsonl", FRAME.to_json(orient="records", lines=True), "open"),
    ("split.json", FRAME.to_json(orient="split"), "open"),
    ("columns.json", FRAME.to_json(orient="columns"), "open"),
    ("index.json", FRAME.to_json(orient="index"), "open"),
    ("table.json", FRAME.to_json(orient="table"), "open"),
    ("lists.json", json.dumps(FRAME.to_dict("list")), "open"),
    ("odd_columns.json", json.dumps({"q": [1, 2, 3], "llm": ["a", "a", "a"], "ok": [1, 0, 1]}), "one line"),
    (
        "nested_model.jsonl",
        lines([{"id": q, "model": {"name": m}, "grade": {"score": int(ok)}} for q, m, ok in ROWS]),
        "open",
    ),
    (
        "deep.jsonl",
        lines(
            [
                {"about": {"sample_id": q, "model": {"name": m, "dtype": "bf16"}}, "eval": {"scores": {"correct": ok}}}
                for q, m, ok in ROWS
            ]
        ),
        "open",
    ),
    (
        "tests.csv",
        csv([{"name": f"test_{i}", "duration": 0.1 * i, "passed": i % 2 == 0} for i in range(9)]),
        "one line",
    ),
    (
        "seeds.csv",
        csv([{"task": q, "llm": m, "seed": s, "acc": int(ok)} for q, m, ok in ROWS for s in (1, 2, 3)]),
        "open",
    ),
    ("arena.csv", csv([{"left": "m1", "right": "m2", "choice": "left", "user": f"u{i}"} for i in range(6)]), "votes"),
]


@pytest.mark.parametrize(("name", "text", "how"), TABLES, ids=[name for name, _, _ in TABLES])
def test_tables_that_people_have_open(tmp_path: Path, name: str, text: str, how: str) -> None:
    path = tmp_path / name
    path.write_text(text)
    found, data = opened(path)
    if how == "votes":
        assert data.comparisons["outcome"].to_list() == ["a"] * 6
        assert data.comparisons["rater"].n_unique() == 6
        return
    assert found == how
    assert data.outcomes["score"].null_count() == 0
    if data.outcomes.height == len(ROWS):
        wanted = {(q[1:], "gpt" in m): float(ok) for q, m, ok in ROWS}
        rows = data.outcomes.select("model", "score").rows()
        assert sorted(wanted.values()) == sorted(score for _, score in rows)
        assert sum(score for model, score in rows if "gpt" in model) == sum(v for (_, gpt), v in wanted.items() if gpt)


def test_a_column_that_may_be_a_model_s_is_named_beside_those_that_are(tmp_path: Path) -> None:
    path = tmp_path / "wide.csv"
    path.write_text("qid,note,gpt-4o,claude-3,our-finetune\nq1,x,1,0,1\nq2,y,0,0,1\n")
    with pytest.raises(InputError) as refused:
        read(path)
    models = [next(option for option in options if "models=" in option) for options in lines_of(str(refused.value))]
    assert models == ["models=gpt-4o,claude-3", "models=gpt-4o,claude-3,our-finetune"]


# Columns that bear a standard name by chance

CHANCE: list[tuple[str, list[Any]]] = [
    ("status", ["deferred", "completed"]),
    ("setting", ["zero-shot", "few-shot"]),
    ("timestamp", ["this morning", "later"]),
    ("cost_usd", ["€0.01", "€0.02"]),
    ("latency_s", ["fast", "slow"]),
    ("n_turns", ["two", "three"]),
    ("weight", ["70B", "8B"]),
    ("weight", [-1.0, 2.0]),
    ("user_kind", ["polite", "rude"]),
    ("input_tokens", ["1k", "2k"]),
    ("output_tokens", [1.5, 2.0]),
    ("n_trials", ["once", "twice"]),
    ("judge", ["word " * 300, "word " * 300]),
    ("user", ["please " * 300, "x"]),
    (
        "system",
        ["You are a helpful assistant who answers in one word and never explains anything to anybody.", "b" * 120],
    ),
]


@pytest.mark.parametrize(("name", "cells"), CHANCE, ids=[f"{k}-{name}" for k, (name, _) in enumerate(CHANCE)])
@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_a_column_that_cannot_be_what_it_is_called_is_a_factor(
    tmp_path: Path, name: str, cells: list[Any], ending: str
) -> None:
    frame = pl.DataFrame({"item": ["1", "2"], "model": "m", "score": [1, 0], name: cells})
    path = tmp_path / f"t.{ending}"
    {"csv": frame.write_csv, "jsonl": frame.write_ndjson, "parquet": frame.write_parquet}[ending](path)
    data = read(path, strict=True)
    assert data.outcomes["score"].to_list() == [1.0, 0.0]
    assert any(f"column {name} is kept as a factor, source_{name}: " in each.message for each in data.problems)
    if max(len(str(cell)) for cell in cells) < 1000:
        assert data.outcomes[f"source_{name}"].cast(pl.String).to_list() == [str(cell) for cell in cells]
    else:
        assert f"source_{name}" not in data.outcomes.columns
    with pytest.raises(InputError):  # what the user insists on is not passed over
        read(path, column_map=ColumnMap.from_options([f"{name}={name}", "model=@m"]), strict=True) if name not in {
            "judge",
            "user",
            "system",
        } else read(tmp_path / "none")


def test_a_list_of_judges_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text(lines([{**row, "judge": ["gpt-4", "single-v1"]} for row in STANDARD]))
    data = read(path, strict=True)
    assert data.outcomes.height == len(STANDARD)
    assert any(
        "column judge is kept as a factor, source_judge: it holds lists" in each.message for each in data.problems
    )


def test_prompts_in_a_column_called_system_are_no_systems(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(csv(named("item", "model", "score", system=lambda q, *_: f"Prompt of {q}")))
    data = read(path, strict=True)
    assert data.runs.height == 2
    assert data.outcomes["source_system"].n_unique() == 12
    assert any("12 levels for 12 items" in each.message for each in data.problems)
    # Systems that answered the same items are what is compared.
    path.write_text(
        csv([{"item": i, "system": f"agent-{k}", "score": k % 2, "model": "m"} for i in range(3) for k in range(12)])
    )
    assert read(path, strict=True).runs.height == 12


def test_a_column_called_run_that_numbers_repetitions_is_no_run(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(csv([{"item": q, "model": m, "run": k, "score": int(ok)} for q, m, ok in ROWS for k in (1, 2)]))
    data = read(path, strict=True)
    assert data.outcomes["trial"].unique().sort().to_list() == [1, 2]
    # A run with a name is a repetition as well, and no further item.
    path.write_text(
        csv([{"item": q, "model": m, "run": k, "score": int(ok)} for q, m, ok in ROWS for k in ("r1", "r2")])
    )
    assert read(path, strict=True).outcomes["trial"].unique().sort().to_list() == [0, 1]


def test_runs_whose_names_come_to_the_same_are_told_apart(tmp_path: Path) -> None:
    """Nobody gave a column of runs, so nobody can be asked about it."""
    path = tmp_path / "t.csv"
    path.write_text("item,model,system,score\n1,a,b.c,1\n1,a.b,c,0\n")
    data = read(path, strict=True)
    assert data.runs.height == 2
    assert data.outcomes["run"].n_unique() == 2


# Which rows

HALF = csv(
    [{"item": f"q{i}", "model": "m", "split": split, "score": i % 2} for split in ("dev", "test") for i in range(4)]
)


def test_rows_are_chosen_before_they_are_checked(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(HALF + "q9,m,dev,good\n")
    with pytest.raises(InputError, match="no known score"):
        read(path, strict=True)
    path.write_text(HALF)
    with pytest.raises(InputError, match=r"4 ids stand more than once .*'split' tells them apart: --map task=split"):
        read(path, strict=True)
    data = read(path, where={"split": "test"}, strict=True)
    assert data.outcomes["split"].to_list() == ["test"] * 4
    assert data.runs["n_scored"].to_list() == [4]
    with pytest.raises(InputError, match=r"split has no level 'train'; it has 'dev', 'test'"):
        read(path, where={"split": "train"}, strict=True)


def test_a_condition_goes_by_the_name_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(HALF)
    map_ = ColumnMap.from_options(["scenario=split"])
    assert read(path, column_map=map_, where={"split": "dev"}).outcomes.height == 4
    assert read(path, column_map=map_, where={"scenario": ["dev"]}).outcomes.height == 4


# Rows inside a document

RUNS = {"runs": [{"model": "gpt-4.1", "n": [1], "items": [{"id": 1}, {"id": 2}]}, {"model": "m", "items": [{"id": 1}]}]}


def test_rows_at_a_path() -> None:
    assert list(rows_at(RUNS, "runs.items")) == [
        {"runs.model": "gpt-4.1", "id": 1},
        {"runs.model": "gpt-4.1", "id": 2},
        {"runs.model": "m", "id": 1},
    ]
    assert list(rows_at({"gpt-4.1": {"rows": [{"id": 1}]}}, "gpt-4.1.rows")) == [{"id": 1}]
    by_model = {"gpt-4.1": [{"id": 1}, {"id": 2}], "m": [{"id": 1}]}
    assert list(rows_at(by_model, "*")) == [
        {"key": "gpt-4.1", "id": 1},
        {"key": "gpt-4.1", "id": 2},
        {"key": "m", "id": 1},
    ]
    assert list(rows_at({"q1": {"ok": 1}, "q2": {"ok": 0}}, "*")) == [{"key": "q1", "ok": 1}, {"key": "q2", "ok": 0}]
    assert str(listings(by_model)[0]) == "* (3 rows: key, id)"
    with pytest.raises(
        InputError, match=r"there are no rows at 'runs.other'; its rows may be runs.items \(3 rows: id\)"
    ):
        list(rows_at(RUNS, "runs.other"))
    with pytest.raises(InputError, match="holds a int where a record was expected"):
        list(rows_at({"a": [1]}, "a"))


def test_the_one_list_of_results_in_a_document_is_the_table(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    rows = [{"id": q, "correct": ok} for q, model, ok in ROWS if model == MODELS[0]]
    summary = {"accuracy": 0.5, "by_topic": {"a": {"right": 1, "wrong": 2}, "b": {"right": 3, "wrong": 0}}}
    path.write_text(json.dumps({"model": "m", "summary": summary, "results": rows}))
    data = read(path, strict=True)
    assert data.outcomes.select("model", "score").rows() == [("m", float(row["correct"])) for row in rows]
    assert any(
        "read with --map rows=results --map item=id --map score=correct" in each.message for each in data.problems
    )
    # So does its configuration, but not the judge's.
    about = {"config": {"model": "tuned-2", "shots": 5}, "judge": {"model": "strict-1"}}
    path.write_text(json.dumps({**about, "results": rows}))
    assert read(path, strict=True).models() == ("tuned-2",)
    # Of two nobody can say which is meant; where the user says it, the rest is found.
    path.write_text(json.dumps({"results": rows, "others": [{**row, "ms": 1} for row in rows[:4]]}))
    with pytest.raises(InputError, match="--map rows=results --map item=id --map score=correct"):
        read(path, strict=True)
    assert read(path, column_map=ColumnMap.from_options(["rows=others"]), strict=True).outcomes.height == 4
    # Objects that sum the list up are not its rows, wherever they stand.
    path.write_text(json.dumps({"summary": summary, "results": [{"id": q, "winner": "A"} for q in range(9)]}))
    with pytest.raises(InputError, match="none looks like a score"):
        read(path, strict=True)


@pytest.mark.parametrize("below", [(), ("eval", "per_question")], ids=["lists", "lists deeper down"])
def test_lists_under_the_keys_of_an_object_are_one_table_of_these_systems(tmp_path: Path, below: Sequence[str]) -> None:
    path, names = tmp_path / "t.json", dict(zip(MODELS, ("langchain", "dspy", "haystack"), strict=False))
    lists: dict[str, Any] = {}
    for model, name in names.items():
        lists[name] = [{"id": q, "correct": ok} for q, own, ok in ROWS if own == model]
        for step in reversed(below):
            lists[name] = {step: lists[name], "mean": 0.5}
    path.write_text(json.dumps(lists))
    found, data = opened(path)
    assert found == "open"
    assert data.models() == tuple(sorted(names.values()))
    assert data.outcomes.height == len(ROWS)


@pytest.mark.parametrize(
    ("keys", "row"),
    [
        ("calm angry", {"id": "{key}{k}"}),
        ("math code", {"id": "{k}"}),
        ("math code", {"id": "q{k}", "question": "What is {key} {k}?"}),
        ("easy hard", {"id": "q{k}"}),
        ("epoch_1 epoch_2", {"question": "Why {k}?"}),
        ("run1 run2", {"question": "Why {k}?"}),
    ],
    ids=["no item shared", "counted", "other questions", "parts", "epochs", "runs"],
)
def test_lists_of_parts_and_of_repetitions_are_no_systems(keys: str, row: dict[str, str], tmp_path: Path) -> None:
    lists = {
        key: [{**{name: cell.format(key=key, k=k) for name, cell in row.items()}, "correct": k % 2} for k in range(9)]
        for key in keys.split()
    }
    (path := tmp_path / "t.json").write_text(json.dumps(lists))
    assert looks_at(read_head(path))[0].systems == frozenset()


@pytest.mark.parametrize(
    "document", [{"a": 1}, {"a": {"b": 2}}, {"a": []}, {"columns": ["x"], "data": [[1, 2]]}, [1], 3]
)
def test_what_is_no_frame(document: object) -> None:
    assert oriented(document) is None


def test_a_document_without_rows_says_so(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    path.write_text(json.dumps({"a": [1, 2], "b": {"c": "x"}}))
    with pytest.raises(InputError, match="it holds no list of records"):
        read(path, column_map=ColumnMap.from_options(["rows=a.b"]), strict=True)
    path = tmp_path / "t.csv"
    path.write_text("item,score\n1,1\n")
    with pytest.raises(InputError, match="is no JSON document"):
        read(path, column_map=ColumnMap.from_options(["rows=items"]), strict=True)


# Tables whose columns nobody has named


@pytest.mark.parametrize("person", ["user", "participant", "annotator", "seed"])
def test_persons_who_each_saw_every_item_are_clusters_where_the_question_says_so(person: str, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    rows = [
        f"p{p},i{i},{model},{(p * i + (model == 'b')) % 3 % 2}" for p in range(6) for i in range(9) for model in "ab"
    ]
    path.write_text("\n".join([f"{person},item,model,score", *rows]))
    data = read(path, strict=True, factors=[person])
    found = compare(data, "a", "b", cluster=person)
    assert (found.n_items, found.n_clusters) == (54, 6)
    # Nobody else's: then they are judges, or repetitions.
    assert read(path, strict=True).outcomes["variant"].unique().to_list() == [""]


def test_one_obvious_item_score_and_model_are_taken_and_told(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(csv(named("qid", "llm", "ok", seconds=lambda *_: 1.5)))
    data = read(path, strict=True)
    assert data.outcomes.height == len(ROWS)
    assert set(data.models()) == set(MODELS)
    assert "seconds" in data.outcomes.columns
    (note,) = [problem.message for problem in data.problems if "read with" in problem.message]
    assert note.startswith("read with --map item=qid --map score=ok --map model=llm")
    other = read(path, column_map=ColumnMap.from_options(["benchmark=@b"]), strict=True)
    assert set(other.outcomes["benchmark"]) == {"b"}


def test_a_file_of_one_model_needs_no_column_for_it(tmp_path: Path) -> None:
    path = tmp_path / "night.csv"
    path.write_text("id,correct,topic\nq1,True,a\nq2,False,b\n")
    data = read(path, strict=True)
    assert data.models() == ("night",)
    assert data.outcomes.select("item", "score", "topic").rows() == [("q1", 1.0, "a"), ("q2", 0.0, "b")]
    (note,) = [problem.message for problem in data.problems]
    assert note.startswith("read with --map item=id --map score=correct, and the file's name as the model")


def test_columns_named_like_models_are_taken_for_them(tmp_path: Path) -> None:
    path = tmp_path / "wide.csv"
    path.write_text("question,gpt-4o,claude-3\nq1,1,0\nq2,0,1\n")
    data = read(path, strict=True)
    rows = {(model, item): score for model, item, score in data.outcomes.select("model", "item", "score").iter_rows()}
    assert rows == {("gpt-4o", "q1"): 1, ("gpt-4o", "q2"): 0, ("claude-3", "q1"): 0, ("claude-3", "q2"): 1}
    assert any("--map models=gpt-4o,claude-3" in problem.message for problem in data.problems)


@pytest.mark.parametrize(
    "records",
    [
        [{"question": q, "gpt-4o": 1, "claude-3": 0, "extra": 3} for q in ("q1", "q2")],  # a number of anything
        [{"question": "q1", "gpt-4o": 1, "claude-3": 0}] * 2,
        named("qid", "llm", "ok", agent=lambda q, m, _: m[0] if q < "q5" else m[-1]),  # two models
        named("qid", "llm", "ok", id=lambda q, m, _: int(q[1:]) if "gpt" in m else 11 - int(q[1:])),  # two items
        [
            {"qid": q, "llm": m, "points": k % 3, "amount": k % 5} for k, (q, m, _) in enumerate(ROWS)
        ],  # numbers of anything
        named("name", "llm", "ok"),
        [{"qid": k, "llm": f"m{k % 2}", "ok": 1} for k in range(8)],  # no item of both
        [{**row, "qid": None if k else "q"} for k, row in enumerate(named("qid", "llm", "ok"))],
    ],
)
def test_doubt_asks(tmp_path: Path, records: list[dict[str, Any]]) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text(lines(records))
    with pytest.raises(InputError, match=r"no known format \(.* It has .*( may fit:\n    --map |, but none )"):
        read(path, strict=True)


@pytest.mark.parametrize(
    ("records", "said"),
    [
        (
            [{"id": q, "correct": 1} for q in ("q1", "q1")],
            r"1 id stands more than once \(line 2: model 't', item 'q1'\); these are copies of whole rows; to drop them: ",
        ),
        (
            named("qid", "llm", "ok") * 2,
            r"12 ids stand more than once with the same model .*the file: --map 'trial=#order'",
        ),
        (
            [*named("qid", "llm", "ok")[:9], {"qid": "x", "llm": "gpt-4o", "ok": "timeout"}],
            r"1 of 10 .*unscored=timeout",
        ),
        ([{**row, "score": "1,385"} for row in named("id", "llm", "was")], "write 1385 if it parts thousands"),
    ],
)
def test_what_is_wrong_with_a_plain_table_is_said_at_once(
    tmp_path: Path, records: list[dict[str, Any]], said: str
) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text(lines(records))
    with pytest.raises(InputError, match=said):
        read(path, strict=True)


def test_cells_without_a_score_and_broken_lines_do_not_hide_what_a_table_is(tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    table.write_text("id,model,correct\nq1,a,1\nq2,a,N/A\nq1,b,TRUE\nq2,b,\n")
    assert read(table).outcomes["score"].to_list() == [1.0, None, 1.0, None]
    path = tmp_path / "t.jsonl"
    path.write_text(lines([{"id": k, "model": m, "correct": 1} for m in "ab" for k in range(100)]) + '\n{"id": 3,,\n')
    data = read(path)
    assert data.outcomes.height == 200
    assert any("1 of 201 rows cannot be read and" in problem.message for problem in data.problems)


def test_a_header_without_rows_is_called_so(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("id,model,correct\n")
    with pytest.raises(InputError, match="holds no rows; its columns are id, model, correct"):
        read(path)


def test_what_tells_repeats_apart_is_found_in_an_earlier_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evalstats.loaders.blocks.BLOCK_ROWS", 4)
    rows = [
        {"item": f"q{i}", "model": "m", "level": level, "score": 1, "k": 0}
        for level in ("easy", "hard")
        for i in range(4)
    ]
    path = tmp_path / "t.jsonl"
    path.write_text(lines(rows))
    with pytest.raises(InputError, match=r"at least 4 ids .*'level' tells them apart: --map variant=level"):
        read(path)
    map_ = ColumnMap.from_options(["variant=k"])
    with pytest.raises(InputError, match=r"--map task=level"):
        read(path, column_map=map_)


def test_paths_lead_deep_into_a_record(tmp_path: Path) -> None:
    rows = [{"id": q, "m": {"of": {"name": m}}, "grades": [{"parts": {"ok": ok}}]} for q, m, ok in ROWS]
    map_ = ["item=id", "model=m.of.name", "score=grades.0.parts.ok"]
    for name, content, more in (("list.json", rows, []), ("in.json", {"a": {"b": rows}}, ["rows=a.b"])):
        (tmp_path / name).write_text(json.dumps(content))
        data = read(tmp_path / name, column_map=ColumnMap.from_options([*more, *map_]), strict=True)
        assert data.outcomes["score"].to_list() == [float(ok) for _, _, ok in ROWS]
        assert set(data.models()) == set(MODELS)
        with pytest.raises(InputError, match=r"there is no column 'm.of.nome' for model"):
            read(tmp_path / name, column_map=ColumnMap.from_options([*more, *map_, "model=m.of.nome"]), strict=True)


VOTES = [{"left": "m1", "right": "m2", "choice": won, "by": {"id": won}} for won in ("left", "right", "tie", "m2", "A")]


@pytest.mark.parametrize(
    ("content", "more"),
    [
        (VOTES, []),
        ({"data": {"votes": VOTES}}, ["rows=data.votes"]),
        ([{"data": VOTES[:2]}, {"data": VOTES[2:]}], ["rows=data"]),
        ([{"vote": {"of": vote}} for vote in VOTES], ["vote.of."]),
    ],
)
def test_votes_inside_a_document_are_read_by_a_map(tmp_path: Path, content: object, more: list[str]) -> None:
    path = tmp_path / "t.json"
    path.write_text(json.dumps(content))
    above = more[0] if more and "=" not in more[0] else ""
    options = [f"model_a={above}left", f"model_b={above}right", f"winner={above}choice", f"rater={above}by.id"]
    map_ = ColumnMap.from_options([*([] if above else more), *options])
    table = read(path, column_map=map_, strict=True).comparisons
    assert table.select("model_a", "model_b", "outcome").rows() == [
        ("m1", "m2", won) for won in ("a", "b", "tie", "b", "a")
    ]
    assert table["rater"].to_list() == ["left", "right", "tie", "m2", "A"]
    with pytest.raises(InputError, match=r"there is no column 'none.of' for model_a; the votes have"):
        read(path, column_map=map_.overlaid(ColumnMap.from_options(["model_a=none.of"])), strict=True)


# Rows and files that are none


def large(ending: str, n: int = 300) -> list[str]:
    rows = [{"item": f"q{i}", "model": MODELS[i % 2], "score": i % 3 == 0} for i in range(n)]
    return csv(rows).splitlines() if ending == "csv" else [json.dumps(row) for row in rows]


@pytest.mark.parametrize(
    ("ending", "bad", "why"),
    [
        ("csv", "q8,x", "line 151 has 2 cells, the header 3"),
        ("jsonl", '{"item": "q8", "mo', "line 151: is not JSON, or is cut off"),
        ("jsonl", "[1]", "line 151 is not a JSON object"),
        ("json", "null", "record 150 (counted from 0) is not a JSON object"),
    ],
)
def test_one_bad_row_of_a_large_file_is_left_out_and_told(tmp_path: Path, ending: str, bad: str, why: str) -> None:
    rows = large(ending)
    rows[150] = bad
    text = f"[{','.join(rows)}]" if ending == "json" else "\n".join(rows)
    path = tmp_path / f"t.{ending}"
    path.write_text(text)
    data = read(path)
    assert data.outcomes.height == 299
    assert data.runs["n_scored"].sum() == 299
    (error,) = [problem.message for problem in data.problems if problem.severity == "error"]
    assert error.startswith(f"1 of 300 rows cannot be read and are dropped ({why}")
    with pytest.raises(UnreadableFileError, match="1 of 300 rows cannot be read"):
        read(path, strict=True)


@pytest.mark.parametrize("kept_bytes", [256 << 20, 0])
def test_a_table_with_many_bad_rows_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kept_bytes: int
) -> None:
    monkeypatch.setitem(bound_columns.KEPT_BYTES, "text", kept_bytes)  # a larger table is read twice
    rows = large("csv")
    rows[10:20] = ["x,y"] * 10
    path = tmp_path / "t.csv"
    path.write_text("\n".join(rows))
    with pytest.raises(InputError, match="line 11 has 2 cells, the header 3; put quotes"):
        read(path)


def test_a_pointer_of_git_lfs_is_called_one(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    path.write_text("version https://git-lfs.github.com/spec/v1\noid sha256:4d7a2146\nsize 12345\n")
    for options in ({}, {"format": "table"}, {"column_map": ColumnMap.from_options(["item=id", "score=ok"])}):
        with pytest.raises(InputError, match="is a git-LFS pointer, not the file itself; fetch that with"):
            read(path, **options)


# Columns of models, lists of prices


def test_columns_can_be_models(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("item,old,new,topic\n1,1,0,x\n2,,1,y\n")
    data = read(path, column_map=ColumnMap.from_options(["score=old,new", "model=#columns"]), strict=True)
    assert data.outcomes.select("item", "model", "system", "metric", "score", "topic").sort("model", "item").rows() == [
        ("1", "new", "new", "score", 0.0, "x"),
        ("2", "new", "new", "score", 1.0, "y"),
        ("1", "old", "old", "score", 1.0, "x"),
        ("2", "old", "old", "score", None, "y"),
    ]
    assert data.metrics["metric"].to_list() == ["score"]
    short = read(path, column_map=ColumnMap.from_options(["models=old,new"]), strict=True)
    assert short.outcomes.equals(data.outcomes)
    told = tmp_path / "map.toml"
    told.write_text('models = ["old", "new"]\n')
    assert read(path, column_map=ColumnMap.from_options([str(told)]), strict=True).outcomes.equals(data.outcomes)
    listed = from_frame(pl.read_csv(path), item="item", models=["old", "new"])
    assert listed.outcomes["score"].to_list() == data.outcomes["score"].to_list()
    assert from_frame(pl.read_csv(path), item="item").outcomes.equals(listed.outcomes)  # as names of sides say
    for wrong in ({"score": "old", "models": ["new"]}, {"models": ["old"], "model": "topic"}):
        with pytest.raises(InputError, match=r"or models=\[...\] for a column a model"):
            from_frame(pl.read_csv(path), item="item", **wrong)
    frame = from_frame(pl.read_csv(path), item="item", score=["old", "new"], model="#columns", metric="@acc")
    assert frame.metrics["metric"].to_list() == ["acc"]
    assert frame.runs.height == 2


@pytest.mark.parametrize(
    "header",
    [
        "price",
        "input_cost_per_token,output_cost_per_token",
        "Input ($/1M),Output ($/1M),context",
        "input_price,output_price",
    ],
)
def test_prices_are_no_scores(tmp_path: Path, header: str) -> None:
    n = header.count(",") + 1
    path = tmp_path / "prices.csv"
    path.write_text(
        f"model,{header}\n" + "".join(f"{m},{','.join(['0.5'] * n)}\n" for m in ("gpt-4o", "claude", "gemini"))
    )
    with pytest.raises(InputError, match=r"no known format.*none looks like a score"):
        read(path)
    with pytest.raises(InputError, match="no column but 'model' holds scores"):
        read(path, format="score-table", strict=True)


def test_prices_beside_scores_are_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "board.csv"
    path.write_text("model,accuracy,input_price\ngpt-4o,0.5,1\nclaude,0.6,2\n")
    assert read(path).metrics["metric"].to_list() == ["accuracy"]


def test_test_cases_are_no_models(tmp_path: Path) -> None:
    path = tmp_path / "cases.csv"
    path.write_text("name,score\ntest_login,0.5\ntest_logout,0.75\ntest_upload,1\n")
    found, data = opened(path)
    assert found == "one line"
    assert data.outcomes["item"].to_list() == ["test_login", "test_logout", "test_upload"]
    path.write_text("name,score\ngpt-4o,0.5\nclaude-3,0.75\n")
    assert read(path).aggregates.height == 2


# Votes whose columns have names of their own

OWN = [
    {
        "left": "m",
        "right": "n",
        "choice": label,
        "user": f"u{i % 3}",
        "prompt_no": i,
        "when": f"2025-01-0{i + 1}T10:00:00Z",
    }
    for i, label in enumerate(["left", "right", "tie", "both_bad", "m", "n", "?"])
]
OWN_MAP = ["model_a=left", "model_b=right", "winner=choice", "rater=user", "item=prompt_no", "timestamp=when"]


@pytest.mark.parametrize("ending", ["csv", "jsonl", "json", "parquet"])
def test_votes_are_read_by_a_map(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"t.{ending}"
    frame = pl.DataFrame(OWN)
    write = {
        "csv": frame.write_csv,
        "jsonl": frame.write_ndjson,
        "json": frame.write_json,
        "parquet": frame.write_parquet,
    }
    write[ending](path)
    votes = read(
        path, column_map=ColumnMap.from_options([*OWN_MAP, "judge=@gpt-4", "setting=@lab"]), strict=True
    ).comparisons
    assert votes["outcome"].to_list() == ["a", "b", "tie", "both_bad", "a", "b", None]
    assert votes["rater"].to_list() == [row["user"] for row in OWN]
    assert votes["item"].to_list() == [str(row["prompt_no"]) for row in OWN]
    assert votes["judge"].unique().to_list() == ["gpt-4"]
    assert votes["setting"].unique().to_list() == ["lab"]
    assert votes["timestamp"].dt.day().to_list() == [1, 2, 3, 4, 5, 6, 7]


def test_a_map_says_what_labels_stand_for_and_one_model_for_all(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("other,pick,winner\nx,1,zzz\ny,2,zzz\nx,0,zzz\nx,9,zzz\n")
    toml = tmp_path / "map.toml"
    toml.write_text('[values.winner]\n1 = "a"\n2 = "b"\n0 = "both_bad"\n')
    map_ = ColumnMap.from_options([str(toml), "model_a=@base", "model_b=other", "winner=pick"])
    data = read(path, column_map=map_, strict=True)
    votes = data.comparisons
    assert votes.select("model_a", "model_b", "outcome", "value_raw").rows() == [
        ("base", "x", "a", "1"),
        ("base", "y", "b", "2"),
        ("base", "x", "both_bad", "0"),
        ("base", "x", None, "9"),
    ]
    assert votes["source_winner"].unique().to_list() == ["zzz"]
    assert json.loads(data.runs["config"].item())["columns"]["winner"] == ["pick"]
    toml.write_text('[values.winner]\n1 = "first"\n')
    with pytest.raises(InputError, match="'first' is no outcome; use model_a, model_b, tie or both_bad"):
        read(
            path,
            column_map=ColumnMap.from_options([str(toml), "model_a=@base", "model_b=other", "winner=pick"]),
            strict=True,
        )


def test_a_map_of_one_column_goes_with_votes_that_are_known(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("model_a,model_b,winner,who\nm,n,model_a,u1\n")
    assert read(path, column_map=ColumnMap.from_options(["rater=who"])).comparisons["rater"].to_list() == ["u1"]
    assert read(path, column_map=ColumnMap.from_options(["benchmark=@mine"])).runs["benchmark"].to_list() == ["mine"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            ["model_a=left", "model_b=righ", "winner=choice"],
            "there is no column 'righ' for model_b; the votes have choice, left",
        ),
        (["model_a=left", "winner=choice"], "no column names model_b; name it: --map model_b=COLUMN"),
        (["model_a=left", "model_b=left", "winner=choice"], "column 'left' is mapped to model_a and to model_b"),
        (["model_a=left", "model_b=right", "winner=choice", "scale=percent"], "has no meaning for votes"),
    ],
)
def test_what_a_map_of_votes_cannot_say(tmp_path: Path, options: list[str], said: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text("left,right,choice\nm,n,left\n")
    with pytest.raises(InputError) as caught:
        read(path, column_map=ColumnMap.from_options(options), strict=True)
    assert said in str(caught.value)


# Delimited text as a whole and line by line


CELL = st.text(alphabet=st.sampled_from('ab1 ",\n;é'), max_size=4)


@given(
    rows=st.lists(st.tuples(CELL, CELL, CELL), max_size=12),
    ends=st.sampled_from(["\n", "\r\n"]),
    size=st.integers(1, 5),
)
def test_lines_read_as_a_whole_are_those_read_one_by_one(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str, str]], ends: str, size: int
) -> None:
    path = tmp_path_factory.getbasetemp() / "text.csv"
    with path.open("w", newline="", encoding="utf-8") as stream:
        csv_module.writer(stream, lineterminator=ends).writerows([("x", "y", "z"), *rows])
    one_by_one = [(line, tuple(cell or None for cell in cells)) for line, cells in iter_rows(path, ",", n_columns=3)]
    found = [
        (line, row)
        for frame, lines_ in iter_frames(path, ",", n_columns=3, most_rows=size, most_chars=1000)
        for line, row in zip(lines_, frame.rows(), strict=True)
    ]
    assert found == one_by_one


def test_quotes_around_cells_do_not_send_text_through_the_slow_reader() -> None:
    whole = _at_once(b'a,"b,\nc ""d"""\r\n"",e\r\n', 7, ",", 2)
    assert whole is not None
    frame, lines, n_lines = whole
    assert (frame.rows(), lines, n_lines) == ([("a", 'b,\nc "d"'), (None, "e")], [7, 9], 3)
    for text in ('a"b",c\n', '"a"b,c\n', '"a,c\n', ' "a",c\n', '"a",b,c\n'):
        assert _at_once(text.encode(), 7, ",", 2) is None


@given(width=st.integers(1, 10**7), rows=st.integers(1, 10**6), columns=st.integers(1, 2000))
def test_a_frame_takes_the_room_it_may(width: int, rows: int, columns: int) -> None:
    """A cell takes 16 characters' room: lines as long as was thought fill the room, the shortest ones four times that."""
    most = 16 << 20
    step = _step(width, rows, most, columns)
    if width >= columns:  # a cell takes at least its delimiter
        assert step == 1 or step * (1 + 16 * columns / width) <= most
    assert step <= max(rows * width, 1)
    assert step * 16 <= 4 * most


@given(text=st.text(alphabet=st.sampled_from('ab,"\n\r'), max_size=30), size=st.integers(1, 3))
def test_a_fault_in_text_is_named_alike(tmp_path_factory: pytest.TempPathFactory, text: str, size: int) -> None:
    path = tmp_path_factory.getbasetemp() / "fault.csv"
    path.write_bytes(b"x,y\n" + text.encode())

    def said(read_rows: Callable[[], object]) -> str:
        try:
            read_rows()
        except UnreadableFileError as error:
            return str(error)
        return ""

    slow = said(lambda: list(iter_rows(path, ",", n_columns=2)))
    fast = said(lambda: list(iter_frames(path, ",", n_columns=2, most_rows=size, most_chars=1000)))
    assert fast == slow


@given(text=st.one_of(st.text(max_size=12), st.floats(allow_nan=True).map(str), st.integers().map(str)))
def test_numbers_in_text_are_read_as_one_by_one(text: str) -> None:
    assert numbers_of(pl.Series([text]))[0].to_list() == [
        as_number(text) if text.isascii() and "\x1c" not in text else ANY
    ]


@given(
    st.datetimes(min_value=datetime(1000, 1, 1)),  # noqa: DTZ001 - times of files have no zone as often as not
    st.sampled_from(["", "Z", "+02:00", "-11:30"]),
    st.sampled_from(["T", " "]),
    st.sampled_from(["auto", "seconds", "milliseconds", "microseconds"]),
)
def test_times_in_text_are_read_as_one_by_one(time: datetime, zone: str, between: str, spec: str) -> None:
    text = time.isoformat(sep=between, timespec=spec) + zone
    read_, units = units_of_times(pl.Series([text, None, "x"]))
    assert read_.to_list() == [as_time(text), None, None]
    assert units.to_list() == [None if as_time(text) is None else "dates", None, None]


@pytest.mark.parametrize(
    "text",
    [
        "20250101",
        "2025-13-01",
        "2025-02-30T10:00:00",
        "1687849300",
        "1687849300.5",
        "99999999",
        "2024",
        "0001-01-01",
        "2025-W01-1",
    ],
)
def test_odd_times_in_text_are_read_as_one_by_one(text: str) -> None:
    assert units_of_times(pl.Series([text]))[0].to_list() == [as_time(text)]


def test_order_is_no_answer_where_a_column_may_say_what_rows_are(tmp_path: Path) -> None:
    """Items that are numbered anew in every part are no repetitions of each other."""
    path = tmp_path / "t.csv"
    rows = [
        {"idx": i, "llm": "gpt-4o", "part": part, "ok": i % 2, "k": k}
        for part in "xy"
        for i in range(5)
        for k in range(2)
    ]
    path.write_text(csv(rows))
    with pytest.raises(InputError) as caught:
        read(path)
    assert "#order" not in str(caught.value)
    path.write_text(csv([{"idx": i, "llm": "gpt-4o", "ok": i % 2} for i in range(5) for _ in range(2)]))
    with pytest.raises(InputError, match="trial=#order"):
        read(path)
