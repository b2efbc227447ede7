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

import pypdfium2
import pytest
import yaml

import evalstats
from dev.website import pages
from dev.website.methods import Method, formula_parts, questions, symbols_in
from dev.website.sheet import typeset
from evalstats.analysis.method_texts import known_methods
from evalstats.datasets.validation import load_validation
from evalstats.loaders.registry import BUILT_IN
from evalstats.report.examples import EXAMPLES

ROOT = Path(__file__).resolve().parents[2]


def named_files(node: Any) -> set[str]:
    """Return every file of ours that the site's settings name."""
    if isinstance(node, dict):
        return set().union(*(named_files(value) for value in node.values()), set())
    if isinstance(node, list):
        return set().union(*(named_files(value) for value in node), set())
    return (
        {node}
        if isinstance(node, str) and re.fullmatch(r"[\w/.-]+\.(md|qmd|ipynb|svg|scss|css|py|pdf)", node)
        else set()
    )


def made_files() -> set[str]:
    """Return what is made, by name; the texts are not needed for that."""
    studies = ("overview", "tenacious", "validation", "arena-sampling", "published-claims")
    gallery = {f"gallery/{name}.md" for name in ("index", *pages.QUESTIONS, *studies)}
    questions = {f"questions/{path.name}" for path in (ROOT / "notebooks").glob("*.ipynb")}
    others = {
        "docs/reference/index.md",
        "docs/methods/index.md",
        "docs/tables.md",
        "docs/formats/index.md",
        "docs/cheat-sheet.pdf",
        "llms.txt",
        "brief.schema.json",
        "result.schema.json",
    }
    return gallery | questions | others


def test_every_file_that_the_site_names_is_tracked_or_made() -> None:
    named = named_files(yaml.safe_load((ROOT / "_quarto.yml").read_text()))
    assert len(named) > 30
    missing = {name for name in named - made_files() if not (ROOT / name).is_file()}
    assert not missing


def test_the_list_for_models_links_every_guide_and_notebook() -> None:
    linked = set(re.findall(r"\]\(([^)]+)\.html\)", pages.list_for_models()))
    bars = yaml.safe_load((ROOT / "_quarto.yml").read_text())["website"]["sidebar"]
    named = {
        path.rpartition(".")[0] for bar in bars if bar["id"] in ("guides", "notebooks") for path in bar["contents"]
    }
    assert "docs/faq" in named
    # Made pages are listed once they are made.
    assert {name for name in named if list(ROOT.glob(f"{name}.*"))} <= linked


def test_every_question_and_every_notebook_stands_in_the_site() -> None:
    assert set(pages.QUESTIONS) == set(EXAMPLES)
    named = named_files(yaml.safe_load((ROOT / "_quarto.yml").read_text()))
    assert {name for name in made_files() if name.startswith(("gallery/", "questions/"))} <= named


FILED = [(question, method) for question in questions() for method in question.methods]


def test_every_method_has_one_page() -> None:
    names = [name for _, method in FILED for name in method.names]
    assert sorted(names) == sorted(known_methods())
    titles = [method.title for _, method in FILED]
    assert len(set(titles)) == len(titles) > 120
    made = pages.methods()
    for question, method in FILED:
        page = f"{question.folder}/{method.slug}.md"
        assert f"]({page})" in made["index.md"]
        assert f"]({method.slug}.md)" in made[f"{question.folder}/index.md"]
        assert json.dumps(method.title) in made[page].partition("\n---\n")[0]
    assert len(made) == 1 + len(questions()) + len(FILED)


@pytest.mark.parametrize("method", [each for _, each in FILED], ids=lambda each: each.slug)
def test_a_method_says_when_it_is_used_and_by_what(method: Method) -> None:
    assert method.use.endswith(".")
    assert method.unless.endswith(".") or not method.unless
    # All texts of a page's names are the same, or it would show one of them only.
    assert len({known_methods()[name].what for name in method.names}) == 1
    assert set(method.commands) <= set(evalstats.__all__)
    assert method.commands or "Python only" in method.use
    # A title is a sentence's beginning, or a sign that is written small.
    assert method.title[0].isupper() or method.title.startswith(("t ", "z ", "pass"))


@pytest.fixture(scope="module")
def method_texts() -> dict[str, str]:
    return pages.methods()


# Probability, the base of exponents, a differential, laws, a hypothesis, and indices.
UNSAID = set("PedNFHijk")
# What stands before a sign of equality is what the formula says.
DEFINED = re.compile(r"(\\[A-Za-z]+|[A-Za-z])['^*\d]*(?:\([A-Za-z]\))?\s*=")


@pytest.mark.parametrize("method", [each for _, each in FILED if each.formula], ids=lambda each: each.slug)
def test_every_symbol_of_a_formula_is_said(method: Method, method_texts: dict[str, str]) -> None:
    words = " ".join(method.meanings.values())
    said = set(re.findall(r"\b[A-Za-z]\b", words)).union(*(symbols_in(part) for part in words.split("$")[1::2]))
    said = said.union(*(symbols_in(symbol) for symbol in method.meanings), DEFINED.findall(method.formula))
    said |= {r"\pi"} if r"(2\pi)" in method.formula else set()
    assert not symbols_in(method.formula) - said - UNSAID
    # Nothing is said of a symbol that the formula does not have.
    for symbol in method.symbols:
        letters = re.findall(r"[A-Za-z]+", symbol)
        assert all(letter in method.formula for letter in letters), symbol
    assert words.count("$") % 2 == 0
    assert method.formula.count("{") == method.formula.count("}")
    parts = list(formula_parts(method.formula))
    (made,) = (text for text in method_texts.values() if "\n\n".join(parts) in text)
    # Nothing of it is lost where it is taken apart.
    kept = [tex for part in parts for tex in ([part.strip("$")] if part.startswith("$$") else part.split("$")[1::2])]
    assert symbols_in(method.formula) == set[str]().union(*map(symbols_in, kept))
    for symbol in method.meanings:
        assert f"${symbol}$ = " in made


def test_letters_of_a_formula_are_told_from_its_words_and_indices() -> None:
    assert symbols_in(r"\hat p_i \pm t_{n-1}\,\mathrm{se}/\sqrt{\beta} + \text{rest}") == {"p", "t", r"\beta"}


def test_rates_of_a_method_are_those_of_its_simulation() -> None:
    page = pages.methods()["one-score/wilson.md"].replace("\\", "")
    rates = [row.rate for row in load_validation("one-score").rows if row.method == "Wilson"]
    assert f"**{100 * min(rates):.1f}% to {100 * max(rates):.1f}% over {len(rates)} cases**" in page
    for _, method in FILED:
        for study, name in method.rates.items():
            assert name in {row.method for row in load_validation(study).rows}, (method.slug, study)


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
        assert f"`{column}`" in text.partition(f"## {pages.for_pandoc(table)}")[2], (table, column)


def test_every_format_is_listed_and_every_page_of_a_format_is_linked() -> None:
    text = pages.formats_page()
    linked = set(re.findall(r"\]\(([\w-]+)\.md\)", text))
    written = {path.stem for path in (ROOT / "docs" / "formats").glob("*.md")} - {"index"}
    assert linked == written


def test_every_built_in_format_has_a_page() -> None:
    text = pages.formats_page().replace("\\", "")
    rows = re.findall(r"^\| (\[?)([\w-]+)", text, re.MULTILINE)
    linked = {name for bracket, name in rows if bracket}
    built_in = {getattr(import_module(module), name).name for module, name, _ in BUILT_IN}
    assert built_in - linked == set(), "docs/formats/ has no page of that name or with it in its heading"


def test_every_column_of_a_written_table_has_a_heading_or_none_has() -> None:
    sources = [path for folder in ("docs", "docs/guides", "docs/formats") for path in (ROOT / folder).glob("*.md")]
    heads = [
        (path.name, [cell.strip() for cell in head.strip("|").split("|")])
        for path in sources
        for head in re.findall(r"^(\|.*\|)\n\|[ :-]+-", path.read_text(encoding="utf-8"), re.MULTILINE)
    ]
    assert len(heads) > 20
    assert [(name, cells) for name, cells in heads if any(cells) and not all(cells)] == []


def test_a_room_is_replaced_whole(tmp_path: Path) -> None:
    room = tmp_path / "room"
    room.mkdir()
    (room / "old.md").write_text("old")
    pages.replace_room(room, {"new.md": "new"})
    assert [path.name for path in room.iterdir()] == ["new.md"]
    assert [path.name for path in tmp_path.iterdir()] == ["room"]


@pytest.mark.parametrize("paper", ["a4", "us-letter"])
def test_the_cheat_sheet_is_one_page(paper: str) -> None:
    document = pypdfium2.PdfDocument(typeset(paper))
    text = document[0].get_textpage().get_text_range()
    assert len(document) == 1
    assert "Exit status." in text


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
    for path in made:
        assert len(re.findall(r"<script[^>]*page\.js", path.read_text(encoding="utf-8"))) == 1, path.name
    loaded = re.compile(r"<(?:script|link|img|iframe)[^>]*\s(?:src|href)=[\"'](?:https?:)?//", re.IGNORECASE)
    assert not [path for path in made if loaded.search(path.read_text(encoding="utf-8"))]
