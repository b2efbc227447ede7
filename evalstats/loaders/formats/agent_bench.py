"""AgentBench: the finished samples of an agent and a task, `outputs/<time>/<agent>/<task>/runs.jsonl`, and `error.jsonl`.

The item is the sample's index; agent and task are taken from the folders. What the result says in numbers or verdicts (`result`,
`reward`, `score`, `success`) are metrics. A sample that the agent did not bring to an end within its limits, and that has no
result, is a failure, as upstream counts it; an error of the task or of the run is an error.
"""

from collections.abc import Iterator
from typing import Any, Final

from msgspec import Struct

from evalstats.loaders.base import plain_name
from evalstats.loaders.format import FAILED, RECORDS, Format, FormatFile, Sample, Sign, by_folder
from evalstats.loaders.record_columns import number
from evalstats.loaders.rows import Said, unscored
from evalstats.loaders.values import as_dict, as_text, first_line, get

_METRICS: Final = ("result", "reward", "score", "success")
_BROKEN: Final = frozenset({"task error", "unknown"})
_GAVE_UP: Final = frozenset(
    {"agent context limit", "agent validation failed", "agent invalid action", "task limit reached"}
)
_GAVE_UP_NOTE: Final = (
    "{n} samples ended at a limit or with an invalid action and count as failed, as upstream counts them"
)


class _Turn(Struct):
    role: Any = None


class _Output(Struct):
    status: Any = None
    result: Any = None
    history: list[_Turn] | None = None


class _Line(Struct):
    index: Any
    error: Any = None
    info: Any = None
    output: _Output | None = None
    time: Any = None


def _rows(line: _Line, file: FormatFile[_Line]) -> Iterator[Sample]:
    item = as_text(line.index)
    if item is None:
        file.leave_out("no index")
        return
    folders = file.path.absolute().parts[:-1]
    agent, task = (folders[-2], folders[-1]) if len(folders) > 2 else (None, "")
    run = file.run(agent, *((agent, task) if agent else ()))
    output = line.output or _Output()
    n_turns = sum(turn.role == "agent" for turn in output.history or []) or None
    shared = {"run": run, "task": task, "item": item, "timestamp": get(line.time, "timestamp"), "n_turns": n_turns}
    yield shared, _outcomes(line, output, file)


def _outcomes(line: _Line, output: _Output, file: FormatFile[_Line]) -> list[tuple[str, Said]]:
    status = as_text(output.status) or ""
    if line.error is not None or status in _BROKEN:
        reason = first_line(line.info) or first_line(line.error) or status
        return [("result", unscored(reason, error=True))]
    result = as_dict(output.result)
    found = {name: result[name] for name in _METRICS if isinstance(result.get(name), bool | int | float)}
    if found:
        return [(name, number(float(value) if isinstance(value, bool) else value)) for name, value in found.items()]
    if status in _GAVE_UP:
        file.count(_GAVE_UP_NOTE)
        return [("result", 0.0)]
    return [("result", unscored("the result holds no score: AgentBench makes it when all samples are there"))]


FORMAT: Final = Format(
    name="agent-bench",
    title="AgentBench runs (runs.jsonl, error.jsonl)",
    version="1",
    upstream="THUDM/AgentBench at 578c5e9, src/assigner.py and src/typings/output.py",
    benchmark="AgentBench",
    harness="AgentBench",
    signs=(Sign("index error info output time", 0.95, shapes=RECORDS),),
    record=_Line,
    rows=_rows,
    repeated=True,
    called="samples",
    metrics={name: {"primary": name == "result"} for name in _METRICS},
    counts={"{n} samples ended in an error of the task or of the run": FAILED},
    grouped=by_folder(first=lambda path: plain_name(path) != "error.jsonl"),
)
