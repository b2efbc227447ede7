"""All pairs of models on different users or items, as one family: independent groups, adjusted by Holm's method.

References: Holm 1979, Scand. J. Statist. 6:65; the pairs' own tests are those of `evalstats.stats.unpaired`.
"""

from collections.abc import Sequence

import numpy as np

from evalstats.stats.checks import FloatArray, IntArray
from evalstats.stats.estimate import IntervalEstimate
from evalstats.stats.many.multiplicity import Adjust, adjusted
from evalstats.stats.many.pairwise import PairwiseDifferences
from evalstats.stats.unpaired import TwoProportions, clustered_difference, fisher_exact, miettinen_nurminen, welch


def independent_differences(
    values: Sequence[FloatArray],
    *,
    pairs: Sequence[tuple[int, int]],
    clusters: Sequence[IntArray] | None = None,
    span: float | None = None,
    binary: bool = False,
    conf_level: float = 0.95,
    adjust: Adjust = "holm",
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
    span
        Largest possible difference, to which intervals are clipped.
    binary
        Whether all scores are 0 or 1, one trial a row.
    adjust
        "holm" (also in the place of "max-t"), with Bonferroni's intervals; or "bh", "by", "none", whose intervals are not
        adjusted.

    Returns
    -------
    PairwiseDifferences
        By CR2 of two samples where there are clusters, else Miettinen-Nurminen for right-or-wrong scores, else Welch.

    Notes
    -----
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
    >>> found.estimate.round(2).tolist(), found.p_adjusted.round(4).tolist()
    ([0.25, 0.3, 0.05], [0.0003, 0.0, 0.4834])
    """
    stepped: Adjust = "holm" if adjust == "max-t" else adjust
    strict = stepped == "holm"
    level = 1.0 - (1.0 - conf_level) / (len(pairs) if strict else 1)
    low, high = (None, None) if span is None else (-span, span)
    found: list[IntervalEstimate] = []
    tested: list[float] = []
    for i, j in pairs:
        if clusters is not None:
            own = clustered_difference(
                values[j], values[i], clusters[j], clusters[i], conf_level=level, low=low, high=high
            )
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
        values: list[float | None] = [getattr(each, name) for each in found]
        return np.array([np.nan if value is None else value for value in values])

    first, second = np.array(pairs, dtype=np.int64).reshape(len(pairs), 2).T
    p = column("p_value")
    words = {"holm": "Holm, Bonferroni intervals", "none": "not adjusted"}
    return PairwiseDifferences(
        first=first,
        second=second,
        estimate=column("estimate"),
        std_error=column("std_error"),
        df=column("df"),
        p_value=p,
        p_adjusted=adjusted(np.fmax(p, tested) if tested else p, stepped),
        conf_low=column("conf_low"),
        conf_high=column("conf_high"),
        n_items=np.array([values[i].size + values[j].size for i, j in pairs], dtype=np.int64),
        n_clusters=None if clusters is None else np.array([each.n_clusters or 0 for each in found], dtype=np.int64),
        critical=np.nan,
        conf_level=conf_level,
        method=f"{found[0].method}, different items; {words.get(stepped, 'intervals not adjusted')}",
        adjust=stepped,
        exact=True,
        n_resamples=None,
        seed=None,
        warnings=tuple(dict.fromkeys(text for each in found for text in each.warnings)),
    )
