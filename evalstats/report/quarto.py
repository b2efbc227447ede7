"""The Quarto engine: the page is copied to a folder of its own and rendered by the program that is on the machine."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Literal, overload

from evalstats.errors import RenderError
from evalstats.report.engine import Job, check_offline
from evalstats.report.qmd import check_constructs, read_document

_TAIL = 25


@overload
def find_quarto(*, required: Literal[True]) -> Path: ...
@overload
def find_quarto(*, required: bool) -> Path | None: ...
def find_quarto(*, required: bool) -> Path | None:
    """Return the program named by QUARTO_PATH, else the one on the path.

    Raises
    ------
    RenderError
        If QUARTO_PATH names no program, or it is required and there is none.
    """
    named = os.environ.get("QUARTO_PATH")
    if named:
        path = Path(named)
        path = path / "quarto" if path.is_dir() else path
        if not path.is_file():
            raise RenderError(f"QUARTO_PATH is {named}, where there is no program; correct it or unset it")
        return path
    found = shutil.which("quarto")
    if found is None and required:
        message = (
            "Quarto was asked for and is not on this machine; install it, set QUARTO_PATH, or use --engine embedded"
        )
        raise RenderError(message)
    return Path(found) if found else None


def render_command(program: Path, job: Job) -> list[str]:
    """Return the command that renders the job's copy of the page. Parameters go through a file, not a command line."""
    command = [
        str(program),
        "render",
        job.page.source.name,
        "--to",
        "evalstats-html" if job.to == "html" else "evalstats-typst",
        "--output",
        f"{job.page.source.stem}.{job.to}",
        "--no-cache",
    ]
    return [*command, "--execute-params", "parameters.json"] if job.parameters else command


class QuartoEngine:
    """Quarto, as found on the machine."""

    __slots__ = ("program",)

    def __init__(self, program: Path) -> None:
        self.program = program

    @property
    def name(self) -> str:
        """Short name."""
        return "quarto"

    @property
    def description(self) -> str:
        """Name and version."""
        try:
            done = subprocess.run(  # noqa: S603 - the program that the user named
                [str(self.program), "--version"], capture_output=True, text=True, timeout=60, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise RenderError(f"{self.program} does not run ({error}); use --engine embedded") from error
        return f"Quarto {done.stdout.strip() or '(unknown version)'}"

    def render(self, job: Job) -> Path:
        """Render a page; see `evalstats.report.engine.Engine`."""
        check_constructs(read_document(job.page.source))
        shutil.copy(job.page.source, job.folder)
        shutil.copytree(job.page.extension, job.folder / "_extensions" / job.page.extension.name)
        # JSON is YAML, and no name from a result file can end a quoted string in it.
        parameters = job.folder / "parameters.json"
        parameters.write_text(json.dumps(dict(job.parameters)), encoding="utf-8")
        environment = {
            **os.environ,
            "QUARTO_PYTHON": sys.executable,
            "SOURCE_DATE_EPOCH": _epoch(job),
            "PYTHONHASHSEED": "0",
        }
        job.on_step(f"running the cells and making {job.to.upper()} with Quarto")
        try:
            done = subprocess.run(  # noqa: S603 - see render_command
                render_command(self.program, job),
                cwd=job.folder,
                env=environment,
                capture_output=True,
                text=True,
                timeout=job.time_limit,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise RenderError(f"Quarto did not finish ({error}); use --engine embedded") from error
        target = job.folder / f"{job.page.source.stem}.{job.to}"
        if done.returncode or not target.is_file():
            tail = "\n".join((done.stdout + done.stderr).strip().splitlines()[-_TAIL:])
            raise RenderError(f"Quarto failed with status {done.returncode}:\n{tail}")
        if job.to == "html":
            check_offline(target.read_text(encoding="utf-8"))
        return target


def _epoch(job: Job) -> str:
    from datetime import UTC, datetime

    return str(int(datetime.combine(job.day, datetime.min.time(), tzinfo=UTC).timestamp()))
