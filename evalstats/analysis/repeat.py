"""How a result is had again: the command and the Python that give it, built from its settings and nothing that was typed.

Names come from files. On the shell each is one word whatever stands in it, in Python one string; what no output shows as it is
(blanks in a row, control characters, what build servers obey) is written as an escape.
"""

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from inspect import Parameter
from typing import Any, cast

from evalstats.analysis.settings import Settings
from evalstats.document.model import Block, Code, Document, Section
from evalstats.options import OF_FILES, Offered, offered
from evalstats.questions import QUESTIONS, signature_of

_WIDTH = 88
# What a view would fold, cut or escape, where it is to be copied as it is.
_NOT_AS_IS = re.compile(r" {2,}|#{2,}|`{4,}")
_SIDES = ("baseline", "candidate")
_PATHS = ("paths", "targets")


def with_repeat(document: Document, settings: Settings) -> Document:
    """Return a document whose method ends with how the result is had again."""
    whole = settings.reading is None and any(settings.files.values())
    before = "# Rows that were left out in Python need --where here.\n" if whole else ""
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
    groups = [group for name, value in shell.items() for group in _group(f"--{_dashed(name)}", value)]
    if settings.reading is None:
        paths, groups = _from_files(settings)
    elif settings.files and not paths and not {"store", "lab", "from_"} & set(shell):
        raise _CannotBeSaidError
    if any(name not in shell for name in settings.unsaid):
        raise _CannotBeSaidError
    known = {each.name: each for each in offered(signature_of(settings.question))}
    # Two files are two sides.
    by_file = _SIDES if settings.reading is not None and len(paths) == 2 and _has_sides(settings) else ()
    for name, value in settings.options.items():
        if name == "plan" and name not in shell:
            groups += _group("--plan", value)
        elif name not in shell and name not in by_file:
            groups += _asked(known[name], value)
    return paths, groups


def _has_sides(settings: Settings) -> bool:
    return QUESTIONS[settings.question].form == "sides"


def _from_files(settings: Settings) -> tuple[list[str], list[list[str]]]:
    """Return where the data of a call in Python came from; a table in memory has no file."""
    if not all(settings.files.values()):
        raise _CannotBeSaidError
    if "live" in settings.files:
        return [], [[f"--{side}", file] for side in ("lab", "live") for file in settings.files[side]]
    found = [file for files in settings.files.values() for file in files]
    return ([], [["--from", file] for file in found]) if "pilot" in settings.files else (found, [])


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


def _dashed(name: str) -> str:
    return name.strip("_").replace("_", "-")


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
    shell = settings.reading or {}
    # Votes are filtered by the command alone; files of one model give their names to the sides there alone.
    if (shell.get("where") and QUESTIONS[settings.question].form == "votes") or _named_by_file(settings):
        return ""
    lines = [line for name in settings.files for line in _reading(name, settings)]
    parameters = signature_of(settings.question).parameters
    arguments = [name if _by_place(parameters[name]) else f"{name}={name}" for name in settings.files]
    for name, value in settings.options.items():
        written = _argument(name, value, shell)
        arguments.append(written if _by_place(parameters[name]) else f"{name}={written}")
    for name in settings.unsaid:
        file = shell.get(name)
        lines.append(f"# {name}: as given" if file is None else f"{name} = read_table(Path({_literal(file)}))")
        arguments.append(f"{name}={name}")
    call = f"result = {_call(f'es.{settings.question}', arguments)}"
    return "\n".join([*_imports("\n".join(lines)), *lines, call])


def _by_place(parameter: Parameter) -> bool:
    return parameter.kind is Parameter.POSITIONAL_OR_KEYWORD


def _call(function: str, arguments: Sequence[str]) -> str:
    line = f"{function}({', '.join(arguments)})"
    return (
        line if len(line) <= _WIDTH - 10 else "\n".join([f"{function}(", *(f"    {each}," for each in arguments), ")"])
    )


def _imports(text: str) -> list[str]:
    own = [name for name in ("read_ratings", "read_table") if f"{name}(" in text]
    first = ["from pathlib import Path\n"] if own else []
    return [*first, "import evalstats as es", *(f"from evalstats.loaders.ratings import {name}" for name in own), ""]


def _named_by_file(settings: Settings) -> bool:
    """Whether both sides are called after their files, since these name one model."""
    files = (settings.reading or {}).get("targets", [])
    sides = [str(settings.options.get(side)) for side in _SIDES]
    return len(files) == 2 and all(side.endswith(file) for side, file in zip(sides, files, strict=True))


def _reading(name: str, settings: Settings) -> list[str]:
    """Return the lines that read one argument's data."""
    shell = settings.reading or {}
    own = [*shell.get("paths", []), *shell.get("targets", []), *shell.get("from_" if name == "pilot" else name, [])]
    source = _source(name, own or settings.files[name], shell)
    lines = [f"{name} = {source}" if source else f"# {name}: the table that was given"]
    if settings.reading is None and settings.files[name]:
        lines[0] += "  # and filtered, if it was"
    return [*lines, f"{name} = {name}.trials_from_runs()"] if shell.get("trials_from_runs") else lines


def _source(name: str, files: Sequence[str], shell: Mapping[str, Any]) -> str:
    where = _levels(shell.get(f"{name}_where") or shell.get("where") or [])
    if shell.get("store"):
        kept = f".where(**{_literal(where)})" if where else ""
        return f"es.open_store({_literal(shell['store'])}).read(){kept}"
    if not files:
        return ""
    if shell.get("raters") or shell.get("humans"):
        return _ratings(files, shell)
    told = {
        "where": _literal(where) if where else "",
        "column_map": f"es.ColumnMap.from_options({_literal(shell['map'])})" if shell.get("map") else "",
        "format": _literal(shell["input_format"]) if shell.get("input_format") else "",
    }
    return _call("es.read", [*map(_literal, files), *(f"{key}={value}" for key, value in told.items() if value)])


def _ratings(files: Sequence[str], shell: Mapping[str, Any]) -> str:
    columns = dict(pair.partition("=")[::2] for pair in shell.get("map", []))
    told = {
        **{name: shell[name] for name in ("raters", "humans") if shell.get(name)},
        **({"rows": columns.pop("rows")} if "rows" in columns else {}),
        **({"columns": columns} if columns else {}),
    }
    listed = ", ".join(f"Path({_literal(file)})" for file in files)
    return f"read_ratings([{listed}]{''.join(f', {name}={_literal(value)}' for name, value in told.items())})"


def _levels(conditions: Sequence[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for condition in conditions:
        name, _, level = condition.partition("=")
        found.setdefault(name, []).append(level)
    return found


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
