"""A table of anybody's own: CSV, TSV, JSON Lines, a JSON list of records, or Parquet, one score or several a row."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from evalstats.errors import UnreadableFileError
from evalstats.loaders.base import Frame, Head, Match, Rows, SingleFileLoader, Source, read_head
from evalstats.loaders.binding import bind
from evalstats.loaders.blocks import open_table, surveyed
from evalstats.loaders.delimited import header_of
from evalstats.loaders.mapping import ColumnMap
from evalstats.loaders.tidy import Tidier
from evalstats.schema.data import Problem

_NEEDED = frozenset({"item", "score", "model"})
_SHAPES = frozenset({"text", "lines", "array", "parquet"})


@dataclass(frozen=True, slots=True)
class TableLoader(SingleFileLoader):
    """Loader of plain tables.

    Without a column map a table is accepted if it has columns called item, score and model. Every other column with a
    name of the glossary is taken for that, every further one is a factor.

    A score is a number, a boolean, a grade (C, P, I, N, yes, no), or a label that the map gives a number for; an unknown
    word is an error, an empty cell or NaN is unscored. A metric is binary if only 0 and 1 were seen, bounded if its
    scores lie in [0, 1], else continuous without bounds; percent and other scales are kept in their unit, and the map
    says what it is (`scale=percent`). Repetitions need a `trial`, and every model the same item ids.

    Parameters
    ----------
    column_map
        Where the standard columns are found.
    """

    column_map: ColumnMap = field(default_factory=ColumnMap)

    name = "table"
    title = "table with a row for each item and model (.csv, .tsv, .jsonl, .json, .parquet)"
    version = "1"

    def sniff(self, head: Head) -> Match | None:
        """Recognise a table with columns called item, score and model; any loader of a known format is surer."""
        names = frozenset(head.columns) or head.keys
        if head.shape in _SHAPES and names >= _NEEDED:
            return Match(confidence=0.2, reason="a table with columns item, score and model")
        return None

    def read(self, source: Source) -> Iterator[Rows | Frame | Problem]:
        """Yield outcomes block by block, then the metrics and runs seen, and notes.

        Raises
        ------
        InputError
            Naming the line: a row that does not fit the header, an unknown score, a missing id, a repeated row; or
            naming a mapped column that is not there.
        UnreadableFileError
            If the file is no table.
        """
        head = read_head(source.path)
        survey, blocks = surveyed(open_table(head))
        if survey.n_rows == 0:
            message = f"{source.path}: holds no rows"
            raise UnreadableFileError(message)
        binding = bind(self.column_map, survey.columns, model=source.stem)
        word = {"array": "record", "parquet": "row"}.get(head.shape, "line")
        tidier = Tidier(self.column_map, binding, survey, word, lambda parts: source.run_id(*parts))
        for block in blocks:
            yield Frame(table="outcomes", frame=tidier.outcomes(block))
        yield Rows(table="metrics", rows=tidier.metrics())
        yield Rows(table="runs", rows=tidier.runs())
        notes = list(tidier.notes())
        if "model" not in binding.columns and "model" not in self.column_map.constants:
            notes.append(f"no column names the model, so the file's name is taken for it: {source.stem!r}")
        if head.shape == "text" and "" in header_of(source.path, head.delimiter):
            notes.append("a column without a name is left out")
        for note in notes:
            yield Problem(path=str(source.path), message=note, severity="note")


LOADER = TableLoader()
