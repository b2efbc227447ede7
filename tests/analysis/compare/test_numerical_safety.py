"""`compare` from rows to answer on numbers at the edge: what is extreme is refused or right, and order changes nothing."""

import json
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import evalstats as es
from evalstats.analysis.compare.compare import compare
from evalstats.analysis.compare.result import Comparison
from evalstats.errors import InputError
from evalstats.schema.data import EvalData

TRIED = 0.37, -1.9, 0.05, 2.2, -0.4, 0.9, 0.01, 1.3, -0.6, 0.72, 0.11, 3.0
NUMBERS = ("estimate", "std_error", "conf_low", "conf_high")


def table(a: np.ndarray, b: np.ndarray, **columns: list[Any]) -> pl.DataFrame:
    n = len(a)
    return pl.DataFrame(
        {
            "item": [f"q{i}" for i in range(n)] * 2,
            "model": ["a"] * n + ["b"] * n,
            "score": np.concatenate([a, b]),
            **{name: values * 2 for name, values in columns.items()},
        }
    )


def read(rows: pl.DataFrame, trial: str | None = None) -> EvalData:
    return es.from_frame(rows, item="item", model="model", score="score", trial=trial)


def drawn(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    a = rng.normal(size=n)
    return a, 0.5 * a + 0.7 * rng.normal(size=n) + 0.2


def values_of(result: Comparison) -> dict[str, Any]:
    """Return all that a result says but where its rows stood, and the digests of what was read."""
    found = result.to_dict()
    for side in (found["baseline"], found["candidate"]):
        del side["runs"], side["origin"]
    found["flipped"] = {name: part for name, part in found["flipped"].items() if "_" not in name}
    return {name: part for name, part in found.items() if name != "origin"}


@pytest.mark.parametrize("power", [-200, -60, 30, 200])
def test_a_power_of_two_scales_all_numbers_and_no_p(power: int) -> None:
    a, b = drawn(60)
    scale = 2.0**power
    plain, scaled = compare(read(table(a, b)), "a", "b"), compare(read(table(scale * a, scale * b)), "a", "b")
    for name in NUMBERS:
        assert getattr(scaled, name) == pytest.approx(scale * getattr(plain, name), rel=1e-12)
    assert scaled.p_value == pytest.approx(plain.p_value, rel=1e-12)
    assert (scaled.verdict, scaled.method) == (plain.verdict, plain.method)


@pytest.mark.parametrize("scale", [1e-300, 1e-100, 1e100, 1e300])
def test_numbers_whose_squares_no_table_holds_are_refused_with_a_way_out(scale: float) -> None:
    a, b = drawn(20)
    with pytest.raises(InputError, match=r"give (them|it) in another unit"):
        compare(read(table(scale * a, scale * b)), "a", "b")


def test_one_tiny_number_among_others_is_no_fault() -> None:
    a, b = np.array(TRIED), np.array(TRIED[::-1])
    tiny = a.copy()
    tiny[0] = 1e-300
    zero = a.copy()
    zero[0] = 0.0
    first, second = (compare(read(table(each, b)), "a", "b") for each in (tiny, zero))
    assert [getattr(first, name) for name in NUMBERS] == [getattr(second, name) for name in NUMBERS]


@pytest.mark.parametrize(("a", "b"), [(1.0, 0.0), (0.0, 0.0), (0.3, 0.7), (0.3, 0.3)])
def test_one_item_claims_nothing_and_shows_no_width_of_zero(a: float, b: float) -> None:
    result = compare(read(table(np.array([a]), np.array([b]))), "a", "b")
    assert result.verdict in {"powerless", "invalid", "inconclusive"}
    assert result.estimate == b - a
    assert result.conf_low is None or (result.conf_high or 0.0) - result.conf_low > 0.5
    assert all(value is None or math.isfinite(value) for value in (result.std_error, result.conf_low, result.p_value))


@pytest.mark.parametrize("value", [0.0, 1.0, 0.3, 7.0, -2e60])
def test_ties_everywhere_are_not_called_a_difference_nor_sure(value: float) -> None:
    ties = np.full(50, value)
    result = compare(read(table(ties, ties)), "a", "b")
    assert result.estimate == 0.0
    assert result.verdict in {"inconclusive", "invalid"}
    assert result.conf_low is None or result.conf_low < 0 < (result.conf_high or 0.0)
    assert result.p_value in {None, 1.0}


@pytest.mark.parametrize("digits", [0, 1, 6])
def test_a_column_of_half_the_width_is_the_numbers_that_it_holds(digits: int) -> None:
    rng = np.random.default_rng(2)
    rows = table(rng.random(90).round(digits), rng.random(90).round(digits))
    narrow = rows.with_columns(pl.col("score").cast(pl.Float32))
    wide = narrow.with_columns(pl.col("score").cast(pl.Float64))
    assert values_of(compare(read(narrow), "a", "b")) == values_of(compare(read(wide), "a", "b"))


@pytest.mark.parametrize("seed", [1, 2])
def test_rows_in_another_order_give_the_same_bits(seed: int) -> None:
    rng = np.random.default_rng(7)
    n, trials = 80, 5
    rows = pl.DataFrame(
        {
            "item": [f"q{i}" for i in range(n) for _ in range(trials)] * 2,
            "model": ["a"] * n * trials + ["b"] * n * trials,
            "trial": list(range(trials)) * n * 2,
            "topic": [f"t{i % 7}" for i in range(n) for _ in range(trials)] * 2,
            "score": rng.random(2 * n * trials) ** 3,
        }
    )
    shuffled = rows.sample(fraction=1, shuffle=True, seed=seed)
    first, second = (compare(read(each, trial="trial"), "a", "b", by="topic") for each in (rows, shuffled))
    assert values_of(first) == values_of(second)


def test_each_level_is_compared_as_if_it_were_alone() -> None:
    rng = np.random.default_rng(4)
    n = 240
    topics = [f"t{i % 6}" for i in rng.permutation(n)]
    rows = table((rng.random(n) < 0.5) * 1.0, (rng.random(n) < 0.6) * 1.0, topic=topics)
    whole = compare(read(rows), "a", "b", by="topic")
    assert [group.level for group in whole.groups] == sorted(set(topics))
    for group in whole.groups:
        own = read(rows.filter(pl.col("topic") == group.level))
        alone = compare(own, "a", "b", conf_level=group.conf_level)
        assert [getattr(group, name) for name in (*NUMBERS, "p_value")] == [
            getattr(alone, name) for name in (*NUMBERS, "p_value")
        ]


def compared_by_topic() -> str:
    """What is found of 4,000 items, as JSON, but for how it was asked."""
    rng, n = np.random.default_rng(5), 4000
    rows = table(rng.random(n), rng.random(n), topic=[f"t{i % 9}" for i in range(n)])
    found = compare(read(rows), "a", "b", by="topic").to_dict()
    return json.dumps({name: part for name, part in found.items() if name != "settings"})


def test_the_number_of_threads_changes_no_bit() -> None:
    """In a process of its own, where there are three, and in this one, where there are as many as the tests run with."""
    names = ("POLARS_MAX_THREADS", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS")
    done = subprocess.run(
        [sys.executable, "-c", f"from {compared_by_topic.__module__} import compared_by_topic as c; print(c())"],
        env={**os.environ, **dict.fromkeys(names, "3")},
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == compared_by_topic()
