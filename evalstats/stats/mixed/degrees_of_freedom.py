"""Degrees of freedom of fixed effects: Satterthwaite's and Kenward and Roger's of linear models, between-within of binomial ones.

V = sigma^2 (I + Z Lambda Lambda' Z'), the covariance of the responses, is never formed. Every trace and quadratic form of its
derivatives follows from Z' V^-1 Z, Z' V^-1 X and Z' V^-1 (y - X beta), which have one row for each random effect; and V itself
is a weighted sum of its derivatives, which gives the forms of the residual variance for nothing.

Giesbrecht & Burns 1985, doi:10.2307/2530872; Fai & Cornelius 1996, doi:10.1080/00949659608811740; Kuznetsova, Brockhoff &
Christensen 2017, doi:10.18637/jss.v082.i13; Kenward & Roger 1997, doi:10.2307/2533558; Halekoh & Hojsgaard 2014,
doi:10.18637/jss.v059.i09 (whose program, pbkrtest, is followed step by step). Between-within: Schluchter & Elashoff 1990,
doi:10.1080/00949659008811286; Li & Redden 2015, doi:10.1186/s12874-015-0026-x (few clusters, binary outcomes).
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg, sparse, special
from scipy.sparse import csgraph

from evalstats.errors import CannotAnswerError, InputError
from evalstats.record import record
from evalstats.stats.estimate import positive_p
from evalstats.stats.mixed.design import Floats, Ints, MixedDesign, MixedFit, RandomTerm, random_columns
from evalstats.stats.mixed.linear import LinearCriterion


@record
class IndependentCells:
    """Products of one set of cells that shares no random effect with any other cell; N holds the rows of each cell.

    `n_levels` are the levels of each term that occur here; zz = Z'NZ and zx = Z'NX, with effects running through the terms, in
    each through the levels, in each level through the columns.
    """

    cells: Ints
    n_levels: tuple[int, ...]
    zz: Floats
    zx: Floats
    z: sparse.csr_array


@record
class Forms:
    """Traces and quadratic forms of G_r = dV / d psi_r, for the R variances and covariances psi of all terms, then sigma^2.

    The psi of a term run column by column through its lower triangle. With Phi = (X' V^-1 X)^-1, the `covariance`, and
    P = V^-1 - V^-1 X Phi X' V^-1: `trace` and `trace_pairs` are tr(V^-1 G_r) and tr(V^-1 G_r V^-1 G_s), `single` and `pairs`
    X' V^-1 G_r V^-1 X and X' V^-1 G_r V^-1 G_s V^-1 X, `quadratic` and `quadratic_pairs` y'P G_r P y and y'P G_r P G_s P y.
    """

    psi: Floats
    covariance: Floats
    trace: Floats
    trace_pairs: Floats
    single: Floats
    pairs: Floats
    quadratic: Floats
    quadratic_pairs: Floats

    def restricted_trace(self) -> Floats:
        """tr(P G_r), shape (R,)."""
        return self.trace - np.einsum("ij,rji->r", self.covariance, self.single)

    def restricted_trace_pairs(self) -> Floats:
        """tr(P G_r P G_s), shape (R, R)."""
        inside = np.einsum("ij,rjk->rik", self.covariance, self.single)
        crossed = np.einsum("ij,rsji->rs", self.covariance, self.pairs)
        return self.trace_pairs - crossed - crossed.T + np.einsum("rij,sji->rs", inside, inside)


def blocks(design: MixedDesign) -> list[IndependentCells]:
    """Split the cells into the largest number of sets that share no level of any grouping."""
    z = random_columns(design)
    offsets = np.cumsum([0] + [term.n_levels * term.n_columns for term in design.terms])
    member = independent_sets(design)
    order = np.argsort(member, kind="stable")
    out: list[IndependentCells] = []
    for cells in np.split(order, np.cumsum(np.bincount(member))[:-1]):
        levels = [np.unique(term.level[cells]) for term in design.terms]
        columns = np.concatenate([
            start + (at[:, None] * term.n_columns + np.arange(term.n_columns)).ravel()
            for start, term, at in zip(offsets[:-1], design.terms, levels, strict=True)
        ])  # fmt: skip
        part = sparse.csr_array(z[cells][:, columns])
        weighted = sparse.csr_array(part.multiply(design.count[cells][:, None]))
        out.append(
            IndependentCells(
                cells=cells.astype(np.int64),
                n_levels=tuple(len(at) for at in levels),
                zz=np.asarray((part.T @ weighted).toarray(), dtype=np.float64),
                zx=np.asarray(weighted.T @ design.fixed.at(cells), dtype=np.float64),
                z=part,
            )
        )
    return out


def independent_sets(design: MixedDesign, *further: Ints) -> Ints:
    """Return for every cell the number of its set; sets share no level of any random term (nor of `further` codes)."""
    codes = [term.level for term in design.terms] + list(further)
    n = design.n_cells
    starts = n + np.cumsum([0] + [int(code.max()) + 1 for code in codes])
    rows = np.tile(np.arange(n), len(codes))
    columns = np.concatenate([start + code for start, code in zip(starts[:-1], codes, strict=True)])
    graph = sparse.csr_array((np.ones(len(rows)), (rows, columns)), shape=(starts[-1], starts[-1]))
    member = csgraph.connected_components(graph, directed=False)[1][:n]
    return np.unique(member, return_inverse=True)[1].astype(np.int64)


def forms(fit: MixedFit) -> Forms:
    """Return the traces and quadratic forms of a linear fit at its estimates."""
    design, sigma2 = fit.design, fit.sigma**2
    relative = [factor @ factor.T for factor in design.factors(fit.theta)]
    entries = list(covariance_entries(design))
    weights = np.array([sigma2 * relative[t][a, b] for t, a, b in entries])
    residual = response_residual(design, fit.beta)
    # Sums over blocks. Index 0 stands for V itself, the others for the G_r of the random terms.
    sums = _Sums.of(design.fixed.n_columns, 1 + len(entries))
    sums.single[0] = design.fixed.gram(design.count) / sigma2
    sums.quadratic[0] = (design.within + float(design.count @ residual**2)) / sigma2
    alike: dict[bytes, list[IndependentCells]] = {}
    for block in blocks(design):
        alike.setdefault(block.zz.tobytes() + block.zx.tobytes(), []).append(block)
    for equal in alike.values():
        _add_blocks(sums, equal, residual, fit=fit, relative=relative, entries=entries)
    covariance: Floats = np.asarray(np.linalg.inv(sums.single[0]), dtype=np.float64)
    sums.trace[0] = design.n_rows
    sums.trace_pairs[0] = sums.trace_pairs[:, 0] = sums.trace
    sums.pairs[0] = sums.pairs[:, 0] = sums.single
    sums.quadratic_pairs[:] -= sums.crossed @ covariance @ sums.crossed.T
    sums.quadratic_pairs[0] = sums.quadratic_pairs[:, 0] = sums.quadratic
    # From (V, G_1, ...) to (G_1, ..., G of sigma^2), since V = sigma^2 G_residual + sum of psi_r G_r.
    turn = np.zeros((1 + len(entries), 1 + len(entries)))
    turn[:-1, 1:] = np.eye(len(entries))
    turn[-1] = np.concatenate([[1.0], -weights]) / sigma2
    return Forms(
        psi=np.concatenate([weights, [sigma2]]),
        covariance=0.5 * (covariance + covariance.T),
        trace=turn @ sums.trace,
        trace_pairs=turn @ sums.trace_pairs @ turn.T,
        single=np.einsum("ra,aij->rij", turn, sums.single),
        pairs=np.einsum("ra,sb,abij->rsij", turn, turn, sums.pairs),
        quadratic=turn @ sums.quadratic,
        quadratic_pairs=turn @ sums.quadratic_pairs @ turn.T,
    )


def response_residual(design: MixedDesign, beta: Floats) -> Floats:
    """Mean response of each cell less its offset and the fixed effects."""
    offset = 0.0 if design.offset is None else design.offset
    return design.response - offset - design.fixed.at_cells(beta)


def covariance_entries(design: MixedDesign) -> Iterator[tuple[int, int, int]]:
    """Yield term, row and column of every covariance parameter, in the order of theta."""
    for t, term in enumerate(design.terms):
        for column in range(term.n_columns):
            for row in range(column, term.n_columns):
                yield t, row, column


@record
class _Sums:
    """What `Forms` holds, while it is added up; `crossed` is X' V^-1 G_r P y."""

    trace: Floats
    trace_pairs: Floats
    single: Floats
    pairs: Floats
    quadratic: Floats
    quadratic_pairs: Floats
    crossed: Floats

    @classmethod
    def of(cls, p: int, size: int) -> "_Sums":
        return cls(
            trace=np.zeros(size),
            trace_pairs=np.zeros((size, size)),
            single=np.zeros((size, p, p)),
            pairs=np.zeros((size, size, p, p)),
            quadratic=np.zeros(size),
            quadratic_pairs=np.zeros((size, size)),
            crossed=np.zeros((size, p)),
        )


def _add_blocks(
    sums: _Sums,
    equal: list[IndependentCells],
    residual: Floats,
    *,
    fit: MixedFit,
    relative: list[Floats],
    entries: list[tuple[int, int, int]],
) -> None:
    """Add the share of blocks that differ in their responses alone.

    With T = Lambda Lambda', Z'V^-1 = (I + Z'NZ T)^-1 Z'N / sigma^2.
    """
    design, block, times = fit.design, equal[0], len(equal)
    zr = np.column_stack([b.z.T @ (design.count[b.cells] * residual[b.cells]) for b in equal])
    right = np.column_stack([block.zz, block.zx, zr])
    q, p = len(block.zz), block.zx.shape[1]
    solved = _solved(block, relative, right) / fit.sigma**2
    m, b, u = 0.5 * (solved[:, :q] + solved[:, :q].T), solved[:, q : q + p], solved[:, q + p :]
    sums.single[0] -= times * (_times_spread(block.zx.T, block, relative) @ b)
    sums.quadratic[0] -= float(np.sum(_times_spread(zr.T, block, relative) * u.T))
    starts = np.cumsum([0] + [k * t.n_columns for k, t in zip(block.n_levels, design.terms, strict=True)])

    def at(t: int, column: int) -> slice:
        return slice(starts[t] + column, starts[t + 1], design.terms[t].n_columns)

    # G_r in the space of effects: e_row e_column' and its transpose for each level.
    halves = [[(at(t, i), at(t, j)) for i, j in {(row, column), (column, row)}] for t, row, column in entries]
    gb, gu = ([np.zeros_like(x) for _ in halves] for x in (b, u))
    for half, of_b, of_u in zip(halves, gb, gu, strict=True):
        for i, j in half:
            of_b[i] += b[j]
            of_u[i] += u[j]
    for r, half in enumerate(halves, start=1):
        sums.trace[r] += times * sum(float(np.trace(m[j, i])) for i, j in half)
        sums.single[r] += times * (b.T @ gb[r - 1])
        sums.quadratic[r] += float(np.sum(u * gu[r - 1]))
        sums.crossed[r] += gu[r - 1].sum(axis=1) @ b
        m_gb, m_gu = m @ gb[r - 1], m @ gu[r - 1]
        for s, other in enumerate(halves, start=1):
            product = sum(float(np.sum(m[j, k] * m[i, h])) for i, j in half for k, h in other)
            sums.trace_pairs[r, s] += times * product
            sums.pairs[s, r] += times * (gb[s - 1].T @ m_gb)
            sums.quadratic_pairs[s, r] += float(np.sum(gu[s - 1] * m_gu))


def _solved(block: IndependentCells, relative: list[Floats], right: Floats) -> Floats:
    """Return (I + Z'NZ T)^-1 times `right`.

    The part of a term of one column is diagonal: the largest such term, often of most effects, is eliminated first.
    """
    system = _times_spread(block.zz, block, relative)
    sizes = [k if len(t) == 1 else 0 for k, t in zip(block.n_levels, relative, strict=True)]
    largest = int(np.argmax(sizes))
    start = sum(k * len(t) for k, t in zip(block.n_levels[:largest], relative[:largest], strict=True))
    own = slice(start, start + sizes[largest])
    rest = np.delete(np.arange(len(system)), own)
    diagonal = 1.0 + np.diag(system)[own]
    across = sparse.csr_array(system[own][:, rest])
    back = sparse.csr_array(system[rest, own] / diagonal)
    reduced = system[np.ix_(rest, rest)] - (back @ across).toarray() + np.eye(len(rest))
    out = np.empty_like(right)
    out[rest] = linalg.solve(reduced, right[rest] - back @ right[own])
    out[own] = (right[own] - across @ out[rest]) / diagonal[:, None]
    return out


def _times_spread(a: Floats, block: IndependentCells, relative: list[Floats]) -> Floats:
    """Return `a` times the covariance of a block's effects over sigma^2, which is that of each level by itself."""
    out, start = np.empty(a.shape), 0
    for k, t in zip(block.n_levels, relative, strict=True):
        own = slice(start, start + k * len(t))
        scaling_is_cheaper = len(t) == 1
        if scaling_is_cheaper:
            out[:, own] = a[:, own] * t[0, 0]
        else:
            out[:, own] = (a[:, own].reshape(len(a), k, len(t)) @ t).reshape(len(a), -1)
        start = own.stop
    return out


AT_ZERO = 1e-5  # a diagonal entry of a relative covariance factor below this is held at 0
# Eigenvalues of the Hessian scaled to a unit diagonal: a direction without curvature says nothing and is left out.
_FLAT = 1e-8
_DOWNWARD = 1e-4
MOST_EFFECTS = 2500  # in one block, whose square matrices are formed
_STEP = 1e-4
MOST_ROWS = 5000


@record
class VarianceParameters:
    """Covariance of the estimated (theta, log sigma), and how it moves the covariance of the fixed effects.

    `covariance` is twice the inverse Hessian of the deviance; rows of parameters held at 0 are 0. `gradient`, shape
    (n_theta + 1, n_fixed, n_fixed), is the derivative of the covariance of beta by each parameter. `notes` say what was left out.
    """

    covariance: Floats
    gradient: Floats
    notes: tuple[str, ...] = ()


@record
class FTest:
    """A joint test that all rows of L beta are 0.

    `statistic` is F, already multiplied by `scaling` (1 but for Kenward and Roger's); `df_numerator` is the rank of L.
    """

    statistic: float
    df_numerator: int
    df_denominator: float
    p_value: float
    method: str
    scaling: float = 1.0
    notes: tuple[str, ...] = ()


def satterthwaite(fit: MixedFit, contrasts: ArrayLike, *, parameters: VarianceParameters | None = None) -> Floats:
    """Degrees of freedom of the t statistic of each contrast, by Satterthwaite's approximation, shape (n_contrasts,).

    df = 2 (L C L')^2 / (g' A g) with C the covariance of beta, g the gradient of L C L' by (theta, log sigma), and A the
    covariance of their estimates from the Hessian of the deviance (REML or ML, as the model was fitted); infinite where no
    estimated variance enters the standard error. `kenward_roger` also corrects C for small samples; it costs more.

    `parameters` is `variance_parameters(fit)`, where it is at hand. InputError if the fit is not a linear model or the contrasts
    do not fit its fixed effects, CannotAnswerError if the deviance does not curve upward at the estimates.
    """
    rows = as_contrasts(contrasts, fit)
    parameters = variance_parameters(fit) if parameters is None else parameters
    variance = np.einsum("ci,ij,cj->c", rows, fit.covariance, rows)
    return _df(variance, np.einsum("ci,kij,cj->ck", rows, parameters.gradient, rows), parameters)


def satterthwaite_f(fit: MixedFit, contrasts: ArrayLike, *, parameters: VarianceParameters | None = None) -> FTest:
    """F test that all contrasts are 0, with Satterthwaite's denominator degrees of freedom.

    L C L' is turned into independent t statistics by its eigenvectors; the df of F are those that give F the mean of their
    squares.
    """
    rows = independent_rows(as_contrasts(contrasts, fit))
    parameters = variance_parameters(fit) if parameters is None else parameters
    values, vectors = np.linalg.eigh(rows @ fit.covariance @ rows.T)
    turned = vectors.T @ rows
    q = len(values)
    statistic = float(np.mean((turned @ fit.beta) ** 2 / values))
    df = _pooled_df(_df(values, np.einsum("ci,kij,cj->ck", turned, parameters.gradient, turned), parameters))
    return FTest(
        statistic=statistic,
        df_numerator=q,
        df_denominator=df,
        p_value=f_p(statistic, q, df),
        method="F test with Satterthwaite's degrees of freedom",
        notes=parameters.notes,
    )


def variance_parameters(fit: MixedFit) -> VarianceParameters:
    """Covariance of (theta, log sigma) from the Hessian of the deviance, and the gradient of the covariance of beta."""
    if fit.family != "gaussian":
        raise InputError("degrees of freedom were asked for a binomial model; they are defined for linear models only")
    by_matrices = most_effects(fit.design) <= MOST_EFFECTS
    hessian, moved = _derivatives(fit) if by_matrices else _by_differences(fit)
    held, entries = held_at_zero(fit), list(covariance_entries(fit.design))
    notes: list[str] = []
    for t, row, _ in (entries[int(k)] for k in held):
        term = fit.design.terms[t]
        name = term.group if term.columns == ("(Intercept)",) else f"{term.columns[row]} by {term.group}"
        notes.append(f"the variance of {name} is held at its estimate of 0")
    return VarianceParameters(covariance=_inverse(hessian, held), gradient=moved, notes=tuple(notes))


def most_effects(design: MixedDesign) -> int:
    """Random effects of the largest set of cells that shares none with the others."""
    member = independent_sets(design)
    firsts = [np.unique(term.level, return_index=True)[1] for term in design.terms]
    owners = [np.repeat(member[first], term.n_columns) for first, term in zip(firsts, design.terms, strict=True)]
    return int(np.bincount(np.concatenate(owners)).max())


def _derivatives(fit: MixedFit) -> tuple[Floats, Floats]:
    """Hessian of the deviance, and gradient of the covariance of beta, by (theta, log sigma)."""
    found = forms(fit)
    jacobian, curvature = _chain(fit.design, fit.theta, fit.sigma)
    # Of the deviance by the (co)variances psi, with beta at its best for each psi.
    first, second = found.trace, found.trace_pairs
    if fit.method == "REML":
        first, second = found.restricted_trace(), found.restricted_trace_pairs()
    gradient, hessian = first - found.quadratic, 2.0 * found.quadratic_pairs - second
    full = jacobian.T @ hessian @ jacobian + np.einsum("r,rkl->kl", gradient, curvature)
    # d Phi / d psi_r = Phi X' V^-1 G_r V^-1 X Phi.
    by_psi = found.covariance @ found.single @ found.covariance
    return full, np.einsum("rk,rij->kij", jacobian, by_psi)


def _by_differences(fit: MixedFit) -> tuple[Floats, Floats]:
    """Return the same from differences, where the matrices of one block would be too large."""
    criterion = LinearCriterion(fit.design, reml=fit.method == "REML")
    scale = np.append(np.ones(len(fit.theta)), fit.sigma)
    hessian = criterion.hessian_at(fit.theta, fit.sigma) * np.outer(scale, scale)
    # A second derivative by log sigma also has the slope by sigma, which is 0 at the optimum but for rounding.
    hessian[-1, -1] += fit.sigma * float(criterion.gradient_at(fit.theta, fit.sigma)[-1])

    def covariance(theta: Floats) -> Floats:
        return (fit.sigma / criterion.at(theta).sigma) ** 2 * criterion.covariance(theta)

    moved = np.empty((len(scale), len(fit.beta), len(fit.beta)))
    for k, value in enumerate(fit.theta):
        step = np.zeros_like(fit.theta)
        step[k] = _STEP * max(abs(float(value)), 0.1)
        moved[k] = (covariance(fit.theta + step) - covariance(fit.theta - step)) / (2.0 * step[k])
    moved[-1] = 2.0 * fit.covariance
    return hessian, moved


def held_at_zero(fit: MixedFit) -> Ints:
    """Return the positions in theta of standard deviations that are estimated as 0."""
    entries = covariance_entries(fit.design)
    return np.array(
        [k for k, (_, a, b) in enumerate(entries) if a == b and abs(fit.theta[k]) < AT_ZERO], dtype=np.int64
    )


def as_contrasts(contrasts: ArrayLike, fit: MixedFit) -> Floats:
    """Return contrasts as a matrix with one column for each fixed effect, or raise InputError."""
    rows = np.atleast_2d(np.asarray(contrasts, dtype=np.float64))
    if rows.ndim != 2 or rows.shape[1] != len(fit.beta):
        raise InputError(
            f"contrasts have shape {rows.shape}; give one column for each of {len(fit.beta)} fixed effects"
        )
    if not np.all(np.isfinite(rows)):
        raise InputError("contrasts hold NaN or infinite weights; give finite numbers")
    empty = int(np.count_nonzero(~np.any(rows != 0.0, axis=1)))
    if empty:
        raise InputError(f"{empty} of {len(rows)} contrasts have only weights of 0; leave them out")
    return rows


def independent_rows(rows: Floats) -> Floats:
    """Return orthonormal rows that span the same space, so that a repeated contrast is tested once."""
    _, values, right = np.linalg.svd(rows, full_matrices=False)
    return np.asarray(right[values > values[0] * 1e-10], dtype=np.float64)


def f_p(statistic: float, q: int, df: float) -> float:
    """P(F >= statistic) with q and `df` degrees of freedom; never 0."""
    if np.isinf(df):
        return positive_p(float(special.chdtrc(q, q * statistic)))
    return positive_p(float(special.fdtrc(q, df, statistic)))


def _df(variance: Floats, gradient: Floats, parameters: VarianceParameters) -> Floats:
    spread = np.einsum("ck,kl,cl->c", gradient, parameters.covariance, gradient)
    with np.errstate(divide="ignore"):
        return np.where(spread > 0.0, 2.0 * variance**2 / spread, np.inf)


def _pooled_df(df: Floats) -> float:
    """Return the df of F from those of independent t statistics, by the mean of F (lmerTest's rule for small df)."""
    if np.all(np.isinf(df)):
        return float("inf")
    if float(df.max() - df.min()) < 1e-8 * float(df.min()):
        return float(df.mean())
    if np.any(df <= 2.0):
        return 2.0
    expected = float(np.sum(1.0 + 2.0 / (df - 2.0)))  # of df / (df - 2), which is 1 where there are infinitely many
    return 2.0 * expected / (expected - len(df))


def _chain(design: MixedDesign, theta: Floats, sigma: float) -> tuple[Floats, Floats]:
    """First and second derivatives of psi by (theta, log sigma), shapes (R, n_theta + 1) and (R, n_theta + 1, n_theta + 1).

    psi of a term is sigma^2 L L', and the last psi is sigma^2.
    """
    entries = list(covariance_entries(design))
    factors = design.factors(theta)
    size = len(entries) + 1
    first, second = np.zeros((size, size)), np.zeros((size, size, size))
    units = [np.zeros_like(factors[t]) for t, _, _ in entries]
    for unit, (_, a, b) in zip(units, entries, strict=True):
        unit[a, b] = 1.0
    for r, (t, a, b) in enumerate(entries):
        own = [k for k, (other, _, _) in enumerate(entries) if other == t]
        for k in own:
            by_k = units[k] @ factors[t].T + factors[t] @ units[k].T
            first[r, k] = by_k[a, b]
            second[r, k, -1] = second[r, -1, k] = 2.0 * by_k[a, b]
            for other in own:
                both = units[k] @ units[other].T
                second[r, k, other] = (both + both.T)[a, b]
        product = factors[t] @ factors[t].T
        first[r, -1], second[r, -1, -1] = 2.0 * product[a, b], 4.0 * product[a, b]
    first[-1, -1], second[-1, -1, -1] = 2.0, 4.0
    return sigma**2 * first, sigma**2 * second


def _inverse(hessian: Floats, held: Ints) -> Floats:
    """Twice the inverse of the Hessian over the parameters that are not held."""
    free = np.setdiff1d(np.arange(len(hessian)), held)
    scale = np.sqrt(np.maximum(np.abs(np.diag(hessian)[free]), np.finfo(np.float64).tiny))
    values, vectors = np.linalg.eigh(hessian[np.ix_(free, free)] / np.outer(scale, scale))
    if float(values.min()) < -_DOWNWARD:
        raise CannotAnswerError(
            f"the deviance has a direction of negative curvature ({values.min():.3g}) at the estimates, so they are not "
            "its minimum and have no standard errors; refit, or leave out a random term"
        )
    curved = values > _FLAT
    turned = vectors[:, curved] / scale[:, None]
    out = np.zeros_like(hessian)
    out[np.ix_(free, free)] = 2.0 * (turned / values[curved]) @ turned.T
    return out


@record
class KenwardRoger:
    """What the tests of any contrasts of one fit need: give it to `kenward_roger_f`, or ask its `df(contrasts)`.

    `covariance` is that of beta, corrected for what the estimation of the variances adds, `unadjusted` the same before;
    `variances`, shape (R, R), the covariance of the R estimated (co)variances, from the expected information; `single`, shape
    (R, n_fixed, n_fixed), X' V^-1 G_r V^-1 X.
    """

    covariance: Floats
    unadjusted: Floats
    variances: Floats
    single: Floats
    notes: tuple[str, ...] = ()

    @property
    def std_errors(self) -> Floats:
        """Corrected standard errors of the fixed effects."""
        return np.sqrt(np.diag(self.covariance))

    def df(self, contrasts: Floats) -> Floats:
        """Degrees of freedom of the t statistic of each row, shape (n_contrasts,)."""
        return np.array([self.f_law(row[None, :])[0] for row in contrasts])

    def f_law(self, rows: Floats) -> tuple[float, float]:
        """Return the denominator df of F, and what F is multiplied by."""
        q = len(rows)
        theta = rows.T @ np.linalg.solve(rows @ self.unadjusted @ rows.T, rows)
        # Theta Phi X' V^-1 G_r V^-1 X Phi, of which only traces are needed.
        moved = theta @ self.unadjusted @ self.single @ self.unadjusted
        first = np.einsum("rii->r", moved)
        a1 = float(first @ self.variances @ first)
        a2 = float(np.einsum("rs,rij,sji->", self.variances, moved, moved))
        b = (a1 + 6.0 * a2) / (2.0 * q)
        if a2 <= 0.0:  # no estimated variance enters these contrasts
            return float("inf"), 1.0
        g = ((q + 1.0) * a1 - (q + 4.0) * a2) / ((q + 2.0) * a2)
        below = 3.0 * q + 2.0 * (1.0 - g)
        c1, c2, c3 = g / below, (q - g) / below, (q + 2.0 - g) / below
        v0, v1, v2 = (0.0 if abs(v) < 1e-10 else v for v in (1.0 + c1 * b, 1.0 - c2 * b, 1.0 - c3 * b))
        # Of expectation and variance of F: rho = V* / (2 E*^2); 0/0 is 1, as in pbkrtest.
        ratio = 1.0 if abs(v1) + abs(1.0 - a2 / q) < 1e-14 else (1.0 - a2 / q) / v1
        rho = ratio**2 * v0 / (v2 * q) if v2 else float("inf")  # without bound, as the variance of F with 4 df is
        df = 4.0 + (q + 2.0) / (q * rho - 1.0)
        if not np.isfinite(df) or df <= 0.0:
            raise CannotAnswerError(
                f"Kenward and Roger's approximation gives {df:.3g} degrees of freedom for these contrasts: there are too "
                "few units for it; take the parametric bootstrap"
            )
        return df, 1.0 if abs(df - 2.0) < 1e-2 else df * (1.0 - a2 / q) / (df - 2.0)


def kenward_roger(fit: MixedFit) -> KenwardRoger:
    """Covariance of the fixed effects and all that their tests need, after Kenward and Roger.

    V is linear in the (co)variances here, so that the terms with second derivatives vanish. A variance that is estimated
    as 0 stays among the parameters, as in pbkrtest: leaving it out would give the df of a model that knew it to be 0.
    InputError if the fit is not a linear model fitted by REML, or has more than 5,000 rows: take `satterthwaite` then, which
    differs little there.
    """
    if fit.family != "gaussian" or fit.method != "REML":
        raise InputError(
            f"Kenward and Roger's tests need a linear model fitted by REML; this is a {fit.family} model fitted by "
            f"{fit.method}"
        )
    if fit.design.n_rows > MOST_ROWS:
        raise InputError(
            f"the model has {fit.design.n_rows:,} rows; Kenward and Roger's correction is made for at most {MOST_ROWS:,}, "
            "take Satterthwaite's degrees of freedom"
        )
    found = forms(fit)
    phi = found.covariance
    # Inverse of the expected information; directions without information are left out.
    information = 0.5 * found.restricted_trace_pairs()
    scale = np.sqrt(np.diag(information))
    values, vectors = np.linalg.eigh(information / np.outer(scale, scale))
    kept = values > 1e-10
    turned = vectors[:, kept] / scale[:, None]
    variances = np.asarray((turned / values[kept]) @ turned.T, dtype=np.float64)
    # 2 Phi {sum over r, s of W_rs (Q_rs - P_r Phi P_s)} Phi, in the symbols of the paper.
    products = np.einsum("rij,sjk->rsik", found.single @ phi, found.single)
    correction = np.einsum("rs,rsij->ij", variances, found.pairs - products)
    adjusted = phi + 2.0 * phi @ correction @ phi
    held = len(held_at_zero(fit))
    are = "s are" if held > 1 else " is"
    notes = (f"{held} variance{are} estimated as 0 and counted as estimated, not as known",) if held else ()
    return KenwardRoger(
        covariance=0.5 * (adjusted + adjusted.T),
        unadjusted=phi,
        variances=variances,
        single=found.single,
        notes=notes,
    )


def kenward_roger_f(fit: MixedFit, contrasts: ArrayLike, *, corrected: KenwardRoger | None = None) -> FTest:
    """F test that all contrasts are 0, with Kenward and Roger's covariance, scaling and degrees of freedom.

    `corrected` is `kenward_roger(fit)`, where it is at hand.
    """
    rows = independent_rows(as_contrasts(contrasts, fit))
    corrected = kenward_roger(fit) if corrected is None else corrected
    df, scaling = corrected.f_law(rows)
    estimate = rows @ fit.beta
    statistic = scaling / len(rows) * float(estimate @ np.linalg.solve(rows @ corrected.covariance @ rows.T, estimate))
    return FTest(
        statistic=statistic,
        df_numerator=len(rows),
        df_denominator=df,
        p_value=f_p(statistic, len(rows), df),
        method="F test after Kenward and Roger",
        scaling=scaling,
        notes=corrected.notes,
    )


ENOUGH_GROUPS = 30
_ROUNDING = 1e-9
_WITHIN = 0.1  # a smaller share between groups is within them: 100 times the df are as good as the normal law


def few_groups(design: MixedDesign) -> list[RandomTerm]:
    """Return the random terms with fewer than 30 levels, which the normal law takes for more than they are."""
    return [term for term in design.terms if term.n_levels < ENOUGH_GROUPS]


def between_within_df(design: MixedDesign, rows: Floats) -> Floats:
    """Return the degrees of freedom of contrasts of the fixed effects, shape (n_rows,); infinite where few groups play no part.

    Of a contrast, the share b of its least-squares weights that lies in the space of a term's random effects is what differs
    between groups: 1 for a factor between groups, 0 for one balanced within them. With G levels and r fixed columns in that
    space, G - r degrees of freedom are between groups, those within are many, and Satterthwaite's formula puts both
    together: (G - r) / b^2; infinite for b below 0.1. Of several terms the fewest count.
    """
    x, count = design.fixed.at(), design.count
    weights = rows @ np.linalg.pinv(x.T @ (count[:, None] * x)) @ x.T
    size = np.square(weights) @ count
    df = np.full(len(rows), np.inf)
    for term in few_groups(design):
        inside = np.square(_projected(term, count, weights.T)).T @ count
        share = np.where(size > 0.0, inside / np.maximum(size, 1e-300), 0.0)
        share = np.where(share > 1.0 - _ROUNDING, 1.0, share)  # whole degrees of freedom are shown as such
        own = _projected(term, count, x)
        there = np.abs(own - x).max(axis=0) <= _ROUNDING * np.maximum(np.abs(x).max(axis=0), 1e-300)
        used = np.linalg.matrix_rank(x[:, there]) if there.any() else 0
        between = max(1.0, term.n_levels - np.ceil(used / term.n_columns))
        df = np.minimum(df, np.where(share >= _WITHIN, between / np.maximum(share, _WITHIN) ** 2, np.inf))
    return df


def _projected(term: RandomTerm, count: Floats, columns: Floats) -> Floats:
    """Return columns, shape (n_cells, n_columns), projected onto what the random effects of a term can make, by rows."""
    out = np.zeros_like(columns)
    order = np.argsort(term.level, kind="stable")
    for cells in np.split(order, np.cumsum(np.bincount(term.level, minlength=term.n_levels))[:-1]):
        z, n = term.values[cells], count[cells, None]
        out[cells] = z @ (np.linalg.pinv(z.T @ (n * z)) @ (z.T @ (n * columns[cells])))
    return out
