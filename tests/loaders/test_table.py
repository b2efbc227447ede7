"""Anybody's own table: what is read, what is told, and what is refused with the line at fault."""

import gzip
import json
import shlex
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from evalstats.errors import InputError, UnreadableFileError
from evalstats.loaders import blocks, bound_columns
from evalstats.loaders.base import Head, Source, read_head, with_digest
from evalstats.loaders.column_map import ColumnMap
from evalstats.loaders.registry import read, read_source
from evalstats.loaders.table import LOADER, TableLoader
from evalstats.schema.data import EvalData

NAMED = "item,model,score\n"


def load(path: Path, *options: str) -> EvalData:
    return read_source(TableLoader(ColumnMap.from_options(options)), with_digest(Source(path=path)))


@pytest.fixture
def csv(tmp_path: Path) -> Any:
    def write(text: str | bytes, *options: str, name: str = "results.csv") -> EvalData:
        path = tmp_path / name
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return load(path, *options)

    return write


def notes(data: EvalData) -> str:
    assert all(problem.severity != "error" for problem in data.problems)
    return "\n".join(problem.message for problem in data.problems)


# Detection


@pytest.mark.parametrize(
    ("data", "confidence"),
    [
        (b"item,model,score,x\n", 0.2),
        (b"score;model;item\n", 0.2),
        (b'[{"item": 1, "model": "m", "score": 1}]', 0.2),
        (b'{"item": 1, "model": "m", "score": 1}\n{"item": 2, "model": "m", "score": 1}', 0.2),
        (b'{"item": 1, "model": "m", "score": 1}', None),
        (b"Item,Model,Score\n", None),
        (b"item,score\n", 0.1),
        (b'[{"item": 1, "score": 1}]', 0.1),
        (b"model,score\n", None),
        (b"item model score", None),
    ],
)
def test_only_exact_names_are_taken_for_a_table(data: bytes, confidence: float | None) -> None:
    match = LOADER.sniff(Head(path=Path("x"), size=len(data), data=data))
    assert (None if match is None else match.confidence) == confidence


def test_a_table_of_item_and_score_alone_is_read_under_the_file_s_name(tmp_path: Path) -> None:
    path = tmp_path / "gpt-4o.csv"
    path.write_text("item,score\nq1,1\nq2,0\n")
    data = read(path)
    assert data.outcomes.select("item", "model", "score").rows() == [("q1", "gpt-4o", 1.0), ("q2", "gpt-4o", 0.0)]
    assert notes(data) == "no column names the model, so the file's name is used"


def test_what_is_no_table_gets_no_advice_for_tables(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text('{"a": 1}')
    with pytest.raises(InputError) as caught:
        read(path)
    assert str(caught.value).endswith("no known format (`evalstats formats` lists them)")


def test_a_parquet_table_is_known_by_its_schema(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    pl.DataFrame({"item": ["1"], "model": ["m"], "score": [1]}).write_parquet(path)
    assert LOADER.sniff(read_head(path)) is not None
    assert read(path).outcomes.height == 1


# Shapes of files

ROWS = [("q1", "a", 1.0), ("q2", "a", 0.0), ("q1", "b", 0.5), ("q2", "b", None)]


def shaped(shape: str, path: Path) -> Path:
    records = [dict(zip(("item", "model", "score"), row, strict=True)) for row in ROWS]
    frame = pl.DataFrame(records)
    if shape == "parquet":
        frame.write_parquet(path)
    elif shape == "jsonl":
        path.write_text("\n".join(map(json.dumps, records)))
    elif shape == "json":
        path.write_text(json.dumps(records, indent=1))
    elif shape == "utf-16":
        path.write_bytes(frame.write_csv().encode("utf-16"))
    elif shape == "gzip":
        path.write_bytes(gzip.compress(frame.write_csv().encode()))
    elif shape == "bom":
        path.write_bytes(b"\xef\xbb\xbf" + frame.write_csv(line_terminator="\r\n").encode())
    else:
        path.write_text(frame.write_csv(separator=shape))
    return path


@pytest.mark.parametrize("shape", [",", ";", "\t", "bom", "utf-16", "gzip", "jsonl", "json", "parquet"])
def test_every_shape_gives_the_same_rows(tmp_path: Path, shape: str) -> None:
    data = load(shaped(shape, tmp_path / "results.txt"))
    assert data.outcomes.select("item", "model", "score").rows() == ROWS
    assert data.outcomes["status"].to_list() == ["scored", "scored", "scored", "unscored"]
    assert data.runs.sort("model").select("model", "n_scored", "n_unscored").rows() == [("a", 2, 0), ("b", 1, 1)]
    assert data.metrics.select("metric", "kind", "low", "high").rows() == [("score", "bounded", 0.0, 1.0)]


@pytest.mark.parametrize("shape", [",", "jsonl", "json", "parquet"])
@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_the_size_of_blocks_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shape: str, size: int
) -> None:
    path = shaped(shape, tmp_path / "results.txt")
    whole = load(path)
    monkeypatch.setattr(blocks, "BLOCK_ROWS", size)
    assert load(path).outcomes.equals(whole.outcomes)
    monkeypatch.setattr(
        bound_columns, "KEPT_BYTES", dict.fromkeys(bound_columns.KEPT_BYTES, 0)
    )  # too large to be kept: read twice
    assert load(path).outcomes.equals(whole.outcomes)


def test_a_block_is_cut_when_its_texts_grow_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "BLOCK_CHARS", 30)
    path = tmp_path / "x.csv"
    path.write_text(NAMED + "".join(f"{'q' * 30}{number},m,1\n" for number in range(5)))
    assert len(list(blocks.delimited_blocks(path, ","))) == 5
    assert load(path).outcomes.height == 5


# Ids


def test_an_id_is_the_text_that_the_file_holds(csv: Any) -> None:
    assert csv(NAMED + "12,m,1\n12.0,n,1\n012,m,1\nq7,m,1\n").outcomes["item"].to_list() == ["12", "12.0", "012", "q7"]


def test_ids_in_json_are_numbers_or_text(csv: Any) -> None:
    rows = [{"item": item, "model": "m", "score": 1} for item in (12, "13", 14.0, "014")]
    assert csv(json.dumps(rows)).outcomes["item"].to_list() == ["12", "13", "14", "014"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (NAMED + "1,m,1\n,m,1\n", "a row has no item; every row needs one (line 3)"),
        (NAMED + "1,,1\n", "a row has no model; every row needs one (line 2)"),
    ],
)
def test_a_row_without_an_id_is_refused(csv: Any, text: str, said: str) -> None:
    with pytest.raises(UnreadableFileError) as caught:
        csv(text)
    assert said in str(caught.value)


def test_positional_ids_only_when_asked_for(csv: Any) -> None:
    text = "model,score\na,1\na,0\nb,1\nb,1\n"
    with pytest.raises(UnreadableFileError, match="no column is called item"):
        csv(text)
    data = csv(text, "item=#row")
    assert data.outcomes.select("model", "item").rows() == [("a", "0"), ("a", "1"), ("b", "0"), ("b", "1")]
    assert "items are numbered by their place" in notes(data)


def test_positions_go_on_from_block_to_block(csv: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "BLOCK_ROWS", 2)
    data = csv("model,score\na,1\nb,0\na,1\nb,1\na,0\n", "item=#row")
    assert data.outcomes.select("model", "item").rows() == [("a", "0"), ("b", "0"), ("a", "1"), ("b", "1"), ("a", "2")]


# Scores


@pytest.mark.parametrize(
    ("cell", "score"),
    [
        ("1", 1.0),
        ("0.25", 0.25),
        ("-3", -3.0),
        ("1e-3", 0.001),
        (" 1 ", 1.0),
        ("true", 1.0),
        ("FALSE", 0.0),
        ("C", 1.0),
        ("I", 0.0),
    ],
)
def test_scores(csv: Any, cell: str, score: float) -> None:
    row = csv(f"{NAMED}1,m,{cell}\n").outcomes.row(0, named=True)
    assert (row["score"], row["status"]) == (score, "scored")


def test_a_label_keeps_its_word_beside_the_number(csv: Any) -> None:
    assert csv(NAMED + "1,m,C\n2,m,1\n").outcomes["value_raw"].to_list() == ["C", None]


@pytest.mark.parametrize("cell", ["", "NaN", "nan", "NA", "None", "null", "n/a"])
def test_no_score_is_unscored_and_never_wrong(csv: Any, cell: str) -> None:
    data = csv(f"{NAMED}1,m,{cell}\n2,m,1\n")
    row = data.outcomes.row(0, named=True)
    assert (row["score"], row["status"], row["status_reason"]) == (None, "unscored", "there is no score")
    assert "1 row has no score; it is kept as unscored" in notes(data)


@pytest.mark.parametrize(
    ("words", "score"),
    [
        ("correct right pass passed success Correct PASSED", 1.0),
        ("incorrect wrong fail failed failure Incorrect FAILED", 0.0),
    ],
)
def test_words_for_right_and_wrong(csv: Any, words: str, score: float) -> None:
    labels = words.split()
    data = csv(NAMED + "".join(f"{item},m,{label}\n" for item, label in enumerate(labels)))
    assert data.outcomes["score"].to_list() == [score] * len(labels)
    assert data.outcomes["value_raw"].to_list() == labels
    assert data.metrics["kind"].to_list() == ["binary"]


@pytest.mark.parametrize("cell", ["B+", "passing", "0;5", "%", "1_000"])
def test_an_unknown_score_names_line_value_and_remedy(csv: Any, cell: str) -> None:
    with pytest.raises(UnreadableFileError) as caught:
        csv(f"{NAMED}1,m,1\n2,m,{cell}\n")
    assert (
        f"1 of 2 rows have no known score in 'score' (line 3: '{cell}'); say what each label means: --map "
        f'map.toml, a file with a line [values.score] and below it what each label stands for ("{cell}" = 1)'
    ) in str(caught.value)


@pytest.mark.parametrize(
    "cells",
    [
        ["timeout"],
        ["-", "error"],
        ["#N/A", "Parse error"],
        ["ERROR: timeout", "RateLimitError 429", "timed out after 60 s"],
        ["inf"],
    ],
)
def test_labels_of_a_run_without_a_score_are_no_right_answers(csv: Any, cells: list[str]) -> None:
    text = f"{NAMED}1,m,1\n2,m,0\n" + "".join(f"{k},m,{cell}\n" for k, cell in enumerate(cells, start=3))
    with pytest.raises(UnreadableFileError) as caught:
        csv(text)
    told = str(caught.value).partition("if they mean no score: --map ")[2].partition("; if for")[0]
    assert f'"{cells[0]}" = 0' in str(caught.value)
    option = shlex.split(told)[0]
    assert csv(text, option).outcomes["status"].to_list() == ["scored"] * 2 + ["unscored"] * len(cells)


@pytest.mark.parametrize(("cell", "score"), [('"so ""good"""', 1.0), ("7/5", 1.0), ('"Error: 429, retried"', None)])
def test_the_advice_for_an_unknown_score_works(tmp_path: Path, cell: str, score: float | None) -> None:
    path, map_ = tmp_path / "x.csv", tmp_path / "map.toml"
    path.write_text(f"{NAMED}1,m,{cell}\n")
    with pytest.raises(UnreadableFileError) as caught:
        load(path)
    line = str(caught.value).partition("label stands for (")[2].partition(");" if score else "); if for")[0]
    map_.write_text(f"[values.score]\n{line}\n")
    assert load(path, str(map_)).outcomes["score"].to_list() == [score]


def test_fractions_are_the_shares_that_they_are(csv: Any) -> None:
    assert csv(f"{NAMED}1,m,4/5\n2,m,7.5 / 10\n3,m,0/3\n").outcomes["score"].to_list() == [0.8, 0.75, 0.0]
    with pytest.raises(UnreadableFileError, match="'0/0'"):
        csv(f"{NAMED}1,m,4/5\n2,m,0/0\n")


def test_c_among_a_school_s_grades_is_not_correct(csv: Any, tmp_path: Path) -> None:
    text = NAMED + "".join(f"{item},m,{grade}\n" for item, grade in enumerate("CDFBA"))
    with pytest.raises(
        UnreadableFileError, match=r"5 of 5 rows .*\(line 2: 'C'; then 'D', 'F', 'B' and 1 more labels\)"
    ):
        csv(text)
    (tmp_path / "map.toml").write_text("[values.score]\nD = 1\nF = 0\nB = 3\nA = 4\n")
    with pytest.raises(UnreadableFileError, match=r"1 of 5 rows have no known score in 'score' \(line 2: 'C'\)"):
        csv(text, str(tmp_path / "map.toml"))
    # A block of the file may hold no other grade than C; what the labels are said to mean still shows what C is.
    with pytest.raises(UnreadableFileError, match=r"1 of 1 rows"):
        csv(f"{NAMED}1,m,C\n", str(tmp_path / "map.toml"))
    assert csv(f"{NAMED}1,m,C\n2,m,I\n3,m,P\n4,m,N\n").outcomes["score"].to_list() == [1.0, 0.0, 0.5, 0.0]


def test_minus_one_beside_right_and_wrong_may_stand_for_no_score(csv: Any) -> None:
    text = f"{NAMED}1,m,1\n2,m,0\n3,m,-1\n"
    assert "if -1 means no score: --map unscored=-1" in notes(csv(text))
    assert csv(text, "unscored=-1").outcomes["status"].to_list() == ["scored", "scored", "unscored"]
    assert "means no score" not in notes(csv(f"{NAMED}1,m,1\n2,m,7\n3,m,-1\n"))


def test_unknown_scores_are_counted(csv: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    # As long as the header, from which the length of a line is guessed.
    text = NAMED + "".join(f"question-{item},m,{label}\n" for item, label in enumerate("uvwxzu1"))
    with pytest.raises(
        UnreadableFileError, match=r"6 of 7 rows .*\(line 2: 'u'; then 'v', 'w', 'x' and 1 more labels\)"
    ):
        csv(text)
    monkeypatch.setattr(blocks, "BLOCK_ROWS", 2)
    with pytest.raises(UnreadableFileError, match=r"at least 3 of 7 rows have no known score"):
        csv(text)


def test_percent_signs_are_read_where_the_scale_is_percent(csv: Any, tmp_path: Path) -> None:
    text = NAMED + "1,m,54.0%\n2,m,7 %\n3,m,60\n"
    with pytest.raises(UnreadableFileError, match=r"2 of 3 rows .*\(line 2: '54\.0%'.*say --map scale=percent"):
        csv(text)
    data = csv(text, "scale=percent")
    assert data.outcomes.select("score", "value_raw").rows() == [(54.0, "54.0%"), (7.0, "7 %"), (60.0, None)]
    assert data.metrics.select("low", "high", "unit").row(0) == (0.0, 100.0, "percent")
    with pytest.raises(UnreadableFileError, match="has a score above 100"):
        csv(NAMED + "1,m,101%\n", "scale=percent")
    (tmp_path / "map.toml").write_text("[metrics.acc]\nunit = 'percent'\n[columns]\nscore = ['acc', 'ok']\n")
    mixed = "item,model,acc,ok\n1,m,50%,1\n"
    assert csv(mixed, str(tmp_path / "map.toml")).outcomes["score"].to_list() == [50.0, 1.0]
    both = csv(mixed.replace(",1\n", ",1%\n"), str(tmp_path / "map.toml"))
    assert both.outcomes["score"].to_list() == [50.0, 1.0]
    assert set(both.metrics["unit"]) == {"percent"}


def test_labels_mean_what_the_user_says(tmp_path: Path) -> None:
    (tmp_path / "map.toml").write_text("[values.score]\npass = 1\nfail = 0\npartial = 0.5\n")
    path = tmp_path / "x.csv"
    path.write_text(NAMED + "1,m,pass\n2,m,fail\n3,m,partial\n4,m,\n")
    outcomes = load(path, str(tmp_path / "map.toml")).outcomes
    assert outcomes["score"].to_list() == [1.0, 0.0, 0.5, None]
    assert outcomes["value_raw"].to_list() == ["pass", "fail", "partial", None]


def test_the_user_s_meaning_wins_over_the_usual_one(tmp_path: Path) -> None:
    (tmp_path / "map.toml").write_text("[values.score]\nC = 0.3\n1 = 10\n")
    path = tmp_path / "x.csv"
    path.write_text(NAMED + "1,m,C\n2,m,1\n3,m,2\n")
    assert load(path, str(tmp_path / "map.toml")).outcomes["score"].to_list() == [0.3, 10.0, 2.0]
    path.write_text(NAMED + "1,m,C\n2,m,c\n")
    with pytest.raises(UnreadableFileError, match=r"1 of 2 rows have no known score in 'score' \(line 3: 'c'\)"):
        load(path, str(tmp_path / "map.toml"))


def test_a_label_may_say_that_there_is_no_score(tmp_path: Path) -> None:
    """MT-bench writes -1 where the judge's answer could not be parsed, LiveCodeBench where a problem was not run."""
    (tmp_path / "map.toml").write_text("[values.score]\n-1 = 'unscored'\ncrashed = 'error'\n")
    path = tmp_path / "x.csv"
    path.write_text(NAMED + "1,m,-1\n2,m,-1.0\n3,m,crashed\n4,m,7\n")
    data = load(path, str(tmp_path / "map.toml"))
    assert data.outcomes.select("score", "status", "value_raw", "status_reason").rows() == [
        (None, "unscored", "-1", "-1 stands for no score"),
        (None, "unscored", "-1", "-1 stands for no score"),
        (None, "error", "crashed", "crashed stands for an error"),
        (7.0, "scored", None, None),
    ]
    assert data.runs.select("n_scored", "n_error", "n_unscored").row(0) == (1, 1, 2)


# Kinds and scales


@pytest.mark.parametrize(
    ("scores", "options", "expected"),
    [
        ("0 1 1", [], ("binary", 0.0, 1.0, "proportion")),
        ("0 0.5 1", [], ("bounded", 0.0, 1.0, "proportion")),
        ("55 81.5", [], ("continuous", None, None, None)),
        ("-1 1", [], ("continuous", None, None, None)),
        ("55 81.5", ["scale=percent"], ("bounded", 0.0, 100.0, "percent")),
        ("2 5", ["scale=1..5"], ("bounded", 1.0, 5.0, None)),
        ("0 1", ["scale=proportion"], ("binary", 0.0, 1.0, "proportion")),
    ],
)
def test_the_kind_of_a_metric(csv: Any, scores: str, options: list[str], expected: tuple[object, ...]) -> None:
    text = NAMED + "".join(f"{item},m,{score}\n" for item, score in enumerate(scores.split()))
    data = csv(text, *options)
    assert data.metrics.select("kind", "low", "high", "unit").row(0) == expected
    assert ("their scale is not known" in notes(data)) == (expected[0] == "continuous")


def test_percent_stays_percent(csv: Any) -> None:
    assert csv(NAMED + "1,m,81.5\n", "scale=percent").outcomes["score"].to_list() == [81.5]


@pytest.mark.parametrize(("score", "said"), [("101", "has a score above 100 (line 2: '101.0')"), ("-1", "below 0")])
def test_scores_outside_the_declared_scale_are_refused(csv: Any, score: str, said: str) -> None:
    with pytest.raises(UnreadableFileError) as caught:
        csv(f"{NAMED}1,m,{score}\n", "scale=percent")
    assert said in str(caught.value)


def test_what_the_user_says_of_a_metric(tmp_path: Path) -> None:
    (tmp_path / "map.toml").write_text(
        "[columns]\nscore = ['wer', 'ok']\n[metrics.wer]\nlow = 0\nhigher_is_better = false\n"
        "[metrics.ok]\nkind = 'binary'\nprimary = true\n"
    )
    path = tmp_path / "x.csv"
    path.write_text("item,model,wer,ok\n1,m,1.7,1\n2,m,0.2,0\n")
    metrics = load(path, str(tmp_path / "map.toml")).metrics.sort("metric")
    assert metrics.select("metric", "kind", "low", "high", "higher_is_better", "primary").rows() == [
        ("ok", "binary", 0.0, 1.0, None, True),
        ("wer", "continuous", 0.0, None, False, False),
    ]
    path.write_text("item,model,wer,ok\n1,m,1.7,0.5\n")
    with pytest.raises(UnreadableFileError, match=r"has a ok that is neither 0 nor 1 \(line 2"):
        load(path, str(tmp_path / "map.toml"))


# Wide and long tables


def test_several_score_columns_are_metrics_of_their_own(csv: Any) -> None:
    data = csv("item,model,acc,f1,len\n1,m,1,0.5,30\n2,m,0,,31\n", "score=acc,f1")
    assert data.outcomes.select("item", "metric", "score", "status").rows() == [
        ("1", "acc", 1.0, "scored"),
        ("2", "acc", 0.0, "scored"),
        ("1", "f1", 0.5, "scored"),
        ("2", "f1", None, "unscored"),
    ]
    assert data.outcomes["len"].to_list() == [30, 31, 30, 31]
    assert data.metrics.select("metric", "kind").rows() == [("acc", "binary"), ("f1", "bounded")]


def test_a_metric_column(csv: Any) -> None:
    data = csv("item,model,metric,score\n1,m,acc,1\n1,m,f1,0.5\n")
    assert data.outcomes.select("metric", "score").rows() == [("acc", 1.0), ("f1", 0.5)]


def test_the_metric_is_named_after_its_column(csv: Any) -> None:
    assert csv("item,model,correct\n1,m,1\n", "score=correct").outcomes["metric"].to_list() == ["correct"]
    assert csv("item,model,c\n1,m,1\n", "score=c", "metric=@acc").outcomes["metric"].to_list() == ["acc"]


# States


def test_a_failure_outranks_the_score_in_its_row(csv: Any) -> None:
    text = "item,model,score,crash\n1,m,0,Timeout\n2,m,1,\n3,m,,OOM\n4,m,1,False\n5,m,0,True\n"
    data = csv(text, "error=crash")
    assert data.outcomes.select("status", "score", "value_raw", "status_reason").rows() == [
        ("error", None, "0.0", "Timeout"),
        ("scored", 1.0, None, None),
        ("error", None, None, "OOM"),
        ("scored", 1.0, None, None),
        ("error", None, "0.0", "the error column says so"),
    ]
    assert data.runs.select("n_scored", "n_error", "n_unscored").row(0) == (2, 3, 0)


def test_a_row_that_says_it_has_no_score_may_hold_anything_in_its_place(csv: Any) -> None:
    text = "item,model,score,status,status_reason\n1,m,1,,\n2,m,so-so,error,cut off\n3,m,?,unscored,\n4,m,7,error,\n"
    found = csv(text).outcomes.select("score", "status", "value_raw", "status_reason").rows()
    assert found == [
        (1.0, "scored", None, None),
        (None, "error", "so-so", "cut off"),
        (None, "unscored", "?", "there is no score"),
        (None, "error", "7.0", None),
    ]
    with pytest.raises(InputError, match="1 of 2 rows have no known score"):
        csv("item,model,score,status\n1,m,1,\n2,m,so-so,scored\n")


def test_a_run_that_broke_off_and_has_a_score_is_told(csv: Any) -> None:
    data = csv("item,model,score,status\n1,m,1,ok\n2,m,0,timeout\n3,m,0,failed\n4,m,0,Timed out\n")
    assert data.outcomes["status"].to_list() == ["scored"] * 4
    assert "1 row with the status 'timeout' has a score, which is counted" in notes(data)
    assert "1 row with the status 'timed_out' has a score" in notes(data)
    assert "'failed'" not in notes(data)


def test_a_status_column_in_the_source_s_own_words(tmp_path: Path) -> None:
    (tmp_path / "map.toml").write_text("[columns]\nstatus='state'\n[values.status]\ndone='scored'\ntimeout='error'\n")
    path = tmp_path / "x.csv"
    path.write_text("item,model,score,state,status_reason\n1,m,1,done,\n2,m,0,timeout,slow\n3,m,,done,\n4,m,1,,\n")
    outcomes = load(path, str(tmp_path / "map.toml")).outcomes
    assert outcomes.select("status", "score", "status_reason").rows() == [
        ("scored", 1.0, None),
        ("error", None, "slow"),
        ("unscored", None, "there is no score"),
        ("scored", 1.0, None),
    ]


def test_an_unknown_status_names_the_line_and_the_remedy(csv: Any) -> None:
    with pytest.raises(UnreadableFileError) as caught:
        csv("item,model,score,status\n1,m,1,scored\n2,m,1,deferred\n", "status=status")
    assert (
        "has a status that is not one of scored, error, unscored (line 3: 'deferred'); say what each label means: --map "
        'map.toml, a file with a line [values.status] and below it what each label stands for ("deferred" = "scored")'
    ) in str(caught.value)


# Models, runs, benchmarks


def test_the_file_s_name_is_the_model_where_no_column_is(csv: Any) -> None:
    data = csv("item,score\n1,1\n", "item=item", name="gpt-4o.csv")
    assert data.models() == ("gpt-4o",)
    assert "the file's name is used" in notes(data)
    assert csv("item,score\n1,1\n", "model=@gpt-4o").models() == ("gpt-4o",)


def test_a_run_is_one_system_on_one_benchmark(csv: Any) -> None:
    text = "item,model,system,benchmark,score\n1,a,,x,1\n1,a,a+tools,x,1\n1,a,,y,1\n1,b,b,x,1\n"
    data = csv(text)
    digest = data.runs["source_digest"][0][:8]
    assert sorted(data.runs["run"].to_list()) == [
        f"results.a.a+tools.x~{digest}",
        f"results.a.x~{digest}",
        f"results.a.y~{digest}",
        f"results.b.x~{digest}",
    ]
    assert data.outcomes["system"].to_list() == ["a", "a+tools", "a", "b"]


def test_runs_that_the_table_names(csv: Any) -> None:
    data = csv("item,model,run,score\n1,a,r1,1\n1,a,r2,1\n")
    assert [run.partition("~")[0] for run in data.outcomes["run"].to_list()] == ["results.r1", "results.r2"]
    with pytest.raises(
        UnreadableFileError, match=r"run 'r1' holds the models 'a' and 'b', .*map another column to run"
    ):
        csv("item,model,run,score\n1,a,r1,1\n1,b,r1,1\n", "run=run")


def test_a_run_carries_how_it_was_read(csv: Any) -> None:
    data = csv(
        "qid,model,score,dim,doc\n1,a,1,x,d1\n",
        "item=qid",
        "scenario=dim",
        "passage=doc",
        "judge=@gpt-4",
        "benchmark=@b",
    )
    run = data.runs.row(0, named=True)
    assert json.loads(run["config"])["columns"] == {"item": ["qid"], "scenario": ["dim"], "passage": ["doc"]}
    assert set(run["factor_names"]) == {"qid=item", "dim=scenario"}
    assert run["dependence"] == ["passage"]
    assert (run["judge"], run["benchmark"], run["loader"]) == ("gpt-4", "b", "table")
    assert data.outcomes["passage"].to_list() == ["d1"]
    assert data.factor("dim") == "scenario"


def test_the_benchmark_is_named_or_said_to_be_unnamed(csv: Any, tmp_path: Path) -> None:
    """One table alone can be taken for no other; two without a name are one benchmark, which must be known."""
    assert "benchmark" not in notes(csv(NAMED + "1,m,1\n"))
    csv(NAMED + "1,n,1\n", name="more.csv")
    data = read(tmp_path)
    assert data.runs["benchmark"].unique().to_list() == ["table"]
    assert (
        notes(data) == "names no benchmark, nor does 1 more: equal ids are the same item (else --map benchmark=@NAME)"
    )
    csv(NAMED + "1,o,1\n", name="third.csv")
    assert "names no benchmark, nor do 2 more" in notes(read(tmp_path))
    assert notes(read(tmp_path, column_map=ColumnMap.from_options(["benchmark=@mine"]))) == ""


# Repetitions

TWICE = NAMED + "1,m,1\n2,m,1\n1,m,0\n"


def test_repeated_rows_are_refused_with_a_way_out(csv: Any) -> None:
    with pytest.raises(UnreadableFileError) as caught:
        csv(TWICE)
    said = str(caught.value)
    assert "1 id stands more than once with the same model" in said
    assert "(line 4: model 'm', item '1')" in said
    assert "if they are different questions, give each its own id" in said
    assert (
        "If they are repeats of an item, number them as trials in the order of the file: --map 'trial=#order'" in said
    )


@pytest.mark.parametrize("size", [1, 2, 3])
def test_repetitions_are_found_across_blocks(csv: Any, monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    monkeypatch.setattr(blocks, "BLOCK_ROWS", size)
    with pytest.raises(UnreadableFileError, match=r"line 4: model 'm', item '1'"):
        csv(TWICE)
    assert csv(TWICE, "trial=#order").outcomes["trial"].to_list() == [0, 0, 1]


def test_trials_that_the_table_numbers(csv: Any) -> None:
    data = csv("item,model,score,epoch\n1,m,1,1\n1,m,0,2\n", "trial=epoch")
    assert data.outcomes.select("trial", "n_trials").rows() == [(1, 1), (2, 1)]
    named = csv("item,model,score,epoch\n1,m,1,first\n1,m,0,second\n2,m,0,second\n", "trial=epoch")
    assert named.outcomes.select("trial", "trial_label").rows() == [(0, "first"), (1, "second"), (1, "second")]
    with pytest.raises(UnreadableFileError, match=r"has a trial that is no whole number \(line 2: '1\.5'\)"):
        csv("item,model,score,epoch\n1,m,1,1.5\n", "trial=epoch")


def test_one_row_is_one_trial_unless_it_is_an_average(csv: Any) -> None:
    assert csv(NAMED + "1,m,1\n").outcomes.select("trial", "n_trials").rows() == [(0, 1)]
    data = csv("item,model,score,n_trials\n1,m,0.4,5\n")
    assert data.outcomes.select("trial", "n_trials").rows() == [(None, 5)]


# Other columns


def test_factors_are_numbers_booleans_or_text_for_the_whole_file(csv: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "BLOCK_ROWS", 1)
    text = "item,model,score,whole,number,truth,code,empty,word\n1,m,1,3,1,True,012,,a\n2,m,1,-4,0.5,false,12,,\n"
    outcomes = csv(text).outcomes
    factors = outcomes.select("whole", "number", "truth", "code", "empty", "word")
    assert factors.dtypes == [pl.Int64, pl.Float64, pl.Boolean, pl.String, pl.String, pl.String]
    assert factors.rows() == [(3, 1.0, True, "012", None, "a"), (-4, 0.5, False, "12", None, None)]


def test_text_in_json_stays_text(csv: Any) -> None:
    rows = [
        {"item": 1, "model": "m", "score": 1, "code": "12", "n": 12, "ok": True},
        {"item": 2, "model": "m", "score": 0},
    ]
    outcomes = csv(json.dumps(rows)).outcomes
    assert outcomes.select("code", "n", "ok").rows() == [("12", 12, True), (None, None, None)]


def test_standard_columns_are_read_in_their_dtype(csv: Any) -> None:
    data = csv(
        "item,model,score,cost_usd,latency_s,timestamp,tags,user_kind,weight\n"
        '1,m,1,0.01,nan,1780315200,"a; b",ideal,2\n'
        '2,m,1,,1.5,2026-06-01T12:00:00Z,"[""a"", ""c""]",,\n'
    )
    assert data.outcomes.select("cost_usd", "latency_s", "tags", "user_kind", "weight").rows() == [
        (0.01, None, ["a", "b"], "ideal", 2.0),
        (None, 1.5, ["a", "c"], None, None),
    ]
    assert data.outcomes["timestamp"].n_unique() == 1


@pytest.mark.parametrize(
    ("column", "cell", "said"),
    [
        ("cost_usd", "cheap", "has a cost_usd that is no number (line 2: 'cheap')"),
        ("cost_usd", "-1", "has a cost_usd below 0 (line 2: '-1')"),
        ("timestamp", "yesterday", "has a timestamp that is no time (line 2: 'yesterday')"),
        ("user_kind", "nice", "has a user_kind that is not one of ideal, non_ideal (line 2: 'nice')"),
    ],
)
def test_a_cell_that_does_not_fit_names_its_line(csv: Any, column: str, cell: str, said: str) -> None:
    with pytest.raises(UnreadableFileError) as caught:
        csv(f"item,model,score,{column}\n1,m,1,{cell}\n", f"{column}={column}")
    assert said in str(caught.value)


def test_nested_values_go_up_one_level_and_deeper_ones_are_left_out(csv: Any) -> None:
    rows = [
        {
            "id": 1,
            "model": {"name": "m", "opts": {"t": 0}},
            "result": {"ok": True},
            "log": [{"x": 1}],
            "tags": ["a", 1],
        },
        {"id": 2, "model": {"name": "m"}, "result": {"ok": False}, "log": [], "tags": []},
    ]
    data = csv(json.dumps(rows), "item=id", "model=model.name", "score=result.ok")
    assert data.outcomes.select("item", "model", "score", "tags").rows() == [
        ("1", "m", 1.0, ["a", "1"]),
        ("2", "m", 0.0, []),
    ]
    assert "dropped as factors, since they hold texts, lists or objects: model.opts, log" in notes(data)
    assert not {"log", "model.opts"} & set(data.outcomes.columns)


def test_a_list_cannot_be_a_score(csv: Any) -> None:
    with pytest.raises(
        UnreadableFileError, match="column 'score' holds lists or objects; score needs one plain value a row"
    ):
        csv(json.dumps([{"item": 1, "model": "m", "score": [1]}]))


@pytest.mark.parametrize("name", ["question", "prompt", "response", "model_answer", "Question Text", "expected_output"])
def test_what_was_asked_and_answered_is_no_factor_however_short(name: str, csv: Any, tmp_path: Path) -> None:
    """Unless the question or the map names it, or it holds codes; a store then holds none of it."""
    text = f"item,model,score,topic,{name}\n1,m,1,some law,Two words\n2,m,0,some maths,one\n"
    data = csv(text)
    assert name not in data.outcomes.columns
    assert "topic" in data.outcomes.columns
    assert f"texts, lists or objects: {name}" in notes(data)
    assert data.outcomes.select("^.*_digest$").width == ("question" in name.lower() or name == "prompt")
    assert name in csv(text.replace("Two words", "A")).outcomes.columns
    path = tmp_path / "x.csv"
    path.write_text(text)
    for named in ({"factors": [name]}, {"where": {name: "Two words"}}):
        assert name in read(path, **named).outcomes.columns  # type: ignore[arg-type]


def test_long_texts_are_no_factors(csv: Any) -> None:
    data = csv(f"item,model,score,answer,short\n1,m,1,{'x' * 1001},{'y' * 1000}\n")
    assert "answer" not in data.outcomes.columns
    assert "short" in data.outcomes.columns
    assert "texts, lists or objects: answer" in notes(data)


def test_a_column_without_a_name_is_left_out(csv: Any) -> None:
    """Pandas writes its index so."""
    data = csv(",item,model,score\n0,1,m,1\n1,2,m,0\n")
    assert data.outcomes["item"].to_list() == ["1", "2"]
    assert "a column without a name is dropped" in notes(data)


def test_nested_parquet_columns(tmp_path: Path) -> None:
    path = tmp_path / "year=2020" / "x[1].parquet"
    path.parent.mkdir()
    frame = pl.DataFrame(
        {
            "item": [1, 2],
            "model": ["m", "m"],
            "result": [{"ok": True, "n": 1}, {"ok": None, "n": 2}],
            "tags": [["a"], None],
            "log": [[1], [2]],
            "blob": [b"x", b"y"],
            "seen": pl.Series(["2026-06-01", "2026-06-02"]).str.to_date(),
        }
    )
    frame.write_parquet(path)
    data = load(path, "score=result.ok")
    assert data.outcomes.select("item", "score", "tags", "result.n", "seen").rows() == [
        ("1", 1.0, ["a"], 1, "2026-06-01"),
        ("2", None, None, 2, "2026-06-02"),
    ]
    assert not {"log", "blob", "year"} & set(data.outcomes.columns)


# Hazards


def test_quoted_newlines_delimiters_and_formulas_are_data(csv: Any) -> None:
    data = csv(NAMED.replace("\n", ",note\n") + '1,m,1,"a\nb, ""c"""\n2,m,0,=cmd()|x!A1\n')
    assert data.outcomes["note"].to_list() == ['a\nb, "c"', "=cmd()|x!A1"]


def test_lines_are_counted_as_an_editor_counts_them(csv: Any) -> None:
    with pytest.raises(UnreadableFileError, match=r"\(line 6: 'sad'\)"):
        csv('item,model,score,note\n1,m,1,"two\nlines"\n\n2,m,1,x\n3,m,sad,y\n')


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (NAMED + "1,m,1\n2,m\n", "line 3 has 2 cells, the header 3"),
        (NAMED + "1,m,1\n2,m,1,1\n", "line 3 has 4 cells, the header 3"),
        (NAMED + '1,m,"1\n2,m,1\n', "line 2 is not delimited text (unexpected end of data); check its quotes"),
        (NAMED + '1,m,"1"x\n', "line 2 is not delimited text"),
        (NAMED, "holds no rows"),
        ("item,item,model,score\n1,1,m,1\n", "column 'item' appears twice in the header"),
        ("{\n", "is not JSON, or is cut off"),
        ("[1, 2]", "record 0 (counted from 0) is not a JSON object"),
        ('[{"item": 1}, "x"]', "record 1 (counted from 0) is not a JSON object"),
        ("[]", "holds no rows"),
        ("", "is empty; a table was expected"),
    ],
)
def test_a_damaged_table_is_refused(csv: Any, text: str, said: str) -> None:
    with pytest.raises(UnreadableFileError, match=r"results\.csv: ") as caught:
        csv(text)
    assert said in str(caught.value)


def test_a_line_of_json_lines_that_is_no_object(csv: Any) -> None:
    with pytest.raises(UnreadableFileError, match=r"line 2 is not a JSON object; every line must be one record"):
        csv('{"item": 1, "model": "m", "score": 1}\n[1]\n', name="x.jsonl")


def test_wrong_encoding_is_refused(csv: Any) -> None:
    with pytest.raises(UnreadableFileError, match="is not utf-8 text"):
        csv((NAMED + "1,Grüße,1\n").encode("latin-1"))


@pytest.mark.parametrize("data", [b"\x89PNG\x00\x00", b"PK\x03\x04abc", b"PAR1" + b"\x00" * 40, b"PAR1"])
def test_what_is_no_table_is_refused(csv: Any, data: bytes) -> None:
    with pytest.raises(UnreadableFileError, match=r"is binary|is an archive|is not a Parquet file"):
        csv(data)


def test_a_parquet_file_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    pl.DataFrame({"item": list(range(5000)), "model": "m", "score": 1}).write_parquet(path)
    data = bytearray(path.read_bytes())
    path.write_bytes(bytes(data[: len(data) // 2]))
    with pytest.raises(UnreadableFileError, match="is not a Parquet file that can be read"):
        load(path)


def test_a_parquet_file_that_makes_polars_panic(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A panic is no ordinary exception; uncaught it would end the reading of all other files too."""

    def panic(*_: object, **__: object) -> None:
        raise pl.exceptions.PanicException("index out of bounds")

    path = tmp_path / "x.parquet"
    pl.DataFrame({"item": ["1"], "model": ["m"], "score": [1]}).write_parquet(path)
    monkeypatch.setattr(pl, "scan_parquet", panic)
    with pytest.raises(UnreadableFileError, match="is not a Parquet file that can be read"):
        load(path)
    monkeypatch.setattr(pl, "read_parquet_schema", panic)
    assert read_head(path).columns == ()


def test_a_name_with_nul_is_no_factor(csv: Any) -> None:
    rows = [{"item": 1, "model": "m", "score": 1, "\u0000place": 9, "\u0000failure": "x", "\u0000state": "error"}]
    outcomes = csv(json.dumps(rows)).outcomes
    assert outcomes["status"].to_list() == ["scored"]
    assert not [name for name in outcomes.columns if "\x00" in name]


def test_a_missing_column_in_json_is_null(csv: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "BLOCK_ROWS", 1)
    rows = [{"item": 1, "model": "m", "score": 1, "a": 1}, {"item": 2, "model": "m", "b": "x"}]
    data = csv(json.dumps(rows))
    assert data.outcomes.select("score", "a", "b").rows() == [(1.0, 1, None), (None, None, "x")]


def test_input_errors_name_the_file(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("a,b\n1,2\n")
    with pytest.raises(InputError, match=r"^nothing could be read: .*x\.csv: there is no column 'q' for item"):
        read(tmp_path, column_map=ColumnMap.from_options(["item=q", "score=b"]))


# Real tables


def test_real_mmlu_pro_predictions(shared_data: Path) -> None:
    """29 models; a prediction that could not be parsed is null, which is not wrong (counts: the file itself)."""
    path = shared_data / "mmlu_pro" / "predictions_long.parquet"
    data = load(path, "item=question_id", "score=correct", "benchmark=@MMLU-Pro", "scenario=category")
    frame = pl.read_parquet(path)
    assert data.outcomes.height == frame.height == 347_215
    assert data.outcomes["status"].value_counts().sort("status").rows() == [
        ("scored", int(frame["correct"].is_not_null().sum())),
        ("unscored", frame["correct"].null_count()),
    ]
    assert data.outcomes["score"].sum() == frame["correct"].sum()
    assert data.runs.height == frame["model"].n_unique() == 29
    assert data.runs["n_unscored"].sum() == frame["correct"].null_count()
    assert data.metrics.select("metric", "kind").rows() == [("correct", "binary")]


def test_files_that_are_all_called_results_take_the_name_of_their_folder(tmp_path: Path) -> None:
    for shift, model in enumerate(("gpt-x", "gpt-y")):
        (tmp_path / model).mkdir()
        (tmp_path / model / "results.json").write_text(
            json.dumps([{"item": f"q{k}", "score": (k + shift) % 2} for k in range(4)])
        )
    data = read(tmp_path)
    assert sorted(set(data.outcomes["model"])) == ["gpt-x", "gpt-y"]


def test_a_whole_number_of_more_than_64_bits_is_a_number(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    rows = [{"item": n, "model": "m", "score": 1, "seed": 2**63 + n} for n in range(2)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert load(path).outcomes["seed"].to_list() == [2.0**63] * 2


def test_a_last_line_without_an_end_is_a_line(csv: Any) -> None:
    assert "line" not in notes(csv("item,model,score\n1,a,0.25\n2,a,0.1"))


@pytest.mark.parametrize(("right", "wrong"), [("✓", "✗"), ("✔\ufe0f", "✘"), ("✅", "❌")])
def test_marks_are_right_and_wrong(csv: Any, right: str, wrong: str) -> None:
    rows = "".join(f"{k},{model},{mark}\n" for k in range(4) for model, mark in (("old", wrong), ("new", right)))
    assert csv(f"id,model,correct\n{rows}").outcomes["score"].to_list() == [0.0, 1.0] * 4


def test_a_comma_before_three_digits_is_asked_about(csv: Any) -> None:
    rows = "".join(f'{k},{model},"{k},608"\n' for k in range(1, 9) for model in ("old", "new"))
    with pytest.raises(InputError, match=r"write 1608 if it parts thousands, 1\.608 if decimals"):
        csv(f"id,model,score\n{rows}")


def test_what_stands_above_a_header_changes_nothing_below(csv: Any) -> None:
    rows = "ID,Old,New\n" + "".join(f"{k},1,{k % 2}\n" for k in range(20))
    assert csv(f"Eval of January\n\n{rows}").outcomes.height == csv(rows).outcomes.height == 40


@pytest.mark.parametrize("rows", [100_000, 1])
def test_a_last_row_that_sums_up_the_others_is_no_item(csv: Any, monkeypatch: pytest.MonkeyPatch, rows: int) -> None:
    monkeypatch.setattr(blocks, "BLOCK_ROWS", rows)
    items = "".join(f"{k},1,{k % 2}\n" for k in range(4))
    data = csv(f"id,old,new\n{items} Mean ,1.0,0.5\n", "models=old,new", "item=id")
    assert set(data.outcomes["item"]) == {"0", "1", "2", "3"}
    assert data.metrics["kind"].item() == "binary"
    assert "rows that sum up others are no items and are left out: 1 ('Mean' in line 6)" in notes(data)


@pytest.mark.parametrize(("last", "n"), [("Mittelwert;68,0 %;70,5 %", 3), ("Mittelwert;68,0 %;61,5 %", 4)])
def test_a_last_row_with_the_means_of_the_others_is_no_item(csv: Any, last: str, n: int) -> None:
    """A row of a word list is one where it is no mean: (67.7 + 61.9 + 74.4) / 3 = 68.0, (70.4 + 63.2 + 78) / 3 = 70.53."""
    rows = "Lesen;67,7 %;70,4 %\nLogik;61,9 %;63,2 %\nMalen;74,4 %;78 %\n"
    data = csv(f"Aufgabe;Modell alt;Modell neu\n{rows}{last}\n", "item=Aufgabe", "models=Modell alt,Modell neu")
    assert data.outcomes["score"].to_list()[:2] == [67.7, 61.9]
    assert (data.outcomes["item"].n_unique(), data.metrics["unit"].item()) == (n, "percent")


def test_costs_may_have_a_currency_and_the_decimal_comma_of_their_column(csv: Any) -> None:
    rows = "1;a;1;$0,0021\n2;a;0;$0,5\n3;a;1;\n"
    data = csv(f"item;model;score;cost\n{rows}", "cost_usd=cost")
    assert data.outcomes["cost_usd"].to_list() == [0.0021, 0.5, None]
    with pytest.raises(InputError, match="a row has a cost_usd in another currency"):
        csv(f"item;model;score;cost\n{rows.replace('$', '€')}", "cost_usd=cost")


@pytest.mark.parametrize(
    "text",
    [
        "id,model,metric,score\n" + "".join(f"{k},a,wer,0.5\n{k},a,acc,1\n" for k in range(3)),
        "id,model,wer,acc\n1,a,0.5,1\n",
    ],
    ids=["rows", "columns"],
)
def test_a_direction_is_that_of_a_metric_wherever_it_stands(csv: Any, text: str) -> None:
    scores = [] if "score" in text else ["score=wer,acc:higher"]
    data = csv(text, *scores, "lower=wer", "higher=acc")
    assert dict(data.metrics.select("metric", "higher_is_better").rows()) == {"wer": False, "acc": True}
    absent = "there is no metric 'typo', of which the map says something; the table has acc, wer"
    if scores:  # the metrics are known before the rows
        with pytest.raises(InputError, match=absent):
            csv(text, *scores, "lower=typo")
    else:
        assert absent in notes(csv(text, "lower=typo"))


def test_how_many_items_are_behind_a_row_is_no_weight_and_said_to_be_none(csv: Any) -> None:
    board = "task,old,new,{}\nmaths,.6,.7,500\nlaw,.5,.6,300\n"
    counted = csv(board.format("n"), "models=old,new", "item=task")
    assert "each row is one item and counts alike, whatever n holds" in notes(counted)
    assert "counts alike" not in notes(csv(board.format("year"), "models=old,new", "item=task"))


def test_a_first_item_of_hundreds_of_models_makes_no_board(tmp_path: Path) -> None:
    rows = "".join(f"q{i},m{j:03d},{(i + j) % 2}\n" for i in range(3) for j in range(250))
    path = tmp_path / "many.csv"
    path.write_text(f"item,model,score\n{rows}")
    data = read(path)
    assert (data.outcomes.height, data.outcomes["item"].n_unique()) == (750, 3)


def test_each_system_may_have_a_total(csv: Any) -> None:
    text = NAMED + "".join(f"{item},{model},1\n" for model in "ab" for item in ("q1", "q2", "Total"))
    assert set(csv(text).outcomes["item"]) == {"q1", "q2"}


def test_items_that_are_called_as_totals_are_items(csv: Any) -> None:
    """Of a word list each row is an item, and so is what stands at the end of nothing else."""
    assert csv(NAMED + "all,a,1\nsum,a,0\nsome,a,1\n").outcomes.height == 3
    assert csv(NAMED + "overall,a,1\noverall,b,0\n").outcomes.height == 2
    tasks = ["abs", "all", "len", "max", "mean", "sum"]
    assert csv(NAMED + "".join(f"{task},{model},1\n" for model in "ab" for task in tasks)).outcomes.height == 12
    wide = "".join(f"{task},1,{int(task != 'len')}\n" for task in tasks)
    assert csv(f"task,old,new\n{wide}", "models=old,new", "item=task").outcomes.height == 12
    assert csv(NAMED + "abs,a,1\nlen,a,0\nMean,a,0.5\n").outcomes.height == 2


def test_the_size_of_a_group_is_no_number_of_trials(csv: Any) -> None:
    """A row with a whole score is one trial; an average of several may be whole, where others are not."""
    rows = "".join(f"{k},{side},{k % 2},8\n" for side in "ab" for k in range(8))
    data = csv(f"item,model,score,n_trials\n{rows}")
    assert data.outcomes["n_trials"].unique().to_list() == [1]
    assert "source_n_trials: each score is whole, as that of one trial is" in notes(data)
    assert csv(f"item,model,score,n_trials\n{rows}9,a,0.5,8\n").outcomes["n_trials"].unique().to_list() == [8]
    assert csv(f"item,model,score,n_trials\n{rows}", "n_trials=n_trials").outcomes["n_trials"].unique().to_list() == [8]


def test_models_that_differ_only_in_case_are_named(csv: Any) -> None:
    said = notes(csv("item,model,score\n1,GPT-4o,1\n1,gpt-4o ,0\n"))
    assert said == ""  # one file is read alone by its loader; the reading of files says it
    path = Path(csv("item,model,score\n1,GPT-4o,1\n1,gpt-4o ,0\n").runs["source"][0])
    assert "'GPT-4o' and 'gpt-4o' differ only in case or blanks" in notes(read(path))


def test_a_level_of_the_files_own_column_of_a_standard_name_can_be_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("item,model,score,status\nq1,a,1,done\nq2,,,cut off\nq1,b,0,done\nq2,b,,done\n")
    data = read(path, where={"source_status": ["done"]}, strict=True)
    assert data.outcomes["source_status"].to_list() == ["done"] * 3
    assert data.where(status="scored").outcomes.height == 2
    its_name = "status has no level 'done'; it has .*; (the|a) file's own column of that name is called source_status"
    with pytest.raises(InputError, match=its_name):
        read(path, where={"status": ["done"]})
    with pytest.raises(InputError, match=its_name):
        data.where(status="done")


def test_a_condition_on_a_mapped_column_never_means_the_files_own_of_that_name(tmp_path: Path) -> None:
    for model, other in (("A", "task"), ("B", "kind")):
        rows = "".join(f"q{k},{model},{'xy'[k % 2]},{'xy'[k < 4]},1\n" for k in range(8))
        (tmp_path / f"{model}.csv").write_text(f"id,model,{other},subject,ok\n{rows}")
    map_ = ColumnMap.from_options(["item=id", "score=ok", "model=model", "task=subject"])
    for data in (read(tmp_path, column_map=map_, where={"task": "y"}), read(tmp_path, column_map=map_).where(task="y")):
        assert data.outcomes.select("model", "item").rows() == [(model, f"q{k}") for model in "AB" for k in range(4)]


def test_a_row_that_is_not_asked_for_may_lack_a_model(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("item,model,score,state\nq1,a,1,ok\nq2,,,crash\nq1,b,0,ok\n")
    with pytest.raises(InputError, match=r"a row has no model; every row needs one \(line 3\)"):
        read(path, strict=True)
    data = read(path, where={"state": ["ok"]}, strict=True)
    assert data.outcomes.select("model", "score").rows() == [("a", 1.0), ("b", 0.0)]
    assert data.runs["model"].to_list() == ["a", "b"]
