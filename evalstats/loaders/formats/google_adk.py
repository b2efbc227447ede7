"""Google ADK: the results of an eval set, `.adk/eval_history/<app>_<set>_<time>.evalset_result.json`.

The item is the eval case; its repeated runs are trials. Metrics are those of a whole case, and `passed`, whether all of them
reached their thresholds. A run that failed and has no metric at all is one that crashed: an error. The model is what answered,
where the session says so, else the app, which is the system. The benchmark is the eval set.
"""

from collections.abc import Iterator
from typing import Any, Final

from msgspec import Struct

from evalstats.loaders.format import FAILED, HEADLINE, OBJECT, Format, FormatFile, Sample, Sign
from evalstats.loaders.record_columns import number
from evalstats.loaders.rows import Row, Said, as_row, held, unscored
from evalstats.loaders.values import as_count, as_text, as_time, get, json_text

_PASSED: Final = frozenset({1, "PASSED"})
_FAILED: Final = frozenset({2, "FAILED"})
_CRASHED: Final = unscored("the run failed without any metric", error=True)


class _Metric(Struct):
    metric_name: Any = None
    score: Any = None
    eval_status: Any = None
    threshold: Any = None
    judge_model_options: Any = None
    criterion: Any = None


class _Tokens(Struct):
    prompt_token_count: Any = None
    candidates_token_count: Any = None
    thoughts_token_count: Any = None


class _Event(Struct):
    model_version: Any = None
    usage_metadata: _Tokens | None = None


class _Session(Struct):
    events: list[_Event] = []


class _Invocation(Struct):
    eval_metric_results: list[_Metric] = []


class _Case(Struct):
    eval_id: Any
    final_eval_status: Any
    overall_eval_metric_results: list[_Metric] = []
    eval_metric_result_per_invocation: list[_Invocation] = []
    session_id: Any = None
    session_details: _Session | None = None
    user_id: Any = None


def _rows(case: _Case, file: FormatFile[_Case]) -> Iterator[Sample]:
    item, events = as_text(case.eval_id), case.session_details.events if case.session_details else []
    if not item:
        file.leave_out("no eval_id")
        return
    run = _run(case, events, file)
    shared: Row = {"run": run, "item": item}
    shared |= {"session": as_text(case.session_id), "user": as_text(case.user_id)}
    shared["n_turns"] = len(case.eval_metric_result_per_invocation) or None
    used = [event.usage_metadata for event in events if event.usage_metadata is not None]
    if used:
        shared["input_tokens"] = sum(as_count(each.prompt_token_count) or 0 for each in used)
        written = ((each.candidates_token_count, each.thoughts_token_count) for each in used)
        shared["output_tokens"] = sum(as_count(count) or 0 for counts in written for count in counts)
    yield shared, [("passed", _passed(case)), *map(_metric, case.overall_eval_metric_results)]


def _run(case: _Case, events: list[_Event], file: FormatFile[_Case]) -> str:
    eval_set = as_text(file.members.get("eval_set_id")) or ""
    app, found, _ = (as_text(file.members.get("eval_set_result_id")) or "").partition(f"_{eval_set}_")
    model = next((name for event in events if (name := as_text(event.model_version))), None)
    thresholds = {
        as_text(metric.metric_name) or "metric": metric.threshold for metric in case.overall_eval_metric_results
    }
    run = file.run(
        model or (app if found else None),
        benchmark=eval_set or "Google ADK",
        timestamp=as_time(file.members.get("creation_timestamp")),
        config=json_text({"thresholds": thresholds}) if thresholds else None,
    )
    if app and found:
        file.runs[run]["system"] = app
    return run


def _passed(case: _Case) -> Said:
    status = case.final_eval_status if isinstance(case.final_eval_status, int | str) else None
    if status in _PASSED:
        return 1.0
    judged = case.overall_eval_metric_results or any(
        each.eval_metric_results for each in case.eval_metric_result_per_invocation
    )
    if status in _FAILED:
        return 0.0 if judged else _CRASHED
    return unscored("the case was not evaluated", held(case.final_eval_status))


def _metric(metric: _Metric) -> tuple[str, Said]:
    options = (metric.judge_model_options, get(metric.criterion, "judge_model_options"))
    judge = next((name for option in options if (name := as_text(get(option, "judge_model")))), None)
    return as_text(metric.metric_name) or "metric", {"judge": judge, **as_row(number(metric.score))}


FORMAT: Final = Format(
    name="google-adk",
    title="Google ADK evaluations (*.evalset_result.json)",
    version="1",
    upstream="google/adk-python at 7c670f6, src/google/adk/evaluation/eval_result.py and local_eval_set_results_manager.py",
    benchmark="Google ADK",
    harness="Google ADK",
    signs=(Sign("eval_set_result_id eval_set_id eval_case_results", 0.95, shapes=OBJECT),),
    record=_Case,
    rows=_rows,
    at=("eval_case_results",),
    keep=("eval_set_result_id", "eval_set_id", "creation_timestamp"),
    repeated=True,
    called="cases",
    metrics={"passed": HEADLINE},
    counts={"{n} scores are of runs that crashed; they are harness errors": FAILED},
)
