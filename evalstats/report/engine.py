"""What an engine is given and gives back, where pages are found, and what each must be: one file that loads nothing."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date
from html.parser import HTMLParser
from pathlib import Path
from typing import Literal, Protocol

from evalstats.errors import InputError, RenderError

_HERE = Path(__file__).resolve().parent


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A .qmd file and the folder of the Quarto extension that it is styled by."""

    source: Path
    extension: Path


def find_page(kind: str) -> Page:
    """Return the page of that kind.

    Raises
    ------
    InputError
        If there is none; the message lists all.

    Examples
    --------
    >>> find_page("compare").source.name
    'compare.qmd'
    """
    pages, extensions = _folders()
    kinds = sorted(path.stem for path in pages.glob("*.qmd"))
    if kind not in kinds:
        raise InputError(f"there is no report {kind!r}; there are {', '.join(kinds)}")
    return Page(source=pages / f"{kind}.qmd", extension=extensions / "evalstats")


def _folders() -> tuple[Path, Path]:
    """Return the folders of pages and extensions. A wheel carries both below `evalstats/report/pages`."""
    inside = _HERE / "pages"
    if inside.is_dir():
        return inside, inside / "_extensions"
    root = _HERE.parents[1]
    return root / "reports", root / "_extensions"


Target = Literal["html", "pdf"]


def no_one_listens(_step: str) -> None:
    """Take the name of a step and do nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One page to be rendered: `folder` is empty and belongs to this rendering alone.

    `time_limit` is in seconds and holds for every step: a cell, Pandoc, Typst; for Quarto it holds for the whole.
    `on_step` is told what is being done, in a few words, before each step.
    """

    page: Page
    parameters: Mapping[str, object] = field(default_factory=dict[str, object])
    to: Target
    folder: Path
    day: date
    time_limit: int = 600
    on_step: Callable[[str], None] = no_one_listens


class Engine(Protocol):
    """What renders a page."""

    @property
    def description(self) -> str:
        """Name and versions, as the report prints them."""
        ...

    @property
    def name(self) -> str:
        """Short name: "quarto" or "embedded"."""
        ...

    def render(self, job: Job) -> Path:
        """Render the page and return the finished file, inside the job's folder.

        Raises
        ------
        RenderError
            With what went wrong, in the words of the program that failed.
        """
        ...


_LOADING = frozenset({"src", "srcset", "data", "poster", "background", "action", "formaction", "manifest", "ping"})
_CSS_LOAD = re.compile(r"@import|url\(\s*['\"]?(?!data:|#|['\"]?\))", re.IGNORECASE)
_LINKS = frozenset({"a", "area"})


class _Loads(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[str] = []
        self._in_style = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._in_style = tag == "style"
        if tag in ("script", "iframe", "object", "embed", "base"):
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

    def handle_data(self, data: str) -> None:
        if self._in_style and _CSS_LOAD.search(data):
            self.found.append("a style sheet")


def loads(html: str) -> list[str]:
    """Return everything in a page that would load or run something; links that a reader may follow are not among it.

    Examples
    --------
    >>> loads('<img src="https://example.org/x.png"><a href="https://example.org">x</a>')
    ["<img src='https://example.org/x.png'>"]
    """
    parser = _Loads()
    parser.feed(html)
    parser.close()
    return parser.found


def check_offline(html: str) -> None:
    """Refuse a page that would load or run something.

    Raises
    ------
    RenderError
        Naming what it would load.
    """
    found = loads(html)
    if found:
        raise RenderError(f"the page would load or run something: {', '.join(found[:5])}; a report is one file")
