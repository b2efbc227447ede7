"""One evaluation of a linear mixed model by elimination: inner, middle and outer stage, then the fixed effects.

In symbols of Bates et al. (2015), M = Lambda' Z'Z Lambda + I is factored stage by stage. What is left of
[Lambda'Z, X, y]'[Lambda'Z, X, y] after the inner and middle stages is one dense matrix, `rest`, on (outer effects, X, y); the
diagonal of its Cholesky factor holds the remaining log-determinants and the penalised residual sum of squares.
"""

from dataclasses import dataclass

import numpy as np

from evalstats.stats.mixed.blocks import (
    Scaling,
    cholesky,
    invert_blocks,
    invert_lower,
    lower_entries,
    slot_products,
    split_theta,
)
from evalstats.stats.mixed.design import Floats, Ints, MixedDesign
from evalstats.stats.mixed.linear_inner import Inner, InnerState
from evalstats.stats.mixed.linear_products import Rest, cross_products, replace_response
from evalstats.stats.mixed.structure import Plan


@dataclass(frozen=True, slots=True, kw_only=True)
class Pieces:
    """What all criteria are made of, at one theta.

    Attributes
    ----------
    logdet_effects, logdet_fixed
        Logarithms of the determinants of M and of X'V^-1 X (times sigma^2).
    rss
        Penalised residual sum of squares r^2(theta).
    beta, unscaled
        Fixed effects, and their covariance divided by sigma^2.
    """

    logdet_effects: float
    logdet_fixed: float
    rss: float
    beta: Floats
    unscaled: Floats


@dataclass(slots=True)
class _Factored:
    """Intermediate arrays of one evaluation.

    `reduced` is what the inner stage leaves, `middle` and `outer` the factors of the remaining effects (outer: ones for X and
    y), `middle_inverse` and `middle_gain` the inverse of the middle stage and its product with what couples it to the rest;
    `inverse_root` the inverse of the Cholesky factor of the rest.
    """

    theta: Floats
    pieces: Pieces
    inner: InnerState
    reduced: Rest
    middle: Scaling
    outer: Scaling
    middle_inverse: Floats
    middle_gain: Floats
    inverse_root: Floats


class Structured:
    """Evaluations of one design with given fixed part and response, all transformed as the caller wants them.

    Parameters
    ----------
    design, plan
        Cells, and the stages of their terms.
    fixed, response
        float64, shapes (n_cells, n_fixed) and (n_cells,).
    within
        Sum of squares of rows about the mean of their cell.
    """

    def __init__(self, design: MixedDesign, plan: Plan, fixed: Floats, response: Floats, within: float) -> None:
        self.design, self.plan, self.within = design, plan, within
        self.fixed, self.response = fixed, response
        self._counts, self._n_cells, self._weights = np.ones(1), np.zeros(1), [design.count]
        if plan.cell_term is not None:  # cells with the same number of rows keep a common weight
            self._counts, which = _distinct(design.count)
            self._weights = [np.asarray(which == k, dtype=np.float64) for k in range(len(self._counts))]
            self._n_cells = np.array([w.sum() for w in self._weights])
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
        k = plan.outer_size + (self.fixed.shape[1] if reml else 0)
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
            t = float(split_theta(self.design, theta)[plan.cell_term][0, 0])
            # w = n / (1 + t^2 n), so dw/dt = -2 t w^2; and log(1 + t^2 n) once for each cell
            w = f.inner.weight
            grads[plan.cell_term] = np.array([[by_weight @ (-2.0 * t * w**2) + self._n_cells @ (2.0 * t * w)]])
        lower = [grads[k][lower_entries(term.n_columns)] for k, term in enumerate(self.design.terms)]
        return np.concatenate(lower)

    def solve_rest(self, theta: Floats) -> tuple[Floats, Floats]:
        """Scaled effects of the middle stage, shape (n_components, l), and of the outer stage and beta, shape (r + p,)."""
        f = self._factor(theta)
        last = -f.inverse_root[-1, :-1] / f.inverse_root[-1, -1]
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

    def _class_weights(self, factors: tuple[Floats, ...]) -> tuple[Floats, float]:
        """Weight of every class of cells, and the log-determinant of the cell stage."""
        if self.plan.cell_term is None:
            return np.ones(1), 0.0
        t2 = float(factors[self.plan.cell_term][0, 0]) ** 2
        return self._counts / (1.0 + t2 * self._counts), float(self._n_cells @ np.log1p(t2 * self._counts))

    def _factor(self, theta: Floats) -> _Factored:
        if self._last is not None and np.array_equal(self._last.theta, theta):
            return self._last
        plan = self.plan
        r, p = plan.outer_size, self.fixed.shape[1]
        factors = split_theta(self.design, theta)
        weight, logdet = self._class_weights(factors)
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
        inverse_root = invert_lower(root)
        diagonal = np.log(np.diag(root))
        fixed = inverse_root[r : r + p, r : r + p]
        pieces = Pieces(
            logdet_effects=logdet + 2.0 * float(diagonal[:r].sum()),
            logdet_fixed=2.0 * float(diagonal[r : r + p].sum()),
            rss=float(root[-1, -1]) ** 2,
            beta=-inverse_root[-1, r:-1] / inverse_root[-1, -1],
            unscaled=fixed.T @ fixed,
        )
        self._last = _Factored(
            theta.copy(), pieces, inner, reduced, middle, outer, middle_inverse, middle_gain, inverse_root
        )
        return self._last


def _rest_derivative(inverse_root: Floats, k: int, precision: float) -> Floats:
    """Return the derivative by the rest of the log-determinant of its first k columns + precision * rss."""
    v = inverse_root[-1] / inverse_root[-1, -1]
    out = precision * np.outer(v, v)
    out[:k, :k] += inverse_root[:k, :k].T @ inverse_root[:k, :k]
    return out


def _distinct(count: Floats) -> tuple[Floats, Ints]:
    low = count.min()
    if low == count.max():  # sorting would cost more than a fit
        return np.array([low]), np.zeros(len(count), dtype=np.int64)
    values, which = np.unique(count, return_inverse=True)
    return values, which.astype(np.int64)
