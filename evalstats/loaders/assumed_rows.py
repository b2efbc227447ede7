"""Rows of a table whose columns are found by a form (`evalstats.loaders.assumed`)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from evalstats.errors import InputError, UnreadableFileError
from evalstats.loaders.assumed import KEPT, SHAPES, Bound, Form, bind_form, listed
from evalstats.loaders.base import read_head
from evalstats.loaders.blocks import MAX_FACTOR_CHARS, Block, Survey, open_table, surveyed
from evalstats.loaders.cells import factor_of, failures_of, text_of, without_points
from evalstats.loaders.mapping import ColumnMap
from evalstats.loaders.standard import Places, read_standard

_PLACE = "\x00place"
_FAILURES = ("error", "judge_error")


@dataclass(frozen=True, slots=True)
class Record:
    """One row: where it stands, its fields as text (None where empty), and what goes into the outcome as it is."""

    where: str
    locator: str
    fields: Mapping[str, str | None]
    kept: Mapping[str, object]


@dataclass(slots=True)
class AssumedTable:
    """A table that is read by a form, row by row."""

    form: Form
    map_: ColumnMap
    bound: Bound
    word: str
    _survey: Survey = field(repr=False)
    _blocks: Iterator[Block] = field(repr=False)

    @classmethod
    def open(cls, path: Path, form: Form, map_: ColumnMap) -> "AssumedTable":
        """Look at all of a file and find the form's columns.

        Raises
        ------
        InputError
            As `bind_form` does.
        UnreadableFileError
            If the file is no table, is damaged, or holds no rows.
        """
        head = read_head(path)
        if head.shape not in SHAPES:
            what = "CSV, TSV, JSON Lines, a JSON list of records, or Parquet"
            raise UnreadableFileError(f"{path}: is no table; {form.benchmark} results are read from {what}")
        survey, blocks = surveyed(open_table(head))
        if survey.n_rows == 0:
            raise UnreadableFileError(f"{path}: holds no rows")
        word = {"array": "record", "parquet": "row"}.get(head.shape, "line")
        return cls(form, map_, bind_form(form, map_, survey.columns), word, survey, blocks)

    def records(self) -> Iterator[Record]:
        """Yield the rows in the order of the file; once only.

        Raises
        ------
        InputError
            Naming the row and value that does not fit its column; or the field that holds lists or objects.
        """
        fixed = {name: value for name, value in self.bound.constants.items() if self.form.called(name)}
        others = {name: value for name, value in self.bound.constants.items() if name not in fixed and name not in KEPT}
        for block in self._blocks:
            fields = [self._field(block, name, source) for name, source in self.bound.fields.items()]
            kept = [*self._kept(block), *self._factors(block), block.places.alias(_PLACE)]
            rows = zip(
                pl.DataFrame(fields).iter_rows(named=True),
                pl.DataFrame(kept).iter_rows(named=True),
                strict=True,
            )
            for own, passed in rows:
                place = passed.pop(_PLACE)
                where = f"{self.word} {place}"
                locator = f"[{place}]" if self.word == "record" else where
                yield Record(where, locator, {**fixed, **own}, {**others, **passed})

    def notes(self) -> Iterator[str]:
        """Say what a reader should know: that the columns are assumed, and which were left out."""
        yield self.form.note
        left_out = [name for name in self.bound.factors.values() if self._is_no_factor(name)]
        if left_out:
            what = f"lists, objects or texts over {MAX_FACTOR_CHARS} characters"
            yield f"left out as factors, since they hold {what}: {listed(left_out)}"
        if self.bound.n_left_out:
            how = self.form.how_to_map("NAME=COLUMN")
            yield f"{self.bound.n_left_out} more columns are left out; name those that you need: {how}"
        repaired = sorted(self._survey.repaired)
        if repaired:
            yield f"half characters were replaced, and numbers too large for any table are 'inf', in: {listed(repaired)}"

    def _is_no_factor(self, source: str) -> bool:
        return source in self._survey.nested or source in self._survey.long

    def _field(self, block: Block, name: str, source: str) -> pl.Series:
        cells = self._cells(block, name, source)
        if name in _FAILURES:
            return failures_of(cells).alias(name)
        text = text_of(cells).str.strip_chars()
        return text.set(text == "", None).alias(name)

    def _kept(self, block: Block) -> Iterator[pl.Series]:
        places = Places(self.word, block.places)
        for name, column in KEPT.items():
            if name in self.bound.kept:
                cells = self._cells(block, name, self.bound.kept[name])
            elif name in self.bound.constants:
                cells = pl.Series([self.bound.constants[name]]).new_from_index(0, block.frame.height)
            else:
                continue
            yield read_standard(column, cells, places).alias(name)

    def _factors(self, block: Block) -> Iterator[pl.Series]:
        for name, source in self.bound.factors.items():
            if not self._is_no_factor(source):
                yield factor_of(_column(block, source), self._survey.dtype(source)).alias(name)

    def _cells(self, block: Block, name: str, source: str) -> pl.Series:
        """Return a column with the words that the map gives for its labels, and whole numbers without a point."""
        if source in self._survey.nested and name != "tags":
            raise InputError(f"column {source!r} holds lists or objects; {name} needs one plain value a row")
        cells = _column(block, source)
        if cells.dtype == pl.String and self._survey.are_numbers(source):
            cells = without_points(cells)
        known = self.form.called(name)
        labels: dict[str, str] = {}
        for given in (*(known.also if known is not None else ()), name):
            labels |= {label: str(meaning) for label, meaning in self.map_.values.get(given, {}).items()}
        return text_of(cells).replace(labels) if labels else cells


def _column(block: Block, source: str) -> pl.Series:
    """Take a column out of a block; a JSON block may lack a column that others have."""
    if source in block.frame.columns:
        return block.frame[source]
    return pl.Series([None], dtype=pl.String).new_from_index(0, block.frame.height)
