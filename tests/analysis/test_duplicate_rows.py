"""Items with the very same scores are copies only where unrelated items would seldom agree."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import evalstats as es
from tests.analysis.builders import told

N = 200


def warned(first: np.ndarray, second: np.ndarray) -> list[str]:
    frame = pl.concat(
        pl.DataFrame({"item": [f"q{i}" for i in range(len(scores))], "model": name, "score": scores.astype(float)})
        for name, scores in (("old", first), ("new", second))
    )
    result = es.compare(es.from_frame(frame, item="item", score="score", model="model"), "old", "new")
    return [text for text in told(result) if "distinct scores" in text]


def test_copies_of_few_templates_are_named() -> None:
    rng = np.random.default_rng(1)
    family = rng.integers(0, 30, N)
    (text,) = warned(rng.normal(size=30)[family], rng.normal(size=30)[family])
    assert text.startswith(f"Only {len(np.unique(family))} of {N} items")


@pytest.mark.parametrize(
    "draw",
    [
        pytest.param(lambda rng: rng.integers(1, 11, N), id="ratings from 1 to 10"),
        pytest.param(lambda rng: rng.integers(0, 101, N), id="whole percentages"),
        pytest.param(lambda rng: np.where(rng.random(N) < 0.6, 0, rng.random(N).round(4)), id="F1, mostly 0"),
        pytest.param(lambda rng: np.where(rng.random(N) < 0.5, 1, rng.random(N).round(4)), id="F1 at the ceiling"),
    ],
)
def test_unrelated_items_that_happen_to_agree_are_no_copies(draw) -> None:
    rng = np.random.default_rng(2)
    assert not warned(draw(rng), draw(rng))


def test_the_published_copies_of_tenacious_bench(shared_data: Path) -> None:
    data = es.read(shared_data / "tenacious" / "ablations")
    rows = data.outcomes.sort("run", "metric").group_by("item").agg("score")  # counted with no pivot, no pairing
    warnings = told(es.compare(data, "baseline", "trained"))
    assert rows.height == 43
    assert any(text.startswith(f"Only {rows['score'].n_unique()} of 43 items") for text in warnings)
