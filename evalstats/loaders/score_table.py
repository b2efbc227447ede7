"""A plain table of published scores: one row a model, one column a metric, no items."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from evalstats.errors import InputError, Option, UnreadableFileError, together
from evalstats.grammar import comma_list, on_one_line
from evalstats.loaders.base import Head, Match, Rows, SingleFileLoader, Source, in_batches, read_head
from evalstats.loaders.binder import as_options, assigned
from evalstats.loaders.blocks import MAX_FACTOR_CHARS, check_width, flat, oriented
from evalstats.loaders.bound_columns import no_column
from evalstats.loaders.column_map import NO_SCORE, SCALES, ColumnMap
from evalstats.loaders.delimited import header_of, iter_rows
from evalstats.loaders.expressions import expressions, made_of_two
from evalstats.loaders.files import HEAD_BYTES, load_json
from evalstats.loaders.look import records_of_head
from evalstats.loaders.published_columns import (
    CERTAINTY,
    LABELS,
    MANY_ITEMS,
    SUMMARISED,
    PublishedColumns,
    ScoreColumns,
    are_averages,
    cell_of,
    count_of,
    is_absent,
    is_count,
    is_one_model,
    item_column,
    model_column,
    parted,
    published_in,
)
from evalstats.loaders.published_numbers import LEVEL, PublishedRows, between, certainty_in
from evalstats.loaders.roles import CALLED, ROLES, SURE, are_sides, is_called_score, names_a_model, plain
from evalstats.loaders.rows import Row
from evalstats.loaders.sampled_column import Record, SampledColumn
from evalstats.loaders.typed_records import PlainRecords
from evalstats.loaders.values import as_amount, as_count, as_dict, as_list, as_number, as_text, day_of, dicts
from evalstats.schema.columns import column_names
from evalstats.schema.data import UNNAMED, Problem
from evalstats.schema.metrics import says_percent

MAX_MODELS: Final = 100_000
_MAX_CHARS: Final = 64 << 20
# What a cell costs beside its text.
_CELL_CHARS: Final = 16
_LEVEL_IN = re.compile(r"(?<!\d)[89]\d(?!\d)")
# So many names are shown.
_FEW: Final = 3
# A mean as it is written down differs from the mean by less.
_ROUNDED: Final = 5e-5
# What may hold an object for each system is called so.
_HOLDERS: Final = SUMMARISED.union(ROLES["model"].names) - {"prompt", "system_prompt"}
# Factors may not bear the names of standard columns.
_OWN: Final = frozenset(column_names("aggregates"))


class ScoreRows:
    """The rows of a file, small enough to be held; `columns` are those with a name, `notes` what is worth telling."""

    def __init__(self, head: Head) -> None:
        self.notes: list[str] = []
        if head.shape == "text":
            header = header_of(head.path, head.delimiter)
            check_width(len(header))
            rows = iter_rows(head.path, head.delimiter, n_columns=len(header), may_end_early=True)
            named = ({name: cell for name, cell in zip(header, cells, strict=False) if name} for _, cells in rows)
            self.records: Sequence[Record] = list(_bounded(head, named))
            self.columns: Sequence[str] = [name for name in header if name]
        else:
            self.records = list(_bounded(head, _other_records(head)))
            self.columns = list(dict.fromkeys(name for record in self.records for name in record))
            check_width(len(self.columns))
        self.columns, self.records = parted(self.columns, self.records)
        n_short = sum(len(record) < len(self.columns) for record in self.records) if head.shape == "text" else 0
        if n_short:
            self.notes.append(f"rows that end before the last column, whose missing cells give no number: {n_short}")

    def add_shares(self, map_: ColumnMap) -> None:
        """Put a share, with its n, in the place of the two counts that a map makes it of."""
        for name, each in expressions(map_, self.columns).items():
            counts = [(as_count(row.get(each.first)), as_count(row.get(each.second))) for row in self.records]
            shares = [part / whole if part is not None and whole else None for part, whole in counts]
            kept = [column for column in self.columns if column not in {each.first, each.second}]
            self.columns = [*kept, name, "n"]
            self.records = [
                {**{column: row.get(column) for column in kept}, name: share, "n": whole}
                for row, share, (_, whole) in zip(self.records, shares, counts, strict=True)
            ]

    def rename(self, map_: ColumnMap) -> ColumnMap:
        """Give the columns that a map names as the certainty of the score its name, and return the map without them."""
        (score, *others) = map_.columns.get("score", ("",))
        before = f"{score}_" if score and not others and "," not in score else ""
        named = {map_.columns[name][0]: f"{before}{name}" for name in CERTAINTY if name in map_.columns}
        if lacking := next((column for column in named if column not in self.columns), None):
            raise no_column(lacking, named[lacking].removeprefix(before), self.columns)
        self.columns = [named.get(column, column) for column in self.columns]
        self.records = [{named.get(name, name): cell for name, cell in row.items()} for row in self.records]
        return replace(map_, columns={name: of for name, of in map_.columns.items() if name not in CERTAINTY})


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


def _other_records(head: Head) -> Iterator[Record]:
    if head.shape == "object":
        yield from board_in(load_json(head.path, max_chars=_MAX_CHARS))
    else:
        yield from (flat(flat(row)) for _, row in PlainRecords(head.path).numbered())


def board_in(document: object) -> Sequence[Record]:
    """Return the rows of published scores that one object holds: an object for each model, or the numbers of one.

    The objects of systems may also stand one level down, under a name that says so (`systems`, `pipeline_results`), or in a list
    of that name.

    >>> board_in({"n": 9, "systems": {"dense": {"rouge1": 0.5, "f1": 0.4}, "bm25": {"rouge1": 0.3, "f1": 0.2}}})[1]
    {'model': 'bm25', 'rouge1': 0.3, 'f1': 0.2}
    >>> board_in({"gpt-4o": {"pass@1": {"full": 61.1}}, "claude-3": {"pass@1": {"full": 58.6}}})[0]
    {'model': 'gpt-4o', 'pass@1.full': 61.1}
    >>> board_in({"model": "m", "chat": 0.9, "safety": 0.8, "math": 0.5, "max_tokens": 512}), board_in({"a": 1})
    ([], [])
    >>> board_in({"ragas": {"faithfulness": 0.8, "recall": 0.7}, "config": {"top_k": 5, "k": 0.5}})
    [{'ragas.faithfulness': 0.8, 'ragas.recall': 0.7}]
    >>> board_in({"accuracy": 0.83, "n": 200}), board_in({"accuracy": 0.83, "made": "today"})
    ([{'accuracy': 0.83, 'n': 200}], [])
    >>> board_in({"group_a": {"n": 50, "rate": 0.6}, "group_b": {"n": 50, "rate": 0.7}, "alpha": 0.05})[1]
    {'model': 'group_b', 'n': 50, 'rate': 0.7}
    >>> board_in({"models": [{"name": "m", "type": "chat", "score": 4}, {"name": "n", "type": "chat", "score": 3}]})[1]
    {'model': 'n', 'score': 3}
    """
    members = as_dict(document)
    inner = {name: flat(flat(as_dict(value))) for name, value in members.items()}
    if len(inner) > 1 and all(inner.values()) and 2 * sum(map(names_a_model, inner)) > len(inner):
        boards = [{"model": name, **row} for name, row in inner.items()]
        return boards if item_column(tuple(boards[0])) is None else []
    for name in members:
        rows = {whose: flat(flat(as_dict(row))) for whose, row in as_dict(members[name]).items()}
        usual = next(iter(Counter(name for row in rows.values() for name in row).most_common(1)), ("", 0))[0]
        rows = {whose: row for whose, row in rows.items() if usual in row}
        if holds_systems(name):
            cells = [value for row in rows.values() for value in row.values()]
            fits = len(cells) > len(rows) and all(type(cell) in {int, float} for cell in cells)
        else:
            fits = are_averages([*rows.values()])
        if len(rows) > 1 and fits:
            return [{"model": whose, **row} for whose, row in rows.items()]
    if board := _listed(members):
        return board
    # Two groups of a test, among what was tested of them.
    alike: dict[tuple[str, ...], list[str]] = {}
    for name, row in inner.items():
        if {*map(type, row.values())} <= {int, float} and any(map(is_called_score, row)):
            alike.setdefault(tuple(row), []).append(name)
    for names in alike.values():
        if len(names) == 2 and are_sides(*map(plain, names)):
            return [{"model": name, **inner[name]} for name in names]
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
        if type(value) in {int, float} and (is_called_score(name) or is_count(name))
    }
    texts = any(isinstance(value, str) and len(value) > MAX_FACTOR_CHARS // 4 for value in whole.values())
    rows = any(as_dict(each) for value in whole.values() for each in as_list(value))
    rows |= _sum_up(kept.values(), oriented(document) or ())
    # One score is enough where nothing but numbers stands beside it.
    least = 1 if all(type(value) in {int, float} for value in whole.values()) else 2
    several = sum(map(is_called_score, kept)) >= least and any(isinstance(value, float) for value in kept.values())
    if not several or texts or rows or item_column(name.rpartition(".")[2] for name in whole) is not None:
        return []
    model = model_column(name for name, value in members.items() if isinstance(value, str))
    return [{**({"model": members[model]} if model else {}), **kept}]


def _sum_up(numbers: Iterable[object], rows: Sequence[Record]) -> bool:
    """Whether one of some numbers is the mean of a column of rows, or rows hold answers beside what is right.

    >>> (
    ...     _sum_up([0.5], [{"loss": 0.9, "hit": 1}, {"loss": 0.1, "hit": 0}]),
    ...     _sum_up([0.7], [{"recall": 0.9}, {"recall": 0.1}]),
    ... )
    (True, False)
    """
    columns = [SampledColumn(name, rows) for name in (rows[0] if rows else ())]
    means = [sum(c.numbers) / len(rows) for c in columns if len(c.numbers) == len(rows)]
    near = any(abs(mean - number) < _ROUNDED for mean in means for number in numbers if isinstance(number, int | float))
    return near or bool(made_of_two(columns))


def _listed(members: Mapping[str, object]) -> list[Record]:
    """Return the numbers of systems in the one list of a document that is called as they are, each with a name of its own."""
    lists = [(name, rows) for name, value in members.items() if (rows := [*dicts(value)])]
    if len(lists) != 1:
        return []
    (name, rows) = lists[0]
    words = plain(name).removesuffix("s")
    if any(map(as_dict, members.values())) or "_" in words or ROLES["model"].weight(words) < SURE:
        return []
    listed = [flat(flat(dict(row))) for row in rows]
    inside = {key for row in listed for value in row.values() for each in as_list(value) for key in as_dict(each)}
    who = next((name for name in ("model", "name", "id") if any(name in row for row in listed)), "")
    names = {row[who] for row in listed if isinstance(row.get(who), str)}
    # Each with items of its own is no summary.
    if len(names) != len(listed) or len(names) < 2 or any(ROLES["item"].weight(plain(key)) >= CALLED for key in inside):
        return []
    board: list[Record] = [
        {"model": row.get(who), **{name: cell for name, cell in row.items() if type(cell) in {int, float}}}
        for row in listed
    ]
    scored = all(any(is_called_score(name.rpartition(".")[2]) for name in row) for row in board)
    return board if scored else []


def holds_systems(name: str) -> bool:
    """Whether what bears a name in a document may hold an object for each system.

    >>> holds_systems("pipeline_results"), holds_systems("by_category")
    (True, False)
    """
    return any(word.removesuffix("s") in _HOLDERS for word in plain(name).split("_"))


@dataclass(frozen=True, slots=True)
class ScoreTableLoader(SingleFileLoader):
    """Loader of tables of published scores, the last to be asked.

    A table is taken for one if a column names the model (model, Model, name, llm_model, ...), no column names items, users
    or votes, and at least one other column holds numbers. Rows of one model are parts of a benchmark where columns say which.
    Each column of numbers is a metric. Columns called std_error, stderr, se, METRIC_se or with ± are its standard error,
    conf_low and conf_high, METRIC_low and METRIC_high, ci or METRIC_ci its interval, n, votes or n_items what stands behind it;
    a mean beside its SD and count has the standard error of these. The benchmark is the file's name unless a column
    says it. Units are not guessed from the size of numbers; a percent sign or the map (`scale=percent`) makes a percentage.
    """

    column_map: ColumnMap = field(default_factory=ColumnMap)

    name = "score-table"
    title = "published scores, one row a model (.csv, .tsv, .json, .jsonl)"
    version = "1"
    # As `sniff` gives it to a board.
    surest = 0.3

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
        if len(head.data) < HEAD_BYTES and is_one_model(columns, records):
            return Match(confidence=0.05, reason="one row of numbers, for the model that the file is called after")
        if isinstance(published_in(columns, records), str):  # most tables are of items, and told by that
            return None
        best = assigned(columns, records)[0]
        if best.published is None or not best.is_sure:
            return None
        shown = comma_list((metric.column for metric in best.published.metrics), _FEW)
        return Match(confidence=self.surest, reason=f"a row for each {best.published.model}, with numbers in {shown}")

    def with_columns(self, column_map: ColumnMap) -> "ScoreTableLoader":
        """Return a loader that takes from the map which columns are scores, models and parts, and the scores' scale."""
        parts = {*column_map.as_config()} - {"columns", "constants", "values", "directions", "scale"}
        known = [name for name in column_map.columns if name not in {"score", "model", *CERTAINTY, *LABELS}]
        if other := next(
            iter((*known, *column_map.constants, *(n for n in column_map.values if n != "score"), *sorted(parts))), None
        ):
            raise InputError(
                f"{other} cannot be mapped in a table of published scores, where score, model, "
                f"{', '.join((*CERTAINTY, *LABELS))}, unscored and scale can; if its rows are items, say which column names "
                f"them: {Option('map', blank='COLUMN', of='item')}"
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
        items = len(cells) > MANY_ITEMS * len(board) and all(cell in (0, 1) for cell in cells)
        return Match(confidence=0.03, reason="published scores in one object") if board and not items else None

    def read(self, source: Source) -> Iterator[Rows | Problem]:
        """Yield aggregates, their metrics, the run, and notes."""
        head = read_head(source.path)
        table = ScoreRows(head)
        unnamed = head.shape == "object" and len(table.records) == 1
        of_one = is_one_model(table.columns, table.records) or (unnamed and model_column(table.columns) is None)
        if of_one:
            table.columns = ["model", *table.columns]
            table.records = [{"model": source.called, **table.records[0]}]
        table.add_shares(self.column_map)
        map_ = table.rename(self.column_map)
        roles = published_in(table.columns, table.records) if {*map_.columns} <= {"score"} else ""
        if isinstance(roles, str):
            roles = published_in(table.columns, table.records, map_)
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
        elif shares := _shares(table, roles):
            if len(shares) == 1 and len(roles.metrics) == 2:  # there is nothing but a count and its total
                yield from source.notes([f"read with {as_options([f'score={shares[0]}'])}"])
                share = ColumnMap(columns={"score": (shares[0],)})
                yield from replace(self, column_map=self.column_map.overlaid(share)).read(source)
                return
            table.notes += [f"counts make a share: {Option('map', share, of='score')}" for share in shares]
        of_counts = bool(scores) and len(expressions(self.column_map, head.columns)) == len(scores)
        numbers = PublishedRows(scale=SCALES["proportion"] if of_counts else self.column_map.scale)
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
            + "".join(f" and {part}" for part in roles.parts)
        )
        yield from source.notes(
            (whose, *table.notes, *_assumed(roles, numbers, table.records), *notes, *numbers.doubts())
        )


def _shares(table: ScoreRows, roles: PublishedColumns) -> list[str]:
    """Return the shares that counts among the scores make, as a map writes them."""
    scored = [SampledColumn(metric.column, table.records) for metric in roles.metrics]
    return [made.name for made in made_of_two([column for column in scored if column.numbers]) if "/" in made.name]


def _add_all(
    records: Sequence[Record], roles: PublishedColumns, stem: str, numbers: PublishedRows, map_: ColumnMap
) -> list[str]:
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


def _add(
    record: Record, metric: ScoreColumns, roles: PublishedColumns, stem: str, numbers: PublishedRows, *, named: bool
) -> None:
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
    n = count_of(record.get(metric.n)) if metric.n else None
    if metric.sd and (sd := as_number(record.get(metric.sd))) is not None and (of := as_amount(n)):
        error = sd / of**0.5
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
        "model": roles.system_of(record),
        "benchmark": label("benchmark") or stem,
        "metric": label("metric") or metric.column,
        "unit": label("unit") or ("percent" if percent or named else None),
        "n": n,
    }
    numbers.add(cell if parsed is None else number, known, ends=ends, error=error)


def _level(metric: ScoreColumns) -> float | None:
    """Return the level of an interval as far as a column's name says it: `90% CI`, `q025`."""
    said = _LEVEL_IN.search(metric.interval or "")
    quantiles = metric.ends is not None and re.search(r"q025|p2.?5", metric.ends[0])
    return int(said[0]) / 100 if said else LEVEL if quantiles else None


def _facts(record: Record, roles: PublishedColumns) -> dict[str, object]:
    """Columns that say something else of the model become factors, under names that no column of ours has."""
    found: dict[str, object] = {}
    for column in roles.facts:
        value = record.get(column)
        if column in _OWN or isinstance(value, dict | list) or len(as_text(value) or "") > MAX_FACTOR_CHARS:
            continue
        number = as_number(value) if not isinstance(value, bool) else None
        found[column] = number if number is not None else (as_text(value) or None)
    return found


def _assumed(roles: PublishedColumns, numbers: PublishedRows, records: Sequence[Record]) -> list[str]:
    """Say what a table of scores does not tell and was taken to be so."""
    unitless = sorted({str(row["metric"]) for row in numbers.rows if row["unit"] is None})
    notes: list[str] = []
    if unitless:
        notes.append(f"no unit (share, percent, rating) is given for {comma_list(map(on_one_line, unitless), _FEW)}")
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
            "the level of the intervals is not given and taken to be 95%; if it is another, add a column conf_level (0.9, say)"
        )
    if roles.homeless:
        notes.append(f"{', '.join(roles.homeless)} could belong to any of several scores and is dropped")
    notes += [
        f"{m.sd} is taken as the SD of independent scores that {m.n} counts, and {m.sd} / √{m.n} as the standard error"
        for m in roles.metrics
        if m.sd
    ]
    if spreads := [name for name in roles.spreads if name not in {m.sd for m in roles.metrics}]:
        notes.append(f"{', '.join(spreads)} is a spread of scores, not a standard error; it is dropped")
    return notes


LOADER = ScoreTableLoader()
