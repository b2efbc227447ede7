"""A document as Markdown and HTML, rows as CSV. Every string is escaped here and nowhere else."""

from collections.abc import Callable, Sequence
from typing import Any, cast

import polars as pl

from evalstats.document.escape import (
    for_csv,
    for_html,
    for_markdown,
    inert,
    is_web_address,
    lines_for_html,
    lines_of,
    one_line,
)
from evalstats.document.model import (
    Block,
    Code,
    Column,
    Document,
    Figure,
    Items,
    Section,
    SideBySide,
    Table,
    Tabs,
    Text,
    Tone,
    sentence,
)
from evalstats.document.names import WHOLE, marked, set_names, unbroken
from evalstats.errors import InputError

_COLORS: dict[Tone, str] = {"good": "#0069a8", "bad": "#b84300", "caution": "#855800", "neutral": "#4a5663"}


def table_named(document: Document, name: str) -> Table:
    """Return one of a document's tables.

    InputError if it has no table of this name.
    """
    tables = document.tables
    if name not in tables:
        raise InputError(f"no table {name!r} in this result; it has {', '.join(tables) or 'none'}")
    return tables[name]


def capital(text: str) -> str:
    """Begin a label with a capital."""
    return text[:1].upper() + text[1:]


# --- Markdown ---


def to_markdown(document: Document) -> str:
    r"""Return GitHub-flavoured Markdown, fit for a pull-request comment: the answer, then evidence and method folded.

    >>> print(to_markdown(Document(kind="compare", title="?", label="Better", tone="good", headline="B|C is better")))
    **Better.** B\|C is better.
    """
    document = marked(document)
    parts = [f"**{markdown_prose(note.line)}**" for note in document.banners]
    parts.append(f"**{for_markdown(capital(document.label))}.** {markdown_prose(sentence(document.headline))}")
    parts.append(markdown_prose(document.below))
    parts += [f"**{markdown_prose(note.line)}**" for note in document.remarks if note.kind == "gate"]
    parts += [_markdown(block) for block in document.answer]
    parts.append("\n".join(f"- {markdown_prose(note.line)}" for note in document.cautions))
    parts += _folded("Evidence", document.evidence)
    parts += _folded("Method", [*document.method, *document.notes_section])
    return inert("\n\n".join(part for part in parts if part))


def markdown_prose(text: str) -> str:
    r"""Escape a text for GitHub, with its marked names as code.

    >>> markdown_prose("\ufdd0gpt_5\ufdd1 leads_")
    '`gpt_5` leads\\_'
    """

    def code(name: str) -> str:
        line = one_line(name)
        return for_markdown(line) if "`" in line or line != line.strip() else f"`{line}`"

    def plain(part: str) -> str:
        """Escape as what begins a line only what does."""
        return for_markdown(part) if text.lstrip().startswith(part) else for_markdown(f"x{part}")[1:]

    return set_names(text, plain=plain, name=code)


def _folded(title: str, sections: Sequence[Section]) -> list[str]:
    # GitHub reads Markdown inside <details> where a blank line stands around it.
    if not sections:
        return []
    parts = (
        part for each in sections for part in (f"### {markdown_prose(each.heading)}", *map(_markdown, each.blocks))
    )
    inside = "\n\n".join(filter(None, parts))
    return [f"<details><summary>{title}</summary>\n\n{inside}\n\n</details>"]


def _markdown(block: Block) -> str:
    match block:
        case Text():
            return markdown_prose(block.text)
        case Items():
            return "\n".join(f"- {markdown_prose(item)}" for item in block.items)
        case Code():
            return markdown_code(block)
        case Figure():
            return "" if block.table is None else markdown_table(block.table)
        case Table():
            return markdown_table(block)
        case Tabs():
            parts = [[f"**{markdown_prose(panel.heading)}**", *map(_markdown, panel.blocks)] for panel in block.panels]
            return "\n\n".join(part for panel in parts for part in panel)
        case SideBySide():
            titled = [*block.above, block.left, block.right]
            parts = [f"**{for_markdown(block.title)}**"]
            parts += [
                f"*{for_markdown(title)}:* {'<br>'.join(map(for_markdown, lines_of(text)))}" for title, text in titled
            ]
            return "\n\n".join(parts)


def markdown_code(block: Code) -> str:
    """Return lines of code as a fenced block."""
    fence = "`" * 4
    return f"{fence}{block.language}\n{inert(block.code).replace(fence, '')}\n{fence}"


def markdown_table(table: Table) -> str:
    """Return one table as GitHub-flavoured Markdown."""
    table = table.without_empty_columns()

    def line(cells: Sequence[str]) -> str:
        return f"| {' | '.join(cells)} |"

    lines = [f"{markdown_prose(table.caption)}\n"] if table.caption else []
    lines.append(line([for_markdown(column.title) for column in table.columns]))
    lines.append(line([":---" if column.left else "---:" for column in table.columns]))
    lines.extend(
        line([_markdown_cell(cell, column) for cell, column in zip(row, table.columns, strict=True)])
        for row in table.written()
    )
    return inert("\n".join(lines))


def _markdown_cell(cell: str, column: Column) -> str:
    linked = column.kind == "link" and is_web_address(cell)
    return f"[open](<{cell}>)" if linked else for_markdown(cell)


def answer_texts(document: Document) -> list[str]:
    """Return the sentences that belong to the answer."""
    return [
        text
        for block in document.answer
        for text in ((block.text,) if isinstance(block, Text) else block.items if isinstance(block, Items) else ())
    ]


# --- HTML ---


def to_html(document: Document, address: Callable[[Figure], str] | None = None) -> str:
    """Return an HTML fragment with inline styles only: the answer with its tables, then the rest folded.

    With `address`, which gives the address of a drawing, it is the answer alone with its figures, as notebooks show it.

    >>> found = to_html(Document(kind="compare", title="?", label="Better", tone="good", headline="a < b"))
    >>> "a &lt; b" in found
    True
    """
    document, color = marked(document), _COLORS[document.tone]
    style = f"border-left:4px solid {color};padding:.4em .8em;margin:.5em 0"
    parts = [f"<p><strong>{html_prose(note.line)}</strong></p>" for note in document.banners]
    parts.append(
        f'<div style="{style}"><strong style="color:{color}">{for_html(capital(document.label))}</strong> '
        f"{html_prose(sentence(document.headline))}<br>{html_prose(document.below)}</div>"
    )
    parts += [_html(block, address) for block in document.answer]
    parts.append(_html_list([note.line for note in document.cautions]))
    if address is None:
        parts += _html_folded("Evidence", document.evidence)
        parts += _html_folded("Method", document.method)
    return f'<div class="evalstats">{"".join(parts)}</div>'


def html_prose(text: str, look: str = 'style="white-space:nowrap"') -> str:
    """Escape a text for HTML, with its marked names as code of this look.

    >>> html_prose("\ufdd0a<b\ufdd1 leads", 'class="x"')
    '<code class="x">a&lt;b</code> leads'
    """

    def code(name: str) -> str:
        return f"<code {look}>{for_html(name)}</code>" if len(name) <= WHOLE else f"<code>{for_html(name)}</code>"

    return set_names(
        text,
        plain=lambda part: unbroken(for_html(part)),
        name=code,
    )


def _html_folded(title: str, sections: Sequence[Section]) -> list[str]:
    inside = "".join(f"<h4>{html_prose(each.heading)}</h4>{''.join(map(_html, each.blocks))}" for each in sections)
    return [f"<details><summary>{title}</summary>{inside}</details>"] if inside else []


def _html_list(items: Sequence[str]) -> str:
    return f"<ul>{''.join(f'<li>{html_prose(item)}</li>' for item in items)}</ul>" if items else ""


def _html(block: Block, address: Callable[[Figure], str] | None = None) -> str:
    match block:
        case Text():
            return f"<p>{html_prose(block.text)}</p>"
        case Items():
            return _html_list(block.items)
        case Code():
            return f"<pre>{'<br>'.join(for_html(line) for line in block.code.splitlines())}</pre>"
        case Figure() if address is not None:
            image = f'<img alt="{for_html(block.alt)}" src="{for_html(address(block))}" style="max-width:100%">'
            return f"<figure>{image}<figcaption>{html_prose(sentence(block.caption))}</figcaption></figure>"
        case Figure():
            return "" if block.table is None else html_table(block.table)
        case Table():
            return html_table(block)
        case Tabs():
            return "".join(
                f"<p><strong>{html_prose(panel.heading)}</strong></p>{''.join(_html(each, address) for each in panel.blocks)}"
                for panel in block.panels
            )
        case SideBySide():
            return f"<p><strong>{for_html(block.title)}</strong></p>{html_side_by_side(block)}"


def html_side_by_side(block: SideBySide) -> str:
    """Return two texts side by side as HTML that wraps below one another where there is little room."""

    def part(title: str, text: str) -> str:
        return (
            f'<div style="flex:1 1 14em;min-width:0"><strong>{for_html(title)}</strong>'
            f'<div style="white-space:pre-wrap;overflow-wrap:anywhere">{lines_for_html(text)}</div></div>'
        )

    rows = [*([each] for each in block.above), [block.left, block.right]]
    return "".join(
        f'<div style="display:flex;flex-wrap:wrap;gap:.4em 1.2em;margin:.3em 0">{"".join(part(*each) for each in row)}</div>'
        for row in rows
    )


def html_link(address: str) -> str:
    """Return an address as a link; as text where it is none of the web.

    >>> html_link("javascript:alert(1)")
    'javascript:alert(1)'
    """
    told = for_html(address)
    linked = f'<a href="{told}" rel="noopener noreferrer" aria-label="open {told}">open</a>'
    return linked if is_web_address(address) else told


def html_table(table: Table) -> str:
    """Return one table as HTML with inline styles."""
    table = table.without_empty_columns()

    def cells(tag: str, values: Sequence[str]) -> str:
        parts = [
            f'<{tag} style="text-align:{"left" if column.left else "right"};padding:.2em .6em">'
            f"{html_link(value) if column.kind == 'link' else for_html(value)}</{tag}>"
            for value, column in zip(values, table.columns, strict=True)
        ]
        return f"<tr>{''.join(parts)}</tr>"

    caption = f'<caption style="text-align:left">{html_prose(table.caption)}</caption>' if table.caption else ""
    body = "".join(cells("td", row) for row in table.written())
    head = cells("th", [column.title for column in table.columns])
    return f"<table>{caption}<thead>{head}</thead><tbody>{body}</tbody></table>"


def great_table(table: Table) -> Any:
    """Return one table as a `great_tables.GT`, its cells as text; columns are called as their titles."""
    try:
        from great_tables import GT
    except ImportError:
        raise InputError("great-tables is not installed; pip install 'evalstats-toolkit[report]'") from None

    titles = [one_line(column.title) for column in table.columns]
    named = [each if each not in titles[:k] else f"{each} ({k})" for k, each in enumerate(titles)]
    rows = table.written()
    # great_tables escapes what it is given, and lets control characters stand.
    frame = pl.DataFrame({key: [one_line(row[place]) for row in rows] for place, key in enumerate(named)})
    untyped: Any = GT  # great_tables leaves types of dataframes unknown
    made = untyped(frame, rowname_col=named[0], id=table.id).tab_stubhead(titles[0])
    for place, column in enumerate(table.columns[1:], start=1):
        made = made.cols_align("left" if column.left else "right", columns=named[place])
    return made


# --- CSV ---


def csv_text(frame: pl.DataFrame) -> str:
    """Return a frame as CSV in which no cell is a formula; lists are joined with semicolons."""

    def written(cell: object) -> str | None:
        parts: list[object] = cast("list[object]", cell) if isinstance(cell, list) else [cell]
        return None if cell is None else for_csv("; ".join(map(str, parts)))

    text = [
        pl.Series(name, [written(cell) for cell in frame[name].to_list()], dtype=pl.String)
        for name, dtype in frame.schema.items()
        if dtype == pl.String or dtype.is_nested()
    ]
    return frame.with_columns(text).rename({name: for_csv(name) for name in frame.columns}).write_csv()


# --- sentences ---


def summary(document: Document) -> str:
    """Return the answer as sentences: what data these are, the headline, the number, what it rests on, the cautions."""
    said = [note.line for note in document.banners]
    said += [sentence(document.headline), document.below, *answer_texts(document)]
    said += [note.line for note in document.cautions]
    return " ".join(part for part in said if part)


def explanation(document: Document) -> str:
    """Return the answer and the texts of the method, as paragraphs under headings."""
    parts = [summary(document)]
    for section in document.method:
        texts = [block.text for block in section.blocks if isinstance(block, Text)]
        texts += [f"- {item}" for block in section.blocks if isinstance(block, Items) for item in block.items]
        if texts:
            parts += [section.heading, *texts]
    return "\n\n".join(parts)
