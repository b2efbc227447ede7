"""Votes that two files hold alike: the same arena as CSV and as JSON Lines would count twice."""

from itertools import combinations
from typing import Final

import polars as pl

from evalstats.schema.data import Problem

# What names a vote and what it says; copies in another format agree in all of it.
_COLUMNS: Final = ("battle", "item", "model_a", "model_b", "outcome", "rater", "judge", "session")
_SHARE: Final = 0.9
_FROM: Final = 20
# Comparing every file with every other would take long for a folder of thousands.
_MAX_RUNS: Final = 400


def same_votes(comparisons: pl.DataFrame) -> list[Problem]:
    """Return a note for every pair of runs of which one repeats at least nine tenths of the other's votes.

    A vote is the same if its id (or number), item, models, outcome, rater, judge and session are. Small runs (fewer than 20
    votes) may agree by chance and are passed over.

    Examples
    --------
    >>> votes = pl.DataFrame({"run": ["x"] * 30 + ["y"] * 30, "battle": [str(i) for i in range(30)] * 2})
    >>> filled = votes.with_columns(pl.lit("m").alias(name) for name in _COLUMNS[1:])
    >>> [problem.path for problem in same_votes(filled)], same_votes(filled.head(30))
    (['y'], [])
    """
    sizes = dict(comparisons.group_by("run", maintain_order=True).len().iter_rows()) if comparisons.height else {}
    large = [run for run, n in sizes.items() if n >= _FROM]
    if len(large) < 2:
        return []
    votes = comparisons.filter(pl.col("run").is_in(large)).select("run", *_COLUMNS)
    hashes = votes.select(pl.col("run"), pl.struct(_COLUMNS).hash(seed=0).alias("vote")).unique()
    shared = hashes.filter(pl.len().over("vote") > 1)
    of_run = {str(run): set(part["vote"].to_list()) for (run,), part in shared.group_by("run", maintain_order=True)}
    candidates = [run for run in large if run in of_run][:_MAX_RUNS]
    problems: list[Problem] = []
    for first, second in combinations(candidates, 2):
        n = len(of_run[first] & of_run[second])
        if n >= _SHARE * min(sizes[first], sizes[second]):
            message = (
                f"{n} of its {sizes[second]} votes also stand in {first} (same ids, models and outcomes); if both files hold the "
                "same votes they count twice: read only one"
            )
            problems.append(Problem(path=second, message=message, severity="note"))
    return problems
