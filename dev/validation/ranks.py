"""Ten models on the same items: how often a rank set misses a rank, or a pair of equal models is called different."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from itertools import combinations

import numpy as np

from dev.validation.study import Case, Promise, Question, Tally, Task, of_claims, simulated
from evalstats.stats.clusters import cluster_mean
from evalstats.stats.many.pairwise import pairwise_differences
from evalstats.stats.many.ranks import RankSets, rank_sets, rank_sets_normal
from evalstats.stats.one_sample import wilson

NAME = "ranks"
PART = 40
DRAWS = 1_999  # sign-flip tests keep their level at any number of draws
TESTED = 8  # of every part, where all sign patterns of 15 clusters are listed: that takes its time
MODELS = 10
EQUAL = (0.0,) * MODELS
# On the logit scale: some apart, some equal.
SPREAD = (-0.6, -0.6, -0.2, -0.2, -0.2, 0.2, 0.2, 0.6, 0.6, 1.2)

OURS = "evalstats: rank sets"


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """Ten models, their skills, and the clusters of the items (None: independent items)."""

    skills: tuple[float, ...]
    n_items: int
    sizes: tuple[int, ...] | None
    tested: int = PART  # data sets of a part that go through the tests of all pairs
    favour: float = 0.8  # sd, on the logit scale, of what a cluster adds to one model

    def draw(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray | None]:
        """Return right/wrong scores, shape (n_items, 10), and clusters."""
        logit = rng.normal(0.4, 1.0, (self.n_items, 1)) + np.array(self.skills)
        clusters = None
        if self.sizes is not None:
            clusters = np.repeat(np.arange(len(self.sizes)), self.sizes)
            logit = logit + self.favour * rng.normal(size=(len(self.sizes), MODELS))[clusters]
        right = rng.random((self.n_items, MODELS)) < 1.0 / (1.0 + np.exp(-logit))
        return right * 1.0, clusters

    def ranks(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the best and the worst rank that each model may claim: equal models share theirs."""
        skills = np.array(self.skills)
        above = (skills[np.newaxis, :] > skills[:, np.newaxis]).sum(axis=1)
        below = (skills[np.newaxis, :] < skills[:, np.newaxis]).sum(axis=1)
        return 1 + above, MODELS - below

    def equals(self) -> np.ndarray:
        """Return which of all pairs (in the order of `combinations`) are of equal models."""
        return np.array([self.skills[i] == self.skills[j] for i, j in combinations(range(MODELS), 2)])


def replicate(rng: np.random.Generator, count: int, *, world: World) -> dict[str, Tally]:
    """Tally the data sets in which anything that is said of the ten models is wrong."""
    drawn = [world.draw(rng) for _ in range(count)]
    seeds = rng.integers(2**31, size=count)
    ours = [
        rank_sets(x, clusters=g, n_resamples=DRAWS, seed=int(s), marginal=False)
        for (x, g), s in zip(drawn, seeds, strict=True)
    ]
    found = {
        OURS: of_claims([_wrong(sets, world) for sets in ours]),
        "95% intervals that do not overlap": of_claims([_apart(x, g, world) for x, g in drawn]),
    }
    if world.sizes is not None:
        normal = [
            rank_sets_normal(x.mean(axis=0), _covariance(x, g), n_resamples=DRAWS, marginal=False) for x, g in drawn
        ]
        found["rank sets by a normal law"] = of_claims([_wrong(sets, world) for sets in normal])
        ignoring = [rank_sets(x, n_resamples=DRAWS, marginal=False) for x, _ in drawn]
        found["rank sets, clusters ignored"] = of_claims([_wrong(sets, world) for sets in ignoring])
    for adjust, name in (("max-t", "all pairs, max-T"), ("holm", "all pairs, Holm"), ("none", "all pairs, unadjusted")):
        tests = [
            pairwise_differences(x, clusters=g, bounds=(0.0, 1.0), binary=True, adjust=adjust, n_resamples=DRAWS)
            for x, g in drawn[: world.tested]
        ]
        found[name] = of_claims([bool((each.p_adjusted[world.equals()] <= 0.05).any()) for each in tests])
    return found


def _wrong(sets: RankSets, world: World) -> bool:
    best, worst = world.ranks()
    return bool((sets.low > best).any() or (sets.high < worst).any())


def _covariance(scores: np.ndarray, clusters: np.ndarray) -> np.ndarray:
    """Return the sandwich covariance of the mean scores over clusters."""
    residuals = scores - scores.mean(axis=0)
    sums = np.stack([np.bincount(clusters, weights=column) for column in residuals.T], axis=1)
    return sums.T @ sums / scores.shape[0] ** 2


def _apart(scores: np.ndarray, clusters: np.ndarray | None, world: World) -> bool:
    """Whether two models of equal skill, or in the wrong order, have intervals that do not overlap."""
    if clusters is None:
        each = [wilson(int(column.sum()), column.size) for column in scores.T]
    else:
        each = [cluster_mean(column, clusters).estimate for column in scores.T]
    ends = [(e.estimate, e.estimate) if e.conf_low is None else (e.conf_low, e.conf_high) for e in each]
    return any(
        ends[i][0] > ends[j][1] and world.skills[i] <= world.skills[j] for i in range(MODELS) for j in range(MODELS)
    )


# Items, their clusters, skills, data sets. With 15 clusters all 2^14 sign patterns are listed, which takes its time.
SIZES = {
    "15 clusters of 10 items": (10,) * 15,
    "15 uneven clusters": (14, 2, 2, 2) * 3 + (14, 2, 2),
    "40 clusters of 5 items": (5,) * 40,
    "200 independent items": None,
}
DESIGNS = (
    ("15 clusters of 10 items", "ten equal models", EQUAL, 4_000),
    ("15 uneven clusters", "ten equal models", EQUAL, 2_000),
    ("40 clusters of 5 items", "ten equal models", EQUAL, 4_000),
    ("200 independent items", "ten equal models", EQUAL, 2_000),
    ("40 clusters of 5 items", "models partly apart", SPREAD, 2_000),
    ("200 independent items", "models partly apart", SPREAD, 2_000),
)


def _world(size: str, skills: tuple[float, ...]) -> World:
    sizes = SIZES[size]
    tested = TESTED if sizes is not None and len(sizes) == len(SIZES["15 uneven clusters"] or ()) else PART
    return World(skills=skills, n_items=200 if sizes is None else sum(sizes), sizes=sizes, tested=tested)


def _numbers(world: World) -> Mapping[str, float]:
    clusters = {} if world.sizes is None else {"n_clusters": len(world.sizes)}
    return {"n_models": MODELS, "n_items": world.n_items} | clusters


WORLDS = tuple(
    (f"{size}, {words}", words, _world(size, skills), replicates) for size, words, skills, replicates in DESIGNS
)


def tasks(share: float = 1.0) -> list[Task]:
    """Cut every case into parts."""
    return [
        task
        for name, _, world, replicates in WORLDS
        for task in simulated(
            NAME, name, partial(replicate, world=world), replicates=replicates, part=PART, share=share
        )
    ]


def _cases(*, clustered: bool) -> tuple[str, ...]:
    return tuple(name for name, _, world, _ in WORLDS if (world.sizes is not None) == clustered)


QUESTION = Question(
    name=NAME,
    question="How often is anything wrong in the ranks of ten models?",
    design=(
        "Ten models answer the same items once. All have the same skill, or some are apart and some equal. Where items are "
        "clustered, each cluster adds to each model a random amount (normal, sd 0.8 on the logit scale). An error is one "
        "rank set that leaves out a rank the model may claim, or one pair of equal models that is called different."
    ),
    measure="false claims",
    nominal=0.05,
    methods={
        OURS: "ours",
        "all pairs, max-T": "beside",
        "all pairs, Holm": "beside",
        "rank sets by a normal law": "elsewhere",
        "rank sets, clusters ignored": "elsewhere",
        "95% intervals that do not overlap": "elsewhere",
        "all pairs, unadjusted": "elsewhere",
    },
    cases=[Case(name=name, group=group, design=_numbers(world)) for name, group, world, _ in WORLDS],
    tasks=tasks,
    promises=[
        Promise(
            text="Rank sets of ten models, clusters",
            method=OURS,
            cases=_cases(clustered=True),
            high=0.06,
        ),
        Promise(
            text="Rank sets of ten models, 200 items",
            method=OURS,
            cases=_cases(clustered=False),
            high=0.07,
        ),
        Promise(
            text="All 45 pairs, max-T, 40 clusters or 200 items",
            method="all pairs, max-T",
            cases=tuple(name for name, _, world, _ in WORLDS if world.tested == PART),
            high=0.07,
        ),
    ],
)
