"""Names of models and levels: as tables hold them where somebody gives a number, and those that look like others.

Names look alike by characters of no width, kinds of blanks and stored accents, which are spelled out; or by letters of
another script that look Latin, of which readers are told.
"""

import re
import unicodedata
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from numbers import Integral, Real
from typing import Final, cast

import numpy as np
import polars as pl

from evalstats.errors import InputError
from evalstats.grammar import comma_list

_TRUTH: Final[tuple[type, ...]] = (bool, np.bool_)
_NUMBERS: Final = (Real, *_TRUTH)


def name_of(value: object, dtype: pl.DataType | None = None) -> str:
    """Return a name or level as tables write it; text stays as it is, and 1.0 is the 1 that a table shows.

    `dtype` is that of the column that holds it, where that may be a factor: one of floating point writes 1 as 1.0. InputError for
    what is no text, number or truth value.

    >>> [name_of(value) for value in ("1.0", 1, 1.0, 1.5, True, np.int64(7))]
    ['1.0', '1', '1', '1.5', 'true', '7']
    >>> name_of(1, pl.Float64())
    '1.0'
    """
    if isinstance(value, str):
        return str(value)
    if isinstance(value, _TRUTH):
        return "true" if value else "false"
    floating = dtype is not None and dtype.is_float()
    if isinstance(value, Integral) and not floating:
        return str(int(value))
    if isinstance(value, Real):
        text = str(pl.Series([float(value)]).cast(pl.String).item())
        return text if floating else text.removesuffix(".0")
    raise InputError(f"{value!r} is no name; give a text or a number")


def names_of(values: object, dtype: pl.DataType | None = None) -> tuple[str, ...]:
    """Return one name, or all of several (a list, an array, a column), as tables write them.

    >>> names_of("a"), names_of([1, 2.0]), names_of(np.array([3]))
    (('a',), ('1', '2'), ('3',))
    """
    if isinstance(values, Iterable) and not isinstance(values, str):
        return tuple(name_of(each, dtype) for each in cast("Iterable[object]", values))
    return (name_of(values, dtype),)


def as_names(value: object, dtype: pl.DataType | None = None) -> object:
    """Return an argument that holds names (one, several, or the keys of a mapping) with numbers written as tables do.

    None, and what holds text alone, is returned as it is.

    >>> as_names(None), as_names(1), as_names(["a", 2]), as_names({1: 0.5, "b": 0.5})
    (None, '1', ('a', '2'), {'1': 0.5, 'b': 0.5})
    """
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        pairs = cast("Mapping[object, object]", value)
        if all(isinstance(key, str) for key in pairs):
            return pairs
        named = {name_of(key, dtype): each for key, each in pairs.items()}
        if len(named) < len(pairs):
            raise InputError(f"two of {', '.join(map(repr, pairs))} are the same name; give each once")
        return named
    if isinstance(value, Iterable):
        held = tuple(cast("Iterable[object]", value))
        plain = isinstance(value, list | tuple | set | frozenset) and all(isinstance(each, str) for each in held)
        return cast("object", value) if plain else names_of(held, dtype)
    return name_of(cast("object", value), dtype) if isinstance(value, _NUMBERS) else value


def unknown_name(name: str, known: list[str], *, what: str = "model") -> str:
    """Say that a name is not known, what comes closest, and what there is.

    >>> print(unknown_name("gpt4o", ["gpt-4o", "claude"]))
    no model 'gpt4o'; closest: gpt-4o; all 2: gpt-4o, claude
    """
    close = (
        get_close_matches(name, known, n=3, cutoff=0.5) or [each for each in known if name.lower() in each.lower()][:3]
    )
    closest = f"; closest: {', '.join(name if name == name.strip() else repr(name) for name in close)}" if close else ""
    return f"no {what} {name!r}{closest}; all {len(known):,}: {comma_list(known, 10)}"


# --- characters that no eye sees ---

# Control, format, surrogate, private use, unassigned (the non-characters U+FFFE and U+FFFF among them).
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn"})


def escape(character: str) -> str:
    r"""Return a character as its escape.

    >>> print(escape("\u200b"), escape(" "), escape("\ue000"))
    \u200b \x20 \ue000
    """
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def spelled_out(name: str) -> str:
    r"""Return a name with everything spelled out that could not be seen.

    >>> print(spelled_out("gpt-4\u200b"), spelled_out("gpt 4 "), spelled_out("e\u0301"), spelled_out("plain name"))
    gpt-4\u200b gpt 4\x20 e\u0301 plain name
    """
    composed = unicodedata.normalize("NFC", name) == name
    out: list[str] = []
    for place, character in enumerate(name):
        blank = character.isspace() and (character != " " or place in {0, len(name) - 1} or name[place - 1].isspace())
        stored = not composed and (
            unicodedata.combining(character) or unicodedata.normalize("NFC", character) != character
        )
        hidden = unicodedata.category(character) in _UNSEEN
        out.append(escape(character) if blank or stored or hidden else character)
    return "".join(out)


def lookalikes(names: Iterable[str]) -> dict[str, str]:
    r"""Return, of names that look the same as another one, those to be spelled out, with how.

    >>> lookalikes(["gpt-4", "gpt-4\u200b", "other"])
    {'gpt-4\u200b': 'gpt-4\\u200b'}
    """
    groups: dict[str, list[str]] = {}
    for name in dict.fromkeys(names):
        groups.setdefault(_as_seen(name), []).append(name)
    return {
        name: spelled_out(name)
        for group in groups.values()
        if len(group) > 1
        for name in group
        if spelled_out(name) != name
    }


def _as_seen(name: str) -> str:
    """Return what an eye sees of a name."""
    shown = "".join(
        c for c in unicodedata.normalize("NFC", name) if c.isspace() or unicodedata.category(c) not in _UNSEEN
    )
    return " ".join(unicodedata.normalize("NFC", shown).split())


def renamed(frame: pl.DataFrame, columns: Iterable[str], names: Mapping[str, str]) -> pl.DataFrame:
    """Return a frame with some names of models written otherwise."""
    return frame.with_columns(
        pl.col(column).cast(pl.String).replace(dict(names)).cast(frame.schema[column])
        for column in columns
        if column in frame.columns
    )


def lookalike_note(names: Mapping[str, str]) -> str:
    """Say which names look alike and how they are written."""
    shown = comma_list(names.values(), 3)
    one = "a model's name looks like another and differs"
    which = one if len(names) == 1 else f"{len(names)} models' names look like others and differ"
    return (
        f"{which} only by characters that cannot be seen: written as {shown}, and kept apart. If they are one "
        "model, correct the name in the file"
    )


# --- letters of another script ---

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
        groups.setdefault("".join(map(_latin, name)), []).append(name)
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


def _latin(char: str) -> str:
    if unicodedata.decomposition(char).startswith(_SHAPES):
        char = unicodedata.normalize("NFKC", char)
    return "".join(_LATIN_OF.get(each, each) for each in char)


def _script(char: str) -> str:
    return unicodedata.name(char, "").partition(" ")[0]
