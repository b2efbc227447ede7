"""Tests that a variance is 0, where the ordinary chi-squared law does not hold."""

import numpy as np

from evalstats.errors import InputError
from evalstats.stats.checks import check_count
from evalstats.stats.mixed.design import Floats, MixedDesign
from evalstats.stats.mixed.fit import MixedFit
from evalstats.stats.mixed.likelihood_ratio import LikelihoodRatio, check_nested, mixture_p, ratio_statistic
from evalstats.stats.mixed.marginal import random_columns

_GRID = 200  # values of the variance ratio among which each simulated maximum is sought, as in RLRsim
_CHUNK = 20_000
_ROUNDING = 1e-6  # maxima of two fits that are one and the same differ by less


def variance_ratio(null: MixedFit, alternative: MixedFit) -> LikelihoodRatio:
    """Test one more random effect by the likelihood ratio and its mixture of chi-squared laws.

    Under the null one variance lies on the edge, and the statistic is 0 about half the time: half chi-squared with 0 and
    half with 1 df for a new intercept; with q new covariances besides, half with q and half with q + 1. The law holds for
    many levels; with few, the statistic is 0 more often than that and the test is cautious (see `restricted_ratio`).

    Parameters
    ----------
    null, alternative
        Fits by the same method, REML or ML, with the same fixed effects; `alternative` has one more random effect: a new
        term of one column, or one more column in a term.

    References
    ----------
    Self & Liang 1987, doi:10.2307/2289471; Stram & Lee 1994, doi:10.2307/2533455.
    """
    check_nested(null, alternative)
    if len(null.beta) != len(alternative.beta):
        raise InputError("the two models have different fixed effects; keep them equal when a variance is tested")
    covariances = _new_covariances(null.design, alternative.design)
    law = ((0.5, covariances), (0.5, covariances + 1))
    statistic = ratio_statistic(null, alternative)
    statistic = 0.0 if statistic < _ROUNDING else statistic
    return LikelihoodRatio(
        statistic=statistic,
        df=law,
        p_value=mixture_p(statistic, law),
        method=f"likelihood ratio, half chi-squared with {covariances} and half with {covariances + 1} df",
        notes=("the variance is estimated as 0",) if statistic == 0.0 else (),
    )


def restricted_ratio(fit: MixedFit, *, n_resamples: int = 10_000, seed: int = 0) -> LikelihoodRatio:
    """Test the only variance of a linear model by the exact law of the restricted likelihood ratio, simulated.

    Under the null the statistic depends on eigenvalues of the design alone, so its law is drawn without fitting anything.

    Parameters
    ----------
    fit
        A linear model fitted by REML with one random term of one column.

    References
    ----------
    Crainiceanu & Ruppert 2004, doi:10.1111/j.1467-9868.2004.00438.x, equation 9.
    """
    draws = check_count(n_resamples, "n_resamples", least=1)
    if (
        fit.family != "gaussian"
        or fit.method != "REML"
        or len(fit.design.terms) != 1
        or fit.design.terms[0].n_columns != 1
    ):
        raise InputError("the exact restricted test needs a linear model fitted by REML with one random effect")
    statistic = max(_null_criterion(fit) - fit.deviance, 0.0)
    drawn = restricted_ratio_draws(fit.design, draws, seed=seed)
    hits = int(np.count_nonzero(drawn >= statistic * (1.0 - 1e-9)))
    return LikelihoodRatio(
        statistic=statistic,
        df=(),
        p_value=1.0 if statistic <= 0.0 else (1 + hits) / (1 + draws),
        method=f"restricted likelihood ratio, exact law by {draws:,} draws",
        notes=("the variance is estimated as 0",) if statistic <= 0.0 else (),
    )


def restricted_ratio_draws(design: MixedDesign, n_draws: int, *, seed: int) -> Floats:
    """Draw the restricted likelihood ratio statistic of one variance under the null, shape (n_draws,).

    RLRT = sup over lambda of (n - p) log(1 + N / D) - sum of log(1 + lambda mu), where mu are the eigenvalues of
    Z' (I - H) Z, N = sum of lambda mu w^2 / (1 + lambda mu), and D = sum of w^2 / (1 + lambda mu) + chi-squared of
    n - p - K; w are standard normal.
    """
    mu = _eigenvalues(design)
    free = design.n_rows - design.fixed.shape[1]
    lambdas = np.concatenate([[0.0], np.exp(np.linspace(-12.0, 12.0, _GRID - 1))]) / max(float(mu.mean()), 1e-300)
    shrunk = 1.0 / (1.0 + np.outer(lambdas, mu))
    log_det = -np.log(shrunk).sum(axis=1)
    rng = np.random.default_rng(seed)
    out: list[Floats] = []
    for start in range(0, n_draws, _CHUNK):
        size = min(_CHUNK, n_draws - start)
        squares = rng.standard_normal((size, len(mu))) ** 2
        rest = rng.chisquare(free - len(mu), size) if free > len(mu) else np.zeros(size)
        below = squares @ shrunk.T + rest[:, None]
        above = squares @ (1.0 - shrunk).T
        out.append((free * np.log1p(above / below) - log_det).max(axis=1))
    return np.maximum(np.concatenate(out), 0.0)


def _eigenvalues(design: MixedDesign) -> Floats:
    """Positive eigenvalues of Z' N (I - H) Z over rows, from cells."""
    z = random_columns(design).toarray()
    weighted = design.count[:, None] * design.fixed
    crossed = z.T @ weighted
    inside = z.T @ (design.count[:, None] * z) - crossed @ np.linalg.solve(design.fixed.T @ weighted, crossed.T)
    values = np.linalg.eigvalsh(0.5 * (inside + inside.T))
    return np.asarray(values[values > 1e-9 * values[-1]], dtype=np.float64)


def _null_criterion(fit: MixedFit) -> float:
    """REML deviance of the model without its random term: a plain regression."""
    design = fit.design
    y = design.response if design.offset is None else design.response - design.offset
    weighted = design.count[:, None] * design.fixed
    information = design.fixed.T @ weighted
    residual = y - design.fixed @ np.linalg.solve(information, weighted.T @ y)
    free = design.n_rows - design.fixed.shape[1]
    squares = float(design.count @ residual**2) + design.within
    return free * (1.0 + np.log(2.0 * np.pi * squares / free)) + float(np.linalg.slogdet(information)[1])


def _new_covariances(null: MixedDesign, alternative: MixedDesign) -> int:
    """Return how many covariances the one new random effect brings, or raise InputError."""
    old, new = _by_group(null), _by_group(alternative)
    grown: list[int] = []
    for group, sizes in new.items():
        before = old.pop(group, [])
        for size in list(sizes):
            if size in before:
                before.remove(size)
                sizes.remove(size)
        if sizes or before:
            grown.append(_growth(sizes, before, group))
    if old or len(grown) != 1:
        raise InputError(
            "the larger model does not have exactly one more random effect than the smaller; test one at a time, or take "
            "the parametric bootstrap"
        )
    return grown[0]


def _growth(sizes: list[int], before: list[int], group: str) -> int:
    if len(sizes) == 1 and not before and sizes[0] == 1:
        return 0
    if len(sizes) == 1 and len(before) == 1 and sizes[0] == before[0] + 1:
        return before[0]
    raise InputError(
        f"the random effects by {group} differ by more than one variance with its covariances; test one at a time, or take "
        "the parametric bootstrap"
    )


def _by_group(design: MixedDesign) -> dict[str, list[int]]:
    out: dict[str, list[int]] = {}
    for term in design.terms:
        out.setdefault(term.group, []).append(term.n_columns)
    return out
