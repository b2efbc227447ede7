"""Records of result files one by one: a bad one is left out and counted, and what the file's end tells reaches all rows."""

import hashlib
import json
from collections.abc import Iterator
from typing import Final

import polars as pl

from evalstats.errors import UnreadableFileError
from evalstats.loaders.base import BATCH_ROWS, Frame, Source, read_head
from evalstats.loaders.files import JsonItem, bounded_lines, encoding_message, iter_json, loads, open_text
from evalstats.loaders.rows import Row, some_of
from evalstats.loaders.values import as_dict, as_text, json_text
from evalstats.schema.data import Problem
from evalstats.schema.tables import frame_from_rows

_ITEM_CHARS: Final = 16
_PLACES: Final = 5
# Names that harnesses and their examples give to every file alike; the folder then says more.
_GENERIC: Final = frozenset(
    {
        *(".latest_test_run", ".latest_run_full", ".temp_test_run_data", "latest_test_run", "results", "result"),
        *("output", "outputs", "ragas_results", "promptfoo-results", "promptfoo_results", "eval_results"),
        *("evaluation_results", "scores", "ragas_scores", "ragas_evaluation"),
    }
)
_GENERIC_FOLDERS: Final = frozenset({".deepeval", "deepeval", "promptfoo", "ragas", "evals", "data", "", "/", "."})


def hashed(*parts: object) -> str:
    """Name an item that has no id by what was asked, the same in every file.

    >>> hashed({"q": "2+2", "n": 1}) == hashed({"n": 1, "q": "2+2"}) != hashed({"q": "2+2"})
    True
    """
    return hashlib.sha256(json_text(parts).encode()).hexdigest()[:_ITEM_CHARS]


def named_after(source: Source) -> str:
    """Return what a run without a model's name is called: its file, or its folder where the file's name is everybody's.

    >>> from pathlib import Path
    >>> [
    ...     named_after(Source(path=Path(path)))
    ...     for path in ("a/gpt.csv", "a/results.json", "m1/.deepeval/.latest_test_run.json")
    ... ]
    ['gpt', 'a', 'm1']
    """
    if source.stem.lower() not in _GENERIC and not source.stem.startswith("."):
        return source.stem
    folders = (as_text(folder) or "" for folder in reversed(source.path.absolute().parts[:-1]))
    return next((folder for folder in folders if folder.lower() not in {*_GENERIC, *_GENERIC_FOLDERS}), source.stem)


def how_to_name(name: str) -> str:
    """Say that the file names no model, and what to do about it."""
    return f"the file does not say which model it is of; it is called {name!r} after the file. Rename the file to say otherwise"


class Records:
    """The records of a JSON or JSON Lines file, with the locator of each.

    `members` holds what else an object has, of the names that were asked for. What is no object is left out; `bad` counts
    those, and `leave_out` more. A JSON document that is cut off is refused.
    """

    def __init__(self, source: Source, *arrays: str, keep: tuple[str, ...] = ()) -> None:
        self.source = source
        self.head = read_head(source.path)
        self.members: dict[str, object] = {}
        self.n = 0
        self._arrays = arrays
        self._keep = frozenset(keep)
        self._bad: list[str] = []
        self._n_bad = 0

    def __iter__(self) -> Iterator[tuple[str, Row]]:
        for locator, value in self._lines() if self.head.shape == "lines" else self._values():
            record = as_dict(value)
            if record:
                self.n += 1
                yield locator, record
            else:
                self.leave_out(locator)

    def leave_out(self, locator: str) -> None:
        """Take note of a record that cannot be used."""
        self._n_bad += 1
        if len(self._bad) <= _PLACES:
            self._bad.append(locator)

    def problems(self, what: str) -> Iterator[Problem]:
        """Yield what was left out; `what` says in words what makes a record one."""
        if self._n_bad:
            message = f"{self._n_bad} records are no {what} and are left out ({some_of(self._bad)})"
            yield from self.source.notes([message], "error")

    def _values(self) -> Iterator[tuple[str, object]]:
        for part in iter_json(self.source.path, arrays=self._arrays):
            if isinstance(part, JsonItem):
                yield f"{part.member}[{part.index}]", part.value
            elif part.member in self._keep:
                self.members[part.member] = part.value

    def _lines(self) -> Iterator[tuple[str, object]]:
        path = self.source.path
        with open_text(path) as stream:
            try:
                for number, line in enumerate(bounded_lines(stream, str(path)), start=1):
                    if line.strip():
                        yield f"line {number}", _line(line)
            except UnicodeDecodeError as error:
                raise UnreadableFileError(encoding_message(str(path), error)) from error


def _line(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    try:
        return loads(text, "line")  # a number of thousands of digits
    except UnreadableFileError:
        return None


class Held:
    """Rows of `outcomes` kept as columns until the file's end tells what all of them lack."""

    def __init__(self) -> None:
        self._rows: list[Row] = []
        self._frames: list[pl.DataFrame] = []

    def add(self, row: Row) -> None:
        """Keep a row."""
        self._rows.append(row)
        if len(self._rows) >= BATCH_ROWS:
            self._pack()

    def frames(self, *columns: pl.Expr) -> Iterator[Frame]:
        """Yield all rows, with these columns in place of their own."""
        self._pack()
        for frame in self._frames:
            yield Frame(table="outcomes", frame=frame.with_columns(*columns))

    def _pack(self) -> None:
        if self._rows:
            self._frames.append(frame_from_rows(self._rows, "outcomes"))
            self._rows = []
