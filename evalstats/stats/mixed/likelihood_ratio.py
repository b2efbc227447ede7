"""Likelihood ratio of two nested mixed models: tests of fixed effects, and of variances on the edge of what is possible."""

from dataclasses import dataclass

import numpy as np
from scipy import special

from evalstats.errors import CannotAnswerError, InputError
from evalstats.stats.mixed.design import Floats, MixedDesign
from evalstats.stats.mixed.fit import MixedFit
from evalstats.stats.tails import positive_p

_SAME = 1e-8  # relative: data that differ by rounding are the same
# A larger model whose criterion is lower by more than this was not maximised.
_SLACK = 1e-4


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
