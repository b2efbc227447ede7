"""Make a PDF of a Typst file, in a process of its own so that it can be given a time limit."""

import subprocess
import sys
import warnings
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, Final

from evalstats.errors import EvalStatsWarning, RenderError
from evalstats.report.workspace import UNGUARDED, Guard, run_program

# Tagged, with alternative text for every figure: Typst refuses to write a PDF that breaks the rule.
STANDARD: Final = "ua-1"
# What Typst says of a letter that no font has, and what we say.
NO_LETTER: Final = "could not be displayed"
BOXES: Final = "the PDF shows boxes for letters that no font on this machine has; the HTML page shows them"


def typst_version() -> str:
    """Return the version of Typst.

    RenderError if it is not installed.
    """
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("typst")
    except PackageNotFoundError as error:
        raise RenderError("the embedded engine needs typst for a PDF; install evalstats-toolkit[report]") from error


def typeset(source: Path, target: Path, *, day: date, time_limit: int, guard: Guard = UNGUARDED) -> None:
    """Compile a Typst file to PDF/UA; the same file and day give the same bytes.

    Only the fonts that come with Typst are used, unless the text has letters they lack: then those of this machine too.
    RenderError if Typst refuses the file, or takes longer than `time_limit` seconds.

    Warns
    -----
    EvalStatsWarning
        If no font at all has a letter: it is printed as a box, and the PDF does not call itself PDF/UA.
    """
    typst_version()
    command = [sys.executable, "-P", "-m", "evalstats.report.typeset", str(source), str(target), day.isoformat()]
    try:
        done = run_program(command, guard=guard, time_limit=time_limit)
    except subprocess.TimeoutExpired as error:
        raise RenderError(f"Typst took longer than {time_limit} s; give more with time_limit") from error
    if done.returncode:
        raise RenderError(f"Typst failed: {done.stderr.strip()[-2000:]}")
    if done.stdout.strip():
        warnings.warn(done.stdout.strip(), EvalStatsWarning, stacklevel=2)


def main(source: str, target: str, day: str) -> None:
    """Compile, in the process that `typeset` started; what is printed is a warning for the caller."""
    import typst

    moment = int(datetime.combine(date.fromisoformat(day), datetime.min.time(), tzinfo=UTC).timestamp())
    attempts: tuple[tuple[Any, bool], ...] = (([STANDARD], True), ([STANDARD], False), ([], False))
    for place, (standards, own_fonts_only) in enumerate(attempts):
        try:
            pdf = typst.compile(
                Path(source),
                root=Path(source).parent,
                ignore_system_fonts=own_fonts_only,
                pdf_standards=standards,
                timestamp=moment,
            )
        except typst.TypstError as error:
            if NO_LETTER not in str(error) or place == len(attempts) - 1:
                sys.exit(str(error))
            continue
        Path(target).write_bytes(pdf)
        if not standards:
            sys.stdout.write(BOXES)
        return


if __name__ == "__main__":
    main(*sys.argv[1:])
