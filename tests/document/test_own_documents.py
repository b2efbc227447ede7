"""A result in somebody's own document: which of its forms each writer takes, and that the verdict comes through in all."""

import json
import re
import zipfile
from functools import cache
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from evalstats.analysis.result import Result
from evalstats.document.formats import pandoc_answer
from evalstats.document.latex import latex_answer
from evalstats.document.model import Column, Document, Table
from tests.analysis.test_every_result import FEW, HOSTILE, results
from tests.document.pdflatex import compiled

pypandoc = pytest.importorskip("pypandoc")

# What Quarto takes of an output, first of these that it has: quarto-cli at 5d1da592, src/core/jupyter/display-data.ts.
TAKEN = {
    "html": ("text/html", "text/markdown", "text/plain"),
    "latex": ("text/latex", "text/markdown", "text/plain"),
    **dict.fromkeys(("docx", "pptx", "typst", "epub"), ("text/markdown", "image/png", "text/html", "text/plain")),
    "gfm": ("text/markdown", "text/html", "text/plain"),
}
# All that a text of ours may be to Pandoc: no link, no image, no code, no formula, nothing raw.
WORDS = {
    *("Para", "Plain", "Str", "Space", "SoftBreak", "Strong", "BulletList", "Table"),
    *("AlignLeft", "AlignRight", "AlignDefault", "ColWidth", "ColWidthDefault"),
}


def shown(result: Result, to: str) -> str:
    forms = {"text/html": "_repr_html_", "text/markdown": "_repr_markdown_", "text/latex": "_repr_latex_"}
    return getattr(result, forms[next(form for form in TAKEN[to] if form in forms)])()


def words(text: str) -> str:
    return re.sub(r"\s+", " ", text)


def said(result: Result) -> list[str]:
    """What must be readable: banners, the headline, the number, the scope, the cautions, and a name in the table."""
    document = result.document()
    notes = [note.line for note in (*document.banners, *document.cautions)]
    table = document.leading_table
    cells = [] if table is None else [*table.without_empty_columns().written()[0]]
    return [words(text) for text in (document.headline.rstrip("."), document.number, document.scope, *notes, *cells)]


@cache
def few() -> tuple[Result, ...]:
    return tuple(result for name in (*HOSTILE, *FEW) for result in results(name))


@pytest.mark.parametrize("to", ["docx", "typst", "html"])
def test_the_answer_of_every_result_comes_through(to: str, tmp_path: Path) -> None:
    text = "\n\n".join(f"# Part\n\n{result._repr_markdown_()}" for result in few())
    pypandoc.convert_text(text, to, format="markdown", outputfile=str(tmp_path / f"x.{to}"))
    options = ["--wrap=none", "--columns=100000"]
    back = words(pypandoc.convert_file(str(tmp_path / f"x.{to}"), "plain", format=to, extra_args=options))
    for result in few():
        assert [text for text in said(result) if text not in back] == []


@pytest.mark.parametrize("name", HOSTILE)
def test_names_are_nothing_but_words_to_pandoc(name: str) -> None:
    for result in results(name):
        tree = json.loads(pypandoc.convert_text(result._repr_markdown_(), "json", format="markdown"))
        found: set[str] = set()

        def walk(node: Any, found: set[str] = found) -> None:
            if isinstance(node, dict):
                found.add(node.get("t", ""))
            for part in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
                walk(part)

        walk(tree["blocks"])
        assert found <= WORDS | {""}


def test_latex_for_the_cell_of_a_notebook_needs_no_package_at_all() -> None:
    text = "\n\n\\clearpage\n".join(shown(result, "latex") for result in few())
    assert text.isascii()
    assert "usepackage" not in text
    compiled(text, packages="")


def test_a_long_table_is_cut_and_says_so() -> None:
    table = Table(id="t", columns=(Column(title="Model", kind="name"),), rows=tuple((f"m{k}",) for k in range(60)))
    said = Document(kind="score", title="?", label="x", tone="good", headline="y", answer=(table,))
    for text in (pandoc_answer(said), latex_answer(said)):
        assert "The first 40 of 60 rows" in text
        assert "m39" in text
        assert "m40" not in text


def test_results_of_an_executed_notebook_keep_their_verdict_in_word_slides_and_typst(tmp_path: Path) -> None:
    """As Quarto does: the form that it takes for the format goes to Pandoc, as raw LaTeX where that is the form."""
    nbclient, nbformat, typst = map(pytest.importorskip, ("nbclient", "nbformat", "typst"))
    kept = [results(name)[0] for name in ("comparison_trials_clusters", "hostile leaderboard")]
    for place, result in enumerate(kept):
        result.save(tmp_path / f"{place}.json")
    cells = [
        f"import evalstats as es\nes.load_result({str(tmp_path / f'{place}.json')!r})" for place, _ in enumerate(kept)
    ]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
    outputs = [cell.outputs[0].data for cell in notebook.cells]
    for to in ("docx", "pptx", "typst", "html", "latex"):
        text = "# Ours\n\n"
        for data in outputs:
            form = next(form for form in TAKEN[to] if form in data)
            assert form != "text/plain"
            fence = {"text/html": "html", "text/latex": "latex"}.get(form)
            text += f"{data[form]}\n\n" if fence is None else f"``````{{={fence}}}\n{data[form]}\n``````\n\n"
        path = tmp_path / f"x.{to}"
        pypandoc.convert_text(text, to, format="markdown", outputfile=str(path), extra_args=["--standalone"])
        back = path.read_bytes().decode("utf-8", "replace")
        if to in ("docx", "typst", "html"):
            back = pypandoc.convert_file(str(path), "plain", format=to, extra_args=["--wrap=none"])
        elif to == "pptx":
            back = slides(path)
        for result in kept:
            assert to == "latex" or words(result.document().headline.rstrip(".")) in words(back)
            assert to != "latex" or "\\toprule" in back
    assert typst.compile(str(tmp_path / "x.typst"))[:4] == b"%PDF"


def slides(path: Path) -> str:
    """Return the words on slides."""
    with zipfile.ZipFile(path) as packed:
        pages = [packed.read(name).decode() for name in packed.namelist() if name.startswith("ppt/slides/slide")]
    return " ".join(unescape(re.sub(r"<[^>]+>", "", page)) for page in pages)
