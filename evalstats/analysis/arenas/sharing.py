"""What votes share: prompts, raters, sessions and events, by which their errors go together."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from evalstats.document.numbers import plural
from evalstats.errors import InputError
from evalstats.stats.checks import IntArray

_SOURCES = ("item", "rater", "session", "event")
_WORDS = {"item": "prompt", "rater": "rater", "judge": "judge", "session": "session", "event": "event"}
_OWN = {"prompt": "item", "user": "rater", "judge_id": "rater"}
FEW_JUDGES = 20  # more are a crowd
FEWEST = 6  # with fewer levels nothing can be said about new ones


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared:
    """Columns by which votes are clustered: names, and codes for every vote."""

    names: tuple[str, ...]
    codes: tuple[IntArray, ...]
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def shared_sources(votes: pl.DataFrame, asked: str | Sequence[str]) -> Shared:
    """Return what standard errors are clustered by.

    "auto" takes prompt, rater (or judge, where there are many), session and event, whichever the votes have with at least two
    votes in some level. A source with fewer than six levels is left out with a warning, since nothing could be said about new
    levels of it. "none" takes nothing. Named columns are taken as they are.

    Raises
    ------
    InputError
        If there is no such column, or it has no value.

    Examples
    --------
    >>> votes = pl.DataFrame({"rater": ["u", "u", "v", "w", "x", "y", "z"], "item": [None] * 7})
    >>> shared_sources(votes, "auto").names
    ('rater',)
    """
    if asked == "none":
        return Shared(names=(), codes=(), warnings=("standard errors take every vote as independent, as asked",))
    if asked != "auto":
        names = [_OWN.get(name, name) if name not in votes.columns else name for name in _listed(asked)]
        for name in names:
            _check(votes, name)
        coded = [_coded(votes[name]) for name in names]
        return Shared(names=tuple(names), codes=tuple(coded), notes=_partly(votes, names))
    return _found(votes)


def _found(votes: pl.DataFrame) -> Shared:
    kept: list[tuple[str, IntArray]] = []
    notes: list[str] = []
    warnings: list[str] = []
    for name, column in _sources(votes):
        codes = _coded(column)
        levels = int(codes.max()) + 1
        if levels == votes.height:
            continue  # a level of its own for every vote says nothing
        if levels < FEWEST:
            warnings.append(
                f"all votes come from {plural(levels, _WORDS[name])}: intervals hold for {'it' if levels == 1 else 'these'} "
                f"and say nothing about another {_WORDS[name]}, for which at least {FEWEST} are needed"
            )
            continue
        kept.append((name, codes))
    notes.extend(_partly(votes, [name for name, _ in kept if name not in {"rater", "judge"}]))
    if not kept:
        warnings.append(
            "the votes name no prompt, rater, session or event that they share, so every vote is taken as independent; "
            "votes of one user are not: intervals are too narrow where users voted more than once"
        )
    return Shared(
        names=tuple(name for name, _ in kept),
        codes=tuple(codes for _, codes in kept),
        notes=tuple(notes),
        warnings=tuple(warnings),
    )


def _sources(votes: pl.DataFrame) -> list[tuple[str, pl.Series]]:
    """Return the columns that may hold what votes share.

    Many judges are a crowd, and raters of the votes that no person gave. A few judge models are chosen instruments: answers
    are about them, and they are no sample of judges.
    """
    found = {
        name: votes[name] for name in _SOURCES if name in votes.columns and votes[name].null_count() < votes.height
    }
    if "judge" in votes.columns and votes["judge"].drop_nulls().n_unique() > FEW_JUDGES:
        judges = "judge " + votes["judge"].cast(pl.String)
        if "rater" in found:
            found["rater"] = found["rater"].cast(pl.String).zip_with(found["rater"].is_not_null(), judges)
        else:
            found["judge"] = judges
    order = ("item", "rater", "judge", "session", "event")
    return [(name, found[name]) for name in order if name in found]


def _listed(asked: str | Sequence[str]) -> list[str]:
    return [asked] if isinstance(asked, str) else list(dict.fromkeys(asked))


def _check(votes: pl.DataFrame, name: str) -> None:
    if name not in votes.columns:
        have = [column for column in votes.columns if 1 < votes[column].n_unique() < votes.height]
        raise InputError(f"the votes have no column {name!r} to cluster by; columns with levels: {', '.join(have)}")
    if isinstance(votes[name].dtype, pl.List):
        raise InputError(f"{name!r} holds several labels a vote, so it names no clusters; choose another column")
    if votes[name].null_count() == votes.height:
        raise InputError(f"column {name!r} is empty in every vote; leave it out of the clusters")


def _coded(column: pl.Series) -> IntArray:
    """Return a number for every level; a vote without one is a level of its own."""
    missing = column.is_null()
    codes = column.cast(pl.String).rank("dense").cast(pl.Int64).fill_null(0).to_numpy().astype(np.int64) - 1
    if missing.any():
        at = missing.to_numpy()
        codes[at] = codes.max(initial=-1) + 1 + np.arange(int(at.sum()))
    return codes


def _partly(votes: pl.DataFrame, names: Sequence[str]) -> tuple[str, ...]:
    return tuple(
        f"{plural(votes[name].null_count(), 'vote')} without {_WORDS.get(name, name)} count each as a cluster of its own"
        for name in names
        if votes[name].null_count()
    )
