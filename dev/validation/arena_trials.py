"""Hundreds of small arenas at once under one way of sampling, newcomers in them, and what is measured of their ratings.

A small arena has what sampling could interact with: raters with tastes of their own, prompts, ties, a ring. It has no apps,
sides, lengths or drift, which are alike under every way of sampling.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from dev.validation.arena_rules import SamplingRule, pair_weights, place
from evalstats.simulate.arena import choose
from evalstats.simulate.arena_world import draw_pairs, mean_share, refit, zipf
from evalstats.simulate.draws import generator
from evalstats.stats.arena.bradley_terry import ELO_PER_LOG_ODDS, fit_strengths
from evalstats.stats.arena.covariance import contrast_variance, covariance_of
from evalstats.stats.arena.votes import A_WINS, B_WINS, TIE, vote_rows
from evalstats.stats.checks import FloatArray, IntArray
from evalstats.stats.estimate import t_quantile


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


POINTS = ELO_PER_LOG_ODDS  # rating points per log-odds


def pairs_in_order(ratings: FloatArray, truth: FloatArray) -> FloatArray:
    """Return the share of pairs of models that ratings put in the true order: (1 + Kendall's tau) / 2; shape (n_arenas,).

    Examples
    --------
    >>> pairs_in_order(np.array([[3.0, 1.0, 2.0]]), np.array([[3.0, 2.0, 1.0]])).round(3).tolist()
    [0.667]
    """
    i, j = np.triu_indices(int(truth.shape[1]), 1)
    agree = (ratings[:, i] > ratings[:, j]) == (truth[:, i] > truth[:, j])
    return agree.mean(axis=1)


def ranks(ratings: FloatArray) -> IntArray:
    """Return ranks, 1 for the highest rating; shape as `ratings`."""
    return 1 + np.argsort(np.argsort(-ratings, axis=1), axis=1)


def places_moved(before: FloatArray, after: FloatArray) -> FloatArray:
    """Return by how many places a model moves, on average over models; shape (n_arenas,).

    Examples
    --------
    >>> places_moved(np.array([[3.0, 2.0, 1.0]]), np.array([[3.0, 1.0, 2.0]])).round(3).tolist()
    [0.667]
    """
    return np.abs(ranks(before) - ranks(after)).mean(axis=1)


def places_moved_by_other_raters(arenas: Arenas, trial: Trial, rng: np.random.Generator) -> FloatArray:
    """Return by how many places models move where raters are drawn again with replacement; shape (n_arenas,).

    One resample an arena: each rater counts as often as a Poisson draw says. The schedule stays as it was.
    """
    n_models = arenas.world.n_models
    counts = rng.poisson(1.0, size=(arenas.n_arenas, arenas.world.n_raters)).astype(np.float64)
    weight = np.take_along_axis(counts, trial.rater, axis=1)
    again = refit(table(trial.first, trial.second, trial.share, n_models, weight=weight), start=trial.ratings[-1])
    return places_moved(trial.ratings[-1], again)


def violations(wins: FloatArray) -> FloatArray:
    """Return the share of triples i over j over k, by majorities, in which k is over i; shape (n_arenas,).

    Only triples of which all three pairs have a majority count; NaN where an arena has none. A circle counts once from each
    of its three models.

    Examples
    --------
    >>> wins = np.array([[[0.0, 2.0, 0.0], [1.0, 0.0, 2.0], [3.0, 1.0, 0.0]]])
    >>> violations(wins).tolist()
    [1.0]
    """
    over = (wins > np.swapaxes(wins, -1, -2)).astype(np.float64)
    paths = over @ over
    right = (paths * over).sum(axis=(-1, -2))
    wrong = (paths * np.swapaxes(over, -1, -2)).sum(axis=(-1, -2))
    total = right + wrong
    return np.where(total > 0, wrong / np.maximum(total, 1.0), np.nan)


def error_points(ratings: FloatArray, truth: FloatArray, first: IntArray, second: IntArray) -> FloatArray:
    """Return the errors of contrasts first - second in rating points, shape (n_arenas, n_contrasts)."""
    off = ratings - truth
    return POINTS * (off[:, first] - off[:, second])


def covered(arenas: Arenas, trial: Trial, first: IntArray, second: IntArray) -> FloatArray:
    """Return which 95% intervals of contrasts hold the truth: floats 0 or 1 of shape (n_arenas, n_contrasts).

    The intervals are those of evalstats: Bradley-Terry with ties as half a win, covariance clustered by rater, t law.
    """
    held = np.zeros((arenas.n_arenas, first.size))
    outcome = np.where(trial.share == 1.0, A_WINS, np.where(trial.share == 0.0, B_WINS, TIE))
    for arena in range(arenas.n_arenas):
        rows = vote_rows(
            trial.first[arena],
            trial.second[arena],
            outcome[arena],
            n_models=arenas.world.n_models,
            clusters=(trial.rater[arena],),
        )
        fit = fit_strengths(rows)
        covariance = covariance_of(fit, rows)
        reach = t_quantile(0.95, covariance.df) * np.sqrt(contrast_variance(covariance, first, second))
        off = fit.strengths - arenas.truth[arena]
        held[arena] = np.abs(off[first] - off[second]) <= reach
    return held


Way = Literal["random", "placement"]


def newcomer_errors(
    arenas: Arenas, trial: Trial, way: Way, budgets: tuple[int, ...], rng: np.random.Generator, *, rule: SamplingRule
) -> dict[int, tuple[FloatArray, FloatArray]]:
    """Rate a model anew whose earlier votes are taken away, from as many votes as the budgets say.

    Parameters
    ----------
    trial
        Votes of all models. In each arena one model, drawn at random, becomes the new one.
    way
        "random": opponents drawn alike. "placement": a binary search by `rule.series`, then proximity by `rule`.
    budgets
        Increasing numbers of votes of the new model.

    Returns
    -------
    dict
        For each budget the errors of its rank (places) and of its rating (points), absolute, of shape (n_arenas,).
    """
    n_models = arenas.world.n_models
    everyone = np.arange(arenas.n_arenas)
    new = rng.integers(n_models, size=arenas.n_arenas)
    wins = table(trial.first, trial.second, trial.share, n_models)
    wins[everyone, new, :] = 0.0
    wins[everyone, :, new] = 0.0
    others = _others(refit(wins), new)
    won: list[tuple[IntArray, FloatArray]] = []

    def asked(anchors: IntArray, n: int) -> FloatArray:
        at = np.repeat(np.maximum(anchors, 0)[:, None], n, axis=1)
        share = _shares(arenas, new, at, rng)
        # Where the search has ended, nobody is asked.
        won.append((np.where(anchors[:, None] < 0, -1, at), share))
        return share.mean(axis=1)

    if way == "placement":
        place(asked, others, rule.series)
    found: dict[int, tuple[FloatArray, FloatArray]] = {}
    for budget in budgets:
        while _fewest(won) < budget:
            n = min(10, budget - _fewest(won))
            weights = np.ones((arenas.n_arenas, n_models))
            if way == "placement":
                weights = pair_weights(rule, _with(wins, new, won, budget))[0][everyone, new]
            weights[everyone, new] = 0.0
            against = opponents(weights, n, rng)
            won.append((against, _shares(arenas, new, against, rng)))
        ratings = refit(_with(wins, new, won, budget))
        found[budget] = _errors(ratings, arenas.truth, new)
    return found


def _others(ratings: FloatArray, new: IntArray) -> IntArray:
    """Return the other models from best to worst, shape (n_arenas, n_models - 1)."""
    order = np.argsort(-ratings, axis=1)
    return order[order != new[:, None]].reshape(len(order), -1)


def _shares(arenas: Arenas, new: IntArray, against: IntArray, rng: np.random.Generator) -> FloatArray:
    """Return the new model's share of each vote, shape as `against`."""
    world = arenas.world
    pairs = np.stack([np.broadcast_to(new[:, None], against.shape), against], axis=-1)
    rows = np.arange(arenas.n_arenas)[:, None, None]
    rater = rng.integers(world.n_raters, size=against.shape)
    utility = arenas.strengths[rows, pairs] + arenas.tastes[rows, rater[..., None], pairs]
    chosen = choose(rng, utility + world.sd_prompt * rng.standard_normal(pairs.shape), world.tie)
    return np.array([1.0, 0.0, 0.5])[chosen]


def _fewest(won: list[tuple[IntArray, FloatArray]]) -> int:
    """Return how many votes the new model has in the arena where it has fewest."""
    return int(np.sum([(against >= 0).sum(axis=1) for against, _ in won], axis=0).min()) if won else 0


def _with(wins: FloatArray, new: IntArray, won: list[tuple[IntArray, FloatArray]], budget: int) -> FloatArray:
    """Return the table with the first `budget` votes of the new model."""
    if not won:
        return wins
    against = np.concatenate([each for each, _ in won], axis=1)
    share = np.concatenate([each for _, each in won], axis=1)
    given = against >= 0
    given &= np.cumsum(given, axis=1) <= budget
    both = np.broadcast_to(new[:, None], against.shape)
    return wins + table(both, np.maximum(against, 0), share, int(wins.shape[-1]), weight=given.astype(np.float64))


def _errors(ratings: FloatArray, truth: FloatArray, new: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return how far rank and rating of the new model are off; ratings are held against the mean of the others."""
    rows = np.arange(len(new))
    off = (ratings - truth)[rows, new]
    rest = ((ratings - truth).sum(axis=1) - off) / (ratings.shape[1] - 1)
    rank = [(each > each[rows, new][:, None]).sum(axis=1) for each in (ratings, truth)]
    return np.abs(rank[0] - rank[1]).astype(np.float64), POINTS * np.abs(off - rest)
