"""Blocks of the command's answer in the markup of the page: both say the same."""

from collections.abc import Sequence

import polars as pl
import polars.selectors as cs

from evalstats.document.blocks import Block, Table
from evalstats.report.arena.cell_blocks import shown as shown_block
from evalstats.report.markup import bullets, prose, sentence
from evalstats.report.tables import table_float, without_empty_columns


def shown(blocks: Sequence[Block], label: str) -> str:
    """Return paragraphs, lists and tables as Markdown; headings stand on the page already, tables are numbered.

    Parameters
    ----------
    label
        Of the first table, such as "tbl-style"; the next ones get a number.
    """
    said: list[str] = []
    tables = 0
    for block in blocks:
        tables += isinstance(block, Table)
        said.append(shown_block([block], label if tables < 2 else f"{label}-{tables}"))
    return "\n\n".join(part for part in said if part)


def table_of(table: Table | None, label: str) -> str:
    """Return a table without its empty columns; nothing where there is none."""
    return "" if table is None or not table.rows else table_float(without_empty_columns(table), label)


def sentences(lines: Sequence[str]) -> str:
    """Return statements as a list."""
    return bullets([prose(sentence(line)) for line in lines])


def compact(frame: pl.DataFrame) -> pl.DataFrame:
    """Return a frame with six figures of every number, and without columns that say nothing: a page carries it along.

    Examples
    --------
    >>> compact(pl.DataFrame({"a": [1 / 3], "b": [None]})).to_dict(as_series=False)
    {'a': [0.333333]}
    """
    said = [name for name in frame.columns if frame[name].null_count() < frame.height]
    return frame.select(said).with_columns(cs.float().round_sig_figs(6))
