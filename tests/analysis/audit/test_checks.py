"""Planted faults are found, each as what it is; clean tables give nothing."""

from datetime import datetime

import numpy as np
import polars as pl
import pytest

import evalstats as es
from evalstats.analysis.audit.audit import CHECKS
from evalstats.analysis.audit.result import KINDS
from evalstats.schema.data import EvalData
from evalstats.schema.tables import frame_from_rows
from evalstats.simulate.rutbench import write_rutbench
from tests.analysis.audit.builders import clean, kinds, read
from tests.analysis.builders import rows_of


def of_kind(found: es.Audit, kind: str):
    return [each for each in found.findings if each.kind == kind]


def outcomes(rows, runs=(), metrics=()) -> EvalData:
    return EvalData(
        outcomes=frame_from_rows(rows, "outcomes"),
        runs=frame_from_rows(runs, "runs"),
        metrics=frame_from_rows(metrics, "metrics"),
    )


def scores(n: int, share: float, seed: int = 0) -> list[float]:
    return (np.random.default_rng(seed).random(n) < share).astype(float).tolist()


MINE = (
    *("repeated rows", "repeated runs", "identical models", "versions", "scale", "failure codes", "too small"),
    *("harness errors", "missing scores", "judge failures", "item sets"),
)


def test_every_check_has_a_kind_of_the_closed_list():
    listed = [kind for kinds in CHECKS.values() for kind in kinds]
    assert set(MINE) <= set(listed) <= set(KINDS)


@pytest.mark.parametrize("seed", range(5))
def test_a_clean_table_has_no_finding_of_these(seed):
    found = es.audit(read(clean(seed=seed)))
    assert not set(kinds(found)) & set(MINE)


# What is a fact about clean items too, and changes nothing.
FACTS = {"saturated items", "unsolvable items"}


@pytest.mark.slow
def test_clean_tables_give_no_false_findings():
    """200 clean tables with a factor that means nothing: no finding that states a fault, no flip but by chance."""
    false = dict.fromkeys(set(KINDS) - FACTS, 0)
    flips = 0
    for seed in range(200):
        draw = np.random.default_rng(seed)
        n_items = int(draw.integers(30, 300))
        frame = clean(n_items, int(draw.integers(2, 13)), seed=seed, spread=float(draw.uniform(0, 1)))
        topics = draw.integers(0, 10, n_items)
        frame = frame.with_columns(pl.Series("batch_of", [f"t{topics[int(item[1:])]}" for item in frame["item"]]))
        found = es.audit(read(frame))
        flips += found.n_flipping > 0
        for kind in set(kinds(found)) - FACTS:
            false[kind] += 1
    assert all(false[kind] == 0 for kind in MINE), false
    assert all(n <= 10 for n in false.values()), false
    assert flips <= 10


# --- rows without a score ---


def with_errors(share: float, seed: int = 0) -> EvalData:
    draw = np.random.default_rng(seed)
    strong = [None if draw.random() < share else x for x in scores(200, 0.8, 1)]
    rows = [*rows_of("strong", strong, status="error"), *rows_of("weak", scores(200, 0.55, 2))]
    metrics = [{"benchmark": "bench", "metric": "correct", "kind": "binary", "low": 0.0, "high": 1.0}]
    return outcomes(rows, metrics=metrics)


def test_harness_errors_are_counted_as_0_and_as_1():
    (found,) = of_kind(es.audit(with_errors(0.3)), "harness errors")
    assert {each.treatment for each in found.shifts} == {"counted as 0", "counted as 1"}
    assert found.effect == "flips"
    data = with_errors(0.3)
    n = int((data.outcomes["status"] == "error").sum())
    assert found.n_rows == n
    assert found.text.startswith(f"{n} of 400 rows are harness errors, ")
    # The definition: the mean difference with errors as 0.
    filled = data.outcomes.with_columns(pl.col("score").fill_null(0.0))
    means = {model: part["score"].mean() for (model,), part in filled.group_by("model")}
    zero = next(each for each in found.shifts if each.treatment == "counted as 0")
    assert zero.flips[0].after.estimate == pytest.approx(means["strong"] - means["weak"])


def test_few_harness_errors_stand_where_nothing_hangs_on_them():
    draw = [None, *scores(1999, 0.8, 1)]
    rows = [*rows_of("strong", draw, status="error"), *rows_of("weak", scores(2000, 0.5, 2))]
    (found,) = of_kind(es.audit(outcomes(rows)), "harness errors")
    assert found.effect == "stands"


def test_missing_scores_name_the_model_and_the_reason():
    frame = clean(200, 3).with_columns(
        pl.when((pl.col("model") == "m1") & (pl.int_range(pl.len()) % 3 == 0))
        .then(None)
        .otherwise("score")
        .alias("score")
    )
    (found,) = of_kind(es.audit(read(frame)), "missing scores")
    assert found.models == ("m1",)
    assert "of m1's" in found.text


def test_judge_failures_are_no_missing_scores():
    rows = [*rows_of("a", [None, None, *scores(98, 0.7)]), *rows_of("b", scores(100, 0.5, 1))]
    found = es.audit(outcomes([{**row, "judge": "gpt"} for row in rows]))
    assert "missing scores" not in kinds(found)
    (seen,) = of_kind(found, "judge failures")
    assert seen.n_rows == 2


def test_item_sets_that_differ_are_counted():
    frame = clean(200, 3).filter((pl.col("model") != "m2") | (pl.col("item") >= "q040"))
    (found,) = of_kind(es.audit(read(frame)), "item sets")
    assert (found.n_items, found.models) == (40, ("m2",))
    assert "all share 160 of 200" in found.text
    assert {each.treatment for each in found.shifts} == {
        "on the 160 items that all models have",
        "counted as 0 where they are missing",
        "counted as 1 where they are missing",
    }


def test_scores_that_are_missing_may_have_been_right():
    """B lacks a third of the items: as a comparison says, it could be ahead; an audit that tries 0 alone said that all holds."""
    rows = [*rows_of("a", [1.0] * 78 + [0.0] * 42), *rows_of("b", ([1.0] * 40 + [0.0] * 38 + [0.0] * 42)[:80])]
    found = es.audit(outcomes(rows))
    assert es.compare(outcomes(rows), "a", "b").verdict == "inconclusive"
    assert found.document().label == "Settle first"


def test_runs_of_one_model_that_hold_other_items_are_told():
    rows = [*rows_of("a", scores(50, 0.9)), *rows_of("b", scores(50, 0.5, 1))]
    again = [
        {**row, "run": "later"} for row in rows_of("a", scores(40, 0.9, 2), items=[f"q{i:04d}" for i in range(20, 60)])
    ]
    found = [each for each in of_kind(es.audit(outcomes([*rows, *again])), "item sets") if "runs of a" in each.text]
    assert found[0].text == "The 2 runs of a hold different items: all share 30 of 60"
    assert found[0].n_items == 30
    parts = [{**row, "run": "part two"} for row in rows_of("a", scores(50, 0.9, 2), items=[f"r{i}" for i in range(50)])]
    assert not any("runs of a" in each.text for each in es.audit(outcomes([*rows, *parts])).findings)


# --- what stands twice ---


def test_rows_that_stand_twice_are_told_apart_from_contradictions():
    rows = [*rows_of("a", scores(50, 0.7)), *rows_of("b", scores(50, 0.5, 1))]
    data = outcomes(rows)
    copies = data.outcomes.head(10)
    turned = data.outcomes.slice(10, 5).with_columns((1.0 - pl.col("score")).alias("score"))
    (found,) = of_kind(es.audit(EvalData(outcomes=pl.concat([data.outcomes, copies]))), "repeated rows")
    assert "10 trials occur more than once in a run (all with the same score)" in found.text
    (found,) = of_kind(es.audit(EvalData(outcomes=pl.concat([data.outcomes, copies, turned]))), "repeated rows")
    assert "15 trials" in found.text
    assert "5 with other scores" in found.text
    assert len(found.shifts) == 2


def test_a_file_read_twice_is_a_repeated_run_on_which_nothing_hangs():
    rows = [*rows_of("a", scores(50, 0.7)), *rows_of("b", scores(50, 0.5, 1))]
    again = [{**row, "run": "copy"} for row in rows_of("a", scores(50, 0.7))]
    (found,) = of_kind(es.audit(outcomes([*rows, *again])), "repeated runs")
    assert "with the same score throughout" in found.text
    assert (found.effect, found.shifts[0].largest) == ("stands", 0.0)


def test_runs_of_one_system_that_disagree_can_flip():
    rows = [*rows_of("a", scores(100, 0.9)), *rows_of("b", scores(100, 0.5, 1))]
    again = [{**row, "run": "rerun"} for row in rows_of("a", scores(100, 0.2, 3))]
    (found,) = of_kind(es.audit(outcomes([*rows, *again])), "repeated runs")
    assert found.effect == "flips"
    assert {each.treatment for each in found.shifts} == {
        "with the first of these runs alone",
        "with the second of these runs alone",
    }


def test_one_model_under_two_names_is_found_and_not_accused():
    frame = clean(150, 5)
    twin = frame.filter(pl.col("model") == "m2").with_columns(pl.lit("m2-turbo").alias("model"))
    found = es.audit(read(pl.concat([frame, twin])))
    (seen,) = of_kind(found, "identical models")
    assert seen.models == ("m2", "m2-turbo")
    assert "consistent with" in seen.text
    one_apart = twin.with_columns(
        pl.when(pl.col("item") == "q000").then(1.0 - pl.col("score")).otherwise("score").alias("score")
    )
    assert not of_kind(es.audit(read(pl.concat([frame, one_apart]))), "identical models")


def test_twins_among_few_models_are_not_checked():
    frame = clean(80, 2)
    twin = frame.filter(pl.col("model") == "m1").with_columns(pl.lit("m1-turbo").alias("model"))
    found = es.audit(read(pl.concat([frame, twin])))
    assert not of_kind(found, "identical models")
    assert any(each.kind == "identical models" and "m1 and m1-turbo" in each.reason for each in found.unchecked)


def test_two_models_that_agree_on_easy_items_are_no_twins():
    same = [{"item": i, "model": m, "score": 1.0} for m in ("a", "b", "c", "d", "e") for i in range(20)]
    assert not of_kind(es.audit(read(pl.DataFrame(same))), "identical models")


# --- scores that are none ---


def test_a_code_among_ratings_is_found_with_and_without_it():
    draw = np.random.default_rng(0)
    rows = [{"item": i, "model": m, "score": float(draw.integers(4, 10))} for m in ("a", "b", "c") for i in range(60)]
    for place in range(8):
        rows[place]["score"] = -1.0
    audit = es.audit(read(pl.DataFrame(rows)))
    (found,) = of_kind(audit, "failure codes")
    assert not of_kind(audit, "scale")  # the code is told once
    assert (found.n_rows, found.models) == (8, ("a",))
    assert "are -1, far from all others (4 to 9)" in found.text
    assert found.shifts[0].treatment == "without them"
    kept = np.mean([row["score"] for row in rows[8:60]]) - np.mean([row["score"] for row in rows[68:120]])
    pairs = [flip for flip in found.shifts[0].flips if {flip.first, flip.second} == {"a", "b"}]
    assert all(abs(flip.after.estimate) == pytest.approx(abs(kept)) for flip in pairs)


@pytest.mark.parametrize(
    ("column", "text"),
    [
        *(("value_raw", text) for text in ("[invalid]", "could not parse the answer", "N/A", "Timed out after 60 s")),
        ("value_raw", "extraction_failed"),
        ("error", "HTTP 429"),  # the harness wrote 0 for what it never asked
        ("error_message", "connection reset"),  # "none", which stands beside right answers too, is no failure
    ],
)
def test_a_zero_beside_an_error_or_a_raw_value_that_says_unread_is_a_code(column, text):
    rows = [*rows_of("a", [0.0] * 10 + scores(90, 0.7)), *rows_of("b", scores(100, 0.5, 1))]
    for place, row in enumerate(rows):
        row[column] = text if place < 10 else None if column == "value_raw" else "none"
    (found,) = of_kind(es.audit(outcomes(rows)), "failure codes")
    assert (found.n_rows, found.models, found.examples) == (10, ("a",), (text,))


@pytest.mark.parametrize("text", ["C", "none of the above is correct, so B", "invalidate the cache", "42"])
def test_an_answer_is_no_code(text):
    rows = [*rows_of("a", [0.0] * 10 + scores(90, 0.7)), *rows_of("b", scores(100, 0.5, 1))]
    for row in rows[:10]:
        row["value_raw"] = text
    assert not of_kind(es.audit(outcomes(rows)), "failure codes")


def test_percentages_beside_shares_are_found_and_mended():
    rows = [*rows_of("a", [0.9, 0.5] * 40), *rows_of("b", [70.0, 60.0] * 40)]
    (found,) = of_kind(es.audit(outcomes(rows)), "scale")
    assert "cannot be of one scale" in found.text
    assert (found.effect, found.shifts[0].treatment) == ("flips", "with percentages written as shares")


def test_scores_beyond_the_range_are_found():
    metrics = [{"benchmark": "bench", "metric": "correct", "kind": "bounded", "low": 1.0, "high": 10.0}]
    rows = [*rows_of("a", [11.0, 5.0] * 20), *rows_of("b", [7.0, 6.0] * 20)]
    (found,) = of_kind(es.audit(outcomes(rows, metrics=metrics)), "scale")
    assert "outside the range" in found.text


def test_half_credit_of_a_right_or_wrong_metric_is_found():
    metrics = [{"benchmark": "bench", "metric": "correct", "kind": "binary", "low": 0.0, "high": 1.0}]
    rows = [*rows_of("a", [0.5, 1.0, 0.0] * 20), *rows_of("b", [0.0, 1.0, 1.0] * 20)]
    (found,) = of_kind(es.audit(outcomes(rows, metrics=metrics)), "scale")
    assert found.n_rows == 20
    assert "between 0 and 1" in found.text


def test_a_score_that_never_varies_and_a_model_that_never_scores():
    rows = [*rows_of("a", [1.0] * 40), *rows_of("b", [1.0] * 40)]
    (found,) = of_kind(es.audit(outcomes(rows)), "scale")
    assert found.text == "Every score is 1, so nothing can be compared"
    several = es.audit(
        outcomes([*rows, *rows_of("a", scores(40, 0.6), metric="f1"), *rows_of("b", scores(40, 0.4), metric="f1")])
    )
    assert "correct: Every score is 1" in several.summary()
    rows = [*rows_of("a", [0.0] * 40), *rows_of("b", scores(40, 0.6))]
    (found,) = of_kind(es.audit(outcomes(rows)), "scale")
    assert found.text == "Every score of a is 0, consistent with a run that broke"


# --- versions, and what is too small ---


def judged(model: str, judge: str, share: float, seed: int, run: str = ""):
    rows = rows_of(model, scores(100, share, seed))
    return [{**row, "judge": judge, "run": run or row["run"]} for row in rows]


def test_models_that_other_judges_scored_are_kept_apart():
    rows = [*judged("a", "gpt", 0.9, 0), *judged("b", "claude", 0.4, 1), *judged("c", "claude", 0.3, 2)]
    runs = [
        {"run": f"{m}-run", "benchmark": "bench", "judge": j}
        for m, j in (("a", "gpt"), ("b", "claude"), ("c", "claude"))
    ]
    (found,) = of_kind(es.audit(outcomes(rows, runs)), "versions")
    assert "The judge differs" in found.text
    assert (found.effect, found.shifts[0].n_lost) == ("flips", 2)


def test_a_model_that_mixes_two_judges_is_looked_at_with_each_alone():
    rows = [
        *(row for m, share in (("a", 0.8), ("b", 0.4)) for row in judged(m, "gpt", share, ord(m))),
        *(
            row
            for m, share in (("a", 0.5), ("b", 0.7))
            for row in judged(m, "claude", share, ord(m) + 9, run=f"{m}-again")
        ),
    ]
    runs = [
        {"run": f"{m}{end}", "benchmark": "bench", "judge": j}
        for m in "ab"
        for end, j in (("-run", "gpt"), ("-again", "claude"))
    ]
    (found,) = of_kind(es.audit(outcomes(rows, runs)), "versions")
    assert {each.treatment for each in found.shifts} == {"with judge gpt alone", "with judge claude alone"}
    assert found.effect == "flips"


def test_runs_far_apart_in_time_are_stale_and_the_setting_can_be_accepted():
    rows = [*rows_of("a", scores(50, 0.7)), *rows_of("b", scores(50, 0.5, 1))]
    day = {"a": "2024-01-05", "b": "2025-03-01"}
    runs = [
        {"run": f"{m}-run", "benchmark": "bench", "timestamp": datetime.fromisoformat(f"{day[m]}T00:00Z")} for m in "ab"
    ]
    (found,) = of_kind(es.audit(outcomes(rows, runs)), "versions")
    assert "421 days apart" in found.text
    shots = [{"run": f"{m}-run", "benchmark": "bench", "n_shots": n} for m, n in (("a", 0), ("b", 5))]
    (found,) = of_kind(es.audit(outcomes(rows, shots)), "versions")
    assert found.shifts[0].n_lost == 1
    assert not of_kind(es.audit(outcomes(rows, shots), accept=["n_shots"]), "versions")


def test_simulated_rutbench_holds(tmp_path):
    write_rutbench(tmp_path / "simulated", models=["GLM-5.1", "GPT-5.4"], seed=0)
    data = es.read(tmp_path / "simulated")
    found = es.audit(data)
    assert found.n_flipping == 0
    (seen,) = of_kind(found, "harness errors")
    assert seen.n_rows == (data.outcomes.filter(metric=seen.metric)["status"] == "error").sum()


def test_runs_of_which_nothing_is_recorded_are_not_checked():
    rows = [*rows_of("a", scores(50, 0.7)), *rows_of("b", scores(50, 0.5, 1))]
    found = es.audit(outcomes(rows, [{"run": f"{m}-run", "benchmark": "bench"} for m in "ab"]))
    assert any(each.kind == "versions" and "do not say how" in each.reason for each in found.unchecked)


def test_comparisons_with_few_items_in_common_are_counted():
    rows = [*rows_of("a", scores(50, 0.7)), *rows_of("b", scores(50, 0.5, 1)), *rows_of("c", scores(5, 0.5, 2))]
    (found,) = of_kind(es.audit(outcomes(rows)), "too small")
    assert found.text.startswith("2 of 3 comparisons cannot be made")


def test_few_clusters_are_told():
    rows = [
        *rows_of("a", scores(50, 0.7), factors={"passage": [f"p{i % 3}" for i in range(50)]}),
        *rows_of("b", scores(50, 0.5, 1), factors={"passage": [f"p{i % 3}" for i in range(50)]}),
    ]
    found = es.audit(outcomes(rows), cluster="passage")
    assert any("3 clusters of passage" in each.text for each in of_kind(found, "too small"))
    assert found.n_pairs == 1
    assert found.metrics[0].clusters == ("passage",)


# --- votes ---


def test_votes_against_one_opponent_count_as_scores():
    draw = np.random.default_rng(0)
    votes = [
        {
            "run": f"{model}-run",
            "battle": str(i),
            "item": f"q{i}",
            "model_a": "reference" if i % 2 else model,
            "model_b": model if i % 2 else "reference",
            "outcome": ("b" if i % 2 else "a") if draw.random() < share else ("a" if i % 2 else "b"),
            "status": "scored",
        }
        for model, share in (("x", 0.7), ("y", 0.4), ("z", 0.3))
        for i in range(120)
    ]
    found = es.audit(EvalData(comparisons=frame_from_rows(votes, "comparisons")))
    assert [(each.metric, each.n_models, each.n_items) for each in found.metrics] == [
        ("preference to reference", 3, 120)
    ]
    won = sum((v["outcome"] == "b") == (v["model_b"] == "x") for v in votes[:120]) / 120
    assert won > 0.5
    assert found.n_pairs == 3


def visits(n: tuple[int, int], rates: tuple[float, float] = (0.4, 0.6)) -> es.EvalData:
    rng = np.random.default_rng(0)
    rows = [
        (f"{name}{i}", name, float(rng.random() < rate))
        for name, size, rate in zip(("old", "new"), n, rates, strict=True)
        for i in range(size)
    ]
    return es.from_frame(
        pl.DataFrame(rows, schema=["user_id", "model", "solved"], orient="row"),
        item="user_id",
        model="model",
        score="solved",
    )


def test_users_of_two_arms_are_compared_and_their_split_is_checked() -> None:
    even = es.audit(visits((300, 310)))
    assert even.n_pairs == 1
    assert not even.findings
    assert "item sets" in even.passed
    uneven = es.audit(visits((5000, 5400)))
    [found] = uneven.findings
    assert (found.kind, found.shifts) == ("item sets", ())
    assert "new has 5,400 users and old 5,000; if 1:1 was meant, that is no chance" in found.text
    assert "different items" not in uneven.summary()
    assert "10,400 users" in uneven.document().scope
    [few] = es.audit(visits((7, 8))).findings
    assert "fewer than 10 users a side" in few.text


def test_numbered_rows_that_are_no_pairs_are_audited_as_they_are_compared() -> None:
    rows = pl.DataFrame({"model": ["old"] * 300 + ["new"] * 310, "solved": ([0, 1, 1] * 204)[:610]})
    data = es.from_frame(rows, item="#row", model="model", score="solved")
    found, two = es.audit(data), es.compare(data, "old", "new")
    assert two.verdict != "invalid"
    assert (found.n_pairs, found.n_flipping, [each.kind for each in found.findings]) == (1, 0, [])
