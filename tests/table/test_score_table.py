"""The one table: every cell is what a plain loop over the rows counts, and its values follow from the cells."""

from math import comb

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalstats.errors import InputError, NothingSharedError
from evalstats.table import items as items_module
from evalstats.table.items import item_codes, item_factors, text_codes
from evalstats.table.metric import MetricFacts
from evalstats.table.score_table import ScoreTable, refuse_unpaired
from evalstats.table.systems import System

CORRECT = MetricFacts(benchmark="b", name="correct", kind="binary", low=0.0, high=1.0, higher_is_better=True, unit="")
N = 600


def system(name: str, rows: pl.DataFrame) -> System:
    return System(name=name, rows=rows, runs=(name,))


def one_cell(**rows: list[object]) -> ScoreTable:
    n = len(rows["score"])
    key = {"task": [""] * n, "item": ["q"] * n, "variant": [""] * n}
    status = ["scored" if each is not None else "error" for each in rows["score"]]
    frame = pl.DataFrame({**key, "status": status, "trial": list(range(n)), "n_trials": [None] * n, **rows})
    return ScoreTable.of([system("a", frame)], CORRECT)


@pytest.fixture(scope="module")
def rows() -> pl.DataFrame:
    rng = np.random.default_rng(3)
    status = rng.choice(["scored", "error", "unscored"], N, p=[0.8, 0.1, 0.1])
    item = rng.integers(0, 60, N)
    return pl.DataFrame(
        {
            "model": rng.choice(["a", "b", "c"], N),
            "task": rng.choice(["t1", "t2"], N),
            "item": [f"q{i}" for i in item],
            "variant": [""] * N,
            "score": pl.Series(np.where(status == "scored", rng.random(N).round(3), np.nan)).fill_nan(None),
            "status": status,
            "*": [f"p{i // 4}" for i in item],
            "order": np.arange(N),
        }
    )


def table_of(rows: pl.DataFrame) -> ScoreTable:
    own = [system(name, rows.filter(model=name)) for name in "cab"]
    return ScoreTable.of(own, CORRECT, factors=["*", "order"])


def test_every_cell_is_what_a_loop_counts_in_any_order_of_rows(rows: pl.DataFrame) -> None:
    table = table_of(rows)
    assert len(table) == rows.select("task", "item").n_unique()
    for i, item in enumerate(table.items.iter_rows(named=True)):
        assert item["*"] == f"p{int(item['item'][1:]) // 4}"
        for j, name in enumerate(table.names):
            own = rows.filter(model=name, item=item["item"], task=item["task"])
            scores = own["score"].drop_nulls().to_numpy()
            assert table.n_scored[i, j] == len(scores)
            assert table.n_lost[i, j] >= (own["status"] != "scored").sum()
            assert table.total[i, j] == pytest.approx(scores.sum())
            assert table.total_sq[i, j] == pytest.approx((scores**2).sum())
            assert np.isnan(table.values()[i, j]) if not len(scores) else True
            np.testing.assert_allclose(table.values()[i, j], scores.mean() if len(scores) else np.nan)
    shuffled = table_of(rows.sample(fraction=1, shuffle=True, seed=5))
    assert shuffled.items.equals(table.items)
    assert np.array_equal(shuffled.total, table.total)


def test_parts_keep_items_and_cells_together(rows: pl.DataFrame) -> None:
    table = table_of(rows)
    part = table.take((table.items["task"] == "t2").to_numpy()).select(2, 0)
    (name, level), *_ = reversed(list(table.levels("task")))
    assert (part.names, name) == (("b", "c"), "t2")
    assert part.items.equals(level.items)
    assert np.array_equal(part.n_scored, level.n_scored[:, [2, 0]])
    assert np.array_equal(part.column(1), level.values()[:, 0], equal_nan=True)
    assert np.array_equal(part.paired(), level.paired(2, 0))


def test_a_row_that_is_an_average_counts_its_trials() -> None:
    averaged = one_cell(score=[0.25], trial=[None], n_trials=[4])
    assert (averaged.n_scored.item(), averaged.total.item()) == (4, 1.0)
    single = one_cell(score=[1.0], trial=[0], n_trials=[4])  # n_trials says how many there were in all
    assert (single.n_scored.item(), single.total.item()) == (1, 1.0)


@pytest.mark.parametrize(("kind", "k"), [("hat", 2), ("at", 2), ("hat", 4), ("at", 1)])
def test_pass_k_is_the_share_of_all_ways_to_pick_k_trials(kind: str, k: int) -> None:
    table = one_cell(score=[1, 1, 0, 1, None]).passing(kind, k)  # pyright: ignore[reportArgumentType]
    n, right = 4, 3
    expected = comb(right, k) / comb(n, k) if kind == "hat" else 1 - comb(n - right, k) / comb(n, k)
    assert table.values().item() == pytest.approx(expected)
    # A lost trial may have failed or succeeded.
    both = [(5, 3), (5, 4)]
    ends = [comb(r, k) / comb(m, k) if kind == "hat" else 1 - comb(m - r, k) / comb(m, k) for m, r in both]
    assert [table.filled(0.0).item(), table.filled(1.0).item()] == pytest.approx(ends)
    assert table.steps == comb(n, k)
    assert table.metric.name == f"correct pass{'^' if kind == 'hat' else '@'}{k}"


def test_pass_k_needs_k_trials_that_are_right_or_wrong() -> None:
    short = one_cell(score=[1, 0]).passing("hat", 3)
    assert np.isnan(short.values()).all()
    assert (short.filled(0.0).item(), short.filled(1.0).item(), short.lost_shares().item()) == (0.0, 1.0, 1.0)
    with pytest.raises(InputError, match="right-or-wrong trials"):
        one_cell(score=[0.5, 0.25]).passing("hat", 1)


def test_what_is_missing_is_filled_with_trials_like_the_others() -> None:
    frame = pl.DataFrame({"task": "", "item": ["q", "q", "r"], "variant": "", "score": [0.5, None, 1.0]}).with_columns(
        pl.when(pl.col("score").is_null()).then(pl.lit("error")).otherwise(pl.lit("scored")).alias("status")
    )
    table = ScoreTable.of([system("a", frame), system("b", frame.head(1))], CORRECT)
    assert table.filled(0.0).tolist() == [[0.25, 0.5], [1.0, 0.0]]
    assert table.lost_shares().tolist() == [[0.5, 0.0], [0.0, 1.0]]
    assert table.incomplete
    assert not table.take(table.paired()).select(1).incomplete


def test_a_factor_that_varies_within_an_item_is_null(rows: pl.DataFrame) -> None:
    factors = item_factors(rows, ["*", "order"], key=["item"])
    assert factors["*"].null_count() == 0
    assert factors["order"].null_count() == factors.height
    assert factors.columns == ["item", "*", "order"]


@pytest.mark.parametrize("name", ["^.*$", "^item$", "n_scored", "total"])
def test_a_factor_may_have_any_name(rows: pl.DataFrame, name: str) -> None:
    named = rows.rename({"*": name})
    assert item_factors(named, [name])[name].to_list() == item_factors(rows, ["*"])["*"].to_list()
    both = [system(each, named.filter(model=each)) for each in "ab"]
    assert name in ScoreTable.of(both, CORRECT, factors=[name]).items.columns


def test_a_table_needs_an_item_that_all_have(rows: pl.DataFrame) -> None:
    apart = [system(name, rows.filter(model=name, task=task)) for name, task in (("a", "t1"), ("b", "t2"))]
    with pytest.raises(NothingSharedError, match=r"no item that both sides scored: 'a' scored [0-9]+ "):
        refuse_unpaired(ScoreTable.of(apart, CORRECT))
    lost = rows.filter(model="b").with_columns(status=pl.lit("error"), score=pl.lit(None, dtype=pl.Float64))
    with pytest.raises(NothingSharedError, match=r"'b' scored 0; [0-9]+ are on both sides, without a score on one$"):
        refuse_unpaired(ScoreTable.of([system("a", rows.filter(model="a")), system("b", lost)], CORRECT))


def test_counts_that_are_one_number_are_held_once_and_rows_know_their_items() -> None:
    places = np.random.default_rng(8).permutation(50)
    frames = [
        pl.DataFrame(
            {"task": "", "item": [f"q{k}" for k in order], "variant": "", "status": "scored", "trial": 0}
        ).with_columns(n_trials=pl.lit(1), score=pl.Series(order % 2).cast(pl.Float64))
        for order in (np.arange(50), places)
    ]
    table = ScoreTable.of([system(name, rows) for name, rows in zip("ab", frames, strict=True)], CORRECT)
    assert table.n_scored.strides == table.n_lost.strides == (0, 0)
    assert table.n_scored.all()
    assert table.seen.all()
    assert not table.incomplete
    assert np.array_equal(table.values(), table.total)
    assert not table.values().flags.writeable  # they are the sums themselves
    part = table.take(np.arange(10, 30)).take(np.arange(0, 20, 3)).select(1, 0)
    assert part.n_scored.strides == (0, 0)
    assert part.n_scored.shape == part.total.shape == (7, 2)
    for column, rows in enumerate(frames[::-1]):
        place = part.row_places(column)
        assert part.items["item"][place[place >= 0]].equals(rows["item"].filter(pl.Series(place >= 0)))
        assert (place >= 0).sum() == 7


def test_a_table_of_three_trials_everywhere_lacks_nothing() -> None:
    rows = pl.DataFrame({"task": "", "item": [f"q{k // 3}" for k in range(30)], "variant": "", "status": "scored"})
    rows = rows.with_columns(trial=pl.int_range(30) % 3, n_trials=pl.lit(1), score=pl.lit(1.0))
    table = ScoreTable.of([system("a", rows), system("b", rows)], CORRECT)
    assert table.n_scored.strides == table.n_lost.strides == (0, 0)
    assert not table.incomplete


def test_a_stretch_of_a_table_knows_its_rows() -> None:
    rows = pl.DataFrame(
        {"task": "", "item": [f"q{k}" for k in range(6)], "variant": "", "status": "scored", "score": 1.0}
    )
    table = ScoreTable.of([system("a", rows)], CORRECT)
    for part in (table.take(slice(2, 5)), table.take(slice(1, 6)).take(slice(1, 4))):
        place = part.row_places(0)
        assert part.items["item"][place[place >= 0]].to_list() == ["q2", "q3", "q4"]
        assert (place >= 0).tolist() == [False, False, True, True, True, False]


def test_whole_scores_take_a_byte_and_items_that_score_alike_are_counted() -> None:
    rng = np.random.default_rng(5)
    right = rng.random((300, 4)) < 0.5
    frame = pl.DataFrame({"task": "", "item": [f"q{i}" for i in range(300)], "variant": "", "status": "scored"})
    # Items in one order, a column that differs between the systems, and one that does not.
    parts = [
        frame.with_columns(
            score=pl.Series(right[:, j].astype(float)), own=pl.lit(f"{j}"), area=pl.col("item").str.head(2)
        )
        for j in range(4)
    ]
    table = ScoreTable.of([system(f"{j}", part) for j, part in enumerate(parts)], CORRECT, factors=["own", "area"])
    order = frame["item"].arg_sort().to_numpy()
    assert table.sums.dtype == np.int8
    np.testing.assert_array_equal(table.values(), right[order].astype(np.float64))
    assert (table.items["own"].null_count(), table.items["area"].to_list()) == (
        300,
        frame["item"][order].str.head(2).to_list(),
    )
    merged = table.merged()
    assert merged is not None
    kinds, times = np.unique(right, axis=0, return_counts=True)
    by_row = dict(zip(map(tuple, merged[0].tolist()), merged[1].tolist(), strict=True))
    assert by_row == dict(zip(map(tuple, kinds.astype(float).tolist()), times.tolist(), strict=True))
    graded = [part.with_columns(score=pl.col("score") / 2) for part in parts]
    several = [pl.concat([part, part]) for part in parts]
    for others in (graded, several, [part[:9] for part in parts], [parts[0], parts[1][1:]]):
        assert ScoreTable.of([system(f"{j}", part) for j, part in enumerate(others)], CORRECT).merged() is None


@given(
    st.lists(st.text(alphabet="ab\0é字q0", max_size=20), min_size=1, max_size=40),
    st.sampled_from(["", "common/", "é" * 9]),
)
def test_texts_are_coded_in_their_order(texts: list[str], begin: str) -> None:
    texts = [begin + text for text in texts]
    places = {text: place for place, text in enumerate(sorted(set(texts), key=str.encode))}
    for few in (0, 1_000):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(items_module, "_FEW", few)
            assert text_codes(pl.Series(texts)).tolist() == [places[text] for text in texts]


def test_items_of_several_columns_are_sorted_whatever_their_number(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(7)
    rows = pl.DataFrame(
        {name: [f"{name}{k}" for k in rng.integers(0, 50, 400)] for name in ("task", "item", "variant")}
    )
    codes, first = item_codes(rows)
    assert rows[first].rows() == sorted(set(rows.rows()))
    assert rows[first][codes].equals(rows)
    monkeypatch.setattr(items_module, "_LARGEST", 1_000)
    for found, known in zip(item_codes(rows), (codes, first), strict=True):
        np.testing.assert_array_equal(found, known)
