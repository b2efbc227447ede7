"""Pairs of models on items that are clustered in several ways at once: multiway CR2, Holm, Bonferroni's intervals."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from evalstats.stats.clusters import multiway_mean
from evalstats.stats.many.multiplicity import benjamini_hochberg, benjamini_yekutieli, holm
from evalstats.stats.many.pairwise import Adjust, PairwiseDifferences

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


def crossed_pairs(
    values: Floats,
    clusters: Sequence[Ints],
    pairs: Sequence[tuple[int, int]],
    *,
    span: float | None,
    conf_level: float,
    adjust: Adjust,
) -> PairwiseDifferences:
    """Compare pairs of models on items that are clustered in several ways at once.

    Parameters
    ----------
    values
        float64, shape (n_items, n_models); NaN where there is none.
    clusters
        Codes of each cluster column, shape (n_items,).
    pairs
        Columns of the pairs that are the family.
    span
        Highest less lowest score, to which intervals are clipped; None where there are no bounds.
    adjust
        "max-t" is answered by Holm's method, and a warning says so: random signs need one way of clustering.
    """
    stepped = "holm" if adjust == "max-t" else adjust
    strict = stepped == "holm"
    level = 1.0 - (1.0 - conf_level) / (len(pairs) if strict else 1)
    rows: list[tuple[float, ...]] = []
    for i, j in pairs:
        d = values[:, i] - values[:, j]
        both = ~np.isnan(d)
        codes = [each[both] for each in clusters]
        low, high = (None, None) if span is None else (-span, span)
        found = multiway_mean(d[both], codes, conf_level=level, low=low, high=high)
        own = found.estimate
        p = own.p_value if d[both].any() else 1.0
        numbers = (own.estimate, own.std_error, own.df, p, own.conf_low, own.conf_high)
        rows.append((*(np.nan if x is None else x for x in numbers), int(both.sum()), found.n_clusters))
    table = np.array(rows, dtype=np.float64).reshape(len(rows), 8)
    first, second = np.array(pairs, dtype=np.int64).reshape(len(pairs), 2).T
    return PairwiseDifferences(
        first=first,
        second=second,
        estimate=table[:, 0],
        std_error=table[:, 1],
        df=table[:, 2],
        p_value=table[:, 3],
        p_adjusted=adjusted(table[:, 3], stepped),
        conf_low=table[:, 4],
        conf_high=table[:, 5],
        n_items=table[:, 6].astype(np.int64),
        n_clusters=table[:, 7].astype(np.int64),
        critical=np.nan,
        conf_level=conf_level,
        method=f"CR2 on {len(clusters)} cluster columns, Satterthwaite df{', Bonferroni intervals' if strict else ''}",
        adjust=stepped,
        exact=True,
        n_resamples=None,
        seed=None,
        warnings=(
            ("max-T needs one way of clustering, and there are several: p is adjusted by Holm's method",)
            if adjust == "max-t"
            else ()
        ),
    )


def adjusted(p_values: Floats, adjust: str) -> Floats:
    """Adjust p-values as one family; a pair without a p is not of it."""
    found = np.full(len(p_values), np.nan)
    tested = ~np.isnan(p_values)
    if tested.any():
        by = {"holm": holm, "bh": benjamini_hochberg, "by": benjamini_yekutieli}[adjust]
        found[tested] = by(p_values[tested])
    return found
