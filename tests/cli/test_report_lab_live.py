"""`evalstats report lab-live`: its options reach the page, those of other pages are refused, no gap to be told exits 3."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner

from evalstats.cli.main import app
from evalstats.errors import InputError
from evalstats.loaders.registry import read
from evalstats.report import render
from evalstats.report.engine import find_page
from evalstats.report.lab_live.again import Reading, code_again

MODELS = tuple(f"model-{i:02d}" for i in range(12))


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
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Published tables of both sides, live names a little different, and a file that joins them."""
    monkeypatch.chdir(tmp_path)
    lab = [0.90 - 0.05 * i for i in range(12)]
    for name, models, values, error in (
        ("lab", MODELS, lab, 0.01),
        ("live", MODELS, [1000 + 400 * score - 90 * (i == 3) for i, score in enumerate(lab)], 4.0),
    ):
        columns = {"model": models, "benchmark": f"{name} bench", "metric": "score", "estimate": values}
        pl.DataFrame(columns).with_columns(std_error=error).write_csv(tmp_path / f"{name}.csv")
    (tmp_path / "names.csv").write_text("lab,live\nother,model-00\n")
    (tmp_path / "mix.csv").write_text("level,share\nideal,75%\nhasty,25%\n")
    return tmp_path


SIDES = ("--lab", "lab.csv", "--live", "live.csv")


def invoke(*arguments: str):
    return CliRunner().invoke(app, ["report", "lab-live", *arguments, "--quiet"])


def test_both_sides_and_every_option_reach_the_page(folder: Path, asked: list[dict[str, Any]]) -> None:
    everything = [
        *SIDES, "--aliases", "names.csv", "--metric", "score", "--lab-metric", "score", "--live-metric", "score",
        "--other-scale", "--margin", "20", "--lab-cluster", "none", "--live-cluster", "none", "--cluster", "none",
        "--top", "3,5", "--resamples", "100", "--min-cell", "5", "--conf-level", "0.9", "--seed", "3",
        "--models", ",".join(MODELS),
    ]  # fmt: skip
    result = invoke(*everything)
    assert result.exit_code == 0, result.output
    (call,) = asked
    assert call["kind"] == "lab-live"
    assert call["output"] == Path("lab-live.html")
    assert call["data"] is None
    options = call["options"]
    assert options["lab"].aggregates.height == options["live"].aggregates.height == 12
    assert options["same_scale"] is False
    assert (options["top"], options["min_cell"], options["n_resamples"]) == ((3, 5), 5, 100)
    assert options["aliases"] == Path("names.csv")
    assert options["cluster"] == options["lab_cluster"] == "none"
    render._refuse_unknown(
        {name: value for name, value in options.items() if value is not None}, "lab-live", find_page("lab-live").source
    )


def test_one_file_with_both_sides_is_handed_on_whole(tmp_path: Path, asked: list[dict[str, Any]]) -> None:
    rows = [
        {
            "model": f"m{m}", "setting": setting, "item": f"{setting}-{i}", "benchmark": "bench", "metric": "success",
            "score": float((7 * i + 3 * m) % 20 < 18 - m - m % 3 * (setting == "live")), "scenario": "ab"[i % 2],
        }
        for m in range(8) for setting in ("lab", "live") for i in range(20)
    ]  # fmt: skip
    file = tmp_path / "both.csv"
    pl.DataFrame(rows).write_csv(file)
    result = invoke(str(file), "--by", "scenario", "--resamples", "100")
    assert result.exit_code == 0, result.output
    (call,) = asked
    assert call["data"].outcomes.height == len(rows)
    assert call["options"]["by"] == ["scenario"]
    assert call["options"]["reading"] == f'es.read("{file}")'


def test_the_code_reads_the_rows_that_were_kept(folder: Path, asked: list[dict[str, Any]]) -> None:
    where = ["--lab-where", "metric=score"]
    assert invoke(*SIDES, *where).exit_code == 0
    options = asked[0]["options"]
    code = code_again({}, None, Reading(lab=options["lab_reading"], live=options["live_reading"]))
    assert 'lab = es.read("lab.csv", where={"metric": "score"})' in code
    assert 'live = es.read("live.csv")' in code


def test_votes_are_kept_under_the_name_of_their_side(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from evalstats.cli.report_lab_live import _kept

    monkeypatch.chdir(tmp_path)
    frame = pl.DataFrame({"model_a": ["a", "b"], "model_b": ["b", "a"], "winner": ["model_a"] * 2, "app": ["x", "y"]})
    frame.write_csv("votes.csv")
    data = read("votes.csv")
    code = code_again({}, None, Reading(lab="None", live=f'es.read("votes.csv")\n{_kept(data, ["app=x"], "live")}'))
    names: dict[str, Any] = {}
    exec(code.replace("es.gap(lab, live)", ""), names)  # noqa: S102 - the code that the page prints
    assert names["live"].comparisons["app"].to_list() == ["x"]


@pytest.mark.parametrize(
    "arguments",
    [
        ["--ties", "half"], ["--style"], ["--candidate", "b"], ["--baseline", "a"], ["--sequential"], ["--adjust", "holm"],
        ["--pass-hat", "2"], ["--contrast", "system"], ["--scenario", "app"], ["--accept", "temperature"],
    ],
    ids=lambda arguments: arguments[0],
)  # fmt: skip
def test_options_of_other_pages_are_refused(arguments: list[str], asked: list[dict[str, Any]]) -> None:
    result = invoke(*SIDES, *arguments)
    assert isinstance(result.exception, InputError)
    assert f"the report lab-live has no option {arguments[0]}" in str(result.exception)
    assert asked == []


@pytest.mark.parametrize("kind", ["comparison", "leaderboard", "scenarios", "arena"])
@pytest.mark.parametrize(
    "arguments",
    [["--lab", "x"], ["--aliases", "x"], ["--mix", "rutbench"], ["--other-scale"], ["--top", "3"], ["--min-cell", "5"]],
    ids=lambda arguments: arguments[0],
)
def test_other_pages_refuse_those_of_lab_and_live(kind: str, arguments: list[str]) -> None:
    sides = ["--baseline", "a", "--candidate", "b"] if kind == "comparison" else []
    result = CliRunner().invoke(app, ["report", kind, "x.csv", *sides, *arguments, "--quiet"])
    assert isinstance(result.exception, InputError)
    assert f"the report {kind} has no option {arguments[0]}" in str(result.exception)


def test_other_pages_take_one_factor_to_split_by() -> None:
    result = CliRunner().invoke(app, ["report", "comparison", "a", "b", "--by", "x", "--by", "y", "--quiet"])
    assert isinstance(result.exception, InputError)
    assert "takes --by once, found x, y" in str(result.exception)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "two sides are needed, found nothing"),
        (["--lab", "lab.csv"], "two sides are needed"),
        ([*SIDES, "--where", "metric=score"], "has no option --where; --lab-where and --live-where"),
        ([*SIDES, "--store", "x"], "--store holds both sides"),
        ([*SIDES, "--mix", "none.csv"], "none.csv"),
    ],
)
def test_what_does_not_say_which_side_is_which_is_refused(
    folder: Path, arguments: list[str], said: str, asked: list[dict[str, Any]]
) -> None:
    result = invoke(*arguments)
    assert isinstance(result.exception, InputError)
    assert said in str(result.exception)
    assert asked == []


def test_without_any_gap_to_tell_the_page_is_made_and_the_command_exits_3(
    folder: Path, asked: list[dict[str, Any]]
) -> None:
    for name in ("lab", "live"):
        pl.read_csv(folder / f"{name}.csv").drop("std_error").write_csv(folder / f"{name}.csv")
    result = invoke(*SIDES, "--to", "html", "--to", "pdf", "-o", "out")
    assert result.exit_code == 3, result.output
    assert [call["output"] for call in asked] == [Path("out/lab-live.html"), Path("out/lab-live.pdf")]
