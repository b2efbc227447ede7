"""Two systems on different users: how often the interval of their difference misses it, for answers, amounts and users' rows."""

from collections.abc import Callable
from functools import partial

import numpy as np

from dev.validation.study import Case, Promise, Question, Tally, Task, of_intervals, simulated
from evalstats.stats.estimate import IntervalEstimate, t_estimate
from evalstats.stats.unpaired import TwoProportions, clustered_difference, miettinen_nurminen, welch

NAME = "different-users"
REPLICATES, PART = 4_000, 250
OURS, NAIVE = "as compare answers", "independent rows of one spread (pooled t)"
# Rates of baseline and candidate.
RATES = ((0.5, 0.5), (0.6, 0.7), (0.95, 0.98), (0.02, 0.05))
SIZES = ((20, 20), (100, 100), (1_000, 300), (10_000, 10_000))
USERS = ((10, 10), (15, 40), (100, 100))

Drawn = tuple[list[IntervalEstimate], list[IntervalEstimate]]


def pooled(a: np.ndarray, b: np.ndarray) -> IntervalEstimate:
    """Return the difference as the usual programs print it: one spread of both sides, every row on its own."""
    n = a.size + b.size
    spread = ((a - a.mean()) ** 2).sum() + ((b - b.mean()) ** 2).sum()
    error = float(np.sqrt(spread / (n - 2) * (1 / a.size + 1 / b.size)))
    difference = float(b.mean() - a.mean())
    if error == 0.0:  # then they print the point
        return IntervalEstimate(estimate=difference, method="", conf_level=0.95, n=n, reason="no spread")
    return t_estimate(difference, error, n - 2, 0.95, method="", n=n)


def answers(rng: np.random.Generator, count: int, *, rates: tuple[float, float], sizes: tuple[int, int]) -> Drawn:
    """Draw right-or-wrong answers, one a user."""
    ours, naive = list[IntervalEstimate](), list[IntervalEstimate]()
    for _ in range(count):
        right = [int(rng.binomial(n, p)) for n, p in zip(sizes, rates, strict=True)]
        counts = TwoProportions(baseline=right[0], n_baseline=sizes[0], candidate=right[1], n_candidate=sizes[1])
        ours.append(miettinen_nurminen(counts))
        naive.append(pooled(*(np.repeat([1.0, 0.0], [k, n - k]) for k, n in zip(right, sizes, strict=True))))
    return ours, naive


def amounts(
    rng: np.random.Generator,
    count: int,
    *,
    draw: Callable[..., np.ndarray],
    spreads: tuple[float, float],
    sizes: tuple[int, int],
) -> Drawn:
    """Draw one amount a user, with a spread of each side's own."""
    ours, naive = list[IntervalEstimate](), list[IntervalEstimate]()
    for _ in range(count):
        a, b = (draw(rng, n, spread) for n, spread in zip(sizes, spreads, strict=True))
        ours.append(welch(a, b))
        naive.append(pooled(a, b))
    return ours, naive


def normal(rng: np.random.Generator, n: int, spread: float) -> np.ndarray:
    """Draw scores around 0."""
    return rng.normal(0.0, spread, n)


def cost(rng: np.random.Generator, n: int, spread: float) -> np.ndarray:
    """Draw costs with a long tail and a mean of 1."""
    return rng.lognormal(-(spread**2) / 2, spread, n)


def users(rng: np.random.Generator, count: int, *, sizes: tuple[int, int]) -> Drawn:
    """Draw 1 to 12 right-or-wrong rows a user, who has a rate of their own (Beta(1.5, 1.5))."""
    ours, naive = list[IntervalEstimate](), list[IntervalEstimate]()
    for _ in range(count):
        codes = [np.repeat(np.arange(n), rng.integers(1, 13, n)) for n in sizes]
        rows = [(rng.random(len(own)) < rng.beta(1.5, 1.5, n)[own]) * 1.0 for own, n in zip(codes, sizes, strict=True)]
        ours.append(clustered_difference(*rows, codes[0], sizes[0] + codes[1], low=-1.0, high=1.0))
        naive.append(pooled(*rows))
    return ours, naive


def replicate(
    rng: np.random.Generator, count: int, *, world: Callable[[np.random.Generator, int], Drawn], truth: float
) -> dict[str, Tally]:
    """Tally both methods on `count` pairs of samples."""
    ours, naive = world(rng, count)
    return {OURS: of_intervals(ours, truth), NAIVE: of_intervals(naive, truth)}


def _cases() -> list[tuple[Case, Callable[[np.random.Generator, int], Drawn], float]]:
    found: list[tuple[Case, Callable[[np.random.Generator, int], Drawn], float]] = []

    def add(group: str, sizes: tuple[int, int], world: Callable[..., Drawn], truth: float, **more: object) -> None:
        name = f"{group}, {sizes[0]:,} and {sizes[1]:,} users"
        design = {"n_baseline": sizes[0], "n_candidate": sizes[1]}
        found.append((Case(name=name, group=group, design=design), partial(world, sizes=sizes, **more), truth))

    for rates in RATES:
        for sizes in SIZES:
            add(f"right with {rates[0]:g} and {rates[1]:g}", sizes, answers, rates[1] - rates[0], rates=rates)
    for sizes in ((20, 60), (300, 100)):
        add("amounts, spread 3 and 1", sizes, amounts, 0.0, draw=normal, spreads=(3.0, 1.0))
    for sizes in ((100, 100), (1_000, 1_000)):
        add("costs with a long tail", sizes, amounts, 0.0, draw=cost, spreads=(1.0, 1.0))
    for sizes in USERS:
        add("1 to 12 rows a user", sizes, users, 0.0)
    return found


def tasks(share: float = 1.0) -> list[Task]:
    """Cut every case into parts."""
    return [
        task
        for case, world, truth in _cases()
        for task in simulated(
            NAME, case.name, partial(replicate, world=world, truth=truth), replicates=REPLICATES, part=PART, share=share
        )
    ]


QUESTION = Question(
    name=NAME,
    question="How often does the interval of a difference miss the truth, between different users?",
    design=(
        "Two systems answer users of their own. Right-or-wrong answers, one a user, with the rates named; amounts with a "
        "spread of each side's own; costs with a long tail (lognormal, spread 1); and 1 to 12 answers a user, each user with "
        "a rate of their own (Beta(1.5, 1.5)). Where the usual programs have no spread, they print the point."
    ),
    measure="misses",
    nominal=0.05,
    methods={OURS: "ours", NAIVE: "elsewhere"},
    cases=[case for case, _, _ in _cases()],
    tasks=tasks,
    promises=[Promise(text="Different users, every case", method=OURS, high=0.065)],
)
