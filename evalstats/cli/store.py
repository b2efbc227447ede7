"""`evalstats store`: what a store holds; remove a run; check its files; set aside what is damaged."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from evalstats.cli import options
from evalstats.document.escape import clean, wrapped
from evalstats.document.model import Column, Table
from evalstats.grammar import plural

if TYPE_CHECKING:
    from evalstats.schema.columns import TableName
    from evalstats.store.read import Store


class Action(StrEnum):
    """What to do with the store."""

    LIST = "list"
    CHECK = "check"
    REPAIR = "repair"
    REMOVE = "remove"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("store", cls=options.Command)(store)


def store(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The store.")],
    action: Annotated[Action, typer.Argument(metavar="ACTION", help="What to do.")] = Action.LIST,
    run: Annotated[str | None, typer.Argument(metavar="RUN", help="Run to remove.", show_default=False)] = None,
    style: options.OutputFormat = options.OutputStyle.TEXT,
) -> None:
    """List a store's runs, check or repair it, remove a run."""
    from evalstats.cli.output import say, table_written
    from evalstats.errors import InputError
    from evalstats.store.read import open_store

    if action is Action.REPAIR:
        _repair(folder)
        return
    opened = open_store(folder)
    if action is Action.REMOVE:
        if run is None:
            raise InputError(f"name the run to remove: evalstats store {folder} remove RUN")
        opened.remove(run)
        say(f"removed: {run}")
    elif action is Action.CHECK:
        faults = opened.check()
        for fault in faults:
            say(str(fault))
        if faults:
            say(f"evalstats store {folder} repair repairs what it can, and says what to ingest again")
            raise typer.Exit(2)
        say(_sound(len(opened.sources())))
    else:
        table, values = listing(opened)
        text = style is options.OutputStyle.TEXT
        typer.echo("\n".join(listing_lines(table, values)) if text else table_written(table, values, style))


def _sound(n: int) -> str:
    return f"sound: {plural(n, 'source')}"


def _repair(folder: Path) -> None:
    """Set aside what is damaged, and say what went and how it comes back; status 2 where something is left to mend."""
    from evalstats.cli.output import say
    from evalstats.store.read import open_store
    from evalstats.store.repair import repair_store

    repairs = repair_store(folder)
    for told in repairs.done:
        say(str(told))
    for told in repairs.left:
        say(f"not mended: {told}")
    if repairs.left:
        raise typer.Exit(2)
    say(_sound(len(open_store(folder).sources())))


_WIDTH = 80
# Rows of these tables have no status, so that the counts of scored rows do not tell of them.
_OTHER: tuple["TableName", ...] = ("aggregates", "ratings")
_KEPT = ("run", "model", "benchmark", "n_scored", "n_error", "n_unscored", "loader", "source")
_TEXTS = ("Run", "Model", "Benchmark")
_COLUMNS = ("Run", "Model", "Benchmark", "Scored", "Error", "Unscored")


def listing(store: "Store") -> tuple[Table, list[dict[str, Any]]]:
    """Return a store's runs as a table, and as values for JSON: with `n_aggregates` and `n_ratings` beside the counts.

    StoreError if a part is damaged, or a run is in two sources.
    """
    rows = store.runs().sort("benchmark", "run").select(_KEPT).to_dicts()
    others = _other_rows(store)
    values = [{**row, **{f"n_{table}": others.get((row["run"], table), 0) for table in _OTHER}} for row in rows]
    shown = [table for table in _OTHER if any(row[f"n_{table}"] for row in values)]
    names = (*_KEPT[:6], *(f"n_{table}" for table in shown))
    cells = tuple(tuple(str(row[name] if row[name] is not None else "") for name in names) for row in values)
    runs = plural(len(values), "run")
    caption = f"{runs}; counts are rows: one for each item, trial and metric, or for each vote"
    columns = (*_COLUMNS, *(table.capitalize() for table in shown))
    made = tuple(
        Column(title=title, kind="text" if place < len(_TEXTS) else "amount") for place, title in enumerate(columns)
    )
    return Table(id="runs", columns=made, rows=cells, caption=caption), values


def listing_lines(table: Table, values: list[dict[str, Any]]) -> list[str]:
    """Return two lines for each run.

    A run's name stands whole on a line of its own: other commands ask for it, so it must be told from any other and
    copied.
    """
    lines = wrapped(table.caption, _WIDTH)
    for row in values:
        about = " · ".join(str(row[name]) for name in ("model", "benchmark") if row[name] is not None)
        lines += ["", clean(row["run"]), *wrapped(f"  {about}: {_counts(row)}", _WIDTH, indent="    ")]
    return lines


def _counts(row: dict[str, Any]) -> str:
    others = [f"{table} {row[f'n_{table}']}" for table in _OTHER if row[f"n_{table}"]]
    of_rows = [f"{name} {row[f'n_{name}']}" for name in ("scored", "error", "unscored")]
    has_rows = row["n_scored"] or row["n_error"] or row["n_unscored"]
    return ", ".join([*(of_rows if has_rows or not others else []), *others])


def _other_rows(store: "Store") -> dict[tuple[str, "TableName"], int]:
    """Count published numbers and ratings by run; what names no run belongs to the only run of its source."""
    counts: dict[tuple[str, TableName], int] = {}
    for table in _OTHER:
        shared = False
        for source in store.sources():
            n = source.manifest.rows().get(table, 0)
            runs = [entry.run for entry in source.manifest.runs]
            if n and len(runs) == 1:
                counts[runs[0], table] = n
            shared |= bool(n) and len(runs) != 1
        if shared:
            found = store.scan(table).group_by("run").len().collect()
            for run, n in found.iter_rows():
                if run is not None:
                    counts.setdefault((run, table), n)
    return counts
