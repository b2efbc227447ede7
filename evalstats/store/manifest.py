"""The manifest: all that is known of one stored source without opening its Parquet files.

Manifests may come from someone else: no path in them is followed, and the names of parts must have the form of ours.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from hashlib import sha256
from pathlib import Path, PurePath
from typing import Any, Literal, cast

import polars as pl

from evalstats.errors import StoreError
from evalstats.schema.columns import TABLES, TableName
from evalstats.schema.data import Problem

# Raised when a standard column or the layout changes so that an older evalstats would misread the store.
# 3: `higher_is_better` is null where nothing declares it; before, true stood there.
SCHEMA_VERSION = 3

MANIFEST = "manifest.json"
_PART = re.compile(rf"({'|'.join(TABLES)})-\d{{4,}}\.parquet")
_UNSAFE = re.compile(r"[^A-Za-z0-9._]+")
_DTYPES: Mapping[str, pl.DataType] = {
    str(dtype): dtype for dtype in (pl.String(), pl.Boolean(), pl.Int64(), pl.Float64(), pl.Null())
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """What a stored source was made from.

    `options` is whatever else decided how the bytes were read (a column map); `removed_runs` are runs that the user
    took out again.
    """

    path: str
    digest: str
    loader: str
    loader_version: str
    options: Mapping[str, str] = field(default_factory=dict[str, str])
    removed_runs: tuple[str, ...] = ()

    @property
    def place(self) -> tuple[str, ...]:
        """File name and the name of its folder: where harnesses put the model's name, when the file does not hold it."""
        return PurePath(self.path).parts[-2:]

    def same_reading(self, other: "Origin") -> bool:
        """Whether the same bytes were read in the same way, from whatever path."""
        return replace(self, path="") == replace(other, path="")


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One Parquet file: its table, size, digest, and the dtypes of its factors (`Null` where all values are null).

    `schema_version` is its source's: which standard columns the file has.
    """

    file: str
    table: TableName
    rows: int
    bytes: int
    sha256: str
    factors: Mapping[str, pl.DataType]
    schema_version: int = SCHEMA_VERSION


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEntry:
    """One run of a source, with the number of its rows that have a score, failed, or got none."""

    run: str
    model: str | None
    system: str | None
    benchmark: str
    n_scored: int
    n_error: int
    n_unscored: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """All that is known of one stored source without opening its Parquet files."""

    origin: Origin
    parts: tuple[Part, ...]
    runs: tuple[RunEntry, ...]
    problems: tuple[Problem, ...] = ()
    committed: str = ""
    schema_version: int = SCHEMA_VERSION
    evalstats: str = ""

    @property
    def labels(self) -> list[tuple[str, str, str]]:
        """Model, system and benchmark of every run, sorted: what the rows are about."""
        return sorted((entry.model or "", entry.system or "", entry.benchmark) for entry in self.runs)

    @property
    def folder(self) -> str:
        """Name of the source's folder: the same for the same reading of the same bytes, and safe on any file system."""
        origin = self.origin
        loader, loader_version = (_UNSAFE.sub("_", part)[:40] for part in (origin.loader, origin.loader_version))
        rest = json.dumps([sorted(origin.options.items()), sorted(origin.removed_runs), self.labels])
        return "-".join((origin.digest[:32], loader, loader_version, sha256(rest.encode()).hexdigest()[:8]))

    def same_source(self, other: "Manifest") -> bool:
        """Whether only one of the two may count: the same bytes, in the same place or about the same models.

        Bytes alone do not tell: two models that answered everything right may have equal files, told apart by their
        names. And a renamed copy is no second run.
        """
        same_bytes = self.origin.digest == other.origin.digest
        return same_bytes and (self.origin.place == other.origin.place or self.labels == other.labels)

    def rows(self) -> dict[TableName, int]:
        """Rows of every table that has any."""
        counts: dict[TableName, int] = {}
        for part in self.parts:
            counts[part.table] = counts.get(part.table, 0) + part.rows
        return counts


def refuse_newer(schema_version: int, where: Path) -> None:
    """Raise `StoreError` where something was written under a schema that this version does not know."""
    if schema_version > SCHEMA_VERSION:
        message = (
            f"{where}: was written by a newer evalstats (store schema {schema_version}; this one knows up to "
            f"{SCHEMA_VERSION}); update with `pip install --upgrade evalstats-toolkit`"
        )
        raise StoreError(message)


def manifest_text(manifest: Manifest) -> str:
    """Return the manifest as JSON (lone surrogates and control characters in names are escaped)."""
    data = asdict(replace(manifest, parts=(), origin=replace(manifest.origin, options={})))
    data["origin"]["options"] = dict(manifest.origin.options)
    data["parts"] = [
        {
            "file": part.file,
            "table": part.table,
            "rows": part.rows,
            "bytes": part.bytes,
            "sha256": part.sha256,
            "factors": {name: str(dtype) for name, dtype in part.factors.items()},
        }
        for part in manifest.parts
    ]
    return json.dumps(data, indent=1) + "\n"


def read_manifest(folder: Path) -> Manifest:
    """Read the manifest of one stored source.

    Raises
    ------
    StoreError
        If it is missing, damaged, or was written by a newer evalstats; the message says what to do.
    """
    path = folder / MANIFEST
    try:
        data = cast("dict[str, Any]", json.loads(path.read_text(encoding="utf-8")))
        refuse_newer(int(data["schema_version"]), folder)
        return _manifest(data)
    except (OSError, ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError) as error:
        reason = "is missing" if isinstance(error, FileNotFoundError) else f"is damaged ({error})"
        message = f"{path}: the description of a stored source {reason}; delete that folder and ingest its file again"
        raise StoreError(message) from error


def _manifest(data: dict[str, Any]) -> Manifest:
    origin = data["origin"]
    return Manifest(
        origin=Origin(
            path=str(origin["path"]),
            digest=str(origin["digest"]),
            loader=str(origin["loader"]),
            loader_version=str(origin["loader_version"]),
            options={str(name): str(value) for name, value in origin["options"].items()},
            removed_runs=tuple(str(run) for run in origin["removed_runs"]),
        ),
        parts=tuple(_part(part, int(data["schema_version"])) for part in data["parts"]),
        runs=tuple(_run_entry(run) for run in data["runs"]),
        problems=tuple(_problem(problem) for problem in data["problems"]),
        committed=str(data["committed"]),
        schema_version=int(data["schema_version"]),
        evalstats=str(data["evalstats"]),
    )


def _part(data: dict[str, Any], schema_version: int) -> Part:
    file, table = str(data["file"]), str(data["table"])
    form = _PART.fullmatch(file)
    if form is None or form[1] != table:
        raise ValueError(f"{file!r} is no name for a part of {table!r}")
    return Part(
        file=file,
        table=cast("TableName", table),
        rows=int(data["rows"]),
        bytes=int(data["bytes"]),
        sha256=str(data["sha256"]),
        factors={str(name): _DTYPES[dtype] for name, dtype in data["factors"].items()},
        schema_version=schema_version,
    )


def _run_entry(data: dict[str, Any]) -> RunEntry:
    return RunEntry(
        run=str(data["run"]),
        model=None if data["model"] is None else str(data["model"]),
        system=None if data["system"] is None else str(data["system"]),
        benchmark=str(data["benchmark"]),
        n_scored=int(data["n_scored"]),
        n_error=int(data["n_error"]),
        n_unscored=int(data["n_unscored"]),
    )


def _problem(data: dict[str, Any]) -> Problem:
    severity: Literal["error", "note"] = "error" if data["severity"] == "error" else "note"
    return Problem(path=str(data["path"]), message=str(data["message"]), severity=severity)
