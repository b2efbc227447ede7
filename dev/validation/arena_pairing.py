"""Arenas that choose pairs by past votes, and such as do not: how often that is seen, and how often equal models are ordered."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
import polars as pl

from dev.validation.study import Case, Promise, Question, Tally, Task, of_claims, simulated
from evalstats.analysis.arena.pairing import pairing_of, with_pairing
from evalstats.analysis.arena.ratings import RatedPart, RatingOptions, rate
from evalstats.datasets.validation import ENOUGH
from evalstats.stats.arena.likelihood import connection
from evalstats.table.votes import VoteTable

NAME = "arena-pairing"
PART = 25
TASTE = 0.6
CLAIMED, SANDWICH, MISSED, ALARM = (
    "evalstats: an order of equal models",
    "sandwich alone: an order of equal models",
    "evalstats: not flagged though it is",
    "evalstats: flagged though it is not",
)
OPTIONS = RatingOptions(prior=0.0, conf_level=0.95)


@dataclass(frozen=True, slots=True)
class Arena:
    """What a rule may look at: Elo so far, who won last, the vote's number, and fixed groups and weights."""

    elo: np.ndarray
    last: int
    vote: int
    n_votes: int
    group: np.ndarray
    weight: np.ndarray
    rng: np.random.Generator

    def two(self, among: np.ndarray, p: np.ndarray | None = None) -> tuple[int, int]:
        """Draw two of some models."""
        first, second = self.rng.choice(among, size=2, replace=False, p=p)
        return int(first), int(second)


Rule = Callable[[Arena], tuple[int, int]]


def neighbours(arena: Arena) -> tuple[int, int]:
    """Two next to each other in running Elo, ties in random order."""
    order = np.lexsort((arena.rng.random(arena.elo.size), arena.elo))
    at = int(arena.rng.integers(order.size - 1))
    return int(order[at]), int(order[at + 1])


def near(arena: Arena, within: float) -> tuple[int, int]:
    """Two whose running Elo differs by at most so much."""
    a, b = np.triu_indices(arena.elo.size, k=1)
    close = np.flatnonzero(np.abs(arena.elo[a] - arena.elo[b]) <= within)
    at = int(arena.rng.choice(close if close.size else a.size))
    return int(a[at]), int(b[at])


def winner_stays(arena: Arena) -> tuple[int, int]:
    """Who won last, against anybody else."""
    if arena.last < 0:
        return random(arena)
    others = np.delete(np.arange(arena.elo.size), arena.last)
    return arena.last, int(arena.rng.choice(others))


def random(arena: Arena) -> tuple[int, int]:
    """Any two."""
    return arena.two(np.arange(arena.elo.size))


def stratified(arena: Arena) -> tuple[int, int]:
    """Four times in five two of one group, where it has two."""
    group = np.flatnonzero(arena.group == arena.group[arena.rng.integers(arena.group.size)])
    return arena.two(group) if group.size > 1 and arena.rng.random() < 0.8 else random(arena)


def weighted(arena: Arena) -> tuple[int, int]:
    """Two by weights that no vote changes."""
    return arena.two(np.arange(arena.elo.size), arena.weight)


def late(arena: Arena) -> tuple[int, int]:
    """Two of those that are there: the last two come in halfway, and are then in half of the votes."""
    n = arena.elo.size
    if arena.vote < arena.n_votes / 2:
        return arena.two(np.arange(n - 2))
    if arena.rng.random() < 0.5:
        new = int(arena.rng.integers(n - 2, n))
        return new, int(arena.rng.choice(np.delete(np.arange(n), new)))
    return random(arena)


def anchored(arena: Arena) -> tuple[int, int]:
    """Two of those that are there: the last two come in halfway, and meet two anchors in half of the votes."""
    n = arena.elo.size
    if arena.vote >= arena.n_votes / 2 and arena.rng.random() < 0.5:
        return int(arena.rng.integers(n - 2, n)), int(arena.rng.integers(2))
    return random(arena) if arena.vote >= arena.n_votes / 2 else arena.two(np.arange(n - 2))


def round_robin(arena: Arena) -> tuple[int, int]:
    """All pairs in turn."""
    a, b = np.triu_indices(arena.elo.size, k=1)
    return int(a[arena.vote % a.size]), int(b[arena.vote % a.size])


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """Models with normal strengths (`spread`), raters with normal tastes, pairs by a rule, Elo with steps of `k_factor`."""

    name: str
    rule: Rule
    spread: float = 0.0
    k_factor: float = 4.0
    n_models: int = 6
    n_votes: int = 900
    n_raters: int = 100
    in_turn: bool = False
    adaptive: bool = False
    replicates: int = 100

    def draw(self, rng: np.random.Generator) -> pl.DataFrame:
        """Return votes in their order; raters vote in sessions where `in_turn`."""
        k, n = self.n_models, self.n_votes
        liking = self.spread * rng.normal(size=k) + TASTE * rng.normal(size=(self.n_raters, k))
        rater = rng.integers(self.n_raters, size=n)
        rater = np.sort(rater) if self.in_turn else rater
        elo, last, votes = np.zeros(k), -1, []
        group, weight = rng.integers(2, size=k), rng.dirichlet(np.ones(k)) + 0.02
        for vote, who in enumerate(rater.tolist()):
            arena = Arena(elo, last, vote, n, group, weight / weight.sum(), rng)
            a, b = self.rule(arena)
            a, b = (a, b) if rng.random() < 0.5 else (b, a)
            won = bool(rng.random() < 1.0 / (1.0 + np.exp(liking[who, b] - liking[who, a])))
            gain = self.k_factor * (won - 1.0 / (1.0 + 10.0 ** ((elo[b] - elo[a]) / 400.0)))
            elo[a] += gain
            elo[b] -= gain
            last = a if won else b
            votes.append((f"m{a}", f"m{b}", "a" if won else "b", f"r{who}"))
        return pl.DataFrame(votes, schema=["model_a", "model_b", "outcome", "rater"], orient="row")

    @property
    def design(self) -> dict[str, float]:
        """Numbers that describe it."""
        names = ("n_models", "n_votes", "n_raters", "spread", "k_factor")
        return {name: getattr(self, name) for name in names}


# An arena takes up to a second where it is replayed: 2,000 of a judged promise take a quarter of an hour.
ADAPTIVE = (
    World(name="neighbours in running Elo (K 4), 100 raters", rule=neighbours, adaptive=True, replicates=2_000),
    World(
        name="neighbours in running Elo (K 32), 30 raters",
        rule=neighbours,
        k_factor=32.0,
        n_raters=30,
        adaptive=True,
        replicates=25,
    ),
    World(
        name="within 50 points of running Elo (K 16), 100 raters",
        rule=partial(near, within=50.0),
        k_factor=16.0,
        adaptive=True,
        replicates=25,
    ),
)
FIXED = (
    World(name="random pairs", rule=random, replicates=2_000),
    World(name="random pairs, models apart (sd 1)", rule=random, spread=1.0),
    World(name="random pairs, raters in sessions", rule=random, in_turn=True, n_raters=30),
    World(name="stratified pairs", rule=stratified, replicates=2_000),
    World(name="stratified pairs, models apart (sd .6)", rule=stratified, spread=0.6),
    World(name="uneven weights, models apart (sd .6)", rule=weighted, spread=0.6),
    World(name="new models arrive late", rule=late, spread=0.6),
    World(name="new models meet anchors", rule=anchored, spread=0.6),
    World(name="round robin", rule=round_robin, spread=0.6),
    World(name="winner stays", rule=winner_stays, spread=0.6),
)


def _claims(part: RatedPart) -> bool:
    return part.claims is not None and bool(part.claims.separated.any())


def replicate(rng: np.random.Generator, count: int, *, world: World) -> Mapping[str, Tally]:
    """Count arenas that are flagged, and those of equal models that are ordered, by the sandwich alone and as `arena` has it."""
    flagged, before, after = list[bool](), list[bool](), list[bool]()
    for _ in range(count):
        table = VoteTable.of(world.draw(rng))
        pairing, _ = pairing_of(table, OPTIONS)
        flagged.append(pairing.adaptive)
        if world.adaptive and connection(table.rows).is_connected:
            part = rate(table, range(table.n_models), OPTIONS)
            before.append(_claims(part))
            # Wider errors claim nothing that the sandwich does not.
            after.append(before[-1] and _claims(with_pairing([part], pairing)[0][0]))
    if not world.adaptive:
        return {ALARM: of_claims(flagged)}
    return {CLAIMED: of_claims(after), SANDWICH: of_claims(before), MISSED: of_claims([not each for each in flagged])}


def tasks(share: float = 1.0) -> list[Task]:
    """Cut every case into parts."""
    return [
        task
        for world in (*ADAPTIVE, *FIXED)
        for task in simulated(
            NAME, world.name, partial(replicate, world=world), replicates=world.replicates, part=PART, share=share
        )
    ]


def _judged(worlds: tuple[World, ...]) -> tuple[str, ...]:
    return tuple(world.name for world in worlds if world.replicates >= ENOUGH)


PROMISES = (
    Promise(
        text="Equal models are ordered where pairs are chosen by past votes",
        method=CLAIMED,
        cases=_judged(ADAPTIVE),
        high=0.06,
    ),
    Promise(text="Pairs chosen by past votes are not flagged", method=MISSED, cases=_judged(ADAPTIVE), high=0.2),
    Promise(text="Pairs that no vote chose are flagged", method=ALARM, cases=_judged(FIXED), high=0.05),
)
QUESTION = Question(
    name=NAME,
    question="How often are equal models ordered where past votes choose who meets, and how often is such a choice seen in vain?",
    design=(
        "Arenas of six models and 900 votes, raters with normal tastes (SD 0.6). Pairs are chosen by running Elo among equal "
        "models: an error is any pair called separated, or an arena that is not flagged. Or pairs are chosen by rules "
        "that no vote changes (and by letting the "
        "winner stay, which harms no interval): an error is an arena flagged as adaptive."
    ),
    measure="false claims",
    nominal=0.05,
    methods={CLAIMED: "ours", MISSED: "ours", ALARM: "ours", SANDWICH: "elsewhere"},
    cases=[
        Case(name=world.name, group=group, design=world.design)
        for group, worlds in (
            ("pairs chosen by past votes, equal models", ADAPTIVE),
            ("pairs that no vote chose", FIXED),
        )
        for world in worlds
    ],
    tasks=tasks,
    promises=[promise for promise in PROMISES if promise.cases],
)
