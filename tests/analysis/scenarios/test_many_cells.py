"""Changes against the average of many scenarios: the cells that stand for others give what all cells give."""

import numpy as np
import pytest
from scipy import sparse

from evalstats.analysis.scenarios import contrasts
from evalstats.stats.proportion_contrasts import proportion_contrasts

N = 260


def judged(shares, sizes, weights, variance):
    *made, counts = contrasts._proportions(shares, sizes, weights)
    found = proportion_contrasts(*made, variance=variance, df=np.full(len(variance), 80.0), counts=counts)
    return made[0].shape[1], np.stack([found.t, found.estimate, *found.interval(0.95)])


@pytest.mark.parametrize("heavy", [False, True])
def test_changes_from_the_average_of_many_scenarios(heavy, monkeypatch):
    """Two models of 260 scenarios and a contrast of two cells; one cell with most of the answers keeps all cells."""
    rng = np.random.default_rng(5)
    shares, sizes = rng.beta(6, 3, 2 * N), rng.integers(4, 12, 2 * N).astype(float)
    if heavy:
        sizes[[7, N + 7]] = 50_000.0
    rows = []
    for model in range(2):
        own = np.arange(N) + model * N
        rows += [(own, np.where(own == own[at], 1.0, -1 / (N - 1))) for at in (0, 7, 100, 259)]
    rows.append((np.array([3, 9]), np.array([-1.0, 1.0])))
    where, values = (np.concatenate([row[k] for row in rows]) for k in (0, 1))
    starts = np.cumsum([0, *(len(row[0]) for row in rows)])
    weights = sparse.csr_array((values, where, starts), shape=(len(rows), 2 * N))
    variance = np.full(len(rows), 0.02)
    width, found = judged(shares, sizes, weights, variance)
    monkeypatch.setattr(contrasts, "_MANY", 10_000)
    full, expected = judged(shares, sizes, weights, variance)
    assert full == N
    assert (width < N) != heavy
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-7)
    np.testing.assert_allclose(found[1], weights @ shares, rtol=0.0, atol=1e-12)
