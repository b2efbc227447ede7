"""SWE-bench's results by issue: maps of verdicts, the site's files, and the reports of single issues."""

import json
from pathlib import Path
from typing import Any

import pytest

from evalstats import compare
from evalstats.errors import InputError
from evalstats.loaders.base import read_head
from evalstats.loaders.registry import read, sniffed
from evalstats.schema.data import EvalData
from tests.loaders.trees import said as told
from tests.loaders.trees import write

SHA = "0123456789abcdef0123456789abcdef01234567"
ISSUE = {
    "patch_is_None": False,
    "patch_exists": True,
    "patch_successfully_applied": True,
    "resolved": False,
    "infra_failure": False,
    "tests_status": {"FAIL_TO_PASS": {"success": [], "failure": ["t"]}, "PASS_TO_PASS": {"success": [], "failure": []}},
}
PULL = {
    "org": "o",
    "repo": "r",
    "number": 7,
    "valid": False,
    "error_msg": "no test results were captured\nmore",
    "fixed_tests": {},
    "p2p_tests": {},
    "run_result": {"passed_count": 1},
}


def rows(data: EvalData) -> list[tuple[Any, ...]]:
    return data.outcomes.select("model", "item", "status", "score").rows()


def test_verdicts_of_one_system(tmp_path: Path) -> None:
    one, two, three = f"instance_a__b-{SHA}-vnan", f"instance_a__c-{SHA}", "instance_a__c-2"
    data = read(write(tmp_path / "my-system" / "eval_results.json", {one: True, two: False, three: None}))
    assert rows(data) == [
        ("my-system", one, "scored", 1.0),
        ("my-system", two, "scored", 0.0),
        ("my-system", three, "unscored", None),
    ]
    assert data.outcomes["repo"].to_list() == ["a/b", "a/c", "a/c"]
    assert data.runs.select("benchmark", "n_scored", "n_unscored").row(0) == ("SWE-bench Pro", 2, 1)
    assert told(data) == "1 issues have no verdict (true or false) and are unscored"


def test_details_of_one_system_and_of_several(tmp_path: Path) -> None:
    details = {"a__b-1": {"cost": 0.5, "api_calls": 3, "resolved": True}, "a__b-2": {"resolved": "yes", "cost": -1}}
    data = read(write(tmp_path / "one" / "per_instance_details.json", details))
    assert rows(data) == [("one", "a__b-1", "scored", 1.0), ("one", "a__b-2", "unscored", None)]
    assert data.outcomes.select("cost_usd", "api_calls", "value_raw").rows() == [(0.5, 3, None), (None, None, '"yes"')]
    data = read(write(tmp_path / "info.json", {"m1": details, "m2": {"a__b-1": {"resolved": False}}}))
    assert data.models() == ("m1", "m2")
    assert data.runs["n_scored"].to_list() == [1, 1]
    assert "names no model" not in told(data)


def test_a_leaderboard_gives_published_shares_and_outcomes(tmp_path: Path) -> None:
    entry = {"name": "s1", "folder": "2025_s1", "resolved": 50.0, "date": "2025-07-01", "cost": 3.1}
    details = {"a__b-1": {"cost": 0.5, "api_calls": 3, "resolved": True}}
    board = {"name": "Verified", "results": [{**entry, "per_instance_details": details}, {**entry, "name": None}]}
    data = read(write(tmp_path / "leaderboards.json", {"leaderboards": [board, {"name": "Lite", "results": [entry]}]}))
    assert data.aggregates.select("model", "task", "metric", "estimate", "unit").rows() == [
        ("s1", "Verified", "resolved_percent", 50.0, "percent"),
        ("s1", "Lite", "resolved_percent", 50.0, "percent"),
    ]
    assert data.aggregates["date"].cast(str).to_list() == ["2025-07-01"] * 2
    assert rows(data) == [("s1", "a__b-1", "scored", 1.0)]
    assert "1 entries of leaderboards name no system" in told(data)
    assert data.runs.height == 2


def test_reports_of_single_issues_are_one_run(tmp_path: Path) -> None:
    run = tmp_path / "dev" / "lab__m"
    write(run / "a__b-1" / "report.json", {"a__b-1": {**ISSUE, "resolved": True}})
    write(run / "a__b-2" / "report.json", {"a__b-2": ISSUE})
    failed = {**ISSUE, "infra_failure": True, "infra_failure_reason": "no network"}
    write(run / "a__b-3" / "report.json", {"a__b-3": failed})
    write(run / "a__b-4" / "report.json", {"a__b-4": {**ISSUE, "patch_exists": False}})
    (run / "a__b-5").mkdir()
    (run / "a__b-5" / "report.json").write_text('{"a__b-5": {"patch_is_None": false, "resolved": tr')
    write(tmp_path / "dev" / "other" / "a__b-1" / "report.json", {"a__b-1": ISSUE})
    data = read(tmp_path)
    assert data.runs.select("model", "n_scored", "n_error").rows() == [("lab/m", 3, 1), ("other", 1, 0)]
    assert rows(data)[2] == ("lab/m", "a__b-3", "error", None)
    assert data.outcomes["status_reason"][2] == "an infrastructure failure: no network"
    assert data.outcomes["score"][3] == 0
    assert json.loads(data.runs["config"][0]) == {"run_id": "dev"}
    assert "It is dropped from its run" in told(data, "error")


def test_reports_of_multi_swe_bench_are_passed_over(tmp_path: Path) -> None:
    """What `valid` says is no verdict on the issue."""
    with pytest.raises(InputError, match="says whether its tests ran and not whether it is resolved"):
        read(write(tmp_path / "evals" / "pr-7" / "report.json", PULL))


@pytest.mark.parametrize(
    "content",
    [
        '{"a__b-1": true, "a__b-1": false, "a__b-2": true}',
        '{\n  "a__b-1": true,\n  "a__b-1": false,\n  "a__b-2": true\n}\n',
        f'{{"a__b-1": true, "a__b-1": false, "a__b-2": {{"resolved": true, "cost": {"9" * 5000}}}}}',
    ],
)
def test_an_issue_that_stands_twice_counts_once(tmp_path: Path, content: str) -> None:
    path = tmp_path / "s" / "eval_results.json"
    path.parent.mkdir()
    path.write_text(content)
    data = read(path)
    assert data.outcomes["score"].to_list() == [1.0, 1.0]
    assert "1 of 3 issues are dropped (the name appeared before, and the first counts): a__b-1" in told(data, "error")


def test_a_board_without_systems_is_refused(tmp_path: Path) -> None:
    board = {"leaderboards": [{"name": "x", "results": [{"resolved": 3}]}]}
    with pytest.raises(InputError, match="none of its leaderboards could be read"):
        read(write(tmp_path / "x.json", board))


@pytest.mark.parametrize(
    ("content", "own"),
    [
        ({"a__b-1": True, "a__b-2": False}, True),
        ({"o/r:pr-1": False}, True),
        ({"a__b-1": ISSUE}, True),
        ({"m": {"a__b-1": {"cost": 1, "resolved": True}}}, True),
        (PULL, True),
        ({"verbose": True, "debug": False}, False),
        ({"a__b-1": True, "n": 3}, False),
        ({"a": {"score": 1}}, False),
        ({}, False),
    ],
)
def test_detection(tmp_path: Path, content: object, own: bool) -> None:
    found, _ = sniffed(read_head(write(tmp_path / "x.json", content)))
    assert (found is not None and "swe-bench" in found[0].name) == own


def test_systems_that_saw_other_issues_pair_on_shared_ones(tmp_path: Path) -> None:
    for name, first, solved in (("one", 0, 15), ("two", 10, 45)):
        verdicts = {f"instance_a__b-{k}": k < solved for k in range(first, first + 40)}
        write(tmp_path / name / "eval_results.json", verdicts)
    result = compare(read(tmp_path), "one", "two")
    assert result.n_items == 30
    assert result.estimate == pytest.approx(25 / 30)


def test_real_shares(shared_data: Path) -> None:
    """Resolved of four models on 500 issues, counted in the raw file."""
    path = shared_data / "swebench_verified_mini" / "info_for_leaderboard.json"
    raw = json.loads(path.read_text())
    data = read(path)
    assert data.outcomes.height == 2000
    assert set(data.models()) == set(raw)
    for model, issues in raw.items():
        own = data.outcomes.filter(model=model)
        assert own["score"].sum() == sum(issue["resolved"] for issue in issues.values())
        assert own["cost_usd"].sum() == pytest.approx(sum(issue["cost"] for issue in issues.values()))
