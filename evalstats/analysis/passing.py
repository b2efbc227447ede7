"""pass^k and pass@k as the score of an item: does it hold up in every one of k trials, or in any."""

import math
from dataclasses import replace
from typing import Literal

import numpy as np

from evalstats.analysis.arms import Metric
from evalstats.analysis.pairs import Bools, Ints, Pairs, Side, item_labels
from evalstats.document.numbers import plural
from evalstats.errors import CannotAnswerError, InputError
from evalstats.stats.trials import pass_at_k, pass_hat_k

PassKind = Literal["hat", "at"]
_NAMED = 3


def wanted_pass(pass_hat: int | None, pass_at: int | None) -> tuple[PassKind, int] | None:
    """Return which of the two is asked for, with its k; None where neither is.

    Raises
    ------
    InputError
        If both are, or k is no whole number from 1.
    """
    if pass_hat is not None and pass_at is not None:
        message = "pass_hat (all of k trials succeed) and pass_at (any of k succeeds) are two questions; ask one"
        raise InputError(message)
    k = pass_hat if pass_hat is not None else pass_at
    if k is None:
        return None
    name = "pass_hat" if pass_hat is not None else "pass_at"
    if isinstance(k, bool) or not isinstance(k, int) or k < 1:  # pyright: ignore[reportUnnecessaryIsInstance] - a user's value
        message = f"{name} is {k!r}; it is a number of trials, a whole number from 1"
        raise InputError(message)
    return ("hat" if pass_hat is not None else "at"), k


def pass_metric(metric: Metric, kind: PassKind, k: int) -> Metric:
    """Return the metric whose score of an item is pass^k or pass@k of it.

    Raises
    ------
    InputError
        If the metric does not say of a trial whether it succeeded.
    """
    if metric.kind not in ("binary", "proportion") or not metric.higher_is_better:
        message = (
            f"pass^k and pass@k count trials that succeed, and {metric.name!r} is "
            f"{metric.kind if metric.higher_is_better else 'better when lower'}; they need a right-or-wrong metric"
        )
        raise InputError(message)
    name = f"{metric.name} pass{'^' if kind == 'hat' else '@'}{k}"
    return replace(metric, name=name, kind="proportion")


def passing(pairs: Pairs, kind: PassKind, k: int) -> tuple[Pairs, tuple[str, ...]]:
    """Replace every item's trials by one value, its unbiased pass^k or pass@k.

    An item with fewer than k scored trials on a side has no value there and counts as missing.

    Returns
    -------
    tuple
        The pairs, with one value an item (right or wrong where every item has k trials and no more), and a note that names
        the items left out.

    Raises
    ------
    InputError
        If some rows hold shares instead of right-or-wrong trials.
    CannotAnswerError
        If no item has k trials on both sides.
    """
    sides = (pairs.baseline, pairs.candidate)
    enough = [side.n_scored >= k for side in sides]
    most = max(int(side.n_scored.max(initial=0)) for side in sides)
    both = enough[0] & enough[1]
    if not both.any():
        message = f"no item has {plural(k, 'scored trial')} on both sides; the most that any has is {most}"
        raise CannotAnswerError(message)
    first, second = (_side(side, kind, k, has) for side, has in zip(sides, enough, strict=True))
    left_out = pairs.paired & ~both
    notes: tuple[str, ...] = ()
    if left_out.any():
        names = ", ".join(item_labels(pairs, left_out, _NAMED))
        more = "" if left_out.sum() <= _NAMED else ", ..."
        notes = (
            f"{plural(int(left_out.sum()), 'item')} with fewer than {k} scored trials on a side are left out: {names}{more}",
        )
    trials = min(int(side.n_scored[both].min()) for side in sides)
    return replace(pairs, baseline=first, candidate=second, steps=math.comb(trials, k)), notes


def _side(side: Side, kind: PassKind, k: int, enough: Bools) -> Side:
    rounded = np.rint(side.total)
    if not np.allclose(side.total, rounded):
        message = "pass^k and pass@k need right-or-wrong trials; some rows hold shares of several trials"
        raise InputError(message)
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
