"""Covariance parameters on the boundary: variances of 0, correlations of 1, said in words."""

import numpy as np

from evalstats.stats.mixed.design import Floats, MixedDesign, RandomTerm
from evalstats.stats.mixed.linear_criterion import LinearCriterion

_NEAR = 1e-3  # eigenvalues below this share of the information of one level are tried as 0
_RELATIVE = 1e-4  # and below this share of the largest eigenvalue of the term
_SAME = 1e-7  # difference of deviances that is rounding


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
            columns, rows = np.triu_indices(term.n_columns)
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
        columns, rows = np.triu_indices(term.n_columns)
        signs = np.where(np.diag(factor) < 0.0, -1.0, 1.0)
        out.append((factor * signs)[rows, columns] + 0.0)
    return np.concatenate(out)


def semidefinite_factor(covariance: Floats) -> Floats:
    """Lower-triangular factor with non-negative diagonal of a covariance matrix that may be singular.

    Examples
    --------
    >>> semidefinite_factor(np.array([[0.0, 0.0], [0.0, 4.0]])).tolist()
    [[0.0, 0.0], [0.0, 2.0]]
    """
    left = np.array(covariance, dtype=np.float64)
    out = np.zeros_like(left)
    for j in range(len(left)):
        if left[j, j] > 1e-12 * covariance[j, j]:
            out[j:, j] = left[j:, j] / np.sqrt(left[j, j])
            left = left - np.outer(out[:, j], out[:, j])
    return out


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
    return semidefinite_factor((kept * values[large]) @ kept.T), rank


def _words(term: RandomTerm, factor: Floats, rank: int) -> list[str]:
    variances = np.sum(factor**2, axis=1)
    zero = variances <= 1e-12 * max(1.0, float(variances.max()))
    named = term.columns != ("(Intercept)",)
    out = [
        f"the variance of {name} by {term.group} is estimated as 0"
        if named
        else f"the variance of {term.group} is estimated as 0"
        for name, none in zip(term.columns, zero, strict=True)
        if none
    ]
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
