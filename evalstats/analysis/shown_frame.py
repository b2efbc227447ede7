"""A result's rows as a Polars frame that is good to read too: what answers stands first, numbers have the digits that matter.

The frame itself has every column and every digit, in its own order; what is made of it is a plain frame again.
"""

import math
import re
import textwrap
from shutil import get_terminal_size
from typing import Any, Final

import polars as pl

from evalstats.document.escape import one_line
from evalstats.document.formats import html_table
from evalstats.document.model import Column, Kind, Table, Value
from evalstats.document.terminal import table_text
from evalstats.grammar import plural

# What a reader looks for, behind what the rows are about.
_ANSWER: Final = ("estimate", "conf_low", "conf_high", "p_value", "p_adjusted", "verdict")
_NEEDED: Final = frozenset({"estimate", "conf_low", "conf_high"})
_ROWS: Final = 20
_LONG: Final = 60  # letters of a cell
_DIGITS: Final = 3  # that count


class ShownFrame(pl.DataFrame):
    """A frame that shows its leading columns, rounded, as wide as the terminal; a notebook shows all that hold anything."""

    def __repr__(self) -> str:
        """Write the first rows, and name the columns that found no room."""
        table, width = _table(self), get_terminal_size().columns
        text = table_text(table, width=width)
        titles = re.split(r"\s{2,}|\n", text.partition("─")[0])
        hidden = [one_line(name) for name in self.columns if one_line(name) not in titles]
        more = f"{_size(self)}; not shown: {', '.join(hidden)}" if hidden else _size(self)
        return f"{text}\n{textwrap.fill(more, width)}"

    def __str__(self) -> str:
        """Write the same."""
        return repr(self)

    def _repr_html_(self, **_: Any) -> str:
        return f'<div style="overflow-x:auto">{html_table(_table(self))}<small>{_size(self)}</small></div>'


def _size(frame: pl.DataFrame) -> str:
    first = f"the first {_ROWS} of " if frame.height > _ROWS else ""
    return f"{first}{plural(frame.height, 'row')}, {plural(frame.width, 'column')}"


def _table(frame: pl.DataFrame) -> Table:
    """Return the first rows without columns that say nothing, in the order of a reader."""
    names = frame.columns
    about = names[: names.index("estimate")] if "estimate" in names else names[:1]
    about = [name for name in about if frame[name].dtype == pl.String] or names[:1]
    order = list(dict.fromkeys([*about, *(name for name in _ANSWER if name in names), *names]))
    kept = [name for name in order if frame.is_empty() or _says_something(frame[name])]
    rows = frame.select(kept).head(_ROWS)
    digits = {name: _digits(frame[name]) for name in kept if frame[name].dtype.is_float()}
    # An estimate and its interval have as many.
    alike = max((digits[name] for name in _NEEDED & digits.keys()), default=0)
    digits |= dict.fromkeys(_NEEDED & digits.keys(), alike)
    needed = {*about, *_NEEDED}
    return Table(
        id="frame",
        columns=tuple(
            Column(
                title=name,
                kind=_kind(frame[name]),
                digits=digits.get(name, 0),
                spare=name not in needed,
                plain=True,
            )
            for name in kept
        ),
        rows=tuple(tuple(map(_value, row)) for row in rows.rows()),
    )


def _says_something(values: pl.Series) -> bool:
    known = values.drop_nulls()
    return known.len() > 0 and not (known.dtype == pl.String and (known == "").all())


def _kind(values: pl.Series) -> Kind:
    if values.name in ("p_value", "p_adjusted"):
        return "p"
    return "count" if values.dtype.is_integer() else "number" if values.dtype.is_float() else "text"


def _digits(values: pl.Series) -> int:
    """Return the decimals with which the largest number has three digits that count; none where all are whole."""
    known = values.filter(values.is_finite()).abs()
    if (known == known.round()).all():
        return 0
    return max(_DIGITS - 1 - math.floor(math.log10(float(known.to_numpy().max()))), 0)


def _value(cell: object) -> Value:
    if cell is None or isinstance(cell, float) or (isinstance(cell, int) and not isinstance(cell, bool)):
        return cell
    text = str(cell)
    return text if len(text) <= _LONG else f"{text[: _LONG - 1]}…"
