"""A difference that comes from one stretch of the items: when it is told, by which units, and what is said of it."""

from typing import Any

import numpy as np
import polars as pl
import pytest

import evalstats as es
from evalstats.schema.data import EvalData


def data(old: Any, new: Any, **factors: Any) -> EvalData:
    n = len(old)
    rows = {
        "item": [f"q{k:03d}" for k in range(n)] * 2,
        "model": ["old"] * n + ["new"] * n,
        "score": np.concatenate([old, new]).astype(float),
    }
    columns = {name: list(values) * 2 for name, values in factors.items()}
    return es.from_frame(pl.DataFrame(rows | columns), item="item", model="model", score="score")


def stretch(n: int = 200, start: int = 120, end: int = 160) -> tuple[Any, Any]:
    old = np.arange(n) % 2 == 0
    new = old | ((np.arange(n) >= start) & (np.arange(n) < end))
    return old, new


def test_a_stretch_is_told_with_its_difference_and_that_of_the_rest() -> None:
    found = es.compare(data(*stretch()), "old", "new").uneven
    assert found is not None
    assert (found.unit, found.order, found.n_units) == ("item", "file order", 200)
    # The first item that differs is the 122nd, since every other one was right before.
    assert (found.first, found.last) == (122, 160)
    assert (found.inside, found.outside) == pytest.approx((20 / 39, 0.0))
    assert found.path[0][:2] == (0, 0.0)
    assert found.path[-1][:2] == (200, pytest.approx(0.1))


def test_the_same_items_in_another_order_tell_nothing() -> None:
    old, new = stretch()
    order = np.random.default_rng(5).permutation(old.size)
    result = es.compare(data(old[order], new[order]), "old", "new")
    assert result.uneven is None
    assert result.document().section("order") is None


def test_clusters_are_the_units() -> None:
    """All items of a stretch in one of 40 clusters: one unit that stands out, which is no drift."""
    old, new = stretch(start=120, end=125)
    assert es.compare(data(old, new, passage=np.arange(200) // 5), "old", "new", cluster="passage").uneven is None
    found = es.compare(data(*stretch(), passage=np.arange(200) // 5), "old", "new", cluster="passage").uneven
    assert found is not None
    assert (found.unit, found.n_units, found.first, found.last) == ("cluster", 40, 25, 32)


def test_what_is_said_stands_on_the_page_and_survives_a_file(tmp_path: Any) -> None:
    result = es.compare(data(*stretch()), "old", "new")
    section = result.document().section("order")
    assert section is not None
    assert section.heading == "The difference varies along the order of the items; items 122 to 160 stand out"
    assert "It is +51.3 pp in items 122 to 160 and 0.0 pp in the others" in section.blocks[0].text  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
    rows = result.figure_frame("order")
    assert rows.columns == ["n", "estimate", "conf_low", "conf_high"]
    assert rows["estimate"][-1] == pytest.approx(100 * (result.estimate or 0.0))
    result.save(tmp_path / "r.json")
    assert es.load_result(tmp_path / "r.json") == result


def test_a_watched_run_and_an_average_over_levels_have_none() -> None:
    given = data(*stretch(), topic=np.arange(200) % 4)
    assert es.compare(given, "old", "new", sequential=True).uneven is None
    assert es.compare(given, "old", "new", average="macro", over="topic").uneven is None
