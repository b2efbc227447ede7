"""Pieces of a Quarto document: prose, raw HTML, raw Typst, floats. Whatever came from a result file is escaped here."""

import base64
import json
import re
import sys
from collections.abc import Sequence
from html import escape

import polars as pl

from evalstats.document.escape import for_html, one_line
from evalstats.document.formats import csv_text

_PUNCTUATION = re.compile(r"([!-/:-@\[-`{-~])")
_LINK = re.compile(
    r"https?://[^\s<>\"]*[^\s<>\".,;:)]|\b(?:doi:\s?)?10\.\d{4,9}/[^\s<>\"]*[^\s<>\".,;:)]|\barXiv[: ](\d{4}\.\d{4,5})",
    re.IGNORECASE,
)


def prose(text: str) -> str:
    r"""Escape text for a paragraph that both engines read as nothing but words.

    Pandoc lets every ASCII punctuation mark be escaped, and takes quotes, dashes and full stops for more than they are
    ("1. January" begins a list, "..." becomes one character); so all of them are.

    Examples
    --------
    >>> prose("1. a@b $x$")
    '1\\. a\\@b \\$x\\$'
    """
    return _escaped(text).strip()


def raw(target: str, text: str) -> str:
    """Return `text` as a raw block for "html" or "typst", behind a fence that nothing in it can close."""
    runs = re.findall(r"`+", text)
    fence = "`" * max(3, max(map(len, runs), default=0) + 1)
    return f"{fence}{{={target}}}\n{text}\n{fence}"


def both(html: str, typst: str) -> str:
    """Return the same thing twice: HTML for the page, Typst for the PDF. Each writer passes over the other's."""
    return f"{raw('html', html)}\n\n{raw('typst', typst)}"


def typst_string(text: str) -> str:
    r"""Return text as a Typst string: no markup is read in it.

    Braces are written as escapes, since Quarto looks for its own `{{< >}}` even in raw blocks.

    Examples
    --------
    >>> typst_string('#eval "x" $y$ {')
    '"#eval \\"x\\" $y$ \\u{7b}"'
    """
    return _quoted(one_line(text))


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("{", "\\u{7b}")
    return f'"{escaped}"'


def code_block(code: str) -> str:
    """Return lines of Python as they are, spaces and all: HTML and Typst. Letters that do not print are left out."""
    lines = ["".join(char for char in line if char.isprintable()) for line in code.splitlines()]
    html = "".join(f"{escape(line)}\n" for line in lines)
    typst = ' + "\\n" + '.join(_quoted(line) for line in lines)
    return both(
        f'<pre class="es-code" tabindex="0"><code>{html}</code></pre>',
        f'#block(sticky: true, raw({typst}, block: true, lang: "python"))',
    )


def typst_strings(texts: Sequence[str]) -> str:
    """Return a Typst array of strings; the comma after a single one makes it an array."""
    return f"({''.join(f'{typst_string(text)}, ' for text in texts)})"


def float_block(label: str, content: str, caption: str) -> str:
    """Return a figure (`fig-`) or table (`tbl-`) that can be referred to, with its caption below as both engines expect it.

    `caption` is Markdown already.
    """
    return f"::: {{#{label}}}\n\n{content}\n\n{caption}\n\n:::"


def callout(kind: str, title: str, body: str) -> str:
    """Return a callout ("note", "warning", "important", "tip", "caution"); `body` is Markdown already."""
    return f"::: {{.callout-{kind}}}\n\n## {prose(title)}\n\n{body}\n\n:::"


def section(title: str, *parts: str, level: int = 3) -> str:
    r"""Return a heading with what stands below it; nothing where nothing does. Both are Markdown, the title is text.

    Examples
    --------
    >>> section("Cost", "", "a table"), section("Cost", "")
    ('### Cost\n\na table', '')
    """
    said = [part for part in parts if part]
    return "\n\n".join([f"{'#' * level} {prose(title)}", *said]) if said else ""


def folded(title: str, content: str) -> str:
    """Return content that a page folds away behind a title, and a PDF shows; no headings may stand in it."""
    opening = f'<details class="es-fold"><summary>{for_html(title)}</summary>'
    return f"{raw('html', opening)}\n\n{content}\n\n{raw('html', '</details>')}"


def bullets(items: Sequence[str]) -> str:
    """Return a list of paragraphs that are Markdown already."""
    return "\n".join(f"- {item}" for item in items)


def show(*parts: str) -> None:
    """Print parts of a document, each a block of its own; parts that say nothing are left out."""
    sys.stdout.write("".join(f"{part}\n\n" for part in parts if part))


def linked(text: str) -> str:
    """Escape a reference for Markdown and make its web address, DOI or arXiv number a link."""
    parts: list[str] = []
    place = 0
    for found in _LINK.finditer(text):
        parts.append(_escaped(text[place : found.start()]))
        parts.append(f"[{_escaped(found.group(0))}](<{_address(found)}>)")
        place = found.end()
    parts.append(_escaped(text[place:]))
    return "".join(parts).strip()


def _escaped(text: str) -> str:
    return _PUNCTUATION.sub(r"\\\1", one_line(text))


def _address(found: re.Match[str]) -> str:
    text = found.group(0)
    if text.lower().startswith("http"):
        return text
    if found.group(1):
        return f"https://arxiv.org/abs/{found.group(1)}"
    return f"https://doi.org/{text[text.index('10.') :]}"


def csv_link(frame: pl.DataFrame, name: str, words: str) -> str:
    """Return an HTML link that saves the frame as `name`; the data are inside the link."""
    data = base64.b64encode(csv_text(frame).encode()).decode()
    return (
        f'<p class="es-data"><a download="{for_html(name)}" href="data:text/csv;charset=utf-8;base64,{data}">'
        f"{for_html(words)}</a></p>"
    )


def metadata(**fields: str) -> str:
    """Return a block that sets the document's metadata from inside it; values are Markdown already."""
    lines = [f"{name.replace('_', '-')}: {json.dumps(value, ensure_ascii=False)}" for name, value in fields.items()]
    return "\n".join(["---", *lines, "---"])
