"""RUT-Bench: tool use with users who are ideal or not, one file for one run of one model.

What the keys mean is a trap, so once, here. `success_rate`, `sr`, `completion_rate` and even `semantic_success_rate`
of a summary are all the *relaxed* success: the final state is right and nothing forbidden was done. It is the
headline, stands in no row, and is computed here from `completion`. `completion.sr` is the stricter *semantic* success,
which also asks for the expected reads, writes and their order. `strict_*` never differs from it and is not read.
The older copy of the evaluation script wrote the semantic rate under the same names; a note says so where that is found.

Item is the base task, variant and scenario the user's behaviour ("stable" for the ideal user), so that an item has several
variants. A sample with a `run_error` is an error in every metric, though an empty conversation may pass its assertions; the zeros
of a failed or skipped judgment are none. There are no trials and no domain in the file.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from evalstats.errors import UnreadableFileError
from evalstats.loaders.base import Source, read_head
from evalstats.loaders.format import HEADLINE, OBJECT, SHARE, Format, FormatFile, Sample, Scalar, Sign
from evalstats.loaders.rows import Row, Said, as_row, held, unscored
from evalstats.loaders.values import as_dict, as_list, as_number, as_text, as_time, as_whole, first_line, get
from evalstats.schema.data import Problem

_BENCHMARK: Final = "RUT-Bench"
BEHAVIOURS: Final = (
    "underspecification",
    "information_overload",
    "fabricated_parameters",
    "goal_switching",
    "contradictory_constraints",
    "impatience_and_hostility",
)
_VARIANTS: Final = {"stable": "stable", "unstable": "unstable", "collab": "stable", "noncollab": "unstable"}
_RESCORED: Final = "_relaxed"
_TOLERANCE: Final = 1e-6
_SHOWN: Final = 3
_RUN_KEYS: Final = ("model", "source_model", "judge_model", "temperature", "generated_at", "simulated")
_BOUNDED: Final[Row] = {**SHARE, "kind": "bounded"}
_POINTS: Final[Row] = {"kind": "ordinal", "low": 0.0, "unit": "points"}
# Metric of the judge, its key in the file, its highest value.
_JUDGED: Final = (
    ("reliability", "reliability", 1.0),
    ("faithfulness", "faithfulness_score", 4.0),
    ("clarification", "clarification_score", 3.0),
    ("tool_discipline", "tool_discipline_score", 3.0),
)


class _Message(Struct):
    role: Any = None


class _Conversation(Struct):
    run_error: Any = None
    transcript: list[_Message | Scalar] | Scalar = None


class _Sample(Struct):
    sample_id: Any = None
    task_id: Any = None
    source_task_id: Any = None
    variant: Any = None
    unstable_behavior: Any = None
    behavior_bundle: Any = None
    env_id: Any = None
    difficulty_bucket: Any = None
    task_type: Any = None
    num_user_turns: Any = None
    completion: Any = None
    relaxed_completion: Any = None
    efficiency: Any = None
    reliability: Any = None
    run: _Conversation | Scalar = None


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


def _success(sample: _Sample) -> dict[str, Said]:
    completion = as_dict(sample.completion)
    stored = get(sample.relaxed_completion, "relaxed_success")
    if stored is not None:
        success = _flag(stored, "relaxed_success")
    elif completion:
        success = float(relaxed_success(completion))
    else:
        success = unscored("the sample has no completion")
    return {"success": success, "semantic_success": _flag(semantic_value(completion), "semantic_sr")}


def _efficiency(efficiency: Row) -> dict[str, Said]:
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
        return {name: {**as_row(_within(judgment.get(key), high, key)), "judge": judge} for name, key, high in _JUDGED}
    return {name: unscored(reason, held(judgment.get(key)), judge=judge) for name, key, _ in _JUDGED}


def _flag(value: object, name: str) -> Said:
    number = as_number(value)
    if number in (0.0, 1.0):
        return number
    return unscored(f"{name} is {held(value) or 'absent'}, neither 0 nor 1", held(value))


def _within(value: object, high: float, name: str) -> Said:
    number = as_number(value)
    if number is not None and 0 <= number <= high:
        return number
    reason = f"{name} is absent" if value is None else f"{name} is {held(value)}, not within 0 to {high:g}"
    return unscored(reason, held(value))


def user_behaviour(sample: _Sample) -> str | None:
    """Return the behaviour of the sample's user: "stable", one of the six, or "unstable" where it is not named.

    None where nothing tells, or where what it says contradicts itself.
    """
    variant = _VARIANTS.get((as_text(sample.variant) or "").strip())
    behaviour = (as_text(sample.unstable_behavior) or "").strip()
    sample_id = as_text(sample.sample_id) or ""
    if behaviour:
        return None if variant == "stable" else behaviour
    if variant is None:
        variant = next((name for name in _VARIANTS.values() if sample_id.endswith(f"_{name}")), None)
    if variant == "stable":
        return "stable"
    bundle = as_list(sample.behavior_bundle)
    named = as_text(bundle[0]) if len(bundle) == 1 else None
    named = named or next((name for name in BEHAVIOURS if sample_id.endswith(f"_{name}")), None)
    return named or ("unstable" if variant else None)


def base_task(sample: _Sample, behaviour: str) -> str | None:
    """Return the id that all versions of a task share: its source's id or its own, without the version's ending."""
    named = (as_text(name) for name in (sample.source_task_id, sample.task_id, sample.sample_id))
    task = next((name for name in named if name), None)
    for version in (behaviour, *_VARIANTS):
        if task and task.endswith(f"_{version}") and task != f"_{version}":
            return task.removesuffix(f"_{version}")
    return task


def _model_of(metadata: Row) -> str | None:
    return as_text(metadata.get("model")) or as_text(metadata.get("source_model"))


def _model_in(path: Path) -> str | None:
    """Return the model that the file's head names; None where it cannot be read (reading it will say why)."""
    try:
        return _model_of(as_dict(read_head(path).members.get("metadata")))
    except UnreadableFileError:
        return None


def _grouped(files: Sequence[Path]) -> Iterable[Source | Problem]:
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


class _Samples:
    """The samples of one run, with sums as the harness takes them: a crash as it stands, a failed judgment as 0."""

    def __init__(self, file: FormatFile[_Sample]) -> None:
        self._file, self._run = file, ""
        self._sums: dict[str, float] = {}
        self._rescored: list[str] = []
        self._n = self._n_crashed = self._n_crashed_passing = 0

    def rows(self, record: _Sample) -> Iterator[Sample]:
        """Return the outcomes of a sample."""
        self._run = self._run or self._named()
        behaviour = user_behaviour(record)
        item = base_task(record, behaviour or "")
        if behaviour is None or item is None or self._file.again(item, behaviour):
            is_stable = _VARIANTS.get((as_text(record.variant) or "").strip()) == "stable"
            unclear = "stable, but with an unstable_behavior" if is_stable else "no variant, stable or unstable"
            again = "a task with this behaviour before" if item else "neither task_id nor sample_id"
            self._file.leave_out(unclear if behaviour is None else again)
            return
        crash = record.run.run_error if isinstance(record.run, _Conversation) else None
        self._add(record, crash)
        turns = as_whole(get(record.efficiency, "actual_user_turn_count"))
        listed = record.run.transcript if isinstance(record.run, _Conversation) else None
        messages = listed if isinstance(listed, list) else []
        spoken = sum(isinstance(message, _Message) and message.role == "user" for message in messages)
        shared: Row = {
            "run": self._run,
            "item": item,
            "variant": behaviour,
            "scenario": behaviour,
            "user_kind": "ideal" if behaviour == "stable" else "non_ideal",
            "tags": [label for label in map(as_text, as_list(record.behavior_bundle)) if label],
            "n_turns": (spoken if messages else None) if turns is None else turns,
            "env_id": as_text(record.env_id),
            "difficulty": as_text(record.difficulty_bucket),
            "task_type": as_text(record.task_type),
            "num_user_turns": as_whole(record.num_user_turns),
            # the row's own key, in the singular, is always 0
            "min_required_action_turns": as_whole(get(record.efficiency, "min_required_action_turns")),
        }
        scores = {
            **_success(record),
            **_efficiency(as_dict(record.efficiency)),
            **_judgment(record.reliability),
        }
        crashed = crash not in (None, "")
        yield shared, [(name, _crashed(as_row(row), crash) if crashed else row) for name, row in scores.items()]

    def _named(self) -> str:
        metadata = as_dict(self._file.members.get("metadata"))
        model = _model_of(metadata)
        if not model:
            raise UnreadableFileError(
                f"{self._file.path}: metadata has no model (or source_model); a run needs its model"
            )
        simulated = metadata.get("simulated")
        kept = {key: value for key, value in metadata.items() if key not in _RUN_KEYS}
        return self._file.run(
            model,
            "",
            temperature=as_number(metadata.get("temperature")),
            judge=as_text(metadata.get("judge_model")),
            item_limit=as_whole(metadata.get("max_samples")) or None,
            factor_names=["unstable_behavior=scenario"],
            dependence=[],
            config=json.dumps(kept),
            simulated=("yes" if simulated is True else as_text(simulated)) if simulated else None,
            timestamp=as_time(metadata.get("generated_at")),
        )

    def _add(self, record: _Sample, crash: object) -> None:
        completion = as_dict(record.completion)
        relaxed, semantic = relaxed_success(completion), as_number(semantic_value(completion))
        stored = as_number(get(record.relaxed_completion, "relaxed_success"))
        if stored is not None and bool(stored) != relaxed:
            named = as_text(record.sample_id) or as_text(record.task_id) or "without an id"
            self._rescored.append(f"{self._file.locator} ({named})")
        passing = relaxed if stored is None else bool(stored)
        self._n += 1
        self._n_crashed += bool(crash)
        self._n_crashed_passing += bool(crash) and passing
        counted = {
            "relaxed": float(passing),
            "semantic": semantic or 0.0,
            "avg_efficiency": as_number(get(record.efficiency, "efficiency")) or 0.0,
            "avg_task_score": as_number(get(record.efficiency, "task_score")) or 0.0,
            "avg_reliability": as_number(get(record.reliability, "reliability")) or 0.0,
        }
        for name, value in counted.items():
            self._sums[name] = self._sums.get(name, 0.0) + value

    def finish(self) -> Iterable[Sample]:
        """Say what crashed, what was scored again, and where the file's own averages differ from its samples."""
        summary = as_dict(self._file.members.get("summary"))
        if self._n_crashed:
            self._file.note(
                f"{self._n_crashed:,} samples crashed (run_error) and are errors here; the harness counts them as they are, "
                f"{self._n_crashed_passing} of them as successes"
            )
        if self._rescored:
            shown = ", ".join(self._rescored[:_SHOWN])
            self._file.note(
                f"{len(self._rescored):,} samples store a relaxed_success other than the one their completion gives ({shown}); "
                "the stored one is used"
            )
        absent = [name for name in map(as_text, as_list(summary.get("missing_runtime_task_ids"))) if name]
        if absent:
            shown = ", ".join(absent[:_SHOWN])
            self._file.note(f"{len(absent):,} samples had no environment to run in and are missing ({shown})")
        for doubt in self._summary_doubts(summary) if self._n else ():
            self._file.note(doubt)
        return ()

    def _summary_doubts(self, summary: Row) -> Iterator[str]:
        """Compare the file's own averages with its samples."""
        n = self._n
        mean = {name: total / n for name, total in self._sums.items()}
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


def _crashed(score: Row, crash: object) -> Row:
    shown = f"{score['score']:g}" if "score" in score else score["value_raw"]
    reason = first_line(crash) or "the run crashed"
    return unscored(reason, as_text(shown), error=True, judge=score.get("judge"))


FORMAT: Final = Format(
    name="rutbench",
    title="RUT-Bench results (eval_results.json, *_relaxed.json)",
    version="3",
    upstream=(
        "Miaow-Lab/RUT-Bench at d41a3fc, eval/run_eval.py, eval/completion.py, benchmark_builder/eval/rescore_relaxed.py"
    ),
    benchmark=_BENCHMARK,
    harness=_BENCHMARK,
    signs=(
        Sign(
            "sample_id env_id config_id variant unstable_behavior", 0.95, without="run", skip="the benchmark's samples"
        ),
        Sign("items", 0.95, text=('"env_class_code"',), skip="the benchmark's task blueprints"),
        Sign("metadata", 0.95, text=('"benchmark_file"', '"blueprint_file"'), shapes=OBJECT),
        Sign("metadata", 0.95, text=('"source_eval_result_file"', '"criteria"'), shapes=OBJECT),
        Sign("samples", 0.8, text=('"unstable_behavior"', '"env_id"'), shapes=OBJECT),
    ),
    record=_Sample,
    reader=_Samples,
    lists=("samples",),
    keep=("metadata", "summary"),
    called="samples",
    grouped=_grouped,
    metrics={
        "success": HEADLINE,
        "semantic_success": SHARE,
        **dict.fromkeys(("efficiency", "task_score", "reliability"), _BOUNDED),
        "faithfulness": {**_POINTS, "high": 4.0},
        "clarification": {**_POINTS, "high": 3.0},
        "tool_discipline": {**_POINTS, "high": 3.0},
    },
    expected="An object with metadata, summary and samples was expected",
)
