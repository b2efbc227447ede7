"""Votes are merged to the same cells wherever they are, and nothing that is unreadable becomes a tie."""

from collections import defaultdict
from collections.abc import Callable
from functools import cache

import duckdb
import numpy as np
import polars as pl
import pytest

from evalstats.errors import InputError
from evalstats.table.vote_cells import ARENA_LABELS, OUTCOMES, VoteCells, cluster_chunks, vote_cells

N = 3000
MODELS = ("gamma", "alpha", "beta", "delta")
Cells = dict[tuple[object, ...], tuple[float, float, int]]
SHARE = {"a": 1.0, "b": 0.0, "tie": 0.5, "both_bad": 0.5}


@pytest.fixture(scope="module")
def votes() -> pl.DataFrame:
    """Votes with everything that can be wrong with a vote."""
    rng = np.random.default_rng(1)
    outcome = rng.choice([*OUTCOMES, None, "unclear"], N, p=[0.3, 0.3, 0.2, 0.1, 0.07, 0.03])
    return pl.DataFrame(
        {
            "model_a": rng.choice([*MODELS, None], N, p=[0.245] * 4 + [0.02]),
            "model_b": rng.choice(MODELS, N),
            "outcome": pl.Series(outcome.tolist(), dtype=pl.String),
            "weight": pl.Series(rng.choice([0.5, 1.0, 2.0, np.nan], N)).fill_nan(None),
            "rater": [None if r == 0 else f"r{r}" for r in rng.integers(0, 200, N)],
            "item": rng.integers(-3, 20, N),
        }
    )


def table(cells: VoteCells) -> dict[tuple[object, ...], tuple[float, float, int]]:
    """Cells by name."""
    found: dict[tuple[object, ...], tuple[float, float, int]] = {}
    for k in range(cells.rows.n_rows):
        key: tuple[object, ...] = (
            cells.models[cells.rows.first[k]],
            cells.models[cells.rows.second[k]],
            OUTCOMES[cells.rows.outcome[k]],
            cells.rows.share[k],
        )
        assert key not in found
        found[key] = (cells.rows.weight[k], cells.rows.weight_squares[k], int(cells.rows.count[k]))
    return found


def by_hand(votes: pl.DataFrame, *names: str) -> dict[tuple[object, ...], tuple[float, float, int]]:
    """The definition, vote by vote."""
    sums: dict[tuple[object, ...], list[float]] = defaultdict(lambda: [0.0, 0.0, 0])
    for row in votes.iter_rows(named=True):
        a, b, outcome = row["model_a"], row["model_b"], row["outcome"]
        if a is None or b is None or a == b or outcome not in OUTCOMES:
            continue
        weight = row.get("weight")
        weight = 1.0 if weight is None else weight
        share = row.get("preference")
        key = (a, b, outcome, SHARE[outcome] if share is None else share, *(row[name] for name in names))
        for place, value in enumerate((weight, weight**2, 1)):
            sums[key][place] += value
    return {key: (w, w2, int(n)) for key, (w, w2, n) in sums.items()}


def test_cells_are_what_the_definition_says(votes: pl.DataFrame) -> None:
    cells = vote_cells(votes)
    # Weights are halves and whole numbers, whose sums are exact.
    assert table(cells) == by_hand(votes)
    assert cells.models == tuple(sorted(MODELS))
    outcomes = list(zip(cells.rows.first, cells.rows.second, cells.rows.outcome, strict=True))
    assert outcomes == sorted(outcomes)


def test_every_vote_is_counted_once_whether_it_counts_or_not(votes: pl.DataFrame) -> None:
    cells = vote_cells(votes)
    named = votes.filter(pl.col("model_a").is_not_null())
    others = named.filter(pl.col("model_a") != pl.col("model_b"))
    assert cells.n_unnamed == N - named.height > 0
    assert cells.n_self == named.height - others.height > 0
    assert cells.n_unscored == others["outcome"].null_count() > 0
    assert cells.unknown == (("unclear", others.filter(pl.col("outcome") == "unclear").height),)
    left_out = cells.n_unnamed + cells.n_self + cells.n_unscored + cells.unknown[0][1]
    assert cells.n_rows == N == cells.rows.n_votes + left_out


FRAMES: dict[str, Callable[[pl.DataFrame], object]] = {
    "lazy": lambda votes: votes.lazy(),
    "pandas": lambda votes: votes.to_pandas(),
    "arrow": lambda votes: votes.to_arrow(),
    "duckdb": lambda votes: duckdb.from_arrow(votes.to_arrow()),
    "categorical": lambda votes: votes.with_columns(
        pl.col("model_a", "model_b", "outcome", "rater").cast(pl.Categorical)
    ),
    "lazy categorical": lambda votes: votes.with_columns(
        pl.col("model_a", "model_b", "outcome", "rater").cast(pl.Categorical)
    ).lazy(),
    "enum": lambda votes: votes.with_columns(
        pl.col("model_a").cast(pl.Enum(MODELS)), pl.col("model_b").cast(pl.Enum(sorted(MODELS)))
    ).lazy(),
}


@pytest.mark.parametrize("kind", FRAMES)
def test_every_backend_gives_the_same_cells(votes: pl.DataFrame, kind: str) -> None:
    same(vote_cells(FRAMES[kind](votes)), vote_cells(votes))


@pytest.mark.parametrize("kind", FRAMES)
def test_every_backend_gives_the_same_cells_without_weights(votes: pl.DataFrame, kind: str) -> None:
    plain = votes.drop("weight")
    same(vote_cells(FRAMES[kind](plain)), vote_cells(plain))


def same(one: VoteCells, other: VoteCells) -> None:
    assert one.models == other.models
    assert one.unknown == other.unknown
    counts = [(each.n_rows, each.n_self, each.n_unnamed, each.n_unscored) for each in (one, other)]
    assert counts[0] == counts[1]
    for name in ("first", "second", "outcome", "share", "count"):
        assert np.array_equal(getattr(one.rows, name), getattr(other.rows, name)), name
    # Sums of weights may be added in another order: equal to the last few bits of a double.
    assert np.allclose(one.rows.weight, other.rows.weight, rtol=1e-12)
    assert np.allclose(one.rows.weight_squares, other.rows.weight_squares, rtol=1e-12)


def test_the_order_of_rows_has_no_effect(votes: pl.DataFrame) -> None:
    shuffled = votes.sample(fraction=1.0, shuffle=True, seed=3)
    same(vote_cells(shuffled), vote_cells(votes))


def test_physical_codes_of_two_columns_and_two_files_do_not_mix(tmp_path) -> None:
    """The categories of either column, and of either file, come in another order."""
    parts = [
        pl.DataFrame({"model_a": ["y", "x", "x"], "model_b": ["x", "y", "z"], "winner": ["tie", "model_a", "model_b"]}),
        pl.DataFrame({"model_a": ["z", "z", "y"], "model_b": ["y", "x", "z"], "winner": ["model_b", "tie", "model_a"]}),
    ]
    for k, part in enumerate(parts):
        own = [pl.col(name).cast(pl.Categorical(pl.Categories(f"{name}{k}"))) for name in part.columns]
        part.with_columns(own).cast(dict.fromkeys(part.columns, pl.Categorical)).write_parquet(
            tmp_path / f"{k}.parquet"
        )
    cells = vote_cells(pl.scan_parquet(tmp_path / "*.parquet"))
    named = [(cells.models[a], cells.models[b], OUTCOMES[o]) for a, b, o in zip(
        cells.rows.first, cells.rows.second, cells.rows.outcome, strict=True
    )]  # fmt: skip
    assert named == [
        ("x", "y", "a"),
        ("x", "z", "b"),
        ("y", "x", "tie"),
        ("y", "z", "a"),
        ("z", "x", "tie"),
        ("z", "y", "b"),
    ]


def test_labels_of_public_arenas() -> None:
    winners = ["model_a", " MODEL_B", "tie", "tie (bothbad)", "both_bad", "", None, "nan", "?", "x", "tie!"]
    raw = {"model_a": ["x"] * 11, "model_b": ["y"] * 11, "winner": winners}
    cells = vote_cells(raw)
    assert dict(zip(cells.rows.outcome.tolist(), cells.rows.count.tolist(), strict=True)) == {0: 2, 1: 1, 2: 1, 3: 2}
    assert cells.n_unscored == 3
    assert cells.unknown == (("?", 1), ("tie!", 1))
    assert set(ARENA_LABELS.values()) == set(OUTCOMES)


def test_a_label_may_be_the_name_of_the_winner_but_not_of_either() -> None:
    votes = pl.DataFrame(
        {
            "model_a": ["x", "x", "model_b", "model_b", "tie"],
            "model_b": ["y", "y", "y", "model_a", "y"],
            "winner": ["y", "x", "model_b", "tie", "tie"],
        }
    )
    cells = vote_cells(votes)
    assert cells.unknown == (("model_b", 1),)
    assert cells.rows.n_votes == 4
    wins = [(cells.models[a], OUTCOMES[o]) for a, o in zip(cells.rows.first, cells.rows.outcome, strict=True)]
    assert sorted(wins) == [("model_b", "tie"), ("tie", "tie"), ("x", "a"), ("x", "b")]
    # In the glossary's own column a word means itself.
    glossary = {"model_a": ["b"], "model_b": ["a"], "outcome": ["b"]}
    assert vote_cells(glossary).rows.outcome.tolist() == [1]


def test_a_preference_is_a_share_and_a_status_can_take_the_outcome_away() -> None:
    votes = {
        "model_a": ["x"] * 4,
        "model_b": ["y"] * 4,
        "outcome": ["a", "a", "tie", "b"],
        "preference": [0.8, None, 0.55, 0.0],
        "status": ["scored", "scored", "scored", "unscored"],
    }
    cells = vote_cells(votes)
    assert cells.rows.share.tolist() == [0.8, 1.0, 0.55]
    assert cells.n_unscored == 1


def test_no_votes_are_no_cells() -> None:
    empty = pl.DataFrame(schema={"model_a": pl.String, "model_b": pl.String, "outcome": pl.String, "rater": pl.String})
    cells = vote_cells(empty)
    assert (cells.rows.n_rows, cells.rows.n_votes, cells.models) == (0, 0, ())
    assert list(cluster_chunks(empty, vote_cells(empty), "rater")) == []


PAIR = {"model_a": ["x", "y"], "model_b": ["y", "x"], "outcome": ["a", "b"]}


@pytest.mark.parametrize(
    ("further", "words"),
    [
        ({"weight": [1.0, -1.0]}, "weights are negative"),
        ({"weight": [1.0, np.nan]}, "weights are negative, NaN"),
        ({"preference": [0.5, 1.5]}, "1 votes have a preference outside"),
    ],
)
def test_what_is_wrong_is_said(further: dict[str, list[object]], words: str) -> None:
    with pytest.raises(InputError, match=words):
        vote_cells(pl.DataFrame({**PAIR, **further}, strict=False))


@pytest.mark.parametrize("name", ["*", "^.*$", "^rater$", "count", "evalstats"])
def test_a_factor_may_have_any_name(votes: pl.DataFrame, name: str) -> None:
    named = votes.rename({"rater": name})
    cells, own = vote_cells(named), vote_cells(votes)
    same(cells, own)
    found, expected = gathered(named, cells, name, 100), gathered(votes, own, "rater", 100)
    assert contents(found) == contents(expected)


# Chunks of whole clusters


def gathered(frame: object, cells: VoteCells, cluster: str, size: int) -> pl.DataFrame:
    chunks = list(cluster_chunks(frame, cells, cluster, chunk_votes=size))
    seen = [set(chunk.clusters[0].tolist()) for chunk in chunks]
    assert sum(map(len, seen)) == len(set().union(*seen)), "a cluster lies in two chunks"
    columns = ("first", "second", "outcome", "weight", "weight_squares", "count")
    return pl.concat(
        pl.DataFrame({"cluster": chunk.clusters[0], **{name: getattr(chunk, name) for name in columns}})
        for chunk in chunks
    )


@pytest.fixture(scope="module")
def of_clusters(votes: pl.DataFrame) -> Callable[..., Cells]:
    """The cells of every cluster by hand; whatever kind of frame the votes are in, they are the same."""

    @cache
    def made(name: str, *, weighted: bool) -> Cells:
        own = (votes if weighted else votes.drop("weight")).with_row_index("row")
        together = pl.coalesce(pl.format("level {}", name), pl.format("row {}", "row"))
        return by_hand(own.with_columns(together=together), "together")

    return made


@pytest.mark.parametrize("kind", FRAMES)
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("clustered", [("rater", 100), ("item", 1)])
def test_chunks_hold_what_the_definition_says_of_every_cluster(
    votes: pl.DataFrame,
    of_clusters: Callable[..., Cells],
    kind: str,
    weighted: bool,
    clustered: tuple[str, int],
) -> None:
    cluster, size = clustered
    own = votes if weighted else votes.drop("weight")
    frame = FRAMES[kind](own)
    cells = vote_cells(frame)
    found = gathered(frame, cells, cluster, size)
    assert found["cluster"].is_sorted()
    assert found["cluster"].n_unique() == found["cluster"].max() + 1
    # Clusters go by other numbers here: compare what they hold.
    held: dict[object, list[tuple[float, ...]]] = defaultdict(list)
    for (a, b, outcome, _, together), (weight, squares, n) in of_clusters(cluster, weighted=weighted).items():
        place = (cells.models.index(str(a)), cells.models.index(str(b)), OUTCOMES.index(str(outcome)))
        held[together].append((*place, round(weight, 9), round(squares, 9), n))
    assert contents(found) == sorted(sorted(each) for each in held.values())


def contents(table: pl.DataFrame) -> list[list[tuple[float, ...]]]:
    parts = [table[name].to_numpy() for name in ("first", "second", "outcome", "weight", "weight_squares", "count")]
    held: dict[int, list[tuple[float, ...]]] = defaultdict(list)
    codes = table["cluster"].to_list()
    for code, *values in zip(codes, *(np.round(part, 9).tolist() for part in parts), strict=True):
        held[code].append(tuple(values))
    return sorted(sorted(each) for each in held.values())


def test_ids_may_be_thin_large_and_negative() -> None:
    ids = np.array([-5, 2**62, -5, 7, 7, 2**62, 2**40, -(2**62)])
    outcome = ["a", "b", "a", "tie", "b", "b", "a", "a"]
    votes = pl.DataFrame({"model_a": ["x"] * 8, "model_b": ["y"] * 8, "outcome": outcome, "rater": ids})
    cells = vote_cells(votes)
    found = gathered(votes, cells, "rater", 2)
    assert sorted(found["count"].to_list()) == [1, 1, 1, 1, 2, 2]
    small = votes.with_columns(pl.Series("rater", [-100, 100, 0, 0, 100, 100, 1, -100], dtype=pl.Int8))
    assert gathered(small, cells, "rater", 3)["cluster"].n_unique() == 4


def test_hashes_of_texts_make_the_same_clusters(votes: pl.DataFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = votes.drop("weight")
    cells = vote_cells(plain)
    exact = gathered(plain, cells, "rater", 100)
    monkeypatch.setattr("evalstats.table.vote_cells._HASHED", 10)
    hashed = gathered(plain, cells, "rater", 100)
    assert contents(hashed) == contents(exact)


def test_chunks_need_the_votes_of_the_cells(votes: pl.DataFrame) -> None:
    cells = vote_cells(votes)
    with pytest.raises(InputError, match="but the frame does not"):
        list(cluster_chunks(votes.head(N - 100), cells, "rater"))
    with pytest.raises(InputError, match="but the frame does not"):
        list(cluster_chunks(pl.concat([votes, votes]), cells, "rater"))
    with pytest.raises(InputError, match="'app' is not among the votes"):
        list(cluster_chunks(votes, cells, "app"))
    with pytest.raises(InputError, match="two roles"):
        list(cluster_chunks(votes, cells, "outcome"))
