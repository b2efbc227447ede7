"""Reads a file of aliases: which name a model shall have, so that two sides that write it differently can be joined."""

import json
import tomllib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Final

from evalstats.errors import InputError, UnreadableFileError
from evalstats.loaders.base import Head, readable_name
from evalstats.loaders.delimited import header_of, iter_rows
from evalstats.loaders.files import open_bytes
from evalstats.loaders.plan_file import plan_from_tables
from evalstats.loaders.values import as_dict

_MAX_BYTES: Final = 1 << 20
_N_COLUMNS: Final = 2
_FORMS: Final = 'TOML ([aliases], then "name" = "other"), CSV with two columns, or one JSON object'
# What people call two columns of which the second holds the name that the first shall have.
_HEADERS: Final = frozenset(
    {("model", "alias"), ("name", "alias"), ("lab", "live"), ("from", "to"), ("old", "new"), ("name", "shall be")}
)


def read_aliases(path: str | Path) -> dict[str, str]:
    r"""Read aliases of models: a name as a file writes it to the name it shall have.

    Parameters
    ----------
    path
        At most 1 MiB of TOML (`.toml`: an `[aliases]` table, as in a plan, or names at the top), delimited text of two
        columns (with or without a header such as model,alias or lab,live or from,to), or a JSON object of names.

    Raises
    ------
    InputError
        If it cannot be opened, is none of these, gives a name two aliases, or gives an alias an alias.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "names.csv")
    ...     _ = path.write_text("lab,live\nopenai/gpt-x,gpt-x\n")
    ...     read_aliases(path)
    {'openai/gpt-x': 'gpt-x'}
    """
    path = Path(path)
    try:
        head = _whole(path)
        return _some(_reader_of(head)(head))
    except OSError as error:
        message = f"{readable_name(path)}: cannot be opened ({error.strerror or error})"
        raise InputError(message) from error
    except InputError as error:
        named = str(path)
        raise InputError(str(error) if named in str(error) else f"{named}: {error}") from error


def _some(aliases: Mapping[str, str]) -> dict[str, str]:
    if not aliases:
        message = f"holds no aliases; give {_FORMS}"
        raise InputError(message)
    return dict(aliases)


def _whole(path: Path) -> Head:
    with open_bytes(path) as stream:
        data = stream.read(_MAX_BYTES + 1)
    if len(data) > _MAX_BYTES:
        message = f"is longer than {_MAX_BYTES >> 20} MiB; a file of aliases has a line for each model"
        raise InputError(message)
    return Head(path=path, size=len(data), data=data)


def _reader_of(head: Head) -> Callable[[Head], Mapping[str, str]]:
    if head.name.endswith(".toml"):
        return _from_toml
    if head.shape in {"object", "lines"}:
        return _from_json
    if head.shape == "text" and head.delimiter in head.text.partition("\n")[0]:
        return _from_columns
    if head.shape == "empty":
        message = f"is empty; give {_FORMS}"
        raise InputError(message)
    message = f"is no file of aliases; give {_FORMS}"
    raise InputError(message)


def _from_toml(head: Head) -> Mapping[str, str]:
    try:
        tables: dict[str, object] = tomllib.loads(head.data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        message = "is not UTF-8 text; save the file as UTF-8"
        raise InputError(message) from error
    except (ValueError, RecursionError) as error:
        message = f"is not TOML: {str(error) or type(error).__name__}"
        raise InputError(message) from error
    if not isinstance(tables.get("aliases"), Mapping):
        return plan_from_tables({"aliases": tables}).aliases
    beside = [name for name, value in tables.items() if not isinstance(value, Mapping | list)]
    if beside:
        message = f"{beside[0]!r} stands outside of [aliases]; move it below"
        raise InputError(message)
    # Its other tables are those of a plan, which are read where a plan is read.
    return plan_from_tables({"aliases": tables["aliases"]}).aliases


def _from_json(head: Head) -> Mapping[str, str]:
    try:
        found: object = json.loads(head.data.decode("utf-8-sig"), object_pairs_hook=_once)
    except UnicodeDecodeError as error:
        message = "is not UTF-8 text; save the file as UTF-8"
        raise InputError(message) from error
    except RecursionError as error:
        message = "is nested too deeply; a JSON object of names was expected"
        raise InputError(message) from error
    except ValueError as error:
        message = f"is not one JSON object: {error}"
        raise InputError(message) from error
    names = as_dict(found)
    inner = as_dict(names.get("aliases"))
    if inner and len(names) == 1:
        names = inner
    for name, value in names.items():
        if value is None:
            message = f"{name!r} has null for its alias; give the name that the model shall have"
            raise InputError(message)
    return plan_from_tables({"aliases": names}).aliases


def _from_columns(head: Head) -> Mapping[str, str]:
    try:
        first = header_of(head.path, head.delimiter)
        if len(first) != _N_COLUMNS:
            message = f"has {len(first)} columns; two were expected: a name, and the name it shall have"
            raise InputError(message)
        rows = iter_rows(head.path, head.delimiter, n_columns=_N_COLUMNS)
        pairs = [(cells[0].strip(), cells[1].strip()) for _, cells in rows]
    except UnreadableFileError as error:
        raise InputError(str(error)) from error
    if tuple(name.lower() for name in first) not in _HEADERS:
        pairs.insert(0, (first[0], first[1]))
    if any(not name for name, _ in pairs):
        message = "a line has no name in its first column; write name,other"
        raise InputError(message)
    return plan_from_tables({"aliases": _once(pairs)}).aliases


def _once(pairs: Iterable[tuple[str, object]]) -> dict[str, object]:
    """Make a mapping of pairs; a plain dict would forget that a name stands twice."""
    found: dict[str, object] = {}
    for name, value in pairs:
        if name in found and found[name] != value:
            message = f"{name!r} has two aliases, {found[name]!r} and {value!r}; keep one"
            raise InputError(message)
        found[name] = value
    return found
