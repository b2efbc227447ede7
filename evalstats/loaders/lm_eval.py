"""lm-evaluation-harness and the Open LLM Leaderboards: published results, and samples where they were logged.

A results file and the samples files with the same time stamp in the same folder are one source. It makes one run for
every benchmark. The benchmark of a task is the top-level group it is in, if that is exactly one (`mmlu_anatomy` is a
task of `mmlu`), else the task itself; a task run by itself and the same task run with its group are therefore different
benchmarks. Shape of results: `lm_eval_results`; items, metrics and trials: `lm_eval_samples`; the first leaderboard:
`lm_eval_lighteval`.

Format: EleutherAI/lm-evaluation-harness at 4e7e0d4 (0.4.13.dev0), and older files back to 0.3.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Final

from evalstats.errors import UnreadableFileError
from evalstats.loaders import lm_eval_results as lighteval
from evalstats.loaders.base import Head, Match, Rows, Source, in_batches, read_head, readable_name
from evalstats.loaders.files import JsonItem, iter_json, iter_json_lines
from evalstats.loaders.lm_eval_results import Results, read_results
from evalstats.loaders.lm_eval_samples import LOG_LIKELIHOOD, PlacedSample, SampleReader, TaskOfRun
from evalstats.loaders.tallies import Ranges
from evalstats.loaders.values import as_dict, as_list, as_number, as_whole
from evalstats.schema.data import Problem

# Local time without a zone; ":" became "-" in 2023.
_STAMP: Final = r"\d{4}-\d{2}-\d{2}T\d{2}[-:]\d{2}[-:]\d{2}(?:\.\d+)?"
_SAMPLES_NAME = re.compile(rf"samples_(?P<task>.+?)(?:_(?P<stamp>{_STAMP}))?\.(?:jsonl|json|ndjson)")
_RESULTS_NAME = re.compile(rf"(?:.*_)?(?P<stamp>{_STAMP})\.json")
_PACKED = (".gz", ".zst")
_DETAILS_PREFIX: Final = "details_"
_DETAILS_SUFFIX: Final = "-details"


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedFile:
    """A file, whether it holds samples (else results), and what its name says."""

    path: Path
    samples: bool
    task: str = ""
    stamp: str = ""


def plain_name(path: Path) -> str:
    """File name without the ending of a packer."""
    name = path.name
    for ending in _PACKED:
        name = name.removesuffix(ending)
    return name


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
    if {"doc_id", "doc"} <= head.keys and (head.keys & {"target", "arguments", "resps", "filtered_resps"}):
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
    named = [_named(path) for path in sorted(files)]
    results = [file for file in named if not file.samples]
    # With two results files of one stamp (`a_<stamp>.json` beside `results_<stamp>.json`) the samples go to one only.
    results.sort(key=lambda file: (not file.path.name.startswith("results_"), file.path))
    waiting: dict[tuple[Path, str], list[Path]] = {}
    alone: list[Path] = []
    for file in named:
        if file.samples and file.stamp:
            waiting.setdefault((file.path.parent, file.stamp), []).append(file.path)
        elif file.samples:
            alone.append(file.path)
    sources = [
        Source(path=file.path, companions=tuple(waiting.pop((file.path.parent, file.stamp), ()))) for file in results
    ]
    sources += [Source(path=paths[0], companions=tuple(paths[1:])) for paths in waiting.values()]
    sources += [Source(path=path) for path in alone]
    return sorted(sources, key=lambda source: source.path)


def _named(path: Path) -> NamedFile:
    name = plain_name(path)
    try:
        samples = holds_samples(read_head(path))
    except UnreadableFileError:  # it is reported when it is read
        samples = _SAMPLES_NAME.fullmatch(name) is not None
    return NamedFile(path=path, samples=samples, task=task_of_name(name), stamp=stamp_of_name(name))


def holds_samples(head: Head) -> bool:
    """Whether a file of this format holds samples; else it holds results."""
    if head.shape in ("array", "lines"):
        return True
    return looks_like_samples(head) or (head.shape != "object" and plain_name(head.path).startswith("samples_"))


_HARNESS_MEMBERS: Final = frozenset(
    {"n-shot", "group_subtasks", "lm_eval_version", "task_hashes", "higher_is_better", "config_general"}
)
_PUBLISHED_KEY = re.compile(r'"[^"\n]{1,80}_stderr(?:,[^"\n]{1,80})?"\s*:|"alias"\s*:|"[^"\n]{1,80},none"\s*:')
_LISTED: Final = 8


@dataclass(kw_only=True)
class _Reading:
    """What is gathered while the samples of one source are read."""

    ranges: Ranges = field(default_factory=Ranges)
    readers: dict[str, SampleReader] = field(default_factory=dict[str, SampleReader])


class LmEvalLoader:
    """Loader of lm-evaluation-harness results and samples, and of lighteval results."""

    name = "lm-eval"
    title = "lm-evaluation-harness results and samples (results_*.json, samples_*.jsonl)"
    version = "2"

    def sniff(self, head: Head) -> Match | None:
        """Recognise samples by doc_id with doc and answers, results by the harness's own members or metric keys."""
        if head.shape in ("array", "lines", "object") and looks_like_samples(head):
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

    def read(self, source: Source) -> Iterator[Rows | Problem]:
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
            yield _note(source, text)
        reading = _Reading()
        for path in source.companions:
            task = _task_of_run(source, results, model, task_of_name(plain_name(path)))
            yield from self._read_samples(task, _samples_of(path, source), reading)
        for name, samples in results.embedded.items():
            task = _task_of_run(source, results, model, name)
            yield from self._read_samples(task, _embedded(source.path, name, samples), reading)
        yield from _problems(source, results, reading)
        yield from _summaries(source, results, model, reading)

    def _read_samples(
        self, task: TaskOfRun, samples: Iterable[PlacedSample], reading: _Reading
    ) -> Iterator[Rows | Problem]:
        reader = reading.readers.setdefault(task.task, SampleReader(task, reading.ranges))
        return in_batches(reader.rows(samples), "outcomes")

    def _read_orphans(self, source: Source) -> Iterator[Rows | Problem]:
        """Read samples without results: the model is named after the folder, and each task is its own benchmark."""
        model = model_of_folder(source.path)
        text = (
            f"samples without their results file: the model is named {model!r} after the folder, and shots, versions, "
            "limits and groups are unknown"
        )
        yield _note(source, text)
        reading = _Reading()
        tasks: dict[str, TaskOfRun] = {}
        for path in (source.path, *source.companions):
            name = task_of_name(plain_name(path))
            tasks[name] = TaskOfRun(run=source.run_id(name), model=model, benchmark=name, task=name)
            yield from self._read_samples(tasks[name], _samples_of(path, source), reading)
        yield from _reader_notes(source, reading)
        yield Rows(table="metrics", rows=[reading.ranges.row(*key) for key in reading.ranges])
        runs: list[dict[str, object]] = [
            {"run": task.run, "model": model, "system": model, "benchmark": name, "harness": "lm-eval"}
            for name, task in tasks.items()
        ]
        yield Rows(table="runs", rows=runs)

    def _read_lighteval(self, source: Source, results: Results) -> Iterator[Rows | Problem]:
        keys = lighteval.task_keys(results)
        model = results.model or model_of_folder(source.path)
        run_of = {key.benchmark: source.run_id(key.benchmark) for key in keys}
        day = day_of_stamp(stamp_of_name(plain_name(source.path)))
        yield _note(source, "published numbers without items: no two models can be compared item by item")
        numbers = list(lighteval.aggregate_rows(results, model, run_of, day))
        yield Rows(table="aggregates", rows=numbers)
        yield Rows(table="metrics", rows=_metrics(results, {}, numbers, Ranges()))
        runs = [
            lighteval.run_row(results, run, model, tuple(key for key in keys if key.benchmark == benchmark))
            for benchmark, run in run_of.items()
        ]
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


def _samples_of(path: Path, source: Source) -> Iterator[PlacedSample]:
    """Yield the samples of a file, from JSON Lines or from the one list of older files, each with its place.

    A place in a file that stands beside the results is named with that file.
    """
    if read_head(path).shape != "array":
        beside = "" if path == source.path else f"{readable_name(path.name)} "
        for number, value in iter_json_lines(path):
            yield PlacedSample(value, f"{path}: line {number}", f"{beside}line {number}")
        return
    beside = "" if path == source.path else readable_name(path.name)
    for part in iter_json(path):
        if isinstance(part, JsonItem):
            yield PlacedSample(part.value, f"{path}: element {part.index}", f"{beside}[{part.index}]")


def _embedded(path: Path, task: str, samples: object) -> Iterator[PlacedSample]:
    """Yield the samples that stand in a results file itself."""
    for at, sample in enumerate(as_list(samples)):
        yield PlacedSample(sample, f"{path}: sample {at} of {task}", f"samples.{task}[{at}]")


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
    yield Rows(table="aggregates", rows=numbers)
    yield Rows(table="metrics", rows=_metrics(results, tasks_of, numbers, reading.ranges))
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


def _problems(source: Source, results: Results, reading: _Reading) -> Iterator[Problem]:
    """Report what the results file speaks of and the samples do not hold."""
    if not reading.readers:
        yield _note(source, "published numbers without samples: no two models can be compared item by item")
        return
    absent = [task for task in results.tasks if task not in reading.readers]
    if absent:
        more = f" and {len(absent) - _LISTED} more" if len(absent) > _LISTED else ""
        listed = ", ".join(absent[:_LISTED])
        yield _note(source, f"no samples for {len(absent)} of the tasks, only published numbers: {listed}{more}")
    for name, reader in reading.readers.items():
        said = as_whole(as_dict(results.part("n-samples").get(name)).get("effective"))
        if said is not None and said != reader.n_documents:
            text = (
                f"the results of {name} rest on {said:,} documents, the samples file holds {reader.n_documents:,}: "
                "published numbers and items do not speak of the same documents"
            )
            yield _note(source, text)
    yield from _reader_notes(source, reading)


def _reader_notes(source: Source, reading: _Reading) -> Iterator[Problem]:
    by_position = [name for name, reader in reading.readers.items() if reader.by_position]
    if by_position:
        listed = ", ".join(by_position[:_LISTED])
        text = (
            f"samples of {listed} have no doc_hash, so doc_id (a place in the split) names the item: compare only runs "
            "of the same version of the data"
        )
        yield _note(source, text)
    guessed = [name for name, reader in reading.readers.items() if reader.guessed_filters]
    if guessed:
        listed = ", ".join(guessed[:_LISTED])
        text = (
            f"samples of {listed} have several rows for a document and name no filter: called filter-2, filter-3, ..."
        )
        yield _note(source, text)


def _note(source: Source, text: str) -> Problem:
    return Problem(path=str(source.path), message=text, severity="note")


LOADER: Final = LmEvalLoader()
