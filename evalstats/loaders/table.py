"""A table of anybody's own: CSV, TSV, JSON Lines, a JSON list of records, or Parquet, one score or several a row."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path

import polars as pl
from msgspec import structs

from evalstats.errors import InputError, Option, UnreadableFileError
from evalstats.grammar import and_list
from evalstats.loaders import tidy
from evalstats.loaders.arena_votes import LOADER as VOTES
from evalstats.loaders.base import Frame, Head, Match, Rows, SingleFileLoader, Source, read_head, with_digest
from evalstats.loaders.binder import LOOKED_AT, as_options
from evalstats.loaders.blocks import open_table, safe_name
from evalstats.loaders.bound_columns import Binding, Survey, bind, surveyed
from evalstats.loaders.column_map import FOLDER, MAPPABLE, OF_VOTES, ColumnMap, column_named
from evalstats.loaders.expressions import computed, may_compute
from evalstats.loaders.files import HEAD_BYTES
from evalstats.loaders.layout import Contents
from evalstats.loaders.look import found_in, how_to_map, looks_at
from evalstats.loaders.roles import words_of
from evalstats.loaders.sampled_column import NOTHING_ASKED, AskedNames, SampledColumn, is_called_like_nothing, is_rated
from evalstats.loaders.tidy import Tidier
from evalstats.loaders.values import as_number, as_text, text_of
from evalstats.schema.columns import is_usual_text
from evalstats.schema.data import Problem

# Texts in a column of systems that are longer than this on average are prompts.
_NAME_CHARS = 80
# A table with so many levels of system that each item has one of its own compares none of them.
_MANY_SYSTEMS = 10
_MOST_NAMED = 12


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
    other scales are kept in their unit, and the map says what it is (`--map scale=percent`); "54.0%" says it itself.
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

    @property
    def n_keyed(self) -> int:
        """Return how many outcomes of a source it has told apart itself."""
        return tidy.MOST_KEYS

    def with_columns(self, column_map: ColumnMap) -> "TableLoader":
        """Return a loader that finds the columns by the map."""
        return TableLoader(column_map)

    def sniff(self, head: Head) -> Match | None:
        """Recognise a table whose item and score are found; any loader of a known format is surer."""
        known = found_in(head, ColumnMap(), self.asked)
        if known is None:
            return None
        found, _ = known
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
        known = None if source.columns else found_in(head, self.column_map, self.asked)
        found = source.columns or (known[0] if known else self.column_map)
        if {*OF_VOTES} & {*found.columns}:
            yield from VOTES.with_columns(found).read(source)
            yield from source.notes([f"read with {as_options(named_otherwise(found))}"])
            return
        within = source.path.absolute().parent.name
        said = {name: value for name, value in source.given.items() if name not in {"trial", "timestamp"}}
        map_ = found.placed(source.stem, within).overlaid(ColumnMap(constants=said))
        folder = [within] if FOLDER in found.constants.values() else [*source.given.values()]
        table, said = open_table(head, map_.rows, lenient=True, deep=map_.paths), map_
        if may_compute(map_):
            raw = table.blocks
            names = {name for block in islice(raw(), 1) for name in block.frame.columns}
            map_, add = computed(map_, names, source.called)
            table = structs.replace(table, blocks=lambda: add(raw()))
        survey, blocks = surveyed(table, watched(map_), {*self.asked.factors, *self.where, *map_.named})
        table.left_out.check(source.path, survey.n_rows)
        if survey.n_rows == 0:
            raise UnreadableFileError(f"{source.path}: holds no rows")
        try:
            binding = fitted(map_, survey, model=source.called)
        except InputError as error:
            sure = known or source.columns
            more = "" if sure else how_to_map(head, self.asked, partial(fault_of, source.path), self.column_map)
            raise InputError(f"{error}. {more}" if more and str(error) not in more else str(error)) from None
        told = {
            name: source.given[name] for name in ("trial", "timestamp") if name in {*source.given} - {*binding.columns}
        }
        binding = structs.replace(binding, constants={**binding.constants, **told})
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
            said=said,
        )
        for block in blocks:
            yield Frame(table="outcomes", frame=tidier.outcomes(block))
        tidier.check_kept()
        tidier.check_unique()
        yield Rows(table="metrics", rows=tidier.metrics())
        yield Rows(table="runs", rows=tidier.runs())
        yield from source.notes(tidier.notes(self.asked.metrics))
        yield from self._taken(source, head, map_, binding)
        details = [*tidier.details()]
        if head.shape == "text" and "" in head.columns:
            details.append("a column without a name is dropped")
        yield from source.notes(details, "detail")
        yield from source.notes(table.left_out.told(survey.n_rows), "error")

    def _taken(self, source: Source, head: Head, map_: ColumnMap, binding: Binding) -> Iterator[Problem]:
        """Say what was taken for what though nobody said so, and which scores were not taken."""
        known = named_otherwise(self.column_map)
        taken = [f"files={source.layout}"] if source.layout else []
        taken += [_shortened(each) for each in named_otherwise(map_) if each not in known]
        whose = f"the {'file' if source.called == source.stem else 'folder'}'s name"
        unnamed = {"model"}.isdisjoint({*binding.columns, *map_.constants, *map_.columns})
        notes = [f"read with {as_options(taken)}{f', and {whose} as the model' if unnamed else ''}"] if taken else []
        if unnamed and not taken:
            yield from source.notes([f"no column names the model, so {whose} is used"], "detail")
        if head.shape == "text" and head.delimiter == " ":
            notes.append("its columns are read as parted by blanks")
        if others := _further_scores(head, map_, binding):
            metrics = (*binding.scores.values(), *others)
            notes.append(
                f"{and_list(others)} {'are' if len(others) > 1 else 'is'} kept as no metric; to make one of each: "
                f"{Option('map', metrics, of='score')}"
            )
        yield from source.notes(notes)


def fault_of(path: Path, column_map: ColumnMap) -> str:
    """Say why a file cannot be read as a table or as votes with a map; "" where it can."""
    loader = VOTES.with_columns(column_map) if {*OF_VOTES} & {*column_map.columns} else TableLoader(column_map)
    try:
        for _ in loader.read(with_digest(Source(path=path))):
            pass
    except (InputError, OSError) as error:
        return str(error).removeprefix(f"{path}: ")
    return ""


def contents_of(path: Path, map_: ColumnMap, asked: AskedNames, columns: ColumnMap | None = None) -> Contents | None:
    """Return what a table holds, as far as the layout of its path goes; None for one that says itself what task it is of.

    `columns` are those that were found in it.
    """
    head = read_head(path)
    known = found_in(head, map_, asked) if columns is None else None
    look = known[1] if known else next(iter(looks_at(head, columns.rows if columns else None)), None)
    found = columns or (known[0] if known else None)
    if found is None or look is None or {*OF_VOTES} & {*found.columns}:
        return None
    found = found.placed(Source(path=path).stem, path.absolute().parent.name)
    names, records = look.columns, look.records
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
    is_whole = len(records) < LOOKED_AT and (len(head.data) < HEAD_BYTES or head.shape == "object")

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
    first = Counter(words_of(metric or "").split("_")[0] for metric in binding.scores)
    factors = binding.factors.values()
    if not (names := [n for n in factors if is_called_like_nothing(n) or first[words_of(n).split("_")[0]] > 1]):
        return []
    records = looks_at(head)[0].records
    item = SampledColumn(_source(map_, "item"), records)
    scores = [SampledColumn(column_named(source) or source, records) for source in binding.scores.values()]
    steps = {level for score in scores if len(score.levels) > 2 for level in score.levels}
    others = [SampledColumn(name, records) for name in names]
    # Where each item has one row, the steps of the scores are what tells.
    once = len(item.levels) == len(item.values)
    return [c.name for c in others if is_rated(c, item) or (once and len(c.levels) > 1 and c.levels <= steps)]


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


def _shortened(option: str) -> str:
    """Name the first of many columns."""
    names = option.split(",")
    return option if len(names) <= _MOST_NAMED else ",".join([*names[:3], "..."])


def fitted(map_: ColumnMap, survey: Survey, *, model: str | None = None, merged: bool = False) -> Binding:
    """Bind the columns of a table that was looked at: what merely bears a standard name is a factor.

    `merged` says that a row stands for `n_trials` equal ones.
    """
    unfit = {name: why for name in survey.columns if (why := survey.misfit(name))}
    reasons = {"system": _no_systems, "run": _no_runs} | ({} if merged else {"n_trials": _no_trials})
    for name, why in ((name, told(map_, survey)) for name, told in reasons.items()):
        if why and name in survey.columns:
            unfit.setdefault(name, why)
    return bind(map_, survey.columns, model=model, unfit=unfit)


def watched(map_: ColumnMap) -> tuple[tuple[str, str], ...]:
    """Return the pairs of columns that tell by what stands together whether the second is what it is called."""
    pairs = (("item", "system"), ("model", "run"), ("benchmark", "run"))
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


def _no_trials(map_: ColumnMap, survey: Survey) -> str:
    """Say why a column called n_trials counts no trials of its row, but those of a group; "" where it may."""
    sources = [name for name in map_.columns.get("score", ("score",)) if name in survey.seen]
    single = all(survey.dtype(name).is_integer() or survey.dtype(name) == pl.Boolean for name in sources)
    several = (as_number(survey.first.get("n_trials")) or 1) > 1
    return "each score is whole, as that of one trial is" if sources and single and several else ""


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
