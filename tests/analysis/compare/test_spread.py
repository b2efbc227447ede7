"""How graded differences of items lie: counted as a loop counts them, and said where there is something to say."""

from collections import Counter
from typing import Any

import numpy as np
import polars as pl
import pytest

import evalstats as es


def compared(old: Any, new: Any, **options: Any) -> es.Comparison:
    n = len(old)
    rows = {"item": [*range(n)] * 2, "model": ["old"] * n + ["new"] * n, "score": [*map(float, old), *map(float, new)]}
    return es.compare(
        es.from_frame(pl.DataFrame(rows), item="item", model="model", score="score"), "old", "new", **options
    )


def test_grades_are_counted_and_the_page_says_who_is_ahead(tmp_path: Any) -> None:
    rng = np.random.default_rng(2)
    old = rng.integers(1, 6, size=80)
    new = np.clip(old + rng.choice([-1, 0, 1, 2], size=80), 1, 5)
    result = compared(old, new)
    found = result.spread
    assert found is not None
    assert dict(zip(found.values, found.counts, strict=True)) == Counter((new - old).astype(float).tolist())
    assert (found.n_higher, found.n_lower) == (int((new > old).sum()), int((new < old).sum()))
    ahead, behind = (f"{100 * np.mean(part):.0f}%" for part in (new > old, new < old))
    section = result.document().section("spread")
    assert section is not None
    assert section.heading == f"new is ahead on {ahead} of the items, behind on {behind}"
    assert result.figure_frame("spread").columns == ["estimate", "n"]
    result.save(tmp_path / "r.json")
    assert es.load_result(tmp_path / "r.json") == result


def test_less_is_ahead_where_less_is_better() -> None:
    old = np.linspace(1.0, 9.0, 60)
    section = compared(old, old * 0.9, higher_is_better=False).document().section("spread")
    assert section is not None
    assert section.heading == "new is ahead on 100% of the items, behind on 0%"


@pytest.mark.parametrize("higher", [True, False])
def test_it_is_news_where_a_few_items_make_the_mean(higher: bool) -> None:
    old = np.linspace(1.0, 9.0, 60)
    apart = np.linspace(0.0, 0.05, 60)
    few, most = (np.where(np.arange(60) < 6, *values) + apart for values in ((9.0, -0.1), (0.1, 1.0)))
    for difference, news in ((few, True), (most, False)):
        section = compared(old, old + difference, higher_is_better=higher).document().section("spread")
        assert section is not None
        assert section.news == news


def test_many_values_are_counted_together_at_their_mean() -> None:
    rng = np.random.default_rng(4)
    old, new = rng.beta(0.5, 0.5, size=(2, 3000))  # many at either end
    found = compared(old, new).spread
    assert found is not None
    assert len(found.values) <= 200
    assert sum(found.counts) == 3000
    assert (found.values[0], found.values[-1]) == pytest.approx(((new - old).min(), (new - old).max()), abs=1e-8)
    assert np.average(found.values, weights=found.counts) == pytest.approx(np.mean(new - old), abs=1e-6)


def test_a_tiny_unit_keeps_values_apart() -> None:
    rng = np.random.default_rng(5)
    old, new = rng.choice([1.0, 2.0, 4.0], size=(2, 40))
    usual, tiny = compared(old, new).spread, compared(old * 1e-10, new * 1e-10).spread
    assert usual is not None
    assert tiny is not None
    assert tiny.counts == usual.counts
    assert tiny.values == pytest.approx([1e-10 * value for value in usual.values])


def test_right_or_wrong_few_or_equal_have_none() -> None:
    assert compared([0, 1] * 20, [1, 1] * 20).spread is None
    assert compared([1, 2, 3.5] * 5, [2, 2, 1.5] * 5).spread is None
