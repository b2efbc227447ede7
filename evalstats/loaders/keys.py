"""Remember, in a few bytes a row, which keys a file has held so far and how often."""

import numpy as np
import polars as pl


class SeenKeys:
    """Keys seen so far, as sorted 64-bit hashes: eight bytes a row, however long the ids are.

    Two different keys share a hash once in 18 million million million pairs; a file of a million rows is then wrongly
    refused with a chance of 3 in 100 million.

    Examples
    --------
    >>> keys = SeenKeys()
    >>> keys.again(pl.DataFrame({"id": [1, 2, 1]})).to_list(), keys.again(pl.DataFrame({"id": [2, 3]})).to_list()
    ([False, False, True], [True, False])
    """

    def __init__(self) -> None:
        self._sorted = np.empty(0, dtype=np.uint64)

    def again(self, keys: pl.DataFrame) -> pl.Series:
        """Mark the rows whose key was seen before, in this frame or an earlier one, and remember all of them."""
        hashes = keys.hash_rows(seed=0)
        new = hashes.to_numpy()
        place = np.searchsorted(self._sorted, new)
        known = np.zeros(len(new), dtype=np.bool_)
        inside = place < len(self._sorted)
        known[inside] = self._sorted[place[inside]] == new[inside]
        # Two sorted runs are merged in one pass by the stable sort.
        self._sorted = np.sort(np.concatenate([self._sorted, np.sort(new)]), kind="stable")
        return pl.Series(known) | ~hashes.is_first_distinct()


class GroupCounter:
    """Numbers the rows of each group from 0, going on where the last frame ended.

    Examples
    --------
    >>> counter = GroupCounter()
    >>> counter.next(pl.DataFrame({"g": ["a", "a", "b"]})).to_list(), counter.next(pl.DataFrame({"g": ["a"]})).to_list()
    ([0, 1, 0], [2])
    """

    def __init__(self) -> None:
        self._counts = pl.DataFrame(schema={"group": pl.UInt64, "n": pl.Int64})

    def next(self, keys: pl.DataFrame) -> pl.Series:
        """Return each row's number within its group, in the order of the rows."""
        rows = pl.DataFrame({"group": keys.hash_rows(seed=0)})
        start = rows.join(self._counts, on="group", how="left", maintain_order="left")["n"].fill_null(0)
        within = rows.select(pl.int_range(pl.len(), dtype=pl.Int64).over("group")).to_series()
        counted = rows.group_by("group").agg(pl.len().cast(pl.Int64).alias("n"))
        self._counts = pl.concat([self._counts, counted]).group_by("group").agg(pl.col("n").sum())
        return within + start
