"""`evalstats report`: saved results as pages, and what is said of what it cannot use."""

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from evalstats.analysis.result import Result
from evalstats.cli.main import app
from evalstats.errors import InputError
from evalstats.report import render
from evalstats.report.examples import example


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Stand in for the rendering and keep what was asked of it."""
    calls: list[dict[str, Any]] = []

    def render_results(results: Any, outputs: list[Path], **options: Any) -> tuple[render.Rendered, ...]:
        calls.append({"results": results, "outputs": outputs, **options})
        return tuple(render.Rendered(path=path, engine="embedded") for path in outputs)

    monkeypatch.setattr(render, "render_results", render_results)
    return calls


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("saved") / "cost.json"
    example("frontier").save(path)
    return path


def invoke(*arguments: str):
    return CliRunner().invoke(app, ["report", *arguments])


def test_a_saved_result_becomes_a_page_named_after_its_file(asked: list[dict[str, Any]], saved: Path) -> None:
    done = invoke(str(saved))
    assert done.exit_code == 0
    (call,) = asked
    assert call["outputs"] == [Path("cost.html")]
    assert call["results"] == [example("frontier")]
    assert call["engine"] == "auto"
    assert "rendered: cost.html (embedded engine)" in done.stderr


def test_forms_and_places(asked: list[dict[str, Any]], saved: Path, tmp_path: Path) -> None:
    invoke(str(saved), "-o", str(tmp_path / "a.pdf"), "-o", str(tmp_path / "b.html"), "-q")
    invoke(str(saved), "-o", str(tmp_path), "--to", "html", "--to", "pdf", "-q")
    assert [call["outputs"] for call in asked] == [
        [tmp_path / "a.pdf", tmp_path / "b.html"],
        [tmp_path / "cost.html", tmp_path / "cost.pdf"],
    ]


def test_several_results_become_one_document(asked: list[dict[str, Any]], saved: Path) -> None:
    invoke(str(saved), str(saved), "-q")
    (call,) = asked
    assert call["outputs"] == [Path("results.html")]
    assert all(isinstance(result, Result) for result in call["results"])
    assert len(call["results"]) == 2


def test_a_stored_study_needs_no_result(asked: list[dict[str, Any]]) -> None:
    assert invoke("validation", "-q").exit_code == 0
    (call,) = asked
    assert (call["results"], call["outputs"]) == ("validation", [Path("validation.html")])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "nothing to render: give a saved result"),
        (["validation", "more.json"], "validation is a page of its own"),
        (["nobody.json"], "there is no file nobody.json"),
    ],
)
def test_what_cannot_be_rendered_is_said(arguments: list[str], message: str, asked: list[dict[str, Any]]) -> None:
    done = invoke(*arguments)
    assert isinstance(done.exception, InputError)
    assert message in str(done.exception)
    assert asked == []
