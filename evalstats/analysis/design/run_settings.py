"""What runs record of how they were made: which settings matter to a comparison, where they stand, how much they matter.

`run_settings.toml` lists the settings; `design/comparability.md` gives the reason for each.
"""

import json
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from typing import Any, Literal, cast

import msgspec
import polars as pl

from evalstats.grammar import comma_list
from evalstats.record import record
from evalstats.schema.data import EvalData
from evalstats.schema.tables import is_constant, levels_of

Severity = Literal["invalid", "weakens", "note"]
_DIGEST_SHOWN, _TEXT_SHOWN, _VALUES_SHOWN = 10, 40, 3
_WHOLE = re.compile(r"-?\d+\.0")


@record
class Place:
    """Where a setting is recorded: a `column` of `runs`, or `paths` in the configuration, of which the first there counts.

    `by_task` is the member that has the value of every task, where the tasks of a run differ. Paths that are compared
    `together` are several settings, one absent being one that was not set; of a value that `ends` so, only the last part of its
    path counts. `without` are members of an object that are settings of their own.
    """

    column: str | None = None
    by_task: str | None = None
    paths: tuple[str, ...] = ()
    together: bool = False
    ends: bool = False
    without: tuple[str, ...] = ()


@record
class Rule:
    """One setting: where it is recorded, and how grave a difference in it is; the TOML file says what the fields mean."""

    name: str
    words: str
    why: str
    place: Place
    other: Severity | None = None
    same: Severity | None = None
    alone: Severity | None = None
    treatment: bool = False


_FILE = files("evalstats.analysis.design").joinpath("run_settings.toml")
ENTRIES: dict[str, dict[str, Any]] = tomllib.loads(_FILE.read_text(encoding="utf-8"))
RULES = tuple(
    msgspec.convert({"name": name, **entry}, Rule, strict=False) for name, entry in ENTRIES.items() if "place" in entry
)
# The columns of `runs` that rules look at.
_RECORDED = sorted({"harness", "config", *(rule.place.column for rule in RULES if rule.place.column)})


def setting_words(name: str) -> str:
    """Return what a setting is called, without an article.

    >>> setting_words("task_version"), setting_words("judge")
    ('version of the task', 'judge')
    """
    words = ENTRIES[name]["words"] if name in ENTRIES else name.replace("_", " ")
    return words.removeprefix("the ")


@record
class RecordedRuns:
    """The runs of one system: its outcome rows, what each run records, and which runs have rows of which task.

    `settings` is what rules look at, of the runs of each task: sides that have it alike differ in no setting.
    """

    runs: tuple[str, ...]
    rows: pl.DataFrame
    models: frozenset[str]
    columns: Mapping[str, Mapping[str, object]]
    configs: Mapping[str, Mapping[str, object]]
    tasks: Mapping[str, tuple[str, ...]]
    settings: Mapping[str, frozenset[tuple[object, ...]]]

    @classmethod
    def of(cls, data: EvalData, runs: Sequence[str], rows: pl.DataFrame) -> "RecordedRuns":
        """Collect what is recorded; the tasks of each run are those of its rows."""
        columns = {str(row["run"]): row for row in data.rows_of_runs(runs).to_dicts()}
        tasks: dict[str, list[str]] = {}
        pairs = rows[["run", "task"]]
        alike = all(is_constant(column) for column in pairs)  # as most are; to find that by groups takes long
        for run, task in (pairs.head(1) if alike else pairs.unique().sort("task", "run")).iter_rows():
            tasks.setdefault(task, []).append(run)
        told = {run: tuple(row[name] for name in _RECORDED) for run, row in columns.items()}
        return cls(
            runs=tuple(sorted(runs)),
            rows=rows,
            models=frozenset(levels_of(rows["model"])),
            columns=columns,
            configs={run: _config(row.get("config")) for run, row in columns.items()},
            tasks={task: tuple(names) for task, names in tasks.items()},
            settings={task: frozenset(told.get(run, ()) for run in names) for task, names in tasks.items()},
        )

    def values(self, column: str) -> tuple[str, ...]:
        """Return all values of a column of `runs`, as text, sorted."""
        return _texts(row.get(column) for row in self.columns.values())

    def in_task(self, place: Place, task: str) -> tuple[str, ...]:
        """Return the values of a setting in the runs of one task."""
        values: list[object] = []
        for run in self.tasks.get(task, self.runs):
            config = self.configs.get(run, {})
            by_task = config.get(place.by_task) if place.by_task is not None else None
            if isinstance(by_task, Mapping) and task in by_task:
                values.append(cast("Mapping[str, object]", by_task)[task])
            elif place.column is not None:
                values.append(self.columns.get(run, {}).get(place.column))
            else:
                values += _at_places(config, place)
        return _texts(values)


@record
class RecordedValues:
    """A setting's values on either side, as text: sorted, and empty where nothing is recorded.

    `n_differ` of `n_tasks` shared tasks have values on both sides that differ; the values are those of these tasks, or of all
    where none differs.
    """

    baseline: tuple[str, ...]
    candidate: tuple[str, ...]
    n_tasks: int
    n_differ: int

    @property
    def one_sided(self) -> bool:
        """Whether only one side says anything."""
        return bool(self.baseline) != bool(self.candidate)


def recorded_values(place: Place, first: RecordedRuns, second: RecordedRuns) -> RecordedValues:
    """Compare a setting task by task, so that sides whose tasks were run differently are compared like with like."""
    shared = sorted(first.tasks.keys() & second.tasks.keys()) or [""]
    by_task = [(first.in_task(place, task), second.in_task(place, task)) for task in shared]
    if place.together:
        # Of a group only the settings that differ, with those that one side did not set.
        for at, sides in enumerate(by_task):
            names = {value.partition("=")[0] for value in {*sides[0]} ^ {*sides[1]}}
            kept = [{value for value in side if value.partition("=")[0] in names} for side in sides]
            unset = [names - {value.partition("=")[0] for value in own} for own in kept]
            told = [
                tuple(sorted([*own, *(f"{name} not set" for name in without)]))
                for own, without in zip(kept, unset, strict=True)
            ]
            by_task[at] = told[0], told[1]
    differing = [each for each in by_task if each[0] and each[1] and each[0] != each[1]]
    kept = differing or by_task
    return RecordedValues(
        baseline=_texts(value for own, _ in kept for value in own),
        candidate=_texts(value for _, own in kept for value in own),
        n_tasks=len(shared),
        n_differ=len(differing),
    )


def shown(values: Sequence[str]) -> str | None:
    """Return values for a sentence: long ones and digests cut, the first few; None where there are none.

    >>> shown(("0", "5")), shown(("0d" * 32,)), shown(())
    ('0, 5', '0d0d0d0d0d', None)
    """

    def short(value: str) -> str:
        if len(value) >= 32 and all(character in "0123456789abcdefABCDEF" for character in value):
            return value[:_DIGEST_SHOWN]
        return value if len(value) <= _TEXT_SHOWN else f"{value[: _TEXT_SHOWN - 1]}…"

    return comma_list(map(short, values), _VALUES_SHOWN) if values else None


def at_path(config: Mapping[str, object], path: str) -> object:
    """Return what stands at a path of names with dots between them; None where there is nothing.

    Options written as text (`gen_kwargs: "temperature=0,top_p=1"`) are read as an object.

    >>> at_path({"generate_config": {"max_tokens": 100}, "gen_kwargs": "top_p=1"}, "generate_config.max_tokens")
    100
    >>> at_path({"gen_kwargs": "top_p=1,do_sample=True"}, "gen_kwargs.do_sample")
    'True'
    """
    value: object = config
    for name in path.split("."):
        if isinstance(value, str):
            value = dict(part.split("=", 1) for part in value.split(",") if "=" in part)
        if not isinstance(value, Mapping):
            return None
        value = cast("Mapping[str, object]", value).get(name)
    return value


def _at_places(config: Mapping[str, object], place: Place) -> list[object]:
    """Return what a configuration has at the first of a setting's paths, or at all that are compared together."""
    at_paths = {path: at_path(config, path) for path in place.paths}
    if place.together:
        members: dict[str, object] = {}
        for path, value in at_paths.items():
            if isinstance(value, Mapping):
                members |= {str(key): part for key, part in cast("Mapping[object, object]", value).items()}
            elif value is not None:
                members.setdefault(path.rpartition(".")[2], value)
        kept = {name: value for name, value in members.items() if value is not None and name not in place.without}
        return [f"{name}={_text(value)}" for name, value in kept.items()]
    first = next((value for value in at_paths.values() if value is not None), None)
    if place.ends and isinstance(first, str):
        first = first.replace("\\", "/").rstrip("/").rpartition("/")[2]
    return [first]


def _config(text: object) -> Mapping[str, object]:
    """Read the configuration; one that is no JSON object says nothing."""
    try:
        value: object = json.loads(text) if isinstance(text, str) else {}
    except (ValueError, RecursionError):
        return {}
    return cast("Mapping[str, object]", value) if isinstance(value, Mapping) else {}


def _texts(values: Iterable[object]) -> tuple[str, ...]:
    return tuple(sorted({_text(value) for value in values if value is not None}))


def _text(value: object) -> str:
    """Write a value so that 1, 1.0 and "1.0" are the same."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Mapping | list):
        return json.dumps(value, sort_keys=True, ensure_ascii=False)
    text = str(value)
    return text.removesuffix(".0") if _WHOLE.fullmatch(text) else text
