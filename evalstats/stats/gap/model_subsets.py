"""Agreement over many subsets of the models: how far a verdict hangs on which models were at hand."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from evalstats.errors import InputError
from evalstats.stats.checks import IntArray, check_count
from evalstats.stats.gap.correlations import CoefficientName, correlate
from evalstats.stats.gap.scores import LabLiveScores

SubsetKind: TypeAlias = Literal["random", "top", "adjacent"]
SIZES = (5, 10, 15, 20, 30, 50, 100)


@dataclass(frozen=True, slots=True, kw_only=True)
class SubsetAgreement:
    """A coefficient over subsets of one size and kind: mean, standard deviation, 5% and 95% quantile.

    Subsets overlap, so `sd` says how much the choice of models matters and is no standard error of the mean.
    """

    kind: SubsetKind
    size: int
    n_subsets: int
    mean: float
    sd: float
    low: float
    high: float


def subset_agreement(
    scores: LabLiveScores,
    *,
    name: CoefficientName = "kendall",
    sizes: Sequence[int] = SIZES,
    n_subsets: int = 200,
    seed: int = 0,
) -> tuple[SubsetAgreement, ...]:
    """Return agreement over random subsets, random subsets of the better half, and neighbours in the live order.

    Parameters
    ----------
    scores
        Both sides; errors are not used.
    name
        The coefficient; BenchBench's default is Kendall.
    sizes
        Numbers of models in a subset; those that leave no choice are passed over.
    n_subsets
        Random subsets of each size and kind. Neighbours are all there are.

    References
    ----------
    Perlitz et al. 2024, arXiv 2407.13696 (several sizes; random, top and adjacent models).

    Examples
    --------
    >>> s = LabLiveScores(lab=np.arange(12.0), live=np.arange(12.0))
    >>> [(r.kind, r.size, r.mean) for r in subset_agreement(s, sizes=[5])]
    [('random', 5, 1.0), ('top', 5, 1.0), ('adjacent', 5, 1.0)]
    """
    check_count(n_subsets, "n_subsets", least=2)
    if any(size < 3 for size in sizes):
        raise InputError(f"sizes are {list(sizes)}; a subset needs at least 3 models")
    found: list[SubsetAgreement] = []
    order = np.lexsort((scores.lab, -scores.live)).astype(np.int64)
    half = order[: (scores.n_models + 1) // 2]
    for size in sizes:
        # A stream of its own for each size: one size more does not move the others.
        rng = np.random.default_rng([seed, size])
        choices: list[tuple[SubsetKind, IntArray | None]] = [
            ("random", _random(order, size, n_subsets, rng)),
            ("top", _random(half, size, n_subsets, rng)),
            ("adjacent", sliding_window_view(order, size) if size < order.size else None),
        ]
        found += [_summary(scores, name, kind, places) for kind, places in choices if places is not None]
    return tuple(each for each in found if each.n_subsets > 1)


def _random(models: IntArray, size: int, n_subsets: int, rng: np.random.Generator) -> IntArray | None:
    if size >= models.size:
        return None
    return models[np.argsort(rng.random((n_subsets, models.size)), axis=1)[:, :size]]


def _summary(scores: LabLiveScores, name: CoefficientName, kind: SubsetKind, places: IntArray) -> SubsetAgreement:
    values = correlate(name, scores.lab[places], scores.live[places])
    values = values[np.isfinite(values)]
    if values.size < 2:
        return SubsetAgreement(
            kind=kind, size=places.shape[1], n_subsets=values.size, mean=0.0, sd=0.0, low=0.0, high=0.0
        )
    low, high = np.quantile(values, [0.05, 0.95])
    return SubsetAgreement(
        kind=kind,
        size=places.shape[1],
        n_subsets=values.size,
        mean=float(values.mean()),
        sd=float(values.std(ddof=1)),
        low=float(low),
        high=float(high),
    )
