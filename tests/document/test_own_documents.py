"""A result in somebody's own document: one text, in which every writer finds the verdict and the picture."""

import json
import re
import sys
import zipfile
from functools import cache
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from evalstats.analysis.result import Result, show
from evalstats.document.model import Code, Column, Document, Figure, Section, SideBySide, Table, Tabs, Text
from evalstats.document.pandoc import to_pandoc
from evalstats.errors import InputError
from tests.analysis.test_every_result import FEW, HOSTILE, results

pypandoc = pytest.importorskip("pypandoc")

# All that a text of ours may be to Pandoc: no link, no formula, nothing raw; of code only options, of images only our own.
WORDS = {
    *("Para", "Plain", "Str", "Space", "SoftBreak", "Strong", "BulletList", "Code", "Table", "Image"),
    *("AlignLeft", "AlignRight", "AlignDefault", "ColWidth", "ColWidthDefault"),
}


def words(text: str) -> str:
    return re.sub(r"\s+", " ", text)


def said(result: Result) -> list[str]:
    """What must be readable: banners, the headline, the number, the scope, the cautions."""
    document = result.document()
    notes = [note.line for note in (*document.banners, *document.cautions)]
    return [words(text) for text in (document.headline.rstrip("."), document.number, document.scope, *notes)]


@cache
def few() -> tuple[Result, ...]:
    return tuple(result for name in (*HOSTILE, *FEW) for result in results(name))


@pytest.mark.parametrize("to", ["docx", "typst", "html"])
def test_the_answer_of_every_result_comes_through(to: str, tmp_path: Path) -> None:
    text = "\n\n".join(f"# Part\n\n{to_pandoc(result.document())}" for result in few())
    pypandoc.convert_text(text, to, format="markdown", outputfile=str(tmp_path / f"x.{to}"))
    options = ["--wrap=none", "--columns=100000"]
    back = words(pypandoc.convert_file(str(tmp_path / f"x.{to}"), "plain", format=to, extra_args=options))
    for result in few():
        assert [text for text in said(result) if text not in back] == []


def test_names_are_nothing_but_words_to_pandoc() -> None:
    text = "\n\n".join(result._repr_markdown_() for name in HOSTILE for result in results(name))
    # A megabyte of pictures would take seconds to be read.
    text = re.sub(r"(?<=;base64,)[A-Za-z0-9+/]{40,}", "", text)
    tree = json.loads(pypandoc.convert_text(text, "json", format="markdown"))
    found: set[str] = set()

    def walk(node: Any) -> None:
        if isinstance(node, dict):
            found.add(node.get("t", ""))
        for part in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
            walk(part)

    walk(tree["blocks"])
    assert found <= WORDS | {""}


@pytest.mark.parametrize("name", HOSTILE)
def test_names_are_nothing_but_words_in_a_notebook(name: str) -> None:
    """Notebooks read CommonMark with pipe tables: no HTML, no link, and no image but ours."""
    reader = pytest.importorskip("markdown_it").MarkdownIt("commonmark").enable("table")
    for result in results(name):
        text = to_pandoc(result.document(), ("answer", "evidence", "method"))
        tokens = [inner for token in reader.parse(text) for inner in (token, *(token.children or ()))]
        kinds = {token.type for token in tokens}
        assert not kinds & {"html_block", "html_inline", "image", "heading_open", "blockquote_open", "code_block", "hr"}


def test_the_one_form_that_quarto_finds_is_markdown(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Quarto takes HTML before Markdown for a page, and LaTeX for a PDF: themes, columns and captions would not reach them."""
    formats = ("latex", "png", "svg", "json", "mimebundle")
    assert [name for result in few() for name in formats if hasattr(result, f"_repr_{name}_")] == []
    told = tmp_path / "told.json"
    told.write_text(json.dumps({"format": {"metadata": {}, "identifier": {"base-format": "docx"}}}))
    monkeypatch.setenv("QUARTO_EXECUTE_INFO", str(told))
    assert {result._repr_html_() for result in few()} == {None}


def test_a_long_table_is_cut_and_says_so() -> None:
    table = Table(id="t", columns=(Column(title="Model", kind="name"),), rows=tuple((f"m{k}",) for k in range(60)))
    text = to_pandoc(Document(kind="score", title="?", label="x", tone="good", headline="y", answer=(table,)))
    assert "The first 40 of 60 rows" in text
    assert "m39" in text
    assert "m40" not in text


def test_parts_are_chosen_by_name_and_captions_left_to_the_document(capsys: pytest.CaptureFixture[str]) -> None:
    result = results("comparison_trials_clusters")[0]
    document = result.document()
    show(result, document.evidence[0].id)
    out = capsys.readouterr().out
    plain = pypandoc.convert_text(out, "plain", format="markdown", extra_args=["--wrap=none"])
    assert document.evidence[0].heading in plain
    assert document.headline.rstrip(".") not in plain
    captions = [table.caption for table in document.tables.values() if table.caption]
    whole = ("answer", "evidence", "method")
    kept, left = (
        words(pypandoc.convert_text(to_pandoc(document, whole, caption=caption), "plain", format="markdown"))
        for caption in (True, False)
    )
    assert any(words(caption) in kept for caption in captions)
    assert [caption for caption in captions if words(caption) in left] == []
    with pytest.raises(InputError, match=r"no part 'nothing'.*answer, evidence, method"):
        show(result, "nothing")


def test_panels_texts_and_code_come_through() -> None:
    beside = SideBySide(title="q1", above=(("Asked", "x\ny"),), left=("A", "{{< env HOME >}}"), right=("B", "```"))
    code = Code(code="if a:\n\n    b = '{{< env HOME >}}'")
    panels = Tabs(id="t", title="by", panels=(Section(id="p", heading="Panel", blocks=(Text(text="Inside."),)),))
    document = Document(
        kind="score", title="?", label="x", tone="good", headline="y",
        evidence=(Section(id="e", heading="H", blocks=(beside, code, panels)),),
    )  # fmt: skip
    text = to_pandoc(document, ("e",))
    assert "{{<" not in text
    plain = pypandoc.convert_text(text, "plain", format="markdown")
    for expected in ("x\ny", "{{< env HOME >}}", "```", "    b = ", "Panel", "Inside."):
        assert expected in plain


class Shown(HTMLParser):
    """The tags of a page with what may do harm, and its words."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.said = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert {name for name, _ in attrs} <= {"style", "class", "alt", "src", "href", "rel", "aria-label"}
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.said += data


@pytest.mark.parametrize("name", HOSTILE[:2])
def test_a_notebook_shows_the_answer_and_its_figures_once(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = results(name)[0]
    document = result.document()
    page = Shown(result._repr_html_() or "")
    assert page.tags.count("img") == sum(isinstance(block, Figure) for block in document.answer)
    assert not {"script", "iframe", "details"} & {*page.tags}
    assert words(page.said).count(words(document.headline.rstrip("."))) == 1
    told = tmp_path / "told.json"
    told.write_text(json.dumps({"format": {"metadata": {}, "identifier": {"base-format": "html"}}}))
    monkeypatch.setenv("QUARTO_EXECUTE_INFO", str(told))
    assert result._repr_html_() is None


def test_no_line_ends_within_a_number_or_an_interval() -> None:
    text = "By +4.0 pp, 95% CI −5.6 to 100.0, of 3 items to 4 more"
    said = Document(kind="score", title="?", label="x", tone="good", headline=text)
    plain = pypandoc.convert_text(to_pandoc(said), "plain", format="markdown", extra_args=["--wrap=none"])
    assert "+4.0\xa0pp, 95%" in plain
    assert "CI\xa0−5.6\xa0to\xa0100.0, of 3 items to 4 more" in plain


def test_results_of_a_notebook_keep_verdict_and_picture_in_every_form(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    typst, formatters = map(pytest.importorskip, ("typst", "IPython.core.formatters"))
    kept = [results(name)[0] for name in ("comparison_trials_clusters", "hostile leaderboard")]
    displayed: list[Any] = []
    monkeypatch.setattr("IPython.get_ipython", lambda: "a notebook")
    monkeypatch.setattr("IPython.display.display", displayed.append)
    show(kept[1])
    cells = [formatters.DisplayFormatter().format(kept[0])[0]["text/markdown"], *(each.data for each in displayed)]
    tree = pypandoc.convert_text("# Ours\n\n" + "\n\n".join(cells), "json", format="markdown")
    for to in ("docx", "pptx", "typst", "html", "latex", "epub"):
        path = tmp_path / f"x.{to}"
        options = ["--standalone", f"--extract-media={tmp_path}"] if to in ("typst", "latex") else ["--standalone"]
        pypandoc.convert_text(tree, to, format="json", outputfile=str(path), extra_args=options)
        plain = ["--wrap=none"]
        if to == "pptx":
            back = slides(path)
        elif to == "typst":  # Pandoc's reader passes over its code
            back = pypandoc.convert_text(path.read_text("utf-8").replace("`", ""), "plain", format=to, extra_args=plain)
        else:
            back = pypandoc.convert_file(str(path), "plain", format=to, extra_args=plain)
        for result in kept:
            assert words(result.document().headline.rstrip(".")) in words(back)
        written = path.read_bytes()
        if to in ("docx", "pptx", "epub"):
            with zipfile.ZipFile(path) as packed:
                assert sum(name.endswith(".png") for name in packed.namelist()) == 2
        else:
            image = {"typst": rb"image\(", "html": rb"<img\s", "latex": rb"\\includegraphics\["}[to]
            assert len(re.findall(image, written)) == 2
    assert typst.compile(str(tmp_path / "x.typst"), root=tmp_path.anchor)[:4] == b"%PDF"


def test_a_table_comes_as_an_object_of_great_tables_to_restyle() -> None:
    result = results("hostile leaderboard")[0]
    styled = result.to_gt("models").tab_header("Ours").as_raw_html()
    assert "Ours" in styled
    cells = result.document().tables["models"].written()[0]
    assert all(part in words(unescape(styled)) for part in map(words, cells[:3]))
    assert "<script>" not in styled
    leading = result.document().leading_table
    assert leading is not None
    assert result.to_gt().as_raw_html().count("<tr") == len(leading.rows) + 1
    with pytest.raises(InputError, match="no table 'x'"):
        result.to_gt("x")


def test_without_great_tables_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "great_tables", None)
    with pytest.raises(InputError) as refused:
        results("hostile leaderboard")[0].to_gt()
    assert str(refused.value) == "great-tables is not installed; pip install 'evalstats-toolkit[report]'"


def slides(path: Path) -> str:
    """Return the words on slides."""
    with zipfile.ZipFile(path) as packed:
        pages = [packed.read(name).decode() for name in packed.namelist() if name.startswith("ppt/slides/slide")]
    return " ".join(unescape(re.sub(r"<[^>]+>", "", page)) for page in pages)
