"""Harbor: the trials of a job (`jobs/<job>/<trial>/result.json`), as Terminal-Bench 2 and other agent benchmarks are run.

A task is an item and each reward of the verifier a metric. All trials of a job are read together; agent and model make a
system. Harbor itself says which failures leave no valid reward (a rate limit, a broken sandbox): these are errors here.
"""

from collections.abc import Iterator
from typing import Any, Final

from msgspec import Struct

from evalstats.loaders.format import FAILED, OBJECT, Format, FormatFile, Sample, Sign, by_folder
from evalstats.loaders.record_columns import InEvery, number
from evalstats.loaders.rows import Row, Said, as_row, held, unscored
from evalstats.loaders.values import as_dict, as_text, as_time, first_line, get

_REWARD: Final = "reward"
# What lies in the folder of a trial beside its result, by the name that Harbor gives such a folder.
_LEFT: Final = r"__[0-9A-Za-z]{7}/(?:lock\.json|(?:agent|user-agent|verifier|artifacts|steps)/.+)$"
_STAYED: Final = (
    "{n} trials have a reward although an exception ended them; the reward counts, the exception is its status_reason"
)


class _Usage(Struct):
    n_input_tokens: Any = None
    n_output_tokens: Any = None
    cost_usd: Any = None


class _Failure(Struct):
    exception_type: Any = None
    exception_message: Any = None
    policy: Any = None


class _Trial(Struct):
    task_name: str
    source: Any = None
    agent_info: Any = None
    agent_result: _Usage | None = None
    verifier_result: Any = None
    exception_info: _Failure | None = None
    started_at: Any = None
    agent_execution: Any = None


def _rows(record: _Trial, file: FormatFile[_Trial]) -> Iterator[Sample]:
    """Return a trial's rewards."""
    usage, run = record.agent_result or _Usage(), _run(record, file)
    begun, ended = (as_time(get(record.agent_execution, name)) for name in ("started_at", "finished_at"))
    common: Row = {
        "run": run,
        "item": record.task_name,
        "latency_s": (ended - begun).total_seconds() if begun and ended else None,
        "cost_usd": usage.cost_usd,
        "input_tokens": usage.n_input_tokens,
        "output_tokens": usage.n_output_tokens,
        "timestamp": record.started_at,
        "locator": f"{file.path.parent.name}/{file.path.name}",
    }
    verified, failure = as_dict(record.verifier_result), record.exception_info
    rewards = as_dict(verified.get("rewards")) or {_REWARD: verified.get(_REWARD)}
    reason = f"{as_text(failure.exception_type)}: {first_line(failure.exception_message)}" if failure else None
    if all(reward is None for reward in rewards.values()):
        yield common, InEvery(unscored(reason or "the verifier gave no reward", error=True))
        return
    valid = get(failure.policy, "has_valid_reward") if failure else None
    outcomes: list[tuple[str, Said]] = []
    for metric, reward in rewards.items():
        outcome = {**as_row(number(reward)), "status_reason": reason} if reason else number(reward)
        outcome = unscored(reason, held(reward), error=True) if valid is False else outcome
        outcomes.append((metric, outcome))
    file.count(_STAYED, int(failure is not None and valid is not False))
    yield common, outcomes


def _run(record: _Trial, file: FormatFile[_Trial]) -> str:
    agent, info = as_text(get(record.agent_info, "name")), get(record.agent_info, "model_info")
    name, provider = as_text(get(info, "name")), as_text(get(info, "provider"))
    model = f"{provider}/{name}" if provider and name else name or agent
    system = f"{model} ({agent})" if agent and name else model
    dataset = as_text(record.source) or FORMAT.benchmark
    config = {"agent": agent, "agent_version": as_text(get(record.agent_info, "version"))}
    return file.run(model, *filter(None, (agent, model, dataset)), system=system, benchmark=dataset, config=config)


FORMAT: Final = Format(
    name="harbor",
    title="Harbor jobs (jobs/<job>/<trial>/result.json)",
    version="1",
    upstream="harbor 0.26.0, harbor/models/trial/result.py, error_policy.py",
    benchmark="Harbor",
    harness="Harbor",
    signs=(
        Sign("task_name trial_name trial_uri agent_info", shapes=OBJECT),
        Sign("n_total_trials stats started_at", shapes=OBJECT, skip="the sums of a job, whose trials stand beside it"),
        Sign("trial_name trials_dir task", shapes=OBJECT, skip="the configuration of a trial"),
        Sign("job_name jobs_dir", shapes=OBJECT, skip="the configuration of a job"),
        Sign("retry trials", name="lock.json", shapes=OBJECT, skip="what a job was run with"),
        Sign(path=_LEFT, confidence=0.5, skip="what the agent or the verifier of a trial left"),
    ),
    record=_Trial,
    rows=_rows,
    at=(".",),
    called="trials",
    repeated=True,
    grouped=by_folder(1),
    counts={
        "{n} rewards are errors: the harness failed, or left no reward; Harbor's own mean counts them as 0": FAILED
    },
    metrics={_REWARD: {"primary": True}},
)
