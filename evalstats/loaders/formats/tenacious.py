"""Tenacious-Bench: pairs of sales conversations scored by two critics, evaluations of models, and the published accuracies.

Held-out traces are pairs of answers scored by two critics: two runs, `baseline` and `trained`. A critic is right about a pair
when it scores the chosen answer above the rejected one. The file counts an exact tie as wrong; factor `tie` marks them, so that
they can be counted otherwise. `margin` is the chosen answer's score less the rejected one's, in the critic's own units.

Evaluations are the answers of one model: `passed` (the headline), `score` and `score/<rubric dimension>`. The scenario is the
benchmark's `dimension` (or `category`), the task its split; factor `scenario_base` is the task without its version, since
versions of one scenario are near copies. Task files, checks and summaries are passed over. An ablation has the accuracy of both
critics in every split, and the difference in percentage points with its interval and p-value; its `delta_a` and `delta_b` repeat
the held-out split and are not read.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final

import polars as pl

from evalstats.loaders.format import HEADLINE, SHARE, Format, FormatFile, Sample, Sign
from evalstats.loaders.published_numbers import between
from evalstats.loaders.rows import Row
from evalstats.loaders.values import as_dict, as_number, as_text, dicts

BENCHMARK: Final = "Tenacious-Bench"
CRITICS: Final = ("baseline", "trained")
ABOUT: Final[Row] = {"factor_names": ["dimension=scenario"], "dependence": []}
BASE: Final = pl.col("item").str.replace(r"-v\d+$", "")
_TIES: Final = "{n} errors of CRITIC are exact ties of its two scores, which the file counts as wrong (factor `tie`)"
_ODD: Final = "{n} verdicts are not what their scores say; the verdicts are used"
# What lies beside the results, by its keys.
_OTHER_FILES: Final = {
    "task definitions": "candidate_output scoring_rubric",
    "training preferences": "task_id dimension prompt chosen rejected",
    "a note on sealed preferences": "split rows access public_rows_included",
    "a training log": "run_name vector_size epoch_history",
    "a summary of the tasks": "total_tasks splits source_modes",
    "a summary of the tasks by partition": "total_tasks partition_actuals",
    "a digest of the ablation": "path shared_interface delta_a",
    "agreement of two passes": "dimension_agreement subset_task_ids",
    "one pass of a rater": "task_id source_mode split dimension_results",
    "a contamination check": "ngram_overlap_threshold findings",
}

Inner = tuple[list[Row], list[str]]


def _critics(records: list[Row], file: FormatFile[Row]) -> Inner:
    """Return what each critic says of each pair."""
    rows: list[Row] = []
    places: list[str] = []
    for pair, place in zip(records, file.locators, strict=True):
        item = as_text(pair.get("task_id"))
        if not item or file.again(as_text(pair.get("split")), item):
            file.leave_out("a task of its split before" if item else "no task_id", place)
            continue
        for critic in CRITICS:
            given = {name: pair.get(f"{critic}_{name}") for name in ("correct", "chosen_score", "rejected_score")}
            rows.append({**pair, "critic": critic, **given})
            places.append(place)
    return rows, places


def _margins(frame: pl.DataFrame, file: FormatFile[Row]) -> pl.DataFrame:
    chosen, rejected = (pl.col(name).cast(pl.Float64, strict=False) for name in ("_chosen", "_rejected"))
    right = pl.col("_right").replace_strict({"true": True, "1": True, "false": False, "0": False}, default=None)
    # Scores have six decimals: what a subtraction leaves beyond nine would set equal margins apart.
    frame = frame.with_columns(_margin=(chosen - rejected).round(9), scenario_base=BASE)
    file.count(_ODD, int(frame.select((right != (pl.col("_margin") > 0)).sum()).item() or 0))
    return frame.with_columns(tie=pl.col("_margin") == 0)


PAIRS: Final[Format[Any]] = Format(
    name="tenacious",
    title="Tenacious-Bench held-out traces: pairs scored by two critics",
    version="3",
    upstream="nebiyuephrata/SignalForge at 7d1a806, ablations/held_out_traces.jsonl",
    benchmark=BENCHMARK,
    harness=BENCHMARK,
    signs=(
        Sign("task_id baseline_correct trained_correct"),
        *(Sign(keys, skip=what) for what, keys in _OTHER_FILES.items()),
        # Keys too common to go by; these words stand near the beginning.
        Sign("held_out_vs_train", text=('"ngram_overlap_threshold"',), skip="a contamination check"),
        Sign("claims", text=('"bench_total_tasks_v0_1"',), skip="a list of claims"),
        Sign("programmatic", text=('"candidate_output"',), skip="worked examples"),
        Sign("title", text=('"Tenacious-Bench',), skip="the schema of a task"),
    ),
    record=dict[str, Any],
    inner=_critics,
    fields={
        "task": "split",
        "item": "task_id",
        "model": "critic",
        "scenario": "dimension",
        "task_type": "task_type",
        "source_mode": "source_mode",
        "_right": "correct",
        "_chosen": "chosen_score",
        "_rejected": "rejected_score",
    },
    scores={"correct": "correct", "margin": "_margin"},
    arranged=_margins,
    about=lambda _: {**ABOUT, "note": "Margins of the two critics are on different scales and cannot be compared"},
    called="pairs",
    counts={
        _TIES.replace("CRITIC", critic): (
            (pl.col("metric") == "correct") & (pl.col("score") == 0) & pl.col("tie") & (pl.col("model") == critic)
        )
        for critic in CRITICS
    },
    metrics={
        "correct": HEADLINE,
        "margin": {"kind": "continuous", "low": None, "high": None, "unit": "points of the critic"},
    },
)

_CANDIDATE: Final = "candidate"


def _scored(records: list[Row], file: FormatFile[Row]) -> tuple[list[Row], Sequence[str] | pl.Series]:
    """Take note of how high each part of the rubric goes."""
    for part in (part for record in records for part in dicts(record.get("dimension_results"))):
        name = f"score/{as_text(part.get('name'))}"
        highest = max(as_number(part.get("max_score")) or 1.0, as_number(file.metrics.get(name, {}).get("high")) or 0.0)
        file.metric(name, kind="bounded", low=0.0, high=highest, unit="points", higher_is_better=True)
    return records, file.locators


def _about(file: FormatFile[Any]) -> Row:
    scorer, named = as_text(file.members.get("scorer")), file.by_path.get("model")
    if scorer is None and named == "bench":
        named = _CANDIDATE
        file.note(
            "does not say whose answers were scored (each task carries one candidate_output); the model is called "
            f"{_CANDIDATE!r}. Name the file <model>_<split>_eval.json to say otherwise"
        )
    return {**ABOUT, "model": scorer or named}


EVALUATION: Final[Format[Any]] = Format(
    name="tenacious-evaluation",
    title="Tenacious-Bench evaluations (<model>_<split>_eval.json, *_scores.json)",
    version="3",
    upstream="nebiyuephrata/SignalForge at 7d1a806; IbnuEyni/tenacious-sales-bench at 5b537e1, ablations/score_baseline.py",
    benchmark=BENCHMARK,
    harness=BENCHMARK,
    signs=(
        Sign("task_count passed failed results", text=('"dimension_results"',)),
        Sign("scorer total_tasks passed task_results", text=('"dimension_scores"',)),
    ),
    record=dict[str, Any],
    inner=_scored,
    named=r"(?P<model>[^/]+)_(?P<task>train|dev|held_out)_eval",
    about=_about,
    fields={
        "item": "task_id",
        "scenario": "dimension category",
        "task_type": "task_type",
        "difficulty": "difficulty",
        "pass_threshold": "pass_threshold",
    },
    scores={
        "passed": "passed",
        "score": "total_score score",
        "score/*": "dimension_results.*name.score | dimension_scores.*",
    },
    arranged=lambda frame, _: frame.with_columns(scenario_base=BASE),
    once=("item",),
    lists=("results", "task_results"),
    keep=("scorer",),
    called="results",
    metrics={"passed": HEADLINE, "score": {**SHARE, "kind": "bounded"}},
    better=lambda _: True,
    expected="The evaluation of a set of tasks was expected",
    naming="Name the file <model>_<split>_eval.json to say otherwise",
)


def _splits(record: Row, file: FormatFile[Row]) -> Iterable[Sample]:
    """Publish what both critics reach in every split, and the difference of their accuracies."""
    named, about = ("baseline", "trained_component"), {"note": as_text(record.get("run_name")), **ABOUT}
    systems = {critic: as_text(record.get(name)) or critic for critic, name in zip(CRITICS, named, strict=True)}
    runs = {critic: file.run(critic, system=system, **about) for critic, system in systems.items()}
    for split, value in as_dict(record.get("splits")).items():
        numbers = as_dict(value)
        known: dict[str, Any] = {"task": split, "n": numbers.get("pair_count")}
        for critic, run in runs.items():
            cost = numbers.get(f"cost_per_pair_usd_{critic}")
            file.publish(numbers.get(f"{critic}_accuracy"), run, "accuracy", unit="proportion", **known)
            file.publish(numbers.get(f"{critic}_latency_ms"), run, "latency_ms", unit="milliseconds", **known)
            file.publish(cost, run, "cost_usd", unit="US dollars", **known)
        ends = between(numbers, "delta_accuracy_pp_ci_lower", "delta_accuracy_pp_ci_upper")
        p_value, delta = (as_number(numbers.get(name)) for name in ("paired_bootstrap_p_value", "delta_accuracy_pp"))
        method = f"published, trained minus baseline{', percentile bootstrap over pairs' if ends else ''}"
        known |= {"unit": "points", "method": method, "p_value": p_value}
        file.publish(delta, runs["trained"], "delta_accuracy", ends=ends, **known)
        file.count("a p-value of 0 is published; it says less than one in its number of resamples", int(p_value == 0))
    return ()


ABLATION: Final[Format[Any]] = Format(
    name="tenacious-ablation",
    title="Tenacious-Bench ablation results by split (ablation_results.json)",
    version="3",
    upstream="nebiyuephrata/SignalForge at 7d1a806, ablations/ablation_results.json",
    benchmark=BENCHMARK,
    harness=BENCHMARK,
    signs=(Sign("run_name baseline trained_component splits", shapes=("object", "lines")),),
    record=dict[str, Any],
    rows=_splits,
    alone=True,
    called="splits",
    metrics={
        "accuracy": {**HEADLINE, "kind": "bounded"},
        **{name: {"low": 0.0, "higher_is_better": False} for name in ("latency_ms", "cost_usd")},
        "delta_accuracy": {"kind": "bounded", "low": -100.0, "high": 100.0},
    },
    expected="The accuracies of train, dev or held_out were expected",
)
