"""What is measured of simulated arenas: is the order right, does it hold still, are intervals honest, does a ring get on?"""

import numpy as np

from evalstats.simulate.arena_refit import refit
from evalstats.simulate.arena_trials import Arenas, Trial, table
from evalstats.stats.arena.bradley_terry import fit_strengths
from evalstats.stats.arena.covariance import contrast_variance, covariance_of
from evalstats.stats.arena.elo import ELO_PER_LOG_ODDS
from evalstats.stats.arena.votes import A_WINS, B_WINS, TIE, vote_rows
from evalstats.stats.checks import FloatArray, IntArray
from evalstats.stats.estimate import t_quantile

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
