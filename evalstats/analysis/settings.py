"""How a result was asked for: the question, the options that were given, and what the data were read from.

`recorded` stands at every question's function. It takes numbers for the names that tables write, and notes the call; the
command line adds how it read the files. What is noted is values, never a path as it was typed: of a path its last part, since
folders may say who somebody is.
"""

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from functools import partial, wraps
from pathlib import Path, PurePath
from typing import Any, ParamSpec, TypeVar, cast, overload

import polars as pl

from evalstats.errors import InputError
from evalstats.options import Offered, offered
from evalstats.schema.data import EvalData, as_data
from evalstats.schema.names import as_names, name_of, names_of
from evalstats.schema.plan import LiveMix, Plan

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The call that made a result, in values that JSON can hold.

    Attributes
    ----------
    question
        Name of the function, and of its command.
    options
        Arguments that differ from their defaults, by their names in Python.
    files
        Argument to the files that its data were read from, by their last parts.
    reading
        Where a command asked: how it read the files, by the names of its options.
    unsaid
        Arguments that were given as objects, which no text can repeat: a table in memory, a plan made in code.
    """

    question: str
    options: dict[str, Any] = field(default_factory=dict[str, Any])
    files: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    reading: dict[str, Any] | None = None
    unsaid: tuple[str, ...] = ()


@overload
def recorded(question: str) -> Callable[[Callable[P, R]], Callable[P, R]]: ...
@overload
def recorded(question: Callable[P, R]) -> Callable[P, R]: ...
def recorded(question: str | Callable[P, R]) -> Any:
    """Let a question's function take numbers as names, and its results say how they were asked for.

    A part of a question says by the name of which it was.
    """
    return _recorded(question, question.__name__) if callable(question) else partial(_recorded, question=question)


def _recorded(function: Callable[P, R], question: str) -> Callable[P, R]:
    signature = inspect.signature(function)
    options = {each.name: each for each in offered(signature)}
    data = [name for name in signature.parameters if name not in options and name != "plan" and not _listens(name)]

    @wraps(function)
    def asked(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError:
            return function(*args, **kwargs)  # which says itself what is wrong with the call
        given = bound.arguments
        for name in options.keys() & given.keys():
            given[name] = _named(options[name], given)
        result = function(*bound.args, **bound.kwargs)
        defaults = {name: each.default for name, each in signature.parameters.items()}
        return _with(result, _settings(question, given, defaults, data))

    return asked


def _listens(name: str) -> bool:
    """Whether an argument is told what is done while the call runs."""
    return name.startswith("on_")


def _named(option: Offered, given: Mapping[str, Any]) -> Any:
    """Return the value of an option; where it names models or levels, with numbers written as the tables write them."""
    value = given[option.name]
    if value is None or option.flag.names is None:
        return value
    found: Any = as_names(value)
    if found is not value:
        found = as_names(value, _dtype(given, option.flag.names))
    if option.kinds == (str,) and not isinstance(found, str):
        raise InputError(f"{option.name} is {value!r}; give one name")
    if option.takes(Sequence) and not option.takes(str) and isinstance(found, str):
        return names_of(found)
    if Mapping[str, str] in option.kinds and isinstance(found, Mapping):
        return {key: name_of(each) for key, each in cast("Mapping[str, object]", found).items()}
    return found


def _dtype(given: Mapping[str, Any], columns: Sequence[str]) -> pl.DataType | None:
    """Return the type of the column whose levels an argument names; None where it is one of the tables' own names."""
    wanted = [column for each in columns if isinstance(column := given.get(each), str)]
    data = given.get("data")
    if not wanted or wanted[0] == "model" or data is None:
        return None
    held = as_data(data)
    column = held.factor_names().get(wanted[0], wanted[0])
    return held.outcomes.schema.get(column)


def _with(result: R, settings: Settings) -> R:
    untyped: Any = result
    if isinstance(result, tuple):
        return cast("R", tuple(_with(each, settings) for each in untyped))
    if hasattr(untyped, "origin"):
        return replace(untyped, origin=replace(untyped.origin, settings=settings))
    return replace(untyped, settings=settings)


def asked_on_shell(result: R, typed: Mapping[str, Any]) -> R:
    """Add to a result how a command read its data: `typed` are its options but for those of the question."""
    untyped: Any = result
    settings: Settings | None = untyped.settings
    if settings is None:
        return result
    shell = {name: _typed(name, value) for name, value in typed.items()}
    # What one question saw of the data that all questions share.
    own = [each for each in (settings.reading or {}).get("where", []) if each not in shell.get("where", [])]
    if own:
        columns = {each.partition("=")[0] for each in own}
        shell["where"] = [*own, *(each for each in shell.get("where", []) if each.partition("=")[0] not in columns)]
    return _with(result, replace(settings, reading=shell))


def asked_of_part(result: R, column: str, level: str) -> R:
    """Add to a result that it saw only the rows with a level, of all that its files hold."""
    untyped: Any = result
    settings: Settings | None = untyped.settings
    if settings is None or not any(settings.files.values()):
        return result
    paths = [file for files in settings.files.values() for file in files]
    return _with(result, replace(settings, reading={"paths": paths, "where": [f"{column}={level}"]}))


def _typed(name: str, value: object) -> Any:
    """Return a value of the shell; of a path its last part."""
    if isinstance(value, PurePath):
        return last_parts([value])[0]
    if name == "targets":
        return list(last_parts(cast("Sequence[str]", value)))
    if isinstance(value, tuple | list):
        listed = cast("Sequence[Any]", value)
        if listed and all(isinstance(each, PurePath) for each in listed):
            return list(last_parts(listed))
        # A column map may be a file, and so may a mix.
        return [PurePath(each).name if name == "map" and "=" not in str(each) else each for each in listed]
    return PurePath(str(value)).name if name == "mix" else value


def last_parts(paths: Iterable[str | PurePath]) -> tuple[str, ...]:
    """Return the last part of every path; of two that end alike the parts that tell them apart.

    >>> last_parts(["/home/me/a.csv", "b/c.csv"]), last_parts(["x/run1/out.json", "x/run2/out.json"])
    (('a.csv', 'c.csv'), ('run1/out.json', 'run2/out.json'))
    """
    whole = list(dict.fromkeys(Path(each) if each != Path() else Path.cwd() for each in map(Path, paths)))
    for length in range(1, max((len(each.parts) for each in whole), default=0) + 1):
        names = tuple("/".join(each.parts[-length:]).lstrip("/") or each.name for each in whole)
        if len(set(names)) == len(names):
            return names
    return tuple(str(each) for each in whole)


def _settings(question: str, given: Mapping[str, Any], defaults: Mapping[str, Any], data: Sequence[str]) -> Settings:
    options: dict[str, Any] = {}
    files: dict[str, tuple[str, ...]] = {}
    unsaid: list[str] = []
    for name, value in given.items():
        if (value is None and defaults[name] is None) or _listens(name):
            continue
        if name in data:
            files[name] = _files(value)
            continue
        try:
            written = _written(value)
        except TypeError:
            unsaid.append(name)
            continue
        default = defaults[name]
        if default is inspect.Parameter.empty or written not in (_written(default), [default]):
            options[name] = written
    return Settings(question=question, options=options, files=files, unsaid=tuple(unsaid))


def _files(value: object) -> tuple[str, ...]:
    if not isinstance(value, EvalData):
        return ()
    # Tables in memory and those that ship have no file, or no digest of one.
    read = value.runs.filter(pl.col("source_digest").is_not_null(), pl.col("source") != "frame")
    return last_parts(read["source"].unique().sort().to_list())


def _written(value: Any) -> Any:
    """Return a value as JSON holds it; TypeError for what it cannot hold."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Plan) and value.source:
        return PurePath(value.source).name
    if isinstance(value, LiveMix):
        return {"factor": value.factor, "shares": dict(value.shares)}
    if isinstance(value, Mapping):
        return {str(name): _written(each) for name, each in cast("Mapping[object, object]", value).items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_written(each) for each in cast("Iterable[object]", value)]
    raise TypeError(type(value).__name__)
