"""Which trials a merged row stands for: a set of trials in each row, and from those the scores of every item by trial.

A set is a struct with a boolean for each trial, named as the trial is. So the trials of rows that were merged are known exactly,
at a bit for each, and what differs between whole runs is estimated from them as from single rows.
"""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import numpy.typing as npt
import polars as pl

from evalstats.table.items import FIRST_TRIAL, HELPER, Floats

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
        raise ValueError("the rows do not tell their trials")
    return sets


def _places(rows: pl.DataFrame, items: pl.DataFrame) -> pl.Series:
    """Return where among `items` the item of every row stands; null where it does not."""
    placed = items.with_row_index(_PLACE).with_columns(pl.col(_PLACE).cast(pl.Int64))
    return rows.select(items.columns).join(placed, on=items.columns, how="left", maintain_order="left")[_PLACE]


def _fields(sets: pl.Series) -> Iterator[tuple[str, npt.NDArray[np.bool_]]]:
    """Yield the trials, sorted by name, each with the rows that stand for it."""
    frame = sets.struct.unnest()
    return ((name, frame[name].to_numpy()) for name in sorted(frame.columns))
