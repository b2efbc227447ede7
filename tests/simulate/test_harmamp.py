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
from evalstats.simulate import (
    HarmEffects,
    HarmModel,
    harmamp_truth,
    simulate_harmamp,
    simulated_harm_models,
    write_harmamp,
)
from evalstats.simulate.harmamp import CATEGORIES, DEFENSES, make_harm_design

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
    } == {
        "malicious": {132},
        "benign": {147},
    }
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
        assert round(100 * known.n_harmful / known.n_malicious, 2) == known.published


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


def test_the_loader_finds_what_was_drawn(data: EvalData) -> None:
    counted = (
        data.outcomes.filter(pl.col("metric").is_in(["harmfulness", "over_refusal"]), pl.col("status") == "scored")
        .group_by("model", "system", "defense", "metric", "scenario")
        .agg(events=pl.col("score").sum().cast(pl.Int64), n_items=pl.len().cast(pl.Int64))
    )
    drawn = harmamp_truth().drop("probability", "n_plans")
    key = ["system", "metric", "scenario"]
    assert counted.select(drawn.columns).sort(key).equals(drawn.sort(key))


def test_runs_say_that_they_are_simulated_and_nothing_else_is_doubted(data: EvalData) -> None:
    assert data.runs.height == 12
    assert all(text.startswith("by evalstats, seed 0; ") for text in data.runs["simulated"])
    published = data.runs.filter(pl.col("simulated").str.contains("are published"))["model"].unique().to_list()
    assert published == ["sim-Llama-3.1-8B"]
    assert {problem.severity for problem in data.problems} == {"note"}
    assert len({problem.message for problem in data.problems}) == 1


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


def test_the_truth_is_recovered_on_average() -> None:
    """At a fixed truth, rates by category over repeated runs scatter round their probabilities by binomial error."""
    n_runs = 60
    runs = [harmamp_truth(["sim-open-70B"], run=run, calibrate="rate", judge_error_rate=0.0) for run in range(n_runs)]
    truth = runs[0]
    assert all(frame["probability"].equals(truth["probability"]) for frame in runs)
    probability, n = truth["probability"].to_numpy(), truth["n_plans"].to_numpy()
    observed = np.mean([frame["events"].to_numpy() / n for frame in runs], axis=0)
    # plans of a category differ in probability, so their sum varies less than a binomial one: the error is an upper bound
    error = np.sqrt(probability * (1 - probability) / (n_runs * n))
    assert probability.shape == (4 * 2 * 12,)
    assert (np.abs(observed - probability) < 4.5 * error).all()
    overall = truth.group_by("defense", "metric").agg(
        (pl.col("probability") * pl.col("n_plans")).sum() / pl.col("n_plans").sum()
    )
    rates = {(defense, metric): rate for defense, metric, rate in overall.iter_rows()}
    assert rates["trajsafe", "harmfulness"] == pytest.approx(0.09, abs=1e-9)
    assert rates["none", "over_refusal"] == pytest.approx(0.02, abs=1e-9)


def test_no_judgment_fails_where_the_count_is_known() -> None:
    rows = simulate_harmamp("sim-Llama-3.1-8B", judge_error_rate=0.4)
    lost = Counter(row["defense"] for row in rows if row["judge_error"] is not None)
    assert set(lost) == {"prompt_guardrail", "external_safeguard"}
    # 279 rows at 0.4: 4.5 standard deviations are 37
    assert all(abs(n - 0.4 * 279) < 37 for n in lost.values())


def test_models_share_plans_and_not_luck() -> None:
    """With no effects at all, outcomes of two models of the same rates are uncorrelated."""
    rates = dict.fromkeys(DEFENSES, 0.5)
    flat = HarmEffects(
        category=dict.fromkeys(CATEGORIES, 0.0),
        axis={"expertise": 0.0, "scaling": 0.0},
        sd_seed=0.0,
        sd_plan=0.0,
        sd_plan_model=0.0,
        sd_category_system=0.0,
    )
    first, second = (
        [
            row["harmful"]
            for row in simulate_harmamp(
                HarmModel(name=name, harmfulness=rates, over_refusal=rates),
                effects=flat,
                n_malicious=1_000,
                judge_error_rate=0.0,
            )
            if row["label"] == "malicious"
        ]
        for name in ("a", "b")
    )
    assert len(first) == 4_000
    assert abs(np.corrcoef(np.array(first, dtype=float), np.array(second, dtype=float))[0, 1]) < 4.5 / np.sqrt(4_000)


def test_plans_of_a_seed_are_alike_where_seeds_differ() -> None:
    """Outcomes of plans of one seed correlate; without the seed's effect they do not."""
    flat = {"category": dict.fromkeys(CATEGORIES, 0.0), "axis": {"expertise": 0.0, "scaling": 0.0}, "sd_plan": 0.0}

    def pairs(sd_seed: float) -> float:
        effects = HarmEffects(sd_seed=sd_seed, sd_plan_model=0.0, sd_category_system=0.0, **flat)  # pyright: ignore[reportArgumentType]
        rows = simulate_harmamp("sim-frontier", effects=effects, n_malicious=6_000, n_benign=1, judge_error_rate=0.0)
        seeds: dict[str, list[int]] = {}
        for row in rows:
            if row["defense"] == "none" and row["label"] == "malicious":
                seeds.setdefault(str(row["seed_id"]), []).append(int(str(row["harmful"])))
        first, second = np.array([each[:2] for each in seeds.values() if len(each) > 1]).T
        return float(np.corrcoef(first, second)[0, 1])

    assert abs(pairs(0.0)) < 4 / np.sqrt(1_500)
    assert pairs(3.0) > 0.3


def test_same_seed_same_bytes_and_other_models_change_nothing(tmp_path: Path) -> None:
    both = write_harmamp(tmp_path / "both", NAMES[:2], seed=3, n_malicious=20, n_benign=20)
    alone = write_harmamp(tmp_path / "alone", NAMES[1:2], seed=3, n_malicious=20, n_benign=20)
    assert both[1].read_bytes() == alone[0].read_bytes()
    other = write_harmamp(tmp_path / "other", NAMES[1:2], seed=4, n_malicious=20, n_benign=20)
    assert other[0].read_bytes() != alone[0].read_bytes()


@pytest.mark.parametrize(("n_malicious", "n_benign"), [(1, 1), (11, 13), (132, 147), (500, 3)])
def test_any_number_of_plans_gives_a_design(n_malicious: int, n_benign: int) -> None:
    design = make_harm_design(seed=2, n_malicious=n_malicious, n_benign=n_benign)
    assert (design.malicious.sum(), (~design.malicious).sum()) == (n_malicious, n_benign)
    assert len({design.plan_id(plan) for plan in range(design.n_plans)}) == design.n_plans
    assert len(harmamp_truth(["sim-frontier"], seed=2, n_malicious=n_malicious, n_benign=n_benign)) > 0


def test_faults_are_refused() -> None:
    rates = dict.fromkeys(DEFENSES, 0.5)
    with pytest.raises(InputError, match=r"no simulated model is called 'GPT-9'; known are sim-Llama-3\.1-8B"):
        simulate_harmamp("GPT-9")
    with pytest.raises(InputError, match=r"judge_error_rate is 0\.9; give a proportion from 0 to 0\.5"):
        simulate_harmamp(NAMES[0], judge_error_rate=0.9)
    with pytest.raises(InputError, match="there are 0 malicious and 147 benign plans"):
        simulate_harmamp(NAMES[0], n_malicious=0)
    with pytest.raises(InputError, match="seed is -1"):
        simulate_harmamp(NAMES[0], seed=-1)
    with pytest.raises(InputError, match="sd_seed is -1; a standard deviation is at least 0"):
        HarmEffects(sd_seed=-1.0)
    with pytest.raises(InputError, match="axis effects are given for scaling; give exactly expertise, scaling"):
        HarmEffects(axis={"scaling": 0.0})
    with pytest.raises(InputError, match="model's name is empty"):
        HarmModel(name=" ", harmfulness=rates, over_refusal=rates)
    with pytest.raises(InputError, match="harmfulness of 'm' behind 'trajsafe' is nan"):
        HarmModel(name="m", harmfulness=rates | {"trajsafe": float("nan")}, over_refusal=rates)
    with pytest.raises(InputError, match="over_refusal of 'm' is given for none; give none, prompt_guardrail"):
        HarmModel(name="m", harmfulness=rates, over_refusal={"none": 0.5})


def test_two_models_in_one_file_are_refused(tmp_path: Path) -> None:
    rates = dict.fromkeys(DEFENSES, 0.5)
    models = [HarmModel(name=name, harmfulness=rates, over_refusal=rates) for name in ("a/b", "a b")]
    with pytest.raises(InputError, match=r"would be written to a_b_harmamp\.jsonl"):
        write_harmamp(tmp_path, models, n_malicious=2, n_benign=2)
    assert list(tmp_path.iterdir()) == []


def test_the_design_page_states_the_numbers_in_use() -> None:
    part = PAGE.read_text(encoding="utf-8").partition("## HarmAmp")[2].partition("\n## ")[0]
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in part.splitlines() if line[:1] == "|"]
    stated = {cells[0]: float(cells[1]) for cells in lines if len(cells) == 3 and cells[1].lstrip("-")[:1].isdigit()}
    effects = HarmEffects()
    used = {f"category: {name}": value for name, value in effects.category.items()}
    used |= {f"axis: {name}": value for name, value in effects.axis.items()}
    used |= {name: getattr(effects, name) for name in ("sd_seed", "sd_plan", "sd_plan_model", "sd_category_system")}
    assert stated == used
    rates = {(cells[0], cells[1]): tuple(map(float, cells[2:])) for cells in lines if cells[0].startswith("sim-")}
    assert rates == {
        (model.name, metric): tuple(round(rate, 4) for rate in getattr(model, metric).values())
        for model in simulated_harm_models()
        for metric in ("harmfulness", "over_refusal")
    }
