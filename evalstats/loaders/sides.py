"""Two files, or folders, as the two sides of a comparison: what each holds is one system, and has a name of its own."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import polars as pl

from evalstats.errors import CannotAnswerError, InputError
from evalstats.loaders.base import paths_apart
from evalstats.schema.data import EvalData, combine
from evalstats.table.systems import only_arm


def as_sides(targets: Sequence[Path], parts: Sequence[EvalData]) -> tuple[EvalData, tuple[str, str]]:
    """Return what was read from the baseline's file and the candidate's as one, and the names of the two.

    One model that was run twice (two prompts, two dates) is told apart by its files.

    InputError if a file holds several systems, or no scores of items; CannotAnswerError if both are the same.
    """
    for target, part in zip(targets, parts, strict=True):
        if not part.outcomes.height:
            more = "; a leaderboard ranks its published numbers" if part.aggregates.height else ""
            raise InputError(f"{target}: holds no scores of single items, so nothing can be paired{more}")
    digests = [set(part.runs["source_digest"].drop_nulls().to_list()) for part in parts]
    if digests[0] and digests[0] == digests[1]:
        raise CannotAnswerError(
            f"{targets[0]} and {targets[1]} hold the same bytes: they are one run twice, so there is nothing to compare; "
            "give the files of two runs"
        )
    names = [only_arm(part.outcomes, role=role) for part, role in zip(parts, ("baseline", "candidate"), strict=True)]
    if names[0] == names[1]:
        names = names_of_files(targets)
        parts = [
            replace(part, outcomes=part.outcomes.with_columns(system=pl.lit(name)))
            for part, name in zip(parts, names, strict=True)
        ]
    return combine(parts), (names[0], names[1])


def names_of_files(targets: Sequence[Path]) -> list[str]:
    """Name two files by their own names, or by what differs in their paths where these are the same."""
    names = [target.name for target in targets]
    return names if names[0] != names[1] else paths_apart(targets)
