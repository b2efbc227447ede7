"""Shrunken predictions for named levels: their errors, also averaged over the standard deviations, and pooling of a table."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import brentq, minimize_scalar
from scipy.sparse import block_diag, csc_array, csr_array, diags_array, eye_array, hstack, kron
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import splu

from evalstats.errors import CannotAnswerError, InputError
from evalstats.record import record
from evalstats.stats.mixed.binomial import binomial_given_theta
from evalstats.stats.mixed.design import Floats, Ints, MixedFit, term_columns, within_owner
from evalstats.stats.mixed.linear import linear_given_theta
from evalstats.stats.mixed.linear_elimination import cholesky, invert_blocks

# Golden-section steps end when the variance is known to this share of the largest that is tried.
_TOLERANCE = 1e-8
_RIDGE = 1e-9
_ROUNDING = 1e-9  # a singular value below this share of the largest is rounding
_AT_ONCE = 1000  # combinations worked out at a time
# Share of a matrix that its blocks fill, above which it is kept whole.
_FULL = 0.2

# Points along each standard deviation, by how many there are.
_POINTS = {1: 9, 2: 7, 3: 5}
_FEWEST = 3
# The lattice ends where the likelihood has fallen by this factor's logarithm.
_FALL = 4.5
_MOST_DOUBLINGS = 40
# An end of the lattice is known to this share of its distance from the estimate.
_END = 0.05
# Points of less weight are left out.
_NEGLIGIBLE = 1e-3

Sparse = csr_array


@record
class CombinationErrors:
    """Covariance of linear combinations, `given` + `root` diag(`sign`) `root`'.

    `given` is sparse where effects fall into components; `sign` has 1 or -1 for each column of `root`.
    """

    given: Sparse | Floats
    root: Sparse | Floats
    sign: Floats

    def variance(self, weights: Sparse) -> Floats:
        """Variance of linear combinations of these in turn; `weights` has shape (n, n_combinations)."""
        out = np.empty(int(weights.shape[0]))
        for start in range(0, len(out), _AT_ONCE):
            some = weights[start : start + _AT_ONCE]
            given = csr_array(some.multiply(some @ self.given)).sum(axis=1)
            root = some @ self.root
            out[start : start + _AT_ONCE] = given + (root * root) @ self.sign
        return out


@record
class PredictionErrors:
    """Covariance of (beta - its estimate, b - its prediction), kept by its structure.

    `fixed`, shape (n_fixed, n_fixed), is that of beta; `inside`, shape (n_effects, n_effects), that of the effects given beta,
    block diagonal where effects fall into components and then sparse. Where beta is off by d, the predictions are off by
    `gain` @ d the other way.
    """

    fixed: Floats
    inside: Sparse | Floats
    gain: Floats

    def of(self, rows: Sparse) -> tuple[Sparse | Floats, Floats]:
        """Return G and R of the covariance G + R R' of linear combinations, shape (n_combinations, n_fixed + n_effects)."""
        n_fixed = len(self.fixed)
        own, effects = rows[:, :n_fixed], rows[:, n_fixed:]
        root = (own.toarray() - effects @ self.gain) @ cholesky(self.fixed)
        return effects @ self.inside @ effects.T, np.asarray(root, dtype=np.float64)

    def variance(self, rows: Sparse | Floats) -> Floats:
        """Variance of linear combinations."""
        given, root = self.of(csr_array(rows))
        return np.asarray(given.diagonal() + (root**2).sum(axis=1), dtype=np.float64)


def prediction_errors(fit: MixedFit, terms: Sequence[int], reduced: Sparse | None = None) -> PredictionErrors:
    """Return the covariance of (beta - its estimate, b - its prediction) for the fixed effects and the effects of some terms.

    Henderson's mixed-model equations (1975, doi:10.2307/2529430); the effects of all other terms are eliminated. It holds theta
    as estimated. For a binomial fit the equations are those of the last weighted step, the usual approximation. Where effects
    fall into components, at a cost linear in them.

    `terms` are places in `fit.design.terms`, each once; none for the fixed effects alone. Effects run term by term, levels in
    order, a level's effects together; those whose variance is estimated as 0 are 0 without error. `reduced` is what
    `reduced_system` returns for the same working weights and theta of all other terms.
    """
    design = fit.design
    factors = design.factors(fit.theta)
    n_fixed = design.fixed.n_columns
    factor_of = [csr_array(kron(eye_array(design.terms[k].n_levels), factors[k])) for k in terms]
    back = csr_array(block_diag(factor_of, format="csr")) if terms else csr_array((0, 0), dtype=np.float64)
    plain = reduced_system(fit, terms) if reduced is None else reduced
    # Columns become Z Lambda, so that the penalty is the identity and a variance of 0 needs no inverse.
    intercepts = all(len(factors[k]) == 1 for k in terms)
    scale = back.diagonal()
    if intercepts:
        system = _scaled(plain, np.concatenate([np.ones(n_fixed), scale]))
    else:
        turn = csr_array(block_diag([eye_array(n_fixed), back], format="csr"))
        system = csr_array(turn.T @ plain @ turn)
    penalised = csr_array(system[n_fixed:, n_fixed:] + eye_array(system.shape[0] - n_fixed))
    by_block = _block_inverse(penalised)
    coupling = system[n_fixed:, :n_fixed].toarray()
    inside: Sparse | Floats
    if by_block is None:
        inside = np.asarray(np.linalg.inv(penalised.toarray()), dtype=np.float64)
        gain = np.asarray(inside @ coupling, dtype=np.float64)
        turned = np.asarray(back @ inside @ back.T, dtype=np.float64)
    else:
        gain = np.asarray(by_block @ coupling, dtype=np.float64)
        turned = _scaled(by_block, scale) if intercepts else csr_array(back @ by_block @ back.T)
    left = system[:n_fixed, :n_fixed].toarray() - coupling.T @ gain
    fixed = np.asarray(fit.sigma**2 * np.linalg.inv((left + left.T) / 2), dtype=np.float64)
    return PredictionErrors(
        fixed=fixed,
        inside=turned * fit.sigma**2,
        gain=np.asarray(back @ gain, dtype=np.float64),
    )


def reduced_system(fit: MixedFit, terms: Sequence[int], *, only_fixed: bool = False) -> Sparse:
    """Return the cross-products of the fixed effects and of some terms, with the effects of all other terms eliminated.

    Columns are those of the design, so theta of `terms` has no part in it: of a linear model it is the same at all of them.
    `only_fixed`: no more than the rows of the fixed effects.
    """
    design = fit.design
    factors = design.factors(fit.theta)
    others = [k for k in range(len(design.terms)) if k not in set(terms)]
    fixed = csr_array(design.fixed.rows)[design.fixed.of_cell.level]
    kept = hstack([fixed, *(term_columns(design.terms[k]) for k in terms)], format="csc")
    weights = diags_array(fit.working_weights(), format="csc")
    rows = kept[:, : design.fixed.n_columns] if only_fixed else kept
    system = csr_array(rows.T @ (weights @ kept))
    if not others:
        return system
    scaled = [term_columns(replace(design.terms[k], values=design.terms[k].values @ factors[k])) for k in others]
    out = hstack(scaled, format="csc")
    crossed = csr_array(out.T @ (weights @ kept))
    inner = csr_array(out.T @ (weights @ out) + eye_array(out.shape[1]))
    by_block = _block_inverse(inner)
    solved = splu(csc_array(inner)).solve(crossed.toarray()) if by_block is None else by_block @ crossed
    return csr_array(system - crossed[:, : rows.shape[1]].T @ solved)


def _block_inverse(matrix: Sparse) -> Sparse | None:
    """Invert a symmetric positive definite matrix block by block; None where its blocks fill much of it."""
    n, _ = matrix.shape
    matrix.eliminate_zeros()
    n_blocks, owner = connected_components(matrix, directed=False)
    owner = owner.astype(np.int64)
    sizes = np.bincount(owner, minlength=n_blocks)
    if float((sizes.astype(np.float64) ** 2).sum()) > _FULL * n * n:
        return None
    rank = within_owner(owner, n_blocks)
    entries = matrix.tocoo()
    row, column = entries.coords
    rows: list[Ints] = []
    columns: list[Ints] = []
    values: list[Floats] = []
    for size in np.unique(sizes):
        chosen = np.flatnonzero(sizes == size)
        number = np.full(n_blocks, -1)
        number[chosen] = np.arange(len(chosen))
        blocks = np.zeros((len(chosen), size, size))
        own = number[owner[row]] >= 0
        blocks[number[owner[row[own]]], rank[row[own]], rank[column[own]]] = entries.data[own]
        members = np.empty((len(chosen), size), dtype=np.int64)
        at = np.flatnonzero(number[owner] >= 0)
        members[number[owner[at]], rank[at]] = at
        inverse = invert_blocks(blocks)[0]
        rows.append(np.repeat(members, size, axis=1).ravel())
        columns.append(np.tile(members, (1, size)).ravel())
        values.append(inverse.ravel())
    if not n:
        return csr_array((0, 0), dtype=np.float64)
    return csr_array((np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))), shape=(n, n))


def _scaled(matrix: Sparse, scale: Floats) -> Sparse:
    """Multiply rows and columns of a matrix by the same numbers."""
    data = matrix.data * np.repeat(scale, np.diff(matrix.indptr)) * scale[matrix.indices]
    return csr_array((data, matrix.indices, matrix.indptr), shape=matrix.shape)


@dataclass(frozen=True, kw_only=True)
class PredictiveLaw:
    """A mixture of what the effects of some `terms` are predicted to be at several values of their standard deviations.

    `fits` are the model at each of them and `weights`, shape (n_points,), their shares, which sum to 1.
    """

    fits: tuple[MixedFit, ...]
    weights: Floats
    terms: Sequence[int]

    @cached_property
    def errors(self) -> tuple[PredictionErrors, ...]:
        """Errors of the predictions at each point."""
        # Working weights of a binomial model change with the standard deviations.
        same = reduced_system(self.fits[0], self.terms) if self.fits[0].family == "gaussian" else None
        return tuple(prediction_errors(each, self.terms, same) for each in self.fits)

    def mean(self, values: Floats) -> Floats:
        """Return the mean of what is predicted; `values` has a row for each point."""
        return np.asarray(self.weights @ values, dtype=np.float64)

    def variance(self, values: Floats, variances: Floats) -> Floats:
        """Return the variance of what is predicted: within the points, and between them; a row for each point."""
        return self.mean(variances + (values - self.mean(values)) ** 2)

    def errors_of(self, rows: Sparse, values: Floats, slopes: Floats) -> CombinationErrors:
        """Return the errors of functions of linear combinations: within the points, and between them.

        `values` and `slopes`, shape (n_points, n_combinations), are the functions and their derivatives at each point.
        """
        shares = np.sqrt(self.weights)[:, np.newaxis]
        between = shares * (values - self.mean(values))
        within = [
            errors.of(csr_array(diags_array(scale) @ rows))
            for scale, errors in zip(shares * slopes, self.errors, strict=True)
        ]
        root: Floats = np.hstack([between.T, *(each for _, each in within)])
        given = sum((each for each, _ in within[1:]), start=within[0][0])
        return CombinationErrors(given=given, root=root, sign=np.ones(len(root.T)))


def predictive_law(fit: MixedFit, terms: Sequence[int]) -> PredictiveLaw:
    """Average the predictions of some random intercepts over the likelihood of their standard deviations.

    Errors of predictions at the estimated standard deviations take those for known. Where an estimate is 0 by chance, all levels
    are predicted alike, and nothing of what they differ by is in the interval. Here predictions are made at the points of a
    lattice (Gauss-Legendre, out to where the likelihood has fallen by e^-4.5), each with the weight of its restricted likelihood
    and a flat prior of each standard deviation; all other variances are held at their estimates. Linear models: of standard
    deviations relative to the residual one, which is at its best at each point. Rue, Martino & Chopin 2009,
    doi:10.1111/j.1467-9868.2008.00700.x, section 3; for the prior Gelman 2006, doi:10.1214/06-BA117A: flat needs five levels.

    `terms` are places in `fit.design.terms`, random intercepts. A fit that did not converge gives one point: its own.
    """
    at = binomial_given_theta(fit) if fit.family == "binomial" else linear_given_theta(fit)
    points = _lattice(fit, at, terms) if terms and fit.convergence.converged else []
    if not points:
        return PredictiveLaw(fits=(fit,), weights=np.ones(1), terms=terms)
    heights = np.array([height for _, height in points])
    weights = np.exp(heights - heights.max())
    weights /= weights.sum()
    kept = [k for k, weight in enumerate(weights) if weight > _NEGLIGIBLE * weights.max()]
    fits = tuple(points[k][0] for k in kept)
    return PredictiveLaw(fits=fits, weights=weights[kept] / weights[kept].sum(), terms=terms)


def _lattice(
    fit: MixedFit, at: Callable[[Floats], tuple[MixedFit, float]], terms: Sequence[int]
) -> list[tuple[MixedFit, float]]:
    """Return the model at each point of the lattice, with the logarithm of the point's weight."""
    sizes = [term.n_theta for term in fit.design.terms]
    places = [sum(sizes[:k]) for k in terms]
    nodes, shares = np.polynomial.legendre.leggauss(_POINTS.get(len(terms), _FEWEST))
    axes: list[list[tuple[float, float]]] = []
    for k, place in zip(terms, places, strict=True):
        low, high = _ends(fit, at, term=k, place=place)
        axes.append(list(zip(low + (high - low) * (nodes + 1) / 2, np.log(shares), strict=True)))
    out: list[tuple[MixedFit, float]] = []
    for point in product(*axes):
        theta = fit.theta.copy()
        theta[places] = [value for value, _ in point]
        with suppress(CannotAnswerError):  # effects that fit the response exactly
            found, likelihood = at(theta)
            out.append((found, likelihood + sum(share for _, share in point)))
    return out


def _ends(
    fit: MixedFit, at: Callable[[Floats], tuple[MixedFit, float]], *, term: int, place: int
) -> tuple[float, float]:
    """Return where the likelihood has fallen far, below and above the estimate, the other standard deviations held."""
    estimate = float(fit.theta[place])
    top = at(fit.theta)[1]

    def left(value: float) -> float:
        """Roots are nearly straight lines where the likelihood is a parabola."""
        theta = fit.theta.copy()
        theta[place] = value
        try:
            return float(np.sqrt(_FALL) - np.sqrt(max(top - at(theta)[1], 0.0)))
        except CannotAnswerError:
            return -float(np.sqrt(_FALL))

    step = 1 / np.sqrt(fit.working_weights().sum() / fit.design.terms[term].n_levels)
    inner, outer = estimate, estimate + step
    for _ in range(_MOST_DOUBLINGS):
        if left(outer) <= 0:
            break
        inner, outer = outer, estimate + 2 * (outer - estimate)
    else:
        return 0.0, outer
    high = float(brentq(left, inner, outer, xtol=_END * (outer - estimate)))
    low = 0.0 if left(0.0) >= 0 else float(brentq(left, 0.0, estimate, xtol=_END * estimate))
    return low, high


@record
class PooledTable:
    """Cells of a table, partially pooled: predictions of the true cell values, NaN where there was no estimate.

    `covariance` is that of the errors of the predictions of the cells that have an estimate, in row-major order. It counts in
    that rows and columns are estimated, not that the variance is. `variance` is that of the interaction of rows and columns
    beyond noise (REML); 0 means that nothing beyond noise is seen, and every cell is the sum of its row and its column.
    """

    values: Floats
    covariance: Floats
    variance: float


def pooled_table(estimates: Floats, covariance: Floats) -> PooledTable:
    """Predict the true values of a table of cells whose interaction is random: y = row + column + b + e.

    b ~ N(0, tau^2) independently, e ~ N(0, V) with V known. tau^2 is estimated by REML; the predictions are the best linear
    unbiased ones at that value, which is empirical Bayes. The estimate of tau^2 is noisy where there are few cells; the
    prediction errors do not count that in. Morris 1983, doi:10.2307/2287098; Harville 1977, doi:10.2307/2286796.

    `estimates`, shape (n_rows, n_columns), is NaN where a cell has none, and has at least two rows and two columns; `covariance`
    is that of the cells that have an estimate, in row-major order. InputError if an estimate is infinite, or a variance is none;
    CannotAnswerError if no degree of freedom is left for the interaction, or no estimate has any error.
    """
    has = ~np.isnan(estimates)
    y = estimates[has]
    if not (np.isfinite(y).all() and np.isfinite(covariance).all() and (np.diag(covariance) >= 0).all()):
        raise InputError("an estimate is infinite, or a variance is negative or no number")
    if not np.diag(covariance).max(initial=0.0) > 0:
        raise CannotAnswerError("no estimate has any error; cells that are known exactly are not pooled")
    codes = (np.unique(each, return_inverse=True) for each in np.nonzero(has))
    sides = [np.eye(len(levels))[code] for levels, code in codes]
    # All sums of a row and a column; one column too many, and one more for every part that shares no row or column.
    left, size, _ = np.linalg.svd(np.hstack(sides), full_matrices=False)
    design = left[:, size > _ROUNDING * size[0]]
    if design.shape[1] >= len(y):
        raise CannotAnswerError(f"{len(y)} cells leave no degree of freedom for an interaction of rows and columns")
    scale = float(np.mean(np.diag(covariance)))
    noise = covariance + _RIDGE * scale * np.eye(len(y))
    top = max(float(np.var(y)), scale) * 4
    found = minimize_scalar(
        lambda root: _criterion(y, design, noise, float(root) ** 2),
        bounds=(0.0, top**0.5),
        method="bounded",
        options={"xatol": _TOLERANCE * top**0.5},
    )
    at_zero = _criterion(y, design, noise, 0.0)
    variance = 0.0 if found.fun >= at_zero - 1e-6 else float(found.x) ** 2
    # With K = tau^2 (V + tau^2 I)^-1 the prediction is X b + K (y - X b), and its error has covariance
    # (tau^2 I - K tau^2) + (X - K X) (X' W X)^-1 (X - K X)' (Harville 1977).
    inverse = np.linalg.inv(noise + variance * np.eye(len(y)))
    spread = np.linalg.inv(design.T @ inverse @ design)
    beta = spread @ (design.T @ (inverse @ y))
    gain = variance * inverse
    rest = design - gain @ design
    errors = variance * (np.eye(len(y)) - gain) + rest @ spread @ rest.T
    table = np.full(estimates.shape, np.nan)
    table[has] = design @ beta + gain @ (y - design @ beta)
    return PooledTable(
        values=table,
        covariance=(errors + errors.T) / 2,
        variance=variance,
    )


def _criterion(y: Floats, design: Floats, noise: Floats, variance: float) -> float:
    """Minus twice the restricted log-likelihood, without constants."""
    factor = cho_factor(noise + variance * np.eye(len(y)), lower=True)
    whitened = cho_solve(factor, design)
    information = design.T @ whitened
    beta = np.linalg.solve(information, whitened.T @ y)
    rest = y - design @ beta
    log_determinant = 2 * float(np.log(np.diag(factor[0])).sum()) + float(np.linalg.slogdet(information)[1])
    return log_determinant + float(rest @ cho_solve(factor, rest))
