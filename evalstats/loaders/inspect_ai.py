"""Samples of an Inspect log as rows of `outcomes`: one for every sample, epoch and metric.

Metrics. A scorer with a plain value is a metric of its name. One with an object or a list of values makes the metrics
`scorer/key` or `scorer/0`, `scorer/1`, ... Grades are C = 1, P = 0.5, I = N = 0, yes, true, no, false and numbers as
text. Anything else is unscored, with the value in `value_raw`: Inspect itself counts it as 0. NaN is Inspect's own mark
for "not scored".

Samples that failed, or that have no score of some scorer, get a row for each metric that the run is found to have, so
that every metric has as many rows as there are samples. A key that is absent from a scorer's object makes no row.
"""

import hashlib
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from itertools import chain, islice
from pathlib import Path
from typing import ClassVar, Final
from urllib.parse import quote

import polars as pl
from msgspec import UNSET, UnsetType

from evalstats.errors import UnreadableFileError
from evalstats.grammar import comma_list
from evalstats.loaders.base import BATCH_ROWS, Frame, Head, Match, Rows, Source, readable_name
from evalstats.loaders.inspect_log import (
    GRADER_ROLES,
    START,
    STATUSES,
    UNNAMED,
    EvalLog,
    LoggedSample,
    Message,
    open_log,
    value_of,
)
from evalstats.loaders.record_columns import (
    MAKERS,
    amounts,
    counts,
    outcomes_of,
    sample_columns,
    texts,
    times,
    unscored_where,
)
from evalstats.loaders.rows import Factors, GroupCounter, Ranges, Row, Said, scored, unscored
from evalstats.loaders.typed_records import TypedRecords
from evalstats.loaders.values import (
    as_amount,
    as_count,
    as_dict,
    as_list,
    as_number,
    as_text,
    as_whole,
    dicts,
    letter_grade,
    shortened,
)
from evalstats.schema.data import Problem
from evalstats.schema.tables import columns_of_rows

# Where `inspect view --log-dir FOLDER` shows the logs of a folder, as `inspect_ai.analysis.log_viewer` addresses them.
_VIEWER: Final = "http://127.0.0.1:7575/#/logs"
_CACHED: Final = ("input_tokens_cache_read", "input_tokens_cache_write")
_ROUNDING: Final = 1e-9


def spent(sample: LoggedSample, log: EvalLog) -> Row:
    """Return `cost_usd`, `input_tokens` and `output_tokens` of one sample; None where Inspect did not know one.

    Inspect adds up all calls of a sample, those of its scorers too. A model that is known only to grade is left out; where
    the model under evaluation grades itself, what it used in the grader's role is taken off.
    """
    by_model = {name: as_dict(usage) for name, usage in as_dict(sample.model_usage).items()}
    by_role = as_dict(sample.role_usage)
    answering = [usage for name, usage in by_model.items() if name not in log.graders]
    graded_apart = len(answering) < len(by_model)
    grading = [] if graded_apart else [as_dict(by_role[role]) for role in GRADER_ROLES if role in by_role]
    parts = [[(as_amount(usage.get("total_cost")), *tokens(usage)) for usage in side] for side in (answering, grading)]
    cost, given, written = (_less([part[k] for part in parts[0]], [part[k] for part in parts[1]]) for k in range(3))
    return {"cost_usd": cost, "input_tokens": as_count(given), "output_tokens": as_count(written)}


def tokens(usage: Mapping[str, object]) -> tuple[int | None, int | None]:
    """Return the tokens that a model was given, cached ones included, and those it wrote, reasoning included.

    Today Inspect counts cached tokens apart from `input_tokens` and reasoning within `output_tokens`. Some providers of
    older versions did the opposite; the total, where it is given, tells.

    >>> tokens({"input_tokens": 100, "input_tokens_cache_read": 900, "output_tokens": 5, "total_tokens": 1005})
    (1000, 5)
    >>> tokens({"input_tokens": 1000, "input_tokens_cache_read": 900, "output_tokens": 5, "total_tokens": 1005})
    (1000, 5)
    """
    given, written = as_count(usage.get("input_tokens")), as_count(usage.get("output_tokens"))
    if given is None or written is None:
        return given, written
    cached = sum(as_count(usage.get(name)) or 0 for name in _CACHED)
    thought = as_count(usage.get("reasoning_tokens")) or 0
    total = as_count(usage.get("total_tokens"))
    if total in {given + written + thought, given + cached + written + thought}:
        written += thought
    return (given if total == given + written else given + cached), written


def _less(parts: Sequence[float | None], off: Sequence[float | None]) -> float | None:
    """Sum of parts, less what is to be taken off; None where any is unknown, or more is taken off than there is."""
    if not parts or None in parts or None in off:
        return None
    whole, taken = (sum(each for each in several if each is not None) for several in (parts, off))
    return max(whole - taken, 0) if taken <= whole * (1 + _ROUNDING) else None


_HASH_SHOWN: Final = 16
_AS_JSON: Final = json.JSONEncoder(ensure_ascii=False).encode
_ATTACHMENT: Final = "attachment://"
_ANSI = re.compile(r"\x1b\[[0-9;]*m")
_VALUES_SHOWN: Final = 4
_NO_GRADE: Final = "the value is no grade that Inspect knows and no number"


def read_grade(value: object) -> Said:
    """Read one plain value: a score, or why there is none.

    >>> read_grade("P")["score"], read_grade(7), read_grade("B")["status"]
    (0.5, 7.0, 'unscored')
    """
    if value is None:
        return unscored("the scorer gave no value")
    if isinstance(value, str):
        return _word(value)
    if isinstance(value, float) and not math.isfinite(value):
        reason = "NaN, Inspect's mark for not scored" if math.isnan(value) else "the value is infinite"
        return unscored(reason, "NaN" if math.isnan(value) else str(value))
    score = as_number(value)
    if score is None:
        return unscored("the value is no number", shortened(json.dumps(value, ensure_ascii=False, default=str)))
    return scored(score, value_raw=json.dumps(value)) if isinstance(value, bool) else score


@lru_cache(maxsize=4096)
def _word(value: str) -> Row:
    # One letter in lower case is no grade of Inspect's, but may be an answer's letter.
    score = None if len(value) == 1 and value.islower() else letter_grade(value)
    return unscored(_NO_GRADE, shortened(value)) if score is None else scored(score, value_raw=shortened(value))


def metrics_of(scorer: str, values: Sequence[object]) -> Iterator[tuple[str, list[object]]]:
    """Yield the metrics in the values that a scorer gave a block of samples, UNSET where one has none.

    >>> dict(metrics_of("match", ["C", UNSET])), dict(metrics_of("judge", [{"tone": 1}, [0.5]]))
    ({'match': ['C', UNSET]}, {'judge/tone': [1, UNSET], 'judge/0': [UNSET, 0.5]})
    """
    kinds = {*map(type, values)}
    if not kinds & {dict, list}:
        if kinds - {UnsetType}:
            yield scorer, [*values]
        return
    parts = [_cells(scorer, value) for value in values]
    for metric in dict.fromkeys(chain.from_iterable(parts)):
        yield metric, [each.get(metric, UNSET) for each in parts]


def _cells(scorer: str, value: object) -> Row:
    if value is UNSET:
        return {}
    listed = {str(place): each for place, each in enumerate(as_list(value))}
    return {f"{scorer}/{key}": each for key, each in (as_dict(value) or listed).items()} or {
        scorer: None if isinstance(value, dict | list) else value
    }


def input_hash(given: object, attachments: object = None) -> str | None:
    """Digest of what a sample asks, so that runs can be checked to mean the same by one id.

    Messages count with role and text alone, since their ids differ from run to run. None where the input is absent or
    was taken out of the sample.

    >>> input_hash("2+2?") == input_hash([{"role": "user", "content": "2+2?", "id": "x1"}])
    True
    """
    parts = (
        ["user", given] if isinstance(given, str) else [part for each in dicts(given) for part in _message_parts(each)]
    )
    resolved: list[str] = []
    for part in parts:
        kept = part.startswith(_ATTACHMENT)
        text = as_text(as_dict(attachments).get(part.removeprefix(_ATTACHMENT))) if kept else part
        if text is None:
            return None
        resolved.append(text)
    if not any(resolved):
        return None
    listed = f"[{', '.join(map(_AS_JSON, resolved))}]"  # as JSON writes a list; a text alone takes a tenth of the time
    return hashlib.sha256(listed.encode("utf-8", "replace")).hexdigest()[:_HASH_SHOWN]


def _message_parts(message: Mapping[str, object]) -> Iterator[str]:
    yield as_text(message.get("role")) or ""
    content = message.get("content")
    if isinstance(content, str):
        yield content
    for part in dicts(content):
        kind = as_text(part.get("type")) or "text"
        yield as_text(part.get(kind)) or kind


_RIGHT_OR_WRONG = frozenset({"C", "P", "I"})


class InspectSamples:
    """Turns samples into outcomes, a block at once; those that lack scores wait until all metrics of the run are known."""

    def __init__(self, log: EvalLog, run: str, path: Path) -> None:
        self._log, self._path = log, path
        self._viewer = f"{_VIEWER}/{quote(readable_name(path.name))}/samples/sample"
        self._fixed: Row = {
            "run": run,
            "model": log.model,
            "system": log.system,
            "benchmark": log.benchmark,
            "task": "",
            "variant": "",
            "n_trials": 1,
            "setting": "lab",
        }
        self._met = GroupCounter()
        self._waiting: list[tuple[Row, Row, list[str]]] = []
        self._unknown: dict[str, dict[str, None]] = {}
        self._graded: set[str] = set()
        self.seen: dict[str, dict[str, None]] = {}  # metrics that samples have, by scorer
        self.ranges = Ranges()
        self.factors = Factors()
        self.n_failed_and_scored = 0
        self.n_samples = 0

    def frame(self, samples: Sequence[LoggedSample], places: pl.Series) -> Iterator[Frame]:
        """Yield what a block of samples, each with its place, say of their scores; keep in mind what they have no score of."""
        shared = self._shared(samples, places)
        failures = [_failure(sample) for sample in samples]
        invalid = [_invalidation(sample) for sample in samples]
        scores = [self._scores(sample, failed=why is not None) for sample, why in zip(samples, failures, strict=True)]
        given: list[tuple[str, list[object]]] = []
        for scorer in dict.fromkeys(chain.from_iterable(scores)):
            for metric, values in metrics_of(scorer, [each.get(scorer, UNSET) for each in scores]):
                self.seen[scorer].setdefault(metric)
                given.append((metric, values))
        for at, each in enumerate(scores):
            absent = [name for name in self._log.scorers if name not in each]
            if absent or not each:
                why = failures[at] or invalid[at] or "the sample has no score of this scorer"
                said = unscored(why, error=failures[at] is not None)
                self._waiting.append((shared.row(at, named=True), said, absent if each else []))
            self.n_failed_and_scored += bool(failures[at] and each)
        reasons = pl.Series("_invalid", invalid, dtype=pl.String)
        frame, _ = outcomes_of(shared.with_columns(reasons), given, {}, read_grade)
        if frame.height:
            yield self._outcomes(unscored_where(frame, pl.col("_invalid")).drop("_invalid"))

    def late(self) -> Iterator[Frame]:
        """Yield the rows of samples without scores, for each metric of the scorers that they lack."""
        known = self._log.declared_metrics(self.seen)
        for scorer, seen in self.seen.items():
            listed = [metric for metric in known.get(scorer, []) if metric != scorer or scorer in seen]
            known[scorer] = list(dict.fromkeys((*seen, *listed)))
        for scorer, metrics in known.items():
            self.seen.setdefault(scorer, {}).update(dict.fromkeys(metrics or [scorer]))
        every = tuple(known) or (UNNAMED,)
        late = (
            (base, [(metric, said) for each in scorers or every for metric in known.get(each) or [each]])
            for base, said, scorers in self._waiting
        )
        while some := list(islice(late, BATCH_ROWS)):
            yield self._outcomes(sample_columns(some))

    def _outcomes(self, frame: pl.DataFrame) -> Frame:
        """Add what all rows share, and take note of ranges, grades and words that are none."""
        judges = {metric: judge for scorer, judge in self._log.judges.items() for metric in self.seen.get(scorer, ())}
        judge = pl.col("metric").replace_strict(judges, default=None, return_dtype=pl.String)
        frame = frame.with_columns(*(pl.lit(value).alias(name) for name, value in self._fixed.items()), judge=judge)
        self.ranges.add_frame(frame)
        is_grade = pl.col("value_raw").is_in(_RIGHT_OR_WRONG) & (pl.col("status") == "scored")
        self._graded |= {*frame.filter(is_grade)["metric"]}
        odd = frame.filter(status_reason=_NO_GRADE).select("metric", "value_raw").unique(maintain_order=True)
        for metric, raw in odd.iter_rows():
            values = self._unknown.setdefault(metric, {})
            if len(values) < _VALUES_SHOWN:
                values.setdefault(raw)
        return Frame(table="outcomes", frame=frame)

    def metric_rows(self) -> list[Row]:
        """Describe the metrics that were met, the log's headline marked as the primary one."""
        headline = self._log.headline(self.seen)
        return [
            # Correct, partly correct, incorrect: such a metric says which way is better. Numbers do not.
            self.ranges.row(*key, higher_is_better=True if key[1] in self._graded else None, primary=key[1] == headline)
            for key in self.ranges
        ]

    def unknown_values(self) -> Iterator[str]:
        """Say which metrics have words for values that are no grades, and could be categories."""
        for metric, values in self._unknown.items():
            shown = ", ".join(repr(value) for value in values)
            yield (
                f"values of {metric} such as {shown} are not grades and were left unscored; if its letters are "
                "categories, C, P, I and N among them were taken for grades and must not be used"
            )

    def _shared(self, samples: Sequence[LoggedSample], places: pl.Series) -> pl.DataFrame:
        """Return what the outcomes of each sample share; a log with a sample that cannot be told from others is refused."""
        items = texts([sample.id for sample in samples])
        epochs = counts([1 if sample.epoch is None else sample.epoch for sample in samples])
        keys = pl.DataFrame({"item": items, "epoch": epochs})
        for faulty, fault in (
            (items.is_null(), "has no id; every sample of Inspect has one"),
            (epochs.fill_null(0) < 1, "has no epoch from 1, from which Inspect counts"),
            (self._met.again(keys), "has an id and epoch that appear twice; write the log again or take one out"),
        ):
            if faulty.any():
                raise UnreadableFileError(f"{self._path}: {places.filter(faulty)[0]}: {fault}")
        self.n_samples += len(samples)
        names = [item if item.isalnum() else quote(item, safe="") for item in items]
        spent_ = [spent(sample, self._log) if sample.model_usage else {} for sample in samples]
        # The kind of limit that ended a sample: an object in a sample, text in a summary.
        limits = [as_text(as_dict(sample.limit).get("type")) or as_text(sample.limit) for sample in samples]
        columns: dict[str, pl.Series] = {
            "item": items,
            "trial": epochs - 1,
            "locator": places,
            "link": pl.select(
                pl.format("{}/{}/{}", pl.lit(self._viewer), pl.Series(names, dtype=pl.String), epochs)
            ).to_series(),
            "n_turns": pl.Series([_turns(sample) for sample in samples], dtype=pl.Int64),
            "latency_s": amounts([sample.total_time for sample in samples]),
            "timestamp": times(
                [sample.started_at if sample.completed_at is None else sample.completed_at for sample in samples]
            ),
            "prompt_hash": texts([input_hash(sample.input, sample.attachments) for sample in samples]),
        }
        for name in ("cost_usd", "input_tokens", "output_tokens") if any(spent_) else ():
            columns[name] = MAKERS[name]([each.get(name) for each in spent_])
        if any(limits):
            columns["limit_reached"] = texts(limits)
        frame = pl.DataFrame(columns)
        if any(sample.metadata for sample in samples):
            factors = [self.factors.of(as_dict(sample.metadata)) for sample in samples]
            frame = frame.hstack(columns_of_rows(factors, "outcomes"))
        return frame

    def _scores(self, sample: LoggedSample, *, failed: bool) -> Row:
        """Return the values by scorer; before 2024 a sample had one `score` without a name."""
        scores = as_dict(sample.scores)
        if not scores and sample.score is not None:
            scores = {next(iter(self._log.scorers), UNNAMED): sample.score}
        for name in scores:
            self.seen.setdefault(name, {})
        return {name: value_of(score) for name, score in scores.items() if score is not None or not failed}


def _failure(sample: LoggedSample) -> str | None:
    """Return what ended a sample: an object in a sample, text in a summary."""
    if not sample.error:
        return None
    message = as_text(as_dict(sample.error).get("message")) or as_text(sample.error)
    return shortened(_ANSI.sub("", message or "the sample failed without a message"))


def _invalidation(sample: LoggedSample) -> str | None:
    why = as_dict(sample.invalidation)
    return shortened(f"invalidated after the run: {as_text(why.get('reason')) or 'no reason given'}") if why else None


def _turns(sample: LoggedSample) -> int | None:
    """Return the turns as Inspect counts them, else the assistant's messages."""
    if as_whole(sample.turn_count) is not None or not isinstance(sample.messages, list):
        return as_count(sample.turn_count)
    roles = [each.role for each in sample.messages if isinstance(each, Message)]
    return roles.count("assistant") if roles else None


_MANIFESTS: Final = ("logs.json", "listing.json", "eval-set.json")
_MANIFEST_WORDS: Final = ('"task_id"', '"eval_set_id"')
_FIRST_MEMBER: Final = START.encode()
_LISTED: Final = 8
# Samples of an archive that are held at a time: their inputs and attachments may be long.
_ARCHIVED: Final = 1_000


class InspectLoader:
    """Loader of Inspect AI logs."""

    name = "inspect"
    title = "Inspect AI logs (.eval, .json)"
    version = "2"
    texts: ClassVar = {"answer": "output.completion output.choices.0.message messages.-1"}

    def sniff(self, head: Head) -> Match | None:
        """Recognise archives by their first member or their name, JSON logs by `eval` and a status of Inspect's."""
        if head.name.endswith(".eval"):
            return Match(confidence=0.95, reason="the name ends in .eval")
        if head.shape == "zip":
            if _FIRST_MEMBER in head.data:
                return Match(confidence=0.9, reason="an archive with Inspect's journal")
            return None
        if head.shape != "object":
            return None
        if head.name in _MANIFESTS and any(word in head.text for word in _MANIFEST_WORDS):
            return Match(confidence=0.95, reason="a manifest of a folder of logs", skip=True)
        if "eval" in head.keys and head.members.get("status") in STATUSES:
            return Match(confidence=0.9, reason="has 'eval' and a status of Inspect's")
        return None

    def plan(self, files: Sequence[Path]) -> Iterable[Source | Problem]:
        """Make every log a source, save those that a retry took the place of, which are named in notes."""
        logs: dict[Path, EvalLog | None] = dict.fromkeys(sorted(files))
        for path in logs:
            with (
                suppress(UnreadableFileError),
                open_log(path) as (logs[path], _),
            ):  # else it is reported when it is read
                pass
        best: dict[tuple[str | None, str], EvalLog] = {}
        for log in logs.values():
            if log is not None and log.task_id is not None:
                key = log.task_id, log.model
                best[key] = max(best.get(key, log), log, key=_rank)
        for path, log in logs.items():
            kept = None if log is None else best.get((log.task_id, log.model), log)
            if log is None or kept is None or kept is log:
                yield Source(path=path)
                continue
            text = (
                f"this log ({log.status}) has the task id and model of {kept.path.name} ({kept.status}), which is "
                "kept as the latest that succeeded, or the latest of all; read this one by giving it alone"
            )
            yield from Source(path=path).notes([text])

    def read(self, source: Source) -> Iterator[Rows | Frame | Problem]:
        """Yield outcomes sample by sample, those without scores last, then metrics, published numbers and the run."""
        run = source.run_id()
        with open_log(source.path) as (log, archive):
            reader = InspectSamples(log, run, source.path)
            if archive is None:
                records = TypedRecords(source, LoggedSample, at=("samples",), called="samples")
                for block in records.blocks():
                    yield from reader.frame(block, records.locators)
                yield from records.problems()
            else:
                names = list(archive.sample_names())
                found = ((as_text(name) or "", archive.sample(name)) for name in names)
                samples = iter(found if names else archive.summaries())
                while some := list(islice(samples, _ARCHIVED)):
                    places, block = zip(*some, strict=True)
                    yield from reader.frame(block, pl.Series(places, dtype=pl.String))
        yield from reader.late()
        yield from source.notes(_notes(log, reader))
        published = list(log.aggregate_rows(run, reader.seen))
        metrics = reader.metric_rows()
        # Metrics that no sample has are described by the range of their published numbers.
        known, ranges = {row["metric"] for row in metrics}, Ranges()
        for number in published:
            if number["metric"] not in known:
                ranges.add(log.benchmark, str(number["metric"]), as_number(number["estimate"]))
        headline = log.headline() if not known else None
        metrics += [ranges.row(*key, primary=key[1] == headline) for key in ranges]
        yield Rows(table="metrics", rows=metrics)
        yield Rows(table="aggregates", rows=published)
        yield Rows(table="runs", rows=[log.run_row(run, reader.factors.own_names)])


def _rank(log: EvalLog) -> tuple[bool, str, bool]:
    """Order the logs of one task: success before anything else, then the later, then the one that has ended."""
    return log.status == "success", log.completed, not log.crashed


def _notes(log: EvalLog, reader: InspectSamples) -> Iterator[str]:
    """Say what a reader of the numbers should know."""
    if log.status != "success":
        ended = "did not end" if log.status == "started" else f"ended with status {log.status}"
        yield f"the run {ended}: the samples it holds may not be a fair sample"
    expected = as_whole(log.part("results").get("total_samples"))
    if not reader.n_samples:
        yield "holds no samples: no two models can be compared item by item"
    elif expected is not None and expected != reader.n_samples:
        yield f"the log counts {expected:,} samples and holds {reader.n_samples:,}; its published numbers speak of its own"
    if reader.n_failed_and_scored:
        yield (
            f"{reader.n_failed_and_scored:,} samples failed and were scored all the same (score_on_error, or a later "
            "scorer failed): their scores are kept, as Inspect keeps them"
        )
    yield from reader.unknown_values()
    if left_out := reader.factors.left_out:
        yield f"metadata too long or too many to be factors: {comma_list(left_out, _LISTED)}"


LOADER: Final = InspectLoader()
