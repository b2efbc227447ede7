"""Published leaderboards of arenas and of judged benchmarks, as rows of `aggregates`.

Read are dumps of Chatbot Arena and LMArena, ComparIA, Arena-Hard, AlpacaEval, WildBench and EvalPlus. Every number is a row with
its interval or standard error where the source gives one; nothing is derived, and asymmetric intervals stay so. The level of an
interval is 95 % where the source's names say so (95_pct_ci, q025 and q975, p2.5 and p97.5). An interval without width belongs to
a baseline that is fixed by definition, and is left out.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from evalstats.loaders.base import Head, Source
from evalstats.loaders.delimited import header_of, iter_rows
from evalstats.loaders.files import load_json
from evalstats.loaders.format import Sign
from evalstats.loaders.formats.wildbench_boards import DOCUMENT, MAX_CHARS, TABLES, models_of
from evalstats.loaders.published_format import PublishedFormat
from evalstats.loaders.published_numbers import PublishedRows, between, certainty_in
from evalstats.loaders.rows import Row
from evalstats.loaders.values import as_count, as_dict, as_number, day_of, dicts

_ARENA: Final[Row] = {"benchmark": "LMArena", "metric": "rating", "unit": "rating", "setting": "live"}
_ALPACA_METRICS: Final = (
    ("win_rate", "standard_error"),
    ("length_controlled_winrate", "lc_standard_error"),
    ("discrete_win_rate", ""),
)


def _records(head: Head) -> Iterator[Mapping[str, str]]:
    header = header_of(head.path, head.delimiter)
    for _, cells in iter_rows(head.path, head.delimiter, n_columns=len(header)):
        yield dict(zip(header, cells, strict=True))


def _arena(head: Head, source: Source, numbers: PublishedRows) -> str:
    """Read a dump of Chatbot Arena's table; its part of the arena is named by the file (lmarena_text)."""
    common = {**_ARENA, "method": "published; rounded, interval from 95_pct_ci (upper distance first)"}
    common["task"] = source.stem.removeprefix("lmarena_") if source.stem.startswith("lmarena_") else ""
    for record in _records(head):
        score = record["arena_score"]
        ends = certainty_in(record["95_pct_ci"], as_number(score) or 0.0, half=True)[1]
        if ends is None and record["95_pct_ci"].strip():
            numbers.unread["95_pct_ci"] += 1
        known = {**common, "model": record["model"], "n": record.get("votes")}
        known |= {name: as_count(record.get(name)) for name in ("rank", "rank_stylectrl")}
        known |= {name: record.get(name) or None for name in ("organization", "license")}
        numbers.add(score, known, ends=ends)
    return "LMArena"


def _arena_hard(head: Head, _: Source, numbers: PublishedRows) -> str:
    """Read Arena-Hard-Auto's leaderboard; its interval stands as ends, and rounded as distances."""
    common = {"benchmark": "Arena-Hard", "metric": "score", "unit": "percent", "setting": "lab"}
    for record in _records(head):
        ends = between(record, "rating_q025", "rating_q975")
        known = {
            **common,
            "model": record["model"],
            "method": f"published; interval from {'rating_q025 and rating_q975' if ends else 'CI'}",
            "date": day_of(record.get("date")),
            "avg_tokens": as_number(record.get("avg_tokens")),
        }
        beside = certainty_in(record.get("CI"), as_number(record["score"]) or 0.0)[1]
        numbers.add(record["score"], known, ends=ends or beside)
    return "Arena-Hard"


def _alpaca_eval(head: Head, source: Source, numbers: PublishedRows) -> str:
    """Read AlpacaEval's leaderboards, also those of its site; the annotator, which the file names, is the task."""
    annotator = source.stem.removeprefix("docs_").removesuffix("_leaderboard")
    common = {"benchmark": "AlpacaEval", "unit": "percent", "setting": "lab", "task": annotator, "judge": annotator}
    for record in _records(head):
        facts = {
            **common,
            "model": record.get("") or record.get("name"),
            "n": record.get("n_total"),
            "avg_length": as_number(record.get("avg_length")),
            "mode": record.get("mode") or record.get("filter") or None,
        }
        counts = {name: as_count(record.get(name)) for name in ("n_wins", "n_wins_base", "n_draws")}
        for metric, error in _ALPACA_METRICS:
            told = f"published, with {error}" if as_number(record.get(error)) else "published"
            known = {**facts, "metric": metric, "method": told, **(counts if metric == "win_rate" else {})}
            numbers.add(record.get(metric), known, error=record.get(error))
    return "AlpacaEval"


def _catalog(head: Head, _: Source, numbers: PublishedRows) -> str:
    """Read the arena catalog: category to model to rating; or model to rating, without categories."""
    content = as_dict(load_json(head.path, max_chars=MAX_CHARS))
    flat = any("rating" in as_dict(value) for value in content.values())
    common = {**_ARENA, "method": "published; interval from rating_q025 and rating_q975"}
    for category, models in ({"": content} if flat else content).items():
        for known, record in models_of(models, {**common, "task": category}):
            ends = between(record, "rating_q025", "rating_q975")
            numbers.add(record.get("rating"), {**known, "n": record.get("votes")}, ends=ends)
    return "LMArena"


def _comparia(head: Head, _: Source, numbers: PublishedRows) -> str:
    """Read ComparIA's dump: medians and percentiles of resampled ratings, and win rates."""
    content = as_dict(load_json(head.path, max_chars=MAX_CHARS))
    day = day_of(content.get("timestamp"))
    rating = {"metric": "rating", "unit": "rating", "method": "published; median, interval from p2.5 and p97.5"}
    for record in dicts(content.get("models")):
        common = {"model": record.get("model_name"), "benchmark": "ComparIA", "n": record.get("n_match")}
        common |= {"setting": "live", "date": day, "rank": record.get("rank")}
        numbers.add(record.get("median"), common | rating, ends=between(record, "p2.5", "p97.5"))
        for metric in ("win_rate", "mean_win_prob"):
            numbers.add(record.get(metric), {**common, "metric": metric, "unit": "proportion"})
    return "ComparIA"


def _evalplus(head: Head, _: Source, numbers: PublishedRows) -> str:
    """Read EvalPlus' leaderboard: model to its share of solved tasks, with and without the added tests."""
    common: Row = {"benchmark": "EvalPlus", "metric": "pass@1", "unit": "percent", "setting": "lab"}
    for known, record in models_of(load_json(head.path, max_chars=MAX_CHARS), common):
        facts = {"params_b": as_number(record.get("size")), "prompted": record.get("prompted") is True}
        for task, score in as_dict(record.get("pass@1")).items():
            numbers.add(score, {**known, **facts, "task": task})
    return "EvalPlus"


_TEXT: Final = ("text",)
FORMAT: Final = PublishedFormat(
    name="leaderboard",
    title="leaderboards (arenas, Arena-Hard, AlpacaEval, WildBench, EvalPlus)",
    version="2",
    upstream=(
        "lmarena's dumps; lmarena/arena-hard-auto at 196f6b8; tatsu-lab/alpaca_eval at cd543a1; allenai/WildBench at d6b8dca, "
        "leaderboard/; evalplus/evalplus.github.io"
    ),
    harness=None,
    tables=(
        (Sign("model arena_score 95_pct_ci", shapes=_TEXT), _arena),
        (Sign("model score rating_q025 rating_q975", shapes=_TEXT), _arena_hard),
        (Sign("win_rate standard_error n_total", shapes=_TEXT), _alpaca_eval),
        (Sign("name win_rate avg_length samples filter", shapes=_TEXT), _alpaca_eval),
        (Sign(text=('"rating_q975"', '"rating_q025"'), shapes=DOCUMENT), _catalog),
        (Sign("timestamp models", text=('"p2.5"', '"median"'), shapes=DOCUMENT), _comparia),
        (Sign(text=('"humaneval+"', '"pass@1"', '"open-data"'), shapes=DOCUMENT), _evalplus),
        *TABLES,
    ),
)
