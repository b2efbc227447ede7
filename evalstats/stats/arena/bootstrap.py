"""Strengths of models when votes, or whole clusters of them, are drawn again, and percentile intervals of what they give."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from evalstats.errors import InputError
from evalstats.stats.arena.bootstrap_replicates import (
    LENT_VOTES,
    OnStep,
    RefitReplicates,
    VoteUnits,
    refit_replicates,
    single_votes,
    whole_clusters,
)
from evalstats.stats.arena.likelihood import PairFit
from evalstats.stats.arena.votes import VoteRows
from evalstats.stats.bootstrap.studentised import BLOCKS, check_resamples
from evalstats.stats.checks import BoolArray, FloatArray, IntArray, check_count, check_level

_ROUNDING = 1e-9  # 0.025 * 1000 is 25, whatever the rounding
_SAME = 1e-9  # log-units


@dataclass(frozen=True, slots=True, kw_only=True)
class PercentileIntervals:
    """Intervals of several quantities from the same replicates.

    Attributes
    ----------
    estimate
        float64, shape (n,): of the observed votes.
    std_error
        float64, shape (n,): standard deviation over the replicates that have a value; NaN where there is no interval.
    conf_low, conf_high
        float64, shape (n,): type 1 quantiles, each the value of some replicate; NaN where there is no interval.
    error_low, error_high
        float64, shape (n,): Monte Carlo standard error of either end, from ten blocks of replicates; NaN where unknown.
    reasons
        Why there is no interval, for each quantity; None where there is one.
    """

    estimate: FloatArray
    std_error: FloatArray
    conf_low: FloatArray
    conf_high: FloatArray
    error_low: FloatArray
    error_high: FloatArray
    conf_level: float
    reasons: tuple[str | None, ...]


def percentile_intervals(
    estimate: FloatArray, values: FloatArray, outside: BoolArray, *, conf_level: float, reason: str | None = None
) -> PercentileIntervals:
    """Return the interval of each quantity.

    Parameters
    ----------
    estimate
        Shape (n,).
    values
        Shape (n, n_resamples).
    outside
        Same shape: replicates without a value, which count as lying below the lower and above the upper end.
    reason
        Why no interval is to be had, whatever the values.

    Examples
    --------
    >>> values = np.random.default_rng(0).normal(size=(1, 1000))
    >>> found = percentile_intervals(np.zeros(1), values, np.zeros((1, 1000), dtype=bool), conf_level=0.95)
    >>> found.conf_low.round(1).tolist(), found.conf_high.round(1).tolist()
    ([-1.9], [1.9])
    """
    tail = (1.0 - conf_level) / 2.0
    low, high = _ends(values, outside, tail)
    spread = np.full(estimate.size, np.nan)
    known = np.count_nonzero(~outside, axis=1) > 1
    spread[known] = np.nanstd(np.where(outside, np.nan, values)[known], axis=1, ddof=1)
    reasons = tuple(
        reason or _reason(float(lower), float(upper), int(lost), values.shape[1])
        for lower, upper, lost in zip(low, high, np.count_nonzero(outside, axis=1), strict=True)
    )
    none = np.array([each is not None for each in reasons], dtype=np.bool_)
    error_low, error_high = _errors(values, outside, tail)
    for column in (spread, low, high, error_low, error_high):
        column[none] = np.nan
    return PercentileIntervals(
        estimate=estimate,
        std_error=spread,
        conf_low=low,
        conf_high=high,
        error_low=error_low,
        error_high=error_high,
        conf_level=conf_level,
        reasons=reasons,
    )


def _ends(values: FloatArray, outside: BoolArray, tail: float) -> tuple[FloatArray, FloatArray]:
    """Return both ends along the last axis; infinite where they fall among replicates without a value."""
    n = values.shape[-1]
    place = min(max(math.ceil(tail * n - _ROUNDING), 1), n) - 1
    low = np.sort(np.where(outside, -np.inf, values), axis=-1)[..., place]
    high = -np.sort(np.where(outside, -np.inf, -values), axis=-1)[..., place]
    return low, high


def _errors(values: FloatArray, outside: BoolArray, tail: float) -> tuple[FloatArray, FloatArray]:
    n, size = values.shape[0], values.shape[1] // BLOCKS
    shape, used = (n, BLOCKS, size), slice(size * BLOCKS)
    out: list[FloatArray] = []
    for ends in _ends(values[:, used].reshape(shape), outside[:, used].reshape(shape), tail):
        finite = np.isfinite(ends).all(axis=1)
        error = np.full(n, np.nan)
        error[finite] = ends[finite].std(axis=1, ddof=1) / math.sqrt(BLOCKS)
        out.append(error)
    return out[0], out[1]


def _reason(low: float, high: float, lost: int, n: int) -> str | None:
    if not (math.isfinite(low) and math.isfinite(high)):
        return (
            f"in {lost} of {n} replicates wins and ties do not connect these models, or there is no optimum: too many to tell "
            "an end"
        )
    if high - low <= _SAME:
        return f"all of {n} replicates give the same value: a bootstrap cannot tell its spread"
    return None


FEWEST_CLUSTERS = 6  # with fewer there is no interval
FEW_CLUSTERS = 20  # with fewer, percentile intervals are markedly too short

_FEWEST_RESAMPLES = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class BootstrapStrengths:
    """Strengths fitted to replicates of the votes.

    Attributes
    ----------
    replicates
        float64, shape (n_resamples, n_models), log-units, sum 0; NaN where a replicate has no optimum.
    coefficients
        float64, shape (n_resamples, n_covariates).
    tie
        float64, shape (n_resamples,): the tie parameter; None for "half".
    apart
        Boolean, shape (n_resamples, n_models): models that wins and ties of the replicate do not connect with the largest
        group of models, so that their strengths would be infinite. A replicate with any was fitted with half a vote won and
        half a vote lost by every model against an average one. In intervals, what rests on such a model counts as lying
        beyond either end.
    strengths
        float64, shape (n_models,): of the observed votes.
    unit
        What was drawn, "votes" or "clusters"; `n_units` of them to a replicate.
    poisson
        Whether votes were drawn a Poisson number of times each, so that their total varies. Strengths depend on shares alone:
        with many votes the law is the same, and comes faster.
    n_newton
        Replicates that took Newton's steps of their own, since steps with the information of the full data did not settle.
    warnings
        Sentences about replicates that are not as they should be, and about few clusters.
    """

    replicates: FloatArray
    coefficients: FloatArray
    tie: FloatArray | None
    apart: BoolArray
    strengths: FloatArray
    unit: str
    n_units: int
    poisson: bool
    seed: int
    n_newton: int
    warnings: tuple[str, ...]

    @property
    def n_resamples(self) -> int:
        """Replicates that were drawn."""
        return self.replicates.shape[0]

    @property
    def n_converged(self) -> int:
        """Replicates with an optimum, those that were lent votes included."""
        return int(np.count_nonzero(self._found()))

    @property
    def n_disconnected(self) -> int:
        """Replicates that were lent votes, since their own do not connect all models."""
        return int(np.count_nonzero(self.apart.any(axis=1)))

    def ranks(self) -> IntArray:
        """Return each model's rank in each replicate with an optimum, 1 for the best, shape (n_converged, n_models).

        Their spread is not a confidence set: sets of ranks come from contrasts.
        """
        order = np.argsort(-self.replicates[self._found()], axis=1, kind="stable")
        ranks = np.empty(order.shape, dtype=np.int64)
        np.put_along_axis(ranks, order, np.arange(1, order.shape[1] + 1, dtype=np.int64)[np.newaxis], axis=1)
        return ranks

    def covariance(self) -> FloatArray:
        """Return the covariance of the strengths over replicates with an optimum, shape (n_models, n_models)."""
        return np.atleast_2d(np.cov(self.replicates[self._found()], rowvar=False))

    def intervals(self, *, conf_level: float = 0.95) -> PercentileIntervals:
        """Return the percentile intervals of all strengths, against the mean of all models.

        Two models must not be compared by whether these overlap: `contrasts` does that.
        """
        return self._intervals(self.strengths, self.replicates.T, self.apart.T, conf_level)

    def contrasts(
        self, first: ArrayLike | None = None, second: ArrayLike | None = None, *, conf_level: float = 0.95
    ) -> PercentileIntervals:
        """Return the percentile intervals of strength[first] - strength[second]; of all pairs i < j where none are named.

        Raises
        ------
        InputError
            If only one side is given, or a model is not among the strengths.
        """
        i, j = _pairs(first, second, self.strengths.size)
        found, apart = self.replicates.T, self.apart.T
        return self._intervals(
            self.strengths[i] - self.strengths[j], found[i] - found[j], apart[i] | apart[j], conf_level
        )

    def _found(self) -> BoolArray:
        return np.isfinite(self.replicates[:, 0])

    def _intervals(
        self, estimate: FloatArray, values: FloatArray, apart: BoolArray, conf_level: float
    ) -> PercentileIntervals:
        check_resamples(self.n_resamples, check_level(conf_level))
        reason = None
        if self.unit == "clusters" and self.n_units < FEWEST_CLUSTERS:
            reason = f"{self.n_units} clusters are too few for an interval; at least {FEWEST_CLUSTERS} are needed"
        outside = apart | ~np.isfinite(values)
        return percentile_intervals(
            estimate, np.where(outside, 0.0, values), outside, conf_level=conf_level, reason=reason
        )


def bootstrap_strengths(
    fit: PairFit,
    rows: VoteRows,
    *,
    n_resamples: int = 1000,
    seed: int = 0,
    way: int | None = None,
    on_step: OnStep | None = None,
) -> BootstrapStrengths:
    """Draw votes, or whole clusters of them, with replacement, and fit strengths to every replicate.

    Parameters
    ----------
    fit
        Of the same votes: every replicate is fitted the same way (ties, prior, covariates), starting from it.
    rows
        Votes.
    n_resamples
        At least 100. The ends of 95% intervals have a Monte Carlo error of about .08 standard errors with 1,000.
    seed
        The same seed on the same votes gives the same replicates, in whatever order the votes are given (clusters: as long
        as their codes stay the same), but for rounding.
    way
        Place in `rows.clusters` of the clusters that are drawn whole. None: every vote on its own, which gives intervals that
        are too short where votes share raters or prompts.
    on_step
        Called with the number of replicates done and `n_resamples`.

    Raises
    ------
    InputError
        If the fit is not of such votes, there is no such way, or too few replicates are asked for.
    CannotAnswerError
        If there are no votes.

    Notes
    -----
    Assumed are independent votes, or independent clusters, of one law. Percentile intervals by few clusters are too short
    (with 10 about .90 instead of .95): below 20 there is a warning, below 6 no interval.

    Cost: drawing and fitting cells of equal votes, not votes. By clusters it grows with rows of different (cell, cluster).

    References
    ----------
    Efron & Tibshirani 1993, An Introduction to the Bootstrap; Chiang et al. 2024, arXiv:2403.04132, for arenas.

    Examples
    --------
    >>> from evalstats.stats.arena.bradley_terry import fit_strengths
    >>> from evalstats.stats.arena.votes import vote_rows
    >>> rows = vote_rows([0, 0], [1, 1], [0, 1], count=[300, 100])
    >>> found = bootstrap_strengths(fit_strengths(rows), rows).contrasts([0], [1])
    >>> bool(found.conf_low[0] < np.log(3.0) < found.conf_high[0]), found.std_error.round(2).tolist()
    (True, [0.12])
    """
    n_resamples = check_count(n_resamples, "n_resamples", least=_FEWEST_RESAMPLES)
    if rows.n_models != fit.n_models or rows.n_covariates != fit.coefficients.size:
        raise InputError(
            f"votes are about {rows.n_models} models with {rows.n_covariates} covariates, the fit about {fit.n_models} with "
            f"{fit.coefficients.size}; give the votes that were fitted"
        )
    if way is not None and not 0 <= way < len(rows.clusters):
        raise InputError(f"way {way} was asked for, but votes have {len(rows.clusters)} ways of clustering")
    units = single_votes(rows, fit.ties, n_resamples) if way is None else whole_clusters(rows, fit.ties, way)
    found = refit_replicates(units, fit, np.random.default_rng(seed), n_resamples, on_step)
    n, k = fit.n_models, fit.coefficients.size
    strengths = found.parameters[:, :n]
    return BootstrapStrengths(
        replicates=strengths - strengths.mean(axis=1, keepdims=True),
        coefficients=found.parameters[:, n : n + k],
        tie=None if fit.tie is None else np.exp(found.parameters[:, -1]),
        apart=found.apart,
        strengths=fit.strengths,
        unit="votes" if way is None else "clusters",
        n_units=units.n_drawn,
        poisson=units.poisson,
        seed=seed,
        n_newton=int(np.count_nonzero(found.by_newton)),
        warnings=_warnings(units, found, clustered=way is not None),
    )


def _pairs(first: ArrayLike | None, second: ArrayLike | None, n: int) -> tuple[IntArray, IntArray]:
    if (first is None) != (second is None):
        raise InputError("contrasts need both sides: give first and second, or neither for all pairs")
    if first is None or second is None:
        i, j = np.triu_indices(n, 1)
        return i.astype(np.int64), j.astype(np.int64)
    i, j = np.asarray(first, dtype=np.int64), np.asarray(second, dtype=np.int64)
    both = np.concatenate([i.ravel(), j.ravel()])
    if i.ndim != 1 or i.shape != j.shape or (both.size and not 0 <= both.min() <= both.max() < n):
        raise InputError(f"pairs of models do not fit: give as many first as second ones, numbered from 0 to {n - 1}")
    return i, j


def _warnings(units: VoteUnits, found: RefitReplicates, *, clustered: bool) -> tuple[str, ...]:
    said: list[str] = []
    n = found.parameters.shape[0]
    lost = int(np.count_nonzero(~np.isfinite(found.parameters).all(axis=1)))
    cut = int(np.count_nonzero(found.apart.any(axis=1)))
    if cut:
        said.append(
            f"in {cut} of {n} replicates wins and ties do not connect all models; they were fitted with {LENT_VOTES:g} votes "
            "won and lost by every model, and count as beyond either end for models that are apart"
        )
    if lost:
        said.append(f"{lost} of {n} replicates have no optimum; they count as beyond either end of every interval")
    if clustered and FEWEST_CLUSTERS <= units.n_drawn < FEW_CLUSTERS:
        said.append(f"percentile intervals from {units.n_drawn} clusters are too short; prefer the sandwich with t")
    return tuple(said)
