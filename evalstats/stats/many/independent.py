"""All pairs of models on different users or items, as one family: independent groups, whose correlation is known.

References: Hasler & Hothorn 2008, doi:10.1002/bimj.200710466 (the largest t of groups with unlike variances); Westfall & Young
1993; Holm 1979, Scand. J. Statist. 6:65. The pairs' own tests are those of `evalstats.stats.unpaired`.
"""

from collections.abc import Sequence

import numpy as np
from scipy import special

from evalstats.stats.checks import FloatArray, IntArray
from evalstats.stats.estimate import SMALLEST_P, IntervalEstimate, normal_quantile
from evalstats.stats.many.multiplicity import Adjust, adjusted
from evalstats.stats.many.pairwise import PairwiseDifferences
from evalstats.stats.many.reference_laws import normal_known
from evalstats.stats.many.step_down import TwoSided, collect
from evalstats.stats.unpaired import (
    TwoProportions,
    adjusted_difference,
    at_covariate,
    clustered_difference,
    fisher_exact,
    miettinen_nurminen,
    welch,
)

_WORDS = {"max-t": "max-T step-down, independent groups", "holm": "Holm, Bonferroni intervals"}
# With fewer users of some model the far tail of a pair's own test is not to be relied on: see `tests/stats/test_independent.py`.
ENOUGH_UNITS = 40
# Statistics drawn of the largest one: 4,999 to 29,999 times as many as there are pairs.
_STATISTICS, _LEAST_DRAWS, _MOST_DRAWS = 25_000_000, 4_999, 29_999


def independent_differences(
    values: Sequence[FloatArray],
    *,
    pairs: Sequence[tuple[int, int]],
    clusters: Sequence[IntArray] | None = None,
    before: Sequence[FloatArray] | None = None,
    span: float | None = None,
    binary: bool = False,
    conf_level: float = 0.95,
    adjust: Adjust = "max-t",
    seed: int = 0,
) -> PairwiseDifferences:
    """Differences between models that were seen by different users, first minus second, as one family.

    Parameters
    ----------
    values
        float64 arrays, one for each model: the scores of its own rows.
    pairs
        Places of two models each.
    clusters
        Codes of the rows' users or sessions, over all models, shape of `values`; rows of a cluster may be of several models.
    before
        A covariate of the rows that was measured before anybody was assigned, shape of `values`.
    span
        Largest possible difference, to which intervals are clipped.
    binary
        Whether all scores are 0 or 1, one trial a row.
    adjust
        "max-t": step-down, with intervals that hold together, from 40 rows (or clusters) of every model on; "holm" (also below
        that), with Bonferroni's intervals; or "bh" or "by", whose intervals are not adjusted.
    seed
        Of the draws of "max-t".

    Returns
    -------
    PairwiseDifferences
        As `adjusted_difference` where there is a covariate, else by CR2 of two samples where there are clusters, else
        Miettinen-Nurminen for right-or-wrong scores, else Welch.

    Notes
    -----
    Pairs (i, j) and (i, k) of independent groups have the correlation v_i / sqrt((v_i + v_j) (v_i + v_k)), v the variances of the
    means (of right-or-wrong scores 1/n: equal models have one variance); where clusters have rows of several models, it is that
    of the CR2 covariance of all means. The p of each pair, whatever its df, is set against the largest |z| of normal differences
    with these correlations, drawn at random.

    Far in the tail, where many pairs are adjusted for, the score test rejects too often if few failures meet groups of unlike
    sizes: of ten models with 20 to 400 rows and 2% failures some pair in 10% of tables. So the larger of its p and of Fisher's
    mid-p is adjusted; `p_value` is the score test's own, which belongs to its interval.

    Examples
    --------
    >>> found = independent_differences(
    ...     [np.repeat([1.0, 0.0], [80, 20]), np.repeat([1.0, 0.0], [55, 45]), np.repeat([1.0, 0.0], [50, 50])],
    ...     pairs=[(0, 1), (0, 2), (1, 2)],
    ...     binary=True,
    ... )
    >>> found.estimate.round(2).tolist(), found.p_adjusted.round(2).tolist()
    ([0.25, 0.3, 0.05], [0.0, 0.0, 0.49])
    """
    first, second = np.array(pairs, dtype=np.int64).reshape(len(pairs), 2).T
    units = [own.size for own in values] if clusters is None else [np.unique(own).size for own in clusters]
    if adjust == "max-t" and (min(units) < ENOUGH_UNITS or len(pairs) < 2):
        adjust = "holm"
    level, critical, law, draws = conf_level, np.nan, None, None
    if adjust == "max-t":
        covariance = (
            np.diag([1.0 / own.size for own in values]) if binary else covariance_of_means(values, clusters, before)
        )
        equal, alike = np.zeros(len(values)), np.ones(len(pairs))
        draws = int(np.clip(_STATISTICS // len(pairs), _LEAST_DRAWS, _MOST_DRAWS))
        law = normal_known(equal, covariance, first, second, seed=seed, n_resamples=draws, variance=alike)
        largest = TwoSided(law.observed)
        collect(law, [largest])
        critical = max(largest.critical(conf_level)[0], normal_quantile(conf_level))
        level = 1.0 - 2.0 * float(special.ndtr(-critical))
    elif adjust == "holm":
        level = 1.0 - (1.0 - conf_level) / len(pairs)
    low, high = (None, None) if span is None else (-span, span)
    found: list[IntervalEstimate] = []
    tested: list[float] = []
    for i, j in pairs:
        codes = None if clusters is None else (clusters[j], clusters[i])
        if before is not None:
            own = adjusted_difference(
                values[j],
                values[i],
                before[j],
                before[i],
                clusters=codes,
                whole=np.concatenate(before),
                conf_level=level,
            )
        elif codes is not None:
            own = clustered_difference(values[j], values[i], *codes, conf_level=level, low=low, high=high)
        elif binary:
            counts = TwoProportions(
                baseline=round(values[j].sum()),
                n_baseline=values[j].size,
                candidate=round(values[i].sum()),
                n_candidate=values[i].size,
            )
            own = miettinen_nurminen(counts, conf_level=level)
            tested.append(fisher_exact(counts, mid=True))
        else:
            own = welch(values[j], values[i], conf_level=level, low=low, high=high)
        found.append(own)

    def column(name: str) -> FloatArray:
        numbers: list[float | None] = [getattr(each, name) for each in found]
        return np.array([np.nan if number is None else number for number in numbers])

    p = column("p_value")
    strictest = np.fmax(p, tested) if tested else p
    if law is None:
        p_adjusted = adjusted(strictest, adjust)
    else:
        z = np.where(np.isnan(p), 0.0, -special.ndtri(np.maximum(strictest, SMALLEST_P) / 2.0))
        stepped = TwoSided(z)
        collect(law, [stepped])
        stepped.add(z[np.newaxis], np.ones(1))  # so that no share of draws is 0
        p_adjusted = np.where(np.isnan(p), np.nan, np.maximum(stepped.p_adjusted(), strictest))
    return PairwiseDifferences(
        first=first,
        second=second,
        estimate=column("estimate"),
        std_error=column("std_error"),
        df=column("df"),
        p_value=p,
        p_adjusted=p_adjusted,
        p_tested=strictest,
        conf_low=column("conf_low"),
        conf_high=column("conf_high"),
        n_items=np.array([values[i].size + values[j].size for i, j in pairs], dtype=np.int64),
        n_clusters=None if clusters is None else np.array([each.n_clusters or 0 for each in found], dtype=np.int64),
        critical=critical,
        conf_level=conf_level,
        method=f"{found[0].method}, different items; {_WORDS.get(adjust, 'intervals not adjusted')}",
        adjust=adjust,
        exact=law is None,
        n_resamples=draws,
        seed=None if law is None else seed,
        warnings=tuple(dict.fromkeys(text for each in found for text in each.warnings)),
    )


def covariance_of_means(
    values: Sequence[FloatArray],
    clusters: Sequence[IntArray] | None = None,
    before: Sequence[FloatArray] | None = None,
) -> FloatArray:
    """Return the covariance of the models' means, CR2 where rows come in clusters, of what a covariate leaves.

    >>> covariance_of_means([np.array([0.0, 1, 2]), np.array([1.0, 1, 4])]).round(3).tolist()
    [[0.333, 0.0], [0.0, 1.0]]
    """
    if before is not None:
        middle = float(np.concatenate(before).mean())
        values = [at_covariate(own, x, middle) for own, x in zip(values, before, strict=True)]
    if clusters is None:
        return np.diag([float(np.square(own - own.mean()).sum()) / own.size / max(own.size - 1, 1) for own in values])
    n = 1 + max(int(codes.max()) for codes in clusters)
    influence = np.empty((len(values), n))
    for row, own, codes in zip(influence, values, clusters, strict=True):
        share = np.bincount(codes, minlength=n) / own.size
        pull = np.bincount(codes, weights=own - own.mean(), minlength=n) / own.size
        row[:] = pull / np.sqrt(np.where(share < 1.0, 1.0 - share, 1.0))
    return influence @ influence.T
