"""The exact law of the percentile bootstrap against resampling with scipy (10,000 resamples)."""

import numpy as np
from scipy import stats

from benchmarks.timing import Row, against, cpu_seconds
from evalstats.stats.bootstrap import percentile_law

# scipy holds all resamples at once; above this many items it is extrapolated from its own time at this size.
SCIPY_ITEMS = 10_000
RESAMPLES = 10_000


def run() -> list[Row]:
    """Continuous and right-or-wrong differences, with and without clusters."""
    rng = np.random.default_rng(0)
    rows: list[Row] = []
    for n, target in ((300, "1 ms"), (10_000, "10 ms"), (1_000_000, "50 ms")):
        rows.append(_row(f"continuous, n = {n:,}", rng.normal(size=n), target))
        rows.append(_row(f"binary pairs, n = {n:,}", rng.integers(-1, 2, n).astype(float), target))
    return rows


def _row(name: str, values: np.ndarray, target: str) -> Row:
    ours = cpu_seconds(lambda: percentile_law(values, conf_level=0.95))
    part = values[:SCIPY_ITEMS]
    other = cpu_seconds(
        lambda: stats.bootstrap((part,), np.mean, method="percentile", n_resamples=RESAMPLES, batch=100), repeats=1
    )
    scaled = other * len(values) / len(part)
    note = "scipy extrapolated from 10,000 items; " if len(values) > SCIPY_ITEMS else ""
    return against(f"percentile bootstrap, {name}", ours, scaled, f"{note}target {target}")
