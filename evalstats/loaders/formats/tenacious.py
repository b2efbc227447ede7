"""Tenacious-Bench: judged sales conversations and its critics, as first published; and evaluations of any of its authors.

Held-out traces are pairs of answers scored by two critics: two runs, `baseline` and `trained`. A critic is right about a pair
when it scores the chosen answer above the rejected one. The file counts an exact tie as wrong; factor `tie` marks them, so that
they can be counted otherwise. `margin` is the chosen answer's score less the rejected one's, in the critic's own units.

Evaluations are the answers of one model: `passed` (the headline), `score` and `score/<rubric dimension>`. The scenario is the
benchmark's `dimension` (or `category`), the task its split; factor `scenario_base` is the task without its version, since
versions of one scenario are near copies. Task files, checks and summaries are passed over.
"""

from collections.abc import Sequence
from typing import Any, Final

import polars as pl

from evalstats.loaders.format import HEADLINE, HIGHER, SHARE, Format, FormatFile, Sign
from evalstats.loaders.rows import Row
from evalstats.loaders.values import as_number, as_text, dicts

BENCHMARK: Final = "Tenacious-Bench"
CRITICS: Final = ("baseline", "trained")
ABOUT: Final[Row] = {"factor_names": ["dimension=scenario"], "dependence": []}
BASE: Final = pl.col("item").str.replace(r"-v\d+$", "")
_TIES: Final = "{n} errors of CRITIC are exact ties of its two scores, which the file counts as wrong (factor `tie`)"
_ODD: Final = "{n} verdicts are not what their scores say; the verdicts are used"

Inner = tuple[list[Row], list[str]]


def _critics(records: list[Row], file: FormatFile[Row]) -> Inner:
    """Return what each critic says of each pair."""
    rows: list[Row] = []
    places: list[str] = []
    for pair, place in zip(records, file.locators, strict=True):
        before, after, delta = (as_number(pair.get(f"{name}_correct")) for name in (*CRITICS, "delta"))
        contradicts = None not in {before, after, delta} and delta != (after or 0.0) - (before or 0.0)
        item = as_text(pair.get("task_id"))
        if not item or contradicts or file.again(as_text(pair.get("split")), item):
            why = "delta_correct contradicts the verdicts" if contradicts else "a task of its split before"
            file.leave_out(why if item else "no task_id", place)
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
        *(
            Sign(keys, text=text, skip=skip)
            for keys, text, skip in (
                ("candidate_output scoring_rubric", (), "task definitions"),
                ("task_id dimension prompt chosen rejected", (), "training preferences"),
                ("split rows access public_rows_included", (), "a note on sealed preferences"),
                ("run_name vector_size epoch_history", (), "a training log"),
                ("total_tasks splits source_modes", (), "a summary of the tasks"),
                ("total_tasks partition_actuals", (), "a summary of the tasks"),
                ("path shared_interface delta_a", (), "a digest of the ablation"),
                ("dimension_agreement subset_task_ids", (), "agreement of two passes"),
                ("task_id source_mode split dimension_results", (), "one pass of a rater"),
                ("ngram_overlap_threshold findings", (), "a contamination check"),
                # Keys too common to go by; these words stand near the beginning.
                ("held_out_vs_train", ('"ngram_overlap_threshold"',), "a contamination check"),
                ("claims", ('"bench_total_tasks_v0_1"',), "a list of claims"),
                ("programmatic", ('"candidate_output"',), "worked examples"),
                ("title", ('"Tenacious-Bench',), "the schema of a task"),
            )
        ),
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
    scorer, path = (
        as_text(file.members.get("scorer")),
        file.path_says(r"(?P<model>[^/]+)_(?P<task>train|dev|held_out)_eval"),
    )
    named = path.get("model")
    if scorer is None and named == "bench":
        named = _CANDIDATE
        file.note(
            "does not say whose answers were scored (each task carries one candidate_output); the model is called "
            f"{_CANDIDATE!r}. Name the file <model>_<split>_eval.json to say otherwise"
        )
    return {**ABOUT, "model": scorer or named, "task": path.get("task")}


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
    arranged=lambda frame, file: file.once(file.named(frame, item="task_id"), "item").with_columns(scenario_base=BASE),
    at=("results", "task_results"),
    keep=("scorer",),
    called="results",
    metrics={"passed": HEADLINE, "score": {**SHARE, "kind": "bounded"}, "*": HIGHER},
    expected="The evaluation of a set of tasks was expected",
    naming="Name the file <model>_<split>_eval.json to say otherwise",
)
