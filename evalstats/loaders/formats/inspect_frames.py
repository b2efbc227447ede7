"""Inspect AI's data frames: `samples_df` and `evals_df`, saved as CSV or Parquet.

A row of samples is a sample and epoch, with a column `score_<scorer>` for each scorer. Which model it is of stands in a column of
the log, or in the table of evals that lies beside it: both are then read together. Tables of evals alone hold published numbers.
"""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from evalstats.errors import UnreadableFileError
from evalstats.loaders.base import Source, read_head
from evalstats.loaders.format import TABLE, Format, FormatFile, Late, Sample, Sign
from evalstats.loaders.inspect_ai import cells, read_grade
from evalstats.loaders.records import cell_value
from evalstats.loaders.rows import Row, Said, score_of, unscored
from evalstats.loaders.values import as_count, as_text, as_time, first_line

_SCORE: Final = "score_"
_DETAILS: Final = re.compile(r"(?P<scorer>.+)_(?:answer|explanation|metadata)", re.DOTALL)
_METADATA: Final = "metadata_"
_STDERR: Final = "_stderr"
_HEADLINE: Final = "headline"
_NO_VALUE: Final = frozenset({"", "nan", "NaN", "<NA>"})


class _Tables:
    """Tables while they are read: what those of evals say of each log is known before the samples come."""

    def __init__(self, file: FormatFile[dict[str, Any]]) -> None:
        self._file, self._late = file, Late()
        self._runs: dict[str, str] = {}

    def rows(self, record: dict[str, Any]) -> Iterator[Sample]:
        """Return the scores of a sample, or publish those of a log."""
        if "sample_id" in record:
            return self._sample(record)
        self._log(record)
        return iter(())

    def finish(self) -> Iterator[Sample]:
        """Return samples that failed or were not scored."""
        return self._late.samples("score")

    def _run(self, record: Row) -> str | None:
        log = as_text(record.get("eval_id"))
        if log is None:
            self._file.leave_out("no eval_id")
            return None
        if log not in self._runs:
            model, task = as_text(record.get("model")), as_text(record.get("task_name")) or FORMAT.benchmark
            version, status = as_text(record.get("task_version")), as_text(record.get("status"))
            self._runs[log] = self._file.run(model, log, benchmark=task, task_version=version, status=status)
        return self._runs[log]

    def _sample(self, record: Row) -> Iterator[Sample]:
        file, item, run = self._file, as_text(record.get("id")), self._run(record)
        if run is None or item is None:
            if run is not None:
                file.leave_out("no id")
            return
        epoch = as_count(record.get("epoch"))
        common: Row = {
            "run": run,
            "item": item,
            "trial": epoch - 1 if epoch else file.trial(run, item),
            "latency_s": record.get("total_time"),
            "link": as_text(record.get("log_viewer")),
            "locator": file.locator,
            "limit_reached": as_text(_value(record.get("limit"))),
        }
        if file.again(run, item, common["trial"]):
            file.leave_out("repeated samples")
            return
        metadata, scorers = _layout(tuple(record))
        common |= file.factors.of({name: _value(record[_METADATA + name]) for name in metadata})
        if error := first_line(_value(record.get("error"))):
            self._late.wait(common, unscored(error, error=True))
            return
        outcomes: list[tuple[str, Said]] = []
        for scorer in scorers:
            value = _value(record[_SCORE + scorer])
            if value is None:
                self._late.wait(common, unscored("the sample has no score of this scorer"), scorer)
                continue
            for metric, part in cells(scorer, cell_value(value)):
                said = read_grade(part)
                self._late.know(metric, scorer)
                outcomes.append((metric, said if (score := score_of(said)) is None else score))
        if not scorers:
            self._late.wait(common, unscored("the sample has no score"))
        yield common, outcomes

    def _log(self, record: Row) -> None:
        if (run := self._run(record)) is None:
            return
        n = as_count(record.get("completed_samples"))
        for name, value in record.items():
            metric = name.removeprefix(_SCORE)
            if name == metric or metric.startswith(f"{_HEADLINE}_") or metric.endswith(_STDERR) or value is None:
                continue
            error = record.get(f"{_SCORE}{metric.rpartition('_')[0]}{_STDERR}")
            created = as_time(record.get("created"))
            self._file.publish(value, run, metric, error=error, n=n, date=created.date() if created else None)


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
    reader=_Tables,
    called="rows",
    grouped=_grouped,
    failed="{n} scores are of samples that failed; they are errors, and Inspect's own averages drop them",
    unscored="{n} scores are missing or no grades; they are unscored",
    naming="Put the table of evals_df into the same folder, or add its columns to samples_df",
)
