"""Two arms brought together item by item, with what could not be paired in view; their trials (pass^k, shared ones) and runs."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from evalstats.aggregate.items import HELPER, ITEM_KEY, ScoreMatrix, score_matrix
from evalstats.aggregate.trial_sets import TRIAL_LABELS, in_both, scores_by_trial, seen_trials, trial_sets
from evalstats.analysis.arms import Arm, Metric, listed
from evalstats.analysis.result import MethodRow, method_row, notes
from evalstats.document.model import Note
from evalstats.document.numbers import p_value, plural, scaled
from evalstats.errors import CannotAnswerError, InputError, NothingSharedError, Option
from evalstats.schema.columns import TRIAL_LABEL
from evalstats.stats.trials import (
    RunVariance,
    ScoreBlocks,
    pass_at_k,
    pass_hat_k,
    run_variance,
    same_items_difference,
)

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


def pair_items(baseline: Arm, candidate: Arm, *, factors: Sequence[str], contrast: str) -> Pairs:
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


# Of two shared trials nothing can be said of how the difference varies between them: pairing two is the user's to declare.
ENOUGH = 3
_UNIT, _PLACE = f"{HELPER}unit", f"{HELPER}place"


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialsOfBoth:
    """Both sides' rows, whether their trials are shared, and what the reader must know of that."""

    baseline: Arm
    candidate: Arm
    shared: bool
    notes: tuple[str, ...] = ()


def unit_of(arm: Arm) -> pl.Expr:
    """Return what names the full run that a row belongs to, as text: its run, the label of its trial, or its number."""
    if arm.by_run:
        # Runs are numbered, so that no run's name can be that of a key, and in the order of their trials.
        return pl.struct(pl.col("trial").min().over("run"), "run").rank("dense").cast(pl.String).alias(_UNIT)
    return pl.col(TRIAL_LABEL if _labelled(arm) else "trial").cast(pl.String).alias(_UNIT)


def trials_of_both(
    baseline: Arm, candidate: Arm, *, declared: bool | None, contrast: str, called: str = "trial"
) -> TrialsOfBoth:
    """Decide whether the sides share their trials; where they do, keep only scores of trials that both have, item by item.

    Trials that carry labels (a judge's name, a seed) are shared where both sides have the same three labels or more; trials
    that are merely counted are not. Pairing trials that have nothing in common costs degrees of freedom and is valid; to leave
    shared ones unpaired counts as noise what cancels (`design/trials.md`). `declared` is what the user says, `called` what the
    source calls its trials.
    """
    names = [_units(arm) for arm in (baseline, candidate)]
    same = len(names[0]) >= ENOUGH and set(names[0]) == set(names[1])
    labelled = not (baseline.by_run or candidate.by_run) and _labelled(baseline) and _labelled(candidate)
    if declared is False or (declared is None and not (same and labelled)):
        return TrialsOfBoth(baseline=baseline, candidate=candidate, shared=False)
    _refuse_strangers(baseline, candidate, names)
    key = [*(name for name in ITEM_KEY if name != contrast), _UNIT]
    if baseline.by_run:
        key.append("trial")
    both = (baseline.rows, candidate.rows)
    if any(trial_sets(own) is None for own in both):
        both = (baseline.rows.with_columns(unit_of(baseline)), candidate.rows.with_columns(unit_of(candidate)))
        first, second = (_kept(own, other, key).drop(_UNIT) for own, other in (both, both[::-1]))
        lost = sum(own.height for own in both) - first.height - second.height
    else:
        items = [name for name in key if name in ITEM_KEY]
        first, second = (in_both(own, other, items) for own, other in (both, both[::-1]))
        before, after = (sum(int(own["n_trials"].sum()) for own in sides) for sides in (both, (first, second)))
        lost = before - after
    common = len(set(names[0]) & set(names[1]))
    named = (
        listed(sorted(set(names[0]) & set(names[1]))) if _labelled(baseline) and not baseline.by_run else f"{common}"
    )
    notes = [_told(named, "run" if baseline.by_run else called, declared=declared)]
    if baseline.by_run:
        named_runs = [own.select("run", _UNIT).unique().sort(pl.col(_UNIT).cast(pl.Int64))["run"] for own in both]
        pairs = ", ".join(f"{a} with {b}" for a, b in zip(*named_runs, strict=True))
        notes.append(f"runs are paired in the order of their files: {pairs}")
    if lost:
        notes.append(f"{plural(lost, 'score')} left out: the other side has no score of that item in that trial")
    return TrialsOfBoth(
        baseline=replace(baseline, rows=first),
        candidate=replace(candidate, rows=second),
        shared=common > 1,
        notes=tuple(notes),
    )


def labels_in_common(arms: Sequence[Arm]) -> bool:
    """Tell whether all systems have trials of the same labels, enough of them to be taken as shared."""
    if any(arm.by_run or not _labelled(arm) for arm in arms):
        return False
    first, *others = (set(_units(arm)) for arm in arms)
    return len(first) >= ENOUGH and all(each == first for each in others)


def _told(named: str, called: str, *, declared: bool | None) -> str:
    way_out = "" if declared else "; if they have nothing in common, declare them independent"
    return f"trials are paired by {called} ({named} on both sides): what one adds to both cancels{way_out}"


def _labelled(arm: Arm) -> bool:
    name = TRIAL_LABEL if trial_sets(arm.rows) is None else TRIAL_LABELS
    return name in arm.rows.columns and not arm.rows[name].null_count()


def _units(arm: Arm) -> list[str]:
    if trial_sets(arm.rows) is not None:
        return seen_trials(arm.rows)
    if arm.by_run:
        return arm.rows.select(unit_of(arm))[_UNIT].drop_nulls().unique().to_list()
    # Text is made of the few different ones.
    named = arm.rows[TRIAL_LABEL if _labelled(arm) else "trial"]
    return named.drop_nulls().unique().cast(pl.String).to_list()


def _refuse_strangers(baseline: Arm, candidate: Arm, names: Sequence[Sequence[str]]) -> None:
    """Refuse trials that are declared to be shared and cannot be."""
    if baseline.by_run != candidate.by_run or (baseline.by_run and len(names[0]) != len(names[1])):
        raise InputError(
            f"shared trials need as many runs on both sides, and {baseline.name!r} has {len(baseline.runs)} and "
            f"{candidate.name!r} {len(candidate.runs)}; leave out {Option('shared_trials', value=True)}"
        )
    if not set(names[0]) & set(names[1]):
        raise InputError(
            f"no trial is on both sides, so none can be shared: {baseline.name!r} has {listed(names[0])}, "
            f"{candidate.name!r} has {listed(names[1])}; leave out {Option('shared_trials', value=True)}"
        )


def _kept(own: pl.DataFrame, other: pl.DataFrame, key: Sequence[str]) -> pl.DataFrame:
    """Drop scores of items that both sides have where the other side lacks a score of that very trial."""
    items = [name for name in key if name in ITEM_KEY]
    own = own.with_row_index(_PLACE)
    scored = other.filter(pl.col("status") == "scored")
    alone = own.join(other, on=items, how="anti")
    both = own.join(other, on=items, how="semi")
    paired = both.join(scored, on=list(key), how="semi", nulls_equal=True)
    failed = both.filter(pl.col("status") != "scored").join(paired, on=list(key), how="anti", nulls_equal=True)
    return pl.concat([paired, failed, alone]).sort(_PLACE).drop(_PLACE)


# A run that holds fewer than this share of the items of the fullest one says more of its items than of itself.
_FULL_RUN = 0.5
# Shared trials whose means move together this much more than apart are worth a hint; three numbers do so by chance in a
# seventh of cases.
_TOGETHER = 0.1
_SMALL = 0.05
# Scores of so many items are held at once; those of 1,024 trials take 80 MB.
_ITEMS_AT_ONCE = 10_000


class RunScores(NamedTuple):
    """Names of full runs, and the scores of items in them."""

    names: list[str]
    scores: ScoreBlocks


def run_scores(items: pl.DataFrame, arm: Arm) -> RunScores | None:
    """Return the scores by item (in the order of `items`) and full run; None where only averages of trials are known.

    Several runs of the same items are full runs; in a single run, its k-th trials are taken for its k-th full run.
    """
    key = [name for name in ITEM_KEY if name in items.columns]
    rows = arm.rows.filter(pl.col("status") == "scored")
    if not arm.by_run and trial_sets(rows) is not None:
        names, blocks = scores_by_trial(rows, items.select(key), at_once=_ITEMS_AT_ONCE)
        return RunScores(names, ScoreBlocks(items.height, len(names), blocks))
    if not arm.by_run and (rows["trial"].null_count() or (rows["n_trials"].fill_null(1) > 1).any()):
        return None
    unit = unit_of(arm)
    name = unit.meta.output_name()
    wide = rows.select(*key, unit, "score").pivot(name, index=key, values="score", aggregate_function="mean")
    found = items.select(key).join(wide, on=key, how="left", maintain_order="left").drop(key).cast(pl.Float64)
    table = found.select(sorted(found.columns))

    def cut() -> Iterator[Floats]:
        return (part.to_numpy() for part in table.iter_slices(_ITEMS_AT_ONCE))

    return RunScores(table.columns, ScoreBlocks(items.height, table.width, cut))


def run_variance_of(
    items: pl.DataFrame, arms: Sequence[Arm], *, shared: bool, weights: Floats | None = None
) -> RunVariance | None:
    """Estimate what whole runs add to the variance of a score (one arm) or of a difference (two).

    Each side's runs are compared on the items that all of them scored, each with its weight in the mean. None where there
    are no trials to speak of.
    """
    found = _known_scores(items, arms) if any(arm.several_trials for arm in arms) else []
    if not found:
        return None
    sides = [_difference(*found)] if shared else [each.scores for each in found]
    held = [_complete(scores) for scores in sides]
    if any(there.sum() < 2 or not len(runs) for there, runs in held):
        return None
    of_held = None if weights is None else [weights[there] for there, _ in held]
    return run_variance(*(side.only(*kept) for side, kept in zip(sides, held, strict=True)), weights=of_held)


def _known_scores(items: pl.DataFrame, arms: Sequence[Arm]) -> list[RunScores]:
    """Return the scores of all arms by item and full run; nothing where those of any arm are not known, or there are none."""
    found = [each for arm in arms if (each := run_scores(items, arm)) is not None and each.names]
    return found if items.height and len(found) == len(arms) else []


def run_matrix(items: pl.DataFrame, arms: Sequence[Arm]) -> tuple[Floats, Ints] | None:
    """Return the scores of trials that all arms share, shape (n_items, n_trials, n_arms), and which items these are.

    Only items of which every arm has every trial count; None with fewer than 2.
    """
    found = _known_scores(items, arms)
    if not found or any(each.names != found[0].names for each in found):
        return None
    scores = np.stack([np.concatenate(list(each.scores)) for each in found], axis=2)
    rows = np.flatnonzero(~np.isnan(scores).any(axis=(1, 2)))
    return (scores[rows], rows) if rows.size > 1 else None


def _difference(first: RunScores, second: RunScores) -> ScoreBlocks:
    """Return the second side less the first, in the runs that both have."""
    common = [name for name in first.names if name in second.names]
    own, other = ([each.names.index(name) for name in common] for each in (first, second))

    def blocks() -> Iterator[Floats]:
        return (after[:, other] - before[:, own] for before, after in zip(first.scores, second.scores, strict=True))

    return ScoreBlocks(first.scores.n_items, len(common), blocks)


def _complete(scores: ScoreBlocks) -> tuple[Bools, Ints]:
    """Return which items to keep, and the runs: those that hold most items, and the items that all of these scored."""
    counts = np.sum([(~np.isnan(block)).sum(axis=0) for block in scores], axis=0)
    full = counts >= _FULL_RUN * counts.max(initial=1)
    return np.concatenate([~np.isnan(block[:, full]).any(axis=1) for block in scores]), np.flatnonzero(full)


def same_items_row(items: pl.DataFrame, arms: Sequence[Arm], *, shared: bool, conf_level: float) -> MethodRow | None:
    """Return the difference on these very items for new trials, where every item has the same trials."""
    found = _known_scores(items, arms) if any(arm.several_trials for arm in arms) else []
    scores = [each.scores for each in found]
    if found and shared:
        # What trials add to both cancels in the difference of each.
        apart = _difference(*found)
        scores = [replace(apart, blocks=lambda: (np.zeros_like(block) for block in apart)), apart]
    if not found or any(side.n_runs < 2 or any(np.isnan(block).any() for block in side) for side in scores):
        return None
    row = same_items_difference(*scores, conf_level=conf_level)
    return method_row(row, "other estimand", "for these very items, and new trials")


def run_variance_notes(
    runs: RunVariance | None, arms: Sequence[Arm], metric: Metric, *, shared: bool
) -> tuple[Note, ...]:
    """Say what the interval takes in of the variation from run to run, and what it cannot."""
    if runs is None:
        return ()
    if runs.variance is None:
        return notes("choice", [f"{runs.reason}; it is not in the interval"] * (max(runs.n_runs) > 1), caution=False)
    unit = f" {metric.shown_unit}" if metric.shown_unit else ""
    spread = " and ".join(scaled(sd, metric.scale) for sd in runs.run_sd if sd is not None)
    counts = f"{' and '.join(str(n) for n in runs.n_runs if n > 1)} {'trials' if shared else 'runs'}"
    what = "The difference varies from one shared trial to another" if shared else "Scores vary from run to run"
    tested = "" if runs.p_value is None else f"; F test p {_p(runs.p_value)}"
    told = [
        f"{what} with a standard deviation of {spread}{unit} ({counts}{tested}); the interval counts it"
        if runs.variance
        else f"{what} no more than the noise of single trials explains ({counts}{tested})"
    ]
    alone = [arm.name for arm, n in zip(arms, runs.n_runs, strict=False) if n == 1 and len(runs.n_runs) > 1]
    told.extend(f"{name} has one run: its own variation from run to run is not in the interval" for name in alone)
    return notes("choice", told, caution=False)


def sharing_hint(items: pl.DataFrame, arms: Sequence[Arm], apart: RunVariance | None) -> tuple[Note, ...]:
    """Hint that trials look shared: their means vary, and rise and fall together on both sides."""
    if apart is None or not apart.variance or apart.p_value is None or apart.p_value > _SMALL:
        return ()
    if len(set(apart.n_runs)) > 1 or any(arm.by_run for arm in arms):
        return ()
    tables = [run_scores(items, arm) for arm in arms]
    columns = [[] if table is None else table.names for table in tables]
    if columns[0] != columns[1]:
        return ()
    first, second = (np.array(means) for means in apart.run_means)
    if np.var(second - first) > _TOGETHER * (np.var(first) + np.var(second)):
        return ()
    text = f"The {plural(apart.n_runs[0], 'trial')} move both sides alike, and the interval counts that as noise"
    remedy = ("If trial k is the same judge or seed on both sides, add ", Option("shared_trials", value=True))
    return (Note(kind="dependence", text=text, remedy=remedy),)


def _p(p: float) -> str:
    shown = p_value(p)
    return shown if shown.startswith(("<", ">")) else f"= {shown}"
