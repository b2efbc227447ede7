"""The items of outcome rows: their key, the place of each, the levels of factors that are constant within them."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import polars as pl

from evalstats.schema.columns import HELPER
from evalstats.schema.tables import is_constant

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int32]
Bools = npt.NDArray[np.bool_]
ITEM_KEY = ("task", "item", "variant")
# Names an item whatever its variant.
ITEM_OF_VARIANTS = f"{HELPER}item of variants"
# Of rows that a store merged: where the first of them stood, the ends of their times, what they cost and for how many that is
# known. Their number is in `n_trials`, which trials they were in a set (`trial_sets`).
FIRST, FIRST_LOCATOR, FIRST_TRIAL = f"{HELPER}first", f"{HELPER}locator of first", f"{HELPER}first trial"
EARLIEST, LATEST = f"{HELPER}earliest", f"{HELPER}latest"
SUM_OF, COUNT_OF = f"{HELPER}sum of ", f"{HELPER}number with "


_USUAL, _NEARLY_ALL = 0.5, 0.9


def trials_meant(present: Ints) -> Ints:
    """Return how many trials each cell was meant to have, shape (n_items, n_systems), given how many rows it has.

    A harness that writes no row for a trial that timed out leaves failures out. As many were meant as a system has at most, where
    most of its items have that many, or nearly all items of another system do; elsewhere, as many as there are. Where systems
    lack the same number on nearly all items that lack any, those items were meant to have fewer.

    >>> trials_meant(np.array([[3, 3], [3, 1], [3, 2], [3, 0]])).tolist()
    [[3, 3], [3, 3], [3, 3], [3, 0]]
    >>> trials_meant(np.array([[3, 4], [2, 1], [1, 2]])).tolist()
    [[3, 4], [2, 1], [1, 2]]
    >>> trials_meant(np.array([[3, 3], [3, 3], [1, 1]])).tolist()
    [[3, 3], [3, 3], [1, 1]]
    """
    seen = present > 0
    n_seen = np.maximum(seen.sum(axis=0), 1)
    most = present.max(axis=0, initial=0)
    at_most = ((present == most) & seen).sum(axis=0) / n_seen
    steady = set(most[at_most >= _NEARLY_ALL].tolist())
    told = np.isin(most, list(steady)) | (at_most > _USUAL)
    meant = np.where(seen & told, most, present)
    lacking = np.where(seen, meant - present, 0)
    uneven = lacking.any(axis=1) & (seen.sum(axis=1) > 1)
    alike = np.where(seen, lacking, lacking.max(axis=1, keepdims=True)).min(axis=1) == lacking.max(axis=1)
    if not uneven.any() or alike[uneven].mean() < _NEARLY_ALL:
        return meant
    return np.minimum(meant, np.where(seen, present.max(axis=1, keepdims=True), present))


def level_codes(column: pl.Series) -> tuple[pl.Series, Codes]:
    """Return the levels of a column as text, sorted, and for every row the place of its level; -1 where it has none."""
    coded = column if isinstance(column.dtype, pl.Categorical) else column.cast(pl.String).cast(pl.Categorical)
    some = bool(coded.null_count())
    levels = (coded.drop_nulls() if some else coded).unique().sort()
    own = levels.to_physical().to_numpy()
    place = np.full(int(own.max(initial=0)) + 1, -1, dtype=np.int32)
    place[own] = np.arange(len(own), dtype=np.int32)
    numbers = coded.to_physical()
    codes = place[(numbers.fill_null(0) if some else numbers).to_numpy()]
    if some:
        codes[coded.is_null().to_numpy()] = -1
    return levels.cast(pl.String), codes


def item_codes(rows: pl.DataFrame, key: Sequence[str] = ITEM_KEY) -> tuple[Codes, Ints]:
    """Return the place of every row's item among the sorted items, and the first row of each item."""
    codes = np.zeros(rows.height, dtype=np.int32)
    # Most often one column names an item, and the others are the same throughout.
    for place, name in enumerate(name for name in key if not is_constant(rows[name])):
        own = level_codes(rows[name])[1]
        own -= own.min(initial=0)
        if place:
            # Counted anew at every further column, so that no product of sizes can overflow.
            both = codes * np.int64(int(own.max(initial=0)) + 1) + own
            codes = np.unique(both, return_inverse=True)[1].reshape(-1).astype(np.int32)
        else:
            codes = own
    first = np.zeros(int(codes.max(initial=-1)) + 1, dtype=np.int64)
    first[codes[::-1]] = np.arange(rows.height - 1, -1, -1)
    return codes, first


def levels_of_items(level: Codes, codes: Codes, n_items: int) -> tuple[Codes, Bools]:
    """Return the level that the rows of each item have, -1 where none has any, and which items have several.

    `level` is that of every row, -1 where it has none, `codes` its item.
    """
    known = level >= 0
    if not known.all():
        level, codes = level[known], codes[known]
    found = np.full(n_items, -1, dtype=np.int32)
    found[codes] = level
    differs = np.zeros(n_items, dtype=np.bool_)
    differs[codes[found[codes] != level]] = True
    return found, differs


def items_with_levels(
    rows: pl.DataFrame, factors: Sequence[str], codes: Codes, first: Ints, *, key: Sequence[str]
) -> pl.DataFrame:
    """Return the items, `first` row of each, with the level of every factor as text; null where it varies within the item."""
    levels: list[pl.Series] = []
    for name in (name for name in factors if name not in key):
        # Under a name of our own: Polars takes a column called "*" or "^a$" for a pattern, whatever is asked of it.
        column = rows[name].alias("level")
        if is_constant(column):
            text = column[:1].cast(pl.String)
            text = text.new_from_index(0, len(first)) if len(first) else text
        else:
            names, level = level_codes(column)
            own, differs = levels_of_items(level, codes, len(first))
            own[differs] = -1
            text = names.gather(pl.Series(own).replace(-1, None))
        levels.append(text.alias(name))
    return rows.select(key)[first].hstack(levels)


def level_places(levels: pl.Series) -> list[tuple[str | None, Ints]]:
    """Return each level of a factor by name with the places of its items; None, for items without one, comes last.

    >>> [(name, places.tolist()) for name, places in level_places(pl.Series(["b", None, "a", "b"]))]
    [('a', [2]), ('b', [0, 3]), (None, [1])]
    """
    text = levels.alias("level").cast(pl.String)
    codes = text.rank("dense").fill_null(len(text) + 1).to_numpy()
    order = np.argsort(codes, kind="stable")
    parts = np.split(order, np.flatnonzero(np.diff(codes[order])) + 1) if len(order) else []
    return [(text[int(places[0])], places) for places in parts]


def item_factors(rows: pl.DataFrame, factors: Sequence[str], *, key: Sequence[str] = ITEM_KEY) -> pl.DataFrame:
    """Return the items, sorted, with the level of every factor as text; null where it varies within the item."""
    return items_with_levels(rows, factors, *item_codes(rows, key), key=key)
