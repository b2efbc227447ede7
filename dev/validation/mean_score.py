"""One model's mean score from trials, grades or clusters: how often the interval misses it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from dev.validation.study import Case, Promise, Question, Tally, Task, of_intervals, simulated
from evalstats.stats.bootstrap import percentile_law
from evalstats.stats.clusters import cluster_mean
from evalstats.stats.one_sample import mean_t, variance_matched_wilson, wilson

NAME = "mean-score"
REPLICATES, PART = 10_000, 250
BOOTSTRAPPED = 25  # of every part: the law of the cluster bootstrap is slow where clusters differ in size
ITEMS = (20, 43, 100, 300)
CLUSTERS = (5, 12, 40)

OURS = "variance-matched Wilson"


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """Item means, the right/wrong outcomes behind them (None for grades), and clusters."""

    means: np.ndarray
    outcomes: np.ndarray | None = None
    clusters: np.ndarray | None = None


def rates(rng: np.random.Generator, mean: float, spread: float, size: int) -> np.ndarray:
    """Draw success rates with this mean; `spread` near 0 makes them alike, near 1 all or nothing."""
    strength = 1 / spread - 1
    return rng.beta(mean * strength, (1 - mean) * strength, size)


def trials(rng: np.random.Generator, *, items: int, mean: float, spread: float) -> Drawn:
    """Three trials of each item."""
    outcomes = rng.random((items, 3)) < rates(rng, mean, spread, items)[:, np.newaxis]
    return Drawn(means=outcomes.mean(axis=1), outcomes=outcomes)


def grades(rng: np.random.Generator, *, items: int) -> Drawn:
    """Nine items in ten have the full score, the others a grade that is near 0 or near 1."""
    return Drawn(means=np.where(rng.random(items) < 0.9, 1.0, rng.beta(0.5, 0.5, items)))


def clustered(rng: np.random.Generator, *, n_clusters: int, mean: float) -> Drawn:
    """Right/wrong items in clusters of 28 and 4; rates differ much between clusters (ICC .7)."""
    sizes = np.where(np.arange(n_clusters) % 4 == 0, 28, 4)
    clusters = np.repeat(np.arange(n_clusters), sizes)
    right = rng.random(clusters.size) < rates(rng, mean, 0.7, n_clusters)[clusters]
    return Drawn(means=right * 1.0, outcomes=right[:, np.newaxis], clusters=clusters)


Draw = Callable[[np.random.Generator], Drawn]


def replicate(rng: np.random.Generator, count: int, *, draw: Draw, truth: float) -> dict[str, Tally]:
    """Tally every method on `count` data sets."""
    drawn = [draw(rng) for _ in range(count)]
    if drawn[0].clusters is not None:
        few = drawn[:BOOTSTRAPPED]
        return {
            OURS: of_intervals([_ours(one) for one in drawn], truth),
            "CR2, Satterthwaite t": of_intervals(
                [cluster_mean(one.means, one.clusters).estimate for one in drawn], truth
            ),
            "Wilson on items": of_intervals([_pooled(one) for one in drawn], truth),
            "bootstrap of clusters": of_intervals(
                [percentile_law(one.means, clusters=one.clusters) for one in few], truth
            ),
        }
    found = {
        OURS: of_intervals([_ours(one) for one in drawn], truth),
        "t on item means": of_intervals([mean_t(one.means) for one in drawn], truth),
        "bootstrap of item means": of_intervals([percentile_law(one.means) for one in drawn], truth),
    }
    if drawn[0].outcomes is not None:
        found["Wilson on all trials"] = of_intervals([_pooled(one) for one in drawn], truth)
    return found


def _ours(drawn: Drawn):
    n_rows = None if drawn.outcomes is None else drawn.outcomes.size
    return variance_matched_wilson(drawn.means, clusters=drawn.clusters, n_rows=n_rows)


def _pooled(drawn: Drawn):
    return wilson(int(drawn.outcomes.sum()), drawn.outcomes.size)


# Name, group, how to draw, true mean, numbers of the design.
WORLDS: tuple[tuple[str, str, Draw, float, Mapping[str, float]], ...] = (
    *(
        (
            f"{n} items, {words}",
            words,
            partial(trials, items=n, mean=mean, spread=spread),
            mean,
            {"n_items": n, "n_trials": 3, "mean": mean, "spread": spread},
        )
        for mean, spread in ((0.7, 0.5), (0.95, 0.5), (0.988, 0.5))
        for words in (f"3 trials, mean {mean:g}".replace("0.", "."),)
        for n in ITEMS
    ),
    *(
        (
            f"{n} items, graded, 90% at the top",
            "graded, 90% at the top",
            partial(grades, items=n),
            0.95,
            {"n_items": n, "mean": 0.95},
        )
        for n in ITEMS
    ),
    *(
        (
            f"{n} {words}",
            words,
            partial(clustered, n_clusters=n, mean=mean),
            mean,
            {"n_clusters": n, "mean": mean, "spread": 0.7},
        )
        for mean in (0.6, 0.9, 0.97)
        for words in (f"uneven clusters (7:1), mean {mean:g}".replace("0.", "."),)
        for n in CLUSTERS
    ),
)


def tasks(share: float = 1.0) -> list[Task]:
    """Cut every case into parts."""
    return [
        task
        for name, _, draw, truth, _ in WORLDS
        for task in simulated(
            NAME, name, partial(replicate, draw=draw, truth=truth), replicates=REPLICATES, part=PART, share=share
        )
    ]


QUESTION = Question(
    name=NAME,
    question="How often does the interval of a mean score miss the truth, with trials, grades or clusters?",
    design=(
        "Three trials of every item, whose success rates differ (Beta); or grades from 0 to 1 of which nine in ten are 1; or "
        "right/wrong items in clusters, 28 items in one cluster of four and 4 in the others, whose rates differ much "
        "(ICC .7). Where a method gives no interval, the point is taken, as the usual programs print it."
    ),
    measure="misses",
    nominal=0.05,
    methods={
        OURS: "ours",
        "CR2, Satterthwaite t": "beside",
        "t on item means": "elsewhere",
        "bootstrap of item means": "elsewhere",
        "Wilson on all trials": "elsewhere",
        "Wilson on items": "elsewhere",
        "bootstrap of clusters": "elsewhere",
    },
    cases=[Case(name=name, group=group, design=design) for name, group, _, _, design in WORLDS],
    tasks=tasks,
    promises=[
        Promise(
            text="Variance-matched Wilson, trials and grades",
            method=OURS,
            cases=tuple(name for name, *_ in WORLDS if "clusters" not in name),
            high=0.065,
        ),
        Promise(
            text="Variance-matched Wilson, uneven clusters",
            method=OURS,
            cases=tuple(name for name, *_ in WORLDS if "clusters" in name),
            high=0.075,
        ),
    ],
)
