"""`evalstats report scenarios`: its options reach the page, those of other pages are refused, no answer exits 3."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from evalstats.cli.main import app
from evalstats.errors import InputError
from evalstats.report import render
from evalstats.report.engine import find_page


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Stand in for the rendering and keep what was asked of it."""
    calls: list[dict[str, Any]] = []

    def render_report(**arguments: Any) -> render.Rendered:
        calls.append(arguments)
        return render.Rendered(path=Path(arguments["output"]), engine="embedded")

    monkeypatch.setattr(render, "render_report", render_report)
    return calls


def table(n_items: int) -> pl.DataFrame:
    """Two models on items that each play with an ideal user and with two others."""
    rng = np.random.default_rng(5)
    hard = rng.normal(0, 1, n_items)
    rates = {"a": {"ideal": 1.5, "vague": 0.9, "rude": 1.2}, "b": {"ideal": 1.0, "vague": -1.0, "rude": 0.8}}
    rows = [
        {
            "model": model, "benchmark": "b", "item": f"i{n:03d}", "variant": user, "scenario": user, "topic": f"t{n % 4}",
            "score": float(rng.random() < 1 / (1 + np.exp(-logit - hard[n]))),
        }
        for model, users in rates.items()
        for n in range(n_items)
        for user, logit in users.items()
    ]  # fmt: skip
    return pl.DataFrame(rows)


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    table(40).write_csv(tmp_path / "all.csv")
    return "all.csv"


def invoke(*arguments: str):
    return CliRunner().invoke(app, ["report", "scenarios", *arguments, "--quiet"])


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], {"reference": None, "weights": "equal", "models": None, "formula": None, "as_": None, "further": None}),
        (["--reference", "ideal", "--seed", "3"], {"reference": "ideal", "seed": 3}),
        (["--weights", "ideal=60%,vague=0.3,rude=0.1"], {"weights": {"ideal": 0.6, "vague": 0.3, "rude": 0.1}}),
        (["--weights", "observed", "--models", "a,b"], {"weights": "observed", "models": ["a", "b"]}),
        (["--as", "fixed", "--conf-level", "0.9"], {"as_": "fixed", "conf_level": 0.9}),
        (["--further", "none"], {"further": ["none"]}),
        (["--cluster", "topic"], {"cluster": ["topic"]}),
        (
            ["--where", "topic=t1", "--where", "topic=t2"],
            {"reading": 'es.read("all.csv", where={"topic": ["t1", "t2"]})'},
        ),
    ],
)
def test_options_reach_the_page(
    file: str, arguments: list[str], expected: dict[str, object], asked: list[dict[str, Any]]
) -> None:
    result = invoke(file, *arguments)
    assert result.exit_code in (0, 3), result.output
    (call,) = asked
    assert call["kind"] == "scenarios"
    assert call["output"] == Path("scenarios.html")
    assert {name: call["options"].get(name) for name in expected} == expected


def test_every_option_is_one_of_the_page(file: str, asked: list[dict[str, Any]]) -> None:
    """The page's own list of parameters, so that no option of the command is refused by it."""
    assert invoke(file, "--reference", "ideal").exit_code == 0
    options = {name: value for name, value in asked[0]["options"].items() if value is not None}
    assert options["reference"] == "ideal"
    render._refuse_unknown(options, "scenarios", find_page("scenarios").source)


@pytest.mark.parametrize(
    "arguments",
    [
        ["--margin", "2pp"], ["--by", "topic"], ["--candidate", "b"], ["--baseline", "a"], ["--sequential"],
        ["--planned-n", "9"], ["--adjust", "holm"], ["--pass-hat", "2"], ["--pass-at", "2"],
    ],
    ids=lambda arguments: arguments[0],
)  # fmt: skip
def test_options_of_other_pages_are_refused(file: str, arguments: list[str], asked: list[dict[str, Any]]) -> None:
    result = invoke(file, *arguments)
    assert isinstance(result.exception, InputError)
    assert f"the report scenarios has no option {arguments[0]}" in str(result.exception)
    assert asked == []


@pytest.mark.parametrize("kind", ["leaderboard"])
@pytest.mark.parametrize(
    "arguments",
    [["--scenario", "topic"], ["--reference", "t1"], ["--weights", "observed"], ["--formula", "x"], ["--as", "fixed"]],
    ids=lambda arguments: arguments[0],
)
def test_other_pages_refuse_those_of_scenarios(file: str, kind: str, arguments: list[str]) -> None:
    result = CliRunner().invoke(app, ["report", kind, file, *arguments, "--quiet"])
    assert isinstance(result.exception, InputError)
    assert f"the report {kind} has no option {arguments[0]}" in str(result.exception)


def test_both_kinds_of_document(file: str, asked: list[dict[str, Any]]) -> None:
    assert invoke(file, "--reference", "ideal", "--to", "html", "--to", "pdf", "-o", "out").exit_code == 0
    assert [call["output"] for call in asked] == [Path("out/scenarios.html"), Path("out/scenarios.pdf")]


def test_the_page_of_error_rates_takes_none_of_it() -> None:
    result = CliRunner().invoke(app, ["report", "validation", "--reference", "ideal", "--quiet"])
    assert isinstance(result.exception, InputError)
    assert "takes no --reference" in str(result.exception)
