"""The simulations of a tau2-bench results file, one file or a folder, as outcomes.

What counts as what:

- A reward in the file stands, as in the harness's own metrics: a conversation that ended before its time was given 0
  by the evaluator, whatever ended it. `termination_reason` is kept as a factor.
- `infrastructure_error` is an error with or without a reward: the conversation never ran, and the harness leaves it
  out of its metrics.
- Without a reward, `unexpected_error` and `user_error` (harness and simulated user failed) are errors; anything else
  was not evaluated and is unscored. Even `agent_error`: it would have been given 0, but it was not.
- The parts of a reward exist only where the conversation came to its end and was evaluated.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from evalstats.errors import UnreadableFileError
from evalstats.loaders.base import BATCH_ROWS, Rows, Source, readable_name
from evalstats.loaders.files import JsonItem, iter_json, load_json
from evalstats.loaders.tau_bench import reward_metric, snapped_reward
from evalstats.loaders.values import (
    as_count,
    as_dict,
    as_list,
    as_number,
    as_text,
    as_time,
    as_whole,
    dicts,
    first_line,
    get,
    user_turns,
)
from evalstats.schema.data import Problem

_BENCHMARK: Final = "tau2-bench"
_USUAL_AGENT = "llm_agent"
_NEVER_RAN = "infrastructure_error"
_FAILED_WITHOUT_AGENT = ("unexpected_error", "user_error")
_SECRET = ("api_key", "apikey", "_token", "authorization", "password", "secret", "credentials", "headers")


@dataclass(frozen=True, slots=True, kw_only=True)
class Envelope:
    """Everything in a results file but the simulations themselves; they are counted and their ids kept."""

    info: dict[str, object]
    timestamp: object = None
    n_tasks: int = 0
    ids: frozenset[str] = frozenset()
    index: tuple[dict[str, object], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulation:
    """One conversation, where it was found (for a message, and within its source), and whether only the index has it."""

    where: str
    locator: str
    content: dict[str, object]
    from_index: bool = False


@dataclass(slots=True)
class _Tally:
    """What was seen on the way through the simulations."""

    seen: dict[tuple[str, int], str] = field(default_factory=dict[tuple[str, int], str])
    per_task: dict[str, int] = field(default_factory=dict[str, int])
    binary: dict[str, bool] = field(default_factory=lambda: {"reward": True})
    n_from_index: int = 0
    n_numbered: int = 0
    ended_by: dict[str, int] = field(default_factory=dict[str, int])


def read_results(source: Source) -> Iterator[Rows | Problem]:
    """Yield outcomes, metrics, the run, and notes on what is missing.

    Memory is bounded by the largest simulation and the ids of all.
    """
    envelope = _envelope(source.path)
    common = _common(source, envelope.info)
    tally = _Tally()
    batch: list[dict[str, object]] = []
    for simulation in _simulations(source, envelope):
        batch.extend({**common, **row} for row in _outcomes(simulation, tally))
        if len(batch) >= BATCH_ROWS:
            yield Rows(table="outcomes", rows=batch)
            batch = []
    yield Rows(table="outcomes", rows=batch)
    metrics = [
        reward_metric(_BENCHMARK, name, binary=binary, primary=name == "reward")
        for name, binary in tally.binary.items()
    ]
    yield Rows(table="metrics", rows=metrics)
    yield Rows(table="runs", rows=[_run_row(common, envelope)])
    yield from _doubts(source, envelope, tally)


def _envelope(path: Path) -> Envelope:
    members: dict[str, object] = {}
    n_tasks = 0
    ids: set[str] = set()
    index: list[dict[str, object]] = []
    for part in iter_json(path, arrays=("simulations", "tasks", "simulation_index")):
        if not isinstance(part, JsonItem):
            members[part.member] = part.value
        elif part.member == "tasks":
            n_tasks += 1
        elif part.member == "simulation_index":
            index.append(as_dict(part.value))
        else:
            ids.add(as_text(get(part.value, "id")) or "")
    info = as_dict(members.get("info"))
    return Envelope(
        info=info, timestamp=members.get("timestamp"), n_tasks=n_tasks, ids=frozenset(ids), index=tuple(index)
    )


def _simulations(source: Source, envelope: Envelope) -> Iterator[Simulation]:
    """Yield the simulations in the file, then those beside it, then what the index knows of any others."""
    for part in iter_json(source.path, arrays=("simulations",)):
        if isinstance(part, JsonItem):
            where = f"{source.path}: simulation {part.index}"
            yield Simulation(where=where, locator=f"simulations[{part.index}]", content=as_dict(part.value))
    for path in source.companions:
        locator = readable_name(f"{path.parent.name}/{path.name}")
        yield Simulation(where=str(path), locator=locator, content=as_dict(load_json(path)))
    at_hand = envelope.ids | {path.name.partition(".json")[0] for path in source.companions}
    for position, entry in enumerate(envelope.index):
        if as_text(entry.get("id")) not in at_hand:
            reward = entry.get("reward")
            content = {**entry, "reward_info": None if reward is None else {"reward": reward}}
            where, locator = f"{source.path}: simulation_index {position}", f"simulation_index[{position}]"
            yield Simulation(where=where, locator=locator, content=content, from_index=True)


def _outcomes(simulation: Simulation, tally: _Tally) -> Iterator[dict[str, object]]:
    """Yield the reward of one simulation and the parts it was made of."""
    content, where = simulation.content, simulation.where
    place = _place(simulation, tally)
    if place is None:
        return
    common = {"item": place[0], "trial": place[1], "locator": simulation.locator, **_details(content)}
    judged = _judged(content, where)
    yield {**common, "metric": "reward", **judged}
    tally.binary["reward"] &= judged["score"] in (None, 0.0, 1.0)
    ended = str(common["termination_reason"])
    if judged["status"] == "scored" and ended in _FAILED_WITHOUT_AGENT:
        tally.ended_by[ended] = tally.ended_by.get(ended, 0) + 1
    if judged["status"] != "error":
        yield from ({**common, **part} for part in _parts(content, where, tally))


def _place(simulation: Simulation, tally: _Tally) -> tuple[str, int] | None:
    """Return task and trial, entered in the tally; None for a line of the index whose simulation was read already."""
    item = as_text(simulation.content.get("task_id"))
    if item is None:
        raise UnreadableFileError(f"{simulation.where}: has no task_id; expected a simulation of tau2-bench")
    trial = as_whole(simulation.content.get("trial"))
    tally.n_numbered += trial is None
    place = (item, tally.per_task.get(item, 0) if trial is None else trial)
    if place not in tally.seen:
        tally.seen[place] = simulation.where
        tally.per_task[item] = tally.per_task.get(item, 0) + 1
        tally.n_from_index += simulation.from_index
        return place
    if simulation.from_index:  # its file is there under another name
        return None
    raise UnreadableFileError(
        f"{simulation.where}: task_id {item!r}, trial {place[1]} stands in {tally.seen[place]} already; "
        "keep one of the two, or give the repetitions trials of their own"
    )


def _parts(content: dict[str, object], where: str, tally: _Tally) -> Iterator[dict[str, object]]:
    for name, value in as_dict(get(content, "reward_info", "reward_breakdown")).items():
        score = snapped_reward(value, f"{where}: reward_breakdown.{name}")
        metric = f"reward/{name}"
        tally.binary[metric] = tally.binary.get(metric, True) and score in (None, 0.0, 1.0)
        if score is None:
            held = json.dumps(value)[:200]
            yield {"metric": metric, "status": "unscored", "status_reason": f"is {held}", "value_raw": held}
        else:
            yield {"metric": metric, "score": score, "status": "scored"}


def _judged(content: dict[str, object], where: str) -> dict[str, object]:
    ended = as_text(content.get("termination_reason")) or "without a termination_reason"
    raw = get(content, "reward_info", "reward")
    reward = snapped_reward(raw, where)
    held = None if raw is None else json.dumps(raw)[:200]
    if ended == _NEVER_RAN or (reward is None and ended in _FAILED_WITHOUT_AGENT):
        said = first_line(get(content, "info", "error"))
        reason = f"{ended}: {said}" if said else ended
        return {"score": None, "status": "error", "status_reason": reason, "value_raw": held}
    if reward is None:
        reason = f"not evaluated (ended by {ended})"
        return {"score": None, "status": "unscored", "status_reason": reason, "value_raw": held}
    return {"score": reward, "status": "scored"}


def _details(content: dict[str, object]) -> dict[str, object]:
    return {
        "n_trials": 1,
        "session": as_text(content.get("id")),
        "n_turns": user_turns(content.get("messages")),
        "cost_usd": as_number(content.get("agent_cost")),
        "latency_s": as_number(content.get("duration")),
        **_tokens(content),
        "timestamp": as_time(content.get("start_time")) or as_time(content.get("timestamp")),
        "termination_reason": as_text(content.get("termination_reason")),
        "user_cost_usd": as_number(content.get("user_cost")),
        "seed": as_whole(content.get("seed")),
        "mode": as_text(content.get("mode")),
    }


def _tokens(content: dict[str, object]) -> dict[str, object]:
    """Count the agent's tokens: from its session's usage where there is one (voice), else message by message.

    A message without usage that cost nothing was not generated, as the agent's fixed greeting; any other makes the count
    unknown.
    """
    session = list(dicts(get(content, "agent_usage", "records")))
    if session:
        return {name: _summed(record.get(name) for record in session) for name in ("input_tokens", "output_tokens")}
    said = [message for message in dicts(content.get("messages")) if message.get("role") == "assistant"]
    used = [as_dict(message.get("usage")) for message in said if message.get("usage") or message.get("cost") != 0]
    return {
        "input_tokens": _summed(usage.get("prompt_tokens") for usage in used),
        "output_tokens": _summed(usage.get("completion_tokens") for usage in used),
    }


def _summed(counts: Iterable[object]) -> int | None:
    """Sum of counts; None where there are none or one is unknown."""
    found = [as_count(count) for count in counts]
    return None if not found or None in found else as_count(sum(count for count in found if count is not None))


def _common(source: Source, info: dict[str, object]) -> dict[str, object]:
    agent = as_text(get(info, "agent_info", "implementation"))
    model = as_text(get(info, "agent_info", "llm")) or as_text(get(info, "audio_native_config", "model")) or agent
    if model is None:
        raise UnreadableFileError(
            f"{source.path}: info.agent_info names neither an llm nor an implementation; a run needs its model"
        )
    effort = as_text(get(info, "agent_info", "llm_args", "reasoning_effort"))
    effort = effort or as_text(get(info, "audio_native_config", "reasoning_effort"))
    scaffold = ", ".join(part for part in (None if agent == _USUAL_AGENT else agent, effort) if part)
    domain = as_text(get(info, "environment_info", "domain_name"))
    if domain is None:
        raise UnreadableFileError(f"{source.path}: info.environment_info has no domain_name; a run needs its domain")
    return {
        "run": source.run_id(model, domain) if source.stem == "results" else source.run_id(),
        "model": model,
        "system": f"{model} ({scaffold})" if scaffold and scaffold != model else model,
        "benchmark": _BENCHMARK,
        "task": domain,
    }


def _run_row(common: dict[str, object], envelope: Envelope) -> dict[str, object]:
    info = envelope.info
    policy = as_text(get(info, "environment_info", "policy"))
    kept = (
        *("num_trials", "max_steps", "max_errors", "seed", "speech_complexity", "text_streaming_config"),
        *("audio_native_config", "retrieval_config", "retrieval_config_kwargs"),
    )
    config = {name: info[name] for name in kept if info.get(name) is not None}
    for side in ("agent_info", "user_info"):
        config[side] = {name: get(info, side, name) for name in ("implementation", "llm", "llm_args")}
    return {
        **{name: common[name] for name in ("run", "model", "system", "benchmark")},
        "harness": "tau2-bench",
        "harness_version": as_text(info.get("git_commit")),
        "prompt_hash": hashlib.sha256(policy.encode()).hexdigest() if policy else None,
        "temperature": as_number(get(info, "agent_info", "llm_args", "temperature")),
        "factor_names": [],
        "dependence": [],
        "config": json.dumps(_without_secrets(config)),
        "timestamp": as_time(envelope.timestamp),
    }


def _without_secrets(value: object) -> object:
    """Leave out what may be a credential: settings are passed on, keys are not."""
    if parts := as_list(value):
        return [_without_secrets(part) for part in parts]
    if named := as_dict(value):
        return {key: _without_secrets(part) for key, part in named.items() if not key.lower().endswith(_SECRET)}
    return value


def _doubts(source: Source, envelope: Envelope, tally: _Tally) -> Iterator[Problem]:
    notes: list[str] = []
    n, n_tasks = len(tally.seen), envelope.n_tasks
    n_trials = as_whole(envelope.info.get("num_trials")) or 0
    if n < n_tasks * n_trials:
        expected = f"{n_tasks * n_trials} simulations ({n_tasks} tasks, {n_trials} trials each)"
        notes.append(f"holds {n} of {expected}; the rest are missing")
    elif not n:
        notes.append("holds no simulations")
    if tally.n_from_index:
        notes.append(
            f"{tally.n_from_index} simulations stand only in simulation_index, their files are not in the folder "
            f"'simulations' beside {source.path.name}; they have a reward and no conversation"
        )
    if tally.n_numbered:
        notes.append(f"{tally.n_numbered} simulations have no trial; they are numbered as they stand in the file")
    for ended, count in tally.ended_by.items():
        notes.append(f"{count} simulations ended by {ended} and were given a reward; it is kept, as the harness does")
    yield from (Problem(path=str(source.path), message=message, severity="note") for message in notes)
