"""Weights that make a sample's margins equal known shares: raking, by iterative proportional fitting."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from evalstats.errors import CannotAnswerError, InputError
from evalstats.stats.checks import FloatArray, IntArray, as_values
from evalstats.stats.estimate import Estimate
from evalstats.stats.gap.weighted_mean import clustered_mean, residuals_on_margins

Margin = tuple[IntArray, FloatArray]
TRIM = 5.0
_TOLERANCE = 1e-10
_MOST_ROUNDS = 500
_SHARES = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class Raked:
    """Weights of rows, with a mean of 1.

    Attributes
    ----------
    weights
        float64, shape (n_rows,).
    effective_n
        Kish: (sum w)^2 / sum w^2.
    ratio
        Largest over smallest weight.
    trimmed
        Share of rows whose weight is held at `trim` times the mean.
    converged, n_rounds, miss
        Whether all margins are met; rounds; largest distance of a margin's share from what was asked, over covered levels.
        Trimmed weights may be unable to meet the margins: then it has not converged.
    uncovered
        For each margin, the share asked for at levels that no row has. It is left out and the other shares are scaled up:
        no weight can stand for it, and a mean is over the covered mix.
    empty
        (margin, level) of those levels.
    targets, reached
        For each margin the shares over its covered levels, as asked and as reached.
    """

    weights: FloatArray
    effective_n: float
    ratio: float
    trimmed: float
    converged: bool
    n_rounds: int
    miss: float
    uncovered: tuple[float, ...]
    empty: tuple[tuple[int, int], ...]
    targets: tuple[FloatArray, ...]
    reached: tuple[FloatArray, ...]


def rake(
    margins: Sequence[tuple[ArrayLike, ArrayLike]], *, weights: ArrayLike | None = None, trim: float | None = TRIM
) -> Raked:
    """Weight rows so that each margin has the shares asked for.

    Parameters
    ----------
    margins
        For each factor: the level of each row (integer codes from 0, shape (n_rows,)) and the share wanted of each level
        (float64, adding up to 1).
    weights
        Starting weights of rows, above 0; all 1 where left out.
    trim
        Largest weight allowed, as a multiple of the mean weight, above 1; None for no limit. After a cut the margins are
        raked again, until both hold.

    Raises
    ------
    InputError
        If shares do not add up to 1 or codes are out of range.
    CannotAnswerError
        If no row has a level that is wanted, or rows exist only at levels whose share is 0.

    Notes
    -----
    Rows at a level whose share is 0 get weight 0 and count as dropped.

    References
    ----------
    Deming & Stephan 1940, doi:10.1214/aoms/1177731829; Kish 1965, Survey Sampling; Deville, Sarndal & Sautory 1993,
    doi:10.1080/01621459.1993.10476369.

    Examples
    --------
    >>> sex, age = np.array([0, 0, 0, 1, 1, 1]), np.array([0, 1, 1, 0, 0, 1])
    >>> r = rake([(sex, [0.5, 0.5]), (age, [0.25, 0.75])])
    >>> r.converged, [shares.round(6).tolist() for shares in r.reached]
    (True, [[0.5, 0.5], [0.25, 0.75]])
    """
    checked = [_margin(codes, shares, place) for place, (codes, shares) in enumerate(margins)]
    if not checked or len({codes.size for codes, _ in checked}) != 1:
        raise InputError("raking needs at least one margin, and the same number of rows in each")
    if trim is not None and trim <= 1.0:
        raise InputError(f"trim is {trim:g}; the largest weight must be more than 1 mean weight (5 is usual)")
    start = _start(weights, checked[0][0].size)
    covered, uncovered, empty = _covered(checked)
    zero = np.any([shares[codes] <= 0 for codes, shares in covered], axis=0)
    start = np.where(zero, 0.0, start)
    if not start.any():
        raise CannotAnswerError("no row has only levels whose share is above 0; nothing can stand for this mix")
    w, rounds, miss = _fitted(start / start[start > 0].mean(), covered, trim)
    used = w[w > 0]
    w = w / used.mean()
    held = 0.0 if trim is None else float((w >= trim * (1.0 - 1e-9)).mean())
    used = w[w > 0]
    return Raked(
        weights=w,
        effective_n=float(used.sum() ** 2 / (used**2).sum()),
        ratio=float(used.max() / used.min()),
        trimmed=held,
        converged=miss <= _TOLERANCE,
        n_rounds=rounds,
        miss=miss,
        uncovered=uncovered,
        empty=empty,
        targets=tuple(shares for _, shares in covered),
        reached=tuple(_reached(w, codes, shares.size) for codes, shares in covered),
    )


def raked_mean(
    values: ArrayLike,
    margins: Sequence[tuple[ArrayLike, ArrayLike]],
    *,
    clusters: ArrayLike | None = None,
    trim: float | None = TRIM,
    conf_level: float = 0.95,
) -> tuple[Estimate, Raked]:
    """Mean of values over a mix of which the margins are known, with its error by linearisation.

    Parameters
    ----------
    values
        float64, shape (n_rows,).
    margins, trim
        As in `rake`; the shares are taken as known.
    clusters
        Integer codes, shape (n_rows,); each row its own where left out.

    Notes
    -----
    The residuals of the values on the margins, weighted, make up the error: raking is asymptotically a regression on them
    (Deville & Sarndal 1992, doi:10.1080/01621459.1992.10475217). Cluster sums of them, about their mean, with G/(G - 1).
    The regression weighs rows by their raked weights, which makes it the derivative of what raking does (D'Arrigo & Skinner
    2010); R's survey package weighs by the starting weights, which is the same in the limit where the sample's mix is right.

    Examples
    --------
    >>> sex, age = np.array([0, 0, 0, 1, 1, 1]), np.array([0, 1, 1, 0, 0, 1])
    >>> mean, _ = raked_mean([1.0, 0, 1, 1, 0, 1], [(sex, [0.5, 0.5]), (age, [0.25, 0.75])])
    >>> round(mean.estimate, 4)
    0.6893
    """
    x = as_values(values)
    raked = rake(margins, trim=trim)
    if raked.weights.size != x.size:
        raise InputError(f"{x.size} values and margins of {raked.weights.size} rows; give one level a value")
    codes = [np.asarray(levels, dtype=np.int64) for levels, _ in margins]
    off = residuals_on_margins(x, codes, raked.weights)
    method = f"raked to {len(codes)} margin{'s' if len(codes) != 1 else ''}, linearised t"
    estimate = clustered_mean(x, off, raked.weights, clusters=clusters, conf_level=conf_level, method=method)
    return estimate, raked


def _fitted(w: FloatArray, margins: Sequence[Margin], trim: float | None) -> tuple[FloatArray, int, float]:
    """Rake and trim in turn until the margins hold after the cut."""
    miss, rounds = np.inf, 0
    while rounds < _MOST_ROUNDS and miss > _TOLERANCE:
        rounds += 1
        for codes, shares in margins:
            have = np.bincount(codes, weights=w, minlength=shares.size)
            w = w * np.where(have > 0, shares / np.where(have > 0, have, 1.0), 0.0)[codes]
        if trim is not None:
            w = np.minimum(w, trim * w[w > 0].mean())
        miss = max(float(np.abs(_reached(w, codes, shares.size) - shares).max()) for codes, shares in margins)
    return w, rounds, miss


def _reached(w: FloatArray, codes: IntArray, n_levels: int) -> FloatArray:
    return np.bincount(codes, weights=w, minlength=n_levels).astype(np.float64) / w.sum()


def _margin(codes: ArrayLike, shares: ArrayLike, place: int) -> Margin:
    levels, wanted = np.asarray(codes, dtype=np.int64), as_values(shares, f"shares of margin {place + 1}")
    if wanted.min() < 0 or abs(wanted.sum() - 1.0) > _SHARES:
        raise InputError(
            f"shares of margin {place + 1} add up to {wanted.sum():g}; they must be 0 or more and add up to 1"
        )
    if levels.ndim != 1 or levels.size == 0 or levels.min() < 0 or levels.max() >= wanted.size:
        raise InputError(f"levels of margin {place + 1} must be codes from 0 to {wanted.size - 1}, one a row")
    return levels, wanted


def _covered(margins: Sequence[Margin]) -> tuple[list[Margin], tuple[float, ...], tuple[tuple[int, int], ...]]:
    """Cut each margin to the levels that a row has, with shares scaled up to 1."""
    kept: list[Margin] = []
    uncovered: list[float] = []
    empty: list[tuple[int, int]] = []
    for place, (codes, shares) in enumerate(margins):
        some = np.bincount(codes, minlength=shares.size) > 0
        if not (shares[some] > 0).any():
            raise CannotAnswerError(f"no row has a level of margin {place + 1} whose share is above 0")
        uncovered.append(float(shares[~some].sum()))
        empty.extend((place, int(level)) for level in np.flatnonzero(~some & (shares > 0)))
        kept.append((codes, np.where(some, shares, 0.0) / shares[some].sum()))
    return kept, tuple(uncovered), tuple(empty)


def _start(weights: ArrayLike | None, n: int) -> FloatArray:
    if weights is None:
        return np.ones(n)
    w = as_values(weights, "weights")
    if w.size != n or w.min() <= 0:
        raise InputError(f"{w.size} starting weights for {n} rows; give one above 0 for each")
    return w
