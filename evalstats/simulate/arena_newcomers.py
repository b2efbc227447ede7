"""How fast a new model finds its place among rated ones: by placement matches, or against anyone."""

from typing import Literal

import numpy as np

from evalstats.simulate.arena_events import choose
from evalstats.simulate.arena_measures import POINTS
from evalstats.simulate.arena_refit import refit
from evalstats.simulate.arena_sampling import SamplingRule, pair_weights, place
from evalstats.simulate.arena_trials import Arenas, Trial, opponents, table
from evalstats.stats.checks import FloatArray, IntArray

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
