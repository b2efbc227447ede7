"""The words of the leaderboard command, taken apart for the places of the page: both say the same."""

from dataclasses import dataclass

from evalstats.analysis.leaderboard.result import Leaderboard
from evalstats.analysis.leaderboard.wording import (
    beside_the_table,
    dependence_table,
    graph_blocks,
    leaderboard_blocks,
    missing_blocks,
)
from evalstats.document.blocks import Banner, Block, Heading, Table
from evalstats.report.markup import sentence


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderboardWords:
    """Parts of what the command prints.

    Attributes
    ----------
    banner
        The answer.
    beside
        What the lines of the table alone would hide: ties, models without a rank, who may be among the best few.
    missing
        Models with missing scores; None where there are none.
    compared
        Who saw the same items, where that is not so of all.
    dependence
        Groups that were not declared as clusters; None where none could be tested.
    """

    banner: Banner
    beside: tuple[str, ...] = ()
    missing: Table | None = None
    compared: tuple[Block, ...] = ()
    dependence: Table | None = None


def leaderboard_words(result: Leaderboard) -> LeaderboardWords:
    """Take the blocks of a leaderboard apart.

    Examples
    --------
    >>> from evalstats import datasets
    >>> from evalstats.analysis.leaderboard.leaderboard import leaderboard
    >>> leaderboard_words(leaderboard(datasets.tenacious_held_out())).banner.label
    'one best'
    """
    banner = next(block for block in leaderboard_blocks(result) if isinstance(block, Banner))
    missing = [block for block in missing_blocks(result) if isinstance(block, Table)]
    compared = [block for block in graph_blocks(result) if not isinstance(block, Heading)]
    return LeaderboardWords(
        banner=banner,
        beside=tuple(beside_the_table(result)),
        missing=missing[0] if missing else None,
        compared=tuple(compared),
        dependence=dependence_table(result.dependence, result.dependence_of) if result.dependence else None,
    )


def statement(text: str, board: Leaderboard) -> str:
    """Make a sentence of a clause; a name at its beginning keeps its small letter.

    Examples
    --------
    >>> from evalstats import datasets
    >>> from evalstats.analysis.leaderboard.leaderboard import leaderboard
    >>> board = leaderboard(datasets.tenacious_held_out())
    >>> statement("trained: no score", board), statement("no model has a score", board)
    ('trained: no score.', 'No model has a score.')
    """
    made = sentence(text)
    names = (*(row.name for row in board.rows), *(row.factor for row in board.dependence), *board.clusters)
    first = text.strip()
    return first[:1] + made[1:] if any(first.startswith(name) for name in names) else made
