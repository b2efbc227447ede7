"""Whole runs as a sample: least squares by statsmodels, the likelihood of dense matrices, the mixture by quadrature."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import integrate, stats
from statsmodels.formula.api import ols
from statsmodels.stats.anova import anova_lm

from dev.validation.full_runs import COUNTED, MEANS, draw, intervals
from evalstats.errors import InputError
from evalstats.stats.one_sample import variance_matched_wilson, wilson
from evalstats.stats.paired.means import augmented_t, paired_t
from evalstats.stats.runs import (
    RunSd,
    ScoreBlocks,
    equal_runs_p,
    half_widths,
    mixture_p,
    pair_mixtures,
    run_effects,
    run_spread,
    with_runs,
)
from evalstats.stats.trials import same_items_difference
from tests.stats.coverage import allowance

PRIOR = RunSd(value=0.01)


def made(seed, *, n=40, runs=4, run_sd=0.3, noise=1.0, missing=0.0):
    rng = np.random.default_rng(seed)
    y = rng.normal(size=(n, 1)) + run_sd * rng.normal(size=runs) + noise * rng.normal(size=(n, runs))
    return np.where(rng.random(y.shape) < missing, np.nan, y)


@pytest.mark.parametrize("missing", [0.0, 0.4])
def test_the_test_of_runs_is_that_of_two_way_least_squares(missing):
    y = made(0, missing=missing)
    long = pd.DataFrame(
        {"y": y.ravel(), "item": np.repeat(np.arange(40), 4), "run": np.tile(np.arange(4), 40)}
    ).dropna()
    table = anova_lm(ols("y ~ C(item) + C(run)", data=long).fit(), typ=2)
    found = run_effects(y)
    assert found.squares.sum() == pytest.approx(table.loc["C(run)", "sum_sq"], rel=1e-9)
    assert found.noise == pytest.approx(table.loc["Residual", "sum_sq"] / table.loc["Residual", "df"], rel=1e-9)
    assert found.df_noise == table.loc["Residual", "df"]
    assert equal_runs_p([found]) == pytest.approx(table.loc["C(run)", "PR(>F)"], rel=1e-7)


@pytest.mark.parametrize("missing", [0.0, 0.4])
def test_the_likelihood_is_that_of_the_residuals_from_item_means(missing):
    """What is left after items: normal, with variance (I - P)(noise I + sigma^2 ZZ')(I - P), by dense matrices."""
    y = made(1, n=12, runs=3, missing=missing)
    found = run_effects(y)
    item, run = np.nonzero(~np.isnan(y))
    items, z = (item[:, None] == np.unique(item)) * 1.0, (run[:, None] == np.arange(3)) * 1.0
    left = np.linalg.svd(items, full_matrices=True)[0][:, items.shape[1] :]
    rest = left.T @ y[item, run]

    def dense(sd):
        covariance = left.T @ (found.noise * np.eye(len(item)) + sd**2 * z @ z.T) @ left
        return stats.multivariate_normal(np.zeros(len(rest)), covariance).logpdf(rest)

    sds = np.array([0.05, 0.2, 1.0, 4.0])
    expected = np.array([dense(sd) for sd in sds])
    ours = found.log_likelihood(sds)
    assert ours - ours[0] == pytest.approx(expected - expected[0], rel=1e-8, abs=1e-8)


@pytest.mark.parametrize("weighted", [False, True])
def test_reach_is_what_a_runs_shift_does_to_the_mean(weighted):
    y = made(2, n=30, runs=5, missing=0.4)
    weights = np.where(np.arange(30) < 10, 3.0, 1.0) if weighted else np.ones(30)
    held = ~np.isnan(y).all(axis=1)
    w = weights[held] / weights[held].sum()
    moved = [w @ np.nanmean(y[held] + (np.arange(5) == r), axis=1) - w @ np.nanmean(y[held], axis=1) for r in range(5)]
    assert run_effects(y, weights=weights).reach == pytest.approx(np.square(moved).sum(), rel=1e-9)
    assert run_effects(made(2, runs=5)).reach == pytest.approx(0.2)
    apart = run_effects(y, difference=True)
    assert apart.reach == pytest.approx(2 * run_effects(y).reach)
    assert apart.information == pytest.approx(2 * run_effects(y).information)


@pytest.mark.parametrize(("run_sd", "n"), [(0.0, 200), (0.02, 200), (0.3, 60)])
def test_the_interval_is_the_root_of_the_mixture_written_out(run_sd, n):
    """Balanced: s^2 of run means is (noise/n + sigma^2) chi^2/(K - 1); the prior is a half-Cauchy; scipy integrates."""
    a, b = (made(seed, n=n, runs=3, run_sd=run_sd, noise=0.4) for seed in (3, 4))
    plain = paired_t(b.mean(axis=1) - a.mean(axis=1))
    found = with_runs(plain, run_spread(run_effects(a), run_effects(b), prior=PRIOR))
    noise = [run_effects(y).noise / n for y in (a, b)]
    seen = [2 * y.mean(axis=0).var(ddof=1) for y in (a, b)]

    def density(log_sd):
        sd = math.exp(log_sd)
        logs = [stats.chi2.logpdf(s / (v + sd**2), 2) - math.log(v + sd**2) for s, v in zip(seen, noise, strict=True)]
        return math.exp(sum(logs) - 20) * stats.halfcauchy.pdf(sd, scale=0.01) * sd

    def mean_of(what):
        pieces = list(itertools.pairwise(np.linspace(math.log(1e-6), math.log(50), 9)))
        top = sum(integrate.quad(lambda u: what(math.exp(u)) * density(u), *piece)[0] for piece in pieces)
        return top / sum(integrate.quad(density, *piece)[0] for piece in pieces)

    def tail(distance):
        return mean_of(lambda sd: 2 * stats.t.sf(distance / math.sqrt(plain.std_error**2 + 2 / 3 * sd**2), plain.df))

    assert tail(found.conf_high - found.estimate) == pytest.approx(0.05, rel=2e-4)
    assert found.p_value == pytest.approx(tail(abs(plain.estimate)), rel=1e-3)


@pytest.mark.parametrize("level", [0.8, 0.95, 0.99])
def test_the_test_and_the_interval_agree(level):
    rng = np.random.default_rng(8)
    for seed in range(15):
        a, b = made(seed, n=30, runs=3, run_sd=0.2), made(seed + 500, n=30, runs=3, run_sd=0.2) + rng.uniform(0, 1)
        plain = paired_t(b.mean(axis=1) - a.mean(axis=1), conf_level=level)
        runs = run_spread(run_effects(a), run_effects(b), prior=PRIOR)
        found = with_runs(plain, runs)
        assert (found.p_value < 1 - level) == (found.conf_low > 0 or found.conf_high < 0)
        assert found.conf_low < plain.conf_low < plain.conf_high < found.conf_high
        swapped = with_runs(
            paired_t(a.mean(axis=1) - b.mean(axis=1), conf_level=level),
            run_spread(run_effects(b), run_effects(a), prior=PRIOR),
        )
        assert (swapped.conf_low, swapped.p_value) == pytest.approx((-found.conf_high, found.p_value), rel=1e-9)
        edge = runs.half_width(plain.std_error, plain.df, level)
        assert runs.p_value(edge, plain.std_error, plain.df) == pytest.approx(1 - level, rel=1e-9)


def test_another_unit_of_the_scores_is_another_unit_of_the_interval():
    a, b = made(1, runs=3), made(2, runs=5)
    plain = paired_t(b.mean(axis=1) - a.mean(axis=1))
    found = with_runs(plain, run_spread(run_effects(a), run_effects(b), prior=PRIOR))
    scaled = with_runs(
        paired_t(100 * (b.mean(axis=1) - a.mean(axis=1))),
        run_spread(run_effects(100 * a), run_effects(100 * b), prior=RunSd(value=1.0)),
    )
    assert (scaled.conf_low, scaled.conf_high) == pytest.approx((100 * found.conf_low, 100 * found.conf_high), rel=1e-9)


def test_nothing_jumps_where_the_estimate_of_the_runs_variance_changes_its_sign():
    """Runs moved apart by degrees: the interval grows with every step, by little."""
    y = made(7, n=200, runs=3, run_sd=0.0)
    y -= y.mean(axis=0)
    plain = paired_t(y.mean(axis=1))
    widths = [
        run_spread(run_effects(y + apart * np.array([-1, 0, 1])), prior=PRIOR).half_width(
            plain.std_error, plain.df, 0.95
        )
        for apart in np.linspace(0, 0.3, 40)
    ]
    steps = np.diff(widths) / widths[0]
    assert (steps > 0).all()
    assert steps.max() < 0.15


def test_a_known_standard_deviation_is_added_as_it_is():
    a, b = made(1, runs=3), made(2, runs=3)
    plain = paired_t(b.mean(axis=1) - a.mean(axis=1))
    found = with_runs(plain, run_spread(run_effects(a), run_effects(b), prior=RunSd(value=0.2, known=True)))
    std_error = math.hypot(plain.std_error, 0.2 * math.sqrt(2 / 3))
    assert found.std_error == pytest.approx(std_error)
    assert found.p_value == pytest.approx(2 * stats.t.sf(abs(plain.estimate) / std_error, plain.df))
    zero = with_runs(plain, run_spread(run_effects(a), run_effects(b), prior=RunSd(value=0.0, known=True)))
    assert (zero.conf_low, zero.p_value) == pytest.approx((plain.conf_low, plain.p_value))
    for wrong in (-0.1, math.nan, math.inf):
        with pytest.raises(InputError, match="positive"):
            RunSd(value=wrong, known=True)
    with pytest.raises(InputError, match="positive"):
        RunSd(value=0.0)


def test_more_that_the_runs_show_outweighs_the_prior():
    shifts = 0.2 * np.random.default_rng(0).normal(size=40)
    y = made(3, n=500, runs=40, run_sd=0.0) + shifts
    assert run_spread(run_effects(y), prior=PRIOR).median == pytest.approx(shifts.std(ddof=1), rel=0.1)
    two = run_spread(run_effects(made(3, n=500, runs=2, run_sd=0.0)), prior=PRIOR)
    assert 0.002 < two.median < 0.02


@pytest.mark.parametrize("shape", [(1,), (1, 1)])
def test_one_run_tells_nothing_of_runs(shape):
    sides = [run_effects(made(k, runs=runs)) for k, runs in enumerate(shape)]
    assert run_spread(*sides, prior=PRIOR) is None
    assert equal_runs_p(sides) is None
    assert with_runs(paired_t([0.1, 0.2, 0.4]), None) == paired_t([0.1, 0.2, 0.4])


def test_items_that_are_in_one_run_each_tell_nothing_of_runs():
    y = np.full((30, 3), np.nan)
    y[np.arange(30), np.arange(30) % 3] = np.random.default_rng(0).normal(size=30)
    assert run_spread(run_effects(y), prior=PRIOR) is None
    assert run_effects(y).reach == pytest.approx(1 / 3)
    two = np.vstack([y, np.where(np.isnan(y), 0.0, y)[:, [0, 0, 2]] * [1, np.nan, 1]])
    assert run_effects(two).squares.size == 1


def test_runs_widen_any_estimate_alike():
    rng = np.random.default_rng(4)
    d = rng.choice([-1 / 3, 0, 0, 1 / 3, 2 / 3], 80)
    runs = run_spread(run_effects(made(5, run_sd=0.1)), run_effects(made(6, run_sd=0.1)), prior=PRIOR)
    plain = augmented_t(d)
    found = with_runs(plain, runs, low=0.1, high=0.2)
    assert (found.estimate, found.df, found.conf_low, found.conf_high) == (plain.estimate, plain.df, 0.1, 0.2)
    assert found.statistic * found.std_error == pytest.approx(plain.statistic * plain.std_error)
    for score in (variance_matched_wilson(np.clip(rng.normal(0.97, 0.05, 60), 0, 1)), wilson(57, 60), wilson(60, 60)):
        wide = with_runs(score, runs)
        df = score.df or 1e9
        for end, before in ((wide.conf_low, score.conf_low), (wide.conf_high, score.conf_high)):
            reach = abs(before - score.estimate) / stats.t.ppf(0.975, df)
            assert abs(end - score.estimate) == pytest.approx(runs.half_width(reach, df, 0.95), rel=1e-6)
        assert wide.p_value is None
        assert with_runs(score, runs, low=0.0, high=1.0).conf_high <= 1.0
    bare = replace(plain, conf_low=None)
    assert with_runs(bare, runs) == bare


def test_pairs_at_once_are_pairs_one_by_one():
    sides = [run_effects(made(k, runs=runs, run_sd=0.2)) for k, runs in enumerate((3, 1, 5))]
    pairs = [(sides[0], sides[1]), (sides[0], sides[2]), (sides[1], sides[2])]
    std_error, df, estimate = np.array([0.2, 0.1, 0.3]), np.array([39.0, 20.0, 5.0]), np.array([0.3, -0.4, 0.9])
    for prior in (PRIOR, RunSd(value=0.1, known=True)):
        added, weights = pair_mixtures(pairs, prior=prior)
        halves = half_widths(added, weights, std_error, df, 0.9)
        p = mixture_p(estimate, added, weights, std_error, df)
        for k, pair in enumerate(pairs):
            one = run_spread(*pair, prior=prior)
            assert halves[k] == pytest.approx(one.half_width(std_error[k], df[k], 0.9), rel=1e-5)
            assert p[k] == pytest.approx(one.p_value(estimate[k], std_error[k], df[k]), rel=1e-5)


def test_runs_without_noise():
    items = np.random.default_rng(0).normal(size=(30, 1))
    plain = paired_t(items[:, 0])
    same = run_effects(np.tile(items, 3))
    assert (same.noise, same.squares.sum(), equal_runs_p([same])) == (0.0, 0.0, None)
    assert with_runs(plain, run_spread(same, prior=PRIOR)).conf_low == pytest.approx(plain.conf_low, rel=1e-2)
    shifted = run_spread(run_effects(items + np.array([0.0, 0.1, 0.3])), prior=PRIOR)
    assert 0.05 < shifted.median < 0.4
    huge = np.random.default_rng(2).random((20, 1)) * 1e6 + 0.1
    rounded = run_effects(np.tile(huge, 3) + 1e-10 * np.arange(3))
    assert (rounded.noise, rounded.squares.sum()) == (0.0, 0.0)


@pytest.mark.parametrize("at_once", [1, 7, 40])
def test_scores_some_items_at_a_time_say_what_all_of_them_do(at_once):
    def cut(y):
        return ScoreBlocks(*y.shape, lambda: (y[first : first + at_once] for first in range(0, len(y), at_once)))

    weights = np.linspace(1, 3, 40)
    for y in (made(30), made(32, runs=6, missing=0.3)):
        whole, found = (run_effects(each, weights=weights) for each in (y, cut(y)))
        assert (found.reach, found.noise, found.spread) == pytest.approx(
            (whole.reach, whole.noise, whole.spread), rel=1e-9
        )
        assert found.squares.sum() == pytest.approx(whole.squares.sum(), rel=1e-9)
    one, other = same_items_difference(made(31), made(32)), same_items_difference(cut(made(31)), cut(made(32)))
    assert (other.estimate, other.std_error, other.df, other.n) == pytest.approx(
        (one.estimate, one.std_error, one.df, one.n), rel=1e-12
    )


def test_what_does_not_fit_is_refused():
    with pytest.raises(InputError, match="one row per item and one column per run"):
        run_effects(made(0)[:, 0])
    with pytest.raises(InputError, match="1 of 160 scores are infinite"):
        run_effects(np.where(np.arange(160).reshape(40, 4) == 7, np.inf, made(0)))


@pytest.mark.parametrize(
    ("replicates", "items"),
    [pytest.param(100, 1000, id="quick"), pytest.param(3000, 3000, id="long", marks=pytest.mark.slow)],
)
def test_coverage_and_width_with_three_runs_a_side(replicates, items):
    """`dev/validation/full_runs.py` has the grid: item means miss in a quarter and more where runs have sd .1 logit."""
    rng = np.random.default_rng(14)
    for run_sd, limit in ((0.0, 0.05), (0.1, 0.1)):
        found = [intervals(*draw(rng, items=items, runs=3, run_sd=run_sd)) for _ in range(replicates)]
        missed = {
            name: np.mean([not each[name].conf_low <= 0 <= each[name].conf_high for each in found])
            for name in (COUNTED, MEANS)
        }
        wider = [each[COUNTED].std_error / each[MEANS].std_error for each in found]
        assert missed[COUNTED] <= limit + allowance(replicates, limit) * (0.5 if run_sd else 0.25)
        if run_sd:
            assert missed[MEANS] > 0.15
        else:
            assert 1.0 < np.median(wider) < 1.35


def test_same_items_written_out():
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=(25, 3)), rng.normal(size=(25, 5)) + 0.2
    pieces = np.concatenate([a.var(axis=1, ddof=1) / 3, b.var(axis=1, ddof=1) / 5])
    variance = pieces.sum() / 25**2
    df = pieces.sum() ** 2 / ((pieces[:25] ** 2).sum() / 2 + (pieces[25:] ** 2).sum() / 4)
    found = same_items_difference(a, b)
    assert found.std_error == pytest.approx(math.sqrt(variance), rel=1e-12)
    assert found.df == pytest.approx(df, rel=1e-12)
    assert found.conf_low == pytest.approx(b.mean() - a.mean() - stats.t.ppf(0.975, df) * math.sqrt(variance))


def test_one_item_on_its_own_is_welch():
    a, b = np.array([[0.1, 0.5, 0.2]]), np.array([[0.9, 0.4, 0.8, 0.6]])
    expected = stats.ttest_ind(b[0], a[0], equal_var=False)
    found = same_items_difference(a, b)
    assert found.p_value == pytest.approx(expected.pvalue, rel=1e-10)
    assert found.df == pytest.approx(expected.df, rel=1e-10)


def test_same_items_are_refused_where_noise_is_unknown():
    rng = np.random.default_rng(0)
    one = same_items_difference(rng.normal(size=(20, 1)), rng.normal(size=(20, 4)))
    assert one.reason.startswith("one trial an item")
    assert one.conf_low is None
    steady = np.tile(rng.integers(0, 2, (20, 1)) * 1.0, 3)
    assert "the same score in all its trials" in same_items_difference(steady, 1 - steady).reason


@pytest.mark.parametrize(
    "replicates", [pytest.param(800, id="quick"), pytest.param(8000, id="long", marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("trials", [2, 4])
def test_same_items_cover_new_trials(trials, replicates):
    rng = np.random.default_rng(14)
    p, q = rng.beta(0.8, 0.5, size=(120, 1)), rng.beta(0.8, 0.5, size=(120, 1))
    truth, hits = float((q - p).mean()), []
    for _ in range(replicates):
        found = same_items_difference(1.0 * (rng.random((120, trials)) < p), 1.0 * (rng.random((120, trials)) < q))
        hits.append(found.conf_low <= truth <= found.conf_high)
    assert np.mean(hits) == pytest.approx(0.95, abs=0.006 + allowance(replicates))
