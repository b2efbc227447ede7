"""Reasoning Gym: items are the questions themselves, since one seed did not always give one list of questions."""

import json
from pathlib import Path
from typing import Any

import pytest

import evalstats as es
from evalstats.errors import InputError, UnreadableFileError
from evalstats.loaders.base import Source, read_head, with_digest
from evalstats.loaders.formats.reasoning_gym import FORMAT
from evalstats.loaders.registry import read, read_source, sniffed
from evalstats.schema.data import EvalData
from tests.loaders.trees import said as told


def completion(score: object = 1.0, answer: object = "4", **more: Any) -> dict[str, Any]:
    return {"model_answer": answer, "full_model_response": "<answer>4</answer>", "score": score, **more}


def result(question: object, *completions: object, **more: Any) -> dict[str, Any]:
    return {
        "question": question,
        "expected_answer": "4",
        "best_model_answer": "4",
        "best_score": 1.0,
        "mean_score": 0.5,
        "completions": list(completions),
        **more,
    }


def dataset(*results: object, **changes: Any) -> dict[str, Any]:
    return {
        "name": "sums",
        "category": "algebra",
        "average_best_score": 1.0,
        "average_mean_score": 0.5,
        "total_examples": len(results),
        "config": {"size": 2, "seed": 42},
        "system_prompt": "Think.",
        "completions_per_prompt": 2,
        "results": list(results),
        **changes,
    }


SUMMARY: dict[str, Any] = {
    "total_datasets": 1,
    "total_examples": 2,
    "dataset_best_scores": {"sums": 1.0},
    "dataset_mean_scores": {"sums": 0.5},
    "timestamp": "2025-03-15T16:37:13",
    "git_hash": "abc",
    "model": "lab/my-model",
    "temperature": 0.6,
}


def write(
    root: Path, content: object, folder: str = "lab_my-model_20250315_163713/algebra", name: str = "sums.json"
) -> Path:
    path = root / folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content))
    return path


def load(path: Path) -> EvalData:
    return read_source(FORMAT, with_digest(Source(path=path)))


def test_completions(tmp_path: Path) -> None:
    path = write(
        tmp_path, dataset(result("2+2?", completion(), completion(0.25)), result("1+3?", completion(), completion()))
    )
    data = load(path)
    assert data.outcomes.select("task", "scenario", "trial", "metric", "score", "locator").rows() == [
        ("sums", "algebra", 0, "score", 1.0, "results[0].completions[0]"),
        ("sums", "algebra", 1, "score", 0.25, "results[0].completions[1]"),
        ("sums", "algebra", 0, "score", 1.0, "results[1].completions[0]"),
        ("sums", "algebra", 1, "score", 1.0, "results[1].completions[1]"),
    ]
    assert data.outcomes["item"].n_unique() == 2
    run = data.runs.row(0, named=True)
    assert (run["model"], run["benchmark"], run["harness"]) == ("lab_my-model", "Reasoning Gym", "reasoning-gym")
    assert data.metrics.select("low", "high", "kind").row(0) == (0.0, 1.0, "bounded")
    assert data.problems == ()


def test_the_summary_names_model_and_settings(tmp_path: Path) -> None:
    write(tmp_path, dataset(result("2+2?", completion())))
    write(tmp_path, SUMMARY, "lab_my-model_20250315_163713", "summary.json")
    data = read(tmp_path)
    run = data.runs.row(0, named=True)
    assert (run["model"], run["temperature"], run["harness_version"]) == ("lab/my-model", 0.6, "abc")
    assert "1 questions have fewer completions" in told(data)


def test_a_summary_alone_holds_no_results(tmp_path: Path) -> None:
    path = write(tmp_path, SUMMARY, name="summary.json")
    with pytest.raises(InputError, match="holds only the averages of a run; give the folder that it lies in"):
        read(path)


@pytest.mark.parametrize(
    ("value", "status", "reason"),
    [
        (completion(0.0, "ERROR", error="ValueError: no\nmore"), "error", "ValueError: no"),
        (completion(None), "unscored", "there is no score"),
        (completion("good"), "unscored", "the score is no number"),
        (completion(True), "unscored", "the score is no number"),
        (completion(-1), "unscored", "the score lies outside 0 to 1"),
        (completion(0.0, None), "scored", "no answer stood between the tags, which the benchmark scores itself"),
        (completion(), "scored", None),
        ("lost", "unscored", "there is no score"),
    ],
)
def test_states(tmp_path: Path, value: object, status: str, reason: str | None) -> None:
    row = load(write(tmp_path, dataset(result("2+2?", value)))).outcomes.row(0, named=True)
    assert (row["status"], row["status_reason"]) == (status, reason)
    assert (row["score"] is None) == (status != "scored")


def test_a_question_that_failed_as_a_whole_is_an_error(tmp_path: Path) -> None:
    data = load(write(tmp_path, dataset(result("2+2?", error="All completion attempts failed", mean_score=0.0))))
    row = data.outcomes.row(0, named=True)
    assert (row["status"], row["status_reason"]) == ("error", "All completion attempts failed")
    assert "1 completions could not be scored" in told(data)


def test_what_the_benchmark_scores_itself_is_told(tmp_path: Path) -> None:
    data = load(write(tmp_path, dataset(result("2+2?", completion(0.0, None), completion()))))
    assert "1 of 2 completions give no answer between the tags" in told(data)


def test_a_question_that_stands_twice_is_two_items(tmp_path: Path) -> None:
    data = load(
        write(tmp_path, dataset(result("2+2?", completion()), result("2+2?", completion()), completions_per_prompt=1))
    )
    first, second = data.outcomes["item"].to_list()
    assert second == f"{first}#2"
    assert "1 questions appear in the file more than once" in told(data)


@pytest.mark.parametrize(
    ("folder", "name", "model"),
    [
        ("lab_x_algebra_20250315_163713/algebra", "sums.json", "lab_x_algebra"),
        (".", "easy__lab_x_20250315_163713__sums.json", "lab_x"),
        ("mine", "sums.json", "sums"),
    ],
)
def test_the_model_without_a_summary(tmp_path: Path, folder: str, name: str, model: str) -> None:
    data = load(write(tmp_path, dataset(result("2+2?", completion())), folder, name))
    assert data.runs["model"].item() == model
    assert ("it is called" in told(data)) == (model == "sums")


@pytest.mark.parametrize("content", [dataset(error="no such dataset"), [1]])
def test_a_dataset_without_a_result_is_refused(tmp_path: Path, content: object) -> None:
    with pytest.raises(UnreadableFileError, match="none of its questions could be read"):
        load(write(tmp_path, content))


def test_other_questions_under_one_configuration_are_never_paired(tmp_path: Path) -> None:
    shared = [result(f"{k}+1?", completion(k % 2)) for k in range(30)]
    own = {model: [result(f"{k}+{model}?", completion()) for k in range(5)] for model in "ab"}
    for model in "ab":
        write(tmp_path, dataset(*shared, *own[model]), f"{model}_20250315_163713/algebra")
        write(tmp_path, dataset(*shared, name="alike"), f"{model}_20250315_163713/algebra", "alike.json")
    write(tmp_path, dataset(*own["a"], config={"size": 5, "seed": 1}), "c_20250315_163713/algebra")
    data = read(tmp_path)
    result_ = es.compare(data, "a", "b")
    assert result_.n_items == 60


def test_two_models_pair(tmp_path: Path) -> None:
    for model, right in (("a", 2), ("b", 3)):
        results = [
            result(f"{k}+1?", completion(float(k % right > 0)), completion(float(k % right > 0))) for k in range(60)
        ]
        write(tmp_path, dataset(*results), f"{model}_20250315_163713/algebra")
    data = read(tmp_path)
    assert data.problems == ()
    compared = es.compare(data, "a", "b")
    assert compared.n_items == 60
    assert compared.estimate == pytest.approx(1 / 6)


def whole(*datasets: dict[str, Any], **about: Any) -> dict[str, Any]:
    metadata = {"timestamp": "2025-04-01T12:18:18", "model": "lab/m", "temperature": 0.7, "eval_repeats": 2, **about}
    return {"metadata": metadata, "categories": [{"name": "reasoning", "datasets": list(datasets)}]}


def of_whole(name: str, *results: object) -> dict[str, Any]:
    held = {"name": name, "category": "reasoning", "average_score": 0.5, "total_examples": 2, "config": {"seed": 42}}
    return {**held, "results": list(results)}


def test_a_whole_run_in_one_file(tmp_path: Path) -> None:
    sums = of_whole("sums", result("2+2?", completion(), completion(0.0)), result("1+3?", completion()))
    path = write(
        tmp_path, whole(sums, of_whole("sorts", result("sort", completion(0.5, None)))), "local_1", "results.json"
    )
    data = read(tmp_path)
    assert data.outcomes.select("model", "task", "scenario", "trial", "score", "locator").rows() == [
        ("lab/m", "sums", "reasoning", 0, 1.0, "categories[0].datasets[0].results[0].completions[0]"),
        ("lab/m", "sums", "reasoning", 1, 0.0, "categories[0].datasets[0].results[0].completions[1]"),
        ("lab/m", "sums", "reasoning", 0, 1.0, "categories[0].datasets[0].results[1].completions[0]"),
        ("lab/m", "sorts", "reasoning", 0, 0.5, "categories[0].datasets[1].results[0].completions[0]"),
    ]
    assert data.runs.height == 2
    assert set(data.runs["temperature"]) == {0.7}
    assert "2 questions have fewer completions" in told(data)
    found = sniffed(read_head(path))[0]
    assert found is not None
    assert found[0] is FORMAT


def test_a_whole_run_beside_its_datasets_is_not_counted_twice(tmp_path: Path) -> None:
    folder = "lab_my-model_20250315_163713"
    write(tmp_path, dataset(result("2+2?", completion())))
    write(tmp_path, whole(of_whole("sums", result("2+2?", completion()))), folder, "results.json")
    assert read(tmp_path).outcomes.height == 1


def test_a_dataset_of_a_whole_run_without_results_is_told(tmp_path: Path) -> None:
    content = whole(of_whole("sums", result("2+2?", completion())), {**of_whole("sorts"), "error": "out of memory"})
    data = load(write(tmp_path, content, "x", "results.json"))
    assert data.outcomes.height == 1
    assert "(a dataset without results): categories[0].datasets[1]" in told(data, "error")
    with pytest.raises(UnreadableFileError, match="none of its questions could be read"):
        load(write(tmp_path, whole(), "y", "results.json"))
