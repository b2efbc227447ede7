"""Covariance of the fixed effects that holds when the model's covariance is wrong, from independent clusters."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg, sparse

from evalstats.errors import CannotAnswerError, InputError
from evalstats.record import record
from evalstats.stats.checks import as_codes, too_few_clusters
from evalstats.stats.computation import one_thread
from evalstats.stats.mixed.binomial import cluster_scores
from evalstats.stats.mixed.degrees_of_freedom import FTest, f_p, independent_rows, response_residual
from evalstats.stats.mixed.design import Floats, Ints, MixedDesign, MixedFit, random_columns

_NO_ROOT = 1e-10  # relative: directions in which the residuals of a cluster have no variance at all
_CHUNK = 64  # contrasts at a time
_LARGEST_SHARE = 1.0 - 1e-10
_Cluster = tuple[Ints, Floats, Floats, Floats]


@dataclass(frozen=True, slots=True)
class _ClusterPart:
    """What the degrees of freedom need of a cluster: its columns of X, X'E and E'VE, with E = A V^-1 X."""

    columns: Ints
    moved: Floats
    spread: Floats


@record
class RobustCovariance:
    """A cluster-robust covariance of the fixed effects, shape (n_fixed, n_fixed).

    `joint` is that of (theta, beta) of a binomial model, None for a linear one; `influence`, one row a cluster, what each
    contributes to the estimates (of theta, too, in a binomial model): the covariance is the sum of squares.
    """

    covariance: Floats
    n_clusters: int
    method: str
    joint: Floats | None = None
    influence: Floats = field(repr=False)
    bread: Floats = field(repr=False)
    parts: tuple[_ClusterPart, ...] = field(repr=False)

    @property
    def std_errors(self) -> Floats:
        """Robust standard errors of the fixed effects."""
        return np.sqrt(np.diag(self.covariance))

    def df(self, contrasts: ArrayLike) -> Floats:
        """Satterthwaite's degrees of freedom of the t statistic of each row, shape (n_contrasts,).

        The variance of the robust variance estimate is taken as it is where the model's covariance is right.
        """
        rows = np.atleast_2d(np.asarray(contrasts, dtype=np.float64))
        return np.concatenate([self._df(rows[at : at + _CHUNK]) for at in range(0, len(rows), _CHUNK)])

    def f_test(self, beta: Floats, contrasts: ArrayLike) -> FTest:
        """Test that all contrasts are 0: approximate Hotelling's T^2 with the df of Pustejovsky & Tipton (HTZ)."""
        rows = independent_rows(np.atleast_2d(np.asarray(contrasts, dtype=np.float64)))
        q = len(rows)
        eta = self._wishart_df(rows)
        df = eta - q + 1.0
        if df < _NO_ROOT * q:
            raise CannotAnswerError(
                f"{self.n_clusters} clusters are too few for a joint test of {q} contrasts (they carry the information of "
                f"{eta:.1f}); test fewer, or take the parametric bootstrap"
            )
        estimate = rows @ beta
        wald = float(estimate @ np.linalg.solve(rows @ self.covariance @ rows.T, estimate))
        statistic = df / (eta * q) * wald
        return FTest(
            statistic=statistic,
            df_numerator=q,
            df_denominator=df,
            p_value=f_p(statistic, q, df),
            method=f"approximate Hotelling test, {self.method}",
            scaling=df / eta,
        )

    def _df(self, rows: Floats) -> Floats:
        direction = self.bread @ rows.T
        root = linalg.cholesky(self.bread)
        variance = np.empty((len(rows), len(self.parts)))
        moved = np.empty((len(rows), len(self.parts), len(root)))
        for g, part in enumerate(self.parts):
            own = direction[part.columns]
            variance[:, g] = np.einsum("ic,ic->c", own, part.spread @ own)
            moved[:, g] = (root[:, part.columns] @ (part.moved @ own)).T
        # Covariances of the clusters' adjusted scores: diag(variance) less moved moved', one matrix for each contrast.
        square = (moved**2).sum(axis=2)
        turned = moved.transpose(0, 2, 1)
        gram = turned @ moved if len(self.parts) > len(root) else moved @ turned
        total = (variance**2).sum(axis=1) - 2.0 * (variance * square).sum(axis=1) + (gram**2).sum(axis=(1, 2))
        return np.asarray((variance - square).sum(axis=1) ** 2 / total, dtype=np.float64)

    def _wishart_df(self, rows: Floats) -> float:
        """Return the df of the Wishart law with the total variance of the robust covariance of the contrasts."""
        root = linalg.cholesky(self.bread)
        direction = self.bread @ rows.T
        spreads: list[Floats] = []
        turned: list[Floats] = []
        for part in self.parts:
            own = direction[part.columns]
            spreads.append(own.T @ part.spread @ own)
            turned.append((root[:, part.columns] @ (part.moved @ own)).T)
        spread, moved = np.stack(spreads), np.stack(turned)  # (G, q, q) and (G, q, p)
        expected = spread.sum(axis=0) - np.einsum("gsi,gti->st", moved, moved)
        values, vectors = np.linalg.eigh(expected)
        scale = (vectors / np.sqrt(values)) @ vectors.T
        spread, moved = scale @ spread @ scale, scale @ moved
        q = len(rows)
        # Covariances of clusters g and h: spread_g where they are one, less M_g M_h'. Sums over all pairs are sums of products.
        both = np.einsum("gsa,gtb->satb", moved, moved)
        total = float((both**2).sum() + np.einsum("satb,tasb->", both, both))
        own = np.einsum("gsa,gta->gst", moved, moved)
        for sign, each in ((1.0, spread - own), (-1.0, own)):
            total += sign * float((np.einsum("gss->g", each) ** 2).sum() + np.einsum("gst,gts->", each, each))
        return q * (q + 1.0) / total


@one_thread
def robust_covariance(fit: MixedFit, clusters: ArrayLike) -> RobustCovariance:
    """Covariance of the fixed effects from the residuals of independent clusters.

    The model says which covariance it expects; the clusters say which there is. Contrasts of models take this covariance,
    since one variance and one correlation for all pairs of models, which a random intercept assumes, may be far from the
    truth for the pair that is compared.

    Linear models: CR2 with the model's V as working covariance; the estimate is without bias where V is right, and right
    for many clusters whatever V is.

    Binomial models: the sandwich of each cluster's scores in (theta, beta), enlarged for its leverage, with the df of the
    linearised model. In simulations with 10, 20 and 50 clusters, right models and wrong, a contrast of two models alarmed
    falsely in .02 to .05 (nominal .05); the plain sandwich with normal quantiles in .05 to .10.

    `clusters` are integer codes of the cells: every level of every random term lies in one of them. CannotAnswerError if not,
    since clusters are not independent then, or if there are fewer than 5. Bell & McCaffrey 2002, Survey Methodology 28:169;
    Pustejovsky & Tipton 2018, doi:10.1080/07350015.2016.1247004.
    """
    codes, n_clusters = as_codes(clusters, fit.design.n_cells)
    crossing = crossing_term(fit.design, codes)
    if crossing is not None:
        raise CannotAnswerError(crossing)
    few = too_few_clusters(n_clusters)
    if few is not None:
        raise CannotAnswerError(few)
    return _linear(fit, codes, n_clusters) if fit.family == "gaussian" else _binomial(fit, codes, n_clusters)


def crossing_term(design: MixedDesign, clusters: Ints) -> str | None:
    """Return, in words, the first random term that ties clusters together; None where clusters are independent."""
    for term in design.terms:
        pairs = np.unique(np.column_stack([term.level, clusters]), axis=0)
        levels, counts = np.unique(pairs[:, 0], return_counts=True)
        if np.any(counts > 1):
            at = int(np.argmax(counts))
            return (
                f"level {term.levels[int(levels[at])]!r} of the random term {term.group} has cells in {counts[at]} clusters, so "
                "clusters are not independent; cluster by a grouping that holds whole levels of all random terms, or take "
                "the model's own covariance"
            )
    return None


def _linear(fit: MixedFit, codes: Ints, n_clusters: int) -> RobustCovariance:
    design = fit.design
    clusters = list(_whole_clusters(design, fit.theta, response_residual(design, fit.beta), codes))
    bread = _bread(clusters, len(fit.beta))
    scores = np.zeros((n_clusters, len(bread)))
    known: dict[bytes, tuple[Floats, _ClusterPart]] = {}
    parts: list[_ClusterPart] = []
    for g, (columns, x, v, residual) in enumerate(clusters):
        key = columns.tobytes() + x.tobytes() + v.tobytes()  # clusters of the same cells share all but residuals
        if key not in known:
            adjusted = _adjusted(x, v, bread[np.ix_(columns, columns)])
            known[key] = adjusted, _ClusterPart(columns, x.T @ adjusted, adjusted.T @ v @ adjusted)
        adjusted, part = known[key]
        scores[g, columns] = adjusted.T @ residual
        parts.append(part)
    influence = scores @ bread
    return RobustCovariance(
        covariance=influence.T @ influence,
        n_clusters=n_clusters,
        method=f"CR2 covariance of {n_clusters} clusters",
        influence=influence,
        bread=bread,
        parts=tuple(parts),
    )


def _binomial(fit: MixedFit, codes: Ints, n_clusters: int) -> RobustCovariance:
    """Sandwich of the scores in (theta, beta), each cluster's enlarged for its leverage in the linearised model.

    The linearised model has the weights n mu (1 - mu) at the conditional modes; there a cluster's score is multiplied by
    (I - X'V^-1 X of the cluster times M)^(-1/2), which is CR2 for whitened responses, and the df are those of that model.
    """
    if fit.joint_covariance is None:
        raise InputError(
            "the fit has no joint covariance of (theta, beta); fit it by Laplace or quadrature, with uncertainty"
        )
    design, n_theta = fit.design, len(fit.theta)
    linearised = replace(design, count=fit.working_weights())
    clusters = list(_whole_clusters(linearised, fit.theta, np.zeros(design.n_cells), codes))
    bread = _bread(clusters, len(fit.beta))
    scores = cluster_scores(fit, codes)
    scores[:, :n_theta] *= np.sqrt(n_clusters / (n_clusters - 1.0))
    parts: list[_ClusterPart] = []
    for g, (columns, x, v, _) in enumerate(clusters):
        root = linalg.cholesky(bread[np.ix_(columns, columns)])
        information = x.T @ np.linalg.solve(v, x)
        values, vectors = np.linalg.eigh(np.eye(len(columns)) - root @ information @ root.T)
        kept = values > _NO_ROOT
        turned = vectors[:, kept].T @ root
        back = linalg.solve_triangular(root, vectors[:, kept])
        enlarge = (back / np.sqrt(values[kept])) @ turned
        parts.append(_ClusterPart(columns, enlarge @ information, (back / values[kept]) @ turned @ information))
        scores[g, n_theta + columns] = enlarge @ scores[g, n_theta + columns]
    influence = scores @ fit.joint_covariance
    joint = influence.T @ influence
    return RobustCovariance(
        covariance=joint[n_theta:, n_theta:],
        joint=joint,
        n_clusters=n_clusters,
        method=f"sandwich covariance of {n_clusters} clusters with leverage correction",
        influence=influence,
        bread=bread,
        parts=tuple(parts),
    )


def _bread(clusters: list[_Cluster], p: int) -> Floats:
    information = np.zeros((p, p))
    for columns, x, v, _ in clusters:
        information[np.ix_(columns, columns)] += x.T @ np.linalg.solve(v, x)
    return np.asarray(np.linalg.inv(information), dtype=np.float64)


def _whole_clusters(design: MixedDesign, theta: Floats, residual: Floats, codes: Ints) -> Iterator[_Cluster]:
    """Yield for every cluster its columns of X that are not 0, X, V / sigma^2 and the residuals.

    A cell of n rows is one row with weight sqrt(n): what lies within cells is orthogonal to X and Z. Where a cluster has
    more cells than X and Z have columns there, it is turned into their column space, outside of which V is diagonal.
    """
    root = np.sqrt(design.count)
    z = sparse.csr_array(random_columns(design).multiply(root[:, None]))
    residual = root * residual
    relative = [f @ f.T for f in design.factors(theta)]
    starts = np.cumsum([0] + [term.n_levels * term.n_columns for term in design.terms])
    order = np.argsort(codes, kind="stable")
    for cells in np.split(order, np.cumsum(np.bincount(codes))[:-1]):
        x = root[cells, None] * design.fixed.at(cells)
        columns = np.flatnonzero(np.any(x != 0.0, axis=0)).astype(np.int64)
        x, e = x[:, columns], residual[cells]
        pieces: list[Floats] = []
        halves: list[Floats] = []
        for t, term in enumerate(design.terms):
            levels = np.unique(term.level[cells])
            at = starts[t] + (levels[:, None] * term.n_columns + np.arange(term.n_columns)).ravel()
            piece = np.asarray(z[cells][:, at].toarray(), dtype=np.float64)
            pieces.append(piece)
            halves.append(piece @ np.kron(np.eye(len(levels)), relative[t]))
        zs, zt = np.column_stack(pieces), np.column_stack(halves)
        turned_is_cheaper = len(cells) > len(columns) + zs.shape[1]
        if turned_is_cheaper:
            basis = np.linalg.qr(np.column_stack([x, zs]))[0]
            x, zs, zt, e = basis.T @ x, basis.T @ zs, basis.T @ zt, basis.T @ e
        v = np.eye(len(x)) + zs @ zt.T
        yield columns, x, 0.5 * (v + v.T), e


def _adjusted(x: Floats, v: Floats, bread: Floats) -> Floats:
    """Return E = A V^-1 X with A = D' B^(-1/2) D, V = D'D and B = D (V - X M X') D'."""
    lower = linalg.cholesky(v, lower=True)
    b = lower.T @ (v - x @ bread @ x.T) @ lower
    values, vectors = np.linalg.eigh(0.5 * (b + b.T))
    kept = values > _NO_ROOT * values[-1]
    inside = vectors[:, kept].T @ linalg.solve_triangular(lower, x, lower=True)
    return np.asarray(lower @ (vectors[:, kept] / np.sqrt(values[kept])) @ inside, dtype=np.float64)


@record
class CellMeans:
    """Means of cells, what each cluster contributes to them, shape (n_clusters, n_cells), and their CR2 covariance."""

    mean: Floats
    influence: Floats = field(repr=False)
    covariance: Floats
    n_clusters: int
    _counts: Floats = field(repr=False)
    _enlarged: Floats = field(repr=False)
    _crossed: Floats = field(repr=False)

    def df(self, rows: Floats) -> Floats:
        """Satterthwaite's degrees of freedom of the t of contrasts of cells, shape (n_contrasts, n_cells)."""
        counts, total = self._counts, self._counts.sum(axis=0)
        square = (rows / total) ** 2
        spread = square @ (counts * self._enlarged**2).T
        moved = square @ (counts**2 * self._enlarged**2 / total).T
        # tr(P^2) of P = diag(spread) - moved moved'.
        whole = (square @ self._crossed * square).sum(axis=1)
        trace = (spread - moved).sum(axis=1)
        total = (spread**2).sum(axis=1) - 2 * (spread * moved).sum(axis=1) + whole
        # A cell that lies in one cluster has no spread to judge by: its pulls sum to 0.
        known = ~(rows[:, self._alone] != 0.0).any(axis=1) & (total > 0.0)
        return np.divide(trace**2, total, out=np.zeros(len(trace)), where=known)

    @property
    def _alone(self) -> NDArray[np.bool_]:
        """Which cells lie in one cluster."""
        return np.asarray((self._counts > 0.0).sum(axis=0) < 2)

    def robust(self) -> RobustCovariance | None:
        """Return the covariance with what a joint test of contrasts needs; None where a cell lies in one cluster."""
        if self._alone.any():
            return None
        parts: list[_ClusterPart] = []
        for counts, enlarged in zip(self._counts, self._enlarged, strict=True):
            columns = np.flatnonzero(counts)
            moved = (counts * enlarged)[columns]
            parts.append(_ClusterPart(columns, np.diag(moved), np.diag(moved * enlarged[columns])))
        return RobustCovariance(
            covariance=self.covariance,
            n_clusters=self.n_clusters,
            method=f"CR2 covariance of {self.n_clusters} clusters",
            influence=self.influence,
            bread=np.diag(1.0 / self._counts.sum(axis=0)),
            parts=tuple(parts),
        )


def cell_means(scores: Floats, cell: Ints, cluster: Ints) -> CellMeans:
    """Return means of cells with CR2 standard errors.

    With a fixed effect for every cell and no score missing, weighted and plain least squares agree: whatever random effects
    items have, the estimates are the plain means, and a share of successes is already averaged over the population of
    items. So no model needs to be fitted.

    `cell` and `cluster`, one for each score, are codes from 0 without gaps; clusters are independent. CannotAnswerError where
    there are fewer than 5. In a saturated design Bell and McCaffrey's adjustment is a factor for each cluster and cell.

    >>> found = cell_means(np.array([0.0, 1, 1, 1, 0, 1]), np.array([0, 0, 0, 1, 1, 1]), np.arange(6))
    >>> found.mean.round(3).tolist(), (np.diag(found.covariance) * 9).round(3).tolist()
    ([0.667, 0.667], [1.0, 1.0])
    >>> found.df(np.array([[-1.0, 1.0]])).round(6).tolist()
    [4.0]
    """
    n_clusters, n_cells = int(cluster.max()) + 1, int(cell.max()) + 1
    few = too_few_clusters(n_clusters)
    if few is not None:
        raise CannotAnswerError(few)
    place = cluster * n_cells + cell
    counts = np.bincount(place, minlength=n_clusters * n_cells).reshape(n_clusters, n_cells).astype(np.float64)
    total = counts.sum(axis=0)
    mean = np.bincount(cell, weights=scores, minlength=n_cells) / total
    pull = np.bincount(place, weights=scores - mean[cell], minlength=n_clusters * n_cells).reshape(n_clusters, n_cells)
    share = counts / total
    enlarged = 1.0 / np.sqrt(np.where(share > _LARGEST_SHARE, 1.0, 1.0 - share))
    influence = pull / total * enlarged
    crossed = counts * enlarged / np.sqrt(total)
    return CellMeans(
        mean=mean,
        influence=influence,
        covariance=influence.T @ influence,
        n_clusters=n_clusters,
        _counts=counts,
        _enlarged=enlarged,
        _crossed=(crossed.T @ crossed) ** 2,
    )
