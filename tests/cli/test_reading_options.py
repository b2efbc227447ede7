"""What is typed at an option, read without pydantic where text and paths are all there is to it."""

import os
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import pytest
import typer
from typer.core import TyperCommand
from typer.testing import CliRunner

from evalstats.cli.options import Command


class Colour(StrEnum):
    """A few words to choose from."""

    RED = "red"
    BLUE = "blue"


def _told(cls: type, typed: list[str]) -> tuple[int, str]:
    app = typer.Typer(add_completion=False, rich_markup_mode=None)

    @app.command(cls=cls)
    def show(
        *,
        paths: Annotated[list[Path] | None, typer.Argument()] = None,
        name: Annotated[list[str] | None, typer.Option()] = None,
        n: Annotated[int, typer.Option()] = 3,
        share: Annotated[float | None, typer.Option()] = None,
        folder: Annotated[Path | None, typer.Option()] = None,
        colour: Annotated[Colour, typer.Option()] = Colour.RED,
        flag: Annotated[bool, typer.Option("--flag")] = False,
    ) -> None:
        print(repr((paths, name, n, share, folder, colour, flag)))

    done = CliRunner().invoke(app, typed)
    return done.exit_code, done.output


@pytest.mark.parametrize(
    "typed",
    [
        [],
        ["a.csv", "b c.csv"],
        ["--name", "x", "--name", "", "a"],
        ["--n", "7", "--share", "0.5", "--flag"],
        ["--n", "many"],
        ["--share", "x"],
        ["--folder", "nowhere", "--colour", "blue"],
        ["--folder", ""],
        ["--colour", "green"],
        ["\u00e9\u2028.csv", "."],
    ],
)
def test_all_is_read_and_refused_as_typer_does(typed):
    status, text = _told(TyperCommand, typed)
    assert _told(Command, typed) == (status, text.replace("Value error, ", ""))


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_refused_as_typer_does(tmp_path):
    closed = tmp_path / "closed.csv"
    closed.touch(mode=0o000)
    assert _told(Command, [str(closed)]) == _told(TyperCommand, [str(closed)])
