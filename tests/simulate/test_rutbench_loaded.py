"""Simulated RUT-Bench files, read by the loader of real ones."""

import polars as pl
import pytest

from evalstats.loaders.registry import read
from evalstats.schema.data import EvalData
from evalstats.simulate.rutbench import rutbench_truth, write_rutbench

MODELS = ["GPT-5.4", "Llama3.1-8B-Instruct"]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> EvalData:
    folder = tmp_path_factory.mktemp("rutbench")
    write_rutbench(folder, MODELS)
    return read(folder, strict=True)


def success_of(data: EvalData) -> pl.DataFrame:
    return data.outcomes.filter(pl.col("metric") == "success")


def test_both_models_are_read_whole_and_pair_up(data: EvalData) -> None:
    assert data.models() == tuple(MODELS)
    rows = success_of(data)
    assert rows.group_by("model").len()["len"].to_list() == [1638, 1638]
    assert rows.group_by("item", "variant").agg(pl.col("model").n_unique())["model"].to_list() == [2] * 1638
    assert rows["item"].n_unique() == 234
    assert rows["env_id"].n_unique() == 59


def test_successes_by_behaviour_are_those_of_the_truth_table(data: EvalData) -> None:
    counted = (
        success_of(data)
        .filter(pl.col("status") == "scored")
        .group_by("model", "scenario", "user_kind")
        .agg(successes=pl.col("score").sum().cast(pl.Int64), n_items=pl.len().cast(pl.Int64))
    )
    drawn = rutbench_truth(MODELS).drop("probability")
    key = ["model", "scenario"]
    assert counted.select(drawn.columns).sort(key).equals(drawn.sort(key))


def test_crashes_are_errors_and_with_them_the_published_count_is_met(data: EvalData) -> None:
    rows = success_of(data)
    for model, published in zip(MODELS, (611, 21), strict=True):
        own = rows.filter(pl.col("model") == model)
        crashed = own.filter(pl.col("status") == "error")
        assert crashed.height == 8
        passed_empty = (crashed["value_raw"] == "1").sum()
        assert passed_empty == 4
        assert own["score"].sum() + passed_empty == published


def test_failed_judgments_are_unscored(data: EvalData) -> None:
    statuses = data.outcomes.filter(pl.col("metric") == "faithfulness", pl.col("model") == "GPT-5.4")["status"]
    assert dict(statuses.value_counts().rows()) == {"scored": 1638 - 8 - 7, "error": 8, "unscored": 7}


def test_the_only_doubts_are_the_crashes_and_the_run_says_that_it_is_simulated(data: EvalData) -> None:
    assert [problem.severity for problem in data.problems] == ["note", "note"]
    assert all("8 samples crashed" in problem.message for problem in data.problems)
    assert all("by evalstats, seed 0" in text for text in data.runs["simulated"])
