"""Leaderboards as delimited text: Chatbot Arena's, Arena-Hard's, AlpacaEval's, and AlpacaEval's table of many benchmarks."""

import csv
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, date, datetime
from itertools import islice
from typing import Final

from evalstats.loaders.base import Head, Source
from evalstats.loaders.delimited import header_of, iter_rows
from evalstats.loaders.files import open_text
from evalstats.loaders.leaderboard_numbers import Numbers, between, day_of, offsets, plus_minus
from evalstats.loaders.values import as_count, as_number

Record = Mapping[str, str]
Reader = Callable[[Head, Source, Numbers], str]

_ARENA: Final = frozenset({"model", "arena_score", "95_pct_ci"})
_HARD: Final = frozenset({"model", "score", "rating_q025", "rating_q975"})
_ALPACA: Final = frozenset({"win_rate", "standard_error", "n_total"})
_ALPACA_SITE: Final = frozenset({"name", "win_rate", "avg_length", "samples", "filter"})
_ALPACA_METRICS: Final = (
    ("win_rate", "standard_error"),
    ("length_controlled_winrate", "lc_standard_error"),
    ("discrete_win_rate", ""),
)
_DATED = re.compile(r"(.+?)\s*\[(\w+ \d+, \d{4})\]")
# Not a score of a benchmark, though a column beside them.
_LENGTH: Final = "Output Length"
# Both ways of writing Arena-Hard's interval are rounded, to a tenth in its first tables.
_ROUNDING: Final = 0.11


def kind_of(head: Head) -> tuple[str, Reader] | None:
    """Say what a delimited file holds, and by what it is read."""
    names = set(head.columns)
    if names >= _ARENA:
        return "arena_score and 95_pct_ci", _arena
    if names >= _HARD:
        return "score, rating_q025 and rating_q975", _arena_hard
    if names >= _ALPACA or names >= _ALPACA_SITE:
        return "win_rate as in AlpacaEval's leaderboards", _alpaca_eval
    if head.columns[:1] == ("Model",) and any(name.startswith("Arena Elo") for name in names):
        return "Model and Arena Elo among many benchmarks", _many_benchmarks
    return None


def _records(head: Head) -> Iterator[Record]:
    header = header_of(head.path, head.delimiter)
    for _, cells in iter_rows(head.path, head.delimiter, n_columns=len(header)):
        yield dict(zip(header, cells, strict=True))


def _loose_records(head: Head) -> Iterator[Record]:
    """Yield records of a table whose rows may end before the last column, as one written by hand does."""
    header = header_of(head.path, head.delimiter)
    with open_text(head.path) as stream:
        for cells in islice(csv.reader(stream, delimiter=head.delimiter), 1, None):
            yield dict(zip(header, cells, strict=False))


def _arena(head: Head, source: Source, numbers: Numbers) -> str:
    """Read a dump of Chatbot Arena's table; its part of the arena is named by the file (lmarena_text)."""
    task = source.stem.removeprefix("lmarena_") if source.stem.startswith("lmarena_") else ""
    for record in _records(head):
        ends = plus_minus(record["95_pct_ci"], record["arena_score"])
        if ends is None and record["95_pct_ci"].strip():
            numbers.unread["95_pct_ci"] += 1
        more = {
            "task": task,
            "setting": "live",
            "method": "published; rounded, interval from 95_pct_ci (upper distance first)",
            "rank": as_count(record.get("rank")),
            "rank_stylectrl": as_count(record.get("rank_stylectrl")),
            "organization": record.get("organization") or None,
            "license": record.get("license") or None,
        }
        numbers.add(
            record["arena_score"],
            model=record["model"],
            benchmark="LMArena",
            metric="rating",
            unit="rating",
            ends=ends,
            n=record.get("votes"),
            more=more,
        )
    return "LMArena"


def _arena_hard(head: Head, _: Source, numbers: Numbers) -> str:
    """Read Arena-Hard-Auto's leaderboard; its interval stands as ends and as distances, which must agree."""
    n_apart = 0
    for record in _records(head):
        ends = between(record, "rating_q025", "rating_q975")
        beside = offsets(record.get("CI"), record["score"])
        if ends is not None and beside is not None:
            n_apart += max(abs(ends[0] - beside[0]), abs(ends[1] - beside[1])) > _ROUNDING
        more = {
            "setting": "lab",
            "method": f"published; interval from {'rating_q025 and rating_q975' if ends else 'CI'}",
            "date": day_of(record.get("date")),
            "avg_tokens": as_number(record.get("avg_tokens")),
        }
        numbers.add(
            record["score"],
            model=record["model"],
            benchmark="Arena-Hard",
            metric="score",
            unit="percent",
            ends=ends or beside,
            more=more,
        )
    if n_apart:
        numbers.notes.append(f"of {n_apart} models CI and rating_q025, rating_q975 differ; the latter are taken")
    return "Arena-Hard"


def _alpaca_eval(head: Head, source: Source, numbers: Numbers) -> str:
    """Read AlpacaEval's leaderboards, also those of its site; the annotator, which the file names, is the task."""
    annotator = source.stem.removeprefix("docs_").removesuffix("_leaderboard")
    for record in _records(head):
        common = {
            "task": annotator,
            "setting": "lab",
            "judge": annotator,
            "avg_length": as_number(record.get("avg_length")),
            "mode": record.get("mode") or record.get("filter") or None,
        }
        counts = {name: as_count(record.get(name)) for name in ("n_wins", "n_wins_base", "n_draws")}
        for metric, error in _ALPACA_METRICS:
            told = f"published, with {error}" if as_number(record.get(error)) else "published"
            numbers.add(
                record.get(metric),
                model=record.get("") or record.get("name"),
                benchmark="AlpacaEval",
                metric=metric,
                unit="percent",
                error=record.get(error),
                n=record.get("n_total"),
                more={**common, "method": told, **(counts if metric == "win_rate" else {})},
            )
    return "AlpacaEval"


def _many_benchmarks(head: Head, _: Source, numbers: Numbers) -> str:
    """Read AlpacaEval's table that sets many benchmarks beside two states of Chatbot Arena."""
    for record in _loose_records(head):
        for column, value in record.items():
            name = " ".join(column.split())
            if name in {"", "Model", _LENGTH}:
                continue
            dated = _DATED.fullmatch(name)
            arena = name.startswith("Arena Elo")
            more = {
                "setting": "live" if arena else "lab",
                "method": "published, as AlpacaEval's notebooks collect it",
                "date": _day(dated[2]) if dated else None,
            }
            numbers.add(
                value,
                model=record.get("Model"),
                benchmark="Chatbot Arena" if arena else name,
                metric="rating" if arena else "score",
                unit="rating" if arena else None,
                more=more,
            )
    return "AlpacaEval's collection"


def _day(text: str) -> date | None:
    for form in ("%b %d, %Y", "%B %d, %Y"):
        try:
            return datetime.strptime(text, form).replace(tzinfo=UTC).date()
        except ValueError:
            continue
    return None
