"""Pieces of a page, in HTML and Typst: raw blocks, the card, figures, tables. What came from a file is escaped here.

Where Quarto renders a page to another format than ours, the pieces are Markdown and pictures instead.
"""

import base64
import json
import os
import re
import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import Literal, TextIO
from urllib.parse import quote

import polars as pl

from evalstats.analysis.drawn import draw, picture
from evalstats.document import pandoc
from evalstats.document.escape import for_html, for_pandoc, lines_for_html, lines_of, one_line
from evalstats.document.formats import csv_text, html_link, html_prose
from evalstats.document.model import Code, Figure, SideBySide, Table, Tone, sentence
from evalstats.document.names import pieces, unbroken, unmarked
from evalstats.document.pandoc import fenced
from evalstats.document.quarto import Rendering, rendering
from evalstats.errors import RenderError
from evalstats.plots.style import svg
from evalstats.report.kernel import PRINTED

_LABEL = re.compile(r"[A-Za-z0-9_-]+")
_SHORT = 2000
WHOLE = 'class="es-whole"'
# How our own references name a work.
_WORK = re.compile(r"\bdoi:\s?(10\.\d{4,9}/[^\s;,]*[^\s;,.)])|\barXiv[: ](\d{4}\.\d{4,5})")


def foreign() -> str:
    """Return the format that Quarto is rendering to where it is none of ours, such as "docx"; "" elsewhere."""
    into = Rendering() if _OUTPUT.get() else rendering()
    return "" if into.extension == "evalstats" else into.base


def raw(target: str, text: str) -> str:
    """Return `text` as a raw block for "html" or "typst"; nothing in a format that is none of ours."""
    return "" if foreign() else fenced(text, f"{{={target}}}")


def both(html: str, typst: str, markdown: str = "") -> str:
    """Return the same thing twice: HTML for the page, Typst for the PDF. Each writer passes over the other's.

    In a format that is none of ours it is the Markdown.
    """
    return markdown if foreign() else f"{raw('html', html)}\n\n{raw('typst', typst)}"


def typst_string(text: str) -> str:
    r"""Return text as a Typst string: no markup is read in it.

    Braces are written as escapes, since Quarto looks for its own `{{< >}}` even in raw blocks.

    >>> typst_string('#eval "x" $y$ {')
    '"#eval \\"x\\" $y$ \\u{7b}"'
    """
    return _quoted(one_line(text))


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("{", "\\u{7b}")
    return f'"{escaped}"'


def code_block(code: str, language: Literal["python", "sh"]) -> str:
    """Return lines of code as they are, spaces and all: HTML and Typst. Letters that do not print are left out."""
    lines = ["".join(char for char in line if char.isprintable()) for line in code.splitlines()]
    html = "".join(f"{escape(line)}\n" for line in lines)
    typst = ' + "\\n" + '.join(_quoted(line) for line in lines)
    return both(
        f'<pre class="es-code" tabindex="0"><code>{html}</code></pre>',
        f'#block(sticky: true, raw({typst}, block: true, lang: "{language}"))',
        pandoc.block(Code(code=code, language=language)),
    )


def typst_strings(texts: Sequence[str]) -> str:
    """Return a Typst array of strings; the comma after a single one makes it an array."""
    return f"({''.join(f'{typst_string(text)}, ' for text in texts)})"


def float_block(label: str, content: str, caption: str) -> str:
    """Return a figure (`fig-`) or table (`tbl-`) that can be referred to, with its caption below as both engines expect it.

    `caption` is Markdown already. It stands in a span of its own, so that the label before it, "Figure 1:", which Quarto writes
    as bare text, can be set bold. RenderError if the label is more than a word: it stands in the page as it is.
    """
    if not _LABEL.fullmatch(label):
        raise RenderError(f"a figure or table cannot be labelled {label!r}; letters, digits and hyphens are expected")
    if foreign() == "pptx" and label.startswith("tbl-"):  # Quarto's slides lose floats that are no picture
        return f"{caption}\n\n{content}"
    placed = ' fig-pos="H"' if foreign() else ""  # in a PDF by LaTeX, where it stands
    return f"::: {{#{label}{placed}}}\n\n{content}\n\n[{caption}]{{.es-caption}}\n\n:::"


def typst_prose(text: str) -> str:
    r"""Return a text as content of Typst, with its marked names as code.

    >>> typst_prose("Is \ufdd0b\ufdd1 better?")
    '"Is " + raw("b") + " better?"'
    """
    written = (f"raw({typst_string(part)})" if name else typst_string(unbroken(part)) for part, name in pieces(text))
    return " + ".join(written) or '""'


def folded(title: str, content: str) -> str:
    """Return content that a page folds away behind a title, and a PDF shows; no headings may stand in it."""
    if foreign():
        return f"**{pandoc.prose(title)}**\n\n{content}"
    opening = f'<details class="es-fold"><summary>{html_prose(title, WHOLE)}</summary>'
    return f"{raw('html', opening)}\n\n{content}\n\n{raw('html', '</details>')}"


_OUTPUT: ContextVar[tuple[TextIO, Path, bool] | None] = ContextVar("output of a page", default=None)


@contextmanager
def shown_in(stream: TextIO, folder: Path, *, printed: bool) -> Generator[None]:
    """Let what pages show go to `stream`, and drawings for paper into `folder` where a PDF is `printed`.

    Else they go to the standard output and the working folder, as in a process that runs one page.
    """
    token = _OUTPUT.set((stream, folder, printed))
    try:
        yield
    finally:
        _OUTPUT.reset(token)


def _output() -> tuple[TextIO, Path, bool]:
    return _OUTPUT.get() or (sys.stdout, Path(), os.environ.get(PRINTED) != "0")


def show(*parts: str) -> None:
    """Print parts of a document, each a block of its own; parts that say nothing are left out."""
    _output()[0].write("".join(f"{part}\n\n" for part in parts if part))


def cited(reference: str) -> str:
    """Escape a reference of ours for Markdown, its DOIs and arXiv numbers as links. No text of a file is ever given to this."""
    text = for_pandoc(reference)
    for name, doi, arxiv in dict.fromkeys((work[0], work[1], work[2]) for work in _WORK.finditer(reference)):
        address = f"https://doi.org/{quote(doi)}" if doi else f"https://arxiv.org/abs/{quote(arxiv)}"
        text = text.replace(for_pandoc(name), f"[{for_pandoc(name)}](<{address}>)")
    return text


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


# Quarto keeps NAME_files for itself.
FOLDER = "drawings"
_WHOLE = 20  # letters of a name that a narrow column of a phone holds
_PDF_FONT = "Libertinus Serif"


def figure_float(figure: Figure, label: str, *, caption: str, after: str = "") -> str:
    """Return a figure as a float, drawn once for each medium.

    Inline drawings take their colours from the page, so they follow its dark mode, and their text is the page's text. The PDF's
    drawing is written to a file in the working folder, unless none is made. `label` is such as "fig-difference", `caption`
    Markdown, and `after` HTML below the drawing: the link to its data.
    """
    if foreign():
        return float_block(label, picture(figure), caption)
    wide, narrow = (
        svg(draw(figure, size=medium), prefix=f"{label}-{medium}-", alt=figure.alt) for medium in ("screen", "phone")
    )
    html = f'<div class="es-figure es-wide">{wide}</div>\n<div class="es-figure es-narrow">{narrow}</div>\n{after}'
    path = Path(FOLDER) / f"{label}.svg"
    _, folder, printed = _output()
    if printed:
        (folder / FOLDER).mkdir(exist_ok=True)
        drawing = svg(draw(figure, size="print"), adaptive=False, font=_PDF_FONT)
        (folder / path).write_text(drawing, encoding="utf-8")
    typst = f"#es-image({typst_string(path.as_posix())}, {typst_string(figure.alt)})"
    return float_block(label, both(html, typst), caption)


def table_float(table: Table, label: str, *, after: str = "", shown: int | None = None, more: str = "") -> str:
    """Return a table as a float: caption, number, and a region that scrolls where the screen is too narrow.

    Values are written by their columns and escaped here; the first column names the row. `label`, such as "tbl-groups", is the
    id of the float and the prefix of every id within; `after` is HTML below the table. Of more than `shown` rows a page
    keeps the rest folded away, and a PDF leaves it out. `more` is Markdown behind the caption.
    """
    body = html_table(table, f"{label}-table", shown=shown)
    spare = [f"es-spare-{place}" for place, column in enumerate(table.columns, 1) if column.spare]
    classes = " ".join(["es-table", *(["es-lead"] if table.lead else []), *spare])
    name = for_html(unmarked(table.caption) or label)
    region = f'<div class="{classes}" role="region" aria-label="{name}" tabindex="0">{body}</div>{after}'
    printed = table if shown is None else replace(table, rows=table.rows[:shown])
    caption = " ".join(part for part in (pandoc.prose(sentence(table.caption)), more) if part)
    content = both(region, typst_table(printed), pandoc.pipe_table(printed, caption=False))
    return float_block(label, content, caption)


def side_by_side(block: SideBySide) -> str:
    """Return two texts side by side, below what belongs to both; on a phone one stands below the other."""

    def html(title: str, text: str) -> str:
        shown = lines_for_html(text)
        return f'<div><p class="es-side-title">{for_html(title)}</p><div class="es-side-text">{shown}</div></div>'

    def lines(text: str) -> str:
        return f"{typst_strings(lines_of(text))}.join(linebreak())"

    above = "".join(html(*each) for each in block.above)
    both_sides = "".join(html(*each) for each in (block.left, block.right))
    page = (
        f'<div class="es-side" role="group" aria-label="{for_html(block.title)}">'
        f'<p class="es-part"><strong>{for_html(block.title)}</strong></p>{above}<div class="es-sides">{both_sides}</div></div>'
    )
    shared = ", ".join(f"strong({typst_string(title)}), {lines(text)}" for title, text in block.above)
    sides = (block.left, block.right)
    beside = ", ".join([f"strong({typst_string(title)})" for title, _ in sides] + [lines(text) for _, text in sides])
    parts = [
        f"strong({typst_string(block.title)})",
        f"grid(columns: (auto, 1fr), gutter: 0.7em, {shared})" if shared else "",
    ]
    parts.append(f"grid(columns: (1fr, 1fr), gutter: 0.7em, {beside})")
    # A page does not end within one, unless it could be longer than a page.
    short = sum(len(text) for _, text in (*block.above, *sides)) < _SHORT
    whole = f"#block(above: 1.8em, breakable: {str(not short).lower()}, "
    typst = f"{whole}[#set par(justify: false)\n#stack(spacing: 0.8em, {', '.join(filter(None, parts))})])"
    return both(page, typst, pandoc.block(block))


def folded_table(table: Table, label: str) -> str:
    """Return a table that a page folds away behind its caption; a PDF leaves it to the data."""
    region = (
        f'id="{label}" class="es-table" role="region" aria-label="{for_html(unmarked(table.caption))}" tabindex="0"'
    )
    inside = f"<div {region}>{html_table(table, label)}</div>"
    return raw(
        "html", f'<details class="es-fold"><summary>{html_prose(table.caption, WHOLE)}</summary>{inside}</details>'
    )


def html_table(table: Table, name: str, *, shown: int | None = None) -> str:
    """Return `<table>...</table>` with header cells tied to their columns and rows, and ids that begin with `name`.

    Rows beyond the first `shown` are hidden.
    """
    tones = _tones(table)
    sides = ["" if column.left else ' class="es-right"' for column in table.columns]

    def inside(at: int, text: str) -> str:
        kind = table.columns[at].kind
        if kind == "link":
            return html_link(text)
        if at == len(table.columns) - 1 and text in tones:
            return f'<span class="es-pill es-{tones[text]}">{for_html(text)}</span>'
        return _breakable(text) if not at or kind in ("name", "text") else unbroken(for_html(text))

    def row(place: int, cells: Sequence[str]) -> str:
        # The row that decides is known wherever it is sorted to.
        first = ' class="es-first"' if table.lead and not place else ""
        hidden = " hidden" if shown is not None and place >= shown else ""
        stub = f'<th scope="row" id="{name}-r{place}"{sides[0]}>{inside(0, cells[0])}</th>'
        others = "".join(
            f'<td headers="{name}-r{place} {name}-c{at}"{sides[at]}>{inside(at, cells[at])}</td>'
            for at in range(1, len(cells))
        )
        return f"<tr{first}{hidden}>{stub}{others}</tr>\n"

    titles = "".join(
        f'<th scope="col" id="{name}-c{at}"{sides[at]}>{_breakable(column.title)}</th>'
        for at, column in enumerate(table.columns)
    )
    body = "".join(row(place, cells) for place, cells in enumerate(table.written()))
    # Quarto would make a table of its own of it.
    head = (
        f'<table data-quarto-disable-processing="true" data-quarto-bootstrap="false">\n<thead><tr>{titles}</tr></thead>'
    )
    return f"{head}\n<tbody>\n{body}</tbody>\n</table>"


def _tones(table: Table) -> Mapping[str, Tone]:
    """Return the tones of the last column, where it holds verdicts."""
    return table.tones if table.columns[-1].kind == "verdict" else {}


def _breakable(cell: str) -> str:
    """Let a long name break where its words end; behind a hyphen where the table would be too wide."""
    parts = re.findall(r"[^_/\s]*(?:[_/]|\s+|$)", one_line(cell))
    return "".join(_whole(part) + ("<wbr>" if part.endswith(("_", "/")) else "") for part in parts)


def _whole(part: str) -> str:
    word = part.rstrip()
    if "-" not in word or len(word) > _WHOLE:
        return for_html(word) + part[len(word) :]
    return f'<span class="es-whole">{for_html(word)}</span>{part[len(word) :]}'


def typst_table(table: Table) -> str:
    """Return a call of the template's `es-table`."""
    toned = ", ".join(f"{typst_string(word)}: {typst_string(tone)}" for word, tone in _tones(table).items())
    rows = "".join(f"{typst_strings(row)}, " for row in table.written())
    titles = typst_strings([column.title for column in table.columns])
    align = "".join("l" if column.left else "r" for column in table.columns)
    return (
        f"#es-table({titles}, ({rows}), align: {typst_string(align)}, "
        f"tones: ({toned or ':'}), lead: {str(table.lead).lower()})"
    )
