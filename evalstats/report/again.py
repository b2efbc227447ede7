"""Code that repeats the question of a page, from the files as they are read."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

READ_FILES = "es.read(...)  # the files of the runs below"
OPEN_STORE = "es.open_store(...).read()  # the store of the runs below"


@dataclass(frozen=True, slots=True)
class Code:
    """An expression that is printed as it is, and not as text in quotes."""

    text: str

    def __repr__(self) -> str:
        return self.text


def plan_again(plan: str | Path | None) -> Code | None:
    """Return the expression that reads a plan, by its name and no folder: where it lies is nobody's business.

    Examples
    --------
    >>> plan_again("a/b/evalstats.toml"), plan_again(None)
    (es.read_plan('evalstats.toml'), None)
    """
    return Code(f"es.read_plan({Path(plan).name!r})") if plan else None


def arguments(options: Sequence[tuple[str, object, object]]) -> str:
    """Return the further arguments of a call: name, value and default of each, of which only other values are named.

    Examples
    --------
    >>> arguments([("seed", 3, 0), ("metric", None, None)])
    ', seed=3'
    """
    return "".join(f", {name}={value!r}" for name, value, default in options if value != default)


def call_of(function: str, options: Sequence[tuple[str, object, object]]) -> str:
    """Return the call that asks a question of all data."""
    return f"es.{function}(data{arguments(options)})"
