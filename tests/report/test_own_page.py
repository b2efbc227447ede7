"""Pages of one's own: written to begin with, rendered where they stand, never overwritten."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from evalstats.cli.main import app
from evalstats.errors import InputError
from evalstats.report.examples import example
from evalstats.report.qmd import check_constructs, read_document
from evalstats.report.render import own_page, report, write_page


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "results" / 'it\'s {{< a >}} "quoted".json'
    path.parent.mkdir()
    example("score").save(path)
    return path


def test_a_new_page_finds_its_result_wherever_both_are_moved(saved: Path, tmp_path: Path) -> None:
    (tmp_path / "pages").mkdir()
    page = write_page(tmp_path / "pages" / "mine.qmd", example("score"), saved)
    check_constructs(read_document(page))
    found, parameters = own_page(page)
    assert Path(str(parameters["result"])) == saved
    assert found.extension == tmp_path / "pages" / "_extensions" / "evalstats"
    assert (found.extension / "_extension.yml").is_file()
    moved = tmp_path / "elsewhere"
    moved.mkdir()
    for name in ("pages", "results"):
        (tmp_path / name).rename(moved / name)
    _, parameters = own_page(moved / "pages" / "mine.qmd")
    assert Path(str(parameters["result"])) == moved / "results" / saved.name


def test_a_new_page_names_the_parts_of_its_result(saved: Path, tmp_path: Path) -> None:
    text = write_page(tmp_path / "mine.qmd", example("score"), saved).read_text()
    names = re.search(r"Of this result there are: (.*)\.", text)
    assert names
    assert names[1].split(", ") == [section.id for section in example("score").document().sections]


def test_where_evalstats_is_missing_a_new_page_says_so_in_a_line(saved: Path, tmp_path: Path) -> None:
    page = read_document(write_page(tmp_path / "mine.qmd", example("score"), saved))
    first = next(cell.code for cell in page.cells if "import" in cell.code)
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", first], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert re.fullmatch(r"No module named 'evalstats': activate evalstats's environment, .*QUARTO_PYTHON", line)


def test_nothing_is_written_over(saved: Path, tmp_path: Path) -> None:
    page = tmp_path / "mine.qmd"
    page.write_text("mine")
    with pytest.raises(InputError, match="is there already"):
        write_page(page, example("score"), saved)
    assert page.read_text() == "mine"
    with pytest.raises(InputError, match=r"ends in \.qmd"):
        write_page(tmp_path / "mine.md", example("score"), saved)
    with pytest.raises(InputError, match="there is no such page"):
        own_page(tmp_path / "other.qmd")


def test_the_command_writes_a_page_and_renders_it_as_edited(saved: Path, tmp_path: Path) -> None:
    page = tmp_path / "mine.qmd"
    done = CliRunner().invoke(app, ["report", "new", str(page), str(saved)])
    assert done.exit_code == 0
    assert "edit it, then" in " ".join(done.stderr.split())
    page.write_text(page.read_text().replace('page.show("method")', 'print("Words of my own.")'))
    (made,) = report(str(page), tmp_path / "mine.html", engine="embedded")
    html = made.read_text()
    assert "Words of my own." in html
    assert example("score").document().headline[:20] in re.sub(r"\s+", " ", re.sub(r"</?code[^>]*>", "", html))
    assert "How it was answered" not in html


def test_a_new_page_needs_a_name_and_a_result() -> None:
    done = CliRunner().invoke(app, ["report", "new", "mine.qmd"])
    assert isinstance(done.exception, InputError)
    assert "evalstats report new PAGE.qmd RESULT.json" in str(done.exception)
