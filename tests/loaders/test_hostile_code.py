"""Results of code benchmarks with the right names and any values: they are read or refused in words, and states add up."""

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evalstats.errors import UnreadableFileError
from evalstats.loaders import code_trials, livecodebench, swe_bench, swe_bench_issues
from evalstats.loaders.base import Loader, Source, with_digest
from evalstats.loaders.registry import read_source

# Each example is written, read and checked; more were run when the loaders were made.
N = 25
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6)
IDS = st.sampled_from(["a__b-1", "a__b-2", "o/r:pr-1", "instance_x__y-3", "sample_0", "HumanEval/0", "", "\ud800"])
VALUES = st.recursive(
    SCALARS | IDS,
    lambda part: st.lists(part, max_size=3) | st.dictionaries(IDS | st.sampled_from(["resolved", "cost"]), part),
    max_leaves=6,
)


def any_of(*names: str, inner: st.SearchStrategy[object] = VALUES) -> st.SearchStrategy[object]:
    return st.dictionaries(st.sampled_from(names), inner | VALUES, min_size=1)


LISTS = ("resolved_ids", "resolved", "unresolved_ids", "error_ids", "infra_failure_ids", "submitted_ids", "generated")
ISSUE = any_of("resolved", "cost", "api_calls", "infra_failure", "infra_failure_reason", "patch_exists")
BOARD = any_of("name", "results", inner=st.lists(any_of("name", "folder", "resolved", "date", "per_instance_details")))
TRY = any_of("base_status", "plus_status", inner=st.sampled_from(["pass", "fail", "timeout", "success"]))
TRIES = st.lists(TRY, max_size=3) | any_of("nfiles", "base", "plus", inner=st.lists(st.lists(VALUES, max_size=2)))
AVERAGE = any_of("question_id", "sample_id", "model", "date", "pass@1", "Pass@1-COT", "model_repr", "release_date")
QUESTION = any_of(
    "question_id", "contest_date", "graded_list", "metadata", "pass@1", inner=st.lists(VALUES, max_size=3)
)
FORMATS: dict[str, tuple[Loader, st.SearchStrategy[object]]] = {
    "lists": (swe_bench.LOADER, any_of(*LISTS, "failure_reasons", inner=st.lists(IDS | SCALARS, max_size=4))),
    "issues": (swe_bench_issues.LOADER, st.dictionaries(IDS, ISSUE | SCALARS | st.dictionaries(IDS, ISSUE))),
    "pulls": (swe_bench_issues.LOADER, any_of("org", "repo", "number", "valid", "error_msg")),
    "evalplus": (code_trials.EVALPLUS, any_of("date", "hash", "eval", inner=st.dictionaries(IDS, TRIES | VALUES))),
    "cruxeval": (
        code_trials.CRUXEVAL,
        any_of("raw_generations", "raw_scored_generations", "pass_at_1", inner=st.dictionaries(IDS, st.lists(VALUES))),
    ),
    "averages": (livecodebench.LOADER, any_of("performances", "models", inner=st.lists(AVERAGE, max_size=4))),
    "samples": (livecodebench.LOADER, st.lists(QUESTION | VALUES, max_size=4)),
    "boards": (swe_bench_issues.LOADER, any_of("leaderboards", inner=st.lists(BOARD, max_size=3))),
}


@pytest.mark.parametrize("name", FORMATS)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=N, deadline=None)
@given(data=st.data())
def test_any_values_are_read_or_refused_in_words(tmp_path: Path, name: str, data: st.DataObject) -> None:
    loader, contents = FORMATS[name]
    content = data.draw(contents | VALUES)
    text = json.dumps(content)
    cut = data.draw(st.none() | st.integers(1, max(1, len(text))))
    path = tmp_path / f"{name}.json"
    path.write_text(text[:cut])
    try:
        read = read_source(loader, with_digest(Source(path=path)))
    except UnreadableFileError as error:
        refusal, read = str(error), None
    else:
        refusal = ""
    if read is None:
        assert path.name in refusal
        assert "could not be read by" not in refusal, "a fault that the loader did not foresee"
        return
    total = sum(read.runs[column].sum() for column in ("n_scored", "n_error", "n_unscored"))
    assert total == read.outcomes.height
    for row in read.outcomes.iter_rows(named=True):
        assert (row["score"] is None) == (row["status"] != "scored")
        assert row["status"] == "scored" or row["status_reason"]
