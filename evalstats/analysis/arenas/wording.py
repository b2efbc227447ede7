"""A ranking of votes in words and tables."""

from evalstats.analysis.arenas.results import ArenaRanking
from evalstats.display.blocks import Block


def arena_sentences(result: ArenaRanking) -> list[str]:
    """Say who may be the best, what is certain, and what to beware of."""
    raise NotImplementedError(result)


def arena_blocks(result: ArenaRanking) -> list[Block]:
    """Return the whole answer as blocks."""
    raise NotImplementedError(result)
