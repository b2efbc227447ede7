"""BrowserGym and AgentLab: the summary of every episode, `<time>_<agent>_on_<task>_<seed>/summary_info.json`, as of WebArena.

The folder says agent, task and seed: the task is the item, its seed the variant. `reward` is the sum over the episode's steps. An
episode that earned nothing and ended in an exception is an error. All episodes of a study's folder are one source.
"""

import re
from collections.abc import Iterator
from typing import Any, Final

from msgspec import Struct, field

from evalstats.loaders.format import FAILED, OBJECT, Format, FormatFile, Sample, Sign, by_folder
from evalstats.loaders.record_columns import number
from evalstats.loaders.rows import Row, score_of, unscored
from evalstats.loaders.values import as_text, first_line

_FOLDER: Final = re.compile(r"(?:\d{4}-\d\d-\d\d_\d\d-\d\d-\d\d_)?(?P<agent>.+?)_on_(?P<task>.+)_(?P<seed>\d+|None)")


class _Episode(Struct):
    cum_reward: Any = None
    n_steps: Any = None
    err_msg: Any = None
    cost: Any = field(default=None, name="stats.cum_cost")
    elapsed: Any = field(default=None, name="stats.cum_step_elapsed")
    input_tokens: Any = field(default=None, name="stats.cum_input_tokens")
    output_tokens: Any = field(default=None, name="stats.cum_output_tokens")


def _rows(episode: _Episode, file: FormatFile[_Episode]) -> Iterator[Sample]:
    folder = file.path.absolute().parent.name
    found = _FOLDER.fullmatch(folder)
    if found is None:
        file.leave_out("a folder that does not name agent, task and seed")
        return
    task = as_text(found["task"]) or ""
    run = file.run(as_text(found["agent"]))
    shared: Row = {
        "run": run,
        "item": task,
        "variant": "" if found["seed"] == "None" else f"seed {found['seed']}",
        "scenario": task.partition(".")[0],
        "n_turns": episode.n_steps,
        "cost_usd": episode.cost,
        "latency_s": episode.elapsed,
        "input_tokens": episode.input_tokens,
        "output_tokens": episode.output_tokens,
    }
    outcome = number(episode.cum_reward)
    if episode.err_msg is not None and not score_of(outcome):
        outcome = unscored(first_line(episode.err_msg), error=True)
    yield shared, [("reward", outcome)]


FORMAT: Final = Format(
    name="browser-gym",
    title="BrowserGym and AgentLab episodes (summary_info.json)",
    version="1",
    upstream="ServiceNow/BrowserGym at 9e779f0, browsergym/experiments/src/browsergym/experiments/loop.py",
    benchmark="BrowserGym",
    harness="BrowserGym",
    signs=(Sign("n_steps cum_reward err_msg stack_trace", 0.95, shapes=OBJECT),),
    record=_Episode,
    rows=_rows,
    at=(".",),
    repeated=True,
    called="episodes",
    metrics={"reward": {"primary": True}},
    counts={"{n} episodes ended in an exception; they are harness errors": FAILED},
    grouped=by_folder(1),
)
