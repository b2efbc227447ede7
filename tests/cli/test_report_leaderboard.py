"""`evalstats report leaderboard`: its options reach the result, those of other pages are refused, what has no rank exits 3."""

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
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, list[Path]]]:
    """Stand in for the rendering and keep the result and the files that were asked for."""
    calls: list[tuple[Any, list[Path]]] = []

    def render_results(results: Any, outputs: Any, **_: Any) -> tuple[render.Rendered, ...]:
        calls.append((results[0], list(outputs)))
        return tuple(render.Rendered(path=Path(each), engine="embedded") for each in outputs)

    monkeypatch.setattr(render, "render_results", render_results)
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


def test_options_reach_the_result(file: str, asked: list[Any]) -> None:
    result = invoke(
        file, "--adjust", "bh", "--models", "a,b", "--conf-level", "0.9", "--where", "topic=t1", "--baseline", "a"
    )
    assert result.exit_code == 0, result.output
    ((board, outputs),) = asked
    assert (board.adjust, board.conf_level, board.n_models, board.n_items, board.baseline) == ("bh", 0.9, 2, 10, "a")
    assert outputs == [Path("leaderboard.html")]


def test_both_kinds_of_document(file: str, asked: list[Any]) -> None:
    assert invoke(file, "--to", "html", "--to", "pdf", "-o", "out").exit_code == 0
    assert asked[0][1] == [Path("out/leaderboard.html"), Path("out/leaderboard.pdf")]


@pytest.mark.parametrize(
    "arguments", [["--margin", "2pp"], ["--by", "topic"], ["--candidate", "b"], ["--sequential"], ["--planned-n", "9"]]
)
def test_options_of_a_comparison_are_refused(file: str, arguments: list[str], asked: list[Any]) -> None:
    result = invoke(file, *arguments)
    assert isinstance(result.exception, InputError)
    assert f"the report leaderboard has no option {arguments[0]}" in str(result.exception)
    assert asked == []


def test_a_declared_plan_goes_with_it(file: str, tmp_path: Path, asked: list[Any]) -> None:
    (tmp_path / "evalstats.toml").write_text(PLAN)
    assert invoke(file).exit_code == 0
    assert invoke(file, "--no-plan").exit_code == 0
    assert [board.plan is not None for board, _ in asked] == [True, False]
    assert [board.adjust for board, _ in asked] == ["holm", "max-t"]


def test_without_any_rank_the_page_is_made_and_the_exit_says_so(file: str, asked: list[Any]) -> None:
    assert invoke(file, "--cluster", "topic").exit_code == 3  # four clusters
    assert len(asked) == 1


def test_what_cannot_be_asked_makes_no_page(file: str, asked: list[Any]) -> None:
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
