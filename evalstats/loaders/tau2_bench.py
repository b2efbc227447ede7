"""tau2-bench and its successor tau3: results in one file, results in a folder, and leaderboard submissions.

A results file holds `info` (who played against whom, in which domain), `tasks` and `simulations`; in the folder layout
the simulations lie beside it, one a file, in `simulations/`. What counts as what:

- A reward in the file stands, as in the harness's own metrics. `termination_reason` is kept as a factor.
- `infrastructure_error` is an error with or without a reward: the harness leaves it out of its metrics.
- Without a reward, `unexpected_error` and `user_error` (harness and simulated user failed) are errors; anything else was not
  evaluated and is unscored, even `agent_error`: it would have been given 0, but it was not.

Format: sierra-research/tau2-bench at a2c0247, `src/tau2/data_model/simulation.py`, `src/tau2/metrics/agent_metrics.py`,
`src/tau2/scripts/leaderboard/submission.py`.
"""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any, ClassVar, Final, Literal

import polars as pl
from msgspec import Struct, convert, field

from evalstats.errors import InputError, UnreadableFileError
from evalstats.loaders.base import BATCH_ROWS, Frame, Head, Match, Rows, Source, read_head, readable_name
from evalstats.loaders.files import load_json
from evalstats.loaders.format_columns import Sample, sample_columns
from evalstats.loaders.formats.tau_bench import snapped
from evalstats.loaders.rows import Row, Said, as_row, held, metric_row, score_of, told, unscored
from evalstats.loaders.typed_records import Other, Plain, TypedRecords
from evalstats.loaders.values import (
    as_count,
    as_dict,
    as_list,
    as_number,
    as_text,
    as_time,
    as_whole,
    day_of,
    dicts,
    first_line,
    get,
)
from evalstats.schema.data import Problem

_BENCHMARK: Final = "tau2-bench"
_USUAL_AGENT = "llm_agent"
_NEVER_RAN = "infrastructure_error"
_FAILED_WITHOUT_AGENT = ("unexpected_error", "user_error")
_BESIDE: Final = ("info", "timestamp", "tasks", "simulation_index")
_SECRET = ("api_key", "apikey", "_token", "authorization", "password", "secret", "credentials", "headers")


class _Message(Struct):
    role: Any = None
    usage: Any = None
    cost: Any = None


class _Usage(Struct):
    records: Any = None


class _Simulation(Struct):
    """One conversation; what was said in it is passed over."""

    id: Any = None
    task_id: Any = None
    trial: Any = None
    termination_reason: Any = None
    reward_info: Any = None
    messages: list[_Message | Other] | Plain = None
    agent_usage: _Usage | Other = None
    agent_cost: Any = None
    user_cost: Any = None
    duration: Any = None
    start_time: Any = None
    timestamp: Any = None
    seed: Any = None
    mode: Any = None
    info: Any = None
    reward: Any = None


class _Tally(Struct):
    """What was seen on the way through the simulations: where each task and trial stands, and which metrics are 0 or 1 alone."""

    seen: dict[tuple[str, int], str] = field(default_factory=dict[tuple[str, int], str])
    per_task: Counter[str] = field(default_factory=Counter[str])
    binary: dict[str, bool] = field(default_factory=lambda: {"reward": True})
    counts: Counter[str] = field(default_factory=Counter[str])


_FROM_INDEX: Final = (
    "{n} simulations are only in simulation_index, their files are not in the folder 'simulations' beside {file}; they have "
    "a reward and no conversation"
)
_NUMBERED: Final = "{n} simulations have no trial; they are numbered in file order"
# Where a simulation was found (for a message, and within its source), and whether only the index has it.
_Found = tuple[str, str, bool, _Simulation]


def read_results(source: Source) -> Iterator[Rows | Frame | Problem]:
    """Yield outcomes, metrics, the run, and notes on what is missing.

    Memory is bounded by the largest simulation and the ids of all.
    """
    records = TypedRecords(source, _Simulation, lists=("simulations",), keep=_BESIDE, called="simulations")
    simulations = _simulations(source, records)
    first = next(simulations, None)  # by then it is known what stands beside the simulations
    info, tally = as_dict(records.members.get("info")), _Tally()
    common = _common(source, info)
    found = chain([] if first is None else [first], simulations)
    samples = (sample for each in found if (sample := _sample(each, tally)) is not None)
    while some := list(islice(samples, BATCH_ROWS)):
        frame = sample_columns(some).with_columns(pl.lit(value).alias(name) for name, value in common.items())
        yield Frame(table="outcomes", frame=frame)
    metrics = [
        metric_row(_BENCHMARK, name, "binary" if binary else "bounded", primary=name == "reward")
        for name, binary in tally.binary.items()
    ]
    yield Rows(table="metrics", rows=metrics)
    yield Rows(table="runs", rows=[_run_row(common, info, records.members.get("timestamp"))])
    yield from records.problems()
    yield from source.notes(_doubts(info, len(as_list(records.members.get("tasks"))), tally))
    yield from source.notes(told(tally.counts, file=source.path.name))


def _simulations(source: Source, records: TypedRecords[_Simulation]) -> Iterator[_Found]:
    """Yield the simulations in the file, then those beside it, then what the index knows of any others."""
    at_hand = {path.name.partition(".json")[0] for path in source.companions}
    for locator, simulation in records:
        at_hand.add(as_text(simulation.id) or "")
        yield locator, locator, False, simulation
    for path in source.companions:
        locator = readable_name(f"{path.parent.name}/{path.name}")
        for _, simulation in TypedRecords(Source(path=path), _Simulation, alone=True, called="simulations"):
            yield str(path), locator, False, simulation
    for position, entry in enumerate(as_list(records.members.get("simulation_index"))):
        simulation = convert(as_dict(entry), _Simulation)
        if as_text(simulation.id) not in at_hand:
            simulation.reward_info = None if simulation.reward is None else {"reward": simulation.reward}
            locator = f"simulation_index[{position}]"
            yield locator, locator, True, simulation


def _sample(found: _Found, tally: _Tally) -> Sample | None:
    """Return the reward of one simulation and the parts it was made of; None for what the index has of one that was read."""
    where, locator, from_index, simulation = found
    item = as_text(simulation.task_id)
    if item is None:
        raise InputError(f"{where}: has no task_id; expected a simulation of tau2-bench")
    said = as_whole(simulation.trial)
    tally.counts[_NUMBERED] += said is None
    trial = tally.per_task[item] if said is None else said
    if (item, trial) in tally.seen:
        if from_index:  # its file is there under another name
            return None
        raise InputError(
            f"{where}: task_id {item!r}, trial {trial} is in {tally.seen[item, trial]} already; "
            "keep one of the two, or give the repetitions trials of their own"
        )
    tally.seen[item, trial] = where
    tally.per_task[item] += 1
    tally.counts[_FROM_INDEX] += from_index
    ended, reward = as_text(simulation.termination_reason), _judged(simulation, where)
    outcomes: list[tuple[str, Said]] = [("reward", reward)]
    tally.binary["reward"] &= score_of(reward) in (None, 0.0, 1.0)
    if not isinstance(reward, dict) and ended in _FAILED_WITHOUT_AGENT:
        tally.counts[
            f"{{n}} simulations ended by {ended} and were given a reward; it is kept, as the harness does"
        ] += 1
    if as_row(reward)["status"] != "error":
        for name, value in as_dict(get(simulation.reward_info, "reward_breakdown")).items():
            score, metric = _snapped(value, f"{where}: reward_breakdown.{name}"), f"reward/{name}"
            tally.binary[metric] = tally.binary.get(metric, True) and score in (None, 0.0, 1.0)
            shown = json.dumps(value)[:200]
            outcomes.append((metric, unscored(f"is {shown}", shown) if score is None else score))
    return {"item": item, "trial": trial, "locator": locator, **_details(simulation)}, outcomes


def _snapped(value: object, where: str) -> float | None:
    """Return a reward, exactly 0 or 1 where it is so within the harness's tolerance; None where there is no number."""
    reward = snapped(value)
    if reward is not None and not 0 <= reward <= 1:
        raise InputError(f"{where}: the reward is {reward:g}; rewards lie between 0 and 1")
    return reward


def _judged(simulation: _Simulation, where: str) -> Said:
    ended = as_text(simulation.termination_reason) or "without a termination_reason"
    raw = get(simulation.reward_info, "reward")
    reward = _snapped(raw, where)
    if ended == _NEVER_RAN or (reward is None and ended in _FAILED_WITHOUT_AGENT):
        said = first_line(get(simulation.info, "error"))
        return unscored(f"{ended}: {said}" if said else ended, held(raw), error=True)
    return unscored(f"not evaluated (ended by {ended})", held(raw)) if reward is None else reward


def _details(simulation: _Simulation) -> Row:
    messages = simulation.messages if isinstance(simulation.messages, list) else []
    said = [message for message in messages if isinstance(message, _Message)]
    return {
        "n_trials": 1,
        "session": as_text(simulation.id),
        "n_turns": sum(message.role == "user" for message in said) if simulation.messages else None,
        "cost_usd": simulation.agent_cost,
        "latency_s": simulation.duration,
        **_tokens(simulation, [message for message in said if message.role == "assistant"]),
        "timestamp": as_time(simulation.start_time) or as_time(simulation.timestamp),
        "termination_reason": as_text(simulation.termination_reason),
        "user_cost_usd": as_number(simulation.user_cost),
        "seed": as_whole(simulation.seed),
        "mode": as_text(simulation.mode),
    }


def _tokens(simulation: _Simulation, said: Sequence[_Message]) -> Row:
    """Count the agent's tokens: from its session's usage where there is one (voice), else message by message.

    A message without usage that cost nothing was not generated, as the agent's fixed greeting; any other makes the count
    unknown.
    """
    usage = simulation.agent_usage
    session = list(dicts(usage.records)) if isinstance(usage, _Usage) else []
    if session:
        return {name: _summed(record.get(name) for record in session) for name in ("input_tokens", "output_tokens")}
    used = [as_dict(message.usage) if message.usage else {} for message in said if message.usage or message.cost != 0]
    return {
        "input_tokens": _summed(usage.get("prompt_tokens") for usage in used),
        "output_tokens": _summed(usage.get("completion_tokens") for usage in used),
    }


def _summed(counts: Iterable[object]) -> int | None:
    """Sum of counts; None where there are none or one is unknown."""
    found: list[int] = []
    for count in counts:
        if (number := as_count(count)) is None:
            return None
        found.append(number)
    return as_count(sum(found)) if found else None


def _common(source: Source, info: Row) -> Row:
    agent = as_text(get(info, "agent_info", "implementation"))
    model = as_text(get(info, "agent_info", "llm")) or as_text(get(info, "audio_native_config", "model")) or agent
    if model is None:
        raise InputError("info.agent_info names neither an llm nor an implementation; a run needs its model")
    effort = as_text(get(info, "agent_info", "llm_args", "reasoning_effort"))
    effort = effort or as_text(get(info, "audio_native_config", "reasoning_effort"))
    scaffold = ", ".join(part for part in (None if agent == _USUAL_AGENT else agent, effort) if part)
    domain = as_text(get(info, "environment_info", "domain_name"))
    if domain is None:
        raise InputError("info.environment_info has no domain_name; a run needs its domain")
    return {
        "run": source.run_id(model, domain) if source.stem == "results" else source.run_id(),
        "model": model,
        "system": f"{model} ({scaffold})" if scaffold and scaffold != model else model,
        "benchmark": _BENCHMARK,
        "task": domain,
    }


def _run_row(common: Row, info: Row, timestamp: object) -> Row:
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
        "timestamp": as_time(timestamp),
    }


def _without_secrets(value: object) -> object:
    """Leave out what may be a credential: settings are passed on, keys are not."""
    if parts := as_list(value):
        return [_without_secrets(part) for part in parts]
    if named := as_dict(value):
        return {key: _without_secrets(part) for key, part in named.items() if not key.lower().endswith(_SECRET)}
    return value


def _doubts(info: Row, n_tasks: int, tally: _Tally) -> Iterator[str]:
    n, n_trials = len(tally.seen), as_whole(info.get("num_trials")) or 0
    if n < n_tasks * n_trials:
        expected = f"{n_tasks * n_trials} simulations ({n_tasks} tasks, {n_trials} trials each)"
        yield f"holds {n} of {expected}; the rest are missing"
    elif not n:
        yield "holds no simulations"


TEMPLATE_MARK: Final = "A_EXAMPLE_"

_MAX_CHARS = 4 << 20  # a submission is a few kB
_PASS = re.compile(r"pass_([1-9]\d*)")
_FIRST_VERSION = "original tau-bench"


def is_template(head: Head) -> bool:
    """Whether a submission is one of the invented examples that lie among the real ones."""
    named = head.path.name.startswith(TEMPLATE_MARK) or head.path.parent.name.startswith(TEMPLATE_MARK)
    return named or head.members.get("model_organization") == "Example Organization"


def read_submission(source: Source) -> Iterator[Rows | Problem]:
    """Yield one row of `aggregates` for every number of a submission, their metrics, and the run.

    A null is a number that was not published: it gives no row. Factors say what makes two submissions incomparable:
    `user_simulator`, `reasoning_effort`, `submission_type`, `modality`, `retrieval_config` and `harness_version`.
    """
    content = as_dict(load_json(source.path, max_chars=_MAX_CHARS))
    model = as_text(content.get("model_name"))
    if not model:
        raise InputError("has no model_name; a submission names its model")
    run = source.run_id(model) if source.stem == "submission" else source.run_id()
    common = _submission_facts(content, model, run)
    rows = [{**common, **row} for row in _numbers(content)]
    yield Rows(table="aggregates", rows=rows)
    yield Rows(table="metrics", rows=list({str(row["metric"]): _metric(row) for row in rows}.values()))
    yield Rows(table="runs", rows=[_submission_run(content, common)])
    yield from source.notes(_submission_doubts(content, rows))


def _submission_facts(content: Row, model: str, run: str) -> Row:
    methodology = as_dict(content.get("methodology"))
    return {
        "model": model,
        "benchmark": _BENCHMARK,
        "method": "published",
        "date": day_of(methodology.get("evaluation_date")) or day_of(content.get("submission_date")),
        "run": run,
        "submission_type": as_text(content.get("submission_type")),
        "modality": as_text(content.get("modality")) or "text",
        "reasoning_effort": as_text(content.get("reasoning_effort")),
        "user_simulator": as_text(methodology.get("user_simulator")),
        "harness_version": as_text(methodology.get("tau2_bench_version")),
    }


def _numbers(content: Row) -> Iterator[Row]:
    for domain, results in as_dict(content.get("results")).items():
        for key, value in as_dict(results).items():
            known = _known(key, f"results.{domain}.{key}", value)
            if known is not None:
                retrieval = as_text(get(results, "retrieval_config"))
                yield {"task": domain, **known, "value_raw": json.dumps(value), "retrieval_config": retrieval}
    for domain, measured in as_dict(get(content, "interaction_metrics", "domains")).items():
        n = as_number(get(measured, "counts", "n_simulations"))
        for key, value in as_dict(measured).items():
            number = as_number(value)
            if number is not None:
                unit = "seconds" if "latency" in key else "proportion"
                yield {
                    "task": domain,
                    "metric": f"interaction/{key}",
                    "estimate": number,
                    "unit": unit,
                    "n": None if n is None else int(n),
                    "value_raw": json.dumps(value),
                }


def _known(key: str, where: str, value: object) -> Row | None:
    """Return metric, estimate and unit of a domain's number; None where the key is none or the number was not given."""
    found = _PASS.fullmatch(key)
    if value is None or (found is None and key != "cost"):
        return None
    number = None if isinstance(value, bool | str) else as_number(value)
    if number is None or number < 0 or (found and number > 100):
        shown = json.dumps(value)[:40]
        expected = "a percentage between 0 and 100" if found else "a price in US dollars"
        raise InputError(f"{where}: is {shown}; expected {expected}, or null where there is none")
    if found:
        return {"metric": f"pass^{found[1]}", "estimate": number, "unit": "percent"}
    return {"metric": "cost_usd", "estimate": number, "unit": "US dollars"}


def _metric(row: Row) -> Row:
    metric, unit = str(row["metric"]), as_text(row["unit"])
    high = {"percent": 100.0, "proportion": 1.0}.get(str(unit))
    return metric_row(
        _BENCHMARK,
        metric,
        "continuous" if high is None else "bounded",
        high=high,
        higher_is_better=not ("latency" in metric or "interruption" in metric or metric == "cost_usd"),
        unit=unit,
        primary=metric == "pass^1",
    )


def _submission_run(content: Row, common: Row) -> Row:
    effort = common["reasoning_effort"]
    kept = ("submitting_organization", "model_organization", "submission_type", "modality", "reasoning_effort")
    config = {name: content.get(name) for name in kept} | {
        "user_simulator": common["user_simulator"],
        "verification": get(content, "methodology", "verification"),
        "voice_config": content.get("voice_config"),
    }
    notes = [as_text(content.get("notes")), as_text(get(content, "methodology", "notes"))]
    return {
        "run": common["run"],
        "model": common["model"],
        "system": f"{common['model']} ({effort})" if effort else common["model"],
        "benchmark": _BENCHMARK,
        "harness": "tau2-bench",
        "harness_version": common["harness_version"],
        "factor_names": [],
        "dependence": [],
        "config": json.dumps(config),
        "note": " ".join(note for note in notes if note) or None,
        "timestamp": as_time(content.get("submission_date")),
    }


def _submission_doubts(content: Row, rows: list[Row]) -> Iterator[str]:
    rates = [float(str(row["estimate"])) for row in rows if row["unit"] == "percent"]
    if not rates:
        yield "holds no pass^k for any domain"
    elif 0 < max(rates) <= 1:
        yield f"all its rates lie between 0 and {max(rates):g}; submissions are in percent, and these may be proportions"
    if as_text(content.get("submission_type")) == "custom":
        yield "is a custom submission: prompts or scaffold differ from the benchmark's own, see the run's note"
    if get(content, "methodology", "tau2_bench_version") == _FIRST_VERSION:
        yield "its numbers were made on the first tau-bench, whose tasks differ from those of tau2-bench"


Kind = Literal["results", "simulation", "submission", "template", "tasks", "manifest"]

_SIMULATIONS = "simulations"
_ENDINGS = (".json", ".json.gz", ".json.zst")
_RESULTS_NAMES = tuple(f"results{ending}" for ending in _ENDINGS)
_NO_RESULTS: tuple[Kind, ...] = ("tasks", "manifest")
_REASONS: dict[Kind, str] = {
    "results": "info with agent_info and user_info, and simulations",
    "simulation": "one simulation with task_id and termination_reason",
    "submission": "a leaderboard submission: model_name, model_organization and results",
    "template": "the template of a leaderboard submission",
    "tasks": "task definitions",
    "manifest": "a list of submissions, or their schema",
}


def kind_of(head: Head) -> Kind | None:
    """Say which file of the format this is, from its head; None where it is none.

    Names matter only for templates and for the file of task splits: everything else is told by its keys.
    """
    keys = head.keys
    if head.shape == "array":
        return "tasks" if {"id", "user_scenario"} <= keys else None
    if head.shape != "object":
        return None
    if "info" in keys and '"agent_info"' in head.text and '"user_info"' in head.text:
        return "results"
    if {"id", "task_id", "termination_reason"} <= keys:
        return "simulation"
    if {"model_name", "model_organization", "results"} <= keys or {"model_name", "submitting_organization"} <= keys:
        return "template" if is_template(head) else "submission"
    if head.name.endswith("split_tasks.json") and all(isinstance(part, list) for part in head.members.values()):
        return "tasks"
    if {"submissions", "voice_submissions"} <= keys or head.members.get("title") == "Tau2-Bench Leaderboard Submission":
        return "manifest"
    return None


class Tau2BenchLoader:
    """Loader of tau2-bench results and leaderboard submissions.

    Outcomes have metric `reward`, and `reward/<part>` for each part of its breakdown (`reward/DB`); the domain is the
    task, the simulation's id the session. Status follows the harness where it has spoken (see `tau2_results`).
    Submissions become `aggregates`: `pass^k` in percent.
    """

    name = "tau2-bench"
    title = "tau2-bench results, or a leaderboard submission (.json)"
    version = "2"
    texts: ClassVar = {"question": "messages.1 messages.0", "answer": "messages.-1"}

    def sniff(self, head: Head) -> Match | None:
        """Recognise any file of the format; task definitions and manifests are passed over."""
        kind = kind_of(head)
        if kind is None:
            return None
        return Match(confidence=0.95, reason=_REASONS[kind], skip=kind in _NO_RESULTS)

    def plan(self, files: Sequence[Path]) -> Iterable[Source | Problem]:
        """Put each results file of the folder layout together with the simulations that lie beside it."""
        claimed: set[Path] = set()
        simulations: list[Path] = []
        for path in files:
            try:
                kind = kind_of(read_head(path))
            except UnreadableFileError as error:
                yield Problem(path=str(path), message=str(error).removeprefix(f"{path}: "))
                continue
            if kind == "simulation":
                simulations.append(path)
            elif kind == "template":
                message = f"is a template ({TEMPLATE_MARK}...), not a result; it is passed over"
                yield from Source(path=path).notes([message])
            else:
                companions = _beside(path) if kind == "results" else ()
                claimed.update(companion.resolve() for companion in companions)
                yield Source(path=path, companions=companions)
        for path in simulations:
            if path.resolve() not in claimed:
                message = (
                    "is one simulation of a tau2-bench run; its model and domain are in results.json, one folder "
                    "up, which is not among the files: give the folder that holds both"
                )
                yield Problem(path=str(path), message=message)

    def read(self, source: Source) -> Iterator[Rows | Frame | Problem]:
        """Yield the outcomes of a results file, or the aggregates of a submission."""
        kind = kind_of(read_head(source.path))
        if kind == "results":
            yield from read_results(source)
        elif kind in ("submission", "template"):
            yield from read_submission(source)
        else:
            found = _REASONS[kind] if kind else "of no kind that tau2-bench writes"
            raise InputError(f"is {found}; expected a results file (info, tasks, simulations) or a submission")


def _beside(path: Path) -> tuple[Path, ...]:
    """List the simulation files of the folder layout: the folder tells which they are, never a file's content."""
    folder = path.parent / _SIMULATIONS
    if path.name not in _RESULTS_NAMES or not folder.is_dir() or folder.is_symlink():
        return ()
    found = (file for file in sorted(folder.iterdir()) if file.name.endswith(_ENDINGS))
    plain = (file for file in found if file.is_file() and not file.is_symlink() and not file.name.startswith("."))
    return tuple(file for file in plain if not _holds_results(file))


def _holds_results(path: Path) -> bool:
    """Whether a file in a folder of that name is a run of its own, as older versions saved them."""
    try:
        return kind_of(read_head(path)) == "results"
    except UnreadableFileError:
        return False  # it counts as a simulation, and reading it will say what is wrong


LOADER: Final = Tau2BenchLoader()
