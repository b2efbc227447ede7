"""Ranks on a task not yet seen: from the means of each task, beside the rank sets, refused where tasks are few."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import evalstats as es
from evalstats.stats.many.task_ranks import new_task_ranks
from tests.analysis.builders import data_of, rows_of

MODELS = ("a", "b", "c")


def suite(n_tasks: int, *, lower_is_better: bool = False, lacking: int = 0) -> es.EvalData:
    """Three models on tasks of 12 items; on the first `lacking` tasks c answered nothing that others did."""
    rng = np.random.default_rng(3)
    rows: list[dict[str, object]] = []
    for task in range(n_tasks):
        for model, ability in zip(MODELS, (0.9, 0.5, 0.3), strict=True):
            scores = rng.normal(ability + rng.normal(0, 0.2), 0.3, 12).round(3).tolist()
            items = [f"t{task}-q{i}{'-own' if model == 'c' and task < lacking else ''}" for i in range(12)]
            rows += rows_of(model, scores, items=items, factors={"task": [f"t{task:02d}"] * 12})
    return data_of(rows, kind="continuous", higher_is_better=not lower_is_better)


def test_it_is_the_intervals_of_the_means_of_tasks() -> None:
    data = suite(22)
    found = es.leaderboard(data, over="task", average="macro")
    means = (
        data.outcomes.pivot("model", index="task", values="score", aggregate_function="mean")
        .sort("task")
        .select(MODELS)
    )
    wanted = new_task_ranks(means.to_numpy())
    assert found.new_task is not None
    rows = {row.name: row for row in found.new_task.rows}
    assert [rows[name].rank_low for name in MODELS] == wanted.low.tolist()
    assert [rows[name].rank_high for name in MODELS] == wanted.high.tolist()
    assert found.new_task.share_together == wanted.together
    assert (found.new_task.factor, found.new_task.n_tasks, found.new_task.conf_level) == ("task", 22, 0.95)


def test_frame_and_document() -> None:
    found = es.leaderboard(suite(22))
    assert found.new_task is not None
    assert found.to_frame()["rank_high_new_task"].to_list() == [row.rank_high for row in found.new_task.rows]
    section = next(each for each in found.document().evidence if each.id == "new-task")
    assert section.heading.startswith("On a new task, a would rank 1")
    assert "Each task predicted from the others" in section.blocks[1].text  # pyright: ignore[reportAttributeAccessIssue]
    assert found.figure("new-task").axes
    assert any("arXiv:2606.08679" in str(block) for each in found.document().method for block in each.blocks)


def test_where_lower_is_better_ranks_turn() -> None:
    up, down = es.leaderboard(suite(22)).new_task, es.leaderboard(suite(22, lower_is_better=True)).new_task
    assert up is not None
    assert down is not None
    high = {row.name: row.rank_high for row in up.rows}
    assert {row.name: 4 - row.rank_low for row in down.rows} == high


def test_too_few_tasks_say_how_many_are_needed() -> None:
    found = es.leaderboard(suite(12))
    assert found.new_task is not None
    assert found.new_task.reason == ("12 tasks are too few to predict a rank at 95%; at least 19 are needed")
    assert not found.new_task.rows
    assert "rank_low_new_task" not in found.to_frame().columns
    assert not any(each.id == "new-task" for each in found.document().evidence)
    assert any("at least 19 are needed" in str(block) for each in found.document().method for block in each.blocks)
    nine = es.leaderboard(suite(12), conf_level=0.9).new_task
    assert nine is not None
    assert len(nine.rows) == 3


def test_tasks_that_not_all_have_do_not_count() -> None:
    found = es.leaderboard(suite(22, lacking=2)).new_task
    assert found is not None
    assert (found.n_tasks, found.n_left_out) == (20, 2)


def test_without_tasks_nothing_is_said() -> None:
    alone = es.leaderboard(suite(1))
    assert alone.new_task is None
    assert "rank_low_new_task" not in alone.to_frame().columns


def test_it_is_saved_and_read_back(tmp_path: Path) -> None:
    found = es.leaderboard(suite(22))
    found.save(tmp_path / "board.json")
    again = es.load_result(tmp_path / "board.json")
    assert again.to_frame().equals(found.to_frame())
    assert isinstance(again.to_frame(), pl.DataFrame)


@pytest.mark.parametrize("seed", [1, 2])
def test_the_order_of_rows_says_nothing(seed: int) -> None:
    data = suite(20)
    shuffled = es.from_frame(
        data.outcomes.select("model", "task", "item", "score").sample(fraction=1, shuffle=True, seed=seed)
    )
    one, other = es.leaderboard(data).new_task, es.leaderboard(shuffled).new_task
    assert one is not None
    assert other is not None
    assert one.rows == other.rows
