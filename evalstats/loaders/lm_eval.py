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
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar, Final, cast

import polars as pl
from msgspec import UNSET, Struct

from evalstats.errors import UnreadableFileError
from evalstats.grammar import comma_list
from evalstats.loaders import lm_eval_results as lighteval
from evalstats.loaders.base import Frame, Head, Match, Rows, Source, plain_name, read_head, readable_name
from evalstats.loaders.files import iter_json_lines
from evalstats.loaders.format_columns import states, texts
from evalstats.loaders.lm_eval_results import BYPASS, Results, read_results
from evalstats.loaders.open_llm_scores import (
    V1,
    normalised_metric,
    normalised_rows,
    v1_metric,
    v1_rows,
    with_v1_headlines,
)
from evalstats.loaders.record_columns import RecordBlock, record_of
from evalstats.loaders.rows import Ranges, Said, scored, unscored
from evalstats.loaders.typed_records import TypedRecords
from evalstats.loaders.values import as_dict, as_list, as_number, as_text, as_whole, dicts, shortened
from evalstats.schema.data import Problem
from evalstats.schema.tables import factor_series

FIXED_KEYS: Final = frozenset(
    {
        "doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter", "metrics",
        "doc_hash", "prompt_hash", "target_hash",
    }
)  # fmt: skip
# Of these what is read; documents and requests are passed over.
_USED: Final = ("doc_id", "doc_hash", "prompt_hash", "filter", "metrics", "resps")
LOG_LIKELIHOOD: Final = "loglikelihood"
_HASH_SHOWN: Final = 16
# Steps of a filter that make one answer of several; `take_first` alone keeps the first of them.
_COMBINING: Final = frozenset({"majority_vote"})
_CORPUS_METRICS: Final = frozenset({"f1", "mcc", "matthews_corrcoef", "brier_score", "likelihood"})


def read_value(metric: str, value: object) -> Said:
    """Read a metric's value of one document: a score, with the number of binary parts behind it, or why there is none.

    >>> read_value("acc", 1.0), read_value("inst_level_strict_acc", [True, False])
    (1.0, {'status': 'scored', 'score': 0.5, 'value_raw': '[true, false]', 'n_trials': 2})
    >>> read_value("f1", [1, 0])["status"]
    'unscored'
    """
    if value is UNSET:
        return unscored("the row does not hold this metric")
    if metric == BYPASS:
        return unscored("the harness was told only to predict", _raw(value))
    if value is None:
        return unscored("the value is null")
    if isinstance(value, list):
        parts = as_list(cast("object", value))
        if parts and metric not in _CORPUS_METRICS and all(isinstance(part, bool) for part in parts):
            return scored(sum(map(bool, parts)) / len(parts), value_raw=_raw(parts), n_trials=len(parts))
        reason = "the metric has no value per document: the harness computes it from all documents together"
        return unscored(reason, _raw(parts))
    number = as_number(value)
    if number is not None:
        return scored(number, value_raw=_raw(value)) if isinstance(value, str | bool) else number
    if isinstance(value, float) and math.isnan(value):
        return unscored("the value is NaN", "NaN")
    return unscored("the value is not a number", _raw(value))


def _raw(value: object) -> str:
    return shortened(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


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


class LmEvalSamples:
    """Turns the samples of one task into outcomes, remembering which documents were met."""

    def __init__(self, task: TaskOfRun, ranges: Ranges) -> None:
        self._task = task
        self._ranges = ranges
        # by filter: the documents met; by digest: the first document that has it, and the numbers of its copies
        self.met: dict[str, set[str]] = {}
        self._first: dict[str, str] = {}
        self._copies: dict[str, dict[str, int]] = {}
        self._without_id: Counter[tuple[str, str]] = Counter()
        self.by_position = False
        self.guessed_filters = False

    @property
    def n_documents(self) -> int:
        """How many documents were met."""
        return len(set[str]().union(*self.met.values()))

    def frame(self, samples: Sequence[object], places: pl.Series, path: Path, beside: str = "") -> pl.DataFrame:
        """Return the outcomes of a block of samples: a row for each metric of each, in the order of the file.

        `places` are where the samples stand in the file at `path`; with `beside` before them they are the locators.
        """
        task, block = self._task, RecordBlock(samples)
        known = {name: block.at(name) for name in _USED}
        items, filters = self._identified(known, lambda at: f"{path}: {places[at]}")
        trials = [*map(task.trials, filters, map(self._generations, known["resps"]))]
        shared = pl.DataFrame(
            {
                "item": items,
                "trial": pl.Series([trial for trial, _ in trials], dtype=pl.Int64),
                "n_trials": [n for _, n in trials],
                "locator": beside + places,
                "doc_id": factor_series(
                    "doc_id", [each if type(each) is int else as_text(each) for each in known["doc_id"]]
                ),
                "filter": filters,
                "prompt_hash": texts(known["prompt_hash"]).str.slice(0, _HASH_SHOWN),
            }
        )
        names = [*map(self._metric_names, samples, known["metrics"], filters)]
        values = dict(block.named({name: name for name in dict.fromkeys(chain.from_iterable(names))}))
        cells = [(at, name, values[name][at]) for at, some in enumerate(names) for name in some]
        said = states(
            [
                value if type(value) is float and math.isfinite(value) and name != BYPASS else read_value(name, value)
                for _, name, value in cells
            ]
        )
        parts = said["n_trials"] if "n_trials" in said.columns else pl.lit(None, pl.Int64)
        is_likelihood = (pl.col("metric") == "perplexity") & pl.col("score").is_not_null()
        frame = (
            shared[[at for at, _, _ in cells]]
            .hstack(said.drop("n_trials", strict=False))
            .with_columns(
                pl.lit(value).alias(name)
                for name, value in (
                    *(("run", task.run), ("model", task.model), ("system", task.model), ("benchmark", task.benchmark)),
                    *(("task", task.task), ("variant", ""), ("setting", "lab")),
                )
            )
        )
        frame = frame.with_columns(
            pl.when(pl.col("prompt_hash") != "").then("prompt_hash").alias("prompt_hash"),
            pl.Series("metric", [name for _, name, _ in cells], dtype=pl.String),
            parts.alias("parts"),
        ).with_columns(
            trial=pl.when(pl.col("parts").fill_null(1) < 2).then("trial"),
            n_trials=pl.when(pl.col("parts") > 1).then("parts").otherwise("n_trials"),
            metric=pl.when(is_likelihood).then(pl.lit(LOG_LIKELIHOOD)).otherwise("metric")
            + pl.when(pl.col("filter").is_in(["", "none"])).then(pl.lit("")).otherwise("," + pl.col("filter")),
        )
        self._ranges.add_frame(frame, task.benchmark)
        for metric, score in frame.filter(pl.col("parts") > 1).unique("metric").select("metric", "score").iter_rows():
            self._ranges.add(task.benchmark, metric, score, average=True)
        return frame.drop("parts")

    def _identified(
        self, known: Mapping[str, list[object]], where: Callable[[int], str]
    ) -> tuple[list[str], list[str]]:
        """Return the item and the filter of each sample."""
        digests, ids, labels = (texts(known[name]).to_list() for name in ("doc_hash", "doc_id", "filter"))
        items: list[str] = []
        filters: list[str] = []
        for at, (digest, doc_id, label) in enumerate(zip(digests, ids, labels, strict=True)):
            key = doc_id
            if key is None and digest is not None:  # copies are numbered under each filter alike
                self._without_id[label or "", digest] += 1
                key = f"{digest}/{self._without_id[label or '', digest]}"
            if key is None:
                raise UnreadableFileError(
                    f"{where(at)}: has neither 'doc_hash' nor 'doc_id'; a sample of lm-eval has both or the second"
                )
            filter_name = self._filter_by_turn(key) if label is None else label
            met = self.met.setdefault(filter_name, set())
            if key in met:
                raise UnreadableFileError(
                    f"{where(at)}: document {key} appears twice under the filter {filter_name!r}; samples files are written "
                    "by appending, so this may be two runs in one file: remove one"
                )
            met.add(key)
            filters.append(filter_name)
            if digest is None:
                self.by_position = True
                items.append(key)
                continue
            if (first := self._first.setdefault(digest, key)) == key:
                items.append(digest)
                continue
            copies = self._copies.setdefault(digest, {first: 1})
            items.append(f"{digest}#{copies.setdefault(key, len(copies) + 1)}")
        return items, filters

    def _filter_by_turn(self, key: str) -> str:
        """Name the filter of a row without one: older files write a row per filter, in the order of the task's."""
        turn = sum(key in met for met in self.met.values())
        names = list(self._task.filters) or list(dict.fromkeys(_filter_of(name) for name in self._task.metrics))
        if names:
            return names[min(turn, len(names) - 1)]  # one row too many then counts as a copy
        self.guessed_filters = self.guessed_filters or turn > 0
        return "none" if turn == 0 else f"filter-{turn + 1}"

    def _generations(self, given: object) -> int:
        if self._task.repeats is not None and self._task.repeats > 1:
            return self._task.repeats
        responses = as_list(given)
        first = as_list(responses[0]) if len(responses) == 1 else []
        return len(first) if len(first) > 1 and all(isinstance(text, str) for text in first) else 1

    def _metric_names(self, sample: object, listed: object, filter_name: str) -> Iterable[str]:
        if not isinstance(listed, list):  # as older files have it, whose samples are read whole
            held = as_dict(sample)
            listed = [name for name in held if name not in FIXED_KEYS and _could_be_value(held[name])]
        if names := dict.fromkeys(
            as_text(name) or "" for name in cast("list[object]", listed) if isinstance(name, str)
        ):
            return names
        published = [name for name in self._task.metrics if _filter_of(name) == filter_name]
        return [name.partition(",")[0] for name in published] or ["unnamed"]


def _filter_of(metric: str) -> str:
    return metric.partition(",")[2] or "none"


def _could_be_value(value: object) -> bool:
    return value is None or isinstance(value, bool | int | float | list) or as_number(value) is not None


# Local time without a zone; ":" became "-" in 2023.
_STAMP: Final = r"\d{4}-\d{2}-\d{2}T\d{2}[-:]\d{2}[-:]\d{2}(?:\.\d+)?"
_SAMPLES_NAME = re.compile(rf"samples_(?P<task>.+?)(?:_(?P<stamp>{_STAMP}))?\.(?:jsonl|json|ndjson|parquet)")
_RESULTS_NAME = re.compile(rf"(?:.*_)?(?P<stamp>{_STAMP})\.json")
_DETAILS_PREFIX: Final = "details_"
_DETAILS_SUFFIX: Final = "-details"


def task_of_name(name: str) -> str:
    """Return the task a samples file is about: what stands between `samples_` and the stamp.

    >>> task_of_name("samples_toy_mc_a_2026-11-21T20-31-50.724826.jsonl")
    'toy_mc_a'
    """
    found = _SAMPLES_NAME.fullmatch(name)
    return found["task"] if found else name.rpartition(".")[0] or name


def stamp_of_name(name: str) -> str:
    """Return the time stamp in a file's name, or "" where there is none.

    >>> stamp_of_name("results_2026-11-21T20-31-50.724826.json"), stamp_of_name("mine.json")
    ('2026-11-21T20-31-50.724826', '')
    """
    found = _SAMPLES_NAME.fullmatch(name) or _RESULTS_NAME.fullmatch(name)
    return (found["stamp"] or "") if found else ""


def day_of_stamp(stamp: str) -> date | None:
    """Return the day in a time stamp. More is not known: the time is local and has no zone.

    >>> day_of_stamp("2023-08-09T10-55-53.123").isoformat()
    '2023-08-09'
    """
    try:
        return date.fromisoformat(stamp.partition("T")[0])
    except ValueError:
        return None


def model_of_folder(path: Path) -> str:
    """Return the model that the folder of a file is named after, with the first "__" read as the "/" it stands for."""
    folder = path.parent.name or path.resolve().parent.name
    name = folder.removeprefix(_DETAILS_PREFIX).removesuffix(_DETAILS_SUFFIX)
    return name.replace("__", "/", 1) or "unknown"


def looks_like_samples(head: Head) -> bool:
    """Whether the first object of a file is a sample."""
    names = frozenset(head.columns) or head.keys
    if {"doc_id", "doc"} <= names and (names & {"target", "arguments", "resps", "filtered_resps"}):
        return True
    if not ({"doc_id", "doc_hash"} & head.keys):
        return False
    # A first document of more than the head leaves nothing but its own name to see; other writers leave it out.
    by_name = plain_name(head.path).startswith("samples_") and head.shape in ("lines", "array")
    return by_name or {"doc_id", "filtered_resps"} <= head.keys


def group(files: Iterable[Path]) -> list[Source]:
    """Make a source of every results file with its samples, and of every set of samples without results.

    Samples belong to the results file in the same folder with the same stamp. Files without a stamp stand alone.
    """
    stamps = {path: stamp_of_name(plain_name(path)) for path in sorted(files)}
    holds = {path: _is_of_samples(path) for path in stamps}
    results = [path for path in stamps if not holds[path]]
    # With two results files of one stamp (`a_<stamp>.json` beside `results_<stamp>.json`) the samples go to one only.
    results.sort(key=lambda path: (not path.name.startswith("results_"), path))
    waiting: dict[tuple[Path, str], list[Path]] = {}
    for path in filter(holds.get, stamps):
        waiting.setdefault((path.parent, stamps[path] or path.name), []).append(path)
    sources = [Source(path=path, companions=tuple(waiting.pop((path.parent, stamps[path]), ()))) for path in results]
    sources += [Source(path=paths[0], companions=tuple(paths[1:])) for paths in waiting.values()]
    return sorted(sources, key=lambda source: source.path)


def _is_of_samples(path: Path) -> bool:
    try:
        return holds_samples(read_head(path))
    except UnreadableFileError:  # it is reported when it is read
        return _SAMPLES_NAME.fullmatch(plain_name(path)) is not None


def holds_samples(head: Head) -> bool:
    """Whether a file of this format holds samples; else it holds results."""
    if head.shape in ("array", "lines", "parquet"):
        return True
    return looks_like_samples(head) or (head.shape != "object" and plain_name(head.path).startswith("samples_"))


_HARNESS_MEMBERS: Final = frozenset(
    {"n-shot", "group_subtasks", "lm_eval_version", "task_hashes", "higher_is_better", "config_general"}
)
# What lmms-eval writes beside the same members: a format of its own.
_LMMS_EVAL: Final = frozenset({"token_counts", "lmms_eval_version"})
_PUBLISHED_KEY = re.compile(r'"[^"\n]{1,80}_stderr(?:,[^"\n]{1,80})?"\s*:|"alias"\s*:|"[^"\n]{1,80},none"\s*:')
_LISTED: Final = 8


@dataclass(kw_only=True)
class _Reading:
    """What is gathered while the samples of one source are read."""

    ranges: Ranges = field(default_factory=Ranges)
    readers: dict[str, LmEvalSamples] = field(default_factory=dict[str, LmEvalSamples])

    def reader(self, task: TaskOfRun) -> LmEvalSamples:
        """Return what reads the samples of a task."""
        return self.readers.setdefault(task.task, LmEvalSamples(task, self.ranges))


class LmEvalLoader:
    """Loader of lm-evaluation-harness results and samples, and of lighteval results."""

    name = "lm-eval"
    title = "lm-evaluation-harness results and samples (results_*.json, samples_*.jsonl)"
    version = "3"
    texts: ClassVar = {
        "question": "arguments.gen_args_0.arg_0 arguments.0.0 doc.question doc.query doc.prompt doc",
        "expected": "target",
        "answer": "filtered_resps resps",
    }

    def sniff(self, head: Head) -> Match | None:
        """Recognise samples by doc_id with doc and answers, results by the harness's own members or metric keys."""
        if head.keys & _LMMS_EVAL:
            return None
        if head.shape in ("array", "lines", "object", "parquet") and looks_like_samples(head):
            return Match(confidence=0.9, reason="a sample has doc_id, doc and responses")
        if head.shape != "object" or "results" not in head.keys:
            return None
        if head.keys & _HARNESS_MEMBERS:
            return Match(confidence=0.9, reason="results with members only lm-eval or lighteval writes")
        results = head.members.get("results", {})
        if not isinstance(results, dict) or not _PUBLISHED_KEY.search(head.text):
            return None
        settled = {"config", "versions"} <= head.keys
        return Match(confidence=0.9 if settled else 0.6, reason="results with lm-eval's metric keys")

    def plan(self, files: Sequence[Path]) -> Iterable[Source | Problem]:
        """Group results and samples by folder and time stamp."""
        return group(files)

    def read(self, source: Source) -> Iterator[Rows | Frame | Problem]:
        """Yield outcomes of all samples, then the published numbers, metrics and runs."""
        head = read_head(source.path)
        if holds_samples(head):
            yield from self._read_orphans(source)
            return
        results = read_results(source.path)
        if lighteval.is_lighteval(results):
            yield from self._read_lighteval(source, results)
            return
        model = results.model or model_of_folder(source.path)
        if results.has_random_name:
            text = f"the model name {model!r} may be one that lm-eval made up, since its arguments name no model"
            yield from source.notes([text])
        reading = _Reading()
        for path in source.companions:
            reader = reading.reader(_task_of_run(source, results, model, task_of_name(plain_name(path))))
            yield from _outcomes(path, source, reader)
        for name, samples in results.embedded.items():
            yield from _embedded(source.path, samples, reading.reader(_task_of_run(source, results, model, name)), name)
        yield from source.notes(_notes(results, reading))
        yield from _summaries(source, results, model, reading)

    def _read_orphans(self, source: Source) -> Iterator[Rows | Frame | Problem]:
        """Read samples without results: the model is named after the folder, and each task is its own benchmark."""
        model = model_of_folder(source.path)
        text = (
            f"samples without their results file: the model is named {model!r} after the folder, and shots, versions, "
            "limits and groups are unknown"
        )
        yield from source.notes([text])
        reading = _Reading()
        tasks: dict[str, TaskOfRun] = {}
        for path in (source.path, *source.companions):
            name = task_of_name(plain_name(path))
            tasks[name] = TaskOfRun(run=source.run_id(name), model=model, benchmark=name, task=name)
            yield from _outcomes(path, source, reading.reader(tasks[name]))
        yield from source.notes(_reader_notes(reading))
        yield Rows(table="metrics", rows=[reading.ranges.row(*key) for key in reading.ranges])
        runs: list[dict[str, object]] = [
            {"run": task.run, "model": model, "system": model, "benchmark": name, "harness": "lm-eval"}
            for name, task in tasks.items()
        ]
        yield Rows(table="runs", rows=runs)

    def _read_lighteval(self, source: Source, results: Results) -> Iterator[Rows | Frame | Problem]:
        keys = lighteval.task_keys(results)
        model = results.model or model_of_folder(source.path)
        run_of = {key.benchmark: source.run_id(key.benchmark) for key in keys}
        day = day_of_stamp(stamp_of_name(plain_name(source.path)))
        yield from source.notes(["published numbers without items: no two models can be compared item by item"])
        numbers = list(lighteval.aggregate_rows(results, model, run_of, day))
        metrics = with_v1_headlines(_metrics(results, {}, numbers, Ranges()))
        runs = [
            lighteval.run_row(results, run, model, tuple(key for key in keys if key.benchmark == benchmark))
            for benchmark, run in run_of.items()
        ]
        shown = list(v1_rows(results, model, source.run_id(V1)))
        if shown:
            metrics.append(v1_metric())
            runs.append({**runs[0], "run": source.run_id(V1), "benchmark": V1, "n_shots": None, "task_version": None})
        yield Rows(table="aggregates", rows=[*numbers, *shown])
        yield Rows(table="metrics", rows=metrics)
        yield Rows(table="runs", rows=runs)


def _task_of_run(source: Source, results: Results, model: str, name: str) -> TaskOfRun:
    benchmark = results.benchmark(name)
    return TaskOfRun(
        run=source.run_id(benchmark),
        model=model,
        benchmark=benchmark,
        task=name,
        metrics=results.metrics(name),
        filters=results.filters(name),
        repeats=as_whole(results.part("configs", name).get("repeats")),
    )


class _Listed(Struct):
    metrics: object = None


class _Samples(TypedRecords[Any]):
    """The samples of a file. None may be damaged: which documents a model was asked would be unknown."""

    def leave_out(self, why: str, locator: str | None = None) -> None:
        """Refuse the file."""
        for _ in iter_json_lines(self.source.path) if self.head.shape == "lines" else ():
            pass  # tells more of what is wrong with a line
        raise UnreadableFileError(f"{self.source.path}: {locator or self.locator}: {why}")


def _outcomes(path: Path, source: Source, reader: LmEvalSamples) -> Iterator[Frame]:
    """Yield the outcomes of a file; a place in one that stands beside the results is named with that file."""
    if read_head(path).shape == "empty":  # as a run leaves it that was stopped
        return
    records = _Samples(Source(path=path), _record(path), alone=True, called="samples")
    beside = "" if path == source.path else readable_name(path.name) + " " * (records.head.shape != "array")
    for samples in records.blocks():
        yield Frame(table="outcomes", frame=reader.frame(samples, records.locators, path, beside))


def _record(path: Path) -> type[Any]:
    """Return the record of samples with the metrics that all of them list; older samples list none and are read whole."""
    listed: dict[str, None] = {}
    last: object = UNSET
    for block in TypedRecords(Source(path=path), _Listed, alone=True).blocks():
        for each in block:
            if each.metrics == last:
                continue
            if not isinstance(each.metrics, list):
                return dict[str, Any]
            last = cast("object", each.metrics)
            listed |= dict.fromkeys(as_text(name) or "" for name in as_list(last) if isinstance(name, str))
    return record_of(_USED, [*listed])


def _embedded(path: Path, listed: object, reader: LmEvalSamples, task: str) -> Iterator[Frame]:
    """Yield the outcomes of samples that stand in a results file itself."""
    samples = list(dicts(listed))
    if len(samples) < len(as_list(listed)):
        raise UnreadableFileError(f"{path}: a sample of {task} is not a JSON object")
    places = f"samples.{task}[" + pl.Series(range(len(samples))).cast(pl.String) + "]"
    if samples:
        yield Frame(table="outcomes", frame=reader.frame(samples, places, path))


def _summaries(source: Source, results: Results, model: str, reading: _Reading) -> Iterator[Rows]:
    """Yield published numbers, metrics and one run for every benchmark."""
    names = dict.fromkeys((*results.tasks, *reading.readers))
    tasks_of: dict[str, list[str]] = {}
    for name in names:
        tasks_of.setdefault(results.benchmark(name), []).append(name)
    for name in results.groups:
        tasks_of.setdefault(results.benchmark(name), [])
    if not tasks_of:
        raise UnreadableFileError(
            f"{source.path}: 'results' is empty and there are no samples beside it; nothing to read"
        )
    run_of = {benchmark: source.run_id(benchmark) for benchmark in tasks_of}
    numbers = list(results.aggregate_rows(model, run_of))
    above_chance = list(normalised_rows(results, model, run_of))
    yield Rows(table="aggregates", rows=[*numbers, *above_chance])
    metrics = _metrics(results, tasks_of, numbers, reading.ranges)
    metrics += [normalised_metric(str(name)) for name in dict.fromkeys(row["benchmark"] for row in above_chance)]
    yield Rows(table="metrics", rows=metrics)
    rows = [results.run_row(run_of[benchmark], model, benchmark, tasks) for benchmark, tasks in tasks_of.items()]
    yield Rows(table="runs", rows=rows)


def _metrics(
    results: Results, tasks_of: dict[str, list[str]], numbers: Sequence[dict[str, object]], ranges: Ranges
) -> list[dict[str, object]]:
    """Describe the metrics that samples have, then those that are only published; the first published is the headline.

    Of the latter, published numbers are all that is known of the range.
    """
    headline: dict[object, object] = {}
    for number in sorted(numbers, key=lambda number: number["task"] != ""):  # a group's own number comes first
        headline.setdefault(number["benchmark"], number["metric"])
    seen, only_published = set(ranges), Ranges()
    for number in numbers:
        key = (str(number["benchmark"]), str(number["metric"]))
        if key not in seen:
            only_published.add(*key, as_number(number["estimate"]))
    rows: list[dict[str, object]] = []
    for known in (ranges, only_published):
        for benchmark, metric in known:
            is_likelihood = metric.partition(",")[0] == LOG_LIKELIHOOD
            said = (results.higher_is_better(task, metric) for task in (*tasks_of.get(benchmark, ()), benchmark))
            direction = next((one for one in said if one is not None), None)
            row = known.row(
                benchmark,
                metric,
                higher_is_better=True if is_likelihood else direction,
                primary=headline.get(benchmark) == metric,
                unit="nats" if is_likelihood else None,
            )
            rows.append(row)
    return rows


def _notes(results: Results, reading: _Reading) -> Iterator[str]:
    """Say what the results file speaks of and the samples do not hold."""
    if not reading.readers:
        yield "published numbers without samples: no two models can be compared item by item"
        return
    absent = [task for task in results.tasks if task not in reading.readers]
    if absent:
        yield f"no samples for {len(absent)} of the tasks, only published numbers: {comma_list(absent, _LISTED)}"
    for name, reader in reading.readers.items():
        said = as_whole(as_dict(results.part("n-samples").get(name)).get("effective"))
        if said is not None and said != reader.n_documents:
            yield (
                f"the results of {name} rest on {said:,} documents, the samples file holds {reader.n_documents:,}: "
                "published numbers and items do not cover the same documents"
            )
    yield from _reader_notes(reading)


def _reader_notes(reading: _Reading) -> Iterator[str]:
    for name, reader in reading.readers.items():
        counts = sorted(((name, len(met)) for name, met in reader.met.items()), key=lambda each: (each[1], each[0]))
        if counts and counts[0][1] != counts[-1][1]:
            (least, few), (most, many) = counts[0], counts[-1]
            yield (
                f"samples of {name} hold {few:,} documents under the filter {least!r} and {many:,} under {most!r}: lines were "
                "lost, and these documents are missing there"
            )
    by_position = [name for name, reader in reading.readers.items() if reader.by_position]
    if by_position:
        yield (
            f"samples of {comma_list(by_position, _LISTED)} have no doc_hash, so doc_id (a place in the split) names the item: "
            "compare only runs of the same version of the data"
        )
    guessed = [name for name, reader in reading.readers.items() if reader.guessed_filters]
    if guessed:
        yield (
            f"samples of {comma_list(guessed, _LISTED)} have several rows for a document and name no filter: called filter-2, "
            "filter-3, ..."
        )


LOADER: Final = LmEvalLoader()
