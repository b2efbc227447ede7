"""`evalstats report`: saved results as pages to read and to send on."""

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal

import typer

from evalstats.cli.command import add_command
from evalstats.cli.texts import Texts
from evalstats.options import Flag
from evalstats.record import record


class Form(StrEnum):
    """What a report is made as."""

    HTML = "html"
    PDF = "pdf"


@record
class ReportOptions:
    """What to render, and where to."""

    targets: Annotated[
        Sequence[str],
        Flag(
            "Saved results (from --format json); several become one document with an index. Or a stored study: "
            "validation (the error rates of evalstats), arena-sampling, tenacious (a published claim re-analysed), "
            "published-claims (six, recounted). "
            "Or a page of your own, PAGE.qmd; `new PAGE.qmd RESULT.json` creates one.",
            metavar="RESULT.json",
        ),
    ] = ()
    output: Annotated[
        Sequence[Path],
        Flag("File to write, .html or .pdf, or a folder; may be repeated.", "--output -o", metavar="FILE"),
    ] = ()
    to: Annotated[
        Sequence[Form], Flag("html or pdf, if --output names none; may be repeated.", "--to", metavar="FORM")
    ] = ()
    engine: Annotated[Literal["auto", "quarto", "embedded"], Flag("Engine that renders the page.")] = "auto"
    quiet: Annotated[bool, Flag("Print errors only.", "--quiet -q")] = False


def register(app: typer.Typer) -> None:
    """Add the command."""
    add_command(app, "report", report, ReportOptions, Texts)


def report(asked: ReportOptions, texts: Texts) -> None:
    """Render saved results as pages. Every question also takes --report FILE."""
    from evalstats.analysis.saved import load_result
    from evalstats.cli.output import say, step_line
    from evalstats.errors import InputError
    from evalstats.report.render import STUDIES, render_results

    if not asked.targets:
        raise InputError(f"nothing to render: give a saved result (RESULT.json), or {' or '.join(STUDIES)}")
    if asked.targets[0] == "new":
        return _new(asked)
    single = asked.targets[0]
    study = single if single in STUDIES or single.endswith(".qmd") else None
    if study and len(asked.targets) > 1:
        raise InputError(f"{study} is a page of its own; found {len(asked.targets) - 1} more beside it")
    results = study or [texts.of(load_result(target)) for target in asked.targets]
    name = Path(single).stem if len(asked.targets) == 1 else "results"
    with step_line(quiet=asked.quiet) as on_step:
        made = render_results(results, outputs(asked, name), engine=asked.engine, on_step=on_step)
    for page in made:
        say(f"rendered: {page.path} ({page.engine} engine)", quiet=asked.quiet)
    return None


def _new(asked: ReportOptions) -> None:
    from evalstats.analysis.saved import load_result
    from evalstats.cli.output import say
    from evalstats.errors import InputError
    from evalstats.report.render import write_page

    if len(asked.targets) != 3:
        raise InputError("a new page needs its name and a saved result: evalstats report new PAGE.qmd RESULT.json")
    page, saved = map(Path, asked.targets[1:])
    write_page(page, load_result(saved), saved)
    say(f"written: {page}; edit it, then: quarto render {page}, or: evalstats report {page}", quiet=asked.quiet)


def outputs(asked: ReportOptions, name: str) -> list[Path]:
    """Return the files to write: those named, or one for each form beside its name."""
    forms = asked.to or (Form.HTML,)
    found: list[Path] = []
    for given in asked.output or (Path(),):
        is_file = given.suffix.lower() in (".html", ".pdf")
        found += [given] if is_file else [given / f"{name}.{form.value}" for form in forms]
    return found
