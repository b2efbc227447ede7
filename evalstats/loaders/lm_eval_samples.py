"""Samples of lm-evaluation-harness: one row for every document and filter, as rows of `outcomes`.

Metrics. A metric under the filter "none" keeps its name; under any other filter it is `metric,filter`. Values that are
no number per document have no score: pairs such as [gold, prediction], from which the harness computes F1 over all
documents, stay unscored with the pair in `value_raw`. A list of JSON booleans (IFEval's `inst_level_*`) is one row with
their mean, `n_trials` the number of booleans and `trial` null, so that the mean weighted by `n_trials` is the published
one. The item's value of `perplexity` is in truth a log-likelihood and is called so.

Items. The item is `doc_hash`, the digest of the document's content, or `doc_id` in files without hashes. A document
that stands in a task several times has one hash and several ids: the second to be met is `<hash>#2`, and so on. Since
the documents are the same, it does not matter which of them another run calls the second.
"""

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple, cast

from evalstats.errors import UnreadableFileError
from evalstats.loaders.lm_eval_results import BYPASS, metric_name
from evalstats.loaders.tallies import Ranges
from evalstats.loaders.values import as_list, as_number, as_text, as_whole

FIXED_KEYS: Final = frozenset(
    {
        "doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter", "metrics",
        "doc_hash", "prompt_hash", "target_hash",
    }
)  # fmt: skip
LOG_LIKELIHOOD: Final = "loglikelihood"
_HASH_SHOWN: Final = 16
_SHOWN: Final = 2_000
# Steps of a filter that make one answer of several; `take_first` alone keeps the first of them.
_COMBINING: Final = frozenset({"majority_vote"})
_CORPUS_METRICS: Final = frozenset({"f1", "mcc", "matthews_corrcoef", "brier_score", "likelihood"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """What a metric's value says: a score and how many binary parts stand behind it, or why there is no score."""

    score: float | None
    reason: str | None = None
    raw: str | None = None
    n_parts: int = 1


def read_value(metric: str, value: object) -> Value:
    """Read a metric's value of one document.

    >>> read_value("acc", 1.0).score, read_value("inst_level_strict_acc", [True, False]).score
    (1.0, 0.5)
    >>> read_value("f1", [1, 0]).score is None
    True
    """
    if metric == BYPASS:
        return Value(score=None, reason="the harness was told only to predict", raw=_raw(value))
    if value is None:
        return Value(score=None, reason="the value is null")
    if isinstance(value, list):
        return _read_list(metric, as_list(cast("object", value)))
    number = as_number(value)
    if number is not None:
        return Value(score=number, raw=_raw(value) if isinstance(value, str | bool) else None)
    if isinstance(value, float) and math.isnan(value):
        return Value(score=None, reason="the value is NaN", raw="NaN")
    return Value(score=None, reason="the value is not a number", raw=_raw(value))


def _read_list(metric: str, values: Sequence[object]) -> Value:
    raw = _raw(list(values))
    if metric not in _CORPUS_METRICS and values and all(isinstance(value, bool) for value in values):
        return Value(score=sum(map(bool, values)) / len(values), raw=raw, n_parts=len(values))
    reason = "the metric has no value per document: the harness computes it from all documents together"
    return Value(score=None, reason=reason, raw=raw)


def _raw(value: object) -> str:
    text = as_text(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)) or ""
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


class PlacedSample(NamedTuple):
    """A sample, the place to name in a message, and the place within its source."""

    value: object
    where: str
    locator: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskOfRun:
    """What is known of a task before its samples are read."""

    run: str
    model: str
    benchmark: str
    task: str
    metrics: tuple[str, ...] = ()
    filters: Mapping[str, tuple[dict[str, object], ...]] = field(
        default_factory=dict[str, tuple[dict[str, object], ...]]
    )
    repeats: int | None = None

    def trials(self, filter_name: str, n_generations: int) -> tuple[int | None, int]:
        """Return trial and number of trials behind a value, given how many generations its row holds.

        A filter that takes the first of them scores one trial; one that votes over k of them, or hands all to the
        metric, or is not described, leaves a number over k trials of which none is known alone.
        """
        if n_generations <= 1:
            return 0, 1
        steps = self.filters.get(filter_name)
        if steps is None and not self.filters and self.repeats is not None:
            return 0, 1  # the default filter of a described task takes the first
        taken = n_generations
        for step in steps or ():
            function = as_text(step.get("function"))
            if function == "take_first_k":
                taken = max(1, min(taken, as_whole(step.get("k")) or taken))
            elif function in _COMBINING:
                return None, taken
            elif function == "take_first":
                return 0, 1
        return None, taken


class SampleReader:
    """Turn the samples of one task into rows, remembering which documents were met.

    Parameters
    ----------
    task
        What is known of the task.
    ranges
        Takes note of every score.
    """

    def __init__(self, task: TaskOfRun, ranges: Ranges) -> None:
        self._task = task
        self._ranges = ranges
        self._copies: dict[str, dict[str, int]] = {}
        self._without_id: dict[tuple[str, str], int] = {}
        self._met: set[tuple[str, str]] = set()
        self._turns: dict[str, int] = {}
        self.by_position = False
        self.guessed_filters = False

    @property
    def n_documents(self) -> int:
        """How many documents were met."""
        return len(self._turns)

    def rows(self, samples: Iterable[PlacedSample]) -> Iterator[dict[str, object]]:
        """Yield the rows of samples."""
        for placed in samples:
            sample = placed.value
            if not isinstance(sample, dict):
                raise UnreadableFileError(
                    f"{placed.where}: holds {type(sample).__name__}, not a sample (a JSON object)"
                )
            yield from self._sample_rows(cast("dict[str, object]", sample), placed)

    def _sample_rows(self, sample: dict[str, object], placed: PlacedSample) -> Iterator[dict[str, object]]:
        item, filter_name = self._identify(sample, placed.where)
        trial, n_trials = self._task.trials(filter_name, self._generations(sample))
        doc_id = sample.get("doc_id")
        base: dict[str, object] = {
            "run": self._task.run,
            "model": self._task.model,
            "system": self._task.model,
            "benchmark": self._task.benchmark,
            "task": self._task.task,
            "item": item,
            "variant": "",
            "trial": trial,
            "n_trials": n_trials,
            "setting": "lab",
            "locator": placed.locator,
            "doc_id": doc_id if isinstance(doc_id, int) and not isinstance(doc_id, bool) else as_text(doc_id),
            "filter": filter_name,
            "prompt_hash": (as_text(sample.get("prompt_hash")) or "")[:_HASH_SHOWN] or None,
        }
        for name in self._metric_names(sample, filter_name):
            value = read_value(name, sample.get(name)) if name in sample else Value(score=None, reason=_ABSENT)
            yield base | self._value_columns(name, value, filter_name)

    def _value_columns(self, name: str, value: Value, filter_name: str) -> dict[str, object]:
        if name == "perplexity" and value.score is not None:
            name = LOG_LIKELIHOOD
        metric = metric_name(name, filter_name)
        self._ranges.add(self._task.benchmark, metric, value.score, average=value.n_parts > 1)
        columns: dict[str, object] = {
            "metric": metric,
            "score": value.score,
            "status": "unscored" if value.score is None else "scored",
            "status_reason": value.reason,
            "value_raw": value.raw,
        }
        return columns | ({"trial": None, "n_trials": value.n_parts} if value.n_parts > 1 else {})

    def _identify(self, sample: dict[str, object], where: str) -> tuple[str, str]:
        """Return the item and the filter."""
        digest, doc_id = as_text(sample.get("doc_hash")), as_text(sample.get("doc_id"))
        labelled = as_text(sample.get("filter"))
        if doc_id is not None:
            key = doc_id
        elif digest is not None:
            key = self._key_of_hash(digest, labelled or "")
        else:
            raise UnreadableFileError(
                f"{where}: has neither 'doc_hash' nor 'doc_id'; a sample of lm-eval has both or the second"
            )
        filter_name = labelled if labelled is not None else self._filter_by_turn(key)
        if (filter_name, key) in self._met:
            raise UnreadableFileError(
                f"{where}: document {key} stands twice under the filter {filter_name!r}; samples files are written by "
                "appending, so this may be two runs in one file: take one of them out"
            )
        self._met.add((filter_name, key))
        self._turns[key] = self._turns.get(key, 0) + 1
        if digest is None:
            self.by_position = True
            return key, filter_name
        copies = self._copies.setdefault(digest, {})
        number = copies.setdefault(key, len(copies) + 1)
        return digest if number == 1 else f"{digest}#{number}", filter_name

    def _key_of_hash(self, digest: str, filter_name: str) -> str:
        """Return a key for a document without an id; copies are numbered under each filter alike."""
        number = self._without_id.get((filter_name, digest), 0) + 1
        self._without_id[filter_name, digest] = number
        return f"{digest}/{number}"

    def _filter_by_turn(self, key: str) -> str:
        """Name the filter of a row without one: older files write a row per filter, in the order of the task's."""
        turn = self._turns.get(key, 0)
        names = list(self._task.filters) or list(dict.fromkeys(_filter_of(name) for name in self._task.metrics))
        if names:
            return names[min(turn, len(names) - 1)]  # one row too many then counts as a copy
        self.guessed_filters = self.guessed_filters or turn > 0
        return "none" if turn == 0 else f"filter-{turn + 1}"

    def _generations(self, sample: dict[str, object]) -> int:
        if self._task.repeats is not None and self._task.repeats > 1:
            return self._task.repeats
        responses = as_list(sample.get("resps"))
        first = as_list(responses[0]) if len(responses) == 1 else []
        return len(first) if first and all(isinstance(text, str) for text in first) else 1

    def _metric_names(self, sample: dict[str, object], filter_name: str) -> list[str]:
        listed = sample.get("metrics")
        if isinstance(listed, list):
            names = [name for name in as_list(cast("object", listed)) if isinstance(name, str)]
        else:
            names = [name for name in sample if name not in FIXED_KEYS and _could_be_value(sample[name])]
        if names:
            return list(dict.fromkeys(names))
        published = [name for name in self._task.metrics if _filter_of(name) == filter_name]
        return [name.partition(",")[0] for name in published] or ["unnamed"]


_ABSENT: Final = "the row does not hold this metric"


def _filter_of(metric: str) -> str:
    return metric.partition(",")[2] or "none"


def _could_be_value(value: object) -> bool:
    return value is None or isinstance(value, bool | int | float | list) or as_number(value) is not None
