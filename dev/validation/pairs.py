"""Two models on the same right/wrong items: how often the interval of their difference misses it. Tables are enumerated."""

import math
from collections.abc import Callable, Mapping
from functools import cache, partial

import numpy as np
from scipy import stats

from dev.validation.study import TOUCHING, Case, Promise, Question, Tally, Task
from evalstats.stats.bootstrap import augmented_percentile, bca_law, percentile_law
from evalstats.stats.estimate import IntervalEstimate
from evalstats.stats.paired.binary import PairedCounts, bonett_price, newcombe, tango
from evalstats.stats.paired.means import paired_t

NAME = "pairs"
ITEMS = (20, 43, 100, 300)
# Name, baseline's rate, candidate's rate, correlation of the two (as near as the rates allow).
WORLDS = (
    (".50 and .50", 0.5, 0.5, 0.0),
    (".50 and .50", 0.5, 0.5, 0.5),
    (".45 and .60", 0.45, 0.6, 0.0),
    (".45 and .60", 0.45, 0.6, 0.5),
    (".95 and .95", 0.95, 0.95, 0.0),
    (".95 and .95", 0.95, 0.95, 0.5),
    (".90 and .98", 0.9, 0.98, 0.0),
    (".90 and .98", 0.9, 0.98, 0.5),
    (".51 and .99", 0.51, 0.99, 0.0),
    (".51 and .99", 0.51, 0.99, 0.5),
)
WORST = "worst of many worlds"
# Shares of items that only the candidate, or only the baseline, gets right: the worst is looked for among their pairs.
SHARES = (0.0, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5)
_MOST_SHARED = 0.95  # of the largest correlation that the two rates allow
_NEGLIGIBLE = 1e-11  # a table less likely than this is left out; all of them together weigh less than 1e-6


def differences(counts: PairedCounts) -> np.ndarray:
    """Return the differences of the items: 1, -1, 0."""
    return np.repeat([1.0, -1.0, 0.0], [counts.only_candidate, counts.only_baseline, counts.n - counts.discordant])


def wald(counts: PairedCounts) -> tuple[float, float]:
    """Return the difference plus and minus 1.96 standard errors (divisor n)."""
    d = counts.estimate
    reach = 1.959963984540054 * math.sqrt((counts.discordant / counts.n - d**2) / counts.n)
    return d - reach, d + reach


Interval = Callable[[PairedCounts], IntervalEstimate | tuple[float, float]]
INTERVALS: Mapping[str, Interval] = {
    "Tango score": tango,
    "Newcombe": newcombe,
    "Bonett-Price": bonett_price,
    "augmented percentile": lambda counts: augmented_percentile(differences(counts)),
    "t": lambda counts: paired_t(differences(counts)),
    "percentile bootstrap": lambda counts: percentile_law(differences(counts)),
    "BCa bootstrap": lambda counts: bca_law(differences(counts)),
    "Wald (± 1.96 standard errors)": wald,
}
# Other methods ask only how many items each model alone gets right.
FOUR_CELLS = ("Newcombe",)


def correlation(p_a: float, p_b: float, wanted: float) -> float:
    """Return the correlation of two right/wrong answers, held below 95% of the largest that the rates allow.

    Examples
    --------
    >>> round(correlation(0.9, 0.98, 0.5), 4)
    0.4071
    """
    low, high = sorted((p_a, p_b))
    most = math.sqrt(low * (1 - high) / (high * (1 - low)))
    return min(wanted, _MOST_SHARED * most)


def cells(p_a: float, p_b: float, wanted: float) -> tuple[float, float, float, float]:
    """Return the probabilities of both right, only candidate, only baseline, neither."""
    rho = correlation(p_a, p_b, wanted)
    both = p_a * p_b + rho * math.sqrt(p_a * (1 - p_a) * p_b * (1 - p_b))
    return both, p_b - both, p_a - both, 1 - p_a - p_b + both


@cache
def ends(method: str, both: int, b: int, c: int, neither: int) -> tuple[float, float]:
    """Return the interval of a table; where a method rightly refuses, the point that others print."""
    found = INTERVALS[method](PairedCounts(both, b, c, neither))
    if not isinstance(found, IntervalEstimate):
        return found
    if found.conf_low is None or found.conf_high is None:
        return found.estimate, found.estimate
    return found.conf_low, found.conf_high


def tables(n: int, p: tuple[float, float, float, float], *, four: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return the likely tables (both, b, c, neither) and their probabilities; without `four`, with neither = 0."""
    b, c = np.meshgrid(np.arange(n + 1), np.arange(n + 1), indexing="ij")
    keep = b + c <= n
    b, c = b[keep], c[keep]
    agree = p[0] + p[3]
    weight = stats.multinomial.pmf(np.stack([b, c, n - b - c], axis=1), n, [p[1], p[2], agree])
    likely = weight > _NEGLIGIBLE
    b, c, weight = b[likely], c[likely], weight[likely]
    if not four:
        return np.stack([n - b - c, b, c, np.zeros_like(b)], axis=1), weight
    found, weights = [], []
    for b_now, c_now, w in zip(b.tolist(), c.tolist(), weight.tolist(), strict=True):
        both = np.arange(n - b_now - c_now + 1)
        split = w * stats.binom.pmf(both, both[-1], p[0] / agree)
        kept = split > _NEGLIGIBLE
        found.append(
            np.stack([both, np.full_like(both, b_now), np.full_like(both, c_now), both[-1] - both], axis=1)[kept]
        )
        weights.append(split[kept])
    return np.concatenate(found), np.concatenate(weights)


def misses(method: str, n: int, p: tuple[float, float, float, float]) -> Tally:
    """Return the probability that the interval misses the true difference, and its mean width."""
    truth = p[1] - p[2]
    rows, weight = tables(n, p, four=method in FOUR_CELLS)
    low, high = np.array([ends(method, *row) for row in rows.tolist()]).T
    missed = (low > truth + TOUCHING) | (high < truth - TOUCHING)
    return Tally(float(weight @ missed), 1.0, float(weight @ (high - low)))


def worst(method: str, n: int) -> Tally:
    """Return the tally of the world, among many, in which the interval misses most."""
    each = [
        misses(method, n, (1 - p10 - p01, p10, p01, 0.0))
        for p10 in SHARES
        for p01 in SHARES
        if p01 <= p10 and 0 < p10 + p01 < 1
    ]
    return max(each, key=lambda tally: tally.errors)


def case_name(n: int, world: tuple[str, float, float, float] | str) -> str:
    """Name a case.

    Examples
    --------
    >>> case_name(43, WORLDS[3])
    'n = 43, .45 and .60, shared'
    """
    return f"n = {n}, {group_name(world)}"


def group_name(world: tuple[str, float, float, float] | str) -> str:
    """Name the cases that differ only in the number of items; "shared" where items are easy or hard for both models."""
    if isinstance(world, str):
        return world
    return f"{world[0]}, {'shared' if world[3] else 'independent'}"


def enumerated(method: str, n: int) -> dict[tuple[str, str], Tally]:
    """Tally one method at one number of items, in every world."""
    found = {(case_name(n, world), method): misses(method, n, cells(*world[1:])) for world in WORLDS}
    if method not in FOUR_CELLS:
        found[case_name(n, WORST), method] = worst(method, n)
    ends.cache_clear()
    return found


def tasks(_share: float = 1.0) -> list[Task]:
    """One task a method and number of items; nothing is drawn."""
    return [
        Task(study=NAME, cell=f"n = {n}, {method}", part=0, work=partial(enumerated, method, n))
        for n in reversed(ITEMS)
        for method in INTERVALS
    ]


NAMED = tuple(case_name(n, world) for world in WORLDS for n in ITEMS)
QUESTION = Question(
    name=NAME,
    question="How often does the interval of a difference between two models miss the truth?",
    design=(
        "Two models answer the same n independent items once. Their rates are those named; answers are independent, or "
        "items are easy or hard for both (correlation .5, or as much as the rates allow). All tables are listed and "
        "weighed, so the rates are exact. The worst world is looked for among 76 pairs of shares of items that one model alone "
        "gets right. Where a method gives no interval (no two differences differ), the point is "
        "taken, as the usual programs print it."
    ),
    measure="misses",
    nominal=0.05,
    methods={
        "Tango score": "ours",
        "Newcombe": "beside",
        "Bonett-Price": "beside",
        "augmented percentile": "beside",
        "t": "elsewhere",
        "percentile bootstrap": "elsewhere",
        "BCa bootstrap": "elsewhere",
        "Wald (± 1.96 standard errors)": "elsewhere",
    },
    cases=[
        Case(
            name=case_name(n, world),
            group=group_name(world),
            design={"n": n, "p_baseline": world[1], "p_candidate": world[2], "correlation": round(rho, 4)},
        )
        for world in WORLDS
        for rho in [correlation(*world[1:])]
        for n in ITEMS
    ]
    + [Case(name=case_name(n, WORST), group=WORST, design={"n": n}) for n in ITEMS],
    tasks=tasks,
    promises=[
        Promise(text=f"{words}, ten worlds", method=method, cases=NAMED, high=0.057)
        for words, method in (
            ("Tango", "Tango score"),
            ("Newcombe", "Newcombe"),
            ("Bonett-Price", "Bonett-Price"),
            ("Augmented percentile", "augmented percentile"),
        )
    ],
    seeded=False,
)
