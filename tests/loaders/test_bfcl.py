"""BFCL: scores list the wrong answers only, so that items need the answers beside them and counts that agree."""

import json
from pathlib import Path
from typing import Any

import pytest

import evalstats as es
from evalstats.errors import InputError, UnreadableFileError
from evalstats.loaders.base import Source, with_digest
from evalstats.loaders.formats.bfcl import FORMAT
from evalstats.loaders.registry import read, read_source
from tests.loaders.trees import said as told


def lines(path: Path, *records: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(map(json.dumps, records)))
    return path


def scores(root: Path, n: int, *wrong: str, model: str = "lab_m", task: str = "java", **counts: Any) -> Path:
    head = {"accuracy": (n - len(wrong)) / n, "correct_count": n - len(wrong), "total_count": n, **counts}
    rows = [
        {"id": item, "model_name": model, "valid": False, "error": ["no"], "error_type": "type_error:simple"}
        for item in wrong
    ]
    return lines(root / "score" / model / f"BFCL_v3_{task}_score.json", head, *rows)


def answers(root: Path, n: int, *, model: str = "lab_m", task: str = "java", crashed: str = "") -> Path:
    rows = [
        {
            "id": f"{task}_{k}",
            "result": "Error during inference: timeout" if f"{task}_{k}" == crashed else "f(x)",
            "input_token_count": 300,
            "latency": 1.5,
        }
        for k in range(n)
    ]
    return lines(root / "result" / model / f"BFCL_v3_{task}_result.json", *rows)


def test_both_files_by_hand(tmp_path: Path) -> None:
    scores(tmp_path, 4, "java_1", "java_3")
    answers(tmp_path, 4, crashed="java_3")
    data = read(tmp_path)
    assert data.outcomes.select("item", "status", "score", "status_reason").rows() == [
        ("java_0", "scored", 1.0, None),
        ("java_1", "scored", 0.0, "type_error:simple"),
        ("java_2", "scored", 1.0, None),
        ("java_3", "error", None, "Error during inference: timeout"),
    ]
    first: dict[str, Any] = data.outcomes.row(0, named=True)
    assert (first["model"], first["benchmark"], first["task"]) == ("lab_m", "BFCL v3", "java")
    assert (first["latency_s"], first["input_tokens"], first["locator"]) == (
        1.5,
        300,
        "lab_m/BFCL_v3_java_result.json line 1",
    )
    assert data.aggregates.select("task", "metric", "estimate", "n").rows() == [("java", "correct", 0.5, 4)]
    assert told(data) == "1 answers are errors of the inference, which the leaderboard counts as wrong; errors here"


def test_scores_alone_give_the_published_number_and_no_items(tmp_path: Path) -> None:
    scores(tmp_path, 4, "java_1")
    data = read(tmp_path)
    assert data.outcomes.height == 0
    assert data.aggregates["estimate"].to_list() == [0.75]
    assert "lists the wrong answers only" in told(data)


def test_answers_alone_are_no_results(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds answers without their scores"):
        read(answers(tmp_path, 2))


@pytest.mark.parametrize(
    ("wrong", "n_answers", "counts"),
    [
        (("java_1",), 3, {}),  # an answer is missing
        (("java_9",), 4, {}),  # a wrong one that nobody gave
        (("java_1",), 4, {"correct_count": 2}),
    ],
)
def test_counts_that_do_not_fit_give_no_items(tmp_path: Path, wrong: Any, n_answers: int, counts: Any) -> None:
    scores(tmp_path, 4, *wrong, **counts)
    answers(tmp_path, n_answers)
    data = read(tmp_path)
    assert data.outcomes.height == 0
    assert data.aggregates.height == 1
    assert "only the published number is read" in told(data)


def test_the_answers_of_the_same_folder_of_runs_are_taken(tmp_path: Path) -> None:
    for language, wrong in (("de", "java_0"), ("fr", "java_1")):
        scores(tmp_path / language, 2, wrong)
        answers(tmp_path / language, 2)
    data = read(tmp_path)
    assert data.outcomes.height == 4
    assert "lists the wrong answers only" not in told(data)


def test_version_4_has_a_folder_more(tmp_path: Path) -> None:
    head = {"accuracy": 1.0, "correct_count": 1, "total_count": 1}
    lines(tmp_path / "score" / "lab_m" / "non_live" / "BFCL_v4_simple_python_score.json", head)
    lines(tmp_path / "result" / "lab_m" / "non_live" / "BFCL_v4_simple_python_result.json", {"id": "a", "result": "x"})
    data = read(tmp_path)
    assert data.outcomes.select("model", "benchmark", "task", "score").rows() == [
        ("lab_m", "BFCL v4", "simple_python", 1.0)
    ]


def test_two_models_pair(tmp_path: Path) -> None:
    for model, good in (("a", 12), ("b", 6)):
        scores(tmp_path, 20, *[f"java_{k}" for k in range(good, 20)], model=model)
        answers(tmp_path, 20, model=model)
    found = es.compare(read(tmp_path), "b", "a")
    assert found.n_items == 20
    assert found.estimate == pytest.approx(0.3)


def test_lines_without_an_answer_are_counted(tmp_path: Path) -> None:
    path = scores(tmp_path, 2, "java_1")
    path.write_text(path.read_text() + '\n{"valid": false}\n{"id": "java_0", "valid": true}')
    answers(tmp_path, 2)
    data = read(tmp_path)
    assert data.outcomes["score"].to_list() == [1.0, 0.0]
    assert "lines are dropped (no wrong answer with an id): line 3, line 4" in told(data, "error")


@pytest.mark.parametrize("text", ['{"id": 1}', '{"accuracy": 7, "correct_count": 1, "total_count": 1}', "\n"])
def test_what_is_no_file_of_scores_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "m" / "BFCL_v3_java_score.json"
    path.parent.mkdir()
    path.write_text(text)
    with pytest.raises(UnreadableFileError):
        read_source(FORMAT, with_digest(Source(path=path)))
