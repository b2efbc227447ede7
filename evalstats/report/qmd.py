"""Quarto documents: read a .qmd, check that both engines know its constructs, put its cells' outputs in their places."""

import base64
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any, Final, cast

from evalstats.document.pandoc import fenced
from evalstats.errors import RenderError
from evalstats.record import record
from evalstats.regular import read_regular

_FENCE = re.compile(r"^(`{3,})\s*\{python\}\s*$")
_ANY_FENCE = re.compile(r"^(`{3,}|~{3,})")
_OPTION = re.compile(r"^#\|\s?(.*)$")


@record
class Cell:
    """A Python cell: its code without the option lines, and its options. `line` counts from 1 in the file."""

    code: str
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    line: int = 1

    @property
    def tags(self) -> tuple[str, ...]:
        """The cell's tags."""
        found = self.options.get("tags") or ()
        return (found,) if isinstance(found, str) else tuple(str(tag) for tag in found)


@record
class Prose:
    """Markdown between cells."""

    text: str
    line: int = 1


@record
class PageSource:
    """A .qmd file in its parts, in order."""

    path: Path
    front: Mapping[str, Any]
    parts: tuple[Cell | Prose, ...]

    @property
    def cells(self) -> tuple[Cell, ...]:
        """The cells alone."""
        return tuple(part for part in self.parts if isinstance(part, Cell))

    def execution(self, option: str, *, default: object) -> Any:
        """Return an option of the front matter's `execute`."""
        return as_mapping(self.front.get("execute")).get(option, default)


def read_document(path: Path) -> PageSource:
    """Read a .qmd file.

    RenderError if it cannot be read, or its front matter or a cell's options are not YAML.
    """
    try:
        text = read_regular(path)
    except (OSError, UnicodeDecodeError) as error:
        raise RenderError(f"{path}: cannot be read ({error})") from error
    return parse_document(text, path)


def parse_document(text: str, path: Path) -> PageSource:
    """Take a .qmd file apart; see `read_document`."""
    lines = text.splitlines()
    front, start = _front_matter(lines, path)
    parts: list[Cell | Prose] = []
    prose: list[str] = []
    place = start
    while place < len(lines):
        opened = _FENCE.match(lines[place])
        if opened is None:
            end = _end_of_fence(lines, place)
            prose.extend(lines[place:end])
            place = end
            continue
        _add_prose(parts, prose, place)
        end = _closing(lines, place, opened.group(1), path)
        parts.append(_cell(lines[place + 1 : end], place + 1, path))
        place = end + 1
    _add_prose(parts, prose, place)
    return PageSource(path=path, front=front, parts=tuple(parts))


def as_mapping(value: object) -> Mapping[str, Any]:
    """Return `value` if it is a mapping, else an empty one."""
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def _front_matter(lines: list[str], path: Path) -> tuple[Mapping[str, Any], int]:
    if not lines or lines[0].rstrip() != "---":
        return {}, 0
    for place in range(1, len(lines)):
        if lines[place].rstrip() in ("---", "..."):
            return as_mapping(_yaml("\n".join(lines[1:place]), path, 1)), place + 1
    raise RenderError(f"{path}: the front matter is not closed by a line of three hyphens")


def _end_of_fence(lines: list[str], place: int) -> int:
    """Return the line after a fenced block that is not a cell (a cell shown inside it is text), or the next line."""
    opened = _ANY_FENCE.match(lines[place])
    if opened is None:
        return place + 1
    fence = opened.group(1)
    for end in range(place + 1, len(lines)):
        stripped = lines[end].strip()
        if stripped.startswith(fence) and set(stripped) == {fence[0]}:
            return end + 1
    return len(lines)


def _closing(lines: list[str], place: int, fence: str, path: Path) -> int:
    for end in range(place + 1, len(lines)):
        stripped = lines[end].strip()
        if stripped.startswith(fence) and set(stripped) == {"`"}:
            return end
    raise RenderError(f"{path}: the cell that begins at line {place + 1} is not closed")


def _add_prose(parts: list[Cell | Prose], prose: list[str], place: int) -> None:
    if any(line.strip() for line in prose):
        parts.append(Prose(text="\n".join(prose), line=place - len(prose) + 1))
    prose.clear()


def _cell(lines: list[str], line: int, path: Path) -> Cell:
    count = 0
    while count < len(lines) and _OPTION.match(lines[count]):
        count += 1
    written = "\n".join(_OPTION.sub(r"\1", option) for option in lines[:count])
    return Cell(code="\n".join(lines[count:]), options=as_mapping(_yaml(written, path, line)), line=line)


def _yaml(text: str, path: Path, line: int) -> object:
    try:
        import yaml
    except ImportError:
        raise RenderError("PyYAML is not installed; pip install 'evalstats-toolkit[report]'") from None
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise RenderError(f"{path}: what follows line {line} is not YAML ({error})") from error


FRONT_MATTER: Final = frozenset(
    {"title", "subtitle", "lang", "format", "jupyter", "execute", "toc", "toc-depth", "number-sections", "params"}
)
FORMATS: Final = frozenset({"evalstats-html", "evalstats-typst"})
EXECUTE: Final = frozenset({"echo", "warning"})
CELL_OPTIONS: Final = frozenset(
    {"tags", "label", "output", "echo", "code-fold", "fig-cap", "fig-alt", "tbl-cap", "warning", "include"}
)
CALLOUTS: Final = ("note", "tip", "important", "caution", "warning")
CLASSES: Final = frozenset(
    {*(f"callout-{kind}" for kind in CALLOUTS), "panel-tabset", "content-visible", "content-hidden", "unnumbered"}
)
ATTRIBUTES: Final = frozenset({"title", "collapse", "when-format", "unless-format", "fig-alt", "width"})

# What one engine knows and the other does not, or renders otherwise; with the reason a writer is told.
_FORBIDDEN: Final = (
    (re.compile(r"\{\{<"), "shortcodes are Quarto's alone"),
    (re.compile(r"`\{?(?:python|r)\}? [^`]*`"), "inline code runs in Quarto alone; print the sentence from a cell"),
    (re.compile(r"^`{3,}\s*\{(?!python\b|=)(\w+)"), "only python cells run in both engines"),
    (
        re.compile(r"!\[[^\]]*\]\(\s*<?(?:https?:|//|file:|/|[^)>]*\.\.)"),
        "an image must lie beside the page: a report makes no request",
    ),
    (
        re.compile(r"<(?:script|link|iframe|object|embed|img|style)\b", re.IGNORECASE),
        "raw HTML of this kind can load or run something",
    ),
    (re.compile(r"^\s*<[a-zA-Z]+[\s>]"), "raw HTML stands in a ```{=html} block, with Typst beside it"),
    (re.compile(r"^\+[-=+:]+\+\s*$"), "grid tables differ between the engines; print the table from a cell"),
)
_ATTRIBUTE_BLOCK = re.compile(r"(?:^:{3,}\s*|[^\s`].*|^#+ .*|\])\{([^{}=][^{}]*)\}\s*$")
_DIV = re.compile(r"^:{3,}\s*(?:\{([^}]*)\}|(\S+))\s*$")
_ANY_MARK = re.compile(r"^(`{3,}|~{3,})(.*)$")
_ID = re.compile(r"^(?:fig|tbl|sec)-[a-z0-9-]+$")


def check_constructs(document: PageSource) -> None:
    """Refuse a page that uses anything outside the lists above.

    RenderError gives the line and the reason of everything that was found.
    """
    found = list(problems(document))
    if found:
        raise RenderError(f"{document.path}: {'; '.join(found)}")


def problems(document: PageSource) -> Iterator[str]:
    """Yield everything in a page that the two engines would not render the same way."""
    yield from _front_problems(document.front)
    for part in document.parts:
        yield from _cell_problems(part) if isinstance(part, Cell) else _prose(part)


def _front_problems(front: Mapping[str, object]) -> Iterator[str]:
    yield from (
        f"front matter: {name!r} is not among the keys both engines know" for name in front.keys() - FRONT_MATTER
    )
    written = front.get("format")
    formats = {str(written): "default"} if isinstance(written, str) else as_mapping(written)
    yield from (f"front matter: format {name!r} is not one of ours" for name in formats.keys() - FORMATS)
    for name, options in formats.items():
        if options != "default":
            yield f"front matter: {name} has options; they belong into the extension, where both engines find them"
    execute = as_mapping(front.get("execute"))
    yield from (
        f"front matter: execute option {name!r} is not known to both engines" for name in execute.keys() - EXECUTE
    )


def _cell_problems(cell: Cell) -> Iterator[str]:
    for name in cell.options.keys() - CELL_OPTIONS:
        yield f"line {cell.line}: cell option {name!r} is not known to both engines"
    label = cell.options.get("label")
    if label is not None and not _ID.match(str(label)):
        yield f"line {cell.line}: label {label!r} must begin with fig-, tbl- or sec-"
    if str(label or "").startswith("fig-") and not cell.options.get("fig-alt"):
        yield f"line {cell.line}: figure {label!r} needs fig-alt, text for those who do not see it"
    if cell.options.get("output") not in (None, "asis", True, False):
        yield f"line {cell.line}: output must be asis, true or false"


def _prose(prose: Prose) -> Iterator[str]:
    fence = ""
    for line, text in enumerate(prose.text.splitlines(), start=prose.line):
        fenced = _ANY_MARK.match(text.strip())
        if fence:
            if fenced and fenced.group(1).startswith(fence) and not fenced.group(2).strip():
                fence = ""
            continue
        for pattern, reason in _FORBIDDEN:
            if pattern.search(text):
                yield f"line {line}: {reason}"
        if fenced:
            fence = fenced.group(1)
        else:
            yield from (f"line {line}: {reason}" for reason in _attributes(text))


def _attributes(text: str) -> Iterator[str]:
    div = _DIV.match(text)
    if div:
        names = div.group(1) if div.group(1) is not None else f".{div.group(2)}"
    else:
        found = _ATTRIBUTE_BLOCK.search(text)
        if found is None:
            return
        names = found.group(1)
    for name in re.findall(r"""(?:[^\s"']|"[^"]*"|'[^']*')+""", names):
        if name.startswith("."):
            if name[1:] not in CLASSES:
                yield f"class {name!r} is not rendered by both engines"
        elif name.startswith("#"):
            if not _ID.match(name[1:]):
                yield f"id {name!r} must begin with fig-, tbl- or sec-"
        elif name.partition("=")[0] not in ATTRIBUTES:
            yield f"attribute {name!r} is not rendered by both engines"


IMAGES = {"image/svg+xml": "svg", "image/png": "png"}


def assemble(document: PageSource, outputs: Sequence[Sequence[Mapping[str, Any]]], folder: Path) -> str:
    """Return the page as Markdown; images that cells displayed are written into `folder`.

    `outputs` are Jupyter's, of every cell in order. RenderError if a cell displays HTML (Quarto would load scripts for it), or
    something that no writer can show.
    """
    remaining = iter(outputs)
    parts: list[str] = []
    front = {name: value for name, value in document.front.items() if name in ("title", "subtitle", "lang")}
    parts.append(f"---\n{json.dumps(front, ensure_ascii=False)}\n---")
    for number, part in enumerate(document.parts):
        if isinstance(part, Prose):
            parts.append(part.text)
        else:
            parts.append(_cell_markdown(part, next(remaining), document, folder, number))
    return "\n\n".join(part for part in parts if part.strip()) + "\n"


def _cell_markdown(
    cell: Cell, outputs: Sequence[Mapping[str, Any]], document: PageSource, folder: Path, number: int
) -> str:
    options = cell.options
    if options.get("include") is False:
        return ""
    parts = [_code(cell)] if options.get("echo", document.execution("echo", default=True)) else []
    if options.get("output") is not False:
        asis = options.get("output") == "asis"
        shown = [
            _output(output, cell, folder, f"{options.get('label', f'cell-{number}')}-{place}", asis=asis)
            for place, output in enumerate(outputs)
        ]
        content = "\n\n".join(text for text in shown if text)
        parts.append(_labelled(cell, content) if content else "")
    return "\n\n".join(part for part in parts if part)


def _code(cell: Cell) -> str:
    fold = cell.options.get("code-fold")
    attribute = "" if fold is None else f' code-fold="{str(fold).lower()}"'
    return fenced(cell.code.strip(), f"{{.python .cell-code{attribute}}}")


def _labelled(cell: Cell, content: str) -> str:
    label = str(cell.options.get("label", ""))
    for kind in ("fig", "tbl"):
        if label.startswith(f"{kind}-"):
            caption = cell.options.get(f"{kind}-cap")
            if not caption:
                raise RenderError(f"the cell labelled {label} has no {kind}-cap")
            return f"::: {{#{label}}}\n\n{content}\n\n{caption}\n\n:::"
    return content


def _output(output: Mapping[str, Any], cell: Cell, folder: Path, name: str, *, asis: bool) -> str:
    if output["output_type"] == "stream":
        if output["name"] != "stdout":
            return ""  # warnings of libraries are for whoever renders, not for whoever reads
        return str(output["text"]) if asis else _as_text(str(output["text"]))
    data: Mapping[str, Any] = output.get("data", {})
    if "text/markdown" in data:
        return _joined(data["text/markdown"])
    for kind, ending in IMAGES.items():
        if kind in data:
            content = _joined(data[kind])
            path = folder / f"{name}.{ending}"
            if path.suffix == ".svg":
                path.write_text(content, encoding="utf-8")
            else:
                path.write_bytes(base64.b64decode(content))
            alt = str(cell.options.get("fig-alt", "")).replace("\\", "\\\\").replace('"', '\\"')
            return f'![]({path.name}){{fig-alt="{alt}"}}'
    if "text/html" in data:
        raise RenderError(
            f"the cell at line {cell.line} displays HTML, for which Quarto would load scripts from elsewhere; "
            "print it as a raw block from a cell with `output: asis`"
        )
    return _as_text(_joined(data["text/plain"])) if "text/plain" in data else ""


def _joined(text: object) -> str:
    return "".join(cast("list[str]", text)) if isinstance(text, list) else str(text)


def _as_text(text: str) -> str:
    return fenced(text.rstrip(), "{.cell-output}")
