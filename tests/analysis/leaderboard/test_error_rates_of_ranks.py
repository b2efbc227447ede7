"""How often rank sets that are counted from pairs exclude a true rank, where all models are equal.

Where every two models share enough items the sets are those of `stats.rank_sets`, whose rates are simulated with it. Here
are the two routes that only the leaderboard takes: models that cannot all be compared, and crossed clusters.
"""

import numpy as np
import pytest

from evalstats.analysis.design.metric import Metric
from evalstats.analysis.leaderboard.ranks import BoardScores, RankingOptions, ranking

CORRECT = Metric(
    benchmark="bench", name="correct", kind="binary", low=0.0, high=1.0, higher_is_better=True, unit="proportion"
)


def asked(seed: int) -> RankingOptions:
    return RankingOptions(metric=CORRECT, conf_level=0.95, adjust="max-t", baseline=None, top=(1,), seed=seed)


def any_wrong(values: np.ndarray, clusters: tuple[np.ndarray, ...], seed: int) -> bool:
    """Whether some rank set is not the whole range: with equal models every rank is a true rank of each."""
    m = values.shape[1]
    everyone = np.ones((m, m), dtype=np.bool_)
    scores = BoardScores(values=values, clusters=clusters, single=True, comparable=everyone)
    found = ranking(scores, asked(seed)).ranks
    assert "counted" in found.method
    return any(each.low != 1 or each.high != m for each in found.models)


def allowance(rate: float, n: int) -> float:
    """Four binomial standard errors."""
    return 4 * float(np.sqrt(rate * (1 - rate) / n))


def in_a_chain(rng: np.random.Generator, n: int = 120) -> np.ndarray:
    """Five equal models on items of different difficulty; the first and the last share no item."""
    ease = rng.normal(0, 1, n)[:, np.newaxis]
    values = (rng.logistic(size=(n, 5)) < ease).astype(float)
    values[: n // 2, 4] = np.nan
    values[n // 2 :, 0] = np.nan
    return values


def crossed(rng: np.random.Generator) -> tuple[np.ndarray, tuple[np.ndarray, ...]]:
    """Four equal models, 12 passages x 12 users, with an effect of model x passage and of model x user."""
    passage, user = np.repeat(np.arange(12), 12), np.tile(np.arange(12), 12)
    tilt = rng.normal(0, 0.8, (12, 4))[passage] + rng.normal(0, 0.8, (12, 4))[user]
    return (rng.logistic(size=(144, 4)) < tilt).astype(float), (passage, user)


def test_models_that_cannot_all_be_compared_are_rarely_misplaced() -> None:
    n = 15
    rng = np.random.default_rng(11)
    wrong = sum(any_wrong(in_a_chain(rng), (), seed) for seed in range(n))
    assert wrong / n <= 0.05 + allowance(0.05, n)


def test_crossed_clusters_are_rarely_misplaced_and_items_as_the_unit_often_are() -> None:
    n = 150
    rng = np.random.default_rng(12)
    wrong = naive = 0
    for seed in range(n):
        values, clusters = crossed(rng)
        wrong += any_wrong(values, clusters, seed)
        d = values[:, 0] - values[:, 1]
        naive += abs(d.mean()) > 1.96 * d.std(ddof=1) / 12
    assert wrong / n <= 0.05 + allowance(0.05, n)
    assert naive / n > 0.1  # one pair alone, taken as independent items: the simulation has teeth


@pytest.mark.slow
def test_the_rates_over_many_repetitions() -> None:
    n = 1500
    rng = np.random.default_rng(13)
    chain = sum(any_wrong(in_a_chain(rng), (), seed) for seed in range(n)) / n
    both = sum(any_wrong(*crossed(rng), seed) for seed in range(n)) / n
    assert chain <= 0.05 + allowance(0.05, n)
    assert both <= 0.05 + allowance(0.05, n)
