"""Linear mixed models with crossed and nested random effects, by restricted or full maximum likelihood.

First the deviance as a function of the covariance parameters, with derivatives and conditional modes; then its minimum.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack
from scipy.sparse import csc_array, csr_array, eye_array
from scipy.sparse.linalg import SuperLU, splu

from evalstats.errors import CannotAnswerError, InputError
from evalstats.grammar import conjugate
from evalstats.stats.computation import one_thread
from evalstats.stats.mixed.design import (
    Convergence,
    Floats,
    Ints,
    MixedDesign,
    MixedFit,
    RandomTerm,
    central_differences,
    check_levels,
    lower_entries,
    random_columns,
    semidefinite_factor,
)
from evalstats.stats.mixed.distinct_rows import Distinct
from evalstats.stats.mixed.linear_balanced import BalancedCore, balance_of
from evalstats.stats.mixed.linear_elimination import Pieces, Scaling, StagedCore, cholesky, invert_lower
from evalstats.stats.mixed.linear_stages import Slot, plan_elimination
from evalstats.stats.mixed.trust_region import Minimum, minimise

_SPARSE_STEP = 1e-4  # of the differences by theta
_CHUNK = 256  # columns solved for together
_QR_WORK = 2e7  # multiplications up to which X is orthogonalised
_LARGE = 20_000  # cells from which a balanced design is worth finding
_DENSE_ENTRIES = 2e8  # numbers held by the elimination; beyond, sparse matrices
_DENSE_SIZE = 4000  # effects in a dense remainder; beyond, sparse matrices
_PARALLEL = 1e-9  # sine of the angle between a column of X and those before it that counts as 0
_PARALLEL_SQUARED = 1e-12  # the same squared, where only X'X is at hand
_HESSIAN_STEP = 1e-5  # of the differences of a gradient, relative
_EXACT = 1e-24  # sum of squares about the fixed part relative to that about 0, which is rounding
_PERFECT = 1e-13  # residual variance relative to that of the fixed effects alone
_NEAR = 1e-3  # eigenvalues below this share of the information of one level are tried as 0
_RELATIVE = 1e-4  # and below this share of the largest eigenvalue of the term
_SAME = 1e-7  # difference of deviances that is rounding
_SLOPE = 1e-3  # largest derivative of the deviance, by the logarithm of a parameter, of a converged fit


def effects(core: StagedCore, theta: Floats) -> tuple[Floats, ...]:
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
        residual = core.response - core.fixed.at_cells(last[r:])
        for k, values in out.items():
            term = design.terms[k]
            residual = residual - np.einsum("ij,ij->i", term.values, values[term.level])
        t2n = float(factors[plan.cell_term][0, 0]) ** 2 * design.count
        out[plan.cell_term] = _of_levels(design.terms[plan.cell_term], t2n / (1.0 + t2n) * residual)[:, None]
    return tuple(out[k] for k in range(len(design.terms)))


def effect_covariances(core: StagedCore, theta: Floats) -> tuple[Floats, ...]:
    """Conditional covariances of every term over sigma^2, shape (n_levels, n_columns, n_columns)."""
    design, plan = core.design, core.plan
    ell, r = plan.middle_size, plan.outer_size
    found = core.rest_covariance(theta)
    rest = np.empty((plan.n_components, ell + r, ell + r))
    rest[:, :ell, :ell], rest[:, ell:, ell:] = found.mm, found.rr[:r, :r]
    rest[:, :ell, ell:], rest[:, ell:, :ell] = found.mr[..., :r], np.swapaxes(found.mr[..., :r], -1, -2)
    zm, zr, gain = core.inner_blocks(theta)
    z = np.concatenate([zm, zr[..., :r]], axis=-1)
    # Complete data: the blocks of a component are the same but for padding, and the first, never padding, stands for all.
    # Where nothing stands beside the blocks, no zero tells padding from a block, and gains alone tell blocks apart.
    alike = bool((z[:, :2] == z[:, :1]).all())
    if alike:
        same = (z == z[:, :1]).all(axis=(2, 3)) & (gain == gain[:, :1]).all(axis=(2, 3))
        padding = ~z.any(axis=(2, 3)) & bool(z.size)
        alike = bool((same | padding).all())
    if alike:
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


def _predictor_variance(core: StagedCore, rest: Floats, cross: Floats, within: Floats) -> Floats:
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


class SparseCore:
    """Evaluations of one design with given fixed part and response; the same methods as `StagedCore`."""

    def __init__(self, design: MixedDesign, fixed: Distinct, response: Floats, within: float) -> None:
        self.design, self.n_fixed, self.within = design, fixed.n_columns, within
        self.Z = random_columns(design)
        weighted = csr_array(self.Z.multiply(design.count[:, None]))
        self.ZtZ = csc_array(self.Z.T @ weighted)
        self.dense = np.column_stack([fixed.of_cell.at_cells(fixed.rows), response])
        self.ZtW: Floats = np.asarray(weighted.T @ self.dense)
        self.WtW: Floats = self.dense.T @ (design.count[:, None] * self.dense)
        self.WtW[-1, -1] += within
        # Lambda of all levels by columns: which entry of theta each number is, its row, and where columns start.
        entry, rows, lengths = list[Ints](), list[Ints](), list[Ints]()
        first = first_entry = 0
        for term in design.terms:
            k = term.n_columns
            below, columns = lower_entries(k)
            entry.append(np.tile(first_entry + np.arange(term.n_theta), term.n_levels))
            rows.append((first + np.arange(term.n_levels)[:, None] * k + below).reshape(-1))
            lengths.append(np.tile(np.bincount(columns, minlength=k), term.n_levels))
            first += term.n_levels * k
            first_entry += term.n_theta
        starts = np.concatenate([[0], np.cumsum(np.concatenate(lengths))])
        self._pattern = np.concatenate(entry), np.concatenate(rows), starts

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

        def value(at: Floats) -> Floats:
            p = self.evaluate(at)
            return np.array([p.logdet_effects + (p.logdet_fixed if reml else 0.0) + precision * p.rss])

        return central_differences(value, theta, _SPARSE_STEP * np.maximum(1e-2, np.abs(theta)))[0]

    def effects(self, theta: Floats) -> tuple[Floats, ...]:
        """Conditional modes of every term."""
        pieces, factor, scaled, spread = self._solve(theta)
        right = scaled[:, -1] - scaled[:, :-1] @ pieces.beta
        ends = np.cumsum([term.n_levels * term.n_columns for term in self.design.terms])[:-1]
        parts = np.split(spread @ factor.solve(right), ends)
        return tuple(part.reshape(term.n_levels, -1) for part, term in zip(parts, self.design.terms, strict=True))

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
            root=root_of_rest[:p, :p],
        )
        return pieces, factor, scaled, spread


def _core_of(design: MixedDesign, fixed: Distinct, response: Floats, within: float) -> StagedCore | SparseCore:
    plan = plan_elimination(design)
    too_large = plan.entries > _DENSE_ENTRIES or plan.middle_size + plan.outer_size > _DENSE_SIZE
    if too_large:
        return SparseCore(design, fixed, response, within)
    return StagedCore(design, plan, fixed, response, within)


class LinearPoint(NamedTuple):
    """The model at one theta: sigma and beta at their best for it, and the deviance."""

    sigma: float
    beta: Floats
    deviance: float


class LinearCriterion:
    """Deviance of one design by theta, profiled over sigma and beta, or by theta and sigma; restricted or not.

    Cross-products are computed once. Where elimination would need more memory than sparse matrices, those are used, and the
    gradient comes from differences. InputError where columns of the fixed part depend on each other.
    """

    def __init__(self, design: MixedDesign, *, reml: bool = True) -> None:
        self.design, self.reml = design, reml
        balance = balance_of(design) if design.n_cells >= _LARGE else None
        self._fixed = _FixedPart(design, orthogonal=balance is not None and balance.own_mean)
        scaled = self._scaled(design.response, design.within)
        self._core: BalancedCore | StagedCore | SparseCore
        if balance is None:
            self._core = _core_of(design, self._fixed.rows, scaled, self._within)
        else:
            self._core = BalancedCore(design, balance, self._fixed.rows, scaled, self._within)

    @property
    def df(self) -> int:
        """What r^2 is divided by: n - p for REML, n for ML."""
        return self.design.n_rows - (self.design.fixed.n_columns if self.reml else 0)

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
        """Sigma and beta at theta."""
        pieces = self._evaluate(theta)
        return LinearPoint(
            sigma=math.sqrt(pieces.rss / self.df * self._scale**2),
            beta=self._fixed.back_inverse @ (self._least_squares + self._scale * pieces.beta),
            deviance=self._profiled(pieces),
        )

    def covariance(self, theta: Floats) -> Floats:
        """Covariance of beta given theta and sigma."""
        pieces, back = self._evaluate(theta), self._fixed.back_inverse
        if isinstance(self._core, BalancedCore):
            inverse = self._core.fixed_covariance(theta)
        else:
            root = invert_lower(pieces.root)
            inverse = root.T @ root
        return pieces.rss / self.df * self._scale**2 * back @ inverse @ back.T

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
        x = np.append(theta, sigma)
        lengths = _HESSIAN_STEP * np.maximum(np.abs(x), 1e-2)
        columns = central_differences(lambda x: self.gradient_at(x[:-1], float(x[-1])), x, lengths)
        return 0.5 * (columns.T + columns)

    def effects(self, theta: Floats) -> tuple[Floats, ...]:
        """Conditional modes (BLUPs) of every term, shape (n_levels, n_columns)."""
        core = self._core
        if isinstance(core, BalancedCore):
            found = core.effects(theta, effects(core.mean, core.turned(theta)))
        else:
            found = effects(core, theta) if isinstance(core, StagedCore) else core.effects(theta)
        return tuple(self._scale * b for b in found)

    def effect_covariances(self, theta: Floats) -> tuple[Floats, ...]:
        """Conditional covariances of the effects given theta, sigma and beta, shape (n_levels, n_columns, n_columns)."""
        core = self._core
        if isinstance(core, BalancedCore):
            found = core.effect_covariances(theta, effect_covariances(core.mean, core.turned(theta)))
        else:
            found = effect_covariances(core, theta) if isinstance(core, StagedCore) else core.effect_covariances(theta)
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

    def _scaled(self, response: Floats, within: float) -> Floats:
        """Fit the fixed part by least squares: the fit proper works on its residuals over their spread, for accuracy."""
        design = self.design
        y = response if design.offset is None else response - design.offset
        self._least_squares = self._fixed.fit(y)
        residual = y - self._fixed.rows.at_cells(self._least_squares)
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
    """X times R^-1, by distinct rows: with orthonormal columns where that is cheap and columns of unit length else.

    `orthogonal`: the columns are known to be so.
    """

    def __init__(self, design: MixedDesign, *, orthogonal: bool = False) -> None:
        found = design.fixed
        given, n = found.rows, found.of_cell.sums(design.count)
        p = given.shape[1]
        lengths = np.sqrt(n @ given**2)
        _refuse_dependent(design, np.flatnonzero(lengths == 0.0))
        self._count, self._gram_inverse = design.count, np.eye(p)
        columns, self._back = given / lengths, np.diag(lengths)
        turning = p > 1 and not orthogonal
        if turning and given.size * p <= _QR_WORK:
            root = np.sqrt(n)[:, None]
            orthonormal, triangle = np.linalg.qr(root * columns)
            _refuse_dependent(design, np.flatnonzero(np.abs(np.diag(triangle)) < _PARALLEL))
            columns, self._back = orthonormal / root, triangle * lengths
        elif turning:
            factor, info = lapack.dpotrf(columns.T @ (n[:, None] * columns), lower=1, clean=1)
            _refuse_dependent(design, np.array([info - 1]) if info > 0 else np.empty(0))
            _refuse_dependent(design, np.flatnonzero(np.diag(factor) ** 2 < _PARALLEL_SQUARED))
            inverse = invert_lower(factor)
            self._gram_inverse = inverse.T @ inverse
        self.rows = replace(found, rows=columns)
        self.back_inverse = invert_lower(self._back.T).T
        self.logdet = 2.0 * float(np.log(np.abs(np.diag(self._back))).sum())  # of |R|^2

    def fit(self, response: Floats) -> Floats:
        """Weighted least squares, for the transformed columns."""
        return self._gram_inverse @ self.rows.sums(self._count * response)


def _refuse_dependent(design: MixedDesign, which: np.ndarray) -> None:
    if which.size:
        names = ", ".join(repr(design.fixed_names[int(k)]) for k in which)
        raise InputError(
            f"the fixed effects are rank deficient: {names} {conjugate(which.size, 'follow')} from the columns before "
            f"(of {design.fixed.n_columns}); leave out empty combinations or one of the factors"
        )


def boundary(criterion: LinearCriterion, theta: Floats) -> tuple[Floats, tuple[str, ...]]:
    """Put on the boundary what lies there but for rounding: theta, and in words what is on it.

    The covariance of a term is reduced to what its large eigenvalues carry; that stays where the deviance does not rise.
    """
    design = criterion.design
    deviance = criterion.deviance(theta)
    words: list[str] = []
    start = 0
    for term, factor in zip(design.terms, design.factors(theta), strict=True):
        reduced, rank = _reduce(term, factor, design.count)
        if rank < term.n_columns:
            trial = theta.copy()
            rows, columns = lower_entries(term.n_columns)
            trial[start : start + term.n_theta] = reduced[rows, columns]
            value = criterion.deviance(trial)
            if value <= deviance + _SAME * max(1.0, 1e-5 * abs(deviance)):
                theta = trial
                words += _words(term, reduced, rank)
        start += term.n_theta
    return theta, tuple(words)


def canonical(design: MixedDesign, theta: Floats) -> Floats:
    """Turn the signs of the columns of every factor so that its diagonal is not negative."""
    out: list[Floats] = []
    for term, factor in zip(design.terms, design.factors(theta), strict=True):
        rows, columns = lower_entries(term.n_columns)
        signs = np.where(np.diag(factor) < 0.0, -1.0, 1.0)
        out.append((factor * signs)[rows, columns] + 0.0)
    return np.concatenate(out)


def _semidefinite(covariance: Floats) -> Floats:
    return semidefinite_factor(covariance, 1e-12 * np.diag(covariance))


def _reduce(term: RandomTerm, factor: Floats, count: Floats) -> tuple[Floats, int]:
    """Factor without the directions of small variance, and how many remain."""
    scale = np.sqrt(count @ term.values**2 / term.n_levels)
    scaled = scale[:, None] * factor
    values, vectors = np.linalg.eigh(scaled @ scaled.T)
    large = values > np.maximum(_NEAR, _RELATIVE * values[-1])
    rank = int(large.sum())
    if rank == term.n_columns:
        return factor, rank
    kept = vectors[:, large] / scale[:, None]
    return _semidefinite((kept * values[large]) @ kept.T), rank


def _words(term: RandomTerm, factor: Floats, rank: int) -> list[str]:
    variances = np.sum(factor**2, axis=1)
    zero = variances <= 1e-12 * max(1.0, float(variances.max()))
    of = [f"{name} by {term.group}" for name in term.columns]
    of = [term.group] if term.columns == ("(Intercept)",) else of
    out = [f"the variance of {name} is estimated as 0" for name, none in zip(of, zero, strict=True) if none]
    left = np.flatnonzero(~zero)
    if rank < len(left) == 2:
        a, b = (int(k) for k in left)
        sign = "1" if factor[a] @ factor[b] > 0 else "-1"
        out.append(f"the correlation of {term.columns[a]} and {term.columns[b]} by {term.group} is estimated as {sign}")
    elif rank < len(left):
        out.append(
            f"the covariance matrix of the effects of {term.group} is estimated with rank {rank} of {term.n_columns}"
        )
    return out


def check_linear(design: MixedDesign) -> tuple[str, ...]:
    """Refuse a design that cannot be fitted; return warnings about what can but should not be trusted."""
    n, p = design.n_rows, design.fixed.n_columns
    if not design.terms:
        raise InputError("the model has no random effect; a mixed model needs one, such as (1|item)")
    values = (design.fixed.rows, design.response, design.count, *(term.values for term in design.terms))
    if not all(np.isfinite(array).all() for array in values) or not np.isfinite(design.within):
        raise InputError("the design holds NaN or infinite values; leave out rows that have no outcome")
    if (design.count <= 0).any() or design.within < 0:
        raise InputError("every cell needs at least one row, and the sum of squares within cells cannot be negative")
    if n <= p:
        raise InputError(f"{n} rows for {p} fixed effects; a mixed model needs more rows than fixed effects")
    y = design.response if design.offset is None else design.response - design.offset
    if design.within == 0.0 and np.ptp(y) <= 1e-13 * np.abs(y).max():
        raise CannotAnswerError(f"all {n} rows have the same response, {y[0]:g}: there is no variance to divide")
    warnings: list[str] = []
    for term in design.terms:
        k, seen = term.n_columns, int(np.count_nonzero(np.bincount(term.level, minlength=term.n_levels)))
        warnings += check_levels(term, seen)
        if seen >= n:
            raise InputError(
                f"the grouping {term.group!r} has as many levels as there are rows ({n}), so its variance cannot be told from "
                "the residual's; leave it out, or give repeated trials"
            )
        if seen * k >= n and k > 1:
            raise InputError(
                f"the random effects of {term.group!r} are {seen * k} for {n} rows, so their variances cannot be told from the "
                "residual's; take fewer effects for each level, or give repeated trials"
            )
        empty = [name for name, column in zip(term.columns, term.values.T, strict=True) if not np.any(column)]
        if empty:
            raise InputError(f"the effect {empty[0]!r} of the grouping {term.group!r} is 0 in all rows; leave it out")
    return tuple(warnings)


@one_thread
def fit_linear(design: MixedDesign, *, reml: bool = True, start: Floats | None = None) -> MixedFit:
    """Fit a linear mixed model by restricted maximum likelihood, which has less bias in variances, or (`reml=False`) by full.

    y = X beta + Z b + e with b ~ N(0, sigma^2 Lambda Lambda') and e ~ N(0, sigma^2 I). beta and sigma are at their best for
    each theta, and the profiled deviance is minimised over theta (from `start`) by Newton steps with analytic gradients. Its
    cost grows with the number of cells, not of rows. Assumes normal effects and errors, one residual variance, and effects
    that do not depend on X. Bates, Maechler, Bolker & Walker 2015, doi:10.18637/jss.v067.i01.

    Diagonal entries of the factors are not negative. Variances of 0 and correlations of 1 are legitimate estimates, listed in
    `singular`. Conditional covariances of the effects are given theta, sigma and beta, as lme4's `condVar`. A search that failed
    is told in `convergence` and `warnings`.

    InputError: fixed effects of deficient rank (their columns are named), too few rows, a grouping with one level or as many
    effects as rows, values that are not finite. CannotAnswerError: a constant response, or one that the effects fit exactly.
    """
    warnings = check_linear(design)
    return _result(LinearCriterion(design, reml=reml), start, warnings, uncertainty=True)


def linear_given_theta(fit: MixedFit) -> Callable[[Floats], tuple[MixedFit, float]]:
    """Return what fits the same model at any theta, and gives the logarithm of the restricted likelihood of theta.

    beta and sigma are at their best for theta; the covariances of beta and of the effects are left out.
    """
    criterion = LinearCriterion(fit.design, reml=True)

    @one_thread
    def at(theta: Floats) -> tuple[MixedFit, float]:
        point = criterion.at(theta)
        found = replace(
            fit,
            theta=theta,
            sigma=point.sigma,
            beta=point.beta,
            covariance=np.empty((0, 0)),
            effects=criterion.effects(theta),
            effect_covariances=(),
        )
        return found, -0.5 * point.deviance

    return at


class Refitter:
    """Fits of one model to many responses, such as those of a parametric bootstrap, each from the theta of the fit."""

    def __init__(self, fit: MixedFit) -> None:
        self.design, self.theta = fit.design, fit.theta
        self.criterion = LinearCriterion(fit.design, reml=fit.method == "REML")

    @one_thread
    def __call__(self, response: Floats, within: float) -> MixedFit:
        """Fit to these means of the cells, with this sum of squares within; no random effects are predicted."""
        self.criterion.set_response(response, within)
        self.criterion.design = replace(self.design, response=response, within=within)
        return _result(self.criterion, self.theta, (), uncertainty=False)


def _search(criterion: LinearCriterion, start: Floats | None) -> tuple[Minimum, Floats, tuple[str, ...]]:
    """Minimise from `start` or from standard deviations as large as the residual's; again from elsewhere on the boundary.

    Return where the search ended, its canonical theta, and in words what is on the boundary.
    """
    design = criterion.design
    # For each entry of theta the root of the information of its effect: sqrt(sum of n z^2 / number of levels).
    information = [np.sqrt(design.count @ term.values**2 / term.n_levels) for term in design.terms]
    scale = np.concatenate([each[lower_entries(len(each))[0]] for each in information])
    if start is not None and (start.shape != (design.n_theta,) or not np.isfinite(start).all()):
        raise InputError(f"start has shape {start.shape}; give {design.n_theta} finite entries of theta")
    first = np.arcsinh((_standard(criterion, scale) if start is None else start) * scale)
    if start is not None:  # 0 is stationary by symmetry; leave it
        first = np.where((_diagonal(design) > 0) & (np.abs(first) < 1e-3), 1e-2, first)
    best = _minimise(criterion, scale, first)
    evaluations = best.n_evaluations
    theta, singular = boundary(criterion, np.sinh(best.x) / scale)
    if singular or not best.converged:
        for size in (0.3, 3.0):
            other = _minimise(criterion, scale, np.where(_diagonal(design) > 0, size, 0.0))
            evaluations += other.n_evaluations
            if other.value < best.value - 1e-7 or (other.converged and not best.converged):
                best = other
        theta, singular = boundary(criterion, np.sinh(best.x) / scale)
    return replace(best, n_evaluations=evaluations), canonical(design, theta), singular


def _minimise(criterion: LinearCriterion, scale: Floats, start: Floats) -> Minimum:
    """Minimise over x = arsinh(scale * theta): a logarithm for large theta, theta itself near 0, where the deviance is even."""
    impossible: list[CannotAnswerError] = []

    def function(x: Floats) -> tuple[float, Floats]:
        theta = np.sinh(x) / scale
        try:
            value = criterion.deviance(theta)
            return value, criterion.gradient(theta) * np.cosh(x) / scale
        except CannotAnswerError as error:
            impossible.append(error)
            if np.array_equal(x, start):
                raise
            return np.inf, np.zeros_like(x)

    found = minimise(function, start)
    if impossible and not found.converged:  # the deviance falls towards where it cannot be computed
        raise impossible[-1]
    return found


def _result(
    criterion: LinearCriterion, start: Floats | None, warnings: tuple[str, ...], *, uncertainty: bool
) -> MixedFit:
    minimum, theta, singular = _search(criterion, start)
    point = criterion.at(theta)
    slope = float(np.abs(minimum.gradient).max())
    converged = minimum.converged and slope < _SLOPE * max(1.0, 1e-6 * abs(point.deviance))
    flat = converged or not minimum.converged
    message = minimum.message if flat else f"the slope of the deviance is still {slope:.2g}"
    if not converged:
        warnings = (*warnings, f"the fit did not converge: {message}; estimates are not to be trusted")
    return MixedFit(
        family="gaussian",
        method="REML" if criterion.reml else "ML",
        design=criterion.design,
        theta=theta,
        sigma=point.sigma,
        beta=point.beta,
        covariance=criterion.covariance(theta),
        log_likelihood=-0.5 * point.deviance,
        effects=criterion.effects(theta) if uncertainty else (),
        effect_covariances=criterion.effect_covariances(theta) if uncertainty else (),
        convergence=Convergence(
            converged=converged,
            message=message,
            n_evaluations=minimum.n_evaluations,
            gradient=slope,
            curvature=float(np.linalg.eigvalsh(minimum.hessian)[0]),
        ),
        singular=singular,
        warnings=warnings,
    )


def _diagonal(design: MixedDesign) -> Floats:
    """1 for the entries of theta on the diagonal of a factor, 0 for the others."""
    return np.concatenate([np.equal(*lower_entries(term.n_columns)).astype(np.float64) for term in design.terms])


def _standard(criterion: LinearCriterion, scale: Floats) -> Floats:
    """Where the search begins: EM steps from uncorrelated effects that contribute as much to a row as the residual.

    With U the sum over the levels of a term of the expected u u' given the data, EM takes L U L' / n_levels for the next
    covariance; and the derivative of the deviance by a diagonal L is 2 L^-1 (n_levels I - U) in its lower triangle.
    Where levels have many rows the first step is nearly the answer.
    """
    design = criterion.design
    per_row = np.concatenate([np.full(t.n_theta, np.sqrt(design.n_rows / t.n_levels)) for t in design.terms])
    theta = per_row / scale * _diagonal(design)
    for _ in range(2 if all(term.n_columns == 1 for term in design.terms) else 1):
        gradient = criterion.gradient(theta)
        out: list[Floats] = []
        start = 0
        for term, factor in zip(design.terms, design.factors(theta), strict=True):
            rows, columns = lower_entries(term.n_columns)
            missed = np.zeros_like(factor)
            missed[rows, columns] = gradient[start : start + term.n_theta] / (2.0 * term.n_levels)
            missed = factor @ (missed + np.tril(missed, -1).T)
            values, vectors = np.linalg.eigh(np.eye(term.n_columns) - 0.5 * (missed + missed.T))
            share = (vectors * np.maximum(values, 1e-4)) @ vectors.T
            out.append(_semidefinite(factor @ share @ factor.T)[rows, columns])
            start += term.n_theta
        theta = np.concatenate(out)
    return theta
