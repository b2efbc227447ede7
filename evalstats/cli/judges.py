"""`evalstats judges`: can the judge stand in for people?"""

from dataclasses import asdict, dataclass
from typing import Annotated

import typer

from evalstats.analysis.judges.options import JudgesOptions
from evalstats.analysis.options import Option
from evalstats.cli.command import RowReading, Showing, add_command, noted


@dataclass(frozen=True, slots=True, kw_only=True)
class Raters:
    """Who rated, in a table of one's own."""

    raters: Annotated[
        tuple[str, ...], Option("Columns that hold one rater's ratings each; may be repeated.", metavar="COLUMN")
    ] = ()
    humans: Annotated[tuple[str, ...], Option("Raters who are people; may be repeated.", metavar="NAME")] = ()


def register(app: typer.Typer) -> None:
    """Add the command."""
    add_command(app, "judges", judges, RowReading, Raters, JudgesOptions, Showing)


def judges(reading: RowReading, who: Raters, asked: JudgesOptions, showing: Showing) -> None:
    """Can a judge stand in for people?"""
    from evalstats.analysis.judges.judges import judges as judge_data
    from evalstats.cli.load import ratings

    data = ratings(
        reading.paths,
        store=reading.store,
        pairs=reading.map,
        raters=who.raters,
        humans=who.humans,
        where=reading.where,
        quiet=showing.quiet,
    )
    showing.present(noted(judge_data(data, **asdict(asked)), reading, who))
