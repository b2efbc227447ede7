"""What the audit finds in published results, checked by hand from the raw tables."""

import polars as pl
import pytest

import evalstats as es


def paired(wide: pl.DataFrame, first: str, second: str) -> float:
    both = wide.select(pl.col(first).cast(pl.Float64), pl.col(second).cast(pl.Float64)).drop_nulls()
    return float((both[first] - both[second]).mean())


@pytest.mark.slow
def test_mmlu_pro_hangs_on_answers_that_could_not_be_read(shared_data):
    path = shared_data / "mmlu_pro" / "predictions_long.parquet"
    raw = pl.read_parquet(path).with_columns(pl.col("model").cast(pl.String))
    found = es.audit(es.read(path))
    # They are multiple choice, so the finding on guesses says more of the same rows, and stands alone.
    assert not any(each.kind == "missing scores" for each in found.findings)
    seen = next(each for each in found.findings if each.kind == "guessed answers" and each.shifts)
    assert (seen.n_rows, seen.effect) == (raw["correct"].null_count(), "flips")
    lacking = (
        raw.group_by("model").agg(pl.col("correct").is_null().mean().alias("share")).sort("share", descending=True)
    )
    assert seen.models[:3] == tuple(lacking["model"].head(3).to_list())
    wrong = next(each for each in seen.shifts if each.treatment == "counted as wrong")
    filled = raw.with_columns(pl.col("correct").cast(pl.Float64).fill_null(0.0))
    tables = [frame.pivot("model", index="question_id", values="correct") for frame in (raw, filled)]
    for flip in wrong.flips:
        before, after = (paired(table, flip.first, flip.second) for table in tables)
        assert (flip.before.estimate, flip.after.estimate) == pytest.approx((before, after))
        assert before > 0
    sets = next(each for each in found.findings if each.kind == "item sets")
    in_all = (raw.group_by("question_id").len()["len"] == raw["model"].n_unique()).sum()
    assert f"all share {in_all:,} of {raw['question_id'].n_unique():,}" in sets.text


def test_wildbench_mixes_two_judges(shared_data):
    path = shared_data / "wildbench" / "scores_long.parquet"
    found = es.audit(es.read(path))
    assert any(each.kind == "versions" and "judge" in each.text and each.effect == "flips" for each in found.findings)


def test_alpaca_eval_holds_one_file_under_two_names(shared_data, tmp_path):
    frame = pl.read_parquet(shared_data / "alpaca_eval" / "annotations_long.parquet")
    names = frame["generator_2"].unique().sort().to_list()
    # The two among twenty others: all 103 take seconds.
    some = {name for name in names if "falcon" in name}.union(names[::5])
    frame.filter(pl.col("generator_2").is_in(some)).write_parquet(tmp_path / "annotations_long.parquet")
    found = es.audit(es.read(tmp_path / "annotations_long.parquet"))
    copies = [each for each in found.findings if each.kind == "repeated runs"]
    assert any(
        "falcon-40b-instruct" in each.models and any("falcon-7b" in run for run in each.examples) for each in copies
    )


def test_the_gain_of_tenacious_bench_hangs_on_its_dimensions(shared_data):
    """By hand: 7 dimensions that end alike each, and 9 pairs of margins among 43; all errors of the baseline are ties."""
    path = shared_data / "tenacious" / "ablations" / "held_out_traces.jsonl"
    found = es.audit(es.read(path))
    dependence = next(each for each in found.findings if each.kind == "dependence")
    assert dependence.effect == "flips"
    assert "dimension (7 levels, design effect 6.7)" in dependence.text
    (flip,) = dependence.shifts[0].flips
    assert (flip.verdict_before, flip.verdict_after) == ("better", "inconclusive")
    own = es.compare(es.read(path), "baseline", "trained", metric="correct", cluster="dimension")
    assert (flip.after.conf_low, flip.after.conf_high) == pytest.approx((own.conf_low, own.conf_high))
    copies = next(each for each in found.findings if each.kind == "near-duplicate items")
    raw = pl.read_ndjson(path)
    sides = [(f"{critic}_chosen_score", f"{critic}_rejected_score") for critic in ("baseline", "trained")]
    margins = raw.select(*((pl.col(one) - pl.col(other)).round(9).alias(one) for one, other in sides))
    assert f"43 items have only {margins.unique().height} different rows of scores" in copies.text
    ties = (raw["baseline_chosen_score"] == raw["baseline_rejected_score"]).sum()
    assert any(f"{ties} errors of baseline are exact ties" in note.text for note in found.notes)
