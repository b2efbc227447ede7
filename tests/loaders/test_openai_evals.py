"""OpenAI evals: a log worked out by hand, samples that ended in nothing, and logs that are cut off."""

import json
from pathlib import Path
from typing import Any

import pytest

from evalstats import compare
from evalstats import read as read_files
from evalstats.errors import UnreadableFileError
from evalstats.loaders.base import Source, read_head, with_digest
from evalstats.loaders.formats.openai_evals import FORMAT
from evalstats.loaders.registry import read_source, sniffed
from evalstats.schema.data import EvalData

RUN = "2601010000ABCD"


def spec(*models: str, cls: str = "evals.elsuite.basic.match:Match", **changes: Any) -> dict[str, Any]:
    config = {"completion_fns": list(models), "eval_spec": {"cls": cls, "args": {}}, "seed": 1, "max_samples": None}
    held = {
        "completion_fns": list(models),
        "eval_name": "sums.dev.v0",
        "base_eval": "sums",
        "split": "dev",
        "run_config": config,
        "created_by": "",
        "run_id": RUN,
        "created_at": "2026-01-01 00:00:00.123456",
    }
    return {"spec": {**held, **changes}}


def event(kind: str, sample: object, **data: Any) -> dict[str, Any]:
    about = {"run_id": RUN, "event_id": 0, "sample_id": sample, "type": kind, "data": data}
    return {**about, "created_by": "", "created_at": "2026-01-01 00:00:01.000000+00:00"}


def match(index: int, correct: object = True) -> dict[str, Any]:
    return event("match", f"sums.dev.{index}", correct=correct, expected=["4"], picked=None, sampled="4", options=["4"])


def report(**values: Any) -> dict[str, Any]:
    return {"final_report": values, "run_id": RUN}


def write(path: Path, *rows: object) -> Path:
    text = "".join(f"{row if isinstance(row, str) else json.dumps(row)}\n" for row in rows)
    path.write_text(text, encoding="utf-8")
    return path


def load(path: Path) -> EvalData:
    return read_source(FORMAT, with_digest(Source(path=path)))


def test_rows_of_a_log(tmp_path: Path) -> None:
    sampling = [event("sampling", f"sums.dev.{i}", prompt="2+2", sampled=["4"]) for i in (1, 0)]
    rows = [spec("gpt-x"), sampling[0], match(1, False), sampling[1], match(0), report(accuracy=0.5, boostrap_std=0.02)]
    path = write(tmp_path / "x.jsonl", *rows)
    found = sniffed(read_head(path))[0]
    assert found is not None
    assert (found[0].name, found[1].confidence) == ("openai-evals", 0.95)
    data = load(path)
    assert data.outcomes.select("model", "benchmark", "item", "trial", "metric", "score", "locator").rows() == [
        ("gpt-x", "sums.dev.v0", "sums.dev.1", 0, "correct", 0.0, "line 3"),
        ("gpt-x", "sums.dev.v0", "sums.dev.0", 0, "correct", 1.0, "line 5"),
    ]
    (run,) = data.runs.to_dicts()
    assert (run["harness"], run["status"], run["judge"]) == ("OpenAI evals", "success", None)
    assert (run["n_scored"], run["n_error"], run["n_unscored"]) == (2, 0, 0)
    assert run["run"].startswith(f"x.{RUN}~")
    assert run["timestamp"].isoformat() == "2026-01-01T00:00:00.123456+00:00"
    assert data.metrics.select("metric", "kind", "higher_is_better", "primary").rows() == [
        ("correct", "binary", True, True)
    ]
    # the harness spells bootstrap so
    assert data.aggregates.select("metric", "estimate", "std_error", "n").rows() == [("accuracy", 0.5, 0.02, 2)]
    assert data.problems == ()


def test_metrics_are_numbers_under_their_own_names(tmp_path: Path) -> None:
    rows = [
        spec("gpt-x", "gpt-judge", cls="evals.elsuite.modelgraded.classify:ModelBasedClassify"),
        event("metrics", "s.0", choice="Y", score=1.0, metascore=True, turns=3, note="long", more={"a": 1}),
        event("metrics", "s.1", choice="N", score=None, correct=0.25),
        event("metrics", "s.2", choice="__invalid__", score=0.0),
        report(score=1.0, **{"counts/Y": 1, "counts/__invalid__": 1}),
    ]
    data = load(write(tmp_path / "x.jsonl", *rows))
    assert data.outcomes.select("item", "metric", "score", "status", "value_raw").rows() == [
        ("s.0", "score", 1.0, "scored", None),
        ("s.0", "metascore", 1.0, "scored", None),
        ("s.0", "turns", 3.0, "scored", None),
        ("s.1", "score", None, "unscored", None),
        ("s.1", "metrics/correct", 0.25, "scored", None),
        ("s.2", "score", None, "unscored", "0.0"),
    ]
    (run,) = data.runs.to_dicts()
    assert (run["model"], run["judge"]) == ("gpt-x", "gpt-judge")
    better = {row["metric"]: row["higher_is_better"] for row in data.metrics.to_dicts()}
    assert better == {"score": True, "metascore": True, "turns": None, "metrics/correct": None}
    assert "in 1 samples the judge's choice could not be read" in " ".join(problem.message for problem in data.problems)
    assert data.aggregates["metric"].to_list() == ["score", "counts/Y", "counts/__invalid__"]


def test_samples_without_a_score_are_errors_or_unscored_and_never_missing(tmp_path: Path) -> None:
    rows = [
        spec("gpt-x"),
        match(0),
        event("sampling", "sums.dev.1", prompt="2+2", sampled=["4"]),
        event("error", "sums.dev.2", type="RateLimitError", message="429\nmore"),
        event("error", "sums.dev.3"),
        event("error", "sums.dev.0", type="X", message="first attempt"),
        match(4, None),
    ]
    data = load(write(tmp_path / "x.jsonl", *rows))
    found = {row["item"][-1]: (row["status"], row["status_reason"], row["score"]) for row in data.outcomes.to_dicts()}
    assert found == {
        "0": ("scored", None, 1.0),
        "1": ("unscored", "the log has no match and no metrics of this sample", None),
        "2": ("error", "RateLimitError: 429", None),
        "3": ("error", "an error without a message", None),
        "4": ("unscored", "the score is no number", None),
    }
    assert data.outcomes["metric"].unique().to_list() == ["correct"]
    (run,) = data.runs.to_dicts()
    assert (run["n_scored"], run["n_error"], run["n_unscored"], run["status"]) == (1, 2, 2, "started")
    messages = [problem.message for problem in data.problems]
    assert messages == [
        "2 samples ended in an error",
        "2 samples have no score; they are unscored",
        "there is no final_report: the run did not end, and samples may be missing",
    ]


def test_a_sample_matched_again_is_a_trial(tmp_path: Path) -> None:
    data = load(write(tmp_path / "x.jsonl", spec("gpt-x"), match(0), match(1), match(0, False), report()))
    assert data.outcomes.select("item", "trial").rows() == [("sums.dev.0", 0), ("sums.dev.1", 0), ("sums.dev.0", 1)]


def test_logs_put_together_are_runs_of_their_own(tmp_path: Path) -> None:
    second = [spec("gpt-y", run_id="other"), match(0) | {"run_id": "other"}]
    data = load(write(tmp_path / "x.jsonl", spec("gpt-x"), match(0), report(), *second))
    assert data.outcomes.select("model", "trial").rows() == [("gpt-x", 0), ("gpt-y", 0)]
    assert data.runs["status"].to_list() == ["success", "started"]


def test_a_log_without_its_spec_is_named_after_the_file(tmp_path: Path) -> None:
    data = load(write(tmp_path / "gpt-z.jsonl", match(0), match(1)))
    assert (data.models(), data.outcomes["benchmark"][0]) == (("gpt-z",), "sums.dev")
    assert "called 'gpt-z' after the file" in data.problems[0].message


def test_a_log_of_a_report_alone_gives_its_aggregates(tmp_path: Path) -> None:
    data = read_files(
        write(tmp_path / "x.log", spec("gpt-x"), report(accuracy=0.2, n_samples=1500, ok=True, by={"a": 1}))
    )
    assert data.aggregates.select("metric", "estimate").rows() == [("accuracy", 0.2), ("n_samples", 1500.0)]


def test_bad_lines_are_counted_named_and_left_out(tmp_path: Path) -> None:
    rows = [spec("gpt-x"), match(0), '{"run_id": "26', [1], event("match", None, correct=True), {"x": 1}, match(1)]
    data = load(write(tmp_path / "x.jsonl", *rows))
    assert data.outcomes.height == 2
    assert data.problems[0].severity == "error"
    assert [problem.message for problem in data.problems if problem.severity == "error"] == [
        "1 of 7 events are dropped (no JSON, or cut off): line 3",
        "1 of 7 events are dropped (no JSON object): line 4",
        "2 of 7 events are dropped (no type or no sample_id): line 5, line 6",
    ]


@pytest.mark.parametrize("text", ['{"x": 1}\n{"x": 2}\n', "\n", "[]"])
def test_files_without_events_are_refused_in_words(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text(text)
    with pytest.raises(UnreadableFileError, match=r"OpenAI evals writes a spec and events|is empty"):
        load(path)
    assert FORMAT.sniff(read_head(path)) is None


def test_two_logs_of_two_models_pair_by_sample(tmp_path: Path) -> None:
    for model, every in (("a", 3), ("b", 5)):
        matches = [match(i, i % every > 0) for i in range(30)]
        write(tmp_path / f"{model}.jsonl", spec(model), *(matches if model == "a" else reversed(matches)), report())
    found = compare(read_files(tmp_path), "a", "b")
    assert found.estimate == pytest.approx(24 / 30 - 20 / 30)
