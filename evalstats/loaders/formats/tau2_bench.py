"""tau2-bench and its successor tau3: results in one file or in a folder, and leaderboard submissions.

A results file holds `info` (who played against whom, in which domain), `tasks` and `simulations`; in the folder layout
the simulations lie beside it, one a file, in `simulations/`, and it lists them in `simulation_index`. What counts as what:

- A reward in the file stands, as in the harness's own metrics. `termination_reason` is kept as a factor.
- `infrastructure_error` is an error with or without a reward: the harness leaves it out of its metrics.
- Without a reward, `unexpected_error` and `user_error` (harness and simulated user failed) are errors; anything else was not
  evaluated and is unscored, even `agent_error`: it would have been given 0, but it was not.

A submission holds `pass^k` in percent, and what makes two of them incomparable as factors.
"""

import hashlib
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import polars as pl
from msgspec import Struct

from evalstats.errors import InputError, UnreadableFileError
from evalstats.loaders.base import Source, read_head
from evalstats.loaders.format import OBJECT, Format, FormatFile, Sample, Sign
from evalstats.loaders.formats.tau_bench import snapped
from evalstats.loaders.record_columns import number
from evalstats.loaders.rows import Row, Said, unscored
from evalstats.loaders.typed_records import Plain
from evalstats.loaders.values import (
    as_count,
    as_dict,
    as_list,
    as_number,
    as_text,
    as_whole,
    day_of,
    dicts,
    first_line,
    get,
)
from evalstats.schema.data import Problem

_USUAL_AGENT: Final = "llm_agent"
_NEVER_RAN: Final = "infrastructure_error"
_FAILED_WITHOUT_AGENT: Final = ("unexpected_error", "user_error")
_CONFIG_FIELDS: Final = (
    "num_trials", "max_steps", "max_errors", "seed", "speech_complexity", "text_streaming_config", "audio_native_config",
    "retrieval_config", "retrieval_config_kwargs",
)  # fmt: skip
_SECRET = ("api_key", "apikey", "_token", "authorization", "password", "secret", "credentials", "headers")
_INFO: Final = "info"
_SIMULATIONS: Final = "simulations"
_FROM_INDEX: Final = (
    "{n} simulations are only in simulation_index, their files are not in the folder 'simulations' beside it; they have a "
    "reward and no conversation"
)
_NUMBERED: Final = "{n} simulations have no trial; those of their block are numbered in file order"


class _Tokens(Struct, gc=False):
    prompt_tokens: Any = None
    completion_tokens: Any = None


class _Message(Struct, gc=False):
    role: Any = None
    usage: _Tokens | Plain = None
    cost: Any = None


class _Usage(Struct, gc=False):
    records: Any = None


class _Reward(Struct, gc=False):
    reward: Any = None
    reward_breakdown: Any = None


class _Simulation(Struct, gc=False):
    """One conversation, of which what was said is passed over; the last members are made of the others."""

    id: Any = None
    task_id: Any = None
    trial: Any = None
    termination_reason: Any = None
    reward_info: _Reward | Plain = None
    messages: list[_Message | Plain] | Plain = None
    agent_usage: _Usage | Plain = None
    agent_cost: Any = None
    user_cost: Any = None
    duration: Any = None
    start_time: Any = None
    timestamp: Any = None
    seed: Any = None
    mode: Any = None
    info: Any = None
    reward: Any = None
    error: str | None = None
    why: str | None = None
    n_turns: int | None = None
    given: int | None = None
    written: int | None = None


class _File(_Simulation, gc=False):
    """What a file holds: a run with its simulations, or one simulation of a run."""

    simulations: list[_Simulation | Plain] | Plain = None
    simulation_index: list[_Simulation | Plain] | Plain = None
    tasks: Any = None


def _simulations(files: list[_File], file: FormatFile[_File]) -> tuple[list[_Simulation], list[str]]:
    """Take the simulations out of a run; those of the index only where their files are not at hand."""
    (found,) = files
    if file.path != file.source.path:
        _describe(found)
        return [found], [file.locator]
    held, index = as_list(found.simulations), as_list(found.simulation_index)
    file.n_read += len(held) + len(index) - 1
    names = {path.name.partition(".json")[0] for path in file.source.companions}
    names |= {as_text(each.id) or "" for each in held if isinstance(each, _Simulation)} if index else set()
    simulations: list[_Simulation] = []
    places: list[str] = []
    for name, listed in ((_SIMULATIONS, held), ("simulation_index", index)):
        for at, each in enumerate(listed):
            if not isinstance(each, _Simulation):
                file.leave_out("no JSON object", f"{name}[{at}]")
                continue
            if listed is index:
                if as_text(each.id) in names:
                    continue
                each.reward_info = _Reward(reward=each.reward)
                file.count(_FROM_INDEX)
            _describe(each)
            simulations.append(each)
            places.append(f"{name}[{at}]")
    file.kept[_INFO] = as_dict(found.info) | {"timestamp": found.timestamp}
    n, n_tasks = len(simulations) + len(file.source.companions), len(as_list(found.tasks))
    n_trials = as_whole(get(found.info, "num_trials")) or 0
    if n < n_tasks * n_trials:
        expected = f"{n_tasks * n_trials} simulations ({n_tasks} tasks, {n_trials} trials each)"
        file.note(f"holds {n} of {expected}; the rest are missing")
    return simulations, places


def _describe(simulation: _Simulation) -> None:
    """Fill in why there is no reward, the user's turns, and the tokens given to and written by the agent.

    Tokens are those of the agent's session where there is one (voice), else of its messages. A message without usage that cost
    nothing was not generated, as the agent's fixed greeting; any other makes the count unknown.
    """
    ended, reward = as_text(simulation.termination_reason), simulation.reward_info
    is_rewarded = isinstance(reward, _Reward) and as_number(reward.reward) is not None
    if ended == _NEVER_RAN or (ended in _FAILED_WITHOUT_AGENT and not is_rewarded):
        said = first_line(get(simulation.info, "error"))
        simulation.error = f"{ended}: {said}" if said else ended
    elif not is_rewarded:
        simulation.why = f"not evaluated (ended by {ended or 'without a termination_reason'})"
    messages = simulation.messages if isinstance(simulation.messages, list) else []
    used: list[_Tokens | Plain] = []
    n_turns = 0
    for message in messages:
        if type(message) is _Message:
            if message.role == "user":
                n_turns += 1
            elif message.role == "assistant" and (message.usage or message.cost != 0):
                used.append(message.usage)
    simulation.n_turns = n_turns if messages else None
    usage = simulation.agent_usage
    if isinstance(usage, _Usage) and (session := [*dicts(usage.records)]):
        given, written = ([each.get(name) for each in session] for name in ("input_tokens", "output_tokens"))
    else:
        known = [each for each in used if type(each) is _Tokens]
        counted = known if len(known) == len(used) else []
        given, written = [each.prompt_tokens for each in counted], [each.completion_tokens for each in counted]
    simulation.given, simulation.written = _summed(given), _summed(written)


def _summed(values: Sequence[object]) -> int | None:
    """Sum of counts; None where there are none or one is unknown."""
    if not values or None in values:
        return None
    found = [as_count(value) for value in values]
    return None if None in found else as_count(sum(n for n in found if n is not None))


def _reward(value: object) -> Said:
    if value is None:
        return unscored(None)  # the record says why
    reward = snapped(value)
    return number(value if reward is None else reward, 0.0, 1.0)


def _arranged(frame: pl.DataFrame, file: FormatFile[_File]) -> pl.DataFrame:
    if n := frame["trial"].null_count():
        file.count(_NUMBERED, n)
        frame = frame.with_columns(trial=file.trials(frame.select("item")))
    if _INFO not in file.kept:
        raise UnreadableFileError(
            f"{file.source.path}: its info could not be read, so the domain of its simulations is not known"
        )
    domain = as_text(get(file.kept[_INFO], "environment_info", "domain_name"))
    return file.once(file.named(frame, item="task_id"), "item", "trial").with_columns(task=pl.lit(domain))


def _about(file: FormatFile[_File]) -> Row:
    info = as_dict(file.kept[_INFO])
    agent = as_text(get(info, "agent_info", "implementation"))
    model = as_text(get(info, "agent_info", "llm")) or as_text(get(info, "audio_native_config", "model")) or agent
    domain = as_text(get(info, "environment_info", "domain_name"))
    if model is None or domain is None:
        raise InputError("its info names no agent_info.llm or implementation, or no domain_name; a run needs both")
    effort = as_text(get(info, "agent_info", "llm_args", "reasoning_effort"))
    effort = effort or as_text(get(info, "audio_native_config", "reasoning_effort"))
    scaffold = ", ".join(part for part in (None if agent == _USUAL_AGENT else agent, effort) if part)
    policy = as_text(get(info, "environment_info", "policy"))
    config = {name: info[name] for name in _CONFIG_FIELDS if info.get(name) is not None}
    for side in ("agent_info", "user_info"):
        config[side] = {name: get(info, side, name) for name in ("implementation", "llm", "llm_args")}
    return {
        "model": model,
        "parts": (model, domain) if file.source.stem == "results" else ("",),
        "system": f"{model} ({scaffold})" if scaffold and scaffold != model else model,
        "harness_version": as_text(info.get("git_commit")),
        "prompt_hash": hashlib.sha256(policy.encode()).hexdigest() if policy else None,
        "temperature": as_number(get(info, "agent_info", "llm_args", "temperature")),
        "dependence": [],
        "config": _without_secrets(config),
        "timestamp": as_text(info["timestamp"]),
    }


def _without_secrets(value: object) -> object:
    """Leave out what may be a credential: settings are passed on, keys are not."""
    if parts := as_list(value):
        return [_without_secrets(part) for part in parts]
    if named := as_dict(value):
        return {key: _without_secrets(part) for key, part in named.items() if not key.lower().endswith(_SECRET)}
    return value


def _grouped(files: Sequence[Path]) -> Iterator[Source | Problem]:
    """Put each results file of the folder layout together with the simulations that lie beside it."""
    sources = [Source(path=path, companions=_beside(path)) for path in files if not _is_simulation(path)]
    claimed = {path.resolve() for source in sources for path in source.companions}
    for path in files:
        if _is_simulation(path) and path.resolve() not in claimed:
            message = (
                "is one simulation of a tau2-bench run; its model and domain are in results.json, one folder "
                "up, which is not among the files: give the folder that holds both"
            )
            yield Problem(path=str(path), message=message)
    yield from sources


def _is_simulation(path: Path) -> bool:
    try:
        return "task_id" in read_head(path).keys
    except UnreadableFileError:  # reading it says what is wrong
        return path.absolute().parent.name == _SIMULATIONS


def _beside(path: Path) -> tuple[Path, ...]:
    """List the simulation files of the folder layout: the folder tells which they are, never an id in a file."""
    folder = path.parent / _SIMULATIONS
    if not path.name.startswith("results.json") or not folder.is_dir() or folder.is_symlink():
        return ()
    found = sorted(each for each in folder.glob("[!.]*.json*") if each.is_file() and not each.is_symlink())
    return tuple(filter(_is_simulation, found))


_TASKS: Final = "task definitions"
FORMAT: Final[Format[Any]] = Format(
    name="tau2-bench",
    title="tau2-bench results (.json)",
    version="3",
    upstream="sierra-research/tau2-bench at a2c0247, src/tau2/data_model/simulation.py, src/tau2/metrics/agent_metrics.py",
    benchmark="tau2-bench",
    harness="tau2-bench",
    signs=(
        Sign("info", 0.95, text=('"agent_info"', '"user_info"'), shapes=OBJECT),
        Sign("id task_id termination_reason", 0.95, shapes=OBJECT),
        Sign("id user_scenario", 0.95, shapes=("array",), skip=_TASKS),
        Sign(name="split_tasks.json", confidence=0.95, opening=r'\{\s*"\w+"\s*:\s*\[', shapes=OBJECT, skip=_TASKS),
    ),
    record=_File,
    at=(".",),
    inner=_simulations,
    fields={
        "item": "task_id",
        "trial": "trial",
        "session": "id",
        "n_turns": "n_turns",
        "cost_usd": "agent_cost",
        "latency_s": "duration",
        "input_tokens": "given",
        "output_tokens": "written",
        "timestamp": "start_time timestamp",
        "termination_reason": "termination_reason",
        "user_cost_usd": "user_cost",
        "seed": "seed",
        "mode": "mode",
        "error": "error",
        "status_reason": "why",
    },
    scores={"reward": "reward_info.reward", "reward/*": "reward_info.reward_breakdown.*"},
    reads=_reward,
    about=_about,
    arranged=_arranged,
    called=_SIMULATIONS,
    grouped=_grouped,
    metrics={"reward": {"unit": "proportion", "primary": True}, "reward/*": {"unit": "proportion"}},
    texts={"question": "messages.1 messages.0", "answer": "messages.-1"},
)


_PASS: Final = re.compile(r"pass_([1-9]\d*)")
_LESS_IS_BETTER: Final = re.compile("latency|interruption|^cost_usd$")


class _Submission(Struct):
    model_name: str
    results: Any = None
    interaction_metrics: Any = None
    methodology: Any = None
    submission_date: Any = None
    submission_type: Any = None
    modality: Any = None
    reasoning_effort: Any = None
    submitting_organization: Any = None
    model_organization: Any = None
    voice_config: Any = None
    notes: Any = None


def _published(record: _Submission, file: FormatFile[_Submission]) -> Iterator[Sample]:
    """Publish every number of a submission; a null is a number that was not published."""
    how, model = as_dict(record.methodology), record.model_name
    effort, version = as_text(record.reasoning_effort), as_text(how.get("tau2_bench_version"))
    kind, user = as_text(record.submission_type), as_text(how.get("user_simulator"))
    notes = [as_text(record.notes), as_text(how.get("notes"))]
    kept = (
        "submitting_organization",
        "model_organization",
        "submission_type",
        "modality",
        "reasoning_effort",
        "voice_config",
    )
    run = file.run(
        model,
        model if file.source.stem == "submission" else "",
        system=f"{model} ({effort})" if effort else model,
        harness_version=version,
        dependence=[],
        config={name: getattr(record, name) for name in kept}
        | {"user_simulator": user, "verification": how.get("verification")},
        note=" ".join(note for note in notes if note) or None,
        timestamp=as_text(record.submission_date),
    )
    about: dict[str, Any] = {
        "date": day_of(how.get("evaluation_date")) or day_of(record.submission_date),
        "submission_type": kind,
        "modality": as_text(record.modality) or "text",
        "reasoning_effort": effort,
        "user_simulator": user,
        "harness_version": version,
    }
    for domain, results in as_dict(record.results).items():
        retrieval = as_text(get(results, "retrieval_config"))
        for key, value in as_dict(results).items():
            if (rate := _PASS.fullmatch(key)) or key == "cost":
                metric, unit = (f"pass^{rate[1]}", "percent") if rate else ("cost_usd", "US dollars")
                file.publish(value, run, metric, unit=unit, task=domain, retrieval_config=retrieval, **about)
    for domain, measured in as_dict(get(record.interaction_metrics, "domains")).items():
        n = as_count(get(measured, "counts", "n_simulations"))
        for key, value in as_dict(measured).items():
            if as_number(value) is not None:
                unit = "seconds" if "latency" in key else "proportion"
                file.publish(value, run, f"interaction/{key}", unit=unit, task=domain, n=n, **about)
    for row in file.published.metrics.values():
        name = str(row["metric"])
        file.metric(name, low=0.0, higher_is_better=not _LESS_IS_BETTER.search(name), primary=name == "pass^1")
    if kind == "custom":
        file.note("is a custom submission: prompts or scaffold differ from the benchmark's own, see the run's note")
    if version == "original tau-bench":
        file.note("its numbers were made on the first tau-bench, whose tasks differ from those of tau2-bench")
    return iter(())


_TEMPLATE: Final = "the template of a leaderboard submission"
SUBMISSION: Final = Format(
    name="tau2-submission",
    title="tau2-bench leaderboard submission (.json)",
    version="1",
    upstream="sierra-research/tau2-bench at a2c0247, src/tau2/scripts/leaderboard/submission.py",
    benchmark=FORMAT.benchmark,
    harness=FORMAT.harness,
    signs=(
        Sign("model_name results", 0.95, some="model_organization submitting_organization", shapes=OBJECT),
        Sign("model_name results", 0.96, path="/A_EXAMPLE_[^/]*(?:/[^/]*)?$", shapes=OBJECT, skip=_TEMPLATE),
        Sign("model_name results", 0.96, text=('"Example Organization"',), shapes=OBJECT, skip=_TEMPLATE),
        Sign("submissions voice_submissions", 0.95, shapes=OBJECT, skip="a list of submissions"),
        Sign(text=('"Tau2-Bench Leaderboard Submission"',), confidence=0.95, shapes=OBJECT, skip="their schema"),
    ),
    record=_Submission,
    at=(".",),
    rows=_published,
    called="submissions",
)
