"""Does a difference change its sign between strata? The test of Gail and Simon for qualitative interaction."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from evalstats.errors import InputError
from evalstats.stats.checks import FloatArray, check_count
from evalstats.stats.tails import positive_p

_INDEPENDENT = 1e-6  # correlations below this are rounding
_SWEEPS, _SETTLED = 400, 1e-10


@dataclass(frozen=True, slots=True, kw_only=True)
class QualitativeInteraction:
    """Test of "the difference never changes its sign".

    Attributes
    ----------
    q_positive, q_negative
        Squared distance of the differences, in standard errors, from "none is below 0" and from "none is above 0".
    statistic
        The smaller of the two.
    p_value
        Never 0.
    p_error
        Standard error of p from the draws behind its weights; 0 where they are exact.
    """

    q_positive: float
    q_negative: float
    statistic: float
    p_value: float
    method: str
    p_error: float = 0.0
    n_draws: int | None = None
    seed: int | None = None


def gail_simon(
    differences: ArrayLike, covariance: ArrayLike, *, n_draws: int = 4_000, seed: int = 0
) -> QualitativeInteraction:
    """Test whether a difference is above 0 in some strata and below 0 in others, by likelihood ratio.

    A difference that is large in one stratum and small in another does not count: only its sign does.

    Parameters
    ----------
    differences
        float64, shape (n_strata,), n_strata at least 2; approximately normal.
    covariance
        Their covariance, shape (n_strata, n_strata), of full rank.
    n_draws, seed
        Of the weights of the law, where the differences are correlated.

    Notes
    -----
    Q+ is the squared distance (in the metric of the covariance) from the nearest differences that are all >= 0, Q- from
    those <= 0, and the test rejects for a large min(Q+, Q-). Independent differences: Q+ = sum (d/se)^2 over d < 0, and the
    law is that of Gail and Simon, chi-squared with h degrees of freedom with binomial(S - 1, 1/2) weights. Correlated ones:
    p = sup over "all >= 0" of P(Q+ >= q), which lies at 0 and is chi-bar-squared with weights for S strata, found by draws; a
    bound on the p sought, so the test is conservative.

    References
    ----------
    Gail & Simon 1985, doi:10.2307/2530862; Silvapulle & Sen 2005, Constrained Statistical Inference, ch. 3.

    Examples
    --------
    >>> se = np.array([0.0788, 0.0689, 0.0614, 0.0547])
    >>> found = gail_simon([0.163, -0.114, -0.047, -0.151], np.diag(se**2))
    >>> round(found.statistic, 3), round(found.p_value, 4)
    (4.279, 0.0877)
    """
    d, v = np.asarray(differences, dtype=np.float64), np.asarray(covariance, dtype=np.float64)
    if d.ndim != 1 or d.size < 2 or v.shape != (d.size, d.size) or not (np.isfinite(d).all() and np.isfinite(v).all()):
        raise InputError(
            f"differences have shape {d.shape} and covariance {v.shape}; give at least 2, and their covariance"
        )
    se = np.sqrt(np.maximum(np.diagonal(v), 0.0))
    if not (se > 0.0).all():
        raise InputError("a difference has a standard error of 0; leave out strata where it is not estimated")
    z, correlation = d / se, np.asarray(v / np.outer(se, se), dtype=np.float64)
    off = correlation - np.diag(np.diagonal(correlation))
    if float(np.abs(off).max()) < _INDEPENDENT:
        positive, negative = float(np.square(z[z < 0.0]).sum()), float(np.square(z[z > 0.0]).sum())
        q = min(positive, negative)
        h = np.arange(1, z.size)
        weights = special.binom(z.size - 1, h) * 0.5 ** (z.size - 1)
        p = float(weights @ special.gammaincc(0.5 * h, 0.5 * q)) if q > 0.0 else 1.0
        return QualitativeInteraction(
            q_positive=positive,
            q_negative=negative,
            statistic=q,
            p_value=positive_p(p),
            method="Gail-Simon test, independent strata",
        )
    if float(np.linalg.eigvalsh(correlation)[0]) < 1e-8:
        raise InputError("the covariance of the differences is singular; leave out strata that follow from the others")
    precision = np.asarray(np.linalg.inv(correlation), dtype=np.float64)
    positive, _ = _distances(z[np.newaxis], precision)
    negative, _ = _distances(-z[np.newaxis], precision)
    q = min(float(positive[0]), float(negative[0]))
    draws = check_count(n_draws, "n_draws", least=100)
    p, error = _chi_bar(q, correlation, precision, draws, seed)
    return QualitativeInteraction(
        q_positive=float(positive[0]),
        q_negative=float(negative[0]),
        statistic=q,
        p_value=positive_p(p),
        method="Gail-Simon statistic, correlated strata, conservative law",
        p_error=error,
        n_draws=draws,
        seed=seed,
    )


def _chi_bar(q: float, correlation: FloatArray, precision: FloatArray, n_draws: int, seed: int) -> tuple[float, float]:
    """Return P(Q+ >= q) where all differences are 0, and its error: draws give weights only, the tails are exact."""
    if q <= 1e-12:
        return 1.0, 0.0
    draws = np.random.default_rng(seed).standard_normal((n_draws, len(correlation)))
    _, n_held = _distances(draws @ np.linalg.cholesky(correlation).T, precision)
    tail = np.concatenate([[0.0], special.gammaincc(0.5 * np.arange(1, len(correlation) + 1), 0.5 * q)])
    each = tail[n_held]
    return float(each.mean()), float(each.std(ddof=1)) / np.sqrt(n_draws)


def _distances(z: FloatArray, precision: FloatArray) -> tuple[FloatArray, np.ndarray]:
    """Return squared distances of rows of z from the orthant x >= 0, and how many x are held at 0 in each.

    min (x - z)' P (x - z) over x >= 0, all rows at once, coordinate by coordinate until nothing moves.
    """
    x = np.maximum(z, 0.0)
    scale = np.diagonal(precision)
    for _ in range(_SWEEPS):
        moved = 0.0
        for j in range(z.shape[1]):
            slope = (x - z) @ precision[:, j]
            new = np.maximum(x[:, j] - slope / scale[j], 0.0)
            moved = max(moved, float(np.abs(new - x[:, j]).max()))
            x[:, j] = new
        if moved < _SETTLED:
            break
    rest = x - z
    return np.square(rest @ np.linalg.cholesky(precision)).sum(axis=1), (x <= 0.0).sum(axis=1)
