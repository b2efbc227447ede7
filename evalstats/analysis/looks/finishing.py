"""The order in which items were finished, as far as the files tell it."""

from dataclasses import dataclass

import numpy as np
import polars as pl

from evalstats.aggregate.items import HELPER, ITEM_KEY
from evalstats.analysis.arms import Arm
from evalstats.analysis.looks.results import Order
from evalstats.analysis.pairs import Ints, Pairs
from evalstats.document.numbers import plural

_TIME, _PLACE = f"{HELPER}time", f"{HELPER}place"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """`places` holds the positions of the items in order of finishing, shape (n_items,); `notes` say how they were found."""

    places: Ints
    order: Order
    notes: tuple[str, ...]


def finishing_order(paired: Pairs, baseline: Arm, candidate: Arm) -> Finished:
    """Put paired items in the order in which both sides had finished them.

    By the timestamps of the scored rows, where every one has one and they differ: an item is finished when the last trial of
    the later side is; items of one timestamp keep the order of their keys. Otherwise by the place of the rows in the files:
    the later of an item's places on the two sides.

    Parameters
    ----------
    paired
        Items scored on both sides.
    baseline, candidate
        The arms that the pairs were made of.
    """
    key = [name for name in ITEM_KEY if name in paired.items.columns]
    ends = [_ends(paired, arm, key) for arm in (baseline, candidate)]
    times = [each[_TIME] for each in ends]
    if not any(each.null_count() for each in times):
        last = pl.DataFrame([times[0], times[1].alias("later")]).max_horizontal()
        distinct = last.n_unique()
        if distinct > 1:
            return Finished(
                places=np.argsort(last.to_physical().to_numpy(), kind="stable").astype(np.int64),
                order="timestamp",
                notes=(_by_time(len(last), distinct),),
            )
        why = "all items carry the same timestamp"
    else:
        why = "not every row has a timestamp"
    places = np.maximum(*(each[_PLACE].rank("ordinal").to_numpy() for each in ends))
    note = f"items are taken in the order of the files, the later place of the two sides, since {why}"
    return Finished(places=np.argsort(places, kind="stable").astype(np.int64), order="file order", notes=(note,))


def _ends(paired: Pairs, arm: Arm, key: list[str]) -> pl.DataFrame:
    """Return the last timestamp and the last place among the scored rows of every item; no time where any row has none."""
    placed = arm.rows.with_row_index(_PLACE).filter(pl.col("status") == "scored")
    time = pl.col("timestamp")
    last = placed.group_by(key).agg(
        pl.when(time.null_count() == 0).then(time.max()).alias(_TIME), pl.col(_PLACE).max().cast(pl.Int64)
    )
    return paired.items.select(key).join(last, on=key, how="left", maintain_order="left")


def _by_time(n: int, distinct: int) -> str:
    note = "items are taken in the order in which they were finished, by the later timestamp of the two sides"
    shared = n - distinct
    return (
        note if not shared else f"{note}; {plural(distinct, 'timestamp')} for {plural(n, 'item')}, ties by name of item"
    )
