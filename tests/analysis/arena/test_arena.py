"""`arena()` from end to end: ratings, refusals, choices, and what must not move them."""

import csv
from pathlib import Path

import duckdb
import numpy as np
import polars as pl
import pytest

import evalstats as es
from evalstats.errors import CannotAnswerError, InputError
from evalstats.simulate.arena import simulate_arena
from evalstats.simulate.arena_world import ArenaDesign, ArenaEffects
from tests.analysis.gap.notes import lines_of

SIX = ArenaDesign(models=6)


@pytest.fixture(scope="module")
def votes() -> es.EvalData:
    return simulate_arena(3000, seed=3, design=SIX)


@pytest.fixture(scope="module")
def found(votes: es.EvalData) -> es.ArenaRanking:
    return es.arena(votes, checks=False)


def _cycle(n: int = 20) -> dict[str, list[str]]:
    """Two groups of three models, each connected in itself, joined by votes that one group always won."""
    inside = [("x1", "x2"), ("x2", "x3"), ("x3", "x1"), ("y1", "y2"), ("y2", "y3"), ("y3", "y1")]
    between = [("x1", "y1"), ("x2", "y2")]
    a = [first for first, _ in inside + between] * n
    b = [second for _, second in inside + between] * n
    return {"model_a": a, "model_b": b, "outcome": ["a"] * len(a)}


# --- against published numbers ---


@pytest.fixture(scope="module")
def llmfao(shared: Path) -> es.ArenaRanking:
    return es.arena(es.read(shared / "data/llmfao/crowd-comparisons.csv"), checks=False)


@pytest.mark.parametrize("column", ["elo", "log_bt"])
def test_llmfao_ratings_are_the_golden_ones(llmfao: es.ArenaRanking, golden: Path, column: str):
    result = llmfao
    with (golden / "bt_llmfao.csv").open(encoding="utf-8") as file:
        truth = {row["model"]: float(row[column]) for row in csv.DictReader(file)}
    ours = {row.name: row.estimate if column == "elo" else row.strength for row in result.rows}
    assert ours.keys() == truth.keys()
    assert max(abs(ours[name] - truth[name]) for name in truth) < 1e-6  # the tolerance asked of the file
    assert {cluster.name: cluster.n_levels for cluster in result.clusters} == {"rater": 124}


def test_llmfao_does_not_know_its_best(llmfao: es.ArenaRanking):
    """Thirteen prompts cannot tell 59 models apart for others; for these, 430 of 1,711 pairs are separated (methods.md, 8)."""
    result = llmfao
    assert len(result.best()) > 1
    levels = result.levels
    assert levels is not None
    assert (levels.shown, levels.n_prompts, levels.n_pairs) == ("these", 13, 1_711)
    assert (levels.n_separated_these, levels.n_separated_new) == (430, 0)
    assert result.vote_level_ratio is not None
    assert result.vote_level_ratio > 1.1
    assert all(
        row.rank_low is not None and row.rank_low <= place <= row.rank_high for place, row in enumerate(result.rows, 1)
    )


# --- what must not matter ---


def test_shuffled_votes_give_the_same(votes: es.EvalData, found: es.ArenaRanking):
    shuffled = votes.comparisons.sample(fraction=1.0, shuffle=True, seed=1)
    again = es.arena(shuffled, checks=False)
    for one, other in zip(found.rows, again.rows, strict=True):
        assert one.name == other.name
        assert one.estimate == pytest.approx(other.estimate, abs=1e-7)
        assert one.std_error == pytest.approx(other.std_error, rel=1e-9)
        assert one.ranks == other.ranks


def test_swapped_sides_give_the_same(votes: es.EvalData, found: es.ArenaRanking):
    turned = votes.comparisons.with_columns(
        pl.col("model_b").alias("model_a"),
        pl.col("model_a").alias("model_b"),
        pl.col("outcome").replace({"a": "b", "b": "a"}),
    )
    again = es.arena(turned, checks=False)
    assert [row.estimate for row in again.rows] == pytest.approx([row.estimate for row in found.rows], abs=1e-7)
    side, other = (next(c for c in r.covariates if c.name == "side") for r in (found, again))
    assert side.estimate == pytest.approx(-other.estimate, abs=1e-8)


def test_turned_outcomes_turn_the_ratings(votes: es.EvalData, found: es.ArenaRanking):
    turned = votes.comparisons.with_columns(pl.col("outcome").replace({"a": "b", "b": "a"}))
    again = {row.name: row.estimate for row in es.arena(turned, checks=False).rows}
    for row in found.rows:
        assert again[row.name] == pytest.approx(2000.0 - row.estimate, abs=1e-7)


@pytest.mark.parametrize("lazily", [lambda frame: frame.lazy(), lambda frame: duckdb.from_arrow(frame.to_arrow())])
def test_lazy_votes_give_the_same(lazily):
    equal = simulate_arena(3000, seed=4, design=ArenaDesign(models=6, n_raters=150, activity=0.0))
    frame = equal.comparisons.select("model_a", "model_b", "outcome", "rater")
    held = es.arena(equal.comparisons, checks=False, cluster="rater")
    merged = es.arena(lazily(frame), cluster="rater", checks=False)
    assert [row.name for row in merged.rows] == [row.name for row in held.rows]
    assert [row.estimate for row in merged.rows] == pytest.approx([row.estimate for row in held.rows], abs=1e-7)
    assert [row.std_error for row in merged.rows] == pytest.approx([row.std_error for row in held.rows], rel=1e-9)
    assert merged.n_votes == held.n_votes


def test_lazy_votes_with_a_heavy_rater_are_held_for_the_jackknife(votes: es.EvalData):
    frame = votes.comparisons.with_columns(
        pl.when(pl.int_range(pl.len()) % 5 == 0).then(pl.lit("heavy")).otherwise(pl.col("rater")).alias("rater")
    ).select("model_a", "model_b", "outcome", "rater")
    held = es.arena(frame, checks=False, cluster="rater")
    merged = es.arena(frame.lazy(), checks=False, cluster="rater")
    assert [row.std_error for row in merged.rows] == pytest.approx([row.std_error for row in held.rows], rel=1e-9)
    assert [row.ranks for row in merged.rows] == [row.ranks for row in held.rows]


# --- existence ---


def test_parts_that_are_not_joined_are_ranked_apart():
    result = es.arena(_cycle(), checks=False)
    assert result.graph is not None
    assert result.graph.components == (("x1", "x2", "x3"), ("y1", "y2", "y3"))
    assert result.rank_reason is not None
    assert "2 parts" in result.rank_reason
    assert {row.component for row in result.rows} == {1, 2}
    assert not any(pair.first[0] != pair.second[0] for pair in result.pairs)
    assert "2 parts" in lines_of(result.notes, "comparability")
    assert result.covariance[0][-1] is None


def test_a_prior_puts_all_on_one_scale_and_says_so():
    result = es.arena(_cycle(), checks=False, prior=0.5)
    assert {row.component for row in result.rows} == {1}
    assert result.rows[0].name.startswith("x")
    assert "rests on the prior of 0.5" in lines_of(result.notes, "comparability", caution=True)


def test_a_prior_orders_nobody():
    """A hundred wins without a loss: the rating is the prior's doing, and no order is claimed."""
    result = es.arena({"model_a": ["x"] * 100, "model_b": ["y"] * 100, "outcome": ["a"] * 100}, checks=False, prior=0.5)
    pair = result.pair("x", "y")
    assert pair.verdict == "not separated"
    assert pair.p_value is None
    assert pair.reason == "the prior alone puts the two on one scale, and it orders nobody"
    assert [row.ranks for row in result.rows] == ["1-2", "1-2"]


def test_a_model_that_never_lost_has_no_rating_and_no_error_bar():
    frame = {"model_a": ["x", "y", "x", "best"] * 9, "model_b": ["y", "x", "y", "x"] * 9, "outcome": ["a"] * 36}
    row = es.arena(frame, checks=False).row("best")
    assert row.estimate is None
    assert row.std_error is None
    assert row.reason == "it won all its 9 votes on rated models, so its rating has no upper limit"


def test_nothing_to_compare_is_refused():
    chain = {"model_a": ["x", "y"], "model_b": ["y", "z"], "outcome": ["a", "a"]}
    with pytest.raises(CannotAnswerError, match=r"no two models can be put on one scale .*prior=0\.5"):
        es.arena(chain)


# --- little or lopsided evidence ---


def _few(n: int = 300) -> dict[str, list[object]]:
    rng = np.random.default_rng(0)
    a = rng.integers(0, 4, n)
    b = (a + rng.integers(1, 4, n)) % 4
    names = np.array(["w", "x", "y", "z"])
    outcome = np.where(rng.random(n) < 0.5, "a", "b")
    return {"model_a": names[a].tolist(), "model_b": names[b].tolist(), "outcome": outcome.tolist()}


@pytest.mark.parametrize("ties", [1, 5])
def test_a_model_with_nothing_but_ties_has_no_error_and_any_rank(ties: int):
    """The residuals of ties between equals are 0, which is no sign of precision."""
    votes = _few()
    frame = {
        "model_a": [*votes["model_a"], *["new"] * ties],
        "model_b": [*votes["model_b"], *["w"] * ties],
        "outcome": [*votes["outcome"], *["tie"] * ties],
    }
    result = es.arena(frame, checks=False)
    new = result.row("new")
    assert new.std_error is None
    assert (new.rank_low, new.rank_high) == (1, 5)
    assert all(pair.verdict == "not separated" for pair in result.pairs if "new" in {pair.first, pair.second})


def test_one_rater_with_nearly_all_votes_gives_no_interval():
    raters = ["big"] * 280 + [f"u{k}" for k in range(20)]
    result = es.arena({**_few(), "rater": raters}, checks=False)
    assert all(row.conf_low is None and row.rank_low is None for row in result.rows)
    assert result.rank_reason is not None
    assert "worth 1.1 equal ones" in result.rank_reason


def test_a_part_of_weighted_votes_keeps_their_spread():
    """An island of other models must not change the errors of weighted votes."""
    rng = np.random.default_rng(1)
    votes = _few(600)
    weight = (rng.exponential(size=600) ** 3).tolist()
    alone = es.arena({**votes, "weight": weight}, checks=False, cluster="none")
    joined = es.arena(
        {
            "model_a": [*votes["model_a"], "p", "q"],
            "model_b": [*votes["model_b"], "q", "p"],
            "outcome": [*votes["outcome"], "a", "a"],
            "weight": [*weight, 1.0, 1.0],
        },
        checks=False,
        cluster="none",
    )
    for row in alone.rows:
        assert joined.row(row.name).std_error == pytest.approx(row.std_error, rel=1e-9)


def test_only_the_ratios_of_weights_count():
    votes = _few()
    plain = es.arena(votes, checks=False)
    for weight in (1e-69, 1e12):  # smaller ones are refused at the door of every table
        scaled = es.arena({**votes, "weight": [weight] * 300}, checks=False)
        assert [row.std_error for row in scaled.rows] == pytest.approx([row.std_error for row in plain.rows], rel=1e-9)


def test_votes_that_are_all_ties_are_answered():
    result = es.arena({"model_a": ["x", "y", "z"] * 20, "model_b": ["y", "z", "x"] * 20, "outcome": ["tie"] * 60})
    assert [row.estimate for row in result.rows] == pytest.approx([1000.0] * 3)
    assert all(row.conf_low is None for row in result.rows)


# --- options ---


def test_an_anchor_moves_ratings_and_no_difference(votes: es.EvalData, found: es.ArenaRanking):
    name = found.rows[2].name
    fixed = es.arena(votes, checks=False, anchor=name)
    assert fixed.row(name).estimate == 1000.0
    assert fixed.row(name).std_error is None
    for one, other in zip(found.pairs, fixed.pairs, strict=True):
        assert one.estimate == pytest.approx(other.estimate, abs=1e-9)
        assert one.std_error == pytest.approx(other.std_error, rel=1e-9)


def test_log_odds_are_the_same_in_another_unit(votes: es.EvalData, found: es.ArenaRanking):
    other = es.arena(votes, checks=False, scale="log-odds")
    points = 400.0 / np.log(10.0)
    for one, two in zip(found.rows, other.rows, strict=True):
        assert (one.estimate - 1000.0) / points == pytest.approx(two.estimate, abs=1e-9)
        assert one.std_error / points == pytest.approx(two.std_error, rel=1e-9)


def test_other_choices_stand_beside(found: es.ArenaRanking):
    keys = {each.key for each in found.alternatives}
    assert {"davidson", "rao-kupper", "with side", "equal pairs"} <= keys
    davidson = next(each for each in found.alternatives if each.key == "davidson")
    assert davidson.log_lik is not None
    assert davidson.largest_move is None  # points of other models of ties are not the headline's


def test_both_bad_is_counted_apart_and_may_be_dropped(votes: es.EvalData, found: es.ArenaRanking):
    assert found.n_both_bad > 0
    dropped = es.arena(votes, checks=False, both_bad="drop")
    assert dropped.n_votes == found.n_votes - found.n_both_bad
    beside = next(each for each in found.alternatives if each.key == "without both bad")
    ours = dict(zip([row.name for row in found.rows], beside.ratings, strict=True))
    for row in dropped.rows:
        assert row.estimate == pytest.approx(ours[row.name], abs=1e-7)


def test_style_is_estimated_beside_and_held_on_demand():
    effects = ArenaEffects(style=1.0)
    data = simulate_arena(4000, seed=5, design=SIX, effects=effects)
    beside = es.arena(data, checks=False)
    held = es.arena(data, checks=False, covariates="auto")
    free = next(c for c in beside.covariates if c.name == "assistant_tokens")
    kept = next(c for c in held.covariates if c.name == "assistant_tokens")
    assert not free.held
    assert kept.held
    assert free.estimate == pytest.approx(kept.estimate, abs=1e-8)
    assert kept.conf_low is not None
    assert kept.conf_low > 0.0
    with_style = next(each for each in beside.alternatives if each.key == "with style")
    ours = dict(zip([row.name for row in beside.rows], with_style.ratings, strict=True))
    for row in held.rows:
        assert row.estimate == pytest.approx(ours[row.name], abs=1e-7)


def test_a_bootstrap_stands_beside_the_sandwich(votes: es.EvalData):
    result = es.arena(votes, checks=False, n_resamples=400)
    row = result.rows[0]
    assert row.boot_low is not None
    assert row.boot_low < row.estimate < row.boot_high
    width, boot = row.conf_high - row.conf_low, row.boot_high - row.boot_low
    assert boot == pytest.approx(width, rel=0.35)  # ends of 400 draws have a Monte Carlo error of about a tenth


def test_few_named_clusters_give_no_interval(votes: es.EvalData):
    result = es.arena(votes, checks=False, cluster="app")
    assert all(row.conf_low is None and row.rank_low is None for row in result.rows)
    assert result.rank_reason is not None


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"prior": -1.0}, "prior is -1"),
        ({"anchor": "nobody"}, "the anchor 'nobody' has no votes"),
        ({"cluster": "nobody"}, "no column 'nobody'"),
        ({"covariates": ["nobody"]}, "no numeric columns nobody_a and nobody_b"),
        ({"models": ["nobody", "x"]}, "no vote is of a model 'nobody'"),
        ({"models": ["x"]}, "at least two are needed"),
        ({"by": "nobody"}, "nobody"),
    ],
)
def test_options_that_make_no_sense_are_refused(votes: es.EvalData, options: dict[str, object], said: str):
    with pytest.raises(InputError, match=said):
        es.arena(votes, checks=False, **options)


# --- the result ---


def test_a_pair_may_be_asked_for_either_way(found: es.ArenaRanking):
    first, second = found.rows[0].name, found.rows[-1].name
    there, back = found.pair(first, second), found.pair(second, first)
    assert there.estimate == -back.estimate
    assert (there.conf_low, there.conf_high) == (-back.conf_high, -back.conf_low)
    assert there.win_probability == pytest.approx(1.0 - back.win_probability)
    assert {there.verdict, back.verdict} == {"better", "worse"}


def test_the_covariance_gives_the_errors_of_differences(found: es.ArenaRanking):
    assert found.covariance is not None
    names = [row.name for row in found.rows]
    for pair in found.pairs:
        i, j = names.index(pair.first), names.index(pair.second)
        v = np.array(found.covariance)
        assert pair.std_error == pytest.approx(np.sqrt(v[i, i] + v[j, j] - 2 * v[i, j]), rel=1e-6)


@pytest.mark.slow
def test_rank_sets_hold_the_true_ranks():
    """All rank sets together hold the true ranks in at least 95% of tables, less 3 standard errors of 200 tables."""
    from evalstats.simulate.arena import arena_truth

    design = ArenaDesign(models=6, n_raters=60)
    held = 0
    tables = 200
    for seed in range(tables):
        data = simulate_arena(1500, seed=seed, design=design)
        truth = arena_truth(n_votes=1500, seed=seed, design=design)
        order = truth.sort("strength", descending=True)["model"].to_list()
        result = es.arena(data, checks=False)
        held += all(row.rank_low <= order.index(row.name) + 1 <= row.rank_high for row in result.rows)
    assert held / tables >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / tables)


def test_votes_in_which_both_were_bad_are_called_no_ties() -> None:
    rows = [(*pair, "both_bad") for pair in (("x", "y"), ("y", "z"), ("x", "z")) for _ in range(20)]
    frame = pl.DataFrame(rows, schema=["model_a", "model_b", "winner"], orient="row")
    found = es.arena(frame, checks=False)
    assert found.document().scope == "60 votes, 100% both bad"
