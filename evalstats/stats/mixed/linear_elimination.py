"""One evaluation of a linear mixed model by elimination: inner, middle and outer stage, then the fixed effects."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from scipy.linalg import lapack

from evalstats.errors import CannotAnswerError
from evalstats.record import record
from evalstats.stats.mixed.design import Floats, Ints, MixedDesign, lower_entries
from evalstats.stats.mixed.distinct_rows import Distinct
from evalstats.stats.mixed.linear_stages import CrossProducts, Rest, Slot, Stages, cross_products, replace_response

_BATCH = 24  # matrices smaller than this are inverted in one batch, larger ones one by one
_INDEFINITE = (
    "the penalised normal equations of the mixed model are not positive definite to working precision: a variance is many "
    "orders larger than the residual's; scale the columns of random slopes, or remove a term that explains every row"
)
_CHEAPER_AT = 4  # grouped products may hold this many times the numbers of z: they are used many times


@dataclass(frozen=True, slots=True)
class Scaling:
    """The block-diagonal matrix Lambda of one axis: the factor of each term at its places, ones elsewhere.

    `parts` holds for every term its first position, number of places and covariance factor; `diagonal` the diagonal where Lambda
    is diagonal, else None.
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
        return Scaling(tuple((start, n, factor.T) for start, n, factor in self.parts), self.diagonal)


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
    batch_is_cheaper = size < _BATCH
    if batch_is_cheaper:
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

    `classes` are cross-products for each class of cells that share their number of rows; one class where no term is at the cell
    stage, whose weights then are the numbers of rows.
    """

    def __init__(self, plan: Stages, classes: tuple[CrossProducts, ...]) -> None:
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
        # z bar, divided as z is.
        zm, zr = state.zm, state.zr
        zm_bar, zr_bar = zm, (zr.reshape(-1, zr.shape[-1]) @ bar.rr).reshape(zr.shape)
        if zm.size:
            zm_bar = (_rows(zm) @ bar.mm + _rows(zr) @ np.swapaxes(bar.mr, -1, -2)).reshape(zm.shape)
            zr_bar += (_rows(zm) @ bar.mr).reshape(zr.shape)
        factors, zz_bar = self._factors(state, _row_products(zm_bar, zm) + _row_products(zr_bar, zr))
        stopping_is_cheaper = self.plan.cell_term is None  # nobody asks by weights that do not move
        if stopping_is_cheaper:
            return factors, np.zeros(0)
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
        rows = source.zz.reshape(-1, s * s)
        single_is_cheaper = s == 1
        values, which = np.unique(rows[:, 0] if single_is_cheaper else rows, axis=0, return_inverse=True)
        which = which.reshape(-1).astype(np.int64)
        ungrouped_is_cheaper = len(values) * s * (source.zm.shape[-1] + r) > _CHEAPER_AT * n_blocks
        if ungrouped_is_cheaper:
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


def _row_products(left: Floats, right: Floats) -> Floats:
    """Return left @ right' block by block."""
    if left.shape[-2] == 1:
        return np.einsum("...i,...i->...", left, right)[..., None]
    return left @ np.swapaxes(right, -1, -2)


def _combine(weight: Floats, arrays: list[Floats]) -> Floats:
    uncopied_is_cheaper = len(arrays) == 1 and weight[0] == 1.0
    if uncopied_is_cheaper:
        return arrays[0]
    out = weight[0] * arrays[0]
    for w, array in zip(weight[1:], arrays[1:], strict=True):
        out += w * array
    return out


@record
class Pieces:
    """What all criteria are made of, at one theta.

    `logdet_effects` and `logdet_fixed` are logarithms of the determinants of M and of X'V^-1 X (times sigma^2), `rss` the
    penalised residual sum of squares r^2(theta), `root` the lower factor of X'V^-1 X times sigma^2.
    """

    logdet_effects: float
    logdet_fixed: float
    rss: float
    beta: Floats
    root: Floats


@dataclass
class _Factored:
    """Intermediate arrays of one evaluation.

    `reduced` is what the inner stage leaves, `middle` and `outer` the factors of the remaining effects (outer: ones for X and
    y), `middle_inverse` and `middle_gain` the inverse of the middle stage and its product with what couples it to the rest;
    `root` the Cholesky factor of the rest.
    """

    theta: Floats
    pieces: Pieces
    inner: InnerState
    reduced: Rest
    middle: Scaling
    outer: Scaling
    middle_inverse: Floats
    middle_gain: Floats
    root: Floats

    @cached_property
    def inverse_root(self) -> Floats:
        """Inverse of the Cholesky factor of the rest."""
        return invert_lower(self.root)


class StagedCore:
    """Evaluations of one design, with its fixed part and response transformed as the caller wants them."""

    def __init__(self, design: MixedDesign, plan: Stages, fixed: Distinct, response: Floats, within: float) -> None:
        self.design, self.plan, self.within = design, plan, within
        self.fixed, self.response = fixed, response
        self._counts, self._weights = np.ones(1), [design.count]
        if plan.cell_term is not None:  # cells with the same number of rows keep a common weight
            low = design.count.min()
            self._counts, which = np.array([low]), np.zeros(design.n_cells, dtype=np.int64)
            if low < design.count.max():  # sorting would cost more than a fit
                self._counts, which = np.unique(design.count, return_inverse=True)
            self._weights = [np.asarray(which == k, dtype=np.float64) for k in range(len(self._counts))]
        self._n_cells = np.array([np.count_nonzero(w) for w in self._weights])
        self._inner = Inner(plan, tuple(cross_products(design, plan, fixed, response, w) for w in self._weights))
        self._last: _Factored | None = None

    def set_response(self, response: Floats, within: float) -> None:
        """Replace the response; what does not involve it stays."""
        self.response, self.within, self._last = response, within, None
        for weight, products in zip(self._weights, self._inner.classes, strict=True):
            replace_response(products, self.design, self.plan, (self.fixed, response), weight)
        if self._inner.grouped is not None:
            self._inner.grouped.fill(self._inner.classes[0], response_only=True)

    def evaluate(self, theta: Floats) -> Pieces:
        """Log-determinants, penalised residual sum of squares and fixed effects at theta."""
        return self._factor(theta).pieces

    def gradient(self, theta: Floats, *, reml: bool, precision: float) -> Floats:
        """Return derivatives by theta of logdet_effects + (logdet_fixed, if reml) + precision * rss."""
        f = self._factor(theta)
        plan = self.plan
        k = plan.outer_size + (self.fixed.n_columns if reml else 0)
        scaled_bar, reduced_bar = self._back(f, _rest_derivative(f.inverse_root, k, precision))
        grads: dict[int, Floats] = {}
        if plan.middle:
            mm, mr = f.middle.right(f.reduced.mm), f.outer.right(f.reduced.mr)
            for slot in plan.middle:
                grads[slot.term] = 2.0 * (
                    slot_products(mm, scaled_bar.mm, slot) + slot_products(mr, scaled_bar.mr, slot)
                )
        if plan.outer:
            rr = f.outer.right(f.reduced.rr)
            rm, rm_bar = np.swapaxes(f.middle.left(f.reduced.mr), -1, -2), np.swapaxes(scaled_bar.mr, -1, -2)
            for slot in plan.outer:
                grads[slot.term] = 2.0 * slot_products(rr, scaled_bar.rr, slot)
                if plan.middle:
                    grads[slot.term] += 2.0 * slot_products(rm, rm_bar, slot)
        inner, by_weight = self._inner.gradient(f.inner, reduced_bar)
        grads.update({slot.term: grad for slot, grad in zip(plan.inner, inner, strict=True)})
        if plan.cell_term is not None:
            t = float(self.design.factors(theta)[plan.cell_term][0, 0])
            # w = n / (1 + t^2 n), so dw/dt = -2 t w^2; and log(1 + t^2 n) once for each cell
            w = f.inner.weight
            grads[plan.cell_term] = np.array([[by_weight @ (-2.0 * t * w**2) + self._n_cells @ (2.0 * t * w)]])
        lower = [grads[k][lower_entries(term.n_columns)] for k, term in enumerate(self.design.terms)]
        return np.concatenate(lower)

    def solve_rest(self, theta: Floats) -> tuple[Floats, Floats]:
        """Scaled effects of the middle stage, shape (n_components, l), and of the outer stage and beta, shape (r + p,)."""
        f = self._factor(theta)
        last = _last_effects(f.root)
        middle = f.middle_gain[:, :, -1] - f.middle_gain[:, :, :-1] @ last
        return middle, last

    def rest_covariance(self, theta: Floats) -> Rest:
        """Conditional covariance over sigma^2 of the middle and outer effects (in `rr` and `mr` X and y stay 0)."""
        f = self._factor(theta)
        return self._back(f, _rest_derivative(f.inverse_root, self.plan.outer_size, 0.0))[1]

    def inner_blocks(self, theta: Floats) -> tuple[Floats, Floats, Floats]:
        """Return zm and zr for the weights at theta, and the gain of every block, as `Inner.blocks`."""
        return self._inner.blocks(self._factor(theta).inner)

    def _back(self, f: "_Factored", rest_bar: Floats) -> tuple[Rest, Rest]:
        """Carry a derivative by the rest back through the middle stage: derivatives by scaled and by reduced products."""
        carried = f.middle_gain @ rest_bar
        mm = f.middle_inverse + carried @ np.swapaxes(f.middle_gain, -1, -2)
        scaled = Rest(mm, -carried, rest_bar)
        middle, outer = f.middle.transposed(), f.outer.transposed()
        return scaled, Rest(middle.both(mm), outer.right(middle.left(scaled.mr)), outer.both(rest_bar))

    def _factor(self, theta: Floats) -> _Factored:
        if self._last is not None and np.array_equal(self._last.theta, theta):
            return self._last
        plan = self.plan
        r, p = plan.outer_size, self.fixed.n_columns
        factors = self.design.factors(theta)
        t2 = 0.0 if plan.cell_term is None else float(factors[plan.cell_term][0, 0]) ** 2
        weight, logdet = self._counts / (1.0 + t2 * self._counts), float(self._n_cells @ np.log1p(t2 * self._counts))
        reduced, inner = self._inner.reduce(weight, Scaling.of(plan.inner_size, plan.inner, factors))
        middle = Scaling.of(plan.middle_size, plan.middle, factors)
        outer = Scaling.of(len(reduced.rr), plan.outer, factors)
        logdet += inner.logdet
        rest = outer.both(reduced.rr)
        middle_inverse, middle_gain = reduced.mm, reduced.mr
        if plan.middle:
            coupling = middle.left(outer.right(reduced.mr))
            middle_inverse, logdets = invert_blocks(middle.both(reduced.mm) + np.eye(plan.middle_size))
            logdet += float(logdets.sum())
            middle_gain = middle_inverse @ coupling
            flat = (-1, len(rest))
            rest = rest - coupling.reshape(flat).T @ middle_gain.reshape(flat)
        rest[np.arange(r), np.arange(r)] += 1.0
        rest[-1, -1] += self.within
        root = cholesky(rest)
        diagonal = np.log(np.diag(root))
        pieces = Pieces(
            logdet_effects=logdet + 2.0 * float(diagonal[:r].sum()),
            logdet_fixed=2.0 * float(diagonal[r : r + p].sum()),
            rss=float(root[-1, -1]) ** 2,
            beta=_last_effects(root)[r:],
            root=root[r : r + p, r : r + p],
        )
        self._last = _Factored(theta.copy(), pieces, inner, reduced, middle, outer, middle_inverse, middle_gain, root)
        return self._last


def _last_effects(root: Floats) -> Floats:
    """Return what the last column is regressed to by those before it, from the Cholesky factor of their cross-products."""
    last = np.zeros(len(root))
    last[-1] = 1.0
    inverse = np.asarray(lapack.dtrtrs(root.T, last, lower=0)[0], dtype=np.float64)  # last row of the factor's inverse
    return -inverse[:-1] / inverse[-1]


def _rest_derivative(inverse_root: Floats, k: int, precision: float) -> Floats:
    """Return the derivative by the rest of the log-determinant of its first k columns + precision * rss."""
    v = inverse_root[-1] / inverse_root[-1, -1]
    out = precision * np.outer(v, v)
    out[:k, :k] += inverse_root[:k, :k].T @ inverse_root[:k, :k]
    return out
