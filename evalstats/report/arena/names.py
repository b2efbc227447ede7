"""Names that the page of an arena can carry: long ones are shortened alike everywhere, and stay different."""

import dataclasses
from collections.abc import Mapping
from typing import Any, cast

from evalstats.analysis.arenas.results import ArenaRanking
from evalstats.report.names import LONGEST, different_short_names, replacing

# Provenance keeps its words: digests, files and declared values are given in full.
_AS_THEY_ARE = frozenset({"covariance", "sources", "plan", "version"})


def arena_page_names(result: ArenaRanking) -> dict[str, str]:
    """Return what the page calls each name that is too long for it; two names that would become one get a number."""
    return different_short_names([*(row.name for row in result.rows), result.arena])


def with_arena_names(result: ArenaRanking, names: Mapping[str, str]) -> ArenaRanking:
    """Return the result with names replaced wherever they stand, in its sentences as well."""
    if not names:
        return result
    said = replacing(names)

    def renamed(value: Any) -> Any:
        if isinstance(value, str):
            return said(value) if len(value) > LONGEST else value
        if isinstance(value, tuple):
            return tuple(renamed(each) for each in cast("tuple[Any, ...]", value))
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            fields = [field.name for field in dataclasses.fields(value) if field.name not in _AS_THEY_ARE]
            new = {field: renamed(getattr(value, field)) for field in fields}
            changed = {field: each for field, each in new.items() if each is not getattr(value, field)}
            return dataclasses.replace(value, **changed) if changed else value
        return value

    return cast("ArenaRanking", renamed(result))
