"""tau-bench v1: simulated customer conversations, a row for every task and trial.

Metric `reward` with its task as item; factor `user_cost_usd` is what the simulated user cost (the agent's own cost is not in the
file). A row whose `info` holds an `error` is a harness failure (the harness counts it as 0); a row without `reward_info` and
without an error ran out of turns and is 0. The file says nothing of the model. Two patterns of its name do:
`<model>-<domain>.json` (the published trajectories) and `<strategy>-<model>-<temperature>_range_<start>-<end>_user-<user
model>-<user strategy>_<time>.json` (what the harness writes), which leaves out the domain; the agent's policy, with which
conversations begin, tells that one.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from msgspec import Struct

from evalstats.loaders.format import Format, FormatFile, Sample, Scalar, Sign
from evalstats.loaders.format_columns import number
from evalstats.loaders.rows import Row, Said, as_row, held, unscored
from evalstats.loaders.values import as_number, as_text, as_whole, first_line

UNKNOWN_DOMAIN: Final = "unknown"
OUT_OF_TURNS: Final = "ran out of turns: the harness gave no reward_info, which it counts as a failure"

_EPSILON: Final = 1e-6  # the harness's own tolerance for "reward is 1"
_DEFAULT_STRATEGY: Final = "tool-calling"
_HARNESS_NAME: Final = re.compile(
    r"(?P<strategy>tool-calling|act|react|few-shot)-(?P<model>.+)-(?P<temperature>\d+(?:\.\d+)?(?:e-?\d+)?)"
    r"_range_(?P<start>-?\d+)-(?P<end>-?\d+)"
    r"_user-(?P<user_model>.+)-(?P<user_strategy>human|llm|react|verify|reflection)_(?P<started>\d{10})"
)
_PUBLISHED_NAME: Final = re.compile(r"(?P<model>.+)-(?P<domain>airline|retail)")
# The first line of a message, as JSON writes it.
_POLICY: Final = re.compile(r'(?:"|\\n)#\s*(airline|retail) agent policy', re.IGNORECASE)
_NO_MODEL: Final = (
    "tau-bench files name their model only in the file name, and this one follows no known pattern; the model "
    "is called {!r}. Rename it to <model>-<airline or retail>.json to say otherwise"
)
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
    task_id: Any = None
    trial: Any = 0
    reward: Any = None
    info: _Info | Scalar = None
    traj: list[_Message | Scalar] | Scalar = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NameParts:
    """What the file's name says of the run; None where it says nothing."""

    model: str
    recognised: bool
    domain: str | None = None
    strategy: str | None = None
    temperature: float | None = None
    item_limit: int | None = None
    config: str | None = None

    @property
    def system(self) -> str:
        """The model, and the agent's strategy unless it is the usual tool calling."""
        return self.model if self.strategy in (None, _DEFAULT_STRATEGY) else f"{self.model} ({self.strategy})"


def parts_of_name(stem: str) -> NameParts:
    """Read model, domain and settings out of a file name without its ending."""
    if found := _HARNESS_NAME.fullmatch(stem):
        start, end = int(found["start"]), int(found["end"])
        return NameParts(
            model=found["model"],
            recognised=True,
            strategy=found["strategy"],
            temperature=float(found["temperature"]),
            item_limit=end - start if end > start else None,
            config=json.dumps(found.groupdict()),
        )
    if found := _PUBLISHED_NAME.fullmatch(stem):
        return NameParts(model=found["model"], recognised=True, domain=found["domain"])
    return NameParts(model=stem, recognised=False)


class _Reader:
    """What the name and the head of a file say of its rows."""

    def __init__(self, file: FormatFile[_Row]) -> None:
        self._file, parts = file, parts_of_name(file.source.stem)
        policy = _POLICY.search(file.head.text)
        domain = parts.domain or (policy[1].lower() if policy else None)
        if not parts.recognised:
            file.note(_NO_MODEL.format(parts.model))
        if domain is None:
            file.note(_NO_DOMAIN)
        about = {"temperature": parts.temperature, "item_limit": parts.item_limit, "config": parts.config}
        run = file.run(parts.model, "", system=parts.system, factor_names=[], dependence=[], **about)
        self._shared: Row = {"run": run, "task": domain or UNKNOWN_DOMAIN}

    def rows(self, record: _Row) -> Iterator[Sample]:
        """Return the outcome of a row that says its task and trial."""
        item, trial = as_text(record.task_id), as_whole(record.trial)
        if item is None or trial is None or trial < 0 or self._file.again(item, trial):
            whole = trial is not None and trial >= 0
            why = "no task_id" if item is None else "of a task and trial before" if whole else "no whole-number trial"
            self._file.leave_out(why)
            return
        info = record.info if isinstance(record.info, _Info) else _Info()
        messages = record.traj if isinstance(record.traj, list) else []
        turns = sum(isinstance(message, _Message) and message.role == "user" for message in messages)
        shared: Row = {
            **self._shared,
            "item": item,
            "trial": trial,
            "n_turns": turns if messages else None,
            "user_cost_usd": as_number(info.user_cost),
        }
        yield shared, [("reward", _reward(record.reward, info))]

    def finish(self) -> Iterator[Sample]:
        """Return nothing more."""
        yield from ()


def snapped(value: object) -> float | None:
    """Return a reward, exactly 0 or 1 where it is so within the harness's tolerance; None where there is no number.

    >>> snapped(0.9999999), snapped(0.5), snapped(None)
    (1.0, 0.5, None)
    """
    reward = as_number(value)
    return next((whole for whole in (0.0, 1.0) if reward is not None and abs(reward - whole) <= _EPSILON), reward)


def _reward(value: object, info: _Info) -> Said:
    if info.error is not None:
        return unscored(first_line(info.error) or "an exception without a message", held(value), error=True)
    reward = snapped(value)
    if reward is None:
        shown = json.dumps(value)[:200]
        return unscored(f"the reward is {shown}", shown)
    found = number(reward, 0.0, 1.0)
    # the harness gives no reward_info exactly where the conversation never came to its end
    return {**as_row(found), "status_reason": OUT_OF_TURNS} if info.reward_info is None and reward == 0 else found


FORMAT: Final = Format(
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
    reader=_Reader,
    called="rows",
    metrics={"reward": {"primary": True}},
    texts={
        "question": "info.task.instruction",
        "expected": "info.task.outputs info.task.actions",
        "answer": "traj.-2 traj.-1",
    },
)
