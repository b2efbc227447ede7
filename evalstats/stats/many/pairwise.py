"""All pairs of models on the same items: differences with p-values and intervals that hold for the whole family.

References: Westfall & Young 1993; Romano & Wolf 2005, doi:10.1198/016214504000000539 (max-T); Tango 1998,
doi:10.1002/(SICI)1097-0258(19980430)17:8<891::AID-SIM780>3.0.CO;2-B.
"""

from collections.abc import Sequence
from dataclasses import field, replace
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from evalstats.errors import InputError
from evalstats.record import record
from evalstats.stats.checks import (
    FEW_CLUSTERS,
    FloatArray,
    IntArray,
    check_bounds,
    check_count,
    check_level,
    few_effective,
    few_items,
)
from evalstats.stats.estimate import SMALLEST_P
from evalstats.stats.many.multiplicity import Adjust, adjusted
from evalstats.stats.many.pair_table import PairTable, difference_blocks, pair_table
from evalstats.stats.many.reference_laws import FLIPPED_CLUSTERS, enough_to_flip, flip_clusters, flip_items
from evalstats.stats.many.step_down import TIE, TwoSided, collect
from evalstats.stats.one_sample import PairFailures, pair_failures
from evalstats.stats.paired.binary import tango_statistics
from evalstats.stats.paired.means import ENOUGH_NONZERO
from evalstats.stats.roots import bracketed_roots

Kind: TypeAlias = Literal["score", "augmented t", "t", "CR2"]
LABELS: dict[Kind, str] = {
    "score": "Tango score",
    "augmented t": "augmented t",
    "t": "paired t",
    "CR2": "CR2 with Satterthwaite df",
}
_FEW_DF = 4.0
_WILD_LISTED = 2**14  # a quantile needs no more
_WORDS: dict[str, str] = {
    "max-t": "max-T step-down",
    "holm": "Holm, Bonferroni intervals",
    "bh": "Benjamini-Hochberg, intervals not adjusted",
    "by": "Benjamini-Yekutieli, intervals not adjusted",
    "none": "not adjusted",
}


def tango_limits(n: IntArray, wins: FloatArray, losses: FloatArray, z: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return both ends of Tango's interval for the difference of two paired proportions, for arrays of pairs.

    `wins` are items that only the first got right, `losses` those that only the second did; `z` is at most sqrt(n): the score
    statistic reaches no more. The interval holds every D with |T(D)| <= z; see `evalstats.stats.paired.binary.tango`.
    """
    return -_upper(n, losses, wins, z), _upper(n, wins, losses, z)


def _upper(n: IntArray, b: FloatArray, c: FloatArray, z: FloatArray) -> FloatArray:
    """Return the D in [estimate, 1] with T(D) = -z; T falls from 0 at the estimate, without bound where it nears 1."""

    def beyond(d: FloatArray) -> FloatArray:
        """Return how far T is above -z on a scale without infinities, from sin(pi/4) at 0 down."""
        angle = np.arctan2(tango_statistics(n, b, c, d), z)
        return np.sin(angle + np.pi / 4)

    end = np.full(n.size, np.sqrt(0.5))
    return np.where(b == n, 1.0, bracketed_roots(beyond, (b - c) / n, np.ones(n.size), at_low=end, at_high=-end))


@record
class PairTests:
    """The test of every pair of a table on its own.

    Attributes
    ----------
    centre, std_error, df
        Where the interval is centred, its standard error and degrees of freedom; NaN where there is none. The score
        interval has no df, and its `std_error` is shown, not used.
    wins, losses
        For the score test: items that only the first, and only the second, got right.
    n_differing
        Items on which the two differ, where few of them forbid a claim (the score test and t); None elsewhere.
    span
        Largest possible difference, infinite where there is none.
    """

    kind: Kind
    table: PairTable
    centre: FloatArray
    std_error: FloatArray
    df: FloatArray
    p_value: FloatArray
    span: float
    n_differing: IntArray | None = None
    wins: FloatArray = field(default_factory=lambda: np.zeros(0))
    losses: FloatArray = field(default_factory=lambda: np.zeros(0))

    @property
    def testable(self) -> NDArray[np.bool_]:
        """Pairs with a standard error and, where there are clusters, enough of them."""
        few = self.table.n_clusters is not None and self.table.n_clusters < FEW_CLUSTERS
        return self.table.testable & ~np.asarray(few)

    def own_ends(self, conf_level: float) -> tuple[FloatArray, FloatArray]:
        """Return the ends of each pair's own interval."""
        return self._ends(self._own_quantile(conf_level))

    def joint_ends(self, critical: FloatArray, conf_level: float) -> tuple[FloatArray, FloatArray]:
        """Return ends at critical values of |t|, one for each pair; never inside the own interval at `conf_level`."""
        if self.kind == "score":
            # |t| > critical exactly when the score statistic exceeds this.
            n = self.table.n_items
            with np.errstate(invalid="ignore", divide="ignore"):
                critical = np.where(np.isfinite(critical), critical * np.sqrt(n / (n - 1.0 + critical**2)), np.sqrt(n))
        # A t that ties with its critical value does not exceed it, whatever rounding says.
        return self._ends(np.fmax(critical * (1.0 + TIE), self._own_quantile(conf_level)))

    def _own_quantile(self, conf_level: float) -> FloatArray:
        tail = (1.0 - conf_level) / 2.0
        if self.kind == "score":
            return np.full(self.p_value.size, -float(special.ndtri(tail)))
        return -_floats(special.stdtrit(self.df, tail))

    def _ends(self, critical: FloatArray) -> tuple[FloatArray, FloatArray]:
        if self.kind == "score":
            n = self.table.n_items
            empty = n == 0
            ends = tango_limits(np.maximum(n, 1), self.wins, self.losses, critical)
            low, high = (np.where(empty, np.nan, end) for end in ends)
            return low, high
        with np.errstate(invalid="ignore"):
            reach = critical * self.std_error
        low = np.maximum(self.centre - reach, -self.span)
        high = np.minimum(self.centre + reach, self.span)
        none = ~(np.isfinite(low) & np.isfinite(high))
        return np.where(none, np.nan, low), np.where(none, np.nan, high)


def pair_tests(
    table: PairTable, *, binary: bool, bounds: tuple[float, float] | None, shares: bool = False
) -> PairTests:
    """Choose the test and run it for every pair.

    Clusters: CR2 with Satterthwaite df, from 5 clusters on. Else right-or-wrong scores: the score test, which Tango's
    interval inverts. Else bounded `shares` of right-or-wrong answers: augmented t. Else t.
    """
    span = np.inf
    if bounds is not None:
        low, high = bounds
        missing = np.isnan(table.scores)
        scored = table.scores[~missing] if missing.any() else table.scores
        if scored.size:
            check_bounds(scored, low, high, "scores")
        span = float(high) - float(low)
    if binary:
        wrong = ~np.isin(table.scores, (0.0, 1.0)) & ~np.isnan(table.scores)
        if wrong.any():
            raise InputError(f"scores hold {table.scores[wrong][0]:g}; right-or-wrong scores are 0 or 1")
        span = 1.0
    if table.codes is not None:
        enough = np.asarray(table.n_clusters) >= FEW_CLUSTERS
        std_error, df = (np.where(enough, values, np.nan) for values in (table.std_error, table.df))
        p = np.where(enough, _t_p(table, std_error, df), np.nan)
        return PairTests(
            kind="CR2", table=table, centre=table.estimate, std_error=std_error, df=df, p_value=p, span=span
        )
    if binary:
        squares, sums = table.squares, table.n_items * np.nan_to_num(table.estimate)
        wins, losses = np.rint(0.5 * (squares + sums)), np.rint(0.5 * (squares - sums))
        z = (wins - losses) / np.sqrt(np.maximum(wins + losses, 1.0))
        p = np.maximum(2.0 * _floats(special.ndtr(-np.abs(z))), SMALLEST_P)
        return PairTests(
            kind="score",
            table=table,
            centre=table.estimate,
            std_error=table.std_error,
            df=np.full(z.size, np.nan),
            p_value=np.where(table.n_items > 0, p, np.nan),
            wins=wins,
            losses=losses,
            span=span,
            n_differing=np.asarray(wins + losses, dtype=np.int64),
        )
    return _augmented(table, span) if shares and np.isfinite(span) else _plain(table, span)


def _augmented(table: PairTable, span: float) -> PairTests:
    """Add one pseudo-item at +c and one at -c to every pair: see `evalstats.stats.paired.means.augmented_t`.

    c = sum(d^2) / sum(|d|) on the unit scale where at least 5 items differ, else 1.
    """
    nonzero, sizes = _differing(table)
    n = table.n_items.astype(np.float64)
    squares = table.squares / span**2
    pseudo = np.where(nonzero >= ENOUGH_NONZERO, squares / np.maximum(sizes / span, 1e-300), 1.0)
    centre = n * np.nan_to_num(table.estimate) / span / (n + 2.0)
    std_error = np.sqrt(((squares + 2.0 * pseudo**2) / (n + 2.0) - centre**2) / (n + 1.0))
    none = n == 0
    df = np.where(none, np.nan, n + 1.0)
    return PairTests(
        kind="augmented t",
        table=table,
        centre=np.where(none, np.nan, span * centre),
        std_error=np.where(none, np.nan, span * std_error),
        df=df,
        p_value=_two_sided(centre / std_error, df),
        span=span,
    )


def _differing(table: PairTable) -> tuple[IntArray, FloatArray]:
    """Return on how many items each pair differs, and the sum of the sizes of its differences."""
    nonzero, sizes = np.empty(table.first.size, dtype=np.int64), np.empty(table.first.size)
    for part, d in difference_blocks(table.scores, table.first, table.second):
        d[np.isnan(d)] = 0.0
        nonzero[part], sizes[part] = table.times @ (d != 0.0), (np.abs(d) * table.times[:, np.newaxis]).sum(axis=0)
    return nonzero, sizes


def _plain(table: PairTable, span: float) -> PairTests:
    """Student's t; of bounded scores augmented t for the pairs whose differences are all equal and give t no spread."""
    centre, std_error, df = table.estimate, table.std_error, table.df
    p_value = _t_p(table, std_error, df)
    nonzero = _differing(table)[0]
    flat = ~table.testable & (table.n_items > 0)
    if np.isfinite(span) and flat.any():
        other = _augmented(table, span)
        centre, std_error = np.where(flat, other.centre, centre), np.where(flat, other.std_error, std_error)
        df, p_value = np.where(flat, other.df, df), np.where(flat, other.p_value, p_value)
    return PairTests(
        kind="t",
        table=table,
        centre=centre,
        std_error=std_error,
        df=df,
        p_value=p_value,
        span=span,
        n_differing=nonzero,
    )


def _t_p(table: PairTable, std_error: FloatArray, df: FloatArray) -> FloatArray:
    """Return p of t; 1 where the models do not differ at all, NaN where there is no spread otherwise."""
    equal = ~table.testable & (table.estimate == 0.0) & (table.n_items > 1)
    own = np.where(equal, 1.0, _two_sided(table.estimate / std_error, df))
    # All items point one way by the same amount: two of the 2^n patterns of signs are as extreme.
    return np.where(table.one_way, np.maximum(np.exp2(1.0 - table.n_items), SMALLEST_P), own)


def _two_sided(t: FloatArray, df: FloatArray) -> FloatArray:
    return np.maximum(2.0 * _floats(special.stdtr(df, -np.abs(t))), SMALLEST_P)


def _floats(values: object) -> FloatArray:
    """Return what a special function gave; its type is not declared."""
    return np.asarray(values, dtype=np.float64)


@record
class PairwiseDifferences:
    """Differences between models, first minus second, with p-values and intervals for the whole family; arrays per pair.

    NaN stands where a number cannot be had (no shared item, no standard error, no p).

    Attributes
    ----------
    first, second
        Columns of the two models.
    df, p_value
        Of the pair's own test; df is NaN for the score test.
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
    contradicted
        Pairs that other evidence puts in the other order, and that are not to be told apart; else None.
    p_tested
        A second p of each pair, where the larger of the two is adjusted; else None.
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
    p_tested: FloatArray | None = None

    @property
    def p_for_family(self) -> FloatArray:
        """What is adjusted for the family: the p of each pair, or a larger one that holds far in the tail as well."""
        return self.p_value if self.p_tested is None else np.fmax(self.p_value, self.p_tested)

    contradicted: NDArray[np.bool_] | None = None


def pairwise_differences(
    scores: ArrayLike | PairTable,
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
    intervals: bool = True,
) -> PairwiseDifferences:
    """Differences of all pairs of models (or of the pairs named), adjusted for their family.

    The default for many models on the same items. For two models `evalstats.stats.paired.binary.tango` and its kin say
    more; for p-values without item scores use `evalstats.stats.many.multiplicity.holm`.

    Parameters
    ----------
    scores
        float64, shape (n_items, n_models): item means over trials, in the score's own unit; NaN where a model has no
        score. A pair is compared on the items that both have. Or a table that `pair_table` made of them, with its own
        pairs and clusters.
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
    intervals
        Whether intervals are wanted. Those of max-t with clusters take as many draws again; without them they are NaN.

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

    A single pair has nothing to be adjusted for: p and interval are its own. With clusters `p_adjusted` is at least that of
    the flips, as a guard against t on few of them.

    So an interval that excludes 0 means p_adjusted <= 1 - conf_level. The reverse need not hold: step-down p-values are
    sharper than simultaneous intervals, as Holm's are sharper than Bonferroni's, and a pair may be separated while its
    interval just includes 0.

    A pair without a standard error: models that agree on every item have p = 1; a difference that is the same on each of
    6 or more independent items has an infinite t, and p from the sign flips; the same on every cluster, or fewer than 5
    clusters (6 for max-T), leave p_adjusted NaN.

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
    own = _own_differences(tests, level)
    if table.first.size == 1 and table.codes is None:
        found = replace(own, adjust=adjust)
    elif adjust == "max-t":
        found = _max_t(own, tests, seed, draws, intervals=intervals)
    else:
        found = _stepped(own, tests, adjust)
    if table.first.size == 1:
        found = replace(found, conf_low=own.conf_low, conf_high=own.conf_high)
    place, sign = table.position, table.sign
    ends = np.stack([sign * found.conf_low[place], sign * found.conf_high[place]])
    i, j = table.columns[table.first[place]], table.columns[table.second[place]]
    first, second = np.where(sign > 0, i, j), np.where(sign > 0, j, i)
    failures = None
    if worst is not None:
        heights = np.empty_like(table.scores)
        heights[:, table.columns] = np.abs(table.scores - worst)
        failures = pair_failures(heights, first, second, times=table.times, conf_level=level)
    least = FLIPPED_CLUSTERS if found.adjust == "max-t" else FEW_CLUSTERS
    return replace(
        found,
        first=first,
        second=second,
        estimate=sign * table.estimate[place] + 0.0,
        std_error=found.std_error[place],
        df=tests.df[place],
        p_value=tests.p_value[place],
        p_adjusted=found.p_adjusted[place],
        conf_low=ends.min(axis=0),
        conf_high=ends.max(axis=0),
        n_items=table.n_items[place],
        n_clusters=None if table.n_clusters is None else table.n_clusters[place],
        warnings=(*found.warnings, *_cautions(tests, least)),
        n_differing=None if tests.n_differing is None else tests.n_differing[place],
        failures=failures,
    )


def _own_differences(tests: PairTests, level: float) -> PairwiseDifferences:
    """Return every pair of the table by its own test and interval, as a comparison of the two gives them."""
    table = tests.table
    low, high = tests.own_ends(level)
    return PairwiseDifferences(
        first=table.first,
        second=table.second,
        estimate=table.estimate,
        std_error=np.where(tests.testable, tests.std_error, np.nan),
        df=tests.df,
        p_value=tests.p_value,
        p_adjusted=tests.p_value,
        conf_low=low,
        conf_high=high,
        n_items=table.n_items,
        n_clusters=table.n_clusters,
        critical=np.nan,
        conf_level=level,
        method=LABELS[tests.kind],
        adjust="none",
        exact=True,
        n_resamples=None,
        seed=None,
        warnings=(),
    )


def _max_t(
    own: PairwiseDifferences, tests: PairTests, seed: int, draws: int, *, intervals: bool
) -> PairwiseDifferences:
    table, level = tests.table, own.conf_level
    joint = np.flatnonzero((tests.testable | table.one_way) & enough_to_flip(table))
    if joint.size == 0:
        closed = _stepped(own, tests, "holm")
        if not tests.testable.any():
            return closed
        few = int(np.max(np.asarray(table.n_clusters)))
        needs = f"too few for max-T, which needs {FLIPPED_CLUSTERS}: p is adjusted by Holm's method instead"
        return replace(closed, warnings=(f"{few} clusters are {needs}",))
    clustered = table.codes is not None
    flip = flip_clusters if clustered else flip_items
    law = flip(table, joint, seed=seed, n_resamples=draws)
    found = TwoSided(law.observed)
    collect(law, [found])
    quantile, reached = found.critical(level)
    if clustered and intervals:
        wild = flip_clusters(table, joint, seed=seed, n_resamples=draws, centred=True, most_listed=_WILD_LISTED)
        around = TwoSided(wild.observed)
        collect(wild, [around])
        quantile = max(quantile, around.critical(level)[0])
    low = high = np.full(tests.p_value.size, np.nan)
    if intervals:
        critical = np.where(enough_to_flip(table), quantile, np.nan)
        # Where the patterns are too few for the level, Bonferroni's intervals are the least there is.
        low, high = tests.joint_ends(critical, level if reached else 1.0 - (1.0 - level) / joint.size)
    p_adjusted = np.where(tests.p_value == 1.0, 1.0, np.nan)
    p_adjusted[joint] = np.maximum(found.p_adjusted(), tests.p_value[joint])
    return replace(
        own,
        p_adjusted=p_adjusted,
        conf_low=low,
        conf_high=high,
        adjust="max-t",
        method=f"{own.method}, {_WORDS['max-t']} over sign flips of {'clusters' if clustered else 'items'}",
        critical=quantile,
        exact=law.exact,
        n_resamples=law.n_resamples,
        seed=law.seed,
    )


def _stepped(own: PairwiseDifferences, tests: PairTests, adjust: Adjust) -> PairwiseDifferences:
    """Adjust the pairs' own p-values."""
    count = max(1, int(np.isfinite(tests.p_value).sum())) if adjust == "holm" else 1
    low, high = tests.own_ends(1.0 - (1.0 - own.conf_level) / count)
    method = f"{own.method}, {_WORDS[adjust]}"
    p_adjusted = adjusted(tests.p_value, adjust)
    return replace(own, p_adjusted=p_adjusted, conf_low=low, conf_high=high, adjust=adjust, method=method)


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
            warnings.append(few_effective(float(tests.df[uneven].min())))
    flat = enough & ~table.testable & ~table.one_way
    if flat.any():
        unit = "item" if table.codes is None else "cluster"
        warnings.append(
            f"{int(flat.sum())} of {total} pairs differ by the same amount on every {unit}, so no standard error separates them"
        )
    if shared.any():
        warnings.extend(few_items(int(table.n_items[shared].min())))
    return tuple(warnings)


def differing_items(raw: FloatArray, pairs: PairwiseDifferences, weights: FloatArray | None) -> IntArray:
    """Count the items on which the models of each pair differ, where their linearised values differ everywhere.

    Each item counts by its weight in the average against the heaviest: differences in light items say little of the heavy
    ones, where t would take silence for certainty.
    """
    weight = np.ones(len(raw)) if weights is None else weights / weights.max()
    places = zip(pairs.first.tolist(), pairs.second.tolist(), strict=True)
    counts = [int(weight @ (raw[:, i] != raw[:, j]) + 1e-9) for i, j in places]
    return np.array(counts, dtype=np.int64)
