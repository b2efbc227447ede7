"""What leaving out one cluster after another does to a fit, in one Newton step each."""

import numpy as np

from evalstats.stats.arena.cells import split_votes
from evalstats.stats.arena.fit import PairFit
from evalstats.stats.arena.scores import cluster_parts, score_sums
from evalstats.stats.arena.ties import derivatives
from evalstats.stats.arena.votes import VoteRows
from evalstats.stats.checks import FloatArray, IntArray
from evalstats.stats.computation import one_thread

_HELD = 4_000_000
_LIGHT = 0.01  # below this leverage a cluster's own information changes its step by less than one part in 100
_ALL = 1e-9  # information that would be left in a direction, relative, below which the cluster holds all of it


@one_thread
def jackknifed(fit: PairFit, rows: VoteRows, codes: IntArray) -> tuple[FloatArray, int]:
    """Return the sum over clusters of D_g D_g', with D_g the change of the parameters when cluster g is put back.

    D_g = (H - H_g)^- S_g is one Newton step from the fit of all votes to that without cluster g (up to the sign), with H the
    information, H_g the part of cluster g and S_g its score. (G-1)/G times the sum is the cluster jackknife, which unlike
    the plain sandwich does not take a large cluster's residuals for smaller than they are.

    Returns
    -------
    tuple
        The sum, float64, shape (n_parameters, n_parameters); and how many clusters hold all that is known of some model or
        coefficient: leaving them out is not possible, and in that direction they add nothing.

    Notes
    -----
    With B = R'R the inverse of H and A'A = H_g, the singular values s of A R' are the cluster's leverages, and
    D_g = R' (I + V diag(s^2 / (1 - s^2)) V') R S_g. Clusters whose leverages add up to less than 0.01 are taken without
    their own part.

    References
    ----------
    Bell & McCaffrey 2002, Survey Methodology 28:169; MacKinnon, Nielsen & Webb 2023, doi:10.1016/j.jeconom.2022.04.001.
    """
    root = bread_root(fit.bread)
    total, n_whole = np.zeros((root.shape[0], root.shape[0])), 0
    each = max(1.0, rows.n_rows / max(1, np.unique(codes).size))
    for part, local in cluster_parts(rows, codes, max(1, int(_HELD / (fit.n_parameters * each)))):
        steps = score_sums(fit, part, local) @ root.T
        # Where a cluster starts among the rows, which are sorted by cluster.
        starts = np.concatenate([[0], np.cumsum(np.bincount(local))])
        leverage = information_roots(fit, part, root)
        traces = np.bincount(np.repeat(local, leverage.shape[1]), weights=np.square(leverage).sum(axis=2).ravel())
        for g in np.flatnonzero(traces >= _LIGHT).tolist():
            own = leverage[starts[g] : starts[g + 1]].reshape(-1, root.shape[0])
            _, size, turn = np.linalg.svd(own, full_matrices=False)
            left = 1.0 - np.square(size)
            whole = left <= _ALL
            n_whole += bool(whole.any())
            along = turn @ steps[g]
            steps[g] += turn.T @ (along * np.where(whole, -1.0, np.square(size) / np.where(whole, 1.0, left)))
        total += steps.T @ steps
    return root.T @ total @ root, n_whole


def information_roots(fit: PairFit, rows: VoteRows, root: FloatArray) -> FloatArray:
    """Return a with a'a = R J R' for the information J of each row, shape (n_rows, 1 or 2, number of rows of `root`).

    The second of two is there where ties have a parameter.
    """
    n, k = fit.n_models, fit.coefficients.size
    eta = fit.strengths[rows.first] - fit.strengths[rows.second] + rows.covariates @ fit.coefficients
    tau = 0.0 if fit.tie is None else float(np.log(fit.tie))
    at = derivatives(fit.ties, eta, tau, split_votes(rows.share, rows.weight, fit.ties))
    by_row = root.T
    by_eta = by_row[rows.first] - by_row[rows.second] + rows.covariates @ by_row[n : n + k]
    size = np.sqrt(at.curve)[:, np.newaxis]
    if fit.tie is None:
        return (size * by_eta)[:, np.newaxis]
    # Cholesky of the 2 x 2 curvature; rounding may leave a hair below 0 of a tie parameter's own information.
    slant = (at.cross / np.sqrt(at.curve))[:, np.newaxis]
    rest = np.sqrt(np.maximum(at.tie_curve[:, np.newaxis] - slant**2, 0.0))
    return np.stack([size * by_eta + slant * by_row[-1], rest * by_row[-1]], axis=1)


def bread_root(bread: FloatArray) -> FloatArray:
    """Return R with R'R = bread and as many rows as the bread has directions."""
    values, vectors = np.linalg.eigh(bread)
    kept = values > values[-1] * 1e-13
    return np.sqrt(values[kept])[:, np.newaxis] * vectors[:, kept].T
