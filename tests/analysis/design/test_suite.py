"""Several benchmarks as one comparison: the average, the rows of tasks, what stays out, and what is refused."""

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest

import evalstats as es
from evalstats.analysis.compare.gate import gate
from evalstats.errors import InputError

SIZES = {"algebra": 40, "history": 90, "law": 150}
# Sums in another order.
ROUNDING = 1e-9


def folder(*, graded: bool = False, **changes: dict[str, Any]) -> es.EvalData:
    """Two systems on three benchmarks of unlike sizes, right or wrong; `changes` are those of a benchmark's metric."""
    kind = "bounded" if graded else "binary"
    rng = np.random.default_rng(4)
    rows: list[dict[str, Any]] = []
    metrics: list[dict[str, Any]] = []
    for name, n in SIZES.items():
        own = {
            "metric": "acc",
            "kind": kind,
            "low": 0.0,
            "high": 1.0,
            "unit": "proportion",
            **changes.get(name, {}),
        }
        metrics.append({"benchmark": name, "higher_is_better": True, "primary": True, **own})
        hard = rng.random(n)
        for model, skill in (("old", 0.5), ("new", 0.62)):
            rows += [
                {
                    "run": f"{model}-{name}", "model": model, "system": model, "benchmark": name, "item": f"q{i}",
                    "trial": 0, "metric": own["metric"], "status": "scored",
                    "score": hard[i] * skill if graded else float(hard[i] * 0.6 + rng.random() * 0.4 < skill),
                }
                for i in range(n)
            ]  # fmt: skip
    runs = [{"run": f"{model}-{name}", "model": model, "benchmark": name} for model in ("old", "new") for name in SIZES]
    tables = {"outcomes": rows, "metrics": metrics, "runs": runs}
    return es.EvalData(**{name: es.schema.tables.frame_from_rows(own, name) for name, own in tables.items()})


def test_the_average_counts_every_task_alike_and_each_task_has_a_row() -> None:
    data = folder()
    result = es.compare(data, "old", "new")
    alone = {name: es.compare(data.where(benchmark=name), "old", "new") for name in SIZES}
    assert result.estimate == pytest.approx(np.mean([each.estimate for each in alone.values()]), abs=ROUNDING)
    assert result.average == "macro average over 3 tasks of 40 to 150 items"
    assert (result.benchmark, result.metric, result.by) == ("3 tasks", "acc", "task")
    assert [(row.level, row.n_items) for row in result.groups] == list(SIZES.items())
    for row in result.groups:
        assert row.estimate == pytest.approx(alone[row.level].estimate, abs=ROUNDING)
        p = alone[row.level].p_value
        assert p is not None
        assert row.p_adjusted == pytest.approx(min(1.0, 3 * p), rel=1e-6)
    micro = es.compare(data, "old", "new", average="micro", over="task")
    differences = sum(each.estimate * SIZES[name] for name, each in alone.items()) / sum(SIZES.values())
    assert micro.estimate == pytest.approx(differences, abs=ROUNDING)


def test_looks_on_the_way_say_that_every_item_counts_alike() -> None:
    result = es.compare(folder(), "old", "new", sequential=True)
    assert result.average == "micro average over 3 tasks of 40 to 150 items"
    assert "micro average over 3 tasks" in result.summary()


def test_the_standard_error_is_that_of_independent_tasks() -> None:
    data = folder(graded=True)
    result = es.compare(data, "old", "new")
    variances = []
    for name in SIZES:
        rows = data.outcomes.filter(pl.col("benchmark") == name).sort("item")
        d = (rows.filter(model="new")["score"] - rows.filter(model="old")["score"]).to_numpy()
        variances.append(d.var(ddof=1) / len(d))
    assert result.std_error == pytest.approx(np.sqrt(sum(variances)) / 3, rel=1e-9)


def test_a_board_of_a_suite() -> None:
    data = folder()
    board, result = es.leaderboard(data), es.compare(data, "old", "new")
    assert [row.name for row in board.rows] == ["new", "old"]
    assert board.rows[0].estimate == pytest.approx(result.candidate.estimate, abs=ROUNDING)
    assert "macro average over 3 tasks" in board.summary()


def test_codes_of_names_as_a_store_has_them_are_one_suite_too() -> None:
    data = folder()
    names = pl.col("benchmark", "metric", "task", "item").cast(pl.Categorical)
    coded = replace(data, outcomes=data.outcomes.with_columns(names))
    assert es.compare(coded, "old", "new").estimate == es.compare(data, "old", "new").estimate


def test_the_gate_looks_at_every_task() -> None:
    assert gate(es.compare(folder(), "old", "new"), "worse").passed


def test_scores_of_another_scale_stay_out_by_name() -> None:
    other = {"metric": "perplexity", "kind": "continuous", "low": None, "high": None, "unit": None}
    result = es.compare(folder(law={**other, "higher_is_better": False}), "old", "new")
    assert [row.level for row in result.groups] == ["algebra", "history"]
    assert any("law (perplexity) dropped from the average" in note.text for note in result.notes)


def test_shares_of_other_names_are_one_score() -> None:
    result = es.compare(folder(law={"metric": "exact_match"}), "old", "new")
    assert result.metric == "score"
    assert len(result.groups) == 3
    only = es.compare(folder(law={"metric": "exact_match"}), "old", "new", metric="acc")
    assert [row.level for row in only.groups] == ["algebra", "history"]


def test_scales_of_their_own_have_no_average() -> None:
    scales = {name: {"low": 0.0, "high": float(k + 5)} for k, name in enumerate(SIZES)}
    with pytest.raises(InputError, match="each with a scale of its own"):
        es.compare(folder(**scales), "old", "new")


def test_one_benchmark_is_no_suite() -> None:
    result = es.compare(folder().where(benchmark="law"), "old", "new")
    assert (result.benchmark, result.by, result.average) == ("law", None, "")


def test_tasks_that_not_all_have_run_are_named_beside_the_verdict() -> None:
    """A side without a whole task was better by a macro average of the others, and nothing named the task."""
    rows = [
        {"item": f"{task}{i}", "model": model, "benchmark": task, "score": float((i * k) % 3 > 0)}
        for task in ("arc", "boolq", "piqa")
        for i in range(30)
        for k, model in enumerate(("a", "b"), 1)
        if (task, model) != ("boolq", "b")
    ]
    data = es.from_frame(pl.DataFrame(rows), item="item", score="score", model="model", benchmark="benchmark")
    said = "boolq dropped from the average: not all have run it"
    for result in (es.compare(data, "a", "b"), es.leaderboard(data)):
        assert [note.text for note in result.notes if note.caution and note.kind == "left_out"] == [said]
    assert all(any(note.text == said for note in score.notes) for score in es.score(data))
