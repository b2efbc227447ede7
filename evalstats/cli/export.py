"""`evalstats export`: what was read, as files for other programs."""

from pathlib import Path
from typing import Annotated

import typer

from evalstats.cli import options


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("export", cls=options.Command)(export)


def export(
    paths: Annotated[list[Path], typer.Argument(metavar="PATHS", help="A store, or result files and folders.")],
    to: Annotated[options.Target, typer.Option("--to", help="Format to write.")],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="DIR", help="Folder to write to.")],
    organization: Annotated[
        str | None,
        typer.Option("--organization", metavar="NAME", help="For eee: who evaluated.", show_default=False),
    ] = None,
    relationship: Annotated[
        str | None,
        typer.Option(
            "--relationship",
            metavar="TEXT",
            help="For eee: relationship of the evaluator to the models: first_party, third_party, collaborative or other.",
            show_default=False,
        ),
    ] = None,
    developer: Annotated[
        list[str] | None,
        typer.Option(
            "--developer",
            metavar="[MODEL=]NAME",
            help="For eee: developer of models whose names do not show it; may be repeated.",
            show_default=False,
        ),
    ] = None,
    map_: options.Map = None,
    input_format: options.InputFormat = None,
    quiet: options.Quiet = False,
) -> None:
    """Write Parquet, CSV, JSON, or Every Eval Ever records.

    Exported tables are restored exactly when read back. Every Eval Ever records (--to eee) contain every score with its
    interval, standard error and method.
    """
    from evalstats.cli.load import column_map, load
    from evalstats.cli.output import say
    from evalstats.exporters.export import export as write

    data = load(paths, columns=column_map(map_), input_format=input_format, quiet=quiet)
    done = write(
        data,
        output,
        to=to.value,
        organization=organization,
        relationship=relationship,
        developer=_developers(developer),
    )
    for note in done.notes:
        say(f"note: {note}", quiet=quiet)
    for line in str(done).splitlines():
        say(line, quiet=quiet)


def _developers(given: list[str] | None) -> dict[str, str]:
    """Return developers by model; "" stands for every other model.

    >>> _developers(["openai", "gemma=Google"])
    {'': 'openai', 'gemma': 'Google'}
    """
    pairs = [each.rpartition("=") for each in given or ()]
    return {model: name for model, _, name in pairs}
