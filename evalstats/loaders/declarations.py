"""What a user declares in a small file beside the results: aliases of models, and the mix of the live world."""

import csv
import json
import tomllib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Final, cast

from evalstats.errors import InputError, UnreadableFileError
from evalstats.loaders.base import Head, readable_name, with_path
from evalstats.loaders.delimited import header_of, iter_rows
from evalstats.loaders.files import open_bytes
from evalstats.loaders.plan_file import plan_from_tables
from evalstats.loaders.values import as_dict, as_number
from evalstats.schema.live_mix import LiveMix, live_mix_of

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
    """
    path = Path(path)
    try:
        head = _whole(path)
        return _some(_reader_of(head)(head))
    except OSError as error:
        raise InputError(f"{readable_name(path)}: cannot be opened ({error.strerror or error})") from error
    except InputError as error:
        raise InputError(with_path(path, error)) from error


def _some(aliases: Mapping[str, str]) -> dict[str, str]:
    if not aliases:
        raise InputError(f"holds no aliases; give {_FORMS}")
    return dict(aliases)


def _whole(path: Path) -> Head:
    with open_bytes(path) as stream:
        data = stream.read(_MAX_BYTES + 1)
    if len(data) > _MAX_BYTES:
        raise InputError(f"is longer than {_MAX_BYTES >> 20} MiB; a file of aliases has a line for each model")
    return Head(path=path, size=len(data), data=data)


def _reader_of(head: Head) -> Callable[[Head], Mapping[str, str]]:
    if head.name.endswith(".toml"):
        return _from_toml
    if head.shape in {"object", "lines"}:
        return _from_json
    if head.shape == "text" and head.delimiter in head.text.partition("\n")[0]:
        return _from_columns
    if head.shape == "empty":
        raise InputError(f"is empty; give {_FORMS}")
    raise InputError(f"is no file of aliases; give {_FORMS}")


def _from_toml(head: Head) -> Mapping[str, str]:
    try:
        tables: dict[str, object] = tomllib.loads(head.data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise InputError("is not UTF-8 text; save the file as UTF-8") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"is not TOML: {str(error) or type(error).__name__}") from error
    if not isinstance(tables.get("aliases"), Mapping):
        return plan_from_tables({"aliases": tables}).aliases
    beside = [name for name, value in tables.items() if not isinstance(value, Mapping | list)]
    if beside:
        raise InputError(f"{beside[0]!r} stands outside of [aliases]; move it below")
    # Its other tables are those of a plan, which are read where a plan is read.
    return plan_from_tables({"aliases": tables["aliases"]}).aliases


def _from_json(head: Head) -> Mapping[str, str]:
    try:
        found: object = json.loads(head.data.decode("utf-8-sig"), object_pairs_hook=_once)
    except UnicodeDecodeError as error:
        raise InputError("is not UTF-8 text; save the file as UTF-8") from error
    except RecursionError as error:
        raise InputError("is nested too deeply; a JSON object of names was expected") from error
    except ValueError as error:
        raise InputError(f"is not one JSON object: {error}") from error
    names = as_dict(found)
    inner = as_dict(names.get("aliases"))
    if inner and len(names) == 1:
        names = inner
    for name, value in names.items():
        if value is None:
            raise InputError(f"{name!r} has null for its alias; give the name that the model shall have")
    return plan_from_tables({"aliases": names}).aliases


def _from_columns(head: Head) -> Mapping[str, str]:
    try:
        first = header_of(head.path, head.delimiter)
        if len(first) != _N_COLUMNS:
            raise InputError(f"has {len(first)} columns; two were expected: a name, and the name it shall have")
        rows = iter_rows(head.path, head.delimiter, n_columns=_N_COLUMNS)
        pairs = [(cells[0].strip(), cells[1].strip()) for _, cells in rows]
    except UnreadableFileError as error:
        raise InputError(str(error)) from error
    if tuple(name.lower() for name in first) not in _HEADERS:
        pairs.insert(0, (first[0], first[1]))
    if any(not name for name, _ in pairs):
        raise InputError("a line has no name in its first column; write name,other")
    return plan_from_tables({"aliases": _once(pairs)}).aliases


def _once(pairs: Iterable[tuple[str, object]]) -> dict[str, object]:
    """Make a mapping of pairs; a plain dict would forget that a name stands twice."""
    found: dict[str, object] = {}
    for name, value in pairs:
        if name in found and found[name] != value:
            raise InputError(f"{name!r} has two aliases, {found[name]!r} and {value!r}; keep one")
        found[name] = value
    return found


_COLUMNS = ("level", "share")
_KEYS = ("mix", "factor", "source", "licence", "note")


def read_live_mix(path: str | Path, *, factor: str = "scenario") -> LiveMix:
    r"""Read shares of the live world by level of one factor.

    A CSV file has the columns level and share; lines before the header that begin with `#` are a comment, and the words of
    the source. A TOML file has the table `[mix]` (level = share) and, where wanted, `factor`, `source`, `licence`, `note`.

    Shares are percentages if they sum to 98 to 125, proportions if they sum to 0.98 to 1.25; anything else is refused. They
    are divided by their sum, and where it is not 1 `note` says so.

    Parameters
    ----------
    path
        A file of at most 1 MiB; one whose name ends in .toml is read as TOML.
    factor
        Column whose levels these are, where the file does not say it.
    """
    path = Path(path)
    try:
        text = _mix_text(path)
        return (
            _mix_from_toml(text, path, factor) if path.suffix.lower() == ".toml" else _mix_from_csv(text, path, factor)
        )
    except InputError as error:
        raise InputError(with_path(path, error)) from error


def _mix_text(path: Path) -> str:
    try:
        if path.stat().st_size > _MAX_BYTES:
            raise InputError(f"{path}: is larger than 1 MiB; a mix is a short table of shares")
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error})") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: is not UTF-8 text; save it as such") from error


def _mix_from_csv(text: str, path: Path, factor: str) -> LiveMix:
    lines = text.splitlines()
    n_comments = next((place for place, line in enumerate(lines) if not line.startswith("#")), len(lines))
    said = " ".join(line.lstrip("# ").strip() for line in lines[:n_comments])
    reader = csv.DictReader(lines[n_comments:])
    columns = tuple(reader.fieldnames or ())
    if not set(_COLUMNS) <= set(columns):
        raise InputError(f"has the columns {', '.join(columns) or 'none'}; a mix needs the columns level and share")
    shares: dict[str, float] = {}
    for row in reader:
        level, cell = (row["level"] or "").strip(), (row["share"] or "").strip()
        where = f"line {reader.line_num + n_comments}"
        if level in shares:
            raise InputError(f"{where}: names the level {level!r} a second time; give each one share")
        try:
            shares[level] = float(cell.removesuffix("%"))
        except ValueError as error:
            raise InputError(f"{where}: the share of {level!r} is {cell!r}; give a number") from error
    return live_mix_of(shares, factor=factor, source=said or path.name)


def _mix_from_toml(text: str, path: Path, factor: str) -> LiveMix:
    try:
        tables: dict[str, object] = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"is no TOML: {error}") from error
    unknown = [key for key in tables if key not in _KEYS]
    if unknown:
        raise InputError(f"has the key {unknown[0]!r}, which no mix has; there are {', '.join(_KEYS)}")
    mix = tables.get("mix")
    if not isinstance(mix, dict):
        raise InputError("has no table [mix]; give level = share in it")
    words = {key: value for key, value in tables.items() if key != "mix"}
    for key, value in words.items():
        if not isinstance(value, str):
            raise InputError(f"{key} is {value!r}; give it as text")
    texts = {"factor": factor, "source": path.name, **cast("dict[str, str]", words)}
    return live_mix_of(_mix_numbers(cast("dict[str, object]", mix)), **texts)


def _mix_numbers(mix: Mapping[str, object]) -> dict[str, float]:
    shares: dict[str, float] = {}
    for level, value in mix.items():
        number = None if isinstance(value, bool | str) else as_number(value)
        if number is None:
            raise InputError(f"the share of {level!r} is {value!r}; give a number")
        shares[level] = number
    return shares
