"""Records of a JSON file one by one, where a single bad one is counted, named and left out instead of stopping the rest."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Final, cast

import polars as pl

from evalstats.errors import UnreadableFileError
from evalstats.loaders.base import Frame, Rows, Source, in_batches, read_head
from evalstats.loaders.files import JsonItem, bounded_lines, encoding_message, iter_json, loads, open_text
from evalstats.loaders.rows import Row, some_of
from evalstats.schema.columns import schema_of
from evalstats.schema.data import Problem
from evalstats.schema.tables import factor_series

# What a file of records looks like from its first bytes.
RECORD_SHAPES: Final = frozenset({"array", "lines"})
_PLACES: Final = 5


def outcome_frames(rows: Iterable[Row], constant: Mapping[str, object] | None = None) -> Iterator[Frame]:
    """Make frames of outcomes, batch by batch; `constant` are columns that are alike in every row.

    >>> [frame.frame.columns for frame in outcome_frames([{"item": "q1"}], {"model": "m"})]
    [['item', 'model']]
    """
    standard = schema_of("outcomes")
    for batch in in_batches(rows, "outcomes"):
        columns: list[pl.Series] = []
        for name in dict.fromkeys(chain.from_iterable(dict.fromkeys(map(tuple, batch.rows)))):
            values = [row.get(name) for row in batch.rows]
            dtype = standard.get(name)
            columns.append(factor_series(name, values) if dtype is None else pl.Series(name, values, dtype=dtype))
        alike = [pl.lit(value, dtype=standard.get(name)).alias(name) for name, value in (constant or {}).items()]
        yield Frame(table="outcomes", frame=pl.DataFrame(columns).with_columns(alike))


class Records:
    """The objects of a JSON array or of JSON Lines; `called` is what they are, for messages.

    `n_read` counts all that stood in the file, `n_left_out` those that no row was made of.
    """

    def __init__(self, source: Source, called: str) -> None:
        self.source = source
        self.called = called
        self.n_read = 0
        self._places: dict[str, list[int]] = {}
        self._counts: dict[str, int] = {}
        self._is_lines = read_head(source.path).shape == "lines"

    @property
    def n_left_out(self) -> int:
        """How many records no row was made of."""
        return sum(self._counts.values())

    def __iter__(self) -> Iterator[tuple[int, Row]]:
        """Yield place and members of each record: the line from 1, or the number of the element from 0."""
        for place, value in self._lines() if self._is_lines else self._elements():
            self.n_read += 1
            if isinstance(value, dict):
                yield place, cast("Row", value)
            elif not isinstance(value, _NotJson):
                self.leave_out(place, "a bare text" if isinstance(value, str) else "no JSON object")

    def locator(self, place: int) -> str:
        """Name a place as the tables do."""
        return f"{place}" if self._is_lines else f"[{place}]"

    def leave_out(self, place: int, why: str) -> None:
        """Take note of a record that no row is made of; `why` is what it is or lacks, as in "no item"."""
        self._counts[why] = self._counts.get(why, 0) + 1
        places = self._places.setdefault(why, [])
        if len(places) <= _PLACES:
            places.append(place)

    def problems(self) -> Iterator[Problem]:
        """Yield what was left out: how many, why, and the first places."""
        word = "line" if self._is_lines else "element"
        for why, places in self._places.items():
            what = f"{self._counts[why]:,} of {self.n_read:,} {self.called} are left out ({why}): {word}"
            yield from self.source.notes([f"{what} {some_of(places, _PLACES)}"], "error")

    def parts(
        self, rows: Iterable[Row], runs: Mapping[str, Row], constant: Mapping[str, object] | None = None
    ) -> Iterator[Rows | Frame | Problem]:
        """Yield outcomes in batches, then their runs and what was left out; refuse a file that no outcome came of.

        `constant` are columns that are alike in every row.
        """
        n = 0
        for batch in outcome_frames(rows, constant):
            n += batch.frame.height
            yield batch
        if not n:
            first = next((problem.message for problem in self.problems()), "it holds none at all")
            raise UnreadableFileError(f"{self.source.path}: none of its {self.called} could be read; {first}")
        yield Rows(table="runs", rows=list(runs.values()))
        yield from self.problems()

    def _elements(self) -> Iterator[tuple[int, object]]:
        for part in iter_json(self.source.path):
            if not isinstance(part, JsonItem):
                raise UnreadableFileError(
                    f"{self.source.path}: is one JSON object; a list of {self.called} was expected"
                )
            yield part.index, part.value

    def _lines(self) -> Iterator[tuple[int, object]]:
        with open_text(self.source.path) as stream:
            try:
                for number, line in enumerate(bounded_lines(stream, str(self.source.path)), start=1):
                    if not line.strip():
                        continue
                    try:
                        value = loads(line, "")
                    except UnreadableFileError:
                        self.leave_out(number, "no JSON, or cut off")
                        value = _NotJson()
                    yield number, value
            except UnicodeDecodeError as error:
                raise UnreadableFileError(encoding_message(str(self.source.path), error)) from error


class _NotJson:
    """Stands for a line that could not be parsed."""


class Repeats:
    """Tells the first, second, ... time that something is seen.

    >>> repeats = Repeats()
    >>> repeats.next("q1"), repeats.next("q1"), repeats.next("q2")
    (0, 1, 0)
    """

    def __init__(self) -> None:
        self._seen: dict[object, int] = {}
        self.n_again = 0

    def next(self, key: object) -> int:
        """Return how often the key was seen before."""
        number = self._seen.get(key, 0)
        self._seen[key] = number + 1
        self.n_again += number > 0
        return number
