"""An Inspect log outside its samples: its archive, the header, and the published results in it.

Python knows Zstandard in ZIP files (method 93) only from 3.14 on, so the directory of an archive is read with `zipfile` and
such members are unpacked here. Nothing is ever written to disk, and the names in the archive are labels, never paths.
"""

import hashlib
import io
import re
import struct
import zipfile
import zlib
from collections.abc import Collection, Generator, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, BinaryIO, Final, cast

import msgspec

from evalstats.errors import UnreadableFileError
from evalstats.grammar import comma_list
from evalstats.loaders.files import (
    MAX_RATIO,
    MAX_RECORD_CHARS,
    RATIO_FROM_BYTES,
    iter_json,
    loads,
    zstd,
)
from evalstats.loaders.typed_records import Other, Plain, converted
from evalstats.loaders.values import (
    as_amount,
    as_count,
    as_dict,
    as_list,
    as_number,
    as_text,
    as_time,
    as_whole,
    dicts,
    get,
    json_text,
)
from evalstats.regular import open_regular

HEADER: Final = "header.json"
START: Final = "_journal/start.json"
SUMMARIES: Final = "summaries.json"
JOURNAL: Final = "_journal/summaries/"
SAMPLES: Final = "samples/"


class Message(msgspec.Struct):
    """Of a message, who says it."""

    role: Any = None


class LoggedSample(msgspec.Struct):
    """What a sample, or its summary, says of its scores; its events, output and store may be most of it and are passed over."""

    id: Any = None
    epoch: Any = None
    input: Any = None
    attachments: Any = None
    messages: list[Message | Other] | dict[str, Any] | Plain = None
    turn_count: Any = None
    metadata: Any = None
    scores: Any = None
    score: Any = None
    error: Any = None
    invalidation: Any = None
    limit: Any = None
    model_usage: Any = None
    role_usage: Any = None
    total_time: Any = None
    started_at: Any = None
    completed_at: Any = None


_DECODE: Final = msgspec.json.Decoder(LoggedSample).decode
_ZSTANDARD: Final = 93
_ENCRYPTED: Final = 0x1
_LOCAL_HEADER: Final = 30
_CHUNKED = re.compile(r"(?P<prefix>.*_epoch_\d+/)(?P<rest>.+)", re.DOTALL)
_SHELL: Final = "sample.json"
_CHUNK_METADATA: Final = "metadata.json"
_ZIP_FAULTS: Final = (zipfile.BadZipFile, zipfile.LargeZipFile, zlib.error, zstd.ZstdError, struct.error)
_FAULTS: Final = (*_ZIP_FAULTS, RuntimeError, EOFError, OSError, ValueError)


@contextmanager
def open_archive(path: Path) -> Generator["EvalArchive"]:
    """Open an archive for reading."""
    with open_regular(path) as stream:
        try:
            directory = zipfile.ZipFile(stream)
        except _FAULTS as error:
            raise UnreadableFileError(
                f"{path}: is no whole ZIP archive ({error}); it is cut off or damaged: fetch it again"
            ) from error
        with directory:
            yield EvalArchive(path, stream, directory)


class EvalArchive:
    """The members of an open archive. Where a name stands several times, the last member counts, as for Inspect."""

    def __init__(self, path: Path, stream: BinaryIO, directory: zipfile.ZipFile) -> None:
        self._path = path
        self._stream = stream
        self._directory = directory
        self._members = {info.filename: info for info in directory.infolist()}
        self._budget = max(RATIO_FROM_BYTES, MAX_RATIO * path.stat().st_size)

    def __contains__(self, name: str) -> bool:
        return name in self._members

    def sample_names(self) -> Iterator[str]:
        """Yield the names of the members that are samples.

        A sample is one member, `samples/<id>_epoch_<n>.json`, or a folder of that name (without the ending) with the
        sample's own fields in `sample.json` and its messages and events in pieces beside it, which are passed over.
        """
        folders = {name.removesuffix(_SHELL) for name in self._members if _is_shell(name)}
        for name in self._members:
            if not name.startswith(SAMPLES) or not name.endswith(".json"):
                continue
            found = _CHUNKED.fullmatch(name)
            if found and found["prefix"] in folders and not _is_shell(name):
                continue
            yield name

    def sample(self, name: str) -> LoggedSample:
        """Read one sample; the metadata of one that is kept in pieces are put back."""
        data = self.read(name)
        try:
            sample = _DECODE(data)
        except (msgspec.MsgspecError, UnicodeError, RecursionError):  # NaN is Inspect's mark for what was not scored
            value = loads(data, f"{self._path}: {name}")
            if not isinstance(value, dict):
                raise UnreadableFileError(
                    f"{self._path}: {name}: holds {type(value).__name__}, not a sample (a JSON object)"
                ) from None
            sample = converted(cast("object", value), LoggedSample)
        beside = name.removesuffix(_SHELL) + _CHUNK_METADATA
        if _is_shell(name) and beside in self._members:
            sample.metadata = self.json(beside)
        return sample

    def summaries(self) -> Iterator[tuple[str, LoggedSample]]:
        """Yield the summaries of samples with their places; of a repeated one the last.

        A summary's input is cut short, so that its digest would be another.
        """
        found: dict[tuple[str | None, str | None], tuple[str, LoggedSample]] = {}
        numbered = {
            int(number): name
            for name in self._members
            if name.startswith(JOURNAL) and (number := name.removeprefix(JOURNAL).removesuffix(".json")).isdecimal()
        }
        for name in [SUMMARIES] if SUMMARIES in self else [numbered[number] for number in sorted(numbered)]:
            for at, summary in enumerate(dicts(self.json(name))):
                sample = converted(summary, LoggedSample)
                sample.input = None
                found[as_text(sample.id), as_text(sample.epoch)] = f"{name}[{at}]", sample
        yield from found.values()

    def json(self, name: str) -> object:
        """Unpack and parse a member."""
        return loads(self.read(name), f"{self._path}: {name}")

    def read(self, name: str) -> bytes:
        """Unpack a member, never further than the size that the directory declares for it."""
        info = self._members[name]
        self._check_size(info)
        try:
            data = self._unpacked(info)
        except _FAULTS as error:
            raise self._fault(info, f"is damaged or cannot be unpacked ({error}); fetch the file again") from error
        if len(data) != info.file_size:
            raise self._fault(info, "unpacks to another size than the archive's directory says; fetch the file again")
        return data

    def _check_size(self, info: zipfile.ZipInfo) -> None:
        if info.flag_bits & _ENCRYPTED:
            raise self._fault(info, "is encrypted; unpack the archive and pack it again without a password")
        if info.file_size > MAX_RECORD_CHARS:
            raise self._fault(info, f"is larger than {MAX_RECORD_CHARS >> 20} MiB, too large for one sample")
        self._budget -= info.file_size
        too_packed = info.file_size > max(RATIO_FROM_BYTES, MAX_RATIO * info.compress_size)
        if too_packed or self._budget < 0:
            text = f"unpacks to over {MAX_RATIO} times its size; refused as a decompression bomb"
            raise self._fault(info, f"{text}. If it is genuine, pack it again without compression")

    def _unpacked(self, info: zipfile.ZipInfo) -> bytes:
        most = info.file_size + 1
        if info.compress_type == zipfile.ZIP_DEFLATED:  # half as much again as `zipfile` takes
            data = zlib.decompressobj(-zlib.MAX_WBITS).decompress(self._packed(info), most)
        elif info.compress_type == _ZSTANDARD:
            with zstd.ZstdFile(io.BytesIO(self._packed(info))) as member:
                data = member.read(most)
        else:
            with self._directory.open(info) as member:
                return member.read(most)
        if len(data) == info.file_size and zlib.crc32(data) != info.CRC:
            raise zipfile.BadZipFile("wrong checksum")
        return data

    def _packed(self, info: zipfile.ZipInfo) -> bytes:
        """Read a member's bytes as they are; the local header before them has names of its own length."""
        self._stream.seek(info.header_offset)
        header = self._stream.read(_LOCAL_HEADER)
        if len(header) < _LOCAL_HEADER or header[:4] != b"PK\x03\x04":
            raise zipfile.BadZipFile("no local header where the directory says")
        name_size, extra_size = (int.from_bytes(header[at : at + 2], "little") for at in (26, 28))
        self._stream.seek(name_size + extra_size, io.SEEK_CUR)
        return self._stream.read(info.compress_size)

    def _fault(self, info: zipfile.ZipInfo, problem: str) -> UnreadableFileError:
        return UnreadableFileError(f"{self._path}: the member {info.filename!r} {problem}")


def _is_shell(name: str) -> bool:
    found = _CHUNKED.fullmatch(name)
    return name.startswith(SAMPLES) and found is not None and found["rest"] == _SHELL


# Metrics that samples have, by scorer.
Seen = Mapping[str, Collection[str]]

STATUSES: Final = ("success", "error", "cancelled", "started")
# The metric's name where a log names no scorer at all.
UNNAMED: Final = "score"

_TEMPLATE = re.compile(r"template|prompt|instruction|message", re.IGNORECASE)
_SHOTS: Final = ("num_fewshot", "fewshot", "few_shot", "n_shots", "shots", "num_shots")
# Roles in which a model judges answers and gives none.
GRADER_ROLES: Final = ("grader", "judge", "scorer", "critic", "monitor")
_GRADER_OPTIONS: Final = ("model", "grader_model", "judge_model", "grader", "judge")
_CONFIG_FIELDS: Final = (
    "limit", "sample_id", "sample_shuffle", "epochs", "epochs_reducer", "fail_on_error", "continue_on_fail",
    "retry_on_error", "score_on_error", "message_limit", "token_limit", "turn_limit", "time_limit", "working_limit",
    "cost_limit",
)  # fmt: skip
_EVAL_FIELDS: Final = (
    "eval_id", "run_id", "eval_set_id", "task_id", "task_file", "task_registry_name", "task_args", "solver",
    "solver_args", "model_args", "model_base_url", "model_generate_config", "model_roles", "sandbox", "revision",
    "packages", "tags", "metadata",
)  # fmt: skip
_DATASET_FIELDS: Final = ("name", "location", "samples", "shuffled")
_NOTHING_SEEN: Final[Seen] = MappingProxyType({})
_MEANS: Final = ("accuracy", "mean")
_STANDARD_ERRORS: Final = ("stderr", "bootstrap_stderr", "bootstrap_std")
_MEAN_REDUCERS: Final = (None, "", "mean")


class EvalLog(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """The header of a log. `crashed` says that it was put together from the journal of a run that did not end."""

    path: Path
    members: dict[str, object]
    crashed: bool = False

    def part(self, *names: str) -> dict[str, object]:
        """Return an object inside the header; {} where there is none."""
        return as_dict(get(self.members, *names))

    @cached_property
    def model(self) -> str:
        """The model under evaluation, with its provider's prefix."""
        return as_text(self.part("eval").get("model")) or "unknown"

    @cached_property
    def system(self) -> str:
        """The model, and the solver where one was chosen for the run instead of the task's own."""
        solver = as_text(self.part("eval").get("solver"))
        return self.model if solver is None else f"{self.model} ({solver})"

    @cached_property
    def benchmark(self) -> str:
        """The task's name."""
        return as_text(self.part("eval").get("task")) or "unknown"

    @property
    def task_id(self) -> str | None:
        """Id that a run shares with its retries."""
        return as_text(self.part("eval").get("task_id")) or None

    @property
    def status(self) -> str:
        """What Inspect says of the run; a run without a header has only started."""
        status = as_text(self.members.get("status"))
        return status if status in STATUSES else "started"

    @property
    def completed(self) -> str:
        """When the run ended, else when it began, as ISO 8601 text in UTC; "" where nothing is said."""
        times = (self.part("stats").get("completed_at"), self.part("eval").get("created"))
        return next((time.isoformat() for said in times if (time := as_time(said)) is not None), "")

    @cached_property
    def results(self) -> tuple[dict[str, object], ...]:
        """Published results, one for each scorer or key of one (older logs: a single scorer)."""
        results = self.part("results")
        if "scorer" in results and "scores" not in results:
            scorer = as_dict(results["scorer"]) or {"name": results["scorer"]}
            return ({**scorer, "scorer": scorer.get("name"), "metrics": results.get("metrics")},)
        return tuple(dicts(results.get("scores", results.get("scorers"))))

    @cached_property
    def scorers(self) -> tuple[str, ...]:
        """Names of the scorers that the header declares, in order."""
        declared: dict[str, None] = {}
        for scorer in dicts(self.part("eval").get("scorers")):
            declared.setdefault(_unique(as_text(scorer.get("name")) or UNNAMED, declared))
        if not declared:
            for result in self.results:
                declared.setdefault(as_text(result.get("scorer")) or as_text(result.get("name")) or UNNAMED)
        return tuple(declared)

    def declared_metrics(self, seen: Seen = _NOTHING_SEEN) -> dict[str, list[str]]:
        """Return the metrics that the header declares, by scorer.

        A result named otherwise than its scorer is a key of the scorer's values, unless it is a scorer by that name:
        older logs give the second of two like scorers the name `match1` and the scorer `match`.
        """
        metrics: dict[str, list[str]] = {name: [] for name in self.scorers}
        for scorer, metric, _ in self._named_results(seen):
            metrics.setdefault(scorer, [])
            if metric not in metrics[scorer]:
                metrics[scorer].append(metric)
        return metrics

    def _named_results(self, seen: Seen) -> Iterator[tuple[str, str, dict[str, object]]]:
        """Yield (scorer, metric, result)."""
        for result in self.results:
            name = as_text(result.get("name")) or UNNAMED
            scorer = as_text(result.get("scorer")) or name
            metric = f"{scorer}/{name}"
            is_key = name != scorer and (metric in seen.get(scorer, ()) or name not in (*seen, *self.scorers))
            yield (scorer, metric, result) if is_key else (name, name, result)

    def headline(self, seen: Seen = _NOTHING_SEEN) -> str | None:
        """Return the metric that the log puts first."""
        chosen = self.part("results", "headline")
        wanted = (as_text(chosen.get("scorer")), as_text(chosen.get("score")))
        named = list(self._named_results(seen))
        for _, metric, result in named:
            if wanted == (as_text(result.get("scorer")), as_text(result.get("name"))):
                return metric
        return named[0][1] if named else None

    @cached_property
    def judges(self) -> dict[str, str]:
        """Return the judging model of each scorer that is known to use one.

        It is the scorer's option, else the model in the role that the scorer asks for ("grader" for Inspect's own
        `model_graded_*`); where neither is given, those let the model under evaluation judge itself.
        """
        roles = self.part("eval", "model_roles")
        judges: dict[str, str] = {}
        declared = list(dicts(self.part("eval").get("scorers"))) or [
            {"name": result.get("name"), "options": result.get("params")} for result in self.results
        ]
        names: list[str] = []
        for scorer in declared:
            name = _unique(as_text(scorer.get("name")) or UNNAMED, names)
            names.append(name)
            options = as_dict(scorer.get("options"))
            named = next((found for key in _GRADER_OPTIONS if (found := _model_of(options.get(key)))), None)
            role = as_text(options.get("model_role")) or ("grader" if "model_graded" in name else None)
            judge = named or (_model_of(roles.get(role)) if role else None)
            judge = judge or (self.model if "model_graded" in name else None)
            if judge:
                judges[name] = judge
        return judges

    @cached_property
    def graders(self) -> frozenset[str]:
        """Names of the models that judge and are not the one under evaluation."""
        roles = self.part("eval", "model_roles")
        named = (*self.judges.values(), *(_model_of(roles.get(role)) for role in GRADER_ROLES))
        several = (name for names in named if names for name in (names, *names.split(", ")))
        return frozenset(several) - {self.model}

    def run_row(self, run: str, factor_names: list[str]) -> dict[str, object]:
        """Make the row of `runs`; its `prompt_hash` is a digest of the solvers' templates and instructions, if they have any."""
        spec, config, dataset = self.part("eval"), self.part("eval", "config"), self.part("eval", "dataset")
        roles, args = self.part("eval", "model_roles"), self.part("eval", "task_args")
        by_role = (judge for role in GRADER_ROLES if (judge := _model_of(roles.get(role))))
        judges = dict.fromkeys(self.judges.values()) or dict.fromkeys(by_role)
        steps = [
            [
                as_text(step.get("solver")),
                {
                    key: value
                    for key, value in as_dict(step.get("params")).items()
                    if isinstance(value, str) and _TEMPLATE.search(key)
                },
            ]
            for step in dicts(self.part("plan").get("steps"))
        ]
        prompts = json_text(steps) if any(params for _, params in steps) else None
        shots = (as_whole(args[key]) for key in _SHOTS if not isinstance(args.get(key, False), bool))
        generation = self.part("plan", "config"), self.part("eval", "model_generate_config")
        temperatures = (as_number(place.get("temperature")) for place in generation)
        kept: dict[str, object] = {name: spec[name] for name in _EVAL_FIELDS if spec.get(name) not in (None, {}, [])}
        kept |= {name: config[name] for name in _CONFIG_FIELDS if config.get(name) is not None}
        kept["dataset"] = {name: dataset[name] for name in _DATASET_FIELDS if name in dataset}
        if generate := {name: value for name, value in generation[0].items() if value is not None}:
            kept["generate_config"] = generate
        notes = ["the run did not end: read from its journal"] if self.crashed else []
        if message := as_text(self.part("error").get("message")):
            notes.append(f"the run ended with an error: {message[:200]}")
        if self.members.get("invalidated") is True:
            notes.append("some samples were invalidated after the run")
        return {
            "run": run,
            "model": self.model,
            "system": self.system,
            "benchmark": self.benchmark,
            "harness": "inspect_ai",
            "harness_version": as_text(self.part("eval", "packages").get("inspect_ai")),
            "task_version": as_text(spec.get("task_version")),
            "n_shots": as_count(next((number for number in shots if number is not None), None)),
            "prompt_hash": None if prompts is None else hashlib.sha256(prompts.encode()).hexdigest(),
            "temperature": as_amount(next((number for number in temperatures if number is not None), None)),
            "judge": ", ".join(judges) or None,
            "item_limit": _limit(config.get("limit")),
            "status": self.status,
            "factor_names": factor_names or None,
            "config": json_text(kept),
            "note": "; ".join(notes) or None,
            "timestamp": as_time(self.part("stats").get("started_at")) or as_time(spec.get("created")),
        }

    def aggregate_rows(self, run: str, seen: Seen) -> Iterator[dict[str, object]]:
        """Yield the published numbers.

        The mean over samples (Inspect's `accuracy` or `mean`) under the mean over epochs has the metric's own name and
        the standard error beside it; any other number is named `metric[number]`, with the epochs' reducer if it is not
        the mean: `match[std]`, `match[pass_at_2,accuracy]`.
        """
        when = as_time(self.part("eval").get("created"))
        for _, metric, result in self._named_results(seen):
            numbers = {
                name.rpartition("/")[2]: value_of(value) for name, value in as_dict(result.get("metrics")).items()
            }
            reducer = as_text(result.get("reducer"))
            more = [] if reducer in _MEAN_REDUCERS else [reducer]
            mean = next((name for name in _MEANS if name in numbers), None)
            errors = (as_amount(numbers.get(name)) for name in _STANDARD_ERRORS)
            error = next((found for found in errors if found is not None), None)
            for name, value in numbers.items():
                if name in _STANDARD_ERRORS:
                    continue
                estimate, parts = as_number(value), [*more, *([name] if name else [])]
                yield {
                    "model": self.model,
                    "benchmark": self.benchmark,
                    "task": "",
                    "metric": metric if name == mean and not more else f"{metric}[{','.join(map(str, parts))}]",
                    "estimate": estimate,
                    "std_error": error if name == mean and estimate is not None else None,
                    "method": f"published {name}, epochs reduced by {reducer or 'mean'}",
                    "n": as_count(result.get("scored_samples")),
                    "setting": "lab",
                    "date": when.date() if when else None,
                    "run": run,
                    "value_raw": None if estimate is not None or value is None else str(value),
                }


@contextmanager
def open_log(path: Path) -> Generator[tuple["EvalLog", EvalArchive | None]]:
    """Open a log and read its header; with the archive that it is, None where it is JSON."""
    with open_archive(path) if is_archive(path) else nullcontext() as archive:
        if archive is None:
            log = EvalLog(path=path, members=_json_header(path))
        else:
            name = next((name for name in (HEADER, START) if name in archive), None)
            if name is None:
                raise UnreadableFileError(f"{path}: holds neither {HEADER} nor {START}; it is no archive of Inspect AI")
            log = EvalLog(path=path, members=as_dict(archive.json(name)), crashed=name == START)
        if not log.part("eval").get("model") or not log.part("eval").get("task"):
            found = comma_list(log.members, 8)
            raise UnreadableFileError(
                f"{path}: names no task and model under 'eval' (found {found}); it is no log of Inspect AI, or is cut off"
            )
        yield log, archive


def is_archive(path: Path) -> bool:
    """Whether a log is an archive: by its first bytes, or by its name where it has lost them."""
    try:
        with open_regular(path) as stream:
            start = stream.read(4)
    except OSError as error:
        raise UnreadableFileError(f"{path}: cannot be opened ({error.strerror or error})") from error
    return start[:2] == b"PK" or path.name.endswith(".eval")


def _json_header(path: Path) -> dict[str, object]:
    """Read the members before the samples; all others too, should the file have an order of its own."""
    members: dict[str, object] = {}
    for part in iter_json(path, arrays=("samples", "reductions")):
        if part.index is None:
            members[part.member] = part.value
        elif part.member == "":
            raise UnreadableFileError(f"{path}: is a list; a log of Inspect AI is one JSON object")
        elif part.member == "samples" and "eval" in members and ("results" in members or "stats" in members):
            break  # a run that did not succeed may have no results
    return members


def _unique(name: str, taken: Collection[str]) -> str:
    """Name the second of two like scorers as Inspect does."""
    number, unique = 1, name
    while unique in taken:
        unique, number = f"{name}{number}", number + 1
    return unique


def _model_of(value: object) -> str | None:
    """Return a model's name from text or from an object that has it; of several models, all names."""
    if held := as_dict(value):
        return as_text(held.get("model")) or as_text(held.get("name"))
    if several := [name for each in as_list(value) if (name := _model_of(each))]:
        return ", ".join(several)
    return value if isinstance(value, str) and value else None


def value_of(score: object) -> object:
    """Return the value of a score or of a published number: an object with a member `value` since 2024, bare before."""
    found = as_dict(score)
    return found.get("value") if found else score


def _limit(limit: object) -> int | None:
    """Return how many samples a run was cut to: a number, or a range [from, to)."""
    ends = [as_whole(end) for end in as_list(limit)]
    if len(ends) == 2 and ends[0] is not None and ends[1] is not None:
        return max(ends[1] - ends[0], 0)
    return as_count(limit)
