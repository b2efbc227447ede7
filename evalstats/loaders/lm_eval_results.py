"""A results file of lm-evaluation-harness, or in lighteval's shape as the first Open LLM Leaderboard keeps them.

The items of lighteval's runs are in Parquet files beside them, whose columns are not read here.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import Final

import msgspec

from evalstats.errors import UnreadableFileError
from evalstats.grammar import comma_list
from evalstats.loaders.base import plain_name
from evalstats.loaders.files import load_json
from evalstats.loaders.rows import Row
from evalstats.loaders.values import (
    as_amount,
    as_count,
    as_dict,
    as_list,
    as_number,
    as_text,
    as_time,
    dicts,
    get,
    json_text,
)

# In the order in which the harness looks for the model's name.
_NAME_ARGUMENTS: Final = ("peft", "delta", "pretrained", "model", "path", "engine")
_PROMPT_FIELDS: Final = (
    "dataset_path", "dataset_name", "test_split", "fewshot_split", "doc_to_text", "doc_to_target", "doc_to_choice",
    "description", "target_delimiter", "fewshot_delimiter", "fewshot_config", "num_fewshot", "gen_prefix",
)  # fmt: skip
_CONFIG_FIELDS: Final = (
    "model", "model_args", "model_num_parameters", "model_dtype", "model_revision", "model_sha", "batch_size", "limit",
    "gen_kwargs", "random_seed", "numpy_seed", "torch_seed", "fewshot_seed",
)  # fmt: skip
_MEMBER_FIELDS: Final = (
    "git_hash", "transformers_version", "model_source", "system_instruction_sha", "fewshot_as_multiturn",
    "chat_template_sha", "max_length",
)  # fmt: skip
# Large, and of no use here.
_DROPPED: Final = frozenset({"pretty_env_info", "chat_template"})
_NO_METRIC: Final = frozenset({"alias", "name", "sample_len", "sample_count", "samples"})
_STDERR: Final = "_stderr"
# The harness writes 999 for it when it was told only to predict.
BYPASS: Final = "bypass"
_LOWER_IS_BETTER: Final = frozenset(
    {"perplexity", "word_perplexity", "byte_perplexity", "bits_per_byte", "brier_score", "ter", "wer", "cer"}
)
_PROPORTIONS: Final = ("acc", "exact_match", "em", "pass@", "prompt_level", "inst_level", "mc1", "mc2", "f1")
# Local time without a zone; ":" became "-" in 2023.
_STAMP: Final = r"\d{4}-\d{2}-\d{2}T\d{2}[-:]\d{2}[-:]\d{2}(?:\.\d+)?"
_SAMPLES_NAME = re.compile(rf"samples_(?P<task>.+?)(?:_(?P<stamp>{_STAMP}))?\.(?:jsonl|json|ndjson|parquet)")
_RESULTS_NAME = re.compile(rf"(?:.*_)?(?P<stamp>{_STAMP})\.json")


def task_of_name(name: str) -> str | None:
    """Return the task a samples file is about: what stands between `samples_` and the stamp; None for another file's name.

    >>> task_of_name("samples_toy_mc_a_2026-11-21T20-31-50.724826.jsonl"), task_of_name("mine.jsonl")
    ('toy_mc_a', None)
    """
    found = _SAMPLES_NAME.fullmatch(name)
    return found["task"] if found else None


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


class PublishedNumber(msgspec.Struct, frozen=True, kw_only=True):
    """One published number of a task or group. `key` is the key in the file, `metric` its name here."""

    key: str
    metric: str
    value: object
    std_error: float | None


def published(numbers: object) -> Iterator[PublishedNumber]:
    """Yield the published numbers of one task, without standard errors, names and counts.

    A metric under the filter "none" has its bare name, any other is called `metric,filter`.

    >>> [(p.metric, p.std_error) for p in published({"alias": "x", "acc,none": 0.5, "acc_stderr,none": "N/A"})]
    [('acc', None)]
    """
    held = as_dict(numbers)
    for key, value in held.items():
        base, comma, filter_name = key.partition(",")
        if key in _NO_METRIC or base.endswith(_STDERR) or base == BYPASS or isinstance(value, dict | list):
            continue
        if isinstance(value, str) and as_number(value) is None and not comma:
            continue
        error = as_amount(held.get(f"{base}{_STDERR}{comma}{filter_name}"))
        std_error = None if as_number(value) is None else error
        metric = base if filter_name in ("", "none") else key
        yield PublishedNumber(key=key, metric=metric, value=value, std_error=std_error)


@dataclass(frozen=True, kw_only=True)
class Results:
    """A results file: its members, and answers to what the other modules ask of them.

    Samples that stand without one have an empty one.
    """

    path: Path
    members: dict[str, object] = field(default_factory=dict[str, object])
    embedded: dict[str, object] = field(default_factory=dict[str, object])

    def part(self, name: str, *path: str) -> dict[str, object]:
        """Return a member that should be an object, or something inside it; {} where it is none."""
        return as_dict(get(self.members.get(name), *path))

    @cached_property
    def groups(self) -> frozenset[str]:
        """Names of groups: what has children (older files give tasks an empty list) or stands under `groups`."""
        return frozenset({name for name, children in self._children.items() if children} | {*self.part("groups")})

    @cached_property
    def tasks(self) -> tuple[str, ...]:
        """Names of the tasks with results that are not groups."""
        return tuple(name for name in self.part("results") if name not in self.groups)

    @cached_property
    def _parents(self) -> dict[str, set[str]]:
        """The groups that each task or group is in, but for those whose tasks share no metric: these are lists of benchmarks."""
        parents: dict[str, set[str]] = {}
        for group, children in self._children.items():
            published = [names for task in self.leaves(group) if (names := {*self.metrics(task)})]
            if not published or set[str].intersection(*published):
                for child in children:
                    parents.setdefault(child, set()).add(group)
        return parents

    @cached_property
    def _children(self) -> dict[str, set[str]]:
        return {name: {*map(str, as_list(inside))} for name, inside in self.part("group_subtasks").items()}

    def benchmark(self, task: str) -> str:
        """Return the benchmark of a task: the top group of one metric if it is in exactly one, else the task itself."""
        tops = {name for name in _reached(task, self._parents) if name not in self._parents}
        return tops.pop() if len(tops) == 1 else task

    def leaves(self, group: str) -> set[str]:
        """Names of the tasks below a group, through groups inside it."""
        return _reached(group, self._children) - self.groups

    def effective(self, task: str) -> int | None:
        """Return how many documents of a task were run, where the file says so."""
        said = as_count(get(self.members.get("n-samples"), task, "effective"))
        return as_count(get(self.members.get("results"), task, "sample_len")) if said is None else said

    def shots(self, task: str) -> int | None:
        """Return the number of worked examples in the prompt (before 0.4: one number for all tasks)."""
        said = self.part("n-shot").get(task, self.part("configs", task).get("num_fewshot"))
        return as_count(said if said is not None else self.part("config").get("num_fewshot"))

    def temperature(self, task: str) -> float | None:
        """Return the sampling temperature of a generation task; 0 where sampling was off, None if nothing is said."""
        options = {**self.part("configs", task, "generation_kwargs"), **_options(self.part("config").get("gen_kwargs"))}
        said = as_number(options.get("temperature"))
        return 0.0 if said is None and options.get("do_sample") in (False, "False", "false") else as_amount(said)

    def filters(self, task: str) -> dict[str, tuple[dict[str, object], ...]]:
        """Return the filters of a task in order, each with its steps."""
        listed = self.part("configs", task).get("filter_list")
        return {str(one.get("name")): tuple(dicts(one.get("filter"))) for one in dicts(listed)}

    def metrics(self, task: str) -> tuple[str, ...]:
        """Names of the metrics published for a task."""
        return tuple(number.metric for number in published(self.part("results").get(task)))

    def higher_is_better(self, task: str, metric: str) -> bool | None:
        """Return the direction of a metric: as the file has it, else as the harness defines it; None if neither."""
        base = metric.partition(",")[0]
        said = get(self.members.get("higher_is_better"), task, base)
        if isinstance(said, bool):
            return said
        return False if base in _LOWER_IS_BETTER else None

    @cached_property
    def model(self) -> str | None:
        """The model as the harness named it, else as its arguments do, else None."""
        return (
            as_text(self.members.get("model_name"))
            or self._name_in_arguments
            or as_text(self.part("config_general").get("model_name"))
            or as_text(self.part("config").get("model_name"))
            or as_text(self.part("config").get("model"))
        )

    @property
    def has_random_name(self) -> bool:
        """Whether the harness found no name among the model's arguments, and so made one up."""
        name = as_text(self.members.get("model_name")) or ""
        return len(name) == 8 and name.isalnum() and name.isascii() and self._name_in_arguments is None

    @property
    def _name_in_arguments(self) -> str | None:
        arguments = _options(self.part("config").get("model_args"))
        return next((name for key in _NAME_ARGUMENTS if (name := as_text(arguments.get(key)))), None)

    def prompt_hash(self, tasks: Sequence[str]) -> str | None:
        """Digest of the prompt templates of some tasks and of the instruction put before them (not the chat template).

        None where the file holds no templates.
        """
        templates = {
            task: {name: config[name] for name in _PROMPT_FIELDS if name in config}
            for task in sorted(tasks)
            if (config := self.part("configs", task))
        }
        if not templates:
            return None
        around = [self.members.get("system_instruction"), self.members.get("fewshot_as_multiturn")]
        return hashlib.sha256(json_text([templates, around]).encode()).hexdigest()

    def run_row(self, run: str, model: str, benchmark: str, tasks: Sequence[str]) -> Row:
        """Make the row of `runs`: one model on one benchmark, which may have several tasks.

        Shots, version and temperature are given where all tasks agree; `config` has them task by task.
        """
        versions = {task: as_text(self.part("versions").get(task)) for task in tasks}
        shots = {task: self.shots(task) for task in tasks}
        temperatures = {task: self.temperature(task) for task in tasks}
        config = self.part("config")
        limit = as_amount(config.get("limit"))
        if limit is not None and limit < 1:  # a share of each task's documents
            limit = _sum([self.effective(task) for task in tasks])
        kept: Row = {name: config.get(name) for name in _CONFIG_FIELDS}
        kept |= {name: self.members.get(name) for name in _MEMBER_FIELDS}
        by_task: dict[str, Mapping[str, object]] = {"versions": versions, "shots": shots, "temperatures": temperatures}
        kept |= {name: values for name, values in by_task.items() if _agreed(values.values()) is None}
        kept["task_hashes"] = {task: self.part("task_hashes").get(task) for task in tasks}
        repeats = {task: self.part("configs", task).get("repeats") for task in tasks}
        kept["repeats"] = {task: number for task, number in repeats.items() if number not in (None, 1)}
        kept = {name: value for name, value in kept.items() if value not in ({}, None)}
        return {
            "run": run,
            "model": model,
            "system": model,
            "benchmark": benchmark,
            "harness": "lm-eval",
            "harness_version": as_text(self.members.get("lm_eval_version")),
            "task_version": _agreed(versions.values()),
            "n_shots": _agreed(shots.values()),
            "prompt_hash": self.prompt_hash(tasks),
            "temperature": _agreed(temperatures.values()),
            "item_limit": None if limit is None else as_count(int(limit)),
            "status": "success" if self.members else None,
            "config": json_text(kept) if self.members else None,
            "timestamp": as_time(self.members.get("date")),
        }

    def aggregate_rows(self, model: str, run_of: Mapping[str, str]) -> Iterator[Row]:
        """Yield the published numbers, each group once. `run_of` names the run of each benchmark.

        A group that is its own benchmark has the task ""; a group inside another one is a task of it.
        """
        results = self.part("results")
        groups = {**{name: results[name] for name in results if name in self.groups}, **self.part("groups")}
        time = as_time(self.members.get("date"))
        day = day_of_stamp(stamp_of_name(plain_name(self.path))) if time is None else time.date()
        for name in (*self.tasks, *groups):
            benchmark = self.benchmark(name)
            for number in published(groups[name] if name in groups else results[name]):
                estimate = as_number(number.value)
                yield {
                    "model": model,
                    "benchmark": benchmark,
                    "task": self.task(name),
                    "metric": number.metric,
                    "estimate": estimate,
                    "std_error": number.std_error,
                    "method": self.method(name, number),
                    "n": self._n(name, number, groups.get(name)),
                    "unit": "proportion" if number.metric.startswith(_PROPORTIONS) else None,
                    "setting": "lab",
                    "date": day,
                    "run": run_of.get(benchmark),
                    "value_raw": None if estimate is not None else str(number.value),
                }

    def task(self, name: str) -> str:
        """Return what a task or group is called within its benchmark."""
        return "" if name in self.groups and name == self.benchmark(name) else name

    def method(self, name: str, number: PublishedNumber) -> str:
        """Say how a published number came about."""
        if number.std_error is None:
            return "published, no stderr"
        return "published, pooled stderr" if name in self.groups else "published"

    def _n(self, name: str, number: PublishedNumber, group: object) -> int | None:
        if group is None:
            return self.effective(name)
        counted = as_count(get(group, "sample_count", number.key))
        if counted is not None:
            return counted
        whole = _sum([self.effective(task) for task in self.leaves(name)])
        return as_count(get(group, "sample_len")) if whole is None else whole


def _sum(counts: Sequence[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known and len(known) == len(counts) else None


def _reached(start: str, steps: Mapping[str, set[str]]) -> set[str]:
    """Return all names that steps from one lead to, in circles too."""
    found, waiting = set[str](), [start]
    while waiting:
        new = steps.get(waiting.pop(), set()) - found
        found |= new
        waiting.extend(new)
    return found


def _options(given: object) -> dict[str, object]:
    """Read options given as an object, as JSON text, or as `a=1,b=2`."""
    if not isinstance(given, str):
        return as_dict(given)
    if given.lstrip().startswith("{"):
        try:
            return as_dict(json.loads(given))
        except (ValueError, RecursionError):
            return {}
    pairs = (part.partition("=") for part in given.split(","))
    return {key.strip(): value.strip() for key, equals, value in pairs if equals}


def _agreed(values: Iterable[object]) -> object:
    distinct = set(values)
    return distinct.pop() if len(distinct) == 1 else None


_AVERAGE: Final = "_average"
_MMLU: Final = "hendrycksTest"
_GENERAL_FIELDS: Final = (
    "model_sha", "model_dtype", "model_size", "num_fewshot_seeds", "override_batch_size", "job_id",
)  # fmt: skip


class TaskKey(msgspec.Struct, frozen=True, kw_only=True):
    """A key such as `harness|arc:challenge|25`, taken apart. `task` is "" where the key names a whole benchmark."""

    benchmark: str
    task: str
    n_shots: int | None
    average: bool = False


def parse_key(key: str) -> TaskKey | None:
    """Take the key of a task apart; None for "all" (an average over benchmarks) and other keys.

    >>> parsed = parse_key("harness|hendrycksTest-anatomy|5")
    >>> parsed.benchmark, parsed.task, parsed.n_shots
    ('hendrycksTest', 'anatomy', 5)
    >>> parse_key("all") is None
    True
    """
    parts = key.split("|")
    if len(parts) < 3:
        return None
    name = parts[1]
    benchmark, colon, task = name.partition(":")
    if not colon and name.startswith(f"{_MMLU}-"):
        benchmark, task = _MMLU, name.removeprefix(f"{_MMLU}-")
    average = task == _AVERAGE
    return TaskKey(benchmark=benchmark, task="" if average else task, n_shots=as_count(parts[2]), average=average)


class LightevalResults(Results):
    """A results file in lighteval's shape, whose tasks are keys; the average over all of them is none."""

    @cached_property
    def task_keys(self) -> dict[str, TaskKey]:
        """The tasks, taken apart."""
        return {key: parsed for key in self.part("results") if (parsed := parse_key(key))}

    @cached_property
    def tasks(self) -> tuple[str, ...]:
        """Keys of the tasks."""
        return tuple(self.task_keys)

    def benchmark(self, task: str) -> str:
        """Return the benchmark that a key names."""
        return self.task_keys[task].benchmark if task in self.task_keys else task

    def task(self, name: str) -> str:
        """Return the task that a key names."""
        return self.task_keys[name].task

    def method(self, name: str, number: PublishedNumber) -> str:
        """Say how a published number came about."""
        return "published, average of tasks" if self.task_keys[name].average else super().method(name, number)

    def shots(self, task: str) -> int | None:
        """Return the number of worked examples that a key names."""
        return self.task_keys[task].n_shots if task in self.task_keys else None

    def run_row(self, run: str, model: str, benchmark: str, tasks: Sequence[str]) -> Row:
        """Make the row of `runs` for the tasks of one benchmark."""
        general = self.part("config_general")
        return super().run_row(run, model, benchmark, tasks) | {
            "harness": "lighteval",
            "harness_version": as_text(general.get("lighteval_sha")),
            "item_limit": as_count(general.get("max_samples")) or None,
            "config": json_text({name: general[name] for name in _GENERAL_FIELDS if general.get(name) is not None}),
        }


def read_results(path: Path) -> Results:
    """Read a results file."""
    held = as_dict(load_json(path))
    embedded = as_dict(held.pop("samples", None))
    members = {name: value for name, value in held.items() if name not in _DROPPED}
    if not isinstance(members.get("results"), dict):
        found = comma_list(members, 8)
        raise UnreadableFileError(
            f"{path}: has no object 'results' (found {found}); it is no results file of lm-eval, or is cut off"
        )
    is_lighteval = "config_general" in members or any(map(parse_key, as_dict(members["results"])))
    return (LightevalResults if is_lighteval else Results)(path=path, members=members, embedded=embedded)
