"""Small words that other rooms still share: p, units, names in short."""

import re
from collections.abc import Sequence

from evalstats.document.numbers import p_value

LISTED = 4
_CODE = 6
_LITTLE = frozenset({"a", "and", "at", "by", "for", "from", "in", "of", "on", "or", "the", "to", "with"})


def p_text(p: float | None) -> str:
    """Write a p-value after the letter p."""
    shown = p_value(p)
    return f"p {shown}" if shown.startswith(("<", ">")) else f"p = {shown}"


def of(name: str, unit: str) -> str:
    """Write the heading of a column with its unit."""
    return f"{name} ({unit})" if unit else name


def capital(text: str) -> str:
    """Begin with a capital."""
    return text[:1].upper() + text[1:]


def stopped(text: str) -> str:
    """End with one full stop.

    Examples
    --------
    >>> stopped("two items differ"), stopped("two items differ.")
    ('two items differ.', 'two items differ.')
    """
    return text.rstrip(" .;") + "."


def some(names: Sequence[str], most: int = LISTED) -> str:
    """Write some names; of many the first ones and how many more there are.

    Examples
    --------
    >>> some(["a"]), some(["a", "b", "c"]), some("abcdefg")
    ('a', 'a, b and c', 'a, b, c, d and 3 more')
    """
    if len(names) > most:
        return f"{', '.join(names[:most])} and {len(names) - most} more"
    return " and ".join(names) if len(names) < 3 else f"{', '.join(names[:-1])} and {names[-1]}"


def short_codes(names: Sequence[str], most: int = _CODE) -> tuple[str, ...]:
    """Return a short code for each name, no two alike; a name of at most `most` characters is its own code.

    Examples
    --------
    >>> short_codes(["ideal", "goal_switching", "goal swimming", "underspecification", "the end of a session"])
    ('ideal', 'GoaSwi', 'GoaSw2', 'Unders', 'EndSes')
    """
    taken = {name for name in names if len(name) <= most}
    found: list[str] = []
    for name in names:
        code = name if len(name) <= most else _abbreviated(name, most)
        if len(name) > most:
            stem, n = code, 1
            while code in taken:
                n += 1
                code = f"{stem[: most - len(str(n))]}{n}"
        taken.add(code)
        found.append(code)
    return tuple(found)


def _abbreviated(name: str, most: int) -> str:
    words = [word for word in re.split(r"[^\w]+|_+", name) if word]
    words = [word for word in words if word.lower() not in _LITTLE] or words or [name]
    each = max(1, most // min(len(words), most))
    code = "".join(capital(word[:each]) for word in words)[:most]
    return code or name[:most]
