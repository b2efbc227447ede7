"""Law of all contrasts of strengths together under sign flips of whole clusters."""

import numpy as np

from evalstats.stats.arena.fit import PairFit
from evalstats.stats.arena.jackknife import bread_root, information_roots
from evalstats.stats.arena.scores import cluster_parts, score_sums
from evalstats.stats.arena.votes import VoteRows
from evalstats.stats.checks import FloatArray, IntArray
from evalstats.stats.computation import one_thread
from evalstats.stats.many.max_t import Draws, ReferenceLaw
from evalstats.stats.many.reference_laws import LISTED, sign_patterns

_HELD = 4_000_000
_MOST_STATISTICS = 6.0e7  # patterns times contrasts listed at most
_ALL = 1.0 - 1e-6  # share of a contrast's information in one cluster, from which no other could contradict it
_FLAT = 1e-12


@one_thread
def flipped_contrasts(
    fit: PairFit,
    rows: VoteRows,
    codes: IntArray,
    first: IntArray,
    second: IntArray,
    *,
    std_error: FloatArray,
    seed: int,
    n_resamples: int,
    most_listed: int = LISTED,
) -> ReferenceLaw:
    """Law of the studentised contrasts strength[first] - strength[second] if none differed.

    Parameters
    ----------
    codes
        Cluster of each row, shape (n_rows,).
    std_error
        Shape (n_contrasts,): what the observed contrasts are divided by where it is larger than the clusters' own standard
        error, so that other ways of clustering count too.

    Notes
    -----
    Of a contrast with estimate d, cluster g holds the share h_g of the information and adds D_g = c'B S_g + h_g d, with S_g
    its score and B the bread: c'B S_g + h_g d is what it would add at the best fit with no difference. The D_g sum to d as
    cluster sums do to n times a mean, and with no difference each is as likely with either sign. A draw of signs s gives
    m = sum(s_g D_g) over the root of sum((s_g D_g - h_g m)^2 / (1 - h_g)).

    A contrast of which one cluster holds all information has a statistic of 0: it is not claimed.
    """
    parts, shares, inside = _contributions(fit, rows, codes, first, second)
    own = np.where(shares.max(axis=0) < _ALL, 1.0, 0.0)
    weight = 1.0 / np.maximum(1.0 - shares, 1.0 - _ALL)
    squares, sizes, lifted = (parts**2 * weight).sum(axis=0), (shares**2 * weight).sum(axis=0), parts * shares * weight

    def spread(mean: FloatArray, lift: FloatArray) -> FloatArray:
        return np.maximum(squares - mean * (2.0 * lift - mean * sizes), _FLAT * squares + 1e-300)

    def statistics(signs: FloatArray) -> FloatArray:
        mean = signs @ parts
        return own * mean / np.sqrt(spread(mean, signs @ lifted))

    estimate = inside[first] - inside[second]
    by_clusters = np.sqrt(spread(estimate, lifted.sum(axis=0)))
    observed = own * estimate / np.maximum(by_clusters, std_error)
    listed = int(min(most_listed, _MOST_STATISTICS / first.size))
    patterns = sign_patterns(
        np.ones(len(parts), dtype=np.int64), seed=seed, n_resamples=n_resamples, most_listed=listed
    )

    def chunks() -> Draws:
        if not patterns.exact:
            yield observed[np.newaxis], np.ones(1)
        for signs, each in patterns.chunks(max(1, _HELD // max(first.size, parts.shape[0]))):
            yield statistics(np.asarray(signs, dtype=np.float64)), each

    return ReferenceLaw(
        observed=observed,
        chunks=chunks,
        exact=patterns.exact,
        n_resamples=None if patterns.exact else n_resamples,
        seed=None if patterns.exact else seed,
    )


def _contributions(
    fit: PairFit, rows: VoteRows, codes: IntArray, first: IntArray, second: IntArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return D and h of every cluster and contrast, shape (n_clusters, n_contrasts), and the strengths."""
    root, n = bread_root(fit.bread), fit.n_models
    pulls: list[FloatArray] = []
    shares: list[FloatArray] = []
    each = max(1.0, rows.n_rows / max(1, np.unique(codes).size))
    for part, local in cluster_parts(rows, codes, max(1, int(_HELD / (fit.n_parameters * each)))):
        pull = score_sums(fit, part, local) @ fit.bread[:, :n]
        pulls.append(pull[:, first] - pull[:, second])
        through = information_roots(fit, part, root) @ root[:, :n]
        starts = np.concatenate([[0], np.cumsum(np.bincount(local))])
        for g in range(starts.size - 1):
            own = through[starts[g] : starts[g + 1]].reshape(-1, n)
            shares.append(_contrasts_of(own.T @ own, first, second))
    share = np.stack(shares)
    share /= share.sum(axis=0)
    pull = np.concatenate(pulls)
    estimate = fit.strengths[first] - fit.strengths[second]
    # A prior holds information too, which belongs to no cluster; without one the pulls sum to 0.
    return pull + share * (estimate - pull.sum(axis=0)), share, fit.strengths


def _contrasts_of(matrix: FloatArray, first: IntArray, second: IntArray) -> FloatArray:
    own = np.diagonal(matrix)
    return own[first] + own[second] - 2.0 * matrix[first, second]
