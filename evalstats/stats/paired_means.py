"""Mean difference of two models on the same items, for trials, graded and unbounded scores."""

import math

import numpy as np
from numpy.typing import ArrayLike

from evalstats.errors import InputError
from evalstats.stats.checks import FloatArray, as_values, check_bounds, check_count, check_level, few_items
from evalstats.stats.estimate import Estimate
from evalstats.stats.one_score import mean_t
from evalstats.stats.sign_flip import SignFlip, sign_flip
from evalstats.stats.tails import t_quantile, two_sided_t_p

__all__ = ["SignFlip", "augmented_t", "paired_t", "sign_flip"]

_ENOUGH_NONZERO = 5


def augmented_t(
    differences: ArrayLike, *, bound: float = 1.0, n_trials: int | None = 1, conf_level: float = 0.95
) -> Estimate:
    """Mean of bounded item differences with the augmented t interval and its own p-value.

    The default for several trials of a right-or-wrong score: a t interval on few, one-sided differences covers as
    little as .80; adding one pseudo-item at +c and one at -c keeps coverage at .94 and more, at 1.1 to 1.35 times the
    width. For graded scores it costs too much power (`paired_t` is the default), and serves where all differences are
    equal and t has no spread to go by.

    Parameters
    ----------
    differences
        float64 array, shape (n_items,): candidate minus baseline, item means over trials, in the score's own unit.
    bound
        Largest possible |difference|: the metric's range.
    n_trials
        Trials of a right-or-wrong score behind each item's mean (the smaller number where models differ); None for
        graded scores, and where the number is unknown.

    Notes
    -----
    On d / bound: n' = n + 2, m' = sum(d)/n', v' = (sum(d^2) + 2 c^2)/n' - m'^2; the interval is m' +- t_{n'-1}
    sqrt(v'/(n' - 1)), clipped, and the p-value that of m' with the same error. c^2 = max(1/n_trials,
    sum(d^2)/sum(|d|)) when at least 5 items differ, else 1; without n_trials the first term is left out. Shares of
    equally many trials reach it by themselves. With one trial of right/wrong scores this is Bonett and Price's
    interval with t for z. `std_error` is that of m'; `estimate` is the observed mean, which the interval contains at
    every conf_level above about 0.7.

    Raises
    ------
    InputError
        A difference beyond the bound, NaN, no items.

    Examples
    --------
    >>> r = augmented_t([0.0] * 30 + [1 / 3] * 8 + [-1 / 3] * 2, n_trials=3)
    >>> round(r.estimate, 4), round(r.conf_low, 4), round(r.conf_high, 4), round(r.p_value, 4)
    (0.05, -0.0155, 0.1107, 0.1353)
    """
    _check_bound(bound)
    raw = as_values(differences, "differences")
    check_bounds(raw, -bound, bound, "differences")
    trials = None if n_trials is None else check_count(n_trials, "n_trials", least=1)
    level = check_level(conf_level)
    d = raw / bound
    n = d.size
    squares = float(np.square(d).sum())
    centre = float(d.sum()) / (n + 2)
    spread = (squares + 2.0 * pseudo_square(d, squares, trials)) / (n + 2) - centre**2
    std_error = math.sqrt(spread / (n + 1))
    statistic = centre / std_error
    reach = t_quantile(level, n + 1) * std_error
    return Estimate(
        estimate=float(raw.mean()),
        method="augmented t",
        conf_level=level,
        n=n,
        std_error=bound * std_error,
        conf_low=bound * max(-1.0, centre - reach),
        conf_high=bound * min(1.0, centre + reach),
        statistic=statistic,
        df=float(n + 1),
        p_value=two_sided_t_p(statistic, n + 1),
        warnings=few_items(n),
    )


def paired_t(differences: ArrayLike, *, bound: float | None = None, conf_level: float = 0.95) -> Estimate:
    """Mean of item differences with Student's t interval and test.

    For graded and unbounded scores of independent items, ties or no ties. It knows only differences that were seen:
    `evalstats.stats.unseen_failures` says what rare falls to the worst score would do to it. Differences that are all
    equal have no spread: no interval and no p, and `reason` says so.

    Parameters
    ----------
    differences
        float64 array, shape (n_items,): candidate minus baseline, item means over trials.
    bound
        Largest possible |difference|, at which the interval is clipped; None where there is none.

    Raises
    ------
    InputError
        A difference beyond the bound, NaN, no items.

    Examples
    --------
    >>> r = paired_t([0.3, 0.1, 0.4, -0.1, 0.2])
    >>> round(r.estimate, 2), round(r.statistic, 3), round(r.p_value, 4)
    (0.18, 2.092, 0.1045)
    """
    d = as_values(differences, "differences")
    if bound is not None:
        _check_bound(bound)
        check_bounds(d, -bound, bound, "differences")
    plain = mean_t(d, conf_level=conf_level)
    if plain.std_error is None or plain.df is None:
        return plain
    statistic = plain.estimate / plain.std_error
    return Estimate(
        estimate=plain.estimate,
        method="paired t",
        conf_level=plain.conf_level,
        n=plain.n,
        std_error=plain.std_error,
        conf_low=_clipped(plain.conf_low, bound),
        conf_high=_clipped(plain.conf_high, bound),
        statistic=statistic,
        df=plain.df,
        p_value=two_sided_t_p(statistic, plain.df),
        warnings=plain.warnings,
    )


def pseudo_square(d: FloatArray, squares: float, n_trials: int | None) -> float:
    """Return c^2 of the two pseudo-items at +c and -c."""
    if np.count_nonzero(d) < _ENOUGH_NONZERO:
        return 1.0
    own = squares / float(np.abs(d).sum())
    return own if n_trials is None else max(1.0 / n_trials, own)


def _check_bound(bound: float) -> None:
    if not (math.isfinite(bound) and bound > 0.0):
        raise InputError(f"bound is {bound:g}; give the metric's range, a positive number")


def _clipped(end: float | None, bound: float | None) -> float | None:
    return end if end is None or bound is None else min(bound, max(-bound, end))
