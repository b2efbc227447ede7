"""`evalstats overview`: all that a store answers, as one document."""

from dataclasses import asdict, replace
from pathlib import Path

import typer

from evalstats.analysis.overview.options import OverviewOptions
from evalstats.cli.command import CANNOT_ANSWER, Planned, RowReading, Showing, add_command, noted


def register(app: typer.Typer) -> None:
    """Add the command."""
    add_command(app, "overview", overview, RowReading, OverviewOptions, Planned, Showing)


def overview(reading: RowReading, asked: OverviewOptions, beside: Planned, showing: Showing) -> None:
    """Show what a store holds, and all that it answers.

    Every question that the data allow is asked with its defaults. With -o FOLDER each answer gets a page, and one page links
    them.
    """
    from evalstats.analysis.overview.overview import overview as overview_of
    from evalstats.cli.output import say, step_line

    folder = _folder(showing.output)
    plan = beside.declared(quiet=showing.quiet)
    data = reading.load(plan, quiet=showing.quiet)
    with step_line(quiet=showing.quiet) as on_step:
        result = overview_of(data, **asdict(asked), plan=plan.plan if plan else None, on_step=on_step)
    answers = tuple(replace(each, result=noted(each.result, reading, beside)) for each in result.answers)
    result = noted(replace(result, answers=answers), reading, beside)
    if folder is None:
        showing.present(result)
    else:
        from evalstats.report.overview import write_pages

        with step_line(quiet=showing.quiet) as on_step:
            index = write_pages(result, folder, on_step=on_step)
        say(f"written: {index} and {len(result.answers)} pages that it links", quiet=showing.quiet)
    if not result.answers:
        raise typer.Exit(CANNOT_ANSWER)


def _folder(output: Path | None) -> Path | None:
    """Return the folder that pages are wanted in: one that is there, or a name without an ending."""
    return output if output is not None and (output.is_dir() or not output.suffix) else None
