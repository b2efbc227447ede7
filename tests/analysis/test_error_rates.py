"""How often `compare` claims a direction when there is none, and how often its interval holds the truth.

The whole path is run, method choice and verdict included. Each bound is the nominal 5% plus three standard errors of a
simulated share.
"""

import math
from collections.abc import Callable

import numpy as np
import pytest

from evalstats.analysis.compare.compare import compare
from evalstats.schema.data import EvalData
from tests.analysis.builders import data_of, rows_of

REPLICATES = 400
LEVEL = 0.05
TOLERANCE = 3 * math.sqrt(LEVEL * (1 - LEVEL) / REPLICATES)


def independent(rng: np.random.Generator) -> EvalData:
    """One trial, 80 items of their own difficulty, no difference between the models."""
    p = rng.beta(2, 1, 80)
    return data_of(*[rows_of(m, (rng.random(80) < p).astype(float).tolist()) for m in "ab"])


def trials(rng: np.random.Generator) -> EvalData:
    """Three trials of each of 60 items."""
    p = np.repeat(rng.beta(2, 1, 60), 3)
    return data_of(*[rows_of(m, (rng.random(180) < p).astype(float).tolist(), trials=3) for m in "ab"])


def clustered(rng: np.random.Generator) -> EvalData:
    """Three trials of 60 items in 12 passages of unequal size; which model a passage favours is drawn by passage."""
    sizes = [2, 2, 3, 3, 4, 4, 5, 5, 6, 8, 8, 10]
    passage = np.repeat(np.arange(12), sizes)
    favour = rng.normal(0, 1.0, 12)[passage]
    base = rng.normal(0.5, 1, 60)
    levels = {"passage": [f"p{i}" for i in passage]}
    parts: list[list[dict[str, object]]] = []
    for model, sign in (("a", -0.5), ("b", 0.5)):
        p = np.repeat(1 / (1 + np.exp(-(base + sign * favour))), 3)
        parts.append(rows_of(model, (rng.random(180) < p).astype(float).tolist(), trials=3, factors=levels))
    return data_of(*parts, dependence=["passage"])


def near_the_ceiling(rng: np.random.Generator) -> EvalData:
    """Both models are right 95 times in 100, on 43 items."""
    return data_of(*[rows_of(m, (rng.random(43) < 0.95).astype(float).tolist()) for m in "ab"])


def continuous(rng: np.random.Generator) -> EvalData:
    """Skewed scores without bounds, 30 items."""
    base = rng.normal(0, 1, 30)
    return data_of(*[rows_of(m, (base + rng.exponential(1, 30)).tolist()) for m in "ab"], kind="continuous")


@pytest.mark.slow
@pytest.mark.parametrize("world", [independent, trials, clustered, near_the_ceiling, continuous])
def test_false_directions_stay_below_five_percent(world: Callable[[np.random.Generator], EvalData]) -> None:
    rng = np.random.default_rng(20261121)
    claims, misses = 0, 0
    for _ in range(REPLICATES):
        result = compare(world(rng), "a", "b")
        claims += result.verdict in ("better", "worse")
        assert result.conf_low is not None
        assert result.conf_high is not None
        misses += not result.conf_low <= 0 <= result.conf_high
    assert claims / REPLICATES <= LEVEL + TOLERANCE
    assert misses / REPLICATES <= LEVEL + TOLERANCE


@pytest.mark.slow
def test_the_item_level_answer_to_clustered_data_would_claim_far_too_often() -> None:
    """Without this the test above could pass on data that need no clusters."""
    rng = np.random.default_rng(7)
    claims = 0
    for _ in range(200):
        data = clustered(rng)
        plain = EvalData(outcomes=data.outcomes, metrics=data.metrics)
        claims += compare(plain, "a", "b").verdict in ("better", "worse")
    assert claims / 200 > 0.08
