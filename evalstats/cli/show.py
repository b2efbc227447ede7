"""`evalstats show`: print a saved result."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from evalstats.cli.command import Showing, add_command
from evalstats.options import Flag
from evalstats.record import record


@record
class Saved:
    """What to show."""

    paths: Annotated[Sequence[Path], Flag("A saved result, from `--format json`.", metavar="RESULT.json")] = ()


def register(app: typer.Typer) -> None:
    """Add the command."""
    add_command(app, "show", show, Saved, Showing)


def show(saved: Saved, showing: Showing) -> None:
    """Print or render a saved result, without recomputing it."""
    from evalstats.analysis.saved import load_result
    from evalstats.errors import InputError

    if len(saved.paths) != 1:
        raise InputError(
            f"one saved result is needed, found {len(saved.paths)}; several become one document with `evalstats report`"
        )
    showing.present(load_result(saved.paths[0]))
