"""Tenacious-Bench by its other authors: held-out tasks answered in several arms (baseline, prompt only, trained), line by line.

Dozens of repositories carry the benchmark on, and each writes `held_out_traces.jsonl` in a way of its own. Two shapes are read:
a line for a task and an arm (`variant` or `condition`), with `pass` or `correct`, a score in percent and markers from 1 to 5; and
a line for a task with the score of every arm beside it (`baseline_score`, `trained_score`, ...). The arm is the model, or the
system where the line names a model, too. An evaluation that failed (`evaluation_error`) is a harness error, which the authors
count as 20 percent. A line with a `domain` is a conversation of tau2-bench that was run beside the benchmark, and so is each of
`trace_log.jsonl`, whose model nothing names.
"""

from typing import Any, Final

import polars as pl

from evalstats.loaders.format import FAILED, HEADLINE, RECORDS, Format, FormatFile, Sign
from evalstats.loaders.formats.tenacious import ABOUT, BASE, BENCHMARK, Inner
from evalstats.loaders.rows import Row
from evalstats.loaders.values import as_dict, as_list, as_text

TAU2: Final = "tau2-bench"
ARMS: Final = (
    "gemechisworku/tenacious_bench_v01 at aa75300, generation_scripts/run_act4_ablations.py; amare1990/tenacious-bench at "
    "9f2ad63, week11/ablations/evaluate_path_b_heldout.py; gashawbekele06/tenacious-bench at 1d8d9d1, ablations/run_ablations.py"
)
FILES: Final = "samuellachisa/tenacious_bench at 21869ee and bettyabay/tenacious-bench at 45ab46f"


def _tried(records: list[Row], file: FormatFile[Row]) -> Inner:
    """Return the lines with what failed; one with the score of every arm is a line for each of them."""
    rows: list[Row] = []
    places: list[str] = []
    for line, place in zip(records, file.locators, strict=True):
        scores = {name.removesuffix("_score"): score for name, score in line.items() if name.endswith("_score")}
        arm = as_text(line.get("variant")) or as_text(line.get("condition"))
        if not arm and not scores:
            file.leave_out("no variant, condition or score of an arm", place)
            continue
        if "aggregate_score_pct" in line:
            file.metric("score", kind="bounded", low=0.0, high=100.0, unit="percent", higher_is_better=True)
        marks = as_dict(line.get("score"))
        issues = [issue for listed in as_dict(marks.get("marker_issues")).values() for issue in as_list(listed)]
        error = next((issue for issue in map(str, issues) if issue.startswith("evaluation_error")), None)
        item = {**line, "task_id": line.get("task_id") or line.get("pair_id"), "error": error}
        arms = (
            [{"arm": arm}]
            if arm
            else [{"arm": arm, "arm_score": score, "latency_ms": None} for arm, score in sorted(scores.items())]
        )
        if not arm and not item["task_id"]:
            arms = arms[:1]  # one line is left out
        rows += [{**item, **each} for each in arms]
        places += [place] * len(arms)
    return rows, places


def _systems(frame: pl.DataFrame, file: FormatFile[Row]) -> pl.DataFrame:
    both = pl.format("{} ({})", "model", "_arm")
    domain = pl.col("task").is_not_null() & (pl.col("task") != "")
    frame = (
        file.named(frame, item="task_id")
        .with_columns(
            system=pl.when(pl.col("model").is_null()).then("_arm").otherwise(both),
            model=pl.coalesce("model", "_arm"),
            benchmark=pl.when(domain).then(pl.lit(TAU2)).otherwise(pl.lit(BENCHMARK)),
            latency_s=pl.coalesce("latency_s", pl.col("_ms").cast(pl.Float64, strict=False) / 1000),
            scenario_base=BASE,
        )
        .with_columns(part="system")
    )
    frame = frame.with_columns(trial=pl.coalesce("trial", file.trials(frame.select("part", "item"))))
    return file.once(frame, "part", "item", "trial")


_FAILURES: Final = (
    "{n} outcomes are of evaluations that failed; they are harness errors here, and 20 percent in the "
    "authors' own means"
)
FORMAT: Final[Format[Any]] = Format(
    name="tenacious-arms",
    title="Tenacious-Bench held-out traces of several arms (held_out_traces.jsonl)",
    version="1",
    upstream=f"{ARMS}; files of {FILES}",
    benchmark=BENCHMARK,
    harness=BENCHMARK,
    signs=(
        Sign("task_id variant variant_source aggregate_score_pct", shapes=RECORDS),
        Sign("pair_id probe_id variant judge_label ground_truth_label correct", shapes=RECORDS),
        Sign("trace_id condition task_id pass latency_seconds", shapes=RECORDS),
        Sign("task_id baseline_score", some="trained_score trained_judge_score", shapes=RECORDS),
    ),
    record=dict[str, Any],
    inner=_tried,
    fields={
        "item": "task_id",
        "task": "domain",
        "model": "model",
        "_arm": "arm",
        "trial": "trial",
        "scenario": "dimension failure_mode failure_type",
        "difficulty": "difficulty",
        "source_mode": "source_mode authoring_mode",
        "latency_s": "latency_seconds",
        "_ms": "latency_ms",
        "cost_usd": "cost_usd",
        "input_tokens": "approx_prompt_tokens",
        "output_tokens": "approx_output_tokens",
        "timestamp": "timestamp",
        "error": "error",
    },
    scores={
        "correct": "correct?",
        "passed": "pass?",
        "score": "arm_score aggregate_score_pct?",
        "score/*": "score.marker_scores.*",
    },
    about=lambda _: ABOUT,
    arranged=_systems,
    of_run=("system", "benchmark"),
    called="lines",
    metrics={
        "passed": HEADLINE,
        "correct": HEADLINE,
        "score/*": {"kind": "ordinal", "low": 1.0, "high": 5.0, "unit": "points"},
    },
    counts={_FAILURES: FAILED},
)

# How a conversation ended that says nothing of the agent.
_BROKEN: Final = ("infrastructure_error", "unexpected_error", "user_error")


def _simulations(frame: pl.DataFrame, file: FormatFile[Any]) -> pl.DataFrame:
    broken = pl.col("termination_reason").cast(pl.String).is_in(_BROKEN)
    frame = file.named(frame, item="task_id").with_columns(
        error=pl.when(broken).then("termination_reason"), _id=pl.coalesce("_id", "locator")
    )
    return file.once(frame, "_id")


SIMULATIONS: Final[Format[Any]] = Format(
    name="tau2-log",
    title="tau2-bench simulations without their conversations (trace_log.jsonl)",
    version="1",
    # 109 of its 150 rewards are 1, which is the 0.7267 of the score_log.json beside it.
    upstream="samuellachisa/tenacious_bench at 21869ee, eval/trace_log.jsonl",
    benchmark=TAU2,
    harness=TAU2,
    signs=(Sign("agent_cost domain duration reward simulation_id task_id termination_reason", shapes=RECORDS),),
    fields={
        "item": "task_id",
        "task": "domain",
        "cost_usd": "agent_cost",
        "latency_s": "duration",
        "termination_reason": "termination_reason",
        "_id": "simulation_id",
    },
    scores={"reward": "reward"},
    arranged=_simulations,
    repeated=True,
    called="lines",
    metrics={"reward": {"low": 0.0, "high": 1.0, "unit": "proportion", "primary": True}},
)
