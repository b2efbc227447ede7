"""A document as a page: the card with the answer, cautions, one figure, evidence under headings, the method folded away.

A page is a .qmd file that opens a result and shows its sections by id, so that an analyst can reorder them, drop one, and
write between them.
"""

import platform
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from importlib.metadata import version
from itertools import pairwise
from typing import Any

import polars as pl

from evalstats.analysis.drawn import picture
from evalstats.analysis.result import Result
from evalstats.analysis.saved import load_result
from evalstats.document import pandoc
from evalstats.document.escape import for_html, for_pandoc
from evalstats.document.formats import capital, html_prose
from evalstats.document.model import (
    Block,
    Code,
    Column,
    Document,
    Figure,
    Items,
    Kind,
    Note,
    Section,
    SideBySide,
    Table,
    Tabs,
    Text,
    Tone,
    Value,
    sentence,
)
from evalstats.document.names import marked, unmarked
from evalstats.document.pandoc import bullets, prose
from evalstats.report.card import card
from evalstats.report.examples import EXAMPLES, example
from evalstats.report.markup import (
    WHOLE,
    both,
    cited,
    code_block,
    csv_link,
    figure_float,
    folded,
    folded_table,
    foreign,
    metadata,
    raw,
    show,
    side_by_side,
    table_float,
    typst_prose,
)
from evalstats.report.workspace import today

# What the cells of a page use; the rest is between modules.
__all__ = ["Page", "code", "figure", "open_page", "open_result", "open_study", "show_results", "table"]


def shown_day(rendered: str) -> date:
    """Return the date that was given, as 2026-01-31; else that of today.

    >>> shown_day("2026-01-31")
    datetime.date(2026, 1, 31)
    """
    return date.fromisoformat(rendered) if rendered else today()


_PACKAGES = ("numpy", "scipy", "polars")  # that numbers come from
# Of a table longer than this, or than it says itself, the page shows the beginning; the CSV has all.
_MOST_ROWS = 60
_REFERENCES = "references"
# What stands under "Repeat this", with the versions: digests and seed, then the code.
_REPEATED = ("provenance", "code")
# Up to so many rows, those that are not shown are in the page, folded away.
_MOST_FOLDED = 400


@dataclass(slots=True, kw_only=True)
class Page:
    """An opened result: `show` prints its parts as a document of Quarto, each once.

    Several pages in one document have a `prefix` each, so that no label stands twice, and headings of a lower `level`.
    """

    document: Document
    engine: str
    day: date
    prefix: str = ""
    level: int = 2
    shown: set[str] = field(default_factory=set[str])
    drawn: list[Figure] = field(default_factory=list[Figure])

    def __post_init__(self) -> None:
        """Mark the names that sentences hold."""
        self.document = marked(self.document)

    def show(self, *names: str) -> None:
        """Print parts by id: "title", "answer", a section of evidence, "evidence" (all of it that is left), "method".

        "repeat" is the last part of the method alone, with engine and versions. "folded evidence" and "folded method" fold
        away what they show, without a heading of their own. A section that this result does not have prints nothing.
        """
        whole: dict[str, Callable[[], Sequence[str]]] = {
            "title": lambda: [title_block(self.document.title, self.day, self.document.kind)],
            "answer": self._answer,
            "evidence": lambda: [part for each in self.document.evidence for part in self._once(each)],
            "folded evidence": lambda: self._folds(self.document.evidence, self.level - 1),
            "folded method": self._folded_method,
            "method": self._method,
            "repeat": self._repeat,
        }
        for name in names:
            if name in whole:
                show(*whole[name]())
            else:
                section = self.document.section(name)
                show(*(self._once(section) if section else []))

    def section(self, heading: str, *blocks: str | Sequence[str] | Block) -> None:
        """Print a heading and what stands below it: a paragraph, several short statements, a `table`, a `figure`."""
        written = [_as_block(block) for block in blocks]
        self.drawn += [block for block in written if isinstance(block, Figure)]
        show(self._heading(heading), *self._blocks(written))

    def fold(self, heading: str, *blocks: str | Sequence[str] | Block) -> None:
        """Print a part that is folded away behind its heading, in small type in a PDF."""
        written = tuple(_as_block(block) for block in blocks)
        show(*self._folds([Section(id=heading, heading=heading, blocks=written)], self.level))

    def box(self, label: str, text: str) -> None:
        """Print a text in a box, with a label."""
        show(card(Document(kind="", title="", label=label, tone="neutral", headline=text)))

    def _once(self, section: Section) -> list[str]:
        if section.id in self.shown or not section.news:
            return []
        self.shown.add(section.id)
        return [self._heading(section.heading), *self._blocks(section.blocks)]

    def _heading(self, text: str) -> str:
        return f"{'#' * self.level} {prose(text)}"

    def _blocks(self, blocks: Sequence[Block]) -> list[str]:
        """Return the blocks; in a PDF no page ends between a sentence and the figure or table that it introduces.

        There, where they may stand apart, the sentence also names it: "(Figure 2)".
        """
        made = [self._tabs(block) if isinstance(block, Tabs) else _block(block, self.prefix) for block in blocks]
        named: set[str] = set()
        # A sentence introduces what follows; what none introduces is named by the one behind it.
        pairs = [*pairwise(range(len(blocks))), *((k, k - 1) for k in range(1, len(blocks)))]
        for place, other in pairs:
            block, label = blocks[place], _label(blocks[other], self.prefix)
            if isinstance(block, Text) and label and label not in named:
                named.add(label)
                made[place] = _referring(made[place], label)
        for place, (block, after) in enumerate(pairwise(blocks)):
            if isinstance(block, Text) and isinstance(after, Figure | Table):
                made[place] = "\n\n".join([raw("typst", "#block(sticky: true)["), made[place], raw("typst", "]")])
        return made

    def _tabs(self, tabs: Tabs) -> str:
        """Return panels one below the other; the page's script makes tabs of them.

        A PDF has the figure and the CSV instead: each panel repeats a part of what is drawn.
        """
        if foreign():
            return pandoc.block(tabs, picture=picture)
        name = for_html(f"tab-{self.prefix}{tabs.id}")
        parts = [raw("html", f'<div class="es-tabs" role="group" aria-label="{for_html(tabs.title)}">')]
        for panel in tabs.panels:
            title = for_html(unmarked(panel.heading))
            opening = f'<section class="es-panel" id="{name}-{for_html(panel.id)}" aria-label="{title}">'
            heading = raw("html", f'{opening}<p class="es-part"><strong>{title}</strong></p>')
            parts += [heading, _part(panel, self.level, *self._blocks(panel.blocks)), raw("html", "</section>")]
        return "\n\n".join(["::: {.content-visible when-format=html}", *parts, raw("html", "</div>"), ":::"])

    def _answer(self) -> list[str]:
        document = self.document
        # Of a figure with one mark the card has drawn all there is.
        alone = document.interval is not None and not foreign()
        blocks = [block for block in document.answer if not (alone and isinstance(block, Figure) and block.single)]
        return [*map(banner, document.banners), card(document, items=self._items()), *self._blocks(blocks)]

    def _items(self) -> tuple[str, str] | None:
        """Return the address of the list of items that the evidence holds folded away, and its caption."""
        figures = [block for each in self.document.evidence for block in each.blocks if isinstance(block, Figure)]
        for each in figures:
            if each.table is not None and each.table.has_links:
                return f"tbl-{self.prefix}{each.id}", each.table.caption
        return None

    def _method_sections(self) -> list[Section]:
        """Return the parts on the method, evidence that is no news, and what else is known."""
        old = [section for section in self.document.evidence if not section.news]
        return [*old, *self.document.method, *self.document.notes_section]

    def _method(self) -> list[str]:
        left = [section for section in self._method_sections() if section.id not in (*self.shown, *_REPEATED)]
        return [self._heading("Method"), *self._folds(left, self.level), *self._repeat()]

    def _repeat(self) -> list[str]:
        """Return what is needed to come to the same page: digests, seed and code, the engine and the versions."""
        left = [section for section in self._method_sections() if section.id not in self.shown]
        again = [section for name in _REPEATED for section in left if section.id == name]
        versions = [f"Python {platform.python_version()}", *(f"{name} {version(name)}" for name in _PACKAGES)]
        made = Items(
            items=(
                f"Rendered by {self.engine or 'Quarto'} on {self.day.day} {self.day:%B %Y}.",
                f"Versions: {', '.join(versions)}.",
            )
        )
        self.shown.update(section.id for section in again)
        blocks = (*(block for section in again for block in section.blocks), made)
        return self._folds([Section(id="repeat", heading="Repeat this", blocks=blocks)], self.level)

    def _folded_method(self) -> list[str]:
        parts: list[str] = []
        for section in (each for each in self._method_sections() if each.id not in self.shown):
            title = f'<p class="es-part"><strong>{html_prose(section.heading, WHOLE)}</strong></p>'
            parts.append(f"**{prose(section.heading)}**" if foreign() else raw("html", title))
            parts.append(_part(section, self.level - 1, *self._inside(section)))
        return [folded("Method", "\n\n".join(parts))] if parts else []

    def _inside(self, section: Section) -> list[str]:
        """Return the blocks of a part of the method; only references, which are ours, have links."""
        if section.id != _REFERENCES:
            return self._blocks(section.blocks)
        return [
            bullets(
                [cited(unmarked(item)) for block in section.blocks if isinstance(block, Items) for item in block.items]
            )
        ]

    def _folds(self, sections: Sequence[Section], level: int) -> list[str]:
        """Return sections that a page folds away behind their headings, and a PDF shows in small type."""
        parts: list[str] = []
        for section in sections:
            if section.id in self.shown:
                continue
            self.shown.add(section.id)
            inside = "\n\n".join(self._inside(section))
            parts.append(_part(section, level, folded(section.heading, inside)))
        return parts


def open_result(path: str = "", *, kind: str = "", engine: str = "", rendered: str = "") -> Page:
    """Open a saved result as a page.

    `path` is what `Result.save` wrote; empty for the example of `kind`. `engine` renders the page, Quarto by itself. `rendered`
    is the date that it shows, as 2026-01-31; by itself SOURCE_DATE_EPOCH, else today in UTC. InputError if the file holds no
    result.
    """
    result = load_result(path) if path else example(kind)
    return open_page(result, engine=engine, rendered=rendered)


def open_page(result: Result, *, engine: str = "", rendered: str = "") -> Page:
    """Open a result as a page; see `open_result`."""
    return Page(document=result.document(), engine=engine, day=shown_day(rendered))


def open_study(
    title: str,
    *,
    kind: str,
    label: str,
    tone: Tone,
    headline: str,
    number: str = "",
    number_words: str = "",
    scope: str = "",
    cautions: Sequence[str] = (),
    engine: str = "",
    rendered: str = "",
) -> Page:
    """Print the title and the card of a page that somebody writes; what follows is Markdown, and `section` and `fold` in cells.

    `label` and `tone` are the answer in a word and its colour, `headline` in one sentence, `number` the number that answers,
    `scope` what it rests on. `engine` and `rendered` as in `open_result`.
    """
    document = Document(
        kind=kind,
        title=title,
        label=label,
        tone=tone,
        headline=headline,
        number=number,
        number_words=number_words,
        scope=scope,
        notes=tuple(Note(kind="trust", text=text) for text in cautions),
    )
    page = Page(document=document, engine=engine, day=shown_day(rendered))
    page.show("title", "answer")
    return page


def table(
    name: str,
    rows: Sequence[Mapping[str, Value]],
    *,
    caption: str,
    kinds: Mapping[str, Kind] | None = None,
    digits: int = 1,
    spare: Sequence[str] = (),
    tones: Mapping[str, Tone] | None = None,
    frame: pl.DataFrame | None = None,
) -> Table:
    """Return rows (column title to value) as a table for `section`; intervals are pairs of ends.

    `kinds` says how columns are written, by title: text, name, amount (text on the right), number, interval, count, p, verdict;
    by itself whole numbers are counts, others numbers of so many `digits`. `spare` columns go where there is little room.
    `frame` is what the CSV beside the table holds, if more than is shown.
    """
    known = kinds or {}

    def guessed(title: str) -> Kind:
        value = next((row[title] for row in rows if row[title] is not None), None)
        if isinstance(value, tuple):
            return "interval"
        return "text" if value is None or isinstance(value, str) else "count" if isinstance(value, int) else "number"

    titles = list(rows[0]) if rows else []
    return Table(
        id=name,
        columns=tuple(
            Column(title=title, kind=known.get(title) or guessed(title), digits=digits, spare=title in spare)
            for title in titles
        ),
        rows=tuple(tuple(row[title] for title in titles) for row in rows),
        caption=caption,
        tones=tones or {},
        frame={} if frame is None else frame.to_dict(as_series=False),
    )


def code(lines: str) -> Code:
    """Return lines of Python for `section` and `fold`."""
    return Code(code=lines)


def figure(
    name: str,
    plot: str,
    rows: Sequence[Mapping[str, object]],
    *,
    caption: str,
    alt: str,
    data: Table | None = None,
    **options: Any,
) -> Figure:
    """Return a drawing for `section`: a function of `evalstats.plots` by name, with the rows it draws and its options.

    `alt` says what it shows to those who do not see it; `data` is a table that says the same, whose CSV is linked.
    """
    columns = {key: [row.get(key) for row in rows] for key in dict.fromkeys(key for row in rows for key in row)}
    return Figure(id=name, plot=plot, rows=columns, options=options, alt=alt, caption=caption, table=data)


def show_results(paths: Sequence[str], *, engine: str = "", rendered: str = "") -> None:
    """Print several saved results as one document: an index of the answers, then every result.

    InputError if a file holds no result.
    """
    results = [load_result(path) for path in paths] or [example(kind) for kind in EXAMPLES][:2]
    pages = [
        Page(
            document=result.document(),
            engine=engine,
            day=shown_day(rendered),
            prefix=f"r{place}-",
            level=3,
        )
        for place, result in enumerate(results, start=1)
    ]
    head = title_block(f"{len(pages)} results", shown_day(rendered), "results")
    show(head, answers_index([page.document for page in pages]))
    for place, page in enumerate(pages, start=1):
        show(f"## {prose(page.document.title)} {{#sec-r{place}}}")
        page.show("answer", "evidence", "method")


def answers_index(documents: Sequence[Document]) -> str:
    """Return what was asked and what was answered, each with a link to where it stands."""
    rows: list[str] = []
    for place, each in enumerate(documents, start=1):
        number = ", ".join(filter(None, (each.number, each.number_words)))
        answer = prose(" ".join(sentence(part) for part in (each.headline, number) if part))
        rows.append(f"- [{prose(each.title)}](#sec-r{place}) **{for_pandoc(capital(each.label))}:** {answer}")
    return "\n".join(rows)


def _as_block(block: str | Sequence[str] | Block) -> Block:
    if isinstance(block, str):
        return Text(text=block)
    return Items(items=tuple(block)) if isinstance(block, Sequence) else block


def _part(section: Section, level: int, *parts: str) -> str:
    """Return the content as a part of the appendix of a PDF; `level` is that of its heading there, from 1."""
    wide = any(isinstance(block, Figure | Table | Code) for block in section.blocks)
    given = f"{typst_prose(section.heading)}, level: {level}, wide: {str(wide).lower()}"
    return "\n\n".join([raw("typst", f"#es-part({given})["), *parts, raw("typst", "]")])


def title_block(title: str, day: date, kind: str) -> str:
    """Return what a page is called; a PDF shows the day too, and keeps the kind of page among its keywords."""
    return metadata(title=prose(title), es_day=f"{day.day} {day:%B %Y}", es_kind=kind)


def banner(note: Note) -> str:
    """Return what data these are, to stand before any verdict."""
    html = f'<p class="es-banner" role="note">{html_prose(note.line, WHOLE)}</p>'
    return both(html, f"#es-banner({typst_prose(note.line)})", f"**{prose(note.line)}**")


def _label(block: Block, prefix: str) -> str:
    """Return the label of a figure or table; nothing for other blocks."""
    match block:
        case Figure():
            return f"fig-{prefix}{block.id}"
        case Table():
            return f"tbl-{prefix}{block.id}"
        case _:
            return ""


def _referring(paragraph: str, label: str) -> str:
    """Let a paragraph name what is labelled, before its full stop; in a PDF alone."""
    if foreign():
        return paragraph
    text = paragraph.removesuffix("\\.")
    named = text.endswith(
        "`"
    )  # beside a name its backticks would be part of the name's code, but for a span of its own
    reference = f"`~(#ref(<{label}>))`{{=typst}}"
    return f"{text}{f'[{reference}]{{}}' if named else reference}{paragraph[len(text) :]}"


def _block(block: Text | Items | Code | Figure | Table | SideBySide, prefix: str) -> str:
    match block:
        case SideBySide():
            return side_by_side(block)
        case Text():
            return prose(block.text)
        case Items():
            return bullets([prose(item) for item in block.items])
        case Code():
            return code_block(block.code, block.language)
        case Figure():
            caption = prose(sentence(block.caption))
            after = "".join(_data_link(rows, name, words) for name, words, rows in figure_data(block))
            drawn = figure_float(
                block, _label(block, prefix), caption=caption, after=after.replace('</p><p class="es-data">', " ")
            )
            if block.table is None or not block.table.has_links:
                return drawn
            # What can be opened no drawing shows.
            rows = folded_table(block.table.without_empty_columns(), f"tbl-{prefix}{block.id}")
            return f"{drawn}\n\n{rows}"
        case Table():
            return _table(block, _label(block, prefix))


def figure_data(figure: Figure) -> list[tuple[str, str, Mapping[str, Sequence[object]]]]:
    """Return what stands beside a figure as CSV, each with its name and its link's words.

    That is the frame of its table, which has every digit; and the rows as they are drawn, where a number of theirs is not in
    the frame: a share that counts the frame's rows, or a pair turned round.
    """
    drawn = {name: column for name, column in figure.rows.items() if name not in _LOOKS}
    if figure.table is None or not figure.table.frame:
        return [(figure.id, "Data (CSV)", drawn)]
    found = [(figure.id, "Data (CSV)", figure.table.frame)]
    frame = figure.table.frame
    known = _significant(value for column in frame.values() for value in column)
    numbers = [value for name in _DRAWN for value in drawn.get(name, ()) if isinstance(value, int | float)]
    if not any(_significant(value / scale for value in numbers) <= known for scale in (1, 100)):
        found.append((f"{figure.id}-drawn", "As drawn (CSV)", drawn))
    return found


# Columns of rows that say how a mark looks.
_LOOKS = frozenset({"tone", "settled", "strong", "faint", "loud", "base", "dashed", "best", "weak"})
_DRAWN = ("x", "y", "start", "estimate", "conf_low", "conf_high")


def _significant(values: Iterable[object]) -> set[str]:
    return {f"{value:.9g}" for value in values if isinstance(value, int | float) and not isinstance(value, bool)}


def _table(table: Table, label: str) -> str:
    table = table.without_empty_columns()
    rows = table.frame or _raw(table)
    after = _data_link(rows, table.id)
    most = table.most or _MOST_ROWS
    if len(table.rows) <= most:
        return table_float(table, label, after=after)
    more = for_pandoc(f"The first {most} of {len(table.rows):,} are shown; the CSV has all.")
    if len(table.rows) > _MOST_FOLDED:
        return table_float(replace(table, rows=table.rows[:most]), label, after=after, more=more)
    return table_float(table, label, after=after, shown=most, more=f"[{more}]{{.es-more}}")


def _raw(table: Table) -> dict[str, list[object]]:
    """Return the cells of a table without a frame as columns: numbers in the table's unit with every digit, ends apart."""
    found: dict[str, list[object]] = {}
    for place, column in enumerate(table.columns):
        title = column.title if column.title not in found else f"{column.title} ({place})"
        cells = [row[place] for row in table.rows]
        if column.kind == "interval":
            for end, name in enumerate(("low", "high")):
                ends = [cell[end] if isinstance(cell, tuple) else None for cell in cells]
                found[f"{title} {name}"] = [None if value is None else value * column.scale for value in ends]
        elif any(isinstance(cell, str | tuple) for cell in cells):
            found[title] = [None if cell is None else column.written(cell) for cell in cells]
        else:
            found[title] = [cell * column.scale if isinstance(cell, int | float) else None for cell in cells]
    return found


def _data_link(rows: Mapping[str, Sequence[object]], name: str, words: str = "Data (CSV)") -> str:
    """Return a link to the rows as CSV; nothing where there are none, or cells that are no single values."""
    frame = pl.DataFrame(dict(rows), strict=False)
    plain = [column for column, dtype in frame.schema.items() if not dtype.is_nested() and dtype != pl.Object]
    return csv_link(frame.select(plain), f"{name}.csv", words) if frame.height and plain else ""
