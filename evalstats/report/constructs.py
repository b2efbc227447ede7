"""Which Quarto constructs a page may use: those that both engines render the same way."""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from evalstats.errors import RenderError
from evalstats.report.document import Cell, Document, Prose, as_mapping

FRONT_MATTER: Final = frozenset(
    {"title", "subtitle", "lang", "format", "jupyter", "execute", "toc", "toc-depth", "number-sections", "params"}
)
FORMATS: Final = frozenset({"evalstats-html", "evalstats-typst"})
EXECUTE: Final = frozenset({"echo", "warning"})
CELL_OPTIONS: Final = frozenset(
    {"tags", "label", "output", "echo", "code-fold", "fig-cap", "fig-alt", "tbl-cap", "warning", "include"}
)
CLASSES: Final = frozenset(
    {
        "callout-note",
        "callout-tip",
        "callout-important",
        "callout-caution",
        "callout-warning",
        "panel-tabset",
        "content-visible",
        "content-hidden",
        "unnumbered",
    }
)
ATTRIBUTES: Final = frozenset({"title", "collapse", "when-format", "unless-format", "fig-alt", "width"})

# What one engine knows and the other does not, or renders otherwise; with the reason a writer is told.
_FORBIDDEN: Final = (
    (re.compile(r"\{\{<"), "shortcodes are Quarto's alone"),
    (re.compile(r"`\{?(?:python|r)\}? [^`]*`"), "inline code runs in Quarto alone; print the sentence from a cell"),
    (re.compile(r"^`{3,}\s*\{(?!python\b|=)(\w+)"), "only python cells run in both engines"),
    (
        re.compile(r"!\[[^\]]*\]\(\s*<?(?:https?:|//|file:|/)"),
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
_FENCE = re.compile(r"^(`{3,}|~{3,})(.*)$")
_ID = re.compile(r"^(?:fig|tbl|sec)-[a-z0-9-]+$")


def check_constructs(document: Document) -> None:
    """Refuse a page that uses anything outside the lists above.

    Raises
    ------
    RenderError
        With the line and the reason of everything that was found.
    """
    found = list(problems(document))
    if found:
        raise RenderError(f"{document.path}: {'; '.join(found)}")


def problems(document: Document) -> Iterator[str]:
    """Yield everything in a page that the two engines would not render the same way."""
    yield from _front_matter(document.front)
    for part in document.parts:
        yield from _cell(part) if isinstance(part, Cell) else _prose(part)


def _front_matter(front: Mapping[str, object]) -> Iterator[str]:
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


def _cell(cell: Cell) -> Iterator[str]:
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
        fenced = _FENCE.match(text.strip())
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
