"""Who gave each vote and when, as codes and seconds."""

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from evalstats.analysis.arenas.table import VoteTable
from evalstats.stats.arena.votes import VoteRows
from evalstats.stats.checks import FloatArray, IntArray

MERGED = "votes came merged, without single votes to look at"


@dataclass(frozen=True, slots=True, kw_only=True)
class Voters:
    """Raters of votes.

    Attributes
    ----------
    column
        "rater", or "session" where votes have no rater; "" where they have neither.
    names
        Names of the raters, by code.
    codes
        int64, shape (n_votes,): raters; the number of raters where nobody is known.
    seconds
        float64, shape (n_votes,): times, NaN where none is known; None where no vote has one.
    rows
        The votes, one row each, in the order of the table, with `codes` as clusters; None without raters.
    reason
        Why there are none.
    """

    column: str = ""
    names: tuple[str, ...] = ()
    codes: IntArray
    seconds: FloatArray | None = None
    rows: VoteRows | None = None
    reason: str | None = None

    @property
    def n_raters(self) -> int:
        """Raters who are known."""
        return len(self.names)


def voters_of(table: VoteTable) -> Voters:
    """Return who voted: the column rater, else session."""
    nobody = np.zeros(table.first.size, dtype=np.int64)
    if table.votes is None:
        return Voters(codes=nobody, reason=MERGED)
    seconds = _seconds(table.votes)
    for column in ("rater", "session"):
        if column not in table.votes.columns:
            continue
        values = table.votes[column]
        known = values.drop_nulls().unique().sort()
        if not len(known):
            continue
        codes = values.cast(pl.String).replace_strict(
            known.cast(pl.String), pl.Series(range(len(known)), dtype=pl.Int64), default=len(known)
        )
        coded = codes.to_numpy().astype(np.int64)
        return Voters(
            column=column,
            names=tuple(str(name) for name in known.to_list()),
            codes=coded,
            seconds=seconds,
            rows=_single(table, coded),
        )
    return Voters(codes=nobody, seconds=seconds, reason="votes have neither a rater nor a session")


def _seconds(votes: pl.DataFrame) -> FloatArray | None:
    if "timestamp" not in votes.columns or votes["timestamp"].null_count() == votes.height:
        return None
    return votes["timestamp"].dt.epoch("us").cast(pl.Float64).fill_null(float("nan")).to_numpy() / 1e6


def first_of_event(table: VoteTable) -> NDArray[np.bool_]:
    """Tell the votes that are the first of their event: the K - 1 votes of an event of K answers are one choice."""
    if table.votes is None or "event" not in table.votes.columns:
        return np.ones(table.first.size, dtype=np.bool_)
    event = table.votes["event"]
    return (event.is_first_distinct() | event.is_null()).to_numpy()


def _single(table: VoteTable, codes: IntArray) -> VoteRows:
    return VoteRows(
        n_models=table.n_models,
        first=table.first,
        second=table.second,
        outcome=table.outcome,
        share=table.share,
        weight=table.weight,
        weight_squares=table.weight**2,
        count=np.ones(table.first.size, dtype=np.int64),
        covariates=table.covariates,
        clusters=(codes,),
    )
