"""MLflow: a table in split orientation, judges that failed, and means beside it."""

import json
from pathlib import Path
from typing import Any

import pytest

import evalstats as es
from evalstats.errors import UnreadableFileError
from evalstats.loaders.base import Source, with_digest
from evalstats.loaders.formats.mlflow import FORMAT
from evalstats.loaders.registry import read, read_source
from tests.loaders.trees import said as told

COLUMNS = [
    *("inputs", "ground_truth", "outputs", "latency", "token_count"),
    *("toxicity/v1/score", "answer_correctness/v1/score", "answer_correctness/v1/justification", "own/score"),
]
FAILED = "Failed to score model on payload. Error: 429 Client Error: Too Many Requests\n- Input payload: {...}"


def row(
    question: object, score: object = 4, why: object = "good", *, toxicity: object = 0.01, own: object = 1
) -> list[Any]:
    return [question, "truth", f"answer to {question}", 1.5, 30, toxicity, score, why, own]


def table(
    folder: Path, *rows: list[Any], columns: list[str] | None = None, name: str = "eval_results_table.json"
) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(json.dumps({"columns": COLUMNS if columns is None else columns, "data": list(rows)}))
    return path


def test_rows_by_hand(tmp_path: Path) -> None:
    folder = tmp_path / "mlruns" / "0" / "0a1b2c" / "artifacts"
    table(folder, row("q1"), row("q2", None, FAILED), row("q1", 5, toxicity=None))
    (tmp_path / "mlruns" / "0" / "0a1b2c" / "metrics.json").write_text(
        json.dumps(
            {"answer_correctness/v1/mean": 4.5, "answer_correctness/v1/p90": 5, "exact_match/v1": 0.5, "n": True}
        )
    )
    data = read(tmp_path)
    assert data.runs.select("model", "harness", "benchmark", "n_scored", "n_unscored").rows() == [
        ("0a1b2c", "MLflow", "MLflow", 7, 2)
    ]
    correct = data.outcomes.filter(metric="answer_correctness/v1")
    assert correct.select("trial", "status", "score", "latency_s", "output_tokens", "locator").rows() == [
        (0, "scored", 4.0, 1.5, 30, "data[0]"),
        (0, "unscored", None, 1.5, 30, "data[1]"),
        (1, "scored", 5.0, 1.5, 30, "data[2]"),
    ]
    reason = correct["status_reason"][1]
    assert reason.startswith("the judge failed: Failed to score model on payload")
    assert correct["item"].n_unique() == 2
    assert data.aggregates.select("metric", "estimate").rows() == [
        ("answer_correctness/v1", 4.5),
        ("answer_correctness/v1/p90", 5.0),
        ("exact_match/v1", 0.5),
    ]
    better = dict(data.metrics.select("metric", "higher_is_better").iter_rows())
    assert (better["toxicity/v1"], better["answer_correctness/v1"], better["own"]) == (False, True, None)
    assert "1 scores are empty since the judge failed" in told(data)
    assert "2 scores are empty or no numbers; unscored" in told(data)


def test_two_runs_pair_by_question(tmp_path: Path) -> None:
    for name, good in (("a", 12), ("b", 6)):
        rows = [row(f"q{k}", own=int(k < good)) for k in range(20)]
        table(tmp_path / name / "artifacts", *reversed(rows) if name == "b" else rows)
    found = es.compare(read(tmp_path), "b", "a", metric="own")
    assert found.n_items == 20
    assert found.estimate == pytest.approx(0.3)


def test_without_a_column_of_questions_all_columns_that_are_no_answers_name_the_item(tmp_path: Path) -> None:
    columns = ["feature", "prediction", "latency", "squared_error/score"]
    data = read(table(tmp_path, [1, 2.5, 0.1, 0.25], [2, 2.5, 0.2, 0.0], columns=columns))
    assert data.outcomes["item"].n_unique() == 2
    other = read(table(tmp_path / "other", [1, 9.5, 0.7, 0.5], columns=columns))
    assert other.outcomes["item"][0] == data.outcomes["item"][0]


def test_rows_that_do_not_fit_are_counted(tmp_path: Path) -> None:
    bare: list[Any] = [None, None, "x", 1, 1, 0.0, 1, "", 1]
    data = read(table(tmp_path, row("q1"), ["q2"], bare))
    assert data.outcomes.height == 3
    assert "1 of 3 rows are dropped (not as many cells as columns): data[1]" in told(data, "error")
    assert "1 of 3 rows are dropped (no question): data[2]" in told(data, "error")


def test_saved_metrics_alone(tmp_path: Path) -> None:
    folder = tmp_path / "my-run"
    folder.mkdir()
    (folder / "metrics.json").write_text(json.dumps({"faithfulness/v1/mean": 0.5}))
    (folder / "artifacts_metadata.json").write_text(json.dumps({"t": {"uri": "x", "class_name": "y"}}))
    data = read(folder)
    assert data.aggregates.select("model", "metric", "estimate").rows() == [("my-run", "faithfulness/v1", 0.5)]
    assert "without items" in told(data)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('{"data": [[1]], "column": ["a/score"]}', "it has none; write it in pandas' split orientation"),
        ('{"columns": ["a/score", "a/score"], "data": [[1, 1]]}', "two columns have one name"),
        ('{"columns": ["inputs", "a/score"], "data": []}', "it holds none at all. The table of an evaluation"),
        ('{"columns": ["inputs", "a/score"], "data": [["q", 1]', "cut off"),
        ("[]", "it holds none at all. The table of an evaluation"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, text: str, why: str) -> None:
    path = tmp_path / "eval_results_table.json"
    path.write_text(text)
    with pytest.raises(UnreadableFileError, match=why):
        read_source(FORMAT, with_digest(Source(path=path)))
