"""p-values of no association between two orders of the same models: by permutation, exact where models are few."""

from dataclasses import dataclass
from functools import cache
from itertools import permutations

import numpy as np
from numpy.typing import ArrayLike

from evalstats.errors import CannotAnswerError
from evalstats.stats.checks import FloatArray, IntArray, as_values, check_count
from evalstats.stats.estimate import positive_p
from evalstats.stats.gap.correlations import CoefficientName, correlate, mean_ranks

COUNTED = 300  # models up to which Kendall's law is counted; beyond it takes seconds
LISTED = 8  # models up to which every one of the n! orders is looked at: 40320
_ROUNDING = 1e-10


@dataclass(frozen=True, slots=True, kw_only=True)
class AssociationTest:
    """Two-sided p of no association, and how it was reached.

    Attributes
    ----------
    estimate
        The coefficient.
    p_value
        Share of the orders of one side in which the coefficient is at least as far from 0; never 0.
    method
        In words.
    exact
        Whether every order was counted.
    """

    estimate: float
    p_value: float
    method: str
    exact: bool


def association_test(
    name: CoefficientName, x: ArrayLike, z: ArrayLike, *, seed: int = 0, n_resamples: int = 9999
) -> AssociationTest:
    """Test that the order of models on one side says nothing about the other, by permutation.

    Parameters
    ----------
    name
        "pearson", "spearman" or "kendall".
    x, z
        float64, shape (n_models,).
    seed, n_resamples
        Of the permutations that are drawn where they cannot be listed.

    Returns
    -------
    AssociationTest
        Kendall without ties: the exact law by counting. Up to 8 models: every permutation. Else permutations drawn at
        random and p = (hits + 1)/(n_resamples + 1).

    Raises
    ------
    CannotAnswerError
        If there are fewer than 3 models, or a side is constant.

    Notes
    -----
    Assumes that under no association every order of one side is equally likely given the other; noise of the scores does
    not disturb that, so the test needs no standard errors.

    References
    ----------
    Kendall 1938, Biometrika 30:81 (the recursion); Phipson & Smyth 2010, doi:10.2202/1544-6115.1585 (never zero).

    Examples
    --------
    >>> r = association_test("kendall", [1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 3.0, 4.0])
    >>> round(r.p_value, 6), r.exact
    (0.083333, True)
    """
    a, b = as_values(x, "lab scores"), as_values(z, "live scores")
    estimate = float(correlate(name, a, b))
    if a.size < 3 or np.isnan(estimate):
        raise CannotAnswerError("no association can be tested: it needs 3 models or more, and two sides that vary")
    if name == "kendall" and a.size <= COUNTED and _untied(a) and _untied(b):
        return AssociationTest(
            estimate=estimate, p_value=_kendall_p(estimate, a.size), method="exact law of Kendall's tau", exact=True
        )
    if a.size <= LISTED:
        orders = _every_order(a.size)
        hits, total = _hits(name, a, b, estimate, orders), len(orders)
        return AssociationTest(
            estimate=estimate, p_value=positive_p(hits / total), method=f"all {total} permutations", exact=True
        )
    n = check_count(n_resamples, "n_resamples", least=99)
    hits = _drawn_hits(name, (a, b), estimate, n_resamples=n, seed=seed)
    return AssociationTest(
        estimate=estimate, p_value=positive_p((hits + 1) / (n + 1)), method=f"{n} random permutations", exact=False
    )


def _untied(values: FloatArray) -> bool:
    return np.unique(values).size == values.size


def _kendall_p(tau: float, n: int) -> float:
    """Chance of at least so few or so many discordant pairs, by counting permutations with each number of inversions."""
    law = _inversion_law(n)
    pairs = n * (n - 1) // 2
    discordant = round(pairs * (1.0 - tau) / 2.0)
    return positive_p(2.0 * float(law[: min(discordant, pairs - discordant) + 1].sum()))


@cache
def _inversion_law(n: int) -> FloatArray:
    """Probability of each number of inversions: one more element adds 0..m inversions, all equally likely."""
    law = np.ones(1)
    for m in range(1, n):
        law = np.convolve(law, np.ones(m + 1)) / (m + 1)  # direct sums of positive terms: the far tail keeps its digits
    law.setflags(write=False)
    return law


@cache
def _every_order(n: int) -> IntArray:
    return np.array(list(permutations(range(n))), dtype=np.int64)


def _hits(name: CoefficientName, a: FloatArray, b: FloatArray, estimate: float, orders: IntArray) -> int:
    """Orders in which the coefficient is as far from 0; a hair nearer counts, since it is the same number but for rounding."""
    if name == "spearman":
        a, b, name = mean_ranks(a), mean_ranks(b), "pearson"
    values = np.abs(correlate(name, a, b[orders]))
    return int(np.count_nonzero(values >= abs(estimate) - _ROUNDING))


def _drawn_hits(
    name: CoefficientName, sides: tuple[FloatArray, FloatArray], estimate: float, *, n_resamples: int, seed: int
) -> int:
    rng, hits, done, n = np.random.default_rng(seed), 0, 0, sides[0].size
    while done < n_resamples:
        take = min(max(1, 1_000_000 // n), n_resamples - done)
        orders = np.argsort(rng.random((take, n)), axis=-1)
        hits += _hits(name, *sides, estimate, orders)
        done += take
    return hits
