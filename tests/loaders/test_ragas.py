"""Ragas: tables worked out by hand, scores that Ragas could not give, and the names that its columns have had."""

import csv
import json
from itertools import product
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from evalstats import compare, score
from evalstats import read as read_files
from evalstats.analysis.score.result import Scores
from evalstats.errors import UnreadableFileError
from evalstats.loaders.base import Source, read_head, with_digest
from evalstats.loaders.formats.ragas import FORMAT
from evalstats.loaders.registry import read_source, sniffed
from evalstats.schema.data import EvalData
from tests.loaders.trees import everything_said as told


def row(index: int, faithfulness: object = 0.5, relevancy: object = 0.75, **changes: Any) -> dict[str, Any]:
    return {
        "user_input": f"question {index}",
        "retrieved_contexts": ["one", "two\nlines"],
        "response": "an answer, with a comma",
        "reference": f"answer {index}",
        "faithfulness": faithfulness,
        "answer_relevancy": relevancy,
        **changes,
    }


def write_csv(path: Path, rows: list[dict[str, Any]], delimiter: str = ",") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, list(rows[0]), delimiter=delimiter)
        writer.writeheader()
        writer.writerows(rows)
    return path


def write_lines(path: Path, rows: list[Any]) -> Path:
    path.write_text("".join(f"{one if isinstance(one, str) else json.dumps(one)}\n" for one in rows), encoding="utf-8")
    return path


def load(path: Path) -> EvalData:
    return read_source(FORMAT, with_digest(Source(path=path)))


def test_no_metric_of_several_is_the_headline(tmp_path: Path) -> None:
    """Faithfulness has one score and the others two: each is shown, and named where it rests on few items."""
    path = write_csv(tmp_path / "gpt-x.csv", [row(0), row(1, "", 1.0)])
    shown = score(load(path))
    assert isinstance(shown, Scores)
    assert {each.metric: each.n_items for each in shown.rows} == {"faithfulness": 1, "answer_relevancy": 2}
    few = next(note.text for note in shown.document().notes if note.text.startswith("Fewer"))
    assert few.endswith(": answer_relevancy (2) and faithfulness (1)")


def test_rows_of_a_table(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "gpt-x.csv", [row(0), row(1, "", 1.0)])
    found = sniffed(read_head(path))[0]
    assert found is not None
    assert (found[0].name, found[1].confidence) == ("ragas", 0.95)
    data = load(path)
    assert data.outcomes.select("model", "metric", "score", "status", "status_reason", "trial", "locator").rows() == [
        ("gpt-x", "faithfulness", 0.5, "scored", None, 0, "line 2"),
        ("gpt-x", "answer_relevancy", 0.75, "scored", None, 0, "line 2"),
        ("gpt-x", "faithfulness", None, "unscored", "Ragas gave no score (NaN)", 0, "line 3"),
        ("gpt-x", "answer_relevancy", 1.0, "scored", None, 0, "line 3"),
    ]
    (run,) = data.runs.to_dicts()
    assert (run["harness"], run["n_scored"], run["n_error"], run["n_unscored"]) == ("Ragas", 3, 0, 1)
    assert data.metrics.select("metric", "kind", "higher_is_better", "primary").rows() == [
        ("faithfulness", "bounded", True, False),
        ("answer_relevancy", "bounded", True, False),
    ]
    assert [problem.message.partition(":")[0] for problem in data.problems] == [
        "1 scores are empty or NaN",
        "the file does not name its model; it is called 'gpt-x' after the file. Rename the file to say otherwise",
    ]


def test_csv_lines_and_list_hold_the_same(tmp_path: Path) -> None:
    rows = [row(0), row(1, None, float("nan")), row(0, 1, 0)]
    cells = [{key: "" if value is None else value for key, value in one.items()} for one in rows]
    (tmp_path / "z.json").write_text(json.dumps(rows))
    paths = [write_csv(tmp_path / "x.csv", cells), write_lines(tmp_path / "y.jsonl", rows), tmp_path / "z.json"]
    for path in paths:
        found = sniffed(read_head(path))[0]
        assert found is not None
        assert found[0].name == "ragas"
    tables = [load(path).outcomes.select("item", "trial", "metric", "score", "status") for path in paths]
    assert tables[0].equals(tables[1])
    assert tables[0].equals(tables[2])
    assert tables[0]["trial"].to_list() == [0, 0, 0, 0, 1, 1]


def test_names_before_0_2(tmp_path: Path) -> None:
    old = {"question": "q", "contexts": "['c']", "answer": "a", "ground_truth": "t", "context_recall": 1.0}
    data = read_files(write_csv(tmp_path / "x.csv", [old, {**old, "question": "r", "context_recall": 0.0}]))
    assert data.outcomes.select("metric", "score").rows() == [("context_recall", 1.0), ("context_recall", 0.0)]


def test_decimal_commas_between_semicolons(tmp_path: Path) -> None:
    rows = [{"question": "q", "faithfulness": "0,71", "answer_relevancy": "1"}]
    data = read_files(write_csv(tmp_path / "x.csv", rows, ";"))
    assert data.outcomes.select("score", "value_raw").rows() == [(0.71, '"0,71"'), (1.0, None)]


def test_columns_are_metrics_factors_or_texts(tmp_path: Path) -> None:
    more = {"noise_sensitivity(mode=relevant)": 0.25, "my_critic": 1, "latency_s": 3.5, "topic": "law", "tokens": 12}
    data = load(
        write_csv(tmp_path / "x.csv", [{"": i, **row(i), "synthesizer_name": "single", **more} for i in range(3)])
    )
    metrics = {one["metric"]: one["higher_is_better"] for one in data.metrics.to_dicts()}
    assert metrics == {
        "faithfulness": True,
        "answer_relevancy": True,
        "noise_sensitivity(mode=relevant)": False,
        "my_critic": True,
    }
    first = data.outcomes.row(0, named=True)
    assert (first["topic"], first["synthesizer_name"], first["tokens"]) == ("law", "single", "12")
    assert "response" not in data.outcomes.columns


def test_results_of_an_experiment(tmp_path: Path) -> None:
    def held(value: object) -> dict[str, Any]:
        return {"user_input": f"q {value}", "response": "a", "tone": f"MetricResult(value={value}, reason='x, (y)')"}

    path = write_csv(tmp_path / "x.csv", [held(0.5), held("pass"), held("fail"), held("'maybe'"), held(None)])
    assert FORMAT.sniff(read_head(path)) is not None
    data = load(path)
    assert data.outcomes.select("score", "status").rows() == [
        (0.5, "scored"),
        (1.0, "scored"),
        (0.0, "scored"),
        (None, "unscored"),
        (None, "unscored"),
    ]
    assert data.outcomes["value_raw"][3] == "\"MetricResult(value='maybe', reason='x, (y)')\""


def test_conversations_are_named_by_what_the_user_said(tmp_path: Path) -> None:
    def talk(answer: str) -> dict[str, Any]:
        messages = [{"content": "hi", "type": "human"}, {"content": answer, "type": "ai"}]
        return {"user_input": messages, "reference": "r", "agent_goal_accuracy": 1.0}

    a, b = (load(write_lines(tmp_path / f"{name}.jsonl", [talk(name)])) for name in "ab")
    assert a.outcomes["item"].to_list() == b.outcomes["item"].to_list()
    written = load(write_csv(tmp_path / "c.csv", [talk("c")]))
    assert "1 conversations are text with the answers in it" in written.problems[0].message


def test_equal_questions_with_other_references_are_other_items(tmp_path: Path) -> None:
    found = load(write_csv(tmp_path / "x.csv", [row(0), row(0, reference="another")])).outcomes
    assert found["item"].n_unique() == 2
    assert found["trial"].unique().to_list() == [0]


def test_a_column_names_the_models(tmp_path: Path) -> None:
    data = load(write_csv(tmp_path / "x.csv", [row(0, model="a"), row(0, model="b")]))
    assert data.runs["model"].to_list() == ["a", "b"]
    assert data.outcomes["item"].n_unique() == 1
    assert data.problems == ()


def test_rows_of_another_setting_are_no_repetitions(tmp_path: Path) -> None:
    def table(**settings: list[Any]) -> EvalData:
        rows = [
            {"question": f"q{k}", **dict(zip(settings, values, strict=True)), "faithfulness": 0.5 + place / 4}
            for k in range(6)
            for place, values in enumerate(product(*settings.values()))
        ]
        return load(write_csv(tmp_path / "x.csv", rows))

    of_two = table(retriever=["bm25", "dense"])
    assert of_two.outcomes.group_by("model").agg(pl.col("score").mean()).sort("model").rows() == [
        ("bm25", 0.5),
        ("dense", 0.75),
    ]
    sizes = table(chunk_size=[256, 512])
    assert set(sizes.outcomes["metric"]) == {"faithfulness"}
    assert sizes.outcomes["variant"].unique().sort().to_list() == ["256", "512"]
    said = compare(sizes, "256", "512", contrast="chunk_size")
    assert said.estimate == 0.25
    crossed = table(chunk_size=[256, 512], top_k=[3, 5])
    assert "though they differ in chunk_size, top_k; to compare two: --contrast chunk_size" in told(crossed)


def test_words_for_scores_are_unscored_and_kept(tmp_path: Path) -> None:
    rows = [row(0, "error", [1]), row(1, True, {"value": 0.5}), row(2, float("inf"), -0.5)]
    data = load(write_lines(tmp_path / "x.jsonl", rows))
    assert data.outcomes.select("score", "status", "value_raw").rows() == [
        (None, "unscored", '"error"'),
        (None, "unscored", "[1]"),
        (1.0, "scored", None),
        (0.5, "scored", '{"value": 0.5}'),
        (None, "unscored", "Infinity"),
        (-0.5, "scored", None),
    ]


def test_bad_rows_are_counted_named_and_left_out(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "x.csv", [row(0), row(1, user_input="")])
    with path.open("a") as stream:
        stream.write("question 3,too few\n")
    data = load(path)
    assert data.outcomes.height == 2
    assert {problem.message for problem in data.problems if problem.severity == "error"} == {
        "1 of 3 rows are dropped (no question): line 3",
        "1 of 3 rows are dropped (not as many cells as the header): line 4",
    }
    data = load(write_lines(tmp_path / "y.jsonl", [row(0), '{"user_input": "', 7, {"response": "a"}, row(1)]))
    assert data.outcomes.height == 4
    assert len([problem for problem in data.problems if problem.severity == "error"]) == 3


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("user_input,response,reference\nq,a,r\n", "has no column of a metric; found user_input, response, reference"),
        ("user_input,faithfulness\n", "A question with scores was expected"),
        ('user_input,faithfulness\n"q,1\n', "check its quotes"),
        ("user_input,user_input,faithfulness\nq,q,1\n", "appears twice"),
    ],
)
def test_files_without_scores_are_refused_in_words(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "x.csv"
    path.write_text(text)
    with pytest.raises(UnreadableFileError, match=said):
        load(path)


def test_two_files_of_two_models_pair_by_question(tmp_path: Path) -> None:
    for model, every in (("a", 3), ("b", 5)):
        rows = [row(i, float(i % every > 0), response=model) for i in range(30)]
        write_csv(tmp_path / model / "ragas_results.csv", rows)
    data = read_files(tmp_path)
    assert data.models() == ("a", "b")
    found = compare(data, "a", "b", metric="faithfulness")
    assert found.estimate == pytest.approx(24 / 30 - 20 / 30)
