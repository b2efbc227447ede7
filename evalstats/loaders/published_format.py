"""A format of published numbers as a declaration: the signs of its tables, and what reads each into `PublishedRows`."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from evalstats.errors import UnreadableFileError
from evalstats.loaders.base import Head, Match, Rows, SingleFileLoader, Source, in_batches, read_head
from evalstats.loaders.format import Sign, surest
from evalstats.loaders.published_numbers import PublishedRows
from evalstats.schema.data import Problem

# Reads a table and returns the benchmark that the run of the file is of.
TableReader = Callable[[Head, Source, PublishedRows], str]


@dataclass(frozen=True, kw_only=True)
class PublishedFormat(SingleFileLoader):
    """A format of `aggregates`, declared; one run for every file.

    Attributes
    ----------
    name, title, version, upstream, harness
        As in `Format`.
    tables
        The signs of each table of the format, with what reads it; the surest that a file shows counts.
    primary
        The headlines, the first that a file has.
    expected
        What a file without a number should have held.
    """

    name: str
    title: str
    version: str
    upstream: str
    harness: str | None
    tables: tuple[tuple[Sign, TableReader], ...]
    primary: tuple[str, ...] = ()
    expected: str = "published numbers of models were expected"

    def sniff(self, head: Head) -> Match | None:
        """Say whether a file shows one of the signs."""
        return surest((sign for sign, _ in self.tables), head)

    def read(self, source: Source) -> Iterator[Rows | Problem]:
        """Yield aggregates, their metrics, the run, notes, and what was left out."""
        head, numbers = read_head(source.path), PublishedRows(higher_is_better=True)
        found, readers = self.sniff(head), [reader for _, reader in self.tables]
        if found is None and len({*readers}) > 1:
            raise UnreadableFileError(f"{source.path}: is none of {self.title}; {self.expected}")
        reader = next((each for sign, each in self.tables if sign.match(head) == found), readers[0])
        benchmark = reader(head, source, numbers)
        if not numbers.rows:
            raise UnreadableFileError(f"{source.path}: holds no published number of any model; {self.expected}")
        run = source.run_id()
        yield from in_batches(({**row, "run": run} for row in numbers.rows), "aggregates")
        metrics = list(numbers.metrics.values())
        if headline := next((name for name in self.primary if any(row["metric"] == name for row in metrics)), None):
            metrics = [{**row, "primary": row["metric"] == headline} for row in metrics]
        yield Rows(table="metrics", rows=metrics)
        yield Rows(table="runs", rows=[{"run": run, "benchmark": benchmark, "harness": self.harness}])
        yield from source.notes(numbers.doubts())
        yield from source.notes(numbers.left_out, "error")
