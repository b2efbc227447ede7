"""Blocks as plain text for a terminal, 80 columns by default."""

import textwrap
from collections.abc import Sequence

from evalstats.document.blocks import Banner, Block, Bullets, Fold, Heading, Paragraph, Table, Tone
from evalstats.document.escape import inert, one_line

# ANSI colours that are readable on light and dark backgrounds; bold where a tone has none.
_ANSI = {"good": "1;32", "bad": "1;31", "caution": "1;33", "neutral": "1", "plain": "1"}
_GAP = "  "


def to_text(blocks: Sequence[Block], *, width: int = 80, color: bool = False) -> str:
    """Return text in which no line is longer than `width`.

    Examples
    --------
    >>> print(to_text([Heading(text="Scores", level=2), Paragraph(text="One line.")]))
    Scores
    ------
    <BLANKLINE>
    One line.
    """
    return inert("\n\n".join(_block(block, width, color=color) for block in blocks))


def _block(block: Block, width: int, *, color: bool) -> str:
    match block:
        case Heading():
            text = one_line(block.text)
            rule = ("=" if block.level == 1 else "-") * min(len(text), width)
            return f"{_wrap(text, width)}\n{rule}"
        case Banner():
            return _banner(block, width, color=color)
        case Paragraph():
            return _wrap(block.text, width)
        case Bullets():
            title = [_painted(one_line(block.title), block.tone, color=color)] if block.title else []
            return "\n".join([*title, *(_wrap(item, width, first="- ", rest="  ") for item in block.items)])
        case Table():
            return _table(block, width)
        case Fold():
            return to_text(block.blocks, width=width, color=color)


def _banner(block: Banner, width: int, *, color: bool) -> str:
    label = one_line(block.label).upper()
    body = _wrap(f"{label}  {block.text}", width)
    return _painted(label, block.tone, color=color) + body[len(label) :]


def _painted(text: str, tone: Tone, *, color: bool) -> str:
    return f"\x1b[{_ANSI[tone]}m{text}\x1b[0m" if color else text


def _wrap(text: str, width: int, *, first: str = "", rest: str = "") -> str:
    return textwrap.fill(
        one_line(text),
        width,
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=True,
        break_on_hyphens=False,
    )


def _table(table: Table, width: int) -> str:
    columns = [one_line(column) for column in table.columns]
    rows = [[one_line(cell) for cell in row] for row in table.rows]
    kept = _columns_that_fit(columns, rows, table, width)
    widths = [max(len(columns[i]), *(len(row[i]) for row in rows), 0) if rows else len(columns[i]) for i in kept]
    widths = _shrunk(widths, [table.align[i] for i in kept], width)

    def line(cells: Sequence[str]) -> str:
        parts = [_cell(cells[i], w, table.align[i]) for i, w in zip(kept, widths, strict=True)]
        return _GAP.join(parts).rstrip()

    lines = [_wrap(table.caption, width)] if table.caption else []
    lines += [line(columns), _GAP.join("─" * w for w in widths)]
    lines += [line(row) for row in rows]
    return "\n".join(lines)


def _columns_that_fit(columns: list[str], rows: list[list[str]], table: Table, width: int) -> list[int]:
    """Leave out the columns marked `wide`, last first, until the table fits."""
    kept = list(range(len(columns)))
    for name in reversed(table.wide):
        needed = sum(max(len(columns[i]), *(len(row[i]) for row in rows), 0) + len(_GAP) for i in kept) - len(_GAP)
        if needed <= width:
            break
        kept.remove(table.columns.index(name))
    return kept


def _shrunk(widths: list[int], align: list[str], width: int) -> list[int]:
    """Take room from the widest left-aligned columns until the table fits (numbers are never cut)."""
    widths = list(widths)
    text = [i for i, a in enumerate(align) if a == "l"]
    while text and sum(widths) + len(_GAP) * (len(widths) - 1) > width:
        widest = max(text, key=lambda i: widths[i])
        if widths[widest] <= 8:
            break
        widths[widest] -= 1
    return widths


def _cell(text: str, width: int, align: str) -> str:
    cut = text if len(text) <= width else _without_middle(text, width)
    return cut.rjust(width) if align == "r" else cut.center(width) if align == "c" else cut.ljust(width)


def _without_middle(text: str, width: int) -> str:
    """Cut the middle of a text: what tells long names apart stands at both ends (a version, a digest)."""
    end = (width - 1) // 2
    return text[: width - 1 - end] + "…" + text[len(text) - end :]
