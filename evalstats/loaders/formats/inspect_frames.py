"""Inspect AI's data frames: `samples_df` and `evals_df`, saved as CSV or Parquet.

A row of samples is a sample and epoch, with a column `score_<scorer>` for each scorer. Which model it is of stands in a column of
the log, or in the table of evals that lies beside it: both are then read together. Tables of evals alone hold published numbers.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, cast

import polars as pl
from msgspec import UNSET

from evalstats.errors import UnreadableFileError
from evalstats.loaders.base import Source, read_head
from evalstats.loaders.files import cell_value
from evalstats.loaders.format import FAILED, TABLE, UNSCORED, Format, FormatFile, Sign
from evalstats.loaders.inspect_ai import metrics_of, read_grade
from evalstats.loaders.rows import Row, Said
from evalstats.loaders.values import as_count, as_dict, as_text, day_of

_SCORE: Final = "score_"
_DETAILS: Final = re.compile(r"(?P<scorer>.+)_(?:answer|explanation|metadata)", re.DOTALL)
_METADATA: Final = "metadata_"
_STDERR: Final = "_stderr"
_HEADLINE: Final = "headline"
_NO_VALUE: Final = frozenset({"", "nan", "NaN", "<NA>"})
# Where the factors of a sample are put, the metrics of a block, what a sample says of each, and the runs of logs.
_FACTORS, _METRICS, _METRIC, _RUNS = "_factors", "metrics", "_metric {}", "runs"


def _samples(records: list[Row], file: FormatFile[Row]) -> tuple[list[Row], pl.Series]:
    """Put factors and metrics of samples where they are looked for; publish the scores of logs, which hold no samples."""
    if "sample_id" not in records[0]:
        for record in file.one_by_one(records):
            _log(record, file)
        return [], file.locators
    metadata, scorers = _layout(tuple(records[0]))
    for record in {as_text(record.get("eval_id")): record for record in reversed(records)}.values():
        _run(record, file)
    for record in records if metadata else ():
        record[_FACTORS] = {name: _value(record[_METADATA + name]) for name in metadata}
    metrics: dict[str, str] = {}
    for scorer in scorers:
        values = [cell_value(record[_SCORE + scorer]) for record in records]
        if not any(isinstance(value, dict | list) for value in values):
            metrics[scorer] = _SCORE + scorer
            continue
        given = [UNSET if _value(value) is None else value for value in values]
        for metric, found in metrics_of(scorer, given):
            metrics[metric] = _METRIC.format(metric)
            for record, value in zip(records, found, strict=True):
                record[metrics[metric]] = None if value is UNSET else value
    file.kept[_METRICS] = metrics
    return records, file.locators


def _scores(_: Sequence[Row], file: FormatFile[Row]) -> Mapping[str, str]:
    return file.kept[_METRICS]  # pyright: ignore[reportReturnType]


def _grade(value: object) -> Said:
    return read_grade(_value(value))


def _arranged(frame: pl.DataFrame, file: FormatFile[Row]) -> pl.DataFrame:
    frame = file.named(frame, _log="eval_id", item="id")
    words = pl.col("error", "limit_reached", "link").cast(pl.String).replace([*_NO_VALUE], None)
    frame = frame.with_columns(words, trial=pl.when(pl.col("trial") > 0).then(pl.col("trial") - 1))
    if frame["trial"].null_count():
        numbers = file.trials(frame.select("_log", "item", pl.col("trial").is_null()))
        frame = frame.with_columns(trial=pl.col("trial").fill_null(numbers))
    frame = file.without(frame, file.copies(frame.select("_log", "item", "trial")), "repeated samples")
    return frame.with_columns(run=pl.col("_log").replace_strict(as_dict(file.kept.get(_RUNS)), return_dtype=pl.String))


def _run(record: Row, file: FormatFile[Row]) -> str | None:
    """Return the run of a row's log: as the table of evals says, which is read first, else as the columns of its samples do."""
    runs = cast("dict[str, str]", file.kept.setdefault(_RUNS, {}))
    if (log := as_text(record.get("eval_id"))) and log not in runs:
        benchmark = as_text(record.get("task_name")) or FORMAT.benchmark
        about = {name: as_text(record.get(name)) for name in ("task_version", "status")}
        runs[log] = file.run(as_text(record.get("model")), log, benchmark=benchmark, **about)
    return runs.get(log or "")


def _log(record: Row, file: FormatFile[Row]) -> None:
    n = as_count(record.get("completed_samples"))
    if (run := _run(record, file)) is None:
        file.leave_out("no eval_id")
        return
    for name, value in record.items():
        metric = name.removeprefix(_SCORE)
        if name == metric or metric.startswith(f"{_HEADLINE}_") or metric.endswith(_STDERR) or value is None:
            continue
        error = record.get(f"{_SCORE}{metric.rpartition('_')[0]}{_STDERR}")
        file.publish(value, run, metric, error=error, n=n, date=day_of(record.get("created")))


@lru_cache
def _layout(columns: tuple[str, ...]) -> tuple[list[str], list[str]]:
    """Return which columns hold metadata and which a scorer's value (and not its answer), without their beginnings."""
    metadata = [name[len(_METADATA) :] for name in columns if name.startswith(_METADATA)]
    scores = [name[len(_SCORE) :] for name in columns if name.startswith(_SCORE)]
    details = {name for name in scores if (found := _DETAILS.fullmatch(name)) and found["scorer"] in scores}
    return metadata, [name for name in scores if name not in details]


def _value(cell: object) -> object:
    """Return what a cell holds; None where pandas wrote that there is nothing."""
    return None if isinstance(cell, str) and cell in _NO_VALUE else cell


def _grouped(files: Sequence[Path]) -> Iterator[Source]:
    """Put the tables of a folder together, those of evals first."""
    folders: dict[Path, list[Path]] = {}
    for path in sorted(files):
        folders.setdefault(path.parent, []).append(path)
    for paths in folders.values():
        samples = [path for path in paths if _holds_samples(path)]
        evals = [path for path in paths if path not in samples]
        if evals:
            yield Source(path=evals[0], companions=(*evals[1:], *samples))
        else:
            yield from (Source(path=path) for path in samples)


def _holds_samples(path: Path) -> bool:
    try:
        return "sample_id" in read_head(path).columns
    except UnreadableFileError:
        return True  # reading it says why, and it must not keep others from being read


FORMAT: Final[Format[Any]] = Format(
    name="inspect-frames",
    title="Inspect AI's data frames: samples_df, evals_df (.csv, .parquet)",
    version="1",
    upstream="UKGovernmentBEIS/inspect_ai at 499e615, src/inspect_ai/analysis/_dataframe/samples/columns.py, evals/columns.py",
    benchmark="Inspect",
    harness="Inspect AI",
    signs=(
        Sign("sample_id eval_id id epoch", shapes=TABLE),
        Sign("eval_id task_id run_id model total_samples", shapes=TABLE),
    ),
    record=dict[str, Any],
    inner=_samples,
    fields={
        "item": "id",
        "trial": "epoch",
        "latency_s": "total_time",
        "link": "log_viewer",
        "limit_reached": "limit",
        "error": "error",
        "*": _FACTORS,
        "_log": "eval_id",
    },
    scores=_scores,
    reads=_grade,
    arranged=_arranged,
    called="rows",
    grouped=_grouped,
    counts={
        "{n} scores are of samples that failed; they are errors, and Inspect's own averages drop them": FAILED,
        "{n} scores are missing or no grades; they are unscored": UNSCORED,
    },
    naming="Put the table of evals_df into the same folder, or add its columns to samples_df",
)
