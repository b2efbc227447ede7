"""A table of anybody's own: CSV, TSV, JSON Lines, a JSON list of records, or Parquet, one score or several a row."""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path

import polars as pl
from msgspec import structs

from evalstats.errors import InputError, Option, UnreadableFileError, together
from evalstats.grammar import and_list, comma_list
from evalstats.loaders.base import PARQUET_FAULTS, Frame, Head, Match, Rows, SingleFileLoader, Source, read_head
from evalstats.loaders.binder import NOTHING_FITS, Assignment, as_options, assigned
from evalstats.loaders.blocks import (
    EACH,
    SHOWN_COLUMNS,
    TableBlock,
    flat,
    listings,
    open_table,
    oriented,
    rows_at,
    safe_name,
    seen,
)
from evalstats.loaders.bound_columns import Binding, Survey, bind, surveyed
from evalstats.loaders.column_map import FOLDER, MAPPABLE, ColumnMap, column_named
from evalstats.loaders.delimited import header_of
from evalstats.loaders.files import HEAD_BYTES, load_json
from evalstats.loaders.layout import Contents
from evalstats.loaders.parquet_sizes import rows_at_once
from evalstats.loaders.plain_names import is_called_score, words_of
from evalstats.loaders.roles import ROLES, SURE
from evalstats.loaders.sampled_column import (
    NOTHING_ASKED,
    AskedNames,
    Record,
    SampledColumn,
    is_rated,
    looks_like_score,
)
from evalstats.loaders.score_table import has_items_across, is_absent, json_or_none, prices_in, records_of_head
from evalstats.loaders.tidy import Tidier
from evalstats.loaders.values import as_dict, as_list, as_number, as_text, text_of
from evalstats.regular import open_regular
from evalstats.schema.column_names import is_usual_text
from evalstats.schema.data import Problem

# How gzip, Zstandard, ZIP and books of Excel 97 begin.
_COMPRESSED = (b"\x1f\x8b", b"\x28\xb5", b"PK", b"\xd0\xcf")
_SHAPES = frozenset({"text", "lines", "array", "parquet"})
_LOOKED_AT = 200
# How many levels of objects below the fields of a record's objects are looked into for what fits.
_DEEPER = 3
_YAML = frozenset({".yaml", ".yml"})
_GRADE = re.compile(r"(?i)\s*[a-f]\s*[-+]?\s*")
# As many lists of a document are looked at, the longest first.
_LISTS = 8
# As many maps are tried, the likeliest first.
_TRIED = 4
# A longer list of numbers is none of the scores of one answer's repetitions.
_TRIALS = 64
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
    asked: AskedNames = NOTHING_ASKED

    name = "table"
    title = "table with a row for each item and model (.csv, .tsv, .jsonl, .json, .parquet, .xlsx, .ods)"
    version = "6"
    surest = 0.2

    def sniff(self, head: Head) -> Match | None:
        """Recognise a table whose item and score are found; any loader of a known format is surer."""
        found = _found_in(head, ColumnMap(), self.asked)
        if found is None:
            return None
        columns = {*head.columns, *head.keys}
        exact = [name for name in ("item", "score", "model") if name in columns and name not in found.columns]
        confidence = {3: self.surest, 2: 0.1}.get(len(exact), 0.15 if "model" in {*found.columns, *columns} else 0.02)
        options = [*(f"{name}={name}" for name in exact), *named_otherwise(found)]
        return Match(confidence=confidence, reason=f"read with {as_options(options)}", columns=found)

    def read(self, source: Source) -> Iterator[Rows | Frame | Problem]:
        """Yield outcomes block by block, then the metrics and runs seen, and notes."""
        head = read_head(source.path)
        for name in self.column_map.unknown:
            raise InputError(
                f"there is no standard column {name!r} to map to; there are {', '.join(MAPPABLE)}. Any other column is kept "
                "under its own name"
            )
        found = source.columns or _found_in(head, self.column_map, self.asked) or self.column_map
        within = source.path.absolute().parent.name
        said = {name: value for name, value in source.given.items() if name != "trial"}
        map_ = found.placed(source.stem, within).overlaid(ColumnMap(constants=said))
        folder = [within] if FOLDER in found.constants.values() else [*source.given.values()]
        table = open_table(head, map_.rows, lenient=True, deep=map_.paths)
        survey, blocks = surveyed(table, _watched(map_), {*self.asked.factors, *self.where, *map_.named})
        table.left_out.check(source.path, survey.n_rows)
        if survey.n_rows == 0:
            raise UnreadableFileError(f"{source.path}: holds no rows")
        binding = fitted(map_, survey, model=source.called)
        if "trial" in source.given and "trial" not in binding.columns:
            binding = structs.replace(binding, constants={**binding.constants, "trial": source.given["trial"]})
        rows_apart = source.called if map_.makes("item") and not self.column_map.makes("item") else ""
        tidier = Tidier(
            map_,
            binding,
            survey,
            table.word,
            lambda parts: source.run_id(*folder, *parts),
            where=self.where,
            reread=table.blocks,
            rows_apart=rows_apart,
        )
        last: TableBlock | None = None
        for block in blocks:
            yield Frame(table="outcomes", frame=tidier.outcomes(block))
            last = block
        tidier.check_kept()
        tidier.check_unique()
        yield Rows(table="metrics", rows=tidier.metrics())
        yield Rows(table="runs", rows=tidier.runs())
        notes = list(tidier.notes())
        taken = [f"files={source.layout}"] if source.layout else []
        taken += [each for each in named_otherwise(map_) if each not in named_otherwise(self.column_map)]
        unnamed = {"model"}.isdisjoint({*binding.columns, *map_.constants, *map_.columns})
        whose = f"the {'file' if source.called == source.stem else 'folder'}'s name"
        if taken:
            model = f", and {whose} as the model" if unnamed else ""
            notes.append(f"read with {as_options(taken)}{model}")
        if head.shape == "text" and head.delimiter == " ":
            notes.append("its columns are read as parted by blanks")
        if others := _further_scores(head, map_, binding):
            metrics = (*binding.scores.values(), *others)
            notes.append(
                f"{and_list(others)} {'are' if len(others) > 1 else 'is'} kept as no metric; to make one of each: "
                f"{Option('map', metrics, of='score')}"
            )
        yield from source.notes(notes)
        details = [*tidier.details()]
        if unnamed and not taken:
            details.append(f"no column names the model, so {whose} is used")
        if head.shape == "text" and "" in header_of(source.path, head.delimiter):
            details.append("a column without a name is dropped")
        if head.shape == "text" and last is not None:
            yield from source.notes(_open_end(source.path, last))
        yield from source.notes(details, "detail")
        yield from source.notes(table.left_out.told(survey.n_rows), "error")


def contents_of(path: Path, map_: ColumnMap, asked: AskedNames, columns: ColumnMap | None = None) -> Contents | None:
    """Return what a table holds, as far as the layout of its path goes; None for one that says itself what task it is of.

    `columns` are those that were found in it.
    """
    head = read_head(path)
    found = columns or _found_in(head, map_, asked)
    if found is None:
        return None
    found = found.placed(Source(path=path).stem, path.absolute().parent.name)
    names, records = _sampled(head)
    if found.rows is not None or not records:
        records = _inside(head)[1].get(found.rows or "", [])
        names = list(dict.fromkeys(name for record in records for name in record))
    item = _source(found, "item")
    says = frozenset({*found.columns, *found.constants, *names})
    if {"benchmark", "task"} & says:
        return None
    asking = next((name for name in names if name != item and is_usual_text(name, "question")), "")
    questions = {text: as_text(row.get(asking)) or "" for row in records if (text := as_text(row.get(item)))}
    sides = [_source(found, name) for name in ("model", "system")]
    models = {text for row in records for name in sides if (text := as_text(row.get(name)))}
    models |= {*found.columns["score"]} if found.across == "model" else set()
    models |= {found.constants[name] for name in ("model", "system") if name in found.constants}
    is_whole = len(records) < _LOOKED_AT and (len(head.data) < HEAD_BYTES or head.shape == "object")

    def every_item() -> frozenset[str]:
        if item not in names or (is_whole and head.shape != "parquet"):
            return frozenset(questions)
        blocks = open_table(head, found.rows, lenient=True, deep=found.paths).blocks()
        return frozenset(text for block in blocks for text in text_of(block.cells(safe_name(item))).drop_nulls())

    return Contents(questions=questions, models=frozenset(models), says=says, every_item=every_item)


def _further_scores(head: Head, map_: ColumnMap, binding: Binding) -> list[str]:
    """Return the factors that look like scores that nobody named, beside scores by name."""
    if None in binding.scores or map_.across or map_.makes("item") or map_.rows is not None:
        return []
    _, records = _sampled(head)
    item = SampledColumn(_source(map_, "item"), records)
    columns = [SampledColumn(name, records) for name in binding.factors.values()]
    return [column.name for column in columns if is_rated(column, item)]


def named_otherwise(map_: ColumnMap) -> list[str]:
    """Return the parts of a map that name columns otherwise than they are called, as options."""
    columns = {name: found for name, found in map_.columns.items() if found != (name,)}
    if map_.across:
        columns = {**columns, f"{map_.across}s": columns["score"]}
        del columns["score"], columns[map_.across]
    options = [
        *([f"rows={map_.rows}"] if map_.rows else ()),
        *(f"{name}={','.join(found)}" for name, found in columns.items()),
    ]
    options += [f"dependence={','.join(map_.dependence)}"] if map_.dependence else []
    if map_.scale is not None:
        scale = map_.scale
        options.append("scale=percent" if scale.unit == "percent" else f"scale={scale.low or 0:g}..{scale.high or 0:g}")
    return options


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


def completed(
    map_: ColumnMap, columns: Sequence[str], records: Sequence[Record], asked: AskedNames
) -> ColumnMap | None:
    """Return a map with the roles that it leaves open; None where what is missing of item and score is not sure.

    A column called item, score or model is that, unless the question names another one.
    """
    given = {*map_.columns, *map_.constants}
    open_ = [name for name in ("item", "score", "model") if name not in given]
    exact = {name: name for name in open_ if name in columns}
    if asked.metrics & {*columns}:
        exact.pop("score", None)
    if asked.sides:
        exact.pop("model", None)
    fixed = ColumnMap.from_pairs(exact.items()).overlaid(map_)
    best = assigned(columns, records, asked, fixed)[0] if open_ and records else NOTHING_FITS
    if best.is_sure:  # a column may have "=" in its name
        pairs = ((name, column) for name, _, column in (option.partition("=") for option in best.options))
        return ColumnMap.from_pairs(pairs).overlaid(map_)
    return map_ if {"item", "score"} <= {*fixed.columns, *fixed.constants} else None


def _found_in(head: Head, map_: ColumnMap, asked: AskedNames) -> ColumnMap | None:
    """Return a map completed by what a file holds; of a document also where the rows lie, if it has one sure list of them."""
    columns, records = _sampled(head)
    if (records and map_.rows is None) or head.shape != "object":
        return completed(map_, columns, records, asked)
    _, lists = _inside(head)
    found: list[ColumnMap] = []
    for path, rows in lists.items():
        if map_.rows in {None, path}:
            each = completed(map_, tuple(dict.fromkeys(name for row in rows for name in row)), rows, asked)
            found += [replace(each, rows=path)] if each is not None and not each.makes("item") else []
    return found[0] if len(found) == 1 else None


def _sampled(head: Head) -> tuple[list[str], list[dict[str, object]]]:
    """Return the columns of a table and its first rows; nothing of a file that is none."""
    rows: Sequence[Record] = ()
    try:
        if head.shape == "parquet":
            with open_regular(head.path) as stream:
                rows = pl.read_parquet(stream, n_rows=rows_at_once(head.path, _LOOKED_AT)).to_dicts()
        elif head.shape == "object":
            rows = oriented(load_json(head.path)) or ()
        elif head.shape in _SHAPES:
            width = len({*head.columns}) if head.shape == "text" else 0
            rows = [record for record in records_of_head(head) if len(record) == width or not width]
    except (*PARQUET_FAULTS, UnreadableFileError):
        pass
    records = [dict(row) if head.shape == "text" else flat(dict(row)) for row in rows[:_LOOKED_AT]]
    named = head.columns or dict.fromkeys(name for record in records for name in record) or sorted(head.keys)
    return [name for name in (named if head.shape in _SHAPES or records else ()) if name], records


def fitted(map_: ColumnMap, survey: Survey, *, model: str | None = None) -> Binding:
    """Bind the columns of a table that was looked at: what merely bears a standard name is a factor."""
    unfit = {name: why for name in survey.columns if (why := survey.misfit(name))}
    for name, why in (("system", _no_systems(map_, survey)), ("run", _no_runs(map_, survey))):
        if why and name in survey.columns:
            unfit.setdefault(name, why)
    return bind(map_, survey.columns, model=model, unfit=unfit)


def _watched(map_: ColumnMap) -> tuple[tuple[str, str], ...]:
    """Pairs of columns of which must be known what stands together, to tell whether one is what it is called."""
    pairs = [("item", "system"), ("model", "run"), ("benchmark", "run")]
    return tuple((_source(map_, first), second) for first, second in pairs)


def _source(map_: ColumnMap, name: str) -> str:
    """Return the column that a standard column is read from."""
    return column_named(map_.columns[name][0]) or name if name in map_.columns else name


def _no_systems(map_: ColumnMap, survey: Survey) -> str:
    """Say why a column called system holds prompts and names no systems; "" where it does."""
    pairs = survey.together(_source(map_, "item"), "system")
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
        pairs = survey.together(_source(map_, name), "run")
        if pairs is not None and pairs["second"].n_unique() < pairs.height:
            return f"a level of it stands with several {name}s, and a run is one system on one benchmark"
    return ""


def how_to_map(head: Head, asked: AskedNames = NOTHING_ASKED, fault: Callable[[ColumnMap], str] = lambda _: "") -> str:
    r"""Say how a file is read that no loader knows, with the best `--map` options that fit it; "" for one that is no table.

    `fault` says why a file cannot be read with a map: what cannot is not shown.

    >>> from pathlib import Path
    >>> text = b"id,llm,correct_answer,ok\nq1,m,A,1\n"
    >>> how_to_map(Head(path=Path("x.csv"), size=len(text), data=text)).rpartition(": ")[2]
    "item='id', score='ok', model='llm'"
    """
    columns, flat_rows = _sampled(head)
    path, told = "", ""
    if head.shape == "object" and not flat_rows:
        told, lists = _inside(head)
        found = {path: assigned(tuple(rows[0]), rows)[0].options for path, rows in lists.items()}
        open_ends = {
            path: sum(each.endswith(("=COLUMN", "=#row")) for each in options) for path, options in found.items()
        }
        path = min(lists, key=open_ends.__getitem__, default="")  # the longest comes first
        flat_rows = lists.get(path, [])
        columns = list(dict.fromkeys(name for row in flat_rows for name in row))
    if not columns:
        return ""
    if not flat_rows and head.shape in {"text", "parquet"} and len(head.columns) > 1 and all(head.columns):
        widths = sorted({str(len(record)) for record in records_of_head(head)}) if head.shape == "text" else []
        has = f"rows of {and_list(widths)} cells below a header of {len(head.columns)}" if widths else "no rows"
        raise UnreadableFileError(f"{head.path}: holds {has}; its columns are {comma_list(columns, SHOWN_COLUMNS)}")
    found = assigned(columns, flat_rows, asked)
    if refusal := _no_results(head, columns, flat_rows, found[0]):
        return refusal
    # What is not found among the fields of a record may lie deeper in it.
    for _ in range(_DEEPER):
        flat_rows = [{name: _object_in(value) for name, value in row.items()} for row in flat_rows]
        if found[0].is_whole or not any(as_dict(value) for row in flat_rows for value in row.values()):
            break
        flat_rows = [flat(row) for row in flat_rows]
        columns = list(dict.fromkeys(name for row in flat_rows for name in row))
        found = assigned(columns, flat_rows, asked)
    has = f" (this one has the columns {comma_list(columns, SHOWN_COLUMNS)})" if len(columns) > 1 else ""
    whole = [[*([f"rows={path}"] if path else []), *each.options] for each in found if each.is_whole]
    faults = [fault(ColumnMap.from_options(options)) for options in whole[:_TRIED]]
    lines = [options for options, wrong in zip(whole, faults, strict=False) if not wrong][:2]
    named = any(option.startswith("model") for options in lines or whole for option in options)
    one = "" if named else f" (the file's name is taken for the model; or {Option('map', '@NAME', of='model')})"
    told += f"For a table of your own{has}, name the columns{one}"
    if lines:
        return f"{told}. These may fit: {'; or: '.join(map(as_options, lines))}"
    needed = together(*(Option("map", blank="COLUMN", of=name) for name in ("item", "score")))
    without = "" if "score=COLUMN" not in found[0].options else _without_scores(columns, flat_rows)
    return (
        f"{told}: {needed}{without}"
        if not whole
        else f"{told}. {as_options(whole[0])} fits its names, but {faults[0].partition('. If ')[0]}"
    )


def _no_results(head: Head, columns: Sequence[str], rows: Sequence[Record], best: Assignment) -> str:
    """Say what a file is that no map makes a table of results; "" where one may."""
    if head.path.suffix.lower() in _YAML:
        return "It is YAML, which is not read; save its list of results as JSON"
    # A header of numbers is a first row, unless it counts the columns.
    unnamed = all(as_number(name) is not None for name in columns) and columns != [*map(str, range(len(columns)))]
    if head.shape == "text" and (unnamed or (len(columns) < 2 and not best.is_whole)):
        return "It is text without columns; a table of your own needs a header with an item and a score"
    twice = next((name for name in columns if columns.count(name) > 1), None)
    if twice is not None:
        return f"Column {twice!r} appears twice in its header; rename one of the two"
    if prices := prices_in(columns, rows):
        return f"It is a list of prices ({', '.join(prices)}), which are no scores; give the file with the results"
    if has_items_across(columns, rows):
        return "Its rows are models and its columns items; turn it round: a row for each item, a column for each model"
    return ""


def _without_scores(columns: Sequence[str], rows: Sequence[Record]) -> str:
    """Say what a reader must do who has answers and no scores of them, as far as names and cells tell."""
    empty = [name for name in columns if is_called_score(name) and all(is_absent(row.get(name)) for row in rows)]
    plain = [name for name in columns if not any(isinstance(row.get(name), dict | list) for row in rows)]
    if not empty and any(looks_like_score(SampledColumn(name, rows)) for name in plain):
        return ""
    graded = (
        name for name in plain if is_called_score(name) and all(_GRADE.fullmatch(str(row.get(name))) for row in rows)
    )
    if not empty and (grade := next(graded, None)) is not None:
        means = "a TOML file with [values.score] and a line for each letter, as A = 4"
        return f". {Option('map', grade, of='score')} holds letters; say what each stands for in {means}"
    none = f"{and_list(empty)} has no value in any row" if empty else "no column looks like a score"
    return f". But {none} (a number, right or wrong, pass or fail): score the answers first"


def _object_in(cell: object) -> object:
    """Return the object that a cell holds, also as a text of JSON or as a list of scores, else the cell."""
    found = json_or_none(cell) or cell if isinstance(cell, str) and cell.startswith(("{", "[")) else cell
    listed = as_list(found)
    are_scores = 1 < len(listed) <= _TRIALS and all(isinstance(each, bool | int | float) for each in listed)
    return {str(place): each for place, each in enumerate(listed)} if are_scores else found


def _inside(head: Head) -> tuple[str, dict[str, list[dict[str, object]]]]:
    """Return what a document is, and the first rows of its lists by their paths, with the model that the document names."""
    try:
        document = load_json(head.path)
    except UnreadableFileError:
        return "", {}
    model = ROLES["model"]
    beside = {
        f"/{name}": value
        for name, value in flat(dict(as_dict(document))).items()
        if isinstance(value, str) and model.names.get(words_of(name.rpartition(".")[2]), 0) >= SURE
        if not model.bars(words_of(name))
    }
    found: dict[str, list[dict[str, object]]] = {}
    for each in (lists := listings(document))[:_LISTS]:
        try:
            rows = islice(rows_at(document, each.path), _LOOKED_AT)
            found[each.path] = [{**flat(row), **beside} for row in rows] if each.length > 1 else []
        except InputError:
            continue
    # Objects with the same keys beside a longer list sum it up.
    most = max(map(len, found.values()), default=0)
    kept = {path: rows for path, rows in found.items() if len(rows) == most or (rows and not path.endswith(EACH))}
    return (f"It is one JSON object, and {seen(lists)}. " if most else ""), kept if most else {}


def unnamed_benchmarks(paths: Sequence[str], named: int = 0) -> Problem:
    """Warn that these tables, which name no benchmark, count as one, together and beside those that so many others name."""
    first, *others = paths
    more = f", nor do {len(others)} more" if len(others) > 1 else ", nor does 1 more" if others else ""
    message = f"names no benchmark{more}: equal ids are the same item (else {Option('map', '@NAME', of='benchmark')})"
    if named:
        message = f"names no task{more}, where {named:,} paths do: it counts as one more; leave out what sums up others"
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
