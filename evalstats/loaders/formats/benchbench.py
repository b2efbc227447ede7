"""BenchBench: published scores of many benchmarks, one small table each.

Read is `src/bat/assets/benchmarks/<benchmark>_<yymmdd>_<tag>.csv`, a row for each model and a column for each score, and the
older long tables with scenario and source; give the whole folder to read them all. The benchmark is the file's name before its
date, each column of a wide table a metric; a long table has one metric, `score`, and its scenarios.
`lower_is_better_benchmarks.txt` beside them names the tables in which a low number is the better one. Names of models stay as the
table has them.
"""

import re
from collections.abc import Iterator, Mapping
from datetime import date
from typing import Final

from evalstats.loaders.base import Head, Match, Source
from evalstats.loaders.format import Sign
from evalstats.loaders.published_columns import is_absent
from evalstats.loaders.published_format import PublishedFormat
from evalstats.loaders.published_numbers import PublishedRows
from evalstats.loaders.score_table import LOADER as SCORE_TABLE
from evalstats.loaders.score_table import ScoreRows
from evalstats.loaders.values import as_text

# `aggragated` is how the project spells it.
_LONG: Final = "model score scenario source aggragated_from tag"
_TAGS: Final = (
    "agent", "code", "emotion", "holistic", "instructionfollow", "knowledge", "language", "linguistics", "longcontext", "math",
    "reasoning", "safety", "tables", "tools",
)  # fmt: skip
_NAME: Final = re.compile(rf"(?P<name>.+?)_(?P<day>\d{{6}})(?:_\d{{6}})?(?:_(?P<tag>{'|'.join(_TAGS)}))?")
_LOWER: Final = frozenset({"helm_airbench_240916", "llm_trustworthy_241001"})
# DecodingTrust's scores rise with trust, and of its own table the strongest models lead.
_DOUBTED: Final = frozenset({"llm_trustworthy_241001"})

_EMPTY: Final = "{n} cells are empty: those scores are missing, not 0"
_COPIES: Final = "{n} rows repeat earlier ones cell by cell, and count once"
_NO_DAY: Final = "{day} in its name is not a day (yymmdd), so the table has no date"
_CONTRADICTED: Final = (
    "BenchBench lists {name} among the tables in which lower is better, and is followed; its source scores trust from 0 to "
    "100, where higher is better. Check the direction before you rank by it"
)


class _WideSign(Sign, frozen=True):
    """The sign of a wide table: its name, and a row for each model."""

    def match(self, head: Head) -> Match | None:
        """Say whether a file is called so and is a table of scores by model."""
        named = _NAME.fullmatch(head.name.removesuffix(".csv"))
        if named is None or not named["tag"] or head.columns[:1] not in {("model",), ("llm_model",)}:
            return None
        return super().match(head) if SCORE_TABLE.sniff(head) is not None else None


def _table(head: Head, source: Source, numbers: PublishedRows) -> str:
    table = ScoreRows(head)
    long = {*table.columns}.issuperset(_LONG.split())
    seen: set[tuple[str | None, ...]] = set()
    origins = dict[str, None]()
    for record in table.records:
        copy = tuple(as_text(record.get(name)) for name in table.columns)
        if copy in seen:
            numbers.counts[_COPIES] += 1
            continue
        seen.add(copy)
        origin = (as_text(record.get("source")) or "").strip() if long else source.stem
        origins[origin] = None
        about = _about(origin)
        numbers.higher_is_better = f"{about['benchmark']}_{about.pop('day')}" not in _LOWER
        if long:
            kept = {name: as_text(record.get(name)) for name in ("scenario", "tag")}
            _add(numbers, record, "score", {**about, **kept, "metric": "score"})
        else:
            model, *columns = table.columns
            for column in columns:
                _add(numbers, {**record, "model": record.get(model)}, column, {**about, "metric": column})
    numbers.notes += [note for origin in origins for note in _notes(origin)]
    benchmarks = {str(row["benchmark"]) for row in numbers.rows}
    return benchmarks.pop() if len(benchmarks) == 1 else source.stem


def _add(numbers: PublishedRows, record: Mapping[str, object], column: str, about: Mapping[str, object]) -> None:
    cell = record.get(column)
    if is_absent(cell):
        numbers.counts[_EMPTY] += 1
    else:
        numbers.add(cell, {**about, "model": record.get("model")})


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


FORMAT: Final = PublishedFormat(
    name="benchbench",
    title="BenchBench tables (<benchmark>_<yymmdd>_<tag>.csv)",
    version="2",
    upstream="IBM/benchbench at 1dfd46a, src/bat/assets/benchmarks",
    harness="BenchBench",
    tables=((Sign(_LONG, shapes=("text",)), _table), (_WideSign(confidence=0.5, shapes=("text",)), _table)),
)
