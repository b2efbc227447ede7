"""Tests of a variance: mixtures, the exact law of the restricted ratio against RLRsim, and false alarms."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from evalstats.errors import InputError
from evalstats.stats.mixed.likelihood_ratio import restricted_ratio, restricted_ratio_draws, variance_ratio
from tests.stats.mixed.dense import fit_dense, golden_cases, golden_design, merged, rows_design, term


@pytest.fixture(scope="module")
def cases():
    return golden_cases()


@pytest.fixture(scope="module")
def batches(cases):
    """Pastes with batches as the only random term."""
    design = golden_design("rlrt", cases["rlrt"])
    return replace(design, terms=design.terms[1:])


def test_rlrsim(cases, batches):
    """Quantiles of two million draws of RLRsim, within the Monte Carlo error of ours."""
    expected = cases["rlrt"]
    draws = restricted_ratio_draws(batches, 200_000, seed=1)
    at_zero = float(np.mean(draws < 1e-12))
    assert at_zero == pytest.approx(expected["share_zero"], abs=4 * np.sqrt(0.25 / len(draws)))
    for p, quantile in zip(expected["quantiles"]["p"], expected["quantiles"]["value"], strict=True):
        assert float(np.mean(draws <= quantile)) == pytest.approx(p, abs=4 * np.sqrt(p * (1 - p) / len(draws)))


def test_cells_have_the_law_of_their_rows(batches):
    cells = merged(batches)
    assert cells.n_cells < batches.n_cells
    rows, merged_rows = (restricted_ratio_draws(d, 500, seed=3) for d in (batches, cells))
    assert merged_rows == pytest.approx(rows, abs=1e-9)


def test_the_statistic_is_the_restricted_likelihood_ratio(batches):
    fit = fit_dense(batches)
    x, y = batches.fixed, batches.response
    plain = y - x @ np.linalg.lstsq(x, y, rcond=None)[0]
    free = len(y) - x.shape[1]
    null = free * (1 + np.log(2 * np.pi * plain @ plain / free)) + np.linalg.slogdet(x.T @ x)[1]
    found = restricted_ratio(fit, n_resamples=999, seed=5)
    assert found.statistic == pytest.approx(null - fit.deviance, abs=1e-8)
    draws = restricted_ratio_draws(batches, 999, seed=5)
    assert found.p_value == (1 + np.count_nonzero(draws >= found.statistic)) / 1000
    assert restricted_ratio(fit, n_resamples=999, seed=5) == found
    assert restricted_ratio(fit, n_resamples=9, seed=5).p_value >= 0.1


def test_mixture_of_one_variance(cases):
    design = golden_design("pastes", cases["pastes"])
    larger = fit_dense(design)
    smaller = fit_dense(replace(design, terms=design.terms[:1]))
    found = variance_ratio(smaller, larger)
    t = 2 * (larger.log_likelihood - smaller.log_likelihood)
    assert found.statistic == pytest.approx(t)
    assert found.df == ((0.5, 0), (0.5, 1))
    assert found.p_value == pytest.approx(stats.chi2.sf(t, 1) / 2)


def test_mixture_with_a_covariance(cases):
    slopes = fit_dense(golden_design("sleepstudy_holes", cases["sleepstudy_holes"]))
    (both,) = slopes.design.terms
    one = replace(both, columns=both.columns[:1], values=both.values[:, :1])
    found = variance_ratio(fit_dense(replace(slopes.design, terms=(one,))), slopes)
    assert found.df == ((0.5, 1), (0.5, 2))
    t = found.statistic
    assert found.p_value == pytest.approx((stats.chi2.sf(t, 1) + stats.chi2.sf(t, 2)) / 2)
    apart = fit_dense(golden_design("sleepstudy_uncorrelated", cases["sleepstudy_uncorrelated"]))
    alone = fit_dense(replace(apart.design, terms=apart.design.terms[:1]))
    assert variance_ratio(alone, apart).df == ((0.5, 0), (0.5, 1))


def test_a_variance_estimated_as_zero_has_p_one(cases):
    design = golden_design("boundary", cases["boundary"])
    found = variance_ratio(fit_dense(replace(design, terms=design.terms[1:])), fit_dense(design))
    assert (found.statistic, found.p_value, found.notes) == (0.0, 1.0, ("the variance is estimated as 0",))


def test_what_is_not_one_variance_is_refused(cases):
    crossed = fit_dense(golden_design("pastes", cases["pastes"]))
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
    fewer = replace(crossed, beta=crossed.beta[:1], design=replace(crossed.design, fixed=crossed.design.fixed[:, :1]))
    with pytest.raises(InputError, match="different fixed effects"):
        variance_ratio(fewer, crossed)
    with pytest.raises(InputError, match="one random effect"):
        restricted_ratio(crossed)


def test_false_alarms_of_the_exact_law():
    """Twelve groups of four without a group effect: the exact law keeps 5 %, the mixture rejects less often."""
    rng = np.random.default_rng(12)
    group, n_rep, level = np.repeat(np.arange(12), 4), 2000, 0.05
    design = rows_design([("(Intercept)", np.ones(48))], [term("g", group)], np.zeros(48))
    law = np.sort(restricted_ratio_draws(design, 50_000, seed=1))
    exact = mixture = 0
    for _ in range(n_rep):
        y = rng.normal(size=(12, 4))
        # REML of a balanced one-way layout, from mean squares.
        between, error = 4 * y.mean(axis=1).var(ddof=1), y.var(axis=1, ddof=1).mean()
        pooled = (11 * between + 36 * error) / 47
        t = 47 * np.log(pooled) - 11 * np.log(between) - 36 * np.log(error) if between > error else 0.0
        exact += t > 0 and np.mean(law >= t) < level
        mixture += t > 0 and stats.chi2.sf(t, 1) / 2 < level
    assert exact / n_rep == pytest.approx(level, abs=3.5 * np.sqrt(level * (1 - level) / n_rep))
    assert mixture <= exact
