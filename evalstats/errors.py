"""Every error that evalstats raises on purpose.

Each message is one sentence or two: what was found, what was expected, what to do next.
The command line turns `exit_status` into the process's exit status.

Messages are written with the options of the shell, and read with the arguments of Python wherever no command runs; a form that
does not follow from the option stands behind it: "--reference MODEL (references= in Python)".
"""

import re
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass

# The exit status of a fault of ours: none that means an answer, a gate that failed or bad input; sysexits.h: EX_SOFTWARE.
OUR_FAULT = 70

_ON_THE_SHELL = [False]
_PAIR = re.compile(r"(--[a-z][^()]*?) \(((?:[^()]|\([^()]*\))*) in Python\)")
# How a table of one's own is mapped: on the shell by an option, in Python by what from_frame takes.
_OF_FRAMES = re.compile(r"(--map (?:(?!--map )[^()])*?) \((?:in from_frame: |in Python: )((?:[^()]|\([^()]*\))*)\)")
_FLAGS = {
    "--lower-is-better": "higher_is_better=False",
    "--higher-is-better": "higher_is_better=True",
    "--trials-from-runs": "data.trials_from_runs()",
    "--shared-trials": "shared_trials=True",
    "--independent-trials": "shared_trials=False",
    "--sequential": "sequential=True",
}
_FLAG = re.compile(rf"(?<![\w-])(?:{'|'.join(_FLAGS)})\b(?!-)")
_COMMAND = re.compile(r"(`[^`]*`)")
_WHERE = re.compile(r"(?<![\w-])--where (\w+)=(\w+|'[^']*')")
_CLUSTER = re.compile(r"(?<![\w-])--cluster (?!NAME)(\w+)")
_ACCEPTED = re.compile(r"(?<![\w-])--accept \w+(?: --accept \w+)*")
_MAPPED = re.compile(r"(?<![\w-])--map (?=\w+=)")
_FORMAT = re.compile(r"(?<![\w-])--input-format (\w+)")
_OPTION = re.compile(
    r"(?<![\w-])--([a-z]+(?:-[a-z]+)*)(?: (none|macro|micro|ignorable|bounded|run|fixed|random|[A-Z]+\b))?"
)


@dataclass(frozen=True, slots=True)
class Option:
    """An option that advice names: by its argument in Python, and written for whoever reads it (`written_by`).

    `value` is what the argument is given, `blank` the word that stands for what the reader fills in, `of` the key of a pair:
    the column of `where` and of `map`, the model of `cutoffs`. In an f-string it becomes text at once, which suits what is said
    to one reader, such as an error; what is stored keeps it as a part of `Advice`.

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
        return _WRITER[0](self)


# What is told to do: words, and the options among them.
Advice = str | tuple[str | Option, ...]


def written(advice: Advice) -> str:
    """Return advice as text for whoever reads it now.

    >>> written(("add ", Option("trials_from_runs")))
    'add data.trials_from_runs()'
    """
    return advice if isinstance(advice, str) else "".join(map(str, advice))


@contextmanager
def written_by(writer: Callable[[Option], str]) -> Generator[None]:
    """Let options be written otherwise meanwhile; the command line writes them as its own."""
    before, _WRITER[0] = _WRITER[0], writer
    try:
        yield
    finally:
        _WRITER[0] = before


def _as_argument(option: Option) -> str:
    value = option.blank or ("" if option.value is None else _literal(option.value))
    if option.name == "trials_from_runs":
        return "data.trials_from_runs()"
    if option.name in _TABLES:
        pair = f"{option.of}={value}" if option.of.isidentifier() else f"**{{{option.of!r}: {value}}}"
        return f"{_TABLES[option.name]}.where({pair if option.of else '...'})"
    if option.name == "map":
        # As `from_frame` takes it.
        return f"{option.of}={value}"
    return f"{_ARGUMENTS.get(option.name, option.name)}={f'{{{option.of!r}: {value}}}' if option.of else value}"


def _literal(value: str | float | tuple[str | float, ...]) -> str:
    return repr(list(value) if isinstance(value, tuple) else value)


_WRITER: list[Callable[[Option], str]] = [_as_argument]
_TABLES = {"where": "data", "lab_where": "lab", "live_where": "live"}
_ARGUMENTS = {"input_format": "format"}


@contextmanager
def on_the_shell() -> Generator[None]:
    """Let the errors made meanwhile speak of options."""
    before, _ON_THE_SHELL[0] = _ON_THE_SHELL[0], True
    try:
        yield
    finally:
        _ON_THE_SHELL[0] = before


def spoken(text: str) -> str:
    """Return a text with options while a command runs, and with arguments elsewhere."""
    return _OF_FRAMES.sub(r"\1", _PAIR.sub(r"\1", text)) if _ON_THE_SHELL[0] else as_arguments(text)


def as_arguments(text: str) -> str:
    """Return a message that names options of the shell with the arguments of Python; commands in backticks stay.

    Examples
    --------
    >>> as_arguments("choose one with --metric, or --where benchmark=NAME; --lower-is-better says so")
    'choose one with metric=, or data.where(benchmark=NAME); higher_is_better=False says so'
    >>> as_arguments("leave the clusters out (--cluster none) or average with --average-over (over= in Python)")
    "leave the clusters out (cluster='none') or average with over="
    """
    return "".join(part if part.startswith("`") else _translated(part) for part in _COMMAND.split(text))


def _translated(text: str) -> str:
    text = _OF_FRAMES.sub(r"\2", _PAIR.sub(r"\2", text))
    text = _FORMAT.sub(r"format='\1'", text)
    text = _FLAG.sub(lambda found: _FLAGS[found[0]], text)
    text = _WHERE.sub(lambda found: f"data.where({found[1]}={_value(found[2])})", text)
    text = _ACCEPTED.sub(lambda found: f"accept={found[0].replace('--accept ', '').split()}", text)
    text = _MAPPED.sub("", text)
    text = _CLUSTER.sub(lambda found: f"cluster={found[1]!r}", text)
    return _OPTION.sub(lambda found: f"{found[1].replace('-', '_')}={_value(found[2] or '')}", text)


def _value(word: str) -> str:
    return word if word.isupper() or not word or word.startswith("'") else repr(word)


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


def some_of(names: Iterable[object], most: int = 5, joint: str = ", ") -> str:
    """Return the first things of a list for a message, and how many more there are.

    Examples
    --------
    >>> some_of([1, 2]), some_of(range(9)), some_of(["a: 1", "b: 2", "c: 3"], 1, "; "), some_of([])
    ('1, 2', '0, 1, 2, 3, 4 and 4 more', 'a: 1; and 2 more', 'none')
    """
    listed = [str(name) for name in names]
    rest = len(listed) - most
    more = f"{' ' if joint == ', ' else joint}and {rest:,} more" if rest > 0 else ""
    return joint.join(listed[:most]) + more if listed else "none"


class EvalStatsError(Exception):
    """Base of all errors raised on purpose. `except EvalStatsError` catches every one of them."""

    exit_status: int = 2

    def __init__(self, message: str = "", *more: object) -> None:
        super().__init__(spoken(bounded(message)), *more)


class InputError(EvalStatsError):
    """A table, an argument or an option is not what it must be."""


class UnreadableFileError(InputError):
    """A result file cannot be read: damaged, too large, of an unknown format, or not what its name says."""


class StoreError(EvalStatsError):
    """A store is missing, damaged, or was written by a newer version."""


class CannotAnswerError(EvalStatsError):
    """The data are fine, but they cannot answer the question (no shared items, too few clusters, ...)."""

    exit_status = 3


class RenderError(EvalStatsError):
    """A report could not be rendered by the chosen engine."""


class EvalStatsWarning(UserWarning):
    """Something the user should know and that no result object could carry."""
