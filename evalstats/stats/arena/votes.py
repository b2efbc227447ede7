"""Votes as arrays: equal votes are merged into one row with a count, so that nothing later grows with their number."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evalstats.errors import InputError
from evalstats.record import record
from evalstats.stats.checks import FloatArray, IntArray, levels_and_places

A_WINS, B_WINS, TIE, BOTH_BAD = 0, 1, 2, 3
OUTCOMES = ("a", "b", "tie", "both_bad")
_SUMMED = frozenset({"weight", "weight_squares", "count"})
_COLUMNS = ("first", "second", "outcome", "share", "weight", "weight_squares", "count", "covariates")


@record
class VoteRows:
    """Votes between a model on side a and one on side b; a row may stand for many equal votes. Arrays have shape (n_rows,).

    Attributes
    ----------
    first, second
        int64: the models on sides a and b, numbered 0..n_models-1; never the same. A model may have no vote.
    outcome
        int64: A_WINS, B_WINS, TIE or BOTH_BAD.
    share
        float64: how much of the vote the first model got: 1, 0, .5 for a tie, or a graded preference; corrected by labels, a
        share may lie beyond 0 and 1.
    weight, weight_squares
        float64: sum of the weights of the votes that the row stands for (their number if all weigh 1), and of their squares.
    count
        int64: votes that the row stands for.
    covariates
        float64, shape (n_rows, n_covariates): what else moves the vote towards side a (a column of ones: side a itself).
    clusters
        One int64 array of codes 0..G-1 for each way in which votes share something; empty where every vote stands on its own.
    """

    n_models: int
    first: IntArray
    second: IntArray
    outcome: IntArray
    share: FloatArray
    weight: FloatArray
    weight_squares: FloatArray
    count: IntArray
    covariates: FloatArray
    clusters: tuple[IntArray, ...] = ()

    @property
    def n_rows(self) -> int:
        """Rows, after merging."""
        return self.first.size

    @property
    def n_votes(self) -> int:
        """Votes that the rows stand for."""
        return int(self.count.sum())

    @property
    def n_covariates(self) -> int:
        """Columns of `covariates`."""
        return self.covariates.shape[1]

    def take(self, rows: ArrayLike) -> "VoteRows":
        """Return some rows (a boolean mask or indices), with the same numbering of models and clusters."""
        at = np.asarray(rows)
        at = np.flatnonzero(at) if at.dtype == np.bool_ else at  # which is quicker for many columns
        columns: dict[str, Any] = {name: getattr(self, name).take(at, axis=0) for name in _COLUMNS}
        return replace(self, **columns, clusters=tuple(codes.take(at) for codes in self.clusters))

    def heavy(self) -> "VoteRows":
        """Return the rows that have some weight."""
        heavy = self.weight > 0.0
        return self if heavy.all() else self.take(heavy)

    def reweighted(self, factors: FloatArray) -> "VoteRows":
        """Return the rows with their weights multiplied by `factors`, shape (n_rows,)."""
        return replace(self, weight=self.weight * factors, weight_squares=self.weight_squares * factors**2)


def vote_rows(
    first: ArrayLike,
    second: ArrayLike,
    outcome: ArrayLike,
    *,
    n_models: int | None = None,
    share: ArrayLike | None = None,
    weight: ArrayLike | None = None,
    count: ArrayLike | None = None,
    covariates: ArrayLike | None = None,
    clusters: tuple[ArrayLike, ...] = (),
) -> VoteRows:
    """Check votes and merge equal ones.

    `first`, `second`: integers, shape (n,): models on sides a and b. `outcome`: integers, shape (n,): A_WINS, B_WINS, TIE or
    BOTH_BAD. `share`: shape (n,), finite: a graded preference for side a. None: 1, 0 and .5 as the outcome says. `weight`,
    `count`: shape (n,): weight of each entry (None: its count) and the votes that it stands for (None: one). An entry of
    several votes is taken as votes of equal weight. `covariates`: shape (n, n_covariates), finite. `clusters`: integer codes,
    each of shape (n,).
    """
    a, b = _integers(first, "first"), _integers(second, "second")
    n = a.size
    won = _integers(outcome, "outcome")
    if not (b.shape == won.shape == (n,)):
        raise InputError(
            f"votes have {n} first models, {b.size} second models and {won.size} outcomes; give one of each"
        )
    if n and (won.min() < A_WINS or won.max() > BOTH_BAD):
        raise InputError(
            f"outcomes lie between {won.min()} and {won.max()}; they are 0 (a), 1 (b), 2 (tie), 3 (both bad)"
        )
    if np.any(a == b):
        raise InputError(f"{int(np.count_nonzero(a == b))} of {n} votes are of a model against itself; leave them out")
    highest = int(max(a.max(initial=-1), b.max(initial=-1)))
    models = highest + 1 if n_models is None else n_models
    if highest >= models or (n and min(a.min(), b.min()) < 0):
        raise InputError(f"models are numbered up to {highest}, but there are {models}; number them from 0")
    part = np.array([1.0, 0.0, 0.5, 0.5])[won] if share is None else _floats(share, n, "shares")
    votes = np.ones(n, dtype=np.int64) if count is None else _integers(count, "counts")
    if votes.shape != (n,) or (n and votes.min() < 1):
        raise InputError(f"counts have shape {votes.shape} or lie below 1; give {n} counts of at least 1")
    mass = votes.astype(np.float64) if weight is None else _floats(weight, n, "weights", 0.0)
    beside = np.zeros((n, 0)) if covariates is None else np.asarray(covariates, dtype=np.float64)
    if beside.ndim != 2 or beside.shape[0] != n or not np.isfinite(beside).all():
        raise InputError(f"covariates have shape {beside.shape} or are not finite; give {n} rows of numbers")
    groups = tuple(_integers(codes, "clusters") for codes in clusters)
    if any(codes.shape != (n,) or (n and codes.min() < 0) for codes in groups):
        raise InputError(f"cluster codes are not all 0 or more, {n} of them; give one code per vote")
    rows = VoteRows(
        n_models=models,
        first=a,
        second=b,
        outcome=won,
        share=part,
        weight=mass,
        weight_squares=mass**2 / np.maximum(votes, 1),
        count=votes,
        covariates=beside,
        clusters=groups,
    )
    return merged(rows)


def merged(rows: VoteRows, *, keep_clusters: bool = True) -> VoteRows:
    """Merge rows that agree in everything but their weight; without `keep_clusters` the clusters are dropped first."""
    return distinct(rows, *(rows.clusters if keep_clusters else ()))[0]


def distinct(rows: VoteRows, *ways: IntArray) -> tuple[VoteRows, IntArray]:
    """Merge rows that agree in everything but weight and clusters, and in `ways`; return also the place of each row among them.

    What is the same of such rows is then computed once for all of them. The clusters of the merged rows are `ways`.
    """
    rows = replace(rows, clusters=ways)
    n_levels, place = _dense(_labels(rows))
    if n_levels == rows.n_rows:
        return rows, np.arange(rows.n_rows)
    start = np.empty(n_levels, dtype=np.int64)
    start[place[::-1]] = np.arange(rows.n_rows - 1, -1, -1)  # the first row of each stays
    alike: dict[str, Any] = {name: getattr(rows, name).take(start, axis=0) for name in _COLUMNS if name not in _SUMMED}
    kept = replace(
        rows,
        **alike,
        clusters=tuple(codes.take(start) for codes in ways),
        weight=summed(place, rows.weight, n_levels),
        weight_squares=summed(place, rows.weight_squares, n_levels),
        count=np.bincount(place, weights=rows.count, minlength=n_levels).astype(np.int64),
    )
    return kept, place


def stacked(parts: Sequence[VoteRows]) -> VoteRows:
    """Put rows of the same models, covariates and ways of clustering together, without merging them."""
    columns: dict[str, Any] = {name: np.concatenate([getattr(part, name) for part in parts]) for name in _COLUMNS}
    clusters = tuple(np.concatenate(codes) for codes in zip(*(part.clusters for part in parts), strict=True))
    return replace(parts[0], **columns, clusters=clusters)


def summed(codes: IntArray, values: FloatArray, size: int) -> FloatArray:
    """Return the sums of values by code 0..size-1, shape (size,)."""
    return np.bincount(codes, weights=values, minlength=size).astype(np.float64, copy=False)


def numbered(label: IntArray, columns: Iterable[NDArray[Any]]) -> IntArray:
    """Return a number for each row, the same for rows alike in label and columns, in the order of the columns' values."""
    for column in columns:
        n_levels, code = _dense(column)
        if n_levels > 1:
            # Compact numbers in between keep the product far from overflow.
            label = _dense(label)[1] * n_levels + code
    return label


def _dense(values: NDArray[Any]) -> tuple[int, IntArray]:
    """Return how many values there are, and for each row the place of its own among them."""
    if values.size and values.dtype.kind == "f" and np.abs(values).max() < 2**31:
        whole = values.astype(np.int64)
        values = whole if np.array_equal(whole, values) else values
    if np.issubdtype(values.dtype, np.integer):
        levels, place = levels_and_places(values.astype(np.int64, copy=False))
        return levels.size, place
    levels, code = np.unique(values, return_inverse=True)
    return levels.size, code.reshape(-1).astype(np.int64)


def _labels(rows: VoteRows) -> IntArray:
    """Return a number for each row, the same for equal rows."""
    label = (rows.first * max(rows.n_models, 1) + rows.second) * 4 + rows.outcome
    outcome_is_cheaper = np.array_equal(np.array([1.0, 0.0, 0.5, 0.5])[rows.outcome], rows.share)
    further = [] if outcome_is_cheaper else [rows.share]
    return numbered(label, (*further, *rows.covariates.T, *rows.clusters))


def _integers(values: ArrayLike, what: str) -> IntArray:
    array = np.asarray(values)
    if array.size == 0:
        return np.zeros(0, dtype=np.int64)
    if array.ndim != 1 or array.dtype.kind not in "iub":
        raise InputError(f"{what} are of type {array.dtype} and shape {array.shape}; give one whole number per vote")
    return array.astype(np.int64, copy=False)


def _floats(values: ArrayLike, n: int, what: str, low: float = -np.inf) -> FloatArray:
    array = np.asarray(values, dtype=np.float64)
    if array.shape != (n,):
        raise InputError(f"{what} have shape {array.shape}, but there are {n} votes; give one per vote")
    if not np.isfinite(array).all() or (n and array.min() < low):
        raise InputError(f"{what} are not all finite numbers" + (f" of at least {low:g}" if low > -np.inf else ""))
    return array
