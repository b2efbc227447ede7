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
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar, Final, cast

import numpy as np
import polars as pl
from msgspec import UNSET
from msgspec.structs import replace

from evalstats.errors import UnreadableFileError
from evalstats.grammar import comma_list, plural
from evalstats.loaders.base import Frame, Head, Match, Rows, Source, plain_name, read_head, readable_name
from evalstats.loaders.format import JSON, OBJECT, RECORDS, Sign, surest
from evalstats.loaders.lm_eval_results import (
    BYPASS,
    LightevalResults,
    Results,
    read_results,
    stamp_of_name,
    task_of_name,
)
from evalstats.loaders.open_llm_scores import V1_METRICS, leaderboard_metric, leaderboard_rows
from evalstats.loaders.record_columns import RecordBlock, record_of, states, texts
from evalstats.loaders.rows import GroupCounter, Ranges, Row, Said, scored, unscored
from evalstats.loaders.typed_records import TypedRecords
from evalstats.loaders.values import as_dict, as_list, as_number, as_text, as_whole, dicts, shortened
from evalstats.schema.data import Problem
from evalstats.schema.tables import at_codes, coded, factor_series

FIXED_KEYS: Final = frozenset(
    {
        "doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter", "metrics",
        "doc_hash", "prompt_hash", "target_hash",
    }
)  # fmt: skip
# Of these what is read; documents and requests are passed over.
_NO_FIELD: Final = re.compile(r'["\\\x00-\x1f .|?*#]')  # in the name of a field of a typed record
USED: Final = ("doc_id", "doc_hash", "prompt_hash", "filter", "metrics", "resps")
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


class LmEvalSamples:
    """Turns the samples of one task into outcomes, remembering which documents were met."""

    def __init__(self, common: Row, results: Results, ranges: Ranges) -> None:
        task = str(common["task"])
        self._common, self._ranges, self._benchmark = common, ranges, str(common["benchmark"])
        self._metrics, self._filters = results.metrics(task), results.filters(task)
        self._repeats = as_whole(results.part("configs", task).get("repeats"))
        self._met, self._copies, self._turns = GroupCounter(), GroupCounter(), GroupCounter()
        self.documents: Counter[str] = Counter()  # by filter
        self.by_position = False

    def frame(self, samples: Sequence[object], places: pl.Series, path: Path, beside: str = "") -> pl.DataFrame:
        """Return the outcomes of a block of samples: a row for each metric of each, in the order of the file.

        `places` are where the samples stand in the file at `path`; with `beside` before them they are the locators.
        """
        block = RecordBlock(samples)
        known = {name: block.at(name) for name in USED}
        shared = self._identified(known, places, path).with_columns(locator=beside + places)
        n_generations = pl.Series("n", [*map(self._generations, known["resps"])], dtype=pl.Int64)
        makings = pl.DataFrame([shared["filter"], n_generations])
        first, codes = coded(makings)
        trials = [self._trials(*making) for making in makings[first].iter_rows()]
        trial = pl.DataFrame(trials, {"trial": pl.Int64, "n_trials": pl.Int64}, orient="row")
        shared = shared.hstack([at_codes(each, codes) for each in trial.iter_columns()])
        names = self._metric_names(samples, known["metrics"], shared["filter"].to_list())
        named = [*chain.from_iterable(names)]
        values = {metric: _read(metric, held) for metric, held in block.named({name: name for name in named})}
        said = states([values[name][at] for at, some in enumerate(names) for name in some])
        metric = pl.Series(named, dtype=pl.String)
        is_likelihood = (metric == "perplexity") & pl.col("score").is_not_null()
        if len(named) > len(samples):
            shared = shared[[at for at, some in enumerate(names) for _ in some]]
        frame = shared.hstack(said.drop("n_trials", strict=False)).with_columns(
            *(pl.lit(value).alias(name) for name, value in self._common.items()),
            metric=pl.when(is_likelihood).then(pl.lit(LOG_LIKELIHOOD)).otherwise(metric)
            + pl.when(pl.col("filter").is_in(["", "none"])).then(pl.lit("")).otherwise("," + pl.col("filter")),
        )
        self._ranges.add_frame(frame)
        if "n_trials" not in said.columns:
            return frame
        parts = said["n_trials"].fill_null(1)
        for name, score in frame.filter(parts > 1).unique("metric").select("metric", "score").iter_rows():
            self._ranges.add(self._benchmark, name, score, average=True)
        return frame.with_columns(
            trial=pl.when(parts < 2).then("trial"), n_trials=pl.when(parts > 1).then(parts).otherwise("n_trials")
        )

    def _identified(self, known: Mapping[str, list[object]], places: pl.Series, path: Path) -> pl.DataFrame:
        """Return item, filter, `doc_id` and the digest of the prompt of each sample."""
        frame = pl.DataFrame(
            {
                "item": texts(known["doc_hash"]),
                "_id": texts(known["doc_id"]),
                "filter": texts(known["filter"]),
                "doc_id": factor_series(
                    "doc_id", [each if type(each) is int else as_text(each) for each in known["doc_id"]]
                ),
                "prompt_hash": texts(known["prompt_hash"]).str.slice(0, _HASH_SHOWN).replace("", None),
            }
        )
        if frame["item"].null_count():
            self.by_position = True
            frame = frame.with_columns(pl.coalesce("item", "_id"))
            if (none := frame["item"].is_null()).any():
                raise UnreadableFileError(
                    f"{path}: {places.filter(none)[0]}: has neither 'doc_hash' nor 'doc_id'; a sample of lm-eval has both or "
                    "the second"
                )
        if frame["filter"].null_count():  # older files write a row per filter, in the order of the task's
            turns = self._turns.next(frame.select(pl.coalesce("_id", "item"))).to_list()
            names = [*self._filters] or [*dict.fromkeys(map(_filter_of, self._metrics))]
            names = names or ["none", *(f"filter-{k}" for k in range(2, max(turns) + 2))]
            labels = pl.Series([names[min(turn, len(names) - 1)] for turn in turns])
            frame = frame.with_columns(pl.col("filter").fill_null(labels))
        with_id = frame[["filter", "_id"]]
        with_id = with_id.drop_nulls("_id") if frame["_id"].null_count() else with_id
        if (again := self._met.again(with_id)).any():
            name, key = with_id.filter(again).row(0)
            raise UnreadableFileError(
                f"{path}: document {key} appears twice under the filter {name!r}; samples files are written by appending, so "
                "this may be two runs in one file: remove one"
            )
        self.documents.update(dict(frame["filter"].value_counts().iter_rows()))
        nth = self._copies.next(frame[["filter", "item"]]) + 1
        if (nth > 1).any():
            item = pl.when(nth > 1).then(pl.format("{}#{}", "item", nth)).otherwise("item")
            frame = frame.with_columns(item=item)
        return frame.drop("_id")

    def _generations(self, given: object) -> int:
        """Return how many generations a row holds."""
        if self._repeats is not None and self._repeats > 1:
            return self._repeats
        responses = as_list(given)
        first = as_list(responses[0]) if len(responses) == 1 else []
        return len(first) if len(first) > 1 and all(isinstance(text, str) for text in first) else 1

    def _trials(self, filter_name: str, n_generations: int) -> tuple[int | None, int]:
        """Return trial and number of trials behind a value, given how many generations its row holds.

        A filter that takes the first of them scores one trial; one that votes over k of them, or hands all to the
        metric, or is not described, leaves a number over k trials of which none is known alone.
        """
        if n_generations <= 1:
            return 0, 1
        steps = self._filters.get(filter_name)
        if steps is None and not self._filters and self._repeats is not None:
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

    def _metric_names(
        self, samples: Sequence[object], every: Sequence[object], filters: Sequence[str]
    ) -> list[Sequence[str]]:
        """Return the metrics of each sample: those it lists, else, as older files list none, those it has."""
        found: list[Sequence[str]] = []
        last: object = UNSET
        names: Sequence[str] = ()
        for sample, listed, label in zip(samples, every, filters, strict=True):
            if not isinstance(listed, list):
                held, last = as_dict(sample), UNSET
                names = _texts_in([name for name in held if name not in FIXED_KEYS and _could_be_value(held[name])])
            elif listed != last:
                last, names = cast("object", listed), _texts_in(cast("object", listed))
            published = [name.partition(",")[0] for name in self._metrics if _filter_of(name) == label]
            found.append(names or published or ["unnamed"])
        return found


def _read(metric: str, values: list[object]) -> Sequence[Said]:
    """Read a metric's values of all samples of a block."""
    if (
        metric != BYPASS
        and {*map(type, values)} == {float}
        and np.isfinite(numbers := cast("list[float]", values)).all()
    ):
        return numbers
    return [read_value(metric, value) for value in values]


def _texts_in(listed: object) -> Sequence[str]:
    return [*dict.fromkeys(as_text(name) or "" for name in as_list(listed) if isinstance(name, str))]


def _filter_of(metric: str) -> str:
    return metric.partition(",")[2] or "none"


def _could_be_value(value: object) -> bool:
    return value is None or isinstance(value, bool | int | float | list) or as_number(value) is not None


def model_of_folder(path: Path) -> str:
    """Return the model that the folder of a file is named after, with the first "__" read as the "/" it stands for."""
    name = path.absolute().parent.name.removeprefix("details_").removesuffix("-details")
    return name.replace("__", "/", 1) or "unknown"


# What lmms-eval writes beside the same members: a format of its own.
_LMMS_EVAL: Final = "token_counts lmms_eval_version"
_ANY_SHAPE: Final = (*JSON, "parquet")
_OF_SAMPLES: Final = (
    Sign("doc_id doc", some="target arguments resps filtered_resps", without=_LMMS_EVAL, shapes=_ANY_SHAPE),
    # A first document of more than the head leaves nothing but its own name to see; other writers leave it out.
    Sign(some="doc_id doc_hash", without=_LMMS_EVAL, path=r"/samples_[^/]*$", shapes=RECORDS),
    Sign("doc_id filtered_resps", without=_LMMS_EVAL, shapes=_ANY_SHAPE),
)
_HARNESS: Final = "n-shot group_subtasks lm_eval_version task_hashes higher_is_better config_general"
_PUBLISHED: Final = r'(?s).*(?:"[^"\n]{1,80}_stderr(?:,[^"\n]{1,80})?"\s*:|"alias"\s*:|"[^"\n]{1,80},none"\s*:)'
_OF_RESULTS: Final = (
    Sign("results", some=_HARNESS, without=_LMMS_EVAL, shapes=OBJECT),
    Sign("results config versions", without=_LMMS_EVAL, opening=_PUBLISHED, shapes=OBJECT),
    Sign("results", 0.6, without=_LMMS_EVAL, opening=_PUBLISHED, shapes=OBJECT),
)
_LISTED: Final = 8


def _holds_samples(path: Path) -> bool:
    """Whether a file of this format holds samples; else it holds results."""
    with suppress(UnreadableFileError):  # it is reported when it is read
        head = read_head(path)
        if head.shape not in {"empty", "text", "binary"}:
            return head.shape != "object" or surest(_OF_SAMPLES, head) is not None
    return task_of_name(plain_name(path)) is not None


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
        return surest((*_OF_SAMPLES, *_OF_RESULTS), head)

    def plan(self, files: Sequence[Path]) -> Iterable[Source | Problem]:
        """Make a source of every results file with its samples, and of every set of samples without results.

        Samples belong to the results file in the same folder with the same stamp; a results file that is given alone is read
        with those beside it. Files without a stamp stand alone.
        """
        waiting: dict[tuple[Path, str], list[Path]] = {}
        results: list[Path] = []
        for path in sorted(files):
            if _holds_samples(path):
                waiting.setdefault((path.parent, stamp_of_name(plain_name(path)) or path.name), []).append(path)
            else:
                results.append(path)
        # With two results files of one stamp (`a_<stamp>.json` beside `results_<stamp>.json`) the samples go to one only.
        for path in sorted(results, key=lambda path: (not path.name.startswith("results_"), path)):
            stamp = stamp_of_name(plain_name(path))
            samples = waiting.pop((path.parent, stamp), [])
            source = Source(path=path, companions=tuple(samples))
            if stamp and not samples:
                with suppress(PermissionError):  # a folder whose files may be read and not listed
                    beside = sorted(path.absolute().parent.iterdir())
                    named = [each for each in beside if task_of_name(name := plain_name(each)) and stamp in name]
                    samples = [each for each in named if each.is_file() and not each.is_symlink()]
                    source = replace(source, companions=tuple(samples))
                if samples:
                    text = f"its samples lie beside it ({plural(len(samples), 'file')}) and are read too"
                    yield from source.notes([text])
            yield source
        yield from (Source(path=path, companions=tuple(others)) for path, *others in waiting.values())

    def read(self, source: Source) -> Iterator[Rows | Frame | Problem]:
        """Yield outcomes of all samples, then the published numbers, metrics and runs."""
        alone = _holds_samples(source.path)
        results = Results(path=source.path) if alone else read_results(source.path)
        model = results.model or model_of_folder(source.path)
        if alone:
            text = (
                f"samples without their results file: the model is named {model!r} after the folder, and shots, versions, "
                "limits and groups are unknown"
            )
            yield from source.notes([text])
        elif results.has_random_name:
            text = f"the model name {model!r} may be one that lm-eval made up, since its arguments name no model"
            yield from source.notes([text])
        ranges, readers = Ranges(), dict[str, LmEvalSamples]()

        def reader(task: str) -> LmEvalSamples:
            """Return what reads the samples of a task."""
            benchmark = results.benchmark(task)
            common: Row = {"run": source.run_id(benchmark), "model": model, "system": model, "benchmark": benchmark}
            common |= {"task": task, "variant": "", "setting": "lab"}
            return readers.setdefault(task, LmEvalSamples(common, results, ranges))

        for path in (*((source.path,) if alone else ()), *source.companions):
            name = plain_name(path)
            yield from _outcomes(path, source, reader(task_of_name(name) or name.rpartition(".")[0] or name))
        for task, samples in results.embedded.items():
            yield from _embedded(source.path, samples, reader(task), task)
        yield from source.notes(_notes(results, readers))
        yield from _summaries(source, results, model, readers, ranges)


class _Samples(TypedRecords[Any]):
    """The samples of a file. None may be damaged: which documents a model was asked would be unknown."""

    def leave_out(self, why: str, locator: str | None = None) -> None:
        """Refuse the file."""
        raise UnreadableFileError(f"{self.source.path}: {self.fault or f'{locator or self.locator}: {why}'}")


def _outcomes(path: Path, source: Source, reader: LmEvalSamples) -> Iterator[Frame]:
    """Yield the outcomes of a file; a place in one that stands beside the results is named with that file.

    Samples are decoded with the metrics that they list: these are asked first. Where some list none, as in older files, and where
    no field may be called so, they are read whole.
    """
    head = read_head(path)
    if head.shape == "empty":  # as a run leaves it that was stopped
        return
    beside = "" if path == source.path else readable_name(path.name) + " " * (head.shape != "array")
    lists = _Samples(Source(path=path), record_of(["metrics"], []), at=(".",))
    listed, whole = dict[str, None](), False
    for block in lists.blocks():
        every = RecordBlock(block).at("metrics")
        whole = whole or {*map(type, every)} != {list}
        listed.update(dict.fromkeys(chain.from_iterable(map(_texts_in, every))))
    whole = whole or not listed or any(map(_NO_FIELD.search, listed))
    record = dict[str, Any] if whole else record_of(USED, [f"{name}?" for name in listed])
    records = _Samples(Source(path=path), record, at=(".",), called="samples")
    for samples in records.blocks():
        yield Frame(table="outcomes", frame=reader.frame(samples, records.locators, path, beside))


def _embedded(path: Path, listed: object, reader: LmEvalSamples, task: str) -> Iterator[Frame]:
    """Yield the outcomes of samples that stand in a results file itself."""
    samples = list(dicts(listed))
    if len(samples) < len(as_list(listed)):
        raise UnreadableFileError(f"{path}: a sample of {task} is not a JSON object")
    places = f"samples.{task}[" + pl.Series(range(len(samples))).cast(pl.String) + "]"
    if samples:
        yield Frame(table="outcomes", frame=reader.frame(samples, places, path))


def _summaries(
    source: Source, results: Results, model: str, readers: Mapping[str, LmEvalSamples], ranges: Ranges
) -> Iterator[Rows]:
    """Yield published numbers, metrics and one run for every benchmark."""
    tasks_of: dict[str, list[str]] = {}
    for name in dict.fromkeys((*results.tasks, *readers)):
        tasks_of.setdefault(results.benchmark(name), []).append(name)
    for name in results.groups:
        tasks_of.setdefault(results.benchmark(name), [])
    if not tasks_of:
        raise UnreadableFileError(
            f"{source.path}: 'results' is empty and there are no samples beside it; nothing to read"
        )
    run_of = {benchmark: source.run_id(benchmark) for benchmark in tasks_of}
    numbers = list(results.aggregate_rows(model, run_of))
    metrics = _metrics(results, tasks_of, numbers, ranges)
    runs = [results.run_row(run_of[benchmark], model, benchmark, tasks) for benchmark, tasks in tasks_of.items()]
    if shown := leaderboard_rows(results, model):
        metrics.append(leaderboard_metric(shown))
        benchmark = str(shown[0]["benchmark"])
        more: Row = {"run": source.run_id(benchmark), "benchmark": benchmark, "n_shots": None, "task_version": None}
        runs.append(runs[0] | more)
        numbers += [{**row, "run": more["run"]} for row in shown]
    yield Rows(table="aggregates", rows=numbers)
    yield Rows(table="metrics", rows=metrics)
    yield Rows(table="runs", rows=runs)


def _metrics(results: Results, tasks_of: Mapping[str, list[str]], numbers: Sequence[Row], ranges: Ranges) -> list[Row]:
    """Describe the metrics that samples have, then those that are only published, of which their numbers tell the range.

    The headline is the first that is published, else the first that samples list; of lighteval's the leaderboard's.
    """
    headline: dict[object, object] = {**V1_METRICS} if isinstance(results, LightevalResults) else {}
    for number in sorted(numbers, key=lambda number: number["task"] != ""):  # a group's own number comes first
        headline.setdefault(number["benchmark"], number["metric"])
    seen = set(ranges)
    for benchmark, metric in ranges:
        headline.setdefault(benchmark, metric)
    for number in numbers:
        key = (str(number["benchmark"]), str(number["metric"]))
        if key not in seen:
            ranges.add(*key, as_number(number["estimate"]))
    rows: list[Row] = []
    for benchmark, metric in ranges:
        is_likelihood = metric.partition(",")[0] == LOG_LIKELIHOOD
        said = (results.higher_is_better(task, metric) for task in (*tasks_of[benchmark], benchmark))
        direction = True if is_likelihood else next((one for one in said if one is not None), None)
        primary, unit = headline.get(benchmark) == metric, "nats" if is_likelihood else None
        rows.append(ranges.row(benchmark, metric, higher_is_better=direction, primary=primary, unit=unit))
    return rows


def _notes(results: Results, readers: Mapping[str, LmEvalSamples]) -> Iterator[str]:
    """Say what the results file speaks of and the samples do not hold, and what is odd in these."""
    if not readers:
        how = "" if isinstance(results, LightevalResults) else "; lm-eval writes samples with log_samples"
        yield f"published numbers without samples: no two models can be compared item by item{how}"
    elif absent := [task for task in results.tasks if task not in readers]:
        yield f"no samples for {len(absent)} of the tasks, only published numbers: {comma_list(absent, _LISTED)}"
    for name, reader in readers.items():
        said = as_whole(results.part("n-samples", name).get("effective"))
        few, many = min(reader.documents.values(), default=0), max(reader.documents.values(), default=0)
        if said is not None and said != many:
            yield (
                f"the results of {name} rest on {said:,} documents, the samples file holds {many:,}: "
                "published numbers and items do not cover the same documents"
            )
        if few != many:
            yield (
                f"samples of {name} hold {few:,} documents under one filter and {many:,} under another: lines were lost, and "
                "these documents are missing there"
            )
    if by_position := [name for name, reader in readers.items() if reader.by_position]:
        yield (
            f"samples of {comma_list(by_position, _LISTED)} have no doc_hash, so doc_id (a place in the split) names the item: "
            "compare only runs of the same version of the data"
        )


LOADER: Final = LmEvalLoader()
