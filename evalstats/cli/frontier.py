"""`evalstats frontier`: which systems score the most for their cost?"""

from dataclasses import asdict

import typer

from evalstats.analysis.frontier.options import FrontierOptions
from evalstats.cli.command import RowReading, Showing, add_command, noted, with_names


def register(app: typer.Typer) -> None:
    """Add the command."""
    add_command(app, "frontier", frontier, RowReading, FrontierOptions, Showing)


def frontier(reading: RowReading, asked: FrontierOptions, showing: Showing) -> None:
    """Which systems score the most for their cost?"""
    from evalstats.analysis.frontier.frontier import frontier as frontier_of
    from evalstats.cli.output import step_line

    data = reading.load(quiet=showing.quiet)
    with step_line(quiet=showing.quiet) as on_step:
        result = frontier_of(
            data,
            **asdict(with_names(asked, data)),
            on_progress=lambda done, of: on_step(f"resampling {done:,} of {of:,}"),
        )
    showing.present(noted(result, reading))
