"""EQ-Bench: two versions of a score, two passes, questions that are missing, and scores far below 0."""

import json
from pathlib import Path
from typing import Any

import pytest

import evalstats as es
from evalstats.errors import UnreadableFileError
from evalstats.loaders.base import Source, with_digest
from evalstats.loaders.formats.eq_bench import FORMAT, RAW
from evalstats.loaders.registry import read_source
from evalstats.schema.data import EvalData
from tests.loaders.trees import said as told

SCORES = {"1": (9.0, 8.0), "2": (7.0, -33.5), "3": (5.0, None)}


def iteration(scores: dict[str, tuple[Any, Any]] | None = None, member: str = "individual_scores") -> dict[str, Any]:
    found = (SCORES if scores is None else scores).items()
    return {
        "respondent_answers": {},
        member: {item: {"first_pass_score": first, "revised_score": second} for item, (first, second) in found},
        "raw_inference": {},
    }


FLAT: dict[str, Any] = {
    "benchmark_score": 77.25,
    "benchmark_success": True,
    "bitsandbytes_quant": "none",
    "eqbench_version": "v2",
    "errors": "",
    "index_string": "7--v2--lab/my-model----ChatML--none--ooba----",
    "inference_engine": "ooba",
    "instruction_template": "ChatML",
    "lora_path": "",
    "model_path": "lab/my-model",
    "n_questions_parseable": 3.0,
    "n_questions_total": 4,
    "raw_results": {"1": iteration()},
    "run_completed": 1705362634,
    "run_id": "7",
}
META = {"run_id": "1", "eq_bench_version": "eq-bench", "language": "en", "model_path": "lab/my-model", "lora_path": ""}
INDEX = "1--v2--en--lab/my-model----ChatML--None--openai--None--"


@pytest.fixture
def scored(tmp_path: Path) -> Any:
    def write(content: object, name: str = "lab__my-model_eqbench_v2_results.json") -> EvalData:
        path = tmp_path / name
        path.write_text(json.dumps(content))
        return read_source(RAW if name == "raw_results.json" else FORMAT, with_digest(Source(path=path)))

    return write


def test_a_published_run(scored: Any) -> None:
    data = scored(FLAT)
    outcomes = data.outcomes.sort("item", "metric")
    rows = outcomes.select("item", "metric", "score", "status", "trial", "task", "variant", "locator").rows()
    assert rows[:3] == [
        ("1", "normalised", 9.0, "scored", 0, "v2", "", "1.1"),
        ("1", "normalised/first_pass", 9.0, "scored", 0, "v2", "", "1.1"),
        ("1", "normalised/revised", 8.0, "scored", 0, "v2", "", "1.1"),
    ]
    assert rows[5][1:4] == ("normalised/revised", -33.5, "scored")
    assert rows[8][1:4] == ("normalised/revised", None, "unscored")
    assert outcomes["status_reason"][8] == "there is no score"
    run = data.runs.row(0, named=True)
    assert (run["model"], run["system"], run["task_version"]) == ("lab/my-model", "lab/my-model", "v2")
    assert (run["n_scored"], run["n_unscored"], run["timestamp"].year) == (8, 1, 2024)
    assert data.metrics.filter(metric="normalised").select("low", "high", "primary").row(0) == (None, 10.0, True)
    published = data.aggregates.row(0, named=True)
    assert (published["metric"], published["estimate"], published["n"]) == ("benchmark_score", 77.25, 3)
    assert "1 questions are not in the file" in told(data)
    assert "scores of version 1 only" in told(data)


@pytest.mark.parametrize(
    ("scores", "taken"),
    [
        ({"1": (5.0, 6.0), "2": (5.0, 5.0)}, [6.0, 5.0]),
        ({"1": (5.0, 4.0), "2": (5.0, 5.0)}, [5.0, 5.0]),
        ({"1": (5.0, 9.0), "2": (5.0, None)}, [5.0, 5.0]),
        ({"1": (None, 9.0), "2": (5.0, 9.0)}, [9.0, 9.0]),
    ],
)
def test_the_pass_that_the_harness_takes(scored: Any, scores: dict[str, Any], taken: list[float]) -> None:
    data = scored({**FLAT, "raw_results": {"1": iteration(scores)}})
    assert data.outcomes.filter(metric="normalised")["score"].to_list() == taken


def test_a_pass_that_was_not_asked_for_is_missing(scored: Any) -> None:
    data = scored({**FLAT, "raw_results": {"1": iteration({"1": (5.0, None), "2": (None, None)})}})
    assert data.metrics["metric"].to_list() == ["benchmark_score", "normalised", "normalised/first_pass"]
    assert data.outcomes.filter(metric="normalised")["status"].to_list() == ["scored", "unscored"]


def test_the_harness_own_file(scored: Any) -> None:
    full = {**iteration(), **iteration({"1": ([8.5], None), "2": (2.5, None)}, "individual_scores_fullscale")}
    content = {
        INDEX: {"run_metadata": META, "iterations": {"1": full, "2": full}},
        "2--v2--de": {
            "run_metadata": {**META, "language": "de", "bitsandbytes_quant": "4bit"},
            "iterations": {"1": full},
        },
        "3--creative": {"run_metadata": {**META, "eq_bench_version": "creative-writing"}, "iterations": {}},
    }
    data = scored(content, "raw_results.json")
    assert data.outcomes.filter(metric="fullscale").select("item", "trial", "variant", "score").rows() == [
        ("1", 0, "", 8.5),
        ("2", 0, "", 2.5),
        ("1", 1, "", 8.5),
        ("2", 1, "", 2.5),
        ("1", 0, "de", 8.5),
        ("2", 0, "de", 2.5),
    ]
    assert data.metrics.filter(primary=True)["metric"].to_list() == ["fullscale"]
    assert data.runs["system"].to_list() == ["lab/my-model", "lab/my-model (4bit)"]
    assert "(of creative-writing, not of EQ-Bench): 3--creative" in told(data, "error")


@pytest.mark.parametrize("score", ["x", True, [1, 2], {}, 10.5, float("nan"), None])
def test_no_score(scored: Any, score: object) -> None:
    data = scored({**FLAT, "raw_results": {"1": iteration({"1": (5.0, None), "2": (score, None)})}})
    assert data.outcomes.filter(item="2")["status"].unique().to_list() == ["unscored"]


def test_what_holds_nothing_is_refused(scored: Any) -> None:
    with pytest.raises(UnreadableFileError, match="is a list; an object with runs was expected"):
        scored([FLAT], "raw_results.json")
    with pytest.raises(UnreadableFileError, match="none of its runs could be read"):
        scored({"x": 1}, "raw_results.json")
    with pytest.raises(UnreadableFileError, match="no model_path"):
        scored({**FLAT, "model_path": None})


def test_two_files_of_two_models_pair(tmp_path: Path) -> None:
    for model, more in (("a", 0.0), ("b", 0.5)):
        scores = {str(k): (k % 7 + more * (k % 3), None) for k in range(60)}
        content = {**FLAT, "model_path": model, "raw_results": {"1": iteration(scores)}}
        (tmp_path / f"{model}_eqbench_v2_results.json").write_text(json.dumps(content))
    result = es.compare(es.read(tmp_path), "a", "b", metric="normalised")
    assert result.n_items == 60
    assert result.estimate == pytest.approx(0.5)
