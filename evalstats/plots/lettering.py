"""How wide text comes out, and names that fit their room and stay different."""

import re
import unicodedata
from collections.abc import Sequence

from evalstats.document.escape import one_line

EM = 0.56  # width of a letter, as a share of the text size, that few lines of text exceed
_WIDE = 1.05
_ELLIPSIS = "…"
# Where names are cut, from the best place to the worst.
_HEADS = (0.5, 0.6, 0.4, 0.7, 0.3, 0.8, 0.2, 0.9, 0.1, 1.0, 0.0)
_PROVIDER = re.compile(r"^[\w.~-]+/(?:[\w.~-]+/)*")


def text_width(text: str, font: float) -> float:
    """Return about how many pixels a line of text takes; letters of East Asian scripts are counted as wide.

    Examples
    --------
    >>> round(text_width("abcd", 10), 1)
    22.4
    """
    return font * sum(_WIDE if unicodedata.east_asian_width(char) in "WF" else EM for char in text)


def fitted(text: str, room: float, font: float, *, head: float = 0.5) -> str:
    """Return one line of text, cut inside until it fits into `room` pixels; `head` is the share kept at its beginning.

    The ends of names tell models apart more often than their middles do.

    Examples
    --------
    >>> fitted("Meta-Llama-3.1-70B-Instruct", 100, 10)
    'Meta-Lla…Instruct'
    """
    line = one_line(text).strip()
    if text_width(line, font) <= room:
        return line
    for kept in range(min(len(line) - 1, int(room / (EM * font))), 0, -1):
        first = round(kept * head)
        cut = f"{line[:first].rstrip()}{_ELLIPSIS}{line[len(line) - (kept - first) :].lstrip()}"
        if text_width(cut, font) <= room:
            return cut
    return line[:1] + _ELLIPSIS


def fitted_names(names: Sequence[str], room: float, font: float) -> list[str]:
    """Return names that fit into `room` pixels and are as different as they were.

    What stands before the last slash (a provider) goes first, where the names differ without it. Then all are cut at the
    same share of their length, the first at which they stay different. Names that come out alike wherever they are cut get
    a number.

    Examples
    --------
    >>> fitted_names(["openai/gpt-4o", "openai/gpt-4o-mini"], 80, 10)
    ['gpt-4o', 'gpt-4o-mini']
    >>> fitted_names(["a-rather-long-name-1-chat", "a-rather-long-name-2-chat"], 80, 10)
    ['a-rath…-1-chat', 'a-rath…-2-chat']
    """
    lines = [one_line(name).strip() for name in names]
    if any(text_width(line, font) > room for line in lines):
        short = [_PROVIDER.sub("", line) or line for line in lines]
        if len(set(short)) == len(set(lines)):
            lines = short
    tried = [[fitted(line, room, font, head=head) for line in lines] for head in _HEADS]
    best = max(tried, key=lambda cut: len(set(cut)))
    return [_numbered(place, best, lines, room, font) for place in range(len(lines))]


def _numbered(place: int, cut: Sequence[str], lines: Sequence[str], room: float, font: float) -> str:
    """Put a number behind a name that another one was cut to as well."""
    alike = list(dict.fromkeys(line for line, other in zip(lines, cut, strict=True) if other == cut[place]))
    if len(alike) < 2:
        return cut[place]
    number = f" ({alike.index(lines[place]) + 1})"
    return fitted(cut[place], room - text_width(number, font), font) + number
