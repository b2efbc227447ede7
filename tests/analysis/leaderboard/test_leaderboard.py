"""How do all models stand: every number against its definition, and what must not depend on order or names."""

import dataclasses
import json
from itertools import pairwise

import numpy as np
import polars as pl
import pytest

from evalstats.analysis.compare.compare import compare
from evalstats.analysis.leaderboard.leaderboard import leaderboard
from evalstats.analysis.leaderboard.result import Leaderboard
from evalstats.analysis.score.result import Scores
from evalstats.analysis.score.score import score
from evalstats.document.model import Note
from evalstats.errors import CannotAnswerError, InputError
from evalstats.schema.data import EvalData
from evalstats.schema.plan import Plan
from evalstats.stats.many.multiplicity import benjamini_hochberg, benjamini_yekutieli, holm
from evalstats.stats.many.ranks import rank_sets
from evalstats.stats.paired.binary import PairedCounts, tango
from evalstats.stats.trials import pass_hat_k
from tests.analysis.builders import data_of, printed, rows_of, told

Rows = list[dict[str, object]]


def binary(n: int, shares: list[float], seed: int = 0) -> np.ndarray:
    """Right-or-wrong scores, shape (n, models), on items of different difficulty."""
    rng = np.random.default_rng(seed)
    ease = rng.normal(0, 1, n)[:, np.newaxis]
    return (rng.logistic(size=(n, len(shares))) < ease + np.array(shares)).astype(float)


def board(scores: np.ndarray, names: str = "abcdefghij", **options: object) -> EvalData:
    """Scores as data; NaN is an item that the model never saw."""
    parts: list[Rows] = []
    for j, name in zip(range(scores.shape[1]), names, strict=False):
        seen = np.flatnonzero(~np.isnan(scores[:, j]))
        parts.append(rows_of(name, scores[seen, j].tolist(), items=[f"q{i:04d}" for i in seen]))
    return data_of(*parts, **options)


def sets(found: Leaderboard) -> dict[str, tuple[int | None, int | None]]:
    return {row.name: (row.rank_low, row.rank_high) for row in found.rows}


@pytest.fixture(scope="module")
def scores() -> np.ndarray:
    return binary(220, [1.2, 1.0, 0.3, 0.2, -1.0], seed=4)


@pytest.fixture(scope="module")
def found(scores: np.ndarray) -> Leaderboard:
    return leaderboard(board(scores))


# --- the numbers ---------------------------------------------------------------------------------------------------


def test_every_line_is_the_score_of_its_model(scores: np.ndarray, found: Leaderboard) -> None:
    data = board(scores)
    for row in found.rows:
        own = score(data, row.name)
        assert not isinstance(own, Scores)
        for name in ("estimate", "std_error", "conf_low", "conf_high", "method", "n_items", "n_trials"):
            assert getattr(row, name) == getattr(own, name), name


def test_lines_are_sorted_by_score_and_pairs_are_differences_of_means(scores: np.ndarray, found: Leaderboard) -> None:
    means = dict(zip("abcde", scores.mean(axis=0).tolist(), strict=True))
    assert [row.name for row in found.rows] == sorted(means, key=lambda name: -means[name])
    assert len(found.pairs) == 10
    for pair in found.pairs:
        assert pair.estimate == pytest.approx(means[pair.first] - means[pair.second])
        assert (pair.conf_low or 0) <= pair.estimate <= (pair.conf_high or 0)


def test_simultaneous_intervals_are_tangos_at_the_critical_value(scores: np.ndarray, found: Leaderboard) -> None:
    """Wider than the interval of one pair alone, and by one common factor of the score statistic."""
    column = dict(zip("abcde", scores.T, strict=True))
    for pair in found.pairs:
        alone = tango(PairedCounts.from_scores(column[pair.second], column[pair.first]), conf_level=0.95)
        assert pair.estimate == pytest.approx(alone.estimate)
        assert (pair.conf_low or 0) < (alone.conf_low or 0) < (alone.conf_high or 0) < (pair.conf_high or 0)


def test_rank_sets_are_those_of_the_item_scores(scores: np.ndarray, found: Leaderboard) -> None:
    direct = rank_sets(scores, conf_level=0.95)
    for j, name in enumerate("abcde"):
        row = found.row(name)
        assert (row.rank_low, row.rank_high) == (direct.low[j], direct.high[j])
        assert (row.rank_low_marginal, row.rank_high_marginal) == (direct.marginal_low[j], direct.marginal_high[j])
        assert row.top == tuple((k, bool(direct.top[k][j])) for k in (1, 3, 5))
        assert row.may_be_best == bool(direct.top[1][j])


def test_adjusted_p_are_those_of_the_family(scores: np.ndarray) -> None:
    data = board(scores)
    by_name = {"holm": holm, "bh": benjamini_hochberg, "by": benjamini_yekutieli}
    for adjust, by in by_name.items():
        pairs = leaderboard(data, adjust=adjust).pairs
        raw = [pair.p_value for pair in pairs]
        np.testing.assert_allclose([pair.p_adjusted for pair in pairs], by(raw))
        np.testing.assert_allclose([pair.p_holm for pair in pairs], holm(raw))
        assert all(pair.separated == ((pair.p_adjusted or 0) <= 0.05) for pair in pairs)


def test_rank_sets_do_not_follow_a_false_discovery_rate(scores: np.ndarray, found: Leaderboard) -> None:
    assert sets(leaderboard(board(scores), adjust="bh")) == sets(found)


def test_two_models_share_a_letter_exactly_when_they_are_not_separated(found: Leaderboard) -> None:
    for pair in found.pairs:
        shared = set(found.row(pair.first).tier) & set(found.row(pair.second).tier)
        assert bool(shared) != pair.separated


def test_against_a_baseline_the_family_is_smaller_and_the_estimates_are_the_same(
    scores: np.ndarray, found: Leaderboard
) -> None:
    against = leaderboard(board(scores), baseline="c")
    of_all = {frozenset((pair.first, pair.second)): pair for pair in found.pairs}
    assert {pair.first for pair in against.pairs} == set("abde")
    for pair in against.pairs:
        assert pair.second == "c"
        same = of_all[frozenset((pair.first, pair.second))]
        assert abs(pair.estimate or 0) == pytest.approx(abs(same.estimate or 0))
        assert (pair.p_adjusted or 0) <= (same.p_adjusted or 0) + 1e-12
        assert pair.verdict in ("better" if (pair.estimate or 0) > 0 else "worse", "not separated")
    assert sets(against) == sets(found)


def test_pass_hat_k_is_the_mean_of_the_unbiased_values() -> None:
    rng = np.random.default_rng(5)
    trials = {name: (rng.random((40, 4)) < share).astype(float) for name, share in (("a", 0.9), ("b", 0.6))}
    rows = [rows_of(name, values.ravel().tolist(), trials=4) for name, values in trials.items()]
    del rows[1][2:4]  # the first item of b keeps two trials
    found = leaderboard(data_of(*rows), pass_hat=3)
    a = pass_hat_k(np.full(40, 4), trials["a"].sum(axis=1), 3)
    b = pass_hat_k(np.full(39, 4), trials["b"].sum(axis=1)[1:], 3)
    assert found.metric == "correct pass^3"
    assert found.row("a").estimate == pytest.approx(a.mean())
    assert found.row("b").own_mean == pytest.approx(b.mean())
    assert (found.row("a").n_items, found.row("b").n_items, found.row("b").n_missing) == (40, 39, 1)
    assert found.pairs[0].estimate == pytest.approx(a[1:].mean() - b.mean())
    assert any("q0000" in note and "fewer than 3" in note for note in told(found))
    # Whatever the two lost trials and the lost item had been, the score lies in the bounds.
    assert found.row("b").missing_low == pytest.approx(b.sum() / 40)
    assert found.row("b").missing_high == pytest.approx((b.sum() + 1) / 40)


def test_pass_at_1_is_the_mean() -> None:
    rng = np.random.default_rng(6)
    rows = [rows_of(name, (rng.random(120) < 0.5).astype(float).tolist(), trials=3) for name in "ab"]
    plain, at_1 = leaderboard(data_of(*rows)), leaderboard(data_of(*rows), pass_at=1)
    assert [row.estimate for row in plain.rows] == pytest.approx([row.estimate for row in at_1.rows])
    with pytest.raises(InputError, match="ask one"):
        leaderboard(data_of(*rows), pass_at=1, pass_hat=1)


# --- what must not matter ------------------------------------------------------------------------------------------


def test_the_order_of_rows_and_models_does_not_matter(scores: np.ndarray, found: Leaderboard) -> None:
    data = board(scores)
    shuffled = dataclasses.replace(data, outcomes=data.outcomes.sample(fraction=1.0, shuffle=True, seed=8))
    assert leaderboard(shuffled).to_dict() == found.to_dict()


def test_renaming_models_moves_nothing(scores: np.ndarray, found: Leaderboard) -> None:
    renamed = leaderboard(board(scores, names="vwxyz"))
    back = dict(zip("vwxyz", "abcde", strict=True))
    assert {back[name]: each for name, each in sets(renamed).items()} == sets(found)
    assert [back[row.name] for row in renamed.rows] == [row.name for row in found.rows]


def test_where_lower_is_better_everything_turns_round(scores: np.ndarray, found: Leaderboard) -> None:
    errors = leaderboard(board(1 - scores, kind="binary", higher_is_better=False))
    assert [row.name for row in errors.rows] == [row.name for row in found.rows]
    assert sets(errors) == sets(found)
    for row, other in zip(errors.rows, found.rows, strict=True):
        assert row.estimate == pytest.approx(1 - (other.estimate or 0))
        assert (row.best_low, row.best_high) == pytest.approx((other.best_low, other.best_high))
        assert row.tier == other.tier
    for pair, other in zip(errors.pairs, found.pairs, strict=True):
        assert (pair.first, pair.verdict) == (other.first, other.verdict)
        assert pair.estimate == pytest.approx(-(other.estimate or 0))
    assert errors.winner is not None
    assert found.winner is not None
    assert errors.winner.corrected == pytest.approx(1 - (found.winner.corrected or 0))
    assert errors.winner.conf_low == pytest.approx(1 - (found.winner.conf_high or 0))


def test_unbounded_scores_that_are_better_when_lower(scores: np.ndarray) -> None:
    seconds = 10 + np.random.default_rng(1).gamma(2, 1, scores.shape) - 3 * scores
    up = leaderboard(board(-seconds, kind="continuous"))
    down = leaderboard(board(seconds, kind="continuous", higher_is_better=False))
    assert sets(up) == sets(down)
    assert [row.name for row in up.rows] == [row.name for row in down.rows]


def test_a_count_of_zeros_and_ones_that_is_no_share_is_no_right_or_wrong_answer(scores: np.ndarray) -> None:
    retries = leaderboard(board(1 - scores, kind="continuous", higher_is_better=False))
    assert "paired t" in retries.method
    assert [row.name for row in retries.rows][-1] == "e"


def test_the_seed_is_all_that_draws_depend_on(scores: np.ndarray, found: Leaderboard) -> None:
    assert leaderboard(board(scores)).to_dict() == found.to_dict()
    other = leaderboard(board(scores), seed=7)
    assert other.origin.seed == 7
    np.testing.assert_allclose(
        [pair.p_adjusted for pair in other.pairs],
        [pair.p_adjusted for pair in found.pairs],
        atol=4 * np.sqrt(0.25 / 9999),  # four Monte Carlo standard errors of a share of 9,999 draws
    )


# --- missing -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def holes(scores: np.ndarray) -> np.ndarray:
    seen = scores.copy()
    seen[np.random.default_rng(9).random(scores.shape) < 0.2] = np.nan
    return seen


def test_models_that_saw_different_items_are_compared_on_what_they_share(holes: np.ndarray) -> None:
    found = leaderboard(board(holes))
    assert found.graph is not None
    assert not found.graph.same_items
    column = dict(zip("abcde", holes.T, strict=True))
    for pair in found.pairs:
        one, two = column[pair.first], column[pair.second]
        both = ~np.isnan(one) & ~np.isnan(two)
        assert pair.n_items == both.sum()
        assert pair.estimate == pytest.approx((one[both] - two[both]).mean())
    for row in found.rows:
        own = column[row.name]
        assert row.own_mean == pytest.approx(np.nanmean(own))
        assert row.n_missing == np.isnan(own).sum()
        assert row.missing_low == pytest.approx(np.nansum(own) / 220)
        assert row.missing_high == pytest.approx((np.nansum(own) + np.isnan(own).sum()) / 220)
    assert any("scores that others have are missing" in text or "missing scores of" in text for text in told(found))
    assert found.basis.startswith("scores set on all 220 items, of which two models share ")


def test_one_more_missing_score_never_narrows_the_bounds(holes: np.ndarray) -> None:
    def bounds(values: np.ndarray) -> dict[str, tuple[float, float]]:
        return {row.name: (row.missing_low or 0, row.missing_high or 0) for row in leaderboard(board(values)).rows}

    before = bounds(holes)
    rng = np.random.default_rng(10)
    for _ in range(2):
        more = holes.copy()
        i, j = rng.choice(np.argwhere(~np.isnan(more)))
        more[i, j] = np.nan
        after = bounds(more)
        for name, (low, high) in after.items():
            assert low <= before[name][0] + 1e-12
            assert high >= before[name][1] - 1e-12


def test_the_metric_stays_binary_with_missing_scores(holes: np.ndarray, scores: np.ndarray) -> None:
    assert leaderboard(board(holes)).metric_kind == leaderboard(board(scores)).metric_kind == "binary"


def test_errors_and_unscored_rows_are_counted_and_are_not_wrong_answers() -> None:
    a = rows_of("a", [1.0] * 30 + [None] * 4, status="error")
    b = rows_of("b", [1.0, 0.0] * 15 + [None] * 4)
    found = leaderboard(data_of(a, b))
    assert (found.row("a").estimate, found.row("a").n_error, found.row("a").n_unscored) == (1.0, 4, 0)
    assert (found.row("b").estimate, found.row("b").n_error, found.row("b").n_unscored) == (0.5, 0, 4)
    assert found.row("a").missing_low == pytest.approx(30 / 34)
    assert found.row("b").missing_high == pytest.approx(19 / 34)
    assert any("dropped, not counted as wrong" in text for text in told(found))


@pytest.mark.parametrize(("n_right", "rivals"), [(57, ()), (55, ("b",)), (40, ("b",))])
def test_a_best_model_that_missing_scores_could_overtake_is_said_to_be(n_right: int, rivals: tuple[str, ...]) -> None:
    """Three of 60 missing may not turn the lead of 8 items; with five, chance and they together may, as in `compare`."""
    n = 60
    a = rows_of("a", [1.0] * n_right + [None] * (n - n_right), status="error")
    b = rows_of("b", [0.0] * 11 + [1.0] * 46 + [None] * 3, status="error")
    c = rows_of("c", [0.0] * n)
    found = leaderboard(data_of(a, b, c))
    assert found.best() == ("a",)
    assert found.best_if_missing == rivals
    assert ("of a model's scores are missing: b could be ahead." in found.summary()) == bool(rivals)
    assert (compare(data_of(a, b, c), "b", "a").verdict == "better") == (not rivals)


def test_those_whose_missing_scores_could_reverse_a_pair_are_named() -> None:
    """At best b scores 99 of 120 and a has 110, which chance could undo; c lacks one item and stays last whatever it is."""
    a = rows_of("a", [1.0] * 110 + [0.0] * 10)
    b = rows_of("b", [1.0] * 49 + [0.0] * 21 + [None] * 50)
    c = rows_of("c", [0.0] * 119 + [None])
    assert "At worst, missing scores of b reverse 1 of 3 separated pairs" in told(leaderboard(data_of(a, b, c)))


def test_a_model_without_a_single_score_is_listed_without_rank(scores: np.ndarray) -> None:
    silent = rows_of("silent", [None] * 220, status="error")
    data = board(scores)
    data = dataclasses.replace(data, outcomes=pl.concat([data.outcomes, data_of(silent).outcomes], how="diagonal"))
    found = leaderboard(data)
    row = found.row("silent")
    assert found.rows[-1] is row
    assert (row.estimate, row.rank_low, row.tier, row.may_be_best) == (None, None, "", None)
    assert "no scored row: 220 rows are errors" in (row.reason or "")
    assert (row.n_error, row.n_missing) == (220, 220)
    assert sets(found) == {**sets(leaderboard(board(scores))), "silent": (None, None)}


def test_sets_of_models_that_share_too_little_are_ranked_apart() -> None:
    values = np.full((130, 4), np.nan)
    values[:70, :2] = binary(70, [2.0, -2.0], seed=1)
    values[61:, 2:] = binary(69, [3.0, -3.0], seed=2)  # nine items in common
    found = leaderboard(board(values))
    assert found.rank_reason is not None
    assert "2 parts" in found.rank_reason
    assert [row.component for row in found.rows] == [1, 1, 2, 2]
    assert sets(found) == {"a": (1, 1), "b": (2, 2), "c": (1, 1), "d": (2, 2)}
    across = [
        pair
        for pair in found.pairs
        if {pair.first, pair.second} & {"a", "b"} and {pair.first, pair.second} & {"c", "d"}
    ]
    assert len(across) == 4
    for pair in across:
        assert (pair.verdict, pair.separated, pair.estimate, pair.n_items) == ("not compared", False, None, 9)
        assert "9 shared items" in (pair.reason or "")
    assert found.winner is None
    assert found.row("a").tier[0] == "1"
    assert "NO OVERALL RANK" in printed(found)


def test_the_ends_of_a_chain_are_never_separated_directly() -> None:
    """a and c share nothing; ranks come from the pairs that exist."""
    values = np.full((120, 3), np.nan)
    one = binary(120, [4.0, 0.0, -4.0], seed=3)
    values[:60, 0], values[20:100, 1], values[60:, 2] = one[:60, 0], one[20:100, 1], one[60:, 2]
    found = leaderboard(board(values))
    verdicts = {(pair.first, pair.second): pair.verdict for pair in found.pairs}
    assert verdicts == {("a", "b"): "better", ("a", "c"): "not compared", ("b", "c"): "better"}
    assert sets(found) == {"a": (1, 2), "b": (2, 2), "c": (2, 3)}
    assert found.rank_reason is None
    assert found.row("a").best_low is None  # nothing is known of its lead over c
    assert found.row("c").best_high == 0


def test_ranks_counted_from_pairs_equal_the_slow_count() -> None:
    values = binary(300, [1.5, 1.4, 0.2, 0.0, -1.5], seed=12)
    values[:150, 0] = np.nan
    values[148:, 4] = np.nan  # too few shared with the first
    found = leaderboard(board(values))
    assert "counted" in found.rank_method
    for row in found.rows:
        mine = [pair for pair in found.pairs if row.name in (pair.first, pair.second) and pair.separated]
        won = sum((pair.verdict == "better") == (pair.first == row.name) for pair in mine)
        assert (row.rank_low, row.rank_high) == (1 + len(mine) - won, 5 - won)
        assert (row.rank_low_marginal or 0) >= (row.rank_low or 0)
        assert (row.rank_high_marginal or 9) <= (row.rank_high or 0)


def test_a_model_that_met_easy_items_too_does_not_lead_by_them() -> None:
    """The mean of b's own items is higher, and it is worse on the items that both have."""
    a, b = np.full(200, np.nan), np.ones(200)
    a[:60] = np.arange(60) < 48
    b[:60] = np.arange(60) < 24
    found = leaderboard(board(np.stack([a, b, np.zeros(200)], axis=1)))
    assert [row.name for row in found.rows] == ["a", "b", "c"]  # of their own items .80, .82, 0
    first = found.pairs[0]
    assert (first.first, first.second, first.verdict) == ("a", "b", "better")
    assert sets(found) == {"a": (1, 1), "b": (2, 2), "c": (3, 3)}
    assert [row.tier for row in found.rows] == ["a", "b", "c"]


# --- clusters ------------------------------------------------------------------------------------------------------


def clustered(n_clusters: int, size: int, shares: list[float], seed: int, dependence: tuple[str, ...] = ()) -> EvalData:
    rng = np.random.default_rng(seed)
    passages = [f"p{g}" for g in range(n_clusters) for _ in range(size)]
    rows = []
    for name, share in zip("abcdef", shares, strict=False):
        tilt = np.repeat(rng.normal(0, 1, n_clusters), size)
        values = (rng.logistic(size=n_clusters * size) < tilt + share).astype(float)
        rows.append(rows_of(name, values.tolist(), factors={"passage": passages}))
    return data_of(*rows, dependence=dependence)


def test_clusters_are_the_unit_whether_named_or_declared() -> None:
    named = leaderboard(clustered(12, 10, [1.5, 0.0, -1.5], seed=1), cluster="passage")
    declared = leaderboard(clustered(12, 10, [1.5, 0.0, -1.5], seed=1, dependence=("passage",)))
    assert named.clusters == declared.clusters == ("passage",)
    assert named.n_clusters == 12
    assert sets(named) == sets(declared)
    assert any("declared" in note for note in told(declared))
    for row in named.rows:
        assert row.n_clusters == 12
    assert named.omnibus is None
    assert "clustered" in (named.omnibus_reason or "")


def test_fewer_than_six_clusters_give_no_rank_sets() -> None:
    found = leaderboard(clustered(5, 20, [2.0, 0.0, -2.0], seed=2), cluster="passage")
    assert all(row.rank_low is None and row.may_be_best is None for row in found.rows)
    assert found.best() == ()
    assert "at least 6" in (found.rank_reason or "")
    assert "NO RANKS:" in printed(found)
    # Nobody asked for what stands in the place of sign flips.
    assert found.adjust != "holm" or "asked for" not in found.method_reason
    assert all(row.best_low is None for row in found.rows)


def test_crossed_clusters_are_both_counted() -> None:
    rng = np.random.default_rng(3)
    passages, users = [f"p{i // 10}" for i in range(200)], [f"u{i % 10}" for i in range(200)]
    factors = {"passage": passages, "who": users}
    rows = [
        rows_of(name, (rng.random(200) < share).astype(float).tolist(), factors=factors)
        for name, share in (("a", 0.9), ("b", 0.5), ("c", 0.45))
    ]
    found = leaderboard(data_of(*rows), cluster=["passage", "who"])
    assert found.clusters == ("passage", "who")
    assert "2 cluster columns" in found.method
    assert found.adjust == "holm"
    assert sets(found) == {"a": (1, 1), "b": (2, 3), "c": (2, 3)}
    assert any("Holm" in text for text in told(found))


def test_the_variants_of_one_item_are_one_cluster() -> None:
    rng = np.random.default_rng(7)
    rows = [
        {**row, "variant": variant}
        for name, share in (("a", 0.8), ("b", 0.5), ("c", 0.4))
        for variant in ("de", "en")
        for row in rows_of(name, (rng.random(60) < share).astype(float).tolist())
    ]
    found = leaderboard(data_of(rows))
    assert found.clusters == ("item",)
    assert [(row.n_items, row.n_clusters) for row in found.rows] == [(120, 60)] * 3
    assert any("variants of one item are one cluster" in note for note in told(found))
    by_variant = leaderboard(data_of([row for row in rows if row["model"] == "a"]), contrast="variant")
    assert {row.name for row in by_variant.rows} == {"de", "en"}
    assert by_variant.clusters == ()


def test_a_lead_that_runs_in_groups_is_suspected() -> None:
    passages = [f"p{i // 10}" for i in range(200)]
    rng = np.random.default_rng(4)
    by_group = np.repeat(rng.random(20) < 0.7, 10).astype(float)
    rows = [rows_of("a", by_group.tolist(), factors={"passage": passages})]
    rows += [
        rows_of(name, (rng.random(200) < 0.4).astype(float).tolist(), factors={"passage": passages}) for name in "bc"
    ]
    found = leaderboard(data_of(*rows))
    assert [(row.factor, row.flag) for row in found.dependence] == [("passage", "warn")]
    assert any("Items of one passage behave alike" in text for text in told(found))
    assert "a against" in found.dependence_of


# --- who is listed -------------------------------------------------------------------------------------------------


def test_several_runs_of_the_same_trials_are_refused_or_listed_as_runs(scores: np.ndarray) -> None:
    again = [{**row, "run": "a-again"} for row in rows_of("a", scores[:, 1].tolist())]
    data = data_of(rows_of("a", scores[:, 0].tolist()), again, rows_of("b", scores[:, 2].tolist()))
    with pytest.raises(InputError, match=r"'a-again', 'a-run'.*contrast='run'"):
        leaderboard(data)
    by_run = leaderboard(data, contrast="run")
    assert {row.name for row in by_run.rows} == {"a-run", "a-again", "b-run"}
    chosen = leaderboard(data, models=["a-again", "b"])
    assert {row.name for row in chosen.rows} == {"a-again", "b"}


def test_several_runs_with_other_trial_numbers_are_trials(scores: np.ndarray) -> None:
    again = [{**row, "run": "a-again", "trial": 1} for row in rows_of("a", scores[:, 1].tolist())]
    found = leaderboard(data_of(rows_of("a", scores[:, 0].tolist()), again, rows_of("b", scores[:, 2].tolist())))
    row = found.row("a")
    assert (row.n_items, row.n_trials, row.runs) == (220, 440, ("a-again", "a-run"))
    assert row.estimate == pytest.approx(scores[:, :2].mean())


def test_a_system_of_several_models_is_an_entry_for_each(scores: np.ndarray) -> None:
    rows = [
        {**row, "system": "agent"} for name, j in (("m", 0), ("n", 1)) for row in rows_of(name, scores[:, j].tolist())
    ]
    found = leaderboard(data_of(rows, rows_of("plain", scores[:, 2].tolist())))
    assert {row.name for row in found.rows} == {"m (agent)", "n (agent)", "plain"}
    assert any("several models" in note for note in told(found))


def test_models_keeps_some(scores: np.ndarray) -> None:
    found = leaderboard(board(scores), models=["e", "a", "c"])
    assert {row.name for row in found.rows} == {"a", "c", "e"}
    assert len(found.pairs) == 3


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"models": ["a", "a"]}, "named twice"),
        ({"models": ["a", "nobody"]}, "no model, system or run 'nobody'"),
        ({"models": ["a"]}, "needs two"),
        ({"models": ["a", "a-run"]}, "share rows"),
        ({"baseline": "nobody"}, "none of the systems listed"),
        ({"adjust": "bonferroni"}, "choose one of max-t, holm, bh, by"),
        ({"top": [0]}, "whole numbers from 1"),
        ({"conf_level": 95}, "below 1"),
        ({"seed": -1}, "whole number from 0"),
        ({"metric": "f1"}, "no metric 'f1'"),
        ({"cluster": "passage"}, "no column 'passage'"),
        ({"contrast": "passage"}, "no column 'passage'"),
        ({"pass_hat": 0}, "whole number from 1"),
    ],
)
def test_bad_options_are_refused_in_words(scores: np.ndarray, options: dict[str, object], told: str) -> None:
    with pytest.raises(InputError, match=told):
        leaderboard(board(scores), **options)


def test_a_board_of_few_items_ranks_by_all_of_them_as_a_comparison_does() -> None:
    data = data_of(rows_of("a", [0.70, 0.71, 0.69, 0.70, 0.72]), rows_of("b", [0.75, 0.74, 0.76, 0.75, 0.74]))
    board, pair = leaderboard(data), compare(data, "a", "b")
    assert board.rows[0].name == "b"
    assert board.pairs[0].n_items == pair.n_items == 5
    assert not board.pairs[0].separated
    assert "no method is reliable below 10" in str(board.notes)


def test_what_cannot_be_answered_says_why() -> None:
    one = rows_of("a", [1.0] * 20)
    with pytest.raises(CannotAnswerError, match="needs two systems"):
        leaderboard(data_of(one))
    with pytest.raises(CannotAnswerError, match="only 'a' has any"):
        leaderboard(data_of(one, rows_of("b", [None] * 20)))
    with pytest.raises(CannotAnswerError, match="the most that any two share is 0"):
        leaderboard(data_of(one, rows_of("b", [1.0] * 20, items=[f"other{i}" for i in range(20)])))
    with pytest.raises(CannotAnswerError, match="the most that any two share is 9"):
        leaderboard(data_of(one, rows_of("b", [0.0] * 9)))
    with pytest.raises(CannotAnswerError, match="no outcomes"):
        leaderboard(EvalData())
    with pytest.raises(InputError, match="benchmarks"):
        leaderboard(data_of(one, rows_of("b", [1.0] * 20, benchmark="other")))


def test_several_judges_are_averaged_and_a_plain_table_is_data(scores: np.ndarray) -> None:
    rows = [
        {**row, "judge": judge}
        for name, j in (("a", 0), ("b", 4))
        for judge, column in (("one", j), ("two", 2))
        for row in rows_of(name, scores[:, column].tolist())
    ]
    found = leaderboard(data_of(rows).outcomes)
    assert found.row("a").estimate == pytest.approx(scores[:, [0, 2]].mean())
    assert found.row("a").n_items == found.row("a").n_trials == 220
    assert any("2 judges are averaged" in note for note in told(found))


def test_a_factor_can_name_the_entries(scores: np.ndarray) -> None:
    rows = [{**row, "defence": name} for j, name in enumerate("xyz") for row in rows_of("m", scores[:, j].tolist())]
    rows = [{**row, "run": f"m-{row['defence']}"} for row in rows]
    found = leaderboard(data_of(rows), contrast="defence")
    assert {row.name: row.estimate for row in found.rows} == pytest.approx(
        dict(zip("xyz", scores[:, :3].mean(axis=0), strict=True))
    )
    assert found.contrast == "defence"


# --- runs that were made differently -------------------------------------------------------------------------------


def judged(scores: np.ndarray, judges: dict[str, str]) -> EvalData:
    rows = [
        [{**row, "judge": judges[name]} for row in rows_of(name, scores[:, j].tolist())]
        for j, name in enumerate(judges)
    ]
    return data_of(*rows)


def test_models_that_were_judged_by_others_are_not_compared(scores: np.ndarray) -> None:
    data = judged(scores, {"a": "strict", "b": "mild", "c": "strict", "d": "mild"})
    found = leaderboard(data)
    assert found.graph is not None
    assert found.graph.same_items
    assert any(each.severity == "invalid" for each in found.run_differences)
    assert {frozenset(part) for part in found.graph.components} == {frozenset("ac"), frozenset("bd")}
    assert any("accept=['judge']" in text for text in told(found))
    across = [pair for pair in found.pairs if pair.verdict == "not compared"]
    assert len(across) == 4
    assert all("measured differently" in (pair.reason or "") for pair in across)
    accepted = leaderboard(data, accept=["judge"])
    assert accepted.graph is not None
    assert accepted.graph.connected
    assert sets(accepted) == sets(leaderboard(board(scores[:, :4])))


# --- few, flat, tied, many -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_models_that_never_differ_are_open_in_every_rank(value: float) -> None:
    found = leaderboard(board(np.full((40, 3), value)))
    assert set(sets(found).values()) == {(1, 3)}
    assert len(found.best()) == 3
    assert all(row.tied_with for row in found.rows)
    for pair in found.pairs:
        assert (pair.p_adjusted, pair.separated, pair.verdict) == (1.0, False, "not separated")
        assert "agree on every item" in (pair.reason or "")
        assert (pair.conf_low or 0) < 0 < (pair.conf_high or 0)
    assert found.winner is not None
    assert found.winner.corrected is None
    assert "The same score: a, b and c;" in printed(found)
    json.dumps(found.to_dict(), allow_nan=False)


def test_a_constant_score_without_bounds_has_no_interval_and_a_reason() -> None:
    found = leaderboard(board(np.full((30, 3), 7.0), kind="continuous"))
    assert all(row.conf_low is None and row.reason for row in found.rows)
    assert not any(pair.separated for pair in found.pairs)
    json.dumps(found.to_dict(), allow_nan=False)
    assert "nan" not in printed(found).lower()


def test_a_shift_that_is_the_same_on_every_item_is_separated_by_sign_flips() -> None:
    base = np.random.default_rng(1).normal(size=30)
    found = leaderboard(board(np.stack([base + 1, base], axis=1), kind="continuous"))
    assert found.pairs[0].estimate == pytest.approx(1)
    assert found.pairs[0].separated
    assert found.pairs[0].p_value == pytest.approx(2.0**-29)


def test_ties_are_named_and_do_not_break_silently() -> None:
    values = np.zeros((40, 3))
    values[:20, 0] = values[20:, 1] = 1.0
    values[:4, 2] = 1.0
    found = leaderboard(board(values))
    assert found.row("a").tied_with == ("b",)
    assert found.row("b").tied_with == ("a",)
    assert found.row("c").tied_with == ()
    assert (found.row("a").rank_low, found.row("a").rank_high) == (found.row("b").rank_low, found.row("b").rank_high)
    assert found.winner is not None
    assert found.winner.name == "a, b"
    assert "share it" in (found.winner.reason or "")


def test_two_models_agree_with_each_others_sets(scores: np.ndarray) -> None:
    found = leaderboard(board(scores[:, [0, 4]]))
    assert sets(found) == {"a": (1, 1), "b": (2, 2)}
    assert found.row("a").shrunken is None  # two scores say nothing of their spread
    assert len(found.pairs) == 1


def test_few_items_are_told_of_the_board_and_not_of_each_score_again() -> None:
    found = leaderboard(data_of(*(rows_of(name, [0.7, 0.8, 0.6, 0.9, 0.75], metric="f1") for name in "ab")))
    assert [text for text in told(found) if "Only 5 items" in text] == ["Only 5 items: no method is reliable below 10"]


def test_ten_items_are_enough_and_are_called_few() -> None:
    found = leaderboard(board(binary(10, [3.0, -3.0], seed=1)))
    assert found.n_items == 10
    assert found.rows[0].rank_low == 1


@pytest.mark.slow
def test_a_hundred_models() -> None:
    values = binary(300, np.linspace(2, -2, 100).tolist(), seed=2)
    parts = [rows_of(f"model-{j:03d}", values[:, j].tolist()) for j in range(100)]
    found = leaderboard(data_of(*parts))
    assert len(found.rows) == 100
    assert len(found.pairs) == 4950
    assert found.rows[0].rank_high is not None
    assert found.rows[0].rank_high < 60
    assert max(len(line) for line in printed(found).splitlines()) <= 80


# --- how it is shown -----------------------------------------------------------------------------------------------


def test_frames_have_one_row_for_each_model_and_pair(found: Leaderboard) -> None:
    frame, pairs = found.to_frame(), found.pairs_frame()
    assert frame["model"].to_list() == [row.name for row in found.rows]
    assert {"estimate", "conf_low", "rank_low", "rank_high", "top_1", "top_3", "tier", "shrunken"} <= set(frame.columns)
    assert frame["top_1"].to_list() == [row.may_be_best for row in found.rows]
    assert pairs.height == len(found.pairs)
    assert pairs["adjust"].unique().to_list() == ["max-t"]


def test_no_rank_is_shown_that_is_not_a_set(found: Leaderboard) -> None:
    values = found.to_dict()
    assert not {"rank", "place", "position"} & set(values["rows"][0])
    open_rows = [row for row in found.rows if row.rank_low != row.rank_high]
    assert open_rows
    for row in open_rows:
        assert row.ranks == f"{row.rank_low}-{row.rank_high}"
        assert f" {row.rank_low}–{row.rank_high}" in printed(found)


def test_the_text_fits_80_columns_and_says_what_it_rests_on(found: Leaderboard, holes: np.ndarray) -> None:
    for result in (found, leaderboard(board(holes))):
        text = printed(result)
        assert max(len(line) for line in text.splitlines()) <= 80
        assert "95%" in text
    assert "All models on the same 220 items" in printed(found)
    assert found.document().section("comparability") is None


def test_the_summary_and_repr_name_the_best(found: Leaderboard) -> None:
    assert (
        repr(found) == "<Leaderboard: 5 models on bench (correct): 2 models could be the best; higher assumed better>"
    )
    assert found.summary().startswith(f"2 of 5 models could be best; {found.rows[0].name} leads. ")
    assert found.document().label == "no clear winner"
    assert "corrected for that" in found.explain().lower() or found.document().section("winner")
    assert "<table>" in found.to_html()


def test_the_winner_is_corrected_downwards_and_scores_are_drawn_together(found: Leaderboard) -> None:
    assert found.winner is not None
    top = found.rows[0]
    assert found.winner.name == top.name
    assert (found.winner.corrected or 0) <= (top.estimate or 0) + 1e-12
    shown = [row.estimate or 0 for row in found.rows]
    drawn = [row.shrunken or 0 for row in found.rows]
    assert max(drawn) - min(drawn) < max(shown) - min(shown)
    assert max(drawn) < max(shown)


def test_every_pair_of_neighbours_is_shown(found: Leaderboard) -> None:
    few = found.document().tables["pairs"]
    assert [row[:2] for row in few.rows] == [(pair.first, pair.second) for pair in found.pairs]
    more = leaderboard(board(binary(120, [1.5, 1, 0.5, 0, -0.5, -1], seed=4)))
    table = more.document().tables["pairs"]
    of = {(pair.first, pair.second): pair for pair in more.pairs}
    names = [row.name for row in more.rows]
    assert [(row[0], row[1], row[-1]) for row in table.rows] == [
        (one, two, of[one, two].verdict) for one, two in pairwise(names)
    ]
    assert len(table.frame["first"]) == len(more.pairs) == 15


def test_a_plan_settles_what_is_left_open_and_departures_are_told() -> None:
    rng = np.random.default_rng(0)
    rates = {"a": 0.3, "b": 0.5, "c": 0.9}
    data = data_of(*[rows_of(name, (rng.random(80) < rate).astype(float).tolist()) for name, rate in rates.items()])
    plan = Plan(source="evalstats.toml", conf_level=0.9, adjust="holm", baseline="first", aliases={"a": "first"})
    planned = leaderboard(data, plan=plan)
    assert (planned.conf_level, planned.adjust, planned.baseline) == (0.9, "holm", "first")
    assert planned.origin.plan.digest == plan.digest
    departed = leaderboard(data, plan=plan, adjust="bh")
    assert departed.notes[0] == Note(kind="plan", text="Departs from the plan: adjust bh given, holm declared")
    assert plan.digest[:12] in printed(planned)


# One system in doubt does not silence the others


def with_two_runs_of(name: str, n_models: int, n: int = 40) -> EvalData:
    """Give one of the models a second run of the same items."""
    scores = binary(n, np.linspace(0.3, 0.9, n_models).tolist())
    rows = [rows_of(f"m{j}", scores[:, j].tolist()) for j in range(n_models)]
    again = [{**row, "run": "again"} for row in rows_of(name, scores[:, 0].tolist())]
    return data_of(*rows, again, kind="binary")


def test_a_system_of_two_runs_is_left_out_of_a_board_and_named() -> None:
    data = with_two_runs_of("m1", 10)
    found = leaderboard(data)
    assert sorted(row.name for row in found.rows) == [f"m{j}" for j in range(10) if j != 1]
    said = [note for note in found.notes if note.kind == "left_out" and note.caution]
    assert [note.text for note in said] == ["m1 is dropped: 2 runs answered the same 40 items"]
    assert "contrast='run'" in said[0].line
    assert "data.trials_from_runs()" in said[0].line
    without = leaderboard(EvalData(
        outcomes=data.outcomes.filter(pl.col("model") != "m1"), runs=data.runs, metrics=data.metrics
    ))  # fmt: skip
    assert found.rows == without.rows
    assert found.pairs == without.pairs


def test_a_system_of_two_runs_is_refused_where_it_is_named_or_one_of_few() -> None:
    for data, options in (
        (with_two_runs_of("m1", 10), {"models": ["m0", "m1", "m2"]}),
        (with_two_runs_of("m1", 10), {"baseline": "m1"}),
        (with_two_runs_of("m1", 9), {}),
        (with_two_runs_of("m1", 2), {}),
    ):
        with pytest.raises(InputError, match="'m1' is ambiguous: 2 runs answered the same 40 items"):
            leaderboard(data, **options)


def test_scores_are_given_of_the_systems_that_have_one() -> None:
    data = with_two_runs_of("m1", 3)
    found = score(data)
    assert [row.name for row in found] == ["m0", "m2"]
    said = {note for row in found for note in row.notes if note.kind == "left_out"}
    assert {note.text for note in said} == {"m1 is dropped: 2 runs answered the same 40 items"}
    assert all(note.caution and "name=RUN" in note.line for note in said)
    assert {dataclasses.replace(row, notes=()) for row in found} == {
        dataclasses.replace(score(data, name), notes=()) for name in ("m0", "m2")
    }
    with pytest.raises(InputError, match="'m1' is ambiguous: 2 runs"):
        score(data, "m1")
    only = EvalData(outcomes=data.outcomes.filter(pl.col("model") == "m1"), runs=data.runs, metrics=data.metrics)
    with pytest.raises(InputError, match="'m1' is ambiguous: 2 runs"):
        score(only)


def test_items_are_paired_and_not_ranked() -> None:
    with pytest.raises(InputError, match="'item' names what is paired, not what is ranked"):
        leaderboard(data_of(rows_of("a", [1.0, 0.0] * 10), rows_of("b", [0.0, 1.0] * 10)), contrast="item")
