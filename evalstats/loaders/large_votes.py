"""Votes in one large Parquet file, opened without being read."""

from collections.abc import Sequence
from pathlib import Path

import polars as pl

FROM_ROWS = 2_000_000


def scan_votes(paths: Sequence[Path], *, at_least: int = FROM_ROWS) -> pl.LazyFrame | None:
    """Return the votes of one Parquet file as a lazy frame; None where it is not one, or not large.

    The file names its columns as arenas do: model_a, model_b, and `winner` or `outcome`.

    Parameters
    ----------
    at_least
        Rows from which a file is large.
    """
    if len(paths) != 1 or paths[0].suffix.lower() != ".parquet" or not paths[0].is_file():
        return None
    try:
        frame = pl.scan_parquet(paths[0])
        names = set(frame.collect_schema().names())
        if not names >= {"model_a", "model_b"} or not names & {"winner", "outcome"}:
            return None
        rows = int(frame.select(pl.len()).collect().item())
    except (pl.exceptions.PolarsError, OSError):
        return None  # the usual loader says what is wrong with it
    return frame if rows >= at_least else None
