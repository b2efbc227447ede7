"""Make a PDF of a Typst file, in a process of its own so that it can be given a time limit."""

import subprocess
import sys
from datetime import UTC, date, datetime
from pathlib import Path

from evalstats.errors import RenderError

# Tagged, with alternative text for every figure: Typst refuses to write a PDF that breaks the rule.
STANDARD = "ua-1"


def typst_version() -> str:
    """Return the version of Typst.

    Raises
    ------
    RenderError
        If it is not installed.
    """
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("typst")
    except PackageNotFoundError as error:
        message = "the embedded engine needs typst for a PDF; install evalstats-toolkit[report]"
        raise RenderError(message) from error


def typeset(source: Path, target: Path, *, day: date, time_limit: int) -> None:
    """Compile a Typst file to PDF/UA; the same file and day give the same bytes.

    Raises
    ------
    RenderError
        If Typst refuses the file, or takes longer than `time_limit` seconds.
    """
    typst_version()
    command = [sys.executable, "-P", "-m", "evalstats.report.typeset", str(source), str(target), day.isoformat()]
    try:
        done = subprocess.run(  # noqa: S603 - paths of our own
            command, capture_output=True, text=True, timeout=time_limit, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise RenderError(f"Typst took longer than {time_limit} s; give more with time_limit") from error
    if done.returncode:
        raise RenderError(f"Typst failed: {done.stderr.strip()[-2000:]}")


def main(source: str, target: str, day: str) -> None:
    """Compile, in the process that `typeset` started."""
    import typst

    pdf = typst.compile(
        Path(source),
        root=Path(source).parent,
        ignore_system_fonts=True,
        pdf_standards=[STANDARD],
        timestamp=int(datetime.combine(date.fromisoformat(day), datetime.min.time(), tzinfo=UTC).timestamp()),
    )
    Path(target).write_bytes(pdf)


if __name__ == "__main__":
    main(*sys.argv[1:])
