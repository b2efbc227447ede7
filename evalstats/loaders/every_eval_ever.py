"""Every Eval Ever: the common schema of the EvalEval coalition, published numbers and the items behind them.

A log is a run: its results are `aggregates`. Lines of `<uuid>_samples.jsonl` are outcomes: the item is `sample_id` within the
task, and `prompt_hash` holds the sample's hash, so that runs that gave other questions the same ids are not compared.

Format: `data/<collection>/<developer>/<model>/<uuid>.json` with `<uuid>_samples.jsonl`, schemas 0.2.0 to 0.3.0 of
evaleval/every_eval_ever at 9bce413 (`schemas/eval.schema.json`, `schemas/instance_level_eval.schema.json`).
"""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
import polars as pl
from msgspec import UNSET

from evalstats.errors import InputError
from evalstats.loaders.base import Frame, Head, Match, Rows, Source, plain_name, read_head
from evalstats.loaders.every_eval_ever_annex import FAULTS as ANNEX_FAULTS
from evalstats.loaders.every_eval_ever_annex import Annex, ExportedSample, NotExportedError, annex_of
from evalstats.loaders.format import Sign, surest
from evalstats.loaders.published_numbers import PublishedRows, between
from evalstats.loaders.record_columns import amounts, counts, states
from evalstats.loaders.rows import Factors, GroupCounter, Ranges, Row, Said, held, metric_row, scored, told, unscored
from evalstats.loaders.typed_records import TypedRecords, converted
from evalstats.loaders.values import (
    as_amount,
    as_count,
    as_dict,
    as_list,
    as_number,
    as_text,
    as_time,
    as_whole,
    day_of,
    dicts,
    first_line,
    get,
    json_text,
)
from evalstats.regular import digest_of
from evalstats.schema.columns import column_names
from evalstats.schema.data import Problem
from evalstats.schema.tables import columns_of_rows, frame_from_rows

_SAMPLES: Final = "_samples.jsonl"
_NESTED: Final = ("detailed_evaluation_results", "detailed_evaluation_results_per_samples")
# What converters write into `metadata` that tells of the row and not of the sample.
_NO_FACTORS: Final = frozenset(
    {*column_names("outcomes"), "epoch", "doc_hash", "target_hash", "lm_eval_metrics", "stop_reason"}
)
_UNKNOWN: Final = frozenset({"", "unknown", "none", "null"})
_LONGEST_WORD: Final = max(map(len, _UNKNOWN))
_WORD: Final = re.compile(r"\S{1,60}")

_OUTSIDE: Final = "{n} scores lie outside the declared range of their metric; they are unscored, `value_raw` has them"
_TWICE: Final = "{n} samples repeat an epoch of an earlier one and are dropped"
_OTHERS: Final = (
    "{n} samples have the id of another sample of the task and another hash; they are items `<id>~<hash>` of their own"
)
_NO_RESULT: Final = (
    "{n} samples belong to no result of their log; their metric is called score, and its range is not known"
)
_UNJUDGED: Final = "{n} samples inside the log have neither a score nor an error, and are dropped"
_DAMAGED: Final = (
    "{n} records that evalstats exported were changed since and do not match the file written with "
    "them; they are dropped"
)
_BEYOND: Final = "the score lies outside the declared range"


class EvalSample(ExportedSample):
    """One line of samples; what was said is passed over but for the input, whose digest tells questions apart."""

    schema_version: Any = None
    evaluation_id: Any = None
    model_id: Any = None
    evaluation_result_id: Any = None
    evaluation_name: Any = None
    sample_hash: Any = None
    input: Any = None
    performance: Any = None
    score: Any = UNSET


class _Result(NamedTuple):
    """One entry of `evaluation_results`: what its samples are called, and what their scores may be."""

    task: str
    metric: str
    low: float | None = None
    high: float | None = None
    judge: str | None = None

    def said(self, raw: object, failure: object) -> Said:
        """Return what a score says, beside what failed."""
        low, high = self.low, self.high
        if type(raw) is float and not failure and low is not None and high is not None and low <= raw <= high:
            return raw
        if failure:
            return unscored(first_line(failure) or first_line(json_text(failure)), held(raw), error=True)
        number = as_number(raw)
        if number is None:
            return unscored("there is no score" if raw is None else "the score is no number", held(raw))
        if (low is not None and number < low) or (high is not None and number > high):
            return unscored(_BEYOND, held(raw))
        return scored(number, value_raw=as_text(raw)) if isinstance(raw, str) else number


class _Log(msgspec.Struct):
    """One run: the columns that all its rows share, its settings, and its results by id and by name."""

    common: Row
    row: Row
    annex: Annex | None = None
    results: dict[str, _Result] = msgspec.field(default_factory=dict[str, _Result])
    named: dict[str, list[_Result]] = msgspec.field(default_factory=dict[str, list[_Result]])


class _Shared(NamedTuple):
    """What all samples of one result share: the log, the result, their columns, and what is wrong with its id."""

    log: _Log
    result: _Result
    columns: Row
    fault: str | None
    place: int = 0


_CELLS: Final = {"item": pl.String, "trial": pl.Int64, "prompt_hash": pl.String, "_place": pl.Int64}


_SIGNS: Final = (
    Sign("evaluation_results", 0.95, some="evaluation_id schema_version source_metadata"),
    Sign("evaluation_id sample_id", 0.95, some="model_id interaction_type"),
    Sign("object_path object_uuid record_type", 0.7, skip="an index of logs"),
)


class EveryEvalEverLoader:
    """Loader of Every Eval Ever's logs and samples, one by one, as a datastore's tree, or as lists of them."""

    name = "every-eval-ever"
    title = "Every Eval Ever logs and samples (<uuid>.json, <uuid>_samples.jsonl)"
    version = "1"

    def sniff(self, head: Head) -> Match | None:
        """Recognise a log by its results and model, samples by their ids, and an index of logs, which holds no results."""
        return surest(_SIGNS, head)

    def plan(self, files: Sequence[Path]) -> Iterable[Source | Problem]:
        """Put samples with the log of the same name in the same folder; without one they stand alone."""
        names = {path: plain_name(path) for path in files if not plain_name(path).endswith(_SAMPLES)}
        logs = {(path.parent, name.removesuffix(".json")): path for path, name in names.items()}
        beside: dict[Path, list[Path]] = {path: [] for path in logs.values()}
        for path in files:
            log = logs.get((path.parent, plain_name(path).removesuffix(_SAMPLES)))
            if log is None or log == path:
                beside.setdefault(path, [])
            else:
                beside[log].append(path)
        return [Source(path=path, companions=tuple(sorted(found))) for path, found in sorted(beside.items())]

    def read(self, source: Source) -> Iterator[Rows | Frame | Problem]:
        """Yield outcomes, published numbers, metrics, runs, and notes."""
        reading = _Reading(source)
        if "sample_id" in read_head(source.path).keys:
            yield from reading.samples(source.path)
        else:
            yield from reading.logs()
            for path in source.companions:
                yield from reading.samples(path)
        yield Rows(table="aggregates", rows=reading.numbers.rows)
        yield Rows(table="metrics", rows=reading.metrics())
        yield Rows(table="runs", rows=reading.run_rows())
        yield from reading.problems()


class _Reading:
    """The runs of one source, and what is met in it."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.runs: dict[tuple[str, str], _Log] = {}
        self.numbers = PublishedRows()
        self._ranges = Ranges()
        self._metrics: dict[tuple[str, str], Row] = {}
        self._own_metrics: dict[tuple[str, str], Row] = {}
        self._counts: Counter[str] = Counter()
        self._trials, self._met = GroupCounter(), GroupCounter()
        self._asked: dict[int, str | None] = {}  # by the hash of an id: the digest of what its first sample asks
        self._shared: dict[tuple[object, ...], _Shared] = {}
        self._factors = Factors()
        self._problems: list[Problem] = []
        self._told: list[str] = []
        self._expected: int | None = None
        self._n_samples = 0

    def logs(self) -> Iterator[Frame]:
        """Read the logs of the file; yield the outcomes of samples that stand inside one."""
        records = TypedRecords(self.source, dict[str, Any], called="logs", at=(".",))
        for locator, record in records:
            if not isinstance(record.get("evaluation_results"), list):
                records.leave_out("no list evaluation_results")
                continue
            model = as_text(get(record, "model_info", "id")) or as_text(get(record, "model_info", "name"))
            if not model:
                records.leave_out("no model_info.id")
                continue
            key = (as_text(record.get("evaluation_id")) or f"{self.source.stem}{locator}", model)
            if key in self.runs:
                records.leave_out("an evaluation_id that appears above")
                continue
            self._declared(as_dict(record.get("detailed_evaluation_results")))
            if self._restored(key, record):
                continue
            log = self._log(key, record)
            for k, result in enumerate(as_list(record["evaluation_results"])):
                self._result(log, as_dict(result), k, record)
            yield from self._nested(record, key)
        self._problems += records.problems()
        if not self.runs:
            raise InputError(
                f"{self.source.path}: holds no log with model_info.id and a list evaluation_results; check it with the schema "
                "of Every Eval Ever"
            )

    def _declared(self, details: Row) -> None:
        """Take note of how many samples the log was written for, and whether those beside it are these or none is read."""
        if details and not self.source.companions:
            path = as_text(details.get("file_path")) or "its samples"
            self._told.append(
                f"the log names {path}; only its published numbers are read, unless that file is given, too"
            )
        self._expected = as_count(details.get("total_rows"))
        checksum = as_text(details.get("checksum")) if details.get("hash_algorithm") == "sha256" else None
        if checksum and self.source.companions and digest_of(self.source.companions[0]) != checksum:
            self._told.append("the samples beside the log are not those it was written for: their checksum differs")

    def _restored(self, key: tuple[str, str], record: Row) -> bool:
        """Take in a log that evalstats exported, as it was before; False for any other."""
        try:
            annex = annex_of(record)
        except ANNEX_FAULTS:
            self._told.append("what evalstats wrote beside the log is damaged; it is read as any other log")
            return False
        if annex is None:
            return False
        row: Row = {**annex.run, **annex.shared}
        if not annex.run.get("model"):
            row.update(model=annex.run.get("model"), system=annex.run.get("system"))
        log = self.runs[key] = _Log(common=dict(annex.shared), row=row, annex=annex)
        for metric in annex.metrics:
            self._own_metrics.setdefault((str(metric.get("benchmark")), str(metric.get("metric"))), metric)
        for k, result in enumerate(as_list(record["evaluation_results"])):
            try:
                number = annex.aggregate(as_dict(result), has_samples=bool(self.source.companions))
            except NotExportedError:
                self._result(log, as_dict(result), k, record)
            except ANNEX_FAULTS:
                self._counts[_DAMAGED] += 1
            else:
                self.numbers.rows += [] if number is None else [number]
        return True

    def _log(self, key: tuple[str, str], record: Row) -> _Log:
        """Return the run of an evaluation and a model that was not met before."""
        evaluation_id, model = key
        benchmark, rest = _parts(evaluation_id, model)
        benchmark = benchmark or as_text(get(record, "source_metadata", "source_name")) or "Every Eval Ever"
        system = f"{model} ({rest})" if rest else model
        number = f".{len(self.runs)}" if self.runs else ""
        run = f"{benchmark}.{system}".replace("/", "_") + f"{number}~{self.source.digest[:8]}"
        common: Row = {"run": run, "model": model, "system": system, "benchmark": benchmark}
        log = self.runs[key] = _Log(common=common, row={**common, **_settings(record, evaluation_id)})
        return log

    def _result(self, log: _Log, result: Row, k: int, record: Row) -> None:
        """Take in one result: what its samples' scores may be, its metric, and its published number."""
        config, details = as_dict(result.get("metric_config")), as_dict(result.get("score_details"))
        name, own_id = as_text(result.get("evaluation_name")) or "", as_text(result.get("evaluation_result_id"))
        benchmark, unit = str(log.common["benchmark"]), as_text(config.get("metric_unit"))
        metric = _metric_name(config, {name, own_id})
        if any(each.metric == metric for each in log.named.get(name, ())):
            metric = f"{metric}/{own_id or k}"
        low, high, estimate = (
            as_number(given) for given in (config.get("min_score"), config.get("max_score"), details.get("score"))
        )
        if low is not None and high is not None and low >= high:
            low = high = None
        if estimate is not None and ((low is not None and estimate < low) or (high is not None and estimate > high)):
            low = high = None
        judges = [
            as_text(get(judge, "model_info", "id")) or as_text(get(judge, "model_info", "name"))
            for judge in dicts(get(config, "llm_scoring", "judges"))
        ]
        judge = ", ".join(judge for judge in judges if judge) or None
        task = "" if name == benchmark else name
        found = _Result(task=task, metric=metric, low=low, high=high, judge=judge)
        log.named.setdefault(name, []).append(found)
        if own_id:
            log.results.setdefault(own_id, found)
        log.row["judge"] = log.row.get("judge") or judge
        temperature = as_amount(get(result, "generation_config", "generation_args", "temperature"))
        log.row["temperature"] = temperature if log.row.get("temperature") is None else log.row["temperature"]
        lower, kind = config.get("lower_is_better"), _kind(config, low, high)
        better = not lower if isinstance(lower, bool) else None
        row = metric_row(benchmark, metric, kind, low=low, high=high, unit=unit, higher_is_better=better)
        before = self._metrics.setdefault((benchmark, metric), row)
        if (before["low"], before["high"]) != (low, high):  # tasks of several ranges: none holds for the metric
            before.update(low=None, high=None, kind="continuous")

        source_data, uncertainty = as_dict(result.get("source_data")), as_dict(details.get("uncertainty"))
        error, interval = as_dict(uncertainty.get("standard_error")), as_dict(uncertainty.get("confidence_interval"))
        level, n = as_number(interval.get("confidence_level")), as_count(uncertainty.get("num_samples"))
        methods = {"standard error": as_text(error.get("method")), "interval": as_text(interval.get("method"))}
        days = (day_of(each.get("evaluation_timestamp")) for each in (result, record))
        known: Row = {
            **log.common,
            "task": task,
            "metric": metric,
            "unit": unit,
            "n": n if n is not None else as_count(source_data.get("samples_number")),
            "method": "; ".join(["published", *(f"{what}: {method}" for what, method in methods.items() if method)]),
            "date": next(filter(None, days), None) or day_of(record.get("retrieved_timestamp")),
            "dataset": as_text(source_data.get("dataset_name")),
            "conf_level": level if level is None or level <= 1 else level / 100 if level <= 100 else None,
        }
        ends = between(interval, "lower", "upper")
        self.numbers.add(details.get("score"), known, ends=ends, error=error.get("value"))

    def _nested(self, record: Row, key: tuple[str, str]) -> Iterator[Frame]:
        """Read the samples inside a log; older logs hold some without a score, which say nothing, or without an id."""
        names = [*self.runs[key].named]
        alone = {"evaluation_name": names[0]} if len(names) == 1 else {}
        inside = [
            (f"{name}[{k}]", as_dict(each)) for name in _NESTED for k, each in enumerate(as_list(record.get(name)))
        ]
        judged = [
            (place, converted({**alone, "evaluation_id": key[0], "model_id": key[1], **each}, EvalSample))
            for place, each in inside
            if "score" in each or "score" in as_dict(each.get("evaluation")) or each.get("error")
        ]
        self._counts[_UNJUDGED] += len(inside) - len(judged)
        said = [
            (sample, shared, as_text(sample.sample_id) or "")
            for _, sample in judged
            if (shared := self._shared_by(sample, inside=True)) is not None
        ]
        yield from self._outcomes(said, pl.Series([place for place, _ in judged], dtype=pl.String))

    def samples(self, path: Path) -> Iterator[Frame]:
        """Yield the outcomes of the samples of a file, a block at a time."""
        records = TypedRecords(Source(path=path), EvalSample, called="samples", at=(".",))
        n = 0
        beside = "" if path == self.source.path else f"{plain_name(path)} "
        for block in records.blocks():
            said: list[tuple[EvalSample, _Shared, str]] = []
            kept: list[int] = []
            for at, sample in enumerate(records.one_by_one(block)):
                shared, item = self._shared_by(sample), as_text(sample.sample_id)
                if shared is None or not item:
                    records.leave_out("no sample_id, evaluation_name or model_id")
                else:
                    said.append((sample, shared, item))
                    kept.append(at)
            n += len(said)
            yield from self._outcomes(said, beside + records.locators.gather(kept))
        self._problems += records.problems()
        if not n:
            raise InputError(
                f"{path}: holds no sample with sample_id, evaluation_name and model_id; check it with the schema of Every Eval "
                "Ever"
            )
        if self._expected is not None and self._expected != n:
            self._told.append(f"the log counts {self._expected:,} samples, the file beside it holds {n:,}")

    def _shared_by(self, sample: EvalSample, *, inside: bool = False) -> _Shared | None:
        """Return what a sample shares with all others of its result; None where it names none and is not `inside` a log."""
        ids = (sample.evaluation_id, sample.model_id, sample.evaluation_result_id, sample.evaluation_name)
        try:
            return self._shared[ids]
        except (KeyError, TypeError):  # a list or an object is no id
            evaluation, model, own_id, name = texts = (*map(as_text, ids),)
        if not inside and not (model and (name or own_id)):
            return None
        named = evaluation or "", model or ""
        log = self.runs.get(named) or self._log(named, {"schema_version": sample.schema_version})
        fault = None
        of_name = log.named.get(name or "", [])
        result = log.results.get(own_id or "") or (of_name[0] if len(of_name) == 1 else None)
        if log.annex is None and result is None:
            fault = _NO_RESULT if log.named else None
            metric = (own_id or "").split(":")[0] if own_id and own_id != name else "score"
            task = "" if name is None or name == log.common["benchmark"] else name
            result = _Result(task=task, metric=metric or "score")
        elif log.annex is not None or result is None:
            result = _Result(task="", metric="")  # samples that evalstats exported name task and metric themselves
        known = {"task": result.task, "metric": result.metric, "judge": result.judge, "n_trials": 1}
        place = hash((log.common["run"], result.task, result.metric))
        found = self._shared[texts] = _Shared(log, result, {**log.common, **known}, fault, place)
        return found

    def _outcomes(self, samples: list[tuple[EvalSample, _Shared, str]], places: pl.Series) -> Iterator[Frame]:
        """Yield the rows of samples; those of a log that evalstats exported are restored."""
        self._n_samples += len(samples)
        restored: list[Row] = []
        at: list[int] = []
        kept: list[EvalSample] = []
        columns: list[Row] = []
        cells: list[tuple[str, int | None, str | None, int]] = []
        said: list[Said] = []
        for place, (sample, shared, item) in enumerate(samples):
            if shared.fault:
                self._counts[shared.fault] += 1
            if shared.log.annex is not None:
                try:
                    restored.append(shared.log.annex.outcome(sample))
                except ANNEX_FAULTS:
                    self._counts[_DAMAGED] += 1
                continue
            digest = _digest(sample)
            first = self._asked.setdefault(hash((shared.place, item)), digest)
            other = digest if first and digest != first else None  # of another question under the same id
            self._counts[_OTHERS] += bool(other)
            epoch = _epoch(as_text(as_dict(sample.metadata).get("epoch")) or "") if sample.metadata else None
            at.append(place)
            kept.append(sample)
            columns.append(shared.columns)
            cells.append((f"{item}~{other[:8]}" if other else item, epoch, digest, shared.place))
            said.append(shared.result.said(sample.judged(sample.score), sample.error))
        if restored:
            yield Frame(table="outcomes", frame=frame_from_rows(restored, "outcomes"))
        if not kept:
            return
        rows = {id(each): each for each in columns}
        number = {key: k for k, key in enumerate(rows)}
        frame = columns_of_rows([*rows.values()], "outcomes")[[number[id(each)] for each in columns]].hstack(
            [
                *pl.DataFrame(cells, _CELLS, orient="row"),
                places.gather(at).alias("locator"),
                counts([sample.n_turns for sample in kept]).alias("n_turns"),
                *states(said),
            ]
        )
        if any(sample.token_usage for sample in kept):
            usage = [as_dict(sample.token_usage) for sample in kept]
            named = ("input_tokens", "output_tokens")
            frame = frame.with_columns(counts([each.get(name) for each in usage]).alias(name) for name in named)
        if any(sample.performance for sample in kept):
            frame = frame.with_columns(
                latency_s=amounts([get(sample.performance, "latency_ms") for sample in kept]) / 1000
            )
        if any(sample.metadata for sample in kept):
            known = [
                {name: value for name, value in as_dict(sample.metadata).items() if name not in _NO_FACTORS}
                for sample in kept
            ]
            frame = frame.hstack(columns_of_rows([self._factors.of(each) for each in known], "outcomes"))
        frame = frame.with_columns(pl.col("trial").fill_null(self._trials.next(frame.select("_place", "item"))))
        again = self._met.again(frame.select("_place", "item", "trial"))
        self._counts[_TWICE] += int(again.sum())
        frame = frame.filter(~again).drop("_place")
        self._counts[_OUTSIDE] += int((frame["status_reason"] == _BEYOND).sum())
        self._ranges.add_frame(frame)
        yield Frame(table="outcomes", frame=frame)

    def run_rows(self) -> list[Row]:
        """Return the runs, of which those that evalstats did not export have factors by their own names."""
        own: Row = {"factor_names": self._factors.own_names}
        return [log.row if log.annex else log.row | own for log in self.runs.values()]

    def metrics(self) -> list[Row]:
        """Describe the metrics: as declared, and by the scores seen where nothing is declared or only 0 and 1 were seen."""
        rows: list[Row] = []
        for key in dict.fromkeys((*self._metrics, *self._ranges)):
            declared, seen = self._metrics.get(key), self._ranges.row(*key)
            low, high = self._ranges.ends(*key)
            if declared is None:
                rows.append(seen)
            else:
                unit_range = (declared["low"], declared["high"]) == (0.0, 1.0)
                is_binary = low <= high and seen["kind"] == "binary" and unit_range and declared["kind"] != "ordinal"
                rows.append({**declared, "kind": "binary" if is_binary else declared["kind"]})
        return [
            *self._own_metrics.values(),
            *(row for row in rows if (row["benchmark"], row["metric"]) not in self._own_metrics),
        ]

    def problems(self) -> Iterator[Problem]:
        """Say what a reader should know."""
        yield from self._problems
        has_items = self._n_samples > 0
        alone = [] if has_items else ["published numbers without items: no two models can be compared item by item"]
        without = ["samples without their log: the range of the scores is not known, nor whether more is better"]
        has_log = self.numbers.rows or self._metrics or any(log.annex for log in self.runs.values())
        alone += without if has_items and not has_log else []
        yield from self.source.notes([*self._told, *alone, *self.numbers.doubts(), *told(self._counts)])


@lru_cache(maxsize=256)
def _epoch(text: str) -> int | None:
    """Return a repetition from 0; None where the text names none."""
    epoch = as_whole(text)
    return None if epoch is None or epoch < 1 or epoch >= 1 << 31 else epoch - 1


def _parts(evaluation_id: str, model: str) -> tuple[str, str]:
    """Return the collection that opens an evaluation's id, and what stands between the model and the time.

    >>> _parts("gsm8k/org_m/1750000000", "org/m"), _parts("gsm8k/org/m/high/1.5", "org/m"), _parts("x", "org/m")
    (('gsm8k', ''), ('gsm8k', 'high'), ('', ''))
    """
    parts = evaluation_id.split("/")
    if len(parts) < 2:
        return "", ""
    middle = parts[1:-1] if as_number(parts[-1]) is not None else parts[1:]
    text, own = "/".join(middle), model.replace("/", "_").lower()
    if not text.replace("/", "_").lower().startswith(own):
        return parts[0].strip(), ""
    return parts[0].strip(), text[len(own) :].strip("/_- ")


def _metric_name(config: Row, others: set[str | None]) -> str:
    """Name a metric: never as the task is named, since the metric is what tasks share."""
    for name in ("metric_name", "metric_id", "metric_kind"):
        text = as_text(config.get(name))
        if text and text not in others:
            return text
    described = as_text(config.get("evaluation_description")) or ""
    return described if _WORD.fullmatch(described) and described not in others else "score"


def _kind(config: Row, low: float | None, high: float | None) -> str:
    stated = config.get("score_type")
    if stated == "levels":
        return "ordinal"
    if stated == "binary" and (low, high) in {(0.0, 1.0), (None, None)}:
        return "binary"
    return "continuous" if low is None or high is None else "bounded"


def _digest(sample: EvalSample) -> str | None:
    """Return a digest of what was asked: the document's, the sample's, or that of the input and its references."""
    own = sample.sample_hash
    if type(own) is str and len(own) > _LONGEST_WORD and own.isascii() and not sample.metadata:
        return own[:16]
    for found in (get(sample.metadata, "doc_hash") if sample.metadata else None, own):
        text = None if found is None else as_text(found)
        if text and text.lower() not in _UNKNOWN:
            return text[:16]
    raw = as_text(get(sample.input, "raw"))
    if not raw:
        return None
    said = json_text({"raw": raw, "reference": get(sample.input, "reference")})
    return hashlib.sha256(said.encode("utf-8", "replace")).hexdigest()[:16]


def _settings(record: Row, evaluation_id: str) -> Row:
    """Return what a log says of how it was made."""
    library, source = as_dict(record.get("eval_library")), as_dict(record.get("source_metadata"))
    harness, version = as_text(library.get("name")) or "", as_text(library.get("version")) or ""
    first = as_dict(next(iter(as_list(record.get("evaluation_results"))), None))
    config: Row = {
        "schema_version": record.get("schema_version"),
        "evaluation_id": evaluation_id,
        "source_metadata": {name: value for name, value in source.items() if name != "additional_details"},
        "model_info": {
            name: value for name, value in as_dict(record.get("model_info")).items() if name not in {"id", "name"}
        },
        "generation_config": as_dict(first.get("generation_config")),
    }
    return {
        "harness": None if harness.lower() in _UNKNOWN else harness,
        "harness_version": None if version.lower() in _UNKNOWN else version,
        "timestamp": as_time(record.get("evaluation_timestamp")) or as_time(record.get("retrieved_timestamp")),
        "dependence": [],
        "config": json_text({name: value for name, value in config.items() if value}),
    }


LOADER: Final = EveryEvalEverLoader()
