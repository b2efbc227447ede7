"""Scores that two columns make: by the map, by names alone, and in a frame."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import evalstats as es
from evalstats.errors import InputError
from evalstats.loaders import expressions
from evalstats.loaders.column_map import ColumnMap
from evalstats.loaders.registry import read
from evalstats.schema.data import EvalData
from tests.loaders.trees import everything_said, offered

COUNTS = "variant,users,conversions\nA,1000,120\nB,1010,151\n"
ANSWERS = "qid,gold,pred\n1,yes,yes\n2,no, no\n3,maybe,yes\n4,no,\n"


@pytest.fixture
def table(tmp_path: Path) -> Any:
    def write(text: str, *options: str) -> EvalData:
        path = tmp_path / "t.csv"
        path.write_text(text, encoding="utf-8")
        return read(path, column_map=ColumnMap.from_options(options), strict=True)

    return write


def test_an_answer_is_right_where_it_is_the_one_expected(table: Any) -> None:
    """Blanks around it are none of it; numbers are compared as such; no answer is no score."""
    found = table(ANSWERS, "score=pred==gold").outcomes
    assert found.select("item", "metric", "score").rows() == [
        ("1", "pred==gold", 1.0),
        ("2", "pred==gold", 1.0),
        ("3", "pred==gold", 0.0),
        ("4", "pred==gold", None),
    ]
    numbers = table("id,gold,pred\n1,2,2.0\n2,1e3,1000\n3,2,3\n", "item=id", "score=pred == gold").outcomes
    assert numbers["score"].to_list() == [1.0, 1.0, 0.0]


def test_a_count_of_another_is_a_share_of_the_trials_of_an_item(table: Any) -> None:
    data = table("problem,model,n,c\np0,a,10,1\np1,a,10,9\np0,b,10,4\np1,b,5,5\n", "item=problem", "score=c/n")
    assert data.outcomes.select("model", "score", "n_trials").rows() == [
        ("a", 0.1, 10),
        ("a", 0.9, 10),
        ("b", 0.4, 10),
        ("b", 1.0, 5),
    ]


def test_a_share_on_a_scale_of_percent_is_one_of_a_hundred(table: Any) -> None:
    data = table("problem,model,n,c\np0,a,10,1\np0,b,5,5\n", "item=problem", "score=c/n", "scale=percent")
    assert data.outcomes["score"].to_list() == [10.0, 100.0]
    assert data.metrics["unit"].to_list() == ["percent"]


def test_counts_of_an_a_b_test_are_items_of_their_own(table: Any) -> None:
    data = table(COUNTS, "score=conversions/users")
    means = data.outcomes.group_by("model").agg(pl.col("score").sum(), pl.len(), pl.col("item").n_unique().alias("ids"))
    assert means.sort("model").rows() == [("A", 120.0, 1000, 1000), ("B", 151.0, 1010, 1010)]
    said = es.compare(data, "A", "B")
    assert said.estimate == pytest.approx(151 / 1010 - 120 / 1000)
    rows = [
        {"item": f"{side}{k}", "model": side, "score": int(k < right)}
        for side, n, right in (("A", 1000, 120), ("B", 1010, 151))
        for k in range(n)
    ]
    by_hand = es.compare(es.from_frame(pl.DataFrame(rows)), "A", "B", paired=False)
    assert (said.conf_low, said.conf_high) == (by_hand.conf_low, by_hand.conf_high)


def test_the_items_of_a_whole_table_are_bounded(table: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A table of several blocks, each of which has fewer."""
    monkeypatch.setattr(expressions, "_MOST_ITEMS", 2_500)
    monkeypatch.setattr("evalstats.loaders.blocks.BLOCK_ROWS", 1_000)
    with pytest.raises(InputError, match=r"passed/total counts more than .* items"):
        table("arm,passed,total\n" + "new,1,1\n" * 3_000, "score=passed/total", "item=#row")


def test_arms_of_as_many_are_no_pairs_either(table: Any) -> None:
    data = table("arm,passed,total\nold,30,50\nnew,40,50\n", "score=passed/total")
    found = es.compare(data, "old", "new")
    assert found.p_value == es.compare(data, "old", "new", paired=False).p_value
    assert not any("paired" in note.text for note in found.notes)  # row k of the one is no row of the other


def test_the_count_may_be_called_as_our_own(table: Any) -> None:
    data = table("variant,n_trials,passed\nA,10,4\nB,20,5\n", "item=#row", "model=variant", "score=passed/n_trials")
    assert data.outcomes.height == 30


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        ("A,10,12", "conversions/users is no count of another at 2"),
        ("A,0,0", "is no count of another"),
        ("A,,1", "is no count of another"),
        ("A,1/2,1", "is no count of another"),
        ("A,2000000,1", "counts more than 1,000,000 items"),
    ],
)
def test_what_counts_nothing_is_refused(table: Any, rows: str, why: str) -> None:
    with pytest.raises(InputError, match=why):
        table(f"variant,users,conversions\n{rows}\nB,10,1\n", "score=conversions/users", "item=#row", "model=variant")


def test_a_column_of_that_name_is_that_column(table: Any) -> None:
    data = table("item,a,b,a/b\n1,1,2,0.25\n2,1,2,0.75\n", "score=a/b")
    assert data.outcomes["score"].to_list() == [0.25, 0.75]
    with pytest.raises(InputError, match="there is no column 'a/c' for score"):
        table("item,a,b\n1,1,2\n", "item=item", "score=a/c")


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (ANSWERS, ["--map item=qid --map score=pred==gold"]),
        (
            COUNTS,
            ["--map 'item=#row' --map score=conversions/users --map model=variant"],
        ),
        (
            "problem,model,n_samples,n_correct\np0,a,9,1\np0,b,9,4\np1,a,9,9\np1,b,9,5\n",
            ["--map item=problem --map score=n_correct/n_samples --map model=model"],
        ),
        (
            "id,model,passed,total\nq1,a,2,4\nq1,b,2,5\nq2,a,4,4\nq2,b,3,5\nq3,a,1,4\nq3,b,1,5\n",
            ["--map item=id --map score=passed/total --map model=model"],
        ),
        (
            "id,model,num_passed,num_tests\nq1,a,2,4\nq1,b,2,5\nq2,a,4,4\nq2,b,3,5\n",
            ["--map item=id --map score=num_passed/num_tests --map model=model"],
        ),
    ],
)
def test_names_that_say_so_plainly_are_offered(tmp_path: Path, text: str, lines: list[str]) -> None:
    path = tmp_path / "t.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as refused:
        read(path, strict=True)
    assert offered(str(refused.value)) == lines


def test_the_count_of_a_group_is_no_count_of_its_rows(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    rows = "".join(f"{group},50,15,{k % 3 // 2}\n" for group in ("control", "treatment") for k in range(50))
    path.write_text(f"Group,n_trials,n_conversions,Conversion\n{rows}", encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read(path, strict=True)
    assert "score=Conversion" in str(caught.value)
    assert "n_conversions/n_trials" not in str(caught.value)


def test_a_count_that_is_asked_for_is_the_score(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("id,model,passed,total\nq1,a,2,4\nq1,b,2,5\nq2,a,4,4\nq2,b,3,5\n", encoding="utf-8")
    assert read(path, metrics=["passed"]).outcomes["score"].to_list() == [2, 2, 4, 3]


def test_a_frame_has_expressions_too() -> None:
    frame = pl.DataFrame({"qid": ["a", "b"], "gold": [1, 0], "pred": [1, 1]})
    data = es.from_frame(frame, item="qid", score="pred==gold", model="@m")
    assert data.outcomes["score"].to_list() == [1.0, 0.0]


def test_published_counts_make_shares_with_their_n(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("model,correct,total\ngpt-4o,405,500\nclaude-3,395,500\n", encoding="utf-8")
    assert "read with --map score=correct/total" in everything_said(found := read(path))
    assert found.aggregates.select("model", "metric", "estimate", "n", "unit").rows() == [
        ("gpt-4o", "correct/total", 0.81, 500, "proportion"),
        ("claude-3", "correct/total", 0.79, 500, "proportion"),
    ]
    assert read(path, column_map=ColumnMap.from_options(["score=correct/total"])).aggregates.equals(found.aggregates)
    path.write_text("model,correct,total,elo\ngpt-4o,405,500,1200\nclaude-3,395,500,1100\n", encoding="utf-8")
    assert "counts make a share: --map score=correct/total" in everything_said(read(path))


def test_a_count_beside_rates_is_no_metric(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("model,ndcg,n_queries,Scenarios (n)\na,0.51,200,12\nb,0.44,200,12\n", encoding="utf-8")
    assert set(read(path).aggregates["metric"]) == {"ndcg"}


@pytest.mark.parametrize("n", [20, 600])
def test_forecasts_are_no_scores_however_many_there_are(tmp_path: Path, n: int) -> None:
    rows = "".join(
        f"will it {k}?,{model},0.{(k * p) % 9},{k % 2}\n" for k in range(n) for p, model in ((3, "m"), (7, "n"))
    )
    path = tmp_path / "t.csv"
    path.write_text(f"question,model,probability,outcome\n{rows}")
    with pytest.raises(InputError, match="holds forecasts of 'outcome'"):
        read(path)
