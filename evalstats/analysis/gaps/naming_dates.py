"""Whether two names that were joined carry different dates: `gpt-x-0613` and `gpt-x-1106` are two models."""

import re
from collections.abc import Sequence

# A date in a name: 2024-05-13, 20240513, 2024-05, or the month and day alone that some makers use (0613).
_DATE = re.compile(r"(?<!\d)(20\d{2})[-_.]?(0[1-9]|1[0-2])(?:[-_.]?(0[1-9]|[12]\d|3[01]))?(?!\d)")
_SHORT = re.compile(r"(?<!\d)(0[1-9]|1[0-2])[-_.]?(0[1-9]|[12]\d|3[01])(?!\d)")


def date_in(name: str) -> str | None:
    """Return the date that stands in a model's name, as digits; None where there is none.

    Examples
    --------
    >>> date_in("claude-x-20240620"), date_in("gpt-x-2024-05-13"), date_in("gpt-x-0613"), date_in("llama-3-70b")
    ('20240620', '20240513', '0613', None)
    """
    whole = _DATE.search(name)
    if whole:
        return "".join(part for part in whole.groups() if part)
    short = _SHORT.search(name)
    return "".join(short.groups()) if short else None


def dated_otherwise(pairs: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the pairs of joined names whose dates differ, or of which one alone is dated.

    Examples
    --------
    >>> dated_otherwise([("gpt-x-2024-05-13", "gpt-x-20240513"), ("o-y-0613", "o-y-1106"), ("z", "z")])
    [('o-y-0613', 'o-y-1106')]
    """
    return [(lab, live) for lab, live in pairs if not _one_date(date_in(lab), date_in(live))]


def _one_date(lab: str | None, live: str | None) -> bool:
    """Whether two dates may be one: a month and day alone are that of the whole date."""
    if lab is None or live is None:
        return lab == live
    short, long = sorted((lab, live), key=len)
    return long.startswith(short) or long.endswith(short)
