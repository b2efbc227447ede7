"""Render results: a page for each kind of result, or several results as one document; one file comes out for each form."""

import json
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

from evalstats.analysis.result import Result
from evalstats.atomic import copy_whole
from evalstats.errors import InputError, RenderError
from evalstats.record import record
from evalstats.regular import read_regular
from evalstats.report.engine import (
    EmbeddedEngine,
    Engine,
    Job,
    PageFile,
    QuartoEngine,
    Target,
    embedded_parts,
    find_page,
    find_quarto,
    no_one_listens,
)
from evalstats.report.workspace import UNGUARDED, Guard, guarded, private_folder, today

_RESULT = re.compile(r'^result = ("(?:[^"\\]|\\.)*").*$', re.MULTILINE)
_EXTENSION = Path("_extensions", "evalstats")
_IMPORT = "from evalstats.report.page import open_result\n"
# What Quarto prints is then one line and no traceback.
_GUARDED = """try:
    from evalstats.report.page import open_result
except ModuleNotFoundError as error:
    raise SystemExit(f"{error}: activate evalstats's environment, or name its Python in QUARTO_PYTHON") from None
"""
_NOTE = """
Write between the blocks, reorder them, drop what is not needed: every `page.show` prints parts by name, each once.
Of this result there are: {names}.

Render it with `quarto render {file}` in evalstats's environment (Word, PowerPoint and other formats get plain text, tables and
pictures), or without Quarto by `evalstats report {file}`.
"""


def write_page(path: Path, result: Result, saved: Path) -> Path:
    """Write a page that shows a saved result, and beside it the extension that gives pages their look.

    The result is named relative to the page, so that both can move together. InputError if the name is no .qmd, or there is
    such a file already.
    """
    if path.suffix != ".qmd":
        raise InputError(f"{path}: a page of one's own is a Quarto document; give a name that ends in .qmd")
    if path.exists():
        raise InputError(f"{path}: is there already; nothing is written over it, so give another name or remove it")
    document = result.document()
    page = find_page(document.kind)
    named = json.dumps(Path(os.path.relpath(saved.resolve(), path.resolve().parent)).as_posix(), ensure_ascii=False)
    text = _RESULT.sub(
        lambda _: f"result = {named}  # a saved result, beside this page", page.source.read_text("utf-8"), 1
    )
    names = ", ".join(section.id for section in document.sections)
    note = _NOTE.format(names=names, file=path.name)
    head, fence, rest = text.partition("```{python}")
    beside = path.parent / _EXTENSION
    try:
        with path.open("x", encoding="utf-8") as stream:
            stream.write(f"{head.rstrip()}\n\n<!--{note}-->\n\n{fence}{rest.replace(_IMPORT, _GUARDED)}")
        # Two pages may be begun at once in one folder.
        if not beside.is_dir():
            shutil.copytree(page.extension, beside, dirs_exist_ok=True)
    except OSError as error:
        raise InputError(f"{path}: the page cannot be written there ({error.strerror or error})") from error
    return path


def own_page(path: Path) -> tuple[PageFile, dict[str, object]]:
    """Return a page of one's own with the parameters that a rendering elsewhere needs: its result by its whole path.

    InputError if there is no such file.
    """
    if not path.is_file():
        raise InputError(f"{path}: there is no such page; `evalstats report new {path.name} RESULT.json` writes one")
    found = _RESULT.search(read_regular(path))
    parameters: dict[str, object] = {}
    named = json.loads(found[1]) if found else ""
    if named:
        parameters["result"] = str((path.parent / named).resolve())
    beside = path.resolve().parent / _EXTENSION
    extension = beside if beside.is_dir() else find_page("compare").extension
    return PageFile(source=path.resolve(), extension=extension), parameters


_TARGETS: tuple[Target, ...] = ("html", "pdf")
# Pages of stored studies: they take no result.
STUDIES = ("validation", "arena-sampling", "tenacious", "published-claims")


@record
class Rendered:
    """A finished report: where it is, and which engine made it."""

    path: Path
    engine: str


def report(
    results: Result | Sequence[Result] | str,
    *outputs: str | Path,
    engine: str = "auto",
    time_limit: int = 600,
) -> tuple[Path, ...]:
    """Render a result as its page, or several as one document with an index; nothing is computed again.

    Parameters
    ----------
    results
        What a question returned, or several; or the name of a stored study: "validation" (the error rates of evalstats
        itself), "arena-sampling", "tenacious" (a published headline taken apart) or "published-claims" (six, recounted); or a
        page of your own (a .qmd).
    *outputs
        Files to write: a name that ends in .html gives one page that loads nothing, one in .pdf a PDF. None: an HTML page
        named after the question, in the working folder.
    engine
        "quarto", "embedded", or "auto": the embedded one, which is faster and renders alike, where its parts are installed.
    time_limit
        Seconds that any one step may take.

    Returns
    -------
    tuple of Path
        The files, in the order of `outputs`.

    Raises
    ------
    InputError
        If there is no result, a name ends in neither .html nor .pdf, or a file or folder is not there.
    RenderError
        If the engine fails, with its own words.

    Examples
    --------
    >>> import evalstats as es
    >>> r = es.compare(es.datasets.tenacious_held_out(), "baseline", "trained")
    >>> es.report(r, "page.html", "page.pdf")  # doctest: +SKIP
    (PosixPath('page.html'), PosixPath('page.pdf'))
    """
    made = render_results(results, outputs, engine=engine, time_limit=time_limit)
    return tuple(each.path for each in made)


def render_results(
    results: Result | Sequence[Result] | str,
    outputs: Sequence[str | Path] = (),
    *,
    engine: str = "auto",
    time_limit: int = 600,
    on_step: Callable[[str], None] = no_one_listens,
    linked: Sequence[str] = (),
) -> tuple[Rendered, ...]:
    """Render as `report` does, and say which engine made each file.

    `linked` names the pages that an overview links to, one for each of its answers, in place of showing them itself.

    Some seconds go by: `on_step` is called with what is being done ("running the cells", "making HTML", ...). The embedded
    engine runs the cells of a page once for all forms. A form is put in its place when it is made, so one that fails leaves
    those before it.
    """
    kind, given = _asked(results)
    own: dict[str, object] = {}
    if kind.endswith(".qmd"):
        page, own = own_page(Path(kind))
        kind = page.source.stem
    else:
        page = find_page(kind)
    chosen, day = choose_engine(engine), today()
    paths = [output_path(output, kind) for output in outputs or (f"{kind}.html",)]
    parameters: dict[str, object] = {"engine": chosen.description, "rendered": day.isoformat(), **own}
    parameters |= {"pages": list(linked)} if linked else {}
    with _room(), guarded() as guard, private_folder("evalstats-report-", guard) as temporary:
        if given:
            saved = [str(temporary / f"result-{place}.json") for place, _ in enumerate(given)]
            for result, file in zip(given, saved, strict=True):
                result.save(file)
            parameters["result"] = saved[0] if len(saved) == 1 else saved
        for place, (target, path) in enumerate(paths):
            folder = temporary / f"render-{place}"
            folder.mkdir()
            job = Job(
                page=page,
                parameters=parameters,
                to=target,
                folder=folder,
                day=day,
                time_limit=time_limit,
                on_step=on_step,
                printed=any(to == "pdf" for to, _ in paths),
                guard=guard,
            )
            _put(chosen.render(job), path, guard)
    return tuple(Rendered(path=path, engine=chosen.name) for _, path in paths)


def choose_engine(name: str) -> Engine:
    """Return the engine of that name; "auto" takes the embedded one where its parts are installed, else Quarto.

    InputError if there is no such engine. RenderError if what is wanted is not there.
    """
    if name == "embedded":
        return EmbeddedEngine()
    if name == "quarto":
        return QuartoEngine(find_quarto(required=True))
    if name != "auto":
        raise InputError(f"there is no engine {name!r}; choose auto, quarto or embedded")
    if embedded_parts():
        return EmbeddedEngine()
    program = find_quarto(required=False)
    if program is None:
        raise RenderError("pages need packages that are not installed; pip install 'evalstats-toolkit[report]'")
    return QuartoEngine(program)


def _asked(results: Result | Sequence[Result] | str) -> tuple[str, tuple[Result, ...]]:
    """Return the page and the results that it shows."""
    if isinstance(results, str):
        if results not in STUDIES and not results.endswith(".qmd"):
            raise InputError(
                f"there is no stored study {results!r}; there are {', '.join(STUDIES)}; else give a result"
            )
        return results, ()
    given = (results,) if isinstance(results, Result) else tuple(results)
    if not given:
        raise InputError("there is no result to render")
    return (given[0].document().kind if len(given) == 1 else "results"), given


@contextmanager
def _room() -> Generator[None]:
    """Say in a sentence that there is no place to work in: what a rendering writes until it is done stands in TMPDIR."""
    try:
        yield
    except OSError as error:
        raise RenderError(
            f"the page cannot be made: {error.strerror or error}, in the folder for temporary files "
            f"({tempfile.gettempdir()}); free some space, or name another folder in TMPDIR"
        ) from error


def output_path(output: str | Path, kind: str) -> tuple[Target, Path]:
    """Return the form that a name asks for, and the file; a folder takes the page's name inside.

    InputError if the name says no form, or there is no such folder.
    """
    path = Path(output)
    if path.is_dir():
        path /= f"{kind}.html"
    ending = path.suffix.lower().removeprefix(".")
    target: Target | None = next((known for known in _TARGETS if known == ending), None)
    if target is None:
        raise InputError(f"{path}: a report is a page or a PDF; give a name that ends in .html or .pdf")
    if not path.parent.is_dir():
        raise InputError(f"{path.parent}: there is no such folder to put the report in")
    return target, path


def _put(finished: Path, path: Path, guard: Guard = UNGUARDED) -> None:
    """Put the file where it is wanted, whole or not at all."""
    parts: list[Path] = []

    def on_part(part: Path) -> None:
        parts.append(part)
        guard.made(part)

    try:
        copy_whole(finished, path, on_part=on_part)
    except OSError as error:
        raise InputError(f"{path}: the report cannot be written there ({error.strerror or error})") from error
    finally:
        for part in parts:
            guard.removed(part)
