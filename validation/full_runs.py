"""Two models with several full runs each: how often the interval of their difference misses it when runs move all items."""

from functools import partial

import numpy as np

from evalstats.stats.estimate import Estimate
from evalstats.stats.paired.means import augmented_t
from evalstats.stats.trials import run_variance, with_runs
from validation.study import Case, Promise, Question, Tally, Task, of_intervals, simulated

NAME = "full-runs"
REPLICATES, PART = 5_000, 250
# Rates of few runs that differ are so close to their limit that fewer do not tell; of one most of all.
MANY, MOST = 20_000, 100_000
CLOSEST = "1000 items, 2 runs of sd 0.1"
ITEMS = (200, 1000, 3000)
RUN_SDS = (0.0, 0.05, 0.1, 0.2)
RUNS = (2, 3, 5, 10)
# Shared by both sides (judges), at this sd, beside what is each side's own.
SHARED_SD = 0.5
# Standard deviations, in logits, of items and of what an item is to one model alone.
ITEM_SD, OWN_SD = 1.5, 0.7
TEST_FIRST = 0.05


def draw(
    rng: np.random.Generator, *, items: int, runs: int, run_sd: float, shared_sd: float = 0.0, gain: float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    """Draw right or wrong, shape (items, runs), of two models; `gain` is the candidate's in logits."""
    level = ITEM_SD * rng.standard_normal((items, 1))
    together = shared_sd * rng.standard_normal(runs)
    sides = []
    for plus in (0.0, gain):
        logit = level + OWN_SD * rng.standard_normal((items, 1)) + together + run_sd * rng.standard_normal(runs) + plus
        sides.append((rng.random((items, runs)) < 1 / (1 + np.exp(-logit))) * 1.0)
    return sides[0], sides[1]


def intervals(a: np.ndarray, b: np.ndarray) -> dict[str, Estimate]:
    """Return every method's interval of one data set."""
    plain = augmented_t(b.mean(axis=1) - a.mean(axis=1), n_trials=a.shape[1])
    apart, together = run_variance(a, b), run_variance(b - a)
    counted = with_runs(plain, apart, low=-1.0, high=1.0)
    differ = apart.p_value is not None and apart.p_value <= TEST_FIRST
    return {
        "runs counted": counted,
        "trials shared": with_runs(plain, together, low=-1.0, high=1.0),
        "runs counted after a test": counted if differ else plain,
        "augmented t on item means": plain,
    }


def replicate(
    rng: np.random.Generator, count: int, *, items: int, runs: int, run_sd: float, shared_sd: float
) -> dict[str, Tally]:
    """Tally every method on `count` data sets of two models that do not differ."""
    found = [intervals(*draw(rng, items=items, runs=runs, run_sd=run_sd, shared_sd=shared_sd)) for _ in range(count)]
    return {method: of_intervals([each[method] for each in found], 0.0) for method in found[0]}


def _cases() -> list[tuple[Case, dict]]:
    made = []
    for runs in RUNS:
        for run_sd in RUN_SDS:
            for n in ITEMS if runs < 10 else ITEMS[1:2]:
                world = {"items": n, "runs": runs, "run_sd": run_sd, "shared_sd": 0.0}
                made.append((f"{n} items, {runs} runs of sd {run_sd:g}", f"{runs} runs a side", world))
    for runs in RUNS[1:3]:
        world = {"items": 1000, "runs": runs, "run_sd": 0.0, "shared_sd": SHARED_SD}
        made.append((f"1000 items, {runs} judges of sd {SHARED_SD:g} that both share", "shared trials", world))
    return [(Case(name=name, group=group, design={f"n_{k}": v for k, v in w.items()}), w) for name, group, w in made]


def _replicates(case: Case, world: dict) -> int:
    if case.name == CLOSEST:
        return MOST
    return MANY if world["runs"] <= 3 and world["run_sd"] > 0.0 else REPLICATES


def tasks(share: float = 1.0) -> list[Task]:
    """Cut every case into parts."""
    return [
        task
        for case, world in _cases()
        for task in simulated(
            NAME, case.name, partial(replicate, **world), replicates=_replicates(case, world), part=PART, share=share
        )
    ]


QUESTION = Question(
    name=NAME,
    question="How often does the interval of a difference miss the truth, when whole runs move all items alike?",
    design=(
        "Two models that do not differ answer the same items (difficulty sd 1.5 logits, sd 0.7 of each model's own) in 2 to 10 "
        "full runs; every run shifts the logit of all its items by an amount of its own. In the last cases both sides share "
        "their judges, who shift the logit with sd 0.5."
    ),
    measure="misses",
    nominal=0.05,
    methods={
        "runs counted": "ours",
        "trials shared": "ours",
        "runs counted after a test": "beside",
        "augmented t on item means": "elsewhere",
    },
    cases=[case for case, _ in _cases()],
    tasks=tasks,
    promises=[
        Promise(
            text="Runs counted, 3 and more runs of each side",
            method="runs counted",
            cases=tuple(case.name for case, world in _cases() if world["runs"] > 2),
            high=0.06,
        ),
        Promise(
            text="Runs counted, 2 runs of each side",
            method="runs counted",
            cases=tuple(case.name for case, world in _cases() if world["runs"] == 2),
            high=0.07,
        ),
        Promise(
            text="Trials taken as shared, 3 and more, whether they are or not",
            method="trials shared",
            cases=tuple(case.name for case, world in _cases() if world["runs"] > 2),
            high=0.07,
        ),
    ],
)
