"""The website: what is made for it is whole, and what it links to is there."""

import json
import os
import re
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import yaml

import evalstats
from evalstats.analysis.method_texts import known_methods
from evalstats.loaders.registry import BUILT_IN
from evalstats.report.examples import EXAMPLES
from website import pages
from website.contents import API

ROOT = Path(__file__).resolve().parents[2]


def named_files(node: Any) -> set[str]:
    """Return every file of ours that the site's settings name."""
    if isinstance(node, dict):
        return set().union(*(named_files(value) for value in node.values()), set())
    if isinstance(node, list):
        return set().union(*(named_files(value) for value in node), set())
    return (
        {node} if isinstance(node, str) and re.fullmatch(r"[\w/.-]+\.(md|qmd|ipynb|svg|scss|css|py)", node) else set()
    )


def made_files() -> set[str]:
    """Return what is made, by name; the texts are not needed for that."""
    gallery = {f"gallery/{name}.md" for name in ("index", *pages.QUESTIONS)}
    questions = {f"questions/{path.name}" for path in (ROOT / "notebooks").glob("*.ipynb")}
    return (
        gallery
        | questions
        | {"docs/methods/index.md", "docs/reference/index.qmd", "docs/tables.md", "docs/formats/index.md"}
    )


def test_every_file_that_the_site_names_is_tracked_or_made() -> None:
    named = named_files(yaml.safe_load((ROOT / "_quarto.yml").read_text()))
    assert len(named) > 30
    missing = {name for name in named - made_files() if not (ROOT / name).is_file()}
    assert not missing


def test_every_question_and_every_notebook_stands_in_the_site() -> None:
    assert set(pages.QUESTIONS) == set(EXAMPLES)
    named = named_files(yaml.safe_load((ROOT / "_quarto.yml").read_text()))
    assert {name for name in made_files() if name.startswith(("gallery/", "questions/"))} <= named


def test_every_public_name_has_its_place_in_the_api() -> None:
    placed = [name for _, _, names in API for name in names]
    assert len(placed) == len(set(placed))
    assert set(placed) | {"datasets", "plots"} == set(evalstats.__all__)


def test_methods_stand_on_a_page_each_once() -> None:
    made = pages.methods()
    text = "".join(made.values()).replace("\\", "")
    assert set(made) >= {"index.md", "votes.md", "mixed-models.md"}
    assert all(key in text for key in known_methods())
    assert text.count("\n## ") == len(set(map(id, known_methods().values())))


def test_html_in_a_notebook_becomes_raw_markdown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "notebooks").mkdir()
    output = {"output_type": "execute_result", "data": {"text/html": ["<p>`````</p>"], "text/plain": "x"}}
    notebook = {"cells": [{"cell_type": "code", "source": "1", "outputs": [output]}], "nbformat": 4}
    (tmp_path / "notebooks" / "a.ipynb").write_text(json.dumps(notebook))
    monkeypatch.setattr(pages, "ROOT", tmp_path)
    made = json.loads(pages.notebooks()["a.ipynb"])
    (data,) = (output["data"] for output in made["cells"][0]["outputs"])
    assert set(data) == {"text/markdown"}
    fence = data["text/markdown"].partition("{=html}")[0]
    assert fence == "``````", "no row of backticks in the output may end the block"


def test_every_column_stands_in_the_glossary() -> None:
    text = pages.tables_page()
    for table, column in evalstats.glossary().select("table", "column").iter_rows():
        assert f"`{column}`" in text.partition(f"## {pages.prose(table)}")[2], (table, column)


def test_every_format_is_listed_and_every_page_of_a_format_is_linked() -> None:
    text = pages.formats_page()
    linked = set(re.findall(r"\]\(([\w-]+)\.md\)", text))
    written = {path.stem for path in (ROOT / "docs" / "formats").glob("*.md")} - {"index"}
    assert linked == written


def test_every_built_in_format_has_a_page() -> None:
    text = pages.formats_page().replace("\\", "")
    rows = re.findall(r"^\| (\[?)([\w-]+)", text, re.MULTILINE)
    linked = {name for bracket, name in rows if bracket}
    built_in = {getattr(import_module(module), name).name for module, name in BUILT_IN}
    assert built_in - linked == set(), "docs/formats/ has no page of that name or with it in its heading"


def test_rows_that_link_to_nothing_on_their_page_are_left_out() -> None:
    head = "# A { #a }\n\n## Attributes\n\n| Name | Description |\n| --- | --- |\n"
    dead, alive = "| [status](#a.status) | int([x]) -> integer |", "| [name](#a.name) | What it is called. |"
    assert pages._without_dead_ends(head + dead) == "# A { #a }\n\n"
    kept = pages._without_dead_ends(f"{head}{dead}\n{alive}\n\n### name {{ #a.name }}\n")
    assert alive in kept
    assert "status" not in kept


def test_a_room_is_replaced_whole(tmp_path: Path) -> None:
    room = tmp_path / "room"
    room.mkdir()
    (room / "old.md").write_text("old")
    pages.replace_room(room, {"new.md": "new"})
    assert [path.name for path in room.iterdir()] == ["new.md"]
    assert [path.name for path in tmp_path.iterdir()] == ["room"]


@pytest.mark.quarto
@pytest.mark.slow
@pytest.mark.skipif(shutil.which("quarto") is None, reason="Quarto is not on this machine")
def test_quarto_makes_the_site_and_changes_no_tracked_file(tmp_path: Path) -> None:
    copy = tmp_path / "site"
    subprocess.run(["git", "clone", "-q", str(ROOT), str(copy)], check=True)
    environment = {**os.environ, "QUARTO_PYTHON": sys.executable}
    subprocess.run(["quarto", "render"], cwd=copy, check=True, env=environment)
    changed = subprocess.run(["git", "status", "--short"], cwd=copy, check=True, capture_output=True, text=True)
    assert changed.stdout == ""
    made = sorted((copy / "_site").rglob("*.html"))
    assert {"index.html", "CHANGELOG.html"} <= {path.name for path in made}
    loaded = re.compile(r"<(?:script|link|img|iframe)[^>]*\s(?:src|href)=[\"'](?:https?:)?//", re.IGNORECASE)
    assert not [path for path in made if loaded.search(path.read_text(encoding="utf-8"))]
