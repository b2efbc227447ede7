"""What a simulated RUT-Bench file holds: what happened in each sample, its blocks, and the summary.

The blocks are computed from a few facts by the rules of the benchmark's own scorer, so that they agree with each other.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from evalstats.simulate.draws import generator, intercept_for_rate
from evalstats.simulate.rutbench_truth import BEHAVIOURS, DIFFICULTIES, STABLE, RutDesign, RutDraw

JUDGE = "simulated-judge"
FORBIDDEN = "forbidden action matched executed write tool 'delete_record': delete record"
CRASH = "TimeoutError: simulated crash of the harness\n"

# How a sample failed the relaxed criterion: wrong final state, right assertions but a change missing from the
# state's difference, or a forbidden write.
Failure = Literal["state", "diff", "forbidden"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleFacts:
    """Everything a sample's blocks are made from.

    `failure` is None where the relaxed criterion was met; `flawed` marks a sample that met it and yet skipped a
    required step, so that the stricter semantic criterion fails. The three scores are the judge's whole points.
    """

    env_id: str
    task_id: str
    behaviour: str
    difficulty: str
    user_turns: int
    action_turns: int
    read_only: bool
    crashed: bool
    failure: Failure | None
    flawed: bool
    tool_calls: int
    judge_failed: bool
    faithfulness: int
    clarification: int
    discipline: int

    @property
    def sample_id(self) -> str:
        """Name of the sample: the base task's, then `stable` or the behaviour."""
        return f"{self.task_id}_{self.behaviour}"

    @property
    def writes(self) -> int:
        """Required calls that change the state: a third of the required tool calls, at least one."""
        return 0 if self.read_only else max(1, self._required_calls // 3)

    @property
    def reads(self) -> int:
        """Required calls that only look."""
        return self._required_calls - self.writes

    @property
    def orderings(self) -> int:
        """Required orders: the last read before each write."""
        return self.writes if self.reads else 0

    @property
    def assertions(self) -> int:
        """Assertions about the final state: two for each required write."""
        return 2 * self.writes

    @property
    def _required_calls(self) -> int:
        return self.action_turns - 2 * self.user_turns


class _Met(NamedTuple):
    """How many of each requirement were met."""

    reads: int
    writes: int
    names: int
    orderings: int
    assertions: int
    diff: bool
    forbidden: list[str]


def sample_row(facts: SampleFacts) -> dict[str, object]:
    """Return the sample as the harness writes it."""
    stable = facts.behaviour == STABLE
    completion = _completion(facts)
    return {
        "sample_id": facts.sample_id,
        "task_id": facts.task_id,
        "env_id": facts.env_id,
        "variant": "stable" if stable else "unstable",
        "difficulty_bucket": facts.difficulty,
        "task_type": "execute",
        "num_user_turns": facts.user_turns,
        "min_required_action_turn": 0,  # the harness reads a field that does not exist
        "profile_bundle": [] if stable else ["unstable_taxonomy_v1"],
        "behavior_bundle": [] if stable else [facts.behaviour],
        "unstable_behavior": "" if stable else facts.behaviour,
        "run": _run(facts),
        "completion": completion,
        "efficiency": _efficiency(facts, success=bool(completion["success"])),
        "reliability": _reliability(facts),
    }


def _run(facts: SampleFacts) -> dict[str, object]:
    turn = [{"role": "user", "content": "…"}, {"role": "assistant", "content": "…"}]
    block: dict[str, object] = {
        "sample_id": facts.sample_id,
        "agent_context_mode": "tool_only",
        "transcript": [] if facts.crashed else turn * facts.user_turns,
        "actual_actions": [],
        "actual_tool_trace": [],
        "initial_state": {},
        "final_state": {},
        "final_state_diff": {},
        "constraints_rules_text": "",
        "run_error": CRASH if facts.crashed else None,
    }
    if facts.crashed:
        del block["agent_context_mode"]  # the harness leaves it out when a run raises
    return block


def _met(facts: SampleFacts) -> _Met:
    everything = _Met(
        facts.reads, facts.writes, facts.writes, facts.orderings, facts.assertions, diff=True, forbidden=[]
    )
    if facts.crashed:
        return _Met(0, 0, 0, 0, 0, diff=facts.read_only, forbidden=[])
    if facts.flawed and facts.reads:  # the last read is missing, which every write must follow
        return everything._replace(reads=facts.reads - 1, orderings=0)
    if facts.flawed:
        return everything._replace(writes=facts.writes - 1)
    if facts.failure == "state":
        return everything._replace(
            writes=facts.writes - 1,
            orderings=max(facts.orderings - 1, 0),
            assertions=facts.assertions - 2,
            diff=False,
        )
    if facts.failure == "diff":
        return everything._replace(diff=False)
    return everything._replace(forbidden=[FORBIDDEN]) if facts.failure == "forbidden" else everything


def _hard_failures(facts: SampleFacts, met: _Met) -> list[str]:
    found = (
        (met.reads < facts.reads, "missing required read-equivalence matches"),
        (met.writes < facts.writes, "missing required write matches"),
        (met.names < facts.writes, "missing required write tool usage"),
        (met.orderings < facts.orderings, "precedence constraints violated"),
        (met.assertions < facts.assertions, "final state assertions failed"),
        (met.assertions < facts.assertions, "critical final state assertions failed"),
        (not met.diff, "expected final state diff not contained in actual final state diff"),
    )
    return [text for failed, text in found if failed] + met.forbidden


def _completion(facts: SampleFacts) -> dict[str, object]:
    met = _met(facts)
    failures = _hard_failures(facts, met)
    success = not failures
    return {
        "passed": success,
        "success": success,
        "sr": float(success),
        "semantic_success": success,
        "semantic_sr": float(success),
        "strict_success": success,
        "strict_sr": float(success),
        "agent_context_mode": "" if facts.crashed else "tool_only",
        "task_type": "execute",
        "required_read_match_count": met.reads,
        "required_read_total": facts.reads,
        "required_write_match_count": met.writes,
        "required_write_total": facts.writes,
        "required_write_tool_name_match_count": met.names,
        "required_write_tool_name_total": facts.writes,
        "precedence_satisfied_count": met.orderings,
        "precedence_total": facts.orderings,
        "final_state_assertion_pass_count": met.assertions,
        "final_state_assertion_total": facts.assertions,
        "critical_final_state_assertion_pass_count": met.assertions,
        "critical_final_state_assertion_total": facts.assertions,
        "expected_state_diff_passed": met.diff,
        "clarification_satisfied": True,
        "refusal_satisfied": True,
        "forbidden_action_violations": met.forbidden,
        "read_results": [],
        "write_results": [],
        "write_tool_name_results": [],
        "precedence_results": [],
        "final_state_results": [],
        "hard_failures": failures,
        "soft_failures": [],
        "failures": failures,
    }


def _efficiency(facts: SampleFacts, *, success: bool) -> dict[str, object]:
    turns = 0 if facts.crashed else facts.user_turns
    calls = 0 if facts.crashed else facts.tool_calls
    total = 2 * turns + calls
    efficiency = min(1.0, facts.action_turns / total) if total else 0.0
    return {
        "min_required_action_turns": facts.action_turns,
        "actual_user_turn_count": turns,
        "actual_assistant_response_turn_count": turns,
        "actual_assistant_tool_call_count": calls,
        "actual_total_action_turns": total,
        "success": success,
        "sr": float(success),
        "efficiency": efficiency,
        "task_score": float(success) * efficiency,
    }


def _reliability(facts: SampleFacts) -> dict[str, object]:
    scored = not (facts.crashed or facts.judge_failed)
    faithfulness = facts.faithfulness if scored else 0
    clarification = facts.clarification if scored else 0
    discipline = facts.discipline if scored else 0
    error = "run failed before reliability scoring" if facts.crashed else "judge payload is not a JSON object"
    return {
        "judge_model": JUDGE,
        "faithfulness_score": faithfulness,
        "clarification_score": clarification,
        "tool_discipline_score": discipline,
        "faithfulness_reason": "…" if scored else "",
        "clarification_reason": "…" if scored else "",
        "tool_discipline_reason": "…" if scored else "",
        "reliability": 0.4 * (faithfulness / 4.0) + 0.3 * (clarification / 3.0) + 0.3 * (discipline / 3.0),
        "judge_error": None if scored else error,
    }


# All invented.
FLAW_RATE = 0.15  # share of relaxed successes that fail the semantic criterion
FAILURE_SHARES: tuple[tuple[Failure, float], ...] = (("state", 0.80), ("diff", 0.12), ("forbidden", 0.08))
EXTRA_CALLS_SOLVED, EXTRA_CALLS_FAILED = 1.5, 3.0  # mean number of tool calls beyond the required ones
JUDGE_SUCCESS_EFFECT = 0.8  # how much better a solved sample is judged, in logits of a point
FAITHFULNESS_TOP, CLARIFICATION_TOP, DISCIPLINE_TOP = 4, 3, 3


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Details:
    """Draws for every sample, each array of shape (n_samples,), samples in task-major order."""

    flawed: NDArray[np.bool_]
    failure: NDArray[np.int64]
    extra_calls: NDArray[np.int64]
    judge_failed: NDArray[np.bool_]
    faithfulness: NDArray[np.int64]
    clarification: NDArray[np.int64]
    discipline: NDArray[np.int64]


def draw_facts(
    draw: RutDraw, design: RutDesign, *, seed: int, run: int, judge_error_rate: float
) -> Iterator[SampleFacts]:
    """Yield the facts of every sample: base task by base task, behaviours in the order of `BEHAVIOURS`."""
    rng = generator(seed, "rutbench", "details", draw.model.name, str(run))
    details = _draw_details(draw, judge_error_rate, rng)
    success, crashed = draw.success.ravel(), draw.crashed.ravel()
    for row in range(success.size):
        task, place = divmod(row, len(BEHAVIOURS))
        read_only = bool(design.read_only[task])
        turns, needed = int(design.user_turns[task]), int(design.action_turns[task])
        failed = not (success[row] or crashed[row])
        yield SampleFacts(
            env_id=design.env_id(task),
            task_id=design.task_id(task),
            behaviour=BEHAVIOURS[place],
            difficulty=DIFFICULTIES[int(design.difficulty[task])],
            user_turns=turns,
            action_turns=needed,
            read_only=read_only,
            crashed=bool(crashed[row]),
            failure=_failure(int(details.failure[row]), read_only=read_only) if failed else None,
            flawed=bool(details.flawed[row]),
            tool_calls=needed - 2 * turns + int(details.extra_calls[row]),
            judge_failed=bool(details.judge_failed[row]),
            faithfulness=int(details.faithfulness[row]),
            clarification=int(details.clarification[row]),
            discipline=int(details.discipline[row]),
        )


def _draw_details(draw: RutDraw, judge_error_rate: float, rng: np.random.Generator) -> _Details:
    success, crashed = draw.success.ravel(), draw.crashed.ravel()
    honesty, discipline = draw.model.honesty, draw.model.discipline
    return _Details(
        flawed=success & ~crashed & (rng.random(success.size) < FLAW_RATE),
        failure=rng.choice(len(FAILURE_SHARES), p=[share for _, share in FAILURE_SHARES], size=success.size),
        extra_calls=rng.poisson(np.where(success, EXTRA_CALLS_SOLVED, EXTRA_CALLS_FAILED)),
        judge_failed=_judge_failures(crashed, judge_error_rate, rng),
        faithfulness=_points(success, honesty, FAITHFULNESS_TOP, rng),
        clarification=_points(success, (honesty + discipline) / 2, CLARIFICATION_TOP, rng),
        discipline=_points(success, discipline, DISCIPLINE_TOP, rng),
    )


def _failure(drawn: int, *, read_only: bool) -> Failure:
    # a task that changes nothing can only fail by a forbidden write
    return "forbidden" if read_only else FAILURE_SHARES[drawn][0]


def _judge_failures(crashed: NDArray[np.bool_], rate: float, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Mark `rate` times the samples; a crashed run never reaches the judge."""
    able = np.flatnonzero(~crashed)
    failed = np.zeros(crashed.size, dtype=np.bool_)
    failed[rng.choice(able, size=min(round(rate * crashed.size), able.size), replace=False)] = True
    return failed


def _points(success: NDArray[np.bool_], share: float, top: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Whole points from 0 to `top` with mean `share * top`, more of them where the sample was solved."""
    eta = logit(share) + JUDGE_SUCCESS_EFFECT * success
    return rng.binomial(top, expit(eta + intercept_for_rate(eta, share)))


Row = Mapping[str, object]

_GROUPS = (
    ("variant_summary", "variant", False),
    ("difficulty_summary", "difficulty_bucket", False),
    ("task_type_summary", "task_type", False),
    ("num_user_turns_summary", "num_user_turns", False),
    ("min_required_action_turn_summary", "min_required_action_turn", False),
    ("behavior_summary", "behavior_bundle", True),
    ("unstable_behavior_summary", "unstable_behavior", False),
    ("profile_summary", "profile_bundle", True),
)


def summarise(rows: Sequence[Row]) -> dict[str, object]:
    """Summarise samples as the harness does, quirks included.

    The key `semantic_success_rate` holds the relaxed rate; the semantic rate stands under `strict_success_rate`. Judge
    errors count as zeros. A crashed run counts as a success where nothing was there to fail. Stable samples are
    "unknown" among the unstable behaviours.
    """
    summary: dict[str, object] = {"sample_count": len(rows), "missing_runtime_task_ids": [], **_metrics(rows)}
    for name, column, is_list in _GROUPS:
        summary[name] = _grouped(rows, column, is_list=is_list)
    return summary


def relaxed_success(completion: Row) -> bool:
    """Headline success of the harness: final state as asserted, expected changes made, nothing forbidden done.

    Examples
    --------
    >>> relaxed_success({"final_state_assertion_total": 0, "expected_state_diff_passed": True})
    True
    """
    asserted = completion.get("final_state_assertion_total", 0) == completion.get("final_state_assertion_pass_count", 0)
    return (
        asserted
        and bool(completion["expected_state_diff_passed"])
        and not completion.get("forbidden_action_violations")
    )


def _metrics(rows: Sequence[Row]) -> dict[str, object]:
    relaxed = _mean(rows, lambda row: float(relaxed_success(_block(row, "completion"))))
    faithfulness = _mean(rows, _number("reliability", "faithfulness_score"))
    clarification = _mean(rows, _number("reliability", "clarification_score"))
    discipline = _mean(rows, _number("reliability", "tool_discipline_score"))
    return {
        "success_rate": relaxed,
        "sr": relaxed,
        "completion_rate": relaxed,
        "semantic_success_rate": relaxed,
        "strict_success_rate": _mean(rows, _number("completion", "strict_sr")),
        "avg_efficiency": _mean(rows, _number("efficiency", "efficiency")),
        "avg_task_score": _mean(rows, _number("efficiency", "task_score")),
        "avg_reliability": _mean(rows, _number("reliability", "reliability")),
        "avg_faithfulness_score": faithfulness,
        "avg_clarification_score": clarification,
        "avg_tool_discipline_score": discipline,
        "avg_faithfulness_norm": faithfulness / 4.0,
        "avg_clarification_norm": clarification / 3.0,
        "avg_tool_discipline_norm": discipline / 3.0,
    }


def _grouped(rows: Sequence[Row], column: str, *, is_list: bool) -> dict[str, object]:
    groups: dict[str, list[Row]] = {}
    for row in rows:
        value = row[column]
        labels = cast("Iterable[str]", value) if is_list else [str(value) or "unknown"]
        for label in labels:
            groups.setdefault(label, []).append(row)
    return {label: _group(groups[label]) for label in sorted(groups)}


def _group(rows: Sequence[Row]) -> dict[str, object]:
    errors = sum(1 for row in rows if _block(row, "run")["run_error"])
    return {"sample_count": len(rows), **_metrics(rows), "run_error_count": errors}


def _block(row: Row, name: str) -> Row:
    return cast("Row", row[name])


def _number(block: str, key: str) -> Callable[[Row], float]:
    return lambda row: float(cast("float", _block(row, block)[key]))


def _mean(rows: Sequence[Row], value: Callable[[Row], float]) -> float:
    return sum(map(value, rows)) / len(rows)
