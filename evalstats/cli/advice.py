"""How advice names options while a command runs: as the command line takes them."""

from collections.abc import Generator
from contextlib import contextmanager
from functools import cache

from evalstats import errors
from evalstats.errors import Option, written_by

# What the command line has beside what a question declares, under another name than the argument's.
_OWN = {
    "cutoffs": "--cutoff",
    "families": "--family",
    "n_trials": "--trials",
    "costs": "--cost",
    "pilot": "--from",
    "name": "--system",
}


@contextmanager
def on_the_shell() -> Generator[None]:
    """Let what is said meanwhile name options of the command line."""
    with errors.on_the_shell(), written_by(as_typed):
        yield


def as_typed(option: Option) -> str:
    """Return an option as it is typed: its value is one word of the shell, whatever stands in it.

    >>> print(as_typed(Option("cluster", "user id")), as_typed(Option("higher_is_better", False)))
    --cluster 'user id' --lower-is-better
    >>> print(
    ...     as_typed(Option("map", "sample seed", of="trial")), as_typed(Option("where", of="benchmark", blank="NAME"))
    ... )
    --map 'trial=sample seed' --where benchmark=NAME
    >>> print(as_typed(Option("accept", ("n_shots", "judge"))))
    --accept n_shots --accept judge
    """
    from evalstats.analysis.repeat import quoted

    flag, _, opposite = _flags().get(option.name, f"--{option.name.strip('_').replace('_', '-')}").partition("/")
    value = option.value
    if isinstance(value, bool):
        return flag if value else opposite
    if isinstance(value, tuple) and option.of:
        value = ",".join(map(_text, value))
    if isinstance(value, tuple):
        return " ".join(as_typed(Option(option.name, each)) for each in value)
    text = option.blank if value is None else _text(value)
    text = f"{option.of}={text}" if option.of else text
    if not text:
        return flag
    return f"{flag}={quoted(text)}" if text.startswith("-") else f"{flag} {text if option.blank else quoted(text)}"


def _text(value: str | float) -> str:
    return value if isinstance(value, str) else f"{value:g}"


@cache
def _flags() -> dict[str, str]:
    """Return the flags of arguments whose own name they do not bear."""
    from evalstats.analysis.options import offered
    from evalstats.analysis.repeat import QUESTIONS, options_of

    found = dict(_OWN)
    for question in QUESTIONS:
        for each in offered(options_of(question)):
            found.update((each.name, flag) for flag in each.option.flags[::-1] if flag.startswith("--"))
    return found
