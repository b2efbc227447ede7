"""`evalstats doctor`: is this installation sound, and what can it do here?"""

import sys

import typer

# What the toolkit uses, and what for.
_PARTS = (
    ("polars", "tables"),
    ("numpy", "numbers"),
    ("scipy", "distributions"),
    ("matplotlib", "figures"),
    ("papermill", "reports: runs the cells"),
    ("great_tables", "reports: tables to restyle, `to_gt()`"),
    ("pypandoc", "reports: HTML"),
    ("typst", "reports: PDF"),
)
_OTHER_PROJECT = "evalstats"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("doctor")(doctor)


def doctor() -> None:
    """Check the installation and the report engines."""
    from importlib.metadata import PackageNotFoundError, version
    from importlib.util import find_spec

    from evalstats.document.model import Column, Table
    from evalstats.document.terminal import table_text
    from evalstats.report.engine import find_quarto

    rows: list[tuple[str, str, str]] = [
        ("evalstats", version("evalstats-toolkit"), "this package (evalstats-toolkit)"),
        ("Python", sys.version.split()[0], ""),
    ]
    for module, use in _PARTS:
        name = {"pypandoc": "pypandoc-binary", "great_tables": "great-tables"}.get(module, module)
        try:
            found = version(name)
        except PackageNotFoundError:
            found = "present" if find_spec(module) else "missing"
        rows.append((module, found, use))
    quarto = find_quarto(required=False)
    rows.append(("quarto", str(quarto) if quarto else "not found", "reports: the other engine (optional)"))
    columns = tuple(Column(title=title) for title in ("Part", "Version", "For"))
    typer.echo(table_text(Table(id="parts", columns=columns, rows=tuple(rows))))
    missing = [name for name, found, _ in rows if found == "missing"]
    if missing:
        typer.echo(f"\nmissing: {', '.join(missing)}; install with: pip install 'evalstats-toolkit[report]'")
    try:
        other = version(_OTHER_PROJECT)
    except PackageNotFoundError:
        other = None
    if other:
        typer.echo(
            f"\nanother project named 'evalstats' ({other}) is installed here and uses the same import name; "
            "remove it with: pip uninstall evalstats, then install evalstats-toolkit again"
        )
    if missing or other:
        raise typer.Exit(2)
