"""What is recorded of how each side was run, task by task, in `runs` and in the configuration that loaders keep there."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import polars as pl

from evalstats.schema.data import EvalData

_DIGEST_SHOWN = 10
_TEXT_SHOWN = 40
_VALUES_SHOWN = 3
_NOT_SET = "not set"
_WHOLE = re.compile(r"-?\d+\.0")


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a setting is recorded.

    Attributes
    ----------
    column
        Column of `runs`.
    by_task
        Member of the configuration that has the value of every task, where the tasks of a run differ.
    paths
        Members of the configuration, with dots between the names; the first that is there counts.
    together
        Whether the paths are several settings that are compared together, one absent being one that was not set.
    ends
        Whether a value is a path of which only the last part counts.
    without
        Members of an object that are left out of it, since they are settings of their own.
    """

    column: str | None = None
    by_task: str | None = None
    paths: tuple[str, ...] = ()
    together: bool = False
    ends: bool = False
    without: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class SideRuns:
    """The runs of one side: what is recorded of each, and which runs have rows of which task."""

    runs: tuple[str, ...]
    columns: Mapping[str, Mapping[str, object]]
    configs: Mapping[str, Mapping[str, object]]
    tasks: Mapping[str, tuple[str, ...]]

    def values(self, column: str) -> tuple[str, ...]:
        """Return all values of a column of `runs`, as text, sorted."""
        return _texts(row.get(column) for row in self.columns.values())


def side_runs(data: EvalData, runs: Sequence[str], rows: pl.DataFrame) -> SideRuns:
    """Collect what is recorded of one side.

    Parameters
    ----------
    data
        For its `runs`; a run that is not there has nothing recorded.
    runs
        The side's runs.
    rows
        The side's outcome rows, from which the tasks of each run are taken.
    """
    found = data.runs.filter(pl.col("run").is_in(list(runs)))
    columns = {str(row["run"]): row for row in found.to_dicts()}
    tasks: dict[str, list[str]] = {}
    for run, task in rows.select("run", "task").unique().sort("task", "run").iter_rows():
        tasks.setdefault(task, []).append(run)
    return SideRuns(
        runs=tuple(sorted(runs)),
        columns=columns,
        configs={run: _config(row.get("config")) for run, row in columns.items()},
        tasks={task: tuple(names) for task, names in tasks.items()},
    )


def recorded(place: Place, first: SideRuns, second: SideRuns) -> Recorded:
    """Compare a setting task by task, so that sides whose tasks were run differently are compared like with like."""
    shared = sorted(first.tasks.keys() & second.tasks.keys()) or [""]
    found = [(_of_task(place, first, task), _of_task(place, second, task)) for task in shared]
    if place.together:
        found = [_only_differing(*each) for each in found]
    differing = [each for each in found if each[0] and each[1] and each[0] != each[1]]
    kept = differing or found
    return Recorded(
        baseline=_texts(value for own, _ in kept for value in own),
        candidate=_texts(value for _, own in kept for value in own),
        n_tasks=len(shared),
        n_differ=len(differing),
    )


def shown(values: Sequence[str]) -> str | None:
    """Return values for a sentence: long ones and digests cut, the first few; None where there are none.

    Examples
    --------
    >>> shown(("0", "5")), shown(("0d" * 32,)), shown(())
    ('0, 5', '0d0d0d0d0d', None)
    """
    if not values:
        return None
    more = f" and {len(values) - _VALUES_SHOWN} more" if len(values) > _VALUES_SHOWN else ""
    return ", ".join(_short(value) for value in values[:_VALUES_SHOWN]) + more


def _short(value: str) -> str:
    if len(value) >= 32 and all(character in "0123456789abcdefABCDEF" for character in value):
        return value[:_DIGEST_SHOWN]
    return value if len(value) <= _TEXT_SHOWN else f"{value[: _TEXT_SHOWN - 1]}…"


def _of_task(place: Place, side: SideRuns, task: str) -> tuple[str, ...]:
    runs = side.tasks.get(task, side.runs)
    return _texts(value for run in runs for value in _of_run(place, side, run, task))


def _of_run(place: Place, side: SideRuns, run: str, task: str) -> Iterable[object]:
    config = side.configs.get(run, {})
    if place.by_task is not None:
        own = config.get(place.by_task)
        if isinstance(own, Mapping) and task in own:
            return [cast("Mapping[str, object]", own)[task]]
    if place.column is not None:
        return [side.columns.get(run, {}).get(place.column)]
    if place.together:
        return _together(place, config)
    values = (_ended(at_path(config, path)) if place.ends else at_path(config, path) for path in place.paths)
    return [next((value for value in values if value is not None), None)]


def _together(place: Place, config: Mapping[str, object]) -> list[str]:
    """Return `name=value` for every setting of a group; an object counts member by member."""
    found: dict[str, object] = {}
    for path in place.paths:
        value = at_path(config, path)
        name = path.rpartition(".")[2]
        if isinstance(value, Mapping):
            found |= {str(key): part for key, part in cast("Mapping[object, object]", value).items()}
        elif value is not None:
            found.setdefault(name, value)
    return [
        f"{name}={_text(value)}" for name, value in found.items() if value is not None and name not in place.without
    ]


def _only_differing(first: tuple[str, ...], second: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Keep the settings of a group that differ, and name those that one side did not set."""
    names = {value.partition("=")[0] for value in {*first} ^ {*second}}

    def kept(values: tuple[str, ...]) -> tuple[str, ...]:
        own = [value for value in values if value.partition("=")[0] in names]
        absent = names - {value.partition("=")[0] for value in own}
        return tuple(sorted([*own, *(f"{name} {_NOT_SET}" for name in absent)]))

    return kept(first), kept(second)


def at_path(config: Mapping[str, object], path: str) -> object:
    """Return what stands at a path of names with dots between them; None where there is nothing.

    Options written as text (`gen_kwargs: "temperature=0,top_p=1"`) are read as an object.

    Examples
    --------
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


def _ended(value: object) -> object:
    return value.replace("\\", "/").rstrip("/").rpartition("/")[2] if isinstance(value, str) else value


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
