"""The deviance of a linear mixed model as a function of its covariance parameters, with derivatives, and conditional modes."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import lapack
from scipy.sparse import csc_array, csr_array, eye_array
from scipy.sparse.linalg import SuperLU, splu

from evalstats.errors import CannotAnswerError, InputError
from evalstats.stats.mixed.design import Floats, Ints, MixedDesign, RandomTerm, lower_entries
from evalstats.stats.mixed.linear_elimination import (
    Pieces,
    Scaling,
    Structured,
    cholesky,
    invert_lower,
)
from evalstats.stats.mixed.structure import Slot, plan_elimination, random_columns

_SPARSE_STEP = 1e-4  # of the differences by theta
_CHUNK = 256  # columns solved for together
_QR_WORK = 2e7  # multiplications up to which X is orthogonalised
_DENSE_ENTRIES = 2e8  # numbers held by the elimination; beyond, sparse matrices
_DENSE_SIZE = 4000  # effects in a dense remainder; beyond, sparse matrices
_PARALLEL = 1e-9  # sine of the angle between a column of X and those before it that counts as 0
_PARALLEL_SQUARED = 1e-12  # the same squared, where only X'X is at hand
_STEP = 1e-5  # of the differences of a gradient, relative
_EXACT = 1e-24  # sum of squares about the fixed part relative to that about 0, which is rounding
_PERFECT = 1e-13  # residual variance relative to that of the fixed effects alone


def effects(core: Structured, theta: Floats) -> tuple[Floats, ...]:
    """Conditional modes of every term, shape (n_levels, n_columns)."""
    design, plan = core.design, core.plan
    factors = design.factors(theta)
    middle, last = core.solve_rest(theta)
    r = plan.outer_size
    of_middle = Scaling.of(plan.middle_size, plan.middle, factors).transposed().right(middle)
    of_outer = Scaling.of(r, plan.outer, factors).transposed().right(last[:r])
    out: dict[int, Floats] = {}
    for slot in plan.middle:
        out[slot.term] = _levels(of_middle.reshape(-1), slot)
    for slot in plan.outer:
        out[slot.term] = _levels(of_outer, slot)
    zm, zr, gain = core.inner_blocks(theta)
    left = zr @ np.concatenate([-of_outer, -last[r:], [1.0]])[:, None]
    if plan.middle:
        left = left - zm @ of_middle[:, None, :, None]
    b = gain @ left
    for slot in plan.inner:
        out[slot.term] = _levels(b.reshape(-1), slot)
    if plan.cell_term is not None:
        residual = core.response - core.fixed @ last[r:]
        for k, values in out.items():
            term = design.terms[k]
            residual = residual - np.einsum("ij,ij->i", term.values, values[term.level])
        t2n = float(factors[plan.cell_term][0, 0]) ** 2 * design.count
        out[plan.cell_term] = _of_levels(design.terms[plan.cell_term], t2n / (1.0 + t2n) * residual)[:, None]
    return tuple(out[k] for k in range(len(design.terms)))


def effect_covariances(core: Structured, theta: Floats) -> tuple[Floats, ...]:
    """Conditional covariances of every term over sigma^2, shape (n_levels, n_columns, n_columns)."""
    design, plan = core.design, core.plan
    ell, r = plan.middle_size, plan.outer_size
    found = core.rest_covariance(theta)
    rest = np.empty((plan.n_components, ell + r, ell + r))
    rest[:, :ell, :ell], rest[:, ell:, ell:] = found.mm, found.rr[:r, :r]
    rest[:, :ell, ell:], rest[:, ell:, :ell] = found.mr[..., :r], np.swapaxes(found.mr[..., :r], -1, -2)
    zm, zr, gain = core.inner_blocks(theta)
    z = np.concatenate([zm, zr[..., :r]], axis=-1)
    alike = _alike(z, gain)
    if alike:  # complete data: one block of each component stands for all
        z, gain = z[:, :1], gain[:, :1]
    gain_z = gain @ z
    cross = gain_z @ rest[:, None]  # minus the covariance of inner and other effects
    within = gain + cross @ np.swapaxes(gain_z, -1, -2)
    if alike:
        within, cross = (np.repeat(a, plan.n_blocks, axis=1) for a in (within, cross))
    out: dict[int, Floats] = {}
    for slot in plan.inner:
        out[slot.term] = _blocks(within.reshape(-1, plan.inner_size, plan.inner_size), slot, slot.place)
    for slot in plan.middle:
        out[slot.term] = _blocks(found.mm, slot, slot.place)
    for slot in plan.outer:
        out[slot.term] = _blocks(found.rr[None], slot, slot.place)
    if plan.cell_term is not None:
        t2 = float(design.factors(theta)[plan.cell_term][0, 0]) ** 2
        t2n = t2 * design.count
        spread = _predictor_variance(core, rest, cross, within)
        variance = t2 / (1.0 + t2n) + (t2n / (1.0 + t2n)) ** 2 * spread
        out[plan.cell_term] = _of_levels(design.terms[plan.cell_term], variance)[:, None, None]
    return tuple(out[k] for k in range(len(design.terms)))


def _alike(z: Floats, gain: Floats) -> bool:
    """Whether all blocks of a component are the same, but for padding; the first is never padding."""
    if not z.size:
        # Nothing stands beside the blocks: no zero tells padding from a block, and gains alone tell blocks apart.
        return bool((gain == gain[:, :1]).all())
    if (z[:, :2] == z[:, :1]).all():
        padding = ~z.any(axis=(2, 3))
        same = (z == z[:, :1]).all(axis=(2, 3)) & (gain == gain[:, :1]).all(axis=(2, 3))
        return bool((same | padding).all())
    return False


def _levels(flat: Floats, slot: Slot) -> Floats:
    return flat[slot.place[:, None] + np.arange(slot.n_columns)]


def _of_levels(term: RandomTerm, of_cells: Floats) -> Floats:
    out = np.empty(term.n_levels)
    out[term.level] = of_cells
    return out


def _blocks(matrices: Floats, slot: Slot, place: Ints) -> Floats:
    """Diagonal block of every level, from one matrix for each block or component."""
    which, first = np.divmod(place, matrices.shape[-1])
    at = first[:, None] + np.arange(slot.n_columns)
    return matrices[which[:, None, None], at[:, :, None], at[:, None, :]]


def _predictor_variance(core: Structured, rest: Floats, cross: Floats, within: Floats) -> Floats:
    """Conditional variance over sigma^2 of what all effects but the cell term's add up to, for every cell."""
    design, plan = core.design, core.plan
    inner: list[tuple[Ints, Floats]] = []
    others: list[tuple[Ints, Floats]] = []
    for slots, size, shift, columns in (
        (plan.inner, plan.inner_size, 0, inner),
        (plan.middle, plan.middle_size, 0, others),
        (plan.outer, plan.outer_size, plan.middle_size, others),
    ):
        for slot in slots:
            term = design.terms[slot.term]
            first = (slot.place % size + shift)[term.level]
            columns += [(first + k, term.values[:, k]) for k in range(term.n_columns)]
    within = within.reshape(-1, plan.inner_size, plan.inner_size)
    cross = cross.reshape(cross.shape[0] * cross.shape[1], *cross.shape[2:])
    out = np.zeros(design.n_cells)
    for at, values in inner:
        for other, more in inner:
            out += values * more * within[plan.block, at, other]
        for other, more in others:
            out -= 2.0 * values * more * cross[plan.block, at, other]
    for at, values in others:
        for other, more in others:
            out += values * more * rest[plan.component, at, other]
    return out


class Sparse:
    """Evaluations of one design with given fixed part and response; the same methods as `Structured`."""

    def __init__(self, design: MixedDesign, fixed: Floats, response: Floats, within: float) -> None:
        self.design, self.n_fixed, self.within = design, fixed.shape[1], within
        self.Z = random_columns(design)
        weighted = csr_array(self.Z.multiply(design.count[:, None]))
        self.ZtZ = csc_array(self.Z.T @ weighted)
        self.dense = np.column_stack([fixed, response])
        self.ZtW: Floats = np.asarray(weighted.T @ self.dense)
        self.WtW: Floats = self.dense.T @ (design.count[:, None] * self.dense)
        self.WtW[-1, -1] += within
        self._pattern = _factor_pattern(design)

    def set_response(self, response: Floats, within: float) -> None:
        """Replace the response; what does not involve it stays."""
        self.dense[:, -1] = response
        weighted = self.design.count * response
        self.ZtW[:, -1] = self.Z.T @ weighted
        self.WtW[-1] = self.WtW[:, -1] = self.dense.T @ weighted
        self.WtW[-1, -1] += within

    def evaluate(self, theta: Floats) -> Pieces:
        """Log-determinants, penalised residual sum of squares and fixed effects at theta."""
        return self._solve(theta)[0]

    def gradient(self, theta: Floats, *, reml: bool, precision: float) -> Floats:
        """Return derivatives by theta of logdet_effects + (logdet_fixed, if reml) + precision * rss, by central differences."""

        def value(at: Floats) -> float:
            p = self.evaluate(at)
            return p.logdet_effects + (p.logdet_fixed if reml else 0.0) + precision * p.rss

        out = np.empty_like(theta)
        for j in range(len(theta)):
            step = np.zeros_like(theta)
            step[j] = _SPARSE_STEP * max(1e-2, abs(float(theta[j])))
            out[j] = (value(theta + step) - value(theta - step)) / (2.0 * step[j])
        return out

    def effects(self, theta: Floats) -> tuple[Floats, ...]:
        """Conditional modes of every term."""
        pieces, factor, scaled, spread = self._solve(theta)
        right = scaled[:, -1] - scaled[:, :-1] @ pieces.beta
        return self._split(spread @ factor.solve(right))

    def effect_covariances(self, theta: Floats) -> tuple[Floats, ...]:
        """Conditional covariances of the effects of every level over sigma^2: diagonal blocks of spread matrix^-1 spread'."""
        _, factor, _, spread = self._solve(theta)
        out: list[Floats] = []
        start = 0
        transposed = csc_array(spread.T)
        for term in self.design.terms:
            k, size = term.n_columns, term.n_levels * term.n_columns
            blocks = np.empty((term.n_levels, k, k))
            chunk = max(_CHUNK // k, 1) * k
            for first in range(start, start + size, chunk):
                at = np.arange(first, min(first + chunk, start + size))
                inverse: Floats = spread @ factor.solve(transposed[:, at].toarray())
                level = (at - start) // k
                for i in range(k):
                    blocks[level, i, (at - start) % k] = inverse[start + level * k + i, np.arange(len(at))]
            out.append(blocks)
            start += size
        return tuple(out)

    def _split(self, b: Floats) -> tuple[Floats, ...]:
        ends = np.cumsum([term.n_levels * term.n_columns for term in self.design.terms])[:-1]
        parts = np.split(b, ends)
        return tuple(part.reshape(term.n_levels, -1) for part, term in zip(parts, self.design.terms, strict=True))

    def _solve(self, theta: Floats) -> tuple[Pieces, SuperLU, Floats, csc_array]:
        entry, rows, starts = self._pattern
        spread = csc_array((theta[entry], rows, starts), (self.ZtZ.shape[0], self.ZtZ.shape[0]))
        matrix = csc_array(spread.T @ self.ZtZ @ spread + eye_array(spread.shape[0]))
        factor = splu(matrix, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
        scaled: Floats = np.asarray(spread.T @ self.ZtW)
        p = self.n_fixed
        root_of_rest = cholesky(self.WtW - scaled.T @ factor.solve(scaled))
        root = invert_lower(root_of_rest[:p, :p])
        pieces = Pieces(
            logdet_effects=float(np.log(np.abs(factor.U.diagonal())).sum()),
            logdet_fixed=2.0 * float(np.log(np.diag(root_of_rest)[:p]).sum()),
            rss=float(root_of_rest[-1, -1]) ** 2,
            beta=root.T @ root_of_rest[-1, :p],
            unscaled=root.T @ root,
        )
        return pieces, factor, scaled, spread


def _factor_pattern(design: MixedDesign) -> tuple[Ints, Ints, Ints]:
    """Lambda of all levels by columns: which entry of theta each number is, its row, and where columns start."""
    entry: list[Ints] = []
    rows: list[Ints] = []
    lengths: list[Ints] = []
    first = first_entry = 0
    for term in design.terms:
        k = term.n_columns
        below, columns = lower_entries(k)
        levels = first + np.arange(term.n_levels)[:, None] * k
        entry.append(np.tile(first_entry + np.arange(term.n_theta), term.n_levels))
        rows.append((levels + below).reshape(-1))
        lengths.append(np.tile(np.bincount(columns, minlength=k), term.n_levels))
        first += term.n_levels * k
        first_entry += term.n_theta
    starts = np.concatenate([[0], np.cumsum(np.concatenate(lengths))])
    return np.concatenate(entry), np.concatenate(rows), starts


@dataclass(frozen=True, slots=True, kw_only=True)
class LinearPoint:
    """The model at one theta: sigma and beta at their best for it, the covariance of beta given both, and the deviance."""

    sigma: float
    beta: Floats
    covariance: Floats
    deviance: float


class LinearCriterion:
    """Deviance of one design by theta, profiled over sigma and beta, or by theta and sigma; restricted or not.

    Cross-products are computed once. Where elimination would need more memory than sparse matrices, those are used, and the
    gradient comes from differences. InputError where columns of the fixed part depend on each other.
    """

    def __init__(self, design: MixedDesign, *, reml: bool = True) -> None:
        self.design, self.reml = design, reml
        self._fixed = _FixedPart(design)
        scaled = self._scaled(design.response, design.within)
        plan = plan_elimination(design)
        too_large = plan.entries > _DENSE_ENTRIES or plan.middle_size + plan.outer_size > _DENSE_SIZE
        self._core: Structured | Sparse
        if too_large:
            self._core = Sparse(design, self._fixed.columns, scaled, self._within)
        else:
            self._core = Structured(design, plan, self._fixed.columns, scaled, self._within)

    @property
    def df(self) -> int:
        """What r^2 is divided by: n - p for REML, n for ML."""
        return self.design.n_rows - (self.design.fixed.shape[1] if self.reml else 0)

    def set_response(self, response: Floats, within: float) -> None:
        """Replace the response of the cells and the sum of squares within them; products of Z and X stay."""
        self._core.set_response(self._scaled(response, within), self._within)

    def deviance(self, theta: Floats) -> float:
        """Profiled deviance."""
        return self._profiled(self._evaluate(theta))

    def gradient(self, theta: Floats) -> Floats:
        """Its derivatives by theta."""
        precision = self.df / self._evaluate(theta).rss
        return self._core.gradient(theta, reml=self.reml, precision=precision)

    def at(self, theta: Floats) -> LinearPoint:
        """Sigma, beta and the covariance of beta at theta."""
        pieces = self._evaluate(theta)
        variance = pieces.rss / self.df * self._scale**2
        return LinearPoint(
            sigma=math.sqrt(variance),
            beta=self._beta(pieces),
            covariance=variance * self._fixed.untransform_covariance(pieces.unscaled),
            deviance=self._profiled(pieces),
        )

    def deviance_at(self, theta: Floats, sigma: float) -> float:
        """Return the deviance for given sigma, in the unit of the response; beta is at its best."""
        pieces = self._evaluate(theta)
        rss = pieces.rss * self._scale**2
        return self.df * math.log(2.0 * math.pi * sigma**2) + self._logdets(pieces) + rss / sigma**2

    def gradient_at(self, theta: Floats, sigma: float) -> Floats:
        """Return its derivatives by (theta, sigma), shape (n_theta + 1,)."""
        pieces = self._evaluate(theta)
        rss = pieces.rss * self._scale**2
        by_theta = self._core.gradient(theta, reml=self.reml, precision=(self._scale / sigma) ** 2)
        return np.append(by_theta, 2.0 * self.df / sigma - 2.0 * rss / sigma**3)

    def hessian_at(self, theta: Floats, sigma: float) -> Floats:
        """Second derivatives by (theta, sigma), from central differences of the gradient."""
        return _jacobian(lambda x: self.gradient_at(x[:-1], float(x[-1])), np.append(theta, sigma))

    def effects(self, theta: Floats) -> tuple[Floats, ...]:
        """Conditional modes (BLUPs) of every term, shape (n_levels, n_columns)."""
        core = self._core
        found = effects(core, theta) if isinstance(core, Structured) else core.effects(theta)
        return tuple(self._scale * b for b in found)

    def effect_covariances(self, theta: Floats) -> tuple[Floats, ...]:
        """Conditional covariances of the effects given theta, sigma and beta, shape (n_levels, n_columns, n_columns)."""
        core = self._core
        found = effect_covariances(core, theta) if isinstance(core, Structured) else core.effect_covariances(theta)
        variance = self._evaluate(theta).rss / self.df * self._scale**2
        return tuple(variance * v for v in found)

    def _evaluate(self, theta: Floats) -> Pieces:
        pieces = self._core.evaluate(np.asarray(theta, dtype=np.float64))
        if pieces.rss <= _PERFECT * self.df:
            raise CannotAnswerError(
                "the residual variance is estimated as 0: the random effects fit every row exactly, so nothing is left to "
                "judge them by; leave out a term, or give repeated trials"
            )
        return pieces

    def _logdets(self, pieces: Pieces) -> float:
        return pieces.logdet_effects + (pieces.logdet_fixed + self._fixed.logdet if self.reml else 0.0)

    def _profiled(self, pieces: Pieces) -> float:
        rss = pieces.rss * self._scale**2
        return self._logdets(pieces) + self.df * (1.0 + math.log(2.0 * math.pi * rss / self.df))

    def _beta(self, pieces: Pieces) -> Floats:
        return self._fixed.untransform(self._least_squares + self._scale * pieces.beta)

    def _scaled(self, response: Floats, within: float) -> Floats:
        """Fit the fixed part by least squares: the fit proper works on its residuals over their spread, for accuracy."""
        design = self.design
        y = response if design.offset is None else response - design.offset
        self._least_squares = self._fixed.fit(y)
        residual = y - self._fixed.columns @ self._least_squares
        total = within + float(np.einsum("i,i,i->", design.count, residual, residual))
        size = within + float(np.einsum("i,i,i->", design.count, y, y))
        if total <= _EXACT * size:
            raise CannotAnswerError(
                "the response is constant, or the fixed effects fit it exactly: there is no variance to divide"
            )
        self._scale = math.sqrt(total / (design.n_rows - len(self._least_squares)))
        self._within = within / self._scale**2
        residual /= self._scale
        return residual


class _FixedPart:
    """X times R^-1, with orthonormal columns where that is cheap and columns of unit length else."""

    def __init__(self, design: MixedDesign) -> None:
        given, n = design.fixed, design.count
        p = given.shape[1]
        lengths = np.sqrt(np.einsum("i,ij,ij->j", n, given, given))
        _refuse_dependent(design, np.flatnonzero(lengths == 0.0))
        self._count, self._gram_inverse = n, np.eye(p)
        if p < 2:
            self.columns, self._back = given / lengths, np.diag(lengths)
        elif given.size * p <= _QR_WORK:
            root = np.sqrt(n)[:, None]
            orthonormal, triangle = np.linalg.qr(root * (given / lengths))
            _refuse_dependent(design, np.flatnonzero(np.abs(np.diag(triangle)) < _PARALLEL))
            self.columns, self._back = orthonormal / root, triangle * lengths
        else:
            self.columns, self._back = given / lengths, np.diag(lengths)
            gram = self.columns.T @ (n[:, None] * self.columns)
            inverse = invert_lower(_unpivoted_root(design, gram))
            self._gram_inverse = inverse.T @ inverse
        self._back_inverse = invert_lower(self._back.T).T

    @cached_property
    def logdet(self) -> float:
        """Logarithm of |R|^2."""
        return 2.0 * float(np.log(np.abs(np.diag(self._back))).sum())

    def fit(self, response: Floats) -> Floats:
        """Weighted least squares, for the transformed columns."""
        return self._gram_inverse @ (self.columns.T @ (self._count * response))

    def untransform(self, beta: Floats) -> Floats:
        """Coefficients of the columns as they were given."""
        return self._back_inverse @ beta

    def untransform_covariance(self, covariance: Floats) -> Floats:
        """Their covariance."""
        return self._back_inverse @ covariance @ self._back_inverse.T


def _unpivoted_root(design: MixedDesign, gram: Floats) -> Floats:
    """Cholesky factor of X'X with unit diagonal; refuses columns that follow from those before."""
    factor, info = lapack.dpotrf(gram, lower=1, clean=1)
    diagonal = np.diag(factor)
    if info > 0:
        _refuse_dependent(design, np.array([info - 1]))
    _refuse_dependent(design, np.flatnonzero(diagonal**2 < _PARALLEL_SQUARED))
    return factor


def _refuse_dependent(design: MixedDesign, which: np.ndarray) -> None:
    if which.size:
        names = ", ".join(repr(design.fixed_names[int(k)]) for k in which)
        raise InputError(
            f"the fixed effects are rank deficient: {names} follow{'s' if which.size == 1 else ''} from the columns before "
            f"(of {design.fixed.shape[1]}); leave out empty combinations or one of the factors"
        )


def _jacobian(gradient: Callable[[Floats], Floats], x: Floats) -> Floats:
    out = np.empty((len(x), len(x)))
    for j in range(len(x)):
        step = np.zeros_like(x)
        step[j] = _STEP * max(abs(float(x[j])), 1e-2)
        out[j] = (gradient(x + step) - gradient(x - step)) / (2.0 * step[j])
    return 0.5 * (out + out.T)
