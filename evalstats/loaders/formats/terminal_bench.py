"""Terminal-Bench: whether an agent solved a task in a terminal, trial by trial.

Read is `results.json` of a run (`results`: one object a trial) and of single trials, in folders
`<dataset>@<version>/<date>_<agent>_<model>/`. Results of single trials below a run's own file say the same once more and are
passed over; without one, they are put together by the folder of their run. A failure of the harness is an error; time, context
and format that ran out are the agent's, and 0.
"""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

import polars as pl

from evalstats.errors import UnreadableFileError
from evalstats.loaders.base import Source, plain_name, read_head, readable_name
from evalstats.loaders.format import FAILED, HEADLINE, OBJECT, Format, FormatFile, Sign
from evalstats.loaders.rows import Row
from evalstats.loaders.values import as_text, times_of
from evalstats.schema.data import Problem

_BENCHMARK: Final = "Terminal-Bench"
_TRIAL: Final = "task_id trial_name is_resolved failure_mode"
_METADATA: Final = "run_metadata.json"
_FOLDER: Final = re.compile(r"(?P<day>\d{8})_(?P<agent>.+)_(?P<model>[^_]+)")
_HARNESS: Final = ("unknown", "test_timeout", "parse_error", "unknown_agent_error", "agent_installation_failed")
_NONE: Final = ("", "none", "unset")


def _grouped(files: Sequence[Path]) -> Iterable[Source | Problem]:
    """Make a source of each run's file, or of the trials of a run without one; metadata go with their folder."""
    metadata = {path.parent: path for path in files if plain_name(path) == _METADATA}
    results = [path for path in files if plain_name(path) != _METADATA]
    folders = {path.parent for path in results}
    groups: dict[Path, list[Path]] = {}
    for path in results:
        if folders.isdisjoint(path.parents[1:]) or not _is_trial(path):  # else the run has its own file
            named = next((folder for folder in path.parents if _FOLDER.fullmatch(folder.name)), None)
            groups.setdefault(named or path, []).append(path)
    for key, (path, *others) in groups.items():
        beside = metadata.get(path.parent) or metadata.get(key)
        yield Source(path=path, companions=(*others, *([beside] if beside else [])))


def _is_trial(path: Path) -> bool:
    try:
        return read_head(path).keys.issuperset(_TRIAL.split())
    except UnreadableFileError:
        return False  # reading it says why


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


def _about(file: FormatFile[Any]) -> Row:
    agent, model, dataset = _identity(file.source.path, file.facts)
    name = model or file.source.called
    if model is None:
        file.unnamed(name)
    kept = {key: file.facts.get(key) for key in ("agent_kwargs", "commit_hash")}
    return {
        "model": name,
        "parts": (agent or "", name),
        "system": f"{name} ({agent})" if agent else name,
        "task_version": (dataset or "").rpartition("@")[2] or None,
        "config": {"agent": agent, "dataset": dataset, **kept},
    }


def _arranged(frame: pl.DataFrame, file: FormatFile[Any]) -> pl.DataFrame:
    """Return trials, numbered by their names, with what the harness failed at; an agent out of time may have solved its task."""
    frame = file.named(frame, item="task_id")
    mode, solved = (
        pl.col("failure_mode").cast(pl.String).str.to_lowercase(),
        pl.col("_solved").cast(pl.String) == "true",
    )
    numbered = pl.col("_trial").str.extract(r"^(?s:.+?)\.(\d{1,9})-of-\d+(?:\.(?s:.+))?$").cast(pl.Int64) - 1
    took = (times_of(frame["_end"])[0] - times_of(frame["_start"])[0]).dt.total_microseconds() / 1e6
    reason = pl.when(mode.is_in(_HARNESS) & ~solved.fill_null(value=False)).then(
        pl.format("the harness failed: {}", mode)
    )
    frame = frame.with_columns(
        trial=pl.coalesce(pl.when(numbered >= 0).then(numbered), file.trials(frame.select("item"))),
        latency_s=took.set((took < 0).fill_null(value=False), None),
        error=reason,
        status_reason=pl.when(~solved & ~mode.is_in(_NONE)).then(mode),
        locator=pl.col("locator").replace("", None),
    )
    return file.once(frame, "item", "trial")


FORMAT: Final[Format[Any]] = Format(
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
    fields={
        "item": "task_id",
        "failure_mode": "failure_mode",
        "input_tokens": "total_input_tokens",
        "output_tokens": "total_output_tokens",
        "timestamp": "trial_started_at",
        "_trial": "trial_name",
        "_solved": "is_resolved",
        "_start": "agent_started_at",
        "_end": "agent_ended_at",
    },
    scores={"resolved": "is_resolved"},
    about=_about,
    arranged=_arranged,
    at=("results", "."),
    called="trials",
    keep=(_METADATA,),
    grouped=_grouped,
    metrics={"resolved": HEADLINE},
    counts={"{n} trials ended in a failure of the harness; errors here, and not solved in its own accuracy": FAILED},
    naming="Agent and model stand in the name of a folder (<date>_<agent>_<model>) or in run_metadata.json",
    expected="The results of a run were expected",
)
