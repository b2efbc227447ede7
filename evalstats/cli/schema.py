"""`evalstats schema`: the JSON Schema of what machines read."""

from enum import StrEnum
from typing import Annotated

import typer


class SchemaOf(StrEnum):
    """What is described."""

    BRIEF = "brief"
    RESULT = "result"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("schema")(schema)


def schema(form: Annotated[SchemaOf, typer.Argument(help="What --format brief, or --format json, prints.")]) -> None:
    """Print the JSON Schema of brief or of whole results."""
    from evalstats.analysis.schemas import brief_schema, result_schema
    from evalstats.cli.output import json_text

    print(json_text(brief_schema() if form is SchemaOf.BRIEF else result_schema()))
