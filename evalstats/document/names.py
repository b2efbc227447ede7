"""What stays whole within a sentence: names, options, and numbers with their units and intervals.

Where a view of a document begins, a copy is made in which each name stands between two characters that no text can hold, and
the view sets it in its own way: as code, or as words that no line ends between. A name that no sentence could hold by chance
("GPT-5.4") is found by the names that the document is about; one that may be a plain word ("baseline") is found beside such a
name in a list, and else is `named` where the sentence is made, as an option is. All else sees plain text.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, cast

from evalstats.document.model import Document, Figure, Items, Note, Section, Table, Tabs, Text
from evalstats.errors import Option

# Noncharacters of Unicode, for use within a program; a file's own are spelled out before names are marked.
_OPEN, _CLOSE = "\ufdd0", "\ufdd1"
_NAME = re.compile(f"{_OPEN}([^{_CLOSE}]*){_CLOSE}")
_SPELLED = str.maketrans({_OPEN: r"\ufdd0", _CLOSE: r"\ufdd1"})
_LONGEST = 80
WHOLE = 26  # letters of a name that no line ends in: as many as the narrowest page, of 320 px, holds
_SENTENCES: dict[Any, tuple[str, ...]] = {
    Document: (
        "title", "headline", "number_words", "scope", "answer", "notes", "actions", "worst", "evidence", "method"
    ),
    Section: ("heading", "blocks"),
    Text: ("text",),
    Items: ("items",),
    Table: ("caption",),
    Figure: ("caption", "table"),
    Tabs: ("panels",),
    Note: ("text", "remedy"),
}  # fmt: skip
# Blanks within a number with its unit, and within an interval: no line ends there.
_BLANK = re.compile(
    r"(?<=\d) (?=pp\b)|(?<=\d%|\\%) (?=CI\b)|(?<=\bCI) (?=[\\−+\d])"
    r"|(?<=[\d%]) (?=to [\\−+\d])|(?<=[\d%] to|[\d%]\xa0to) (?=[\\−+\d])"
    r"|(?<=\bp) (?=\\?[=<]|&lt;)|(?<=\bp[ \xa0][=<]) (?=\d)|(?<=\bp[ \xa0]\\[=<]) (?=\d)|(?<=\bp[ \xa0]&lt;) (?=\d)"
)


class Told(str):
    """A sentence as plain text, which knows its `marked` form."""

    __slots__ = ("marked",)
    marked: str


def named(name: object) -> str:
    """Return a name, or an option, for a sentence that a document holds."""
    return f"{_OPEN}{str(name).translate(_SPELLED)}{_CLOSE}"


def told(document: Document) -> Document:
    """Return the document with plain sentences, each of which knows what was `named` in it."""

    def plain(text: str) -> str:
        if _OPEN not in text:
            return text
        found = Told(unmarked(text))
        found.marked = text
        return found

    return _changed(document, plain)


def unmistakable(name: str) -> bool:
    """Return whether no sentence holds a name by chance: it is neither a plain word nor a number.

    >>> [name for name in ("law", "GPT-5.4", "goal_switching", "1.5") if unmistakable(name)]
    ['GPT-5.4', 'goal_switching']
    """
    return bool(re.search(r"[\W\d_]", name) and re.search(r"[^\W\d_]", name))


def marked(document: Document) -> Document:
    """Return the document with names and options marked wherever a sentence, heading or caption holds one.

    Of a list that holds a marked name all names are marked, plain words too: `goal_switching`, `law` and `ethics`.
    """
    names = sorted(document.names, key=len, reverse=True)
    certain, plain = _any_of(filter(unmistakable, names)), _any_of(name for name in names if not unmistakable(name))
    member = rf"(?:{_OPEN}[^{_CLOSE}]*{_CLOSE}|{plain})"
    lists = re.compile(rf"{member}(?:(?:, | and | or | nor ){member})+")

    def marks(pattern: str, text: str) -> str:
        return "".join(
            named(part) if is_name else re.sub(pattern, f"{_OPEN}\\g<0>{_CLOSE}", part)
            for part, is_name in pieces(text)
        )

    def mark(text: str) -> str:
        whole = marks(certain, text.marked if isinstance(text, Told) else text.translate(_SPELLED))
        return lists.sub(lambda found: marks(plain, found[0]) if _OPEN in found[0] else found[0], whole)

    return _changed(document, mark, named_options=True)


def _any_of(names: Iterable[str]) -> str:
    """Return the pattern of names that stand as words of their own, the longest first."""
    choices = "|".join(re.escape(name) for name in names if name and len(name) <= _LONGEST)
    return rf"(?<![\w/:.-])(?:{choices})(?![\w/-]|[.:]\w)" if choices else "(?!)"


def _changed(part: Any, change: Callable[[str], str], *, named_options: bool = False) -> Any:
    """Return a part of a document with its sentences changed; options of a remedy are left to be options, or become names."""
    if isinstance(part, str):
        return change(part)
    if isinstance(part, tuple):
        parts = cast("tuple[object, ...]", part)
        return tuple(_changed(each, change, named_options=named_options) for each in parts)
    if isinstance(part, Option):
        return named(part) if named_options else part
    own = {name: getattr(part, name) for name in _SENTENCES.get(part.__class__, ())}
    new = {name: _changed(value, change, named_options=named_options) for name, value in own.items()}
    return replace(part, **new) if new else part


def pieces(text: str) -> list[tuple[str, bool]]:
    """Return a marked text in pieces, each with whether it is a name.

    >>> pieces("Is \ufdd0b\ufdd1 better?")
    [('Is ', False), ('b', True), (' better?', False)]
    """
    return [(part, place % 2 == 1) for place, part in enumerate(_NAME.split(text)) if part]


def set_names(text: str, *, plain: Callable[[str], str], name: Callable[[str], str]) -> str:
    """Return a marked text with its names set by `name` and all else by `plain`, both of which escape.

    >>> set_names("Is \ufdd0b\ufdd1 better?", plain=str.upper, name="`{}`".format)
    'IS `b` BETTER?'
    """

    def kept(part: str) -> str:
        """Blanks beside a name stay, whatever is done to those at the ends of a text."""
        return f"{' ' * part[:1].isspace()}{plain(part.strip())}{' ' * part[-1:].isspace()}" if part.strip() else " "

    return "".join(name(part) if is_name else kept(part) for part, is_name in pieces(text.strip()))


def unmarked(text: str) -> str:
    """Return a text without its marks, where nothing but letters can stand.

    >>> unmarked("Is \ufdd0b\ufdd1 better?")
    'Is b better?'
    """
    return _NAME.sub(r"\1", text)


def unbroken(escaped: str) -> str:
    r"""Return a text (Markdown and HTML too) in which no line ends within an interval, or between a number and its unit.

    >>> unbroken("95% CI −0.4 to 6.3 pp, p &lt; 0.001").count("\xa0")
    7
    """
    return _BLANK.sub("\xa0", escaped)
