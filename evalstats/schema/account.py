"""What anonymising did to the tables of a source, counted, and in words."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field


@dataclass(slots=True, kw_only=True)
class Account:
    """What was taken out of which column.

    Attributes
    ----------
    hashed
        Values for which pseudonyms stand, by column.
    dropped
        Values that are gone, by column.
    telling
        Values that were no labels though their column holds labels: texts and ids, by column.
    unknown
        Columns of words that nothing is known of; they hold pseudonyms.
    gone
        Factors that are dropped whole.
    days
        Whether times were cut to the day.

    Examples
    --------
    >>> Account(hashed=Counter(rater=3), dropped=Counter(text=0), days=True).lines()
    ('pseudonyms in place of rater (3)', 'times are cut to the day (UTC), since a moment can be looked up in a log')
    """

    hashed: Counter[str] = field(default_factory=Counter[str])
    dropped: Counter[str] = field(default_factory=Counter[str])
    telling: Counter[str] = field(default_factory=Counter[str])
    unknown: set[str] = field(default_factory=set[str])
    gone: set[str] = field(default_factory=set[str])
    days: bool = False

    def lines(self) -> tuple[str, ...]:
        """Return it in words."""
        said = (
            ("pseudonyms in place of", self.hashed),
            ("dropped:", self.dropped),
            ("texts or ids where labels were expected, replaced or dropped:", self.telling),
        )
        lines = [f"{words} {_listed(+counts)}" for words, counts in said if +counts]
        if self.unknown:
            named = ", ".join(sorted(self.unknown))
            lines.append(
                f"of unknown columns only which rows share a value is kept: {named} (--keep COLUMN keeps labels)"
            )
        if self.days:
            lines.append("times are cut to the day (UTC), since a moment can be looked up in a log")
        return tuple(lines)


def together(accounts: Iterable[Account]) -> Account:
    """Add up the accounts of several sources.

    Examples
    --------
    >>> together([Account(hashed=Counter(user=1)), Account(hashed=Counter(user=2))]).hashed["user"]
    3
    """
    total = Account()
    for each in accounts:
        total.hashed += each.hashed
        total.dropped += each.dropped
        total.telling += each.telling
        total.unknown |= each.unknown
        total.gone |= each.gone
        total.days |= each.days
    return total


def _listed(counts: Counter[str]) -> str:
    return ", ".join(f"{name} ({n:,})" for name, n in counts.items())
