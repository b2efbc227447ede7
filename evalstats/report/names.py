"""Names that a page can carry: long ones (a log's file name, say) are shortened alike everywhere, and stay two names."""

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar, cast

from evalstats.document.escape import one_line

LONGEST = 52
_SHORT = 30
_SHORT_OF_MANY = 34
_ELLIPSIS = "…"
_BEFORE_DIFFERENCE = 4
# Provenance keeps its words: digests, files and declared values are given in full.
_AS_THEY_ARE = frozenset({"covariance", "sources", "plan", "version"})
_Result = TypeVar("_Result")


def shortened(name: str, most: int = _SHORT) -> str:
    """Return a name of more than 52 letters as its first and last ones, `most` in all.

    Examples
    --------
    >>> shortened("gpt-4o"), shortened("2026-11-21T20-47-09-00-00_demo_U5eSAr7uygaYXbf63esKAH.json")
    ('gpt-4o', '2026-11-21T20-4…bf63esKAH.json')
    """
    line = one_line(name).strip()
    if len(line) <= LONGEST:
        return name
    tail = (most - 1) // 2
    return f"{line[: most - 1 - tail].rstrip()}{_ELLIPSIS}{line[-tail:].lstrip()}"


def different_short_names(names: Iterable[str], most: int = _SHORT_OF_MANY) -> dict[str, str]:
    """Return what a page calls each name that is too long for it; two names that would become one get a number.

    Examples
    --------
    >>> list(different_short_names(["a", "x" * 60, "x" * 61], most=9).values())
    ['xxxx…xxxx', 'xxxx…xxxx (2)']
    """
    every = tuple(dict.fromkeys(names))
    long = [name for name in every if len(one_line(name)) > LONGEST]
    taken = set(every) - set(long)
    short: dict[str, str] = {}
    for name in long:
        cut = shortened(name, most)
        number, chosen = 1, cut
        while chosen in taken:
            number += 1
            chosen = f"{cut} ({number})"
        taken.add(chosen)
        short[name] = chosen
    return short


def replacing(names: Mapping[str, str]) -> Callable[[str], str]:
    """Return a function that replaces names wherever they stand in a text, the longest first.

    Examples
    --------
    >>> replacing({"a": "b", "aa": "c"})("aa is no a")
    'c is no b'
    """
    longest_first = sorted(names, key=len, reverse=True)

    def said(text: str) -> str:
        for name in longest_first:
            text = text.replace(name, names[name])
        return text

    return said


def with_names_everywhere(result: _Result, names: Mapping[str, str]) -> _Result:
    """Return a result with names replaced wherever they stand, in its sentences as well, but not in its provenance.

    Parameters
    ----------
    result
        A frozen dataclass, of others or tuples of others.
    names
        Long names with what the page calls them.
    """
    if not names:
        return result
    said = replacing(names)

    def renamed(value: Any) -> Any:
        if isinstance(value, str):
            return said(value) if len(value) > LONGEST else value
        if isinstance(value, tuple):
            return tuple(renamed(each) for each in cast("tuple[Any, ...]", value))
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            fields = [field.name for field in dataclasses.fields(value) if field.name not in _AS_THEY_ARE]
            new = {field: renamed(getattr(value, field)) for field in fields}
            changed = {field: each for field, each in new.items() if each is not getattr(value, field)}
            return cast("Any", dataclasses.replace(value, **changed)) if changed else value
        return value

    return cast("_Result", renamed(result))
