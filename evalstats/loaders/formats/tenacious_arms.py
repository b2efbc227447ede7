"""Tenacious-Bench by its other authors: held-out tasks answered in several arms (baseline, prompt only, trained), line by line.

Dozens of repositories carry the benchmark on, each in a way of its own. Two shapes are read: a line for a task and an arm
(`variant`), with `pass` or `correct`, a score in percent and markers from 1 to 5; and a line for a task with the score of every
arm beside it (`baseline_score`, `trained_score`, ...). The arm is the model. An evaluation that failed (`evaluation_error`) is a
harness error, which the authors count as 20 percent.
"""

from typing import Any, Final

import polars as pl

from evalstats.loaders.format import HEADLINE, RECORDS, SHARE, Format, FormatFile, Sign
from evalstats.loaders.formats.tenacious import ABOUT, BASE, BENCHMARK, Inner
from evalstats.loaders.rows import Row
from evalstats.loaders.values import as_dict, as_list, as_text


def _tried(records: list[Row], file: FormatFile[Row]) -> Inner:
    """Return the lines with what failed; one with the score of every arm is a line for each of them."""
    rows: list[Row] = []
    places: list[str] = []
    for line, place in zip(records, file.locators, strict=True):
        arm, item = as_text(line.get("variant")), as_text(line.get("task_id")) or as_text(line.get("pair_id"))
        scores = {name.removesuffix("_score"): score for name, score in line.items() if name.endswith("_score")}
        if not item or not (arm or scores):
            file.leave_out("no variant, and no score of an arm" if item else "no task_id", place)
            continue
        if "aggregate_score_pct" in line:
            file.metric("score", kind="bounded", low=0.0, high=100.0, unit="percent", higher_is_better=True)
        marks = as_dict(as_dict(line.get("score")).get("marker_issues"))
        issues = [str(issue) for listed in marks.values() for issue in as_list(listed)]
        error = next((issue for issue in issues if issue.startswith("evaluation_error")), None)
        of_arms = [{"arm": name, "arm_score": score, "latency_ms": None} for name, score in sorted(scores.items())]
        rows += [{**line, "item": item, "error": error, **each} for each in ([{"arm": arm}] if arm else of_arms)]
        places += [place] * (len(rows) - len(places))
    return rows, places


FORMAT: Final[Format[Any]] = Format(
    name="tenacious-arms",
    title="Tenacious-Bench held-out traces of several arms (held_out_traces.jsonl)",
    version="2",
    upstream=(
        "gemechisworku/tenacious_bench_v01 at aa75300, generation_scripts/run_act4_ablations.py; amare1990/tenacious-bench at "
        "9f2ad63, week11/ablations/evaluate_path_b_heldout.py; gashawbekele06/tenacious-bench at 1d8d9d1"
    ),
    benchmark=BENCHMARK,
    harness=BENCHMARK,
    signs=(
        Sign("task_id variant variant_source aggregate_score_pct", shapes=RECORDS),
        Sign("pair_id probe_id variant judge_label ground_truth_label correct", shapes=RECORDS),
        Sign("task_id baseline_score", some="trained_score trained_judge_score", shapes=RECORDS),
    ),
    record=dict[str, Any],
    inner=_tried,
    fields={
        "item": "item",
        "model": "arm",
        "scenario": "dimension failure_mode failure_type",
        "difficulty": "difficulty",
        "source_mode": "source_mode authoring_mode",
        "_ms": "latency_ms",
        "cost_usd": "cost_usd",
        "input_tokens": "approx_prompt_tokens",
        "output_tokens": "approx_output_tokens",
        "error": "error",
    },
    scores={
        "correct": "correct?",
        "passed": "pass?",
        "score": "arm_score aggregate_score_pct?",
        "score/*": "score.marker_scores.*",
    },
    about=lambda _: ABOUT,
    arranged=lambda frame, _: frame.with_columns(
        latency_s=pl.col("_ms").cast(pl.Float64, strict=False) / 1000, scenario_base=BASE
    ),
    once=("model", "item"),
    called="lines",
    metrics={
        "passed": HEADLINE,
        "correct": HEADLINE,
        "score/*": {**SHARE, "kind": "ordinal", "low": 1.0, "high": 5.0, "unit": "points"},
    },
    failed="{n} outcomes are of evaluations that failed; they are harness errors here, and 20 percent in the authors' own means",
)
