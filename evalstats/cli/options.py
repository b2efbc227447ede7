"""Options of the commands that ask nothing of an analysis; those that do are made of their options."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperArgument, TyperCommand


class Command(TyperCommand):
    """A command whose arguments stand in the help by name, without the Python type of what is typed there."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse; what is said of a wrong value begins with the value, not with the kind of exception."""
        try:
            return super().parse_args(ctx, args)
        except typer.BadParameter as error:
            error.message = error.message.removeprefix("Value error, ")
            raise

    def get_params(self, ctx: Any) -> list[Any]:
        """Return options and arguments; what an argument may be is shown where it is one of a few words."""
        found: list[Any] = super().get_params(ctx)
        for each in found:
            if isinstance(each, TyperArgument) and not each.type_descriptor.is_choice:
                vars(each)["display_type_rich"] = _untyped
        return found


def _untyped(ctx: Any) -> None:
    """Show no type."""


class Format(StrEnum):
    """How a result is printed."""

    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"
    HTML = "html"
    LATEX = "latex"
    CSV = "csv"


class Target(StrEnum):
    """What `evalstats export` writes."""

    PARQUET = "parquet"
    CSV = "csv"
    JSON = "json"
    EEE = "eee"


Paths = Annotated[
    list[Path] | None, typer.Argument(metavar="PATHS", help="Result files, folders, or a store.", show_default=False)
]
OutputFormat = Annotated[Format, typer.Option("--format", "-f", help="How to print the result.")]
Map = Annotated[
    list[str] | None,
    typer.Option(
        "--map",
        metavar="TEXT",
        help="For a table or votes of your own: STANDARD=COLUMN, score=COLUMN:lower, scale=1..5, unscored=-1, rows=PATH inside "
        "JSON, or a TOML file; may be repeated.",
        show_default=False,
    ),
]
InputFormat = Annotated[
    str | None,
    typer.Option(
        "--input-format",
        metavar="TEXT",
        help="Format of the files, if detection should be passed by.",
        show_default=False,
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print the result only.")]
