"""Cross-products of a linear mixed model, computed once from the cells.

With Z1 the inner effects (items), Zm the middle ones, R = [outer effects, X, y] and weights w.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

import numpy as np
from scipy.sparse import csr_array

from evalstats.stats.mixed.design import Floats, Ints, MixedDesign
from evalstats.stats.mixed.structure import Plan, Slot

_FEW_COLUMNS = 12  # fixed columns summed one by one; more are multiplied as a matrix


class Rest(NamedTuple):
    """A symmetric matrix on the middle effects and R, whose middle part falls into components.

    `mm` has shape (n_components, l, l), `mr` (n_components, l, r) and `rr` (r, r), with l middle effects in a component.
    """

    mm: Floats
    mr: Floats
    rr: Floats

    def flat(self, *, doubled: bool = False) -> Floats:
        """Return all entries in a row; `doubled` counts mr twice, as an inner product of whole matrices does."""
        mr = self.mr.reshape(-1)
        return np.concatenate([self.mm.reshape(-1), 2.0 * mr if doubled else mr, self.rr.reshape(-1)])

    def like(self, flat: Floats) -> "Rest":
        """Return the reverse of `flat()`."""
        first, second = self.mm.size, self.mm.size + self.mr.size
        return Rest(
            flat[:first].reshape(self.mm.shape),
            flat[first:second].reshape(self.mr.shape),
            flat[second:].reshape(self.rr.shape),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class CrossProducts:
    """Sums over cells for one set of weights, in the padded layout of the plan.

    Attributes
    ----------
    zz
        Z1'wZ1, shape (n_components, n_blocks, s, s), with s effects in a block.
    zm, zr
        Z1'wZm and Z1'wR, shapes (n_components, n_blocks, s, l) and (n_components, n_blocks, s, r).
    ww
        [Zm, R]'w[Zm, R].
    """

    zz: Floats
    zm: Floats
    zr: Floats
    ww: Rest


class _Column(NamedTuple):
    """An effect of every cell: its position, and its multiplier (None for ones)."""

    at: Ints
    values: Floats | None


def cross_products(design: MixedDesign, plan: Plan, fixed: Floats, response: Floats, weight: Floats) -> CrossProducts:
    """Sum over cells. `fixed` and `response` are those of the cells, perhaps transformed."""
    n, s, ell = plan.n_components, plan.inner_size, plan.middle_size
    outer_size, r = plan.outer_size, plan.outer_size + fixed.shape[1] + 1
    inner, middle, outer = (list(_columns(design, slots)) for slots in (plan.inner, plan.middle, plan.outer))
    block, component = plan.block, plan.component
    zz = _symmetric(n * plan.n_blocks, s, [_Column(c.at % s, c.values) for c in inner], block, weight)
    of_component = [_Column(c.at % ell, c.values) for c in middle]
    dense = weight[:, None] * fixed
    zm, zr = np.zeros((n * plan.n_blocks * s, ell)), np.zeros((n * plan.n_blocks * s, r))
    for column in inner:
        for other in of_component:
            zm += _sums(column.at * ell + other.at, zm, weight, column.values, other.values)
        for other in outer:
            zr += _sums(column.at * r + other.at, zr, weight, column.values, other.values)
        zr[:, outer_size:-1] += _dense_sums(column, len(zr), dense)
    mm = _symmetric(n, ell, of_component, component, weight)
    mr, rr = np.zeros((n * ell, r)), np.zeros((r, r))
    for column in middle:
        for other in outer:
            mr += _sums(column.at * r + other.at, mr, weight, column.values, other.values)
        mr[:, outer_size:-1] += _dense_sums(column, len(mr), dense)
    if outer:
        rr[:outer_size, :outer_size] = _symmetric(1, outer_size, outer, None, weight)[0]
    for column in outer:
        rr[:outer_size, outer_size:-1] += _dense_sums(column, outer_size, dense)
    rr[outer_size:-1, :outer_size] = rr[:outer_size, outer_size:-1].T
    rr[outer_size:-1, outer_size:-1] = dense.T @ fixed
    shape = (n, plan.n_blocks, s)
    products = CrossProducts(
        zz=zz.reshape(*shape, s),
        zm=zm.reshape(*shape, ell),
        zr=zr.reshape(*shape, r),
        ww=Rest(mm, mr.reshape(n, ell, r), rr),
    )
    replace_response(products, design, plan, (fixed, response), weight)
    return products


def replace_response(
    products: CrossProducts, design: MixedDesign, plan: Plan, dense: tuple[Floats, Floats], weight: Floats
) -> None:
    """Write the sums that involve the response, in place; `dense` is the fixed part and the response."""
    fixed, response = dense
    weighted = weight * response
    mr, rr = products.ww.mr, products.ww.rr
    for slots, sums in ((plan.inner, products.zr[..., -1]), (plan.middle, mr[..., -1]), (plan.outer, rr[:, -1])):
        flat = np.zeros(sums.size)
        for column in _columns(design, slots):
            flat += np.bincount(column.at, weights=_times(weighted, column.values), minlength=sums.size)
        sums[...] = flat.reshape(sums.shape)
    rr[plan.outer_size : -1, -1] = weighted @ fixed
    rr[-1, -1] = weighted @ response
    rr[-1] = rr[:, -1]


def _columns(design: MixedDesign, slots: tuple[Slot, ...]) -> Iterator[_Column]:
    """Effects of every cell at one stage, with positions in the flattened array of the stage."""
    for slot in slots:
        term = design.terms[slot.term]
        first = slot.place[term.level]
        plain = term.is_intercept
        for k in range(term.n_columns):
            yield _Column(first + k if k else first, None if plain else np.ascontiguousarray(term.values[:, k]))


def _symmetric(n: int, size: int, columns: list[_Column], which: Ints | None, weight: Floats) -> Floats:
    """Sum products of effects: n matrices of this size, where `which` is that of every cell."""
    out = np.zeros((n, size, size))
    for i, column in enumerate(columns):
        row = column.at if which is None else which * size + column.at
        if size == 1:
            return _sums(row, out, weight, column.values, column.values)
        diagonal = np.zeros((n, size))
        diagonal += _sums(row, diagonal, weight, column.values, column.values)
        out[:, np.arange(size), np.arange(size)] += diagonal
        for other in columns[:i]:
            sums = _sums(row * size + other.at, out, weight, column.values, other.values)
            out += sums
            out += np.swapaxes(sums, -1, -2)
    return out


def _times(weight: Floats, values: Floats | None) -> Floats:
    return weight if values is None else weight * values


def _sums(index: Ints, like: Floats, weight: Floats, values: Floats | None, others: Floats | None) -> Floats:
    weights = _times(_times(weight, values), others)
    return np.bincount(index, weights=weights, minlength=like.size).astype(np.float64, copy=False).reshape(like.shape)


def _dense_sums(column: _Column, size: int, dense: Floats) -> Floats:
    """Sum weighted dense columns over cells with the same effect: shape (size, n_columns)."""
    n, p = dense.shape
    if p > _FEW_COLUMNS:
        values = np.ones(n) if column.values is None else column.values
        cells = cast("Any", csr_array)((values, (column.at, np.arange(n))), (size, n))  # its types lose the numbers
        return np.asarray(cells @ dense, dtype=np.float64)
    out = np.empty((size, p))
    for j in range(p):
        out[:, j] = np.bincount(column.at, weights=_times(dense[:, j], column.values), minlength=size)
    return out
