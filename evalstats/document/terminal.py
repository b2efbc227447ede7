"""A document on a terminal: the answer in about fifteen lines, all of it on demand."""

import textwrap
from collections.abc import Sequence
from dataclasses import replace
from itertools import zip_longest

from evalstats.document.escape import (
    cell_width,
    inert,
    is_web_address,
    kept_apart,
    lines_of,
    narrowed,
    one_line,
    padded,
)
from evalstats.document.model import (
    Block,
    Code,
    Column,
    Document,
    Figure,
    Items,
    Note,
    Section,
    SideBySide,
    Table,
    Tabs,
    Text,
    Tone,
    sentence,
)
from evalstats.document.names import marked, set_names, unbroken
from evalstats.errors import Option

# ANSI colours that are readable on light and dark backgrounds; bold where a tone has none.
_ANSI: dict[Tone, str] = {"good": "1;32", "bad": "1;31", "caution": "1;33", "neutral": "1"}
_GAP = "  "
_SHOWN_NOTES = 3
_NARROWEST_NAME = 12
# A board of more rows keeps one line for each.
_FOLDED_ROWS = 5


def headline(document: Document) -> str:
    """Return the answer as one line: the label, the headline, the number.

    What data these are stands before it.
    """
    number = "; ".join(part for part in (document.number, document.number_words) if part)
    parts = (sentence(f"{document.label.upper()}: {document.headline}"), sentence(number))
    return inert(one_line(" ".join([*(note.line for note in document.banners), *filter(None, parts)])))


def to_text(
    document: Document,
    *,
    full: bool = False,
    explain: bool = False,
    width: int = 80,
    color: bool = False,
    hint: str = "",
) -> str:
    """Return a document as plain text in which no line is longer than `width` cells (but for names that cannot be cut).

    `full` gives evidence, method and all notes too, `explain` the texts of the method; `hint` is the last line.

    >>> print(to_text(Document(kind="compare", title="?", label="better", tone="good", headline="B is better than A")))
    BETTER: B is better than A.
    """
    document = marked(document)
    parts = [_opening(document, width, color=color)]
    parts += [_block(block, width, full=full) for block in document.answer]
    parts.append(_notes(document.cautions, width, color=color, most=None if full else _SHOWN_NOTES))
    if document.actions and full:
        parts.append("\n".join(_wrapped(text, width, first="- ", rest="  ") for text in document.actions))
    if full:
        parts += [_section(section, width) for section in (*document.sections, *document.notes_section)]
    elif explain:
        parts += [_section(section, width) for section in _sections_in_words(document.method)]
    parts.append(_wrapped(hint, width) if hint else "")
    return inert("\n\n".join(part for part in parts if part))


def _opening(document: Document, width: int, *, color: bool) -> str:
    lines = [_painted(_wrapped(note.line, width), "caution", color=color) for note in document.banners]
    label = one_line(document.label).upper()
    answer = _wrapped(sentence(f"{label}: {document.headline}"), width)
    lines.append(_painted(label, document.tone, color=color) + answer[len(label) :])
    return "\n".join([*lines, *([_wrapped(document.below, width)] if document.below else [])])


def _notes(notes: Sequence[Note], width: int, *, color: bool, most: int | None) -> str:
    shown = notes if most is None or len(notes) <= most else notes[:most]
    mark = _painted("!", "caution", color=color)
    lines = [mark + _wrapped(note.line, width, first="! ", rest="  ")[1:] for note in shown]
    if len(shown) < len(notes):
        lines.append(f"{mark} {len(notes) - len(shown)} more with {Option('full', value=True)}")
    return "\n".join(lines)


def _sections_in_words(sections: Sequence[Section]) -> list[Section]:
    """Return what sections say in words."""
    kept = [
        Section(id=each.id, heading=each.heading, blocks=tuple(b for b in each.blocks if isinstance(b, Text | Items)))
        for each in sections
    ]
    return [each for each in kept if each.blocks]


def _section(section: Section, width: int) -> str:
    heading = _wrapped(section.heading, width)
    rule = "─" * min(max(map(cell_width, heading.splitlines()), default=0), width)
    blocks = (_block(block, width, full=True) for block in section.blocks)
    return "\n".join([heading, rule, "\n\n".join(filter(None, blocks))])


def _block(block: Block, width: int, *, full: bool) -> str:
    match block:
        case Text():
            return _wrapped(block.text, width)
        case Items():
            return "\n".join(_wrapped(item, width, first="- ", rest="  ") for item in block.items)
        case Code():
            return "\n".join(
                f"    {_indent(line)}{one_line(line.strip())}".rstrip() for line in block.code.splitlines()
            )
        case Figure():
            return "" if block.table is None else _block(block.table, width, full=full)
        case Table():
            return _table(block, width, full=full)
        case Tabs():
            parts = [
                "\n".join(
                    [_wrapped(f"{panel.heading}:", width), *(_block(each, width, full=full) for each in panel.blocks)]
                )
                for panel in block.panels
            ]
            return "\n\n".join(parts)
        case SideBySide():
            return _side_by_side(block, width)


def _side_by_side(block: SideBySide, width: int) -> str:
    """Return two texts in two columns, below what belongs to both."""
    room = (width - len(_GAP)) // 2
    columns = [
        [
            *_wrapped(title, room, cut=True).splitlines(),
            "─" * room,
            *(part for line in lines_of(text) for part in _parts(line, room)),
        ]
        for title, text in (block.left, block.right)
    ]
    above = [
        part
        for title, text in block.above
        for place, line in enumerate(lines_of(text))
        for part in _wrapped(line, width, first="" if place else f"{title}: ").splitlines()
    ]
    beside = [
        f"{padded(one, room)}{_GAP}{padded(other, room)}".rstrip() for one, other in zip_longest(*columns, fillvalue="")
    ]
    return "\n".join([*_wrapped(block.title, width).splitlines(), *above, *beside])


def _parts(line: str, width: int) -> list[str]:
    """Break a line of a text into lines that keep its indent."""
    indent = _indent(line)[: width // 2]
    return _wrapped(line.strip(), width, first=indent, rest=indent, cut=True).splitlines()


def _indent(line: str) -> str:
    return " " * (len(line) - len(line.lstrip(" ")))


def _painted(text: str, tone: Tone, *, color: bool) -> str:
    return f"\x1b[{_ANSI[tone]}m{text}\x1b[0m" if color else text


def _wrapped(text: str, width: int, *, first: str = "", rest: str = "", cut: bool = False) -> str:
    """Break a text into lines; none ends within an interval or a name that fits one, and a long word is `cut` only if asked."""

    def kept(name: str) -> str:
        line = one_line(name)
        return line.replace(" ", "\xa0") if cell_width(line) <= width - cell_width(rest) else line

    whole = set_names(text, plain=lambda part: unbroken(one_line(part)), name=kept)
    return textwrap.fill(
        whole,
        width,
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=cut,
        break_on_hyphens=False,
    ).replace("\xa0", " ")


def table_text(table: Table, *, width: int = 80) -> str:
    """Return one table in full as plain text; without rows its caption and head.

    >>> print(table_text(Table(id="t", columns=(Column(title="n", kind="count"),), rows=((1200,),))))
        n
    ─────
    1,200
    """
    return inert(_table(table, width, full=True))


def _table(table: Table, width: int, *, full: bool) -> str:
    """Return a table, addresses below it, each whole on a line; in short form only its first rows and no caption."""
    table = table.without_empty_columns()
    links = [place for place, column in enumerate(table.columns) if column.kind == "link"]
    if links:
        short = table.most and not full and len(table.rows) > table.most + 1
        addresses = [
            f"{one_line(str(row[0]))}, {one_line(table.columns[place].title)}: {row[place]}"
            for row in (table.rows[: table.most] if short else table.rows)
            for place in links
            if is_web_address(str(row[place]))
        ]
        bare = table.only([place for place in range(len(table.columns)) if place not in links])
        return "\n".join([_table(bare, width, full=full), *addresses])
    left_out = len(table.rows) - table.most if table.most and not full else 0
    rows = [[one_line(cell) for cell in row] for row in table.written(table.most if left_out > 1 else None)]
    titles = [one_line(column.title) for column in table.columns]
    kept = _fitting_columns(titles, rows, table.columns, width, folded=full)
    heads = _folded_titles(titles, rows, kept, width)
    one_line_each = not full and len(rows) > _FOLDED_ROWS
    cells, widths = _fitted(heads, rows, table.columns, kept, width, one_line_each=one_line_each)
    if _total(widths) > width and len(kept) > 2:
        # As many columns as fit, and the others below them, again behind the names of the rows.
        first, *others = kept
        n = max([k for k in range(1, len(others)) if _total({i: widths[i] for i in kept[: k + 1]}) <= width], default=1)
        above, below = table.only((first, *others[:n])), table.only((first, *others[n:]))
        return "\n\n".join(_table(part, width, full=full) for part in (above, replace(below, caption="")))

    def lines_of(row: Sequence[Sequence[str]]) -> list[str]:
        tall = max((len(row[i]) for i in kept), default=0)
        return [
            _GAP.join(
                _cell(row[i][place] if place < len(row[i]) else "", widths[i], left=table.columns[i].left) for i in kept
            ).rstrip()
            for place in range(tall)
        ]

    lines = [_wrapped(table.caption, width)] if table.caption and full else []
    lines += [*lines_of(heads), _GAP.join("─" * widths[i] for i in kept)]
    lines += [line for row in cells for line in lines_of(row)]
    if left_out > 1:
        lines.append(f"{left_out:,} more with {Option('full', value=True)}")
    return "\n".join(lines)


def _widths(heads: Sequence[Sequence[str]], rows: Sequence[Sequence[str]], kept: Sequence[int]) -> dict[int, int]:
    return {i: max(*map(cell_width, heads[i]), *(cell_width(row[i]) for row in rows), 0) for i in kept}


def _fitting_columns(
    titles: Sequence[str], rows: Sequence[Sequence[str]], columns: Sequence[Column], width: int, *, folded: bool
) -> list[int]:
    """Leave out spare columns, last first, until the table fits; `folded`: titles may take several lines for it."""
    kept = list(range(len(columns)))
    for place in reversed([i for i, column in enumerate(columns) if column.spare]):
        heads = _folded_titles(titles, rows, kept, width) if folded else [[title] for title in titles]
        if _total(_widths(heads, rows, kept)) <= width:
            break
        kept.remove(place)
    return kept


def _folded_titles(
    titles: Sequence[str], rows: Sequence[Sequence[str]], kept: Sequence[int], width: int
) -> list[list[str]]:
    """Break titles into lines, those that stand out most first, until the table fits."""
    heads = [[title] for title in titles]
    least = {
        i: max(*(cell_width(word) for word in titles[i].split(" ")), *(cell_width(row[i]) for row in rows), 0)
        for i in kept
    }
    for i in sorted(kept, key=lambda i: least[i] - cell_width(titles[i])):
        over = _total(_widths(heads, rows, kept)) - width
        if over <= 0:
            break
        heads[i] = textwrap.wrap(titles[i], max(least[i], cell_width(titles[i]) - over, 1)) or [""]
    return heads


def _total(widths: dict[int, int]) -> int:
    return sum(widths.values()) + len(_GAP) * (len(widths) - 1)


def _fitted(
    heads: Sequence[Sequence[str]],
    rows: Sequence[Sequence[str]],
    columns: Sequence[Column],
    kept: Sequence[int],
    width: int,
    *,
    one_line_each: bool,
) -> tuple[list[list[list[str]]], dict[int, int]]:
    """Return the lines of every cell: words are made narrower, the widest column first, until the table fits.

    Numbers are never cut, and names that differ stay different.
    """
    cells = [[[cell] for cell in row] for row in rows]
    widths = _widths(heads, rows, kept)
    words = [i for i in kept if columns[i].left and columns[i].kind != "verdict"]
    while words and _total(widths) > width:
        widest = max(words, key=lambda i: widths[i])
        # Below its title's width nothing is won.
        room = max(widths[widest] - (_total(widths) - width), _NARROWEST_NAME, *map(cell_width, heads[widest]))
        words.remove(widest)
        if room >= widths[widest]:
            continue
        names = [row[widest] for row in rows]
        short = kept_apart(names, room)
        lines = [[short[name]] for name in names] if one_line_each else narrowed(names, room)
        for row, own in zip(cells, lines, strict=True):
            row[widest] = own
        widths[widest] = max(
            *map(cell_width, heads[widest]), *(cell_width(line) for row in cells for line in row[widest]), 0
        )
    return cells, widths


def _cell(text: str, width: int, *, left: bool) -> str:
    return padded(text, width) if left else " " * (width - cell_width(text)) + text
