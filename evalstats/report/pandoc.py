"""Call Pandoc, the one that pypandoc-binary brings, with a time limit."""

import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from evalstats.errors import RenderError

_READER = "markdown-smart-autolink_bare_uris-raw_tex"


@cache
def pandoc_program() -> tuple[str, str]:
    """Return the path and version of Pandoc.

    Raises
    ------
    RenderError
        If there is none.
    """
    try:
        import pypandoc

        return str(pypandoc.get_pandoc_path()), str(pypandoc.get_pandoc_version())
    except (ImportError, OSError) as error:
        message = f"the embedded engine needs Pandoc ({error}); install evalstats-toolkit[report]"
        raise RenderError(message) from error


def html_arguments(extension: Path) -> list[str]:
    """Return Pandoc's arguments for one self-contained HTML page."""
    return [
        "--to=html5",
        f"--template={extension / 'template.html'}",
        f"--css={extension / 'evalstats.css'}",
        "--embed-resources",
        "--mathml",
        "--toc",
        "--toc-depth=3",
        "--section-divs",
    ]


def typst_arguments(extension: Path) -> list[str]:
    """Return Pandoc's arguments for a Typst document."""
    return ["--to=typst", f"--template={extension / 'embedded.typ'}", "--shift-heading-level-by=-1"]


def run_pandoc(source: Path, target: Path, arguments: Sequence[str], *, extension: Path, time_limit: int) -> None:
    """Convert a Markdown file; it runs in the file's folder.

    Raises
    ------
    RenderError
        If Pandoc fails, warns, or takes longer than `time_limit` seconds.
    """
    program, _ = pandoc_program()
    command = [
        program,
        source.name,
        f"--from={_READER}",
        "--standalone",
        f"--lua-filter={extension / 'quarto.lua'}",
        "--fail-if-warnings",
        f"--output={target}",
        *arguments,
    ]
    try:
        done = subprocess.run(  # noqa: S603 - our own arguments; nothing from a result file is among them
            command, cwd=source.parent, capture_output=True, text=True, timeout=time_limit, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise RenderError(f"Pandoc took longer than {time_limit} s; give more with time_limit") from error
    if done.returncode:
        raise RenderError(f"Pandoc failed: {done.stderr.strip()[-2000:]}")
