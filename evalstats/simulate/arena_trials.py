"""Hundreds of small arenas at once, under one way of sampling: the votes of each, and ratings on the way.

A small arena has what sampling could interact with: raters with tastes of their own, prompts, ties, a ring. It has no apps,
sides, lengths or drift, which are alike under every way of sampling.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evalstats.simulate.arena_events import choose
from evalstats.simulate.arena_refit import refit
from evalstats.simulate.arena_sampling import SamplingRule, draw_pairs, pair_weights
from evalstats.simulate.arena_truth import mean_share
from evalstats.simulate.arena_world import zipf
from evalstats.simulate.streams import generator
from evalstats.stats.checks import FloatArray, IntArray


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialWorld:
    """What the arenas of a study have in common; all is invented.

    Strengths are drawn anew for every arena from a normal law with standard deviation `spread` (log-odds), and sorted:
    model 0 is the best. `sd_rater`, `sd_prompt`, `tie`, `activity` are as in `ArenaEffects` and `ArenaDesign`. `batch` is
    the number of votes between two refits.
    """

    name: str
    spread: float
    n_votes: int = 6_000
    batch: int = 100
    n_models: int = 24
    n_raters: int = 300
    activity: float = 0.5
    sd_rater: float = 0.5
    sd_prompt: float = 0.3
    tie: float = 0.4


@dataclass(frozen=True, slots=True, kw_only=True)
class Ring:
    """Raters who push one model: share of all votes, number of raters, whether they vote only where it is shown."""

    share: float
    target: int
    waits: bool
    n_raters: int = 10


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Arenas:
    """The truth of several arenas.

    Attributes
    ----------
    strengths
        Shape (n_arenas, n_models), log-odds of one rater without tastes.
    shares
        Shape (n_arenas, n_models, n_models): what each model gets against each other over endless raters and prompts.
    truth
        Shape (n_arenas, n_models): strengths of a Bradley-Terry fit to `shares`, all pairs alike.
    tastes
        float32, shape (n_arenas, n_raters, n_models).
    """

    world: TrialWorld
    strengths: FloatArray
    shares: FloatArray
    truth: FloatArray
    tastes: np.ndarray[tuple[int, ...], np.dtype[np.float32]]

    @property
    def n_arenas(self) -> int:
        """Number of arenas."""
        return len(self.strengths)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Trial:
    """What came of the arenas under one way of sampling.

    Attributes
    ----------
    first, second, rater
        Shape (n_arenas, n_votes).
    share
        Shape (n_arenas, n_votes): 1, 0, or .5 for a tie.
    checkpoints
        Numbers of votes at which ratings were taken.
    ratings
        Shape (n_checkpoints, n_arenas, n_models).
    """

    first: IntArray
    second: IntArray
    rater: IntArray
    share: FloatArray
    checkpoints: tuple[int, ...]
    ratings: FloatArray


def make_arenas(world: TrialWorld, n_arenas: int, *, seed: int, part: int = 0) -> Arenas:
    """Draw the truth of some arenas; the same for every way of sampling, so that differences between them are paired.

    Examples
    --------
    >>> arenas = make_arenas(TrialWorld(name="wide", spread=0.6, n_models=4), 3, seed=0)
    >>> bool(np.all(np.diff(arenas.strengths, axis=1) <= 0)), arenas.truth.shape
    (True, (3, 4))
    """
    rng = generator(seed, "arena study", world.name, str(part))
    strengths = -np.sort(-world.spread * rng.standard_normal((n_arenas, world.n_models)), axis=1)
    tastes = rng.standard_normal((n_arenas, world.n_raters, world.n_models), dtype=np.float32)
    eta = strengths[:, :, None] - strengths[:, None, :]
    shares = mean_share(eta, float(np.hypot(world.sd_rater, world.sd_prompt)), world.tie)
    return Arenas(
        world=world,
        strengths=strengths,
        shares=shares,
        truth=refit(shares * (1.0 - np.eye(world.n_models)), prior=0.0),
        tastes=np.float32(world.sd_rater) * tastes,
    )


def run_arenas(
    arenas: Arenas,
    rule: SamplingRule,
    checkpoints: Sequence[int],
    rng: np.random.Generator,
    *,
    ring: Ring | None = None,
) -> Trial:
    """Let votes come in until the last checkpoint, with a refit after every batch.

    Parameters
    ----------
    checkpoints
        Increasing numbers of votes at which ratings are kept.
    ring
        Dishonest raters; None: none.

    Examples
    --------
    >>> arenas = make_arenas(TrialWorld(name="wide", spread=0.6, n_models=4), 3, seed=0)
    >>> trial = run_arenas(arenas, SamplingRule(), [100, 200], np.random.default_rng(0))
    >>> trial.first.shape, trial.ratings.shape
    ((3, 200), (2, 3, 4))
    """
    n_models = arenas.world.n_models
    wins = np.zeros((arenas.n_arenas, n_models, n_models))
    strengths: FloatArray | None = None
    ratings: list[FloatArray] = []
    parts: list[tuple[IntArray, IntArray, IntArray, FloatArray]] = []
    warm = rule.warm_up * n_models // 2
    done = 0
    while done < checkpoints[-1]:
        n = min(rule.batch if done >= warm else warm - done, checkpoints[len(ratings)] - done)
        if rule.sampling == "random" or done < warm:
            weights = np.broadcast_to(1.0 - np.eye(n_models), wins.shape)
        else:
            weights, strengths = pair_weights(rule, wins, start=strengths)
        part = _vote(arenas, weights, n, rng, ring)
        parts.append(part)
        wins += table(part[0], part[1], part[3], n_models)
        done += n
        if done == checkpoints[len(ratings)]:
            ratings.append(refit(wins, start=strengths))
    first, second, rater, share = (np.concatenate(columns, axis=1) for columns in zip(*parts, strict=True))
    return Trial(
        first=first,
        second=second,
        rater=rater,
        share=share,
        checkpoints=tuple(checkpoints),
        ratings=np.stack(ratings),
    )


def table(
    first: IntArray, second: IntArray, share: FloatArray, n_models: int, *, weight: FloatArray | float = 1.0
) -> FloatArray:
    """Return wins of every arena, shape (n_arenas, n_models, n_models), from votes of shape (n_arenas, n_votes)."""
    n_arenas = len(first)
    lift = np.arange(n_arenas)[:, None] * n_models**2
    total = np.zeros(n_arenas * n_models**2)
    for one, other, part in ((first, second, share), (second, first, 1.0 - share)):
        total += np.bincount(
            (lift + one * n_models + other).ravel(), weights=(weight * part).ravel(), minlength=total.size
        )
    return total.reshape(n_arenas, n_models, n_models)


def _vote(
    arenas: Arenas, weights: FloatArray, n: int, rng: np.random.Generator, ring: Ring | None
) -> tuple[IntArray, IntArray, IntArray, FloatArray]:
    """Return models, raters and shares of n votes in each arena."""
    world = arenas.world
    pairs = draw_pairs(rng, weights, n)
    ends = np.cumsum(zipf(world.n_raters, world.activity))
    rater = np.searchsorted(ends / ends[-1], rng.random((arenas.n_arenas, n)), side="right").astype(np.int64)
    rows = np.arange(arenas.n_arenas)[:, None]
    pushed = None
    if ring is not None:
        of_ring = rng.random((arenas.n_arenas, n)) < ring.share
        rater = np.where(of_ring, world.n_raters - 1 - rng.integers(ring.n_raters, size=rater.shape), rater)
        if ring.waits:
            shown = opponents(weights[:, ring.target], n, rng)
            away = of_ring & ~(pairs == ring.target).any(axis=-1)
            pairs = np.where(away[..., None], np.stack([np.full_like(shown, ring.target), shown], axis=-1), pairs)
        pushed = of_ring[..., None] & (pairs == ring.target)
    utility = arenas.strengths[rows[..., None], pairs] + arenas.tastes[rows[..., None], rater[..., None], pairs]
    utility = utility + world.sd_prompt * rng.standard_normal(pairs.shape)
    chosen = choose(rng, utility, world.tie)
    share = np.array([1.0, 0.0, 0.5])[chosen]
    if pushed is not None:
        share = np.where(pushed[..., 0], 1.0, np.where(pushed[..., 1], 0.0, share))
    return pairs[..., 0], pairs[..., 1], rater, share


def opponents(weights: FloatArray, n: int, rng: np.random.Generator) -> IntArray:
    """Draw opponents of one model by their weights, shape (n_arenas, n)."""
    ends = np.cumsum(weights, axis=1)
    # Where the schedule has nobody for it, anyone will do but itself: its own weight is 0, and so stays unlikely.
    level = rng.random((len(weights), n)) * (1.0 - 2.0**-32) * ends[:, -1:]
    return (level[..., None] >= ends[:, None, :]).sum(axis=-1).clip(0, weights.shape[1] - 1)
