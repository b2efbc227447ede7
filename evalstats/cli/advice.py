"""How advice names options while a command runs: as the command line takes them."""

import json
import os
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from functools import cache

from evalstats.errors import TYPED, Option, written_by

# What the command line has beside the options of questions, under another name than the argument's.
_OWN = {
    "pilot": "--from",
    "folder": "--output",
    "into": "--store",
    "values": "--map",
    "published": "--where",
}


@contextmanager
def on_the_shell() -> Generator[None]:
    """Let what is said meanwhile name options of the command line, by the cells of a page too: they run in another process."""
    before = os.environ.get(TYPED)
    os.environ[TYPED] = "1"
    try:
        with written_by(as_typed):
            yield
    finally:
        if before is None:
            del os.environ[TYPED]
        else:
            os.environ[TYPED] = before


def as_typed(options: Sequence[Option]) -> str:
    """Return options as they are typed: a value is one word of the shell, whatever stands in it.

    >>> print(as_typed([Option("cluster", "user id"), Option("higher_is_better", False)]))
    --cluster 'user id' --lower-is-better
    >>> print(as_typed([Option("map", "sample seed", of="trial"), Option("where", of="benchmark", blank="NAME")]))
    --map 'trial=sample seed' --where benchmark=NAME
    >>> print(as_typed([Option("accept", ("n_shots", "judge"))]))
    --accept n_shots --accept judge
    """
    return " ".join(map(_typed, options))


def _typed(option: Option) -> str:
    from evalstats.analysis.settings import quoted

    flag, _, opposite = _flags().get(option.name, f"--{option.name.strip('_').replace('_', '-')}").partition("/")
    value = option.value
    if option.name == "values" and isinstance(value, tuple):
        label, meaning = (json.dumps(each, ensure_ascii=False) for each in value)
        return (
            f"{flag} map.toml, a file with a line [values.{option.of}] and below it what each label stands for "
            f"({label} = {meaning})"
        )
    if isinstance(value, bool):
        return flag if value else opposite
    if isinstance(value, tuple) and option.of:
        value = ",".join(map(_text, value))
    if isinstance(value, tuple):
        return " ".join(_typed(Option(option.name, each)) for each in value)
    text = option.blank if value is None else _text(value)
    text = f"{option.of}={text}" if option.of else text
    if not text:
        return flag
    return f"{flag}={quoted(text)}" if text.startswith("-") else f"{flag} {quoted(text)}"


def _text(value: str | float) -> str:
    return value if isinstance(value, str) else f"{value:g}"


@cache
def _flags() -> dict[str, str]:
    """Return the flags of arguments whose own name they do not bear."""
    from evalstats.options import offered
    from evalstats.questions import QUESTIONS, signature_of

    found = dict(_OWN)
    for question in QUESTIONS:
        for each in offered(signature_of(question)):
            found.update((each.name, flag) for flag in each.flags[::-1] if flag.startswith("--"))
    return found
