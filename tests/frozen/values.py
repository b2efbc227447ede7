"""The numbers of a result, row by row, and whether another result still holds them wherever its fields now stand.

A row is the whole result, an entry of a list of objects, or an entry of an object whose keys are data; objects nested in it, such
as an estimate with its interval, belong to it. Of each row every number, truth value and label is frozen under the name of its
last field. So a field may move into a nested object, or a copy of it may go, without a frozen value being written anew.
"""

import json
import math
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

import polars as pl

FOLDER = Path(__file__).parent / "results"

# A field that has a new name: old -> new.
RENAMED: dict[str, str] = {}
# The same in the cases whose names begin so: a name may mean another thing elsewhere.
_OF_METRIC = {"metric": "name", "scale": "scale of the metric"}
RENAMED_IN: dict[str, dict[str, str]] = {
    "gap": {"gap": "estimate", "slope_p": "p_value", "slope_df": "df", "expected_slope": "expected", **_OF_METRIC},
    **dict.fromkeys(("compar", "score", "leaderboard", "frontier", "scenario", "contamin"), _OF_METRIC),
}
# What names the whole of a result may stand under another name.
_OF_WHOLE = {"name": "benchmark"}
# Fields that no result holds any more, since another one tells the same: name -> which one, or why.
LEFT_OUT: dict[str, str] = {
    "online": "one pass of Elo is no option of `arena` any more",
    "scale of the metric": "it follows from the bounds",
    "measured_alike": "differences of severity invalid tell it",
    "formula_given": "`method_reason` tells it",
    **dict.fromkeys(
        ("lab_rank_low", "lab_rank_high", "live_rank_low", "live_rank_high"),
        "`leaderboard` of the lab and `arena` or `leaderboard` of live tell them",
    ),
}
# Fields whose list or row has another shape now: their values are looked for one by one, anywhere in the result.
RESHAPED: frozenset[str] = frozenset()

# Rows that are saved by columns: a list each, or one value for all.
SAVED_BY_COLUMNS: frozenset[str] = frozenset({"flipped"})

# Other machines add up in another order; an optimiser stops elsewhere within its own tolerance.
EXACT, OPTIMISED = 1e-9, 1e-6
# Of a number near 0 that came out of larger ones by subtraction no share is left to compare.
_NEAR_ZERO, _OPTIMISED_NEAR_ZERO = 1e-12, 2e-8
_FITTED = ("scenarios", "mixed", "means", "gap", "arena", "power")

# Strings that are answers or names; all others are sentences, which may be reworded.
_LABELS = frozenset({
    "verdict", "model", "name", "system", "baseline", "candidate", "reference", "other", "first", "second", "a", "b",
    "scenario", "level", "cell", "item", "metric", "group", "unit_name", "leader", "cutoff",
    "benchmark",
})  # fmt: skip
_LONGEST_LABEL = 60

Leaf = bool | int | float | str | None
Row = dict[str, list[Any]]


def rows_of(result: object) -> list[Row]:
    """The rows of what a case returned: of one result, or of several one after another."""
    results = result if isinstance(result, tuple) else (result,)
    return [row for one in results for row, _ in _rows(json.loads(json.dumps(one.to_dict())), {})]


def write(name: str, result: object) -> bool:
    """Freeze a result; whether its file changed."""
    lines = ",\n".join(json.dumps(row, ensure_ascii=False, sort_keys=True) for row in rows_of(result))
    path, text = FOLDER / f"{name}.json", f"[\n{lines}\n]\n"
    changed = not path.exists() or path.read_text(encoding="utf-8") != text
    path.write_text(text, encoding="utf-8")
    return changed


def moved(name: str, result: object) -> list[str]:
    """What is frozen and not in the result any more: one line for each row that has moved."""
    frozen: list[Row] = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    tolerance = OPTIMISED if name.startswith(_FITTED) else EXACT
    results = result if isinstance(result, tuple) else (result,)
    held = list(chain.from_iterable(_rows(json.loads(json.dumps(one.to_dict())), {}) for one in results))
    renamed = RENAMED | next((names for start, names in RENAMED_IN.items() if name.startswith(start)), {})
    search = _Search(held, tolerance, renamed)
    return [line for place, row in enumerate(frozen) if (line := search.missing(row, whole=place == 0))]


def _rows(node: Mapping[str, Any], above: Row) -> Iterator[tuple[Row, Row]]:
    """Each row with what the rows around it hold, outermost first."""
    own: Row = defaultdict(list)
    inner: list[Mapping[str, Any]] = []
    _collect(node, own, inner)
    if any(_is_number(value) for values in own.values() for value in values) or not above:
        yield {name: values for name, values in own.items() if values}, above
    around: Row = defaultdict(list)
    for name, values in chain(above.items(), own.items()):
        around[name].extend(values)
    for each in inner:
        yield from _rows(each, around)


def _collect(node: Mapping[str, Any], own: Row, inner: list[Mapping[str, Any]]) -> None:
    for name, value in node.items():
        if name in SAVED_BY_COLUMNS:
            inner.extend(pl.DataFrame(value).iter_rows(named=True))
        elif isinstance(value, Mapping):
            _collect(value, own, inner)
        elif isinstance(value, list):
            inner.extend(each for each in value if isinstance(each, Mapping))
            numbers = [each for each in _flat(value) if _is_number(each)]
            if numbers:
                _add(own, name, numbers)
        elif _is_kept(name, value):
            _add(own, name, value)


def _add(own: Row, name: str, value: Any) -> None:
    if value not in own[name]:
        own[name].append(value)


def _flat(values: Iterable[Any]) -> Iterator[Any]:
    for value in values:
        if isinstance(value, list):
            yield from _flat(value)
        elif not isinstance(value, Mapping):
            yield value


def _is_number(value: Any) -> bool:
    return isinstance(value, bool | int | float | list)


def _is_kept(name: str, value: Leaf) -> bool:
    return not isinstance(value, str) or (name in _LABELS and 0 < len(value) <= _LONGEST_LABEL)


class _Search:
    """Looks frozen rows up among the rows of a result."""

    def __init__(self, held: list[tuple[Row, Row]], tolerance: float, renamed: Mapping[str, str]) -> None:
        self._held, self._tolerance, self._renamed = held, tolerance, renamed
        self._near = _OPTIMISED_NEAR_ZERO if tolerance == OPTIMISED else _NEAR_ZERO
        self._scalars: dict[str, list[tuple[float, int]]] = defaultdict(list)
        for place, (own, _) in enumerate(held):
            for name, values in own.items():
                self._scalars[name].extend((_key(value), place) for value in values if _key(value) is not None)
        for entries in self._scalars.values():
            entries.sort()
        self._everything = sorted(
            float(each) for own, _ in held for values in own.values() for each in _flat(values) if _is_number(each)
        )
        self._labels = {each for own, _ in held for values in own.values() for each in values if isinstance(each, str)}

    def missing(self, row: Row, *, whole: bool) -> str | None:
        """None where one row of the result holds the frozen one; else the row that holds most of it, and what it lacks."""
        wanted: list[tuple[str, Any]] = []
        for old, values in row.items():
            name = self._renamed.get(old, old)
            if old in LEFT_OUT or name in LEFT_OUT:
                continue
            if old in RESHAPED or name in RESHAPED:
                lost = [each for each in _flat(values) if each is not None and not self._anywhere(each)]
                if lost:
                    return f"{name}: {lost[:5]} nowhere in the result"
                continue
            wanted.extend((name, value) for value in values)
        if whole:
            top, _ = self._held[0]
            lost = [
                (name, value)
                for name, value in wanted
                if value is not None
                and not any(
                    self._same(value, each) for each in (*top.get(name, ()), *top.get(_OF_WHOLE.get(name, name), ()))
                )
                and (isinstance(value, str) or not self._at(name, value))
            ]
            return _told(lost, "nowhere in the result") if lost else None
        return self._in_one_row(wanted)

    def _in_one_row(self, wanted: list[tuple[str, Any]]) -> str | None:
        given = [(name, value) for name, value in wanted if value is not None]
        unknown = {name for name, value in wanted if value is None} - {name for name, _ in given}
        best: list[tuple[str, Any]] = given
        for place in self._likely(given):
            own, above = self._held[place]
            lost = [
                (name, value)
                for name, value in given
                if not any(self._same(value, each) for each in _held_by(name, own, above))
            ]
            lost += [(name, None) for name in unknown if any(each is not None for each in own.get(name, ()))]
            if not lost:
                return None
            best = min(best, lost, key=len)
        labels = ", ".join(f"{value}" for _, value in given if isinstance(value, str))
        return _told(best, f"in no row{f' ({labels})' if labels else ''}")

    def _likely(self, given: list[tuple[str, Any]]) -> Iterable[int]:
        """Rows that hold the rarest numbers of those wanted, then all others."""
        found = sorted((at for name, value in given if (at := self._at(name, value))), key=len)
        return list(dict.fromkeys(chain(*found[:4])))

    def _at(self, name: str, value: Any) -> list[int]:
        entries, key = self._scalars.get(name, []), _key(value)
        if key is None:
            return []
        room = max(abs(key) * self._tolerance, self._near)
        places: list[int] = []
        for at in range(bisect_left(entries, (key - room, -1)), len(entries)):
            if entries[at][0] > key + room:
                break
            places.append(entries[at][1])
        return places

    def _anywhere(self, value: Leaf) -> bool:
        if isinstance(value, str):
            return value in self._labels
        number = float(value or 0)
        room = max(abs(number) * self._tolerance, self._near)
        at = bisect_left(self._everything, number - room)
        return at < len(self._everything) and self._everything[at] <= number + room

    def _same(self, one: Any, two: Any) -> bool:
        if isinstance(one, list):
            return (
                isinstance(two, list)
                and len(one) == len(two)
                and all(self._same(x, y) for x, y in zip(one, two, strict=True))
            )
        if isinstance(one, str) or isinstance(two, str) or two is None or isinstance(two, list):
            return one == two
        return math.isclose(one, two, rel_tol=self._tolerance, abs_tol=self._near)


def _held_by(name: str, own: Row, above: Row) -> list[Any]:
    """What a row holds under a name, else what the rows around it say of all their entries."""
    held = own.get(name, [])
    return held if any(each is not None for each in held) else above.get(name, [])


def _key(value: Any) -> float | None:
    """A number by which a value is found; None for an unknown one."""
    if value is None:
        return None
    if isinstance(value, str):
        return float(sum(ord(letter) * (place + 1) for place, letter in enumerate(value)))
    if isinstance(value, list):
        return float(sum(value))
    return float(value)


def _told(lost: list[tuple[str, Any]], where: str) -> str:
    parts = [f"{name} {'a number, was null' if value is None else repr(value)}"[:90] for name, value in lost[:6]]
    return "; ".join(parts) + (f" and {len(lost) - 6} more" if len(lost) > 6 else "") + f": {where}"
