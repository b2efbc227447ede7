"""Plain tables of published scores: numbers by model, with what is told of their certainty and nothing that is not."""

import gzip
import json
import re
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import sem

import evalstats as es
from evalstats.errors import CannotAnswerError, InputError, UnreadableFileError
from evalstats.loaders.base import Head, Source, with_digest
from evalstats.loaders.binder import assigned
from evalstats.loaders.column_map import ColumnMap
from evalstats.loaders.files import HEAD_BYTES
from evalstats.loaders.registry import read, read_source, sniffed
from evalstats.loaders.score_table import LOADER, board_in
from evalstats.schema.data import EvalData
from tests.loaders.trees import everything_said as told
from tests.loaders.trees import offered

NUMBERS = ("model", "metric", "estimate", "std_error", "conf_low", "conf_high", "conf_level", "n")


@pytest.fixture
def table(tmp_path: Path) -> Any:
    def write(content: str | bytes | list[Any], name: str = "bench.csv") -> EvalData:
        path = tmp_path / name
        text = json.dumps(content) if isinstance(content, list) else content
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return read_source(LOADER, with_digest(Source(path=path)))

    return write


def named(text: str, name: str = "x.csv") -> str | None:
    head = Head(path=Path(name), size=len(text.encode()), data=text.encode())
    found = sniffed(head)[0]
    return None if found is None else found[0].name


def test_a_map_names_what_says_how_certain_a_score_is(tmp_path: Path) -> None:
    path = tmp_path / "ratings.csv"
    path.write_text("model,rating,deviation,wins\na,1500,40,12\nb,1700,35,30\nc,1400,60,9\n")
    map_ = ColumnMap.from_options(["score=rating", "std_error=deviation"])
    data = read(path, column_map=map_)
    assert data.aggregates.select("metric", "estimate", "std_error").row(0) == ("rating", 1500.0, 40.0)
    assert es.leaderboard(data).rows[0].name == "b"
    with pytest.raises(CannotAnswerError, match=r"std_error=COLUMN.* or .*n=COLUMN"):
        es.leaderboard(read(path), metric="rating")
    with pytest.raises(InputError, match="no column 'sd' for std_error; the table has model, rating, deviation, wins"):
        read(path, column_map=ColumnMap.from_options(["score=rating", "std_error=sd"]))
    path.write_text("model,acc,deviation,low,high\na,0.5,0.1,0.3,0.7\n")
    ends = read(path, column_map=ColumnMap.from_options(["score=acc", "conf_low=low", "conf_high=high"]))
    assert ends.aggregates.filter(metric="acc").select("conf_low", "conf_high").row(0) == (0.3, 0.7)


def test_a_published_table_becomes_numbers_by_model(table: Any) -> None:
    data = table("model,arena_elo\nm 1,855.9\nm-2,901\n")
    assert data.aggregates.select(
        "model", "benchmark", "metric", "estimate", "unit", "setting", "value_raw"
    ).rows() == [
        ("m 1", "bench", "arena_elo", 855.9, None, "lab", "855.9"),
        ("m-2", "bench", "arena_elo", 901.0, None, "lab", "901"),
    ]
    assert data.metrics.select("benchmark", "metric", "kind", "unit").rows() == [
        ("bench", "arena_elo", "continuous", None)
    ]
    assert data.runs["benchmark"].to_list() == ["bench"]
    assert data.metrics["higher_is_better"].to_list() == [None]
    assert "no unit (share, percent, rating) is given for arena_elo" in told(data)


@pytest.mark.parametrize(
    ("header", "cells", "expected"),
    [
        ("score,std_error", "0.5,0.1", (0.1, None, None, None, None)),
        ("score,Std. Error", "0.5,0.1", (0.1, None, None, None, None)),
        ("score,stderr,votes", '0.5,0.1,"26,019"', (0.1, None, None, None, 26019)),
        ("score,total", "0.5,12", (None, None, None, None, 12)),
        ("score,Questions", "0.5,12", (None, None, None, None, 12)),
        ("score,score_se,n_items", "0.5,0.1,12", (0.1, None, None, None, 12)),
        ("score,± ,n", "0.5,0.1,12", (0.1, None, None, None, 12)),
        ("score,conf_low,conf_high", "0.5,0.4,0.7", (None, 0.4, 0.7, 0.95, None)),
        ("score,conf_low,conf_high,conf_level", "0.5,0.4,0.7,0.9", (None, 0.4, 0.7, 0.9, None)),
        ("score,score_low,score_high", "0.5,0.4,0.7", (None, 0.4, 0.7, 0.95, None)),
        ("score,q025,q975", "0.5,0.4,0.7", (None, 0.4, 0.7, 0.95, None)),
        ("score,score_ci", '0.5,"[0.4, 0.7]"', (None, 0.4, 0.7, 0.95, None)),
        ("score,score_90_ci,n", '0.5,"(0.4, 0.7)",12', (None, 0.4, 0.7, 0.9, 12)),
        ("score,score_ci", '0.5,"[0.7, 0.4]"', (None, None, None, None, None)),
        ("score,score_ci", "0.5,none told", (None, None, None, None, None)),
        # However a column says it, and whatever it is called where its cells say it.
        ("score,stderr", "0.5,±0.1", (0.1, None, None, None, None)),
        ("score,unsure", "0.5,+/- 0.1", (0.1, None, None, None, None)),
        ("score,stderr", "0.5,0.9%", (None, None, None, None, None)),
        ("score,CI", "0.5,±0.25", (None, 0.25, 0.75, 0.95, None)),
        ("score,ci", "0.5,0.25", (None, 0.25, 0.75, 0.95, None)),
        ("score,95% CI", "0.5,+0.25/-0.125", (None, 0.375, 0.75, 0.95, None)),
        ("score,CI", "0.5,0.4 – 0.7", (None, 0.4, 0.7, 0.95, None)),
        ("score,unsure", '0.5,"[0.4, 0.7]"', (None, 0.4, 0.7, 0.95, None)),
        ("rank,score,score_rank", "1,0.5,2", (None, None, None, None, None)),
        ("score,95% CI", "0.5,-0.125/+0.25", (None, 0.375, 0.75, 0.95, None)),
        ("score,CI", "0.5,1/3", (None, None, None, None, None)),
        # In the score's own cell, where its header may say what.
        ("score", "0.5 -0.125/+0.25", (None, 0.375, 0.75, 0.95, None)),
        ("score,95% CI (±)", "0.5,+0.25/-0.25", (None, 0.25, 0.75, 0.95, None)),
        ("score,90% CI (±)", "0.5,0.25", (None, 0.25, 0.75, 0.9, None)),
        ("score ± (90% CI)", "0.5 ± 0.25", (None, 0.25, 0.75, 0.9, None)),
        ("score (95% CI)", '"0.5 [0.4, 0.7]"', (None, 0.4, 0.7, 0.95, None)),
        ("score ± stderr", "0.5 ± 0.25", (0.25, None, None, None, None)),
    ],
)
def test_what_stands_beside_a_score_is_not_a_score(
    table: Any, header: str, cells: str, expected: tuple[Any, ...]
) -> None:
    data = table(f"Model,{header}\nm,{cells}\n")
    assert data.aggregates.select(NUMBERS).rows() == [("m", "score", 0.5, *expected)]


def test_a_system_is_all_that_is_called_like_one(tmp_path: Path) -> None:
    path = tmp_path / "board.csv"
    rows = [
        f"{s},{m},{k}.5% ± 1%,{k}.25% ± 1%" for k, (s, m) in enumerate(product(("few-shot", "agent"), ("GPT-4o", "o3")))
    ]
    path.write_text("\n".join(["System,Models,Archaeology,Overall", *rows]))
    data = read(path)
    assert data.aggregates.select("model", "task").unique().sort("model").rows() == [
        (f"{system}, {model}", "") for system, model in product(("agent", "few-shot"), ("GPT-4o", "o3"))
    ]
    with pytest.raises(InputError, match="such as --metric Overall"):
        es.leaderboard(data)
    path.write_text("model,math,code\nm,0.5,0.25\n")
    with pytest.raises(CannotAnswerError, match="1 model has published numbers of 2 metrics"):
        es.leaderboard(read(path))


def test_the_map_says_which_columns_of_a_board_are_scores_and_their_scale(tmp_path: Path) -> None:
    path = tmp_path / "board.csv"
    path.write_text("model,acc,f1\nm,71.5,0.5%\n")

    def board(*options: str) -> EvalData:
        return read(path, column_map=ColumnMap.from_options(options))

    assert board("scale=percent", "score=acc").aggregates.select("metric", "estimate", "unit").rows() == [
        ("acc", 71.5, "percent")
    ]
    rows = board("scale=1..100").metrics.sort("metric").select("metric", "kind", "low", "high", "unit").rows()
    assert rows == [("acc", "bounded", 1.0, 100.0, None), ("f1", "bounded", 0.0, 100.0, "percent")]
    for option, fault in (
        ("score=f2", "'f2' is no column of scores; it has acc, f1"),
        ("weight=acc", "weight cannot be mapped"),
        ("dependence=acc", "dependence cannot be mapped"),
    ):
        with pytest.raises(InputError, match=fault):
            board(option)


def test_several_rows_of_a_system_are_parts_where_nothing_may_be_an_item(tmp_path: Path) -> None:
    path = tmp_path / "board.csv"
    rows = [
        f"{e},{r},0.{k + 2}{j},0.{k}5" for k, e in enumerate(("base", "tuned")) for j, r in enumerate(("bm25", "dense"))
    ]
    path.write_text("\n".join(["experiment,retriever,f1,em", *rows]))
    numbers = [("base", "bm25", "f1", 0.2), ("base", "bm25", "em", 0.05)]
    assert read(path).aggregates.select("model", "task", "metric", "estimate").rows()[:2] == numbers
    # What is called like nothing that has scores may be the items: then a line says how to read published scores.
    path.write_text("\n".join(["experiment,topic,f1,em", *rows]))
    with pytest.raises(InputError) as refused:
        read(path)
    lines = offered(str(refused.value))
    assert lines[0].startswith("--map item=topic")
    published = "--input-format score-table --map model=experiment --map task=topic"
    assert lines[-1] == f"{published}  # if it holds published scores"
    for map_ in (ColumnMap.from_options(["model=experiment", "task=topic"]), None):
        data = read(path, format="score-table", column_map=map_)
        assert data.aggregates.select("model", "task", "metric", "estimate").rows()[:2] == numbers


def test_a_map_says_which_way_published_scores_go_and_which_stand_for_none(tmp_path: Path) -> None:
    path = tmp_path / "board.csv"
    path.write_text("model,wer,acc\na,0.2,-1\nb,-1.0,0.5\n")
    data = read(path, column_map=ColumnMap.from_options(["score=wer:lower,acc", "unscored=-1"]))
    assert data.aggregates.select("model", "metric", "estimate").rows() == [("a", "wer", 0.2), ("b", "acc", 0.5)]
    assert dict(data.metrics.select("metric", "higher_is_better").rows()) == {"wer": False, "acc": None}
    assert "or stand for no score, and give no number: 2" in told(data)


@pytest.mark.parametrize("names", ["mean,std,count", "f1_mean,f1_sd,count"])
def test_the_sd_and_the_count_of_a_mean_make_its_standard_error(table: Any, names: str) -> None:
    scores = {model: np.random.default_rng(seed).beta(2, 2, 40 + seed) for seed, model in enumerate("ab")}
    rows = "".join(f"{model},{own.mean()},{own.std(ddof=1)},{len(own)}\n" for model, own in scores.items())
    data = table(f"model,{names}\n{rows}")
    assert data.aggregates["std_error"].to_list() == pytest.approx([sem(own) for own in scores.values()])
    assert data.aggregates["n"].to_list() == [40, 41]
    assert re.search(
        r"is taken as the SD of independent scores that .* counts, and .* as the standard error", told(data)
    )


@pytest.mark.parametrize("header", ["model,mean,std,size", "model,mean,std,n"])
def test_what_is_not_called_the_count_of_scores_makes_no_standard_error(table: Any, header: str) -> None:
    data = table(f"{header}\na,0.5,0.1,7\nb,0.6,0.1,13\nc,0.7,0.1,70\n")  # a size in billions, seeds
    assert data.aggregates.filter(metric="mean")["std_error"].null_count() == 3


def test_an_sd_beside_what_is_called_no_mean_is_none_of_items(table: Any) -> None:
    data = table("model,acc,std,n_samples\na,0.5,0.01,400\nb,0.6,0.02,400\n")  # it may be that of runs
    assert data.aggregates["std_error"].null_count() == 2
    assert "std is a spread of scores, not a standard error; it is dropped" in told(data)


def test_what_a_cell_says_behind_its_score_is_read_and_what_cannot_be_is_told(table: Any) -> None:
    data = table('model,acc,stderr\na,"70.1% [68.2, 71.9]",0.9%\nb,60% ± 2,\nc,50%,small\n')
    assert data.aggregates.select("estimate", "std_error", "conf_low", "conf_high").rows() == [
        (70.1, 0.9, 68.2, 71.9),
        (60.0, 2.0, None, None),
        (50.0, None, None, None),
    ]
    assert "stderr of 1 models could not be read and is dropped" in told(data)


def test_the_first_of_many_long_records_is_no_row_of_one_model() -> None:
    record = {"indicator": "logic", "passed": 9, "wrong": 4, "rate": 0.75, "cases": ["x" * 70_000]}
    head = Head(path=Path("x.json"), size=10**6, data=json.dumps([record] * 9).encode()[:HEAD_BYTES])
    assert sniffed(head)[0] is None


def test_a_total_beside_rates_counts_items_and_beside_points_sums_them(table: Any) -> None:
    data = table("Team,accuracy,total\na,50%,200\nb,75%,200\n")
    assert data.aggregates.select("model", "estimate", "n").rows() == [("a", 50.0, 200), ("b", 75.0, 200)]
    data = table("Team,math,code,total\na,40,30,70\nb,20,30,50\n")
    assert data.aggregates.filter(metric="total").select("model", "estimate", "n").row(0) == ("a", 70.0, None)


def test_names_of_benchmarks_are_no_counts_and_no_prices(table: Any) -> None:
    names = ["best_of_n", "pass_at_n", "needle_in_haystack_1m"]
    data = table(",".join(["model", "mmlu", *names]) + "\na,.7,.8,.6,.9\nb,.6,.7,.5,.8\n")
    assert set(data.aggregates["metric"]) == {"mmlu", *names}


def test_teams_are_what_is_scored(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("Team,Score\nRed,81\nBlue,74\n")
    assert read(tmp_path / "t.csv").aggregates.select("model", "estimate").rows() == [("Red", 81.0), ("Blue", 74.0)]


def test_records_need_not_have_all_columns(table: Any) -> None:
    assert table([{"model": "a"}, {"model": "b", "acc": 0.5, "ci": "±0.1"}], "bench.json").aggregates.height == 1


def test_a_long_board_with_errors_has_no_items(tmp_path: Path) -> None:
    path = tmp_path / "board.csv"
    path.write_text("task,model,acc,stderr\nx,a,0.7,0.01\nx,b,0.6,0.01\ny,a,0.9,0.02\ny,b,0.8,0.02\n")
    data = read(path, strict=True)
    assert data.aggregates.select("task", "model", "estimate", "std_error").row(2) == ("y", "a", 0.9, 0.02)
    assert not data.outcomes.height


def test_an_interval_of_a_mean_is_called_after_what_is_averaged(table: Any) -> None:
    data = table('variant,f1_mean,f1_ci,em_mean\na,.25,"[.2, .3]",.5\nb,.5,"[.4, .6]",.75\n')
    assert data.aggregates.filter(metric="f1_mean").select("conf_low", "conf_high").rows() == [(0.2, 0.3), (0.4, 0.6)]
    assert data.aggregates.filter(metric="em_mean")["conf_low"].to_list() == [None, None]
    assert "f1_ci" not in data.aggregates.columns


def test_every_column_of_numbers_is_a_metric_with_its_own_error(table: Any) -> None:
    data = table("name,acc,acc_se,f1,f1_stderr,se_rest,sd,low_resource,org\nm,0.5,0.1,0.6,0.2,9,9,0.7,Lab\n")
    assert data.aggregates.select("metric", "estimate", "std_error").rows() == [
        ("acc", 0.5, 0.1),
        ("f1", 0.6, 0.2),
        ("low_resource", 0.7, None),
    ]
    assert data.aggregates["org"].to_list() == ["Lab"] * 3
    assert "se_rest could belong to any of several scores and is dropped" in told(data)
    assert "sd is a spread of scores, not a standard error" in told(data)


def test_one_error_beside_several_scores_belongs_to_none(table: Any) -> None:
    data = table("model,acc,f1,std_error\nm,0.5,0.6,0.1\n")
    assert data.aggregates["std_error"].to_list() == [None, None]
    assert "std_error could belong to any of several scores" in told(data)


def test_labels_of_our_own_names_are_taken_for_them(table: Any) -> None:
    text = "model,benchmark,task,setting,unit,date,metric,estimate\na,B,t,Live,points,2024-07-31,acc,1\n"
    row = table(text + "a,B,u,lab,points,2024-07-31,acc,2\n").aggregates.row(0, named=True)
    assert (row["benchmark"], row["task"], row["setting"], row["unit"]) == ("B", "t", "live", "points")
    assert (row["metric"], str(row["date"]), row["estimate"]) == ("acc", "2024-07-31", 1)


def test_percent_signs_and_plus_minus_are_read_and_told(table: Any) -> None:
    data = table("model,acc\na,54.0% ± 1.2\nb,60%\n")
    assert data.aggregates.select("estimate", "std_error", "unit").rows() == [
        (54.0, 1.2, "percent"),
        (60.0, None, "percent"),
    ]
    assert "what follows ± is taken as a standard error" in told(data)
    assert data.metrics.select("low", "high").rows() == [(0, 100)]


def test_cells_without_a_number_are_counted(table: Any) -> None:
    data = table('model,acc,f1\na,0.5,1\nb,nan,2\nc,-,3\nd,about half,4\ne,"0,5",5\n,0.5,6\nf,0.4\n')
    assert data.aggregates.filter(metric="acc")["model"].to_list() == ["a", "f"]
    words = told(data)
    assert "acc of 2 models could not be read and is dropped" in words
    assert "cells of scores that are empty or NaN, or stand for no score, and give no number: 3" in words
    assert "2 numbers have no model and are dropped" in words
    assert "rows that end before the last column, whose missing cells give no number: 1" in words


def test_copies_count_once_and_contradictions_are_named(table: Any) -> None:
    data = table("model,acc\na,0.5\na,0.5\nb,0.6\nb,0.7\nc,1\nd,2\ne,3\n")
    assert data.aggregates["model"].to_list() == ["a", "b", "b", "c", "d", "e"]
    assert "rows that stand there already, cell by cell, and count once: 1" in told(data)
    assert "1 number stands more than once under one name (b); all are kept" in told(data)


@pytest.mark.parametrize("name", ["bench.json", "bench.jsonl"])
def test_records_say_the_same_as_columns(table: Any, name: str) -> None:
    records = [
        {"model": "a", "acc": 0.5, "acc_se": 0.1, "more": {"x": [1]}},
        {"model": "b", "acc": None, "acc_se": None},
    ]
    content: Any = records if name.endswith(".json") else "\n".join(map(json.dumps, records))
    data = table(content, name)
    assert data.aggregates.select("model", "metric", "estimate", "std_error").rows() == [("a", "acc", 0.5, 0.1)]
    text = content if isinstance(content, str) else json.dumps(content)
    assert named(text, name) == "score-table"


def test_a_format_that_is_asked_for_takes_the_first_column_for_the_models(table: Any) -> None:
    assert table("Contender,acc\na,0.5\n").aggregates["model"].to_list() == ["a"]


def test_a_packed_table_is_read(table: Any) -> None:
    assert table(gzip.compress(b"model,acc\na,0.5\n"), "bench.csv.gz").aggregates["benchmark"].to_list() == ["bench"]


@pytest.mark.parametrize(
    "text",
    [
        "model,item,correct\na,q1,1\nb,q1,0\n",
        "question_id,model,correct\n1,a,1\n2,a,0\n",
        "model,correct\na,1\na,0\nb,1\nb,0\n",
        "name,passed\ntest_one,1\ntest_two,0\n",
        "model_a,model_b,winner\na,b,a\n",
        "model,text\na,hello\n",
        "model\na\n",
        "x,y\n1,2\n",
        "model,answer,acc\na,yes,1\n",
        "model,acc,notes\na,1," + "x" * 2_000 + "\n",
        '[{"model": "a", "latency": 1}, {"model": "a", "latency": 2}]',
        '[{"model": "a", "prompt": "p", "acc": 1}]',
        '[["model", "acc"], ["a", 1]]',
        '[{"model": "a"',
    ],
)
def test_tables_of_something_else_are_left_alone(text: str) -> None:
    assert named(text, "x.json" if text[0] == "[" else "x.csv") != "score-table"


@pytest.mark.parametrize("name", ["fold", "seed", "attempt", "run", "k"])
def test_the_number_of_a_repetition_is_no_published_score(name: str) -> None:
    rows = "".join(f"{model},{n},{part},0.{n}5\n" for model in ("a", "b") for n, part in enumerate(("law", "math")))
    assert named(f"model,{name},subject,exact_match\n{rows}") != "score-table"


def test_a_score_of_four_hundred_digits_is_no_score() -> None:
    scores: dict[str, object] = {"model": "m", "chat": 10**400, "safety": 0.8, "math": 0.5}
    assert (len(board_in(scores | {"chat": 0.9})), len(board_in(scores))) == (1, 0)


SUMMARIES = {
    "variant,n_used,BLEU-1,avg_missed\nno_rag,50,.13,2.3\nrag,50,.12,2.1\n": ["no_rag", "rag"],
    "profile,block_rate_pct,avg_risk_score\nbase,100,49.75\nfull,90,50.2\n": ["base", "full"],
    "timestamp,method,n,mrr,hit@1,answer\n2026-06-18,sparse,76,.859,.78,\n2026-06-18,dense,76,.90,.85,\n": ["dense", "sparse"],
    "rank,model,items,judge,pass_rate\n1,a,191,gpt-4o,.76\n2,b,191,gpt-4o,.75\n": ["a", "b"],
    "rank,judge,macro_f1,coverage,error_rate\n1,x,.81,1,.03\n2,y,.76,.97,0\n": ["x", "y"],
    "model,category,items,fail_rate\na,bias,11,.09\na,other,13,.84\nb,bias,11,.2\nb,other,13,.5\n": ["a", "b"],
    "method,model,responses,A_rate\nfree,a,90,31.1\nforced,a,90,47.8\nfree,b,90,44.4\nforced,b,90,50\n": ["a", "b"],
    '[{"model_key": "a", "api_id": "x/a", "provider": "g", "pass_rates": {"easy": 90.5}, "avg_time_s": 2},'
    '{"model_key": "b", "api_id": "x/b", "provider": "g", "pass_rates": {"easy": 80}, "avg_time_s": 3}]': ["a", "b"],
    '{"n": 500, "systems": {"dense": {"rouge1": 0.45, "f1": 0.9}, "bm25": {"rouge1": 0.25, "f1": 0.85},'
    ' "false_rate": {"dense": 1.0, "bm25": 0.5}}}': ["bm25", "dense"],
    '{"documents": 19, "pipeline_results": {"Basic": {"metrics": {"recall": 0.75, "mrr": 0.8}, "total_questions": 500},'
    ' "Graph": {"metrics": {"recall": 0.7, "mrr": 0.6}, "total_questions": 500}}}': ["Basic", "Graph"],
}  # fmt: skip


@pytest.mark.parametrize("text", SUMMARIES)
def test_a_row_of_averages_is_no_item(text: str, tmp_path: Path) -> None:
    path = tmp_path / ("x.json" if text[0] in "[{" else "x.csv")
    path.write_text(text)
    data = read(path, strict=True)
    assert not data.outcomes.height
    assert sorted(set(data.aggregates["model"])) == SUMMARIES[text]
    # The user's word that rows are items stands.
    column = data.aggregates["metric"][0]
    if text[0] not in "[{":
        map_ = ColumnMap.from_options(["item=#row", f"score={column}"])
        assert read(path, column_map=map_).outcomes.height == text.count("\n") - 1


@pytest.mark.parametrize(
    ("document", "rows"),
    [
        (
            {"faithfulness": 0.81, "recall": 0.9, "note": "second try"},
            [("run", "faithfulness", 0.81), ("run", "recall", 0.9)],
        ),
        ({"model": "m", "accuracy": 0.5, "f1": 0.25, "n": 40, "top_k": 5}, [("m", "accuracy", 0.5), ("m", "f1", 0.25)]),
        ({"metrics": {"em": 0.5, "f1": 1}, "seeds": [1, 2]}, [("run", "metrics.em", 0.5), ("run", "metrics.f1", 1)]),
        ({"accuracy": 0.5, "top_k": 5}, [("run", "accuracy", 0.5)]),
        # Of an item, of nothing but right and wrong, of one number beside a text, beside rows; texts.
        ({"question": "a?", "accuracy": 0.5, "f1": 0.25}, []),
        ({"accuracy": 1, "f1": 1}, []),
        ({"accuracy": 0.5, "note": "second try"}, []),
        ({"accuracy": 0.5, "f1": 0.25, "results": [{"id": 1, "ok": True}]}, []),
        ({"accuracy": 0.5, "f1": 0.25, "said": "x" * 400}, []),
    ],
)
def test_the_metrics_of_a_run_are_published_numbers(tmp_path: Path, document: Any, rows: list[Any]) -> None:
    path = tmp_path / "run.json"
    path.write_text(json.dumps(document))
    if not rows:
        with pytest.raises(InputError, match="no known format"):
            read(path)
        return
    found = read(path, strict=True).aggregates
    assert found.select("model", "metric", "estimate").rows() == rows
    assert found["n"].to_list() == [document.get("n")] * len(rows)


def test_parts_of_a_summary_are_tasks_and_counts_stand_behind_its_numbers(table: Any) -> None:
    data = table(next(text for text in SUMMARIES if text.startswith("model,category")))
    assert data.aggregates.select("model", "task", "metric", "estimate", "n").row(1) == (
        "a",
        "other",
        "fail_rate",
        0.84,
        13,
    )
    assert "read as published numbers, one row for each model and category" in told(data)


@pytest.mark.parametrize(
    "text",
    [
        # Rows are items: named as such, of one row a model, without a count or an average of several, or of right and wrong.
        "question_id,variant,n,avg_f1\nq1,a,50,.5\nq2,b,50,.25\n",
        "Scenario,Average_Score,Recall,Model\n1,.6,.5,a\n2,.5,.25,a\n1,.7,.5,b\n2,.1,.75,b\n",
        "config,f1,em\na,.5,1\nb,.25,0\n",
        "task,model,n_samples,passed\nt1,a,2,.5\nt2,a,2,0\nt1,b,2,1\nt2,b,2,.5\n",
        "category,model,avg_f1,em\nx,a,.5,1\ny,a,.25,0\nx,b,.5,1\ny,b,.75,1\n",
        "variant,pass_rate,n\na,1,50\nb,0,50\n",
        "variant,n,avg_f1,notes\na,50,.5," + "x" * 2_000 + "\nb,50,.25,\n",
    ],
)
def test_a_row_of_one_item_is_no_summary(text: str) -> None:
    header, *rows = (line.split(",") for line in text.splitlines())
    found = assigned(header, [dict(zip(header, row, strict=True)) for row in rows])[0]
    assert not (found.published and found.is_sure)


@pytest.mark.parametrize(
    ("text", "loader"),
    [
        ("item,score,model\nq,1,a\n", "table"),
        ("model,score,rating_q025,rating_q975,CI,avg_tokens,date\n", "leaderboard"),
        ("rank,model,arena_score,95_pct_ci,votes\n1,a,1470,+5/-3,100\n", "leaderboard"),
        ("model,acc\na,0.5\nb,0.6\n", "score-table"),
        ("Model;Acc\na;0,5\nb;0.6\n", "score-table"),
    ],
)
def test_other_loaders_are_surer(text: str, loader: str) -> None:
    assert named(text) == loader


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("model,acc\n", "holds no rows"),
        ("model,org\na,Lab\n", "no column but 'model' holds scores"),
        ("x,y\n1,2\n", "no column names the model"),
        ("model,acc\na,1\na,2\na,3\nb,4\n", "holds 2.0 rows for each model"),
        ("model,acc\na,1,2\n", "line 2 has 3 cells, the header 2"),
        ("model,acc,acc\na,1,2\n", "appears twice in the header"),
        ('model,acc\n"a,1\n', "is not delimited text"),
        (b"model,acc\na,\xff\n", "is not utf-8 text"),
        ([{"model": "a", "acc": 1}, 5], "record 1 \\(counted from 0\\) is not a JSON object"),
        ("model,setting,acc\na,nowhere,1\n", "setting"),
        ("model,acc\n" + "".join(f"m{i},1\n" for i in range(100_001)), "holds more than 100,000 rows"),
    ],
)
def test_what_is_wrong_is_said(table: Any, content: Any, why: str) -> None:
    with pytest.raises(UnreadableFileError, match=why):
        table(content, "bench.json" if isinstance(content, list) else "bench.csv")


@pytest.mark.parametrize("name", ["n", "n_battles", "num_examples"])
def test_how_many_stand_behind_a_rate_has_many_names(name: str, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(f"model,win_rate,{name}\na,54.3%,1000\nb,51.2%,900\nc,47.0%,1100\n", encoding="utf-8")
    assert read(path).aggregates.select("estimate", "n").row(0) == (54.3, 1000)
