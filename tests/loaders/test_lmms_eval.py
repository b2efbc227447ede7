"""lmms-eval's files: samples beside their results, metrics whose value is an object, no column of lm-evaluation-harness."""

from pathlib import Path
from typing import Any

import pytest

import evalstats as es
from tests.loaders.trees import opened, said

Row = dict[str, Any]
TIME = "20260102_030405"


def sample(doc: object = 0, **metrics: object) -> Row:
    known = {"doc_id": doc, "target": "Yes", "filtered_resps": "Yes", "token_counts": [None], "doc_hash": f"h{doc}"}
    return {**known, **metrics, "input": "Is it?"}


def results(model: str = "lab/llava", **metrics: object) -> Row:
    about = {
        "configs": {"mme": {"task": "mme"}},
        "versions": {"mme": 1.0},
        "n-shot": {"mme": 0},
        "config": {"limit": 4},
    }
    counts = {"n-samples": {"mme": {"original": 9, "effective": 4}}, "lmms_eval_version": "0.5", "model_name": model}
    better = {"higher_is_better": {"mme": {"acc": True, "f1,flex": None, "mme": False}}}
    return {"results": {"mme": {"alias": "mme", **metrics}}, **about, **counts, **better}


FILES: dict[str, object] = {
    f"lab__llava/{TIME}_results.json": results(**{"acc,none": 0.5, "acc_stderr,none": 0.1, "f1,flex": 0.25}),
    f"lab__llava/{TIME}_samples_mme.jsonl": [
        sample(0, acc=1.0, mme={"question_id": "a", "score": 1.0}, list=[1, 0]),
        sample(1, acc=False, mme={"pred": "x"}, list="x"),
    ],
}


def test_a_run(tmp_path: Path) -> None:
    data = opened(tmp_path, FILES, "lmms-eval")
    assert data.outcomes.select("model", "benchmark", "task", "item", "metric", "status", "score").rows() == [
        ("lab/llava", "mme", "mme", "0", "acc", "scored", 1.0),
        ("lab/llava", "mme", "mme", "0", "mme", "scored", 1.0),
        ("lab/llava", "mme", "mme", "0", "list", "unscored", None),
        ("lab/llava", "mme", "mme", "1", "acc", "scored", 0.0),
        ("lab/llava", "mme", "mme", "1", "mme", "unscored", None),
        ("lab/llava", "mme", "mme", "1", "list", "unscored", None),
    ]
    assert data.aggregates.select("task", "metric", "estimate", "std_error", "n").rows() == [
        ("mme", "acc", 0.5, 0.1, 4),
        ("mme", "f1,flex", 0.25, None, 4),
    ]
    better = dict(data.metrics.select("metric", "higher_is_better").rows())
    assert (better["acc"], better["mme"], better["list"]) == (True, False, None)
    run = data.runs.row(0, named=True)
    assert (run["task_version"], run["n_shots"], run["item_limit"], run["harness"]) == ("1", 0, 4, "lmms-eval")


def test_samples_alone(tmp_path: Path) -> None:
    samples = [sample(acc=1.0), sample(acc=0.0), sample(None, acc=1.0)]
    data = opened(tmp_path, {f"lab__llava/{TIME}_samples_mme.jsonl": samples}, "lmms-eval")
    assert data.outcomes.select("trial", "score").rows() == [(0, 1.0), (1, 0.0)]
    assert data.runs["model"][0] == "lab/llava"
    assert "(no doc_id): line 3" in said(data, "error")


def test_two_models_pair(tmp_path: Path) -> None:
    files = {
        f"{model}/{TIME}_samples_mme.jsonl": [sample(n, acc=float(n % every > 0)) for n in range(30)]
        for model, every in (("old", 2), ("new", 3))
    }
    result = es.compare(opened(tmp_path, files, "lmms-eval"), "old", "new")
    assert (result.n_items, result.estimate) == (30, pytest.approx(20 / 30 - 15 / 30))
