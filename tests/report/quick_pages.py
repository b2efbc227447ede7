"""Pages made as the embedded engine makes them, but in this process and without a kernel: a page takes half a second."""

import io
from collections.abc import Callable
from contextlib import chdir, redirect_stdout
from datetime import date
from pathlib import Path

from evalstats.document.model import Document
from evalstats.report.engine import check_offline, find_page, html_arguments, page_script, run_pandoc, whole_page
from evalstats.report.page import Page

DAY = date(2026, 1, 31)


def quick_page(document: Document, folder: Path) -> Path:
    """Return the page of a document: all its parts, in the order of most pages."""
    page = Page(document=document, engine="", day=DAY)
    return printed_page(lambda: page.show("title", "answer", "evidence", "method"), folder)


def printed_page(show: Callable[[], object], folder: Path) -> Path:
    """Return the page of what the cells of a .qmd file would print."""
    extension, told = find_page("compare").extension, io.StringIO()
    with chdir(folder), redirect_stdout(told):
        show()
    (folder / "page.md").write_text(told.getvalue(), encoding="utf-8")
    target = folder / "page.html"
    run_pandoc(folder / "page.md", target, html_arguments(extension), extension=extension, time_limit=60)
    html = whole_page(target.read_text(encoding="utf-8"), folder, extension)
    check_offline(html, script=page_script(extension))
    target.write_text(html, encoding="utf-8")
    return target
