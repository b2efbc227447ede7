"""Two arms brought together item by item, with what could not be paired in view; pass^k of their trials."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from evalstats.analysis.design.metric import Metric
from evalstats.errors import CannotAnswerError, InputError, NothingSharedError
from evalstats.grammar import plural
from evalstats.stats.trials import (
    pass_at_k,
    pass_hat_k,
)
from evalstats.table.items import HELPER, ITEM_KEY, ScoreMatrix, score_matrix
from evalstats.table.systems import System

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
_ARM = f"{HELPER}arm"
MOST_MISSING, _ROUNDING = 0.05, 1e-9


def too_much_missing(*shares: float) -> bool:
    """Whether so much of some side's scores is missing that a claim has to hold with all of it at its worst: above 5%.

    >>> too_much_missing(0.0, 1 / 3 * 0.15), too_much_missing(0.0, 0.051)
    (False, True)
    """
    return max(shares) > MOST_MISSING + _ROUNDING


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One arm's counts and sums over all items of the union; shape (n_items,) each.

    `present` counts rows of any status, and trials that were plainly meant and have no row; an item the arm never saw has
    `present` 0. Where an item's trials have become one
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
        return self if keep.all() else self.taken(np.flatnonzero(keep))

    def taken(self, places: Ints) -> "Pairs":
        """Keep the items of these places."""

        def cut(side: Side) -> Side:
            trials = None if side.trials is None else side.trials[places]
            return replace(
                side,
                n_scored=side.n_scored[places],
                present=side.present[places],
                total=side.total[places],
                trials=trials,
                lowest=None if side.lowest is None else side.lowest[places],
                highest=None if side.highest is None else side.highest[places],
            )

        return replace(self, items=self.items[places], baseline=cut(self.baseline), candidate=cut(self.candidate))

    def codes(self, factor: str) -> Ints:
        """Return the factor's levels as whole numbers from 0; an item without a level is a level of its own."""
        # Under a name of our own: Polars takes some names of factors for patterns.
        text = self.items[factor].cast(pl.String).alias("level")
        if not text.null_count():
            return text.rank("dense").cast(pl.Int64).to_numpy() - 1
        alone = pl.Series([f"\x00{i}" for i in range(len(text))])
        filled = pl.select(pl.when(text.is_null()).then(alone).otherwise(text)).to_series()
        return np.unique(filled.to_numpy(), return_inverse=True)[1].astype(np.int64)


def pair_items(baseline: System, candidate: System, *, factors: Sequence[str], contrast: str) -> Pairs:
    """Join two arms of one metric on (task, item, variant), with the level of the factors wanted for every item.

    The column of the contrast, which names the arms, cannot be part of the key.
    """
    key = [name for name in ITEM_KEY if name != contrast]
    factors = [name for name in factors if name != contrast and name not in key]
    counted = [name for name in ("trial", "n_trials") if name in baseline.rows.columns]
    needed = (*key, *factors, "status", "score", *counted)
    rows = [
        pl.DataFrame([arm.rows[name] for name in needed]).with_columns(pl.lit(label).alias(_ARM))
        for label, arm in (("a", baseline), ("b", candidate))
    ]
    matrix = score_matrix(pl.concat(rows), arm=_ARM, models=("a", "b"), factors=factors, key=key).with_absent_trials()
    pairs = Pairs(items=matrix.items, baseline=_side(matrix, 0), candidate=_side(matrix, 1))
    if not pairs.paired.any():
        raise NothingSharedError(_nothing_shared(pairs, baseline.name, candidate.name))
    return pairs


def _side(matrix: ScoreMatrix, place: int) -> Side:
    # Copies in one piece: numpy sums a column of a table in another order.
    scored, lost = matrix.n_scored[:, place].copy(), matrix.n_lost[:, place]
    return Side(n_scored=scored, present=scored + lost, total=matrix.total[:, place].copy())


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
    present = [pairs.items.filter(pl.Series(side.present > 0)) for side in (pairs.baseline, pairs.candidate)]
    both = int(((pairs.baseline.present > 0) & (pairs.candidate.present > 0)).sum())
    alike = ids_nearly_alike(*(items.select(name for name in ITEM_KEY if name in items.columns) for items in present))
    return "; ".join(
        [
            f"there is no item that both sides scored: {'; '.join(sides)}",
            f"{plural(both, 'item')} stand on both sides",
            *([alike] if alike else []),
        ]
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


def _example(pairs: Pairs, side: Side) -> str:
    names = item_labels(pairs, side.present > 0, 1)
    return f" (such as {names[0]!r})" if names else ""


PassKind = Literal["hat", "at"]
_NAMED = 3


def wanted_pass(pass_hat: int | None, pass_at: int | None) -> tuple[PassKind, int] | None:
    """Return which of the two is asked for, with its k; None where neither is."""
    if pass_hat is not None and pass_at is not None:
        raise InputError(
            "pass_hat (all of k trials succeed) and pass_at (any of k succeeds) are two questions; ask one"
        )
    k = pass_hat if pass_hat is not None else pass_at
    if k is None:
        return None
    name = "pass_hat" if pass_hat is not None else "pass_at"
    if isinstance(k, bool) or not isinstance(k, int) or k < 1:  # pyright: ignore[reportUnnecessaryIsInstance] - a user's value
        raise InputError(f"{name} is {k!r}; it is a number of trials, a whole number from 1")
    return ("hat" if pass_hat is not None else "at"), k


def pass_metric(metric: Metric, kind: PassKind, k: int) -> Metric:
    """Return the metric whose score of an item is pass^k or pass@k of it."""
    if metric.kind not in ("binary", "proportion") or not metric.higher_is_better:
        raise InputError(
            f"pass^k and pass@k count trials that succeed, and {metric.name!r} is "
            f"{metric.kind if metric.higher_is_better else 'better when lower'}; they need a right-or-wrong metric"
        )
    name = f"{metric.name} pass{'^' if kind == 'hat' else '@'}{k}"
    return replace(metric, name=name, kind="proportion")


def passing(pairs: Pairs, kind: PassKind, k: int) -> tuple[Pairs, tuple[str, ...]]:
    """Replace every item's trials by one value, its unbiased pass^k or pass@k, and note which items are left out.

    An item with fewer than k scored trials on a side has no value there and counts as missing. Where every item has k trials
    and no more, the value is right or wrong.
    """
    sides = (pairs.baseline, pairs.candidate)
    enough = [side.n_scored >= k for side in sides]
    most = max(int(side.n_scored.max(initial=0)) for side in sides)
    both = enough[0] & enough[1]
    if not both.any():
        raise CannotAnswerError(
            f"no item has {plural(k, 'scored trial')} on both sides; the most that any has is {most}"
        )
    first, second = (_passed(side, kind, k, has) for side, has in zip(sides, enough, strict=True))
    left_out = pairs.paired & ~both
    notes: tuple[str, ...] = ()
    if left_out.any():
        names = ", ".join(item_labels(pairs, left_out, _NAMED))
        more = f" and {left_out.sum() - _NAMED:,} more" if left_out.sum() > _NAMED else ""
        notes = (
            f"{plural(int(left_out.sum()), 'item')} with fewer than {k} scored trials on a side are left out: {names}{more}",
        )
    trials = min(int(side.n_scored[both].min()) for side in sides)
    return replace(pairs, baseline=first, candidate=second, steps=math.comb(trials, k)), notes


def _passed(side: Side, kind: PassKind, k: int, enough: Bools) -> Side:
    rounded = np.rint(side.total)
    if not np.allclose(side.total, rounded):
        raise InputError("pass^k and pass@k need right-or-wrong trials; some rows hold shares of several trials")
    successes: Ints = rounded.astype(np.int64)
    of = pass_hat_k if kind == "hat" else pass_at_k
    value = np.zeros(len(side.total))
    if enough.any():
        value[enough] = of(side.n_scored[enough], successes[enough], k)
    all_trials = np.maximum(side.present, side.n_scored)
    lost = all_trials - side.n_scored
    lowest, highest = np.zeros(len(value)), np.ones(len(value))
    known = all_trials >= k
    if known.any():
        lowest[known] = of(all_trials[known], successes[known], k)
        highest[known] = of(all_trials[known], (successes + lost)[known], k)
    return Side(
        n_scored=enough.astype(np.int64),
        present=(side.present > 0).astype(np.int64) + ((lost > 0) & enough).astype(np.int64),
        total=value,
        lowest=lowest,
        highest=highest,
        trials=np.where(enough, side.n_scored, 0),
    )
