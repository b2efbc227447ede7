"""Results with the right names and any values, or cut off anywhere: they are read or refused in words, and the counts add up."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evalstats.errors import UnreadableFileError
from evalstats.loaders import deepeval, openai_evals, promptfoo, ragas
from evalstats.loaders.base import Loader, Source, with_digest
from evalstats.loaders.registry import read_source
from evalstats.schema.data import EvalData
from tests.loaders import test_deepeval, test_openai_evals, test_promptfoo, test_ragas
from tests.loaders.test_hostile_judgements import VALUES

N = 25
KEYS: dict[str, tuple[str, ...]] = {
    "promptfoo": (
        *("provider", "prompt", "promptId", "promptIdx", "testIdx", "vars", "testCase", "success", "score", "error"),
        *("failureReason", "gradingResult", "namedScores", "response", "latencyMs", "cost"),
    ),
    "deepeval": (
        *("name", "input", "expectedOutput", "context", "success", "metricsData", "metadata", "tags", "tokenCost"),
        *("completionTime", "scenario", "turns"),
    ),
    "openai": ("run_id", "event_id", "sample_id", "type", "data", "spec", "final_report"),
    "ragas": ("user_input", "question", "reference", "faithfulness", "answer_relevancy", "other", "model"),
}
PARTS: dict[str, st.SearchStrategy[object]] = {
    "testCase": st.fixed_dictionaries({"vars": VALUES, "assert": VALUES, "metadata": VALUES, "description": VALUES}),
    "gradingResult": st.fixed_dictionaries({"pass": VALUES, "reason": VALUES, "componentResults": VALUES}),
    "metricsData": st.lists(
        st.fixed_dictionaries(
            dict.fromkeys(("name", "score", "success", "threshold", "error", "evaluationModel"), VALUES)
        )
    ),
    "type": st.sampled_from(["match", "metrics", "error", "sampling"]),
    "data": st.dictionaries(st.sampled_from(["correct", "score", "choice", "message"]), VALUES),
    "spec": st.fixed_dictionaries(
        dict.fromkeys(("completion_fns", "run_id", "eval_name", "run_config", "created_at"), VALUES)
    ),
}


def lines(records: list[Any]) -> str:
    return "".join(f"{json.dumps(record)}\n" for record in records)


def deepeval_text(records: list[Any]) -> str:
    return json.dumps({"testRunData": {"testCases": records, "hyperparameters": records[0]}})


GENUINE: dict[str, tuple[Loader, Callable[[list[Any]], str], list[Any]]] = {
    "promptfoo": (
        promptfoo.LOADER,
        lambda records: json.dumps(test_promptfoo.export(*records)),
        [test_promptfoo.result(1), test_promptfoo.crash(2), test_promptfoo.result(3, passed=False)],
    ),
    "deepeval": (
        deepeval.LOADER,
        deepeval_text,
        [test_deepeval.case(0, test_deepeval.metric("F", 0.8), test_deepeval.failed("B"))],
    ),
    "openai": (openai_evals.LOADER, lines, [test_openai_evals.spec("m"), test_openai_evals.match(0)]),
    "ragas": (ragas.LOADER, lines, [test_ragas.row(0), test_ragas.row(1, None)]),
}


def check(loader: Loader, path: Path, data: bytes) -> None:
    path.write_bytes(data)
    try:
        read = read_source(loader, with_digest(Source(path=path)))
    except UnreadableFileError as error:
        told = str(error)
    else:
        told = ""
        add_up(read)
    assert not told or path.name in told
    assert "could not be read by" not in told, "a fault that the loader did not foresee"


def add_up(read: EvalData) -> None:
    runs: Any = read.runs
    assert runs.select("n_scored", "n_error", "n_unscored").to_numpy().sum() == read.outcomes.height
    for row in read.outcomes.iter_rows(named=True):
        assert (row["score"] is None) == (row["status"] != "scored")


@pytest.mark.parametrize("name", GENUINE)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=N, deadline=None)
@given(data=st.data())
def test_any_values_are_read_or_refused_in_words(tmp_path: Path, name: str, data: st.DataObject) -> None:
    loader, text_of, genuine = GENUINE[name]
    fields = {key: VALUES | PARTS[key] if key in PARTS else VALUES for key in KEYS[name]}
    record = st.fixed_dictionaries({}, optional=fields)
    changed = st.sampled_from(genuine).flatmap(lambda one: record.map(lambda more: {**one, **more}))
    records = data.draw(st.lists(record | changed | VALUES, min_size=1, max_size=4))
    check(loader, tmp_path / f"{name}.jsonl" if text_of is lines else tmp_path / name, text_of(records).encode())


@pytest.mark.parametrize("name", GENUINE)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=N, deadline=None)
@given(data=st.data())
def test_files_cut_off_or_damaged_anywhere_are_read_or_refused_in_words(
    tmp_path: Path, name: str, data: st.DataObject
) -> None:
    loader, text_of, genuine = GENUINE[name]
    whole = text_of(genuine).encode()
    at = data.draw(st.integers(0, len(whole)))
    damaged = (
        whole[:at] + data.draw(st.binary(max_size=3)) + whole[data.draw(st.sampled_from([at, at + 5, len(whole)])) :]
    )
    check(loader, tmp_path / f"{name}.jsonl" if text_of is lines else tmp_path / name, damaged)
