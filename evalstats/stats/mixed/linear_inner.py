"""The elimination of the inner stage of a linear mixed model, and derivatives through it.

In the symbols of `CrossProducts`, with z_b = [zm_b, zr_b] of block b and Lambda1 the factors of its effects, it leaves

    reduced = ww - sum over blocks of z_b' gain_b z_b,   gain_b = Lambda1 (Lambda1' zz_b Lambda1 + I)^-1 Lambda1'.

Blocks with the same zz have the same gain. So the products z_b' z_b are summed over them once, where few blocks differ: then
an evaluation does not touch items at all. A name with `_bar` is the derivative of the criterion by that array.
"""

from dataclasses import dataclass

import numpy as np

from evalstats.stats.mixed.blocks import Scaling, invert_blocks, slot_products
from evalstats.stats.mixed.design import Floats, Ints
from evalstats.stats.mixed.linear_products import CrossProducts, Rest
from evalstats.stats.mixed.structure import Plan

_REPAID = 4  # grouped products may hold this many times the numbers of z: they are used many times


@dataclass(slots=True)
class InnerState:
    """What the derivatives need from `reduce`, for one set of weights and factors.

    `zz`, `inverse` and `gain` are those of every block, or of every distinct block that `count` blocks share. The rest is
    filled where blocks are not grouped.
    """

    scaling: Scaling
    weight: Floats
    zz: Floats
    inverse: Floats
    gain: Floats
    count: Floats
    logdet: float
    zm: Floats
    zr: Floats


class Inner:
    """The inner stage of one design.

    Parameters
    ----------
    plan
        The stages.
    classes
        Cross-products for each class of cells that share their number of rows; one class where no term is at the cell
        stage, whose weights then are the numbers of rows.
    """

    def __init__(self, plan: Plan, classes: tuple[CrossProducts, ...]) -> None:
        self.plan, self.classes = plan, classes
        self.grouped = Grouped.of(classes[0]) if len(classes) == 1 else None

    def reduce(self, weight: Floats, scaling: Scaling) -> tuple[Rest, InnerState]:
        """Return what is left, and the state, for the weights of the classes and Lambda1."""
        first = self.classes[0]
        if self.grouped is not None:
            g, w = self.grouped, float(weight[0])
            state = _eliminate(g.zz * w, scaling, weight, g.count, first)
            return first.ww.like(w * g.ww - w**2 * (state.gain.reshape(-1) @ g.products)), state
        zz, zm, zr = (_combine(weight, arrays) for arrays in self._stacks())
        state = _eliminate(zz, scaling, weight, np.ones(zz.shape[:2]), first)
        state.zm, state.zr = zm, zr
        ww = Rest(*(_combine(weight, list(arrays)) for arrays in zip(*(p.ww for p in self.classes), strict=True)))
        gzr = state.gain @ zr
        flat = zr.shape[-1]
        rr = ww.rr - zr.reshape(-1, flat).T @ gzr.reshape(-1, flat)
        if not self.plan.middle:
            return Rest(ww.mm, ww.mr, rr), state
        rows = _rows(zm)
        mm = ww.mm - np.swapaxes(rows, -1, -2) @ _rows(state.gain @ zm)
        return Rest(mm, ww.mr - np.swapaxes(rows, -1, -2) @ _rows(gzr), rr), state

    def gradient(self, state: InnerState, bar: Rest) -> tuple[list[Floats], Floats]:
        """Return derivatives by the factors of the inner terms and by the class weights, from that by what is left, `bar`."""
        if self.grouped is not None:
            g, w = self.grouped, float(state.weight[0])
            doubled = bar.flat(doubled=True)
            form = (g.products @ doubled).reshape(state.zz.shape)
            form = 0.5 * (form + np.swapaxes(form, -1, -2))  # mr of z_i' z_j and of z_j' z_i stand in for each other
            factors, zz_bar = self._factors(state, w**2 * form)
            by_weight = doubled @ g.ww + np.vdot(zz_bar, g.zz) - 2.0 * w * np.vdot(state.gain, form)
            return factors, np.array([by_weight])
        zm_bar, zr_bar = _times_rest(state.zm, state.zr, bar)
        factors, zz_bar = self._factors(state, _row_products(zm_bar, state.zm) + _row_products(zr_bar, state.zr))
        if self.plan.cell_term is None:
            return factors, np.zeros(1)
        zm_bar, zr_bar = state.gain @ zm_bar, state.gain @ zr_bar
        by_weight = [
            np.vdot(bar.flat(doubled=True), each.ww.flat())
            + np.vdot(zz_bar, each.zz)
            - 2.0 * (np.vdot(zm_bar, each.zm) + np.vdot(zr_bar, each.zr))
            for each in self.classes
        ]
        return factors, np.array(by_weight, dtype=np.float64)

    def blocks(self, state: InnerState) -> tuple[Floats, Floats, Floats]:
        """Return zm and zr for these weights, and the gain of every block, shape (n_components, n_blocks, s, s)."""
        _, zm, zr = (_combine(state.weight, arrays) for arrays in self._stacks())
        if self.grouped is None:
            return zm, zr, state.gain
        return zm, zr, state.gain[self.grouped.which].reshape(*zr.shape[:2], *state.gain.shape[1:])

    def _stacks(self) -> tuple[list[Floats], list[Floats], list[Floats]]:
        return [p.zz for p in self.classes], [p.zm for p in self.classes], [p.zr for p in self.classes]

    def _factors(self, state: InnerState, form: Floats) -> tuple[list[Floats], Floats]:
        """Return derivatives by the factors and by zz, where form = z_b bar z_b' for every block (or the sum over equal ones)."""
        right = state.scaling.right(form) @ state.inverse
        n_bar = state.count[..., None, None] * state.inverse + state.inverse @ state.scaling.left(right)
        left = state.scaling.right(state.zz)
        eye = np.broadcast_to(np.eye(right.shape[-1]), right.shape)
        factors = [
            2.0 * (slot_products(left, n_bar, slot) - slot_products(right, eye, slot)) for slot in self.plan.inner
        ]
        return factors, state.scaling.transposed().both(n_bar)


@dataclass(slots=True)
class Grouped:
    """Distinct zz, how many blocks share each and which each block has, and sums of z_b' z_b over those.

    `products` has shape (n_distinct * s * s, size of a flat `Rest`), so that one matrix product contracts it with the gain.
    """

    zz: Floats
    count: Floats
    which: Ints
    products: Floats
    ww: Floats

    @classmethod
    def of(cls, source: CrossProducts) -> "Grouped | None":
        """Group the blocks, or return None where too many differ."""
        _, n_blocks, s, r = source.zr.shape
        values, which = _distinct(source.zz.reshape(-1, s * s))
        if len(values) * s * (source.zm.shape[-1] + r) > _REPAID * n_blocks:
            return None
        count = np.bincount(which, minlength=len(values)).astype(np.float64)
        zz = values.reshape(-1, s, s)
        out = cls(zz, count, which, np.empty((len(values) * s * s, source.ww.flat().size)), source.ww.flat())
        out.fill(source, response_only=False)
        return out

    def fill(self, source: CrossProducts, *, response_only: bool) -> None:
        """Compute the sums, or only those that involve the response, which is the last column of zr."""
        n, n_blocks, s, r = source.zr.shape
        which = self.which.reshape(n, n_blocks)
        first = r - 1 if response_only else 0
        self.ww = source.ww.flat()
        for at, row in enumerate(self.products):
            d, i, j = at // (s * s), at // s % s, at % s
            into = source.ww.like(row)
            sums, last = np.zeros((r, r - first)), np.zeros(r)
            for c in range(n):
                chosen = which[c] == d
                zr_i, zr_j = source.zr[c, chosen, i], source.zr[c, chosen, j]
                if source.zm.size:
                    zm_i = source.zm[c, chosen, i]
                    into.mr[c, :, first:] = zm_i.T @ zr_j[:, first:]
                    if not response_only:
                        into.mm[c] = zm_i.T @ source.zm[c, chosen, j]
                sums += zr_i.T @ zr_j[:, first:]
                last += zr_i[:, -1] @ zr_j
            into.rr[:, first:] = sums
            into.rr[-1] = last


def _eliminate(zz: Floats, scaling: Scaling, weight: Floats, count: Floats, source: CrossProducts) -> InnerState:
    inverse, logdets = invert_blocks(scaling.both(zz) + np.eye(zz.shape[-1]))
    gain = scaling.transposed().both(inverse)
    return InnerState(
        scaling, weight, zz, inverse, gain, count, float(np.vdot(count, logdets)), source.zm[:, :0], source.zr[:, :0]
    )


def _rows(array: Floats) -> Floats:
    """Join blocks and effects into rows of a matrix for each component."""
    return array.reshape(len(array), -1, array.shape[-1])


def _times_rest(zm: Floats, zr: Floats, bar: Rest) -> tuple[Floats, Floats]:
    """Return z bar, divided as z is."""
    zr_bar = (zr.reshape(-1, zr.shape[-1]) @ bar.rr).reshape(zr.shape)
    if not zm.size:
        return zm, zr_bar
    zm_bar = (_rows(zm) @ bar.mm + _rows(zr) @ np.swapaxes(bar.mr, -1, -2)).reshape(zm.shape)
    return zm_bar, zr_bar + (_rows(zm) @ bar.mr).reshape(zr.shape)


def _row_products(left: Floats, right: Floats) -> Floats:
    """Return left @ right' block by block."""
    if left.shape[-2] == 1:
        return np.einsum("...i,...i->...", left, right)[..., None]
    return left @ np.swapaxes(right, -1, -2)


def _combine(weight: Floats, arrays: list[Floats]) -> Floats:
    if len(arrays) == 1:
        return arrays[0] if weight[0] == 1.0 else weight[0] * arrays[0]
    out = weight[0] * arrays[0]
    for w, array in zip(weight[1:], arrays[1:], strict=True):
        out += w * array
    return out


def _distinct(rows: Floats) -> tuple[Floats, Ints]:
    if rows.shape[1] == 1:
        values, which = np.unique(rows[:, 0], return_inverse=True)
        return values[:, None], which.astype(np.int64)
    values, which = np.unique(rows, axis=0, return_inverse=True)
    return values, which.reshape(-1).astype(np.int64)
