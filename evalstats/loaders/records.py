"""What readers of records share: names of items that have no id, cells that hold JSON, and rows of Parquet."""

import hashlib
import re
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from evalstats.errors import UnreadableFileError
from evalstats.loaders.files import loads
from evalstats.loaders.parquet_sizes import parquet_frames
from evalstats.loaders.rows import Row
from evalstats.loaders.values import as_dict, as_list, as_text, json_text

# Rows of results hold prompts and answers, so few are held at a time.
_PARQUET_ROWS: Final = 1_000
_ITEM_CHARS: Final = 16
_ENCODE: Final = msgspec.json.Encoder(order="sorted", enc_hook=str).encode
_WHOLE_WITH_POINT: Final = re.compile(r"(-?\d+)\.0+")


def parquet_records(path: Path, names: Collection[str] | None = None) -> Iterator[tuple[int, Row]]:
    """Yield (number from 0, members) of every row of a Parquet file; `names` are the columns to read, or None for all."""
    try:
        for first, frame in parquet_frames(path, _PARQUET_ROWS, lambda name, _: names is None or name in names):
            yield from enumerate(frame.iter_rows(named=True), start=first)
    except (ValueError, TypeError, OverflowError, MemoryError) as error:  # a value that Python cannot hold
        raise UnreadableFileError(
            f"{path}: is not a Parquet file that can be read ({error}); write it again, or fetch it again"
        ) from error


def cell_value(cell: object) -> object:
    """Return what a cell of delimited text holds as JSON; other text, and what is no text, stays as it is.

    >>> cell_value('{"a": 1}'), cell_value("2+2"), cell_value(3)
    ({'a': 1}, '2+2', 3)
    """
    if isinstance(cell, str) and cell[:1] in {"{", "[", '"'}:
        with suppress(UnreadableFileError):
            return loads(cell, "")
    return cell


def hashed(*parts: object) -> str:
    """Name an item that has no id by what was asked, the same in every file.

    >>> hashed({"q": "2+2", "n": 1}) == hashed({"n": 1, "q": "2+2"}) != hashed({"q": "2+2"})
    True
    """
    return _digest(parts)


def _digest(value: object) -> str:
    try:
        text = _ENCODE(value)
    except (TypeError, UnicodeEncodeError):  # half of a character, or a key that is no text
        text = json_text(value).encode()
    return hashlib.sha256(text).hexdigest()[:_ITEM_CHARS]


def item_of(*parts: object) -> str | None:
    """Name an item by a digest of what was asked, as `hashed` does where a file may be delimited text; None where nothing was.

    A number is the same as its text, since delimited text does not tell them apart, and 4.0 is 4.

    >>> item_of({"q": 4}) == item_of({"q": "4.0"}), item_of({"q": 4}) == item_of({"q": 5}), item_of({}, None)
    (True, False, None)
    """
    plain = [_plain(part) for part in parts]
    if not any(plain):
        return None
    return _digest(plain)


def _plain(value: object) -> object:
    """Return a value without its nulls, and its numbers as text."""
    if isinstance(value, dict):
        return {
            name: inner if type(inner) is str and inner[-1:] != "0" else _plain(inner)
            for name, inner in as_dict(value).items()  # pyright: ignore[reportUnknownArgumentType]
            if inner is not None
        }
    if isinstance(value, list):
        return [_plain(part) for part in as_list(value)]  # pyright: ignore[reportUnknownArgumentType]
    text = value if isinstance(value, str) else as_text(value)
    whole = _WHOLE_WITH_POINT.fullmatch(text) if text and text[-1] == "0" and "." in text else None
    return text if whole is None else whole[1]
