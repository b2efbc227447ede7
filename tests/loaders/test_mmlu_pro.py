"""MMLU-Pro: letters against the key, bare texts among the questions, and no letter is no answer."""

import json
from pathlib import Path
from typing import Any

import pytest

import evalstats as es
from evalstats.errors import UnreadableFileError
from evalstats.loaders.base import Head, Source, with_digest
from evalstats.loaders.formats.mmlu_pro import FORMAT
from evalstats.loaders.registry import read, read_source, sniffed
from evalstats.schema.data import EvalData
from tests.loaders.trees import said as told

QUESTION: dict[str, Any] = {
    "question_id": 70,
    "question": "Which?",
    "options": ["one", "two", "three"],
    "answer": "B",
    "answer_index": 1,
    "cot_content": "",
    "category": "law",
    "src": "ori_mmlu-law",
    "pred": "B",
    "model_outputs": "The answer is (B).",
}
NAME = "model_outputs_my-model_5shots.json"


@pytest.fixture
def answered(tmp_path: Path) -> Any:
    def write(*records: object, name: str = NAME) -> EvalData:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(records))
        return read_source(FORMAT, with_digest(Source(path=path)))

    return write


def test_questions(answered: Any) -> None:
    data = answered(QUESTION, {**QUESTION, "question_id": 71, "pred": "A", "answer_index": 0})
    columns = (
        "model",
        "benchmark",
        "scenario",
        "src",
        "metric",
        "score",
        "value_raw",
        "answer",
        "n_options",
        "locator",
    )
    about = ("my-model", "MMLU-Pro", "law", "ori_mmlu-law", "correct")
    assert data.outcomes.select(columns).rows() == [
        (*about, 1.0, "B", "B", 3, "[0]"),
        (*about, 0.0, "A", "B", 3, "[1]"),
    ]
    assert data.outcomes["item"].str.starts_with("70.").to_list() == [True, False]
    run = data.runs.row(0, named=True)
    assert (run["model"], run["n_shots"], run["harness"]) == ("my-model", 5, "MMLU-Pro")
    assert told(data) == "in 1 of 2 questions answer and answer_index contradict each other; the letter counts"


@pytest.mark.parametrize(
    ("changes", "status", "reason"),
    [
        ({"pred": None}, "unscored", "no letter could be read out of the answer"),
        ({"pred": ""}, "unscored", "no letter could be read out of the answer"),
        ({"pred": "BC"}, "unscored", "no letter could be read out of the answer"),
        ({"pred": ["B"]}, "unscored", "no letter could be read out of the answer"),
        (
            {"pred": None, "model_outputs": "MaxTokensExceeded"},
            "unscored",
            "no letter could be read out of the answer: MaxTokensExceeded",
        ),
        ({"pred": None, "model_outputs": None}, "error", "the model gave no output"),
        ({"pred": None, "model_outputs": "Killed by user"}, "error", "Killed by user"),
        ({"pred": "J"}, "scored", None),
    ],
)
def test_states(answered: Any, changes: dict[str, Any], status: str, reason: str | None) -> None:
    row = answered({**QUESTION, **changes}).outcomes.row(0, named=True)
    assert (row["status"], row["status_reason"]) == (status, reason)
    assert row["score"] == (0.0 if status == "scored" else None)


def test_what_the_benchmark_would_guess_is_told(answered: Any) -> None:
    data = answered(QUESTION, {**QUESTION, "question_id": 71, "pred": None})
    assert "in 1 of 2 questions no letter could be read; they are unscored here" in told(data)
    assert data.runs.select("n_scored", "n_unscored", "n_error").row(0) == (1, 1, 0)


def test_bare_texts_and_other_bad_questions_are_left_out(answered: Any) -> None:
    bad = ["total", "law", 7, {**QUESTION, "question_id": None}, {**QUESTION, "answer": None}, QUESTION]
    data = answered(QUESTION, *bad)
    assert data.outcomes.height == 1
    assert told(data, "error").split("\n") == [
        "2 of 7 questions are dropped (a bare text): [1], [2]",
        "1 of 7 questions are dropped (no JSON object): [3]",
        "1 of 7 questions are dropped (no question_id): [4]",
        "1 of 7 questions are dropped (no answer that is right): [5]",
        "1 of 7 questions are dropped (copies of earlier ones): [6]",
    ]
    with pytest.raises(UnreadableFileError, match="none of its questions could be read"):
        answered("total")


def test_a_mended_question_is_another_item(answered: Any) -> None:
    data = answered(QUESTION, {**QUESTION, "question": "Which one?"}, {**QUESTION, "options": ["one", "two"]})
    assert data.outcomes["item"].n_unique() == 3
    texts = answered({**QUESTION, "options": str(QUESTION["options"])})
    assert texts.outcomes["item"].item() == data.outcomes["item"][0]


@pytest.mark.parametrize(
    ("name", "model", "shots"),
    [
        ("model_outputs_gpt-4o-2024-08-06_5shots.json", "gpt-4o-2024-08-06", 5),
        ("model_outputs_flash_0shots_00_35_03.json", "flash", 0),
        ("model_outputs_gemini-3.1-pro_5-shots.json", "gemini-3.1-pro", 5),
        ("model_outputs_arx_0314_5shots.json", "arx_0314", 5),
        ("my-model/law_result.json", "my-model", None),
        ("my-model/CoT/all/law.json", "my-model", None),
        ("answers.json", "answers", None),
    ],
)
def test_the_model_stands_in_a_name(answered: Any, name: str, model: str, shots: int | None) -> None:
    data = answered(QUESTION, name=name)
    assert data.runs.select("model", "n_shots").row(0) == (model, shots)
    assert ("it is called 'answers'" in told(data)) == (name == "answers.json")


def test_two_files_of_two_models_pair(tmp_path: Path) -> None:
    for model, right in (("a", 2), ("b", 3)):
        questions = [{**QUESTION, "question_id": k, "pred": "B" if k % right else "A"} for k in range(60)]
        (tmp_path / f"model_outputs_{model}_5shots.json").write_text(json.dumps(questions))
    result = es.compare(es.read(tmp_path), "a", "b")
    assert result.n_items == 60
    assert result.estimate == pytest.approx(1 / 6)


def test_detection(tmp_path: Path) -> None:
    def found(content: object) -> tuple[str, bool] | None:
        text = json.dumps(content)
        match = sniffed(Head(path=Path("x.json"), size=len(text), data=text.encode()))[0]
        return (match[0].name, match[1].skip) if match else None

    assert found([QUESTION]) == ("mmlu-pro", False)
    assert found(["total", QUESTION]) == ("mmlu-pro", False)
    summary = {"law": {"corr": 1.0, "wrong": 0.0, "acc": 1.0}, "total": {"corr": 1.0, "wrong": 0.0, "acc": 1.0}}
    assert found(summary) == ("mmlu-pro", True)
    (tmp_path / "law_summary.json").write_text(json.dumps(summary))
    (tmp_path / "law_result.json").write_text(json.dumps([QUESTION]))
    assert read(tmp_path).outcomes.height == 1
