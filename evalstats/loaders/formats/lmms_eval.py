"""lmms-eval: samples of a task (`<time>_samples_<task>.jsonl`) and the results of a run (`<time>_results.json`) beside them.

It began as lm-evaluation-harness and writes other files. The place of a document in its split is the item: its hash, where the
document holds an image, differs from run to run. A metric's value may be an object; its `score` is then the score.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, cast

import polars as pl

from evalstats.loaders.base import Source
from evalstats.loaders.format import UNSCORED, Format, FormatFile, Sign
from evalstats.loaders.record_columns import members_of, number, verdict
from evalstats.loaders.rows import Row, Said, held, unscored
from evalstats.loaders.values import as_count, as_dict, as_text, get

_NAME: Final = re.compile(r"(?P<time>\d{8}_\d{6})_(?:results\.json|samples_(?P<task>.+)\.jsonl)")
_NO_METRICS: Final = frozenset(
    {
        *("doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "token_counts", "doc_hash"),
        *("input", "input_media"),
    }
)
_STDERR: Final = "_stderr"


def _task(file: FormatFile[Row]) -> str:
    return file.path_says(r"\d{8}_\d{6}_samples_(?P<task>[^/]+)").get("task", file.source.called)


def _about(file: FormatFile[Row], task: str | None = None) -> Row:
    """Return what the results of a run say of it, which are known before its samples come."""
    results, folder = as_dict(file.kept.get("results")), file.path.absolute().parent.name
    task = task or _task(file)
    return {
        "model": as_text(results.get("model_name")) or folder.replace("__", "/", 1),
        "parts": (task,),
        "benchmark": task,
        "task_version": as_text(get(results, "versions", task)),
        "n_shots": as_count(get(results, "n-shot", task)),
        "item_limit": as_count(get(results, "config", "limit")),
    }


def _samples(records: list[Row], file: FormatFile[Row]) -> tuple[list[Row], pl.Series]:
    """Return the samples; the results of the run are published."""
    if "results" not in records[0]:
        return records, file.locators
    file.kept["results"] = record = records[0]
    for task, metrics in as_dict(record.get("results")).items():
        about, n = _about(file, task), get(record, "n-samples", task, "effective")
        parts = cast("tuple[str, ...]", about.pop("parts"))
        run = file.run(as_text(about.pop("model")), *parts, **about)
        for metric, better in as_dict(get(record, "higher_is_better", task)).items():
            if isinstance(better, bool):
                file.metric(metric, higher_is_better=better)
        for name, value in as_dict(metrics).items():
            metric, comma, kind = name.partition(",")
            if comma and not metric.endswith(_STDERR):
                error = get(metrics, f"{metric}{_STDERR},{kind}")
                shown = metric if kind == "none" else name
                file.publish(value, run, shown, task=task, error=error, n=as_count(n))
    return [], file.locators


def _outcome(value: object) -> Said:
    members = as_dict(value)
    score = members.get("score") if members else value
    if isinstance(score, bool):
        return verdict(score)
    if isinstance(score, int | float) or score is None:
        return number(score)
    return unscored("the metric has no number for a document", held(value))


def _grouped(files: Sequence[Path]) -> Iterator[Source]:
    """Put the files of a run together, its results first."""
    runs: dict[tuple[Path, str], list[Path]] = {}
    for path in sorted(files):
        found = _NAME.fullmatch(path.name)
        runs.setdefault((path.parent, found["time"] if found else path.name), []).append(path)
    for first, *others in runs.values():
        yield Source(path=first, companions=(*others,))


FORMAT: Final = Format(
    name="lmms-eval",
    title="lmms-eval samples and results (<time>_samples_<task>.jsonl, <time>_results.json)",
    version="1",
    upstream="EvolvingLMMs-Lab/lmms-eval at 75571cf, lmms_eval/loggers/evaluation_tracker.py, evaluator.py",
    benchmark="lmms-eval",
    harness="lmms-eval",
    signs=(
        Sign("doc_id target filtered_resps token_counts", 0.97, shapes=("lines",)),
        Sign("doc_id target filtered_resps", 0.97, path=r"/\d{8}_\d{6}_samples_[^/]+\.jsonl", shapes=("lines",)),
        Sign("results configs", 0.97, path=r"/\d{8}_\d{6}_results\.json", shapes=("object",)),
        Sign("results configs lmms_eval_version", 0.97, shapes=("object",)),
    ),
    record=dict[str, Any],
    inner=_samples,
    about=_about,
    fields={"item": "doc_id"},
    scores=lambda rows, _: {name: name for name in members_of(rows) if name not in _NO_METRICS},
    reads=_outcome,
    arranged=lambda frame, file: frame.with_columns(task=pl.lit(_task(file))),
    repeated=True,
    at=(".",),
    called="samples",
    grouped=_grouped,
    counts={"{n} scores are missing: the metric is of all documents together; they are unscored": UNSCORED},
    texts={"answer": "filtered_resps resps"},
)
