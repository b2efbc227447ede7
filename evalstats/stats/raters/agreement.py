"""How far raters agree beyond what chance would give (Krippendorff, Gwet, Cohen), and intraclass correlations of scores.

Every coefficient is a function of sums over units (the things rated), so that a resample of units costs no more than one
product with a small table: units with the same ratings are one row of it.

References: Krippendorff 2019, Content Analysis, 4th ed.; Gwet 2008,
doi:10.1348/000711006X126600; Cohen 1960, doi:10.1177/001316446002000104; Cohen 1968, doi:10.1037/h0026256.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from typing import Literal, TypedDict, Unpack

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse, special

from evalstats.errors import InputError
from evalstats.record import record
from evalstats.stats.bootstrap import acceleration, corrected_tails
from evalstats.stats.checks import BoolArray, FloatArray, IntArray, as_codes, as_values, check_level, too_few_clusters
from evalstats.stats.estimate import IntervalEstimate, normal_quantile, positive_p, t_quantile
from evalstats.stats.one_sample import wilson

Metric = Literal["nominal", "ordinal", "interval", "ratio"]
Weights = Literal["none", "linear", "quadratic"]
Equality = Literal["share", "kappa", "AC1"]

MOST_LEVELS = 200  # categories of a coincidence table; more are no categories
_FEWEST_UNITS = 5
# Below so many units with a rating other than the commonest, BCa intervals of alpha and kappa end too low in a tenth of samples
# and more (simulated: three raters, 30 and 50 units, a category of 7 to 10%).
_FEWEST_TELLING = 8
# Resamples of so many rows of sums at once; beyond, the influence of single units gives the same interval sooner.
_MOST_ROWS = 20_000
# Sums beyond so many cells (160 MB) are never held all at once.
_MOST_CELLS = 20_000_000
_BLOCK = 200


class Over(TypedDict, total=False):
    """Over what an interval is drawn: codes of clusters of units, shape (n_units,); its level; resamples; the seed."""

    clusters: ArrayLike | None
    conf_level: float
    n_resamples: int
    seed: int


Statistic = Callable[[FloatArray], FloatArray]
SumsOf = Callable[[IntArray], FloatArray]


@record
class RatingTable:
    """Ratings as counts: how many raters put each unit in each category.

    Attributes
    ----------
    counts
        int64, shape (n_units, n_levels); units with fewer than two ratings are kept, and say nothing of agreement.
    levels
        float64, shape (n_levels,), ascending: the categories as numbers; 0, 1, 2, ... for labels without an order.
    """

    counts: IntArray
    levels: FloatArray

    @property
    def n_pairable(self) -> int:
        """Units with two ratings or more."""
        return int(np.count_nonzero(self.counts.sum(axis=1) > 1))

    @property
    def n_telling(self) -> int:
        """Pairable units with a rating other than the commonest: only these set agreement apart from chance."""
        paired = self.counts[self.counts.sum(axis=1) > 1]
        commonest = int(self.counts.sum(axis=0).argmax())
        return int(np.count_nonzero(paired.sum(axis=1) > paired[:, commonest]))


def rating_table(units: ArrayLike, values: ArrayLike) -> RatingTable:
    """Count ratings given one a row.

    `units`: integer codes of what was rated, shape (n_ratings,). `values`: float64, shape (n_ratings,): the ratings; codes of
    labels that have no order.
    """
    given = as_values(values, "ratings")
    codes, n_units = as_codes(units, given.size, "units")
    levels, place = np.unique(given, return_inverse=True)
    if levels.size > MOST_LEVELS:
        raise InputError(f"the ratings take {levels.size:,} different values; at most {MOST_LEVELS} can be categories")
    counts = np.bincount(codes * levels.size + place, minlength=n_units * levels.size)
    return RatingTable(counts=counts.reshape(n_units, levels.size).astype(np.int64), levels=levels)


def raw_agreement(table: RatingTable, **over: Unpack[Over]) -> IntervalEstimate:
    """Estimate how often two ratings of the same unit are the same, the mean over units that have two or more.

    Where all of these have exactly two and there are no clusters, the interval is Wilson's.
    """
    most = int(table.counts.sum(axis=1).max(initial=0))
    if most == 2 and over.get("clusters") is None:
        agreed = int(np.count_nonzero(table.counts.max(axis=1) == 2))
        return wilson(agreed, table.n_pairable, conf_level=over.get("conf_level", 0.95))
    return _over_units(table.counts, _unit_sums, _seen, "mean agreement of pairs of ratings", **over)


def krippendorff_alpha(table: RatingTable, metric: Metric = "nominal", **over: Unpack[Over]) -> IntervalEstimate:
    """Estimate Krippendorff's alpha: 1 minus observed over expected disagreement, for any number of raters with gaps.

    `metric`: how far two ratings are apart: "nominal" (the same or not), "ordinal" (by the ratings between them), "interval"
    (squared difference), "ratio" (squared difference relative to the sum; no negative ratings). `**over`: see `Over`. The
    bootstrap is of units, not Krippendorff's own, which draws pairs as if they were independent.
    """
    levels = table.levels
    if metric == "ratio" and levels[0] < 0:
        raise InputError(f"ratings reach {levels[0]:g}; the ratio metric needs numbers from 0")
    if metric not in ("nominal", "ordinal", "interval", "ratio"):
        raise InputError(f"metric {metric!r} is unknown; choose nominal, ordinal, interval or ratio")
    return _over_units(
        table.counts,
        lambda counts: _table_sums(counts, levels, metric),
        lambda total: _alpha(total, levels, metric),
        f"Krippendorff's alpha, {metric}",
        n_telling=table.n_telling,
        **over,
    )


def judge_alpha(
    judge: IntArray, people: IntArray, levels: FloatArray, metric: Metric = "nominal", **over: Unpack[Over]
) -> IntervalEstimate:
    """Estimate alpha over all pairs of the judge and a person; every unit weighs the same, however many people rated it.

    Agreement with the mean or the majority of several people would be higher than agreement with one of them, so a judge
    measured by it seems better than a person.

    `judge`, `people`: int64, shape (n_units, n_levels): how often the judge, and people, gave each category; units without
    both say nothing.
    """
    units, over = _rated_by_both(judge, people, 1, over)
    q = levels.size
    return _over_units(
        units,
        lambda kinds: _pair_sums(kinds[:, :q], kinds[:, q:], levels, metric),
        lambda total: _alpha(total, levels, metric),
        f"Krippendorff's alpha of the judge with people, {metric}",
        n_telling=_telling(units, q),
        **over,
    )


def judge_minus_people(
    judge: IntArray, people: IntArray, levels: FloatArray, metric: Metric = "nominal", **over: Unpack[Over]
) -> IntervalEstimate:
    """Estimate alpha of the judge with people minus alpha among people, both on the units that two people and the judge rated."""
    units, over = _rated_by_both(judge, people, 2, over)
    q = levels.size

    def sums_of(kinds: IntArray) -> FloatArray:
        own, theirs = kinds[:, :q], kinds[:, q:]
        return np.concatenate((_pair_sums(own, theirs, levels, metric), _table_sums(theirs, levels, metric)), axis=1)

    return _over_units(
        units,
        sums_of,
        lambda total: _difference(total, levels, metric),
        f"difference of the two alphas, {metric}",
        n_telling=_telling(units, q),
        **over,
    )


def alpha_where_two_rated(
    judge: IntArray, people: IntArray, levels: FloatArray, metric: Metric = "nominal", **over: Unpack[Over]
) -> IntervalEstimate:
    """Estimate alpha of the judge with people on the units that several people rated minus that on those that one rated.

    Far from 0, the units that two people rated do not stand for the others.
    """
    units, over = _rated_by_both(judge, people, 1, over)
    q = levels.size

    def sums_of(kinds: IntArray) -> FloatArray:
        own, theirs = kinds[:, :q], kinds[:, q:]
        pairs, several = _pair_sums(own, theirs, levels, metric), theirs.sum(axis=1)[:, None] > 1
        return np.concatenate((pairs * several, pairs * ~several), axis=1)

    several = units[:, q:].sum(axis=1) > 1
    return _over_units(
        units,
        sums_of,
        lambda total: _difference(total, levels, metric),
        f"difference of alpha between units of several people and of one, {metric}",
        n_telling=min(_telling(units[of], q) for of in (several, ~several)),
        **over,
    )


def _rated_by_both(judge: IntArray, people: IntArray, least: int, over: Over) -> tuple[IntArray, Over]:
    """Return the counts of judge and people, side by side, of units that the judge and so many people rated, and what goes on."""
    kept = (judge.sum(axis=1) > 0) & (people.sum(axis=1) >= least)
    if not kept.any():
        raise InputError(f"no unit was rated by the judge and by {'people' if least == 1 else 'two people'}")
    codes = over.get("clusters")
    return np.concatenate((judge[kept], people[kept]), axis=1), (
        over if codes is None else Over({**over, "clusters": np.asarray(codes)[kept]})
    )


def _telling(units: IntArray, q: int) -> int:
    """Count units with a rating other than the commonest."""
    both = units[:, :q] + units[:, q:]
    return int(np.count_nonzero(both.sum(axis=1) > both[:, int(both.sum(axis=0).argmax())]))


def _difference(total: FloatArray, levels: FloatArray, metric: Metric) -> FloatArray:
    """Return alpha of the first half of the sums minus that of the second."""
    first, second = np.split(total, 2, axis=1)
    return _alpha(first, levels, metric) - _alpha(second, levels, metric)


def gwet_ac1(table: RatingTable, **over: Unpack[Over]) -> IntervalEstimate:
    """Estimate Gwet's AC1, whose chance agreement stays small where nearly all ratings fall into one category.

    There kappa and alpha are near 0 though raters nearly always agree (the kappa paradox); report both.
    """
    q = table.levels.size

    def ac1(total: FloatArray) -> FloatArray:
        seen, share = _seen(total), total[:, 3:] / total[:, 2:3]
        chance = (share * (1.0 - share)).sum(axis=1) / max(q - 1, 1)
        return (seen - chance) / (1.0 - chance)

    return _over_units(table.counts, _unit_sums, ac1, "Gwet's AC1", **over)


def judge_equality(
    judge: IntArray, people: IntArray, measure: Equality = "share", weights: Weights = "none", **over: Unpack[Over]
) -> IntervalEstimate:
    """Estimate how far a judge's rating equals a single person's: the share of pairs, Cohen's kappa, or Gwet's AC1.

    Over all pairs of the judge and a person, every unit weighing the same, as in `judge_alpha`; with one person these are the
    textbook's measures of two raters. `judge`, `people`: counts, shape (n_units, n_levels), of categories in their order.
    `weights`: of kappa, by how far categories are apart: "linear" or "quadratic".
    """
    units, over = _rated_by_both(judge, people, 1, over)
    q = int(judge.shape[1])
    if measure == "share" and over.get("clusters") is None and int(units.sum(axis=1).max()) == 2:
        same = int((units[:, :q] & units[:, q:]).sum())
        return wilson(same, units.shape[0], conf_level=over.get("conf_level", 0.95))
    apart = np.abs(np.arange(q)[:, None] - np.arange(q)[None, :]).astype(np.float64)
    cost = {"none": (apart > 0).astype(np.float64), "linear": apart, "quadratic": np.square(apart)}[weights]

    def sums_of(kinds: IntArray) -> FloatArray:
        one, other = kinds[:, :q], kinds[:, q:]
        one, other = one / one.sum(axis=1)[:, None], other / other.sum(axis=1)[:, None]
        return np.column_stack((((one @ cost) * other).sum(axis=1), one, other))

    def statistic(total: FloatArray) -> FloatArray:
        rows, columns = total[:, 1 : q + 1], total[:, q + 1 :]
        n = rows.sum(axis=1)
        if measure == "share":
            return 1.0 - total[:, 0] / n
        if measure == "kappa":
            return 1.0 - total[:, 0] * n / ((rows @ cost) * columns).sum(axis=1)
        share = (rows + columns) / (2.0 * n[:, None])
        return 1.0 - total[:, 0] / (n * (1.0 - (share * (1.0 - share)).sum(axis=1) / max(q - 1, 1)))

    return _over_units(
        units,
        sums_of,
        statistic,
        {"share": "mean agreement of pairs of ratings", "kappa": "Cohen's kappa", "AC1": "Gwet's AC1"}[measure]
        + ("" if weights == "none" else f", {weights} weights"),
        n_telling=_telling(units, q) if measure == "kappa" else None,
        **over,
    )


# --- sums over units ---


def _seen(total: FloatArray) -> FloatArray:
    return np.asarray(total[:, 0] / total[:, 1], dtype=np.float64)


def _unit_sums(counts: IntArray) -> FloatArray:
    """Return a row for each unit: agreement of its pairs, whether it has pairs, 1 if it has ratings, and their shares."""
    m = counts.sum(axis=1)
    paired = m > 1
    agreed = (counts * (counts - 1)).sum(axis=1) / np.maximum(m * (m - 1), 2)
    return np.column_stack((agreed, paired, m > 0, counts / np.maximum(m, 1)[:, None])).astype(np.float64)


def _table_sums(counts: IntArray, levels: FloatArray, metric: Metric) -> FloatArray:
    """Return what alpha needs of each unit's coincidences: every ordered pair of its ratings, with weight 1 / (ratings - 1)."""
    m = counts.sum(axis=1)
    weight = 1.0 / np.maximum(m - 1.0, 1.0)  # a single rating has no pairs to weigh
    if metric != "ordinal":
        n = counts.astype(np.float64)
        return _margin_sums(
            ((n @ _distances(levels, metric)) * n).sum(axis=1) * weight, n * (m > 1)[:, None], levels, metric
        )
    pairs = (counts[:, :, None] * counts[:, None, :]).astype(np.float64)
    pairs -= counts[:, :, None] * np.eye(counts.shape[1])
    pairs *= weight[:, None, None]
    return pairs.reshape(m.size, -1)


def _pair_sums(own: IntArray, theirs: IntArray, levels: FloatArray, metric: Metric) -> FloatArray:
    """Return what alpha needs of each unit's pairs of an own rating with one of theirs, in either order, of total weight 2."""
    one, other = (each / each.sum(axis=1)[:, None] for each in (own, theirs))
    if metric != "ordinal":
        return _margin_sums(2.0 * ((one @ _distances(levels, metric)) * other).sum(axis=1), one + other, levels, metric)
    pairs = one[:, :, None] * other[:, None, :]
    return (pairs + pairs.transpose(0, 2, 1)).reshape(one.shape[0], -1)


def _margin_sums(disagreement: FloatArray, margin: FloatArray, levels: FloatArray, metric: Metric) -> FloatArray:
    """Return disagreement beside what chance goes by: how often each category was given, or moments of the numbers."""
    if metric != "interval":
        return np.column_stack((disagreement, margin))
    x = np.asarray(levels - (levels[0] + levels[-1]) / 2.0, dtype=np.float64)
    return np.column_stack((disagreement, margin @ np.column_stack((np.ones(x.size), x, np.square(x)))))


def _alpha(total: FloatArray, levels: FloatArray, metric: Metric) -> FloatArray:
    """Return alpha of sums over units, one for each row."""
    if metric == "ordinal":
        o = total.reshape(-1, levels.size, levels.size)
        n_c = o.sum(axis=2)
        n, rank = n_c.sum(axis=1), np.cumsum(n_c, axis=1) - n_c / 2.0
        # Categories are as far apart as there are ratings between them.
        apart = np.square(rank[:, :, None] - rank[:, None, :])
        seen, chance = (o * apart).sum(axis=(1, 2)), (n_c[:, :, None] * n_c[:, None, :] * apart).sum(axis=(1, 2))
    elif metric == "interval":
        seen, n, first, second = total.T
        chance = 2.0 * (n * second - np.square(first))
        # Of ratings that are all the same, rounding leaves a little.
        chance = np.where(chance > 1e-12 * n * second, chance, 0.0)
    else:
        seen, n_c = total[:, 0], total[:, 1:]
        n, chance = n_c.sum(axis=1), ((n_c @ _distances(levels, metric)) * n_c).sum(axis=1)
    return np.asarray(1.0 - seen * (n - 1.0) / chance, dtype=np.float64)


def _distances(levels: FloatArray, metric: Metric) -> FloatArray:
    """Return how far categories are apart, shape (n_levels, n_levels); ordinal distances follow the ratings instead."""
    apart = levels[:, None] - levels[None, :]
    if metric == "nominal":
        return (apart != 0).astype(np.float64)
    if metric == "interval":
        return np.square(apart)
    total = levels[:, None] + levels[None, :]
    return np.square(apart / np.where(total > 0, total, 1.0))


# --- intervals ---


def _distinct_rows(units: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """Return the distinct rows in order, which of them each row is, and how many are alike."""
    spans = [int(span) + 1 for span in units.max(axis=0, initial=0)]
    if units.size == 0 or int(units.min()) < 0 or max(spans) * units.shape[0] >= 2**62:
        kinds, kind, many = np.unique(units, axis=0, return_inverse=True, return_counts=True)
        return kinds, kind.ravel(), many
    # One number for each row, in the same order: sorted much sooner than rows. Where it grows too large, its rank does as well.
    key, most = np.zeros(units.shape[0], dtype=np.int64), 1
    for column, span in zip(units.T, spans, strict=True):
        if most * span >= 2**62:
            seen, key = np.unique(key, return_inverse=True)
            most = seen.size
        key, most = key * span + column, most * span
    _, first, kind, many = np.unique(key, return_index=True, return_inverse=True, return_counts=True)
    return units[first], kind, many


def _in_blocks(kinds: IntArray, sums_of: SumsOf) -> Iterator[tuple[slice, FloatArray]]:
    """Give the sums of kinds of units, so many at a time that they take little room."""
    size = max(1, _MOST_CELLS // (4 * max(kinds.shape[1], sums_of(kinds[:1]).shape[1])))
    for start in range(0, kinds.shape[0], size):
        yield slice(start, start + size), sums_of(kinds[start : start + size])


def _sums_of_clusters(kinds: IntArray, kind: IntArray, codes: IntArray, n_clusters: int, sums_of: SumsOf) -> FloatArray:
    width = sums_of(kinds[:1]).shape[1]
    if n_clusters * width > 10 * _MOST_CELLS:
        raise InputError(
            f"{n_clusters:,} clusters of ratings with so many levels are out of reach; round the ratings, or take them as an "
            "interval scale"
        )
    ones = np.ones(kind.size)
    members = sparse.csc_array((ones, (codes, kind)), shape=(n_clusters, kinds.shape[0]))
    found = np.zeros((n_clusters, width))
    for part, rows in _in_blocks(kinds, sums_of):
        found += np.asarray(members[:, part] @ rows)
    return found


@record
class _UnitSums:
    """Sums over units, a row for each kind of unit (or of cluster) with its number of copies; in blocks if they are large."""

    n_units: int
    n_clusters: int | None
    copies: FloatArray
    total: FloatArray
    rows: FloatArray | None
    blocks: Callable[[], Iterable[tuple[slice, FloatArray]]]


def _sums_over(units: IntArray, sums_of: SumsOf, clusters: ArrayLike | None = None) -> _UnitSums:
    """Return sums of units that are alike once, with their number, whatever `sums_of` makes of them."""
    kinds, kind, many = _distinct_rows(units)
    n_clusters, rows = None, None
    if clusters is not None:
        codes, n_clusters = as_codes(clusters, units.shape[0])
        # Sorted, so that the order in which rows were given does not matter.
        rows, many = np.unique(_sums_of_clusters(kinds, kind, codes, n_clusters, sums_of), axis=0, return_counts=True)
    elif kinds.shape[0] * sums_of(kinds[:1]).shape[1] <= _MOST_CELLS:
        rows = np.concatenate([part for _, part in _in_blocks(kinds, sums_of)])
    blocks = (lambda: _in_blocks(kinds, sums_of)) if rows is None else (lambda held=rows: ((slice(None), held),))
    copies = np.asarray(many, dtype=np.float64)
    total = np.sum([copies[part] @ sums for part, sums in blocks()], axis=0)[None]
    return _UnitSums(
        n_units=units.shape[0], n_clusters=n_clusters, copies=copies, total=total, rows=rows, blocks=blocks
    )


def _over_units(
    units: IntArray,
    sums_of: SumsOf,
    statistic: Statistic,
    method: str,
    *,
    n_telling: int | None = None,
    **over: Unpack[Over],
) -> IntervalEstimate:
    """Estimate a function of sums over units, with a BCa interval over units, or over whole clusters of them."""
    sums = _sums_over(units, sums_of, over.get("clusters"))
    level, n_resamples, seed = (
        check_level(over.get("conf_level", 0.95)),
        over.get("n_resamples", 4000),
        over.get("seed", 0),
    )
    n, n_clusters, copies, total = sums.n_units, sums.n_clusters, sums.copies, sums.total
    with np.errstate(divide="ignore", invalid="ignore"):
        estimate = float(statistic(total)[0])
    if not np.isfinite(estimate):
        raise InputError(_why_undefined(total))
    reason = too_few_clusters(n_clusters) if n_clusters is not None else None
    if reason is None and n < _FEWEST_UNITS:
        reason = f"{n} units are too few for an interval; at least {_FEWEST_UNITS} are needed"
    if reason is None and n_telling is not None and n_telling < _FEWEST_TELLING:
        reason = f"only {n_telling} of {n} units have a rating other than the commonest; at least {_FEWEST_TELLING} are needed"
    ends, error, drawn = None, None, None
    if reason is None:
        influence = _influence(total, sums.blocks(), copies, statistic)
        error = float(np.sqrt((copies * np.square(influence)).sum()))
        if error <= 1e-12 * max(1.0, abs(estimate)):
            reason, error = "no unit differs from the others in this; the interval would have no width", None
        elif sums.rows is None or copies.size > _MOST_ROWS:
            half = normal_quantile(level) * error
            ends = estimate - half, min(estimate + half, 1.0)
            method = f"{method}; interval by the influence of single units"
        else:
            ends = _bca(
                estimate, sums.rows, copies, influence, statistic, level=level, n_resamples=n_resamples, seed=seed
            )
            drawn = n_resamples
            what = "units" if n_clusters is None else "clusters of units"
            method = f"{method}; BCa bootstrap of {what}"
            if ends is None:
                reason = "too few resamples have a value; there are too few units, or nearly all ratings are the same"
    return IntervalEstimate(
        estimate=estimate,
        method=method,
        conf_level=level,
        n=n,
        std_error=error,
        conf_low=None if ends is None else ends[0],
        conf_high=None if ends is None else ends[1],
        n_clusters=n_clusters,
        n_resamples=drawn,
        reason=reason,
    )


def _why_undefined(total: FloatArray) -> str:
    if not total.any():
        return "no unit has two ratings; agreement needs units that two raters rated"
    return "all ratings are the same, so that chance alone explains any agreement; report the raw agreement"


def _influence(
    total: FloatArray, blocks: Iterable[tuple[slice, FloatArray]], copies: FloatArray, statistic: Statistic
) -> FloatArray:
    """Return the jackknife influence of a unit of each row: how the statistic changes without it, n - 1 times over n."""
    n = copies.sum()
    found = np.empty(copies.size)
    with np.errstate(divide="ignore", invalid="ignore"):
        for part, rows in blocks:
            found[part] = np.concatenate(
                [statistic(total - rows[start : start + _BLOCK]) for start in range(0, len(rows), _BLOCK)]
            )
    known = np.isfinite(found)
    mean = float(copies[known] @ found[known]) / max(float(copies[known].sum()), 1.0)
    centred = np.where(known, mean - found, 0.0)
    return np.asarray(centred * np.sqrt((n - 1.0) / n), dtype=np.float64)


def _bca(
    estimate: float,
    rows: FloatArray,
    copies: FloatArray,
    influence: FloatArray,
    statistic: Statistic,
    *,
    level: float,
    n_resamples: int,
    seed: int,
) -> tuple[float, float] | None:
    """Return the ends of the BCa interval; None where a tenth of the resamples have no value."""
    rng = np.random.default_rng(seed)
    n = int(copies.sum())
    draws = np.empty(n_resamples)
    with np.errstate(divide="ignore", invalid="ignore"):
        for start in range(0, n_resamples, _BLOCK):
            size = min(_BLOCK, n_resamples - start)
            weights = rng.multinomial(n, copies / n, size=size).astype(np.float64)
            draws[start : start + size] = statistic(weights @ rows)
    defined: BoolArray = np.isfinite(draws)
    if defined.mean() < 0.9:
        return None
    known = np.sort(draws[defined])
    # Ties with the estimate count half: coefficients of few units take few values.
    below = (np.count_nonzero(known < estimate - 1e-12) + np.count_nonzero(known <= estimate + 1e-12)) / (
        2.0 * known.size
    )
    everyone = np.repeat(influence, copies.astype(np.int64)) if n <= _MOST_ROWS else influence
    # A bootstrap of few units is too narrow, as a normal law is beside t (Hesterberg 2015, doi:10.1080/00031305.2015.1089789).
    level = 1.0 - 2.0 * float(special.ndtr(-math.sqrt(n / (n - 1.0)) * t_quantile(level, n - 1.0)))
    tail = (1.0 - level) / 2.0
    beneath, above = corrected_tails(below, acceleration(everyone), level) or (tail, tail)
    low, high = (float(end) for end in np.quantile(known, (beneath, 1.0 - above)))
    return (low, high) if high > low else None


_MEANS = "of one rating", "of the mean of all ratings"
_MODELS = "each object has raters of its own", "raters are a sample", "these raters only, consistency"


@record
class IntraclassCorrelations:
    """The six intraclass correlations of Shrout and Fleiss, by name, with the mean squares behind them.

    Attributes
    ----------
    estimates
        "ICC1", "ICC2", "ICC3" (one rating) and "ICC1k", "ICC2k", "ICC3k" (mean of the k ratings). `df` is that of the
        numerator of F; `df_denominator` stands beside it.
    df_denominator
        Denominator degrees of freedom of F, by name.
    between, within, raters, residual
        Mean squares.
    """

    estimates: dict[str, IntervalEstimate]
    df_denominator: dict[str, float]
    between: float
    within: float
    raters: float
    residual: float
    n_raters: int


def intraclass_correlations(scores: ArrayLike, *, conf_level: float = 0.95) -> IntraclassCorrelations:
    """Estimate how much of the variance of ratings lies between the objects rated, in six ways.

    ICC1: every object has raters of its own. ICC2: the same raters rate all objects and are a sample of raters (agreement).
    ICC3: these raters and no others (consistency: a rater who is always stricter does not count). With k: for the mean of the
    k ratings.

    `scores`: float64, shape (n_objects, n_raters), complete: both at least 2.

    Notes
    -----
    Intervals invert F; those of ICC2 and ICC2k are approximate (Satterthwaite). p is of "objects do not differ".

    References
    ----------
    Shrout & Fleiss 1979, doi:10.1037/0033-2909.86.2.420; McGraw & Wong 1996, doi:10.1037/1082-989X.1.1.30.
    """
    level = check_level(conf_level)
    y = _complete(scores)
    n, k = y.shape
    of_object, of_rater = y.mean(axis=1), y.mean(axis=0)
    between = k * float(np.square(of_object - y.mean()).sum()) / (n - 1)
    within = float(np.square(y - of_object[:, np.newaxis]).sum()) / (n * (k - 1))
    raters = n * float(np.square(of_rater - y.mean()).sum()) / (k - 1)
    rest = y - of_object[:, np.newaxis] - of_rater + y.mean()
    residual = float(np.square(rest).sum()) / ((n - 1) * (k - 1))
    rounding = 1e-20 * float(np.square(y).max())
    if within <= rounding or between <= rounding:
        what = "the raters agree on every object" if within <= rounding else "the objects all have the same mean"
        raise InputError(f"{what}: an intraclass correlation has no interval there; check that the scores differ")
    estimates: dict[str, IntervalEstimate] = {}
    denominators: dict[str, float] = {}
    sides: tuple[tuple[str, str, float, float, float], ...] = (
        ("ICC1", "ICC1k", within, n * (k - 1.0), 0.0),
        ("ICC2", "ICC2k", residual, (n - 1.0) * (k - 1.0), k * (raters - residual) / n),
        ("ICC3", "ICC3k", residual, (n - 1.0) * (k - 1.0), 0.0),
    )
    for place, (one, mean, error, df, of_raters) in enumerate(sides):
        value = (between - error) / (between + (k - 1) * error + of_raters)
        statistic: float | None = None
        p: float | None = None
        ends: tuple[float, float] | None = None
        if error > rounding:
            f = float(between / error)
            statistic, p = f, _p_of_f(f, n - 1.0, df)
            ends = _f_limits(f, (n - 1.0, df), k, level)
            if one == "ICC2":
                ends = _limits_of_agreement((between, raters, residual), n, k, level)
        for kind, averaged in ((one, 1), (mean, k)):
            estimates[kind] = IntervalEstimate(
                estimate=_stepped_up(value, averaged),
                method=f"{kind}, {_MEANS[averaged > 1]}, {_MODELS[place]}",
                conf_level=level,
                n=n,
                conf_low=None if ends is None else _stepped_up(ends[0], averaged),
                conf_high=None if ends is None else _stepped_up(ends[1], averaged),
                statistic=statistic,
                df=n - 1.0,
                p_value=p,
                reason=None if ends else "the raters space all objects alike; the interval would have no width",
            )
            denominators[kind] = df
    return IntraclassCorrelations(
        estimates=estimates,
        df_denominator=denominators,
        between=between,
        within=within,
        raters=raters,
        residual=residual,
        n_raters=k,
    )


def _complete(scores: ArrayLike) -> FloatArray:
    y = np.asarray(scores, dtype=np.float64)
    if y.ndim != 2 or min(y.shape) < 2:
        raise InputError(
            f"scores have shape {y.shape}; give one row an object and one column a rater, at least 2 of each"
        )
    missing = int(np.count_nonzero(~np.isfinite(y)))
    if missing:
        raise InputError(f"{missing} of {y.size} scores are NaN or infinite; leave those objects out")
    return y


def _stepped_up(r: float, k: int) -> float:
    """Return the correlation of means of k ratings, by Spearman and Brown."""
    return r * k / (1.0 + r * (k - 1.0))


def _p_of_f(f: float, df: float, df_denominator: float) -> float:
    return positive_p(float(special.fdtrc(df, df_denominator, f)))


def _f_limits(statistic: float, free: tuple[float, float], k: int, level: float) -> tuple[float, float]:
    beyond = 0.5 + 0.5 * level
    low = statistic / float(special.fdtri(*free, beyond))
    high = statistic * float(special.fdtri(free[1], free[0], beyond))
    return (low - 1.0) / (low + k - 1.0), (high - 1.0) / (high + k - 1.0)


def _limits_of_agreement(squares: tuple[float, float, float], n: int, k: int, level: float) -> tuple[float, float]:
    between, raters, residual = squares
    r = (between - residual) / (between + (k - 1) * residual + k * (raters - residual) / n)
    of_raters, rest = k * r * raters / residual, n * (1.0 + (k - 1.0) * r) - k * r
    free = (k - 1.0) * (n - 1.0) * (of_raters + rest) ** 2 / ((n - 1.0) * of_raters**2 + rest**2)
    beyond = 0.5 + 0.5 * level
    upper, lower = float(special.fdtri(n - 1.0, free, beyond)), float(special.fdtri(free, n - 1.0, beyond))
    other = k * raters + (k * n - k - n) * residual
    low = n * (between - upper * residual) / (upper * other + n * between)
    return low, n * (lower * between - residual) / (other + n * lower * between)
