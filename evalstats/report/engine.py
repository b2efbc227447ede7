"""The two engines that render a page: Quarto, and the embedded one made of parts that pip installs."""

import json
import os
import re
import shutil
import subprocess
import sys
import warnings
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from datetime import date
from functools import cache
from html.parser import HTMLParser
from importlib.util import find_spec
from io import StringIO
from pathlib import Path
from typing import Any, Literal, overload
from urllib.parse import quote

from evalstats.errors import InputError, Option, RenderError
from evalstats.record import record
from evalstats.report.kernel import PRINTED, failed_cell, run_cells
from evalstats.report.qmd import IMAGES, PageSource, assemble, check_constructs, read_document
from evalstats.report.typeset import add_wide_fonts, typeset, typst_version, warn_of_letters
from evalstats.report.workspace import UNGUARDED, Guard, run_program

_HERE = Path(__file__).resolve().parent


@record
class PageFile:
    """A .qmd file and the folder of the Quarto extension that it is styled by."""

    source: Path
    extension: Path


def find_page(kind: str) -> PageFile:
    """Return the page of that kind.

    InputError if there is none; the message lists all.

    >>> find_page("compare").source.name
    'compare.qmd'
    """
    pages, extensions = _folders()
    kinds = sorted(path.stem for path in pages.glob("*.qmd"))
    if kind not in kinds:
        raise InputError(f"there is no report {kind!r}; there are {', '.join(kinds)}")
    return PageFile(source=pages / f"{kind}.qmd", extension=extensions / "evalstats")


def _folders() -> tuple[Path, Path]:
    """Return the folders of pages and extensions. A wheel carries both below `evalstats/report/pages`."""
    inside = _HERE / "pages"
    if inside.is_dir():
        return inside, inside / "_extensions"
    root = _HERE.parents[1]
    return root / "reports", root / "reports" / "_extensions"


Target = Literal["html", "pdf"]


def no_one_listens(_step: str) -> None:
    """Take the name of a step and do nothing."""


@record
class Job:
    """One page to be rendered: `folder` is empty and belongs to this rendering alone.

    `time_limit` is in seconds and holds for every step: a cell of a page that is not ours, Pandoc, Typst; for Quarto it holds
    for the whole.
    `on_step` is told what is being done, in a few words, before each step. `printed` says whether a PDF is among the forms.
    """

    page: PageFile
    parameters: Mapping[str, object] = field(default_factory=dict[str, object])
    to: Target
    folder: Path
    day: date
    time_limit: int = 600
    on_step: Callable[[str], None] = no_one_listens
    guard: Guard = UNGUARDED
    printed: bool = True


_LOADING = frozenset({"src", "srcset", "data", "poster", "background", "action", "formaction", "manifest", "ping"})
_CSS_LOAD = re.compile(r"@import|url\(\s*['\"]?(?!data:|#|['\"]?\))", re.IGNORECASE)
_LINKS = frozenset({"a", "area"})


SCRIPT = "page.js"


@cache
def page_script(extension: Path | None = None) -> str:
    """Return the script that pages styled by this extension, by itself ours, carry; "" where it has none."""
    path = (extension or _folders()[1] / "evalstats") / SCRIPT
    return path.read_text(encoding="utf-8").strip() if path.is_file() else ""


class _Loads(HTMLParser):
    def __init__(self, script: str) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[str] = []
        self._in_style = False
        self._script = script
        self._code: list[str] | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._in_style = tag == "style"
        if tag == "script" and not attrs and self._script:
            self._code = []
        elif tag in ("script", "iframe", "object", "embed", "base"):
            self.found.append(f"<{tag}>")
        for name, value in attrs:
            text = (value or "").strip()
            loads = name in _LOADING or (name in ("href", "xlink:href") and tag not in _LINKS)
            if loads and text and not text.startswith(("data:", "#")):
                self.found.append(f"<{tag} {name}={text[:80]!r}>")
            elif name.startswith("on") or (name == "href" and text.lower().startswith(("javascript:", "vbscript:"))):
                self.found.append(f"<{tag} {name}>")
            elif name == "style" and _CSS_LOAD.search(text):
                self.found.append(f"<{tag} style>")

    def handle_endtag(self, tag: str) -> None:
        if tag == "style":
            self._in_style = False
        elif tag == "script":
            self._end_script()

    def close(self) -> None:
        super().close()
        self._end_script()

    def _end_script(self) -> None:
        # The page's own script, byte for byte, or none.
        if self._code is not None and "".join(self._code).strip() != self._script:
            self.found.append("<script>")
        self._code = None

    def handle_data(self, data: str) -> None:
        if self._code is not None:
            self._code.append(data)
        if self._in_style and _CSS_LOAD.search(data):
            self.found.append("a style sheet")


def loads(html: str, *, script: str = "") -> list[str]:
    """Return everything in a page that would load or run something; links that a reader may follow are not among it.

    Nor is `script`, the one that our pages carry: a script of exactly these letters, without attributes.

    >>> loads('<img src="https://example.org/x.png"><a href="https://example.org">x</a>')
    ["<img src='https://example.org/x.png'>"]
    """
    parser = _Loads(script)
    parser.feed(html)
    parser.close()
    return parser.found


def check_offline(html: str, *, script: str = "") -> None:
    """Refuse a page that would load something, or run anything but `script`.

    RenderError names what it would load.
    """
    found = loads(html, script=script)
    if found:
        raise RenderError(f"the page would load or run something: {', '.join(found[:5])}; a report is one file")


# The extension's folder of fonts.
FONTS = "fonts"
_TAIL = 25


@overload
def find_quarto(*, required: Literal[True]) -> Path: ...
@overload
def find_quarto(*, required: bool) -> Path | None: ...
def find_quarto(*, required: bool) -> Path | None:
    """Return the program named by QUARTO_PATH, else the one on the path.

    RenderError if QUARTO_PATH names no program, or it is required and there is none.
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
        raise RenderError(
            "Quarto was asked for and is not on this machine; install it, set QUARTO_PATH, or use "
            f"{Option('engine', 'embedded')}"
        )
    return Path(found) if found else None


def render_command(program: Path, job: Job) -> list[str]:
    """Return the command that renders the job's copy of the page. Parameters go through a file, not a command line."""
    command = [
        str(program),
        "render",
        job.page.source.name,
        "--to",
        "evalstats-typst" if job.to == "pdf" else "evalstats-html",
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
            raise RenderError(f"{self.program} does not run ({error}); use {Option('engine', 'embedded')}") from error
        return f"Quarto {done.stdout.strip() or '(unknown version)'}"

    def render(self, job: Job) -> Path:
        """Render the page and return the finished file, inside the job's folder.

        RenderError says what went wrong, in the words of the program that failed.
        """
        document = read_document(job.page.source)
        check_constructs(document)
        shutil.copy(job.page.source, job.folder)
        copied = job.folder / "_extensions" / job.page.extension.name
        shutil.copytree(job.page.extension, copied)
        if job.to == "pdf":
            (copied / FONTS).mkdir(exist_ok=True)
            add_wide_fonts(copied / FONTS)
        # JSON is YAML, and no name from a result file can end a quoted string in it.
        parameters = job.folder / "parameters.json"
        parameters.write_text(json.dumps(dict(job.parameters)), encoding="utf-8")
        aside = job.folder / ".tmp"
        aside.mkdir()
        from datetime import UTC, datetime

        environment = {
            **os.environ,
            "QUARTO_PYTHON": sys.executable,
            "SOURCE_DATE_EPOCH": str(int(datetime.combine(job.day, datetime.min.time(), tzinfo=UTC).timestamp())),
            "PYTHONHASHSEED": "0",
            PRINTED: str(int(job.printed)),
            # What Quarto puts aside while it works goes with the folder.
            "TMPDIR": str(aside),
        }
        job.on_step(f"running the cells and making {job.to.upper()} with Quarto")
        done = self._run(job, environment)
        target = job.folder / f"{job.page.source.stem}.{job.to}"
        if done.returncode or not target.is_file():
            said = done.stdout + done.stderr
            if failure := _failed_in_quarto(said, document):
                raise RenderError(f"{job.page.source}: {failure}")
            tail = "\n".join(said.strip().splitlines()[-_TAIL:])
            raise RenderError(f"Quarto failed with status {done.returncode}:\n{tail}")
        if job.to == "html":
            script, html = page_script(job.page.extension), target.read_text(encoding="utf-8")
            check_offline(html, script=script)
        else:
            warn_of_letters(target)
        return target

    def _run(self, job: Job, environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
        try:
            return run_program(
                render_command(self.program, job),
                guard=job.guard,
                time_limit=job.time_limit,
                folder=job.folder,
                environment=environment,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise RenderError(f"Quarto did not finish ({error}); use {Option('engine', 'embedded')}") from error


_CELL = re.compile(r"^\s*Cell (\d+)/(\d+):", re.MULTILINE)
_COLORS = re.compile(r"\x1b\[[0-9;]*m")


def _failed_in_quarto(said: str, document: PageSource) -> str:
    """Return which cell failed and why, where that is what Quarto reports with a traceback; else nothing."""
    said = _COLORS.sub("", said)
    reached = _CELL.findall(said)
    traceback = re.search(r"^([\w.]+) +Traceback \(most recent call last\)", said, re.MULTILINE)
    if not reached or traceback is None:
        return ""
    place, total = map(int, reached[-1])
    lines = [cell.line for cell in document.cells]
    if total > len(lines):  # the cell with the parameters that were given stands behind their defaults
        given = next((k for k, cell in enumerate(document.cells, start=1) if "parameters" in cell.tags), 0)
        lines.insert(given, 0)
    reason = re.findall(rf"^{re.escape(traceback[1])}: (.*(?:\n.+)*)", said[traceback.end() :], re.MULTILINE)
    return failed_cell(lines[min(place, len(lines)) - 1], traceback[1], reason[-1] if reason else "")


def embedded_parts() -> bool:
    """Say whether all parts of the embedded engine are installed; none of them is loaded."""
    return all(find_spec(part) for part in ("papermill", "nbclient", "ipykernel", "pypandoc", "typst", "yaml"))


_STYLES = ("evalstats.css", "page.css")
READER = "markdown-smart-autolink_bare_uris-raw_tex"


@cache
def pandoc_program() -> tuple[str, str]:
    """Return the path and version of Pandoc.

    RenderError if there is none.
    """
    try:
        import pypandoc

        return str(pypandoc.get_pandoc_path()), str(pypandoc.get_pandoc_version())
    except (ImportError, OSError) as error:
        raise RenderError(
            f"the embedded engine needs Pandoc ({error}); pip install 'evalstats-toolkit[report]'"
        ) from error


def html_arguments(extension: Path) -> list[str]:
    """Return Pandoc's arguments for an HTML page; see `whole_page` for its style and pictures."""
    return [
        "--to=html5",
        f"--template={extension / 'template.html'}",
        "--mathml",
        "--toc",
        "--toc-depth=3",
        "--section-divs",
        "--wrap=none",
    ]


def typst_arguments(extension: Path) -> list[str]:
    """Return Pandoc's arguments for a Typst document."""
    return ["--to=typst", f"--template={extension / 'embedded.typ'}", "--shift-heading-level-by=-1"]


def run_pandoc(
    source: Path,
    target: Path,
    arguments: Sequence[str],
    *,
    extension: Path,
    time_limit: int,
    guard: Guard = UNGUARDED,
) -> None:
    """Convert a Markdown file; it runs in the file's folder.

    RenderError if Pandoc fails, warns, or takes longer than `time_limit` seconds.
    """
    program, _ = pandoc_program()
    command = [
        program,
        source.name,
        f"--from={READER}",
        "--standalone",
        f"--lua-filter={extension / 'quarto.lua'}",
        "--fail-if-warnings",
        f"--output={target}",
        *arguments,
    ]
    try:
        done = run_program(command, guard=guard, time_limit=time_limit, folder=source.parent)
    except subprocess.TimeoutExpired as error:
        raise RenderError(f"Pandoc took longer than {time_limit} s; give more with time_limit") from error
    if done.returncode:
        raise RenderError(f"Pandoc failed: {done.stderr.strip()[-2000:]}")


def whole_page(html: str, folder: Path, extension: Path) -> str:
    """Return a page with its style and its pictures inside: those that cells left in the folder, and nothing from elsewhere.

    Pandoc opens no file that a page names. What is still named when this is done, `check_offline` refuses.
    """
    style = "".join((extension / name).read_text(encoding="utf-8") for name in _STYLES)
    html = html.replace("</head>", f"<style>\n{style}</style>\n</head>", 1)
    for kind, ending in IMAGES.items():
        for path in sorted(folder.rglob(f"*.{ending}")):
            name = f'src="{quote(path.relative_to(folder).as_posix())}"'
            if name in html and path.is_file() and not path.is_symlink():
                html = html.replace(name, f'src="data:{kind};base64,{b64encode(path.read_bytes()).decode()}"')
    return html


@record
class _Ran:
    """Cells that have run: of which page, with which parameters, in which folder, and what came out."""

    source: Path
    parameters: Mapping[str, object]
    folder: Path
    outputs: list[list[dict[str, Any]]]
    printed: bool


def _run_ours(document: PageSource, parameters: Mapping[str, object], job: Job) -> list[list[dict[str, Any]]]:
    """Run the cells of a page of ours in this process, and return their outputs as `run_cells` does."""
    from evalstats.report.markup import shown_in

    names: dict[str, object] = {}
    outputs: list[list[dict[str, Any]]] = []
    for cell in document.cells:
        shown = StringIO()
        try:
            with warnings.catch_warnings(action="ignore"), shown_in(shown, job.folder, printed=job.printed):
                exec(cell.code, names)  # noqa: S102 - a page that ships with evalstats
        except Exception as error:
            raise RenderError(f"{document.path}: {failed_cell(cell.line, type(error).__name__, str(error))}") from error
        if "parameters" in cell.tags:
            names |= parameters
        text = shown.getvalue()
        outputs.append([{"output_type": "stream", "name": "stdout", "text": text}] if text else [])
    return outputs


class EmbeddedEngine:
    """Cells of our pages in this process, those of others by papermill and nbclient; the page by Pandoc, the PDF by Typst.

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
        """Render the page and return the finished file, inside the job's folder.

        RenderError says what went wrong, in the words of the program that failed.
        """
        document = read_document(job.page.source)
        check_constructs(document)
        outputs = self._outputs(document, job)
        name = job.page.source.stem
        source = job.folder / f"{name}.md"
        source.write_text(assemble(document, outputs, job.folder), encoding="utf-8")
        extension, limit, guard = job.page.extension, job.time_limit, job.guard
        job.on_step("making HTML" if job.to == "html" else "making Typst")
        if job.to == "html":
            target = job.folder / f"{name}.html"
            run_pandoc(source, target, html_arguments(extension), extension=extension, time_limit=limit, guard=guard)
            html = whole_page(target.read_text(encoding="utf-8"), job.folder, extension)
            check_offline(html, script=page_script(extension))
            target.write_text(html, encoding="utf-8")
            return target
        between, target = job.folder / f"{name}.typ", job.folder / f"{name}.pdf"
        run_pandoc(source, between, typst_arguments(extension), extension=extension, time_limit=limit, guard=guard)
        job.on_step("making the PDF")
        typeset(between, target, boxes=extension / FONTS, day=job.day, time_limit=limit, guard=guard)
        return target

    def _outputs(self, document: PageSource, job: Job) -> list[list[dict[str, Any]]]:
        """Return what the cells give; where they ran for another form of this page, with the files that they left."""
        ran, parameters = self._ran, dict(job.parameters)
        of = (job.page.source, parameters, job.printed)
        if ran and ran.folder.is_dir() and (ran.source, ran.parameters, ran.printed) == of:
            shutil.copytree(ran.folder, job.folder, dirs_exist_ok=True)
            return ran.outputs
        job.on_step("running the cells")
        if job.page.source.parent == _folders()[0]:
            outputs = _run_ours(document, parameters, job)
        else:  # a page of one's own may do anything to the process that runs it
            limit, guard = job.time_limit, job.guard
            outputs = run_cells(document, parameters, job.folder, time_limit=limit, guard=guard, printed=job.printed)
        self._ran = _Ran(
            source=job.page.source, parameters=parameters, folder=job.folder, outputs=outputs, printed=job.printed
        )
        return outputs


Engine = QuartoEngine | EmbeddedEngine
