"""HAL, the harness of the Holistic Agent Leaderboard: the summary of a run, `<run>_UPLOAD.json`, of GAIA and others.

The item is a task of the benchmark, which succeeded or failed: `success`. What a benchmark says of a task in numbers beside that
is a metric of its name. A task that the run's lists do not name was not evaluated and is not there. The model is the one among
the agent's arguments, the system the agent.
"""

from collections.abc import Iterator
from typing import Any, Final

from msgspec import Struct

from evalstats.loaders.format import HEADLINE, OBJECT, Format, FormatFile, Sample, Sign
from evalstats.loaders.rows import Row, Said
from evalstats.loaders.values import as_dict, as_number, as_text, as_time, get, json_text


class _Results(Struct):
    successful_tasks: list[str | int] = []
    failed_tasks: list[str | int] = []
    latencies: Any = None
    accuracy: Any = None
    total_cost: Any = None


class _Run(Struct):
    config: Any
    results: _Results
    raw_eval_results: Any = None
    task_step_counts: Any = None


def _rows(run: _Run, file: FormatFile[_Run]) -> Iterator[Sample]:
    config, results = as_dict(run.config), run.results
    arguments = as_dict(config.get("agent_args"))
    agent = as_text(config.get("agent_name"))
    model = as_text(arguments.get("model_name")) or as_text(arguments.get("model")) or agent
    settings = {name: value for name, value in arguments.items() if isinstance(value, str | int | float)}
    name = file.run(
        model,
        benchmark=as_text(config.get("benchmark_name")) or "HAL",
        timestamp=as_time(config.get("date")),
        config=json_text(settings),
        harness_version=as_text(config.get("agent_version")),
    )
    file.runs[name]["system"] = agent or model
    file.publish(results.accuracy, name, "success", n=len(results.successful_tasks) + len(results.failed_tasks))
    file.publish(results.total_cost, name, "total cost", unit="US dollars")
    file.metric("total cost", higher_is_better=False)
    for score, tasks in ((1.0, results.successful_tasks), (0.0, results.failed_tasks)):
        for task in map(str, tasks):
            shared: Row = {
                "run": name,
                "item": as_text(task),
                "locator": f"raw_eval_results.{task}",
                "latency_s": get(results.latencies, task, "total_time"),
                "n_turns": get(run.task_step_counts, task),
            }
            yield shared, [("success", score), *_numbers(get(run.raw_eval_results, task))]


def _numbers(result: object) -> Iterator[tuple[str, Said]]:
    for name, value in as_dict(result).items():
        number = None if isinstance(value, bool | str) else as_number(value)
        if number is not None and name not in {"success", "cost"}:
            yield as_text(name) or "metric", number


FORMAT: Final = Format(
    name="hal",
    title="HAL agent runs (<run>_UPLOAD.json)",
    version="1",
    upstream="princeton-pli/hal-harness at 16bb03e, hal/benchmarks/base_benchmark.py",
    benchmark="HAL",
    harness="hal-harness",
    signs=(
        Sign("config results", 0.95, text=('"agent_name"', '"benchmark_name"', '"successful_tasks"'), shapes=OBJECT),
        Sign("config results raw_eval_results", 0.9, text=('"agent_name"', '"benchmark_name"'), shapes=OBJECT),
    ),
    record=_Run,
    rows=_rows,
    at=(".",),
    called="runs",
    repeated=True,
    metrics={"success": HEADLINE},
)
