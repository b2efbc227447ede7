"""Inspect's data frames: samples with the table of evals that names their model, grades as in Inspect's logs."""

import io
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import evalstats as es
from evalstats.errors import InputError
from tests.loaders.trees import opened, said

Row = dict[str, Any]


def sample(item: object = "q1", epoch: int = 1, log: str = "e1", score: object = "C", **changes: Any) -> Row:
    known = {"sample_id": f"{log}{item}{epoch}", "eval_id": log, "log": f"{log}.eval", "id": item, "epoch": epoch}
    more = {"input": "2+2", "target": "4", "metadata_category": "math", "score_match": score, "total_time": 1.5}
    return {**known, **more, "error": "", "limit": None, **changes}


def log(name: str = "e1", model: str = "openai/gpt", **changes: Any) -> Row:
    known = {"eval_id": name, "log": f"{name}.eval", "run_id": "r", "task_id": "t", "created": "2026-01-02T03:04:05Z"}
    task = {"task_name": "arith", "task_version": 2, "model": model, "status": "success", "total_samples": 4}
    scores = {"score_headline_name": "match", "score_match_accuracy": 0.5, "score_match_stderr": 0.1}
    return {**known, **task, "completed_samples": 4, **scores, **changes}


SAMPLES = [
    sample(score_judge='{"tone": 0.5, "style": "I"}'),
    sample(epoch=2, score="I", score_match_answer="5"),
    sample("q2", score=None, error="ValueError: boom\nmore"),
    sample("q3", score="odd"),
]
FILES: dict[str, object] = {"evals.csv": [log()], "samples.csv": SAMPLES}


def test_samples_beside_evals(tmp_path: Path) -> None:
    data = opened(tmp_path, FILES, "inspect-frames")
    rows = data.outcomes.filter(data.outcomes["metric"] == "match")
    assert rows.select("item", "trial", "status", "score", "scenario", "locator").rows() == [
        ("q1", 0, "scored", 1.0, "math", f"{tmp_path.name}/samples.csv line 2"),
        ("q1", 1, "scored", 0.0, "math", f"{tmp_path.name}/samples.csv line 3"),
        ("q2", 0, "error", None, "math", f"{tmp_path.name}/samples.csv line 4"),
        ("q3", 0, "unscored", None, "math", f"{tmp_path.name}/samples.csv line 6"),
    ]
    judged = data.outcomes.filter(data.outcomes["metric"] == "judge/tone")
    assert judged.select("item", "trial", "status", "score").rows() == [
        ("q1", 0, "scored", 0.5),
        ("q1", 1, "unscored", None),
        ("q2", 0, "error", None),
        ("q3", 0, "unscored", None),
    ]
    assert sorted(data.outcomes["metric"].unique()) == ["judge/style", "judge/tone", "match"]
    run = data.runs.row(0, named=True)
    assert (run["model"], run["benchmark"], run["task_version"], run["status"]) == (
        "openai/gpt",
        "arith",
        "2",
        "success",
    )
    told = data.aggregates.select("model", "metric", "estimate", "std_error", "n")
    assert told.rows() == [("openai/gpt", "match_accuracy", 0.5, 0.1, 4)]


def test_samples_alone(tmp_path: Path) -> None:
    data = opened(tmp_path, {"gpt.csv": [sample(), sample(), sample(None), sample(log=None)]}, "inspect-frames")  # type: ignore[arg-type]
    assert data.outcomes.height == 1
    assert data.runs["model"][0] == "gpt"
    assert "evals_df into the same folder" in said(data)
    assert "(repeated samples): line 3" in said(data, "error")
    assert "(no id): line 4" in said(data, "error")
    assert "(no eval_id): line 5" in said(data, "error")


def test_columns_of_the_log_and_its_viewer(tmp_path: Path) -> None:
    rows = [sample(model="m", task_name="arith", log_viewer="https://logs/x")]
    data = opened(tmp_path, {"samples.csv": rows}, "inspect-frames")
    assert data.outcomes.select("model", "benchmark", "link").row(0) == ("m", "arith", "https://logs/x")


@pytest.mark.parametrize(
    ("score", "status", "raw"), [(b"x", "unscored", "\"b'x'\""), (None, "unscored", None), (1.5, "scored", None)]
)
def test_odd_cells_of_parquet(tmp_path: Path, score: object, status: str, raw: str | None) -> None:
    stream = io.BytesIO()
    pl.DataFrame([sample(score=score)]).write_parquet(stream)
    data = opened(tmp_path, {"gpt.parquet": stream.getvalue()}, "inspect-frames")
    assert data.outcomes.select("metric", "status", "value_raw").row(0) == ("match", status, raw)


def test_two_models_pair(tmp_path: Path) -> None:
    rows = [
        sample(f"q{n}", log=name, score="C" if n % every else "I")
        for name, every in (("e1", 2), ("e2", 3))
        for n in range(30)
    ]
    data = opened(tmp_path, {"evals.csv": [log(), log("e2", "new")], "samples.csv": rows}, "inspect-frames")
    result = es.compare(data, "openai/gpt", "new")
    assert (result.n_items, result.estimate) == (30, pytest.approx(20 / 30 - 15 / 30))


def test_ids_and_limits_that_are_no_texts_are_no_faults(tmp_path: Path) -> None:
    rows = [sample(f"q{k}", log="e1", limit_reached=float(k)) for k in range(3)]
    pl.DataFrame(rows).write_parquet(tmp_path / "samples.parquet")
    assert es.read(tmp_path / "samples.parquet").outcomes.height == 3
    pl.DataFrame([{**row, "eval_id": ["e", "1"]} for row in rows]).write_parquet(tmp_path / "samples.parquet")
    with pytest.raises(InputError, match="no eval_id"):
        es.read(tmp_path / "samples.parquet")
