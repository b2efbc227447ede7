"""Two arms brought together item by item, with what could not be paired kept in view."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import polars as pl

from evalstats.aggregate.items import HELPER, ITEM_KEY, constant_factors, item_sums
from evalstats.analysis.arms import Arm
from evalstats.document.numbers import plural
from evalstats.errors import CannotAnswerError

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
_ARM = f"{HELPER}arm"


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One arm's counts and sums over all items of the union; shape (n_items,) each.

    `present` counts rows of any status; an item the arm never saw has `present` 0. Where an item's trials have become one
    value (pass^k), that value counts as one, `trials` keeps how many scored trials stand behind it, and `lowest` and `highest`
    what the value would be if every trial without a score had failed, or succeeded.
    """

    n_scored: Ints
    present: Ints
    total: Floats
    trials: Ints | None = None
    lowest: Floats | None = None
    highest: Floats | None = None

    @property
    def n_trials(self) -> int:
        """Scored trials behind all values."""
        return int((self.n_scored if self.trials is None else self.trials).sum())

    def means(self) -> Floats:
        """Mean score per item; NaN where nothing is scored."""
        return np.divide(self.total, self.n_scored, out=np.full(len(self.total), np.nan), where=self.n_scored > 0)

    def filled(self, value: float, expected: int) -> Floats:
        """Mean score per item when every missing trial had scored `value` (`expected` trials where the item is absent)."""
        if self.lowest is not None and self.highest is not None:
            return self.lowest if value <= 0 else self.highest
        n = np.maximum(self.present, np.where(self.present == 0, expected, 0))
        return (self.total + (n - self.n_scored) * value) / np.maximum(n, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairs:
    """All items of either arm, sorted by key; `items` holds the key and the factors that are constant within items.

    `steps`, where it is given, is the number of steps from 0 to 1 on which an item's value lies when that is not its
    number of trials.
    """

    items: pl.DataFrame
    baseline: Side
    candidate: Side
    steps: int | None = None

    @property
    def paired(self) -> Bools:
        """Items with at least one score on both sides."""
        return (self.baseline.n_scored > 0) & (self.candidate.n_scored > 0)

    @property
    def only_baseline(self) -> Bools:
        """Items scored in the baseline alone."""
        return (self.baseline.n_scored > 0) & (self.candidate.n_scored == 0)

    @property
    def only_candidate(self) -> Bools:
        """Items scored in the candidate alone."""
        return (self.candidate.n_scored > 0) & (self.baseline.n_scored == 0)

    def incomplete(self) -> bool:
        """Whether any score that could have been there is not."""
        sides = (self.baseline, self.candidate)
        return not bool(self.paired.all()) or any(bool((side.n_scored < side.present).any()) for side in sides)

    def subset(self, keep: Bools) -> "Pairs":
        """Keep some of the items."""

        def cut(side: Side) -> Side:
            trials = None if side.trials is None else side.trials[keep]
            return replace(
                side,
                n_scored=side.n_scored[keep],
                present=side.present[keep],
                total=side.total[keep],
                trials=trials,
                lowest=None if side.lowest is None else side.lowest[keep],
                highest=None if side.highest is None else side.highest[keep],
            )

        return replace(
            self,
            items=self.items.filter(pl.Series(keep)),
            baseline=cut(self.baseline),
            candidate=cut(self.candidate),
        )

    def codes(self, factor: str) -> Ints:
        """Return the factor's levels as whole numbers from 0; an item without a level is a level of its own."""
        # Under a name of our own: Polars takes some names of factors for patterns.
        text = self.items[factor].cast(pl.String).alias("level")
        alone = pl.Series([f"\x00{i}" for i in range(len(text))])
        filled = pl.select(pl.when(text.is_null()).then(alone).otherwise(text)).to_series()
        return np.unique(filled.to_numpy(), return_inverse=True)[1].astype(np.int64)


def pair_items(baseline: Arm, candidate: Arm, *, factors: Sequence[str], contrast: str) -> Pairs:
    """Join two arms on (task, item, variant).

    Parameters
    ----------
    baseline, candidate
        Rows of one metric.
    factors
        Columns whose level is wanted for every item.
    contrast
        The column that names the arms; it cannot be part of the key.

    Raises
    ------
    CannotAnswerError
        If no item was scored on both sides.
    """
    key = [name for name in ITEM_KEY if name != contrast]
    labelled = pl.concat(
        [arm.rows.with_columns(pl.lit(label).alias(_ARM)) for label, arm in (("a", baseline), ("b", candidate))],
        how="vertical",
    )
    sums = item_sums(labelled, arm=_ARM, key=key)
    items = constant_factors(labelled, [name for name in factors if name != contrast], key=key)
    pairs = Pairs(items=items, baseline=_side(sums, items, key, "a"), candidate=_side(sums, items, key, "b"))
    if not pairs.paired.any():
        raise CannotAnswerError(_nothing_shared(pairs, baseline.name, candidate.name))
    return pairs


def _side(sums: pl.DataFrame, items: pl.DataFrame, key: list[str], label: str) -> Side:
    own = items.select(key).join(sums.filter(pl.col(_ARM) == label), on=key, how="left", maintain_order="left")
    own = own.with_columns(pl.col("n_scored", "n_error", "n_unscored").fill_null(0), pl.col("total").fill_null(0.0))
    scored = own["n_scored"].to_numpy().astype(np.int64)
    lost = (own["n_error"] + own["n_unscored"]).to_numpy().astype(np.int64)
    return Side(n_scored=scored, present=scored + lost, total=own["total"].to_numpy().astype(np.float64))


def item_labels(pairs: Pairs, keep: Bools, limit: int = 20) -> tuple[str, ...]:
    """Readable names of some items: task/item/variant without the empty parts."""
    names = [name for name in ITEM_KEY if name in pairs.items.columns]
    rows = pairs.items.select(names).filter(pl.Series(keep)).head(limit).rows()
    return tuple("/".join(str(part) for part in row if part) for row in rows)


def _nothing_shared(pairs: Pairs, first: str, second: str) -> str:
    sides = [
        f"{name!r} has {plural(int((side.present > 0).sum()), 'item')}, {int((side.n_scored > 0).sum())} of them scored"
        f"{_example(pairs, side)}"
        for name, side in ((first, pairs.baseline), (second, pairs.candidate))
    ]
    both = int(((pairs.baseline.present > 0) & (pairs.candidate.present > 0)).sum())
    return f"there is no item that both sides scored: {'; '.join(sides)}; {plural(both, 'item')} stand on both sides"


def _example(pairs: Pairs, side: Side) -> str:
    names = item_labels(pairs, side.present > 0, 1)
    return f" (such as {names[0]!r})" if names else ""
