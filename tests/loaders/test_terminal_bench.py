"""Terminal-Bench: trials of a run, once, and failures of the harness told apart from tasks that were not solved."""

from pathlib import Path
from typing import Any

import pytest

import evalstats as es
from evalstats.errors import UnreadableFileError
from evalstats.loaders.base import Source, with_digest
from evalstats.loaders.formats.terminal_bench import FORMAT
from evalstats.loaders.registry import read, read_source
from tests.loaders.trees import said as told
from tests.loaders.trees import write

FOLDER = Path("core@0.1.1", "20250906_my-agent_lab-m-4")


def trial(task: str, number: int = 1, resolved: object = True, mode: str = "unset", **more: Any) -> dict[str, Any]:
    return {
        "id": f"{task}-{number}",
        "trial_name": f"{task}.{number}-of-2.run",
        "task_id": task,
        "instruction": "do it",
        "is_resolved": resolved,
        "failure_mode": mode,
        "parser_results": {"test_a": "passed"},
        "total_input_tokens": 100,
        "total_output_tokens": None,
        "trial_started_at": "2025-09-06T10:00:00+00:00",
        "agent_started_at": "2025-09-06T10:00:10+00:00",
        "agent_ended_at": "2025-09-06T10:01:10+00:00",
        **more,
    }


def run(root: Path, *trials: object, folder: Path = FOLDER, **more: Any) -> Path:
    solved = [part.get("is_resolved") is True for part in trials if isinstance(part, dict)]
    content = {"id": "x", "results": list(trials), "n_resolved": sum(solved), "accuracy": 0.5, **more}
    return write(root / folder / "results.json", content)


def test_a_run_by_hand(tmp_path: Path) -> None:
    run(
        tmp_path,
        trial("a", 1),
        trial("a", 2, resolved=False),
        trial("b", 1, resolved=False, mode="agent_timeout"),
        trial("b", 2, mode="agent_timeout"),  # solved before the time ran out
        trial("c", 1, resolved=None, mode="parse_error"),
        trial("c", 2, resolved=None),
    )
    data = read(tmp_path)
    assert data.outcomes.select("item", "trial", "status", "score", "status_reason").rows() == [
        ("a", 0, "scored", 1.0, None),
        ("a", 1, "scored", 0.0, None),
        ("b", 0, "scored", 0.0, "agent_timeout"),
        ("b", 1, "scored", 1.0, None),
        ("c", 0, "error", None, "the harness failed: parse_error"),
        ("c", 1, "unscored", None, "there is no verdict"),
    ]
    first: dict[str, Any] = data.outcomes.row(0, named=True)
    assert (first["model"], first["system"], first["latency_s"]) == ("lab-m-4", "lab-m-4 (my-agent)", 60.0)
    assert (first["input_tokens"], first["locator"]) == (100, "results[0]")
    assert data.runs.select("task_version", "harness", "n_scored", "n_error", "n_unscored").rows() == [
        ("0.1.1", "Terminal-Bench", 4, 1, 1)
    ]
    assert "1 trials ended in a failure of the harness" in told(data)


def test_trials_below_the_file_of_their_run_are_not_counted_twice(tmp_path: Path) -> None:
    run(tmp_path, trial("a", 1), trial("a", 2))
    for number in (1, 2):
        write(tmp_path / FOLDER / "a" / f"a.{number}-of-2" / "results.json", trial("a", number))
    assert read(tmp_path).outcomes.height == 2


def test_trials_without_a_file_of_their_run_are_put_together(tmp_path: Path) -> None:
    for number in (1, 2):
        write(tmp_path / FOLDER / "a" / f"a.{number}-of-2" / "results.json", trial("a", number))
    write(tmp_path / "core@0.1.1" / "20250907_other_n" / "a" / "a.1-of-1" / "results.json", trial("a"))
    data = read(tmp_path)
    assert sorted(data.runs["model"]) == ["lab-m-4", "n"]
    assert sorted(data.outcomes.select("model", "trial").rows()) == [("lab-m-4", 0), ("lab-m-4", 1), ("n", 0)]


def test_metadata_name_agent_and_model(tmp_path: Path) -> None:
    path = run(tmp_path, trial("a"), folder=Path("run-7"))
    about = {"run_id": "7", "agent_name": "ag", "model_name": "lab/m", "dataset_name": "core", "dataset_version": "2"}
    write(path.parent / "run_metadata.json", about)
    data = read(tmp_path)
    assert data.runs.select("model", "system", "task_version").rows() == [("lab/m", "lab/m (ag)", "2")]
    assert not data.problems
    (path.parent / "run_metadata.json").unlink()
    assert "Agent and model stand in the name of a folder" in told(read(tmp_path))


def test_two_runs_pair_by_task(tmp_path: Path) -> None:
    for model, good in (("a", 12), ("b", 6)):
        run(tmp_path, *[trial(f"t{k}", 1, k < good) for k in range(20)], folder=Path("core", f"20250906_x_{model}"))
    found = es.compare(read(tmp_path), "b", "a")
    assert found.n_items == 20
    assert found.estimate == pytest.approx(0.3)


def test_results_that_are_no_trials_are_counted(tmp_path: Path) -> None:
    data = read(run(tmp_path, trial("a"), "lost", trial("")))
    assert data.outcomes.height == 1
    assert told(data, "error").split("\n") == [
        "1 of 3 trials are dropped (a bare text): results[1]",
        "1 of 3 trials are dropped (no task_id): results[2]",
    ]
    with pytest.raises(UnreadableFileError, match="none of its trials could be read"):
        read_source(FORMAT, with_digest(Source(path=run(tmp_path / "x"))))
