"""Tables for both targets: HTML by great_tables, styled by the page; Typst for the PDF."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import polars as pl

from evalstats.document.blocks import Table, Tone
from evalstats.document.escape import for_html, one_line
from evalstats.report.markup import both, float_block, prose, sentence, typst_string, typst_strings

_ALIGN = {"l": "left", "r": "right", "c": "center"}


def table_float(
    table: Table,
    label: str,
    *,
    tones: Mapping[str, Tone] | None = None,
    lead: bool = False,
    after: str = "",
) -> str:
    """Return a table as a float: caption, number, and a region that scrolls where the screen is too narrow.

    Parameters
    ----------
    table
        Cells are text; they are escaped here. The first column names the row.
    label
        Such as "tbl-groups": id of the float, and prefix of every id within.
    tones
        Cells of the last column that are to stand out, with their tone (a verdict's word).
    lead
        The first row is the one that decides.
    after
        HTML below the table: the link to its data.
    """
    body = html_table(table, f"{label}-table", tones=tones or {})
    classes = "es-table es-lead" if lead else "es-table"
    name = for_html(table.caption or label)
    region = f'<div class="{classes}" role="region" aria-label="{name}" tabindex="0">{body}</div>{after}'
    content = both(region, typst_table(table, tones=tones or {}, lead=lead))
    return float_block(label, content, prose(sentence(table.caption)))


def html_table(table: Table, name: str, *, tones: Mapping[str, Tone]) -> str:
    """Return `<table>...</table>` with header cells tied to their columns and rows, and ids that begin with `name`."""
    from great_tables import GT, html

    columns = [f"c{place}" for place in range(len(table.columns))]
    # great_tables escapes what it is given, and lets control characters stand.
    cells = {column: [one_line(row[place]) for row in table.rows] for place, column in enumerate(columns)}
    frame = pl.DataFrame(cells)
    untyped: Any = GT  # great_tables leaves types of dataframes unknown
    made = (
        untyped(frame, rowname_col=columns[0], id=name)
        .tab_stubhead(html(_breakable(table.columns[0])))
        .cols_label({column: html(_breakable(table.columns[place])) for place, column in enumerate(columns) if place})
        .tab_options(quarto_disable_processing=True)
    )
    for place, column in enumerate(columns[1:], start=1):
        made = made.cols_align(_ALIGN[table.align[place]], columns=column)
    made = made.fmt(_breakable, columns=columns[0])
    if tones:
        made = made.fmt(partial(_pill, tones=tones), columns=columns[-1])
    found = re.search(r"<table.*</table>", made.as_raw_html(inline_css=False), re.DOTALL)
    return found.group(0) if found else ""


def _breakable(cell: str) -> str:
    """Let a long name break where its words end."""
    return for_html(cell).replace("_", "_<wbr>").replace("/", "/<wbr>")


def _pill(cell: str, *, tones: Mapping[str, Tone]) -> str:
    tone = tones.get(cell)
    return for_html(cell) if tone is None else f'<span class="es-pill es-{tone}">{for_html(cell)}</span>'


def typst_table(table: Table, *, tones: Mapping[str, Tone], lead: bool = False) -> str:
    """Return a call of the template's `es-table`."""
    toned = ", ".join(f"{typst_string(word)}: {typst_string(tone)}" for word, tone in tones.items())
    rows = "".join(f"{typst_strings(row)}, " for row in table.rows)
    return (
        f"#es-table({typst_strings(table.columns)}, ({rows}), align: {typst_string(table.align)}, "
        f"tones: ({toned or ':'}), lead: {str(lead).lower()})"
    )


def with_cells(table: Table, cells: Mapping[str, Sequence[str]]) -> Table:
    """Return the table with other cells in the columns whose name begins so.

    Raises
    ------
    ValueError
        If a column is not there.
    """
    rows = [list(row) for row in table.rows]
    for beginning, column in cells.items():
        place = next((i for i, name in enumerate(table.columns) if name.startswith(beginning)), None)
        if place is None:
            message = f"the table has no column {beginning!r}; it has {', '.join(table.columns)}"
            raise ValueError(message)
        for row, cell in zip(rows, column, strict=True):
            row[place] = cell
    return replace(table, rows=tuple(tuple(row) for row in rows))


def without_empty_columns(table: Table) -> Table:
    """Return the table without the columns in which no row says anything."""
    kept = [place for place in range(len(table.columns)) if any(row[place].strip(" –") for row in table.rows)]
    return chosen_columns(table, kept) if table.rows else table


def chosen_columns(table: Table, places: Sequence[int]) -> Table:
    """Return the table with only the columns at `places`."""
    return Table(
        columns=tuple(table.columns[place] for place in places),
        rows=tuple(tuple(row[place] for place in places) for row in table.rows),
        align="".join(table.align[place] for place in places),
        caption=table.caption,
    )
