"""Read a Quarto document: its front matter, its prose and its cells."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import yaml

from evalstats.errors import RenderError

_FENCE = re.compile(r"^(`{3,})\s*\{python\}\s*$")
_ANY_FENCE = re.compile(r"^(`{3,}|~{3,})")
_OPTION = re.compile(r"^#\|\s?(.*)$")


@dataclass(frozen=True, slots=True, kw_only=True)
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Prose:
    """Markdown between cells."""

    text: str
    line: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
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


def read_document(path: Path) -> Document:
    """Read a .qmd file.

    Raises
    ------
    RenderError
        If it cannot be read, or its front matter or a cell's options are not YAML.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise RenderError(f"{path}: cannot be read ({error})") from error
    return parse_document(text, path)


def parse_document(text: str, path: Path) -> Document:
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
    return Document(path=path, front=front, parts=tuple(parts))


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
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise RenderError(f"{path}: what follows line {line} is not YAML ({error})") from error
