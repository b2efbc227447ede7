"""For which prompts a ranking holds: for these and other raters, or for other prompts too."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from evalstats.analysis.arena.ratings import Part, rate
from evalstats.analysis.arena.result import PromptLevels
from evalstats.analysis.arena.votes import VoteTable
from evalstats.stats.arena.votes import merged

_PROMPT = "item"
_PEOPLE = frozenset({"rater", "judge", "session"})


def for_these_prompts(parts: Sequence[Part]) -> list[Part]:
    """Return the parts with prompts taken as all there are: errors are those of other raters on the same prompts."""
    return [rate(_without_prompts(part.table), part.models, part.options) for part in parts]


def decided(parts: Sequence[Part], *, asked: bool) -> tuple[list[Part], PromptLevels | None]:
    """Return the parts at the level that the votes can decide, and both levels in numbers.

    Claims for other prompts are shown where they separate any pair, else those for these prompts where these do. There is one
    level where clusters were `asked` for, or votes do not share both prompts and people.
    """
    wide, names = list(parts), parts[0].table.cluster_names
    if asked or _PROMPT not in names or _PEOPLE.isdisjoint(names) or parts[0].table.chunks is not None:
        return wide, None
    narrow = for_these_prompts(parts)
    these, new = _separated(narrow), _separated(wide)
    levels = PromptLevels(
        n_prompts=int(np.unique(parts[0].table.codes[names.index(_PROMPT)]).size),
        n_pairs=sum(part.fit.n_models * (part.fit.n_models - 1) // 2 for part in parts),
        n_separated_these=these,
        n_separated_new=new,
        shown="these" if these and not new else "new",
    )
    return (narrow if levels.shown == "these" else wide), levels


def _separated(parts: Sequence[Part]) -> int:
    return sum(0 if part.claims is None else int(np.triu(part.claims.separated, k=1).sum()) for part in parts)


def _without_prompts(table: VoteTable) -> VoteTable:
    at = [way for way, name in enumerate(table.cluster_names) if name != _PROMPT]
    return replace(
        table,
        rows=merged(replace(table.rows, clusters=tuple(table.rows.clusters[way] for way in at))),
        cluster_names=tuple(table.cluster_names[way] for way in at),
        codes=tuple(table.codes[way] for way in at),
        nameless=tuple(table.nameless[way] for way in at) if table.nameless else (),
    )
