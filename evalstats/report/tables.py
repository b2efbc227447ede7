"""Tables for both targets: HTML by great_tables, styled by the page; Typst for the PDF."""

import re
from collections.abc import Mapping
from functools import partial
from typing import Any

import polars as pl

from evalstats.document.escape import for_html, one_line
from evalstats.document.model import Table, Tone, sentence
from evalstats.report.markup import both, float_block, prose, typst_string, typst_strings


def table_float(table: Table, label: str, *, after: str = "") -> str:
    """Return a table as a float: caption, number, and a region that scrolls where the screen is too narrow.

    Parameters
    ----------
    table
        Values are written by their columns and escaped here. The first column names the row.
    label
        Such as "tbl-groups": id of the float, and prefix of every id within.
    after
        HTML below the table: the link to its data.
    """
    body = html_table(table, f"{label}-table")
    classes = "es-table es-lead" if table.lead else "es-table"
    name = for_html(table.caption or label)
    region = f'<div class="{classes}" role="region" aria-label="{name}" tabindex="0">{body}</div>{after}'
    return float_block(label, both(region, typst_table(table)), prose(sentence(table.caption)))


def html_table(table: Table, name: str) -> str:
    """Return `<table>...</table>` with header cells tied to their columns and rows, and ids that begin with `name`."""
    from great_tables import GT, html

    columns = [f"c{place}" for place in range(len(table.columns))]
    titles = [column.title for column in table.columns]
    rows = table.written()
    # great_tables escapes what it is given, and lets control characters stand.
    cells = {column: [one_line(row[place]) for row in rows] for place, column in enumerate(columns)}
    frame = pl.DataFrame(cells)
    untyped: Any = GT  # great_tables leaves types of dataframes unknown
    made = (
        untyped(frame, rowname_col=columns[0], id=name)
        .tab_stubhead(html(_breakable(titles[0])))
        .cols_label({column: html(_breakable(titles[place])) for place, column in enumerate(columns) if place})
        .tab_options(quarto_disable_processing=True)
    )
    for place, column in enumerate(columns[1:], start=1):
        made = made.cols_align("left" if table.columns[place].left else "right", columns=column)
    made = made.fmt(_breakable, columns=columns[0])
    tones = _tones(table)
    if tones:
        made = made.fmt(partial(_pill, tones=tones), columns=columns[-1])
    found = re.search(r"<table.*</table>", made.as_raw_html(inline_css=False), re.DOTALL)
    return found.group(0) if found else ""


def _tones(table: Table) -> Mapping[str, Tone]:
    """Return the tones of the last column, where it holds verdicts."""
    return table.tones if table.columns[-1].kind == "verdict" else {}


def _breakable(cell: str) -> str:
    """Let a long name break where its words end."""
    return for_html(cell).replace("_", "_<wbr>").replace("/", "/<wbr>")


def _pill(cell: str, *, tones: Mapping[str, Tone]) -> str:
    tone = tones.get(cell)
    return for_html(cell) if tone is None else f'<span class="es-pill es-{tone}">{for_html(cell)}</span>'


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
