"""`evalstats formats`: what can be read, and what a file is taken for."""

import sys
from pathlib import Path

import typer

from evalstats.cli import options


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("formats", cls=options.Command)(formats)


def formats(paths: options.Paths = None) -> None:
    """List the formats, or show how a file is recognised."""
    from evalstats.document.escape import clean, wrapped
    from evalstats.document.model import Column, Table
    from evalstats.document.terminal import table_text
    from evalstats.loaders.registry import list_files, loaders

    if not paths:
        rows = tuple((loader.name, loader.title) for loader in loaders())
        columns = (Column(title="Format"), Column(title="What it reads"))
        typer.echo(table_text(Table(id="formats", columns=columns, rows=rows)))
        return
    for given in paths:
        empty = True
        for path, _ in list_files([given]):
            empty = False
            # A line for each file, whatever its length, and below it what may be copied.
            typer.echo("\n".join(wrapped(f"{clean(str(path))}: {_taken_for(path)}", sys.maxsize)))
        if empty:
            typer.echo(clean(f"{given}: holds no files to read (hidden files, links and stores are skipped)"))


def _taken_for(path: Path) -> str:
    from evalstats.errors import UnreadableFileError
    from evalstats.loaders.base import read_head
    from evalstats.loaders.registry import how_to_read, sniffed

    try:
        head = read_head(path)
    except (UnreadableFileError, OSError) as error:
        return f"not readable ({error})"
    found, failed = sniffed(head)
    more = "".join(f"; {message}" for message in failed)
    if found is None:
        return f"no known format{more}. {how_to_read(head)}".removesuffix(". ")
    loader, match = found
    passed = ", passed over" if match.skip else ""
    return f"{loader.name}{passed} ({match.reason}){more}"
