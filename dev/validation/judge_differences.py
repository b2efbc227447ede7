"""Two models compared by a judge that favours one, corrected by people's labels: how often intervals miss the difference."""

from collections.abc import Mapping
from functools import partial

import numpy as np

from dev.validation.judge_world import JudgeWorld, corrected_intervals
from dev.validation.study import Case, Promise, Question, Tallies, Tally, Task, of_claims, of_intervals, simulated
from evalstats.stats.estimate import IntervalEstimate

NAME = "judge-differences"
REPLICATES, PART = 2_000, 100

CORRECTED = "prediction-powered difference"
BY_RATES = "Rogan-Gladen on each side"
LABELS = "labels alone"
JUDGE = "the judge alone"
_NAMES = {"corrected": CORRECTED, "error rates": BY_RATES, "labels alone": LABELS, "judge alone": JUDGE}
_REFUSED = "no interval given: "

FAVOURED = {"sensitivity": (0.85, 0.95), "false_yes": (0.1, 0.25)}
WORLDS: Mapping[str, JudgeWorld] = {
    **{
        f"{n} labels, {words}": JudgeWorld(n_items=1_000, n_labels=n, **options)
        for words, options in {
            "both right in 60%": {"rates": (0.6, 0.6), **FAVOURED},
            "right in 85% and 90%": {"rates": (0.85, 0.9), **FAVOURED},
            "grades 1 to 10": {"graded": True, "leaning": 0.6},
        }.items()
        for n in (20, 50, 100, 200)
    },
    **{
        f"{n} labels in {clusters} clusters, {words}": JudgeWorld(
            n_items=20 * clusters, n_labels=n, n_clusters=clusters, **options
        )
        for words, options in {
            "both right in 60%": {"rates": (0.6, 0.6), **FAVOURED},
            "grades 1 to 10": {"graded": True, "leaning": 0.6},
        }.items()
        for n, clusters in ((50, 10), (100, 20), (200, 40))
    },
}


def replicate(rng: np.random.Generator, count: int, *, world: JudgeWorld) -> dict[str, Tally]:
    """Tally every method on `count` data sets; one that gives no interval claims nothing, and is counted apart."""
    given: dict[str, list[IntervalEstimate]] = {}
    refused: dict[str, list[bool]] = {}
    for _ in range(count):
        for key, estimate in corrected_intervals(world, rng).items():
            name = _NAMES[key]
            refused.setdefault(name, []).append(estimate.conf_low is None)
            if estimate.conf_low is not None:
                given.setdefault(name, []).append(estimate)
    return {name: of_intervals(estimates, world.truth) for name, estimates in given.items()} | {
        f"{_REFUSED}{name}": of_claims(each) for name, each in refused.items()
    }


def _case(name: str, world: JudgeWorld) -> Case:
    clusters = {"n_clusters": world.n_clusters} if world.n_clusters else {}
    group = name.partition(", ")[2] + (", clusters" if clusters else "")
    return Case(name=name, group=group, design={"n_labels": world.n_labels, **clusters, "truth": round(world.truth, 9)})


def tasks(share: float = 1.0) -> list[Task]:
    """Cut every case into parts."""
    return [
        task
        for name, world in WORLDS.items()
        for task in simulated(
            NAME, name, partial(replicate, world=world), replicates=REPLICATES, part=PART, share=share
        )
    ]


def notes(tallies: Tallies) -> list[str]:
    """Say of each of our methods where it gives no interval."""
    told: list[str] = []
    for method in (CORRECTED, BY_RATES):
        most = {
            case: tally.errors / tally.total
            for (case, name), tally in tallies.items()
            if name == f"{_REFUSED}{method}" and tally.errors
        }
        if most:
            worst = max(most, key=lambda case: most[case])
            told.append(f"{method}: no interval in {100 * most[worst]:.1f}% of data sets at most ({worst}).")
    return told


QUESTION = Question(
    name=NAME,
    question="How often does a difference by a judge that favours one model, corrected by labels, miss the truth?",
    design=(
        "Two models on the same items, hard and easy ones for both; the judge scores all, and errs to the good of the candidate. "
        "20 to 200 items drawn at random have people's labels for both models. Scores are right or wrong, or from 1 to 10; "
        "clusters share difficulty and the judge's errors. These are the intervals of compare with labels."
    ),
    measure="misses",
    nominal=0.05,
    methods={CORRECTED: "ours", BY_RATES: "beside", LABELS: "beside", JUDGE: "elsewhere"},
    cases=[_case(name, world) for name, world in WORLDS.items()],
    tasks=tasks,
    promises=[
        Promise(
            text="Corrected difference, no clusters",
            method=CORRECTED,
            cases=tuple(name for name, world in WORLDS.items() if not world.n_clusters),
            high=0.07,
        ),
        Promise(
            text="Corrected difference, clusters",
            method=CORRECTED,
            cases=tuple(name for name, world in WORLDS.items() if world.n_clusters),
            high=0.075,
        ),
    ],
    notes=notes,
)
