"""Strengths of models when votes, or whole clusters of them, are drawn again, and percentile intervals of what they give."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array, hstack
from scipy.sparse.csgraph import connected_components

from evalstats.errors import CannotAnswerError, InputError
from evalstats.record import record
from evalstats.stats.arena.bradley_terry import maximise
from evalstats.stats.arena.likelihood import PairCells, PairFit, Ties, split_votes, win_table
from evalstats.stats.arena.votes import VoteRows, numbered, summed
from evalstats.stats.bootstrap import check_resamples
from evalstats.stats.checks import BoolArray, FloatArray, IntArray, as_codes, check_count, check_level
from evalstats.stats.computation import one_thread

_EXACT = 1_000_000  # binomial draws that are cheap enough; beyond, Poisson
_SHARP = 1e10  # weights closer than one part in this are one: sums of them round as their order happens to be


@record
class VoteUnits:
    """Units that are drawn, and the votes that come with each: one vote of a cell, or all votes of a cluster.

    Attributes
    ----------
    cells
        The cells of a fit, with the votes as they are. Without covariates both sides of a pair are one cell.
    parts
        Sparse, shape (n_parts * n_cells, n_units): weight won by the first model, then lost, then (where ties have a
        parameter) tied, of each cell, that a unit brings when drawn once.
    expected
        float64, shape (n_units,): how often a unit is drawn on average.
    poisson
        Whether every unit is drawn a Poisson number of times, instead of `n_drawn` in all.
    vote_weight
        Weight of a vote on average.
    """

    cells: PairCells
    parts: csr_array
    expected: FloatArray
    n_drawn: int
    poisson: bool
    vote_weight: float

    def draw(self, rng: np.random.Generator, n_resamples: int) -> FloatArray:
        """Return how often each unit is drawn, shape (n_units, n_resamples)."""
        if self.poisson:
            times = rng.poisson(self.expected, size=(n_resamples, self.expected.size))
        else:
            # The rest are draws of votes without weight.
            chances = np.append(self.expected, max(0.0, self.n_drawn - float(self.expected.sum())))
            times = rng.multinomial(self.n_drawn, chances / chances.sum(), size=n_resamples)[:, :-1]
        return np.ascontiguousarray(times.T, dtype=np.float64)

    def votes(self, times: FloatArray) -> tuple[FloatArray, ...]:
        """Return the weight won, lost (and tied) in each cell, each of shape (n_cells, n_resamples)."""
        both, n = self.parts @ times, self.cells.first.size
        return tuple(both[at : at + n] for at in range(0, both.shape[0], n))


@record
class _Placed:
    """Rows with some weight, the cell of each, and its share seen from the first model of the cell."""

    rows: VoteRows
    place: IntArray
    share: FloatArray
    first: IntArray
    second: IntArray
    covariates: FloatArray


def single_votes(rows: VoteRows, ties: Ties, n_resamples: int) -> VoteUnits:
    """Return units of single votes.

    Where the replicates wanted make many draws, these are Poisson: a replicate then has a random number of votes, and given
    their number the law is the multinomial one. Votes of one row whose weights differ (mean m, mean square q) are drawn as votes
    of weight q / m and votes of none, such that the drawn sum has the mean and the variance that it should have.
    """
    at = _placed(rows)
    # Differing weights are different votes, as far as they can still be told apart.
    each = at.rows.weight_squares / at.rows.weight
    kind = np.rint(each / each.max() * _SHARP)
    label = numbered(at.place, [at.share, kind])
    _, start, unit = np.unique(label, return_index=True, return_inverse=True)
    weight = np.bincount(unit, weights=at.rows.weight)
    squares = np.bincount(unit, weights=at.rows.weight_squares)
    once = split_votes(at.share[start], squares / weight, ties)
    expected = weight**2 / squares
    n = start.size
    return VoteUnits(
        cells=_cells(at, ties),
        parts=_parts(once[:2] if ties == "half" else once, at.place[start], np.arange(n), at.first.size),
        expected=expected,
        n_drawn=rows.n_votes,
        poisson=n * n_resamples > _EXACT,
        vote_weight=float(at.rows.weight.sum()) / at.rows.n_votes,
    )


def whole_clusters(rows: VoteRows, ties: Ties, way: int) -> VoteUnits:
    """Return units of the clusters of one way, as many drawn as there are."""
    at = _placed(rows)
    codes, n = as_codes(at.rows.clusters[way], at.rows.n_rows)
    once = split_votes(at.share, at.rows.weight, ties)
    return VoteUnits(
        cells=_cells(at, ties),
        parts=_parts(once[:2] if ties == "half" else once, at.place, codes, at.first.size),
        expected=np.ones(n),
        n_drawn=n,
        poisson=False,
        vote_weight=float(at.rows.weight.sum()) / at.rows.n_votes,
    )


def _placed(rows: VoteRows) -> _Placed:
    rows = rows.heavy()
    if not rows.n_rows:
        raise CannotAnswerError("there are no votes (or none of any weight), so there is nothing to draw from")
    turned = (rows.first > rows.second) & (rows.n_covariates == 0)
    first, second = np.where(turned, rows.second, rows.first), np.where(turned, rows.first, rows.second)
    label = numbered(first * rows.n_models + second, rows.covariates.T)
    _, start, place = np.unique(label, return_index=True, return_inverse=True)
    return _Placed(
        rows=rows,
        place=place.astype(np.int64),
        share=np.where(turned, 1.0 - rows.share, rows.share),
        first=first[start],
        second=second[start],
        covariates=rows.covariates[start],
    )


def _cells(at: _Placed, ties: Ties) -> PairCells:
    n = at.first.size
    won, lost, tied = (summed(at.place, part, n) for part in split_votes(at.share, at.rows.weight, ties))
    return PairCells(
        n_models=at.rows.n_models,
        first=at.first,
        second=at.second,
        won=won,
        lost=lost,
        tied=tied,
        covariates=at.covariates,
    )


def _parts(once: tuple[FloatArray, ...], place: IntArray, unit: IntArray, n_cells: int) -> csr_array:
    """Sum what every entry brings to its cell, by unit; `once` holds the weight won, lost (and tied) by entry."""
    values, row = np.concatenate(once), np.concatenate([place + k * n_cells for k in range(len(once))])
    some = values != 0.0
    shape = (len(once) * n_cells, int(unit.max()) + 1)
    table = csr_array((values[some], (row[some], np.tile(unit, len(once))[some])), shape=shape)
    table.sum_duplicates()
    return table


# Votes won, and as many lost, by every model against an average one: added where a replicate's wins do not connect models.
LENT_VOTES = 0.5

_STEP_TOLERANCE = 1e-9  # log-units
_MOST_STEPS = 40
_LARGEST_STEP = 2.0
_HELD = 1_000_000  # numbers in one array of a block


@record
class RefitReplicates:
    """Parameters of every replicate, as in `PairFit`; NaN where there is no optimum.

    `apart`, of shape (n_resamples, n_models), marks models that wins and ties did not connect with the largest group of models. A
    replicate with any such was fitted with `LENT_VOTES`.
    """

    parameters: FloatArray
    apart: BoolArray


@one_thread
def refit_replicates(units: VoteUnits, fit: PairFit, rng: np.random.Generator, n_resamples: int) -> RefitReplicates:
    """Draw replicates and fit each, starting at the fit of the full data.

    Where ties count as half a win, every step of every replicate uses the inverse information of the full data (a chord
    method), so that a step of all of them is a few products of matrices. What has not settled after that, and every fit whose
    ties have a parameter, takes Newton's steps of its own.
    """
    frame = _framed(units, fit)
    size = max(1, min(n_resamples, _HELD // max(frame.cells.first.size, units.expected.size)))
    parameters = np.empty((n_resamples, fit.n_parameters))
    apart = np.zeros((n_resamples, fit.n_models), dtype=np.bool_)
    for begin in range(0, n_resamples, size):
        end = min(begin + size, n_resamples)
        votes = units.votes(units.draw(rng, end - begin))
        settled = np.zeros(end - begin, dtype=np.bool_)
        if fit.ties == "half":
            parameters[begin:end], settled = _chord(frame, votes[0], votes[1])
        for column in np.flatnonzero(~settled):
            at = begin + int(column)
            parameters[at], apart[at] = _newton(frame, [part[:, column] for part in votes])
    return RefitReplicates(parameters=parameters * frame.unit, apart=apart)


@record
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


def _chord(frame: _Frame, won: FloatArray, lost: FloatArray) -> tuple[FloatArray, BoolArray]:
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
        done = largest <= _STEP_TOLERANCE
        out[:, active[done]] = theta[:, done]
        settled[active[done]] = True
        if done.all():
            break
        # Copying what is left pays only where it is clearly less.
        copying_is_cheaper = np.count_nonzero(done) > done.size // 4
        if copying_is_cheaper:
            active, theta, lead, level = active[~done], theta[:, ~done], lead[:, ~done], level[:, ~done]
    return out.T, settled


def _newton(frame: _Frame, votes: Sequence[FloatArray]) -> tuple[FloatArray, BoolArray]:
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


def _apart(cells: PairCells) -> BoolArray:
    """Return which models wins and ties do not connect with the largest group."""
    graph = csr_array(win_table(cells))
    graph.eliminate_zeros()
    _, label = connected_components(graph, directed=True, connection="strong")
    return label != np.argmax(np.bincount(label))


_ROUNDING = 1e-9  # 0.025 * 1000 is 25, whatever the rounding
_SAME = 1e-9  # log-units


@record
class PercentileIntervals:
    """Intervals of several quantities from the same replicates, arrays of shape (n,).

    `std_error` is the standard deviation over the replicates that have a value. `conf_low` and `conf_high` are type 1 quantiles,
    each the value of some replicate. All are NaN where `reasons` says why there is no interval.
    """

    estimate: FloatArray
    std_error: FloatArray
    conf_low: FloatArray
    conf_high: FloatArray
    conf_level: float
    reasons: tuple[str | None, ...]


def percentile_intervals(
    estimate: FloatArray, values: FloatArray, outside: BoolArray, *, conf_level: float, reason: str | None = None
) -> PercentileIntervals:
    """Return the interval of each quantity from its values, shape (n, n_resamples).

    `outside` marks replicates without a value, which count as lying below the lower and above the upper end; `reason` says why no
    interval is to be had, whatever the values.
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
    for column in (spread, low, high):
        column[none] = np.nan
    return PercentileIntervals(
        estimate=estimate,
        std_error=spread,
        conf_low=low,
        conf_high=high,
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


@record
class BootstrapStrengths:
    """Strengths fitted to replicates of the votes.

    Attributes
    ----------
    replicates
        float64, shape (n_resamples, n_models), log-units, sum 0; NaN where a replicate has no optimum.
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
    """

    replicates: FloatArray
    tie: FloatArray | None
    apart: BoolArray
    strengths: FloatArray
    unit: str
    n_units: int
    poisson: bool
    seed: int
    warnings: tuple[str, ...]

    @property
    def n_resamples(self) -> int:
        """Replicates that were drawn."""
        return self.replicates.shape[0]

    def intervals(self, *, conf_level: float = 0.95) -> PercentileIntervals:
        """Return the percentile intervals of all strengths, against the mean of all models.

        Two models must not be compared by whether these overlap: `contrasts` does that.
        """
        return self._intervals(self.strengths, self.replicates.T, self.apart.T, conf_level)

    def contrasts(
        self, first: ArrayLike | None = None, second: ArrayLike | None = None, *, conf_level: float = 0.95
    ) -> PercentileIntervals:
        """Return the percentile intervals of strength[first] - strength[second]; of all pairs i < j where none are named."""
        i, j = _pairs(first, second, self.strengths.size)
        found, apart = self.replicates.T, self.apart.T
        return self._intervals(
            self.strengths[i] - self.strengths[j], found[i] - found[j], apart[i] | apart[j], conf_level
        )

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
    fit: PairFit, rows: VoteRows, *, n_resamples: int = 1000, seed: int = 0, way: int | None = None
) -> BootstrapStrengths:
    """Draw votes, or whole clusters of them, with replacement, and fit strengths to every replicate.

    `fit`: of the same votes: every replicate is fitted the same way (ties, prior, covariates), starting from it.
    `n_resamples`: at least 100. The ends of 95% intervals have a Monte Carlo error of about .08 standard errors with 1,000.
    `seed`: the same seed on the same votes gives the same replicates, in whatever order the votes are given (clusters: as
    long as their codes stay the same), but for rounding. `way`: place in `rows.clusters` of the clusters that are drawn
    whole. None: every vote on its own, which gives intervals that are too short where votes share raters or prompts.

    Notes
    -----
    Assumed are independent votes, or independent clusters, of one law. Percentile intervals by few clusters are too short
    (with 10 about .90 instead of .95): below 20 there is a warning, below 6 no interval.

    Cost: drawing and fitting cells of equal votes, not votes. By clusters it grows with rows of different (cell, cluster).

    References
    ----------
    Efron & Tibshirani 1993, An Introduction to the Bootstrap; Chiang et al. 2024, arXiv:2403.04132, for arenas.
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
    found = refit_replicates(units, fit, np.random.default_rng(seed), n_resamples)
    strengths = found.parameters[:, : fit.n_models]
    return BootstrapStrengths(
        replicates=strengths - strengths.mean(axis=1, keepdims=True),
        tie=None if fit.tie is None else np.exp(found.parameters[:, -1]),
        apart=found.apart,
        strengths=fit.strengths,
        unit="votes" if way is None else "clusters",
        n_units=units.n_drawn,
        poisson=units.poisson,
        seed=seed,
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
