"""Options of the commands that ask nothing of an analysis; those that do are made of their options."""

import os
from collections.abc import Callable, Sequence
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final, Literal, cast, get_args, get_origin

import typer
from typer.core import TyperArgument, TyperCommand

_UNREAD: Final = object()


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
        found: list[Any] = read_here(super().get_params(ctx))
        for each in found:
            if isinstance(each, TyperArgument) and not each.type_descriptor.is_choice:
                vars(each)["display_type_rich"] = _untyped
        return found


def read_here(parameters: list[Any]) -> list[Any]:
    """Return the parameters, to be read without pydantic where no more than text and paths are given.

    typer asks pydantic for every value, None and defaults among them, and its import is a twelfth of a short answer.
    """
    for each in parameters:
        own = cast("dict[str, Any]", vars(each))
        own.setdefault("process_value", partial(_process, each, each.process_value))
    return parameters


def _process(parameter: Any, by_typer: Callable[[Any, Any], Any], ctx: Any, value: Any) -> Any:
    """Return the value of a parameter, read by typer only where there is more to it than its type says."""
    read = _read(value, parameter.type_descriptor.annotation)
    if read is _UNREAD or (parameter.required and parameter.value_is_missing(read)):
        return by_typer(ctx, value)
    if read is None and (parameter.multiple or parameter.nargs == -1):
        read = ()
    return read if parameter.callback is None else parameter.callback(ctx, parameter, read)


def _read(value: Any, kind: Any) -> Any:
    """Return what was typed, or left to its default, as the kind; `_UNREAD` where that takes more than text and paths."""
    if value is None:
        return None
    if get_origin(kind) is list and isinstance(value, list | tuple):
        read = [_read(each, get_args(kind)[0]) for each in cast("Sequence[Any]", value)]
        return _UNREAD if any(each is _UNREAD for each in read) else read
    if (isinstance(kind, type) and type(value) is kind) or (get_origin(kind) is Literal and value in get_args(kind)):
        return value
    if kind is Path and isinstance(value, str) and _may_be_read(Path(value)):
        return Path(value)
    return _UNREAD


def _may_be_read(path: Path) -> bool:
    """Whether typer would have nothing to say of a path: it refuses what is there and may not be read."""
    return not os.path.lexists(path) or os.access(path, os.R_OK)


def _untyped(ctx: Any) -> None:
    """Show no type."""


class OutputStyle(StrEnum):
    """How a result is printed."""

    TEXT = "text"
    BRIEF = "brief"
    COMMENT = "comment"
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


# Of options that commands of both kinds have.
HELP_OF_MAP: Final = (
    "For a table or votes of your own: STANDARD=COLUMN, score=COLUMN:lower, scale=1..5, unscored=-1, rows=PATH inside JSON, or "
    "a TOML file; may be repeated."
)
HELP_OF_FORMAT: Final = "Format of the files, instead of detecting it."

Paths = Annotated[
    list[Path] | None, typer.Argument(metavar="PATHS", help="Result files, folders, or a store.", show_default=False)
]
OutputFormat = Annotated[OutputStyle, typer.Option("--format", "-f", help="How to print the result.")]
Map = Annotated[
    list[str] | None,
    typer.Option(
        "--map",
        metavar="TEXT",
        help=HELP_OF_MAP,
        show_default=False,
    ),
]
InputFormat = Annotated[
    str | None,
    typer.Option(
        "--input-format",
        metavar="TEXT",
        help=HELP_OF_FORMAT,
        show_default=False,
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print the result only.")]
