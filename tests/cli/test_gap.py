"""`evalstats gap` as a user types it: what is printed where, and the exit status."""

import json
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import polars as pl
import pytest

from evalstats.errors import CannotAnswerError, InputError
from tests.cli.once import answered_once
from tests.cli.running import run as typed_command

FEW = ("--resamples", "100", "--no-plan", "-q")
MODELS = tuple(f"model-{i:02d}" for i in range(12))
# Far apart, so that no noise is needed to know what must come out; the fourth does far worse live.
LAB = tuple(0.90 - 0.05 * i for i in range(12))
LIVE = tuple(1000 + 400 * score + 3 * (-1) ** i - 90 * (i == 3) for i, score in enumerate(LAB))


run = partial(typed_command, "gap")


def table(path: Path, models: Sequence[str], values: Sequence[float], error: float | None, name: str) -> Path:
    """Write a published table."""
    columns: dict[str, object] = {"model": list(models), "benchmark": name, "metric": "score", "estimate": list(values)}
    if error is not None:
        columns["std_error"] = error
    pl.DataFrame(columns).write_csv(path)
    return path


@pytest.fixture(scope="module", autouse=True)
def _answered_once() -> Iterator[None]:
    from evalstats.analysis.gap import gap as module

    yield from answered_once(module, "gap")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("gap")
    table(path / "lab.csv", (*MODELS, "only-lab"), (*LAB, 0.6), 0.01, "bench")
    table(path / "live.csv", MODELS, LIVE, 4.0, "arena")
    return path


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Both sides in one file: 8 models, 3 scenarios, 20 items or users in each; live users bring other scenarios."""
    path = tmp_path_factory.mktemp("outcomes") / "both.csv"
    rows = [
        {
            "model": f"m{m}",
            "setting": setting,
            "item": f"{setting}-{scenario}-{i}",
            "user": f"u{i}" if setting == "live" else None,
            "scenario": scenario,
            "benchmark": "bench",
            "metric": "success",
            "score": float((7 * i + 3 * m) % 20 < 18 - m - (4 if scenario == "hard" else 0)),
        }
        for m in range(8)
        for setting in ("lab", "live")
        for scenario, n in (("plain", 30 if setting == "live" else 20), ("hard", 20), ("rare", 20))
        for i in range(n)
    ]
    pl.DataFrame(rows).write_csv(path)
    return path


# --- the whole command ---


def test_json_is_the_result(folder: Path) -> None:
    arguments = ("--lab", folder / "lab.csv", "--live", folder / "live.csv", *FEW)
    values = json.loads(run(*arguments, "-f", "json", "--seed", "4", "--conf-level", "0.9", "--top", "3").stdout)
    assert values["verdict"] == "gap"
    assert [row["name"] for row in values["rows"] if row["verdict"] == "gap"] == ["model-03"]
    assert (values["origin"]["seed"], values["conf_level"], values["n_resamples"]) == (4, 0.9, 100)
    assert values["lab"]["only_here"] == ["only-lab"]
    assert "live top 3" in [part["label"] for part in values["agreement"]["parts"]]


def test_without_standard_errors_the_status_says_that_there_is_no_answer(tmp_path: Path) -> None:
    lab = table(tmp_path / "lab.csv", MODELS, LAB, None, "bench")
    live = table(tmp_path / "live.csv", MODELS, LIVE, None, "arena")
    result = run("--lab", lab, "--live", live, *FEW)
    assert result.exit_code == 3
    assert "no gap can be judged" in result.stdout
    assert "Spearman" in result.stdout


def test_one_file_is_split_by_its_setting(outcomes: Path) -> None:
    values = json.loads(run(outcomes, *FEW, "-f", "json").stdout)
    assert values["same_scale"]
    assert values["decomposition"]["factors"] == ["scenario"]
    assert values["n_models"] == 8


def test_aliases_join_names(tmp_path: Path, folder: Path) -> None:
    renamed = table(tmp_path / "live.csv", [name.upper() for name in MODELS], LIVE, 4.0, "arena")
    names = tmp_path / "names.csv"
    names.write_text("lab,live\n" + "".join(f"{name},{name.upper()}\n" for name in MODELS), encoding="utf-8")
    with pytest.raises(CannotAnswerError, match=r"MODEL-00.*--aliases"):
        run("--lab", folder / "lab.csv", "--live", renamed, *FEW)
    arguments = ("--lab", folder / "lab.csv", "--live", renamed, *FEW, "-f", "json")
    values = json.loads(run(*arguments, "--aliases", names).stdout)
    assert len(values["joined_by_alias"]) == 12


# --- what cannot be asked ---


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        ((), "found nothing"),
        (("--lab", "a.csv"), "found --lab"),
        (("--live", "a.csv"), "found --live"),
        (("data.csv", "--lab", "a.csv", "--live", "b.csv"), "found DATA and --lab and --live"),
    ],
)
def test_two_sides_are_needed(arguments: Sequence[str], found: str) -> None:
    with pytest.raises(InputError, match=rf"two sides are needed, {found}; use one of: gap --lab PATH --live PATH"):
        run(*arguments, "--no-plan")


def test_a_filter_of_one_side_needs_sides(outcomes: Path) -> None:
    with pytest.raises(InputError, match="go with --lab and --live"):
        run(outcomes, "--lab-where", "scenario=plain", "--no-plan")


def test_an_unknown_model_is_named(folder: Path) -> None:
    with pytest.raises(InputError, match="nobody"):
        run("--lab", folder / "lab.csv", "--live", folder / "live.csv", *FEW, "--models", "nobody,model-01")


# --- parts ---
