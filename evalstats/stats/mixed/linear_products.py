"""Cross-products of a linear mixed model, computed once from the cells, and the elimination of the inner stage from them.

With Z1 the inner effects (items), W = [other random effects, X, y] and weights w: `zz` = Z1'wZ1 (one small block an item),
`zw` = Z1'wW and `ww` = W'wW. For factors Lambda1 of the inner effects the inner stage leaves

    reduced = ww - sum over blocks of zw_b' gain_b zw_b,   gain = Lambda1 (Lambda1' zz_b Lambda1 + I)^-1 Lambda1'.

Blocks with the same zz have the same gain. So the products zw_b' zw_b are summed over them once, where few blocks differ:
then an evaluation does not touch items at all. A name with `_bar` is the derivative of the criterion by that array.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from evalstats.stats.mixed.blocks import Scaling, invert_blocks, slot_products
from evalstats.stats.mixed.design import Floats, Ints, MixedDesign
from evalstats.stats.mixed.structure import Plan, Slot

_FEW_COLUMNS = 12  # fixed columns summed one by one; more are multiplied as a matrix


@dataclass(frozen=True, slots=True, kw_only=True)
class CrossProducts:
    """zz, zw and ww for one set of weights, in the padded layout of the plan.

    Attributes
    ----------
    zz
        float64, shape (n_components, n_blocks, s, s), with s effects in a block.
    zw
        float64, shape (n_components, n_blocks, s, m): columns are middle, outer and fixed effects, and the response.
    ww
        float64, shape (n_components, m, m). What does not involve the middle stage stands in component 0 alone.
    """

    zz: Floats
    zw: Floats
    ww: Floats


def cross_products(design: MixedDesign, plan: Plan, fixed: Floats, response: Floats, weight: Floats) -> CrossProducts:
    """Sum over cells. `fixed` and `response` are those of the cells, perhaps transformed."""
    s, m = plan.inner_size, plan.middle_size + plan.outer_size + fixed.shape[1] + 1
    inner = [
        column for slot in plan.inner for column in _columns(design, slot, slot.place[design.terms[slot.term].level])
    ]
    rest = _rest_columns(design, plan)
    dense = np.column_stack([fixed, response])
    zz = np.zeros(plan.n_components * plan.n_blocks * s * s)
    for i, (at, values) in enumerate(inner):
        for other, others in inner[: i + 1]:
            zz += _sums(at * s + other % s, zz.size, weight, values, others)
    zz = zz.reshape(plan.n_components, plan.n_blocks, s, s)
    upper = np.swapaxes(zz, -1, -2) - zz * np.eye(s)
    zz = zz + upper if s > 1 else zz
    zw = np.zeros((plan.n_components * plan.n_blocks * s, m))
    for at, values in inner:
        for other, others, _ in rest:
            zw += _sums(at * m + other, zw.size, weight, values, others).reshape(zw.shape)
        zw[:, m - dense.shape[1] :] += _dense_sums(at, len(zw), _times(weight, values), dense)
    ww = _rest_products(plan, rest, dense, weight, m)
    return CrossProducts(zz=zz, zw=zw.reshape(plan.n_components, plan.n_blocks, s, m), ww=ww)


def replace_response(
    products: CrossProducts, design: MixedDesign, plan: Plan, fixed: Floats, response: Floats, weight: Floats
) -> None:
    """Write the sums that involve the response, in place."""
    weighted = weight * response
    m = products.ww.shape[-1]
    column = np.zeros(products.zw.size // m)
    for slot in plan.inner:
        for at, values in _columns(design, slot, slot.place[design.terms[slot.term].level]):
            column += np.bincount(at, weights=_times(weighted, values), minlength=len(column))
    products.zw[..., -1] = column.reshape(products.zw.shape[:-1])
    rest = np.zeros(plan.n_components * m)
    for at, values, middle in _rest_columns(design, plan):
        row = plan.component * m + at if middle else at
        rest += np.bincount(row, weights=_times(weighted, values), minlength=len(rest))
    rest = rest.reshape(plan.n_components, m)
    rest[0, m - 1 - fixed.shape[1] : -1] = weighted @ fixed
    rest[0, -1] = weighted @ response
    products.ww[..., -1] = rest
    products.ww[:, -1, :] = rest


_Column = tuple[Ints, Floats | None]


def _columns(design: MixedDesign, slot: Slot, first: Ints) -> Iterator[_Column]:
    """Position of every cell's effect, and its multiplier (None for ones), column by column of a term."""
    term = design.terms[slot.term]
    for k in range(term.n_columns):
        values = None if term.is_intercept else np.ascontiguousarray(term.values[:, k])
        yield (first + k if k else first), values


def _rest_columns(design: MixedDesign, plan: Plan) -> list[tuple[Ints, Floats | None, bool]]:
    """Columns of the middle and outer stages: position in a row of zw, multiplier, whether it is of the middle stage."""
    out: list[tuple[Ints, Floats | None, bool]] = []
    for slot in plan.middle:
        first = slot.place % plan.middle_size
        out += [(*column, True) for column in _columns(design, slot, first[design.terms[slot.term].level])]
    for slot in plan.outer:
        first = slot.place + plan.middle_size
        out += [(*column, False) for column in _columns(design, slot, first[design.terms[slot.term].level])]
    return out


def _rest_products(
    plan: Plan, rest: list[tuple[Ints, Floats | None, bool]], dense: Floats, weight: Floats, m: int
) -> Floats:
    ww = np.zeros(plan.n_components * m * m)
    flat = ww.reshape(plan.n_components, m, m)
    first_dense = m - dense.shape[1]
    for i, (at, values, middle) in enumerate(rest):
        row = plan.component * m + at if middle else at
        for j, (other, others, partly) in enumerate(rest[: i + 1]):
            both = plan.component * m + at if partly and not middle else row
            sums = _sums(both * m + other, ww.size, weight, values, others)
            ww += sums
            if j < i:
                flat += np.swapaxes(sums.reshape(flat.shape), -1, -2)
        sums = _dense_sums(row, plan.n_components * m, _times(weight, values), dense).reshape(plan.n_components, m, -1)
        flat[:, :, first_dense:] += sums
        flat[:, first_dense:, :] += np.swapaxes(sums, -1, -2)
    flat[0, first_dense:, first_dense:] = _gram(dense, weight)
    return flat


def _times(weight: Floats, values: Floats | None) -> Floats:
    return weight if values is None else weight * values


def _sums(index: Ints, size: int, weight: Floats, values: Floats | None, others: Floats | None) -> Floats:
    return np.bincount(index, weights=_times(_times(weight, values), others), minlength=size)


def _dense_sums(index: Ints, size: int, weight: Floats, dense: Floats) -> Floats:
    """Sum weight * dense over cells with the same index: shape (size, n_columns)."""
    if dense.shape[1] <= _FEW_COLUMNS:
        return np.column_stack([np.bincount(index, weights=weight * column, minlength=size) for column in dense.T])
    cells = np.arange(len(index))
    sums: Floats = csr_array((weight, (index, cells)), (size, len(index))) @ dense
    return sums


def _gram(dense: Floats, weight: Floats) -> Floats:
    return dense.T @ (weight[:, None] * dense)


class Inner:
    """What the inner stage leaves, and derivatives through it.

    Parameters
    ----------
    plan
        The stages.
    products
        Cross-products for each class of cells that share their number of rows; one class where no term is at the cell
        stage, whose weights then are the numbers of rows.
    """

    def __init__(self, plan: Plan, products: tuple[CrossProducts, ...]) -> None:
        self.plan, self.classes = plan, products
        grouped = _grouped(products[0]) if len(products) == 1 else None
        self.grouped = None if grouped is None else grouped[:3]
        self.group = np.zeros(0, dtype=np.int64) if grouped is None else grouped[3]

    def replace_response(self) -> None:
        """Bring the grouped products up to date after zw has a new last column."""
        if self.grouped is None:
            return
        zw = self.classes[0].zw
        n_components, _, s, m = zw.shape
        which = self.group.reshape(zw.shape[:2])
        flat = self.grouped[1].reshape(-1, s, s, n_components, m, m)
        for d in range(len(flat)):
            for c in range(n_components):
                chosen = zw[c, which[c] == d]
                sums = np.einsum("bim,bj->ijm", chosen, chosen[..., -1])
                flat[d, :, :, c, :, -1] = sums
                flat[d, :, :, c, -1, :] = np.swapaxes(sums, 0, 1)

    def reduce(self, weight: Floats, scaling: Scaling) -> tuple[Floats, float, "InnerState"]:
        """reduced, shape (n_components, m, m), and the log-determinant of the inner stage, for class weights and Lambda1."""
        if self.grouped is not None:
            w = float(weight[0])
            zz, products, count = self.grouped
            gain, _, _, logdet, state = _eliminate(zz * w, scaling, count)
            ww = self.classes[0].ww
            reduced = w * ww - w**2 * (gain.reshape(-1) @ products).reshape(ww.shape)
            return reduced, logdet, state
        zz = _combine(weight, [p.zz for p in self.classes])
        zw = _combine(weight, [p.zw for p in self.classes])
        gain, _, _, logdet, state = _eliminate(zz, scaling, np.ones(zz.shape[:2]))
        n, m = zz.shape[0], zw.shape[-1]
        state.zw = zw
        state.gain_zw = gain @ zw
        reduced = _combine(weight, [p.ww for p in self.classes])
        reduced = reduced - np.swapaxes(zw.reshape(n, -1, m), -1, -2) @ state.gain_zw.reshape(n, -1, m)
        return reduced, logdet, state

    def gradient(self, weight: Floats, state: "InnerState", reduced_bar: Floats) -> tuple[list[Floats], Floats]:
        """Derivatives by the factor of each inner term and by the class weights, for the derivative reduced_bar by reduced."""
        scaling = state.scaling
        if self.grouped is not None:
            _, products, _ = self.grouped
            form = (products @ reduced_bar.reshape(-1)).reshape(state.zz.shape)
            weighted_form = form * float(weight[0]) ** 2
        else:
            assert state.zw is not None
            n, m = len(state.zw), state.zw.shape[-1]
            zw_bar = (state.zw.reshape(n, -1, m) @ reduced_bar).reshape(state.zw.shape)
            form = weighted_form = zw_bar @ np.swapaxes(state.zw, -1, -2)
        inverse = state.inverse
        right = scaling.right(weighted_form) @ inverse  # form Lambda scaled^-1
        scaled_bar = state.count[..., None, None] * inverse + inverse @ scaling.left(right)
        left = scaling.right(state.zz)
        factors = [
            2.0 * (slot_products(left, scaled_bar, slot) - slot_products(right, _unit(right), slot))
            for slot in self.plan.inner
        ]
        by_weight = np.empty(len(weight))
        zz_bar = scaling.transposed().both(scaled_bar)
        for k, each in enumerate(self.classes):
            by_weight[k] = np.vdot(reduced_bar, each.ww)
            if self.grouped is not None:
                by_weight[k] += np.vdot(zz_bar, self.grouped[0]) - 2.0 * float(weight[0]) * np.vdot(state.gain, form)
            else:
                assert state.gain_zw is not None
                n, m = len(each.ww), each.ww.shape[-1]
                by_weight[k] += np.vdot(zz_bar, each.zz) - 2.0 * np.vdot(
                    state.gain_zw.reshape(n, -1, m) @ reduced_bar, each.zw.reshape(n, -1, m)
                )
        return factors, by_weight

    def blocks(self, weight: Floats, state: "InnerState") -> tuple[Floats, Floats]:
        """zw for these weights, and gain of every block, shape (n_components, n_blocks, s, s)."""
        zw = _combine(weight, [p.zw for p in self.classes])
        if self.grouped is None:
            return zw, state.gain
        return zw, state.gain[self.group].reshape(*zw.shape[:2], *state.gain.shape[1:])


@dataclass(slots=True)
class InnerState:
    """What `Inner.gradient` needs from `Inner.reduce`."""

    scaling: Scaling
    zz: Floats
    inverse: Floats
    gain: Floats
    count: Floats
    zw: Floats | None = None
    gain_zw: Floats | None = None


def _eliminate(zz: Floats, scaling: Scaling, count: Floats) -> tuple[Floats, Floats, Floats, float, InnerState]:
    scaled = scaling.both(zz) + np.eye(zz.shape[-1])
    inverse, logdets = invert_blocks(scaled)
    gain = scaling.transposed().both(inverse)
    logdet = float(np.vdot(count, logdets))
    return gain, scaled, inverse, logdet, InnerState(scaling, zz, inverse, gain, count)


def _unit(array: Floats) -> Floats:
    return np.broadcast_to(np.eye(array.shape[-1]), array.shape)


def _combine(weight: Floats, arrays: list[Floats]) -> Floats:
    if len(arrays) == 1:
        return arrays[0] if weight[0] == 1.0 else weight[0] * arrays[0]
    out = weight[0] * arrays[0]
    for w, array in zip(weight[1:], arrays[1:], strict=True):
        out += w * array
    return out


def _grouped(products: CrossProducts) -> tuple[Floats, Floats, Floats, Ints] | None:
    """Distinct zz, the products C_b' C_b summed over blocks that share it, how many share it, and which each block has.

    None if too many differ.

    The products have shape (n_distinct * s * s, n_components * m * m), so that one matrix product contracts them with gain.
    """
    zz, zw = products.zz, products.zw
    n_components, n_blocks, s, m = zw.shape
    distinct, which = _distinct(zz.reshape(-1, s * s))
    if len(distinct) * s * m > 4 * n_blocks:  # several times the numbers that zw has
        return None
    which = which.reshape(n_components, n_blocks)
    out = np.empty((len(distinct), s, s, n_components, m, m))
    for d in range(len(distinct)):
        for c in range(n_components):
            chosen = zw[c, which[c] == d]
            for i in range(s):
                for j in range(s):
                    out[d, i, j, c] = chosen[:, i].T @ chosen[:, j]
    count = np.bincount(which.reshape(-1), minlength=len(distinct)).astype(np.float64)
    return distinct.reshape(-1, s, s), out.reshape(len(distinct) * s * s, -1), count, which.reshape(-1)


def _distinct(rows: Floats) -> tuple[Floats, Ints]:
    if rows.shape[1] == 1:
        values, which = np.unique(rows[:, 0], return_inverse=True)
        return values[:, None], which.astype(np.int64)
    values, which = np.unique(rows, axis=0, return_inverse=True)
    return values, which.reshape(-1).astype(np.int64)
