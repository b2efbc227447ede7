"""`evalstats dashboard`: has any model's score changed from run to run?"""

from dataclasses import asdict

import typer

from evalstats.analysis.dashboard.options import DashboardOptions
from evalstats.cli.command import CANNOT_ANSWER, Planned, RowReading, Showing, add_command, noted, with_names


def register(app: typer.Typer) -> None:
    """Add the command."""
    add_command(app, "dashboard", dashboard, RowReading, DashboardOptions, Planned, Showing)


def dashboard(reading: RowReading, asked: DashboardOptions, beside: Planned, showing: Showing) -> None:
    """Has any score changed from run to run?

    Look as often as you like: the error rate holds over all looks. With --report FILE.html a page with a panel for each model.
    """
    from evalstats.analysis.dashboard.dashboard import dashboard as dashboard_of
    from evalstats.cli.output import step_line

    declared = beside.declared(quiet=showing.quiet)
    data = reading.load(declared, quiet=showing.quiet)
    with step_line(quiet=showing.quiet) as on_step:
        on_step("comparing every run with those before")
        result = dashboard_of(data, **asdict(with_names(asked, data)), plan=declared.plan if declared else None)
    showing.present(noted(result, reading, beside))
    if not result.judged:
        raise typer.Exit(CANNOT_ANSWER)
