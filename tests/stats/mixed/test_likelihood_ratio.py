"""Likelihood ratios of fixed effects against lme4's anova, and what may not be compared."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from evalstats.errors import CannotAnswerError, InputError
from evalstats.stats.mixed.distinct_rows import distinct_rows
from evalstats.stats.mixed.likelihood_ratio import check_nested, likelihood_ratio, mixture_p
from tests.stats.mixed.dense import fit_dense, golden_cases, golden_design, merged


@pytest.fixture(scope="module")
def cases():
    return golden_cases()


def without_fixed(design):
    return replace(design, fixed=distinct_rows(design.fixed.at()[:, :1]), fixed_names=design.fixed_names[:1])


@pytest.fixture(scope="module")
def pastes(cases):
    design = golden_design("pastes", cases["pastes"])
    return fit_dense(without_fixed(design), method="ML"), fit_dense(design, method="ML")


def test_lme4(cases, pastes):
    expected = cases["pastes"]["lr"]
    found = likelihood_ratio(*pastes)
    assert pastes[1].deviance == pytest.approx(cases["pastes"]["ml_deviance"], abs=1e-6)
    # The difference of two maxima, each found to about 1e-6.
    assert found.statistic == pytest.approx(expected["chisq"], abs=1e-5)
    assert found.df == ((1.0, expected["df"]),)
    assert found.p_value == pytest.approx(expected["p"], abs=1e-5)


def test_cells_need_not_be_merged_alike(cases, pastes):
    null, alternative = pastes
    cells = replace(null, design=merged(null.design))
    assert cells.design.n_cells != alternative.design.n_cells
    assert likelihood_ratio(cells, alternative) == likelihood_ratio(null, alternative)
    check_nested(cells, null)
    with pytest.raises(InputError, match="has fixed effects that the larger has not"):
        check_nested(alternative, cells)


def test_mixtures_are_weighted_tails():
    for law in (((1.0, 3),), ((0.5, 0), (0.5, 1)), ((0.5, 1), (0.5, 2))):
        expected = sum(w * (stats.chi2.sf(2.5, k) if k else 0.0) for w, k in law)
        assert mixture_p(2.5, law) == pytest.approx(expected, rel=1e-12)
    assert mixture_p(1e4, ((1.0, 1),)) == 1e-300


def test_restricted_likelihoods_of_different_fixed_effects_are_not_compared(cases):
    design = golden_design("pastes", cases["pastes"])
    null, alternative = fit_dense(without_fixed(design)), fit_dense(design)
    with pytest.raises(InputError, match="fitted by REML, whose criteria cannot be compared"):
        likelihood_ratio(null, alternative)


def test_what_is_not_nested_is_refused(pastes):
    null, alternative = pastes
    with pytest.raises(InputError, match="the same fixed effects"):
        likelihood_ratio(null, null)
    with pytest.raises(InputError, match="not all within the larger"):
        likelihood_ratio(alternative, null)
    with pytest.raises(InputError, match="fit both in the same way"):
        likelihood_ratio(replace(null, method="REML"), alternative)
    with pytest.raises(InputError, match="different responses"):
        likelihood_ratio(
            null, replace(alternative, design=replace(alternative.design, response=null.design.response + 1.0))
        )
    with pytest.raises(InputError, match="different random terms"):
        likelihood_ratio(replace(null, design=replace(null.design, terms=null.design.terms[:1])), alternative)
    with pytest.raises(InputError, match="a prior answered separation"):
        likelihood_ratio(replace(null, penalty="a prior"), alternative)
    with pytest.raises(CannotAnswerError, match=r"smaller likelihood \(by 1\)"):
        likelihood_ratio(null, replace(alternative, log_likelihood=null.log_likelihood - 1.0))
    with pytest.raises(CannotAnswerError, match="no finite likelihood"):
        likelihood_ratio(null, replace(alternative, log_likelihood=np.nan))
    rounding = replace(alternative, log_likelihood=null.log_likelihood - 1e-7)
    assert likelihood_ratio(null, rounding).statistic == 0.0
    assert likelihood_ratio(null, rounding).p_value == 1.0
