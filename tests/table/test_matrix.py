"""Items x models: the counts and sums that every question about many models starts from."""

import duckdb
import numpy as np
import polars as pl
import pytest

from evalstats.errors import InputError
from evalstats.table.items import score_matrix

N = 600
MODELS = ("c", "a", "b")


@pytest.fixture(scope="module")
def rows() -> pl.DataFrame:
    rng = np.random.default_rng(3)
    status = rng.choice(["scored", "error", "unscored"], N, p=[0.8, 0.1, 0.1])
    item = rng.integers(0, 60, N)
    return pl.DataFrame(
        {
            "model": rng.choice(list(MODELS), N),
            "task": rng.choice(["t1", "t2"], N),
            "item": [f"q{i}" for i in item],
            "variant": [""] * N,
            "score": pl.Series(np.where(status == "scored", rng.random(N).round(3), np.nan)).fill_nan(None),
            "status": status,
            "passage": [f"p{i // 4}" for i in item],
            "order": np.arange(N),
        }
    )


def test_every_cell_equals_the_slow_obvious_form(rows: pl.DataFrame) -> None:
    found = score_matrix(rows, arm="model", models=MODELS, factors=["passage", "order"])
    assert found.models == MODELS
    assert found.items.height == rows.select("task", "item", "variant").n_unique()
    for i, item in enumerate(found.items.iter_rows(named=True)):
        assert item["passage"] == f"p{int(item['item'][1:]) // 4}"
        for j, model in enumerate(MODELS):
            own = rows.filter(
                (pl.col("model") == model) & (pl.col("item") == item["item"]) & (pl.col("task") == item["task"])
            )
            assert found.n_scored[i, j] == (own["status"] == "scored").sum()
            assert found.n_lost[i, j] == (own["status"] != "scored").sum()
            assert found.total[i, j] == pytest.approx(own["score"].sum())
            mean = own["score"].mean()
            assert np.isnan(found.means()[i, j]) if mean is None else found.means()[i, j] == pytest.approx(mean)
    assert found.n_scored.sum() + found.n_lost.sum() == N


@pytest.mark.parametrize("kind", ["lazy", "pandas", "duckdb"])
def test_every_backend_and_any_order_of_rows_give_the_same_table(rows: pl.DataFrame, kind: str) -> None:
    shuffled = rows.sample(fraction=1.0, shuffle=True, seed=5)
    frames = {
        "lazy": shuffled.lazy,
        "pandas": shuffled.to_pandas,
        "duckdb": lambda: duckdb.from_arrow(shuffled.to_arrow()),
    }
    expected = score_matrix(rows, arm="model", models=MODELS)
    found = score_matrix(frames[kind](), arm="model", models=MODELS)
    assert found.items.equals(expected.items)
    assert np.array_equal(found.n_scored, expected.n_scored)
    np.testing.assert_allclose(found.total, expected.total, rtol=1e-12)


def test_a_subset_keeps_items_and_cells_together(rows: pl.DataFrame) -> None:
    found = score_matrix(rows, arm="model", models=MODELS)
    keep = (found.items["task"] == "t2").to_numpy()
    part = found.subset(keep)
    again = score_matrix(rows.filter(pl.col("task") == "t2"), arm="model", models=MODELS)
    assert part.items.equals(again.items)
    assert np.array_equal(part.n_lost, again.n_lost)
    assert np.array_equal(part.scored, again.scored)


def test_a_row_that_is_an_average_counts_its_trials() -> None:
    rows = {
        "model": ["a", "b"],
        "task": ["", ""],
        "item": ["q", "q"],
        "variant": ["", ""],
        "trial": [None, 0],
        "n_trials": [4, None],
        "score": [0.25, 1.0],
        "status": ["scored", "scored"],
    }
    found = score_matrix(rows, arm="model", models=["a", "b"])
    assert found.n_scored.tolist() == [[4, 1]]
    assert found.total.tolist() == [[1.0, 1.0]]


def test_models_that_do_not_fit_the_rows_are_refused(rows: pl.DataFrame) -> None:
    with pytest.raises(InputError, match="holds 'b'"):
        score_matrix(rows, arm="model", models=["a", "c"])
    with pytest.raises(InputError, match="name each once"):
        score_matrix(rows, arm="model", models=["a", "b", "c", "a"])


def test_a_model_without_rows_has_an_empty_column(rows: pl.DataFrame) -> None:
    found = score_matrix(rows, arm="model", models=[*MODELS, "silent"])
    assert not found.scored[:, 3].any()
    assert np.isnan(found.means()[:, 3]).all()


def test_cells_are_the_groups_of_rows_added_up():
    rng = np.random.default_rng(2)
    n = 400
    status = rng.choice(["scored", "error", "unscored"], n, p=[0.8, 0.1, 0.1])
    rows = pl.DataFrame(
        {
            "model": rng.choice(["m1", "m2", "m3"], n),
            "task": rng.choice(["", "t"], n),
            "item": rng.integers(0, 20, n).astype(str),
            "variant": [""] * n,
            "trial": pl.Series([None if k % 3 else k for k in range(n)], dtype=pl.Int64),
            "n_trials": pl.Series([None if k % 5 else 1 + k % 4 for k in range(n)], dtype=pl.Int64),
            "status": status,
            "score": pl.Series(rng.random(n)).set(pl.Series(status != "scored"), None),
        }
    )
    names = ("m3", "m1", "m2", "absent")
    held = score_matrix(rows, arm="model", models=names)
    grouped = score_matrix(rows.lazy(), arm="model", models=names)
    assert held.items.equals(grouped.items)
    assert (held.n_scored == grouped.n_scored).all()
    assert (held.n_lost == grouped.n_lost).all()
    assert held.total == pytest.approx(grouped.total, rel=1e-12)
    assert held.n_scored[:, 3].sum() == 0
    shuffled = score_matrix(rows.sample(fraction=1, shuffle=True, seed=1), arm="model", models=names)
    assert (shuffled.n_scored == held.n_scored).all()
    assert (shuffled.total == held.total).all()
    for frame in (rows, rows.lazy()):
        with pytest.raises(InputError, match="holds 'm3', which is none of the 2 models"):
            score_matrix(frame, arm="model", models=("m1", "m2"))
