"""BenchBench: published scores of many benchmarks, one small table each.

Format: `src/bat/assets/benchmarks/<benchmark>_<yymmdd>_<tag>.csv` of IBM/benchbench at 1dfd46a, a row for each model and a
column for each score, and the older long tables with scenario and source. `lower_is_better_benchmarks.txt` beside them names
the tables in which a low number is the better one.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import date
from typing import Final

from evalstats.errors import UnreadableFileError
from evalstats.loaders.base import Head, Match, Rows, SingleFileLoader, Source, in_batches, read_head
from evalstats.loaders.published_numbers import PublishedRows
from evalstats.loaders.rows import told
from evalstats.loaders.score_table import LOADER as SCORE_TABLE
from evalstats.loaders.score_table import ScoreRows, is_absent
from evalstats.loaders.values import as_text
from evalstats.schema.data import Problem

_MODEL: Final = frozenset({"model", "llm_model"})
# `aggragated` is how the project spells it.
_LONG: Final = frozenset({"model", "score", "scenario", "source", "aggragated_from", "tag"})
_TAGS: Final = (
    "agent", "code", "emotion", "holistic", "instructionfollow", "knowledge", "language", "linguistics", "longcontext", "math",
    "reasoning", "safety", "tables", "tools",
)  # fmt: skip
_NAME: Final = re.compile(rf"(?P<name>.+?)_(?P<day>\d{{6}})(?:_\d{{6}})?(?:_(?P<tag>{'|'.join(_TAGS)}))?")
_LOWER: Final = frozenset({"helm_airbench_240916", "llm_trustworthy_241001"})
# DecodingTrust's scores rise with trust, and of its own table the strongest models lead.
_DOUBTED: Final = frozenset({"llm_trustworthy_241001"})

_EMPTY: Final = "{n} cells are empty: those scores are missing, not 0"
_COPIES: Final = "{n} rows stand there already, cell by cell, and count once"
_NO_DAY: Final = "{day} in its name is no day (yymmdd), so the table has no date"
_CONTRADICTED: Final = (
    "BenchBench lists {name} among the tables in which lower is better, and is followed; its source scores trust from 0 to "
    "100, where higher is better. Check the direction before you rank by it"
)


class BenchBenchLoader(SingleFileLoader):
    """Loader of BenchBench's tables into aggregates; give the whole folder to read them all.

    The benchmark is the file's name before its date, each column of a wide table a metric; a long table has one metric,
    `score`, and its scenarios. Names of models stay as the table has them.
    """

    name = "benchbench"
    title = "BenchBench tables (<benchmark>_<yymmdd>_<tag>.csv)"
    version = "1"

    def sniff(self, head: Head) -> Match | None:
        """Recognise a long table by its columns, a wide one by its name and a row for each model."""
        if head.shape != "text":
            return None
        if frozenset(head.columns) >= _LONG:
            return Match(confidence=0.9, reason="model, score, scenario, source, aggragated_from and tag")
        named = _NAME.fullmatch(head.name.removesuffix(".csv"))
        if named is None or not named["tag"] or head.columns[:1] == () or head.columns[0] not in _MODEL:
            return None
        if SCORE_TABLE.sniff(head) is None:
            return None
        return Match(confidence=0.5, reason="a row for each model in a file named <benchmark>_<yymmdd>_<tag>")

    def read(self, source: Source) -> Iterator[Rows | Problem]:
        """Yield aggregates, their metrics, the run, and notes."""
        table = ScoreRows(read_head(source.path))
        counts, numbers = (
            Counter[str](),
            {True: PublishedRows(higher_is_better=True), False: PublishedRows(higher_is_better=False)},
        )
        long = frozenset(table.columns) >= _LONG
        told_of = dict[str, None]()
        seen: set[tuple[str | None, ...]] = set()
        for record in table.records:
            copy = tuple(as_text(record.get(name)) for name in table.columns)
            if copy in seen:
                counts[_COPIES] += 1
                continue
            seen.add(copy)
            origin = (as_text(record.get("source")) or "").strip() if long else source.stem
            told_of.setdefault(origin, None)
            about = _about(origin)
            into = numbers[f"{about['benchmark']}_{about.pop('day')}" not in _LOWER]
            if long:
                about |= {
                    "metric": "score",
                    "scenario": as_text(record.get("scenario")),
                    "tag": as_text(record.get("tag")),
                }
                _add(into, record, "score", about, counts)
                continue
            model, *columns = table.columns
            for column in columns:
                _add(into, {**record, "model": record.get(model)}, column, {**about, "metric": column}, counts)
        rows = [row for each in numbers.values() for row in each.rows]
        if not rows:
            raise UnreadableFileError(f"{source.path}: holds no published number of any model")
        run = source.run_id()
        benchmarks = sorted({str(row["benchmark"]) for row in rows})
        yield from in_batches(({**row, "run": run} for row in rows), "aggregates")
        yield Rows(table="metrics", rows=[row for each in numbers.values() for row in each.metrics.values()])
        benchmark = benchmarks[0] if len(benchmarks) == 1 else source.stem
        yield Rows(table="runs", rows=[{"run": run, "benchmark": benchmark, "harness": "BenchBench"}])
        doubts = [doubt for each in numbers.values() for doubt in each.doubts()]
        yield from source.notes([*told(counts), *(note for origin in told_of for note in _notes(origin)), *doubts])


def _add(
    into: PublishedRows, record: Mapping[str, object], column: str, about: Mapping[str, object], counts: Counter[str]
) -> None:
    cell = record.get(column)
    if is_absent(cell):
        counts[_EMPTY] += 1
    else:
        into.add(cell, {**about, "model": record.get("model")})


def _about(origin: str) -> dict[str, object]:
    """Return benchmark, date and tag of a table's name; `day` is the date as it stands there."""
    named = _NAME.fullmatch(origin)
    if named is None:
        return {"benchmark": origin, "day": ""}
    found: dict[str, object] = {"benchmark": named["name"], "day": named["day"], "date": _day(named["day"])}
    return found | ({"tag": named["tag"]} if named["tag"] else {})


def _day(digits: str) -> date | None:
    try:
        return date(2000 + int(digits[:2]), int(digits[2:4]), int(digits[4:]))
    except ValueError:
        return None


def _notes(origin: str) -> Iterator[str]:
    named = _NAME.fullmatch(origin)
    if named is None:
        return
    if _day(named["day"]) is None:
        yield _NO_DAY.format(day=named["day"])
    name = f"{named['name']}_{named['day']}"
    if name in _DOUBTED:
        yield _CONTRADICTED.format(name=name)


LOADER: Final = BenchBenchLoader()
