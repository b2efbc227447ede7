"""What every method does, takes for granted and comes from, in words for somebody who is no statistician, keyed by its name.

The texts stand in `method_texts.md`: a heading of a method's names with "; " between them, what it is (a clause), how it works,
what it takes for granted beyond what every method does and how that could fail, and its sources.
"""

from collections.abc import Mapping
from functools import cache, lru_cache
from importlib.resources import files

from evalstats.record import record

# Under this heading stand names that are parts of others' names: they are not looked for inside any.
_WHOLE = "Whole names"
_TAKES = "Takes for granted: "


@record
class MethodText:
    """What a method is, how it works, what it takes for granted ("" where nothing of its own), and its sources."""

    what: str
    how: str
    takes: str = ""
    sources: tuple[str, ...] = ()


@cache
def known_methods() -> Mapping[str, MethodText]:
    """Return all texts by their keys."""
    return {key: text for texts in _read() for key, text in texts.items()}


@lru_cache(maxsize=512)
def texts_for(method: str) -> tuple[MethodText, ...]:
    """Return what is known of a method, by its name in a result; several texts where the name has several parts.

    >>> texts_for("CR2 on 2 cluster columns, Satterthwaite df")[0].what
    'a t interval for items that are grouped in several ways at once'
    >>> len(texts_for("paired t, max-T step-down over sign flips of items")), texts_for("astrology")
    (2, ())
    """
    parts, whole = _read()
    if method in whole:
        return (whole[method],)
    found: list[tuple[int, MethodText]] = []
    rest = method
    for key in sorted(parts, key=len, reverse=True):
        place = rest.find(key)
        if place >= 0:
            found.append((place, parts[key]))
            rest = rest.replace(key, "\x00" * len(key))
    return tuple(text for _, text in sorted(found, key=lambda pair: pair[0]))


@cache
def groups() -> tuple[tuple[str, tuple[tuple[tuple[str, ...], MethodText], ...]], ...]:
    """Return the texts as they are laid out: each group's heading, and its methods with all their names."""
    text = files("evalstats.analysis").joinpath("method_texts.md").read_text(encoding="utf-8")
    found: list[tuple[str, tuple[tuple[tuple[str, ...], MethodText], ...]]] = []
    for group in text.split("\n# ")[1:]:
        heading, *methods = group.split("\n## ")
        found.append((heading.strip(), tuple(_method(each) for each in methods)))
    return tuple(found)


def _method(text: str) -> tuple[tuple[str, ...], MethodText]:
    paragraphs = text.replace("\n- ", "\n\n- ").strip().split("\n\n")
    names, what, how, *rest = (" ".join(each.split()) for each in paragraphs)
    takes = next((each.removeprefix(_TAKES) for each in rest if each.startswith(_TAKES)), "")
    sources = tuple(each.removeprefix("- ") for each in rest if each.startswith("- "))
    return tuple(names.split("; ")), MethodText(what=what, how=how, takes=takes, sources=sources)


@cache
def _read() -> tuple[Mapping[str, MethodText], Mapping[str, MethodText]]:
    """Return the texts that are looked for inside names, and those of whole names."""
    parts: dict[str, MethodText] = {}
    whole: dict[str, MethodText] = {}
    for heading, methods in groups():
        for names, text in methods:
            (whole if heading == _WHOLE else parts).update(dict.fromkeys(names, text))
    return parts, whole
