"""Text from a file reaches Pandoc as words: hostile strings, wherever a page puts text, come out as they went in.

2,500 with every run, and 10,000 in each place with the long one.

Quarto reads pages by Pandoc too, without our filter: nothing here goes through one.
"""

import json
import re
import subprocess
import unicodedata
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from evalstats.document.escape import for_html, for_pandoc, one_line
from evalstats.report.engine import READER, find_page, pandoc_program
from evalstats.report.markup import float_block, raw, typst_string
from tests.document.hostile_strings import hostile_strings

STRINGS = hostile_strings(2_500)
# As our pages are read, as Quarto reads a page by itself, with all that anybody could turn on, and GitHub's.
READERS = (
    READER,
    "markdown",
    (
        "markdown+abbreviations+alerts+ascii_identifiers+autolink_bare_uris+emoji+gutenberg+hard_line_breaks+mark+mmd_title_block"
        "+lists_without_preceding_blankline+mmd_header_identifiers+mmd_link_attributes+old_dashes+rebase_relative_paths"
        "+short_subsuperscripts+spaced_reference_links+tex_math_double_backslash+wikilinks_title_after_pipe"
    ),
    "commonmark_x+autolink_bare_uris+hard_line_breaks+tex_math_gfm+wikilinks_title_before_pipe",
)

# Where pages put text; a figure's caption stands as `float_block` writes it.
CONTEXTS: Mapping[str, Callable[[str], str]] = {
    "paragraph": lambda words: words,
    "heading": lambda words: f"## {words}",
    "item": lambda words: f"- {words}",
    "cell": lambda words: f"| {words} |\n|---|\n| {words} |",
    "caption": lambda words: float_block("fig-x", "", words),
    "link": lambda words: f"[{words}](#sec-1)",
    "strong": lambda words: f"**{words}:** {words}",
    "alt": lambda words: f"see ![{words}](x.svg)",
}
# Of these, what every writer shows as text.
MIXED = [name for name in CONTEXTS if name != "alt"]
# Elements that hold other elements, by the place of these within them.
_WRAPPERS = {"Para", "Plain", "Div", "Header", "BulletList", "Span", "Link", "Strong", "Image", "Figure", "Table"}


def expected(text: str) -> str:
    return one_line(text).strip()


def pandoc(text: str | bytes, *arguments: str, folder: Path | None = None) -> bytes:
    given = text if isinstance(text, bytes) else text.encode()
    done = subprocess.run(
        [pandoc_program()[0], "--fail-if-warnings", *arguments],
        input=given,
        check=False,
        capture_output=True,
        cwd=folder,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr.decode()[-2000:]
    return done.stdout


def markdown(contexts: Sequence[str], strings: Sequence[str] = STRINGS) -> str:
    """Return a document with each string in a block of its own, in one context after the other."""
    return "\n\n".join(
        f"::: t\n\n{CONTEXTS[contexts[place % len(contexts)]](for_pandoc(text))}\n\n:::"
        for place, text in enumerate(strings)
    )


def words(node: Any) -> Iterator[str]:
    """Yield the words of an element, and fail on what is no word and none of the wrappers that a context made."""
    if isinstance(node, list):
        for each in node:
            yield from words(each)
    elif isinstance(node, dict) and "t" in node:
        match node["t"]:
            case "Str":
                yield node["c"]
            case "Space":
                yield " "
            case kind if kind in _WRAPPERS:
                yield from words(node["c"])
                if kind in ("Para", "Plain", "Header"):
                    yield "\n"
            case kind:
                # The alignments of a table's columns are no content.
                assert kind.startswith(("Align", "ColWidth")), node


def told(block: Any) -> list[str]:
    """Return each text of a block."""
    return [line for line in "".join(words(block)).split("\n") if line]


def wanted(context: str, text: str) -> list[str]:
    said = expected(text)
    return {"cell": [said, said], "strong": [f"{said}: {said}"], "alt": [f"see {said}"]}.get(context, [said])


def composed(texts: Sequence[str]) -> list[str]:
    """Return texts as the reader of CommonMark writes letters that can be stored in several ways."""
    return [unicodedata.normalize("NFC", text) for text in texts]


def blocks(document: str, reader: str) -> list[Any]:
    return json.loads(pandoc(document, f"--from={reader}", "--to=json"))["blocks"]


@pytest.fixture(scope="module")
def read() -> bytes:
    """All strings, each in one of the contexts, as Pandoc's own tree."""
    return pandoc(markdown(MIXED), f"--from={READER}", "--to=json")


@pytest.fixture(scope="module")
def paragraphs() -> bytes:
    """All strings as paragraphs, as Pandoc's own tree."""
    return pandoc("\n\n".join(map(for_pandoc, STRINGS)), f"--from={READER}", "--to=json")


def test_words_are_words_in_every_context(read: bytes) -> None:
    found = json.loads(read)["blocks"]
    assert len(set(STRINGS)) == len(found) == 2_500
    for place, (block, text) in enumerate(zip(found, STRINGS, strict=True)):
        assert told(block) == wanted(MIXED[place % len(MIXED)], text), (MIXED[place % len(MIXED)], text)


@pytest.mark.parametrize("reader", READERS)
def test_words_are_words_to_every_reader(reader: str) -> None:
    contexts, strings = list(CONTEXTS), STRINGS[-800:]
    for place, (block, text) in enumerate(zip(blocks(markdown(contexts, strings), reader), strings, strict=True)):
        context = contexts[place % len(contexts)]
        assert composed(told(block)) == composed(wanted(context, text)), (context, text)


@pytest.mark.slow
@pytest.mark.parametrize("reader", READERS[:2])
@pytest.mark.parametrize("context", CONTEXTS)
def test_all_strings_are_words_in_each_context(context: str, reader: str) -> None:
    strings = hostile_strings(10_000)
    for block, text in zip(blocks(markdown([context], strings), reader), strings, strict=True):
        assert composed(told(block)) == composed(wanted(context, text)), text


def test_a_title_is_words() -> None:
    title = " ".join(map(expected, STRINGS[-1000:]))
    meta = f"---\n{json.dumps({'title': for_pandoc(title)}, ensure_ascii=False)}\n---\n"
    found = json.loads(pandoc(meta, f"--from={READER}", "--to=json"))["meta"]["title"]
    assert "".join(words(found["c"])) == title


# --- what each writer makes of it ---


def all_wanted() -> list[str]:
    return [said for place, text in enumerate(STRINGS) for said in wanted(MIXED[place % len(MIXED)], text)]


class _Texts(HTMLParser):
    """The texts of a page; tags and attributes that none of our contexts makes are faults."""

    tags = frozenset(
        {
            "section",
            "div",
            "p",
            "h2",
            "ul",
            "li",
            "span",
            "a",
            "strong",
            "table",
            "colgroup",
            "col",
            "thead",
            "tbody",
            "tr",
            "th",
            "td",
        }
    )

    ours = re.compile(r"(?:class|id)=.*|href=#sec-1|style=width: \d+%;?")

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.lines: list[str] = []
        self.faults: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in self.tags:
            self.faults.append(tag)
        self.faults += [f"{name}={value}" for name, value in attrs if not self.ours.fullmatch(f"{name}={value}")]
        if tag in ("p", "h2", "li", "th", "td"):
            self.lines.append("")

    def handle_data(self, data: str) -> None:
        if self.lines:
            self.lines[-1] += data

    def handle_comment(self, data: str) -> None:
        self.faults.append(data)

    handle_decl = handle_pi = unknown_decl = handle_comment


def test_html_shows_the_words(read: bytes) -> None:
    page = _Texts()
    page.feed(pandoc(read, "--from=json", "--to=html5", "--mathml", "--wrap=none").decode())
    page.close()
    assert page.faults == []
    assert [line for each in page.lines if (line := each.strip())] == all_wanted()


TYPST = """
#let told(it) = {
  if it.func() == smartquote { if it.at("double", default: true) { "\\u{201d}" } else { "\\u{2019}" } }
  else if it.has("text") { it.text }
  else if it == [ ] { " " }
  else { it.children.map(told).join("") }
}
"""
# Signs that Typst makes of others, which Pandoc lets stand: no more than typography, and our filter sees to them.
SIGNS = {
    "\u2212": "-",
    "\u2013": "--",
    "\u2014": "---",
    "\u2026": "...",
    "\u00ad": "-?",
    "\u2018": "\u2019",
    "\u201c": "\u201d",
}


def typst_texts(tree: bytes, folder: Path, *arguments: str) -> list[str]:
    """Return what Typst reads in each text: an error if that is anything but text, blanks and quotation marks."""
    typst = pytest.importorskip("typst")
    plain = pandoc(tree, "--from=json", "--to=typst", "--wrap=none", *arguments)
    content = ",\n".join(f"told[\n{each}\n]" for each in plain.decode().strip().split("\n\n"))
    (folder / "x.typ").write_text(f"{TYPST}\n#metadata(({content})) <x>", encoding="utf-8")
    (found,) = json.loads(typst.query(folder / "x.typ", "<x>", field="value"))
    return [each.strip() for each in found]


def test_typst_sets_the_words(paragraphs: bytes, tmp_path: Path) -> None:
    signs = str.maketrans(SIGNS)
    found = [each.translate(signs) for each in typst_texts(paragraphs, tmp_path)]
    assert found == [expected(text).translate(signs) for text in STRINGS]


def test_typst_sets_the_very_signs(tmp_path: Path) -> None:
    """As the embedded engine makes a PDF."""
    strings = [text for text in STRINGS if re.search(rf"[{''.join(SIGNS)}]|\.\.\.|-[?\d]", expected(text))]
    assert len(strings) > 100
    tree = pandoc("\n\n".join(map(for_pandoc, strings)), f"--from={READER}", "--to=json")
    found = typst_texts(tree, tmp_path, f"--lua-filter={find_page('compare').extension / 'quarto.lua'}")
    assert found == list(map(expected, strings))


@pytest.mark.slow
def test_a_pdf_can_be_made_of_all(tmp_path: Path) -> None:
    typst = pytest.importorskip("typst")
    text = markdown([name for name in MIXED if name != "link"])
    made = pandoc(text, f"--from={READER}", "--to=typst", "--wrap=none")
    (tmp_path / "x.typ").write_bytes(b"#let horizontalrule = []\n" + made)
    assert typst.compile(tmp_path / "x.typ").startswith(b"%PDF")


# What Pandoc writes for a character in LaTeX; all else must be the character itself. A grave accent is one too, which LaTeX
# shows as a quotation mark.
_LATEX = re.compile(
    r"\\text(?P<name>[a-z]+)(?:\{\}| |(?![A-Za-z]))|\\(?P<mark>[{}#$%&_^](?:(?<=\^)\{\})?)|\{(?P<bracket>[][])\}|\\/"
    r"|(?P<plain>[^\\{}#$%&_^~<>|\[\]])"
)
_NAMES = {"backslash": "\\", "less": "<", "greater": ">", "bar": "|", "asciitilde": "~", "quotesingle": "'"}


def from_latex(text: str) -> str:
    found, end = "", 0
    while end < len(text):
        token = _LATEX.match(text, end)
        assert token, text[end:]
        found += (
            _NAMES[token["name"]] if token["name"] else (token["mark"] or token["bracket"] or token["plain"] or "")[:1]
        )
        end = token.end()
    return found


def test_latex_says_the_words(paragraphs: bytes) -> None:
    latex = pandoc(paragraphs, "--from=json", "--to=latex-smart", "--wrap=none").decode()
    assert [from_latex(line) for line in latex.strip().split("\n\n")] == list(map(expected, STRINGS))


def test_a_word_document_holds_the_words(read: bytes, tmp_path: Path) -> None:
    pandoc(read, "--from=json", "--to=docx", "--output=x.docx", folder=tmp_path)
    space = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
    with zipfile.ZipFile(tmp_path / "x.docx") as archive:
        body = ET.fromstring(archive.read("word/document.xml"))  # noqa: S314 - Pandoc's own
    lines = ["".join(part.text or "" for part in line.iter(f"{space}t")) for line in body.iter(f"{space}p")]
    assert [line for line in lines if line] == all_wanted()


# --- raw blocks, which pages show cards and tables with ---


def test_raw_blocks_hold_the_words_and_quarto_finds_nothing_of_its_own() -> None:
    page = _Texts()
    html = "".join(f'<p class="{for_html(text)}">{for_html(text)}</p>' for text in STRINGS)
    (block,) = json.loads(pandoc(raw("html", html), f"--from={READER}", "--to=json"))["blocks"]
    assert block == {"t": "RawBlock", "c": ["html", html]}
    page.feed(html)
    assert page.faults == []
    assert page.lines == [one_line(text) for text in STRINGS]
    written = [html, *map(for_pandoc, STRINGS), *map(typst_string, STRINGS)]
    assert not [text for text in written if "{{<" in text]


def test_typst_strings_are_read_back(tmp_path: Path) -> None:
    typst = pytest.importorskip("typst")
    source = tmp_path / "x.typ"
    source.write_text(f"#metadata(({', '.join(map(typst_string, STRINGS))})) <x>", encoding="utf-8")
    (found,) = json.loads(typst.query(source, "<x>", field="value"))
    assert found == [one_line(text) for text in STRINGS]
