"""`evalstats contamination`: do models score more on items they may have seen?"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Annotated, Any

import typer

from evalstats.analysis.contamination.options import ContaminationOptions
from evalstats.analysis.options import Option
from evalstats.cli.command import CANNOT_ANSWER, Planned, RowReading, Showing, add_command, noted, with_names


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared(Planned):
    """What the shell gives as a text or a file: cut-offs and the plan."""

    cutoff: Annotated[
        tuple[str, ...], Option("Where a model's training data ends; may be repeated.", metavar="MODEL=DATE")
    ] = ()


def register(app: typer.Typer) -> None:
    """Add the command."""
    add_command(app, "contamination", contamination, RowReading, ContaminationOptions, Declared, Showing)


def contamination(reading: RowReading, asked: ContaminationOptions, beside: Declared, showing: Showing) -> None:
    """Do models score more on items they may have seen?"""
    from evalstats.analysis.contamination.contamination import contamination as contamination_of
    from evalstats.cli.output import step_line

    cutoffs = cutoffs_of(beside.cutoff)
    declared = beside.declared(quiet=showing.quiet)
    data = reading.load(declared, quiet=showing.quiet)
    options: dict[str, Any] = asdict(with_names(asked, data)) | {"cutoffs": cutoffs}
    with step_line(quiet=showing.quiet) as on_step:
        on_step("setting old items against new ones")
        result = contamination_of(data, **options, plan=declared.plan if declared else None)
    showing.present(noted(result, reading, beside))
    if result.verdict == "invalid":
        raise typer.Exit(CANNOT_ANSWER)


def cutoffs_of(texts: Sequence[str]) -> dict[str, str] | None:
    """Read MODEL=DATE; what follows the last equals sign is the date.

    >>> cutoffs_of(["gpt-x=2023-09-30"])
    {'gpt-x': '2023-09-30'}
    """
    from evalstats.errors import InputError

    found: dict[str, str] = {}
    for text in texts:
        model, equals, day = text.rpartition("=")
        if not equals or not model or not day:
            raise InputError(f"--cutoff {text!r} is not understood; give MODEL=DATE, such as gpt-x=2023-09-30")
        if model in found:
            raise InputError(f"--cutoff names {model!r} twice; a model has one cut-off")
        found[model] = day
    return found or None
