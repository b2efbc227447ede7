"""The grammar of what is written: counts with their nouns, lists cut to a length, verbs that agree."""

import re
from collections.abc import Iterable, Sequence

_SINGULAR = re.compile(r"(?=.*[aeiouy])[a-z]+(?<![^su]s)(?<![^e]ed)")


def plural(n: int, noun: str, many: str | None = None) -> str:
    """Write a count with its noun.

    >>> plural(1, "item"), plural(1200, "item"), plural(2, "person", "people")
    ('1 item', '1,200 items', '2 people')
    """
    return f"{n:,} {noun if n == 1 else many or noun + 's'}"


def plural_of(name: str) -> str:
    """Return what several levels of a column are called: its name in the plural where it is a plain word in the singular.

    A word has a vowel, one in s that is neither class nor status may be a plural already, and one in ed is no noun (but seed).

    >>> plural_of("passage"), plural_of("category"), plural_of("class"), plural_of("status")
    ('passages', 'categories', 'classes', 'statuses')
    >>> plural_of("doc_id"), plural_of("user kind"), plural_of("src"), plural_of("tags")
    ('levels of doc_id', 'levels of user kind', 'levels of src', 'levels of tags')
    >>> plural_of("seed"), plural_of("labeled"), plural_of("phenomenon")
    ('seeds', 'levels of labeled', 'phenomena')
    """
    if not _SINGULAR.fullmatch(name):
        return f"levels of {name}"
    if name.endswith("y") and name[-2:-1] not in "aeiou":
        return f"{name[:-1]}ies"
    if name in {"phenomenon", "criterion"}:
        return f"{name[:-2]}a"
    return f"{name}es" if name.endswith(("s", "x", "z", "ch", "sh")) else f"{name}s"


def conjugate(n: int, base: str) -> str:
    """Return a verb as a count asks for it.

    >>> conjugate(1, "differ"), conjugate(2, "differ"), conjugate(1, "lie")
    ('differs', 'differ', 'lies')
    """
    return f"{base}s" if n == 1 else base


def is_are(n: int) -> str:
    """Return the verb of a count.

    >>> is_are(1), is_are(2)
    ('is', 'are')
    """
    return "is" if n == 1 else "are"


def has_have(n: int) -> str:
    """Return the verb of a count.

    >>> has_have(1), has_have(2)
    ('has', 'have')
    """
    return "has" if n == 1 else "have"


def and_list(names: Sequence[str], most: int = 4) -> str:
    """Write names as running text does; of more than `most` and one, the first ones and how many more there are.

    >>> and_list(["a", "b", "c"]), and_list(["a", "b", "c"], most=1), and_list(["a"]), and_list([])
    ('a, b and c', 'a and 2 more', 'a', 'none')
    """
    rest = len(names) - most
    if rest > 1:
        return f"{', '.join(names[:most])} and {rest:,} more"
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1]))) if names else "none"


def comma_list(things: Iterable[object], most: int = 5, separator: str = ", ", *, total: int = 0) -> str:
    """Write the first `most` of a list with commas, as choices and places stand in a message, and how many more there are.

    `total` is how long the list is, where `things` are only its beginning.

    >>> comma_list([1, 2]), comma_list(range(9)), comma_list(["a: 1", "b: 2", "c: 3"], 1, "; "), comma_list([])
    ('1, 2', '0, 1, 2, 3, 4 and 4 more', 'a: 1; and 2 more', 'none')
    """
    texts = [str(thing) for thing in things]
    rest = max(total, len(texts)) - most
    more = f"{' ' if separator == ', ' else separator}and {rest:,} more" if rest > 0 else ""
    return separator.join(texts[:most]) + more if texts else "none"


def on_one_line(name: str) -> str:
    r"""Write a name from a file without its line breaks, so that none makes a line of a message.

    >>> on_one_line("accuracy\n(strict)")
    'accuracy (strict)'
    """
    return " ".join(name.splitlines())


def quoted_list(levels: Iterable[object], most: int = 12) -> str:
    """Write the levels of a column for a message: quoted, sorted, each once, none that is null.

    >>> quoted_list(["b", None, "a", "b"]), quoted_list(["a", "b", "c"], most=2)
    ("'a', 'b'", "'a', 'b' and 1 more")
    """
    return comma_list(map(repr, sorted({str(level) for level in levels if level is not None})), most)


def first_lines(lines: Sequence[str], most: int) -> tuple[str, ...]:
    """Return the first of many lines, and one that says how many more there are.

    >>> first_lines(["a", "b", "c"], 3), first_lines(["a", "b", "c"], 1)
    (('a', 'b', 'c'), ('a', 'And 2 more.'))
    """
    rest = len(lines) - most
    return (*lines[:most], *([f"And {rest:,} more."] if rest > 0 else []))
