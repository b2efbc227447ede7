"""Do majorities go round in circles, more than chance makes them?"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from evalstats.errors import CannotAnswerError
from evalstats.stats.arena.goodness import AgainstDrawn, against_drawn
from evalstats.stats.arena.simulated import CheckCells, Simulated, VoteTables
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
        Observed and drawn votes (`evalstats.stats.arena.simulated.simulated`). All models are transitive in truth under the
        fit; votes are as many for each pair as observed.

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
    >>> from evalstats.stats.arena.simulated import simulated
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
