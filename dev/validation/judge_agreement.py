"""Agreement of a judge with people: how often intervals of Krippendorff's alpha, and of a difference of two, miss the truth."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from dev.validation.study import (
    Case,
    Promise,
    Question,
    Tallies,
    Tally,
    Task,
    of_claims,
    of_ends,
    of_intervals,
    simulated,
)
from evalstats.analysis.judges.judges import judges
from evalstats.loaders.ratings import from_ratings
from evalstats.stats.estimate import IntervalEstimate
from evalstats.stats.raters.agreement import Metric, RatingTable, judge_alpha, judge_minus_people, krippendorff_alpha

NAME = "judge-agreement"
REPLICATES, PART = 2_000, 100
UNITS = (100, 300)
DRAWS = 1_000  # of every bootstrap; judges() takes 4,000, whose ends differ by less than their own noise

ALPHA = "alpha: BCa over units"
JUDGE = "judge with people: BCa over units"
DIFFERENCE = "judge minus people: BCa over units"
PAIRS = "alpha: bootstrap of pairs"
LEFT_OUT = "alpha: BCa, clusters left out"
REFUSED = "no interval given"


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """Units have a true category; each rater gives another one with the chances of a row of `kernel`.

    `judge` is the judge's own kernel, where there is one beside the people; `second` the share of units that people after the
    first rate, drawn at random; `together` 0 draws true categories apart, near 1
    alike within a cluster.
    """

    words: str
    shares: tuple[float, ...]
    kernel: np.ndarray
    raters: int
    metric: Metric = "nominal"
    gaps: float = 0.0
    judge: np.ndarray | None = None
    second: float = 1.0
    size: int = 0
    together: float = 0.0

    @property
    def levels(self) -> np.ndarray:
        """The categories as numbers."""
        return np.arange(len(self.shares), dtype=np.float64)


def slips(levels: int, rate: float) -> np.ndarray:
    """Errors to any other category alike."""
    return np.eye(levels) * (1 - rate) + (1 - np.eye(levels)) * rate / (levels - 1)


def steps(levels: int, spread: float) -> np.ndarray:
    """Errors that get rarer with every step away."""
    away = np.abs(np.arange(levels)[:, None] - np.arange(levels)[None, :])
    weights = spread**away
    return weights / weights.sum(axis=1, keepdims=True)


# --- the truth, from the laws of two ratings ---


def alpha_of(together: np.ndarray, metric: Metric) -> float:
    """Return alpha of endlessly many units, from the chances of each pair of categories (symmetric, sum 1)."""
    share = together.sum(axis=1)
    values = np.arange(share.size, dtype=np.float64)
    if metric == "ordinal":
        values = np.cumsum(share) - share / 2
    apart = values[:, None] - values[None, :]
    apart = (apart != 0) * 1.0 if metric == "nominal" else apart**2
    return float(1 - (together * apart).sum() / (np.outer(share, share) * apart).sum())


def pair_chances(shares: Sequence[float], first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return the chances of each pair of categories that two raters give a unit, in either order."""
    one_way = np.einsum("t,tc,tk->ck", np.asarray(shares), first, second)
    return (one_way + one_way.T) / 2


def true_alpha(world: World) -> float:
    """Return alpha of the raters of a world without a judge."""
    return alpha_of(pair_chances(world.shares, world.kernel, world.kernel), world.metric)


def true_with_judge(world: World) -> float:
    """Return alpha of the judge with a person."""
    return alpha_of(pair_chances(world.shares, _judge(world), world.kernel), world.metric)


def true_difference(world: World) -> float:
    """Return alpha of the judge with people less that of people among themselves."""
    return true_with_judge(world) - true_alpha(world)


def _judge(world: World) -> np.ndarray:
    if world.judge is None:
        raise AssertionError(f"the world {world.words!r} has no judge")
    return world.judge


# --- data ---


def true_categories(rng: np.random.Generator, world: World, units: int) -> tuple[np.ndarray, np.ndarray | None]:
    """Draw the true category of every unit, and clusters where the world has them."""
    shares = np.asarray(world.shares)
    if not world.size:
        return rng.choice(shares.size, size=units, p=shares), None
    clusters = np.arange(units) // world.size
    strength = 1 / world.together - 1
    own = rng.dirichlet(shares * strength, size=clusters[-1] + 1)[clusters]
    return (rng.random(units)[:, None] > own.cumsum(axis=1)[:, :-1]).sum(axis=1), clusters


def ratings_of(rng: np.random.Generator, kernel: np.ndarray, truth: np.ndarray, raters: int) -> np.ndarray:
    """Draw the category that each rater gives each unit, shape (n_units, raters)."""
    ends = kernel.cumsum(axis=1)[truth][:, None, :-1]
    return (rng.random((truth.size, raters))[:, :, None] > ends).sum(axis=2)


def counted(given: np.ndarray, kept: np.ndarray, levels: int) -> np.ndarray:
    """Count how many of the kept ratings of a unit are of each category."""
    return (np.eye(levels, dtype=np.int64)[given] * kept[:, :, None]).sum(axis=1)


# --- intervals ---


def replicate_alpha(rng: np.random.Generator, count: int, *, world: World, units: int) -> dict[str, Tally]:
    """Tally intervals of alpha on `count` tables; one of them goes through `judges()` too."""
    truth, q = true_alpha(world), len(world.shares)
    ours, pairs, plain, refused = [], [], [], []
    for place in range(count):
        category, clusters = true_categories(rng, world, units)
        given = ratings_of(rng, world.kernel, category, world.raters)
        kept = rng.random(given.shape) >= world.gaps
        counts = counted(given, kept, q)
        table = RatingTable(counts=counts, levels=world.levels)
        found = krippendorff_alpha(table, world.metric, clusters=clusters, n_resamples=DRAWS)
        if place == 0 and world.raters == 2 and not world.gaps:
            _same_as_judges(found, given[:, 0], given[:, 1:], world, clusters)
        refused.append(found.conf_low is None)
        if refused[-1]:
            continue
        ours.append(found)
        pairs.append(_pair_ends(rng, counts, world))
        if clusters is not None:
            plain.append(krippendorff_alpha(table, world.metric, n_resamples=DRAWS))
    low, high = np.array(pairs).reshape(-1, 2).T
    tallies = {ALPHA: of_intervals(ours, truth), PAIRS: of_ends(low, high, truth), REFUSED: of_claims(refused)}
    return tallies | ({LEFT_OUT: of_intervals(plain, truth)} if plain else {})


def _pair_ends(rng: np.random.Generator, counts: np.ndarray, world: World) -> tuple[float, float]:
    """Return the interval of Hayes and Krippendorff: pairs drawn as if independent, chance disagreement held as it is."""
    m = counts.sum(axis=1)
    units = counts[m > 1].astype(np.float64)
    m = m[m > 1]
    both = np.einsum("uc,uk->uck", units, units) - np.einsum("uc,ck->uck", units, np.eye(units.shape[1]))
    seen = (both / (m - 1)[:, None, None]).sum(axis=0)
    share = seen.sum(axis=1)
    values = np.cumsum(share) - share / 2 if world.metric == "ordinal" else world.levels
    apart = values[:, None] - values[None, :]
    apart = (apart != 0) * 1.0 if world.metric == "nominal" else apart**2
    chance = (np.outer(share, share) * apart).sum() / (share.sum() - 1)
    n_pairs = int((m * (m - 1) // 2).sum())
    drawn = rng.multinomial(n_pairs, (seen / seen.sum()).ravel(), size=DRAWS) @ apart.ravel() / n_pairs
    low, high = np.quantile(1 - drawn * share.sum() / chance, (0.025, 0.975))
    return float(low), float(high)


def replicate_difference(rng: np.random.Generator, count: int, *, world: World, units: int) -> dict[str, Tally]:
    """Tally intervals of the judge's alpha on all units, and of its difference from people's on those that two people rated."""
    truth, with_judge, q = true_difference(world), true_with_judge(world), len(world.shares)
    ours, judged, refused = [], [], []
    for place in range(count):
        category, clusters = true_categories(rng, world, units)
        people = ratings_of(rng, world.kernel, category, world.raters)
        judge = ratings_of(rng, _judge(world), category, 1)[:, 0]
        kept = np.ones(people.shape, dtype=bool)
        if world.second < 1:
            kept[:, 1:] = (rng.random(units) < world.second)[:, None]
        counts, own = counted(people, kept, q), np.eye(q, dtype=np.int64)[judge]
        found, alone = (
            of(own, counts, world.levels, world.metric, clusters=clusters, n_resamples=DRAWS)
            for of in (judge_minus_people, judge_alpha)
        )
        if place == 0:
            _same_as_judges(alone, judge, people, world, clusters, kept=kept, minus_people=found)
        judged.append(alone)
        refused.append(found.conf_low is None)
        if not refused[-1]:
            ours.append(found)
    tallies = {DIFFERENCE: of_intervals(ours, truth), REFUSED: of_claims(refused)}
    return tallies | {JUDGE: of_intervals([each for each in judged if each.conf_low is not None], with_judge)}


def _same_as_judges(
    found: IntervalEstimate,
    judge: np.ndarray,
    people: np.ndarray,
    world: World,
    clusters: np.ndarray | None,
    *,
    kept: np.ndarray | None = None,
    minus_people: IntervalEstimate | None = None,
) -> None:
    """Stop where `judges()`, on a table of these ratings, says something else."""
    n, each = people.shape
    rated = np.concatenate((np.ones(n, dtype=bool), *(np.ones((each, n), dtype=bool) if kept is None else kept.T)))
    rows = {
        "item": np.tile(np.arange(n), each + 1)[rated],
        "rater": np.repeat(["judge", *(f"person {k}" for k in range(each))], n)[rated],
        "value": np.concatenate((judge, *people.T))[rated],
        "block": np.tile(np.zeros(n) if clusters is None else clusters, each + 1)[rated],
    }
    data = from_ratings(rows, humans=[f"person {k}" for k in range(each)])
    (row,) = judges(data, scale=world.metric, cluster=None if clusters is None else "block", n_resamples=DRAWS).rows
    for said, ours in ((row, found), (row.difference, minus_people)):
        if ours is None:
            continue
        # Units that stand in another order are drawn by other numbers of the same generator: ends differ, the rest does not.
        room = 0.2 * ((ours.conf_high or 0.0) - (ours.conf_low or 0.0))
        same = said is not None and _near(said.estimate, ours.estimate) and _near(said.std_error, ours.std_error)
        if said is None or not same or not _near(said.conf_low, ours.conf_low, room):
            raise AssertionError(f"judges() says {said}, the method {ours}")


def _near(said: float | None, found: float | None, room: float = 1e-9) -> bool:
    return said is found or (said is not None and found is not None and abs(said - found) <= room)


# --- the cells ---


RARE = (0.9, 0.1)
FIVE = (0.1, 0.2, 0.3, 0.25, 0.15)
ALPHAS = (
    World(words="yes/no, two raters", shares=(0.5, 0.5), kernel=slips(2, 0.1), raters=2),
    World(words="yes in 10%, two raters", shares=RARE, kernel=slips(2, 0.05), raters=2),
    World(words="yes in 10%, three raters with gaps", shares=RARE, kernel=slips(2, 0.05), raters=3, gaps=0.3),
    World(words="four labels, three raters", shares=(0.4, 0.3, 0.2, 0.1), kernel=slips(4, 0.2), raters=3),
    World(
        words="1 to 5 ordinal, three raters with gaps", shares=FIVE, kernel=steps(5, 0.25), raters=3, gaps=0.3,
        metric="ordinal",
    ),
    World(words="1 to 5 interval, two raters", shares=FIVE, kernel=steps(5, 0.25), raters=2, metric="interval"),
    World(words="nearly all agree, two raters", shares=(0.5, 0.5), kernel=slips(2, 0.01), raters=2),
    World(
        words="yes/no in clusters of 5, two raters", shares=(0.5, 0.5), kernel=slips(2, 0.1), raters=2, size=5,
        together=0.7,
    ),
    World(
        words="yes in 25%, in clusters of 5, two raters", shares=(0.75, 0.25), kernel=slips(2, 0.1), raters=2, size=5,
        together=0.7,
    ),
)  # fmt: skip
DIFFERENCES = (
    World(words="yes/no, judge as two people", shares=(0.5, 0.5), kernel=slips(2, 0.1), raters=2, judge=slips(2, 0.1)),
    World(
        words="yes/no, judge worse than three people", shares=(0.5, 0.5), kernel=slips(2, 0.1), raters=3,
        judge=slips(2, 0.2),
    ),
    World(
        words="yes in 10%, judge worse than two people", shares=RARE, kernel=slips(2, 0.05), raters=2,
        judge=slips(2, 0.1),
    ),
    World(
        words="1 to 5 ordinal, judge worse than two people", shares=FIVE, kernel=steps(5, 0.25), raters=2,
        judge=steps(5, 0.4), metric="ordinal",
    ),
    World(
        words="yes/no in clusters of 5, judge worse than two people", shares=(0.5, 0.5), kernel=slips(2, 0.1), raters=2,
        judge=slips(2, 0.2), size=5, together=0.7,
    ),
    World(
        words="yes/no, a second person on 30%, judge worse", shares=(0.5, 0.5), kernel=slips(2, 0.1), raters=2,
        judge=slips(2, 0.2), second=0.3,
    ),
    World(
        words="1 to 5 ordinal, a second person on 30%, judge worse", shares=FIVE, kernel=steps(5, 0.25), raters=2,
        judge=steps(5, 0.4), metric="ordinal", second=0.3,
    ),
)  # fmt: skip


def _cells() -> list[tuple[Case, partial[dict[str, Tally]]]]:
    def design(world: World, units: int, truth: float) -> Mapping[str, float]:
        numbers: dict[str, float] = {"n_units": units, "n_raters": world.raters, "truth": round(truth, 6)}
        return numbers | ({"n_clusters": units // world.size} if world.size else {})

    alphas = [
        (
            Case(name=f"{n} units, {world.words}", group=world.words, design=design(world, n, true_alpha(world))),
            partial(replicate_alpha, world=world, units=n),
        )
        for world in ALPHAS
        for n in UNITS
    ]
    differences = [
        (
            Case(name=f"{n} units, {world.words}", group=world.words, design=design(world, n, true_difference(world))),
            partial(replicate_difference, world=world, units=n),
        )
        for world in DIFFERENCES
        for n in UNITS
    ]
    return alphas + differences


CELLS = _cells()


def tasks(share: float = 1.0) -> list[Task]:
    """Cut every case into parts."""
    return [
        task
        for case, work in CELLS
        for task in simulated(NAME, case.name, work, replicates=REPLICATES, part=PART, share=share)
    ]


def notes(tallies: Tallies) -> list[str]:
    """Say where no interval is given."""
    most = {
        case: tally.errors / tally.total
        for (case, method), tally in tallies.items()
        if method == REFUSED and tally.errors
    }
    if not most:
        return []
    worst = max(most, key=lambda case: most[case])
    return [
        f"No interval is given for {100 * most[worst]:.1f}% of tables at most ({worst}); they are left out of all rates here."
    ]


QUESTION = Question(
    name=NAME,
    question="How often does an interval of a judge's agreement with people miss the truth?",
    design=(
        "Units have a true category; raters give another with a known chance, so alpha of endlessly many units is known. "
        "100 or 300 units, two or three raters, some ratings missing. A judge is held against two or three people, or a "
        "second one on a part of the units: by its alpha on all units, and by the difference of two alphas on those that two "
        "people rated. 1,000 resamples each. One table in 100 goes through judges() as a whole, which must say the same."
    ),
    measure="misses",
    nominal=0.05,
    methods={ALPHA: "ours", JUDGE: "ours", DIFFERENCE: "ours", PAIRS: "elsewhere", LEFT_OUT: "elsewhere"},
    cases=[case for case, _ in CELLS],
    tasks=tasks,
    promises=[
        Promise(
            text="Krippendorff's alpha",
            method=ALPHA,
            cases=tuple(case.name for case, _ in CELLS[: len(ALPHAS) * len(UNITS)]),
            high=0.08,
        ),
        Promise(
            text="A judge's alpha with people",
            method=JUDGE,
            cases=tuple(case.name for case, _ in CELLS[len(ALPHAS) * len(UNITS) :]),
            high=0.08,
        ),
        Promise(
            text="A judge's alpha against people's",
            method=DIFFERENCE,
            cases=tuple(case.name for case, _ in CELLS[len(ALPHAS) * len(UNITS) :]),
            high=0.09,
        ),
    ],
    notes=notes,
)
