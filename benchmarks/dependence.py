"""The permutation test for undeclared dependence against the obvious loop over factors and permutations."""

import numpy as np

from benchmarks.timing import Row, against, cpu_seconds
from evalstats.stats.clusters import undeclared_dependence

N, FACTORS, PERMUTATIONS = 10_000, 10, 999
LOOP = 20  # permutations that the slow form runs; its time is scaled up


def run() -> list[Row]:
    """10,000 items, ten factors, 999 permutations."""
    rng = np.random.default_rng(0)
    d = rng.normal(size=N)
    factors = {f"f{k}": rng.integers(0, 5 * (k + 1), N) for k in range(FACTORS)}
    ours = cpu_seconds(lambda: undeclared_dependence(d, factors, n_permutations=PERMUTATIONS), repeats=3)
    slow = cpu_seconds(lambda: _loop(d, factors), repeats=1) * PERMUTATIONS / LOOP
    return [
        against("undeclared dependence, 10,000 x 10 factors", ours, slow, "other: loop over factors and permutations")
    ]


def _loop(d: np.ndarray, factors: dict[str, np.ndarray]) -> None:
    residuals = d - d.mean()
    rng = np.random.default_rng(1)
    for _ in range(LOOP):
        shuffled = rng.permutation(residuals)
        for codes in factors.values():
            sum(shuffled[codes == level].sum() ** 2 for level in np.unique(codes))
