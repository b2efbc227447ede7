"""LangSmith: tables of an experiment and runs with feedback, worked out by hand."""

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import evalstats as es
from evalstats.loaders.base import Head, Source, read_head, with_digest
from evalstats.loaders.formats.langsmith import FORMAT, PAGE
from evalstats.loaders.registry import read, read_source, sniffed
from evalstats.loaders.rows import item_of
from evalstats.schema.data import EvalData
from tests.loaders.trees import said as told

# The columns of `get_test_results` (references first, for two frames are merged) and of `to_pandas`.
RESULTS: list[dict[str, Any]] = [
    {
        "reference.answer": "4",
        "input.question": "2+2",
        "outputs.answer": "4",
        "execution_time": 0.4,
        "error": None,
        "id": "r1",
        "feedback.correctness": 1.0,
        "feedback.tone": 0.5,
    },
    {
        "reference.answer": "6",
        "input.question": "3+3",
        "outputs.answer": "7",
        "execution_time": 0.5,
        "error": None,
        "id": "r2",
        "feedback.correctness": 0.0,
        "feedback.tone": None,
    },
    {
        "reference.answer": "8",
        "input.question": "4+4",
        "outputs.answer": None,
        "execution_time": 9.0,
        "error": "APITimeoutError('Request timed out.')\n\nTraceback ...",
        "id": "r3",
        "feedback.correctness": 0.0,
        "feedback.tone": None,
    },
]
RUNS: list[dict[str, Any]] = [
    {
        "id": "u1",
        "name": "Target",
        "run_type": "chain",
        "inputs": {"question": "2+2"},
        "outputs": {"answer": "4"},
        "error": None,
        "reference_example_id": "e1",
        "feedback_stats": {"correctness": {"n": 1, "avg": 1.0}, "note": {"n": 1, "comments": ["x"]}},
        "extra": {"metadata": {"ls_model_name": "m1"}},
        "start_time": "2026-01-01T00:00:00",
        "end_time": "2026-01-01T00:00:01.500000",
        "prompt_tokens": 5,
        "completion_tokens": 1,
        "total_cost": 0.25,
        "parent_run_id": None,
    },
    {"id": "u2", "reference_example_id": "e2", "feedback_stats": None, "extra": {"metadata": {"ls_model_name": "m1"}}},
    {"id": "u3", "reference_example_id": None, "feedback_stats": None, "parent_run_id": "u1"},
]


def loaded(path: Path) -> EvalData:
    return read_source(FORMAT, with_digest(Source(path=path)))


def saved(path: Path, content: object) -> Path:
    path.write_text(json.dumps(content))
    return path


@pytest.mark.parametrize("ending", ["csv", "json", "jsonl"])
def test_the_table_of_test_results(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"gpt-x.{ending}"
    frame = pd.DataFrame(RESULTS)
    if ending == "csv":
        frame.to_csv(path)
    else:
        frame.to_json(path, orient="records", lines=ending == "jsonl")
    data = read(path, strict=True)
    assert data.outcomes.select("metric", "score", "status", "trial").rows() == [
        ("correctness", 1.0, "scored", 0),
        ("tone", 0.5, "scored", 0),
        ("correctness", 0.0, "scored", 0),
        ("tone", None, "unscored", 0),
        ("correctness", None, "error", 0),
        ("tone", None, "error", 0),
    ]
    first, *_, last = data.outcomes.to_dicts()
    assert first["item"] == item_of({"question": "2+2"}, {"answer": "4"})
    assert (first["model"], first["latency_s"]) == ("gpt-x", 0.4)
    assert last["status_reason"] == "APITimeoutError('Request timed out.')"
    assert data.outcomes["value_raw"].to_list()[4] in {"0", '"0.0"'}
    assert data.runs.select("loader", "harness", "n_scored", "n_error", "n_unscored").row(0) == (
        "langsmith",
        "LangSmith",
        3,
        2,
        1,
    )
    assert data.metrics.select("metric", "kind").rows() == [("correctness", "binary"), ("tone", "bounded")]
    assert "it is called 'gpt-x' after the file" in told(data)


def test_the_table_of_to_pandas_pairs_with_that_of_test_results(tmp_path: Path) -> None:
    """Booleans beside an empty cell, a label where there is no number, and prefixes with an s."""
    rows = [
        {
            "inputs.question": row["input.question"],
            "outputs.answer": row["outputs.answer"],
            "error": row["error"],
            "reference.answer": row["reference.answer"],
            "feedback.correctness": value,
            "execution_time": 0.1,
            "example_id": f"e{k}",
            "id": f"r{k}",
        }
        for k, (row, value) in enumerate(zip(RESULTS, [True, "partly", None], strict=True))
    ]
    pd.DataFrame(rows).to_csv(tmp_path / "b.csv", index=False)
    pd.DataFrame(RESULTS).to_csv(tmp_path / "a.csv", index=False)
    data = read(tmp_path, strict=True)
    assert data.outcomes.filter(model="b")["score"].to_list() == [1.0, None, None]
    assert data.outcomes.filter(model="b")["status"].to_list() == ["scored", "unscored", "error"]
    assert data.outcomes.filter(model="b")["value_raw"].to_list() == [None, '"partly"', None]
    assert data.outcomes["item"].n_unique() == 3
    assert "1 values of feedback are labels" in told(data)


def test_repetitions_are_trials(tmp_path: Path) -> None:
    pd.DataFrame([RESULTS[0], RESULTS[1], RESULTS[0]]).to_csv(tmp_path / "m.csv")
    data = read(tmp_path / "m.csv")
    assert data.outcomes.filter(metric="tone")["trial"].to_list() == [0, 0, 1]


def test_two_files_pair_in_compare(tmp_path: Path) -> None:
    for model, right in (("a", 12), ("b", 25)):
        rows = [
            {"inputs.q": f"q{i}", "outputs.a": "x", "error": None, "feedback.ok": int(i < right), "example_id": i}
            for i in range(40)
        ]
        pd.DataFrame(rows).to_csv(tmp_path / f"{model}.csv", index=False)
    result = es.compare(read(tmp_path), "a", "b")
    assert result.n_items == 40
    assert result.estimate == pytest.approx(13 / 40)


def test_runs(tmp_path: Path) -> None:
    data = read(saved(tmp_path / "runs.json", RUNS), strict=True)
    assert data.outcomes.select("item", "model", "metric", "score", "status").rows() == [
        ("e1", "m1", "correctness", 1.0, "scored"),
        ("e2", "m1", "correctness", None, "unscored"),
    ]
    assert data.outcomes.select("latency_s", "cost_usd", "input_tokens").row(0) == (1.5, 0.25, 5)
    assert "1 runs belong to no example" in told(data)


def test_bad_rows_are_counted_and_left_out(tmp_path: Path) -> None:
    path = tmp_path / "m.jsonl"
    good = [json.dumps(row) for row in RESULTS]
    path.write_text("\n".join([good[0], "{cut", "[1]", good[1], json.dumps({"feedback.correctness": 1})]))
    data = read(path)
    assert data.outcomes.height == 4
    assert told(data, "error").split("\n") == [
        "1 of 5 rows are dropped (no JSON, or cut off): line 2",
        "1 of 5 rows are dropped (no JSON object): line 3",
        "1 of 5 rows are dropped (no question): line 5",
    ]
    path = tmp_path / "m.csv"
    path.write_text("inputs.q,outputs.a,feedback.ok\nq1,x,1\nq2,x\nq3,x,0\n")
    assert loaded(path).outcomes["locator"].to_list() == ["line 2", "line 4"]


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(RESULTS),
        json.dumps(RUNS),
        "\n".join(map(json.dumps, RESULTS)) + "\n",
        ",inputs.q,outputs.a,feedback.ok\n",
    ],
)
def test_detection(text: str) -> None:
    found, _ = sniffed(Head(path=Path("x"), size=len(text), data=text.encode()))
    assert found is not None
    assert found[0].name.startswith("langsmith")


def page(tmp_path: Path, *rows: dict[str, Any], name: str = "gpt-x.csv") -> Path:
    pd.DataFrame(list(rows)).to_csv(tmp_path / name, index=False)
    return tmp_path / name


def page_row(question: str, score: object = 1, **more: Any) -> dict[str, Any]:
    return {
        "ID": f"run of {question}",
        "Inputs": json.dumps({"question": question}),
        "Reference Outputs": json.dumps({"answer": "4"}),
        "Outputs": json.dumps({"answer": "five"}),
        "Correctness": score,
        "Concise?": True,
        "Verdict": "good, I think",
        "Status": "success",
        "Latency": 1.5,
        "Total Tokens": 30,
        **more,
    }


def test_what_the_page_of_an_experiment_exports(tmp_path: Path) -> None:
    rows = [page_row("a"), page_row("b", None), page_row("a", 0), page_row("c", 0, Status="error")]
    data = read(page(tmp_path, *rows))
    assert set(data.runs["loader"]) == {"langsmith-page"}
    assert set(data.outcomes["metric"]) == {"Correctness", "Concise?"}  # no ids, texts, times or tokens
    correct = data.outcomes.filter(metric="Correctness")
    assert correct.select("trial", "status", "score", "latency_s").rows() == [
        (0, "scored", 1.0, 1.5),
        (0, "unscored", None, 1.5),
        (1, "scored", 0.0, 1.5),
        (0, "error", None, 1.5),
    ]
    assert correct["item"].n_unique() == 3
    assert set(data.outcomes["model"]) == {"gpt-x"}


def test_a_page_pairs_with_the_table_of_the_same_experiment(tmp_path: Path) -> None:
    page(tmp_path, *[page_row(f"q{k}", int(k < 9)) for k in range(20)], name="a.csv")
    page(tmp_path, *[page_row(f"q{k}", int(k < 3)) for k in range(20)], name="b.csv")
    found = es.compare(read(tmp_path), "b", "a", metric="Correctness")
    assert found.n_items == 20
    assert found.estimate == pytest.approx(0.3)


def test_a_page_without_feedback_has_no_score(tmp_path: Path) -> None:
    row = {name: page_row("a")[name] for name in ("Inputs", "Outputs", "Reference Outputs", "Latency")}
    data = read_source(PAGE, with_digest(Source(path=page(tmp_path, row))))
    assert data.outcomes.select("metric", "status").rows() == [("score", "unscored")]


def test_a_table_of_your_own_is_no_page(tmp_path: Path) -> None:
    path = page(tmp_path, {"input": "q", "output": "a", "reference": "b", "score": 1})
    assert PAGE.sniff(read_head(path)) is None
