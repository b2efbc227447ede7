"""What runs say of themselves, with the name of the one that says it."""

from dataclasses import replace

import polars as pl

from evalstats.analysis.compare.result import Comparison
from evalstats.analysis.score.result import Score


def with_attributed_notes(result: Comparison, runs: pl.DataFrame) -> Comparison:
    """Return the comparison with its notes told apart: a note that not all runs carry begins with whose it is.

    Notes that are no run's (on clusters, on what was done to rows) come first. Equal notes stand once.

    Parameters
    ----------
    result
        What `compare` returned.
    runs
        The data's table of runs.
    """
    sides = (result.baseline, result.candidate)
    said = {run: note for run, note in runs.select("run", "note").iter_rows() if note}
    own = set(said.values())
    concerned = {run for side in sides for run in side.runs}
    notes = [note for note in result.notes if note not in own]
    for text in sorted({said[run] for run in concerned if run in said}):
        speakers = {run for run in concerned if said.get(run) == text}
        whose = "" if speakers == concerned else f"{_whose(sides, speakers)}: "
        notes.append(f"{whose}{text}")
    return replace(result, notes=tuple(dict.fromkeys(notes)))


def _whose(sides: tuple[Score, Score], speakers: set[str]) -> str:
    """Name the side where all its runs, and no others, say it; else the runs."""
    for side in sides:
        if speakers == set(side.runs):
            return side.name
    return ", ".join(sorted(speakers))
