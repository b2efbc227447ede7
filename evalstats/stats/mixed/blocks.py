"""Multiply padded arrays by the covariance factors of the random effects, and collect derivatives by them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from evalstats.errors import CannotAnswerError
from evalstats.stats.mixed.design import Floats
from evalstats.stats.mixed.structure import Slot


@dataclass(frozen=True, slots=True)
class Scaling:
    """The block-diagonal matrix Lambda of one axis: the factor of each term at its places, ones elsewhere.

    Attributes
    ----------
    size
        Length of the axis.
    parts
        For every term its first position, number of places and covariance factor, shape (n_columns, n_columns).
    """

    size: int
    parts: tuple[tuple[int, int, Floats], ...]

    @classmethod
    def of(cls, size: int, slots: Sequence[Slot], factors: Sequence[Floats], shift: int = 0) -> Self:
        """Collect the factors of the terms in `slots`, which start `shift` positions further on."""
        return cls(size, tuple((slot.start + shift, slot.n_places, factors[slot.term]) for slot in slots))

    def join(self, other: Self) -> Self:
        """Return both on one axis."""
        return type(self)(self.size, self.parts + other.parts)

    def vector(self) -> Floats | None:
        """Return the diagonal where Lambda is diagonal, else None."""
        if any(len(factor) > 1 for _, _, factor in self.parts):
            return None
        out = np.ones(self.size)
        for start, n, factor in self.parts:
            out[start : start + n] = factor[0, 0]
        return out

    def right(self, array: Floats) -> Floats:
        """Return array @ Lambda over the last axis."""
        diagonal = self.vector()
        if diagonal is not None:
            return array * diagonal
        out = array.copy()
        for start, n, factor in self.parts:
            k = len(factor)
            piece = array[..., start : start + n * k]
            out[..., start : start + n * k] = (piece.reshape(*piece.shape[:-1], n, k) @ factor).reshape(piece.shape)
        return out

    def left(self, array: Floats) -> Floats:
        """Return Lambda' @ array over the last but one axis."""
        diagonal = self.vector()
        if diagonal is not None:
            return array * diagonal[:, None]
        return np.swapaxes(self.right(np.swapaxes(array, -1, -2)), -1, -2)

    def both(self, array: Floats) -> Floats:
        """Return Lambda' @ array @ Lambda over the last two axes."""
        return self.left(self.right(array))

    def transposed(self) -> "Scaling":
        """Return the same with every factor transposed."""
        return Scaling(self.size, tuple((start, n, factor.T) for start, n, factor in self.parts))


def slot_products(left: Floats, right: Floats, slot: Slot, shift: int = 0) -> Floats:
    """Sum left[level, i, :] * right[level, j, :] over the levels of a slot: shape (n_columns, n_columns).

    `left` and `right` have shape (..., size, any); the effects of the slot are rows of the last but one axis. With
    left = K Lambda and right symmetric, that is the sum of the diagonal blocks of left @ right.
    """
    k, at = slot.n_columns, slice(slot.start + shift, slot.stop + shift)
    a, b = left[..., at, :], right[..., at, :]
    out = np.empty((k, k))
    for i in range(k):
        for j in range(k):
            out[i, j] = np.einsum("...a,...a->...", a[..., i::k, :], b[..., j::k, :]).sum()
    return out


def invert_blocks(blocks: Floats) -> tuple[Floats, Floats]:
    """Invert symmetric positive definite matrices: inverses, and logarithms of determinants.

    `blocks` has shape (..., k, k). Single numbers are divided; larger matrices are factored in one batch.
    """
    if blocks.shape[-1] == 1:
        return 1.0 / blocks, np.log(blocks[..., 0, 0])
    factor = cholesky(blocks)
    return np.linalg.inv(blocks), 2.0 * np.log(np.diagonal(factor, axis1=-2, axis2=-1)).sum(axis=-1)


def cholesky(matrix: Floats) -> Floats:
    """Lower Cholesky factor of one or many matrices; in words where there is none."""
    try:
        return np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError as error:
        msg = (
            "the penalised normal equations of the mixed model are not positive definite to working precision: a variance "
            "is many orders larger than the residual's; scale the columns of random slopes, or remove a term that "
            "explains every row"
        )
        raise CannotAnswerError(msg) from error
