"""Strengths of models from votes between two of them, by maximum likelihood.

References
----------
.. [1] R. A. Bradley and M. E. Terry, "Rank analysis of incomplete block designs: I. The method of paired comparisons",
   Biometrika 39 (1952) 324-345.
.. [2] L. R. Ford, "Solution of a ranking problem from binary comparisons", Am. Math. Monthly 64 (1957) 28-33.
"""

from dataclasses import replace

import numpy as np

from evalstats.errors import CannotAnswerError, InputError
from evalstats.stats.arena.cells import PairCells, pair_cells, split_votes
from evalstats.stats.arena.existence import n_components
from evalstats.stats.arena.fit import PairFit, RowScores, Ties
from evalstats.stats.arena.newton import Optimum, maximise
from evalstats.stats.arena.separation import explain_failure, refuse_collinear, runs_away
from evalstats.stats.arena.ties import derivatives, first_tie_parameter
from evalstats.stats.arena.votes import VoteRows
from evalstats.stats.checks import FloatArray


def fit_strengths(rows: VoteRows, *, ties: Ties = "half", prior: float = 0.0, start: PairFit | None = None) -> PairFit:
    """Fit strengths (log-units, sum 0) to votes.

    Parameters
    ----------
    rows
        Votes. Clusters play no part in the fit.
    ties
        "half" (Bradley-Terry, a tie as half a win of either: a quasi-likelihood, also for graded shares), "davidson" or
        "rao-kupper", which give ties a probability of their own.
    prior
        Votes won and as many lost by every model against one of strength 0, as weight. They keep strengths finite where
        some model won or lost all its votes, and draw all strengths towards 0. They say nothing about ties.
    start
        An earlier fit with the same models and covariates, from which to search.

    Returns
    -------
    PairFit
        Log-strengths within 1e-8 of the optimum.

    Raises
    ------
    InputError
        If ties have a parameter and a share is none of 0, 1/2 and 1, or an argument is out of range.
    CannotAnswerError
        If the likelihood has no unique finite maximum: there are no votes, wins do not connect all models (and there is no
        prior), a covariate predicts votes perfectly or is a combination of others and the models, or no votes (or all) are
        ties and ties have a parameter.

    Examples
    --------
    >>> from evalstats.stats.arena.votes import A_WINS, B_WINS, vote_rows
    >>> rows = vote_rows([0, 0], [1, 1], [A_WINS, B_WINS], count=[3, 1])
    >>> fit = fit_strengths(rows)
    >>> (fit.strengths[0] - fit.strengths[1]).round(6) == np.log(3.0).round(6)
    np.True_
    """
    if not 0.0 <= prior < np.inf:
        raise InputError(f"prior is {prior:g}; give the votes to add to each model, 0 or more")
    cells, scale = _scaled(pair_cells(rows, ties))
    _check_existence(cells, ties, prior)
    refuse_collinear(cells)
    found = maximise(cells, ties, _first(cells, ties, start, scale), prior=prior)
    if not found.converged or found.bread is None or runs_away(cells, ties, found.parameters, prior):
        raise explain_failure(cells, ties, prior)
    return _result(found, found.bread, scale, ties=ties, prior=prior)


def row_scores(fit: PairFit, rows: VoteRows) -> RowScores:
    """Return first derivatives of the log-likelihood of one vote of each row at the fit.

    Parameters
    ----------
    rows
        Any votes about the models of the fit, with its covariates; not only those that were fitted.

    Raises
    ------
    InputError
        If the rows have other models or covariates than the fit, or a share that its treatment of ties cannot use.

    Examples
    --------
    >>> from evalstats.stats.arena.votes import A_WINS, B_WINS, vote_rows
    >>> rows = vote_rows([0, 0], [1, 1], [A_WINS, B_WINS], count=[3, 1])
    >>> row_scores(fit_strengths(rows), rows).slope.round(6).tolist()
    [0.25, -0.75]
    """
    if rows.n_models != fit.n_models or rows.n_covariates != fit.coefficients.size:
        raise InputError(
            f"rows have {rows.n_models} models and {rows.n_covariates} covariates, but the fit has {fit.n_models} and "
            f"{fit.coefficients.size}; give rows numbered as those that were fitted"
        )
    eta = fit.strengths[rows.first] - fit.strengths[rows.second] + rows.covariates @ fit.coefficients
    tau = 0.0 if fit.tie is None else float(np.log(fit.tie))
    at = derivatives(fit.ties, eta, tau, split_votes(rows.share, np.ones(rows.n_rows), fit.ties))
    return RowScores(slope=at.slope, tie_slope=None if fit.tie is None else at.tie_slope)


def _scaled(cells: PairCells) -> tuple[PairCells, FloatArray]:
    """Return cells with covariates of mean square 1, and by what they were divided."""
    weight, k = cells.weight, cells.n_covariates
    if not k or not weight.size:
        return cells, np.ones(k)
    scale: FloatArray = np.sqrt(weight @ cells.covariates**2 / weight.sum()).astype(np.float64)
    if np.any(scale == 0.0):
        raise CannotAnswerError(
            f"covariate {int(np.argmin(scale))} is 0 in every vote, so it has no effect to estimate; leave it out"
        )
    return replace(cells, covariates=cells.covariates / scale), scale


def _check_existence(cells: PairCells, ties: Ties, prior: float) -> None:
    if not cells.first.size:
        raise CannotAnswerError("there are no votes (or none of any weight), so there are no strengths to estimate")
    if prior == 0.0:
        count = n_components(cells)
        if count > 1:
            raise CannotAnswerError(
                f"wins and ties do not connect the {cells.n_models} models: they fall into {count} groups, between which "
                "some model has only won or only lost, or there are no votes; rate each group on its own, collect votes "
                "between them, or add a prior (half a win and half a loss of every model, say)"
            )
    if ties == "half":
        return
    tied = float(cells.tied.sum())
    if tied == 0.0 or tied == float(cells.weight.sum()):
        which = "there are no ties" if tied == 0.0 else "all votes are ties"
        raise CannotAnswerError(f'{which}, so the tie parameter of "{ties}" has no estimate; use ties="half"')


def _first(cells: PairCells, ties: Ties, start: PairFit | None, scale: FloatArray) -> FloatArray:
    """Return parameters to start from."""
    strengths, coefficients = np.zeros(cells.n_models), np.zeros(scale.size)
    tau = [] if ties == "half" else [first_tie_parameter(ties, float(cells.tied.sum() / cells.weight.sum()))]
    if start is not None:
        if start.strengths.shape != strengths.shape or start.coefficients.shape != coefficients.shape:
            raise InputError(
                f"start has {start.n_models} models and {start.coefficients.size} covariates, but the votes have "
                f"{strengths.size} and {coefficients.size}; start from a fit to such votes"
            )
        strengths, coefficients = start.strengths, start.coefficients * scale
        if start.ties == ties and start.tie is not None:
            tau = [float(np.log(start.tie))]
    return np.concatenate([strengths - strengths.mean(), coefficients, tau])


def _result(found: Optimum, bread: FloatArray, scale: FloatArray, *, ties: Ties, prior: float) -> PairFit:
    """Return the optimum in the units of the covariates."""
    n_models = found.parameters.size - scale.size - (ties != "half")
    strengths = found.parameters[:n_models]
    factor = np.ones(found.parameters.size)
    factor[n_models : n_models + scale.size] = 1.0 / scale
    return PairFit(
        ties=ties,
        strengths=strengths - strengths.mean(),
        coefficients=found.parameters[n_models : n_models + scale.size] / scale,
        tie=None if ties == "half" else float(np.exp(found.parameters[-1])),
        log_lik=found.log_lik,
        bread=bread * factor[:, None] * factor,
        prior=prior,
        converged=found.converged,
        n_iterations=found.n_iterations,
        largest_gradient=found.largest_gradient,
    )
