"""RUT-Bench: tool use with users who are ideal or not, one file for one run of one model.

What the keys mean is a trap, so once, here. `success_rate`, `sr`, `completion_rate` and even `semantic_success_rate` of a summary
are all the *relaxed* success: the final state is right and nothing forbidden was done (the older evaluation script writes the
semantic rate there). It is the headline, stands in no row, and is computed here from `completion`, where what is absent counts as
passed, by the harness's own rule. `completion.sr` is the stricter *semantic* success, which also asks for the expected reads,
writes and their order.

Item is the base task, variant and scenario the user's behaviour ("stable" for the ideal user). A sample with a `run_error` is an
error in every metric, though an empty conversation may pass its assertions; the zeros of a failed or skipped judgment are none.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

import polars as pl

from evalstats.errors import UnreadableFileError
from evalstats.grammar import comma_list
from evalstats.loaders.base import Source, read_head
from evalstats.loaders.format import HEADLINE, OBJECT, SHARE, Format, FormatFile, Sign
from evalstats.loaders.record_columns import unscored_where
from evalstats.loaders.rows import Row
from evalstats.loaders.values import as_dict, as_list, as_number, as_text, as_time, as_whole, get
from evalstats.schema.data import Problem

BEHAVIOURS: Final = (
    *("underspecification", "information_overload", "fabricated_parameters"),
    *("goal_switching", "contradictory_constraints", "impatience_and_hostility"),
)
_VARIANTS: Final = {"stable": "stable", "unstable": "unstable", "collab": "stable", "noncollab": "unstable"}
_RUN_KEYS: Final = ("model", "source_model", "judge_model", "temperature", "generated_at", "simulated")
_CRASHED: Final = "{n} samples crashed (run_error) and are errors here; the harness counts them as they are"
_BOUNDED: Final[Row] = {**SHARE, "kind": "bounded"}
_POINTS: Final[Row] = {"kind": "ordinal", "low": 0.0, "high": 3.0, "unit": "points"}
_JUDGED: Final = ("reliability", "faithfulness", "clarification", "tool_discipline")


def _model_of(metadata: object) -> str | None:
    return as_text(get(metadata, "model")) or as_text(get(metadata, "source_model"))


def _model_in(path: Path) -> str | None:
    try:
        return _model_of(read_head(path).members.get("metadata"))
    except UnreadableFileError:
        return None  # reading it says why


def _grouped(files: Sequence[Path]) -> Iterable[Source | Problem]:
    """Make every file a source, but not the same run twice: a rescored copy beside its original is passed over."""
    originals = {(path.parent, Source(path=path).stem): path for path in files}
    for path in files:
        original = originals.get((path.parent, Source(path=path).stem.removesuffix("_relaxed")), path)
        if original == path or _model_in(original) != _model_in(path):
            yield Source(path=path)
        else:
            message = f"is {original.name} rescored; that one is read, and its relaxed success follows the same rule"
            yield from Source(path=path).notes([message])


def _about(file: FormatFile[Any]) -> Row:
    metadata = as_dict(file.members.get("metadata"))
    if not (model := _model_of(metadata)):
        raise UnreadableFileError(f"{file.path}: metadata has no model (or source_model); a run needs its model")
    simulated = metadata.get("simulated")
    return {
        "model": model,
        "temperature": as_number(metadata.get("temperature")),
        "judge": as_text(metadata.get("judge_model")),
        "item_limit": as_whole(metadata.get("max_samples")) or None,
        "factor_names": ["unstable_behavior=scenario"],
        "dependence": [],
        "config": {key: value for key, value in metadata.items() if key not in _RUN_KEYS},
        "simulated": ("yes" if simulated is True else as_text(simulated)) if simulated else None,
        "timestamp": as_time(metadata.get("generated_at")),
    }


def _arranged(frame: pl.DataFrame, file: FormatFile[Any]) -> pl.DataFrame:
    """Return samples with their base task, behaviour and relaxed success."""
    # The variant and the behaviour have a name, or end the sample's id.
    sample, said = pl.col("_sample"), pl.col("_behaviour").str.strip_chars().replace("", None)
    named = pl.col("_variant").str.strip_chars().replace_strict(_VARIANTS, default=None, return_dtype=pl.String)
    frame = frame.with_columns(_variant=pl.coalesce(named, sample.str.extract("_(stable|unstable)$")), _behaviour=said)
    contradicts = (pl.col("_variant") == "stable") & pl.col("_behaviour").is_not_null()
    frame = file.without(frame, contradicts, "stable, but with an unstable_behavior")
    stable = (pl.col("_variant") == "stable").fill_null(value=False)
    bundled, by_end = pl.when(pl.col("_n_bundle") == 1).then("_bundle"), f"_({'|'.join(BEHAVIOURS)})$"
    unknown = pl.when(pl.col("_variant").is_not_null()).then(pl.lit("unstable"))
    unstable = pl.coalesce("_behaviour", bundled, sample.str.extract(by_end), unknown)
    frame = frame.with_columns(variant=pl.when(stable).then(pl.lit("stable")).otherwise(unstable))
    frame = file.without(frame, pl.col("variant").is_null(), "no variant, stable or unstable")
    item = pl.col("item").str.strip_suffix(pl.concat_str(pl.lit("_"), "variant"))
    item = pl.when(item == pl.col("item")).then(item.str.replace(f"_(?:{'|'.join(_VARIANTS)})$", "")).otherwise(item)
    frame = file.once(file.named(frame.with_columns(item=item), item="task_id or sample_id"), "item", "variant")
    total, passed, forbidden = (pl.col(name).fill_null(0) for name in ("_n_total", "_n_passed", "_n_forbidden"))
    same = ~pl.col("_diff").is_in(("false", "0")).fill_null(value=False)
    relaxed = ((total == 0) | (total == passed)) & same & (forbidden == 0)
    nothing = pl.all_horizontal(pl.col("_n_total", "_n_passed", "_diff", "_n_forbidden", "_v_semantic").is_null())
    stored = pl.col("_stored").replace_strict({"true": 1.0, "1": 1.0, "false": 0.0, "0": 0.0}, default=None)
    return frame.with_columns(
        _success=pl.coalesce(stored, pl.when(~nothing).then(relaxed.cast(pl.Float64))),
        scenario="variant",
        user_kind=pl.when(pl.col("variant") == "stable").then(pl.lit("ideal")).otherwise(pl.lit("non_ideal")),
    )


def _after(frame: pl.DataFrame, _: FormatFile[Any]) -> pl.DataFrame:
    """Return outcomes with their judge; the zeros of a failed or skipped judgment, and of no shortest solution, are none."""
    judged, judge = pl.col("metric").is_in(_JUDGED), pl.col("_judge")
    none = pl.all_horizontal(pl.col("_judge", "_failed", "_reliable").is_null())
    skipped = pl.coalesce(
        pl.when(none).then(pl.lit("the sample has no judgment")),
        pl.concat_str(pl.lit("judge: "), "_failed"),
        pl.when(judge.is_null()).then(pl.lit("judge: none")),
    )
    # The harness writes 0 where it knows no shortest solution to divide by.
    unknown = pl.lit("min_required_action_turns is 0: there is nothing to measure efficiency by")
    unmeasured = pl.col("metric").is_in(("efficiency", "task_score"))
    unmeasured &= pl.col("min_required_action_turns").cast(pl.Float64, strict=False) <= 0
    frame = unscored_where(frame, pl.when(judged).then(skipped).when(unmeasured).then(unknown))
    return frame.with_columns(judge=pl.when(judged).then(judge))


def _finish(file: FormatFile[Any]) -> None:
    summary, n = as_dict(file.members.get("summary")), file.n_read - file.n_left_out
    if (counted := as_whole(summary.get("sample_count"))) not in {None, n}:
        file.note(f"the summary counts {counted} samples, the file holds {n}")
    if absent := as_list(summary.get("missing_runtime_task_ids")):
        file.note(f"{len(absent):,} samples had no environment and are missing ({comma_list(map(str, absent), 3)})")


FORMAT: Final[Format[Any]] = Format(
    name="rutbench",
    title="RUT-Bench results (eval_results.json, *_relaxed.json)",
    version="3",
    upstream="Miaow-Lab/RUT-Bench at d41a3fc, eval/run_eval.py, eval/completion.py, benchmark_builder/eval/rescore_relaxed.py",
    benchmark="RUT-Bench",
    harness="RUT-Bench",
    signs=(
        Sign("sample_id env_id config_id unstable_behavior", 0.95, without="run", skip="the benchmark's samples"),
        Sign("items", 0.95, text=('"env_class_code"',), skip="the benchmark's task blueprints"),
        Sign("metadata", 0.95, text=('"benchmark_file"', '"blueprint_file"'), shapes=OBJECT),
        Sign("metadata", 0.95, text=('"source_eval_result_file"', '"criteria"'), shapes=OBJECT),
        Sign("samples", 0.8, text=('"unstable_behavior"', '"env_id"'), shapes=OBJECT),
    ),
    fields={
        "item": "source_task_id task_id sample_id",
        "tags": "behavior_bundle",
        **{name: name for name in ("env_id", "task_type", "num_user_turns")},
        "difficulty": "difficulty_bucket",
        "n_turns": "efficiency.actual_user_turn_count",
        # The row's own key, in the singular, is always 0.
        "min_required_action_turns": "efficiency.min_required_action_turns",
        "error": "run.run_error",
        "_variant": "variant",
        "_behaviour": "unstable_behavior",
        "_sample": "sample_id",
        "_bundle": "behavior_bundle.0",
        "_n_bundle": "behavior_bundle.#",
        "_judge": "reliability.judge_model",
        "_failed": "reliability.judge_error",
        "_reliable": "reliability.reliability",
        "_stored": "relaxed_completion.relaxed_success",
        "_n_total": "completion.final_state_assertion_total",
        "_n_passed": "completion.final_state_assertion_pass_count",
        "_diff": "completion.expected_state_diff_passed",
        "_n_forbidden": "completion.forbidden_action_violations.#",
        "_v_semantic": "completion.semantic_sr completion.sr completion.semantic_success completion.success completion.passed",
    },
    scores={
        "success": "_success",
        "semantic_success": "_v_semantic",
        "efficiency": "efficiency.efficiency",
        "task_score": "efficiency.task_score",
        "reliability": "reliability.reliability",
        "faithfulness": "reliability.faithfulness_score",
        "clarification": "reliability.clarification_score",
        "tool_discipline": "reliability.tool_discipline_score",
    },
    about=_about,
    arranged=_arranged,
    after=_after,
    at=("samples",),
    keep=("metadata", "summary"),
    called="samples",
    grouped=_grouped,
    counts={_CRASHED: (pl.col("metric") == "success") & (pl.col("status") == "error")},
    metrics={
        "success": HEADLINE,
        "semantic_success": SHARE,
        **dict.fromkeys(("efficiency", "task_score", "reliability"), _BOUNDED),
        "faithfulness": {**_POINTS, "high": 4.0},
        **dict.fromkeys(("clarification", "tool_discipline"), _POINTS),
    },
    finish=_finish,
)
