"""Tenacious-Bench by its other authors: held-out tasks answered in several arms (baseline, prompt only, trained), line by line.

Dozens of repositories carry the benchmark on, and each writes `held_out_traces.jsonl` in a way of its own. Two shapes are read:
a line for a task and an arm (`variant` or `condition`), with `pass` or `correct`, a score in percent and markers from 1 to 5; and
a line for a task with the score of every arm beside it (`baseline_score`, `trained_score`, ...). The arm is the model, or the
system where the line names a model, too. An evaluation that failed (`evaluation_error`) is a harness error, which the authors
count as 20 percent. A line with a `domain` is a conversation of tau2-bench that was run beside the benchmark.

`trace_log.jsonl`, which these repositories start from, is a run of tau2-bench without its conversations: a line for each
simulation, whose model nothing names. `score_log.json` beside it has the published numbers of that run.
"""

from collections.abc import Iterator
from typing import Any, Final

from msgspec import UNSET, Struct

from evalstats.loaders.format import HEADLINE, RECORDS, Format, FormatFile, Sample, Scalar, Sign
from evalstats.loaders.format_columns import number
from evalstats.loaders.formats.tenacious import ABOUT, BENCHMARK, base_scenario, flag
from evalstats.loaders.rows import Row, Said, held, score_of, unscored
from evalstats.loaders.values import as_amount, as_count, as_dict, as_list, as_number, as_text, as_time, as_whole

_TAU2: Final = "tau2-bench"
_FAILED: Final = "evaluation_error"


class _Markers(Struct):
    marker_scores: dict[str, Any] | Scalar = None
    marker_issues: dict[str, Any] | Scalar = None


class _Line(Struct, rename={"passed": "pass"}):
    task_id: Any = None
    pair_id: Any = None
    variant: Any = None
    condition: Any = None
    trial: Any = None
    model: Any = None
    domain: Any = None
    dimension: Any = None
    failure_mode: Any = None
    failure_type: Any = None
    difficulty: Any = None
    source_mode: Any = None
    authoring_mode: Any = None
    passed: Any = UNSET
    correct: Any = UNSET
    score: _Markers | Scalar = None
    aggregate_score_pct: Any = UNSET
    latency_ms: Any = None
    latency_seconds: Any = None
    cost_usd: Any = None
    approx_prompt_tokens: Any = None
    approx_output_tokens: Any = None
    timestamp: Any = None
    baseline_score: Any = UNSET
    prompt_only_score: Any = UNSET
    prompted_score: Any = UNSET
    trained_score: Any = UNSET
    trained_judge_score: Any = UNSET


_WIDE: Final = ("baseline", "prompt_only", "prompted", "trained", "trained_judge")


def _rows(record: _Line, file: FormatFile[_Line]) -> Iterator[Sample]:
    item = as_text(record.task_id) or as_text(record.pair_id)
    arm = as_text(record.variant) or as_text(record.condition)
    wide = {arm: score for arm in _WIDE if (score := getattr(record, f"{arm}_score")) is not UNSET}
    if not item or not (arm or wide):
        file.leave_out("no variant, condition or score of an arm" if item else "no task_id")
        return
    model, domain = as_text(record.model), as_text(record.domain)
    seconds = as_amount(record.latency_seconds)
    milliseconds = None if wide else as_amount(record.latency_ms)  # of a wide line they are those of all arms
    shared: Row = {
        "item": item,
        "task": domain or "",
        "scenario": next(
            filter(None, map(as_text, (record.dimension, record.failure_mode, record.failure_type))), None
        ),
        "scenario_base": base_scenario(item),
        "difficulty": as_text(record.difficulty),
        "source_mode": as_text(record.source_mode) or as_text(record.authoring_mode),
        "latency_s": seconds if milliseconds is None else milliseconds / 1000,
        "cost_usd": as_amount(record.cost_usd),
        "input_tokens": as_count(record.approx_prompt_tokens),
        "output_tokens": as_count(record.approx_output_tokens),
        "timestamp": as_time(record.timestamp),
    }
    about: Row = {**ABOUT, **({"benchmark": _TAU2} if domain else {})}
    for name, score in wide.items() if wide else [(arm or "", UNSET)]:
        system = f"{model} ({name})" if model else name
        run = file.run(model or name, system, system=system, **about)
        trial = as_whole(record.trial)
        if trial is None:
            trial = file.trial(run, item)
        elif file.again(run, item, trial):
            file.leave_out("of a task, an arm and a trial before")
            continue
        found = [("score", number(score))] if wide else _judged(record, file)
        if not found:
            file.leave_out("no verdict and no score")
        yield {**shared, "run": run, "trial": trial}, found


def _judged(record: _Line, file: FormatFile[_Line]) -> list[tuple[str, Said]]:
    """Return the outcomes of a task in one arm; none of them counts where the evaluation itself failed."""
    found: list[tuple[str, Said]] = []
    if record.correct is not UNSET:
        found.append(("correct", flag(record.correct, "correct")))
    if record.passed is not UNSET:
        found.append(("passed", flag(record.passed, "pass")))
    if record.aggregate_score_pct is not UNSET:
        file.metric("score", kind="bounded", low=0.0, high=100.0, unit="percent", higher_is_better=True)
        found.append(("score", number(record.aggregate_score_pct, 0.0, 100.0)))
    markers = record.score if isinstance(record.score, _Markers) else _Markers()
    for name, value in as_dict(markers.marker_scores).items():
        metric = f"score/{as_text(name)}"
        file.metric(metric, kind="ordinal", low=1.0, high=5.0, unit="points", higher_is_better=True)
        found.append((metric, number(value, 1.0, 5.0)))
    failed = next((text for text in _issues(markers) if text.startswith(_FAILED)), None)
    if failed is None:
        return found
    return [(metric, unscored(failed, held(score_of(said)), error=True)) for metric, said in found]


def _issues(markers: _Markers) -> Iterator[str]:
    for listed in as_dict(markers.marker_issues).values():
        yield from (issue for issue in as_list(listed) if isinstance(issue, str))


FORMAT: Final = Format(
    name="tenacious-arms",
    title="Tenacious-Bench held-out traces of several arms (held_out_traces.jsonl)",
    version="1",
    upstream=(
        "gemechisworku/tenacious_bench_v01 at aa75300, generation_scripts/run_act4_ablations.py; amare1990/tenacious-bench at "
        "9f2ad63, week11/ablations/evaluate_path_b_heldout.py; gashawbekele06/tenacious-bench at 1d8d9d1, "
        "ablations/run_ablations.py; files of samuellachisa/tenacious_bench at 21869ee and bettyabay/tenacious-bench at 45ab46f"
    ),
    benchmark=BENCHMARK,
    harness=BENCHMARK,
    signs=(
        Sign("task_id variant variant_source aggregate_score_pct", shapes=RECORDS),
        Sign("pair_id probe_id variant judge_label ground_truth_label correct", shapes=RECORDS),
        Sign("trace_id condition task_id pass latency_seconds", shapes=RECORDS),
        Sign("task_id baseline_score", some="trained_score trained_judge_score", shapes=RECORDS),
    ),
    record=_Line,
    rows=_rows,
    called="lines",
    metrics={"passed": HEADLINE, "correct": HEADLINE},
    failed="{n} outcomes are of evaluations that failed; they are harness errors here, and 20 percent in the authors' own means",
)


class _Simulation(Struct):
    task_id: Any
    reward: Any
    simulation_id: Any = None
    domain: Any = None
    agent_cost: Any = None
    duration: Any = None
    termination_reason: Any = None


# How a conversation ended that says nothing of the agent.
_BROKEN: Final = frozenset({"infrastructure_error", "unexpected_error", "user_error"})


def _simulations(record: _Simulation, file: FormatFile[_Simulation]) -> Iterator[Sample]:
    item, ended = as_text(record.task_id), as_text(record.termination_reason)
    name = as_text(record.simulation_id)
    if not item or (name and file.again(name)):
        file.leave_out("copies of earlier ones" if item else "no task_id")
        return
    run = file.run(None, "")
    broken = unscored(ended, held(record.reward), error=True)
    outcome = broken if ended in _BROKEN else number(as_number(record.reward), 0.0, 1.0)
    shared: Row = {
        "run": run,
        "task": as_text(record.domain) or "",
        "item": item,
        "trial": file.trial(run, item),
        "cost_usd": as_amount(record.agent_cost),
        "latency_s": as_amount(record.duration),
        "termination_reason": ended,
    }
    yield shared, [("reward", outcome)]


SIMULATIONS: Final = Format(
    name="tau2-log",
    title="tau2-bench simulations without their conversations (trace_log.jsonl)",
    version="1",
    # 109 of its 150 rewards are 1, which is the 0.7267 of the score_log.json beside it.
    upstream="samuellachisa/tenacious_bench at 21869ee, eval/trace_log.jsonl",
    benchmark=_TAU2,
    harness=_TAU2,
    signs=(Sign("agent_cost domain duration reward simulation_id task_id termination_reason", shapes=RECORDS),),
    record=_Simulation,
    rows=_simulations,
    called="lines",
    metrics={"reward": {"low": 0.0, "high": 1.0, "unit": "proportion", "primary": True}},
)


class _Summary(Struct):
    pass_at_1: Any
    pass_at_1_ci_95: Any = None
    evaluated_simulations: Any = None
    domain: Any = None
    avg_agent_cost: Any = None
    p50_latency_seconds: Any = None
    p95_latency_seconds: Any = None


def _summary(record: _Summary, file: FormatFile[_Summary]) -> Iterator[Sample]:
    run, task = file.run(None, ""), as_text(record.domain) or ""
    n, ends = record.evaluated_simulations, [as_number(end) for end in as_list(record.pass_at_1_ci_95)]
    interval = (ends[0], ends[1]) if len(ends) == 2 and ends[0] is not None and ends[1] is not None else None
    file.publish(record.pass_at_1, run, "pass_at_1", ends=interval, n=n, task=task, unit="proportion")
    for metric, value, unit in (
        ("agent_cost_usd", record.avg_agent_cost, "US dollars"),
        ("p50_latency", record.p50_latency_seconds, "seconds"),
        ("p95_latency", record.p95_latency_seconds, "seconds"),
    ):
        file.metric(metric, higher_is_better=False, low=0.0)
        file.publish(value, run, metric, n=n, task=task, unit=unit)
    yield from ()


SUMMARY: Final = Format(
    name="tau2-score-log",
    title="tau2-bench scores of a run (score_log.json)",
    version="1",
    upstream="samuellachisa/tenacious_bench at 21869ee, eval/score_log.json",
    benchmark=_TAU2,
    harness=_TAU2,
    signs=(Sign("pass_at_1 pass_at_1_ci_95 evaluated_simulations num_trials", shapes=("object", "lines")),),
    record=_Summary,
    rows=_summary,
    alone=True,
    called="scores",
    metrics={"pass_at_1": {"primary": True}},
)
