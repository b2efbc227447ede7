"""`evalstats report arena`: its options reach the page, those of other pages are refused, no ranking exits 3."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from evalstats.cli.main import app
from evalstats.errors import InputError
from evalstats.report import render
from evalstats.report.arena.page import code_again
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


def votes(n: int = 300) -> pl.DataFrame:
    """Three models, thirty raters, two apps; lengths of the answers are known."""
    rng = np.random.default_rng(5)
    names = np.array(["east", "north", "south"])
    first = rng.integers(0, 3, n)
    second = (first + rng.integers(1, 3, n)) % 3
    ahead = rng.random(n) < 1 / (1 + np.exp(0.6 * (first - second)))
    return pl.DataFrame(
        {
            "model_a": names[first],
            "model_b": names[second],
            "winner": np.where(rng.random(n) < 0.1, "tie", np.where(ahead, "model_a", "model_b")),
            "rater": [f"r{number}" for number in rng.integers(0, 30, n)],
            "app": np.where(rng.random(n) < 0.5, "chat", "code"),
            "assistant_tokens_a": rng.integers(50, 400, n),
            "assistant_tokens_b": rng.integers(50, 400, n),
        }
    )


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    votes().write_csv(tmp_path / "votes.csv")
    return "votes.csv"


def invoke(*arguments: str):
    return CliRunner().invoke(app, ["report", "arena", *arguments, "--quiet"])


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], {"ties": None, "cluster": None, "covariates": None, "by": None, "checks": True, "plan": None}),
        (["--ties", "davidson", "--seed", "3"], {"ties": "davidson", "seed": 3}),
        (["--style"], {"covariates": "auto"}),
        (["--covariate", "assistant_tokens"], {"covariates": ["assistant_tokens"]}),
        (["--cluster", "rater"], {"cluster": ["rater"]}),
        (["--cluster", "none", "--side"], {"cluster": "none", "side": True}),
        (["--by", "app", "--both-bad", "drop"], {"by": "app", "both_bad": "drop"}),
        (["--by", "none"], {"by": None}),
        (["--prior", "0.5", "--anchor", "east"], {"prior": 0.5, "anchor": "east"}),
        (["--scale", "log-odds", "--conf-level", "0.9"], {"scale": "log-odds", "conf_level": 0.9}),
        (["--models", "east,south", "--no-checks"], {"models": ["east", "south"], "checks": False}),
        (["--resamples", "200", "--online-elo"], {"n_resamples": 200, "online": True}),
    ],
)
def test_options_reach_the_page(
    file: str, arguments: list[str], expected: dict[str, object], asked: list[dict[str, Any]]
) -> None:
    result = invoke(file, *arguments)
    assert result.exit_code in (0, 3), result.output
    (call,) = asked
    assert call["kind"] == "arena"
    assert call["output"] == Path("arena.html")
    assert {name: call["options"].get(name) for name in expected} == expected


def test_code_for_some_of_the_votes_reads_those_votes(file: str, asked: list[dict[str, Any]]) -> None:
    where = ["--where", "app=chat", "--where", "model=east", "--where", "model=north"]
    assert invoke(file, *where).exit_code in (0, 3)
    (call,) = asked
    code = code_again({}, None, call["options"]["reading"])
    before = code.replace("es.arena(data)", "")
    names: dict[str, Any] = {}
    exec(before, names)  # noqa: S102 - the code that the page prints
    kept, shown = names["data"].comparisons, call["data"].comparisons
    assert kept.height == shown.height < 300
    assert kept["app"].unique().to_list() == ["chat"]


def test_every_option_is_one_of_the_page(file: str, asked: list[dict[str, Any]]) -> None:
    """The page's own list of parameters, so that no option of the command is refused by it."""
    everything = [
        "--ties", "half", "--cluster", "rater", "--style", "--side", "--by", "app", "--both-bad", "tie", "--prior", "0.5",
        "--anchor", "east", "--scale", "elo", "--models", "east,north,south", "--resamples", "200", "--online-elo",
        "--no-checks", "--conf-level", "0.9",
    ]  # fmt: skip
    assert invoke(file, *everything).exit_code == 0
    options = {name: value for name, value in asked[0]["options"].items() if value is not None}
    render._refuse_unknown(options, "arena", find_page("arena").source)


@pytest.mark.parametrize(
    "arguments",
    [
        ["--margin", "2pp"], ["--metric", "m"], ["--candidate", "b"], ["--baseline", "a"], ["--sequential"],
        ["--planned-n", "9"], ["--adjust", "holm"], ["--pass-hat", "2"], ["--pass-at", "2"], ["--contrast", "system"],
        ["--scenario", "app"], ["--weights", "observed"], ["--accept", "temperature"],
    ],
    ids=lambda arguments: arguments[0],
)  # fmt: skip
def test_options_of_other_pages_are_refused(file: str, arguments: list[str], asked: list[dict[str, Any]]) -> None:
    result = invoke(file, *arguments)
    assert isinstance(result.exception, InputError)
    assert f"the report arena has no option {arguments[0]}" in str(result.exception)
    assert asked == []


@pytest.mark.parametrize("kind", ["leaderboard", "scenarios"])
@pytest.mark.parametrize(
    "arguments",
    [["--ties", "half"], ["--style"], ["--prior", "1"], ["--both-bad", "drop"], ["--no-checks"]],
    ids=lambda arguments: arguments[0],
)
def test_other_pages_refuse_those_of_an_arena(file: str, kind: str, arguments: list[str]) -> None:
    result = CliRunner().invoke(app, ["report", kind, file, *arguments, "--quiet"])
    assert isinstance(result.exception, InputError)
    assert f"the report {kind} has no option {arguments[0]}" in str(result.exception)


def test_pages_without_data_take_none_of_it() -> None:
    result = CliRunner().invoke(app, ["report", "validation", "--style", "--quiet"])
    assert isinstance(result.exception, InputError)
    assert "takes no --style" in str(result.exception)


def test_both_kinds_of_document(file: str, asked: list[dict[str, Any]]) -> None:
    assert invoke(file, "--to", "html", "--to", "pdf", "-o", "out").exit_code == 0
    assert [call["output"] for call in asked] == [Path("out/arena.html"), Path("out/arena.pdf")]


def test_without_any_rank_the_page_is_made_and_the_command_exits_3(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asked: list[dict[str, Any]]
) -> None:
    monkeypatch.chdir(tmp_path)
    votes().with_columns(rater=pl.lit("r") + (pl.int_range(pl.len()) % 2).cast(pl.String)).write_csv("two.csv")
    result = invoke("two.csv", "--cluster", "rater")
    assert result.exit_code == 3, result.output
    assert len(asked) == 1


def test_style_and_covariates_together_are_refused(file: str, asked: list[dict[str, Any]]) -> None:
    result = invoke(file, "--style", "--covariate", "assistant_tokens")
    assert isinstance(result.exception, InputError)
    assert asked == []
