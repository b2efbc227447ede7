"""Which votes the checks suspect, to be rated without."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import polars as pl

from evalstats.analysis.arena.checks import TrustChecks
from evalstats.analysis.arena.result import ArenaRanking

# Checks that point at votes; those of sides, of one rater and of few votes point at none that is suspect.
OF_SUSPECTS = ("raters", "duplicates", "bursts", "identity")
_WORDS = {
    "raters": "by raters unlike the others",
    "duplicates": "repeats",
    "bursts": "in bursts",
    "identity": "in which an answer names its model",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspects:
    """Suspect votes: Boolean for every vote of the table that was given, and how many for what reason."""

    at: pl.Series
    reasons: tuple[tuple[str, int], ...]


def suspects_of(votes: pl.DataFrame, result: ArenaRanking) -> Suspects:
    """Return the votes behind the suspect checks of a result.

    Of a rater unlike the others: all votes. Of repeats: those after the first. Of a burst for a model: all votes on it in that
    time, won or lost, since to leave out those it won would be a bias against it. Of answers that name their model: those votes.
    """
    nothing = pl.Series([False] * votes.height, dtype=pl.Boolean)
    warned = {line.check for line in result.checks if line.status == "warning"}
    if result.trust is None:
        return Suspects(at=nothing, reasons=())
    scored = votes.select(pl.col("outcome").is_not_null() & (pl.col("model_a") != pl.col("model_b")))[:, 0]
    found, reasons, by = nothing, list[tuple[str, int]](), _voter_column(votes)
    for check in OF_SUSPECTS:
        if check in warned:
            at = _FINDERS[check](votes, result.trust, by) & scored
            reasons.append((_WORDS[check], int((at & ~found).sum())))
            found |= at
    return Suspects(at=found, reasons=tuple((why, n) for why, n in reasons if n))


def _voter_column(votes: pl.DataFrame) -> str:
    known = [name for name in ("rater", "session") if name in votes.columns and votes[name].drop_nulls().len()]
    return known[0] if known else ""


def _by_raters(votes: pl.DataFrame, trust: TrustChecks, by: str) -> pl.Series:
    names = [flag.rater for flag in trust.raters]
    return votes[by].cast(pl.String).is_in(names).fill_null(value=False)


def _repeats(votes: pl.DataFrame, _: TrustChecks, by: str) -> pl.Series:
    pair = pl.concat_list("model_a", "model_b").list.sort()
    key = pl.struct("item", by, pair.alias("pair"))
    known = pl.col("item").is_not_null() & pl.col(by).is_not_null() & pl.col("outcome").is_not_null()
    counted = votes.select(known.alias("known"), key.alias("key"))
    place = counted.select(pl.when(pl.col("known")).then(pl.int_range(pl.len()).over("known", "key")))[:, 0]
    return (place > 0).fill_null(value=False)


def _in_bursts(votes: pl.DataFrame, trust: TrustChecks, by: str) -> pl.Series:
    found = pl.lit(value=False)
    for burst in trust.bursts:
        # Times that a file writes without a zone are UTC, as in the check.
        start, end = (pl.lit(int(time.timestamp() * 1e6) + more) for time, more in ((burst.start, -1), (burst.end, 1)))
        within = pl.col("timestamp").dt.epoch("us").is_between(start, end)
        on_model = (pl.col("model_a") == burst.name) | (pl.col("model_b") == burst.name)
        own = pl.col(by).cast(pl.String) == burst.name if burst.kind == "rater" else on_model
        found |= within & own
    return votes.select(found.fill_null(value=False))[:, 0]


def _named(votes: pl.DataFrame, _: TrustChecks, __: str) -> pl.Series:
    sides = [pl.col(f"names_itself_{side}").cast(pl.Boolean).fill_null(value=False) for side in "ab"]
    return votes.select(pl.any_horizontal(sides))[:, 0]


_FINDERS: Mapping[str, Callable[[pl.DataFrame, TrustChecks, str], pl.Series]] = {
    "raters": _by_raters,
    "duplicates": _repeats,
    "bursts": _in_bursts,
    "identity": _named,
}
