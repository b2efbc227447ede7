"""Blocks of the command's answer in the markup of the page: both say the same."""

from collections.abc import Sequence

from evalstats.document.blocks import Block, Bullets, Paragraph, Table
from evalstats.report.markup import bullets, prose
from evalstats.report.tables import table_float, without_empty_columns


def shown(blocks: Sequence[Block], label: str, *, lead: bool = False) -> str:
    """Return paragraphs, lists and one table as Markdown; headings stand on the page already.

    Parameters
    ----------
    blocks
        What the command prints in this place.
    label
        Of the table, such as "tbl-tests".
    lead
        The table's first row is the one that decides.
    """
    return "\n\n".join(part for part in (_shown(block, label, lead=lead) for block in blocks) if part)


def _shown(block: Block, label: str, *, lead: bool) -> str:
    match block:
        case Paragraph():
            return prose(block.text)
        case Bullets():
            return bullets([prose(item) for item in block.items])
        case Table():
            return table_float(without_empty_columns(block), label, lead=lead)
        case _:
            return ""


def without_column(table: Table, name: str) -> Table:
    """Return the table without a column, where it has it.

    Examples
    --------
    >>> without_column(Table(columns=("a", "b"), rows=(("1", "2"),), align="lr"), "b").columns
    ('a',)
    """
    kept = [place for place, column in enumerate(table.columns) if column != name]
    return Table(
        columns=tuple(table.columns[place] for place in kept),
        rows=tuple(tuple(row[place] for place in kept) for row in table.rows),
        align="".join(table.align[place] for place in kept),
        caption=table.caption,
    )
