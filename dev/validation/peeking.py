"""Two models of equal skill, looked at after every item: how often a difference is claimed at any look."""

import math
from collections.abc import Callable, Mapping
from functools import partial

import numpy as np
from scipy import special

from dev.validation.study import Case, Promise, Question, Tallies, Tally, Task, of_claims, simulated
from evalstats.stats.betting import betting_cs, betting_log_e, e_mcnemar
from evalstats.stats.sequential import asymptotic_cs

NAME = "peeking"
REPLICATES, PART = 10_000, 250
FIRST = 10  # nobody believes a t-test on fewer items
EVERY = 50
CHECKED = 1  # of every part, so many data sets go through `betting_cs` itself

BETTING = "betting confidence sequence"
SAME, FOUND, FOUND_ONCE = "the interval agrees", "betting finds", "t finds"
TRUE_DIFFERENCE = "300 items, a true difference of 10 points"


def three(rng: np.random.Generator, *, items: int, gained: float, lost: float) -> np.ndarray:
    """Right/wrong items with one trial: differences 1, 0, -1."""
    return rng.choice([1.0, 0.0, -1.0], p=[gained, 1 - gained - lost, lost], size=items)


def trials(rng: np.random.Generator, *, items: int) -> np.ndarray:
    """Means of three trials; items differ in difficulty."""
    rate = rng.beta(2.0, 1.0, items)
    return (rng.binomial(3, rate) - rng.binomial(3, rate)) / 3


def skewed(rng: np.random.Generator, *, items: int) -> np.ndarray:
    """One item in twenty is gained whole, the others lose a little: the mean is 0."""
    return np.where(rng.random(items) < 0.05, 1.0, -1 / 19)


Draw = Callable[[np.random.Generator], np.ndarray]
WORLDS: tuple[tuple[str, Draw, Mapping[str, float]], ...] = (
    ("100 items, models differ on 30%", partial(three, items=100, gained=0.15, lost=0.15), {"n_items": 100}),
    ("300 items, models differ on 30%", partial(three, items=300, gained=0.15, lost=0.15), {"n_items": 300}),
    ("1000 items, models differ on 30%", partial(three, items=1000, gained=0.15, lost=0.15), {"n_items": 1000}),
    ("300 items, models differ on 4%", partial(three, items=300, gained=0.02, lost=0.02), {"n_items": 300}),
    ("300 items, 3 trials", partial(trials, items=300), {"n_items": 300, "n_trials": 3}),
    ("300 items, skewed", partial(skewed, items=300), {"n_items": 300}),
)


def replicate(rng: np.random.Generator, count: int, *, draw: Draw) -> dict[str, Tally]:
    """Tally the data sets on which each method claims a difference at any of its looks."""
    drawn = [draw(rng) for _ in range(count)]
    claims = [bool((betting_log_e(d) >= math.log(20.0)).any()) for d in drawn]
    t = np.array([significant(d) for d in drawn])
    found = {
        BETTING: of_claims(claims),
        "asymptotic confidence sequence": of_claims([asymptotic_cs(d).first_crossing is not None for d in drawn]),
        "t once, at the end": of_claims(t[:, -1]),
        f"t after every {EVERY} items": of_claims(t[:, EVERY - FIRST :: EVERY].any(axis=1)),
        "t after every item": of_claims(t.any(axis=1)),
    }
    if np.isin(drawn[0], (-1.0, 0.0, 1.0)).all():
        found["sequential McNemar"] = of_claims([e_mcnemar(d).first_crossing is not None for d in drawn])
    same = [
        claim == (betting_cs(d).first_crossing is not None) for claim, d in zip(claims, drawn[:CHECKED], strict=False)
    ]
    return found | {SAME: Tally(float(sum(same)), float(len(same)))}


def real(rng: np.random.Generator, count: int) -> dict[str, Tally]:
    """Tally how often a true difference is found, with as many items: the price of being allowed to look."""
    drawn = [three(rng, items=300, gained=0.2, lost=0.1) for _ in range(count)]
    return {
        FOUND: of_claims([bool((betting_log_e(d) >= math.log(20.0)).any()) for d in drawn]),
        FOUND_ONCE: of_claims([bool(significant(d)[-1]) for d in drawn]),
    }


def significant(d: np.ndarray) -> np.ndarray:
    """Whether t on the first 10, 11, ..., n items has p < .05."""
    n = np.arange(1, d.size + 1)
    mean = d.cumsum() / n
    squares = np.maximum(np.square(d).cumsum() - n * mean**2, 0.0)[FIRST - 1 :]
    n, mean = n[FIRST - 1 :], mean[FIRST - 1 :]
    reach = special.stdtrit(n - 1, 0.975) * np.sqrt(squares / (n - 1) / n)
    return (np.abs(mean) > reach) & (squares > 1e-9)


def tasks(share: float = 1.0) -> list[Task]:
    """Cut every case into parts."""
    found = [
        task
        for name, draw, _ in WORLDS
        for task in simulated(NAME, name, partial(replicate, draw=draw), replicates=REPLICATES, part=PART, share=share)
    ]
    return found + simulated(NAME, TRUE_DIFFERENCE, real, replicates=REPLICATES, part=PART, share=share)


def notes(tallies: Tallies) -> list[str]:
    """Say what looking costs, and that the interval decides as its e-value does."""
    found: list[str] = []
    if (TRUE_DIFFERENCE, FOUND) in tallies:
        betting, once = (tallies[TRUE_DIFFERENCE, method] for method in (FOUND, FOUND_ONCE))
        found.append(
            "Being allowed to look has a price: with a true difference of 10 points on 300 items, 30% of them discordant, "
            f"betting finds it in {100 * betting.errors / betting.total:.0f}% of runs, at some look; t looked at once, at "
            f"the end, in {100 * once.errors / once.total:.0f}%."
        )
    same = [tally for (_, method), tally in tallies.items() if method == SAME]
    agreed, total = round(sum(t.errors for t in same)), round(sum(t.total for t in same))
    if total:
        found.append(
            f"Claims are read from the e-value. On {total:,} of the data sets the interval itself was computed; it excluded 0 "
            f"exactly when the e-value said so on {agreed:,}."
        )
    return found


QUESTION = Question(
    name=NAME,
    question="How often is a difference claimed between two models of equal skill when one looks after every item?",
    design=(
        "Two models of equal skill answer independent items one after the other. The interval, or the test, is looked at "
        "after every item (t from the tenth on), and the run stops at the first claim. Skewed: one item in twenty is "
        "gained whole, the others lose 1/19."
    ),
    measure="false claims",
    nominal=0.05,
    methods={
        BETTING: "ours",
        "sequential McNemar": "beside",
        "asymptotic confidence sequence": "beside",
        "t once, at the end": "elsewhere",
        f"t after every {EVERY} items": "elsewhere",
        "t after every item": "elsewhere",
    },
    cases=[Case(name=name, group="looking after every item", design=design) for name, _, design in WORLDS],
    tasks=tasks,
    promises=[
        Promise(text=f"{words}, looked at after every item", method=method, high=0.05, up_to_chance=True)
        for words, method in (
            ("Betting sequence", BETTING),
            ("Sequential McNemar", "sequential McNemar"),
        )
    ],
    notes=notes,
)
