"""All pairs of models on the same items: differences with p-values and intervals that hold for the whole family."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from evalstats.errors import InputError
from evalstats.stats.checks import FEW_CLUSTERS, FloatArray, IntArray, check_count, check_level, few_items
from evalstats.stats.many.max_t import TwoSided, collect
from evalstats.stats.many.pair_table import pair_table
from evalstats.stats.many.pair_tests import LABELS, PairTests, pair_tests
from evalstats.stats.many.reference_laws import FLIPPED_CLUSTERS, enough_to_flip, flip_clusters, flip_items
from evalstats.stats.multiplicity import benjamini_hochberg, benjamini_yekutieli, holm
from evalstats.stats.unseen_failures import PairFailures, pair_failures

Adjust: TypeAlias = Literal["max-t", "holm", "bh", "by", "none"]

_FEW_DF = 4.0
_WILD_LISTED = 2**14  # a quantile needs no more
_WORDS: dict[str, str] = {
    "max-t": "max-T step-down",
    "holm": "Holm, Bonferroni intervals",
    "bh": "Benjamini-Hochberg, intervals not adjusted",
    "by": "Benjamini-Yekutieli, intervals not adjusted",
    "none": "not adjusted",
}
_ADJUSTMENTS: dict[str, Callable[[FloatArray], FloatArray]] = {
    "holm": holm,
    "bh": benjamini_hochberg,
    "by": benjamini_yekutieli,
    "none": np.copy,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PairwiseDifferences:
    """Differences between models, one entry per pair, with p-values and intervals for the whole family.

    Arrays have shape (n_pairs,).

    Attributes
    ----------
    first, second
        Columns of the two models; the difference is first minus second.
    estimate
        Mean difference over the items that both have; NaN where they share none.
    std_error
        Standard error of the difference; NaN where it cannot be estimated.
    df
        Degrees of freedom of the pair's own t; NaN for the score test.
    p_value
        Two-sided p of the pair on its own; NaN where there is none.
    p_adjusted
        p-value adjusted for the family; NaN where there is none.
    conf_low, conf_high
        Ends of the intervals, NaN where there is none.
    n_items, n_clusters
        Items that both models have, and the clusters those lie in (None without clusters).
    critical
        The 1 - alpha quantile of the largest |t*| of the family; NaN for other adjustments than "max-t".
    adjust
        The adjustment made: "holm" where "max-t" was asked for and no pair could be flipped.
    exact
        Whether every pattern of signs was counted; else p is (1 + hits) / (1 + n_resamples).
    n_differing
        For the score test and t, the items on which the two differ; else None.
    failures
        What unseen outright failures would do to each pair's difference, where a worst score is known; else None.
    """

    first: IntArray
    second: IntArray
    estimate: FloatArray
    std_error: FloatArray
    df: FloatArray
    p_value: FloatArray
    p_adjusted: FloatArray
    conf_low: FloatArray
    conf_high: FloatArray
    n_items: IntArray
    n_clusters: IntArray | None
    critical: float
    conf_level: float
    method: str
    adjust: str
    exact: bool
    n_resamples: int | None
    seed: int | None
    warnings: tuple[str, ...]
    n_differing: IntArray | None = None
    failures: PairFailures | None = None


def pairwise_differences(
    scores: ArrayLike,
    *,
    pairs: Sequence[tuple[int, int]] | None = None,
    clusters: ArrayLike | None = None,
    bounds: tuple[float, float] | None = None,
    binary: bool = False,
    shares: bool = False,
    worst: float | None = None,
    conf_level: float = 0.95,
    adjust: Adjust = "max-t",
    seed: int = 0,
    n_resamples: int = 9999,
) -> PairwiseDifferences:
    """Differences of all pairs of models (or of the pairs named), adjusted for their family.

    The default for many models on the same items. For two models `evalstats.stats.paired_binary.tango` and its kin say
    more; for p-values without item scores use `evalstats.stats.multiplicity.holm`.

    Parameters
    ----------
    scores
        float64, shape (n_items, n_models): item means over trials, in the score's own unit; NaN where a model has no
        score. A pair is compared on the items that both have.
    pairs
        Columns (i, j) of the pairs in the family, for example [(j, baseline), ...]; None for all pairs.
    clusters
        Integer codes, shape (n_items,): items that share something and are not independent. None: independent items.
    bounds
        Lowest and highest possible score; intervals are clipped to the differences that are possible.
    binary
        Whether every score is one right-or-wrong answer, 0 or 1.
    shares
        Whether bounded scores are shares of several right-or-wrong answers, such as means of trials.
    worst
        The score of an outright failure, for graded scores: what failures that were not seen would do is then told.
    adjust
        "max-t": step-down p-values from the largest |t| of the family under sign flips, and simultaneous intervals.
        "holm": Holm's p-values, Bonferroni intervals. "bh", "by", "none": p-values so named, intervals unadjusted.
    seed, n_resamples
        Used only where the sign patterns are too many to be listed.

    Returns
    -------
    PairwiseDifferences
        Pairs in the order asked for; for all pairs, (0, 1), (0, 2), ... as first and second.

    Raises
    ------
    InputError
        A table that is empty or holds infinities, scores beyond the bounds, a pair that is none, a bad option.

    Notes
    -----
    max-T: the same random signs are given to an item (or a whole cluster) for all pairs at once, which keeps their
    dependence; t is studentised anew in every draw, with the CR2 variance where there are clusters. With t sorted
    downwards, p of the k-th is the share of draws in which any of the k-th and later pairs reaches it, and never less
    than the one before nor than the pair's own p. Symmetric differences are assumed, pair by pair: subsets of equal
    models are protected too.

    Intervals are simultaneous: estimate +- q se, with q the 1 - alpha quantile of the largest |t|. For one right-or-wrong
    answer per item they are Tango's limits with z replaced by the score statistic that belongs to q: these have no
    width 0 where all answers agree. For shares they are those of the augmented t, as for a bounded score that differs
    by the same on every item; else those of t. With clusters q is
    the larger of two quantiles: of sign flips of the cluster sums, and of the cluster sums less their mean (the wild
    bootstrap). The second alone covers .84 with 7 uneven clusters and unequal models, the larger of both .96.

    So an interval that excludes 0 means p_adjusted <= 1 - conf_level. The reverse need not hold: step-down p-values are
    sharper than simultaneous intervals, as Holm's are sharper than Bonferroni's, and a pair may be separated while its
    interval just includes 0.

    A pair without a standard error: models that agree on every item have p = 1; a difference that is the same on each of
    6 or more independent items has an infinite t, and p from the sign flips; the same on every cluster, or fewer than 5
    clusters (6 for max-T), leave p_adjusted NaN.

    References
    ----------
    Westfall & Young 1993; Romano & Wolf 2005, doi:10.1198/016214504000000539; Tango 1998.

    Examples
    --------
    >>> scores = np.array([[1, 1, 0], [1, 0, 0], [1, 1, 0], [1, 1, 1], [1, 0, 0], [0, 1, 0], [1, 1, 0], [1, 0, 0]])
    >>> found = pairwise_differences(scores, binary=True)
    >>> found.estimate.tolist(), found.p_adjusted.tolist()
    ([0.25, 0.75, 0.5], [0.625, 0.03125, 0.234375])
    >>> found.exact, round(float(found.conf_low[1]), 3), round(float(found.conf_high[1]), 3)
    (True, 0.167, 0.93)
    """
    level = check_level(conf_level)
    draws = check_count(n_resamples, "n_resamples", least=1)
    if adjust not in _WORDS:
        raise InputError(f"adjust is {adjust!r}; use one of {', '.join(_WORDS)}")
    table = pair_table(scores, pairs, clusters)
    tests = pair_tests(table, binary=binary, bounds=bounds, shares=shares)
    family = _max_t(tests, level, seed, draws) if adjust == "max-t" else _listed(tests, level, adjust)
    least = FLIPPED_CLUSTERS if family.adjust == "max-t" else FEW_CLUSTERS
    std_error = np.where(tests.testable, tests.std_error, np.nan)
    place, sign = table.position, table.sign
    ends = np.stack([sign * family.low[place], sign * family.high[place]])
    i, j = table.columns[table.first[place]], table.columns[table.second[place]]
    first, second = np.where(sign > 0, i, j), np.where(sign > 0, j, i)
    failures = None
    if worst is not None:
        heights = np.abs(np.asarray(scores, dtype=np.float64) - worst)
        failures = pair_failures(heights, first, second, conf_level=level)
    return PairwiseDifferences(
        first=first,
        second=second,
        estimate=sign * table.estimate[place] + 0.0,
        std_error=std_error[place],
        df=tests.df[place],
        p_value=tests.p_value[place],
        p_adjusted=family.p_adjusted[place],
        conf_low=ends.min(axis=0),
        conf_high=ends.max(axis=0),
        n_items=table.n_items[place],
        n_clusters=None if table.n_clusters is None else table.n_clusters[place],
        critical=family.critical,
        conf_level=level,
        method=f"{LABELS[tests.kind]}, {family.words}",
        adjust=family.adjust,
        exact=family.exact,
        n_resamples=family.n_resamples,
        seed=family.seed,
        warnings=(*family.warnings, *_cautions(tests, least)),
        n_differing=None if tests.n_differing is None else tests.n_differing[place],
        failures=failures,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Family:
    """What the family adds to the pairs' own tests."""

    p_adjusted: FloatArray
    low: FloatArray
    high: FloatArray
    adjust: str
    words: str
    critical: float = np.nan
    exact: bool = True
    n_resamples: int | None = None
    seed: int | None = None
    warnings: tuple[str, ...] = ()


def _max_t(tests: PairTests, level: float, seed: int, draws: int) -> _Family:
    table = tests.table
    joint = np.flatnonzero((tests.testable | table.one_way) & enough_to_flip(table))
    if joint.size == 0:
        return _without_flips(tests, level)
    clustered = table.codes is not None
    if clustered:
        law = flip_clusters(table, joint, seed=seed, n_resamples=draws)
    else:
        law = flip_items(table, joint, seed=seed, n_resamples=draws)
    found = TwoSided(law.observed)
    collect(law, [found])
    quantile, reached = found.critical(level)
    if clustered:
        wild = flip_clusters(table, joint, seed=seed, n_resamples=draws, centred=True, most_listed=_WILD_LISTED)
        around = TwoSided(wild.observed)
        collect(wild, [around])
        quantile = max(quantile, around.critical(level)[0])
    critical = np.where(enough_to_flip(table), quantile, np.nan)
    # Where the patterns are too few for the level, Bonferroni's intervals are the least there is.
    low, high = tests.joint_ends(critical, level if reached else 1.0 - (1.0 - level) / joint.size)
    p_adjusted = np.where(tests.p_value == 1.0, 1.0, np.nan)
    p_adjusted[joint] = np.maximum(found.p_adjusted(), tests.p_value[joint])
    return _Family(
        p_adjusted=p_adjusted,
        low=low,
        high=high,
        adjust="max-t",
        words=f"{_WORDS['max-t']} over sign flips of {'clusters' if clustered else 'items'}",
        critical=quantile,
        exact=law.exact,
        n_resamples=law.n_resamples,
        seed=law.seed,
    )


def _without_flips(tests: PairTests, level: float) -> _Family:
    """Fall back on closed forms where no pair can be flipped."""
    closed = _listed(tests, level, "holm")
    if not tests.testable.any():
        return closed
    few = int(np.max(np.asarray(tests.table.n_clusters)))
    warning = (
        f"{few} clusters are too few for max-T, which needs {FLIPPED_CLUSTERS}: p is adjusted by Holm's method instead"
    )
    return replace(closed, warnings=(warning,))


def _listed(tests: PairTests, level: float, adjust: str) -> _Family:
    """Adjust the pairs' own p-values."""
    tested = np.isfinite(tests.p_value)
    p_adjusted = np.full(tested.size, np.nan)
    p_adjusted[tested] = _ADJUSTMENTS[adjust](tests.p_value[tested])
    count = max(1, int(tested.sum())) if adjust == "holm" else 1
    low, high = tests.own_ends(1.0 - (1.0 - level) / count)
    return _Family(p_adjusted=p_adjusted, low=low, high=high, adjust=adjust, words=_WORDS[adjust])


def _cautions(tests: PairTests, least: int) -> tuple[str, ...]:
    """Say which pairs could not be compared, and why; `least` is the number of clusters that the family needs."""
    table = tests.table
    total, shared = table.first.size, table.n_items > 0
    warnings: list[str] = []
    if not shared.all():
        warnings.append(f"{int((~shared).sum())} of {total} pairs share no item and are not compared")
    enough = table.n_items > 1
    if table.n_clusters is not None:
        few = shared & (table.n_clusters < least)
        enough &= ~few
        if few.any():
            warnings.append(
                f"{int(few.sum())} of {total} pairs have fewer than {least} clusters: too few to be compared"
            )
        uneven = tests.testable & (tests.df < _FEW_DF - 1e-9)
        if uneven.any():
            worth = 1.0 + float(tests.df[uneven].min())
            warnings.append(f"the clusters are so unequal that they are worth {worth:.1f}: too few for a verdict")
    flat = enough & ~table.testable & ~table.one_way
    if flat.any():
        unit = "item" if table.codes is None else "cluster"
        warnings.append(
            f"{int(flat.sum())} of {total} pairs differ by the same amount on every {unit} that they share (by none, where "
            "p is 1): without a standard error they are not separated"
        )
    if shared.any():
        warnings.extend(few_items(int(table.n_items[shared].min())))
    return tuple(warnings)
