"""Make one Markdown document of a page's prose and the outputs of its cells, written as Quarto writes them."""

import base64
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from evalstats.errors import RenderError
from evalstats.report.document import Cell, Document, Prose

_IMAGES = {"image/svg+xml": "svg", "image/png": "png"}


def assemble(document: Document, outputs: Sequence[Sequence[Mapping[str, Any]]], folder: Path) -> str:
    """Return the page as Markdown; images that cells displayed are written into `folder`.

    Parameters
    ----------
    document
        The page.
    outputs
        Jupyter outputs of every cell, in order.
    folder
        Where the Markdown will be rendered.

    Raises
    ------
    RenderError
        If a cell displays HTML (Quarto would load scripts for it), or something that no writer can show.
    """
    remaining = iter(outputs)
    parts: list[str] = []
    front = {name: value for name, value in document.front.items() if name in ("title", "subtitle", "lang")}
    parts.append(f"---\n{json.dumps(front, ensure_ascii=False)}\n---")
    for number, part in enumerate(document.parts):
        if isinstance(part, Prose):
            parts.append(part.text)
        else:
            parts.append(_cell(part, next(remaining), document, folder, number))
    return "\n\n".join(part for part in parts if part.strip()) + "\n"


def _cell(cell: Cell, outputs: Sequence[Mapping[str, Any]], document: Document, folder: Path, number: int) -> str:
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
    fence = _fence(cell.code)
    fold = cell.options.get("code-fold")
    attribute = "" if fold is None else f' code-fold="{str(fold).lower()}"'
    return f"{fence}{{.python .cell-code{attribute}}}\n{cell.code.strip()}\n{fence}"


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
    for kind, ending in _IMAGES.items():
        if kind in data:
            return _image(_joined(data[kind]), cell, folder / f"{name}.{ending}")
    if "text/html" in data:
        message = (
            f"the cell at line {cell.line} displays HTML, for which Quarto would load scripts from elsewhere; "
            "print it as a raw block from a cell with `output: asis`"
        )
        raise RenderError(message)
    return _as_text(_joined(data["text/plain"])) if "text/plain" in data else ""


def _image(content: str, cell: Cell, path: Path) -> str:
    if path.suffix == ".svg":
        path.write_text(content, encoding="utf-8")
    else:
        path.write_bytes(base64.b64decode(content))
    alt = str(cell.options.get("fig-alt", "")).replace("\\", "\\\\").replace('"', '\\"')
    return f'![]({path.name}){{fig-alt="{alt}"}}'


def _joined(text: object) -> str:
    return "".join(cast("list[str]", text)) if isinstance(text, list) else str(text)


def _as_text(text: str) -> str:
    fence = _fence(text)
    return f"{fence}{{.cell-output}}\n{text.rstrip()}\n{fence}"


def _fence(text: str) -> str:
    return "`" * max(3, max(map(len, re.findall(r"`+", text)), default=0) + 1)
