"""Terminal-Bench: whether an agent solved a task in a terminal, trial by trial.

Format: `results.json` of a run (`results`: one object a trial) and of a single trial, as laude-institute/terminal-bench writes
them (`terminal_bench/harness/models.py: TrialResults, BenchmarkResults`) and laude-institute/terminal-bench-leaderboard keeps
them, in folders `<dataset>@<version>/<date>_<agent>_<model>/`.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from evalstats.errors import UnreadableFileError
from evalstats.grammar import comma_list
from evalstats.loaders.base import Frame, Head, Match, Rows, Source, in_frames, plain_name, read_head, readable_name
from evalstats.loaders.files import JsonItem, iter_json, load_json
from evalstats.loaders.rows import Row, held, metric_row, scored, told, unscored
from evalstats.loaders.values import as_count, as_dict, as_text, as_time, json_text
from evalstats.schema.data import Problem

BENCHMARK: Final = "Terminal-Bench"
_TRIAL: Final = frozenset({"task_id", "trial_name", "is_resolved", "failure_mode"})
_METADATA: Final = "run_metadata.json"
_FOLDER: Final = re.compile(r"(?P<day>\d{8})_(?P<agent>.+)_(?P<model>[^_]+)")
_NUMBERED: Final = re.compile(r".+?\.(?P<trial>\d+)-of-\d+(?:\..+)?", re.DOTALL)
# What the harness, and not the agent, failed at. Time, context and format that ran out are the agent's.
_HARNESS: Final = frozenset(
    {"unknown", "test_timeout", "parse_error", "unknown_agent_error", "agent_installation_failed"}
)
_NONE: Final = frozenset({"", "none", "unset"})

_FAILED: Final = (
    "{n} trials ended in a failure of the harness ({names}); errors here, and not solved in its own accuracy"
)
_ODD: Final = "{n} results are no trials with a task and are left out ({places})"
_NO_MODEL: Final = (
    "agent and model stand in the name of a folder (<date>_<agent>_<model>) or in run_metadata.json only; neither was found, and "
    "the run is called {name!r}"
)


class TerminalBenchLoader:
    """Loader of Terminal-Bench's results: metric `resolved`, one run for each file with all its trials.

    The results of single trials below a run's own file say the same once more and are passed over; without one, they are put
    together by the folder of their run.
    """

    name = "terminal-bench"
    title = "Terminal-Bench results (results.json of a run, or of its trials)"
    version = "1"

    def sniff(self, head: Head) -> Match | None:
        """Recognise a run of trials, or one trial."""
        if head.shape not in {"object", "lines"}:
            return None
        if head.keys >= _TRIAL:
            return Match(confidence=0.9, reason="task_id, trial_name, is_resolved and failure_mode")
        if head.keys & {"results"} and all(f'"{name}"' in head.text for name in _TRIAL):
            return Match(confidence=0.9, reason="results with trial_name, is_resolved and failure_mode")
        if plain_name(head.path) == _METADATA and head.keys >= {"run_id", "agent_name", "model_name"}:
            return Match(confidence=0.9, reason="what a run of Terminal-Bench was made with")
        return None

    def plan(self, files: Sequence[Path]) -> Iterable[Source | Problem]:
        """Make a source of each run's file, or of the trials of a run without one; metadata go with their folder."""
        metadata = {path.parent: path for path in files if plain_name(path) == _METADATA}
        runs = [path for path in files if plain_name(path) != _METADATA and not _is_trial(path)]
        folders = {path.parent for path in runs}
        loose: dict[Path, list[Path]] = {}
        for path in files:
            if plain_name(path) != _METADATA and path not in runs and not folders & set(path.parents):
                loose.setdefault(_folder_of(path), []).append(path)
        for path in runs:
            beside = metadata.get(path.parent)
            yield Source(path=path, companions=(beside,) if beside else ())
        for folder, trials in loose.items():
            beside = metadata.get(folder)
            yield Source(path=trials[0], companions=(*trials[1:], *([beside] if beside else [])))

    def read(self, source: Source) -> Iterator[Rows | Frame | Problem]:
        """Yield outcomes, the metric, the run and notes."""
        metadata = next((path for path in source.companions if plain_name(path) == _METADATA), None)
        about: Row = {} if metadata is None else as_dict(load_json(metadata))
        agent, model, dataset = _identity(source.path, about)
        name = model or source.called
        system = f"{name} ({agent})" if agent else name
        run = source.run_id(*([agent] if agent else []), name)
        common: Row = {"run": run, "model": name, "system": system, "benchmark": BENCHMARK, "setting": "lab"}
        counts, odd, failures = Counter[str](), list[str](), dict[str, None]()
        rows = _rows(_trials(source), counts, odd, failures)
        alike = {**common, "metric": "resolved", "n_trials": 1}
        yield from in_frames(rows, "outcomes", alike)
        if not counts["trials"]:
            raise UnreadableFileError(f"{source.path}: holds no trial with a task; the results of a run were expected")
        yield Rows(table="metrics", rows=[metric_row(BENCHMARK, "resolved", primary=True)])
        config = {
            "agent": agent,
            "dataset": dataset,
            **{k: about[k] for k in ("agent_kwargs", "commit_hash") if k in about},
        }
        own = {key: common[key] for key in ("run", "model", "system", "benchmark")}
        version = (dataset or "").rpartition("@")[2] or None
        yield Rows(
            table="runs", rows=[{**own, "harness": BENCHMARK, "task_version": version, "config": json_text(config)}]
        )
        yield from source.notes(told(Counter({_FAILED: counts["failed"]}), names=", ".join(failures)))
        yield from source.notes(told(Counter({_ODD: len(odd)}), places=comma_list(odd)), "error")
        if model is None:
            yield from source.notes([_NO_MODEL.format(name=name)])


def _is_trial(path: Path) -> bool:
    try:
        return read_head(path).keys >= _TRIAL
    except UnreadableFileError:
        return False  # reading it says why


def _folder_of(path: Path) -> Path:
    """Return the folder of the run that a trial's file belongs to: the one named after it, else three levels up."""
    named = next((folder for folder in path.parents if _FOLDER.fullmatch(folder.name)), None)
    return named or (path.parents[2] if len(path.parents) > 2 else path.parent)


def _identity(path: Path, about: Row) -> tuple[str | None, str | None, str | None]:
    """Return agent, model and dataset, as metadata or the names of folders have them."""
    agent, model = as_text(about.get("agent_name")), as_text(about.get("model_name"))
    dataset = as_text(about.get("dataset_name"))
    if dataset and (version := as_text(about.get("dataset_version"))):
        dataset = f"{dataset}@{version}"
    for folder in path.absolute().parents:
        found = _FOLDER.fullmatch(readable_name(folder.name))
        if found:
            return agent or found["agent"], model or found["model"], dataset or readable_name(folder.parent.name)
    return agent, model, dataset


def _trials(source: Source) -> Iterator[tuple[str, object]]:
    """Yield the trials of a source, each with its place."""
    for path in (source.path, *source.companions):
        if plain_name(path) == _METADATA:
            continue
        beside = "" if path == source.path else f"{readable_name('/'.join(path.parts[-2:]))} "
        if _is_trial(path):
            yield beside, load_json(path)
            continue
        for part in iter_json(path, arrays=("results",)):
            if isinstance(part, JsonItem):
                yield f"{beside}results[{part.index}]", part.value


def _rows(
    trials: Iterable[tuple[str, object]], counts: Counter[str], odd: list[str], failures: dict[str, None]
) -> Iterator[Row]:
    taken: set[tuple[str, int]] = set()
    for place, value in trials:
        trial = as_dict(value)
        task = as_text(trial.get("task_id"))
        if not task:
            odd.append(place.strip() or "the file")
            continue
        numbered = _NUMBERED.fullmatch(as_text(trial.get("trial_name")) or "")
        number = int(numbered["trial"][:9]) - 1 if numbered else 0
        while number < 0 or (task, number) in taken:
            number += 1
        taken.add((task, number))
        outcome = _outcome(trial, failures)
        counts["trials"] += 1
        counts["failed"] += outcome["status"] == "error"
        start, end = as_time(trial.get("agent_started_at")), as_time(trial.get("agent_ended_at"))
        took = (end - start).total_seconds() if start is not None and end is not None else None
        yield {
            "item": task,
            "trial": number,
            "latency_s": took if took is not None and took >= 0 else None,
            "input_tokens": as_count(trial.get("total_input_tokens")),
            "output_tokens": as_count(trial.get("total_output_tokens")),
            "timestamp": as_time(trial.get("trial_started_at")),
            "failure_mode": as_text(trial.get("failure_mode")),
            "locator": place.strip() or None,
            **outcome,
        }


def _outcome(trial: Row, failures: dict[str, None]) -> Row:
    solved, mode = trial.get("is_resolved"), (as_text(trial.get("failure_mode")) or "").lower()
    if solved is True:  # an agent that ran out of time may have solved its task before
        return scored(1.0)
    if mode in _HARNESS:
        failures.setdefault(mode, None)
        return unscored(f"the harness failed: {mode}", held(solved), error=True)
    if solved is False:
        return scored(0.0, status_reason=None if mode in _NONE else mode)
    return unscored("there is no verdict on the task", held(solved))


LOADER: Final = TerminalBenchLoader()
