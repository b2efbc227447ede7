"""Simulated RUT-Bench results: files in the benchmark's own format whose truth is known.

The overall success rates are the published ones. Everything else is made up from a documented model
(`evalstats.simulate.rutbench_world.RutEffects`), the rates by user behaviour above all. The blocks of a sample are computed
from a few facts by the rules of the benchmark's own scorer, so that they agree with each other.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple, TypedDict, Unpack, cast

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.special import expit, logit

from evalstats.record import record
from evalstats.simulate.draws import Calibrate, check_share, generator, intercept_for_rate, model_paths
from evalstats.simulate.rutbench_world import (
    BEHAVIOURS,
    DIFFICULTIES,
    N_TASKS,
    STABLE,
    RutDesign,
    RutDraw,
    RutEffects,
    RutModel,
    draw_run,
    make_design,
    model_named,
    published_models,
)

JUDGE = "simulated-judge"
FORBIDDEN = "forbidden action matched executed write tool 'delete_record': delete record"
CRASH = "TimeoutError: simulated crash of the harness\n"

# How a sample failed the relaxed criterion: wrong final state, right assertions but a change missing from the
# state's difference, or a forbidden write.
Failure = Literal["state", "diff", "forbidden"]


@record
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
JUDGE_ERROR_RATE = 0.004  # a share of all samples
FLAW_RATE = 0.15  # share of relaxed successes that fail the semantic criterion
FAILURE_SHARES: tuple[tuple[Failure, float], ...] = (("state", 0.80), ("diff", 0.12), ("forbidden", 0.08))
EXTRA_CALLS_SOLVED, EXTRA_CALLS_FAILED = 1.5, 3.0  # mean number of tool calls beyond the required ones
JUDGE_SUCCESS_EFFECT = 0.8  # how much better a solved sample is judged, in logits of a point
FAITHFULNESS_TOP, CLARIFICATION_TOP, DISCIPLINE_TOP = 4, 3, 3


def draw_facts(draw: RutDraw, design: RutDesign, *, seed: int, run: int) -> Iterator[SampleFacts]:
    """Yield the facts of every sample: base task by base task, behaviours in the order of `BEHAVIOURS`."""
    rng = generator(seed, "rutbench", "details", draw.model.name, str(run))
    success, crashed = draw.success.ravel(), draw.crashed.ravel()
    honesty, discipline = draw.model.honesty, draw.model.discipline
    flawed = success & ~crashed & (rng.random(success.size) < FLAW_RATE)
    failure = rng.choice(len(FAILURE_SHARES), p=[share for _, share in FAILURE_SHARES], size=success.size)
    extra_calls = rng.poisson(np.where(success, EXTRA_CALLS_SOLVED, EXTRA_CALLS_FAILED))
    # A crashed run never reaches the judge.
    able, judge_failed = np.flatnonzero(~crashed), np.zeros(crashed.size, dtype=np.bool_)
    judge_failed[rng.choice(able, size=min(round(JUDGE_ERROR_RATE * crashed.size), able.size), replace=False)] = True
    faithfulness = _points(success, honesty, FAITHFULNESS_TOP, rng)
    clarification = _points(success, (honesty + discipline) / 2, CLARIFICATION_TOP, rng)
    disciplined = _points(success, discipline, DISCIPLINE_TOP, rng)
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
            # A task that changes nothing can only fail by a forbidden write.
            failure=("forbidden" if read_only else FAILURE_SHARES[int(failure[row])][0]) if failed else None,
            flawed=bool(flawed[row]),
            tool_calls=needed - 2 * turns + int(extra_calls[row]),
            judge_failed=bool(judge_failed[row]),
            faithfulness=int(faithfulness[row]),
            clarification=int(clarification[row]),
            discipline=int(disciplined[row]),
        )


def _points(success: NDArray[np.bool_], share: float, top: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Whole points from 0 to `top` with mean `share * top`, more of them where the sample was solved."""
    eta = logit(share) + JUDGE_SUCCESS_EFFECT * success
    return rng.binomial(top, expit(eta + intercept_for_rate(eta, share)))


Row = Mapping[str, object]


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


GENERATED_AT = (
    "2026-06-03T00:00:00+00:00"  # date of the benchmark's paper; the time of simulation would change the bytes
)

CRASH_RATE = 0.005  # invented, a share of all samples


class RutOptions(TypedDict, total=False):
    """Further options of `simulate_rutbench`, `write_rutbench` and `rutbench_truth`.

    `run`: which repetition on the same benchmark (default 0). `calibrate`: "count" (default) makes the observed number
    of successes exactly the published one; "rate" fixes the truth instead and lets the count vary, as coverage studies
    need. `effects`: the model of the truth. `crash_rate`: a share of samples.
    """

    run: int
    calibrate: Calibrate
    effects: RutEffects
    crash_rate: float


def simulate_rutbench(
    model: str | RutModel, *, seed: int = 0, n_tasks: int = N_TASKS, **options: Unpack[RutOptions]
) -> dict[str, object]:
    """Simulate one model's RUT-Bench result file.

    Parameters
    ----------
    model
        Name of a published model, or a `RutModel` of your own.
    seed
        Seed of the benchmark and of everything else. The base tasks, their difficulty and the share of it that models
        have in common depend on the seed alone, so files of several models pair up. One model more changes no other.
    n_tasks
        Base tasks; each is played once with a cooperative user and once with each of six kinds of other user.
    **options
        See `RutOptions`.

    Returns
    -------
    dict
        The document, ready for `json.dump`: metadata (with a key "simulated" that says so), summary, samples.

    Raises
    ------
    InputError
        If no published model has the name, or a number is out of range.

    Notes
    -----
    Tool traces, states, per-requirement lists and averages by group are left out; counts are not. Half of the crashed runs
    fall on tasks without assertions, where the harness's relaxed criterion passes an empty run.

    Examples
    --------
    >>> document = simulate_rutbench("GPT-5.4")
    >>> summary = document["summary"]
    >>> summary["sample_count"], round(summary["success_rate"] * 1638)
    (1638, 611)
    """
    known = model_named(model)
    design = make_design(seed=seed, n_tasks=n_tasks)
    draw = _draw(known, design, seed, options)
    facts = draw_facts(draw, design, seed=seed, run=options.get("run", 0))
    samples = [sample_row(sample) for sample in facts]
    blocks = [cast("Row", sample["completion"]) for sample in samples]
    summary: dict[str, object] = {
        "sample_count": len(samples),
        "missing_runtime_task_ids": [],
        "success_rate": sum(map(relaxed_success, blocks)) / len(samples),
        "strict_success_rate": sum(bool(block["strict_success"]) for block in blocks) / len(samples),
    }
    return {"metadata": _metadata(known, seed), "summary": summary, "samples": samples}


def write_rutbench(
    folder: str | Path,
    models: Iterable[str | RutModel] | None = None,
    *,
    seed: int = 0,
    n_tasks: int = N_TASKS,
    **options: Unpack[RutOptions],
) -> list[Path]:
    """Write one simulated result file for each model (by default all 19 published ones), about 3 MB each.

    Same models, seed and options: same bytes. The files are named `<model>_eval_results.json`.

    Raises
    ------
    InputError
        As `simulate_rutbench`; or if two models would share a file.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     [path.name for path in write_rutbench(folder, ["GLM-5"], n_tasks=2)]
    ['GLM-5_eval_results.json']
    """
    chosen = [model_named(model) for model in (published_models() if models is None else models)]
    paths = model_paths(folder, [model.name for model in chosen], "_eval_results.json")
    for model, path in zip(chosen, paths, strict=True):
        document = simulate_rutbench(model, seed=seed, n_tasks=n_tasks, **options)
        # One sample a line: as compact as the harness's indented form is long, and still easy to look into.
        samples: Sequence[object] = document["samples"]  # pyright: ignore[reportAssignmentType] - a list by construction
        lines = ",\n".join(_compact(sample) for sample in samples)
        metadata, summary = _compact(document["metadata"]), _compact(document["summary"])
        path.write_text(
            f'{{"metadata":{metadata},\n"summary":{summary},\n"samples":[\n{lines}\n]}}\n',
            encoding="utf-8",
            newline="\n",
        )
    return paths


def rutbench_truth(
    models: Iterable[str | RutModel] | None = None,
    *,
    seed: int = 0,
    n_tasks: int = N_TASKS,
    **options: Unpack[RutOptions],
) -> pl.DataFrame:
    """Return what the simulated files are drawn from: each model's probability of success by user behaviour.

    Returns
    -------
    polars.DataFrame
        One row per model and behaviour: `model`, `scenario` (the behaviour), `user_kind`, `probability` (mean over this
        seed's base tasks of the probability of relaxed success, were no run to crash), `successes` (relaxed successes
        among samples that did not crash), `n_items` (samples that did not crash).

    Examples
    --------
    >>> truth = rutbench_truth(["GLM-5"], calibrate="rate")
    >>> truth.height, round(truth["probability"].mean(), 6)
    (7, 0.296)
    """
    design = make_design(seed=seed, n_tasks=n_tasks)
    chosen = [model_named(model) for model in (published_models() if models is None else models)]
    return pl.concat([_truth_frame(_draw(model, design, seed, options)) for model in chosen])


def _truth_frame(draw: RutDraw) -> pl.DataFrame:
    ran = ~draw.crashed
    return pl.DataFrame(
        {
            "model": [draw.model.name] * len(BEHAVIOURS),
            "scenario": list(BEHAVIOURS),
            "user_kind": ["ideal" if behaviour == STABLE else "non_ideal" for behaviour in BEHAVIOURS],
            "probability": draw.probability.mean(axis=0),
            "successes": (draw.success & ran).sum(axis=0),
            "n_items": ran.sum(axis=0),
        }
    )


def _draw(model: RutModel, design: RutDesign, seed: int, options: RutOptions) -> RutDraw:
    check_share("crash_rate", options.get("crash_rate", 0.0))
    return draw_run(
        model,
        design,
        options.get("effects", RutEffects()),
        seed=seed,
        run=options.get("run", 0),
        calibrate=options.get("calibrate", "count"),
        crash_rate=options.get("crash_rate", CRASH_RATE),
    )


def _metadata(model: RutModel, seed: int) -> dict[str, object]:
    known = model in published_models()
    rate = "the overall success rate is the published one" if known else "the overall success rate was asked for"
    return {
        "generated_at": GENERATED_AT,
        "benchmark_file": "eval/benchmark/RUT-Bench.jsonl",
        "blueprint_file": "eval/benchmark/task_blueprints.jsonl",
        "model": model.name,
        "agent_provider": "openai",
        "agent_base_url": None,
        "thinking_budget": None,
        "temperature": 0.0,
        "judge_model": JUDGE,
        "judge_base_url": None,
        "judge_temperature": 0.0,
        "variant_filter": "all",
        "sample_id_filter": "",
        "max_samples": 0,
        "max_steps": 50,
        "max_workers": 4,
        "skip_reliability": False,
        "simulated": f"by evalstats, seed {seed}; {rate}, per-behaviour rates and all else are invented",
    }


def _compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
