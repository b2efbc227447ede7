"""Trials that both sides share, runs that move all items, and runs of one system that become its trials."""

import math

import numpy as np
import polars as pl
import pytest
from scipy import stats

from evalstats.analysis import pairs
from evalstats.analysis.compare.compare import compare
from evalstats.analysis.leaderboard.leaderboard import leaderboard
from evalstats.analysis.score.score import score
from evalstats.errors import InputError
from evalstats.loaders.frames import from_frame
from evalstats.schema.data import EvalData, as_data
from evalstats.stats.paired.means import augmented_t
from evalstats.stats.trials import RunVariance, ScoreBlocks, run_variance, with_runs
from tests.analysis.builders import data_of, printed, rows_of, told
from validation.full_runs import draw, intervals


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


def drawn(seed: int, **world: float) -> tuple[np.ndarray, np.ndarray]:
    return draw(np.random.default_rng(seed), **{"items": 300, "runs": 3, "run_sd": 0.0, **world})


JUDGES = ["opus", "gpt-5", "gemini"]


def test_judges_of_both_sides_cancel() -> None:
    """Judges of sd 1 logit move both sides alike; the gain shows as if there were one judge."""
    a, b = drawn(1, shared_sd=1.5, gain=0.6)
    found = compare(read(table(a, b, JUDGES, "judge_name"), "judge_name"), "old", "new")
    assert found.verdict == "better"
    assert any("trials are paired by judge_name ('gemini', 'gpt-5', 'opus' on both" in text for text in told(found))
    plain = augmented_t(b.mean(axis=1) - a.mean(axis=1), n_trials=3)
    expected = with_runs(plain, run_variance(b - a), low=-1, high=1)
    assert (found.conf_low, found.conf_high, found.p_value) == pytest.approx(
        (expected.conf_low, expected.conf_high, expected.p_value)
    )
    counted = compare(read(table(a, b)), "old", "new")
    assert counted.verdict == "inconclusive"
    (hint,) = [text for text in told(counted) if "shared_trials=True" in text]
    assert "move both sides alike" in hint
    declared = compare(read(table(a, b)), "old", "new", shared_trials=True)
    assert declared.conf_low == pytest.approx(found.conf_low)
    apart = compare(read(table(a, b, JUDGES, "judge_name"), "judge_name"), "old", "new", shared_trials=False)
    assert apart.conf_low == pytest.approx(counted.conf_low)


def test_seeds_that_are_numbers_are_names_all_the_same() -> None:
    a, b = drawn(2)
    found = compare(read(table(a, b, [11, 22, 33], "seed"), "seed"), "old", "new")
    assert any("trials are paired by seed ('11', '22', '33' on both sides)" in text for text in told(found))
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
    assert any(text.startswith("100 scores left out: the other side") for text in told(found))
    complete = d[np.isfinite(d).all(axis=1)]
    plain = augmented_t(np.nanmean(d, axis=1), n_trials=2)
    expected = with_runs(plain, run_variance(complete), low=-1, high=1)
    assert found.conf_low == pytest.approx(expected.conf_low)


@pytest.mark.parametrize(("seed", "run_sd", "hidden"), [(5, 0.3, True), (8, 0.05, False)])
def test_more_items_are_advised_only_where_they_could_find_the_difference(
    seed: int, run_sd: float, *, hidden: bool
) -> None:
    """Many items leave the variance of runs: where it hides the difference by itself, no number of items finds it."""
    a, b = drawn(seed, run_sd=run_sd, gain=0.2, items=150)
    found = compare(read(table(a, b)), "old", "new")
    counting, without = found.rows[:2]
    assert found.verdict == "inconclusive"
    assert counting.method == f"{without.method}, runs counted"
    assert found.mde is not None
    assert counting.std_error is not None
    assert without.std_error is not None
    multiple = found.mde / counting.std_error
    of_items, of_runs = without.std_error**2, counting.std_error**2 - without.std_error**2

    def detectable(times: float) -> float:
        return multiple * math.sqrt(of_items / times + of_runs)

    text = " ".join(printed(found).split())
    assert (detectable(math.inf) > found.estimate) == hidden
    if hidden:
        assert "Add runs, not items" in text
        assert "More runs, not more items" in text
        assert "would find a difference as large" not in text
    else:
        needed = int(text.partition("About ")[2].partition(" items would find")[0].replace(",", ""))
        assert detectable(needed / 150) <= found.estimate < detectable(needed / 150 / 1.15)
        assert f"some {needed:,}, would find it" in text


def test_independent_runs_are_in_the_interval_its_p_and_all_that_rests_on_it() -> None:
    a, b = drawn(4, run_sd=0.3, items=600, gain=0.1)
    found = compare(read(table(a, b)), "old", "new", margin="8pp")
    plain = augmented_t(b.mean(axis=1) - a.mean(axis=1), n_trials=3)
    runs = run_variance(a, b)
    assert runs.variance > 0
    expected = with_runs(plain, runs, low=-1, high=1)
    assert found.method == "augmented t, runs counted"
    assert found.runs_counted
    assert (found.std_error, found.df, found.conf_low) == pytest.approx(
        (expected.std_error, expected.df, expected.conf_low)
    )
    wide = with_runs(augmented_t(b.mean(axis=1) - a.mean(axis=1), n_trials=3, conf_level=0.9), runs, low=-1, high=1)
    assert (found.equivalence_low, found.equivalence_high) == pytest.approx((wide.conf_low, wide.conf_high))
    assert found.at_margin.limit == pytest.approx(wide.conf_low)
    power = stats.nct.sf(stats.t.ppf(0.975, expected.df), expected.df, found.mde * 600 / 602 / expected.std_error)
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
    found = compare(read(frame), "old", "new", by="area")
    law = next(row for row in found.groups if row.level == "law")
    plain = augmented_t((b - a)[:150].mean(axis=1), n_trials=3, conf_level=0.975)
    expected = with_runs(plain, run_variance(a[:150], b[:150]), low=-1, high=1)
    assert (law.conf_low, law.conf_high, law.p_value) == pytest.approx(
        (expected.conf_low, expected.conf_high, expected.p_value)
    )


def test_clusters_and_runs_go_together() -> None:
    a, b = drawn(6, run_sd=0.6, items=240)
    frame = table(a, b).with_columns(passage=pl.col("question") // 8)
    found = compare(read(frame), "old", "new", cluster="passage")
    without = compare(read(frame), "old", "new", cluster="passage", shared_trials=False).rows[1]
    assert found.method.endswith("runs counted")
    assert found.std_error**2 == pytest.approx(without.std_error**2 + run_variance(a, b).variance)
    assert "new levels of passage like these and new runs (passage and the run were sampled)" in found.estimand


@pytest.mark.parametrize(("labels", "column"), [(None, "epoch"), (JUDGES, "judge")])
def test_runs_of_many_items_are_looked_at_some_items_at_a_time(
    labels: object, column: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b = drawn(9, run_sd=0.4, items=90)
    a[:20, 0] = b[50:60] = np.nan
    data = read(table(a, b, labels, column), column)
    whole = compare(data, "old", "new")
    heights: list[int] = []

    def seen(*sides: ScoreBlocks, weights: None = None) -> RunVariance:
        heights.extend(len(block) for side in sides for block in side)
        return run_variance(*sides, weights=weights)

    monkeypatch.setattr(pairs, "run_variance", seen)
    monkeypatch.setattr(pairs, "_ITEMS_AT_ONCE", 7)
    found = compare(data, "old", "new")
    assert max(heights) <= 7
    assert (found.std_error, found.conf_low, found.df) == pytest.approx((whole.std_error, whole.conf_low, whole.df))
    assert [row.conf_low for row in found.rows] == pytest.approx([row.conf_low for row in whole.rows], nan_ok=True)
    assert told(found) == told(whole)


def test_one_run_of_one_side_is_said_and_two_of_both_are_counted() -> None:
    a, b = drawn(7, run_sd=0.3)
    frame = table(a, b).filter((pl.col("name") == "new") | (pl.col("epoch") == 0))
    found = compare(read(frame), "old", "new")
    assert found.runs_counted
    assert "old has one run: its own variation from run to run is not in the interval" in told(found)
    two = compare(read(frame.filter(pl.col("epoch") < 2)), "old", "new")
    assert not two.runs_counted
    assert "run-to-run variation is not estimable from 1 and 2 runs; at least 2 of each side" in " ".join(told(two))
    assert compare(read(table(a[:, :2], b[:, :2])), "old", "new").runs_counted
    one = compare(read(table(a[:, :1], b[:, :1])), "old", "new")
    assert one.method.startswith("Tango")
    assert not any("run-to-run" in text for text in told(one))


def test_a_score_counts_its_runs() -> None:
    a, _ = drawn(8, run_sd=0.3)
    found = score(read(table(a, a)), "old")
    assert found.method == "variance-matched Wilson, runs counted"
    assert found.rows[1].method == "variance-matched Wilson"
    assert found.conf_low < found.rows[1].conf_low
    assert found.conf_high > found.rows[1].conf_high
    assert found.estimand == "mean score over items and runs like these"
    two = score(read(table(a[:, :2], a[:, :2])), "old")
    assert (
        "run-to-run variation is not estimable from 2 runs; at least 3 are needed; it is not in the interval"
        in told(two)
    )


def test_a_published_number_is_held_against_the_score_with_its_runs() -> None:
    a, _ = drawn(8, run_sd=0.3)
    found = score(read(table(a, a)), "old")
    level = score(read(table(a, a)), "old", against=round(found.rows[1].conf_high + 0.002, 4)).against
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
    same = compare(read(table(a, b)), "old", "new")
    assert (found.estimate, found.conf_low, found.p_value) == pytest.approx(
        (same.estimate, same.conf_low, same.p_value)
    )
    assert "a: its 3 runs are taken as trials ('a-7', 'a-8', 'a-9')" in told(found)
    assert score(data.trials_from_runs(), "a").conf_low == pytest.approx(score(read(table(a, b)), "old").conf_low)
    assert leaderboard(data.trials_from_runs()).rows[0].n_trials == 900


def test_runs_are_paired_in_the_order_of_their_files() -> None:
    a, b = drawn(10, shared_sd=1.0)
    found = compare(seeds(a, b, sources=True).trials_from_runs(), "a", "b", shared_trials=True)
    assert "runs are paired in the order of their files: a-9 with b-9, a-8 with b-8, a-7 with b-7" in told(found)
    expected = compare(read(table(a, b)), "old", "new", shared_trials=True)
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
    without = next(row for row in found.rows if row.role == "second interval")
    assert found.std_error**2 == pytest.approx(without.std_error**2 + run_variance(*means).variance)


def test_only_the_items_that_all_runs_scored_speak_of_the_runs() -> None:
    a, b = drawn(12, run_sd=0.4)
    a[:40, 1] = np.nan
    found = compare(read(table(a, b)), "old", "new")
    means = np.nanmean(a, axis=1)
    plain = augmented_t(b.mean(axis=1) - means, n_trials=2)
    assert found.conf_low == pytest.approx(with_runs(plain, run_variance(a[40:], b), low=-1, high=1).conf_low)


def test_text_labels_of_trials_are_read() -> None:
    a, b = drawn(13)
    data = read(table(a, b, ["seed-a", "seed-b", "seed-c"], "trial"), "trial")
    assert data.outcomes["trial"].unique().sort().to_list() == [0, 1, 2]
    assert data.outcomes["trial_label"].unique().sort().to_list() == ["seed-a", "seed-b", "seed-c"]
    assert compare(data, "old", "new").n_trials == 1800
    assert "trial_label" not in read(table(a, b)).outcomes.columns


@pytest.mark.parametrize(
    ("replicates", "n"),
    [pytest.param(250, 1000, id="quick"), pytest.param(3000, 3000, id="long", marks=pytest.mark.slow)],
)
def test_size_and_power_with_full_runs(replicates: int, n: int) -> None:
    """Three runs a side of sd .1 logit: item means alone miss in a fifth and more; `validation/full_runs.py` has the grid."""
    rng = np.random.default_rng(14)
    missed = {"runs counted": 0, "trials shared": 0, "augmented t on item means": 0}
    for _ in range(replicates):
        found = intervals(*draw(rng, items=n, runs=3, run_sd=0.1))
        for method in missed:
            missed[method] += found[method].p_value < 0.05
    allowed = 0.06 + 3.5 * math.sqrt(0.05 * 0.95 / replicates)
    assert missed["runs counted"] / replicates <= allowed
    assert missed["trials shared"] / replicates <= allowed + 0.02
    assert missed["augmented t on item means"] / replicates > 0.13
    told = [intervals(*draw(rng, items=n, runs=3, run_sd=0.0, shared_sd=0.5, gain=0.45)) for _ in range(60)]
    power = {method: np.mean([each[method].p_value < 0.05 for each in told]) for method in missed}
    assert power["trials shared"] > 0.9
    assert power["runs counted"] < 0.2


def test_a_leaderboard_counts_runs_as_the_comparison_does() -> None:
    a, b = drawn(4, run_sd=0.3, items=600, gain=0.1)
    pair = leaderboard(read(table(a, b))).pairs[0]
    found = compare(read(table(a, b)), pair.second, pair.first)
    centre = found.estimate
    assert pair.std_error == pytest.approx(found.std_error, rel=1e-3)
    reach = stats.t.ppf(0.975, pair.df) * pair.std_error
    assert (pair.conf_low, pair.conf_high) == pytest.approx((centre - reach, centre + reach))
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
    found = leaderboard(data)
    assert not any(pair.separated for pair in found.pairs)
    assert all(row.may_be_best for row in found.rows)
    assert "runs counted" in found.method
    assert any("pairs and rank sets count it" in text for text in told(found))
    averages = data.outcomes.group_by(
        "run", "model", "system", "benchmark", "item", "metric", "status", maintain_order=True
    )
    once = EvalData(outcomes=as_data(averages.agg(pl.col("score").mean())).outcomes, metrics=data.metrics)
    assert sum(pair.separated for pair in leaderboard(once).pairs) > 7


def test_trials_that_tell_nothing_are_not_called_one_run() -> None:
    """Each item was tried once, under one of three seeds: there are several trials and no item in two of them."""
    rows = [
        {"item": f"q{i}", "model": name, "trial": f"seed {i % 3}", "score": float((7 * i + 3 * j) % 5 < 3)}
        for i in range(40)
        for j, name in enumerate("abc")
    ]
    result = leaderboard(from_frame(pl.DataFrame(rows), item="item", model="model", trial="trial", score="score"))
    assert any(text.startswith("the trials do not tell how scores vary from run to run") for text in told(result))
    assert not any("One run of each system" in text for text in told(result))


def test_judges_of_all_models_cancel_in_a_leaderboard() -> None:
    a, b = drawn(1, shared_sd=1.5, gain=0.6)
    c = drawn(5, shared_sd=1.5)[0]
    frame = pl.concat([table(a, b, JUDGES, "judge_name"), table(c, c, JUDGES, "judge_name").head(900)])
    frame = frame.with_columns(name=pl.when(pl.int_range(pl.len()) >= 1800).then(pl.lit("third")).otherwise("name"))
    found = leaderboard(read(frame.filter(pl.col("name") != "third"), "judge_name"))
    assert found.pairs[0].verdict == "better"
    assert any("all models share their 3 trials" in text for text in told(found))
    assert leaderboard(read(frame, "judge_name"), shared_trials=False).rows[0].rank_high == 3
    counted = leaderboard(read(table(a, b)))
    assert counted.pairs[0].verdict == "not separated"
    assert leaderboard(read(table(a, b)), shared_trials=True).pairs[0].verdict == "better"
    with pytest.raises(InputError, match="shared trials need three or more that every model has"):
        leaderboard(read(table(a[:, :2], b[:, :2])), shared_trials=True)
