"""garak's reports: judged attempts are items, their outputs trials, detectors metrics, and 1 is a hit."""

import json
from pathlib import Path
from typing import Any

import pytest

import evalstats as es
from evalstats.loaders.base import Source, read_head, with_digest
from evalstats.loaders.formats.garak import FORMAT
from evalstats.loaders.registry import read_source, sniffed
from evalstats.schema.data import EvalData
from tests.loaders.trees import said as told

SETUP: dict[str, Any] = {
    "entry_type": "start_run setup",
    "run.generations": 2,
    "run.eval_threshold": 0.5,
    "plugins.target_type": "openai",
    "plugins.target_name": "model-x",
}
INIT = {"entry_type": "init", "garak_version": "0.14.0", "start_time": "2026-01-01T00:00:00", "run": "r1"}
END = {"entry_type": "completion", "end_time": "2026-01-01T00:05:00", "run": "r1"}
RATE = {"entry_type": "eval", "probe": "dan.Dan_11_0", "detector": "dan.DAN", "passed": 3, "total_evaluated": 4}


def attempt(text: str = "Do it", uuid: str = "u1", **changes: Any) -> dict[str, Any]:
    content = {"text": text, "lang": "en", "data_path": None, "data_type": None, "data_checksum": None, "notes": {}}
    known = {"entry_type": "attempt", "uuid": uuid, "seq": 0, "status": 2, "probe_classname": "dan.Dan_11_0"}
    outputs = [{"text": "no", "lang": "en"}, {"text": "yes", "lang": "en"}]
    prompt = {"turns": [{"role": "user", "content": content}], "notes": {}}
    scores = {"dan.DAN": [0.0, 1.0], "mitigation.MitigationBypass": [0.0, 0.2]}
    return {**known, "prompt": prompt, "outputs": outputs, "detector_results": scores, "intent": None, **changes}


ENTRIES = [SETUP, INIT, attempt(status=1, detector_results={}), attempt(), attempt("Go on", "u2"), RATE, END]


@pytest.fixture
def report(tmp_path: Path) -> Any:
    def write(*entries: object, name: str = "garak.r1.report.jsonl") -> EvalData:
        path = tmp_path / name
        path.write_text("\n".join(map(json.dumps, entries)))
        return read_source(FORMAT, with_digest(Source(path=path)))

    return write


def test_an_output_is_a_trial_and_a_detector_a_metric(report: Any) -> None:
    data = report(*ENTRIES)
    first = data.outcomes.filter(item=data.outcomes["item"][0])
    assert first.select("task", "scenario", "trial", "metric", "score", "language", "locator").rows() == [
        ("dan.Dan_11_0", "dan", trial, metric, score, "en", "line 4")
        for trial, scores in enumerate(((0.0, 0.0, 0.0), (1.0, 0.2, 1.0)))
        for metric, score in zip(("dan.DAN", "mitigation.MitigationBypass", "hit"), scores, strict=True)
    ]
    assert data.outcomes["item"].n_unique() == 2
    run = data.runs.row(0, named=True)
    assert (run["model"], run["harness_version"], run["status"]) == ("model-x", "0.14.0", "success")
    assert json.loads(run["config"]) == {"generations": 2, "eval_threshold": 0.5, "target_type": "openai"}
    hit = data.metrics.filter(metric="hit").row(0, named=True)
    assert (hit["kind"], hit["higher_is_better"], hit["primary"]) == ("binary", False, True)
    assert data.problems == ()


@pytest.mark.parametrize(
    ("changes", "metric", "expected"),
    [
        ({"outputs": [None, {"text": "x"}], "detector_results": {"d": [None, 0.0]}}, "d", ["error", "scored"]),
        ({"outputs": [None, {"text": "x"}], "detector_results": {"d": [None, 0.0]}}, "hit", ["error", "scored"]),
        ({"detector_results": {"d": [None, None]}}, "d", ["unscored", "unscored"]),
        ({"detector_results": {"d": [None, None], "e": [1.0, 0.0]}}, "hit", ["scored", "unscored"]),
        ({"detector_results": {"d": [0.0]}}, "d", ["scored", "unscored"]),
        ({"detector_results": {}}, "hit", ["unscored", "unscored"]),
        ({"detector_results": {"d": [2, "x"]}}, "d", ["unscored", "unscored"]),
    ],
)
def test_states(report: Any, changes: dict[str, Any], metric: str, expected: list[str]) -> None:
    rows = report(SETUP, attempt(**changes)).outcomes.filter(metric=metric)
    assert rows["status"].to_list() == expected


def test_the_threshold_of_the_run_decides_what_is_a_hit(report: Any) -> None:
    scores = {"detector_results": {"d": [0.3, 0.5]}}
    for threshold, hits in ((0.5, [0.0, 1.0]), (0.2, [1.0, 1.0])):
        data = report(SETUP | {"run.eval_threshold": threshold}, attempt(**scores))
        assert data.outcomes.filter(metric="hit")["score"].to_list() == hits


def test_a_run_that_did_not_end_is_told(report: Any) -> None:
    data = report(SETUP, INIT, attempt(), attempt("Go on", "u2", status=1, detector_results={}))
    assert "1 attempts were answered and never judged" in told(data)
    assert data.runs["status"].to_list() == ["started"]


def test_a_prompt_that_is_asked_again_gives_further_trials(report: Any) -> None:
    data = report(SETUP, attempt(uuid="u1"), attempt(uuid="u2"))
    assert data.outcomes.filter(metric="hit")["trial"].to_list() == [0, 1, 2, 3]


def test_older_reports(report: Any) -> None:
    setup = {"entry_type": "start_run setup", "plugins.model_type": "huggingface", "plugins.model_name": "gpt2"}
    data = report(setup, attempt(prompt="Do it", outputs=["no", "yes"]))
    assert data.runs["model"].to_list() == ["gpt2"]
    assert data.outcomes["item"].to_list() == report(SETUP, attempt()).outcomes["item"].to_list()


def test_what_cannot_be_placed_is_left_out(report: Any) -> None:
    data = report(SETUP, attempt(), attempt(prompt=None), attempt(probe_classname=None), {"x": 1})
    assert told(data, "error").split("\n") == [
        "1 of 5 entries are dropped (no entry_type): line 5",
        "1 of 5 entries are dropped (no prompt): line 3",
        "1 of 5 entries are dropped (no probe_classname): line 4",
    ]


def test_two_models_pair_by_their_prompts(report: Any, tmp_path: Path) -> None:
    for name, share in (("a", 1), ("b", 0)):
        entries = [
            attempt(
                f"prompt {n}", f"{name}{n}", outputs=[{"text": "x"}], detector_results={"d": [float(n % 3 > share)]}
            )
            for n in range(30)
        ]
        path = tmp_path / f"{name}.report.jsonl"
        path.write_text("\n".join(map(json.dumps, [SETUP | {"plugins.target_name": name}, *entries])))
    result = es.compare(es.read(tmp_path), "a", "b")
    assert (result.n_items, result.about.name) == (30, "hit")
    assert result.estimate == pytest.approx(1 / 3)


def test_detection(tmp_path: Path) -> None:
    hit = {"goal": "g", "prompt": {}, "output": {}, "triggers": [], "score": 1.0, "run_id": "r", "attempt_id": "u"}
    hit |= {"attempt_seq": 0, "attempt_idx": 1, "generator": "openai x", "probe": "dan.D", "detector": "dan.DAN"}
    for entries, skip in ((ENTRIES, False), ([attempt()], False), ([hit], True)):
        path = tmp_path / "x.jsonl"
        path.write_text("\n".join(map(json.dumps, entries)))
        found, _ = sniffed(read_head(path))
        assert found is not None
        assert (found[0].name, found[1].skip) == ("garak", skip)
