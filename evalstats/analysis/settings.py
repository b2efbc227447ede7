"""How a result was asked for, and how it is had again: the call in values, and the command and the Python built from these.

`recorded` stands at every question's function. It takes numbers for the names that tables write, and notes the call; the
command line adds how it read the files. What is noted is values; of a path what leads there from the working folder, and of one
that starts elsewhere the last part, since folders may say who somebody is. Names come from files: on the shell each is one word
whatever stands in it, in Python one string; what no output shows as it is (blanks in a row, control characters, what build
servers obey) is written as an escape.
"""

import inspect
import json
import re
import shlex
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import field, replace
from datetime import date
from difflib import get_close_matches
from functools import wraps
from inspect import Parameter
from pathlib import Path, PurePath
from typing import Any, Final, ParamSpec, TypeVar, cast

import polars as pl

from evalstats.document.model import Block, Code, Document, Note, Section
from evalstats.errors import InputError
from evalstats.options import OF_FILES, Offered, asked_names, check_value, names_in, offered
from evalstats.questions import QUESTIONS, signature_of
from evalstats.record import record
from evalstats.schema.data import EvalData, as_data, as_two_sides
from evalstats.schema.names import as_names, name_of, names_of
from evalstats.schema.plan import LiveMix, Plan, plan_account
from evalstats.schema.tables import levels_of

P = ParamSpec("P")
R = TypeVar("R")
_WIDTH = 88
# What a view would fold, cut or escape, where it is to be copied as it is.
_NOT_AS_IS = re.compile(r" {2,}|#{2,}|`{4,}")
_SIDES = ("baseline", "candidate")
_PATHS = ("paths", "targets")


@record
class Settings:
    """The call that made a result, in values that JSON can hold.

    Attributes
    ----------
    question
        Name of the function, and of its command.
    options
        Arguments that differ from their defaults, by their names in Python.
    files
        Argument to the files that its data were read from, as they lead from the working folder.
    reading
        Where a command asked: how it read the files, by the names of its options.
    unsaid
        Arguments that were given as objects, which no text can repeat: a table in memory, a plan made in code.
    finds_columns
        Whether a file was a table of one's own, whose columns the names of the question helped to find.
    """

    question: str
    options: dict[str, Any] = field(default_factory=dict[str, Any])
    files: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    reading: dict[str, Any] | None = None
    unsaid: tuple[str, ...] = ()
    finds_columns: bool = False


def recorded(function: Callable[P, R]) -> Callable[P, R]:
    """Let a question's function take numbers as names, and its results say how they were asked for.

    The question is the folder that the function stands in, which may hold functions of parts of it, too.
    """
    question, signature = function.__module__.split(".")[-2], inspect.signature(function)
    options = {each.name: each for each in offered(signature)}
    # Listeners (`on_...`) are told what is done while the call runs.
    asked_for = [name for name in signature.parameters if not name.startswith("on_")]
    data = [name for name in asked_for if name not in options and name != "plan"]
    defaults = {name: each.default for name, each in signature.parameters.items()}

    @wraps(function)
    def asked(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError as error:
            unknown = next((name for name in kwargs if name not in signature.parameters), None)
            meant = f"; {_meant(unknown, signature.parameters)}" if unknown else ""
            raise TypeError(f"{function.__name__}() {error}{meant}") from None
        given = bound.arguments
        targets = _targets(given) if {*_SIDES} <= options.keys() else []
        if targets:
            given["data"], (given["baseline"], given["candidate"]) = as_two_sides(targets)
        for name in options.keys() & given.keys():
            given[name] = _named(options[name], given, question)
            check_value(options[name], given[name])
        for name in data:  # a path is read here, so that the call is told as that of its file
            if isinstance(given.get(name), str | PurePath):
                given[name] = as_data(given[name], asked_names(question, given))
        result = function(*bound.args, **bound.kwargs)
        told = {name: value for name, value in given.items() if name in asked_for}
        result = _with(result, _settings(question, told, defaults, data))
        return asked_on_shell(result, {"targets": targets}) if targets else result

    return asked


# What other packages call our options.
_ELSEWHERE: Final = {
    "conf_level": {"alpha", "ci", "level", "confidence_level", "confidence"},
    "seed": {"random_state", "rng", "random_seed"},
    "cluster": {"groups", "group"},
}


def _meant(unknown: str, known: Collection[str]) -> str:
    """Say which option may be meant by a name that is none, or where columns are named.

    >>> _meant("random_state", ["by", "seed"]), _meant("metrics", ["metric", "seed"])
    ("the option is 'seed'", "the option is 'metric'")
    """
    if unknown in {"item", "score", "model"}:
        return f"columns are named by from_frame(table, {unknown}=...)"
    named = next((name for name, others in _ELSEWHERE.items() if unknown in others and name in known), None)
    meant = [named] if named else get_close_matches(unknown, known, 1)
    return f"the option is {meant[0]!r}" if meant else f"options are {', '.join(known)}"


def _targets(given: Mapping[str, Any]) -> list[Path]:
    """Return two paths that are the sides of a comparison: a list of them, or one after the other, as on the shell."""
    data, baseline, candidate = (given.get(name) for name in ("data", *_SIDES))
    if isinstance(data, str | PurePath) and isinstance(baseline, str | PurePath) and Path(baseline).exists():
        data, baseline = [data, baseline], None
    listed = [*cast("Sequence[object]", data)] if isinstance(data, list | tuple) else []
    paths = [Path(path) for path in listed if isinstance(path, str | PurePath)]
    return paths if baseline is candidate is None and len(paths) == len(listed) == 2 else []


def _named(option: Offered, given: Mapping[str, Any], question: str) -> Any:
    """Return the value of an option; where it names models or levels, with numbers written as the tables write them."""
    value = given[option.name]
    if value is None or option.flag.names is None:
        return value
    found: Any = as_names(value)
    columns = [column for each in option.flag.names if isinstance(column := given.get(each), str)]
    if found is not value and columns and columns[0] != "model" and given.get("data") is not None:
        # Numbers are written as the column has them whose levels are named, but for one of the tables' own names.
        held = as_data(given["data"], asked_names(question, given))
        found = as_names(value, held.outcomes.schema.get(held.factor_names().get(columns[0], columns[0])))
    if option.kinds == (str,) and not isinstance(found, str):
        kind, listed = type(cast("object", value)).__name__, isinstance(value, list | tuple)
        if hasattr(cast("object", value), "shape") or (listed and len(cast("Sequence[object]", value)) > 1):
            raise InputError(f'{option.name} is a {kind}; name both in one dict: {{"old": first, "new": second}}')
        raise InputError(f"{option.name} is {value!r}; give one name")
    if option.takes(Sequence) and not option.takes(str) and isinstance(found, str):
        return names_of(found)
    if Mapping[str, str] in option.kinds and isinstance(found, Mapping):
        return {key: name_of(each) for key, each in cast("Mapping[str, object]", found).items()}
    return found


def _with(result: R, settings: Settings) -> R:
    untyped: Any = result
    if hasattr(untyped, "__iter__"):  # a sequence of results
        return replace(untyped, rows=tuple(_with(each, settings) for each in untyped), settings=settings)
    if hasattr(untyped, "origin"):
        return replace(untyped, origin=replace(untyped.origin, settings=settings))
    return replace(untyped, settings=settings)


def answered_by_plan(
    result: R, plan: Plan, *, benchmark: str, metric: str = "", span: float | None = None, **given: object
) -> R:
    """Add to a result what its plan declares, and to its notes first where the options given depart from it."""
    account = plan_account(plan, benchmark=benchmark, metric=metric, span=span, **given)
    untyped: Any = result
    departures = tuple(Note(kind="plan", text=text) for text in account.departures)
    return replace(untyped, origin=replace(untyped.origin, plan=account), notes=(*departures, *untyped.notes))


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
    """Return a value of the shell; of a path what leads there from here."""
    if isinstance(value, PurePath):
        return from_here([value])[0]
    if isinstance(value, tuple | list):
        listed = cast("Sequence[Any]", value)
        if listed and (name in _PATHS or all(isinstance(each, PurePath) for each in listed)):
            return list(from_here(listed))
        # A column map may be a file, and so may a mix.
        return [from_here([each])[0] if name == "map" and "=" not in str(each) else each for each in listed]
    return from_here([str(value)])[0] if name == "mix" else value


def from_here(paths: Iterable[str | PurePath]) -> tuple[str, ...]:
    """Return paths as they lead from the working folder; of those that start elsewhere the last part, or what tells them apart.

    >>> from_here(["/home/me/a.csv", "b/c.csv"]), from_here(["/x/run1/out.json", "/x/run2/out.json"])
    (('a.csv', 'b/c.csv'), ('run1/out.json', 'run2/out.json'))
    >>> from_here(["../../alice/a.csv"]), from_here(["a.csv", "/x/alice/a.csv"])
    (('a.csv',), ('a.csv', 'alice/a.csv'))
    """
    here = Path.cwd()
    whole = [path.relative_to(here) if path.is_relative_to(here) else path for path in map(Path, paths)]
    # An address (s3://...), a home, and folders beside those above this one are elsewhere, too.
    away = [
        path
        for path in whole
        if path.is_absolute()
        or (".." in path.parts and {*path.parts[:-1]} != {".."})
        or any(sign in "".join(path.parts[:1]) for sign in ":~")
    ]
    named = {path: path.as_posix() for path in whole}
    for length in range(max((len(path.parts) for path in away), default=0), 0, -1):
        short = {path: "/".join(path.parts[-length:]).lstrip("/") for path in away}
        told_apart = named | short
        named = told_apart if len({*told_apart.values()}) == len(named) else named
    return tuple(named[path] for path in whole)


def _settings(question: str, given: Mapping[str, Any], defaults: Mapping[str, Any], data: Sequence[str]) -> Settings:
    options: dict[str, Any] = {}
    files: dict[str, tuple[str, ...]] = {}
    unsaid: list[str] = []
    finds_columns = False
    for name, value in given.items():
        default = defaults[name]
        if value is None and default is None:
            continue
        if name in data:
            files[name] = ()
            if isinstance(value, EvalData):  # tables in memory and those that ship have no file, or no digest of one
                read = value.runs.filter(pl.col("source_digest").is_not_null(), pl.col("source") != "frame")
                files[name] = from_here(levels_of(read["source"]))
                # A table of one's own, in which a map says what the columns are.
                configs = levels_of(read.filter(pl.col("loader") == "table")["config"])
                finds_columns |= any(json.loads(config).get("columns") for config in configs)
            continue
        try:
            written = _written(value)
        except TypeError:
            unsaid.append(name)
            continue
        if default is Parameter.empty or written not in (_written(default), [default]):
            options[name] = written
    told = tuple(unsaid)
    return Settings(question=question, options=options, files=files, unsaid=told, finds_columns=finds_columns)


def _written(value: Any) -> Any:
    """Return a value as JSON holds it; TypeError for what it cannot hold."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Plan) and value.source:
        return from_here([value.source])[0]
    if isinstance(value, LiveMix):
        return {"factor": value.factor, "shares": dict(value.shares)}
    if isinstance(value, Mapping):
        return {str(name): _written(each) for name, each in cast("Mapping[object, object]", value).items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_written(each) for each in cast("Iterable[object]", value)]
    raise TypeError(type(value).__name__)


# --- how it is had again ---


def with_repeat(document: Document, settings: Settings) -> Document:
    """Return a document whose method ends with how the result is had again."""
    whole = settings.reading is None and any(settings.files.values())
    before = "# If rows were dropped in Python, add --where.\n" if whole else ""
    blocks: list[Block] = [Code(code=before + text, language="sh") for text in [shell_command(settings)] if text]
    blocks += [Code(code=text) for text in [python_code(settings)] if text]
    kept = tuple(section for section in document.method if section.id != "code")
    if not blocks:
        return replace(document, method=kept)
    again = Section(id="code", heading="Repeat this", blocks=tuple(blocks))
    return replace(document, method=(*kept, again))


# --- the shell ---


def shell_command(settings: Settings) -> str:
    r"""Return the command that gives the result again, in the folder of its files; "" where a shell cannot say it.

    >>> print(shell_command(Settings(question="audit", options={"models": ["a", "b c"]}, files={"data": ("x.csv",)})))
    evalstats audit x.csv --models a --models 'b c'
    """
    try:
        first, groups = _words(settings)
    except _CannotBeSaidError:
        return ""
    options = [" ".join(quoted(word) for word in group) for group in groups]
    # What begins with a dash would be read as an option.
    paths = ["--", *first] if any(word.startswith("-") for word in first) else first
    head = ["evalstats", settings.question]
    told = " ".join(quoted(word) for word in paths)
    parts = (
        [" ".join(head), *options, told]
        if paths != first
        else [" ".join(part for part in (*head, told) if part), *options]
    )
    line = " ".join(part for part in parts if part)
    return line if len(line) <= _WIDTH else " \\\n    ".join(part for part in parts if part)


class _CannotBeSaidError(Exception):
    """A shell has no words for an argument."""


def _words(settings: Settings) -> tuple[list[str], list[list[str]]]:
    """Return the files, and every option with its value."""
    shell = dict(settings.reading or {})
    paths = [path for name in _PATHS for path in shell.pop(name, [])]
    groups = [
        group for name, value in shell.items() for group in _group(f"--{name.strip('_').replace('_', '-')}", value)
    ]
    if settings.reading is None:  # a call in Python; a table in memory has no file
        if not all(settings.files.values()):
            raise _CannotBeSaidError
        paths = [file for files in settings.files.values() for file in files]
        if "live" in settings.files:
            groups = [[f"--{side}", file] for side in ("lab", "live") for file in settings.files[side]]
        elif "pilot" in settings.files:
            groups = [["--from", file] for file in paths]
        paths = [] if groups else paths
    elif settings.files and not paths and not {"store", "lab", "from_"} & set(shell):
        raise _CannotBeSaidError
    if any(name not in shell for name in settings.unsaid):
        raise _CannotBeSaidError
    known = {each.name: each for each in offered(signature_of(settings.question))}
    # Two targets are two sides; what was read as one has no order.
    two_files = len((settings.reading or {}).get("targets", [])) == 2 and QUESTIONS[settings.question].form == "sides"
    by_file = _SIDES if two_files else ()
    for name, value in settings.options.items():
        if name == "plan" and name not in shell:
            groups += _group("--plan", value)
        elif name not in shell and name not in by_file:
            groups += _asked(known[name], value)
    return paths, groups


def _asked(option: Offered, value: Any) -> list[list[str]]:
    """Return an argument of Python as options of the shell."""
    flag = next(each for each in option.flags if each.startswith("--"))
    if value in (None, []) and "none" in option.flag.alone:
        return [[flag, "none"]]
    if value is None or (option.flag.reads in OF_FILES and not isinstance(value, str)):
        raise _CannotBeSaidError
    if isinstance(value, bool):
        yes, slash, no = flag.partition("/")
        if not value and not slash:
            raise _CannotBeSaidError
        return [[yes if value else no]]
    if isinstance(value, list) and (option.flag.reads == "metrics" or not option.of_texts):
        return _group(flag, ",".join(map(_text, cast("list[Any]", value))))
    if option.flag.reads == "weights" and any("," in name and "=" in name for name in cast("Sequence[str]", value)):
        raise _CannotBeSaidError
    return _group(flag, value)


def _group(flag: str, value: Any) -> list[list[str]]:
    """Return an option with its value, once for each of several."""
    if value is True:
        return [[flag]]
    if isinstance(value, list | tuple):
        return [group for each in cast("Sequence[Any]", value) for group in _group(flag, each)]
    if isinstance(value, Mapping):
        shares = cast("Mapping[str, Any]", value)
        return [group for name, each in shares.items() for group in _group(flag, f"{name}={_text(each)}")]
    text = _text(value)
    return [[f"{flag}={text}"]] if text.startswith("-") else [[flag, text]]


def _text(value: Any) -> str:
    if isinstance(value, str | int | float):
        return str(value)
    raise _CannotBeSaidError


def quoted(word: str) -> str:
    r"""Return a word as a shell reads it back (bash, zsh), in letters that every view shows as they are.

    >>> print(quoted("a.csv"), quoted("it's"), quoted("a; rm -rf /"), quoted("a  b"))
    a.csv 'it'"'"'s' 'a; rm -rf /' $'a\x20\x20b'
    """
    if word.isprintable() and not _NOT_AS_IS.search(word):
        return shlex.quote(word)
    plain = _NOT_AS_IS.sub(lambda found: "\0" * len(found[0]), word)
    letters = (
        char if shown.isprintable() and shown not in "\\'" else "".join(f"\\x{byte:02x}" for byte in char.encode())
        for char, shown in zip(word, plain, strict=True)
    )
    return f"$'{''.join(letters)}'"


# --- Python ---


def python_code(settings: Settings) -> str:
    """Return Python that gives the result again; "" where a few lines cannot say it.

    >>> print(python_code(Settings(question="frontier", options={"cost": "latency_s"}, files={"data": ("x.csv",)})))
    import evalstats as es
    <BLANKLINE>
    data = es.read('x.csv')  # and filtered, if it was
    result = es.frontier(data, cost='latency_s')
    """
    shell, question = settings.reading or {}, QUESTIONS[settings.question]
    targets, sides = shell.get("targets", []), [str(settings.options.get(side)) for side in _SIDES]
    by_file = len(targets) == 2 and all(
        side.endswith(PurePath(file).name) for side, file in zip(sides, targets, strict=True)
    )
    # Votes are filtered by the command alone; files of one model give their names to the sides there alone.
    if (shell.get("where") and question.form == "votes") or by_file:
        return ""
    lines = [line for name in settings.files for line in _reading(name, settings)]
    parameters = signature_of(settings.question).parameters
    arguments = {name: name for name in settings.files}
    arguments |= {name: _argument(name, value, shell) for name, value in settings.options.items()}
    for name in settings.unsaid:
        results = any(
            each.name == name and each.flag.reads == "results" for each in offered(signature_of(question.name))
        )
        file, read = shell.get(name), "es.read({})" if results else "read_table(Path({}))"
        lines.append(f"# {name}: as given" if file is None else f"{name} = {read.format(_literal(file))}")
    by_place = {name for name in arguments if parameters[name].kind is Parameter.POSITIONAL_OR_KEYWORD}
    written = [value if name in by_place else f"{name}={value}" for name, value in arguments.items()]
    written += [f"{name}={name}" for name in settings.unsaid]
    own = [name for name in ("read_ratings", "read_table") if any(f"{name}(" in line for line in lines)]
    imports = [
        *(["from pathlib import Path\n"] if own else []),
        "import evalstats as es",
        *(f"from evalstats.loaders.ratings import {name}" for name in own),
        "",
    ]
    return "\n".join([*imports, *lines, f"result = {_call(f'es.{settings.question}', written)}"])


def _call(function: str, arguments: Sequence[str]) -> str:
    line = f"{function}({', '.join(arguments)})"
    return (
        line if len(line) <= _WIDTH - 10 else "\n".join([f"{function}(", *(f"    {each}," for each in arguments), ")"])
    )


def _reading(name: str, settings: Settings) -> list[str]:
    """Return the lines that read one argument's data."""
    shell = settings.reading or {}
    own = [*shell.get("paths", []), *shell.get("targets", []), *shell.get("from_" if name == "pilot" else name, [])]
    source = _source(name, own or settings.files[name], settings)
    lines = [f"{name} = {source}" if source else f"# {name}: the table that was given"]
    if settings.reading is None and settings.files[name]:
        lines[0] += "  # and filtered, if it was"
    return [*lines, f"{name} = {name}.trials_from_runs()"] if shell.get("trials_from_runs") else lines


def _source(name: str, files: Sequence[str], settings: Settings) -> str:
    shell = settings.reading or {}
    where: dict[str, list[str]] = {}
    conditions: list[str] = shell.get(f"{name}_where") or shell.get("where") or []
    for condition in conditions:
        column, _, level = condition.partition("=")
        where.setdefault(column, []).append(level)
    if shell.get("store"):
        kept = f".where(**{_literal(where)})" if where else ""
        return f"es.open_store({_literal(shell['store'])}).read(){kept}"
    if not files:
        return ""
    humans = settings.options.get("humans")
    # A table of ratings is none of outcomes, and its run names no file.
    if shell.get("raters") or humans or (settings.question == "judges" and not settings.files.get(name)):
        return _ratings(files, shell, humans)
    told = {
        "where": _literal(where) if where else "",
        "column_map": f"es.ColumnMap.from_options({_literal(shell['map'])})" if shell.get("map") else "",
        "format": _literal(shell["input_format"]) if shell.get("input_format") else "",
    }
    if settings.finds_columns:
        names = names_in(settings.options)._asdict()
        told |= {key: _literal([*own]) for key, own in names.items() if own}
        told["question"] = _literal(settings.question)
    return _call("es.read", [*map(_literal, files), *(f"{key}={value}" for key, value in told.items() if value)])


def _ratings(files: Sequence[str], shell: Mapping[str, Any], humans: object) -> str:
    columns = dict(pair.partition("=")[::2] for pair in shell.get("map", []))
    told = {
        **({"raters": shell["raters"]} if shell.get("raters") else {}),
        **({"humans": humans} if humans else {}),
        **({"rows": columns.pop("rows")} if "rows" in columns else {}),
        **({"columns": columns} if columns else {}),
    }
    listed = ", ".join(f"Path({_literal(file)})" for file in files)
    return f"read_ratings([{listed}]{''.join(f', {name}={_literal(value)}' for name, value in told.items())})"


def _argument(name: str, value: Any, shell: Mapping[str, Any]) -> str:
    if name == "plan":
        return f"es.read_plan({_literal(value)})"
    if name == "mix" and isinstance(value, Mapping) and "shares" in value:
        shares = cast("Mapping[str, Any]", value)["shares"]
        return "es.datasets.rutbench_live_mix()" if shell.get("mix") == "rutbench" else _literal(shares)
    listed = name == "n_trials" and isinstance(value, list)
    return _literal(tuple(cast("list[Any]", value)) if listed else value)


def _literal(value: Any) -> str:
    r"""Return a value as Python, in letters that every view shows as they are.

    >>> print(_literal(["a  b", "##[x]", 0.5]))
    ['a\x20\x20b', '\x23\x23[x]', 0.5]
    """
    return _NOT_AS_IS.sub(lambda found: "".join(f"\\x{ord(char):02x}" for char in found[0]), repr(value))
