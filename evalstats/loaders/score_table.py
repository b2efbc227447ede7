"""A plain table of published scores: one row a model, one column a metric, no items."""

import csv
import io
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from typing import Final, cast

import msgspec

from evalstats.errors import InputError, Option, UnreadableFileError, together
from evalstats.grammar import comma_list
from evalstats.loaders.base import Head, Match, Rows, SingleFileLoader, Source, in_batches, read_head
from evalstats.loaders.blocks import MAX_FACTOR_CHARS, check_width, flat, parquet_blocks
from evalstats.loaders.column_map import NO_SCORE, ColumnMap
from evalstats.loaders.delimited import header_of, iter_cells
from evalstats.loaders.files import HEAD_BYTES, JsonItem, JsonStream, iter_json_lines, load_json
from evalstats.loaders.published_numbers import (
    AGGREGATED,
    COUNT_NAMES,
    LABELS,
    LEVEL,
    MODEL_NAMES,
    PARTS,
    SUMMARISED,
    PublishedRows,
    Roles,
    ScoreColumns,
    between,
    certainty_in,
    is_capacity,
    is_certainty,
    is_price,
    item_column,
    model_column,
    roles_of,
)
from evalstats.loaders.roles import ANSWERS, ROLES, SURE, is_called_score, names_a_model, plain
from evalstats.loaders.rows import Row
from evalstats.loaders.values import as_dict, as_list, as_number, as_text, day_of, dicts, json_or_none
from evalstats.schema.columns import column_names
from evalstats.schema.data import UNNAMED, Problem
from evalstats.schema.metrics import says_percent

Record = Mapping[str, object]

MAX_MODELS: Final = 100_000
_MAX_CHARS: Final = 64 << 20
# What a cell costs beside its text.
_CELL_CHARS: Final = 16
_LOOKED_AT: Final = 200
_ABSENT: Final = frozenset({"", "-", "–", "nan", "none", "null", "n/a"})
_CELL = re.compile(r"([-+−]?[\d.]+(?:e[-+]?\d+)?)\s*(%?)\s*(\S.*)?", re.IGNORECASE)
# A header that names a score and how certain its cells say that it is: `score ± (95% CI)`, `Accuracy (SE)`.
_WITH_CERTAINTY = re.compile(r"(.*?\S)\s*(?:±|\+/-|[(\[](?=[^)\]]*\b(?:ci|se|stderr|±)\b))(.*)", re.IGNORECASE)
_MOST_HEADER: Final = 100
_LEVEL_IN = re.compile(r"(?<!\d)[89]\d(?!\d)")
_THOUSANDS = re.compile(r"\d{1,3}(?:[, ]\d{3})+")


class ScoreRows:
    """The rows of a file, small enough to be held; `columns` are those with a name, `notes` what is worth telling."""

    def __init__(self, head: Head) -> None:
        self.notes: list[str] = []
        if head.shape == "text":
            header = header_of(head.path, head.delimiter)
            check_width(len(header))
            self.records: Sequence[Record] = list(_bounded(head, _delimited_records(head, header)))
            self.columns: Sequence[str] = [name for name in header if name]
        else:
            self.records = list(_bounded(head, _other_records(head)))
            self.columns = list(dict.fromkeys(name for record in self.records for name in record))
            check_width(len(self.columns))
        self.columns, self.records = parted(self.columns, self.records)
        n_short = sum(len(record) < len(self.columns) for record in self.records) if head.shape == "text" else 0
        if n_short:
            self.notes.append(f"rows that end before the last column, whose missing cells give no number: {n_short}")


def parted(columns: Sequence[str], records: Sequence[Record]) -> tuple[Sequence[str], Sequence[Record]]:
    """Make two columns of one whose header names a score and its certainty, and whose cells hold both.

    >>> parted(["model", "F1 ± (95% CI)"], [{"model": "m", "F1 ± (95% CI)": "71% ± 2"}])[1]
    [{'model': 'm', 'F1': '71%', 'F1 95% CI': '± 2'}]
    """
    for column in columns:
        header = _WITH_CERTAINTY.fullmatch(column) if len(column) <= _MOST_HEADER else None
        cells = [_CELL.fullmatch((as_text(row.get(column)) or "").strip()) for row in records] if header else []
        if header is None or header[1] in columns or not any(cell and cell[3] for cell in cells):
            continue
        names = header[1], f"{header[1]} {re.sub(r'[^%.a-zA-Z0-9]+', ' ', header[2]).strip() or '±'}"
        records = [
            {**row, names[0]: row.get(column) if cell is None else cell[1] + cell[2], names[1]: cell and cell[3]}
            for row, cell in zip(records, cells, strict=True)
        ]
        columns = [name for each in columns for name in (names if each == column else (each,))]
        records = [{name: row[name] for name in columns if name in row} for row in records]
    return columns, records


def _bounded(head: Head, records: Iterable[Record]) -> Iterator[Record]:
    size = 0
    for n_rows, record in enumerate(records, start=1):
        size += sum(_CELL_CHARS + len(cell) if isinstance(cell, str) else _CELL_CHARS for cell in record.values())
        if n_rows > MAX_MODELS or size > _MAX_CHARS:
            raise UnreadableFileError(
                f"{head.path}: holds more than {MAX_MODELS:,} rows or {_MAX_CHARS >> 20} MiB; "
                "a table of scores has a row for each model"
            )
        yield record


def _delimited_records(head: Head, header: Sequence[str]) -> Iterator[Record]:
    """Yield the rows behind the header. Tables written by hand leave cells away at the end of a row."""
    for line, cells in islice(iter_cells(head.path, head.delimiter), 1, None):
        if len(cells) > len(header):
            raise UnreadableFileError(
                f"{head.path}: line {line} has {len(cells)} cells, the header {len(header)}; "
                "put quotes around cells that hold the delimiter, or write the row again"
            )
        yield {name: cell for name, cell in zip(header, cells, strict=False) if name}


def _other_records(head: Head) -> Iterator[Record]:
    if head.shape == "parquet":
        for block in parquet_blocks(head.path):
            yield from block.frame.iter_rows(named=True)
        return
    if head.shape == "object":
        yield from board_in(load_json(head.path, max_chars=_MAX_CHARS))
        return
    if head.shape == "lines":
        found: Iterator[object] = (value for _, value in iter_json_lines(head.path))
    else:
        found = iter(as_list(load_json(head.path, max_chars=_MAX_CHARS)))
    for place, value in enumerate(found):
        if not isinstance(value, dict):
            raise UnreadableFileError(
                f"{head.path}: record {place} (counted from 0) is not a JSON object; every element must be one"
            )
        yield flat(flat(cast("dict[str, object]", value)))


def board_in(document: object) -> Sequence[Record]:
    """Return the rows of published scores that one object holds: an object for each model, or the numbers of one.

    The objects of systems may also stand one level down, under a name that says so (`systems`, `pipeline_results`).

    >>> board_in({"n": 9, "systems": {"dense": {"rouge1": 0.5, "f1": 0.4}, "bm25": {"rouge1": 0.3, "f1": 0.2}}})[1]
    {'model': 'bm25', 'rouge1': 0.3, 'f1': 0.2}
    >>> board_in({"gpt-4o": {"pass@1": {"full": 61.1}}, "claude-3": {"pass@1": {"full": 58.6}}})[0]
    {'model': 'gpt-4o', 'pass@1.full': 61.1}
    >>> board_in({"model": "m", "chat": 0.9, "safety": 0.8, "math": 0.5, "max_tokens": 512}), board_in({"a": 1})
    ([], [])
    >>> board_in({"ragas": {"faithfulness": 0.8, "recall": 0.7}, "config": {"top_k": 5, "k": 0.5}})
    [{'ragas.faithfulness': 0.8, 'ragas.recall': 0.7}]
    """
    members = as_dict(document)
    inner = {name: flat(flat(as_dict(value))) for name, value in members.items()}
    if len(inner) > 1 and all(inner.values()) and 2 * sum(map(names_a_model, inner)) > len(inner):
        boards = [{"model": name, **row} for name, row in inner.items()]
        return boards if item_column(tuple(boards[0])) is None else []
    for name in filter(holds_systems, members):
        rows = {whose: flat(flat(as_dict(row))) for whose, row in as_dict(members[name]).items()}
        usual = next(iter(Counter(name for row in rows.values() for name in row).most_common(1)), ("", 0))[0]
        rows = {whose: row for whose, row in rows.items() if usual in row}
        cells = [value for row in rows.values() for value in row.values()]
        if len(rows) > 1 and len(cells) > len(rows) and all(type(cell) in {int, float} for cell in cells):
            return [{"model": whose, **row} for whose, row in rows.items()]
    numbers = {name: value for name, value in members.items() if isinstance(value, int | float) and value is not True}
    scores = [value for name, value in numbers.items() if not ROLES["score"].bars(plain(name))]
    named = isinstance(members.get("model"), str)
    plainly = len(scores) == len(numbers) > max(2, len(members) - len(numbers)) and all(
        0 <= each <= 100 for each in scores
    )
    if named and plainly:
        return [members]
    # The metrics of one run, with what it was made with, and without texts or rows that may be items.
    whole = flat(flat(dict(members)))
    kept = {
        name: value
        for name, value in whole.items()
        if type(value) in {int, float} and (is_called_score(name) or _counts(name))
    }
    texts = any(isinstance(value, str) and len(value) > MAX_FACTOR_CHARS // 4 for value in whole.values())
    rows = any(as_dict(each) for value in whole.values() for each in as_list(value))
    several = sum(map(is_called_score, kept)) > 1 and any(isinstance(value, float) for value in kept.values())
    if not several or texts or rows or item_column(map(_last, whole)) is not None:
        return []
    model = model_column(name for name, value in members.items() if isinstance(value, str))
    return [{**({"model": members[model]} if model else {}), **kept}]


def _counts(name: str) -> bool:
    return _last(name) in COUNT_NAMES


def holds_systems(name: str) -> bool:
    """Whether what bears a name in a document may hold an object for each system.

    >>> holds_systems("pipeline_results"), holds_systems("by_category")
    (True, False)
    """
    return any(word.removesuffix("s") in SUMMARISED for word in plain(name).split("_"))


def records_of_head(head: Head) -> list[Record]:
    """Return the first rows of a file as far as the head holds them whole."""
    whole = len(head.data) < HEAD_BYTES
    if head.shape == "text":
        lines = head.text.splitlines(keepends=True)
        text = "".join(lines if whole else lines[:-1])
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=head.delimiter, skipinitialspace=True)
        try:
            return [dict(zip(head.columns, cells, strict=False)) for cells in islice(reader, 1, _LOOKED_AT) if cells]
        except csv.Error:
            return []
    if head.shape == "lines":
        lines = head.text.splitlines()
        return list(dicts([json_or_none(line) for line in (lines if whole else lines[:-1])[:_LOOKED_AT]]))
    found: list[object] = []
    with suppress(UnreadableFileError):  # it is cut off
        elements = JsonStream(io.StringIO(head.text).read, head.path).document()
        found.extend(each.value for each in islice(elements, _LOOKED_AT) if isinstance(each, JsonItem))
    return list(dicts(found or [head.members]))


def is_absent(cell: object) -> bool:
    """Whether a cell says that there is no number: empty, NaN, a dash, none.

    >>> is_absent(" - "), is_absent(float("nan")), is_absent("0")
    (True, True, False)
    """
    if isinstance(cell, float):
        return math.isnan(cell)
    return cell is None or (isinstance(cell, str) and cell.strip().lower() in _ABSENT)


class ScoreCell(msgspec.Struct, frozen=True, kw_only=True):
    """A number as a cell holds it; whether a percent sign follows, and what it says of its certainty (`± 1.2`)."""

    number: float
    percent: bool = False
    certainty: str | None = None


def cell_of(value: object) -> ScoreCell | None:
    """Read a cell with one number; None where it holds something else.

    >>> cell_of("54.0% ± 1.2"), cell_of("3.1x"), cell_of("1,234")
    (ScoreCell(number=54.0, percent=True, certainty='± 1.2'), None, None)
    """
    if isinstance(value, bool):
        return None
    if not isinstance(value, str):
        number = as_number(value)
        return None if number is None else ScoreCell(number=number)
    found = _CELL.fullmatch(value.strip())
    number = as_number(found[1].replace("−", "-")) if found else None
    if found is None or number is None or not (found[3] is None or is_certainty(found[3])):
        return None
    return ScoreCell(number=number, percent=bool(found[2]), certainty=found[3])


def count_of(value: object) -> object:
    """Return a count without what separates its thousands; anything else as it is.

    In a score a comma may be a decimal point; a count has none.

    >>> count_of("26,019"), count_of("12"), count_of("many")
    ('26019', '12', 'many')
    """
    text = value.strip() if isinstance(value, str) else ""
    return re.sub(r"[, ]", "", text) if _THOUSANDS.fullmatch(text) else value


# A table in which a model has more rows than this on average has a row for something else.
_ROWS_A_MODEL: Final = 1.45
_FEW: Final = 3
_SYSTEMS: Final = {"exp", *(name for name in SUMMARISED if ROLES["model"].names.get(name, 1) >= SURE)} - {
    "label",
    "judge",
}
# A summary is surer than any table of rows whose columns nobody declared; more items than this stand behind its rows.
SUMMARY: Final = 0.3
_MANY_ITEMS: Final = 4
_MANY_PARTS: Final = 50
# Without a count of what stands behind a row, a column of more levels names items, whose scores may have errors, too.
_FEW_PARTS: Final = 20
# Factors may not bear the names of standard columns.
_OWN: Final = frozenset(column_names("aggregates"))


@dataclass(frozen=True, slots=True)
class ScoreTableLoader(SingleFileLoader):
    """Loader of tables of published scores, the last to be asked.

    A table is taken for one if a column names the model (model, Model, name, llm_model, ...), no column names items, users
    or votes, and at least one other column holds numbers. Each such column is a metric. Columns called std_error, stderr,
    se, METRIC_se or with ± are its standard error, conf_low and conf_high, METRIC_low and METRIC_high, ci or METRIC_ci its
    interval, n, votes or n_items what stands behind it. The benchmark is the file's name unless a column
    says it. Units are not guessed from the size of numbers; a percent sign or the map (`scale=percent`) makes a percentage.
    """

    column_map: ColumnMap = field(default_factory=ColumnMap)

    name = "score-table"
    title = "published scores, one row a model (.csv, .tsv, .json, .jsonl)"
    version = "1"

    def sniff(self, head: Head) -> Match | None:
        """Recognise a table of numbers by model; any other loader is surer."""
        if head.shape == "object":
            return self._board(head)
        if head.shape not in {"text", "array", "lines"}:
            return None
        records: Sequence[Record] = records_of_head(head)
        if head.shape != "text":
            records = [flat(flat(dict(record))) for record in records]
        columns = head.columns or tuple(dict.fromkeys(name for record in records for name in record))
        columns, records = parted(columns, records)
        if len(head.data) < HEAD_BYTES and _is_one_model(columns, records):
            return Match(confidence=0.05, reason="one row of numbers, for the model that the file is called after")
        summary = summary_in(columns, records)
        roles = summary or published_in(columns, records)
        if isinstance(roles, str):
            return None
        shown = comma_list((metric.column for metric in roles.metrics), _FEW)
        return Match(
            confidence=SUMMARY if summary else 0.05, reason=f"a row for each {roles.model}, with numbers in {shown}"
        )

    def with_columns(self, column_map: ColumnMap) -> "ScoreTableLoader":
        """Return a loader that takes from the map which columns are scores, models and parts, and the scores' scale."""
        parts = {*column_map.as_config()} - {"columns", "constants", "values", "directions", "scale"}
        known = [name for name in column_map.columns if name not in {"score", "model", *LABELS}]
        if other := next(
            iter((*known, *column_map.constants, *(n for n in column_map.values if n != "score"), *sorted(parts))), None
        ):
            raise InputError(
                f"{other} cannot be mapped in a table of published scores, where score, model, {', '.join(LABELS)}, unscored and "
                f"scale can; if its rows are items, say which column names them: {Option('map', blank='COLUMN', of='item')}"
            )
        return ScoreTableLoader(column_map)

    def _board(self, head: Head) -> Match | None:
        """Recognise one object of published scores, by its first members before all of it is read."""
        first = head.members or {}
        inside = flat(flat(dict(first)))
        named = any(map(is_called_score, inside)) or any(names_a_model(name) or holds_systems(name) for name in first)
        if not first or not (isinstance(first.get("model"), str) or named):
            return None
        try:
            board = board_in(load_json(head.path, max_chars=_MAX_CHARS))
        except UnreadableFileError:
            return None
        # So many rights and wrongs of a model are those of its items.
        cells = [cell for row in board for name, cell in row.items() if name != "model"]
        items = len(cells) > _MANY_ITEMS * len(board) and all(cell in (0, 1) for cell in cells)
        return Match(confidence=0.03, reason="published scores in one object") if board and not items else None

    def read(self, source: Source) -> Iterator[Rows | Problem]:
        """Yield aggregates, their metrics, the run, and notes."""
        head = read_head(source.path)
        table = ScoreRows(head)
        unnamed = head.shape == "object" and len(table.records) == 1
        of_one = _is_one_model(table.columns, table.records) or (unnamed and model_column(table.columns) is None)
        if of_one:
            table.columns = ["model", *table.columns]
            table.records = [{"model": source.called, **table.records[0]}]
        roles = summary_in(table.columns, table.records) or published_in(table.columns, table.records, self.column_map)
        if isinstance(roles, str):
            parts = f"say which column tells them apart: {Option('map', blank='COLUMN', of='task')}; or, if rows are items: "
            items = together(*(Option("map", blank="COLUMN", of=name) for name in ("item", "score")))
            remedy = f". {parts[0].upper()}{parts[1:]}{items}" if "rows for each" in roles else ""
            raise UnreadableFileError(f"{source.path}: {roles}{remedy}")
        if scores := [part for named in self.column_map.columns.get("score", ()) for part in named.split(",")]:
            if unknown := next(
                (each for each in scores if each not in {metric.column for metric in roles.metrics}), None
            ):
                raise UnreadableFileError(
                    f"{source.path}: {unknown!r} is no column of scores; it has "
                    f"{comma_list(metric.column for metric in roles.metrics)}"
                )
            roles.metrics = [metric for metric in roles.metrics if metric.column in scores]
        numbers = PublishedRows(scale=self.column_map.scale)
        notes = _add_all(table.records, roles, UNNAMED if unnamed or of_one else source.stem, numbers, self.column_map)
        if not numbers.rows:
            raise UnreadableFileError(f"{source.path}: holds no published number of any model")
        run = source.run_id()
        benchmarks = sorted({str(row["benchmark"]) for row in numbers.rows})
        named = benchmarks[0] if len(benchmarks) == 1 else source.stem
        yield from in_batches(({**row, "run": run} for row in numbers.rows), "aggregates")
        yield Rows(table="metrics", rows=list(numbers.metrics.values()))
        yield Rows(table="runs", rows=[{"run": run, "benchmark": named}])
        whose = (
            f"one row, read as published results of {source.called!r}"
            if of_one
            else f"read as published numbers, one row for each {roles.model}"
            + (f" and {roles.labels['task']}" if "task" in roles.labels else "")
        )
        yield from source.notes(
            (whose, *table.notes, *_assumed(roles, numbers, table.records), *notes, *numbers.doubts())
        )


def _model_in(columns: Sequence[str], records: Sequence[Record]) -> str | None:
    """Return the column that names the model: called so, or called like a system and with another one in each row.

    >>> [_model_in(["System", "F1"], [{"System": name} for name in names]) for names in ("ab", "aab")]
    ['System', None]
    """
    for name in columns if model_column(columns) is None else ():
        levels = {(as_text(record.get(name)) or "").strip() for record in records} - {""}
        if plain(name) in _SYSTEMS and len(levels) == len(records) > 1:
            return name
    return model_column(columns)


def _is_one_model(columns: Sequence[str], records: Sequence[Record]) -> bool:
    """Whether a table is one row of shares or percentages, a column for each part of a benchmark: one model's results."""
    if len(records) != 1 or model_column(columns) is not None:
        return False
    cells = [cell.number for name in _numeric(columns, records, "") if (cell := cell_of(records[0].get(name)))]
    others = [value for value in records[0].values() if not is_absent(value) and cell_of(value) is None]
    return len(cells) > max(2, len(others)) and all(0 <= number <= 100 for number in cells)


def prices_in(columns: Sequence[str], records: Sequence[Record]) -> list[str]:
    """Return the columns of prices of a table that holds no other numbers of its models; none for any other table.

    >>> prices_in(["model", "input_price", "context"], [{"model": "m", "input_price": 0.1, "context": 8000}])
    ['input_price']
    """
    model = model_column(columns)
    if model is None or item_column(columns) is not None:
        return []
    numeric = _numeric(columns, records, model)
    prices = [name for name in numeric if is_price(name)]
    return prices if all(is_price(name) or is_capacity(name) for name in numeric) else []


def _numeric(columns: Sequence[str], records: Sequence[Record], model: str) -> list[str]:
    """Columns at least half of whose filled cells hold numbers."""
    found: list[str] = []
    for column in columns:
        cells = [record.get(column) for record in records]
        filled = [cell for cell in cells if not is_absent(cell)]
        n_numbers = sum(_is_number(cell, column) for cell in filled)
        if column and column != model and n_numbers and 2 * n_numbers >= len(filled):
            found.append(column)
    return found


def _uncertain(columns: Sequence[str], records: Sequence[Record]) -> list[str]:
    """Columns whose filled cells all say how certain a number is: `±2`, `[0.1, 0.3]`."""
    filled = {name: [cell for row in records if not is_absent(cell := row.get(name))] for name in columns}
    return [name for name, cells in filled.items() if cells and all(map(is_certainty, cells))]


def _is_number(cell: object, column: str) -> bool:
    return cell_of(count_of(cell) if plain(column) in COUNT_NAMES else cell) is not None


def has_items_across(columns: Sequence[str], records: Sequence[Record]) -> bool:
    """Whether each row is a model, and the other columns are items, which hold rights and wrongs alone.

    >>> has_items_across(["model", *"abcde"], [{"model": "m", **dict.fromkeys("abcde", 1)}])
    True
    """
    model = model_column(columns)
    names = [as_text(record.get(model)) for record in records] if model is not None else []
    cells = [record.get(column) for record in records for column in columns if column != model]
    rights = all(is_absent(cell) or as_number(cell) in {0.0, 1.0} for cell in cells)
    return bool(names) and len({*names}) == len(names) and rights and len(columns) > _MANY_ITEMS + 1


def summary_in(columns: Sequence[str], records: Sequence[Record]) -> Roles | None:
    """Return the roles of a summary: averages or shares of many items, in a row for each system, or for each of its parts.

    What says so are names (`avg_f1`, `pass_rate`) and counts of what stands behind a row; a table with a row for each item
    has neither, or names its items.

    >>> rows = [{"variant": v, "n_used": 50, "f1": f1, "avg_missed": 1} for v, f1 in (("no_rag", 0.25), ("rag", 0.5))]
    >>> found = summary_in(["variant", "n_used", "f1", "avg_missed"], rows)
    >>> found.model, [(metric.column, metric.n) for metric in found.metrics]
    ('variant', [('f1', 'n_used'), ('avg_missed', 'n_used')])
    >>> summary_in(["variant", "f1", "em"], [{"variant": v, "f1": 0.5, "em": 1} for v in "ab"]) is None
    True
    """
    if len(records) < 2 or any(
        len(cell) > MAX_FACTOR_CHARS for row in records for cell in row.values() if isinstance(cell, str)
    ):
        return None
    levels = {name: [(as_text(row.get(name)) or "").strip() for row in records] for name in columns}
    columns = [name for name in columns if any(not is_absent(row.get(name)) for row in records)]
    by_name = {plain(name): name for name in columns}
    for model in (by_name[name] for name in (*MODEL_NAMES[:-1], *SUMMARISED) if name in by_name):
        numeric = _numeric(columns, records, model)
        varied = [name for name in columns if name != model and len({*levels[name]}) > 1]
        if model in _numeric([model], records, "") or "" in levels[model] or item_column(varied) is not None:
            continue
        roles = roles_of(columns, numeric, model, _uncertain(columns, records))
        scores = [
            number for metric in roles.metrics for row in records if (number := as_number(row.get(metric.column)))
        ]
        behind = [as_number(row.get(name)) or 0 for name in numeric if _counts(name) for row in records]
        counted = sum(behind) > _MANY_ITEMS * len(behind) > 0
        certain = any(metric.error or metric.interval or metric.ends for metric in roles.metrics)
        aggregated = certain or any(not AGGREGATED.isdisjoint(plain(name).split("_")) for name in numeric)
        if len(roles.metrics) < 2 - (counted or certain) or (
            not certain and all(number.is_integer() for number in scores)
        ):
            continue
        if len({*levels[model]}) == len(records):
            if counted or aggregated:
                return roles
        elif counted or certain:
            parts = [
                by_name[name] for name in (*roles.labels, *PARTS) if by_name.get(name, model) not in {model, *numeric}
            ]
            for part in parts:
                most = _MANY_PARTS if counted else _FEW_PARTS
                if len({*levels[part]}) <= most and len({*zip(levels[model], levels[part], strict=True)}) == len(
                    records
                ):
                    labels = {name: column for name, column in roles.labels.items() if column != part}
                    roles.labels = {**labels, "benchmark" if plain(part) == "benchmark" else "task": part}
                    return roles
    return None


def _last(name: str) -> str:
    """Return the last part of a dotted name, in plain words."""
    return plain(name.rpartition(".")[2])


def published_in(columns: Sequence[str], records: Sequence[Record], map_: ColumnMap | None = None) -> Roles | str:
    """Return what the columns of published scores are; or why a table holds none.

    With a map, or an empty one, the user says that the table holds some: then its first column names the models where no other
    does, and rows may be those of anything.

    >>> published_in(["model", "acc"], [{"model": "a", "acc": 1}, {"model": "a", "acc": 2}, {"model": "a", "acc": 2}])
    'holds 3.0 rows for each model; a table of scores has one'
    """
    if not records:
        return "holds no rows"
    # An answer that is the same in all rows says how these were got.
    same = {name for name in columns if len({as_text(row.get(name)) for row in records}) == 1 < len(records)}
    answers = {name for name in same if plain(name) in ANSWERS}
    if map_ is None and item_column({*columns} - answers) is not None:
        return "its rows are items"
    said = {} if map_ is None else {name: sources[0] for name, sources in map_.columns.items() if name != "score"}
    named = said.get("model") or _model_in(columns, records)
    model = named or (columns[0] if map_ is not None and columns else None)
    if model is None or (named is None and _numeric([model], records, "")):
        return "no column names the model; call it model"
    numeric = _numeric([name for name in columns if name not in said.values()], records, model)
    roles = roles_of(columns, numeric, model, _uncertain(columns, records))
    roles.labels |= {name: source for name, source in said.items() if name != "model"}
    if prices := prices_in(columns, records):
        return f"is a list of prices ({', '.join(prices)}), which are no scores"
    if not roles.metrics:
        return f"no column but {model!r} holds scores, one number in each row"
    keys = [roles.model, *(column for name, column in roles.labels.items() if name not in {"method", "unit", "date"})]
    repeated = len(records) / len({tuple((as_text(row.get(name)) or "").strip() for name in keys) for row in records})
    if repeated > _ROWS_A_MODEL:
        return f"holds {repeated:.1f} rows for each {model}; a table of scores has one"
    # A name alone may be that of a test: rows are models only where most of the names are.
    names = [as_text(row.get(model)) or "" for row in records] if plain(model) == "name" else []
    cells = [cell_of(row.get(metric.column)) for metric in roles.metrics for row in records]
    rights = all(cell is None or cell.number in {0.0, 1.0} for cell in cells)
    texts = any(len(cell) > MAX_FACTOR_CHARS for row in records for cell in row.values() if isinstance(cell, str))
    tests = bool(names) and (rights or 2 * sum(map(names_a_model, names)) < len(names))
    return "its rows are items" if map_ is None and (texts or tests or has_items_across(columns, records)) else roles


def parts_in(columns: Sequence[str], records: Sequence[Record]) -> tuple[str, str] | None:
    """Return the columns of systems and of parts of a benchmark by which a table may be published scores; None where none may.

    >>> rows = [
    ...     {"experiment": e, "retriever": r, "f1": 0.5, "em": 0.25}
    ...     for e in ("base", "tuned")
    ...     for r in ("bm25", "dense")
    ... ]
    >>> parts_in(["experiment", "retriever", "f1", "em"], rows)
    ('experiment', 'retriever')
    """
    if item_column(columns) is not None or published_in(columns, records) == "its rows are items":
        return None
    systems = [name for name in columns if plain(name) in {*MODEL_NAMES, *SUMMARISED}]
    for model, part in ((m, p) for m in systems for p in columns if p != m):
        found = published_in(columns, records, ColumnMap(columns={"model": (model,), "task": (part,)}))
        scores = [] if isinstance(found, str) else [row.get(each.column) for each in found.metrics for row in records]
        if scores and any(cell and not cell.number.is_integer() for cell in map(cell_of, scores)):
            return model, part
    return None


def _add_all(records: Sequence[Record], roles: Roles, stem: str, numbers: PublishedRows, map_: ColumnMap) -> list[str]:
    """Add every number; return what there is to tell of rows and cells."""
    seen: set[tuple[str | None, ...]] = set()
    told: Counter[str] = Counter()
    labels, better = map_.values.get("score", {}), map_.directions
    percents = {
        metric.column
        for metric in roles.metrics
        if says_percent(metric.column)
        and any(abs(cell.number) > 1 for row in records if (cell := cell_of(row.get(metric.column))))
    }
    for record in records:
        copy = tuple(as_text(record.get(name)) for name in record)
        if copy in seen:
            told["rows that stand there already, cell by cell, and count once"] += 1
            continue
        seen.add(copy)
        for metric in roles.metrics:
            cell = record.get(metric.column)
            cell = labels.get((as_text(cell) or "").strip().removesuffix(".0"), cell)
            if is_absent(cell) or cell in NO_SCORE:
                told["cells of scores that are empty or NaN, or stand for no score, and give no number"] += 1
            else:
                numbers.higher_is_better = better.get(metric.column, better.get(""))
                _add({**record, metric.column: cell}, metric, roles, stem, numbers, named=metric.column in percents)
    return [f"{what}: {n}" for what, n in told.items()]


def _add(record: Record, metric: ScoreColumns, roles: Roles, stem: str, numbers: PublishedRows, *, named: bool) -> None:
    """Add one number; `named` says that its column is called a percentage and holds one."""

    def label(name: str) -> str | None:
        column = roles.labels.get(name)
        return ((as_text(record.get(column)) or "").strip() or None) if column else None

    cell = record.get(metric.column)
    parsed = cell_of(cell)
    number, percent = (parsed.number, parsed.percent) if parsed else (0.0, False)
    error, ends = certainty_in(parsed.certainty, number) if parsed else (None, None)
    ends = (between(record, *metric.ends) if metric.ends else None) or ends
    for column in filter(None, (metric.error, metric.interval)):
        said = record.get(column)
        # A percentage beside a share is on another scale.
        misfit = "%" in (as_text(said) or "") and not percent and abs(number) <= 1
        beside = (None, None) if misfit else certainty_in(said, number, half=column == metric.interval)
        error, ends = beside[0] or error, ends or beside[1]
        if beside == (None, None) and not is_absent(said):
            numbers.unread[column] += 1
    known: Row = {name: label(name) for name in ("task", "scenario", "variant") if name in roles.labels}
    known |= {"method": label("method") or "published", "value_raw": as_text(cell), **_facts(record, roles)}
    if label("setting"):
        known["setting"] = str(label("setting")).lower()
    if label("date"):
        known["date"] = day_of(label("date"))
    if ends is not None:
        level = as_number(record.get(roles.level)) if roles.level else None
        known["conf_level"] = level if level is not None else _level(metric) or LEVEL
    known |= {
        "model": as_text(record.get(roles.model)),
        "benchmark": label("benchmark") or stem,
        "metric": label("metric") or metric.column,
        "unit": label("unit") or ("percent" if percent or named else None),
        "n": count_of(record.get(metric.n)) if metric.n else None,
    }
    numbers.add(cell if parsed is None else number, known, ends=ends, error=error)


def _level(metric: ScoreColumns) -> float | None:
    """Return the level of an interval as far as a column's name says it: `90% CI`, `q025`."""
    said = _LEVEL_IN.search(metric.interval or "")
    quantiles = metric.ends is not None and re.search(r"q025|p2.?5", metric.ends[0])
    return int(said[0]) / 100 if said else LEVEL if quantiles else None


def _facts(record: Record, roles: Roles) -> dict[str, object]:
    """Columns that say something else of the model become factors, under names that no column of ours has."""
    found: dict[str, object] = {}
    for column in roles.facts:
        value = record.get(column)
        if column in _OWN or isinstance(value, dict | list) or len(as_text(value) or "") > MAX_FACTOR_CHARS:
            continue
        number = as_number(value) if not isinstance(value, bool) else None
        found[column] = number if number is not None else (as_text(value) or None)
    return found


def _assumed(roles: Roles, numbers: PublishedRows, records: Sequence[Record]) -> list[str]:
    """Say what a table of scores does not tell and was taken to be so."""
    unitless = sorted({str(row["metric"]) for row in numbers.rows if row["unit"] is None})
    notes: list[str] = []
    if unitless:
        notes.append(f"the unit of {comma_list(unitless, _FEW)} is not given (share, percent, rating) and not guessed")
    named = [name for m in roles.metrics for name in (m.column, m.error, m.interval) if name]
    cells = {name: [as_text(row.get(name)) or "" for row in records] for name in named}
    signed = [m for m in roles.metrics for name in (m.column, m.error) if name and "±" in "".join([name, *cells[name]])]
    if signed:
        notes.append(
            "what follows ± is taken as a standard error; if it is half an interval, write both ends as columns"
        )
    halves = [
        m.interval for m in roles.metrics if m.interval and any(certainty_in(c, 0.0)[0] for c in cells[m.interval])
    ]
    if halves:
        notes.append(f"a single number in {comma_list(halves, _FEW)} is taken as half of an interval")
    if any(row["conf_low"] is not None for row in numbers.rows) and not (
        roles.level or any(map(_level, roles.metrics))
    ):
        notes.append(
            "the level of the intervals is not given and taken to be 95%; else add a column conf_level, as 0.9"
        )
    if roles.homeless:
        notes.append(f"{', '.join(roles.homeless)} could belong to any of several scores and is dropped")
    if roles.spreads:
        notes.append(f"{', '.join(roles.spreads)} is a spread of scores, not a standard error; it is dropped")
    return notes


LOADER = ScoreTableLoader()
