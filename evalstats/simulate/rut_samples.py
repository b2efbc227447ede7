"""One sample of a RUT-Bench result file: its run, completion, efficiency and reliability blocks.

The blocks are computed from a few facts by the rules of the benchmark's own scorer, so that they agree with each other.
"""

from dataclasses import dataclass
from typing import Literal, NamedTuple

from evalstats.simulate.rut_design import STABLE

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
