"""Trials that both sides share, runs that move all items, and runs of one system that become its trials."""

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from scipy import stats

from dev.validation.full_runs import draw
from evalstats.analysis.compare.compare import compare
from evalstats.analysis.compare.result import Comparison
from evalstats.analysis.design import runs as of_runs
from evalstats.analysis.leaderboard.leaderboard import leaderboard
from evalstats.analysis.leaderboard.result import Leaderboard
from evalstats.analysis.score.score import score
from evalstats.errors import InputError
from evalstats.loaders.frames import from_frame
from evalstats.schema.data import EvalData, as_data
from evalstats.stats.estimate import IntervalEstimate
from evalstats.stats.paired.means import augmented_t, paired_t
from evalstats.stats.runs import RunEffects, RunSd, ScoreBlocks, run_effects, run_spread, with_runs
from tests.analysis.builders import data_of, printed, rows_of, told


def table(a: np.ndarray, b: np.ndarray, labels: object = None, column: str = "epoch") -> pl.DataFrame:
    """A row for every item and trial of two models, with NaN for what is not there."""
    n, runs = a.shape
    names = np.arange(runs) if labels is None else np.array(labels)
    both = np.concatenate([a.ravel(), b.ravel()])
    frame = pl.DataFrame(
        {
            "question": np.tile(np.repeat(np.arange(n), runs), 2),
            "name": np.repeat(["old", "new"], n * runs),
            column: np.tile(names, 2 * n),
            "right": both,
        }
    )
    return frame.filter(pl.col("right").is_not_nan())


def read(frame: pl.DataFrame, trial: str = "epoch", **options: object) -> EvalData:
    return from_frame(frame, item="question", model="name", score="right", trial=trial, **options)


def as_runs(frame: pl.DataFrame) -> EvalData:
    """The same table, its repetitions being whole runs."""
    return read(frame.rename({"epoch": "run"}), "run")


def drawn(seed: int, **world: float) -> tuple[np.ndarray, np.ndarray]:
    return draw(np.random.default_rng(seed), **{"items": 300, "runs": 3, "run_sd": 0.0, "own_sd": 0.7, **world})


def counted(plain: IntervalEstimate, *sides: np.ndarray, difference: bool = False) -> IntervalEstimate:
    """The interval for new runs, put together as an analysis does."""
    effects = [run_effects(side, difference=difference) for side in sides]
    return with_runs(plain, run_spread(*effects, prior=RunSd(value=0.01)), low=-1, high=1)


def of_means(a: np.ndarray, b: np.ndarray, conf_level: float = 0.95) -> IntervalEstimate:
    return augmented_t(b.mean(axis=1) - a.mean(axis=1), conf_level=conf_level)


def ends(found: object) -> tuple[float, float, float]:
    return found.conf_low, found.conf_high, found.p_value


@pytest.mark.parametrize("column", ["epoch", "sample", "repetition", "trial", "attempt_id", "truncated", "Generation"])
def test_repetitions_of_one_run_are_draws_whatever_they_are_called(column: str) -> None:
    """Half of the tables of equal runs had a run variance above 0, and an interval twice as wide for it."""
    for seed in range(8 if column == "epoch" else 1):
        a, b = drawn(seed)
        found = compare(read(table(a, b, None, column), column), "old", "new")
        assert (found.method, ends(found)) == ("augmented t", pytest.approx(ends(of_means(a, b))))
        assert not found.runs_counted
        assert "run" not in found.estimand


@pytest.mark.parametrize("column", ["run", "run_id", "RunId", "rerun", "run no."])
def test_runs_are_a_sample_whatever_the_estimate_of_their_variance(column: str) -> None:
    for seed in range(4 if column == "run" else 1):
        a, b = drawn(seed)
        found = compare(read(table(a, b, None, column), column), "old", "new")
        assert (found.method, ends(found)) == (
            "augmented t, runs counted",
            pytest.approx(ends(counted(of_means(a, b), a, b))),
        )
        assert found.runs_counted
        alone = compare(read(table(a, b, None, column), column), "old", "new", runs="fixed")
        assert ends(alone) == pytest.approx(ends(of_means(a, b)))
        assert not alone.runs_counted


def test_epochs_that_differ_as_a_whole_get_one_line() -> None:
    a, b = drawn(3, run_sd=0.5, items=600)
    for data in (read(table(a, b)), read(table(a, b)).where(model=("old", "new"))):
        lines = [text for text in told(compare(data, "old", "new")) if "differ by more than chance" in text]
        assert len(lines) == 1
    assert any("differ by more than chance" in text for text in told(score(read(table(a, b)), "old")))
    assert any("differ by more than chance" in text for text in told(leaderboard(read(table(a, b)))))
    assert not any("differ by more" in text for text in told(compare(read(table(a, b)), "old", "new", runs="sample")))


@pytest.mark.parametrize("runs", ["sample", None])
def test_a_third_of_the_trials_missing_costs_a_third_of_the_trials(runs: str | None) -> None:
    """Runs compared on complete items only left 5 of 60, and an interval five times as wide."""
    ratios = []
    for seed in range(5):
        a, b = drawn(seed, items=60)
        gaps = np.random.default_rng(seed).random((2, 60, 3)) < 1 / 3
        full = compare(read(table(a, b)), "old", "new", runs=runs)
        part = compare(read(table(np.where(gaps[0], np.nan, a), np.where(gaps[1], np.nan, b))), "old", "new", runs=runs)
        ratios.append((part.conf_high - part.conf_low) / (full.conf_high - full.conf_low))
    assert max(ratios) < 1.8
    assert np.median(ratios) < 1.5


def test_the_standard_deviation_from_run_to_run_is_fixed_or_given_another_prior() -> None:
    a, b = drawn(5, items=400)
    data = read(table(a, b, None, "run"), "run")
    plain, sides = of_means(a, b), [run_effects(a), run_effects(b)]
    for said, known in (("2pp", True), (0.02, True), ("prior:2pp", False), ("prior:0.02", False)):
        expected = with_runs(plain, run_spread(*sides, prior=RunSd(value=0.02, known=known)))
        found = compare(data, "old", "new", run_sd=said)
        assert ends(found) == pytest.approx(ends(expected))
        assert any("as declared" in text for text in told(found)) == known
    assert ends(compare(data, "old", "new", run_sd="0")) == pytest.approx(ends(plain))
    # Of one run of each side nothing is seen, and what is known counts all the same.
    one = compare(read(table(a[:, :1], b[:, :1])), "old", "new", run_sd="2pp")
    alone = augmented_t(b[:, 0] - a[:, 0])
    assert one.std_error == pytest.approx(math.hypot(alone.std_error, 0.02 * math.sqrt(2)))
    single = score(read(table(a[:, :1], b[:, :1])), "old", run_sd="2pp")
    assert single.conf_high - single.conf_low > 1.2 * (single.rows[1].conf_high - single.rows[1].conf_low)
    board = leaderboard(read(table(a[:, :1], b[:, :1])), run_sd="2pp")
    assert board.pairs[0].conf_high - board.pairs[0].conf_low == pytest.approx(one.conf_high - one.conf_low, rel=0.02)
    for wrong, words in (("much", "not a difference"), ("-1pp", "not a difference"), ("200pp", "runs from 0 to 1")):
        with pytest.raises(InputError, match=f"run_sd.*{words}"):
            compare(data, "old", "new", run_sd=wrong)
    with pytest.raises(InputError, match="these runs alone are asked about"):
        compare(data, "old", "new", run_sd="2pp", runs="fixed")
    with pytest.raises(InputError, match="no whole runs"):
        compare(read(table(a, b)), "old", "new", run_sd="prior:2pp")


JUDGES = ["opus", "gpt-5", "gemini"]


@pytest.mark.parametrize("column", ["judge_name", "judge", "seed"])
def test_a_few_judges_or_seeds_of_both_sides_are_fixed_and_paired(column: str) -> None:
    """Judges of sd 1 logit move both sides alike; the gain shows as if there were one judge."""
    a, b = drawn(1, shared_sd=1.5, gain=0.6)
    data = read(table(a, b, JUDGES, column), column)
    found = compare(data, "old", "new")
    assert found.verdict == "better"
    assert any(f"Trials are paired by {column} ('gemini', 'gpt-5', 'opus' on both" in text for text in told(found))
    assert any(text.startswith(f"The 3 {column}s are treated as fixed") for text in told(found))
    assert ends(found) == pytest.approx(ends(of_means(a, b)))
    assert not any("treated as fixed" in note.text for note in found.notes if note.caution)
    sample = compare(data, "old", "new", runs="sample")
    assert ends(sample) == pytest.approx(ends(counted(of_means(a, b), b - a, difference=True)))
    assert "new trials" in sample.estimand
    declared = compare(read(table(a, b)), "old", "new", shared_trials=True)
    assert declared.conf_low == pytest.approx(found.conf_low)
    apart = compare(data, "old", "new", shared_trials=False)
    assert ends(apart) == pytest.approx(ends(counted(of_means(a, b), a, b)))


def test_more_judges_than_five_are_a_crowd() -> None:
    a, b = drawn(1, runs=6, shared_sd=0.5)
    data = read(table(a, b, [f"j{k}" for k in range(6)], "judge"), "judge")
    found = compare(data, "old", "new")
    assert ends(found) == pytest.approx(ends(counted(of_means(a, b), b - a, difference=True)))
    assert ends(compare(data, "old", "new", runs="fixed")) == pytest.approx(ends(of_means(a, b)))


def test_seeds_of_each_side_are_its_runs() -> None:
    a, b = drawn(2)
    frame = table(a, b, [11, 22, 33], "seed").with_columns(
        seed=pl.when(pl.col("name") == "new").then(pl.col("seed") + 100).otherwise(pl.col("seed"))
    )
    assert ends(compare(read(frame, "seed"), "old", "new")) == pytest.approx(ends(counted(of_means(a, b), a, b)))
    # A seed of every answer names no run.
    every = frame.with_columns(seed=pl.int_range(pl.len()))
    assert ends(compare(read(every, "seed"), "old", "new")) == pytest.approx(ends(of_means(a, b)))


def test_seeds_that_are_numbers_are_names_all_the_same() -> None:
    a, b = drawn(2)
    found = compare(read(table(a, b, [11, 22, 33], "seed"), "seed"), "old", "new")
    assert any("Trials are paired by seed ('11', '22', '33' on both sides)" in text for text in told(found))
    other = table(a, b, [11, 22, 33], "seed").with_columns(
        seed=pl.when(pl.col("name") == "new").then(pl.col("seed") + 100).otherwise(pl.col("seed"))
    )
    independent = compare(read(other, "seed"), "old", "new")
    assert not any("paired by" in text for text in told(independent))
    with pytest.raises(
        InputError, match="no trial is on both sides, so none can be shared: 'old' has '11', '22', '33'"
    ):
        compare(read(other, "seed"), "old", "new", shared_trials=True)


def test_a_judge_who_missed_an_answer_is_missed_on_both_sides() -> None:
    """A mild judge who fails on one side only would leave the other side the milder mix."""
    a, b = drawn(3, shared_sd=1.0)
    a[:100, 0] = np.nan
    found = compare(read(table(a, b, JUDGES, "judge"), "judge"), "old", "new", shared_trials=True)
    d = b - a
    assert found.estimate == pytest.approx(np.nanmean(d, axis=1).mean())
    assert found.n_trials == 2 * np.isfinite(d).sum()
    assert any(text.startswith("100 scores dropped: the other side") for text in told(found))
    assert ends(found) == pytest.approx(ends(augmented_t(np.nanmean(d, axis=1))))


@pytest.mark.parametrize(("seed", "run_sd", "hidden"), [(5, 0.3, True), (8, 0.05, False)])
def test_more_items_are_advised_only_where_they_could_find_the_difference(
    seed: int, run_sd: float, *, hidden: bool
) -> None:
    """Many items leave the variance of runs: where it hides the difference by itself, no number of items finds it."""
    a, b = drawn(seed, run_sd=run_sd, gain=0.2, items=150)
    found = compare(as_runs(table(a, b)), "old", "new")
    counting, without = found.rows[:2]
    assert found.verdict == "inconclusive"
    assert counting.method == f"{without.method}, runs counted"
    assert found.mde is not None
    assert counting.std_error is not None
    assert without.std_error is not None
    of_items, of_runs = without.std_error**2, found.run_std_error**2
    multiple = found.mde / math.sqrt(of_items + of_runs)

    def detectable(times: float) -> float:
        return multiple * math.sqrt(of_items / times + of_runs)

    text = " ".join(printed(found).split())
    assert (detectable(math.inf) > found.estimate) == hidden
    if hidden:
        assert "Add runs, not items" in text
        assert "would detect a difference as large" not in text
    else:
        needed = int(text.partition("About ")[2].partition(" items would detect")[0].replace(",", ""))
        assert detectable(needed / 150) <= found.estimate < detectable(needed / 150 / 1.15)


def test_independent_runs_are_in_the_interval_its_p_and_all_that_rests_on_it() -> None:
    a, b = drawn(4, run_sd=0.3, items=600, gain=0.1)
    found = compare(as_runs(table(a, b)), "old", "new", margin="8pp")
    plain, expected = of_means(a, b), counted(of_means(a, b), a, b)
    assert found.method == "augmented t, runs counted"
    assert found.runs_counted
    assert (found.std_error, found.df, found.conf_low) == pytest.approx(
        (expected.std_error, expected.df, expected.conf_low)
    )
    wide = counted(of_means(a, b, 0.9), a, b)
    assert (found.equivalence_low, found.equivalence_high) == pytest.approx((wide.conf_low, wide.conf_high))
    assert found.at_margin.limit == pytest.approx(wide.conf_low)
    spread = run_spread(run_effects(a), run_effects(b), prior=RunSd(value=0.01))
    new_data = math.hypot(plain.std_error, spread.median * math.sqrt(2 / 3))
    power = stats.norm.sf((expected.std_error * stats.t.ppf(0.975, plain.df) - found.mde * 600 / 602) / new_data)
    assert power == pytest.approx(0.8, abs=0.03)
    assert "new items like these and new runs" in found.estimand
    beside = found.rows[1]
    assert (beside.method, beside.conf_low) == ("augmented t", pytest.approx(plain.conf_low))
    assert (found.p_value < 0.05) == (found.conf_low > 0 or found.conf_high < 0)


def test_rows_by_level_count_the_runs_of_their_own_items() -> None:
    a, b = drawn(5, run_sd=0.4, items=400)
    frame = table(a, b).with_columns(
        area=pl.when(pl.col("question") < 150).then(pl.lit("law")).otherwise(pl.lit("art"))
    )
    found = compare(as_runs(frame), "old", "new", by="area")
    law = next(row for row in found.groups if row.level == "law")
    expected = counted(of_means(a[:150], b[:150], 0.975), a[:150], b[:150])
    assert (law.conf_low, law.conf_high, law.p_value) == pytest.approx(
        (expected.conf_low, expected.conf_high, expected.p_value)
    )


def test_clusters_and_runs_go_together() -> None:
    a, b = drawn(6, run_sd=0.6, items=240)
    frame = table(a, b).with_columns(passage=pl.col("question") // 8)
    found = compare(as_runs(frame), "old", "new", cluster="passage")
    spread = run_spread(run_effects(a), run_effects(b), prior=RunSd(value=0.01))
    assert found.method.endswith("runs counted")
    assert ends(found) == pytest.approx(ends(with_runs(compare(read(frame), "old", "new", cluster="passage"), spread)))
    assert "new levels of passage like these and new runs (passage and the run were sampled)" in found.estimand


@pytest.mark.parametrize(("labels", "column"), [(None, "run"), (JUDGES, "judge")])
def test_runs_of_many_items_are_looked_at_some_items_at_a_time(
    labels: object, column: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b = drawn(9, run_sd=0.4, items=90)
    a[:20, 0] = b[50:60] = np.nan
    data = read(table(a, b, labels, column), column)
    whole = compare(data, "old", "new", runs="sample")
    heights: list[int] = []

    def seen(side: ScoreBlocks, **options: bool | None) -> RunEffects:
        heights.extend(len(block) for block in side)
        return run_effects(side, **options)

    monkeypatch.setattr(of_runs, "run_effects", seen)
    monkeypatch.setattr(of_runs, "_ITEMS_AT_ONCE", 7)
    found = compare(data, "old", "new", runs="sample")
    assert max(heights) <= 7
    assert (found.std_error, found.conf_low, found.df) == pytest.approx((whole.std_error, whole.conf_low, whole.df))
    assert [row.conf_low for row in found.rows] == pytest.approx([row.conf_low for row in whole.rows], nan_ok=True)
    assert told(found) == told(whole)


def test_one_run_of_one_side_has_the_variation_of_the_other() -> None:
    a, b = drawn(7, run_sd=0.3)
    frame = table(a, b).filter((pl.col("name") == "new") | (pl.col("epoch") == 0))
    found = compare(as_runs(frame), "old", "new")
    plain = augmented_t(b.mean(axis=1) - a[:, 0])
    assert found.runs_counted
    assert ends(found) == pytest.approx(ends(counted(replace(plain), a[:, :1], b)), rel=0.05)
    assert any("(1 and 3 runs)" in text for text in told(found))
    one = compare(as_runs(table(a[:, :1], b[:, :1])), "old", "new")
    assert one.method.startswith("Tango")
    assert not any("run to run" in text for text in told(one))


@pytest.mark.parametrize("runs", [2, 3])
def test_a_score_counts_its_runs(runs: int) -> None:
    a, _ = drawn(8, run_sd=0.3, runs=runs)
    found = score(as_runs(table(a, a)), "old")
    assert found.method == "variance-matched Wilson, runs counted"
    assert found.rows[1].method == "variance-matched Wilson"
    spread = run_spread(run_effects(a), prior=RunSd(value=0.01))
    for end, before in ((found.conf_low, found.rows[1].conf_low), (found.conf_high, found.rows[1].conf_high)):
        own = abs(before - found.estimate) / stats.t.ppf(0.975, found.df)
        assert abs(end - found.estimate) == pytest.approx(spread.half_width(own, found.df, 0.95))
    assert found.estimand == "mean score over items and runs like these"


def test_a_published_number_is_held_against_the_score_with_its_runs() -> None:
    a, _ = drawn(8, run_sd=0.3)
    found = score(as_runs(table(a, a)), "old")
    level = score(as_runs(table(a, a)), "old", against=round(found.rows[1].conf_high + 0.002, 4)).against
    assert found.conf_high > level.claim > found.rows[1].conf_high
    assert level.p_value > 0.05


def seeds(a: np.ndarray, b: np.ndarray, sources: bool = False) -> EvalData:
    """Every run of either model as a run of its own, all with trial 0."""
    rows = []
    for name, y in (("a", a), ("b", b)):
        for k in range(y.shape[1]):
            # The names sort the other way round than the files.
            rows.extend({**row, "run": f"{name}-{9 - k}"} for row in rows_of(name, y[:, k].tolist()))
    data = data_of(rows)
    if sources:
        runs = data.runs.with_columns(
            source=pl.lit("seed-") + (9 - pl.col("run").str.slice(2).cast(pl.Int64)).cast(pl.String)
        )
        data = EvalData(outcomes=data.outcomes, runs=runs, metrics=data.metrics)
    return data


def test_runs_of_one_system_become_trials_when_asked() -> None:
    a, b = drawn(9, run_sd=0.3)
    data = seeds(a, b)
    for ask in (lambda: compare(data, "a", "b"), lambda: score(data, "a"), lambda: leaderboard(data)):
        with pytest.raises(InputError, match=r"3 runs answered the same 300 items.*data\.trials_from_runs"):
            ask()
    found = compare(data.trials_from_runs(), "a", "b")
    same = compare(as_runs(table(a, b)), "old", "new")
    assert (found.estimate, found.conf_low, found.p_value) == pytest.approx(
        (same.estimate, same.conf_low, same.p_value)
    )
    assert "a: its 3 runs are treated as trials ('a-7', 'a-8', 'a-9')" in told(found)
    assert score(data.trials_from_runs(), "a").conf_low == pytest.approx(score(as_runs(table(a, b)), "old").conf_low)
    assert leaderboard(data.trials_from_runs()).rows[0].n_trials == 900


def test_runs_are_paired_in_the_order_of_their_files() -> None:
    a, b = drawn(10, shared_sd=1.0)
    found = compare(seeds(a, b, sources=True).trials_from_runs(), "a", "b", shared_trials=True)
    assert "Runs are paired in the order of their files: a-9 with b-9, a-8 with b-8, a-7 with b-7" in told(found)
    expected = compare(as_runs(table(a, b)), "old", "new", shared_trials=True)
    assert found.conf_low == pytest.approx(expected.conf_low)
    fewer = seeds(a, b).outcomes.filter(pl.col("run") != "b-9")
    with pytest.raises(InputError, match="as many runs on both sides, and 'a' has 3 and 'b' 2"):
        compare(EvalData(outcomes=fewer).trials_from_runs(), "a", "b", shared_trials=True)


def test_runs_with_trials_of_their_own_vary_as_runs() -> None:
    """Four epochs in each of three runs: the run is what moves its epochs together."""
    a, b = drawn(11, runs=12)
    rng = np.random.default_rng(0)
    move = np.repeat(rng.normal(0, 0.1, 3), 4)
    rows = []
    for name, y in (("a", a + move), ("b", b + move[::-1])):
        for run in range(3):
            own = rows_of(name, y[:, 4 * run : 4 * run + 4].ravel().tolist(), trials=4)
            rows.extend({**row, "run": f"{name}{run}"} for row in own)
    found = compare(data_of(rows, kind="continuous").trials_from_runs(), "a", "b")
    means = [y.reshape(300, 3, 4).mean(axis=2) for y in (a + move, b + move[::-1])]
    spread = max(run_effects(y).spread for y in means)
    runs = run_spread(*map(run_effects, means), prior=RunSd(value=0.02 * spread))
    assert ends(found) == pytest.approx(ends(with_runs(paired_t(means[1].mean(axis=1) - means[0].mean(axis=1)), runs)))


def test_text_labels_of_trials_are_read() -> None:
    a, b = drawn(13)
    data = read(table(a, b, ["seed-a", "seed-b", "seed-c"], "trial"), "trial")
    assert data.outcomes["trial"].unique().sort().to_list() == [0, 1, 2]
    assert data.outcomes["trial_label"].unique().sort().to_list() == ["seed-a", "seed-b", "seed-c"]
    assert compare(data, "old", "new").n_trials == 1800
    assert "trial_label" not in read(table(a, b)).outcomes.columns


def test_a_leaderboard_counts_runs_as_the_comparison_does() -> None:
    a, b = drawn(4, run_sd=0.3, items=600, gain=0.1)
    pair = leaderboard(as_runs(table(a, b))).pairs[0]
    found = compare(as_runs(table(a, b)), pair.second, pair.first)
    assert pair.std_error == pytest.approx(found.std_error, rel=1e-2)
    assert (pair.conf_low, pair.conf_high) == pytest.approx(
        (found.conf_low, found.conf_high), abs=0.05 * found.std_error
    )
    assert pair.verdict == "not separated"
    alone = leaderboard(read(table(a[:, :1], b[:, :1])))
    assert any("One run of each system" in text for text in told(alone))


def test_runs_that_move_all_items_separate_no_models() -> None:
    """Six equal models whose runs move all items: item means alone separate most pairs, and the best is picked by luck."""
    rng = np.random.default_rng(3)
    level = rng.normal(0, 1, (800, 1))
    rows = []
    for j in range(6):
        move = 0.25 * rng.normal(size=3)
        rows.extend(rows_of(f"m{j}", (level + move + rng.normal(size=(800, 3))).ravel().tolist(), trials=3))
    data = data_of(rows, kind="continuous")
    found = leaderboard(data, runs="sample")
    assert not any(pair.separated for pair in found.pairs)
    assert all(row.may_be_best for row in found.rows)
    assert "runs counted" in found.method
    assert any("pairs and rank sets include it" in text for text in told(found))
    averages = data.outcomes.group_by(
        "run", "model", "system", "benchmark", "item", "metric", "status", maintain_order=True
    )
    once = EvalData(outcomes=as_data(averages.agg(pl.col("score").mean())).outcomes, metrics=data.metrics)
    assert sum(pair.separated for pair in leaderboard(once).pairs) > 7


@pytest.mark.parametrize("question", [lambda data, **given: compare(data, "old", "new", **given), leaderboard])
def test_seeds_that_move_the_difference_are_a_caution_unless_they_are_meant(
    question: Callable[..., Comparison | Leaderboard],
) -> None:
    """Five seeds whose own effects differ by side are fixed all the same, and the first screen says for what it holds."""
    a, b = drawn(3, runs=5, run_sd=0.6)
    data = read(table(a, b, ["1", "2", "3", "4", "5"], "seed"), "seed")
    (note,) = [note for note in question(data).notes if "treated as fixed" in note.text]
    assert note.caution
    assert "the difference varies between them by more than chance explains (p < 0.001)" in note.text
    assert "runs='sample'" in note.line
    assert not any(note.caution for note in question(data, runs="fixed").notes if "treated as fixed" in note.text)


def test_trials_that_tell_nothing_are_not_called_one_run() -> None:
    """Each item was tried once, under one of three seeds: there are several trials and no item in two of them."""
    rows = [
        {"item": f"q{i}", "model": name, "trial": f"seed {i % 3}", "score": float((7 * i + 3 * j) % 5 < 3)}
        for i in range(40)
        for j, name in enumerate("abc")
    ]
    result = leaderboard(from_frame(pl.DataFrame(rows), item="item", model="model", trial="trial", score="score"))
    assert any(text.startswith("The trials do not show how scores vary from run to run") for text in told(result))
    assert not any("One run of each system" in text for text in told(result))


def test_judges_of_all_models_cancel_in_a_leaderboard() -> None:
    a, b = drawn(1, shared_sd=1.5, gain=0.6)
    c = drawn(5, shared_sd=1.5)[0]
    frame = pl.concat([table(a, b, JUDGES, "judge_name"), table(c, c, JUDGES, "judge_name").head(900)])
    frame = frame.with_columns(name=pl.when(pl.int_range(pl.len()) >= 1800).then(pl.lit("third")).otherwise("name"))
    found = leaderboard(read(frame.filter(pl.col("name") != "third"), "judge_name"))
    assert found.pairs[0].verdict == "better"
    assert any(text.startswith("The 3 judge_names are treated as fixed") for text in told(found))
    assert leaderboard(read(frame, "judge_name"), shared_trials=False).rows[0].rank_high == 3
    crowd = leaderboard(read(frame, "judge_name"), runs="sample")
    assert any("Run to run, in the difference of a pair: about" in text for text in told(crowd))
    for pair in crowd.pairs:
        one = compare(read(frame, "judge_name"), pair.second, pair.first, runs="sample", conf_level=1 - 0.05 / 3)
        assert pair.conf_high - pair.conf_low >= 0.95 * (one.conf_high - one.conf_low)
    with pytest.raises(InputError, match="shared trials need some that every model has"):
        leaderboard(
            read(table(a, b).filter((pl.col("epoch") > 0) | (pl.col("name") == "old"))),
            shared_trials=True,
            runs="sample",
        )


def test_a_sample_of_runs_needs_runs() -> None:
    """Scores of judges are averaged; declared a sample they were passed over in silence."""
    scores = np.random.default_rng(3).integers(0, 2, (40, 3)).astype(float)
    frame = table(scores, scores[::-1], ["ann", "bob", "cy"], "judge")
    judged = from_frame(frame, item="question", model="name", score="right", judge="judge")
    with pytest.raises(InputError, match=r"runs='sample' needs runs.*trial=COLUMN"):
        compare(judged, "old", "new", runs="sample")
    wide = compare(read(frame, "judge"), "old", "new", runs="sample")
    fixed = compare(read(frame, "judge"), "old", "new")
    assert wide.conf_high - wide.conf_low > fixed.conf_high - fixed.conf_low
    # A standard deviation that is known needs no runs to be estimated from.
    assert compare(judged, "old", "new", runs="sample", run_sd="2pp").conf_level == 0.95
