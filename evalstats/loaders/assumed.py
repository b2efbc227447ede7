"""Benchmarks whose results nobody has published: the columns are assumed, and files that have others are tables of one's own.

What the declarations of both share: the columns that every file may have, and how a score is read. All other columns are factors.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Final, cast

import polars as pl

from evalstats.errors import InputError
from evalstats.loaders.blocks import safe_name
from evalstats.loaders.format import RECORDS, TABLE, FormatFile
from evalstats.loaders.record_columns import number, unscored_where
from evalstats.loaders.rows import Row, Said
from evalstats.loaders.values import NO_VALUE, as_number, as_text, failures_of

SHAPES: Final = (*RECORDS, *TABLE)
Record = dict[str, Any]
_KEPT: Final = (
    "trial", "n_trials", "weight", "setting", "user_kind", "judge", "user", "session", "n_turns", "cost_usd", "latency_s",
    "input_tokens", "output_tokens", "timestamp",
)  # fmt: skip
_FACTORS: Final = "_factors"
# Columns of every form; `simulated` is said of the run alone.
FIELDS: Final[Mapping[str, str]] = {
    **{name: name for name in _KEPT},
    "part": "run",
    "simulated": "simulated",
    "error": "error",
    "_failed": "judge_error",
    "_v_low": "score_min",
    "_v_high": "score_max",
    "*": _FACTORS,
}
OF_RUN: Final = ("simulated", "judge")
_WORDS: Final = {"true": 1.0, "yes": 1.0, "false": 0.0, "no": 0.0}
_SCALE: Final = "scale"
_Scale = tuple[float | None, float | None]


def with_others(
    taken: Iterable[str], scores: Collection[str]
) -> Callable[[list[Record], FormatFile[Record]], tuple[list[Record], list[str]]]:
    """Return what puts columns that are not `taken` where factors are looked for, and leaves out rows without any score."""
    known = {*taken, *scores, *FIELDS.values()}

    def inner(records: list[Record], file: FormatFile[Record]) -> tuple[list[Record], list[str]]:
        kept: list[Record] = []
        places: list[str] = []
        for record, place in zip(records, file.locators, strict=True):
            if record.keys().isdisjoint(scores):
                file.leave_out(f"none of {', '.join(scores)}", place)
                continue
            record[_FACTORS] = {safe_name(name): value for name, value in record.items() if name not in known}
            kept.append(record)
            places.append(place)
        return kept, places

    return inner


def read(value: object) -> Said:
    """Read a score: a number, or yes and no.

    >>> read("Yes"), read("0.5"), read("")["status_reason"], read("good")["status"]
    (1.0, 0.5, 'there is no score', 'unscored')
    """
    text = (as_text(value) or "").strip().lower()
    found = _WORDS.get(text, as_number(text))
    return found if found is not None else number(None if text in NO_VALUE else value)


def noted(benchmark: str, choice: str = "") -> str:
    """Say what every run of a benchmark says."""
    return f"{benchmark} publishes no format of results: columns are as evalstats assumes{choice}"


def standard(frame: pl.DataFrame, file: FormatFile[Record], named: Mapping[str, str]) -> pl.DataFrame:
    """Return a block's columns without those that no row has; `named` are standard columns by their own names.

    All rows are on one scale: averages over two mean nothing.
    """
    absent = [name for name in frame.columns if name in {*_KEPT, *named.values()} and frame[name].is_null().all()]
    file.factors.own_names = [f"{own}={name}" for own, name in named.items() if name not in absent]
    frame = frame.with_columns(failures_of(frame[name]).alias(name) for name in ("error", "_failed"))
    written = frame.select("_v_low", "_v_high").unique(maintain_order=True).rows()
    stated = [(as_number(low), as_number(high)) for low, high in written]
    scale = cast("_Scale", file.kept.setdefault(_SCALE, stated[0] if stated else (None, None)))
    low, high = scale
    if low is not None and high is not None and low >= high:
        raise InputError(f"score_min is {low:g} and score_max {high:g}; the maximum must be above the minimum")
    if any(each != scale for each in stated):
        raise InputError(
            f"scores are on two scales (score_min and score_max: {scale} and {next(each for each in stated if each != scale)}); "
            "put all scores on one scale, or give each scale a file and a benchmark of its own"
        )
    return frame.drop(absent)


def on_scale(frame: pl.DataFrame, file: FormatFile[Record], metrics: Sequence[str], better: Row) -> pl.DataFrame:
    """Return outcomes without scores that lie outside the scale, and whose judge failed; say the scale of the metrics."""
    low, high = cast("_Scale", file.kept.get(_SCALE, (None, None)))
    outside = pl.lit(None, dtype=pl.String)
    if low is not None and high is not None:
        away = pl.col("metric").is_in([*metrics]) & ~pl.col("score").is_between(low, high)
        outside = pl.when(away).then(pl.lit(f"the score lies outside {low:g} to {high:g}"))
    facts: Row = {"kind": "continuous", "low": None, "high": None, "unit": None}
    if metrics and (low is None or high is None):
        file.note(
            f"no scale is given for {', '.join(metrics)}, so the scores are kept without bounds; if there are bounds, write them "
            "in columns score_min and score_max"
        )
    elif (low, high) != (0, 1):
        facts = {"kind": "bounded", "low": low, "high": high, "unit": "points"}
    else:
        facts = {}
    for metric in metrics:
        file.metric(metric, **facts, **better)
    failed = pl.format("the judge failed: {}", "_failed")
    return unscored_where(frame, pl.coalesce(failed, outside)).drop("simulated")
