"""A judge corrected by labels drawn at random, by the judge's score or where sides disagree: how often intervals miss."""

from collections.abc import Mapping
from functools import partial
from itertools import product
from typing import Any, Literal, get_args

import numpy as np
from scipy.special import ndtr

from dev.validation.judge_differences import FAVOURED
from dev.validation.judge_world import JudgeWorld
from dev.validation.study import Case, Promise, Question, Tally, Task, of_intervals, simulated
from evalstats.analysis.design.labels import corrected_score
from evalstats.stats.estimate import IntervalEstimate
from evalstats.stats.raters.correction import judged_pair, powered_difference
from evalstats.stats.raters.label_sample import draw_sample, label_strata, neyman_allocation
from evalstats.table.metric import MetricFacts

NAME = "label-samples"
REPLICATES, PART = 2_000, 100

SCORE = "corrected score"
DIFFERENCE = "corrected difference"
LABELS = "labels alone, difference"
BELIEVED = "difference, chances not told"

How = Literal["random", "stratified", "disagreement"]
# Items and labels: 2 to 30% of 100 to 10,000.
SIZES = ((100, 30), (400, 40), (1_000, 20), (1_000, 100), (1_000, 300), (10_000, 200))
WORLDS: Mapping[str, dict[str, Any]] = {
    "both right in 60%": {"rates": (0.6, 0.6), **FAVOURED},
    "grades 1 to 10": {"graded": True, "leaning": 0.6},
}
CASES: Mapping[str, tuple[JudgeWorld, int, How]] = {
    f"{labels:,} of {items:,} labelled ({how}), {words}": (
        JudgeWorld(n_items=items, n_labels=items, **options),
        labels,
        how,
    )
    for (words, options), how, (items, labels) in product(WORLDS.items(), get_args(How), SIZES)
}


def true_score(world: JudgeWorld) -> float:
    """Return the candidate's mean as people have it: its rate, or the mean of a rounded and cut normal grade."""
    if not world.graded:
        return world.rates[1]
    edges = ndtr((np.arange(1.5, 10.0) - 6.0) / 1.6)
    return float(np.arange(1, 11) @ np.diff(np.r_[0.0, edges, 1.0]))


def replicate(rng: np.random.Generator, count: int, *, world: JudgeWorld, n: int, how: How) -> dict[str, Tally]:
    """Tally every interval on `count` data sets."""
    metric = MetricFacts(benchmark="", name="score", kind="binary", low=0.0, high=1.0, higher_is_better=True, unit="")
    if world.graded:
        metric = MetricFacts(
            benchmark="", name="score", kind="ordinal", low=1.0, high=10.0, higher_is_better=True, unit=""
        )
    given: dict[str, list[IntervalEstimate]] = {SCORE: [], DIFFERENCE: [], LABELS: [], BELIEVED: []}
    for _ in range(count):
        drawn = world.draw(rng)
        codes, spreads = label_strata(drawn.judged, how)
        places, chances = draw_sample(codes, neyman_allocation(np.bincount(codes), spreads, n), rng)
        people, known = np.full(drawn.judged.shape, np.nan), np.full(len(drawn.judged), np.nan)
        people[places], known[places] = drawn.labels[places], chances
        weighed = None if how == "random" else known
        score = corrected_score(drawn.judged[:, 1], people[:, 1], weighed, None, metric, conf_level=0.95)
        difference = powered_difference(judged_pair(drawn.judged, people, probabilities=weighed))
        given[SCORE].append(score.estimate)
        given[DIFFERENCE].append(difference.estimate)
        given[LABELS].append(difference.labels_only)
        given[BELIEVED].append(powered_difference(judged_pair(drawn.judged, people)).estimate)
    truths = {SCORE: true_score(world)}
    return {name: of_intervals(estimates, truths.get(name, world.truth)) for name, estimates in given.items()}


def _case(name: str, world: JudgeWorld, n: int) -> Case:
    group = name.partition("(")[2].replace(")", "")
    design = {"n_items": world.n_items, "n_labels": n, "truth": round(world.truth, 9)}
    return Case(name=name, group=group, design=design)


def tasks(share: float = 1.0) -> list[Task]:
    """Cut every case into parts."""
    return [
        task
        for name, (world, n, how) in CASES.items()
        for task in simulated(
            NAME, name, partial(replicate, world=world, n=n, how=how), replicates=REPLICATES, part=PART, share=share
        )
    ]


QUESTION = Question(
    name=NAME,
    question="How often do corrected scores and differences miss the truth, however the labelled items were drawn?",
    design=(
        "Two models on the same items; a judge that errs to the good of the candidate scores all. People label 2 to 30% of 100 "
        "to 10,000 items: drawn at random, by strata of the judge's score with Neyman's allocation, or half of them where the "
        "judge's scores of the two differ. These are the draws of label draw and the intervals of score and compare with labels; "
        "beside them the difference that takes items drawn with unlike chances for a random part."
    ),
    measure="misses",
    nominal=0.05,
    methods={SCORE: "ours", DIFFERENCE: "ours", LABELS: "beside", BELIEVED: "elsewhere"},
    cases=[_case(name, world, n) for name, (world, n, _) in CASES.items()],
    tasks=tasks,
    promises=[
        Promise(text="Corrected scores, however drawn", method=SCORE, high=0.075),
        Promise(text="Corrected differences, however drawn", method=DIFFERENCE, high=0.075),
    ],
)
