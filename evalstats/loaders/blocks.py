"""Any table file (delimited text, JSON, Parquet) as blocks of columns, in bounded memory; and tables inside a JSON document.

What text holds no dtype tells: delimited text and JSON are handed on as text (`bound_columns.Survey` says what columns hold).
"""

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Final, Literal, cast

import msgspec
import polars as pl
from msgspec.structs import replace

from evalstats.errors import InputError, Option, UnreadableFileError
from evalstats.grammar import comma_list, on_one_line, plural
from evalstats.loaders.base import Head
from evalstats.loaders.delimited import header_of, iter_frames
from evalstats.loaders.files import BadRow, cell_value, load_json
from evalstats.loaders.parquet_sizes import parquet_frames
from evalstats.loaders.typed_records import PlainRecords
from evalstats.loaders.values import as_dict, as_list, as_text, dicts

Record = dict[str, object]

# Stands in a path for every member of an object; the column of this name holds what each is called.
EACH: Final = "*"
KEY: Final = "key"
_MAX_LISTS: Final = 1_000
_MAX_DEPTH: Final = 12
_SHOWN: Final = 5
_SHOWN_KEYS: Final = 8
# A table of which more than one row in so many cannot be read is refused.
_ONE_IN: Final = 100
_SHOWN_BAD: Final = 3


class Listing(msgspec.Struct, frozen=True, kw_only=True):
    """A list of records inside a document: its path, its length, and the first record."""

    path: str
    length: int
    first: Record

    def __str__(self) -> str:
        keys = comma_list(map(on_one_line, self.first), _SHOWN_KEYS)
        return f"{on_one_line(self.path)} ({plural(self.length, 'row')}: {keys})"


def listings(document: object) -> list[Listing]:
    """Find the lists of records in a document, the longest first; those of the same fields under an object's keys are one."""
    found = {".".join(path): rows for path, rows in _lists_in(document, 0).items() if path}
    lists = [Listing(path=path, length=len(rows), first=rows[0]) for path, rows in found.items()]
    return sorted(lists, key=lambda each: -each.length)


def _lists_in(value: object, depth: int) -> dict[tuple[str, ...], list[Record]]:
    found: dict[tuple[str, ...], list[Record]] = {}
    if depth > _MAX_DEPTH:
        return found
    rows, members = list(dicts(value)), as_dict(value)
    if rows and len(rows) == len(as_list(value)):
        found[()] = rows
    if _is_keyed(members):
        found[EACH,] = [{KEY: name, **as_dict(inner)} for name, inner in members.items()]
    inside = {name: _lists_in(inner, depth + 1) for name, inner in [*members.items()][:_MAX_LISTS]}
    for path in dict.fromkeys(chain.from_iterable(inside.values())):
        own = {name: lists[path] for name, lists in inside.items() if path in lists}
        alike = len({frozenset(lists[0]) for lists in own.values()}) == 1 < len(own) and EACH not in path
        if alike and (path or len(own) == len(members)):
            found[EACH, *path] = [{KEY: name, **row} for name, lists in own.items() for row in lists]
        else:
            found |= {(name, *path): lists for name, lists in own.items()}
    for row in rows:
        for name, inner in row.items():
            for path, lists in _lists_in(inner, depth + 1).items():
                found.setdefault((name, *path), []).extend(lists)
    return found


def _is_keyed(members: Mapping[str, object]) -> bool:
    """Whether an object is a table whose rows are its members: objects that have the same keys."""
    rows = [set(as_dict(value)) for value in members.values()]
    return len(rows) > 1 and bool(rows[0]) and all(row == rows[0] for row in rows)


def rows_at(document: object, path: str) -> Iterator[Record]:
    """Yield the records of the list at a dotted path.

    Lists on the way are gone through one element at a time, and so are the members of an object at `*`. What stands
    beside the list in such an element goes with each of its records, under the path that it has (`runs.model`).
    """
    n_rows = 0
    for row in _walk(document, tuple(path.split(".")), (), {}):
        n_rows += 1
        yield row
    if not n_rows:
        raise InputError(f"there are no rows at {path!r}; {seen(listings(document))}")


def seen(lists: Sequence[Listing]) -> str:
    """Say which lists a document holds.

    >>> seen(listings({"a": 1}))
    'it holds no list of records'
    """
    if not lists:
        return "it holds no list of records"
    return f"its rows may be {comma_list(lists, _SHOWN, '; ')}"


def _walk(value: object, rest: tuple[str, ...], path: tuple[str, ...], beside: Record) -> Iterator[Record]:
    if isinstance(value, list):
        rows = cast("list[object]", value)
        for row in rows:
            if rest:
                yield from _walk(row, rest, path, {**beside, **_beside(row, path, rest[0])})
            elif isinstance(row, dict):
                yield {**beside, **cast("Record", row)}
            else:
                kind = type(row).__name__
                raise InputError(
                    f"{'.'.join(path)!r} holds a {kind} where a record was expected; name a list of objects"
                )
        return
    members = as_dict(value)
    if not rest or not members:
        return
    if rest[0] == EACH and EACH not in members:
        for name, inner in members.items():
            kept = {**beside, ".".join((*path, KEY)) if path and len(rest) > 1 else KEY: name}
            if len(rest) == 1 and isinstance(inner, dict):
                yield {**kept, **cast("Record", inner)}
            else:
                yield from _walk(inner, rest[1:], (*path, EACH), kept)
        return
    # A name may hold dots itself (gpt-3.5): the longest that is there is meant.
    for n_parts in range(len(rest), 0, -1):
        name = ".".join(rest[:n_parts])
        if name in members:
            yield from _walk(members[name], rest[n_parts:], (*path, name), beside)
            return


def _beside(row: object, path: tuple[str, ...], next_name: str) -> Record:
    """Return what stands in an element beside the list that is looked for."""
    return {
        ".".join((*path, name)): value
        for name, value in as_dict(row).items()
        if name != next_name and not isinstance(value, list)
    }


def oriented(document: object) -> list[Record] | None:
    """Return the rows of a frame as pandas writes it in one object; None for any other document.

    Known are `orient="split"`, `"table"`, `"index"` and `"columns"`, and a list for each column. Beside lists of one length may
    stand what says whose they are, and numbers that sum them up, which are no row's.

    >>> oriented({"model": "m", "accuracy": 0.5, "preds": ["a", "b"], "labels": ["a", "a"]})
    [{'model': 'm', 'preds': 'a', 'labels': 'a'}, {'model': 'm', 'preds': 'b', 'labels': 'a'}]
    """
    members = as_dict(document)
    names, data = as_list(members.get("columns")), as_list(members.get("data"))
    if data and names and set(members) <= {"columns", "index", "data"}:
        rows = [as_list(row) for row in data]
        same = all(len(row) == len(names) for row in rows)
        return [dict(zip(map(str, names), row, strict=True)) for row in rows] if same else None
    if data and set(members) == {"schema", "data"}:
        return list(dicts(data))
    if _is_keyed(members):
        table = {name: as_dict(inner) for name, inner in members.items()}
        plain = not any(isinstance(cell, dict | list) for inner in table.values() for cell in inner.values())
        by_row = next(iter(table.values()))
        # Keys of rows are numbers where pandas made them; where both are names, a column has values of one kind.
        if not plain:
            return None
        if all(name.isdigit() for name in by_row):
            return [{name: inner[key] for name, inner in table.items()} for key in by_row]
        return list(table.values()) if all(name.isdigit() for name in table) else None
    columns = {name: as_list(v) for name, v in members.items() if not isinstance(v, str | int | float | None)}
    lengths = {len(column) for column in columns.values()}
    alone = len(columns) == len(members)  # a list of one beside other things is no column
    if len(columns) > 1 and len(lengths) == 1 and min(lengths) > 1 - alone:
        if any(isinstance(cell, dict | list) for column in columns.values() for cell in column[:_SHOWN]):
            return None
        told = {name: value for name, value in members.items() if isinstance(value, str)}
        return [{**told, **dict(zip(columns, row, strict=True))} for row in zip(*columns.values(), strict=True)]
    return None


BLOCK_ROWS = 100_000
BLOCK_CHARS = 16 << 20
# A column that holds a longer text than this is an answer or a prompt, not a factor.
MAX_FACTOR_CHARS = 1_000
# A wider table has a column for each item or the like, and is not read as rows with factors.
MAX_COLUMNS = 10_000
# Of so many columns a message gives the names.
_SHOWN_COLUMNS = 12
# What a cell costs beside its text, for the size of a block of narrow cells.
_CELL_CHARS = 16
_SAFE = "column "

Place = tuple[int, dict[str, object]]


def column_list(columns: Iterable[str]) -> str:
    r"""Write the columns of a table for a message; of many the first.

    >>> column_list(["id", "accuracy\n(strict)"]), column_list(map(str, range(14)))
    ('id, accuracy (strict)', '0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 and 2 more')
    """
    return comma_list(map(on_one_line, columns), _SHOWN_COLUMNS)


class TableBlock(msgspec.Struct, frozen=True):
    """Some rows of a table: its columns, and where each row stands in the file.

    `texts` are columns known to hold text where all columns are handed on as text; `nested` hold lists or objects;
    `repaired` hold values that no table can and that were put in another way. `kind` says what knows the dtypes: nothing
    (delimited text), each value (JSON), or each column.
    """

    frame: pl.DataFrame
    places: pl.Series
    texts: frozenset[str] = frozenset()
    nested: frozenset[str] = frozenset()
    repaired: frozenset[str] = frozenset()
    kind: Literal["text", "json", "typed"] = "text"

    def cells(self, source: str) -> pl.Series:
        """Return a column; nulls where this block of a JSON file lacks one that others have."""
        return self.frame[source] if source in self.frame.columns else self.repeated(None)

    def repeated(self, value: str | None) -> pl.Series:
        """Return one text on every row."""
        return pl.Series([value], dtype=pl.String).new_from_index(0, self.frame.height)


class SkippedRows(msgspec.Struct):
    """Rows of a table that are none: how many, and what is wrong with the first of them."""

    n: int = 0
    first: list[str] = msgspec.field(default_factory=list[str])

    def anew(self) -> BadRow:
        """Forget what an earlier reading left out, and take note of what this one does."""
        self.n = 0
        self.first.clear()
        return self.add

    def add(self, problem: str) -> None:
        """Take note of one more."""
        self.n += 1
        if len(self.first) < _SHOWN_BAD:
            self.first.append(problem)

    def check(self, path: Path, n_rows: int) -> None:
        """Refuse a table with so many such rows that it is likely written or read in a wrong way."""
        if self.n * _ONE_IN > self.n + n_rows:
            raise UnreadableFileError(f"{path}: {self.first[0]}")

    def told(self, n_rows: int) -> Iterator[str]:
        """Say how many of all rows are left out, and why."""
        if self.n:
            more = "; ..." if self.n > len(self.first) else ""
            first = "; ".join(problem.partition("; ")[0] for problem in self.first)
            yield f"{self.n:,} of {self.n + n_rows:,} rows cannot be read and are dropped ({first}{more})"


class TableFile(msgspec.Struct, frozen=True, kw_only=True):
    """A table on disk. `blocks()` reads it from its beginning each time; `word` names a row's place in messages.

    `left_out` holds the rows that the last reading left out.
    """

    word: str
    blocks: Callable[[], Iterator[TableBlock]]
    left_out: SkippedRows = msgspec.field(default_factory=SkippedRows)


def open_table(head: Head, rows: str | None = None, *, lenient: bool = False, deep: Sequence[str] = ()) -> TableFile:
    """Choose the reader by what the file holds, not by its name.

    `rows` is where in a JSON document the list of rows lies; None for a file that is the list, or a frame as pandas writes it.
    With `lenient`, a row that is none is left out; whoever reads the table says so. `deep` are paths into a record that
    become columns of their own beside the fields of the first two levels (`grade.detail.score`, `scores.0`).
    """
    path = head.path
    if rows is not None or head.shape == "object":
        return _inside(head, rows, deep)
    left_out = SkippedRows()

    def bad() -> BadRow | None:
        return left_out.anew() if lenient else None

    if head.shape == "text":
        return TableFile(
            word="line",
            blocks=lambda: _with_cells(delimited_blocks(path, head.delimiter, bad()), deep),
            left_out=left_out,
        )
    if head.shape in {"lines", "array"}:
        return TableFile(
            word="line" if head.shape == "lines" else "record",
            blocks=lambda: json_blocks(PlainRecords(path, bad()).numbered(), deep),
            left_out=left_out,
        )
    if head.shape == "parquet":
        return TableFile(word="row", blocks=lambda: _with_cells(parquet_blocks(path), deep))
    held = {"empty": "is empty", "zip": "is an archive"}.get(head.shape, "is binary")
    raise UnreadableFileError(
        f"{path}: {held}; a table was expected (CSV, TSV, JSON Lines, a JSON list of records, or Parquet)"
    )


def _inside(head: Head, rows: str | None, deep: Sequence[str]) -> TableFile:
    """Open the table inside a JSON document."""
    path = head.path
    if head.shape not in {"object", "array", "lines"}:
        raise UnreadableFileError(f"{path}: is no JSON document, so its rows lie at no path; leave rows={rows} out")
    if head.shape == "lines":
        document: object = [row for _, row in PlainRecords(path).numbered()]
    else:
        document = load_json(path)
    if rows is not None:
        # What stands in the document itself, beside its rows, has a path that begins with a /.
        beside = {path: _at(as_dict(document), path[1:]) for path in deep if path.startswith("/")}
        return TableFile(
            word="record",
            blocks=lambda: json_blocks(enumerate({**row, **beside} for row in rows_at(document, rows)), deep),
        )
    found = oriented(document)
    if found is None:
        raise UnreadableFileError(
            f"{path}: holds one JSON object; {seen(listings(document))}. Say where the rows are: "
            f"{Option('map', blank='PATH', of='rows')}"
        )
    return TableFile(word="record", blocks=lambda: json_blocks(enumerate(found), deep))


def safe_name(name: str) -> str:
    """Return the name a column is worked on by: Polars takes `*` and `^...$` for patterns, even in a series' own name."""
    is_pattern = name == "*" or (name.startswith("^") and name.endswith("$"))
    return f"{_SAFE}{name}" if is_pattern else name


def own_name(name: str) -> str:
    """Return the name that `safe_name` made a column's name from."""
    bare = name.removeprefix(_SAFE)
    return bare if safe_name(bare) == name else name


def check_width(n_columns: int) -> None:
    """Refuse a table with too many columns."""
    if n_columns > MAX_COLUMNS:
        raise InputError(
            f"has more than {MAX_COLUMNS} columns; a table has a row for each item and model and its factors as columns: "
            "turn it round, or leave columns out"
        )


def frame_block(frame: pl.DataFrame, *, first: int = 0) -> TableBlock:
    """Make a block of a frame; structs become columns `name.field`, one level deep.

    Durations become text in ISO 8601, labels text; a column of a dtype that has no text (an interval, a map) counts as nested.
    """
    check_width(frame.width)
    columns: dict[str, pl.Series] = {}
    for given in frame.iter_columns():
        series = given.alias(safe_name(given.name))
        parts = series.struct.unnest().iter_columns() if isinstance(series.dtype, pl.Struct) else ()
        columns.update({f"{series.name}.{part.name}": part for part in parts})
        if not isinstance(series.dtype, pl.Struct):
            columns[series.name] = series
    check_width(len(columns))
    plain = {name: series if is_nested(series.dtype) else _plain(series) for name, series in columns.items()}
    nothing = pl.Series([None], dtype=pl.String).new_from_index(0, frame.height)
    made = pl.DataFrame([(nothing if series is None else series).alias(name) for name, series in plain.items()])
    nested = frozenset(name for name, series in plain.items() if series is None)
    return TableBlock(made, _places(range(first, first + frame.height)), nested=nested, kind="typed")


def _plain(series: pl.Series) -> pl.Series | None:
    """Return a column as it is, or as text where its dtype is none that can be worked on; None where it has no text."""
    if isinstance(series.dtype, pl.Duration):
        return series.dt.to_string("iso")
    if isinstance(series.dtype, pl.Categorical | pl.Enum):
        return series.cast(pl.String)  # a label may be long
    try:
        series.head(1).cast(pl.String)
    except pl.exceptions.PolarsError:
        return None
    return series


def delimited_blocks(path: Path, delimiter: str, bad: BadRow | None = None) -> Iterator[TableBlock]:
    """Read delimited text; an empty cell is null, a column without a name is dropped."""
    header = header_of(path, delimiter)
    check_width(len(header))
    keep = [place for place, name in enumerate(header) if name]
    size = {"most_rows": BLOCK_ROWS, "most_chars": BLOCK_CHARS}
    for frame, lines in iter_frames(path, delimiter, n_columns=len(header), bad=bad, **size):
        columns = [frame[f"{place}"].alias(safe_name(header[place])) for place in keep]
        yield TableBlock(pl.DataFrame(columns), _places(lines))


def parquet_blocks(path: Path) -> Iterator[TableBlock]:
    """Read a Parquet file some row groups at a time; columns of bytes are left out."""
    for first, frame in parquet_frames(path, BLOCK_ROWS, lambda _, dtype: not isinstance(dtype, pl.Binary | pl.Object)):
        yield frame_block(frame, first=first)


def _with_cells(blocks: Iterable[TableBlock], deep: Sequence[str]) -> Iterator[TableBlock]:
    """Make columns of paths into cells that hold JSON (`grade.parts.0.score`), where they lead anywhere."""
    for block in blocks:
        frame = block.frame
        for path in deep:
            name, _, rest = path.partition(".")
            if rest and path not in frame.columns and name in frame.columns and frame[name].dtype == pl.String:
                held = [*map(cell_value, frame[name])]
                for each in dict.fromkeys(each for value in held for each in _paths(value, rest)):
                    cells = [_cell(_at(value, each)) for value in held]
                    frame = frame.with_columns(pl.Series(_name(f"{name}.{each}"), cells, dtype=pl.String))
        yield replace(block, frame=frame) if frame is not block.frame else block


def json_blocks(records: Iterable[Place], deep: Sequence[str] = ()) -> Iterator[TableBlock]:
    """Put records, each with its place, together in blocks; `deep` are paths that become columns where they lead anywhere."""
    cells: list[dict[str, object]] = []
    places: list[int] = []
    chars = 0
    for place, record in records:
        plain = {**flat(record)} if deep else flat(record)
        for path in deep:
            for each in _paths(record, path):
                if each not in plain and (value := _at(record, each)) is not None:
                    plain[_name(each)] = value
        cells.append(plain)
        places.append(place)
        chars += _CELL_CHARS * len(plain)
        for value in plain.values():
            if type(value) is str:
                chars += len(value)
        if len(cells) >= BLOCK_ROWS or chars >= BLOCK_CHARS:
            yield _cell_block(cells, places)
            cells, places, chars = [], [], 0
    if cells:
        yield _cell_block(cells, places)


def _paths(record: object, path: str) -> list[str]:
    """Return a path, with each name or place in the place of a star that is a step of it.

    >>> (
    ...     _paths({"answers": {"a": {"ok": 1}, "b": {}}, "tries": [1, 0]}, "answers.*.ok"),
    ...     _paths({"tries": [1, 0]}, "tries.*"),
    ... )
    (['answers.a.ok', 'answers.b.ok'], ['tries.0', 'tries.1'])
    """
    before, star, after = f".{path}.".partition(".*.")
    if not star:
        return [path]
    members = _at(record, before[1:]) if before else record
    names = as_dict(members) or range(len(as_list(members)))
    return [f"{before}.{name}.{after}".strip(".") for name in names]


def _at(value: object, path: str) -> object:
    """Follow a dotted path into a record: names of members, which may hold points, and places in lists; None where it ends.

    >>> _at({"grade": {"parts": [{"score": 1}]}}, "grade.parts.0.score"), _at({"gpt-4.1": {"em": 0}}, "gpt-4.1.em")
    (1, 0)
    """
    listed = as_list(value)
    names = path.split(".")
    for n_names in range(1, len(names) + 1):
        name, rest = ".".join(names[:n_names]), ".".join(names[n_names:])
        if listed:
            inner = listed[int(name)] if name.isdecimal() and int(name) < len(listed) else None
        else:
            inner = as_dict(value).get(name)
        if inner is not None and (found := _at(inner, rest) if rest else inner) is not None:
            return found
    return None


def flat(record: dict[str, object]) -> dict[str, object]:
    """Take the fields of an object one level up, as `name.field`.

    >>> flat({"id": 1, "grade": {"score": 0.5}})
    {'id': 1, 'grade.score': 0.5}
    """
    check_width(len(record))
    if dict not in set(map(type, record.values())):
        names = _names(tuple(record))
        return record if names is None else dict(zip(names, record.values(), strict=True))
    found: dict[str, object] = {}
    for name, value in record.items():
        inner = as_dict(value)
        if inner:
            found.update({_name(f"{name}.{part}"): deep for part, deep in inner.items()})
        else:
            found[_name(name)] = value
    check_width(len(found))
    return found


@lru_cache
def _names(names: tuple[str, ...]) -> tuple[str, ...] | None:
    """Return the names of columns for those of members; None where they are these."""
    found = (*map(_name, names),)
    return None if found == names else found


@lru_cache(maxsize=MAX_COLUMNS)
def _name(name: str) -> str:
    return safe_name(name if name.isascii() else as_text(name) or "")


def _cell_block(cells: list[dict[str, object]], places: list[int]) -> TableBlock:
    names = dict.fromkeys(chain.from_iterable(cells))
    names.pop("", None)
    check_width(len(names))
    texts: set[str] = set()
    nested: set[str] = set()
    repaired: set[str] = set()
    columns: dict[str, pl.Series] = {}
    for name in names:
        values = [row.get(name) for row in cells]
        kinds = set(map(type, values))
        texts.update([name] if str in kinds else [])
        plain = _of_a_kind(values, kinds - {type(None)})
        if plain is not None:
            columns[name] = plain.alias(name)
            continue
        nested.update([name] if kinds & {list, dict} else [])
        if str in kinds:  # numbers among texts are ids: 12.0 is the same as "12"
            values = [as_text(value) if isinstance(value, float) else value for value in values]
        repaired.update([name] if any(map(_is_unfit, values)) else [])
        columns[name] = pl.Series(name, [_cell(value) for value in values], dtype=pl.String)
    return TableBlock(
        pl.DataFrame(columns),
        _places(places),
        texts=frozenset(texts),
        nested=frozenset(nested),
        repaired=frozenset(repaired),
        kind="json",
    )


def _of_a_kind(values: list[object], kinds: set[type]) -> pl.Series | None:
    """Return values of one kind as text; None where they are of several, or one of them is none that a table can hold."""
    try:
        if kinds <= {str}:
            return pl.Series(values, dtype=pl.String)
        if kinds in ({int}, {bool}):
            return pl.Series(values, dtype=pl.Int64 if kinds == {int} else pl.Boolean).cast(pl.String)
    except (OverflowError, TypeError, UnicodeEncodeError):  # the first two of a whole number of more than 64 bits
        pass
    return None


def _is_unfit(value: object) -> bool:
    """Whether a value is one that no table can hold: a text with half of a character, a number of 309 digits or more."""
    if isinstance(value, str):
        return not value.isascii() and value != as_text(value)
    return isinstance(value, float) and math.isinf(value)


def _cell(value: object) -> str | None:
    """Return a JSON value as text; of lists only those of plain values (tags) are kept."""
    if isinstance(value, str):
        return value if value.isascii() else as_text(value)
    if value is None or isinstance(value, dict):
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        elements = cast("list[object]", value)
        plain = len(elements) <= MAX_FACTOR_CHARS and all(isinstance(part, str | int | float) for part in elements)
        return json.dumps(elements) if plain else None
    return str(value)


def is_nested(dtype: pl.DataType) -> bool:
    """Whether a dtype holds lists, objects or bytes."""
    return isinstance(dtype, pl.List | pl.Array | pl.Struct | pl.Object | pl.Binary)


def _places(places: Sequence[int]) -> pl.Series:
    return pl.Series("place", places, dtype=pl.Int64)
