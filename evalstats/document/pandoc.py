"""A document as Pandoc reads Markdown: in anybody's notebook, page, Word file, slides and PDF. Every string is escaped here.

Only what notebooks read alike: paragraphs, lists, pipe tables, code and pictures, with no attribute behind them.
"""

import re
from collections.abc import Callable, Sequence

from evalstats.document.escape import for_pandoc, is_web_address, lines_of, one_line
from evalstats.document.formats import capital
from evalstats.document.model import (
    Block,
    Code,
    Document,
    Figure,
    Items,
    SideBySide,
    Table,
    Tabs,
    Text,
    sentence,
)
from evalstats.document.names import marked, set_names, unbroken
from evalstats.errors import InputError

Picture = Callable[[Figure], str]
"""A figure as Markdown: a paragraph with its picture."""

_ROWS = 40  # the result has all
_WIDEST = 40
# What a span of code can hold: neither its own end nor the beginning of what Quarto looks for in code too.
_CODE = re.compile(r"[^\s`{}](?:[^`{}]*[^\s`{}])?")


def prose(text: str) -> str:
    r"""Escape a text, with its marked names as code; no line ends within an interval.

    >>> print(prose("\ufdd0GPT-5.4\ufdd1 leads."))
    `GPT-5.4` leads\.
    """
    return set_names(text, plain=_plain, name=_code)


def _plain(text: str) -> str:
    return unbroken(for_pandoc(text))


def _code(name: str) -> str:
    line = one_line(name)
    return f"`{line}`" if _CODE.fullmatch(line) else for_pandoc(line)


def fenced(text: str, kind: str) -> str:
    """Return text as a block of code behind a fence that nothing in it can close."""
    fence = "`" * (max([2, *map(len, re.findall(r"`+", text))]) + 1)
    return f"{fence}{kind}\n{text}\n{fence}"


def bullets(items: Sequence[str]) -> str:
    """Return a list of paragraphs that are Markdown already."""
    return "\n".join(f"- {item}" for item in items)


def image(figure: Figure, address: str) -> str:
    """Return a picture as a paragraph; the blank behind it keeps its alternative text from becoming a caption."""
    return f"![{for_pandoc(figure.alt)}](<{address}>)\xa0"


def light_and_dark(light: str, dark: str) -> str:
    """Return two paragraphs of which Quarto's pages show the one that suits their theme."""
    return "\n\n".join(f"::: {{.{name}-content}}\n\n{text}\n\n:::" for name, text in (("light", light), ("dark", dark)))


def verdict(label: str, headline: str, below: str) -> str:
    r"""Return the answer and what it rests on.

    >>> print(verdict("better", "B|C {{< x >}}", "+1.0 pp.").replace("\N{NO-BREAK SPACE}", " "))
    **Better\.** B\|C \{\{\< x \>\}\}\.
    <BLANKLINE>
    \+1\.0 pp\.
    """
    return "\n\n".join(filter(None, [f"**{for_pandoc(capital(label))}\\.** {prose(sentence(headline))}", prose(below)]))


def to_pandoc(
    document: Document, names: Sequence[str] = ("answer",), *, picture: Picture | None = None, caption: bool = True
) -> str:
    """Return parts of a document: the answer, "evidence" or "method" as a whole, or sections by id.

    Headings are bold lines, which make no new slide and no entry of a table of contents. Without a `picture`, a figure is the
    table that says the same. InputError if the document has no such part.
    """
    document = marked(document)
    whole = {"evidence": document.evidence, "method": (*document.method, *document.notes_section)}
    parts: list[str] = []
    for name in names:
        section = document.section(name)
        if name == "answer":
            parts += _answer(document, picture=picture, caption=caption)
        elif name not in whole and section is None:
            known = ", ".join(["answer", *whole, *(each.id for each in document.sections)])
            raise InputError(f"no part {name!r} in this result; it has {known}")
        for each in whole.get(name, (section,) if section else ()):
            parts += [
                f"**{prose(sentence(each.heading))}**",
                *(block(part, picture=picture, caption=caption) for part in each.blocks),
            ]
    return "\n\n".join(filter(None, parts))


def _answer(document: Document, *, picture: Picture | None, caption: bool) -> list[str]:
    """Return words first: slides then hold them beside the picture."""
    drawn = [each for each in document.answer if isinstance(each, Table | Figure | Tabs)] or [document.leading_table]
    words = [each for each in document.answer if each not in drawn]
    cautions = Items(items=tuple(note.line for note in document.cautions))
    parts = [f"**{prose(note.line)}**" for note in document.banners]
    parts.append(verdict(document.label, document.headline, document.below))
    return parts + [block(each, picture=picture, caption=caption) for each in (*words, cautions, *filter(None, drawn))]


def block(part: Block, *, picture: Picture | None = None, caption: bool = True) -> str:
    """Return a block."""
    match part:
        case Text():
            return prose(part.text)
        case Items():
            return bullets([prose(item) for item in part.items])
        case Code():
            # Quarto looks for its own shortcodes in code too.
            lines = ("".join(filter(str.isprintable, line)) for line in part.code.splitlines())
            return fenced("\n".join(lines).replace("{{<", "{{ <"), part.language)
        case Figure():
            if picture is None:
                return "" if part.table is None else pipe_table(part.table, caption=caption)
            told = prose(sentence(part.caption)) if caption else ""
            return "\n\n".join(filter(None, [told, picture(part)]))
        case Table():
            return pipe_table(part, caption=caption)
        case Tabs():
            inside: list[str] = []
            for panel in part.panels:
                inside.append(f"**{prose(panel.heading)}**")
                inside += [block(each, picture=picture, caption=caption) for each in panel.blocks]
            return "\n\n".join(filter(None, inside))
        case SideBySide():
            texts = [*part.above, part.left, part.right]
            sides = (
                f"*{for_pandoc(title)}*\n\n" + "\\\n".join(map(for_pandoc, lines_of(text))) for title, text in texts
            )
            return "\n\n".join([f"**{for_pandoc(part.title)}**", *sides])


def pipe_table(table: Table, *, caption: bool = True) -> str:
    """Return a table, its caption above it; of many rows the first, and no spare column."""
    table, left_out = table.without_empty_columns().beginning(_ROWS)
    kept = [place for place, column in enumerate(table.columns) if not column.spare] or range(len(table.columns))
    columns = [table.columns[place] for place in kept]

    def cell(text: str, place: int) -> str:
        if table.columns[place].kind == "link" and is_web_address(text):
            return f"[open](<{text}>)"
        return for_pandoc(text) if table.columns[place].left else for_pandoc(text).replace(" ", "\xa0")

    titles = [for_pandoc(column.title) for column in columns]
    rows = [[cell(row[place], place) for place in kept] for row in table.written()]
    # Where a line is too long, columns are as wide as these dashes.
    widths = [
        min(max(len(cell.replace("\\", "")) for cell in cells) + 3, _WIDEST)
        for cells in zip(titles, *rows, strict=True)
    ]
    under = [f":{'-' * n}" if column.left else f"{'-' * n}:" for n, column in zip(widths, columns, strict=True)]
    lines = "\n".join(f"| {' | '.join(cells)} |" for cells in (titles, under, *rows))
    told = " ".join(prose(sentence(part)) for part in (table.caption if caption else "", left_out) if part)
    return f"{told}\n\n{lines}" if told else lines
