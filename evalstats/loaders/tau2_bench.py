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
from contextlib import suppress
from itertools import chain, islice
from pathlib import Path
from typing import Any, ClassVar, Final, Literal

import polars as pl
from msgspec import Struct, convert, field

from evalstats.errors import InputError, UnreadableFileError
from evalstats.loaders.base import BATCH_ROWS, Frame, Head, Match, Rows, Source, read_head, readable_name
from evalstats.loaders.files import load_json
from evalstats.loaders.format_columns import amounts, counts, texts, times, with_outcomes
from evalstats.loaders.formats.tau_bench import snapped
from evalstats.loaders.rows import Row, Said, held, metric_row, told, unscored
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
from evalstats.schema.tables import factor_series

_BENCHMARK: Final = "tau2-bench"
_USUAL_AGENT = "llm_agent"
_NEVER_RAN = "infrastructure_error"
_FAILED_WITHOUT_AGENT = ("unexpected_error", "user_error")
_BESIDE: Final = ("info", "timestamp", "tasks", "simulation_index")
_CONFIG_FIELDS: Final = (
    "num_trials", "max_steps", "max_errors", "seed", "speech_complexity", "text_streaming_config", "audio_native_config",
    "retrieval_config", "retrieval_config_kwargs",
)  # fmt: skip
_SECRET = ("api_key", "apikey", "_token", "authorization", "password", "secret", "credentials", "headers")


class _Tokens(Struct, gc=False):
    prompt_tokens: Any = None
    completion_tokens: Any = None


class _Message(Struct, gc=False):
    role: Any = None
    usage: _Tokens | Other = None
    cost: Any = None


class _Usage(Struct, gc=False):
    records: Any = None


class _Reward(Struct, gc=False):
    reward: Any = None
    reward_breakdown: Any = None


class Simulation(Struct, gc=False):
    """One conversation; what was said in it is passed over."""

    id: Any = None
    task_id: Any = None
    trial: Any = None
    termination_reason: Any = None
    reward_info: _Reward | Other = None
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
# Simulations with where each was found, for a message and within its source, and whether only the index has them.
_Block = tuple[Sequence[Simulation], Sequence[str], Sequence[str], bool]


def read_results(source: Source) -> Iterator[Rows | Frame | Problem]:
    """Yield outcomes, metrics, the run, and notes on what is missing.

    Memory is bounded by the largest simulation and the ids of all.
    """
    records = TypedRecords(source, Simulation, lists=("simulations",), keep=_BESIDE, called="simulations")
    blocks = _blocks(source, records)
    first = next(blocks, None)  # by then it is known what stands beside the simulations
    info, tally = as_dict(records.members.get("info")), _Tally()
    common = _common(source, info)
    for block, wheres, locators, from_index in chain([] if first is None else [first], blocks):
        frame = _outcomes(block, wheres, locators, tally, from_index=from_index)
        frame = frame.with_columns(pl.lit(value).alias(name) for name, value in common.items())
        yield Frame(table="outcomes", frame=frame)
    metrics = [
        metric_row(_BENCHMARK, name, "binary" if binary else "bounded", primary=name == "reward")
        for name, binary in tally.binary.items()
    ]
    yield Rows(table="metrics", rows=metrics)
    policy = as_text(get(info, "environment_info", "policy"))
    config = {name: info[name] for name in _CONFIG_FIELDS if info.get(name) is not None}
    for side in ("agent_info", "user_info"):
        config[side] = {name: get(info, side, name) for name in ("implementation", "llm", "llm_args")}
    run: Row = {
        **{name: common[name] for name in ("run", "model", "system", "benchmark")},
        "harness": "tau2-bench",
        "harness_version": as_text(info.get("git_commit")),
        "prompt_hash": hashlib.sha256(policy.encode()).hexdigest() if policy else None,
        "temperature": as_number(get(info, "agent_info", "llm_args", "temperature")),
        "factor_names": [],
        "dependence": [],
        "config": json.dumps(_without_secrets(config)),
        "timestamp": as_time(records.members.get("timestamp")),
    }
    yield Rows(table="runs", rows=[run])
    yield from records.problems()
    n, n_tasks, n_trials = (
        len(tally.seen),
        len(as_list(records.members.get("tasks"))),
        as_whole(info.get("num_trials")) or 0,
    )
    if n < n_tasks * n_trials:
        expected = f"{n_tasks * n_trials} simulations ({n_tasks} tasks, {n_trials} trials each)"
        yield from source.notes([f"holds {n} of {expected}; the rest are missing"])
    elif not n:
        yield from source.notes(["holds no simulations"])
    yield from source.notes(told(tally.counts, file=source.path.name))


def _blocks(source: Source, records: TypedRecords[Simulation]) -> Iterator[_Block]:
    """Yield the simulations in the file, then those beside it, then what the index knows of any others."""
    at_hand = {path.name.partition(".json")[0] for path in source.companions}
    for block in records.blocks():
        at_hand.update(as_text(simulation.id) or "" for simulation in block)
        locators = records.locators.to_list()
        yield block, locators, locators, False
    beside = (
        (simulation, str(path), readable_name(f"{path.parent.name}/{path.name}"))
        for path in source.companions
        for _, simulation in TypedRecords(Source(path=path), Simulation, alone=True, called="simulations")
    )
    while some := [*islice(beside, BATCH_ROWS)]:
        simulations, paths, names = zip(*some, strict=True)
        yield simulations, paths, names, False
    listed = as_list(records.members.get("simulation_index"))
    entries = {f"simulation_index[{at}]": convert(as_dict(entry), Simulation) for at, entry in enumerate(listed)}
    absent = {place: each for place, each in entries.items() if as_text(each.id) not in at_hand}
    for each in absent.values():
        each.reward_info = None if each.reward is None else _Reward(reward=each.reward)
    if absent:
        yield [*absent.values()], [*absent], [*absent], True


def _outcomes(
    simulations: Sequence[Simulation],
    wheres: Sequence[str],
    locators: Sequence[str],
    tally: _Tally,
    *,
    from_index: bool,
) -> pl.DataFrame:
    """Return the reward of each simulation and the parts it was made of, but for what the index has of one that was read."""
    kept: list[int] = []
    items: list[str] = []
    trials: list[int] = []
    outcomes: list[list[tuple[str, Said]]] = []
    for at, (simulation, where) in enumerate(zip(simulations, wheres, strict=True)):
        item, trial = as_text(simulation.task_id), as_whole(simulation.trial)
        if item is None:
            raise InputError(f"{where}: has no task_id; expected a simulation of tau2-bench")
        if trial is None:
            tally.counts[_NUMBERED] += 1
            trial = tally.per_task[item]
        before = tally.seen.setdefault((item, trial), where)
        if before is not where:
            if from_index:  # its file is there under another name
                continue
            raise InputError(
                f"{where}: task_id {item!r}, trial {trial} is in {before} already; "
                "keep one of the two, or give the repetitions trials of their own"
            )
        tally.per_task[item] += 1
        kept.append(at)
        items.append(item)
        trials.append(trial)
        outcomes.append(_judged(simulation, where, tally))
    tally.counts[_FROM_INDEX] += from_index * len(kept)
    some = [simulations[at] for at in kept]
    spent = [_spent(simulation) for simulation in some]
    begun, ended = times([each.start_time for each in some]), times([each.timestamp for each in some])
    shared = pl.DataFrame(
        {
            "item": pl.Series(items, dtype=pl.String),
            "trial": pl.Series(trials, dtype=pl.Int64),
            "locator": pl.Series([locators[at] for at in kept], dtype=pl.String),
            "session": texts([each.id for each in some]),
            "n_turns": counts([turns for turns, _, _ in spent]),
            "cost_usd": amounts([each.agent_cost for each in some]),
            "latency_s": amounts([each.duration for each in some]),
            "input_tokens": counts([given for _, given, _ in spent]),
            "output_tokens": counts([written for _, _, written in spent]),
            "timestamp": begun.zip_with(begun.is_not_null(), ended),
            "termination_reason": texts([each.termination_reason for each in some]),
            "user_cost_usd": factor_series("", [as_number(each.user_cost) for each in some]),
            "seed": factor_series("", [as_whole(each.seed) for each in some]),
            "mode": texts([each.mode for each in some]),
        }
    )
    return with_outcomes(shared.with_columns(n_trials=1), outcomes)


def _judged(simulation: Simulation, where: str, tally: _Tally) -> list[tuple[str, Said]]:
    ended, info = as_text(simulation.termination_reason), simulation.reward_info
    raw, parts = (info.reward, info.reward_breakdown) if isinstance(info, _Reward) else (None, None)
    reward = _snapped(raw, where)
    if ended == _NEVER_RAN or (reward is None and ended in _FAILED_WITHOUT_AGENT):
        said = first_line(get(simulation.info, "error"))
        return [("reward", unscored(f"{ended}: {said}" if said else ended, held(raw), error=True))]
    if reward is None:
        why = f"not evaluated (ended by {ended or 'without a termination_reason'})"
        outcomes: list[tuple[str, Said]] = [("reward", unscored(why, held(raw)))]
    else:
        outcomes = [("reward", reward)]
        tally.binary["reward"] &= reward in (0.0, 1.0)
        if ended in _FAILED_WITHOUT_AGENT:
            tally.counts[
                f"{{n}} simulations ended by {ended} and were given a reward; it is kept, as the harness does"
            ] += 1
    for name, value in as_dict(parts).items():
        score, metric = _snapped(value, f"{where}: reward_breakdown.{name}"), f"reward/{name}"
        tally.binary[metric] = tally.binary.get(metric, True) and score in (None, 0.0, 1.0)
        shown = json.dumps(value)[:200]
        outcomes.append((metric, unscored(f"is {shown}", shown) if score is None else score))
    return outcomes


def _snapped(value: object, where: str) -> float | None:
    """Return a reward, exactly 0 or 1 where it is so within the harness's tolerance; None where there is no number."""
    reward = value if type(value) is float and value in (0.0, 1.0) else snapped(value)
    if reward is not None and not 0 <= reward <= 1:
        raise InputError(f"{where}: the reward is {reward:g}; rewards lie between 0 and 1")
    return reward


def _spent(simulation: Simulation) -> tuple[int | None, int | None, int | None]:
    """Return the user's turns and the tokens given to and written by the agent; None where a count is unknown.

    Tokens are those of the agent's session where there is one (voice), else of its messages. A message without usage that cost
    nothing was not generated, as the agent's fixed greeting; any other makes the count unknown.
    """
    turns, used = 0, list[object]()
    messages = simulation.messages
    for message in messages if isinstance(messages, list) else ():
        if not isinstance(message, _Message):
            continue
        if message.role == "user":
            turns += 1
        elif message.role == "assistant" and (message.usage or message.cost != 0):
            used.append(message.usage)
    usage = simulation.agent_usage
    if isinstance(usage, _Usage) and (session := [*dicts(usage.records)]):
        given, written = ([each.get(name) for each in session] for name in ("input_tokens", "output_tokens"))
    else:
        counted = [each if isinstance(each, _Tokens) else _Tokens() for each in used]
        given, written = [each.prompt_tokens for each in counted], [each.completion_tokens for each in counted]
    return turns if messages else None, _summed(given), _summed(written)


def _summed(values: Sequence[object]) -> int | None:
    """Sum of counts; None where there are none or one is unknown."""
    if not values or None in values:
        return None
    found = [as_count(value) for value in values]
    return None if None in found else as_count(sum(n for n in found if n is not None))


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


def _without_secrets(value: object) -> object:
    """Leave out what may be a credential: settings are passed on, keys are not."""
    if parts := as_list(value):
        return [_without_secrets(part) for part in parts]
    if named := as_dict(value):
        return {key: _without_secrets(part) for key, part in named.items() if not key.lower().endswith(_SECRET)}
    return value


TEMPLATE_MARK: Final = "A_EXAMPLE_"

_MAX_CHARS = 4 << 20  # a submission is a few kB
_PASS = re.compile(r"pass_([1-9]\d*)")
_FIRST_VERSION = "original tau-bench"
_LESS_IS_BETTER: Final = re.compile("latency|interruption|^cost_usd$")


def read_submission(source: Source) -> Iterator[Rows | Problem]:
    """Yield one row of `aggregates` for every number of a submission, their metrics, and the run.

    A null is a number that was not published: it gives no row. Factors say what makes two submissions incomparable:
    `user_simulator`, `reasoning_effort`, `submission_type`, `modality`, `retrieval_config` and `harness_version`.
    """
    content = as_dict(load_json(source.path, max_chars=_MAX_CHARS))
    methodology, model = as_dict(content.get("methodology")), as_text(content.get("model_name"))
    if not model:
        raise InputError("has no model_name; a submission names its model")
    effort, version = as_text(content.get("reasoning_effort")), as_text(methodology.get("tau2_bench_version"))
    common: Row = {
        "model": model,
        "benchmark": _BENCHMARK,
        "method": "published",
        "date": day_of(methodology.get("evaluation_date")) or day_of(content.get("submission_date")),
        "run": source.run_id(model) if source.stem == "submission" else source.run_id(),
        "submission_type": as_text(content.get("submission_type")),
        "modality": as_text(content.get("modality")) or "text",
        "reasoning_effort": effort,
        "user_simulator": as_text(methodology.get("user_simulator")),
        "harness_version": version,
    }
    rows = [{**common, **row} for row in _numbers(content)]
    yield Rows(table="aggregates", rows=rows)
    metrics: dict[str, Row] = {}
    for metric, unit in dict.fromkeys((str(row["metric"]), str(row["unit"])) for row in rows):
        high = {"percent": 100.0, "proportion": 1.0}.get(unit)
        kind, better = "continuous" if high is None else "bounded", not _LESS_IS_BETTER.search(metric)
        row = metric_row(
            _BENCHMARK, metric, kind, high=high, unit=unit, higher_is_better=better, primary=metric == "pass^1"
        )
        metrics.setdefault(metric, row)
    yield Rows(table="metrics", rows=list(metrics.values()))
    kept = ("submitting_organization", "model_organization", "submission_type", "modality", "reasoning_effort")
    config = {name: content.get(name) for name in kept} | {
        "user_simulator": common["user_simulator"],
        "verification": methodology.get("verification"),
        "voice_config": content.get("voice_config"),
    }
    notes = [as_text(content.get("notes")), as_text(methodology.get("notes"))]
    run: Row = {
        "run": common["run"],
        "model": model,
        "system": f"{model} ({effort})" if effort else model,
        "benchmark": _BENCHMARK,
        "harness": "tau2-bench",
        "harness_version": version,
        "factor_names": [],
        "dependence": [],
        "config": json.dumps(config),
        "note": " ".join(note for note in notes if note) or None,
        "timestamp": as_time(content.get("submission_date")),
    }
    yield Rows(table="runs", rows=[run])
    rates = [float(str(row["estimate"])) for row in rows if row["unit"] == "percent"]
    doubts: list[str] = []
    if not rates:
        doubts.append("holds no pass^k for any domain")
    elif 0 < max(rates) <= 1:
        doubts.append(
            f"all its rates lie between 0 and {max(rates):g}; submissions are in percent, and these may be proportions"
        )
    if common["submission_type"] == "custom":
        doubts.append("is a custom submission: prompts or scaffold differ from the benchmark's own, see the run's note")
    if version == _FIRST_VERSION:
        doubts.append("its numbers were made on the first tau-bench, whose tasks differ from those of tau2-bench")
    yield from source.notes(doubts)


def _numbers(content: Row) -> Iterator[Row]:
    """Yield metric, estimate and unit of every number that was given."""
    for domain, results in as_dict(content.get("results")).items():
        retrieval = as_text(get(results, "retrieval_config"))
        for key, value in as_dict(results).items():
            found = _PASS.fullmatch(key)
            if value is None or (found is None and key != "cost"):
                continue
            number = None if isinstance(value, bool | str) else as_number(value)
            if number is None or number < 0 or (found and number > 100):
                expected = "a percentage between 0 and 100" if found else "a price in US dollars"
                raise InputError(
                    f"results.{domain}.{key}: is {json.dumps(value)[:40]}; expected {expected}, or null where there is none"
                )
            metric, unit = (f"pass^{found[1]}", "percent") if found else ("cost_usd", "US dollars")
            known: Row = {"task": domain, "metric": metric, "estimate": number, "unit": unit}
            yield {**known, "value_raw": json.dumps(value), "retrieval_config": retrieval}
    for domain, measured in as_dict(get(content, "interaction_metrics", "domains")).items():
        n = as_number(get(measured, "counts", "n_simulations"))
        for key, value in as_dict(measured).items():
            if (number := as_number(value)) is not None:
                unit = "seconds" if "latency" in key else "proportion"
                known = {"task": domain, "metric": f"interaction/{key}", "estimate": number, "unit": unit}
                yield {**known, "n": None if n is None else int(n), "value_raw": json.dumps(value)}


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
        invented = head.members.get("model_organization") == "Example Organization"
        named = (head.path.name, head.path.parent.name)
        return "template" if invented or any(name.startswith(TEMPLATE_MARK) for name in named) else "submission"
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
    found: list[Path] = []
    for file in sorted(folder.iterdir()):
        if file.name.endswith(_ENDINGS) and file.is_file() and not file.is_symlink() and not file.name.startswith("."):
            with suppress(UnreadableFileError):  # it counts as a simulation, and reading it will say what is wrong
                if kind_of(read_head(file)) == "results":  # a run of its own, as older versions saved them
                    continue
            found.append(file)
    return tuple(found)


LOADER: Final = Tau2BenchLoader()
