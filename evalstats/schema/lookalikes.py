"""Names with letters that look Latin and are not: two that read alike, and one that mixes scripts."""

import re
import unicodedata
from collections.abc import Iterable

# Cyrillic and Greek letters, and below each the Latin one that readers see.
_OTHERS = "асԁеһіјӏкорԛѕԝхуүАВСЕНІЈКМОРЅТԜХУҮԌԚӀαγικνορτυϲϳχηωΑΒΕΖΗΙΚΜΝΟΡΤΥΧϹͿ"
_LATINS = "acdehijlkopqswxyyABCEHIJKMOPSTWXYYGQIayikvoptucjxnwABEZHIKMNOPTYXCJ"
_LATIN_OF = dict(zip(_OTHERS, _LATINS, strict=True))
# Letters of one script in another shape: of full width, bold, script.
_SHAPES = ("<wide>", "<narrow>", "<font>")
_WORD = re.compile(r"[^\W_]+")


def read_alike(names: Iterable[str]) -> list[tuple[str, ...]]:
    """Return the groups of names that differ only by letters that look the same.

    >>> read_alike(["gpt-4o", "gpt-4\N{CYRILLIC SMALL LETTER O}", "claude"])
    [('gpt-4o', 'gpt-4о')]
    """
    groups: dict[str, list[str]] = {}
    for name in dict.fromkeys(names):
        groups.setdefault("".join(map(_seen, name)), []).append(name)
    return [tuple(group) for group in groups.values() if len(group) > 1]


def disguised(name: str) -> str:
    """Return the letters of a name that look Latin and are of another script, where the name is Latin otherwise; else "".

    A word in another script is none, nor a Greek letter that stands alone as they do in formulas.

    >>> [disguised(name) for name in ("gpt-4\N{CYRILLIC SMALL LETTER O}", "Сбер GigaChat", "τ-bench", "claude")]
    ['о', '', '', '']
    """
    found = ""
    for word in _WORD.findall(name):
        letters = [char for char in word if char.isalpha()]
        others = [char for char in letters if _script(char) in ("CYRILLIC", "GREEK")]
        like_latin = [char for char in others if char in _LATIN_OF]
        latin_beside = len(others) < len(letters)
        symbol = len(letters) == 1 and _script(word[0]) == "GREEK" and letters[0].islower()
        if like_latin and not symbol and (latin_beside or len(like_latin) == len(others)):
            found += "".join(like_latin)
    latin = any(_script(char) == "LATIN" or char.isdecimal() for char in name)
    return "".join(dict.fromkeys(found)) if latin else ""


def code_points(letters: str) -> str:
    """Name letters by their script and number, since an eye cannot.

    >>> code_points("\N{CYRILLIC SMALL LETTER O}")
    'Cyrillic о (U+043E)'
    """
    return ", ".join(f"{_script(char).capitalize()} {char} (U+{ord(char):04X})" for char in letters)


def foreign(name: str, beside: str) -> str:
    """Return the letters of a name that another one, which reads alike, does not have, in words."""
    return code_points("".join(dict.fromkeys(char for char in name if char not in beside)))


def _seen(char: str) -> str:
    if unicodedata.decomposition(char).startswith(_SHAPES):
        char = unicodedata.normalize("NFKC", char)
    return "".join(_LATIN_OF.get(each, each) for each in char)


def _script(char: str) -> str:
    return unicodedata.name(char, "").partition(" ")[0]
