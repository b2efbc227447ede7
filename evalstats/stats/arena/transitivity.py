"""Do majorities go round in circles? Counts of circular triads, and the part of the log-odds that no rating describes."""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from evalstats.errors import CannotAnswerError
from evalstats.stats.arena.goodness_of_fit import AgainstDrawn, against_drawn
from evalstats.stats.arena.parametric_bootstrap import CheckCells, Simulated, VoteTables, pseudo_inverse
from evalstats.stats.checks import FloatArray, IntArray
from evalstats.stats.computation import one_thread


@dataclass(frozen=True, slots=True, kw_only=True)
class Transitivity:
    """Triples of models that contradict transitivity, beside what chance makes of transitive strengths.

    Attributes
    ----------
    triples
        Ordered triples i, j, k with i ahead of j and j of k by a majority of their direct votes, where i and k met.
    violations
        Those in which k is ahead of i. A circle counts three times, once from each of its models.
    share
        violations / triples beside its law under the fit. Never to be read without it: with few votes a pair, majorities
        contradict the best of models.
    """

    triples: int
    violations: int
    share: AgainstDrawn


@one_thread
def transitivity(votes: Simulated) -> Transitivity:
    """Count contradictions among majorities, and compare with votes drawn under the fit.

    Parameters
    ----------
    votes
        Observed and drawn votes, from `simulated`. All models are transitive in truth under the fit; votes are as many for
        each pair as observed.

    Raises
    ------
    CannotAnswerError
        If no three models have such majorities, in the votes or in most of the draws.

    References
    ----------
    Kendall & Babington Smith 1940, doi:10.1093/biomet/31.3-4.324 (circular triads).

    Examples
    --------
    >>> from evalstats.stats.arena.bradley_terry import fit_strengths
    >>> from evalstats.stats.arena.parametric_bootstrap import simulated
    >>> from evalstats.stats.arena.votes import vote_rows
    >>> cycle = vote_rows([0, 0, 1, 1, 0, 0], [1, 1, 2, 2, 2, 2], [0, 1, 0, 1, 1, 0], count=[16, 4, 17, 3, 14, 6])
    >>> found = transitivity(simulated(fit_strengths(cycle), cycle))
    >>> found.triples, found.violations
    (3, 3)
    """
    triples, violations = _counts(votes.cells, votes.observed)
    if not triples[0]:
        raise CannotAnswerError(
            "no three models met each other with a majority between them, so nothing can contradict transitivity"
        )
    drawn, against = _counts(votes.cells, votes.drawn)
    some = drawn > 0
    if some.mean() < 0.5:
        raise CannotAnswerError(
            "most tables drawn under the fit hold no three models with majorities, so there is no expected share to compare"
        )
    observed = float(violations[0] / triples[0])
    return Transitivity(
        triples=int(triples[0]),
        violations=int(violations[0]),
        share=against_drawn(observed, against[some] / drawn[some]),
    )


def _counts(cells: CheckCells, table: VoteTables) -> tuple[IntArray, IntArray]:
    """Return triples and violations of each table, shape (n_tables,)."""
    n = cells.n_models
    lead = cells.by_pair(table.won - table.lost)
    met: npt.NDArray[np.float32] = np.zeros((n, n), dtype=np.float32)
    met[cells.pair_first, cells.pair_second] = met[cells.pair_second, cells.pair_first] = 1.0
    found = np.array([_of_majorities(_ahead(cells, row), met) for row in lead], dtype=np.int64)
    return found[:, 0], found[:, 1]


def _ahead(cells: CheckCells, lead: FloatArray) -> npt.NDArray[np.float32]:
    out = np.zeros((cells.n_models, cells.n_models), dtype=np.float32)
    out[cells.pair_first, cells.pair_second] = lead > 0.0
    out[cells.pair_second, cells.pair_first] = lead < 0.0
    return out


def _of_majorities(ahead: npt.NDArray[np.float32], met: npt.NDArray[np.float32]) -> tuple[int, int]:
    """Ways from i to k by one model in between, where i and k met, and where k is ahead of i."""
    # Single precision counts exactly up to 2^24 models in between; sums over pairs are made in double.
    ways = ahead @ ahead
    return round(float((ways * met).sum(dtype=np.float64))), round(float((ways * ahead.T).sum(dtype=np.float64)))


SMOOTHING = 0.5


_NO_ENERGY = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True)
class HodgeParts:
    """The energy of observed log-odds, split.

    Attributes
    ----------
    potential
        float64, shape (n_models,), log-units, sum 0: the ratings that describe the log-odds best.
    gradient, circles
        Energy (weighted squares) of what those ratings describe; of circles, short ones (curl) and long ones (harmonic).
    share
        circles / all, beside its law under the fit.
    """

    potential: FloatArray
    gradient: float
    circles: float
    share: AgainstDrawn


@one_thread
def hodge_parts(votes: Simulated) -> HodgeParts:
    """Split the log-odds of pairs into ratings and circles.

    Parameters
    ----------
    votes
        Observed and drawn votes (`evalstats.stats.arena.parametric_bootstrap.simulated`).

    Raises
    ------
    CannotAnswerError
        If pairs form no circle, so that ratings describe any log-odds.

    Notes
    -----
    The log-odds of a pair with share y of n votes (ties half) are log((n y + 1/2)/(n - n y + 1/2)): half a vote is added
    to either side, which keeps them finite where one model won all; effects of covariates are taken off. Weights are the
    information of the pair under the fit, for "half" n p (1 - p), the same for all tables. Weighted least squares gives
    ratings; what is left is all circles.

    Chance alone makes circles: a share of them means nothing without its law. In a drawn table that law has its own circles
    and the ratings' energy as observed, since strengths that are estimated are further apart than true ones.

    Examples
    --------
    >>> from evalstats.stats.arena.bradley_terry import fit_strengths
    >>> from evalstats.stats.arena.parametric_bootstrap import simulated
    >>> from evalstats.stats.arena.votes import vote_rows
    >>> cycle = vote_rows([0, 0, 1, 1, 0, 0], [1, 1, 2, 2, 2, 2], [0, 1, 0, 1, 1, 0], count=[15, 5, 15, 5, 15, 5])
    >>> found = hodge_parts(simulated(fit_strengths(cycle), cycle))
    >>> round(found.share.observed, 6), found.share.p_value < 0.02
    (1.0, True)
    """
    cells = votes.cells
    if cells.n_pairs < cells.n_models:
        raise CannotAnswerError(
            f"{cells.n_models} models met in too few pairs ({cells.n_pairs}) to form a circle; ratings describe any outcome"
        )
    weight = cells.by_pair(cells.count * votes.observed.law(cells).information[0])
    solve = pseudo_inverse(cells.laplacian(weight))
    flow = _log_odds(cells, votes.observed)
    potential, rest = _split(cells, flow, weight, solve)
    circles = float((weight * rest**2).sum())
    gradient = float((weight * (flow[0] - rest[0]) ** 2).sum())
    if circles + gradient <= _NO_ENERGY:
        raise CannotAnswerError("every pair of models is even, so there is nothing for ratings or circles to describe")
    drawn = (weight * _split(cells, _log_odds(cells, votes.drawn), weight, solve)[1] ** 2).sum(axis=1)
    return HodgeParts(
        potential=potential[0],
        gradient=gradient,
        circles=circles,
        share=replace(
            against_drawn(circles / (circles + gradient), drawn / (drawn + gradient)),
            # The same order as that of the shares, also where ratings describe nothing and every share is 1.
            p_value=against_drawn(circles, drawn).p_value,
        ),
    )


def _log_odds(cells: CheckCells, table: VoteTables) -> FloatArray:
    """Return smoothed log-odds of every pair less what covariates add, shape (n_tables, n_pairs)."""
    ahead = cells.by_pair(table.won + table.tied / 2.0)
    count = cells.by_pair(cells.count)
    added = cells.by_pair(cells.count * cells.offset) / count
    return np.log(ahead + SMOOTHING) - np.log(count - ahead + SMOOTHING) - added


def _split(cells: CheckCells, flow: FloatArray, weight: FloatArray, solve: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the best ratings of every table, and what they leave over of the log-odds."""
    i, j, n = cells.pair_first, cells.pair_second, cells.n_models
    incidence = np.zeros((cells.n_pairs, n))
    incidence[np.arange(i.size), i], incidence[np.arange(i.size), j] = 1.0, -1.0
    potential = (flow * weight) @ incidence @ solve
    potential -= potential.mean(axis=1, keepdims=True)
    return potential, flow - (potential[:, i] - potential[:, j])
