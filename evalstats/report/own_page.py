"""A page of one's own: a copy of the page for a result, to reorder, cut and write between."""

import json
import os
import re
import shutil
from pathlib import Path

from evalstats.analysis.result import Result
from evalstats.errors import InputError
from evalstats.report.engine import Page, find_page

_RESULT = re.compile(r'^result = ("(?:[^"\\]|\\.)*").*$', re.MULTILINE)
_EXTENSION = Path("_extensions", "evalstats")
_NOTE = """
Write between the blocks, reorder them, drop what is not needed: every `page.show` prints parts by name, each once.
Of this result there are: {names}.

Render it with `quarto render {file}`, or without Quarto by `evalstats report {file}`.
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
            stream.write(f"{head.rstrip()}\n\n<!--{note}-->\n\n{fence}{rest}")
        # Two pages may be begun at once in one folder.
        if not beside.is_dir():
            shutil.copytree(page.extension, beside, dirs_exist_ok=True)
    except OSError as error:
        raise InputError(f"{path}: the page cannot be written there ({error.strerror or error})") from error
    return path


def own_page(path: Path) -> tuple[Page, dict[str, object]]:
    """Return a page of one's own with the parameters that a rendering elsewhere needs: its result by its whole path.

    InputError if there is no such file.
    """
    if not path.is_file():
        raise InputError(f"{path}: there is no such page; `evalstats report new {path.name} RESULT.json` writes one")
    found = _RESULT.search(path.read_text(encoding="utf-8"))
    parameters: dict[str, object] = {}
    named = json.loads(found[1]) if found else ""
    if named:
        parameters["result"] = str((path.parent / named).resolve())
    beside = path.resolve().parent / _EXTENSION
    extension = beside if beside.is_dir() else find_page("compare").extension
    return Page(source=path.resolve(), extension=extension), parameters
