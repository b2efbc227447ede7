"""`evalstats ingest`: read result files into a store."""

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated

import typer

from evalstats.cli import options

if TYPE_CHECKING:
    from evalstats.cli.ingest_run import Progress


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("ingest", cls=options.Command)(ingest)


def ingest(
    paths: Annotated[list[Path], typer.Argument(metavar="PATHS", help="Result files and folders.")],
    store: Annotated[Path, typer.Option("--store", metavar="DIR", help="Folder of the store; created if missing.")],
    strict: Annotated[
        bool, typer.Option("--strict", help="Stop at the first file or row that cannot be read.")
    ] = False,
    map_: options.Map = None,
    input_format: options.InputFormat = None,
    anonymize: Annotated[
        bool, typer.Option("--anonymize", help="Store pseudonyms in place of ids, and no texts (docs/privacy.md).")
    ] = False,
    key_file: Annotated[
        Path | None,
        typer.Option(
            "--key-file",
            metavar="FILE",
            help="Secret key of the pseudonyms, created if missing; default: EVALSTATS_ANONYMIZE_KEY, else a temporary key.",
            show_default=False,
        ),
    ] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option(
            "--keep",
            metavar="COLUMN",
            help="Keep the labels or numbers of this column readable; may be repeated.",
            show_default=False,
        ),
    ] = None,
    quiet: options.Quiet = False,
) -> None:
    """Read result files into a store of Parquet tables.

    Unreadable files are reported and skipped; the exit status is 2 only if no file could be read, or with --strict.
    """
    from evalstats.cli.ingest_run import chosen_key
    from evalstats.cli.ingest_run import ingest as run
    from evalstats.cli.load import column_map
    from evalstats.cli.output import say

    columns = column_map(map_)
    key, note = chosen_key(anonymize=anonymize, key_file=key_file, keep=keep or (), store=store)
    with progress_bar() as (on_progress, on_rows):
        report = run(
            paths,
            store,
            strict=strict,
            format=input_format,
            column_map=columns,
            on_progress=on_progress,
            on_rows=on_rows,
            anonymize=key,
            keep=keep or (),
        )
    for line in (*report.summary_lines(), *([f"note: {note}"] if note else [])):
        say(line, quiet=quiet)
    if not report.n_readable:
        raise typer.Exit(2)


@contextmanager
def progress_bar() -> Generator[tuple["Progress | None", "Callable[[int], None] | None"]]:
    """Draw on a terminal which source is read, and how many rows of it a second; nothing in a pipe."""
    from evalstats.cli.output import is_terminal

    if not is_terminal(sys.stderr):
        yield None, None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from evalstats.document.escape import shorten

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=10),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[rows]}", markup=False),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("reading", total=None, rows="")
        n_rows, began = 0, perf_counter()

        def on_progress(done: int, total: int, path: Path) -> None:
            progress.update(task, completed=done, total=total, description=shorten(path.name, 24))

        def on_rows(n: int) -> None:
            nonlocal n_rows
            n_rows += n
            progress.update(task, rows=rows_and_rate(n_rows, perf_counter() - began))

        yield on_progress, on_rows


def rows_and_rate(n_rows: int, seconds: float) -> str:
    """Say how many rows were taken, and how many a second.

    >>> rows_and_rate(1_200_000, 3.0)
    '1,200,000 rows, 400,000/s'
    """
    return f"{n_rows:,} rows, {n_rows / max(seconds, 0.001):,.0f}/s"
