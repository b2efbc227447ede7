"""pass^k of more trials than were run: how often the interval misses the truth, where rates follow the law and where not.

An interval of values that laws reach within a drop of log-likelihood holds the truth where one of the laws with that value lies
within the drop. So coverage needs no ends of intervals: of the beta-binomial law it is a product of counts and log-chances
along the curve of laws that have the true pass^k, for all tables at once. On the first tables of every part the check and the
intervals themselves are made.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache, partial

import numpy as np
from scipy import interpolate, special, stats

from dev.validation.study import Case, Promise, Question, Tallies, Tally, Task, of_claims, of_worlds
from evalstats.stats.beta_binomial import BetaBinomial, any_law_intervals

NAME = "beyond-trials"
REPLICATES, PART = 2_000, 500
MADE = 5  # tables of a part of which check and intervals are made and compared with the rule
SETTLED = 0.05
CUT = 0.5 * 1.959963984540054**2
LACK_OF_FIT = 0.05

OURS, LAW, SHARES = "evalstats: hull of both intervals", "beta-binomial interval alone", "t on (right/trials)^k"
REFUSED, AGREE = "refused by the check", "made and alike"

Rates = Callable[[np.random.Generator, int], np.ndarray]


def beta(rng: np.random.Generator, n: int, *, a: float, b: float) -> np.ndarray:
    """Draw rates of the law that is fitted."""
    return rng.beta(a, b, n)


def logit_normal(rng: np.random.Generator, n: int) -> np.ndarray:
    """Draw rates that differ by a normal law in log-odds."""
    return special.expit(rng.normal(1.0, 1.5, n))


def two(rng: np.random.Generator, n: int, *, rates: tuple[float, float], share: float) -> np.ndarray:
    """Draw one of two rates: the first with this probability."""
    return np.where(rng.random(n) < share, *rates)


LAWS: Mapping[str, Rates] = {
    "Beta(2, 1)": partial(beta, a=2.0, b=1.0),
    "Beta(.5, .25)": partial(beta, a=0.5, b=0.25),
    "Beta(8, 1)": partial(beta, a=8.0, b=1.0),
    "logit-normal(1, 1.5)": logit_normal,
    "half at .3, half at .95": partial(two, rates=(0.3, 0.95), share=0.5),
    "30% sure, 70% at .6": partial(two, rates=(1.0, 0.6), share=0.3),
}
TWO_RATES = ("half at .3, half at .95", "30% sure, 70% at .6")
FOLLOW = ("Beta(2, 1)", "Beta(.5, .25)", "Beta(8, 1)")


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """A law of rates, items, trials, and the k that is asked for."""

    law: str
    n_items: int
    n_trials: int
    k: int

    @property
    def name(self) -> str:
        """How the case is called."""
        return f"{self.n_items} items, {self.n_trials} trials, pass^{self.k}, {self.law}"


SHAPES = ((30, 4, 2), (30, 8, 2), (100, 4, 2))
# Of 300 items of two rates the check refuses nearly all tables.
MANY = ((300, 4, 2), (100, 4, 4))
WORLDS = tuple(
    World(law=law, n_items=items, n_trials=trials, k=times * trials)
    for law in LAWS
    for items, trials, times in (SHAPES if law in TWO_RATES else SHAPES + MANY)
)


@cache
def rates_of(law: str) -> np.ndarray:
    """Return many rates of a law, for its true values."""
    return LAWS[law](np.random.default_rng(1), 1_000_000)


def log_chances(n: int, mean: np.ndarray, correlation: np.ndarray) -> np.ndarray:
    """Return the log of the chance of one series with c successes of n, shape (n_laws, n + 1)."""
    j, m, r = np.arange(n), mean[:, np.newaxis], correlation[:, np.newaxis]
    right, wrong = np.log(m * (1 - r) + j * r), np.log((1 - m) * (1 - r) + j * r)
    start = np.zeros((len(mean), 1))
    up, down = (np.hstack([start, np.cumsum(each, axis=1)]) for each in (right, wrong))
    return up + down[:, ::-1] - np.log(1 - r + j * r).sum(axis=1, keepdims=True)


def best_laws(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the logits of mean and correlation that fit best, shape (n_tables, 2), and their log-likelihood.

    The best place of a grid, then of nine about it, whose distance is halved where the middle one is best.
    """
    n = counts.shape[1] - 1
    first = np.stack([each.ravel() for each in np.meshgrid(np.arange(-4, 6, 0.2), np.arange(-12, 8, 0.25))], axis=1)
    at = first[np.argmax(log_chances(n, *special.expit(first.T)) @ counts.T, axis=0)]
    steps = np.stack([each.ravel() for each in np.meshgrid([0.0, -1.0, 1.0], [0.0, -1.0, 1.0])], axis=1)
    reach = np.tile([0.2, 0.25], (len(counts), 1))
    value = np.empty(len(counts))
    for _ in range(40):
        near = at[:, np.newaxis] + reach[:, np.newaxis] * steps
        logs = log_chances(n, *special.expit(near.reshape(-1, 2).T)).reshape(len(counts), len(steps), -1)
        values = np.einsum("tsc,tc->ts", logs, counts)
        best = values.argmax(axis=1)
        at, value = near[np.arange(len(counts)), best], values.max(axis=1)
        reach[best == 0] /= 2.0
        if reach.max() < 1e-3:
            break
    return at, value


def lack_of_fit(counts: np.ndarray, value: np.ndarray, n: int) -> np.ndarray:
    """Return the log-likelihood that any law of counts has above the fitted one, as the check of the law takes it."""
    free = special.xlogy(counts, counts / counts.sum(axis=1, keepdims=True)).sum(axis=1)
    return free - value - counts @ np.log(special.comb(n, np.arange(n + 1)))


def critical(n: int, n_items: int, at: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return the lack of fit above which 5% of draws of each law lie: from a grid of nine laws, interpolated."""
    ends = [np.quantile(at[:, axis], [0.02, 0.5, 0.98]) for axis in (0, 1)]
    ends[1] = np.maximum(ends[1], -6.0 + np.arange(3))  # below this a law is binomial
    found = np.empty((3, 3))
    for i, j in np.ndindex(3, 3):
        law = special.expit([ends[0][i], ends[1][j]])
        chance = np.exp(log_chances(n, *law[:, np.newaxis])[0]) * special.comb(n, np.arange(n + 1))
        drawn = rng.multinomial(n_items, chance / chance.sum(), size=1_500).astype(float)
        found[i, j] = np.quantile(lack_of_fit(drawn, best_laws(drawn)[1], n), 1 - LACK_OF_FIT)
    grid = interpolate.RegularGridInterpolator(ends, found)
    return grid(np.stack([np.clip(at[:, k], ends[k][0], ends[k][2]) for k in (0, 1)], axis=1))


@cache
def places(k: int, truth: float) -> tuple[np.ndarray, np.ndarray]:
    """Return means and correlations of the laws along the curve with this pass^k."""
    r = special.expit(np.linspace(-12.0, 8.0, 1_001))
    j = np.arange(k)[:, np.newaxis]
    low, high = np.full_like(r, 1e-12), np.full_like(r, 1 - 1e-12)
    for _ in range(50):
        middle = 0.5 * (low + high)
        below = np.prod((middle * (1 - r) + j * r) / (1 - r + j * r), axis=0) < truth
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return 0.5 * (low + high), r


def any_law_holds(counts: np.ndarray, k: int, truth: float) -> np.ndarray:
    """Tell of each table whether some law of rates with the true pass^k is within the drop of the best law of rates.

    A law with this pass^k is a mixture of two-point laws that have it; over these, and over all rates, the likelihood rises by
    the EM algorithm of mixtures.
    """
    n = counts.shape[1] - 1
    rates = np.linspace(0.0, 1.0, 51)
    chance = (
        special.comb(n, np.arange(n + 1))
        * rates[:, None] ** np.arange(n + 1)
        * (1 - rates[:, None]) ** np.arange(n, -1, -1)
    )
    goal = rates**k
    low, high = np.flatnonzero(goal <= truth), np.flatnonzero(goal > truth)
    one, other = (each.ravel() for each in np.meshgrid(low, high))
    share = ((truth - goal[one]) / (goal[other] - goal[one]))[:, np.newaxis]
    best = _mixed(counts, chance, np.full(len(counts), np.inf))
    return _mixed(counts, (1 - share) * chance[one] + share * chance[other], best - CUT) >= best - CUT


def _mixed(counts: np.ndarray, atoms: np.ndarray, enough: np.ndarray) -> np.ndarray:
    """Return the greatest log-likelihood over mixtures of atoms, shape (n_tables,); where it is enough it rises no further."""
    value = np.full(len(counts), -np.inf)
    rising, weights = np.arange(len(counts)), np.full((len(counts), len(atoms)), 1.0 / len(atoms))
    for _ in range(3_000):
        mixed = weights @ atoms
        own = counts[rising]
        value[rising] = special.xlogy(own, mixed).sum(axis=1)
        gain = (own / np.maximum(mixed, 1e-300)) @ atoms.T / own.sum(axis=1, keepdims=True)
        most = own.sum(axis=1) * (gain.max(axis=1) - 1.0)  # what the log-likelihood can still rise by
        on = (
            (most > SETTLED)
            & (value[rising] < enough[rising])
            & (value[rising] + most > np.where(np.isinf(enough), -np.inf, enough)[rising])
        )
        if not on.any():
            break
        weights, rising = (weights * gain)[on], rising[on]
    return value


def replicate(rng: np.random.Generator, count: int, *, world: World) -> dict[str, Tally]:
    """Tally the intervals of `count` tables that the check of the law does not refuse, and the law's own of all."""
    n, k, known = world.n_trials, world.k, rates_of(world.law)
    truth = float((known**k).mean())
    along = log_chances(n, *places(k, truth))
    counts = np.empty((0, n + 1))
    alone, refused = np.empty(0, bool), np.empty(0, bool)
    while np.count_nonzero(~refused) < count:
        right = rng.binomial(n, LAWS[world.law](rng, count * world.n_items).reshape(count, -1))
        drawn = (right[:, :, np.newaxis] == np.arange(n + 1)).sum(axis=1).astype(float)
        drawn = drawn[
            (drawn[:, 0] < world.n_items) & (drawn[:, n] < world.n_items)
        ]  # no answer where all or none succeed
        at, value = best_laws(drawn)
        # Where rates follow the law, the check refuses 5% by its construction, and every interval is counted.
        lacking = np.full(len(drawn), world.law in FOLLOW)
        if world.law not in FOLLOW:
            lacking = lack_of_fit(drawn, value, n) > critical(n, world.n_items, at, rng)
        counts = np.vstack([counts, drawn])
        alone = np.append(alone, (drawn @ along.T).max(axis=1) >= value - CUT)
        refused = np.append(refused, lacking & (world.law not in FOLLOW))
    held = alone.copy()
    asked = np.flatnonzero(~held & ~refused)
    held[asked] = any_law_holds(counts[asked], k, truth)
    answered = np.flatnonzero(~refused)[:count]
    tables = counts[: answered[-1] + 1]
    values = (np.arange(n + 1) / n) ** k
    mean = tables @ values / world.n_items
    error = np.sqrt((tables @ values**2 / world.n_items - mean**2) / (world.n_items - 1))
    reach = stats.t.ppf(0.975, world.n_items - 1) * error
    return {
        OURS: of_claims(~held[answered]),
        LAW: of_claims(~alone[: len(tables)]),
        SHARES: of_claims(np.abs(mean - truth) > reach),
        REFUSED: of_claims(refused[: len(tables)]),
        AGREE: _made(tables[:MADE], world, truth, zip(alone, refused, held, strict=True)),
    }


def _made(tables: np.ndarray, world: World, truth: float, said: Iterable[tuple[bool, bool, bool]]) -> Tally:
    """Make check and intervals of some tables, and count those of which they say what the rule does: of the law, check, hull."""
    alike = 0
    for counts, (alone, refused, held) in zip(tables, said, strict=False):
        right = np.repeat(np.arange(world.n_trials + 1), counts.astype(int))
        trials = np.full(right.size, world.n_trials)
        law = BetaBinomial.of(trials, right)
        check = None if world.law in FOLLOW else law.check()
        made = law.interval(world.k, "hat")
        same = (made.conf_low <= truth <= made.conf_high) == alone
        same &= (check is not None and check <= LACK_OF_FIT) == refused
        if same and not alone and not refused:
            ((low, high),) = any_law_intervals(trials, right, [("hat", world.k)])
            same = (low <= truth <= high) == held
        alike += same
    return Tally(float(alike), float(len(tables)))


def notes(tallies: Tallies) -> list[str]:
    """Say where the check refuses, and that the rule gives what the intervals do."""
    refused = {world.name: tallies[world.name, REFUSED] for world in WORLDS if (world.name, REFUSED) in tallies}
    made = [tally for (_, method), tally in tallies.items() if method == AGREE]
    said = [
        f"{name}: the check of the law refuses {100 * tally.errors / tally.total:.0f}%."
        for name, tally in refused.items()
        if "Beta" not in name
    ]
    total, alike = sum(tally.total for tally in made), sum(tally.errors for tally in made)
    rule = (
        f"On {total:,.0f} of the tables the check and both intervals themselves were made; they said what the rule says on "
        f"{alike:,.0f}."
    )
    return [
        rule,
        *said,
    ]


def tasks(share: float = 1.0) -> list[Task]:
    """Cut every case into parts."""
    return of_worlds(NAME, WORLDS, replicate, replicates=REPLICATES, part=PART, share=share)


QUESTION = Question(
    name=NAME,
    question="How often does the interval of pass^k miss the truth, for more trials than were run?",
    design=(
        "Items with success rates of six laws, 4 or 8 trials each, and pass^k of two or four times as many. evalstats gives an "
        "interval where the check of the law does not refuse it; the other rates are of all tables."
    ),
    measure="misses",
    nominal=0.05,
    methods={OURS: "ours", LAW: "beside", SHARES: "elsewhere"},
    cases=[
        Case(
            name=world.name,
            group=world.law,
            design={"n_items": world.n_items, "n_trials": world.n_trials, "k": world.k},
        )
        for world in WORLDS
    ],
    tasks=tasks,
    promises=[
        Promise(
            text="pass^k beyond the trials run, rates by the law that is fitted",
            method=OURS,
            cases=tuple(world.name for world in WORLDS if world.law in FOLLOW),
            high=0.065,
        ),
        Promise(
            text="pass^k beyond the trials run, rates by other laws",
            method=OURS,
            cases=tuple(world.name for world in WORLDS if world.law not in FOLLOW),
            high=0.1,
        ),
    ],
    notes=notes,
)
