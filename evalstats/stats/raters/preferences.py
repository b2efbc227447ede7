"""What a judge's preferences go by besides the answers: the place in which they are shown, their length, whose they are."""

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from evalstats.errors import CannotAnswerError, InputError
from evalstats.record import record
from evalstats.stats.checks import FloatArray, IntArray, as_codes, as_values, check_level, too_few_clusters
from evalstats.stats.clusters import cluster_mean
from evalstats.stats.estimate import IntervalEstimate, t_quantile, two_sided_t_p
from evalstats.stats.one_sample import mean_t, wilson

FEWEST_PAIRS = 20
_STEPS = 60
_FEWEST_EACH_WAY = 10
_SEPARATED = 8.0  # log-odds for one doubling, or for the first place: no judge is like that, and the data are separated
_RIDGE = 1e-6  # keeps the effect of a model that always wins finite; far below what any vote weighs


@record
class PlaceEffect:
    """A judge's preference for the place shown first, over pairs that it judged in both orders.

    `first` is the share of verdicts for the first place (a tie counts half), 0.5 without a preference; `inconsistent` the share
    of pairs whose verdict changes with the order.
    """

    first: IntervalEstimate
    inconsistent: IntervalEstimate
    n_pairs: int


def place_effect(
    shown_first: ArrayLike, shown_second: ArrayLike, *, clusters: ArrayLike | None = None, conf_level: float = 0.95
) -> PlaceEffect:
    """Estimate how much a judge prefers the first place.

    `shown_first`, `shown_second`: float64, shape (n_pairs,): the judge's preference for one and the same answer of a pair (1
    it, 0.5 a tie, 0 the other) when that answer was shown first, and when it was shown second. `clusters`: codes of what
    pairs share, such as the question.

    Notes
    -----
    Both orders of a pair together show the place alone: whichever answer is better, it stands first once.
    """
    one, two = as_values(shown_first, "preferences"), as_values(shown_second, "preferences")
    if one.shape != two.shape:
        raise InputError(f"{one.size} and {two.size} preferences; give one of each order for every pair")
    if one.size < FEWEST_PAIRS:
        raise CannotAnswerError(f"{one.size} pairs were judged in both orders; at least {FEWEST_PAIRS} are needed")
    place = (one + 1.0 - two) / 2.0
    changed = one != two
    level = check_level(conf_level)
    if clusters is None:
        first, share = mean_t(place, conf_level=level), wilson(int(changed.sum()), changed.size, conf_level=level)
    else:
        codes = as_codes(np.asarray(clusters), one.size)[0]
        first = cluster_mean(place, codes, conf_level=level).estimate
        share = cluster_mean(changed.astype(np.float64), codes, conf_level=level).estimate
    return PlaceEffect(first=first, inconsistent=share, n_pairs=one.size)


def covariate_effect(
    outcome: ArrayLike,
    covariate: ArrayLike,
    controls: ArrayLike,
    *,
    clusters: ArrayLike | None = None,
    family: Literal["logit", "linear"] = "logit",
    conf_level: float = 0.95,
) -> IntervalEstimate:
    """Estimate how an outcome goes with one covariate at fixed values of others.

    `outcome`: float64, shape (n,): preferences from 0 to 1 for "logit", any numbers for "linear". `covariate`: float64, shape
    (n,): such as the doublings of length of one answer over the other. `controls`: float64, shape (n, k): what is held fixed,
    the intercept among it; columns may depend on each other. `clusters`: codes of what rows share, such as the question.
    """
    level = check_level(conf_level)
    y, x = as_values(outcome, "outcomes"), as_values(covariate, "covariate")
    z = np.asarray(controls, dtype=np.float64)
    if x.shape != y.shape or z.ndim != 2 or z.shape[0] != y.size:
        raise InputError(f"{y.size} outcomes, {x.size} values and {z.shape[0]} rows of controls; give one of each")
    if y.size < FEWEST_PAIRS:
        raise CannotAnswerError(f"{y.size} rows are too few; at least {FEWEST_PAIRS} are needed")
    codes = np.arange(y.size) if clusters is None else as_codes(np.asarray(clusters), y.size)[0]
    n_clusters = int(codes.max()) + 1
    left = x - z @ np.linalg.lstsq(z, x, rcond=None)[0]
    if float(np.abs(left).max()) < 1e-9 * max(1.0, float(np.abs(x).max())):
        raise CannotAnswerError("the covariate does not vary where all else is alike")
    design = np.column_stack((x, z))
    beta, bread, scores = _logit(y, design) if family == "logit" else _linear(y, design)
    sums = np.zeros((n_clusters, design.shape[1]))
    np.add.at(sums, codes, scores)
    meat = sums.T @ sums * n_clusters / max(n_clusters - 1, 1)
    error = float(np.sqrt(max((bread @ meat @ bread)[0, 0], 0.0)))
    estimate, df = float(beta[0]), n_clusters - 1.0
    method = f"{'logit' if family == 'logit' else 'linear'} regression, cluster-robust t"
    reason = too_few_clusters(n_clusters)
    if reason is not None or error <= 0:
        return IntervalEstimate(
            estimate=estimate, method=method, conf_level=level, n=y.size, reason=reason or "no spread is left"
        )
    reach, statistic = t_quantile(level, df) * error, estimate / error
    return IntervalEstimate(
        estimate=estimate,
        method=method,
        conf_level=level,
        n=y.size,
        std_error=error,
        conf_low=estimate - reach,
        conf_high=estimate + reach,
        statistic=statistic,
        df=df,
        p_value=two_sided_t_p(statistic, df),
        n_clusters=None if clusters is None else n_clusters,
    )


def _linear(y: FloatArray, design: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the coefficients, the inverse information and every row's score."""
    bread = np.asarray(np.linalg.pinv(design.T @ design), dtype=np.float64)
    beta = bread @ design.T @ y
    return beta, bread, design * (y - design @ beta)[:, None]


def _logit(y: FloatArray, design: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    if y.min() < 0 or y.max() > 1:
        raise InputError("preferences must lie from 0 to 1")
    if min(y.sum(), (1.0 - y).sum()) < _FEWEST_EACH_WAY:
        raise CannotAnswerError(f"fewer than {_FEWEST_EACH_WAY} preferences go one of the ways")
    k = design.shape[1]
    ridge = np.full(k, _RIDGE * y.size)
    ridge[0] = 0.0
    beta = np.zeros(k)
    for _ in range(_STEPS):
        p = 1.0 / (1.0 + np.exp(-np.clip(design @ beta, -30.0, 30.0)))
        information = (design * (p * (1.0 - p))[:, None]).T @ design + np.diag(ridge)
        step = np.linalg.pinv(information) @ (design.T @ (y - p) - ridge * beta)
        beta = beta + step
        if float(np.abs(step).max()) < 1e-9 and abs(float(beta[0])) < _SEPARATED:
            return beta, np.asarray(np.linalg.pinv(information), dtype=np.float64), design * (y - p)[:, None]
    raise CannotAnswerError("the regression did not settle: preferences are all one way where all else is alike")


def stratum_columns(codes: IntArray) -> FloatArray:
    """Return one column of 0 and 1 for each level: controls that hold it fixed."""
    return np.eye(int(codes.max()) + 1)[codes]
