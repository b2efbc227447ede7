"""lmms-eval: samples of a task (`<time>_samples_<task>.jsonl`) and the results of a run (`<time>_results.json`) beside them.

It began as lm-evaluation-harness and writes other files. The place of a document in its split is the item: its hash, where the
document holds an image, differs from run to run. A metric's value may be an object; its `score` is then the score.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from evalstats.loaders.base import Source
from evalstats.loaders.format import Format, FormatFile, Sample, Sign
from evalstats.loaders.format_columns import number, verdict
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


class _Run:
    """The files of a run while they are read: what the results say of it is known before the samples come."""

    def __init__(self, file: FormatFile[dict[str, Any]]) -> None:
        self._file = file
        self._about: Row = {}

    def rows(self, record: dict[str, Any]) -> Iterator[Sample]:
        """Return the metrics of a sample, or publish those of a run."""
        if "results" in record:
            self._about = record
            self._publish(record)
        else:
            yield from self._sample(record)

    def finish(self) -> tuple[Sample, ...]:
        """Return nothing more."""
        return ()

    def _run(self, task: str) -> str:
        about, folder = self._about, self._file.path.absolute().parent.name
        model = as_text(about.get("model_name")) or folder.replace("__", "/", 1)
        version, limit = as_text(get(about, "versions", task)), as_count(get(about, "config", "limit"))
        shots = as_count(get(about, "n-shot", task))
        return self._file.run(model, task, benchmark=task, task_version=version, n_shots=shots, item_limit=limit)

    def _sample(self, record: Row) -> Iterator[Sample]:
        file, found = self._file, _NAME.fullmatch(self._file.path.name)
        task, item = (found["task"] if found else None) or self._file.source.called, as_text(record.get("doc_id"))
        if item is None:
            file.leave_out("no doc_id")
            return
        run = self._run(task)
        outcomes = [(metric, _outcome(value)) for metric, value in record.items() if metric not in _NO_METRICS]
        yield {"run": run, "task": task, "item": item, "trial": file.trial(task, item)}, outcomes

    def _publish(self, record: Row) -> None:
        for task, metrics in as_dict(record.get("results")).items():
            run, n = self._run(task), get(record, "n-samples", task, "effective")
            for metric, better in as_dict(get(record, "higher_is_better", task)).items():
                if isinstance(better, bool):
                    self._file.metric(metric, higher_is_better=better)
            for name, value in as_dict(metrics).items():
                metric, comma, kind = name.partition(",")
                if comma and not metric.endswith(_STDERR):
                    error = get(metrics, f"{metric}{_STDERR},{kind}")
                    shown = metric if kind == "none" else name
                    self._file.publish(value, run, shown, task=task, error=error, n=as_count(n))


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
    reader=_Run,
    alone=True,
    called="samples",
    grouped=_grouped,
    unscored="{n} scores are missing: the metric is of all documents together; they are unscored",
    texts={"answer": "filtered_resps resps"},
)
