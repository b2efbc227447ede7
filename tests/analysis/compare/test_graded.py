"""Graded scores: which method compares them, and what outright failures that were not seen do to a result."""

import dataclasses

import numpy as np
import polars as pl
import pytest
from scipy import stats

from evalstats.analysis.compare.compare import compare
from evalstats.analysis.compare.difference import PairedScores, paired_difference
from evalstats.analysis.compare.gate import gate
from evalstats.analysis.compare.result import Comparison
from evalstats.analysis.compare.verdict import at_margin, with_unseen
from evalstats.analysis.design.metric import Metric
from evalstats.analysis.leaderboard.leaderboard import leaderboard
from evalstats.analysis.leaderboard.result import Leaderboard
from evalstats.schema.data import EvalData
from tests.analysis.builders import data_of, rows_of, told

RNG_SEED = 8


def judged(n: int = 60, gain: float = 0.6, *, seed: int = RNG_SEED) -> tuple[list[float], list[float]]:
    """Scores of a judge from 1 to 10, with many ties."""
    rng = np.random.default_rng(seed)
    level = rng.normal(6.5, 1.0, n)
    a, b = (np.clip(np.rint(level + move + rng.normal(0, 0.8, n)), 1, 10) for move in (0.0, gain))
    return a.tolist(), b.tolist()


def sides(a: object, b: object, **declared: object) -> EvalData:
    first, second = (np.asarray(x, dtype=float).tolist() for x in (a, b))
    return data_of(rows_of("a", first), rows_of("b", second), **declared)  # type: ignore[arg-type]


def limits(result: Comparison | Leaderboard) -> tuple[str, ...]:
    """Return what qualifies the verdict, less that nobody declared which way scores are better."""
    said = [each if isinstance(each, str) else each.text for each in result.qualifiers]
    return tuple(text for text in said if text != "higher assumed better")


def even(n: int = 60, gain: float = 0.015, *, seed: int = 2) -> tuple[np.ndarray, np.ndarray]:
    """Scores near .7 with a small, steady gain."""
    rng = np.random.default_rng(seed)
    level = rng.normal(0.7, 0.05, n)
    return level + rng.normal(0, 0.02, n), level + gain + rng.normal(0, 0.02, n)


# --- the method ---


@pytest.mark.parametrize("kind", ["ordinal", "bounded"])
def test_graded_scores_are_compared_by_t_ties_or_not(kind: str) -> None:
    """A judge's scores tie on a third of the items; a pseudo-item at the full range took all power from them."""
    a, b = judged()
    result = compare(sides(a, b, kind=kind, low=1.0, high=10.0), "a", "b")
    expected = stats.ttest_rel(b, a)
    ends = expected.confidence_interval()
    assert np.mean(np.array(a) == np.array(b)) > 0.2
    assert result.method == "paired t"
    assert result.p_value == pytest.approx(expected.pvalue)
    assert (result.conf_low, result.conf_high) == pytest.approx((ends.low, ends.high))
    assert result.verdict == "better"


def test_a_wider_declared_scale_changes_nothing_of_the_interval() -> None:
    a, b = judged()
    narrow, wide, none = (
        compare(sides(a, b, kind=kind, low=low, high=high), "a", "b")
        for kind, low, high in (("ordinal", 1.0, 10.0), ("ordinal", 0.0, 100.0), ("continuous", None, None))
    )
    for other in (wide, none):
        assert (other.conf_low, other.conf_high, other.p_value, other.verdict) == (
            narrow.conf_low,
            narrow.conf_high,
            narrow.p_value,
            narrow.verdict,
        )


def test_shares_of_trials_keep_the_pseudo_items() -> None:
    rng = np.random.default_rng(4)
    shares = [rng.integers(0, 6, 40) / 5 for _ in range(2)]
    declared = compare(sides(*shares, kind="proportion"), "a", "b")
    assert declared.method == "augmented t"
    undeclared = sides(*shares)
    assert compare(undeclared, "a", "b").method == "paired t"  # nothing says that these are counts
    counted = dataclasses.replace(
        undeclared, outcomes=undeclared.outcomes.with_columns(n_trials=pl.lit(5), trial=pl.lit(None, dtype=pl.Int64))
    )
    result = compare(counted, "a", "b")
    assert (result.method, result.metric_kind) == ("augmented t", "proportion")
    assert (result.conf_low, result.conf_high) == pytest.approx((declared.conf_low, declared.conf_high))
    graded = [np.clip(each + 0.013, 0, 1) for each in shares]
    f1 = sides(*graded)
    f1 = dataclasses.replace(f1, outcomes=f1.outcomes.with_columns(n_trials=pl.lit(5)))
    assert compare(f1, "a", "b").method == "paired t"


def test_scores_at_both_bounds_alone_are_right_or_wrong_in_another_unit() -> None:
    rng = np.random.default_rng(6)
    a, b = (rng.integers(0, 2, 50) for _ in range(2))
    percent = compare(sides(100 * a, 100 * b, kind="bounded", low=0.0, high=100.0), "a", "b")
    share = compare(sides(a, b), "a", "b", method="augmented-t")
    assert percent.method == "augmented t"
    assert percent.p_value == pytest.approx(share.p_value)
    assert not any(row.term.startswith("failures") for row in percent.effects)


def test_equal_differences_have_an_interval_with_a_width() -> None:
    a = np.linspace(0.2, 0.6, 30)
    for gain in (0.0, 0.1):
        result = compare(sides(a, a + gain, kind="bounded", low=0.0, high=1.0), "a", "b")
        assert result.method == "augmented t"
        assert (result.conf_low or 0) < gain < (result.conf_high or 0)
    assert "same amount" in result.method_reason


def test_fewer_than_six_items_that_differ_decide_nothing() -> None:
    a = np.tile([0.25, 0.5, 0.75], 30)
    b = a.copy()
    b[:5] += 0.25
    result = compare(sides(a, b), "a", "b")
    assert result.p_value is not None
    assert result.p_value < 0.05
    assert result.verdict == "inconclusive"
    assert "only 5 items differ" in result.verdict_reason


# --- failures that were not seen ---


def failures(result: Comparison) -> float | None:
    return next((row.estimate for row in result.effects if row.method == "unseen-failure limit"), None)


def test_without_a_failure_the_limit_stands_on_the_first_line() -> None:
    a, b = even()
    result = compare(sides(a, b), "a", "b")
    assert result.verdict == "better"
    assert failures(result) == pytest.approx((b.mean() - a.mean()) / b.mean())
    (line,) = limits(result)
    assert line.startswith("outright failures of the candidate on ")
    assert "60 items cannot exclude 4.9%" in line
    assert "rare failures could undo it" in result.document().headline
    assert line.partition(" ")[2] in result.summary()


def test_a_large_difference_needs_no_caution() -> None:
    result = compare(sides(*judged(), kind="ordinal", low=1.0, high=10.0), "a", "b")
    assert limits(result) == ()
    assert (failures(result) or 0) > 0.05


@pytest.mark.parametrize("both", [False, True])
def test_where_failures_occur_a_result_that_they_would_undo_is_inconclusive(*, both: bool) -> None:
    a, b = even(60, 0.016)
    a[3] = 0.0
    if both:
        b[3] = 0.0
    result = compare(sides(a, b), "a", "b")
    assert result.conf_low is not None
    assert result.conf_low > 0
    assert result.verdict == "inconclusive"
    assert "60 items cannot exclude 4.9%" in result.verdict_reason
    assert limits(result) == ()


def test_swapping_the_sides_and_the_direction_changes_nothing_but_signs() -> None:
    a, b = even()
    there, back = compare(sides(a, b), "a", "b"), compare(sides(b, a), "a", "b")
    assert (there.verdict, back.verdict) == ("better", "worse")
    assert failures(there) == failures(back)
    assert limits(back)[0] == limits(there)[0].replace("candidate", "baseline")
    lower = compare(
        sides(1 - a, 1 - b, kind="bounded", low=0.0, high=1.0, higher_is_better=False), "a", "b"
    )  # the worst score is 1
    assert lower.verdict == "better"
    assert failures(lower) == pytest.approx(failures(there))
    assert limits(lower) == limits(there)


def test_equivalence_is_withheld_or_qualified_likewise() -> None:
    a, b = even(300, 0.0)
    clean = compare(sides(a, b), "a", "b", margin="1pp")
    assert clean.verdict == "equivalent"
    assert "would take it beyond the margin" not in limits(clean)  # 1% of .7 is less than the margin
    tight = compare(sides(a, b), "a", "b", margin=0.005)
    assert tight.verdict == "equivalent"
    assert "beyond the margin" in limits(tight)[0]
    a[0] = b[0] = 0.0
    seen = compare(sides(a, b), "a", "b", margin=0.005)
    assert seen.verdict == "inconclusive"
    assert seen.at_margin is not None
    assert not seen.at_margin.noninferior


def test_right_or_wrong_scores_and_unbounded_ones_have_no_such_limit() -> None:
    rng = np.random.default_rng(1)
    a, b = rng.integers(0, 2, 90).astype(float), rng.integers(0, 2, 90).astype(float)
    trials = data_of(rows_of("a", a.tolist(), trials=3), rows_of("b", b.tolist(), trials=3))
    for data in (sides(a, b), trials, sides(5 + a, 5 + rng.normal(size=90), kind="continuous")):
        result = compare(data, "a", "b")
        assert failures(result) is None
        assert limits(result) == ()


def test_clustered_scores_are_qualified_too() -> None:
    a, b = even(200, 0.008)
    groups = {"passage": [f"p{i // 10}" for i in range(200)]}
    data = data_of(rows_of("a", a.tolist(), factors=groups), rows_of("b", b.tolist(), factors=groups))
    result = compare(data, "a", "b", cluster="passage")
    assert result.method.startswith("CR2")
    assert result.verdict == "better"
    assert "outright failures" in limits(result)[0]


def test_levels_of_a_split_say_it_in_their_reason() -> None:
    a, b = even(200, 0.02)
    groups = {"topic": ["x"] * 100 + ["y"] * 100}
    data = data_of(rows_of("a", a.tolist(), factors=groups), rows_of("b", b.tolist(), factors=groups))
    for row in compare(data, "a", "b", by="topic").groups:
        assert row.verdict == "better"
        assert "cannot exclude 3.6%" in row.verdict_reason  # 1 - .025^(1/100): Bonferroni over two levels


def test_an_average_over_levels_is_undone_by_failures_of_the_side_ahead_in_it() -> None:
    """Nine in ten items favour a and the small level b by more: by items a is ahead, by levels b."""
    rng = np.random.default_rng(7)
    topics = ["large"] * 180 + ["small"] * 20
    level = rng.normal(0.7, 0.03, 200)
    a = level + rng.normal(0, 0.01, 200)
    b = level + np.where(np.array(topics) == "large", -0.01, 0.026) + rng.normal(0, 0.01, 200)
    groups = {"topic": topics}
    data = data_of(rows_of("a", a.tolist(), factors=groups), rows_of("b", b.tolist(), factors=groups))
    by_items, by_levels = compare(data, "a", "b"), compare(data, "a", "b", average="macro", by="topic")
    assert (by_items.verdict, by_levels.verdict) == ("worse", "better")
    means = [np.mean([scores[:180].mean(), scores[180:].mean()]) for scores in (a, b)]
    lead = 1 - means[0] / means[1]
    assert f"failures of the candidate on {100 * lead:.2g}% of the items" in limits(by_levels)[0]
    assert f"failures of the baseline on {100 * (1 - b.mean() / a.mean()):.2g}% of the items" in limits(by_items)[0]


# --- boards ---


def board_of(columns: dict[str, np.ndarray]) -> EvalData:
    return data_of(*(rows_of(name, scores.tolist()) for name, scores in columns.items()))


def test_a_board_separates_judged_models_as_a_comparison_does() -> None:
    a, b = judged()
    data = data_of(rows_of("a", a), rows_of("b", b), kind="ordinal", low=1.0, high=10.0)
    pair = leaderboard(data).pairs[0]
    assert pair.p_value == pytest.approx(compare(data, "a", "b").p_value)
    assert pair.separated


def test_a_board_knows_of_unseen_failures() -> None:
    a, b = even()
    clean = leaderboard(board_of({"a": a, "b": b}))
    assert clean.best() == ("b",)
    assert "would undo that" in limits(clean)[0]
    assert any("1 of 1 separated pair would be undone" in text for text in told(clean))
    a[0] = b[0] = 0.0
    seen = leaderboard(board_of({"a": a, "b": b}))
    assert seen.best() == ("b", "a")
    assert not seen.pairs[0].separated
    assert "cannot exclude" in (seen.pairs[0].reason or "")
    assert limits(seen) == ()


def test_models_that_differ_by_the_same_on_every_item_have_an_interval() -> None:
    a = np.linspace(0.2, 0.6, 30)
    pair = leaderboard(board_of({"a": a, "b": a + 0.1})).pairs[0]
    assert (pair.conf_low or 0) < (pair.conf_high or 0)


def test_costs_with_a_long_tail_are_cheaper_with_a_word_of_caution() -> None:
    costs = np.array([0.5] * 28 + [3.0, 4.0])
    data = sides(np.linspace(0.9, 1.3, 30), costs, kind="continuous", low=0.0, higher_is_better=False)
    found = compare(data, "a", "b")
    assert found.verdict == "better"
    assert "rare extreme items could undo it" in found.summary()
    assert limits(found) == ("a few items go far against it, and more of them would undo it",)
    # A claim at a thousandth, and one of scores that have a worst, need no such word.
    firm = sides(np.linspace(2.9, 3.3, 30), costs, kind="continuous", low=0.0, higher_is_better=False)
    assert limits(compare(firm, "a", "b")) == ()


def tailed(*, gain: float = 0.0) -> EvalData:
    """Costs of a steady model, and of one that is cheaper but for two items."""
    return sides(np.linspace(0.9, 1.3, 30), np.array([0.5] * 28 + [3.0, 4.0]) + gain, **COST)


COST = {"kind": "continuous", "higher_is_better": False}


def test_a_gate_does_not_pass_on_a_tail_that_was_hardly_seen() -> None:
    found = compare(tailed(), "a", "b", margin=0.1)
    passed = gate(found, "not-noninferior")
    assert (passed.exit_status, found.at_margin.noninferior) == (1, False)
    assert "a few items go far against it, and more of them would undo it" in passed.reason
    assert "excludes a loss of 0.1" in passed.reason
    # What is shown at a 500th of the error, and steady costs, pass.
    assert gate(compare(tailed(), "a", "b", margin=2.0), "not-noninferior").passed
    rng = np.random.default_rng(3)
    steady = sides(rng.normal(1.0, 0.1, 60), rng.normal(1.0, 0.1, 60), **COST)
    assert gate(compare(steady, "a", "b", margin=0.1), "not-noninferior").passed


def test_nobody_is_called_equivalent_on_a_tail_that_was_hardly_seen() -> None:
    found = compare(tailed(gain=0.35), "a", "b", margin=0.5)
    assert found.verdict == "inconclusive"
    assert "more of them would undo it" in found.verdict_reason


@pytest.mark.parametrize("n_tables", [150, pytest.param(1_500, marks=pytest.mark.slow)])
def test_few_gates_pass_a_loss_as_large_as_the_margin_on_costs_with_a_long_tail(n_tables: int) -> None:
    """Lognormal costs, log spreads .3 and 1.2, 30 items, truly .3 dearer; by the limit alone .17 of them pass."""
    rng = np.random.default_rng(31)
    passed = limit = 0
    for _ in range(n_tables):
        first, second = (rng.lognormal(-s * s / 2, s, 30) for s in (0.3, 1.2))
        metric = Metric(benchmark="", name="", low=None, high=None, unit="", kind="continuous", higher_is_better=False)
        scores = PairedScores(metric=metric, baseline=first, candidate=second + 0.3, n_trials=1)
        found = paired_difference(scores, conf_level=0.95, method="auto", seed=0, further=False)
        found = with_unseen(found, scores, margin=0.3)
        account = at_margin(found, scores, 0.3)
        passed += account.noninferior
        limit += account.limit < 0.3
    error = (0.05 * 0.95 / n_tables) ** 0.5
    assert limit / n_tables > 0.1
    assert passed / n_tables < 0.06 + 2 * error


def costs_board(*costs: np.ndarray) -> EvalData:
    rows = [rows_of(name, each.tolist()) for name, each in zip("abcd", costs, strict=False)]
    return data_of(*rows, **COST)


def test_a_board_on_costs_with_a_long_tail_says_so_on_the_first_line() -> None:
    rng = np.random.default_rng(4)
    steady = [rng.permutation(np.linspace(0.9, 1.3, 30)) for _ in range(3)]
    tail = np.array([0.5] * 28 + [3.0, 4.0])
    found = leaderboard(costs_board(tail, *steady))
    assert found.best() == ("a",)
    assert limits(found) == ("rare extreme items could undo it",)
    assert [note.text for note in found.notes if note.kind == "fit"] == [
        "in 3 of 3 separated pairs a few items go far against the better model, and more of them would undo it"
    ]
    assert "rare extreme items could undo it" in found.summary()
    # Of two models it is the answer of a comparison.
    pair = leaderboard(costs_board(tail, steady[0]))
    assert limits(pair) == ("rare extreme items could undo it",)
    assert next(note.text for note in pair.notes if note.kind == "fit").startswith("in the one separated pair")
    # Shown firmly, or without such items, it needs no word; nor where another model is better for sure.
    for low in (tail - 3.0, np.full(30, 0.5) + rng.normal(0, 0.01, 30)):
        firm = leaderboard(costs_board(low, *steady))
        assert limits(firm) == ()
        assert not [note for note in firm.notes if note.kind == "fit"]
    best = rng.normal(0.1, 0.01, 30)
    sure = leaderboard(costs_board(best, tail, *steady[:2]))
    assert limits(sure) == ()
    assert "2 of 5 separated pairs" in " ".join(note.text for note in sure.notes if note.kind == "fit")
