"""Terminal-Bench: whether an agent solved a task in a terminal, trial by trial.

Read is `results.json` of a run (`results`: one object a trial) and of single trials, in folders
`<dataset>@<version>/<date>_<agent>_<model>/`. Results of single trials below a run's own file say the same once more and are
passed over; without one, they are put together by the folder of their run. A failure of the harness is an error; time, context
and format that ran out are the agent's, and 0.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from evalstats.errors import UnreadableFileError
from evalstats.loaders.base import Source, plain_name, read_head, readable_name
from evalstats.loaders.format import HEADLINE, OBJECT, Format, FormatFile, Sample, Sign
from evalstats.loaders.rows import Row, Said, held, scored, unscored
from evalstats.loaders.values import as_count, as_text, as_time, json_text
from evalstats.schema.data import Problem

_BENCHMARK: Final = "Terminal-Bench"
_TRIAL: Final = "task_id trial_name is_resolved failure_mode"
_METADATA: Final = "run_metadata.json"
_FOLDER: Final = re.compile(r"(?P<day>\d{8})_(?P<agent>.+)_(?P<model>[^_]+)")
_NUMBERED: Final = re.compile(r".+?\.(?P<trial>\d+)-of-\d+(?:\..+)?", re.DOTALL)
_HARNESS: Final = frozenset(
    {"unknown", "test_timeout", "parse_error", "unknown_agent_error", "agent_installation_failed"}
)
_NONE: Final = frozenset({"", "none", "unset"})
_FAILED: Final = (
    "{n:,} trials ended in a failure of the harness ({names}); errors here, and not solved in its own accuracy"
)
_NO_MODEL: Final = (
    "agent and model stand in the name of a folder (<date>_<agent>_<model>) or in run_metadata.json only; neither was found, and "
    "the run is called {!r}"
)


class _Trial(Struct):
    task_id: Any = None
    trial_name: Any = None
    is_resolved: Any = None
    failure_mode: Any = None
    total_input_tokens: Any = None
    total_output_tokens: Any = None
    trial_started_at: Any = None
    agent_started_at: Any = None
    agent_ended_at: Any = None


def _grouped(files: Sequence[Path]) -> Iterable[Source | Problem]:
    """Make a source of each run's file, or of the trials of a run without one; metadata go with their folder."""
    metadata = {path.parent: path for path in files if plain_name(path) == _METADATA}
    results = [path for path in files if plain_name(path) != _METADATA]
    loose = [path for path in results if _is_trial(path)]
    runs = [path for path in results if path not in loose]
    folders = {path.parent for path in runs}
    groups = {path: [path] for path in runs}
    for path in loose:
        if not folders & set(path.parents):
            groups.setdefault(_folder_of(path), []).append(path)
    for key, (path, *others) in groups.items():
        beside = metadata.get(key.parent if key in runs else key)
        yield Source(path=path, companions=(*others, *([beside] if beside else [])))


def _is_trial(path: Path) -> bool:
    try:
        return read_head(path).keys.issuperset(_TRIAL.split())
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


class _Reader:
    """The trials of one run: which numbers are taken, and what the harness failed at."""

    def __init__(self, file: FormatFile[_Trial]) -> None:
        agent, model, dataset = _identity(file.source.path, file.facts)
        name = model or file.source.called
        if model is None:
            file.note(_NO_MODEL.format(name))
        kept = {key: file.facts[key] for key in ("agent_kwargs", "commit_hash") if key in file.facts}
        self._file = file
        self._run = file.run(
            name,
            agent or "",
            name,
            system=f"{name} ({agent})" if agent else name,
            task_version=(dataset or "").rpartition("@")[2] or None,
            config=json_text({"agent": agent, "dataset": dataset, **kept}),
        )
        self._taken: set[tuple[str, int]] = set()
        self._failures: list[str] = []

    def rows(self, record: _Trial) -> Iterator[Sample]:
        """Return the outcome of a trial, numbered by its name where no other has that number."""
        task = as_text(record.task_id)
        if not task:
            self._file.leave_out("no task_id")
            return
        numbered = _NUMBERED.fullmatch(as_text(record.trial_name) or "")
        trial = int(numbered["trial"][:9]) - 1 if numbered else 0
        while trial < 0 or (task, trial) in self._taken:
            trial += 1
        self._taken.add((task, trial))
        start, end = as_time(record.agent_started_at), as_time(record.agent_ended_at)
        took = (end - start).total_seconds() if start is not None and end is not None else -1.0
        shared: Row = {
            "run": self._run,
            "item": task,
            "trial": trial,
            "setting": "lab",
            "latency_s": took if took >= 0 else None,
            "input_tokens": as_count(record.total_input_tokens),
            "output_tokens": as_count(record.total_output_tokens),
            "timestamp": as_time(record.trial_started_at),
            "failure_mode": as_text(record.failure_mode),
            "locator": self._file.locator or None,
        }
        yield shared, [("resolved", self._outcome(record))]

    def _outcome(self, record: _Trial) -> Said:
        solved, mode = record.is_resolved, (as_text(record.failure_mode) or "").lower()
        if solved is True:  # an agent that ran out of time may have solved its task before
            return 1.0
        if mode in _HARNESS:
            self._failures.append(mode)
            return unscored(f"the harness failed: {mode}", held(solved), error=True)
        if solved is False:
            return scored(0.0, status_reason=None if mode in _NONE else mode)
        return unscored("there is no verdict on the task", held(solved))

    def finish(self) -> Iterator[Sample]:
        """Say what the harness failed at."""
        if self._failures:
            names = ", ".join(dict.fromkeys(self._failures))
            self._file.note(_FAILED.format(n=len(self._failures), names=names))
        yield from ()


FORMAT: Final = Format(
    name="terminal-bench",
    title="Terminal-Bench results (results.json of a run, or of its trials)",
    version="2",
    upstream="laude-institute/terminal-bench, terminal_bench/harness/models.py: TrialResults, BenchmarkResults",
    benchmark=_BENCHMARK,
    harness=_BENCHMARK,
    signs=(
        Sign(_TRIAL, shapes=("object", "lines")),
        Sign("results", text=tuple(f'"{name}"' for name in _TRIAL.split()), shapes=("object", "lines")),
        Sign("run_id agent_name model_name", name=_METADATA, shapes=(*OBJECT, "lines")),
    ),
    record=_Trial,
    reader=_Reader,
    lists=("results",),
    alone=True,
    called="trials",
    facts=(_METADATA,),
    grouped=_grouped,
    metrics={"resolved": HEADLINE},
    expected="The results of a run were expected",
)
