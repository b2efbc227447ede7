"""The words of a page, as a reader reads them."""

import html
import re


def words(text: str) -> str:
    """What a reader reads of Markdown with HTML in it: no raw Typst, no escapes, one space between words."""
    text = re.sub(r"```+\{=typst\}.*?```+", " ", text, flags=re.DOTALL)
    text = re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", re.sub(r"<[^>]*>", " ", text))
    return re.sub(r"\s+", " ", html.unescape(text))
