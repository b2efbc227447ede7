"""Simulated device-repair results: the published design, the truth they are drawn from, and their way through the loader."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from evalstats.datasets.tables import rows_of
from evalstats.errors import InputError
from evalstats.loaders.registry import read
from evalstats.schema.data import EvalData
from evalstats.simulate import benchmark_files
from evalstats.simulate.benchmark_files import (
    CRITERIA,
    CRITERION_EFFECTS,
    CUTS,
    DOMAIN_EFFECTS,
    LANGUAGE_EFFECTS,
    N_QUESTIONS,
    PHONE_SAFETY,
    repair_draw,
    simulated_repair_models,
    write_devicerepair,
)
from tests.simulate.points import expected_points

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


def known_facts() -> dict[str, tuple[str, ...]]:
    """What the abstract of the benchmark says: its size, domains, languages and criteria."""
    rows = rows_of("evalstats.datasets", "device_repair_known.csv")
    return {row["quantity"]: tuple(row["value"].split(";")) for row in rows}


def test_the_design_is_the_published_one(rows: list[dict[str, Any]]) -> None:
    known = known_facts()
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
    assert known_facts()["hardest_domain"] == ("phone_repair",)


def test_scores_are_whole_points_on_the_scale(rows: list[dict[str, Any]]) -> None:
    seen = Counter(row[name] for row in rows for name in CRITERIA)
    assert set(seen) == {1, 2, 3, 4, 5, None}
    assert 0 < seen[None] < 0.02 * len(rows) * 4
    lost = [row for row in rows if row["judge_error"]]
    assert lost
    assert all(row[name] is None for row in lost for name in CRITERIA)
    assert all(row["model"].startswith("sim-") and row["simulated"].startswith("by evalstats, seed 0;") for row in rows)


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


def test_the_loader_finds_what_was_drawn(data: EvalData) -> None:
    scores = data.outcomes.filter(pl.col("status") == "scored")
    assert data.outcomes.height == 47_568
    assert set(data.runs["n_error"]) == {0}
    for model in simulated_repair_models():
        draw = repair_draw(model, 0, N_QUESTIONS)
        for place, metric in enumerate(CRITERIA):
            given, points = draw.given[..., place], draw.points[..., place]
            found = scores.filter(model=model.name, metric=metric)["score"]
            assert (found.len(), found.sum()) == (given.sum(), points[given].sum())


def test_phones_are_hardest_and_bangla_is_below_english() -> None:
    points = np.array([expected_points(repair_draw(model, 0, N_QUESTIONS)) for model in simulated_repair_models()])
    domain = repair_draw(simulated_repair_models()[0], 0, N_QUESTIONS).domain
    by_domain = np.array([points[:, domain == place].mean(axis=(1, 2)) for place in range(3)])
    assert by_domain.mean(axis=(1, 2)).argmin() == 0
    loss = (by_domain[1] - by_domain[0]).mean(axis=0)
    assert loss.argmax() == CRITERIA.index("safety")
    by_language = points.mean(axis=(1, 3))
    assert (by_language[:, 1] < by_language[:, 0]).all()
    assert (np.diff(points.mean(axis=(1, 2, 3))) < 0).all()


def test_points_scatter_round_what_is_expected() -> None:
    """Over seeds, mean points less expected ones have mean 0 by the error that they show."""
    model, n_seeds = simulated_repair_models()[0], 40
    draws = [repair_draw(model, seed, 300) for seed in range(n_seeds)]
    excess = np.array([(draw.points - expected_points(draw)).mean(axis=0) for draw in draws])
    error = excess.std(axis=0, ddof=1) / np.sqrt(n_seeds)
    # 8 cells: a t with 39 df beyond 4.5 has a chance of 8 * 6e-5 = 0.0005
    assert (np.abs(excess.mean(axis=0)) < 4.5 * error).all()


def test_same_seed_same_bytes_and_other_models_change_nothing(tmp_path: Path) -> None:
    names = ["sim-model-2", "sim-model-5"]
    both = write_devicerepair(tmp_path / "both", names, seed=3, n_questions=20)
    alone = write_devicerepair(tmp_path / "alone", names[1:], seed=3, n_questions=20)
    assert both[1].read_bytes() == alone[0].read_bytes()


def test_faults_are_refused(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"no simulated model is called 'GPT-5\.4'; known are sim-model-1, sim-model-2"
    ):
        write_devicerepair(tmp_path, ["GPT-5.4"])
    with pytest.raises(InputError, match="n_questions is 0"):
        write_devicerepair(tmp_path, n_questions=0)


def test_the_design_page_states_the_numbers_in_use() -> None:
    part = PAGE.read_text(encoding="utf-8").partition("## Device repair")[2].partition("\n## ")[0]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in part.splitlines() if line[:1] == "|"]
    stated = {row[0]: float(row[1]) for row in cells if len(row) == 3 and row[1].lstrip("-")[:1].isdigit()}
    used = {f"domain: {name}": value for name, value in DOMAIN_EFFECTS.items()}
    used |= {f"language: {name}": value for name, value in LANGUAGE_EFFECTS.items()}
    used |= {f"criterion: {name}": value for name, value in CRITERION_EFFECTS.items()}
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
    used |= {f"sd_{name}": getattr(benchmark_files, f"SD_{name.upper()}") for name in names}
    used["phone_safety"] = PHONE_SAFETY
    used |= {f"cut {n}": cut for n, cut in enumerate(CUTS, start=1)}
    assert stated == used
