"""How often the checks of an arena warn of honest votes, and how often of planted trouble."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from unittest.mock import patch

import numpy as np
import polars as pl

from dev.validation.study import Case, Promise, Question, Tallies, Tally, Task, simulated
from evalstats.analysis.arena import fit_checks
from evalstats.analysis.arena.arena import arena, checks_of
from evalstats.analysis.arena.pairing import pairing_of
from evalstats.analysis.arena.ratings import RatingOptions, rate, side_effect
from evalstats.datasets.validation import Role
from evalstats.stats.arena.likelihood import connection
from evalstats.table.votes import VoteTable

NAME = "arena-checks"
PART, MANY = 10, 20
START = datetime(2026, 1, 5, tzinfo=UTC)
DAYS = 90.0
RING_MODEL = 3

ANY = "any check"
# Checks that warn at all; the others tell limits or cannot be run. Who meets whom has a study of its own, `arena-pairing`.
CHECKS = (
    "sides", "raters", "duplicates", "bursts", "one rater", "few votes",
    "deviance", "calibration", "prediction", "transitivity", "cycles", "drift",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """An arena: normal strengths (`spread`), normal tastes of raters and of prompts, random pairs and sides.

    Attributes
    ----------
    zipf
        Rater k votes in proportion to 1/k^zipf.
    ties
        Davidson's nu.
    n_prompts
        0: each vote has a prompt of its own.
    side, rise, circle
        Trouble for all votes, in log-odds: for side a; by which the first model rises over the whole time; by which each model
        is stronger against the next ones of a round table.
    one_side
        Votes of a further rater who always chooses side a.
    ring
        Raters who seek out one model with all their votes and choose it.
    twice, leak
        Share of votes sent a second time, and in which one answer names its model and gains 1 by it.
    burst
        Votes that one rater gives within a minute.
    """

    name: str
    n_models: int = 10
    n_votes: int = 2_000
    n_raters: int = 100
    taste: float = 0.6
    spread: float = 0.6
    zipf: float = 0.0
    ties: float = 0.0
    n_prompts: int = 0
    prompt_taste: float = 0.0
    side: float = 0.0
    rise: float = 0.0
    circle: float = 0.0
    one_side: int = 0
    ring: int = 0
    twice: float = 0.0
    leak: float = 0.0
    burst: int = 0
    replicates: int = 100
    sought: str = ""

    def draw(self, rng: np.random.Generator) -> pl.DataFrame:
        """Return votes with raters, prompts and times."""
        n, k = self.n_votes, self.n_models
        strengths = self.spread * rng.normal(size=k)
        activity = np.arange(1, self.n_raters + 1) ** -self.zipf
        rater = rng.choice(self.n_raters, size=n, p=activity / activity.sum())
        prompt = rng.integers(self.n_prompts, size=n) if self.n_prompts else np.arange(n)
        first = rng.integers(k, size=n)
        second = (first + rng.integers(1, k, size=n)) % k
        liking = strengths + self.taste * rng.normal(size=(self.n_raters, k))
        suits = self.prompt_taste * rng.normal(size=(max(1, self.n_prompts), k)) * (self.n_prompts > 0)
        at = prompt if self.n_prompts else np.zeros(n, dtype=np.int64)
        days = np.sort(rng.uniform(0.0, DAYS, n))
        in_ring = rater >= self.n_raters - self.ring
        other = (RING_MODEL + rng.integers(1, k, size=n)) % k
        on_a = rng.random(n) < 0.5
        first = np.where(in_ring, np.where(on_a, RING_MODEL, other), first)
        second = np.where(in_ring, np.where(on_a, other, RING_MODEL), second)
        eta = liking[rater, first] - liking[rater, second] + suits[at, first] - suits[at, second] + self.side
        eta += self.rise * (days / DAYS - 0.5) * ((first == 0) * 1.0 - (second == 0))
        eta += self.circle * np.where((second - first) % k < (k + 1) / 2, 1.0, -1.0)
        named = rng.random(n) < self.leak
        eta += named * np.where(on_a, 1.0, -1.0)
        a, b = np.exp(eta / 2.0), np.exp(-eta / 2.0)
        drawn = rng.random(n) * (a + b + self.ties)
        outcome = np.where(drawn < a, 0, np.where(drawn < a + b, 1, 2))
        outcome = np.where(in_ring, np.where(on_a, 0, 1), outcome)
        who = np.where(np.arange(n) < self.one_side, self.n_raters, rater)
        outcome[: self.one_side] = 0
        if self.burst:
            begin = int(rng.integers(n - self.burst))
            who[begin : begin + self.burst] = who[begin]
            days[begin : begin + self.burst] = days[begin] + np.sort(rng.uniform(0.0, 1.0 / 1_440.0, self.burst))
        names = np.array([f"model {m:02d}" for m in range(k)])
        frame = pl.DataFrame(
            {
                "model_a": names[first],
                "model_b": names[second],
                "outcome": np.array(["a", "b", "tie"])[outcome],
                "rater": [f"r{code:05d}" for code in who.tolist()],
                "item": [f"p{code:05d}" for code in prompt.tolist()],
                "timestamp": [START + timedelta(days=float(day)) for day in days.tolist()],
            }
        )
        if self.leak:
            frame = frame.with_columns(names_itself_a=pl.Series(named & on_a), names_itself_b=pl.Series(named & ~on_a))
        return pl.concat([frame, frame.filter(pl.Series(rng.random(n) < self.twice))])

    @property
    def design(self) -> dict[str, float]:
        """Numbers that describe it."""
        names = ("n_models", "n_votes", "n_raters", "taste", "spread", "zipf", "ties", "n_prompts")
        return {name: getattr(self, name) for name in names}


# Small arenas, of which 2,000 can be drawn.
JUDGED = (
    World(name="6 models, 600 votes of 30 raters, tastes .6", n_models=6, n_votes=600, n_raters=30, replicates=2_000),
    World(name="4 equal models, 12 raters, tastes 1", n_models=4, n_votes=500, n_raters=12, spread=0.0, taste=1.0,
          replicates=2_000),
    World(name="6 models, uneven raters (Zipf 1), half ties, tastes .8", n_models=6, n_votes=600, n_raters=30, zipf=1.0,
          ties=1.5, taste=0.8, replicates=2_000),
)  # fmt: skip
# Kinds of which an arena takes up to some seconds.
HONEST = (
    World(name="10 models, 2,000 votes of 100 raters, tastes .6"),
    World(name="no tastes", taste=0.0),
    World(name="tastes 1", taste=1.0),
    World(name="equal models, tastes .8", spread=0.0, taste=0.8),
    World(name="models far apart (sd 1.5)", spread=1.5),
    World(name="uneven raters (Zipf 1), tastes .8", zipf=1.0, taste=0.8),
    World(name="half ties", ties=1.5),
    World(name="13 prompts that suit models (.5)", n_prompts=13, prompt_taste=0.5, taste=0.5),
    World(name="4 models, 500 votes, tastes .8", n_models=4, n_votes=500, taste=0.8),
    World(name="4 models, 12 raters, tastes 1", n_models=4, n_raters=12, taste=1.0),
    World(name="12 equal models, 1,000 votes of 40 raters", n_models=12, n_votes=1_000, n_raters=40, spread=0.0),
    World(name="30 models, 5,000 votes, Zipf 1, tastes .8", n_models=30, n_votes=5_000, n_raters=300, zipf=1.0, taste=0.8,
          replicates=60),
    World(name="60 models, 500 votes of 30 raters", n_models=60, n_votes=500, n_raters=30, replicates=30),
    World(name="20 models, 50,000 votes of 2,000 raters, Zipf 1", n_models=20, n_votes=50_000, n_raters=2_000, zipf=1.0,
          ties=0.5, replicates=20),
)  # fmt: skip
PLANTED = (
    World(name="ring of 10 of 100 raters", ring=10, sought="raters", replicates=40),
    World(name="a rater of 30 votes for side a", one_side=30, sought="raters", replicates=40),
    World(name="all raters lean to side a by .3", side=0.3, sought="sides", replicates=40),
    World(name="5% of votes sent twice", twice=0.05, sought="duplicates", replicates=40),
    World(name="5% of votes sent twice, 13 prompts", twice=0.05, n_prompts=13, sought="duplicates", replicates=40),
    World(name="60 votes of a rater within a minute", burst=60, zipf=1.0, sought="bursts", replicates=40),
    World(name="4% of answers name their model", leak=0.04, sought="identity", replicates=40),
    World(name="a model rises by 1.5 in 90 days", rise=1.5, sought="drift", replicates=40),
    World(name="models in a circle by .5", circle=0.5, sought="cycles", replicates=40),
)


OPTIONS = RatingOptions(prior=0.0, conf_level=0.95)
# Whether models are told apart matters to these alone; it takes as long as all checks, and has to be known only if one warns.
WEIGHED = {"prediction", "few votes", "one rater"}


def warned(votes: pl.DataFrame) -> list[str]:
    """Return the checks of `arena` that warn of votes, without what it works out for its tables."""
    table = VoteTable.of(votes)
    if connection(table.rows).is_connected:
        part = rate(table, range(table.n_models), OPTIONS, bare=True)
        # Ratings by period are shown beside the test of change.
        with patch.object(fit_checks, "period_ratings", return_value=()):
            lines = (pairing_of(table, OPTIONS)[1], *checks_of(part, side_effect(part))[-1])
        names = [line.check for line in lines if line.status == "warning"]
        if WEIGHED.isdisjoint(names):
            return names
    return [line.check for line in arena(votes).checks if line.status == "warning"]


def replicate(rng: np.random.Generator, count: int, *, world: World) -> Mapping[str, Tally]:
    """Count arenas with a warning, and those of each check (or of the one that is sought)."""
    found: Counter[str] = Counter()
    for _ in range(count):
        checks = warned(world.draw(rng))
        found.update(checks)
        found[ANY] += bool(checks)
    methods = (f"found: {world.sought}",) if world.sought else (ANY, *CHECKS)
    return {method: Tally(float(found[method.removeprefix("found: ")]), float(count)) for method in methods}


def tasks(share: float = 1.0) -> list[Task]:
    """Cut every case into parts."""
    return [
        task
        for world in (*JUDGED, *HONEST, *PLANTED)
        for task in simulated(
            NAME,
            world.name,
            partial(replicate, world=world),
            replicates=world.replicates,
            part=MANY if world in JUDGED else PART,
            share=share,
        )
    ]


def notes(tallies: Tallies) -> list[str]:
    """Say how often planted trouble is found."""
    told = [
        f"{world.name}: {100 * tally.errors / tally.total:.0f}%"
        for world in PLANTED
        if (tally := tallies.get((world.name, f"found: {world.sought}"))) is not None
    ]
    planted = f"How often trouble is found that was planted in 2,000 votes on 10 models: {'; '.join(told)}."
    few = [tally for world in HONEST if (tally := tallies.get((world.name, ANY))) is not None]
    rates = [100 * tally.errors / tally.total for tally in few]
    counts = [round(tally.total) for tally in few]
    words = (
        "Of {} further kinds of arenas, with up to 50,000 votes, {} to {} each were drawn, too few to judge: any check warned "
        "in {:.0f}% to {:.0f}%."
    )
    further = words.format(len(few), min(counts), max(counts), min(rates), max(rates)) if few else ""
    return [note for note in (further, planted if told else "") if note]


ROLES: dict[str, Role] = {ANY: "ours", **dict.fromkeys(CHECKS, "beside")}
QUESTION = Question(
    name=NAME,
    question="How often do the checks of an arena warn of honest votes?",
    design=(
        "Arenas of honest raters who have tastes of their own (normal on the log-odds scale, for each rater and model), with "
        "random pairs, sides and times over 90 days. Everything that `arena` checks is checked; counted are arenas in which "
        "any check warns, and those in which a certain one does. Small arenas stand for larger ones, of which 2,000 take hours."
    ),
    measure="false claims",
    nominal=0.1,
    methods=ROLES,
    cases=[
        Case(name=world.name, group=group, design=world.design)
        for group, worlds in (("small arenas", JUDGED), ("honest arenas", HONEST))
        for world in worlds
    ],
    tasks=tasks,
    promises=[
        Promise(
            text="Any check warns of honest votes, small arenas",
            method=ANY,
            cases=tuple(world.name for world in JUDGED),
            high=0.1,
        )
    ],
    notes=notes,
)
