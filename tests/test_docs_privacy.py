"""What the page on privacy prints works as printed."""

import json
import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from evalstats.cli.ingest_run import ENVIRONMENT
from evalstats.cli.main import app
from evalstats.options import MIN_CELL
from evalstats.schema.anonymize import MAX_ROWS
from evalstats.schema.columns import holds_ids, holds_text, is_measure, is_personal

PAGE = (Path(__file__).resolve().parents[1] / "docs" / "privacy.md").read_text(encoding="utf-8")


@pytest.fixture(autouse=True)
def logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(ENVIRONMENT, raising=False)
    rows = [
        {"item": f"q{i}", "model": "m", "score": i % 2, "user": f"ann{i % 3}", "comment": "my words"} for i in range(30)
    ]
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)))


def test_the_command_runs_and_reports(tmp_path: Path) -> None:
    (command,) = re.findall(r"^\$ (evalstats ingest .*)$", PAGE, re.MULTILINE)
    found = CliRunner().invoke(app, shlex.split(command)[1:])
    assert found.exit_code == 0
    assert "anonymised: pseudonyms in place of user (30)" in found.output
    assert (tmp_path / "secret.key").is_file()


def test_the_example_in_python_runs(capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    exec(code, {})  # noqa: S102 - our own page
    assert "comment (30)" in capsys.readouterr().out


def test_the_columns_that_the_page_names_are_treated_so() -> None:
    for words, test in (
        ("of ids by their name", holds_ids),
        ("of texts by their name", holds_text),
        ("a person (", is_personal),
    ):
        (line,) = [line for line in PAGE.splitlines() if line.startswith("|") and words in line]
        names = re.findall(r"`(\w+)`", line)
        assert names
        assert [name for name in names if not test(name)] == []


def test_the_page_says_what_the_program_does() -> None:
    assert ENVIRONMENT in PAGE
    assert f"`min_cell`, {MIN_CELL} unless" in PAGE


def test_the_measures_that_the_page_names_are_known() -> None:
    (said,) = re.findall(r"names that begin with .*?\(`evalstats", PAGE, re.DOTALL)
    begins, ends = said.split("names with `_per_`")
    names = [f"{word}x" for word in re.findall(r"`(\w+)`", begins)] + ["x_per_y"]
    names += [f"x_{word}" for word in re.findall(r"`(\w+)`", ends) if word not in {"_a", "_b"}]
    assert len(names) > 40
    assert [name for name in names if not is_measure(name)] == []
    assert f"first {MAX_ROWS:,} rows" in PAGE
