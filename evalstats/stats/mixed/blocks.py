"""Multiply padded arrays by the covariance factors of the random effects, and collect derivatives by them."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Self

import numpy as np
from scipy.linalg import lapack

from evalstats.errors import CannotAnswerError
from evalstats.stats.mixed.design import Floats, Ints, MixedDesign
from evalstats.stats.mixed.structure import Slot

_BATCH = 24  # matrices smaller than this are inverted in one batch, larger ones one by one


@dataclass(frozen=True, slots=True)
class Scaling:
    """The block-diagonal matrix Lambda of one axis: the factor of each term at its places, ones elsewhere.

    Attributes
    ----------
    parts
        For every term its first position, number of places and covariance factor, shape (n_columns, n_columns).
    diagonal
        The diagonal where Lambda is diagonal, else None.
    """

    parts: tuple[tuple[int, int, Floats], ...]
    diagonal: Floats | None

    @classmethod
    def of(cls, size: int, slots: Sequence[Slot], factors: Sequence[Floats]) -> Self:
        """Collect the factors of the terms in `slots`, on an axis of length `size`."""
        parts = tuple((slot.start, slot.n_places, factors[slot.term]) for slot in slots)
        if any(len(factor) > 1 for _, _, factor in parts):
            return cls(parts, None)
        diagonal = np.ones(size)
        for start, n, factor in parts:
            diagonal[start : start + n] = factor[0, 0]
        return cls(parts, diagonal)

    def right(self, array: Floats) -> Floats:
        """Return array @ Lambda over the last axis."""
        if self.diagonal is not None:
            return array * self.diagonal
        out = array.copy()
        for start, n, factor in self.parts:
            k = len(factor)
            piece = array[..., start : start + n * k]
            out[..., start : start + n * k] = (piece.reshape(*piece.shape[:-1], n, k) @ factor).reshape(piece.shape)
        return out

    def left(self, array: Floats) -> Floats:
        """Return Lambda' @ array over the last but one axis."""
        if self.diagonal is not None:
            return array * self.diagonal[:, None]
        return np.swapaxes(self.right(np.swapaxes(array, -1, -2)), -1, -2)

    def both(self, array: Floats) -> Floats:
        """Return Lambda' @ array @ Lambda over the last two axes."""
        return self.left(self.right(array))

    def transposed(self) -> "Scaling":
        """Return the same with every factor transposed."""
        if self.diagonal is not None:
            return self
        return Scaling(tuple((start, n, factor.T) for start, n, factor in self.parts), None)


@cache
def lower_entries(size: int) -> tuple[Ints, Ints]:
    """Rows and columns of a lower triangle, column by column as theta runs."""
    columns, rows = np.triu_indices(size)
    return rows, columns


def split_theta(design: MixedDesign, theta: Floats) -> tuple[Floats, ...]:
    """Return the same as `design.factors(theta)`, made for many calls."""
    out: list[Floats] = []
    start = 0
    for term in design.terms:
        factor = np.zeros((term.n_columns, term.n_columns))
        factor[lower_entries(term.n_columns)] = theta[start : start + term.n_theta]
        out.append(factor)
        start += term.n_theta
    return tuple(out)


def slot_products(left: Floats, right: Floats, slot: Slot) -> Floats:
    """Sum left[level, i, :] * right[level, j, :] over the levels of a slot: shape (n_columns, n_columns).

    `left` and `right` have shape (..., size, any); the effects of the slot are rows of the last but one axis. With
    left = K Lambda and right symmetric, that is the sum of the diagonal blocks of left @ right.
    """
    k = slot.n_columns
    a, b = left[..., slot.start : slot.stop, :], right[..., slot.start : slot.stop, :]
    if k == 1:
        return np.array([[np.einsum("...a,...a->...", a, b).sum()]])
    out = np.empty((k, k))
    for i in range(k):
        for j in range(k):
            out[i, j] = np.einsum("...a,...a->...", a[..., i::k, :], b[..., j::k, :]).sum()
    return out


def invert_blocks(blocks: Floats) -> tuple[Floats, Floats]:
    """Invert symmetric positive definite matrices: inverses, and logarithms of determinants.

    `blocks` has shape (..., k, k). Single numbers are divided; small matrices are factored in one batch.
    """
    size = blocks.shape[-1]
    if size == 1:
        return 1.0 / blocks, np.log(blocks[..., 0, 0])
    if size < _BATCH:
        factor = cholesky(blocks)
        inverse = np.asarray(np.linalg.inv(blocks), dtype=np.float64)
        return inverse, 2.0 * np.log(np.diagonal(factor, axis1=-2, axis2=-1)).sum(axis=-1)
    flat = blocks.reshape(-1, size, size)
    out, logdets = np.empty_like(flat), np.empty(len(flat))
    for at, block in enumerate(flat):
        factor, failed = lapack.dpotrf(block, lower=1)
        if failed:
            raise CannotAnswerError(_INDEFINITE)
        logdets[at] = 2.0 * np.log(np.diag(factor)).sum()
        inverse = np.tril(lapack.dpotri(factor, lower=1)[0])
        out[at] = inverse + inverse.T
        out[at].flat[:: size + 1] *= 0.5
    return out.reshape(blocks.shape), logdets.reshape(blocks.shape[:-2])


def invert_lower(root: Floats) -> Floats:
    """Invert a lower-triangular matrix (LAPACK, without the threads that solving for many columns would start)."""
    return np.asarray(lapack.dtrtri(root, lower=1)[0], dtype=np.float64) if root.size else root


def cholesky(matrix: Floats) -> Floats:
    """Lower Cholesky factor of one or many matrices; in words where there is none."""
    try:
        return np.asarray(np.linalg.cholesky(matrix), dtype=np.float64)
    except np.linalg.LinAlgError as error:
        raise CannotAnswerError(_INDEFINITE) from error


_INDEFINITE = (
    "the penalised normal equations of the mixed model are not positive definite to working precision: a variance is many "
    "orders larger than the residual's; scale the columns of random slopes, or remove a term that explains every row"
)
