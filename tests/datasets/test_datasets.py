"""The shipped figures, against hand counts, published values and the files they were taken from."""

import gzip
import json
from collections import Counter
from importlib.resources import files
from math import comb
from pathlib import Path

import polars as pl
import pytest

from evalstats import datasets
from evalstats.datasets.tables import DimensionCounts, tau_airline_rewards, tenacious_counts
from evalstats.errors import InputError
from evalstats.schema.tables import check_table


@pytest.mark.parametrize("name", datasets.names())
def test_every_set_loads_by_name_and_passes_the_table_checks(name: str) -> None:
    data = datasets.load(name)
    for table in ("outcomes", "runs", "metrics"):
        checked = check_table(data.table(table), table)
        assert checked.equals(data.table(table))
    assert data.problems == ()
    assert set(data.outcomes["run"]) == set(data.runs["run"])
    assert data.runs["n_scored"].sum() == data.outcomes.height
    assert data.metrics.select("kind", "low", "high", "primary").rows() == [("binary", 0.0, 1.0, True)]


def test_an_unknown_name_is_refused_with_the_list() -> None:
    with pytest.raises(InputError, match="'mmlu'; shipped are tenacious_held_out, tau_airline"):
        datasets.load("mmlu")


@pytest.mark.parametrize("name", ["tenacious_held_out.csv", "tau_airline.csv"])
def test_every_file_names_its_source_and_licence_before_the_figures(name: str) -> None:
    text = files("evalstats.datasets").joinpath(name).read_text(encoding="utf-8")
    header = " ".join(line.lstrip("# ") for line in text.splitlines() if line.startswith("#"))
    assert "Source: github.com/" in header
    assert "licence" in header


def test_tenacious_margins_are_the_published_ones() -> None:
    """22 of 43 (0.5116) and 43 of 43, as the source's ablation results print."""
    outcomes = datasets.tenacious_held_out().outcomes
    right = outcomes.group_by("model").agg(n=pl.len(), right=pl.col("score").sum().cast(pl.Int64)).sort("model")
    assert right.rows() == [("baseline", 43, 22), ("trained", 43, 43)]


def test_tenacious_pairs_share_items_and_dimension_is_the_scenario() -> None:
    data = datasets.tenacious_held_out()
    assert data.factor("dimension") == "scenario"
    by_item = data.outcomes.group_by("item").agg(pl.col("model").sort(), pl.col("scenario").n_unique())
    assert by_item.height == 43
    assert set(map(tuple, by_item["model"].to_list())) == {("baseline", "trained")}
    assert set(by_item["scenario"]) == {1}
    conflicting = data.where(scenario="conflicting_signals", model="baseline").outcomes
    assert conflicting["item"].to_list() == [f"conflicting_signals-{place:02d}" for place in range(1, 9)]
    assert conflicting["score"].sum() == 0


def test_counts_expand_to_all_four_cells() -> None:
    counts = DimensionCounts(
        dimension="d", task_type="t", source_mode="s", both_right=1, only_baseline=2, only_trained=1, neither=1
    )
    assert counts.pairs() == (
        ("d-01", True, True),
        ("d-02", True, False),
        ("d-03", True, False),
        ("d-04", False, True),
        ("d-05", False, False),
    )


def test_tenacious_counts_are_those_of_the_published_traces(shared_data: Path) -> None:
    lines = (shared_data / "tenacious" / "ablations" / "held_out_traces.jsonl").read_text().splitlines()
    rows = [json.loads(line) for line in lines]
    published = Counter(
        (row["dimension"], row["task_type"], row["source_mode"], row["baseline_correct"], row["trained_correct"])
        for row in rows
    )
    shipped = Counter(
        (counts.dimension, counts.task_type, counts.source_mode, baseline, trained)
        for counts in tenacious_counts()
        for _, baseline, trained in counts.pairs()
    )
    assert shipped == published


def test_tau_rewards_are_those_of_the_published_trajectories(shared_data: Path) -> None:
    with gzip.open(shared_data / "tau_bench" / "gpt-4o-airline.json.gz") as stream:
        published = {(row["task_id"], row["trial"]): row["reward"] for row in json.load(stream)}
    shipped = {
        (task, trial): float(reward)
        for task, rewards in enumerate(tau_airline_rewards())
        for trial, reward in enumerate(rewards)
    }
    assert shipped == published


@pytest.mark.parametrize(("k", "published"), [(1, 0.420), (2, 0.273), (3, 0.220), (4, 0.200)])
def test_tau_pass_hat_k_is_the_published_one(k: int, published: float) -> None:
    """The airline row of tau-bench's README, printed to three decimals; pass^k = mean of C(c, k) / C(n, k)."""
    solved = datasets.tau_airline().outcomes.group_by("item").agg(c=pl.col("score").sum().cast(pl.Int64), n=pl.len())
    assert solved.height == 50
    value = sum(comb(c, k) / comb(n, k) for _, c, n in solved.iter_rows()) / solved.height
    assert round(value, 3) == published
