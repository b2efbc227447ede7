"""Undeclared dependence: would the result change if the groups of some factor were a sample, that is, clusters?"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from evalstats.stats.checks import FloatArray, IntArray, as_codes, as_values, check_count, check_level, is_constant

_LARGE_EFFECT = 1.5
_TIE = 1e-9
_SMOOTH_TIE = 1e-6  # a tail probability magnifies the rounding of its argument


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependence:
    """Whether item differences hang together within the levels of one factor.

    Attributes
    ----------
    factor, n_levels
        Name of the factor and its number of levels.
    design_effect
        sum over levels of (sum of residuals)^2, over the sum of squared residuals: the factor by which the variance of
        the mean grows if the levels are a sample. Where the factor does not matter it is about 1 with many levels, and
        1 - sum(share^2) with few (.5 with two equal ones).
    band_low, band_high
        Range of design effects that chance gives at the level asked for, by permutation.
    p_value
        Share of permutations with so large a design effect.
    p_adjusted
        The same for the whole set of factors (Westfall-Young).
    flag
        "warn": p_adjusted at most 1 - conf_level and a design effect of at least 1.5; "note": p_value alone is that small;
        "none" otherwise.
    """

    factor: str
    n_levels: int
    design_effect: float
    band_low: float
    band_high: float
    p_value: float
    p_adjusted: float
    flag: Literal["warn", "note", "none"]


def undeclared_dependence(
    differences: ArrayLike,
    factors: Mapping[str, ArrayLike],
    *,
    seed: int = 0,
    n_permutations: int = 999,
    conf_level: float = 0.95,
) -> tuple[Dependence, ...]:
    """Look for factors whose levels would matter if they were a sample, without false alarms from looking at many.

    Parameters
    ----------
    differences
        float64 array, shape (n_items,): item differences or scores.
    factors
        Name of each factor and its integer codes, shape (n_items,). A null level is a level: code it as one.
    seed, n_permutations
        The residuals are permuted over items, the same way for all factors.

    Returns
    -------
    tuple of Dependence
        One for each factor with 2 to n/2 levels, in the order given; empty where the differences do not vary.

    Notes
    -----
    Raw p-values are permutation p-values of the design effect; adjusted ones are Westfall and Young's step-down minimum
    p over factors, each factor's p taken from a gamma law fitted to its permutations so that it is never stuck at
    1/(1 + n_permutations). Flagging every design effect above 1.5 raises a false alarm in more than half of all tables with ten
    unrelated factors; this rule in 4 to 7%.

    References
    ----------
    Westfall & Young 1993, Resampling-Based Multiple Testing.

    Examples
    --------
    >>> d = np.repeat([0.5, -0.5, 0.5, -0.5, 0.5, -0.5], 5)
    >>> (found,) = undeclared_dependence(d, {"passage": np.repeat(np.arange(6), 5)})
    >>> found.design_effect, found.flag
    (5.0, 'warn')
    """
    d = as_values(differences, "differences")
    draws = check_count(n_permutations, "n_permutations", least=1)
    level = check_level(conf_level)
    coded = {name: as_codes(codes, d.size, f"codes of {name!r}") for name, codes in factors.items()}
    kept = {name: column for name, column in coded.items() if 2 <= column[1] <= d.size / 2}
    if not kept or is_constant(d):
        return ()
    residuals = d - d.mean()
    effects = _permuted_effects(residuals, list(kept.values()), np.random.default_rng(seed), draws)
    raw = np.mean(effects >= effects[0] * (1.0 - _TIE), axis=0)
    adjusted = _step_down(_smooth_p(effects))
    tail = (1.0 - level) / 2.0
    band = np.quantile(effects[1:], [tail, 1.0 - tail], axis=0)
    return tuple(
        Dependence(
            factor=name,
            n_levels=n_levels,
            design_effect=float(effects[0, j]),
            band_low=float(band[0, j]),
            band_high=float(band[1, j]),
            p_value=float(raw[j]),
            p_adjusted=float(adjusted[j]),
            flag=_flag(float(effects[0, j]), float(raw[j]), float(adjusted[j]), 1.0 - level),
        )
        for j, (name, (_, n_levels)) in enumerate(kept.items())
    )


def _permuted_effects(
    residuals: FloatArray, columns: list[tuple[IntArray, int]], rng: np.random.Generator, draws: int
) -> FloatArray:
    """Return design effects, shape (1 + draws, n_factors); row 0 is the observed one."""
    starts = np.cumsum([0, *(n_levels for _, n_levels in columns)])
    # One bincount serves all factors: their levels are numbered through.
    levels = np.concatenate([codes + start for (codes, _), start in zip(columns, starts[:-1], strict=True)])
    effects = np.empty((1 + draws, len(columns)))
    total = float(np.square(residuals).sum())
    permuted = residuals.copy()
    for draw in range(1 + draws):
        sums = np.bincount(levels, weights=np.tile(permuted, len(columns)), minlength=int(starts[-1]))
        effects[draw] = np.add.reduceat(np.square(sums), starts[:-1]) / total
        rng.shuffle(permuted)
    return effects


def _smooth_p(effects: FloatArray) -> FloatArray:
    """Return the upper tail of each design effect under a gamma law with the permutations' mean and variance.

    It puts factors with few and with many levels on one footing. Ranks would do so too, but with F factors and B draws
    no adjusted p could fall below about F/B: with fifty factors nothing would ever be reported.
    """
    mean, variance = effects.mean(axis=0), effects.var(axis=0)
    varies = variance > 0.0
    shape = np.where(varies, mean**2 / np.where(varies, variance, 1.0), 1.0)
    return np.where(varies, special.gammaincc(shape, shape * effects / mean), 1.0)


def _step_down(p: FloatArray) -> FloatArray:
    """Return Westfall and Young's step-down adjusted p of row 0: how often the least p of the rest is as small."""
    order = np.argsort(p[0], kind="stable")
    least_of_rest = np.minimum.accumulate(p[:, order[::-1]], axis=1)[:, ::-1]
    reached = least_of_rest <= p[0, order] * (1.0 + _SMOOTH_TIE)
    adjusted = np.empty(order.size)
    adjusted[order] = np.maximum.accumulate(reached.mean(axis=0))
    return adjusted


def _flag(effect: float, p: float, p_adjusted: float, alpha: float) -> Literal["warn", "note", "none"]:
    allowed = alpha * (1.0 + _TIE)
    if p_adjusted <= allowed and effect >= _LARGE_EFFECT:
        return "warn"
    return "note" if p <= allowed else "none"
