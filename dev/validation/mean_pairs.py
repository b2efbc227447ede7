"""Two models on the same items with three trials each: how often the interval of their difference misses it."""

from functools import partial

import numpy as np

from dev.validation.mean_score import rates
from dev.validation.study import Case, Promise, Question, Tally, Task, of_intervals, simulated
from evalstats.stats.bootstrap import augmented_percentile, percentile_law
from evalstats.stats.paired.means import augmented_t, paired_t
from evalstats.stats.runs import RunSd, run_effects, run_spread, with_runs

NAME = "mean-pairs"
REPLICATES, PART = 10_000, 250
ITEMS = (20, 43, 100, 300)
# Baseline's and candidate's mean, spread of the rates of hard items, share of hard items (on others nothing fails).
WORLDS = (
    (".50 and .50", 0.5, 0.5),
    (".60 and .70", 0.6, 0.7),
    (".90 and .98", 0.9, 0.98),
    (".95 and .95", 0.95, 0.95),
    (".98 and .98", 0.98, 0.98),
)
TRIALS = 3
RUNS = "augmented t, runs counted"
HARD = 0.7
SPREAD = 0.3


def replicate(rng: np.random.Generator, count: int, *, items: int, p_a: float, p_b: float) -> dict[str, Tally]:
    """Tally every method on `count` data sets; seven items in ten have rates of their own, the same items for both."""
    drawn, rows, counted = [], [], []
    for _ in range(count):
        hard = rng.random(items) < HARD
        rate = [np.where(hard, rates(rng, p, SPREAD, items), p) for p in (p_a, p_b)]
        sides = [rng.random((items, TRIALS)) < p[:, np.newaxis] for p in rate]
        rows.append((sides[1] * 1.0 - sides[0]).ravel())
        drawn.append(sides[1].mean(axis=1) - sides[0].mean(axis=1))
        runs = run_spread(*(run_effects(side * 1.0) for side in sides), prior=RunSd(value=0.01))
        counted.append(with_runs(augmented_t(drawn[-1]), runs, low=-1.0, high=1.0))
    truth = p_b - p_a
    return {
        "augmented t": of_intervals([augmented_t(d) for d in drawn], truth),
        RUNS: of_intervals(counted, truth),
        "augmented percentile": of_intervals([augmented_percentile(d) for d in drawn], truth),
        "t on item means": of_intervals([paired_t(d) for d in drawn], truth),
        "bootstrap of item means": of_intervals([percentile_law(d) for d in drawn], truth),
        "t on all trials as items": of_intervals([paired_t(d) for d in rows], truth),
    }


def _cases() -> list[tuple[Case, dict]]:
    return [
        (
            Case(
                name=f"{n} items, {words}",
                group=words,
                design={"n_items": n, "n_trials": TRIALS, "p_baseline": p_a, "p_candidate": p_b},
            ),
            {"items": n, "p_a": p_a, "p_b": p_b},
        )
        for words, p_a, p_b in WORLDS
        for n in ITEMS
    ]


def tasks(share: float = 1.0) -> list[Task]:
    """Cut every case into parts."""
    return [
        task
        for case, world in _cases()
        for task in simulated(
            NAME, case.name, partial(replicate, **world), replicates=REPLICATES, part=PART, share=share
        )
    ]


QUESTION = Question(
    name=NAME,
    question="How often does the interval of a difference miss the truth, with three trials of every item?",
    design=(
        "Two models answer the same items three times each; their mean rates are those named. On seven items in ten each "
        "model has a success rate of its own (Beta), on the others its mean rate. Where a method gives no interval, the "
        "point is taken, as the usual programs print it. Trials that are whole runs are counted as runs, which may move "
        "all items alike: here they do not."
    ),
    measure="misses",
    nominal=0.05,
    methods={
        "augmented t": "ours",
        RUNS: "ours",
        "augmented percentile": "beside",
        "t on item means": "elsewhere",
        "bootstrap of item means": "elsewhere",
        "t on all trials as items": "elsewhere",
    },
    cases=[case for case, _ in _cases()],
    tasks=tasks,
    promises=[
        Promise(text="Augmented t, three trials", method="augmented t", high=0.056),
        Promise(text="Augmented t, three full runs", method=RUNS, high=0.05),
    ],
)
