"""Files of a format by their paths in a folder: what a test writes, and what the fuzz suite damages."""

import csv
import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import evalstats as es
from evalstats.schema.data import EvalData

Row = dict[str, Any]


def encoded(name: str, content: object) -> bytes:
    """Return what a file holds: text as it is, records as its ending says."""
    if isinstance(content, bytes):
        return content
    if isinstance(content, str):
        return content.encode()
    if name.endswith(".jsonl"):
        return "".join(f"{json.dumps(row)}\n" for row in _records(content)).encode()
    if name.endswith((".csv", ".tsv")):
        rows: list[Row] = _records(content)
        stream = io.StringIO()
        names = list(dict.fromkeys(name for row in rows for name in row))
        writer = csv.DictWriter(stream, names, delimiter="\t" if name.endswith(".tsv") else ",")
        writer.writeheader()
        writer.writerows(
            {key: json.dumps(cell) if isinstance(cell, dict | list) else cell for key, cell in row.items()}
            for row in rows
        )
        return stream.getvalue().encode()
    return json.dumps(content).encode()


def _records(content: object) -> list[Any]:
    assert isinstance(content, list)
    return cast("list[Any]", content)


def tree(files: Mapping[str, object]) -> dict[str, bytes]:
    """Return the bytes of each file."""
    return {name: encoded(name, content) for name, content in files.items()}


def opened(folder: Path, files: Mapping[str, object], loader: str) -> EvalData:
    """Write files and read their folder; each of them has to be found to be of this format."""
    for name, data in tree(files).items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    data = es.read(folder)
    assert set(data.runs["loader"]) == {loader}
    return data


def said(data: EvalData, severity: str = "note") -> str:
    """Return what a reader is told."""
    return "\n".join(problem.message for problem in data.problems if problem.severity == severity)


def everything_said(data: EvalData) -> str:
    """Return what a reader is told, whether it is a note or of what was left out."""
    return "\n".join(problem.message for problem in data.problems)


def to_copy(message: str) -> list[str]:
    """Return what a message shows to be copied: its lines that begin with four blanks."""
    return [line.strip() for line in message.split("\n") if line.startswith("    ")]


def offered(message: str) -> list[str]:
    """Return what may fit, as a message says."""
    return to_copy(message.partition(" may fit:")[2])


def write(path: Path, content: object) -> Path:
    """Write one file: text as it is, anything else as JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path
