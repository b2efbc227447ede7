"""Strengths from a part of the votes alone: one period, one category."""

from dataclasses import dataclass, replace

import numpy as np

from evalstats.errors import CannotAnswerError
from evalstats.stats.arena.bradley_terry import fit_strengths
from evalstats.stats.arena.covariance import StrengthCovariance, combination_variance, covariance_of
from evalstats.stats.arena.existence import connection
from evalstats.stats.arena.fit import PairFit, Ties
from evalstats.stats.arena.votes import VoteRows
from evalstats.stats.checks import FloatArray, IntArray


@dataclass(frozen=True, slots=True, kw_only=True)
class SliceFit:
    """Strengths of the models that a part of the votes connects.

    Attributes
    ----------
    models
        int64, ascending: the models of the largest connected group, in the numbering of all votes.
    fit, covariance
        In the order of `models`.
    """

    models: IntArray
    fit: PairFit
    covariance: StrengthCovariance

    def against(self, anchors: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return each model's strength less the anchors' mean, and the standard errors; shape (n_models,).

        A difference without an error (the only anchor itself) has NaN for it.
        """
        inside = np.isin(self.models, anchors)
        weights = np.zeros((self.models.size, self.fit.n_parameters))
        weights[:, : self.models.size] = np.eye(self.models.size) - inside / max(int(inside.sum()), 1)
        variance = combination_variance(self.covariance, weights)
        known = variance > 1e-12 * max(float(variance.max(initial=0.0)), 1e-300)
        error = np.where(known, np.sqrt(np.where(known, variance, 1.0)), np.nan)
        return self.fit.strengths - float(self.fit.strengths[inside].mean()), error


def slice_fit(rows: VoteRows, *, ties: Ties = "half", prior: float = 0.0) -> SliceFit:
    """Fit strengths to a part of the votes with their covariance, for the models that `slice_strengths` rates.

    Examples
    --------
    >>> from evalstats.stats.arena.votes import vote_rows
    >>> rows = vote_rows([0, 0, 0], [2, 2, 1], [0, 1, 0], n_models=4, count=[30, 10, 5])
    >>> found = slice_fit(rows)
    >>> found.models.tolist(), found.against(np.array([0, 2]))[1].round(3).tolist()
    ([0, 2], [0.183, 0.183])
    """
    models, fit, numbered = slice_strengths(rows, ties=ties, prior=prior)
    return SliceFit(models=models, fit=fit, covariance=covariance_of(fit, numbered))


def slice_strengths(rows: VoteRows, *, ties: Ties = "half", prior: float = 0.0) -> tuple[IntArray, PairFit, VoteRows]:
    """Fit strengths to a part of the votes, for the largest group of models that these votes connect.

    Parameters
    ----------
    rows
        Votes of the part, with models numbered as in all votes.
    prior
        As in `fit_strengths`; with a prior every model that has a vote is rated.

    Returns
    -------
    tuple
        The models, ascending; their fit, in that order; and the votes between them, numbered so.

    Raises
    ------
    CannotAnswerError
        If the votes connect no two models.

    Examples
    --------
    >>> from evalstats.stats.arena.votes import vote_rows
    >>> rows = vote_rows([0, 0, 0], [2, 2, 1], [0, 1, 0], n_models=4, count=[30, 10, 5])
    >>> slice_strengths(rows)[0].tolist()
    [0, 2]
    """
    heavy = rows.take(rows.weight > 0.0)
    if not heavy.n_rows:
        raise CannotAnswerError("there are no votes of any weight")
    if prior > 0.0:
        models = np.unique(np.concatenate([heavy.first, heavy.second]))
    else:
        largest = max(connection(heavy).components, key=len)
        if len(largest) < 2:
            raise CannotAnswerError("the votes connect no two models: every pair has a side that never got anything")
        models = np.array(sorted(largest), dtype=np.int64)
    place = np.full(rows.n_models, -1, dtype=np.int64)
    place[models] = np.arange(models.size)
    inside = heavy.take((place[heavy.first] >= 0) & (place[heavy.second] >= 0))
    numbered = replace(inside, n_models=models.size, first=place[inside.first], second=place[inside.second])
    return models, fit_strengths(numbered, ties=ties, prior=prior), numbered
