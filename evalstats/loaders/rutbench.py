"""RUT-Bench: tool use with users who are ideal or not, one file for one run of one model.

What the keys mean is a trap, so once, here. `success_rate`, `sr`, `completion_rate` and even `semantic_success_rate`
of a summary are all the *relaxed* success: the final state is right and nothing forbidden was done. It is the
headline, stands in no row, and is computed here from `completion`. `completion.sr` is the stricter *semantic* success,
which also asks for the expected reads, writes and their order. `strict_*` never differs from it and is not read.

The older copy of the evaluation script wrote the semantic rate under the same names; a note says so where that is found.

Format: Miaow-Lab/RUT-Bench at d41a3fc, `eval/run_eval.py`, `eval/completion.py`, `benchmark_builder/eval/rescore_relaxed.py`.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from evalstats.errors import InputError, UnreadableFileError
from evalstats.loaders.base import Frame, Head, Match, Rows, Source, in_frames_of_groups, read_head
from evalstats.loaders.files import JsonMember, iter_json
from evalstats.loaders.records import objects_in
from evalstats.loaders.rows import Once, Row, held, metric_row, scored, unscored
from evalstats.loaders.values import (
    as_dict,
    as_list,
    as_number,
    as_text,
    as_time,
    as_whole,
    first_line,
    get,
    user_turns,
)
from evalstats.schema.data import Problem

BENCHMARK: Final = "RUT-Bench"

METRICS: Final[tuple[Row, ...]] = (
    metric_row(BENCHMARK, "success", primary=True),
    metric_row(BENCHMARK, "semantic_success"),
    metric_row(BENCHMARK, "efficiency", "bounded"),
    metric_row(BENCHMARK, "task_score", "bounded"),
    metric_row(BENCHMARK, "reliability", "bounded"),
    metric_row(BENCHMARK, "faithfulness", "ordinal", high=4.0, unit="points"),
    metric_row(BENCHMARK, "clarification", "ordinal", high=3.0, unit="points"),
    metric_row(BENCHMARK, "tool_discipline", "ordinal", high=3.0, unit="points"),
)

# Metric of the judge, its key in the file, its highest value.
_JUDGED = (
    ("reliability", "reliability", 1.0),
    ("faithfulness", "faithfulness_score", 4.0),
    ("clarification", "clarification_score", 3.0),
    ("tool_discipline", "tool_discipline_score", 3.0),
)


def relaxed_success(completion: Row) -> bool:
    """Whether the final state is right and nothing forbidden was done, by the harness's own rule.

    What is absent counts as passed: an empty `completion` is a success, so ask only where there is one.

    >>> relaxed_success({"final_state_assertion_total": 3, "final_state_assertion_pass_count": 3})
    True
    >>> relaxed_success({"expected_state_diff_passed": False})
    False
    """
    total = as_whole(completion.get("final_state_assertion_total")) or 0
    passed = as_whole(completion.get("final_state_assertion_pass_count")) or 0
    final_state = total in (0, passed)
    difference = bool(completion.get("expected_state_diff_passed", True))
    return final_state and difference and not as_list(completion.get("forbidden_action_violations"))


def semantic_value(completion: Row) -> object:
    """Return the stricter success, under whichever of its five names it stands; None where it is absent."""
    named = (completion.get(name) for name in ("semantic_sr", "sr", "semantic_success", "success", "passed"))
    return next((value for value in named if value is not None), None)


def scores_of(sample: Row) -> dict[str, Row]:
    """Return score, status and judge of every metric of `METRICS`, in their order."""
    return {
        **_success(sample),
        **_efficiency(as_dict(sample.get("efficiency"))),
        **_judgment(sample.get("reliability")),
    }


def _success(sample: Row) -> dict[str, Row]:
    completion = as_dict(sample.get("completion"))
    stored = get(sample, "relaxed_completion", "relaxed_success")
    if stored is not None:
        success = _flag(stored, "relaxed_success")
    elif completion:
        success = scored(float(relaxed_success(completion)))
    else:
        success = unscored("the sample has no completion")
    return {"success": success, "semantic_success": _flag(semantic_value(completion), "semantic_sr")}


def _efficiency(efficiency: Row) -> dict[str, Row]:
    names = ("efficiency", "task_score")
    required = as_whole(efficiency.get("min_required_action_turns"))
    if required is not None and required <= 0:
        # the harness writes 0 where it knows no shortest solution to divide by
        reason = "min_required_action_turns is 0: there is nothing to measure efficiency by"
        return {name: unscored(reason, held(efficiency.get(name))) for name in names}
    return {name: _within(efficiency.get(name), 1.0, name) for name in names}


def _judgment(reliability: object) -> dict[str, Row]:
    """Return the judge's scores; the zeros of a failed or skipped judgment are none."""
    judgment = as_dict(reliability)
    judge = as_text(judgment.get("judge_model"))
    error = judgment.get("judge_error")
    if not judgment:
        reason = "the sample has no judgment"
    elif error is not None:
        reason = f"judge: {first_line(error) or 'failed'}"
    elif judge is None:
        reason = "judge: none"
    else:
        return {name: {**_within(judgment.get(key), high, key), "judge": judge} for name, key, high in _JUDGED}
    return {name: unscored(reason, held(judgment.get(key)), judge=judge) for name, key, _ in _JUDGED}


def _flag(value: object, name: str) -> Row:
    number = as_number(value)
    if number in (0.0, 1.0):
        return scored(number)
    return unscored(f"{name} is {held(value) or 'absent'}, neither 0 nor 1", held(value))


def _within(value: object, high: float, name: str) -> Row:
    number = as_number(value)
    if number is not None and 0 <= number <= high:
        return scored(number)
    reason = f"{name} is absent" if value is None else f"{name} is {held(value)}, not within 0 to {high:g}"
    return unscored(reason, held(value))


BEHAVIOURS: Final = (
    "underspecification",
    "information_overload",
    "fabricated_parameters",
    "goal_switching",
    "contradictory_constraints",
    "impatience_and_hostility",
)

_VARIANTS = {"stable": "stable", "unstable": "unstable", "collab": "stable", "noncollab": "unstable"}
_RESCORED = "_relaxed"
_TOLERANCE = 1e-6
_RUN_KEYS = ("model", "source_model", "judge_model", "temperature", "generated_at", "simulated")


@dataclass(slots=True)
class _Tally:
    """Sums over the samples as the harness takes them: a crash as it stands, a failed judgment as 0."""

    seen: Once
    sums: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    rescored: list[str] = field(default_factory=list[str])
    n_crashed: int = 0
    n_crashed_passing: int = 0


class RutBenchLoader:
    """Loader of RUT-Bench's `eval_results.json` and `<stem>_relaxed.json`.

    Item is the base task, variant and scenario the user's behaviour ("stable" for the ideal user), so that an item has
    several variants. Metrics: `success` (relaxed, the headline), `semantic_success`, `efficiency`, `task_score`, and the
    judge's `reliability`, `faithfulness`, `clarification`, `tool_discipline`. A sample with a `run_error` is an error in
    every metric, though an empty conversation may pass its assertions. There are no trials and no domain in the file.
    """

    name = "rutbench"
    title = "RUT-Bench results (eval_results.json, *_relaxed.json)"
    version = "2"

    def sniff(self, head: Head) -> Match | None:
        """Recognise results by their metadata and summary; the benchmark's own files are passed over."""
        if {"sample_id", "env_id", "config_id", "variant", "unstable_behavior"} <= head.keys and "run" not in head.keys:
            return Match(confidence=0.95, reason="the benchmark's samples", skip=True)
        if "items" in head.keys and '"env_class_code"' in head.text:
            return Match(confidence=0.95, reason="the benchmark's task blueprints", skip=True)
        if head.shape != "object":
            return None
        metadata = as_dict(head.members.get("metadata")).keys()
        if {"benchmark_file", "blueprint_file"} <= metadata or {"source_eval_result_file", "criteria"} <= metadata:
            return Match(confidence=0.95, reason="metadata of a RUT-Bench evaluation")
        if "samples" in head.keys and '"unstable_behavior"' in head.text and '"env_id"' in head.text:
            return Match(confidence=0.8, reason="samples with env_id and unstable_behavior")
        return None

    def plan(self, files: Sequence[Path]) -> Iterable[Source | Problem]:
        """Make every file a source, but not the same run twice: a rescored copy beside its original is passed over."""
        originals = {(path.parent, Source(path=path).stem): path for path in files}
        for path in files:
            stem = Source(path=path).stem
            original = originals.get((path.parent, stem.removesuffix(_RESCORED))) if stem.endswith(_RESCORED) else None
            if original is None or _model_in(original) != _model_in(path):
                yield Source(path=path)
                continue
            message = f"is {original.name} rescored; that one is read, and its relaxed success follows the same rule"
            yield from Source(path=path).notes([message])

    def read(self, source: Source) -> Iterator[Rows | Frame | Problem]:
        """Yield outcomes, metrics, the run, and what does not fit together."""
        metadata, summary = _preamble(source.path)
        model = _model_of(metadata)
        if not model:
            raise InputError("metadata has no model (or source_model); a run needs its model")
        common: Row = {"run": source.run_id(), "model": model, "system": model, "benchmark": BENCHMARK}
        tally = _Tally(Once("a RUT-Bench file holds each once: split repeated runs into files of their own"))
        yield from in_frames_of_groups(_outcomes(source.path, tally), "outcomes", common)
        if not len(tally.seen):
            raise InputError("holds no samples; expected an object with metadata, summary and samples")
        yield Rows(table="metrics", rows=list(METRICS))
        yield Rows(table="runs", rows=[_run_row(common, metadata)])
        yield from source.notes((*_doubts(tally, summary), *_summary_doubts(tally, summary)))


def _model_of(metadata: Row) -> str | None:
    return as_text(metadata.get("model")) or as_text(metadata.get("source_model"))


def _model_in(path: Path) -> str | None:
    """Return the model that the file's head names; None where it cannot be read (reading it will say why)."""
    try:
        return _model_of(as_dict(read_head(path).members.get("metadata")))
    except UnreadableFileError:
        return None


def _preamble(path: Path) -> tuple[Row, Row]:
    """Read metadata and summary, which stand before the samples in files as they are written."""
    found: dict[str, Row] = {}
    for part in iter_json(path, arrays=("samples",)):
        if isinstance(part, JsonMember) and part.member in ("metadata", "summary"):
            found[part.member] = as_dict(part.value)
        if len(found) == 2:
            break
    return found.get("metadata", {}), found.get("summary", {})


def user_behaviour(sample: Row, where: str) -> str:
    """Return the behaviour of the sample's user: "stable", one of the six, or "unstable" where it is not named.

    >>> user_behaviour({"variant": "unstable", "unstable_behavior": "goal_switching"}, "sample 0")
    'goal_switching'
    """
    variant = _VARIANTS.get((as_text(sample.get("variant")) or "").strip())
    behaviour = (as_text(sample.get("unstable_behavior")) or "").strip()
    sample_id = as_text(sample.get("sample_id")) or ""
    if variant == "stable" and behaviour:
        raise InputError(f"{where}: is stable and yet has the unstable_behavior {behaviour!r}; mend one of them")
    if behaviour:
        return behaviour
    if variant is None:
        variant = next((name for name in _VARIANTS.values() if sample_id.endswith(f"_{name}")), None)
    if variant == "stable":
        return "stable"
    bundle = as_list(sample.get("behavior_bundle"))
    named = as_text(bundle[0]) if len(bundle) == 1 else None
    named = named or next((name for name in BEHAVIOURS if sample_id.endswith(f"_{name}")), None)
    if named is None and variant is None:
        raise InputError(f"{where}: has no variant; expected 'stable' or 'unstable'")
    return named or "unstable"


def base_task(sample: Row, behaviour: str, where: str) -> str:
    """Return the id that all versions of a task share: its source's id or its own, without the version's ending.

    >>> base_task({"task_id": "env_1_task_2"}, "goal_switching", "sample 0")
    'env_1_task_2'
    >>> base_task({"sample_id": "env_1_task_2_goal_switching"}, "goal_switching", "sample 0")
    'env_1_task_2'
    """
    named = (as_text(sample.get(key)) for key in ("source_task_id", "task_id", "sample_id"))
    task = next((name for name in named if name), None)
    if task is None:
        raise InputError(f"{where}: has neither task_id nor sample_id; expected the id of its task")
    for version in (behaviour, *_VARIANTS):
        if task.endswith(f"_{version}") and task != f"_{version}":
            return task.removesuffix(f"_{version}")
    return task


def _outcomes(path: Path, tally: _Tally) -> Iterator[tuple[Row, list[Row]]]:
    for place, locator, sample in objects_in(path, "samples", word="sample"):
        named = as_text(sample.get("sample_id")) or as_text(sample.get("task_id")) or "without an id"
        facts, scores = _of_sample(sample, f"{place} ({named})", tally)
        yield {"locator": locator, **facts}, scores


def _of_sample(sample: Row, where: str, tally: _Tally) -> tuple[Row, list[Row]]:
    """Return what all outcomes of a sample share, and what each metric adds."""
    behaviour = user_behaviour(sample, where)
    item = base_task(sample, behaviour, where)
    tally.seen.add((item, behaviour), f"task {item!r} with behaviour {behaviour!r}", where)
    _add(tally, sample, where)
    crash = get(sample, "run", "run_error")
    efficiency = sample.get("efficiency")
    turns = as_whole(get(efficiency, "actual_user_turn_count"))
    facts: Row = {
        "item": item,
        "variant": behaviour,
        "n_trials": 1,
        "trial": 0,
        "scenario": behaviour,
        "user_kind": "ideal" if behaviour == "stable" else "non_ideal",
        "tags": [label for label in map(as_text, as_list(sample.get("behavior_bundle"))) if label],
        "n_turns": user_turns(get(sample, "run", "transcript")) if turns is None else turns,
        "env_id": as_text(sample.get("env_id")),
        "difficulty": as_text(sample.get("difficulty_bucket")),
        "task_type": as_text(sample.get("task_type")),
        "num_user_turns": as_whole(sample.get("num_user_turns")),
        # the row's own key, in the singular, is always 0
        "min_required_action_turns": as_whole(get(efficiency, "min_required_action_turns")),
    }
    scores = scores_of(sample).items()
    return facts, [
        {"metric": metric, **(score if crash in (None, "") else _crashed(score, crash))} for metric, score in scores
    ]


def _crashed(score: Row, crash: object) -> Row:
    shown = f"{score['score']:g}" if "score" in score else score["value_raw"]
    reason = first_line(crash) or "the run crashed"
    return unscored(reason, as_text(shown), error=True, judge=score.get("judge"))


def _add(tally: _Tally, sample: Row, where: str) -> None:
    completion = as_dict(sample.get("completion"))
    relaxed, semantic = relaxed_success(completion), as_number(semantic_value(completion))
    stored = as_number(get(sample, "relaxed_completion", "relaxed_success"))
    if stored is not None and bool(stored) != relaxed:
        tally.rescored.append(where)
    passing = relaxed if stored is None else bool(stored)
    crashed = bool(get(sample, "run", "run_error"))
    tally.n_crashed += crashed
    tally.n_crashed_passing += crashed and passing
    counted = {
        "relaxed": float(passing),
        "semantic": semantic or 0.0,
        "avg_efficiency": as_number(get(sample, "efficiency", "efficiency")) or 0.0,
        "avg_task_score": as_number(get(sample, "efficiency", "task_score")) or 0.0,
        "avg_reliability": as_number(get(sample, "reliability", "reliability")) or 0.0,
    }
    for name, value in counted.items():
        tally.sums[name] += value


def _doubts(tally: _Tally, summary: Row) -> Iterator[str]:
    if tally.n_crashed:
        yield (
            f"{tally.n_crashed:,} samples crashed (run_error) and are errors here; the harness counts them as they stand, "
            f"{tally.n_crashed_passing} of them as successes"
        )
    if tally.rescored:
        shown = ", ".join(tally.rescored[:3])
        yield (
            f"{len(tally.rescored):,} samples store a relaxed_success other than the one their completion gives ({shown}); "
            "the stored one is used"
        )
    absent = [name for name in map(as_text, as_list(summary.get("missing_runtime_task_ids"))) if name]
    if absent:
        yield f"{len(absent):,} samples had no environment to run in and are missing ({', '.join(absent[:3])})"


def _summary_doubts(tally: _Tally, summary: Row) -> Iterator[str]:
    """Compare the file's own averages with its samples."""
    n = len(tally.seen)
    mean = {name: total / n for name, total in tally.sums.items()}
    counted = as_whole(summary.get("sample_count"))
    if counted is not None and counted != n:
        yield f"the summary counts {counted} samples, the file holds {n}"
    rate = as_number(summary.get("success_rate"))
    if rate is not None and abs(rate - mean["relaxed"]) > _TOLERANCE:
        if abs(rate - mean["semantic"]) <= _TOLERANCE:
            yield (
                f"the summary's success_rate {rate:.4f} is the stricter semantic success (as the older evaluation script "
                f"writes it); the relaxed success, metric `success` here, is {mean['relaxed']:.4f}"
            )
        else:
            yield (
                f"the summary's success_rate is {rate:.4f}, but its samples give {mean['relaxed']:.4f} (relaxed) "
                f"and {mean['semantic']:.4f} (semantic); the samples are used"
            )
    expected = {
        "relaxed_success_rate": mean["relaxed"],
        "original_success_rate": mean["semantic"],
        "strict_success_rate": mean["semantic"],
        **{name: value for name, value in mean.items() if name.startswith("avg_")},
    }
    for key, value in expected.items():
        stated = as_number(summary.get(key))
        if stated is not None and abs(stated - value) > _TOLERANCE:
            yield f"the summary's {key} is {stated:.4f}, but its samples give {value:.4f}; the samples are used"


def _run_row(common: Row, metadata: Row) -> Row:
    limit = as_whole(metadata.get("max_samples"))
    simulated = metadata.get("simulated")
    return {
        **common,
        "harness": "RUT-Bench",
        "temperature": as_number(metadata.get("temperature")),
        "judge": as_text(metadata.get("judge_model")),
        "item_limit": limit or None,
        "factor_names": ["unstable_behavior=scenario"],
        "dependence": [],
        "config": json.dumps({key: value for key, value in metadata.items() if key not in _RUN_KEYS}),
        "simulated": ("yes" if simulated is True else as_text(simulated)) if simulated else None,
        "timestamp": as_time(metadata.get("generated_at")),
    }


LOADER: Final = RutBenchLoader()
