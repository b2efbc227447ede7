"""Shapes of files that people publish: what opens, what is asked about, and what is never proposed."""

import json
from pathlib import Path

import pytest

import evalstats as es
from evalstats.errors import InputError
from tests.loaders.trees import to_copy


def of_json(folder: Path, document: object, name: str = "m.json") -> Path:
    path = folder / name
    path.write_text(json.dumps(document))
    return path


def refusal(path: Path) -> str:
    with pytest.raises(InputError) as refused:
        es.read(path)
    return str(refused.value)


def test_the_numbers_of_one_run_are_published_though_the_file_is_called_by_a_number(tmp_path: Path) -> None:
    run = {"n": 30, "wall_sec": 19.5, "f1": 0.4, "p50_latency_ms": 2100.0, "calls": 90}
    found = es.read(of_json(tmp_path, run, "07.json")).aggregates
    assert found.select("model", "metric", "estimate", "n").rows() == [("07", "f1", 0.4, 30)]


def test_two_groups_of_a_test_are_two_systems(tmp_path: Path) -> None:
    groups = {f"group_{name}": {"n": 500, "approval_rate": rate} for name, rate in (("a", 0.62), ("b", 0.71))}
    found = es.read(of_json(tmp_path, {"n_per_group": 500, **groups, "test": {"z": 9.6, "p": 0.0}})).aggregates
    assert found.select("model", "estimate", "n").rows() == [("group_a", 0.62, 500), ("group_b", 0.71, 500)]


def test_averages_with_their_spread_are_no_items(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("budget,f1,prec,f1_sd\n" + "".join(f"{k / 10},{0.5 + k / 90},{0.6},{0.02}\n" for k in range(9)))
    said = refusal(path)
    assert "f1_sd, but none is plainly the item. " in said
    assert to_copy(said) == ["--map item=COLUMN --map score=f1"]


def test_what_stands_among_scores_is_a_score_and_counts_are_none(tmp_path: Path) -> None:
    rows = [
        {"id": k, "model": "m", "metrics": {"answer": k % 2, "n_tokens": 50 + k}, "ntokens": {"usr": 7 + k}}
        for k in range(20)
    ]
    found = es.read(of_json(tmp_path, rows)).outcomes
    assert found["metric"].unique().to_list() == ["metrics.answer"]


def test_options_to_choose_from_are_no_sides_of_a_vote(tmp_path: Path) -> None:
    rows = [
        {"id": k, "question": f"q {k}", "choices": {"A": f"x{k}", "B": f"y{k}"}, "correct_answer": "A", "note": "B"}
        for k in range(9)
    ]
    assert "winner" not in refusal(of_json(tmp_path, rows))


def test_a_report_of_tests_that_all_passed_is_offered(tmp_path: Path) -> None:
    rows = [{"file": "t.py", "name": f"test_{k}", "status": "PASSED"} for k in range(9)]
    assert "score=status" in refusal(of_json(tmp_path, rows)).replace("'", "")


def test_no_response_is_offered_as_no_score(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("id,correct\n1,correct\n2,incorrect\n3,no-response\n4,correct\n")
    assert "no-response" in refusal(path)
    assert "unscored" in refusal(path)


def test_a_column_of_numbers_names_the_systems_where_the_user_says_so(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("budget,f1,f1_sd\n" + "".join(f"{k / 10},{0.5 + k / 90},{0.02}\n" for k in range(9)))
    found = es.read(path, format="score-table", column_map=es.ColumnMap.from_options(["model=budget"])).aggregates
    assert found["model"].to_list()[:2] == ["0.0", "0.1"]
    assert set(found["metric"]) == {"f1"}
