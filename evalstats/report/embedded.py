"""The embedded engine: everything it needs is installed by pip."""

from pathlib import Path

from evalstats.report.assemble import assemble
from evalstats.report.cells import run_cells
from evalstats.report.constructs import check_constructs
from evalstats.report.document import read_document
from evalstats.report.engine import Job
from evalstats.report.offline import check_offline
from evalstats.report.pandoc import html_arguments, pandoc_program, run_pandoc, typst_arguments
from evalstats.report.typeset import typeset, typst_version


class EmbeddedEngine:
    """Cells by papermill and nbclient, the page by Pandoc, the PDF by Typst."""

    __slots__ = ()

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
        job.on_step("running the cells")
        outputs = run_cells(document, job.parameters, job.folder, time_limit=job.time_limit)
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
