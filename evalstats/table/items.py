"""The items of outcome rows: their key, the place of each, the levels of factors that are constant within them, their trials.

A merged row stands for a set of trials: a struct with a boolean for each trial, named as the trial is. So the trials of rows that
were merged are known exactly, at a bit for each, and what differs between whole runs is estimated from them as from single rows.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar, cast

import numpy as np
import numpy.typing as npt
import polars as pl

from evalstats.schema.columns import HELPER
from evalstats.schema.tables import is_constant
from evalstats.stats.checks import levels_and_places

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int32]
Sums = npt.NDArray[np.float64 | np.int8]
Bools = npt.NDArray[np.bool_]
_Count = TypeVar("_Count", np.bool_, np.int64)
ITEM_KEY = ("task", "item", "variant")
# Names an item whatever its variant.
ITEM_OF_VARIANTS = f"{HELPER}item of variants"
# Of rows that a store merged: where the first of them stood, the ends of their times, what they cost and for how many that is
# known. Their number is in `n_trials`, which trials they were in a set.
FIRST, FIRST_LOCATOR, FIRST_TRIAL = f"{HELPER}first", f"{HELPER}locator of first", f"{HELPER}first trial"
EARLIEST, LATEST = f"{HELPER}earliest", f"{HELPER}latest"
SUM_OF, COUNT_OF = f"{HELPER}sum of ", f"{HELPER}number with "


_USUAL, _NEARLY_ALL = 0.5, 0.9
_SHARE, _AT_ONCE, _LARGEST = 0.25, 1_000_000, 2**62
_FEW = 5_000  # texts that are ranked sooner than numbers are made of them


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
    most = present.max(axis=0, initial=0)
    if most.max(initial=0) <= 1:
        return present
    seen = present > 0
    n_seen = np.maximum(seen.sum(axis=0), 1)
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


# --- cells: of a million answers to single questions all counts are 1, which is held once, and each score takes a byte ---


def narrowed(sums: Floats) -> Sums:
    """Hold whole numbers below 128 in a byte each.

    >>> (
    ...     narrowed(np.array([0.0, 1.0])).dtype,
    ...     narrowed(np.array([0.0, 0.5])).dtype,
    ...     narrowed(np.array([-128.0, 128.0])).dtype,
    ... )
    (dtype('int8'), dtype('float64'), dtype('float64'))
    """
    small = np.abs(sums).max(initial=0.0) < 128 and bool((sums == np.rint(sums)).all())
    return sums.astype(np.int8) if small else sums


def held_once(counts: npt.NDArray[Any]) -> int | None:
    """Return what stands in every cell of an array that holds it once; None where cells are held one by one."""
    return int(counts.flat[0]) if counts.size and not any(counts.strides) else None


def once(counts: Ints) -> Ints:
    """Hold counts once where all are one number.

    >>> held_once(once(np.array([1, 1]))), held_once(once(np.array([1, 2])))
    (1, None)
    """
    alike = counts.size and (counts == counts.flat[0]).all()
    return np.broadcast_to(counts.flat[0], counts.shape) if alike else counts


def side_by_side(columns: Sequence[Ints]) -> Ints:
    """Put counts of items, shape (n_items,), side by side, one column a system."""
    shape, known = (len(columns[0]), len(columns)), {held_once(column) for column in columns}
    if None not in known and len(known) == 1:
        return np.broadcast_to(columns[0][0], shape)
    found = np.empty(shape, dtype=np.int64, order="F")
    for place, column in enumerate(columns):
        found[:, place] = column
    return found


def each_once(counts: npt.NDArray[_Count]) -> npt.NDArray[_Count]:
    """Return counts of shape (1, 1) where they are held once: what is computed of them is then computed once."""
    return counts if held_once(counts) is None else counts[:1, :1]


def taken(counts: Ints, places: Ints | Bools | list[int] | slice) -> Ints:
    """Take some rows of an array of counts.

    >>> (
    ...     taken(np.broadcast_to(1, (3, 2)), slice(1)).shape,
    ...     taken(np.broadcast_to(1, (3, 2)), np.array([True, False, True])).shape,
    ... )
    ((1, 2), (2, 2))
    """
    if (alike := held_once(counts)) is None:
        return counts[places]
    n_taken = np.broadcast_to(np.int64(alike), len(counts))[places].size
    return np.broadcast_to(np.int64(alike), (n_taken, counts.shape[1]))


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


def text_codes(column: pl.Series) -> Codes:
    """Return for every row the place of its text among the different ones, sorted; `column` holds no null.

    Eight bytes behind what all texts begin with tell most apart, and numbers are sorted ten times as fast.

    >>> text_codes(pl.Series(["q2", "q10", "q2", "q1"])).tolist()
    [2, 1, 2, 0]
    """
    if column.dtype != pl.String or len(column) < _FEW:
        return column.rank("dense").to_numpy().astype(np.int32) - 1
    ends = str(column.min()), str(column.max())
    begin = next((k for k, (one, other) in enumerate(zip(*ends, strict=False)) if one != other), min(map(len, ends)))
    padded = pl.first().str.pad_end(begin + 8, "\0").cast(pl.Binary).bin.slice(len(ends[0][:begin].encode()), 8)
    number = padded.bin.reinterpret(dtype=pl.UInt64, endianness="big")
    parts = (column[first : first + _AT_ONCE].to_frame() for first in range(0, len(column), _AT_ONCE))
    keys = np.concatenate([part.select(number).to_series().to_numpy() for part in parts])
    order = np.argsort(keys)
    keys = keys[order]
    differs = np.append(False, keys[1:] != keys[:-1])
    alike = 1 + np.flatnonzero(~differs[1:])
    unlike = alike[(column.gather(order[alike]) != column.gather(order[alike - 1])).to_numpy()]
    if len(unlike):  # they are sorted as texts, among themselves
        group = np.cumsum(differs)
        mixed = np.zeros(group[-1] + 1, dtype=np.bool_)
        mixed[group[unlike]] = True
        slots = np.flatnonzero(mixed[group])
        order[slots] = order[slots][column.gather(order[slots]).arg_sort().to_numpy()]
        texts = column.gather(order[slots])
        differs[slots[1:]] |= (texts[1:] != texts[:-1]).to_numpy()
    codes = np.empty(len(order), dtype=np.int32)
    codes[order] = np.cumsum(differs, dtype=np.int32)
    return codes


def item_codes(rows: pl.DataFrame, key: Sequence[str] = ITEM_KEY) -> tuple[Codes, Ints]:
    """Return the place of every row's item among the sorted items, and the first row of each item."""
    # Most often one column names an item, and the others are the same throughout.
    varying = [rows[name] for name in key if not is_constant(rows[name])]
    codes, size = np.zeros(rows.height, dtype=np.int64), 1
    for column in varying:
        # Sorting takes less than looking up where many rows differ, and more where most are alike.
        differ = not column.null_count() and cast("int", column.approx_n_unique()) > _SHARE * len(column)
        own = text_codes(column) if differ else level_codes(column)[1]
        own -= own.min(initial=0)
        width = int(own.max(initial=0)) + 1
        if size * width > _LARGEST:
            codes = levels_and_places(codes)[1]
            size = int(codes.max()) + 1
        codes, size = (own if size == 1 else codes * width + own), size * width
    codes = (levels_and_places(codes)[1] if len(varying) > 1 else codes).astype(np.int32, copy=False)
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
    """Return the items, `first` row of each, with the level of every factor as text; null where it varies within the item.

    `codes` are the items of the rows, or of the first of several equal stretches of them that have the same items.
    """
    levels: list[pl.Series] = []
    for name in (name for name in factors if name not in key):
        # Under a name of our own: Polars takes a column called "*" or "^a$" for a pattern, whatever is asked of it.
        column = rows[name].alias("level")
        if is_constant(column):
            text = column[:1].cast(pl.String)
            text = text.new_from_index(0, len(first)) if len(first) else text
        else:
            names, level = level_codes(column)
            own, differs = levels_of_items(level, np.resize(codes, len(level)), len(first))
            own[differs] = -1
            text = names.gather(pl.Series(own).replace(-1, None))
        levels.append(text.alias(name))
    named = [rows[name] for name in key]
    return pl.DataFrame([part.head(len(first)) if is_constant(part) else part.gather(first) for part in named] + levels)


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


# --- the trials of merged rows ---

# Of merged rows alone: the set, under the second name where trials have names (a judge, a seed) and not mere numbers.
TRIALS, TRIAL_LABELS = f"{HELPER}trials", f"{HELPER}trial labels"
_PLACE = f"{HELPER}place"


def trial_sets(rows: pl.DataFrame) -> pl.Series | None:
    """Return the set of trials of every row; None where any row has none, or data with other trials were put beside them.

    >>> sets = pl.Series(TRIALS, [{"0": True, "1": False}, {"0": False, "1": True}])
    >>> seen_trials(pl.DataFrame([sets]))
    ['0', '1']
    >>> trial_sets(pl.DataFrame({"item": ["q"]})) is None
    True
    """
    name = next((name for name in (TRIALS, TRIAL_LABELS) if name in rows.columns), None)
    known = name is not None and isinstance(rows.schema[name], pl.Struct) and not rows[name].null_count()
    return rows[name] if name is not None and known else None


def row_counts(rows: pl.DataFrame) -> npt.NDArray[np.int64]:
    """Return how many rows of the source each row stands for: one, unless rows were merged.

    >>> row_counts(pl.DataFrame({"item": ["q", "q"]})).tolist()
    [1, 1]
    """
    if trial_sets(rows) is None:
        return np.ones(rows.height, dtype=np.int64)
    return rows["n_trials"].fill_null(1).to_numpy().astype(np.int64)


def seen_trials(rows: pl.DataFrame) -> list[str]:
    """Return the names of the trials that any row stands for."""
    sets = trial_sets(rows)
    return [] if sets is None else [name for name, stands in _fields(sets) if stands.any()]


def scores_by_trial(
    rows: pl.DataFrame, items: pl.DataFrame, *, at_once: int
) -> tuple[list[str], Callable[[], Iterator[Floats]]]:
    """Return the names of the trials of the rows, and the score of each of `items` in each trial, so many items at a time.

    `rows` are the scored rows of one arm, each with its set; `items` are named by all of their columns. The arrays have a column
    for every trial, with NaN where there is no score; the function begins anew whenever it is called.
    """
    placed = _places(rows, items).rename(_PLACE)
    held = rows.select("score", _known_sets(rows).alias(TRIALS)).with_columns(placed).drop_nulls(_PLACE)
    held = held.sort(_PLACE, maintain_order=True)
    place, score, sets = held[_PLACE].to_numpy(), held["score"].to_numpy(), held[TRIALS]
    names = [name for name, stands in _fields(_known_sets(rows)) if stands.any()]

    def blocks() -> Iterator[Floats]:
        for first in range(0, items.height, at_once):
            n = min(at_once, items.height - first)
            begin, end = np.searchsorted(place, [first, first + n])
            stands = dict(_fields(sets[begin:end]))
            found = np.full((n, len(names)), np.nan)
            for column, name in enumerate(names):
                own, scores = place[begin:end][stands[name]] - first, score[begin:end][stands[name]]
                count, total = np.bincount(own, minlength=n), np.bincount(own, weights=scores, minlength=n)
                np.divide(total, count, out=found[:, column], where=count > 0)
            yield found

    return names, blocks


def in_both(own: pl.DataFrame, other: pl.DataFrame, key: Sequence[str]) -> pl.DataFrame:
    """Take trials out of the scored rows of one side where the other side has the item and no score of it in that trial.

    `key` names an item. `n_trials` becomes what is left, and rows of which nothing is left are dropped.
    """
    items = other.select(key).unique(maintain_order=True)
    found, of_other = _places(own, items), _places(other, items).to_numpy()
    untouched = (found.is_null() | (own["status"] != "scored")).to_numpy()
    place, scored = found.fill_null(0).to_numpy(), (other["status"] == "scored").to_numpy()
    sets, others = _known_sets(own), dict(_fields(_known_sets(other)))
    left: list[pl.Series] = []
    for name, stands in _fields(sets):
        there = np.zeros(items.height, dtype=np.bool_)
        if name in others:
            there[of_other[scored & others[name]]] = True
        left.append(pl.Series(name, stands & (untouched | there[place])))
    bits = pl.DataFrame(left)
    n_trials = bits.select(pl.sum_horizontal(pl.all().cast(pl.Int64))).to_series()
    kept = own.with_columns(bits.to_struct(sets.name), n_trials.alias("n_trials"))
    if FIRST_TRIAL in own.columns:  # the place of the first trial is not that of those which are left
        kept = kept.with_columns(pl.when(n_trials == own["n_trials"]).then("locator").alias("locator"))
    return kept.filter(n_trials > 0)


def _known_sets(rows: pl.DataFrame) -> pl.Series:
    sets = trial_sets(rows)
    if sets is None:
        raise ValueError("the rows do not name their trials")
    return sets


def _places(rows: pl.DataFrame, items: pl.DataFrame) -> pl.Series:
    """Return where among `items` the item of every row stands; null where it does not."""
    placed = items.with_row_index(_PLACE).with_columns(pl.col(_PLACE).cast(pl.Int64))
    return rows.select(items.columns).join(placed, on=items.columns, how="left", maintain_order="left")[_PLACE]


def _fields(sets: pl.Series) -> Iterator[tuple[str, npt.NDArray[np.bool_]]]:
    """Yield the trials, sorted by name, each with the rows that stand for it."""
    frame = sets.struct.unnest()
    return ((name, frame[name].to_numpy()) for name in sorted(frame.columns))
