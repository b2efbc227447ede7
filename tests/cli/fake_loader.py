"""A loader whose files say what it shall do, and a program that ingests with it.

A file is JSON Lines. The first line is `{"fake": 1, "model": ...}`; every other line is an order:
`{"item": ..., "score": ...}` gives a row, `{"flush": 1}` hands on the rows so far, `{"note": ...}` a note,
`{"sleep": seconds}` waits, `{"raise": name}` raises that error, `{"rows": n, "chars": c}` makes n rows with a text of c
characters each.
"""

import json
import sys
import time
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import polars as pl

from evalstats.errors import UnreadableFileError
from evalstats.loaders import registry
from evalstats.loaders.base import BATCH_ROWS, Head, Match, Rows, SingleFileLoader, Source
from evalstats.schema.data import Problem

ERRORS: dict[str, BaseException] = {
    "unreadable": UnreadableFileError("line 3 is not what it should be"),
    "key": KeyError("scores"),
    "zip": zipfile.BadZipFile("File is not a zip file"),
    "arithmetic": ZeroDivisionError("division by zero"),
    "memory": MemoryError(),
    "polars": pl.exceptions.ComputeError("cannot be computed"),
    "stopped": KeyboardInterrupt(),
}


class FakeLoader(SingleFileLoader):
    name = "fake"
    title = "fake"

    def __init__(self, version: str = "1") -> None:
        self.version = version

    def sniff(self, head: Head) -> Match | None:
        return Match(confidence=1.0, reason="a fake") if '"fake"' in head.text else None

    def plan(self, files: Sequence[Path]) -> Iterable[Source | Problem]:
        return [Source(path=path) for path in files]

    def read(self, source: Source) -> Iterator[Rows | Problem]:
        lines = source.path.read_text(encoding="utf-8").splitlines()
        model = json.loads(lines[0])["model"]
        run = source.run_id()
        yield Rows(table="runs", rows=[{"run": run, "model": model, "benchmark": "bench"}])
        held: list[dict[str, object]] = []
        for line in lines[1:]:
            order = json.loads(line)
            if "item" in order:
                held.append(row_of(run, model, order["item"], order["score"]))
            elif "rows" in order:
                yield from many(run, model, order["rows"], order["chars"])
            elif "note" in order:
                yield Problem(path=str(source.path), message=order["note"], severity="note")
            elif "sleep" in order:
                time.sleep(order["sleep"])
            elif "raise" in order:
                raise ERRORS[order["raise"]]
            elif "flush" in order:
                yield Rows(table="outcomes", rows=held)
                held = []
        yield Rows(table="outcomes", rows=held)


def row_of(run: str, model: str, item: str, score: float | None) -> dict[str, object]:
    status = "error" if score is None else "scored"
    row = {"run": run, "model": model, "system": model, "benchmark": "bench", "item": item, "metric": "acc", "trial": 0}
    return {**row, "score": score, "status": status}


def many(run: str, model: str, rows: int, chars: int) -> Iterator[Rows]:
    for start in range(0, rows, BATCH_ROWS):
        batch = [row_of(run, model, f"row{n}", 1.0) for n in range(start, min(start + BATCH_ROWS, rows))]
        for row in batch:
            row["answer"] = str(row["item"]).ljust(chars, "x")
        yield Rows(table="outcomes", rows=batch)


def use_fake(version: str = "1") -> None:
    """Let the registry know the fake loader and no other."""
    loaders = (FakeLoader(version),)
    registry.loaders = lambda _shape=None: loaders


def main(store: str, *files: str) -> None:
    """Ingest and say what became of every source; then the peak of memory in KiB, where the system tells it."""
    from evalstats.cli.ingest_run import ingest

    use_fake()
    report = ingest(files, store)
    print(json.dumps([source.status for source in report.sources]))
    status = Path("/proc/self/status")
    if status.exists():
        print(next(line for line in status.read_text().splitlines() if line.startswith("VmHWM")).split()[1])


if __name__ == "__main__":
    main(*sys.argv[1:])
