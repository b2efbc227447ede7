"""`evalstats report validation`: no data, the same options for what is written and where."""

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from evalstats.cli import report as command
from evalstats.cli.main import app
from evalstats.errors import InputError
from evalstats.report import render


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Stand in for the rendering and keep what was asked of it."""
    calls: list[dict[str, Any]] = []

    def render_report(**arguments: Any) -> render.Rendered:
        calls.append(arguments)
        return render.Rendered(path=Path(arguments["output"]), engine="embedded")

    monkeypatch.setattr(render, "render_report", render_report)
    return calls


def invoke(*arguments: str):
    return CliRunner().invoke(app, ["report", *arguments])


def test_it_needs_nothing_and_lands_in_the_working_folder(asked: list[dict[str, Any]]) -> None:
    done = invoke("validation", "--quiet")
    assert done.exit_code == 0
    assert done.output.strip() == "validation.html"
    (call,) = asked
    assert (call["kind"], call["to"], call["engine"]) == ("validation", "html", "auto")
    assert not {"data", "baseline", "candidate", "options"} & call.keys()


def test_both_documents_lie_in_the_folder_that_is_named(asked: list[dict[str, Any]], tmp_path: Path) -> None:
    done = invoke("validation", "--to", "html", "--to", "pdf", "-o", str(tmp_path / "out"), "--quiet")
    assert done.exit_code == 0
    assert [call["output"] for call in asked] == [tmp_path / "out" / f"validation.{to}" for to in ("html", "pdf")]


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["a.csv"], "data"),
        (["--baseline", "a"], "--baseline"),
        (["--store", "s"], "--store"),
        (["--metric", "m"], "--metric"),
        (["--map", "item=id"], "--map"),
        (["--input-format", "csv"], "--input-format"),
        (["--conf-level", "0.9"], "--conf-level"),
        (["--seed", "1"], "--seed"),
    ],
)
def test_what_belongs_to_a_comparison_is_refused(arguments: list[str], word: str, asked: list[dict[str, Any]]) -> None:
    done = invoke("validation", *arguments)
    assert done.exit_code != 0
    assert isinstance(done.exception, InputError)
    assert str(done.exception).endswith(f"it takes no {word}")
    assert asked == []


def test_documents_are_named_for_their_page(tmp_path: Path) -> None:
    assert (
        command._target(command.Kind.VALIDATION, tmp_path, command.To.PDF, several=False) == tmp_path / "validation.pdf"
    )
    assert command._target(command.Kind.ARENA_SAMPLING, None, command.To.HTML, several=True) == Path(
        "arena-sampling.html"
    )
