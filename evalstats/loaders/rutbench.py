"""RUT-Bench: tool use with users who are ideal or not, one file for one run of one model.

What the keys mean is a trap, so once, here. `success_rate`, `sr`, `completion_rate` and even `semantic_success_rate`
of a summary are all the *relaxed* success: the final state is right and nothing forbidden was done. It is the
headline, stands in no row, and is computed here from `completion`. `completion.sr` is the stricter *semantic* success,
which also asks for the expected reads, writes and their order. `strict_*` never differs from it and is not read.

The older copy of the evaluation script wrote the semantic rate under the same names; a note says so where that is found.

Format: Miaow-Lab/RUT-Bench at d41a3fc, `eval/run_eval.py`, `eval/completion.py`, `benchmark_builder/eval/rescore_relaxed.py`.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from evalstats.errors import UnreadableFileError
from evalstats.loaders.base import BATCH_ROWS, Head, Match, Rows, Source, read_head
from evalstats.loaders.files import JsonItem, JsonMember, iter_json
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """A score, or None with the reason; `raw` is what the file held, `judge` who gave it."""

    value: float | None
    reason: str | None = None
    raw: str | None = None
    judge: str | None = None


def _metric(name: str, kind: str, high: float, unit: str = "proportion", *, primary: bool = False) -> dict[str, object]:
    bounds = {"low": 0.0, "high": high, "higher_is_better": True}
    return {"metric": name, "kind": kind, **bounds, "unit": unit, "primary": primary}


METRICS: Final[tuple[dict[str, object], ...]] = (
    _metric("success", "binary", 1.0, primary=True),
    _metric("semantic_success", "binary", 1.0),
    _metric("efficiency", "bounded", 1.0),
    _metric("task_score", "bounded", 1.0),
    _metric("reliability", "bounded", 1.0),
    _metric("faithfulness", "ordinal", 4.0, "points"),
    _metric("clarification", "ordinal", 3.0, "points"),
    _metric("tool_discipline", "ordinal", 3.0, "points"),
)

# Metric of the judge, its key in the file, its highest value.
_JUDGED = (
    ("reliability", "reliability", 1.0),
    ("faithfulness", "faithfulness_score", 4.0),
    ("clarification", "clarification_score", 3.0),
    ("tool_discipline", "tool_discipline_score", 3.0),
)


def relaxed_success(completion: dict[str, object]) -> bool:
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


def semantic_value(completion: dict[str, object]) -> object:
    """Return the stricter success, under whichever of its five names it stands; None where it is absent."""
    named = (completion.get(name) for name in ("semantic_sr", "sr", "semantic_success", "success", "passed"))
    return next((value for value in named if value is not None), None)


def scores_of(sample: dict[str, object]) -> dict[str, Score]:
    """Return the score of every metric of `METRICS`, in their order."""
    return {
        **_success(sample),
        **_efficiency(as_dict(sample.get("efficiency"))),
        **_judgment(sample.get("reliability")),
    }


def _success(sample: dict[str, object]) -> dict[str, Score]:
    completion = as_dict(sample.get("completion"))
    stored = get(sample, "relaxed_completion", "relaxed_success")
    if stored is not None:
        success = _flag(stored, "relaxed_success")
    elif completion:
        success = Score(value=float(relaxed_success(completion)))
    else:
        success = Score(value=None, reason="the sample has no completion")
    semantic = _flag(semantic_value(completion), "semantic_sr")
    return {"success": success, "semantic_success": semantic}


def _efficiency(efficiency: dict[str, object]) -> dict[str, Score]:
    names = ("efficiency", "task_score")
    required = as_whole(efficiency.get("min_required_action_turns"))
    if required is not None and required <= 0:
        # the harness writes 0 where it knows no shortest solution to divide by
        reason = "min_required_action_turns is 0: there is nothing to measure efficiency by"
        return {name: Score(value=None, reason=reason, raw=_held(efficiency.get(name))) for name in names}
    return {name: _within(efficiency.get(name), 1.0, name) for name in names}


def _judgment(reliability: object) -> dict[str, Score]:
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
        return {name: _within(judgment.get(key), high, key, judge) for name, key, high in _JUDGED}
    return {
        name: Score(value=None, reason=reason, raw=_held(judgment.get(key)), judge=judge) for name, key, _ in _JUDGED
    }


def _flag(value: object, name: str) -> Score:
    if as_number(value) in (0.0, 1.0):
        return Score(value=as_number(value))
    held = _held(value)
    return Score(value=None, reason=f"{name} is {held or 'absent'}, neither 0 nor 1", raw=held)


def _within(value: object, high: float, name: str, judge: str | None = None) -> Score:
    number = as_number(value)
    if number is not None and 0 <= number <= high:
        return Score(value=number, judge=judge)
    held = _held(value)
    reason = f"{name} is absent" if value is None else f"{name} is {held}, not within 0 to {high:g}"
    return Score(value=None, reason=reason, raw=held, judge=judge)


def _held(value: object) -> str | None:
    return None if value is None else json.dumps(value)[:200]


BENCHMARK: Final = "RUT-Bench"
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

    seen: dict[tuple[str, str], str] = field(default_factory=dict[tuple[str, str], str])
    sums: dict[str, float] = field(default_factory=dict[str, float])
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
            yield Problem(path=str(path), message=message, severity="note")

    def read(self, source: Source) -> Iterator[Rows | Problem]:
        """Yield outcomes, metrics, the run, and what does not fit together."""
        metadata, summary = _preamble(source.path)
        model = _model_of(metadata)
        if not model:
            raise UnreadableFileError(f"{source.path}: metadata has no model (or source_model); a run needs its model")
        common: dict[str, object] = {
            "run": source.run_id(),
            "model": model,
            "system": model,
            "benchmark": BENCHMARK,
        }
        tally = _Tally()
        batch: list[dict[str, object]] = []
        for where, locator, sample in _samples(source.path):
            batch.extend({**common, "locator": locator, **row} for row in _outcomes(sample, where, tally))
            if len(batch) >= BATCH_ROWS:
                yield Rows(table="outcomes", rows=batch)
                batch = []
        yield Rows(table="outcomes", rows=batch)
        yield Rows(table="metrics", rows=[{"benchmark": BENCHMARK, **metric} for metric in METRICS])
        yield Rows(table="runs", rows=[_run_row(common, metadata)])
        for message in (*_doubts(tally, summary), *_summary_doubts(tally, summary)):
            yield Problem(path=str(source.path), message=message, severity="note")


def _model_of(metadata: dict[str, object]) -> str | None:
    return as_text(metadata.get("model")) or as_text(metadata.get("source_model"))


def _model_in(path: Path) -> str | None:
    """Return the model that the file's head names; None where it cannot be read (reading it will say why)."""
    try:
        return _model_of(as_dict(read_head(path).members.get("metadata")))
    except UnreadableFileError:
        return None


def _preamble(path: Path) -> tuple[dict[str, object], dict[str, object]]:
    """Read metadata and summary, which stand before the samples in files as they are written."""
    found: dict[str, dict[str, object]] = {}
    for part in iter_json(path, arrays=("samples",)):
        if isinstance(part, JsonMember) and part.member in ("metadata", "summary"):
            found[part.member] = as_dict(part.value)
        if len(found) == 2:
            break
    return found.get("metadata", {}), found.get("summary", {})


def _samples(path: Path) -> Iterator[tuple[str, str, dict[str, object]]]:
    """Yield the samples, each with the place to name in a message and the place within the file."""
    none = True
    for part in iter_json(path, arrays=("samples",)):
        if isinstance(part, JsonItem):
            none = False
            sample = as_dict(part.value)
            named = as_text(sample.get("sample_id")) or as_text(sample.get("task_id")) or "without an id"
            yield f"{path}: sample {part.index} ({named})", f"samples[{part.index}]", sample
    if none:
        raise UnreadableFileError(f"{path}: holds no samples; expected an object with metadata, summary and samples")


def user_behaviour(sample: dict[str, object], where: str) -> str:
    """Return the behaviour of the sample's user: "stable", one of the six, or "unstable" where it is not named.

    >>> user_behaviour({"variant": "unstable", "unstable_behavior": "goal_switching"}, "sample 0")
    'goal_switching'
    """
    variant = _VARIANTS.get((as_text(sample.get("variant")) or "").strip())
    behaviour = (as_text(sample.get("unstable_behavior")) or "").strip()
    sample_id = as_text(sample.get("sample_id")) or ""
    if variant == "stable" and behaviour:
        raise UnreadableFileError(
            f"{where}: is stable and yet has the unstable_behavior {behaviour!r}; mend one of them"
        )
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
        raise UnreadableFileError(f"{where}: has no variant; expected 'stable' or 'unstable'")
    return named or "unstable"


def base_task(sample: dict[str, object], behaviour: str, where: str) -> str:
    """Return the id that all versions of a task share: its source's id or its own, without the version's ending.

    >>> base_task({"task_id": "env_1_task_2"}, "goal_switching", "sample 0")
    'env_1_task_2'
    >>> base_task({"sample_id": "env_1_task_2_goal_switching"}, "goal_switching", "sample 0")
    'env_1_task_2'
    """
    named = (as_text(sample.get(key)) for key in ("source_task_id", "task_id", "sample_id"))
    task = next((name for name in named if name), None)
    if task is None:
        raise UnreadableFileError(f"{where}: has neither task_id nor sample_id; expected the id of its task")
    for version in (behaviour, *_VARIANTS):
        if task.endswith(f"_{version}") and task != f"_{version}":
            return task.removesuffix(f"_{version}")
    return task


def _outcomes(sample: dict[str, object], where: str, tally: _Tally) -> Iterator[dict[str, object]]:
    behaviour = user_behaviour(sample, where)
    item = base_task(sample, behaviour, where)
    first = tally.seen.setdefault((item, behaviour), where)
    if first != where:
        raise UnreadableFileError(
            f"{where}: task {item!r} with behaviour {behaviour!r} stands in {first} already; a RUT-Bench file holds "
            "each once: split repeated runs into files of their own"
        )
    scores = scores_of(sample)
    _add(tally, sample, where)
    crash = get(sample, "run", "run_error")
    efficiency = sample.get("efficiency")
    turns = as_whole(get(efficiency, "actual_user_turn_count"))
    common: dict[str, object] = {
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
    for metric, score in scores.items():
        yield {**common, "metric": metric, **_judged(score, None if crash in (None, "") else crash)}


def _judged(score: Score, crash: object) -> dict[str, object]:
    if crash is not None:
        held = score.raw if score.value is None else f"{score.value:g}"
        reason = first_line(crash) or "the run crashed"
        return {"status": "error", "status_reason": reason, "value_raw": held, "judge": score.judge}
    if score.value is None:
        return {"status": "unscored", "status_reason": score.reason, "value_raw": score.raw, "judge": score.judge}
    return {"status": "scored", "score": score.value, "judge": score.judge}


def _add(tally: _Tally, sample: dict[str, object], where: str) -> None:
    completion = as_dict(sample.get("completion"))
    relaxed, semantic = relaxed_success(completion), as_number(semantic_value(completion))
    stored = as_number(get(sample, "relaxed_completion", "relaxed_success"))
    if stored is not None and bool(stored) != relaxed:
        tally.rescored.append(where.rpartition(": ")[2])
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
        tally.sums[name] = tally.sums.get(name, 0.0) + value


def _doubts(tally: _Tally, summary: dict[str, object]) -> Iterator[str]:
    if tally.n_crashed:
        yield (
            f"{tally.n_crashed} samples crashed (run_error) and are errors here; the harness counts them as they stand, "
            f"{tally.n_crashed_passing} of them as successes"
        )
    if tally.rescored:
        shown = ", ".join(tally.rescored[:3])
        yield (
            f"{len(tally.rescored)} samples store a relaxed_success other than the one their completion gives ({shown}); "
            "the stored one is used"
        )
    absent = [name for name in map(as_text, as_list(summary.get("missing_runtime_task_ids"))) if name]
    if absent:
        yield f"{len(absent)} samples had no environment to run in and are missing ({', '.join(absent[:3])})"


def _summary_doubts(tally: _Tally, summary: dict[str, object]) -> Iterator[str]:
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


def _run_row(common: dict[str, object], metadata: dict[str, object]) -> dict[str, object]:
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
