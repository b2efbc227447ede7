"""Which settings of a run matter to a comparison, where they are recorded, how much they matter, and what they are called."""

import json
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Literal, cast

import msgspec
import polars as pl

from evalstats.errors import some_of
from evalstats.schema.data import EvalData
from evalstats.schema.tables import is_constant, levels_of

_DIGEST_SHOWN = 10
_TEXT_SHOWN = 40
_VALUES_SHOWN = 3
_NOT_SET = "not set"
_WHOLE = re.compile(r"-?\d+\.0")


@dataclass(frozen=True, slots=True, kw_only=True)
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
    """The runs of one side: what is recorded of each, which runs have rows of which task, and the models of the rows."""

    runs: tuple[str, ...]
    models: frozenset[str]
    columns: Mapping[str, Mapping[str, object]]
    configs: Mapping[str, Mapping[str, object]]
    tasks: Mapping[str, tuple[str, ...]]

    def values(self, column: str) -> tuple[str, ...]:
        """Return all values of a column of `runs`, as text, sorted."""
        return _texts(row.get(column) for row in self.columns.values())


def side_runs(data: EvalData, runs: Sequence[str], rows: pl.DataFrame) -> SideRuns:
    """Collect what is recorded of one side; the tasks of each run are those of its rows."""
    columns = {str(row["run"]): row for row in data.rows_of_runs(runs).to_dicts()}
    tasks: dict[str, list[str]] = {}
    pairs = rows[["run", "task"]]
    if all(is_constant(column) for column in pairs):
        pairs = pairs.head(1)  # as most are; to find that by groups takes long
    for run, task in pairs.unique().sort("task", "run").iter_rows():
        tasks.setdefault(task, []).append(run)
    return SideRuns(
        runs=tuple(sorted(runs)),
        models=frozenset(_levels(rows, "model")),
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

    >>> shown(("0", "5")), shown(("0d" * 32,)), shown(())
    ('0, 5', '0d0d0d0d0d', None)
    """
    if not values:
        return None
    return some_of(map(_short, values), _VALUES_SHOWN)


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


Severity = Literal["invalid", "weakens", "note"]
LISTED = 3
_SHOTS = Place(column="n_shots", by_task="shots")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunDifference:
    """One thing in which the runs of the two sides differ: one of `evalstats.schema.plan.SETTINGS`.

    `baseline` and `candidate` are what either side has, in words. A severity of "invalid" means that the difference cannot be
    laid to the systems, "weakens" that it should be read with care. The explanation is a clause without a full stop.
    """

    setting: str
    severity: Severity
    explanation: str
    baseline: str | None = None
    candidate: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sides:
    """Both sides: what is recorded of their runs, their outcome rows of the metric, and what names them apart."""

    first: SideRuns
    second: SideRuns
    first_rows: pl.DataFrame
    second_rows: pl.DataFrame
    contrast: str

    @property
    def models(self) -> str:
        """The models of both sides, for a sentence."""
        return some_of(sorted(self.first.models | self.second.models), LISTED)

    @property
    def same_model(self) -> bool:
        """Whether both sides are the same model (or models)."""
        return self.first.models == self.second.models

    @property
    def named_apart(self) -> bool:
        """Whether the sides are systems that are more than their models: a prompt may then be part of them."""
        first, second = (
            _levels(rows.filter(pl.col("system") != pl.col("model")), "system")
            for rows in (self.first_rows, self.second_rows)
        )
        return first != second

    @property
    def harness(self) -> str | None:
        """The harness of both sides; None where it is not the same or not known."""
        first, second = self.first.values("harness"), self.second.values("harness")
        return first[0] if len(first) == 1 and first == second else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One setting: where it is recorded, and how grave a difference in it is; `settings.toml` says what the fields mean."""

    name: str
    words: str
    why: str
    place: Place
    other: Severity | None = None
    same: Severity | None = None
    alone: Severity | None = None
    treatment: bool = False


def _levels(rows: pl.DataFrame, column: str) -> set[str]:
    return set(levels_of(rows[column]))


_FILE = files("evalstats.analysis.comparability").joinpath("settings.toml")
ENTRIES: dict[str, dict[str, Any]] = tomllib.loads(_FILE.read_text(encoding="utf-8"))
RULES = tuple(
    msgspec.convert({"name": name, **entry}, Rule, strict=False) for name, entry in ENTRIES.items() if "place" in entry
)


def by_rule(rule: Rule, sides: Sides) -> RunDifference | None:
    """Return what a setting's rule says of the two sides; None where they agree or nothing is recorded."""
    if rule.place.together and sides.harness is None:
        return None  # only one and the same program leaves out of its log what was not set
    if rule.name == "fewshot_seed" and _no_examples(sides):
        return None
    found = recorded(rule.place, sides.first, sides.second)
    if found.one_sided:
        return _set_once(rule, found.baseline, found.candidate, sides)
    severity = rule.same if sides.same_model else rule.other
    if not found.n_differ or severity is None:
        return None
    first, second = shown(found.baseline), shown(found.candidate)
    why = rule.why
    if rule.treatment and sides.same_model:
        why = _compared(sides)
    elif rule.name == "prompt" and sides.named_apart:
        severity, why = (
            "weakens",
            "the systems are more than their models, so the difference is one of system and prompt together",
        )
    elif rule.name == "prompt" and sides.harness == "lm-eval" and _shots_differ(sides):
        # lm-eval's digest takes the number of worked examples in.
        severity, why = (
            "note",
            "as it must with other worked examples; whether the template differs too is not recorded",
        )
    where = f" on {found.n_differ} of {found.n_tasks} tasks" if found.n_differ < found.n_tasks else ""
    return RunDifference(
        setting=rule.name,
        baseline=first,
        candidate=second,
        severity=severity,
        explanation=f"{rule.words} differs between the two sides ({first} against {second}){where}: {why}",
    )


def gaps(sides: Sides) -> list[tuple[str, str]]:
    """Return the settings that one side alone records, in words, with the side; not those that `by_rule` tells of."""
    found: list[tuple[str, str]] = []
    for rule in RULES:
        values = recorded(rule.place, sides.first, sides.second)
        if values.one_sided and rule.alone and not rule.place.together and not _is_set_once(rule, sides):
            found.append((rule.words, "baseline" if values.baseline else "candidate"))
    return found


def _is_set_once(rule: Rule, sides: Sides) -> bool:
    """Whether a setting that one side lacks was not set there, instead of merely not recorded."""
    return rule.alone == "weakens" and sides.harness is not None


def _set_once(rule: Rule, first: tuple[str, ...], second: tuple[str, ...], sides: Sides) -> RunDifference | None:
    if not _is_set_once(rule, sides):
        return None
    which = "baseline" if first else "candidate"
    compared = rule.treatment and sides.same_model
    return RunDifference(
        setting=rule.name,
        baseline=shown(first),
        candidate=shown(second),
        severity="note" if compared else "weakens",
        explanation=(
            f"{rule.words} is set for the {which} only ({shown(first or second)}): {_compared(sides) if compared else rule.why}"
        ),
    )


def _compared(sides: Sides) -> str:
    return f"both sides are {sides.models}, so this is what is compared"


def _shots_differ(sides: Sides) -> bool:
    return bool(recorded(_SHOTS, sides.first, sides.second).n_differ)


def _no_examples(sides: Sides) -> bool:
    shots = recorded(_SHOTS, sides.first, sides.second)
    return {*shots.baseline, *shots.candidate} == {"0"}


def setting_words(name: str) -> str:
    """Return what a setting is called, without an article.

    >>> setting_words("task_version"), setting_words("judge")
    ('version of the task', 'judge')
    """
    words = ENTRIES[name]["words"] if name in ENTRIES else name.replace("_", " ")
    return words.removeprefix("the ")


def graver(differences: Sequence[RunDifference]) -> tuple[str, ...]:
    """Return the settings that make a comparison invalid, each once, in words.

    >>> judge = RunDifference(
    ...     setting="judge", baseline="a", candidate="b", severity="invalid", explanation="the judge differs"
    ... )
    >>> graver([judge, judge])
    ('judge',)
    """
    return tuple(dict.fromkeys(map(setting_words, invalidating(differences))))


def invalidating(differences: Sequence[RunDifference]) -> tuple[str, ...]:
    """Return the settings that make a comparison invalid, each once, as `accept` takes them."""
    return tuple(dict.fromkeys(each.setting for each in differences if each.severity == "invalid"))
