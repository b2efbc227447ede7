"""The studentised bootstrap: every resample listed, both ways of drawing, refusals, coverage."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from evalstats.errors import InputError
from evalstats.stats.bootstrap import _studentised, block_error, bootstrap_t, check_resamples, order_statistic
from evalstats.stats.one_sample import mean_t
from tests.stats.coverage import ends


def all_t(values):
    """t* of all n^n resamples of the items, by the definition."""
    chosen = np.array(list(itertools.product(values, repeat=len(values))))
    shift, sd = chosen.mean(axis=1) - np.mean(values), chosen.std(axis=1, ddof=1)
    still = sd <= 1e-9
    t = shift / (np.where(still, 1.0, sd) / math.sqrt(len(values)))
    return np.sort(np.where(still, np.copysign(np.inf, shift), t))


def test_ends_are_those_of_every_resample_listed():
    """6^6 resamples; six of them have no spread."""
    values = np.array([0.3, 1.1, 1.9, 2.0, 3.7, 6.0])
    t, se = all_t(values), values.std(ddof=1) / math.sqrt(6)
    found = bootstrap_t(values, conf_level=0.9, n_resamples=100_000, seed=2)
    # The law is lumpy with six items: an end lies between the quantiles half a percent to either side.
    for end, level in zip(ends(found), (0.95, 0.05), strict=True):
        near = [values.mean() - np.quantile(t, level + shift, method="inverted_cdf") * se for shift in (0.005, -0.005)]
        assert near[0] <= end <= near[1]
    assert found.estimate.std_error == pytest.approx(se)
    drawn = int(found.estimate.warnings[-1].split()[0])
    assert drawn == pytest.approx(100_000 * 6 / 6**6, abs=4 * math.sqrt(13))
    assert found.estimate.warnings[-1] == f"{drawn} of 100000 resamples had no spread and count as infinitely far off"


def test_drawing_counts_and_drawing_items_agree(monkeypatch):
    from evalstats.stats import bootstrap as module

    values = np.repeat([0.0, 1 / 3, 2 / 3, 1.0], [20, 35, 30, 15])
    counted = bootstrap_t(values, seed=1, n_resamples=40_000)
    monkeypatch.setattr(module, "_CHEAP_TO_COUNT", 10**9)
    listed = bootstrap_t(values, seed=2, n_resamples=40_000)
    assert counted != listed
    for mine, other, error in zip(ends(counted), ends(listed), (counted.error_low, counted.error_high), strict=True):
        assert abs(mine - other) < 6 * error + 1e-4


def test_the_same_seed_gives_the_same_interval_whatever_the_chunks(monkeypatch):
    from evalstats.stats import bootstrap as module

    values = np.random.default_rng(0).normal(size=50)
    first = bootstrap_t(values, seed=3)
    monkeypatch.setattr(module, "_CHUNK", 7_000)
    again = bootstrap_t(values, seed=3)
    assert ends(first) == pytest.approx(ends(again), rel=1e-12)
    assert again.estimate.n_resamples == 9999
    assert ends(bootstrap_t(values, seed=4)) != ends(first)
    assert (first.seed, first.estimate.n_resamples) == (3, 9999)


def test_monte_carlo_error_is_the_spread_over_seeds():
    values = np.random.default_rng(8).exponential(size=60)
    runs = [bootstrap_t(values, seed=s, n_resamples=2000) for s in range(40)]
    lows, highs = np.array([ends(run) for run in runs]).T
    told = np.array([(run.error_low, run.error_high) for run in runs])
    assert np.sqrt((told**2).mean(axis=0)) == pytest.approx([lows.std(ddof=1), highs.std(ddof=1)], rel=0.4)


def test_unit_and_sign_carry_over():
    values = np.random.default_rng(2).exponential(size=30)
    base = bootstrap_t(values, seed=1)
    moved = bootstrap_t(5 + 100 * values, seed=1)
    assert ends(moved) == pytest.approx([5 + 100 * end for end in ends(base)], rel=1e-9)
    tiny = bootstrap_t(1e-9 * values, seed=1)
    assert ends(tiny) == pytest.approx([1e-9 * end for end in ends(base)], rel=1e-9)
    turned = bootstrap_t(-values, seed=1)
    assert ends(turned) == pytest.approx([-end for end in reversed(ends(base))], rel=1e-9)


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ([0.0] * 11 + [0.1 * k for k in range(1, 10)], "11 of 20 values are 0: with more than half tied"),
        ([0.1 + 0.2] * 6 + [0.3] * 6 + [0.5] * 6 + [0.7] * 5, "12 of 23 values are 0.3"),
        ([0.4] * 12, "all 12 values are equal"),
        ([0.4], "one value has no spread"),
    ],
)
def test_piled_up_values_are_refused(values, reason):
    found = bootstrap_t(values)
    assert found.estimate.reason.startswith(reason)
    assert ends(found) == (None, None)
    assert (found.error_low, found.error_high, found.estimate.n_resamples) == (None, None, None)
    assert found.estimate.estimate == pytest.approx(np.mean(values))


def test_exactly_half_tied_is_not_refused():
    found = bootstrap_t([0.0] * 10 + [0.1 * k for k in range(1, 11)])
    assert found.estimate.reason is None
    assert found.estimate.conf_low < found.estimate.estimate < found.estimate.conf_high


def test_resamples_without_spread_that_decide_an_end_leave_no_interval():
    """Three values: 3 of 27 resamples are constant, more than the tail of 95%; of two values, half of them.

    At 90% those of 1 and 2 (.074) are more than the lower tail, and that of 4 (.037) is less than the upper.
    """
    for values, level in (
        ([1.0, 2.0, 4.0], 0.95),
        ([1.0, 2.0], 0.95),
        ([1.0, 2.0, 4.0], 0.9),
        ([-1.0, -2.0, -4.0], 0.9),
    ):
        found = bootstrap_t(values, conf_level=level)
        assert "had no spread, so an end of the interval cannot be told" in found.estimate.reason
        assert ends(found) == (None, None)


def test_order_statistics_are_type_1_quantiles():
    values = np.sort(np.random.default_rng(0).normal(size=137))
    for level in (0.0, 0.01, 0.3, 0.5, 0.975, 1.0):
        assert order_statistic(values, level) == np.quantile(values, level, method="inverted_cdf")
    # 0.07 * 100 is above 7 by rounding.
    assert order_statistic(np.arange(100.0), 0.07) == 6.0
    assert check_resamples(100, 0.95) == 100
    assert check_resamples(2000, 0.999) == 2000
    with pytest.raises(InputError, match="draw at least 2000"):
        check_resamples(1999, 0.999)
    assert block_error(np.array([math.inf] * 100), lambda block: float(block[0])) is None
    assert block_error(np.r_[math.inf, np.arange(99.0)], lambda block: float(block[0])) is None


def test_the_error_is_that_of_ten_blocks():
    draws = np.random.default_rng(1).normal(size=237)
    medians = [float(np.median(draws[23 * k : 23 * (k + 1)])) for k in range(10)]
    found = block_error(draws, lambda block: float(np.median(block)))
    assert found == pytest.approx(np.std(medians, ddof=1) / math.sqrt(10), rel=1e-12)


def test_a_resample_without_spread_is_infinitely_far_on_its_side():
    t = _studentised(np.array([2.0, -2.0, 0.0, 3.0, -3.0]), np.array([0.0, 0.0, 0.0, 4.0, 4.0]))
    assert t.tolist() == [math.inf, -math.inf, 0.0, 1.5, -1.5]
    # Rounding leaves a trace of a variance that is none.
    assert _studentised(np.array([2.0]), np.array([3e-12])).tolist() == [math.inf]


@pytest.mark.parametrize(
    "replicates", [pytest.param(200, id="quick"), pytest.param(4000, id="long", marks=pytest.mark.slow)]
)
@pytest.mark.parametrize(("draw", "truth", "least"), [("exponential", 1.0, 0.94), ("lognormal", math.exp(0.5), 0.91)])
def test_covers_skewed_means_where_t_falls_short(draw, truth, least, replicates):
    rng = np.random.default_rng(11)
    hits, plain = [], []
    for seed in range(replicates):
        values = getattr(rng, draw)(size=30)
        for found, result in (
            (hits, bootstrap_t(values, seed=seed, n_resamples=499).estimate),
            (plain, mean_t(values)),
        ):
            found.append(result.conf_low <= truth <= result.conf_high)
    assert np.mean(hits) >= least - 4 * math.sqrt(0.06 * 0.94 / replicates)
    if replicates > 1000:
        assert np.mean(hits) > np.mean(plain) + 0.005
        assert stats.binomtest(int(np.sum(plain)), replicates, 0.95).pvalue < 0.2
