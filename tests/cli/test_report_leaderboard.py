"""`evalstats report leaderboard`: its options reach the page, those of other pages are refused, what cannot be ranked exits 3."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner

from evalstats.cli.main import app
from evalstats.errors import InputError
from evalstats.report import render

PLAN = '[plan]\nadjust = "holm"\n\n[[margins]]\nvalue = "5pp"\nreason = "users do not notice less"\n'


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Stand in for the rendering and keep what was asked of it."""
    calls: list[dict[str, Any]] = []

    def render_report(**arguments: Any) -> render.Rendered:
        calls.append(arguments)
        return render.Rendered(path=Path(arguments["output"]), engine="embedded")

    monkeypatch.setattr(render, "render_report", render_report)
    return calls


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Three models on 40 items in four topics, in the working folder."""
    monkeypatch.chdir(tmp_path)
    rows = [
        {"model": name, "benchmark": "b", "item": f"i{n}", "topic": f"t{n % 4}", "score": float((n * 7) % 10 < 8 - 3 * side)}
        for side, name in enumerate("abc")
        for n in range(40)
    ]  # fmt: skip
    pl.DataFrame(rows).write_csv(tmp_path / "all.csv")
    return "all.csv"


def invoke(*arguments: str):
    return CliRunner().invoke(app, ["report", "leaderboard", *arguments, "--quiet"])


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], {"adjust": None, "models": None, "conf_level": None}),
        (["--adjust", "bh"], {"adjust": "bh"}),
        (["--models", "a,b"], {"models": ["a", "b"]}),
        (["--conf-level", "0.9", "--seed", "3"], {"conf_level": 0.9, "seed": 3}),
        (["--accept", "judge"], {"accept": ["judge"]}),
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
    assert result.exit_code == 0, result.output
    (call,) = asked
    assert call["kind"] == "leaderboard"
    assert call["output"] == Path("leaderboard.html")
    assert {name: call["options"].get(name) for name in expected} == expected


def test_every_option_is_one_of_the_page(file: str, asked: list[dict[str, Any]]) -> None:
    """The page's own list of parameters, so that no option of the command is refused by it."""
    from evalstats.report.engine import find_page

    invoke(file, "--baseline", "a")
    options = {name: value for name, value in asked[0]["options"].items() if value is not None}
    assert asked[0]["baseline"] == "a"
    render._refuse_unknown(options, "leaderboard", find_page("leaderboard").source)


def test_both_kinds_of_document(file: str, tmp_path: Path, asked: list[dict[str, Any]]) -> None:
    assert invoke(file, "--to", "html", "--to", "pdf", "-o", "out").exit_code == 0
    assert [call["output"] for call in asked] == [Path("out/leaderboard.html"), Path("out/leaderboard.pdf")]


@pytest.mark.parametrize(
    "arguments", [["--margin", "2pp"], ["--by", "topic"], ["--candidate", "b"], ["--sequential"], ["--planned-n", "9"]]
)
def test_options_of_a_comparison_are_refused(file: str, arguments: list[str], asked: list[dict[str, Any]]) -> None:
    result = invoke(file, *arguments)
    assert isinstance(result.exception, InputError)
    assert f"the report leaderboard has no option {arguments[0]}" in str(result.exception)
    assert asked == []


def test_a_declared_plan_goes_with_it(file: str, tmp_path: Path, asked: list[dict[str, Any]]) -> None:
    (tmp_path / "evalstats.toml").write_text(PLAN)
    assert invoke(file).exit_code == 0
    assert invoke(file, "--no-plan").exit_code == 0
    assert [call["options"]["plan"] for call in asked] == [Path("evalstats.toml"), None]


def test_a_store_needs_no_file(file: str, tmp_path: Path, asked: list[dict[str, Any]]) -> None:
    made = CliRunner().invoke(app, ["ingest", file, "--store", "store", "--quiet"])
    assert made.exit_code == 0, made.output
    assert invoke("--store", "store").exit_code == 0
    assert asked[0]["options"]["reading"] == 'es.open_store("store").read()'


def test_without_any_rank_the_page_is_made_and_the_exit_says_so(file: str, asked: list[dict[str, Any]]) -> None:
    assert invoke(file, "--cluster", "topic").exit_code == 3  # four clusters
    assert len(asked) == 1


def test_what_cannot_be_asked_makes_no_page(file: str, asked: list[dict[str, Any]]) -> None:
    assert isinstance(invoke(file, "--baseline", "nobody").exception, InputError)
    assert isinstance(invoke().exception, InputError)
    assert asked == []


def test_published_numbers_can_be_filtered() -> None:
    from evalstats.analysis.leaderboard.published import keep_published
    from evalstats.cli.load import conditions
    from evalstats.schema.data import EvalData
    from evalstats.schema.tables import frame_from_rows

    rows = [
        {"model": "m", "benchmark": "b", "task": task, "metric": "accuracy", "estimate": 0.5, "std_error": 0.1}
        for task in ("x", "y")
    ]
    data = EvalData(aggregates=frame_from_rows(rows, "aggregates"))
    assert keep_published(data, conditions(["task=y"])).aggregates["task"].to_list() == ["y"]
    assert keep_published(data, conditions(None)).aggregates.height == 2
