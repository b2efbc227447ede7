"""Events of a simulated arena: who is asked about what, whom they choose, and the pairs that this becomes."""

from dataclasses import dataclass

import numpy as np

from evalstats.simulate.arena_world import SCENARIOS, ArenaEffects, ArenaWorld
from evalstats.stats.arena.votes import A_WINS, B_WINS, BOTH_BAD, TIE
from evalstats.stats.checks import FloatArray, IntArray

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

    Parameters
    ----------
    utility
        float64, shape (..., K), log-odds.

    References
    ----------
    R. R. Davidson (1970), doi:10.1080/01621459.1970.10481082, for K = 2; ties of more by the geometric mean: Turner, van
    Etten, Firth & Kosmidis (2020), doi:10.1007/s00180-020-00959-3.
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
