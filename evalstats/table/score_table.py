"""One table for every question: the scores of one metric, items x systems, as counts and sums over trials.

`ScoreTable.of` is the only road from rows to it. Comparisons are tables of two systems, boards of many; a pilot, a split or a
factor is a part of the items. Nothing behind it asks where the rows came from.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Self

import numpy as np
import polars as pl

from evalstats.errors import InputError, NothingSharedError, Option
from evalstats.record import record
from evalstats.schema.tables import is_constant
from evalstats.stats.trials import pass_at_k, pass_hat_k
from evalstats.table.items import (
    ITEM_KEY,
    ITEM_OF_VARIANTS,
    Bools,
    Codes,
    Floats,
    Ints,
    Sums,
    each_once,
    held_once,
    item_codes,
    items_with_levels,
    level_places,
    narrowed,
    once,
    side_by_side,
    taken,
    trials_meant,
)
from evalstats.table.metric import MetricFacts, PassKind
from evalstats.table.systems import System


@record
class ScoreTable:
    """One metric of one benchmark: items x systems, arrays of shape (n_items, n_systems).

    Attributes
    ----------
    metric
        What a value is: the metric itself, or pass^k or pass@k of it.
    items
        One row for each item that any system saw, sorted by its key: the key (task, item, variant), the factors asked for,
        null where their level varies within an item, and under ITEM_OF_VARIANTS, where
        items have variants, the item whatever its variant.
    systems
        Whose columns they are, with the rows behind them.
    n_scored, n_lost
        Trials with a score, and trials without one: errors, unscored rows, and trials that were plainly meant and have no row.
        A cell with neither was never run. Where all cells have one number, as most often, it takes the memory of one.
    sums, squares
        Sums of scores and of their squares, in the metric's own unit. Small whole numbers take a byte each, and `squares` is None
        where no cell has more than one score; `total` and `total_sq` are the sums either way.
    places, kept
        For every row of each system the place of its item among those that the rows have, and which of these are the items here
        (None: all of them). `row_places` tells where an item of a row stands now.
    passes, steps
        Which pass^k ("hat") or pass@k ("at") is the value of an item, and the number of steps from 0 to 1 on which it lies.
    """

    metric: MetricFacts
    items: pl.DataFrame
    systems: tuple[System, ...]
    n_scored: Ints
    n_lost: Ints
    sums: Sums
    squares: Floats | None = None
    places: tuple[Codes, ...] = ()
    kept: Ints | None = None
    passes: tuple[PassKind, int] | None = None
    steps: int | None = None

    @classmethod
    def of(
        cls, systems: Sequence[System], metric: MetricFacts, *, factors: Sequence[str] = (), contrast: str = "model"
    ) -> Self:
        """Count and sum the scores of every item under every system.

        `factors` are columns whose level is wanted for every item. The column of the contrast, which tells the systems apart,
        is no part of the key. A row that holds the average of k trials counts k times.
        """
        key = [name for name in ITEM_KEY if name != contrast]
        wanted = [name for name in dict.fromkeys(factors) if name != contrast and name not in key]
        counted = [name for name in ("trial", "n_trials") if name in systems[0].rows.columns]
        # Column by column: Polars takes some names of factors for patterns.
        parts = [
            pl.DataFrame([system.rows[name] for name in dict.fromkeys((*key, *wanted, "status", "score", *counted))])
            for system in systems
        ]
        # Most often all systems answered the same items in the same order, which are then coded once.
        keys = [part[key] for part in parts]
        alike = all(keys[0].equals(other) for other in keys[1:])
        codes, first = item_codes(keys[0] if alike else pl.concat(keys), key)
        ends = np.cumsum([part.height for part in parts])
        places = (codes,) * len(parts) if alike else tuple(np.split(codes, ends[:-1]))
        cells = [_sums(part, own, len(first)) for part, own in zip(parts, places, strict=True)]
        n_scored, n_lost = (side_by_side(columns) for columns in zip(*(each[:2] for each in cells), strict=True))
        if n_scored.max(initial=0) + n_lost.max(initial=0) > 1:
            n_lost = once(trials_meant(n_scored + n_lost) - n_scored)
        squares = None
        if any(own is not None for *_, own in cells):
            squares = np.column_stack(
                [np.square(sums, dtype=np.float64) if own is None else own for *_, sums, own in cells]
            )
        items = items_with_levels(pl.concat(parts), wanted, codes, first, key=key)
        if "variant" in key and not is_constant(items["variant"]):
            own = [pl.col(name).cast(pl.String) for name in key if name != "variant"]
            items = items.with_columns(pl.concat_str(own, separator="\x1f").alias(ITEM_OF_VARIANTS))
        return cls(
            metric=metric,
            items=items,
            systems=tuple(systems),
            n_scored=n_scored,
            n_lost=n_lost,
            # A system's cells stand together.
            sums=np.stack([sums for *_, sums, _ in cells]).T,
            squares=squares,
            places=places,
        )

    @classmethod
    def of_values(
        cls, values: Floats, items: pl.DataFrame, metric: MetricFacts, systems: Sequence[System] = ()
    ) -> Self:
        """Return a table whose cells are given numbers, each of one trial; NaN where there is none."""
        known = ~np.isnan(values)
        n_scored, total = known.astype(np.int64), np.where(known, values, 0.0)
        return cls(
            metric=metric,
            items=items,
            systems=tuple(systems),
            n_scored=n_scored,
            n_lost=np.zeros_like(n_scored),
            sums=total,
        )

    def __len__(self) -> int:
        return self.items.height

    @property
    def total(self) -> Floats:
        """Sums of scores, in the metric's own unit."""
        return self.sums.astype(np.float64, copy=False)

    @property
    def total_sq(self) -> Floats:
        """Sums of the squares of scores, in the square of the metric's own unit."""
        return self.total**2 if self.squares is None else self.squares

    # --- what is asked of its cells ---

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the systems, in the order of the columns."""
        return tuple(system.name for system in self.systems)

    @property
    def runs(self) -> tuple[str, ...]:
        """Runs behind all systems."""
        return tuple(sorted({run for system in self.systems for run in system.runs}))

    @property
    def scored(self) -> Bools:
        """Cells with a value: at least one scored trial, or k of them for pass^k."""
        least = 1 if self.passes is None else self.passes[1]
        return np.broadcast_to(each_once(self.n_scored) >= least, self.n_scored.shape)

    @property
    def seen(self) -> Bools:
        """Cells with a trial of any ending."""
        return np.broadcast_to(each_once(self.n_scored) + each_once(self.n_lost) > 0, self.n_scored.shape)

    def paired(self, *columns: int) -> Bools:
        """Items with a value in each of these columns, by default in all; shape (n_items,)."""
        scored, found = self.scored, np.ones(len(self.n_scored), dtype=np.bool_)
        for place in columns or range(scored.shape[1]):  # numpy is slow along a short axis
            found &= scored[:, place]
        return found

    def values(self) -> Floats:
        """Value of every cell: the mean over its scored trials, or its unbiased pass^k or pass@k; NaN where there is none."""
        return self._means(self.n_scored, self.total)

    def column(self, place: int) -> Floats:
        """Values of one system, shape (n_items,), in one piece: numpy adds up a column of a table in another order."""
        return self._means(self.n_scored[:, place], self.sums[:, place])

    def merged(self) -> tuple[Floats, Ints] | None:
        """Return the values that items have, each combination once, and how many items have it; None where that is not few.

        Of whole numbers alone, one in each cell: what is added up of them is then the same to the last bit.
        """
        if self.passes is not None or held_once(self.n_scored) != 1 or self.sums.dtype != np.int8:
            return None
        low = self.sums.min(axis=0, initial=127).astype(np.int64)
        wide = (self.sums.max(axis=0, initial=-128) - low + 1).tolist()
        if math.prod(wide) > len(self):
            return None
        codes = np.zeros(len(self), dtype=np.int64)
        for column, least, width in zip(self.sums.T, low, wide, strict=True):
            codes *= width
            codes += column - least
        times = np.bincount(codes)
        first = np.empty(len(times), dtype=np.int64)
        first[codes] = np.arange(len(self))
        return self.sums[first[times > 0]].astype(np.float64), times[times > 0]

    def _means(self, n_scored: Ints, sums: Sums) -> Floats:
        total = sums.astype(np.float64, copy=False)
        if self.passes is not None:
            return _passed(n_scored, np.rint(total), self.passes)
        if held_once(n_scored) == 1:
            values = total.view()
            values.flags.writeable = False  # they are the table's own
            return values
        with np.errstate(invalid="ignore"):
            return total / n_scored

    def n_trials(self, *columns: int) -> int:
        """Scored trials behind the values of these columns, by default of all."""
        at = list(columns) or slice(None)
        counted = np.where(each_once(self.scored), each_once(self.n_scored), 0)
        return int(np.broadcast_to(counted, self.n_scored.shape)[:, at].sum())

    def lost_shares(self) -> Floats:
        """Share of every cell's scores that is missing: 1 where there is no value, by its trials elsewhere.

        Of a pass^k that rests on some of the trials that were meant, half.
        """
        have, meant = map(each_once, self.counts())
        shares = np.divide(meant - have, meant, out=np.ones(meant.shape), where=meant > 0)
        return np.broadcast_to(shares, self.n_scored.shape)

    @property
    def incomplete(self) -> bool:
        """Whether any score that could have been there is not."""
        have, meant = map(each_once, self.counts())
        return bool((have != meant).any()) or not meant.all()

    def counts(self) -> tuple[Ints, Ints]:
        """Return how many scores every cell has, and how many were meant: of a pass^k one, but of pass^1, a mean, its trials."""
        if self.passes is None or self.passes[1] == 1:
            return self.n_scored, np.broadcast_to(
                each_once(self.n_scored) + each_once(self.n_lost), self.n_scored.shape
            )
        scored = self.scored
        return scored.astype(np.int64), self.seen.astype(np.int64) + (scored & (self.n_lost > 0))

    def filled(self, score: float, *columns: int) -> Floats:
        """Value of the cells of these columns, by default of all, if all that is missing had scored so.

        Of a pass^k, if it had failed (0 or less) or succeeded. A cell that was never run counts as many trials as the
        fullest has.
        """
        at = list(columns) or slice(None)
        n_scored, n_lost = self.n_scored[:, at], self.n_lost[:, at]
        total, n = self.sums[:, at].astype(np.float64), n_scored + n_lost
        if self.passes is not None:
            successes = np.rint(total) + (n_lost if score > 0 else 0)
            found = _passed(n, successes.astype(np.float64), self.passes)
            return np.where(np.isnan(found), float(score > 0), found)
        n = np.where(n == 0, max(1, int((self.n_scored + self.n_lost).max(initial=0))), n)
        return (total + (n - n_scored) * score) / n

    # --- parts of it ---

    def take(self, items: Bools | Ints | slice) -> Self:
        """Keep some of the items: a truth value for each, places, or a stretch of them."""
        if not isinstance(items, slice) and items.dtype == np.bool_:
            if items.all():
                return self
            items = np.flatnonzero(items)
        places = np.arange(len(self))[items] if isinstance(items, slice) else items
        return replace(
            self,
            items=self.items[items],
            n_scored=taken(self.n_scored, items),
            n_lost=taken(self.n_lost, items),
            sums=self.sums[items],
            squares=None if self.squares is None else self.squares[items],
            kept=places if self.kept is None else self.kept[places],
        )

    def select(self, *columns: int) -> Self:
        """Keep some of the systems, in this order."""
        at = list(columns)
        if at == list(range(len(self.sums.T))):
            return self
        return replace(
            self,
            systems=tuple(self.systems[j] for j in at) if self.systems else (),
            # As rows of the transpose they are copied ten times as fast.
            n_scored=taken(self.n_scored.T, at).T,
            n_lost=taken(self.n_lost.T, at).T,
            sums=self.sums.T[at].T,
            squares=None if self.squares is None else self.squares.T[at].T,
            places=tuple(self.places[j] for j in at) if self.places else (),
        )

    def row_places(self, column: int) -> Codes:
        """Return for every row of a system the place of its item in this table; -1 where it is none of these."""
        if self.kept is None:
            return self.places[column]
        codes = self.places[column]
        found = np.full(1 + max(int(each.max(initial=-1)) for each in (codes, self.kept)), -1, dtype=np.int32)
        found[self.kept] = np.arange(len(self.kept), dtype=np.int32)
        return found[codes]

    def levels(self, factor: str) -> Iterator[tuple[str, Self]]:
        """Yield each level of a factor by name with its items; items without a level are in none."""
        found = [(name, places) for name, places in level_places(self.items[factor]) if name is not None]
        # Sorted once, the items of every level stand together, and a stretch of a table is no copy.
        together = self.take(np.concatenate([places for _, places in found])) if found else self
        ends = np.cumsum([0, *(len(places) for _, places in found)]).tolist()
        return (
            (name, together.take(slice(start, stop)))
            for (name, _), (start, stop) in zip(found, pairwise(ends), strict=True)
        )

    def codes(self, factor: str) -> Ints:
        """Return the factor's levels as whole numbers from 0; an item without a level is a level of its own."""
        # Under a name of our own: Polars takes some names of factors for patterns.
        text = self.items[factor].cast(pl.String).alias("level")
        if not text.null_count():
            return text.rank("dense").cast(pl.Int64).to_numpy() - 1
        alone = pl.Series([f"\x00{i}" for i in range(len(text))])
        filled = pl.select(pl.when(text.is_null()).then(alone).otherwise(text)).to_series()
        return np.unique(filled.to_numpy(), return_inverse=True)[1].astype(np.int64)

    def labels(self, items: Bools, most: int = 20) -> tuple[str, ...]:
        """Readable names of some items: task/item/variant without the empty parts."""
        names, places = [name for name in ITEM_KEY if name in self.items.columns], np.flatnonzero(items)[:most]
        rows = self.items.select(names)[places].rows() if places.size else []
        return tuple("/".join(str(part) for part in row if part) for row in rows)

    def passing(self, kind: PassKind, k: int) -> Self:
        """Make pass^k ("hat") or pass@k ("at") the value of every cell; one with fewer than k scored trials has none.

        Where no value rests on more than k trials, the values are right or wrong.
        """
        metric = self.metric.passing(kind, k)
        if not np.allclose(self.total, np.rint(self.total)):
            raise InputError("pass^k and pass@k need right-or-wrong trials; some rows hold shares of several trials")
        found = replace(self, metric=metric, passes=(kind, k))
        scored, paired = found.scored, found.paired()
        known = self.n_scored[paired] if paired.any() else self.n_scored[scored]
        steps = math.comb(int(known.min()) if known.size else k, k)
        return replace(found, steps=steps, metric=replace(metric, kind="binary") if steps == 1 else metric)


def _sums(rows: pl.DataFrame, codes: Codes, n_items: int) -> tuple[Ints, Ints, Sums, Floats | None]:
    """Return how many trials of every item have a score and have none, and sums of scores and of their squares.

    `rows` are those of one system, `codes` their items. None for squares where no item has more than one score.
    """
    counts = None
    if "trial" in rows.columns and "n_trials" in rows.columns and rows["n_trials"].null_count() < rows.height:
        averaged = rows["trial"].is_null() & rows["n_trials"].is_not_null()
        counts = rows["n_trials"].zip_with(averaged, pl.Series([1])).cast(pl.Float64) if averaged.any() else None

    def of_trials(values: pl.Series) -> Floats:
        numbers = values.cast(pl.Float64).fill_null(0.0)
        return (numbers if counts is None else numbers * counts).to_numpy()

    def summed(values: Floats, order: Ints | slice = slice(None)) -> Floats:
        return np.asarray(np.bincount(codes[order], weights=values[order], minlength=n_items), dtype=np.float64)

    def counted(ended: pl.Series) -> Ints:
        if counts is None and ended.all():
            return once(np.bincount(codes, minlength=n_items))
        return once(summed(of_trials(ended)).astype(np.int64))

    is_scored = rows["status"] == "scored"
    n_scored, n_lost = counted(is_scored), once(np.zeros(n_items, dtype=np.int64))
    if not is_scored.all():
        n_lost = counted(rows["status"].is_in(["error", "unscored"]))
    scores, most = of_trials(rows["score"]), n_scored.max(initial=0)
    # A sum of three numbers depends on their order, which must not be that of the rows.
    order = np.lexsort((scores, codes)) if most > 2 else slice(None)
    squares = summed(of_trials(rows["score"] * rows["score"]), order) if most > 1 else None
    return n_scored, n_lost, narrowed(summed(scores, order)), squares


def _passed(trials: Ints, successes: Floats, passes: tuple[PassKind, int]) -> Floats:
    """Return pass^k or pass@k of every cell; NaN where it has fewer than k trials."""
    kind, k = passes
    of = pass_hat_k if kind == "hat" else pass_at_k
    enough, values = trials >= k, np.full(trials.shape, np.nan)
    if enough.any():
        values[enough] = of(trials[enough], successes[enough].astype(np.int64), k)
    return values


# Above this share of some side's scores, a claim has to hold with all that is missing at its worst.
MOST_MISSING, _ROUNDING = 0.05, 1e-9


def too_much_missing(*shares: float) -> bool:
    """Whether so much of some side's scores is missing that a claim has to hold with all of it at its worst: above 5%.

    >>> too_much_missing(0.0, 1 / 3 * 0.15), too_much_missing(0.0, 0.051)
    (False, True)
    """
    return max(shares) > MOST_MISSING + _ROUNDING


def refuse_unpaired(table: ScoreTable) -> None:
    """Refuse a table without an item that every system has; of two whose ids are nearly alike, say so."""
    if table.paired().any():
        return
    present = [table.items.filter(pl.Series(seen)) for seen in table.seen.T]
    sides = [
        f"{name!r} scored {int(scored.sum()):,}{''.join(f' (such as {label!r})' for label in table.labels(scored, 1))}"
        for name, scored in zip(table.names, table.scored.T, strict=True)
    ]
    both = int(table.seen.all(axis=1).sum())
    key = [name for name in ITEM_KEY if name in table.items.columns]
    alike = ids_nearly_alike(present[0].select(key), present[1].select(key))
    unpaired = f"; if they are different users or items, say so: {Option('paired', value=False)}"
    remedy = f"; {alike}" if alike else unpaired if table.scored.any(axis=0).all() else ""
    raise NothingSharedError(
        f"there is no item that both sides scored: {', '.join(sides)}"
        f"{f'; {both:,} are on both sides, without a score on one' if both else ''}{remedy}"
    )


def ids_nearly_alike(first: pl.DataFrame, second: pl.DataFrame) -> str:
    """Say how many items of one side are the other's but for blanks or capitals in their ids; "" where none is.

    >>> ids_nearly_alike(pl.DataFrame({"item": ["q1", "q2"]}), pl.DataFrame({"item": ["q1", " Q2"]}))
    "1 item differs in blanks or capitals of its id only ('q2' and ' Q2'): write the ids alike"
    """
    key = first.columns
    plain = pl.col("item").cast(pl.String).str.strip_chars().str.replace_all(r"\s+", " ").str.to_lowercase()
    alone = [
        # Of ids that come to the same, one stands for all: every one beside every other could fill the memory.
        own.join(other, on=key, how="anti", nulls_equal=True).with_columns(id="item", item=plain).unique(key)
        for own, other in ((first, second), (second, first))
    ]
    same = alone[0].join(alone[1], on=key, how="inner", nulls_equal=True).sort("id", "id_right")
    if not same.height:
        return ""
    told = "1 item differs" if same.height == 1 else f"{same.height:,} items differ"
    its = "its id" if same.height == 1 else "their ids"
    example = f"{same['id'][0]!r} and {same['id_right'][0]!r}"
    return f"{told} in blanks or capitals of {its} only ({example}): write the ids alike"
