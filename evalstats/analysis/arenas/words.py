"""Small words that every sentence and table about votes shares: points, levels, parts of the ranking, who is shown better."""

import math
from collections.abc import Sequence

from evalstats.analysis.arena.result import ArenaRanking, PairContrast, RatingRow
from evalstats.analysis.scenarios.words import capital, of, p_text, some, stopped
from evalstats.document.numbers import interval, number

__all__ = [
    "apart",
    "capital",
    "compared",
    "digits_of",
    "ends",
    "has_ranks",
    "level",
    "of",
    "p_text",
    "parts",
    "points",
    "ranked",
    "rating",
    "rough",
    "shared_word",
    "some",
    "stopped",
    "unit_of",
    "whole",
]

# Ratings on the chess scale are read in whole points; log-odds need two decimals even where errors are not known.
_LEAST_DIGITS = {"elo": 0, "log-odds": 2}
_MOST_DIGITS = 6
_SHARED = {"item": "prompt"}


def digits_of(result: ArenaRanking) -> int:
    """Return how many decimals ratings get: those that show the first digit of a usual standard error."""
    least = _LEAST_DIGITS[result.scale]
    errors = sorted(row.std_error for row in result.rows if row.std_error)
    if not errors:
        return least
    return min(max(least, -math.floor(math.log10(errors[len(errors) // 2]))), _MOST_DIGITS)


def rating(value: float | None, result: ArenaRanking) -> str:
    """Write a rating."""
    return number(value, digits_of(result))


def points(value: float | None, result: ArenaRanking, *, unit: bool = True) -> str:
    """Write a difference of ratings with its sign."""
    shown = number(value, digits_of(result), sign=True)
    return f"{shown} {unit_of(result)}".rstrip() if unit and value is not None else shown


def ends(low: float | None, high: float | None, result: ArenaRanking, *, sign: bool = False) -> str:
    """Write an interval of ratings or of differences."""
    return interval(low, high, 1.0, digits_of(result), sign=sign)


def unit_of(result: ArenaRanking) -> str:
    """Return the unit of a difference of ratings."""
    return result.unit or ("points" if result.scale == "elo" else "log-odds")


def level(result: ArenaRanking) -> str:
    """Write the level of the intervals."""
    return f"{100 * result.conf_level:g}%"


def rough(value: float) -> str:
    """Write a needed number of votes, rounded up to two digits since it is not known better.

    Examples
    --------
    >>> rough(1234), rough(99), rough(7)
    ('1,300', '99', '7')
    """
    if value < 100:
        return f"{math.ceil(value):,}"
    step = 10 ** (math.floor(math.log10(value)) - 1)
    return f"{math.ceil(value / step) * step:,}"


def shared_word(name: str) -> str:
    """Return what a reader calls that which votes share.

    Examples
    --------
    >>> shared_word("item"), shared_word("country")
    ('prompt', 'country')
    """
    return _SHARED.get(name, name)


def parts(result: ArenaRanking) -> list[list[RatingRow]]:
    """Return the rows by the part of the ranking they belong to, in the order of the rows."""
    found: dict[int, list[RatingRow]] = {}
    for row in result.rows:
        found.setdefault(row.component or 1, []).append(row)
    return list(found.values())


def whole(result: ArenaRanking) -> bool:
    """Whether all models are rated on one scale."""
    return len(parts(result)) <= 1


def ranked(result: ArenaRanking) -> list[RatingRow]:
    """Return the rows with a rank set."""
    return [row for row in result.rows if row.rank_low is not None and row.rank_high is not None]


def has_ranks(result: ArenaRanking) -> bool:
    """Whether the votes leave any rank to be told: some set holds fewer places than its part has models.

    A model that is alone in its part has no rank worth telling.
    """
    together = {row.name for part in parts(result) if len(part) > 1 for row in part}
    return result.converged and any(row.name in together for row in ranked(result))


def compared(result: ArenaRanking) -> list[PairContrast]:
    """Return the pairs that were compared."""
    return [pair for pair in result.pairs if pair.verdict != "not compared"]


def apart(pairs: Sequence[PairContrast]) -> list[PairContrast]:
    """Return the pairs of which one is shown to be better."""
    return [pair for pair in pairs if pair.verdict in ("better", "worse")]
