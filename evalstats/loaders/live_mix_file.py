"""Reads a mix of the live world from a file: a CSV table of shares, or TOML."""

import csv
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import cast

from evalstats.errors import InputError
from evalstats.loaders.values import as_number
from evalstats.schema.live_mix import LiveMix, live_mix_of

_MAX_BYTES = 1 << 20
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

    Raises
    ------
    InputError
        If the file cannot be read, has another form, names a level twice, or its shares are no mix.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "mix.csv"
    ...     _ = path.write_text("level,share\nideal,75%\nhasty,25%\n")
    ...     read_live_mix(path).shares["hasty"]
    0.25
    """
    path = Path(path)
    try:
        text = _text(path)
        return _from_toml(text, path, factor) if path.suffix.lower() == ".toml" else _from_csv(text, path, factor)
    except InputError as error:
        named = str(path)
        raise InputError(str(error) if named in str(error) else f"{named}: {error}") from error


def _text(path: Path) -> str:
    try:
        if path.stat().st_size > _MAX_BYTES:
            raise InputError(f"{path}: is larger than 1 MiB; a mix is a short table of shares")
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error})") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: is not UTF-8 text; save it as such") from error


def _from_csv(text: str, path: Path, factor: str) -> LiveMix:
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


def _from_toml(text: str, path: Path, factor: str) -> LiveMix:
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
    return live_mix_of(_numbers(cast("dict[str, object]", mix)), **texts)


def _numbers(mix: Mapping[str, object]) -> dict[str, float]:
    shares: dict[str, float] = {}
    for level, value in mix.items():
        number = None if isinstance(value, bool | str) else as_number(value)
        if number is None:
            raise InputError(f"the share of {level!r} is {value!r}; give a number")
        shares[level] = number
    return shares
