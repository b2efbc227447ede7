"""MTEB's results: a task's published scores for each split and subset, in the layouts of three ages."""

import json
from pathlib import Path
from typing import Any

import pytest

import evalstats as es
from evalstats.loaders.base import read_head
from evalstats.loaders.registry import sniffed
from evalstats.schema.data import EvalData

RESULT: dict[str, Any] = {
    "dataset_revision": "d1",
    "task_name": "Sick",
    "mteb_version": "2.2.0",
    "scores": {
        "test": [
            {"main_score": 0.5, "spearman": 0.5, "hf_subset": "de-en", "languages": ["deu-Latn", "eng-Latn"]},
            {"main_score": 0.75, "spearman": 0.75, "hf_subset": "fr", "languages": ["fra-Latn"]},
        ],
        "dev": [{"main_score": 0.25, "hf_subset": "default", "languages": ["deu-Latn"], "scores_per_experiment": [{}]}],
    },
    "evaluation_time": 10.5,
    "kg_co2_emissions": None,
}
META = {"name": "maker/model", "revision": "r1", "release_date": None, "languages": None, "framework": ["x"]}
OLD = {
    "dataset_revision": "d1",
    "mteb_dataset_name": "Sick",
    "mteb_version": "1.1.1",
    "test": {
        "de": {"cos_sim": {"pearson": 0.1, "spearman": 0.2}, "evaluation_time": 3},
        "fr": {"cos_sim": {"pearson": 0.3, "spearman": 0.4}},
    },
}
FOLDER = "results/maker__model/r1"


@pytest.fixture
def results(tmp_path: Path) -> Any:
    def write(files: dict[str, object], *, folder: str = FOLDER) -> EvalData:
        where = tmp_path / folder
        where.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            (where / name).write_text(json.dumps(content))
        return es.read(tmp_path)

    return write


def rows(data: EvalData, *columns: str) -> list[tuple[object, ...]]:
    return data.aggregates.select(columns).rows()


def test_every_subset_of_a_task(results: Any) -> None:
    data = results({"Sick.json": RESULT, "model_meta.json": META})
    assert rows(data, "model", "task", "variant", "language", "metric", "estimate") == [
        ("maker/model", "Sick", "test/de-en", "deu-Latn,eng-Latn", "main_score", 0.5),
        ("maker/model", "Sick", "test/de-en", "deu-Latn,eng-Latn", "spearman", 0.5),
        ("maker/model", "Sick", "test/fr", "fra-Latn", "main_score", 0.75),
        ("maker/model", "Sick", "test/fr", "fra-Latn", "spearman", 0.75),
        ("maker/model", "Sick", "dev", "deu-Latn", "main_score", 0.25),
    ]
    run = data.runs.row(0, named=True)
    assert (run["harness_version"], run["task_version"], run["revision"]) == ("2.2.0", "d1", "r1")
    assert data.metrics.filter(primary=True)["metric"].to_list() == ["main_score"]
    assert data.problems == ()


@pytest.mark.parametrize(
    ("folder", "model"),
    [(FOLDER, "maker/model"), (f"{FOLDER}/experiments/fp16", "maker/model"), ("elsewhere", "Sick")],
)
def test_without_its_description_the_folders_name_the_model(results: Any, folder: str, model: str) -> None:
    data = results({"Sick.json": RESULT}, folder=folder)
    assert set(data.aggregates["model"]) == {model}
    assert bool(data.problems) == (model == "Sick")


def test_before_version_1_11(results: Any) -> None:
    data = results({"Sick.json": OLD})
    assert rows(data, "variant", "metric", "estimate") == [
        ("test/de", "cos_sim_pearson", 0.1),
        ("test/de", "cos_sim_spearman", 0.2),
        ("test/fr", "cos_sim_pearson", 0.3),
        ("test/fr", "cos_sim_spearman", 0.4),
    ]
    assert "2 subsets name no main_score" in data.problems[0].message
    flat = results({"Sick.json": OLD | {"test": {"accuracy": 0.5, "accuracy_stderr": 0.1, "evaluation_time": 3}}})
    assert rows(flat, "variant", "metric", "estimate", "std_error") == [("test", "accuracy", 0.5, None)]


def test_results_of_several_models(results: Any) -> None:
    one = {"model_name": "a/b", "model_revision": "r", "task_results": [RESULT]}
    data = results({"all.json": {"model_results": [one, one | {"model_name": "c/d"}]}}, folder="x")
    assert data.runs["model"].to_list() == ["a/b", "c/d"]
    assert data.aggregates.height == 10
    assert results({"all.json": one}, folder="x").runs["model"].to_list() == ["a/b"]


def test_what_is_no_number_is_passed_over(results: Any) -> None:
    scores = {"main_score": 0.5, "ap": float("nan"), "note": "x", "flag": True, "hf_subset": "default", "languages": 3}
    data = results({"Sick.json": RESULT | {"scores": {"test": [scores, 3]}}})
    assert rows(data, "metric", "estimate", "language") == [("main_score", 0.5, None)]


def test_a_result_without_scores_is_refused(results: Any) -> None:
    with pytest.raises(es.EvalStatsError, match=r"dropped \(no scores\)"):
        results({"Sick.json": RESULT | {"scores": {}}})


def test_detection(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    for content, name in ((RESULT, "mteb"), (OLD, "mteb"), ({"task_name": "x", "scores": {"a": 1}}, None)):
        path.write_text(json.dumps(content))
        found, _ = sniffed(read_head(path))
        assert (found and found[0].name) == name
