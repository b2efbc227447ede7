"""promptfoo: results worked out by hand, every state that a test can end in, and files that are not as they should be."""

import json
from pathlib import Path
from typing import Any

import pytest

from evalstats import compare
from evalstats import read as read_files
from evalstats.errors import UnreadableFileError
from evalstats.loaders.base import Source, read_head, with_digest
from evalstats.loaders.formats.promptfoo import FORMAT
from evalstats.loaders.registry import read_source, sniffed
from evalstats.schema.data import EvalData
from tests.loaders.trees import write


def result(index: int, provider: str = "openai:gpt-x", *, passed: bool = True, **changes: Any) -> dict[str, Any]:
    """One result with promptfoo's own keys: question `index`, one assertion."""
    test = {
        "vars": {"q": f"{index}+{index}"},
        "assert": [{"type": "equals", "value": str(2 * index), "metric": "exact"}],
        "options": {},
        "metadata": {"category": "sums", "level": index},
        "description": f"sum {index}",
    }
    reason = "All assertions passed" if passed else f'Expected output "5" to equal "{2 * index}"'
    score = 1 if passed else 0
    part = {"pass": passed, "score": score, "reason": reason, "assertion": {"type": "equals", "metric": "exact"}}
    return {
        "cost": 0.002,
        **({} if passed else {"error": reason}),
        "gradingResult": {
            **part,
            "namedScores": {"exact": score},
            "tokensUsed": {"total": 0},
            "componentResults": [part],
        },
        "id": f"r{index}",
        "latencyMs": 250,
        "namedScores": {"exact": score},
        "prompt": {"raw": f"What is {index}+{index}?", "label": "What is {{q}}?"},
        "promptId": "a" * 64,
        "promptIdx": 0,
        "provider": {"id": provider, "label": ""},
        "response": {"output": "4", "tokenUsage": {"total": 12, "prompt": 9, "completion": 3}, "cached": False},
        "score": score,
        "success": passed,
        "testCase": test,
        "testIdx": index,
        "vars": {"q": f"{index}+{index}"},
        "metadata": {"_promptfooFileMetadata": {}},
        "failureReason": 0 if passed else 1,
        **changes,
    }


def crash(index: int, **changes: Any) -> dict[str, Any]:
    """A result as promptfoo writes it after the API failed."""
    gone: dict[str, Any] = {"success": False, "score": 0, "namedScores": {}, "failureReason": 2, "gradingResult": None}
    error = "Error: Request failed after 4 retries\n    at fetch"
    return result(index, **{**gone, "error": error, "response": {"error": error}, **changes})


def export(*rows: dict[str, Any]) -> dict[str, Any]:
    """Return what `promptfoo eval -o out.json` writes."""
    inner = {"version": 3, "timestamp": "2026-01-02T03:04:05.000Z", "prompts": [], "results": list(rows), "stats": {}}
    return {
        "evalId": "eval-abc",
        "results": inner,
        "config": {"description": "sums", "defaultTest": {"options": {"provider": {"id": "openai:judge"}}}},
        "shareableUrl": None,
        "metadata": {"promptfooVersion": "0.121.20", "nodeVersion": "v22"},
    }


def lines(*rows: object) -> str:
    return "".join(f"{row if isinstance(row, str) else json.dumps(row)}\n" for row in rows)


def load(path: Path) -> EvalData:
    return read_source(FORMAT, with_digest(Source(path=path)))


def test_rows_of_an_export(tmp_path: Path) -> None:
    data = load(write(tmp_path / "out.json", export(result(1), result(2, passed=False))))
    first = data.outcomes.row(0, named=True)
    assert (first["model"], first["system"], first["benchmark"]) == ("openai:gpt-x", "openai:gpt-x", "promptfoo")
    assert (first["cost_usd"], first["latency_s"], first["input_tokens"], first["output_tokens"]) == (0.002, 0.25, 9, 3)
    assert (first["scenario"], first["level"], first["test"]) == ("sums", 1, "sum 1")
    assert (first["prompt"], first["locator"]) == ("What is {{q}}?", "results.results[0]")
    assert data.outcomes.select("metric", "score", "status", "trial").rows() == [
        ("pass", 1.0, "scored", 0),
        ("score", 1.0, "scored", 0),
        ("score/exact", 1.0, "scored", 0),
        ("pass", 0.0, "scored", 0),
        ("score", 0.0, "scored", 0),
        ("score/exact", 0.0, "scored", 0),
    ]
    assert data.outcomes["item"].n_unique() == 2
    (run,) = data.runs.to_dicts()
    assert (run["harness"], run["harness_version"], run["judge"]) == ("promptfoo", "0.121.20", "openai:judge")
    assert (run["timestamp"].isoformat(), run["prompt_hash"]) == ("2026-01-02T03:04:05+00:00", "a" * 64)
    assert json.loads(run["config"])["evalId"] == "eval-abc"
    assert (run["n_scored"], run["n_error"], run["n_unscored"]) == (6, 0, 0)
    kinds = {row["metric"]: (row["kind"], row["higher_is_better"], row["primary"]) for row in data.metrics.to_dicts()}
    assert kinds == {
        "pass": ("binary", True, True),
        "score": ("binary", True, False),
        "score/exact": ("binary", True, False),
    }
    assert data.problems == ()


def test_export_summary_list_and_lines_hold_the_same_rows(tmp_path: Path) -> None:
    rows = [result(1), result(2, passed=False), crash(3)]
    whole = export(*rows)
    paths = [
        write(tmp_path / "a.json", whole),
        write(tmp_path / "b.json", whole["results"]),
        write(tmp_path / "c.json", rows),
        write(tmp_path / "d.jsonl", lines(*rows)),
    ]
    tables = [load(path).outcomes.drop("run", "locator") for path in paths]
    assert all(table.equals(tables[0]) for table in tables)
    for path in paths:
        found = sniffed(read_head(path))[0]
        assert found is not None
        assert found[0].name == "promptfoo"


def test_errors_are_errors_in_every_metric_and_never_zero(tmp_path: Path) -> None:
    rows = [
        result(1),
        crash(2),
        crash(3, failureReason=None),  # before there was a failureReason
        result(4, passed=False, response={"error": {"code": 500}}),
    ]
    data = load(write(tmp_path / "out.json", export(*rows)))
    failed = data.outcomes.filter(status="error")
    assert sorted(failed["metric"].unique()) == ["pass", "score", "score/exact"]
    assert failed.height == 9
    assert failed["score"].null_count() == 9
    assert failed["value_raw"].unique().to_list() == ["0"]
    assert failed["status_reason"][0] == "Error: Request failed after 4 retries"
    assert data.runs.select("n_scored", "n_error", "n_unscored").row(0) == (3, 9, 0)
    assert "3 tests ended in an error" in data.problems[0].message


@pytest.mark.parametrize(
    ("part", "said"),
    [
        ({"metadata": {"graderError": True}, "reason": "Rate limit"}, "the judge failed: Rate limit"),
        ({"reason": "Could not extract JSON from llm-rubric response"}, "the judge failed: Could not extract"),
    ],
)
def test_a_judge_that_failed_leaves_the_test_unscored(tmp_path: Path, part: dict[str, Any], said: str) -> None:
    row = result(1, passed=False)
    row["gradingResult"]["componentResults"] = [{"pass": False, "score": 0, **part}]
    data = load(write(tmp_path / "out.json", export(row)))
    assert data.outcomes["status"].unique().to_list() == ["unscored"]
    assert data.outcomes["status_reason"][0].startswith(said)
    assert "the judge itself failed" in data.problems[0].message


def test_a_test_that_asserts_nothing_has_no_score(tmp_path: Path) -> None:
    row = result(
        1, gradingResult={"pass": True, "score": 1, "reason": "No assertions", "tokensUsed": {}}, namedScores={}
    )
    row["testCase"]["assert"] = []
    data = load(write(tmp_path / "out.json", export(row, result(2))))
    assert data.outcomes.select("metric", "status", "value_raw").rows()[:2] == [
        ("pass", "unscored", "1"),
        ("score", "unscored", "1"),
    ]
    assert "1 tests assert nothing" in data.problems[0].message


def test_no_output_is_the_failure_that_promptfoo_counts(tmp_path: Path) -> None:
    row = result(1, success=False, score=0, error="No output", failureReason=0, gradingResult=None, namedScores={})
    row["response"] = {"output": None}
    assert load(write(tmp_path / "a.jsonl", lines(row))).outcomes.select("score", "status").rows()[0] == (0.0, "scored")


def test_values_of_wrong_types_are_unscored_and_kept(tmp_path: Path) -> None:
    rows = [
        result(1, success="yes", score="high", namedScores={"exact": None}),
        result(2, success=None, score=float("nan"), namedScores={"exact": [1]}),
        result(3, score=True, latencyMs="slow", cost=-1, namedScores=7, response=[]),
    ]
    data = load(write(tmp_path / "out.json", export(*rows)))
    held = {(row["item"], row["metric"]): (row["status"], row["value_raw"]) for row in data.outcomes.to_dicts()}
    assert [found for (_, metric), found in held.items() if metric == "pass"] == [
        ("unscored", '"yes"'),
        ("unscored", None),
        ("scored", None),
    ]
    assert [found for (_, metric), found in held.items() if metric == "score"] == [
        ("unscored", '"high"'),
        ("unscored", "NaN"),
        ("unscored", "true"),
    ]
    assert data.outcomes["cost_usd"].to_list()[-1] is None


def test_repetitions_are_trials_and_tests_that_differ_are_items(tmp_path: Path) -> None:
    other = result(1, testIdx=5)
    other["testCase"]["assert"] = [{"type": "contains", "value": "2"}]
    conversation = result(1, testIdx=6, vars={"q": "1+1", "_conversation": [{"output": "4"}]})
    rows = [result(1), result(1, testIdx=4), other, conversation]
    found = load(write(tmp_path / "out.json", export(*rows))).outcomes.filter(metric="pass")
    assert found["trial"].to_list() == [0, 1, 0, 2]
    assert found["item"].n_unique() == 2


def test_a_prompt_without_variables_is_the_item_itself(tmp_path: Path) -> None:
    rows = [result(1, vars={}, prompt={"raw": text, "label": text}, promptId=text) for text in ("one?", "two?")]
    for row in rows:
        row["testCase"]["vars"] = {}
    assert load(write(tmp_path / "out.json", export(*rows))).outcomes["item"].n_unique() == 2


def test_model_and_prompt_are_both_told_apart(tmp_path: Path) -> None:
    long = {"raw": "..", "label": "You are a careful assistant.\nAnswer {{q}} in one word, please, and say no more"}
    rows = [
        result(1, provider, promptIdx=2 * m + p, **({"prompt": long, "promptId": "b" * 64} if p else {}))
        for m, provider in enumerate(("openai:a", "openai:b"))
        for p in (0, 1)
    ]
    data = load(write(tmp_path / "out.json", export(*rows)))
    assert data.runs["model"].to_list() == ["openai:a", "openai:a", "openai:b", "openai:b"]
    assert data.runs["system"].to_list() == [
        "openai:a [What is {{q}}?]",
        "openai:a [You are a careful assistant.… (bbbbbbbb)]",
        "openai:b [What is {{q}}?]",
        "openai:b [You are a careful assistant.… (bbbbbbbb)]",
    ]
    assert data.outcomes["item"].n_unique() == 1
    assert data.outcomes["prompt"].n_unique() == 2


def test_labels_name_systems_and_equal_columns_get_a_number(tmp_path: Path) -> None:
    rows = [
        result(1) | {"provider": {"id": "openai:a", "label": "warm", "config": {"temperature": 0.7}}},
        result(1, "openai:a", promptIdx=1),
        result(1, "openai:a", promptIdx=2),
    ]
    data = load(write(tmp_path / "out.json", export(*rows)))
    assert data.runs["system"].to_list() == ["warm", "openai:a", "openai:a #2"]
    assert data.runs["temperature"].to_list() == [0.7, None, None]
    assert data.runs["run"].n_unique() == 3


def test_a_provider_may_be_a_word_or_nowhere(tmp_path: Path) -> None:
    data = load(
        write(tmp_path / "gpt-y.jsonl", lines(result(1) | {"provider": "echo"}, result(2) | {"provider": None}))
    )
    assert data.runs["model"].to_list() == ["echo", "gpt-y"]
    assert "called 'gpt-y' after the file" in data.problems[0].message


def test_bad_rows_are_counted_named_and_left_out(tmp_path: Path) -> None:
    text = lines(result(1), '{"promptIdx": 0, "tes', [1], {"x": 1}, result(2))
    data = load(write(tmp_path / "out.jsonl", text))
    assert data.outcomes.height == 6
    assert data.outcomes["locator"].unique(maintain_order=True).to_list() == ["line 1", "line 5"]
    assert {problem.severity for problem in data.problems} == {"error"}
    assert [problem.message for problem in data.problems] == [
        "1 of 5 results are dropped (no JSON, or cut off): line 2",
        "1 of 5 results are dropped (no JSON object): line 3",
        "1 of 5 results are dropped (no success, score or error): line 4",
    ]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (export(), r"holds none at all\. promptfoo writes them to results\.results"),
        (json.dumps(export(result(1)))[:-400], "cut off"),
        (export() | {"results": {"results": 7}}, r"holds none at all\. promptfoo writes them to results\.results"),
        ("", "is empty"),
    ],
)
def test_files_without_results_are_refused_in_words(tmp_path: Path, content: object, said: str) -> None:
    with pytest.raises(UnreadableFileError, match=said):
        load(write(tmp_path / "out.json", content))


def test_two_files_of_two_models_pair_by_test(tmp_path: Path) -> None:
    write(tmp_path / "a.json", export(*(result(i, "openai:a", passed=i % 3 > 0) for i in range(30))))
    write(tmp_path / "b.jsonl", lines(*(result(i, "openai:b", passed=i % 5 > 0) for i in range(30))))
    found = compare(read_files(tmp_path), "openai:a", "openai:b")
    assert found.estimate == pytest.approx(24 / 30 - 20 / 30)
