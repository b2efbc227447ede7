"""Ranks on a task not yet seen: how often the conformal interval misses them, where tasks are exchangeable and where not."""

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np
from scipy import stats

from dev.validation.study import Case, Promise, Question, Tallies, Tally, Task, simulated
from evalstats.stats.many.task_ranks import conformal_ends, new_task_ranks

NAME = "new-tasks"
REPLICATES, PART = 2_000, 250
MODELS = 10
LEFT_OUT_OF = 10  # tables of a part
TASKS = (20, 40, 100)
OURS, RANGE, NORMAL = "conformal interval of the rank", "ranks seen on 95% of tasks", "mean rank ± 1.96 standard errors"
LEFT_OUT = "tasks left out of the interval of the others"
SKILLS = np.linspace(1.0, -1.0, MODELS)

Draw = Callable[[np.random.Generator, int], np.ndarray]


def independent(rng: np.random.Generator, n: int) -> np.ndarray:
    """Draw scores of n tasks that have nothing in common, shape (n, MODELS)."""
    return SKILLS + rng.normal(0.0, 0.7, (n, MODELS))


def coarse(rng: np.random.Generator, n: int) -> np.ndarray:
    """Draw scores so coarse that most tie."""
    return np.round(independent(rng, n))


def families(rng: np.random.Generator, n: int, *, new: bool = False) -> np.ndarray:
    """Draw tasks of five families that models do well on or not; the last is of a sixth if `new`."""
    favour, family = rng.normal(0.0, 0.7, (6, MODELS)), rng.integers(0, 5, n)
    if new:
        family[-1] = 5
    return SKILLS + favour[family] + rng.normal(0.0, 0.3, (n, MODELS))


def drifting(rng: np.random.Generator, n: int) -> np.ndarray:
    """Draw tasks in time, in which models gain or lose."""
    return independent(rng, n) + np.linspace(0.0, 1.0, n)[:, np.newaxis] * rng.normal(0.0, 0.5, MODELS)


WORLDS: Mapping[str, Draw] = {
    "independent tasks": independent,
    "coarse scores, most of them tied": coarse,
    "tasks of five families": families,
    "one of a sixth family": partial(families, new=True),
    "tasks that drift in time": drifting,
}
EXCHANGEABLE = tuple(WORLDS)[:3]


def replicate(rng: np.random.Generator, count: int, *, draw: Draw, n_tasks: int) -> dict[str, Tally]:
    """Tally the share of models whose rank on one task more is missed, on `count` tables.

    The interval of a model rests on its own ranks alone, so that the models of all tables stand beside each other.
    """
    ranks = np.stack([stats.rankdata(-draw(rng, n_tasks + 1), axis=1) for _ in range(count)], axis=1)
    seen, new = ranks[:-1].reshape(n_tasks, -1), ranks[-1].ravel()
    low, high = conformal_ends(seen, 0.05)
    middle, error = seen.mean(axis=0), seen.std(axis=0, ddof=1) / n_tasks**0.5
    ends = {
        OURS: (low, np.minimum(high, MODELS)),
        RANGE: tuple(np.quantile(seen, [0.025, 0.975], axis=0)),
        NORMAL: (middle - 1.96 * error, middle + 1.96 * error),
    }
    alone = [new_task_ranks(-ranks[:-1, k]) for k in range(LEFT_OUT_OF)]
    left_out = [1.0 - float(found.inside.mean()) for found in alone if found.inside is not None]
    return {
        name: Tally(
            float(((new < low) | (new > high)).mean() * count), float(count), float((high - low).mean() * count)
        )
        for name, (low, high) in ends.items()
    } | {LEFT_OUT: Tally(sum(left_out), float(len(left_out)))}


def _case(n_tasks: int, world: str) -> str:
    return f"{n_tasks} tasks, {world}"


def notes(tallies: Tallies) -> list[str]:
    """Say what leaving each task out shows where tasks are not exchangeable."""
    return [
        f"{case}: leaving each task out in turn shows {100 * tally.errors / tally.total:.1f}% missed."
        for (case, method), tally in tallies.items()
        if method == LEFT_OUT and not case.endswith(EXCHANGEABLE)
    ]


def tasks(share: float = 1.0) -> list[Task]:
    """Cut every case into parts."""
    return [
        task
        for world, draw in WORLDS.items()
        for n in TASKS
        for task in simulated(
            NAME,
            _case(n, world),
            partial(replicate, draw=draw, n_tasks=n),
            replicates=REPLICATES,
            part=PART,
            share=share,
        )
    ]


QUESTION = Question(
    name=NAME,
    question="How often does the interval of a model's rank on a new task miss it?",
    design=(
        "Ten models on 20, 40 or 100 tasks and one more, whose ranks are to be in the intervals. Tasks are drawn alike, or of "
        "five families that favour some models; the new one may be of a sixth, or come after a drift. A rate is the mean over "
        "models of the share of tables."
    ),
    measure="misses",
    nominal=0.05,
    methods={OURS: "ours", RANGE: "elsewhere", NORMAL: "elsewhere"},
    cases=[Case(name=_case(n, world), group=world, design={"n_tasks": n}) for world in WORLDS for n in TASKS],
    tasks=tasks,
    promises=[
        Promise(
            text="The rank on a new task, exchangeable tasks",
            method=OURS,
            cases=tuple(_case(n, world) for world in EXCHANGEABLE for n in TASKS),
            high=0.05,
            up_to_chance=True,
        ),
        Promise(
            text="The rank on a new task, tasks that drift in time",
            method=OURS,
            cases=tuple(_case(n, "tasks that drift in time") for n in TASKS),
            high=0.065,
        ),
    ],
    notes=notes,
)
