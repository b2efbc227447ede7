"""tau-bench v1: one JSON list of simulated customer conversations, a row for every (task, trial).

The file says nothing about the model. Two name patterns do: `<model>-<domain>.json` (the published trajectories) and
`<strategy>-<model>-<temperature>_range_<start>-<end>_user-<user model>-<user strategy>_<time>.json` (what the harness
writes), which leaves out the domain; the agent's policy, the first message of each conversation, tells that one.

Format: sierra-research/tau-bench at 59a200c, `tau_bench/run.py` and `tau_bench/types.py`.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from evalstats.errors import InputError
from evalstats.loaders.base import Head, Match, Rows, SingleFileLoader, Source, in_batches
from evalstats.loaders.records import objects_in
from evalstats.loaders.rows import Once, Row, metric_row, scored, unscored
from evalstats.loaders.values import as_dict, as_number, as_text, as_whole, dicts, first_line, get, user_turns
from evalstats.schema.data import Problem

BENCHMARK: Final = "tau-bench"
UNKNOWN_DOMAIN: Final = "unknown"
OUT_OF_TURNS: Final = "ran out of turns: the harness gave no reward_info, which it counts as a failure"

_EPSILON = 1e-6  # the harness's own tolerance for "reward is 1"
_DEFAULT_STRATEGY = "tool-calling"
_HARNESS_NAME = re.compile(
    r"(?P<strategy>tool-calling|act|react|few-shot)-(?P<model>.+)-(?P<temperature>\d+(?:\.\d+)?(?:e-?\d+)?)"
    r"_range_(?P<start>-?\d+)-(?P<end>-?\d+)"
    r"_user-(?P<user_model>.+)-(?P<user_strategy>human|llm|react|verify|reflection)_(?P<started>\d{10})"
)
_PUBLISHED_NAME = re.compile(r"(?P<model>.+)-(?P<domain>airline|retail)")
_POLICY = re.compile(r"^#\s*(airline|retail) agent policy", re.IGNORECASE | re.MULTILINE)


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


def snapped_reward(value: object, where: str) -> float | None:
    """Return a reward, exactly 0 or 1 where it is so within the harness's tolerance; None where there is no number.

    >>> snapped_reward(0.9999999, "row 0"), snapped_reward(0.5, "row 1"), snapped_reward(None, "row 2")
    (1.0, 0.5, None)
    """
    reward = as_number(value)
    if reward is None:
        return None
    for whole in (0.0, 1.0):
        if abs(reward - whole) <= _EPSILON:
            return whole
    if not 0 < reward < 1:
        raise InputError(f"{where}: the reward is {reward:g}; rewards lie between 0 and 1")
    return reward


class TauBenchLoader(SingleFileLoader):
    """Loader of tau-bench v1 result files, plain or packed.

    One run per file. Metric `reward` with its task as item and `trial` from 0; factor `user_cost_usd` is what the
    simulated user cost (the agent's own cost is not in the file). A row whose `info` holds an `error` is a harness
    failure (the harness counts it as 0); a row without `reward_info` and without an error ran out of turns and is 0.
    """

    name = "tau-bench"
    title = "tau-bench v1 trajectories (.json)"
    version = "2"

    def sniff(self, head: Head) -> Match | None:
        """Recognise a list whose first element has task_id, reward, info and traj."""
        if head.shape != "array":
            return None
        if {"task_id", "reward", "info", "traj"} <= head.keys:
            return Match(confidence=0.95, reason="a list of rows with task_id, reward, info and traj")
        if {"task_id", "reward", "info"} <= head.keys:
            return Match(confidence=0.5, reason="a list of rows with task_id, reward and info")
        return None

    def read(self, source: Source) -> Iterator[Rows | Problem]:
        """Yield outcomes, the reward's kind, and the run."""
        parts = parts_of_name(source.stem)
        domain = parts.domain or _domain_from_policy(source.path)
        yield from source.notes(_doubts(parts, domain))
        common: Row = {
            "run": source.run_id(),
            "model": parts.model,
            "system": parts.system,
            "benchmark": BENCHMARK,
            "task": domain or UNKNOWN_DOMAIN,
        }
        fractional = False
        for batch in in_batches(_outcomes(source.path, common), "outcomes"):
            fractional = fractional or any(row.get("score") not in (None, 0.0, 1.0) for row in batch.rows)
            yield batch
        yield Rows(table="metrics", rows=[reward_metric(BENCHMARK, "reward", binary=not fractional)])
        yield Rows(table="runs", rows=[_run_row(common, parts)])


def reward_metric(benchmark: str, metric: str, *, binary: bool) -> Row:
    """Return the row of `metrics` for a reward: binary unless the file held a value between 0 and 1."""
    return metric_row(benchmark, metric, "binary" if binary else "bounded", primary=metric == "reward")


def _outcomes(path: Path, common: Row) -> Iterator[Row]:
    once = Once("keep one of the two, or give the repetitions trials of their own")
    for where, locator, row in objects_in(path):
        item = as_text(row.get("task_id"))
        trial = as_whole(row.get("trial", 0))
        if item is None or trial is None:
            missing = "task_id" if item is None else "whole-number trial"
            raise InputError(f"{where}: has no {missing}; tau-bench names each row by task_id and trial")
        once.add((item, trial), f"task_id {item!r}, trial {trial}", where)
        yield {**common, "item": item, "trial": trial, "n_trials": 1, "locator": locator, **_judged(row, where)}
    if not len(once):
        raise InputError("is an empty list; a tau-bench file holds one row for every task and trial")


def _judged(row: Row, where: str) -> Row:
    """Score and status of one row, with what else it says."""
    info = as_dict(row.get("info"))
    raw = row.get("reward")
    details: Row = {
        "metric": "reward",
        "n_turns": user_turns(row.get("traj")),
        "user_cost_usd": as_number(info.get("user_cost")),
    }
    if info.get("error") is not None:
        reason = first_line(info["error"]) or "an exception without a message"
        return {**details, **unscored(reason, json.dumps(raw)[:200], error=True)}
    reward = snapped_reward(raw, where)
    if reward is None:
        shown = json.dumps(raw)[:200]
        return {**details, **unscored(f"the reward is {shown}", shown)}
    # the harness gives no reward_info exactly where the conversation never came to its end
    reason = OUT_OF_TURNS if info.get("reward_info") is None and reward == 0 else None
    return {**details, **scored(reward, status_reason=reason)}


def _domain_from_policy(path: Path) -> str | None:
    """Read the domain from the agent policy that opens the first conversation kept; None where none is recognised."""
    for _, _, row in objects_in(path):
        message = next(dicts(row.get("traj")), None)
        if message is not None:
            found = _POLICY.search(as_text(get(message, "content")) or "")
            return found[1].lower() if found else None
    return None


def _doubts(parts: NameParts, domain: str | None) -> Iterator[str]:
    if not parts.recognised:
        yield (
            f"tau-bench files name their model only in the file name, and this one follows no known pattern; the model "
            f"is called {parts.model!r}. Rename it to <model>-<airline or retail>.json to say otherwise"
        )
    if domain is None:
        yield (
            "neither the file name nor the agent policy tells the domain; the task is called 'unknown', and its items "
            "pair with those of any other file of unknown domain. Rename it to <model>-<airline or retail>.json"
        )


def _run_row(common: Row, parts: NameParts) -> Row:
    return {
        **{name: value for name, value in common.items() if name != "task"},
        "harness": "tau-bench",
        "temperature": parts.temperature,
        "item_limit": parts.item_limit,
        "factor_names": [],
        "dependence": [],
        "config": parts.config,
    }


LOADER: Final = TauBenchLoader()
