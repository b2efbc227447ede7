"""`evalstats store`: what a store holds; remove a run; check its files."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from evalstats.cli import options


class Action(StrEnum):
    """What to do with the store."""

    LIST = "list"
    CHECK = "check"
    REMOVE = "remove"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("store")(store)


def store(
    folder: Annotated[Path, typer.Argument(help="The store.")],
    action: Annotated[Action, typer.Argument(help="What to do.")] = Action.LIST,
    run: Annotated[str | None, typer.Argument(help="Run to remove.", show_default=False)] = None,
    style: options.OutputFormat = options.Format.TEXT,
) -> None:
    """List a store's runs, check its files, remove a run."""
    from evalstats.cli.output import say, table_written
    from evalstats.errors import InputError
    from evalstats.store.read import open_store

    opened = open_store(folder)
    if action is Action.REMOVE:
        if run is None:
            message = f"name the run to remove: evalstats store {folder} remove RUN"
            raise InputError(message)
        opened.remove(run)
        say(f"removed: {run}")
    elif action is Action.CHECK:
        faults = opened.check()
        for fault in faults:
            say(str(fault))
        if faults:
            raise typer.Exit(2)
        say(f"sound: {len(opened.sources())} sources")
    else:
        from evalstats.cli.store_listing import listing, listing_lines

        table, values = listing(opened)
        lines = listing_lines(table, values) if style is options.Format.TEXT else []
        if lines:
            typer.echo("\n".join(lines))
        else:
            typer.echo(table_written(table, values, style))
