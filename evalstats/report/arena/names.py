"""Names that the page of an arena can carry: long ones are shortened alike everywhere, and stay different."""

from collections.abc import Mapping

from evalstats.analysis.arena.result import ArenaRanking
from evalstats.report.names import different_short_names, with_names_everywhere


def arena_page_names(result: ArenaRanking) -> dict[str, str]:
    """Return what the page calls each name that is too long for it; two names that would become one get a number."""
    return different_short_names([*(row.name for row in result.rows), result.arena])


def with_arena_names(result: ArenaRanking, names: Mapping[str, str]) -> ArenaRanking:
    """Return the result with names replaced wherever they stand, in its sentences as well."""
    return with_names_everywhere(result, names)
