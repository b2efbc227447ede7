"""Braintrust: spans put together by trace, worked out by hand."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest

import evalstats as es
from evalstats.errors import UnreadableFileError
from evalstats.loaders.base import Head, Source, with_digest
from evalstats.loaders.formats.braintrust import FORMAT
from evalstats.loaders.registry import read, read_source, sniffed
from evalstats.loaders.rows import item_of
from evalstats.schema.data import EvalData
from tests.loaders.trees import said as told


def root(name: str, **more: Any) -> dict[str, Any]:
    """Make the root span of an evaluation, as the framework logs it: without scores of its own."""
    return {
        "id": f"id-{name}",
        "_xact_id": "1000",
        "created": "2026-01-01T00:00:00Z",
        "project_id": "p",
        "experiment_id": "x1",
        "input": {"q": name},
        "output": "4",
        "expected": "4",
        "error": None,
        "scores": None,
        "metadata": {"category": "math", "model": "m1"},
        "tags": ["easy"],
        "metrics": {"start": 1.0, "end": 1.5},
        "span_id": name,
        "span_parents": None,
        "root_span_id": name,
        "span_attributes": {"name": "eval", "type": "eval"},
        "is_root": True,
        **more,
    }


def score(of: str, name: str, value: object, **more: Any) -> dict[str, Any]:
    """Make the span of a scorer below a root."""
    return {
        "id": f"id-{of}-{name}",
        "experiment_id": "x1",
        "span_id": f"{of}-{name}",
        "root_span_id": of,
        "span_parents": [of],
        "is_root": False,
        "error": None,
        "scores": {name: value},
        "span_attributes": {"name": name, "type": "score", "purpose": "scorer"},
        **more,
    }


def call(of: str, model: str, **attributes: str) -> dict[str, Any]:
    """Make the span of a call of a model below a root."""
    return {
        "id": f"id-{of}-{model}",
        "experiment_id": "x1",
        "span_id": f"{of}-{model}",
        "root_span_id": of,
        "is_root": False,
        "scores": None,
        "metadata": {"model": model},
        "metrics": {"prompt_tokens": 10, "completion_tokens": 3},
        "span_attributes": {"name": "call", "type": "llm", **attributes},
    }


EVENTS = [
    root("t1"),
    score("t1", "Factuality", 1),
    score("t1", "Tone", 0.25),
    score("t2", "Factuality", None),  # before its root
    score("t2", "Tone", 0.75),
    root("t2"),
    root("t3", error="Error: 429 rate limit\n at x", scores={"Factuality": 0, "Tone": 0}),
    root("t4", metadata={"model": "m1", "scorer_errors": {"Tone": "KeyError: 'tone'\n at y"}}),
    score("t4", "Factuality", 0),
    score("t4", "Tone", None, scores=None, error="KeyError: 'tone'"),
]


def saved(path: Path, content: object) -> Path:
    path.write_text(json.dumps(content))
    return path


def loaded(path: Path) -> EvalData:
    return read_source(FORMAT, with_digest(Source(path=path)))


def as_csv(path: Path, events: list[dict[str, Any]]) -> Path:
    names = list(dict.fromkeys(name for event in events for name in event))
    with path.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, names)
        writer.writeheader()
        for event in events:
            writer.writerow(
                {
                    name: json.dumps(value) if isinstance(value, dict | list) else value
                    for name, value in event.items()
                    if value is not None
                }
            )
    return path


@pytest.mark.parametrize("kind", ["fetch", "list", "lines", "csv"])
def test_scores_of_the_spans_of_a_trace(tmp_path: Path, kind: str) -> None:
    if kind == "fetch":
        path = saved(tmp_path / "x.json", {"events": EVENTS, "cursor": None})
    elif kind == "list":
        path = saved(tmp_path / "x.json", EVENTS)
    elif kind == "lines":
        path = tmp_path / "x.jsonl"
        path.write_text("\n".join(map(json.dumps, EVENTS)))
    else:
        path = as_csv(tmp_path / "x.csv", EVENTS)
    data = read(path, strict=True)
    assert data.outcomes.select("metric", "score", "status", "status_reason", "value_raw").rows() == [
        ("Factuality", 1.0, "scored", None, None),
        ("Tone", 0.25, "scored", None, None),
        ("Factuality", None, "unscored", "the scorer gave no score", None),
        ("Tone", 0.75, "scored", None, None),
        ("Factuality", None, "error", "Error: 429 rate limit", "0"),
        ("Tone", None, "error", "Error: 429 rate limit", "0"),
        ("Factuality", 0.0, "scored", None, None),
        ("Tone", None, "unscored", "the scorer failed: KeyError: 'tone'", None),
    ]
    first = data.outcomes.row(0, named=True)
    assert first["item"] == item_of({"q": "t1"}, "4")
    assert (first["model"], first["latency_s"], first["tags"], first["scenario"]) == ("m1", 0.5, ["easy"], "math")
    assert data.metrics.select("metric", "kind", "higher_is_better").rows() == [
        ("Factuality", "binary", True),
        ("Tone", "bounded", True),
    ]
    assert data.runs.select("harness", "n_scored", "n_error", "n_unscored").row(0) == ("Braintrust", 4, 2, 2)
    assert data.problems == ()


def test_scores_of_the_root_count_first(tmp_path: Path) -> None:
    events = [root("t1", scores={"A": 1}), score("t1", "A", 0), score("t1", "B", 0), score("t1", "B", 1, id="again")]
    data = read(saved(tmp_path / "x.json", events))
    assert data.outcomes.select("metric", "score").rows() == [("A", 1.0), ("B", 0.5)]


def test_models_that_only_calls_name(tmp_path: Path) -> None:
    bare = root("t1", metadata=None, scores={"A": 1})
    events = [bare, call("t1", "m7"), call("t1", "judge-1", purpose="scorer")]
    data = read(saved(tmp_path / "x.json", events))
    assert (data.runs["model"].item(), data.runs["judge"].item()) == ("m7", "judge-1")
    assert data.outcomes.select("input_tokens", "output_tokens").row(0) == (10, 3)
    data = read(saved(tmp_path / "mine.json", [bare, call("t1", "m7"), call("t1", "m8")]))
    assert data.runs["model"].item() == "mine"
    assert "the file does not name its model; it is called 'mine'" in told(data)


def test_several_experiments_and_models_in_a_file(tmp_path: Path) -> None:
    events = [
        root("t1", scores={"A": 1}),
        root("t2", scores={"A": 1}, metadata={"model": "m2"}),
        root("t3", scores={"A": 1}, experiment_id="x2"),
    ]
    data = read(saved(tmp_path / "x.json", events))
    assert data.runs.select("model", "system").rows() == [("m1", "m1 (x1)"), ("m1", "m1 (x2)"), ("m2", "m2")]
    assert data.runs["run"].n_unique() == 3


def test_trials_are_rows_with_the_same_input(tmp_path: Path) -> None:
    events = [root(f"t{k}", input="same", scores={"A": k % 2}) for k in range(3)]
    assert read(saved(tmp_path / "x.json", events)).outcomes["trial"].to_list() == [0, 1, 2]


def test_a_failed_assertion_is_a_result(tmp_path: Path) -> None:
    """The wrappers of test runners log a failed test with an error and `pass` 0, and no input."""
    more: dict[str, Any] = {"input": None, "expected": None, "is_root": None}
    events = [
        root("t1", span_attributes={"name": "adds", "type": "task"}, scores={"pass": 1}, **more),
        root(
            "t2",
            span_attributes={"name": "subtracts", "type": "task"},
            scores={"pass": 0},
            error="expected 1 to be 2\n\nAssertionError: expected 1 to be 2",
            **more,
        ),
    ]
    data = read(saved(tmp_path / "x.json", events))
    assert data.outcomes.select("item", "score", "status").rows() == [
        ("adds", 1.0, "scored"),
        ("subtracts", 0.0, "scored"),
    ]
    assert "1 rows failed an assertion" in told(data)


def test_what_cannot_be_used_is_counted(tmp_path: Path) -> None:
    events: list[Any] = [
        root("t1", scores={"A": 1}),
        3,
        root("t2", scores={"A": 7}),
        root("t3", scores={"A": "1"}),
        root("t1", scores={"A": 0}),
        root("t5", input=None, expected=None),
        score("gone", "A", 1),
    ]
    data = read(saved(tmp_path / "x.json", events))
    assert data.outcomes.select("score", "status", "value_raw").rows() == [
        (1.0, "scored", None),
        (None, "unscored", "7"),
        (1.0, "scored", '"1"'),
    ]
    assert "1 of 7 spans are dropped (copies of earlier ones): [4]" in told(data, "error")
    assert "1 of 7 spans are dropped (no JSON object): [1]" in told(data, "error")
    assert "1 of 7 spans are dropped (neither input nor name): [5]" in told(data, "error")
    assert "1 of 7 spans are dropped (their trace has no root span" in told(data, "error")


def test_a_file_without_scores_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFileError, match="holds 1 spans and no scores"):
        loaded(saved(tmp_path / "x.json", [root("t1")]))
    with pytest.raises(UnreadableFileError, match="holds 0 spans and no scores"):
        loaded(saved(tmp_path / "x.json", {"events": []}))
    (tmp_path / "y.json").write_text(json.dumps(EVENTS)[:-20])
    with pytest.raises(UnreadableFileError, match="cut off"):
        loaded(tmp_path / "y.json")


def test_two_files_pair_in_compare(tmp_path: Path) -> None:
    for model, right in (("a", 12), ("b", 25)):
        events = [root(f"t{i}", metadata={"model": model}, scores={"A": int(i < right)}) for i in range(40)]
        saved(tmp_path / f"{model}.json", {"events": events})
    result = es.compare(read(tmp_path), "a", "b")
    assert result.n_items == 40
    assert result.estimate == pytest.approx(13 / 40)


@pytest.mark.parametrize(
    "text",
    [
        json.dumps({"events": EVENTS}, indent=1),
        json.dumps(EVENTS),
        "\n".join(map(json.dumps, EVENTS)),
        "id,input,output,expected,scores,span_id,root_span_id\n",
    ],
)
def test_detection(text: str) -> None:
    found, _ = sniffed(Head(path=Path("x"), size=len(text), data=text.encode()))
    assert found is not None
    assert found[0].name == "braintrust"


@pytest.mark.parametrize("spread", [False, True])
def test_what_the_page_of_an_experiment_exports(tmp_path: Path, spread: bool) -> None:
    rows: list[dict[str, Any]] = [
        {"input": f"q{k}", "output": "a", "expected": "e", "error": None, "tags": None} for k in (1, 2, 1)
    ]
    for row, score in zip(rows, (1.0, None, 0.5), strict=True):
        if spread:
            row.update({"scores.Factuality": score, "metadata.model": "m1", "metrics.prompt_tokens": 30})
        else:
            row.update(scores={"Factuality": score}, metadata={"model": "m1"}, metrics={"prompt_tokens": 30})
    data = read(as_csv(tmp_path / "export.csv", rows))
    assert set(data.runs["loader"]) == {"braintrust"}
    assert data.outcomes.select("model", "metric", "trial", "status", "score", "input_tokens").rows() == [
        ("m1", "Factuality", 0, "scored", 1.0, 30),
        ("m1", "Factuality", 0, "unscored", None, 30),
        ("m1", "Factuality", 1, "scored", 0.5, 30),
    ]
    path = tmp_path / "export.json"
    path.write_text(json.dumps(rows))
    assert read(path).outcomes["score"].to_list() == [1.0, None, 0.5]
