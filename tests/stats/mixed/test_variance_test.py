"""Tests of a variance: mixtures of chi-squared laws, and what is refused."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from evalstats.errors import InputError
from evalstats.stats.mixed.distinct_rows import distinct_rows
from evalstats.stats.mixed.likelihood_ratio import variance_ratio
from evalstats.stats.mixed.linear import fit_linear
from tests.stats.mixed.dense import golden_cases, golden_design


@pytest.fixture(scope="module")
def cases():
    return golden_cases()


def test_mixture_of_one_variance(cases):
    design = golden_design("pastes", cases["pastes"])
    larger = fit_linear(design)
    smaller = fit_linear(replace(design, terms=design.terms[:1]))
    found = variance_ratio(smaller, larger)
    t = 2 * (larger.log_likelihood - smaller.log_likelihood)
    assert found.statistic == pytest.approx(t)
    assert found.df == ((0.5, 0), (0.5, 1))
    assert found.p_value == pytest.approx(stats.chi2.sf(t, 1) / 2)


def test_mixture_with_a_covariance(cases):
    slopes = fit_linear(golden_design("sleepstudy_holes", cases["sleepstudy_holes"]))
    (both,) = slopes.design.terms
    one = replace(both, columns=both.columns[:1], values=both.values[:, :1])
    found = variance_ratio(fit_linear(replace(slopes.design, terms=(one,))), slopes)
    assert found.df == ((0.5, 1), (0.5, 2))
    t = found.statistic
    assert found.p_value == pytest.approx((stats.chi2.sf(t, 1) + stats.chi2.sf(t, 2)) / 2)
    apart = fit_linear(golden_design("sleepstudy_uncorrelated", cases["sleepstudy_uncorrelated"]))
    alone = fit_linear(replace(apart.design, terms=apart.design.terms[:1]))
    assert variance_ratio(alone, apart).df == ((0.5, 0), (0.5, 1))


def test_a_variance_estimated_as_zero_has_p_one(cases):
    design = golden_design("boundary", cases["boundary"])
    found = variance_ratio(fit_linear(replace(design, terms=design.terms[1:])), fit_linear(design))
    assert (found.statistic, found.p_value, found.notes) == (0.0, 1.0, ("the variance is estimated as 0",))


def test_what_is_not_one_variance_is_refused(cases):
    crossed = fit_linear(golden_design("pastes", cases["pastes"]))
    terms = crossed.design.terms
    with pytest.raises(InputError, match="exactly one more random effect"):
        variance_ratio(crossed, crossed)
    nothing = replace(crossed, design=replace(crossed.design, terms=()))
    with pytest.raises(InputError, match="exactly one more random effect"):
        variance_ratio(nothing, crossed)
    other = replace(crossed, design=replace(crossed.design, terms=(replace(terms[0], group="cask"),)))
    with pytest.raises(InputError, match="exactly one more random effect"):
        variance_ratio(other, crossed)
    wide = replace(terms[0], columns=("a", "b", "c"), values=np.ones((crossed.design.n_cells, 3)))
    with pytest.raises(InputError, match="more than one variance"):
        variance_ratio(
            replace(crossed, design=replace(crossed.design, terms=terms[:1])),
            replace(crossed, design=replace(crossed.design, terms=(wide,))),
        )
    fewer = replace(
        crossed,
        beta=crossed.beta[:1],
        design=replace(crossed.design, fixed=distinct_rows(crossed.design.fixed.at()[:, :1])),
    )
    with pytest.raises(InputError, match="different fixed effects"):
        variance_ratio(fewer, crossed)
