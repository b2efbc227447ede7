"""The one step that touches all rows gives the same small table wherever the rows are."""

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest

from evalstats.table.items import constant_factors, item_sums

N = 500


@pytest.fixture(scope="module")
def rows() -> pl.DataFrame:
    rng = np.random.default_rng(1)
    status = rng.choice(["scored", "error", "unscored"], N, p=[0.8, 0.1, 0.1])
    score = np.where(status == "scored", rng.random(N).round(3), np.nan)
    item = rng.integers(0, 40, N)
    return pl.DataFrame(
        {
            "model": rng.choice(["a", "b"], N),
            "task": rng.choice(["t1", "t2"], N),
            "item": [f"q{i}" for i in item],
            "variant": [""] * N,
            "score": pl.Series(score).fill_nan(None),
            "status": status,
            "passage": [f"p{i // 4}" for i in item],
            "order": np.arange(N),
        }
    )


def test_sums_equal_the_slow_obvious_form(rows: pl.DataFrame) -> None:
    table = item_sums(rows, arm="model")
    for row in table.iter_rows(named=True):
        own = [
            each
            for each in rows.iter_rows(named=True)
            if all(each[name] == row[name] for name in ("model", "task", "item", "variant"))
        ]
        scores = [each["score"] for each in own if each["score"] is not None]
        assert row["n_scored"] == len(scores)
        assert row["n_error"] == sum(each["status"] == "error" for each in own)
        assert row["n_unscored"] == sum(each["status"] == "unscored" for each in own)
        assert row["total"] == pytest.approx(sum(scores))
        assert row["total_sq"] == pytest.approx(sum(score**2 for score in scores))
    assert table["n_scored"].sum() + table["n_error"].sum() + table["n_unscored"].sum() == N


@pytest.mark.parametrize("kind", ["lazy", "pandas", "arrow", "duckdb"])
def test_every_backend_gives_the_same_table(rows: pl.DataFrame, kind: str) -> None:
    frames = {
        "lazy": rows.lazy,
        "pandas": rows.to_pandas,
        "arrow": rows.to_arrow,
        "duckdb": lambda: duckdb.from_arrow(rows.to_arrow()),
    }
    other = item_sums(frames[kind](), arm="model")
    expected = item_sums(rows, arm="model")
    assert other.drop("total", "total_sq").cast(pl.String).equals(expected.drop("total", "total_sq").cast(pl.String))
    # Sums may be added in another order: equal to the last few bits of a double.
    assert np.allclose(other["total"].to_numpy(), expected["total"].to_numpy(), rtol=1e-12)


def test_a_factor_that_varies_within_an_item_is_null(rows: pl.DataFrame) -> None:
    factors = constant_factors(rows, ["passage", "order"], key=["item"])
    assert factors["passage"].null_count() == 0
    assert factors["order"].null_count() == factors.height
    assert factors.columns == ["item", "passage", "order"]


def test_pandas_is_accepted_with_its_own_missing_values() -> None:
    frame = pd.DataFrame(
        {"model": ["a"], "task": [""], "item": ["q"], "variant": [""], "score": [float("nan")], "status": ["error"]}
    )
    assert item_sums(frame, arm="model")["n_error"].to_list() == [1]


def test_an_average_of_k_trials_counts_k_times() -> None:
    key = {"model": ["a"], "task": [""], "item": ["q"], "variant": [""], "status": ["scored"]}
    averaged = item_sums({**key, "score": [0.75], "trial": [None], "n_trials": [4]}, arm="model")
    assert averaged.select("n_scored", "total").row(0) == (4, 3.0)
    # Where the trial is known, n_trials says how many there were in all, not what this row stands for.
    single = item_sums({**key, "score": [1.0], "trial": [0], "n_trials": [4]}, arm="model")
    assert single.select("n_scored", "total").row(0) == (1, 1.0)


@pytest.mark.parametrize("name", ["*", "^.*$", "^item$", "_sum", "_is_scored", "_arm", "n_scored", "total"])
@pytest.mark.parametrize("kind", ["polars", "pandas", "arrow"])
def test_a_factor_may_have_any_name(rows: pl.DataFrame, name: str, kind: str) -> None:
    named = rows.rename({"passage": name})
    frame = {"polars": lambda: named, "pandas": named.to_pandas, "arrow": named.to_arrow}[kind]()
    expected = constant_factors(rows, ["passage", "order"])
    found = constant_factors(frame, [name, "order"])
    assert found[name].to_list() == expected["passage"].to_list()
    summed = [item_sums(each, arm="model") for each in (named, rows)]
    assert summed[0].drop("total", "total_sq").equals(summed[1].drop("total", "total_sq"))
    assert np.allclose(summed[0]["total"].to_numpy(), summed[1]["total"].to_numpy(), rtol=1e-12)
