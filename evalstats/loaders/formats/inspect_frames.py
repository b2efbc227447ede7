"""Inspect AI's data frames: `samples_df` and `evals_df`, saved as CSV or Parquet.

A row of samples is a sample and epoch, with a column `score_<scorer>` for each scorer. Which model it is of stands in a column of
the log, or in the table of evals that lies beside it: both are then read together. Tables of evals alone hold published numbers.
"""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from operator import itemgetter
from pathlib import Path
from typing import Any, Final, cast

import polars as pl
from msgspec import UNSET

from evalstats.errors import UnreadableFileError
from evalstats.loaders.base import Source, read_head
from evalstats.loaders.format import TABLE, Format, FormatFile, Sign
from evalstats.loaders.format_columns import amounts, counts, states, texts
from evalstats.loaders.inspect_ai import metrics_of, read_grade
from evalstats.loaders.record_columns import first_lines, outcomes_of
from evalstats.loaders.records import cell_value
from evalstats.loaders.rows import Row, Said, score_of, unscored
from evalstats.loaders.values import as_count, as_text, as_time
from evalstats.schema.tables import columns_of_rows

_SCORE: Final = "score_"
_DETAILS: Final = re.compile(r"(?P<scorer>.+)_(?:answer|explanation|metadata)", re.DOTALL)
_METADATA: Final = "metadata_"
_STDERR: Final = "_stderr"
_HEADLINE: Final = "headline"
_NO_VALUE: Final = frozenset({"", "nan", "NaN", "<NA>"})

File = FormatFile[dict[str, Any]]


def _columns(records: list[dict[str, Any]], file: File) -> pl.DataFrame:
    """Return the scores of samples, or publish those of logs."""
    if "sample_id" in records[0]:
        return _samples(records, file)
    for record in file.one_by_one(records):
        if (run := _run(record, file)) is None:
            file.leave_out("no eval_id")
        else:
            _log(record, run, file)
    return pl.DataFrame()


def _run(record: Row, file: File) -> str | None:
    """Return the run of a log, which the table of evals names before the samples come."""
    runs = cast("dict[str, str]", file.kept)
    log = as_text(record.get("eval_id"))
    if log is None:
        return None
    if log not in runs:
        model, task = as_text(record.get("model")), as_text(record.get("task_name")) or FORMAT.benchmark
        version, status = as_text(record.get("task_version")), as_text(record.get("status"))
        runs[log] = file.run(model, log, benchmark=task, task_version=version, status=status)
    return runs[log]


def _samples(records: list[dict[str, Any]], file: File) -> pl.DataFrame:
    metadata, scorers = _layout(tuple(records[0]))
    odd = {name: [_value(record.get(name)) for record in records] for name in ("error", "limit", "log_viewer")}
    columns = {
        "run": [_run(record, file) for record in records],
        "item": texts([record.get("id") for record in records]),
        "trial": counts([record.get("epoch") for record in records]) - 1,
        "latency_s": amounts([record.get("total_time") for record in records]),
        "link": texts(odd["log_viewer"]),
        "locator": file.locators,
        "limit_reached": texts(odd["limit"]),
        "_error": first_lines(odd["error"]),
    }
    frame = pl.DataFrame(columns, schema_overrides={"run": pl.String}).with_row_index("_row")
    frame = file.without(frame, pl.col("run").is_null(), "no eval_id")
    frame = file.without(frame, pl.col("item").is_null(), "no id")
    frame = frame.with_columns(trial=pl.when(pl.col("trial") >= 0).then("trial"))
    if frame["trial"].null_count():
        numbers = file.trials(frame.select("run", "item", pl.col("trial").is_null()))
        frame = frame.with_columns(trial=pl.col("trial").fill_null(numbers))
    frame = file.without(frame, file.copies(frame.select("run", "item", "trial")), "repeated samples")
    rows: list[int] = frame["_row"].to_list()
    kept = [records[row] for row in rows]
    if metadata:
        known = [{name: _value(record[_METADATA + name]) for name in metadata} for record in kept]
        frame = frame.hstack(columns_of_rows([file.factors.of(each) for each in known], "outcomes"))
    shared, failures = frame.drop("_row", "_error"), frame["_error"].to_list()
    given: list[tuple[str, list[object]]] = []
    late: list[tuple[int, Row, str | None]] = [
        (at, unscored(why, error=True), None) for at, why in enumerate(failures) if why
    ]
    if not scorers:
        late += [(at, unscored("the sample has no score"), None) for at, why in enumerate(failures) if not why]
    for scorer in scorers:
        cells_ = [_value(record[_SCORE + scorer]) for record in kept]
        values = [
            UNSET if why or cell is None else cell_value(cell) for cell, why in zip(cells_, failures, strict=True)
        ]
        late += [
            (at, unscored("the sample has no score of this scorer"), scorer)
            for at, (value, why) in enumerate(zip(values, failures, strict=True))
            if value is UNSET and not why
        ]
        for metric, found in metrics_of(scorer, values):
            file.gives(scorer, metric)
            given.append((metric, found))
    if late:
        places, said, of = map(list, zip(*sorted(late, key=itemgetter(0)), strict=True))
        file.wait(shared[places].hstack(states(said)), of)
    return outcomes_of(shared, given, {}, _grade)[0]


def _log(record: Row, run: str, file: File) -> None:
    n = as_count(record.get("completed_samples"))
    for name, value in record.items():
        metric = name.removeprefix(_SCORE)
        if name == metric or metric.startswith(f"{_HEADLINE}_") or metric.endswith(_STDERR) or value is None:
            continue
        error = record.get(f"{_SCORE}{metric.rpartition('_')[0]}{_STDERR}")
        created = as_time(record.get("created"))
        file.publish(value, run, metric, error=error, n=n, date=created.date() if created else None)


def _grade(value: object) -> Said:
    said = read_grade(value)
    score = score_of(said)
    return said if score is None else score


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


FORMAT: Final = Format(
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
    columns=_columns,
    called="rows",
    grouped=_grouped,
    failed="{n} scores are of samples that failed; they are errors, and Inspect's own averages drop them",
    unscored="{n} scores are missing or no grades; they are unscored",
    naming="Put the table of evals_df into the same folder, or add its columns to samples_df",
)
