"""`evalstats show` and saved results: what was printed as JSON is the result, in every form."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from evalstats.analysis.saved import load_result
from evalstats.cli.main import app
from evalstats.document.model import Document
from evalstats.errors import InputError
from evalstats.report.examples import EXAMPLES
from tests.report.small_examples import example


@pytest.mark.parametrize("kind", EXAMPLES)
def test_show_prints_every_form(kind: str, tmp_path: Path) -> None:
    example(kind).save(tmp_path / "r.json")
    for style in ("text", "json", "markdown", "html", "latex", "csv"):
        found = CliRunner().invoke(app, ["show", str(tmp_path / "r.json"), "--format", style])
        assert found.exit_code == 0, found.output
        assert found.output.strip(), style
        if style == "json":
            (tmp_path / "again.json").write_text(found.output)
            assert load_result(tmp_path / "again.json") == load_result(tmp_path / "r.json")


@pytest.mark.parametrize("kind", EXAMPLES)
def test_quiet_is_one_line_and_full_is_more(kind: str, tmp_path: Path) -> None:
    example(kind).save(tmp_path / "r.json")
    lines = {
        option: CliRunner().invoke(app, ["show", str(tmp_path / "r.json"), option]).output.strip().splitlines()
        for option in ("-q", "--no-color", "--full")
    }
    assert len(lines["-q"]) == 1
    assert 1 < len(lines["--no-color"]) < len(lines["--full"])
    assert all(len(line) <= 80 for line in lines["--no-color"])


@pytest.mark.parametrize("kind", EXAMPLES)
def test_labels_and_ids_stand_once(kind: str) -> None:
    document: Document = example(kind).document()
    names = [section.id for section in document.sections]
    assert len(names) == len(set(names))
    assert document.figures or document.tables
    assert len(document.headline.split()) <= 30


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"result": "os.system"}', '{"result": "Frontier", "rows": 3}'])
def test_what_is_no_result_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "r.json").write_text(text)
    with pytest.raises(InputError):
        load_result(tmp_path / "r.json")
