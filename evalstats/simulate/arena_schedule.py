"""The votes of a simulated arena in the order in which they come: batches, refits between them, placements."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from evalstats.simulate.arena_attack import ArenaAttack, burst, infiltrated
from evalstats.simulate.arena_events import Events, Votes, ask, decide
from evalstats.simulate.arena_sampling import SamplingRule, draw_pairs, pair_weights, place
from evalstats.simulate.arena_world import ArenaDesign, ArenaEffects, ArenaWorld
from evalstats.stats.arena.votes import A_WINS, B_WINS
from evalstats.stats.checks import FloatArray, IntArray

_AT_ONCE = 100_000  # events whose further models are drawn at once: events x models numbers are held


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Batch:
    """Votes given between two refits."""

    phase: str
    events: Events
    votes: Votes


@dataclass(slots=True, kw_only=True, eq=False)
class Schedule:
    """An arena while it runs: what is fixed, the wins so far, and how many events are done.

    `present` marks the models that have come in, `wins` are those so far (n_models x n_models, ties as half).
    """

    world: ArenaWorld
    design: ArenaDesign
    effects: ArenaEffects
    rule: SamplingRule
    attack: ArenaAttack
    rng: np.random.Generator
    n_events: int
    done: int = 0
    n_bursts: int = 0
    wins: FloatArray = field(init=False)
    present: np.ndarray[tuple[int], np.dtype[np.bool_]] = field(init=False)
    strengths: FloatArray | None = None

    def __post_init__(self) -> None:
        n = self.world.n_models
        self.wins = np.zeros((n, n))
        self.present = np.arange(n) < n - self.rule.newcomers(n)

    def run(self) -> Iterator[Batch]:
        """Yield batches until all events are done. Models that come in later do so evenly over the second half."""
        waiting = np.flatnonzero(~self.present).tolist()
        due = self.n_events * (0.5 + 0.5 * np.arange(len(waiting)) / max(len(waiting), 1))
        entered = 0
        while self.done < self.n_events:
            if entered < len(waiting) and self.done >= due[entered]:
                yield from self._placement(waiting[entered])
                self.present[waiting[entered]] = True
                entered += 1
                continue
            left = int(due[entered]) - self.done if entered < len(waiting) else self.n_events - self.done
            yield self._batch(max(1, left))

    def _batch(self, most: int) -> Batch:
        """Let a batch of events happen; without a rule that looks at votes there is one batch only."""
        warm = self.rule.warm_up * int(self.present.sum()) // 2
        plain = self.rule.sampling == "random" or self.done < warm
        n = most if self.rule.sampling == "random" else min(most, warm - self.done if plain else self.rule.batch)
        if plain:
            weights = np.ones_like(self.wins)
        else:
            allowed = self._allowed() > 0
            weights, self.strengths = pair_weights(self.rule, self.wins, start=self.strengths, allowed=allowed)
        weights = weights * self._allowed()
        members = draw_members(self.rng, weights, n, self.design.event_size, self._allowed())
        return self._happen(members, weights, "random" if plain else _phase(self.rule))

    def _placement(self, new: int) -> Iterator[Batch]:
        """Place a new model by a short series against each anchor of a binary search."""
        _, strengths = pair_weights(self.rule, self.wins, start=self.strengths)
        allowed = self._met_by(new)
        ranked = np.argsort(-strengths)
        ranked = ranked[allowed[ranked]]
        batches: list[Batch] = []

        def asked(anchors: IntArray, n: int) -> FloatArray:
            n = max(1, min(n, self.n_events - self.done))
            before = self.wins[new].sum() - self.wins[:, new].sum()
            members = np.column_stack([np.full(n, new), np.full(n, anchors[0])])
            batches.append(self._happen(members, np.ones_like(self.wins), "placement"))
            after = self.wins[new].sum() - self.wins[:, new].sum()
            return np.array([0.5 + 0.5 * (after - before) / n])

        if ranked.size:
            place(asked, ranked[None, :], self.rule.series)
        yield from batches

    def _happen(self, members: IntArray, weights: FloatArray, phase: str) -> Batch:
        """Ask, let the dishonest in, let all decide, and count."""
        n, days = members.shape[0], self.design.n_days
        start, end = days * self.done / self.n_events, days * min(1.0, (self.done + n) / self.n_events)
        events = ask(self.rng, self.world, members, start=start, end=end)
        target = self.attack.target_code(self.world.names)
        events = infiltrated(
            self.rng, events, self.attack, n_raters=self.world.activity.size, target=target, weights=weights
        )
        self.done += n
        wanted = int(self.attack.n_bursts * self.done / self.n_events)
        while self.n_bursts < wanted:
            events = burst(self.rng, events, self.attack.burst_size)
            self.n_bursts += 1
        votes = decide(self.rng, self.world, self.effects, events, middle=days / 2)
        self.wins += counted(votes, self.world.n_models)
        return Batch(phase=phase, events=events, votes=votes)

    def _allowed(self) -> FloatArray:
        """Return 1 for pairs that may meet: both have come in and are of one island."""
        island = np.arange(self.world.n_models) % self.design.n_islands
        same = island[:, None] == island[None, :]
        allowed = same & self.present[:, None] & self.present[None, :] & ~np.eye(self.world.n_models, dtype=np.bool_)
        return allowed.astype(np.float64)

    def _met_by(self, new: int) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        island = np.arange(self.world.n_models) % self.design.n_islands
        return self.present & (island == island[new])


def draw_members(rng: np.random.Generator, weights: FloatArray, n: int, size: int, allowed: FloatArray) -> IntArray:
    """Draw the models of events: a pair by its weight, further ones by their weight with the first of the pair.

    Where fewer models than are needed have a weight with the first, others that it may meet fill up.

    Returns
    -------
    int64 array, shape (n, size)
    """
    pairs = draw_pairs(rng, weights, n)
    if size == 2:
        return pairs
    with np.errstate(divide="ignore"):
        liking = np.log(np.where(allowed > 0, np.maximum(weights, 1e-9), 0.0))
    parts: list[IntArray] = []
    for first in range(0, n, _AT_ONCE):
        part = pairs[first : first + _AT_ONCE]
        keys = liking[part[:, 0]] + rng.gumbel(size=(part.shape[0], weights.shape[0]))
        np.put_along_axis(keys, part, -np.inf, axis=1)
        parts.append(np.concatenate([part, np.argsort(-keys, axis=1)[:, : size - 2]], axis=1))
    return np.concatenate(parts)


def counted(votes: Votes, n_models: int) -> FloatArray:
    """Return wins, shape (n_models, n_models), a tie as half a win of either."""
    place = votes.first * n_models + votes.second
    share = np.where(votes.outcome == A_WINS, 1.0, np.where(votes.outcome == B_WINS, 0.0, 0.5))
    shape = (n_models, n_models)
    won = np.bincount(place, weights=share, minlength=n_models**2).astype(np.float64).reshape(shape)
    lost = np.bincount(place, weights=1.0 - share, minlength=n_models**2).astype(np.float64).reshape(shape)
    return won + lost.T


def _phase(rule: SamplingRule) -> str:
    return "proximity" if rule.sampling == "placement" else rule.sampling
