"""Names that no eye can tell apart: they differ by characters of no width, kinds of blanks, or how an accent is stored."""

import unicodedata
from collections.abc import Iterable, Mapping

import polars as pl

_SHOWN = 3
# Control, format, surrogate, private use, unassigned (the non-characters U+FFFE and U+FFFF among them).
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn"})


def spelled(character: str) -> str:
    r"""Return a character as its escape.

    >>> print(spelled("\u200b"), spelled(" "), spelled("\ue000"))
    \u200b \x20 \ue000
    """
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def visible(name: str) -> str:
    r"""Return a name with everything spelled out that could not be seen.

    >>> print(visible("gpt-4\u200b"), visible("gpt 4 "), visible("e\u0301"), visible("plain name"))
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
        out.append(spelled(character) if blank or stored or hidden else character)
    return "".join(out)


def alike(names: Iterable[str]) -> dict[str, str]:
    r"""Return, of names that look the same as another one, those to be spelled out, with how.

    >>> alike(["gpt-4", "gpt-4\u200b", "other"])
    {'gpt-4\u200b': 'gpt-4\\u200b'}
    """
    groups: dict[str, list[str]] = {}
    for name in dict.fromkeys(names):
        groups.setdefault(_seen(name), []).append(name)
    return {
        name: visible(name) for group in groups.values() if len(group) > 1 for name in group if visible(name) != name
    }


def renamed(frame: pl.DataFrame, columns: Iterable[str], names: Mapping[str, str]) -> pl.DataFrame:
    """Return a frame with some names of models written otherwise."""
    return frame.with_columns(pl.col(column).replace(dict(names)) for column in columns if column in frame.columns)


def lookalike_note(names: Mapping[str, str]) -> str:
    """Say which names look alike and how they are written."""
    shown = ", ".join(list(names.values())[:_SHOWN]) + (", ..." if len(names) > _SHOWN else "")
    which = "a model's name looks" if len(names) == 1 else f"{len(names)} models' names look"
    return (
        f"{which} like another and differs only by characters that cannot be seen: written as {shown}, and kept apart. If they "
        "are one model, mend the name in the file"
    )


def _seen(name: str) -> str:
    """Return what an eye sees of a name."""
    shown = "".join(
        c for c in unicodedata.normalize("NFC", name) if c.isspace() or unicodedata.category(c) not in _UNSEEN
    )
    return " ".join(unicodedata.normalize("NFC", shown).split())
