"""tau-bench v1: simulated customer conversations, a row for every task and trial.

Metric `reward` with its task as item; factor `user_cost_usd` is what the simulated user cost (the agent's own cost is not in the
file). A row whose `info` holds an `error` is a harness failure (the harness counts it as 0); a row without `reward_info` and
without an error ran out of turns and is 0. The file says nothing of the model. Two patterns of its name do:
`<model>-<domain>.json` (the published trajectories) and `<strategy>-<model>-<temperature>_range_<start>-<end>_user-<user
model>-<user strategy>_<time>.json` (what the harness writes), which leaves out the domain; the agent's policy, with which
conversations begin, tells that one.
"""

import re
from typing import Any, Final

import polars as pl
from msgspec import Struct

from evalstats.loaders.format import Format, FormatFile, Sign
from evalstats.loaders.record_columns import number
from evalstats.loaders.rows import Row, Said
from evalstats.loaders.typed_records import Plain
from evalstats.loaders.values import as_number, first_line

OUT_OF_TURNS: Final = "ran out of turns: the harness gave no reward_info, which it counts as a failure"

_EPSILON: Final = 1e-6  # the harness's own tolerance for "reward is 1"
_HARNESS_NAME: Final = re.compile(
    r"(?P<strategy>tool-calling|act|react|few-shot)-(?P<model>.+)-(?P<temperature>\d+(?:\.\d+)?(?:e-?\d+)?)"
    r"_range_(?P<start>-?\d+)-(?P<end>-?\d+)"
    r"_user-(?P<user_model>.+)-(?P<user_strategy>human|llm|react|verify|reflection)_(?P<started>\d{10})"
)
_PUBLISHED_NAME: Final = re.compile(r"(?P<model>.+)-(?P<domain>airline|retail)")
# The first line of a message, as JSON writes it.
_POLICY: Final = re.compile(r'(?:"|\\n)#\s*(airline|retail) agent policy', re.IGNORECASE)
_NO_DOMAIN: Final = (
    "neither the file name nor the agent policy shows the domain; the task is called 'unknown', and its items "
    "pair with those of any other file of unknown domain. Rename it to <model>-<airline or retail>.json"
)


class _Message(Struct):
    role: Any = None


class _Info(Struct):
    error: Any = None
    user_cost: Any = None
    reward_info: Any = None


class _Row(Struct):
    """A row; what is not in the file is made of its conversation and its info."""

    task_id: Any = None
    trial: Any = 0
    reward: Any = None
    info: _Info | Plain = None
    traj: list[_Message | Plain] | Plain = None
    error: str | None = None
    n_turns: int | None = None
    unfinished: bool = True


def _about(file: FormatFile[_Row]) -> Row:
    """Read model, domain and settings out of the file's name."""
    run: Row = {"factor_names": [], "dependence": []}
    if found := _HARNESS_NAME.fullmatch(file.source.stem):
        start, end, strategy = int(found["start"]), int(found["end"]), found["strategy"]
        run |= {"model": found["model"], "temperature": float(found["temperature"]), "config": found.groupdict()}
        run["system"] = found["model"] if strategy == "tool-calling" else f"{found['model']} ({strategy})"
        return {**run, "item_limit": end - start if end > start else None}
    found = _PUBLISHED_NAME.fullmatch(file.source.stem)
    return {**run, "model": found["model"] if found else None}


def _rows(rows: list[_Row], file: FormatFile[_Row]) -> tuple[list[_Row], pl.Series]:
    for row in rows:
        info = row.info if isinstance(row.info, _Info) else _Info()
        messages = row.traj if isinstance(row.traj, list) else []
        turns = sum(isinstance(message, _Message) and message.role == "user" for message in messages)
        row.n_turns = turns if messages else None
        row.error = None if info.error is None else first_line(info.error) or "an exception without a message"
        row.unfinished = info.reward_info is None
    return rows, file.locators


def _arranged(frame: pl.DataFrame, file: FormatFile[_Row]) -> pl.DataFrame:
    published, policy = _PUBLISHED_NAME.fullmatch(file.source.stem), _POLICY.search(file.head.text)
    domain = published["domain"] if published else policy[1].lower() if policy else None
    if domain is None:
        file.note(_NO_DOMAIN)
    frame = file.named(frame, item="task_id")
    frame = file.without(frame, pl.col("trial").is_null(), "no whole-number trial")
    frame = file.without(frame, file.copies(frame.select("item", "trial")), "of a task and trial before")
    # The harness gives no reward_info exactly where the conversation never came to its end.
    unfinished = pl.col("_v_unfinished") & (pl.col("_reward").cast(pl.Float64, strict=False).abs() <= _EPSILON)
    reason = pl.when(unfinished).then(pl.lit(OUT_OF_TURNS))
    return frame.with_columns(task=pl.lit(domain or "unknown"), status_reason=reason)


def snapped(value: object) -> float | None:
    """Return a reward, exactly 0 or 1 where it is so within the harness's tolerance; None where there is no number.

    >>> snapped(0.9999999), snapped(0.5), snapped(None)
    (1.0, 0.5, None)
    """
    reward = as_number(value)
    return next((whole for whole in (0.0, 1.0) if reward is not None and abs(reward - whole) <= _EPSILON), reward)


def _reward(value: object) -> Said:
    reward = snapped(value)
    return number(value if reward is None else reward, 0.0, 1.0)


FORMAT: Final[Format[Any]] = Format(
    name="tau-bench",
    title="tau-bench v1 trajectories (.json)",
    version="3",
    upstream="sierra-research/tau-bench at 59a200c, tau_bench/run.py and tau_bench/types.py",
    benchmark="tau-bench",
    harness="tau-bench",
    signs=(
        Sign("task_id reward info traj", 0.95, shapes=("array",)),
        Sign("task_id reward info", 0.5, shapes=("array",)),
    ),
    record=_Row,
    inner=_rows,
    fields={
        "item": "task_id",
        "trial": "trial",
        "n_turns": "n_turns",
        "user_cost_usd": "info.user_cost",
        "error": "error",
        "_v_unfinished": "unfinished",
        "_reward": "reward",
    },
    scores={"reward": "reward"},
    reads=_reward,
    about=_about,
    arranged=_arranged,
    called="rows",
    metrics={"reward": {"primary": True}},
    naming="Rename it to <model>-<airline or retail>.json to say otherwise",
    texts={
        "question": "info.task.instruction",
        "expected": "info.task.outputs info.task.actions",
        "answer": "traj.-2 traj.-1",
    },
)
