"""What leaving out one rater does to the ratings: one Newton step for everyone, a refit for those who matter."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from evalstats.errors import CannotAnswerError, InputError
from evalstats.stats.arena.bradley_terry import fit_strengths, row_scores
from evalstats.stats.arena.fit import PairFit
from evalstats.stats.arena.votes import VoteRows
from evalstats.stats.checks import FloatArray, IntArray
from evalstats.stats.computation import one_thread

_BLOCK = 20_000_000  # numbers held at a time
_HEAVY = 0.02  # a rater with a larger share of the votes takes curvature along, which the step then leaves out
_REFITS = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Influence:
    """One rater left out, by refit.

    Attributes
    ----------
    rater
        Code.
    n_votes
        Votes left out.
    strengths
        float64, shape (n_models,): without the rater.
    model, move
        The model that moves most, and by how much (log-units, new less old).
    one_step
        What one Newton step had said of that move.
    new_first
        The model with the largest strength, where it is another one; else None.
    """

    rater: int
    n_votes: int
    strengths: FloatArray
    model: int
    move: float
    one_step: float
    new_first: int | None


@one_thread
def without_each(fit: PairFit, rows: VoteRows, codes: IntArray) -> "StepsWithout":
    """Return changes of the strengths when each cluster is left out, by one Newton step.

    Parameters
    ----------
    codes
        int64, shape (n_rows,): the cluster (rater) of each row.

    Notes
    -----
    The gradient of what is left is minus that of cluster g, S_g, so the step is -(H - H_g)^-1 S_g. For clusters of at most
    2% of the votes H stands for H - H_g; the refit is what is reported of the largest.
    """
    if codes.shape != (rows.n_rows,):
        raise InputError(f"codes have shape {codes.shape}, but there are {rows.n_rows} rows; give one per row")
    scores = row_scores(fit, rows)
    slope = scores.slope * rows.weight
    tie_slope = None if scores.tie_slope is None else scores.tie_slope * rows.weight
    n = int(codes.max(initial=-1)) + 1
    weight = np.bincount(codes, weights=rows.weight, minlength=n).astype(np.float64)
    steps = StepsWithout(fit=fit, rows=rows, codes=codes, slope=slope, tie_slope=tie_slope, weight=weight, heavy={})
    for cluster in np.flatnonzero(weight > _HEAVY * weight.sum()).tolist():
        steps.heavy[cluster] = steps.exact(cluster)
    return steps


@dataclass(frozen=True, slots=True, kw_only=True)
class StepsWithout:
    """Steps of all clusters, computed for a block of them at a time."""

    fit: PairFit
    rows: VoteRows
    codes: IntArray
    slope: FloatArray
    tie_slope: FloatArray | None
    weight: FloatArray
    heavy: dict[int, FloatArray]

    @property
    def n_clusters(self) -> int:
        """Clusters, empty ones counted in."""
        return self.weight.size

    def scores(self, low: int, high: int) -> FloatArray:
        """Return sums of first derivatives by all parameters, shape (high - low, n_parameters)."""
        at = np.flatnonzero((self.codes >= low) & (self.codes < high))
        rows, fit, k = self.rows, self.fit, self.fit.n_parameters
        who, n = self.codes[at] - low, fit.n_models
        out = np.bincount(who * k + rows.first[at], weights=self.slope[at], minlength=(high - low) * k).astype(
            np.float64
        )
        out -= np.bincount(who * k + rows.second[at], weights=self.slope[at], minlength=(high - low) * k)
        for j in range(fit.coefficients.size):
            values = self.slope[at] * rows.covariates[at, j]
            out += np.bincount(who * k + n + j, weights=values, minlength=out.size)
        if self.tie_slope is not None:
            out += np.bincount(who * k + k - 1, weights=self.tie_slope[at], minlength=out.size)
        return out.reshape(high - low, k)

    def exact(self, cluster: int) -> FloatArray:
        """Return the step of one cluster with its own curvature taken out, shape (n_parameters,)."""
        fit, at = self.fit, np.flatnonzero(self.codes == cluster)
        rows = self.rows.take(at)
        design = np.zeros((rows.n_rows, fit.n_parameters))
        design[np.arange(rows.n_rows), rows.first] = 1.0
        design[np.arange(rows.n_rows), rows.second] -= 1.0
        design[:, fit.n_models : fit.n_models + fit.coefficients.size] = rows.covariates
        eta = design[:, : fit.n_models + fit.coefficients.size] @ np.append(fit.strengths, fit.coefficients)
        # The curvature of a logistic vote; with ties a little more than the true one, which the refit corrects.
        curve = rows.weight * 0.25 / np.cosh(eta / 2.0) ** 2
        own = (design.T * curve) @ design
        score = self.scores(cluster, cluster + 1)[0]
        # (H - C)^-1 S = B (I - C B)^-1 S with B = H^-1 on the space where strengths sum to 0.
        left = np.eye(fit.n_parameters) - own @ fit.bread
        try:
            return np.asarray(-fit.bread @ np.linalg.solve(left, score), dtype=np.float64)
        except np.linalg.LinAlgError:
            return -fit.bread @ score

    def blocks(self) -> list[tuple[int, int]]:
        """Return ranges of clusters that fit into memory."""
        size = max(1, _BLOCK // max(1, self.fit.n_parameters))
        return [(low, min(low + size, self.n_clusters)) for low in range(0, self.n_clusters, size)]

    def block(self, low: int, high: int) -> FloatArray:
        """Return steps of all parameters, shape (high - low, n_parameters)."""
        steps = -self.scores(low, high) @ self.fit.bread
        for cluster, step in self.heavy.items():
            if low <= cluster < high:
                steps[cluster - low] = step
        return steps

    def eta(self, clusters: IntArray, first: IntArray, second: IntArray, covariates: FloatArray) -> FloatArray:
        """Return log-odds of side a of single votes by the ratings without the cluster of each vote, shape (n,)."""
        fit, n = self.fit, self.fit.n_models
        eta = fit.strengths[first] - fit.strengths[second] + covariates @ fit.coefficients
        for low, high in self.blocks():
            at = np.flatnonzero((clusters >= low) & (clusters < high))
            steps, who = self.block(low, high), clusters[at] - low
            eta[at] += steps[who, first[at]] - steps[who, second[at]]
            for j in range(fit.coefficients.size):
                eta[at] += steps[who, n + j] * covariates[at, j]
        return eta


def largest_influences(
    steps: StepsWithout,
    *,
    n_clusters: int | None = None,
    n_refits: int = _REFITS,
    refit: Callable[..., PairFit] = fit_strengths,
) -> tuple[Influence, ...]:
    """Leave out, one after the other, the raters who move the ratings most, or put another model first, and refit.

    Parameters
    ----------
    n_clusters
        Only codes below it are left out (votes of nobody known may have a code of their own above); None for all.

    Returns
    -------
    tuple of Influence
        Those who change the first model before the others, then by the size of the largest move. A rater without whom the
        models are no longer connected is left out of the list.

    Notes
    -----
    Refitted are the `n_refits` with the largest single step and the `n_refits` that bring the second model closest to
    (or farthest beyond) the first. All others have been looked at by one step only.
    """
    fit = steps.fit
    last = steps.n_clusters if n_clusters is None else n_clusters
    top = np.argsort(-fit.strengths, kind="stable")
    largest, nearest = list[tuple[float, int]](), list[tuple[float, int]]()
    for low, high in steps.blocks():
        moves = steps.block(low, high)[:, : fit.n_models]
        size = np.abs(moves).max(axis=1)
        new = fit.strengths + moves
        lead = new[:, top[0]] - np.delete(new, top[0], axis=1).max(axis=1, initial=-np.inf)
        present = np.flatnonzero(steps.weight[low : min(high, last)] > 0.0)
        for values, kept in ((-size, largest), (lead, nearest)):
            chosen = present[np.argsort(values[present], kind="stable")[:n_refits]]
            kept.extend((float(values[i]), low + int(i)) for i in chosen)
    chosen = {code for kept in (largest, nearest) for _, code in sorted(kept)[:n_refits]}
    found = [one for one in (_refitted(steps, code, int(top[0]), refit) for code in sorted(chosen)) if one is not None]
    return tuple(sorted(found, key=lambda one: (one.new_first is None, -abs(one.move), one.rater)))


def _refitted(steps: StepsWithout, code: int, first: int, refit: Callable[..., PairFit]) -> Influence | None:
    fit, mine = steps.fit, steps.codes == code
    try:
        new = refit(steps.rows.take(~mine), ties=fit.ties, prior=fit.prior, start=fit)
    except CannotAnswerError:
        return None
    moves = new.strengths - fit.strengths
    model = int(np.argmax(np.abs(moves)))
    now = int(np.argmax(new.strengths))
    step = steps.heavy[code] if code in steps.heavy else (-steps.scores(code, code + 1) @ fit.bread)[0]
    return Influence(
        rater=code,
        n_votes=int(steps.rows.count[mine].sum()),
        strengths=new.strengths,
        model=model,
        move=float(moves[model]),
        one_step=float(step[model]),
        new_first=None if now == first else now,
    )
