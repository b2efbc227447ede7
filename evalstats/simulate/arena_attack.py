"""Votes that are not honest: a ring for one model, raters of one side, votes sent twice, bursts. All is invented."""

from dataclasses import dataclass, replace

import numpy as np

from evalstats.errors import InputError
from evalstats.simulate.arena_events import HONEST, RING, SIDE, Events
from evalstats.simulate.scenario_truth import check_share
from evalstats.stats.checks import FloatArray, IntArray, check_count

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
