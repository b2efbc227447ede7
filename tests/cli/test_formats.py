"""What `formats` says of a place without result files."""

import json
import os
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from evalstats.cli.main import app
from evalstats.loaders.column_map import ColumnMap
from evalstats.loaders.registry import read
from tests.loaders.trees import offered


def test_an_empty_folder_is_said_to_be_empty(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["formats", str(tmp_path)])
    assert result.exit_code == 0
    assert "holds no files to read" in result.output


def test_a_pipe_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    result = CliRunner().invoke(app, ["formats", str(tmp_path / "pipe")])
    assert result.exit_code != 0
    assert "neither a file nor a folder" in f"{result.output}{result.exception}"


def test_judges_and_criteria_inside_a_record_are_shown_with_options_that_read_them(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    given = {"x": {"tone": 4, "fact": 5}, "y": {"tone": 3, "fact": 4}}
    path.write_text(json.dumps([{"id": f"q{k}", "model": model, "scores": given} for k in range(3) for model in "ab"]))
    shown = offered(CliRunner().invoke(app, ["formats", str(path)]).output)
    options = shlex.split(shown[0])[1::2]
    assert options[1] == "judges=scores.*.tone,scores.*.fact"
    outcomes = read(path, column_map=ColumnMap.from_options(options)).outcomes
    assert outcomes.filter(item="q0", model="a").sort("judge", "metric").select("judge", "metric", "score").rows() == [
        ("x", "scores.fact", 5.0),
        ("x", "scores.tone", 4.0),
        ("y", "scores.fact", 4.0),
        ("y", "scores.tone", 3.0),
    ]


@pytest.mark.parametrize(
    ("header", "options"),
    [
        ("item,model,score", "table (read with --map item=item --map score=score --map model=model)"),
        ("id,llm,ok", "table (read with --map item=id --map score=ok --map model=llm)"),
    ],
)
def test_of_a_table_the_options_are_shown_that_read_it(tmp_path: Path, header: str, options: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text(f"{header}\nq1,a,1\nq2,a,0\nq1,b,1\nq2,b,1\n")
    assert options in " ".join(CliRunner().invoke(app, ["formats", str(path)]).output.split())
