"""A board of models that different users met: what is paired, that pairs are those of a comparison of two, and what is said."""

from typing import Any

import numpy as np
import polars as pl
import pytest

import evalstats as es
from evalstats.errors import CannotAnswerError, InputError
from tests.analysis.builders import data_of, printed, rows_of, told

# Sums in another order.
ROUNDING = 1e-9
SIZES = {"v1": 300, "v2": 340, "v3": 320}


def visits(*, rows: int = 1, rates: tuple[float, ...] = (0.33, 0.34, 0.55), seed: int = 0) -> pl.DataFrame:
    """Users of each version with some rows each, right or wrong; a country and an amount."""
    rng = np.random.default_rng(seed)
    parts: list[pl.DataFrame] = []
    for (name, n), rate in zip(SIZES.items(), rates, strict=True):
        users, before = np.repeat(np.arange(n), rows), np.random.default_rng(n).normal(3.0, 1.0, n)
        frame = {
            "visit": [f"{name}-{i}" for i in range(users.size)],
            "user": [f"{name}-u{u}" for u in users],
            "model": name,
            "solved": (rng.random(users.size) < rate).astype(int),
            "spent": rng.gamma(2.0, 1.0 + rate, users.size) + before[users],
            "before": before[users],
            "country": rng.choice(["de", "fr"], users.size),
        }
        parts.append(pl.DataFrame(frame))
    return pl.concat(parts)


def read(table: pl.DataFrame, score: str = "solved", item: str = "visit", **more: Any) -> es.EvalData:
    names = {name: name for name in ("country", "user", "before") if name in table.columns}
    return es.from_frame(table, item=item, model="model", score=score, **names, **more)


@pytest.mark.parametrize(
    ("score", "rows", "options"),
    [
        ("solved", 1, {}),
        ("spent", 1, {}),
        ("spent", 1, {"covariate": "before"}),
        ("solved", 3, {"cluster": "user"}),
        ("spent", 3, {"cluster": "user", "covariate": "before"}),
    ],
)
def test_a_pair_is_that_of_a_comparison_of_two(score: str, rows: int, options: dict[str, Any]) -> None:
    data = read(visits(rows=rows), score)
    # Adjusted, differences stand at the mean covariate of all whom a board holds: of two, or of three.
    kept = [["v1", "v2"], ["v3", "v2"]] if "covariate" in options else [None]
    boards = [es.leaderboard(data, paired=False, adjust="holm", models=models, **options) for models in kept]
    pairs = [(pair, len(board.pairs)) for board in boards for pair in board.pairs]
    assert len(pairs) == 2 if "covariate" in options else 3
    for pair, n in pairs:
        two = es.compare(data, pair.second, pair.first, paired=False, conf_level=1 - 0.05 / n, **options)
        assert (pair.estimate, pair.conf_low, pair.conf_high, pair.p_value, pair.df) == pytest.approx(
            (two.estimate, two.conf_low, two.conf_high, two.p_value, two.df), abs=ROUNDING
        )
        assert pair.n_items == two.n_items


def test_the_largest_difference_finds_no_less_than_holms_method() -> None:
    data = read(visits(), "spent")
    board, stepped = (es.leaderboard(data, paired=False, adjust=adjust) for adjust in (None, "holm"))
    assert (board.adjust, board.exact, board.n_resamples) == ("max-t", False, 29_999)
    assert "max-T step-down, independent groups" in board.method
    for pair, other in zip(board.pairs, stepped.pairs, strict=True):
        assert (pair.first, pair.p_value) == (other.first, other.p_value)
        assert other.p_value is not None
        assert other.p_value <= (pair.p_adjusted or 0) <= (other.p_adjusted or 0) + 0.01  # drawn
        assert pair.ends is not None
        assert other.ends is not None
        assert pair.ends[0] >= other.ends[0]
        assert pair.ends[1] <= other.ends[1]


def test_adjusted_differences_of_three_versions_add_up() -> None:
    board = es.leaderboard(read(visits(), "spent"), paired=False, covariate="before")
    for pair in board.pairs:
        lead = (board.row(pair.first).estimate or 0) - (board.row(pair.second).estimate or 0)
        assert pair.estimate == pytest.approx(lead, abs=ROUNDING)


def test_a_covariate_shortens_the_intervals_and_scores_stand_at_its_mean() -> None:
    table = visits()
    data = read(table, "spent")
    plain, board = (es.leaderboard(data, paired=False, covariate=name) for name in (None, "before"))
    rows, middle = {row.name: row for row in board.rows}, table["before"].mean()
    for name, own in table.group_by("model"):
        slope, level = np.polyfit(own["before"] - middle, own["spent"], 1)
        row = rows[str(name[0])]
        assert row.estimate == pytest.approx(level, abs=ROUNDING)
        assert row.own_mean == pytest.approx(own["spent"].mean(), abs=ROUNDING)
        left = own["spent"] - level - slope * (own["before"] - middle)
        variance = (left**2).sum() / own.height**2 + slope**2 * ((table["before"] - middle) ** 2).mean() / table.height
        assert row.std_error == pytest.approx(variance**0.5, rel=0.01)  # divided by n or n - 1
    errors = [[pair.std_error or 0 for pair in each.pairs] for each in (plain, board)]
    assert max(np.array(errors[1]) / np.array(errors[0])) < 0.95
    assert [row.estimate for row in board.rows] == sorted((row.estimate or 0 for row in board.rows), reverse=True)
    assert board.winner is not None
    assert board.winner.estimate == pytest.approx(board.rows[0].estimate)
    text = printed(board)
    assert "adjusted for before" in text
    assert "Score, adjusted" in text


def test_ranks_follow_from_the_separated_pairs() -> None:
    board = es.leaderboard(read(visits(seed=3)), paired=False)
    assert [(row.name, row.ranks) for row in board.rows] == [("v3", "1"), ("v2", "2-3"), ("v1", "2-3")]
    assert board.different == "users"
    assert [row.n_items for row in board.rows] == [320, 340, 300]
    assert all(row.n_missing == 0 for row in board.rows)
    assert "on different users" in printed(board, full=False)
    assert board.graph is not None
    assert board.graph.connected


def test_users_are_named_and_counted() -> None:
    board = es.leaderboard(read(visits(rows=3)), paired=False, cluster="user")
    assert board.different == "users"
    assert board.clusters == ("user",)
    # The pairs have 640, 620 and 660 users: the median of both sides.
    assert board.n_units == 640
    assert "With 640 users of both a pair has" in " ".join(printed(board).split())
    assert all((pair.n_clusters or 0) < (pair.n_items or 0) for pair in board.pairs)
    alone = es.leaderboard(read(visits(rows=3)), paired=False, cluster="none")
    assert alone.n_clusters is None


def test_numbered_rows_are_never_paired_by_themselves() -> None:
    table = visits().drop("user").group_by("model", maintain_order=True).head(300)
    numbered = read(table, item="#row")
    board = es.leaderboard(numbered)
    assert board.different
    assert any("Rows are numbered by their place and not paired" in text for text in told(board))
    with_ids = es.leaderboard(read(table), paired=False)
    assert [pair.p_adjusted for pair in board.pairs] == [pair.p_adjusted for pair in with_ids.pairs]
    together = es.leaderboard(numbered, paired=True)
    assert together.different == ""
    assert together.n_items == 300
    assert together.pairs[0].std_error != board.pairs[0].std_error


def test_the_order_of_rows_changes_nothing() -> None:
    table = visits(rows=2)
    one, other = (
        es.leaderboard(read(rows), paired=False, cluster="user")
        for rows in (table, table.sample(fraction=1.0, shuffle=True, seed=5))
    )
    assert [pair.p_adjusted for pair in one.pairs] == pytest.approx([pair.p_adjusted for pair in other.pairs])


def test_an_average_over_strata_is_that_of_each_model() -> None:
    data = read(visits())
    board = es.leaderboard(data, paired=False, average="macro", over="country")
    for pair in board.pairs:
        two = es.compare(data, pair.second, pair.first, paired=False, average="macro", over="country")
        assert pair.estimate == pytest.approx(two.estimate, abs=ROUNDING)
        assert pair.std_error == pytest.approx(two.std_error, rel=0.01)
    table = visits().filter(~((pl.col("model") == "v1") & (pl.col("country") == "fr")))
    with pytest.raises(CannotAnswerError, match="v1 has no item of country 'fr'"):
        es.leaderboard(read(table), paired=False, average="macro", over="country")


def test_a_user_of_several_models_is_one_cluster() -> None:
    rng = np.random.default_rng(2)
    ability = rng.random(200)
    sides = {name: (rng.random(200) < 0.2 + 0.6 * ability).astype(float).tolist() for name in ("a", "b", "c")}
    data = data_of(*(rows_of(name, scores) for name, scores in sides.items()))
    apart, paired = es.leaderboard(data, paired=False), es.leaderboard(data)
    # Told apart by the user: that all could be paired is news, and how.
    for result in (apart, es.compare(data, "a", "b", paired=False)):
        (note,) = [
            note for note in result.notes if note.text.startswith("200 of 200 items have scores of several systems")
        ]
        assert note.caution
        assert "paired=True" in note.line
        assert "each is one cluster" in note.text
    halves = data_of(
        *(rows_of(name, scores, factors={"half": ["uv"[k % 2] for k in range(200)]}) for name, scores in sides.items())
    )
    (note,) = [
        each for each in es.compare(halves, "a", "b", paired=False, cluster="half").notes if "several" in each.text
    ]
    assert note.text.endswith("none is paired")
    for one, other in zip(apart.pairs, paired.pairs, strict=True):
        assert one.std_error == pytest.approx(other.std_error, rel=0.02)


def test_what_a_model_lacks_of_its_own_rows_is_bounded() -> None:
    lost: list[float | None] = [1.0] * 60 + [0.0] * 20 + [None] * 20
    data = data_of(
        rows_of("a", lost, items=[f"a{i}" for i in range(100)], status="error"),
        rows_of("b", [1.0] * 50 + [0.0] * 60, items=[f"b{i}" for i in range(110)]),
        kind="binary",
    )
    board = es.leaderboard(data, paired=False)
    rows = {row.name: row for row in board.rows}
    assert (rows["a"].n_missing, rows["b"].n_missing) == (20, 0)
    assert (rows["a"].missing_low, rows["a"].missing_high) == pytest.approx((0.6, 0.8))


def test_what_needs_the_same_items_is_refused_and_ids_that_share_nothing_ask() -> None:
    data = read(visits().drop("user"))
    with pytest.raises(InputError, match="shared_trials"):
        es.leaderboard(data, paired=False, shared_trials=True)
    with pytest.raises(CannotAnswerError, match="different users or items, add"):
        es.leaderboard(data)
    with pytest.raises(InputError, match="covariate= is for groups that share no item"):
        es.leaderboard(data, covariate="before")
    with pytest.raises(InputError, match="the average over country and a covariate are two adjustments"):
        es.leaderboard(data, paired=False, covariate="before", average="macro", over="country")


def test_a_lead_in_costs_that_unseen_runaways_would_undo_is_told() -> None:
    rng = np.random.default_rng(1)
    costs = {
        "cheap": rng.lognormal(-0.3, 0.3, 60),
        "dear": rng.lognormal(0.0, 0.3, 60),
        "dearer": rng.lognormal(0.1, 0.3, 60),
    }
    rows = [{"visit": f"{m}{i}", "model": m, "cost": c} for m, own in costs.items() for i, c in enumerate(own.tolist())]
    board = es.leaderboard(read(pl.DataFrame(rows), "cost", higher_is_better=False), paired=False)
    [text] = [note.text for note in board.notes if "times the median" in note.text]
    assert text.startswith("Answers of the cheaper model at 10 times the median on ")
    assert "would undo one of 2 such pairs, of 2 separated" in text
    assert "60 items without one cannot exclude 4.9%" in text


def test_every_form_is_written() -> None:
    board = es.leaderboard(read(visits(rows=2), "spent", higher_is_better=False), paired=False, cluster="user")
    text = printed(board)
    assert "max-T" in text
    assert "2-sample" not in text
    assert board.to_html()
    assert board.to_latex()
    assert es.leaderboard(read(visits()), paired=False, baseline="v1").baseline == "v1"


@pytest.mark.parametrize(("users", "shown"), [(3, False), (6, True)])
def test_three_users_a_side_separate_nothing(users: int, shown: bool) -> None:
    noise = 0.003 * np.random.default_rng(0).random((2, users))
    rows = [
        {"model": name, "visit": f"{name}-{k}", "score": level + noise[j, k]}
        for j, (name, level) in enumerate((("A", 0.5), ("B", 0.9)))
        for k in range(users)
    ]
    (pair,) = es.leaderboard(
        es.from_frame(pl.DataFrame(rows), item="visit", model="model", score="score"), paired=False
    ).pairs
    assert pair.separated is shown
    assert pair.reason == (None if shown else "the interval rests on fewer than 4 degrees of freedom")


def test_an_uneven_split_is_told_on_boards_scenarios_and_frontiers() -> None:
    rng = np.random.default_rng(0)
    sizes = {"v1": 400, "v2": 400, "v3": 540}
    parts = [
        pl.DataFrame(
            {
                "user_id": [f"{name}{i}" for i in range(n)],
                "model": name,
                "solved": rng.integers(0, 2, n),
                "country": rng.choice(["de", "fr"], n),
                "cost_usd": rng.gamma(2.0, 1.0, n),
            }
        )
        for name, n in sizes.items()
    ]
    data = read(pl.concat(parts), item="user_id", cost_usd="cost_usd")
    results = es.leaderboard(data), es.scenarios(data, scenario="country"), es.frontier(data, n_resamples=99)
    for result in results:
        [note] = [note for note in result.notes if "no chance" in note.text]
        assert not note.caution
        assert note.text == "v3 has 540 users and v1 400; if equal shares were meant, that is no chance (p < 0.001)"
    even = read(visits(), item="visit")
    assert not [note for note in es.leaderboard(even, paired=False).notes if "no chance" in note.text]


def test_holms_p_is_of_the_p_that_decides() -> None:
    """Few failures in groups of unlike sizes: the mid-p is larger than the score test's, and both adjustments start from it."""
    rng = np.random.default_rng(5)
    sizes, rates = {"a": 60, "b": 400, "c": 80}, (0.86, 0.99, 0.9)
    rows = [
        (f"{name}{i}", name, int(rng.random() < rate))
        for (name, n), rate in zip(sizes.items(), rates, strict=True) for i in range(n)
    ]  # fmt: skip
    data = read(pl.DataFrame(rows, schema=["visit", "model", "solved"], orient="row"))
    stepped = es.leaderboard(data, paired=False, adjust="holm")
    assert [pair.p_holm for pair in stepped.pairs] == pytest.approx([pair.p_adjusted for pair in stepped.pairs])
    for pair in es.leaderboard(data, paired=False).pairs:
        assert (pair.p_holm or 0) >= (pair.p_adjusted or 0) - 0.01  # drawn
