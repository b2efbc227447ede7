"""Every error that evalstats raises on purpose.

Each message is one sentence or two: what was found, what was expected, what to do next.
The command line turns `exit_status` into the process's exit status.

What to do next names options, and an `Option` is a part of the message: it is an argument in Python, and while a command runs
what is typed there. No text is ever rewritten, since any of it may be a name from a file.
"""

import os
import warnings
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from inspect import currentframe
from keyword import iskeyword
from pathlib import Path
from typing import Final

# The exit status of a fault of ours: none that means an answer, a gate that failed or bad input; sysexits.h: EX_SOFTWARE.
OUR_FAULT = 70
_PACKAGE = f"{Path(__file__).parent}{os.sep}"


@dataclass(frozen=True, slots=True)
class Option:
    """An option that advice names: by its argument in Python, and written for whoever reads it (`written_by`).

    `value` is what the argument is given, `blank` the word that stands for what the reader fills in, `of` the key of a pair:
    the column of `where` and of `map`, the model of `cutoffs`. `map` names a column of a table of one's own, `values` what a
    label in it means, `published` is `where` of published numbers, `into` the store that a file is read into.
    In an f-string it becomes text at once, which suits what is said to one reader, such as an error; what is stored keeps it as
    a part of `Advice`.

    Attributes
    ----------
    name
        The argument in Python: "cluster".

    Examples
    --------
    >>> print(f"add {Option('cluster', 'passage')}, or choose with {Option('where', of='benchmark', blank='NAME')}")
    add cluster='passage', or choose with data.where(benchmark=NAME)
    """

    name: str
    value: "str | float | bool | tuple[str | float, ...] | None" = None
    blank: str = ""
    of: str = ""

    def __str__(self) -> str:
        """Write it as the reader types it."""
        return together(self)


# What is told to do: words, and the options among them.
Advice = str | tuple[str | Option, ...]
# Writes options that are given together.
Writer = Callable[[Sequence[Option]], str]


def written(advice: Advice) -> str:
    """Return advice as text for whoever reads it now.

    >>> written(("add ", Option("trials_from_runs")))
    'add data.trials_from_runs()'
    """
    return advice if isinstance(advice, str) else "".join(map(str, advice))


def together(*options: Option) -> str:
    """Return options that are given together as text for whoever reads it now.

    >>> print(together(Option("map", "question id", of="item"), Option("map", blank="COLUMN", of="score")))
    item='question id', score=COLUMN
    """
    return _WRITER[0](options)


# What is to be copied begins such a line of a message, which is shown unbroken at any width.
LINE: Final = "\n    "


def may_fit(lines: Sequence[str]) -> str:
    """Show what may be copied, each on a line of its own.

    >>> print(may_fit(["evalstats.read('a.csv')"]))
    This may fit:
        evalstats.read('a.csv')
    """
    return "".join([f"{'One of these' if len(lines) > 1 else 'This'} may fit:", *(f"{LINE}{line}" for line in lines)])


@contextmanager
def written_by(writer: Writer) -> Generator[None]:
    """Let options be written otherwise meanwhile; the command line writes them as its own."""
    before, _WRITER[0] = _WRITER[0], writer
    try:
        yield
    finally:
        _WRITER[0] = before


def under_names(names: Mapping[str, str]) -> AbstractContextManager[None]:
    """Let options meanwhile be those of other names: what one side of `gap` is asked with has a name of its own."""
    outer = _WRITER[0]
    return written_by(lambda options: outer([replace(each, name=names.get(each.name, each.name)) for each in options]))


def _as_arguments(options: Sequence[Option]) -> str:
    return ", ".join(map(_as_argument, options))


def _as_argument(option: Option) -> str:
    name, of = option.name, option.of
    # What a command reads from a file is a table of names in Python.
    blank = "{...}" if option.blank == "FILE" else option.blank
    value = blank or ("" if option.value is None else _literal(option.value))
    match name:
        case "trials_from_runs":
            return "data.trials_from_runs()"
        case "store":
            return f"open_store({value or '...'})"
        case "into":
            return f"into the store {value}"
        case "where" | "lab_where" | "live_where":
            return f"{'data' if name == 'where' else name[:-6]}.where({_pair(of, value) if of else '...'})"
        case "published":
            return f"data.aggregates.filter(pl.col({of!r}) == {value})"
        case "map" if of:  # as `from_frame` takes it
            return _pair(of, value)
        case "values" if isinstance(option.value, tuple):
            label, meaning = option.value
            told = f"{{{label!r}: {meaning!r}}}"
            return f"labels={told}" if of == "winner" else f"values={{{of!r}: {told}}}"
        case _:
            return f"{_ARGUMENTS.get(name, name)}={f'{{{of!r}: {value}}}' if of else value}"


def _pair(name: str, value: str) -> str:
    return f"{name}={value}" if name.isidentifier() and not iskeyword(name) else f"**{{{name!r}: {value}}}"


def _literal(value: str | float | tuple[str | float, ...]) -> str:
    if isinstance(value, float) and value.is_integer():
        return f"{value:.0f}"
    return repr(list(value) if isinstance(value, tuple) else value)


_WRITER: list[Writer] = [_as_arguments]
# What tells a process that a command began that its options are typed: `evalstats` then sees to it.
TYPED = "EVALSTATS_OPTIONS_TYPED"
_ARGUMENTS = {"input_format": "format", "map": "column_map"}


_MOST_CHARS = 4_000


def bounded(text: str) -> str:
    """Return a message with its middle left out where a file's own words make it longer than anyone reads.

    Examples
    --------
    >>> len(bounded("x" * 9_999)), bounded("short")
    (4003, 'short')
    """
    half = _MOST_CHARS // 2
    return text if len(text) <= _MOST_CHARS else f"{text[:half]} … {text[-half:]}"


class EvalStatsError(Exception):
    """Base of all errors raised on purpose. `except EvalStatsError` catches every one of them."""

    exit_status: int = 2

    def __init__(self, message: str = "", *more: object) -> None:
        super().__init__(bounded(message), *more)


class InputError(EvalStatsError):
    """A table, an argument or an option is not what it must be."""


class UnreadableFileError(InputError):
    """A result file cannot be read: damaged, too large, of an unknown format, or not what its name says."""


class StoreError(EvalStatsError):
    """A store is missing, damaged, or was written by a newer version."""


class CannotAnswerError(EvalStatsError):
    """The data are fine, but they cannot answer the question (no shared items, too few clusters, ...)."""

    exit_status = 3


class NothingSharedError(CannotAnswerError):
    """No item was answered by both sides, so that nothing can be paired."""


class RenderError(EvalStatsError):
    """A report could not be rendered by the chosen engine."""


class EvalStatsWarning(UserWarning):
    """Something the user should know and that no result object could carry."""


def warn(text: str) -> None:
    """Warn at the line of the user's that led here: the nearest outside this package."""
    frame, level = currentframe(), 1
    while frame is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame, level = frame.f_back, level + 1
    warnings.warn(text, EvalStatsWarning, stacklevel=level)
