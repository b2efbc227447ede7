"""`evalstats scenarios` as a user types it: what is printed where, and the exit status."""

import inspect
import json
import shlex
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from evalstats.errors import EvalStatsError, InputError
from tests.analysis.scenarios import example
from tests.cli.once import answered_once
from tests.cli.running import run as typed_command

RATES = {"big": (0.9, 0.85, 0.4), "comma,name": (0.75, 0.7, 0.65), "small": (0.5, 0.45, 0.4)}
USERS = ("ideal", "vague", "hostile")


run = partial(typed_command, "scenarios")


def rows_of(n_items: int, seed: int = 2) -> list[dict[str, object]]:
    """Three models on items that each play with three users; an item is harder or easier for all models."""
    rng = np.random.default_rng(seed)
    hard = rng.normal(0, 0.8, n_items)
    logits = {model: np.log(np.array(rates) / (1 - np.array(rates))) for model, rates in RATES.items()}
    return [
        {
            "item": f"q{i}",
            "variant": user,
            "scenario": user,
            "topic": f"t{i // 5}",
            "model": model,
            "score": int(rng.random() < 1 / (1 + np.exp(-logits[model][j] - hard[i]))),
        }
        for model in RATES
        for i in range(n_items)
        for j, user in enumerate(USERS)
    ]


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tables") / "scores.csv"
    pl.DataFrame(rows_of(100)).write_csv(path)
    return path


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As few items as answer: for options, whatever the answer is."""
    path = tmp_path_factory.mktemp("tables") / "small.csv"
    pl.DataFrame(rows_of(45)).write_csv(path)
    return path


@pytest.fixture(scope="module", autouse=True)
def _answered_once() -> Iterator[None]:
    from evalstats.analysis.scenarios import scenarios as module

    yield from answered_once(module, "scenarios")


def values_of(*arguments: str | Path) -> dict[str, Any]:
    return json.loads(run(*arguments, "-f", "json", "-q", "--bootstrap", "0").stdout)


def test_a_plan_declares_clusters_and_columns(small: Path, tmp_path: Path) -> None:
    plan = tmp_path / "evalstats.toml"
    plan.write_text('[plan]\nclusters = ["topic"]\nconf_level = 0.9\n', encoding="utf-8")
    values = values_of(small, "--reference", "ideal", "--plan", plan)
    assert (values["clusters"], values["conf_level"]) == (["topic"], 0.9)


def test_json_is_the_result_and_alone_on_stdout(table: Path) -> None:
    result = run(table, "--reference", "ideal", "--format", "json", "--bootstrap", "0", "--explain")
    values = json.loads(result.stdout)
    assert {row["name"] for row in values["models"]} == set(RATES)
    assert values["scenarios"][0]["name"] == "ideal"
    assert len(values["cells"]) == 9
    assert len(values["drops"]) == 6
    assert values["reference"] == "ideal"
    assert values["explanation"].startswith("big does worse in hostile than in ideal.")
    observed = pl.read_csv(table).group_by("model", "scenario").agg(pl.col("score").mean())
    for row in values["cells"]:
        share = observed.filter(model=row["model"], scenario=row["scenario"])["score"].item()
        assert row["observed"] == pytest.approx(share)


def test_another_column_may_name_the_scenarios(small: Path) -> None:
    values = values_of(small, "--scenario", "topic", "--where", "scenario=ideal", "--models", "big,small")
    assert values["scenario"] == "topic"
    assert values["n_scenarios"] == 9
    assert values["scenario_as"] == "random"
    fixed = values_of(
        small, "--scenario", "topic", "--where", "scenario=ideal", "--models", "big,small", "--as", "fixed"
    )
    assert fixed["scenario_as"] == "fixed"
    with pytest.raises(InputError, match="fewer than 5"):
        run(small, "--as", "random", "--bootstrap", "0")


def test_bad_usage(table: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="'rude'"):
        run(table, "--reference", "rude", "--bootstrap", "0")
    assert run(table, "--as", "sampled").exit_code == 2
    with pytest.raises(InputError, match="n_resamples"):
        run(table, "--bootstrap", "-1")
    with pytest.raises(InputError, match="--weights"):
        run(table, "--weights", "most")
    bare = tmp_path / "bare.csv"
    pl.DataFrame(rows_of(30)).drop("scenario", "variant", "topic").unique(["item", "model"]).write_csv(bare)
    with pytest.raises(EvalStatsError, match="scenario"):
        run(bare, "--bootstrap", "0")


def test_data_that_cannot_answer_end_with_status_3(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from evalstats.analysis.scenarios import scenarios as module

    def unanswered(*_: object, **__: object) -> object:
        return example.without_answer()

    monkeypatch.setattr(module, "scenarios", unanswered)
    result = run(table)
    assert result.exit_code == 3
    assert "NOT CONVERGED" in result.stdout


def test_every_option_reaches_the_function(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from evalstats.analysis.scenarios import scenarios as module

    signature = inspect.signature(module.scenarios)
    seen: dict[str, Any] = {}

    def recorded(*given: object, **named: object) -> object:
        seen.update(signature.bind(*given, **named).arguments)
        return example.small()

    monkeypatch.setattr(module, "scenarios", recorded)
    options = shlex.split("--metric score --scenario topic --reference average --weights observed --as random")
    options += ["--cluster", "topic", "--conf-level", "0.9", "--contrast", "model", "--bootstrap", "99", "--seed", "5"]
    options += ["--accept", "judge"]
    assert run(table, *options, "--models", "big,small", "--formula", "score ~ 1", "-q").exit_code == 0
    expected = {
        "metric": "score",
        "scenario": "topic",
        "reference": "average",
        "weights": "observed",
        "as_": "random",
        "cluster": "topic",
        "conf_level": 0.9,
        "contrast": "model",
        "n_resamples": 99,
        "seed": 5,
        "models": ["big", "small"],
        "formula": "score ~ 1",
        "accept": ("judge",),
    }
    assert {name: seen[name] for name in expected} == expected
