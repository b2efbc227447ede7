"""Linear contrasts of item scores (old less new, originals less twins, a jump at a date) with cluster-robust variance."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike

from evalstats.errors import InputError
from evalstats.stats.checks import FloatArray, IntArray, as_codes

_MOST_COLUMNS = 4
_ROUNDING = 1e-10


@dataclass(frozen=True, slots=True, kw_only=True)
class _Piece:
    """One way of clustering: scores that turn residuals into a cluster's share, its df, and its sign in the sum."""

    codes: IntArray
    n_clusters: int
    scores: FloatArray
    df: float
    sign: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemContrast:
    """A coefficient of a weighted regression on items, ready for any scores of these items.

    Attributes
    ----------
    weights
        float64, shape (n_items,): the contrast is `weights @ scores`.
    design, back
        The regression's columns, and what turns scores into all its coefficients, shape (p, n_items).
    df
        Satterthwaite's degrees of freedom of the variance; with several cluster columns the fewest of them.
    n_clusters
        Clusters, of the column that has the fewest; items where nothing is clustered.
    """

    weights: FloatArray
    design: FloatArray
    back: FloatArray
    df: float
    n_clusters: int
    pieces: tuple[_Piece, ...]

    def estimate(self, scores: FloatArray) -> FloatArray:
        """Return the contrast of every column of `scores`, shape (n_items, k)."""
        return np.asarray(self.weights @ scores, dtype=np.float64)

    def variance(self, scores: FloatArray) -> FloatArray:
        """Return the CR2 variance of the contrast of every column, shape (k,); 0 where rounding is all there is."""
        residuals = scores - self.design @ (self.back @ scores)
        total = np.zeros(scores.shape[1])
        largest = np.zeros(scores.shape[1])
        for piece in self.pieces:
            share = np.zeros((piece.n_clusters, scores.shape[1]))
            np.add.at(share, piece.codes, piece.scores[:, np.newaxis] * residuals)
            one = (share**2).sum(axis=0)
            total += piece.sign * one
            largest = np.maximum(largest, one) if piece.sign > 0 else largest
        # Inclusion and exclusion can come out too small by chance; the largest one-way variance is a floor.
        found = np.maximum(total, largest) if len(self.pieces) > 1 else total
        tiny = _ROUNDING * np.abs(scores).max(axis=0, initial=0.0) * np.abs(self.weights).max()
        return np.where(found > tiny**2, found, 0.0)


def item_contrast(
    design: ArrayLike,
    coefficient: ArrayLike,
    *,
    weights: ArrayLike | None = None,
    clusters: Sequence[ArrayLike] = (),
) -> ItemContrast:
    """Prepare a contrast of the coefficients of a weighted regression on items.

    Parameters
    ----------
    design
        float64, shape (n_items, p), of full rank.
    coefficient
        float64, shape (p,): the contrast is this combination of the coefficients.
    weights
        float64, shape (n_items,), above 0: weights of a kernel; None for 1 throughout.
    clusters
        Integer codes, one array of shape (n_items,) for each way of clustering; none: every item for itself.

    Raises
    ------
    InputError
        If shapes do not fit, a weight is not above 0, or the design has less than full rank.

    Notes
    -----
    CR2 with an identity working model: within cluster g residuals are multiplied by the inverse root of
    [(I - H)(I - H)']_gg, H the hat matrix of the weighted regression. Degrees of freedom are Satterthwaite's under the
    working model, tr(G)^2 / tr(G^2), worked out from factors of low rank. For the mean of items it equals
    `evalstats.stats.one_sample.cr2_of_mean`; for a difference of two groups of single items it is Welch's variance.

    References
    ----------
    Bell & McCaffrey 2002, Survey Methodology 28:169; Pustejovsky & Tipton 2018, doi:10.1080/07350015.2016.1247004;
    Cameron, Gelbach & Miller 2011, doi:10.1198/jbes.2010.07136.

    Examples
    --------
    >>> found = item_contrast(np.ones((4, 1)), [1.0])
    >>> scores = np.array([[1.0], [2.0], [3.0], [6.0]])
    >>> found.estimate(scores).tolist(), found.variance(scores).round(6).tolist(), round(found.df, 6)
    ([3.0], [1.166667], 3.0)
    """
    x = np.asarray(design, dtype=np.float64)
    c = np.asarray(coefficient, dtype=np.float64)
    if x.ndim != 2 or c.shape != (x.shape[1],):
        raise InputError(f"design {x.shape} and coefficient {c.shape} do not fit; give (n_items, p) and (p,)")
    n, p = x.shape
    w = np.ones(n) if weights is None else np.asarray(weights, dtype=np.float64)
    if w.shape != (n,) or not (np.isfinite(w) & (w > 0)).all():
        raise InputError(f"weights must be {n} numbers above 0; leave out items that have none")
    if len(clusters) > _MOST_COLUMNS:
        raise InputError(f"{len(clusters)} cluster columns; give at most {_MOST_COLUMNS}")
    if n <= p or np.linalg.matrix_rank(x * np.sqrt(w)[:, np.newaxis]) < p:
        raise InputError(
            f"{n} items cannot tell {p} coefficients apart; more items, or more different dates, are needed"
        )
    weighted = x * w[:, np.newaxis]
    back = np.asarray(np.linalg.solve(x.T @ weighted, weighted.T), dtype=np.float64)
    pieces = tuple(_piece(x, back, c @ back, way) for way in _ways(clusters, n))
    single = pieces[: max(1, len(clusters))]
    return ItemContrast(
        weights=c @ back,
        design=x,
        back=back,
        df=min(piece.df for piece in single),
        n_clusters=min(piece.n_clusters for piece in single),
        pieces=pieces,
    )


def _ways(clusters: Sequence[ArrayLike], n: int) -> list[tuple[IntArray, int, float]]:
    """Return the columns and their intersections with the signs of inclusion and exclusion."""
    if not clusters:
        return [(np.arange(n), n, 1.0)]
    columns = [as_codes(column, n) for column in clusters]
    ways: list[tuple[IntArray, int, float]] = []
    for size in range(1, len(columns) + 1):
        for chosen in combinations(columns, size):
            codes, count = chosen[0]
            for other, n_other in chosen[1:]:
                levels, codes = np.unique(codes * n_other + other, return_inverse=True)
                codes, count = codes.astype(np.int64), int(levels.size)
            ways.append((codes, count, 1.0 if size % 2 else -1.0))
    return ways


def _piece(x: FloatArray, back: FloatArray, line: FloatArray, way: tuple[IntArray, int, float]) -> _Piece:
    """Return the scores s_g = A_g z_g of one way of clustering, and its Satterthwaite df."""
    codes, count, sign = way
    b = np.ascontiguousarray(back.T)  # hat matrix H = x @ back, so H_ij = x_i . b_j
    inner = b.T @ b
    scores = _single(x, b, inner, line) if count == len(x) else np.empty(len(x))
    if count < len(x):
        order = np.argsort(codes, kind="stable")
        for rows in np.split(order, np.flatnonzero(np.diff(codes[order])) + 1):
            scores[rows] = _adjusted(x[rows], b[rows], inner, line[rows])
    return _Piece(codes=codes, n_clusters=count, scores=scores, df=_df(x, b, scores, codes), sign=sign)


def _single(x: FloatArray, b: FloatArray, inner: FloatArray, line: FloatArray) -> FloatArray:
    """Every item for itself: the inverse root is a number."""
    left = 1.0 - 2.0 * (x * b).sum(axis=1) + np.einsum("ij,jk,ik->i", x, inner, x)
    return np.where(left > _ROUNDING, line / np.sqrt(np.maximum(left, _ROUNDING)), 0.0)


def _adjusted(x: FloatArray, b: FloatArray, inner: FloatArray, line: FloatArray) -> FloatArray:
    """Return [(I - H)(I - H)']_gg ^ (-1/2) z, worked out in the few dimensions in which that is not the identity."""
    basis, sizes, _ = np.linalg.svd(
        np.hstack([x, b / np.abs(b).max(), line[:, np.newaxis] / np.abs(line).max()]), full_matrices=False
    )
    basis = basis[:, sizes > _ROUNDING * sizes[0]]
    px, pb = basis.T @ x, basis.T @ b
    block = np.eye(basis.shape[1]) - px @ pb.T - pb @ px.T + px @ inner @ px.T
    values, vectors = np.linalg.eigh(block)
    root = np.where(values > _ROUNDING, 1.0 / np.sqrt(np.maximum(values, _ROUNDING)), 0.0)
    return np.asarray(basis @ (vectors @ (root * (vectors.T @ (basis.T @ line)))), dtype=np.float64)


def _df(x: FloatArray, b: FloatArray, scores: FloatArray, codes: IntArray) -> float:
    """Return tr(G)^2 / tr(G^2), with G_gh = d_g (g = h) - q_g'p_h - p_g'q_h + p_g' K p_h."""
    count, inner = int(codes.max()) + 1, b.T @ b
    d = np.bincount(codes, weights=scores**2, minlength=count)
    p, q = np.zeros((count, x.shape[1])), np.zeros((count, x.shape[1]))
    np.add.at(p, codes, scores[:, np.newaxis] * x)
    np.add.at(q, codes, scores[:, np.newaxis] * b)
    low = -2.0 * (q * p).sum(axis=1) + np.einsum("gi,ij,gj->g", p, inner, p)
    both = np.hstack([q, p])
    k = x.shape[1]
    middle = np.block([[np.zeros((k, k)), -np.eye(k)], [-np.eye(k), inner]])
    cross = both.T @ both @ middle
    squares = float((d**2 + 2.0 * d * low).sum() + np.trace(cross @ cross))
    return float((d + low).sum()) ** 2 / squares


def split_contrast(old: ArrayLike, clusters: Sequence[ArrayLike] = ()) -> ItemContrast:
    """Prepare the mean of old items less that of new ones.

    Parameters
    ----------
    old
        bool, shape (n_items,): items that the model may have seen.
    clusters
        Integer codes, one array of shape (n_items,) for each way of clustering; a cluster may hold items of both kinds.

    Raises
    ------
    InputError
        If one kind has no item.

    Examples
    --------
    >>> found = split_contrast([True, True, False, False])
    >>> found.estimate(np.array([[1.0], [0.5], [0.0], [0.5]])).tolist()
    [0.5]
    """
    is_old = np.asarray(old, dtype=np.bool_)
    if is_old.ndim != 1 or is_old.all() or not is_old.any():
        raise InputError("old and new items are both needed, one flag for every item")
    codes: list[IntArray] = [np.asarray(each, dtype=np.int64) for each in clusters]
    return item_contrast(np.column_stack([is_old, ~is_old]), [1.0, -1.0], clusters=codes)


def twin_contrast(n_pairs: int, clusters: Sequence[ArrayLike] = ()) -> ItemContrast:
    """Prepare the mean over pairs, for scores that are already original less rephrased.

    Parameters
    ----------
    n_pairs
        Pairs of an original and its rephrased twin, at least 2.
    clusters
        Integer codes, one array of shape (n_pairs,) for each way of clustering.

    Raises
    ------
    InputError
        If there are fewer than two pairs.

    Examples
    --------
    >>> twin_contrast(4).estimate(np.array([[1.0], [0.0], [0.0], [1.0]])).tolist()
    [0.5]
    """
    if n_pairs < 2:
        raise InputError(f"{n_pairs} pairs of an original and a twin; at least 2 are needed")
    codes: list[IntArray] = [np.asarray(each, dtype=np.int64) for each in clusters]
    return item_contrast(np.ones((n_pairs, 1)), [1.0], clusters=codes)
