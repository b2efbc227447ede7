"""What a file or a frame shows of itself: where its rows lie, the first of them, and the maps by which they may be read."""

import csv
import io
import json
import re
from codecs import BOM_UTF8
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain, islice
from typing import Final

import msgspec
import polars as pl

from evalstats.errors import LINE, InputError, Option, UnreadableFileError, may_fit, together
from evalstats.grammar import and_list, has_have, on_one_line
from evalstats.loaders.base import PARQUET_FAULTS, Head
from evalstats.loaders.binder import LOOKED_AT, NOTHING_FITS, TOGETHER, Assignment, as_options, assigned, thinned
from evalstats.loaders.blocks import EACH, KEY, column_list, flat, listings, oriented, rows_at, seen
from evalstats.loaders.column_map import ColumnMap
from evalstats.loaders.expressions import forecast_among, made_of_two, rival_of_scores
from evalstats.loaders.files import HEAD_BYTES, JsonStream, cell_value, load_json
from evalstats.loaders.parquet_sizes import row_groups, rows_at_once
from evalstats.loaders.published_columns import is_absent
from evalstats.loaders.roles import (
    ANSWERS,
    ASKED,
    CALLED,
    RIGHTS,
    ROLES,
    SURE,
    TOTALS,
    is_called_score,
    is_no_side,
    words_of,
)
from evalstats.loaders.sampled_column import NOTHING_ASKED, AskedNames, Record, SampledColumn
from evalstats.loaders.values import as_dict, as_list, as_number, as_text, dicts, grades_in_order
from evalstats.regular import open_regular
from evalstats.schema.metrics import suggests_lower

# Rows are looked at from so many places beyond the first ones: a file that is sorted by model shows a single one at its start.
_PLACES: Final = 5
# A file that does not begin as its head does is packed, or in another encoding.
_START: Final = 16
_ROWS_AT_A_PLACE: Final = (LOOKED_AT - TOGETHER) // _PLACES
# A place in a text may lie within a cell: its first lines may be no rows, and so many of them may look like some.
_LINES_SKIPPED, _BY_CHANCE = 60, 2
_MOST_ROWS: Final = 100 * LOOKED_AT
_SHAPES: Final = frozenset({"text", "lines", "array", "parquet"})
# How many levels of objects below the fields of a record's objects are looked into for what fits.
_DEEPER: Final = 3
_YAML: Final = frozenset({".yaml", ".yml"})
# As many lists of a document are looked at, the longest first, and as many maps are tried, the likeliest first.
_LISTS: Final = 8
_TRIED: Final = 4
# Of lists of the same items at least so many of the rows are there that there may be.
_SHARED: Final = 0.9
# A longer list of numbers is none of the scores of one answer's repetitions.
_TRIALS: Final = 64


class Look(msgspec.Struct, frozen=True, kw_only=True):
    """Columns and some rows of what may be a table, of which the first `together` stand together.

    `rows` is where in a document they lie, `lists` says which others it has; `systems` are the keys of lists that share items.
    """

    columns: Sequence[str]
    records: Sequence[Record]
    together: int = TOGETHER
    rows: str = ""
    lists: str = ""
    systems: frozenset[str] = frozenset()

    def levels(self, most: int = _DEEPER) -> Iterator["Look"]:
        """Yield the look, then what objects in its cells hold, level by level."""
        yield self
        records = self.records
        for _ in range(most):
            records = [{name: _object_in(value) for name, value in row.items()} for row in records]
            if not any(as_dict(value) for row in records for value in row.values()):
                return
            records = [flat(row) for row in records]
            columns = tuple(dict.fromkeys(name for row in records for name in row))
            yield msgspec.structs.replace(self, columns=columns, records=records)

    def assigned(self, asked: AskedNames, given: ColumnMap | None = None) -> list[Assignment]:
        """Give the roles out to the columns, the best assignment first."""
        asked = msgspec.structs.replace(asked, sides=asked.sides or self.systems)
        found = assigned(self.columns, self.records, asked, given, self.together)
        return [fit for fit in found if not (self.systems and f"item={KEY}" in fit.options)] or found

    def completed(self, map_: ColumnMap, asked: AskedNames, most: int = 0) -> ColumnMap | None:
        """Return a map with the roles that it leaves open; None where what is missing of item and score is not sure.

        A column called item, score or model is that, unless the question names another one, or labels say what is right.
        `most` levels of objects in cells are looked into where nothing fits the columns as they are.
        """
        given = {*map_.columns, *map_.constants}
        open_ = [name for name in ("item", "score", "model") if name not in given]
        exact = {name: name for name in open_ if name in self.columns}
        if asked.metrics & {*self.columns} or ("score" in exact and self.says_what_is_right()):
            exact.pop("score", None)
        if asked.sides:
            exact.pop("model", None)
        fixed = ColumnMap.from_pairs(exact.items()).overlaid(map_)
        for look in self.levels(most) if open_ and self.records else ():
            best = look.assigned(asked, None if fixed == ColumnMap() else fixed)[0]
            if best.published:
                break
            if best.is_sure:  # a column may have "=" in its name
                pairs = ((name, column) for name, _, column in (option.partition("=") for option in best.options))
                found = ColumnMap.from_pairs(pairs).overlaid(map_)
                return replace(found, rows=self.rows) if self.rows else found
            if not best.lacks:
                break
        return map_ if {"item", "score"} <= {*fixed.columns, *fixed.constants} else None

    def says_what_is_right(self) -> bool:
        """Whether columns of labels say what is right, and what is called score says something else."""
        columns = [SampledColumn(name, self.records) for name in self.columns]
        return rival_of_scores(made_of_two(columns), columns) is not None

    def best(self, asked: AskedNames, given: ColumnMap | None = None) -> tuple["Look", list[Assignment]]:
        """Return the first level at which all that a table must have may be found, else the last, and what fits there."""
        look, found = self, [NOTHING_FITS]
        for look in self.levels():
            found = look.assigned(asked, given)
            if not found[0].lacks:
                return look, found
        # Rows that hold no scores may hold votes.
        votes = self.assigned(msgspec.structs.replace(asked, question="arena")) if given is None else found
        roles = dict(option.split("=", 1) for option in votes[0].options)
        names = [as_text(row.get(roles.get("model_a", ""))) for row in self.records]
        meet = 3 * len({*names}) <= len(names)  # what is answered in a row alone is no system
        return (self, votes) if meet and not votes[0].lacks else (look, found)


def looks_at(head: Head, rows: str | None = None) -> list[Look]:
    """Return what may be the table of a file: the file itself, or each list of records of a document, the longest first.

    `rows` is where in a document it must lie.
    """
    look = _sampled(head)
    if (look.records and rows is None) or head.shape != "object":
        return [look]
    try:
        document = load_json(head.path)
    except UnreadableFileError:
        return []
    model = ROLES["model"]
    beside = {
        f"/{name}": value
        for name, value in flat(dict(as_dict(document))).items()
        if isinstance(value, str) and model.names.get(words_of(name.rpartition(".")[2]), 0) >= SURE
        if not model.bars(words_of(name))
    }
    found: dict[str, list[dict[str, object]]] = {}
    systems: dict[str, frozenset[str]] = {}
    for each in (lists := listings(document))[:_LISTS]:
        try:
            some = [*islice(rows_at(document, each.path), _MOST_ROWS)] if each.length > 1 else []
            systems[each.path] = _sharing(some)
            found[each.path] = [{**_own(flat(row), each.path), **beside} for row in thinned(some)]
        except InputError:
            continue
    # Objects with the same keys beside a longer list sum it up.
    most = max(map(len, found.values()), default=0)
    return [
        Look(
            columns=tuple(dict.fromkeys(name for row in first for name in row)),
            records=first,
            rows=path,
            lists=seen(lists),
            systems=systems[path],
        )
        for path, first in found.items()
        if first and (len(first) == most or not path.endswith(EACH)) and rows in {None, path}
    ]


def _own(row: Record, path: str) -> Record:
    """Return a row of a list without the scores and counts of what holds the list.

    >>> _own({"runs.model": "m", "runs.seed": 1, "runs.accuracy": 0.4, "id": "q1", "ok": 1}, "runs.results")
    {'runs.model': 'm', 'runs.seed': 1, 'id': 'q1', 'ok': 1}
    """
    top, inside, _ = path.partition(".")
    above = [SampledColumn(name, [row]) for name in row if inside and name.startswith(f"{top}.")]
    above = [column for column in above if column.numbers]
    counts = RIGHTS | TOTALS
    sums = {c.name for c in above if c.named("score") or counts & {*words_of(c.name.rpartition(".")[2]).split("_")}}
    return {name: value for name, value in row.items() if name not in sums}


def _sharing(rows: Sequence[Record]) -> frozenset[str]:
    """Return the keys of lists whose rows are of the same items: a question, or an id, stands once under each of nearly all keys.

    Numbers may count other items under each key, and keys that name parts or repetitions are no systems.

    >>> sorted(_sharing([{"key": key, "id": f"q{k}"} for key in ("old", "new") for k in range(3)]))
    ['new', 'old']
    >>> _sharing([{"key": key, "id": f"q{k}"} for key in ("easy", "hard") for k in range(3)])
    frozenset()
    """
    keys = [row.get(KEY) for row in rows]
    systems = frozenset(map(str, keys))
    if None in keys or 2 * len(systems) > len(rows) or any(map(is_no_side, systems)):
        return frozenset()
    names = dict.fromkeys(chain.from_iterable(rows))
    for name in [name for name in names if words_of(name) in ASKED] or names:
        values = [as_text(row.get(name)) for row in rows]
        once = len({*zip(keys, values, strict=True)}) == len(rows) > _SHARED * len(systems) * len({*values})
        if once and any(as_number(value) is None for value in values):
            return systems
    return frozenset()


def found_in(head: Head, map_: ColumnMap, asked: AskedNames) -> tuple[ColumnMap, Look] | None:
    """Return a map completed by what a file holds, and where; of a document only if one of its lists alone is sure."""
    most = 0 if head.shape == "parquet" else _DEEPER
    looks = looks_at(head, map_.rows)
    found = [(each, look) for look in looks if (each := look.completed(map_, asked, most)) is not None]
    found = [(each, look) for each, look in found if not (look.rows and each.makes("item"))]
    return found[0] if len(found) == 1 else None


def records_of_head(head: Head) -> list[Record]:
    """Return some rows of those that the head of a file holds whole, as they are thinned."""
    whole = len(head.data) < HEAD_BYTES
    if head.shape == "text":
        lines = head.text.splitlines(keepends=True)
        text = "".join(lines if whole else lines[:-1])
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=head.delimiter, skipinitialspace=True)
        rows: list[list[str]] = []
        with suppress(csv.Error):
            rows.extend(cells for cells in reader if any(map(str.strip, cells)))
        return [dict(zip(head.columns, cells, strict=False)) for cells in thinned(rows[1:])]
    if head.shape == "lines":
        lines = head.text.split("\n")
        return list(dicts([cell_value(line.strip()) for line in thinned(lines if whole else lines[:-1])]))
    found: list[object] = []
    with suppress(UnreadableFileError):  # it is cut off
        elements = JsonStream(io.StringIO(head.text).read, head.path).document()
        found.extend(each.value for each in elements if each.index is not None)
    return list(dicts(thinned(found) or [head.members]))


def _beyond(head: Head) -> Iterator[Record]:
    """Yield whole rows from places spread over what the head does not hold of a file of rows; none of a packed one."""
    with open_regular(head.path) as stream:
        start = stream.read(_START).removeprefix(BOM_UTF8)
        if head.size <= HEAD_BYTES or not head.data.removeprefix(BOM_UTF8).startswith(start):
            return
        apart = (head.size - HEAD_BYTES) // _PLACES
        for place in range(_PLACES):
            stream.seek(HEAD_BYTES + apart * place)
            text = stream.read(min(apart, HEAD_BYTES)).decode("utf-8", "replace")
            yield from islice(_rows_within(head, text), _ROWS_AT_A_PLACE)


def _rows_within(head: Head, text: str) -> Iterator[Record]:
    """Yield rows that lie whole in a piece of a file, which may begin and end within a cell of several lines."""
    lines = [*io.StringIO(text, newline="")][1:-1]
    if head.shape == "text":
        found = (_rows_of_lines(head, lines[start:]) for start in range(min(len(lines), _LINES_SKIPPED)))
        rows = next((rows for rows in found if len(rows) > _BY_CHANCE), list[list[str]]())
        yield from (dict(zip(head.columns, cells, strict=True)) for cells in rows)
    elif head.shape == "lines":
        yield from dicts([cell_value(line.strip()) for line in lines])
    elif (first := next(iter(head.members), None)) is not None:
        at, decoder = 0, json.JSONDecoder()
        # An element of an array begins as the first one does.
        starts = re.compile(r"\{\s*" + re.escape(json.dumps(first)) + r"\s*:")
        with suppress(ValueError, RecursionError):  # the last one is cut off
            while (found := starts.search(text, at)) is not None:
                row, at = decoder.raw_decode(text, found.start())
                if {*row} >= {*head.members}:
                    yield row


def _rows_of_lines(head: Head, lines: Sequence[str]) -> list[list[str]]:
    """Return the rows of lines that are whole rows, but for a last one that may be cut; nothing where they begin in a cell.

    Within a cell many lines may look like rows, but behind its end none does, or a quotation mark is left alone.
    """
    reader = csv.reader(lines, delimiter=head.delimiter, skipinitialspace=True, strict=True)
    rows: list[list[str]] = []
    n_whole = 0
    try:
        for cells in filter(None, reader):
            if len(cells) != len(head.columns):
                return []
            rows.append(cells)
            n_whole = reader.line_num
    except csv.Error:
        if reader.line_num < len(lines):
            return []
    return rows if "".join(lines[:n_whole]).count('"') % 2 == 0 else []


def _sampled(head: Head) -> Look:
    """Return the columns of a table and some of its rows; nothing of a file that is none."""
    rows: Sequence[Record] = ()
    beyond: list[Record] = []
    try:
        if head.shape == "parquet":
            rows = _rows_of_parquet(head)
        elif head.shape == "object":
            rows = oriented(load_json(head.path)) or ()
        elif head.shape in _SHAPES:
            width = len({*head.columns}) if head.shape == "text" else 0
            rows = [record for record in records_of_head(head) if len(record) == width or not width]
            beyond = [*_beyond(head)]
    except (*PARQUET_FAULTS, UnreadableFileError):
        pass
    some = [*rows[:TOGETHER], *beyond] if beyond else thinned(rows)
    records = [dict(row) if head.shape == "text" else flat(dict(row)) for row in some]
    named = head.columns or dict.fromkeys(name for record in records for name in record) or sorted(head.keys)
    columns = [name for name in (named if head.shape in _SHAPES or records else ()) if name]
    return Look(columns=columns, records=records, together=min(len(rows), TOGETHER))


def _rows_of_parquet(head: Head) -> list[dict[str, object]]:
    groups = row_groups(head.path)
    first, n_rows = rows_at_once(head.path, groups, LOOKED_AT), sum(group.n_rows for group in groups)
    with open_regular(head.path) as stream:
        if n_rows <= LOOKED_AT or first < LOOKED_AT:
            return pl.read_parquet(stream, n_rows=first).to_dicts()
        scan, apart = pl.scan_parquet(stream), (n_rows - TOGETHER) // _PLACES
        # A row that is taken twice would look like a repeat of its item.
        places = [(0, TOGETHER), *((TOGETHER + apart * place, _ROWS_AT_A_PLACE) for place in range(_PLACES))]
        return pl.concat([scan.slice(at, n) for at, n in places]).collect().to_dicts()


def _object_in(cell: object) -> object:
    """Return the object that a cell holds, also as a text of JSON or as a list of scores, else the cell."""
    found = cell_value(cell) or cell
    listed = as_list(found)
    are_scores = 1 < len(listed) <= _TRIALS and all(isinstance(each, bool | int | float) for each in listed)
    return {str(place): each for place, each in enumerate(listed)} if are_scores else found


def how_to_map(
    head: Head,
    asked: AskedNames = NOTHING_ASKED,
    fault: Callable[[ColumnMap], str] = lambda _: "",
    given: ColumnMap | None = None,
) -> str:
    r"""Say how a file is read that no loader knows, with the best `--map` options that fit it; "" for one that is no table.

    `fault` says why a file cannot be read with a map: what cannot is not shown. Of a `given` map that leaves item or score open
    it is said what completes it.

    >>> from pathlib import Path
    >>> text = b"id,llm,correct_answer,ok\nq1,m,A,1\n"
    >>> print(how_to_map(Head(path=Path("x.csv"), size=len(text), data=text)))
    It has the columns id, llm, correct_answer, ok. This may fit:
        item='id', score='ok', model='llm'
    """
    looks = [look.best(asked, given) for look in looks_at(head, given and given.rows)]
    if not looks or not looks[0][0].columns:
        return ""

    def open_ends(pair: tuple[Look, list[Assignment]]) -> tuple[int, float]:
        best = pair[1][0]
        return sum(option.endswith(("=COLUMN", "=#row")) for option in best.options), -best.weight

    (look, found), *others = sorted(looks, key=open_ends)
    columns = look.columns
    board = next((each for each in found if each.published), None)
    found = [each for each in found if not each.published] or [NOTHING_FITS]
    if not look.records and head.shape in {"text", "parquet"} and len(head.columns) > 1 and all(head.columns):
        widths = sorted({str(len(record)) for record in records_of_head(head)}) if head.shape == "text" else []
        has = f"rows of {and_list(widths)} cells below a header of {len(head.columns)}" if widths else "no rows"
        raise UnreadableFileError(f"{head.path}: holds {has}; its columns are {column_list(columns)}")
    if refusal := _no_results(head, columns, look.records, found[0]):
        return refusal
    held = f"{'the columns' if len(columns) > 1 else 'only the column'} {column_list(columns)}"
    losses, rated = (_losses(look), _rated(look)) if "score=COLUMN" in found[0].options else ([], [])
    if losses and (offer := metric_offered(look, asked)):
        return f"It has {held}, and {_unlike_scores(columns)}; {offer}"
    # An overview asks about one system or several, as the data have them: its third line is of several.
    comparing = msgspec.structs.replace(asked, question="leaderboard")
    several = look.assigned(comparing, given)[:1] if asked.question == "overview" else []
    several = [fit for fit in several if fit.n_systems > 1]
    found[2:] = several or found[2:]
    rows = [f"rows={look.rows}"] if look.rows and not (given and given.rows) else []
    whole = [[*rows, *each.options] for each in found if not each.lacks]
    # Another list may be the one that is meant.
    inside = [[f"rows={other.rows}", *best.options] for other, (best, *_) in others if best.is_sure]
    whole[1:1] = inside[: bool(rows)]
    maps = [(given or ColumnMap()).overlaid(ColumnMap.from_options(options)) for options in whole[:_TRIED]]
    faults = [fault(map_) for map_ in maps]
    lines = [options for options, wrong in zip(whole, faults, strict=False) if not wrong][: 2 + len(several)]
    shown = [*dict.fromkeys(map(as_options, lines))]
    if board is not None and not look.rows and given is None:
        pairs = (option.partition("=") for option in board.options)
        parts = [Option("map", column, of=name) for name, _, column in pairs]
        shown.append(f"{together(Option('input_format', 'score-table'), *parts)}  # if it holds published scores")
    if given is not None and lines:
        return may_fit(shown)
    blocked = ""
    if whole and not lines:
        reason = faults[0].removesuffix(".")
        blocked = f"By its names the line below fits, but {reason}.{LINE}{as_options(whole[0])}"
    if given is not None:
        return blocked
    named = any(option.startswith("model") for options in lines or whole or [found[0].options] for option in options)
    one = "" if named else f" The file's name is taken for the model; another is {Option('map', '@NAME', of='model')}."
    told = f"It is one JSON object, and {look.lists}. " if look.rows else ""
    if lines:
        return f"{told}It has {held}.{one} {may_fit(shown)}"
    if blocked:
        return f"{told}It has {held}.{one} {blocked}"
    graded = _graded(columns, look.records) if "score" in found[0].lacks else {}
    scores = [f"score={name}" for name in ([f"{loss}:lower" for loss in losses] or rated or graded)]
    options = [*rows, *(scores[0] if scores and each == "score=COLUMN" else each for each in found[0].options)]
    missing = [name for name in found[0].lacks if name != "score" or graded or not scores]
    without = f", but {_without(missing, columns, look.records)}" if missing else ""
    to_copy = "".join(f"{LINE}{line}" for line in (as_options(options), *shown))
    return f"{told}It has {held}{without}.{one} Name the columns:{to_copy}"


def metric_offered(look: Look, asked: AskedNames) -> str:
    """Say how the costs, times or losses of a table without scores are compared; "" where naming one would not open it."""
    losses = _losses(look)
    named = msgspec.structs.replace(asked, metrics=frozenset(losses[:1]))
    if not losses or look.completed(ColumnMap(), named) is None:
        return ""
    compared = together(Option("metric", losses[0]), Option("higher_is_better", value=False))
    return f"to compare {' or '.join(map(on_one_line, losses[:2]))} itself: {compared}"


def _losses(look: Look) -> list[str]:
    """Return the columns that hold costs, times or losses, which are compared where a table has no score."""
    columns = [SampledColumn(name, look.records) for name in look.columns if suggests_lower(name)]
    return [c.name for c in columns if len(c.levels) > 1 and len(c.numbers) == len(c.cells)]


def _rated(look: Look) -> list[str]:
    """Return the one column of answers that holds numbers of few steps: such an answer is a rating, and no text."""
    columns = [SampledColumn(name, look.records) for name in look.columns if ANSWERS & {*words_of(name).split("_")}]
    columns = [c for c in columns if len(c.numbers) == len(c.cells) and 2 < len(c.levels) <= len(c.cells) // 4]
    return [c.name for c in columns] if len(columns) == 1 else []


def _graded(columns: Sequence[str], rows: Sequence[Record]) -> dict[str, str]:
    """Return the columns that are called scores and hold the grades of a school, with the order of these."""
    called = (name for name in columns if is_called_score(name))
    return {name: order for name in called if (order := grades_in_order(str(row.get(name)) for row in rows))}


def _no_results(head: Head, columns: Sequence[str], rows: Sequence[Record], best: Assignment) -> str:
    """Say what a file is that no map makes a table of results; "" where one may."""
    if head.path.suffix.lower() in _YAML:
        return "It is YAML, which is not read; save its list of results as JSON"
    # A header of numbers is a first row, unless it counts the columns.
    unnamed = all(as_number(name) is not None for name in columns) and list(columns) != [*map(str, range(len(columns)))]
    if head.shape == "text" and (unnamed or (len(columns) < 2 and best.lacks)):
        return "It is text without columns; a table of your own needs a header with an item and a score"
    twice = next((name for name in columns if columns.count(name) > 1), None)
    if twice is not None:
        return f"Column {twice!r} appears twice in its header; rename one of the two"
    forecast = forecast_among([SampledColumn(name, rows) for name in columns]) if "score" in best.lacks else None
    if forecast is not None:
        given, came = (on_one_line(column.name) for column in forecast)
        named = as_options(["score=brier:lower" if each == "score=COLUMN" else each for each in best.options])
        return (
            f"Column {given!r} holds forecasts of {came!r}, and neither is a score: add a column of scores, such as brier = "
            f"({given} - {came})^2, then name it: {named}"
        )
    return ""


def _unlike_scores(columns: Sequence[str]) -> str:
    return f"{'none looks' if len(columns) > 1 else 'that does not look'} like a score"


def _without(missing: Sequence[str], columns: Sequence[str], rows: Sequence[Record]) -> str:
    """Say which roles no column has, and what a reader must do who has answers and no scores of them."""
    roles = [ROLES[role] for role in ("score", "winner") if role in missing]
    called = [name for name in columns if any(role.weight(words_of(name)) >= CALLED for role in roles)]
    empty = [name for name in called if all(is_absent(row.get(name)) for row in rows)]
    blank = f"{and_list([*map(on_one_line, empty)])} {has_have(len(empty))} no value in any row"
    if "winner" in missing and empty:
        return blank
    if "model_a" in missing:
        return f"no column names the two sides; one name for all votes is {Option('map', '@NAME', of='model_a')}"
    if "score" not in missing:
        return f"{'none is' if len(columns) > 1 else 'that is not'} plainly the {' or the '.join(missing)}"
    for grade, order in _graded(columns, rows).items():
        means = f"a TOML file with [values.score] and a line for each letter, as {order}, and map it, too"
        return f"{on_one_line(grade)} holds letters; say what each stands for in {means}"
    none = blank if empty else _unlike_scores(columns)
    return f"{none} (a number, right or wrong, pass or fail): name it, or score the answers first"
