"""Google ADK's results of eval sets: cases, their runs, metrics of a whole case, and what crashed."""

import json
from pathlib import Path
from typing import Any

import pytest

import evalstats as es
from evalstats.errors import InputError
from evalstats.loaders.base import read_head
from evalstats.loaders.registry import sniffed
from evalstats.schema.data import EvalData


def metric(name: str, score: object = 1.0, status: object = 1, **changes: Any) -> dict[str, Any]:
    known = {"metric_name": name, "threshold": 0.5, "judge_model_options": None, "criterion": {"threshold": 0.5}}
    return {**known, "score": score, "eval_status": status, **changes}


def case(name: str, *metrics: Any, status: object = 1, **changes: Any) -> dict[str, Any]:
    turns = [{"actual_invocation": {"invocation_id": "x"}, "eval_metric_results": [*metrics]}]
    known = {"eval_set_id": "basic", "eval_id": name, "final_eval_status": status, "session_id": "s1", "user_id": "u"}
    own = {"overall_eval_metric_results": [*metrics], "eval_metric_result_per_invocation": turns if metrics else []}
    return {**known, **own, "session_details": None, **changes}


EVENTS = [
    {"author": "user", "content": {}},
    {
        "author": "app",
        "model_version": "gemini-x",
        "usage_metadata": {"prompt_token_count": 10, "candidates_token_count": 5},
    },
]
CASES = [
    case("add", metric("tool_trajectory_avg_score"), metric("response_match_score", 0.8)),
    case("subtract", metric("tool_trajectory_avg_score", 0.0, 2), status=2),
]


def result(*cases: object) -> dict[str, Any]:
    named = {"eval_set_result_id": "my_app_basic_1764535556.4", "eval_set_id": "basic"}
    return {**named, "eval_case_results": [*cases], "creation_timestamp": 1764535556.4}


@pytest.fixture
def read(tmp_path: Path) -> Any:
    def write(content: object) -> EvalData:
        path = tmp_path / "my_app_basic_1764535556.4.evalset_result.json"
        path.write_text(json.dumps(content))
        return es.read(path)

    return write


def test_a_case(read: Any) -> None:
    data = read(result(*CASES))
    assert data.outcomes.select("item", "trial", "metric", "score", "n_turns", "locator").rows() == [
        ("add", 0, "passed", 1.0, 1, "eval_case_results[0]"),
        ("add", 0, "tool_trajectory_avg_score", 1.0, 1, "eval_case_results[0]"),
        ("add", 0, "response_match_score", 0.8, 1, "eval_case_results[0]"),
        ("subtract", 0, "passed", 0.0, 1, "eval_case_results[1]"),
        ("subtract", 0, "tool_trajectory_avg_score", 0.0, 1, "eval_case_results[1]"),
    ]
    run = data.runs.row(0, named=True)
    assert (run["model"], run["system"], run["benchmark"]) == ("my_app", "my_app", "basic")
    assert data.metrics.filter(primary=True)["metric"].to_list() == ["passed"]
    assert data.problems == ()


def test_it_is_written_as_a_text_of_json(read: Any) -> None:
    plain, written = read(result(*CASES)).outcomes, read(json.dumps(result(*CASES))).outcomes
    assert written.drop("run").equals(plain.drop("run"))


def test_what_answered_is_the_model(read: Any) -> None:
    data = read(result(case("add", metric("m"), session_details={"events": EVENTS})))
    assert data.outcomes.select("model", "system", "input_tokens", "output_tokens").row(0) == (
        "gemini-x",
        "my_app",
        10,
        5,
    )


@pytest.mark.parametrize(
    ("changed", "status"),
    [
        (case("add", status=2), "error"),
        (case("add", status=3), "unscored"),
        (case("add", metric("m"), status=None), "unscored"),
        (case("add", metric("m"), status="PASSED"), "scored"),
        (case("add", metric("m"), status=[]), "unscored"),
    ],
)
def test_states(read: Any, changed: dict[str, Any], status: str) -> None:
    data = read(result(changed))
    assert data.outcomes.filter(metric="passed")["status"].to_list() == [status]


def test_a_metric_without_a_score_is_unscored(read: Any) -> None:
    judged = metric("hallucinations_v1", None, 3, criterion={"judge_model_options": {"judge_model": "gemini-judge"}})
    row = read(result(case("add", judged))).outcomes.row(1, named=True)
    assert (row["metric"], row["status"], row["judge"]) == ("hallucinations_v1", "unscored", "gemini-judge")


def test_metrics_without_a_name_are_kept(read: Any) -> None:
    case_of_two = case("add", {"score": 0.5, "threshold": 0.4}, metric("response_match_score", 0.8))
    assert read(result(case_of_two)).outcomes["metric"].to_list() == ["passed", "metric", "response_match_score"]


def test_repeated_runs_are_trials(read: Any) -> None:
    data = read(result(CASES[0], CASES[0], {"eval_id": None, "final_eval_status": 1}, 3))
    assert data.outcomes.filter(metric="passed")["trial"].to_list() == [0, 1]
    assert [problem.message for problem in data.problems] == [
        "1 of 4 cases are dropped (no JSON object): eval_case_results[3]",
        "1 of 4 cases are dropped (no eval_id): eval_case_results[2]",
    ]


def test_detection_and_the_hidden_folder(tmp_path: Path) -> None:
    folder = tmp_path / "my_app" / ".adk" / "eval_history"
    folder.mkdir(parents=True)
    path = folder / "x.evalset_result.json"
    path.write_text(json.dumps(json.dumps(result(*CASES))))
    found, _ = sniffed(read_head(path))
    assert found is not None
    assert found[0].name == "google-adk"
    assert es.read(tmp_path).outcomes.height == 5


@pytest.mark.parametrize("text", ['"{\\"a\\": 1', '"{\\ud800"', '"{\\"a\\"}" trailing'])
def test_a_text_that_is_no_json_is_left_as_it_is(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(text)
    assert read_head(path).text == text


def test_a_result_inside_of_a_text_that_was_cut_is_refused_in_words(tmp_path: Path) -> None:
    path = tmp_path / "x.evalset_result.json"
    whole = json.dumps(result(case("add", {"score": 0.5}, metric("m", 0.8))))
    path.write_text(json.dumps(whole[:-2]))
    with pytest.raises(InputError) as refused:
        es.read(path)
    assert "could not be read by the" not in str(refused.value)
