"""Make text that came from a file harmless in each output (terminal, HTML, Markdown, Typst, CSV), and cut it to fit."""

import html
import json
import re
import unicodedata
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from evalstats.errors import LINE

_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>#!|~$^@])")
# Active only where a block begins: lists, headings underlined, fenced blocks.
_MARKDOWN_START = re.compile(r"^(\d*)([.)](?=\s|$)|[-+](?=[-+\s]|$)|[=:])")
# What renderers turn into links by themselves.
_MARKDOWN_LINK = re.compile(r"(:)(?=//)|(?<=www)(\.)", re.IGNORECASE)
# GitHub finds mentions and references after Markdown is done, where a backslash no longer helps: a joiner of no width does.
_MENTION = re.compile(r"(?<=[@#])(?=\w)|(?<=\bGH)(?=-\d)")
_PUNCTUATION = re.compile(r"([!-/:-@\[-`{-~])")
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


# Joiners that Persian, Indic scripts and emoji need, between letters that are not ASCII; they reach no further than these.
_JOINERS = "\u200c\u200d"
# Control, format, surrogate, private use.
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co"})
# What build servers obey: GitHub a line that begins with "::"; Azure, GitHub and TeamCity "##[", "##vso[", "##teamcity[", or any
# other word there, wherever it stands; Buildkite a line that begins with one of its marks.
SERVICE = r"(?<=#)(?=#[\w.-]*\[)"
_COMMAND = re.compile(rf"^([^\S\n]*)(?=::)|^()(?=(?:---|\+\+\+|~~~|\^\^\^) )|{SERVICE}", re.MULTILINE)

# U+FFFE, U+FFFF and their like in every plane: XML and Typst cannot hold them.
_NO_CHARACTER = re.compile(
    f"[\ufdd0-\ufdef{''.join(chr(plane << 16 | 0xFFFE + k) for plane in range(17) for k in (0, 1))}]"
)
_HASH = re.compile(f"{SERVICE}#")


def one_line(text: str) -> str:
    r"""Return text on one line, with characters that cannot be seen spelled out; line breaks become spaces.

    They are spelled out, not dropped, so that two names that differ stay different.

    >>> print(one_line("a\x1b[31mb\u202ec\nd"))
    a\x1b[31mb\u202ec d
    """
    spaced = re.sub(r"\s+", " ", text)
    if spaced.isprintable():
        return spaced
    return "".join(_shown(spaced, place) for place in range(len(spaced)))


def _shown(text: str, place: int) -> str:
    char = text[place]
    if unicodedata.category(char) not in _UNSEEN and not _NO_CHARACTER.match(char):
        return char
    around = text[max(place - 1, 0) : place] + text[place + 1 : place + 2]
    if char in _JOINERS and len(around) == 2 and not any(beside.isascii() for beside in around):
        return char
    return _code(char)


def _code(char: str) -> str:
    """Spell a character out."""
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def inert(text: str) -> str:
    r"""Return lines that no build server takes for commands: a backslash stands where one would begin.

    >>> print(inert("::error::x"), inert("a ##[group]b"), inert("a::b"), inert("##teamcity[x]"), inert("+++ x"))
    \::error::x a #\#[group]b a::b #\#teamcity[x] \+++ x
    """
    return _COMMAND.sub(lambda match: f"{match[1] or ''}\\", text)


def for_html(text: str) -> str:
    """Escape for HTML text and attribute values.

    >>> for_html("<script>")
    '&lt;script&gt;'
    """
    return _HASH.sub("&#35;", html.escape(one_line(text), quote=True))


def lines_for_html(text: str) -> str:
    r"""Escape a text of several lines for HTML that keeps its line breaks and indents.

    >>> lines_for_html("if a < b:\n    c")
    'if a &lt; b:\n    c'
    """
    return "\n".join(" " * (len(line) - len(line.lstrip(" "))) + for_html(line.strip()) for line in lines_of(text))


def for_markdown(text: str) -> str:
    r"""Escape for Markdown running text and table cells.

    >>> for_markdown("a|b*c"), for_markdown("63.7% against 60"), for_markdown("1. one")
    ('a\\|b\\*c', '63.7% against 60', '1\\. one')
    """
    escaped = _MENTION.sub("\u2060", _MARKDOWN.sub(r"\\\1", one_line(text).strip().replace("&", "&amp;")))
    return _MARKDOWN_LINK.sub(r"\\\g<0>", _MARKDOWN_START.sub(r"\1\\\2", escaped))


_WEB = re.compile(r"https?://[A-Za-z0-9][^\s<>\"'`\\{}|^]*")


def is_web_address(text: str) -> bool:
    """Whether text is an address that a page may link to: http or https, in letters that stand in an address.

    >>> (
    ...     is_web_address("https://x.ai/a?b=1#c"),
    ...     is_web_address("javascript:alert(1)"),
    ...     is_web_address('https://x" onclick='),
    ... )
    (True, False, False)
    """
    return text.isascii() and text.isprintable() and _WEB.fullmatch(text) is not None


def lines_of(text: str) -> list[str]:
    r"""Return the lines of a text, each harmless as `one_line` makes it; indents stay.

    >>> lines_of("def f():\n  return\x1b 1\r\n")
    ['def f():', '  return\\x1b 1']
    """
    lines = (line.rstrip() for line in text.replace("\t", "    ").split("\n"))
    return [" " * (len(line) - len(line.lstrip(" "))) + one_line(line.strip()) for line in lines if line]


def for_pandoc(text: str) -> str:
    r"""Escape for a page: Pandoc reads nothing but these words, whatever its extensions, and wherever in a block they stand.

    It lets every ASCII punctuation mark be escaped, and takes quotes, dashes and full stops for more than they are ("1. January"
    begins a list, "..." becomes one character); so all of them are. Quarto, too, finds nothing of its own among them.

    >>> print(for_pandoc("1. a@b $x$ {{< env HOME >}} \\"))
    1\. a\@b \$x\$ \{\{\< env HOME \>\}\} \\
    """
    return _PUNCTUATION.sub(r"\\\1", one_line(text).strip())


def for_csv(text: str) -> str:
    r"""Disarm a cell that a spreadsheet would run as a formula, or a build server as a command; line breaks stay.

    >>> for_csv("=cmd()"), for_csv("two\nlines")
    ("'=cmd()", 'two\nlines')
    """
    cleaned = "\n".join(inert(one_line(line)) for line in re.split("\r\n|\r|\n", text))
    return f"'{cleaned}" if cleaned.startswith(_FORMULA) else cleaned


_MOST_LINES = 3  # of one name
_LARGE_PARTS = re.compile(r"[^ _/,:]*[ _/,:]+|[^ _/,:]+")
_PARTS = re.compile(r"[^ _/,:.~-]*[ _/,:.~-]+|[^ _/,:.~-]+")  # a mark stays at the end of what it ends
_DIGEST = re.compile(r"~[0-9a-f]{8}$")  # of the file that a run is from
_SPELLED = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
# Control, format (direction marks, zero-width characters), surrogate, line and paragraph separator.
_UNSAFE = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


def clean(text: str) -> str:
    r"""Return `text` on one line, with control, direction and invisible characters spelled out, and no build server's command.

    They are spelled out, not dropped, so that two names that differ stay different.

    >>> print(clean("gpt\x1b[2J\u202e4\nb"))
    gpt\x1b[2J\u202e4\nb
    """
    if text.isascii() and text.isprintable():
        return inert(text)
    return inert("".join(map(_spelled, text)))


def shorten(text: str, width: int) -> str:
    """Return cleaned text in at most `width` terminal cells, its middle left out where it is longer.

    What tells long names apart stands at both ends (a run's name ends in a digest).

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


def cut(text: str, letters: int) -> str:
    r"""Return text on one harmless line of at most so many letters; of a longer one the middle is left out.

    >>> cut("results-of-a-long-run~1a2b3c4d", 19), cut("two\nlines", 40)
    ('results-o…~1a2b3c4d', 'two lines')
    """
    text, half = inert(one_line(text)), (letters - 1) // 2
    return text if len(text) <= letters else f"{text[:half]}…{text[-half:]}"


def padded(text: str, width: int) -> str:
    """Return cleaned text in exactly `width` terminal cells; of a longer one the middle is left out."""
    text = shorten(text, width)
    return text + " " * (width - cell_width(text))


def wrapped(text: str, width: int, *, indent: str = "  ") -> list[str]:
    """Return cleaned text in lines of at most `width` terminal cells, all but the first indented.

    Only blanks are places to break at: a path or a name that is longer than a line stays whole and can be copied, and so does
    what a message puts on a line of its own (`errors.LINE`).

    >>> wrapped("note: a.json: items are numbered", 20)
    ['note: a.json: items', '  are numbered']
    """
    text, *to_copy = map(clean, text.split(LINE))
    first, *rest = text.lstrip(" ").split(" ")
    line = text[: len(text) - len(text.lstrip(" "))] + first
    lines: list[str] = []
    for word in rest:
        if cell_width(line) + 1 + cell_width(word) <= width:
            line += f" {word}"
        elif word:  # of several blanks to break at, none begins a line
            lines.append(line)
            line = indent + word
    return [inert(each) for each in (*lines, line, *(f"{LINE[1:]}{each}" for each in to_copy))]


def cell_width(text: str) -> int:
    """Terminal cells that `text` takes: two for wide East Asian characters, none for combining marks.

    >>> cell_width("abc"), cell_width("模型"), cell_width("e\u0301")
    (3, 4, 1)
    """
    return len(text) if text.isascii() else sum(map(_cells, text))


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
    unsafe = character not in _JOINERS and unicodedata.category(character) in _UNSAFE
    return _code(character) if unsafe else character


@lru_cache(maxsize=4096)
def _cells(character: str) -> int:
    if character in _JOINERS or unicodedata.combining(character) or unicodedata.category(character) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in ("W", "F") else 1


def kept_apart(names: Sequence[str], width: int) -> dict[str, str]:
    """Return every name in at most `width` terminal cells, such that those that differ stay different.

    What all long names begin and end with is cut first; then the middle of each; where that would make two alike, more room is
    taken.

    >>> kept_apart(["meta-llama/Llama-3.1-8B", "meta-llama/Llama-3.1-70B", "b"], 14)
    {'meta-llama/Llama-3.1-8B': '…Llama-3.1-8B', 'meta-llama/Llama-3.1-70B': '…Llama-3.1-70B', 'b': 'b'}
    """
    told = {name: clean(name) for name in names}
    long = [text for text in told.values() if cell_width(text) > width]
    if not long:
        return told
    ends = agreed_ends(long, lambda text: cell_width(text) <= width)
    for room in range(width, max(map(cell_width, long)) + 1):
        short = {
            name: text if cell_width(text) <= width else shorten(without_ends(text, ends), room)
            for name, text in told.items()
        }
        if len(set(short.values())) == len(set(told.values())):
            return short
    return told


def narrowed(names: Sequence[str], width: int) -> list[list[str]]:
    """Return the lines in which every name fits into `width` terminal cells.

    What all long names begin and end with is cut first. Where that is not enough, names take up to three lines, broken at
    blanks and marks; only what cannot be broken loses its middle.

    Examples
    --------
    >>> narrowed(["org/model-8B", "org/model-70B"], 10), narrowed(["contradictory_constraints"], 15)
    ([['…model-8B'], ['…model-70B']], [['contradictory_', 'constraints']])
    """
    told = {name: clean(name) for name in names}
    long = {text for text in told.values() if cell_width(text) > width}
    short = {text: text for text in told.values()}
    if len(long) > 1:
        ends = agreed_ends(sorted(long), lambda text: cell_width(text) <= width, first=True)
        cut = {text: without_ends(text, ends) for text in long}
        short |= cut if len({short[text] for text in short} - long | set(cut.values())) == len(short) else {}
    folded = {text: [cut] if cell_width(cut) <= width else _folded(cut, width) for text, cut in short.items()}
    middle = kept_apart(names, width)
    return [folded[told[name]] or [middle[name]] for name in names]


def _folded(text: str, width: int) -> list[str]:
    """Break a name at blanks and marks; nothing where it takes more lines than a reader puts together, or cannot be broken."""
    # Behind a hyphen only where nothing better helps: a name of a model reads as one word.
    return _lines_of(_LARGE_PARTS.findall(text), width) or _lines_of(_PARTS.findall(text), width)


def _lines_of(parts: Sequence[str], width: int) -> list[str]:
    lines = [""]
    for part in parts:
        if cell_width((lines[-1] + part).rstrip(" ")) > width:
            lines.append("")
        lines[-1] += part
    lines = [line.rstrip(" ") for line in lines if line]
    return lines if len(lines) <= _MOST_LINES and all(cell_width(line) <= width for line in lines) else []


def agreed_ends(texts: Sequence[str], fits: Callable[[str], bool], *, first: bool = False) -> tuple[int, int]:
    """Return how many letters that all begin, and all end with, are left out so that the rest `fits` with the marks for them.

    A digest that all end in goes first: it tells nothing apart. Then as little of the beginning as makes room, up to a mark
    between words; then of the end, though not alone where the beginning has to be cut `first`. Where nothing makes room,
    all goes.
    """
    digests = {found[0] if (found := _DIGEST.search(text)) else "" for text in texts} if len(texts) > 1 else set[str]()
    end = len(digests.pop()) if len(digests) == 1 else 0
    rest = [text[: len(text) - end] for text in texts]
    if all(fits(f"{text}{'…' if end else ''}") for text in rest):
        return 0, end
    start = _common_start(rest, lambda text: fits(f"…{text}{'…' if end else ''}"))
    rest = [text[start:] for text in rest]
    if (start or not first) and not all(fits(f"…{text}{'…' if end else ''}") for text in rest):
        end += _common_start([text[::-1] for text in rest], lambda text: fits(f"{'…' if start else ''}{text}…"))
    return start, end


def without_ends(text: str, ends: tuple[int, int]) -> str:
    """Return the text without its first and last letters, each with a mark in their place."""
    start, end = ends
    return f"{'…' if start else ''}{text[start : len(text) - end]}{'…' if end else ''}"


def _common_start(texts: Sequence[str], fits: Callable[[str], bool]) -> int:
    """Return how many letters that all begin with are left out, up to a mark between words: as few as make room, or 0."""
    low, high = min(texts), max(texts)
    start = low[: next((i for i, (a, b) in enumerate(zip(low, high, strict=False)) if a != b), 0)]
    ends = [place + 1 for place, letter in enumerate(start) if letter in "/-_:. ~" and place >= 2]
    enough = (end for end in ends if all(fits(text[end:]) for text in texts))
    return next(enough, ends[-1] if ends else 0)


def as_json(values: Any, *, indent: int) -> str:
    """Return values as JSON that is indented; ValueError where a number is none that JSON knows.

    >>> print(as_json({"a": [1e-05, "b"]}, indent=1))
    {
     "a": [
      1e-05,
      "b"
     ]
    }
    """
    from msgspec import json as msgspec_json  # the help of a command needs none of it

    # The standard library indents value by value in Python, which takes four times as long.
    text = json.dumps(values, ensure_ascii=False, allow_nan=False).encode("utf-8", "surrogatepass")
    return msgspec_json.format(text, indent=indent).decode("utf-8", "surrogatepass")
