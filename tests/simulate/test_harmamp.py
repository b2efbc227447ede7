"""Simulated HarmAmp results: the published numbers, the truth they are drawn from, and their way through the loader."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from evalstats.datasets.tables import harmamp_known, rows_of
from evalstats.errors import InputError
from evalstats.loaders.registry import read
from evalstats.schema.data import EvalData
from evalstats.simulate.benchmark_files import (
    AXIS_EFFECTS,
    CATEGORY_EFFECTS,
    DEFENSES,
    SD_CATEGORY_SYSTEM,
    SD_PLAN,
    SD_PLAN_MODEL,
    SD_SEED,
    harm_design,
    harm_draws,
    simulated_harm_models,
    write_harmamp,
)

PAGE = Path(__file__).resolve().parents[2] / "design" / "simulated-harm-and-repair.md"
NAMES = [model.name for model in simulated_harm_models()]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("harmamp")
    write_harmamp(folder)
    return folder


@pytest.fixture(scope="module")
def rows(folder: Path) -> list[dict[str, Any]]:
    return [
        json.loads(line) for path in sorted(folder.iterdir()) for line in path.read_text(encoding="utf-8").splitlines()
    ]


@pytest.fixture(scope="module")
def data(folder: Path) -> EvalData:
    return read(folder, strict=True)


def test_the_design_has_the_published_size(rows: list[dict[str, Any]]) -> None:
    per_system = Counter((row["target_model"], row["defense"], row["label"]) for row in rows)
    assert len(per_system) == 3 * 4 * 2
    assert {
        label: {n for (_, _, own), n in per_system.items() if own == label} for label in ("malicious", "benign")
    } == {"malicious": {132}, "benign": {147}}
    assert len({row["category"] for row in rows}) == 12
    assert len({row["plan_id"] for row in rows}) == 279


def test_several_seeds_have_more_than_one_plan_and_a_plan_has_one_of_everything(rows: list[dict[str, Any]]) -> None:
    plans = {(row["plan_id"], row["seed_id"], row["label"], row["category"], row["axis"]) for row in rows}
    assert len(plans) == 279
    sizes = Counter(seed for _, seed, *_ in plans)
    assert set(sizes.values()) == {1, 2, 3}
    assert sum(size > 1 for size in sizes.values()) > 30


def test_the_known_counts_are_met(rows: list[dict[str, Any]]) -> None:
    harmful = Counter(
        (row["target_model"], row["defense"]) for row in rows if row["label"] == "malicious" and row["harmful"]
    )
    for known in harmamp_known():
        assert harmful[f"sim-{known.model}", known.defense] == known.n_harmful
        assert round(100 * known.n_harmful / known.n_malicious, 2) == known.harmfulness


def test_the_shipped_figures_are_those_of_the_notes(shared: Path) -> None:
    lines = (shared / "formats" / "tables" / "harmamp_known_numbers.csv").read_text(encoding="utf-8").splitlines()[1:]
    noted = [tuple(line.split(",")[2:4]) for line in lines]
    shipped = [(row["harmfulness"], row["n_harmful"]) for row in rows_of("evalstats.datasets", "harmamp_known.csv")]
    assert shipped == noted


def test_every_row_agrees_with_itself(rows: list[dict[str, Any]]) -> None:
    for row in rows:
        lost = row["judge_error"] is not None
        assert (row["harmful"] is None) == (row["refused"] is None) == lost
        assert (row["harm_score"] is None) == (lost or row["label"] == "benign")
        if row["harm_score"] is not None:
            assert 0 <= row["harm_score"] <= 4
            assert bool(row["harmful"]) == (row["harm_score"] >= 2)
        assert not (row["harmful"] and row["refused"])
        assert (row["first_intervention_turn"] is None) == (row["intervened"] == 0)
        if row["intervened"]:
            assert row["defense"] in {"external_safeguard", "trajsafe"}
            assert 1 <= row["first_intervention_turn"] <= row["n_turns"]
        assert row["simulated"].startswith("by evalstats, seed 0; ")
        assert row["target_model"].startswith("sim-")
    assert 0 < sum(row["judge_error"] is not None for row in rows) < 0.03 * len(rows)


def test_runs_say_that_they_are_simulated_and_nothing_else_is_doubted(data: EvalData) -> None:
    assert data.runs.height == 12
    assert all(text.startswith("by evalstats, seed 0; ") for text in data.runs["simulated"])
    published = data.runs.filter(pl.col("simulated").str.contains("are published"))["model"].unique().to_list()
    assert published == ["sim-Llama-3.1-8B"]
    assert {problem.severity for problem in data.problems} == {"note"}
    doubts = {problem.message for problem in data.problems if "kept as unscored" not in problem.message}
    assert doubts == {"HarmAmp publishes no format of results: columns are as evalstats assumes"}


def test_rates_are_those_of_the_models(data: EvalData) -> None:
    for model in simulated_harm_models():
        for defense in DEFENSES:
            for metric, rate in (
                ("harmfulness", model.harmfulness[defense]),
                ("over_refusal", model.over_refusal[defense]),
            ):
                scores = data.outcomes.filter(model=model.name, defense=defense, metric=metric)["score"].drop_nulls()
                # the count is the nearest whole number to the rate times the plans that were judged
                assert abs(scores.sum() - rate * len(scores)) <= 0.5 + 1e-9


def test_the_loader_finds_what_was_drawn(data: EvalData) -> None:
    design = harm_design(0)
    drawn: Counter[tuple[str, str, str]] = Counter()
    for model in simulated_harm_models():
        for draw in harm_draws(model, design):
            kept = draw.happened & ~draw.unjudged
            drawn[model.name, draw.defense, "harmfulness"] += int((kept & design.malicious).sum())
            drawn[model.name, draw.defense, "over_refusal"] += int((kept & ~design.malicious).sum())
    scored = data.outcomes.filter(pl.col("metric").is_in(["harmfulness", "over_refusal"]), pl.col("status") == "scored")
    counted = scored.group_by("model", "defense", "metric").agg(pl.col("score").sum().cast(pl.Int64))
    assert {row[:3]: row[3] for row in counted.iter_rows()} == drawn


def test_outcomes_scatter_round_their_probabilities() -> None:
    """Over seeds, events of a category less their probabilities have mean 0 and at most a binomial error."""
    model, n_seeds = simulated_harm_models()[1], 60
    excess, variance = np.zeros(12), np.zeros(12)
    for seed in range(n_seeds):
        design = harm_design(seed)
        for draw in harm_draws(model, design):
            p = draw.probability
            excess += np.bincount(design.category, weights=draw.happened - p)
            variance += np.bincount(design.category, weights=p * (1 - p))
    # counts of all plans are fixed, so that sums vary less than binomial ones: the error is an upper bound
    assert (np.abs(excess) < 4.5 * np.sqrt(variance)).all()


def test_same_seed_same_bytes_and_other_models_change_nothing(tmp_path: Path) -> None:
    both = write_harmamp(tmp_path / "both", NAMES[:2], seed=3)
    alone = write_harmamp(tmp_path / "alone", NAMES[1:2], seed=3)
    assert both[1].read_bytes() == alone[0].read_bytes()
    other = write_harmamp(tmp_path / "other", NAMES[1:2], seed=4)
    assert other[0].read_bytes() != alone[0].read_bytes()


def test_faults_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no simulated model is called 'GPT-9'; known are sim-Llama-3\.1-8B"):
        write_harmamp(tmp_path, ["GPT-9"])
    with pytest.raises(InputError, match="seed is -1"):
        write_harmamp(tmp_path, seed=-1)
    with pytest.raises(InputError, match=r"would be written to sim-frontier_harmamp\.jsonl"):
        write_harmamp(tmp_path, ["sim-frontier"] * 2)
    assert list(tmp_path.iterdir()) == []


def test_the_design_page_states_the_numbers_in_use() -> None:
    part = PAGE.read_text(encoding="utf-8").partition("## HarmAmp")[2].partition("\n## ")[0]
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in part.splitlines() if line[:1] == "|"]
    stated = {cells[0]: float(cells[1]) for cells in lines if len(cells) == 3 and cells[1].lstrip("-")[:1].isdigit()}
    used = {f"category: {name}": value for name, value in CATEGORY_EFFECTS.items()}
    used |= {f"axis: {name}": value for name, value in AXIS_EFFECTS.items()}
    used |= {"sd_seed": SD_SEED, "sd_plan": SD_PLAN, "sd_plan_model": SD_PLAN_MODEL}
    used |= {"sd_category_system": SD_CATEGORY_SYSTEM}
    assert stated == used
    rates = {(cells[0], cells[1]): tuple(map(float, cells[2:])) for cells in lines if cells[0].startswith("sim-")}
    assert rates == {
        (model.name, metric): tuple(round(rate, 4) for rate in getattr(model, metric).values())
        for model in simulated_harm_models()
        for metric in ("harmfulness", "over_refusal")
    }
