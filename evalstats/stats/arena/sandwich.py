"""Terms of a sandwich covariance that is clustered in several ways."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from evalstats.stats.arena.fit import PairFit
from evalstats.stats.arena.jackknife import jackknifed
from evalstats.stats.arena.scores import Meat, ModelClusters, clustered_meat, model_clusters
from evalstats.stats.arena.votes import VoteRows
from evalstats.stats.checks import FloatArray, IntArray, as_codes

LARGE = 0.05  # share of all votes, or of those on one model, in one cluster, from which the jackknife is taken


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """The covariance by one way of clustering, or by the intersection of several.

    Attributes
    ----------
    jackknife
        Whether it is the one-step cluster jackknife; else the sandwich with G/(G - 1).
    n_whole
        Clusters that hold all that is known of some model, counted where the jackknife was taken.
    """

    covariance: FloatArray
    meat: Meat
    models: ModelClusters
    jackknife: bool = False
    n_whole: int = 0


def sandwich(bread: FloatArray, meat: FloatArray) -> FloatArray:
    """Return bread @ meat @ bread, symmetric to the last bit."""
    product = bread @ meat @ bread
    return (product + product.T) / 2.0


def term(fit: PairFit, rows: VoteRows, codes: IntArray, *, plain: bool) -> Term:
    """Return the covariance clustered by `codes`: jackknife where a cluster is large, unless `plain`."""
    meat = clustered_meat(fit, [replace(rows, clusters=(codes,))])
    count = meat.n_clusters
    models = model_clusters(rows, codes)
    if not plain and max(meat.largest_share, models.largest_share.max()) > LARGE and count > 1:
        total, n_whole = jackknifed(fit, rows, codes)
        covariance = (count - 1) / count * total
        return Term(
            covariance=(covariance + covariance.T) / 2.0, meat=meat, models=models, jackknife=True, n_whole=n_whole
        )
    return Term(covariance=sandwich(fit.bread, meat.matrix) * few_factor(count), meat=meat, models=models)


def terms(fit: PairFit, rows: VoteRows, columns: Sequence[IntArray], *, plain: bool) -> dict[tuple[int, ...], Term]:
    """Return the terms of inclusion and exclusion: each way, each pair of ways, ..., keyed by the ways' places."""
    found: dict[tuple[int, ...], Term] = {}
    for size in range(1, len(columns) + 1):
        for chosen in combinations(range(len(columns)), size):
            codes = intersection([columns[w] for w in chosen])
            found[chosen] = term(fit, rows, codes, plain=plain)
    return found


def inclusion_exclusion(found: Mapping[tuple[int, ...], Term]) -> FloatArray:
    """Return the sum of the terms: added for odd numbers of ways, subtracted for even."""
    return sum(
        ((-1.0) ** (len(chosen) + 1) * each.covariance for chosen, each in found.items()),
        start=np.zeros_like(next(iter(found.values())).covariance),
    )


def few_factor(n_clusters: int) -> float:
    """Return G/(G - 1), which makes up for residuals that were fitted; 1 for a single cluster, which has no variance."""
    return n_clusters / (n_clusters - 1) if n_clusters > 1 else 1.0


def nested_in(columns: Sequence[IntArray]) -> list[int | None]:
    """Return for each way the one of fewer clusters inside whose clusters all of its own lie; None for ways to be kept.

    Of ways that are the same in other names the first is kept.

    Examples
    --------
    >>> nested_in([np.array([0, 1, 2, 3]), np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])])
    [1, None, None]
    """
    counts = [int(np.unique(codes).size) for codes in columns]
    kept: list[int] = []
    parent: list[int | None] = [None] * len(columns)
    for w in sorted(range(len(columns)), key=lambda w: counts[w]):
        inside = (c for c in kept if int(intersection([columns[w], columns[c]]).max(initial=-1)) + 1 == counts[w])
        parent[w] = next(inside, None)
        if parent[w] is None:
            kept.append(w)
    return parent


def intersection(columns: Sequence[IntArray]) -> IntArray:
    """Return codes 0, 1, ... of the clusters that share a cluster in every way."""
    codes = columns[0]
    for other in columns[1:]:
        codes = np.unique(codes * (int(other.max(initial=0)) + 1) + other, return_inverse=True)[1]
    return as_codes(codes, codes.size)[0] if codes.size else codes
