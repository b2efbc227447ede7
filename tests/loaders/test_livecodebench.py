"""LiveCodeBench: averages of the site, samples of submissions, codes for "not run", and failures of the runner of the tests."""

import json
from pathlib import Path
from typing import Any

import pytest

from evalstats import compare
from evalstats.errors import InputError, UnreadableFileError
from evalstats.loaders.base import read_head
from evalstats.loaders.registry import read, sniffed
from evalstats.schema.data import EvalData
from tests.loaders.trees import said as told
from tests.loaders.trees import write

DAY = 1_692_576_000_000  # 2023-08-21
RUNNER = json.dumps({"error": "EOFError()", "error_code": -5, "error_message": "TestRunnerError"})
WRONG = json.dumps({"error_code": -2, "error_message": "Wrong Answer"})


def average(model: object, question: object, **more: object) -> dict[str, object]:
    return {"question_id": question, "model": model, "date": DAY, "difficulty": "easy", "platform": "atcoder", **more}


def site(*performances: object) -> dict[str, object]:
    return {"performances": list(performances), "models": [{"model_repr": "m"}], "date_marks": [DAY]}


def question(name: object, verdicts: object, details: object = None, **more: object) -> dict[str, object]:
    known = {"platform": "leetcode", "question_id": name, "contest_date": "2023-08-21T00:00:00", "difficulty": "hard"}
    samples = {"output_list": ["x"], "code_list": ["x"], "graded_list": verdicts, "metadata": details}
    return {"question_title": "t", **known, **samples, **more}


def rows(data: EvalData, *names: str) -> list[tuple[Any, ...]]:
    return data.outcomes.select(*names).rows()


def test_averages_of_the_site(tmp_path: Path) -> None:
    content = site(
        average("m", "1873_A", **{"pass@1": 70.0}),
        average("n", 2777, **{"pass@1": -1.0}),
        average("n", "q3", **{"pass@1": 101}),
        average("n", "q4", **{"pass@1": None}),
        average(None, "q5", **{"pass@1": 0}),
        "odd",
    )
    data = read(write(tmp_path / "performances_generation.json", content))
    assert rows(data, "model", "task", "item", "trial", "status", "score", "value_raw") == [
        ("m", "codegeneration", "1873_A", None, "scored", 0.7, "70%"),
        ("n", "codegeneration", "2777", None, "unscored", None, "-1.0"),
        ("n", "codegeneration", "q3", None, "unscored", None, "101"),
        ("n", "codegeneration", "q4", None, "unscored", None, None),
    ]
    assert data.outcomes.select("difficulty", "platform", "contest_date").row(0) == ("easy", "atcoder", "2023-08-21")
    assert data.runs.select("model", "n_scored", "n_unscored").rows() == [("m", 1, 0), ("n", 0, 3)]
    assert data.metrics.select("metric", "kind", "primary").rows() == [("pass@1", "proportion", True)]
    assert "3 averages are -1 (the model was not run so) or no percentage" in told(data)
    assert sorted(told(data, "error").split("\n")) == [
        "1 of 6 rows are dropped (a bare text): performances[5]",
        "1 of 6 rows are dropped (no model): performances[4]",
    ]


def test_execution_has_samples_of_its_own_and_two_metrics(tmp_path: Path) -> None:
    content = site(average("m", 1, sample_id="sample_0", **{"Pass@1": 10.0, "Pass@1-COT": -1.0}))
    data = read(write(tmp_path / "performances_execution.json", content))
    assert rows(data, "task", "item", "question", "metric", "status", "score") == [
        ("codeexecution", "sample_0", "1", "pass@1", "scored", 0.1),
        ("codeexecution", "sample_0", "1", "pass@1/cot", "unscored", None),
    ]


def test_rows_without_an_id_of_their_own_are_trials(tmp_path: Path) -> None:
    same = [average("m", "q1", **{"pass@1": share}) for share in (10.0, 20.0)]
    data = read(write(tmp_path / "performances_testgen.json", site(*same)))
    assert rows(data, "task", "trial", "score") == [("testoutputprediction", 0, 0.1), ("testoutputprediction", 1, 0.2)]
    data = read(write(tmp_path / "x" / "performances_repair.json", site(*same)))
    assert rows(data, "task", "trial") == [("selfrepair", None), ("selfrepair", 1)]


def test_every_state_of_a_submission(tmp_path: Path) -> None:
    content = [
        question("q1", [True, False, False, None], [WRONG, WRONG, RUNNER, "{"]),
        question(2, []),
        question("q1", [True]),
        question(None, [True]),
    ]
    data = read(write(tmp_path / "My-Model" / "Scenario.codegeneration_4_0.2_eval_all.json", content))
    assert rows(data, "model", "item", "trial", "status", "score") == [
        ("My-Model", "q1", 0, "scored", 1.0),
        ("My-Model", "q1", 1, "scored", 0.0),
        ("My-Model", "q1", 2, "error", None),
        ("My-Model", "q1", 3, "unscored", None),
        ("My-Model", "2", 0, "unscored", None),
    ]
    assert data.outcomes["status_reason"][2] == "the runner of the tests failed: EOFError()"
    assert data.runs.select("temperature", "n_scored", "n_error", "n_unscored").row(0) == (0.2, 2, 1, 2)
    for part in ("1 samples are errors of the runner", "2 samples have no verdict"):
        assert part in told(data)
    assert told(data, "error").split("\n") == [
        "1 of 4 questions are dropped (a question before): [2]",
        "1 of 4 questions are dropped (no question_id): [3]",
    ]


def test_a_submission_of_another_name_is_named_by_its_file(tmp_path: Path) -> None:
    data = read(write(tmp_path / "mine.json", [question("q1", [True])]))
    assert data.models() == ("mine",)
    assert "it is called 'mine' after the file" in told(data)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"performances": [], "models": [], "x": "pass@1"}', "is one JSON object; a list of questions"),
        ("[]", "none of its questions could be read"),
        ("[3]", "none of its questions could be read"),
        ('[{"question_id": "q", "graded_list": [tr', "cut off"),
    ],
)
def test_bad_files_are_refused_in_words(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(text)
    with pytest.raises(UnreadableFileError, match=words):
        read(path, format="livecodebench", strict=True)


@pytest.mark.parametrize(
    ("content", "own"),
    [
        (site(average("m", "q", **{"pass@1": 1})), True),
        ([question("q", [True])], True),
        ([{**question("q", [True]), "output_list": ["x" * 100_000]}], True),
        ({"performances": [{"name": "play", "seats": 3}]}, False),
        ([{"question_id": 1, "answer": "x"}], False),
    ],
)
def test_detection(tmp_path: Path, content: object, own: bool) -> None:
    found, _ = sniffed(read_head(write(tmp_path / "x.json", content)))
    assert (found is not None and found[0].name.startswith("livecodebench")) == own


def test_two_models_pair_by_question_and_a_submission_with_the_site(tmp_path: Path) -> None:
    for model, solved in (("a", 10), ("b", 30)):
        content = [question(f"q{k}", [k < solved]) for k in range(40)]
        write(tmp_path / model / "Scenario.codegeneration_1_0.2_eval_all.json", content)
    averages = [average("m", f"q{k}", **{"pass@1": 100.0 * (k < 20)}) for k in range(40)]
    write(tmp_path / "performances_generation.json", site(*averages))
    data = read(tmp_path)
    result = compare(data, "a", "b")
    assert (result.n_items, result.estimate) == (40, pytest.approx(0.5))
    assert compare(data, "a", "m").n_items == 40


def test_named_format_of_another_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is one JSON object; a list of questions was expected"):
        read(write(tmp_path / "x.json", {"a": 1}), format="livecodebench")
