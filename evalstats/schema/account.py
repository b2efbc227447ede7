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
        Columns of words or numbers that nothing is known of; they hold pseudonyms.
    gone
        Factors that are dropped whole.
    days
        Whether times were cut to the day.
    kept
        Columns of labels, counts and measures that can be read as they were.
    alone
        Levels of such a column that one person (or item) alone has, by column.
    singling
        Such columns that have nearly one level for each person.

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
    kept: set[str] = field(default_factory=set[str])
    alone: Counter[str] = field(default_factory=Counter[str])
    singling: set[str] = field(default_factory=set[str])

    def lines(self) -> tuple[str, ...]:
        """Return it in words."""
        said = (
            ("pseudonyms in place of", self.hashed),
            ("dropped:", self.dropped),
            ("texts or ids where labels were expected, replaced or dropped (reasons cut to a class):", self.telling),
        )
        lines = [f"{words} {_listed(+counts)}" for words, counts in said if +counts]
        if self.unknown:
            named = ", ".join(sorted(self.unknown))
            lines.append(
                f"of unknown columns only which rows share a value is kept: {named} (--keep COLUMN keeps it readable)"
            )
        if self.days:
            lines.append("times are cut to the day (UTC), since a moment can be looked up in a log")
        return (*lines, *self._readable())

    def _readable(self) -> list[str]:
        """Say what can still be read, and which of it may tell who somebody is."""
        lines: list[str] = []
        if self.kept:
            lines.append(f"kept as they are, besides models, metrics and results: {', '.join(sorted(self.kept))}")
        if self.singling:
            named = ", ".join(sorted(self.singling))
            lines.append(
                f"warning: nearly one value for each person, which may say who it is, in {named}; rename the column to end in "
                "_id and it is replaced"
            )
        if +self.alone:
            lines.append(
                f"warning: labels that one person or item alone has, in {_listed(+self.alone)}; a rare label may be a name, so "
                "look at them before the store or a report is handed on"
            )
        return lines


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
        total.kept |= each.kept
        total.alone += each.alone
        total.singling |= each.singling
    return total


def _listed(counts: Counter[str]) -> str:
    return ", ".join(f"{name} ({n:,})" for name, n in counts.items())
