"""Strengths fitted to all replicates of a bootstrap at once: Newton's steps with the information of the full data."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array, hstack
from scipy.sparse.csgraph import connected_components

from evalstats.stats.arena.cells import PairCells
from evalstats.stats.arena.existence import win_table
from evalstats.stats.arena.fit import PairFit
from evalstats.stats.arena.newton import maximise
from evalstats.stats.arena.resampled_votes import VoteUnits
from evalstats.stats.checks import FloatArray
from evalstats.stats.computation import one_thread

OnStep: TypeAlias = Callable[[int, int], None]
Bools: TypeAlias = npt.NDArray[np.bool_]

# Votes won, and as many lost, by every model against an average one: added where a replicate's wins do not connect models.
LENT_VOTES = 0.5

_STEP = 1e-9  # log-units
_MOST_STEPS = 40
_LARGEST_STEP = 2.0
_HELD = 1_000_000  # numbers in one array of a block


@dataclass(frozen=True, slots=True, kw_only=True)
class RefitReplicates:
    """Parameters of every replicate.

    Attributes
    ----------
    parameters
        float64, shape (n_resamples, n_parameters), as in `PairFit`; NaN where there is no optimum.
    apart
        Boolean, shape (n_resamples, n_models): models that wins and ties did not connect with the largest group of models.
        A replicate with any such was fitted with `LENT_VOTES`.
    by_newton
        Boolean, shape (n_resamples,): not settled by steps with the full data's information.
    """

    parameters: FloatArray
    apart: Bools
    by_newton: Bools


@one_thread
def refit_replicates(
    units: VoteUnits, fit: PairFit, rng: np.random.Generator, n_resamples: int, on_step: OnStep | None = None
) -> RefitReplicates:
    """Draw replicates and fit each, starting at the fit of the full data.

    Where ties count as half a win, every step of every replicate uses the inverse information of the full data (a chord
    method), so that a step of all of them is a few products of matrices. What has not settled after that, and every fit whose
    ties have a parameter, takes Newton's steps of its own.
    """
    frame = _framed(units, fit)
    size = max(1, min(n_resamples, _HELD // max(frame.cells.first.size, units.expected.size)))
    parameters = np.empty((n_resamples, fit.n_parameters))
    apart = np.zeros((n_resamples, fit.n_models), dtype=np.bool_)
    by_newton = np.zeros(n_resamples, dtype=np.bool_)
    for begin in range(0, n_resamples, size):
        end = min(begin + size, n_resamples)
        votes = units.votes(units.draw(rng, end - begin))
        settled = np.zeros(end - begin, dtype=np.bool_)
        if fit.ties == "half":
            parameters[begin:end], settled = _chord(frame, votes[0], votes[1])
        for column in np.flatnonzero(~settled):
            at = begin + int(column)
            parameters[at], apart[at] = _newton(frame, [part[:, column] for part in votes])
        by_newton[begin:end] = ~settled
        if on_step is not None:
            on_step(end, n_resamples)
    return RefitReplicates(parameters=parameters * frame.unit, apart=apart, by_newton=by_newton)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Frame:
    """What all replicates share: cells and fit with covariates of mean square 1; parameters times `unit` are the fit's own."""

    cells: PairCells
    design: csr_array
    start: FloatArray
    bread: FloatArray
    unit: FloatArray
    fit: PairFit
    lent: float


def _framed(units: VoteUnits, fit: PairFit) -> _Frame:
    cells, n = units.cells, fit.n_models
    weight = cells.weight
    scale = np.sqrt(weight @ cells.covariates**2 / weight.sum())
    unit = np.ones(fit.n_parameters)
    unit[n : n + scale.size] = 1.0 / scale
    cells = replace(cells, covariates=cells.covariates / scale)
    tau = [] if fit.tie is None else [np.log(fit.tie)]
    size = cells.first.size
    at = np.arange(size)
    ones = np.ones(size)
    sides = csr_array(
        (np.concatenate([ones, -ones]), (np.tile(at, 2), np.concatenate([cells.first, cells.second]))), shape=(size, n)
    )
    return _Frame(
        cells=cells,
        design=csr_array(hstack([sides, csr_array(cells.covariates)])) if scale.size else sides,
        start=np.concatenate([fit.strengths, fit.coefficients, tau]) / unit,
        bread=fit.bread / unit[:, np.newaxis] / unit,
        unit=unit,
        fit=fit,
        lent=LENT_VOTES * units.vote_weight,
    )


def _chord(frame: _Frame, won: FloatArray, lost: FloatArray) -> tuple[FloatArray, Bools]:
    """Return parameters, shape (n, n_parameters), and which of the replicates settled."""
    n = won.shape[1]
    theta = np.repeat(frame.start[:, np.newaxis], n, axis=1)
    out, settled, active = theta.copy(), np.zeros(n, dtype=np.bool_), np.arange(n, dtype=np.int64)
    lead, level = (won - lost) / 2.0, (won + lost) / 2.0
    across = csr_array(frame.design.T)
    for _ in range(_MOST_STEPS):
        # expit(x) = (1 + tanh(x / 2)) / 2, and tanh neither overflows nor is slow.
        pull = frame.design @ theta
        pull *= 0.5
        np.tanh(pull, out=pull)
        pull *= level
        np.subtract(lead, pull, out=pull)
        gradient = across @ pull
        if frame.fit.prior > 0.0:
            gradient[: frame.fit.n_models] -= frame.fit.prior * np.tanh(theta[: frame.fit.n_models] / 2.0)
        step = frame.bread @ gradient
        largest = np.abs(step).max(axis=0)
        theta = theta + step * np.minimum(1.0, _LARGEST_STEP / np.maximum(largest, 1e-300))
        done = largest <= _STEP
        out[:, active[done]] = theta[:, done]
        settled[active[done]] = True
        if done.all():
            break
        # Copying what is left pays only where it is clearly less.
        if np.count_nonzero(done) > done.size // 4:
            active, theta, lead, level = active[~done], theta[:, ~done], lead[:, ~done], level[:, ~done]
    return out.T, settled


def _newton(frame: _Frame, votes: Sequence[FloatArray]) -> tuple[FloatArray, Bools]:
    """Return the parameters of one replicate (NaN where there is no optimum), and the models that are apart."""
    fit = frame.fit
    tied = votes[2] if len(votes) > 2 else np.zeros_like(votes[0])
    cells = replace(frame.cells, won=votes[0], lost=votes[1], tied=tied)
    apart = np.zeros(fit.n_models, dtype=np.bool_) if fit.prior > 0.0 else _apart(cells)
    prior = frame.lent if apart.any() else fit.prior
    if fit.ties != "half" and not 0.0 < float(tied.sum()) < float(cells.weight.sum()):
        return np.full(fit.n_parameters, np.nan), apart
    found = maximise(cells, fit.ties, frame.start, prior=prior)
    return (found.parameters if found.converged else np.full(fit.n_parameters, np.nan)), apart


def _apart(cells: PairCells) -> Bools:
    """Return which models wins and ties do not connect with the largest group."""
    graph = csr_array(win_table(cells))
    graph.eliminate_zeros()
    _, label = connected_components(graph, directed=True, connection="strong")
    return label != np.argmax(np.bincount(label))
