"""One evaluation of a linear mixed model by elimination: inner, middle and outer stage, then the fixed effects.

In symbols of Bates et al. (2015), M = Lambda' Z'Z Lambda + I is factored stage by stage. What is left of
[Lambda'Z, X, y]'[Lambda'Z, X, y] after the inner and middle stages is one dense matrix, `rest`, on (outer effects, X, y); the
diagonal of its Cholesky factor holds the remaining log-determinants and the penalised residual sum of squares.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular

from evalstats.stats.mixed.blocks import Scaling, cholesky, invert_blocks, slot_products
from evalstats.stats.mixed.design import Floats, MixedDesign
from evalstats.stats.mixed.linear_products import CrossProducts, Inner, InnerState, cross_products, replace_response
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
    """Intermediate arrays of one evaluation."""

    theta: Floats
    pieces: Pieces
    weight: Floats
    scaling: Scaling
    inner: InnerState
    reduced: Floats
    middle_inverse: Floats
    middle_gain: Floats
    root: Floats


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
        self.n_fixed = fixed.shape[1]
        self.counts, self.of_cell = np.unique(design.count, return_inverse=True)
        if plan.cell_term is None:
            weights = [design.count]
        else:  # cells with the same number of rows keep a common weight
            weights = [np.asarray(self.of_cell == k, dtype=np.float64) for k in range(len(self.counts))]
            self.n_cells = np.array([w.sum() for w in weights])
        self._weight_classes = weights
        products = tuple(cross_products(design, plan, fixed, response, w) for w in weights)
        self.inner = Inner(plan, products)
        self._last: _Factored | None = None

    @property
    def products(self) -> tuple[CrossProducts, ...]:
        """Cross-products of each class of cells."""
        return self.inner.classes

    def set_response(self, response: Floats, within: float) -> None:
        """Replace the response; what does not involve it stays."""
        self.response, self.within, self._last = response, within, None
        for weight, products in zip(self._weight_classes, self.inner.classes, strict=True):
            replace_response(products, self.design, self.plan, self.fixed, response, weight)
        self.inner.replace_response()

    def evaluate(self, theta: Floats) -> Pieces:
        """Log-determinants, penalised residual sum of squares and fixed effects at theta."""
        return self._factor(theta).pieces

    def gradient(self, theta: Floats, *, reml: bool, precision: float) -> Floats:
        """Derivatives by theta of logdet_effects + (logdet_fixed, if reml) + precision * rss."""
        f = self._factor(theta)
        plan, p = self.plan, self.n_fixed
        ell, r = plan.middle_size, plan.outer_size
        scaled_bar, reduced_bar = self._back(f, _outer_derivative(f.root, r, p, reml=reml, precision=precision))
        right = f.scaling.right(f.reduced)
        grads: dict[int, Floats] = {}
        for slot in plan.middle:
            grads[slot.term] = 2.0 * slot_products(right, scaled_bar, slot)
        for slot in plan.outer:
            grads[slot.term] = 2.0 * slot_products(right, scaled_bar, slot, shift=ell)
        inner, by_weight = self.inner.gradient(f.weight, f.inner, reduced_bar)
        grads.update({slot.term: grad for slot, grad in zip(plan.inner, inner, strict=True)})
        if plan.cell_term is not None:
            t = float(self.design.factors(theta)[plan.cell_term][0, 0])
            # w = n / (1 + t^2 n), so dw/dt = -2 t w^2; and log(1 + t^2 n) once for each cell
            slope = np.vdot(by_weight, -2.0 * t * f.weight**2) + np.vdot(self.n_cells, 2.0 * t * f.weight)
            grads[plan.cell_term] = np.array([[slope]])
        return _lower(self.design, grads)

    def solve_rest(self, theta: Floats) -> tuple[Floats, Floats]:
        """Scaled effects of the middle stage, shape (n_components, ell), and of the outer stage and beta, shape (r + p,)."""
        f = self._factor(theta)
        last = solve_triangular(f.root[:-1, :-1].T, f.root[-1, :-1], lower=False)
        middle = f.middle_gain[:, :, -1] - f.middle_gain[:, :, :-1] @ last
        return middle, last

    def rest_covariance(self, theta: Floats) -> Floats:
        """Conditional covariance over sigma^2 of the middle and outer effects of every component, in the layout of A."""
        f = self._factor(theta)
        return self._back(f, _outer_derivative(f.root, self.plan.outer_size, 0, reml=False, precision=0.0))[1]

    def weighted_inner(self, theta: Floats) -> tuple[Floats, Floats]:
        """Return zw for the weights at theta, and gain, shape (n_components, n_blocks, s, s)."""
        f = self._factor(theta)
        return self.inner.blocks(f.weight, f.inner)

    def _back(self, f: "_Factored", rest_bar: Floats) -> tuple[Floats, Floats]:
        """Carry a derivative by `rest` back through the middle stage: derivatives by `scaled` and by `reduced`."""
        ell = self.plan.middle_size
        scaled_bar = np.empty_like(f.reduced)
        scaled_bar[:, ell:, ell:] = rest_bar
        if ell:
            carried = f.middle_gain @ rest_bar
            scaled_bar[:, :ell, ell:] = -carried
            scaled_bar[:, ell:, :ell] = -np.swapaxes(carried, -1, -2)
            scaled_bar[:, :ell, :ell] = f.middle_inverse + carried @ np.swapaxes(f.middle_gain, -1, -2)
        return scaled_bar, f.scaling.transposed().both(scaled_bar)

    def _weights(self, factors: tuple[Floats, ...]) -> tuple[Floats, float]:
        """Weight of every class of cells, and the log-determinant of the cell stage."""
        if self.plan.cell_term is None:
            return np.ones(1), 0.0
        t2 = float(factors[self.plan.cell_term][0, 0]) ** 2
        return self.counts / (1.0 + t2 * self.counts), float(np.vdot(self.n_cells, np.log1p(t2 * self.counts)))

    def _factor(self, theta: Floats) -> _Factored:
        if self._last is not None and np.array_equal(self._last.theta, theta):
            return self._last
        plan, p = self.plan, self.n_fixed
        factors = self.design.factors(theta)
        weight, logdet = self._weights(factors)
        reduced, logdet_inner, state = self.inner.reduce(weight, Scaling.of(plan.inner_size, plan.inner, factors))
        ell, r = plan.middle_size, plan.outer_size
        scaling = Scaling.of(reduced.shape[-1], plan.middle, factors).join(
            Scaling.of(reduced.shape[-1], plan.outer, factors, ell)
        )
        scaled = scaling.both(reduced)
        logdet += logdet_inner
        rest = scaled[:, ell:, ell:].sum(axis=0)
        middle_inverse, middle_gain = scaled[:, :ell, :ell], scaled[:, :ell, ell:]
        if ell:
            middle_inverse, logdets = invert_blocks(scaled[:, :ell, :ell] + np.eye(ell))
            logdet += float(logdets.sum())
            middle_gain = middle_inverse @ scaled[:, :ell, ell:]
            flat = (-1, rest.shape[0])
            rest = rest - scaled[:, :ell, ell:].reshape(flat).T @ middle_gain.reshape(flat)
        rest[np.arange(r), np.arange(r)] += 1.0
        rest[-1, -1] += self.within
        root = cholesky(rest)
        diagonal = np.log(np.diag(root))
        inverse = solve_triangular(root[r : r + p, r : r + p], np.eye(p), lower=True)
        pieces = Pieces(
            logdet_effects=logdet + 2.0 * float(diagonal[:r].sum()),
            logdet_fixed=2.0 * float(diagonal[r : r + p].sum()),
            rss=float(root[-1, -1]) ** 2,
            beta=inverse.T @ root[-1, r : r + p],
            unscaled=inverse.T @ inverse,
        )
        self._last = _Factored(theta.copy(), pieces, weight, scaling, state, reduced, middle_inverse, middle_gain, root)
        return self._last


def _outer_derivative(root: Floats, r: int, p: int, *, reml: bool, precision: float) -> Floats:
    """Return the derivative by `rest` of 2 sum log diag over outer effects (and X, if reml) + precision * rss."""
    out = np.zeros_like(root)
    k = r + p if reml else r
    inverse = solve_triangular(root[:k, :k], np.eye(k), lower=True)
    out[:k, :k] = inverse.T @ inverse
    v = np.append(-solve_triangular(root[:-1, :-1].T, root[-1, :-1], lower=False), 1.0)
    return out + precision * np.outer(v, v)


def _lower(design: MixedDesign, grads: dict[int, Floats]) -> Floats:
    """Pick the lower triangles in the order of theta."""
    out: list[Floats] = []
    for k, term in enumerate(design.terms):
        columns, rows = np.triu_indices(term.n_columns)
        out.append(grads[k][rows, columns])
    return np.concatenate(out)
