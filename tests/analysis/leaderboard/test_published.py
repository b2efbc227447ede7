"""Published scores with standard errors: ranked as independent normal scores, refused without a standard error."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from evalstats.analysis.leaderboard.leaderboard import leaderboard
from evalstats.analysis.leaderboard.published import keep_published
from evalstats.analysis.leaderboard.ranks import counted_ranks
from evalstats.errors import CannotAnswerError, InputError
from evalstats.options import Adjustment
from evalstats.schema.data import EvalData
from evalstats.schema.tables import check_table, frame_from_rows
from evalstats.stats.many.reference_laws import normal_known
from evalstats.stats.many.step_down import TwoSided, collect
from tests.analysis.builders import printed, told


def published(estimates: list[float], std_errors: list[float | None], **columns: object) -> EvalData:
    frame = pl.DataFrame(
        {
            "model": [f"m{i}" for i in range(len(estimates))],
            "benchmark": "board",
            "metric": "rating",
            "estimate": estimates,
            "std_error": pl.Series(std_errors, dtype=pl.Float64),
        }
    )
    literals = [
        pl.Series(name, values) if isinstance(values, list) else pl.lit(values).alias(name)
        for name, values in columns.items()
    ]
    return EvalData(aggregates=check_table(frame.with_columns(literals), "aggregates"))


def test_the_toy_of_csranks(golden: Path) -> None:
    """Rank sets of R package csranks: scores .1 to 1, standard error .1 each; draws can move an end by one."""
    toy = json.loads((golden / "r_misc.json").read_text(encoding="utf-8"))["csranks_toy"]
    found = leaderboard(published(toy["x"], [toy["se"]] * len(toy["x"])))
    rows = [found.row(f"m{i}") for i in range(len(toy["x"]))]
    ends = {
        "simulL": [row.rank_low for row in rows],
        "simulU": [row.rank_high for row in rows],
        "margL": [row.rank_low_marginal for row in rows],
        "margU": [row.rank_high_marginal for row in rows],
    }
    for name, values in ends.items():
        np.testing.assert_allclose(values, toy[name], atol=1)
        assert [values[0], values[-1]] == [toy[name][0], toy[name][-1]]


@pytest.mark.parametrize("adjust", ["max-t", "holm", "bh"])
@pytest.mark.parametrize("seed", range(3))
def test_ranks_say_what_the_pairs_say(seed: int, adjust: Adjustment) -> None:
    """Among them boards whose pairs are all separated, some only step by step; then every rank is certain."""
    rng = np.random.default_rng(seed)
    estimates = np.cumsum(rng.uniform(0.6, 1.15, 4)) * 0.04
    found = leaderboard(published(estimates.tolist(), [0.01] * 4), adjust=adjust)
    for row in found.rows:
        mine = [pair for pair in found.pairs if row.name in (pair.first, pair.second)]
        wins = [(pair.verdict == "better") == (pair.first == row.name) for pair in mine if pair.separated]
        least, most = 1 + wins.count(False), 4 - wins.count(True)
        if adjust == "bh":
            assert row.rank_low <= least
            assert row.rank_high >= most
            continue
        assert (row.rank_low, row.rank_high) == (least, most)
        assert row.may_be_best == (least == 1)
        assert row.best_high is not None
        assert (row.best_high > 0) == (least == 1)


def test_a_pair_that_only_a_step_separates_orders_its_models() -> None:
    found = leaderboard(published([0.700, 0.668, 0.600], [0.01] * 3))
    pair = next(each for each in found.pairs if {each.first, each.second} == {"m0", "m1"})
    assert pair.separated
    assert (pair.conf_low or 0.0) < 0.0 < (pair.conf_high or 0.0)
    assert [row.ranks for row in found.rows] == ["1", "2", "3"]


@pytest.mark.parametrize("scores", [(0.0, 0.0, 0.0), (0.0, 0.01, 9.0), (0.0, 0.02, 4.0, 4.02)])
def test_all_sets_hold_together(scores: tuple[float, ...]) -> None:
    """Equal models share their ranks, near ones next to a far one could be put in the wrong order."""
    rng, truth = np.random.default_rng(len(scores)), np.array(scores)
    best, worst = counted_ranks(truth[:, None] > truth[None, :])
    first, second = np.triu_indices(truth.size, k=1)
    n, missed = 600, 0
    for _ in range(n):
        drawn = truth + rng.normal(size=truth.size)
        law = normal_known(drawn, np.eye(truth.size), first, second, seed=int(rng.integers(2**31)), n_resamples=999)
        family = TwoSided(law.observed)
        collect(law, [family])
        shown = np.zeros((truth.size, truth.size), dtype=np.bool_)
        apart = family.p_adjusted() <= 0.05
        up = drawn[first] > drawn[second]
        shown[np.where(up, first, second)[apart], np.where(up, second, first)[apart]] = True
        low, high = counted_ranks(shown)
        missed += bool((low > best).any() or (high < worst).any())
    # Three standard errors above 5%.
    assert missed / n <= 0.05 + 3 * (0.05 * 0.95 / n) ** 0.5


def test_a_table_of_estimates_is_taken_as_it_is() -> None:
    table = {"model": ["a", "b", "c"], "estimate": [0.9, 0.8, 0.5], "std_error": [0.01, 0.02, 0.02]}
    given = leaderboard(published([0.9, 0.8, 0.5], [0.01, 0.02, 0.02]))
    for frame in (table, pl.DataFrame(table), pl.DataFrame(table).to_pandas(), pl.DataFrame(table).to_arrow()):
        found = leaderboard(frame)
        assert [(row.name, row.ranks) for row in found.rows] == [("a", "1"), ("b", "2"), ("c", "3")]
        assert [row.conf_low for row in found.rows] == [row.conf_low for row in given.rows]


def test_a_line_is_what_was_published() -> None:
    found = leaderboard(published([1300.0, 1250.0, 1240.0], [5.0, 6.0, 7.0], n=[900, 800, 700]))
    row = found.row("m0")
    assert (row.estimate, row.std_error, row.n_items, row.n_missing) == (1300.0, 5.0, 900, 0)
    assert (row.conf_low, row.conf_high) == pytest.approx((1300 - 1.959964 * 5, 1300 + 1.959964 * 5))
    pair = found.pairs[0]
    assert (pair.estimate, pair.std_error) == (50.0, pytest.approx(np.hypot(5, 6)))
    assert found.best() == ("m0",)
    assert found.graph is None
    assert any("treated as independent" in text for text in told(found))
    assert max(len(line) for line in printed(found).splitlines()) <= 80
    json.dumps(found.to_dict(), allow_nan=False)


def test_simultaneous_intervals_are_tukeys() -> None:
    """The largest of all studentised differences of equal normal scores is Tukey's studentised range over sqrt 2.

    Three groups, infinite df, .95: 3.314 (table of the studentised range), so q = 2.3437.
    """
    found = leaderboard(published([0.0, 1.0, 2.0], [1.0, 1.0, 1.0]))
    assert found.critical == pytest.approx(3.314 / np.sqrt(2), abs=0.03)
    for pair in found.pairs:
        width = (pair.conf_high or 0) - (pair.conf_low or 0)
        assert width == pytest.approx(2 * (found.critical or 0) * np.sqrt(2))


def test_lower_is_better_where_the_metric_says_so() -> None:
    metrics = check_table(
        {"benchmark": ["board"], "metric": ["rating"], "kind": ["continuous"], "higher_is_better": [False]}, "metrics"
    )
    data = published([3.0, 1.0, 9.0], [0.1, 0.1, 0.1])
    found = leaderboard(EvalData(aggregates=data.aggregates, metrics=metrics))
    assert [(row.name, row.ranks) for row in found.rows] == [("m1", "1"), ("m0", "2"), ("m2", "3")]
    assert all(pair.verdict == "better" for pair in found.pairs)
    assert (found.row("m2").best_high, found.row("m1").best_low) == (0, 0)


def test_standard_errors_are_taken_from_intervals() -> None:
    data = published([10.0, 20.0], [None, 2.0], conf_low=[8.0, None], conf_high=[12.0, None], conf_level=[0.95, None])
    found = leaderboard(data)
    assert found.row("m0").std_error == pytest.approx(4 / (2 * 1.959964))
    assert any("width of the published intervals" in note for note in told(found))


def test_the_standard_errors_of_shares_are_taken_from_their_n() -> None:
    data = published([0.9, 0.5, 1.0, 0.4], [None, None, None, 0.25], n=[100, 100, 100, None])
    found = leaderboard(data)
    # The textbook's p (1 - p) / n, but for what Wilson adds.
    assert found.row("m1").std_error == pytest.approx(0.05, rel=0.03)
    assert found.row("m0").std_error == pytest.approx(0.03, rel=0.03)
    assert 0.005 < (found.row("m2").std_error or 0.0) < 0.02
    assert found.row("m3").std_error == 0.25
    assert any("standard errors of 3 models are Wilson's" in note for note in told(found))
    assert (found.row("m0").method, found.row("m3").method) == (
        "normal, from the published n",
        "normal, from the published standard error",
    )
    assert "standard errors" in found.basis
    shares = leaderboard(published([0.9, 0.5], [None, None], n=[100, 100]))
    assert shares.basis == "published scores and their n, each model's on its own"
    assert "scores with n, and" in shares.method_reason
    # What is taken for a share has the bounds of one, as its score has.
    assert (shares.about.low, shares.about.high, shares.scale) == (0.0, 1.0, 100.0)
    far = leaderboard(published([1.0, 0.0], [None, None], n=[10, 10]))
    assert far.row("m0").conf_high == 1.0
    assert far.pairs[0].conf_high == 1.0
    # Points of no known range vary as they like.
    with pytest.raises(CannotAnswerError, match="how many answers stand behind each share"):
        leaderboard(published([10.0, 20.0], [None, None], n=[100, 100]))
    # A rating below 1 among others above it is no share.
    with pytest.raises(CannotAnswerError, match="how many answers stand behind each share"):
        leaderboard(published([0.9, 0.4, 35.2, 61.0], [None] * 4, n=[500] * 4))


def test_a_source_that_has_errors_beside_n_leaves_one_out_for_a_reason() -> None:
    found = leaderboard(published([0.7, 0.6, 0.5], [0.02, 0.02, None], n=[805, 805, 805]))
    assert (found.row("m2").std_error, found.row("m2").ranks) == (None, "–")


def test_n_stands_for_errors_where_few_of_a_source_or_those_of_another_are_published() -> None:
    """One error that is known takes no rank from those who have n, nor does a second source that has errors beside n."""
    found = leaderboard(published([0.9, 0.8, 0.6, 0.4], [None, None, 0.02, None], n=[500] * 4))
    assert all(row.std_error for row in found.rows)
    run = ["one"] * 4 + ["other"]
    found = leaderboard(published([0.9, 0.8, 0.6, 0.5, 0.4], [0.02, 0.02, 0.02, None, None], n=[500] * 5, run=run))
    assert {row.name for row in found.rows if row.std_error is None} == {"m3"}


def test_a_model_without_a_standard_error_has_no_rank() -> None:
    found = leaderboard(published([10.0, 20.0, 30.0, 5.0], [1.0, 1.0, None, 0.0]))
    assert {row.name: row.ranks for row in found.rows} == {"m1": "1", "m0": "2", "m2": "–", "m3": "–"}
    assert "no standard error" in (found.row("m2").rank_reason or "")
    assert any("no usable standard error, and so no rank" in text for text in told(found))


def test_no_standard_errors_at_all_are_refused() -> None:
    with pytest.raises(
        CannotAnswerError, match=r"on board \(m2 3, m1 2, m0 1\), none of .* the column of standard errors"
    ):
        leaderboard(published([1.0, 2.0, 3.0], [None, None, None]))


def test_several_numbers_of_one_model_have_to_be_chosen_from() -> None:
    data = published([1.0, 2.0, 3.0, 4.0], [0.1] * 4, model=["a", "b", "a", "b"], task=["x", "x", "y", "y"])
    with pytest.raises(InputError, match=r"2 published numbers.*task: 'x', 'y'.*data\.aggregates\.filter"):
        leaderboard(data)
    found = leaderboard(keep_published(data, {"task": ["y"]}))
    assert [(row.name, row.estimate) for row in found.rows] == [("b", 4.0), ("a", 3.0)]
    with pytest.raises(InputError, match="task has no level 'z'"):
        keep_published(data, {"task": ["z"]})
    with pytest.raises(InputError, match="no column 'colour'"):
        keep_published(data, {"colour": ["red"]})


def test_the_number_of_the_whole_benchmark_stands_beside_those_of_its_tasks() -> None:
    estimates, models = [5.0, 6.0, 1.0, 9.0], ["a", "b", "a", "b"]
    data = published(estimates, [0.1] * 4, model=models, task=["", "", "law", "law"])
    found = leaderboard(data)
    assert [(row.name, row.estimate) for row in found.rows] == [("b", 6.0), ("a", 5.0)]
    assert any("as a whole stands for each model" in note for note in told(found))


def test_one_model_with_two_numbers_does_not_cost_the_others_their_ranks() -> None:
    data = published([*map(float, range(11)), 3.0], [0.1] * 12, model=[*(f"m{k}" for k in range(11)), "m0"])
    found = leaderboard(data)
    assert [row.name for row in found.rows] == [f"m{k}" for k in range(10, 0, -1)]
    assert told(found)[0].startswith("m0 has several published numbers (m0: 0 and 3) and is dropped")


def test_no_condition_is_advised_that_leaves_one_model_alone() -> None:
    data = published([1.0, 2.0, 3.0, 4.0], [0.1] * 4, model=["a", "b", "c", "a"], place=["1", "2", "3", "4"])
    with pytest.raises(
        InputError, match=r"'a' has 2 published numbers .* \(1 and 4\); keep one of each model, in the file"
    ):
        leaderboard(data)


def test_several_benchmarks_are_refused() -> None:
    with pytest.raises(InputError, match="2 benchmarks"):
        leaderboard(published([1.0, 2.0], [0.1, 0.1], benchmark=["one", "two"]))


def test_a_baseline_and_other_adjustments() -> None:
    data = published([10.0, 12.0, 13.0, 20.0], [1.0] * 4)
    found = leaderboard(data, baseline="m1", adjust="holm", models=["m0", "m1", "m3"])
    assert [(pair.first, pair.second) for pair in found.pairs] == [("m3", "m1"), ("m0", "m1")]
    assert [pair.p_adjusted for pair in found.pairs] == [pair.p_holm for pair in found.pairs]
    with pytest.raises(InputError, match="none of the models"):
        leaderboard(data, baseline="nobody")
    with pytest.raises(InputError, match="'nobody' has no published number"):
        leaderboard(data, models=["nobody", "m1"])


def test_pass_hat_needs_trials() -> None:
    with pytest.raises(CannotAnswerError, match="published numbers and no scores of single items"):
        leaderboard(published([1.0, 2.0], [0.1, 0.1]), pass_hat=2)


# --- what is not one quantity, and what cannot be used ---


@pytest.mark.parametrize(
    ("column", "levels", "accepted"),
    [
        ("task", ["x", "y"], "items"),
        ("variant", ["v1", "v2"], "items"),
        ("scenario", ["s", "t"], "items"),
        ("setting", ["lab", "live"], "lab_or_live"),
    ],
)
def test_numbers_of_different_things_are_refused(column: str, levels: list[str], accepted: str) -> None:
    data = published([90.0, 70.0], [1.0, 1.0], **{column: levels})
    with pytest.raises(CannotAnswerError, match=rf"differ in {column} \({levels[0]}.*accept=\['{accepted}'"):
        leaderboard(data)
    found = leaderboard(data, accept=[accepted])
    assert found.best() == ("m0",)
    assert any("declared as intended" in note for note in told(found))


def test_a_percentage_and_a_proportion_have_no_order() -> None:
    with pytest.raises(CannotAnswerError, match=r"differ in unit \(percent: 'm0'; proportion: 'm1'\)"):
        leaderboard(published([71.0, 0.9], [1.0, 0.01], unit=["percent", "proportion"]), accept=["items"])
    assert leaderboard(published([71.0, 90.0], [1.0, 1.0], unit=["percent", "%"])).best() == ("m1",)


def test_runs_that_differ_gravely_are_refused() -> None:
    data = published([90.0, 70.0], [1.0, 1.0], run=["r0", "r1"])
    runs = [{"run": f"r{i}", "model": f"m{i}", "benchmark": "board", "n_shots": n} for i, n in enumerate((0, 5))]
    data = EvalData(aggregates=data.aggregates, runs=frame_from_rows(runs, "runs"))
    with pytest.raises(CannotAnswerError, match=r"accept=\['n_shots'\]"):
        leaderboard(data)
    found = leaderboard(data, accept=["n_shots"])
    assert found.best() == ("m0",)
    assert [each.setting for each in found.run_differences] == ["n_shots"]


@pytest.mark.parametrize("higher", [True, False])
def test_the_best_without_a_standard_error_is_named(higher: bool) -> None:
    metrics = check_table(
        {"benchmark": ["board"], "metric": ["rating"], "kind": ["continuous"], "higher_is_better": [higher]}, "metrics"
    )
    sign = 1 if higher else -1
    data = published([10.0 * sign, 20.0 * sign, 30.0 * sign], [1.0, 1.0, None])
    found = leaderboard(EvalData(aggregates=data.aggregates, metrics=metrics))
    first = found.summary().split(". ")[0]
    assert first.startswith("m1 is best of the 2 that can be ranked; m2 scores ")
    assert told(found)[0].startswith("no usable standard error, and so no rank: m2; m2 has the ")
    assert "of those ranked" in repr(found)
    assert leaderboard(published([10.0, 20.0, 15.0], [1.0, 1.0, None])).summary().startswith("m1 is better than m0.")


def test_a_standard_error_that_is_no_number_is_none() -> None:
    data = published([10.0, 20.0, 30.0, 5.0, 4.0], [1.0] * 5)
    errors = pl.Series("std_error", [1.0, 1.0, float("nan"), 0.0, float("inf")])
    found = leaderboard(EvalData(aggregates=data.aggregates.with_columns(errors)))
    reasons = {row.name: row.rank_reason or "" for row in found.rows}
    assert "no standard error is published" in reasons["m2"]
    assert "published as 0" in reasons["m3"]
    assert "not a finite number" in reasons["m4"]


def test_clusters_have_no_effect_on_published_numbers_and_that_is_said() -> None:
    found = leaderboard(published([10.0, 20.0], [1.0, 1.0]), cluster="passage")
    assert any("clusters have no effect here (passage)" in text for text in told(found))
