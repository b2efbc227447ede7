"""What a leaderboard's figure says, row by row: scores, rank sets and tiers in words, and the same as a text."""

import math
import re
from dataclasses import dataclass
from string import ascii_letters

from evalstats.analysis.boards.results import Leaderboard, LeaderboardRow
from evalstats.document.escape import one_line
from evalstats.document.numbers import interval, plural, scaled

MOST_MODELS = 60
_READ = 20
_LETTERS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class RankRow:
    """One line of the figure. Scores are as they are shown (percent, say), ranks are places counted from 1.

    A `heading` has a name and nothing else. `best` marks a model that may be the best, where not all may.
    """

    name: str
    words: str = ""
    estimate: float | None = None
    low: float | None = None
    high: float | None = None
    ranks: tuple[int, int] | None = None
    alone: tuple[int, int] | None = None
    tier: str = ""
    best: bool = False
    heading: bool = False

    @property
    def rank_words(self) -> str:
        """The rank set in words."""
        if self.ranks is None:
            return "" if self.heading else "no rank"
        low, high = self.ranks
        return f"{low}" if low == high else f"{low}-{high}"


def rank_rows(result: Leaderboard) -> list[RankRow]:
    """Return what `ranks` draws, from top to bottom."""
    shown = result.rows[:MOST_MODELS]
    open_parts = {row.component for row in result.rows if row.rank_low is not None and not row.may_be_best}
    lines: list[RankRow] = []
    part: int | None = None
    apart = len({row.component for row in result.rows if row.component is not None}) > 1
    for row in shown:
        if apart and row.component is not None and row.component != part:
            part = row.component
            lines.append(RankRow(name=_part_words(part, result), heading=True))
        lines.append(_line(row, result, best=bool(row.may_be_best) and row.component in open_parts))
    rest = result.rows[MOST_MODELS:]
    return (
        [*lines, RankRow(name=f"The other {plural(len(rest), 'model')}: in the table", heading=True)] if rest else lines
    )


def _part_words(part: int, result: Leaderboard) -> str:
    own = [row for row in result.rows if row.component == part]
    ranked = "ranks among them" if any(row.rank_low is not None for row in own) else "no ranks"
    return f"Part {part}: {plural(len(own), 'model')}, {ranked}"


def _line(row: LeaderboardRow, result: Leaderboard, *, best: bool) -> RankRow:
    return RankRow(
        name=row.name,
        words=score_words(row, result),
        estimate=_shown(row.estimate, result),
        low=_shown(row.conf_low, result),
        high=_shown(row.conf_high, result),
        ranks=_both(row.rank_low, row.rank_high),
        alone=_both(row.rank_low_marginal, row.rank_high_marginal),
        tier=short_letters(row.tier),
        best=best,
    )


def score_words(row: LeaderboardRow, result: Leaderboard) -> str:
    """Write a model's score and its interval, or what of them is missing."""
    digits = score_digits(result)
    if row.estimate is None:
        return "no score"
    shown = scaled(row.estimate, result.scale, digits)
    if row.conf_low is None or row.conf_high is None:
        return f"{shown}, no interval"
    return f"{shown} {interval(row.conf_low, row.conf_high, result.scale, digits)}"


def score_digits(result: Leaderboard) -> int:
    """Return how many decimals are shown: those that show the first digit of a usual standard error, at least one.

    The rule of the leaderboard's tables, so that figure and tables say the same numbers.
    """
    errors = sorted(row.std_error * result.scale for row in result.rows if row.std_error)
    return 1 if not errors else min(max(1, -math.floor(math.log10(errors[len(errors) // 2]))), 6)


def short_letters(tier: str) -> str:
    """Write runs of more than three letters as their ends; tables have all of them.

    Examples
    --------
    >>> short_letters("abc"), short_letters("cdefgj"), short_letters("2abcd")
    ('abc', 'c-gj', '2a-d')
    """
    order = [letter + turn for turn in ("", "1", "2", "3") for letter in ascii_letters]
    part, letters = re.findall(r"^\d*", tier)[0], re.findall(r"[a-zA-Z]\d?", tier)
    runs: list[list[str]] = []
    for letter in letters:
        follows = bool(runs) and order.index(letter) == order.index(runs[-1][-1]) + 1
        runs = [*runs[:-1], [*runs[-1], letter]] if follows else [*runs, [letter]]
    return part + "".join(f"{run[0]}-{run[-1]}" if len(run) > _LETTERS else "".join(run) for run in runs)


def ranks_alt(result: Leaderboard) -> str:
    """Describe `ranks` in words: what it shows, then every model's score and rank set."""
    unit = f" in {result.score_unit}" if result.score_unit else ""
    level = f"{100 * result.conf_level:g}%"
    rows = [row for row in rank_rows(result) if not row.heading]
    lines = [f"{row.name} {row.words}, {_rank_alt(row)}" for row in rows[:_READ]]
    more = len(result.rows) - len(lines)
    last = f" {plural(more, 'more model')} {'stands' if more == 1 else 'stand'} in the table." if more else ""
    return one_line(
        f"{plural(len(result.rows), 'model')} on {result.benchmark}: {result.metric}{unit} with {level} intervals, and the ranks "
        f"that the data leave open. {'; '.join(lines)}.{last}"
    )


def _rank_alt(row: RankRow) -> str:
    if row.ranks is None:
        return "no rank"
    word = "rank" if row.ranks[0] == row.ranks[1] else "ranks"
    return f"{word} {row.rank_words}{', may be the best' if row.best else ''}"


def _both(low: int | None, high: int | None) -> tuple[int, int] | None:
    return None if low is None or high is None else (low, high)


def _shown(value: float | None, result: Leaderboard) -> float | None:
    return None if value is None else value * result.scale
