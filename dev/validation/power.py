"""The difference that a comparison says it could have detected: how often new data of that design do detect it."""

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from dev.validation.deciding import decided, metric
from dev.validation.study import Case, Promise, Question, Tallies, Tally, Task, simulated
from evalstats.analysis.compare.difference import PairedScores
from evalstats.stats.runs import RunSd, run_effects, run_spread

NAME = "power"
REPLICATES, PART = 2_000, 50
GOAL = 0.8
FOUND = "the detectable difference is found"
UNKNOWN, WRONG = "no detectable difference", "found with the wrong sign"

BINARY, UNBOUNDED = metric("binary"), metric("continuous")
TWELVE = (2, 2, 3, 3, 4, 4, 5, 5, 6, 8, 8, 10)


def pairs(rng: np.random.Generator, delta: float, *, items: int, discordance: float) -> PairedScores:
    """Right/wrong items with one trial, the share that differs held fixed (raised where the difference exceeds it)."""
    shared = max(discordance, delta)
    d = rng.choice([1.0, 0.0, -1.0], p=[(shared + delta) / 2, 1 - shared, (shared - delta) / 2], size=items)
    return _from_differences(d)


def trials(rng: np.random.Generator, delta: float, *, items: int) -> PairedScores:
    """Three trials; the candidate's success rate is the baseline's plus delta on every item."""
    rate = rng.beta(2.0, 2.0, items) * (1 - delta)
    return PairedScores(
        metric=BINARY, baseline=rng.binomial(3, rate) / 3, candidate=rng.binomial(3, rate + delta) / 3, n_trials=3
    )


def full_runs(rng: np.random.Generator, delta: float, *, items: int, run_sd: float) -> PairedScores:
    """Three full runs of each side, each of which moves the success rates of all its items alike."""
    rate = rng.beta(2.0, 2.0, (items, 1)) * (1 - delta)
    sides = [
        (rng.random((items, 3)) < np.clip(rate + gain + run_sd * rng.standard_normal(3), 0.0, 1.0)) * 1.0
        for gain in (0.0, delta)
    ]
    runs = run_spread(*map(run_effects, sides), prior=RunSd(value=0.01))
    means = [side.mean(axis=1) for side in sides]
    return PairedScores(metric=BINARY, baseline=means[0], candidate=means[1], n_trials=3, runs=runs)


def graded(rng: np.random.Generator, delta: float, *, items: int) -> PairedScores:
    """Unbounded scores: normal items, normal noise."""
    base = rng.normal(size=items)
    return PairedScores(
        metric=UNBOUNDED,
        baseline=base + rng.normal(size=items) / 2,
        candidate=base + delta + rng.normal(size=items) / 2,
        n_trials=1,
    )


def clustered(rng: np.random.Generator, delta: float, *, sizes: tuple[int, ...]) -> PairedScores:
    """Unbounded scores whose differences have a quarter of their variance between clusters."""
    clusters = np.repeat(np.arange(len(sizes)), sizes)
    d = delta + 0.5 * rng.normal(size=len(sizes))[clusters] + 0.75**0.5 * rng.normal(size=clusters.size)
    base = rng.normal(size=clusters.size)
    return PairedScores(metric=UNBOUNDED, baseline=base, candidate=base + d, n_trials=1, clusters=(clusters,))


def clustered_pairs(rng: np.random.Generator, delta: float, *, sizes: tuple[int, ...]) -> PairedScores:
    """Right/wrong items; which way a discordant item goes leans with its cluster."""
    clusters = np.repeat(np.arange(len(sizes)), sizes)
    discordant = max(0.3, delta)
    lean = np.clip(delta / discordant + rng.uniform(-0.6, 0.6, len(sizes))[clusters] * (1 - delta / discordant), -1, 1)
    draw = rng.random(clusters.size)
    won = draw < discordant * (1 + lean) / 2
    return _from_differences(won * 1.0 - ((draw < discordant) & ~won), clusters)


def _from_differences(d: np.ndarray, clusters: np.ndarray | None = None) -> PairedScores:
    return PairedScores(
        metric=BINARY,
        baseline=(d < 0) * 1.0,
        candidate=(d > 0) * 1.0,
        n_trials=1,
        clusters=() if clusters is None else (clusters,),
    )


Draw = Callable[[np.random.Generator, float], PairedScores]
WORLDS: tuple[tuple[str, str, Draw, Mapping[str, float]], ...] = (
    *(
        (
            f"{items} items, models differ on {100 * discordance:g}%",
            "independent items",
            partial(pairs, items=items, discordance=discordance),
            {"n_items": items, "discordance": discordance},
        )
        for items, discordance in ((100, 0.2), (300, 0.2), (1000, 0.2), (100, 0.06))
    ),
    ("50 items, 3 trials", "independent items", partial(trials, items=50), {"n_items": 50, "n_trials": 3}),
    ("200 items, 3 trials", "independent items", partial(trials, items=200), {"n_items": 200, "n_trials": 3}),
    *(
        (
            f"1000 items, 3 full runs{words}",
            "full runs",
            partial(full_runs, items=1000, run_sd=run_sd),
            {"n_items": 1000, "n_trials": 3, "run_sd": run_sd},
        )
        for words, run_sd in (("", 0.0), (" of sd .02", 0.02))
    ),
    ("40 items, continuous", "independent items", partial(graded, items=40), {"n_items": 40}),
    *(
        (
            f"{words}, {kind}",
            "clustered items",
            partial(draw, sizes=sizes),
            {"n_clusters": len(sizes), "n_items": sum(sizes)},
        )
        for words, sizes in (("12 uneven clusters", TWELVE), ("40 clusters of 5 items", (5,) * 40))
        for kind, draw in (("continuous", clustered), ("right/wrong", clustered_pairs))
    ),
)


def replicate(rng: np.random.Generator, count: int, *, draw: Draw) -> dict[str, Tally]:
    """Read the detectable difference off data without one, then draw new data with a difference of that size."""
    found = known = wrong = 0
    for _ in range(count):
        mde = decided(draw(rng, 0.0), detectable=True).mde
        if mde is None:
            continue
        known += 1
        decision = decided(draw(rng, mde))
        right = decision.low is not None and decision.low > 0
        found += decision.claims and right
        wrong += decision.claims and not right
    return {
        FOUND: Tally(float(found), float(known)),
        UNKNOWN: Tally(float(count - known), float(count)),
        WRONG: Tally(float(wrong), float(known)),
    }


def tasks(share: float = 1.0) -> list[Task]:
    """Cut every case into parts."""
    return [
        task
        for name, _, draw, _ in WORLDS
        for task in simulated(NAME, name, partial(replicate, draw=draw), replicates=REPLICATES, part=PART, share=share)
    ]


def notes(tallies: Tallies) -> list[str]:
    """Say where no detectable difference was given, and how often the sign was wrong."""
    none = [
        f"{case}: {round(tally.errors):,} of {round(tally.total):,} first data sets named no detectable difference"
        for (case, method), tally in tallies.items()
        if method == UNKNOWN and tally.errors
    ]
    wrong = sum(tally.errors for (_, method), tally in tallies.items() if method == WRONG)
    total = sum(tally.total for (_, method), tally in tallies.items() if method == WRONG)
    return [*none, f"The wrong model was called better in {round(wrong):,} of {round(total):,} data sets."]


QUESTION = Question(
    name=NAME,
    question="How often is the difference found that a comparison says it could have detected, with 80% power?",
    design=(
        "Two models of equal skill are compared, and the comparison names the difference that it would have detected with "
        "80% power. New data of the same design are drawn in which the models differ by just that much. Every time both "
        "are drawn afresh."
    ),
    measure="power",
    nominal=GOAL,
    methods={FOUND: "ours"},
    cases=[Case(name=name, group=group, design=design) for name, group, _, design in WORLDS],
    tasks=tasks,
    promises=[
        Promise(
            text="Detectable difference found, independent items",
            method=FOUND,
            cases=tuple(name for name, group, *_ in WORLDS if group == "independent items"),
            low=0.75,
            high=0.87,
        ),
        Promise(
            text="Detectable difference found, clusters",
            method=FOUND,
            cases=tuple(name for name, group, *_ in WORLDS if group == "clustered items"),
            low=0.70,
            high=0.90,
        ),
    ],
    notes=notes,
)
