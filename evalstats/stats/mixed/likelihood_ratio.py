"""Likelihood ratio tests of nested mixed models, and tests that a variance is 0."""

from dataclasses import dataclass

import numpy as np
from scipy import special

from evalstats.errors import CannotAnswerError, InputError
from evalstats.stats.estimate import positive_p
from evalstats.stats.mixed.design import Floats, MixedDesign, MixedFit

_SAME = 1e-8  # relative: data that differ by rounding are the same
# A larger model whose criterion is lower by more than this was not maximised.
_SLACK = 1e-4
_ROUNDING = 1e-6  # maxima of two fits that are one and the same differ by less


@dataclass(frozen=True, slots=True, kw_only=True)
class LikelihoodRatio:
    """Twice the difference of two maximised log-likelihoods, and its p-value.

    Attributes
    ----------
    statistic
        0 or more.
    df
        Degrees of freedom of the parts of the reference law, with their weights: ((1.0, 3),) is chi-squared with 3;
        ((0.5, 0), (0.5, 1)) the mixture for one variance.
    p_value
        Never 0.
    method
        In words.
    notes
        What a reader must know, in words.
    """

    statistic: float
    df: tuple[tuple[float, int], ...]
    p_value: float
    method: str
    notes: tuple[str, ...] = ()


def likelihood_ratio(null: MixedFit, alternative: MixedFit) -> LikelihoodRatio:
    """Test fixed effects by the likelihood ratio: chi-squared with as many df as fixed effects are left out.

    It needs many units: with few, its false alarms exceed the level; take `kenward_roger` or `parametric_bootstrap`.

    Parameters
    ----------
    null, alternative
        Fits by ML, Laplace or quadrature to the same responses, with the same random terms; the fixed effects of `null`
        are combinations of those of `alternative`.

    Raises
    ------
    InputError
        If the fits are not comparable: REML criteria of models with different fixed effects measure different things.

    References
    ----------
    Pinheiro & Bates 2000, Mixed-Effects Models in S and S-PLUS, section 2.4.2.
    """
    check_nested(null, alternative)
    if random_structure(null.design) != random_structure(alternative.design):
        raise InputError(
            "the two models have different random terms; test those with variance_ratio or a parametric bootstrap"
        )
    if alternative.method == "REML":
        raise InputError(
            "the models are fitted by REML, whose criteria cannot be compared between different fixed effects; fit both by ML"
        )
    df = len(alternative.beta) - len(null.beta)
    if df == 0:
        raise InputError("the two models have the same fixed effects; there is nothing to test")
    statistic = ratio_statistic(null, alternative)
    return LikelihoodRatio(
        statistic=statistic,
        df=((1.0, df),),
        p_value=mixture_p(statistic, ((1.0, df),)),
        method=f"likelihood ratio, chi-squared with {df} df",
    )


def mixture_p(statistic: float, df: tuple[tuple[float, int], ...]) -> float:
    """P(T >= statistic) for a mixture of chi-squared laws, of which that with 0 df is the point 0; never 0.

    Examples
    --------
    >>> round(mixture_p(2.705543, ((0.5, 0), (0.5, 1))), 6)
    0.05
    >>> mixture_p(0.0, ((0.5, 0), (0.5, 1)))
    1.0
    """
    if statistic <= 0.0:
        return 1.0
    return positive_p(sum(weight * float(special.chdtrc(k, statistic)) for weight, k in df if k > 0))


def ratio_statistic(null: MixedFit, alternative: MixedFit) -> float:
    """Twice the log-likelihood ratio, 0 where the larger model is lower by rounding alone."""
    difference = 2.0 * (alternative.log_likelihood - null.log_likelihood)
    if not np.isfinite(difference):
        raise CannotAnswerError("one of the two models has no finite likelihood, so they cannot be compared")
    if difference < -_SLACK * max(1.0, 1e-6 * abs(null.log_likelihood)):
        raise CannotAnswerError(
            f"the larger model has the smaller likelihood (by {-difference / 2:.3g}), so it was not fitted to its maximum "
            "or does not contain the smaller one; refit it"
        )
    return max(difference, 0.0)


def check_nested(null: MixedFit, alternative: MixedFit) -> None:
    """Raise InputError unless both are fits of one kind to the same data, the fixed part of one within that of the other."""
    if (null.family, null.method, null.n_quadrature) != (
        alternative.family,
        alternative.method,
        alternative.n_quadrature,
    ):
        raise InputError(
            f"one model is {null.family} by {null.method}, the other {alternative.family} by {alternative.method}; fit both "
            "in the same way"
        )
    if null.penalty or alternative.penalty:
        raise InputError(
            "a prior answered separation in one of the models, so their criteria are no likelihoods to compare; take the "
            "intervals of the contrasts instead"
        )
    for found, wanted in zip(_totals(null), _totals(alternative), strict=True):
        if not np.isclose(found, wanted, rtol=_SAME, atol=_SAME):
            raise InputError("the two models are fitted to different responses; fit both to the same rows")
    if _same_cells(null.design, alternative.design):
        x, inner = alternative.design.fixed, null.design.fixed
        if np.array_equal(x, inner):
            return
        left = inner - x @ np.linalg.lstsq(x, inner, rcond=None)[0]
        if float(np.abs(left).max(initial=0.0)) > 1e-7 * float(np.abs(inner).max(initial=1.0)):
            raise InputError("the fixed effects of the smaller model are not all within the larger; give nested models")
    elif not set(null.design.fixed_names) <= set(alternative.design.fixed_names):
        raise InputError("the smaller model has fixed effects that the larger has not; give nested models")


def random_structure(design: MixedDesign) -> frozenset[tuple[str, tuple[str, ...]]]:
    """Return the random terms by the names of their grouping and effects."""
    return frozenset((term.group, term.columns) for term in design.terms)


def _totals(fit: MixedFit) -> tuple[float, float, float]:
    """Rows, sum, and sum of squares, none of which depends on how rows were merged to cells."""
    design = fit.design
    weighted: Floats = design.count * design.response
    if fit.family == "binomial":
        return float(design.count.sum()), float(weighted.sum()), design.log_constant
    return float(design.count.sum()), float(weighted.sum()), float(weighted @ design.response) + design.within


def _same_cells(first: MixedDesign, second: MixedDesign) -> bool:
    return first.n_cells == second.n_cells and np.array_equal(first.response, second.response)


def variance_ratio(null: MixedFit, alternative: MixedFit) -> LikelihoodRatio:
    """Test one more random effect by the likelihood ratio and its mixture of chi-squared laws.

    Under the null one variance lies on the edge, and the statistic is 0 about half the time: half chi-squared with 0 and
    half with 1 df for a new intercept; with q new covariances besides, half with q and half with q + 1. The law holds for
    many levels; with few, the statistic is 0 more often than that and the test is cautious.

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
