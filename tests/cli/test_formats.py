"""What `formats` says of a place without result files."""

import os
from pathlib import Path

from typer.testing import CliRunner

from evalstats.cli.main import app


def test_an_empty_folder_is_said_to_be_empty(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["formats", str(tmp_path)])
    assert result.exit_code == 0
    assert "holds no files to look at" in result.output


def test_a_pipe_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    result = CliRunner().invoke(app, ["formats", str(tmp_path / "pipe")])
    assert result.exit_code != 0
    assert "neither a file nor a folder" in f"{result.output}{result.exception}"
