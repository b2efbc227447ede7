"""One model's score on right/wrong items: how often the interval misses the true rate. Every outcome is enumerated."""

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np
from scipy import stats

from dev.validation.study import TOUCHING, Case, Promise, Question, Tally, Task
from evalstats.stats.bootstrap import percentile_law
from evalstats.stats.estimate import IntervalEstimate
from evalstats.stats.one_sample import beta_posterior, clopper_pearson, jeffreys, wilson

NAME = "one-score"
ITEMS = (20, 43, 100, 300, 1000)
RATES = (0.5, 0.9, 0.95, 0.99)
ALL_RATES = np.arange(500, 1000) / 1000  # .500, .501, ..., .999
AVERAGE = "average over p from .5 to 1"
WORST = "worst p from .5 to 1"


def wald(successes: int, n: int) -> tuple[float, float]:
    """Return p plus and minus 1.96 standard errors: the interval of most textbooks, and of most leaderboards."""
    p = successes / n
    reach = 1.959963984540054 * (p * (1 - p) / n) ** 0.5
    return p - reach, p + reach


def uniform(successes: int, n: int) -> IntervalEstimate:
    """Return the posterior interval under a uniform prior."""
    return beta_posterior(successes, n, a=1, b=1)


def bootstrap(successes: int, n: int) -> IntervalEstimate:
    """Return the percentile bootstrap interval of infinitely many resamples."""
    return percentile_law(np.repeat([1.0, 0.0], [successes, n - successes]))


Interval = Callable[[int, int], IntervalEstimate | tuple[float, float]]
INTERVALS: Mapping[str, Interval] = {
    "Wilson": wilson,
    "Clopper-Pearson": clopper_pearson,
    "Jeffreys": jeffreys,
    "Beta(1, 1) posterior": uniform,
    "percentile bootstrap": bootstrap,
    "Wald (± 1.96 standard errors)": wald,
}


def ends(interval: Interval, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return both ends for 0, 1, ..., n successes; where a method rightly refuses, the point that others print."""
    found: list[tuple[float, float]] = []
    for successes in range(n + 1):
        e = interval(successes, n)
        if isinstance(e, IntervalEstimate):
            e = (e.estimate, e.estimate) if e.conf_low is None or e.conf_high is None else (e.conf_low, e.conf_high)
        found.append(e)
    low, high = np.array(found).T
    return low, high


def misses(low: np.ndarray, high: np.ndarray, p: float) -> Tally:
    """Return the exact probability that the interval misses p, and its mean width."""
    n = low.size - 1
    weight = stats.binom.pmf(np.arange(n + 1), n, p)
    missed = (low > p + TOUCHING) | (high < p - TOUCHING)
    return Tally(float(weight @ missed), 1.0, float(weight @ (high - low)))


def case_name(n: int, p: float | str) -> str:
    """Name a case; `p` is a rate, or says which of all rates.

    Examples
    --------
    >>> case_name(43, 0.99)
    'n = 43, p = .99'
    """
    return f"n = {n}, {group_name(p)}"


def group_name(p: float | str) -> str:
    """Name the cases that share a rate."""
    return p if isinstance(p, str) else f"p = {p:g}".replace("0.", ".")


def enumerated(method: str, n: int) -> dict[tuple[str, str], Tally]:
    """Tally one method at one number of items, at every rate."""
    low, high = ends(INTERVALS[method], n)
    found = {(case_name(n, p), method): misses(low, high, p) for p in RATES}
    each = [misses(low, high, float(p)) for p in ALL_RATES]
    average = Tally(float(np.mean([t.errors for t in each])), 1.0, float(np.mean([t.width or 0.0 for t in each])))
    worst = max(each, key=lambda tally: tally.errors)
    return found | {(case_name(n, AVERAGE), method): average, (case_name(n, WORST), method): worst}


def tasks(_share: float = 1.0) -> list[Task]:
    """One task a method and number of items; nothing is drawn."""
    return [
        Task(study=NAME, cell=f"n = {n}, {method}", part=0, work=partial(enumerated, method, n))
        for n in ITEMS
        for method in INTERVALS
    ]


QUESTION = Question(
    name=NAME,
    question="How often does the interval of one score miss the truth?",
    design=(
        "One model answers n independent items, each right with probability p. All n + 1 outcomes are listed and weighed, "
        "so the rates are exact. The average and the worst are over p = .500, .501, ..., .999. Where the bootstrap gives no "
        "interval (all items right), the point is taken, as the usual programs print it."
    ),
    measure="misses",
    nominal=0.05,
    methods={
        "Wilson": "ours",
        "Clopper-Pearson": "beside",
        "Jeffreys": "beside",
        "Beta(1, 1) posterior": "beside",
        "percentile bootstrap": "elsewhere",
        "Wald (± 1.96 standard errors)": "elsewhere",
    },
    cases=[
        Case(name=case_name(n, p), group=group_name(p), design={"n": n} if isinstance(p, str) else {"n": n, "p": p})
        for p in (*RATES, AVERAGE, WORST)
        for n in ITEMS
    ],
    tasks=tasks,
    promises=[
        Promise(
            text="Wilson, averaged over p from .5 to 1",
            method="Wilson",
            cases=tuple(case_name(n, AVERAGE) for n in ITEMS),
            low=0.045,
            high=0.051,
        ),
        Promise(
            text="Wilson at p = .5, .9, .95 and .99",
            method="Wilson",
            cases=tuple(case_name(n, p) for p in RATES for n in ITEMS),
            high=0.08,
        ),
        Promise(text="Clopper-Pearson, everywhere", method="Clopper-Pearson", high=0.05),
    ],
    seeded=False,
)
