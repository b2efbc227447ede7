"""`compare` on two runs of 10,000 items: everything it reports, against one bare test elsewhere."""

import numpy as np
import polars as pl
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar

from benchmarks.timing import Row, against, cpu_seconds
from evalstats.analysis.compare.compare import compare
from evalstats.schema.data import EvalData
from evalstats.schema.tables import check_table

N = 10_000


def run() -> list[Row]:
    """Binary with one trial, three trials, clusters."""
    rng = np.random.default_rng(0)
    single, trials = _data(rng, 1), _data(rng, 3)
    scores = [single.outcomes.filter(pl.col("model") == name)["score"].to_numpy() for name in "ab"]
    table = [[int(((scores[0] == i) & (scores[1] == j)).sum()) for j in (1, 0)] for i in (1, 0)]
    return [
        against(
            "compare, binary, 10,000 items",
            cpu_seconds(lambda: compare(single, "a", "b")),
            cpu_seconds(
                lambda: stats.bootstrap((scores[1] - scores[0],), np.mean, method="percentile", n_resamples=9999)
            ),
            "other: scipy's percentile bootstrap of the difference alone; target 1 s",
        ),
        against(
            "  the same against the bare McNemar test",
            cpu_seconds(lambda: compare(single, "a", "b")),
            cpu_seconds(lambda: mcnemar(table)),
            "other: statsmodels on a table already made; we read rows, pair, and test five factors",
        ),
        against("compare, 3 trials, 10,000 items", cpu_seconds(lambda: compare(trials, "a", "b")), None, "target 1 s"),
        against(
            "compare, 2,500 clusters, by 11 levels",
            cpu_seconds(lambda: compare(single, "a", "b", cluster="passage", by="domain")),
            None,
            "target 1 s",
        ),
    ]


def _data(rng: np.random.Generator, trials: int) -> EvalData:
    def side(model: str) -> pl.DataFrame:
        item = np.repeat(np.arange(N), trials)
        return pl.DataFrame(
            {
                "run": model,
                "model": model,
                "system": model,
                "benchmark": "b",
                "item": [f"q{i}" for i in item],
                "trial": np.tile(np.arange(trials), N),
                "metric": "correct",
                "score": rng.integers(0, 2, len(item)).astype(float),
                "status": "scored",
                "domain": [f"d{i % 11}" for i in item],
                "passage": [f"p{i // 4}" for i in item],
                "language": [f"l{i % 3}" for i in item],
            }
        )

    return EvalData(outcomes=check_table(pl.concat([side("a"), side("b")]), "outcomes"))
