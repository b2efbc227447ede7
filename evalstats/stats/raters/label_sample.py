"""Which items people label: how many of each stratum, which ones with which known chance, and whether a part was drawn at random.

A correction by labels rests on the chance with which each item came to be labelled. Items drawn here have a known one. Of items
that somebody else chose only a suspicion can be tested: that the judge scores them otherwise than the rest.

References: Neyman 1934, doi:10.2307/2342192; Cochran 1977, Sampling Techniques, chapter 5; Horvitz & Thompson 1952,
doi:10.1080/01621459.1952.10483446.
"""

from collections.abc import Iterator
from itertools import combinations
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from evalstats.errors import CannotAnswerError, InputError
from evalstats.stats.checks import BoolArray, FloatArray, IntArray, check_count

Feature = Literal["score", "extremeness", "disagreement"]
# Of labels drawn at random so many are called chosen.
CHOSEN_AT = 0.001
# Labels of every stratum: with fewer its spread is a guess.
LEAST_IN_STRATUM = 5
_STRATA = 4
# Share of items on which people say the opposite of a judge at an end of its range.
_UNSURE = 0.1


def neyman_allocation(sizes: ArrayLike, spreads: ArrayLike, n: int, *, least: int = LEAST_IN_STRATUM) -> IntArray:
    """Return how many of `n` labels each stratum gets: in proportion to its size times its spread, at least `least` of each.

    `sizes`: int64, shape (n_strata,). `spreads`: float64 of that shape, standard deviations of what is labelled. A stratum gets
    no more labels than it has items; what is over goes to the others.

    >>> neyman_allocation([500, 300, 200], [0.5, 0.25, 0.0], 100).tolist()
    [73, 22, 5]
    """
    size = np.asarray(sizes, dtype=np.int64)
    weight = np.maximum(size * np.asarray(spreads, dtype=np.float64), 1e-12 * size)
    n, floor = check_count(n, "n", least=1), np.minimum(size, least)
    if not floor.sum() <= n <= size.sum():
        raise InputError(
            f"{n} labels cannot be drawn from {size.sum()} items with at least {floor.sum()} of the strata"
        )
    low, high = 0.0, float((size / weight).max())
    for _ in range(200):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if np.clip(middle * weight, floor, size).sum() < n else (low, middle)
    ideal = np.clip(high * weight, floor, size)
    found = np.floor(ideal + 1e-9).astype(np.int64)
    # The largest remainders take the rest, one each and again.
    while (over := n - int(found.sum())) > 0:
        room = np.flatnonzero(found < size)
        found[room[np.argsort(found[room] - ideal[room], kind="stable")[:over]]] += 1
    return found


def label_strata(
    judged: FloatArray, how: Literal["random", "stratified", "disagreement"]
) -> tuple[IntArray, FloatArray]:
    """Return the stratum of each item and how far labels of each stratum are likely to spread.

    `judged`: float64, shape (n_items, n_systems), of which every row has a value. "stratified": quarters of the judge's mean
    score, with the spread of a share that is as high as the score stands in its range, from .1 to .9. "disagreement":
    items on which the systems' scores lie apart by more than the median, or at all where most do not; half of the labels are
    theirs.
    """
    with np.errstate(invalid="ignore"):
        mean: FloatArray = np.nanmean(judged, axis=1)
        apart: FloatArray = np.nanmax(judged, axis=1) - np.nanmin(judged, axis=1)
    if how == "stratified":
        levels, ends = np.unique(mean), np.quantile(mean, np.arange(1, _STRATA) / _STRATA)
        # A quarter begins at a score that there is, and above the lowest.
        starts = np.unique(np.maximum(np.searchsorted(levels, ends), min(1, len(levels) - 1)).astype(np.int64))
        codes = np.unique(np.digitize(mean, levels[starts]), return_inverse=True)[1].astype(np.int64)
        width = float(np.ptp(mean)) or 1.0
        place = (np.bincount(codes, weights=mean) / np.bincount(codes) - mean.min()) / width
        share = _UNSURE + (1.0 - 2.0 * _UNSURE) * place
        return codes, np.sqrt(share * (1.0 - share))
    if how == "disagreement":
        if judged.shape[1] < 2:
            raise InputError("items on which sides disagree need scores of two systems; draw at random or stratified")
        levels = np.unique(apart)
        if len(levels) < 2:
            raise CannotAnswerError("the judge scores no item apart from the others; draw at random or stratified")
        # Where most lie as far apart as any, these are the stratum.
        codes = (apart > min(float(np.median(apart)), float(levels[-2]))).astype(np.int64)
        return codes, 1.0 / np.bincount(codes)
    return np.zeros(len(judged), dtype=np.int64), np.ones(1)


def draw_sample(codes: IntArray, counts: IntArray, rng: np.random.Generator) -> tuple[IntArray, FloatArray]:
    """Draw so many items of each stratum without replacement: their places in random order, and the chance of each of them.

    >>> places, chances = draw_sample(np.array([0, 0, 0, 0, 1, 1]), np.array([2, 1]), np.random.default_rng(0))
    >>> sorted(chances.tolist())
    [0.5, 0.5, 0.5]
    """
    drawn = [
        (rng.choice(np.flatnonzero(codes == level), int(count), replace=False), count / (codes == level).sum())
        for level, count in enumerate(counts)
    ]
    places = np.concatenate([each for each, _ in drawn])
    chances = np.concatenate([np.full(len(each), chance) for each, chance in drawn])
    order = rng.permutation(len(places))
    return places[order], chances[order].astype(np.float64)


def chosen_part(
    judged: FloatArray, labelled: BoolArray, clusters: IntArray | None = None
) -> tuple[Feature, float, float] | None:
    """Say in what labelled items differ from the rest by more than a random draw would give, once in 1,000 such draws; or None.

    Returns the feature and the share of items above its mean among those with a label and among the others. The features are the
    judge's score of each system, how far it lies from its mean, and how far the scores of any two systems lie apart. Of each,
    items above the mean are counted: their number among labelled ones is hypergeometric (Fisher's exact test); p is adjusted for
    the number of features (Bonferroni). Where whole clusters are labelled or not, clusters are the units.

    `judged`: float64, shape (n_items, n_systems), NaN where there is none. `labelled`: shape (n_items,).
    """
    from scipy.stats import hypergeom  # slow to load

    if clusters is not None:
        size = np.bincount(clusters)
        share = np.bincount(clusters, weights=labelled) / np.maximum(size, 1)
        if np.isin(share[size > 0], (0.0, 1.0)).all():
            own = np.flatnonzero(size > 0)
            judged = np.array([[_mean(column[clusters == each]) for column in judged.T] for each in own.tolist()])
            labelled = share[own] == 1.0
    names, counts = list[Feature](), list[tuple[int, int, int, int]]()
    for feature, values in _features(judged):
        here = np.isfinite(values)
        known, own = values[here], labelled[here]
        mean = _mean(known)
        above = known > mean + 1e-9 * abs(mean)
        n, n_above, n_own = known.size, int(above.sum()), int(own.sum())
        if 0 < n_own < n and 0 < n_above < n:
            names.append(feature)
            counts.append((int((above & own).sum()), n, n_above, n_own))
    if not names:
        return None
    both, n, n_above, n_own = np.array(counts).T
    law = hypergeom(n, n_above, n_own)
    p = 2.0 * np.minimum(law.cdf(both), law.sf(both - 1))
    least = int(np.argmin(p))
    if p[least] * len(names) >= CHOSEN_AT:
        return None
    both, n, n_above, n_own = counts[least]
    return names[least], both / n_own, (n_above - both) / (n - n_own)


def _features(judged: FloatArray) -> Iterator[tuple[Feature, FloatArray]]:
    """Yield what labels may have been chosen by, one at a time: those of all pairs together would fill the memory."""
    columns = np.ascontiguousarray(judged.T)
    for column in columns:
        yield "score", column
    for column in columns:
        yield "extremeness", np.abs(column - _mean(column))
    for one, other in combinations(columns, 2):
        yield "disagreement", np.abs(one - other)


def _mean(values: FloatArray) -> float:
    known = values[np.isfinite(values)]
    return float(known.mean()) if known.size else np.nan
