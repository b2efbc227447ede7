"""Events of a simulated arena in the order in which they come: who is asked, whom they choose, attacks, batches, refits."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from evalstats.errors import InputError
from evalstats.simulate.arena_world import (
    SCENARIOS,
    ArenaDesign,
    ArenaEffects,
    ArenaWorld,
    SamplingRule,
    draw_pairs,
    pair_weights,
    place,
)
from evalstats.simulate.draws import check_share
from evalstats.stats.arena.votes import A_WINS, B_WINS, BOTH_BAD, TIE
from evalstats.stats.checks import FloatArray, IntArray, check_count

MONTH = 30.0  # days
# What a manipulated event is; honest ones are 0.
HONEST, RING, SIDE = 0, 1, 2


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Events:
    """What is asked in each event; arrays of shape (n_events,) but for `members`, (n_events, K), in the order shown.

    `time` is in days; `kind` is HONEST, RING or SIDE; `target` is the model that the ring pushes, -1 for none.
    """

    members: IntArray
    rater: IntArray
    prompt: IntArray
    app: IntArray
    scenario: IntArray
    language: IntArray
    turn: IntArray
    time: FloatArray
    kind: IntArray
    target: int = -1

    @property
    def n_events(self) -> int:
        """Number of events."""
        return self.rater.size


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Votes:
    """Pairs that events were reduced to; arrays of shape (n_votes,).

    `event` is the event's number, `rank_a` and `rank_b` are 1 for the chosen model and 2 for the others (0 where there was
    no choice or only two models), lengths are in tokens.
    """

    event: IntArray
    first: IntArray
    second: IntArray
    outcome: IntArray
    rank_a: IntArray
    rank_b: IntArray
    length_a: IntArray
    length_b: IntArray


def ask(rng: np.random.Generator, world: ArenaWorld, members: IntArray, *, start: float, end: float) -> Events:
    """Draw everything about events but their outcome; times are sorted and lie between `start` and `end` (days)."""
    n = len(members)
    rater = drawn(rng, world.activity, n)
    prompt = np.full(n, -1, dtype=np.int64) if world.prompts is None else rng.integers(len(world.prompts), size=n)
    scenario = rng.integers(len(SCENARIOS), size=n)
    turn = rng.geometric(0.25, size=n)
    time = rng.uniform(start, end, size=n)
    kind = np.full(n, HONEST, dtype=np.int64)
    return Events(
        members=rng.permuted(members, axis=1),
        rater=rater,
        prompt=prompt,
        app=world.rater_app[rater],
        scenario=scenario,
        language=world.rater_language[rater],
        turn=turn,
        time=np.sort(time),
        kind=kind,
    )


def decide(
    rng: np.random.Generator, world: ArenaWorld, effects: ArenaEffects, events: Events, *, middle: float
) -> Votes:
    """Let every rater choose, and reduce each event of K models to K - 1 pairs.

    The chosen model is paired with each of the others; without a choice the model shown first is, as ties. In a pair side a
    is the model that was shown earlier. `middle` is the day at which `world.strengths` hold.
    """
    n, k = (int(size) for size in events.members.shape)
    lengths = np.maximum(
        1, np.exp(world.log_length[events.members] + effects.sd_length * rng.standard_normal((n, k)))
    ).astype(np.int64)
    months = ((events.time - middle) / MONTH)[:, None]
    utility = _utility(rng, world, effects, events, lengths) + world.drift[events.members] * months
    chosen = _manipulated(events, choose(rng, utility, effects.tie))
    bad = rng.random(n) < effects.both_bad
    tied = chosen == k
    # The chosen model (or the first) against the others, in the order shown.
    head = np.where(tied, 0, chosen)[:, None]
    rest = np.arange(k - 1)[None, :]
    other = rest + (rest >= head)
    left, right = np.minimum(head, other), np.maximum(head, other)
    won = np.where(left == head, A_WINS, B_WINS)
    outcome = np.where(tied[:, None], np.where(bad, BOTH_BAD, TIE)[:, None], won).ravel()
    ranked = np.repeat(~tied, k - 1) & (k > 2)
    return Votes(
        event=np.repeat(np.arange(n), k - 1),
        first=np.take_along_axis(events.members, left, axis=1).ravel(),
        second=np.take_along_axis(events.members, right, axis=1).ravel(),
        outcome=outcome,
        rank_a=np.where(ranked, 1 + (outcome == B_WINS), 0),
        rank_b=np.where(ranked, 1 + (outcome == A_WINS), 0),
        length_a=np.take_along_axis(lengths, left, axis=1).ravel(),
        length_b=np.take_along_axis(lengths, right, axis=1).ravel(),
    )


def choose(rng: np.random.Generator, utility: FloatArray, tie: float) -> IntArray:
    """Return which of K models is chosen, K for none: P(m) : P(none) = exp(u_m) : tie x exp(mean of u).

    `utility`, of shape (..., K), is in log-odds. R. R. Davidson (1970), doi:10.1080/01621459.1970.10481082, for K = 2; ties of
    more by the geometric mean: Turner, van Etten, Firth & Kosmidis (2020), doi:10.1007/s00180-020-00959-3.
    """
    none = np.full_like(utility[..., :1], -np.inf)
    if tie > 0:
        none = utility.mean(axis=-1, keepdims=True) + np.log(tie)
    every = np.concatenate([utility, none], axis=-1)
    # The largest of utilities with Gumbel noise is the m-th with a probability proportional to exp(u_m).
    return np.argmax(every + rng.gumbel(size=every.shape), axis=-1)


def _utility(
    rng: np.random.Generator, world: ArenaWorld, effects: ArenaEffects, events: Events, lengths: IntArray
) -> FloatArray:
    """Return the utilities without drift, shape (n_events, K)."""
    models = events.members
    utility = world.strengths[models]
    utility += world.apps[events.app[:, None], models] + world.scenarios[events.scenario[:, None], models]
    utility += world.tastes[events.rater[:, None], models]
    if world.prompts is None:
        utility += effects.sd_prompt * rng.standard_normal(models.shape)
    else:
        utility += world.prompts[events.prompt[:, None], models]
    utility[:, 0] += effects.side
    return utility + effects.style * (lengths / lengths.mean(axis=1, keepdims=True) - 1) / 2


def _manipulated(events: Events, chosen: IntArray) -> IntArray:
    """Raters of a ring choose its model where it is shown; raters of a side what is shown first."""
    place = np.argmax(events.members == events.target, axis=1)
    pushed = (events.kind == RING) & (events.members == events.target).any(axis=1)
    return np.where(pushed, place, np.where(events.kind == SIDE, 0, chosen))


def drawn(rng: np.random.Generator, shares: FloatArray, n: int) -> IntArray:
    """Draw indices by their shares; by bisection, since `choice` with shares is slower for many votes."""
    ends = np.cumsum(shares)
    return np.searchsorted(ends / ends[-1], rng.random(n), side="right").astype(np.int64)


_MINUTE = 1.0 / (24 * 60)  # days


@dataclass(frozen=True, slots=True, kw_only=True)
class ArenaAttack:
    """What is wrong with some votes; by default nothing.

    Attributes
    ----------
    ring_share, ring_raters, target
        Share of the events that a ring of so many raters votes in; it chooses `target` (a name) wherever it is shown, and
        votes honestly elsewhere.
    waits
        The ring votes only where its model is shown: it asks again until it is.
    side_share, side_raters
        Share of the events in which raters choose what is shown first, and how many raters these are.
    duplicate_share
        Share of votes that are sent a second time, within a minute, as a vote of the same event.
    n_bursts, burst_size
        So often one rater votes in so many events within a minute.
    """

    ring_share: float = 0.0
    ring_raters: int = 10
    target: str | None = None
    waits: bool = False
    side_share: float = 0.0
    side_raters: int = 5
    duplicate_share: float = 0.0
    n_bursts: int = 0
    burst_size: int = 50

    def __post_init__(self) -> None:
        for name in ("ring_share", "side_share", "duplicate_share"):
            check_share(name, getattr(self, name))
        check_count(self.ring_raters, "ring_raters", least=1)
        check_count(self.side_raters, "side_raters", least=1)
        check_count(self.n_bursts, "n_bursts")
        check_count(self.burst_size, "burst_size", least=2)
        if self.ring_share and self.target is None:
            raise InputError("a ring votes, but for nobody: name its target")

    def target_code(self, names: tuple[str, ...]) -> int:
        """Return the number of the ring's model; -1 for none."""
        if self.target is None:
            return -1
        if self.target not in names:
            raise InputError(f"the ring's target {self.target!r} is no model of this arena")
        return names.index(self.target)


def infiltrated(
    rng: np.random.Generator, events: Events, attack: ArenaAttack, *, n_raters: int, target: int, weights: FloatArray
) -> Events:
    """Give some events to the ring (the last raters of the list) and to raters of one side (those before them)."""
    if not (attack.ring_share or attack.side_share):
        return events
    n = events.n_events
    what = rng.random(n)
    ring = what < attack.ring_share
    side = ~ring & (what < attack.ring_share + attack.side_share)
    n_ring = min(attack.ring_raters, n_raters)
    n_side = min(attack.side_raters, n_raters)
    rater = np.where(ring, n_raters - 1 - rng.integers(n_ring, size=n), events.rater)
    rater = np.where(side, (n_raters - 1 - n_ring - rng.integers(n_side, size=n)) % n_raters, rater)
    members = events.members
    if attack.waits:
        members = _with_target(rng, members, ring, target, weights)
    kind = np.where(ring, RING, np.where(side, SIDE, HONEST))
    return replace(events, rater=rater, kind=kind, target=target, members=members)


def burst(rng: np.random.Generator, events: Events, size: int) -> Events:
    """Let the rater of one event have voted in the next ones too, all within a minute."""
    size = min(size, events.n_events)
    first = int(rng.integers(events.n_events - size + 1))
    rows = slice(first, first + size)
    rater, time = events.rater.copy(), events.time.copy()
    rater[rows] = rater[first]
    time[rows] = time[first] + np.sort(rng.uniform(0.0, _MINUTE, size=size))
    return replace(events, rater=rater, time=time)


def sent_twice(rng: np.random.Generator, time: FloatArray, share: float) -> tuple[IntArray, FloatArray]:
    """Return which votes are sent a second time, and when (days)."""
    rows = np.flatnonzero(rng.random(time.size) < share)
    return rows, time[rows] + rng.uniform(0.0, _MINUTE, size=rows.size)


def _with_target(
    rng: np.random.Generator, members: IntArray, ring: np.ndarray, target: int, weights: FloatArray
) -> IntArray:
    """Return members of which those of the ring hold the target; its opponents are those that the schedule gives it."""
    rows = np.flatnonzero(ring & ~(members == target).any(axis=1))
    near = weights[target].astype(np.float64)
    if not rows.size or near.sum() <= 0:
        return members
    changed = members.copy()
    k = members.shape[1]
    # The first opponents in an order drawn by weight (Gumbel), one order an event.
    keys = np.log(np.maximum(near, 1e-300)) + rng.gumbel(size=(rows.size, near.size))
    keys[:, target] = -np.inf
    opponents = np.argsort(-keys, axis=1)[:, : k - 1]
    shown = np.concatenate([np.full((rows.size, 1), target), opponents], axis=1)
    changed[rows] = rng.permuted(shown, axis=1)
    return changed


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
    """Draw the models of events, shape (n, size): a pair by its weight, further ones by their weight with the first of the pair.

    Where fewer models than are needed have a weight with the first, others that it may meet fill up.
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
