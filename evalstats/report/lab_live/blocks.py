"""Figures that may not be drawn, and tables that are folded away where a figure above has most of them."""

from collections.abc import Sequence
from dataclasses import replace

from evalstats.document.blocks import Block, Bullets, Table
from evalstats.document.model import Figure
from evalstats.document.numbers import plural
from evalstats.report.arena.blocks import sentences, shown
from evalstats.report.arena.blocks import table_of as plain_table_of
from evalstats.report.figures import figure_float
from evalstats.report.markup import folded, prose, sentence

__all__ = ["FEW", "drawn", "indented", "listed", "long_table", "notes_of", "sentences", "shown", "table_of"]

FEW = 12
_FEW_NOTES = 3
_ONE_LINE = 24


def drawn(figure: Figure | None, label: str, *, reason: str, caption: str, after: str = "") -> str:
    """Return a figure, or the sentence that says why it cannot be drawn.

    Parameters
    ----------
    reason
        Why there is none.
    caption
        Text.
    """
    if figure is None:
        return prose(sentence(f"No figure: {reason}"))
    return figure_float(figure, label, caption=prose(caption), after=after)


def table_of(table: Table | None, label: str) -> str:
    """Return a table; the names of its rows stay on one line where all are short."""
    said = plain_table_of(table, label)
    if table is None or any(len(row[0]) > _ONE_LINE for row in table.rows):
        return said
    return said.replace('class="es-table"', 'class="es-table es-names"')


def long_table(table: Table | None, label: str, words: str, *, few: int = FEW) -> str:
    """Return a table, folded away behind `words` and the number of its rows where it is long."""
    said = table_of(table, label)
    if table is None or len(table.rows) <= few:
        return said
    return folded(f"{words}: {plural(len(table.rows), 'row')}", said)


def indented(table: Table) -> Table:
    """Return the table with rows that belong to the one above marked by dots: a page would drop their spaces.

    A first column without a name gets one, since a page ties cells to the words above them.
    """
    rows = tuple((_marked(row[0]), *row[1:]) for row in table.rows)
    return replace(table, rows=rows, columns=(table.columns[0] or "What", *table.columns[1:]))


def _marked(words: str) -> str:
    return "· " * ((len(words) - len(words.lstrip(" "))) // 2) + words.lstrip(" ")


def notes_of(blocks: Sequence[Block], about: str) -> str:
    """Return the lists among blocks, folded away where there are many lines."""
    said = [item for block in blocks if isinstance(block, Bullets) for item in block.items]
    if len(said) <= _FEW_NOTES:
        return sentences(said)
    return folded(f"{about}: {plural(len(said), 'note')}", sentences(said))


def listed(blocks: Sequence[Block]) -> str:
    """Return the lists among blocks as one list: tables and headings stand elsewhere."""
    return sentences([item for block in blocks if isinstance(block, Bullets) for item in block.items])
