"""DeepEval: a test run worked out by hand, metrics that failed, and the shapes that its files have."""

import json
from pathlib import Path
from typing import Any

import pytest

from evalstats import compare
from evalstats import read as read_files
from evalstats.errors import UnreadableFileError
from evalstats.loaders.base import Source, read_head, with_digest
from evalstats.loaders.formats.deepeval import FORMAT
from evalstats.loaders.registry import read_source, sniffed
from evalstats.schema.data import EvalData
from tests.loaders.trees import write


def metric(name: str, score: float | None, *, threshold: float = 0.5, **changes: Any) -> dict[str, Any]:
    """One metric of a test case as DeepEval writes it: what is null is dropped."""
    passed = score is not None and score >= threshold
    held = {
        "name": name,
        "threshold": threshold,
        "success": passed,
        "score": score,
        "reason": "because",
        "strictMode": False,
        "flaky": False,
        "evaluationModel": "judge-1",
        "evaluationCost": 0.001,
        **changes,
    }
    return {key: value for key, value in held.items() if value is not None}


def failed(name: str, error: str = "TimeoutError: 60 s\nTraceback") -> dict[str, Any]:
    """A metric whose judge could not be asked."""
    return metric(name, None, error=error, reason=None)


def case(index: int, *metrics: dict[str, Any], **changes: Any) -> dict[str, Any]:
    deciding = [part for part in metrics if not part["flaky"]]
    return {
        "name": f"test_case_{index}",
        "input": f"question {index}",
        "actualOutput": "an answer",
        "expectedOutput": f"answer {index}",
        "retrievalContext": ["differs by system"],
        "flaky": False,
        "success": all(part["success"] for part in deciding),
        "metricsData": list(metrics),
        "runDuration": 3.2,
        "order": index,
        **changes,
    }


def run(*cases: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {
        "testCases": list(cases),
        "conversationalTestCases": [],
        "metricsScores": [{"metric": "Faithfulness", "scores": [0.8], "passes": 1, "fails": 0, "errors": 0}],
        "hyperparameters": {"model": "gpt-x", "temperature": 0.2},
        "testPassed": 1,
        "testFailed": 0,
        "runDuration": 3.3,
        **changes,
    }


def load(path: Path) -> EvalData:
    return read_source(FORMAT, with_digest(Source(path=path)))


def test_rows_of_a_test_run(tmp_path: Path) -> None:
    cases = [
        case(0, metric("Faithfulness", 0.8), metric("Bias", 0.1, success=True), completionTime=1.5, tokenCost=0.01),
        case(1, metric("Faithfulness", 0.25), metadata={"category": "law", "level": 2}, tags=["t"]),
    ]
    data = load(write(tmp_path / "test_run_20260102_030405.json", run(*cases)))
    columns = ("metric", "score", "status", "judge", "threshold", "latency_s", "cost_usd", "locator")
    assert data.outcomes.select(columns).rows() == [
        ("success", 1.0, "scored", None, None, 1.5, 0.01, "testCases[0]"),
        ("Faithfulness", 0.8, "scored", "judge-1", 0.5, 1.5, 0.01, "testCases[0]"),
        ("Bias", 0.1, "scored", "judge-1", 0.5, 1.5, 0.01, "testCases[0]"),
        ("success", 0.0, "scored", None, None, None, None, "testCases[1]"),
        ("Faithfulness", 0.25, "scored", "judge-1", 0.5, None, None, "testCases[1]"),
    ]
    assert data.models() == ("gpt-x",)
    assert (data.outcomes["scenario"].to_list()[-1], data.outcomes["level"].to_list()[-1]) == ("law", 2)
    assert data.outcomes["tags"].to_list()[-1] == ["t"]
    (one,) = data.runs.to_dicts()
    assert (one["harness"], one["judge"], one["temperature"]) == ("DeepEval", "judge-1", 0.2)
    assert (one["n_scored"], one["n_error"], one["n_unscored"]) == (5, 0, 0)
    found = {row["metric"]: (row["kind"], row["higher_is_better"], row["primary"]) for row in data.metrics.to_dicts()}
    # 0.1 passes Bias at a threshold of 0.5: low is good
    assert found == {
        "success": ("binary", True, True),
        "Faithfulness": ("bounded", True, False),
        "Bias": ("bounded", False, False),
    }
    assert data.problems == ()


@pytest.mark.parametrize(
    ("name", "wrapped"),
    [
        (".deepeval/.latest_test_run.json", True),
        (".deepeval/.latest_run_full.json", False),
        ("test_run_20260102_030405.json", False),
        ("test_run_20260102_030405", False),
        ("test_run_20260102_030405_2", False),
    ],
)
def test_every_name_and_shape_holds_the_same(tmp_path: Path, name: str, wrapped: bool) -> None:
    content: object = run(case(0, metric("Faithfulness", 0.8)))
    path = write(tmp_path / name, {"testRunData": content, "testRunLink": None} if wrapped else content)
    found = sniffed(read_head(path))[0]
    assert found is not None
    assert (found[0].name, found[1].confidence) == ("deepeval", 0.95)
    data = read_files(path)
    assert data.outcomes["score"].to_list() == [1.0, 0.8]
    assert data.models() == ("gpt-x",)


def test_test_runs_without_an_ending_are_found_in_a_folder(tmp_path: Path) -> None:
    write(tmp_path / "test_run_20260102_030405", run(case(0, metric("Faithfulness", 0.8))))
    write(tmp_path / "test_run_notes", "nothing")
    data = read_files(tmp_path)
    assert data.runs.height == 1
    assert data.problems == ()


def test_a_metric_that_failed_is_an_error_and_so_is_a_test_that_failed_by_it_alone(tmp_path: Path) -> None:
    cases = [
        case(0, metric("Faithfulness", 0.8), failed("Bias")),
        case(1, metric("Faithfulness", 0.1), failed("Bias")),
        case(2, metric("Faithfulness", 0.8), {**failed("Bias"), "flaky": True}),
    ]
    data = load(write(tmp_path / "x.json", run(*cases)))
    rows = data.outcomes.select("metric", "score", "status", "status_reason").rows()
    assert rows[0] == ("success", None, "error", "Bias: TimeoutError: 60 s")
    assert rows[2] == ("Bias", None, "error", "TimeoutError: 60 s")
    assert rows[3] == ("success", 0.0, "scored", None)  # Faithfulness failed it too
    assert rows[6] == ("success", 1.0, "scored", None)  # a flaky metric decides nothing
    assert data.runs.select("n_scored", "n_error", "n_unscored").row(0) == (5, 4, 0)
    assert "4 results are errors of metrics" in data.problems[0].message


def test_what_has_no_score_is_unscored(tmp_path: Path) -> None:
    cases = [
        case(0, metric("Faithfulness", None)),
        case(1),
        case(2, {**metric("Faithfulness", 0.5), "score": "high"}, success=None),
    ]
    data = load(write(tmp_path / "x.json", run(*cases)))
    rows = data.outcomes.select("metric", "status", "value_raw").rows()
    assert rows == [
        ("success", "unscored", "false"),
        ("Faithfulness", "unscored", None),
        ("success", "unscored", "true"),
        ("success", "unscored", None),
        ("Faithfulness", "unscored", '"high"'),
    ]


def test_items_are_goldens_and_repetitions_are_trials(tmp_path: Path) -> None:
    cases = [
        case(0, metric("F", 0.8)),
        case(0, metric("F", 0.7), name="test_case_7", retrievalContext=["other"], actualOutput="other"),
        case(0, metric("F", 0.6), expectedOutput="another golden"),
    ]
    found = load(write(tmp_path / "x.json", run(*cases))).outcomes.filter(metric="F")
    assert found["trial"].to_list() == [0, 1, 0]
    assert found["item"].n_unique() == 2


def test_conversations_are_named_by_their_scenario(tmp_path: Path) -> None:
    def talk(scenario: str | None, said: str) -> dict[str, Any]:
        turns = [{"role": "user", "content": said, "order": 0}, {"role": "assistant", "content": "b", "order": 1}]
        held = {"name": "c", "scenario": scenario, "turns": turns, "success": True, "metricsData": [metric("F", 0.8)]}
        return {key: value for key, value in held.items() if value is not None}

    talks = [talk("refund", "hi"), talk("refund", "hello"), talk(None, "hi"), talk(None, "hello")]
    data = load(write(tmp_path / "x.json", run(testCases=[], conversationalTestCases=talks)))
    found = data.outcomes.filter(metric="F")
    assert found["item"].n_unique() == 3
    assert found["locator"][0] == "conversationalTestCases[0]"


def test_direction_is_what_thresholds_show_and_contradictions_show_nothing(tmp_path: Path) -> None:
    cases = [
        case(0, metric("Mine", 0.2, success=True), metric("Odd", 0.9), metric("Toxicity", 0.5)),
        case(1, metric("Mine", 0.9, success=False), metric("Odd", 0.9, success=False), metric("Toxicity", 0.5)),
    ]
    data = load(write(tmp_path / "x.json", run(*cases)))
    found = {row["metric"]: row["higher_is_better"] for row in data.metrics.to_dicts()}
    assert found == {"success": True, "Mine": False, "Odd": None, "Toxicity": False}


def test_two_metrics_of_one_name_are_kept_apart(tmp_path: Path) -> None:
    data = load(write(tmp_path / "x.json", run(case(0, metric("F", 0.8), metric("F", 0.6)))))
    assert data.outcomes["metric"].to_list() == ["success", "F", "F (2)"]


@pytest.mark.parametrize(
    ("about", "path", "model"),
    [
        ({"hyperparameters": {"LLM": "m1"}}, "x.json", "m1"),
        ({"hyperparameters": {"Model Name": {"name": "m2"}}}, "x.json", "m2"),
        ({"hyperparameters": None, "identifier": "nightly"}, "x.json", "nightly"),
        ({"hyperparameters": {"chunk": 3}}, "gpt-y.json", "gpt-y"),
        ({"hyperparameters": {}}, "gpt-z/.deepeval/.latest_run_full.json", "gpt-z"),
    ],
)
def test_model_is_logged_or_else_named_after_its_place(tmp_path: Path, about: Any, path: str, model: str) -> None:
    data = load(write(tmp_path / path, run(case(0, metric("F", 0.8)), **about)))
    assert data.models() == (model,)
    assert ("does not name its model" in str(data.problems)) == (not {"m1", "m2", "nightly"} & {model})


def test_bad_test_cases_are_counted_named_and_left_out(tmp_path: Path) -> None:
    content = run(case(0, metric("F", 0.8)))
    content["testCases"] += [
        7,
        {"x": 1},
        {"input": "q", "metricsData": ["x", {"score": 1}], "metadata": [1], "tags": "t"},
    ]
    data = load(write(tmp_path / "x.json", content))
    assert data.outcomes["metric"].to_list() == ["success", "F", "success", "metric without a name"]
    assert [problem.message for problem in data.problems[:2]] == [
        "1 of 4 test cases are dropped (no JSON object): testCases[1]",
        "1 of 4 test cases are dropped (no input, turns or scenario): testCases[2]",
    ]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (run(), "holds none at all. DeepEval writes them to testCases"),
        ({"testRunLink": "https://example.org/run"}, "holds only a testRunLink, export the run"),
        (json.dumps({"testRunData": run(case(0, metric("F", 1.0)))})[:-200], "cut off"),
        ("[]", "holds none at all. DeepEval writes them to testCases"),
    ],
)
def test_files_without_test_cases_are_refused_in_words(tmp_path: Path, content: object, said: str) -> None:
    with pytest.raises(UnreadableFileError, match=said):
        load(write(tmp_path / "x.json", content))


def test_two_files_of_two_models_pair_by_golden(tmp_path: Path) -> None:
    for model, every in (("a", 3), ("b", 5)):
        cases = [case(i, metric("F", 0.9 if i % every else 0.1), actualOutput=model) for i in range(30)]
        write(tmp_path / f"test_run_{model}.json", run(*cases, hyperparameters={"model": model}))
    found = compare(read_files(tmp_path), "a", "b")
    assert found.estimate == pytest.approx(24 / 30 - 20 / 30)


def test_the_hidden_folder_of_a_project_is_looked_at(tmp_path: Path) -> None:
    write(tmp_path / "app" / ".deepeval" / ".latest_test_run.json", {"testRunData": run(case(0, metric("A", 0.8)))})
    write(tmp_path / "app" / ".deepeval" / ".deepeval-cache.json", {"testCases": {}})
    for folder in (tmp_path, tmp_path / "app" / ".deepeval"):
        data = read_files(folder)
        assert data.outcomes.height == 2
        assert not data.problems


def test_the_rolling_copy_is_not_counted_beside_the_runs_themselves(tmp_path: Path) -> None:
    write(tmp_path / ".deepeval" / ".latest_test_run.json", {"testRunData": run(case(0, metric("A", 0.8)))})
    write(tmp_path / "results" / "test_run_20260102_030405.json", run(case(0, metric("A", 0.8))))
    data = read_files(tmp_path)
    assert data.runs.height == 1
    assert any("DeepEval's copy of its newest run" in problem.message for problem in data.problems)
