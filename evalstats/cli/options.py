"""Options of the commands that ask nothing of an analysis; those that do are made of their options."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


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


Paths = Annotated[list[Path] | None, typer.Argument(help="Result files, folders, or a store.", show_default=False)]
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
