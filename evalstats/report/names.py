"""Names that a page can carry: long ones (a log's file name, say) are shortened alike everywhere, and stay two names."""

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, TypeVar, cast

from evalstats.analysis.compare.result import Comparison
from evalstats.document.escape import one_line
from evalstats.schema.plan import PlanAccount

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


def short_pair(first: str, second: str) -> tuple[str, str]:
    """Shorten two different names so that they still differ: where their ends agree, from where they begin to differ.

    Examples
    --------
    >>> short_pair("x" * 50 + "-a-" + "y" * 50, "x" * 50 + "-b-" + "y" * 50)
    ('…xxx-a-yyyyyyyy…yyyyyyyyyyyyyy', '…xxx-b-yyyyyyyy…yyyyyyyyyyyyyy')
    """
    short = (shortened(first), shortened(second))
    if short[0] != short[1]:
        return short
    lines = (one_line(first).strip(), one_line(second).strip())
    same = next((i for i, (a, b) in enumerate(zip(*lines, strict=False)) if a != b), min(map(len, lines)))
    start = max(same - _BEFORE_DIFFERENCE, 0)
    cut = tuple(_from(line, start) for line in lines)
    if cut[0] != cut[1]:
        return cut[0], cut[1]
    alike = short[0] if len(short[0]) <= _SHORT else _from(lines[0], 0)
    return f"{alike} (baseline)", f"{alike} (candidate)"


def _from(line: str, start: int) -> str:
    rest = f"{_ELLIPSIS}{line[start:]}"
    return rest if len(rest) <= _SHORT else f"{rest[: _SHORT - 15]}{_ELLIPSIS}{rest[-14:]}"


def page_names(result: Comparison) -> dict[str, str]:
    """Return what the page calls each name of the comparison that is too long for it."""
    sides = short_pair(result.baseline.name, result.candidate.name)
    full = (result.baseline.name, result.candidate.name, result.benchmark)
    return {
        name: short
        for name, short in zip(full, (*sides, shortened(result.benchmark)), strict=True)
        if len(name) > LONGEST and name != short
    }


def with_names(result: Comparison, names: Mapping[str, str]) -> Comparison:
    """Return the comparison with names replaced, in the sentences of its warnings and notes as well."""
    if not names:
        return result

    said = replacing(names)
    return replace(
        result,
        baseline=replace(result.baseline, name=said(result.baseline.name)),
        candidate=replace(result.candidate, name=said(result.candidate.name)),
        benchmark=said(result.benchmark),
        verdict_reason=said(result.verdict_reason),
        qualifiers=tuple(map(said, result.qualifiers)),
        missing=replace(result.missing, explanation=said(result.missing.explanation)),
        run_differences=tuple(replace(each, explanation=said(each.explanation)) for each in result.run_differences),
        plan=None if result.plan is None else _plan_said(result.plan, said),
        warnings=tuple(map(said, result.warnings)),
        notes=tuple(map(said, result.notes)),
    )


def _plan_said(plan: PlanAccount, said: Callable[[str], str]) -> PlanAccount:
    declared = tuple((key, said(value)) for key, value in plan.declared)
    return replace(plan, declared=declared, departures=tuple(map(said, plan.departures)))
