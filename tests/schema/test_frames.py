"""A table given where data are expected: what it needs, what is filled in, and what the data then show of themselves."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from typer.testing import CliRunner

import evalstats as es
from evalstats import datasets
from evalstats.cli.main import app
from evalstats.errors import EvalStatsWarning, InputError


def table(scores: np.ndarray, **factors: object) -> pd.DataFrame:
    """Forty items of two models."""
    return pd.DataFrame({"item": [*range(40)] * 2, "score": scores, "model": ["a"] * 40 + ["b"] * 40, **factors})


@pytest.mark.parametrize("kind", ["whole numbers", "truth values", "shares", "anything"])
def test_a_pandas_table_in_glossary_names_is_what_from_frame_makes_of_it(kind: str) -> None:
    rng = np.random.default_rng(0)
    scores = {
        "whole numbers": rng.integers(0, 2, 80),
        "truth values": rng.random(80) < 0.5,
        "shares": np.where(np.arange(80) == 3, np.nan, rng.random(80)),
        "anything": rng.normal(0, 3, 80),
    }[kind]
    frame = table(scores, passage=[f"p{i // 4}" for i in range(40)] * 2)
    here = es.compare(frame, "a", "b")
    there = es.compare(es.from_frame(frame, item="item", score="score", model="model"), "a", "b")
    assert here.clusters == there.clusters == ("passage",)
    assert (here.verdict, here.rows) == (there.verdict, there.rows)


def test_columns_of_other_names_are_found_and_said() -> None:
    frame = table(np.arange(80) % 3 % 2)
    renamed = frame.rename(columns={"item": "question_id", "score": "correct", "model": "arm"})
    with pytest.warns(
        es.EvalStatsWarning, match=r"from_frame\(table, item='question_id', score='correct', model='arm'\)"
    ):
        found = es.compare(renamed, "a", "b")
    assert found.rows == es.compare(frame, "a", "b").rows
    with pytest.warns(es.EvalStatsWarning, match="model='@table'"):
        assert es.score(frame.head(40).drop(columns="model")).name == "table"


def test_a_path_is_read_and_told_as_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = pl.from_pandas(table(np.arange(80) % 3 % 2)).rename({"item": "question_id"})
    frame.write_csv(tmp_path / "t.csv")
    monkeypatch.chdir(tmp_path)
    for path in ("t.csv", tmp_path / "t.csv"):
        with pytest.warns(es.EvalStatsWarning, match=r"t\.csv: read with item='question_id'"):
            found = es.compare(path, "a", "b")
        assert found.rows == es.compare(es.read("t.csv"), "a", "b").rows
        assert found.settings is not None
        assert found.settings.files == {"data": ("t.csv",)}
    assert CliRunner().invoke(app, ["ingest", "t.csv", "--store", "store"]).exit_code == 0
    assert es.compare(tmp_path / "store", "a", "b").rows == found.rows
    with pytest.raises(InputError, match="no such file"):
        es.compare("u.csv", "a", "b")


def test_rows_in_a_list_are_a_table_and_two_lists_are_named_in_a_dict() -> None:
    frame = pl.from_pandas(table(np.arange(80) % 3 % 2))
    assert es.compare(frame.to_dicts(), "a", "b").rows == es.compare(frame, "a", "b").rows
    scores = frame["score"].to_list()
    first, second = scores[:40], scores[40:]
    with pytest.raises(InputError, match=r'\{"old": first, "new": second\}') as caught:
        es.compare(first, second)  # pyright: ignore[reportArgumentType]
    assert "0, 1" not in str(caught.value)
    with pytest.warns(EvalStatsWarning, match="item='#row', models=\\['old', 'new'\\]"):
        found = es.compare({"old": first, "new": second}, "old", "new")
    assert found.n_items == 40


def test_paths_in_a_list_or_a_dict_are_read_and_of_two_alone_each_is_a_side(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    frame = pl.from_pandas(table(np.arange(80) % 3 % 2)).with_columns(pl.col("score").cast(pl.Float64))
    for name, path in (("b", "first.csv"), ("a", "second.csv")):
        frame.filter(model=name).write_csv(path)
    paths = ["first.csv", "second.csv"]
    both = es.compare(frame, "b", "a")
    assert [es.compare(paths).rows, es.compare(*paths).rows, es.compare(tuple(map(Path, paths))).rows] == [
        both.rows
    ] * 3
    assert [row.name for row in es.leaderboard(paths).rows] == [row.name for row in es.leaderboard(frame).rows]
    named = {"new": "second.csv", "old": es.read("first.csv")}
    found = es.compare(named)
    assert (found.baseline.name, found.candidate.name, found.estimate) == ("old", "new", both.estimate)
    assert "evalstats compare first.csv second.csv" in es.compare(*paths).to_markdown()
    with pytest.raises(InputError, match="'old' stands for 2 systems"):
        es.compare({"old": es.from_frame(frame), "new": "second.csv"})
    with pytest.raises(InputError, match="there is no such file"):
        es.compare(["first.csv", "nowhere.csv"])


@pytest.mark.parametrize("of", [list, np.array, pl.Series, pd.Series])
def test_scores_alone_are_those_of_one_system(of: Callable[[list[int]], Any]) -> None:
    with pytest.warns(EvalStatsWarning, match="item='#row'"):
        found = es.score(of([1, 0, 1, 1] * 10))
    assert (found.n_items, found.estimate) == (40, 0.75)


def test_a_table_whose_columns_are_not_sure_is_told_the_calls_that_may_fit() -> None:
    frame = table(np.arange(80) % 2).rename(columns={"item": "thing", "score": "points", "model": "arm"})
    with pytest.raises(
        InputError,
        match=r"which columns.*has thing, points, arm\. One of these may fit:\n    evalstats\.from_frame\(table, ",
    ):
        es.leaderboard(frame)


def test_data_show_themselves_in_some_ten_lines() -> None:
    lines = repr(datasets.tenacious_held_out()).splitlines()
    assert lines[1].split() == ["models", "baseline,", "trained"]
    assert repr(es.EvalData()) == "EvalData: empty"
    many = pl.DataFrame({"item": ["i"] * 60, "score": [1.0] * 60, "model": [f"m\x1b[31m{i}" for i in range(60)]})
    shown = repr(es.from_frame(many, item="item", score="score", model="model"))
    assert " more" in shown
    assert "\x1b" not in shown
    assert len(shown.splitlines()) <= 10
    assert max(map(len, shown.splitlines())) <= 80


@pytest.mark.parametrize("dtype", ["Sparse[int]", "Sparse[float]", "Sparse[bool]"])
def test_sparse_columns_of_pandas_are_read_as_plain_ones(dtype: str) -> None:
    frame = table(np.arange(80) % 2)
    thin = frame.assign(score=frame["score"].astype(dtype))
    for given in (frame, thin):
        data = es.from_frame(given, item="item", score="score", model="model")
        assert data.outcomes["score"].to_list() == [0.0, 1.0] * 40
    assert es.compare(thin, "a", "b").rows == es.compare(frame, "a", "b").rows


@pytest.mark.filterwarnings("error")
def test_a_lazy_table_is_read_without_a_warning() -> None:
    lazy = pl.LazyFrame({"item": [1], "score": [1.0], "model": ["a"]})
    assert es.from_frame(lazy, item="item", score="score", model="model").models() == ("a",)


def test_tables_of_known_formats_are_read_as_their_files_are() -> None:
    """And need no word."""
    votes = pl.DataFrame(
        {"model_a": ["x", "y"] * 30, "model_b": ["y", "x"] * 30, "winner": ["model_a"] * 40 + ["tie"] * 20}
    )
    named = es.arena(es.from_votes(votes))
    assert [row.estimate for row in es.arena(votes).rows] == [row.estimate for row in named.rows]
    published = pl.DataFrame({"model": ["a", "b", "c"], "accuracy": [0.8, 0.7, 0.75], "stderr": [0.01, 0.01, 0.01]})
    assert [row.name for row in es.leaderboard(published).rows] == ["a", "c", "b"]


def test_bytes_in_a_table_are_no_results() -> None:
    frame = pl.DataFrame(
        {
            "question_id": [*range(20)] * 2,
            "system_name": ["a"] * 20 + ["b"] * 20,
            "correct": [1, 0] * 20,
            "image": [b"x"] * 40,
            "nested": [[{"bytes": b"x", "path": "p"}]] * 40,
        }
    )
    with pytest.warns(es.EvalStatsWarning, match="question_id"):
        assert es.compare(frame, "a", "b").n_items == 20


@pytest.mark.parametrize("question", ["score", "leaderboard", "scenarios", "frontier"])
def test_a_metric_that_is_asked_for_is_known_as_the_score(question: str) -> None:
    rng = np.random.default_rng(0)
    frame = pl.DataFrame(
        {
            "qid": [*range(40)] * 2,
            "model": ["a"] * 40 + ["b"] * 40,
            "tone_x": rng.random(80),
            "zeta": rng.random(80),
            "cost_usd": rng.random(80),
            "scenario": ["x", "y"] * 40,
        }
    )
    with pytest.warns(es.EvalStatsWarning, match="score='zeta'"):
        getattr(es, question)(frame, metric="zeta")


@pytest.mark.parametrize("question", ["score", "leaderboard", "audit", "frontier", "overview"])
def test_a_warning_points_at_the_line_of_whoever_asked(question: str) -> None:
    rows = [(f"q{i}", model, i % 2, 0.1) for i in range(12) for model in "ab"]
    frame = pl.DataFrame(rows, schema=["question_id", "model", "correct", "cost_usd"], orient="row")
    with pytest.warns(es.EvalStatsWarning, match="question_id") as told:
        getattr(es, question)(frame)
    assert {each.filename for each in told} == {__file__}
