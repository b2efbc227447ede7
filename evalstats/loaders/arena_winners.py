"""Who won each vote of a block: every distinct label is read once."""

from collections.abc import Mapping
from dataclasses import replace

import polars as pl

from evalstats.loaders.arena_cells import Winner, winner_of
from evalstats.loaders.arena_records import VoteBlock, texts
from evalstats.loaders.arena_tally import Tally

# What a label is read by. A record that lacks the first is read by the next.
_LABELS = ("winner", "win")
_ONE_HOT = ("winner_model_a", "winner_model_b", "winner_tie")
# Stand for the two models where a label is read apart from its row.
_PLACE = "\x00place"
_FIRST, _SECOND = "\x00a", "\x00b"


def winners_of(
    block: VoteBlock, model_a: pl.Series, model_b: pl.Series, labels: Mapping[str, str], tally: Tally
) -> dict[str, pl.Series]:
    """Return outcome, strength, status, status_reason and value_raw of every vote, and take note of its label."""
    said = _said(block)
    names = list(said.columns)
    itself = (model_a == model_b).alias("itself")
    label = said["winner"] if "winner" in names else pl.Series([None], dtype=pl.String).new_from_index(0, said.height)
    named = pl.select(
        pl.when(itself).then(None).when(label == model_a).then(pl.lit("a")).when(label == model_b).then(pl.lit("b"))
    ).to_series()
    keys = said.with_columns(named.alias("named"), itself)
    distinct = keys.group_by([*names, "named", "itself"], maintain_order=True).len("n")
    read: list[Winner] = []
    for row in distinct.iter_rows(named=True):
        if block.winners is not None:
            place: int = row[_PLACE]
            winner = block.winners[place]
        else:
            winner = _winner({name: row[name] for name in names}, row["named"], labels)
            winner = Winner(raw=winner.raw, reason="a model against itself") if row["itself"] else winner
        tally.count_winner(winner, against_itself=row["itself"], n=row["n"])
        read.append(winner)
    columns = {name: [getattr(winner, name) for winner in read] for name in ("raw", "outcome", "strength", "reason")}
    told = distinct.drop("n").with_columns(
        pl.Series(f"\x00{name}", cells, dtype=pl.String) for name, cells in columns.items()
    )
    joined = keys.join(told, on=[*names, "named", "itself"], how="left", nulls_equal=True, maintain_order="left")
    outcome = joined["\x00outcome"]
    status = pl.select(pl.when(outcome.is_null()).then(pl.lit("unscored")).otherwise(pl.lit("scored"))).to_series()
    return {
        "outcome": outcome,
        "strength": joined["\x00strength"],
        "status": status,
        "status_reason": joined["\x00reason"],
        "value_raw": joined["\x00raw"],
    }


def _said(block: VoteBlock) -> pl.DataFrame:
    """Return the columns that say who won, as text."""
    if block.winners is not None:
        return pl.DataFrame({_PLACE: range(len(block.winners))})
    names = block.columns.keys()
    if "acceptedIndex" in names:
        return pl.DataFrame({"acceptedIndex": texts(block.get("acceptedIndex"))})
    if names.isdisjoint(_LABELS) and "winner_model_a" in names:
        return pl.DataFrame({name: texts(block.get(name)) for name in _ONE_HOT})
    return pl.DataFrame({"winner": texts(block.first_of(*_LABELS))})


def _winner(record: Mapping[str, str | None], named: str | None, labels: Mapping[str, str]) -> Winner:
    label = record.get("winner")
    own = labels.get(label.strip().lower()) if label is not None else None
    if own is not None:
        return replace(winner_of({"winner": own}, _FIRST, _SECOND), raw=label, words=None)
    sides = (label or _FIRST) if named == "a" else _FIRST, (label or _SECOND) if named == "b" else _SECOND
    return winner_of(record, *sides)
