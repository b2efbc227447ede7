"""Ways in which a result file can be wrong: any value replaced, names dropped or doubled, bytes cut, flipped or packed.

A mutation is a kind and two numbers that say where and what, so that an example can be written down and made smaller.
"""

import codecs
import csv
import gzip
import io
import json
import re
import zipfile
from collections.abc import Callable, Iterator
from typing import Any

import polars as pl

from evalstats.loaders.files import zstd

Mutation = tuple[str, int, int]


class Raw(str):
    """JSON text that stands for itself."""

    __slots__ = ()


# What stands where something else was expected.
ODD: tuple[object, ...] = (
    *(None, True, False, 0, -1, 1, 2, 0.5, -0.0, 1e308, 5e-324, 2**53 + 1, 2**63, 2**64, -(2**63) - 1, 10**30, 1e18),
    *(Raw("1e400"), Raw("-1e400"), Raw("NaN"), Raw("Infinity"), Raw("-Infinity"), Raw("9" * 400), Raw("9" * 5_000)),
    *("", " ", "x", "0", "1", "-1", "nan", "NaN", "inf", "1e400", "true", "None", "null", "1_000", "1,5", "½", "٣"),
    *("\x00", "\x1b[31m", "\u2028", "\ufeff", "a\nb", "é", "😀", "=1+1", "../../etc/passwd", "*", "^.*$", "{n}", "%s"),
    *(Raw(r'"\ud800"'), Raw(r'"x\udfff"'), "x" * 100_000, "2024-01-01", "9999-99-99", "0000-00-00T00:00:00Z"),
    *([], {}, [None], [[]], [1, "a", None, {}], {"": ""}, {"a": {"b": [1]}}, {"value": 1}, {"score": "x"}, ["x"] * 300),
    *(Raw("[" * 600 + "]" * 600), Raw('{"a":' * 600 + "1" + "}" * 600), Raw("[" * 60_000), {"k" * 10_000: 1}),
    *({f"k{n}": n for n in range(300)}, {Raw("*"): 1}, {"^a.*$": 2}, {"item": 1, "model": "m", "status": "scored"}),
)
NAMES = ("", "x", "item", "model", "score", "run", "status", "trial", "locator", "*", "^.*$", "k" * 5_000, "\x00", "é")


def dumped(value: object) -> str:
    """Write JSON, with texts that stand for themselves."""
    if isinstance(value, Raw):
        return str(value)
    if isinstance(value, dict):
        return "{" + ",".join(f"{json.dumps(name)}:{dumped(inner)}" for name, inner in value.items()) + "}"
    return "[" + ",".join(map(dumped, value)) + "]" if isinstance(value, list) else json.dumps(value)


def _places(value: object) -> Iterator[tuple[Any, Any]]:
    """Yield every container with the key or index of each of its parts."""
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in list(parts):
        yield value, key
        yield from _places(inner)


def _value(document: Any, where: int, what: int) -> None:
    if places := list(_places(document)):
        parent, key = places[where % len(places)]
        parent[key] = ODD[what % len(ODD)]


def _swap(document: Any, where: int, what: int) -> None:
    """Put what stands somewhere else in a place."""
    if places := list(_places(document)):
        parent, key = places[where % len(places)]
        other, name = places[what % len(places)]
        parent[key] = json.loads(json.dumps(other[name])) if name in other or isinstance(other, list) else None


def _drop(document: Any, where: int, what: int) -> None:
    if places := list(_places(document)):
        parent, key = places[where % len(places)]
        del parent[key]


def _double(document: Any, where: int, what: int) -> None:
    """Let a name stand twice in an object, or an element in a list."""
    if places := list(_places(document)):
        parent, key = places[where % len(places)]
        name = f"{json.dumps(key)}:" if isinstance(parent, dict) else ""
        parent[key] = Raw(f"{dumped(parent[key])},{name}{dumped(ODD[what % len(ODD)] if what % 2 else parent[key])}")


def _add(document: Any, where: int, what: int) -> None:
    holders = [document, *(parent[key] for parent, key in _places(document))]
    holder = holders[where % len(holders)]
    if isinstance(holder, dict):
        holder[NAMES[what % len(NAMES)]] = ODD[where % len(ODD)]
    elif isinstance(holder, list):
        holder.append(ODD[what % len(ODD)])


def _repeat(document: Any, where: int, what: int) -> None:
    lists = [part for part in (document, *(parent[key] for parent, key in _places(document))) if isinstance(part, list)]
    if lists:
        lists[where % len(lists)].extend(json.loads(json.dumps(lists[where % len(lists)])) * (1 + what % 3))


_IN_JSON: dict[str, Callable[[Any, int, int], None]] = {
    "value": _value,
    "swap": _swap,
    "drop": _drop,
    "double": _double,
    "add": _add,
    "repeat": _repeat,
}


def _in_document(data: bytes, change: Callable[[Any, int, int], None], where: int, what: int) -> bytes:
    document = json.loads(data)
    change(document, where, what)
    return dumped(document).encode()


def _in_lines(data: bytes, change: Callable[[Any, int, int], None], where: int, what: int) -> bytes:
    records = [json.loads(line) for line in data.splitlines()]
    change(records, where, what)
    return "".join(f"{dumped(record)}\n" for record in records).encode()


def _in_cells(data: bytes, kind: str, where: int, what: int) -> bytes:
    rows = list(csv.reader(io.StringIO(data.decode(), newline="")))
    row = rows[where % len(rows)]
    place = (where // len(rows)) % len(row)
    odd = ODD[what % len(ODD)]
    cell = odd if isinstance(odd, str) else dumped(odd)
    if kind == "drop":
        del row[place]
    elif kind in {"add", "double"}:
        row.insert(place, row[place] if kind == "double" else cell)
    elif kind == "swap":
        row[place] = rows[what % len(rows)][place % len(rows[what % len(rows)])]
    elif kind == "repeat":
        rows.extend(rows[1:])
    else:
        row[place] = cell
    stream = io.StringIO()
    csv.writer(stream).writerows(rows)
    return stream.getvalue().encode("utf-8", "replace")


_DTYPES = (
    pl.String,
    pl.Int8,
    pl.Float64,
    pl.Boolean,
    pl.Binary,
    pl.Categorical,
    pl.Date,
    pl.Duration,
    pl.Null,
    pl.UInt64,
)


def _in_parquet(data: bytes, kind: str, where: int, what: int) -> bytes:
    frame = pl.read_parquet(io.BytesIO(data))
    name = frame.columns[where % frame.width]
    series = frame[name]
    if kind == "drop":
        frame = frame.drop(name)
    elif kind == "add":
        frame = frame.with_columns(series.alias(NAMES[what % len(NAMES)] or "x"))
    elif kind == "repeat":
        frame = pl.concat([frame, frame])
    elif kind == "double":
        nested = pl.Series(name, [[cell, cell] for cell in series.to_list()], strict=False)
        frame = frame.with_columns(nested if what % 2 else series.reverse())
    elif what % 3 == 0:
        made: list[object] = [float("nan"), float("inf"), None, -1.0]
        frame = frame.with_columns(pl.Series(name, (made * frame.height)[: frame.height]))
    elif what % 3 == 1:
        frame = frame.with_columns(pl.struct(name, pl.lit(1).alias("b")).alias(name))
    else:
        dtype = _DTYPES[what % len(_DTYPES)]
        try:
            frame = frame.with_columns(series.cast(dtype, strict=False))
        except pl.exceptions.PolarsError:
            frame = frame.with_columns(pl.lit(None, dtype).alias(name))
    stream = io.BytesIO()
    frame.write_parquet(stream)
    return stream.getvalue()


def _in_archive(data: bytes, change: Callable[[Any, int, int], None], where: int, what: int) -> bytes:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = [(name, archive.read(name)) for name in archive.namelist()]
    place = where % len(members)
    members[place] = (members[place][0], _in_document(members[place][1], change, where // len(members), what))
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members:
            archive.writestr(zipfile.ZipInfo(name), content)
    return stream.getvalue()


def _in_text(data: bytes, kind: str, where: int, what: int) -> bytes:
    lines = data.decode().splitlines(keepends=True)
    place = where % len(lines)
    odd = ODD[what % len(ODD)]
    if kind == "drop":
        del lines[place]
    elif kind in {"double", "repeat"}:
        lines.insert(place, lines[what % len(lines)])
    elif kind == "add":
        lines.insert(
            place, ("- &a [*a]\n", "!!python/object:os.system x\n", "\t- x: 1\n", "---\n", "a: {b\n")[what % 5]
        )
    else:
        value = odd if isinstance(odd, str) else dumped(odd)
        lines[place] = re.sub(r":.*", lambda _: f": {value}", lines[place], count=1)
    return "".join(lines).encode("utf-8", "replace")


def _cut(data: bytes, where: int, what: int) -> bytes:
    return data[: where % (len(data) + 1)]


def _flip(data: bytes, where: int, what: int) -> bytes:
    place = where % max(len(data), 1)
    return data[:place] + bytes([(data[place] ^ (1 << what % 8)) if data else 0]) + data[place + 1 :]


def _insert(data: bytes, where: int, what: int) -> bytes:
    place = where % (len(data) + 1)
    pieces = (
        b"\x00",
        b'"',
        b"\\",
        b"\n",
        b"\r",
        b",",
        b"}",
        b"]",
        b"\xff\xfe",
        b"\xc3",
        b"\xed\xa0\x80",
        b"[" * 50_000,
    )
    return data[:place] + pieces[what % len(pieces)] + data[place:]


def _remove(data: bytes, where: int, what: int) -> bytes:
    place = where % (len(data) + 1)
    return data[:place] + data[place + 1 + what % 40 :]


def _again(data: bytes, where: int, what: int) -> bytes:
    lines = data.splitlines(keepends=True)
    return data + b"".join(lines[where % (len(lines) or 1) :]) * (1 + what % 3)


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _packed(data: bytes, where: int, what: int) -> bytes:
    packed = gzip.compress(data, 1) if what % 4 < 2 else zstd.compress(data)
    return packed[: None if what % 2 else where % len(packed)]


_IN_BYTES: dict[str, Callable[[bytes, int, int], bytes]] = {
    "cut": _cut,
    "flip": _flip,
    "insert": _insert,
    "remove": _remove,
    "again": _again,
    "packed": _packed,
}
_ENCODED: dict[str, Callable[[bytes], bytes]] = {
    "bom": lambda data: codecs.BOM_UTF8 + data,
    "utf-16": lambda data: _text(data).encode("utf-16"),
    "utf-16-be": lambda data: _text(data).encode("utf-16-be"),
    "latin-1": lambda data: _text(data).encode("latin-1", "replace") + b"\xe9",
    "crlf": lambda data: data.replace(b"\n", b"\r\n"),
    "cr": lambda data: data.replace(b"\n", b"\r"),
    "empty": lambda data: data[:0],
    "blank": lambda data: b" \n" + data[:0],
}
# Kinds, those that know what a file holds several times, since they lead deeper.
KINDS: tuple[str, ...] = (*(tuple(_IN_JSON) * 3), *(("value",) * 12), *(("swap",) * 4), *_IN_BYTES, *_ENCODED)


_NOTHING_LEFT = (
    ValueError,
    LookupError,
    RecursionError,
    ArithmeticError,
    csv.Error,
    zipfile.BadZipFile,
    pl.exceptions.PolarsError,
)


def damaged(name: str, data: bytes, mutations: list[Mutation]) -> bytes:
    """Return the bytes of a file after some mutations: first those of what it holds, then those of its bytes."""
    for kind, where, what in sorted(mutations, key=lambda mutation: mutation[0] not in _IN_JSON):
        try:
            data = _damaged(name, data, kind, where, what)
        except _NOTHING_LEFT:
            data = _flip(data, where, what)  # an earlier mutation left nothing to be found in it
    return data


def _damaged(name: str, data: bytes, kind: str, where: int, what: int) -> bytes:
    if kind in _ENCODED:
        return _ENCODED[kind](data)
    if kind in _IN_BYTES:
        return _IN_BYTES[kind](data, where, what)
    ending = name.rpartition(".")[2]
    if ending == "json" and b"}\n{" in data:
        ending = "jsonl"
    if ending in {"jsonl", "ndjson"}:
        return _in_lines(data, _IN_JSON[kind], where, what)
    if ending == "eval":
        return _in_archive(data, _IN_JSON[kind], where, what)
    if ending in {"csv", "tsv"}:
        return _in_cells(data, kind, where, what)
    if ending == "parquet":
        return _in_parquet(data, kind, where, what)
    return _in_text(data, kind, where, what) if ending == "yml" else _in_document(data, _IN_JSON[kind], where, what)
