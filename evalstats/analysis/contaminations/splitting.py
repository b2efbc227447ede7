"""Which items are old and which new, by the levels of a column."""

from collections.abc import Sequence

import numpy as np

from evalstats.analysis.arms import listed
from evalstats.analysis.contaminations.asking import Asked, split_asked
from evalstats.analysis.contaminations.items import Bools, ItemTable, enough
from evalstats.document.numbers import plural
from evalstats.errors import CannotAnswerError, InputError
from evalstats.stats.checks import FEW_ITEMS

Levels = str | Sequence[str] | None
OLD_NAMES = frozenset({"old", "public", "seen", "published", "train", "original"})
NEW_NAMES = frozenset(
    {
        "new",
        "fresh",
        "held-out",
        "held_out",
        "heldout",
        "private",
        "unseen",
        "hidden",
        "test",
        "rephrased",
        "paraphrased",
    }
)


def side_levels(
    found: Sequence[str], old: Levels, new: Levels, column: str
) -> tuple[tuple[str, ...], tuple[str, ...], str]:
    """Return the levels of both sides, and a note where a side was not named.

    Raises
    ------
    InputError
        If a level does not exist or stands on both sides, or it is not clear which side is which.

    Examples
    --------
    >>> side_levels(["fresh", "public"], None, None, "source")[:2]
    (('public',), ('fresh',))
    """
    olds, news = _as_levels(old), _as_levels(new)
    for level in (*(olds or ()), *(news or ())):
        if level not in found:
            raise InputError(f"{column} has no level {level!r}; it has {listed(found)}")
    both = sorted(set(olds or ()) & set(news or ()))
    if both:
        raise InputError(f"{both[0]!r} is named as old and as new; an item is one or the other")
    if olds is not None and news is not None:
        return olds, news, ""
    if len(found) < 2:
        have = f"one level, {found[0]!r}" if found else "no level"
        raise CannotAnswerError(f"{column} has {have}; old and new items are both needed")
    if olds is not None or news is not None:
        rest = tuple(level for level in found if level not in (olds or news or ()))
        told = f"the rest of {column} ({listed(rest)}) is taken as {'new' if olds else 'old'}"
        return (olds, rest, told) if olds else (rest, news or (), told)
    known = [tuple(level for level in found if level.lower() in names) for names in (OLD_NAMES, NEW_NAMES)]
    if len(found) == 2 and all(len(each) == 1 for each in known):
        return (
            known[0],
            known[1],
            f"by their names, {known[0][0]!r} of {column} is taken as old and {known[1][0]!r} as new",
        )
    message = f"which items are old and which new? {column} has {listed(found)}: name them, --old LEVEL --new LEVEL (old=, new=)"
    raise InputError(message)


def _as_levels(given: Levels) -> tuple[str, ...] | None:
    if given is None:
        return None
    levels = (given,) if isinstance(given, str) else tuple(given)
    if not levels:
        raise InputError("old and new need at least one level each; leave the option out to take the rest")
    return levels


def ask_of_split(
    table: ItemTable, column: str, label: str, old: Levels, new: Levels
) -> tuple[list[Asked], tuple[str, str], tuple[str, ...]]:
    """Return every suspect's question, what the sides are called, and notes.

    Raises
    ------
    CannotAnswerError
        If the column has one level, or a side has too few items.
    """
    levels = table.column(column)
    found = sorted({level for level in levels if level is not None})
    olds, news, told = side_levels(found, old, new, label)
    is_old, is_new = _among(levels, olds), _among(levels, news)
    for side, names, word in ((is_old, olds, "old"), (is_new, news, "new")):
        if int(side.sum()) < FEW_ITEMS:
            message = (
                f"{plural(int(side.sum()), 'item')} of {label} {listed(names)} ({word}); at least {FEW_ITEMS} of each side are "
                "needed"
            )
            raise CannotAnswerError(message)
    short, left_out = enough(table, (is_old, is_new), ("old", "new"))
    asked = [
        split_asked(table, name, [other for other in table.others(name) if other not in short], is_old, is_new)
        for name in table.suspects
        if name not in short
    ]
    return (
        asked,
        (" and ".join(olds), " and ".join(news)),
        (*([told] if told else []), *_neither(levels, olds, news, label), *left_out),
    )


def _among(levels: Sequence[str | None], names: Sequence[str]) -> Bools:
    return np.array([level in names for level in levels], dtype=np.bool_)


def _neither(levels: Sequence[str | None], olds: Sequence[str], news: Sequence[str], label: str) -> tuple[str, ...]:
    empty = sum(level is None for level in levels)
    other = sum(level is not None and level not in (*olds, *news) for level in levels)
    told = [f"{plural(empty, 'item')} with no level of {label}, or with several, left out"] if empty else []
    return (*told, *([f"{plural(other, 'item')} of other levels of {label} left out"] if other else []))
