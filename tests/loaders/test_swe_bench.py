"""SWE-bench's reports: lists of ids as outcomes, four states that never mix, and names that only files and folders have."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from evalstats import compare
from evalstats.errors import InputError, UnreadableFileError
from evalstats.loaders.base import read_head
from evalstats.loaders.formats.swe_bench import system_of
from evalstats.loaders.registry import read, sniffed
from evalstats.schema.data import EvalData
from tests.loaders.trees import everything_said as told

# One issue in each list, as the harness writes schema version 2; infrastructure failures stand in a second list, too.
REPORT: dict[str, Any] = {
    "total_instances": 9,
    "submitted_instances": 8,
    "completed_instances": 5,
    "resolved_instances": 1,
    "unresolved_instances": 3,
    "infra_failure_instances": 2,
    "ambiguous_failure_instances": 1,
    "empty_patch_instances": 1,
    "error_instances": 2,
    "completed_ids": ["a__r-1", "a__r-2", "a__r-3", "a__r-4", "a__r-9"],
    "incomplete_ids": ["a__r-8"],
    "empty_patch_ids": ["b__s-5"],
    "submitted_ids": ["a__r-1", "a__r-2", "a__r-3", "a__r-4", "b__s-5", "b__s-6", "b__s-7", "a__r-9"],
    "resolved_ids": ["a__r-1"],
    "unresolved_ids": ["a__r-2", "a__r-3", "a__r-4"],
    "infra_failure_ids": ["a__r-3", "b__s-6"],
    "ambiguous_failure_ids": ["a__r-4"],
    "failure_reasons": {"a__r-3": "no network", "b__s-6": "disk full", "a__r-4": "timed out"},
    "error_ids": ["b__s-6", "b__s-7"],
    "schema_version": 2,
}


@pytest.fixture
def report(tmp_path: Path) -> Any:
    def write(content: object, name: str = "lab__model-4.1.dev.json") -> EvalData:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(content))
        return read(path)

    return write


def states(data: EvalData) -> dict[str, tuple[str, float | None]]:
    return {
        item: (status, score) for item, status, score in data.outcomes.select("item", "status", "score").iter_rows()
    }


def test_every_state_of_a_report(report: Any) -> None:
    data = report(REPORT)
    assert states(data) == {
        "a__r-1": ("scored", 1.0),
        "a__r-2": ("scored", 0.0),
        "a__r-3": ("error", None),
        "a__r-4": ("scored", 0.0),
        "b__s-5": ("scored", 0.0),
        "b__s-6": ("error", None),
        "b__s-7": ("error", None),
        "a__r-9": ("unscored", None),
    }
    rows = {row["item"]: row for row in data.outcomes.iter_rows(named=True)}
    assert rows["a__r-3"]["status_reason"] == "an infrastructure failure, as the harness found: no network"
    assert rows["a__r-4"]["failure_reason"] == "timed out"
    assert (rows["b__s-5"]["value_raw"], rows["b__s-5"]["repo"]) == ("empty_patch_ids", "b/s")
    run = data.runs.row(0, named=True)
    assert (run["model"], run["n_scored"], run["n_error"], run["n_unscored"]) == ("lab/model-4.1", 4, 3, 1)
    assert json.loads(run["config"])["run_id"] == "dev"
    assert "1 issues have no prediction; they are missing, not failed (a__r-8)" in told(data)
    metric = data.metrics.row(0, named=True)
    assert (metric["metric"], metric["kind"], metric["higher_is_better"]) == ("resolved", "binary", True)


def test_a_report_that_mixes_resolved_with_id_lists(report: Any) -> None:
    """As published for Multi-SWE-bench: `resolved`, and `*_ids` for the rest."""
    mixed = {
        "completed_ids": ["a__r-1", "a__r-2"],
        "resolved": ["a__r-1"],
        "unresolved_ids": ["a__r-2"],
        "error_ids": [],
    }
    data = report(mixed, "java/20240825_agent_x/results/results.json")
    assert states(data) == {"a__r-1": ("scored", 1.0), "a__r-2": ("scored", 0.0)}
    assert data.models() == ("agent_x",)


def test_tasks_of_multi_swe_bench_that_failed_are_errors_and_not_missing(report: Any) -> None:
    final = {"submitted_ids": ["o/r:pr-1", "o/r:pr-2"], "completed_ids": ["o/r:pr-1"], "incomplete_ids": ["o/r:pr-2"]}
    final |= {"resolved_ids": ["o/r:pr-1"], "unresolved_ids": [], "empty_patch_ids": [], "error_ids": ["o/r:pr-2"]}
    data = report(final, "my-model/final_report.json")
    assert states(data) == {"o/r:pr-1": ("scored", 1.0), "o/r:pr-2": ("error", None)}
    assert data.outcomes["benchmark"].unique().to_list() == ["Multi-SWE-bench"]
    assert data.outcomes["repo"].to_list() == ["o/r", "o/r"]


def test_lists_of_the_first_harness(report: Any) -> None:
    old: dict[str, list[str]] = {
        "no_generation": ["a__r-1"],
        "generated": [f"a__r-{k}" for k in range(2, 9)],
        "with_logs": [f"a__r-{k}" for k in range(2, 8)],
        "install_fail": ["a__r-2"],
        "reset_failed": [],
        "no_apply": ["a__r-3"],
        "applied": [f"a__r-{k}" for k in range(4, 8)],
        "test_errored": ["a__r-4"],
        "test_timeout": ["a__r-5"],
        "resolved": ["a__r-6"],
    }
    found = states(report(old))
    assert [found[f"a__r-{k}"][0] for k in range(1, 9)] == [
        "scored", "error", "scored", "error", "error", "scored", "scored", "error",
    ]  # fmt: skip
    assert [k for k in range(1, 9) if found[f"a__r-{k}"] == ("scored", 1.0)] == [6]


def test_a_file_that_names_only_resolved_issues_says_so(report: Any) -> None:
    data = report(
        {"no_generation": ["a__r-3"], "no_logs": ["a__r-4"], "resolved": ["a__r-1"]}, "x/results/results.json"
    )
    assert states(data) == {"a__r-1": ("scored", 1.0), "a__r-3": ("scored", 0.0), "a__r-4": ("error", None)}
    assert "names the 1 issues that were resolved and not those that were tried in vain" in told(data)
    assert "its mean says nothing" in data.runs["note"].item()


def test_completed_without_a_list_of_unresolved_ones_is_not_resolved(report: Any) -> None:
    found = states(report({"completed_ids": ["a__r-1", "a__r-2"], "resolved_ids": ["a__r-1"]}))
    assert found["a__r-2"] == ("scored", 0.0)


def test_contradictions_repetitions_and_odd_entries(report: Any) -> None:
    content = {"resolved_ids": ["a__r-1", "a__r-1", 7, None], "unresolved_ids": ["a__r-1"], "error_ids": "all"}
    data = report({**content, "resolved_instances": 5})
    assert states(data) == {"a__r-1": ("unscored", None)}
    for part in (
        "1 issues are unscored: each is among the resolved and elsewhere",
        "2 entries of resolved_ids are not ids",
        "1 entries of resolved_ids repeat an id and count once",
        "1 entries of error_ids are not ids",
        "resolved_ids holds 1 ids where the report counts 5",
    ):
        assert part in told(data)


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("gpt-4.1.json", "gpt-4.1"),
        ("claude-3.5-sonnet.json", "claude-3.5-sonnet"),
        ("gpt-4.1.20250101_a.json", "gpt-4.1"),
        ("a__b.run.json.gz", "a/b"),
        ("results.json", "folder"),
    ],
)
def test_names(name: str, model: str) -> None:
    assert system_of(Path("/x/folder") / name)[0] == model


def test_a_run_that_nothing_names_is_told(report: Any) -> None:
    assert "the file names no model, so that mine, from its own name" in told(report(REPORT, "mine.json"))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ({"resolved_ids": [], "error_ids": []}, "none of its lists of ids could be read"),
        ({"resolved_ids": {}, "error_ids": 3}, "none of its lists of ids could be read"),
    ],
)
def test_a_report_without_issues_is_refused(report: Any, content: object, words: str) -> None:
    with pytest.raises(InputError, match=words):
        report(content)


def test_a_file_that_is_cut_off_is_refused_in_words(tmp_path: Path) -> None:
    path = tmp_path / "m.run.json"
    path.write_text(json.dumps(REPORT)[:-40])
    with pytest.raises(UnreadableFileError, match="is cut off"):
        read(path, strict=True)


def test_packed_and_detected(tmp_path: Path) -> None:
    path = tmp_path / "m.run.json.gz"
    path.write_bytes(gzip.compress(json.dumps(REPORT, indent=4).encode()))
    found, _ = sniffed(read_head(path))
    assert found is not None
    assert found[0].name == "swe-bench"
    assert read(path).outcomes.height == 8


def test_two_systems_pair_by_issue(tmp_path: Path) -> None:
    ids = [f"a__r-{k}" for k in range(40)]
    for name, resolved in (("one", ids[:10]), ("two", ids[:30])):
        rest = [item for item in ids if item not in resolved]
        content = {"completed_ids": ids, "resolved_ids": resolved, "unresolved_ids": rest, "error_ids": []}
        (tmp_path / f"{name}.run.json").write_text(json.dumps(content))
    result = compare(read(tmp_path), "one", "two")
    assert result.n_items == 40
    assert result.estimate == pytest.approx(0.5)
