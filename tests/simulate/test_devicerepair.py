"""Simulated device-repair results: the published design, the truth they are drawn from, and their way through the loader."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from evalstats.datasets.tables import device_repair_known
from evalstats.errors import InputError
from evalstats.loaders.registry import read
from evalstats.schema.data import EvalData
from evalstats.simulate import (
    RepairEffects,
    RepairModel,
    devicerepair_truth,
    simulate_devicerepair,
    simulated_repair_models,
    write_devicerepair,
)
from evalstats.simulate.devicerepair import CRITERIA, CUTS, DOMAINS, LANGUAGES
from evalstats.simulate.draws import draw_points, expected_points

PAGE = Path(__file__).resolve().parents[2] / "design" / "simulated-harm-and-repair.md"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("repair")
    write_devicerepair(folder)
    return folder


@pytest.fixture(scope="module")
def rows(folder: Path) -> list[dict[str, Any]]:
    return [
        json.loads(line) for path in sorted(folder.iterdir()) for line in path.read_text(encoding="utf-8").splitlines()
    ]


@pytest.fixture(scope="module")
def data(folder: Path) -> EvalData:
    return read(folder, strict=True)


@pytest.fixture(scope="module")
def truth() -> pl.DataFrame:
    return devicerepair_truth()


def test_the_design_is_the_published_one(rows: list[dict[str, Any]]) -> None:
    known = device_repair_known()
    assert len({row["question_id"] for row in rows}) == int(known["questions"][0]) == 991
    assert len({row["model"] for row in rows}) == int(known["models"][0]) == 6
    assert {row["language"] for row in rows} == set(known["languages"])
    assert {row["domain"] for row in rows} == set(known["domains"])
    assert set(known["criteria"]) <= set(rows[0])
    cells = Counter((row["question_id"], row["language"], row["model"]) for row in rows)
    assert len(cells) == 991 * 2 * 6
    assert set(cells.values()) == {1}
    assert len({(row["question_id"], row["domain"]) for row in rows}) == 991


def test_the_shipped_facts_are_those_of_the_notes(shared: Path) -> None:
    text = (shared / "formats" / "tables" / "devicerepair_known_facts.csv").read_text(encoding="utf-8")
    assert "questions,991," in text
    assert "hardest domain,phone repair" in text
    assert '"4: correctness; completeness; practicality; safety"' in text
    assert device_repair_known()["hardest_domain"] == ("phone_repair",)


def test_scores_are_whole_points_on_the_scale(rows: list[dict[str, Any]]) -> None:
    seen = Counter(row[name] for row in rows for name in CRITERIA)
    assert set(seen) == {1, 2, 3, 4, 5, None}
    assert 0 < seen[None] < 0.02 * len(rows) * 4
    lost = [row for row in rows if row["judge_error"]]
    assert lost
    assert all(row[name] is None for row in lost for name in CRITERIA)
    assert all(row["model"].startswith("sim-") and row["simulated"].startswith("by evalstats, seed 0;") for row in rows)


def test_the_loader_finds_what_was_drawn(data: EvalData, truth: pl.DataFrame) -> None:
    key = ["model", "scenario", "language", "metric"]
    counted = (
        data.outcomes.filter(pl.col("status") == "scored")
        .group_by("model", "scenario", pl.col("variant").alias("language"), "metric")
        .agg(mean_score=pl.col("score").mean(), n_items=pl.len().cast(pl.Int64))
    )
    joined = counted.join(truth, on=key, suffix="_drawn")
    assert joined.height == truth.height == 6 * 3 * 2 * 4
    assert joined["n_items"].equals(joined["n_items_drawn"])
    # means of at most 433 whole numbers: only the order of summation differs
    assert (joined["mean_score"] - joined["mean_score_drawn"]).abs().max() < 1e-12
    assert data.outcomes.height == 47_568
    assert set(data.runs["n_error"]) == {0}


def test_runs_say_that_they_are_simulated(data: EvalData) -> None:
    assert data.models() == tuple(f"sim-model-{n}" for n in range(1, 7))
    assert all(text.startswith("by evalstats, seed 0; the design is published") for text in data.runs["simulated"])


def test_phones_are_hardest_bangla_is_below_english_and_models_keep_their_order(truth: pl.DataFrame) -> None:
    by_domain = dict(truth.group_by("scenario").agg(pl.col("expected").mean()).rows())
    assert min(by_domain, key=lambda name: by_domain[name]) == "phone_repair"
    wide = truth.pivot("language", index=["model", "scenario", "metric"], values="expected")
    assert (wide["bn"] < wide["en"]).all()
    by_model = (
        truth.group_by("model").agg(pl.col("expected").mean()).sort("expected", descending=True)["model"].to_list()
    )
    assert by_model == [model.name for model in simulated_repair_models()]
    seen = (
        truth.group_by("model", "language")
        .agg(pl.col("mean_score").mean())
        .pivot("language", index="model", values="mean_score")
    )
    assert (seen["bn"] < seen["en"]).all()


def test_phones_ask_most_of_safety() -> None:
    truth = devicerepair_truth(effects=RepairEffects(sd_domain_model=0.0)).pivot(
        "scenario", index=["model", "language", "metric"], values="expected"
    )
    loss = (
        truth.with_columns(loss=pl.col("computer_repair") - pl.col("phone_repair"))
        .group_by("metric")
        .agg(pl.col("loss").mean())
    )
    by_metric = dict(loss.rows())
    assert max(by_metric, key=lambda name: by_metric[name]) == "safety"


def test_the_truth_is_recovered_on_average() -> None:
    """Over repeated runs, mean points scatter round what is expected by their sampling error, seen among the runs."""
    n_runs = 40
    effects = RepairEffects(sd_answer=1.5)
    runs = [
        devicerepair_truth(
            ["sim-model-1"], run=run, n_questions=300, effects=effects, judge_error_rate=0.0, missing_rate=0.0
        )
        for run in range(n_runs)
    ]
    expected = runs[0]["expected"].to_numpy()
    assert all((frame["expected"].to_numpy() == expected).all() for frame in runs)
    means = np.array([frame["mean_score"].to_numpy() for frame in runs])
    error = means.std(axis=0, ddof=1) / np.sqrt(n_runs)
    # 24 cells: a t with 39 df beyond 4.5 has a chance of 24 * 6e-5 = 0.0015
    assert (np.abs(means.mean(axis=0) - expected) < 4.5 * error).all()


def test_expected_points_are_the_mean_of_drawn_points() -> None:
    rng = np.random.default_rng(0)
    n = 400_000
    for eta in (-2.0, 0.3, 2.5):
        drawn = draw_points(eta + 0.6 * rng.standard_normal(n) + rng.logistic(size=n), CUTS)
        expected = expected_points(np.array([eta]), CUTS, sd=0.6)[0]
        assert abs(drawn.mean() - expected) < 4.5 * drawn.std() / np.sqrt(n)
        assert set(np.unique(drawn)) <= {1, 2, 3, 4, 5}
    assert expected_points(np.array([40.0, -40.0]), CUTS).round(9).tolist() == [5.0, 1.0]


def test_criteria_of_an_answer_and_models_on_a_question_go_together(data: EvalData) -> None:
    """What the random effects are there for: positive correlations within answers and between models."""
    wide = (
        data.outcomes.filter(model="sim-model-1")
        .pivot("metric", index=["item", "variant"], values="score")
        .drop_nulls()
    )
    assert np.corrcoef(wide.select(CRITERIA).to_numpy().T)[np.triu_indices(4, k=1)].min() > 0.2
    models = (
        data.outcomes.filter(metric="correctness", variant="en")
        .pivot("model", index="item", values="score")
        .drop_nulls()
    )
    assert np.corrcoef(models.drop("item").to_numpy().T)[np.triu_indices(6, k=1)].min() > 0.1


def test_same_seed_same_bytes_and_other_models_change_nothing(tmp_path: Path) -> None:
    names = ["sim-model-2", "sim-model-5"]
    both = write_devicerepair(tmp_path / "both", names, seed=3, n_questions=20)
    alone = write_devicerepair(tmp_path / "alone", names[1:], seed=3, n_questions=20)
    assert both[1].read_bytes() == alone[0].read_bytes()
    again = simulate_devicerepair(names[1], seed=3, n_questions=20)
    assert [json.loads(line) for line in alone[0].read_text(encoding="utf-8").splitlines()] == again


@pytest.mark.parametrize("n_questions", [1, 2, 7, 991])
def test_any_number_of_questions(n_questions: int) -> None:
    rows = simulate_devicerepair("sim-model-1", n_questions=n_questions)
    assert len(rows) == 2 * n_questions
    assert len({row["question_id"] for row in rows}) == n_questions


def test_faults_are_refused() -> None:
    with pytest.raises(
        InputError, match=r"no simulated model is called 'GPT-5\.4'; known are sim-model-1, sim-model-2"
    ):
        simulate_devicerepair("GPT-5.4")
    with pytest.raises(InputError, match=r"missing_rate is 0\.9"):
        simulate_devicerepair("sim-model-1", missing_rate=0.9)
    with pytest.raises(InputError, match="n_questions is 0"):
        simulate_devicerepair("sim-model-1", n_questions=0)
    with pytest.raises(InputError, match="sd_answer is nan"):
        RepairEffects(sd_answer=float("nan"))
    with pytest.raises(InputError, match="domain effects are given for x; give exactly phone_repair"):
        RepairEffects(domain={"x": 1.0})
    with pytest.raises(InputError, match="ability of 'm' is inf"):
        RepairModel(name="m", ability=float("inf"))


def test_the_design_page_states_the_numbers_in_use() -> None:
    part = PAGE.read_text(encoding="utf-8").partition("## Device repair")[2].partition("\n## ")[0]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in part.splitlines() if line[:1] == "|"]
    stated = {row[0]: float(row[1]) for row in cells if len(row) == 3 and row[1].lstrip("-")[:1].isdigit()}
    effects = RepairEffects()
    used = {f"domain: {name}": effects.domain[name] for name in DOMAINS}
    used |= {f"language: {name}": effects.language[name] for name in LANGUAGES}
    used |= {f"criterion: {name}": effects.criterion[name] for name in CRITERIA}
    used |= {f"ability: {model.name}": model.ability for model in simulated_repair_models()}
    names = (
        "question",
        "question_language",
        "question_criterion",
        "question_model",
        "domain_model",
        "language_model",
        "answer",
    )
    used |= {f"sd_{name}": getattr(effects, f"sd_{name}") for name in names} | {"phone_safety": effects.phone_safety}
    used |= {f"cut {n}": cut for n, cut in enumerate(CUTS, start=1)}
    assert stated == used
