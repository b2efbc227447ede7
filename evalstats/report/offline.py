"""See to it that a finished page asks nothing of any network."""

import re
from html.parser import HTMLParser

from evalstats.errors import RenderError

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
