"""Outcome rows reduced to counts and sums, one row for every arm x item, and from those to items x models."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt
import polars as pl

from evalstats.errors import InputError
from evalstats.schema.columns import HELPER
from evalstats.schema.tables import as_polars, is_constant

if TYPE_CHECKING:
    import narwhals as nw

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


def item_sums(outcomes: object, *, arm: str, key: Sequence[str] = ITEM_KEY) -> pl.DataFrame:
    """Count and sum the scores of every (arm, item), in rows of one metric of one benchmark.

    `outcomes` is any frame that narwhals knows, lazy or not; `arm` names what is compared, `key` an item. Returned are `arm`,
    the key, `n_scored` (trials with a score), `n_error`, `n_unscored`, `total` (sum of scores over trials) and `total_sq` (sum
    of their squares), sorted, so that the order of the rows given has no effect. A row that holds the average of k trials
    (`trial` null, `n_trials` k) counts k times.
    """
    import narwhals as nw

    group = [arm, *[name for name in key if name != arm]]
    frame = _native(outcomes)
    trials = _trials(frame)
    parts = {
        "n_scored": (nw.col("status") == "scored").cast(nw.Int64) * trials,
        "n_error": (nw.col("status") == "error").cast(nw.Int64) * trials,
        "n_unscored": (nw.col("status") == "unscored").cast(nw.Int64) * trials,
        "total": nw.col("score") * trials,
        "total_sq": nw.col("score") * nw.col("score") * trials,
    }
    flagged = frame.with_columns(part.alias(f"{HELPER}{name}") for name, part in parts.items())
    summed = flagged.group_by(group).agg(nw.col(f"{HELPER}{name}").sum().alias(name) for name in parts)
    return as_polars(summed.to_native()).sort(group)


def constant_factors(outcomes: object, factors: Sequence[str], *, key: Sequence[str] = ITEM_KEY) -> pl.DataFrame:
    """Return the level of every factor for every item, as text; null where it varies within the item or is absent."""
    if isinstance(outcomes, pl.DataFrame):
        return items_with_levels(outcomes, factors, *item_codes(outcomes, key), key=key)
    wanted = [name for name in factors if name not in key]
    if not wanted:
        return as_polars(_native(outcomes).select(list(key)).unique().to_native()).sort(list(key))
    import narwhals as nw

    # Under names of our own: Polars takes a column called "*" or "^a$" for a pattern, whatever is asked of it.
    safe = {name: f"{HELPER}{place}" for place, name in enumerate(wanted)}
    text = _native(outcomes).rename(safe).with_columns(nw.col(own).cast(nw.String) for own in safe.values())
    ends = text.group_by(list(key)).agg(
        *[nw.col(own).min().alias(f"{own} low") for own in safe.values()],
        *[nw.col(own).max().alias(f"{own} high") for own in safe.values()],
    )
    collected = as_polars(ends.to_native()).sort(list(key))
    levels = [
        pl.when(pl.col(f"{own} low") == pl.col(f"{own} high")).then(pl.col(f"{own} low")).alias(name)
        for name, own in safe.items()
    ]
    return collected.select(*key, *levels)


def _trials(frame: "nw.LazyFrame[Any]") -> "nw.Expr":
    """How many trials a row stands for: `n_trials` where it is an average over trials, else one."""
    import narwhals as nw

    one = nw.lit(1, nw.Int64)
    if not {"trial", "n_trials"} <= set(frame.collect_schema().names()):
        return one
    averaged = nw.col("trial").is_null() & ~nw.col("n_trials").is_null()
    return nw.when(averaged).then(nw.col("n_trials").cast(nw.Int64)).otherwise(one)


def _native(frame: object) -> "nw.LazyFrame[Any]":
    import narwhals as nw

    known = frame if not isinstance(frame, dict) else as_polars(cast("object", frame))
    return nw.from_native(cast("Any", known)).lazy()


_ROW, _COLUMN = f"{HELPER}row", f"{HELPER}column"


_USUAL, _NEARLY_ALL = 0.5, 0.9


def trials_meant(present: Ints) -> Ints:
    """Return how many trials each cell was meant to have, shape (n_items, n_models), given how many rows it has.

    A harness that writes no row for a trial that timed out leaves failures out. As many were meant as a model has at most, where
    most of its items have that many, or nearly all items of another model do; elsewhere, as many as there are. Where models lack
    the same number on nearly all items that lack any, those items were meant to have fewer.

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


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreMatrix:
    """Counts and sums of the scores of every item under every model: arrays of shape (n_items, n_models).

    `items` has one row for each item that any model saw, sorted by key: the key and the factors that are constant within items.
    `n_scored` (int64) are trials with a score, `n_lost` those without one: harness errors and unscored rows. A cell with
    neither was never run. `total` (float64) is the sum of the scores, in the metric's own unit.
    """

    items: pl.DataFrame
    models: tuple[str, ...]
    n_scored: Ints
    n_lost: Ints
    total: Floats

    @property
    def scored(self) -> Bools:
        """Cells with at least one score."""
        return self.n_scored > 0

    def means(self) -> Floats:
        """Mean score of every cell; NaN where nothing is scored."""
        return np.divide(self.total, self.n_scored, out=np.full(self.total.shape, np.nan), where=self.n_scored > 0)

    def with_absent_trials(self) -> "ScoreMatrix":
        """Count among the lost ones trials that were plainly meant and have no row."""
        return replace(self, n_lost=trials_meant(self.n_scored + self.n_lost) - self.n_scored)

    def subset(self, keep: Bools) -> "ScoreMatrix":
        """Keep some of the items."""
        return replace(
            self,
            items=self.items.filter(pl.Series(keep)),
            n_scored=self.n_scored[keep],
            n_lost=self.n_lost[keep],
            total=self.total[keep],
        )

    def ordered(self, order: Sequence[int]) -> "ScoreMatrix":
        """Put the models in another order, or keep some of them."""
        columns = list(order)
        return replace(
            self,
            models=tuple(self.models[j] for j in columns),
            n_scored=self.n_scored[:, columns],
            n_lost=self.n_lost[:, columns],
            total=self.total[:, columns],
        )


def score_matrix(
    outcomes: object,
    *,
    arm: str,
    models: Sequence[str],
    factors: Sequence[str] = (),
    key: Sequence[str] = ITEM_KEY,
) -> ScoreMatrix:
    """Count and sum the scores of every item under every model, in rows of one metric of one benchmark.

    `models` are levels of `arm`, in the order wanted for the columns; rows of other levels are an error. `factors` are columns
    whose level is wanted for every item, `key` those that name an item.
    """
    if len(set(models)) < len(models):
        raise InputError(f"the {len(models)} models are not all different; name each once")
    if isinstance(outcomes, pl.DataFrame):
        return _matrix_of_rows(outcomes, factors, arm=arm, models=models, key=key)
    items = constant_factors(outcomes, factors, key=key)
    rows = items.select(key).with_row_index(_ROW)
    columns = pl.DataFrame({arm: list(models), _COLUMN: range(len(models))}, schema_overrides={arm: pl.String})
    sums = item_sums(outcomes, arm=arm, key=key).with_columns(pl.col(arm).cast(pl.String))
    placed = sums.join(rows, on=list(key)).join(columns, on=arm, how="left")
    _refuse_unknown_models(placed, arm, len(models))
    cells = (placed[_ROW].to_numpy(), placed[_COLUMN].to_numpy())

    def filled(values: pl.Series) -> npt.NDArray[np.int64 | np.float64]:
        table = np.zeros((items.height, len(models)), dtype=np.float64 if values.dtype.is_float() else np.int64)
        table[cells] = values.to_numpy()
        return table

    return ScoreMatrix(
        items=items,
        models=tuple(models),
        n_scored=filled(placed["n_scored"]).astype(np.int64),
        n_lost=filled(placed["n_error"] + placed["n_unscored"]).astype(np.int64),
        total=filled(placed["total"].cast(pl.Float64).fill_null(0.0)).astype(np.float64),
    )


def _refuse_unknown_models(placed: pl.DataFrame, arm: str, n_models: int) -> None:
    unknown = placed.filter(pl.col(_COLUMN).is_null())[arm].cast(pl.String).unique().sort().to_list()
    if unknown:
        raise InputError(f"column {arm!r} holds {unknown[0]!r}, which is none of the {n_models} models asked for")


def _matrix_of_rows(
    outcomes: pl.DataFrame, factors: Sequence[str], *, arm: str, models: Sequence[str], key: Sequence[str]
) -> ScoreMatrix:
    """Add every row of a held table to its cell, which a group of its own for each of millions of cells would take long for."""
    codes, first = item_codes(outcomes, key)
    names, own = level_codes(outcomes[arm])
    column = names.replace_strict(list(models), range(len(models)), default=None, return_dtype=pl.Int64)
    known = pl.DataFrame({arm: names, _COLUMN: column})
    _refuse_unknown_models(known if own.min(initial=0) >= 0 else known.vstack(known.clear(1)), arm, len(models))
    cell = codes * np.int64(len(models)) + column.to_numpy()[own]
    counts = None
    if {"trial", "n_trials"} <= set(outcomes.columns):
        averaged = outcomes["trial"].is_null() & outcomes["n_trials"].is_not_null()
        counts = outcomes["n_trials"].zip_with(averaged, pl.Series([1])).cast(pl.Int64) if averaged.any() else None
    status = outcomes["status"]

    def weighed(values: pl.Series) -> Floats:
        of_rows = values.cast(pl.Float64).fill_null(0.0)
        return (of_rows if counts is None else of_rows * counts).to_numpy()

    def summed(weights: Floats, rows: Ints | None = None) -> Floats:
        own, weights = (cell, weights) if rows is None else (cell[rows], weights[rows])
        total = np.bincount(own, weights=weights, minlength=len(first) * len(models))
        return total.astype(np.float64).reshape(len(first), len(models))

    lost = status.is_in(["error", "unscored"])
    scored = summed(weighed(status == "scored")).astype(np.int64)
    scores = weighed(outcomes["score"])
    # A sum of three numbers depends on their order, which must not be that of the rows.
    order = np.lexsort((scores, cell)) if scored.max(initial=0) > 2 else None
    return ScoreMatrix(
        items=items_with_levels(outcomes, factors, codes, first, key=key),
        models=tuple(models),
        n_scored=scored,
        n_lost=summed(weighed(lost)).astype(np.int64) if lost.any() else np.zeros_like(scored),
        total=summed(scores, order),
    )


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
