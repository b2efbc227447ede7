"""Make a PDF of a Typst file, in a process of its own so that it can be given a time limit."""

import shutil
import subprocess
import sys
import tempfile
from datetime import UTC, date, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from evalstats.errors import RenderError, warn
from evalstats.report.workspace import UNGUARDED, Guard, run_program

# Tagged, with alternative text for every figure: Typst refuses to write a PDF that breaks the rule.
STANDARD: Final = "ua-1"
# What Typst says of a letter that no font has.
NO_LETTER: Final = "could not be displayed"
# What it says of an accent or vowel point inside a drawing: the letter is drawn, but the PDF cannot tell which it is.
NO_TEXT: Final = "missing codepoints"
# What a PDF that keeps to the rule holds; what we say of one that does not.
CLAIM: Final = b"pdfuaid"
UNCLAIMED: Final = (
    "the PDF is not marked as accessible (PDF/UA): in its figures some accents or vowel points cannot be copied"
)
# The name, within a PDF, of our font of boxes; what we say of them.
BOX_FONT: Final = b"EvalstatsBoxes"
BOXES: Final = "the PDF shows boxes for letters that no font on this machine has; the HTML page shows them"
# Fonts of many scripts that matplotlib carries, whatever the machine has.
_WIDE_FONTS: Final = ("DejaVuSans.ttf", "DejaVuSans-Bold.ttf")


def add_wide_fonts(folder: Path) -> None:
    """Copy fonts of many scripts (Hebrew, Arabic, Georgian, ...) into a folder, from a package that is installed anyway."""
    found = find_spec("matplotlib")
    if found is None or found.origin is None:
        return
    shipped = Path(found.origin).parent / "mpl-data" / "fonts" / "ttf"
    for name in _WIDE_FONTS:
        if (shipped / name).is_file():
            shutil.copyfile(shipped / name, folder / name)


def warn_of_letters(pdf: Path) -> None:
    """Warn if letters of a PDF are boxes, or if some kept it from being accessible."""
    content = pdf.read_bytes()
    if BOX_FONT in content:
        warn(BOXES)
    if CLAIM not in content:
        warn(UNCLAIMED)


def typst_version() -> str:
    """Return the version of Typst.

    RenderError if it is not installed.
    """
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("typst")
    except PackageNotFoundError as error:
        raise RenderError(
            "the embedded engine needs typst for a PDF; pip install 'evalstats-toolkit[report]'"
        ) from error


def typeset(source: Path, target: Path, *, boxes: Path, day: date, time_limit: int, guard: Guard = UNGUARDED) -> None:
    """Compile a Typst file to PDF/UA; the same file and day give the same bytes.

    Only the fonts that come with Typst are used, unless the text has letters they lack: then those of this machine too, and
    at last those in the folder `boxes`. RenderError if Typst refuses the file, or takes longer than `time_limit` seconds.

    Warns
    -----
    EvalStatsWarning
        If no font at all has a letter: it is printed as a box. If a drawing holds combining marks: then the PDF is tagged, but
        does not claim to keep to the standard.
    """
    typst_version()
    command = [sys.executable, "-P", "-m", "evalstats.report.typeset", str(source), str(target), str(boxes)]
    command.append(day.isoformat())
    try:
        done = run_program(command, guard=guard, time_limit=time_limit)
    except subprocess.TimeoutExpired as error:
        raise RenderError(f"Typst took longer than {time_limit} s; give more with time_limit") from error
    if done.returncode:
        raise RenderError(f"Typst failed: {done.stderr.strip()[-2000:]}")
    warn_of_letters(target)


def main(source: str, target: str, boxes: str, day: str) -> None:
    """Compile, in the process that `typeset` started."""
    import typst

    moment = int(datetime.combine(date.fromisoformat(day), datetime.min.time(), tzinfo=UTC).timestamp())
    more, marked = False, True
    with tempfile.TemporaryDirectory(prefix="evalstats-fonts-") as folder:
        while True:
            try:
                pdf = typst.compile(
                    Path(source),
                    root=Path(source).parent,
                    font_paths=[Path(folder), Path(boxes)] if more else [],
                    ignore_system_fonts=not more,
                    pdf_standards=[STANDARD] if marked else [],
                    timestamp=moment,
                )
            except typst.TypstError as error:
                if NO_TEXT in str(error) and marked:
                    marked = False  # without the standard, a letter that no font has is no error: all fonts at once
                elif NO_LETTER not in str(error) or more:
                    sys.exit(str(error))
                more = True
                add_wide_fonts(Path(folder))
                continue
            Path(target).write_bytes(pdf)
            return


if __name__ == "__main__":
    main(*sys.argv[1:])
