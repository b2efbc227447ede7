"""The embedded engine: everything it needs is installed by pip."""

import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from evalstats.errors import RenderError
from evalstats.report.cells import run_cells
from evalstats.report.engine import Job, check_offline
from evalstats.report.qmd import Document, assemble, check_constructs, read_document
from evalstats.report.typeset import typeset, typst_version

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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ran:
    """Cells that have run: of which page, with which parameters, in which folder, and what came out."""

    source: Path
    parameters: Mapping[str, object]
    folder: Path
    outputs: list[list[dict[str, Any]]]


class EmbeddedEngine:
    """Cells by papermill and nbclient, the page by Pandoc, the PDF by Typst.

    One engine runs the cells of a page once for all forms: they do not know whether HTML or a PDF will be made of them.
    """

    __slots__ = ("_ran",)

    def __init__(self) -> None:
        self._ran: _Ran | None = None

    @property
    def name(self) -> str:
        """Short name."""
        return "embedded"

    @property
    def description(self) -> str:
        """Name and versions."""
        return f"the embedded engine (Pandoc {pandoc_program()[1]}, Typst {typst_version()})"

    def render(self, job: Job) -> Path:
        """Render a page; see `evalstats.report.engine.Engine`."""
        document = read_document(job.page.source)
        check_constructs(document)
        outputs = self._outputs(document, job)
        name = job.page.source.stem
        source = job.folder / f"{name}.md"
        source.write_text(assemble(document, outputs, job.folder), encoding="utf-8")
        extension, limit = job.page.extension, job.time_limit
        job.on_step("making HTML" if job.to == "html" else "making Typst")
        if job.to == "html":
            target = job.folder / f"{name}.html"
            run_pandoc(source, target, html_arguments(extension), extension=extension, time_limit=limit)
            check_offline(target.read_text(encoding="utf-8"))
            return target
        between, target = job.folder / f"{name}.typ", job.folder / f"{name}.pdf"
        run_pandoc(source, between, typst_arguments(extension), extension=extension, time_limit=limit)
        job.on_step("making the PDF")
        typeset(between, target, day=job.day, time_limit=limit)
        return target

    def _outputs(self, document: Document, job: Job) -> list[list[dict[str, Any]]]:
        """Return what the cells give; where they ran for another form of this page, with the files that they left."""
        ran, parameters = self._ran, dict(job.parameters)
        if ran and ran.folder.is_dir() and (ran.source, ran.parameters) == (job.page.source, parameters):
            shutil.copytree(ran.folder, job.folder, dirs_exist_ok=True)
            return ran.outputs
        job.on_step("running the cells")
        outputs = run_cells(document, parameters, job.folder, time_limit=job.time_limit)
        self._ran = _Ran(source=job.page.source, parameters=parameters, folder=job.folder, outputs=outputs)
        return outputs
