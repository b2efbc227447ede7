"""Tables that lie inside a JSON document: lists of records at some path, and the shapes in which pandas writes a frame."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, cast

from evalstats.errors import InputError
from evalstats.loaders.values import as_dict, as_list, dicts

Record = dict[str, object]

# Stands in a path for every member of an object; the column of this name holds what each is called.
EACH: Final = "*"
KEY: Final = "key"
_MAX_LISTS: Final = 1_000
_MAX_DEPTH: Final = 12
_SHOWN: Final = 5
_SHOWN_KEYS: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """A list of records inside a document: its path, its length, and the first record."""

    path: str
    length: int
    first: Record

    def __str__(self) -> str:
        keys = ", ".join(list(self.first)[:_SHOWN_KEYS]) + (", ..." if len(self.first) > _SHOWN_KEYS else "")
        return f"{self.path} ({self.length:,} row{'' if self.length == 1 else 's'}: {keys})"


def listings(document: object) -> list[Listing]:
    """Find the lists of records in a document, the longest first."""
    found: dict[str, list[Record]] = {}
    _look(document, (), found, 0)
    lists = [Listing(path=path, length=len(rows), first=rows[0]) for path, rows in found.items()]
    return sorted(lists, key=lambda each: -each.length)


def _look(value: object, path: tuple[str, ...], found: dict[str, list[Record]], depth: int) -> None:
    if depth > _MAX_DEPTH or len(found) > _MAX_LISTS:
        return
    rows = list(dicts(value))
    if path and rows and len(rows) == len(as_list(value)):
        found.setdefault(".".join(path), []).extend(rows)
    for row in rows:
        for name, inner in row.items():
            _look(inner, (*path, name), found, depth + 1)
    members = as_dict(value)
    if _is_keyed(members):
        found.setdefault(".".join((*path, EACH)), []).extend(
            {KEY: name, **as_dict(inner)} for name, inner in members.items()
        )
    lists = {name: list(dicts(inner)) for name, inner in members.items()}
    if len(lists) > 1 and all(lists.values()) and len({frozenset(inner[0]) for inner in lists.values()}) == 1:
        each = [{KEY: name, **row} for name, inner in lists.items() for row in inner]
        found.setdefault(".".join((*path, EACH)), []).extend(each)
    for name, inner in members.items():
        _look(inner, (*path, name), found, depth + 1)


def _is_keyed(members: Mapping[str, object]) -> bool:
    """Whether an object is a table whose rows are its members: objects that have the same keys."""
    rows = [set(as_dict(value)) for value in members.values()]
    return len(rows) > 1 and bool(rows[0]) and all(row == rows[0] for row in rows)


def rows_at(document: object, path: str) -> Iterator[Record]:
    """Yield the records of the list at a dotted path.

    Lists on the way are gone through one element at a time, and so are the members of an object at `*`. What stands
    beside the list in such an element goes with each of its records, under the path that it has (`runs.model`).
    """
    n_rows = 0
    for row in _walk(document, tuple(path.split(".")), (), {}):
        n_rows += 1
        yield row
    if not n_rows:
        raise InputError(f"there are no rows at {path!r}; {seen(listings(document))}")


def seen(lists: Sequence[Listing]) -> str:
    """Say which lists a document holds.

    >>> seen(listings({"a": 1}))
    'it holds no list of records'
    """
    if not lists:
        return "it holds no list of records"
    more = f"; and {len(lists) - _SHOWN} more" if len(lists) > _SHOWN else ""
    return f"its rows may be {'; '.join(map(str, lists[:_SHOWN]))}{more}"


def _walk(value: object, rest: tuple[str, ...], path: tuple[str, ...], beside: Record) -> Iterator[Record]:
    if isinstance(value, list):
        rows = cast("list[object]", value)
        for row in rows:
            if rest:
                yield from _walk(row, rest, path, {**beside, **_plain(row, path, rest[0])})
            elif isinstance(row, dict):
                yield {**beside, **cast("Record", row)}
            else:
                kind = type(row).__name__
                raise InputError(
                    f"{'.'.join(path)!r} holds a {kind} where a record was expected; name a list of objects"
                )
        return
    members = as_dict(value)
    if not rest or not members:
        return
    if rest[0] == EACH and EACH not in members:
        for name, inner in members.items():
            kept = {**beside, ".".join((*path, KEY)) if path and len(rest) > 1 else KEY: name}
            if len(rest) == 1 and isinstance(inner, dict):
                yield {**kept, **cast("Record", inner)}
            else:
                yield from _walk(inner, rest[1:], (*path, EACH), kept)
        return
    # A name may hold dots itself (gpt-3.5): the longest that is there is meant.
    for n_parts in range(len(rest), 0, -1):
        name = ".".join(rest[:n_parts])
        if name in members:
            yield from _walk(members[name], rest[n_parts:], (*path, name), beside)
            return


def _plain(row: object, path: tuple[str, ...], next_name: str) -> Record:
    """Return what stands in an element beside the list that is looked for."""
    return {
        ".".join((*path, name)): value
        for name, value in as_dict(row).items()
        if name != next_name and not isinstance(value, list)
    }


def oriented(document: object) -> list[Record] | None:
    """Return the rows of a frame as pandas writes it in one object; None for any other document.

    Known are `orient="split"`, `"table"`, `"index"` and `"columns"`, and a list for each column.
    """
    members = as_dict(document)
    names, data = as_list(members.get("columns")), as_list(members.get("data"))
    if data and names and set(members) <= {"columns", "index", "data"}:
        rows = [as_list(row) for row in data]
        same = all(len(row) == len(names) for row in rows)
        return [dict(zip(map(str, names), row, strict=True)) for row in rows] if same else None
    if data and set(members) == {"schema", "data"}:
        return list(dicts(data))
    if _is_keyed(members):
        table = {name: as_dict(inner) for name, inner in members.items()}
        plain = not any(isinstance(cell, dict | list) for inner in table.values() for cell in inner.values())
        by_row = next(iter(table.values()))
        # Keys of rows are numbers where pandas made them; where both are names, a column has values of one kind.
        if not plain:
            return None
        if all(name.isdigit() for name in by_row):
            return [{name: inner[key] for name, inner in table.items()} for key in by_row]
        return list(table.values()) if all(name.isdigit() for name in table) else None
    columns = {name: as_list(value) for name, value in members.items()}
    lengths = {len(column) for column in columns.values()}
    if len(columns) > 1 and len(lengths) == 1 and lengths != {0}:
        if any(isinstance(cell, dict | list) for column in columns.values() for cell in column[:_SHOWN]):
            return None
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    return None
