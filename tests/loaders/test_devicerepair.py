"""Device-repair results: four criteria on a scale that must be said, in two languages of one question."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from evalstats.errors import InputError
from evalstats.loaders.column_map import ColumnMap
from evalstats.loaders.devicerepair import CRITERIA
from evalstats.loaders.registry import read
from evalstats.schema.data import EvalData
from tests.loaders.test_harmamp import Row, said, write


def row(question: object = "ph_0123", language: str = "bn", **changes: object) -> Row:
    """One answer of the suggested form; `changes` replace or add columns."""
    content: Row = {
        "question_id": question,
        "domain": "phone_repair",
        "language": language,
        "model": "toy-1",
        "correctness": 3,
        "completeness": 2,
        "practicality": 4,
        "safety": 5,
        "judge": "gpt-x",
        "score_min": 1,
        "score_max": 5,
    }
    return content | changes


def load(tmp_path: Path, *rows: Row, name: str = "x.jsonl", **options: Any) -> EvalData:
    return read(write(tmp_path / name, list(rows)), **options)


def without(content: Row, *names: str) -> Row:
    return {name: value for name, value in content.items() if name not in names}


def test_metrics_have_the_scale_and_correctness_is_the_headline(tmp_path: Path) -> None:
    metrics = load(tmp_path, row()).metrics
    assert metrics["metric"].to_list() == list(CRITERIA)
    assert metrics.select("kind", "low", "high", "unit", "higher_is_better").unique().rows() == [
        ("bounded", 1.0, 5.0, "points", True)
    ]
    assert metrics.filter(pl.col("primary"))["metric"].to_list() == ["correctness"]


def test_every_run_says_what_is_assumed(tmp_path: Path) -> None:
    data = load(tmp_path, row(), row("q2", model="toy-2", simulated="by hand"))
    told = (
        "device-repair publishes no format of results: columns are as evalstats assumes; correctness is the "
        "headline, since no mean over the criteria is defined"
    )
    assert data.runs.sort("model").select("note", "simulated").rows() == [(told, None), (told, "by hand")]
    assert said(data, "note") == told


def test_both_languages_of_a_question_are_one_cluster_and_can_be_compared(tmp_path: Path) -> None:
    import evalstats as es

    rows = [
        row(f"q{n:02d}", language, model=model, correctness=1 + (n + place + len(language)) % 5)
        for n in range(30)
        for language in ("en", "bn")
        for place, model in enumerate(("a", "b"))
    ]
    data = load(tmp_path, *rows)
    result = es.compare(data, "a", "b")
    assert (result.n_items, result.n_clusters) == (60, 30)
    languages = es.compare(data.where(model="a"), "en", "bn", contrast="language")
    assert languages.n_items == 30


def test_a_missing_criterion_is_missing_or_unscored_and_never_low(tmp_path: Path) -> None:
    data = load(
        tmp_path, without(row("q1", safety=None), "practicality"), without(row("q2", correctness="nan"), "practicality")
    )
    assert sorted(data.metrics["metric"]) == ["completeness", "correctness", "safety"]
    assert "there is no column for practicality: this criterion is missing, not 0" in said(data)
    empty = data.outcomes.filter(pl.col("score").is_null()).select("item", "metric", "status", "status_reason").rows()
    assert empty == [
        ("q1", "safety", "unscored", "there is no score"),
        ("q2", "correctness", "unscored", "there is no score"),
    ]
    assert data.runs.select("n_scored", "n_error", "n_unscored").row(0) == (4, 0, 2)


def test_failures_of_judge_and_model_outrank_scores(tmp_path: Path) -> None:
    data = load(
        tmp_path, row("q1", judge_error="refused to judge"), row("q2", error="timeout"), row("q3", judge_error="none")
    )
    found = data.outcomes.filter(metric="safety").select("status", "score", "status_reason", "value_raw").rows()
    assert found == [
        ("unscored", None, "the judge failed: refused to judge", "5"),
        ("error", None, "timeout", "5"),
        ("scored", 5.0, None, None),
    ]


@pytest.mark.parametrize("value", [7, 0, -1e300, "good", "4/5", "z" * 10**5, [3, 4]])
def test_a_score_that_cannot_be_on_the_scale_is_unscored(tmp_path: Path, value: object) -> None:
    data = load(tmp_path, row("q1", safety=value), row("q2"))
    bad = data.outcomes.filter(item="q1", metric="safety").row(0, named=True)
    assert (bad["score"], bad["status"]) == (None, "unscored")
    assert len(bad["status_reason"]) < 150
    assert data.runs.select("n_scored", "n_error", "n_unscored").row(0) == (7, 0, 1)


def test_the_ends_of_the_scale_are_on_it(tmp_path: Path) -> None:
    data = load(tmp_path, row("q1", safety=1, correctness=5), row("q2", safety=5.0, correctness=1.0))
    assert data.runs["n_scored"].item() == 8


@pytest.mark.parametrize(
    "second", [{"score_min": 0, "score_max": 1}, {"score_min": None, "score_max": None}, {"score_max": "five"}]
)
def test_scales_that_do_not_agree_are_refused(tmp_path: Path, second: Row) -> None:
    with pytest.raises(InputError, match="scores are on two scales"):
        load(tmp_path, row("q1"), row("q2", **second))


def test_a_scale_is_its_numbers_and_no_text(tmp_path: Path) -> None:
    lows = "".join(f"q{n},d,en,m,3,{low},5\n" for n, low in enumerate(("1", "1.0")))
    path = tmp_path / "x.csv"
    path.write_text(f"question_id,domain,language,model,safety,score_min,score_max\n{lows}")
    assert read(path).metrics.filter(metric="safety").select("low", "high").row(0) == (1.0, 5.0)
    with pytest.raises(InputError, match="score_min is 5 and score_max 1; the maximum must be above the minimum"):
        load(tmp_path, row("q1", score_min=5, score_max=1))


def test_without_a_scale_there_are_no_bounds_and_it_is_said(tmp_path: Path) -> None:
    bare = [without(row(f"q{n}", safety=n % 2), "score_min", "score_max") for n in range(4)]
    data = load(tmp_path, *bare)
    assert data.metrics.select("kind", "low", "high", "unit").unique().rows() == [("continuous", None, None, None)]
    assert "no scale is given for correctness, completeness, practicality, safety" in said(data)
    assert "write them in columns score_min and score_max" in said(data)


def test_criteria_of_yes_and_no_are_binary(tmp_path: Path) -> None:
    share: Row = {"score_min": 0, "score_max": 1, "correctness": 1, "completeness": 0.5, "practicality": 0, "safety": 1}
    found = dict(load(tmp_path, row("q1", **share)).metrics.select("metric", "kind").rows())
    assert found == {"correctness": "binary", "completeness": "bounded", "practicality": "binary", "safety": "binary"}


@pytest.mark.parametrize("name", ["x.jsonl", "x.csv", "x.parquet"])
def test_columns_of_other_names_are_those_of_a_table_of_one_s_own(tmp_path: Path, name: str) -> None:
    own = {"question_id": "qid", "language": "tongue", "model": "llm", **{each: f"is_{each}" for each in CRITERIA}}
    rows = [row("q1", "en"), row("q1", "bn", safety=None), row("q2", "en", model="toy-2")]
    path = write(tmp_path / f"own_{name}", [{own.get(key, key): value for key, value in each.items()} for each in rows])
    options = [
        "item=qid",
        "variant=tongue",
        "model=llm",
        f"score={','.join(own[each] for each in CRITERIA)}",
        "scale=1..5",
    ]
    data = read(path, column_map=ColumnMap.from_options(options), strict=True)
    plain = load(tmp_path, *rows, name=name)
    columns = ("model", "item", "variant", "metric", "score")
    named = plain.outcomes.with_columns(metric="is_" + pl.col("metric")).select(columns).sort(columns)
    assert data.outcomes.select(columns).sort(columns).equals(named)


@pytest.mark.parametrize("seed", range(3))
def test_the_order_of_rows_and_columns_changes_nothing_but_places(tmp_path: Path, seed: int) -> None:
    rows = [
        row(f"q{n}", language, model=model, safety=1 + n % 5)
        for n in range(9)
        for language in ("en", "bn")
        for model in "ab"
    ]
    shuffled = [rows[place] for place in np.random.default_rng(seed).permutation(len(rows))]
    turned = [dict(reversed(each.items())) for each in shuffled]
    plain, other = (
        load(tmp_path, *each, name=f"{name}.jsonl")
        .outcomes.drop("run", "locator")
        .sort("model", "item", "variant", "metric")
        for name, each in (("plain", rows), ("other", turned))
    )
    assert other.select(plain.columns).equals(plain)


def test_repeated_rows_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"share their key with another row.*repetitions by 'trial'"):
        load(tmp_path, row("q"), row("q"))
    with pytest.raises(InputError, match="none of its rows could be read"):
        load(tmp_path, without(row(), *CRITERIA), format="devicerepair")
    judges = load(tmp_path, row("q", judge="a"), row("q", judge="b"))
    assert judges.outcomes.filter(metric="safety")["judge"].to_list() == ["a", "b"]


def test_a_language_that_is_not_told_is_no_variant(tmp_path: Path) -> None:
    data = load(tmp_path, without(row("q1"), "language"), format="devicerepair")
    assert data.outcomes["variant"].unique().to_list() == [""]
    assert "language" not in data.factor_names()


def test_counts_of_a_large_file_agree_with_a_plain_count(tmp_path: Path) -> None:
    rows = [
        row(
            f"q{n:04d}",
            language,
            model=model,
            correctness=1 + n % 5,
            safety=None if n % 7 == 0 else 9 if n % 11 == 0 else 4,
        )
        for n in range(1_000)
        for language in ("en", "bn")
        for model in ("a", "b")
    ]
    path = write(tmp_path / "x.jsonl", rows)
    data = read(path, strict=True)
    plain = [json.loads(line) for line in path.read_text().splitlines()]
    total = {model: sum(each["correctness"] for each in plain if each["model"] == model) for model in ("a", "b")}
    found = data.outcomes.filter(metric="correctness").group_by("model").agg(pl.col("score").sum())
    assert dict(found.rows()) == total
    states = Counter(
        "scored" if each["safety"] is not None and 1 <= each["safety"] <= 5 else "unscored" for each in plain
    )
    assert dict(data.outcomes.filter(metric="safety").group_by("status").len().rows()) == dict(states)
