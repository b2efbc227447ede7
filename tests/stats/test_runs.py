"""Whole runs that differ: analysis of variance by statsmodels, the formulae written out, size with run effects."""

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from statsmodels.formula.api import ols
from statsmodels.stats.anova import anova_lm

from evalstats.errors import InputError
from evalstats.stats.clusters import cluster_mean
from evalstats.stats.one_sample import mean_t, variance_matched_wilson
from evalstats.stats.paired.means import augmented_t, paired_t
from evalstats.stats.trials import (
    ScoreBlocks,
    run_variance,
    same_items_difference,
    shared_run_variances,
    with_runs,
)


def made(seed, n=40, runs=4, run_sd=0.3, noise=1.0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 1)) + run_sd * rng.normal(size=runs) + noise * rng.normal(size=(n, runs))


def run_effects(y, *, conf_level=0.95, clusters=None):
    """What runs add to the mean over items, put together as an analysis does."""
    values, runs = y.mean(axis=1), run_variance(y)
    plain = mean_t(values, conf_level=conf_level) if clusters is None else cluster_mean(values, clusters).estimate
    return SimpleNamespace(estimate=with_runs(plain, runs), runs=runs)


def paired_run_effects(a, b, *, shared=False):
    runs = run_variance(b - a) if shared else run_variance(a, b)
    return SimpleNamespace(estimate=with_runs(paired_t(b.mean(axis=1) - a.mean(axis=1)), runs), runs=runs)


def test_f_equals_two_way_analysis_of_variance():
    y = made(0)
    long = pd.DataFrame({"y": y.ravel(), "item": np.repeat(np.arange(40), 4), "run": np.tile(np.arange(4), 40)})
    table = anova_lm(ols("y ~ C(item) + C(run)", data=long).fit())
    found = run_effects(y)
    assert found.runs.f_statistic == pytest.approx(table.loc["C(run)", "F"], rel=1e-9)
    assert found.runs.p_value == pytest.approx(table.loc["C(run)", "PR(>F)"], rel=1e-8)
    assert (found.runs.df_runs, found.runs.df_noise) == (table.loc["C(run)", "df"], table.loc["Residual", "df"])
    component = (table.loc["C(run)", "mean_sq"] - table.loc["Residual", "mean_sq"]) / 40
    assert component > 0
    assert found.runs.run_sd[0] == pytest.approx(math.sqrt(component), rel=1e-9)
    assert found.runs.noise_sd[0] == pytest.approx(math.sqrt(table.loc["Residual", "mean_sq"] / 40), rel=1e-9)


def test_interval_written_out():
    y = made(0)
    n, runs = y.shape
    rest = y - y.mean(axis=1, keepdims=True) - y.mean(axis=0) + y.mean()
    noise = (rest**2).sum() / ((n - 1) * (runs - 1))
    seen = y.mean(axis=0).var(ddof=1)
    items = y.mean(axis=1).var(ddof=1) / n
    variance = items + (seen - noise / n) / runs
    df = variance**2 / (items**2 / (n - 1) + (seen / runs) ** 2 / (runs - 1))
    found = run_effects(y, conf_level=0.9)
    reach = stats.t.ppf(0.95, df) * math.sqrt(variance)
    assert (found.estimate.conf_low, found.estimate.conf_high) == pytest.approx((y.mean() - reach, y.mean() + reach))
    assert found.estimate.df == pytest.approx(df)
    assert found.estimate.p_value is None
    assert found.runs.run_means[0] == pytest.approx(tuple(y.mean(axis=0)))


def test_two_models_add_up_their_runs():
    a, b = made(1, runs=3), made(2, runs=5) + 0.5
    one, two = run_effects(a), run_effects(b)
    both = paired_run_effects(a, b)
    seen = [np.var(means, ddof=1) for means in both.runs.run_means]
    noise = [sd**2 for sd in both.runs.noise_sd]
    assert both.runs.f_statistic == pytest.approx(
        (2 * seen[0] + 4 * seen[1]) / (2 * noise[0] + 4 * noise[1]), rel=1e-12
    )
    assert (both.runs.df_runs, both.runs.df_noise) == (6, 39 * 6)
    assert both.runs.p_value == pytest.approx(stats.f.sf(both.runs.f_statistic, 6, 234), rel=1e-9)
    assert both.runs.run_sd == pytest.approx((*one.runs.run_sd, *two.runs.run_sd))
    d = b.mean(axis=1) - a.mean(axis=1)
    items = d.var(ddof=1) / 40
    variance = items + (seen[0] - noise[0]) / 3 + (seen[1] - noise[1]) / 5
    df = variance**2 / (items**2 / 39 + (seen[0] / 3) ** 2 / 2 + (seen[1] / 5) ** 2 / 4)
    assert both.estimate.std_error == pytest.approx(math.sqrt(variance), rel=1e-12)
    assert both.estimate.df == pytest.approx(df)
    assert both.estimate.p_value == pytest.approx(2 * stats.t.sf(d.mean() / math.sqrt(variance), df), rel=1e-9)
    swapped = paired_run_effects(b, a)
    assert swapped.estimate.conf_low == pytest.approx(-both.estimate.conf_high)
    assert swapped.runs.run_means == both.runs.run_means[::-1]


def test_runs_no_further_apart_than_noise_leave_the_t_interval():
    rng = np.random.default_rng(3)
    y = rng.normal(size=(60, 3))
    y -= y.mean(axis=0)
    y += rng.normal(size=(60, 1))
    found = run_effects(y)
    assert found.runs.f_statistic < 1
    assert found.runs.run_sd == (0.0,)
    plain = mean_t(y.mean(axis=1))
    assert (found.estimate.conf_low, found.estimate.conf_high) == pytest.approx((plain.conf_low, plain.conf_high))
    pair = paired_run_effects(y, y[:, [1, 2, 0]] + rng.normal(size=(60, 1)))
    d = pair.estimate
    assert d.df == 59
    assert d.std_error < 1


def test_counting_runs_never_shortens_the_interval():
    for seed in range(20):
        a, b = made(seed, run_sd=0.1), made(seed + 100, run_sd=0.1)
        found = paired_run_effects(a, b).estimate
        plain = paired_t(b.mean(axis=1) - a.mean(axis=1))
        assert found.conf_low <= plain.conf_low + 1e-12
        assert found.conf_high >= plain.conf_high - 1e-12


def test_clusters_replace_the_items():
    y, clusters = made(5, n=48, runs=3, run_sd=1.0), np.arange(48) // 4
    grouped = cluster_mean(y.mean(axis=1), clusters).estimate
    found = run_effects(y, clusters=clusters)
    run_part = found.runs.run_sd[0] ** 2 / 3
    assert found.estimate.std_error**2 == pytest.approx(grouped.std_error**2 + run_part, rel=1e-9)
    assert found.estimate.n_clusters == 12
    assert found.runs.f_statistic == pytest.approx(run_effects(y).runs.f_statistic)
    few = run_effects(y, clusters=np.arange(48) % 4)
    assert few.estimate.reason == "4 clusters are too few for an interval or a test; at least 5 are needed"


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (run_variance(made(0, runs=1)), "1 run; at least 3"),
        (run_variance(made(0, runs=2)), "2 runs; at least 3"),
        (run_variance(made(0, runs=2), made(1, runs=1)), "2 and 1 runs; at least 2 of each side"),
    ],
)
def test_too_few_runs_say_so(found, words):
    assert found.reason == f"run-to-run variation is not estimable from {words} are needed"
    assert (found.variance, found.f_statistic, found.p_value) == (None, None, None)
    assert found.run_sd == ()


def test_two_runs_of_each_side_will_do():
    a, b = made(1, runs=2, run_sd=0.0), made(2, runs=2, run_sd=0.0)
    a, b = a + np.array([0.0, 2.0]), b + np.array([1.0, 0.0])
    seen, noise = zip(
        *((np.var(y.mean(axis=0), ddof=1), np.var(y[:, 0] - y[:, 1], ddof=1) / 2 / 40) for y in (a, b)), strict=True
    )
    found = paired_run_effects(a, b)
    assert found.runs.variance == pytest.approx((sum(seen) - sum(noise)) / 2)
    assert found.runs.slack == pytest.approx(sum((s / 2) ** 2 for s in seen))
    one = run_variance(a[:, :1], made(3, runs=3, run_sd=2.0))
    assert one.run_sd[0] is None
    assert one.variance == pytest.approx(run_variance(made(3, runs=3, run_sd=2.0)).variance)


def test_weights_of_items_are_those_of_the_mean():
    """An item of weight 2 is as good as two; the noise is that of the weighted mean."""
    y = made(9, n=30, runs=4, run_sd=0.5)
    weights = np.where(np.arange(30) < 10, 2.0, 1.0)
    found, equal = run_variance(y, weights=[weights]), run_variance(y, weights=[np.full(30, 3.0)])
    assert equal.variance == pytest.approx(run_variance(y).variance, rel=1e-12)
    assert found.run_means[0] == pytest.approx(tuple(np.average(y, axis=0, weights=weights)))
    noise = []
    for seed in range(1500):
        drawn = np.random.default_rng(seed).normal(size=(30, 3))
        side = run_variance(drawn, weights=[weights])
        noise.append(side.noise_sd[0] ** 2)
    assert np.mean(noise) == pytest.approx((weights**2).sum() / weights.sum() ** 2, rel=0.028)


def test_shared_trials_are_paired():
    """What a judge adds to both sides cancels: the variance is that of the mean differences by trial."""
    a, b = made(1, runs=5), made(2, runs=5)
    judges = 3 * np.random.default_rng(0).normal(size=5)
    found = paired_run_effects(a + judges, b + judges, shared=True)
    alone = run_effects(b - a)
    assert found.estimate.std_error == pytest.approx(alone.estimate.std_error, rel=1e-9)
    assert found.estimate.df == pytest.approx(alone.estimate.df, rel=1e-9)
    assert found.runs.run_means[0] == pytest.approx(tuple((b - a).mean(axis=0)))
    assert found.runs.df_runs == 4
    assert paired_run_effects(a + judges, b + judges).estimate.std_error > 3 * found.estimate.std_error


def test_runs_widen_any_estimate_alike():
    rng = np.random.default_rng(4)
    d = rng.choice([-1 / 3, 0, 0, 1 / 3, 2 / 3], 80)
    runs = run_variance(made(5, runs=3, run_sd=1.0) / 20, made(6, runs=3, run_sd=1.0) / 20)
    plain = augmented_t(d, n_trials=3)
    found = with_runs(plain, runs, low=-1.0, high=1.0)
    total = plain.std_error**2 + runs.variance
    df = total**2 / (plain.std_error**4 / plain.df + runs.slack)
    centre = plain.statistic * plain.std_error
    assert found.estimate == plain.estimate
    assert (found.std_error, found.df) == pytest.approx((math.sqrt(total), df))
    assert found.conf_low == pytest.approx(centre - stats.t.ppf(0.975, df) * math.sqrt(total))
    assert found.p_value == pytest.approx(2 * stats.t.sf(abs(centre) / math.sqrt(total), df))
    score = variance_matched_wilson(np.clip(rng.normal(0.97, 0.05, 60), 0, 1))
    wide = with_runs(score, runs, low=0.0, high=1.0)
    assert wide.conf_high <= 1.0
    assert wide.conf_low < score.conf_low
    assert wide.p_value is None
    # Either end moves out so that its distance, in t, grows by the runs' variance.
    total = score.std_error**2 + runs.variance
    df = min(score.df, total**2 / (score.std_error**4 / score.df + runs.slack))
    assert (wide.std_error, wide.df) == pytest.approx((math.sqrt(total), df))
    free = with_runs(score, runs)
    for end, before in ((free.conf_low, score.conf_low), (free.conf_high, score.conf_high)):
        distance = ((before - score.estimate) / stats.t.ppf(0.975, score.df)) ** 2 + runs.variance
        assert abs(end - score.estimate) == pytest.approx(stats.t.ppf(0.975, df) * math.sqrt(distance))
    assert (wide.conf_low, wide.conf_high) == (max(0.0, free.conf_low), min(1.0, free.conf_high))
    assert with_runs(score, runs, low=0.9, high=0.99).conf_low == max(0.9, wide.conf_low)


@pytest.mark.parametrize("level", [0.9, 0.95, 0.99])
def test_the_test_and_the_interval_agree(level):
    rng = np.random.default_rng(8)
    for seed in range(60):
        a, b = made(seed, n=30, runs=3, run_sd=0.2), made(seed + 500, n=30, runs=3, run_sd=0.2) + rng.uniform(0, 1)
        plain = paired_t(b.mean(axis=1) - a.mean(axis=1), conf_level=level)
        found = with_runs(plain, run_variance(a, b))
        assert (found.p_value < 1 - level) == (found.conf_low > 0 or found.conf_high < 0)


def test_runs_without_noise_have_no_test():
    items = np.random.default_rng(0).normal(size=(30, 1))
    same = run_effects(np.tile(items, 3))
    assert same.runs.reason == "the runs agree on every item: there is no noise of trials to compare them with"
    plain = mean_t(items[:, 0])
    assert same.estimate.conf_low == pytest.approx(plain.conf_low)
    shifted = run_effects(items + np.array([0.0, 0.1, 0.3]))
    assert shifted.runs.reason.startswith("the runs differ by the same amount on every item")
    assert shifted.runs.run_sd[0] == pytest.approx(np.std([0, 0.1, 0.3], ddof=1))
    assert shifted.estimate.conf_high - shifted.estimate.conf_low > plain.conf_high - plain.conf_low


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


def test_what_does_not_fit_is_refused():
    y = made(0)
    with pytest.raises(InputError, match="leave out items that any run lacks"):
        run_variance(np.where(np.arange(160).reshape(40, 4) == 7, np.nan, y))
    with pytest.raises(InputError, match="dimensions"):
        run_variance(y[:, 0])
    with pytest.raises(InputError, match="at least 2 items"):
        run_variance(y[:1])


REPLICATES = [pytest.param(600, 400, id="quick"), pytest.param(5000, 10_000, id="long", marks=pytest.mark.slow)]


def allowance(replicates, rate=0.05):
    return 4 * math.sqrt(rate * (1 - rate) / replicates)


@pytest.mark.parametrize(("replicates", "n"), REPLICATES)
def test_size_with_run_effects(replicates, n):
    """Runs of sd .5 points beside a standard error of .4 points from items: t rejects .17, this .05 (3 runs a model)."""
    rng = np.random.default_rng(12)
    scale = 0.4 * math.sqrt(n)
    counted, plain = [], []
    for _ in range(replicates):
        shared = rng.normal(size=(n, 1), scale=scale / math.sqrt(2))
        noise = scale / math.sqrt(2) * math.sqrt(3 / 2)
        a, b = (shared + 0.5 * rng.normal(size=3) + noise * rng.normal(size=(n, 3)) for _ in range(2))
        counted.append(paired_run_effects(a, b).estimate.p_value < 0.05)
        plain.append(paired_t(b.mean(axis=1) - a.mean(axis=1)).p_value < 0.05)
    assert np.mean(counted) <= 0.055 + allowance(replicates)
    assert np.mean(plain) > 0.13


@pytest.mark.parametrize(("replicates", "n"), REPLICATES)
def test_size_without_run_effects_of_right_wrong_items(replicates, n):
    """Items of different difficulty: the test of the runs and the interval both keep their size."""
    rng = np.random.default_rng(13)
    n = min(n, 2000)
    runs, means = [], []
    for _ in range(replicates):
        rates = rng.beta(0.8, 0.5, size=(n, 1))
        a, b = (1.0 * (rng.random((n, 3)) < rates) for _ in range(2))
        found = paired_run_effects(a, b)
        runs.append(found.runs.p_value < 0.05)
        means.append(found.estimate.p_value < 0.05)
    assert np.mean(runs) == pytest.approx(0.05, abs=allowance(replicates) + 0.005)
    assert np.mean(means) <= 0.05 + allowance(replicates)


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


@pytest.mark.parametrize("weighted", [False, True])
def test_models_that_share_their_trials_have_for_every_two_the_variance_of_their_differences(weighted):
    rng = np.random.default_rng(5)
    scores = rng.normal(size=(30, 4, 3)) + rng.normal(size=(4, 3)) * np.array([0.0, 0.5, 1.0])
    weights = rng.uniform(0.5, 3.0, 30) if weighted else None
    variance, slack = shared_run_variances(scores, weights=weights)
    for a in range(3):
        assert (variance[a, a], slack[a, a]) == (0.0, 0.0)
        for b in set(range(3)) - {a}:
            one = run_variance(scores[:, :, a] - scores[:, :, b], weights=None if weights is None else [weights])
            assert variance[a, b] == pytest.approx(one.variance, rel=1e-9, abs=1e-12)
            assert slack[a, b] == pytest.approx(one.slack, rel=1e-9)
    assert (variance > 0).sum() >= 4


@pytest.mark.parametrize(
    ("shapes", "variance", "noise"),
    [
        ((1, 4), True, (False, True)),
        ((1, 2), False, (False, True)),
        ((2, 2), True, (True, True)),
        ((2,), False, (True,)),
        ((3,), True, (True,)),
        ((1, 1), False, (False, False)),
    ],
)
def test_two_degrees_of_freedom_of_runs_are_needed_and_one_run_has_no_noise(shapes, variance, noise):
    found = run_variance(*(made(20 + k, n=12, runs=runs) for k, runs in enumerate(shapes)))
    assert (found.variance is not None) == variance
    assert tuple(sd is not None for sd in found.noise_sd) == noise
    if variance:
        assert tuple(sd is not None for sd in found.run_sd) == noise
    else:
        assert "not estimable" in found.reason
    for sd, runs, k in zip(found.noise_sd, shapes, range(9), strict=False):
        if sd is not None:
            y = made(20 + k, n=12, runs=runs)
            rest = y - y.mean(axis=1, keepdims=True) - y.mean(axis=0) + y.mean()
            assert sd**2 == pytest.approx((rest**2).sum() / 11 / (runs - 1) / 12)
    alone = [runs for runs in shapes if runs > 1]
    assert not variance or found.always == (alone == [3])


def test_runs_leave_an_estimate_as_it_is_where_either_is_unknown():
    runs = run_variance(made(5, runs=3, run_sd=1.0), made(6, runs=3, run_sd=1.0))
    plain = paired_t(np.random.default_rng(1).normal(size=30))
    assert with_runs(plain, runs).conf_low < plain.conf_low
    for gone in ("std_error", "df", "conf_low", "conf_high"):
        bare = replace(plain, **{gone: None})
        assert with_runs(bare, runs) == bare
    unknown = run_variance(made(5, runs=1), made(6, runs=1))
    assert with_runs(plain, unknown) == plain
    assert with_runs(plain, replace(runs, variance=0.0, always=False)) == plain


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_equal_runs_have_no_spread_whatever_rounding_leaves(sign):
    y = np.random.default_rng(2).random((20, 1)) * 1e6 + 0.1
    found = run_variance(sign * (np.tile(y, 3) + 1e-10 * np.arange(3)))
    assert (found.variance, found.noise_sd, found.run_sd) == (0.0, (0.0,), (0.0,))


@pytest.mark.parametrize(
    ("shapes", "says"),
    [
        ((1,), "from 1 run; at least 3"),
        ((2,), "from 2 runs; at least 3"),
        ((1, 1), "at least 2 of each side"),
        ((1, 2), "at least 2 of each side"),
    ],
)
def test_too_few_runs_are_counted(shapes, says):
    assert says in run_variance(*(made(k, n=6, runs=runs) for k, runs in enumerate(shapes))).reason


@pytest.mark.parametrize("at_once", [1, 7, 40])
def test_scores_some_items_at_a_time_say_what_all_of_them_do(at_once):
    def cut(y):
        return ScoreBlocks(*y.shape, lambda: (y[first : first + at_once] for first in range(0, len(y), at_once)))

    weights = np.linspace(1, 3, 40)
    for sides in ([made(30)], [made(31), made(32, runs=6)], [np.zeros((40, 3)), made(33, runs=3)]):
        whole = run_variance(*sides, weights=[weights] * len(sides))
        found = run_variance(*map(cut, sides), weights=[weights] * len(sides))
        for means, expected in zip(found.run_means, whole.run_means, strict=True):
            assert means == pytest.approx(expected, rel=1e-12)
        assert (found.raw, found.slack, found.p_value) == pytest.approx(
            (whole.raw, whole.slack, whole.p_value), rel=1e-9
        )
        if len(sides) == 2:
            one, other = same_items_difference(*sides), same_items_difference(*map(cut, sides))
            assert (other.estimate, other.std_error, other.df, other.n) == pytest.approx(
                (one.estimate, one.std_error, one.df, one.n), rel=1e-12
            )


def test_of_blocks_some_items_and_runs_are_kept():
    y = made(34, n=9, runs=5)
    blocks = ScoreBlocks(9, 5, lambda: iter([y[:4], y[4:5], y[5:]]))
    kept, runs = np.array([True, False, True, True, False, False, True, False, True]), np.array([0, 3])
    found = blocks.only(kept, runs)
    assert (found.n_items, found.n_runs) == (5, 2)
    for _ in range(2):  # they can be gone through again
        assert np.array_equal(np.concatenate(list(found)), y[kept][:, runs])
