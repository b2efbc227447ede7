"""A table of anybody's own: CSV, TSV, JSON Lines, a JSON list of records, or Parquet, one score or several a row."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from evalstats.errors import InputError, Option, UnreadableFileError, together
from evalstats.grammar import comma_list
from evalstats.loaders.base import PARQUET_FAULTS, Frame, Head, Match, Rows, SingleFileLoader, Source, read_head
from evalstats.loaders.binder import Record, as_options, assigned
from evalstats.loaders.blocks import SHOWN_COLUMNS, TableBlock, flat, listings, open_table, oriented, rows_at, seen
from evalstats.loaders.bound_columns import Binding, Survey, bind, source_of, surveyed
from evalstats.loaders.column_map import ColumnMap
from evalstats.loaders.files import header_of, load_json
from evalstats.loaders.parquet_sizes import rows_at_once
from evalstats.loaders.score_table import prices_in, records_of_head
from evalstats.loaders.tidy import Tidier
from evalstats.loaders.values import as_dict
from evalstats.regular import open_regular
from evalstats.schema.data import Problem

# How gzip and Zstandard begin.
_COMPRESSED = (b"\x1f\x8b", b"\x28\xb5")
_NEEDED = ("item", "score")
_SHAPES = frozenset({"text", "lines", "array", "parquet"})
_LOOKED_AT = 200
# How many levels of objects below the fields of a record's objects are looked into for what fits.
_DEEPER = 3
# Texts in a column of systems that are longer than this on average are prompts.
_NAME_CHARS = 80
# A table with so many levels of system that each item has one of its own compares none of them.
_MANY_SYSTEMS = 10


@dataclass(frozen=True, slots=True)
class TableLoader(SingleFileLoader):
    """Loader of plain tables; rows of other levels than `where` asks for are not looked at.

    Without a column map a table is accepted if it has columns called item and score, or plain other names for them
    (question_id, correct) beside one for the model, or if one column alone can be each of them, which a note says.
    Every other column with a name of the glossary is taken for that if it can be it, every further one is a factor; where
    no column is called model, the file's name is taken for it.

    A score is a number, a boolean, a grade (C, P, I, N, yes, no), a word for right or wrong (correct, pass, failed, ...),
    or a label that the map gives a number for; an unknown word is an error, an empty cell or NaN is unscored. A metric is
    binary if only 0 and 1 were seen, bounded if its scores lie in [0, 1], else continuous without bounds; percent and
    other scales are kept in their unit, and the map says what it is (`--map scale=percent`, which also reads "54.0%").
    Repetitions need a `trial`, and every model the same item ids. Rows inside a JSON document are found by
    `--map rows=PATH`.
    """

    column_map: ColumnMap = field(default_factory=ColumnMap)
    where: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])
    sides: tuple[str, ...] = ()

    name = "table"
    title = "table with a row for each item and model (.csv, .tsv, .jsonl, .json, .parquet)"
    version = "5"

    def sniff(self, head: Head) -> Match | None:
        """Recognise a table with columns called item and score; any loader of a known format is surer."""
        if head.shape == "object":
            names = _columns_of_frame(head)
        else:
            names = (head.columns or tuple(head.keys)) if head.shape in _SHAPES else ()
        found = {name: source_of(name, ColumnMap(), names) for name in ("item", "score", "model")}
        if None in {found[name] for name in _NEEDED}:
            return self._surely(head)
        plain = all(name == source for name, source in found.items() if source)
        if found["model"] is not None:
            told = ", ".join(source for source in found.values() if source)
            return Match(confidence=0.2 if plain else 0.15, reason=f"a table with columns {told}")
        if not plain:
            return self._surely(head)
        return Match(
            confidence=0.1, reason="a table with columns item and score; the file's name is taken for the model"
        )

    def _surely(self, head: Head) -> Match | None:
        sure = _sure_map(head, ColumnMap(), self.sides)
        return Match(confidence=0.02, reason=f"a table with {', '.join(sure)}") if sure else None

    def read(self, source: Source) -> Iterator[Rows | Frame | Problem]:
        """Yield outcomes block by block, then the metrics and runs seen, and notes."""
        head = read_head(source.path)
        sure = _sure_map(head, self.column_map, self.sides)
        map_ = ColumnMap.from_pairs(sure.items()).overlaid(self.column_map)
        table = open_table(head, map_.rows, lenient=True, deep=map_.paths)
        survey, blocks = surveyed(table, _watched(map_, head))
        table.left_out.check(source.path, survey.n_rows)
        if survey.n_rows == 0:
            raise UnreadableFileError(f"{source.path}: holds no rows")
        binding = fitted(map_, survey, model=source.called)
        tidier = Tidier(
            map_,
            binding,
            survey,
            table.word,
            lambda parts: source.run_id(*parts),
            where=self.where,
            reread=table.blocks,
        )
        last: TableBlock | None = None
        for block in blocks:
            yield Frame(table="outcomes", frame=tidier.outcomes(block))
            last = block
        tidier.check_kept()
        yield Rows(table="metrics", rows=tidier.metrics())
        yield Rows(table="runs", rows=tidier.runs())
        notes = list(tidier.notes())
        nameless = {"model"}.isdisjoint({*binding.columns, *map_.constants, *map_.columns})
        whose = "file" if source.called == source.stem else "folder"
        if sure:
            taken = [f"{column} for the {name}" for name, column in sure.items()]
            taken += [f"the {whose}'s name for the model"] if nameless else []
            rest = ("models",) if "models" in sure else ("score", "model")
            others = together(*(Option("map", blank="COLUMN", of=name) for name in ("item", *rest)))
            notes.append(f"no column is named, and these are taken: {', '.join(taken)}; if others are: {others}")
        elif nameless:
            notes.append(f"no column names the model, so the {whose}'s name is taken for it: {source.called!r}")
        if head.shape == "text" and "" in header_of(source.path, head.delimiter):
            notes.append("a column without a name is left out")
        if head.shape == "text" and last is not None:
            notes += _open_end(source.path, last)
        yield from source.notes(notes)
        yield from source.notes(table.left_out.told(survey.n_rows), "error")


def _open_end(path: Path, last: TableBlock) -> Iterator[str]:
    """Say where a file may have been cut off inside its last value: no line ends there, and no other row has that value."""
    frame = last.frame
    with open_regular(path) as stream:
        begins = stream.read(2)
        stream.seek(-2, os.SEEK_END)
        ends = stream.read()
    # Compressed data that were cut off are refused before this.
    if begins in _COMPRESSED or b"\n" in ends or b"\r" in ends or not frame.width or not frame.height:
        return
    name, values = frame.columns[-1], frame.to_series(frame.width - 1)
    value = values[-1]
    if value in values.head(-1).to_list():
        return
    yield (
        f"line {last.places[-1]}, the last, does not end, and no other row has its {name} "
        f"({'nothing' if value is None else repr(value)}); if the file was cut off there, fetch it again"
    )


def _sure_map(head: Head, map_: ColumnMap, sides: Sequence[str]) -> dict[str, str]:
    """Return which columns are taken for item, score and model of a table whose columns have other names and no map."""
    if {"item", "score", "model"} & {*map_.columns, *map_.constants} or map_.rows or head.shape not in _SHAPES:
        return {}
    names = head.columns or tuple(head.keys)
    plain = [source_of(name, map_, names) for name in ("item", "score", "model")]
    if None not in plain or plain[:2] == ["item", "score"]:
        return {}
    records = [flat(dict(record)) for record in _first_rows(head)[:_LOOKED_AT]]
    columns = head.columns or tuple(dict.fromkeys(name for record in records for name in record))
    found = assigned(columns, records, sides)
    # A column may have "=" in its name.
    return dict(option.split("=", 1) for option in found.options) if found.is_sure else {}


def fitted(map_: ColumnMap, survey: Survey, *, model: str | None = None) -> Binding:
    """Bind the columns of a table that was looked at: what merely bears a standard name is a factor."""
    unfit = {name: why for name in survey.columns if (why := survey.misfit(name))}
    for name, why in (("system", _no_systems(map_, survey)), ("run", _no_runs(map_, survey))):
        if why and name in survey.columns:
            unfit.setdefault(name, why)
    return bind(map_, survey.columns, model=model, unfit=unfit)


def _watched(map_: ColumnMap, head: Head) -> tuple[tuple[str, str], ...]:
    """Pairs of columns of which must be known what stands together, to tell whether one is what it is called."""
    names = head.columns or tuple(head.keys)
    pairs = [("item", "system"), ("model", "run"), ("benchmark", "run")]
    found = [(source_of(first, map_, names) or first, second) for first, second in pairs]
    return tuple((first, second) for first, second in found if second in names)


def _no_systems(map_: ColumnMap, survey: Survey) -> str:
    """Say why a column called system holds prompts and names no systems; "" where it does."""
    item = source_of("item", map_, survey.columns) or "item"
    pairs = survey.together(item, "system")
    if pairs is None or not pairs.height:
        return ""
    levels = pairs.select("second", "chars").unique()
    n_items = pairs["first"].n_unique()
    mean = levels["chars"].cast(pl.Float64).mean()
    if isinstance(mean, float) and mean > _NAME_CHARS:
        return f"it holds texts of {mean:.0f} characters on average, which are no names of systems"
    one_each = pairs.height <= 1.05 * n_items
    if one_each and levels.height >= max(_MANY_SYSTEMS, n_items / 2):
        return f"it has {levels.height} levels for {n_items:,} items, and each item has its own"
    return ""


def _no_runs(map_: ColumnMap, survey: Survey) -> str:
    """Say why a column called run names no runs, each of one model on one benchmark; "" where it does."""
    for name in ("model", "benchmark"):
        pairs = survey.together(source_of(name, map_, survey.columns) or name, "run")
        if pairs is not None and pairs["second"].n_unique() < pairs.height:
            return f"a level of it stands with several {name}s, and a run is one system on one benchmark"
    return ""


def _columns_of_frame(head: Head) -> tuple[str, ...]:
    """Columns of a frame that stands in a file as one JSON object, as pandas writes it."""
    names = head.keys
    known = {"item", "score", "model", "question_id", "item_id", "correct", "columns", "schema", "index", "0"}
    if not names & known:
        return ()
    try:
        rows = oriented(load_json(head.path))
    except UnreadableFileError:
        return ()
    return tuple(rows[0]) if rows else ()


def how_to_map(head: Head, sides: Sequence[str] = ()) -> str:
    r"""Say how a file is read that no loader knows, with the `--map` options that fit it; "" for one that is no table.

    >>> from pathlib import Path
    >>> text = b"id,llm,correct_answer,ok\nq1,m,A,1\n"
    >>> how_to_map(Head(path=Path("x.csv"), size=len(text), data=text)).rpartition(": ")[2]
    "item='id', score='ok', model='llm'"
    """
    rows, path, records = _rows_of(head)
    if records is None:
        return ""
    if not records and head.shape in {"text", "parquet"} and len(head.columns) > 1 and all(head.columns):
        raise UnreadableFileError(
            f"{head.path}: holds no rows; its columns are {comma_list(head.columns, SHOWN_COLUMNS)}"
        )
    flat_rows = [flat(dict(record)) for record in records[:_LOOKED_AT]]
    columns = [name for name in head.columns or tuple(dict.fromkeys(name for row in flat_rows for name in row)) if name]
    if head.shape == "text" and len(columns) < 2 and "score=COLUMN" in assigned(columns, flat_rows).options:
        return "It is text without columns; a table of your own needs a header with an item and a score"
    twice = next((name for name in columns if columns.count(name) > 1), None)
    if twice is not None:
        return f"Column {twice!r} stands twice in its header; rename one of the two"
    prices = prices_in(columns, flat_rows)
    if prices:
        return f"It is a list of prices ({', '.join(prices)}), which are no scores; give the file with the results"
    found = assigned(columns, flat_rows, sides)
    # What is not found among the fields of a record may lie deeper in it.
    for _ in range(_DEEPER):
        if found.is_whole or not any(as_dict(value) for row in flat_rows for value in row.values()):
            break
        flat_rows = [flat(row) for row in flat_rows]
        columns = list(dict.fromkeys(name for row in flat_rows for name in row))
        found = assigned(columns, flat_rows, sides)
    shown = comma_list(columns, SHOWN_COLUMNS)
    has = f" (this one has the columns {shown})" if len(columns) > 1 else ""
    fits = [*([f"rows={path}"] if rows else []), *found.options]
    named = any(option.startswith("model") for option in fits)
    one = "" if named else f" (the file's name is taken for the model; or {Option('map', '@NAME', of='model')})"
    if "score=COLUMN" in fits:
        needed = together(*(Option("map", blank="COLUMN", of=name) for name in _NEEDED))
        return f"{rows}For a table of your own{has}, name the columns{one}: {needed}"
    told = f"The same {found.repeated} stands more than once; add what tells its rows apart. " if found.repeated else ""
    if found.also:
        told += f"Numbers are also in {comma_list(found.also)}: add what is a model to models=. "
    if found.metrics:
        metrics = as_options([fits[0], f"score={','.join(found.metrics)}"])
        told += f"If these columns of numbers are metrics: {metrics}. "
    return f"{rows}For a table of your own{has}, name the columns{one}. {told}These may fit: {as_options(fits)}"


def _rows_of(head: Head) -> tuple[str, str, Sequence[Record] | None]:
    """Return what a document is, where in it the likeliest rows lie, and those; None for a file that is no table."""
    if head.shape in _SHAPES:
        return "", "", _first_rows(head)
    try:
        document = load_json(head.path) if head.shape == "object" else None
    except UnreadableFileError:
        return "", "", None
    if (records := oriented(document)) or not (lists := listings(document)):
        return "", "", records or None
    return f"It is one JSON object, and {seen(lists)}. ", *_likeliest(document)


def _likeliest(document: object) -> tuple[str, list[Record]]:
    """Choose among the lists of a document the one whose rows look most like results, the longest of those."""
    best: tuple[int, str, list[Record]] | None = None
    for each in listings(document):
        try:
            records = [flat(row) for row, _ in zip(rows_at(document, each.path), range(_LOOKED_AT), strict=False)]
        except InputError:
            continue
        fits = assigned(tuple(records[0]), records).options
        open_ends = sum(option.endswith(("=COLUMN", "=#row")) for option in fits)
        if best is None or open_ends < best[0]:
            best = open_ends, each.path, list(records)
    return ("", []) if best is None else best[1:]


def _first_rows(head: Head) -> Sequence[Record]:
    if head.shape != "parquet":
        records = records_of_head(head)
        width = len({*head.columns}) if head.shape == "text" else 0
        return [record for record in records if len(record) == width or not width]
    try:
        with open_regular(head.path) as stream:
            return pl.read_parquet(stream, n_rows=rows_at_once(head.path, _LOOKED_AT)).to_dicts()
    except (*PARQUET_FAULTS, UnreadableFileError):
        return []


def unnamed_benchmarks(paths: Sequence[str]) -> Problem:
    """Warn that these tables, which name no benchmark, count as one benchmark together and with others like them."""
    first, *others = paths
    more = f", nor do {len(others)} more" if len(others) > 1 else ", nor does 1 more" if others else ""
    message = f"names no benchmark{more}: equal ids are the same item (else {Option('map', '@NAME', of='benchmark')})"
    return Problem(path=first, message=message, severity="note")


def names_alike(path: str, models: Iterable[str]) -> list[Problem]:
    """Warn of models whose names differ only in case or in blanks around them, which count as different models.

    >>> [problem.message.partition(";")[0] for problem in names_alike("t.csv", ["GPT-4o", "gpt-4o ", "claude"])]
    ["'GPT-4o' and 'gpt-4o ' differ only in case or blanks and count as different models"]
    """
    alike: dict[str, list[str]] = {}
    for name in models:
        alike.setdefault(name.casefold().strip(), []).append(name)
    messages = (
        f"{' and '.join(map(repr, names))} differ only in case or blanks and count as different models; "
        "write them alike if they are one"
        for names in map(sorted, alike.values())
        if len(names) > 1
    )
    return [Problem(path=path, message=message, severity="note") for message in messages]


LOADER = TableLoader()
