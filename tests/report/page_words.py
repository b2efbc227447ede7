"""The words of a page, as a reader reads them."""

import html
import re
from html.parser import HTMLParser


def words(text: str) -> str:
    """What a reader reads of Markdown with HTML in it: no raw Typst, no escapes, one space between words."""
    markdown = "<section" not in text
    text = re.sub(r"```+\{=typst\}.*?```+", " ", text, flags=re.DOTALL)
    text = re.sub(r'<span class="es-whole">(.*?)</span>', r"\1", re.sub(r"</?code\b[^>]*>", "", text))
    text = re.sub(r"(?<![\\`])`([^`\n]+)`(?!`)", r"\1", text) if markdown else text
    text = re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", re.sub(r"<[^>]*>", " ", text))
    return re.sub(r"\s+", " ", html.unescape(text))


class Outline(HTMLParser):
    """The elements of a page with their attributes, and what it says outside scripts and styles."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self._muted = False
        self.feed(page)
        self.words = re.sub(r"\s+", " ", self.text)

    def handle_starttag(self, tag, attrs) -> None:
        self.elements.append((tag, dict(attrs)))
        self._muted = tag in ("style", "script")

    def handle_endtag(self, tag) -> None:
        self._muted = self._muted and tag not in ("style", "script")

    def handle_data(self, data) -> None:
        if not self._muted:
            self.text += data

    def all(self, name: str) -> list[dict[str, str | None]]:
        return [attributes for tag, attributes in self.elements if tag == name]
