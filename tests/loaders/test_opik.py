"""Opik's experiments: items by their id in the dataset, whether the command line wrote them or a page."""

from pathlib import Path
from typing import Any

import pytest

import evalstats as es
from tests.loaders.trees import opened, said

Row = dict[str, Any]


def item(dataset_item: object = "d1", assertions: tuple[tuple[str, object], ...] = (), **scores: object) -> Row:
    found = [{"name": name, "value": value, "category_name": None, "reason": "r"} for name, value in scores.items()]
    checked = [{"value": name, "passed": passed, "reason": None} for name, passed in assertions]
    known = {"id": "i1", "dataset_item_id": dataset_item, "trace_id": "t1", "dataset_item_data": {"q": "2+2"}}
    return {**known, "evaluation_task_output": {"a": "4"}, "feedback_scores": found, "assertion_results": checked}


def experiment(*items: Row, model: str | None = "gpt") -> Row:
    about = {"id": "e1", "name": "exp", "dataset_name": "qa", "metadata": None if model is None else {"model": model}}
    return {"experiment": about, "items": list(items), "downloaded_at": "2026-01-02T03:04:05"}


EXPORT = experiment(item(correct=1.0, tone=0.5), item(correct=0.0), item("d2", (("is polite", True),)), item("d3"))


def test_what_the_command_line_exports(tmp_path: Path) -> None:
    data = opened(tmp_path, {"experiment_e1.json": EXPORT}, "opik")
    assert data.outcomes.select("item", "trial", "metric", "status", "score", "locator").rows() == [
        ("d1", 0, "correct", "scored", 1.0, "items[0]"),
        ("d1", 0, "tone", "scored", 0.5, "items[0]"),
        ("d1", 1, "correct", "scored", 0.0, "items[1]"),
        ("d2", 0, "is polite", "scored", 1.0, "items[2]"),
        ("d3", 0, "correct", "unscored", None, "items[3]"),
        ("d3", 0, "tone", "unscored", None, "items[3]"),
        ("d3", 0, "is polite", "unscored", None, "items[3]"),
    ]
    assert data.runs.select("model", "system").row(0) == ("gpt", "exp")


def test_odd_items(tmp_path: Path) -> None:
    rows = [item(None, correct=1.0), item(correct="high"), item("d2", (("ok", "yes"),)), item("d3", correct=None)]
    data = opened(tmp_path, {"e.json": experiment(*rows, model=None)}, "opik")
    assert data.outcomes.select("item", "status", "value_raw").rows() == [
        ("d1", "unscored", '"high"'),
        ("d2", "unscored", '"yes"'),
        ("d3", "unscored", None),
    ]
    assert "(no dataset_item_id): items[0]" in said(data, "error")
    assert data.runs["model"][0] == "exp"
    assert "does not name its model" in said(data)


def test_an_item_without_its_id_in_front_hides_no_other(tmp_path: Path) -> None:
    first = item(correct=1.0)
    del first["dataset_item_id"]
    data = opened(tmp_path, {"e.json": experiment(first, item("d2", correct=0.0))}, "opik")
    assert data.outcomes.select("item", "score").rows() == [("d2", 0.0)]
    assert "(no dataset_item_id): items[0]" in said(data, "error")


PAGE = [
    {"id": "d1", "dataset.q": "2+2", "evaluation_task.a": "4", "feedback_scores.correct": 1, "feedback_scores.t": "-"},
    {"id": "d2", "dataset.q": "3+3", "evaluation_task.a": "7", "feedback_scores.correct": 0, "feedback_scores.t": 0.5},
]


@pytest.mark.parametrize("ending", ["csv", "json"])
def test_what_the_page_of_an_experiment_exports(tmp_path: Path, ending: str) -> None:
    data = opened(tmp_path, {f"my-exp.{ending}": PAGE}, "opik")
    assert data.outcomes.select("item", "metric", "status", "score").rows() == [
        ("d1", "correct", "scored", 1.0),
        ("d1", "t", "unscored", None),
        ("d2", "correct", "scored", 0.0),
        ("d2", "t", "scored", 0.5),
    ]
    assert data.runs["model"][0] == "my-exp"


def test_experiments_side_by_side_pair(tmp_path: Path) -> None:
    rows = [
        {
            "id": f"d{n}",
            "dataset.q": f"{n}?",
            "old v1.0.feedback_scores.correct": int(n % 2 > 0),
            "old v1.0.feedback_scores.correct_reason": "because",
            "new.feedback_scores.correct": int(n % 3 > 0),
        }
        for n in range(30)
    ]
    data = opened(tmp_path, {"compare-2.json": rows}, "opik")
    assert data.metrics["metric"].to_list() == ["correct"]
    result = es.compare(data, "old v1.0", "new")
    assert (result.n_items, result.estimate) == (30, pytest.approx(20 / 30 - 15 / 30))
