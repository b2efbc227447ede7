"""Models that won or lost every vote stand in the table, with a limit and an honest rank."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy import stats

import evalstats as es
from evalstats.analysis.arena.result import RatingRow
from evalstats.document.model import Figure

NAMES = ("ash", "birch", "cedar", "dogwood", "elder")
STRENGTHS = np.array([1.2, 0.4, 0.2, 0.0, -0.5])


def _votes(
    seed: int = 0,
    *,
    n: int = 400,
    raters: int = 40,
    best: str = "",
    worst: str = "",
    lost: int = 0,
    taste: float = 0.0,
    lead: float = 0.0,
) -> pl.DataFrame:
    """Return votes; `best` wins, and `worst` loses, all of its own but the first `lost` ones."""
    rng = np.random.default_rng(seed)
    pairs = np.argsort(rng.random((n, 5)), axis=1)[:, :2]
    by = rng.integers(raters, size=n)
    liking = STRENGTHS + lead * (np.arange(5) == 0) + taste * rng.normal(size=(raters, 5))
    eta = liking[by, pairs[:, 0]] - liking[by, pairs[:, 1]]
    won = rng.random(n) < 1.0 / (1.0 + np.exp(-eta))
    for name, wins in ((worst, False), (best, True)):
        if name:
            model = NAMES.index(name)
            own = np.flatnonzero((pairs == model).any(axis=1))
            won[own] = (pairs[own, 0] == model) == wins
            won[own[:lost]] = ~won[own[:lost]]
    names = np.array(NAMES)
    return pl.DataFrame(
        {
            "model_a": names[pairs[:, 0]],
            "model_b": names[pairs[:, 1]],
            "outcome": np.where(won, "a", "b"),
            "rater": [f"u{code:02d}" for code in by.tolist()],
        }
    )


def _cells(result: es.ArenaRanking) -> tuple[tuple[str, ...], ...]:
    figure = result.document().answer[0]
    assert isinstance(figure, Figure)
    assert figure.table is not None
    return figure.table.written()


def _row(result: es.ArenaRanking, name: str) -> RatingRow:
    return result.row(name)


def test_a_model_that_won_every_vote_leads_as_with_one_loss() -> None:
    """One vote against it gave it rank 1; without that vote it must not vanish."""
    perfect, nearly = es.arena(_votes(best="ash")), es.arena(_votes(best="ash", lost=1))
    assert nearly.best() == perfect.best() == ("ash",)
    line = _row(perfect, "ash")
    assert perfect.rows[0] == line
    assert (line.rank_low, line.rank_high, line.may_be_best) == (1, 1, True)
    assert line.estimate is None
    assert line.conf_high is None
    assert line.conf_low is not None
    assert line.conf_low > 1200.0
    assert "won all its" in (line.reason or "")
    assert perfect.document().label == "clear winner"
    assert _cells(perfect)[0][1:4] == ("–", f"at least {line.conf_low:.0f}", "1")
    assert "no upper limit: it won every vote" in perfect.summary()


def test_a_model_that_lost_every_vote_is_last() -> None:
    result = es.arena(_votes(worst="elder"), checks=False)
    line = result.rows[-1]
    assert (line.name, line.rank_low, line.rank_high) == ("elder", 5, 5)
    assert line.conf_low is None
    assert line.conf_high is not None
    assert _cells(result)[-1][1:4] == ("–", f"at most {line.conf_high:.0f}", "5")


def test_winner_and_loser_stand_at_both_ends() -> None:
    result = es.arena(_votes(best="ash", worst="elder"), checks=False)
    assert [row.name for row in result.rows][0::4] == ["ash", "elder"]
    assert result.pair("ash", "elder").verdict == "better"  # both are shown apart from those between
    assert len(result.pairs) == 10
    assert [row.component for row in result.rows] == [1] * 5
    assert "no upper limit" in result.summary()
    assert "no lower limit" in result.summary()


def test_few_votes_leave_the_rank_open() -> None:
    """Three wins prove little: the model stands first in the table, and any rank is open."""
    votes = _votes(best="ash").with_row_index()
    own = votes.filter((pl.col("model_a") == "ash") | (pl.col("model_b") == "ash"))
    few = votes.filter(~pl.col("index").is_in(own["index"].to_list()[3:])).drop("index")
    result = es.arena(few, checks=False)
    line = _row(result, "ash")
    assert result.document().headline.endswith("models could be best; ash won every vote")
    assert line.n_votes == 3
    assert (line.rank_low, line.rank_high) == (1, 5)


def test_votes_of_one_rater_prove_nothing() -> None:
    votes = _votes(best="ash").with_columns(
        rater=pl.when((pl.col("model_a") == "ash") | (pl.col("model_b") == "ash"))
        .then(pl.lit("u00"))
        .otherwise(pl.col("rater"))
    )
    line = _row(es.arena(votes, checks=False), "ash")
    assert (line.rank_low, line.rank_high) == (1, 5)


@pytest.mark.parametrize(
    "options",
    [
        {"best": "birch", "worst": "cedar"},
        pytest.param({"best": "ash"}, marks=pytest.mark.slow),
        pytest.param({"worst": "elder"}, marks=pytest.mark.slow),
    ],
)
def test_order_sides_and_names_do_not_matter(options: dict[str, str]) -> None:
    votes = _votes(3, **options)
    one = es.arena(votes, checks=False)
    turned = votes.with_columns(
        pl.col("model_b").alias("model_a"),
        pl.col("model_a").alias("model_b"),
        pl.col("outcome").replace({"a": "b", "b": "a"}),
    )
    new = {"ash": "zz", "birch": "b", "cedar": "yy", "dogwood": "a", "elder": "m"}
    renamed = votes.with_columns(pl.col("model_a", "model_b").replace(new))
    for other, names in (
        (votes.sample(fraction=1.0, shuffle=True, seed=2), {}),
        (turned, {}),
        (renamed, {value: key for key, value in new.items()}),
    ):
        again = es.arena(other, checks=False)
        assert [names.get(row.name, row.name) for row in again.rows] == [row.name for row in one.rows]
        for line, same in zip(one.rows, again.rows, strict=True):
            assert (same.rank_low, same.rank_high) == (line.rank_low, line.rank_high)
            for mine, its in ((line.conf_low, same.conf_low), (line.conf_high, same.conf_high)):
                assert its == (None if mine is None else pytest.approx(mine, abs=1e-5))


def test_turned_outcomes_turn_the_table() -> None:
    votes = _votes(4, best="ash")
    one = es.arena(votes, checks=False)
    other = es.arena(votes.with_columns(pl.col("outcome").replace({"a": "b", "b": "a"})), checks=False)
    assert [row.name for row in other.rows] == [row.name for row in one.rows][::-1]
    low, high = one.rows[0].conf_low, other.rows[-1].conf_high
    assert low is not None
    assert high == pytest.approx(2000.0 - low, abs=1e-5)
    assert [(row.rank_low, row.rank_high) for row in other.rows[::-1]] == [
        (6 - (row.rank_high or 0), 6 - (row.rank_low or 0)) for row in one.rows
    ]


def test_merged_votes_and_ties_of_their_own_give_a_place_too() -> None:
    votes = _votes(best="ash")
    held, merged = es.arena(votes, checks=False), es.arena(votes.lazy(), checks=False)
    assert merged.rows[0].name == "ash"
    assert merged.rows[0].conf_low == pytest.approx(held.rows[0].conf_low, abs=1e-5)
    rated = pl.when((pl.col("model_a") != "ash") & (pl.col("model_b") != "ash"))
    tied = votes.with_columns(
        outcome=rated.then(pl.when(pl.int_range(pl.len()) % 3 == 0).then(pl.lit("tie")).otherwise("outcome")).otherwise(
            "outcome"
        )
    )
    assert es.arena(tied, ties="davidson", checks=False).rows[0].name == "ash"
    assert es.arena(tied, anchor="cedar", checks=False).rows[0].conf_low is not None


def test_two_that_won_all_and_met_are_told_apart_by_nobody_else() -> None:
    """Ash won every vote, birch all but those against ash: both stand above the rest, their order is open."""
    votes = _votes(5, best="birch")
    on_ash = (pl.col("model_a") == "ash") | (pl.col("model_b") == "ash")
    both = votes.with_columns(
        outcome=pl.when(on_ash)
        .then(pl.when(pl.col("model_a") == "ash").then(pl.lit("a")).otherwise(pl.lit("b")))
        .otherwise(pl.col("outcome"))
    )
    result = es.arena(both, checks=False)
    assert [row.name for row in result.rows[:2]] == ["ash", "birch"]
    assert [(row.rank_low, row.rank_high) for row in result.rows[:2]] == [(1, 2), (1, 2)]
    assert "on the rated models" in result.summary()


def test_groups_that_cannot_be_compared_stay_apart() -> None:
    """A model that met none of the rated ones has no place, and two groups have none against each other."""
    stranger = pl.DataFrame({"model_a": ["x"] * 9, "model_b": ["y"] * 9, "outcome": ["a"] * 9, "rater": ["u1"] * 9})
    result = es.arena(pl.concat([_votes(best="ash"), stranger]), checks=False)
    assert result.best() == ()
    assert _row(result, "ash").rank_low is None
    assert _row(result, "x").estimate is None


# --- how often a rank is wrong ---


def _wrong(draws: int, *, taste: float, n: int, raters: int, seed: int) -> tuple[float, int]:
    """Return how often some rank set misses, and how many arenas had a model without a finite rating."""
    wrong = perfect = 0
    true = np.empty(5, dtype=int)
    true[np.argsort(-STRENGTHS)] = np.arange(1, 6)
    for k in range(draws):
        result = es.arena(_votes(seed + k, n=n, raters=raters, taste=taste, lead=1.8), checks=False)
        perfect += any(row.estimate is None for row in result.rows)
        places = {name: int(place) for name, place in zip(NAMES, true, strict=True)}
        wrong += any(
            row.rank_low is not None
            and row.rank_high is not None
            and not row.rank_low <= places[row.name] <= row.rank_high
            for row in result.rows
        )
    return wrong / draws, perfect


def test_ranks_are_seldom_wrong() -> None:
    """Of ten arenas five with a wrong rank are too many: limits that say nothing of doubt have more."""
    draws = 10
    wrong, perfect = _wrong(draws, taste=0.0, n=60, raters=30, seed=100)
    assert perfect >= 3
    assert wrong * draws <= stats.binom.ppf(0.999, draws, 0.05)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "raters", "taste"), [(50, 25, 0.0), (60, 30, 0.6), (80, 50, 1.0)])
def test_ranks_are_wrong_as_seldom_as_promised(n: int, raters: int, taste: float) -> None:
    draws = 400
    wrong, perfect = _wrong(draws, taste=taste, n=n, raters=raters, seed=5_000)
    assert perfect >= 20
    assert wrong * draws <= stats.binom.ppf(0.999, draws, 0.05)


@pytest.mark.parametrize(
    ("prior", "ends"), [(0.1, {"best": "ash"}), (0.5, {"worst": "elder"}), (2.0, {"best": "birch", "worst": "cedar"})]
)
def test_a_prior_takes_no_certain_place_away(prior: float, ends: dict[str, str]) -> None:
    """A model that lost (won) every vote is last (first) with a prior as without, and has a rating."""
    votes = _votes(len(ends), **ends)
    bare, rated = es.arena(votes, checks=False), es.arena(votes, checks=False, prior=prior)
    assert [row.ranks for row in rated.rows] == [row.ranks for row in bare.rows]
    for name in ends.values():
        line = _row(rated, name)
        assert line.rank_low == line.rank_high
        assert line.estimate is not None
    assert {pair.verdict for pair in rated.pairs} <= {"better", "not separated"}
    assert "ranks rest on the votes alone" in rated.summary()


def test_case_14_keeps_its_last_place_under_a_prior(shared: Path) -> None:
    votes = es.read(shared / "cases" / "14" / "votes.csv")
    assert [es.arena(votes, prior=prior).row("C").ranks for prior in (None, 0.5, 5.0)] == ["4", "4", "4"]
