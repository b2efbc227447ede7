"""Text from result files, made safe for a terminal.

A model's name may hold escape sequences that move the cursor, recolour the screen or turn the reading direction.
Every string that came from a file or a path goes through `clean` before it is printed (and is printed without markup).
"""

import unicodedata

from evalstats.document.escape import inert

# Joiners that Persian, Indic scripts and emoji need; they reach no further than the letters beside them.
_KEPT = "\u200c\u200d"
_SPELLED = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
# Control, format (direction marks, zero-width characters), surrogate, line and paragraph separator.
_UNSAFE = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


def clean(text: str) -> str:
    r"""Return `text` on one line, with control, direction and invisible characters spelled out, and no build server's command.

    They are spelled out, not dropped, so that two names that differ stay different.

    Examples
    --------
    >>> print(clean("gpt\x1b[2J\u202e4\nb"))
    gpt\x1b[2J\u202e4\nb
    """
    if text.isascii() and text.isprintable():
        return inert(text)
    return inert("".join(_spelled(character) for character in text))


def shorten(text: str, width: int) -> str:
    """Return cleaned text in at most `width` terminal cells, its middle left out where it is longer.

    What tells long names apart stands at both ends (a run's name ends in a digest).

    Examples
    --------
    >>> shorten("results-of-a-long-run~1a2b3c4d", 20), shorten("模型名称", 5)
    ('results-of…~1a2b3c4d', '模…称')
    """
    text = clean(text)
    if cell_width(text) <= width:
        return text
    end = _fitting(text[::-1], (width - 1) // 2)[::-1]
    while end and not _cells(end[0]):
        end = end[1:]  # a mark belongs to the letter before it, which is left out
    return _fitting(text, width - 1 - cell_width(end)) + "…" + end


def padded(text: str, width: int) -> str:
    """Return cleaned text in exactly `width` terminal cells; of a longer one the middle is left out."""
    text = shorten(text, width)
    return text + " " * (width - cell_width(text))


def wrapped(text: str, width: int, *, indent: str = "  ") -> list[str]:
    """Return cleaned text in lines of at most `width` terminal cells, all but the first indented.

    Only blanks are places to break at: a path or a name that is longer than a line stays whole and can be copied.

    Examples
    --------
    >>> wrapped("note: a.json: items are numbered", 20)
    ['note: a.json: items', '  are numbered']
    """
    text = clean(text)
    first, *rest = text.lstrip(" ").split(" ")
    line = text[: len(text) - len(text.lstrip(" "))] + first
    lines: list[str] = []
    for word in rest:
        if cell_width(line) + 1 + cell_width(word) <= width:
            line += f" {word}"
        else:
            lines.append(line)
            line = indent + word
    return [inert(each) for each in (*lines, line)]


def cell_width(text: str) -> int:
    """Terminal cells that `text` takes: two for wide East Asian characters, none for combining marks.

    Examples
    --------
    >>> cell_width("abc"), cell_width("模型"), cell_width("e\u0301")
    (3, 4, 1)
    """
    return sum(_cells(character) for character in text)


def _fitting(text: str, width: int) -> str:
    """Return as much of the beginning as fits into `width` cells."""
    used = 0
    for place, character in enumerate(text):
        used += cell_width(character)
        if used > width:
            return text[:place]
    return text


def _spelled(character: str) -> str:
    if character in _SPELLED:
        return _SPELLED[character]
    if character in _KEPT or unicodedata.category(character) not in _UNSAFE:
        return character
    code = ord(character)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _cells(character: str) -> int:
    if character in _KEPT or unicodedata.combining(character) or unicodedata.category(character) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in ("W", "F") else 1
